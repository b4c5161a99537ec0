//! Tests of the metrics, with scripted events.

use crate::projection::rows::Weigh;
use crate::projection::{ModelMetrics, NodeMetrics, Projections, RunMetrics, Usage, node_sums};
use crate::{Data, End, Event, EventNames, Item, Outcome, Record, Seq};
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

const RUN: &str = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

#[derive(Default)]
struct Script {
    projections: Projections,
    seq: Seq,
    names: EventNames,
}

impl Script {
    fn event(&mut self, ms: i64, name: &str, data: &str) -> &mut Self {
        self.seq = self.seq.next();
        let (name, ns) = self.names.split(name);
        let (seq, data) = (self.seq, Data::Json(data.into()));
        self.item(Item::Record(Record::Event(Event {
            seq,
            at: at(ms),
            conn: 1,
            replayed: false,
            name,
            ns,
            id: None,
            data,
        })))
    }

    fn item(&mut self, item: Item) -> &mut Self {
        self.projections.apply(&item);
        self
    }

    fn token(&mut self, ms: i64, id: &str, node: &str, text: &str, more: &str) -> &mut Self {
        let piece = format!(r#"{{"type":"AIMessageChunk","id":"{id}","content":"{text}"{more}}}"#);
        let meta = format!(r#"{{"langgraph_node":"{node}","ls_model_name":"m-1"}}"#);
        self.event(ms, "messages", &format!("[{piece},{meta}]"))
    }

    fn run(&self) -> &RunMetrics {
        self.projections.metrics.runs().last().unwrap()
    }

    fn node(&self, name: &str) -> &NodeMetrics {
        self.run()
            .nodes
            .iter()
            .find(|node| &*node.name == name)
            .unwrap()
    }
}

fn ms(n: i64) -> Option<SignedDuration> {
    Some(SignedDuration::from_millis(n))
}

fn metadata(attempt: u64) -> String {
    format!(r#"{{"run_id":"{RUN}","attempt":{attempt}}}"#)
}

const USAGE: &str = r#","usage_metadata":{"input_tokens":11,"output_tokens":30,"total_tokens":41}"#;

#[test]
fn metrics_of_a_run_that_we_started() {
    let mut script = Script::default();
    script
        .item(Item::Connecting { at: at(0), conn: 1 })
        .item(Item::Record(Record::Open { at: at(40), conn: 1, status: 200, resumed_after: None }))
        .item(Item::Started { thread_id: None, run_id: RUN.into() })
        .event(900, "metadata", &metadata(1))
        .event(1000, "values", r#"{"messages":[{"type":"ai","id":"old","content":"before","usage_metadata":{"input_tokens":5,"output_tokens":5}}]}"#)
        .event(1010, "tasks", r#"{"id":"t1","name":"chat","input":{},"triggers":[]}"#)
        .token(1410, "a", "chat", "It ", "")
        .token(1510, "a", "chat", "is ", "")
        .token(1610, "a", "chat", "so.", "")
        .token(1620, "a", "chat", "", USAGE)
        .event(2020, "updates", r#"{"chat":{"messages":[{"type":"ai","id":"a","content":"It is so.","tool_calls":[{"name":"f","args":{},"id":"c"}],"usage_metadata":{"input_tokens":11,"output_tokens":30,"total_tokens":41}}]}}"#)
        .event(2025, "tasks", r#"{"id":"t1","name":"chat","error":null,"result":{},"interrupts":[]}"#)
        .event(2030, "values", r#"{"messages":[{"type":"ai","id":"old","content":"before"},{"type":"ai","id":"a","content":"It is so."}]}"#);
    let run = script.run();
    assert_eq!(
        (run.waited(), run.to_first_event(), run.to_first_token()),
        (ms(900), ms(1000), ms(1410))
    );
    assert_eq!(
        (
            run.took(at(3000)),
            run.is_open(),
            run.events,
            script.projections.metrics.runs().len()
        ),
        (ms(3000), true, 9, 1)
    );
    let usage = Usage {
        input: 11,
        output: 30,
        total: 41,
        ..Usage::default()
    };
    assert_eq!(
        (
            run.work.chunks,
            run.work.messages,
            run.work.tool_calls,
            run.work.errors
        ),
        (3, 1, 1, 0)
    );
    assert_eq!(
        (run.work.usage, run.models.clone()),
        (
            usage,
            vec![ModelMetrics {
                name: "m-1".into(),
                usage,
                calls: 1
            }]
        )
    );
    assert_eq!(
        (run.work.chunks_per_second(), run.work.tokens_per_second()),
        (Some(10.0), Some(145.0))
    );
    let node = script.node("chat");
    assert_eq!(
        (
            node.first_token.map(|first| first.after.as_millis()),
            run.work.calls,
            run.unnamed().1
        ),
        (Some(400), 1, 0)
    );
    let sums = node_sums(run, &script.projections.timeline, at(9_000));
    let visits: Vec<u64> = sums
        .iter()
        .filter_map(|sum| Some(sum.activity.as_ref()?.visits))
        .collect();
    assert_eq!(
        (visits, sums[0].time()),
        (vec![1], Some(Duration::from_millis(1015)))
    );
    assert_eq!(
        (
            node.work.usage,
            node.work.chunks,
            node.work.messages,
            run.nodes.len()
        ),
        (usage, 3, 1, 1)
    );
    let end = End {
        at: at(4000),
        outcome: Outcome::Success,
        ..End::default()
    };
    script.item(Item::Record(Record::End(end)));
    // The run ended with its last event, although the server closed the stream later.
    assert_eq!(
        (script.run().took(at(9000)), script.run().outcome),
        (ms(2030), Some(Outcome::Success))
    );
}

#[test]
fn failed_attempts_count_as_lost_time() {
    let mut script = Script::default();
    script
        .event(0, "metadata", &metadata(1))
        .token(100, "a", "n", "x", "");
    script
        .event(3400, "metadata", &metadata(2))
        .token(3500, "b", "n", "x", "");
    // A replay repeats a known attempt.
    script
        .event(3600, "metadata", &metadata(2))
        .event(4000, "metadata", &metadata(3));
    let run = script.run();
    assert_eq!(
        (run.attempts, run.lost, run.began),
        (3, SignedDuration::from_millis(4000), Some(at(0)))
    );
    assert_eq!(
        (run.work.chunks, run.work.chunks_per_second(), run.waited()),
        (2, None, None)
    );
    assert_eq!(
        run.retries,
        [
            (Seq(3), SignedDuration::from_millis(3400)),
            (Seq(6), SignedDuration::from_millis(600))
        ]
    );
}

#[test]
fn runs_of_a_thread_are_counted_separately() {
    let mut script = Script::default();
    let metadata = |id: &str, more: &str| format!(r#"{{"run_id":"{id}"{more}}}"#);
    // Joined in the middle of a run: only its end contains its id.
    script.event(0, "updates", r#"{"late":{"x":1}}"#).event(
        10,
        "metadata",
        &metadata("r1", r#","status":"run_done""#),
    );
    script.event(
        20,
        "state_update",
        r#"{"thread_id":"t","state":{"values":{"messages":[{"type":"ai","id":"h","content":"by hand"}]}}}"#,
    );
    script
        .event(30, "metadata", &metadata("r2", r#","attempt":1"#))
        .event(40, "error", r#"{"error":"E","message":"m"}"#);
    script.event(50, "metadata", &metadata("r2", r#","status":"run_done""#));
    script
        .event(60, "metadata", &metadata("r3", r#","attempt":1"#))
        .event(70, "values", r#"{"x":1}"#);
    let runs = script.projections.metrics.runs();
    let summary: Vec<_> = runs
        .iter()
        .map(|r| {
            (
                r.run_id.as_deref().unwrap(),
                r.events,
                r.work.errors,
                r.ended.map(|t| t.as_millisecond()),
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            ("r1", 1, 0, Some(10)),
            ("r2", 1, 1, Some(50)),
            ("r3", 1, 0, None)
        ]
    );
    assert_eq!(
        (runs[0].start(), runs[1].took(at(99)), runs[0].nodes.len()),
        (None, ms(20), 0)
    );
    assert_eq!(script.projections.metrics.run("r2").unwrap().seq, Seq(4));
}

#[test]
fn runs_of_the_newer_protocol() {
    let mut script = Script::default();
    let of = |event: &str| {
        let (head, tail) = (
            r#"{"type":"event","method":"lifecycle","params":{"namespace":[],"data":"#,
            "}}",
        );
        format!(r#"{head}{{"event":"{event}","graph_name":"g"}}{tail}"#)
    };
    script
        .event(0, "lifecycle", &of("running"))
        .event(100, "custom", "1")
        .event(200, "lifecycle", &of("completed"));
    script
        .event(300, "custom", "1")
        .event(900, "lifecycle", &of("running"))
        .event(950, "lifecycle", &of("failed"));
    let runs = script.projections.metrics.runs();
    let summary: Vec<_> = runs
        .iter()
        .map(|run| (run.events, run.took(at(0)), run.outcome, run.work.errors))
        .collect();
    let (first, second) = (
        SignedDuration::from_millis(200),
        SignedDuration::from_millis(50),
    );
    let expected = [
        (4, Some(first), Some(Outcome::Success), 0),
        (2, Some(second), Some(Outcome::Error), 1),
    ];
    assert_eq!(summary, expected);
}

#[test]
fn parallel_branches_and_failures() {
    let mut script = Script::default();
    script.event(0, "metadata", &metadata(1));
    for (i, id) in (0..10).map(|i| (i, if i % 2 == 0 { "a" } else { "b" })) {
        script.token(
            1000 + i * 100,
            id,
            if id == "a" { "left" } else { "right" },
            "x",
            "",
        );
    }
    script.event(
        5000,
        "tasks|sub:1|inner:2",
        r#"{"id":"t","name":"deep","input":{},"triggers":[]}"#,
    );
    script.event(
        6000,
        "tasks|sub:1|inner:2",
        r#"{"id":"t","name":"deep","error":"boom","result":null}"#,
    );
    script.event(
        6001,
        "messages",
        r#"[{"type":"tool","id":"t1","content":"no","status":"error","tool_call_id":"c"},{"langgraph_node":"tools"}]"#,
    );
    let run = script.run();
    // Both branches stream at once, so the run's rate is the sum of theirs.
    assert_eq!(
        (
            script.node("left").work.chunks_per_second(),
            run.work.chunks_per_second()
        ),
        (Some(5.0), Some(10.0))
    );
    assert_eq!(
        (
            script.node("sub:inner:deep").work.errors,
            script.node("tools").work.errors,
            run.work.errors
        ),
        (1, 1, 1)
    );
}

#[test]
fn a_state_with_ten_thousand_messages_is_scanned_once() {
    let state = |count: usize| {
        let messages: Vec<String> = (0..count)
            .map(|i| {
                format!(
                    r#"{{"type":"ai","id":"{i}","content":"{}","usage_metadata":{{"output_tokens":2}},"response_metadata":{{"model_name":"m-{}"}}}}"#,
                    "word ".repeat(40),
                    i % 2
                )
            })
            .collect();
        format!(r#"{{"messages":[{}]}}"#, messages.join(","))
    };
    let mut script = Script::default();
    script
        .event(0, "metadata", &metadata(1))
        .event(10, "values", "{}")
        .event(20, "values", &state(10_000));
    let used: Vec<(&str, u64)> = script
        .run()
        .models
        .iter()
        .map(|model| (&*model.name, model.usage.output))
        .collect();
    // Scanning three megabytes for each of them would take minutes.
    assert_eq!(used, [("m-0", 10_000), ("m-1", 10_000)]);
}

#[test]
fn runs_and_nodes_are_bounded() {
    let mut script = Script::default();
    for i in 0..1_200 {
        script.event(i, "metadata", &format!(r#"{{"run_id":"{i}","attempt":1}}"#));
    }
    for i in 0..5_000 {
        script.event(2_000, "updates", &format!(r#"{{"node-{i}":null}}"#));
        script.event(
            2_000,
            "tasks",
            &format!(r#"{{"id":"{i}","name":"task-{i}","input":1}}"#),
        );
    }
    let metrics = &script.projections.metrics;
    assert_eq!(
        metrics.runs().evicted() + metrics.runs().len() as u64,
        1_200
    );
    assert!(
        metrics.runs().len() <= RunMetrics::MAX_ROWS && metrics.tasks.len() <= super::MAX_TASKS
    );
    assert_eq!(script.run().nodes.len(), super::MAX_NAMES);
}

#[test]
fn malformed_payloads_are_only_counted() {
    let mut script = Script::default();
    for data in [
        "null",
        "[]",
        "{}",
        "\"x\"",
        "{\"run_id\":7}",
        "{\"run_id\":\"\"}",
        "[[]]",
    ] {
        for name in [
            "metadata",
            "values",
            "tasks",
            "debug",
            "updates",
            "messages",
            "state_update",
            "error",
        ] {
            script.event(0, name, data);
        }
    }
    assert!(
        script
            .projections
            .metrics
            .runs()
            .iter()
            .map(|run| run.events)
            .sum::<u64>()
            > 30
    );
}

#[test]
fn a_replay_in_one_burst_has_no_token_rate() {
    let mut script = Script::default();
    script.event(0, "metadata", &metadata(1));
    for n in 0..10 {
        script.token(n, "a", "n", "x", "");
    }
    let run = script.run();
    assert_eq!(
        (
            run.work.chunks,
            run.work.chunks_per_second(),
            run.work.tokens_per_second()
        ),
        (10, None, None)
    );
}

#[test]
fn a_failed_node_fails_its_run_until_it_is_retried() {
    let mut script = Script::default();
    let task = |more: &str| format!(r#"{{"id":"t","name":"boom",{more}}}"#);
    script.event(0, "metadata", &metadata(1)).event(
        1,
        "tasks",
        &task(r#""input":{},"triggers":[]"#),
    );
    assert!(!script.run().failed);
    script.event(
        5,
        "tasks",
        &task(r#""error":"ValueError('boom')","result":null,"interrupts":[]"#),
    );
    assert!(
        script.run().failed,
        "in a thread no other event reports the failure"
    );
    script.event(9, "metadata", &metadata(2));
    assert!(!script.run().failed);
}

#[test]
fn a_model_that_is_named_later_has_the_usage_of_its_call() {
    let mut script = Script::default();
    let message = |more: &str| format!(r#"{{"type":"ai","id":"a","content":"x"{USAGE}{more}}}"#);
    script
        .event(0, "metadata", &metadata(1))
        .event(1, "values", "{}");
    script.event(2, "values", &format!(r#"{{"messages":[{}]}}"#, message("")));
    assert_eq!(
        (script.run().unnamed().1, script.run().outside_nodes().input),
        (1, 11)
    );
    let named = message(r#","response_metadata":{"model_name":"m-2"}"#);
    script.event(
        3,
        "updates",
        &format!(r#"{{"chat":{{"messages":[{named}]}}}}"#),
    );
    let run = script.run();
    assert_eq!(
        (run.unnamed(), run.outside_nodes()),
        ((Usage::default(), 0), Usage::default())
    );
    assert_eq!(
        (
            run.models[0].calls,
            run.models[0].usage.input,
            script.node("chat").work.calls
        ),
        (1, 11, 1)
    );
}

#[test]
fn the_name_in_a_response_replaces_that_of_the_request() {
    let mut script = Script::default();
    script
        .event(0, "metadata", &metadata(1))
        .token(1, "a", "chat", "x", USAGE);
    let named = r#"{"type":"ai","id":"a","content":"x","response_metadata":{"model_name":"m-1-2026-11-01"}}"#;
    script.event(
        3,
        "updates",
        &format!(r#"{{"chat":{{"messages":[{named}]}}}}"#),
    );
    let calls: Vec<_> = script
        .run()
        .models
        .iter()
        .map(|model| (&*model.name, model.calls, model.usage.input))
        .collect();
    assert_eq!(calls, [("m-1", 0, 0), ("m-1-2026-11-01", 1, 11)]);
}

#[test]
fn messages_of_a_subgraph_have_the_node_of_its_tasks() {
    let mut script = Script::default();
    let piece = format!(r#"{{"type":"AIMessageChunk","id":"a","content":"x"{USAGE}}}"#);
    let origin = r#"{"langgraph_node":"read","langgraph_checkpoint_ns":"critic:1f|1|read:2e"}"#;
    script
        .event(0, "metadata", &metadata(1))
        .event(
            1,
            "tasks|critic:1f",
            r#"{"id":"2e","name":"read","input":{},"triggers":[]}"#,
        )
        .event(2, "messages", &format!("[{piece},{origin}]"));
    let names: Vec<&str> = script.run().nodes.iter().map(|node| &*node.name).collect();
    assert_eq!(
        (names, script.node("critic:read").work.usage.input),
        (vec!["critic:read"], 11)
    );
}

/// Returns the time to first token of a message in milliseconds, and whether it is exact.
fn first_token(script: &Script, id: &str) -> Option<(u128, bool)> {
    let first = script.projections.messages.with_id(id)?.first_token()?;
    Some((first.after.as_millis(), first.is_exact))
}

impl Script {
    fn token_of_task(&mut self, ms: i64, id: &str, task: &str) -> &mut Self {
        let piece = format!(r#"{{"type":"AIMessageChunk","id":"{id}","content":"x"}}"#);
        let meta = format!(r#"{{"langgraph_node":"chat","langgraph_checkpoint_ns":"{task}"}}"#);
        self.event(ms, "messages", &format!("[{piece},{meta}]"))
    }
}

#[test]
fn time_to_first_token_counts_from_the_start_of_the_call() {
    let mut script = Script::default();
    script
        .event(100, "metadata", &metadata(1))
        .event(
            200,
            "tasks",
            r#"{"id":"t1","name":"chat","input":{},"triggers":[]}"#,
        )
        .event(
            210,
            "tasks",
            r#"{"id":"t2","name":"chat","input":{},"triggers":[]}"#,
        )
        // Tasks of one node in parallel, each with a call.
        .token_of_task(500, "a", "chat:t1")
        .token_of_task(600, "b", "chat:t2")
        // When the next call of a task started is not known.
        .token_of_task(900, "c", "chat:t1")
        .event(
            1000,
            "events",
            r#"{"event":"on_chat_model_start","run_id":"d","data":{}}"#,
        )
        .token_of_task(1300, "lc_run--d", "chat:t2");
    assert_eq!(first_token(&script, "a"), Some((290, false)));
    assert_eq!(first_token(&script, "b"), Some((390, false)));
    assert_eq!(first_token(&script, "c"), None);
    assert_eq!(first_token(&script, "lc_run--d"), Some((300, true)));
    // The node shows its newest call; the run counts from its own start.
    assert_eq!(
        script
            .node("chat")
            .first_token
            .map(|first| first.after.as_millis()),
        Some(300)
    );
    assert_eq!(script.run().to_first_token(), ms(400));
}

#[test]
fn calls_inside_of_a_task_without_events_share_its_start_once() {
    let mut script = Script::default();
    script
        .event(100, "metadata", &metadata(1))
        .event(
            200,
            "tasks",
            r#"{"id":"t1","name":"research","input":{},"triggers":[]}"#,
        )
        .event(200, "values", "{}")
        // A subgraph whose steps the stream doesn't contain.
        .token_of_task(700, "a", "research:t1|chat:u1")
        .token_of_task(3_000, "b", "research:t1|chat:u2");
    assert_eq!(
        (first_token(&script, "a"), first_token(&script, "b")),
        (Some((500, false)), None)
    );
}

#[test]
fn the_next_step_starts_after_the_messages_of_the_previous_one() {
    // Without states or tasks, only the messages show the steps.
    let mut script = Script::default();
    script.event(100, "metadata", &metadata(1));
    for (ms, id, step) in [
        (300, "a", 1),
        (800, "a", 1),
        (1_500, "b", 2),
        (1_600, "b", 2),
    ] {
        let piece = format!(r#"{{"type":"AIMessageChunk","id":"{id}","content":"x"}}"#);
        let meta = format!(
            r#"{{"langgraph_node":"chat","langgraph_step":{step},"langgraph_checkpoint_ns":"chat:{id}"}}"#
        );
        script.event(ms, "messages", &format!("[{piece},{meta}]"));
    }
    assert_eq!(
        (first_token(&script, "a"), first_token(&script, "b")),
        (Some((200, false)), Some((700, false)))
    );
}
