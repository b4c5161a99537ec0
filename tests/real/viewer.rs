//! The data behind the viewer, against the real Python agent server: every stream mode alone and all together, with and without
//! subgraphs, for runs and for threads; modes that change during a run; and graphs of every kind.
//!
//! Ignored without that server: `tests/real/serve -- cargo test --test real viewer -- --ignored`.

use runtail_api::{AgentServer, Http};
use runtail_core::config::Profile;
use runtail_core::model::RunCreate;
use runtail_stream::projection::{LifecycleKind, Message, Projections, Role, StateSource};
use runtail_stream::{
    Event, Item, JoinTransport, Outcome, RUN_MODES, Record, RunTransport, SourceOptions, Target,
    ThreadTransport, Transport, follow,
};
use runtail_testkit::common::follow;
use runtail_testkit::server;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Modes that contain states.
const STATES: [&str; 3] = ["values", "checkpoints", "debug"];

fn agent() -> AgentServer {
    let http = Http::new(&Profile::default()).expect("a client");
    AgentServer::new(http, server::url().parse().expect("an address"))
}

fn names(modes: &[&str]) -> Vec<String> {
    modes.iter().map(|mode| mode.to_string()).collect()
}

/// What a stream sent.
struct StreamLog {
    items: Vec<Item>,
    projections: Projections,
}

impl StreamLog {
    fn events(&self) -> impl Iterator<Item = &Event> {
        follow::events(&self.items).into_iter()
    }

    fn of(&self, name: &str) -> impl Iterator<Item = Value> {
        self.events()
            .filter(move |event| &*event.name == name)
            .map(data)
    }

    fn gaps(&self) -> Vec<&str> {
        follow::gaps(&self.items)
    }

    fn outcome(&self) -> Outcome {
        let end = |item: &Item| {
            if let Item::Record(Record::End(end)) = item {
                Some(end.outcome)
            } else {
                None
            }
        };
        self.items.iter().rev().find_map(end).expect("an end")
    }

    fn thread(&self) -> String {
        let thread = |item: &Item| {
            if let Item::Record(Record::Head(head)) = item {
                head.thread_id.clone()
            } else {
                None
            }
        };
        self.items.iter().find_map(thread).expect("a thread")
    }

    fn connections(&self) -> usize {
        self.items
            .iter()
            .filter(|item| matches!(item, Item::Record(Record::Open { .. })))
            .count()
    }

    fn has(&self, kind: LifecycleKind) -> usize {
        self.projections
            .lifecycle
            .rows()
            .iter()
            .filter(|row| row.kind == kind)
            .count()
    }
}

fn data(event: &Event) -> Value {
    serde_json::from_str(event.data.text()).unwrap_or_default()
}

/// Follows a stream until it ends or `watch` returns true. `watch` gets each event with its number, and may change the modes.
async fn followed(
    link: impl Transport + 'static,
    modes: Vec<String>,
    first_after: Option<&str>,
    watch: impl FnMut(&Event, u64, &watch::Sender<Vec<String>>) -> bool,
) -> StreamLog {
    followed_and_told(link, modes, first_after, None, watch).await
}

/// [`followed`], which tells of the first heartbeat: the server has subscribed to what it streams by then.
async fn followed_and_told(
    link: impl Transport + 'static,
    modes: Vec<String>,
    first_after: Option<&str>,
    mut attached: Option<oneshot::Sender<()>>,
    mut watch: impl FnMut(&Event, u64, &watch::Sender<Vec<String>>) -> bool,
) -> StreamLog {
    let (tell, told) = watch::channel(modes);
    let first_after = first_after.map(str::to_string);
    let options = SourceOptions {
        modes: Some(told),
        first_after,
        ..SourceOptions::default()
    };
    let stop = options.stop.clone();
    // A short queue, so that modes change while events arrive and not after them.
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(follow(link, options, sender));
    let mut log = StreamLog {
        items: Vec::new(),
        projections: Projections::default(),
    };
    loop {
        let batch = tokio::time::timeout(Duration::from_secs(60), receiver.recv())
            .await
            .expect("an item in time");
        let Some(batch) = batch else { return log };
        for item in batch {
            log.projections.apply(&item);
            if matches!(item, Item::Heartbeat { .. })
                && let Some(attached) = attached.take()
            {
                attached.send(()).expect("the test waits");
            }
            if let Item::Record(Record::Event(event)) = &item
                && watch(event, event.seq.0, &tell)
            {
                stop.cancel();
            }
            log.items.push(item);
        }
    }
}

