//! Time travel: every view follows the playhead while the stream keeps running, and the live view is unaffected.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use runtail_stream::{Item, Outcome, Reader, Record, Seq, SnapshotPart, write_record};
use runtail_testkit::dash::{Dash, demo_like, demo_thread};
use runtail_testkit::made;
use runtail_tui::features::stream::viewer::Playhead;
use runtail_tui::features::stream::views::{VIEWS, View};
use runtail_tui::session::msg::Msg;
use serde_json::json;
use std::time::Duration;

fn opened(capture: &str) -> Dash {
    opened_in((120, 40), capture)
}

fn opened_in(size: (u16, u16), capture: &str) -> Dash {
    let mut dash = demo_thread(size);
    dash.capture_now(capture);
    dash
}

/// Returns the lines of all views.
fn views(dash: &mut Dash) -> Vec<String> {
    let mut all = Vec::new();
    for view in &VIEWS {
        dash.keys(&view.digit().to_string());
        dash.screen();
        let lines = dash.lines(*view).into_iter();
        all.push(lines.map(|(line, _)| line + "\n").collect());
    }
    all
}

/// Removes the differences between a live stream, which loads the outcome of a run, and a recording, which can't.
fn normalized(views: Vec<String>) -> Vec<String> {
    let same = |view: String| {
        view.replace("ended · loading the outcome", "outcome unknown")
            .replace("loading the outcome", "outcome unknown")
            .replace('─', "")
    };
    views.into_iter().map(same).collect()
}

/// Returns the views of a stream that ended with this event.
fn stopped_at(capture: &str, position: usize) -> Vec<String> {
    let mut whole = opened(capture);
    let mut events = whole.events();
    events.truncate(position);
    let (_, open) = whole.connections().swap_remove(0);
    let mut dash = demo_thread((120, 40));
    // Before the first event there is no connection either.
    let mut items = if position > 0 {
        vec![Item::Record(open)]
    } else {
        Vec::new()
    };
    items.extend(
        events
            .iter()
            .cloned()
            .map(|event| Item::Record(Record::Event(event))),
    );
    dash.now = events.last().map_or(whole.now, |event| event.at);
    whole.keys("1");
    dash.items(items);
    let with_line = views(&mut dash);
    // Time travel adds a line to the header, which otherwise only the state view has.
    dash.resize(120, 39);
    let mut all = views(&mut dash);
    all[View::State as usize].clone_from(&with_line[View::State as usize]);
    all
}

fn playhead(dash: &Dash) -> Playhead {
    dash.playhead().expect("time travel is on")
}

/// Ticks until the seek is complete, and returns the number of ticks.
fn finish(dash: &mut Dash) -> usize {
    let mut ticks = 0;
    while dash
        .next_tick()
        .is_some_and(|pause| pause < Duration::from_millis(100))
    {
        dash.feed(Msg::Tick);
        ticks += 1;
        assert!(ticks < 10_000, "the seek never ends");
    }
    ticks
}

#[test]
fn time_travel_is_shown_in_the_header() {
    let mut dash = opened("agent-messages-tuple");
    dash.keys("<<<");
    insta::assert_snapshot!("past_paused", dash.screen());
    let at = playhead(&dash).at;
    dash.keys(",");
    assert_eq!(playhead(&dash).at, at.previous());
    dash.keys("..");
    assert_eq!(playhead(&dash).at, at + 1);
    dash.keys("G");
    assert_eq!(dash.playhead(), None);
    dash.lacks("PAST");
}

