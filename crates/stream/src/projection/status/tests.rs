use super::runs::LISTED;
use super::*;
use crate::projection::{Projections, StateSource};
use crate::{Data, End, Event, Loaded as LoadedPart, Seq, ThreadSnapshot};
use serde_json::{Value, json};

/// An event log and its projections.
#[derive(Default)]
struct Log {
    projections: Projections,
    seq: Seq,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_795_000_000 + second).unwrap()
}

fn time(second: i64) -> String {
    at(second).to_string()
}

fn run(id: &str, status: &str, began: i64, ended: i64) -> Value {
    json!({"run_id": id, "status": status, "created_at": time(began), "updated_at": time(ended), "assistant_id": "a"})
}

impl Log {
    fn event(&mut self, name: &str, data: &Value, second: i64, replayed: bool) {
        self.seq = self.seq.next();
        let (seq, data) = (self.seq, Data::Json(data.to_string().into()));
        let event = Event {
            seq,
            at: at(second),
            conn: 1,
            replayed,
            name: name.into(),
            ns: [].into(),
            id: None,
            data,
        };
        self.projections.apply(&Item::Record(Record::Event(event)));
    }

    fn live(&mut self, name: &str, data: Value, second: i64) {
        self.event(name, &data, second, false);
    }

    fn snapshot(&mut self, parts: &[(SnapshotPart, Value)]) {
        let parts = parts.iter().map(|(part, json)| {
            let loaded = match json {
                Value::Null => LoadedPart::NotOffered,
                Value::String(why) => LoadedPart::Failed(why.clone()),
                json => LoadedPart::Json(json.to_string().into()),
            };
            (*part, loaded)
        });
        self.seq = self.seq.next();
        let event = ThreadSnapshot {
            at: at(0),
            parts: parts.collect(),
        }
        .into_event(self.seq);
        self.projections.apply(&Item::Record(Record::Event(event)));
    }

    /// Applies a snapshot of a thread with this status, these messages, and these runs, newest first.
    fn thread(&mut self, status: &str, messages: Value, runs: Value) {
        let state = json!({"values": {"messages": messages}, "next": [], "tasks": [], "created_at": time(9),
                           "metadata": {"source": "loop"}, "checkpoint": {"checkpoint_id": "c"}});
        let thread = json!({"status": status});
        self.snapshot(&[
            (SnapshotPart::Thread, thread),
            (SnapshotPart::State, state),
            (SnapshotPart::Runs, runs),
        ]);
    }

    fn word(&self) -> &'static str {
        self.projections.status.status().word()
    }

    fn outcomes(&self) -> Vec<(String, RunOutcome)> {
        self.projections
            .status
            .runs()
            .iter()
            .map(|run| (run.name(), run.outcome))
            .collect()
    }
}

#[test]
fn a_failed_thread_is_failed_although_its_replay_has_no_error() {
    let mut log = Log::default();
    log.projections.status.await_snapshot();
    assert_eq!(log.word(), "loading…");
    // Errors are never replayed, and the end of a run is the same for every outcome.
    log.event("metadata", &json!({"run_id": "r", "attempt": 1}), 60, true);
    assert_eq!(
        log.word(),
        "loading…",
        "a replay doesn't show the current status"
    );
    log.event("updates", &json!({"first": {}}), 60, true);
    log.snapshot(&[
        (
            SnapshotPart::Thread,
            json!({"status": "error", "error": {"error": "ValueError", "message": "boom"}}),
        ),
        (SnapshotPart::Runs, json!([run("r", "error", 10, 12)])),
    ]);
    log.event(
        "metadata",
        &json!({"run_id": "r", "status": "run_done"}),
        60,
        true,
    );
    assert_eq!(log.word(), "failed");
    let status = &log.projections.status;
    let [run] = status.runs() else { panic!() };
    assert_eq!(
        (run.outcome, run.error.as_deref()),
        (RunOutcome::Failed, Some("ValueError: boom"))
    );
    assert_eq!(
        (run.began, run.ended, run.took().unwrap().as_secs()),
        (Some(at(10)), Some(at(12)), 2)
    );
    assert_eq!((run.first_seq, run.end_seq), (Some(Seq(1)), Some(Seq(4))));
}

