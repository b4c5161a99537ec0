//! Two open streams on one page.

use runtail_api::ThreadIntent;
use runtail_stream::SnapshotPart;
use runtail_testkit::dash::{Dash, Dialog, demo_like, thread_plan};
use runtail_tui::features::stream::viewer::View;
use runtail_tui::session::msg::{Msg, StreamTarget, Subscription, SubscriptionKind};
use serde_json::json;

const FIRST: &str = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
const SECOND: &str = "01a1fbb6-05bd-7362-97d9-fb3f813b715e";

/// Two threads of two servers in tabs, the second one shown.
fn two_tabs(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    for (row, thread) in [("prod-us/d2", FIRST), ("prod-eu/d1", SECOND)] {
        dash.select_deployment(row);
        dash.relayout();
        dash.open_server_of(dash.selected_server());
        dash.tail(thread);
        // An action keeps the tab.
        dash.keys("||");
    }
    dash
}

fn focused(dash: &Dash) -> &str {
    dash.thread_id().unwrap()
}

#[test]
fn another_open_stream_is_shown_beside() {
    let mut dash = two_tabs((140, 40));
    dash.capture("agent-messages-tuple");
    dash.keys("\\");
    assert_eq!(focused(&dash), SECOND);
    insta::assert_snapshot!("two_streams_140x40", dash.screen());
    // Tab moves between them, and each has its own view and cursor.
    dash.keys("<Tab>");
    assert_eq!(focused(&dash), FIRST);
    dash.keys("7<Home>");
    let view = |dash: &Dash, at: usize| dash.tabs()[at].view;
    assert_eq!(
        (view(&dash, 0), view(&dash, 1)),
        (View::Raw, View::Messages)
    );
    dash.keys("<Tab>2");
    assert_eq!((focused(&dash), view(&dash, 1)), (SECOND, View::Updates));
    dash.resize(80, 24);
    insta::assert_snapshot!("two_streams_80x24", dash.screen());
    // In a small pane, and with full screen, one is shown at a time, with its number.
    dash.keys("f");
    assert!(!dash.screen().contains('╭'));
    dash.shows(" 1/2 ");
    dash.keys("<Tab>");
    dash.shows(" 2/2 ");
    dash.keys("f");
    dash.resize(80, 16);
    assert!(!dash.screen().contains('╭'));
    dash.shows(" 2/2 ");
}

#[test]
fn actions_concern_the_stream_with_the_focus() {
    let mut dash = two_tabs((140, 40));
    dash.keys("\\");
    for (keys, thread) in [("", SECOND), ("<Tab>", FIRST), ("<Tab>", SECOND)] {
        dash.keys(keys);
        let server = dash.page().server;
        let effects = dash.keys("D");
        let planned = effects.iter().find_map(thread_plan);
        let planned = planned.map(|(_, of, intent)| (of, intent));
        assert_eq!(
            planned,
            Some((
                server.clone(),
                ThreadIntent::Delete {
                    thread: thread.into()
                }
            ))
        );
        // The preview names its target.
        dash.shows(&*server.profile);
        dash.shows(&thread[thread.len() - 4..]);
        dash.keys("<Esc>");
    }
}

#[test]
fn marks_of_production_are_in_each_title() {
    let mut dash = two_tabs((140, 40));
    dash.each_profile(|profile| {
        (profile.label, profile.production) = (Some("PROD".into()), *profile.name == *"prod-eu");
        profile.read_only = profile.production;
    });
    dash.keys("\\");
    let is_eu_first = &*dash.page().server.profile == "prod-eu";
    let title = dash.screen().lines().nth(1).unwrap().to_string();
    let (left, right) = title.split_once("╮╭").unwrap();
    let (marked, plain) = if is_eu_first {
        (left, right)
    } else {
        (right, left)
    };
    assert!(
        marked.contains("PROD READ-ONLY") && !plain.contains("PROD"),
        "{title}"
    );
    // A narrow half has the marks and the end of the id.
    dash.resize(100, 30);
    let title = dash.screen().lines().nth(1).unwrap().to_string();
    let (left, right) = title.split_once("╮╭").unwrap();
    let (marked, id) = if is_eu_first {
        (left, "715e")
    } else {
        (right, "9775")
    };
    assert!(marked.contains("PROD RO") && marked.contains(id), "{title}");
}

#[test]
fn the_end_of_a_pair_keeps_both_tabs_and_remembers_the_partner() {
    let mut dash = two_tabs((140, 40));
    let tabs = |dash: &Dash| dash.tabs().len();
    for end in ["<Esc>", "|", "<Tab><Esc>", "<Tab>|", "\\"] {
        dash.keys("\\");
        assert!(dash.has_two_streams());
        dash.keys(end);
        assert!(!dash.has_two_streams(), "{end}");
        // `|` keeps the stream with the focus.
        let kept = if end == "<Tab>|" { FIRST } else { SECOND };
        assert_eq!((focused(&dash), tabs(&dash)), (kept, 2), "{end}");
        if kept == FIRST {
            dash.keys("\\");
            assert!(dash.has_two_streams(), "the other one is remembered");
            dash.keys("<Tab>|");
        }
    }
    // The footer names what it does.
    dash.keys("\\9");
    dash.shows("| one stream");
    dash.keys("|");
    dash.shows("| split");
    dash.keys("1");
    // The view beside the stream's own is another split, which both leave alone.
    assert!(dash.page().beside.is_none());
    // `q` closes the stream with the focus; the other one stays.
    dash.keys("\\<Tab>q");
    assert_eq!((focused(&dash), tabs(&dash)), (SECOND, 1));
    // Alone there is nothing to show beside it.
    dash.keys("\\");
    assert!(dash.newest_notice().starts_with("No other stream is open."));
}

