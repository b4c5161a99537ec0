//! Plans edits of a thread's state. Servers ignore unknown keys without a word and let any edit move the thread's head, so
//! keys, node and checkpoint are checked first (acting reference §1.9, §6).

use super::base::Base;
use super::plan::{assistant_of, named, on_thread};
use super::{StateEdit, WriteKind, Writer};
use crate::act::Choice;
use crate::prelude::*;
use runtail_core::model::Change;

/// Keys that an error names.
const NAMED: usize = 12;
/// Nodes that can be chosen for an edit.
const MAX_WRITERS: usize = 200;

/// The name under which an edit counts as the graph's input.
pub const START: &str = "__start__";
/// The name under which an edit without values ends a thread.
const END: &str = "__end__";

/// The keys of a graph's state, as far as a server tells.
pub enum Keys {
    /// All of them, from the graph's schemas.
    Declared(BTreeSet<String>),
    /// Those that the state has: a key that was never written is missing.
    Seen(BTreeSet<String>),
    Unknown,
}

/// The nodes of a graph and what follows them, as far as a server tells.
pub struct Drawing(Option<Value>);

/// An edit that was checked, before the rest of its plan is made.
pub struct CheckedEdit {
    /// The request's body.
    pub body: Value,
    /// The keys that it writes, with their values until now.
    pub changes: Vec<Change>,
    pub notes: Vec<Note>,
    /// The nodes in whose name it could write, if the server lists them.
    pub choice: Option<Choice>,
}

impl AgentServer {
    pub(super) async fn plan_edit(
        &self,
        thread: &str,
        edit: &StateEdit,
    ) -> Result<Draft, PlanError> {
        match (&edit.values, edit.as_node.as_deref()) {
            (Value::Null, Some(END)) if edit.checkpoint.is_none() => {
                return self.plan_end(thread).await;
            }
            (Value::Null, None) if edit.checkpoint.is_none() => {
                return self.plan_release(thread).await;
            }
            _ => {}
        }
        let loaded = self.load_thread(thread).await?;
        let base = self
            .editable(thread, &loaded, edit.checkpoint.as_deref())
            .await?;
        let CheckedEdit {
            mut body,
            changes,
            mut notes,
            choice,
        } = self.checked_edit(&loaded, &base, edit).await?;
        // The newest checkpoint is checked again before sending; servers show the thread's row as of a checkpoint that is
        // named here.
        if !base.is_newest {
            body["checkpoint_id"] = base.id.as_str().into();
        }
        notes.insert(
            0,
            Note::fact(format!("Edits {}. No run is started.", base.name())),
        );
        notes.extend(leaves_head(
            &loaded,
            &base,
            "closed by the edit, and asked again when the thread continues",
        ));
        if !base.is_newest {
            notes.push(Note::warning(
                "The thread's newest state is then the edited one. The branch that is newest now stays in the history.",
            ));
        }
        let title = format!("Edit the state of thread {}", short_id(thread));
        Ok(Draft {
            changes,
            choice,
            ..self.plan_write(title, thread, body, (&loaded, WriteKind::Edit), notes)?
        })
    }

    /// Checks that the state at a checkpoint can be edited now, in the name of this node; without an id, at the newest one.
    /// Returns the checkpoint's id.
    ///
    /// # Errors
    /// There is none, a run is active on the thread, the server can't show the state, or the graph has no such node.
    #[boxed]
    pub async fn editable_checkpoint(
        &self,
        thread: &str,
        checkpoint: Option<&str>,
        as_node: Option<&str>,
    ) -> Result<String, PlanError> {
        let loaded = self.load_thread(thread).await?;
        let base = self.editable(thread, &loaded, checkpoint).await?;
        if let Some(node) = as_node {
            self.drawing(assistant_of(&loaded)?)
                .await?
                .check_node(node)?;
        }
        Ok(base.id)
    }

