//! Supersteps: the writes that lead from the first state of a thread to its newest one. `POST /threads` repeats them on another
//! server (acting reference §4).
//!
//! A checkpoint does not say what was written; that is in the results of the tasks of the checkpoint before it. Where a server
//! shows no tasks, and for edits of the state, the writes follow from the two states.

mod branch;
mod graph;
mod messages;
#[cfg(test)]
mod tests;

pub use branch::{HistoryState, branch_of};
pub use graph::GraphShape;
use messages::is_message_list;
pub use messages::{plain_message, same_message};

use serde_json::{Map, Value, json};

/// The name under which an update counts as the input of a run.
const INPUT: &str = "__input__";
/// The node that applies an input.
const START: &str = "__start__";
/// The key of several writes of a task to one channel.
const WRITES: &str = "$writes";

/// A write in the name of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct StepWrite {
    pub values: Map<String, Value>,
    /// The node; `None` leaves it to the server.
    pub as_node: Option<String>,
}

/// The supersteps of a branch, and what is not in them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Supersteps {
    /// The writes of each step, oldest first.
    pub steps: Vec<Vec<StepWrite>>,
    /// For each step the index of its state in the branch.
    pub states: Vec<usize>,
    /// Steps whose writes follow from two states, because the history doesn't tell them.
    pub inferred: Vec<i64>,
    /// Checkpoints that repeat the state before them, and so are left out.
    pub repeated: usize,
}

/// Why a branch can't be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unrepeatable {
    /// It has no checkpoint.
    Empty,
    /// Its beginning is missing: the server no longer has it, or only the last checkpoint was saved.
    NoBeginning,
    /// A step wrote something else than an object of keys: its node, and the step.
    NotAnObject(String, Option<i64>),
    /// It is unknown which node wrote this step.
    UnknownWriter(Option<i64>),
}

