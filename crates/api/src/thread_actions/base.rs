//! The checkpoint that an action starts from: whether it exists, what it holds, and what followed it.

use super::plan::named;
use super::{LoadedThread, unfit};
use crate::{AgentServer, Kind, PlanError, ServerKind};
use runtail_core::model::StateFacts;
use runtail_core::text::{self, short_id};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a state with its values.
const MAX_STATE: usize = 64 << 20;
/// Bytes of a value that is parsed for a preview; a larger one is described by its size.
const MAX_VALUE: usize = 1 << 20;
/// States in a page of history, and pages that are read.
const PAGE: usize = 50;
const MAX_PAGES: usize = 4;
/// Bytes of a page: each state repeats all values of the thread.
const MAX_PAGE: usize = 16 << 20;
/// Steps after a checkpoint that a preview names.
const MAX_STEPS: usize = 8;

/// A saved checkpoint.
#[derive(Debug)]
pub(super) struct Base {
    /// Its id.
    pub id: String,
    pub thread: String,
    pub facts: StateFacts,
    /// The values by their keys, as received.
    pub values: BTreeMap<String, Box<RawValue>>,
    /// Whether it is the thread's newest.
    pub is_newest: bool,
}

impl Base {
    /// Names it in a sentence: `step 4 (checkpoint 1f1e6200…79e2)`.
    pub fn name(&self) -> String {
        let id = short_id(&self.id);
        match self.facts.step {
            Some(step) => format!("step {step} (checkpoint {id})"),
            None => format!("checkpoint {id}"),
        }
    }

    /// Returns a value, or a description of it where it is too large for a preview.
    pub fn value(&self, key: &str) -> Option<Value> {
        let raw = self.values.get(key)?.get();
        match raw.len() {
            0..=MAX_VALUE => serde_json::from_str(raw).ok(),
            size => Some(Value::String(format!("(a value of {} MB)", size >> 20))),
        }
    }

    /// Returns whether its next nodes ran before.
    pub fn has_run(&self) -> bool {
        self.facts.tasks.iter().any(|task| task.has_result || task.error.is_some() || !task.questions.is_empty())
    }

    /// Returns the names of the tool calls that its last message asks for and that no message answers yet.
    pub fn open_calls(&self) -> Vec<String> {
        let messages = self.value("messages").unwrap_or_default();
        let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
        let calls_of = |message: &Value| message["tool_calls"].as_array().filter(|calls| !calls.is_empty()).cloned();
        let Some(at) = messages.iter().rposition(|message| calls_of(message).is_some()) else { return Vec::new() };
        let answered: BTreeSet<&str> =
            messages[at..].iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
        let calls = calls_of(&messages[at]).unwrap_or_default();
        let open = calls.iter().filter(|call| call["id"].as_str().is_none_or(|id| !answered.contains(id)));
        open.filter_map(|call| Some(text::clean(call["name"].as_str()?).into_owned())).collect()
    }
}

/// What ran after a checkpoint before.
#[derive(Debug, PartialEq)]
pub(super) enum Followed {
    /// These nodes, in order, in this run.
    Nodes { nodes: Vec<String>, run: Option<String> },
    /// Nothing is saved after it.
    Nothing,
    /// It is further back than what was read of the history.
    Unknown,
}

impl Followed {
    /// Says it in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Followed::Nodes { nodes, run } => {
                let run = run.as_ref().map(|run| format!(" in run {}", short_id(run))).unwrap_or_default();
                let nodes: Vec<String> = nodes.iter().map(|node| text::clean(node).into_owned()).collect();
                let nodes = nodes.join(", then ");
                format!("Then likely {nodes}, as{run}: models and conditions may choose differently.")
            }
            Followed::Nothing => {
                "What runs after that is unknown: the thread never continued from this checkpoint.".into()
            }
            Followed::Unknown => {
                "What runs after that is unknown: the checkpoint is older than the part of the history that was read."
                    .into()
            }
        }
    }
}

#[derive(Deserialize)]
struct WithValues<'a> {
    #[serde(default, borrow)]
    values: Option<&'a RawValue>,
}

