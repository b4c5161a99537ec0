//! Notices in the footer: they cover neither keys, nor rows, nor the frame of a pane or a dialog.

use ratatui::buffer::Buffer;
use ratatui::style::Modifier;
use runtail_testkit::dash::{Dash, demo_like, demo_server, demo_thread};
use runtail_testkit::says::Says;

const SIZES: [(u16, u16); 2] = [(80, 24), (140, 40)];

/// A text longer than the small screens are wide.
const LONGEST: &str = "prod-us › invoice-agent › approval 8e35 waits for you: Approve this payment of 1200 € to ana@acme.example, \
                       which was asked for an hour ago, and which is not answered yet?";

/// A text too long for the rest of the footer.
const LONG: &str = "The server at prod-eu answered 503 to the last request, so its rows may be out of date until it answers.";

fn line(buffer: &Buffer, y: u16) -> String {
    (0..buffer.area.width)
        .map(|x| buffer[(x, y)].symbol())
        .collect()
}

/// Returns the row of the notice.
#[track_caller]
fn row_of(buffer: &Buffer, text: &str) -> u16 {
    let start: String = text.chars().take(30).collect();
    let found = (0..buffer.area.height).find(|y| line(buffer, *y).contains(&start));
    found.unwrap_or_else(|| {
        panic!(
            "{}",
            (0..buffer.area.height)
                .map(|y| line(buffer, y) + "\n")
                .collect::<String>()
        )
    })
}

/// Shows a notice over a screen, and checks what it may not cover.
#[track_caller]
fn check(mut dash: Dash, name: &str) {
    let (w, h) = dash.size();
    dash.end_notice();
    let before = dash.buffer();
    dash.notify(LONG);
    let after = dash.buffer();
    let y = row_of(&after, LONG);
    let said = format!(
        "{name} {w}x{h}:\n{}",
        (0..h).map(|y| line(&after, y) + "\n").collect::<String>()
    );
    for (key, label) in dash.hints() {
        // Narrow screens leave out some of them, with or without a notice.
        let hint = format!("{key} {label}");
        assert_eq!(
            line(&after, h - 1).contains(&hint),
            line(&before, h - 1).contains(&hint),
            "{hint}: {said}"
        );
    }
    let end = (0..w)
        .rev()
        .find(|x| after[(*x, y)].symbol() != " " && !"│╯─".contains(after[(*x, y)].symbol()))
        .unwrap();
    // Panes and dialogs make room, so no frame is cut: the row of the notice has nothing else.
    let rest: String = line(&after, y)
        .chars()
        .filter(|c| "╰╯│─".contains(*c))
        .collect();
    assert!(y == h - 1 || rest.is_empty(), "{said}");
    // The style of a frame is not added to that of the notice.
    let row = line(&after, y);
    let start = row[..row.find("The server").unwrap()].chars().count() as u16;
    for x in start..=end.min(start + 40) {
        let style = after[(x, y)].style();
        let is_plain = style.fg == Some(ratatui::style::Color::Reset)
            && style.add_modifier == Modifier::empty();
        assert!(is_plain, "{x}: {style:?} {said}");
    }
    // What was said with keys in the frame of a dialog is still there.
    for y in [h - 2, h - 1] {
        let keys = line(&before, y);
        let has_keys = keys.starts_with('╰') && keys.contains("Esc");
        assert!(
            !has_keys || (0..h).any(|y| line(&after, y) == keys),
            "{said}"
        );
    }
}

#[test]
fn a_long_notice_covers_no_key_and_no_frame() {
    for size in SIZES {
        check(demo_like(size), "deployments");
        let dash = demo_server(size);
        check(dash, "threads");
        let mut dash = demo_thread(size);
        dash.capture("agent-messages");
        check(dash, "thread");
        let mut dash = crate::inbox::full(size);
        dash.keys("i");
        check(dash, "inbox");
        let mut dash = demo_like(size);
        dash.keys("p");
        check(dash, "profiles");
        let mut dash = demo_like(size);
        dash.record(r#"{"a":{"url":"https://x"},"b":[1,2,3]}"#);
        check(dash, "document");
        check(crate::composer::composer(size, None), "form");
        let mut dash = demo_server(size);
        crate::app::open_card(&mut dash, "<Down>a", "74676f99b80c146053dbeb4fdcab82cf");
        check(dash, "answer");
        let mut dash = demo_thread(size);
        dash.keys("M");
        check(dash, "modes");
        let mut dash = demo_like(size);
        dash.keys("<Home>e");
        dash.card();
        check(dash, "explanation");
        let (mut dash, _) = crate::changes::deletion(size);
        dash.relayout();
        check(dash, "preview");
    }
}

#[test]
fn the_longest_notice_leaves_the_confirmation_of_a_preview() {
    for size in [(60, 16), (80, 24), (94, 12)] {
        let (mut dash, _) = crate::changes::deletion(size);
        let before = dash.screen();
        before.has("to confirm");
        dash.notify(LONGEST);
        let after = dash.screen();
        after.has("prod-us › invoice-agent › approval");
        let prompt = |screen: &str| {
            screen
                .lines()
                .find(|line| line.contains("to confirm"))
                .map(str::to_string)
        };
        assert_eq!(prompt(&after), prompt(&before), "{after}");
    }
}

#[test]
fn the_failure_of_a_key_ends_with_the_next_key() {
    let mut dash = crate::composer::composer((140, 40), Some(crate::composer::schema()));
    dash.keys("<Tab><Tab><Tab>ten<ctrl-s>");
    dash.shows("Nothing was sent.");
    dash.keys("<Tab>");
    dash.lacks("Nothing was sent.");
    // A failure that no key caused is read first.
    dash.notify_error("The server at prod-eu answered 503.");
    dash.keys("<Tab>");
    dash.shows("answered 503");
}