impl Supersteps {
    /// Returns the supersteps of a branch, oldest state first.
    ///
    /// # Errors
    /// See [`Unrepeatable`].
    pub fn of(branch: &[HistoryState], graph: &GraphShape) -> Result<Supersteps, Unrepeatable> {
        let first = branch.first().ok_or(Unrepeatable::Empty)?;
        if first.has_parent || !matches!(first.source.as_str(), "input" | "update") {
            return Err(Unrepeatable::NoBeginning);
        }
        let channels = Channels::of(first);
        let mut found = Supersteps::default();
        for (at, state) in branch.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &branch[before]);
            let writes = match (state.source.as_str(), before) {
                ("input", _) => vec![input_of(
                    state,
                    branch[at + 1..].iter().find(|after| after.source != "fork"),
                )?],
                ("fork", _) => {
                    found.repeated += 1;
                    continue;
                }
                ("update", before) => found.edit(before, state, &channels, graph)?,
                (_, Some(before)) => found.step(before, state, &channels, graph)?,
                (_, None) => return Err(Unrepeatable::NoBeginning),
            };
            found.steps.push(writes);
            found.states.push(at);
        }
        Ok(found)
    }

    /// Returns them as the server takes them. `prepare` adapts each value to what the server accepts.
    pub fn body(&self, prepare: impl Fn(&Value) -> Value) -> Value {
        let update = |write: &StepWrite| {
            let values: Map<String, Value> = write
                .values
                .iter()
                .map(|(key, value)| (key.clone(), prepare(value)))
                .collect();
            let mut update = json!({ "values": values });
            if let Some(node) = &write.as_node {
                update["as_node"] = node.as_str().into();
            }
            update
        };
        let step = |writes: &Vec<StepWrite>| json!({"updates": writes.iter().map(update).collect::<Vec<_>>()});
        self.steps.iter().map(step).collect::<Vec<_>>().into()
    }

    /// Returns the nodes in whose names it writes.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        let names = self
            .steps
            .iter()
            .flatten()
            .filter_map(|write| write.as_node.as_deref());
        names.filter(|node| !matches!(*node, INPUT | START))
    }

    /// Returns the writes of a step of the graph.
    fn step(
        &mut self,
        before: &HistoryState,
        state: &HistoryState,
        channels: &Channels,
        graph: &GraphShape,
    ) -> Result<Vec<StepWrite>, Unrepeatable> {
        if before.tasks.is_empty() {
            // Python shows no task for a node that waited for several others.
            let mut followers = graph.after(self.last_writers());
            followers.retain(|node| node != "__end__");
            let [node] = followers.as_slice() else {
                return Err(Unrepeatable::UnknownWriter(state.step));
            };
            self.inferred.extend(state.step);
            let values = channels.writes_between(before.values(), state.values());
            return Ok(vec![StepWrite {
                values,
                as_node: Some(node.clone()),
            }]);
        }
        // JavaScript shows no result of a task that asked and was answered, so it follows from what the others did not write.
        let mut rest = match before.tasks.iter().any(|task| task.result.is_none()) {
            true => channels.unexplained(before, state),
            false => Map::new(),
        };
        if !rest.is_empty() {
            self.inferred.extend(state.step);
        }
        let mut writes = Vec::new();
        for task in &before.tasks {
            let result = match &task.result {
                None => std::mem::take(&mut rest),
                Some(Value::Object(result)) => result.clone(),
                Some(_) => return Err(Unrepeatable::NotAnObject(task.node.clone(), state.step)),
            };
            let filled = messages::fill(result, before.values(), state.values());
            writes.extend(separate(filled).map(|values| StepWrite {
                values,
                as_node: Some(task.node.clone()),
            }));
        }
        Ok(writes)
    }

    /// Returns the write of an edit of the state.
    fn edit(
        &mut self,
        before: Option<&HistoryState>,
        state: &HistoryState,
        channels: &Channels,
        graph: &GraphShape,
    ) -> Result<Vec<StepWrite>, Unrepeatable> {
        let empty = Map::new();
        let old = before.map_or(&empty, HistoryState::values);
        let values = channels.writes_between(old, state.values());
        // An edit in the name of the nodes that were next leaves their results, as a thread that was built of supersteps has.
        if let Some(before) = before
            && before.tasks.iter().any(|task| task.result.is_some())
            && before.tasks.iter().all(|task| task.result.is_some())
            && values
                .keys()
                .all(|key| before.tasks.iter().any(|task| task.writes(key)))
        {
            return self.step(before, state, channels, graph);
        }
        self.inferred.extend(state.step);
        Ok(vec![StepWrite {
            values,
            as_node: self.editor(before, state, graph),
        }])
    }

    /// Returns the node in whose name an edit was probably made: what is next after it tells.
    fn editor(
        &self,
        before: Option<&HistoryState>,
        state: &HistoryState,
        graph: &GraphShape,
    ) -> Option<String> {
        let leads_there = |node: &&String| graph.leads_to(node, &state.next);
        let writers = self.last_writers();
        let last = if let [last] = writers.as_slice() {
            Some(last)
        } else {
            None
        };
        // Without a node, an edit counts as another write of the node that wrote last.
        let is_another_write =
            before.is_some_and(|before| before.next == state.next) || !graph.is_known();
        let pending = before
            .map(|before| before.next.as_slice())
            .unwrap_or_default();
        let of_graph = graph.nodes().iter().filter(leads_there).collect::<Vec<_>>();
        let found = last.filter(|_| is_another_write);
        let found = found
            .or_else(|| pending.iter().find(leads_there))
            .or_else(|| last.filter(leads_there));
        found
            .or(if let [only] = of_graph.as_slice() {
                Some(*only)
            } else {
                None
            })
            .cloned()
    }

    /// Returns the nodes of the last step.
    fn last_writers(&self) -> Vec<String> {
        let last = self.steps.last().map(Vec::as_slice).unwrap_or_default();
        let mut nodes: Vec<String> = last
            .iter()
            .filter_map(|write| write.as_node.clone())
            .collect();
        nodes
            .iter_mut()
            .filter(|node| *node == INPUT)
            .for_each(|node| *node = START.into());
        nodes.dedup();
        nodes
    }
}

