//! The thread list: searches, pages, marks, and actions on several threads.

use runtail_api::{
    Acted, ApiError, BulkAction, Choice, FoundThread, Kind, Place, PlanError, StartError,
    StartFailure, Started, ThreadIntent, ThreadPage, Writer,
};
use runtail_core::config::Config;
use runtail_core::model::{Consent, Note, Preview, ServerFilter, Thread, ThreadSort};
use runtail_testkit::dash::{Dash, forgotten, thread_plan};
use runtail_testkit::made;
use runtail_testkit::says::Says;

use runtail_tui::session::msg::{
    Effect, EffectResult, Msg, Sent, ServerRef, SubscriptionEvent, SubscriptionId, ThreadsRead,
    ThreadsWanted,
};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const CONFIG: &str = "[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n[searches]\nstale = \"status:error age>1h\"\n";

fn id(n: usize) -> String {
    format!("{n:08x}-0000-4000-8000-000000000000")
}

/// The n-th thread of a server that has many: each changed a minute before the one before it.
fn thread(n: usize) -> Thread {
    let at = "2026-11-21T14:00:00Z".parse::<jiff::Timestamp>().unwrap()
        - jiff::SignedDuration::from_mins(n as i64);
    let status = ["idle", "error", "interrupted", "idle"][n % 4];
    serde_json::from_value(json!({
        "thread_id": id(n), "status": status, "updated_at": at.to_string(), "created_at": at.to_string(),
        "metadata": {"graph_id": "support", "user": n % 10},
    }))
    .unwrap()
}

fn page(threads: impl IntoIterator<Item = usize>, offset: usize, is_last: bool) -> ThreadsRead {
    let found = |n: usize| FoundThread {
        title: Some(format!("Order {n}")),
        ..FoundThread::from(thread(n))
    };
    let threads: Vec<FoundThread> = threads.into_iter().map(found).collect();
    let page = ThreadPage {
        next_offset: offset + threads.len(),
        threads,
        is_last,
        is_sorted: true,
        ..ThreadPage::default()
    };
    ThreadsRead {
        filter: ServerFilter::default(),
        whole_id: None,
        sort: ThreadSort::Updated,
        offset,
        count: (!is_last).then_some(10_000),
        result: Ok(page),
    }
}

fn receive(dash: &mut Dash, read: ThreadsRead) {
    dash.answer(
        |key| matches!(key, SubscriptionId::Threads(_)),
        SubscriptionEvent::Threads(read),
    );
}

fn wanted(dash: &Dash) -> Arc<ThreadsWanted> {
    let subs = dash.subscriptions();
    let sub = subs
        .into_iter()
        .find(|sub| matches!(sub.key, SubscriptionId::Threads(_)));
    sub.expect("the threads are polled").params.threads
}

/// A dashboard with the threads of a server open.
fn opened(size: (u16, u16), read: ThreadsRead) -> Dash {
    opened_in_order("updated", size, read)
}

fn opened_in_order(order: &str, size: (u16, u16), read: ThreadsRead) -> Dash {
    let mut dash = Dash::new(CONFIG, size);
    dash.set_threads_order(order);
    // The list has the whole width.
    dash.keys("<Enter>f");
    dash.assistants();
    receive(&mut dash, read);
    dash
}

fn shown(dash: &mut Dash) -> Vec<String> {
    dash.relayout();
    dash.shown_threads().to_vec()
}

fn ids(of: impl IntoIterator<Item = usize>) -> Vec<String> {
    of.into_iter().map(id).collect()
}

