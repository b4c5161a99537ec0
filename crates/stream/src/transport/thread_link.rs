//! The link to the stream of a whole thread.
//!
//! The Python server takes the events that it stored, sends them, and subscribes only then: what is published meanwhile
//! is lost, without a trace. So the past is never read together with the present (`thread_merge.rs`).

use crate::transport::link::{Capabilities, Link, Opened, Past, Verdict};
use crate::transport::merge_memory::MergeMemory;
use crate::transport::modes::thread_gives;
use crate::transport::server::{kind, lacks_call};
use crate::transport::thread_merge::ThreadMerger;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use runtail_core::model::Run;
use std::sync::{Arc, Mutex, PoisonError};

/// An event that only the mode of runs gives.
const RUN: &str = "values";
/// Runs of a thread that are asked for, newest first.
const RUNS: usize = 100;

/// All that happens on a thread, from now on or from an id (`-`: from the start).
#[derive(Debug)]
pub struct ThreadLink {
    thread: Thread,
    kind: Option<ServerKind>,
    memory: Arc<Mutex<MergeMemory>>,
    /// The stream was open before, so the server offers it.
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

impl ThreadLink {
    /// A link to this thread; modes are `run_modes`, `lifecycle` and `state_update`, none means the server's default.
    pub fn new(server: AgentServer, thread: String, modes: Vec<String>) -> ThreadLink {
        ThreadLink {
            thread: Thread { server, id: thread, modes, max_event: usize::MAX },
            kind: None,
            memory: Arc::default(),
            was_open: false,
        }
    }
}

impl Link for ThreadLink {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            is_endless: true,
            beats: self.kind == Some(ServerKind::Python),
            gives_all: false,
            unrepeated: self.thread.modes.iter().any(|mode| mode == "state_update").then_some("state updates"),
            ..Capabilities::default()
        }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        self.thread.max_event = max_event;
        // An unknown thread is answered with 200 and silence for ever, so it is asked for each time: it may be deleted.
        if let Err(error) = self.thread.server.thread(&self.thread.id).await
            && !lacks_call(&self.thread.server, &mut self.kind, &error).await?
        {
            return Err(error);
        }
        let is_python = kind(&self.thread.server, &mut self.kind).await? == ServerKind::Python;
        let opened = self.open(is_python, after).await;
        if !self.was_open
            && let Err(error) = &opened
            && error.may_lack_call()
        {
            // The thread itself was found.
            let (kind, detail) = (Kind::NotOffered, "this server has no thread streams".into());
            return Err(ApiError { kind, detail, ..error.clone() });
        }
        self.was_open |= opened.is_ok();
        opened
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        Ok(Verdict::Endless)
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.thread.modes = modes;
        if !self.thread.has_stored() {
            // Runs come and go unheard now.
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).current = None;
        }
    }

    fn gives(&self, name: &str) -> bool {
        thread_gives(&self.thread.modes, name)
    }
}

impl ThreadLink {
    async fn open(&self, is_python: bool, after: Option<&str>) -> Result<Opened, ApiError> {
        match after {
            Some(after) if is_python && self.thread.has_stored() => {
                // Listening comes first. What the list then calls finished is all in the past that is asked for next.
                let whole = self.thread.with_runs();
                let live = whole.open(false, None).await?;
                let runs = self.thread.runs().await?;
                let past = whole.open(false, Some(after)).await?;
                let (status, answered) = (live.status, live.answered);
                let before = answered.map_or(Past::Unknown, Past::Before);
                let sides = (past.body, live.body);
                let body =
                    ThreadMerger::new(self.thread.clone(), after, runs, sides, answered, self.memory.clone()).feeds();
                let thread_id = Some(self.thread.id.clone());
                Ok(Opened { status, thread_id, run_id: None, answered: None, past: before, body })
            }
            _ => self.thread.open(!is_python, after).await,
        }
    }
}

impl Thread {
    /// Whether anything was asked for that the server keeps.
    fn has_stored(&self) -> bool {
        self.modes.is_empty() || self.modes.iter().any(|mode| mode == "run_modes" || mode == "lifecycle")
    }

    /// The same with the events of runs, by which past and present are joined; who did not ask for them does not get them.
    fn with_runs(&self) -> Thread {
        let mut all = self.clone();
        if !thread_gives(&self.modes, RUN) {
            all.modes.push("run_modes".into());
        }
        all
    }

    /// Whether an event of this name was asked for.
    pub(crate) fn gives(&self, name: &str) -> bool {
        thread_gives(&self.modes, name)
    }

    async fn open(&self, repeat_modes: bool, after: Option<&str>) -> Result<Opened, ApiError> {
        let stream = self.server.thread_stream(&self.id, &self.modes, repeat_modes, after).await?;
        Ok(Opened { thread_id: Some(self.id.clone()), run_id: None, ..Opened::of(stream, self.max_event) })
    }

    pub(crate) async fn runs(&self) -> Result<Vec<Run>, ApiError> {
        self.server.runs(&self.id, RUNS).await
    }

    /// Whether the server has no record of a run.
    pub(crate) async fn is_deleted(&self, run: &str) -> Result<bool, ApiError> {
        match self.server.run(&self.id, run).await {
            Ok(_) => Ok(false),
            Err(error) if error.kind == Kind::NotFound => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn join(&self, run: &str, after: &str) -> Result<Opened, ApiError> {
        Ok(Opened::of(self.server.join_run(&self.id, run, &[], Some(after)).await?, self.max_event))
    }
}
