//! Viewer preferences: timestamps, wrapping, freezing and the mouse; and that resizing keeps the cursor and the columns.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use runtail_api::Kind;
use runtail_stream::{Item, Record, Seq};
use runtail_testkit::dash::{Dash, demo_thread};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::features::stream::views::View;
use runtail_tui::session::msg::{Effect, EffectResult, Msg};

/// Creates events with these texts, 1.5s apart.
fn events(from: u64, texts: &[String]) -> Vec<Item> {
    let start: Timestamp = "2026-11-21T14:00:00Z".parse().unwrap();
    let event = |(n, text): (usize, &String)| {
        made::event(
            from + n as u64,
            start + SignedDuration::from_millis(1_500 * (from as i64 + n as i64)),
            "custom",
            &serde_json::to_string(text).unwrap(),
        )
    };
    texts
        .iter()
        .enumerate()
        .map(event)
        .map(|event| Item::Record(Record::Event(event)))
        .collect()
}

fn with_events(size: (u16, u16), texts: &[String]) -> Dash {
    let mut dash = demo_thread(size);
    dash.items(events(1, texts));
    dash
}

#[test]
fn timestamps_toggle_between_absolute_relative_and_delta() {
    let mut dash = demo_thread((120, 30));
    dash.capture("agent-messages-tuple");
    dash.keys("6<Home>T");
    insta::assert_snapshot!("events_relative_120x30", dash.screen());
    dash.keys("T");
    insta::assert_snapshot!("events_delta_120x30", dash.screen());
    dash.keys("1");
    assert!(dash.screen().contains('+'));
    dash.lacks("14:01:4");
    dash.keys("T");
    dash.shows("14:01:4");
}

#[test]
fn wrapping_shows_long_lines_completely() {
    let long = "日本語 — a long line. ".repeat(30);
    let texts: Vec<String> = (0..40).map(|n| format!("{n}: {long}")).collect();
    let mut dash = with_events((90, 30), &texts);
    dash.keys("6f<Home>jjw");
    assert_eq!(
        dash.position(),
        Some(Seq(3)),
        "the cursor stays on its event"
    );
    insta::assert_snapshot!("events_wrapped_90x30", dash.screen());
    // j moves by wrapped lines to the next event, and unwrapping stays on it.
    let steps = (0..20).take_while(|_| {
        dash.keys("j");
        dash.position() == Some(Seq(3))
    });
    assert_eq!(steps.count(), 8, "nine lines, starting from the first");
    assert_eq!(dash.position(), Some(Seq(4)));
    dash.keys("w");
    assert_eq!(dash.position(), Some(Seq(4)));
    dash.keys("w<End>");
    assert!(dash.follows());
    let (last, _) = dash.lines(View::Events).pop().unwrap();
    assert!(
        last.trim_end().ends_with("line."),
        "the end is visible: {last}"
    );
}

#[test]
fn frozen_screen_does_not_change_while_data_arrives() {
    let texts: Vec<String> = (0..10).map(|n| format!("event {n}")).collect();
    let mut dash = with_events((140, 40), &texts);
    dash.keys("6F");
    let frozen = dash.screen();
    let row = |screen: &str, row: usize| screen.lines().nth(row).unwrap_or_default().to_string();
    assert!(
        row(&frozen, 2).contains("FROZEN · F") && frozen.matches("FROZEN").count() == 1,
        "{frozen}"
    );
    dash.items(events(11, &texts));
    dash.pass(30);
    dash.keys("1<Home>x:quit<Enter>");
    dash.feed(Msg::Paste("#3".into()));
    dash.feed(Msg::Wheel {
        lines: 3,
        x: 60,
        y: 10,
    });
    assert_eq!(dash.screen(), frozen);
    assert_eq!(dash.newest_event(), Seq(20), "events are still received");
    assert!(!dash.has_ended() && dash.next_tick().is_none());
    dash.keys("F");
    dash.shows(["event 9", "    20 "]);
    // Resizing unfreezes the screen, because the frozen frame no longer fits.
    dash.keys("F");
    dash.resize(80, 24);
    assert!(!dash.is_frozen());
    dash.lacks("FROZEN");
}

