//! The schedule of a wait: when to poll again, and when to give up.

use runtail_core::backoff::vary;
use std::time::Duration;
use tokio::time::Instant;

/// How long an active request may continue after the deadline, because it may return the awaited status.
const GRACE: Duration = Duration::from_secs(1);
/// Replaces a deadline that would overflow the clock.
const FAR_FUTURE: Duration = Duration::from_secs(3600 * 24 * 365);

/// Why polling stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The deadline was reached.
    Deadline,
    /// The server asked for a pause of this length, which ends after the deadline.
    LeftAlone(Duration),
}

/// The interval of a wait and its deadline.
#[derive(Debug, Clone, Copy)]
pub struct WaitSchedule {
    deadline: Instant,
    interval: Duration,
}

impl WaitSchedule {
    /// Creates a schedule that starts now.
    pub fn new(timeout: Duration, interval: Duration) -> WaitSchedule {
        let now = Instant::now();
        WaitSchedule {
            deadline: now.checked_add(timeout).unwrap_or(now + FAR_FUTURE),
            interval,
        }
    }

    /// Waits for an answer, at most a little longer than the deadline.
    pub async fn bounded<T>(&self, ask: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.deadline + GRACE, ask)
            .await
            .ok()
    }

    /// Whether a pause of this length ends after the deadline.
    pub fn is_exceeded_by(&self, asked: Duration) -> bool {
        Instant::now()
            .checked_add(asked)
            .is_none_or(|free_at| free_at > self.deadline)
    }

    /// Sleeps until the next poll. The interval has 10% jitter, so that many waits don't poll together; `asked` is the
    /// pause that the server asked for, which applies if it is longer. The last poll is at the deadline itself.
    ///
    /// # Errors
    /// The deadline was reached, or the server asked for a longer pause than the time left.
    pub async fn pause(&self, asked: Option<Duration>) -> Result<(), End> {
        let now = Instant::now();
        if now >= self.deadline {
            return Err(End::Deadline);
        }
        let asked = asked.unwrap_or_default();
        if self.is_exceeded_by(asked) {
            return Err(End::LeftAlone(asked));
        }
        let interval = vary(self.interval, fastrand::f64()).max(asked);
        let next = now.checked_add(interval).unwrap_or(self.deadline);
        tokio::time::sleep_until(next.min(self.deadline)).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn the_interval_varies_by_a_tenth() {
        let patience = WaitSchedule::new(s(100_000), s(60));
        let mut waits = Vec::new();
        for _ in 0..200 {
            let before = Instant::now();
            assert_eq!(patience.pause(None).await, Ok(()));
            waits.push(before.elapsed());
        }
        assert!(
            waits
                .iter()
                .all(|w| (s(54)..=s(66) + Duration::from_millis(1)).contains(w)),
            "{waits:?}"
        );
        assert!(waits.iter().any(|w| *w < s(60)) && waits.iter().any(|w| *w > s(60)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_question_is_asked_at_the_deadline() {
        let began = Instant::now();
        let patience = WaitSchedule::new(s(100), s(60));
        assert!(patience.pause(None).await.is_ok() && patience.pause(None).await.is_ok());
        assert_eq!(began.elapsed(), s(100));
        assert_eq!(patience.pause(None).await, Err(End::Deadline));
        assert_eq!(
            WaitSchedule::new(s(0), s(60)).pause(None).await,
            Err(End::Deadline),
            "no time, one question"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_wish_is_kept() {
        let began = Instant::now();
        let patience = WaitSchedule::new(s(1000), s(1));
        assert_eq!(patience.pause(Some(s(120))).await, Ok(()));
        assert_eq!(began.elapsed(), s(120));
        // It wants more time than there is: nothing is left to wait for.
        assert_eq!(
            patience.pause(Some(s(881))).await,
            Err(End::LeftAlone(s(881)))
        );
        assert_eq!(began.elapsed(), s(120));
        assert_eq!(
            patience.pause(Some(s(880))).await,
            Ok(()),
            "the deadline itself will do"
        );
        let long = WaitSchedule::new(Duration::MAX, s(1))
            .pause(Some(Duration::MAX))
            .await;
        assert_eq!(
            long,
            Err(End::LeftAlone(Duration::MAX)),
            "numbers without bounds"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_hangs_does_not_hold_the_deadline_up_for_long() {
        let began = Instant::now();
        let patience = WaitSchedule::new(s(5), s(1));
        assert_eq!(patience.bounded(std::future::pending::<()>()).await, None);
        assert!(
            (s(5)..=s(6)).contains(&began.elapsed()),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(
            WaitSchedule::new(s(5), s(1)).bounded(async { 7 }).await,
            Some(7)
        );
    }
}
