//! When a poll asks again: by what moves, who looks, how long the server took and how often it failed.

use crate::session::msg::{Pace, SubscriptionParams};
use jiff::{SignedDuration, Timestamp};
use runtail_api::ApiError;
use runtail_core::backoff::{Backoff, vary};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The shortest pause, however short the configured one is.
pub const SHORTEST: Duration = Duration::from_secs(1);

/// Wall-clock check interval and threshold. The monotonic clock may stop during system sleep, so a large jump triggers an
/// immediate refresh.
const GLANCE: Duration = Duration::from_secs(5);
const SLEPT: Duration = Duration::from_secs(30);

/// Failures in a row after which the server is asked again soon.
const SOON: u32 = 3;

/// How many times the usual pause a server that keeps failing is left alone at most.
const MOST_SLOWER: u32 = 8;

/// What a running poll is told.
pub type Told = watch::Receiver<SubscriptionParams>;

/// The pause between two requests, before its jitter. `usual` is the configured one; what moves is asked for more often,
/// what nobody looks at less.
pub fn pause(usual: Duration, pace: Pace) -> Duration {
    match pace {
        Pace::Fast => (usual / 6).max(SHORTEST.min(usual)),
        Pace::Usual => usual,
        Pace::Slow => usual * 5,
    }
}

/// What moves is asked for a step more often than what does not.
pub fn quickened(pace: Pace, moves: bool) -> Pace {
    match (pace, moves) {
        (pace, false) => pace,
        (Pace::Slow, true) => Pace::Usual,
        (Pace::Usual | Pace::Fast, true) => Pace::Fast,
    }
}

/// One round of a poll: when it asked, how it went, and how often it went wrong in a row.
pub struct Round {
    asked: Instant,
    asked_at: Timestamp,
    answered: Instant,
    vain: u32,
    random: f64,
    /// What the server asked for.
    least: Duration,
}

impl Round {
    /// A round that begins now.
    pub fn begin() -> Round {
        let now = Instant::now();
        Round {
            asked: now,
            asked_at: Timestamp::now(),
            answered: now,
            vain: 0,
            random: fastrand::f64(),
            least: Duration::ZERO,
        }
    }

    /// The next one begins now.
    pub fn again(&mut self) {
        (self.asked, self.asked_at) = (Instant::now(), Timestamp::now());
        self.random = fastrand::f64();
    }

    /// The answer came. False where asking again is pointless until somebody acts.
    pub fn answered(&mut self, error: Option<&ApiError>) -> bool {
        self.answered = Instant::now();
        self.vain = if error.is_some() { self.vain.saturating_add(1) } else { 0 };
        self.least = error.map(ApiError::quiet).unwrap_or_default();
        !error.is_some_and(crate::app::stops_polling)
    }

    /// When the next request is due. A slow server is left alone for half the pause at least. After a failure it is asked
    /// again soon, since most of them pass; if it fails on, less and less.
    fn due(&self, pause: Duration) -> Instant {
        let pause = match self.vain {
            0 => pause,
            vain @ 1..=SOON => Backoff { base: SHORTEST * 2, cap: pause }.bound(vain),
            vain => Backoff { base: pause, cap: pause * MOST_SLOWER }.bound(vain - SOON),
        };
        let pause = vary(pause, self.random);
        let due = (self.asked + pause).max(self.answered + pause / 2);
        due.max(self.answered + self.least)
    }

    /// The same by the clock on the wall.
    pub fn due_at(&self, pause: Duration) -> Timestamp {
        let wait = self.due(pause).saturating_duration_since(Instant::now());
        let now = Timestamp::now();
        now.checked_add(SignedDuration::try_from(wait).unwrap_or_default()).unwrap_or(now)
    }

    /// Whether the machine slept meanwhile, and the next request would be due had it not.
    fn slept(&self, due: Instant, now: Instant, wall: Timestamp) -> bool {
        let passed = Duration::try_from(wall.duration_since(self.asked_at)).unwrap_or_default();
        passed >= now.duration_since(self.asked) + SLEPT && passed >= due.duration_since(self.asked)
    }