#[test]
fn a_frozen_list_says_so_in_the_place_of_notices() {
    for size in [(80, 24), (140, 40)] {
        let mut dash = runtail_testkit::dash::demo_like(size);
        let before = dash.screen();
        dash.keys("F");
        let (frozen, buffer) = (dash.screen(), dash.buffer());
        assert_eq!(
            frozen.lines().next(),
            before.lines().next(),
            "the first row never changes place"
        );
        assert!(
            frozen.lines().last().unwrap().ends_with("FROZEN · F"),
            "{frozen}"
        );
        let cell = &buffer[(size.0 - 3, size.1 - 1)];
        assert!(
            cell.modifier.contains(ratatui::style::Modifier::REVERSED),
            "{cell:?}"
        );
        let after = &buffer[(size.0 - 1, size.1 - 1)];
        assert!(
            after.style().fg == Some(ratatui::style::Color::Reset) && after.modifier.is_empty(),
            "{after:?}"
        );
    }
}

#[test]
fn mouse_selects_entries_tabs_and_split_halves() {
    let texts: Vec<String> = (0..200).map(|n| format!("event {n}")).collect();
    let mut dash = with_events((200, 40), &texts);
    dash.keys("f6<Home>");
    let screen = dash.screen();
    let row = screen
        .lines()
        .position(|line| line.trim_end().ends_with("event 5"))
        .expect(&screen) as u16;
    dash.feed(Msg::Click { x: 30, y: row });
    assert_eq!(dash.position(), Some(Seq(6)));
    // A click on a view's name shows that view.
    let column = |dash: &mut Dash, name: &str| {
        let line = dash.screen().lines().nth(2).unwrap().to_string();
        runtail_core::text::width(line.split_once(name).unwrap().0) as u16
    };
    for (name, view) in [
        ("Steps", View::Steps),
        ("Messages", View::Messages),
        ("Events", View::Events),
    ] {
        let x = column(&mut dash, name);
        dash.feed(Msg::Click { x, y: 2 });
        assert_eq!(dash.view(), view);
    }
    // The wheel moves the half under the pointer; a click focuses it.
    dash.keys("|");
    let shown: Vec<View> = dash.views();
    let focus = dash.view();
    let other = usize::from(shown[0] == focus);
    let x = if other == 0 { 20 } else { 150 };
    dash.feed(Msg::Wheel { lines: 3, x, y: 20 });
    assert_eq!(dash.view(), focus);
    dash.feed(Msg::Click { x, y: 20 });
    assert_eq!(dash.view(), shown[other]);
    // With several streams, a click on the tab of one shows it.
    dash.keys("|<Esc><Down><Enter>");
    assert_eq!(dash.tab(), Some(1));
    let tabs = dash.screen().lines().next().unwrap_or_default().to_string();
    let x = runtail_core::text::width(tabs.split_once("9775").unwrap().0) as u16;
    dash.feed(Msg::Click { x, y: 0 });
    assert_eq!(dash.tab(), Some(0));
}

