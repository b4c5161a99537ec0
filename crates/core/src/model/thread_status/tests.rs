//! The status of threads from records of real servers, with and without their runs.

use super::*;
use serde_json::{Value, json};

/// The records of a captured thread.
#[derive(Default)]
struct Case {
    thread: Option<ThreadFacts>,
    state: Option<StateFacts>,
    runs: Option<Vec<RunFacts>>,
}

impl Case {
    fn captured(name: &str) -> Case {
        let path = format!(
            "{}/../../tests/fixtures/threads/{name}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        Case {
            thread: case
                .get("thread")
                .map(|row| ThreadFacts::read(&row.to_string()).unwrap()),
            state: case
                .get("state")
                .map(|row| StateFacts::read(&row.to_string()).unwrap()),
            runs: None,
        }
    }

    fn of(thread: Value, state: Value, runs: Value) -> Case {
        let some = |value: Value| Some(value.to_string()).filter(|text| text != "null");
        Case {
            thread: some(thread).map(|row| ThreadFacts::read(&row).unwrap()),
            state: some(state).map(|row| StateFacts::read(&row).unwrap()),
            runs: some(runs).map(|rows| RunFacts::read_all(&rows).unwrap()),
        }
    }

    fn with_run(mut self, status: &str) -> Case {
        self.runs = RunFacts::read_all(&json!([run("r", status, 9, 10)]).to_string()).ok();
        self
    }

    fn status(&self) -> ThreadStatus {
        let Case {
            thread,
            state,
            runs,
        } = self;
        ThreadStatus::derive(ThreadRecords {
            thread: thread.as_ref(),
            state: state.as_ref(),
            runs: runs.as_deref(),
        })
    }

    fn word(&self) -> &'static str {
        self.status().word()
    }
}

fn at(minute: u8) -> String {
    format!("2026-11-22T03:{minute:02}:00Z")
}

fn run(id: &str, status: &str, created: u8, updated: u8) -> Value {
    json!({"run_id": id, "status": status, "created_at": at(created), "updated_at": at(updated)})
}

fn state(source: &str, next: &[&str]) -> Value {
    let tasks: Vec<Value> = next
        .iter()
        .map(|node| json!({"id": *node, "name": node, "interrupts": []}))
        .collect();
    json!({"values": {}, "next": next, "tasks": tasks, "metadata": {"source": source, "step": 3, "run_id": "r"},
           "created_at": at(10), "checkpoint": {"checkpoint_id": "c"}})
}

#[test]
fn captured_threads_have_the_expected_status() {
    for (name, newest, word) in [
        ("question", "success", "waiting for you"),
        ("questions-parallel", "success", "waiting for you"),
        (
            "questions-parallel-one-answered",
            "success",
            "waiting for you",
        ),
        ("question-with-schema", "success", "waiting for you"),
        ("question-nested", "success", "waiting for you"),
        ("question-hitl", "success", "waiting for you"),
        ("question-inbox", "success", "waiting for you"),
        ("js-questions", "success", "waiting for you"),
        // A copy has no runs and is idle, but its state has an open question.
        ("copy-of-waiting", "", "waiting for you"),
        ("failed", "error", "failed"),
        ("cancelled", "interrupted", "cancelled"),
    ] {
        let case = Case::captured(name);
        assert_eq!(case.word(), word, "{name}, without its runs");
        let case = if newest.is_empty() {
            case
        } else {
            case.with_run(newest)
        };
        assert_eq!(case.word(), word, "{name}");
    }
    // Only the state distinguishes a breakpoint from other causes.
    let breakpoint = Case::captured("breakpoint");
    assert_eq!(breakpoint.word(), "interrupted");
    let stopped = StateFacts::read(&state("loop", &["c"]).to_string()).unwrap();
    assert_eq!(
        Case {
            state: Some(stopped),
            ..breakpoint
        }
        .word(),
        "paused"
    );
}