#[test]
fn the_stream_updates_the_snapshot_until_the_next_one() {
    let mut log = Log::default();
    log.thread("idle", json!([]), json!([run("a", "success", 0, 1)]));
    assert_eq!(log.word(), "idle");
    log.live("metadata", json!({"run_id": "b", "attempt": 1}), 20);
    let ThreadStatus::Running { since, run_id, .. } = log.projections.status.status() else {
        panic!("{}", log.word())
    };
    assert_eq!((*since, run_id.as_deref()), (Some(at(20)), Some("b")));
    log.live(
        "tasks",
        json!({"id": "1", "name": "chat", "triggers": []}),
        21,
    );
    let ThreadStatus::Running { nodes, .. } = log.projections.status.status() else {
        panic!()
    };
    assert_eq!(nodes, &["chat"]);
    // Loaded just before the run started, so it doesn't contain the run.
    log.thread("idle", json!([]), json!([run("a", "success", 0, 1)]));
    assert_eq!(log.word(), "running");
    // Loaded while it was running: the stream still has more details.
    log.thread(
        "busy",
        json!([]),
        json!([run("b", "running", 19, 19), run("a", "success", 0, 1)]),
    );
    let ThreadStatus::Running { nodes, .. } = log.projections.status.status() else {
        panic!()
    };
    assert_eq!(nodes, &["chat"]);
    log.live("metadata", json!({"run_id": "b", "status": "run_done"}), 30);
    assert_eq!(
        log.word(),
        "status unknown",
        "only the server knows the outcome"
    );
    log.thread(
        "idle",
        json!([]),
        json!([run("b", "success", 19, 30), run("a", "success", 0, 1)]),
    );
    assert_eq!(log.word(), "idle");
    let finished = RunOutcome::Finished;
    assert_eq!(
        log.outcomes(),
        [
            ("run 1".to_string(), finished),
            ("run 2".to_string(), finished)
        ]
    );
}

#[test]
fn a_stream_joined_in_the_middle_belongs_to_the_running_run_and_not_to_the_queued_one() {
    let mut log = Log::default();
    let runs = json!([run("b", "pending", 20, 20), run("a", "running", 10, 10)]);
    log.thread("busy", json!([]), runs.clone());
    let running = |log: &Log| {
        let status = &log.projections.status;
        let ThreadStatus::Running { run_id, .. } = status.status() else {
            panic!("{}", log.word())
        };
        (
            run_id.clone(),
            status.run_of(status.status()).map(RunEntry::name),
        )
    };
    let expected = (Some("a".to_string()), Some("run 1".to_string()));
    assert_eq!(running(&log), expected);
    // No event before its end contains its id.
    log.live("updates", json!({"fetch": {}}), 30);
    log.live("values", json!({"pages": 17}), 31);
    assert_eq!(running(&log), expected);
    log.thread("busy", json!([]), runs);
    assert_eq!(running(&log), expected);
    let outcomes = [
        ("run 1".to_string(), RunOutcome::Running),
        ("run 2".to_string(), RunOutcome::Queued),
    ];
    assert_eq!(log.outcomes(), outcomes);
}