#[test]
fn the_key_goes_through_the_open_streams() {
    let mut dash = two_tabs((140, 40));
    dash.tail("third");
    dash.keys("||");
    let mut partners = Vec::new();
    for _ in 0..4 {
        dash.keys("\\");
        partners.push(dash.thread_beside());
    }
    assert_eq!(
        partners,
        [
            Some(FIRST.into()),
            Some(SECOND.into()),
            None,
            Some(FIRST.into())
        ]
    );
    // After an end by Esc, the last partner is back.
    dash.keys("\\<Esc>\\");
    assert_eq!(dash.thread_beside().as_deref(), Some(SECOND));
    // A partner that is closed leaves the stream alone, and the next one can be shown.
    dash.keys("<Tab>q\\");
    assert_eq!(dash.thread_beside().as_deref(), Some(FIRST));
}

#[test]
fn the_command_names_the_stream_to_show_beside() {
    let mut dash = two_tabs((140, 40));
    let partner = Dash::thread_beside;
    dash.keys(":split 1<Enter>");
    assert_eq!(partner(&dash).as_deref(), Some(FIRST));
    dash.keys("<Esc>");
    dash.keys(&format!(":split {FIRST}<Enter>"));
    assert_eq!(partner(&dash).as_deref(), Some(FIRST));
    dash.keys("<Esc>");
    for (what, why) in [
        ("2", "is shown already"),
        ("7", "neither the number of a tab nor the id"),
        (
            "01a1fbb8-1f78-73e0-8673-6126729aa3fd",
            "no listed thread has this id",
        ),
    ] {
        dash.keys(&format!(":split {what}"));
        let screen = dash.screen();
        dash.keys("<Enter>");
        let said = dash.newest_notice().to_string();
        assert!(said.contains(why), "{what}: {said}\n{screen}");
        dash.keys(if dash.dialog().is_none() { "" } else { "<Esc>" });
        assert_eq!(partner(&dash), None, "{what}");
    }
    // A thread of a listed server is opened by its URL, without leaving this one.
    let url = dash.tabs()[0].server.url.clone();
    dash.keys(&format!(
        ":split {url}/threads/01a1fbb8-1f78-73e0-8673-6126729aa3fd<Enter>"
    ));
    assert_eq!(
        partner(&dash).as_deref(),
        Some("01a1fbb8-1f78-73e0-8673-6126729aa3fd")
    );
    assert_eq!((focused(&dash), dash.tabs().len()), (SECOND, 3));
}

#[test]
fn a_click_chooses_the_stream_and_the_wheel_does_not() {
    let mut dash = two_tabs((140, 40));
    dash.keys("\\");
    dash.feed(Msg::Wheel {
        lines: 3,
        x: 100,
        y: 20,
    });
    assert_eq!(focused(&dash), SECOND);
    dash.feed(Msg::Click { x: 100, y: 20 });
    assert_eq!(focused(&dash), FIRST);
    // The tabs of the views are in the first row of the frame.
    let row = dash.screen().lines().nth(2).unwrap().to_string();
    let (before, _) = row.rsplit_once(" 7").unwrap();
    dash.feed(Msg::Click {
        x: runtail_core::text::width(before) as u16 + 1,
        y: 2,
    });
    assert_eq!((focused(&dash), dash.view()), (FIRST, View::Raw));
}

#[test]
fn a_stream_that_is_loaded_again_keeps_its_place_beside() {
    let mut dash = two_tabs((140, 40));
    dash.keys("\\<Tab>:reopen<Enter>");
    assert_eq!(focused(&dash), FIRST);
    assert!(dash.has_two_streams() && !dash.dialogs().contains(&Dialog::Command));
    dash.keys("<Tab>:reopen<Enter>");
    assert_eq!(focused(&dash), SECOND);
    assert!(dash.has_two_streams());
}

/// The threads whose streams are read.
fn read(dash: &mut Dash) -> Vec<String> {
    dash.relayout();
    let target = |sub: Subscription| match sub.what {
        SubscriptionKind::Stream(_, StreamTarget::Tail { thread }) => Some(thread),
        _ => None,
    };
    dash.subscriptions()
        .into_iter()
        .filter_map(target)
        .collect()
}

#[test]
fn a_page_in_the_background_gives_way_and_is_read_again_when_shown() {
    let mut dash = two_tabs((140, 40));
    assert_eq!(read(&mut dash), [FIRST, SECOND]);
    dash.keep_bytes_in_total(100_000);
    // The newest event of a log is never evicted, so the whole page gives way.
    dash.snapshot(vec![(
        SnapshotPart::State,
        json!({"values": {"text": "x".repeat(200_000)}}),
    )]);
    assert_eq!(read(&mut dash), [SECOND]);
    dash.reads("The open pages take more than 100.0 kB ([limits] total): ");
    dash.reads("will be read again when shown.");
    dash.keys("{");
    assert_eq!(read(&mut dash), [FIRST, SECOND]);
    // The shown page stays, whatever it takes.
    dash.snapshot(vec![(
        SnapshotPart::State,
        json!({"values": {"text": "x".repeat(200_000)}}),
    )]);
    assert!(read(&mut dash).contains(&FIRST.to_string()));
}
