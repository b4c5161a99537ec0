//! At a glance: the rate of the open streams.

use runtail_stream::{Item, Record};
use runtail_testkit::dash::{Dash, demo_like};
use std::time::Duration;

/// Opens the live stream of a thread.
fn stream(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_thread();
    dash.heartbeat();
    let open = Record::Open { at: dash.now, conn: 1, status: 200, resumed_after: None };
    dash.items(vec![Item::Record(open)]);
    dash.event("metadata", r#"{"run_id":"r","attempt":1}"#);
    dash
}

fn tokens(dash: &mut Dash, count: usize) {
    for _ in 0..count {
        dash.event(
            "messages",
            r#"[{"type":"AIMessageChunk","id":"m","content":"word "},{"langgraph_node":"chat","run_id":"r"}]"#,
        );
    }
}

#[test]
fn the_rate_of_the_open_streams_is_shown_with_what_it_covers() {
    let mut dash = stream((140, 40));
    tokens(&mut dash, 30);
    dash.keys("<Esc><Esc>PP");
    dash.pass(1);
    let screen = dash.screen();
    assert!(screen.contains("At a glance") && screen.contains(" tok/s in 1 open stream"), "{screen}");
    assert!(screen.contains('▇'), "{screen}");
    // The screen changes when a second ends, and no longer when the strip is empty.
    assert!(dash.app.next_tick().is_some_and(|tick| tick <= Duration::from_secs(1)));
    let shown = dash.screen();
    dash.later(1);
    assert_eq!(dash.screen(), shown, "nothing changes within a second");
    dash.pass(30);
    let screen = dash.screen();
    assert!(!screen.contains("tok/s") && !screen.contains("0 tok"), "{screen}");
    assert!(dash.app.next_tick().is_some_and(|tick| tick > Duration::from_secs(1)));
}

#[test]
fn little_room_keeps_the_rate_whole() {
    let mut dash = stream((80, 24));
    tokens(&mut dash, 30);
    dash.keys("<Esc><Esc>PP");
    dash.pass(1);
    let screen = dash.screen();
    let is_whole = screen.contains(" tok/s") && screen.contains("in 1 open");
    assert!(is_whole, "{screen}");
}

#[test]
fn no_open_stream_has_no_rate() {
    let mut dash = demo_like((140, 40));
    dash.keys("PP");
    let screen = dash.screen();
    assert!(!screen.contains("/s in") && !screen.contains("open stream"), "{screen}");
    // A connection that is lost is not measured.
    let mut dash = stream((140, 40));
    tokens(&mut dash, 30);
    dash.retrying(1, 5, "connection reset");
    dash.keys("<Esc><Esc>PP");
    dash.pass(1);
    assert!(!dash.screen().contains("open stream"), "{}", dash.screen());
}