    /// Reads a checkpoint that can be edited now.
    pub(super) async fn editable(
        &self,
        thread: &str,
        loaded: &LoadedThread,
        checkpoint: Option<&str>,
    ) -> Result<Base, PlanError> {
        not_active(loaded)?;
        let base = self.base_of(thread, loaded, checkpoint).await?;
        let graph = loaded
            .thread
            .as_ref()
            .and_then(|thread| thread.graph_id.as_deref());
        if let (Some(graph), Some(own)) = (graph, base.facts.graph_id.as_deref())
            && graph != own
        {
            let (graph, own) = (text::clean(graph), text::clean(own));
            return refuse(format!(
                "The checkpoint was written by the graph {own}, but the thread's newest run used {graph}, and the server \
                 would edit it with {graph}. Run {own} on the thread first.",
            ));
        }
        Ok(base)
    }

    /// Checks an edit against the state and the graph.
    pub(super) async fn checked_edit(
        &self,
        loaded: &LoadedThread,
        base: &Base,
        edit: &StateEdit,
    ) -> Result<CheckedEdit, PlanError> {
        let values = match &edit.values {
            Value::Object(values) if !values.is_empty() => values,
            Value::Object(_) => return wrong("the edit has no keys"),
            other => {
                let what = kind_of(other);
                return wrong(format!(
                    "an edit is an object of the keys to write, not {what}"
                ));
            }
        };
        let assistant = assistant_of(loaded)?;
        self.graph_of(assistant).await?;
        // Keys that are written later are missing from an old state.
        let newest = if base.is_newest {
            None
        } else {
            self.base_of(&base.thread, loaded, None).await.ok()
        };
        let mut notes = unchecked_keys(
            &self.keys_of(assistant, base, newest.as_ref()).await,
            values,
        )?;
        let drawing = self.drawing(assistant).await?;
        notes.extend(drawing.unlisted(&base.facts.next));
        let mut body = json!({ "values": values });
        match edit.as_node.as_deref() {
            Some(node) => {
                notes.extend(drawing.check_node(node)?);
                notes.push(Note::fact(drawing.after(node)));
                body["as_node"] = node.into();
            }
            None => notes.push(Note::fact(if base.facts.next.is_empty() {
                "Counts as another write of the node that wrote last; no node is next now.".into()
            } else {
                format!(
                    "Counts as another write of the node that wrote last. Likely next: {}.",
                    named(&base.facts.next)
                )
            })),
        }
        notes.push(Note::fact(
            "The graph's reducers apply the edit on the server: lists usually grow, and messages are replaced by id. The \
             result is known only after the edit.",
        ));
        let choice = drawing.writers().map(|nodes| Choice::AsNode {
            node: edit.as_node.clone(),
            nodes,
        });
        Ok(CheckedEdit {
            body,
            changes: changes(base, values),
            notes,
            choice,
        })
    }

    /// Returns the keys of a graph's state: from its schemas, else from an old state and the newest one.
    pub(super) async fn keys_of(
        &self,
        assistant: &str,
        base: &Base,
        newest: Option<&Base>,
    ) -> Keys {
        let bases = std::iter::once(base).chain(newest);
        let seen: BTreeSet<String> = bases.flat_map(|base| base.values.keys().cloned()).collect();
        // JavaScript servers take five seconds to refuse this.
        let schemas = if self
            .info()
            .await
            .is_ok_and(|info| info.kind == ServerKind::JavaScript)
        {
            Value::Null
        } else {
            self.assistant_schemas(assistant).await.unwrap_or_default()
        };
        let declared: BTreeSet<String> = ["state_schema", "input_schema", "output_schema"]
            .iter()
            .filter_map(|name| schemas[*name]["properties"].as_object())
            .flat_map(|properties| properties.keys().cloned())
            .collect();
        match (declared.is_empty(), seen.is_empty()) {
            (false, _) => Keys::Declared(declared.into_iter().chain(seen).collect()),
            (true, false) => Keys::Seen(seen),
            (true, true) => Keys::Unknown,
        }
    }

    /// Reads the drawing of a graph; empty where the server offers none.
    pub(super) async fn drawing(&self, assistant: &str) -> Result<Drawing, ApiError> {
        match self.assistant_graph(assistant, false).await {
            Ok(graph) => Ok(Drawing(
                Some(graph).filter(|graph| graph["nodes"].is_array()),
            )),
            Err(error) if error.is_refusal() => Ok(Drawing(None)),
            Err(error) => Err(error),
        }
    }

