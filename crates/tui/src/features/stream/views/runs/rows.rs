//! The rows of the Runs view: one a run, newest first, and below an unfolded run its start, nodes, questions, connections and end.

use super::line::{assistant, name_cell};
use crate::widgets::scroll::Place;
use jiff::Timestamp;
use runtail_core::model::KnownRevisions;
use runtail_core::text;
use runtail_stream::Seq;
use runtail_stream::projection::{
    BarKind, LifecycleKind, LifecycleRow, Projections, RunEntry, Status, Usage,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Columns of a time of day, and of one with its date.
const TIME: (usize, usize) = (8, 12);

/// What the Runs view keeps.
#[derive(Debug, Default)]
pub struct RunsState {
    pub(super) rows: RunRows,
    /// The revisions of the server's deployment, if it has one and the view is shown.
    pub(super) revisions: Option<KnownRevisions>,
    /// The runs that are marked for a comparison.
    pub(super) marked: Vec<String>,
}

impl RunsState {
    /// Returns the row of a run.
    pub fn key_of_run(&self, run: usize) -> Option<u64> {
        self.rows.key_of_run(run)
    }

    /// Drops the rows of another log. Unfolded runs stay unfolded.
    pub fn forget(&mut self) {
        self.rows.inputs = None;
    }
}

/// A row. Runs have their index in the thread's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsRow {
    Run(usize),
    Start(usize),
    /// A bar of the timeline.
    Node(usize, u64),
    /// A lifecycle row.
    Event(usize, u64),
    End(usize),
}

impl RunsRow {
    /// Returns the index of its run.
    pub fn run(self) -> usize {
        match self {
            RunsRow::Run(run) | RunsRow::Start(run) | RunsRow::End(run) => run,
            RunsRow::Node(run, _) | RunsRow::Event(run, _) => run,
        }
    }

    fn with_run(self, run: usize) -> RunsRow {
        match self {
            RunsRow::Run(_) => RunsRow::Run(run),
            RunsRow::Start(_) => RunsRow::Start(run),
            RunsRow::End(_) => RunsRow::End(run),
            RunsRow::Node(_, key) => RunsRow::Node(run, key),
            RunsRow::Event(_, key) => RunsRow::Event(run, key),
        }
    }
}

/// A run in any version of the list: its id, else its first event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct RunKey(Option<Arc<str>>, Option<Seq>);

impl RunKey {
    fn of(run: &RunEntry) -> RunKey {
        let first = run.first_seq.filter(|_| run.run_id.is_none());
        RunKey(run.run_id.clone(), first)
    }
}

/// What is counted of a run.
#[derive(Debug, Clone, Default)]
pub struct RunNumbers {
    /// With a plus if earlier steps are unknown.
    pub steps: String,
    pub usage: Option<Usage>,
    pub cost: String,
}

/// What the columns have to hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct CellWidths {
    pub name: usize,
    pub started: usize,
    pub has_tokens: bool,
    pub has_cost: bool,
    pub assistant: usize,
}

/// What the rows are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowInputs {
    status: u64,
    newest: Seq,
    bars: (u64, u64),
    lifecycle: u64,
}

/// What the rows are laid out for.
pub struct RowsFor<'a> {
    pub projections: &'a Projections,
    /// The status of the thread as it is now, which names its graph.
    pub status: &'a Status,
    pub newest: Seq,
    /// Running runs count up to this time; `None` if nothing runs.
    pub now: Option<Timestamp>,
    /// Whether a time is of another day than today.
    pub is_old: &'a dyn Fn(Timestamp) -> bool,
    pub cost: &'a dyn Fn(&RunEntry) -> String,
    /// Whether the cursor stays on the newest run.
    pub follows: bool,
}

/// The rows of the view.
#[derive(Debug, Default)]
pub struct RunRows {
    rows: Vec<RunsRow>,
    /// The runs of the list that the rows are of.
    keys: Vec<RunKey>,
    unfolded: HashSet<RunKey>,
    pub(super) numbers: Vec<RunNumbers>,
    pub(super) widths: CellWidths,
    pub(super) now: Option<Timestamp>,
    inputs: Option<RowInputs>,
}

impl RunRows {
    pub fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Returns a row.
    pub fn row(&self, key: u64) -> Option<RunsRow> {
        self.rows.get(usize::try_from(key).ok()?).copied()
    }

    /// Returns the row of a run.
    pub fn key_of_run(&self, run: usize) -> Option<u64> {
        let at = self.rows.iter().position(|row| *row == RunsRow::Run(run))?;
        Some(at as u64)
    }

    /// Updates the rows, and keeps the cursor on its row.
    pub fn prepare(&mut self, of: &RowsFor<'_>, place: &mut Place) {
        let p = of.projections;
        self.now = of.now;
        let inputs = RowInputs {
            status: p.status.revision(),
            newest: of.newest,
            bars: (p.timeline.shape(), p.timeline.generation()),
            lifecycle: p.lifecycle.rows().evicted() + p.lifecycle.rows().len() as u64,
        };
        if self.inputs.replace(inputs) == Some(inputs) {
            return;
        }
        self.count(of);
        let before = [place.cursor.key, place.top.key].map(|key| self.row_and_run(key));
        self.keys = p.status.runs().iter().map(RunKey::of).collect();
        self.rows = rows(p, &self.keys, &self.unfolded);
        let [cursor, top] = before.map(|row| row.and_then(|(key, row)| self.find(&key, row)));
        let is_newest = of.follows && place.cursor.key == 0;
        if !is_newest {
            place.cursor.key = cursor.unwrap_or(place.cursor.key);
            // A window at the newest run keeps showing it.
            place.top.key = top.filter(|_| place.top.key > 0).unwrap_or(place.top.key);
        }
    }

