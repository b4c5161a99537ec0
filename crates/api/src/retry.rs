//! Retry policy of read requests.

use crate::prelude::*;
use runtail_core::backoff::Backoff;

/// Maximum `Retry-After`. It may have any number of digits, and clocks overflow.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How often a read is tried and how the delays grow. Writes are never retried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retry {
    /// Number of attempts, including the first.
    pub attempts: u32,
    /// Maximum of the first delay; it doubles with each attempt.
    pub base: Duration,
    /// Maximum of every delay, and the longest that a server may ask for; a longer one ends the attempts.
    pub cap: Duration,
    /// Whether a request waits for the rate limit of another request of the profile.
    pub heeds: bool,
}

impl Retry {
    /// One attempt: for callers that retry themselves.
    pub const NONE: Retry = Retry {
        attempts: 1,
        base: Duration::ZERO,
        cap: Duration::ZERO,
        heeds: false,
    };
    /// One attempt after the rate limit ends: for many concurrent requests to one server.
    pub const HEEDING: Retry = Retry {
        heeds: true,
        ..Retry::NONE
    };
    /// For single commands: up to three retries within 30 s.
    pub const PATIENT: Retry = Retry {
        attempts: 4,
        base: Duration::from_millis(500),
        cap: Duration::from_secs(15),
        heeds: false,
    };

    /// Returns the delay before the next attempt, or nothing if there is none. `attempt` counts from 1; `dice` is a random
    /// number in 0..1.
    pub(super) fn wait(&self, error: &ApiError, attempt: u32, dice: f64) -> Option<Duration> {
        let worth = matches!(
            error.kind,
            Kind::NoConnection | Kind::Network | Kind::RateLimited(_) | Kind::Server(502..=504)
        );
        if !worth || attempt >= self.attempts {
            return None;
        }
        match error.asked() {
            Some(asked) => (asked <= self.cap).then_some(asked),
            None => Some(
                Backoff {
                    base: self.base,
                    cap: self.cap,
                }
                .wait(attempt, dice),
            ),
        }
    }
}

/// Parses `Retry-After`: seconds, or an HTTP date (RFC 9110 §10.2.3). More than a day counts as a day.
pub fn retry_after(text: &str, now: jiff::Timestamp) -> Option<Duration> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Some(
            text.parse()
                .map_or(LONGEST, Duration::from_secs)
                .min(LONGEST),
        );
    }
    let at = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .ok()?;
    Some(
        Duration::try_from(at.duration_since(now))
            .unwrap_or(Duration::ZERO)
            .min(LONGEST),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: Kind) -> ApiError {
        ApiError {
            kind,
            at: Default::default(),
            detail: String::new(),
            hint: None,
        }
    }

    #[test]
    fn temporary_errors_are_retried() {
        let retry = Retry::PATIENT;
        for kind in [
            Kind::NoConnection,
            Kind::Network,
            Kind::RateLimited(None),
            Kind::Server(502),
            Kind::Server(503),
            Kind::Server(504),
        ] {
            assert!(
                retry.wait(&error(kind.clone()), 1, 0.5).is_some(),
                "{kind:?}"
            );
            assert!(
                retry.wait(&error(kind.clone()), 4, 0.5).is_none(),
                "{kind:?}"
            );
            assert!(Retry::NONE.wait(&error(kind), 1, 0.5).is_none());
        }
        for kind in [
            Kind::Server(500),
            Kind::NotFound,
            Kind::Unauthorized,
            Kind::Protocol,
            Kind::Refused,
        ] {
            assert!(
                retry.wait(&error(kind.clone()), 1, 0.5).is_none(),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn retry_after_is_honored_up_to_a_limit() {
        let rate_limited = |seconds| error(Kind::RateLimited(Some(Duration::from_secs(seconds))));
        assert_eq!(
            Retry::PATIENT.wait(&rate_limited(7), 1, 0.0),
            Some(Duration::from_secs(7))
        );
        assert_eq!(Retry::PATIENT.wait(&rate_limited(3600), 1, 0.0), None);
        let mut busy = error(Kind::Server(503));
        busy.at.retry_after = Some(Duration::from_secs(7));
        assert_eq!(
            (busy.quiet(), Retry::PATIENT.wait(&busy, 1, 0.0)),
            (busy.asked().unwrap(), busy.asked())
        );
        assert_eq!(error(Kind::Server(503)).quiet(), Duration::ZERO);
    }

    #[test]
    fn retry_after_is_parsed_as_seconds_or_date() {
        let now: jiff::Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        assert_eq!(retry_after(" 12 ", now), Some(Duration::from_secs(12)));
        assert_eq!(
            retry_after("Sat, 21 Nov 2026 10:01:00 GMT", now),
            Some(Duration::from_secs(60))
        );
        assert_eq!(
            retry_after("Sat, 21 Nov 2026 09:01:00 GMT", now),
            Some(Duration::ZERO)
        );
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn retry_after_is_at_most_a_day() {
        let now: jiff::Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let day = Some(Duration::from_secs(24 * 3600));
        for long in [
            "86401",
            "9999999999999999999",
            "99999999999999999999999",
            "Sat, 21 Nov 2099 10:00:00 GMT",
        ] {
            assert_eq!(retry_after(long, now), day, "{long}");
        }
        assert_eq!(retry_after("86400", now), day);
        assert_eq!(retry_after("-1", now), None);
    }
}
