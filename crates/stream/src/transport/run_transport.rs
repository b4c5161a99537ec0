//! The link to a run that we start. The start request is sent only once; if its response is lost, the run is searched for.

use crate::transport::connection::{Capabilities, Connection, RunState, Transport};
use crate::transport::join_plan::{Joining, Numbering, join_plan, numbering};
use crate::transport::modes::{RunStreamOptions, run_gives};
use crate::transport::run_state::run_state;
use crate::transport::server::{
    ALWAYS, FROM_THE_START, is_endpoint_missing, kind, may_reopen, refused, requested_modes,
};
use runtail_api::{AgentServer, ApiError, FoundStart, Kind, ServerKind, mark_start};
use runtail_core::model::{Note, Preview, Run, RunCreate};
use serde_json::{Value, json};
use std::collections::HashSet;

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
        lost: ApiError,
    },
    /// Started, but the response had no run id.
    Unnamed,
    Run(String),
}

impl RunTransport {
    /// Creates a link that starts this run as resumable. Disconnecting never cancels it.
    pub fn new(server: AgentServer, target: Target, mut body: RunCreate) -> RunTransport {
        body.stream_resumable = true;
        body.on_disconnect = Some("continue".into());
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
            body: mark_start(body),
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

    /// Previews what is sent. `reads`: what the server needs for it is read now, else right before it is sent.
    ///
    /// # Errors
    /// An address or the body can't be made.
    pub async fn preview(&mut self, title: String, reads: bool) -> Result<Preview, ApiError> {
        let (mut requests, mut notes) = (Vec::new(), Vec::new());
        if self.to_create {
            requests.push(self.server.post_request(&["threads"], &self.creation())?);
            notes.push(Note::fact(
                "Creates a thread first; its id is a new one each time.",
            ));
        } else if reads {
            let _ = kind(&self.server, &mut self.kind).await;
            self.begin_at_head().await;
        }
        let thread = self.thread.as_deref();
        requests.push(self.server.stream_request(thread, &self.body)?);
        notes.push(Note::fact("Models and tools are called on the server."));
        let thread = thread.filter(|_| !self.to_create);
        Ok(self.server.preview_of(title, thread, requests, notes))
    }

    /// Names the newest checkpoint of an existing thread in the request, where the server needs that.
    async fn begin_at_head(&mut self) {
        if let (Some(thread), Some(ServerKind::JavaScript | ServerKind::Aegra)) =
            (&self.thread, self.kind)
        {
            self.body = self.server.begin_at_head(thread, self.body.clone()).await;
        }
    }

    fn creation(&self) -> Value {
        json!({"thread_id": self.thread, "if_exists": "do_nothing"})
    }

    async fn create_thread(&mut self) -> Result<(), ApiError> {
        let thread = match self.server.create_thread(&self.creation()).await {
            // By the contract, a server chooses the id.
            Err(error)
                if matches!(error.kind, Kind::Invalid(_))
                    && kind(&self.server, &mut self.kind).await? == ServerKind::Other =>
            {
                self.server.create_thread(&json!({})).await?
            }
            result => result?,
        };
        self.created_thread = self.thread.as_ref() == Some(&thread.thread_id);
        // The server may choose its own id. Such a thread is never deleted.
        if !self.created_thread && kind(&self.server, &mut self.kind).await? != ServerKind::Other {
            let requested = self.thread.as_deref().unwrap_or_default();
            let returned = runtail_core::text::clean(&thread.thread_id);
            let detail = format!(
                "the server was asked to create thread {requested} but returned thread {returned}; nothing was started"
            );
            return Err(ApiError {
                kind: Kind::Protocol,
                ..refused(&detail)
            });
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
        } else if let Some(kind) = self.kind {
            self.before = self.server.runs_before_start(thread, kind).await;
        }
    }

    async fn send(&mut self) -> Result<Connection, ApiError> {
        // The kind is optional here, so don't fail if it can't be detected.
        let _ = kind(&self.server, &mut self.kind).await;
        self.remember_runs().await;
        if !self.created_thread {
            self.begin_at_head().await;
        }
        self.start = Start::InDoubt {
            attempts: 0,
            lost: refused("the start request got no response"),
        };
        match self
            .server
            .start_run(self.thread.as_deref(), &self.body)
            .await
        {
            Ok(stream) => {
                self.start = stream.run_id.clone().map_or(Start::Unnamed, Start::Run);
                let thread_id = stream.thread_id.clone().or(self.thread.clone());
                Ok(Connection {
                    thread_id,
                    ..Connection::of(stream, self.max_event)
                })
            }
            Err(error) if error.is_refusal() => {
                self.start = Start::Unsent;
                let error = without_retry(error);
                if self.created_thread && !error.is_transient() && error.status() != Some(429) {
                    self.delete_thread().await;
                }
                Err(error)
            }
            Err(lost) => {
                self.start = Start::InDoubt { attempts: 0, lost };
                self.find_lost_run().await
            }
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

    /// Searches for the run whose start got no response, and joins it.
    async fn find_lost_run(&mut self) -> Result<Connection, ApiError> {
        let Start::InDoubt { attempts, lost } = &mut self.start else {
            return Err(refused("no start is in doubt"));
        };
        *attempts += 1;
        let (attempts, lost) = (*attempts, lost.clone());
        let unknown = |kind, why: &str| ApiError {
            kind,
            detail: format!("{}{why}", lost.cause()),
            ..lost.clone()
        };
        let Some(thread) = self.thread.clone() else {
            return Err(unknown(
                Kind::Refused,
                "; a stateless run can't be looked up, so it may be running",
            ));
        };
        let found = match self.find_unnamed(&thread).await {
            Ok(FoundStart::Run(run)) => return self.join_found(&thread, *run).await,
            // The run may not be listed yet.
            Ok(_) if attempts < FIND_RUN_ATTEMPTS => return Err(unknown(Kind::Network, "")),
            found => found,
        };
        let why = match &found {
            Ok(FoundStart::Ambiguous) => {
                "the thread has new runs, but none is certainly this one".into()
            }
            Ok(_) => "the thread has no run that could be this one".into(),
            Err(error) => format!("its runs can't be listed: {}", error.cause()),
        };
        let kind = if found.is_err_and(|error| error.is_transient()) {
            Kind::Network
        } else {
            Kind::Refused
        };
        let error = unknown(
            kind,
            &format!("; it is unknown whether the run started ({why})"),
        );
        let hint = "the request was sent only once; the thread's runs and state show what happened";
        Err(ApiError {
            hint: Some(hint.into()),
            ..error
        })
    }

    async fn join_found(&mut self, thread: &str, run: Run) -> Result<Connection, ApiError> {
        let kind = kind(&self.server, &mut self.kind).await?;
        let (plan, is_over) = (join_plan(kind, Some(&run)), !run.is_active());
        self.joining = Some(Joining {
            plan,
            is_over,
            is_pending: run.status == "pending",
        });
        // Until this succeeds the run stays in doubt, because a later connection of a known run would not begin at its start.
        let opened = self.join(thread, &run.run_id, Some(FROM_THE_START)).await?;
        self.start = Start::Run(run.run_id);
        // The source expects a new run but gets a replay, which may contain duplicates.
        Ok(opened.replaying())
    }

    async fn find_unnamed(&self, thread: &str) -> Result<FoundStart, ApiError> {
        self.server
            .find_start(thread, &self.body, self.before.as_ref())
            .await
    }

    async fn join(
        &mut self,
        thread: &str,
        run: &str,
        after: Option<&str>,
    ) -> Result<Connection, ApiError> {
        let modes = requested_modes(&self.server, &mut self.kind, &self.modes).await?;
        let stream = self.server.join_run(thread, run, &modes, after).await?;
        let opened = Connection::of(stream, self.max_event).of_joined_run(self.kind);
        Ok(Connection {
            thread_id: Some(thread.into()),
            run_id: Some(run.into()),
            ..opened
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

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        self.max_event = max_event;
        if self.to_create {
            self.create_thread().await.map_err(without_run)?;
        }
        match (&self.start, self.thread.clone()) {
            (Start::Unsent, _) => self.send().await,
            (Start::Run(run), Some(thread)) => {
                let run = run.clone();
                self.join(&thread, &run, after).await
            }
            (Start::Unnamed, Some(thread)) => match self.find_unnamed(&thread).await? {
                FoundStart::Run(run) => {
                    let opened = self.join(&thread, &run.run_id, after).await;
                    self.start = Start::Run(run.run_id);
                    opened
                }
                FoundStart::None | FoundStart::Ambiguous => Err(refused(
                    "the server never sent the run's id, and the thread's list of runs doesn't show which run it is",
                )),
            },
            (Start::InDoubt { .. }, _) => self.find_lost_run().await,
            (Start::Run(_) | Start::Unnamed, None) => {
                Err(refused("a stateless run can't be joined again"))
            }
        }
    }

    async fn run_state(&mut self, error: Option<&str>) -> Result<RunState, ApiError> {
        let Some(thread) = self.thread.clone() else {
            // A contract-only server shows no outcome, and one that is stopped closes its connections cleanly, too.
            if self.kind == Some(ServerKind::Other) {
                self.server.check_answers().await?;
            }
            return Ok(RunState::NoStatus);
        };
        if matches!(self.start, Start::Unnamed) {
            match self.find_unnamed(&thread).await {
                Ok(FoundStart::Run(run)) => self.start = Start::Run(run.run_id),
                Ok(FoundStart::None | FoundStart::Ambiguous) => return Ok(RunState::NoStatus),
                Err(error) if is_endpoint_missing(&self.server, &mut self.kind, &error).await? => {
                    return Ok(RunState::NoStatus);
                }
                Err(error) => return Err(error),
            }
        }
        match &self.start {
            Start::Run(run) => run_state(&self.server, &thread, run, &mut self.kind, error).await,
            _ => Ok(RunState::NoStatus),
        }
    }

    async fn is_run_missing(&mut self) -> bool {
        match (&self.start, &self.thread) {
            (Start::Run(run), Some(thread)) => self.server.is_run_missing(thread, run).await,
            _ => false,
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

/// Replaces the hint of the error of a thread that may have been created: creating it again does no harm.
fn without_run(error: ApiError) -> ApiError {
    if error.is_refusal() {
        return error;
    }
    let hint = "no run was started; the thread may have been created";
    ApiError {
        hint: Some(hint.into()),
        ..error
    }
}

/// Makes a 429 without `Retry-After` permanent. A proxy may send it after forwarding the request, so it doesn't prove
/// that nothing was started.
fn without_retry(error: ApiError) -> ApiError {
    match error.kind {
        Kind::RateLimited(None) => {
            let hint =
                "the response has no Retry-After, so the start was not sent again".to_string();
            ApiError {
                kind: Kind::Status(429),
                hint: Some(hint),
                ..error
            }
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_definite_error_is_a_refusal() {
        let error = |kind| ApiError {
            kind,
            ..refused("x")
        };
        for kind in [
            Kind::Conflict,
            Kind::Invalid(vec![]),
            Kind::RateLimited(None),
            Kind::Status(400),
            Kind::NoConnection,
        ] {
            assert!(error(kind).is_refusal());
        }
        for kind in [
            Kind::Server(502),
            Kind::Network,
            Kind::Timeout,
            Kind::Protocol,
            Kind::Status(408),
        ] {
            assert!(!error(kind).is_refusal());
        }
    }
}
