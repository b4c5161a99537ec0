//! The entries of the Runs view: lifecycle events, and between them the runs without an event in the stream, in the order of
//! the thread's runs.

use crate::widgets::scroll::{Flat, Place};
use runtail_core::model::KnownRevisions;
use runtail_stream::Seq;
use runtail_stream::projection::{LifecycleRow, Projections, RunEntry};

/// What the Runs view keeps.
#[derive(Debug, Default)]
pub struct RunsState {
    pub(super) unseen: UnseenRuns,
    /// The revisions of the server's deployment, if it has one and the view is shown.
    pub(super) revisions: Option<KnownRevisions>,
    /// The runs that are marked for a comparison.
    pub(super) marked: Vec<String>,
}

impl RunsState {
    /// Drops the entries of another log.
    pub fn forget(&mut self) {
        self.unseen = UnseenRuns::default();
    }
}

/// The smallest key.
const FIRST_KEY: u64 = 1 << 20;

/// Runs without any event in the stream, and their places among the lifecycle events.
#[derive(Debug, Default)]
pub struct UnseenRuns {
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

    /// Updates the entries from the thread's runs, and keeps the position among the events.
    pub fn prepare(&mut self, projections: &Projections, place: &mut Place) {
        let evicted = projections.lifecycle.rows().evicted();
        let inputs = (projections.status.revision(), evicted);
        if self.inputs.replace(inputs) == Some(inputs) {
            return;
        }
        let before = std::mem::take(self);
        (self.placed, self.after) = place_unseen_runs(projections, evicted);
        self.inputs = before.inputs;
        for spot in [&mut place.cursor, &mut place.top] {
            if spot.key >= FIRST_KEY {
                let (event, runs) = before.anchor(spot.key);
                spot.key = self.key_of_event(event).saturating_sub(runs);
            }
        }
    }

    /// Returns the keys of all entries.
    pub fn keys(&self, projections: &Projections) -> Flat {
        let rows = projections.lifecycle.rows();
        let first = FIRST_KEY + rows.evicted();
        let entries = rows.len() + self.placed.len() + self.after.len();
        Flat {
            first,
            end: first + entries as u64,
        }
    }

    /// Returns an entry.
    pub fn row<'a>(&self, projections: &'a Projections, key: u64) -> Option<RunsRow<'a>> {
        let (runs, rows) = (projections.status.runs(), projections.lifecycle.rows());
        let run = |at: Option<&usize>| runs.get(*at?).map(RunsRow::Run);
        let offset = key.checked_sub(FIRST_KEY)?;
        let event = match self.placed_at(offset) {
            Ok(nth) => return run(self.placed.get(nth).map(|(_, run)| run)),
            Err(before) => offset - before as u64,
        };
        let at = usize::try_from(event.checked_sub(rows.evicted())?).ok()?;
        match rows.get(at) {
            Some(row) => Some(RunsRow::Event(row)),
            None => run(self.after.get(at.checked_sub(rows.len())?)),
        }
    }

    /// Returns the key of the last lifecycle event up to an event.
    pub fn key_of(&self, projections: &Projections, seq: Seq) -> u64 {
        let rows = projections.lifecycle.rows();
        match rows.partition_point(|row| row.seq <= seq) as u64 {
            0 => FIRST_KEY + rows.evicted(),
            after => self.key_of_event(rows.evicted() + after - 1),
        }
    }
}

/// An entry of the Runs view.
pub enum RunsRow<'a> {
    Run(&'a RunEntry),
    Event(&'a LifecycleRow),
}

/// Returns the ended runs without events, each in front of the first event of the next run that has some, and the others.
fn place_unseen_runs(projections: &Projections, evicted: u64) -> (Vec<(u64, usize)>, Vec<usize>) {
    let (runs, rows) = (projections.status.runs(), projections.lifecycle.rows());
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
