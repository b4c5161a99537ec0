//! The time to first token (TTFT) of model calls. All views, exports and commands use this definition: from the start of the model
//! call to its first token.
//!
//! Only `events` reports when a call starts. Otherwise the first call of a task is taken to start with its task, or, if that isn't
//! reported either, with the end of the previous step. When a later call of the same task started is not known.

use super::message_key;
use crate::insert;
use crate::protocol::{MessageOrigin, Payload};
use crate::{MAX_NAME, Namespace};
use jiff::Timestamp;
use std::collections::HashMap;
use std::time::Duration;

/// Maximum number of namespaces, tasks and calls remembered. Each task of a subgraph has its own namespace.
const MAX_EACH: usize = 256;

/// When a model call started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallStart {
    pub at: Timestamp,
    /// Whether the server reported it. Otherwise it is estimated from the task or the step.
    pub is_exact: bool,
}

impl CallStart {
    /// Returns the time to first token of this call.
    pub(super) fn first_token(self, at: Timestamp) -> Option<FirstToken> {
        let after = Duration::try_from(at.duration_since(self.at)).ok()?;
        // An estimated start that is the time of the token itself says nothing.
        (self.is_exact || after >= Duration::from_millis(1)).then_some(FirstToken {
            after,
            is_exact: self.is_exact,
        })
    }
}

/// The time to first token of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstToken {
    /// The time from the start of the call to its first token.
    pub after: Duration,
    /// Whether the server reported the start of the call. Otherwise it is an estimate.
    pub is_exact: bool,
}

/// The current step of a graph.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    /// When it started, if known.
    start: Option<Timestamp>,
    /// Its number, once a message of the graph named it.
    number: Option<i64>,
    /// When the newest message of the graph or its subgraphs was sent since then.
    message: Option<Timestamp>,
}

/// The most recent start times.
#[derive(Debug, Clone, Default)]
pub(super) struct Starts {
    /// The current step of each graph.
    steps: HashMap<Namespace, Step>,
    /// When each node's last task started, by graph and node name.
    tasks: HashMap<(Namespace, Box<str>), Option<Timestamp>>,
    /// When model calls started, by the key of their messages.
    calls: HashMap<Box<str>, Timestamp>,
    /// The start that the first call of each task was given.
    given: HashMap<Box<str>, Timestamp>,
}

impl Starts {
    /// Applies an event and its time, if known.
    pub fn apply(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        match payload.name {
            "metadata" => {
                self.steps.clear();
                self.tasks.clear();
                self.step(payload, at);
            }
            // In the newer protocol, `lifecycle` reports the start of a run.
            "values" | "updates" | "checkpoints" | "lifecycle" => self.step(payload, at),
            "tasks" | "debug" => self.task(payload, at),
            "events" => self.callback(payload, at),
            _ => {}
        }
    }

    /// Applies a message or a chunk. Its step may show that the previous one has ended. Calls are looked up before
    /// [`Starts::after_message`].
    pub fn before_message(&mut self, ns: &Namespace, origin: &MessageOrigin<'_>) {
        let own = depth_of(ns, origin);
        let Some(step) = ns.get(..own).and_then(|graph| self.steps.get_mut(graph)) else {
            return;
        };
        let number = origin.langgraph_step.0;
        if number
            .zip(step.number)
            .is_some_and(|(number, current)| number > current)
        {
            *step = Step {
                start: step.message,
                number,
                message: None,
            };
        }
        step.number = step.number.or(number);
    }

    /// Records that a message was sent.
    pub fn after_message(&mut self, ns: &Namespace, at: Option<Timestamp>) {
        for depth in 0..=ns.len() {
            if let Some(step) = self.steps.get_mut(&ns[..depth]) {
                step.message = at;
            }
        }
    }

