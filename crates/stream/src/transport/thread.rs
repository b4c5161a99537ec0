//! A thread on its server.

use crate::transport::connection::Connection;
use crate::transport::modes::thread_gives;
use runtail_api::{AgentServer, ApiError, Kind};
use runtail_core::model::Run;

/// An event that is only sent with the mode `run_modes`.
const RUN_EVENT: &str = "values";
/// Number of the thread's runs to list, newest first.
const MAX_RUNS: usize = 100;

/// A thread on its server.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub server: AgentServer,
    pub id: String,
    pub modes: Vec<String>,
    pub max_event: usize,
}

impl Thread {
    /// Returns whether any requested events are stored by the server.
    pub fn has_stored(&self) -> bool {
        self.modes.is_empty()
            || self
                .modes
                .iter()
                .any(|mode| mode == "run_modes" || mode == "lifecycle")
    }

    /// Returns this thread with `run_modes` requested, because merging past and present needs run events. The merger drops
    /// them if they were not requested originally.
    pub fn with_run_events(&self) -> Thread {
        let mut all = self.clone();
        if !thread_gives(&self.modes, RUN_EVENT) {
            all.modes.push("run_modes".into());
        }
        all
    }

    /// Returns whether events with this name were requested.
    pub fn sends(&self, name: &str) -> bool {
        thread_gives(&self.modes, name)
    }

    pub async fn open(
        &self,
        repeat_modes: bool,
        after: Option<&str>,
    ) -> Result<Connection, ApiError> {
        let stream = self
            .server
            .thread_stream(&self.id, &self.modes, repeat_modes, after)
            .await?;
        Ok(Connection {
            thread_id: Some(self.id.clone()),
            run_id: None,
            ..Connection::of(stream, self.max_event)
        })
    }

    pub async fn runs(&self) -> Result<Vec<Run>, ApiError> {
        Ok(self.server.runs(&self.id, MAX_RUNS).await?.items)
    }

    /// Returns whether the server has no record of a run.
    pub async fn is_deleted(&self, run: &str) -> Result<bool, ApiError> {
        match self.server.run(&self.id, run).await {
            Ok(_) => Ok(false),
            Err(error) if error.kind == Kind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub async fn join(&self, run: &str, after: &str) -> Result<Connection, ApiError> {
        Ok(Connection::of(
            self.server
                .join_run(&self.id, run, &[], Some(after))
                .await?,
            self.max_event,
        ))
    }
}
