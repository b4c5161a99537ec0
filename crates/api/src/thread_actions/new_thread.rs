//! A run with an input on a new thread. The thread's id is made by the client, so that the preview shows both requests exactly.

use super::{RunStart, StartError, StartFailure, StartGuard, Started, Step, ThreadPlan};
use crate::answer::Service;
use crate::{AgentServer, ApiError, PlanError};
use reqwest::Method;
use runtail_core::model::{Note, Preview, RunCreate, Target};
use runtail_core::text::short_id;
use serde_json::{Value, json};

impl AgentServer {
    /// Plans a run on a new thread. Reads nothing.
    pub(super) fn plan_on_new(&self, thread: &str, assistant: &str, input: &Value) -> Result<ThreadPlan, PlanError> {
        let body = RunCreate {
            assistant_id: assistant.to_string(),
            input: Some(input.clone()),
            stream_mode: ["messages-tuple", "updates", "values"].map(String::from).to_vec(),
            ..RunCreate::default()
        };
        let start = RunStart { thread: thread.into(), body, guard: StartGuard::None };
        let title = format!("Start {assistant} on a new thread");
        let run = self.plan_run(title, start, vec![Note::fact("Models and tools are called on the server.")])?;
        let Step::Start(start) = run.step else { return Ok(run) };
        let url = self.url(&Method::POST, &["threads"])?;
        let create = self.http.shown(Service::Agent, Method::POST.to_string(), &url, Some(&creation(thread)));
        let then = Some(run.preview.request.clone());
        let target = Target { kind: "thread", id: thread.into(), name: format!("new thread {}", short_id(thread)) };
        let preview = Preview { request: create, then, target: Some(target), ..run.preview };
        Ok(ThreadPlan { preview, choice: None, step: Step::CreateAndStart(start) })
    }

    /// Creates the thread, then starts the run. Each request is sent once.
    pub(super) async fn create_and_start(&self, start: &RunStart) -> Result<Started, StartError> {
        if let Err(error) = self.create_thread_row(&creation(&start.thread)).await {
            let failure = match &error {
                error if error.may_lack_call() => StartFailure::NotOffered,
                error if error.is_refusal() => StartFailure::Refused,
                _ => StartFailure::Unreachable,
            };
            return Err(StartError { failure, error });
        }
        match self.start_on_thread(start).await {
            Ok(started) => Ok(started),
            Err(failed) => {
                let known = failed.error.hint.map(|hint| format!("{hint}; ")).unwrap_or_default();
                let hint = Some(format!("{known}the thread {} was created", start.thread));
                Err(StartError { error: ApiError { hint, ..failed.error }, ..failed })
            }
        }
    }
}

/// Returns the body that creates a thread with this id.
fn creation(thread: &str) -> Value {
    json!({"thread_id": thread, "if_exists": "raise"})
}
