//! The entries of the Runs view: lifecycle events, and between them the runs without an event in the stream, in the order of
//! the thread's runs.

use super::Viewer;
use crate::features::stream::views::View;
use crate::session::compare::SideRef;
use crate::session::deployments::KnownDeployments;
use crate::widgets::scroll::Flat;
use runtail_core::json::Peek;
use runtail_stream::projection::{LifecycleRow, RunEntry};
use runtail_stream::{Seq, SnapshotFields};
use std::sync::Arc;

/// The smallest key.
const FIRST_KEY: u64 = 1 << 20;

/// Runs without any event in the stream, and their places among the lifecycle events.
#[derive(Debug, Default)]
pub(crate) struct UnseenRuns {
    /// Ended runs: the number of the event that each is in front of, and its index in the list of runs. Sorted.
    placed: Vec<(u64, usize)>,
    /// Indexes of the other runs, which follow all events.
    after: Vec<usize>,
    /// The revision of the runs, and the number of evicted events.
    inputs: Option<(u64, u64)>,
}

impl UnseenRuns {
    /// Returns how many runs are placed in front of an event or an earlier one.
    fn up_to(&self, event: u64) -> u64 {
        self.placed.partition_point(|(at, _)| *at <= event) as u64
    }

    /// Returns the key of an event.
    fn key_of_event(&self, event: u64) -> u64 {
        FIRST_KEY + event + self.up_to(event)
    }

    /// Returns the event at a key or after it, and how many entries before the event the key is.
    fn anchor(&self, key: u64) -> (u64, u64) {
        let offset = key.saturating_sub(FIRST_KEY);
        match self.placed_at(offset) {
            Ok(nth) => {
                let (event, _) = self.placed[nth];
                (event, self.up_to(event) - nth as u64)
            }
            Err(before) => (offset - before as u64, 0),
        }
    }

    /// Returns the index of the placed run at an offset, else how many placed runs are before it.
    fn placed_at(&self, offset: u64) -> Result<usize, usize> {
        // Their offsets ascend, because they are sorted.
        let (mut before, mut end) = (0, self.placed.len());
        while before < end {
            let middle = before.midpoint(end);
            if self.placed[middle].0 + (middle as u64) < offset {
                before = middle + 1
            } else {
                end = middle
            }
        }
        match self.placed.get(before) {
            Some((at, _)) if *at + before as u64 == offset => Ok(before),
            _ => Err(before),
        }
    }
}

