//! The link to the stream of a whole thread.
//!
//! The Python server reads its stored events, sends them, and only then subscribes, so events published in between are
//! silently lost. That is why past and present are read on separate connections (`thread_merge.rs`).

use crate::transport::connection::{Capabilities, Connection, Replayed, RunState, Transport};
use crate::transport::merge_memory::MergeMemory;
use crate::transport::modes::thread_gives;
use crate::transport::server::{is_endpoint_missing, kind};
use crate::transport::thread_merge::ThreadMerger;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use runtail_core::model::Run;
use std::sync::{Arc, Mutex, PoisonError};

/// An event that is only sent with the mode `run_modes`.
const RUN_EVENT: &str = "values";
/// Number of the thread's runs to list, newest first.
const MAX_RUNS: usize = 100;

/// The link to a thread's stream, from now on or from an id (`-`: from the start).
#[derive(Debug)]
pub struct ThreadTransport {
    thread: Thread,
    kind: Option<ServerKind>,
    memory: Arc<Mutex<MergeMemory>>,
    /// Whether the stream was opened before, so the server offers it.
    was_open: bool,
}

/// A thread on its server.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    server: AgentServer,
    id: String,
    modes: Vec<String>,
    max_event: usize,
}

impl ThreadTransport {
    /// Creates a link to this thread. Modes are `run_modes`, `lifecycle` and `state_update`; none means the server's
    /// default.
    pub fn new(server: AgentServer, thread: String, modes: Vec<String>) -> ThreadTransport {
        ThreadTransport {
            thread: Thread {
                server,
                id: thread,
                modes,
                max_event: usize::MAX,
            },
            kind: None,
            memory: Arc::default(),
            was_open: false,
        }
    }
}

impl Transport for ThreadTransport {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_endless: true,
            sends_heartbeats: self.kind == Some(ServerKind::Python),
            sends_all: false,
            never_replayed: self
                .thread
                .modes
                .iter()
                .any(|mode| mode == "state_update")
                .then_some("state updates"),
            ..Capabilities::default()
        }
    }

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        self.thread.max_event = max_event;
        // For an unknown thread the server responds with 200 and sends nothing forever, so check on each connect that
        // it still exists.
        if let Err(error) = self.thread.server.thread(&self.thread.id).await
            && !is_endpoint_missing(&self.thread.server, &mut self.kind, &error).await?
        {
            return Err(error);
        }
        let is_python = kind(&self.thread.server, &mut self.kind).await? == ServerKind::Python;
        let opened = self.open(is_python, after).await;
        if !self.was_open
            && let Err(error) = &opened
            && error.may_lack_call()
        {
            // The thread exists, so the server has no such endpoint.
            let (kind, detail) = (Kind::NotOffered, "this server has no thread streams".into());
            return Err(ApiError {
                kind,
                detail,
                ..error.clone()
            });
        }
        self.was_open |= opened.is_ok();
        opened
    }

    async fn run_state(&mut self, _error: Option<&str>) -> Result<RunState, ApiError> {
        Ok(RunState::Endless)
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.thread.modes = modes;
        if !self.thread.has_stored() {
            // The end of the current run will not be received in this mode.
            self.memory
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .current = None;
        }
    }

    fn sends(&self, name: &str) -> bool {
        thread_gives(&self.thread.modes, name)
    }
}

impl ThreadTransport {
    async fn open(&self, is_python: bool, after: Option<&str>) -> Result<Connection, ApiError> {
        match after {
            Some(after) if is_python && self.thread.has_stored() => {
                // Subscribe first. All events of runs that the list then shows as finished are in the replay that is
                // requested next.
                let thread = self.thread.with_run_events();
                let live = thread.open(false, None).await?;
                let runs = self.thread.runs().await?;
                let past = thread.open(false, Some(after)).await?;
                let (status, answered) = (live.status, live.answered);
                let before = answered.map_or(Replayed::Unknown, Replayed::Before);
                let bodies = (past.body, live.body);
                let body = ThreadMerger::new(
                    self.thread.clone(),
                    after,
                    runs,
                    bodies,
                    answered,
                    self.memory.clone(),
                )
                .feeds();
                let thread_id = Some(self.thread.id.clone());
                Ok(Connection {
                    status,
                    thread_id,
                    run_id: None,
                    answered: None,
                    past: before,
                    body,
                })
            }
            _ => self.thread.open(!is_python, after).await,
        }
    }
}

impl Thread {
    /// Returns whether any requested events are stored by the server.
    fn has_stored(&self) -> bool {
        self.modes.is_empty()
            || self
                .modes
                .iter()
                .any(|mode| mode == "run_modes" || mode == "lifecycle")
    }

    /// Returns this thread with `run_modes` requested, because merging past and present needs run events. The merger drops
    /// them if they were not requested originally.
    fn with_run_events(&self) -> Thread {
        let mut all = self.clone();
        if !thread_gives(&self.modes, RUN_EVENT) {
            all.modes.push("run_modes".into());
        }
        all
    }

    /// Returns whether events with this name were requested.
    pub(crate) fn sends(&self, name: &str) -> bool {
        thread_gives(&self.modes, name)
    }

    async fn open(&self, repeat_modes: bool, after: Option<&str>) -> Result<Connection, ApiError> {
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

    pub(crate) async fn runs(&self) -> Result<Vec<Run>, ApiError> {
        Ok(self.server.runs(&self.id, MAX_RUNS).await?.items)
    }

    /// Returns whether the server has no record of a run.
    pub(crate) async fn is_deleted(&self, run: &str) -> Result<bool, ApiError> {
        match self.server.run(&self.id, run).await {
            Ok(_) => Ok(false),
            Err(error) if error.kind == Kind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn join(&self, run: &str, after: &str) -> Result<Connection, ApiError> {
        Ok(Connection::of(
            self.server
                .join_run(&self.id, run, &[], Some(after))
                .await?,
            self.max_event,
        ))
    }
}
