//! A checkpoint in all views, its details, and the comparison of branches.

use super::{capture, cursor, id, line, opened, requests, response, serve};
use runtail_api::Kind;
use runtail_stream::SnapshotPart;
use runtail_testkit::dash::{Dash, Dialog, demo_thread};
use runtail_testkit::says::Says;
use runtail_tui::features::stream::views::View;
use runtail_tui::session::checkpoints::{CheckpointDetails, HistoryRequest};
use runtail_tui::session::msg::{Msg, SubscriptionEvent, SubscriptionId};
use serde_json::{Value, json};

/// Checkpoints of a conversation: two messages more at each.
fn conversation() -> Vec<Value> {
    let message = |n: usize| {
        let kind = if n.is_multiple_of(2) { "human" } else { "ai" };
        json!({"id": format!("m{n}"), "type": kind, "content": format!("Message number {n}.")})
    };
    let entry = |n: usize| {
        let messages: Vec<Value> = (0..=n).map(message).collect();
        let parent = (n > 0).then(|| json!({"checkpoint_id": format!("{:08}", n - 1)}));
        json!({"values": {"messages": messages, "n": n}, "next": ["chat"], "tasks": [],
               "created_at": format!("2026-11-21T13:00:{n:02}Z"), "metadata": {"source": "loop", "step": n, "run_id": "r"},
               "checkpoint": {"checkpoint_id": format!("{n:08}")}, "parent_checkpoint": parent})
    };
    (0..5).rev().map(entry).collect()
}

/// Opens the history of a conversation whose newest state is loaded.
fn of_conversation(size: (u16, u16)) -> (Dash, Vec<Value>) {
    let history = conversation();
    let mut dash = opened(size, &history);
    dash.snapshot(vec![
        (
            SnapshotPart::Thread,
            json!({"thread_id": "t", "status": "idle"}),
        ),
        (SnapshotPart::State, history[0].clone()),
        (SnapshotPart::History, json!(history)),
        (SnapshotPart::Runs, json!([])),
    ]);
    serve(&mut dash, &history);
    (dash, history)
}

#[test]
fn enter_shows_a_checkpoint_in_all_views() {
    let (mut dash, history) = of_conversation((140, 40));
    dash.keys("<Up><Up><Enter>");
    serve(&mut dash, &history);
    assert_eq!(dash.view(), View::State);
    let screen = dash.screen();
    dash.shows(["at step 2, ", "4 Timeline"]);
    assert!(screen.contains("\"n\": 2") || screen.contains("n: 2") || screen.contains("n  2"));
    insta::assert_snapshot!("checkpoint_state_140x40", screen);
    dash.keys("1");
    dash.shows("Message number 2.");
    dash.lacks("Message number 3.");
    // New events of the stream are kept for the present.
    dash.event(
        "values",
        &json!({"messages": [{"id": "m9", "type": "ai", "content": "Newest."}]}).to_string(),
    );
    dash.shows("Message number 2.");
    dash.lacks("Newest.");
    dash.keys("G");
    dash.shows("Newest.");
    dash.lacks("at step 2");
    assert!(dash.shown_checkpoint().is_none());
}