#[test]
fn a_search_says_what_the_server_applied_and_on_how_many_threads_the_rest_was_checked() {
    let mut dash = opened((140, 40), page(0..100, 0, false));
    dash.keys("/status:error age>30m Order");
    assert_eq!(
        wanted(&dash).search.server_filter().status.as_deref(),
        Some("error")
    );
    // Until the server answers, the loaded threads are searched.
    assert_eq!(shown(&mut dash), ids((33..100).step_by(4)));
    dash.shows("loading…");
    dash.keys("<Enter>");
    let mut read = page((1..400).step_by(4), 0, false);
    read.filter.status = Some("error".into());
    read.count = Some(250);
    receive(&mut dash, read);
    assert_eq!(shown(&mut dash), ids((33..400).step_by(4)));
    insta::assert_snapshot!("find_search_140x40", dash.screen());
    dash.resize(80, 24);
    insta::assert_snapshot!("find_search_80x24", dash.screen());
    dash.keys("<Esc>");
    assert_eq!(
        wanted(&dash).search.server_filter(),
        ServerFilter::default()
    );
}

#[test]
fn no_match_is_never_claimed_for_threads_that_were_not_checked() {
    let mut dash = opened((140, 40), page(0..100, 0, false));
    dash.keys("/nothing-like-this<Enter>");
    dash.shows("0 found in 100 of 10,000 threads, loading…");
    // More is requested although no row is near the end of the screen.
    assert!(wanted(&dash).rows > 100);
    receive(&mut dash, page(90..600, 90, false));
    dash.shows("600 of 10,000 threads");
    receive(&mut dash, page(590..700, 590, true));
    dash.shows([
        "No match for “nothing-like-this”.",
        "0 found in 700 threads · local: nothing-like-this",
    ]);
}

#[test]
fn a_search_that_cannot_be_parsed_names_the_column_and_keeps_the_last_one() {
    let mut dash = opened((140, 40), page(0..20, 0, true));
    dash.keys("/status:error");
    assert_eq!(shown(&mut dash).len(), 5);
    dash.keys("x");
    dash.shows(
        "✗ column 8: `errorx` is not a value of status:; use idle, busy, interrupted or error",
    );
    assert_eq!(
        wanted(&dash).search.server_filter().status.as_deref(),
        Some("error"),
        "the last valid search stays"
    );
}

#[test]
fn a_search_that_the_server_refuses_shows_its_words() {
    let mut dash = opened((140, 40), page(0..20, 0, true));
    dash.keys("/meta.user=99<Enter>");
    let place = Place {
        method: "POST".into(),
        path: "/threads/search".into(),
        ..Place::default()
    };
    let detail = "metadata filters are disabled".to_string();
    let error = ApiError {
        kind: Kind::Invalid(Vec::new()),
        at: place,
        detail,
        hint: None,
    };
    let filter = ServerFilter {
        metadata: Some(json!({"user": 99})),
        ..ServerFilter::default()
    };
    receive(
        &mut dash,
        ThreadsRead {
            filter,
            result: Err(error),
            ..page([], 0, true)
        },
    );
    dash.shows(["metadata filters are disabled", "Press r to retry."]);
    // A late answer to an older search is dropped.
    receive(&mut dash, page(0..20, 0, true));
    assert!(shown(&mut dash).is_empty());
}

#[test]
fn terms_that_a_server_ignores_are_applied_here() {
    let mut dash = opened((140, 40), page(0..20, 0, true));
    dash.keys("/status:error<Enter>");
    let mut read = page(0..20, 0, true);
    read.filter.status = Some("error".into());
    if let Ok(page) = &mut read.result {
        page.ignored.insert(0);
    }
    receive(&mut dash, read);
    assert_eq!(shown(&mut dash), ids((1..20).step_by(4)));
    dash.shows("5 found in 20 threads · local: status:error");
}

#[test]
fn pages_are_merged_and_threads_that_are_gone_disappear() {
    let mut dash = opened((140, 40), page(0..100, 0, false));
    dash.shows("1 Threads 10,000");
    dash.keys("G");
    assert!(
        wanted(&dash).rows >= 600,
        "near the end, the next rows are requested"
    );
    receive(&mut dash, page(90..600, 90, false));
    assert_eq!(shown(&mut dash), ids(0..600), "the overlap is listed once");
    // Thread 3 was deleted, and thread 400 changed: it is first now.
    let mut newest = thread(400);
    newest.updated_at = Some("2026-11-21T14:01:00Z".parse().unwrap());
    let mut read = page((0..99).filter(|n| *n != 3), 0, false);
    if let Ok(page) = &mut read.result {
        page.threads.insert(0, newest.into());
    }
    receive(&mut dash, read);
    let expected: Vec<usize> = [400]
        .into_iter()
        .chain((0..600).filter(|n| *n != 3 && *n != 400))
        .collect();
    assert_eq!(shown(&mut dash), ids(expected));
    // The selection follows its thread.
    let selected = dash.selected_thread();
    assert_eq!(selected, Some(id(99)));
}