/// Starts a run on a new thread and follows it to its end.
async fn run(graph: &str, input: Value, modes: &[&str], subgraphs: bool) -> StreamLog {
    started(graph, input, modes, subgraphs, Value::Null).await
}

async fn started(
    graph: &str,
    input: Value,
    modes: &[&str],
    subgraphs: bool,
    more: Value,
) -> StreamLog {
    let body = RunCreate {
        assistant_id: graph.into(),
        input: Some(input),
        stream_mode: names(modes),
        stream_subgraphs: subgraphs,
        extra: serde_json::from_value(more).unwrap_or_default(),
        ..RunCreate::default()
    };
    let log = followed(
        RunTransport::new(agent(), Target::NewThread, body),
        Vec::new(),
        None,
        |_, _, _| false,
    )
    .await;
    assert_eq!(log.gaps(), [""; 0], "{graph} {modes:?}");
    log
}

fn ask() -> Value {
    json!({"messages": [{"role": "user", "content": "weather in Kraków?"}]})
}

/// Whether these modes allow such an event.
fn is_asked(name: &str, modes: &[&str]) -> bool {
    let has = |mode: &str| modes.contains(&mode);
    match name {
        "metadata" => true,
        "messages" => has("messages-tuple"),
        "messages/metadata" | "messages/partial" | "messages/complete" => {
            has("messages") && !has("messages-tuple")
        }
        name => has(name),
    }
}

/// The text of a message in a state.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

