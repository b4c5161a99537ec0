//! The Messages view of a thread without messages: its runs with their steps, questions, answers and results.

use crate::cursor_sync::viewer;
use crate::steps::{capture, line, opened, serve};
use runtail_stream::SnapshotPart;
use runtail_testkit::dash::{Dash, demo_thread};
use runtail_tui::features::stream::views::View;
use serde_json::{Value, json};

const SIZES: [(u16, u16); 2] = [(80, 24), (140, 40)];

/// Returns the records of the runs that wrote a history, newest first.
fn runs_of(history: &[Value]) -> Vec<Value> {
    let mut runs: Vec<Value> = Vec::new();
    for entry in history {
        let id = &entry["metadata"]["run_id"];
        if id.is_null() || runs.iter().any(|run| run["run_id"] == *id) {
            continue;
        }
        let has_asked = |task: &Value| {
            task["interrupts"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        };
        let is_open = entry["tasks"].as_array().unwrap().iter().any(has_asked);
        let first = history
            .iter()
            .rfind(|entry| entry["metadata"]["run_id"] == *id);
        let first = first.unwrap();
        // What the run continued from.
        let parent = &first["parent_checkpoint"]["checkpoint_id"];
        let before = history
            .iter()
            .find(|entry| entry["checkpoint"]["checkpoint_id"] == *parent);
        let tasks = before.and_then(|entry| entry["tasks"].as_array());
        let command = match tasks.is_some_and(|tasks| tasks.iter().any(has_asked)) {
            true => json!({"resume": "approved"}),
            false => Value::Null,
        };
        runs.push(json!({
            "run_id": id, "assistant_id": "a-support",
            "status": if is_open { "interrupted" } else { "success" },
            "created_at": first["created_at"], "updated_at": entry["created_at"],
            "kwargs": {"input": null, "command": command},
        }));
    }
    runs
}

/// A thread of yesterday: its events are gone, and its records are all there is.
fn of_records(size: (u16, u16), history: &[Value]) -> Dash {
    let mut dash = demo_thread(size);
    if size.0 >= 120 {
        dash.keys("f");
    }
    dash.snapshot(vec![
        (
            SnapshotPart::Thread,
            json!({"status": "idle", "metadata": {"graph_id": "approval"}}),
        ),
        (SnapshotPart::State, history[0].clone()),
        (SnapshotPart::Runs, json!(runs_of(history))),
        (SnapshotPart::History, json!(history)),
    ]);
    dash.relayout();
    dash
}

#[test]
fn a_live_thread_without_messages_shows_its_steps() {
    for name in [
        "approval-interrupt",
        "aegra-approval",
        "approval-resume",
        "agent-tasks",
        "broken-values",
        "v2-events-approval",
    ] {
        for size in SIZES {
            let mut dash = demo_thread(size);
            if size.0 >= 120 {
                dash.keys("f");
            }
            dash.capture(name);
            dash.keys("1");
            insta::assert_snapshot!(format!("live_{name}_{}x{}", size.0, size.1), dash.screen());
        }
    }
}

#[test]
fn a_thread_of_yesterday_shows_its_runs_from_its_records() {
    for name in ["fork-history", "js-fork-history", "failed-state"] {
        for size in SIZES {
            let mut dash = of_records(size, &capture(name));
            insta::assert_snapshot!(
                format!("records_{name}_{}x{}", size.0, size.1),
                dash.screen()
            );
        }
    }
}

/// After each part of each captured stream.
#[test]
fn a_thread_that_has_a_step_has_lines_in_messages() {
    let mut checked = 0;
    for entry in std::fs::read_dir("tests/captures").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "sse") {
            continue;
        }
        let body = std::fs::read(&path).unwrap();
        let ends: Vec<usize> = (0..body.len().saturating_sub(1))
            .filter(|at| matches!(&body[*at..], [b'\n', b'\n', ..] | [b'\r', b'\n', b'\r', ..]))
            .collect();
        for end in ends.iter().step_by(ends.len() / 6 + 1).chain(ends.last()) {
            let mut viewer = viewer(body[..(*end + 4).min(body.len())].to_vec());
            for view in [View::Steps, View::Messages] {
                viewer.show(view);
                viewer.prepare(&[(view, 100, 20)]);
            }
            if viewer.views.steps.steps().rows().is_empty() {
                continue;
            }
            let lines = viewer.window(View::Messages);
            assert!(
                lines.iter().any(|(line, _)| !line.text().trim().is_empty()),
                "{path:?} up to {end}"
            );
            assert!(viewer.count(View::Messages) > 0, "{path:?} up to {end}");
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}

#[test]
fn lines_that_only_records_have_are_found_by_their_node_and_text() {
    let history = capture("fork-history");
    for mut dash in [of_records((140, 40), &history), opened((140, 40), &history)] {
        for (filter, shown, hidden) in [
            ("node:\"a\"", "[a]", "[b]"),
            ("newinput", "[newinput]", "[c]"),
            ("node:nothing", "No match for node:nothing", "[a]"),
        ] {
            dash.keys(&format!("&{filter}<Enter>"));
            let screen = dash.screen();
            let rows = screen.lines().skip(4).collect::<Vec<_>>().join("\n");
            assert!(
                rows.contains(shown) && !rows.contains(hidden),
                "{filter}: {screen}"
            );
            dash.keys("<Esc>");
        }
    }
    let mut dash = of_records((140, 40), &history);
    dash.keys("/newinput<Enter>");
    dash.shows("1 of");
}

/// In time travel, each step appears with its event, and none before.
#[test]
fn time_travel_shows_the_steps_up_to_an_event() {
    let mut dash = demo_thread((100, 30));
    dash.capture("approval-resume");
    let (first, last) = dash.span();
    let mut counts = Vec::new();
    for seq in first.0..=last.0 {
        dash.seek_to(runtail_stream::Seq(seq));
        dash.keys("1");
        counts.push(dash.count(View::Messages));
    }
    assert!(counts.is_sorted() && counts.last() > Some(&0), "{counts:?}");
}

/// The snapshot of a thread has its newest checkpoints. Older ones are loaded as the user scrolls up.
#[test]
fn older_steps_are_loaded_in_pages() {
    let history = line(400);
    let mut dash = demo_thread((80, 24));
    dash.snapshot(vec![
        (SnapshotPart::State, history[0].clone()),
        (SnapshotPart::History, json!(history[..20])),
    ]);
    serve(&mut dash, &history);
    dash.shows("The newest 50 of about 400 checkpoints; scroll up.");
    for _ in 0..10 {
        dash.keys("<Home>");
        serve(&mut dash, &history);
    }
    dash.lacks("Scroll up for more");
    assert_eq!(dash.count(View::Messages), dash.count(View::Steps));
    // All checkpoints of a short thread are in its snapshot.
    let short = of_records((80, 24), &capture("fork-history"));
    assert!(crate::steps::requests(&short).is_empty());
}

/// A recording has events, and the records of its snapshots.
#[test]
fn a_recording_without_messages_shows_its_steps() {
    let mut dash = demo_thread((100, 30));
    dash.open_recording("a.jsonl".into());
    dash.capture("approval-interrupt");
    dash.shows(["● draft", "◆ ask     asked   Approve?"]);
}
