//! All views stand at one event: whatever was gone to in one of them is found in each other one, and the way back leads
//! to where it began. For every event of every capture, and for every entry of every view.

use runtail_core::config::TapeLimits;
use runtail_stream::projection::{Message, Snapshot};
use runtail_stream::{Decoder, Frame, Framer, Item, Record, Seq};
use runtail_tui::features::stream::viewer::{VIEWS, View, Viewer};
use runtail_tui::session::msg::{ServerRef, StreamTarget};

/// The name of every captured stream, and what came of it.
fn streams() -> Vec<(String, Viewer)> {
    let mut paths: Vec<_> = std::fs::read_dir("tests/captures").unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let opened = |path: &std::path::PathBuf| {
        let viewer = viewer(std::fs::read(path).unwrap());
        (path.file_stem().unwrap().to_str().unwrap().to_string(), viewer)
    };
    let streams: Vec<_> = paths.iter().map(opened).filter(|(_, viewer)| viewer.tape.last_seq() > Seq(1)).collect();
    assert!(streams.len() > 80, "{}", streams.len());
    streams
}

fn viewer(body: Vec<u8>) -> Viewer {
    let server = ServerRef { profile: "p".into(), name: "s".into(), url: "http://127.0.0.1:2024".into() };
    let target = StreamTarget::Tail { thread: "t".into() };
    let start: jiff::Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
    let mut viewer = Viewer::new(1, server, target, &TapeLimits::default(), start, jiff::tz::TimeZone::UTC);
    let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
    framer.push(body.into());
    let mut items = Vec::new();
    while let Some(frame) = framer.next_frame() {
        if let Frame::Block(block) = frame
            && let Some(decoded) = decoder.decode(block)
        {
            let seq = items.len() as u64 + 1;
            let at = start + jiff::SignedDuration::from_millis(100 * seq as i64);
            items.push(Item::Record(Record::Event(decoded.at(Seq(seq), at, 1, false))));
        }
    }
    viewer.take(items);
    viewer
}

fn look_at(viewer: &mut Viewer, view: View) {
    viewer.show(view);
    viewer.prepare(&[(view, 100, 20)]);
}

/// The event that the view with the focus tells of under the cursor.
fn told(viewer: &Viewer) -> Option<Seq> {
    viewer.event_under_cursor().map(|event| event.seq)
}

/// Of entries in their order: the last one up to an event, else the first.
fn nearest(seqs: impl Iterator<Item = Seq>, seq: Seq) -> Option<Seq> {
    let seqs: Vec<Seq> = seqs.collect();
    seqs.iter().copied().rfind(|of| *of <= seq).or(seqs.first().copied())
}

/// The state that belongs to an event: its own, else the next one of the graph itself, else the one before.
fn state(viewer: &Viewer, seq: Seq) -> Option<Seq> {
    let rows = viewer.projections.values.rows();
    let root = |snapshot: &&Snapshot| snapshot.ns.is_empty();
    let own = rows.iter().find(|snapshot| snapshot.seq == seq);
    let after = rows.iter().find(|snapshot| snapshot.seq >= seq && root(snapshot));
    let before = rows.iter().rev().find(|snapshot| snapshot.seq < seq && root(snapshot));
    own.or(after).or(before).or(rows.last()).map(|snapshot| snapshot.seq)
}

/// Whether an event brought a part of the message's text.
fn was_said(message: &Message, seq: Seq) -> bool {
    message.spans.has(seq)
}

