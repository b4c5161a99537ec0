//! What must be true just before a plan is applied: what was read, how it is read again, and which changes matter.

use super::{Plan, Server, StartError, StartFailure};
use crate::boxed;
use crate::thread_actions::{LoadedThread, was_answered};
use crate::{AgentServer, ApiError, Kind};
use runtail_core::model::{Phase, Question, RunFacts, ThreadStatus, compare, without_natural};
use runtail_core::text::{self, short_id};
use serde_json::Value;

/// Maximum number of changed fields that a check names.
const MAX_CHANGED: usize = 5;

/// What is checked again just before sending; else nothing is sent.
#[derive(Clone, Default)]
pub(crate) enum Guard {
    /// Nothing: a new record, or the server has no call to read it.
    #[default]
    None,
    /// The record still exists, is not being deleted, and meets the condition.
    Record {
        at: RecordPlace,
        before: Value,
        condition: Condition,
    },
    /// The thread is still as it was.
    Thread(AgentServer, String, StartGuard),
}

/// How a record is read.
#[derive(Clone)]
pub(crate) enum RecordPlace {
    /// Below the server's base, in segments.
    Path(Server, Vec<String>),
    Cron(AgentServer, String),
    /// An item of the store, by its namespace and key.
    Item(AgentServer, Vec<String>, String),
}

/// What must be true of a record that was read before.
#[derive(Clone)]
pub(crate) enum Condition {
    /// These parts of it (JSON pointers) are equal.
    Parts(Vec<String>),
    /// All of it is equal, except these fields.
    Except(&'static [&'static str]),
    /// Its status is not final.
    Unfinished,
}

/// What must be true just before a run is started or a thread's state is edited.
#[derive(Debug, Clone, PartialEq)]
pub enum StartGuard {
    /// Nothing: a run with an input of its own may wait behind others.
    None,
    /// No run is active.
    Idle,
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

/// What was read just before sending.
pub(crate) enum TargetNow {
    Nothing,
    Record(Value),
    Thread(Box<LoadedThread>),
}

impl RecordPlace {
    #[boxed]
    pub async fn read(&self) -> Result<Value, ApiError> {
        match self {
            RecordPlace::Path(server, path) => {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                match server {
                    Server::Control(server) => server.get(&path).await,
                    Server::Agent(server) => server.get(&path, &[]).await,
                }?
                .json()
            }
            RecordPlace::Cron(server, id) => server.cron(id).await,
            RecordPlace::Item(server, namespace, key) => server.store_item(namespace, key).await,
        }
    }
}

impl Condition {
    /// Compares these parts.
    pub fn parts(parts: &[&str]) -> Condition {
        Condition::Parts(parts.iter().map(|part| (*part).to_string()).collect())
    }

    /// Returns why a record no longer meets it.
    pub fn broken_by(&self, before: &Value, now: &Value) -> Option<String> {
        let changed = |what: &str| format!("changed after the preview{what}");
        match self {
            Condition::Parts(parts) => {
                let part =
                    |record: &Value, at: &str| record.pointer(at).cloned().unwrap_or_default();
                let differs = |at: &&String| !compare(&part(before, at), &part(now, at)).is_empty();
                let names: Vec<String> = parts
                    .iter()
                    .filter(differs)
                    .map(|at| at.trim_start_matches('/').replace('/', "."))
                    .collect();
                (!names.is_empty()).then(|| changed(&format!(" ({})", names.join(", "))))
            }
            Condition::Except(moving) => {
                let kept = |record: &Value| {
                    let mut record = record.clone();
                    if let Some(fields) = record.as_object_mut() {
                        fields.retain(|name, _| !moving.contains(&name.as_str()));
                    }
                    record
                };
                (kept(before) != kept(now)).then(|| changed(""))
            }
            Condition::Unfinished => {
                let status = now["status"].as_str().unwrap_or_default();
                Phase::of(status)
                    .is_final()
                    .then(|| format!("is now {}", text::clean(status)))
            }
        }
    }
}

impl Guard {
    /// Guards the record at a path below a server's base.
    pub fn at(
        server: impl Into<Server>,
        path: &[&str],
        before: Value,
        condition: Condition,
    ) -> Guard {
        let path = path.iter().map(|part| (*part).to_string()).collect();
        Guard::Record {
            at: RecordPlace::Path(server.into(), path),
            before,
            condition,
        }
    }

    /// Returns the record when the change was planned.
    pub fn before(&self) -> Option<&Value> {
        match self {
            Guard::Record { before, .. } => Some(before),
            _ => None,
        }
    }

