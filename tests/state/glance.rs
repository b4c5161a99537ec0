//! At a glance: the rate of the open streams, and the tiles.

use crate::inbox::{answer, approval, full, listed};
use ratatui::style::Modifier;
use runtail_api::Kind;
use runtail_stream::{Item, Record};
use runtail_testkit::dash::{Dash, Dialog, demo_like};
use runtail_tui::session::msg::{ServerRef, SubscriptionId};
use std::time::Duration;

/// Opens the live stream of a thread.
fn stream(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_thread();
    dash.heartbeat();
    let open = Record::Open {
        at: dash.now,
        conn: 1,
        status: 200,
        resumed_after: None,
    };
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
    assert!(
        screen.contains("At a glance") && screen.contains(" tok/s in 1 open stream"),
        "{screen}"
    );
    assert!(screen.contains('▇'), "{screen}");
    // The screen changes when a second ends, and no longer when the strip is empty.
    assert!(
        dash.next_tick()
            .is_some_and(|tick| tick <= Duration::from_secs(1))
    );
    let shown = dash.screen();
    dash.later(1);
    assert_eq!(dash.screen(), shown, "nothing changes within a second");
    dash.pass(30);
    let screen = dash.screen();
    assert!(
        !screen.contains("tok/s") && !screen.contains("0 tok"),
        "{screen}"
    );
    assert!(
        dash.next_tick()
            .is_some_and(|tick| tick > Duration::from_secs(1))
    );
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
    assert!(
        !screen.contains("/s in") && !screen.contains("open stream"),
        "{screen}"
    );
    // A connection that is lost is not measured.
    let mut dash = stream((140, 40));
    tokens(&mut dash, 30);
    dash.retrying(1, 5, "connection reset");
    dash.keys("<Esc><Esc>PP");
    dash.pass(1);
    assert!(!dash.screen().contains("open stream"), "{}", dash.screen());
}

/// Opens the page and moves to the tile of a deployment.
fn choose(dash: &mut Dash, name: &str) {
    dash.keys("PP");
    let is_selected = |screen: &str| {
        screen
            .lines()
            .any(|line| line.contains('▌') && line.contains(name))
    };
    for _ in 0..10 {
        let screen = dash.screen();
        let line = screen
            .lines()
            .find(|line| line.contains('▌'))
            .unwrap_or_default();
        let marked = line.split('▌').nth(1).unwrap_or_default();
        if is_selected(&screen) && marked.split('┃').next().unwrap_or_default().contains(name) {
            return;
        }
        dash.keys("<Right>");
    }
    panic!("no tile is about {name}: {}", dash.screen());
}

#[test]
fn tiles_show_every_reason_that_fits() {
    for (size, expected) in [
        ((140, 40), "1 failed · 1 waiting, oldest 4m · 1 stuck"),
        ((80, 24), "1 failed · 1 waiting, 4m"),
    ] {
        let mut dash = full(size);
        dash.keys("PP");
        let screen = dash.screen();
        assert!(screen.contains(expected), "{screen}");
        assert!(screen.contains("2 waiting, oldest 36m"), "{screen}");
    }
}

#[test]
fn small_tiles_have_their_state_in_their_frame() {
    let names: Vec<String> = (1..=15)
        .map(|n| format!("agent-{n:02} = \"http://127.0.0.1:30{n:02}\""))
        .collect();
    let mut dash = Dash::new(
        &format!("[profiles.us]\nagent_server = {{ {} }}\n", names.join(", ")),
        (80, 24),
    );
    let server = ServerRef {
        profile: "us".into(),
        name: "agent-07".into(),
        url: "http://127.0.0.1:3007/".into(),
    };
    let rows = vec![approval(&dash)];
    answer(&mut dash, &server, listed(rows));
    dash.keys("PP");
    let screen = dash.screen();
    assert!(screen.contains("━ 1 waiting, 36m ━"), "{screen}");
    insta::assert_snapshot!("glance_small_tiles", screen);
}

