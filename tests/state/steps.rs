//! The Steps view: paging, the cursor, the difference, and its actions, with the histories of real servers.

mod checkpoint;
mod edits;
mod fork;
mod subgraphs;
mod time;

use crate::views::styles;
use runtail_api::{
    Acted, ForkChange, Kind, ServerInfo, ServerKind, StateEdit, ThreadIntent, WriteKind, Written,
};
use runtail_core::model::Checkpoint;
use runtail_stream::SnapshotPart;
use runtail_testkit::dash::{Dash, Dialog, demo, demo_thread, thread_plan};
use runtail_tui::session::checkpoints::{
    CheckpointDetails, CheckpointPage, CheckpointState, HistoryRequest,
};
use runtail_tui::session::msg::{
    EffectResult, Msg, Sent, SubscriptionEvent, SubscriptionId, SubscriptionKind, ThreadRef,
};
use serde_json::{Value, json};

/// Returns a captured history, newest first.
pub(crate) fn capture(name: &str) -> Vec<Value> {
    let file = format!("tests/fixtures/history/{name}.json");
    let capture: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    match &capture["response"]["body"] {
        Value::Array(entries) => entries.clone(),
        state => vec![state.clone()],
    }
}

fn id(entry: &Value) -> &str {
    entry["checkpoint"]["checkpoint_id"].as_str().unwrap()
}

/// Returns the requests that the view waits for.
pub(crate) fn requests(dash: &Dash) -> Vec<(SubscriptionId, HistoryRequest)> {
    let request = |sub: runtail_tui::session::msg::Subscription| match sub.what {
        SubscriptionKind::History(_, request) => Some((sub.key, request)),
        _ => None,
    };
    dash.subscriptions()
        .into_iter()
        .filter_map(request)
        .collect()
}

/// Responds as a server with this history does.
fn response(history: &[Value], request: &HistoryRequest) -> SubscriptionEvent {
    match request {
        HistoryRequest::Page { before, limit } => {
            let is_before =
                |entry: &&Value| before.as_deref().is_none_or(|before| id(entry) < before);
            let rows: Vec<&Value> = history.iter().filter(is_before).take(*limit).collect();
            let is_last = rows.len() < *limit;
            let checkpoints = rows
                .into_iter()
                .filter_map(|row| Checkpoint::read(&row.to_string()))
                .collect();
            SubscriptionEvent::Checkpoints(Ok(CheckpointPage {
                checkpoints,
                is_last,
            }))
        }
        HistoryRequest::State { checkpoint } => {
            let entry = history.iter().find(|entry| id(entry) == checkpoint);
            let unknown = json!({"values": {}, "next": [], "metadata": null, "created_at": null});
            let text = entry.unwrap_or(&unknown).to_string();
            SubscriptionEvent::CheckpointState(Ok(
                CheckpointState::read(text.into()).map(Into::into)
            ))
        }
        HistoryRequest::Details { checkpoint } => {
            let entry = history.iter().find(|entry| id(entry) == checkpoint);
            let details =
                entry.map(|entry| CheckpointDetails::new(entry.to_string().into(), Vec::new()));
            SubscriptionEvent::CheckpointDetails(Ok(details))
        }
    }
}

/// Responds to the requests for states, before those for pages.
pub(crate) fn serve_states(dash: &mut Dash, history: &[Value]) {
    dash.relayout();
    for (key, request) in requests(dash)
        .into_iter()
        .filter(|(_, request)| matches!(request, HistoryRequest::State { .. }))
    {
        dash.answer(|known| *known == key, response(history, &request));
    }
}

/// Responds to all requests until there are none. Returns them.
pub(crate) fn serve(dash: &mut Dash, history: &[Value]) -> Vec<HistoryRequest> {
    let mut served = Vec::new();
    for _ in 0..100 {
        dash.relayout();
        let Some((key, request)) = requests(dash).into_iter().next() else {
            return served;
        };
        dash.answer(|known| *known == key, response(history, &request));
        served.push(request);
    }
    panic!("the requests never end: {served:?}");
}

/// Opens the history of a thread in full screen.
pub(crate) fn opened(size: (u16, u16), history: &[Value]) -> Dash {
    let mut dash = demo_thread(size);
    if size.0 >= 120 {
        dash.keys("f");
    }
    dash.keys("2");
    serve(&mut dash, history);
    dash
}

