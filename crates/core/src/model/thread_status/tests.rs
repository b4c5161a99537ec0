//! The status of threads from records of real servers, with and without their runs.

use super::*;
use crate::fixtures;
use serde_json::json;

/// The records of a thread.
#[derive(Default)]
struct Case {
    thread: Option<ThreadFacts>,
    state: Option<StateFacts>,
    runs: Option<Vec<RunFacts>>,
}

impl Case {
    /// Reads records; null, or no text, is one that was not loaded.
    fn of(thread: &str, state: &str, runs: &str) -> Case {
        let some = |text| Some(text).filter(|text| !matches!(*text, "" | "null"));
        Case {
            thread: some(thread).map(|row| ThreadFacts::read(row).unwrap()),
            state: some(state).map(|row| StateFacts::read(row).unwrap()),
            runs: some(runs).map(|rows| RunFacts::read_all(rows).unwrap()),
        }
    }

    fn captured(name: &str) -> Case {
        let case = fixtures::json(&format!("fixtures/threads/{name}"));
        Case::of(&case["thread"].to_string(), &case["state"].to_string(), "")
    }

    /// A capture of an agent (`tests/captures/agents`).
    fn captured_agent(name: &str) -> Case {
        let [thread, state, runs] = agent(name).map(|part| part.to_string());
        Case::of(&thread, &state, &runs)
    }

    fn with_run(self, status: &str) -> Case {
        let runs = Case::of("", "", &format!("[{}]", run("r", status, [9, 10]))).runs;
        Case { runs, ..self }
    }

    fn status(&self) -> ThreadStatus {
        ThreadStatus::derive(ThreadRecords {
            thread: self.thread.as_ref(),
            state: self.state.as_ref(),
            runs: self.runs.as_deref(),
        })
    }

    fn word(&self) -> &'static str {
        self.status().word()
    }

    /// Returns the ids of its open questions.
    fn asks(&self) -> String {
        let status = self.status();
        let ids = status
            .questions()
            .iter()
            .filter_map(|question| question.id.as_deref());
        ids.collect::<Vec<_>>().join(" ")
    }
}

fn agent(name: &str) -> [Value; 3] {
    ["thread", "state", "runs"].map(|part| {
        fixtures::json(&format!("captures/agents/{name}-{part}"))["response"]["body"].take()
    })
}

/// A run that was requested and changed in these minutes.
fn run(id: &str, status: &str, [created, updated]: [u8; 2]) -> String {
    let at = |minute: u8| format!("2026-11-22T03:{minute:02}:00Z");
    let (created, updated) = (at(created), at(updated));
    json!({"run_id": id, "status": status, "created_at": created, "updated_at": updated})
        .to_string()
}

fn state(source: &str, next: &[&str]) -> String {
    let task = |node: &&str| json!({"id": node, "name": node, "interrupts": []});
    let tasks: Vec<Value> = next.iter().map(task).collect();
    json!({"values": {}, "next": next, "tasks": tasks, "metadata": {"source": source, "step": 3, "run_id": "r"},
        "created_at": "2026-11-22T03:10:00Z", "checkpoint": {"checkpoint_id": "c"}})
    .to_string()
}

#[test]
fn captured_threads_have_the_expected_status() {
    for (names, newest, word) in [
        (
            "question questions-parallel questions-parallel-one-answered question-with-schema question-nested question-hitl \
             question-inbox js-questions",
            "success",
            "waiting for you",
        ),
        // A copy has no runs and is idle, but its state has an open question.
        ("copy-of-waiting", "", "waiting for you"),
        ("failed", "error", "failed"),
        ("cancelled", "interrupted", "cancelled"),
    ] {
        for name in names.split(' ') {
            let case = Case::captured(name);
            assert_eq!(case.word(), word, "{name}, without its runs");
            if !newest.is_empty() {
                assert_eq!(case.with_run(newest).word(), word, "{name}");
            }
        }
    }
    // Only the state distinguishes a breakpoint from other causes.
    let breakpoint = Case::captured("breakpoint");
    assert_eq!(breakpoint.word(), "interrupted");
    let state = Case::of("", &state("loop", &["c"]), "").state;
    assert_eq!(
        Case {
            state,
            ..breakpoint
        }
        .word(),
        "paused"
    );
}

