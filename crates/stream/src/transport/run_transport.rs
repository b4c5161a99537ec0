//! The link to a run that we start. The start request is sent only once; if its response is lost, the run is searched for.

use crate::transport::connection::{Capabilities, Connection, RunState, Transport};
use crate::transport::join_plan::{Joining, Numbering, join_plan, numbering};
use crate::transport::modes::{RunStreamOptions, run_gives};
use crate::transport::run_state::run_state;
use crate::transport::server::{
    ALWAYS, FROM_THE_START, is_endpoint_missing, kind, may_reopen, refused, requested_modes,
};
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};
use runtail_core::model::{Run, RunCreate};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The metadata key whose value identifies our run in the list of runs.
const RUN_TAG_KEY: &str = "runtail";
/// Number of newest runs to search for ours, and number of runs to remember before the start.
const RUNS_SEARCHED: usize = 20;
const RUNS_REMEMBERED: usize = 100;
/// Number of assistants to search for a run's assistant.
const ASSISTANTS: usize = 100;
/// Number of attempts to find a run whose start got no response.
const FIND_RUN_ATTEMPTS: u32 = 4;

/// The thread on which a run is started.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// An existing thread.
    Thread(String),
    /// A new thread, which is created first.
    NewThread,
    /// No thread: such a run can't be looked up or rejoined.
    Stateless,
}

/// The link to a run that we start.
#[derive(Debug)]
pub struct RunTransport {
    server: AgentServer,
    thread: Option<String>,
    /// Whether the new thread is still to be created.
    to_create: bool,
    /// Whether the thread was created for this run.
    created_thread: bool,
    body: RunCreate,
    run_tag: String,
    start: Start,
    /// The thread's runs before the start, if known.
    before: Option<HashSet<String>>,
    /// How the run was joined after its start got no response.
    joining: Option<Joining>,
    /// The modes that later connections request; none means all modes that the run was started with.
    modes: Vec<String>,
    kind: Option<ServerKind>,
    max_event: usize,
}

#[derive(Debug)]
enum Start {
    /// Not sent, or definitely refused.
    Unsent,
    /// Sent without a response: the run may exist.
    InDoubt {
        attempts: u32,
    },
    /// Started, but the response had no run id.
    Unnamed,
    Run(String),
}

/// The result of searching for a run.
enum Found {
    Run(Box<Run>),
    /// No run can be ours.
    None,
    /// There are new runs, but none is certainly ours.
    Ambiguous,
}

impl RunTransport {
    /// Creates a link that starts this run as resumable. Disconnecting never cancels it.
    pub fn new(server: AgentServer, target: Target, mut body: RunCreate) -> RunTransport {
        let run_tag = uuid::Uuid::new_v4().to_string();
        body.stream_resumable = true;
        body.on_disconnect = Some("continue".into());
        match &mut body.metadata {
            Some(Value::Object(metadata)) => {
                metadata.insert(RUN_TAG_KEY.into(), json!(run_tag));
            }
            other => *other = Some(json!({ RUN_TAG_KEY: run_tag })),
        }
        let to_create = target == Target::NewThread;
        let thread = match target {
            Target::Thread(id) => Some(id),
            // With our own id, creating the thread twice is harmless.
            Target::NewThread => Some(uuid::Uuid::now_v7().to_string()),
            Target::Stateless => None,
        };
        RunTransport {
            server,
            thread,
            to_create,
            created_thread: false,
            body,
            run_tag,
            start: Start::Unsent,
            before: None,
            joining: None,
            modes: Vec::new(),
            kind: None,
            max_event: usize::MAX,
        }
    }

