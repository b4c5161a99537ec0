//! A run with an input on a new thread. The thread's id is made by the client, so that the preview shows both requests exactly.

use crate::act::{Partial, Progress};
use crate::prelude::*;

impl AgentServer {
    /// Plans a run on a new thread. Reads nothing.
    pub(super) fn plan_on_new(
        &self,
        thread: &str,
        assistant: &str,
        input: &Value,
    ) -> Result<Draft, ApiError> {
        let body = RunCreate {
            assistant_id: assistant.to_string(),
            input: Some(input.clone()),
            stream_mode: ["messages-tuple", "updates", "values"]
                .map(String::from)
                .to_vec(),
            ..RunCreate::default()
        };
        let creation = json!({"thread_id": thread, "if_exists": "raise"});
        let kind = StepKind::Create(thread.into());
        let name = format!("new thread {}", short_id(thread));
        Ok(Draft {
            title: format!("Start {} on a new thread", body.assistant_id),
            target: Some(Target::new("thread", thread, name)),
            notes: vec![Note::fact("Models and tools are called on the server.")],
            steps: vec![
                Step::new(self, Method::POST, &["threads"], Some(creation), kind)?,
                self.start_step(thread, body)?,
            ],
            ..Draft::default()
        })
    }

    pub(crate) async fn create_for_run(
        &self,
        thread: &str,
        body: &Value,
        done: &mut Progress,
    ) -> Result<(), StartError> {
        let Err(error) = self.create_thread_row(body).await else {
            done.partial = Some(Partial::Thread(thread.into()));
            return Ok(());
        };
        if error.may_lack_call() {
            return Err(StartFailure::NotOffered.with_error(error));
        }
        let check = format!("look for thread {thread} before you repeat it");
        let mut failed = StartError::sent(error).or_check(check);
        if failed.failure == StartFailure::Unknown {
            failed.failure = StartFailure::ThreadUnknown;
        }
        Err(failed)
    }
}