#[test]
fn ten_thousand_threads_are_listed_from_pages() {
    let mut dash = opened((140, 40), page(0..100, 0, false));
    let mut loaded = 100;
    while loaded < 10_000 {
        dash.keys("G");
        assert!(wanted(&dash).rows > loaded, "{loaded} are loaded");
        let next = (loaded + 490).min(10_000);
        receive(
            &mut dash,
            page(loaded - 10..next, loaded - 10, next == 10_000),
        );
        loaded = next;
    }
    assert_eq!(shown(&mut dash).len(), 10_000);
    dash.keys("G");
    let selected = dash.selected_thread();
    assert!(
        selected.is_some_and(|id| id.starts_with("0000270f")),
        "the last row"
    );
    let before = wanted(&dash).rows;
    dash.keys("gG");
    assert_eq!(wanted(&dash).rows, before, "nothing more is requested");
}

#[test]
fn threads_are_sorted_by_a_key_and_by_the_search() {
    let mut dash = opened((140, 40), page(0..8, 0, true));
    dash.keys("s");
    assert_eq!(wanted(&dash).sort, ThreadSort::Created);
    dash.keys("s");
    assert_eq!(
        shown(&mut dash),
        ids([1, 5, 0, 3, 4, 7, 2, 6]),
        "by status, last changed first"
    );
    dash.shows("sort status");
    dash.keys("/sort:created<Enter>s");
    assert_eq!(
        (wanted(&dash).sort, dash.newest_notice()),
        (ThreadSort::Created, "Change the search's sort: term.")
    );
}

#[test]
fn names_stars_and_first_messages_are_shown() {
    let mut read = page(0..3, 0, true);
    if let Ok(page) = &mut read.result {
        page.threads[0].thread.metadata =
            Some(json!({"graph_id": "support", "name": "Refund Ana", "starred": true}));
    }
    let mut dash = opened((140, 40), read);
    let screen = dash.screen();
    let row = screen
        .lines()
        .find(|line| line.contains("support 0000"))
        .unwrap_or_default();
    row.has("* Refund Ana  Order 0");
    let effects = dash.keys("*");
    let label = effects.iter().find_map(thread_plan);
    assert!(
        matches!(label, Some((_, _, ThreadIntent::Label { label, .. })) if label.starred == Some(false)),
        "{effects:?}"
    );
    dash.keys("<Esc>:name Other<Enter>");
    assert!(dash.screen().contains("╭ Label") || dash.screen().contains("╭ Name"));
}

#[test]
fn saved_searches_are_listed_in_the_prompt_and_applied_by_name() {
    let mut dash = opened((140, 40), page(0..20, 0, true));
    dash.keys("/");
    dash.shows("saved (:search NAME): stale");
    dash.keys("<Esc>:search stale<Enter>");
    assert_eq!(wanted(&dash).search.text(), "status:error age>1h");
}

fn preview(thread: &str) -> Box<Preview> {
    let url = format!("http://127.0.0.1:2024/threads/{thread}");
    let request = made::request("DELETE", &url);
    let consent = Consent::Id(thread.into());
    Box::new(made::preview("Delete", "local", request, consent))
}

