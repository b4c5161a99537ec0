//! Reads the steps of a recording: its timeline, and what the nodes wrote.

use super::steps::{MAX_STATE, Side, SideSource, Step, StepKind, StepState};
use crate::log::recording_reader::ReadError;
use crate::log::snapshot::SnapshotFields;
use crate::projection::{Attempt, Bar, BarKind, BarState, Message, Projections, Role};
use crate::protocol::{Metadata, PairMetadata, Payload, values_of};
use crate::{Event, Item, Namespace, Reader, Record, Seq};
use runtail_core::json::{self, Peek};
use runtail_core::text::{clean, head, short_id};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Memory of the projections, in bytes.
const MAX_PROJECTIONS: usize = 256 << 20;
/// Maximum number of writes and results that are kept until the end, and their maximum size in bytes.
const MAX_WRITES: usize = 100_000;
const MAX_BYTES: usize = 128 << 20;
/// Maximum nesting of graphs.
const MAX_DEPTH: usize = 64;

/// Reads a recording as one side of a comparison. Unreadable lines are skipped and noted.
///
/// # Errors
/// The file can't be read, or contains no records.
pub(super) fn read_recording(path: &Path) -> io::Result<Side> {
    let mut reader = Reader::open(path)?;
    let name = clean(
        &path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy(),
    )
    .into_owned();
    let mut recorded = Recorded::default();
    let (mut unreadable, mut records) = (0_u64, 0_u64);
    for read in reader.by_ref() {
        match read {
            Ok(record) => {
                records += 1;
                recorded.push(record);
            }
            Err(ReadError::Line { .. }) => unreadable += 1,
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
    }
    if records == 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "not a recording: it contains no records",
        ));
    }
    let mut side = recorded.side(name, path.to_string_lossy().into_owned());
    if unreadable > 0 {
        side.notes.push(format!(
            "{unreadable} lines of the recording could not be read"
        ));
    }
    side.limit();
    Ok(side)
}

/// An output in the stream.
struct Written {
    seq: Seq,
    json: Box<str>,
}

/// What a recording contains for a comparison.
#[derive(Default)]
struct Recorded {
    projections: Projections,
    metadata: PairMetadata,
    /// Updates by namespace and node, in order.
    writes: HashMap<(Namespace, Arc<str>), VecDeque<Written>>,
    /// Results of tasks by id.
    results: HashMap<Box<str>, Box<str>>,
    /// Questions, with the events that asked them.
    questions: Vec<Written>,
    /// The first state of each attempt.
    inputs: Vec<Written>,
    kept: usize,
    kept_bytes: usize,
    /// Whether outputs were dropped because there are too many.
    is_cut: bool,
    awaits_input: bool,
    state: Option<Event>,
    thread: Option<String>,
    run: Option<String>,
    assistant: Option<String>,
    graph: Option<String>,
    status: String,
    gaps: u64,
    has_end: bool,
}

impl Recorded {
    fn push(&mut self, record: Record) {
        match &record {
            Record::Head(head) => {
                self.projections = Projections::new(MAX_PROJECTIONS);
                (self.thread, self.run) = (head.thread_id.clone(), head.run_id.clone());
            }
            Record::Run(run) => self.assistant = run.assistant_id.clone().or(self.assistant.take()),
            Record::Gap { .. } => self.gaps += 1,
            Record::End(end) => {
                self.has_end = true;
                self.status = end.outcome.as_str().to_string();
            }
            Record::Event(event) => self.read(event),
            Record::Open { .. } | Record::Close { .. } => {}
        }
        self.projections.apply(&Item::Record(record));
    }

