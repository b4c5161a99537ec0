//! Tests of the timeline, with scripted events.

use super::*;
use crate::tests::{Script, at};
use crate::{End, Seq, SnapshotPart};
use serde_json::{Value, json};

/// The name, the step and the known times of a bar.
type StepTimes<'a> = (&'a str, Option<i64>, Option<i64>, Option<i64>);

impl Script {
    fn timeline(&self) -> &Timeline {
        &self.projections.timeline
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
        let data = json!({"run_id": id, "attempt": attempt});
        self.event(ms, "metadata", &data.to_string())
    }

    fn bars(&self) -> Vec<(&str, i64, Option<i64>, BarState)> {
        let bars = self.timeline().bars().iter();
        bars.map(|bar| (&*bar.name, ms(bar.started), bar.ended.map(ms), bar.state))
            .collect()
    }

    /// Returns the facts of each bar.
    fn steps(&self) -> Vec<StepTimes<'_>> {
        let bars = self.timeline().bars().iter();
        let row = |bar| {
            let Bar { name, known, .. }: &Bar = bar;
            let start = Some(ms(bar.started)).filter(|_| known.start);
            let end = bar.ended.map(ms).filter(|_| known.end);
            (&**name, self.timeline().step(bar), start, end)
        };
        bars.map(row).collect()
    }

    fn attempt(&self) -> &Attempt {
        self.timeline().attempts().next_back().unwrap().1
    }

    fn attempts<T>(&self, of: impl Fn(&Attempt) -> T) -> Vec<T> {
        self.timeline()
            .attempts()
            .map(|(_, attempt)| of(attempt))
            .collect()
    }

    /// Applies a snapshot with a run `r`, from 1 s to 9 s, and its history, newest first.
    fn load(&mut self, history: Value) {
        let runs = json!([{"run_id": "r", "status": "success", "created_at": at(1000), "updated_at": at(9000)}]);
        self.snapshot([(SnapshotPart::Runs, runs), (SnapshotPart::History, history)]);
    }
}

fn ms(time: Timestamp) -> i64 {
    time.as_millisecond() - at(0).as_millisecond()
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
    let attempts = script.attempts(|a| (a.number, a.state, a.lost.as_millis()));
    assert_eq!(attempts, [(1, Abandoned, 0), (2, Running, 3400)]);
    let expected = [
        ("plan", 100, Some(200), Done),
        ("search", 300, Some(3400), Abandoned),
        ("plan", 3500, None, Running),
    ];
    assert_eq!(script.bars(), expected);
    script.run(9000, "other", 1);
    assert_eq!(script.attempts(|a| a.lost.as_millis()), [0, 3400, 0]);
}

#[test]
fn runs_end_with_their_outcome() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    script.start(10, "a", "ask");
    script.play(
        r#"20 tasks {"id": "a", "name": "ask", "result": {}, "interrupts": [{"id": "i", "value": "Sure?"}]}
           30 metadata {"status": "run_done", "run_id": "r"}
           40 metadata {"run_id": "s", "attempt": 1}
           50 updates {"fine": null}
           60 error {"error": "ValueError", "message": "boom"}
           70 metadata {"status": "run_done", "run_id": "s"}"#,
    );
    script.run(80, "t", 1);
    script.start(90, "b", "slow");
    script.item(Item::Record(Record::End(End {
        at: at(500),
        outcome: Outcome::Cancelled,
        ..End::default()
    })));
    let expected = [
        (BarState::Interrupted, None),
        (Failed, Some("ValueError: boom".to_string())),
        (Abandoned, Some("cancelled".into())),
    ];
    assert_eq!(script.attempts(|a| (a.state, a.detail.clone())), expected);
    assert_eq!(script.timeline().bars()[0].detail.as_deref(), Some("Sure?"));
    assert_eq!(script.bars()[2], ("slow", 90, Some(500), Abandoned));
}

#[test]
fn modes_are_merged_into_one_bar() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    script.start(100, "T", "chat");
    let meta =
        r#"{"langgraph_node": "chat", "langgraph_step": 4, "langgraph_checkpoint_ns": "chat:T"}"#;
    script.play(&format!(
        r#"110 messages|chat:T [{{"id": "run-m", "type": "AIMessageChunk", "content": "a"}}, {meta}]
           120 events {{"event": "on_chat_model_start", "run_id": "m", "name": "gpt", "metadata": {meta}}}
           150 messages|chat:T [{{"id": "run-m", "type": "AIMessageChunk", "content": "b"}}, {meta}]
           160 updates {{"chat": {{}}}}"#
    ));
    script.done(170, "T", "chat");
    let expected = [
        ("chat", 100, Some(170), Done),
        ("model", 120, Some(150), Done),
    ];
    assert_eq!(script.bars(), expected);
    assert_eq!((script.steps()[0].1, script.steps()[1].1), (Some(4), None));
    // Joined in the middle of a task: the update and the result belong to the same task.
    let mut script = Script::of(r#"10 updates {"chat": {}}"#);
    script.done(20, "T", "chat");
    script.start(30, "U", "chat");
    let expected = [("chat", 10, Some(20), Done), ("chat", 30, None, Running)];
    assert_eq!(script.bars(), expected);
}

