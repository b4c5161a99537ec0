//! The state of runs according to the stream.

use super::MAX_RUNS;
use crate::projection::node_path::name_of;
use crate::projection::rows::{Rows, Weigh, len};
use crate::protocol::{Interrupt, Payload, Task};
use crate::{End, Outcome, RunRecord, Seq, error_text};
use jiff::Timestamp;
use runtail_core::exact_json;
use runtail_core::json::Peek;
use runtail_core::model::{Question, RunFacts, ThreadStatus, cause};
use serde_json::Value;
use std::sync::Arc;

/// Why the status of a run that ended isn't known until the records are loaded.
pub(super) const ASKING: &str = "the run ended; asking the server how";

/// Maximum number of questions and of nodes kept per run.
const MAX_EACH: usize = 64;
/// Maximum size of one question and of all questions of a run, in bytes. Larger values are not questions for a person.
const MAX_QUESTION: usize = 256 << 10;
const MAX_QUESTIONS: usize = 1 << 20;
/// Maximum memory size per byte of a parsed question: `[1,1,…]` has one value for every two bytes.
const MEMORY_PER_BYTE: usize = 16;

/// A run according to the stream.
#[derive(Debug, Clone, Default)]
pub(super) struct LiveRun {
    pub id: Option<Arc<str>>,
    /// When it started: the time of its first event.
    pub began: Option<Timestamp>,
    /// When it started, if that is the server's time.
    pub server_began: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// The position of its first event.
    pub first_seq: Seq,
    /// The position of its end.
    pub end_seq: Option<Seq>,
    pub attempt: u64,
    pub error: Option<String>,
    /// The error of the task that failed last: Aegra's is more specific than that of the run.
    pub task_error: Option<String>,
    pub failed_nodes: Vec<String>,
    pub questions: Vec<Question>,
    /// Size of the questions' JSON in bytes.
    question_bytes: usize,
    /// Whether it stopped at a breakpoint before or after a node.
    pub breakpoint: bool,
    /// The running nodes.
    pub nodes: Vec<String>,
    /// Whether tasks report when nodes start and end. Otherwise nodes end with their step.
    has_tasks: bool,
    pub step: Option<i64>,
    /// Its outcome, if reported.
    pub outcome: Option<Outcome>,
    /// The details of the outcome.
    pub detail: Option<String>,
    pub is_over: bool,
    /// Whether its first event was replayed, so that it may be old.
    pub is_replayed: bool,
    /// Whether its end was replayed. No server replays the error of a run.
    is_end_replayed: bool,
    /// Whether the server's list contained it.
    was_listed: bool,
}

impl LiveRun {
    /// Returns whether a run that ended without an outcome and without an error succeeded. If its end was replayed,
    /// only its tasks can show that.
    pub fn succeeded(&self) -> bool {
        self.failed_nodes.is_empty() && (!self.is_end_replayed || self.has_tasks)
    }
}

impl Weigh for LiveRun {
    const MAX_ROWS: usize = MAX_RUNS;

    fn weight(&self) -> usize {
        let names = self
            .nodes
            .iter()
            .chain(&self.failed_nodes)
            .map(|name| size_of::<String>() + name.len());
        let questions =
            self.questions.len() * size_of::<Question>() + self.question_bytes * MEMORY_PER_BYTE;
        let texts = len(&self.error) + len(&self.task_error) + len(&self.detail);
        size_of::<LiveRun>() + len(&self.id) + texts + names.sum::<usize>() + questions
    }
}

/// The runs of the stream.
#[derive(Debug, Clone, Default)]
pub(super) struct Live {
    pub before: Rows<LiveRun>,
    newest: Option<LiveRun>,
    /// Whether the newest run is newer than the newest snapshot, so that it determines the status.
    is_current: bool,
    /// The position of the newest event.
    seq: Seq,
    /// When the newest event was sent, if known.
    time: Option<Timestamp>,
    /// Whether the newest event was replayed.
    is_replayed: bool,
}