#[test]
fn only_open_questions_are_pending() {
    for (name, count) in [
        ("questions-parallel", 3),
        ("questions-parallel-one-answered", 2),
        ("js-questions", 3),
    ] {
        assert_eq!(
            Case::captured(name).status().questions().len(),
            count,
            "{name}"
        );
    }
    // JavaScript keeps an answered question in the state; its thread has only the open ones.
    let mut answered = Case::captured("js-questions");
    let listed = &mut answered.thread.as_mut().unwrap().questions;
    listed.truncate(1);
    let kept = listed[0].id.clone();
    assert_eq!(Some(answered.asks()), kept);
    assert_eq!(
        answered.status().questions()[0].node.as_deref(),
        Some("ask_one")
    );
    // Python's thread lists only the task of a subgraph that asked last.
    let inner = r#"{"status":"interrupted","interrupts":{"inner":[{"id":"only","value":1}]}}"#;
    let thread = Case::of(inner, "", "").thread;
    let listed = Case {
        thread,
        ..Case::captured("questions-parallel")
    };
    assert_eq!(listed.status().questions().len(), 3);
    // Schemas belong to questions, and a question that remains after a failed answer doesn't mean a waiting thread.
    let with_schema = Case::captured("question-with-schema").status();
    assert!(with_schema.questions()[0].response_schema.is_some());
    let thread = Case::of(r#"{"status":"error"}"#, "", "").thread;
    let poisoned = Case {
        thread,
        ..Case::captured("poisoned")
    }
    .status();
    assert!(
        poisoned.error().unwrap().contains("human decisions"),
        "{poisoned:?}"
    );
}

#[test]
fn runs_show_which_questions_a_javascript_server_lists_again() {
    // As @langchain/langgraph-api 1.5.1 reports a thread on which two of three questions were answered.
    let ask = |id: &str| json!({"id": id, "value": id});
    let task = |id: &str| json!({"id": id, "name": "ask", "interrupts": [ask(id)], "result": null});
    let thread =
        json!({"status": "interrupted", "interrupts": {"1": [ask("left")], "2": [ask("middle")]}});
    let state = json!({"next": ["ask"], "tasks": [task("left"), task("middle"), task("right")]});
    for (runs, open) in [
        (
            r#"[{"run_id": "b", "status": "success", "kwargs": {"command": {"resume": {"right": 1}}}},
                {"run_id": "a", "status": "success", "kwargs": {"command": {"resume": {"middle": 1}}}}]"#,
            "left",
        ),
        // A failed run has answered nothing, and a run without an answer says nothing.
        (
            r#"[{"run_id": "a", "status": "error", "kwargs": {"command": {"resume": {"middle": 1}}}}]"#,
            "left middle",
        ),
        (
            r#"[{"run_id": "a", "status": "success", "kwargs": {"command": null}}]"#,
            "left middle",
        ),
        ("", "left middle"),
    ] {
        let case = Case::of(&thread.to_string(), &state.to_string(), runs);
        assert_eq!(case.asks(), open, "{runs}");
    }
}