#[test]
fn debug_events_switch_to_the_server_clock() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    script.start(100, "a", "plan");
    let debug = |ms: i64, kind: &str, more: &str| {
        let payload: Value =
            serde_json::from_str(&format!(r#"{{"id":"a","name":"plan",{more}}}"#)).unwrap();
        json!({"step": 7, "timestamp": at(ms), "type": kind, "payload": payload}).to_string()
    };
    script.event(110, "debug", &debug(60_100, "task", r#""triggers":[]"#));
    script.done(400, "a", "plan");
    script.event(
        410,
        "debug",
        &debug(60_350, "task_result", r#""result":{}"#),
    );
    assert_eq!(script.bars(), [("plan", 60_100, Some(60_350), Done)]);
    let attempt = script.attempt();
    assert_eq!(
        (attempt.clock, attempt.started),
        (Clock::Server, at(59_990))
    );
    assert_eq!(attempt.until(at(1000)), at(60_940));
}

#[test]
fn gaps_between_steps_are_measured() {
    let mut script = Script::default();
    script.run(0, "r", 1);
    script.start(250, "a", "left");
    script.start(260, "b", "right");
    script.done(300, "a", "left");
    script.done(400, "b", "right");
    script.start(1600, "c", "join");
    let bars = script.timeline().bars().iter();
    let gaps: Vec<_> = bars.map(|bar| (bar.gap().as_millis(), bar.leads)).collect();
    assert_eq!(gaps, [(250, true), (260, false), (1200, true)]);
}

#[test]
fn tools_are_children_of_the_node_that_ran_them() {
    let meta = |node: &str| {
        format!(r#"{{"langgraph_node":"{node}","langgraph_checkpoint_ns":"{node}:{node}"}}"#)
    };
    let (chat, tools, again) = (meta("chat"), meta("tools"), meta("again"));
    let mut script = Script::of(&format!(
        r#"100 messages [{{"id":"run-1","type":"ai","tool_calls":[{{"id":"c1","name":"search","args":{{}}}},{{"id":"c2","name":"fetch","args":{{}}}}]}},{chat}]
           150 events {{"event":"on_tool_start","run_id":"x","name":"fetch","metadata":{tools}}}
           200 messages [{{"type":"tool","tool_call_id":"c1","status":"error"}},{tools}]
           300 messages [{{"type":"tool","tool_call_id":"c2","status":"success"}},{tools}]
           400 messages [{{"type":"tool","tool_call_id":"never requested","status":"success"}},{tools}]
           500 messages [{{"type":"tool","tool_call_id":"c2","status":"success"}},{tools}]"#
    ));
    // Each tool is in the node that ran it, and only a callback has its start time.
    let shown = |script: &Script| -> Vec<String> {
        let timeline = script.timeline();
        let tools = timeline
            .bars()
            .iter()
            .filter(|bar| bar.kind == BarKind::Tool);
        let node = |bar: &Bar| timeline.bar(bar.parent.unwrap()).unwrap().name.clone();
        tools
            .map(|bar| {
                format!(
                    "{} {} {:?} {:?}",
                    node(bar),
                    bar.name,
                    bar.state,
                    bar.took()
                )
            })
            .collect()
    };
    let expected = [
        "tools fetch Done Some(150ms)",
        "tools search Failed None",
        "tools tool Done None",
    ];
    assert_eq!(shown(&script), expected);
    // A call that is only requested has no bar. Its id may be used again in a later message.
    script.play(&format!(
        r#"600 messages [{{"id":"run-2","type":"ai","tool_calls":[{{"id":"c1","name":"search","args":{{}}}}]}},{again}]"#
    ));
    assert_eq!(shown(&script).len(), 3);
    script.play(&format!(
        r#"700 messages [{{"type":"tool","tool_call_id":"c1","status":"success"}},{tools}]"#
    ));
    assert_eq!(shown(&script).len(), 4);
}

#[test]
fn tools_of_the_newer_protocol() {
    let tool = |ms: i64, data: &str| {
        let params = format!(r#"{{"namespace":["agent:T"],"data":{{"tool_call_id":"c",{data}}}}}"#);
        format!("{ms} tools {{\"type\":\"event\",\"method\":\"tools\",\"params\":{params}}}\n")
    };
    let script = Script::of(
        &[
            tool(0, r#""event":"tool-started","tool_name":"search""#),
            tool(10, r#""event":"tool-output-delta","delta":"x""#),
            tool(20, r#""event":"tool-error","message":"no network""#),
        ]
        .concat(),
    );
    let expected = [("agent", 0, None, Running), ("search", 0, Some(20), Failed)];
    assert_eq!(script.bars(), expected);
    assert_eq!(
        script.timeline().bars()[1].detail.as_deref(),
        Some("no network")
    );
}

#[test]
fn bars_are_found_by_event() {
    let mut script = Script::default();
    let events = [
        (script.run(0, "r", 1), None),
        (script.start(10, "a", "left"), Some(0)),
        (script.start(20, "b", "right"), Some(1)),
        (script.event(25, "custom", "1"), Some(1)),
        (script.done(30, "a", "left"), Some(0)),
        (script.event(35, "custom", "2"), Some(1)),
    ];
    for (seq, bar) in events {
        assert_eq!(script.timeline().at_seq(seq), bar, "{seq}");
    }
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
    let timeline = script.timeline();
    assert!(timeline.bars().len() <= Bar::MAX_ROWS && timeline.bars().evicted() > 0);
    let numbers: Vec<u64> = timeline.attempts().map(|(number, _)| number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let first = &timeline.attempt(1).unwrap().children;
    assert!(
        first
            .iter()
            .all(|key| timeline.bar(*key).unwrap().parent.is_none())
    );
    assert!(first.is_sorted_by(|a, b| a < b), "each once");
}

#[test]
fn malformed_payloads_are_ignored() {
    let mut script = Script::default();
    let segments = (0..10_000).map(|n| format!("|n{n}:t{n}"));
    let deep = format!("values{}", segments.collect::<String>());
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let odd = r#"{"id":7,"name":null,"type":[]}"#;
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
        for data in ["null", "\"a\"", "[]", "{}", "[{},{}]", odd, &nested] {
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
    let ends = "200 updates {\"fine\": null}\n300 lifecycle {\"event\": \"completed\"}";
    let script = Script::of(&format!("100 lifecycle {{\"event\": \"running\"}}\n{ends}"));
    let attempt = script.attempt();
    assert_eq!(
        (attempt.state, attempt.took()),
        (Done, Some(Duration::from_millis(200)))
    );
    // Joined in the middle: the start is unknown.
    let script = Script::of(ends);
    assert!(script.attempt().took().is_none() && script.attempt().is_timed);
}

fn saved(step: i64, ms: i64, tasks: &[(&str, &str)]) -> Value {
    let is_input = tasks.iter().any(|(_, node)| *node == "__start__");
    let source = if is_input { "input" } else { "loop" };
    let task = |(id, node): &(&str, &str)| json!({"id": id, "name": node, "result": {}});
    let tasks: Vec<Value> = tasks.iter().map(task).collect();
    json!({"created_at": at(ms), "metadata": {"source": source, "step": step, "run_id": "r"}, "tasks": tasks})
}

/// A replay, without server times, of a run in which `plan` and then `write` ran.
const REPLAY: &str = r#"
    ~20s metadata {"run_id": "r", "attempt": 1}
    ~20s tasks {"id": "a", "name": "plan", "input": {}, "triggers": []}
    ~20s tasks {"id": "a", "name": "plan", "result": {}, "interrupts": []}
    ~20s tasks {"id": "b", "name": "write", "input": {}, "triggers": []}
    ~20s tasks {"id": "b", "name": "write", "result": {}, "interrupts": []}"#;

#[test]
fn checkpoints_provide_the_times_of_a_replay_without_times() {
    let mut log = Script::of(REPLAY);
    assert_eq!(
        log.steps(),
        [
            ("plan", Some(1), None, None),
            ("write", Some(2), None, None)
        ]
    );
    assert!(log.attempt().clock == Clock::Arrival && !log.attempt().is_arrival_timed());
    log.load(json!([
        saved(6, 8000, &[]),
        saved(5, 6000, &[("b", "write")]),
        saved(4, 3000, &[("a", "plan")]),
        saved(3, 2500, &[("x", "__start__")])
    ]));
    let expected = [
        ("plan", Some(5), Some(3000), Some(6000)),
        ("write", Some(6), Some(6000), Some(8000)),
    ];
    assert_eq!(log.steps(), expected);
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
    let mut log = Script::of(REPLAY);
    log.load(history.clone());
    let expected = [
        ("plan", Some(1), Some(3000), Some(6000)),
        ("write", Some(2), Some(6000), Some(8000)),
    ];
    assert_eq!(log.steps(), expected);
    // A failed step has no checkpoint: it ended with its run.
    let mut log = Script::of(
        r#"~20s metadata {"run_id": "r", "attempt": 1}
           ~20s tasks {"id": "a", "name": "plan", "input": {}, "triggers": []}
           ~20s updates {"plan": {}}
           ~20s tasks {"id": "a", "name": "plan", "result": {}, "interrupts": []}
           ~20s values {}
           ~20s tasks {"id": "b", "name": "write", "input": {}, "triggers": []}
           ~20s error {"error": "Error", "message": "boom"}
           ~20s metadata {"run_id": "later", "attempt": 1}
           ~20s tasks {"id": "c", "name": "other", "input": {}, "triggers": []}"#,
    );
    let input = saved(6, 2500, &[("x", "__start__")]);
    log.load(json!([saved(8, 6000, &[]), saved(7, 3000, &[]), input]));
    let expected = [
        ("plan", Some(8), Some(3000), Some(6000)),
        ("write", Some(9), Some(6000), Some(9000)),
    ];
    assert_eq!(log.steps()[..2], expected);
    assert_eq!(
        log.steps()[2].1,
        Some(1),
        "the steps of another run are its own"
    );
    // Joined in the middle: the number of the first step is unknown.
    let mut log = Script::of(
        r#"~20s tasks {"id": "b", "name": "write", "input": {}, "triggers": []}
           ~20s metadata {"run_id": "r", "attempt": 1, "status": "run_done"}"#,
    );
    log.load(history);
    assert!(
        log.steps().iter().all(|bar| bar.2.is_none()),
        "{:?}",
        log.steps()
    );
}

#[test]
fn extreme_step_numbers_do_not_panic() {
    for step in [i64::MIN, i64::MIN + 1, -1, i64::MAX - 1, i64::MAX] {
        let (last, first) = ([("b", "write")], [("a", "plan")]);
        let history = json!([
            saved(step, 8000, &last),
            saved(step.saturating_sub(1), 6000, &first)
        ]);
        for replayed in ["", "~"] {
            let mut log = Script::default();
            log.play(&format!(
                r#"{replayed}20s metadata {{"run_id": "r", "attempt": 1}}"#
            ));
            for (id, name) in [("a", "plan"), ("b", "write")] {
                log.play(&format!(
                    r#"{replayed}20s debug {{"type": "task", "step": {step}, "payload": {{"id": "{id}", "name": "{name}", "triggers": [], "input": {{}}}}}}
                       {replayed}20s tasks {{"id": "{id}", "name": "{name}", "result": {{}}, "interrupts": []}}"#
                ));
            }
            log.load(history.clone());
            assert_eq!(log.steps().len(), 2);
        }
        let mut log = Script::default();
        log.load(history);
        let _ = log.steps();
    }
}

#[test]
fn checkpoints_are_matched_with_the_nodes_of_a_stream() {
    let history = json!([
        saved(2, 8000, &[]),
        saved(1, 6000, &[("b", "write")]),
        saved(0, 3000, &[("a", "plan")])
    ]);
    let by_name = r#"
        ~20s metadata {"run_id": "r", "attempt": 1}
        ~20s updates {"plan": {}}
        ~20s updates {"write": {}}"#;
    // The end of the first step is known by both clocks: ours is 20 s ahead.
    let joined_in_the_middle = r#"
        ~20s metadata {"run_id": "r", "attempt": 1}
        ~20s tasks {"id": "a", "name": "plan", "input": {}, "triggers": []}
        26s tasks {"id": "a", "name": "plan", "result": {}, "interrupts": []}
        26s tasks {"id": "b", "name": "write", "input": {}, "triggers": []}
        28500 tasks {"id": "b", "name": "write", "result": {}, "interrupts": []}"#;
    for (events, ended) in [(by_name, 8000), (joined_in_the_middle, 8500)] {
        let mut log = Script::of(events);
        log.load(history.clone());
        let expected = [
            ("plan", Some(1), Some(3000), Some(6000)),
            ("write", Some(2), Some(6000), Some(ended)),
        ];
        assert_eq!(log.steps(), expected, "{events}");
        assert_eq!(log.attempt().clock, Clock::Server);
    }
}

#[test]
fn a_node_that_was_cancelled_ran_until_the_end_of_its_run() {
    // The end of a run on a thread's stream looks the same for each outcome.
    let mut log = Script::of(
        r#"1s metadata {"run_id": "r", "attempt": 1}
           1100 tasks {"id": "a", "name": "nap", "input": {}, "triggers": []}
           3400 metadata {"run_id": "r", "status": "run_done"}"#,
    );
    let runs = json!([{"run_id": "r", "status": "interrupted", "created_at": at(1000), "updated_at": at(3400)}]);
    log.snapshot([(SnapshotPart::Runs, runs)]);
    let bar = &log.timeline().bars()[0];
    assert_eq!(
        (bar.state, bar.took()),
        (Abandoned, Some(Duration::from_millis(2300)))
    );
}
