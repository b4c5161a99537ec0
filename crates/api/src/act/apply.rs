//! Applies a plan: checks its target, then sends each step once. The first step that fails ends it.

use super::{Acted, Plan, RecordPlace, Server, StartError, StartFailure, TargetNow};
use crate::boxed;
use crate::http::join;
use crate::reproduce::CopiedThread;
use crate::{ApiError, CancelAction, CancelTarget, Kind, Place, WriteKind};
use reqwest::{Method, Url};
use runtail_core::model::RunCreate;
use runtail_core::text;
use serde_json::Value;
use std::sync::Arc;

/// A request of a plan.
#[derive(Clone)]
pub(crate) struct Step {
    pub server: Server,
    pub method: Method,
    pub url: Url,
    pub body: Option<Value>,
    /// Statuses that mean success.
    pub expect: &'static [u16],
    pub kind: StepKind,
}

impl Step {
    /// Creates a request. Its path is below the server's base, in segments that are not encoded.
    pub fn new(
        server: impl Into<Server>,
        method: Method,
        path: &[&str],
        body: Option<Value>,
        kind: StepKind,
    ) -> Result<Step, ApiError> {
        let server = server.into();
        let (http, base, _) = server.parts();
        let expect: &[u16] = match (&server, method.as_str()) {
            (Server::Agent(_), _) => &[200, 201, 204],
            (Server::Control(_), "POST") => &[201],
            (Server::Control(_), "DELETE") => &[204],
            (Server::Control(_), _) => &[200],
        };
        Ok(Step {
            expect,
            url: join(http, &method, base, path)?,
            server,
            method,
            body,
            kind,
        })
    }

    /// Replaces the statuses that mean success.
    pub fn expecting(self, expect: &'static [u16]) -> Step {
        Step { expect, ..self }
    }

    /// Adds parameters.
    pub fn with<'p>(mut self, query: impl IntoIterator<Item = (&'p str, &'p str)>) -> Step {
        let mut query = query.into_iter().peekable();
        if query.peek().is_some() {
            self.url.query_pairs_mut().extend_pairs(query);
        }
        self
    }
}

/// What a request does: how its answer is read, and what is looked up if there is none. A text is the id of a thread.
#[derive(Clone)]
pub(crate) enum StepKind {
    /// Changes a record, which is the answer.
    Change,
    /// Changes a deployment. The new revision has this `source_revision_config`, as far as it is known. It identifies the revision
    /// if a push creates another one at the same time.
    Deploy(Value),
    /// Interrupts a revision. Sources spell the end of the path in two ways.
    Interrupt,
    /// Restores a version of this assistant.
    Restore(String),
    /// Writes an item of the store, which is read back.
    Put(RecordPlace),
    /// Cancels these runs, in this order.
    Cancel(String, Vec<CancelTarget>, CancelAction),
    /// Cancels the active runs, then deletes the thread.
    Delete(String),
    /// Deletes the thread, on which no run is active.
    Prune(String),
    Label(String),
    /// Edits the state.
    Write(String, WriteKind),
    /// Creates an empty thread, for a run on it.
    Create(String),
    /// Starts a run; after an edit of the state, from the checkpoint that it made.
    Start(String, Box<RunCreate>),
    /// Creates the thread of a copy, with its history if it has one.
    Copy(Arc<CopiedThread>),
    /// Merges the metadata of a copy into its thread, if the server created it without them.
    Describe(Arc<CopiedThread>),
    /// Writes the state of a copy.
    Fill(Arc<CopiedThread>),
}

/// What the steps of a plan have done so far.
#[derive(Default)]
pub(crate) struct Progress {
    pub acted: Option<Acted>,
    /// What remains if a later step fails.
    pub partial: Option<Partial>,
    /// Whether a copy's thread has its metadata.
    pub is_described: bool,
}

/// What remains of the steps before one that failed.
pub(crate) enum Partial {
    /// The state was edited, which made this checkpoint.
    Edited(String),
    /// This thread was created.
    Thread(String),
    /// This thread of a copy was created.
    Copy(String),
}