/// An entry of the Runs view.
pub(crate) enum RunsRow<'a> {
    Run(&'a RunEntry),
    Event(&'a LifecycleRow),
}

impl Viewer {
    /// Sets the revisions of the server's deployment while the Runs view names them.
    pub(crate) fn know_revisions(&mut self, known: &KnownDeployments) {
        let is_shown = self.shows(View::Runs);
        let known = known.revisions(&self.server).filter(|_| is_shown);
        self.revisions = known.cloned();
    }

    /// Sets the runs that are marked for a comparison.
    pub(crate) fn know_marked_runs(&mut self, marked: &[SideRef]) {
        let run = |side: &SideRef| match side {
            SideRef::Thread(of, Some(run)) if self.is_of(of) => Some(run.clone()),
            _ => None,
        };
        self.marked_runs = marked.iter().filter_map(run).collect();
    }

    /// Returns the run under the cursor of the Runs view as a side of a comparison. A recording has no runs of a server.
    pub(crate) fn side_under_cursor(&self) -> Option<SideRef> {
        let thread = self.thread().filter(|_| self.view() == View::Runs)?;
        let run = self.run_of(self.place(View::Runs).cursor.key)?.to_string();
        Some(SideRef::Thread(thread, Some(run)))
    }

    /// Returns the run of an entry.
    pub(crate) fn run_of(&self, key: u64) -> Option<&str> {
        match self.runs_row(key)? {
            RunsRow::Run(run) => run.run_id.as_deref(),
            RunsRow::Event(row) => row.run_id.as_deref(),
        }
    }

    /// Updates the entries from the thread's runs.
    pub(crate) fn prepare_runs(&mut self) {
        let evicted = self.projections.lifecycle.rows().evicted();
        let inputs = (self.projections.status.revision(), evicted);
        if self.runs.inputs.replace(inputs) == Some(inputs) {
            return;
        }
        let (placed, after) = self.place_unseen_runs(evicted);
        let place = &mut self.slots[View::Runs as usize].place;
        let old = std::mem::take(&mut self.runs.placed);
        let anchors = UnseenRuns {
            placed: old,
            ..UnseenRuns::default()
        };
        (self.runs.placed, self.runs.after) = (placed, after);
        // Keeps the position among the events.
        for spot in [&mut place.cursor, &mut place.top] {
            if spot.key >= FIRST_KEY {
                let (event, before) = anchors.anchor(spot.key);
                spot.key = self.runs.key_of_event(event).saturating_sub(before);
            }
        }
    }

    /// Returns the ended runs without events, each in front of the first event of the next run that has some, and the others.
    fn place_unseen_runs(&self, evicted: u64) -> (Vec<(u64, usize)>, Vec<usize>) {
        let (runs, rows) = (
            self.projections.status.runs(),
            self.projections.lifecycle.rows(),
        );
        let before = |seq: Seq| evicted + rows.partition_point(|row| row.seq < seq) as u64;
        let first_seen = runs.iter().position(|run| run.first_seq.is_some());
        let (mut placed, mut after) = (Vec::new(), Vec::new());
        // The event in front of which the next unseen run is placed, from the newest run to the oldest.
        let mut next = None;
        for (index, run) in runs.iter().enumerate().rev() {
            match run.first_seq {
                Some(seq) => next = Some(before(seq)),
                None if !run.outcome.is_over() => after.push(index),
                // Nothing that the stream shows is older.
                None if first_seen.is_none_or(|first| index < first) => placed.push((0, index)),
                None => {
                    let last_seen = || {
                        runs[..index]
                            .iter()
                            .rev()
                            .find_map(|run| run.first_seq.map(|_| run.end_seq))
                    };
                    let after_last = || last_seen().flatten().map(|end| before(end.next()));
                    let at = next
                        .or_else(after_last)
                        .unwrap_or(evicted + rows.len() as u64);
                    placed.push((at, index));
                }
            }
        }
        // The oldest entries are evicted with their neighbors.
        placed.retain(|(at, _)| *at >= evicted);
        placed.reverse();
        placed.sort_by_key(|(at, _)| *at);
        after.reverse();
        (placed, after)
    }

    pub(crate) fn runs_keys(&self) -> Flat {
        let rows = self.projections.lifecycle.rows();
        let first = FIRST_KEY + rows.evicted();
        let entries = rows.len() + self.runs.placed.len() + self.runs.after.len();
        Flat {
            first,
            end: first + entries as u64,
        }
    }

    pub(crate) fn runs_row(&self, key: u64) -> Option<RunsRow<'_>> {
        let (runs, rows) = (
            self.projections.status.runs(),
            self.projections.lifecycle.rows(),
        );
        let run = |at: Option<&usize>| runs.get(*at?).map(RunsRow::Run);
        let offset = key.checked_sub(FIRST_KEY)?;
        let event = match self.runs.placed_at(offset) {
            Ok(nth) => return run(self.runs.placed.get(nth).map(|(_, run)| run)),
            Err(before) => offset - before as u64,
        };
        let at = usize::try_from(event.checked_sub(rows.evicted())?).ok()?;
        match rows.get(at) {
            Some(row) => Some(RunsRow::Event(row)),
            None => run(self.runs.after.get(at.checked_sub(rows.len())?)),
        }
    }

    /// Returns the key of the last lifecycle event up to an event.
    pub(crate) fn runs_key_of(&self, seq: Seq) -> u64 {
        let rows = self.projections.lifecycle.rows();
        match rows.partition_point(|row| row.seq <= seq) as u64 {
            0 => self.runs_keys().first,
            after => self.runs.key_of_event(rows.evicted() + after - 1),
        }
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
        let run = self.view().of().run_under_cursor(self)?;
        let id = run.run_id.as_deref()?;
        let event = self.event_log.get(self.projections.status.loaded()?.seq)?;
        let fields = SnapshotFields::read(event.data.json()?)?;
        let has_id = |run: &Peek<'_>| run.get("run_id").is_some_and(|known| known.is(id));
        let raw = fields.runs?.items().find(has_id)?;
        Some((format!("{} · {id}", run.name()), raw.text().into()))
    }
}
