//! The status of the thread and of its runs: the newest snapshot, updated by the stream until the next one.
//!
//! A stream alone isn't enough: it never says how a run ended, errors are not replayed, and a replay may be a day old.
//! The server's records are complete, but outdated as soon as they arrive. So a snapshot sets the status, events update
//! it, and the end of a run always triggers another snapshot.

mod live;
mod runs;
#[cfg(test)]
mod tests;

pub use runs::{RunEntry, RunOutcome};

use super::message::Message;
use crate::protocol::Payload;
use crate::{HistoryEntry, Item, Outcome, Record, Seq, SnapshotFields, SnapshotPart};
use jiff::Timestamp;
use live::{Change, Live};
use runtail_core::model::{RunFacts, StateFacts, ThreadFacts, ThreadRecords, ThreadStatus};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;

/// Runs of which more than their number is kept.
const MAX_RUNS: usize = 1_000;

/// The status of a thread and its runs.
#[derive(Debug, Clone, Default)]
pub struct Status {
    status: ThreadStatus,
    thread: Option<ThreadFacts>,
    state: Option<StateFacts>,
    /// Newest first.
    records: Option<Vec<RunFacts>>,
    /// Newest first, without values.
    history: Vec<Checkpoint>,
    missing: Vec<(SnapshotPart, Option<String>)>,
    loaded: Option<Loaded>,
    /// Whether a snapshot is on its way.
    is_awaited: bool,
    /// Whether the stream is read from a file: no server can be asked for what it doesn't say.
    is_recorded: bool,
    live: Live,
    /// Oldest first.
    runs: Vec<RunEntry>,
    /// Counts changes of anything above.
    revision: u64,
}

/// When messages were written, and by which run, by their ids.
pub(super) type Origins = HashMap<Arc<str>, (Option<Timestamp>, Option<Arc<str>>)>;

/// When the steps of runs were saved, by the history.
#[derive(Debug, Default)]
pub(super) struct StepTimes {
    /// By run and number of the step.
    pub steps: HashMap<(Arc<str>, i64), Timestamp>,
    /// The inputs of runs.
    pub inputs: HashMap<Arc<str>, Timestamp>,
}

/// The newest snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    /// When it was loaded.
    pub at: Timestamp,
    /// Its position in the log.
    pub seq: Seq,
}

/// A checkpoint of the thread's history.
#[derive(Debug, Clone, Default)]
pub struct Checkpoint {
    /// What it says, without values.
    pub facts: StateFacts,
    /// Ids of the messages that it added, if known.
    new_messages: Option<Vec<Option<Arc<str>>>>,
}

impl Status {
    /// Returns the thread's status.
    pub fn status(&self) -> &ThreadStatus {
        &self.status
    }

    /// Returns the thread's runs, oldest first.
    pub fn runs(&self) -> &[RunEntry] {
        &self.runs
    }

    /// Returns the run with this id.
    pub fn run(&self, id: &str) -> Option<&RunEntry> {
        self.runs.iter().rev().find(|run| run.run_id.as_deref() == Some(id))
    }

    /// Returns the run without an id that an event belongs to.
    pub fn unnamed_run(&self, seq: Seq) -> Option<&RunEntry> {
        let covers = |run: &&RunEntry| {
            run.first_seq.is_some_and(|first| first <= seq) && run.end_seq.is_none_or(|end| seq <= end)
        };
        self.runs.iter().rev().filter(|run| run.run_id.is_none()).find(covers)
    }

    /// Returns whether the server will still be asked how a run ended: the newest snapshot is older than its end.
    pub fn awaits_outcome(&self, run: &RunEntry) -> bool {
        !self.is_recorded
            && !self.is_stream_only()
            && match self.loaded {
                Some(loaded) => run.end_seq.is_some_and(|end| end > loaded.seq),
                None => self.is_awaited,
            }
    }

    /// Returns the newest snapshot; none until the first is loaded.
    pub fn loaded(&self) -> Option<Loaded> {
        self.loaded
    }

    /// Returns the parts of the newest snapshot that could not be loaded, each with the reason; none where the server has
    /// no such call.
    pub fn missing(&self) -> &[(SnapshotPart, Option<String>)] {
        &self.missing
    }

    /// Returns the thread's own record.
    pub fn thread(&self) -> Option<&ThreadFacts> {
        self.thread.as_ref()
    }