    /// Plans an edit of the state of a loaded thread.
    pub(super) fn plan_write(
        &self,
        title: String,
        thread: &str,
        body: Value,
        (loaded, kind): (&LoadedThread, WriteKind),
        notes: Vec<Note>,
    ) -> Result<Draft, ApiError> {
        let guard = match kind {
            WriteKind::Release => StartGuard::BusyWithoutRun,
            WriteKind::Edit | WriteKind::End => {
                StartGuard::Checkpoint(loaded.checkpoint().map(str::to_string))
            }
        };
        let step_kind = StepKind::Write(thread.into(), kind);
        let path = ["threads", thread, "state"];
        Ok(Draft {
            guard: Guard::Thread(self.clone(), thread.into(), guard),
            steps: vec![Step::new(self, Method::POST, &path, Some(body), step_kind)?],
            ..on_thread(title, thread, notes)
        })
    }
}

impl Drawing {
    fn nodes(&self) -> Option<Vec<&str>> {
        let nodes = self.0.as_ref()?["nodes"].as_array()?;
        Some(
            nodes
                .iter()
                .filter_map(|node| node["id"].as_str())
                .collect(),
        )
    }

    /// Returns the nodes in whose name a state can be edited, the input last; none if the server lists no nodes.
    pub fn writers(&self) -> Option<Vec<Writer>> {
        let own = self
            .nodes()?
            .into_iter()
            .filter(|name| !matches!(*name, START | END) && !name.is_empty());
        let writer = |node: &str| Writer {
            node: node.to_string(),
            then: self.then(node),
        };
        let writers: Vec<Writer> = own.take(MAX_WRITERS).chain([START]).map(writer).collect();
        (writers.len() > 1).then_some(writers)
    }

    /// Warns of next nodes that the graph doesn't list.
    pub fn unlisted(&self, next: &[String]) -> Option<Note> {
        // Only of these nodes a drawing without any says nothing.
        self.writers()?;
        let nodes = self.nodes()?;
        let gone: Vec<String> = next
            .iter()
            .filter(|node| *node != START && !nodes.contains(&node.as_str()))
            .cloned()
            .collect();
        let (noun, is) = if gone.len() == 1 {
            ("the node", "is")
        } else {
            ("the nodes", "are")
        };
        (!gone.is_empty()).then(|| {
            Note::warning(format!(
                "The graph no longer lists {noun} {}, which {is} next at this checkpoint: the graph changed since. A run from \
                 here may fail, or skip what is missing.",
                named(&gone)
            ))
        })
    }

    /// Checks that an edit can be made in the name of a node.
    fn check_node(&self, node: &str) -> Result<Option<Note>, PlanError> {
        let Some(nodes) = self.nodes() else {
            return Ok(Some(Note::warning(format!(
                "Whether the graph has a node {} could not be checked.",
                text::clean(node)
            ))));
        };
        let own: Vec<&str> = nodes
            .into_iter()
            .filter(|name| !matches!(*name, START | END))
            .collect();
        if node == START || own.contains(&node) {
            return Ok(None);
        }
        let known = listed(own, NAMED, |_| String::new());
        let node = text::clean(node);
        wrong(format!("the graph has no node {node}; it has {known}"))
    }

    /// Says which nodes follow an edit in the name of a node.
    pub fn after(&self, node: &str) -> String {
        let what = match node {
            START => "Counts as an input".to_string(),
            node => format!("Counts as a write of {}", text::clean(node)),
        };
        format!("{what}. {}.", self.then(node))
    }

    /// Returns whether the drawing says that only the end of the graph follows a node.
    pub fn ends_after(&self, node: &str) -> bool {
        let edges = self
            .0
            .as_ref()
            .and_then(|graph| graph["edges"].as_array())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let mut from = edges
            .iter()
            .filter(|edge| edge["source"] == node)
            .peekable();
        from.peek().is_some()
            && from.all(|edge| edge["target"] == END && edge["conditional"] != true)
    }

