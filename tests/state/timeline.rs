//! Timeline bars from real streams: all stream modes give the same nodes in the same order and tree.

use bytes::Bytes;
use jiff::Timestamp;
use proptest::prelude::*;
use runtail_stream::projection::{
    Attempt, Bar, BarKind, BarState, Projections, Timeline, message_key,
};
use runtail_stream::{Data, Decoder, End, Event, Frame, Framer, Item, Outcome, Record, Seq};
use runtail_tui::features::stream::views::timeline::rows::{Frame as TimelineFrame, TimelineRows};
use runtail_tui::widgets::scroll::Place;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Returns the events of a capture, 10ms apart.
pub(super) fn events(name: &str) -> Vec<Event> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/captures/{name}.sse"));
    let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
    framer.push(Bytes::from(std::fs::read(path).unwrap()));
    let mut events = Vec::new();
    while let Some(frame) = framer.next_frame() {
        if let Frame::Block(block) = frame {
            events.extend(decoder.decode(block));
        }
    }
    let at = |seq: u64| Timestamp::from_millisecond(1_800_000_000_000 + 10 * seq as i64).unwrap();
    events
        .into_iter()
        .zip(1..)
        .map(|(event, seq)| event.at(Seq(seq), at(seq), 1, false))
        .collect()
}

pub(super) fn project(events: impl IntoIterator<Item = Event>) -> Projections {
    let mut projections = Projections::default();
    for event in events {
        projections.apply(&Item::Record(Record::Event(event)));
    }
    projections
}

fn millis(from: Timestamp, to: Timestamp) -> i128 {
    to.duration_since(from).as_millis()
}

/// Returns lines of `step kind name from–to state`, indented by depth.
fn tree(timeline: &Timeline) -> String {
    let mut out = String::new();
    for (_, attempt) in timeline.attempts() {
        let sources: Vec<&str> = attempt.sources().map(|s| s.word()).collect();
        let ended = attempt
            .ended
            .map_or("…".into(), |e| millis(attempt.started, e).to_string());
        let _ = writeln!(
            out,
            "attempt {} {:?} {ended} ms {:?} {}",
            attempt.number,
            attempt.state,
            attempt.clock,
            sources.join(" ")
        );
        branch(timeline, attempt, &attempt.children, 1, &mut out);
    }
    out
}

fn branch(timeline: &Timeline, attempt: &Attempt, keys: &[u64], depth: usize, out: &mut String) {
    for &key in keys {
        let bar = timeline.bar(key).unwrap();
        let step = timeline.step(bar).map_or("-".into(), |s| s.to_string());
        let ended = bar
            .ended
            .map_or("…".into(), |e| millis(attempt.started, e).to_string());
        let started = millis(attempt.started, bar.started);
        let (estimate, indent) = (if bar.estimated { "~" } else { "" }, "  ".repeat(depth));
        let _ = write!(
            out,
            "{indent}{step} {:?} {} {estimate}{started}–{ended} {:?} {}",
            bar.kind,
            bar.name,
            bar.state,
            bar.source.word()
        );
        let _ = writeln!(out, " {}", bar.detail.as_deref().unwrap_or_default());
        branch(timeline, attempt, &bar.children, depth + 1, out);
    }
}

/// Returns the nodes of a capture in tree order: depth, step and name.
fn nodes(name: &str) -> Vec<String> {
    let tree = tree(&project(events(name)).timeline);
    let node = |line: &str| {
        let mut words = line.split_whitespace();
        let (step, kind, name) = (words.next()?, words.next()?, words.next()?);
        let depth = (line.len() - line.trim_start().len()) / 2;
        (kind == "Node").then(|| format!("{depth} {step} {name}"))
    };
    tree.lines().filter_map(node).collect()
}

