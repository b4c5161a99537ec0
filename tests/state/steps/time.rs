//! What the views say of runs and steps at a checkpoint: what was known when it was written, and nothing that happened later.

use super::{id, opened, requests, serve};
use runtail_stream::SnapshotPart;
use runtail_testkit::dash::{Dash, Dialog, thread_plan};
use runtail_testkit::says::Says;
use runtail_tui::session::checkpoints::HistoryRequest;
use serde_json::{Value, json};

/// A time of the thread, in seconds.
fn time(seconds: f64) -> String {
    format!("2026-11-21T13:00:{seconds:09.6}Z")
}

/// The checkpoints of a thread on a Python server with four runs, newest first: runs 1 and 3 ask, runs 2 and 4 answer. A task has
/// the result of the step after its checkpoint, which the server adds there.
fn approval() -> Vec<Value> {
    // Step, run, the node that is next and what it wrote, when.
    let steps = [
        (-1, "run-1", "__start__", 10.0),
        (0, "run-1", "draft", 10.1),
        (1, "run-1", "ask", 10.5),
        (2, "run-2", "act", 20.1),
        (3, "run-2", "", 20.5),
        (4, "run-3", "__start__", 30.0),
        (5, "run-3", "draft", 30.1),
        (6, "run-3", "ask", 30.5),
        (7, "run-4", "act", 40.1),
        (8, "run-4", "", 40.5),
    ];
    let entry = |(nth, (step, run, next, at)): (usize, &(i64, &str, &str, f64))| {
        let asks = json!([{"id": format!("q{run}"), "value": "Send it?"}]);
        let interrupts = if *next == "ask" { asks } else { json!([]) };
        let task = json!({"id": format!("t{nth}"), "name": next, "result": {"log": [next]}, "interrupts": interrupts});
        let source = if *next == "__start__" {
            "input"
        } else {
            "loop"
        };
        let parent = (nth > 0).then(|| json!({"checkpoint_id": format!("{:08}", nth - 1)}));
        json!({"values": {"log": []}, "next": if next.is_empty() { vec![] } else { vec![next] }, "created_at": time(*at),
               "tasks": if next.is_empty() { vec![] } else { vec![task] },
               "metadata": {"source": source, "step": step, "run_id": run},
               "checkpoint": {"checkpoint_id": format!("{nth:08}")}, "parent_checkpoint": parent})
    };
    let mut all: Vec<Value> = steps.iter().enumerate().map(entry).collect();
    all.reverse();
    all
}

/// The runs of that thread, newest first.
fn runs() -> Value {
    let run = |nth: u32| {
        let (from, to) = (f64::from(nth) * 10.0, f64::from(nth) * 10.0 + 0.6);
        json!({"run_id": format!("run-{nth}"), "assistant_id": "a", "status": "success", "created_at": time(from - 0.1),
               "updated_at": time(to), "kwargs": {}})
    };
    (1..=4).rev().map(run).collect()
}

/// Opens the history of the thread, whose snapshot has these runs, and goes to the checkpoint of a step.
fn at_step(history: &[Value], runs: Value, step: i64) -> Dash {
    let mut dash = opened((140, 40), history);
    dash.snapshot(vec![
        (
            SnapshotPart::Thread,
            json!({"thread_id": "t", "status": "idle"}),
        ),
        (SnapshotPart::State, history[0].clone()),
        (SnapshotPart::History, json!(history)),
        (SnapshotPart::Runs, runs),
    ]);
    serve(&mut dash, history);
    let row = history
        .iter()
        .position(|entry| entry["metadata"]["step"] == step)
        .unwrap();
    assert!(dash.go_to_checkpoint(id(&history[row])));
    dash.relayout();
    dash.keys("<Enter>");
    serve(&mut dash, history);
    dash
}

/// Returns a view without the lines above and below it.
fn body(dash: &mut Dash, key: &str) -> String {
    dash.keys(key);
    let screen = dash.screen();
    let lines: Vec<&str> = screen
        .lines()
        .skip(3)
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    lines[..lines.len() - 1].join("\n")
}

#[test]
fn a_run_that_continued_is_running_at_its_checkpoint() {
    // Step 5 of run 3: `draft` is next, and ran later.
    let mut dash = at_step(&approval(), runs(), 5);
    dash.shows("at step 5");
    let runs_view = body(&mut dash, "7");
    for wanted in ["1  ◆ asked", "2  ● finished", "3  ◐ running"] {
        assert!(runs_view.contains(wanted), "{runs_view}");
    }
    runs_view.lacks(["4  ", "paused"]);
    let timeline = body(&mut dash, "4");
    let of_run_3 = timeline.split("run 3 · ").nth(1).unwrap();
    assert!(of_run_3.starts_with("◐ running then · 0.1s"), "{timeline}");
    assert!(
        !of_run_3.contains("draft") && of_run_3.contains("No steps up to this checkpoint"),
        "{timeline}"
    );
    let messages = body(&mut dash, "1");
    messages.has("run 2 finished");
    messages.lacks("run 3");
    let view = body(&mut dash, "6");
    assert!(view.contains("A checkpoint has no events"), "{view}");
}