    fn row_and_run(&self, key: u64) -> Option<(RunKey, RunsRow)> {
        let row = self.row(key)?;
        Some((self.keys.get(row.run())?.clone(), row))
    }

    fn find(&self, key: &RunKey, row: RunsRow) -> Option<u64> {
        let run = self.keys.iter().position(|known| known == key)?;
        let wanted = row.with_run(run);
        let at = self.rows.iter().position(|row| *row == wanted);
        at.map(|at| at as u64).or_else(|| self.key_of_run(run))
    }

    /// Unfolds the run of a row. Returns false if it is unfolded.
    pub fn unfold(&mut self, key: u64) -> bool {
        let row = self.row_and_run(key);
        self.inputs = None;
        row.is_some_and(|(run, _)| self.unfolded.insert(run))
    }

    /// Folds the run of a row, and returns its row.
    pub fn fold(&mut self, key: u64) -> Option<u64> {
        let (run, row) = self.row_and_run(key)?;
        self.unfolded.remove(&run);
        self.inputs = None;
        self.key_of_run(row.run())
    }

    fn count(&mut self, of: &RowsFor<'_>) {
        let p = of.projections;
        let mut steps: HashMap<Option<&str>, String> = HashMap::new();
        for (_, attempt) in p
            .timeline
            .attempts()
            .filter(|(_, attempt)| !attempt.is_superseded)
        {
            let bars = attempt
                .children
                .iter()
                .filter_map(|key| p.timeline.bar(*key));
            let leading = bars
                .filter(|bar| bar.kind == BarKind::Node && bar.leads)
                .count();
            let more = if attempt.cut_before.is_some() {
                "+"
            } else {
                ""
            };
            if leading > 0 {
                steps.insert(attempt.run_id.as_deref(), format!("{leading}{more}"));
            }
        }
        let mut usage: HashMap<&str, Usage> = HashMap::new();
        for message in p.messages.items() {
            if let (Some(run), Some(used)) = (&message.run_id, message.usage) {
                usage.entry(run).or_default().add(used);
            }
        }
        let runs = p.status.runs();
        let numbers = |run: &RunEntry| RunNumbers {
            steps: steps
                .get(&run.run_id.as_deref())
                .cloned()
                .unwrap_or_default(),
            usage: run.run_id.as_deref().and_then(|id| usage.get(id).copied()),
            cost: (of.cost)(run),
        };
        self.numbers = runs.iter().map(numbers).collect();
        let named = |run| Some(text::width(&assistant(run, of.status)?));
        let assistants = runs.iter().filter_map(named);
        let is_old = |run: &RunEntry| run.began.or(run.requested).is_some_and(of.is_old);
        self.widths = CellWidths {
            name: runs
                .iter()
                .map(|run| text::width(&name_cell(run)))
                .max()
                .unwrap_or(0),
            started: if runs.iter().any(is_old) {
                TIME.1
            } else {
                TIME.0
            },
            has_tokens: self.numbers.iter().any(|numbers| numbers.usage.is_some()),
            has_cost: self.numbers.iter().any(|numbers| !numbers.cost.is_empty()),
            assistant: assistants.max().unwrap_or(0),
        };
    }
}

/// Returns the rows, newest run first.
fn rows(p: &Projections, keys: &[RunKey], unfolded: &HashSet<RunKey>) -> Vec<RunsRow> {
    let mut rows = Vec::new();
    for (index, run) in p.status.runs().iter().enumerate().rev() {
        rows.push(RunsRow::Run(index));
        if !unfolded.contains(&keys[index]) {
            continue;
        }
        rows.push(RunsRow::Start(index));
        let mut within = within(p, index, run);
        within.sort_by_key(|(seq, _)| *seq);
        rows.extend(within.into_iter().map(|(_, row)| row));
        if run.outcome.is_over() {
            rows.push(RunsRow::End(index));
        }
    }
    rows
}

/// Returns what happened in a run, each with its event: its nodes, and the questions, failures and connections of its time.
fn within(p: &Projections, index: usize, run: &RunEntry) -> Vec<(Seq, RunsRow)> {
    let is_of_run = |id: Option<&str>, seq: Seq| match &run.run_id {
        Some(own) => id == Some(own),
        None => id.is_none() && run.first_seq.is_some_and(|first| first <= seq),
    };
    let is_in_time = |seq: Seq| run.end_seq.is_none_or(|end| seq < end);
    let is_shown = |row: &LifecycleRow| match row.kind {
        LifecycleKind::Attempt | LifecycleKind::Interrupt => true,
        // The end of a failed run has its error.
        LifecycleKind::Error => !run.outcome.is_over() || is_in_time(row.seq),
        LifecycleKind::Connection | LifecycleKind::Retry | LifecycleKind::Gap => {
            is_in_time(row.seq)
        }
        _ => false,
    };
    let lifecycle = p.lifecycle.rows();
    let events = (lifecycle.evicted()..)
        .zip(lifecycle.iter())
        .filter(|(_, row)| is_shown(row) && is_of_run(row.run_id.as_deref(), row.seq))
        .map(|(key, row)| (row.seq, RunsRow::Event(index, key)));
    let attempts = p.timeline.attempts().map(|(_, attempt)| attempt);
    let bars = attempts
        .filter(|attempt| !attempt.is_superseded)
        .filter(|attempt| is_of_run(attempt.run_id.as_deref(), attempt.first_seq))
        .flat_map(|attempt| attempt.children.iter())
        .filter_map(|key| Some((*key, p.timeline.bar(*key)?)))
        .filter(|(_, bar)| bar.kind == BarKind::Node)
        .map(|(key, bar)| (bar.first_seq, RunsRow::Node(index, key)));
    bars.chain(events).collect()
}
