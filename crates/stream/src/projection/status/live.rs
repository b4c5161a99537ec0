//! The state of runs according to the stream since the newest snapshot.

use super::MAX_RUNS;
use crate::projection::rows::{Rows, Weigh};
use crate::protocol::{Interrupt, Items, Payload, Task};
use crate::{End, Outcome, Seq, error_text};
use jiff::Timestamp;
use runtail_core::model::{Question, RunFacts, ThreadStatus};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Questions and nodes of one run that are kept.
const MAX_EACH: usize = 64;
/// Bytes of a question that are read, and of all questions of a run: what is larger is no question that a person reads.
const MAX_QUESTION: usize = 256 << 10;
const MAX_QUESTIONS: usize = 1 << 20;
/// Bytes of memory for each byte of a parsed question, at most: `[1,1,…]` has a value for every two.
const PARSED: usize = 16;

/// A run according to the stream.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveRun {
    pub id: Option<Arc<str>>,
    /// When it began, by the time of its first event.
    pub began: Option<Timestamp>,
    /// The same, if that is the server's time.
    pub server_began: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// The positions of its first event and of its end.
    pub first_seq: Seq,
    pub end_seq: Option<Seq>,
    pub attempt: u64,
    pub error: Option<String>,
    pub failed_nodes: Vec<String>,
    pub questions: Vec<Question>,
    /// Bytes of JSON of the questions.
    asked: usize,
    /// Whether it stopped at a breakpoint before or after a node.
    pub breakpoint: bool,
    /// The nodes at work.
    pub nodes: Vec<String>,
    /// Whether tasks tell when nodes begin and end; else they end with their step.
    has_tasks: bool,
    pub step: Option<i64>,
    /// How it ended, where a source said so.
    pub outcome: Option<Outcome>,
    /// Why, in the source's words.
    pub detail: Option<String>,
    pub is_over: bool,
    /// Whether its first event was replayed: it may be of long ago.
    pub is_replayed: bool,
    /// Whether its end was replayed: no server replays the error of a run.
    is_end_replayed: bool,
    /// Whether the server's list had it.
    was_listed: bool,
}

impl LiveRun {
    /// Returns whether a run that ended without an outcome and without an error ended well. Of a replay only its tasks can tell.
    pub fn ended_well(&self) -> bool {
        self.failed_nodes.is_empty() && (!self.is_end_replayed || self.has_tasks)
    }
}

impl Weigh for LiveRun {
    fn weight(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let names = self.nodes.iter().chain(&self.failed_nodes).map(|name| size_of::<String>() + name.len());
        let id = self.id.as_ref().map_or(0, |id| id.len());
        let questions = self.questions.len() * size_of::<Question>() + self.asked * PARSED;
        size_of::<LiveRun>() + id + text(&self.error) + text(&self.detail) + names.sum::<usize>() + questions
    }
}

/// The runs of the stream.
#[derive(Debug, Clone)]
pub(super) struct Live {
    /// Those before the newest, oldest first.
    before: Rows<LiveRun>,
    newest: Option<LiveRun>,
    /// Whether the newest run is newer than the newest snapshot, so that it decides.
    decides: bool,
    /// The position of the newest event, when it was sent, if known, and whether it was replayed.
    seq: Seq,
    time: Option<Timestamp>,
    is_replayed: bool,
}

impl Default for Live {
    fn default() -> Self {
        Live {
            before: Rows::new(MAX_RUNS),
            newest: None,
            decides: false,
            seq: Seq::START,
            time: None,
            is_replayed: false,
        }
    }
}

/// What an event may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    Nothing,
    /// Where the newest run is.
    Progress,
    /// A run began, ended or asks.
    Run,
}

