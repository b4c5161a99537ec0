//! The preview of a run from a checkpoint.

use super::{capture, opened, serve};
use crate::thread_actions::{Records, run, snapshot};
use runtail_api::{ForkChange, StateEdit, ThreadIntent};
use runtail_core::model::{
    Branch, BranchStep, BranchStepKind as Kind, Change, Consent, FROM_FIRST, NewRevision, Note,
    PlainRequest, Preview, RepeatedCalls,
};
use runtail_testkit::dash::{Dash, forgotten, thread_plan};
use runtail_testkit::says::Says;
use runtail_tui::features::stream::views::View;
use runtail_tui::session::msg::{Effect, EffectResult, Msg};
use serde_json::{Value, json};

const THREAD: &str = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
/// A run of the captured history, and the checkpoint of it from which this runs again.
const RUN: &str = "01a2012d-3556-77d6-9f64-7609e11cfbde";
const CHECKPOINT: &str = "1f1e6200-9de1-6b7e-8001-0e6a6897d2e5";

fn step(kind: Kind, node: &[&str], run: Option<&str>, detail: &str) -> BranchStep {
    let nodes = node.iter().map(|node| node.to_string()).collect();
    let certain = kind == Kind::RunsAgain;
    BranchStep {
        kind,
        nodes,
        certain,
        run_id: run.map(str::to_string),
        detail: detail.into(),
    }
}

fn request(path: &str, body: Value) -> PlainRequest {
    let url = format!("https://support-bot.eu.langgraph.app/threads/{THREAD}/{path}");
    PlainRequest {
        method: "POST".into(),
        url,
        headers: Vec::new(),
        body: Some(body),
    }
}

/// Returns the preview of a run from a checkpoint, after an edit if there is a change.
fn preview(change: Option<Change>) -> Box<Preview> {
    let is_edited = change.is_some();
    let run_body = json!({"assistant_id": "support", "input": null, "multitask_strategy": "reject",
                          "checkpoint_id": if is_edited { FROM_FIRST } else { CHECKPOINT }});
    let start = request("runs", run_body);
    let write = request(
        "state",
        json!({"values": {"messages": []}, "as_node": "chat", "checkpoint_id": CHECKPOINT}),
    );
    let (first, then) = if is_edited {
        (write, vec![start])
    } else {
        (start, Vec::new())
    };
    Box::new(Preview {
        title: "Run again after step 6 of thread 01a1fbb5…9775".into(),
        profile: "prod-eu".into(),
        target: None,
        request: first,
        then,
        changes: change.into_iter().collect(),
        revision: NewRevision::NotAsked,
        branch: Some(Branch {
            checkpoint_id: CHECKPOINT.into(),
            step: Some(6),
            writers: vec!["chat".into()],
            created_at: "2026-11-21T13:01:35Z".parse().ok(),
            is_newest: false,
            steps: vec![
                step(
                    Kind::RunsAgain,
                    &["tools"],
                    None,
                    "list_invoices, get_customer",
                ),
                step(
                    Kind::ThenLikely,
                    &["chat"],
                    Some(RUN),
                    "models and conditions may choose differently",
                ),
                step(
                    Kind::ThenLikely,
                    &["tools"],
                    Some("gone"),
                    "asks again: send_refund, send_email",
                ),
                step(
                    Kind::Skipped,
                    &["input", "chat"],
                    None,
                    "steps 5 and 6 are reused",
                ),
            ],
            repeats: Some(RepeatedCalls {
                calls: vec!["list_invoices".into(), "get_customer".into()],
                run_id: Some(RUN.into()),
            }),
        }),
        notes: vec![Note::warning(
            "The question of step 9 leaves the head. To answer it later, run again from step 9 (checkpoint c9) first: Approve 2 \
             actions",
        )],
        consent: Consent::Key,
    })
}

fn planned(effects: &[Effect]) -> (u64, ThreadIntent) {
    let wanted = effects
        .iter()
        .find_map(thread_plan)
        .map(|(number, _, intent)| (number, intent));
    wanted.unwrap_or_else(|| panic!("{effects:?}"))
}

/// Opens the preview of a run from a checkpoint of the captured history. The page knows one of its runs.
fn forking(size: (u16, u16)) -> (Dash, Vec<Value>) {
    let history = capture("fork-history");
    let mut dash = opened(size, &history);
    let state = json!({"values": {}, "next": [], "tasks": [], "metadata": {"source": "loop"},
                       "checkpoint": {"checkpoint_id": "c"}});
    let thread = json!({"thread_id": THREAD, "status": "idle", "updated_at": "2026-11-21T13:54:00Z",
                        "metadata": {"graph_id": "support", "assistant_id": "a-support"}});
    let runs = json!([run("r2", "success"), run(RUN, "success")]);
    snapshot(
        &mut dash,
        &Records {
            thread,
            state,
            runs,
        },
    );
    serve(&mut dash, &history);
    assert!(dash.go_to_checkpoint(CHECKPOINT));
    serve(&mut dash, &history);
    let (number, intent) = planned(&dash.keys("R"));
    let wanted = ThreadIntent::Fork {
        thread: THREAD.into(),
        checkpoint: Some(CHECKPOINT.into()),
        change: ForkChange::Nothing,
    };
    assert_eq!(intent, wanted);
    dash.done(EffectResult::Planned(number, Ok((preview(None), None))));
    (dash, history)
}