#[test]
fn a_tile_opens_what_it_is_about() {
    let mut dash = full((140, 40));
    choose(&mut dash, "invoice-agent");
    dash.keys("<Enter>");
    let open = dash.server().name.to_string();
    assert_eq!(
        (open.as_str(), dash.dialogs().len()),
        ("invoice-agent", 0),
        "failed threads: their list"
    );
    let mut dash = full((140, 40));
    choose(&mut dash, "support-bot");
    dash.keys("<Enter>");
    assert!(dash.has_dialog(Dialog::Inbox), "waiting threads: the inbox");
}

#[test]
fn neighboring_tiles_that_are_filled_keep_their_frames() {
    let mut dash = full((140, 40));
    dash.keys("PP");
    let buffer = dash.buffer();
    let is_filled = |cell: &ratatui::buffer::Cell| cell.modifier.contains(Modifier::REVERSED);
    let frames = buffer
        .content
        .iter()
        .filter(|cell| "┏┓┗┛━┃".contains(cell.symbol()));
    assert!(frames.clone().count() > 100 && frames.filter(|cell| is_filled(cell)).count() == 0);
    let name = buffer
        .content
        .iter()
        .filter(|cell| cell.symbol() == "✗" && is_filled(cell))
        .count();
    assert_eq!(name, 1, "the inside of the tile is filled");
}

#[test]
fn stuck_threads_are_reasons_and_in_the_details() {
    let mut dash = demo_like((140, 40));
    let server = ServerRef {
        profile: "prod-eu".into(),
        name: "support-bot".into(),
        url: "https://support-bot.us.langgraph.app".into(),
    };
    let stuck = runtail_core::model::InboxThread {
        thread_id: "t-1".into(),
        status: "busy".into(),
        cause: Some(runtail_core::model::InboxCause::Stuck),
        ..Default::default()
    };
    let read = Ok(runtail_api::ServerInbox {
        threads: vec![stuck],
        busy: 2,
        ..Default::default()
    });
    answer(&mut dash, &server, read);
    let screen = dash.screen();
    assert!(screen.contains("threads  ? 1 stuck"), "{screen}");
    dash.resize(80, 24);
    assert!(
        dash.screen().contains("· ? 1 stuck ──"),
        "{}",
        dash.screen()
    );
    dash.resize(140, 40);
    dash.keys("PP");
    let screen = dash.screen();
    assert!(
        screen.contains("? support-bot eu") && screen.contains("1 stuck · BUILDING"),
        "{screen}"
    );
    assert!(
        screen.contains("1 running") && !screen.contains("2 running"),
        "a stuck one is not running: {screen}"
    );
}

#[test]
fn nothing_found_is_not_zero_while_a_profile_is_not_listed() {
    let toml = "[profiles.a]\nurl = \"http://127.0.0.1:2001\"\n";
    let zeros = |dash: &mut Dash| {
        dash.set_ascii(true);
        dash.keys("P");
        dash.screen()
            .lines()
            .filter(|line| line.contains("##  ##"))
            .count()
    };
    let mut dash = Dash::new(toml, (140, 40));
    dash.fails(
        |key| matches!(key, SubscriptionId::Deployments(_)),
        Kind::NotFound,
    );
    assert_eq!(zeros(&mut dash), 0, "{}", dash.screen());
    let mut dash = Dash::new(toml, (140, 40));
    dash.answer(
        |key| matches!(key, SubscriptionId::Deployments(_)),
        runtail_testkit::dash::listed(Vec::new()),
    );
    assert_eq!(zeros(&mut dash), 3, "{}", dash.screen());
}

#[test]
fn tiles_have_the_order_of_the_list() {
    let mut dash = demo_like((140, 40));
    let order: Vec<String> = dash
        .rows()
        .into_iter()
        .map(|row| format!("{} {}", row.name, row.tag))
        .collect();
    for keys in ["PP", "PssPP"] {
        dash.keys(keys);
        let screen = dash.screen();
        let places: Vec<Option<usize>> = order
            .iter()
            .map(|name| screen.find(&format!(" {name} ")))
            .collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{order:?}: {screen}"
        );
    }
}