/// A straight line of checkpoints.
pub(crate) fn line(count: usize) -> Vec<Value> {
    let entry = |n: usize| {
        let parent = (n > 0).then(|| json!({"checkpoint_id": format!("{:08}", n - 1)}));
        json!({"values": {"n": n, "text": "x".repeat(100)}, "next": ["step"], "created_at": "2026-11-21T13:00:00Z",
               "tasks": [{"name": "step", "result": {"n": n + 1}}], "metadata": {"source": "loop", "step": n as i64 - 1},
               "checkpoint": {"checkpoint_id": format!("{n:08}")}, "parent_checkpoint": parent})
    };
    (0..count).rev().map(entry).collect()
}

fn cursor(dash: &mut Dash) -> String {
    dash.relayout();
    dash.checkpoint().unwrap_or_default().to_string()
}

#[test]
fn screens_show_the_tree_and_the_difference() {
    let history = capture("fork-history");
    for (name, size) in [
        ("140x40", (140, 40)),
        ("80x24", (80, 24)),
        ("60x12", (60, 12)),
    ] {
        let mut dash = opened(size, &history);
        dash.keys("<Up><Up> G=");
        serve(&mut dash, &history);
        insta::assert_snapshot!(format!("history_{name}"), dash.screen());
        assert!(dash.hints().len() <= 6);
        if size.0 < 120 {
            dash.keys("<Esc>");
            insta::assert_snapshot!(format!("history_{name}_rows"), dash.screen());
        }
    }
    let mut dash = opened((140, 40), &history);
    dash.keys("=");
    serve(&mut dash, &history);
    dash.keys("c");
    dash.set_ascii(true);
    let screen = dash.screen();
    assert!(
        screen.is_ascii() && screen.contains("*-+-+-+-+-+"),
        "{screen}"
    );
    assert!(screen.contains("= 2 equal keys"), "{screen}");
    for name in [
        "int-nested-history",
        "int-hitl-history",
        "js-fork-history",
        "failed-state",
    ] {
        let dash = &mut opened((140, 20), &capture(name));
        insta::assert_snapshot!(format!("history_{name}"), dash.screen());
    }
}

/// Other branches are dim, and so are their rails.
#[test]
fn marks_have_the_colors_of_their_states() {
    for name in ["int-nested-history", "failed-state", "fork-history"] {
        let buffer = opened((140, 40), &capture(name)).buffer();
        insta::assert_snapshot!(format!("history_{name}_styles"), styles(&buffer, 3));
    }
}

#[test]
fn a_thousand_checkpoints_are_paged_without_their_states() {
    let history = line(1_000);
    let mut dash = demo_thread((80, 24));
    assert_eq!(requests(&dash), []);
    dash.keys("2");
    let first = serve(&mut dash, &history);
    assert_eq!(
        first,
        [HistoryRequest::Page {
            before: None,
            limit: 50
        }]
    );
    dash.shows("The newest 50 of about 1,000 checkpoints; scroll up.");
    dash.keys("<Home>");
    let mut pages = serve(&mut dash, &history);
    for _ in 0..30 {
        dash.keys("<Home>");
        pages.extend(serve(&mut dash, &history));
    }
    let before = |n: usize| HistoryRequest::Page {
        before: Some(format!("{:08}", 1_000 - 50 * n)),
        limit: 50,
    };
    // The last page is full, so that only an empty one shows the end.
    assert_eq!(pages, (1..=20).map(before).collect::<Vec<_>>());
    dash.lacks("Scroll up for more");
    // The values of all pages together have 130 kB; none are kept.
    assert!(dash.bytes().1 <= 1_000 * 1_200);
}

#[test]
fn responses_to_earlier_requests_are_dropped() {
    let history = line(10);
    let mut dash = demo_thread((80, 24));
    dash.keys("2");
    let (key, request) = requests(&dash).remove(0);
    let page = |history: &[Value]| Msg::Subscription {
        key: key.clone(),
        epoch: Default::default(),
        event: response(history, &request),
    };
    dash.feed(page(&history));
    assert_eq!(cursor(&mut dash), "00000009");
    // The same request again, with other contents.
    dash.feed(page(&line(3)));
    assert_eq!(cursor(&mut dash), "00000009");
    // A state that is no longer shown.
    dash.keys("=");
    let states = requests(&dash);
    assert_eq!(states.len(), 2, "{states:?}");
    dash.keys("<Up><Up><Up><Up>");
    let (key, request) = states[0].clone();
    let event = response(&history, &request);
    dash.feed(Msg::Subscription {
        key,
        epoch: Default::default(),
        event,
    });
    dash.shows("Loading the states…");
    serve(&mut dash, &history);
    dash.shows("+ 6");
}