/// Aegra 0.11: with updates the run and the thread are interrupted, without them the run is a success and the thread idle.
#[test]
fn a_breakpoint_of_aegra_is_a_pause_in_both_forms() {
    let [mut thread, mut state, mut runs] = agent("aegra-breakpoint");
    let mut status = |of_thread: &str, of_run: &str, id: Option<&str>, source: Option<&str>| {
        (thread["status"], runs[0]["status"]) = (of_thread.into(), of_run.into());
        if let Some(id) = id {
            runs[0]["run_id"] = id.into();
        }
        if let Some(source) = source {
            state["metadata"] = json!({"source": source});
        }
        Case::of(&thread.to_string(), &state.to_string(), &runs.to_string()).status()
    };
    for (of_thread, of_run, word) in [
        ("interrupted", "interrupted", "paused"),
        ("idle", "success", "paused"),
        ("idle", "interrupted", "cancelled"),
    ] {
        let status = status(of_thread, of_run, None, None);
        assert_eq!(status.word(), word, "{of_thread} {of_run}");
        if let ThreadStatus::Paused { next, after, .. } = status {
            assert_eq!((next, after), (vec!["tools".to_string()], false));
        }
    }
    // The state of a run that began in the meantime.
    assert_eq!(
        status("idle", "success", Some("another"), None).word(),
        "idle"
    );
    // An edit keeps the thread idle, whatever is left to run.
    assert_eq!(
        status("idle", "success", None, Some("update")).word(),
        "state edited"
    );
}

