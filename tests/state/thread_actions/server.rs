//! Requests before and during thread actions, with a small server that has one thread.

use super::{THREAD, fixture, run};
use runtail_api::{
    Acted, CancelAction, CancelState, Choice, ForkChange, PlanError, RunStart, StartFailure,
    StartGuard, ThreadIntent, ThreadLabel,
};
use runtail_core::model::{
    BranchStepKind, Consent, GivenAnswer, Question, Reply, RunCreate, resume,
};
use runtail_testkit::common::{Server, json as respond};
use runtail_testkit::says::Says;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The state of the server.
struct ServerState {
    info: Value,
    thread: Value,
    state: Value,
    /// Newest first.
    runs: Vec<Value>,
    /// The status and body that reject the start of a run, if any.
    rejection: Option<(u16, &'static str)>,
    /// Whether a rejected run is started anyway.
    starts_anyway: bool,
    /// The other run that starts just before, and ends.
    just_before: Option<Value>,
    /// The status of the response to a rollback.
    rollback: u16,
    /// The status of the response to a cancellation.
    cancel: u16,
}

type Shared = Arc<Mutex<ServerState>>;

fn state(status: &str, case: &str, runs: Vec<Value>) -> Shared {
    let case = fixture(case);
    let mut thread = json!({"thread_id": THREAD, "status": status, "interrupts": {}, "metadata": {"graph_id": "support", "assistant_id": "a-support"}});
    if let Some(error) = case["thread"].get("error") {
        thread["error"] = error.clone();
    }
    let thread_state = case["state"].clone();
    let state = ServerState {
        info: json!({"langgraph_py_version": "1", "version": "0.16.7"}),
        thread,
        state: thread_state,
        runs,
        rejection: None,
        starts_anyway: false,
        just_before: None,
        rollback: 202,
        cancel: 202,
    };
    Arc::new(Mutex::new(state))
}

async fn serve(state: &Shared) -> Server {
    let state = state.clone();
    Server::start(move |seen| {
        let mut state = state.lock().unwrap();
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        let at =
            |state: &ServerState, id: &str| state.runs.iter().position(|run| run["run_id"] == id);
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, &state.info),
            (_, ["threads", id, ..]) if *id != THREAD || state.thread.is_null() => {
                respond(404, r#"{"detail":"no thread"}"#)
            }
            ("GET" | "PATCH", ["threads", _]) | ("POST", ["threads"]) => {
                respond(200, &state.thread)
            }
            ("DELETE", ["threads", _]) => {
                state.thread = Value::Null;
                respond(204, "")
            }
            ("GET", ["threads", _, "state"]) => respond(200, &state.state),
            ("GET", ["threads", _, "state", id])
                if state.state["checkpoint"]["checkpoint_id"] == *id =>
            {
                respond(200, &state.state)
            }
            ("GET", ["threads", _, "history"]) => respond(200, json!([state.state])),
            ("GET", ["threads", _, "runs"]) => {
                let status = seen
                    .query
                    .split('&')
                    .find_map(|pair| pair.strip_prefix("status="));
                let matches_status =
                    |run: &&Value| status.is_none_or(|status| run["status"] == status);
                respond(
                    200,
                    json!(state.runs.iter().filter(matches_status).collect::<Vec<_>>()),
                )
            }
            ("GET", ["threads", _, "runs", id]) => match at(&state, id) {
                Some(at) => respond(200, &state.runs[at]),
                None => respond(404, r#"{"detail":"Not Found"}"#),
            },
            ("POST", ["threads", _, "runs", id, "cancel"]) => {
                let is_rollback = seen.query.contains("action=rollback");
                let status = if is_rollback {
                    state.rollback
                } else {
                    state.cancel
                };
                if status < 300
                    && let Some(at) = at(&state, id)
                {
                    match is_rollback {
                        true => drop(state.runs.remove(at)),
                        false => state.runs[at]["status"] = json!("interrupted"),
                    }
                }
                respond(
                    status,
                    if status < 300 {
                        "{}"
                    } else {
                        r#"{"detail":"refused"}"#
                    },
                )
            }
            ("POST", ["threads", _, "runs"]) => {
                let body = seen.json();
                let mut new = run("new", "pending");
                new["metadata"] = body["metadata"].clone();
                let other = state.just_before.take();
                state.runs.splice(0..0, other);
                if state.rejection.is_none() || state.starts_anyway {
                    state.runs.insert(0, new.clone());
                }
                match state.rejection {
                    Some((status, body)) => respond(status, body),
                    None => respond(200, new),
                }
            }
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    })
    .await
}

async fn planned_at(server: &Server, intent: &ThreadIntent) -> runtail_api::Plan {
    let plan = server.agent().plan_on_thread(intent).await;
    plan.unwrap()
}

/// Returns the write requests as method and path with query.
fn writes(server: &Server) -> Vec<String> {
    let seen = server
        .seen()
        .into_iter()
        .filter(|seen| seen.method != "GET");
    let line = |path: String, query: String| {
        if query.is_empty() {
            path
        } else {
            format!("{path}?{query}")
        }
    };
    seen.map(|seen| {
        format!(
            "{} {}",
            seen.method,
            line(seen.path.replace(THREAD, "T"), seen.query)
        )
    })
    .collect()
}

fn notes(preview: &runtail_core::model::Preview) -> String {
    preview
        .notes
        .iter()
        .map(|note| note.text.as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

fn cancel(run: Option<&str>, action: CancelAction, with_queue: bool) -> ThreadIntent {
    ThreadIntent::Cancel {
        thread: THREAD.into(),
        run: run.map(str::to_string),
        action,
        with_queue,
    }
}

fn again() -> ThreadIntent {
    ThreadIntent::Again {
        thread: THREAD.into(),
        recursion_limit: None,
    }
}

#[tokio::test]
async fn queued_runs_are_cancelled_newest_first_and_verified() {
    let runs = [
        ("q2", "pending", 52),
        ("q1", "pending", 51),
        ("r", "running", 50),
    ]
    .map(|(id, status, second)| {
        let mut run = run(id, status);
        run["created_at"] = json!(format!("2026-11-21T13:53:{second}Z"));
        run
    });
    let state = state("busy", "finished-state", runs.to_vec());
    let server = serve(&state).await;
    let plan = planned_at(&server, &cancel(None, CancelAction::Interrupt, false)).await;
    assert_eq!(plan.preview.title, "Cancel run r");
    assert_eq!(
        plan.choice,
        Some(Choice::Queue {
            queued: 2,
            included: false
        })
    );
    notes(&plan.preview).has("2 other runs are queued behind it, and the next one starts.");
    assert!(
        plan.preview
            .request
            .url
            .ends_with("/runs/r/cancel?wait=0&action=interrupt")
    );
    assert!(writes(&server).is_empty(), "a plan only reads");
    let plan = planned_at(&server, &cancel(None, CancelAction::Interrupt, true)).await;
    let Ok(Acted::Cancelling(targets)) = plan.apply().await else {
        panic!()
    };
    assert!(
        targets
            .iter()
            .all(|target| target.state == CancelState::Stopped),
        "{targets:?}"
    );
    let order = ["q2", "q1", "r"]
        .map(|id| format!("POST /threads/T/runs/{id}/cancel?wait=0&action=interrupt"));
    assert_eq!(writes(&server), order);
    // No run is active now; a finished run is reported with its status.
    let nothing = |plan: Result<_, PlanError>| match plan.map(|_: runtail_api::Plan| ()) {
        Err(PlanError::Nothing(why)) => why,
        other => panic!("{other:?}"),
    };
    let plan = server
        .agent()
        .plan_on_thread(&cancel(None, CancelAction::Interrupt, false))
        .await;
    assert_eq!(nothing(plan), "No run is active on this thread.");
    let plan = server
        .agent()
        .plan_on_thread(&cancel(Some("r"), CancelAction::Interrupt, false))
        .await;
    assert_eq!(nothing(plan), "Run r has ended: interrupted.");
}

#[tokio::test]
async fn unsupported_rollback_changes_nothing() {
    let state = state("busy", "finished-state", vec![run("r", "running")]);
    state.lock().unwrap().rollback = 422;
    let server = serve(&state).await;
    let plan = planned_at(&server, &cancel(None, CancelAction::Rollback, false)).await;
    notes(&plan.preview).has("Deletes the run and its checkpoints");
    let Ok(Acted::Cancelling(targets)) = plan.apply().await else {
        panic!()
    };
    assert_eq!(
        (targets[0].state, targets[0].run_status.as_deref()),
        (CancelState::Failed, Some("running"))
    );
    state.lock().unwrap().rollback = 202;
    let Ok(Acted::Cancelling(targets)) = plan.apply().await else {
        panic!()
    };
    assert_eq!(
        (targets[0].state, targets[0].run_status.as_deref()),
        (CancelState::Stopped, Some("deleted"))
    );
}

#[tokio::test]
async fn thread_is_deleted_only_after_its_runs_stopped() {
    let intent = ThreadIntent::Delete {
        thread: THREAD.into(),
    };
    let state = state("busy", "finished-state", vec![run("r", "running")]);
    state.lock().unwrap().cancel = 409;
    let server = serve(&state).await;
    let plan = planned_at(&server, &intent).await;
    assert_eq!(plan.preview.consent, Consent::Id(THREAD.into()));
    assert!(plan.preview.consent.is_given("01a1fbb5") && plan.preview.consent.is_given(THREAD));
    assert!(!plan.preview.consent.is_given("01a1fbb") && !plan.preview.consent.is_given(""));
    notes(&plan.preview)
        .has("The active run is cancelled first, because it would continue unseen.");
    let failed = plan.apply().await.unwrap_err();
    assert!(
        failed
            .error
            .detail
            .contains("still active, so the thread was not deleted"),
        "{failed:?}"
    );
    assert!(
        !writes(&server)
            .iter()
            .any(|line| line.starts_with("DELETE")),
        "{:?}",
        writes(&server)
    );
    // Once the run can be cancelled, the thread is deleted after it.
    state.lock().unwrap().cancel = 202;
    assert_eq!(plan.apply().await, Ok(Acted::Deleted));
    assert_eq!(
        writes(&server).last().map(String::as_str),
        Some("DELETE /threads/T")
    );
    let gone = server.agent().plan_on_thread(&intent).await.map(|_| ());
    assert!(
        matches!(&gone, Err(PlanError::Nothing(why)) if why.contains("no such thread")),
        "{gone:?}"
    );
}

#[tokio::test]
async fn retry_uses_the_failed_runs_options() {
    let mut failed = run("r", "error");
    failed["kwargs"] =
        json!({"input": {"n": 0}, "context": {"model": "large"}, "stream_mode": ["values"]});
    let server = serve(&state("error", "failed", vec![failed])).await;
    let plan = planned_at(&server, &again()).await;
    let body = plan.preview.request.body.clone().unwrap();
    assert_eq!(
        (&body["input"], &body["context"]),
        (&Value::Null, &json!({"model": "large"}))
    );
    assert_eq!(
        (&body["assistant_id"], &body["multitask_strategy"]),
        (&json!("a-support"), &json!("reject"))
    );
    assert!(body.as_object().unwrap().contains_key("input") && body.get("command").is_none());
    notes(&plan.preview).has("again; finished steps are kept.");
    assert_eq!(plan.choice, None);
    assert!(matches!(plan.apply().await, Ok(Acted::Started(started)) if started.run_id == "new"));
    // The new run is active now, so the same plan starts nothing else.
    let failed = plan.apply().await.unwrap_err();
    assert_eq!(failed.failure, StartFailure::Changed);
    assert_eq!(writes(&server), ["POST /threads/T/runs"]);
}

#[tokio::test]
async fn recursion_limit_failures_offer_a_higher_limit() {
    let state = state("error", "failed", vec![run("r", "error")]);
    let error = json!({"error": "GraphRecursionError", "message": "Recursion limit of 5 reached without hitting a stop condition."});
    state.lock().unwrap().thread["error"] = error;
    let server = serve(&state).await;
    let plan = planned_at(&server, &again()).await;
    assert_eq!(plan.choice, Some(Choice::RecursionLimit(10)));
    assert_eq!(
        plan.preview.request.body.unwrap()["config"],
        json!({"recursion_limit": 10})
    );
    let intent = ThreadIntent::Again {
        thread: THREAD.into(),
        recursion_limit: Some(100),
    };
    let plan = planned_at(&server, &intent).await;
    assert_eq!(
        plan.preview.request.body.unwrap()["config"],
        json!({"recursion_limit": 100})
    );
}

#[tokio::test]
async fn a_limit_that_no_error_names_is_raised_where_no_step_failed() {
    let mut failed = run("r", "error");
    failed["kwargs"] = json!({"input": {"n": 0}, "config": {"recursion_limit": 2}});
    let state = state("error", "failed", vec![failed]);
    {
        let mut state = state.lock().unwrap();
        state.thread["error"] = Value::Null;
        state.state["tasks"] =
            json!([{"id": "t", "name": "chat", "error": null, "interrupts": [], "result": null}]);
        (state.state["next"], state.state["metadata"]) =
            (json!(["chat"]), json!({"source": "loop", "step": 2}));
    }
    let server = serve(&state).await;
    let plan = planned_at(&server, &again()).await;
    assert_eq!(plan.choice, Some(Choice::RecursionLimit(4)));
    let body = plan.preview.request.body.clone().unwrap();
    assert_eq!(
        (&body["input"], &body["config"]),
        (&Value::Null, &json!({"recursion_limit": 4}))
    );
    notes(&plan.preview).has("most likely reached its limit of 2 steps");
    // With a step that failed, the limit stays.
    state.lock().unwrap().state["tasks"][0]["error"] = json!("Error: boom");
    let plan = planned_at(&server, &again()).await;
    assert_eq!(
        (plan.choice, &plan.preview.request.body.unwrap()["config"]),
        (None, &json!({"recursion_limit": 2}))
    );
}

#[tokio::test]
async fn a_retry_lists_only_the_nodes_that_have_no_result() {
    let state = state("error", "failed", vec![run("r", "error")]);
    {
        let mut state = state.lock().unwrap();
        state.state["next"] = json!(["left", "right"]);
        state.state["tasks"] = json!([
            {"id": "l", "name": "left", "error": null, "interrupts": [], "result": {"log": ["left"]}},
            {"id": "r", "name": "right", "error": "ConnectTimeout: no response", "interrupts": [], "result": null},
        ]);
    }
    let server = serve(&state).await;
    let branch = planned_at(&server, &again())
        .await
        .preview
        .branch
        .expect("its steps");
    assert!(branch.is_newest);
    let [step] = branch.steps.as_slice() else {
        panic!("{:?}", branch.steps)
    };
    assert_eq!((step.kind, step.certain), (BranchStepKind::RunsAgain, true));
    assert_eq!(step.nodes, ["right"]);
    assert!(
        step.detail.starts_with("failed before: ConnectTimeout"),
        "{}",
        step.detail
    );
}

#[tokio::test]
async fn rejected_answers_are_retried_from_the_questions_checkpoint() {
    let state = state("error", "poisoned", vec![run("r", "error")]);
    let checkpoint = state.lock().unwrap().state["checkpoint"]["checkpoint_id"].clone();
    let server = serve(&state).await;
    let plan = planned_at(&server, &again()).await;
    let body = plan.preview.request.body.unwrap();
    assert_eq!(
        (&body["input"], &body["checkpoint_id"]),
        (&Value::Null, &checkpoint)
    );
    // JavaScript would use the rejected answer again at that checkpoint, so a copy of it asks. The checkpoint is named once, also
    // where a row has no list of questions.
    state.lock().unwrap().info = json!({"langgraph_js_version": "1"});
    for at in ["/checkpoint_id", "/checkpoint/checkpoint_id"] {
        let server = serve(&state).await;
        let plan = planned_at(&server, &again()).await;
        let copy = json!({"values": null, "as_node": "__copy__", "checkpoint_id": checkpoint});
        assert_eq!(plan.preview.request.body, Some(copy));
        let [run] = plan.preview.then.as_slice() else {
            panic!("a run from the copy")
        };
        let run = run.body.clone().unwrap();
        assert_eq!(
            (&run["input"], run.pointer(at)),
            (&Value::Null, Some(&json!("(from 1)")))
        );
        assert_eq!(run.to_string().matches("(from 1)").count(), 1, "{run}");
        let thread = &mut state.lock().unwrap().thread;
        drop(thread.as_object_mut().unwrap().remove("interrupts"));
    }
}

#[tokio::test]
async fn a_fork_loses_given_answers_or_uses_them_again() {
    let state = state("interrupted", "questions-parallel-one-answered", vec![]);
    {
        let state = &mut state.lock().unwrap().state;
        state["metadata"] = json!({"source": "loop", "step": 1});
        // As in a history: an answered question stays with its task.
        state["tasks"][1]["interrupts"] =
            json!([{"id": "eed08126d2d10f0d44151e8941df6221", "value": "Keep green?"}]);
    }
    let fork = ThreadIntent::Fork {
        thread: THREAD.into(),
        checkpoint: None,
        change: ForkChange::Nothing,
    };
    for (info, says) in [
        (
            json!({"langgraph_py_version": "1"}),
            "The answer given to ask_one is lost: its question is asked again.",
        ),
        (
            json!({"langgraph_js_version": "1"}),
            "ask_one runs again with the answer that it received, and doesn't ask again.",
        ),
    ] {
        state.lock().unwrap().info = info;
        let server = serve(&state).await;
        let plan = planned_at(&server, &fork).await;
        assert!(
            notes(&plan.preview).contains(says),
            "{}",
            notes(&plan.preview)
        );
    }
    state.lock().unwrap().info = json!({"name": "Aegra", "version": "0.9.24"});
    let refused = serve(&state).await.agent().plan_on_thread(&fork).await;
    assert!(
        matches!(&refused, Err(PlanError::Unfit(why)) if why.contains("the nodes of a checkpoint can't run again")),
        "{:?}",
        refused.map(|_| ())
    );
}

#[tokio::test]
async fn newest_input_is_rerun_and_its_absence_explained() {
    let mut answered = run("r2", "success");
    answered["kwargs"] = json!({"input": null, "command": {"resume": {"a": 1}}});
    answered["created_at"] = json!("2026-11-21T13:59:00Z");
    let server = serve(&state(
        "idle",
        "finished-state",
        vec![answered.clone(), run("r1", "success")],
    ))
    .await;
    let plan = planned_at(&server, &again()).await;
    assert_eq!(
        plan.preview.request.body.clone().unwrap()["input"],
        json!({"n": 1})
    );
    notes(&plan.preview).has("the input of run r1 (the newest with an input of its own)");
    let server = serve(&state("idle", "finished-state", vec![answered])).await;
    let Err(PlanError::Unfit(why)) = server.agent().plan_on_thread(&again()).await.map(|_| ())
    else {
        panic!()
    };
    why.has("Run r2: it answered a question");
    let bare = json!({"run_id": "r3", "status": "success", "created_at": "2026-11-21T13:59:00Z"});
    let server = serve(&state("idle", "finished-state", vec![bare])).await;
    let Err(PlanError::Unfit(why)) = server.agent().plan_on_thread(&again()).await.map(|_| ())
    else {
        panic!()
    };
    why.has("Run r3: the server's record of it has no input");
    // A waiting thread would lose its question.
    let server = serve(&state(
        "interrupted",
        "question",
        vec![run("r1", "success")],
    ))
    .await;
    let plan = planned_at(&server, &again()).await;
    notes(&plan.preview).has("The open question is discarded by the new input: ");
}

#[tokio::test]
async fn only_stopped_threads_are_continued() {
    let intent = ThreadIntent::Continue {
        thread: THREAD.into(),
    };
    let server = serve(&state(
        "interrupted",
        "breakpoint",
        vec![run("r", "success")],
    ))
    .await;
    let plan = planned_at(&server, &intent).await;
    assert!(
        notes(&plan.preview).starts_with("Runs next: "),
        "{}",
        notes(&plan.preview)
    );
    let server = serve(&state(
        "interrupted",
        "cancelled",
        vec![run("r", "interrupted")],
    ))
    .await;
    let plan = planned_at(&server, &intent).await;
    notes(&plan.preview).has("cancelled nodes run again from their start");
    notes(&plan.preview).lacks("Breakpoints");
    // The run gets the options of the newest one, and so its breakpoints.
    let mut stopped = run("r", "interrupted");
    stopped["kwargs"] =
        json!({"input": {}, "interrupt_before": ["act", "pay"], "interrupt_after": "*"});
    let server = serve(&state("interrupted", "cancelled", vec![stopped])).await;
    let plan = planned_at(&server, &intent).await;
    let expected = "Breakpoints stay set: the run stops before act, pay, or after each node.";
    assert!(
        notes(&plan.preview).contains(expected),
        "{}",
        notes(&plan.preview)
    );
    for (status, case, run_status) in [
        ("interrupted", "question", "success"),
        ("idle", "finished-state", "success"),
        ("busy", "breakpoint", "running"),
    ] {
        let server = serve(&state(status, case, vec![run("r", run_status)])).await;
        let plan = server.agent().plan_on_thread(&intent).await.map(|_| ());
        assert!(
            matches!(plan, Err(PlanError::Unfit(_))),
            "{status} {case}: {plan:?}"
        );
    }
}

fn answering(questions: &[Question]) -> RunStart {
    let made = resume(questions, &[Some(Reply::Value(json!("yes")))]).unwrap();
    let body = RunCreate::alone("a-support").answering(&made);
    RunStart {
        thread: THREAD.into(),
        body,
        guard: StartGuard::Questions(vec![questions[0].clone()]),
    }
}

#[tokio::test]
async fn answers_are_checked_before_sending_and_sent_once() {
    let state = state("interrupted", "question", vec![run("r", "success")]);
    let server = serve(&state).await;
    let agent = server.agent();
    let start = answering(&agent.load_thread(THREAD).await.unwrap().answerable());
    let started = agent.start_on_thread(&start).await.unwrap();
    assert_eq!((started.run_id.as_str(), started.was_found), ("new", false));
    let sent = server
        .seen()
        .into_iter()
        .find(|seen| seen.method == "POST")
        .unwrap()
        .json();
    let id = start.body.command.as_ref().unwrap()["resume"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap()
        .clone();
    assert_eq!(sent["command"]["resume"], json!({ id: "yes" }));
    assert!(
        sent["metadata"]["runtail"].is_string(),
        "metadata to find the run again"
    );
    // What a plan previews is exactly what is sent.
    let other = serve(&self::state(
        "interrupted",
        "question",
        vec![run("r", "success")],
    ))
    .await;
    let answer = GivenAnswer::Text("yes".into());
    let intent = ThreadIntent::Answer {
        thread: THREAD.into(),
        interrupt: None,
        answer,
    };
    let plan = other.agent().plan_on_thread(&intent).await.unwrap();
    plan.apply().await.unwrap();
    let request = other
        .seen()
        .into_iter()
        .find(|seen| seen.method == "POST")
        .unwrap()
        .json();
    assert_eq!(plan.preview.request.body, Some(request));
    // A second answer is too late: nothing is sent.
    let failed = agent.start_on_thread(&start).await.unwrap_err();
    assert_eq!(failed.failure, StartFailure::NotOpen);
    assert_eq!(writes(&server), ["POST /threads/T/runs"]);
}

/// Servers refuse a second answer only while the run of the first one is active.
#[tokio::test]
async fn an_answer_after_which_another_run_began_earlier_is_in_doubt() {
    for (created_at, expected) in [
        ("2026-11-21T13:52:59Z", Err(StartFailure::Overtaken)),
        ("2099-01-01T00:00:00Z", Ok(())),
    ] {
        let state = state("interrupted", "question", vec![run("r", "success")]);
        let server = serve(&state).await;
        let start = answering(
            &server
                .agent()
                .load_thread(THREAD)
                .await
                .unwrap()
                .answerable(),
        );
        let mut other = run("other", "success");
        other["created_at"] = created_at.into();
        state.lock().unwrap().just_before = Some(other);
        let started = server.agent().start_on_thread(&start).await;
        assert_eq!(
            started.map(drop).map_err(|failed| failed.failure),
            expected,
            "{created_at}"
        );
        assert_eq!(writes(&server), ["POST /threads/T/runs"]);
    }
}

#[tokio::test]
async fn rejections_and_lost_replies_are_distinguished() {
    for (refusal, exists, expected) in [
        (
            (409, r#"{"detail":"Thread is already running a task."}"#),
            false,
            Err(StartFailure::Busy),
        ),
        (
            (422, r#"{"detail":"Thread is already running a task."}"#),
            false,
            Err(StartFailure::Busy),
        ),
        (
            (403, r#"{"detail":"no"}"#),
            false,
            Err(StartFailure::Refused),
        ),
        (
            (405, r#"{"detail":"no"}"#),
            false,
            Err(StartFailure::NotOffered),
        ),
        // A proxy's error doesn't show what the server did: the run is searched by its metadata and never sent again.
        ((502, "bad gateway"), true, Ok(())),
        ((502, "bad gateway"), false, Err(StartFailure::Unknown)),
    ] {
        let state = state("interrupted", "question", vec![run("r", "success")]);
        let server = serve(&state).await;
        let agent = server.agent();
        let start = answering(&agent.load_thread(THREAD).await.unwrap().answerable());
        (
            state.lock().unwrap().rejection,
            state.lock().unwrap().starts_anyway,
        ) = (Some(refusal), exists);
        let result = agent.start_on_thread(&start).await;
        let outcome = result
            .as_ref()
            .map(|started| assert!(started.was_found))
            .map_err(|failed| failed.failure);
        assert_eq!(outcome, expected, "{refusal:?}");
        assert_eq!(writes(&server).len(), 1, "{refusal:?}");
    }
}

#[tokio::test]
async fn a_created_thread_is_named_if_its_run_is_refused() {
    let state = state("idle", "question", Vec::new());
    state.lock().unwrap().rejection = Some((403, r#"{"detail":"no"}"#));
    let server = serve(&state).await;
    let intent = ThreadIntent::RunOnNew {
        thread: THREAD.into(),
        assistant: "agent".into(),
        input: json!({}),
    };
    let failed = planned_at(&server, &intent)
        .await
        .apply()
        .await
        .unwrap_err();
    assert_eq!(failed.failure, StartFailure::Refused);
    assert!(
        failed
            .error
            .to_string()
            .contains(&format!("the thread {THREAD} was created")),
        "{}",
        failed.error
    );
    assert_eq!(writes(&server), ["POST /threads", "POST /threads/T/runs"]);
}

#[tokio::test]
async fn a_label_that_the_server_ignores_is_an_error() {
    let server = serve(&state("idle", "question", Vec::new())).await;
    let label = ThreadLabel {
        name: None,
        starred: Some(true),
    };
    let intent = ThreadIntent::Label {
        thread: THREAD.into(),
        label,
    };
    let failed = planned_at(&server, &intent)
        .await
        .apply()
        .await
        .unwrap_err();
    assert!(
        failed.error.to_string().contains("did not keep starred"),
        "{}",
        failed.error
    );
    assert_eq!(writes(&server), ["PATCH /threads/T"]);
}

#[tokio::test]
async fn deleted_threads_are_not_answered() {
    let state = state("interrupted", "question", vec![run("r", "success")]);
    let server = serve(&state).await;
    let agent = server.agent();
    let start = answering(&agent.load_thread(THREAD).await.unwrap().answerable());
    state.lock().unwrap().thread = Value::Null;
    let failed = agent.start_on_thread(&start).await.unwrap_err();
    assert_eq!(
        (failed.failure, failed.error.kind),
        (StartFailure::Unchecked, runtail_api::Kind::NotFound)
    );
    assert!(writes(&server).is_empty());
}

#[tokio::test]
async fn a_question_in_the_stream_is_awaited_in_the_records() {
    // The stream ends before the server writes the status of the thread and its run.
    let state = state("busy", "question", vec![run("r", "running")]);
    let server = serve(&state).await;
    let agent = server.agent();
    assert!(
        agent
            .load_thread(THREAD)
            .await
            .unwrap()
            .answerable()
            .is_empty()
    );
    let before = server.seen().len();
    let settles = async {
        while server.seen().len() == before {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let mut state = state.lock().unwrap();
        state.thread["status"] = json!("interrupted");
        state.runs = vec![run("r", "success")];
    };
    let (loaded, ()) = tokio::join!(agent.load_waiting_thread(THREAD), settles);
    assert_eq!(loaded.unwrap().answerable().len(), 1);
}