/// Wide, combining, right-to-left and hostile text.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        Just("日本語テキスト".repeat(9)),
        Just("שלום עולם ".repeat(9)),
        Just("e\u{301}\u{302}\u{303} ".repeat(20)),
        Just("👩‍👩‍👧‍👦🇵🇱☀️".repeat(8)),
        Just("\u{202e}evil\u{2066}\u{1b}[2J\u{200b}".into()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Resizing between 300x100 and 20x5 at any time never panics, and the cursor stays on its event in every view.
    #[test]
    fn cursor_stays_on_its_event_when_resizing(
        texts in prop::collection::vec(text(), 1..30),
        at in 1u64..30,
        steps in prop::collection::vec((0u16..300, 0u16..100, 1u8..9, prop::sample::select(vec!["w", "T", "v", "f", "|", "F<ctrl-l>F", ""])), 1..12),
    ) {
        let mut dash = with_events((300, 100), &texts);
        let at = at.min(texts.len() as u64);
        dash.keys("6");
        dash.feed(Msg::Paste(format!("#{at}")));
        for (w, h, view, key) in steps {
            dash.resize(w, h);
            dash.keys(&format!("{view}{key}"));
            dash.screen();
            prop_assert_eq!(dash.position(), Some(Seq(at)));
        }
        dash.resize(20, 5);
        dash.screen();
        dash.resize(300, 100);
        dash.keys("6");
        let marked = dash.lines(View::Events).iter().filter(|(_, marked)| *marked).count();
        prop_assert!(marked > 0, "the event is visible");
        prop_assert_eq!(dash.position(), Some(Seq(at)));
    }

    /// Columns after wide, combining or right-to-left text stay aligned.
    #[test]
    fn columns_stay_aligned_with_wide_and_rtl_text(texts in prop::collection::vec(text(), 1..20), width in 60u16..160) {
        let mut dash = with_events((width, 30), &texts);
        dash.keys("6f");
        let buffer = dash.buffer();
        for y in 5..28 {
            // The event's name is in its column, and no cell of the gutter is overwritten.
            let name: String = (2 + 18..2 + 24).map(|x| buffer[(x, y)].symbol()).collect();
            prop_assert!(name == "custom" || name.trim().is_empty(), "{name:?} in line {y}");
            prop_assert_eq!(buffer[(width - 1, y)].symbol(), " ");
        }
        // No bidirectional control character reaches the terminal.
        let is_hidden_control = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{1b}' | '\u{200b}');
        prop_assert!(!dash.screen().contains(is_hidden_control));
    }
}

#[test]
fn thread_opens_in_the_browser_and_its_url_opens_the_thread() {
    let mut dash = demo_thread((140, 40));
    let effects = dash.keys("o");
    let [Effect::OpenLink(link)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    link.has("smith.langchain.com/studio/?baseUrl=https%3A%2F%2F");
    assert!(
        dash.newest_notice().contains(link),
        "the notice shows the link"
    );
    let here = dash.page().target;
    dash.keys("<Esc>");
    dash.feed(Msg::Paste(link.clone()));
    assert_eq!(dash.page().target, here);
    // If no browser can be started, the notice shows the link, which is also copied.
    let failed = |link: &str| {
        EffectResult::LinkNotOpened(link.into(), "couldn't start xdg-open: not found".into())
    };
    assert_eq!(dash.done(failed(link)), [Effect::Copy(link.clone())]);
    let notice = dash.newest_notice();
    let is_error = dash.is_error_noticed();
    assert!(
        is_error && notice.starts_with("Couldn't open the browser. URL copied: "),
        "{notice}"
    );
    assert_eq!(
        dash.done(failed("javascript:alert(1)")),
        [],
        "only web links are offered"
    );
    dash.newest_notice().lacks("javascript");
}

#[test]
fn local_server_is_named_once_and_its_state_fits_the_column() {
    let mut dash = Dash::new(
        "[profiles.lab]\nagent_server = \"http://127.0.0.1:1\"\n",
        (140, 40),
    );
    let server = dash.selected_server();
    let error = made::error(Kind::Network, "refused");
    dash.done(EffectResult::Info(server, Err(error)));
    // With one server its threads are shown first.
    dash.focus_on(runtail_tui::app::Pane::Deployments);
    let row = dash
        .screen()
        .lines()
        .skip(1)
        .find(|line| line.contains(" lab "))
        .map(str::to_string);
    assert!(
        row.as_ref().is_some_and(|row| row.contains("✗ down")),
        "{row:?}"
    );
    dash.focus_on(runtail_tui::app::Pane::Stream);
    dash.assistants();
    dash.threads();
    dash.keys("n");
    let head = dash.screen().lines().nth(1).map(str::to_string);
    assert!(head.is_some_and(|head| head.starts_with("╭ New run · lab ─")));
}