    /// Returns the thread that the run is started on; none for a stateless run.
    pub fn thread_id(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    async fn create_thread(&mut self) -> Result<(), ApiError> {
        let body = json!({"thread_id": self.thread, "if_exists": "do_nothing"});
        let thread = self.server.create_thread(&body).await?;
        self.created_thread = self.thread.as_ref() == Some(&thread.thread_id);
        // The server may choose its own id. Such a thread is never deleted.
        if !self.created_thread && kind(&self.server, &mut self.kind).await? != ServerKind::Other {
            let requested = self.thread.as_deref().unwrap_or_default();
            let returned = runtail_core::text::clean(&thread.thread_id);
            let detail = format!(
                "the server was asked to create thread {requested} but returned thread {returned}; nothing was started"
            );
            return Err(ApiError { kind: Kind::Protocol, ..refused(&detail) });
        }
        self.thread = Some(thread.thread_id);
        self.to_create = false;
        Ok(())
    }

    /// Remembers the thread's runs, to distinguish a new run from older ones if its start gets no response. Not needed if
    /// run records have metadata.
    async fn remember_runs(&mut self) {
        let Some(thread) = &self.thread else { return };
        if self.created_thread {
            self.before = Some(HashSet::new());
        } else if self.kind.is_some_and(|kind| kind.is_aegra() || kind == ServerKind::Other) {
            let runs = self.server.runs(thread, RUNS_REMEMBERED).await.ok();
            self.before = runs.map(|runs| runs.into_iter().map(|run| run.run_id).collect());
        }
    }

    async fn send(&mut self) -> Result<Connection, ApiError> {
        // The kind is optional here, so don't fail if it can't be detected.
        let _ = kind(&self.server, &mut self.kind).await;
        self.remember_runs().await;
        if let (Some(thread), false, Some(ServerKind::JavaScript | ServerKind::Aegra)) =
            (&self.thread, self.created_thread, self.kind)
        {
            self.body = self.server.begin_at_head(thread, self.body.clone()).await;
        }
        self.start = Start::InDoubt { attempts: 0 };
        match self.server.start_run(self.thread.as_deref(), &self.body).await {
            Ok(stream) => {
                self.start = stream.run_id.clone().map_or(Start::Unnamed, Start::Run);
                let thread_id = stream.thread_id.clone().or(self.thread.clone());
                Ok(Connection { thread_id, ..Connection::of(stream, self.max_event) })
            }
            Err(error) if error.is_refusal() => {
                self.start = Start::Unsent;
                let error = without_retry(error);
                if self.created_thread && !error.is_transient() && error.status() != Some(429) {
                    self.delete_thread().await;
                }
                Err(error)
            }
            Err(error) => self.find_lost_run(error).await,
        }
    }

    /// Deletes the thread that was created for a refused run.
    async fn delete_thread(&mut self) {
        if let Some(thread) = &self.thread {
            // The refusal matters more than a failed cleanup.
            let _ = self.server.delete_thread(thread).await;
        }
        self.created_thread = false;
        self.to_create = true;
    }

    /// Searches for the run whose start got no response, and joins it. `lost` is the error of the start request.
    async fn find_lost_run(&mut self, lost: ApiError) -> Result<Connection, ApiError> {
        let Some(thread) = self.thread.clone() else {
            return Err(ApiError {
                kind: Kind::Refused,
                detail: format!("{}; a stateless run can't be looked up, so it may be running", lost.detail),
                ..lost
            });
        };
        let found = self.find(&thread).await.map_err(|error| ApiError {
            detail: format!("{}; it is unknown whether the run started", error.detail),
            ..error
        })?;
        if let Found::Run(run) = found {
            return self.join_found(&thread, *run).await;
        }
        let attempts = match &mut self.start {
            Start::InDoubt { attempts } => {
                *attempts += 1;
                *attempts
            }
            _ => FIND_RUN_ATTEMPTS,
        };
        if attempts < FIND_RUN_ATTEMPTS {
            // The run may not be listed yet.
            return Err(ApiError { kind: Kind::Network, ..lost });
        }
        let why = match found {
            Found::Ambiguous => "the thread has new runs, but none is certainly this one",
            _ => "the thread has no run that could be this one",
        };
        Err(ApiError {
            kind: Kind::Refused,
            detail: format!("{}; {why}, so it is unknown whether the run started", lost.detail),
            hint: Some("the request was sent only once; the thread's runs and state show what happened".into()),
            ..lost
        })
    }

    async fn join_found(&mut self, thread: &str, run: Run) -> Result<Connection, ApiError> {
        let kind = kind(&self.server, &mut self.kind).await?;
        let (plan, is_over) = (join_plan(kind, Some(&run)), !run.is_active());
        self.joining = Some(Joining { plan, is_over, is_pending: run.status == "pending" });
        // Until this succeeds the run stays in doubt, because a later connection of a known run would not begin at its start.
        let opened = self.join(thread, &run.run_id, Some(FROM_THE_START)).await?;
        self.start = Start::Run(run.run_id);
        // The source expects a new run but gets a replay, which may contain duplicates.
        Ok(opened.replaying())
    }

    async fn find(&mut self, thread: &str) -> Result<Found, ApiError> {
        let runs = self.server.runs(thread, RUNS_SEARCHED).await?;
        let is_ours = |run: &Run| run.metadata.as_ref().is_some_and(|m| m[RUN_TAG_KEY] == self.run_tag.as_str());
        let (has_metadata, has_runs) = (runs.iter().any(|run| run.metadata.is_some()), !runs.is_empty());
        if let Some(run) = runs.iter().position(is_ours) {
            return Ok(runs.into_iter().nth(run).map_or(Found::None, |run| Found::Run(Box::new(run))));
        }
        if has_metadata || !has_runs {
            return Ok(Found::None);
        }
        let Some(before) = &self.before else { return Ok(Found::Ambiguous) };
        let mut new: Vec<Run> = runs.into_iter().filter(|run| !before.contains(&run.run_id)).collect();
        let is_other_input = |run: &Run| {
            self.body.input.is_some() && run.extra.get("input").is_some_and(|i| Some(i) != self.body.input.as_ref())
        };
        new.retain(|run| !is_other_input(run));
        let Some(run) = new.pop() else { return Ok(Found::None) };
        if !new.is_empty() || !self.is_assistant(&run.assistant_id).await? {
            return Ok(Found::Ambiguous);
        }
        Ok(Found::Run(Box::new(run)))
    }

    /// Returns whether an assistant's id belongs to the requested assistant, which may be given by id or name.
    async fn is_assistant(&self, id: &str) -> Result<bool, ApiError> {
        let requested = &*self.body.assistant_id;
        if id == requested {
            return Ok(true);
        }
        let all = self.server.assistants(ASSISTANTS, 0).await?;
        let is_it = |name: &str| name == requested;
        Ok(all.iter().any(|a| a.assistant_id == id && (is_it(&a.graph_id) || a.name.as_deref().is_some_and(is_it))))
    }

    async fn join(&mut self, thread: &str, run: &str, after: Option<&str>) -> Result<Connection, ApiError> {
        let modes = requested_modes(&self.server, &mut self.kind, &self.modes).await?;
        let stream = self.server.join_run(thread, run, &modes, after).await?;
        Ok(Connection {
            thread_id: Some(thread.into()),
            run_id: Some(run.into()),
            ..Connection::of(stream, self.max_event)
        })
    }

    /// Returns whether the server filters by mode.
    fn server_filters(&self) -> bool {
        self.kind == Some(ServerKind::Python)
    }
}

impl Transport for RunTransport {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            everything: self.thread.as_ref().map(|_| FROM_THE_START),
            sends_heartbeats: self.kind == Some(ServerKind::Python),
            sends_all: !self.server_filters() || self.modes.is_empty(),
            first_event: Some(ALWAYS[0]),
            ..Capabilities::default()
        }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Connection, ApiError> {
        self.max_event = max_event;
        if self.to_create {
            self.create_thread().await?;
        }
        match (&self.start, self.thread.clone()) {
            (Start::Unsent, _) => self.send().await,
            (Start::Run(run), Some(thread)) => {
                let run = run.clone();
                self.join(&thread, &run, after).await
            }
            (Start::Unnamed, Some(thread)) => match self.find(&thread).await? {
                Found::Run(run) => {
                    let opened = self.join(&thread, &run.run_id, after).await;
                    self.start = Start::Run(run.run_id);
                    opened
                }
                Found::None | Found::Ambiguous => Err(refused(
                    "the server never sent the run's id, and the thread's list of runs doesn't show which run it is",
                )),
            },
            (Start::InDoubt { .. }, _) => self.find_lost_run(refused("the start request got no response")).await,
            (Start::Run(_) | Start::Unnamed, None) => Err(refused("a stateless run can't be joined again")),
        }
    }

