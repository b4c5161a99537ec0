//! Search, filters and marks in the stream viewer: scripted keys and screens.

use jiff::{SignedDuration, Timestamp};
use ratatui::style::{Color, Modifier};
use runtail_stream::{Data, Event, Item, Record, Seq};
use runtail_testkit::dash::{Dash, demo_like, demo_thread};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::input::keymap::Keymap;
use runtail_tui::session::msg::Msg;
use std::time::Duration;

fn opened(size: (u16, u16), capture: &str) -> Dash {
    let mut dash = demo_thread(size);
    dash.capture_now(capture);
    dash
}

/// Creates events; every `each`th contains "needle".
fn events(from: u64, count: u64, each: u64) -> Vec<Item> {
    let at: Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
    let event = |seq: u64| {
        let word = if seq.is_multiple_of(each) {
            "needle"
        } else {
            "hay"
        };
        let at = at + SignedDuration::from_micros(seq as i64);
        Item::Record(Record::Event(made::event(
            seq,
            at,
            "custom",
            &format!(r#"{{"word":"{word}","n":{seq}}}"#),
        )))
    };
    let mut items = Vec::new();
    if from == 1 {
        items.push(made::connected(at));
    }
    items.extend((from..from + count).map(event));
    items
}

/// Ticks until the search is complete, and returns the number of ticks.
fn finish(dash: &mut Dash) -> usize {
    let mut ticks = 0;
    while dash
        .next_tick()
        .is_some_and(|pause| pause < Duration::from_millis(100))
    {
        dash.feed(Msg::Tick);
        ticks += 1;
        assert!(ticks < 100_000, "the search never ends");
    }
    ticks
}

/// Returns the line under the tabs.
fn status_line(dash: &mut Dash) -> String {
    dash.screen()
        .lines()
        .nth(3)
        .unwrap_or_default()
        .trim()
        .to_string()
}

#[test]
fn search_highlights_hits_and_steps_between_them() {
    let mut dash = opened((100, 30), "agent-messages-tuple");
    dash.keys("6/weather");
    insta::assert_snapshot!("search_typed", dash.screen());
    dash.keys("<Enter>");
    finish(&mut dash);
    let first = dash.position().unwrap();
    let place = status_line(&mut dash);
    assert!(
        place.starts_with("/weather  ") && place.contains(" of "),
        "{place}"
    );
    dash.keys("]");
    let next = dash.position().unwrap();
    assert_ne!(first, next);
    dash.keys("[");
    assert_eq!(dash.position(), Some(first));
    // Hits are reversed, which is visible without color.
    let buffer = dash.buffer();
    let highlighted = buffer
        .content
        .iter()
        .filter(|cell| cell.modifier.contains(Modifier::REVERSED))
        .count();
    assert!(highlighted >= "weather".len(), "{highlighted}");
    // The other views of the tab are searched too.
    dash.keys("1");
    finish(&mut dash);
    insta::assert_snapshot!("search_messages", dash.screen());
    dash.keys("<Esc>");
    // Esc clears the search first.
    dash.lacks("/weather");
    assert!(dash.has_stream());
}

#[test]
fn state_search_counts_hits_and_is_cleared_before_leaving() {
    let mut dash = opened((100, 30), "agent-values");
    dash.keys("3/weather<Enter>");
    let line = status_line(&mut dash);
    line.has("/weather 1 of ");
    dash.keys("]");
    status_line(&mut dash).has("/weather 2 of ");
    assert!(
        dash.screen().lines().last().unwrap().contains("Esc clear"),
        "the footer says what Esc does"
    );
    dash.keys("<Esc>");
    let line = status_line(&mut dash);
    assert!(
        line.starts_with("state ") && !line.contains("/weather"),
        "Esc clears the search first: {line}"
    );
    dash.keys("/no such thing<Enter>");
    status_line(&mut dash).has("no hit");
    dash.keys("<Esc><Esc>");
    assert!(!dash.has_stream(), "and the next Esc leaves");
}

#[test]
fn state_search_without_a_hit_offers_no_next_one() {
    let mut dash = opened((140, 30), "agent-values");
    let mut footer = |keys: &str| {
        dash.keys(keys);
        dash.screen().lines().last().unwrap().to_string()
    };
    footer("3/weather<Enter>").has("] next");
    let nothing = footer("<Esc>/no such thing<Enter>");
    nothing.lacks("] next");
    nothing.has("Esc clear");
}

#[test]
fn keys_that_only_open_something_leave_the_state_view_following() {
    let mut dash = opened((140, 30), "agent-values");
    dash.keys("3");
    for keys in ["e<Esc>", "s<Esc>", "/<Esc>", "&<Esc>"] {
        dash.keys(keys);
        assert!(dash.follows(), "{keys}");
    }
    dash.keys("<Down>");
    assert!(!dash.follows(), "moving in the state stays there");
}

#[test]
fn footer_lists_the_views_keys() {
    let mut dash = opened((140, 30), "agent-values");
    let mut footer = |keys: &str| {
        dash.keys(keys);
        dash.screen().lines().last().unwrap().to_string()
    };
    assert!(!footer("1").contains("End follow"), "already following");
    let values = footer("3");
    values.has(["⏎ fold", "= compare"]);
    let changes = footer("=");
    // Not at the heading.
    changes.has("= whole state");
    changes.lacks("go there");
    assert!(footer("<Down>").contains("⏎ go there"));
    let raw = footer("6");
    raw.has(["⏎ event", "d report", "C next filter"]);
    assert!(
        footer("2<Up>").contains("End follow"),
        "following is offered after moving up"
    );
}

/// Returns the screen without colors, with highlighted text in brackets.
fn highlights_without_color(dash: &mut Dash) -> String {
    let (w, h) = dash.size();
    dash.color = false;
    let buffer = dash.buffer();
    dash.color = true;
    let mut out = String::new();
    for y in 0..h {
        let mut was_highlighted = false;
        let mut line = String::new();
        for x in 0..w {
            let cell = &buffer[(x, y)];
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
            let is_highlighted = cell.modifier.contains(Modifier::REVERSED);
            if is_highlighted != was_highlighted {
                line.push(if is_highlighted { '⟦' } else { '⟧' });
            }
            was_highlighted = is_highlighted;
            line.push_str(cell.symbol());
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[test]
fn search_hits_are_visible_without_color_on_small_screens() {
    let mut dash = opened((80, 24), "agent-messages-tuple");
    dash.keys("6/krak|chat<Enter>");
    finish(&mut dash);
    insta::assert_snapshot!("search_80x24_no_color", highlights_without_color(&mut dash));
    dash.keys("1");
    finish(&mut dash);
    insta::assert_snapshot!(
        "search_messages_80x24_no_color",
        highlights_without_color(&mut dash)
    );
}

#[test]
fn navigation_continues_from_an_evicted_event() {
    let mut dash = demo_like((100, 24));
    dash.keep_events(100);
    dash.open_thread();
    let failures = |from: u64| {
        let mut items = events(from, 50, 1);
        for item in &mut items {
            if let Item::Record(Record::Event(event)) = item
                && event.seq.0.is_multiple_of(10)
            {
                event.name = "error".into();
            }
        }
        items
    };
    dash.items(failures(1));
    dash.keys("6");
    dash.go_to(Seq(5));
    (1..6).for_each(|n| dash.items(failures(50 * n + 1)));
    assert_eq!(dash.events().first().map(|event| event.seq), Some(Seq(201)));
    dash.keys("]");
    assert_eq!(
        dash.position(),
        Some(Seq(210)),
        "the oldest failure still in memory"
    );
    dash.go_to(Seq(1));
    dash.items(failures(301));
    dash.keys("[");
    dash.shows("No earlier failure, gap or run end.");
}

#[test]
fn click_closes_the_search_prompt_and_keeps_the_position() {
    let mut dash = opened((100, 24), "agent-events");
    dash.keys("6/on_chain");
    finish(&mut dash);
    dash.feed(Msg::Click { x: 20, y: 12 });
    assert!(!dash.is_typing());
    dash.keys("<Down><Down>");
    let here = dash.position();
    // Clearing the search doesn't return to the position from before it.
    dash.keys("<Esc>");
    assert!(!dash.page().is_searched);
    assert_eq!(dash.position(), here);
}

#[test]
fn esc_restores_the_position_and_enter_keeps_it() {
    let mut dash = opened((100, 24), "agent-events");
    dash.keys("6<Up><Up><Up>");
    let (before, body) = (dash.position(), dash.body());
    dash.keys("/on_chain_start");
    finish(&mut dash);
    assert_ne!(dash.position(), before);
    dash.keys("<Esc>");
    assert_eq!((dash.position(), dash.body()), (before, body));
    dash.keys("/on_chain_start<Enter>");
    finish(&mut dash);
    let found = dash.position();
    assert_ne!(found, before);
    dash.keys("/<Esc>");
    assert_eq!(
        dash.position(),
        found,
        "Esc returns to the position that Enter kept"
    );
    // Following continues after a canceled search.
    dash.keys("<Esc><End>/on_chain<Esc>");
    assert_eq!(dash.position(), None);
}

#[test]
fn invalid_regex_is_reported_and_searched_as_text() {
    let mut dash = opened((120, 24), "agent-values");
    dash.zoom();
    dash.keys("6/sunny(");
    let line = status_line(&mut dash);
    line.has(["no hit", "invalid regex (unclosed group); searched as text"]);
    dash.keys("<Backspace>");
    finish(&mut dash);
    status_line(&mut dash).lacks("not a regex");
}

#[test]
fn distant_hit_in_a_long_line_is_shown() {
    let mut dash = demo_thread((100, 24));
    let mut items = events(1, 1, 7);
    let at: Timestamp = "2026-11-21T14:00:01Z".parse().unwrap();
    let long = format!(
        r#"{{"text":"{}the ne\u0065dle is here{}"}}"#,
        "x".repeat(5_000_000),
        "y".repeat(5_000)
    );
    let (name, ns, data) = ("values".into(), [].into(), Data::Json(long.into()));
    items.push(Item::Record(Record::Event(Event {
        seq: Seq(2),
        at,
        conn: 1,
        replayed: false,
        name,
        ns,
        id: None,
        data,
    })));
    dash.items(items);
    dash.keys("6/needle is");
    assert!(
        finish(&mut dash) > 0,
        "five megabytes take more than one tick"
    );
    dash.shows("the needle is hereyyy");
    assert_eq!(dash.position(), Some(Seq(2)));
}

#[test]
fn filter_counts_hidden_events_and_applies_to_every_view() {
    let mut dash = opened((100, 30), "fanout-many-subgraphs");
    dash.keys("6&ns:sub mode:values<Enter>");
    finish(&mut dash);
    insta::assert_snapshot!("filter_events", dash.screen());
    dash.keys("2");
    finish(&mut dash);
    dash.shows("No match for ns:sub mode:values.");
    dash.keys("5");
    status_line(&mut dash).has("this view is not filtered");
    dash.keys("6&<Backspace><Backspace>");
    assert!(
        dash.screen()
            .lines()
            .last()
            .unwrap()
            .starts_with(" &ns:sub mode:valu")
    );
    dash.keys("<Esc>");
    status_line(&mut dash).has("&ns:sub mode:values");
    dash.keys("<Esc>");
    status_line(&mut dash).lacks("ns:sub");
    dash.keys("&is:green");
    let line = status_line(&mut dash);
    line.has("? is:green: expected error, custom, odd or heartbeat");
    line.lacks("incomplete");
}

#[test]
fn following_works_with_a_filter() {
    let mut dash = demo_thread((100, 24));
    dash.items(events(1, 100, 10));
    dash.keys("6&needle<Enter>");
    finish(&mut dash);
    assert!(dash.follows() && status_line(&mut dash).contains("90 of 100 hidden"));
    dash.items(events(101, 105, 10));
    finish(&mut dash);
    status_line(&mut dash).has("185 of 205 hidden");
    let body = dash.body();
    body.has("needle · n 200");
    body.lacks("hay");
    // While paused, only matching events count as new.
    dash.keys("<Up>");
    dash.items(events(206, 20, 10));
    finish(&mut dash);
    dash.shows("‖ 2 new · G");
    dash.keys("]");
    // Without a search ] goes to failures.
    dash.shows("No later failure, gap or run end yet.");
}

#[test]
fn search_continues_while_events_arrive_and_are_evicted() {
    let mut dash = demo_like((100, 24));
    dash.keep_events(50_000);
    dash.open_thread();
    dash.items(events(1, 40_000, 100));
    dash.keys("6<Home>/needle<Enter>");
    status_line(&mut dash).has("searching");
    assert_eq!(
        dash.position(),
        Some(Seq(100)),
        "the nearest hit is selected at once"
    );
    for batch in 0..3 {
        dash.items(events(40_001 + batch * 10_000, 10_000, 100));
        dash.feed(Msg::Tick);
    }
    finish(&mut dash);
    status_line(&mut dash).has("500 hits");
    dash.keys("]");
    let place = status_line(&mut dash);
    assert!(
        place.contains("1 of 500") || place.contains("2 of 500"),
        "{place}"
    );
    dash.keys("<Home>[");
    assert_eq!(
        dash.position(),
        Some(Seq(70_000)),
        "wraps at the start to the last hit"
    );
}

#[test]
fn marks_are_shown_in_every_view_and_can_be_jumped_to() {
    let mut dash = opened((100, 30), "agent-messages-tuple");
    dash.keys("6<Home>m<Down><Down><Down><Down>m");
    let (screen, here) = (dash.screen(), dash.position());
    assert_eq!(
        screen.lines().filter(|line| line.starts_with('◆')).count(),
        2,
        "{screen}"
    );
    screen.has("2 marked  ‖ paused · G");
    dash.keys("\"");
    assert_ne!(dash.position(), here);
    dash.keys("'");
    assert_eq!(dash.position(), here);
    dash.keys("'");
    dash.shows("No later mark");
    dash.keys("1");
    assert!(dash.screen().lines().any(|line| line.starts_with('◆')));
    dash.keys("6m");
    dash.shows("1 marked  ‖ paused · G");
    dash.set_ascii(true);
    assert!(dash.screen().is_ascii());
}

#[test]
fn errors_messages_and_steps_are_navigable_from_any_view() {
    let mut dash = opened((100, 30), "fanout-many-subgraphs");
    // Steps have no default keys.
    let keys = [
        ("stream.next_step", ")"),
        ("stream.prev_step", "("),
        ("stream.next_message", "M"),
    ];
    let keys = keys
        .into_iter()
        .chain([("stream.prev_message", "N"), ("stream.modes", "ctrl-t")]);
    let (keymap, problems) = Keymap::new(
        &keys
            .map(|(id, key)| (id.into(), vec![key.into()]))
            .collect(),
    );
    assert_eq!(problems, [""; 0]);
    dash.set_keymap(keymap);
    dash.keys("6<Home>)");
    let first = dash.position().unwrap();
    dash.keys("))");
    let third = dash.position().unwrap();
    assert!(first < third);
    dash.keys("((");
    assert_eq!(dash.position(), Some(first));
    dash.keys("]");
    dash.shows("No later failure, gap or run end yet.");
    let mut dash = opened((100, 30), "broken-values");
    dash.keys("1[");
    let failed = dash
        .position()
        .unwrap_or_else(|| panic!("{}", dash.screen()));
    dash.keys("6");
    let screen = dash.screen();
    let marked = screen.lines().find(|line| line.contains('▌')).unwrap();
    assert!(marked.contains("error"), "{failed}: {screen}");
    dash.keys("G]");
    assert_eq!(
        dash.position(),
        Some(failed),
        "while following, the newest failure is the next one"
    );
    let mut dash = opened((100, 30), "agent-messages-tuple");
    dash.keys("6<Home>)");
    let first = dash.position().unwrap();
    dash.keys(")");
    assert!(dash.position().unwrap() > first);
    dash.keys("(");
    assert_eq!(dash.position(), Some(first));
}
