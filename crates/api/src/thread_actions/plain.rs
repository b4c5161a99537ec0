//! Requests that are shown without a plan: what they need was read by the caller.

use super::plan::on_thread;
use crate::CancelAction;
use crate::agent_server::stream_path;
use crate::prelude::*;
use runtail_core::model::{PlainRequest, Preview};

impl AgentServer {
    /// Previews requests that are sent in this order. A new thread has no id yet.
    pub fn preview_of(
        &self,
        title: String,
        thread: Option<&str>,
        requests: Vec<PlainRequest>,
        notes: Vec<Note>,
    ) -> Preview {
        let draft = on_thread(title, thread.unwrap_or_default(), notes);
        let shown = draft.plan().preview;
        let mut requests = requests.into_iter();
        Preview {
            profile: self.http.profile().to_string(),
            target: shown.target.filter(|_| thread.is_some()),
            request: requests.next().unwrap_or_default(),
            then: requests.collect(),
            ..shown
        }
    }

    /// Returns a POST request as it can be shown.
    ///
    /// # Errors
    /// The address can't be made.
    pub fn post_request(&self, path: &[&str], body: &Value) -> Result<PlainRequest, ApiError> {
        let url = self.url(&Method::POST, path)?;
        let method = Method::POST.to_string();
        Ok(self.http.shown(Service::Agent, method, &url, Some(body)))
    }

    /// Returns the request that cancels a run, as it can be shown.
    ///
    /// # Errors
    /// The address can't be made.
    pub fn cancel_request(
        &self,
        thread: &str,
        run: &str,
        action: CancelAction,
    ) -> Result<PlainRequest, ApiError> {
        let url = self.cancel_url(thread, run, action)?;
        let method = Method::POST.to_string();
        Ok(self.http.shown(Service::Agent, method, &url, None))
    }

    /// Returns the request that starts a run and opens its stream, as it can be shown.
    ///
    /// # Errors
    /// The address or the body can't be made.
    pub fn stream_request(
        &self,
        thread: Option<&str>,
        body: &RunCreate,
    ) -> Result<PlainRequest, ApiError> {
        let path = stream_path(thread);
        let url = self.url(&Method::POST, &path)?;
        self.post_request(&path, &self.run_body(&url, body)?)
    }
}
