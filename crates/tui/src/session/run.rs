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
    /// On a new thread.
    NewThread,
    /// Without a thread; nothing is saved.
    Stateless,
}

/// Where a composer is opened from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The thread, if it is opened on one.
    pub thread: Option<String>,
    /// The assistant to begin with: its id, or its graph.
    pub assistant: Option<String>,
    /// The initial choice of where to start the run. `None` means on the thread, if there is one.
    pub place: Option<Where>,
    /// A warning about starting a run on the thread.
    pub warning: Option<Warning>,
    /// Nodes before and after which the run stops.
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// A warning to show before a run is started on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// The thread is waiting for input.
    WaitingForInput,
    /// The thread is interrupted, and may be waiting for input.
    MayWaitForInput,
    /// Another run is active.
    Active,
}

/// Returns what a mode sends.
pub fn mode_meaning(mode: &str) -> &'static str {
    match mode {
        "messages-tuple" => "model tokens with metadata",
        "messages" => "legacy messages (full text each time)",
        "updates" => "writes of each node",
        "values" => "state after each step",
        "custom" => "custom events of nodes",
        "tasks" => "task starts, ends, results",
        "checkpoints" => "each saved checkpoint",
        "debug" => "tasks and checkpoints in full",
        "events" => "all LangChain events",
        "run_modes" => "all run events",
        "lifecycle" => "run start/end only",
        "state_update" => "manual state edits",
        "subgraphs" => "subgraph events too",
        _ => "",
    }
}

/// Returns the requests of an action on a thread, or on one of its runs.
pub fn act_on_thread(thread: ThreadRef, run: Option<String>, action: Action) -> Requests {
    let ThreadRef { server, id: thread } = thread;
    let intent = match action {
        Action::Answer | Action::Approve => {
            let from = AnswerFrom::Server(ThreadRef { server, id: thread });
            return Route::Answer(from, action == Action::Approve).into();
        }
        Action::CancelRun => ThreadIntent::Cancel {
            thread,
            run,
            action: CancelAction::Interrupt,
            with_queue: false,
        },
        Action::RollbackRun => ThreadIntent::Cancel {
            thread,
            run,
            action: CancelAction::Rollback,
            with_queue: false,
        },
        Action::Again => ThreadIntent::Again {
            thread,
            recursion_limit: None,
        },
        Action::Delete => ThreadIntent::Delete { thread },
        _ => return Requests::none(),
    };
    Route::on_thread(server, intent).into()
}
