//! Tests of the metrics, with scripted events.

use crate::projection::rows::Weigh;
use crate::projection::{ModelMetrics, NodeMetrics, RunMetrics, Usage, node_sums};
use crate::tests::{Script, at};
use crate::{End, Item, Outcome, Record, Seq};
use jiff::SignedDuration;
use std::time::Duration;

const RUN: &str = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";

impl Script {
    /// Applies a chunk of a message, with more fields of the message and of its origin.
    fn token(&mut self, ms: i64, id: &str, text: &str, more: &str, origin: &str) -> &mut Self {
        let piece = format!(r#"{{"type":"AIMessageChunk","id":"{id}","content":"{text}"{more}}}"#);
        let meta = format!(r#"{{"ls_model_name":"m-1",{origin}}}"#);
        self.event(ms, "messages", &format!("[{piece},{meta}]"));
        self
    }

    fn attempt_began(&mut self, ms: i64, attempt: u64) -> &mut Self {
        self.play(&format!(
            r#"{ms} metadata {{"run_id":"{RUN}","attempt":{attempt}}}"#
        ))
    }

    fn newest_run(&self) -> &RunMetrics {
        self.projections.metrics.runs().last().unwrap()
    }

    fn node(&self, name: &str) -> &NodeMetrics {
        let mut nodes = self.newest_run().nodes.iter();
        nodes.find(|node| &*node.name == name).unwrap()
    }

    /// Returns the time to first token of a message in milliseconds, and whether it is exact.
    fn first_token(&self, id: &str) -> Option<(u128, bool)> {
        let first = self.projections.messages.with_id(id)?.first_token()?;
        Some((first.after.as_millis(), first.is_exact))
    }
}

fn node(name: &str) -> String {
    format!(r#""langgraph_node":"{name}""#)
}

/// Returns the origin of a message of a task of `chat`.
fn task(path: &str) -> String {
    format!(r#""langgraph_node":"chat","langgraph_checkpoint_ns":"{path}""#)
}

fn ms(n: i64) -> Option<SignedDuration> {
    Some(SignedDuration::from_millis(n))
}

const USAGE: &str = r#","usage_metadata":{"input_tokens":11,"output_tokens":30,"total_tokens":41}"#;

#[test]
fn metrics_of_a_run_that_we_started() {
    let mut script = Script::default();
    let chat = node("chat");
    script
        .item(Item::Connecting { at: at(0), conn: 1 })
        .item(Item::Record(Record::Open { at: at(40), conn: 1, status: 200, resumed_after: None }))
        .item(Item::Started { thread_id: None, run_id: RUN.into() })
        .attempt_began(900, 1)
        .play(
            r#"1000 values {"messages":[{"type":"ai","id":"old","content":"before","usage_metadata":{"input_tokens":5,"output_tokens":5}}]}
               1010 tasks {"id":"t1","name":"chat","input":{},"triggers":[]}"#,
        )
        .token(1410, "a", "It ", "", &chat)
        .token(1510, "a", "is ", "", &chat)
        .token(1610, "a", "so.", "", &chat)
        .token(1620, "a", "", USAGE, &chat)
        .play(
            r#"2020 updates {"chat":{"messages":[{"type":"ai","id":"a","content":"It is so.","tool_calls":[{"name":"f","args":{},"id":"c"}],"usage_metadata":{"input_tokens":11,"output_tokens":30,"total_tokens":41}}]}}
               2025 tasks {"id":"t1","name":"chat","error":null,"result":{},"interrupts":[]}
               2030 values {"messages":[{"type":"ai","id":"old","content":"before"},{"type":"ai","id":"a","content":"It is so."}]}"#,
        );
    let (run, node) = (script.newest_run(), script.node("chat"));
    let times = [run.to_first_token(), run.took(at(3000))];
    assert_eq!(times, [ms(1410), ms(3000)]);
    assert_eq!(
        (
            run.is_open(),
            run.events,
            script.projections.metrics.runs().len()
        ),
        (true, 9, 1)
    );
    let usage = Usage {
        input: 11,
        output: 30,
        total: 41,
        ..Usage::default()
    };
    let work = &run.work;
    let counts = [
        work.chunks,
        work.messages,
        work.tool_calls,
        work.errors,
        work.calls,
        run.unnamed().1,
    ];
    assert_eq!(counts, [3, 1, 1, 0, 1, 0]);
    let (name, calls) = ("m-1".into(), 1);
    assert_eq!(
        (work.usage, &run.models),
        (usage, &vec![ModelMetrics { name, usage, calls }])
    );
    assert_eq!(work.tokens_per_second(), Some(145.0));
    assert_eq!(
        node.first_token.map(|first| first.after.as_millis()),
        Some(400)
    );
    let sums = node_sums(run, &script.projections.timeline, at(9_000));
    let visits = sums
        .iter()
        .map(|sum| sum.activity.as_ref().map(|activity| activity.visits));
    assert!(visits.eq([Some(1)]));
    assert_eq!(sums[0].time(), Some(Duration::from_millis(1015)));
    let of_node = (
        node.work.usage,
        node.work.chunks,
        node.work.messages,
        run.nodes.len(),
    );
    assert_eq!(of_node, (usage, 3, 1, 1));
    script.item(Item::Record(Record::End(End {
        at: at(4000),
        outcome: Outcome::Success,
        ..End::default()
    })));
    // The run ended with its last event, although the server closed the stream later.
    let run = script.newest_run();
    assert_eq!(
        (run.took(at(9000)), run.outcome),
        (ms(2030), Some(Outcome::Success))
    );
}

#[test]
fn failed_attempts_count_as_lost_time() {
    let mut script = Script::default();
    script
        .attempt_began(0, 1)
        .token(100, "a", "x", "", &node("n"));
    script
        .attempt_began(3400, 2)
        .token(3500, "b", "x", "", &node("n"));
    // A replay repeats a known attempt.
    script.attempt_began(3600, 2).attempt_began(4000, 3);
    let run = script.newest_run();
    let (lost, second) = (
        SignedDuration::from_millis(3400),
        SignedDuration::from_millis(600),
    );
    assert_eq!(
        (run.attempts, run.lost, run.began),
        (3, lost + second, Some(at(0)))
    );
    assert_eq!((run.work.chunks, run.asked), (2, None));
    assert_eq!(run.retries, [(Seq(3), lost), (Seq(6), second)]);
}

#[test]
fn runs_of_a_thread_are_counted_separately() {
    // Joined in the middle of a run: only its end contains its id.
    let script = Script::of(
        r#"0 updates {"late":{"x":1}}
           10 metadata {"run_id":"r1","status":"run_done"}
           20 state_update {"thread_id":"t","state":{"values":{"messages":[{"type":"ai","id":"h","content":"by hand"}]}}}
           30 metadata {"run_id":"r2","attempt":1}
           40 error {"error":"E","message":"m"}
           50 metadata {"run_id":"r2","status":"run_done"}
           60 metadata {"run_id":"r3","attempt":1}
           70 values {"x":1}"#,
    );
    let runs = script.projections.metrics.runs();
    let row = |r: &RunMetrics| {
        (
            r.run_id.as_deref().unwrap().to_string(),
            r.events,
            r.work.errors,
            r.ended,
        )
    };
    let rows = [
        ("r1", 1, 0, Some(at(10))),
        ("r2", 1, 1, Some(at(50))),
        ("r3", 1, 0, None),
    ];
    let expected = rows.map(|(id, events, errors, ended)| (id.to_string(), events, errors, ended));
    assert_eq!(runs.iter().map(row).collect::<Vec<_>>(), expected);
    let of_runs = (runs[0].start(), runs[1].took(at(99)), runs[0].nodes.len());
    assert_eq!(of_runs, (None, ms(20), 0));
    assert_eq!(script.projections.metrics.run("r2").unwrap().seq, Seq(4));
}

#[test]
fn runs_of_the_newer_protocol() {
    let of = |ms: i64, event: &str| {
        format!(
            r#"{ms} lifecycle {{"type":"event","method":"lifecycle","params":{{"namespace":[],"data":{{"event":"{event}"}}}}}}"#
        )
    };
    let custom = |ms: i64| format!("{ms} custom 1");
    let script = Script::of(
        &[
            of(0, "running"),
            custom(100),
            of(200, "completed"),
            custom(300),
            of(900, "running"),
            of(950, "failed"),
        ]
        .join("\n"),
    );
    let runs = script.projections.metrics.runs().iter();
    let rows: Vec<_> = runs
        .map(|run| (run.events, run.took(at(0)), run.outcome, run.work.errors))
        .collect();
    let expected = [
        (4, ms(200), Some(Outcome::Success), 0),
        (2, ms(50), Some(Outcome::Error), 1),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn parallel_branches_and_failures() {
    let mut script = Script::default();
    script.attempt_began(0, 1);
    for (i, name) in (0..10).map(|i| (i, if i % 2 == 0 { "left" } else { "right" })) {
        script.token(1000 + i * 100, name, "x", "", &node(name));
    }
    script.play(
        r#"5000 tasks|sub:1|inner:2 {"id":"t","name":"deep","input":{},"triggers":[]}
           6000 tasks|sub:1|inner:2 {"id":"t","name":"deep","error":"boom","result":null}
           6001 messages [{"type":"tool","id":"t1","content":"no","status":"error","tool_call_id":"c"},{"langgraph_node":"tools"}]"#,
    );
    let run = &script.newest_run().work;
    let errors = ["sub:inner:deep", "tools"].map(|name| script.node(name).work.errors);
    assert_eq!((errors, run.errors), ([1, 1], 1));
}

#[test]
fn a_state_with_ten_thousand_messages_is_scanned_once() {
    let text = "word ".repeat(40);
    let message = |i: usize| {
        format!(
            r#"{{"type":"ai","id":"{i}","content":"{text}","usage_metadata":{{"output_tokens":2}},"response_metadata":{{"model_name":"m-{}"}}}}"#,
            i % 2
        )
    };
    let messages: Vec<String> = (0..10_000).map(message).collect();
    let mut script = Script::default();
    script.attempt_began(0, 1).event(10, "values", "{}");
    script.event(
        20,
        "values",
        &format!(r#"{{"messages":[{}]}}"#, messages.join(",")),
    );
    let models = script.newest_run().models.iter();
    let used: Vec<(&str, u64)> = models
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
    assert_eq!(script.newest_run().nodes.len(), super::MAX_NAMES);
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
    let runs = script.projections.metrics.runs().iter();
    assert!(runs.map(|run| run.events).sum::<u64>() > 30);
}

#[test]
fn a_replay_in_one_burst_has_no_token_rate() {
    let mut script = Script::default();
    script.attempt_began(0, 1);
    for n in 0..10 {
        script.token(n, "a", "x", "", &node("n"));
    }
    let work = &script.newest_run().work;
    assert_eq!((work.chunks, work.tokens_per_second()), (10, None));
}

#[test]
fn a_failed_node_fails_its_run_until_it_is_retried() {
    let mut script = Script::default();
    script.attempt_began(0, 1);
    script.play(r#"1 tasks {"id":"t","name":"boom","input":{},"triggers":[]}"#);
    assert!(!script.newest_run().failed);
    script.play(r#"5 tasks {"id":"t","name":"boom","error":"ValueError('boom')","result":null,"interrupts":[]}"#);
    assert!(
        script.newest_run().failed,
        "in a thread no other event reports the failure"
    );
    script.attempt_began(9, 2);
    assert!(!script.newest_run().failed);
}

#[test]
fn a_model_that_is_named_later_has_the_usage_of_its_call() {
    let mut script = Script::default();
    let message = |more: &str| format!(r#"{{"type":"ai","id":"a","content":"x"{USAGE}{more}}}"#);
    script.attempt_began(0, 1).event(1, "values", "{}");
    script.event(2, "values", &format!(r#"{{"messages":[{}]}}"#, message("")));
    let run = script.newest_run();
    assert_eq!((run.unnamed().1, run.outside_nodes().input), (1, 11));
    let named = message(r#","response_metadata":{"model_name":"m-2"}"#);
    script.event(
        3,
        "updates",
        &format!(r#"{{"chat":{{"messages":[{named}]}}}}"#),
    );
    let run = script.newest_run();
    assert_eq!(
        (run.unnamed(), run.outside_nodes()),
        ((Usage::default(), 0), Usage::default())
    );
    let model = &run.models[0];
    assert_eq!(
        (
            model.calls,
            model.usage.input,
            script.node("chat").work.calls
        ),
        (1, 11, 1)
    );
}

#[test]
fn the_name_in_a_response_replaces_that_of_the_request() {
    let mut script = Script::default();
    script.attempt_began(0, 1).token(1, "a", "x", USAGE, &node("chat")).play(
        r#"3 updates {"chat":{"messages":[{"type":"ai","id":"a","content":"x","response_metadata":{"model_name":"m-1-2026-11-01"}}]}}"#,
    );
    let models = script.newest_run().models.iter();
    let calls: Vec<_> = models
        .map(|model| (&*model.name, model.calls, model.usage.input))
        .collect();
    assert_eq!(calls, [("m-1", 0, 0), ("m-1-2026-11-01", 1, 11)]);
}

#[test]
fn messages_of_a_subgraph_have_the_node_of_its_tasks() {
    let mut script = Script::default();
    let origin = r#""langgraph_node":"read","langgraph_checkpoint_ns":"critic:1f|1|read:2e""#;
    script
        .attempt_began(0, 1)
        .play(r#"1 tasks|critic:1f {"id":"2e","name":"read","input":{},"triggers":[]}"#)
        .token(2, "a", "x", USAGE, origin);
    assert_eq!(script.newest_run().nodes.len(), 1);
    assert_eq!(script.node("critic:read").work.usage.input, 11);
}

#[test]
fn time_to_first_token_counts_from_the_start_of_the_call() {
    let mut script = Script::default();
    script.attempt_began(100, 1).play(
        r#"200 tasks {"id":"t1","name":"chat","input":{},"triggers":[]}
           210 tasks {"id":"t2","name":"chat","input":{},"triggers":[]}"#,
    );
    // Tasks of one node in parallel, each with a call. When the next call of a task started is not known.
    for (ms, id, path) in [
        (500, "a", "chat:t1"),
        (600, "b", "chat:t2"),
        (900, "c", "chat:t1"),
    ] {
        script.token(ms, id, "x", "", &task(path));
    }
    script
        .play(r#"1000 events {"event":"on_chat_model_start","run_id":"d","data":{}}"#)
        .token(1300, "lc_run--d", "x", "", &task("chat:t2"));
    let times = ["a", "b", "c", "lc_run--d"].map(|id| script.first_token(id));
    assert_eq!(
        times,
        [
            Some((290, false)),
            Some((390, false)),
            None,
            Some((300, true))
        ]
    );
    // The node shows its newest call; the run counts from its own start.
    let of_node = script
        .node("chat")
        .first_token
        .map(|first| first.after.as_millis());
    assert_eq!(
        (of_node, script.newest_run().to_first_token()),
        (Some(300), ms(400))
    );
}

#[test]
fn calls_inside_of_a_task_without_events_share_its_start_once() {
    let mut script = Script::default();
    script.attempt_began(100, 1).play(
        r#"200 tasks {"id":"t1","name":"research","input":{},"triggers":[]}
           200 values {}"#,
    );
    // A subgraph whose steps the stream doesn't contain.
    script.token(700, "a", "x", "", &task("research:t1|chat:u1"));
    script.token(3_000, "b", "x", "", &task("research:t1|chat:u2"));
    assert_eq!(
        ["a", "b"].map(|id| script.first_token(id)),
        [Some((500, false)), None]
    );
}

#[test]
fn the_next_step_starts_after_the_messages_of_the_previous_one() {
    // Without states or tasks, only the messages show the steps.
    let mut script = Script::default();
    script.attempt_began(100, 1);
    for (ms, id, step) in [
        (300, "a", 1),
        (800, "a", 1),
        (1_500, "b", 2),
        (1_600, "b", 2),
    ] {
        let origin = format!(r#"{},"langgraph_step":{step}"#, task(&format!("chat:{id}")));
        script.token(ms, id, "x", "", &origin);
    }
    let times = ["a", "b"].map(|id| script.first_token(id));
    assert_eq!(times, [Some((200, false)), Some((700, false))]);
}