    /// Returns the record that it reads.
    pub fn record(&self) -> Option<&RecordPlace> {
        match self {
            Guard::Record { at, .. } => Some(at),
            _ => None,
        }
    }
}

impl Plan {
    /// Reads the target again. Returns what it is now.
    ///
    /// # Errors
    /// The target changed, or it can't be read. Nothing was sent.
    pub(super) async fn check_target(&self) -> Result<TargetNow, StartError> {
        match &self.guard {
            Guard::None | Guard::Thread(_, _, StartGuard::None) => Ok(TargetNow::Nothing),
            Guard::Record {
                at,
                before,
                condition,
            } => {
                let name = self
                    .preview
                    .target
                    .as_ref()
                    .map_or("the target", |target| target.name.as_str());
                let why = match at.read().await {
                    Ok(now) if is_being_deleted(&now) && !is_being_deleted(before) => {
                        "was deleted after the preview".to_string()
                    }
                    Ok(now) => match condition.broken_by(before, &now) {
                        None => return Ok(TargetNow::Record(now)),
                        Some(why) => why,
                    },
                    Err(error) if error.kind == Kind::NotFound => {
                        "disappeared after the preview".to_string()
                    }
                    Err(error) => return Err(StartFailure::Unchecked.with_error(error)),
                };
                Err(StartFailure::Changed.with_error(ApiError {
                    kind: Kind::Stale,
                    at: self.place(),
                    detail: format!("{name} {why}: nothing was sent"),
                    hint: Some("preview the change again".into()),
                }))
            }
            Guard::Thread(server, thread, guard) => server.check_thread(thread, guard).await,
        }
    }

    /// Reads the target again, where a run is started by other means than [`Plan::apply`].
    ///
    /// # Errors
    /// It is not as the preview showed it, or can't be read. Nothing was sent.
    #[boxed]
    pub async fn check_start(&self) -> Result<(), StartError> {
        self.check_target().await.map(drop)
    }

    /// Reads the target again. Returns which fields differ now, except those that the change is about, times and status;
    /// nothing if there is no call that reads it.
    ///
    /// # Errors
    /// `Kind::Stale` if the target is gone or was changed in a relevant part, or the server's error.
    #[boxed]
    pub async fn check(&self) -> Result<Option<Vec<String>>, ApiError> {
        let (TargetNow::Record(now), Some(before)) =
            (self.check_target().await?, self.guard.before())
        else {
            return Ok(None);
        };
        let changes = without_natural(compare(before, &now)).into_iter();
        Ok(Some(
            changes
                .take(MAX_CHANGED)
                .map(|change| change.path)
                .collect(),
        ))
    }
}

impl AgentServer {
    async fn check_thread(
        &self,
        thread: &str,
        guard: &StartGuard,
    ) -> Result<TargetNow, StartError> {
        if let StartGuard::Overtakes(shown) = guard {
            let active = match self.active_runs(thread).await {
                Ok(active) => active,
                Err(error) => return Err(self.unchecked(error).await),
            };
            let Some(other) = active.iter().find(|run| !shown.contains(&run.run_id)) else {
                return Ok(TargetNow::Nothing);
            };
            let why = format!(
                "run {} started since the preview and would be ended too; nothing was sent",
                short_id(&other.run_id)
            );
            return Err(StartFailure::Changed.with_error(self.refused_here(thread, why)));
        }
        let loaded = match self.load_thread(thread).await {
            Ok(loaded) => loaded,
            Err(error) => return Err(self.unchecked(error).await),
        };
        match refusal(guard, &loaded) {
            None => Ok(TargetNow::Thread(Box::new(loaded))),
            Some((failure, why)) => Err(failure.with_error(self.refused_here(thread, why))),
        }
    }

    async fn unchecked(&self, error: ApiError) -> StartError {
        StartFailure::Unchecked.with_error(self.or_not_offered(error).await)
    }
}

/// Whether a deployment is being deleted; it can still be read for a while (control-plane reference §4).
pub(crate) fn is_being_deleted(record: &Value) -> bool {
    matches!(
        record["status"].as_str(),
        Some("AWAITING_DELETE" | "AWAITING_FINAL_DELETE")
    )
}

/// Returns why a run must not be started, if so.
pub(crate) fn refusal(guard: &StartGuard, loaded: &LoadedThread) -> Option<(StartFailure, String)> {
    // A server that shows nothing can't be checked. It refuses invalid requests itself.
    if loaded.is_blank() {
        return None;
    }
    let changed = |why: &str| Some((StartFailure::Changed, format!("{why}; nothing was sent")));
    let is_active = loaded.runs.iter().flatten().any(RunFacts::is_active);
    match guard {
        // Checked against all active runs, of which the records hold the newest.
        StartGuard::None | StartGuard::Overtakes(_) => None,
        StartGuard::Idle if loaded.status().is_active() => {
            changed("a run started on the thread since the preview")
        }
        StartGuard::Checkpoint(_) | StartGuard::BusyWithoutRun if is_active => {
            changed("a run started on the thread since the preview")
        }
        StartGuard::Checkpoint(planned) if planned.as_deref() != loaded.checkpoint() => {
            changed("the thread changed since the preview")
        }
        StartGuard::Idle | StartGuard::Checkpoint(_) => None,
        StartGuard::BusyWithoutRun => match loaded.status() {
            ThreadStatus::BusyWithoutRun { .. } => None,
            status => changed(&format!("the thread is {} by now", status.word())),
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