#[test]
fn all_modes_give_the_same_nodes() {
    let modes = [
        "tasks",
        "debug",
        "events",
        "updates",
        "checkpoints",
        "messages-tuple",
    ];
    for (server, modes) in [
        ("", &modes[..]),
        ("js-", &modes[..]),
        ("aegra-", &modes[..]),
    ] {
        for mode in modes {
            let name = format!("{server}agent-{mode}");
            assert_eq!(
                nodes(&name),
                ["1 1 chat", "1 2 tools", "1 3 chat"],
                "{name}"
            );
        }
    }
    let fanout = [
        "1 1 left",
        "1 1 middle",
        "1 1 right",
        "1 1 sub",
        "2 1 sub_a",
        "2 2 sub_b",
        "1 2 join",
    ];
    for name in [
        "fanout-debug-subgraphs",
        "fanout-events-subgraphs",
        "fanout-many-subgraphs",
        "aegra-fanout-many",
    ] {
        assert_eq!(nodes(name), fanout, "{name}");
    }
    assert_eq!(
        nodes("js-fanout-many"),
        [
            "1 1 left",
            "1 1 right",
            "1 1 sub",
            "2 1 sub_a",
            "2 2 sub_b",
            "1 2 join"
        ]
    );
    assert_eq!(
        nodes("fanout-many-nosub"),
        ["1 1 left", "1 1 middle", "1 1 right", "1 1 sub", "1 2 join"]
    );
    assert_eq!(
        nodes("thread-all-modes"),
        ["1 1 sub", "1 1 left", "1 1 middle", "1 1 right", "1 2 join"]
    );
}

#[test]
fn bars_are_built_from_every_kind_of_stream() {
    let mut all = String::new();
    for name in [
        "agent-debug",
        "agent-events",
        "agent-updates",
        "agent-messages-tuple",
        "js-agent-messages",
        "aegra-agent-messages",
        "fanout-many-subgraphs",
        "fanout-both-messages",
        "approval-interrupt",
        "approval-resume",
        "broken-values",
        "js-broken",
        "thread-all-modes",
        "v2-events-agent",
        "v2-events-fanout",
        "v2-events-approval",
        "js-v2-events-agent",
    ] {
        all.push_str(&format!(
            "== {name}\n{}",
            tree(&project(events(name)).timeline)
        ));
    }
    insta::assert_snapshot!(all);
}

