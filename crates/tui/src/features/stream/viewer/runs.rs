//! The entries of the Runs view: runs that ended before the stream began, lifecycle events, and queued runs.

use super::{View, Viewer};
use crate::widgets::scroll::Flat;
use runtail_stream::projection::{LifecycleRow, RunEntry};
use runtail_stream::{Seq, SnapshotFields};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The key of the first lifecycle event. The runs before it have smaller keys.
const FIRST_EVENT_KEY: u64 = 1 << 20;

/// Runs without any event in the stream.
#[derive(Debug, Default)]
pub(crate) struct UnseenRuns {
    /// Indexes of the ended runs in the list of runs.
    before: Vec<usize>,
    /// Indexes of the other runs.
    after: Vec<usize>,
    revision: Option<u64>,
}

/// An entry of the Runs view.
pub(crate) enum RunsRow<'a> {
    Run(&'a RunEntry),
    Event(&'a LifecycleRow),
}

impl Viewer {
    /// Updates the entries from the thread's runs.
    pub(crate) fn prepare_runs(&mut self) {
        let status = &self.projections.status;
        if self.runs.revision.replace(status.revision()) == Some(status.revision()) {
            return;
        }
        let unseen = status.runs().iter().enumerate().filter(|(_, run)| run.first_seq.is_none());
        let (before, after): (Vec<_>, Vec<_>) = unseen.partition(|(_, run)| run.outcome.is_over());
        let indexes = |runs: Vec<(usize, &RunEntry)>| runs.into_iter().map(|(i, _)| i).collect::<Vec<usize>>();
        let more = before.len() as i64 - self.runs.before.len() as i64;
        (self.runs.before, self.runs.after) = (indexes(before), indexes(after));
        // Keeps the positions of the first entries.
        let place = &mut self.places[View::Runs as usize];
        for spot in [&mut place.cursor, &mut place.top] {
            if spot.key < FIRST_EVENT_KEY && spot.key > 0 {
                spot.key = spot.key.saturating_add_signed(-more);
            }
        }
    }

    pub(crate) fn runs_keys(&self) -> Flat {
        let rows = self.projections.lifecycle.rows();
        let first = match rows.evicted() {
            0 => FIRST_EVENT_KEY - self.runs.before.len() as u64,
            evicted => FIRST_EVENT_KEY + evicted,
        };
        Flat { first, end: FIRST_EVENT_KEY + rows.evicted() + (rows.len() + self.runs.after.len()) as u64 }
    }

    pub(crate) fn runs_row(&self, key: u64) -> Option<RunsRow<'_>> {
        let (runs, rows) = (self.projections.status.runs(), self.projections.lifecycle.rows());
        let run = |at: Option<&usize>| runs.get(*at?).map(RunsRow::Run);
        let Some(at) = key.checked_sub(FIRST_EVENT_KEY) else {
            let from_end = usize::try_from(FIRST_EVENT_KEY - key).ok()?;
            return run(self.runs.before.get(self.runs.before.len().checked_sub(from_end)?));
        };
        let at = usize::try_from(at.checked_sub(rows.evicted())?).ok()?;
        match rows.get(at) {
            Some(row) => Some(RunsRow::Event(row)),
            None => run(self.runs.after.get(at.checked_sub(rows.len())?)),
        }
    }

    /// Returns the key of the last lifecycle event up to an event.
    pub(crate) fn runs_key_of(&self, seq: Seq) -> u64 {
        let rows = self.projections.lifecycle.rows();
        let after = rows.partition_point(|row| row.seq <= seq) as u64;
        (FIRST_EVENT_KEY + rows.evicted() + after).saturating_sub(1).max(self.runs_keys().first)
    }

    /// Returns the event of an entry. A run without events has the snapshot with its record.
    pub(crate) fn runs_seq(&self, key: u64) -> Option<Seq> {
        match self.runs_row(key)? {
            RunsRow::Run(_) => self.projections.status.loaded().map(|loaded| loaded.seq),
            RunsRow::Event(row) => Some(row.seq),
        }
    }

    /// Returns the record of the run under the cursor, if the entry has one: a title, and the JSON as loaded.
    pub(crate) fn run_record(&self) -> Option<(String, Arc<str>)> {
        let run = match self.view() {
            View::Runs => match self.runs_row(self.place(View::Runs).cursor.key)? {
                RunsRow::Run(run) => run,
                RunsRow::Event(_) => return None,
            },
            View::Messages => {
                let index = self.blocks.run_at(self.place(View::Messages).cursor)?;
                self.projections.status.runs().get(index).filter(|run| run.first_seq.is_none())?
            }
            _ => return None,
        };
        let id = run.run_id.as_deref()?;
        let event = self.event_log.get(self.projections.status.loaded()?.seq)?;
        let fields = SnapshotFields::read(event.data.json()?)?;
        let all: Vec<&RawValue> = serde_json::from_str(fields.runs?.get()).ok()?;
        #[derive(Deserialize)]
        struct Id<'a> {
            #[serde(borrow)]
            run_id: std::borrow::Cow<'a, str>,
        }
        let has_id = |raw: &&&RawValue| serde_json::from_str::<Id<'_>>(raw.get()).is_ok_and(|of| of.run_id == id);
        let raw = all.iter().find(has_id)?;
        Some((format!("{} · {id}", run.name()), raw.get().into()))
    }
}