impl AgentServer {
    /// Reads a checkpoint with its values; without an id, the newest.
    ///
    /// # Errors
    /// There is none, or the server can't show it.
    pub(super) async fn base_of(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        wanted: Option<&str>,
    ) -> Result<Base, PlanError> {
        if loaded.is_blank() {
            return Err(unfit("This server has no call that reads a thread's state, so nothing can be checked."));
        }
        let newest = loaded.checkpoint();
        let Some(id) = wanted.or(newest) else {
            return Err(unfit("The thread has no checkpoint yet: nothing ran on it."));
        };
        let missing = || {
            let thread = short_id(thread);
            let id = text::clean(id).into_owned();
            unfit(format!("Thread {thread} has no checkpoint {id}. `runtail threads history` lists them."))
        };
        let raw = match self.checkpoint_state_raw(thread, id, MAX_STATE).await {
            Ok(raw) => raw,
            // JavaScript refuses an id that is no UUID.
            Err(error) if matches!(error.kind, Kind::NotFound | Kind::Invalid(_)) => return Err(missing()),
            Err(error) if error.may_lack_call() => {
                return Err(unfit("This server has no call that reads a checkpoint, so it can't be checked."));
            }
            Err(error) => return Err(error.into()),
        };
        let odd = |error: serde_json::Error| {
            let detail = format!("the server's record of the checkpoint: {error}");
            PlanError::Asked(crate::ApiError { kind: Kind::Protocol, ..self.refused_here(thread, detail) })
        };
        let facts = StateFacts::read(raw.get()).map_err(odd)?;
        if !facts.is_saved() {
            return Err(missing());
        }
        let row: WithValues<'_> = serde_json::from_str(raw.get()).map_err(odd)?;
        let values = row.values.and_then(|values| serde_json::from_str(values.get()).ok()).unwrap_or_default();
        Ok(Base { id: id.to_string(), thread: thread.to_string(), facts, values, is_newest: Some(id) == newest })
    }

    /// Reads what followed a checkpoint. A part of the history that can't be read makes it unknown.
    pub(super) async fn followed(&self, thread: &str, base: &Base) -> Followed {
        if base.is_newest {
            return Followed::Nothing;
        }
        let is_base = |state: &StateFacts| state.checkpoint_id.as_deref() == Some(&base.id);
        match self.recent_history(thread, is_base).await {
            Some(states) if states.iter().any(is_base) => followed_in(&states, &base.id),
            _ => Followed::Unknown,
        }
    }

    /// Reads the newest states of a thread without their values, newest first, up to one that is searched for or to a
    /// limit. Nothing if the server offers no history, or refuses it.
    pub(super) async fn recent_history(
        &self,
        thread: &str,
        is_last: impl Fn(&StateFacts) -> bool,
    ) -> Option<Vec<StateFacts>> {
        let mut all: Vec<StateFacts> = Vec::new();
        for _ in 0..MAX_PAGES {
            let before = all.last().and_then(|state| state.checkpoint_id.clone());
            let page = match self.thread_history_raw(thread, PAGE, before.as_deref(), MAX_PAGE).await {
                Ok(page) => page,
                Err(_) if all.is_empty() => return None,
                Err(_) => break,
            };
            let count = page.len();
            let states = page.iter().filter_map(|state| StateFacts::read(state.get()).ok());
            // A server that ignores `before` repeats its page.
            let known: BTreeSet<Option<String>> = all.iter().map(|state| state.checkpoint_id.clone()).collect();
            let new: Vec<StateFacts> = states.filter(|state| !known.contains(&state.checkpoint_id)).collect();
            let is_over = count < PAGE || new.is_empty() || new.iter().any(&is_last);
            all.extend(new);
            if is_over {
                break;
            }
        }
        Some(all)
    }

