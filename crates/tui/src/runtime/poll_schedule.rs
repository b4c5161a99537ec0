//! When a poll sends its next request. This depends on whether something is in progress, whether the window has the focus,
//! how long the server took to respond, and how often it failed.

use crate::session::msg::{Pace, SubscriptionParams};
use jiff::{SignedDuration, Timestamp};
use runtail_api::ApiError;
use runtail_core::backoff::{Backoff, vary};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Minimum pause, unless the configured one is shorter.
pub const MIN_PAUSE: Duration = Duration::from_secs(1);

/// How often to compare the clocks, and how far the wall clock must be ahead to indicate a suspend. The monotonic clock may
/// stop while the machine is suspended, so polls that would be due by the wall clock then run at once.
const WALL_CLOCK_CHECK: Duration = Duration::from_secs(5);
const SUSPEND_THRESHOLD: Duration = Duration::from_secs(30);

/// Number of failures in a row that are retried quickly.
const FAST_RETRIES: u32 = 3;

/// Maximum pause after repeated failures, as a multiple of the usual pause.
const MAX_SLOWDOWN: u32 = 8;

/// Receives the current parameters of a running subscription.
pub type ParamsReceiver = watch::Receiver<SubscriptionParams>;

/// Returns the pause between two requests at a pace, before jitter. `usual` is the configured pause.
pub fn pause(usual: Duration, pace: Pace) -> Duration {
    match pace {
        Pace::Fast => (usual / 6).max(MIN_PAUSE.min(usual)),
        Pace::Usual => usual,
        Pace::Slow => usual * 5,
    }
}

/// Pauses between two requests for a revision that is in progress: while it is selected and young, and otherwise.
const MOVING_PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];
/// Until when a revision is young, after its creation.
const YOUNG: SignedDuration = SignedDuration::from_mins(2);

/// Like [`pause`] for a revision that is in progress. `age`: of one that is selected.
pub fn moving_pause(usual: Duration, pace: Pace, age: Option<SignedDuration>) -> Duration {
    match (pace, age) {
        (Pace::Fast, Some(age)) if age < YOUNG => MOVING_PAUSES[0].min(usual),
        (Pace::Fast, _) => MOVING_PAUSES[1].min(usual),
        _ => pause(usual, pace),
    }
}

/// Returns the next faster pace if something is in progress.
pub fn speed_up(pace: Pace, in_progress: bool) -> Pace {
    match (pace, in_progress) {
        (pace, false) => pace,
        (Pace::Slow, true) => Pace::Usual,
        (Pace::Usual | Pace::Fast, true) => Pace::Fast,
    }
}

/// The schedule of a poll: the times of its last request and response, and its failures.
pub struct PollSchedule {
    requested: Instant,
    /// The time of the request on the wall clock.
    requested_at: Timestamp,
    responded: Instant,
    /// Number of failures in a row.
    failures: u32,
    /// The random number of the current jitter.
    random: f64,
    /// The pause that the server requested.
    retry_after: Duration,
}

impl PollSchedule {
    /// Creates the schedule of a poll that starts now.
    pub fn new() -> PollSchedule {
        let now = Instant::now();
        PollSchedule {
            requested: now,
            requested_at: Timestamp::now(),
            responded: now,
            failures: 0,
            random: fastrand::f64(),
            retry_after: Duration::ZERO,
        }
    }

    /// Records that a request is sent now.
    pub fn begin_request(&mut self) {
        (self.requested, self.requested_at) = (Instant::now(), Timestamp::now());
        self.random = fastrand::f64();
    }

    /// Records the result of the request. Returns false if polling must stop until the user refreshes.
    pub fn end_request(&mut self, error: Option<&ApiError>) -> bool {
        self.responded = Instant::now();
        self.failures = if error.is_some() {
            self.failures.saturating_add(1)
        } else {
            0
        };
        self.retry_after = error.map(ApiError::quiet).unwrap_or_default();
        !error.is_some_and(crate::app::stops_polling)
    }

    /// Returns when the next request is due. After a response, the poll waits at least half of the pause, which limits the
    /// load on a slow server. The first failures are retried quickly, because most are temporary; later ones more slowly.
    pub(super) fn due(&self, pause: Duration) -> Instant {
        let pause = match self.failures {
            0 => pause,
            failures @ 1..=FAST_RETRIES => Backoff {
                base: MIN_PAUSE * 2,
                cap: pause,
            }
            .bound(failures),
            failures => Backoff {
                base: pause,
                cap: pause * MAX_SLOWDOWN,
            }
            .bound(failures - FAST_RETRIES),
        };
        let pause = vary(pause, self.random);
        let due = (self.requested + pause).max(self.responded + pause / 2);
        due.max(self.responded + self.retry_after)
    }

    /// Returns when the next request is due by the wall clock.
    pub fn due_at(&self, pause: Duration) -> Timestamp {
        let wait = self.due(pause).saturating_duration_since(Instant::now());
        let now = Timestamp::now();
        now.checked_add(SignedDuration::try_from(wait).unwrap_or_default())
            .unwrap_or(now)
    }

    /// Returns whether the machine was suspended meanwhile, and the next request is due by the wall clock.
    fn is_due_after_suspend(&self, due: Instant, now: Instant, wall: Timestamp) -> bool {
        let passed = Duration::try_from(wall.duration_since(self.requested_at)).unwrap_or_default();
        passed >= now.duration_since(self.requested) + SUSPEND_THRESHOLD
            && passed >= due.duration_since(self.requested)
    }

