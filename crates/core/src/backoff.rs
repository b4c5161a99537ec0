//! Delays before a retry or the next request.

use std::time::Duration;

/// Delays that grow with each failure, up to a limit. Each delay is random between 0 and its bound (full jitter), so that
/// many clients of one server do not reconnect together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Bound of the first delay. Each further bound is twice as long.
    pub base: Duration,
    /// Maximum bound.
    pub cap: Duration,
}

impl Backoff {
    /// Returns the bound of the wait after a number of failures, from 1.
    pub fn bound(self, failures: u32) -> Duration {
        let factor = 1_u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }

    /// Returns a wait. `random` is between 0 and 1.
    pub fn wait(self, failures: u32, random: f64) -> Duration {
        self.bound(failures).mul_f64(random.clamp(0.0, 1.0))
    }
}

/// Adds 10% jitter to an interval, so that many clients do not poll together. `random` is between 0 and 1.
pub fn vary(interval: Duration, random: f64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * random.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_up_to_its_cap() {
        let backoff = Backoff {
            base: Duration::from_millis(500),
            cap: Duration::from_secs(8),
        };
        assert_eq!(
            [1, 2, 3].map(|n| backoff.bound(n).as_millis()),
            [500, 1000, 2000]
        );
        assert_eq!(backoff.wait(3, 0.5), Duration::from_secs(1));
        for failures in [0, 1, 5, 40, u32::MAX] {
            assert!(backoff.wait(failures, 1.0) <= backoff.cap);
            assert_eq!(backoff.wait(failures, 0.0), Duration::ZERO);
        }
    }

    #[test]
    fn intervals_vary_by_ten_percent() {
        let minute = Duration::from_secs(60);
        assert_eq!(
            [0.0, 0.5, 1.0, 7.0].map(|random| vary(minute, random).as_secs_f64().round()),
            [54.0, 60.0, 66.0, 66.0]
        );
    }
}