/// Answers the plans of effects until none is left. Returns the number of each planned thread.
fn plan_all(dash: &mut Dash, mut effects: Vec<Effect>, refused: &[usize]) -> Vec<(u64, String)> {
    let mut planned = Vec::new();
    while let Some(effect) = effects.pop() {
        let Some((number, _, intent)) = thread_plan(&effect) else {
            continue;
        };
        let thread = intent.thread().to_string();
        let answer = match refused.iter().any(|n| id(*n) == thread) {
            true => Err(PlanError::Unfit("A run is active on this thread.".into())),
            false => {
                planned.push((number, thread.clone()));
                Ok((preview(&thread), None))
            }
        };
        effects.extend(dash.done(EffectResult::Planned(number, answer)));
    }
    planned
}

fn acts(effects: &[Effect]) -> Vec<u64> {
    effects
        .iter()
        .filter_map(|effect| {
            if let Effect::Send(number, ..) = effect {
                Some(*number)
            } else {
                None
            }
        })
        .collect()
}

fn acted(
    dash: &mut Dash,
    number: u64,
    thread: &str,
    result: Result<Acted, StartError>,
) -> Vec<Effect> {
    let server = dash.server();
    let thread = runtail_tui::session::msg::ThreadRef {
        server,
        id: thread.into(),
    };
    dash.done(EffectResult::Sent(number, Sent::Thread(thread, result)))
}

#[test]
fn marked_threads_are_deleted_after_one_preview_each_once() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    let marked = dash.keys("<Space><Space>m<Space><Space><Space><Space>");
    assert!(marked.is_empty());
    dash.shows("7 marked");
    let effects = dash.keys("D");
    assert_eq!(
        effects.len(),
        4,
        "a few threads are read at a time: {effects:?}"
    );
    let planned = plan_all(&mut dash, effects, &[2]);
    assert_eq!(planned.len(), 6);
    insta::assert_snapshot!("find_delete_marked_140x40", dash.screen());
    dash.resize(80, 24);
    insta::assert_snapshot!("find_delete_marked_80x24", dash.screen());
    assert!(
        acts(&dash.keys("<ctrl-s>delete 7<ctrl-s>")).is_empty(),
        "the count has to be right"
    );
    assert!(dash.newest_notice().starts_with("Type delete 6 exactly"));
    let mut sent = acts(&dash.keys("<Backspace>6<ctrl-s>"));
    assert_eq!(sent.len(), 4);
    assert!(
        acts(&dash.keys("<ctrl-s><ctrl-s>")).is_empty(),
        "nothing is sent twice"
    );
    let thread_of = |number: u64| {
        planned
            .iter()
            .find(|(of, _)| *of == number)
            .unwrap()
            .1
            .clone()
    };
    let place = Place::default();
    let refused = ApiError {
        kind: Kind::Forbidden,
        at: place,
        detail: "not yours".into(),
        hint: None,
    };
    let refused = StartError {
        failure: StartFailure::Refused,
        error: refused,
    };
    sent.extend(acts(&acted(
        &mut dash,
        sent[0],
        &thread_of(sent[0]),
        Ok(Acted::Deleted),
    )));
    sent.extend(acts(&acted(
        &mut dash,
        sent[1],
        &thread_of(sent[1]),
        Err(refused),
    )));
    assert_eq!(sent.len(), 6);
    for number in &sent[2..] {
        assert!(
            acts(&acted(
                &mut dash,
                *number,
                &thread_of(*number),
                Ok(Acted::Deleted)
            ))
            .is_empty()
        );
    }
    dash.says("Delete: 5 threads done, 1 refused.");
    insta::assert_snapshot!("find_deleted_80x24", dash.screen());
    dash.keys("<Esc>");
    assert_eq!(shown(&mut dash).len(), 7);
    // What was not deleted stays marked.
    dash.shows("2 marked");
}

#[test]
fn an_action_on_marked_threads_stops_before_the_next_request() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<ctrl-a>");
    let effects = dash.keys("D");
    let planned = plan_all(&mut dash, effects, &[]);
    dash.screen();
    let sent = acts(&dash.keys("delete 12<ctrl-s>"));
    assert_eq!(sent.len(), 4);
    let effects = dash.keys("<Esc>");
    let dropped = forgotten(&effects);
    assert_eq!((acts(&effects).len(), dropped), (0, 8), "{effects:?}");
    for number in sent {
        let thread = planned
            .iter()
            .find(|(of, _)| *of == number)
            .unwrap()
            .1
            .clone();
        assert!(acts(&acted(&mut dash, number, &thread, Ok(Acted::Deleted))).is_empty());
    }
    dash.says("Delete: 4 threads done, 8 not sent.");
}