    /// Returns the thread's state without its values.
    pub fn state(&self) -> Option<&StateFacts> {
        self.state.as_ref()
    }

    /// Returns all records of the newest snapshot.
    pub fn thread_records(&self) -> ThreadRecords<'_> {
        ThreadRecords { thread: self.thread.as_ref(), state: self.state.as_ref(), runs: self.records.as_deref() }
    }

    /// Returns the run's record.
    pub fn record(&self, run_id: &str) -> Option<&RunFacts> {
        self.records.as_ref()?.iter().find(|run| run.run_id == run_id)
    }

    /// Returns the checkpoints of a run, oldest first, as far as the history was loaded.
    pub fn checkpoints<'a>(&'a self, run_id: &'a str) -> impl Iterator<Item = &'a Checkpoint> {
        self.history.iter().rev().filter(move |one| one.facts.run_id.as_deref() == Some(run_id))
    }

    /// Grows with each change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns when a message was written and by which run, by the history. Each is known if its checkpoint was loaded.
    pub(super) fn origins(&self) -> Origins {
        let mut origins = HashMap::new();
        // Newest first, so that the oldest checkpoint with a message wins.
        for checkpoint in &self.history {
            let run: Option<Arc<str>> = checkpoint.facts.run_id.as_deref().map(Into::into);
            for id in checkpoint.new_messages.iter().flatten().flatten() {
                origins.insert(id.clone(), (checkpoint.facts.created_at, run.clone()));
            }
        }
        origins
    }

    /// Returns when the steps of runs were saved, as far as the history was loaded.
    pub(super) fn step_times(&self) -> StepTimes {
        let mut times = StepTimes::default();
        for Checkpoint { facts, .. } in &self.history {
            let Some((run, at)) = facts.run_id.as_deref().zip(facts.created_at) else { continue };
            let run: Arc<str> = run.into();
            if facts.source == "input" {
                times.inputs.insert(run, at);
            } else if let Some(step) = facts.step {
                times.steps.insert((run, step), at);
            }
        }
        times
    }

    /// Sets the most bytes that the runs of the stream may take.
    pub(super) fn limit(&mut self, max_bytes: usize) {
        self.live.limit(max_bytes);
    }

    /// Returns the bytes that the runs of the stream take.
    pub(super) fn bytes(&self) -> usize {
        self.live.bytes()
    }

    /// Notes that a snapshot is on its way: until it is here, a replay says nothing of the status.
    pub fn await_snapshot(&mut self) {
        self.is_awaited = true;
    }

    /// Notes that the stream is a recording.
    pub fn read_recording(&mut self) {
        self.is_recorded = true;
    }

    /// Applies a snapshot. Missing parts keep their previous values.
    pub(super) fn apply_snapshot(&mut self, seq: Seq, at: Timestamp, fields: &SnapshotFields<'_>) {
        let text = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_string());
        let thread = text(fields.thread).and_then(|json| ThreadFacts::read(&json).ok());
        let state = text(fields.state).and_then(|json| StateFacts::read(&json).ok());
        let records = text(fields.runs).and_then(|json| RunFacts::read_all(&json).ok());
        let history = fields.history.map(checkpoints);
        for (part, loaded) in [
            (SnapshotPart::Thread, thread.is_some()),
            (SnapshotPart::State, state.is_some()),
            (SnapshotPart::Runs, records.is_some()),
            (SnapshotPart::History, history.is_some()),
        ] {
            if loaded {
                self.missing.retain(|(missing, _)| *missing != part);
            }
        }
        for (part, why) in fields.missing() {
            self.missing.retain(|(missing, _)| *missing != part);
            self.missing.push((part, why));
        }
        self.thread = thread.or(self.thread.take());
        self.state = state.or(self.state.take());
        self.records = records.or(self.records.take());
        self.history = history.unwrap_or(std::mem::take(&mut self.history));
        (self.loaded, self.is_awaited) = (Some(Loaded { at, seq }), false);
        self.live.settle(self.records.as_deref(), self.thread.is_some() || self.state.is_some());
        self.refresh_status();
        self.runs = runs::entries(self);
        self.time_status();
    }

    pub(super) fn apply_event(&mut self, payload: &Payload<'_>) {
        let known_over = |id: &str| {
            self.records.as_ref().is_some_and(|runs| runs.iter().any(|run| run.run_id == id && !run.is_active()))
        };
        let change = self.live.apply(payload, known_over);
        self.note(change);
    }

    pub(super) fn apply_item(&mut self, item: &Item) {
        let change = match item {
            Item::Started { run_id, .. } => self.live.started(run_id),
            Item::Record(Record::End(end)) if end.outcome != Outcome::Detached => self.live.ended(end),
            _ => Change::Nothing,
        };
        self.note(change);
    }

    fn note(&mut self, change: Change) {
        if change > Change::Nothing {
            self.refresh_status();
        }
        if change == Change::Run {
            self.runs = runs::entries(self);
        }
        if change > Change::Nothing {
            self.time_status();
        }
    }

    /// Makes the status tell the same start of the newest run as the list of runs: the records tell only when it was requested.
    fn time_status(&mut self) {
        match &mut self.status {
            ThreadStatus::Idle { began, .. } => {
                if let Some(run) = self.runs.last().filter(|run| run.is_recorded) {
                    *began = run.began;
                }
            }
            ThreadStatus::Running { since, run_id: Some(id), .. } => {
                let run = self.runs.iter().rev().find(|run| run.run_id.as_deref() == Some(id.as_str()));
                *since = run.and_then(|run| run.began).or(*since);
            }
            _ => {}
        }
    }

    /// Returns whether the server offers neither the thread's record nor its state: then the stream is all there is.
    fn is_stream_only(&self) -> bool {
        let not_offered = |part| self.missing.iter().any(|(missing, why)| *missing == part && why.is_none());
        self.thread.is_none()
            && self.state.is_none()
            && match self.loaded {
                Some(_) => not_offered(SnapshotPart::Thread) && not_offered(SnapshotPart::State),
                None => !self.is_awaited && !self.is_recorded,
            }
    }

    /// Returns whether the server had no such thread when it was last asked.
    fn is_deleted(&self) -> bool {
        let not_found = |why: &str| why.starts_with("404");
        self.missing.iter().any(|(part, why)| *part == SnapshotPart::Thread && why.as_deref().is_some_and(not_found))
    }

    fn refresh_status(&mut self) {
        self.revision += 1;
        let of_records = match self.loaded {
            Some(_) if self.is_deleted() => ThreadStatus::Deleted,
            Some(_) => ThreadStatus::derive(self.thread_records()),
            None => ThreadStatus::Loading,
        };
        let why = || {
            let failed = self.missing.iter().filter_map(|(part, why)| Some((part, why.as_deref()?)));
            failed.map(|(part, why)| format!("{} ({why})", part.word())).next()
        };
        let of_records = match of_records {
            ThreadStatus::Unknown { why: known } if known.is_empty() => {
                ThreadStatus::Unknown { why: why().map(|part| format!("couldn't load the {part}")).unwrap_or_default() }
            }
            other => other,
        };
        let is_stream_only = self.is_stream_only();
        self.status = self.live.status(is_stream_only, self.is_recorded, of_records);
    }

    /// Adds up the tokens of each run's messages, where the messages say which run wrote them.
    pub fn usage_of<'m>(run_id: &str, messages: impl Iterator<Item = &'m Message>) -> Option<super::usage::Usage> {
        let mut sum = super::usage::Usage::default();
        let mut any = false;
        for usage in messages.filter(|m| m.run_id.as_deref() == Some(run_id)).filter_map(|m| m.usage) {
            sum.add(usage);
            any = true;
        }
        any.then_some(sum)
    }
}

/// Returns the entries of a history, newest first.
fn checkpoints(raw: &RawValue) -> Vec<Checkpoint> {
    let entries: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    let read = |raw: &&RawValue| {
        let facts = StateFacts::read(raw.get()).ok()?;
        let entry: HistoryEntry<'_> = serde_json::from_str(raw.get()).ok()?;
        let new = |ids: Vec<Option<std::borrow::Cow<'_, str>>>| {
            ids.into_iter().map(|id| id.map(|id| Arc::from(&*id))).collect::<Vec<Option<Arc<str>>>>()
        };
        Some(Checkpoint { facts, new_messages: entry.new_messages.map(new) })
    };
    entries.iter().filter_map(read).take(MAX_RUNS).collect()
}
