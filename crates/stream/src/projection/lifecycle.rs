//! The lifecycle of runs, tasks and connections, in chronological order.

use super::node_path::name_of;
use super::rows::{Rows, Weigh, len, namespace_weight};
use super::summary::summary;
use crate::log::record::precedes_stream;
use crate::protocol::{Interrupt, Payload};
use crate::source::id_key::is_start;
use crate::{Interner, Item, Namespace, Record, RunRecord, Seq, error_text, hash_of};
use jiff::Timestamp;
use runtail_core::json::Peek;
use runtail_core::text::{self, short_id};
use std::collections::HashSet;
use std::sync::Arc;

const MAX_INTERRUPTS: usize = 4096;
const MAX_SUMMARY: usize = 120;

/// The kind of a lifecycle row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LifecycleKind {
    /// A run started.
    RunStart,
    /// A run ended; its outcome is not reported.
    RunDone,
    /// A run ended at an interrupt.
    RunInterrupted,
    /// The server retried a run.
    Attempt,
    /// A node's task started.
    TaskStart,
    /// A node's task finished.
    TaskDone,
    /// A node's task stopped at an interrupt.
    TaskInterrupted,
    /// The graph was interrupted.
    Interrupt,
    /// A run, a task or the source itself failed.
    Error,
    /// A connection was opened or closed.
    Connection,
    /// Waiting to reconnect.
    Retry,
    /// Events may be missing.
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
    pub kind: LifecycleKind,
    pub text: String,
    /// The run that it belongs to.
    pub run_id: Option<Arc<str>>,
    /// The namespace of the graph that it belongs to.
    pub ns: Namespace,
}

impl Weigh for LifecycleRow {
    const MAX_ROWS: usize = 50_000;

    fn weight(&self) -> usize {
        let texts = self.text.capacity() + len(&self.run_id);
        size_of::<LifecycleRow>() + texts + namespace_weight(&self.ns)
    }
}

/// The lifecycle rows of an event log.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    pub(super) rows: Rows<LifecycleRow>,
    seq: Seq,
    run: Option<Arc<str>>,
    attempt: u64,
    /// Fingerprints of the reported interrupts. Not their values, because a value may have 50 MB.
    reported: HashSet<u64>,
    /// Whether the run was interrupted.
    is_interrupted: bool,
    ns: Namespace,
    names: Interner,
    /// Whether the last connection was closed to change the modes.
    modes_changed: bool,
}

impl Lifecycle {
    /// Returns the rows, oldest first.
    pub fn rows(&self) -> &Rows<LifecycleRow> {
        &self.rows
    }

