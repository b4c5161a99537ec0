//! The screen is redrawn only when a displayed time changes, and a screen without times is not redrawn at all.

use jiff::SignedDuration;
use ratatui::buffer::Buffer;
use runtail_api::Kind;
use runtail_stream::Outcome;
use runtail_testkit::dash::{Dash, demo};
use runtail_tui::app::Pane;
use runtail_tui::session::msg::{Msg, SubscriptionId};
use std::time::Duration;

const MINUTES: u32 = 60;

/// Returns the screen without the deployments list, whose ages are updated by its polls.
fn screen_without_list(dash: &mut Dash) -> Buffer {
    let mut buffer = dash.buffer();
    if let Some(area) = dash.list_frame() {
        for (x, y) in
            (area.y..area.y + area.h).flat_map(|y| (area.x..area.x + area.w).map(move |x| (x, y)))
        {
            buffer[(x, y)].reset();
        }
    }
    buffer
}

/// Lets time pass without messages and returns how often the screen was redrawn. Checks once a second that nothing on it
/// changed between redraws.
#[track_caller]
fn redraws_in(dash: &mut Dash, seconds: u32) -> u32 {
    let (mut shown, mut next_tick, mut unchanged_for, mut redraws) = (
        screen_without_list(dash),
        dash.next_tick(),
        Duration::ZERO,
        0,
    );
    for _ in 0..seconds {
        dash.now += SignedDuration::from_secs(1);
        unchanged_for += Duration::from_secs(1);
        dash.feed(Msg::Tick);
        let now = screen_without_list(dash);
        if next_tick.is_some_and(|next_tick| unchanged_for >= next_tick) {
            (shown, next_tick, unchanged_for, redraws) =
                (now, dash.next_tick(), Duration::ZERO, redraws + 1);
        } else {
            assert!(
                now == shown,
                "the screen changed after {unchanged_for:?}, before the tick at {next_tick:?}:\n"
            );
        }
    }
    redraws
}

/// Opens a stream full-screen.
fn stream() -> Dash {
    let mut dash = Dash::new(
        "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n",
        (100, 30),
    );
    dash.threads();
    dash.keys("<Enter>");
    dash.capture("agent-messages-tuple");
    dash
}

#[test]
fn unchanged_deployments_are_not_redrawn() {
    let mut dash = demo();
    // The age of the building revision changes every second for an hour, then every minute.
    assert_eq!(redraws_in(&mut dash, 2 * MINUTES), 2 * MINUTES);
    dash.pass(3600);
    // The time in its status and its age change at different seconds.
    assert_eq!(redraws_in(&mut dash, 10 * MINUTES), 20);
    // Another deployment without a changing time is selected.
    dash.keys("<Up>");
    assert_eq!(redraws_in(&mut dash, 10 * MINUTES), 0);
    dash.feed(Msg::Focus(false));
    assert_eq!(redraws_in(&mut dash, 10 * MINUTES), 0);
}

#[test]
fn covered_panes_are_not_redrawn() {
    let mut dash = demo();
    for keys in ["?", "!", "F"] {
        dash.keys(keys);
        assert_eq!(redraws_in(&mut dash, MINUTES), 0, "{keys}");
        dash.keys(if keys == "F" { "F" } else { "<Esc>" });
        assert_eq!(redraws_in(&mut dash, MINUTES), MINUTES, "{keys}");
    }
    // The palette covers only a part of the screen.
    dash.keys(":");
    assert_eq!(redraws_in(&mut dash, MINUTES), MINUTES);
    dash.keys("<Esc>");
    // Only the deployments are on screen.
    dash.focus_on(Pane::Deployments);
    dash.keys("f");
    assert_eq!(redraws_in(&mut dash, MINUTES), 0);
}

#[test]
fn streams_are_redrawn_until_they_end_or_are_covered() {
    let mut dash = stream();
    assert_eq!(redraws_in(&mut dash, MINUTES), MINUTES);
    dash.keys("<Enter>");
    // Its JSON.
    dash.shows("{");
    assert_eq!(redraws_in(&mut dash, 10 * MINUTES), 0);
    dash.keys("<Esc>");
    assert_eq!(redraws_in(&mut dash, MINUTES), MINUTES);
    dash.end(Outcome::Success);
    dash.pass(3600);
    for key in ["1", "2", "3", "4", "5", "6", "7"] {
        dash.keys(key);
        let redraws = redraws_in(&mut dash, 2 * MINUTES);
        assert!(
            redraws <= 2,
            "{key}: {redraws} redraws, but only the age of the last run changes:\n"
        );
    }
    dash.keys("<Enter>");
    assert_eq!(
        redraws_in(&mut dash, 2 * MINUTES),
        0,
        "its JSON:\n{}",
        dash.screen()
    );
}

#[test]
fn failing_profiles_are_redrawn_only_when_their_text_changes() {
    let us = |key: &SubscriptionId| *key == SubscriptionId::Deployments("prod-us".into());
    // Without any data nothing changes: a failure is shown until the next key.
    let mut dash = Dash::new(
        "[profiles.prod-us]\nregion = \"us\"\napi_key_env = \"K\"\n",
        (140, 40),
    );
    dash.refuse("prod-us");
    assert_eq!(redraws_in(&mut dash, 10 * MINUTES), 0);
    // The age of loaded data is shown in seconds, then in minutes.
    let mut dash = demo();
    dash.keys("<Up>");
    dash.fails(us, Kind::Server(503));
    dash.shows("retry in 4s");
    let redraws = redraws_in(&mut dash, 10 * MINUTES);
    assert!((10..90).contains(&redraws), "{redraws}:\n");
    dash.pass(3600);
    assert_eq!(redraws_in(&mut dash, 30 * MINUTES), 0);
    // A rate-limited server.
    dash.fails(us, Kind::RateLimited(Some(Duration::from_secs(300))));
    let redraws = redraws_in(&mut dash, 10 * MINUTES);
    assert!((60..120).contains(&redraws), "{redraws}:\n");
}
