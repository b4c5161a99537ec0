//! The states of a branch of a history, with their values.

use crate::model::filled;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// A state of a history with its values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryState {
    pub id: String,
    /// Whether there is a checkpoint before it, loaded or not.
    pub has_parent: bool,
    parent: Option<String>,
    /// What wrote it, as the server says.
    pub source: String,
    pub step: Option<i64>,
    /// The nodes that run next.
    pub next: Vec<String>,
    pub tasks: Vec<StateTask>,
    /// Its values, if they are an object of keys.
    values: Map<String, Value>,
    /// Whether its values are anything else.
    pub is_bare: bool,
}

/// A task of the step after a state.
#[derive(Debug, Clone, PartialEq)]
pub struct StateTask {
    pub node: String,
    /// What it wrote; `None` if it did not finish.
    pub result: Option<Value>,
    pub has_error: bool,
    pub questions: usize,
}

impl StateTask {
    /// Whether it wrote this key.
    pub(super) fn writes(&self, key: &str) -> bool {
        self.result
            .as_ref()
            .and_then(Value::as_object)
            .is_some_and(|result| result.contains_key(key))
    }
}

impl HistoryState {
    /// Reads an entry of a history; `None` without a checkpoint's id.
    pub fn read(row: Value) -> Option<HistoryState> {
        let id = filled(&row["checkpoint"]["checkpoint_id"])
            .or_else(|| filled(&row["checkpoint_id"]))?;
        let parent = filled(&row["parent_checkpoint"]["checkpoint_id"])
            .or_else(|| filled(&row["parent_checkpoint_id"]));
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let task = |task: &Value| {
            Some(StateTask {
                node: filled(&task["name"])?,
                result: task
                    .get("result")
                    .filter(|result| !result.is_null())
                    .cloned(),
                has_error: !task["error"].is_null(),
                questions: task["interrupts"].as_array().map_or(0, Vec::len),
            })
        };
        let (is_bare, values) = match &row["values"] {
            Value::Object(values) => (false, values.clone()),
            Value::Null => (false, Map::new()),
            _ => (true, Map::new()),
        };
        Some(HistoryState {
            id,
            has_parent: parent.is_some(),
            parent,
            source: filled(&row["metadata"]["source"]).unwrap_or_default(),
            step: row["metadata"]["step"].as_i64(),
            next: list(&row["next"]).iter().filter_map(filled).collect(),
            tasks: list(&row["tasks"]).iter().filter_map(task).collect(),
            values,
            is_bare,
        })
    }

    /// Returns its values by their keys.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }
}

/// Returns the branch that ends at the newest checkpoint, oldest state first.
pub fn branch_of(states: Vec<HistoryState>) -> Vec<HistoryState> {
    // Ids are UUIDv6, which sort by time.
    let mut at = states.iter().map(|state| state.id.clone()).max();
    let mut by_id: HashMap<String, HistoryState> = states
        .into_iter()
        .map(|state| (state.id.clone(), state))
        .collect();
    let (mut branch, mut seen) = (Vec::new(), HashSet::new());
    while let Some(id) = at
        && seen.insert(id.clone())
        && let Some(state) = by_id.remove(&id)
    {
        at = state.parent.clone();
        branch.push(state);
    }
    branch.reverse();
    branch
}