#[test]
fn only_open_questions_are_pending() {
    let ids = |name: &str| -> Vec<String> {
        Case::captured(name)
            .status()
            .questions()
            .iter()
            .filter_map(|q| q.id.clone())
            .collect()
    };
    assert_eq!(ids("questions-parallel").len(), 3);
    assert_eq!(ids("questions-parallel-one-answered").len(), 2);
    assert_eq!(ids("js-questions").len(), 3);
    // JavaScript keeps an answered question in the state; its thread has only the open ones.
    let mut answered = Case::captured("js-questions");
    let kept = answered.thread.as_mut().map(|thread| {
        thread.questions.truncate(1);
        thread.questions[0].id.clone().unwrap()
    });
    let open = answered.status();
    assert_eq!(
        open.questions()
            .iter()
            .map(|q| q.id.clone())
            .collect::<Vec<_>>(),
        [kept]
    );
    assert_eq!(open.questions()[0].node.as_deref(), Some("ask_one"));
    // Python's thread lists only the task of a subgraph that asked last.
    let mut listed = Case::captured("questions-parallel");
    listed.thread = ThreadFacts::read(
        r#"{"status":"interrupted","interrupts":{"inner":[{"id":"only","value":1}]}}"#,
    )
    .ok();
    assert_eq!(listed.status().questions().len(), 3);
    // Schemas belong to questions, and a question that remains after a failed answer doesn't mean a waiting thread.
    assert!(
        Case::captured("question-with-schema").status().questions()[0]
            .response_schema
            .is_some()
    );
    let poisoned = Case {
        thread: ThreadFacts::read(r#"{"status":"error"}"#).ok(),
        ..Case::captured("poisoned")
    };
    let ThreadStatus::Failed { error, .. } = poisoned.status() else {
        panic!("{:?}", poisoned.status())
    };
    assert!(error.contains("human decisions"), "{error}");
}

#[test]
fn runs_show_which_questions_a_javascript_server_lists_again() {
    // As @langchain/langgraph-api 1.5.1 reports a thread on which two of three questions were answered.
    let ask = |id: &str| json!({"id": id, "value": id});
    let task = |id: &str| json!({"id": id, "name": "ask", "interrupts": [ask(id)], "result": null});
    let thread =
        json!({"status": "interrupted", "interrupts": {"1": [ask("left")], "2": [ask("middle")]}});
    let mut state = state("loop", &["ask"]);
    state["tasks"] = json!([task("left"), task("middle"), task("right")]);
    let answering = |run: &str, id: &str, status: &str| json!({"run_id": run, "status": status, "kwargs": {"command": {"resume": {id: 1}}}});
    let open = |runs: Value| {
        let status = Case::of(thread.clone(), state.clone(), runs).status();
        let ids: Vec<String> = status
            .questions()
            .iter()
            .filter_map(|question| question.id.clone())
            .collect();
        ids.join(" ")
    };
    assert_eq!(
        open(json!([
            answering("b", "right", "success"),
            answering("a", "middle", "success")
        ])),
        "left"
    );
    // A failed run has answered nothing, and a run without an answer says nothing.
    assert_eq!(
        open(json!([answering("a", "middle", "error")])),
        "left middle"
    );
    assert_eq!(
        open(json!([{"run_id": "a", "status": "success", "kwargs": {"command": null}}])),
        "left middle"
    );
    assert_eq!(open(Value::Null), "left middle");
}

#[test]
fn failures_name_their_cause_and_nodes() {
    let ThreadStatus::Failed {
        error,
        nodes,
        timed_out,
        ..
    } = Case::captured("failed").status()
    else {
        panic!()
    };
    assert_eq!(
        (error.as_str(), nodes, timed_out),
        (
            "ValueError: n must not be 0",
            vec!["maybe".to_string()],
            false
        )
    );
    // Aegra's thread has no error; the run or the state has it.
    let aegra = Case::of(
        json!({"status": "error"}),
        json!({"next": ["boom"], "tasks": [{"name": "boom", "error": "ValueError('boom')"}], "created_at": at(1)}),
        json!([run("r", "error", 0, 1)]),
    );
    let ThreadStatus::Failed { error, nodes, .. } = aegra.status() else {
        panic!()
    };
    assert_eq!(
        (error.as_str(), nodes),
        ("ValueError: boom", vec!["boom".to_string()])
    );
    let timeout = Case::of(
        json!({"status": "error"}),
        Value::Null,
        json!([run("r", "timeout", 0, 1)]),
    );
    assert_eq!(timeout.word(), "timed out");
}

/// Aegra 0.11: with updates the run and the thread are interrupted, without them the run is a success and the thread idle.
#[test]
fn a_breakpoint_of_aegra_is_a_pause_in_both_forms() {
    let read = |part: &str| {
        let path = format!(
            "{}/../../tests/captures/agents/aegra-breakpoint-{part}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap()["response"]
            ["body"]
            .take()
    };
    let (mut thread, state, mut runs) = (read("thread"), read("state"), read("runs"));
    assert_eq!(
        (&thread["status"], &runs[0]["status"]),
        (&json!("interrupted"), &json!("interrupted"))
    );
    for (of_thread, of_run, word) in [
        ("interrupted", "interrupted", "paused"),
        ("idle", "success", "paused"),
        ("idle", "interrupted", "cancelled"),
    ] {
        (thread["status"], runs[0]["status"]) = (of_thread.into(), of_run.into());
        let case = Case::of(thread.clone(), state.clone(), runs.clone());
        assert_eq!(case.word(), word, "{of_thread} {of_run}");
        if let ThreadStatus::Paused { next, after, .. } = case.status() {
            assert_eq!((next, after), (vec!["tools".to_string()], false));
        }
    }
    // The state of a run that began in the meantime.
    runs[0]["run_id"] = "another".into();
    runs[0]["status"] = "success".into();
    assert_eq!(
        Case::of(thread.clone(), state.clone(), runs.clone()).word(),
        "idle"
    );
    // An edit keeps the thread idle, whatever is left to run.
    let mut edited = state;
    edited["metadata"] = json!({"source": "update"});
    assert_eq!(Case::of(thread, edited, runs).word(), "state edited");
}

#[test]
fn active_runs_take_precedence() {
    let old_question = Case::captured("question");
    assert_eq!(old_question.with_run("running").word(), "running");
    let queue = json!([
        run("c", "pending", 5, 5),
        run("b", "pending", 4, 4),
        run("a", "success", 1, 2)
    ]);
    let queued = Case::of(json!({"status": "busy"}), state("loop", &[]), queue);
    let ThreadStatus::Queued {
        waiting,
        run_id,
        since,
    } = queued.status()
    else {
        panic!()
    };
    assert_eq!(
        (waiting, run_id.as_deref(), since),
        (2, Some("b"), at(4).parse().ok())
    );
    let runs = json!([run("q", "pending", 6, 6), run("r", "running", 5, 5)]);
    let running = Case::of(json!({"status": "busy"}), state("loop", &["chat"]), runs);
    let ThreadStatus::Running {
        nodes,
        step,
        run_id,
        queued,
        since,
    } = running.status()
    else {
        panic!()
    };
    assert_eq!(
        (nodes, step, run_id.as_deref(), queued),
        (vec!["chat".to_string()], Some(4), Some("r"), 1)
    );
    assert_eq!(since, at(5).parse().ok());
    // The checkpoint is of an earlier run, so the position of the new run is unknown.
    let runs = json!([run("other", "running", 5, 5)]);
    let ThreadStatus::Running { nodes, step, .. } =
        Case::of(json!({"status": "busy"}), state("loop", &["chat"]), runs).status()
    else {
        panic!()
    };
    assert_eq!((nodes.len(), step), (0, None));
}

#[test]
fn causes_of_interrupted_threads_are_distinguished() {
    let interrupted =
        || json!({"status": "interrupted", "error": null, "interrupts": {}, "updated_at": at(11)});
    let paused = Case::of(
        interrupted(),
        state("loop", &["write"]),
        json!([run("r", "success", 1, 2)]),
    );
    assert!(
        matches!(paused.status(), ThreadStatus::Paused { after: false, .. }),
        "{:?}",
        paused.status()
    );
    let mut stopped_after = run("r", "success", 1, 2);
    stopped_after["kwargs"] = json!({"interrupt_after": ["read"]});
    let paused = Case::of(
        interrupted(),
        state("loop", &["write"]),
        json!([stopped_after]),
    );
    assert!(
        matches!(paused.status(), ThreadStatus::Paused { after: true, .. }),
        "{:?}",
        paused.status()
    );
    // Before a join of several edges, the Python server lists no next node.
    let at_join = |before: Value| {
        let mut stopped = run("r", "success", 1, 2);
        stopped["kwargs"] = json!({"interrupt_before": before});
        Case::of(interrupted(), state("loop", &[]), json!([stopped])).status()
    };
    let since = at_join(json!(["join"])).time();
    assert_eq!(
        at_join(json!(["join"])),
        ThreadStatus::Paused {
            since,
            next: vec!["join".into()],
            after: false
        }
    );
    assert_eq!(
        at_join(json!(["join", "write"])),
        ThreadStatus::Paused {
            since,
            next: vec![],
            after: false
        }
    );
    assert_eq!(
        at_join(json!([])),
        ThreadStatus::Stopped {
            since,
            next: vec![]
        }
    );
    let edited = Case::of(
        interrupted(),
        state("update", &["write"]),
        json!([run("r", "error", 1, 2)]),
    );
    assert!(
        matches!(edited.status(), ThreadStatus::Edited { .. }),
        "{:?}",
        edited.status()
    );
    let cancelled = Case::of(
        interrupted(),
        state("loop", &["write"]),
        json!([run("r", "interrupted", 1, 2)]),
    );
    assert_eq!(
        cancelled.status(),
        ThreadStatus::Cancelled {
            at: at(2).parse().ok(),
            next: vec!["write".into()]
        }
    );
    // JavaScript leaves the thread idle after a cancel; only the run shows it.
    let cancelled = Case::of(
        json!({"status": "idle"}),
        state("loop", &["write"]),
        json!([run("r", "interrupted", 1, 2)]),
    );
    assert_eq!(cancelled.word(), "cancelled");
    // The state was edited since.
    let ended = Case::of(
        json!({"status": "idle"}),
        state("update", &[]),
        json!([run("r", "interrupted", 1, 2)]),
    );
    assert_eq!(ended.word(), "idle");
}

#[test]
fn missing_records_give_an_unknown_status() {
    assert_eq!(Case::default().word(), "status unknown");
    let nothing = Case::of(Value::Null, Value::Null, json!([]));
    assert_eq!(
        nothing.status(),
        ThreadStatus::Idle {
            ended: None,
            began: None
        }
    );
    let unknown = Case::of(json!({"status": "archived"}), Value::Null, json!([]));
    assert_eq!(
        unknown.status(),
        ThreadStatus::Unknown {
            why: "the thread's status is archived".into()
        }
    );
    let busy = Case::of(
        json!({"status": "busy", "updated_at": at(3)}),
        state("loop", &[]),
        json!([run("r", "success", 1, 2)]),
    );
    assert_eq!(
        busy.status(),
        ThreadStatus::BusyWithoutRun {
            since: at(3).parse().ok()
        }
    );
    // Whether a run is active can't be known without the runs.
    let busy = Case::of(json!({"status": "busy"}), Value::Null, Value::Null);
    assert_eq!(busy.word(), "running");
    let idle = Case::of(
        json!({"status": "idle"}),
        state("loop", &[]),
        json!([run("r", "success", 1, 2)]),
    );
    assert_eq!(
        idle.status(),
        ThreadStatus::Idle {
            ended: at(2).parse().ok(),
            began: at(1).parse().ok()
        }
    );
}

#[test]
fn retry_offers_only_remaining_work() {
    let again = |state: Option<StateFacts>, runs: Option<&[RunFacts]>| {
        let thread = ThreadFacts {
            status: "error".into(),
            ..ThreadFacts::default()
        };
        ThreadRecords {
            thread: Some(&thread),
            state: state.as_ref(),
            runs,
        }
        .again()
    };
    let state = |next: &[&str]| {
        Some(StateFacts {
            next: next.iter().map(|node| node.to_string()).collect(),
            ..StateFacts::default()
        })
    };
    let runs = [RunFacts {
        run_id: "r".into(),
        status: "error".into(),
        ..RunFacts::default()
    }];
    assert_eq!(again(state(&["boom"]), Some(&runs)), Again::Steps);
    assert_eq!(again(state(&[]), Some(&runs)), Again::Input);
    // JavaScript reports a thread as failed even after all its runs and checkpoints were deleted.
    assert_eq!(again(state(&[]), Some(&[])), Again::Nothing);
    // Missing records hide no action.
    assert_eq!(again(None, None), Again::Steps);
    assert_eq!(again(state(&[]), None), Again::Input);
}

/// A capture of an agent whose run failed (`tests/captures/agents`).
fn captured_agent(name: &str) -> Case {
    let part = |part: &str| {
        let path = format!(
            "{}/../../tests/captures/agents/{name}-{part}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let capture: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        capture["response"]["body"].clone()
    };
    Case::of(part("thread"), part("state"), part("runs"))
}

#[test]
fn a_failure_has_the_most_specific_text_of_all_records() {
    let overloaded = "Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}";
    for (name, cause) in [
        ("modelfail", format!("ConnectionError: {overloaded}")),
        ("aegra-modelfail", format!("ConnectionError: {overloaded}")),
    ] {
        let case = captured_agent(name);
        assert_eq!(case.status().error(), Some(&*cause), "{name}");
    }
    let case = captured_agent("provider");
    assert!(
        !case.status().error().unwrap().contains("internal error"),
        "{:?}",
        case.status()
    );
    // Without the state, the general text is better than none.
    let masked = Case {
        state: None,
        ..captured_agent("modelfail")
    };
    assert_eq!(
        masked.status().error(),
        Some("ConnectionError: An internal error occurred")
    );
}
