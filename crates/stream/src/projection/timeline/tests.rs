//! Tests of the timeline, with scripted events.

use super::*;
use crate::projection::Projections;
use crate::protocol::{PairMetadata, Payload};
use crate::{Data, End, Event, EventNames, Loaded, Seq, SnapshotPart, ThreadSnapshot};
use serde_json::{Value, json};

/// A timeline and the events applied to it.
#[derive(Default)]
struct Script {
    timeline: Timeline,
    seq: Seq,
}

impl Script {
    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    fn event(&mut self, ms: i64, name: &str, data: &str) -> Seq {
        self.seq = self.seq.next();
        let (name, ns) = EventNames::default().split(name);
        let data = Data::Json(data.into());
        let event = Event {
            seq: self.seq,
            at: Self::at(ms),
            conn: 1,
            replayed: false,
            name,
            ns,
            id: None,
            data,
        };
        self.timeline.apply_event(
            &Payload::of(&event).paired(&mut PairMetadata::default()),
            None,
        );
        self.seq
    }

    fn start(&mut self, ms: i64, id: &str, node: &str) -> Seq {
        let data = json!({"id": id, "name": node, "input": {}, "triggers": []});
        self.event(ms, "tasks", &data.to_string())
    }

    fn done(&mut self, ms: i64, id: &str, node: &str) -> Seq {
        let data = json!({"id": id, "name": node, "error": null, "result": {}, "interrupts": []});
        self.event(ms, "tasks", &data.to_string())
    }

    fn run(&mut self, ms: i64, id: &str, attempt: u64) -> Seq {
        self.event(
            ms,
            "metadata",
            &json!({"run_id": id, "attempt": attempt}).to_string(),
        )
    }

    fn bars(&self) -> Vec<(&str, i64, Option<i64>, BarState)> {
        let ms = |at: Timestamp| at.as_millisecond() - 1_800_000_000_000;
        let row = |bar: &'_ Bar| (ms(bar.started), bar.ended.map(ms), bar.state);
        self.timeline
            .bars()
            .iter()
            .map(|bar| (&*bar.name, row(bar).0, row(bar).1, row(bar).2))
            .collect()
    }
}

use BarState::{Abandoned, Done, Failed, Running};

#[test]
fn failed_attempts_keep_their_bars_and_count_as_lost_time() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    script.start(100, "a", "plan");
    script.done(200, "a", "plan");
    script.start(300, "b", "search");
    script.run(3400, "r", 2);
    script.run(3410, "r", 2);
    script.start(3500, "a", "plan");
    let attempts: Vec<_> = script
        .timeline
        .attempts()
        .map(|(_, a)| (a.number, a.state, a.lost.as_millis()))
        .collect();
    assert_eq!(attempts, [(1, Abandoned, 0), (2, Running, 3400)]);
    let expected = [
        ("plan", 100, Some(200), Done),
        ("search", 300, Some(3400), Abandoned),
        ("plan", 3500, None, Running),
    ];
    assert_eq!(script.bars(), expected);
    script.run(9000, "other", 1);
    let lost: Vec<_> = script
        .timeline
        .attempts()
        .map(|(_, a)| a.lost.as_millis())
        .collect();
    assert_eq!(lost, [0, 3400, 0]);
}

