//! A row of Steps is the same whether its run was seen live or is read from the records later, for the runs of real servers.

use runtail_core::model::{Checkpoint, CheckpointTree};
use runtail_stream::projection::{Projections, RecordedAs, StepRow, Steps};
use runtail_stream::{
    Decoder, Event, Frame, Framer, Item, Loaded, Record, Seq, SnapshotPart, ThreadSnapshot,
};
use serde_json::Value;
use std::sync::Arc;

/// Runs whose events and history were both captured.
const CAPTURED: [&str; 7] = [
    "aegra-agent",
    "aegra-early",
    "deep",
    "modelfail",
    "react",
    "structured",
    "trimmed",
];

fn history(name: &str) -> String {
    let file = format!("tests/captures/agents/{name}-history.json");
    let capture: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    capture["response"]["body"].to_string()
}

fn events(name: &str) -> Vec<Event> {
    let file = format!("tests/captures/agents/{name}-stream.sse");
    let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
    framer.push(std::fs::read(file).unwrap().into());
    let mut decoded = Vec::new();
    while let Some(frame) = framer.next_frame() {
        if let Frame::Block(block) = frame {
            decoded.extend(decoder.decode(block));
        }
    }
    let at = jiff::Timestamp::from_second(1_790_000_000).unwrap();
    let numbered = decoded.into_iter().zip(1..);
    numbered
        .map(|(event, seq)| event.at(Seq(seq), at, 1, false))
        .collect()
}

/// Returns the steps of a thread whose history was loaded after these events.
fn joined(events: Vec<Event>, history: &str) -> Steps {
    let mut all = Projections::default();
    let seq = Seq(events.len() as u64 + 1);
    let snapshot = ThreadSnapshot {
        at: jiff::Timestamp::from_second(1_790_000_100).unwrap(),
        parts: [(SnapshotPart::History, Loaded::Json(history.into()))].into(),
    };
    let snapshot = snapshot.into_event(seq);
    for event in events.into_iter().chain([snapshot]) {
        all.apply(&Item::Record(Record::Event(event)));
    }
    let checkpoints = Checkpoint::read_all(history);
    let tree = Arc::new(CheckpointTree::new(checkpoints.into_iter().map(Arc::new)));
    Steps::join(tree, &all, None)
}

/// Returns what must be equal of a row.
fn facts(steps: &Steps, row: &StepRow) -> String {
    let at = steps.checkpoint(row).map(|entry| entry.id.clone());
    let recorded = row.recorded.map(|recorded| match recorded {
        RecordedAs::Task(at, nth) | RecordedAs::Write(at, nth) => (at, nth),
        RecordedAs::Whole(at) => (at, 0),
    });
    format!(
        "{:?}",
        (
            (row.step, &row.node, row.source, row.state, &row.run_id),
            (&row.question, &row.error),
            (at, recorded, steps.result(row), steps.rails(row)),
        )
    )
}

#[test]
fn a_row_of_a_real_run_is_the_same_live_and_from_its_records() {
    for name in CAPTURED {
        let history = history(name);
        let all = events(name);
        let later = joined(Vec::new(), &history);
        let later: Vec<String> = later.rows().iter().map(|row| facts(&later, row)).collect();
        // A stream that ended early, too.
        for seen in [all.len(), all.len() / 2] {
            let live = joined(all[..seen].to_vec(), &history);
            // The records have no rows of subgraphs.
            let mut rows = Vec::new();
            let mut at = 0;
            while let Some(row) = live.rows().get(at) {
                // Aegra's early history has only the newest checkpoint.
                if row.recorded.is_some() || name != "aegra-early" {
                    rows.push(facts(&live, row));
                }
                at += 1 + row.nested;
            }
            assert_eq!(rows, later, "{name}, {seen} events");
            if seen == all.len() {
                let places = live
                    .rows()
                    .iter()
                    .filter(|row| row.place().is_some())
                    .count();
                assert!(places > 0, "{name}");
            }
        }
    }
}