#[test]
fn escape_returns_from_a_checkpoint_to_the_steps() {
    let (mut dash, history) = of_conversation((80, 24));
    dash.keys("<Up><Enter>");
    serve(&mut dash, &history);
    assert_eq!(dash.view(), View::State);
    insta::assert_snapshot!("checkpoint_state_80x24", dash.screen());
    dash.keys("<Esc>");
    assert_eq!(
        (dash.view(), cursor(&mut dash)),
        (View::Steps, id(&history[1]).to_string())
    );
    assert!(dash.shown_checkpoint().is_none());
    // Another checkpoint replaces the first.
    dash.keys("<Up><Enter>");
    serve(&mut dash, &history);
    dash.shows("at step 2");
    dash.keys("2<Up><Enter>");
    serve(&mut dash, &history);
    assert!(dash.view() == View::State);
    dash.shows("at step 1");
    // Time travel moves among the events, which are those of the stream again.
    dash.event("updates", r#"{"chat": {}}"#);
    let newest = dash.newest_event();
    dash.keys(",");
    assert!(dash.shown_checkpoint().is_none() && dash.newest_event() == newest);
}

#[test]
fn earlier_states_of_the_records_are_shown_in_state() {
    let (mut dash, history) = of_conversation((140, 40));
    let newest = history.len() - 1;
    dash.keys("3");
    dash.shows(format!("step {newest} · ").as_str());
    // The newest state is compared with the one before it, which only the records have.
    dash.keys("=");
    serve(&mut dash, &history);
    assert_eq!(
        (dash.view(), cursor(&mut dash)),
        (View::Steps, id(&history[0]).to_string())
    );
    dash.shows(format!("State · step {} → step {newest}", newest - 1).as_str());
    dash.keys("<Esc>3[");
    serve(&mut dash, &history);
    assert_eq!(dash.view(), View::State);
    dash.shows(format!("at step {}, ", newest - 1).as_str());
    dash.keys("[");
    serve(&mut dash, &history);
    dash.shows(format!("at step {}, ", newest - 2).as_str());
    dash.keys("]");
    serve(&mut dash, &history);
    dash.shows(format!("at step {}, ", newest - 1).as_str());
    dash.keys("]");
    assert!(
        dash.shown_checkpoint().is_none(),
        "the newest is the present"
    );
    for _ in 0..history.len() {
        dash.keys("[");
        serve(&mut dash, &history);
    }
    dash.shows(["at step 0, ", "This is the first state."]);
}

#[test]
fn records_that_are_loaded_in_parts_are_all_shown_at_a_checkpoint() {
    let (mut dash, history) = of_conversation((140, 40));
    // The runs arrive alone, as they do when they are slow or when a run starts.
    dash.snapshot(vec![(SnapshotPart::Runs, json!([]))]);
    dash.keys("3");
    dash.shows("step 4 · ");
    dash.keys("2<Up><Enter>");
    serve(&mut dash, &history);
    dash.keys("2");
    dash.shows(["at step 3, ", "●    1", "●    2"]);
}

#[test]
fn moving_in_state_selects_its_step() {
    let (mut dash, history) = of_conversation((140, 40));
    dash.keys("1gg3<Down>2");
    assert_eq!(cursor(&mut dash), id(&history[0]));
}

#[test]
fn a_state_that_arrives_late_changes_nothing() {
    let history = line(10);
    for leave in ["1", "<Up>", "<Esc>"] {
        let mut dash = opened((80, 24), &history);
        dash.keys("<Up><Up><Enter>");
        let states = requests(&dash);
        dash.keys(leave);
        for (key, request) in states {
            let event = response(&history, &request);
            dash.feed(Msg::Subscription {
                key,
                epoch: Default::default(),
                event,
            });
        }
        assert!(dash.shown_checkpoint().is_none(), "{leave}");
    }
}

#[test]
fn details_have_the_state_of_a_waiting_subgraph() {
    let history = capture("int-nested-history");
    let mut dash = opened((140, 40), &history);
    dash.keys("d");
    let (key, request) = requests(&dash).into_iter().next_back().unwrap();
    assert_eq!(
        request,
        HistoryRequest::Details {
            checkpoint: id(&history[0]).into()
        }
    );
    let nested = json!({"values": {"log": ["top"]}, "tasks": [{"name": "mid", "state": {"values": {"inner": 7}}}]});
    let missing = vec![
        "Couldn't load the state of the subgraph side from 127.0.0.1: 404: not found.".to_string(),
    ];
    let details = CheckpointDetails::new(nested.to_string().into(), missing);
    let complete = CheckpointDetails::new(details.text.clone(), Vec::new());
    dash.answer(
        |known| *known == key,
        SubscriptionEvent::CheckpointDetails(Ok(Some(details))),
    );
    let screen = dash.screen();
    assert!(dash.has_dialog(Dialog::Inspect));
    screen.has(["inner", "subgraph side from 127.0.0.1"]);
    for (answer, says) in [
        (
            Some(complete),
            "States of subgraphs: mid in tasks[0].state.",
        ),
        (
            Some(CheckpointDetails::new("{}".into(), Vec::new())),
            "The checkpoint as the server has it.",
        ),
    ] {
        dash.keys("<Esc>d");
        let (key, _) = requests(&dash).into_iter().next_back().unwrap();
        dash.answer(
            |known| *known == key,
            SubscriptionEvent::CheckpointDetails(Ok(answer)),
        );
        dash.shows(says);
    }
    dash.keys("<Esc>d");
    let (key, _) = requests(&dash).into_iter().next_back().unwrap();
    dash.answer(
        |known| *known == key,
        SubscriptionEvent::CheckpointDetails(Ok(None)),
    );
    dash.shows("The server no longer has this checkpoint.");
    // Whoever moves on doesn't want them any more.
    dash.keys("d<Up>");
    assert!(
        requests(&dash)
            .iter()
            .all(|(_, request)| !matches!(request, HistoryRequest::Details { .. }))
    );
}

#[test]
fn one_key_compares_two_branches() {
    let history = capture("fork-history");
    for size in [(140, 40), (80, 24)] {
        let mut dash = opened(size, &history);
        dash.keys("=");
        serve(&mut dash, &history);
        dash.keys("=");
        serve(&mut dash, &history);
        let screen = dash.screen();
        let name = format!("branches_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, screen);
        assert_eq!(cursor(&mut dash), id(&history[0]), "the tip of the branch");
        screen.has("State · A step ");
        // Each press shows the next of the other branches, then the first again.
        let base = |dash: &mut Dash| {
            let screen = dash.screen();
            screen
                .lines()
                .find_map(|line| Some(line.split_once("State · A ")?.1.to_string()))
                .unwrap()
        };
        let mut seen = vec![base(&mut dash)];
        loop {
            dash.keys("=");
            serve(&mut dash, &history);
            let next = base(&mut dash);
            if next == seen[0] {
                break;
            }
            assert!(!seen.contains(&next) && seen.len() < 10, "{seen:?}");
            seen.push(next);
        }
        assert_eq!(
            seen.len(),
            5,
            "six branches begin at one checkpoint: {seen:?}"
        );
    }
    let history = line(4);
    let mut dash = opened((140, 40), &history);
    dash.keys("=");
    serve(&mut dash, &history);
    dash.shows("State · step");
    dash.keys("=");
    dash.lacks("State · step");
}

#[test]
fn keys_that_cannot_work_are_not_offered() {
    let footer = |dash: &mut Dash| dash.screen().lines().last().unwrap_or_default().to_string();
    let history = line(3);
    let mut dash = opened((140, 24), &history);
    footer(&mut dash).has(["run it again", "state here"]);
    // A server with only the calls of the contract.
    let mut dash = demo_thread((140, 24));
    dash.keys("f2");
    let error = runtail_api::ApiError {
        detail: "not found".into(),
        ..dash.error("prod-us", Kind::NotFound)
    };
    dash.answer(
        |key| matches!(key, SubscriptionId::History(_)),
        SubscriptionEvent::Checkpoints(Err(error)),
    );
    let screen = dash.screen();
    dash.shows("This server has no history: no checkpoints to");
    for label in [
        "run again",
        "update",
        "set A",
        "difference",
        "state here",
        "branches",
    ] {
        assert!(!footer(&mut dash).contains(label), "{label}: {screen}");
    }
    // A server with a history, but without the states at checkpoints.
    let mut dash = opened((140, 24), &history);
    dash.keys("r");
    let error = runtail_api::ApiError {
        detail: "not found".into(),
        ..dash.error("prod-us", Kind::NotFound)
    };
    serve(&mut dash, &history);
    dash.keys("=");
    dash.relayout();
    let states = requests(&dash);
    assert!(!states.is_empty());
    for (key, _) in states {
        dash.answer(
            |known| *known == key,
            SubscriptionEvent::CheckpointState(Err(error.clone())),
        );
    }
    let screen = dash.screen();
    dash.shows("The state is missing: the server doesn't offer this call");
    for label in ["run again", "set A", "state here"] {
        assert!(!footer(&mut dash).contains(label), "{label}: {screen}");
    }
}

#[test]
fn a_state_of_50_mb_is_not_opened_in_the_editor() {
    let mut history = line(2);
    history[0]["values"]["text"] = json!("x".repeat(50 << 20));
    let mut dash = opened((80, 24), &history);
    dash.keys("u");
    serve(&mut dash, &history);
    dash.shows("The state has 52.4 MB; the editor takes up to 1.0 MB.");
    assert!(dash.dialog().is_none());
}