    /// Sleeps until the next request is due. A new pace applies at once.
    pub async fn wait(&self, params: &mut ParamsReceiver, pause: impl Fn(Pace) -> Duration) {
        loop {
            let due = self.due(pause(params.borrow_and_update().pace));
            let now = Instant::now();
            if now >= due || self.is_due_after_suspend(due, now, Timestamp::now()) {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(due.min(next_clock_check(now))) => {}
                changed = params.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Returns when to compare the clocks next. The time is the same for all polls, so that they wake the machine only once.
fn next_clock_check(now: Instant) -> Instant {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let first = *FIRST.get_or_init(|| now);
    let passed = now.duration_since(first).as_nanos() / WALL_CLOCK_CHECK.as_nanos();
    first + WALL_CLOCK_CHECK * u32::try_from(passed + 1).unwrap_or(u32::MAX)
}

/// Sleeps until a time; without one, sleeps forever. A time in the past sets no timer, because timers are rounded up to a
/// millisecond, and setting one wakes another thread.
pub(super) async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) if at <= Instant::now() => {}
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtail_api::Kind;

    #[test]
    fn a_selected_young_revision_is_polled_every_2_seconds_and_others_every_10() {
        let (usual, minutes) = (Duration::from_secs(60), SignedDuration::from_mins);
        for (pace, age, expected) in [
            (Pace::Fast, Some(minutes(1)), 2),
            (Pace::Fast, Some(minutes(2)), 10),
            (Pace::Fast, None, 10),
            // The window has no focus.
            (Pace::Usual, Some(minutes(1)), 60),
        ] {
            assert_eq!(
                moving_pause(usual, pace, age).as_secs(),
                expected,
                "{pace:?} {age:?}"
            );
        }
        assert_eq!(
            moving_pause(Duration::from_secs(1), Pace::Fast, None).as_secs(),
            1,
            "the demo's own interval"
        );
    }

    #[test]
    fn slow_and_failing_servers_are_polled_less_often() {
        let minute = Duration::from_secs(60);
        let mut schedule = PollSchedule {
            random: 0.5,
            ..PollSchedule::new()
        };
        assert_eq!(schedule.due(minute), schedule.requested + minute);
        // The response took longer than the pause, so half of the pause remains.
        schedule.responded = schedule.requested + minute * 3;
        assert_eq!(schedule.due(minute), schedule.responded + minute / 2);
        // Failures in a row: a few quick retries, then slower ones up to the maximum pause.
        let error = |kind| ApiError {
            kind,
            at: Default::default(),
            detail: String::new(),
            hint: None,
        };
        for seconds in [2, 4, 8, 60, 120, 240, 480, 480] {
            schedule.requested = Instant::now();
            assert!(schedule.end_request(Some(&error(Kind::Server(503)))));
            assert_eq!(
                schedule.due(minute),
                schedule.requested + Duration::from_secs(seconds)
            );
        }
        assert!(schedule.end_request(Some(&error(Kind::RateLimited(Some(minute * 60))))));
        assert_eq!(
            schedule.due(Duration::ZERO),
            schedule.responded + minute * 60
        );
        assert!(!schedule.end_request(Some(&error(Kind::Unauthorized))));
    }

    #[test]
    fn a_suspend_makes_polls_due_and_a_clock_set_back_delays_none() {
        let schedule = PollSchedule::new();
        let (due, now) = (
            schedule.requested + Duration::from_secs(300),
            schedule.requested + Duration::from_secs(5),
        );
        let is_due = |seconds| {
            schedule.is_due_after_suspend(
                due,
                now,
                schedule.requested_at + SignedDuration::from_secs(seconds),
            )
        };
        assert_eq!(
            [5, 200, 299, 300, 7200].map(is_due),
            [false, false, false, true, true]
        );
        assert!(!is_due(-7200));
        // The pause that a server requested applies after a suspend too.
        let rate_limited = ApiError {
            kind: Kind::RateLimited(Some(Duration::from_secs(3600))),
            at: Default::default(),
            detail: String::new(),
            hint: None,
        };
        let mut schedule = PollSchedule::new();
        schedule.end_request(Some(&rate_limited));
        let due = schedule.due(Duration::from_secs(60));
        assert!(!schedule.is_due_after_suspend(
            due,
            now,
            schedule.requested_at + SignedDuration::from_secs(1800)
        ));
    }

    #[test]
    fn all_polls_check_the_clock_together() {
        let now = Instant::now();
        let next = next_clock_check(now);
        assert!(next > now && next <= now + WALL_CLOCK_CHECK, "{next:?}");
        for part in 1..5 {
            assert_eq!(next_clock_check(next - WALL_CLOCK_CHECK * part / 5), next);
        }
        assert_eq!(next_clock_check(next), next + WALL_CLOCK_CHECK);
    }

    #[test]
    fn the_pause_depends_on_the_pace() {
        let minute = Duration::from_secs(60);
        assert_eq!(pause(minute, Pace::Fast), Duration::from_secs(10));
        assert_eq!(pause(minute, Pace::Usual), minute);
        assert_eq!(pause(minute, Pace::Slow), minute * 5);
        assert_eq!(
            pause(Duration::from_secs(2), Pace::Fast),
            Duration::from_secs(1)
        );
        assert_eq!(
            pause(Duration::from_millis(200), Pace::Fast),
            Duration::from_millis(200)
        );
    }
}
