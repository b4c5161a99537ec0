//! The lifecycle of runs, tasks and connections, in chronological order.

use super::ledger::is_start;
use super::messages::fingerprint;
use super::rows::{Rows, Weigh, namespace_weight};
use super::summary::summary;
use crate::protocol::{Interrupt, Items, Payload};
use crate::{Item, Names, Namespace, Record, RunRecord, Seq, error_text};
use jiff::Timestamp;
use runtail_core::text::{duration, short_id};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;

const MAX_ROWS: usize = 50_000;
const MAX_INTERRUPTS: usize = 4096;
const SUMMARY: usize = 120;

/// The kind of a lifecycle row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LifecycleKind {
    /// A run began.
    RunStart,
    /// A run is over; how it ended is not said.
    RunDone,
    /// A run is over: the graph asked something.
    RunInterrupted,
    /// The server tries a run again.
    Attempt,
    /// A node's task began.
    TaskStart,
    /// A node's task is done.
    TaskDone,
    /// A node's task stopped to ask something.
    TaskInterrupted,
    /// The graph asks something.
    Interrupt,
    /// A run, a task or the source itself failed.
    Error,
    /// A connection was opened or closed.
    Connection,
    /// Waiting to reconnect.
    Retry,
    /// Something may be missing.
    Gap,
    /// The end of the stream.
    End,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LifecycleRow {
    /// Its event, or the event before it.
    pub seq: Seq,
    /// When it happened, if known.
    pub at: Option<Timestamp>,
    /// What kind.
    pub kind: LifecycleKind,
    /// In words.
    pub text: String,
    /// The run that it is about.
    pub run_id: Option<Arc<str>>,
    /// The subgraph that it happened in.
    pub ns: Namespace,
}

impl Weigh for LifecycleRow {
    fn weight(&self) -> usize {
        let run = self.run_id.as_ref().map_or(0, |id| id.len());
        size_of::<LifecycleRow>() + self.text.capacity() + run + namespace_weight(&self.ns)
    }
}

/// The lifecycle rows of an event log.
#[derive(Debug, Clone)]
pub struct Lifecycle {
    rows: Rows<LifecycleRow>,
    seq: Seq,
    run: Option<Arc<str>>,
    attempt: u64,
    /// Identifiers of the interrupts already reported, because a value may have 50 MB.
    asked: HashSet<u64>,
    /// The run asked something.
    asks: bool,
    ns: Namespace,
    names: Names,
    /// The last connection was closed for other modes.
    other_modes: bool,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Lifecycle {
            rows: Rows::new(MAX_ROWS),
            seq: Seq::START,
            run: None,
            attempt: 0,
            asked: HashSet::new(),
            asks: false,
            ns: Namespace::default(),
            names: Names::default(),
            other_modes: false,
        }
    }
}

impl Lifecycle {
    /// What happened, in order.
    pub fn rows(&self) -> &Rows<LifecycleRow> {
        &self.rows
    }

    pub(super) fn rows_mut(&mut self) -> &mut Rows<LifecycleRow> {
        &mut self.rows
    }

    /// Returns the run that the stream is in, or was in last.
    pub fn run_id(&self) -> Option<&Arc<str>> {
        self.run.as_ref()
    }

    pub(super) fn apply_event(&mut self, payload: &Payload<'_>) {
        self.seq = payload.event.seq;
        self.ns.clone_from(&payload.ns);
        let at = payload.event.time();
        if let Some(raw) = payload.interrupts {
            self.interrupts(raw, at);
        }
        match payload.name {
            "metadata" => self.metadata(payload, at),
            "error" => {
                self.row(at, LifecycleKind::Error, error_text(payload.json.unwrap_or(payload.event.data.text())))
            }
            "updates" | "values" => {
                // The state of a subgraph repeats what the root says.
                if let Some(raw) = payload.named_interrupts() {
                    if raw.get() == "[]" && payload.name == "updates" {
                        self.row(at, LifecycleKind::Interrupt, "stopped at a breakpoint before or after a node".into());
                    }
                    self.interrupts(raw, at);
                }
            }
            "input.requested" => {
                if let Some(interrupt) = payload.interrupt() {
                    self.interrupt(interrupt, at);
                }
            }
            "tasks" => self.task(payload, at),
            "lifecycle" => self.phase(payload, at),
            _ => {}
        }
    }

    pub(super) fn apply_item(&mut self, item: &Item) {
        use LifecycleKind::{Connection, End, Error, Gap, Retry};
        self.ns = Namespace::default();
        match item {
            Item::Record(Record::Open { at, conn, status, resumed_after }) => {
                let from = match resumed_after.as_deref() {
                    Some(id) if is_start(id) => " replay requested".to_string(),
                    Some(id) => format!(" after {id}"),
                    None => String::new(),
                };
                let text = match std::mem::take(&mut self.other_modes) {
                    true => format!("modes changed: reopened{from} (connection {conn}, {status})"),
                    false if from.is_empty() => format!("connection {conn} open ({status})"),
                    false => format!("connection {conn} open ({status}),{from}"),
                };
                self.row(Some(*at), Connection, text);
            }
            Item::Record(Record::Close { at, conn, reason }) => {
                self.other_modes = reason == "modes";
                self.row(Some(*at), Connection, format!("connection {conn} closed: {reason}"));
            }
            Item::Record(Record::Gap { at, why }) => self.row(Some(*at), Gap, why.clone()),
            Item::Record(Record::End(end)) => {
                let text = match &end.detail {
                    Some(detail) => format!("{}: {detail}", end.outcome.as_str()),
                    None => end.outcome.as_str().to_string(),
                };
                self.row(Some(end.at), End, text);
            }
            Item::Retrying { at, attempt, wait, why, request } => {
                let place = if request.is_empty() { String::new() } else { format!(" · {request}") };
                self.row(Some(*at), Retry, format!("{why}; attempt {attempt} in {}{place}", duration(*wait)));
            }
            Item::Failed(error) => {
                let at = self.rows.last().and_then(|row| row.at);
                self.row(at, Error, error.to_string());
            }
            Item::Started { run_id, .. } => {
                if self.run.is_none() {
                    self.run = Some(self.names.get(run_id));
                }
            }
            Item::Record(Record::Run(run)) => self.run_record(run),
            Item::Record(Record::Tape(_) | Record::Event(_))
            | Item::Heartbeat { .. }
            | Item::Repeated { .. }
            | Item::Connecting { .. }
            | Item::Terms(_)
            | Item::ModesKept { .. }
            | Item::Following { .. }
            | Item::Silent { .. } => {}
        }
    }

