//! All views share one cursor: an event selected in one view is selected in every other view, and switching back returns
//! to it. Checked for every event of every capture, and for every entry of every view.

use runtail_core::config::EventLogLimits;
use runtail_stream::projection::{Message, Snapshot};
use runtail_stream::{Decoder, Frame, Framer, Item, Record, Seq};
use runtail_tui::features::stream::viewer::Viewer;
use runtail_tui::features::stream::views::{VIEWS, View};
use runtail_tui::session::msg::{ServerRef, StreamTarget};
use runtail_tui::widgets::scroll::LinePos;

/// Returns the name of every captured stream, and a viewer that received it.
fn streams() -> Vec<(String, Viewer)> {
    let captures = std::fs::read_dir("tests/captures")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = captures
        .filter(|path| path.extension().is_some_and(|end| end == "sse"))
        .collect();
    paths.sort();
    let opened = |path: &std::path::PathBuf| {
        let viewer = viewer(std::fs::read(path).unwrap());
        (
            path.file_stem().unwrap().to_str().unwrap().to_string(),
            viewer,
        )
    };
    let streams: Vec<_> = paths
        .iter()
        .map(opened)
        .filter(|(_, viewer)| viewer.event_log.last_seq() > Seq(1))
        .collect();
    assert!(streams.len() > 80, "{}", streams.len());
    streams
}

pub fn viewer(body: Vec<u8>) -> Viewer {
    let server = ServerRef {
        profile: "p".into(),
        name: "s".into(),
        url: "http://127.0.0.1:2024".into(),
    };
    let target = StreamTarget::Tail { thread: "t".into() };
    let start: jiff::Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
    let mut viewer = Viewer::new(
        1,
        server,
        target,
        &EventLogLimits::default(),
        start,
        jiff::tz::TimeZone::UTC,
    );
    let (mut framer, mut decoder) = (Framer::new(64 << 20), Decoder::default());
    framer.push(body.into());
    let mut items = Vec::new();
    while let Some(frame) = framer.next_frame() {
        if let Frame::Block(block) = frame
            && let Some(decoded) = decoder.decode(block)
        {
            let seq = items.len() as u64 + 1;
            let at = start + jiff::SignedDuration::from_millis(100 * seq as i64);
            items.push(Item::Record(Record::Event(decoded.at(
                Seq(seq),
                at,
                1,
                false,
            ))));
        }
    }
    viewer.take(items);
    viewer
}

fn show_view(viewer: &mut Viewer, view: View) {
    viewer.show(view);
    viewer.prepare(&[(view, 100, 20)]);
}

/// Returns the event under the cursor of the focused view.
fn selected(viewer: &Viewer) -> Option<Seq> {
    viewer.event_under_cursor().map(|event| event.seq)
}

/// Returns the last entry up to an event, or else the first entry.
fn nearest(seqs: impl Iterator<Item = Seq>, seq: Seq) -> Option<Seq> {
    let seqs: Vec<Seq> = seqs.collect();
    seqs.iter()
        .copied()
        .rfind(|entry| *entry <= seq)
        .or(seqs.first().copied())
}

/// Returns the state of an event: its own, else the next state of the root graph, else the previous one.
fn state(viewer: &Viewer, seq: Seq) -> Option<Seq> {
    let rows = viewer.projections.values.rows();
    let root = |snapshot: &&Snapshot| snapshot.ns.is_empty();
    let own = rows.iter().find(|snapshot| snapshot.seq == seq);
    let after = rows
        .iter()
        .find(|snapshot| snapshot.seq >= seq && root(snapshot));
    let before = rows
        .iter()
        .rev()
        .find(|snapshot| snapshot.seq < seq && root(snapshot));
    own.or(after)
        .or(before)
        .or(rows.last())
        .map(|snapshot| snapshot.seq)
}

/// Returns whether an event contains a part of the message's text.
fn has_text_of(message: &Message, seq: Seq) -> bool {
    message.spans.has(seq)
}