#[test]
fn every_event_is_found_in_every_view() {
    let mut said = 0;
    for (name, mut viewer) in streams() {
        for seq in (1..=viewer.tape.last_seq().0).map(Seq) {
            look_at(&mut viewer, View::Raw);
            viewer.go_to(seq);
            for view in VIEWS {
                look_at(&mut viewer, view);
                assert_eq!(viewer.anchor(), Some(seq), "{name}: {view:?} keeps the cursor");
                let told = told(&viewer);
                let p = &viewer.projections;
                let wanted = match view {
                    View::Raw => Some(seq),
                    View::Updates => nearest(p.updates.rows().iter().map(|row| row.seq), seq),
                    View::Custom => nearest(p.custom.rows().iter().map(|row| row.seq), seq),
                    View::Runs => nearest(p.lifecycle.rows().iter().map(|row| row.seq), seq),
                    View::State => state(&viewer, seq),
                    // A line of a message or a bar begins before much of what it tells of.
                    View::Messages => {
                        let mut messages = p.messages.items().iter().filter(|message| was_said(message, seq));
                        if messages.clone().next().is_some() {
                            let copied = viewer.copy_text();
                            assert!(messages.any(|m| Some(&m.text) == copied.as_ref()), "{name}, {seq}: {copied:?}");
                            said += 1;
                        }
                        // What told of no message stands at the newest.
                        let touched = |m: &Message| m.last_seq == seq || m.tool_calls.iter().any(|c| c.seq == seq);
                        let newest = p.messages.items().iter().rev().find(|m| m.first_seq <= seq);
                        if let Some(newest) = newest.filter(|_| !p.messages.items().iter().any(touched)) {
                            assert!(told >= Some(newest.first_seq) || was_said(newest, seq), "{name}, {seq}: {told:?}");
                        }
                        match p.messages.items().first() {
                            Some(first) => told.filter(|told| *told <= seq).or(Some(first.first_seq)),
                            // Without a message there are the rules where runs end.
                            None => nearest(p.status.runs().iter().filter_map(|run| run.end_seq), seq),
                        }
                    }
                    View::Timeline => {
                        let mut bars = p.timeline.bars().iter().filter(|bar| bar.covers(seq));
                        if bars.clone().next().is_some() {
                            assert!(bars.any(|bar| Some(bar.first_seq) == told), "{name}, {seq}: {told:?}");
                        }
                        let first = p.timeline.attempts().next().map(|(_, attempt)| attempt.first_seq);
                        told.filter(|told| *told <= seq).or(first)
                    }
                    View::Delivery => continue,
                };
                assert_eq!(told, wanted, "{name}: event {seq} in {view:?}");
            }
            look_at(&mut viewer, View::Raw);
            assert_eq!(told(&viewer), Some(seq), "{name}: back at it");
        }
    }
    assert!(said > 100, "tokens that were gone to: {said}");
}

#[test]
fn every_entry_leads_to_its_event_and_back() {
    for (name, mut viewer) in streams() {
        for view in VIEWS.into_iter().filter(|view| *view != View::Delivery) {
            look_at(&mut viewer, view);
            viewer.to_start();
            if view == View::State {
                (0..viewer.count(view)).for_each(|_| viewer.step_state(-1));
            }
            let mut visited = Vec::new();
            loop {
                viewer.prepare(&[(view, 100, 20)]);
                let Some(at) = viewer.anchor() else { break };
                let lines = shown(&viewer, view);
                assert_eq!(told(&viewer), Some(at), "{name}, {view:?}: the cursor of all views is at its entry");
                look_at(&mut viewer, View::Raw);
                assert_eq!(told(&viewer), Some(at), "{name}: from {view:?} to its event");
                look_at(&mut viewer, view);
                assert_eq!(shown(&viewer, view), lines, "{name}: back in {view:?}");
                // Two states may look alike.
                let entry = (at, lines);
                if visited.last() == Some(&entry) || visited.len() > 200 {
                    break;
                }
                visited.push(entry);
                match view {
                    View::State => viewer.step_state(1),
                    _ => viewer.step(1, false),
                }
            }
            if viewer.count(view) > 1 {
                assert!(visited.len() > 1, "{name}, {view:?}: {} entries, one was seen", viewer.count(view));
            }
            viewer.follow();
        }
    }
}

/// The lines of a view's window, each with whether the cursor is on it.
fn shown(viewer: &Viewer, view: View) -> Vec<(String, bool)> {
    let text = |line: &runtail_tui::widgets::line::Line| line.left.iter().map(|piece| piece.text.as_str()).collect();
    viewer.window(view).iter().map(|(line, marked)| (text(line), *marked)).collect()
}