    fn row(&mut self, at: Option<Timestamp>, kind: LifecycleKind, text: String) {
        self.asks |= kind == LifecycleKind::Interrupt;
        self.rows.push(LifecycleRow { seq: self.seq, at, kind, text, run_id: self.run.clone(), ns: self.ns.clone() });
    }

    /// The end of a run that is followed by its record: the events of such runs don't say that it is over.
    fn run_record(&mut self, run: &RunRecord) {
        let is_over = !matches!(run.status.as_str(), "pending" | "queued" | "running" | "streaming");
        if !is_over || self.attempt == 0 || self.run.as_deref() != Some(&*self.names.get(&run.run_id)) {
            return;
        }
        self.attempt = 0;
        let shown = short_id(&run.run_id);
        match std::mem::take(&mut self.asks) {
            true => self.row(run.ended_at, LifecycleKind::RunInterrupted, format!("run {shown} interrupted")),
            false => self.row(run.ended_at, LifecycleKind::RunDone, format!("run {shown} ended")),
        }
    }

    fn metadata(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(metadata) = payload.metadata() else { return };
        let Some(id) = metadata.run_id.some() else { return };
        let same = self.run.as_deref() == Some(id) && self.attempt > 0;
        let shown = short_id(id);
        self.run = Some(self.names.get(id));
        if metadata.is_done() {
            self.attempt = 0;
            match std::mem::take(&mut self.asks) {
                true => self.row(at, LifecycleKind::RunInterrupted, format!("run {shown} interrupted")),
                false => self.row(at, LifecycleKind::RunDone, format!("run {shown} ended")),
            }
            return;
        }
        let attempt = metadata.attempt();
        match (same, attempt) {
            (true, again) if again <= self.attempt => return,
            (false, 1) => self.row(at, LifecycleKind::RunStart, format!("run {shown} started")),
            (_, again) => self.row(at, LifecycleKind::Attempt, format!("run {shown}, attempt {again}")),
        }
        (self.attempt, self.asks) = (attempt, false);
    }

    /// Applies a list of interrupts. Returns false if it is empty.
    fn interrupts(&mut self, list: &RawValue, at: Option<Timestamp>) -> bool {
        let list = Items::of(list);
        for raw in &list {
            if let Some(interrupt) = Interrupt::read(raw) {
                self.interrupt(&interrupt, at);
            }
        }
        !list.is_empty()
    }

    /// Updates, states and tasks all tell of the same interrupt.
    fn interrupt(&mut self, interrupt: &Interrupt<'_>, at: Option<Timestamp>) {
        let value = interrupt.value.map_or("", RawValue::get);
        let key = interrupt.id.some().unwrap_or(value);
        self.asks = true;
        if self.asked.len() >= MAX_INTERRUPTS {
            self.asked.clear();
        }
        if self.asked.insert(fingerprint(&[key])) {
            self.row(at, LifecycleKind::Interrupt, summary(value, SUMMARY));
        }
    }

    fn task(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(task) = payload.task() else { return };
        let mut name = payload.ns.iter().map(|s| s.split(':').next().unwrap_or_default()).collect::<Vec<_>>().join("/");
        if !name.is_empty() {
            name.push('/');
        }
        name.push_str(task.name.as_str());
        let asks = task.interrupts.is_some_and(|interrupts| self.interrupts(interrupts, at));
        match task.error.filter(|e| e.get() != "null") {
            Some(error) => self.row(at, LifecycleKind::Error, format!("{name}: {}", error_text(error.get()))),
            None if task.triggers.is_some() && task.result.is_none() => self.row(at, LifecycleKind::TaskStart, name),
            None if asks => self.row(at, LifecycleKind::TaskInterrupted, name),
            None => self.row(at, LifecycleKind::TaskDone, name),
        }
    }

    fn phase(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(phase) = payload.phase() else { return };
        let name = payload.ns.join("/");
        let kind = match (phase.event.as_str(), payload.is_root()) {
            ("running" | "started", true) => LifecycleKind::RunStart,
            ("running" | "started", false) => LifecycleKind::TaskStart,
            ("failed", _) => LifecycleKind::Error,
            ("interrupted", _) => LifecycleKind::Interrupt,
            (_, true) => LifecycleKind::RunDone,
            (_, false) => LifecycleKind::TaskDone,
        };
        let what = phase.event.as_str();
        let error = phase.error.map(|e| format!(": {}", error_text(e.get()))).unwrap_or_default();
        let of = if name.is_empty() { String::new() } else { format!("{name} ") };
        self.row(at, kind, format!("{of}{what}{error}"));
    }
}