#[test]
fn leaving_the_preview_sends_nothing() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<Space><Space>");
    let effects = dash.keys("x");
    plan_all(&mut dash, effects, &[]);
    let effects = dash.keys("<Esc>");
    assert!(
        acts(&effects).is_empty() && forgotten(&effects) > 0,
        "{effects:?}"
    );
    dash.says("Nothing was sent.");
}

#[test]
fn a_preview_under_the_help_is_planned_to_the_end() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<ctrl-a>");
    let effects = dash.keys("D");
    dash.keys("?");
    assert_eq!(plan_all(&mut dash, effects, &[]).len(), 12);
    dash.keys("<Esc>");
    assert!(dash.preview().is_some_and(|preview| preview.is_ready()));
}

#[test]
fn a_late_result_is_not_applied_to_another_preview() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    let effects = dash.keys("D");
    let (number, thread) = plan_all(&mut dash, effects, &[]).remove(0);
    dash.screen();
    assert_eq!(acts(&dash.keys(&format!("{thread}<ctrl-s>"))), [number]);
    dash.keys("<Esc>");
    // Another preview is open when the result arrives.
    dash.keys("<ctrl-a>");
    let effects = dash.keys("D");
    plan_all(&mut dash, effects, &[]);
    acted(&mut dash, number, &thread, Ok(Acted::Deleted));
    dash.told("was deleted.");
    assert!(dash.preview().is_some_and(|preview| preview.is_ready()));
}

#[test]
fn marked_threads_that_are_no_longer_listed_are_part_of_the_action() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("m<Down>m");
    receive(&mut dash, page(4..12, 0, true));
    assert_eq!(shown(&mut dash), ids(4..12));
    let effects = dash.keys("D");
    let mut planned = plan_all(&mut dash, effects, &[]);
    planned.sort_by(|(_, a), (_, b)| a.cmp(b));
    let planned: Vec<String> = planned.into_iter().map(|(_, thread)| thread).collect();
    assert_eq!(planned, ids([0, 2]));
}

#[test]
fn pruning_is_the_other_option_of_deleting() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<Space><Space>");
    let effects = dash.keys("D");
    plan_all(&mut dash, effects, &[]);
    dash.screen();
    let effects = dash.keys("<ctrl-t>");
    let is_prune = |effect: &&Effect| {
        matches!(
            thread_plan(effect),
            Some((_, _, ThreadIntent::Prune { .. }))
        )
    };
    assert_eq!(effects.iter().filter(is_prune).count(), 2, "{effects:?}");
    assert_eq!(
        BulkAction::Prune.intent("t", None),
        ThreadIntent::Prune { thread: "t".into() }
    );
    plan_all(&mut dash, effects, &[]);
    dash.shows("Type prune 2 to confirm:");
}

/// The values of an edit, and the node in whose name it is made.
type WantedEdit = (serde_json::Value, Option<String>);

fn edit_of(intent: &ThreadIntent) -> Option<WantedEdit> {
    match intent {
        ThreadIntent::Retry { edit, .. } => edit
            .as_ref()
            .map(|edit| (edit.values.clone(), edit.as_node.clone())),
        other => panic!("{other:?}"),
    }
}

