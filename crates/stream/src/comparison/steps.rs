//! One side of a comparison: the steps of a run, a thread or a recording.

use super::output::{self, Facts, Message};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum number of steps of a side. The newest are kept.
pub(super) const MAX_STEPS: usize = 5_000;
/// Maximum size of an output that is kept, in bytes of JSON. Of larger ones only the fingerprint is kept.
const MAX_OUTPUT: usize = 256 << 10;
/// Maximum size of a final state that is kept, in bytes of JSON.
pub(super) const MAX_STATE: usize = 4 << 20;
/// Maximum size of all outputs of a side, in bytes of JSON.
const MAX_OUTPUTS: usize = 64 << 20;
/// Maximum bytes of a kept name or error.
const MAX_TEXT: usize = 2_000;

/// What a row of a side is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// The input of a run.
    Input,
    /// An execution of a node.
    #[default]
    Node,
    /// A state edit.
    Edit,
}

/// The state of a step.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Running,
    #[default]
    Done,
    /// It stopped at a question.
    Waiting,
    Failed,
    /// It never finished: the run was cancelled or abandoned.
    Stopped,
}

/// One step of a side: an execution of a node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    pub kind: StepKind,
    /// The nodes that contain its graph, outermost first.
    pub namespace: Vec<String>,
    /// Its step in its graph. Counted from the run's input if a single run is shown.
    pub step: Option<i64>,
    pub node: String,
    pub state: StepState,
    /// Whether it asked a question, answered or not.
    pub asked: bool,
    /// How long it took, in milliseconds, if known. For a step that asked: with the wait for the answer.
    pub took_ms: Option<u64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// The tools that it called.
    pub calls: Vec<String>,
    /// The tools whose results it wrote.
    pub results: Vec<String>,
    pub error: Option<String>,
    /// What it wrote or asks, as received; `None` if unknown or too large.
    pub output: Option<Value>,
    /// The fingerprint of the comparable part of its output; `None` if the output is unknown.
    pub fingerprint: Option<String>,
    /// The event of a recording that ended it.
    pub seq: Option<u64>,
    /// The thread's checkpoint that has its result; of an unfinished step, the one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

impl Step {
    /// Creates a step of a node.
    pub(super) fn of(node: &str) -> Step {
        Step {
            node: cut(node),
            ..Step::default()
        }
    }

    /// Sets what it wrote.
    pub(super) fn with_output(mut self, output: Value) -> Step {
        let facts = Facts::of(&output);
        (self.input_tokens, self.output_tokens) = facts.tokens.unzip();
        (self.calls, self.results) = (facts.calls, facts.results);
        self.fingerprint = Some(output::digest(&output::comparable(&output)));
        let is_kept = serde_json::to_string(&output).is_ok_and(|text| text.len() <= MAX_OUTPUT);
        self.output = is_kept.then_some(output);
        self
    }

    pub(super) fn with_error(mut self, error: &str) -> Step {
        self.error = Some(cut(error));
        self
    }

    /// Returns its name: the node, and the tools that it called or ran.
    pub fn label(&self) -> String {
        let (node, tools) = (self.name(), self.tools());
        match (self.results.is_empty(), self.calls.is_empty()) {
            (false, _) => format!("{node} · {tools}"),
            (true, false) => format!("{node} → {tools}"),
            (true, true) => node.to_string(),
        }
    }

    pub(super) fn name(&self) -> &str {
        match self.kind {
            StepKind::Input => "input",
            _ => &self.node,
        }
    }

    /// Returns the texts of the messages that it wrote, and its calls with their arguments: what a person reads first.
    pub fn said(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(output) = &self.output {
            say(output, 0, &mut lines);
        }
        lines
    }
}

/// Adds the texts and calls of the messages in an output. A value without messages is written as JSON.
fn say(value: &Value, depth: usize, lines: &mut Vec<String>) {
    const DEEPEST: usize = 8;
    if let Some(message) = Message::of(value) {
        let text = message.text();
        if !text.trim().is_empty() {
            lines.push(text);
        }
        lines.extend(message.calls().map(|call| {
            format!(
                "→ {} {}",
                call["name"].as_str().unwrap_or("?"),
                call["args"]
            )
        }));
        return;
    }
    match value {
        Value::Array(items)
            if depth < DEEPEST && items.iter().any(|item| Message::of(item).is_some()) =>
        {
            items.iter().for_each(|item| say(item, depth + 1, lines));
        }
        Value::Object(fields) if depth < DEEPEST => {
            for (name, field) in fields {
                let holds_messages = field
                    .as_array()
                    .is_some_and(|items| items.iter().any(|i| Message::of(i).is_some()));
                match holds_messages || Message::of(field).is_some() {
                    true => say(field, depth + 1, lines),
                    false => lines.push(format!("{name}: {}", plain(field))),
                }
            }
        }
        Value::Null => {}
        other => lines.push(plain(other)),
    }
}

