//! What must be so just before a plan is carried out: what was read, how it is read again, and what counts as the same.

use super::{Plan, Server, StartError, StartFailure};
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
    /// The record is still there, is not being deleted by now, and is the same as before.
    Record {
        at: Record,
        before: Value,
        same: Same,
    },
    /// The thread is still as it was.
    Thread(AgentServer, String, StartGuard),
}

/// How a record is read.
#[derive(Clone)]
pub(crate) enum Record {
    /// Below the server's base, in segments.
    Path(Server, Vec<String>),
    Cron(AgentServer, String),
    /// An item of the store, by its namespace and key.
    Item(AgentServer, Vec<String>, String),
}

/// What counts as the same record.
#[derive(Clone)]
pub(crate) enum Same {
    /// These parts of it (JSON pointers) are equal.
    Parts(Vec<String>),
    /// All of it is equal, except these fields.
    Except(&'static [&'static str]),
    /// Its status is not final.
    Unfinished,
}

/// What must be so just before a run is started or a thread's state is edited.
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
pub(crate) enum Seen {
    Nothing,
    Record(Value),
    Thread(Box<LoadedThread>),
}

impl Record {
    pub async fn read(&self) -> Result<Value, ApiError> {
        match self {
            Record::Path(server, path) => {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                match server {
                    Server::Control(server) => server.get(&path).await,
                    Server::Agent(server) => server.get(&path, &[]).await,
                }?
                .json()
            }
            Record::Cron(server, id) => server.cron(id).await,
            Record::Item(server, namespace, key) => server.store_item(namespace, key).await,
        }
    }
}

impl Same {
    /// Compares these parts.
    pub fn parts(parts: &[&str]) -> Same {
        Same::Parts(parts.iter().map(|part| (*part).to_string()).collect())
    }

    /// Returns why a record is not the same by now.
    pub fn change(&self, before: &Value, now: &Value) -> Option<String> {
        let changed = |what: &str| format!("changed after the preview{what}");
        match self {
            Same::Parts(parts) => {
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
            Same::Except(moving) => {
                let kept = |record: &Value| {
                    let mut record = record.clone();
                    if let Some(fields) = record.as_object_mut() {
                        fields.retain(|name, _| !moving.contains(&name.as_str()));
                    }
                    record
                };
                (kept(before) != kept(now)).then(|| changed(""))
            }
            Same::Unfinished => {
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
    pub fn at(server: impl Into<Server>, path: &[&str], before: Value, same: Same) -> Guard {
        let path = path.iter().map(|part| (*part).to_string()).collect();
        Guard::Record {
            at: Record::Path(server.into(), path),
            before,
            same,
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
    pub fn record(&self) -> Option<&Record> {
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
    /// It is not as it was, or can't be read: nothing was sent.
    pub(super) async fn still_so(&self) -> Result<Seen, StartError> {
        match &self.guard {
            Guard::None | Guard::Thread(_, _, StartGuard::None) => Ok(Seen::Nothing),
            Guard::Record { at, before, same } => {
                let name = self
                    .preview
                    .target
                    .as_ref()
                    .map_or("the target", |target| target.name.as_str());
                let why = match at.read().await {
                    Ok(now) if is_being_deleted(&now) && !is_being_deleted(before) => {
                        "was deleted after the preview".to_string()
                    }
                    Ok(now) => match same.change(before, &now) {
                        None => return Ok(Seen::Record(now)),
                        Some(why) => why,
                    },
                    Err(error) if error.kind == Kind::NotFound => {
                        "disappeared after the preview".to_string()
                    }
                    Err(error) => return Err(StartFailure::Unchecked.because(error)),
                };
                Err(StartFailure::Changed.because(ApiError {
                    kind: Kind::Stale,
                    at: self.place(),
                    detail: format!("{name} {why}: nothing was sent"),
                    hint: Some("preview the change again".into()),
                }))
            }
            Guard::Thread(server, thread, guard) => server.still_allows(thread, guard).await,
        }
    }

    /// Reads the target again, where a run is started by other means than [`Plan::apply`].
    ///
    /// # Errors
    /// It is not as the preview showed it, or can't be read. Nothing was sent.
    pub async fn check_start(&self) -> Result<(), StartError> {
        self.still_so().await.map(drop)
    }

    /// Reads the target again. Returns which fields of it differ by now, except those that the change is about, times and status;
    /// nothing if there is no call that reads it.
    ///
    /// # Errors
    /// `Kind::Stale` if the target is gone or was changed in a relevant part, or the server's error.
    pub async fn check(&self) -> Result<Option<Vec<String>>, ApiError> {
        let (Seen::Record(now), Some(before)) = (self.still_so().await?, self.guard.before())
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
    async fn still_allows(&self, thread: &str, guard: &StartGuard) -> Result<Seen, StartError> {
        if let StartGuard::Overtakes(shown) = guard {
            let active = match self.active_runs(thread).await {
                Ok(active) => active,
                Err(error) => return Err(self.unchecked(error).await),
            };
            let Some(other) = active.iter().find(|run| !shown.contains(&run.run_id)) else {
                return Ok(Seen::Nothing);
            };
            let why = format!(
                "run {} started since the preview and would be ended too; nothing was sent",
                short_id(&other.run_id)
            );
            return Err(StartFailure::Changed.because(self.refused_here(thread, why)));
        }
        let loaded = match self.load_thread(thread).await {
            Ok(loaded) => loaded,
            Err(error) => return Err(self.unchecked(error).await),
        };
        match refusal(guard, &loaded) {
            None => Ok(Seen::Thread(Box::new(loaded))),
            Some((failure, why)) => Err(failure.because(self.refused_here(thread, why))),
        }
    }

    async fn unchecked(&self, error: ApiError) -> StartError {
        StartFailure::Unchecked.because(self.or_not_offered(error).await)
    }
}

/// Whether a deployment is being deleted; it can still be read for a while (control-plane reference §4).
pub(crate) fn is_being_deleted(record: &Value) -> bool {
    matches!(
        record["status"].as_str(),
        Some("AWAITING_DELETE" | "AWAITING_FINAL_DELETE")
    )
}

/// Why a run must not be started any more.
pub(crate) fn refusal(guard: &StartGuard, loaded: &LoadedThread) -> Option<(StartFailure, String)> {
    // A server that shows nothing can't be checked; it refuses what it can't take.
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
