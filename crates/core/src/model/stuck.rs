//! Detects runs that are stuck. Pure: the records, the newest sign of life and the time come in, the evidence goes out.

use super::{RunFacts, ThreadRecords, ThreadStatus};
use crate::config::Stuck;
use crate::text;
use jiff::Timestamp;
use std::time::Duration;

/// A run at this attempt or a later one counts as stuck.
const LATE_ATTEMPT: u64 = 3;

/// How the newest sign of life of a run is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SilenceSource {
    /// From the events of its stream.
    Events,
    /// Only from the times of the server's records, which change less often than events are sent.
    Records,
    /// From both: records, and events since a page was opened.
    RecordsAndEvents,
}

/// What is known of the activity on a thread.
#[derive(Debug, Clone, Copy)]
pub struct Activity<'a> {
    pub status: &'a ThreadStatus,
    /// Its runs, newest first; none if they are not known.
    pub runs: Option<&'a [RunFacts]>,
    /// The attempt of the current run by other records, such as its checkpoints.
    pub attempt: Option<u64>,
    /// The newest sign of life of the running run.
    pub last: Option<(Timestamp, SilenceSource)>,
}

/// Evidence that a run is stuck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StuckSign {
    /// A run has been pending for too long, and no run of its thread is ahead of it.
    Pending {
        run_id: Option<String>,
        since: Timestamp,
        waited: Duration,
    },
    /// A running run has given no sign of life for too long.
    Silent {
        since: Timestamp,
        silent: Duration,
        source: SilenceSource,
    },
    /// A run is at a late attempt.
    Attempt { run_id: Option<String>, number: u64 },
    /// The server calls the thread busy, and none of its runs is active.
    BusyWithoutRun { since: Option<Timestamp> },
}

impl StuckSign {
    /// Returns a few words for a badge.
    pub fn word(&self) -> String {
        match self {
            StuckSign::Pending { waited, .. } => format!("pending for {}", text::age(*waited)),
            StuckSign::Silent {
                silent,
                source: SilenceSource::Events,
                ..
            } => {
                format!("no event for {}", text::age(*silent))
            }
            StuckSign::Silent { silent, .. } => format!("no change for {}", text::age(*silent)),
            StuckSign::Attempt { number, .. } => format!("attempt {number}"),
            StuckSign::BusyWithoutRun { .. } => "busy, no active run".into(),
        }
    }

    /// Returns the evidence in a sentence without its period.
    pub fn evidence(&self) -> String {
        let run = |id: &Option<String>| match id {
            Some(id) => format!("run {}", text::short_id(id)),
            None => "a run".to_string(),
        };
        match self {
            StuckSign::Pending { run_id, waited, .. } => {
                let ahead = "no run of this thread is ahead of it";
                format!(
                    "{} has been pending for {}; {ahead}",
                    run(run_id),
                    text::age(*waited)
                )
            }
            StuckSign::Silent {
                silent,
                source: SilenceSource::Events,
                ..
            } => {
                format!(
                    "running, but no event was received for {}",
                    text::age(*silent)
                )
            }
            StuckSign::Silent {
                silent,
                source: SilenceSource::Records,
                ..
            } => {
                format!(
                    "running, but its records have not changed for {} (events were not read)",
                    text::age(*silent)
                )
            }
            StuckSign::Silent {
                silent,
                source: SilenceSource::RecordsAndEvents,
                ..
            } => {
                format!(
                    "running, but neither its records nor its events show a change for {}",
                    text::age(*silent)
                )
            }
            StuckSign::Attempt { run_id, number } => {
                format!(
                    "{} is at attempt {number}: the earlier ones didn't finish",
                    run(run_id)
                )
            }
            StuckSign::BusyWithoutRun { .. } => "busy, but no run is active".into(),
        }
    }

    /// Returns since when it is so, as far as that is known.
    pub fn since(&self) -> Option<Timestamp> {
        match self {
            StuckSign::Pending { since, .. } | StuckSign::Silent { since, .. } => Some(*since),
            StuckSign::Attempt { .. } => None,
            StuckSign::BusyWithoutRun { since } => *since,
        }
    }
}

impl ThreadRecords<'_> {
    /// Returns when the records of an active run last changed, by the clock of the server; `None` without the list of runs.
    pub fn last_change(&self) -> Option<Timestamp> {
        let active = self.runs?.iter().filter(|run| run.is_active());
        let of_runs = active.filter_map(|run| run.updated_at.max(run.created_at));
        let of_thread = self
            .thread
            .and_then(|thread| thread.updated_at.max(thread.state_updated_at));
        let of_state = self.state.and_then(|state| state.created_at);
        of_runs.chain(of_thread).chain(of_state).max()
    }
}

