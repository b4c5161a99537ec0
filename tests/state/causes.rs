//! The cause of a failure on the screens, and what a page says of events that it did not receive.

use runtail_stream::SnapshotPart;
use runtail_testkit::dash::Dash;
use serde_json::{Value, json};

const CAUSE: &str = "ConnectionError: Error code: 529";
const MASKED: &str = "An internal error occurred";

fn captured(name: &str) -> Value {
    let capture: Value = serde_json::from_str(
        &std::fs::read_to_string(format!("tests/captures/agents/{name}.json")).unwrap(),
    )
    .unwrap();
    capture["response"]["body"].clone()
}

fn records(name: &str) -> Vec<(SnapshotPart, Value)> {
    let parts = [
        (SnapshotPart::Thread, "thread"),
        (SnapshotPart::State, "state"),
        (SnapshotPart::Runs, "runs"),
    ];
    parts
        .into_iter()
        .map(|(part, file)| (part, captured(&format!("{name}-{file}"))))
        .collect()
}

/// Opens the page of a thread.
fn page() -> Dash {
    let mut dash = Dash::new(
        "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n",
        (140, 40),
    );
    dash.threads();
    dash.keys("<Enter>");
    dash
}

#[test]
fn the_cause_that_python_masks_is_shown_in_every_view() {
    let mut dash = page();
    dash.snapshot(vec![
        (SnapshotPart::Thread, json!({"status": "busy"})),
        (SnapshotPart::Runs, json!([])),
    ]);
    dash.capture("agents/modelfail-stream");
    dash.run_done();
    // The records have the cause.
    dash.lacks(MASKED);
    dash.snapshot(records("modelfail"));
    for (view, also) in [
        ("1", "failed in model · ConnectionError"),
        ("5", "✗ failed"),
    ] {
        dash.keys(view);
        let screen = dash.screen();
        assert!(
            screen.contains(&format!("✗ {CAUSE}")) && screen.contains(also),
            "{view}:\n{screen}"
        );
        assert!(!screen.contains(MASKED), "{view}:\n{screen}");
    }
    dash.keys("e");
    dash.reads("'message': 'Overloaded'}}");
}

#[test]
fn the_cause_of_an_earlier_run_comes_from_the_history() {
    let mut dash = page();
    let failed = captured("modelfail-runs")[0].clone();
    let mut later = failed.clone();
    later["run_id"] = "01a219e0-0000-7000-8000-000000000000".into();
    later["status"] = "success".into();
    later["created_at"] = "2026-11-26T21:59:46Z".into();
    dash.snapshot(vec![
        (SnapshotPart::Thread, json!({"status": "idle"})),
        (SnapshotPart::Runs, json!([later, failed])),
        (SnapshotPart::History, captured("modelfail-history")),
    ]);
    dash.keys("7");
    dash.shows(CAUSE);
}

#[test]
fn a_thread_whose_state_fails_has_the_text_of_its_record() {
    let mut dash = page();
    dash.snapshot(
        records("modelfail")
            .into_iter()
            .filter(|(part, _)| *part != SnapshotPart::State)
            .collect(),
    );
    dash.shows(&format!("✗ ConnectionError: {MASKED}"));
}

#[test]
fn a_long_error_is_one_line_in_the_banner_and_whole_on_the_card() {
    let mut dash = page();
    let mut all = records("modelfail");
    let long = format!(
        "ConnectionError('begin {} the end')",
        "overloaded ".repeat(5_000)
    );
    all[1].1["tasks"][0]["error"] = long.into();
    dash.snapshot(all);
    let screen = dash.screen();
    let lines: Vec<&str> = screen
        .lines()
        .filter(|line| line.contains("begin overloaded"))
        .collect();
    assert!(lines.len() == 1 && lines[0].contains('…'));
    dash.keys("e<End>");
    dash.reads("overloaded the end");
}

#[test]
fn views_of_events_say_that_the_page_was_opened_later() {
    let mut dash = page();
    let run = json!({"run_id": "r", "status": "success", "created_at": "2026-11-21T13:53:00Z", "updated_at": "2026-11-21T13:54:00Z"});
    let task = json!({"id": "t", "name": "ask", "interrupts": [{"id": "i", "value": "Send it?"}]});
    dash.snapshot(vec![
        (
            SnapshotPart::Thread,
            json!({"status": "interrupted", "interrupts": {"t": [{"id": "i", "value": "Send it?"}]}}),
        ),
        (
            SnapshotPart::State,
            json!({"values": {}, "next": ["ask"], "tasks": [task], "created_at": "2026-11-21T13:54:00Z"}),
        ),
        (SnapshotPart::Runs, json!([run])),
    ]);
    dash.keys("6");
    let words = dash.words();
    assert!(words.contains(
        "This server keeps no events of ended runs. Steps and State come from its records."
    ));
    assert!(!words.contains("press a to answer"));
}

#[test]
fn a_page_that_polls_calls_a_silent_run_stuck() {
    let mut dash = page();
    let run = json!({"run_id": "r", "status": "running", "created_at": "2026-11-21T13:08:00Z", "updated_at": "2026-11-21T13:08:00Z"});
    let every = std::time::Duration::from_secs(5);
    dash.items(vec![runtail_stream::Item::Following {
        at: dash.now,
        every,
        unread: 1,
    }]);
    dash.snapshot(vec![
        (
            SnapshotPart::Thread,
            json!({"status": "busy", "updated_at": "2026-11-21T13:08:00Z"}),
        ),
        (SnapshotPart::Runs, json!([run])),
    ]);
    dash.shows("stuck: no change for 52m");
}
