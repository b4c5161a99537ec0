use super::*;
use crate::act::{StartGuard, refusal};
use runtail_core::model::{RunFacts, StateFacts, ThreadFacts};
use serde_json::Value;

fn loaded(name: &str) -> LoadedThread {
    let path = format!(
        "{}/../../tests/fixtures/threads/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let part = |key: &str| case.get(key).map(Value::to_string);
    LoadedThread {
        thread: part("thread").map(|json| ThreadFacts::read(&json).unwrap()),
        state: part("state").map(|json| StateFacts::read(&json).unwrap()),
        runs: None,
    }
}

fn with_run(mut thread: LoadedThread, status: &str) -> LoadedThread {
    let run = format!(r#"[{{"run_id": "r", "status": "{status}"}}]"#);
    thread.runs = Some(RunFacts::read_all(&run).unwrap());
    thread
}

fn failure(guard: &StartGuard, now: &LoadedThread) -> Option<StartFailure> {
    refusal(guard, now).map(|(failure, _)| failure)
}

#[test]
fn answers_to_closed_questions_are_refused() {
    let before = loaded("questions-parallel");
    let questions = before.answerable();
    let guard = |at: usize| StartGuard::Questions(vec![questions[at].clone()]);
    assert_eq!(questions.len(), 3);
    assert_eq!(failure(&guard(1), &before), None);
    // One of the three questions was answered elsewhere; the others are still open.
    let after = loaded("questions-parallel-one-answered");
    let is_closed: Vec<bool> = (0..3)
        .map(|at| failure(&guard(at), &after).is_some())
        .collect();
    assert_eq!(
        is_closed.iter().filter(|is_closed| **is_closed).count(),
        1,
        "{is_closed:?}"
    );
    let running = with_run(before.clone(), "running");
    assert_eq!(failure(&guard(0), &running), Some(StartFailure::NotOpen));
    // Without thread and state records, the server decides.
    assert_eq!(failure(&guard(0), &LoadedThread::default()), None);
}

#[test]
fn refusals_say_what_changed() {
    let why = |now: &LoadedThread| {
        let guard = StartGuard::Questions(vec![loaded("question").answerable()[0].clone()]);
        refusal(&guard, now).map(|(_, why)| why).unwrap_or_default()
    };
    assert_eq!(
        why(&loaded("question-hitl")),
        "the thread now asks another question; nothing was sent"
    );
    assert_eq!(
        why(&loaded("failed")),
        "the thread's status has changed: failed; nothing was sent"
    );
    assert_eq!(
        why(&with_run(loaded("question"), "running")),
        "another run is active on the thread; nothing was sent"
    );
    let id = loaded("question").answerable()[0].id.clone().unwrap();
    let mut answered = loaded("question");
    let run = serde_json::json!([{"run_id": "r", "status": "running", "kwargs": {"command": {"resume": {id: true}}}}]);
    answered.runs = Some(RunFacts::read_all(&run.to_string()).unwrap());
    assert_eq!(why(&answered), "someone answered it; nothing was sent");
}

#[test]
fn rejected_answers_are_distinguished_from_open_questions() {
    let mut poisoned = with_run(loaded("poisoned"), "error");
    assert!(poisoned.keeps_rejected_answer() && poisoned.answerable().is_empty());
    // With a schema the server asks again.
    let state = poisoned.state.as_mut().unwrap();
    state.tasks[0].questions[0].response_schema = Some(serde_json::json!({"type": "object"}));
    assert!(!poisoned.keeps_rejected_answer());
    assert_eq!(poisoned.answerable().len(), 1);
}

#[test]
fn runs_are_refused_if_the_thread_changed_since_the_preview() {
    let cancelled = loaded("cancelled");
    let checkpoint = cancelled.checkpoint().map(str::to_string);
    let guard = StartGuard::Checkpoint(checkpoint);
    assert_eq!(failure(&guard, &cancelled), None);
    assert_eq!(
        failure(&guard, &with_run(cancelled.clone(), "pending")),
        Some(StartFailure::Changed)
    );
    assert_eq!(
        failure(&guard, &loaded("failed")),
        Some(StartFailure::Changed)
    );
    assert_eq!(
        failure(&StartGuard::None, &with_run(cancelled, "pending")),
        None
    );
}

#[test]
fn a_stuck_thread_is_released_although_its_deleted_run_writes_checkpoints() {
    let busy = |id: &str| {
        let mut thread = loaded("cancelled");
        thread.thread.as_mut().unwrap().status = "busy".into();
        thread.runs = Some(Vec::new());
        thread.state.as_mut().unwrap().checkpoint_id = Some(id.into());
        thread
    };
    let guard = StartGuard::BusyWithoutRun;
    assert_eq!(failure(&guard, &busy("1")), None);
    assert_eq!(failure(&guard, &busy("2")), None);
    assert_eq!(
        failure(&guard, &with_run(busy("2"), "running")),
        Some(StartFailure::Changed)
    );
    let why = refusal(&guard, &with_run(loaded("cancelled"), "interrupted")).map(|(_, why)| why);
    assert_eq!(
        why.as_deref(),
        Some("the thread is cancelled by now; nothing was sent")
    );
}
