use super::runs::LISTED;
use super::*;
use crate::projection::StateSource;
use crate::tests::{Script, event};
use crate::{End, Event, Seq};
use serde_json::{Value, json};

fn at(second: i64) -> Timestamp {
    crate::tests::at(second * 1000)
}

fn time(second: i64) -> String {
    at(second).to_string()
}

fn run(id: &str, status: &str, began: i64, ended: i64) -> Value {
    json!({"run_id": id, "status": status, "created_at": time(began), "updated_at": time(ended), "assistant_id": "a"})
}

fn end(outcome: Outcome, second: i64) -> Item {
    Item::Record(Record::End(End {
        outcome,
        at: at(second),
        ..End::default()
    }))
}

impl Script {
    /// Applies a snapshot of a thread with this status, these messages, and these runs, newest first.
    fn thread(&mut self, status: &str, messages: Value, runs: Value) {
        let state = json!({"values": {"messages": messages}, "next": [], "tasks": [], "created_at": time(9),
                           "metadata": {"source": "loop"}, "checkpoint": {"checkpoint_id": "c"}});
        self.snapshot([
            (SnapshotPart::Thread, json!({"status": status})),
            (SnapshotPart::State, state),
            (SnapshotPart::Runs, runs),
        ]);
    }

    fn status(&self) -> &Status {
        &self.projections.status
    }

    fn word(&self) -> &'static str {
        self.status().status().word()
    }

    /// Returns the nodes, the step, the start and the run of a running thread.
    fn running(&self) -> (String, Option<i64>, Option<Timestamp>, Option<String>) {
        match self.status().status() {
            ThreadStatus::Running {
                nodes,
                step,
                since,
                run_id,
                ..
            } => (nodes.join(" "), *step, *since, run_id.clone()),
            other => panic!("{}", other.word()),
        }
    }

    fn outcomes(&self) -> Vec<(String, RunOutcome)> {
        let runs = self.status().runs().iter();
        runs.map(|run| (run.name(), run.outcome)).collect()
    }

    /// Returns the source of each state, and the state before it.
    fn states(&self) -> Vec<(StateSource, Option<u64>)> {
        let rows = self.projections.values.rows().iter();
        rows.map(|row| (row.source, row.before)).collect()
    }
}