impl Live {
    /// Returns the runs, oldest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &LiveRun> {
        self.before.iter().chain(&self.newest)
    }

    /// Sets the most bytes that the runs before the newest may take.
    pub fn limit(&mut self, max_bytes: usize) {
        self.before.limit(max_bytes);
    }

    /// Returns the bytes that the runs before the newest take.
    pub fn bytes(&self) -> usize {
        self.before.bytes()
    }

    /// A snapshot was taken: `records` are its runs, newest first; `has_thread` says whether it knows the thread's status.
    pub fn settle(&mut self, records: Option<&[RunFacts]>, has_thread: bool) {
        let Some(run) = &mut self.newest else { return };
        let record = run.id.as_ref().and_then(|id| records?.iter().find(|record| record.run_id == **id));
        run.was_listed |= record.is_some();
        self.decides = match (record, run.is_over) {
            // The stream knows more of a run that is active: which nodes are at work.
            (Some(record), false) => record.is_active(),
            (Some(_), true) => false,
            // It began after these records were read, or it was deleted since.
            (None, false) => records.is_none() || !run.was_listed,
            (None, true) => !has_thread,
        } && self.decides;
    }

    /// Takes an event. `known_over` says whether the records call a run over, so that this is the past.
    pub fn apply(&mut self, payload: &Payload<'_>, known_over: impl Fn(&str) -> bool) -> Change {
        (self.seq, self.is_replayed) = (payload.event.seq, payload.event.replayed);
        let time = payload.event.time();
        self.time = time;
        if let Some(raw) = payload.interrupts {
            self.questions(raw, None);
        }
        match payload.name {
            "metadata" => self.metadata(payload, time, known_over),
            "error" => {
                let text = error_text(payload.json.unwrap_or(payload.event.data.text()));
                let run = self.current();
                run.error = Some(text);
                run.ended = time.or(run.ended);
                Change::Run
            }
            "updates" | "values" => self.written(payload),
            "tasks" => self.task(payload.task(), payload.is_root()),
            "debug" => {
                let Some(debug) = payload.debug() else { return Change::Nothing };
                // A checkpoint has the number of the step that is over.
                if !(debug.kind.is("task") || debug.kind.is("task_result")) {
                    return self.any();
                }
                let moved = self.step(debug.step.0.filter(|_| payload.is_root()));
                self.task(payload.task(), payload.is_root()).max(moved)
            }
            "messages" => {
                let Some(origin) = payload.pair.as_ref().map(|pair| pair.origin) else { return self.any() };
                // Messages of a subgraph may come under the name of the graph; their path begins with its node.
                let (node, step) = match origin.langgraph_checkpoint_ns.as_str().split_once('|') {
                    Some((outer, _)) => (outer.split(':').next(), None),
                    None => (origin.langgraph_node.some(), origin.langgraph_step.0),
                };
                let moved = self.step(step.filter(|_| payload.is_root()));
                match node.filter(|_| payload.is_root()) {
                    Some(node) => self.works(node).max(moved),
                    None => moved,
                }
            }
            "input.requested" => {
                if let Some(interrupt) = payload.interrupt() {
                    self.question(interrupt, payload.json.map_or(0, str::len), None);
                }
                Change::Run
            }
            "lifecycle" if payload.is_root() => self.phase(payload, time),
            // Edits and the server's own end of a stream belong to no run.
            "state_update" | "end" => Change::Nothing,
            _ => self.any(),
        }
    }

    /// A source started a run, or says which one it reads.
    pub fn started(&mut self, run_id: &str) -> Change {
        match &mut self.newest {
            Some(run) if !run.is_over && run.id.as_deref().is_none_or(|id| id == run_id) => {
                run.id = Some(run_id.into())
            }
            _ => self.begin(Some(run_id.into()), None),
        }
        Change::Run
    }

    /// Returns the stream of a run ended.
    pub fn ended(&mut self, end: &End) -> Change {
        let seq = self.seq;
        // A run that came to its end did so with its last event: servers close the stream later.
        let at = match end.outcome {
            Outcome::Success | Outcome::Interrupted | Outcome::Error => self.time,
            Outcome::Cancelled | Outcome::Timeout => Some(end.at).filter(|_| !self.is_replayed),
            Outcome::Detached | Outcome::Unknown => None,
        };
        let Some(run) = &mut self.newest else { return Change::Nothing };
        run.ended = run.ended.or(at);
        run.outcome = Some(end.outcome);
        run.detail.clone_from(&end.detail);
        run.is_over = true;
        run.end_seq = run.end_seq.or(Some(seq));
        if end.outcome == Outcome::Error && run.error.is_none() {
            run.error.clone_from(&end.detail);
        }
        Change::Run
    }

    /// What the newest run says of the status; `of_records` is what the records say. Where the stream is all there is
    /// (`is_alone`), a run that ended without an error ended well. A recording (`is_recorded`) has no present to ask for.
    pub fn status(&self, is_alone: bool, is_recorded: bool, of_records: ThreadStatus) -> ThreadStatus {
        // The past says nothing of the present; the records are on their way.
        let is_awaited = of_records == ThreadStatus::Loading && !is_alone && !is_recorded;
        if is_awaited && self.newest.as_ref().is_some_and(|run| run.is_replayed) {
            return of_records;
        }
        let Some(run) = self.newest.as_ref().filter(|_| self.decides || is_alone) else { return of_records };
        if !run.is_over {
            let queued = match &of_records {
                ThreadStatus::Running { queued, .. } => *queued,
                _ => 0,
            };
            let (known_nodes, known_step, known_since) = match of_records {
                // A stream that was joined in the middle of a run doesn't name it.
                ThreadStatus::Running { nodes, step, since, run_id, .. }
                    if run.id.is_none() || run_id.as_deref() == run.id.as_deref() =>
                {
                    (nodes, step, since)
                }
                _ => Default::default(),
            };
            return ThreadStatus::Running {
                since: run.began.or(known_since),
                nodes: if run.nodes.is_empty() { known_nodes } else { run.nodes.clone() },
                step: run.step.or(known_step),
                run_id: run.id.as_deref().map(Into::into),
                queued,
            };
        }
        let (at, next) = (run.ended, Vec::new());
        match (run.outcome, &run.error) {
            (Some(Outcome::Error | Outcome::Timeout), _) | (_, Some(_)) => ThreadStatus::Failed {
                at,
                error: run.error.clone().or(run.detail.clone()).unwrap_or_default(),
                nodes: run.failed_nodes.clone(),
                timed_out: run.outcome == Some(Outcome::Timeout),
            },
            (Some(Outcome::Cancelled), _) => ThreadStatus::Cancelled { at, next },
            _ if !run.questions.is_empty() => ThreadStatus::Waiting { since: at, questions: run.questions.clone() },
            _ if run.breakpoint => ThreadStatus::Paused { since: at, next, after: false },
            (Some(Outcome::Interrupted), _) => ThreadStatus::Stopped { since: at, next },
            (Some(Outcome::Success), _) => ThreadStatus::Idle { ended: at, began: run.began },
            (None, None) if is_alone && run.ended_well() => ThreadStatus::Idle { ended: at, began: run.began },
            (None, None) if is_alone && !run.failed_nodes.is_empty() => {
                ThreadStatus::Failed { at, error: String::new(), nodes: run.failed_nodes.clone(), timed_out: false }
            }
            _ if is_alone && !is_recorded => {
                let why = "the newest run ended before the stream was opened, and this server doesn't say how";
                ThreadStatus::Unknown { why: why.into() }
            }
            _ if is_recorded => ThreadStatus::Unknown { why: "the recording doesn't say how the run ended".into() },
            _ => ThreadStatus::Unknown { why: "the run ended; asking the server how".into() },
        }
    }

    fn begin(&mut self, id: Option<Arc<str>>, began: Option<Timestamp>) {
        self.decides = true;
        let (first_seq, is_replayed) = (self.seq, self.is_replayed);
        let run = LiveRun { id, began, first_seq, is_replayed, attempt: 1, ..LiveRun::default() };
        if let Some(before) = self.newest.replace(run) {
            self.before.push(before);
        }
    }

    /// Returns the run that an event belongs to. A stream that is joined in the middle of a run does not say its id, nor when it
    /// began.
    fn current(&mut self) -> &mut LiveRun {
        self.any();
        self.newest.get_or_insert_default()
    }

    /// An event of some run, whatever it says.
    fn any(&mut self) -> Change {
        if self.newest.as_ref().is_some_and(|run| !run.is_over) {
            return Change::Nothing;
        }
        self.begin(None, None);
        Change::Run
    }

    fn metadata(
        &mut self,
        payload: &Payload<'_>,
        time: Option<Timestamp>,
        known_over: impl Fn(&str) -> bool,
    ) -> Change {
        let Some(metadata) = payload.metadata() else { return Change::Nothing };
        let Some(id) = metadata.run_id.some() else { return Change::Nothing };
        let is_over = metadata.is_done();
        // A run that is named only at its end was joined in its middle.
        let is_it = |run: &LiveRun| !run.is_over && run.id.as_deref().is_none_or(|known| known == id);
        if !self.newest.as_ref().is_some_and(is_it) {
            self.begin(Some(id.into()), None);
        }
        self.decides = !known_over(id);
        let (seq, is_replayed) = (self.seq, self.is_replayed);
        let run = self.newest.get_or_insert_default();
        run.id.get_or_insert_with(|| id.into());
        if is_over {
            (run.is_over, run.end_seq, run.is_end_replayed) = (true, Some(seq), is_replayed);
            run.ended = time.or(run.ended);
            run.nodes.clear();
            return Change::Run;
        }
        run.began = run.began.or(time);
        let attempt = metadata.attempt();
        if attempt == 1 {
            run.server_began = run.server_began.or(payload.event.server_time());
        }
        if attempt > run.attempt {
            // What the attempt before said of its end is no end.
            let LiveRun { id, began, server_began, first_seq, is_replayed, .. } = std::mem::take(run);
            *run = LiveRun { id, began, server_began, first_seq, is_replayed, attempt, ..LiveRun::default() };
        }
        Change::Run
    }

    /// An update or a state: what a node wrote, or the end of a step, and perhaps what is asked.
    fn written(&mut self, payload: &Payload<'_>) -> Change {
        let began = self.any();
        let is_state = payload.name == "values";
        let run = self.current();
        let working = run.nodes.len();
        if is_state && payload.is_root() {
            run.nodes.clear();
        } else if !is_state && payload.is_root() && working > 0 {
            for write in payload.writes() {
                run.nodes.retain(|working| *working != *write.node);
            }
        }
        let moved = if run.nodes.len() < working { Change::Progress } else { Change::Nothing };
        let Some(raw) = payload.named_interrupts() else { return began.max(moved) };
        self.current().breakpoint |= raw.get() == "[]" && !is_state;
        self.questions(raw, None);
        Change::Run
    }

    fn task(&mut self, task: Option<&Task<'_>>, is_root: bool) -> Change {
        let Some(task) = task else { return Change::Nothing };
        let Some(name) = task.name.some() else { return Change::Nothing };
        let failed = task.error.filter(|error| error.get() != "null");
        if task.triggers.is_some() && task.result.is_none() && failed.is_none() {
            let began = self.any();
            self.current().has_tasks = true;
            return if is_root { self.works(name).max(began) } else { began };
        }
        let began = self.any();
        let run = self.current();
        if is_root {
            run.nodes.retain(|working| working != name);
        }
        // Two modes may tell of one failure.
        let is_new = run.failed_nodes.len() < MAX_EACH && !run.failed_nodes.iter().any(|known| known == name);
        if failed.is_some() && is_root && is_new {
            run.failed_nodes.push(name.into());
        }
        let asks = task.interrupts.filter(|raw| raw.get() != "[]");
        if let Some(raw) = asks {
            self.questions(raw, Some(name).filter(|_| is_root));
        }
        if failed.is_some() || asks.is_some() { Change::Run } else { began.max(Change::Progress) }
    }

    fn phase(&mut self, payload: &Payload<'_>, time: Option<Timestamp>) -> Change {
        let Some(phase) = payload.phase() else { return Change::Nothing };
        let seq = self.seq;
        let outcome = match phase.event.as_str() {
            "running" | "started" => {
                let began = self.any();
                let run = self.current();
                run.began = run.began.or(time);
                return began;
            }
            "completed" => Outcome::Success,
            "failed" => Outcome::Error,
            "interrupted" => Outcome::Interrupted,
            _ => return Change::Nothing,
        };
        let run = self.current();
        run.outcome = Some(outcome);
        run.error = phase.error.map(|raw| error_text(raw.get())).or(run.error.take());
        (run.is_over, run.ended, run.end_seq) = (true, time, Some(seq));
        Change::Run
    }

    fn step(&mut self, step: Option<i64>) -> Change {
        let began = self.any();
        let run = self.current();
        if step.is_none() || run.step == step {
            return began;
        }
        if step > run.step && !run.has_tasks {
            run.nodes.clear();
        }
        run.step = step;
        began.max(Change::Progress)
    }

    fn works(&mut self, node: &str) -> Change {
        let run = self.current();
        if run.nodes.len() >= MAX_EACH || run.nodes.iter().any(|known| known == node) {
            return Change::Nothing;
        }
        run.nodes.push(node.into());
        Change::Progress
    }

    fn questions(&mut self, list: &RawValue, node: Option<&str>) {
        for raw in Items::of(list) {
            if let Some(interrupt) = Interrupt::read(raw) {
                self.question(&interrupt, raw.get().len(), node);
            }
        }
    }

    /// Updates, states and tasks all tell of one question; only tasks name its node.
    fn question(&mut self, asked: &Interrupt<'_>, size: usize, node: Option<&str>) {
        let id = asked.id.some().map(str::to_string);
        let value = asked.value.map_or("null", RawValue::get);
        let value = match value.len() <= MAX_QUESTION {
            true => serde_json::from_str(value).unwrap_or_default(),
            false => Value::String(format!("{}…", runtail_core::text::head(value, MAX_QUESTION))),
        };
        let size = size.min(2 * MAX_QUESTION);
        let schema = asked.response_schema.filter(|_| size < 2 * MAX_QUESTION);
        let response_schema = schema.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
        let run = self.current();
        let node = node.map(str::to_string);
        if let Some(known) = run.questions.iter_mut().find(|known| known.id == id && known.value == value) {
            known.node = known.node.take().or(node);
            known.response_schema = known.response_schema.take().or(response_schema);
        } else if run.questions.len() < MAX_EACH && run.asked + size <= MAX_QUESTIONS {
            run.asked += size;
            run.questions.push(Question { id, value, response_schema, node });
        }
    }
}
