//! The status of the thread and of its runs: the newest snapshot, updated by the stream until the next one.
//!
//! A stream alone isn't enough: it never contains the outcome of a run, errors are not replayed, and a replay may be a
//! day old. The server's records are complete, but outdated as soon as they arrive. So a snapshot sets the status,
//! events update it, and the end of a run always triggers another snapshot.

mod live;
mod runs;
#[cfg(test)]
mod tests;

pub use runs::{RunEntry, RunOutcome};

use super::message::Message;
use crate::protocol::Payload;
use crate::{Item, Outcome, Record, Seq, SnapshotFields, SnapshotPart};
use jiff::Timestamp;
use live::{ASKING, Change, Live};
use runtail_core::json::{Fields, Peek};
use runtail_core::model::{
    self, CheckpointTree, RunFacts, StateFacts, TaskFacts, ThreadFacts, ThreadRecords,
    ThreadStatus, hides_cause,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of runs, and of checkpoints, that are kept.
const MAX_RUNS: usize = 1_000;

/// The status of a thread and its runs.
#[derive(Debug, Clone, Default)]
pub struct Status {
    status: ThreadStatus,
    thread: Option<ThreadFacts>,
    state: Option<StateFacts>,
    /// The records of the runs, newest first.
    records: Option<Vec<RunFacts>>,
    /// The checkpoints, newest first and without values.
    history: Vec<Checkpoint>,
    /// The same as a tree.
    tree: Arc<CheckpointTree>,
    missing: Vec<(SnapshotPart, Option<String>)>,
    loaded: Option<Loaded>,
    /// The checkpoint that the snapshot shows, if it isn't a snapshot of the present.
    as_of: Option<AsOf>,
    /// Whether a snapshot is being loaded.
    is_loading: bool,
    /// Whether the stream is read from a recording, so that there is no server to ask for the outcome of a run.
    is_recorded: bool,
    live: Live,
    /// The runs, oldest first.
    runs: Vec<RunEntry>,
    /// Incremented with each change.
    revision: u64,
}

/// The time and the run of messages, by message id.
pub(super) type Origins = HashMap<Arc<str>, (Option<Timestamp>, Option<Arc<str>>)>;

/// When the checkpoints of runs were saved, by the history.
#[derive(Debug, Default)]
pub(super) struct StepTimes {
    /// The steps, by run and step number.
    pub steps: HashMap<(Arc<str>, i64), Timestamp>,
    /// The inputs, by run.
    pub inputs: HashMap<Arc<str>, Timestamp>,
}

/// The newest snapshot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    /// When it was loaded.
    pub at: Timestamp,
    /// Its position in the event log.
    pub seq: Seq,
    /// The newest snapshots with the history and with the runs. Parts that are slow arrive in snapshots of their own.
    pub history: Option<Seq>,
    pub runs: Option<Seq>,
}

/// The checkpoint that a snapshot shows, in place of the present.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AsOf {
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Its run, if that run wrote checkpoints after it: it was running then.
    pub running: Option<Arc<str>>,
    /// The number of runs that the server listed, later ones included.
    pub listed_runs: usize,
}