    fn read(&mut self, event: &Event) {
        if event.is_snapshot() {
            self.state = Some(event.clone());
            return;
        }
        let mut metadata = std::mem::take(&mut self.metadata);
        let payload = Payload::of(event).paired(&mut metadata);
        match payload.name {
            "metadata" => {
                let is_begin = |metadata: &Metadata<'_>| !metadata.is_done();
                self.awaits_input = payload.metadata().is_some_and(is_begin);
                let run = payload.run().map(|(id, _)| id.to_string());
                self.run = self.run.take().or(run);
            }
            "updates" => {
                self.awaits_input = false;
                for write in payload
                    .writes()
                    .iter()
                    .filter(|write| write.node != "__interrupt__")
                {
                    let key = (payload.ns.clone(), Arc::from(&*write.node));
                    let kept = self.keep(event, write.json.text());
                    self.writes.entry(key).or_default().extend(kept);
                }
            }
            "tasks" | "debug" => self.add_result(&payload),
            "values" if payload.is_root() => {
                if std::mem::take(&mut self.awaits_input) {
                    let kept = payload.json.and_then(|json| self.keep(event, json));
                    self.inputs.extend(kept);
                }
                self.state = Some(event.clone());
            }
            "messages" if self.graph.is_none() => self.find_graph(&payload),
            _ => {}
        }
        if payload.is_root()
            && matches!(payload.name, "updates" | "values")
            && let Some(questions) = payload.named_interrupts()
        {
            let kept = self.keep(event, questions.text());
            self.questions.extend(kept);
        }
        drop(payload);
        self.metadata = metadata;
    }

    /// Keeps what an event wrote, if there is room.
    fn keep(&mut self, event: &Event, json: &str) -> Option<Written> {
        let has_room = self.kept < MAX_WRITES && self.kept_bytes + json.len() <= MAX_BYTES;
        self.is_cut |= !has_room;
        has_room.then(|| {
            self.kept += 1;
            self.kept_bytes += json.len();
            Written {
                seq: event.seq,
                json: json.into(),
            }
        })
    }

    fn add_result(&mut self, payload: &Payload<'_>) {
        let Some(task) = payload.task() else { return };
        let (Some(id), Some(result)) = (task.id.some(), task.result) else {
            return;
        };
        if let Some(kept) = self.keep(payload.event, result.text()) {
            self.results.insert(id.into(), kept.json);
        }
    }

    /// The metadata of messages names the graph.
    fn find_graph(&mut self, payload: &Payload<'_>) {
        if let Some(origin) = payload.list().nth(1).and_then(Peek::object) {
            self.graph = origin.text("graph_id");
            self.assistant = self.assistant.take().or(origin.text("assistant_id"));
        }
    }

    fn side(mut self, name: String, file: String) -> Side {
        let mut side = Side::new(String::new(), SideSource::Recording { file });
        let attempts = self.shown_attempts(&mut side);
        for (n, attempt) in attempts.iter().enumerate() {
            let first = side.steps.len();
            self.add_attempt(&mut side, attempt, attempts.len() == 1);
            // A question waits until the next run.
            let wait = attempts
                .get(n + 1)
                .zip(attempt.ended)
                .map(|(next, asked)| next.started.duration_since(asked));
            let wait = wait.and_then(|wait| u64::try_from(wait.as_millis()).ok());
            side.steps[first..]
                .iter_mut()
                .filter(|step| step.asked)
                .for_each(|step| step.took_ms = wait);
        }
        side.graph_id = self.graph.take();
        side.assistant_id = self.assistant.take();
        side.status = std::mem::take(&mut self.status);
        side.state = self.state.take().as_ref().and_then(final_state);
        side.name = match self.thread.as_deref().or(self.run.as_deref()) {
            Some(id) => format!("{name} › {}", short_id(id)),
            None => name,
        };
        if self.is_cut {
            side.notes
                .push("the recording is too large to compare all outputs".into());
        }
        if self.gaps > 0 {
            side.notes
                .push(format!("the recording has {} gaps", self.gaps));
        }
        if !self.has_end {
            side.notes.push(
                "the recording has no end record: it was cut off, or is still being written".into(),
            );
        }
        if side.steps.is_empty() {
            let note = "the recording has no steps: record the modes updates or tasks";
            side.notes.push(note.into());
        }
        side
    }

    /// Returns the attempts to show: of a retried run only the last one.
    fn shown_attempts(&self, side: &mut Side) -> Vec<Attempt> {
        let all = self
            .projections
            .timeline
            .attempts()
            .map(|(_, attempt)| attempt);
        let mut shown: Vec<Attempt> = Vec::new();
        for attempt in all.filter(|attempt| !attempt.is_superseded) {
            let is_retry = |last: &Attempt| attempt.number > 1 && last.run_id == attempt.run_id;
            if shown.last().is_some_and(is_retry) {
                shown.pop();
                side.retries += 1;
            }
            shown.push(attempt.clone());
        }
        shown
    }