/// Returns the write of an input, which is the result of the task that applies it.
fn input_of(state: &HistoryState, after: Option<&HistoryState>) -> Result<StepWrite, Unrepeatable> {
    let start = state.tasks.iter().find(|task| task.node == START);
    let result = match start.and_then(|task| task.result.as_ref()) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(result)) => result.clone(),
        Some(_) => return Err(Unrepeatable::NotAnObject(START.into(), state.step)),
    };
    let empty = Map::new();
    let values = messages::fill(
        result,
        state.values(),
        after.map_or(&empty, HistoryState::values),
    );
    Ok(StepWrite {
        values,
        as_node: Some(INPUT.into()),
    })
}

/// Separates several writes of a task to one channel: an update has one for each.
fn separate(values: Map<String, Value>) -> impl Iterator<Item = Map<String, Value>> {
    let mut updates = vec![Map::new()];
    for (key, value) in values {
        let several = value
            .as_object()
            .filter(|object| object.len() == 1)
            .and_then(|object| object.get(WRITES));
        match several.and_then(Value::as_array).cloned() {
            Some(several) => {
                for (n, one) in several.into_iter().enumerate() {
                    if updates.len() == n {
                        updates.push(Map::new());
                    }
                    updates[n].insert(key.clone(), one);
                }
            }
            None => drop(updates[0].insert(key, value)),
        }
    }
    updates.into_iter()
}

/// What is known of the channels of a graph: which of them have a reducer that appends.
struct Channels {
    appending: Vec<String>,
}

impl Channels {
    /// A channel that has an empty list before anything was written has a reducer; others are missing there.
    fn of(first: &HistoryState) -> Channels {
        let is_empty_list = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
        let lists = first
            .values()
            .iter()
            .filter(|(_, value)| first.source == "input" && is_empty_list(value));
        Channels {
            appending: lists.map(|(key, _)| key.clone()).collect(),
        }
    }

    /// Returns the writes that lead from a state to another one. A key that is gone can't be written.
    fn writes_between(
        &self,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Map<String, Value> {
        let changed = new
            .iter()
            .filter(|(key, value)| old.get(*key) != Some(*value));
        changed
            .map(|(key, value)| (key.clone(), self.write(key, old.get(key), value)))
            .collect()
    }

    /// Returns the writes of a step that no result of its tasks explains.
    fn unexplained(&self, before: &HistoryState, after: &HistoryState) -> Map<String, Value> {
        let mut rest = self.writes_between(before.values(), after.values());
        rest.retain(|key, value| {
            let known = before
                .tasks
                .iter()
                .filter_map(|task| task.result.as_ref()?.get(key));
            match value {
                Value::Array(items) => {
                    for item in known.flat_map(|known| {
                        known
                            .as_array()
                            .cloned()
                            .unwrap_or_else(|| vec![known.clone()])
                    }) {
                        let is_same =
                            |other: &Value| *other == item || messages::is_same_id(other, &item);
                        if let Some(at) = items.iter().position(is_same) {
                            items.remove(at);
                        }
                    }
                    !items.is_empty()
                }
                _ => known.count() == 0,
            }
        });
        rest
    }

    fn write(&self, key: &str, old: Option<&Value>, new: &Value) -> Value {
        let old_list = old
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let Some(new_list) = new.as_array() else {
            return new.clone();
        };
        if is_message_list(new_list) || (new_list.is_empty() && is_message_list(old_list)) {
            return messages::between(old_list, new_list);
        }
        match self.appending.iter().any(|appending| appending == key)
            && new_list.starts_with(old_list)
        {
            true => new_list[old_list.len()..].to_vec().into(),
            false => new.clone(),
        }
    }
}