    /// Returns the nodes after a node, and whether a condition chooses among them.
    pub fn targets(&self, node: &str) -> (Vec<String>, bool) {
        let edges = self
            .0
            .as_ref()
            .and_then(|graph| graph["edges"].as_array())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let from = || edges.iter().filter(|edge| edge["source"] == node);
        let is_conditional = from().any(|edge| edge["conditional"] == true);
        let targets = from()
            .filter_map(|edge| edge["target"].as_str())
            .map(|target| {
                if target == END {
                    "the end".to_string()
                } else {
                    target.to_string()
                }
            });
        (targets.collect(), is_conditional)
    }

    fn then(&self, node: &str) -> String {
        let (targets, is_conditional) = self.targets(node);
        match (targets.is_empty(), is_conditional) {
            (true, _) => "What runs next is decided by the server".to_string(),
            (false, true) => format!("Next is decided by a condition: {}", named(&targets)),
            (false, false) => format!("Next: {}", named(&targets)),
        }
    }
}

/// Refuses unknown keys, and says which keys could not be checked.
fn unchecked_keys(keys: &Keys, values: &Map<String, Value>) -> Result<Vec<Note>, PlanError> {
    let (known, why) = match keys {
        Keys::Declared(known) => (known, String::new()),
        Keys::Seen(known) => {
            let why = "; this server shows no schemas of the graph, so a key that was never written can't be told from a wrong one";
            (known, why.to_string())
        }
        Keys::Unknown => {
            return Ok(vec![Note::warning(
                "The keys could not be checked: the state is empty, and the server shows no schemas. Servers ignore unknown \
                 keys.",
            )]);
        }
    };
    let unknown: Vec<String> = values
        .keys()
        .filter(|key| !known.contains(*key))
        .map(|key| text::clean(key).into_owned())
        .collect();
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    let known = listed(known, NAMED, |_| ", …".into());
    let (noun, them) = if unknown.len() == 1 {
        ("key", "it")
    } else {
        ("keys", "them")
    };
    wrong(format!(
        "the state has no {noun} {}, and the server would ignore {them}; its keys are {known}{why}",
        unknown.join(", ")
    ))
}

/// Returns the written keys with their values until now.
fn changes(base: &Base, values: &Map<String, Value>) -> Vec<Change> {
    let change = |(key, after): (&String, &Value)| {
        let before = base.value(key);
        if before
            .as_ref()
            .is_some_and(|before| before.to_string().len() > LONG)
        {
            narrowed(key.clone(), before, after.clone())
        } else {
            Change {
                path: key.clone(),
                before,
                after: Some(after.clone()),
            }
        }
    };
    values.iter().map(change).collect()
}

/// Values with more bytes of JSON are cut where they are shown.
const LONG: usize = 100;