    /// Adds the steps of an attempt. With `is_alone`, they are counted from its input.
    fn add_attempt(&mut self, side: &mut Side, attempt: &Attempt, is_alone: bool) {
        let range = attempt.first_seq..=attempt.last_seq;
        let is_of_attempt = |written: &&Written| range.contains(&written.seq);
        let first_step = self.first_step(attempt);
        let base = if is_alone {
            first_step.map_or(0, |first| first.saturating_sub(1))
        } else {
            0
        };
        let mut inputs = self.inputs.iter();
        let input = inputs.find(is_of_attempt);
        if let Some(input) = input.and_then(|written| parse(&written.json)) {
            let step = Step {
                kind: StepKind::Input,
                step: first_step.map(|first| first.saturating_sub(1).saturating_sub(base)),
                ..Step::of("__start__")
            };
            side.steps.push(step.with_output(input));
        }
        let mut asked: HashSet<String> = HashSet::new();
        let mut questions: Vec<Value> = Vec::new();
        for written in self.questions.iter().filter(is_of_attempt) {
            for question in parse(&written.json)
                .and_then(|json| json.as_array().cloned())
                .unwrap_or_default()
            {
                let id = question["id"]
                    .as_str()
                    .or(question["interrupt_id"].as_str())
                    .unwrap_or_default();
                // Updates and states repeat the same questions.
                if asked.insert(format!("{id} {}", question["value"])) {
                    questions.push(question["value"].clone());
                }
            }
        }
        let before = side.steps.len();
        let mut stack: Vec<(u64, Vec<String>)> = attempt
            .children
            .iter()
            .rev()
            .map(|key| (*key, Vec::new()))
            .collect();
        while let Some((key, path)) = stack.pop() {
            let Some(bar) = self.projections.timeline.bar(key).cloned() else {
                continue;
            };
            if bar.kind != BarKind::Node {
                continue;
            }
            let mut step = self.step(&bar, attempt, &questions);
            step.namespace.clone_from(&path);
            if path.is_empty() {
                step.step = step.step.map(|step| step.saturating_sub(base));
            }
            side.steps.push(step);
            if path.len() < MAX_DEPTH {
                let mut inner = path;
                inner.push(bar.name.to_string());
                stack.extend(bar.children.iter().rev().map(|key| (*key, inner.clone())));
            }
        }
        // Without the modes tasks or debug, the stream doesn't say which node asks.
        let is_waiting = side.steps[before..]
            .iter()
            .any(|step| step.state == StepState::Waiting);
        if !questions.is_empty() && !is_waiting {
            let step = Step {
                state: StepState::Waiting,
                asked: true,
                ..Step::of("question")
            };
            side.steps.push(step.with_output(questions.into()));
        }
    }

    fn first_step(&self, attempt: &Attempt) -> Option<i64> {
        let timeline = &self.projections.timeline;
        attempt
            .children
            .iter()
            .filter_map(|key| timeline.step(timeline.bar(*key)?))
            .min()
    }

    fn step(&mut self, bar: &Bar, attempt: &Attempt, questions: &[Value]) -> Step {
        let mut step = Step::of(&bar.name);
        step.step = self.projections.timeline.step(bar);
        step.took_ms = bar
            .took()
            .and_then(|took| u64::try_from(took.as_millis()).ok());
        step.seq = Some(bar.last_seq.0);
        step.state = match bar.state {
            BarState::Done => StepState::Done,
            BarState::Failed => StepState::Failed,
            BarState::Interrupted => StepState::Waiting,
            // Nothing follows in a recording.
            BarState::Running | BarState::Abandoned => StepState::Stopped,
        };
        step.asked = step.state == StepState::Waiting;
        if step.state == StepState::Failed {
            step = step.with_error(
                bar.detail
                    .as_deref()
                    .or(attempt.detail.as_deref())
                    .unwrap_or_default(),
            );
        }
        match step.state {
            StepState::Waiting => step.with_output(questions.to_vec().into()),
            StepState::Failed | StepState::Stopped => step.with_output(Value::Null),
            _ => match self.output(bar, attempt) {
                Some(output) => step.with_output(output),
                None => step,
            },
        }
    }