#[test]
fn new_checkpoints_join_on_top_and_the_cursor_stays() {
    let all = line(60);
    let mut dash = opened((80, 24), &all[2..]);
    assert_eq!(cursor(&mut dash), "00000057");
    dash.keys("<Up><Up><Up>");
    assert_eq!(cursor(&mut dash), "00000055");
    let row = |dash: &mut Dash| {
        dash.screen()
            .lines()
            .position(|line| line.contains('▌'))
            .unwrap()
    };
    let before = row(&mut dash);
    dash.snapshot(vec![(
        SnapshotPart::State,
        json!({"values": {}, "checkpoint": {"checkpoint_id": "00000059"}}),
    )]);
    let served = serve(&mut dash, &all);
    assert_eq!(
        served,
        [HistoryRequest::Page {
            before: None,
            limit: 20
        }]
    );
    assert_eq!(
        (cursor(&mut dash), row(&mut dash)),
        ("00000055".into(), before)
    );
    dash.keys("G");
    assert_eq!(cursor(&mut dash), "00000059");
    // A rollback deletes checkpoints. The cursor follows the head.
    dash.keys("r");
    serve(&mut dash, &all[5..]);
    assert_eq!(cursor(&mut dash), "00000054");
    // So many new ones that those between are unknown: the tree begins anew.
    let more = line(200);
    dash.snapshot(vec![(SnapshotPart::Runs, json!([]))]);
    dash.relayout();
    let (key, request) = requests(&dash)
        .into_iter()
        .find(|(_, of)| matches!(of, HistoryRequest::Page { .. }))
        .unwrap();
    dash.answer(|known| *known == key, response(&more, &request));
    dash.shows("The newest 20 of about");
    serve(&mut dash, &more);
    assert_eq!(cursor(&mut dash), "00000199");
}

#[test]
fn running_again_is_offered_only_where_the_server_can_do_it() {
    for (kind, is_offered) in [
        (ServerKind::Python, true),
        (ServerKind::JavaScript, true),
        (ServerKind::EarlyAegra, false),
    ] {
        let mut dash = opened((140, 40), &capture("fork-history"));
        let server = dash.page().server;
        let info = ServerInfo {
            kind,
            version: "1".into(),
            raw: Value::Null,
        };
        dash.done(EffectResult::Info(server, Ok(info)));
        let screen = dash.screen();
        assert_eq!(
            screen.contains("R run again after it"),
            is_offered,
            "{kind:?}: {screen}"
        );
        dash.shows("u edit state");
    }
}