    /// Sleeps until the next request is due. Another pace counts at once.
    pub async fn rest(&self, told: &mut Told, pause: impl Fn(Pace) -> Duration) {
        loop {
            let due = self.due(pause(told.borrow_and_update().pace));
            let now = Instant::now();
            if now >= due || self.slept(due, now, Timestamp::now()) {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(due.min(next_glance(now))) => {}
                changed = told.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// The next of the moments at which everybody who rests looks at the clock: together, so that they wake the machine once.
fn next_glance(now: Instant) -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(|| now);
    let passed = now.duration_since(first).as_nanos() / GLANCE.as_nanos();
    first + GLANCE * u32::try_from(passed + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_api::Kind;

    #[test]
    fn a_slow_server_and_one_that_fails_are_left_alone() {
        let minute = Duration::from_secs(60);
        let mut round = Round { random: 0.5, ..Round::begin() };
        assert_eq!(round.due(minute), round.asked + minute);
        // It took longer than the pause: half of it is left.
        round.answered = round.asked + minute * 3;
        assert_eq!(round.due(minute), round.answered + minute / 2);
        // Failures in a row: a few quick questions, then fewer and fewer, up to a point.
        let error = |kind| ApiError { kind, at: Default::default(), detail: String::new(), hint: None };
        for seconds in [2, 4, 8, 60, 120, 240, 480, 480] {
            round.asked = Instant::now();
            assert!(round.answered(Some(&error(Kind::Server(503)))));
            assert_eq!(round.due(minute), round.asked + Duration::from_secs(seconds));
        }
        assert!(round.answered(Some(&error(Kind::RateLimited(Some(minute * 60))))));
        assert_eq!(round.due(Duration::ZERO), round.answered + minute * 60);
        assert!(!round.answered(Some(&error(Kind::Unauthorized))));
    }

    #[test]
    fn after_a_sleep_of_the_machine_it_is_time_and_a_clock_that_is_set_back_holds_nothing() {
        let round = Round::begin();
        let (due, now) = (round.asked + Duration::from_secs(300), round.asked + Duration::from_secs(5));
        let slept = |seconds| round.slept(due, now, round.asked_at + SignedDuration::from_secs(seconds));
        assert_eq!([5, 200, 299, 300, 7200].map(slept), [false, false, false, true, true]);
        assert!(!slept(-7200));
        // As long as a server wanted to be left alone counts too.
        let asked = ApiError {
            kind: Kind::RateLimited(Some(Duration::from_secs(3600))),
            at: Default::default(),
            detail: String::new(),
            hint: None,
        };
        let mut round = Round::begin();
        round.answered(Some(&asked));
        let due = round.due(Duration::from_secs(60));
        assert!(!round.slept(due, now, round.asked_at + SignedDuration::from_secs(1800)));
    }

    #[test]
    fn all_look_at_the_clock_together() {
        let now = Instant::now();
        let next = next_glance(now);
        assert!(next > now && next <= now + GLANCE, "{next:?}");
        for part in 1..5 {
            assert_eq!(next_glance(next - GLANCE * part / 5), next);
        }
        assert_eq!(next_glance(next), next + GLANCE);
    }

    #[test]
    fn what_moves_is_asked_for_often_and_what_nobody_looks_at_seldom() {
        let minute = Duration::from_secs(60);
        assert_eq!(pause(minute, Pace::Fast), Duration::from_secs(10));
        assert_eq!(pause(minute, Pace::Usual), minute);
        assert_eq!(pause(minute, Pace::Slow), minute * 5);
        assert_eq!(pause(Duration::from_secs(2), Pace::Fast), Duration::from_secs(1));
        assert_eq!(pause(Duration::from_millis(200), Pace::Fast), Duration::from_millis(200));
    }
}
