//! The checkpoint that an action starts from: whether it exists, what it holds, and what followed it.

use crate::prelude::*;
use runtail_core::json::{Fields, Peek};
use runtail_core::model::Checkpoint;
use std::collections::BTreeMap;

/// Bytes of a state with its values.
const MAX_STATE: usize = 64 << 20;
/// Bytes of a value that is parsed for a preview; a larger one is described by its size.
const MAX_VALUE: usize = 1 << 20;
/// States in a page of history, and pages that are read.
const PAGE: usize = 50;
const MAX_PAGES: usize = 4;
/// Bytes of a page: each state repeats all values of the thread.
const MAX_PAGE: usize = 16 << 20;

/// A saved checkpoint.
#[derive(Debug, Default)]
pub struct Base {
    /// Its id.
    pub id: String,
    pub thread: String,
    pub facts: StateFacts,
    /// The values by their keys, as received.
    pub values: BTreeMap<String, Box<RawValue>>,
    /// The checkpoint as an entry of a history.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// The ids of the calls that its next nodes answered, by node.
    pub answered: BTreeMap<String, BTreeSet<String>>,
    /// Whether it is the thread's newest.
    pub is_newest: bool,
}

/// A call of a tool that a message asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// Its id; empty if it has none.
    pub id: String,
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
            0..=MAX_VALUE => json::from_str(raw).ok(),
            size => Some(Value::String(format!("(a value of {} MB)", size >> 20))),
        }
    }

    /// Returns whether its next nodes ran before.
    pub fn has_run(&self) -> bool {
        self.facts
            .tasks
            .iter()
            .any(|task| task.has_result || task.error.is_some() || !task.questions.is_empty())
    }

    /// Returns the tool calls that its last message asks for and that no message answers yet.
    pub fn open_calls(&self) -> Vec<Call> {
        open_calls(&self.value("messages").unwrap_or_default())
    }

    /// Returns those of some calls that a node answered when it ran.
    pub fn made_by<'c>(&self, node: &str, calls: &'c [Call]) -> Vec<&'c Call> {
        let Some(ids) = self.answered.get(node) else {
            return Vec::new();
        };
        calls.iter().filter(|call| ids.contains(&call.id)).collect()
    }
}

/// Returns the tool calls that the last of some messages asks for and that no message answers yet.
pub fn open_calls(messages: &Value) -> Vec<Call> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let calls_of = |message: &Value| {
        message["tool_calls"]
            .as_array()
            .filter(|calls| !calls.is_empty())
            .cloned()
    };
    let Some(at) = messages
        .iter()
        .rposition(|message| calls_of(message).is_some())
    else {
        return Vec::new();
    };
    let answered: BTreeSet<&str> = messages[at..]
        .iter()
        .filter_map(|message| message["tool_call_id"].as_str())
        .collect();
    let calls = calls_of(&messages[at]).unwrap_or_default();
    let open = calls
        .iter()
        .filter(|call| call["id"].as_str().is_none_or(|id| !answered.contains(id)));
    let call = |call: &Value| {
        let name = text::clean(call["name"].as_str()?).into_owned();
        Some(Call {
            name,
            id: text_of(call, "id").to_string(),
        })
    };
    open.filter_map(call).collect()
}