    /// Returns when the model call that writes a message started.
    pub fn of_call(
        &mut self,
        id: Option<&str>,
        ns: &Namespace,
        origin: &MessageOrigin<'_>,
    ) -> Option<CallStart> {
        if let Some(at) = id.and_then(|id| self.calls.get(message_key(id))) {
            return Some(CallStart {
                at: *at,
                is_exact: true,
            });
        }
        let (depth, at) = self.of_task(ns, origin)?;
        let at = at?;
        let task: Vec<&str> = match origin.langgraph_checkpoint_ns.some() {
            Some(path) => path.split('|').take(depth + 1).collect(),
            None => ns
                .iter()
                .map(|segment| &**segment)
                .chain(origin.langgraph_node.some())
                .take(depth + 1)
                .collect(),
        };
        let task = task.join("|");
        if task.len() > MAX_NAME {
            return None;
        }
        let is_first = self.given.get(&*task) != Some(&at);
        insert(&mut self.given, MAX_EACH, task.into(), at);
        is_first.then_some(CallStart {
            at,
            is_exact: false,
        })
    }

    /// Forgets what was current before a gap.
    pub fn gap(&mut self) {
        self.steps.clear();
        self.tasks.clear();
    }

    /// Returns whether the start of the task or the step of a message was seen.
    pub fn has_seen(&self, ns: &Namespace, origin: &MessageOrigin<'_>) -> bool {
        self.of_task(ns, origin).is_some()
    }

    /// Returns when the task of a message started, or its step, and the depth of the graph that this is known of.
    fn of_task(
        &self,
        ns: &Namespace,
        origin: &MessageOrigin<'_>,
    ) -> Option<(usize, Option<Timestamp>)> {
        let (own, node) = (depth_of(ns, origin), origin.langgraph_node.some());
        // JavaScript names the node itself as the innermost namespace, so its graph may be the one above.
        for depth in (0..=ns.len()).rev() {
            let graph = Namespace::from(&ns[..depth]);
            if let Some(start) = node.and_then(|node| self.tasks.get(&(graph.clone(), node.into())))
            {
                return Some((depth, *start));
            }
            if let Some(step) = self.steps.get(&graph) {
                // Where the steps of its own graph are not known, it may belong to a later one.
                let is_current = depth == own || step.message.is_none();
                return Some((depth, step.start.filter(|_| is_current)));
            }
        }
        None
    }

    fn step(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let step = Step {
            start: at,
            ..Step::default()
        };
        insert(&mut self.steps, MAX_EACH, payload.ns.clone(), step);
    }

    fn task(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(task) = payload.task() else { return };
        let Some(name) = task.name.some().filter(|_| task.is_start()) else {
            return;
        };
        let key = (payload.ns.clone(), name.into());
        insert(&mut self.tasks, MAX_EACH, key, at);
    }

    fn callback(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(callback) = payload.callback() else {
            return;
        };
        let is_start = matches!(
            callback.event.as_str(),
            "on_chat_model_start" | "on_llm_start"
        );
        let Some((id, at)) = callback
            .run_id
            .some()
            .filter(|id| is_start && id.len() <= MAX_NAME)
            .zip(at)
        else {
            return;
        };
        insert(&mut self.calls, MAX_EACH, id.into(), at);
    }
}

/// Returns the depth of the graph whose node sent a message.
fn depth_of(ns: &Namespace, origin: &MessageOrigin<'_>) -> usize {
    origin
        .langgraph_checkpoint_ns
        .some()
        .map_or(ns.len(), |path| path.split('|').count() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimated_start_at_the_first_token_gives_no_time() {
        let start = |is_exact| CallStart {
            at: Timestamp::UNIX_EPOCH,
            is_exact,
        };
        let later = Timestamp::from_millisecond(59).unwrap();
        assert_eq!(start(false).first_token(Timestamp::UNIX_EPOCH), None);
        assert_eq!(
            start(true)
                .first_token(Timestamp::UNIX_EPOCH)
                .map(|first| first.after),
            Some(Duration::ZERO)
        );
        assert_eq!(
            start(false).first_token(later).map(|first| first.after),
            Some(Duration::from_millis(59))
        );
    }
}