/// A checkpoint of the thread's history.
#[derive(Debug, Clone, Default)]
pub struct Checkpoint {
    /// Its contents without values.
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
        self.runs
            .iter()
            .rev()
            .find(|run| run.run_id.as_deref() == Some(id))
    }

    /// Returns the run that a status of this thread is about: the running one, else the newest.
    pub fn run_of(&self, status: &ThreadStatus) -> Option<&RunEntry> {
        let running = match status {
            ThreadStatus::Running {
                run_id: Some(id), ..
            } => self.run(id),
            // Runs that are queued behind it are newer.
            ThreadStatus::Running { run_id: None, .. } => self
                .runs
                .iter()
                .rev()
                .find(|run| run.outcome == RunOutcome::Running),
            _ => None,
        };
        running.or(self.runs.last())
    }

    /// Returns the run without an id that an event belongs to.
    pub fn unnamed_run(&self, seq: Seq) -> Option<&RunEntry> {
        let covers = |run: &&RunEntry| {
            run.first_seq.is_some_and(|first| first <= seq)
                && run.end_seq.is_none_or(|end| seq <= end)
        };
        self.runs
            .iter()
            .rev()
            .filter(|run| run.run_id.is_none())
            .find(covers)
    }

    /// Returns whether the outcome of a run will still be loaded, because the newest snapshot is older than the run's
    /// end.
    pub fn awaits_outcome(&self, run: &RunEntry) -> bool {
        self.awaits_records(run.end_seq)
    }

    fn awaits_records(&self, end_seq: Option<Seq>) -> bool {
        !self.is_recorded
            && !self.is_stream_only()
            && match self.loaded {
                Some(loaded) => end_seq.is_some_and(|end| end > loaded.seq),
                None => self.is_loading,
            }
    }

    /// Returns the checkpoint that is shown in place of the present.
    pub fn as_of(&self) -> Option<&AsOf> {
        self.as_of.as_ref()
    }

    /// Returns the newest snapshot; `None` until the first one is loaded.
    pub fn loaded(&self) -> Option<Loaded> {
        self.loaded
    }

    /// Returns the parts of the newest snapshot that could not be loaded, each with the reason; `None` if the server
    /// doesn't offer that part.
    pub fn missing(&self) -> &[(SnapshotPart, Option<String>)] {
        &self.missing
    }

    /// Returns the thread's record.
    pub fn thread(&self) -> Option<&ThreadFacts> {
        self.thread.as_ref()
    }

    /// Returns the thread's state without its values.
    pub fn state(&self) -> Option<&StateFacts> {
        self.state.as_ref()
    }

    /// Returns all records of the thread.
    pub fn thread_records(&self) -> ThreadRecords<'_> {
        ThreadRecords {
            thread: self.thread.as_ref(),
            state: self.state.as_ref(),
            runs: self.records.as_deref(),
        }
    }

    /// Returns the record of a run.
    pub fn record(&self, run_id: &str) -> Option<&RunFacts> {
        self.records
            .as_ref()?
            .iter()
            .find(|run| run.run_id == run_id)
    }

    /// Returns the checkpoints of the newest snapshot as a tree.
    pub fn tree(&self) -> &Arc<CheckpointTree> {
        &self.tree
    }

    /// Returns the checkpoints of a run, oldest first, as far as the history was loaded.
    pub fn checkpoints<'a>(&'a self, run_id: &'a str) -> impl Iterator<Item = &'a Checkpoint> {
        self.history
            .iter()
            .rev()
            .filter(move |checkpoint| checkpoint.facts.run_id.as_deref() == Some(run_id))
    }

    /// Returns the checkpoint at which a run continued, if another run or an edit wrote it, and the tasks there that the run executed.
    pub fn resumed(&self, run_id: &str) -> Option<(&StateFacts, Vec<&TaskFacts>)> {
        let first = &self.checkpoints(run_id).next()?.facts;
        // A new input or a fork has a checkpoint of its own.
        let parent = first
            .parent_id
            .as_deref()
            .filter(|_| first.source == "loop")?;
        let is_parent = |known: &&Checkpoint| known.facts.checkpoint_id.as_deref() == Some(parent);
        let facts = &self.history.iter().find(is_parent)?.facts;
        let before = facts
            .run_id
            .as_deref()
            .filter(|id| *id != run_id)
            .and_then(|id| self.run(id));
        // After a question or a failure, the tasks that were done are not executed again.
        let keeps_results = before.is_some_and(|run| {
            matches!(
                run.outcome,
                RunOutcome::WaitingForInput | RunOutcome::Failed | RunOutcome::TimedOut
            )
        });
        let is_open = |task: &&TaskFacts| {
            !keeps_results || !task.questions.is_empty() || task.error.is_some()
        };
        let open: Vec<&TaskFacts> = facts.tasks.iter().filter(is_open).collect();
        let tasks = if open.is_empty() {
            facts.tasks.iter().collect()
        } else {
            open
        };
        Some((facts, tasks))
    }

    /// Returns a counter that is incremented with each change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the time and the run of messages, as far as the history was loaded.
    pub(super) fn origins(&self) -> Origins {
        let mut origins = HashMap::new();
        // Newest first, so that the oldest checkpoint with a message wins.
        for checkpoint in self.branch() {
            let run: Option<Arc<str>> = checkpoint.facts.run_id.as_deref().map(Into::into);
            for id in checkpoint.new_messages.iter().flatten().flatten() {
                origins.insert(id.clone(), (checkpoint.facts.created_at, run.clone()));
            }
        }
        origins
    }

    /// Returns the checkpoints that led to the state, newest first. Other branches can have the same messages from other runs.
    fn branch(&self) -> impl Iterator<Item = &Checkpoint> {
        let mut wanted = self
            .state
            .as_ref()
            .and_then(|state| state.checkpoint_id.as_deref());
        let is_state =
            |known: &Checkpoint| wanted.is_some() && known.facts.checkpoint_id.as_deref() == wanted;
        let is_known = self.history.iter().any(is_state);
        // Parents are older.
        self.history.iter().filter(move |known| {
            let is_in = !is_known || known.facts.checkpoint_id.as_deref() == wanted;
            if is_in && is_known {
                wanted = known.facts.parent_id.as_deref();
            }
            is_in
        })
    }

    /// Returns when the checkpoints of runs were saved, as far as the history was loaded.
    pub(super) fn step_times(&self) -> StepTimes {
        let mut times = StepTimes::default();
        for Checkpoint { facts, .. } in &self.history {
            let Some((run, at)) = facts.run_id.as_deref().zip(facts.created_at) else {
                continue;
            };
            let run: Arc<str> = run.into();
            if facts.source == "input" {
                times.inputs.insert(run, at);
            } else if let Some(step) = facts.step {
                times.steps.insert((run, step), at);
            }
        }
        times
    }

    /// Sets the maximum memory size of the stream's runs in bytes.
    pub(super) fn limit(&mut self, max_bytes: usize) {
        self.live.before.limit(max_bytes);
    }

    /// Returns the memory size of the stream's runs in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.live.before.bytes()
    }

    /// Announces a snapshot. Until it is loaded, replayed events don't change the status.
    pub fn await_snapshot(&mut self) {
        self.is_loading = true;
    }

    /// Marks the stream as a recording.
    pub fn read_recording(&mut self) {
        self.is_recorded = true;
    }

    /// Announces that the next snapshot shows a checkpoint. The status of the thread at that time is not known.
    pub fn show_as_of(&mut self, as_of: AsOf) {
        self.as_of = Some(as_of);
    }

    /// Applies a snapshot. Missing parts keep their previous values.
    pub(super) fn apply_snapshot<'a>(
        &mut self,
        seq: Seq,
        at: Timestamp,
        fields: &SnapshotFields<'a>,
    ) {
        let text = |part: Option<Peek<'a>>| part.map(Peek::text);
        let thread = text(fields.thread).and_then(|json| ThreadFacts::read(json).ok());
        let state = text(fields.state).and_then(|json| StateFacts::read(json).ok());
        let records = text(fields.runs).and_then(|json| RunFacts::read_all(json).ok());
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
        self.prepare_shown_checkpoint();
        if fields.history.is_some() || self.as_of.is_some() {
            self.tree = self.checkpoint_tree(fields);
        }
        let known = self.loaded;
        self.loaded = Some(Loaded {
            at,
            seq,
            history: fields
                .history
                .map(|_| seq)
                .or(known.and_then(|known| known.history)),
            runs: fields
                .runs
                .map(|_| seq)
                .or(known.and_then(|known| known.runs)),
        });
        self.is_loading = false;
        self.live.apply_snapshot(
            self.records.as_deref(),
            self.thread.is_some() || self.state.is_some(),
        );
        self.refresh_status();
        self.runs = runs::entries(self);
        self.time_status();
    }

    /// Adds the shown checkpoint to the history if that has only others, and removes what its run did later: the server adds the
    /// results of the step after a checkpoint to it.
    fn prepare_shown_checkpoint(&mut self) {
        let (Some(facts), Some(as_of)) = (&self.state, &self.as_of) else {
            return;
        };
        let is_shown = |known: &Checkpoint| known.facts.checkpoint_id == facts.checkpoint_id;
        let at = self.history.iter().position(is_shown).unwrap_or_else(|| {
            self.history.insert(
                0,
                Checkpoint {
                    facts: facts.clone(),
                    new_messages: None,
                },
            );
            0
        });
        if as_of.running.is_some() {
            self.history[at].facts.tasks.clear();
        }
    }

    /// Returns the history of a snapshot as a tree, with the shown checkpoint.
    fn checkpoint_tree(&self, fields: &SnapshotFields<'_>) -> Arc<CheckpointTree> {
        let history = fields.history.map_or("[]", Peek::text);
        let mut all = model::Checkpoint::read_all(history);
        let shown = fields.state.filter(|_| self.as_of.is_some());
        if let Some(mut shown) = shown.and_then(|json| model::Checkpoint::read(json.text())) {
            if self
                .as_of
                .as_ref()
                .is_some_and(|as_of| as_of.running.is_some())
            {
                shown.tasks.clear();
            }
            all.push(shown);
        }
        Arc::new(CheckpointTree::new(all.into_iter().map(Arc::new)))
    }

    /// Returns what a run did when the shown checkpoint was written, if its record has what it did later.
    fn outcome_then(&self, record: &RunFacts) -> Option<RunOutcome> {
        let as_of = self.as_of.as_ref()?;
        if as_of.running.as_deref() == Some(&*record.run_id) {
            return Some(RunOutcome::Running);
        }
        let had_begun = self
            .history
            .iter()
            .any(|known| known.facts.run_id.as_deref() == Some(&*record.run_id));
        let is_later = record
            .updated_at
            .zip(as_of.at)
            .is_some_and(|(changed, at)| changed > at);
        (is_later && !had_begun).then_some(RunOutcome::Queued)
    }

    pub(super) fn apply_event(&mut self, payload: &Payload<'_>) {
        let is_known_over = |id: &str| {
            self.records
                .as_ref()
                .is_some_and(|runs| runs.iter().any(|run| run.run_id == id && !run.is_active()))
        };
        let change = self.live.apply(payload, is_known_over);
        self.update(change);
    }

    pub(super) fn apply_item(&mut self, item: &Item) {
        let change = match item {
            Item::Started { run_id, .. } => self.live.started(run_id),
            Item::Record(Record::End(end)) if end.outcome != Outcome::Detached => {
                self.live.ended(end)
            }
            Item::Record(Record::Run(run)) => self.live.run_ended(run),
            _ => Change::Nothing,
        };
        self.update(change);
    }

    /// Updates what a change affects.
    fn update(&mut self, change: Change) {
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

    /// Sets the start of the newest run as in the list of runs, because its record only has the time of the request.
    fn time_status(&mut self) {
        match &mut self.status {
            ThreadStatus::Idle { began, .. } => {
                if let Some(run) = self.runs.last().filter(|run| run.is_recorded) {
                    *began = run.began;
                }
            }
            ThreadStatus::Running {
                since,
                run_id: Some(id),
                ..
            } => {
                let run = self
                    .runs
                    .iter()
                    .rev()
                    .find(|run| run.run_id.as_deref() == Some(id.as_str()));
                *since = run.and_then(|run| run.began).or(*since);
            }
            _ => {}
        }
    }

    /// Returns whether the stream is the only source, because the server offers neither the thread's record nor its
    /// state.
    fn is_stream_only(&self) -> bool {
        let not_offered = |part| {
            self.missing
                .iter()
                .any(|(missing, why)| *missing == part && why.is_none())
        };
        self.thread.is_none()
            && self.state.is_none()
            && match self.loaded {
                Some(_) => not_offered(SnapshotPart::Thread) && not_offered(SnapshotPart::State),
                None => !self.is_loading && !self.is_recorded,
            }
    }

    /// Returns whether the server no longer had the thread when it was last loaded.
    fn is_deleted(&self) -> bool {
        let not_found = |why: &str| why.starts_with("404");
        self.missing.iter().any(|(part, why)| {
            *part == SnapshotPart::Thread && why.as_deref().is_some_and(not_found)
        })
    }

    fn refresh_status(&mut self) {
        self.revision += 1;
        let from_records = match self.loaded {
            Some(_) if self.as_of.is_some() => ThreadStatus::Unknown { why: String::new() },
            Some(_) if self.is_deleted() => ThreadStatus::Deleted,
            Some(_) => ThreadStatus::derive(self.thread_records()),
            None => ThreadStatus::Loading,
        };
        let mut missing = self.missing.iter();
        let failed = missing.find_map(|(part, why)| {
            let (part, why) = (part.word(), why.as_deref()?);
            Some(format!("couldn't load the {part} ({why})"))
        });
        let from_records = match from_records {
            ThreadStatus::Unknown { why } if why.is_empty() => ThreadStatus::Unknown {
                why: failed.unwrap_or_default(),
            },
            other => other,
        };
        let is_stream_only = self.is_stream_only();
        self.status = self
            .live
            .status(is_stream_only, self.is_recorded, from_records);
        // The records, which are being loaded, have the cause.
        if let ThreadStatus::Failed { error, .. } = &self.status
            && hides_cause(error)
            && self
                .live
                .ends_status()
                .is_some_and(|end| self.awaits_records(Some(end)))
        {
            self.status = ThreadStatus::Unknown { why: ASKING.into() };
        }
    }

    /// Returns the token usage of a run: the sum of the messages that are known to belong to it.
    pub fn usage_of<'m>(
        run_id: &str,
        messages: impl Iterator<Item = &'m Message>,
    ) -> Option<super::usage::Usage> {
        let of_run = messages.filter(|m| m.run_id.as_deref() == Some(run_id));
        of_run.filter_map(|m| m.usage).reduce(|mut sum, usage| {
            sum.add(usage);
            sum
        })
    }
}

/// Returns the entries of a history, newest first.
fn checkpoints(history: Peek<'_>) -> Vec<Checkpoint> {
    let read = |entry: Fields<'_>| {
        let new = entry.read_as::<Vec<Option<String>>>("new_messages");
        let new = new.map(|ids| ids.into_iter().map(|id| id.map(Arc::from)).collect());
        Checkpoint {
            facts: StateFacts::of(&entry),
            new_messages: new,
        }
    };
    let entries = history.items().filter_map(Peek::object);
    entries.map(read).take(MAX_RUNS).collect()
}