/// The effect of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    Nothing,
    /// The newest run made progress.
    Progress,
    /// A run started, ended, or was interrupted.
    Run,
}

impl Live {
    /// Returns the runs, oldest first.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = &LiveRun> {
        self.before.iter().chain(&self.newest)
    }

    /// Returns the position of the end of the run that determines the status.
    pub fn ends_status(&self) -> Option<Seq> {
        self.newest.as_ref().filter(|_| self.is_current)?.end_seq
    }

    /// Applies a snapshot. `records` are its runs, newest first; `has_thread` says whether it contains the thread's
    /// status.
    pub fn apply_snapshot(&mut self, records: Option<&[RunFacts]>, has_thread: bool) {
        let Some(run) = &mut self.newest else { return };
        let record = run
            .id
            .as_ref()
            .and_then(|id| records?.iter().find(|record| record.run_id == **id));
        run.was_listed |= record.is_some();
        self.is_current = match (record, run.is_over) {
            // The stream has more details of an active run, such as its running nodes.
            (Some(record), false) => record.is_active(),
            (Some(_), true) => false,
            // It started after the records were loaded, or it was deleted since then.
            (None, false) => records.is_none() || !run.was_listed,
            (None, true) => !has_thread,
        } && self.is_current;
    }

    /// Applies an event. `is_known_over` says whether a run is over according to the records, so that its events are
    /// old.
    pub fn apply(&mut self, payload: &Payload<'_>, is_known_over: impl Fn(&str) -> bool) -> Change {
        (self.seq, self.is_replayed) = (payload.event.seq, payload.event.replayed);
        let time = payload.event.time();
        self.time = time;
        if let Some(raw) = payload.interrupts {
            self.add_questions(raw, None);
        }
        match payload.name {
            "metadata" => self.apply_metadata(payload, time, is_known_over),
            "error" => {
                let text = error_text(payload.json.unwrap_or(payload.event.data.text()));
                let run = self.current_run();
                run.error = cause([text].into_iter().chain(run.task_error.clone()));
                run.ended = time.or(run.ended);
                Change::Run
            }
            "updates" | "values" => self.apply_written(payload),
            "tasks" => self.apply_task(payload.task(), payload.is_root()),
            "debug" => {
                let Some(debug) = payload.debug() else {
                    return Change::Nothing;
                };
                // A checkpoint has the number of the finished step.
                let Some(task) = payload.task() else {
                    return self.ensure_run();
                };
                let progress = self.set_step(debug.step.0.filter(|_| payload.is_root()));
                self.apply_task(Some(task), payload.is_root()).max(progress)
            }
            "messages" => {
                let Some(origin) = payload.pair.as_ref().map(|pair| pair.origin) else {
                    return self.ensure_run();
                };
                // Messages of a subgraph may be sent in the root namespace; their path begins with the node of the root
                // graph.
                let (node, step) = match origin.langgraph_checkpoint_ns.as_str().split_once('|') {
                    Some((outer, _)) => (Some(name_of(outer)), None),
                    None => (origin.langgraph_node.some(), origin.langgraph_step.0),
                };
                let progress = self.set_step(step.filter(|_| payload.is_root()));
                match node.filter(|_| payload.is_root()) {
                    Some(node) => self.add_node(node).max(progress),
                    None => progress,
                }
            }
            "input.requested" => {
                if let Some(interrupt) = payload.interrupt() {
                    self.add_question(interrupt, payload.json.map_or(0, str::len), None);
                }
                Change::Run
            }
            "lifecycle" if payload.is_root() => self.apply_lifecycle(payload, time),
            // State edits and the end of a stream belong to no run.
            "state_update" | "end" => Change::Nothing,
            _ => self.ensure_run(),
        }
    }

    /// Applies the id of the run that a source started or reads.
    pub fn started(&mut self, run_id: &str) -> Change {
        match &mut self.newest {
            Some(run) if !run.is_over && run.id.as_deref().is_none_or(|id| id == run_id) => {
                run.id = Some(run_id.into())
            }
            _ => self.begin_run(Some(run_id.into()), None),
        }
        Change::Run
    }

    /// Applies a run's end that was read from its own stream or from the list of runs.
    pub fn run_ended(&mut self, run: &RunRecord) -> Change {
        let is_newest =
            |newest: &LiveRun| !newest.is_over && newest.id.as_deref() == Some(&*run.run_id);
        match run.end() {
            Some(end) if self.newest.as_ref().is_some_and(is_newest) => self.ended(&end),
            _ => Change::Nothing,
        }
    }

    fn is_newest_over(&self, id: &str) -> bool {
        self.newest
            .as_ref()
            .is_some_and(|run| run.is_over && run.id.as_deref() == Some(id))
    }

    /// Applies the end of a run's stream.
    pub fn ended(&mut self, end: &End) -> Change {
        let seq = self.seq;
        let at = match end.outcome {
            outcome if outcome.is_shown_by_events() => self.time,
            Outcome::Cancelled | Outcome::Timeout => Some(end.at).filter(|_| !self.is_replayed),
            _ => None,
        };
        let Some(run) = &mut self.newest else {
            return Change::Nothing;
        };
        run.ended = run.ended.or(at);
        run.outcome = Some(end.outcome);
        run.detail.clone_from(&end.detail);
        run.is_over = true;
        run.end_seq = run.end_seq.or(Some(seq));
        if end.outcome == Outcome::Error {
            run.error = cause(run.error.take().into_iter().chain(end.detail.clone()));
        }
        Change::Run
    }

    /// Returns the thread's status: by the newest run, or `from_records` if that is newer. If the stream is the only
    /// source (`is_stream_only`), a run that ended without an error succeeded. In a recording (`is_recorded`) no newer
    /// status can be loaded.
    pub fn status(
        &self,
        is_stream_only: bool,
        is_recorded: bool,
        from_records: ThreadStatus,
    ) -> ThreadStatus {
        // A replayed run doesn't show the current status, and the records are being loaded.
        let is_loading = from_records == ThreadStatus::Loading && !is_stream_only && !is_recorded;
        if is_loading && self.newest.as_ref().is_some_and(|run| run.is_replayed) {
            return from_records;
        }
        let Some(run) = self
            .newest
            .as_ref()
            .filter(|_| self.is_current || is_stream_only)
        else {
            return from_records;
        };
        if !run.is_over {
            let (queued, known) = match from_records {
                // A stream that joined in the middle of a run doesn't know its id.
                ThreadStatus::Running {
                    nodes,
                    step,
                    since,
                    run_id,
                    queued,
                } => (
                    queued,
                    (run.id.is_none() || run_id.as_deref() == run.id.as_deref())
                        .then_some((nodes, step, since, run_id)),
                ),
                _ => Default::default(),
            };
            let (nodes, step, since, run_id) = known.unwrap_or_default();
            return ThreadStatus::Running {
                since: run.began.or(since),
                nodes: if run.nodes.is_empty() {
                    nodes
                } else {
                    run.nodes.clone()
                },
                step: run.step.or(step),
                run_id: run.id.as_deref().map(Into::into).or(run_id),
                queued,
            };
        }
        let (at, next) = (run.ended, Vec::new());
        let failed = || ThreadStatus::Failed {
            at,
            error: run
                .error
                .clone()
                .or(run.detail.clone())
                .or(run.task_error.clone())
                .unwrap_or_default(),
            nodes: run.failed_nodes.clone(),
            timed_out: run.outcome == Some(Outcome::Timeout),
        };
        let idle = ThreadStatus::Idle {
            ended: at,
            began: run.began,
        };
        match (run.outcome, &run.error) {
            (Some(Outcome::Error | Outcome::Timeout), _) | (_, Some(_)) => failed(),
            (Some(Outcome::Cancelled), _) => ThreadStatus::Cancelled { at, next },
            _ if !run.questions.is_empty() => ThreadStatus::Waiting {
                since: at,
                questions: run.questions.clone(),
            },
            _ if run.breakpoint => ThreadStatus::Paused {
                since: at,
                next,
                after: false,
            },
            (Some(Outcome::Interrupted), _) => ThreadStatus::Stopped { since: at, next },
            (Some(Outcome::Success), _) => idle,
            (None, None) if is_stream_only && run.succeeded() => idle,
            (None, None) if is_stream_only && !run.failed_nodes.is_empty() => failed(),
            _ => {
                let why = match (is_stream_only, is_recorded) {
                    (true, false) => "the stream does not show how the newest run ended",
                    (_, true) => "the recording stops before the run's end",
                    (false, false) => ASKING,
                };
                ThreadStatus::Unknown { why: why.into() }
            }
        }
    }

    /// Adds a run, which becomes the newest.
    fn begin_run(&mut self, id: Option<Arc<str>>, began: Option<Timestamp>) {
        self.is_current = true;
        let (first_seq, is_replayed) = (self.seq, self.is_replayed);
        let run = LiveRun {
            id,
            began,
            first_seq,
            is_replayed,
            attempt: 1,
            ..LiveRun::default()
        };
        if let Some(previous) = self.newest.replace(run) {
            self.before.push(previous);
        }
    }

    /// Returns the run that the newest event belongs to. If the stream joined in the middle of it, its id and its start
    /// are unknown.
    fn current_run(&mut self) -> &mut LiveRun {
        self.ensure_run();
        self.newest.get_or_insert_default()
    }

    /// Makes sure that a run is active, because an event belongs to it.
    fn ensure_run(&mut self) -> Change {
        if self.newest.as_ref().is_some_and(|run| !run.is_over) {
            return Change::Nothing;
        }
        self.begin_run(None, None);
        Change::Run
    }

    fn apply_metadata(
        &mut self,
        payload: &Payload<'_>,
        time: Option<Timestamp>,
        is_known_over: impl Fn(&str) -> bool,
    ) -> Change {
        let Some((id, metadata)) = payload.run() else {
            return Change::Nothing;
        };
        let is_over = metadata.is_done();
        // If the stream joined in the middle of a run, only the end of the run contains its id.
        let matches =
            |run: &LiveRun| !run.is_over && run.id.as_deref().is_none_or(|known| known == id);
        // The stream of a thread repeats the end of a run whose own stream was read.
        if is_over && self.is_newest_over(id) {
            return Change::Nothing;
        }
        if !self.newest.as_ref().is_some_and(matches) {
            self.begin_run(Some(id.into()), None);
        }
        self.is_current = !is_known_over(id);
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
            // A retry resets everything else, including the end of the previous attempt.
            let LiveRun {
                id,
                began,
                server_began,
                first_seq,
                is_replayed,
                ..
            } = std::mem::take(run);
            *run = LiveRun {
                id,
                began,
                server_began,
                first_seq,
                is_replayed,
                attempt,
                ..LiveRun::default()
            };
        }
        Change::Run
    }

    /// Applies an update or a state: the end of a node or a step, and possibly an interrupt.
    fn apply_written(&mut self, payload: &Payload<'_>) -> Change {
        let change = self.ensure_run();
        let is_state = payload.name == "values";
        let run = self.current_run();
        let node_count = run.nodes.len();
        if is_state && payload.is_root() {
            run.nodes.clear();
        } else if !is_state && payload.is_root() && node_count > 0 {
            for write in payload.writes() {
                run.nodes.retain(|node| *node != *write.node);
            }
        }
        let progress = if run.nodes.len() < node_count {
            Change::Progress
        } else {
            Change::Nothing
        };
        let Some(raw) = payload.named_interrupts() else {
            return change.max(progress);
        };
        self.current_run().breakpoint |= raw.text() == "[]" && !is_state;
        self.add_questions(raw, None);
        Change::Run
    }

    fn apply_task(&mut self, task: Option<&Task<'_>>, is_root: bool) -> Change {
        let Some(task) = task else {
            return Change::Nothing;
        };
        let Some(name) = task.name.some() else {
            return Change::Nothing;
        };
        let failed = task.error;
        let change = self.ensure_run();
        let run = self.current_run();
        if task.is_start() {
            run.has_tasks = true;
            return if is_root {
                self.add_node(name).max(change)
            } else {
                change
            };
        }
        if is_root {
            run.nodes.retain(|node| node != name);
        }
        if let Some(error) = failed {
            run.task_error = Some(error_text(error.text()));
        }
        // Two modes may report the same failure.
        let is_new = run.failed_nodes.len() < MAX_EACH
            && !run.failed_nodes.iter().any(|known| known == name);
        if failed.is_some() && is_root && is_new {
            run.failed_nodes.push(name.into());
        }
        let interrupts = task.interrupts.filter(|raw| raw.text() != "[]");
        if let Some(raw) = interrupts {
            self.add_questions(raw, Some(name).filter(|_| is_root));
        }
        if failed.is_some() || interrupts.is_some() {
            Change::Run
        } else {
            change.max(Change::Progress)
        }
    }

    fn apply_lifecycle(&mut self, payload: &Payload<'_>, time: Option<Timestamp>) -> Change {
        let Some(phase) = payload.phase() else {
            return Change::Nothing;
        };
        let seq = self.seq;
        if phase.is_begin() {
            let change = self.ensure_run();
            let run = self.current_run();
            run.began = run.began.or(time);
            return change;
        }
        let Some(outcome) = phase.outcome() else {
            return Change::Nothing;
        };
        let run = self.current_run();
        run.outcome = Some(outcome);
        run.error = phase
            .error
            .map(|raw| error_text(raw.text()))
            .or(run.error.take());
        (run.is_over, run.ended, run.end_seq) = (true, time, Some(seq));
        Change::Run
    }

    fn set_step(&mut self, step: Option<i64>) -> Change {
        let change = self.ensure_run();
        let run = self.current_run();
        if step.is_none() || run.step == step {
            return change;
        }
        if step > run.step && !run.has_tasks {
            run.nodes.clear();
        }
        run.step = step;
        change.max(Change::Progress)
    }

    /// Adds a running node.
    fn add_node(&mut self, node: &str) -> Change {
        let run = self.current_run();
        if run.nodes.len() >= MAX_EACH || run.nodes.iter().any(|known| known == node) {
            return Change::Nothing;
        }
        run.nodes.push(node.into());
        Change::Progress
    }

    fn add_questions(&mut self, list: Peek<'_>, node: Option<&str>) {
        for raw in list.items() {
            if let Some(interrupt) = raw.read() {
                self.add_question(&interrupt, raw.text().len(), node);
            }
        }
    }

    /// Adds a question, which updates, states and tasks may all report. Only tasks name its node.
    fn add_question(&mut self, interrupt: &Interrupt<'_>, size: usize, node: Option<&str>) {
        let id = interrupt.id.some().map(str::to_string);
        let value = interrupt.value.map_or("null", Peek::text);
        let (value, inexact) = match value.len() <= MAX_QUESTION {
            true => exact_json::parse_lenient(value).unwrap_or_default(),
            false => (
                Value::String(format!(
                    "{}…",
                    runtail_core::text::head(value, MAX_QUESTION)
                )),
                Vec::new(),
            ),
        };
        let size = size.min(2 * MAX_QUESTION);
        let schema = interrupt
            .response_schema
            .filter(|_| size < 2 * MAX_QUESTION);
        let response_schema = schema.and_then(Peek::read::<Value>);
        let run = self.current_run();
        let node = node.map(str::to_string);
        if let Some(known) = run
            .questions
            .iter_mut()
            .find(|known| known.id == id && known.value == value)
        {
            known.node = known.node.take().or(node);
            known.response_schema = known.response_schema.take().or(response_schema);
        } else if run.questions.len() < MAX_EACH && run.question_bytes + size <= MAX_QUESTIONS {
            run.question_bytes += size;
            run.questions.push(Question {
                id,
                value,
                response_schema,
                inexact,
                node,
            });
        }
    }
}