    /// Returns the graph of an assistant where the server tells, and checks that the assistant exists.
    ///
    /// # Errors
    /// The assistant was deleted.
    pub(crate) async fn graph_of(&self, assistant: &str) -> Result<Option<String>, PlanError> {
        // A graph's name stands for its default assistant, which is read by its id only.
        if uuid::Uuid::try_parse(assistant).is_err() {
            return Ok(Some(assistant.to_string()));
        }
        match self.assistant_row(assistant).await {
            Ok(row) => Ok(row["graph_id"].as_str().map(str::to_string)),
            Err(error) if error.kind == Kind::NotFound && self.info().await?.kind != ServerKind::Other => {
                let id = text::clean(assistant).into_owned();
                Err(unfit(format!("The thread's assistant {id} was deleted, so nothing can run on the thread.")))
            }
            Err(error) if error.is_refusal() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Follows the branch that begins after a checkpoint. Its own children come first: an edit or a fork is another branch.
fn followed_in(states: &[StateFacts], base: &str) -> Followed {
    let child_of = |id: &str| {
        let children = states.iter().filter(|state| state.parent_id.as_deref() == Some(id));
        children.max_by_key(|child| (!matches!(child.source.as_str(), "update" | "fork"), child.checkpoint_id.clone()))
    };
    let Some(first) = child_of(base) else { return Followed::Nothing };
    let mut nodes = Vec::new();
    let mut at = Some(first);
    for _ in 0..MAX_STEPS {
        let Some(state) = at else { break };
        let then = state.checkpoint_id.as_deref().and_then(child_of);
        match (state.next.is_empty(), then) {
            (false, _) => nodes.push(named(&state.next)),
            // Python lists no tasks for a node that waited for parallel branches.
            (true, Some(then)) if then.source == "loop" => {
                nodes.push("a step whose nodes the server doesn't list".into())
            }
            (true, _) => {}
        }
        at = then;
    }
    nodes.dedup();
    match nodes.is_empty() {
        true => Followed::Nodes { nodes: vec!["the end of the graph".into()], run: first.run_id.clone() },
        false => Followed::Nodes { nodes, run: first.run_id.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state(id: &str, parent: Option<&str>, source: &str, next: &[&str]) -> StateFacts {
        let row = json!({
            "next": next, "tasks": [], "metadata": {"source": source, "run_id": format!("run-of-{id}")},
            "checkpoint": {"checkpoint_id": id}, "parent_checkpoint": parent.map(|id| json!({"checkpoint_id": id})),
        });
        StateFacts::read(&row.to_string()).unwrap()
    }

    fn base(values: Value) -> Base {
        let values = serde_json::from_str(&values.to_string()).unwrap();
        Base { id: "b".into(), thread: "t".into(), facts: StateFacts::default(), values, is_newest: false }
    }

    #[test]
    fn the_branch_that_ran_is_preferred_to_edits_and_forks() {
        let states = [
            state("f", Some("e"), "loop", &[]),
            state("e", Some("b"), "update", &["x"]),
            state("d", Some("c"), "loop", &[]),
            state("c", Some("b"), "loop", &["chat"]),
            state("b", Some("a"), "loop", &["tools"]),
            state("a", None, "input", &["chat"]),
        ];
        let nodes = |nodes: &[&str], run: &str| Followed::Nodes {
            nodes: nodes.iter().map(|node| node.to_string()).collect(),
            run: Some(run.into()),
        };
        assert_eq!(followed_in(&states, "b"), nodes(&["chat"], "run-of-c"));
        assert_eq!(followed_in(&states, "a"), nodes(&["tools", "chat"], "run-of-b"));
        assert_eq!(followed_in(&states, "c"), nodes(&["the end of the graph"], "run-of-d"));
        assert_eq!(followed_in(&states, "d"), Followed::Nothing);
        // A loop of parents ends.
        let odd = [state("a", Some("b"), "loop", &["x"]), state("b", Some("a"), "loop", &["y"])];
        assert!(matches!(followed_in(&odd, "a"), Followed::Nodes { .. }));
    }

    #[test]
    fn open_calls_are_those_without_an_answer() {
        let calls = json!([{"id": "1", "name": "list"}, {"id": "2", "name": "get\u{1b}[31m"}]);
        let message = json!({"type": "ai", "tool_calls": calls});
        let answer = json!({"type": "tool", "tool_call_id": "1"});
        assert_eq!(base(json!({"messages": [message]})).open_calls().len(), 2);
        let open = base(json!({"messages": [message, answer]})).open_calls();
        assert!(open.len() == 1 && open[0].starts_with("get") && !open[0].contains('\u{1b}'), "{open:?}");
        for values in [json!({}), json!({"messages": 3}), json!({"messages": [{"tool_calls": []}, 7]})] {
            assert!(base(values).open_calls().is_empty());
        }
    }
}
