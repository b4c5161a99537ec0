//! Bisects the states that a stream sent: those of a recording, or of the event log of a page.

use super::{BisectQuery, Bisection, Observation, StatePlace};
use crate::projection::{BarKind, Projections, Snapshot, StateSource};
use crate::{EventNumber, Item, Record, Seq};
use serde_json::value::RawValue;

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
        RecordingBisect { query, projections: Projections::new(MAX_PROJECTIONS), fold: LogFold::default() }
    }

    /// Applies the next record.
    pub fn apply(&mut self, record: Record) {
        let item = Item::Record(record);
        self.projections.apply(&item);
        let Item::Record(Record::Event(event)) = &item else { return };
        let newest = self.projections.values.rows().last().filter(|row| row.seq == event.seq);
        if let (Some(row), Some(text)) = (newest, event.data.json()) {
            self.fold.push(&self.query, &self.projections, row, text, EventNumber(event.seq.0));
        }
    }

    /// Returns the result.
    pub fn finish(self) -> Bisection {
        self.fold.bisection
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
    fn push(&mut self, query: &BisectQuery, projections: &Projections, row: &Snapshot, text: &str, event: EventNumber) {
        let is_question_only = row.keys.is_empty() && row.interrupts > 0;
        let state = text.get(row.from..row.from + row.size);
        let Some(state) = state.filter(|_| row.ns.is_empty() && !is_question_only) else { return };
        let Ok(values) = serde_json::from_str::<&RawValue>(state) else { return };
        let (nodes, step) = writers(projections, self.last, row);
        let runs = projections.status.runs();
        let run = runs.iter().filter(|run| run.first_seq.is_some_and(|first| first <= row.seq));
        let run = run.max_by_key(|run| run.first_seq).filter(|_| row.source != StateSource::Server);
        let at = StatePlace {
            checkpoint: None,
            event: Some(event),
            step,
            nodes,
            run_id: run.and_then(|run| run.run_id.as_deref()).map(str::to_string),
            at: row.at,
        };
        self.bisection.push(Observation { at, ..query.check(Some(values)) });
        self.last = row.seq;
    }
}

/// Returns the nodes that wrote a state, and their step if it is known: those whose updates, else whose ends, lie between the
/// state before it and the state.
fn writers(projections: &Projections, after: Seq, row: &Snapshot) -> (Vec<String>, Option<i64>) {
    match row.source {
        StateSource::Server => return (vec!["loaded from the server".into()], None),
        StateSource::Update => return (vec!["edit".into()], None),
        StateSource::Debug | StateSource::Checkpoint | StateSource::Values => {}
    }
    let is_between = |seq: Seq| after < seq && seq <= row.seq;
    let timeline = &projections.timeline;
    let bars = timeline.bars().iter().rev().take_while(|bar| bar.last_seq > after);
    let bars: Vec<_> =
        bars.filter(|bar| bar.kind == BarKind::Node && bar.ns.is_empty() && is_between(bar.last_seq)).collect();
    let step = bars.iter().filter_map(|bar| timeline.step(bar)).max();
    let updates = projections.updates.rows().iter().rev().take_while(|update| update.seq > after);
    let updates = updates.filter(|update| update.ns.is_empty() && !update.interrupt && is_between(update.seq));
    let mut nodes: Vec<String> = updates.map(|update| update.node.to_string()).collect();
    if nodes.is_empty() {
        nodes.extend(bars.iter().map(|bar| bar.name.to_string()));
    }
    nodes.reverse();
    nodes.dedup();
    if nodes.is_empty() {
        nodes.push("input".into());
    }
    (nodes, step)
}
