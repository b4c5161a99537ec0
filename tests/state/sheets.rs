//! Answers, previews and explanations stand as sheets over the page, which stays readable above them.

use crate::thread_actions::{asking, page};
use runtail_testkit::dash::Dash;
use serde_json::json;

/// Returns a thread with a long conversation that waits for an answer.
fn conversation(size: (u16, u16)) -> Dash {
    let mut records = asking(json!("Send it?"));
    let messages: Vec<_> = (1..=60)
        .map(
            |n| json!({"id": format!("m{n}"), "type": "human", "content": format!("message {n}.")}),
        )
        .collect();
    records.state["values"]["messages"] = json!(messages);
    page(size, &records)
}

#[test]
fn the_newest_messages_are_above_the_answer() {
    for size in [(140, 40), (100, 30)] {
        let mut dash = conversation(size);
        dash.shows("message 60.");
        dash.keys("a");
        dash.shows(["message 60.", "ctrl-s send"]);
        dash.keys("<Esc>");
        dash.shows("message 60.");
    }
}

#[test]
fn page_up_turns_the_page_above_a_sheet_that_has_no_more_lines() {
    let mut dash = conversation((140, 40));
    dash.keys("a");
    dash.lacks("message 1.");
    for _ in 0..12 {
        dash.keys("<PageUp>");
    }
    dash.shows(["message 1.", "ctrl-s send"]);
    for _ in 0..12 {
        dash.keys("<PageDown>");
    }
    dash.shows("message 60.");
    // What is typed still goes to the answer.
    dash.keys("yes");
    dash.shows("yes");
}

#[test]
fn a_page_that_covers_the_screen_is_readable_above_a_sheet() {
    let mut dash = conversation((140, 40));
    dash.keys("i");
    let covered = dash.screen();
    dash.keys("<Esc>e");
    dash.shows("message 60.");
    assert!(covered.contains("Inbox"), "{covered}");
}

#[test]
fn sheets_fit_into_every_terminal() {
    for (w, h) in [
        (1, 1),
        (60, 12),
        (60, 13),
        (61, 17),
        (80, 24),
        (140, 31),
        (300, 100),
    ] {
        for key in ["a", "e", "x", "D", "M"] {
            let mut dash = conversation((140, 40));
            dash.keys(key);
            dash.resize(w, h);
            dash.screen();
            dash.keys("<PageUp><PageDown>:<Esc>");
            dash.screen();
        }
    }
}
