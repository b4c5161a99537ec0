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
            StuckSign::Silent { silent, source, .. } => {
                let what = match source {
                    SilenceSource::Events => "event",
                    _ => "change",
                };
                format!("no {what} for {}", text::age(*silent))
            }
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
            StuckSign::Pending { run_id, waited, .. } => format!(
                "{} has been pending for {}; no run of this thread is ahead of it",
                run(run_id),
                text::age(*waited)
            ),
            StuckSign::Silent { silent, source, .. } => {
                let age = text::age(*silent);
                match source {
                    SilenceSource::Events => {
                        format!("running, but no event was received for {age}")
                    }
                    SilenceSource::Records => format!(
                        "running, but its records have not changed for {age} (events were not read)"
                    ),
                    SilenceSource::RecordsAndEvents => format!(
                        "running, but neither its records nor its events show a change for {age}"
                    ),
                }
            }
            StuckSign::Attempt { run_id, number } => format!(
                "{} is at attempt {number}: the earlier ones didn't finish",
                run(run_id)
            ),
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

    fn ago(milliseconds: i64) -> Timestamp {
        let now: Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
        now - jiff::SignedDuration::from_millis(milliseconds)
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
        runs: Option<&[RunFacts]>,
        attempt: Option<u64>,
        last: Option<(i64, SilenceSource)>,
    ) -> String {
        let activity = Activity {
            status,
            runs,
            attempt,
            last: last.map(|(age, source)| (ago(age), source)),
        };
        let signs = stuck_signs(activity, &Stuck::default(), ago(0));
        let said = |sign: &StuckSign| format!("{}: {}", sign.word(), sign.evidence());
        signs.iter().map(said).collect::<Vec<_>>().join("; ")
    }

    fn of(runs: &[RunFacts]) -> ThreadStatus {
        ThreadStatus::derive(ThreadRecords {
            runs: Some(runs),
            ..ThreadRecords::default()
        })
    }

    #[test]
    fn runs_are_stuck_after_their_threshold_and_not_before() {
        use SilenceSource::{Events, Records};
        let pending = |age| vec![run("r", "pending", age)];
        let running = |attempt| {
            let run = run("r", "running", 900_000);
            vec![RunFacts { attempt, ..run }]
        };
        let queue = || {
            vec![
                run("newest", "pending", 61_000),
                run("waits", "pending", 90_000),
            ]
        };
        let behind = [queue(), vec![run("works", "running", 120_000)]].concat();
        let done = RunFacts {
            attempt: Some(5),
            ..run("r", "success", 1000)
        };
        let attempt = |number: u8| {
            format!(
                "attempt {number}: run r is at attempt {number}: the earlier ones didn't finish"
            )
        };
        let silent = "no event for 5m: running, but no event was received for 5m";
        for (runs, attempt, last, expected) in [
            (pending(60_000), None, None, ""),
            (
                pending(60_001),
                None,
                None,
                "pending for 1m: run r has been pending for 1m; no run of this thread is ahead of it",
            ),
            // A run that is created in the future is scheduled.
            (pending(-3_600_000), None, None, ""),
            // One behind a running run waits for its turn; the oldest of those that nothing is ahead of is stuck.
            (behind.clone(), None, Some((1000, Events)), ""),
            (behind, None, Some((300_001, Events)), silent),
            (
                queue(),
                None,
                None,
                "pending for 1m: run waits has been pending for 1m; no run of this thread is ahead of it",
            ),
            (running(None), None, Some((300_000, Events)), ""),
            (running(None), None, Some((300_001, Events)), silent),
            // What is not known is no evidence.
            (running(None), None, None, ""),
            (
                running(None),
                None,
                Some((400_000, Records)),
                "no change for 6m: running, but its records have not changed for 6m (events were not read)",
            ),
            (running(Some(2)), None, None, ""),
            (running(Some(3)), None, None, &attempt(3)),
            // Checkpoints may know more than the run's record.
            (running(Some(1)), Some(4), None, &attempt(4)),
            // A finished run is not stuck, however often it was tried, and a thread without an active one may be silent for days.
            (vec![done], None, Some((9_000_000, Events)), ""),
        ] {
            assert_eq!(
                signs(&of(&runs), Some(&runs), attempt, last),
                expected,
                "{runs:?}"
            );
        }
        // The stream knows that a run is running before the list of runs does. Without that list it is unknown what a run waits for.
        let works = of(&[run("works", "running", 120_000)]);
        assert_eq!(
            signs(&works, Some(&queue()), None, Some((1000, Events))),
            ""
        );
        assert_eq!(signs(&of(&queue()), None, None, None), "");
    }

    #[test]
    fn a_busy_thread_without_a_run_counts_after_a_moment() {
        for (age, expected) in [
            (Some(60_000), ""),
            (
                Some(60_001),
                "busy, no active run: busy, but no run is active",
            ),
            (None, ""),
        ] {
            let busy = ThreadStatus::BusyWithoutRun {
                since: age.map(ago),
            };
            assert_eq!(signs(&busy, Some(&[]), None, None), expected, "{age:?}");
        }
    }

    #[test]
    fn attempts_are_read_from_records() {
        for (record, expected) in [
            (
                r#"{"kwargs":{"config":{"metadata":{"run_attempt":3}}}}"#,
                Some(3),
            ),
            (
                r#"{"metadata":{"run_attempt":2},"kwargs":{"config":{"metadata":{"run_attempt":1}}}}"#,
                Some(2),
            ),
            (r#"{"metadata":[],"kwargs":{"config":7}}"#, None),
        ] {
            assert_eq!(RunFacts::read(record).unwrap().attempt, expected);
        }
        let state = super::super::StateFacts::read(r#"{"metadata":{"run_attempt":4}}"#).unwrap();
        assert_eq!(state.attempt, Some(4));
    }
}
