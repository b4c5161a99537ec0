//! When a wait asks again, and when it gives up.

use runtail_core::backoff::vary;
use std::time::Duration;
use tokio::time::Instant;

/// How long a request that is under way may outlive the deadline: its answer may be the one that was waited for.
const GRACE: Duration = Duration::from_secs(1);
/// What stands for "for ever" where a deadline would be beyond the clock.
const FOR_EVER: Duration = Duration::from_secs(3600 * 24 * 365);

/// Why there is no further question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The deadline was reached.
    Deadline,
    /// The server wants to be left alone for so long, which is beyond the deadline.
    LeftAlone(Duration),
}

/// The rhythm of a wait and its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    deadline: Instant,
    interval: Duration,
}

impl Patience {
    /// Patience that begins now.
    pub fn new(timeout: Duration, interval: Duration) -> Patience {
        let now = Instant::now();
        Patience { deadline: now.checked_add(timeout).unwrap_or(now + FOR_EVER), interval }
    }

    /// Waits for an answer, but hardly longer than the deadline.
    pub async fn bounded<T>(&self, ask: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.deadline + GRACE, ask).await.ok()
    }

    /// Whether a server that wants to be left alone for so long may not be asked again before the deadline.
    pub fn is_exceeded_by(&self, asked: Duration) -> bool {
        Instant::now().checked_add(asked).is_none_or(|free_at| free_at > self.deadline)
    }

    /// Sleeps until the next question. The interval varies by a tenth, so that many waits do not ask together; `asked` is
    /// how long the server wants to be left alone, which counts where it is longer. The last question is asked at the
    /// deadline itself.
    ///
    /// # Errors
    /// There is none any more: the deadline is over, or the server asked for more time than is left, which nobody needs to
    /// sit out.
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
        let patience = Patience::new(s(100_000), s(60));
        let mut waits = Vec::new();
        for _ in 0..200 {
            let before = Instant::now();
            assert_eq!(patience.pause(None).await, Ok(()));
            waits.push(before.elapsed());
        }
        assert!(waits.iter().all(|w| (s(54)..=s(66) + Duration::from_millis(1)).contains(w)), "{waits:?}");
        assert!(waits.iter().any(|w| *w < s(60)) && waits.iter().any(|w| *w > s(60)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_question_is_asked_at_the_deadline() {
        let began = Instant::now();
        let patience = Patience::new(s(100), s(60));
        assert!(patience.pause(None).await.is_ok() && patience.pause(None).await.is_ok());
        assert_eq!(began.elapsed(), s(100));
        assert_eq!(patience.pause(None).await, Err(End::Deadline));
        assert_eq!(Patience::new(s(0), s(60)).pause(None).await, Err(End::Deadline), "no time, one question");
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_wish_is_kept() {
        let began = Instant::now();
        let patience = Patience::new(s(1000), s(1));
        assert_eq!(patience.pause(Some(s(120))).await, Ok(()));
        assert_eq!(began.elapsed(), s(120));
        // It wants more time than there is: nothing is left to wait for.
        assert_eq!(patience.pause(Some(s(881))).await, Err(End::LeftAlone(s(881))));
        assert_eq!(began.elapsed(), s(120));
        assert_eq!(patience.pause(Some(s(880))).await, Ok(()), "the deadline itself will do");
        let long = Patience::new(Duration::MAX, s(1)).pause(Some(Duration::MAX)).await;
        assert_eq!(long, Err(End::LeftAlone(Duration::MAX)), "numbers without bounds");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_hangs_does_not_hold_the_deadline_up_for_long() {
        let began = Instant::now();
        let patience = Patience::new(s(5), s(1));
        assert_eq!(patience.bounded(std::future::pending::<()>()).await, None);
        assert!((s(5)..=s(6)).contains(&began.elapsed()), "{:?}", began.elapsed());
        assert_eq!(Patience::new(s(5), s(1)).bounded(async { 7 }).await, Some(7));
    }
}
