//! A saved checkpoint in all views. The views show a log of one snapshot: the state at the checkpoint, with the part of the
//! history that led to it. The live log continues meanwhile.

use super::{VIEWS, Viewer};
use jiff::Timestamp;
use runtail_stream::projection::Projections;
use runtail_stream::{Event, EventLog, Item, Record, Seq, SnapshotFields};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeSet, HashSet};

/// A checkpoint that the views show.
#[derive(Debug)]
pub struct ShownCheckpoint {
    /// The name of the checkpoint: its step.
    pub name: String,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// The live log while the views show the checkpoint.
    live: OtherLog,
}

/// A log that the views don't show.
#[derive(Debug, Default)]
struct OtherLog {
    event_log: EventLog,
    projections: Projections,
    past: super::Past,
    marks: BTreeSet<Seq>,
    marked_state: (Option<u64>, Option<Seq>),
}

/// The part of a history that led to a checkpoint.
#[derive(Debug, Default)]
pub struct Branch {
    /// The ids of the checkpoint and of those before it.
    pub checkpoints: HashSet<String>,
    /// The ids of the runs that wrote them.
    pub runs: HashSet<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Listed {
    checkpoint: Option<ListedCheckpoint>,
    checkpoint_id: Option<String>,
    run_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ListedCheckpoint {
    checkpoint_id: Option<String>,
}

impl Listed {
    fn is_in(&self, branch: &Branch) -> bool {
        let nested = self.checkpoint.as_ref().and_then(|checkpoint| checkpoint.checkpoint_id.as_ref());
        match nested.or(self.checkpoint_id.as_ref()) {
            Some(id) => branch.checkpoints.contains(id),
            None => self.run_id.as_ref().is_some_and(|id| branch.runs.contains(id)),
        }
    }
}

/// Returns the entries of a list that belong to a branch.
fn of_branch(list: Option<&RawValue>, branch: &Branch) -> Option<Box<RawValue>> {
    let rows: Vec<&RawValue> = serde_json::from_str(list?.get()).ok()?;
    let belongs = |row: &&&RawValue| serde_json::from_str::<Listed>(row.get()).is_ok_and(|row| row.is_in(branch));
    let kept: Vec<&str> = rows.iter().filter(belongs).map(|row| row.get()).collect();
    RawValue::from_string(format!("[{}]", kept.join(","))).ok()
}

impl Viewer {
    /// Returns the checkpoint that the views show.
    pub fn shown_checkpoint(&self) -> Option<&ShownCheckpoint> {
        self.checkpoint.as_deref()
    }

    /// Returns the log of the stream, also while the views show a checkpoint.
    pub fn live_log(&self) -> &EventLog {
        self.checkpoint.as_ref().map_or(&self.event_log, |checkpoint| &checkpoint.live.event_log)
    }

    pub(crate) fn live_log_mut(&mut self) -> &mut EventLog {
        self.checkpoint.as_mut().map_or(&mut self.event_log, |checkpoint| &mut checkpoint.live.event_log)
    }

    /// Returns the projections of all received events, also during time travel and at a checkpoint.
    pub(crate) fn present(&self) -> &Projections {
        let (past, projections) = match &self.checkpoint {
            Some(checkpoint) => (&checkpoint.live.past, &checkpoint.live.projections),
            None => (&self.past, &self.projections),
        };
        past.present().unwrap_or(projections)
    }

    /// Returns the memory of what is kept besides the shown log, in bytes.
    pub(super) fn other_bytes(&self) -> usize {
        let of = |live: &OtherLog| live.event_log.kept_bytes() + live.projections.weight() + live.past.bytes();
        self.checkpoint.as_ref().map_or(0, |checkpoint| of(&checkpoint.live))
    }

    /// Shows the state at a checkpoint in all views.
    pub fn show_checkpoint(&mut self, name: String, at: Option<Timestamp>, state: &RawValue, branch: &Branch) {
        self.leave_checkpoint();
        self.return_to_present();
        let loaded = self.projections.status.loaded().and_then(|loaded| self.event_log.whole(loaded.seq));
        let loaded = loaded.as_ref().and_then(|event| SnapshotFields::read(event.data.text()));
        let history = loaded.as_ref().and_then(|loaded| of_branch(loaded.history, branch));
        let runs = loaded.as_ref().and_then(|loaded| of_branch(loaded.runs, branch));
        let mut fields = SnapshotFields::default();
        (fields.state, fields.history, fields.runs) = (Some(state), history.as_deref(), runs.as_deref());
        let event = Event { seq: Seq(1), ..fields.into_event(at.unwrap_or(self.now)) };

        let limits = self.event_log.limits();
        let mut live = OtherLog {
            event_log: EventLog::new(limits),
            projections: Projections::new(limits.max_bytes),
            ..OtherLog::default()
        };
        live.projections.apply(&Item::Record(Record::Event(event.clone())));
        live.event_log.push(Record::Event(event));
        live.swap(self);
        self.checkpoint = Some(Box::new(ShownCheckpoint { name, at, live }));
        self.show_other_log();
    }

    /// Returns from a checkpoint to the present. Returns false if no checkpoint is shown.
    pub fn leave_checkpoint(&mut self) -> bool {
        let Some(mut checkpoint) = self.checkpoint.take() else { return false };
        checkpoint.live.swap(self);
        self.show_other_log();
        true
    }

    /// Does something with the live log, whatever the views show.
    pub(super) fn with_live(&mut self, work: impl FnOnce(&mut Viewer)) {
        let mut shown = self.checkpoint.take();
        if let Some(shown) = &mut shown {
            shown.live.swap(self);
        }
        work(self);
        if let Some(shown) = &mut shown {
            shown.live.swap(self);
        }
        self.checkpoint = shown;
    }

    /// Drops what belongs to the log that was shown before.
    fn show_other_log(&mut self) {
        (self.snapshot, self.snapshot_seq) = (None, None);
        self.reset_layout();
        self.synced_cursor = [None; VIEWS.len()];
    }
}

impl OtherLog {
    /// Exchanges the log with the one that the views show.
    fn swap(&mut self, viewer: &mut Viewer) {
        std::mem::swap(&mut self.event_log, &mut viewer.event_log);
        std::mem::swap(&mut self.projections, &mut viewer.projections);
        std::mem::swap(&mut self.past, &mut viewer.past);
        viewer.find.swap_marks(&mut self.marks);
        let mut marked = (viewer.marked_state, viewer.marked_seq);
        std::mem::swap(&mut self.marked_state, &mut marked);
        (viewer.marked_state, viewer.marked_seq) = marked;
    }
}
