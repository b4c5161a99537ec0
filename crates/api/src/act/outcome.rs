//! The result of applying a plan.

use crate::reproduce::Reproduced;
use crate::thread_actions::{Started, Written};
use crate::{ApiError, CancelTarget, Kind};
use serde_json::Value;

/// A record that was changed.
#[derive(Clone, Default, PartialEq)]
pub struct Applied {
    /// The record after it, secrets included: the server's response, or what was read back. Null if there is none.
    pub record: Value,
    /// The revision that this change created.
    pub revision: Option<String>,
    /// Why the revision is uncertain.
    pub doubt: Option<String>,
    /// What the server accepted but did not do.
    pub complaint: Option<String>,
}

impl std::fmt::Debug for Applied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The record contains secrets.
        f.debug_struct("Applied")
            .field("revision", &self.revision)
            .field("doubt", &self.doubt)
            .finish_non_exhaustive()
    }
}

/// What applying a plan did.
#[derive(Debug, Clone, PartialEq)]
pub enum Acted {
    /// A record was changed.
    Changed(Box<Applied>),
    /// The requests to cancel were made; those that are accepted and still active have to be followed.
    Cancelling(Vec<CancelTarget>),
    /// A run was started.
    Started(Started),
    /// The state was edited, which made this checkpoint, and a run was started from it.
    Forked {
        /// The new checkpoint.
        checkpoint: String,
        started: Started,
    },
    /// The state was edited.
    Written(Written),
    /// The thread was deleted.
    Deleted,
    /// The thread's name or star was set.
    Labeled,
    /// The thread was copied to another server.
    Copied(Box<Reproduced>),
}

impl Acted {
    /// Returns the record that was changed; an empty one if it was something else.
    pub fn applied(self) -> Applied {
        match self {
            Acted::Changed(applied) => *applied,
            _ => Applied::default(),
        }
    }

    /// Returns the copy that was made; an empty one if it was something else.
    pub fn copied(self) -> Reproduced {
        match self {
            Acted::Copied(made) => *made,
            _ => Reproduced::default(),
        }
    }
}

/// Why something was not done, or is not known to be.
#[derive(Debug, Clone, PartialEq)]
pub struct StartError {
    /// The stage at which it failed.
    pub failure: StartFailure,
    /// What the server or the network said.
    pub error: ApiError,
}

/// The stage at which a change failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFailure {
    /// A question that was answered is no longer open. Nothing was sent.
    NotOpen,
    /// The target changed since the preview. Nothing was sent.
    Changed,
    /// The target couldn't be read. Nothing was sent.
    Unchecked,
    /// The server refused, because the question is already answered.
    Answered,
    /// The run was started, but another run was started after the check, and may have answered the question.
    Overtaken,
    /// Another run is active: the server refused this one.
    Busy,
    /// The server could not be reached. Nothing was sent.
    Unreachable,
    /// The server refused, for another reason.
    Refused,
    /// The state was edited, but the run after it was not started.
    AfterEdit,
    /// The state was edited, and it is not known whether the run after it was started.
    AfterEditUnknown,
    /// The server has no call for runs in the background.
    NotOffered,
    /// No run was started, and it is not known whether the thread for it was created.
    ThreadUnknown,
    /// It was sent, and its result is unknown.
    Unknown,
}

impl StartFailure {
    /// Returns whether it is unknown what was done.
    pub fn is_unknown(self) -> bool {
        matches!(
            self,
            StartFailure::Unknown | StartFailure::ThreadUnknown | StartFailure::AfterEditUnknown
        )
    }

    /// Returns whether the server may have received it. Then it isn't sent again until the user has checked the thread.
    pub fn may_be_received(self) -> bool {
        self.is_unknown() || self == StartFailure::Overtaken
    }

    /// Returns what it means, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            StartFailure::NotOpen => "This question is no longer open. Nothing was sent.",
            StartFailure::Changed => "The thread changed since the preview. Nothing was sent.",
            StartFailure::Unchecked => {
                "Couldn't read the thread right before sending. Nothing was sent."
            }
            StartFailure::Answered => "Someone answered first, so the server refused.",
            StartFailure::Overtaken => {
                "The run was started, but someone started another one just before. The graph may not have received this answer."
            }
            StartFailure::Busy => "Another run is active on the thread, so the server refused.",
            StartFailure::Unreachable => "The server couldn't be reached. Nothing was sent.",
            StartFailure::Refused => "The server refused. Nothing was done.",
            StartFailure::AfterEdit => "Only a part was done.",
            StartFailure::AfterEditUnknown => "A part was done. It's unknown whether the rest was.",
            StartFailure::NotOffered => "This server doesn't have the call. Nothing was done.",
            StartFailure::ThreadUnknown => {
                "No run was started. It's unknown whether its thread was created."
            }
            StartFailure::Unknown => {
                "It's unknown whether this was done: the server failed, or its reply was lost."
            }
        }
    }
}

impl StartFailure {
    /// Adds what the server or the network said.
    pub(crate) fn with_error(self, error: ApiError) -> StartError {
        StartError {
            failure: self,
            error,
        }
    }
}

impl StartError {
    /// Creates the error of a request that was sent once.
    pub(crate) fn sent(error: ApiError) -> StartError {
        let failure = match error.kind {
            Kind::NoConnection => StartFailure::Unreachable,
            _ if error.is_refusal() => StartFailure::Refused,
            _ => StartFailure::Unknown,
        };
        failure.with_error(error)
    }

    /// Adds what to check if the result of the request is unknown.
    pub(crate) fn or_check(mut self, what: impl Into<String>) -> StartError {
        if self.failure == StartFailure::Unknown {
            self.error.hint = Some(what.into());
        }
        self
    }
}

impl From<StartError> for ApiError {
    fn from(failed: StartError) -> ApiError {
        match failed.failure {
            StartFailure::Unchecked => failed.error.hinted("nothing was sent"),
            _ => failed.error,
        }
    }
}