    /// Returns the current run, or the last one.
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
            "error" => self.row(
                at,
                LifecycleKind::Error,
                error_text(payload.json.unwrap_or(payload.event.data.text())),
            ),
            "updates" | "values" => {
                if let Some(raw) = payload.named_interrupts() {
                    if raw.text() == "[]" && payload.name == "updates" {
                        self.row(
                            at,
                            LifecycleKind::Interrupt,
                            "stopped at a breakpoint before or after a node".into(),
                        );
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
            Item::Record(Record::Open {
                at,
                conn,
                status,
                resumed_after,
            }) => {
                let from = match resumed_after.as_deref() {
                    Some(id) if is_start(id) => " replay requested".to_string(),
                    Some(id) => format!(" after {id}"),
                    None => String::new(),
                };
                let text = match std::mem::take(&mut self.modes_changed) {
                    true => format!("modes changed: reopened{from} (connection {conn}, {status})"),
                    false if from.is_empty() => format!("connection {conn} open ({status})"),
                    false => format!("connection {conn} open ({status}),{from}"),
                };
                self.row(Some(*at), Connection, text);
            }
            Item::Record(Record::Close { at, conn, reason }) => {
                self.modes_changed = reason == "modes";
                self.row(
                    Some(*at),
                    Connection,
                    format!("connection {conn} closed: {reason}"),
                );
            }
            Item::Record(Record::Gap { at, why }) => {
                let kind = if precedes_stream(why) {
                    Connection
                } else {
                    Gap
                };
                self.row(Some(*at), kind, why.clone());
            }
            Item::Record(Record::End(end)) => {
                let text = match &end.detail {
                    Some(detail) => format!("{}: {detail}", end.outcome.as_str()),
                    None => end.outcome.as_str().to_string(),
                };
                self.row(Some(end.at), End, text);
            }
            Item::Retrying {
                at,
                attempt,
                wait,
                why,
                request,
            } => {
                let place = if request.is_empty() {
                    String::new()
                } else {
                    format!(" · {request}")
                };
                self.row(
                    Some(*at),
                    Retry,
                    format!(
                        "{why}; reconnecting {} (attempt {attempt}){place}",
                        text::soon(*wait)
                    ),
                );
            }
            Item::Failed(error) => {
                let at = self.rows.last().and_then(|row| row.at);
                self.row(at, Error, error.to_string());
            }
            Item::Started { run_id, .. } if self.run.is_none() => {
                self.run = Some(self.names.get(run_id));
            }
            Item::Record(Record::Run(run)) => self.run_record(run),
            _ => {}
        }
    }

    fn row(&mut self, at: Option<Timestamp>, kind: LifecycleKind, text: String) {
        self.is_interrupted |= kind == LifecycleKind::Interrupt;
        self.rows.push(LifecycleRow {
            seq: self.seq,
            at,
            kind,
            text,
            run_id: self.run.clone(),
            ns: self.ns.clone(),
        });
    }

    /// Adds the end of a run from its record, because the events of runs that are followed this way don't report it.
    fn run_record(&mut self, run: &RunRecord) {
        let is_over = !matches!(
            run.status.as_str(),
            "pending" | "queued" | "running" | "streaming"
        );
        if !is_over
            || self.attempt == 0
            || self.run.as_deref() != Some(&*self.names.get(&run.run_id))
        {
            return;
        }
        self.run_ended(&run.run_id, run.ended_at);
    }

    fn run_ended(&mut self, id: &str, at: Option<Timestamp>) {
        self.attempt = 0;
        let (kind, how) = match std::mem::take(&mut self.is_interrupted) {
            true => (LifecycleKind::RunInterrupted, "interrupted"),
            false => (LifecycleKind::RunDone, "ended"),
        };
        self.row(at, kind, format!("run {} {how}", short_id(id)));
    }

    fn metadata(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some((id, metadata)) = payload.run() else {
            return;
        };
        let is_known = self.run.as_deref() == Some(id) && self.attempt > 0;
        let shown = short_id(id);
        self.run = Some(self.names.get(id));
        if metadata.is_done() {
            return self.run_ended(id, at);
        }
        let attempt = metadata.attempt();
        match (is_known, attempt) {
            (true, attempt) if attempt <= self.attempt => return,
            (false, 1) => self.row(at, LifecycleKind::RunStart, format!("run {shown} started")),
            (_, attempt) => self.row(
                at,
                LifecycleKind::Attempt,
                format!("run {shown}, attempt {attempt}"),
            ),
        }
        (self.attempt, self.is_interrupted) = (attempt, false);
    }

    /// Applies a list of interrupts. Returns false if it is empty.
    fn interrupts(&mut self, list: Peek<'_>, at: Option<Timestamp>) -> bool {
        for interrupt in list.items().filter_map(Peek::read) {
            self.interrupt(&interrupt, at);
        }
        list.items().next().is_some()
    }

    /// Applies an interrupt, which updates, states and tasks may all report.
    fn interrupt(&mut self, interrupt: &Interrupt<'_>, at: Option<Timestamp>) {
        let value = interrupt.value.map_or("", Peek::text);
        let key = interrupt.id.some().unwrap_or(value);
        self.is_interrupted = true;
        if self.reported.len() >= MAX_INTERRUPTS {
            self.reported.clear();
        }
        if self.reported.insert(hash_of(key)) {
            self.row(at, LifecycleKind::Interrupt, summary(value, MAX_SUMMARY));
        }
    }

    fn task(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(task) = payload.task() else { return };
        let outer = payload.ns.iter().map(|segment| name_of(segment));
        let name = outer.chain([task.name.as_str()]).collect::<Vec<_>>();
        let name = name.join("/");
        let is_interrupted = task
            .interrupts
            .is_some_and(|interrupts| self.interrupts(interrupts, at));
        match task.error {
            Some(error) => self.row(
                at,
                LifecycleKind::Error,
                format!("{name}: {}", error_text(error.text())),
            ),
            None if task.is_start() => self.row(at, LifecycleKind::TaskStart, name),
            None if is_interrupted => self.row(at, LifecycleKind::TaskInterrupted, name),
            None => self.row(at, LifecycleKind::TaskDone, name),
        }
    }

    fn phase(&mut self, payload: &Payload<'_>, at: Option<Timestamp>) {
        let Some(phase) = payload.phase() else { return };
        let kind = match (phase.event.as_str(), payload.is_root()) {
            ("running" | "started", true) => LifecycleKind::RunStart,
            ("running" | "started", false) => LifecycleKind::TaskStart,
            ("failed", _) => LifecycleKind::Error,
            ("interrupted", _) => LifecycleKind::Interrupt,
            (_, true) => LifecycleKind::RunDone,
            (_, false) => LifecycleKind::TaskDone,
        };
        let error = phase.error.map(|e| format!(": {}", error_text(e.text())));
        let mut text = payload.ns.join("/");
        if !text.is_empty() {
            text.push(' ');
        }
        text.extend([phase.event.as_str(), &error.unwrap_or_default()]);
        self.row(at, kind, text);
    }
}