/// Reads which calls the tasks of a state answered, from their results.
pub fn answered_calls(state: &str) -> BTreeMap<String, BTreeSet<String>> {
    let tasks = Peek::of(state).get("tasks");
    let mut answered: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for task in tasks
        .into_iter()
        .flat_map(Peek::items)
        .filter_map(Peek::object)
    {
        let result = task
            .get("result")
            .filter(|result| result.text().len() <= MAX_VALUE);
        let result: Value = result.and_then(Peek::read).unwrap_or_default();
        let parts = match &result {
            Value::Array(parts) => parts.as_slice(),
            one => std::slice::from_ref(one),
        };
        let ids = parts.iter().flat_map(|part| match &part["messages"] {
            Value::Array(messages) => messages.as_slice(),
            one => std::slice::from_ref(one),
        });
        let ids = ids
            .filter_map(|message| message["tool_call_id"].as_str())
            .map(str::to_string);
        answered
            .entry(task.text("name").unwrap_or_default())
            .or_default()
            .extend(ids);
    }
    answered
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
            return refuse(
                "This server has no call that reads a thread's state, so nothing can be checked.",
            );
        }
        let newest = loaded.checkpoint();
        let Some(id) = wanted.or(newest) else {
            return refuse("The thread has no checkpoint yet: nothing ran on it.");
        };
        let missing = || {
            let thread = short_id(thread);
            let id = text::clean(id).into_owned();
            unfit(format!(
                "Thread {thread} has no checkpoint {id}. `runtail threads history` lists them."
            ))
        };
        let raw = match self.checkpoint_state_raw(thread, id, MAX_STATE).await {
            Ok(raw) => raw,
            // JavaScript refuses an id that is no UUID.
            Err(error) if matches!(error.kind, Kind::NotFound | Kind::Invalid(_)) => {
                return Err(missing());
            }
            Err(error) if error.may_lack_call() => {
                return refuse(
                    "This server has no call that reads a checkpoint, so it can't be checked.",
                );
            }
            Err(error) => return Err(error.into()),
        };
        let odd = |error: serde_json::Error| {
            let detail = format!("the server's record of the checkpoint: {error}");
            PlanError::Asked(crate::ApiError {
                kind: Kind::Protocol,
                ..self.refused_here(thread, detail)
            })
        };
        let facts = StateFacts::read(raw.get()).map_err(odd)?;
        if !facts.is_saved() {
            return Err(missing());
        }
        let row = Fields::read(raw.get()).map_err(odd)?;
        let values = row.read_as("values").unwrap_or_default();
        Ok(Base {
            id: id.to_string(),
            thread: thread.to_string(),
            facts,
            values,
            checkpoint: Checkpoint::read(raw.get()).map(Arc::new),
            answered: answered_calls(raw.get()),
            is_newest: Some(id) == newest,
        })
    }

    /// Reads the newest states of a thread without their values, newest first, up to one that is searched for or to a
    /// limit. Nothing if the server offers no history, or refuses it.
    pub(super) async fn recent_history(
        &self,
        thread: &str,
        is_last: impl FnMut(&StateFacts) -> bool,
    ) -> Option<Vec<StateFacts>> {
        self.read_history(thread, |json| StateFacts::read(json).ok(), is_last)
            .await
    }

    /// Does the same, with other facts of each state.
    pub(super) async fn read_history<T>(
        &self,
        thread: &str,
        read: impl Fn(&str) -> Option<T>,
        mut is_last: impl FnMut(&T) -> bool,
    ) -> Option<Vec<T>> {
        let mut pages = self
            .history_pages(thread, None, (usize::MAX, PAGE), MAX_PAGE)
            .dropping();
        let mut all: Vec<T> = Vec::new();
        while pages.count() < MAX_PAGES {
            let rows = match pages.next_new().await {
                Ok(Some(rows)) => rows,
                Err(_) if all.is_empty() => return None,
                Ok(None) | Err(_) => break,
            };
            let new: Vec<T> = rows.iter().filter_map(|state| read(state.get())).collect();
            let is_over = new.iter().any(&mut is_last);
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
            Err(error)
                if error.kind == Kind::NotFound && self.info().await?.kind != ServerKind::Other =>
            {
                let id = text::clean(assistant).into_owned();
                refuse(format!(
                    "The thread's assistant {id} was deleted, so nothing can run on the thread."
                ))
            }
            Err(error) if error.is_refusal() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn base(values: Value) -> Base {
        let values = serde_json::from_str(&values.to_string()).unwrap();
        Base {
            id: "b".into(),
            thread: "t".into(),
            values,
            ..Base::default()
        }
    }

    #[test]
    fn open_calls_are_those_without_an_answer() {
        let calls = json!([{"id": "1", "name": "list"}, {"id": "2", "name": "get\u{1b}[31m"}]);
        let message = json!({"type": "ai", "tool_calls": calls});
        let answer = json!({"type": "tool", "tool_call_id": "1"});
        assert_eq!(base(json!({"messages": [message]})).open_calls().len(), 2);
        let open = base(json!({"messages": [message, answer]})).open_calls();
        assert!(
            open.len() == 1 && open[0].name.starts_with("get") && !open[0].name.contains('\u{1b}'),
            "{open:?}"
        );
        for values in [
            json!({}),
            json!({"messages": 3}),
            json!({"messages": [{"tool_calls": []}, 7]}),
        ] {
            assert!(base(values).open_calls().is_empty());
        }
    }
}
