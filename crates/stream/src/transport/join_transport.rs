//! The link to an existing run.

use crate::transport::connection::{Capabilities, Connection, Replayed, RunState, Transport};
use crate::transport::join_plan::{JoinPlan, Joining, NoEvents, Numbering, join_plan, numbering};
use crate::transport::modes::{RunStreamOptions, run_gives};
use crate::transport::run_state::run_state;
use crate::transport::server::{ALWAYS, is_endpoint_missing, kind, may_reopen, requested_modes};
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};

/// The link to an existing run. Connect after `-1` to replay the events it has already sent.
#[derive(Debug)]
pub struct JoinTransport {
    server: AgentServer,
    thread: String,
    run: String,
    modes: Vec<String>,
    /// Whether to read the run even if that takes events away from other readers.
    shared: bool,
    joining: Option<Joining>,
    /// Which earlier events the next connection sends.
    past: Replayed,
    terms: Option<RunStreamOptions>,
    kind: Option<ServerKind>,
}

impl JoinTransport {
    /// Creates a link to this run. No modes means all modes that the run was started with.
    pub fn new(
        server: AgentServer,
        thread: String,
        run: String,
        modes: Vec<String>,
    ) -> JoinTransport {
        JoinTransport {
            server,
            thread,
            run,
            modes,
            shared: false,
            joining: None,
            past: Replayed::Unknown,
            terms: None,
            kind: None,
        }
    }

    /// Sets whether to read the run even if that takes events away from other readers. Otherwise the first connection
    /// fails with [`Kind::OneReader`].
    pub fn shared(self, shared: bool) -> JoinTransport {
        JoinTransport { shared, ..self }
    }

    /// Returns whether the server filters by mode. The result doesn't matter before its kind is known.
    fn server_filters(&self) -> bool {
        self.kind == Some(ServerKind::Python)
    }
}

impl Transport for JoinTransport {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            sends_heartbeats: self.kind == Some(ServerKind::Python),
            sends_all: !self.server_filters() || self.modes.is_empty(),
            first_event: Some(ALWAYS[0]),
            ..Capabilities::default()
        }
    }

    async fn prepare(&mut self) -> Result<Option<NoEvents>, ApiError> {
        // For an unknown run the stream responds with 200 and an error event, so check the run first.
        let run = match self.server.run(&self.thread, &self.run).await {
            Ok(run) => Some(run),
            Err(error) if is_endpoint_missing(&self.server, &mut self.kind, &error).await? => None,
            Err(error) => return Err(error),
        };
        let plan = join_plan(kind(&self.server, &mut self.kind).await?, run.as_ref());
        let is_pending = run.as_ref().is_some_and(|run| run.status == "pending");
        let is_over = run.as_ref().is_some_and(|run| !run.is_active());
        self.joining = Some(Joining {
            plan,
            is_pending,
            is_over,
        });
        self.terms = run.as_ref().and_then(RunStreamOptions::of_run);
        self.past = match plan {
            _ if is_over => Replayed::All,
            // A run that has not started has sent nothing.
            JoinPlan::FromNow => Replayed::None,
            _ if is_pending => Replayed::None,
            JoinPlan::Unknown if self.kind == Some(ServerKind::Other) => Replayed::IfRepeated,
            _ => Replayed::Unknown,
        };
        match plan {
            JoinPlan::Shared(why) if !self.shared => {
                let path = ["threads", &self.thread, "runs", &self.run, "stream"];
                Err(self.server.refuse_stream(&path, Kind::OneReader, why))
            }
            JoinPlan::FinishedWithoutEvents(why) => Ok(match self.run_state(None).await? {
                RunState::Finished(outcome, detail) | RunState::NotFound(outcome, detail) => {
                    Some(NoEvents {
                        why,
                        outcome,
                        detail,
                    })
                }
                RunState::Active
                | RunState::Endless
                | RunState::NoStatus
                | RunState::StatusUnsupported => None,
            }),
            _ => Ok(None),
        }
    }

    async fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> Result<Connection, ApiError> {
        let modes = requested_modes(&self.server, &mut self.kind, &self.modes).await?;
        let stream = self
            .server
            .join_run(&self.thread, &self.run, &modes, after)
            .await?;
        let (thread_id, run_id) = (Some(self.thread.clone()), Some(self.run.clone()));
        let past = self.past;
        let replays_nothing = self
            .joining
            .is_some_and(|joining| joining.plan == JoinPlan::FromNow);
        if past == Replayed::None && !replays_nothing {
            // A later connection also receives what was sent in between.
            self.past = Replayed::Unknown;
        }
        Ok(Connection {
            thread_id,
            run_id,
            past,
            ..Connection::of(stream, max_event)
        })
    }

    async fn run_state(&mut self, error: Option<&str>) -> Result<RunState, ApiError> {
        run_state(&self.server, &self.thread, &self.run, &mut self.kind, error).await
    }

    async fn is_run_missing(&mut self) -> bool {
        self.server.is_run_missing(&self.thread, &self.run).await
    }

    fn joining(&self) -> Option<Joining> {
        self.joining
    }

    fn numbering(&self) -> Option<Numbering> {
        self.kind.and_then(numbering)
    }

    async fn may_reopen(&mut self) -> Result<(), String> {
        may_reopen(&self.server, &mut self.kind, self.terms.as_ref()).await
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
        self.terms.clone()
    }
}
