//! Starting a run on a thread in the background: the thread is looked at again, then the request is sent, once.

use super::LoadedThread;
use crate::{AgentServer, ApiError, FoundStart, Kind, ServerKind, mark_start};
use runtail_core::json;
use runtail_core::model::{Question, RunCreate, RunFacts, ThreadStatus, is_id_map};
use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;

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

/// What must be so just before a run is started; else nothing is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum StartGuard {
    /// Nothing: a run with an input of its own may wait behind others.
    None,
    /// No run is active, and this is the newest checkpoint.
    Checkpoint(Option<String>),
    /// The thread is busy without an active run. Its checkpoint may differ: a deleted run may still write some (acting
    /// reference §2).
    BusyWithoutRun,
    /// No other runs are active than these, which it ends.
    Overtakes(Vec<String>),
    /// These questions are open.
    Questions(Vec<Question>),
}

/// A run that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub run_id: String,
    /// Whether the server's answer was lost, and the run was found in the thread's list.
    pub was_found: bool,
}

/// Why something was not done, or is not known to be.
#[derive(Debug, Clone, PartialEq)]
pub struct StartError {
    /// How far it came.
    pub failure: StartFailure,
    /// What the server or the network said.
    pub error: ApiError,
}

/// How far something came that was to change a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFailure {
    /// A question that was answered is no longer open. Nothing was sent.
    NotOpen,
    /// The thread changed since it was looked at. Nothing was sent.
    Changed,
    /// The thread could not be looked at. Nothing was sent.
    Unchecked,
    /// The server refused, and by now the question is answered.
    Answered,
    /// Another run is active: the server refused this one.
    Busy,
    /// The server could not be reached. Nothing was sent.
    Unreachable,
    /// The server refused, for another reason.
    Refused,
    /// The state was edited, but the run after it was not started.
    AfterEdit,
    /// The state was edited, and it is not known whether the run after it was started.
    AfterEditUnknown,
    /// The server has no call for runs in the background.
    NotOffered,
    /// No run was started, and it is not known whether the thread for it was created.
    ThreadUnknown,
    /// It was sent, and it is not known what became of it.
    Unknown,
}

impl StartFailure {
    /// Returns whether it is unknown what was done.
    pub fn is_unknown(self) -> bool {
        matches!(
            self,
            StartFailure::Unknown | StartFailure::ThreadUnknown | StartFailure::AfterEditUnknown
        )
    }

    /// Returns what it means, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            StartFailure::NotOpen => "This question is no longer open. Nothing was sent.",
            StartFailure::Changed => "The thread changed since the preview. Nothing was sent.",
            StartFailure::Unchecked => {
                "Couldn't read the thread right before sending. Nothing was sent."
            }
            StartFailure::Answered => "Someone answered first, so the server refused.",
            StartFailure::Busy => "Another run is active on the thread, so the server refused.",
            StartFailure::Unreachable => "The server couldn't be reached. Nothing was sent.",
            StartFailure::Refused => "The server refused. Nothing was done.",
            StartFailure::AfterEdit => "Only a part was done.",
            StartFailure::AfterEditUnknown => "A part was done. It's unknown whether the rest was.",
            StartFailure::NotOffered => "This server doesn't have the call. Nothing was done.",
            StartFailure::ThreadUnknown => {
                "No run was started. It's unknown whether its thread was created."
            }
            StartFailure::Unknown => {
                "It's unknown whether this was done: the server failed, or its reply was lost."
            }
        }
    }
}

impl StartError {
    /// Creates the error of a target that changed: nothing was sent.
    pub(crate) fn changed(error: ApiError) -> StartError {
        let failure = StartFailure::Changed;
        StartError { failure, error }
    }

    /// Creates the error of a target that could not be read again: nothing was sent.
    pub(crate) fn unchecked(error: ApiError) -> StartError {
        let failure = StartFailure::Unchecked;
        StartError { failure, error }
    }

    /// Creates the error of a request that was sent once. `check` is what to do if it is unknown what became of it.
    pub(crate) fn sent(error: ApiError, check: &str) -> StartError {
        let failure = match error.kind {
            Kind::NoConnection => StartFailure::Unreachable,
            _ if error.is_refusal() => StartFailure::Refused,
            _ => StartFailure::Unknown,
        };
        let hint = match failure {
            StartFailure::Unknown => Some(check.into()),
            _ => error.hint,
        };
        let error = ApiError { hint, ..error };
        StartError { failure, error }
    }
}

