//! The link to the stream of a whole thread.
//!
//! The Python server reads its stored events, sends them, and only then subscribes, so events published in between are
//! silently lost. That is why past and present are read on separate connections (`thread_merge.rs`).

use crate::transport::connection::{Capabilities, Connection, Replayed, RunState, Transport};
use crate::transport::merge_memory::MergeMemory;
use crate::transport::modes::thread_gives;
use crate::transport::server::{is_endpoint_missing, kind};
use crate::transport::thread::Thread;
use crate::transport::thread_merge::ThreadMerger;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use std::sync::{Arc, Mutex, PoisonError};

/// The link to a thread's stream, from now on or from an id (`-`: from the start).
#[derive(Debug)]
pub struct ThreadTransport {
    thread: Thread,
    kind: Option<ServerKind>,
    memory: Arc<Mutex<MergeMemory>>,
    /// Whether the stream was opened before, so the server offers it.
    was_open: bool,
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