#[test]
fn a_run_from_a_checkpoint_is_previewed_step_by_step() {
    for size in [(140, 40), (80, 24), (60, 20)] {
        let (mut dash, _) = forking(size);
        insta::assert_snapshot!(format!("fork_{}x{}", size.0, size.1), dash.screen());
    }
}

#[test]
fn runs_have_their_numbers_and_requests_fold() {
    let (mut dash, _) = forking((140, 40));
    let screen = dash.screen();
    dash.shows("Run again after step 6 · eu › support-bot › support 9775");
    dash.shows(["as in run 1", "were called in run 1 and"]);
    // The page doesn't know this run.
    dash.shows("as in run gone");
    let body = |screen: &str| screen.contains(r#""multitask_strategy":"reject""#);
    assert!(screen.contains("▾ Request ") && body(&screen));
    dash.keys("c");
    let folded = dash.screen();
    assert!(folded.contains("▸ Request ") && !body(&folded), "{folded}");
    let copied = dash.keys("y");
    assert!(
        copied
            .iter()
            .any(|effect| matches!(effect, Effect::Copy(text) if text.contains("curl -sS"))),
        "{copied:?}"
    );
}

#[test]
fn the_state_can_be_edited_before_the_run() {
    let (mut dash, history) = forking((140, 40));
    dash.shows("(x) none   ( ) edit state first");
    let effects = dash.keys("u");
    assert!(forgotten(&effects) > 0, "{effects:?}");
    serve(&mut dash, &history);
    let document = dash.document().replacen("\"in\"", "\"other\"", 1);
    dash.feed(Msg::Edited(Ok(document)));
    let (number, intent) = planned(&dash.keys("<F5>"));
    let ThreadIntent::Fork {
        checkpoint,
        change: ForkChange::Edit(StateEdit { values, .. }),
        ..
    } = intent
    else {
        panic!("{intent:?}")
    };
    assert_eq!(
        (checkpoint.as_deref(), values["log"][0].as_str()),
        (Some(CHECKPOINT), Some("other"))
    );
    let change = Change {
        path: "log[0]".into(),
        before: Some(json!("in")),
        after: Some(json!("other")),
    };
    dash.done(EffectResult::Planned(
        number,
        Ok((preview(Some(change)), None)),
    ));
    dash.shows([
        "( ) none   (x) edit state first: log[0]: in → other",
        "▾ Requests     1  POST",
    ]);
    dash.shows(FROM_FIRST);
    // The same key returns to the editor, which keeps the edit.
    dash.keys("u");
    dash.document().has("\"other\"");
}

#[test]
fn an_edit_of_the_newest_state_runs_if_it_was_opened_from_the_preview_of_a_run() {
    let history = capture("fork-history");
    let mut dash = opened((140, 40), &history);
    let head = history[0]["checkpoint"]["checkpoint_id"]
        .as_str()
        .unwrap()
        .to_string();
    let (number, _) = planned(&dash.keys("R"));
    let mut preview = preview(None);
    preview.branch.as_mut().unwrap().checkpoint_id = head.clone();
    dash.done(EffectResult::Planned(number, Ok((preview, None))));
    dash.screen();
    dash.keys("u");
    serve(&mut dash, &history);
    let document = dash.document().replacen("\"in\"", "\"other\"", 1);
    dash.feed(Msg::Edited(Ok(document)));
    let (_, intent) = planned(&dash.keys("<F5>"));
    assert!(
        matches!(&intent, ThreadIntent::Fork { checkpoint: Some(id), change: ForkChange::Edit(_), .. } if *id == head),
        "{intent:?}"
    );
}

#[test]
fn the_checkpoint_is_shown_on_the_graph() {
    let (mut dash, history) = forking((140, 40));
    let effects = dash.keys("g");
    assert!(forgotten(&effects) > 0, "{effects:?}");
    serve(&mut dash, &history);
    assert!(dash.dialog().is_none());
    assert_eq!(dash.view(), View::Graph);
    assert_eq!(dash.shown_checkpoint(), Some(CHECKPOINT));
}

#[test]
fn a_long_body_can_be_read_to_its_end() {
    let (mut dash, _) = forking((80, 24));
    let number = dash.preview().expect("a preview").one().number;
    let mut long = preview(None);
    long.request.body =
        Some(json!({"values": {"text": "word ".repeat(5_000), "last": "the-last-key"}}));
    dash.done(EffectResult::Planned(number, Ok((long, None))));
    dash.shows("more lines below");
    dash.lacks("the-last-key");
    dash.keys("<End>");
    let screen = dash.screen();
    // The last key may be broken at the edge of the screen.
    let text: String = screen
        .lines()
        .map(|line| line.trim_matches(['│', ' ']))
        .collect();
    text.has("the-last-key");
    text.lacks("more lines below");
}