impl AgentServer {
    /// Starts a run.
    ///
    /// # Errors
    /// See [`StartFailure`].
    pub async fn start_on_thread(&self, start: &RunStart) -> Result<Started, StartError> {
        let mut body = start.body.clone();
        if start.guard == StartGuard::None {
            body = self.begin_at_head(&start.thread, body).await;
        } else if let StartGuard::Overtakes(shown) = &start.guard {
            self.check_overtaken(&start.thread, shown).await?;
        } else {
            let loaded = self.load_thread(&start.thread).await;
            let loaded = loaded.map_err(StartError::unchecked)?;
            if let Some((failure, why)) = refusal(&start.guard, &loaded) {
                let error = self.refused_here(&start.thread, why);
                return Err(StartError { failure, error });
            }
        }
        let body = mark_start(body);
        let kind = self
            .info()
            .await
            .map_or(ServerKind::Python, |info| info.kind);
        let before = self.runs_before_start(&start.thread, kind).await;
        match self.create_run(&start.thread, &body).await {
            Ok(run) if !run.run_id.is_empty() => Ok(Started {
                run_id: run.run_id,
                was_found: false,
            }),
            Ok(_) => {
                let lost = ApiError {
                    kind: Kind::Protocol,
                    ..self.refused_here(&start.thread, "the answer has no run id".into())
                };
                self.find_started(&start.thread, &body, before.as_ref(), lost)
                    .await
            }
            Err(error) if error.is_refusal() => {
                let failure = match self.kind_of_refusal(&error).await {
                    StartFailure::Busy if self.is_answered(start).await => StartFailure::Answered,
                    failure => failure,
                };
                Err(StartError {
                    failure,
                    error: with_cause(error),
                })
            }
            Err(error) => {
                self.find_started(&start.thread, &body, before.as_ref(), error)
                    .await
            }
        }
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
    async fn is_answered(&self, start: &RunStart) -> bool {
        let StartGuard::Questions(asked) = &start.guard else {
            return false;
        };
        match self.load_thread(&start.thread).await {
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
        Err(StartError::sent(lost, check))
    }
}

/// Returns whether the records show that a question was answered: it is not open, and a run has an answer for its id, or the
/// newest run has an answer without an id.
pub(super) fn was_answered(loaded: &LoadedThread, id: Option<&str>) -> bool {
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

/// Why a run must not be started any more.
pub(super) fn refusal(guard: &StartGuard, loaded: &LoadedThread) -> Option<(StartFailure, String)> {
    // A server that shows nothing can't be checked; it refuses what it can't take.
    if loaded.is_blank() {
        return None;
    }
    let active = || loaded.runs.iter().flatten().any(RunFacts::is_active);
    match guard {
        // Checked against all active runs, of which the records hold the newest.
        StartGuard::None | StartGuard::Overtakes(_) => None,
        StartGuard::Checkpoint(_) | StartGuard::BusyWithoutRun if active() => Some((
            StartFailure::Changed,
            "a run started on the thread since the preview; nothing was sent".into(),
        )),
        StartGuard::Checkpoint(planned) if planned.as_deref() != loaded.checkpoint() => Some((
            StartFailure::Changed,
            "the thread changed since the preview; nothing was sent".into(),
        )),
        StartGuard::Checkpoint(_) => None,
        StartGuard::BusyWithoutRun => match loaded.status() {
            ThreadStatus::BusyWithoutRun { .. } => None,
            status => Some((
                StartFailure::Changed,
                format!("the thread is {} by now; nothing was sent", status.word()),
            )),
        },
        StartGuard::Questions(asked) => {
            let open = loaded.answerable();
            let is_open = |question: &Question| {
                open.iter()
                    .any(|now| now.id == question.id && now.value == question.value)
            };
            if asked.iter().all(is_open) {
                return None;
            }
            let why = match loaded.status() {
                _ if asked
                    .iter()
                    .any(|question| was_answered(loaded, question.id.as_deref())) =>
                {
                    "someone answered it".to_string()
                }
                ThreadStatus::Running { .. } | ThreadStatus::Queued { .. } => {
                    "another run is active on the thread".into()
                }
                ThreadStatus::Waiting { .. } => "the thread now asks another question".into(),
                status => format!("the thread's status has changed: {}", status.word()),
            };
            Some((StartFailure::NotOpen, format!("{why}; nothing was sent")))
        }
    }
}