#[test]
fn runs_end_with_their_outcome() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    script.start(10, "a", "ask");
    let interrupted = json!({"id": "a", "name": "ask", "result": {}, "interrupts": [{"id": "i", "value": "Sure?"}]});
    script.event(20, "tasks", &interrupted.to_string());
    script.event(30, "metadata", r#"{"status":"run_done","run_id":"r"}"#);
    script.run(40, "s", 1);
    script.event(50, "updates", r#"{"fine":null}"#);
    script.event(60, "error", r#"{"error":"ValueError","message":"boom"}"#);
    script.event(70, "metadata", r#"{"status":"run_done","run_id":"s"}"#);
    script.run(80, "t", 1);
    script.start(90, "b", "slow");
    let end = End {
        at: Script::at(500),
        outcome: Outcome::Cancelled,
        ..End::default()
    };
    script.timeline.apply_item(&Item::Record(Record::End(end)));
    let attempts: Vec<_> = script
        .timeline
        .attempts()
        .map(|(_, a)| (a.state, a.detail.as_deref()))
        .collect();
    let expected = [
        (BarState::Interrupted, None),
        (Failed, Some("ValueError: boom")),
        (Abandoned, Some(Outcome::Cancelled.as_str())),
    ];
    assert_eq!(attempts, expected);
    assert_eq!(script.timeline.bars()[0].detail.as_deref(), Some("Sure?"));
    assert_eq!(script.bars()[2], ("slow", 90, Some(500), Abandoned));
}

#[test]
fn modes_are_merged_into_one_bar() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    let meta =
        json!({"langgraph_node": "chat", "langgraph_step": 4, "langgraph_checkpoint_ns": "chat:T"});
    let piece = |text: &str| {
        json!([{"id": "run-m", "type": "AIMessageChunk", "content": text}, meta]).to_string()
    };
    script.start(100, "T", "chat");
    script.event(110, "messages|chat:T", &piece("a"));
    let model =
        json!({"event": "on_chat_model_start", "run_id": "m", "name": "gpt", "metadata": meta});
    script.event(120, "events", &model.to_string());
    script.event(150, "messages|chat:T", &piece("b"));
    script.event(160, "updates", r#"{"chat":{}}"#);
    script.done(170, "T", "chat");
    assert_eq!(
        script.bars(),
        [
            ("chat", 100, Some(170), Done),
            ("model", 120, Some(150), Done)
        ]
    );
    let step = |key| script.timeline.step(script.timeline.bar(key).unwrap());
    assert_eq!((step(0), step(1)), (Some(4), None));
    // Joined in the middle of a task: the update and the result belong to the same task.
    let mut script = Script::default();
    script.event(10, "updates", r#"{"chat":{}}"#);
    script.done(20, "T", "chat");
    script.start(30, "U", "chat");
    assert_eq!(
        script.bars(),
        [("chat", 10, Some(20), Done), ("chat", 30, None, Running)]
    );
}

#[test]
fn debug_events_switch_to_the_server_clock() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    script.start(100, "a", "plan");
    let debug = |ms: i64, kind: &str, payload: serde_json::Value| {
        json!({"step": 7, "timestamp": Script::at(ms).to_string(), "type": kind, "payload": payload}).to_string()
    };
    script.event(
        110,
        "debug",
        &debug(
            60_100,
            "task",
            json!({"id": "a", "name": "plan", "triggers": []}),
        ),
    );
    script.done(400, "a", "plan");
    script.event(
        410,
        "debug",
        &debug(
            60_350,
            "task_result",
            json!({"id": "a", "name": "plan", "result": {}}),
        ),
    );
    assert_eq!(script.bars(), [("plan", 60_100, Some(60_350), Done)]);
    let attempt = script.timeline.attempt(0).unwrap();
    assert_eq!(
        (attempt.clock, attempt.started),
        (Clock::Server, Script::at(59_990))
    );
    assert_eq!(attempt.until(Script::at(1000)), Script::at(60_940));
}

#[test]
fn gaps_between_steps_are_measured() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    for (id, node, from) in [("a", "left", 250), ("b", "right", 260)] {
        script.start(from, id, node);
    }
    script.done(300, "a", "left");
    script.done(400, "b", "right");
    script.start(1600, "c", "join");
    let gaps: Vec<_> = script
        .timeline
        .bars()
        .iter()
        .map(|bar| (bar.gap().as_millis(), bar.leads))
        .collect();
    assert_eq!(gaps, [(250, true), (260, false), (1200, true)]);
}

#[test]
fn tools_are_children_of_the_node_that_ran_them() {
    let mut script = Script::default();
    let meta = |node: &str, task: &str| json!({"langgraph_node": node, "langgraph_checkpoint_ns": format!("{node}:{task}")});
    let calls = json!([{"id": "c1", "name": "search", "args": {}}, {"id": "c2", "name": "fetch", "args": {}}]);
    let request = json!([{"id": "run-1", "type": "ai", "tool_calls": calls}, meta("chat", "A")]);
    script.event(100, "messages", &request.to_string());
    let tool = json!({"event": "on_tool_start", "run_id": "x", "name": "fetch", "metadata": meta("tools", "B")});
    script.event(150, "events", &tool.to_string());
    let result = |id: &str, status: &str| {
        json!([{"type": "tool", "tool_call_id": id, "status": status}, meta("tools", "B")])
            .to_string()
    };
    script.event(200, "messages", &result("c1", "error"));
    script.event(300, "messages", &result("c2", "success"));
    script.event(400, "messages", &result("never requested", "success"));
    script.event(500, "messages", &result("c2", "success"));
    // Each tool is in the node that ran it, and only a callback has its start time.
    let timeline = &script.timeline;
    let in_node = |bar: &Bar| timeline.bar(bar.parent.unwrap()).unwrap().name.to_string();
    let tools = timeline
        .bars()
        .iter()
        .filter(|bar| bar.kind == BarKind::Tool);
    let tools: Vec<_> = tools
        .map(|bar| (&*bar.name, in_node(bar), bar.state, bar.took()))
        .collect();
    let ran = |ms| Some(Duration::from_millis(ms));
    let expected = [
        ("fetch", Done, ran(150)),
        ("search", Failed, None),
        ("tool", Done, None),
    ];
    let expected = expected.map(|(name, state, took)| (name, "tools".to_string(), state, took));
    assert_eq!(tools, expected);
    // A call that is only requested has no bar. Its id may be used again in a later message.
    let request = json!([{"id": "run-2", "type": "ai", "tool_calls": [{"id": "c1", "name": "search", "args": {}}]}, meta("chat", "C")]);
    script.event(600, "messages", &request.to_string());
    let count = |script: &Script| {
        script
            .timeline
            .bars()
            .iter()
            .filter(|bar| bar.kind == BarKind::Tool)
            .count()
    };
    assert_eq!(count(&script), 3);
    script.event(700, "messages", &result("c1", "success"));
    assert_eq!(count(&script), 4);
}

#[test]
fn tools_of_the_newer_protocol() {
    let mut script = Script::default();
    let tool = |data: serde_json::Value| {
        json!({"type": "event", "method": "tools", "params": {"namespace": ["agent:T"], "data": data}}).to_string()
    };
    script.event(
        0,
        "tools",
        &tool(json!({"event": "tool-started", "tool_call_id": "c", "tool_name": "search"})),
    );
    script.event(
        10,
        "tools",
        &tool(json!({"event": "tool-output-delta", "tool_call_id": "c", "delta": "x"})),
    );
    script.event(
        20,
        "tools",
        &tool(json!({"event": "tool-error", "tool_call_id": "c", "message": "no network"})),
    );
    assert_eq!(
        script.bars(),
        [("agent", 0, None, Running), ("search", 0, Some(20), Failed)]
    );
    assert_eq!(
        script.timeline.bars()[1].detail.as_deref(),
        Some("no network")
    );
}

#[test]
fn bars_are_found_by_event() {
    let mut script = Script::default();
    let run = script.run(0, "r", 1);
    let (a, b) = (
        script.start(10, "a", "left"),
        script.start(20, "b", "right"),
    );
    let between = script.event(25, "custom", "1");
    let (ended, after) = (
        script.done(30, "a", "left"),
        script.event(35, "custom", "2"),
    );
    let at = |seq| script.timeline.at_seq(seq);
    assert_eq!(
        (at(run), at(a), at(b), at(between)),
        (None, Some(0), Some(1), Some(1))
    );
    assert_eq!((at(ended), at(after)), (Some(0), Some(1)));
}

#[test]
fn the_oldest_bars_are_evicted() {
    let mut script = Script::default();
    for n in 0..Bar::MAX_ROWS + 10 {
        if n % 10_000 == 0 {
            script.run(0, &format!("r{n}"), 1);
        }
        script.event(2, "updates|root:T", r#"{"node":1}"#);
    }
    let timeline = &script.timeline;
    assert!(timeline.bars().len() <= Bar::MAX_ROWS && timeline.bars().evicted() > 0);
    let numbers: Vec<u64> = timeline.attempts().map(|(number, _)| number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let first = timeline.attempt(1).unwrap();
    assert!(
        first
            .children
            .iter()
            .all(|key| timeline.bar(*key).unwrap().parent.is_none())
    );
    assert_eq!(
        first.children.len(),
        first
            .children
            .iter()
            .collect::<std::collections::HashSet<_>>()
            .len()
    );
}

#[test]
fn malformed_payloads_are_ignored() {
    let mut script = Script::default();
    let deep = format!(
        "values{}",
        (0..10_000)
            .map(|n| format!("|n{n}:t{n}"))
            .collect::<String>()
    );
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    script.run(0, "r", 1);
    for name in [
        "metadata",
        "tasks",
        "debug",
        "events",
        "values",
        "checkpoints",
        "messages",
        "tools",
    ] {
        for data in [
            "null",
            "\"a\"",
            "[]",
            "{}",
            "[{},{}]",
            r#"{"id":7,"name":null,"type":[]}"#,
            &nested,
        ] {
            script.event(1, name, data);
        }
    }
    assert!(script.bars().is_empty(), "{:?}", script.bars());
    script.event(2, &deep, "{}");
    assert_eq!(script.bars().len(), 64);
    script.event(3, "updates", r#"{"n0":1}"#);
    assert!(script.bars().iter().all(|bar| bar.3 == Done));
}

#[test]
fn the_lifecycle_of_the_root_graph_begins_an_attempt() {
    let mut script = Script::default();
    script.event(100, "lifecycle", r#"{"event":"running"}"#);
    script.event(200, "updates", r#"{"fine":null}"#);
    script.event(300, "lifecycle", r#"{"event":"completed"}"#);
    let attempt = script.timeline.attempt(0).unwrap();
    assert_eq!(
        (attempt.state, attempt.took()),
        (Done, Some(Duration::from_millis(200)))
    );
    // Joined in the middle: the start is unknown.
    let mut script = Script::default();
    script.event(200, "updates", r#"{"fine":null}"#);
    script.event(300, "lifecycle", r#"{"event":"completed"}"#);
    let attempt = script.timeline.attempt(0).unwrap();
    assert!(attempt.took().is_none() && attempt.is_timed);
}

/// Name, step and known times of a bar.
type Row<'a> = (&'a str, Option<i64>, Option<i64>, Option<i64>);

/// A log of events without server times, and of snapshots, in milliseconds.
#[derive(Default)]
struct Log {
    projections: Projections,
    seq: Seq,
}

impl Log {
    fn time(ms: i64) -> String {
        Script::at(ms).to_string()
    }

    fn event(&mut self, ms: i64, replayed: bool, name: &str, data: Value) {
        self.seq = self.seq.next();
        let data = Data::Json(data.to_string().into());
        let (seq, at) = (self.seq, Script::at(ms));
        let event = Event {
            seq,
            at,
            conn: 1,
            replayed,
            name: name.into(),
            ns: [].into(),
            id: None,
            data,
        };
        self.projections.apply(&Item::Record(Record::Event(event)));
    }

    fn task(&mut self, ms: i64, replayed: bool, id: &str, node: &str, is_done: bool) {
        let data = match is_done {
            true => json!({"id": id, "name": node, "result": {}, "interrupts": []}),
            false => json!({"id": id, "name": node, "input": {}, "triggers": []}),
        };
        self.event(ms, replayed, "tasks", data);
    }

    /// Applies a snapshot with a finished run `r`, from 1 s to 9 s, and its history, newest first.
    fn snapshot(&mut self, history: Value) {
        self.seq = self.seq.next();
        let runs = json!([{"run_id": "r", "status": "success", "created_at": Self::time(1000), "updated_at": Self::time(9000)}]);
        let parts = [(SnapshotPart::Runs, runs), (SnapshotPart::History, history)];
        let parts = parts
            .into_iter()
            .map(|(part, json)| (part, Loaded::Json(json.to_string().into())))
            .collect();
        let event = ThreadSnapshot {
            at: Script::at(0),
            parts,
        }
        .into_event(self.seq);
        self.projections.apply(&Item::Record(Record::Event(event)));
    }

    fn bars(&self) -> Vec<Row<'_>> {
        let ms = |at: Timestamp| at.as_millisecond() - 1_800_000_000_000;
        let timeline = &self.projections.timeline;
        let row = |bar: &'_ Bar| {
            let (start, end) = (
                Some(ms(bar.started)).filter(|_| bar.known.start),
                bar.ended.map(ms),
            );
            (timeline.step(bar), start, end.filter(|_| bar.known.end))
        };
        timeline
            .bars()
            .iter()
            .map(|bar| (&*bar.name, row(bar).0, row(bar).1, row(bar).2))
            .collect()
    }

    fn attempt(&self) -> &Attempt {
        self.projections.timeline.attempts().next_back().unwrap().1
    }
}

fn saved(step: i64, ms: i64, tasks: &[(&str, &str)]) -> Value {
    let source = if tasks.iter().any(|(_, node)| *node == "__start__") {
        "input"
    } else {
        "loop"
    };
    let tasks: Vec<Value> = tasks
        .iter()
        .map(|(id, node)| json!({"id": id, "name": node, "result": {}}))
        .collect();
    json!({"created_at": Log::time(ms), "metadata": {"source": source, "step": step, "run_id": "r"}, "tasks": tasks})
}

#[test]
fn checkpoints_provide_the_times_of_a_replay_without_times() {
    let mut log = Log::default();
    log.event(
        20_000,
        true,
        "metadata",
        json!({"run_id": "r", "attempt": 1}),
    );
    for (id, node) in [("a", "plan"), ("b", "write")] {
        log.task(20_000, true, id, node, false);
        log.task(20_000, true, id, node, true);
    }
    assert_eq!(
        log.bars(),
        [
            ("plan", Some(1), None, None),
            ("write", Some(2), None, None)
        ]
    );
    assert!(log.attempt().clock == Clock::Arrival && !log.attempt().is_arrival_timed());
    let history = json!([
        saved(6, 8000, &[]),
        saved(5, 6000, &[("b", "write")]),
        saved(4, 3000, &[("a", "plan")]),
        saved(3, 2500, &[("x", "__start__")])
    ]);
    log.snapshot(history);
    let expected = [
        ("plan", Some(5), Some(3000), Some(6000)),
        ("write", Some(6), Some(6000), Some(8000)),
    ];
    assert_eq!(log.bars(), expected);
    assert!(log.attempt().clock == Clock::Server && log.attempt().is_filled());
    assert!(log.attempt().known.is_both());
}

#[test]
fn steps_are_found_without_tasks_in_the_history() {
    // JavaScript lists no tasks of a run of another graph than the thread's.
    let history = json!([
        saved(2, 8000, &[]),
        saved(1, 6000, &[]),
        saved(0, 3000, &[]),
        saved(-1, 2500, &[("x", "__start__")])
    ]);
    let mut log = Log::default();
    log.event(
        20_000,
        true,
        "metadata",
        json!({"run_id": "r", "attempt": 1}),
    );
    log.task(20_000, true, "a", "plan", false);
    log.task(20_000, true, "a", "plan", true);
    log.task(20_000, true, "b", "write", false);
    log.task(20_000, true, "b", "write", true);
    log.snapshot(history.clone());
    let expected = [
        ("plan", Some(1), Some(3000), Some(6000)),
        ("write", Some(2), Some(6000), Some(8000)),
    ];
    assert_eq!(log.bars(), expected);
    // A failed step has no checkpoint: it ended with its run.
    let mut log = Log::default();
    log.event(
        20_000,
        true,
        "metadata",
        json!({"run_id": "r", "attempt": 1}),
    );
    log.task(20_000, true, "a", "plan", false);
    log.event(20_000, true, "updates", json!({"plan": {}}));
    log.task(20_000, true, "a", "plan", true);
    log.event(20_000, true, "values", json!({}));
    log.task(20_000, true, "b", "write", false);
    log.event(
        20_000,
        true,
        "error",
        json!({"error": "Error", "message": "boom"}),
    );
    log.event(
        20_000,
        true,
        "metadata",
        json!({"run_id": "later", "attempt": 1}),
    );
    log.task(20_000, true, "c", "other", false);
    log.snapshot(json!([
        saved(8, 6000, &[]),
        saved(7, 3000, &[]),
        saved(6, 2500, &[("x", "__start__")])
    ]));
    let expected = [
        ("plan", Some(8), Some(3000), Some(6000)),
        ("write", Some(9), Some(6000), Some(9000)),
    ];
    assert_eq!(log.bars()[..2], expected);
    assert_eq!(
        log.bars()[2].1,
        Some(1),
        "the steps of another run are its own"
    );
    // Joined in the middle: the number of the first step is unknown.
    let mut log = Log::default();
    log.task(20_000, true, "b", "write", false);
    log.event(
        20_000,
        true,
        "metadata",
        json!({"run_id": "r", "attempt": 1, "status": "run_done"}),
    );
    log.snapshot(history);
    assert!(
        log.bars().iter().all(|bar| bar.2.is_none()),
        "{:?}",
        log.bars()
    );
}

#[test]
fn extreme_step_numbers_do_not_panic() {
    for step in [i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX] {
        let history = json!([
            saved(step, 8000, &[("b", "write")]),
            saved(step.saturating_sub(1), 6000, &[("a", "plan")])
        ]);
        for is_replayed in [false, true] {
            let mut log = Log::default();
            log.event(
                20_000,
                is_replayed,
                "metadata",
                json!({"run_id": "r", "attempt": 1}),
            );
            for (id, name) in [("a", "plan"), ("b", "write")] {
                let task = json!({"id": id, "name": name, "triggers": [], "input": {}});
                log.event(
                    20_000,
                    is_replayed,
                    "debug",
                    json!({"type": "task", "step": step, "payload": task}),
                );
                log.task(20_000, is_replayed, id, name, true);
            }
            log.snapshot(history.clone());
            assert_eq!(log.bars().len(), 2);
        }
        let mut log = Log::default();
        log.snapshot(history);
        let _ = log.bars();
    }
}

#[test]
fn checkpoints_are_matched_with_updates_by_node_name() {
    let mut log = Log::default();
    log.event(
        20_000,
        true,
        "metadata",
        json!({"run_id": "r", "attempt": 1}),
    );
    log.event(20_000, true, "updates", json!({"plan": {}}));
    log.event(20_000, true, "updates", json!({"write": {}}));
    log.snapshot(json!([
        saved(2, 8000, &[]),
        saved(1, 6000, &[("b", "write")]),
        saved(0, 3000, &[("a", "plan")])
    ]));
    let expected = [
        ("plan", Some(1), Some(3000), Some(6000)),
        ("write", Some(2), Some(6000), Some(8000)),
    ];
    assert_eq!(log.bars(), expected);
}

#[test]
fn a_run_joined_in_the_middle_has_one_clock() {
    let mut log = Log::default();
    log.event(
        20_000,
        true,
        "metadata",
        json!({"run_id": "r", "attempt": 1}),
    );
    log.task(20_000, true, "a", "plan", false);
    log.task(26_000, false, "a", "plan", true);
    log.task(26_000, false, "b", "write", false);
    log.task(28_500, false, "b", "write", true);
    log.snapshot(json!([
        saved(2, 8000, &[]),
        saved(1, 6000, &[("b", "write")]),
        saved(0, 3000, &[("a", "plan")])
    ]));
    // The end of the first step is known by both clocks: ours is 20 s ahead.
    let expected = [
        ("plan", Some(1), Some(3000), Some(6000)),
        ("write", Some(2), Some(6000), Some(8500)),
    ];
    assert_eq!(log.bars(), expected);
    assert_eq!(log.attempt().clock, Clock::Server);
}

#[test]
fn a_node_that_was_cancelled_ran_until_the_end_of_its_run() {
    let mut log = Log::default();
    log.event(
        1000,
        false,
        "metadata",
        json!({"run_id": "r", "attempt": 1}),
    );
    log.task(1100, false, "a", "nap", false);
    // The end of a run on a thread's stream looks the same for each outcome.
    log.event(
        3400,
        false,
        "metadata",
        json!({"run_id": "r", "status": "run_done"}),
    );
    log.seq = log.seq.next();
    let runs = json!([{"run_id": "r", "status": "interrupted", "created_at": Log::time(1000), "updated_at": Log::time(3400)}]);
    let parts = [(SnapshotPart::Runs, Loaded::Json(runs.to_string().into()))]
        .into_iter()
        .collect();
    let event = ThreadSnapshot {
        at: Script::at(0),
        parts,
    }
    .into_event(log.seq);
    log.projections.apply(&Item::Record(Record::Event(event)));
    let bar = &log.projections.timeline.bars()[0];
    assert_eq!(
        (bar.state, bar.took()),
        (Abandoned, Some(Duration::from_millis(2300)))
    );
}