impl Partial {
    /// Adds what was done to the error of a later step.
    fn add_to(&self, StartError { failure, error }: StartError) -> StartError {
        let is_unknown = failure == StartFailure::Unknown;
        let partly = match is_unknown {
            true => StartFailure::AfterEditUnknown,
            false => StartFailure::AfterEdit,
        };
        let known = error.hint.clone();
        match self {
            Partial::Thread(id) => {
                let known = known.map(|hint| format!("{hint}; ")).unwrap_or_default();
                let hint = Some(format!("{known}the thread {id} was created"));
                failure.with_error(ApiError { hint, ..error })
            }
            Partial::Copy(id) => {
                let hint = match known.filter(|_| !is_unknown) {
                    Some(known) => known,
                    None if is_unknown => {
                        format!("thread {id} was created, maybe without its state: look at it")
                    }
                    None => format!("thread {id} was created and is empty: delete it"),
                };
                partly.with_error(ApiError {
                    hint: Some(hint),
                    ..error
                })
            }
            Partial::Edited(id) => {
                let id = text::clean(id);
                let why = match (is_unknown, error.status(), &error.detail) {
                    (true, Some(code), detail) => format!(
                        "the server failed ({code}) when the run was started, so it may not have started: {detail}"
                    ),
                    (true, None, detail) => {
                        format!("the reply to the start of the run was lost: {detail}")
                    }
                    // What was read between both requests.
                    (false, _, detail) if error.kind == Kind::Stale => detail.clone(),
                    (false, _, detail) => format!("the run was not started: {detail}"),
                };
                partly.with_error(ApiError {
                    detail: format!("the state was edited (new checkpoint {id}), but {why}"),
                    hint: Some(
                        known.unwrap_or_else(|| {
                            format!("run again from checkpoint {id} to start it")
                        }),
                    ),
                    ..error
                })
            }
        }
    }
}

impl Plan {
    /// Checks the target again, then sends each request once.
    ///
    /// # Errors
    /// `Kind::ReadOnly` before any request. See [`StartFailure`] for the rest: it shows whether anything may have been done.
    #[boxed]
    pub async fn apply(&self) -> Result<Acted, StartError> {
        let deletes = |step: &Step| matches!(step.kind, StepKind::Prune(_));
        if let Some(step) = self.steps.first() {
            let allowed = step.server.parts().0.check_write(&self.place());
            allowed.map_err(|error| StartFailure::Refused.with_error(error))?;
        }
        let seen = match self.check_target().await {
            // Deleted by someone else.
            Err(gone) if gone.error.kind == Kind::NotFound && self.steps.iter().any(deletes) => {
                return Ok(Acted::Deleted);
            }
            seen => seen?,
        };
        let mut done = Progress::default();
        for step in &self.steps {
            if let Err(failed) = self.send(step, &seen, &mut done).await {
                let failed = match &step.server {
                    Server::Agent(server) => StartError {
                        error: server.or_not_offered(failed.error).await,
                        ..failed
                    },
                    Server::Control(_) => failed,
                };
                return Err(match &done.partial {
                    Some(partial) => partial.add_to(failed),
                    None => failed,
                });
            }
        }
        Ok(done.acted.unwrap_or(Acted::Changed(Box::default())))
    }

    async fn send(
        &self,
        step: &Step,
        seen: &TargetNow,
        done: &mut Progress,
    ) -> Result<(), StartError> {
        let Server::Agent(agent) = &step.server else {
            let applied = self.send_change(step, seen).await?;
            done.acted = Some(Acted::Changed(Box::new(applied)));
            return Ok(());
        };
        let body = step.body.as_ref().unwrap_or(&Value::Null);
        let acted = match &step.kind {
            StepKind::Cancel(thread, targets, action) => {
                let mut targets = targets.clone();
                agent.cancel_runs(thread, &mut targets, *action).await;
                Acted::Cancelling(targets)
            }
            StepKind::Delete(thread) => agent.delete_quiet_thread(thread).await?,
            StepKind::Prune(thread) => agent.prune_quiet_thread(thread, &step.method).await?,
            StepKind::Label(thread) => agent.label_thread(thread, body).await?,
            StepKind::Write(thread, kind) => {
                let is_last = self.steps.len() == 1;
                agent
                    .write_state((thread, *kind), body, seen, is_last, done)
                    .await?
            }
            StepKind::Create(thread) => return agent.create_for_run(thread, body, done).await,
            StepKind::Start(thread, run) => {
                agent
                    .start_run_of(thread, run, (&self.guard, seen), done)
                    .await?
            }
            StepKind::Copy(copy) => agent.create_copy(copy, body, done).await?,
            StepKind::Describe(_) if done.is_described => return Ok(()),
            StepKind::Describe(copy) => return agent.describe_copy(copy, body).await,
            StepKind::Fill(copy) => agent.fill_copy(copy, body, done).await?,
            StepKind::Change
            | StepKind::Deploy(_)
            | StepKind::Interrupt
            | StepKind::Restore(_)
            | StepKind::Put(_) => Acted::Changed(Box::new(self.send_change(step, seen).await?)),
        };
        done.acted = Some(acted);
        Ok(())
    }

    /// Returns the first request, for errors.
    pub(super) fn place(&self) -> Place {
        self.steps.first().map_or_else(Place::default, |step| {
            step.server.parts().0.place(&step.method, &step.url)
        })
    }
}