#[test]
fn cursor_event_is_selected_in_every_view() {
    let mut checked = 0;
    for (name, mut viewer) in streams() {
        for seq in (1..=viewer.event_log.last_seq().0).map(Seq) {
            show_view(&mut viewer, View::Events);
            viewer.go_to(seq);
            for view in VIEWS {
                show_view(&mut viewer, view);
                assert_eq!(
                    viewer.anchor(),
                    Some(seq),
                    "{name}: {view:?} keeps the cursor"
                );
                let selected = selected(&viewer);
                let p = &viewer.projections;
                let expected = match view {
                    View::Events => Some(seq),
                    View::Steps => {
                        // A folded row selects the one that hides it.
                        let (mut places, mut hidden, mut outer) = (Vec::new(), 0, None);
                        for row in viewer.views.steps.steps().rows() {
                            if hidden == 0 {
                                (hidden, outer) = (row.nested + 1, row.place());
                            }
                            hidden -= 1;
                            places.extend(row.place().map(|place| (place, outer)));
                        }
                        places.sort_unstable();
                        let place = nearest(places.iter().map(|(place, _)| *place), seq);
                        let of_place = |(at, _): &&(Seq, Option<Seq>)| Some(*at) == place;
                        places.iter().rfind(of_place).and_then(|(_, outer)| *outer)
                    }
                    // A run is at its last event.
                    View::Runs => {
                        let is_within = |at: Seq| at >= seq || p.landmarks.run_at(seq).is_none();
                        let before = p.status.runs().iter().all(|run| run.first_seq > Some(seq));
                        assert!(
                            before || selected.is_none_or(is_within),
                            "{name}, {seq}: {selected:?}"
                        );
                        selected
                    }
                    View::State => state(&viewer, seq),
                    // A message line or a bar starts before most of its events.
                    View::Messages => {
                        let mut messages = p
                            .messages
                            .items()
                            .iter()
                            .filter(|message| has_text_of(message, seq));
                        if messages.clone().next().is_some() {
                            let copied = viewer.copy_text();
                            assert!(
                                messages.any(|m| Some(&m.text) == copied.as_ref()),
                                "{name}, {seq}: {copied:?}"
                            );
                            checked += 1;
                        }
                        // An event without a message selects the newest message.
                        let touched = |m: &Message| {
                            m.last_seq == seq || m.tool_calls.iter().any(|c| c.seq == seq)
                        };
                        let newest = p.messages.items().iter().rev().find(|m| m.first_seq <= seq);
                        if let Some(newest) =
                            newest.filter(|_| !p.messages.items().iter().any(touched))
                        {
                            assert!(
                                selected >= Some(newest.first_seq) || has_text_of(newest, seq),
                                "{name}, {seq}: {selected:?}"
                            );
                        }
                        match p.messages.items().first() {
                            Some(first) => selected
                                .filter(|selected| *selected <= seq)
                                .or(Some(first.first_seq)),
                            // Without messages, the view has lines about runs.
                            None => {
                                let messages = View::Messages.of();
                                let seqs = messages.keys(&viewer).filter_map(|key| {
                                    messages.seq_at(&viewer, LinePos { key, line: 0 })
                                });
                                let mut seqs: Vec<Seq> = seqs.collect();
                                seqs.sort_unstable();
                                nearest(seqs.into_iter(), seq)
                            }
                        }
                    }
                    View::Timeline => {
                        let mut bars = p.timeline.bars().iter().filter(|bar| bar.covers(seq));
                        if bars.clone().next().is_some() {
                            assert!(
                                bars.any(|bar| Some(bar.first_seq) == selected),
                                "{name}, {seq}: {selected:?}"
                            );
                        }
                        // Before the first bar of a run, that bar is selected.
                        selected
                    }
                    View::Graph => continue,
                };
                assert_eq!(selected, expected, "{name}: event {seq} in {view:?}");
            }
            show_view(&mut viewer, View::Events);
            assert_eq!(selected(&viewer), Some(seq), "{name}: back in Events");
        }
    }
    assert!(checked > 100, "events with text of a message: {checked}");
}

#[test]
fn switching_views_and_back_keeps_the_entry() {
    for (name, mut viewer) in streams() {
        // The first row of Runs follows new events, like the last one of the others.
        for view in VIEWS
            .into_iter()
            .filter(|view| !matches!(view, View::Runs | View::Graph))
        {
            show_view(&mut viewer, view);
            viewer.to_start();
            if view == View::State {
                (0..viewer.count(view)).for_each(|_| drop(viewer.step_state(false)));
            }
            let mut visited = Vec::new();
            loop {
                viewer.prepare(&[(view, 100, 20)]);
                let Some(at) = viewer.anchor() else { break };
                let lines = shown(&viewer, view);
                assert_eq!(
                    selected(&viewer),
                    Some(at),
                    "{name}, {view:?}: the shared cursor is on its entry"
                );
                show_view(&mut viewer, View::Events);
                assert_eq!(
                    selected(&viewer),
                    Some(at),
                    "{name}: from {view:?} to its event"
                );
                show_view(&mut viewer, view);
                assert_eq!(shown(&viewer, view), lines, "{name}: back in {view:?}");
                // Two states may look alike.
                let entry = (at, lines);
                if visited.last() == Some(&entry) || visited.len() > 200 {
                    break;
                }
                visited.push(entry);
                match view {
                    View::State => drop(viewer.step_state(true)),
                    _ => viewer.step(1, false),
                }
            }
            // The newest run may have a single row in Timeline, which shows one run.
            if viewer.count(view) > 1 && view != View::Timeline {
                assert!(
                    visited.len() > 1,
                    "{name}, {view:?}: {} entries, but only one was visited",
                    viewer.count(view)
                );
            }
            viewer.follow();
        }
    }
}

/// The lines of a view's window, each with whether the cursor is on it.
fn shown(viewer: &Viewer, view: View) -> Vec<(String, bool)> {
    let text = |line: &runtail_tui::widgets::line::Line| {
        line.left.iter().map(|piece| piece.text.as_str()).collect()
    };
    viewer
        .window(view)
        .iter()
        .map(|(line, marked)| (text(line), *marked))
        .collect()
}