#[test]
fn keys_open_previews_and_send_nothing() {
    let history = capture("fork-history");
    let mut dash = opened((140, 40), &history);
    dash.keys("<Up>");
    let at = id(&history[1]).to_string();
    let effects = dash.keys("R");
    let Some((_, _, intent)) = effects.first().and_then(thread_plan) else {
        panic!("{effects:?}")
    };
    let thread = intent.thread().to_string();
    let wanted = ThreadIntent::Fork {
        thread: thread.clone(),
        checkpoint: Some(at.clone()),
        change: ForkChange::Nothing,
    };
    assert_eq!(intent, wanted);
    dash.keys("<Esc>");
    // An edit of an older state begins a branch; of the newest one it does not.
    for (keys, is_head) in [("u", false), ("Gu", true)] {
        dash.keys(keys);
        serve(&mut dash, &history);
        let text = dash.document().replace("\"upd\"", "\"other\"");
        assert_eq!(dash.keys("<F5>"), [], "nothing is changed yet");
        dash.feed(Msg::Edited(Ok(text)));
        let effects = dash.keys("<F5>");
        let Some((number, server, intent)) = effects.first().and_then(thread_plan) else {
            panic!("{effects:?}\n{}", dash.screen())
        };
        let values = json!({"log": ["in", "a", "other", "b", "c", "c"]});
        let edit = |checkpoint| StateEdit {
            checkpoint,
            values,
            as_node: None,
        };
        let wanted = match is_head {
            true => ThreadIntent::EditState {
                thread: thread.clone(),
                edit: edit(Some(id(&history[0]).into())),
            },
            false => ThreadIntent::Fork {
                thread: thread.clone(),
                checkpoint: Some(at.clone()),
                change: ForkChange::Edit(edit(None)),
            },
        };
        assert_eq!(intent, wanted);
        if is_head {
            // The editor closes when its edit was applied.
            let thread = ThreadRef {
                server: server.clone(),
                id: thread.clone(),
            };
            let written = Written {
                kind: WriteKind::Edit,
                checkpoint: None,
                status: None,
            };
            dash.done(EffectResult::Sent(
                number,
                Sent::Thread(thread, Ok(Acted::Written(written))),
            ));
            assert!(dash.dialog().is_none());
        } else {
            dash.keys("<Esc><Esc>");
        }
    }
    // `d` opens the checkpoint as the server has it.
    dash.keys("d");
    serve(&mut dash, &history);
    assert!(dash.has_dialog(Dialog::Inspect));
    dash.shows("step 5 · checkpoint 1f1e6200");
}

#[test]
fn questions_failures_and_branch_points_are_found() {
    let history = capture("fork-history");
    let mut dash = opened((80, 40), &history);
    dash.keys("[");
    assert_eq!(
        cursor(&mut dash),
        id(&history[19]),
        "the checkpoint where the branches begin"
    );
    dash.keys("[");
    assert_eq!(cursor(&mut dash), id(&history[19]));
    dash.keys("G/newinput<Enter>");
    assert_eq!(cursor(&mut dash), id(&history[7]));
}

#[test]
fn missing_checkpoints_and_histories_are_explained() {
    let history = line(3);
    let mut dash = opened((80, 24), &history);
    dash.keys("=");
    serve(&mut dash, &history[1..]);
    dash.shows("The server no longer has this checkpoint.");
    for (kind, detail, wanted) in [
        (Kind::NotFound, "not found", "This server has no history"),
        (
            Kind::Forbidden,
            "the key may not",
            "Couldn't load the history: 403: the key may not. Press r to retry.",
        ),
    ] {
        let mut dash = demo_thread((100, 24));
        dash.keys("2");
        let error = runtail_api::ApiError {
            detail: detail.into(),
            ..dash.error("prod-us", kind)
        };
        dash.answer(
            |key| matches!(key, SubscriptionId::History(_)),
            SubscriptionEvent::Checkpoints(Err(error)),
        );
        dash.shows(wanted);
        assert_eq!(requests(&dash), [], "not requested again by itself");
        dash.pass(2);
        dash.keys("r");
        serve(&mut dash, &history);
        assert_eq!(cursor(&mut dash), "00000002");
    }
    let mut dash = opened((80, 24), &[]);
    dash.shows("Loading state…");
}

#[test]
fn runs_that_saved_only_their_last_checkpoint_are_explained() {
    let last = json!({"values": {"n": 5}, "next": [], "tasks": [], "metadata": {"source": "loop", "step": 4, "run_id": "r"},
                      "checkpoint": {"checkpoint_id": "5"}, "parent_checkpoint": null, "created_at": "2026-11-21T13:00:00Z"});
    let mut dash = opened((100, 24), &[last]);
    let text = "Only the last checkpoint was saved.";
    dash.shows(text);
    assert!(
        !opened((100, 24), &capture("fork-history"))
            .screen()
            .contains(text)
    );
}

#[test]
fn recordings_show_the_checkpoints_of_their_snapshots() {
    let mut dash = demo();
    dash.open_recording("a.jsonl".into());
    dash.keys("2");
    dash.snapshot(vec![(
        SnapshotPart::History,
        Value::Array(capture("fork-history")),
    )]);
    dash.shows("●─┬─┬─┬─┬─╮");
    assert_eq!(requests(&dash), []);
    for key in ["<Enter>", "<Enter>", "u"] {
        assert_eq!(dash.keys(key), []);
    }
    dash.shows("A recording has no states of checkpoints.");
}