#[test]
fn errors_and_questions_change_the_status_immediately() {
    let mut log = Log::default();
    log.thread("idle", json!([]), json!([]));
    log.live("metadata", json!({"run_id": "b"}), 20);
    log.live(
        "error",
        json!({"error": "ValueError", "message": "boom"}),
        21,
    );
    log.live("metadata", json!({"run_id": "b", "status": "run_done"}), 21);
    let ThreadStatus::Failed {
        error, at: failed, ..
    } = log.projections.status.status()
    else {
        panic!("{}", log.word())
    };
    assert_eq!(
        (error.as_str(), *failed),
        ("ValueError: boom", Some(at(21)))
    );
    log.live("metadata", json!({"run_id": "c"}), 30);
    assert_eq!(
        log.word(),
        "running",
        "the error belongs to the previous run"
    );
    let interrupts =
        json!([{"id": "q", "value": "Send it?", "response_schema": {"type": "boolean"}}]);
    log.live("updates", json!({"__interrupt__": interrupts}), 31);
    log.live("values", json!({"a": 1, "__interrupt__": interrupts}), 31);
    log.live(
        "tasks",
        json!({"id": "1", "name": "ask", "result": {}, "interrupts": interrupts}),
        31,
    );
    log.live("metadata", json!({"run_id": "c", "status": "run_done"}), 32);
    let [question] = log.projections.status.status().questions() else {
        panic!("{}", log.word())
    };
    assert_eq!(
        (question.id.as_deref(), question.node.as_deref()),
        (Some("q"), Some("ask"))
    );
    assert!(question.response_schema.is_some());
    log.live("metadata", json!({"run_id": "d"}), 40);
    log.live("updates", json!({"__interrupt__": []}), 41);
    log.live("metadata", json!({"run_id": "d", "status": "run_done"}), 42);
    assert_eq!(log.word(), "paused");
}

#[test]
fn without_records_the_status_comes_from_the_stream() {
    let not_offered = [
        (SnapshotPart::Thread, Value::Null),
        (SnapshotPart::State, Value::Null),
        (SnapshotPart::Runs, Value::Null),
    ];
    let mut log = Log::default();
    log.projections.status.await_snapshot();
    log.snapshot(&not_offered);
    assert_eq!(log.word(), "status unknown");
    log.live("metadata", json!({"run_id": "b"}), 20);
    assert_eq!(log.word(), "running");
    log.live("updates", json!({"chat": {}}), 21);
    let end = |outcome| {
        Item::Record(Record::End(End {
            outcome,
            at: at(22),
            ..End::default()
        }))
    };
    log.projections.apply(&end(Outcome::Success));
    assert_eq!(
        (log.word(), log.outcomes()[0].1),
        ("idle", RunOutcome::Finished)
    );
    // A part that failed to load is named.
    let mut log = Log::default();
    log.snapshot(&[
        (SnapshotPart::Thread, json!("403 Forbidden")),
        (SnapshotPart::State, Value::Null),
    ]);
    let ThreadStatus::Unknown { why } = log.projections.status.status() else {
        panic!()
    };
    assert_eq!(why, "couldn't load the thread (403 Forbidden)");
}

#[test]
fn messages_of_the_state_and_the_stream_are_merged() {
    let mut log = Log::default();
    let message =
        |id: &str, kind: &str, text: &str| json!({"id": id, "type": kind, "content": text});
    let messages = json!([
        message("1", "human", "Hi"),
        message("2", "ai", "Hello there"),
        message("3", "human", "Bye")
    ]);
    log.thread(
        "idle",
        messages.clone(),
        json!([run("r", "success", 10, 12)]),
    );
    log.snapshot(&[(SnapshotPart::History, json!([
        {"values": {"messages": messages}, "created_at": time(12), "metadata": {"run_id": "r"}, "parent_checkpoint": {}},
        {"values": {"messages": [messages[0]]}, "created_at": time(10), "metadata": {"run_id": "r"}, "parent_checkpoint": null},
    ]))]);
    log.thread("idle", messages, json!([run("r", "success", 10, 12)]));
    let items = |log: &Log| -> Vec<(String, Option<Timestamp>, bool)> {
        let all = log
            .projections
            .messages
            .items()
            .iter()
            .filter(|message| message.removed_at.is_none());
        all.map(|m| (m.text.clone(), m.started_at, m.is_loaded))
            .collect()
    };
    let expected = [
        ("Hi".to_string(), Some(at(10)), true),
        ("Hello there".into(), Some(at(12)), true),
        ("Bye".into(), Some(at(12)), true),
    ];
    assert_eq!(items(&log), expected);
    // The stream replays the same messages: none is duplicated, and now their token times are known.
    log.live("metadata", json!({"run_id": "r"}), 100);
    log.live(
        "values",
        json!({"messages": [message("1", "human", "Hi")]}),
        101,
    );
    for piece in ["Hello ", "there"] {
        log.live(
            "messages",
            json!([{"id": "2", "type": "AIMessageChunk", "content": piece}, {"langgraph_node": "chat"}]),
            103,
        );
    }
    assert_eq!(log.projections.messages.items().len(), 3);
    let answer = &log.projections.messages.items()[1];
    assert_eq!(
        (answer.text.as_str(), answer.chunks, answer.node.as_deref()),
        ("Hello there", 2, Some("chat"))
    );
    assert_eq!(
        answer.first_token().unwrap().after.as_secs(),
        2,
        "measured from the end of the previous step"
    );
    // Messages that were removed from the state are gone.
    log.thread(
        "idle",
        json!([message("2", "ai", "Hello there")]),
        json!([]),
    );
    assert_eq!(
        items(&log)
            .iter()
            .map(|item| item.0.as_str())
            .collect::<Vec<_>>(),
        ["Hello there"]
    );
}