#[test]
fn a_failed_thread_is_failed_although_its_replay_has_no_error() {
    let mut log = Script::default();
    log.projections.status.await_snapshot();
    assert_eq!(log.word(), "loading…");
    // Errors are never replayed, and the end of a run is the same for every outcome.
    log.play(r#"~60s metadata {"run_id": "r", "attempt": 1}"#);
    assert_eq!(
        log.word(),
        "loading…",
        "a replay doesn't show the current status"
    );
    log.play(r#"~60s updates {"first": {}}"#);
    let error = json!({"error": "ValueError", "message": "boom"});
    log.snapshot([
        (
            SnapshotPart::Thread,
            json!({"status": "error", "error": error}),
        ),
        (SnapshotPart::Runs, json!([run("r", "error", 10, 12)])),
    ]);
    log.play(r#"~60s metadata {"run_id": "r", "status": "run_done"}"#);
    assert_eq!(log.word(), "failed");
    let [run] = log.status().runs() else { panic!() };
    assert_eq!(
        (run.outcome, run.error.as_deref()),
        (RunOutcome::Failed, Some("ValueError: boom"))
    );
    assert_eq!((run.began, run.ended), (Some(at(10)), Some(at(12))));
    assert_eq!((run.first_seq, run.end_seq), (Some(Seq(1)), Some(Seq(4))));
}

#[test]
fn the_stream_updates_the_snapshot_until_the_next_one() {
    let mut log = Script::default();
    let before = || json!([run("a", "success", 0, 1)]);
    log.thread("idle", json!([]), before());
    assert_eq!(log.word(), "idle");
    log.play(r#"20s metadata {"run_id": "b", "attempt": 1}"#);
    assert_eq!(
        log.running(),
        (String::new(), None, Some(at(20)), Some("b".into()))
    );
    log.play(r#"21s tasks {"id": "1", "name": "chat", "triggers": []}"#);
    assert_eq!(log.running().0, "chat");
    // Loaded just before the run started, so it doesn't contain the run.
    log.thread("idle", json!([]), before());
    assert_eq!(log.word(), "running");
    // Loaded while it was running: the stream still has more details.
    let now = json!([run("b", "running", 19, 19), run("a", "success", 0, 1)]);
    log.thread("busy", json!([]), now);
    assert_eq!(log.running().0, "chat");
    log.play(r#"30s metadata {"run_id": "b", "status": "run_done"}"#);
    assert_eq!(
        log.word(),
        "status unknown",
        "only the server knows the outcome"
    );
    let after = json!([run("b", "success", 19, 30), run("a", "success", 0, 1)]);
    log.thread("idle", json!([]), after);
    assert_eq!(log.word(), "idle");
    let finished = ["run 1", "run 2"].map(|name| (name.to_string(), RunOutcome::Finished));
    assert_eq!(log.outcomes(), finished);
}

#[test]
fn a_stream_joined_in_the_middle_belongs_to_the_running_run_and_not_to_the_queued_one() {
    let mut log = Script::default();
    let runs = json!([run("b", "pending", 20, 20), run("a", "running", 10, 10)]);
    log.thread("busy", json!([]), runs.clone());
    let is_of_a = |log: &Script| {
        let status = log.status();
        assert_eq!(log.running().3.as_deref(), Some("a"));
        assert_eq!(status.run_of(status.status()).unwrap().name(), "run 1");
    };
    is_of_a(&log);
    // No event before its end contains its id.
    log.play("30s updates {\"fetch\": {}}\n31s values {\"pages\": 17}");
    is_of_a(&log);
    log.thread("busy", json!([]), runs);
    is_of_a(&log);
    let outcomes = log.outcomes().into_iter().map(|(_, outcome)| outcome);
    assert!(outcomes.eq([RunOutcome::Running, RunOutcome::Queued]));
}

#[test]
fn errors_and_questions_change_the_status_immediately() {
    let mut log = Script::default();
    log.thread("idle", json!([]), json!([]));
    log.play(
        r#"20s metadata {"run_id": "b"}
           21s error {"error": "ValueError", "message": "boom"}
           21s metadata {"run_id": "b", "status": "run_done"}"#,
    );
    let ThreadStatus::Failed {
        error, at: failed, ..
    } = log.status().status()
    else {
        panic!("{}", log.word())
    };
    assert_eq!(
        (error.as_str(), *failed),
        ("ValueError: boom", Some(at(21)))
    );
    log.play(r#"30s metadata {"run_id": "c"}"#);
    assert_eq!(
        log.word(),
        "running",
        "the error belongs to the previous run"
    );
    let asked = r#"[{"id": "q", "value": "Send it?", "response_schema": {"type": "boolean"}}]"#;
    log.play(&format!(
        r#"31s updates {{"__interrupt__": {asked}}}
           31s values {{"a": 1, "__interrupt__": {asked}}}
           31s tasks {{"id": "1", "name": "ask", "result": {{}}, "interrupts": {asked}}}
           32s metadata {{"run_id": "c", "status": "run_done"}}"#
    ));
    let [question] = log.status().status().questions() else {
        panic!("{}", log.word())
    };
    assert_eq!(
        (question.id.as_deref(), question.node.as_deref()),
        (Some("q"), Some("ask"))
    );
    assert!(question.response_schema.is_some());
    log.play(
        r#"40s metadata {"run_id": "d"}
           41s updates {"__interrupt__": []}
           42s metadata {"run_id": "d", "status": "run_done"}"#,
    );
    assert_eq!(log.word(), "paused");
}

#[test]
fn without_records_the_status_comes_from_the_stream() {
    let mut log = Script::default();
    log.projections.status.await_snapshot();
    let all = [
        SnapshotPart::Thread,
        SnapshotPart::State,
        SnapshotPart::Runs,
    ];
    log.snapshot(all.map(|part| (part, Value::Null)));
    assert_eq!(log.word(), "status unknown");
    log.play(r#"20s metadata {"run_id": "b"}"#);
    assert_eq!(log.word(), "running");
    log.play(r#"21s updates {"chat": {}}"#)
        .item(end(Outcome::Success, 22));
    assert_eq!(
        (log.word(), log.outcomes()[0].1),
        ("idle", RunOutcome::Finished)
    );
    // A part that failed to load is named.
    let mut log = Script::default();
    log.snapshot([
        (SnapshotPart::Thread, json!("403 Forbidden")),
        (SnapshotPart::State, Value::Null),
    ]);
    let why = "couldn't load the thread (403 Forbidden)".to_string();
    assert_eq!(*log.status().status(), ThreadStatus::Unknown { why });
}

#[test]
fn messages_of_the_state_and_the_stream_are_merged() {
    let mut log = Script::default();
    let message =
        |id: &str, kind: &str, text: &str| json!({"id": id, "type": kind, "content": text});
    let messages = json!([
        message("1", "human", "Hi"),
        message("2", "ai", "Hello there"),
        message("3", "human", "Bye")
    ]);
    let runs = || json!([run("r", "success", 10, 12)]);
    log.thread("idle", messages.clone(), runs());
    log.snapshot([(SnapshotPart::History, json!([
        {"values": {"messages": messages}, "created_at": time(12), "metadata": {"run_id": "r"}, "parent_checkpoint": {}},
        {"values": {"messages": [messages[0]]}, "created_at": time(10), "metadata": {"run_id": "r"}, "parent_checkpoint": null},
    ]))]);
    log.thread("idle", messages, runs());
    let items = |log: &Script| -> Vec<(String, Option<Timestamp>, bool)> {
        let all = log.projections.messages.items().iter();
        all.filter(|message| message.removed_at.is_none())
            .map(|m| (m.text.clone(), m.started_at, m.is_loaded))
            .collect()
    };
    let loaded = |text: &str, second| (text.to_string(), Some(at(second)), true);
    assert_eq!(
        items(&log),
        [
            loaded("Hi", 10),
            loaded("Hello there", 12),
            loaded("Bye", 12)
        ]
    );
    // The stream replays the same messages: none is duplicated, and now their token times are known.
    log.play(
        r#"100s metadata {"run_id": "r"}
           101s values {"messages": [{"id": "1", "type": "human", "content": "Hi"}]}
           103s messages [{"id": "2", "type": "AIMessageChunk", "content": "Hello "}, {"langgraph_node": "chat"}]
           103s messages [{"id": "2", "type": "AIMessageChunk", "content": "there"}, {"langgraph_node": "chat"}]"#,
    );
    assert_eq!(log.projections.messages.items().len(), 3);
    let answer = &log.projections.messages.items()[1];
    let shown = (answer.text.as_str(), answer.chunks, answer.node.as_deref());
    assert_eq!(shown, ("Hello there", 2, Some("chat")));
    let after = answer.first_token().unwrap().after.as_secs();
    assert_eq!(after, 2, "measured from the end of the previous step");
    // Messages that were removed from the state are gone.
    log.thread(
        "idle",
        json!([message("2", "ai", "Hello there")]),
        json!([]),
    );
    let left: Vec<String> = items(&log).into_iter().map(|item| item.0).collect();
    assert_eq!(left, ["Hello there"]);
}

#[test]
fn states_of_the_server_and_the_stream_are_in_order() {
    let (values, server) = (StateSource::Values, StateSource::Server);
    let mut log = Script::default();
    log.thread("idle", json!([]), json!([]));
    log.thread("idle", json!([]), json!([]));
    assert_eq!(
        log.states(),
        [(server, None)],
        "an unchanged state is not added"
    );
    let row = &log.projections.values.rows()[0];
    assert_eq!((row.seq, row.at), (Seq(1), Some(at(9))));
    log.play(r#"20s values {"messages": [], "a": 1}"#);
    log.thread("idle", json!([]), json!([]));
    assert_eq!(log.states().last().map(|state| state.0), Some(server));
    // Replayed states are placed before the loaded one.
    let mut log = Script::default();
    let loaded = || json!([{"id": "1", "type": "human", "content": "Hi"}]);
    log.thread("idle", loaded(), json!([]));
    log.play("~1s values {\"messages\": []}\n~2s values {\"messages\": [], \"a\": 1}");
    log.thread("idle", loaded(), json!([]));
    assert_eq!(
        log.states(),
        [(values, None), (values, Some(0)), (server, Some(1))]
    );
}

#[test]
fn a_replay_without_server_times_has_no_times() {
    let mut log = Script::of(
        r#"~100s metadata {"run_id": "r"}
           ~100s tasks {"id": "1", "name": "chat", "triggers": []}
           ~100s messages [{"id": "m", "type": "ai", "content": "Hi", "tool_call_chunks": []}, {}]
           ~101s tasks {"id": "1", "name": "chat", "result": {}}"#,
    );
    log.item(end(Outcome::Success, 101));
    let projections = &log.projections;
    let message = &projections.messages.items()[0];
    assert!(message.token_times.is_none() && message.started_at.is_none());
    assert_eq!(projections.metrics.runs()[0].took(at(200)), None);
    let timeline = &projections.timeline;
    assert_eq!(
        (
            timeline.bars()[0].took(),
            timeline.attempt(0).unwrap().took()
        ),
        (None, None)
    );
    let delivery = &projections.delivery;
    assert_eq!(
        (
            delivery.last_event_at,
            delivery.rates.mean(at(101)).0,
            delivery.received
        ),
        (None, 0.0, 4)
    );
    let mut rows = projections.lifecycle.rows().iter().take(2);
    assert!(rows.all(|row| row.at.is_none()));
    // The record has the times.
    log.thread("idle", json!([]), json!([run("r", "success", 10, 635)]));
    let attempt = log.projections.timeline.attempt(0).unwrap();
    assert_eq!(attempt.took().map(|took| took.as_secs()), Some(625));
    let took = log.projections.metrics.runs()[0].took(at(9999));
    assert_eq!(took.map(|took| took.as_secs()), Some(625));
}

#[test]
fn running_nodes_are_those_of_the_newest_step() {
    let mut log = Script::of(r#"0 metadata {"run_id": "r"}"#);
    for (node, step, path, nodes, shown) in [
        ("chat", 1, "chat:a", "chat", 1),
        // Messages alone don't show when a node ends.
        ("tools", 2, "tools:b", "tools", 2),
        ("papers", 2, "papers:c", "tools papers", 2),
        ("critic", 3, "critic:d", "critic", 3),
        // A subgraph counts its own steps, and its nodes are not nodes of the root graph.
        ("read", 1, "critic:d|read:e", "critic", 3),
    ] {
        let origin = json!({"langgraph_node": node, "langgraph_step": step, "langgraph_checkpoint_ns": path});
        let chunk = json!([{"id": "m", "type": "AIMessageChunk", "content": "x"}, origin]);
        log.event(step, "messages", &chunk.to_string());
        let (running, step, ..) = log.running();
        assert_eq!((running.as_str(), step), (nodes, Some(shown)), "{path}");
    }
    // Tasks show it, and may report a step before its first message.
    log.play(
        r#"4 tasks {"id": "1", "name": "write", "triggers": []}
           4 tasks {"id": "2", "name": "check", "triggers": []}
           4 debug {"type": "checkpoint", "step": 4, "payload": {}}"#,
    );
    assert_eq!(log.running().0, "critic write check");
}

#[test]
fn a_failure_reported_by_two_modes_names_its_node_once() {
    let failed = r#"{"id": "1", "name": "boom", "error": {"error": "ValueError", "message": "no"}, "interrupts": []}"#;
    let log = Script::of(&format!(
        r#"0 metadata {{"run_id": "r"}}
           1s tasks {failed}
           1s debug {{"type": "task_result", "step": 1, "payload": {failed}}}
           2s error {{"error": "ValueError", "message": "no"}}
           2s metadata {{"run_id": "r", "status": "run_done"}}"#
    ));
    let ThreadStatus::Failed { nodes, .. } = log.status().status() else {
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
        // The newer protocol names no run.
        let mut log = Script::of("3s lifecycle {\"event\": \"running\"}\n7s values {\"a\": 1}");
        log.item(end(outcome, 60));
        let run = log.status().unnamed_run(Seq(2)).unwrap();
        assert_eq!((run.began, run.ended), (Some(at(3)), ended), "{outcome:?}");
    }
}

#[test]
fn outcomes_are_awaited_until_a_newer_snapshot_is_loaded() {
    let awaits = |log: &Script| {
        log.status()
            .awaits_outcome(log.status().runs().last().unwrap())
    };
    let mut log = Script::of(
        r#"0 metadata {"run_id": "r"}
           1s metadata {"run_id": "r", "status": "run_done"}"#,
    );
    assert!(!awaits(&log), "no snapshots are loaded for this stream");
    log.projections.status.await_snapshot();
    assert!(awaits(&log));
    log.thread("idle", json!([]), json!([run("r", "novel", 0, 1)]));
    assert!(!awaits(&log), "the server doesn't report a known outcome");
    log.play(
        r#"2s metadata {"run_id": "s"}
           3s metadata {"run_id": "s", "status": "run_done"}"#,
    );
    assert!(awaits(&log));
}

#[test]
fn a_run_missing_from_newer_records_was_deleted() {
    let mut log = Script::default();
    log.projections.status.await_snapshot();
    log.play(r#"0 metadata {"run_id": "r"}"#);
    log.thread("busy", json!([]), json!([run("r", "running", 0, 0)]));
    log.play(r#"1s metadata {"run_id": "r", "status": "run_done"}"#);
    let is = |log: &Script, name: &str, outcome, why| {
        assert_eq!(log.outcomes(), [(name.to_string(), outcome)], "{why}");
    };
    is(
        &log,
        "run 1",
        RunOutcome::Unknown,
        "the records are older than its end",
    );
    log.thread("idle", json!([]), json!([]));
    is(
        &log,
        "run r",
        RunOutcome::Deleted,
        "a run that is not listed has no number",
    );
    assert_eq!(log.word(), "idle");
    // A full page may be incomplete, so a run missing from it may still exist.
    let page = (0..LISTED).map(|i| run(&format!("r{i}"), "success", 2, 3));
    log.thread("idle", json!([]), page.collect());
    assert_eq!(
        log.status().run("r").map(|run| run.outcome),
        Some(RunOutcome::Unknown)
    );
}

#[test]
fn queue_time_does_not_count_as_run_time() {
    let input = |id: &str, second: i64| json!({"created_at": time(second), "metadata": {"source": "input", "step": -1, "run_id": id}, "tasks": []});
    let began = |log: &Script| -> Vec<Option<i64>> {
        let second = |run: &RunEntry| run.began.map(|began| began.as_second() - at(0).as_second());
        log.status().runs().iter().map(second).collect()
    };
    let loaded = |history: Value, runs: &Value| {
        let mut log = Script::default();
        log.snapshot([
            (SnapshotPart::Thread, json!({"status": "idle"})),
            (SnapshotPart::History, history),
            (SnapshotPart::Runs, runs.clone()),
        ]);
        log
    };
    let runs = json!([
        run("c", "success", 2, 20),
        run("b", "success", 1, 12),
        run("a", "success", 0, 10)
    ]);
    // The input checkpoint of a run is written when it starts.
    let log = loaded(json!([input("c", 13), input("b", 11)]), &runs);
    assert_eq!(began(&log), [Some(0), Some(11), Some(13)]);
    let ThreadStatus::Idle { began: newest, .. } = log.status().status() else {
        panic!("{}", log.word())
    };
    assert_eq!(
        *newest,
        Some(at(13)),
        "the status and the list of runs agree"
    );
    assert_eq!(log.status().runs()[2].queued().unwrap().as_secs(), 11);
    // Without a checkpoint, a run started at the earliest when the previous run ended.
    let mut log = loaded(json!([]), &runs);
    assert_eq!(began(&log), [Some(0), Some(10), Some(12)]);
    // The server's time of its first event is its start.
    log.add(Event {
        at: at(60),
        replayed: true,
        id: Some(format!("{}-0", at(11).as_millisecond()).into()),
        ..event(2, "metadata", r#"{"run_id":"b","attempt":1}"#)
    });
    assert_eq!(began(&log)[1], Some(11));
    // A queued run has not started, and a run that was cancelled in the queue never did.
    let runs = json!([
        run("d", "pending", 4, 4),
        run("c", "interrupted", 3, 5),
        run("b", "running", 2, 11),
        run("a", "success", 0, 10)
    ]);
    let log = loaded(json!([]), &runs);
    assert_eq!(began(&log), [Some(0), Some(10), None, None]);
    assert_eq!(log.running().2, Some(at(10)));
}

#[test]
fn messages_of_another_graph_are_kept_and_get_the_times_of_their_steps() {
    let saved = |run: &str, step: i64, source: &str, second: i64| json!({"created_at": time(second), "metadata": {"source": source, "step": step, "run_id": run}, "tasks": []});
    let mut log = Script::default();
    let old = json!([{"id": "old", "type": "human", "content": "before"}]);
    log.thread("idle", old, json!([]));
    log.play(
        r#"~60s metadata {"run_id": "a", "attempt": 1}
           ~60s values {"messages": [{"id": "h", "type": "human", "content": "Hello"}]}
           ~60s messages [{"id": "m", "type": "ai", "content": "Hi"}, {"langgraph_node": "chat", "langgraph_step": 1, "langgraph_checkpoint_ns": "chat:x"}]
           ~60s metadata {"run_id": "a", "status": "run_done"}"#,
    );
    let times = |log: &Script| -> Vec<Option<Timestamp>> {
        let messages = log.projections.messages.items().iter();
        messages.map(|message| message.ended_at).collect()
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
    log.snapshot([
        (SnapshotPart::State, state),
        (SnapshotPart::History, history),
        (SnapshotPart::Runs, runs),
    ]);
    assert_eq!(times(&log), [None, Some(at(3)), Some(at(5))]);
    let mut messages = log.projections.messages.items().iter();
    assert!(messages.all(|message| message.removed_at.is_none()));
}

#[test]
fn a_paused_run_stays_paused_after_its_thread_was_ended_by_an_edit() {
    let checkpoint = |id: &str, source: &str, next: &[&str]| {
        let tasks: Vec<Value> = next.iter().map(|node| json!({"name": node})).collect();
        json!({"values": {}, "next": next, "tasks": tasks, "created_at": time(9),
               "metadata": {"source": source, "run_id": "r"}, "checkpoint": {"checkpoint_id": id}})
    };
    for status in ["idle", "interrupted"] {
        let mut log = Script::default();
        // The edit's metadata has the id of the run before it, as JavaScript writes it.
        let history = json!([
            checkpoint("2", "update", &[]),
            checkpoint("1", "loop", &["act"])
        ]);
        log.snapshot([
            (SnapshotPart::Thread, json!({"status": status})),
            (SnapshotPart::State, history[0].clone()),
            (SnapshotPart::History, history),
            (SnapshotPart::Runs, json!([run("r", "success", 1, 2)])),
        ]);
        assert_eq!(log.outcomes()[0].1, RunOutcome::Paused, "{status}");
        let status = log.status().status();
        let says_finished = matches!(status, ThreadStatus::Idle { ended: Some(_), .. });
        assert!(!says_finished, "{status:?}");
    }
}