/// Returns the change of a value without its equal beginning and end, because long values are cut when they are shown.
fn narrowed(path: String, before: Option<Value>, after: Value) -> Change {
    match (before, after) {
        (Some(Value::Array(mut old)), Value::Array(mut new)) if !old.is_empty() => {
            let equal = old
                .iter()
                .zip(&new)
                .take_while(|(old, new)| old == new)
                .count();
            let (mut old, mut new) = (old.split_off(equal), new.split_off(equal));
            // Of lists with the same length, the equal end is left out, too.
            if old.len() == new.len() {
                let end = old
                    .iter()
                    .rev()
                    .zip(new.iter().rev())
                    .take_while(|(old, new)| old == new)
                    .count();
                old.truncate(old.len() - end);
                new.truncate(new.len() - end);
            }
            match (old.as_slice(), new.as_slice()) {
                ([one], [other]) => {
                    narrowed(format!("{path}[{equal}]"), Some(one.clone()), other.clone())
                }
                _ => Change {
                    path: format!("{path}[{equal}…]"),
                    before: (!old.is_empty()).then(|| Value::Array(old.clone())),
                    after: (!new.is_empty()).then(|| Value::Array(new.clone())),
                },
            }
        }
        (Some(Value::Object(old)), Value::Object(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            let different: Vec<String> = keys
                .into_iter()
                .filter(|key| old.get(*key) != new.get(*key))
                .cloned()
                .collect();
            match different.as_slice() {
                [key] if new.contains_key(key) => narrowed(
                    format!("{path}.{key}"),
                    old.get(key).cloned(),
                    new[key].clone(),
                ),
                _ => Change {
                    path,
                    before: Some(Value::Object(old)),
                    after: Some(Value::Object(new)),
                },
            }
        }
        (before, after) => Change {
            path,
            before,
            after: Some(after),
        },
    }
}

/// Refuses a thread on which a run is active.
pub fn not_active(loaded: &LoadedThread) -> Result<(), PlanError> {
    if loaded.status().is_active() {
        refuse("A run is active on this thread. Cancel it, or wait until it finishes.")
    } else {
        Ok(())
    }
}

/// Says what happens to the open questions; `then` applies if the newest checkpoint is changed: `discarded by the new input`.
pub fn leaves_head(loaded: &LoadedThread, base: &Base, then: &str) -> Option<Note> {
    let ThreadStatus::Waiting { questions, .. } = loaded.status() else {
        return None;
    };
    if base.is_newest {
        return Some(about_questions(&questions, then));
    }
    let head = loaded.checkpoint().map(text::clean).unwrap_or_default();
    let (of_step, from) = match loaded.state.as_ref().and_then(|state| state.step) {
        Some(step) => (
            format!(" of step {step}"),
            format!("step {step} (checkpoint {head})"),
        ),
        None => (String::new(), format!("checkpoint {head}")),
    };
    let first = questions.first().map(Question::summary).unwrap_or_default();
    let first = text::clean(&first);
    let said = |leaves: String, them: &str, more: String| {
        Note::warning(format!(
            "{leaves} the head. To answer {them} later, run again from {from} first: {first}{more}"
        ))
    };
    Some(match questions.len() {
        0 | 1 => said(format!("The question{of_step} leaves"), "it", String::new()),
        n => said(
            format!("The {n} questions{of_step} leave"),
            "them",
            format!(" (and {} more)", n - 1),
        ),
    })
}

/// Says what happens to open questions: `The open question is discarded by the new input: Go on?`
pub fn about_questions(questions: &[Question], then: &str) -> Note {
    let first = questions.first().map(Question::summary).unwrap_or_default();
    let first = text::clean(&first);
    Note::warning(match questions.len() {
        0 | 1 => format!("The open question is {then}: {first}"),
        n => format!(
            "The {n} open questions are {then}: {first} (and {} more)",
            n - 1
        ),
    })
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_long_value_is_named_by_its_path() {
        let messages = |question: &str, city: &str| {
            json!([
                {"type": "human", "content": question},
                {"type": "ai", "tool_calls": [{"name": "weather", "args": {"city": city, "unit": "C"}}]},
                {"type": "tool", "content": "sunny"},
            ])
        };
        let path = |after: Value| {
            narrowed(
                "messages".into(),
                Some(messages("In Paris?", "Paris")),
                after,
            )
        };
        let first = path(messages("In Rome?", "Paris"));
        assert_eq!(
            (&*first.path, first.after),
            ("messages[0].content", Some(json!("In Rome?")))
        );
        let middle = path(messages("In Paris?", "Rome"));
        assert_eq!(middle.path, "messages[1].tool_calls[0].args.city");
        assert_eq!(
            (middle.before, middle.after),
            (Some(json!("Paris")), Some(json!("Rome")))
        );
        // Several changes keep what lies between them.
        let both = path(messages("In Rome?", "Rome"));
        assert_eq!(
            (
                &*both.path,
                both.after.map(|after| after.as_array().map(Vec::len))
            ),
            ("messages[0…]", Some(Some(2)))
        );
        let mut longer = messages("In Paris?", "Paris");
        longer
            .as_array_mut()
            .unwrap()
            .push(json!({"type": "ai", "content": "Sunny."}));
        let added = path(longer);
        assert_eq!((&*added.path, added.before), ("messages[3…]", None));
    }
}