#[test]
fn live_view_is_unaffected_by_time_travel() {
    let mut dash = opened("fanout-many-subgraphs");
    let mut plain = opened("fanout-many-subgraphs");
    dash.keys("<<<<");
    views(&mut dash);
    let at = playhead(&dash).at;
    for dash in [&mut dash, &mut plain] {
        dash.event("custom", r#"{"late":1}"#);
        dash.retrying(2, 3, "connection reset");
        dash.event("values", r#"{"messages":[]}"#);
        dash.end(Outcome::Success);
    }
    assert_eq!(playhead(&dash).at, at, "new events don't move the playhead");
    dash.shows("PAST");
    dash.keys("G");
    assert_eq!(views(&mut dash), views(&mut plain));
}

#[test]
fn playback_uses_arrival_times() {
    // These events have no server times, so playback uses arrival times.
    let mut dash = opened("agent-messages-tuple");
    let newest = span(&dash).1;
    dash.end(Outcome::Success);
    dash.screen();
    dash.keys(":replay<Enter>");
    assert!(playhead(&dash).playing && playhead(&dash).at <= Seq(1));
    // One event every 0.1s.
    dash.later(550);
    dash.feed(Msg::Tick);
    dash.screen();
    assert_eq!(
        playhead(&dash).at,
        Seq(6),
        "the first event is played immediately"
    );
    dash.keys("<Space>");
    dash.later(1000);
    dash.feed(Msg::Tick);
    assert_eq!(
        (playhead(&dash).at, playhead(&dash).playing),
        (Seq(6), false)
    );
    dash.keys("SS<Space>");
    dash.later(100);
    dash.feed(Msg::Tick);
    dash.screen();
    assert_eq!(playhead(&dash).at, Seq(16.min(newest.0)));
    dash.keys("S");
    finish(&mut dash);
    assert_eq!(dash.playhead(), None, "playback ends in the live view");
}

/// If the clock is set back by hours, playback continues from the current position.
#[test]
fn clock_set_back_does_not_stop_playback() {
    let mut dash = opened("agent-messages-tuple");
    dash.end(Outcome::Success);
    dash.screen();
    dash.keys(":replay<Enter>");
    let mut tick = |milliseconds| {
        dash.later(milliseconds);
        dash.feed(Msg::Tick);
        dash.screen();
        playhead(&dash).at
    };
    assert_eq!([tick(550), tick(-7_200_000), tick(350)], [6, 6, 9].map(Seq));
}

#[test]
fn later_events_are_hidden_in_time_travel() {
    let mut dash = opened("agent-messages-tuple");
    let newest = span(&dash).1;
    // A mark on the newest event and one on the fifth.
    dash.keys("6");
    for seq in [newest, Seq(5)] {
        dash.go_to(seq);
        dash.keys("m");
    }
    viewer_at(&mut dash, 10);
    let marked = |dash: &Dash| dash.marks(View::Events);
    dash.screen();
    assert_eq!(marked(&dash), 1);
    dash.keys("\"");
    dash.screen();
    assert_eq!(dash.position(), Some(Seq(5)));
    dash.keys("'");
    assert_eq!(
        dash.position(),
        Some(Seq(5)),
        "there is no later mark at this position"
    );
    dash.shows("No later mark");
    dash.keys("G");
    dash.screen();
    assert_eq!(marked(&dash), 2);
}

#[test]
fn answered_questions_stay_answered_in_time_travel() {
    let mut dash = opened("agent-messages-tuple");
    dash.event(
        "updates",
        r#"{"__interrupt__":[{"id":"i1","value":"send 5 EUR?"}]}"#,
    );
    dash.event(
        "metadata",
        r#"{"run_id":"01a1fbb5-1743-72b0-bac9-4236eccc288a","status":"run_done"}"#,
    );
    let question = span(&dash).1;
    assert_eq!(dash.questions(), 1);
    dash.event(
        "metadata",
        r#"{"run_id":"01a1fbb5-0000-7000-8000-00000000000a","attempt":1}"#,
    );
    assert_eq!(dash.questions(), 0);
    viewer_at(&mut dash, question.0);
    assert_eq!(dash.questions(), 0);
}

fn viewer_at(dash: &mut Dash, position: u64) {
    dash.seek_to(Seq(position));
    finish(dash);
}

/// Returns the row and the columns of the slider on screen.
fn slider(dash: &mut Dash) -> (u16, std::ops::Range<u16>) {
    let screen = dash.screen();
    let (row, line) = screen
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains("PAST ") && line.contains("event "))
        .unwrap();
    let drawn: Vec<u16> = (0..)
        .zip(line.chars())
        .skip(10)
        .filter(|(_, c)| "━●─".contains(*c))
        .map(|(x, _)| x)
        .collect();
    (row as u16, drawn[0]..drawn[drawn.len() - 1] + 1)
}

#[test]
fn slider_follows_the_mouse() {
    let mut dash = demo_thread((140, 40));
    dash.items(many(10_000));
    dash.keys("<");
    finish(&mut dash);
    let (row, columns) = slider(&mut dash);
    let last = columns.end - 1;
    for (x, at) in [
        (columns.start, 0),
        (last, 10_000),
        ((columns.start + last) / 2, 5_000),
    ] {
        dash.feed(Msg::Click { x, y: row });
        finish(&mut dash);
        let near = 10_000 / u64::from(last - columns.start);
        assert!(
            playhead(&dash).at.0.abs_diff(at) <= near,
            "{x}: {:?}",
            playhead(&dash)
        );
        let line = dash.screen().lines().nth(row.into()).unwrap().to_string();
        assert_eq!(
            line.chars().nth(x.into()),
            Some('●'),
            "the slider is where the click was: {line}"
        );
    }
    // While dragging, the slider follows the pointer outside its row and beyond its ends.
    dash.feed(Msg::Drag { x: 0, y: row + 9 });
    assert_eq!(playhead(&dash).at, Seq(0));
    dash.feed(Msg::Drag { x: 139, y: 0 });
    finish(&mut dash);
    assert_eq!(playhead(&dash).at, Seq(10_000));
    // A drag that started elsewhere, or in the live view, moves nothing.
    dash.feed(Msg::Click {
        x: columns.start,
        y: row + 3,
    });
    dash.feed(Msg::Drag {
        x: columns.start,
        y: row,
    });
    assert_eq!(playhead(&dash).at, Seq(10_000));
    dash.feed(Msg::Click { x: last, y: row });
    dash.keys("G");
    dash.feed(Msg::Drag {
        x: columns.start,
        y: row,
    });
    assert_eq!(dash.playhead(), None);
}

#[test]
fn export_in_time_travel_ends_at_the_playhead() {
    let mut dash = opened("agent-messages-tuple");
    dash.end(Outcome::Success);
    viewer_at(&mut dash, 6);
    let records = dash.exported(View::Events);
    assert_eq!(
        records
            .iter()
            .filter(|record| matches!(record, Record::Event(_)))
            .count(),
        6
    );
    assert!(
        !records
            .iter()
            .any(|record| matches!(record, Record::End(_))),
        "{records:?}"
    );
}

fn span(dash: &Dash) -> (Seq, Seq) {
    dash.span()
}

/// Creates this many small events.
fn many(count: u64) -> Vec<Item> {
    let at: Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
    let event = |seq: u64| {
        let at = at + SignedDuration::from_micros(seq as i64);
        Item::Record(Record::Event(made::event(
            seq,
            at,
            "custom",
            &format!(r#"{{"n":{seq}}}"#),
        )))
    };
    (1..=count).map(event).collect()
}

#[test]
fn distant_seeks_take_few_ticks() {
    let mut dash = demo_thread((120, 40));
    dash.items(many(60_000));
    dash.screen();
    for target in [30_001, 59_999, 1, 45_000, 44_999, 44_990, 60_000, 0] {
        dash.seek_to(Seq(target));
        // Only the events after the nearest checkpoint are applied.
        let ticks = finish(&mut dash);
        assert!(ticks <= 4, "{target}: {ticks}");
        assert_eq!(
            (playhead(&dash).at, playhead(&dash).span),
            (Seq(target), (Seq(0), Seq(60_000)))
        );
        assert_eq!(dash.received(), target);
    }
    // Steps back by single events are immediate.
    dash.seek_to(Seq(30_000));
    finish(&mut dash);
    for at in (29_000..30_000).rev() {
        dash.keys(",");
        assert_eq!(playhead(&dash).at, Seq(at));
    }
}

/// Writes the shown stream as a recording and reads it again.
fn recorded(dash: &Dash) -> Vec<Item> {
    let (mut lines, connections) = (Vec::new(), dash.connections());
    let mut connections = connections.iter().peekable();
    for event in dash.events() {
        while let Some((_, record)) = connections.next_if(|(after, _)| *after < event.seq) {
            write_record(&mut lines, record).unwrap();
        }
        write_record(&mut lines, &Record::Event(event)).unwrap();
    }
    connections.for_each(|(_, record)| write_record(&mut lines, record).unwrap());
    Reader::new(std::io::Cursor::new(lines))
        .unwrap()
        .map(|read| Item::Record(read.unwrap()))
        .collect()
}

#[test]
fn recording_shows_the_same_views_as_the_ended_stream() {
    let captures = std::fs::read_dir("tests/captures")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut captures: Vec<_> = captures
        .filter(|path| path.extension().is_some_and(|end| end == "sse"))
        .collect();
    captures.sort();
    let mut compared = 0;
    for path in captures.iter().step_by(2) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut live = opened_in((200, 40), name);
        if live.events().len() < 2 {
            continue;
        }
        live.end(Outcome::Success);
        let mut again = demo_like((200, 40));
        again.now = live.now;
        again.open_recording("a.jsonl".into());
        // In one batch, or event by event.
        match compared % 2 {
            0 => again.items(recorded(&live)),
            _ => recorded(&live)
                .into_iter()
                .for_each(|item| again.items(vec![item])),
        }
        let live_views = normalized(views(&mut live));
        assert_eq!(live_views, normalized(views(&mut again)), "{name}");
        // Playing it from the start and jumping to its end give the same views.
        again.keys("SSSR");
        finish(&mut again);
        assert_eq!(again.playhead(), None, "{name}");
        assert_eq!(live_views, normalized(views(&mut again)), "{name}, played");
        again.keys("<<>>>");
        finish(&mut again);
        assert_eq!(
            again.playhead(),
            None,
            "{name}: after the newest event comes the live view"
        );
        assert_eq!(
            live_views,
            normalized(views(&mut again)),
            "{name}, after jumps"
        );
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

#[test]
fn recordings_offer_no_server_actions() {
    let mut live = opened("agent-messages-tuple");
    live.event(
        "updates",
        r#"{"__interrupt__":[{"id":"i1","value":"send 5 EUR?"}]}"#,
    );
    live.end(Outcome::Interrupted);
    live.shows("d details");
    let mut dash = demo_like((120, 40));
    dash.open_recording("a.jsonl".into());
    dash.keys("e");
    dash.shows("No run at this point.");
    dash.keys("<Esc>");
    dash.items(recorded(&live));
    dash.shows("◆ send 5 EUR?");
    dash.lacks("d details");
    dash.shows("R play");
    dash.lacks("a answer");
    dash.keys("e");
    dash.shows("This is a recording.");
    dash.lacks("as the server has them");
}

#[test]
fn evicted_events_are_unreachable_in_time_travel() {
    let mut dash = demo_like((120, 40));
    dash.keep_events(1_000);
    dash.open_thread();
    dash.items(many(1_500));
    dash.screen();
    assert_eq!(dash.span(), (Seq(501), Seq(1_500)));
    dash.seek_to(Seq(0));
    assert_eq!(playhead(&dash).at, Seq(501));
    // The event at the playhead can be evicted too.
    let items = many(3_000).split_off(1_500);
    dash.items(items);
    dash.screen();
    dash.keys(".");
    finish(&mut dash);
    assert!(playhead(&dash).at > Seq(2_000) && playhead(&dash).at == playhead(&dash).span.0);
    dash.keys("G");
    assert_eq!(dash.received(), 3_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn every_position_matches_a_stream_that_stopped_there(
        positions in proptest::collection::vec(any::<prop::sample::Index>(), 3),
        capture in prop::sample::select(vec!["agent-messages-tuple", "fanout-many-subgraphs"]),
    ) {
        let mut dash = opened(capture);
        let newest = span(&dash).1;
        for position in positions {
            let position = position.index(newest.0 as usize);
            dash.seek_to(Seq(position as u64));
            finish(&mut dash);
            let (shown, expected) = (views(&mut dash), stopped_at(capture, position));
            for ((shown, expected), view) in shown.iter().zip(&expected).zip(VIEWS) {
                prop_assert_eq!(shown, expected, "{:?} at event {} of {}", view, position, capture);
            }
        }
    }
}

#[test]
fn checkpoints_stay_within_the_memory_budget() {
    let mut dash = demo_like((120, 40));
    dash.keep_bytes(4 << 20);
    dash.open_thread();
    for n in 0..400_u64 {
        let custom = |i| {
            made::event(
                n * 100 + i + 1,
                dash.now,
                "custom",
                &format!(r#"{{"i":{i}}}"#),
            )
        };
        let items = (0..100)
            .map(|i| Item::Record(Record::Event(custom(i))))
            .collect();
        dash.items(items);
        assert!(dash.bytes().0 <= 8 << 20, "after {n} times a hundred");
    }
    assert_eq!(
        dash.span().0,
        Seq(0),
        "checkpoints are evicted before events"
    );
    dash.keys("6<<");
    finish(&mut dash);
    let Playhead {
        at, target, span, ..
    } = playhead(&dash);
    assert!(
        at == target && at < span.1,
        "the seek still reaches its target: {at} {span:?}"
    );
}

#[test]
fn a_stream_without_events_has_no_time_to_travel_in() {
    let mut dash = demo_thread((140, 40));
    let state = json!({"values": {"a": 1}, "next": [], "tasks": []});
    dash.snapshot(vec![(SnapshotPart::State, state)]);
    for key in [",", "<Space>", "."] {
        dash.keys(key);
        dash.shows("No events to go back to");
        dash.lacks("PAST");
        // The stream sent no events, so their tab is as dim as the others without content.
        let buffer = dash.buffer();
        let row: String = (0..140)
            .map(|x| buffer[(x, 2)].symbol().to_string())
            .collect();
        let at = |name: &str| u16::try_from(row.find(name).unwrap()).unwrap();
        assert_eq!(
            buffer[(at("Events"), 2)].style(),
            buffer[(at("Steps"), 2)].style(),
            "{row}"
        );
    }
    dash.keys("3");
    // The time of this state is unknown.
    dash.shows("from the server's state · ");
    dash.lacks("–");
}