#[test]
fn the_servers_state_is_added_if_it_changed() {
    let mut log = Log::default();
    log.thread("idle", json!([]), json!([]));
    log.thread("idle", json!([]), json!([]));
    let rows: Vec<_> = log
        .projections
        .values
        .rows()
        .iter()
        .map(|row| (row.seq.0, row.source, row.at))
        .collect();
    assert_eq!(
        rows,
        [(1, StateSource::Server, Some(at(9)))],
        "an unchanged state is not added"
    );
    log.live("values", json!({"messages": [], "a": 1}), 20);
    log.thread("idle", json!([]), json!([]));
    assert_eq!(
        log.projections.values.rows().last().map(|row| row.source),
        Some(StateSource::Server)
    );
}

#[test]
fn replayed_states_are_placed_before_the_loaded_state() {
    let mut log = Log::default();
    let loaded = || json!([{"id": "1", "type": "human", "content": "Hi"}]);
    log.thread("idle", loaded(), json!([]));
    log.event("values", &json!({"messages": []}), 1, true);
    log.event("values", &json!({"messages": [], "a": 1}), 2, true);
    log.thread("idle", loaded(), json!([]));
    let rows: Vec<_> = log
        .projections
        .values
        .rows()
        .iter()
        .map(|row| (row.source, row.before))
        .collect();
    let (values, server) = (StateSource::Values, StateSource::Server);
    assert_eq!(rows, [(values, None), (values, Some(0)), (server, Some(1))]);
}

#[test]
fn a_replay_without_server_times_has_no_times() {
    let mut log = Log::default();
    log.event("metadata", &json!({"run_id": "r"}), 100, true);
    log.event(
        "tasks",
        &json!({"id": "1", "name": "chat", "triggers": []}),
        100,
        true,
    );
    log.event(
        "messages",
        &json!([{"id": "m", "type": "ai", "content": "Hi", "tool_call_chunks": []}, {}]),
        100,
        true,
    );
    log.event(
        "tasks",
        &json!({"id": "1", "name": "chat", "result": {}}),
        101,
        true,
    );
    log.projections.apply(&Item::Record(Record::End(End {
        outcome: Outcome::Success,
        at: at(101),
        ..End::default()
    })));
    let projections = &log.projections;
    assert!(
        projections.messages.items()[0].token_times.is_none()
            && projections.messages.items()[0].started_at.is_none()
    );
    assert_eq!(projections.metrics.runs()[0].took(at(200)), None);
    assert_eq!(
        (
            projections.timeline.bars()[0].took(),
            projections.timeline.attempt(0).unwrap().took()
        ),
        (None, None)
    );
    assert_eq!(
        (
            projections.delivery.last_event_at,
            projections.delivery.rates.mean(at(101)).0,
            projections.delivery.received
        ),
        (None, 0.0, 4)
    );
    assert!(
        projections
            .lifecycle
            .rows()
            .iter()
            .take(2)
            .all(|row| row.at.is_none())
    );
    // The record has the times.
    log.thread("idle", json!([]), json!([run("r", "success", 10, 635)]));
    let attempt = log.projections.timeline.attempt(0).unwrap();
    assert_eq!(attempt.took().map(|took| took.as_secs()), Some(625));
    assert_eq!(
        log.projections.metrics.runs()[0]
            .took(at(9999))
            .map(|took| took.as_secs()),
        Some(625)
    );
}

