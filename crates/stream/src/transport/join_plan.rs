//! Decides, before a run's stream is read, which events joining can deliver and whether it takes events from other
//! readers.

use crate::log::record::{JOINED, Outcome};
use crate::source::control_events::begins_run;
use crate::transport::modes::is_resumable;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use runtail_api::ServerKind;
use runtail_core::model::Run;

/// The events that joining a run can deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinPlan {
    /// All events, because the server replays them.
    Whole,
    /// Only events from now on.
    FromNow,
    /// Each event goes to a single reader, so reading takes events away from others. Holds the reason.
    Shared(&'static str),
    /// The run has finished and the server kept none of its events. Holds the reason.
    FinishedWithoutEvents(&'static str),
    /// Unknown until the first event shows whether earlier ones are missing.
    Unknown,
}

const JS_SHARED: &str = "this run was not started as resumable, and on a JavaScript server each event of such a run goes to one \
                         reader only: reading it here takes events away from the application";
const EARLY_AEGRA_SHARED: &str = "on Aegra before 0.9.25 each event of a run goes to one reader only: reading it here takes events \
                                  away from the application";
const NOT_RESUMABLE: &str = "the run ended before it was joined, and it was not started as resumable: the server kept none of its events";
const NONE_KEPT: &str =
    "the run ended before it was joined, and this server keeps no events of finished runs";
const NO_LONGER_KEPT: &str = "the run ended before it was joined, and Aegra keeps the events of a finished run for 10 minutes only";
/// How long Aegra keeps the events of a finished run.
const AEGRA_KEEPS: SignedDuration = SignedDuration::from_mins(10);

/// Returns what joining a run can deliver. `run` is its record, if the server offers one.
pub fn join_plan(kind: ServerKind, run: Option<&Run>) -> JoinPlan {
    let Some(run) = run else {
        return JoinPlan::Unknown;
    };
    match (kind, is_resumable(run), run.is_active()) {
        (ServerKind::EarlyAegra, _, true) => JoinPlan::Shared(EARLY_AEGRA_SHARED),
        (ServerKind::EarlyAegra, _, false) => JoinPlan::FinishedWithoutEvents(NONE_KEPT),
        // Asked for older events, Aegra keeps the connection open forever.
        (ServerKind::Aegra, _, false)
            if run
                .updated_at
                .is_some_and(|end| Timestamp::now().duration_since(end) > AEGRA_KEEPS) =>
        {
            JoinPlan::FinishedWithoutEvents(NO_LONGER_KEPT)
        }
        (ServerKind::Aegra, ..) => JoinPlan::Whole,
        (ServerKind::JavaScript, Some(true), _) | (ServerKind::JavaScript, _, false) => {
            JoinPlan::Whole
        }
        // If the record doesn't have the flag, the run's events may go to a single reader.
        (ServerKind::JavaScript, _, true) => JoinPlan::Shared(JS_SHARED),
        (ServerKind::Python | ServerKind::Other, Some(true), _) => JoinPlan::Whole,
        (ServerKind::Python | ServerKind::Other, Some(false), true) => JoinPlan::FromNow,
        (ServerKind::Python | ServerKind::Other, Some(false), false) => {
            JoinPlan::FinishedWithoutEvents(NOT_RESUMABLE)
        }
        (ServerKind::Python | ServerKind::Other, None, _) => JoinPlan::Unknown,
    }
}

/// A server's numbering of a run's events in their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    /// The number of a run's first event.
    pub first: u64,
    /// Whether a connection sends some stored events first, and then sends them again, with the same ids, among the live
    /// events.
    pub repeats_stored: bool,
}

/// Returns how this server numbers the events of a run, if it does.
pub fn numbering(kind: ServerKind) -> Option<Numbering> {
    let (first, repeats_stored) = match kind {
        ServerKind::JavaScript => (0, false),
        ServerKind::Aegra => (1, false),
        ServerKind::EarlyAegra => (1, true),
        ServerKind::Python | ServerKind::Other => return None,
    };
    Some(Numbering {
        first,
        repeats_stored,
    })
}

/// A finished run without events to read.
#[derive(Debug, Clone, PartialEq)]
pub struct NoEvents {
    /// Why there are no events.
    pub why: &'static str,
    pub outcome: Outcome,
    pub detail: Option<String>,
}

/// How a run was joined. Kept until its first event shows whether earlier ones are missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Joining {
    pub plan: JoinPlan,
    /// Whether the run had not started.
    pub is_pending: bool,
    /// Whether the run had finished.
    pub is_over: bool,
}

impl Joining {
    /// Describes what is missing before the first received event. On servers that number events, `number` is that
    /// event's number and `first` the run's first one.
    pub(crate) fn missing_before(
        self,
        name: &str,
        data: &str,
        at: Timestamp,
        number: Option<u64>,
        first: Option<u64>,
    ) -> Option<String> {
        let missing = number
            .zip(first)
            .map(|(number, first)| number.saturating_sub(first));
        if begins_run(name, data) || missing == Some(0) {
            return None;
        }
        Some(late_join(at, missing))
    }

    /// Describes what is missing from a run whose stream ended without any event.
    pub(crate) fn missing_at_end(self, at: Timestamp) -> Option<String> {
        match self {
            Joining {
                is_over: true,
                plan: JoinPlan::Whole,
                ..
            } => Some(
                "the run ended before it was joined, and the server no longer has its events"
                    .into(),
            ),
            Joining {
                is_pending: true, ..
            } => None,
            Joining { .. } => Some(late_join(at, None)),
        }
    }
}