/// Returns a text without quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Where a side comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SideSource {
    /// A recording.
    Recording { file: String },
    /// A thread, or one run of it.
    Thread {
        server: String,
        thread_id: String,
        run_id: Option<String>,
    },
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Where it is shown: `eu › support-bot › support 01a1…9775, run 3`.
    pub name: String,
    pub source: SideSource,
    /// The profile and the deployment, for a thread.
    #[serde(default)]
    pub profile: String,
    #[serde(default)]
    pub graph_id: Option<String>,
    #[serde(default)]
    pub assistant_id: Option<String>,
    /// How its newest run ended, or its status, as the server or the recording says.
    #[serde(default)]
    pub status: String,
    /// The revision of the deployment that ran it, if a run's record names one: by its id or its commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether more steps may follow.
    #[serde(default)]
    pub is_running: bool,
    /// Number of attempts that failed before those shown.
    #[serde(default)]
    pub retries: u64,
    pub steps: Vec<Step>,
    /// Whether steps ran that its source doesn't list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_steps: bool,
    /// The final state; `None` if unknown or too large.
    #[serde(default)]
    pub state: Option<Value>,
    /// What could not be loaded.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Side {
    /// Creates a side without steps.
    pub(super) fn new(name: String, source: SideSource) -> Side {
        Side {
            name,
            source,
            profile: String::new(),
            graph_id: None,
            assistant_id: None,
            status: String::new(),
            revision: None,
            is_running: false,
            retries: 0,
            steps: Vec::new(),
            lacks_steps: false,
            state: None,
            notes: Vec::new(),
        }
    }

    /// Applies the limits: keeps the newest steps, and outputs up to the maximum size.
    pub(super) fn limit(&mut self) {
        if let Some(evicted) = self
            .steps
            .len()
            .checked_sub(MAX_STEPS)
            .filter(|evicted| *evicted > 0)
        {
            self.steps.drain(..evicted);
            self.notes
                .push(format!("the oldest {evicted} steps are not compared"));
        }
        let mut room = MAX_OUTPUTS;
        for step in self.steps.iter_mut().rev() {
            let size = step
                .output
                .as_ref()
                .map_or(0, |output| output.to_string().len());
            match room.checked_sub(size) {
                Some(rest) => room = rest,
                None => step.output = None,
            }
        }
        if self
            .state
            .as_ref()
            .is_some_and(|state| state.to_string().len() > MAX_STATE)
        {
            self.state = None;
            self.notes
                .push("the final state is too large to compare".into());
        }
    }

    /// Returns whether steps ran that are not among its steps.
    pub fn has_unknown_steps(&self) -> bool {
        // A run that ended well had steps.
        self.lacks_steps || (!self.is_running && self.status == "success" && !self.has_node_steps())
    }

    /// Returns whether it has more than inputs.
    pub(super) fn has_node_steps(&self) -> bool {
        self.steps.iter().any(|step| step.kind != StepKind::Input)
    }

    /// Returns the final state; `None` if it isn't known.
    pub(super) fn final_state(&self) -> Option<&Value> {
        // A server that can't list the steps of a run reads its state with the channels of another graph.
        let is_misread =
            self.has_unknown_steps() && matches!(self.source, SideSource::Thread { .. });
        self.state
            .as_ref()
            .filter(|_| !self.is_running && !is_misread)
    }

    /// Returns whether any of its steps is inside of a node.
    pub(super) fn has_subgraphs(&self) -> bool {
        self.steps.iter().any(|step| !step.namespace.is_empty())
    }
}

/// Returns the start of a text.
pub(super) fn cut(text: &str) -> String {
    runtail_core::text::head(text, MAX_TEXT).to_string()
}

/// A saved comparison.
#[derive(Serialize, Deserialize)]
struct Saved {
    kind: String,
    version: u32,
    a: Side,
    b: Side,
}

/// Returns two sides as one JSON line, to save them.
pub fn write_pair(a: &Side, b: &Side) -> String {
    let saved = Saved {
        kind: "comparison".into(),
        version: 1,
        a: a.clone(),
        b: b.clone(),
    };
    serde_json::to_string(&saved).unwrap_or_default() + "\n"
}

/// Parses a saved comparison.
///
/// # Errors
/// Why the text is not one.
pub fn read_pair(text: &str) -> Result<(Side, Side), String> {
    let saved: Saved =
        serde_json::from_str(text).map_err(|e| format!("not a saved comparison: {e}"))?;
    match (saved.kind.as_str(), saved.version) {
        ("comparison", 1) => {
            let (mut a, mut b) = (saved.a, saved.b);
            a.limit();
            b.limit();
            Ok((a, b))
        }
        ("comparison", newer) => Err(format!(
            "saved by a newer Runtail (version {newer} of the file)"
        )),
        _ => Err("not a saved comparison".into()),
    }
}
