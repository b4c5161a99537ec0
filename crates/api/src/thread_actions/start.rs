//! Starting a run on a thread in the background: the thread is looked at again, then the request is sent, once.

use super::LoadedThread;
use crate::act::{Acted, Guard, Progress, StartError, StartFailure, StartGuard, TargetNow};
use crate::boxed;
use crate::{AgentServer, ApiError, FoundStart, Kind, ServerKind};
use runtail_core::model::{RunCreate, RunFacts, StateFacts, is_id_map, shell_word};
use runtail_core::{json, text};
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;

/// Bytes of a state that is read only for its nodes.
const MAX_STATE: usize = 64 << 20;
/// Number of newest runs that are searched for one that was started just before an answer.
const RUNS_CHECKED: usize = 20;
/// How often, and how far apart, a run is looked for whose start got no answer.
const LOOKUP_ATTEMPTS: u32 = 3;
const LOOK_AGAIN: Duration = Duration::from_millis(400);

/// A run that is to be started on a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    pub thread: String,
    /// The request.
    pub body: RunCreate,
    /// What must be so just before it is sent.
    pub guard: StartGuard,
}

/// A run that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub run_id: String,
    /// Whether the server's answer was lost, and the run was found in the thread's list.
    pub was_found: bool,
}

impl AgentServer {
    /// Starts a run.
    ///
    /// # Errors
    /// See [`StartFailure`].
    #[boxed]
    pub async fn start_on_thread(&self, start: &RunStart) -> Result<Started, StartError> {
        let draft = self.plan_run(String::new(), start.clone(), Vec::new());
        let draft = draft.map_err(|error| StartFailure::Refused.with_error(error))?;
        match draft.plan().apply().await? {
            Acted::Started(started) => Ok(started),
            _ => Err(StartFailure::Unknown
                .with_error(self.refused_here(&start.thread, "this plan started no run".into()))),
        }
    }

    /// Starts a run as a step of a plan. `guard` is what was checked before the plan's first step, and `seen` what was read for it.
    pub(crate) async fn start_run_of(
        &self,
        thread: &str,
        run: &RunCreate,
        (guard, seen): (&Guard, &TargetNow),
        done: &mut Progress,
    ) -> Result<Acted, StartError> {
        let edited = match done.acted.take() {
            Some(Acted::Written(written)) => {
                Some(self.checkpoint_to_run(thread, written.checkpoint).await?)
            }
            _ => None,
        };
        let mut body = run.clone();
        if let Some(checkpoint) = &edited {
            begin_at(&mut body, checkpoint);
        }
        if done.partial.is_some() || matches!(guard, Guard::Thread(_, _, StartGuard::None)) {
            body = self.begin_at_head(thread, body).await;
        }
        let kind = self
            .info()
            .await
            .map_or(ServerKind::Python, |info| info.kind);
        let before = self.runs_before_start(thread, kind).await;
        let started = match self.create_run(thread, &body).await {
            Ok(run) if !run.run_id.is_empty() => Started {
                run_id: run.run_id,
                was_found: false,
            },
            Ok(_) => {
                let lost = ApiError {
                    kind: Kind::Protocol,
                    ..self.refused_here(thread, "the answer has no run id".into())
                };
                self.find_started(thread, &body, before.as_ref(), lost)
                    .await?
            }
            Err(error) if error.is_refusal() => {
                let failure = match self.kind_of_refusal(&error).await {
                    StartFailure::Busy if self.is_answered(guard).await => StartFailure::Answered,
                    failure => failure,
                };
                return Err(failure.with_error(with_cause(error)));
            }
            Err(error) => {
                self.find_started(thread, &body, before.as_ref(), error)
                    .await?
            }
        };
        if let (Guard::Thread(_, _, StartGuard::Questions(_)), TargetNow::Thread(loaded)) =
            (guard, seen)
        {
            let known = loaded.runs.as_deref();
            self.check_not_overtaken(thread, &started.run_id, known)
                .await?;
        }
        Ok(match edited {
            Some(checkpoint) => Acted::Forked {
                checkpoint,
                started,
            },
            None => Acted::Started(started),
        })
    }

    /// Returns the checkpoint that an edit made, if a run can start from it. Where no node is next the run would do nothing, so the
    /// edit led to something else than was planned.
    async fn checkpoint_to_run(
        &self,
        thread: &str,
        checkpoint: Option<String>,
    ) -> Result<String, StartError> {
        let none = |why: &str| self.refused_here(thread, format!("{why}, so no run was started"));
        let Some(checkpoint) = checkpoint else {
            let thread = shell_word(thread);
            let hint = format!(
                "`runtail threads history {thread}` shows the new checkpoint; `fork` starts a run there"
            );
            return Err(StartFailure::Refused.with_error(ApiError {
                hint: Some(hint),
                ..none("the server's answer names no checkpoint")
            }));
        };
        let raw = self
            .checkpoint_state_raw(thread, &checkpoint, MAX_STATE)
            .await;
        let state = raw.ok().and_then(|raw| StateFacts::read(raw.get()).ok());
        match state.is_some_and(|state| state.is_saved() && state.next.is_empty()) {
            false => Ok(checkpoint),
            true => Err(StartFailure::Refused.with_error(ApiError {
                hint: Some("continue it with a new input, or edit it as another node".into()),
                ..none("no node is next there")
            })),
        }
    }