#[test]
fn records_give_a_status_with_its_cause() {
    let [busy, idle, error, interrupted] = ["busy", "idle", "error", "interrupted"].map(|status| {
        format!(
            r#"{{"status": "{status}", "updated_at": "2026-11-22T03:03:00Z", "interrupts": {{}}}}"#
        )
    });
    let r = |status: &str| run("r", status, [1, 2]);
    let stops =
        |kwargs: &str| r("success").replacen('{', &format!(r#"{{"kwargs": {{{kwargs}}}, "#), 1);
    let none = String::new();
    let write = || state("loop", &["write"]);
    let rest = || state("loop", &[]);
    let boom = r#"{"next": ["boom"], "tasks": [{"name": "boom", "error": "ValueError('boom')"}], "created_at": "2026-11-22T03:01:00Z"}"#;
    for (thread, state, runs, expected) in [
        (
            &busy,
            rest(),
            [
                run("c", "pending", [5, 5]),
                run("b", "pending", [4, 4]),
                run("a", "success", [1, 2]),
            ]
            .join(","),
            r#"Queued { since: Some(2026-11-22T03:04:00Z), waiting: 2, run_id: Some("b") }"#,
        ),
        (
            &busy,
            write(),
            [run("q", "pending", [6, 6]), run("r", "running", [5, 5])].join(","),
            r#"Running { since: Some(2026-11-22T03:05:00Z), nodes: ["write"], step: Some(4), run_id: Some("r"), queued: 1 }"#,
        ),
        // The checkpoint is of an earlier run, so the position of the new run is unknown.
        (
            &busy,
            write(),
            run("other", "running", [5, 5]),
            r#"Running { since: Some(2026-11-22T03:05:00Z), nodes: [], step: None, run_id: Some("other"), queued: 0 }"#,
        ),
        (
            &interrupted,
            write(),
            r("success"),
            r#"Paused { since: Some(2026-11-22T03:10:00Z), next: ["write"], after: false }"#,
        ),
        (
            &interrupted,
            write(),
            stops(r#""interrupt_after": ["read"]"#),
            r#"Paused { since: Some(2026-11-22T03:10:00Z), next: ["write"], after: true }"#,
        ),
        // Before a join of several edges, the Python server lists no next node.
        (
            &interrupted,
            rest(),
            stops(r#""interrupt_before": ["join"]"#),
            r#"Paused { since: Some(2026-11-22T03:10:00Z), next: ["join"], after: false }"#,
        ),
        (
            &interrupted,
            rest(),
            stops(r#""interrupt_before": ["join", "write"]"#),
            "Paused { since: Some(2026-11-22T03:10:00Z), next: [], after: false }",
        ),
        (
            &interrupted,
            rest(),
            r("success"),
            "Stopped { since: Some(2026-11-22T03:10:00Z), next: [] }",
        ),
        (
            &interrupted,
            state("update", &["write"]),
            r("error"),
            r#"Edited { at: Some(2026-11-22T03:10:00Z), next: ["write"] }"#,
        ),
        (
            &interrupted,
            write(),
            r("interrupted"),
            r#"Cancelled { at: Some(2026-11-22T03:02:00Z), next: ["write"] }"#,
        ),
        // JavaScript leaves the thread idle after a cancel; only the run shows it.
        (
            &idle,
            write(),
            r("interrupted"),
            r#"Cancelled { at: Some(2026-11-22T03:02:00Z), next: ["write"] }"#,
        ),
        // The state was edited since.
        (
            &idle,
            state("update", &[]),
            r("interrupted"),
            "Idle { ended: None, began: None }",
        ),
        (
            &idle,
            rest(),
            r("success"),
            "Idle { ended: Some(2026-11-22T03:02:00Z), began: Some(2026-11-22T03:01:00Z) }",
        ),
        // Aegra's thread has no error; the run or the state has it.
        (
            &error,
            boom.into(),
            r("error"),
            r#"Failed { at: Some(2026-11-22T03:02:00Z), error: "ValueError: boom", nodes: ["boom"], timed_out: false }"#,
        ),
        (
            &error,
            none.clone(),
            r("timeout"),
            r#"Failed { at: Some(2026-11-22T03:02:00Z), error: "", nodes: [], timed_out: true }"#,
        ),
        (
            &busy,
            rest(),
            r("success"),
            "BusyWithoutRun { since: Some(2026-11-22T03:03:00Z) }",
        ),
        (
            &r#"{"status": "archived"}"#.into(),
            none.clone(),
            none.clone(),
            r#"Unknown { why: "the thread's status is archived" }"#,
        ),
        (
            &none,
            none.clone(),
            none.clone(),
            "Idle { ended: None, began: None }",
        ),
    ] {
        let case = Case::of(thread, &state, &format!("[{runs}]"));
        assert_eq!(format!("{:?}", case.status()), expected);
    }
    assert_eq!(
        Case::captured("question").with_run("running").word(),
        "running"
    );
    // Whether a run is active can't be known without the runs.
    assert_eq!(Case::of(&busy, "", "").word(), "running");
    assert_eq!(Case::default().word(), "status unknown");
    let failed = format!("{:?}", Case::captured("failed").status());
    assert!(
        failed.contains(
            r#"error: "ValueError: n must not be 0", nodes: ["maybe"], timed_out: false"#
        ),
        "{failed}"
    );
}

#[test]
fn retry_offers_only_remaining_work() {
    for (next, runs, expected) in [
        (Some("boom"), "[{}]", Again::Steps),
        (Some(""), "[{}]", Again::Input),
        // JavaScript reports a thread as failed even after all its runs and checkpoints were deleted.
        (Some(""), "[]", Again::Nothing),
        // Missing records hide no action.
        (None, "", Again::Steps),
        (Some(""), "", Again::Input),
    ] {
        let state = next.map(|next| {
            state(
                "loop",
                &Vec::from_iter(Some(next).filter(|next| !next.is_empty())),
            )
        });
        let case = Case::of(r#"{"status": "error"}"#, &state.unwrap_or_default(), runs);
        let records = ThreadRecords {
            thread: case.thread.as_ref(),
            state: case.state.as_ref(),
            runs: case.runs.as_deref(),
        };
        assert_eq!(records.again(), expected, "{next:?} {runs}");
    }
}

#[test]
fn a_failure_has_the_most_specific_text_of_all_records() {
    let overloaded = "ConnectionError: Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}";
    for name in ["modelfail", "aegra-modelfail"] {
        assert_eq!(
            Case::captured_agent(name).status().error(),
            Some(overloaded),
            "{name}"
        );
    }
    let provider = Case::captured_agent("provider").status();
    assert!(
        !provider.error().unwrap().contains("internal error"),
        "{provider:?}"
    );
    // Without the state, the general text is better than none.
    let masked = Case {
        state: None,
        ..Case::captured_agent("modelfail")
    };
    assert_eq!(
        masked.status().error(),
        Some("ConnectionError: An internal error occurred")
    );
}