/// Answers the plans of edits. Returns the number and thread of each, and the edits that were wanted.
fn plan_edits(dash: &mut Dash, mut effects: Vec<Effect>) -> (Vec<(u64, String)>, Vec<WantedEdit>) {
    let (mut planned, mut edits) = (Vec::new(), Vec::new());
    while let Some(effect) = effects.pop() {
        let Some((number, _, intent)) = thread_plan(&effect) else {
            continue;
        };
        let (values, node) = edit_of(&intent).expect("an edit");
        let mut plan = preview(intent.thread());
        plan.request.url.push_str("/state");
        plan.request.method = "POST".into();
        plan.then = vec![plan.request.clone()];
        plan.notes.push(Note::warning(
            "Models and tools of the nodes that run are called again.",
        ));
        let nodes = ["plan", "act"]
            .map(|node| Writer {
                node: node.into(),
                then: "Next: act".into(),
            })
            .to_vec();
        let choice = Choice::AsNode {
            node: node.clone(),
            nodes,
        };
        planned.push((number, intent.thread().to_string()));
        edits.push((values, node));
        effects.extend(dash.done(EffectResult::Planned(number, Ok((plan, Some(choice))))));
    }
    planned.sort();
    (planned, edits)
}

#[test]
fn one_edit_is_written_to_every_marked_failed_thread_before_its_retry() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<ctrl-a>");
    let effects = dash.keys("R");
    let idle: Vec<usize> = (0..12).filter(|n| n % 4 != 1).collect();
    assert_eq!(plan_all(&mut dash, effects, &idle).len(), 3);
    dash.shows("ctrl-t edits all states first");
    let effects = dash.keys("<ctrl-t>");
    let dropped = forgotten(&effects);
    assert_eq!(
        dropped, 3,
        "the retries without an edit are dropped: {effects:?}"
    );
    dash.shows("Edit and retry");
    assert!(dash.keys("<F5>").is_empty());
    assert!(dash.newest_notice().starts_with("Type a key and value"));
    dash.feed(Msg::Edited(Ok(r#"{"log": ["b"]}"#.into())));
    let effects = dash.keys("<F5>");
    let (planned, edits) = plan_edits(&mut dash, effects);
    assert_eq!(planned.len(), 3, "only the threads that failed");
    assert!(
        edits
            .iter()
            .all(|edit| *edit == (json!({"log": ["b"]}), None)),
        "{edits:?}"
    );
    insta::assert_snapshot!("find_edit_and_retry_140x40", dash.screen());
    dash.resize(80, 24);
    insta::assert_snapshot!("find_edit_and_retry_80x24", dash.screen());
    // Another node is another plan for each.
    let effects = dash.keys("<ctrl-t>");
    let dropped = forgotten(&effects);
    assert_eq!(dropped, 3, "{effects:?}");
    let (planned, edits) = plan_edits(&mut dash, effects);
    assert!(
        edits
            .iter()
            .all(|(_, node)| node.as_deref() == Some("plan"))
            && edits.len() == 3,
        "{edits:?}"
    );
    dash.screen();
    let sent = acts(&dash.keys("<ctrl-s>"));
    assert_eq!(sent.len(), 3);
    assert!(
        acts(&dash.keys("<ctrl-s>")).is_empty(),
        "nothing is sent twice"
    );
    let error = |kind: Kind, detail: &str| made::error(kind, detail);
    let started = Started {
        run_id: "01a1fbb5-0000-7000-8000-000000000009".into(),
        was_found: false,
    };
    let results = [
        Ok(Acted::Forked {
            checkpoint: "new".into(),
            started,
        }),
        Err(StartError {
            failure: StartFailure::AfterEdit,
            error: error(
                Kind::Conflict,
                "the state was edited (new checkpoint new), but the run was not started",
            ),
        }),
        Err(StartError {
            failure: StartFailure::AfterEditUnknown,
            error: error(Kind::Server(502), "the reply was lost"),
        }),
    ];
    for ((number, thread), result) in planned.iter().zip(results) {
        assert!(acts(&acted(&mut dash, *number, thread, result)).is_empty());
    }
    dash.says("Edit and retry: 1 thread done, 1 edited but not started, 1 unknown.");
    dash.resize(140, 40);
    insta::assert_snapshot!("find_edited_and_retried_140x40", dash.screen());
    dash.keys("<Esc>");
    assert!(
        dash.dialog().is_none(),
        "the editor of an edit that was made is closed"
    );
    dash.shows("11 marked");
}

#[test]
fn an_edit_that_is_not_sent_is_kept_in_its_editor() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<Space><Space>");
    let effects = dash.keys("R");
    plan_all(&mut dash, effects, &[0]);
    dash.keys("<ctrl-t>");
    dash.feed(Msg::Edited(Ok(r#"{"log": ["b"]}"#.into())));
    let effects = dash.keys("<F5>");
    plan_edits(&mut dash, effects);
    let effects = dash.keys("<Esc>");
    assert!(forgotten(&effects) > 0, "{effects:?}");
    dash.shows(r#"{"log": ["b"]}"#);
    // A command over the preview drops the plan too.
    let effects = dash.keys("<F5>");
    let (planned, _) = plan_edits(&mut dash, effects);
    let effects = dash.keys(":deployments<Enter>");
    assert!(
        effects.contains(&Effect::Forget(planned[0].0)),
        "{effects:?}"
    );
}

#[test]
fn a_preview_of_several_threads_closes_when_its_profile_changes() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<Space><Space>");
    let effects = dash.keys("D");
    assert_eq!(plan_all(&mut dash, effects, &[]).len(), 2);
    let moved = CONFIG.replace("2024", "2025");
    let read = Config::parse(&moved, Some(Path::new("config.toml"))).map(Box::new);
    let effects = dash.feed(Msg::Configured(read));
    let tried = effects.iter().find_map(|effect| match effect {
        Effect::Try(number, _) => Some(*number),
        _ => None,
    });
    let effects = dash.done(EffectResult::Tried(tried.expect("a test"), Ok(())));
    assert_eq!(forgotten(&effects), 2, "two plans are dropped");
    assert!(dash.dialog().is_none());
    dash.told("the pending change (nothing was sent)");
}

#[test]
fn a_repeated_plan_sends_no_request_twice() {
    let mut dash = opened((140, 40), page(0..12, 0, true));
    dash.keys("<Space><Space>");
    let effects = dash.keys("x");
    let planned = plan_all(&mut dash, effects, &[]);
    dash.screen();
    assert_eq!(acts(&dash.keys("<ctrl-s>")).len(), 2);
    let (number, thread) = &planned[0];
    dash.done(EffectResult::Planned(*number, Ok((preview(thread), None))));
    let (number, thread) = &planned[1];
    let effects = acted(
        &mut dash,
        *number,
        thread,
        Ok(Acted::Cancelling(Vec::new())),
    );
    assert!(acts(&effects).is_empty(), "{effects:?}");
}

/// A page of threads with these numbers and statuses, in this order.
fn page_of(threads: &[(usize, &str)], offset: usize, is_last: bool) -> ThreadsRead {
    let mut read = page(threads.iter().map(|(n, _)| *n), offset, is_last);
    for (found, (_, status)) in read
        .result
        .as_mut()
        .unwrap()
        .threads
        .iter_mut()
        .zip(threads)
    {
        found.thread.status = status.to_string();
    }
    read
}

#[test]
fn problems_are_first_among_the_loaded_threads() {
    let first = [
        (1, "idle"),
        (2, "busy"),
        (3, "error"),
        (4, "idle"),
        (5, "interrupted"),
    ];
    let mut dash = opened_in_order("problems", (140, 30), page_of(&first, 0, false));
    let order = shown(&mut dash);
    assert_eq!(order[0], id(3), "{order:?}");
    assert_eq!(
        order.iter().position(|row| *row == id(1)),
        Some(order.len() - 2)
    );
    dash.shows("problems first, of 5 loaded");
    // While keys are pressed, a page is added below, and the cursor's row stays where it is.
    dash.keys("<Down>");
    let before = (order, dash.threads_cursor());
    receive(&mut dash, page_of(&[(6, "idle"), (7, "error")], 5, true));
    let now = shown(&mut dash);
    let cursor = dash.threads_cursor();
    assert_eq!((now[..5].to_vec(), cursor), before);
    assert_eq!(now[5..], ids([7, 6]));
    // After a pause they are in order, and the cursor follows its thread.
    let selected = dash.selected_thread();
    dash.later(11_000);
    dash.feed(Msg::Tick);
    let now = shown(&mut dash);
    assert_eq!(now[..2], ids([3, 7]));
    assert_eq!(dash.selected_thread(), selected);
    // Everything is loaded.
    dash.lacks("problems first, of");
}

#[test]
fn the_order_of_the_server_is_one_of_the_orders_and_is_remembered() {
    let threads = [(1, "idle"), (2, "error"), (3, "idle")];
    let mut dash = opened_in_order("problems", (140, 30), page_of(&threads, 0, true));
    assert_eq!(shown(&mut dash)[0], id(2));
    // The request is the same, so the server is not asked again.
    dash.keys("s");
    assert_eq!(shown(&mut dash), ids([1, 2, 3]));
    dash.shows("sort updated");
    assert_eq!(wanted(&dash).sort, ThreadSort::Updated);
    dash.keys("s");
    assert_eq!(wanted(&dash).sort, ThreadSort::Created);
    // The lists of the next server have the same order.
    let other = ServerRef {
        profile: "local".into(),
        name: "other".into(),
        url: "http://127.0.0.1:2025".into(),
    };
    dash.open_server_of(other);
    assert_eq!(wanted(&dash).sort, ThreadSort::Created);
    assert_eq!(dash.threads_order(), Some("created"));
}

#[test]
fn the_selection_stays_on_its_thread_when_rows_move_without_a_key() {
    let mut dash = Dash::new(CONFIG, (140, 30));
    dash.keys("<Enter>");
    dash.assistants();
    receive(&mut dash, page_of(&[(1, "busy"), (2, "idle")], 0, false));
    let selected = |dash: &mut Dash| {
        let order = shown(dash);
        let picked = dash.selected_thread();
        (
            order.iter().position(|row| Some(row) == picked.as_ref()),
            picked,
        )
    };
    assert_eq!(selected(&mut dash), (Some(0), Some(id(1))));
    dash.later(4_000);
    receive(&mut dash, page_of(&[(3, "error"), (4, "idle")], 2, false));
    assert_eq!(shown(&mut dash)[0], id(3), "rows arrive above it");
    assert_eq!(selected(&mut dash), (Some(1), Some(id(1))));
    // The thread that was idle fails: another row is first, and still the same thread is selected.
    receive(&mut dash, page_of(&[(2, "error"), (1, "busy")], 0, false));
    assert_eq!(shown(&mut dash)[0], id(2));
    assert_eq!(selected(&mut dash), (Some(2), Some(id(1))));
    let effects = dash.keys("x");
    let is_for_it = |effect: &Effect| matches!(thread_plan(effect), Some((_, _, ThreadIntent::Cancel { thread, .. })) if thread == id(1));
    assert!(
        effects.iter().any(is_for_it),
        "the key acts on the thread that was shown: {effects:?}"
    );
}

#[test]
fn the_selection_stays_on_its_thread_from_the_first_frame() {
    let mut dash = Dash::new(CONFIG, (140, 30));
    dash.keys("<Enter>");
    dash.assistants();
    receive(&mut dash, page_of(&[(1, "busy"), (2, "idle")], 0, false));
    let screen = dash.screen();
    let line = |screen: &str| {
        screen
            .lines()
            .find(|line| line.contains('▌'))
            .unwrap_or_default()
            .to_string()
    };
    let first = line(&screen);
    dash.on_drawn();
    // Another thread becomes the first row before the key, which still acts on the one that was read.
    receive(&mut dash, page_of(&[(3, "error"), (4, "idle")], 2, false));
    let effects = dash.typed_ahead("x");
    let is_for_it = |effect: &Effect| matches!(thread_plan(effect), Some((_, _, ThreadIntent::Cancel { thread, .. })) if thread == id(1));
    assert!(effects.iter().any(is_for_it), "{first}: {effects:?}");
}
