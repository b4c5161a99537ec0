//! Each view of one thread at both sizes, in color, without color, in ASCII and in every theme.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use runtail_stream::projection::Role;
use runtail_stream::{Event, Outcome, SnapshotPart};
use runtail_testkit::dash::{Dash, demo_thread};
use runtail_testkit::made;
use runtail_testkit::says::Says;
use runtail_tui::features::stream::views::{VIEWS, View};
use runtail_tui::session::msg::Msg;
use serde_json::json;

/// Runs of one thread: a model with a tool, parallel branches with a subgraph, a waiting run, a failed run.
const THREAD: [&str; 4] = [
    "agent-messages-tuple",
    "fanout-many-subgraphs",
    "approval-interrupt",
    "broken-values",
];
pub(crate) fn thread(size: (u16, u16)) -> Dash {
    let mut dash = demo_thread(size);
    let at = dash.now;
    dash.items(vec![made::connected(at)]);
    for capture in THREAD {
        dash.continue_capture_now(capture);
        dash.run_done();
    }
    if size.0 >= 120 {
        dash.keys("f");
    }
    dash
}

/// Returns the thread followed at its end, and positioned at an update of the subgraph in its middle.
fn positions() -> [(&'static str, Dash); 2] {
    let followed = thread((140, 40));
    let mut read = thread((80, 24));
    let wrote = |event: &Event| &*event.name == "updates" && !event.ns.is_empty();
    let middle = read.events().into_iter().find(wrote).unwrap().seq;
    read.feed(Msg::Paste(format!("#{middle}")));
    assert_eq!(read.position(), Some(middle));
    [("140x40", followed), ("80x24", read)]
}

/// Returns the positions and other screens of a stream: splits, tabs, marks, searches and filters, state changes, each state
/// of the connection, a dialog and a page over the stream.
fn scenes() -> Vec<(&'static str, Dash)> {
    let mut scenes = Vec::from(positions());
    let mut scene = |name, change: fn(&mut Dash)| {
        let mut dash = thread((120, 36));
        change(&mut dash);
        let is_over_the_stream = ["modes", "json", "help"].contains(&name);
        assert_eq!(
            dash.dialog().is_some(),
            is_over_the_stream,
            "{name}: {}",
            dash.screen()
        );
        scenes.push((name, dash));
    };
    scene("split", |dash| drop(dash.keys("|<Tab>m")));
    scene("tabs", |dash| drop(dash.keys("<Esc><Down><Enter>{")));
    scene("found", |dash| {
        drop(dash.keys("/sub|boom<Enter>]&!node:left<Enter>"))
    });
    scene("typed", |dash| drop(dash.keys("/[")));
    scene("changes", |dash| drop(dash.keys("3=")));
    scene("compared", |dash| drop(dash.keys("3<Home>[m[[=")));
    scene("wrapped", |dash| drop(dash.keys("wTTv")));
    scene("folded", |dash| {
        drop(dash.keys("4<Home><Down><Down><Down><Left>"))
    });
    scene("modes", |dash| drop(dash.keys("M")));
    scene("json", |dash| drop(dash.keys("6<Enter>")));
    scene("help", |dash| drop(dash.keys("?")));
    scene("lost", |dash| {
        dash.retrying(3, 4, "connection reset by peer")
    });
    scene("silent", |dash| {
        dash.event("metadata", r#"{"run_id":"r","attempt":1}"#);
        dash.pass(45);
    });
    for (name, outcome) in [
        ("ended", Outcome::Success),
        ("failed", Outcome::Error),
        ("asks", Outcome::Interrupted),
        ("unknown", Outcome::Unknown),
    ] {
        let mut dash = thread((120, 36));
        dash.end(outcome);
        scenes.push((name, dash));
    }
    let empty = demo_thread((120, 36));
    scenes.push(("empty", empty));
    scenes
}

/// Returns the key and the name of each view.
fn views() -> impl Iterator<Item = (String, String)> {
    VIEWS
        .into_iter()
        .map(|view| (view.digit().to_string(), view.title().to_lowercase()))
}

/// Returns the style of a cell.
fn style(cell: &Cell) -> String {
    let modifiers = [
        (Modifier::BOLD, "bold"),
        (Modifier::DIM, "dim"),
        (Modifier::ITALIC, "italic"),
        (Modifier::UNDERLINED, "underline"),
        (Modifier::REVERSED, "reverse"),
    ];
    let mut words: Vec<String> = modifiers
        .into_iter()
        .filter(|(modifier, _)| cell.modifier.contains(*modifier))
        .map(|(_, word)| word.to_string())
        .collect();
    let colors = [(cell.fg, ""), (cell.bg, "on ")]
        .into_iter()
        .filter(|(color, _)| *color != Color::Reset);
    words.extend(colors.map(|(color, on)| format!("{on}{color}").to_lowercase()));
    words.join(" ")
}

/// Returns the styled text without these lines above and two below: for each line, its stretches of one style.
pub(crate) fn styles(buffer: &Buffer, above: usize) -> String {
    let mut out = String::new();
    let (width, height) = (
        usize::from(buffer.area.width),
        usize::from(buffer.area.height),
    );
    for (number, row) in buffer
        .content
        .chunks(width)
        .enumerate()
        .take(height - 2)
        .skip(above)
    {
        let mut runs: Vec<(String, String)> = Vec::new();
        for cell in row {
            let style = style(cell);
            match runs.last_mut().filter(|run| run.0 == style) {
                Some(run) => run.1.push_str(cell.symbol()),
                None => runs.push((style, cell.symbol().to_string())),
            }
        }
        runs.retain(|(style, text)| !style.is_empty() && !text.trim().is_empty());
        if runs.is_empty() {
            continue;
        }
        let runs: Vec<String> = runs
            .iter()
            .map(|(style, text)| format!("{style} ‹{}›", text.trim()))
            .collect();
        out.push_str(&format!("{number:>2} {}\n", runs.join("  ")));
    }
    out
}

#[test]
fn every_view_matches_the_snapshots_at_both_sizes() {
    for (position, mut dash) in positions() {
        for (key, name) in views() {
            dash.keys(&key);
            insta::assert_snapshot!(format!("{name}_{position}"), dash.screen());
        }
    }
}

#[test]
fn view_styles_match_the_snapshots_with_and_without_color() {
    let [_, (_, mut dash)] = positions();
    for (key, name) in views() {
        dash.keys(&key);
        let colored = dash.buffer();
        insta::assert_snapshot!(format!("{name}_styles"), styles(&colored, 3));
        dash.color = false;
        insta::assert_snapshot!(format!("{name}_styles_no_color"), styles(&dash.buffer(), 3));
        dash.color = true;
    }
}

/// All themes, and the screen without color, have the same symbols in the same cells. The default theme uses only the
/// terminal's own colors on its own background, which are readable on dark and light terminals.
#[test]
fn themes_change_only_colors() {
    let terminal_colors = [
        Color::Reset,
        Color::Red,
        Color::Green,
        Color::Yellow,
        Color::Blue,
        Color::Magenta,
        Color::Cyan,
        Color::LightBlue,
        Color::LightMagenta,
        Color::LightCyan,
    ];
    let symbols = |buffer: &Buffer| {
        buffer
            .content
            .iter()
            .map(|c| c.symbol().to_string())
            .collect::<Vec<_>>()
    };
    for (position, mut dash) in scenes() {
        for (key, name) in views() {
            dash.keys(&key);
            let buffer = dash.buffer();
            for cell in &buffer.content {
                assert!(
                    terminal_colors.contains(&cell.fg) && cell.bg == Color::Reset,
                    "{name}, {position}: {cell:?}"
                );
            }
            let expected = symbols(&buffer);
            for theme in ["color-blind", "high-contrast", "mono"] {
                dash.set_theme(theme);
                let buffer = dash.buffer();
                assert_eq!(symbols(&buffer), expected, "{name}, {position}, {theme}");
                let has_no_background = buffer.content.iter().all(|cell| cell.bg == Color::Reset);
                assert!(
                    has_no_background,
                    "{name}, {position}, {theme}: a background color"
                );
            }
            // Without color every theme looks like `mono`.
            let mono = dash.buffer();
            dash.set_theme("terminal");
            dash.color = false;
            let plain = dash.buffer();
            dash.color = true;
            assert_eq!(plain, mono, "{name}, {position}");
            assert!(
                plain.content.iter().all(|cell| cell.fg == Color::Reset),
                "{name}, {position}: a color"
            );
        }
    }
}

/// With `--ascii` all symbols are ASCII, in the same cells with the same styles. Only text of servers may become `?`.
#[test]
fn every_symbol_has_an_ascii_version() {
    let server_text: String = THREAD
        .into_iter()
        .map(|capture| std::fs::read_to_string(format!("tests/captures/{capture}.sse")).unwrap())
        .map(|body| unescaped(&body))
        .collect();
    for (position, mut dash) in scenes() {
        for (key, name) in views() {
            dash.keys(&key);
            dash.set_ascii_symbols(false);
            let rich = dash.buffer();
            dash.set_ascii_symbols(true);
            let plain = dash.buffer();
            for (rich, plain) in rich.content.iter().zip(&plain.content) {
                assert!(plain.symbol().is_ascii(), "{name}, {position}: {plain:?}");
                assert_eq!(style(rich), style(plain), "{name}, {position}");
                let is_lost = plain.symbol() == "?" && rich.symbol() != "?";
                assert!(
                    !is_lost || server_text.contains(rich.symbol()),
                    "{name}, {position}: {:?}",
                    rich.symbol()
                );
            }
        }
    }
}

/// Returns the strings in JSON with their `\u` escapes decoded.
fn unescaped(body: &str) -> String {
    let mut strings = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('"') {
        let mut json = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<String>();
        match json.next() {
            Some(Ok(text)) => {
                strings.push_str(&text);
                rest = &rest[at + json.byte_offset()..];
            }
            _ => rest = &rest[at + 1..],
        }
    }
    strings
}

/// The thread of these tests has entries in all views.
#[test]
fn test_thread_has_entries_in_every_view() {
    let dash = thread((80, 24));
    let roles = dash.roles();
    assert!(
        roles.contains(&Role::Ai) && roles.contains(&Role::Tool),
        "{roles:?}"
    );
    for view in VIEWS.into_iter().take(7) {
        assert!(
            dash.count(view) > 3,
            "{}: {}",
            view.title(),
            dash.count(view)
        );
    }
}

#[test]
fn empty_streams_have_no_cursor_in_any_view() {
    for view in VIEWS.map(View::digit) {
        for keys in ["g", "j", "k", "G"] {
            let mut dash = demo_thread((120, 30));
            dash.keys(&format!("{view}{keys}"));
            dash.screen();
            assert_eq!(dash.position(), None, "view {view}, key {keys}");
        }
    }
}

#[test]
fn runs_are_listed_newest_first_with_or_without_events() {
    let mut dash = demo_thread((140, 40));
    let run = |n: u64, minute: u64| {
        let at = format!("2026-11-21T13:{minute:02}:00Z");
        serde_json::json!({"run_id": format!("01a1fc40-0000-7000-8000-00000000000{n}"), "status": "success",
                           "created_at": at, "updated_at": at})
    };
    dash.items(vec![made::connected(dash.now)]);
    dash.event(
        "metadata",
        r#"{"run_id":"01a1fc40-0000-7000-8000-000000000002","attempt":1}"#,
    );
    dash.event(
        "metadata",
        r#"{"run_id":"01a1fc40-0000-7000-8000-000000000002","status":"run_done"}"#,
    );
    let runs = [run(4, 40), run(3, 30), run(2, 20), run(1, 10)];
    dash.snapshot(vec![(
        runtail_stream::SnapshotPart::Runs,
        serde_json::json!(runs),
    )]);
    dash.keys("7");
    let listed = |dash: &mut Dash| {
        let screen = dash.screen();
        let rows = screen.lines().filter_map(|line| {
            let name = line.split(['●', '◐']).next().filter(|name| *name != line)?;
            name.trim()
                .trim_start_matches('▌')
                .trim()
                .parse::<u64>()
                .ok()
        });
        rows.map(|number| number.to_string()).collect::<String>()
    };
    assert_eq!(listed(&mut dash), "4321");
    // The cursor stays on its run while newer events arrive and the list grows.
    dash.keys("gjj");
    let under_cursor = |dash: &mut Dash| {
        let screen = dash.screen();
        let line = screen.lines().find_map(|line| line.split("▌").nth(1));
        line.expect("a cursor").trim().to_string()
    };
    let before = under_cursor(&mut dash);
    before.has("2  ● finished");
    dash.event(
        "metadata",
        r#"{"run_id":"01a1fc40-0000-7000-8000-000000000005","attempt":1}"#,
    );
    let runs = [run(6, 50), run(4, 40), run(3, 30), run(2, 20), run(1, 10)];
    dash.snapshot(vec![(
        runtail_stream::SnapshotPart::Runs,
        serde_json::json!(runs),
    )]);
    assert_eq!(under_cursor(&mut dash), before);
    assert_eq!(listed(&mut dash), "654321");
}

#[test]
fn ended_threads_are_not_said_to_continue() {
    let at = "2026-11-21T13:00:00Z";
    let run = json!({"run_id": "r1", "thread_id": "t", "assistant_id": "a", "status": "success", "created_at": at,
        "updated_at": at});
    for (runs, is_over) in [(json!([run]), true), (json!([]), false)] {
        let mut dash = demo_thread((140, 40));
        dash.snapshot(vec![
            (
                SnapshotPart::Thread,
                json!({"thread_id": "t", "status": "idle"}),
            ),
            (
                SnapshotPart::State,
                json!({"values": {}, "next": [], "tasks": [], "created_at": at}),
            ),
            (SnapshotPart::Runs, runs),
        ]);
        dash.keys("6");
        let screen = dash.screen();
        assert_eq!(screen.contains("No events yet"), !is_over);
        assert_eq!(
            screen.contains("This server keeps no events of ended runs."),
            is_over
        );
    }
}

#[test]
fn runs_without_messages_say_where_to_look() {
    let mut dash =
        crate::thread_actions::page((100, 30), &crate::thread_actions::waiting("question"));
    dash.shows(["── run 1", "No messages"]);
    let mut dash = demo_thread((100, 30));
    dash.capture("agent-messages-tuple");
    dash.lacks("No messages");
}

#[test]
fn the_whole_question_is_shown_where_there_are_no_messages() {
    let body = format!(
        "Dear Ann,\n{}\nKind regards",
        "your order left our warehouse this morning. ".repeat(4)
    );
    let value = json!({"question": "Send this?", "body": body, "to": "ann@example.com"});
    for size in [(80, 24), (140, 40)] {
        let mut dash =
            crate::thread_actions::page(size, &crate::thread_actions::asking(value.clone()));
        let screen = dash.screen();
        let fields = [
            "◆ Send this?",
            "Kind regards",
            "ann@example.com",
            "No messages",
        ];
        assert!(fields.iter().all(|field| screen.contains(field)));
        // Messages leave no room for it, and the other views have rows of their own.
        dash.keys("7");
        dash.lacks("Kind regards");
    }
    // What has no room is cut with a mark.
    let value = json!({"question": "Send this?", "body": "line\n".repeat(60)});
    let mut dash = crate::thread_actions::page((80, 24), &crate::thread_actions::asking(value));
    dash.shows("line …");
}