fn check(timeline: &Timeline) {
    let first = timeline.bars().evicted();
    let mut reached = Vec::new();
    for (number, attempt) in timeline.attempts() {
        assert!(attempt.ended.is_none_or(|ended| ended >= attempt.started));
        let mut next: Vec<u64> = attempt.children.iter().rev().copied().collect();
        while let Some(key) = next.pop() {
            let bar = timeline.bar(key).unwrap();
            assert_eq!(bar.attempt, number);
            assert!(
                bar.ended.is_none_or(|ended| ended >= bar.started),
                "{bar:?}"
            );
            assert_eq!(
                bar.ended.is_none(),
                bar.state == BarState::Running,
                "{bar:?}"
            );
            assert!(bar.first_seq <= bar.last_seq);
            assert!(attempt.ended.is_none() || bar.ended.is_some(), "{bar:?}");
            assert!(
                bar.children
                    .iter()
                    .all(|child| *child > key && timeline.bar(*child).unwrap().parent == Some(key))
            );
            reached.push(key);
            next.extend(bar.children.iter().rev());
        }
    }
    reached.sort_unstable();
    let all: Vec<u64> = (first..first + timeline.bars().len() as u64).collect();
    assert_eq!(reached, all);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Events of all kinds of runs in random order, some with malformed data.
    #[test]
    fn random_event_order_keeps_the_tree_consistent(
        picks in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..40), 0..200),
        end in any::<bool>(),
    ) {
        let all = ALL.get_or_init(|| {
            let names = ["agent-tasks", "broken-values", "fanout-many-subgraphs", "js-agent-messages", "aegra-agent-events",
                "fanout-debug-subgraphs", "agent-messages-tuple", "js-v2-events-agent", "v2-events-fanout", "thread-all-modes",
                "approval-interrupt", "agent-checkpoints"];
            names.iter().flat_map(|name| events(name)).collect()
        });
        let mut projections = Projections::default();
        for (seq, (pick, twist)) in (1..).zip(&picks) {
            let mut event = pick.get(all).clone();
            event.seq = Seq(seq);
            let text = event.data.text();
            match twist {
                // A clock that jumps back.
                0 => event.at = Timestamp::UNIX_EPOCH,
                1 => event.data = Data::Json("null".into()),
                2 => event.data = Data::Malformed(text.chars().take(text.len() / 2).collect::<String>().into()),
                3 => event.ns = [Arc::from(":"), Arc::from(""), Arc::from("1"), Arc::from("x:")].into(),
                4 => event.data = Data::Json(text.replace("\"id\"", "\"no\"").into()),
                _ => {}
            }
            projections.apply(&Item::Record(Record::Event(event)));
            check(&projections.timeline);
        }
        if end {
            projections.apply(&Item::Record(Record::End(End { outcome: Outcome::Success, ..End::default() })));
            check(&projections.timeline);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Rows updated incrementally equal rows built from the whole tree, and a scroll position stays at its bar.
    #[test]
    fn incremental_rows_match_rebuilt_rows(batches in proptest::collection::vec((1usize..30, any::<prop::sample::Index>()), 1..12)) {
        let names = ["fanout-many-subgraphs", "thread-all-modes", "agent-events", "js-agent-messages"];
        let mut events = names.iter().flat_map(|name| events(name)).zip(1..);
        let mut projections = Projections::default();
        let (mut rows, mut place) = (TimelineRows::default(), Place::at_start());
        let now = Timestamp::from_second(1_800_000_010).unwrap();
        for (batch, pick) in batches {
            for (mut event, seq) in events.by_ref().take(batch) {
                event.seq = Seq(seq);
                projections.apply(&Item::Record(Record::Event(event)));
            }
            let timeline = &projections.timeline;
            // The row of a run without bars disappears with its first bar.
            let was_bar = rows.is_bar(place.cursor.key);
            let before = rows.seq_at(timeline, place.cursor.key);
            // The same run is shown, unless there is no cursor.
            let frame = TimelineFrame { now, anchor: before, width: 100, height: 30, has_badge: true, run: None };
            rows.prepare(&projections, frame, &mut place);
            prop_assert!(!was_bar || rows.seq_at(timeline, place.cursor.key) == before);
            let mut rebuilt = TimelineRows::default();
            rebuilt.prepare(&projections, frame, &mut Place::at_start());
            prop_assert_eq!(rows.around(), rebuilt.around());
            let lines = |rows: &TimelineRows| (0..rows.len()).map(|key| rows.line(&projections, key, 100)).collect::<Vec<_>>();
            prop_assert_eq!(lines(&rows), lines(&rebuilt));
            if !rows.is_empty() {
                place.cursor.key = pick.index(rows.len() as usize) as u64;
            }
        }
    }
}

static ALL: OnceLock<Vec<Event>> = OnceLock::new();

#[test]
fn every_capture_gives_a_consistent_tree() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    for file in std::fs::read_dir(dir).unwrap() {
        let path = file.unwrap().path();
        if let Some(name) = path
            .file_stem()
            .and_then(|s| s.to_str())
            .filter(|_| path.extension().is_some_and(|e| e == "sse"))
        {
            check(&project(events(name)).timeline);
        }
    }
}

#[test]
fn a_model_call_includes_its_time_to_first_token() {
    let mut calls = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".sse"))
        else {
            continue;
        };
        let projections = project(events(name));
        for message in projections.messages.items() {
            let (Some(first), Some(id)) = (message.first_token(), message.id.as_deref()) else {
                continue;
            };
            let is_of =
                |bar: &&Bar| bar.kind == BarKind::Model && bar.id() == Some(message_key(id));
            let Some(took) = projections
                .timeline
                .bars()
                .iter()
                .find(is_of)
                .and_then(Bar::took)
            else {
                continue;
            };
            assert!(first.after <= took, "{name}: {first:?} of {took:?}");
            calls += 1;
        }
    }
    assert!(calls > 10, "{calls}");
}
