//! Bisects the states that a stream sent: those of a recording, or of the event log of a page.

use super::{BisectQuery, Bisection, Observation, StatePlace};
use crate::projection::{BarKind, Projections, Snapshot, StateSource};
use crate::{EventLog, EventNumber, Item, Record, Seq};
use runtail_core::json::Peek;
use runtail_core::text;

/// Maximum size of the states of an event log that are checked at once, in bytes.
const MAX_STATES: usize = 32 << 20;
/// Bars and updates before a state among which its nodes are looked for.
const LOOK_BACK: usize = 256;
/// Memory of the projections while a recording is read, in bytes. Only their newest rows are needed.
const MAX_PROJECTIONS: usize = 16 << 20;

/// Reads a recording and checks each state of the graph itself.
#[derive(Debug)]
pub struct RecordingBisect {
    query: BisectQuery,
    projections: Projections,
    fold: LogFold,
}

impl RecordingBisect {
    pub fn new(query: BisectQuery) -> RecordingBisect {
        RecordingBisect {
            query,
            projections: Projections::new(MAX_PROJECTIONS),
            fold: LogFold::default(),
        }
    }

    /// Applies the next record.
    pub fn apply(&mut self, record: Record) {
        let item = Item::Record(record);
        self.projections.apply(&item);
        let Item::Record(Record::Event(event)) = &item else {
            return;
        };
        let newest = self
            .projections
            .values
            .rows()
            .last()
            .filter(|row| row.seq == event.seq);
        if let (Some(row), Some(text)) = (newest, event.data.json()) {
            self.fold.push(
                &self.query,
                &self.projections,
                row,
                text,
                EventNumber(event.seq.0),
            );
        }
    }

    /// Returns the result.
    pub fn finish(self) -> Bisection {
        self.fold.bisection
    }
}

/// Checks the states of an event log that are in memory.
///
/// # Errors
/// There are none, or they are too large to be checked at once.
pub fn bisect_log(
    projections: &Projections,
    event_log: &EventLog,
    query: &BisectQuery,
) -> Result<Bisection, String> {
    let rows = projections.values.rows();
    let size: usize = rows
        .iter()
        .filter(|row| row.ns.is_empty())
        .map(|row| row.size)
        .sum();
    if size > MAX_STATES {
        let (size, most) = (text::bytes(size as u64), text::bytes(MAX_STATES as u64));
        return Err(format!(
            "The states have {size}, more than {most}. `runtail bisect FILE` checks a recording of any size."
        ));
    }
    let mut fold = LogFold::default();
    fold.bisection.is_cut = rows.evicted() > 0;
    for row in rows.iter() {
        let Some(event) = event_log.get(row.seq) else {
            fold.bisection.is_cut |= fold.bisection.checked == 0;
            continue;
        };
        if let Some(text) = event.data.json() {
            fold.push(query, projections, row, text, event_log.number_of(row.seq));
        }
    }
    match fold.bisection.checked {
        0 => Err("This stream has no state yet. States come with the modes values, checkpoints and debug.".into()),
        _ => Ok(fold.bisection),
    }
}

/// Checks states of an event log in their order.
#[derive(Debug, Default)]
struct LogFold {
    bisection: Bisection,
    /// The event of the last state.
    last: Seq,
}

impl LogFold {
    /// Checks a state, unless it is one of a subgraph or only reports a question. `text` is the data of its event.
    fn push(
        &mut self,
        query: &BisectQuery,
        projections: &Projections,
        row: &Snapshot,
        text: &str,
        event: EventNumber,
    ) {
        let is_question_only = row.keys.is_empty() && row.interrupts > 0;
        let state = text.get(row.from..row.from + row.size);
        let Some(state) = state.filter(|_| row.ns.is_empty() && !is_question_only) else {
            return;
        };
        let values = Peek::of(state);
        let runs = projections.status.runs();
        let run = runs
            .iter()
            .filter(|run| run.first_seq.is_some_and(|first| first <= row.seq));
        let run = run
            .max_by_key(|run| run.first_seq)
            .filter(|_| row.source != StateSource::Server);
        let is_first = run
            .and_then(|run| run.first_seq)
            .is_some_and(|first| self.last < first);
        let (nodes, step) = writers(projections, self.last, row, is_first);
        let at = StatePlace {
            checkpoint: None,
            event: Some(event),
            step,
            nodes,
            run_id: run
                .and_then(|run| run.run_id.as_deref())
                .map(str::to_string),
            at: row.at,
        };
        self.bisection.push(Observation {
            at,
            ..query.check(Some(values))
        });
        self.last = row.seq;
    }
}

/// Returns the nodes that wrote a state, and their step if it is known: those whose updates, else whose ends, lie between the
/// state before it and the state. Without either, the first state of a run is its input, and who wrote a later one is unknown.
fn writers(
    projections: &Projections,
    after: Seq,
    row: &Snapshot,
    is_first: bool,
) -> (Vec<String>, Option<i64>) {
    match row.source {
        StateSource::Server => return (vec!["loaded from the server".into()], None),
        StateSource::Update => return (vec!["edit".into()], None),
        StateSource::Debug | StateSource::Checkpoint | StateSource::Values => {}
    }
    let is_between = |seq: Seq| after < seq && seq <= row.seq;
    let timeline = &projections.timeline;
    let bars = timeline.bars();
    let bars = bars[..bars.partition_point(|bar| bar.first_seq <= row.seq)]
        .iter()
        .rev()
        .take(LOOK_BACK);
    let bars: Vec<_> = bars
        .filter(|bar| bar.kind == BarKind::Node && bar.ns.is_empty() && is_between(bar.last_seq))
        .collect();
    let step = bars.iter().filter_map(|bar| timeline.step(bar)).max();
    let updates = projections.updates.rows();
    let updates = updates[..updates.partition_point(|update| update.seq <= row.seq)]
        .iter()
        .rev()
        .take(LOOK_BACK);
    let updates = updates
        .filter(|update| update.ns.is_empty() && !update.interrupt && is_between(update.seq));
    let mut nodes: Vec<String> = updates.map(|update| update.node.to_string()).collect();
    if nodes.is_empty() {
        nodes.extend(bars.iter().map(|bar| bar.name.to_string()));
    }
    nodes.reverse();
    nodes.dedup();
    if nodes.is_empty() && is_first {
        nodes.push("input".into());
    }
    (nodes, step)
}