    /// Checks that no other run was started between the check of the questions, which found the runs `known`, and the start of
    /// the run that answers them. Servers refuse a second answer only while the run of the first one is active, and a run that
    /// answers no open question ends with success.
    ///
    /// # Errors
    /// [`StartFailure::Overtaken`]. A list of runs that can't be read is no error.
    pub async fn check_not_overtaken(
        &self,
        thread: &str,
        answering: &str,
        known: Option<&[RunFacts]>,
    ) -> Result<(), StartError> {
        let Some(known) = known else {
            return Ok(());
        };
        let listed = self.runs(thread, RUNS_CHECKED).await;
        let listed = listed.map(|runs| runs.items).unwrap_or_default();
        let own = listed.iter().find(|run| run.run_id == answering);
        let Some(own) = own.and_then(|run| run.created_at) else {
            return Ok(());
        };
        let other = listed.iter().find(|run| {
            run.created_at.is_some_and(|created| created <= own)
                && run.run_id != answering
                && known.iter().all(|known| known.run_id != run.run_id)
        });
        let Some(other) = other else {
            return Ok(());
        };
        let why = format!(
            "run {answering} was started, but run {} was started before it, after the question was checked",
            other.run_id
        );
        Err(StartFailure::Overtaken.with_error(ApiError {
            hint: Some("the thread's history shows which answer the graph received".into()),
            ..self.refused_here(thread, text::clean(&why).into_owned())
        }))
    }

    async fn kind_of_refusal(&self, error: &ApiError) -> StartFailure {
        match error.kind {
            Kind::Conflict => StartFailure::Busy,
            Kind::NoConnection => StartFailure::Unreachable,
            // JavaScript says so with 422.
            Kind::Invalid(_) if error.detail.contains("already running") => StartFailure::Busy,
            Kind::NotFound => match self.info().await {
                Ok(info) if info.kind == ServerKind::Other => StartFailure::NotOffered,
                _ => StartFailure::Refused,
            },
            _ if error.may_lack_call() => StartFailure::NotOffered,
            _ => StartFailure::Refused,
        }
    }

    /// Returns whether the questions that a refused run was to answer are answered by now. What can't be read doesn't show it.
    async fn is_answered(&self, guard: &Guard) -> bool {
        let Guard::Thread(_, thread, StartGuard::Questions(asked)) = guard else {
            return false;
        };
        match self.load_thread(thread).await {
            Ok(loaded) => asked
                .iter()
                .any(|question| was_answered(&loaded, question.id.as_deref())),
            Err(_) => false,
        }
    }

    /// Looks for a run whose start was not answered. It is never sent again.
    async fn find_started(
        &self,
        thread: &str,
        body: &RunCreate,
        before: Option<&HashSet<String>>,
        lost: ApiError,
    ) -> Result<Started, StartError> {
        for attempt in 0..LOOKUP_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            if let Ok(FoundStart::Run(run)) = self.find_start(thread, body, before).await {
                return Ok(Started {
                    run_id: run.run_id,
                    was_found: true,
                });
            }
        }
        let check = "it was sent once and may be running; check the thread's runs before you retry";
        Err(StartError::sent(lost).or_check(check))
    }
}

/// Returns whether the records show that a question was answered: it is not open, and a run has an answer for its id, or the
/// newest run has an answer without an id.
pub(crate) fn was_answered(loaded: &LoadedThread, id: Option<&str>) -> bool {
    if loaded
        .answerable()
        .iter()
        .any(|question| question.id.as_deref() == id)
    {
        return false;
    }
    let runs = loaded.runs.as_deref().unwrap_or_default();
    runs.iter().enumerate().any(|(at, run)| {
        let kwargs: Value = run
            .kwargs
            .as_deref()
            .and_then(|json| json::from_str(json).ok())
            .unwrap_or_default();
        match (&kwargs["command"]["resume"], id) {
            (Value::Null, _) => false,
            (resume, Some(id)) if resume.get(id).is_some() => true,
            (resume, _) => at == 0 && !is_id_map(resume),
        }
    })
}

/// Replaces the checkpoint at which a run begins, in the form that the body has.
pub(super) fn begin_at(body: &mut RunCreate, checkpoint: &str) {
    match body.extra.get_mut("checkpoint") {
        Some(place) => place["checkpoint_id"] = checkpoint.into(),
        None => drop(body.extra.insert("checkpoint_id".into(), checkpoint.into())),
    }
}

/// Adds the likely cause to a refusal that only says that something does not exist: the thread was just read.
fn with_cause(error: ApiError) -> ApiError {
    if error.kind != Kind::NotFound
        || error.hint.is_some()
        || !error.detail.to_lowercase().contains("assistant")
    {
        return error;
    }
    let hint = "the thread exists, so its assistant was probably deleted: start a run with another assistant, or end the thread";
    ApiError {
        hint: Some(hint.into()),
        ..error
    }
}