/// Describes a late join. The time of day is local; the record has the exact time.
fn late_join(at: Timestamp, missing: Option<u64>) -> String {
    let what = match missing {
        None => "earlier output isn't available".to_string(),
        Some(1) => "1 earlier event isn't available".to_string(),
        Some(n) => format!(
            "{} earlier events aren't available",
            runtail_core::text::count(n)
        ),
    };
    joined(at, &what)
}

/// Returns the reason of a gap from before a stream was opened.
pub(crate) fn joined(at: Timestamp, what: &str) -> String {
    format!(
        "{JOINED}{}; {what}",
        at.to_zoned(TimeZone::system()).strftime("%H:%M:%S")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(status: &str, resumable: Option<bool>) -> Run {
        let kwargs = resumable
            .map(|resumable| serde_json::json!({"resumable": resumable}))
            .unwrap_or_default();
        serde_json::from_value(
            serde_json::json!({"run_id": "r", "status": status, "kwargs": kwargs}),
        )
        .unwrap()
    }

    #[test]
    fn join_plan_for_each_server_and_run() {
        use JoinPlan::{FinishedWithoutEvents, FromNow, Shared, Unknown, Whole};
        use ServerKind::{Aegra, EarlyAegra, JavaScript, Other, Python};
        let (kept, lost, unknown) = (Some(true), Some(false), None);
        for (kind, resumable, active, over) in [
            (Python, kept, Whole, Whole),
            (Python, lost, FromNow, FinishedWithoutEvents(NOT_RESUMABLE)),
            (Python, unknown, Unknown, Unknown),
            (JavaScript, kept, Whole, Whole),
            // Unread events stay in the queue of a finished run, and no other reader is waiting for them.
            (JavaScript, lost, Shared(JS_SHARED), Whole),
            (JavaScript, unknown, Shared(JS_SHARED), Whole),
            (
                EarlyAegra,
                kept,
                Shared(EARLY_AEGRA_SHARED),
                FinishedWithoutEvents(NONE_KEPT),
            ),
            (
                EarlyAegra,
                lost,
                Shared(EARLY_AEGRA_SHARED),
                FinishedWithoutEvents(NONE_KEPT),
            ),
            (
                EarlyAegra,
                unknown,
                Shared(EARLY_AEGRA_SHARED),
                FinishedWithoutEvents(NONE_KEPT),
            ),
            (Aegra, unknown, Whole, Whole),
            (Other, kept, Whole, Whole),
            (Other, lost, FromNow, FinishedWithoutEvents(NOT_RESUMABLE)),
            (Other, unknown, Unknown, Unknown),
        ] {
            for status in ["pending", "running"] {
                assert_eq!(
                    join_plan(kind, Some(&run(status, resumable))),
                    active,
                    "{kind:?} {resumable:?} {status}"
                );
            }
            for status in ["success", "error", "interrupted", "timeout"] {
                assert_eq!(
                    join_plan(kind, Some(&run(status, resumable))),
                    over,
                    "{kind:?} {resumable:?} {status}"
                );
            }
            assert_eq!(join_plan(kind, None), Unknown);
        }
        let ended = |ago: i64| Run {
            updated_at: Some(Timestamp::now() - SignedDuration::from_mins(ago)),
            ..run("success", unknown)
        };
        assert_eq!(join_plan(Aegra, Some(&ended(9))), Whole);
        assert_eq!(
            join_plan(Aegra, Some(&ended(11))),
            FinishedWithoutEvents(NO_LONGER_KEPT)
        );
    }

    #[test]
    fn late_joins_report_missing_events() {
        let joining = Joining {
            plan: JoinPlan::Unknown,
            is_pending: false,
            is_over: false,
        };
        let missing = |name: &str, data: &str, number, first| {
            joining.missing_before(name, data, Timestamp::UNIX_EPOCH, number, first)
        };
        assert_eq!(
            missing("metadata", r#"{"run_id":"r","attempt":1}"#, None, None),
            None
        );
        assert_eq!(missing("metadata", r#"{"run_id":"r"}"#, None, None), None);
        // According to the contract, the first event has both fields, under any name.
        assert_eq!(
            missing("start", r#"{"run_id":"r","attempt":1}"#, None, None),
            None
        );
        assert_eq!(missing("values", "{}", Some(0), Some(0)), None);
        for (name, data) in [
            ("values", "{}"),
            ("start", r#"{"run_id":"r"}"#),
            // A later attempt, and the end of a run on a thread's stream.
            ("metadata", r#"{"run_id":"r","attempt":2}"#),
            ("metadata", r#"{"run_id":"r","status":"run_done"}"#),
            ("metadata", "not json"),
        ] {
            let why = missing(name, data, None, None).unwrap_or_default();
            assert!(
                why.starts_with("joined at ") && why.ends_with("; earlier output isn't available"),
                "{why}"
            );
        }
        let why = missing("values", "{}", Some(99), Some(0)).unwrap_or_default();
        assert!(
            why.ends_with("; 99 earlier events aren't available"),
            "{why}"
        );
        let why = missing("values", "{}", Some(2), Some(1)).unwrap_or_default();
        assert!(why.ends_with("; 1 earlier event isn't available"), "{why}");
    }

    #[test]
    fn runs_without_events_report_what_is_missing() {
        let missing = |plan, is_pending, is_over| {
            Joining {
                plan,
                is_pending,
                is_over,
            }
            .missing_at_end(Timestamp::UNIX_EPOCH)
            .unwrap_or_default()
        };
        assert!(missing(JoinPlan::Whole, false, true).contains("no longer has its events"));
        assert!(missing(JoinPlan::Whole, false, false).contains("earlier output isn't available"));
        assert!(
            missing(JoinPlan::Unknown, false, false).contains("earlier output isn't available")
        );
        // Cancelled before it started.
        assert_eq!(missing(JoinPlan::FromNow, true, false), "");
    }
}