    async fn run_state(&mut self) -> Result<RunState, ApiError> {
        let Some(thread) = self.thread.clone() else { return Ok(RunState::NoStatus) };
        if matches!(self.start, Start::Unnamed) {
            match self.find(&thread).await {
                Ok(Found::Run(run)) => self.start = Start::Run(run.run_id),
                Ok(Found::None | Found::Ambiguous) => return Ok(RunState::NoStatus),
                Err(error) if is_endpoint_missing(&self.server, &mut self.kind, &error).await? => {
                    return Ok(RunState::NoStatus);
                }
                Err(error) => return Err(error),
            }
        }
        match &self.start {
            Start::Run(run) => run_state(&self.server, &thread, run, &mut self.kind).await,
            _ => Ok(RunState::NoStatus),
        }
    }

    fn on_run_id(&mut self, run_id: &str) {
        if matches!(self.start, Start::Unnamed) && self.thread.is_some() {
            self.start = Start::Run(run_id.into());
        }
    }

    fn joining(&self) -> Option<Joining> {
        self.joining
    }

    fn numbering(&self) -> Option<Numbering> {
        self.kind.and_then(numbering)
    }

    async fn may_reopen(&mut self) -> Result<(), String> {
        if self.thread.is_none() {
            return Err("a stateless run can't be joined again".into());
        }
        let terms = RunStreamOptions::of_request(&self.body);
        may_reopen(&self.server, &mut self.kind, Some(&terms)).await
    }

    fn set_modes(&mut self, modes: Vec<String>) {
        self.modes = modes;
    }

    fn wants(&self, name: &str) -> bool {
        ALWAYS.contains(&name) || run_gives(&self.modes, name)
    }

    fn sends(&self, name: &str) -> bool {
        !self.server_filters() || run_gives(&self.modes, name)
    }

    fn terms(&self) -> Option<RunStreamOptions> {
        Some(RunStreamOptions::of_request(&self.body))
    }
}

/// Makes a 429 without `Retry-After` permanent. A proxy may send it after forwarding the request, so it doesn't prove
/// that nothing was started.
fn without_retry(error: ApiError) -> ApiError {
    match error.kind {
        Kind::RateLimited(None) => {
            let hint = "the response has no Retry-After, so the start was not sent again".to_string();
            ApiError { kind: Kind::Status(429), hint: Some(hint), ..error }
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_definite_error_is_a_refusal() {
        let error = |kind| ApiError { kind, ..refused("x") };
        for kind in
            [Kind::Conflict, Kind::Invalid(vec![]), Kind::RateLimited(None), Kind::Status(400), Kind::NoConnection]
        {
            assert!(error(kind).is_refusal());
        }
        for kind in [Kind::Server(502), Kind::Network, Kind::Timeout, Kind::Protocol, Kind::Status(408)] {
            assert!(!error(kind).is_refusal());
        }
    }
}
