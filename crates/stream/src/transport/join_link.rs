//! The link to an existing run.

use crate::transport::join_plan::{JoinPlan, Joining, NothingKept, Numbering, join_plan, numbering};
use crate::transport::link::{Capabilities, Link, Opened, Past, Verdict};
use crate::transport::modes::{RunTerms, run_gives};
use crate::transport::server::{ALWAYS, kind, lacks_call, may_reopen, requested_modes};
use crate::transport::verdict::verdict;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind};

/// The link to an existing run. Connect after `-1` to replay the events it has already sent.
#[derive(Debug)]
pub struct JoinLink {
    server: AgentServer,
    thread: String,
    run: String,
    modes: Vec<String>,
    /// Whether to read the run even if that takes events away from other readers.
    shared: bool,
    joining: Option<Joining>,
    /// Which earlier events the next connection sends.
    past: Past,
    terms: Option<RunTerms>,
    kind: Option<ServerKind>,
}

impl JoinLink {
    /// Creates a link to this run. No modes means all modes that the run was started with.
    pub fn new(server: AgentServer, thread: String, run: String, modes: Vec<String>) -> JoinLink {
        let (shared, joining, past) = (false, None, Past::Unknown);
        JoinLink { server, thread, run, modes, shared, joining, past, terms: None, kind: None }
    }

    /// Sets whether to read the run even if that takes events away from other readers. Otherwise the first connection
    /// fails with [`Kind::OneReader`].
    pub fn shared(self, shared: bool) -> JoinLink {
        JoinLink { shared, ..self }
    }

    /// Returns whether the server filters by mode. The result doesn't matter before its kind is known.
    fn server_filters(&self) -> bool {
        self.kind == Some(ServerKind::Python)
    }
}

impl Link for JoinLink {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            beats: self.kind == Some(ServerKind::Python),
            gives_all: !self.server_filters() || self.modes.is_empty(),
            first_event: Some(ALWAYS[0]),
            ..Capabilities::default()
        }
    }

    async fn prepare(&mut self) -> Result<Option<NothingKept>, ApiError> {
        // For an unknown run the stream responds with 200 and an error event, so check the run first.
        let run = match self.server.run(&self.thread, &self.run).await {
            Ok(run) => Some(run),
            Err(error) if lacks_call(&self.server, &mut self.kind, &error).await? => None,
            Err(error) => return Err(error),
        };
        let plan = join_plan(kind(&self.server, &mut self.kind).await?, run.as_ref());
        let is_pending = run.as_ref().is_some_and(|run| run.status == "pending");
        let is_over = run.as_ref().is_some_and(|run| !run.is_active());
        self.joining = Some(Joining { plan, is_pending, is_over });
        self.terms = run.as_ref().and_then(RunTerms::of_run);
        self.past = match plan {
            _ if is_over => Past::Everything,
            // A run that has not started has sent nothing.
            JoinPlan::FromNow => Past::Nothing,
            _ if is_pending => Past::Nothing,
            _ => Past::Unknown,
        };
        match plan {
            JoinPlan::Shared(why) if !self.shared => {
                let path = ["threads", &self.thread, "runs", &self.run, "stream"];
                Err(self.server.refuse_stream(&path, Kind::OneReader, why))
            }
            JoinPlan::OverNothingKept(why) => Ok(match self.verdict().await? {
                Verdict::Finished(outcome, detail) | Verdict::NotFound(outcome, detail) => {
                    Some(NothingKept { why, outcome, detail })
                }
                Verdict::Active | Verdict::Endless | Verdict::NoStatus | Verdict::StatusUnsupported => None,
            }),
            _ => Ok(None),
        }
    }

    async fn connect(&mut self, after: Option<&str>, max_event: usize) -> Result<Opened, ApiError> {
        let modes = requested_modes(&self.server, &mut self.kind, &self.modes).await?;
        let stream = self.server.join_run(&self.thread, &self.run, &modes, after).await?;
        let (thread_id, run_id) = (Some(self.thread.clone()), Some(self.run.clone()));
        let past = self.past;
        let replays_nothing = self.joining.is_some_and(|joining| joining.plan == JoinPlan::FromNow);
        if past == Past::Nothing && !replays_nothing {
            // A later connection also receives what was sent in between.
            self.past = Past::Unknown;
        }
        Ok(Opened { thread_id, run_id, past, ..Opened::of(stream, max_event) })
    }

    async fn verdict(&mut self) -> Result<Verdict, ApiError> {
        verdict(&self.server, &self.thread, &self.run, &mut self.kind).await
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

    fn gives(&self, name: &str) -> bool {
        !self.server_filters() || run_gives(&self.modes, name)
    }

    fn terms(&self) -> Option<RunTerms> {
        self.terms.clone()
    }
}
