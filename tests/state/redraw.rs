//! What counts on the screen is drawn when it says another number, and a screen on which nothing counts asks for nothing.

use jiff::SignedDuration;
use ratatui::buffer::Buffer;
use runtail_api::Kind;
use runtail_stream::Outcome;
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::app::Pane;
use runtail_tui::session::msg::{Msg, SubscriptionId};
use std::time::Duration;

const MINUTES: u32 = 60;

/// The screen, but for the ages in the list of deployments: those go on with its polls.
fn beside_the_list(dash: &mut Dash) -> Buffer {
    let mut buffer = dash.buffer();
    if let Some(area) = dash.app.regions().deployments.filter(|_| dash.app.overlays.is_empty()) {
        for (x, y) in (area.y..area.y + area.h).flat_map(|y| (area.x..area.x + area.w).map(move |x| (x, y))) {
            buffer[(x, y)].reset();
        }
    }
    buffer
}

/// Time goes by, and nothing comes. Gives how often the screen was drawn meanwhile; that nothing on it was another number
/// before is looked at once a second.
#[track_caller]
fn drawn_in(dash: &mut Dash, seconds: u32) -> u32 {
    let (mut shown, mut due, mut stood, mut drawn) = (beside_the_list(dash), dash.app.next_tick(), Duration::ZERO, 0);
    for _ in 0..seconds {
        dash.now += SignedDuration::from_secs(1);
        stood += Duration::from_secs(1);
        dash.feed(Msg::Tick);
        let now = beside_the_list(dash);
        if due.is_some_and(|due| stood >= due) {
            (shown, due, stood, drawn) = (now, dash.app.next_tick(), Duration::ZERO, drawn + 1);
        } else {
            assert!(now == shown, "after {stood:?} of {due:?} it is another screen:\n{}", dash.screen());
        }
    }
    drawn
}

/// A stream on the whole screen.
fn stream() -> Dash {
    let mut dash = Dash::new("[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n", (100, 30));
    dash.threads();
    dash.keys("<Enter>");
    dash.capture("agent-messages-tuple");
    dash
}

#[test]
fn a_fleet_that_stands_still_is_not_drawn() {
    let mut dash = demo_like((140, 40));
    // The revision that is built counts: seconds for an hour, then minutes.
    assert_eq!(drawn_in(&mut dash, 2 * MINUTES), 2 * MINUTES);
    dash.pass(3600);
    assert_eq!(drawn_in(&mut dash, 10 * MINUTES), 10);
    // It is somebody else's now.
    dash.keys("<Up>");
    assert_eq!(drawn_in(&mut dash, 10 * MINUTES), 0);
    dash.feed(Msg::Focus(false));
    assert_eq!(drawn_in(&mut dash, 10 * MINUTES), 0);
}

#[test]
fn what_is_covered_does_not_count() {
    let mut dash = demo_like((140, 40));
    for keys in ["?", "!", "F"] {
        dash.keys(keys);
        assert_eq!(drawn_in(&mut dash, MINUTES), 0, "{keys}");
        dash.keys(if keys == "F" { "F" } else { "<Esc>" });
        assert_eq!(drawn_in(&mut dash, MINUTES), MINUTES, "{keys}");
    }
    // Over a command one sees the rest.
    dash.keys(":");
    assert_eq!(drawn_in(&mut dash, MINUTES), MINUTES);
    dash.keys("<Esc>");
    // The deployments alone on the screen.
    dash.app.focus = Pane::Deployments;
    dash.keys("f");
    assert_eq!(drawn_in(&mut dash, MINUTES), 0, "{}", dash.screen());
}

#[test]
fn a_stream_counts_until_it_has_ended_or_is_covered() {
    let mut dash = stream();
    assert_eq!(drawn_in(&mut dash, MINUTES), MINUTES);
    dash.keys("<Enter>");
    assert!(dash.screen().contains("{"), "its JSON:\n{}", dash.screen());
    assert_eq!(drawn_in(&mut dash, 10 * MINUTES), 0);
    dash.keys("<Esc>");
    assert_eq!(drawn_in(&mut dash, MINUTES), MINUTES);
    dash.end(Outcome::Success);
    dash.pass(3600);
    for key in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        dash.keys(key);
        let drawn = drawn_in(&mut dash, 2 * MINUTES);
        assert!(drawn <= 2, "{key}: {drawn} times, and only the age of the last run counts:\n{}", dash.screen());
    }
    dash.keys("<Enter>");
    assert_eq!(drawn_in(&mut dash, 2 * MINUTES), 0, "its JSON:\n{}", dash.screen());
}

#[test]
fn a_profile_in_trouble_counts_as_coarsely_as_it_says() {
    let us = |key: &SubscriptionId| *key == SubscriptionId::Deployments("prod-us".into());
    // Never read: the message goes after its twenty seconds, and nothing else is a number.
    let mut dash = Dash::new("[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n", (140, 40));
    dash.refuse("prod-us");
    assert_eq!(drawn_in(&mut dash, 10 * MINUTES), 1, "{}", dash.screen());
    // What was read is so many seconds old, then so many minutes.
    let mut dash = demo_like((140, 40));
    dash.keys("<Up>");
    dash.fails(us, Kind::Server(503));
    assert!(dash.screen().contains("retry in 4s"), "{}", dash.screen());
    let drawn = drawn_in(&mut dash, 10 * MINUTES);
    assert!((10..90).contains(&drawn), "{drawn}:\n{}", dash.screen());
    dash.pass(3600);
    assert_eq!(drawn_in(&mut dash, 30 * MINUTES), 0, "{}", dash.screen());
    // A server that wants to be left alone for a while.
    dash.fails(us, Kind::RateLimited(Some(Duration::from_secs(300))));
    let drawn = drawn_in(&mut dash, 10 * MINUTES);
    assert!((60..120).contains(&drawn), "{drawn}:\n{}", dash.screen());
}