#[test]
fn a_run_has_ended_at_its_last_checkpoint() {
    // Step 6, the last one of run 3, asks; run 4 answered it.
    let mut dash = at_step(&approval(), runs(), 6);
    let runs_view = body(&mut dash, "7");
    runs_view.has("3  ◆ asked");
    runs_view.lacks("4  ●");
    // The question was answered.
    runs_view.lacks("waiting for your answer");
    let timeline = body(&mut dash, "4");
    let of_run_3 = timeline.split("run 3 · ").nth(1).unwrap();
    assert!(
        of_run_3.contains("draft") && of_run_3.contains("asked"),
        "{timeline}"
    );
}

#[test]
fn runs_have_the_numbers_of_the_thread() {
    // Run 4 runs again from step 1, so runs 2 and 3 are on another branch.
    let mut history = approval();
    history[1]["parent_checkpoint"]["checkpoint_id"] = json!("00000002");
    let mut dash = at_step(&history, runs(), 7);
    let runs_view = body(&mut dash, "7");
    runs_view.has("4  ◐ running");
    // A list that has not all runs doesn't show which number a run has, even if few of them are older.
    let more = (0..50).map(|nth| {
        json!({"run_id": format!("later-{nth}"), "assistant_id": "a", "status": "success",
               "created_at": time(50.0), "updated_at": time(51.0), "kwargs": {}})
    });
    let all: Vec<Value> = more.chain(runs().as_array().unwrap().clone()).collect();
    let mut dash = at_step(&approval(), json!(all), 5);
    let runs_view = body(&mut dash, "7");
    runs_view.has("3 here  ◐ running");
}

#[test]
fn a_run_that_had_not_begun_is_queued_at_a_checkpoint() {
    let mut all = runs();
    all[0]["created_at"] = json!(time(30.2));
    let mut dash = at_step(&approval(), all, 6);
    let runs_view = body(&mut dash, "7");
    runs_view.has("4  ◌ queued");
}

#[test]
fn keys_act_on_the_shown_checkpoint() {
    let history = approval();
    let mut dash = at_step(&history, runs(), 5);
    let at = id(&history[3]).to_string();
    // Until the notice is gone.
    dash.pass(30);
    for view in ["1", "3", "4", "7"] {
        dash.keys(view);
        let screen = dash.screen();
        let footer = screen.lines().last().unwrap_or_default();
        for hint in ["R run again from here", "u edit state and run", "d details"] {
            assert!(footer.contains(hint), "{view}: {footer}");
        }
        let (_, help) = dash.help();
        let is_listed = help.iter().any(|item| item.id == Some("stream.edit_state"));
        assert!(is_listed, "{view}");
        let effects = dash.keys("R");
        let planned = effects.first().and_then(thread_plan);
        let Some((_, _, runtail_api::ThreadIntent::Fork { checkpoint, .. })) = planned else {
            panic!("{view}: {effects:?}")
        };
        assert_eq!(checkpoint.as_deref(), Some(&*at), "{view}");
        dash.keys("<Esc>");
    }
    dash.keys("d");
    serve(&mut dash, &history);
    assert!(dash.has_dialog(Dialog::Inspect));
    dash.shows("step 5 · checkpoint 00000006");
    dash.keys("<Esc>u");
    serve(&mut dash, &history);
    assert!(dash.has_dialog(Dialog::Edit));
    // Back in the present, `d` is about the thread again.
    dash.keys("<Esc>Gd");
    let is_details = |request: &HistoryRequest| matches!(request, HistoryRequest::Details { .. });
    assert!(
        !requests(&dash)
            .iter()
            .any(|(_, request)| is_details(request))
    );
}

#[test]
fn the_state_of_the_shown_checkpoint_is_loaded_again_in_any_view() {
    let mut history = approval();
    // The states of other checkpoints replace it: up to 8 MB are kept.
    for (nth, entry) in history.iter_mut().enumerate() {
        let size = if nth == 3 { 900_000 } else { 2_600_000 };
        entry["values"]["text"] = json!("x".repeat(size));
    }
    let mut dash = at_step(&history, runs(), 5);
    dash.keys("2=");
    for _ in 0..5 {
        dash.keys("<Up>");
        serve(&mut dash, &history);
    }
    dash.keys("1u");
    dash.shows("Loading the state…");
    serve(&mut dash, &history);
    assert!(dash.has_dialog(Dialog::Edit));
}