/// How long a server may call a thread busy after its run.
const BUSY_AFTER_RUN: Duration = Duration::from_secs(10);

/// Returns the evidence that a thread is stuck, most telling first; empty if there is none. `now` is by the clock of the server
/// where times of records are compared.
pub fn stuck_signs(activity: Activity<'_>, limits: &Stuck, now: Timestamp) -> Vec<StuckSign> {
    let Activity {
        status,
        runs,
        attempt,
        last,
    } = activity;
    let longer = |since: Timestamp, limit: Duration| {
        Duration::try_from(now.duration_since(since))
            .ok()
            .filter(|time| *time > limit)
    };
    let mut signs = Vec::new();
    if let ThreadStatus::BusyWithoutRun { since } = status {
        // Some servers call a thread busy for a moment after its run, and their clocks differ from ours.
        let least = limits.pending.max(BUSY_AFTER_RUN);
        if since.is_some_and(|since| longer(since, least).is_some()) {
            signs.push(StuckSign::BusyWithoutRun { since: *since });
        }
        return signs;
    }
    if !status.is_active() {
        return signs;
    }
    let runs_known = runs.unwrap_or_default();
    let running = runs_known.iter().find(|run| run.is_running());
    if let (ThreadStatus::Running { .. }, Some((since, source))) = (status, last)
        && let Some(silent) = longer(since, limits.silent)
    {
        signs.push(StuckSign::Silent {
            since,
            silent,
            source,
        });
    }
    // Runs of a thread start in the order of their creation, and these are newest first. One created in the future is scheduled,
    // and one behind a running run only waits for its turn. Without the thread's runs it's unknown what a run waits for.
    let is_first =
        matches!(status, ThreadStatus::Queued { .. }) && runs.is_some() && running.is_none();
    let pending = runs_known
        .iter()
        .rev()
        .find(|run| is_first && run.is_active());
    if let Some((run, since)) = pending.and_then(|run| Some((run, run.created_at?)))
        && let Some(waited) = longer(since, limits.pending)
    {
        signs.push(StuckSign::Pending {
            run_id: Some(run.run_id.clone()),
            since,
            waited,
        });
    }
    let current = running.or_else(|| runs_known.iter().find(|run| run.is_active()));
    let number = current.and_then(|run| run.attempt).max(attempt);
    if let Some(number) = number.filter(|number| *number >= LATE_ATTEMPT) {
        signs.push(StuckSign::Attempt {
            run_id: current.map(|run| run.run_id.clone()),
            number,
        });
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-21T14:00:00Z".parse().unwrap()
    }

    fn ago(milliseconds: i64) -> Timestamp {
        now() - jiff::SignedDuration::from_millis(milliseconds)
    }

    fn run(id: &str, status: &str, age: i64) -> RunFacts {
        RunFacts {
            run_id: id.into(),
            status: status.into(),
            created_at: Some(ago(age)),
            ..RunFacts::default()
        }
    }

    fn signs(
        status: &ThreadStatus,
        runs: &[RunFacts],
        last: Option<(Timestamp, SilenceSource)>,
    ) -> Vec<StuckSign> {
        let activity = Activity {
            status,
            runs: Some(runs),
            attempt: None,
            last,
        };
        stuck_signs(activity, &Stuck::default(), now())
    }

    fn queued(runs: &[RunFacts]) -> ThreadStatus {
        ThreadStatus::derive(super::super::ThreadRecords {
            runs: Some(runs),
            ..Default::default()
        })
    }

    #[test]
    fn a_pending_run_is_stuck_after_the_threshold_and_not_before() {
        for (age, expected) in [(59_000, false), (60_000, false), (60_001, true)] {
            let runs = [run("r", "pending", age)];
            assert_eq!(
                !signs(&queued(&runs), &runs, None).is_empty(),
                expected,
                "{age}"
            );
        }
        // A run that is created in the future is scheduled.
        let runs = [run("r", "pending", -3_600_000)];
        assert_eq!(signs(&queued(&runs), &runs, None), []);
    }

    #[test]
    fn a_run_behind_a_running_one_is_queued_and_not_stuck() {
        let runs = [
            run("newest", "pending", 61_000),
            run("waits", "pending", 90_000),
            run("works", "running", 120_000),
        ];
        let status = queued(&runs);
        assert!(matches!(status, ThreadStatus::Running { .. }));
        assert_eq!(
            signs(&status, &runs, Some((ago(1000), SilenceSource::Events))),
            []
        );
        // The stream knows that a run is running before the list of runs does.
        assert_eq!(
            signs(
                &status,
                &runs[..2],
                Some((ago(1000), SilenceSource::Events))
            ),
            []
        );
        // A running run that is silent is stuck itself.
        let found = signs(&status, &runs, Some((ago(400_000), SilenceSource::Events)));
        assert!(
            matches!(found.as_slice(), [StuckSign::Silent { .. }]),
            "{found:?}"
        );
        // The oldest of those that nothing is ahead of is stuck.
        let status = queued(&runs[..2]);
        let found = signs(&status, &runs[..2], None);
        let waited = Duration::from_secs(90);
        assert_eq!(
            found,
            [StuckSign::Pending {
                run_id: Some("waits".into()),
                since: ago(90_000),
                waited
            }]
        );
        assert!(
            found[0]
                .evidence()
                .ends_with("no run of this thread is ahead of it"),
            "{}",
            found[0].evidence()
        );
        // Without the list of runs it is unknown what a run waits for.
        let activity = Activity {
            status: &status,
            runs: None,
            attempt: None,
            last: None,
        };
        assert_eq!(stuck_signs(activity, &Stuck::default(), now()), []);
    }

    #[test]
    fn a_running_run_is_stuck_when_it_is_silent_for_longer_than_the_threshold() {
        let runs = [run("r", "running", 900_000)];
        let status = queued(&runs);
        for (silence, expected) in [(300_000, false), (300_001, true)] {
            let found = signs(&status, &runs, Some((ago(silence), SilenceSource::Events)));
            assert_eq!(!found.is_empty(), expected, "{silence}");
        }
        // What is not known is no evidence.
        assert_eq!(signs(&status, &runs, None), []);
        let records = signs(&status, &runs, Some((ago(400_000), SilenceSource::Records)));
        assert!(
            records[0].evidence().contains("events were not read"),
            "{}",
            records[0].evidence()
        );
        assert_eq!(records[0].word(), "no change for 6m");
        // A thread without an active run may be silent for days.
        let idle = ThreadStatus::Idle {
            ended: None,
            began: None,
        };
        assert_eq!(
            signs(&idle, &[], Some((ago(9_000_000), SilenceSource::Events))),
            []
        );
    }

    #[test]
    fn the_third_attempt_of_an_active_run_counts() {
        let at = |attempt| {
            [RunFacts {
                attempt: Some(attempt),
                ..run("r", "running", 1000)
            }]
        };
        assert_eq!(signs(&queued(&at(2)), &at(2), None), []);
        let found = signs(&queued(&at(3)), &at(3), None);
        assert_eq!(
            found,
            [StuckSign::Attempt {
                run_id: Some("r".into()),
                number: 3
            }]
        );
        // Checkpoints may know more than the run's record.
        let (runs, status) = (at(1), queued(&at(1)));
        let activity = Activity {
            status: &status,
            runs: Some(&runs),
            attempt: Some(4),
            last: None,
        };
        assert_eq!(
            stuck_signs(activity, &Stuck::default(), now())[0].word(),
            "attempt 4"
        );
        // A finished run is not stuck, however often it was tried.
        let done = [RunFacts {
            attempt: Some(5),
            ..run("r", "success", 1000)
        }];
        assert_eq!(signs(&queued(&done), &done, None), []);
    }

    #[test]
    fn a_busy_thread_without_a_run_counts_after_a_moment() {
        let busy = |age: Option<i64>| ThreadStatus::BusyWithoutRun {
            since: age.map(ago),
        };
        for (age, expected) in [(Some(60_000), false), (Some(60_001), true), (None, false)] {
            assert_eq!(
                !signs(&busy(age), &[], None).is_empty(),
                expected,
                "{age:?}"
            );
        }
    }

    #[test]
    fn attempts_are_read_from_records() {
        let read = |text: &str| RunFacts::read(text).unwrap().attempt;
        assert_eq!(
            read(r#"{"kwargs":{"config":{"metadata":{"run_attempt":3}}}}"#),
            Some(3)
        );
        assert_eq!(
            read(
                r#"{"metadata":{"run_attempt":2},"kwargs":{"config":{"metadata":{"run_attempt":1}}}}"#
            ),
            Some(2)
        );
        assert_eq!(read(r#"{"metadata":[],"kwargs":{"config":7}}"#), None);
        let state = super::super::StateFacts::read(r#"{"metadata":{"run_attempt":4}}"#).unwrap();
        assert_eq!(state.attempt, Some(4));
    }
}
