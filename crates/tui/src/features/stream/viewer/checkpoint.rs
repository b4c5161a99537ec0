//! A saved checkpoint in all views. The views show a log of one snapshot: the state at the checkpoint, with the history and the
//! runs up to its time. The live log continues meanwhile.

use super::Viewer;
use jiff::Timestamp;
use runtail_core::json::Peek;
use runtail_core::model::{RunFacts, StateFacts};
use runtail_stream::projection::{AsOf, Projections};
use runtail_stream::{Event, EventLog, Item, Record, Seq, SnapshotFields};
use std::collections::BTreeSet;

/// A checkpoint that the views show.
#[derive(Debug)]
pub struct ShownCheckpoint {
    /// What the history said of it when it was opened.
    pub of: OfHistory,
    /// Whether steps follow it.
    pub has_next: bool,
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
    marked_state: Option<(u64, Option<Seq>)>,
}

/// A checkpoint of a history, for the views.
#[derive(Debug, Clone, Default)]
pub struct OfHistory {
    pub id: String,
    /// Its name: its step.
    pub name: String,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// Whether it is the newest one of the thread.
    pub is_head: bool,
    /// The run that wrote it, if that run wrote checkpoints after it.
    pub running: Option<String>,
}

/// Returns the entries of a list that are wanted.
fn retained<'a>(list: Peek<'a>, is_wanted: impl Fn(Peek<'a>) -> bool) -> String {
    let kept = list.items().filter(|row| is_wanted(*row)).map(Peek::text);
    format!("[{}]", kept.collect::<Vec<_>>().join(","))
}

/// Returns the entries of a history up to a checkpoint. Ids sort by time.
fn history_until(id: &str, list: Peek<'_>) -> String {
    retained(list, |row| {
        let nested = row
            .get("checkpoint")
            .and_then(|checkpoint| checkpoint.get("checkpoint_id"));
        let known = nested
            .or_else(|| row.get("checkpoint_id"))
            .and_then(Peek::string);
        known.is_some_and(|known| *known <= *id)
    })
}

fn fields(event: &Option<Event>) -> Option<SnapshotFields<'_>> {
    SnapshotFields::read(event.as_ref()?.data.text())
}

/// Returns the runs that were requested before a checkpoint was written, with the number of all runs in the list.
fn runs_until(of: &OfHistory, own: Option<&str>, list: Peek<'_>) -> (String, usize) {
    let kept = retained(list, |row| {
        let run = RunFacts::read(row.text()).unwrap_or_default();
        Some(&*run.run_id) == own
            || run
                .created_at
                .zip(of.at)
                .is_some_and(|(requested, at)| requested <= at)
    });
    (kept, list.items().count())
}

impl Viewer {
    /// Returns the checkpoint that the views show.
    pub fn shown_checkpoint(&self) -> Option<&ShownCheckpoint> {
        self.checkpoint.as_deref()
    }

    /// Returns the log of the stream, also while the views show a checkpoint.
    pub fn live_log(&self) -> &EventLog {
        self.checkpoint
            .as_ref()
            .map_or(&self.event_log, |checkpoint| &checkpoint.live.event_log)
    }

    /// Returns the same for changing it.
    pub fn live_log_mut(&mut self) -> &mut EventLog {
        self.checkpoint
            .as_mut()
            .map_or(&mut self.event_log, |checkpoint| {
                &mut checkpoint.live.event_log
            })
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
        let of = |live: &OtherLog| {
            live.event_log.kept_bytes() + live.projections.weight() + live.past.bytes()
        };
        self.checkpoint
            .as_ref()
            .map_or(0, |checkpoint| of(&checkpoint.live))
    }

    /// Shows the state at a checkpoint in all views, with what is known of the time before it.
    pub fn show_checkpoint(&mut self, of: OfHistory, state: Peek<'_>) {
        self.leave_checkpoint();
        self.return_to_present();
        let loaded = self.projections.status.loaded();
        let snapshot = |seq: Option<Seq>| self.event_log.whole(seq?);
        let [history, runs] = [
            snapshot(loaded.and_then(|loaded| loaded.history)),
            snapshot(loaded.and_then(|loaded| loaded.runs)),
        ];
        let facts = StateFacts::read(state.text()).unwrap_or_default();
        let history =
            fields(&history).and_then(|loaded| Some(history_until(&of.id, loaded.history?)));
        let runs = fields(&runs)
            .and_then(|loaded| Some(runs_until(&of, facts.run_id.as_deref(), loaded.runs?)));
        let (runs, listed_runs) = runs.unzip();
        let mut fields = SnapshotFields::default();
        (fields.state, fields.history, fields.runs) = (
            Some(state),
            history.as_deref().map(Peek::of),
            runs.as_deref().map(Peek::of),
        );
        let event = Event {
            seq: Seq(1),
            ..fields.into_event(of.at.unwrap_or(self.now))
        };

        let limits = self.event_log.limits();
        let mut live = OtherLog {
            event_log: EventLog::new(limits),
            projections: Projections::new(limits.max_bytes),
            ..OtherLog::default()
        };
        let running = of.running.as_deref().map(Into::into);
        live.projections.status.show_as_of(AsOf {
            at: of.at,
            running,
            listed_runs: listed_runs.unwrap_or_default(),
        });
        live.projections
            .apply(&Item::Record(Record::Event(event.clone())));
        live.event_log.push(Record::Event(event));
        live.swap(self);
        let has_next = !facts.next.is_empty();
        self.checkpoint = Some(Box::new(ShownCheckpoint { of, has_next, live }));
        self.show_other_log();
    }

    /// Returns from a checkpoint to the present. Returns false if no checkpoint is shown.
    pub fn leave_checkpoint(&mut self) -> bool {
        let Some(mut checkpoint) = self.checkpoint.take() else {
            return false;
        };
        checkpoint.live.swap(self);
        self.show_other_log();
        true
    }

    /// Does something with the live log, whatever the views show.
    pub(super) fn with_live(&mut self, work: impl FnOnce(&mut Viewer)) {
        let Some(mut shown) = self.checkpoint.take() else {
            return work(self);
        };
        shown.live.swap(self);
        work(self);
        shown.live.swap(self);
        self.checkpoint = Some(shown);
    }

    /// Drops what belongs to the log that was shown before.
    fn show_other_log(&mut self) {
        self.views.state.forget_snapshot();
        self.reset_layout();
    }
}

impl OtherLog {
    /// Exchanges the log with the one that the views show.
    fn swap(&mut self, viewer: &mut Viewer) {
        std::mem::swap(&mut self.event_log, &mut viewer.event_log);
        std::mem::swap(&mut self.projections, &mut viewer.projections);
        std::mem::swap(&mut self.past, &mut viewer.past);
        std::mem::swap(&mut self.marks, &mut viewer.find.marks);
        std::mem::swap(&mut self.marked_state, &mut viewer.views.state.marked);
    }
}