#[test]
fn running_nodes_are_those_of_the_newest_step() {
    let mut log = Log::default();
    log.live("metadata", json!({"run_id": "r"}), 0);
    let mut chunk = |node: &str, step: i64, path: &str| {
        let origin = json!({"langgraph_node": node, "langgraph_step": step, "langgraph_checkpoint_ns": path});
        log.live(
            "messages",
            json!([{"id": "m", "type": "AIMessageChunk", "content": "x"}, origin]),
            step,
        );
        let ThreadStatus::Running { nodes, step, .. } = log.projections.status.status() else {
            panic!("{}", log.word())
        };
        (nodes.join(" "), *step)
    };
    assert_eq!(chunk("chat", 1, "chat:a"), ("chat".into(), Some(1)));
    // Messages alone don't show when a node ends.
    assert_eq!(chunk("tools", 2, "tools:b"), ("tools".into(), Some(2)));
    assert_eq!(
        chunk("papers", 2, "papers:c"),
        ("tools papers".into(), Some(2))
    );
    assert_eq!(chunk("critic", 3, "critic:d"), ("critic".into(), Some(3)));
    // A subgraph counts its own steps, and its nodes are not nodes of the root graph.
    assert_eq!(
        chunk("read", 1, "critic:d|read:e"),
        ("critic".into(), Some(3))
    );
    // Tasks show it, and may report a step before its first message.
    log.live(
        "tasks",
        json!({"id": "1", "name": "write", "triggers": []}),
        4,
    );
    log.live(
        "tasks",
        json!({"id": "2", "name": "check", "triggers": []}),
        4,
    );
    log.live(
        "debug",
        json!({"type": "checkpoint", "step": 4, "payload": {}}),
        4,
    );
    let ThreadStatus::Running { nodes, .. } = log.projections.status.status() else {
        panic!("{}", log.word())
    };
    assert_eq!(nodes, &["critic", "write", "check"]);
}

#[test]
fn a_failure_reported_by_two_modes_names_its_node_once() {
    let mut log = Log::default();
    log.live("metadata", json!({"run_id": "r"}), 0);
    let failed = json!({"id": "1", "name": "boom", "error": {"error": "ValueError", "message": "no"}, "interrupts": []});
    log.live("tasks", failed.clone(), 1);
    log.live(
        "debug",
        json!({"type": "task_result", "step": 1, "payload": failed}),
        1,
    );
    log.live("error", json!({"error": "ValueError", "message": "no"}), 2);
    log.live("metadata", json!({"run_id": "r", "status": "run_done"}), 2);
    let ThreadStatus::Failed { nodes, .. } = log.projections.status.status() else {
        panic!("{}", log.word())
    };
    assert_eq!(nodes, &["boom"]);
}

#[test]
fn a_run_without_a_reported_end_ends_with_its_last_event() {
    for (outcome, ended) in [
        (Outcome::Success, Some(at(7))),
        (Outcome::Cancelled, Some(at(60))),
        (Outcome::Unknown, None),
    ] {
        let mut log = Log::default();
        // The newer protocol names no run.
        log.live("lifecycle", json!({"event": "running"}), 3);
        log.live("values", json!({"a": 1}), 7);
        log.projections.apply(&Item::Record(Record::End(End {
            outcome,
            at: at(60),
            ..End::default()
        })));
        let run = log.projections.status.unnamed_run(Seq(2)).unwrap();
        assert_eq!((run.began, run.ended), (Some(at(3)), ended), "{outcome:?}");
    }
}

