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
    pub(super) fn plan_on_new(
        &self,
        thread: &str,
        assistant: &str,
        input: &Value,
    ) -> Result<ThreadPlan, PlanError> {
        let body = RunCreate {
            assistant_id: assistant.to_string(),
            input: Some(input.clone()),
            stream_mode: ["messages-tuple", "updates", "values"]
                .map(String::from)
                .to_vec(),
            ..RunCreate::default()
        };
        let (preview, start) = self.run_on_new(thread, body)?;
        Ok(ThreadPlan {
            preview,
            choice: None,
            step: Step::CreateAndStart(start),
        })
    }

    /// Previews a run with this body on a new thread. Reads nothing.
    pub(super) fn run_on_new(
        &self,
        thread: &str,
        body: RunCreate,
    ) -> Result<(Preview, Box<RunStart>), PlanError> {
        let title = format!("Start {} on a new thread", body.assistant_id);
        let body = crate::mark_start(body);
        let url = self.url(&Method::POST, &["threads"])?;
        let request = self.http.shown(
            Service::Agent,
            Method::POST.to_string(),
            &url,
            Some(&creation(thread)),
        );
        let then = vec![self.start_request(thread, &body)?];
        let target = Target {
            kind: "thread",
            id: thread.into(),
            name: format!("new thread {}", short_id(thread)),
        };
        let notes = vec![Note::fact("Models and tools are called on the server.")];
        let preview = Preview {
            title,
            request,
            then,
            target: Some(target),
            ..self.shown(thread, notes)
        };
        Ok((
            preview,
            Box::new(RunStart {
                thread: thread.into(),
                body,
                guard: StartGuard::None,
            }),
        ))
    }

    /// Creates the thread, then starts the run. Each request is sent once.
    pub(super) async fn create_and_start(&self, start: &RunStart) -> Result<Started, StartError> {
        if let Err(error) = self.create_thread_row(&creation(&start.thread)).await {
            if error.may_lack_call() {
                let failure = StartFailure::NotOffered;
                return Err(StartError { failure, error });
            }
            let check = format!("look for thread {} before you repeat it", start.thread);
            let mut failed = StartError::sent(error, &check);
            if failed.failure == StartFailure::Unknown {
                failed.failure = StartFailure::ThreadUnknown;
            }
            return Err(failed);
        }
        match self.start_on_thread(start).await {
            Ok(started) => Ok(started),
            Err(failed) => {
                let known = failed
                    .error
                    .hint
                    .map(|hint| format!("{hint}; "))
                    .unwrap_or_default();
                let hint = Some(format!("{known}the thread {} was created", start.thread));
                Err(StartError {
                    error: ApiError {
                        hint,
                        ..failed.error
                    },
                    ..failed
                })
            }
        }
    }
}

/// Returns the body that creates a thread with this id.
fn creation(thread: &str) -> Value {
    json!({"thread_id": thread, "if_exists": "raise"})
}
