//! The parts of a thread's state that features share.

use super::msg::{ServerRef, ThreadRef};
use crate::widgets::line::Line;
use jiff::Timestamp;
use runtail_api::{ApiError, Kind, LoadedThread, ServerKind, StartError, StartFailure};
use runtail_core::model::{Again, KnownRevisions, Question, StuckSign, ThreadStatus};
use runtail_stream::SnapshotPart;
use runtail_stream::projection::Status;

/// The thread of the current stream.
pub struct ThreadView<'a> {
    pub server: &'a ServerRef,
    /// Its id, if known.
    pub thread_id: Option<&'a str>,
    /// Its status now, also during time travel, because actions act on the thread as it is now.
    pub status: &'a ThreadStatus,
    /// The status in a few words.
    pub badge: Line,
    /// The status according to the server's records.
    pub records: &'a Status,
    /// What a retry would do.
    pub again: Again,
    /// The revisions of the server's deployment, if it has one.
    pub revisions: Option<KnownRevisions>,
    /// Whether it is read from a recording.
    pub is_recording: bool,
    /// When the newest event was received.
    pub last_event_at: Option<Timestamp>,
    /// The evidence that its run is stuck.
    pub stuck: Vec<StuckSign>,
    pub offers: Offers,
}

/// The actions that a thread's server offers, as far as that is known. What is unknown counts as offered, because the plan of an
/// action checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offers {
    /// Runs in the background, which every action but a new run and an answer starts.
    pub starts: bool,
    /// Runs without an input, which continue a thread or retry its steps.
    pub continues: bool,
    pub cancels: bool,
    /// Updates that make a thread idle that is busy without a run.
    pub releases: bool,
    /// Updates that end a thread.
    pub ends: bool,
    /// The thread's record or its state.
    pub has_records: bool,
}

impl Offers {
    /// Returns what a server of a kind offers for a thread with these records.
    pub fn new(kind: Option<ServerKind>, records: &Status) -> Offers {
        let has = |part: SnapshotPart| {
            !records
                .missing()
                .iter()
                .any(|(missing, why)| *missing == part && why.is_none())
        };
        let can = |ability: fn(ServerKind) -> bool| kind.is_none_or(ability);
        // A server without a list of runs has no other call for runs in the background either.
        let (has_runs, has_state) = (has(SnapshotPart::Runs), has(SnapshotPart::State));
        Offers {
            starts: has_runs,
            continues: has_runs && can(ServerKind::continues_without_input),
            cancels: has_runs,
            releases: has_state && can(ServerKind::releases_by_update),
            ends: has_state && can(ServerKind::ends_by_update),
            has_records: has_state || has(SnapshotPart::Thread),
        }
    }

    /// Returns the label of the key that runs a failed thread again, if the server can do that. `is_rejected`: whether it failed of
    /// an answer that the server keeps.
    pub fn again_label(self, again: Again, is_rejected: bool) -> Option<&'static str> {
        match again {
            Again::Steps if self.continues => Some("retry"),
            // A server that can't retry steps runs the input again.
            Again::Steps | Again::Input if self.starts && !is_rejected => Some("run again"),
            Again::Steps | Again::Input | Again::Nothing => None,
        }
    }
}

/// Returns the label of the key that approves everything, if all questions can be approved.
pub fn approve_label(questions: &[Question]) -> Option<&'static str> {
    let label = match questions.len() {
        ..=1 => "approve",
        _ => "approve all",
    };
    let can_be_approved = questions.iter().all(Question::can_be_approved);
    can_be_approved.then_some(label)
}

/// Where the questions of an answer card come from.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerFrom {
    /// The thread's records, which must be loaded first: some lists don't show whether a thread waits for input.
    Server(ThreadRef),
    /// The same for a thread whose stream reported a question that the loaded records don't have yet.
    Waiting(ThreadRef),
    /// The loaded records of the thread.
    Loaded(ThreadRef, Box<LoadedThread>),
    /// The questions in the thread's stream, and the assistant that ran.
    Stream(ThreadRef, Vec<Question>, Option<String>),
    /// The thread doesn't wait for an answer: its status, and whether the server keeps an answer that the graph rejected.
    Nothing(ThreadRef, Box<ThreadStatus>, bool),
}

/// Puts a sentence before an error's detail that says what the error means here.
pub fn with_sentence(sentence: &str, error: ApiError) -> ApiError {
    let status = error
        .status()
        .map(|code| format!("{code}: "))
        .unwrap_or_default();
    let detail = match error.detail.is_empty() {
        true => sentence.to_string(),
        false => format!("{sentence} ({status}{})", error.detail),
    };
    let kind = match error.kind {
        // The invalid fields are listed below the detail.
        Kind::Invalid(fields) => Kind::Invalid(fields),
        _ => Kind::Refused,
    };
    ApiError {
        kind,
        detail,
        ..error
    }
}

/// Returns the error of a change that was not made, or is not known to be, with what it means.
pub fn explained(failed: StartError) -> ApiError {
    with_sentence(failed.failure.sentence(), failed.error)
}

/// What a second press of the send key says after a request whose outcome is unknown.
pub const MAYBE_SENT: &str =
    "The server may have received this: check the thread's runs, then open this form again.";

/// Returns what a failure means for a draft.
pub fn with_draft(failure: StartFailure) -> String {
    let sentence = failure.sentence();
    match failure.may_be_received() {
        true => format!("{sentence} Check the thread's runs first."),
        false => format!("{sentence} Draft kept."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_need_an_input_offer_no_retry_of_steps() {
        let label = |kind, again, is_rejected| {
            Offers::new(kind, &Status::default()).again_label(again, is_rejected)
        };
        for kind in [
            None,
            Some(ServerKind::Python),
            Some(ServerKind::JavaScript),
            Some(ServerKind::Aegra),
        ] {
            assert_eq!(label(kind, Again::Steps, false), Some("retry"));
            assert_eq!(
                label(kind, Again::Steps, true),
                Some("retry"),
                "it asks again"
            );
            assert_eq!(label(kind, Again::Input, false), Some("run again"));
            assert_eq!(label(kind, Again::Nothing, false), None);
        }
        let early = Some(ServerKind::EarlyAegra);
        assert_eq!(
            label(early, Again::Steps, false),
            Some("run again"),
            "with the last input"
        );
        assert_eq!(
            label(early, Again::Steps, true),
            None,
            "the answer is kept, and it can't ask again"
        );
        assert_eq!(label(early, Again::Input, false), Some("run again"));
    }
}