#[test]
fn outcomes_are_awaited_until_a_newer_snapshot_is_loaded() {
    let awaits = |log: &Log| {
        log.projections
            .status
            .awaits_outcome(log.projections.status.runs().last().unwrap())
    };
    let mut log = Log::default();
    log.live("metadata", json!({"run_id": "r"}), 0);
    log.live("metadata", json!({"run_id": "r", "status": "run_done"}), 1);
    assert!(!awaits(&log), "no snapshots are loaded for this stream");
    log.projections.status.await_snapshot();
    assert!(awaits(&log));
    log.thread("idle", json!([]), json!([run("r", "novel", 0, 1)]));
    assert!(!awaits(&log), "the server doesn't report a known outcome");
    log.live("metadata", json!({"run_id": "s"}), 2);
    log.live("metadata", json!({"run_id": "s", "status": "run_done"}), 3);
    assert!(awaits(&log));
}

#[test]
fn a_run_missing_from_newer_records_was_deleted() {
    let mut log = Log::default();
    log.projections.status.await_snapshot();
    log.live("metadata", json!({"run_id": "r"}), 0);
    log.thread("busy", json!([]), json!([run("r", "running", 0, 0)]));
    log.live("metadata", json!({"run_id": "r", "status": "run_done"}), 1);
    assert_eq!(
        log.outcomes(),
        [("run 1".to_string(), RunOutcome::Unknown)],
        "the records are older than its end"
    );
    log.thread("idle", json!([]), json!([]));
    assert_eq!(
        log.outcomes(),
        [("run r".to_string(), RunOutcome::Deleted)],
        "a run that is not listed has no number"
    );
    assert_eq!(log.word(), "idle");
    // A full page may be incomplete, so a run missing from it may still exist.
    let page: Vec<Value> = (0..LISTED)
        .map(|i| run(&format!("r{i}"), "success", 2, 3))
        .collect();
    log.thread("idle", json!([]), json!(page));
    assert_eq!(
        log.projections.status.run("r").map(|run| run.outcome),
        Some(RunOutcome::Unknown)
    );
}