/// Checks that each message of a model or a tool in the state is shown once, with the same text and calls, in the same order.
#[track_caller]
fn assert_messages(log: &StreamLog, what: &str) {
    let state = server::get(&format!("/threads/{}/state", log.thread()));
    let is_answer = |m: &&Value| m["type"] != "human";
    let wanted: Vec<&Value> = state["values"]["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(is_answer)
        .collect();
    let shown = log.projections.messages.items().iter();
    let shown: Vec<&Message> = shown
        .filter(|m| m.role != Role::Human && m.removed_at.is_none())
        .collect();
    assert_eq!(shown.len(), wanted.len(), "{what}: {shown:#?}");
    for (shown, wanted) in shown.iter().zip(&wanted) {
        let text = text_of(wanted);
        // Other content blocks are shown as a word each.
        let same = match wanted["content"].is_string() {
            true => shown.text == text,
            false => shown.text.contains(&text),
        };
        assert!(same, "{what}: {:?} for {text:?}", shown.text);
        assert!(shown.complete, "{what}: {shown:?}");
        let calls = wanted["tool_calls"].as_array().map_or(0, Vec::len);
        assert_eq!(shown.tool_calls.len(), calls, "{what}");
        for (shown, wanted) in shown
            .tool_calls
            .iter()
            .zip(wanted["tool_calls"].as_array().into_iter().flatten())
        {
            assert_eq!(
                (json!(shown.name), json!(shown.id)),
                (wanted["name"].clone(), wanted["id"].clone()),
                "{what}"
            );
            assert_eq!(
                serde_json::from_str::<Value>(&shown.args).ok().as_ref(),
                Some(&wanted["args"]),
                "{what}"
            );
        }
        if let Some(id) = wanted["tool_call_id"].as_str() {
            assert_eq!(shown.tool_call_id.as_deref(), Some(id), "{what}");
        }
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn run_stream_modes_alone_and_combined() {
    let alone = RUN_MODES.iter().map(std::slice::from_ref);
    for modes in alone.chain([&RUN_MODES[..], &["messages", "values"]]) {
        for subgraphs in [false, true] {
            let what = format!("{modes:?}, subgraphs {subgraphs}");
            let (chat, fanout) = tokio::join!(
                run("agent", ask(), modes, subgraphs),
                run("fanout", json!({"topic": "tea"}), modes, subgraphs)
            );
            let mut came = BTreeSet::new();
            for log in [&chat, &fanout] {
                assert_eq!(log.outcome(), Outcome::Success, "{what}");
                for event in log.events() {
                    assert!(is_asked(&event.name, modes), "{what}: {}", event.name);
                    assert!(subgraphs || event.ns.is_empty(), "{what}: {:?}", event.ns);
                    came.insert(event.name.to_string());
                }
            }
            let expected: Vec<_> = modes
                .iter()
                .map(|m| {
                    if *m == "messages-tuple" {
                        "messages"
                    } else {
                        m
                    }
                })
                .collect();
            let has = |name: &str| {
                came.iter()
                    .any(|c| c == name || c.starts_with(&format!("{name}/")))
            };
            assert!(expected.iter().all(|name| has(name)), "{what}: {came:?}");
            // Legacy messages and LangChain's events never carry a namespace.
            let deepest = fanout.events().map(|event| event.ns.len()).max();
            let is_flat = modes
                .iter()
                .all(|mode| matches!(*mode, "messages" | "events"));
            assert_eq!(
                deepest,
                Some(if subgraphs && !is_flat { 2 } else { 0 }),
                "{what}"
            );
            if modes
                .iter()
                .any(|mode| matches!(*mode, "messages-tuple" | "messages" | "updates" | "values"))
            {
                assert_messages(&chat, &what);
            }
            let states = chat.projections.values.rows().len();
            let updates = chat.projections.updates.rows().len();
            assert_eq!(
                (states > 0, updates),
                (
                    modes.iter().any(|mode| STATES.contains(mode)),
                    if modes.contains(&"updates") { 3 } else { 0 }
                )
            );
            assert_eq!(chat.projections.delivery.malformed, 0);
        }
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn thread_stream_modes_alone_and_combined() {
    let all = ["run_modes", "lifecycle", "state_update"];
    let sets = [&all[..1], &all[1..2], &all[2..], &all[..], &all[1..]];
    let cases =
        [false, true].map(|subgraphs| sets.map(|modes| Box::pin(thread_stream(modes, subgraphs))));
    futures::future::join_all(cases.into_iter().flatten()).await;
}

async fn thread_stream(modes: &[&str], subgraphs: bool) {
    let thread = server::new_thread();
    let mut began = false;
    let link = ThreadTransport::new(agent(), thread.clone(), names(modes));
    // The stream must be open before the run starts.
    let (attached, is_attached) = oneshot::channel();
    let starter = tokio::task::spawn_blocking({
        let thread = thread.clone();
        move || {
            is_attached.blocking_recv().expect("a heartbeat");
            let body = json!({"assistant_id": "fanout", "input": {"topic": "tea"}, "stream_mode": RUN_MODES,
                        "stream_subgraphs": subgraphs, "stream_resumable": true});
            let run = server::text(
                &server::post(&format!("/threads/{thread}/runs"), &body),
                "run_id",
            );
            assert_eq!(server::run_end(&thread, &run), "success");
            let state = json!({"values": {"notes": ["by hand"]}, "as_node": "join"});
            server::post(&format!("/threads/{thread}/state"), &state);
            run
        }
    });
    // The server sets the status of the run before it says that the run is done, so the update of the state,
    // which the test makes by then, may come first.
    let mut awaited = BTreeSet::new();
    if modes.contains(&"state_update") {
        awaited.insert("state_update");
    }
    if modes != ["state_update"] {
        awaited.insert("run_done");
    }
    let log = followed_and_told(link, names(modes), None, Some(attached), |event, _, _| {
        began |= &*event.name == "metadata";
        if data(event)["status"] == "run_done" {
            awaited.remove("run_done");
        }
        awaited.remove(&*event.name);
        awaited.is_empty()
    });
    let log = log.await;
    let run = starter.await.expect("started");
    let what = format!("{modes:?}, subgraphs {subgraphs}");
    let came: BTreeSet<&str> = log.events().map(|event| &*event.name).collect();
    let receives_runs = modes.contains(&"run_modes");
    assert_eq!(began, modes != ["state_update"], "{what}: {came:?}");
    assert_eq!(
        came.contains("state_update"),
        modes.contains(&"state_update"),
        "{what}: {came:?}"
    );
    for name in [
        "values",
        "updates",
        "custom",
        "tasks",
        "checkpoints",
        "debug",
        "events",
    ] {
        assert_eq!(came.contains(name), receives_runs, "{what}: {name}");
    }
    // Only its subgraphs have models.
    assert_eq!(
        came.contains("messages"),
        receives_runs && subgraphs,
        "{what}"
    );
    let deepest = log.events().map(|event| event.ns.len()).max();
    assert_eq!(
        deepest,
        Some(if subgraphs && receives_runs { 2 } else { 0 }),
        "{what}"
    );
    if began {
        let told: Vec<Value> = log.of("metadata").collect();
        assert_eq!(
            told,
            [
                json!({"run_id": run, "attempt": 1}),
                json!({"status": "run_done", "run_id": run})
            ]
        );
    }
    for state in log.of("state_update") {
        assert_eq!(
            state["state"]["values"]["notes"]
                .as_array()
                .and_then(|n| n.last()),
            Some(&json!("by hand"))
        );
    }
}

/// The numbers of the numbered events.
fn numbers(log: &StreamLog) -> Vec<u64> {
    log.of("custom")
        .filter_map(|data| data["seq"].as_u64())
        .collect()
}

fn firehose_input(n: u64) -> Value {
    json!({"n": n, "pad": 40, "burst": 40, "pause": 0.02})
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn changing_run_modes_loses_and_repeats_nothing() {
    const N: u64 = 3000;
    // The modes to change to, by event number; `custom` is always one of them.
    let changes: [(u64, &[&str]); 5] = [
        (200, &["custom"]),
        (700, &["custom", "values"]),
        (701, &["custom", "updates"]),
        (1500, &[]),
        (2500, &["custom", "tasks"]),
    ];
    let change = |_: &Event, seq: u64, tell: &watch::Sender<Vec<String>>| {
        if let Some((_, modes)) = changes.iter().find(|(at, _)| *at == seq) {
            tell.send_replace(names(modes));
        }
        false
    };
    let modes = ["custom", "values", "updates", "tasks"];
    // One run that we start, and one that is joined from its start.
    let body = RunCreate {
        assistant_id: "firehose".into(),
        input: Some(firehose_input(N)),
        stream_mode: names(&modes),
        ..RunCreate::default()
    };
    let started = followed(
        RunTransport::new(agent(), Target::NewThread, body),
        Vec::new(),
        None,
        change,
    )
    .await;
    let thread = server::new_thread();
    let run = server::start_run(&thread, "firehose", &firehose_input(N), &modes);
    let joined = followed(
        JoinTransport::new(agent(), thread, run, Vec::new()),
        Vec::new(),
        Some("-1"),
        change,
    )
    .await;
    for (log, what) in [(&started, "started"), (&joined, "joined")] {
        assert!(
            numbers(log).into_iter().eq(0..N),
            "{what}: {} {:?}",
            numbers(log).len(),
            log.items.last()
        );
        assert_eq!(log.gaps(), [""; 0], "{what}");
        assert_eq!(log.outcome(), Outcome::Success, "{what}");
        assert!(log.connections() >= 4, "{what}: {}", log.connections());
        let said = log
            .projections
            .lifecycle
            .rows()
            .iter()
            .filter(|row| row.text.starts_with("modes changed: reopened"));
        let closed = |item: &&Item| matches!(item, Item::Record(Record::Close { reason, .. }) if reason == "modes");
        assert_eq!(
            said.count(),
            log.items.iter().filter(closed).count(),
            "{what}: each change is reported"
        );
        assert!(
            log.events()
                .map(|event| event.seq.0)
                .eq(1..=log.events().count() as u64),
            "{what}"
        );
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn changing_thread_modes_during_a_run() {
    const N: u64 = 3000;
    let thread = server::new_thread();
    let run = server::start_run(&thread, "firehose", &firehose_input(N), &["custom"]);
    let link = ThreadTransport::new(agent(), thread.clone(), names(&["run_modes"]));
    let changes: [(u64, &[&str]); 3] = [
        (300, &["run_modes", "state_update"]),
        (900, &["run_modes", "lifecycle"]),
        (2000, &["run_modes"]),
    ];
    let log = followed(
        link,
        names(&["run_modes"]),
        Some("-"),
        |event, seq, tell| {
            if let Some((_, modes)) = changes.iter().find(|(at, _)| *at == seq) {
                tell.send_replace(names(modes));
            }
            data(event) == json!({"status": "run_done", "run_id": run})
        },
    )
    .await;
    assert!(
        numbers(&log).into_iter().eq(0..N),
        "{} {:?}",
        numbers(&log).len(),
        log.items.last()
    );
    // Changing modes reconnects, and the server never replays state updates.
    let gaps = log.gaps();
    assert!(
        gaps.iter()
            .all(|gap| gap.ends_with("state updates are never replayed; some may be missing")),
        "{gaps:?}"
    );
    assert!(log.connections() >= 3);
    // Narrowed to starts and ends of runs, and back: skipped events are then replayed.
    let thread = server::new_thread();
    let run = server::start_run(&thread, "firehose", &firehose_input(N), &["custom"]);
    let link = ThreadTransport::new(agent(), thread.clone(), names(&["lifecycle"]));
    let log = followed(
        link,
        names(&["lifecycle"]),
        Some("-"),
        |event, seq, tell| {
            if seq == 1 {
                tell.send_replace(names(&["run_modes"]));
            }
            data(event) == json!({"status": "run_done", "run_id": run})
        },
    )
    .await;
    assert!(
        numbers(&log).into_iter().eq(0..N),
        "{} {:?}",
        numbers(&log).len(),
        log.items.last()
    );
    let told: Vec<Value> = log.of("metadata").collect();
    assert_eq!(told.len(), 2, "begin and end once: {told:?}");
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn messages_of_every_graph_match_the_state() {
    for modes in [
        &RUN_MODES[..],
        &["messages-tuple", "values"],
        &["messages", "updates"],
        &["updates"],
        &["values"],
    ] {
        let log = run("rich", ask(), modes, true).await;
        assert_messages(&log, &format!("{modes:?}"));
        let all = log.projections.messages.items();
        let model = all.iter().find(|m| m.role == Role::Ai).expect("a reply");
        assert_eq!(model.reasoning, "The person wants two cities.", "{modes:?}");
        let failed = all.iter().filter(|m| m.is_error).count();
        assert_eq!(failed, 1, "{modes:?}: one tool call failed");
        let removed = all.iter().filter(|m| m.removed_at.is_some()).count();
        assert_eq!(removed, 1, "{modes:?}: {all:#?}");
        let last = all
            .iter()
            .rfind(|m| m.role == Role::Ai)
            .and_then(|m| m.usage)
            .expect("token usage");
        assert_eq!((last.input, last.output), (60, 25), "{modes:?}");
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn large_states_and_states_that_are_not_objects_are_read() {
    let log = run("bare", json!("hello"), &RUN_MODES, true).await;
    assert_eq!(log.outcome(), Outcome::Success);
    let states: Vec<Value> = log.of("values").collect();
    assert_eq!(states.last(), Some(&json!("hello — said")), "{states:?}");
    // A checkpoint may have a state that precedes the first `values` event.
    let told = log
        .projections
        .values
        .rows()
        .iter()
        .filter(|row| row.source == StateSource::Values)
        .count();
    assert_eq!(told, states.len());

    let log = run("odd", json!({"big": 5_000_000}), &RUN_MODES, true).await;
    assert_eq!(
        (log.outcome(), log.projections.delivery.malformed),
        (Outcome::Success, 0)
    );
    let largest = log
        .projections
        .values
        .rows()
        .iter()
        .map(|row| row.size)
        .max();
    assert!(largest > Some(5_000_000), "{largest:?}");
    let values: Vec<Value> = log.of("custom").take(6).collect();
    assert_eq!(
        values,
        [
            json!(null),
            json!("a bare text"),
            json!(7),
            json!([]),
            json!({}),
            json!({"deep": [[[null]]]})
        ]
    );
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn interrupts_failures_and_retries_are_shown() {
    // Two questions at once.
    let log = run("several", json!({}), &["updates", "values", "tasks"], true).await;
    assert_eq!(
        (log.outcome(), log.has(LifecycleKind::Interrupt)),
        (Outcome::Interrupted, 2)
    );
    // A breakpoint before a node.
    let more = json!({"interrupt_before": ["tools"]});
    let log = started("agent", ask(), &["updates", "values"], false, more).await;
    assert_eq!(
        (log.outcome(), log.has(LifecycleKind::Interrupt)),
        (Outcome::Interrupted, 1)
    );
    // An error, the recursion limit, and a retried node.
    let log = run("broken", json!({}), &RUN_MODES, false).await;
    assert_eq!(log.outcome(), Outcome::Error);
    assert!(log.has(LifecycleKind::Error) >= 1);
    let more = json!({"config": {"recursion_limit": 6}});
    let log = started(
        "odd",
        json!({"loop": true}),
        &["updates", "tasks"],
        false,
        more,
    )
    .await;
    assert_eq!(log.outcome(), Outcome::Error);
    assert_eq!(
        log.of("error").next().expect("an error")["error"],
        "GraphRecursionError"
    );
    let log = run("odd", json!({"fail": 2}), &["custom", "tasks"], false).await;
    let attempts: Vec<Value> = log
        .of("custom")
        .filter(|data| data["attempt"].is_number())
        .collect();
    assert_eq!(
        (log.outcome(), attempts.len()),
        (Outcome::Success, 3),
        "{attempts:?}"
    );
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real viewer -- --ignored"]
async fn heartbeats_keep_a_run_without_events_alive() {
    let log = run("slow", json!({"seconds": 12}), &["custom"], false).await;
    assert_eq!(
        (log.outcome(), log.events().count()),
        (Outcome::Success, 1),
        "only its beginning"
    );
    assert!(log.projections.delivery.heartbeats >= 1);
}
