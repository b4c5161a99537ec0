//! New runs, and the actions on a thread.

use super::msg::ThreadRef;
use super::request::{Requests, Route};
use super::thread::AnswerFrom;
use crate::input::action::Action;
use runtail_api::{CancelAction, ThreadIntent};

/// Where a run is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// On the thread that the composer was opened from.
    ThisThread,
    /// On a thread made for it.
    NewThread,
    /// Without a thread: nothing is kept.
    Stateless,
}

/// Where a composer is opened from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The thread, if it is opened on one.
    pub thread: Option<String>,
    /// The assistant to begin with: its id, or its graph.
    pub assistant: Option<String>,
    /// Where the run is started at first; none means on the thread, if there is one.
    pub place: Option<Where>,
    /// What a new run on the thread means.
    pub warning: Option<Warning>,
}

/// What a person has to know before a run is started on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// It is waiting for an answer.
    Waits,
    /// It is interrupted, and may be waiting.
    MayWait,
    /// A run is active.
    Active,
}

/// What a key that acts on a thread, or on a run of it, asks for.
pub fn act_on_thread(thread: ThreadRef, run: Option<String>, action: Action) -> Requests {
    let ThreadRef { server, id: thread } = thread;
    let intent = match action {
        Action::Answer | Action::Approve => {
            let from = AnswerFrom::Server(ThreadRef { server, id: thread });
            return Route::Answer(from, action == Action::Approve).into();
        }
        Action::CancelRun => ThreadIntent::Cancel { thread, run, action: CancelAction::Interrupt, with_queue: false },
        Action::RollbackRun => ThreadIntent::Cancel { thread, run, action: CancelAction::Rollback, with_queue: false },
        Action::Again => ThreadIntent::Again { thread, recursion_limit: None },
        Action::Delete => ThreadIntent::Delete { thread },
        _ => return Requests::none(),
    };
    Route::ThreadAction(server, Box::new(intent)).into()
}