    /// Returns what a node wrote: the result of its task, else its update, else its messages.
    fn output(&mut self, bar: &Bar, attempt: &Attempt) -> Option<Value> {
        if let Some(result) = bar.id().and_then(|id| self.results.get(id)) {
            return parse(result).map(result_value);
        }
        let key = (bar.ns.clone(), bar.name.clone());
        if let Some(writes) = self.writes.get_mut(&key) {
            while writes
                .front()
                .is_some_and(|written| written.seq < bar.first_seq)
            {
                writes.pop_front();
            }
            if let Some(written) = writes
                .front()
                .filter(|written| written.seq <= attempt.last_seq)
            {
                let output = parse(&written.json);
                writes.pop_front();
                return output;
            }
        }
        let is_of_bar = |message: &&Message| {
            message.node.as_deref() == Some(&*bar.name)
                && bar.first_seq <= message.first_seq
                && message.first_seq <= bar.last_seq
                && message.role != Role::Human
        };
        let messages: Vec<Value> = self
            .projections
            .messages
            .items()
            .iter()
            .filter(is_of_bar)
            .map(message_value)
            .collect();
        (!messages.is_empty()).then(|| json!({"messages": messages}))
    }
}

fn parse(text: &str) -> Option<Value> {
    json::from_str(text).ok()
}

/// Returns a task's result as an object. Older servers send the written channels as pairs.
fn result_value(result: Value) -> Value {
    let Value::Array(pairs) = &result else {
        return result;
    };
    let is_pair = |pair: &Value| {
        pair.as_array()
            .is_some_and(|pair| pair.len() == 2 && pair[0].is_string())
    };
    if !pairs.iter().all(is_pair) {
        return result;
    }
    let written = pairs
        .iter()
        .filter_map(|pair| Some((pair[0].as_str()?.to_string(), pair[1].clone())));
    Value::Object(written.collect::<Map<_, _>>())
}

/// Returns a message as servers write it.
fn message_value(message: &Message) -> Value {
    let calls = message.tool_calls.iter().map(|call| {
        let args = parse(&call.args).unwrap_or_else(|| call.args.clone().into());
        json!({"name": call.name, "args": args})
    });
    let mut value = json!({
        "type": message.role.word(),
        "content": message.text,
        "name": message.name,
        "tool_calls": calls.collect::<Vec<_>>(),
    });
    if message.is_error {
        value["status"] = "error".into();
    }
    if let Some(usage) = message.usage {
        value["usage_metadata"] =
            json!({"input_tokens": usage.input, "output_tokens": usage.output});
    }
    value
}

/// Returns the state in the last event that has one.
fn final_state(event: &Event) -> Option<Value> {
    let text = if event.is_snapshot() {
        let fields = SnapshotFields::read(event.data.json()?)?;
        let values = values_of(fields.state).or_else(|| values_of(fields.thread))?;
        values.text().to_string()
    } else {
        Payload::of(event).json?.to_string()
    };
    if head(&text, MAX_STATE).len() < text.len() {
        return None;
    }
    let mut state = parse(&text)?;
    // Questions are rows of their own.
    if let Some(fields) = state.as_object_mut() {
        fields.shift_remove("__interrupt__");
    }
    Some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Head;
    use crate::tests::Script;

    #[test]
    fn a_question_waits_until_the_next_run() {
        let mut recorded = Recorded::default();
        recorded.push(Record::Head(Head::default()));
        let script = Script::of(
            r#"0 metadata {"run_id": "r1", "attempt": 1}
               100 tasks {"id": "a", "name": "ask", "input": {}, "triggers": []}
               700 tasks {"id": "a", "name": "ask", "result": {}, "interrupts": [{"id": "i", "value": "Sure?"}]}
               710 metadata {"run_id": "r1", "status": "run_done"}
               65710 metadata {"run_id": "r2", "attempt": 1}
               65800 tasks {"id": "a", "name": "ask", "input": {}, "triggers": []}"#,
        );
        let events = script.events.into_iter();
        events.for_each(|event| recorded.push(Record::Event(event)));
        let side = recorded.side("a".into(), "f".into());
        let asked = side.steps.iter().filter(|step| step.asked);
        assert!(asked.map(|step| step.took_ms).eq([Some(65_000)]));
    }
}