#[test]
fn queue_time_does_not_count_as_run_time() {
    let input = |id: &str, second: i64| json!({"created_at": time(second), "metadata": {"source": "input", "step": -1, "run_id": id}, "tasks": []});
    let began = |log: &Log| -> Vec<Option<i64>> {
        let second = |run: &RunEntry| run.began.map(|began| began.as_second() - at(0).as_second());
        log.projections.status.runs().iter().map(second).collect()
    };
    let load = |log: &mut Log, history: Value, runs: Value| {
        let thread = json!({"status": "idle"});
        log.snapshot(&[
            (SnapshotPart::Thread, thread),
            (SnapshotPart::History, history),
            (SnapshotPart::Runs, runs),
        ]);
    };
    let runs = json!([
        run("c", "success", 2, 20),
        run("b", "success", 1, 12),
        run("a", "success", 0, 10)
    ]);
    // The input checkpoint of a run is written when it starts.
    let mut log = Log::default();
    load(
        &mut log,
        json!([input("c", 13), input("b", 11)]),
        runs.clone(),
    );
    assert_eq!(began(&log), [Some(0), Some(11), Some(13)]);
    let ThreadStatus::Idle { began: newest, .. } = log.projections.status.status() else {
        panic!("{}", log.word())
    };
    assert_eq!(
        *newest,
        Some(at(13)),
        "the status and the list of runs agree"
    );
    assert_eq!(
        log.projections.status.runs()[2].queued().unwrap().as_secs(),
        11
    );
    // Without a checkpoint, a run started at the earliest when the previous run ended.
    let mut log = Log::default();
    load(&mut log, json!([]), runs.clone());
    assert_eq!(began(&log), [Some(0), Some(10), Some(12)]);
    // The server's time of its first event is its start.
    log.seq = log.seq.next();
    let id = Some(format!("{}-0", at(11).as_millisecond()).into());
    let data = Data::Json(r#"{"run_id":"b","attempt":1}"#.into());
    let (name, ns) = ("metadata".into(), [].into());
    let event = Event {
        seq: log.seq,
        at: at(60),
        conn: 1,
        replayed: true,
        name,
        ns,
        id,
        data,
    };
    log.projections.apply(&Item::Record(Record::Event(event)));
    assert_eq!(began(&log)[1], Some(11));
    // A queued run has not started, and a run that was cancelled in the queue never did.
    let mut log = Log::default();
    let runs = json!([
        run("d", "pending", 4, 4),
        run("c", "interrupted", 3, 5),
        run("b", "running", 2, 11),
        run("a", "success", 0, 10)
    ]);
    load(&mut log, json!([]), runs);
    assert_eq!(began(&log), [Some(0), Some(10), None, None]);
    let ThreadStatus::Running { since, .. } = log.projections.status.status() else {
        panic!("{}", log.word())
    };
    assert_eq!(*since, Some(at(10)));
}

#[test]
fn messages_of_another_graph_are_kept_and_get_the_times_of_their_steps() {
    let saved = |run: &str, step: i64, source: &str, second: i64| json!({"created_at": time(second), "metadata": {"source": source, "step": step, "run_id": run}, "tasks": []});
    let human = json!({"id": "h", "type": "human", "content": "Hello"});
    let mut log = Log::default();
    log.thread(
        "idle",
        json!([{"id": "old", "type": "human", "content": "before"}]),
        json!([]),
    );
    log.event("metadata", &json!({"run_id": "a", "attempt": 1}), 60, true);
    log.event("values", &json!({"messages": [human]}), 60, true);
    let origin =
        json!({"langgraph_node": "chat", "langgraph_step": 1, "langgraph_checkpoint_ns": "chat:x"});
    log.event(
        "messages",
        &json!([{"id": "m", "type": "ai", "content": "Hi"}, origin]),
        60,
        true,
    );
    log.event(
        "metadata",
        &json!({"run_id": "a", "status": "run_done"}),
        60,
        true,
    );
    let times = |log: &Log| -> Vec<Option<Timestamp>> {
        log.projections
            .messages
            .items()
            .iter()
            .map(|message| message.ended_at)
            .collect()
    };
    assert_eq!(times(&log), [None; 3]);
    // Another graph ran after it: the state and the history show that graph's values.
    let state = json!({"values": {"log": ["first"]}, "next": [], "tasks": [], "created_at": time(9),
                       "metadata": {"source": "loop"}, "checkpoint": {"checkpoint_id": "c"}});
    let history = json!([
        saved("b", 3, "loop", 9),
        saved("b", 2, "input", 8),
        saved("a", 1, "loop", 5),
        saved("a", 0, "loop", 4),
        saved("a", -1, "input", 3)
    ]);
    let runs = json!([run("b", "success", 8, 9), run("a", "success", 2, 6)]);
    log.snapshot(&[
        (SnapshotPart::State, state),
        (SnapshotPart::History, history),
        (SnapshotPart::Runs, runs),
    ]);
    assert_eq!(times(&log), [None, Some(at(3)), Some(at(5))]);
    assert!(
        log.projections
            .messages
            .items()
            .iter()
            .all(|message| message.removed_at.is_none())
    );
}

#[test]
fn a_paused_run_stays_paused_after_its_thread_was_ended_by_an_edit() {
    let checkpoint = |id: &str, source: &str, next: &[&str]| {
        let tasks: Vec<Value> = next.iter().map(|node| json!({"name": node})).collect();
        json!({"values": {}, "next": next, "tasks": tasks, "created_at": time(9),
               "metadata": {"source": source, "run_id": "r"}, "checkpoint": {"checkpoint_id": id}})
    };
    for status in ["idle", "interrupted"] {
        let mut log = Log::default();
        // The edit's metadata has the id of the run before it, as JavaScript writes it.
        let history = json!([
            checkpoint("2", "update", &[]),
            checkpoint("1", "loop", &["act"])
        ]);
        log.snapshot(&[
            (SnapshotPart::Thread, json!({"status": status})),
            (SnapshotPart::State, history[0].clone()),
            (SnapshotPart::History, history),
            (SnapshotPart::Runs, json!([run("r", "success", 1, 2)])),
        ]);
        assert_eq!(
            log.outcomes(),
            [("run 1".to_string(), RunOutcome::Paused)],
            "{status}"
        );
        let says_finished = matches!(
            log.projections.status.status(),
            ThreadStatus::Idle { ended: Some(_), .. }
        );
        assert!(!says_finished, "{:?}", log.projections.status.status());
    }
}
