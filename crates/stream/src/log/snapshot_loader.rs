//! Loads snapshots of a thread in one round trip, with limited sizes.

use crate::log::snapshot::{Loaded, Part, ThreadSnapshot};
use crate::transport::server::is_endpoint_missing;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind, ThreadQuery};
use runtail_core::model::{RunFacts, StateFacts, ThreadFacts};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Number of newest runs to list.
const MAX_RUNS: usize = 50;
/// Number of newest checkpoints to load. Each repeats all values, so fewer are loaded if the state is large.
const MAX_CHECKPOINTS: usize = 20;
/// Number of checkpoints to load if the newest run has more than [`MAX_CHECKPOINTS`], and roughly how many bytes they may have.
const MAX_OF_LONG_RUN: usize = 500;
const BYTES_OF_LONG_RUN: usize = 2 << 20;
/// Maximum size of a history and of a list of runs, in bytes. Each run repeats its input.
const MAX_LIST: usize = 8 << 20;
/// Maximum size of a thread's record, in bytes. It repeats the state's values, so if they are large it is loaded
/// without them.
const MAX_THREAD: usize = 2 << 20;
/// Parts that arrive within this time form one snapshot.
const GATHER_TIME: Duration = Duration::from_millis(40);
/// How many times to poll a thread that is busy although no run is active, because its status lags behind the end of a
/// run; and the first interval, which doubles each time.
const BUSY_POLLS: u32 = 5;
const FIRST_BUSY_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The parts to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Only the runs, because one of them started.
    Runs,
    /// Everything.
    All,
}

/// Loads snapshots of one thread.
#[derive(Debug, Clone)]
pub struct SnapshotLoader {
    server: AgentServer,
    thread: String,
    /// Maximum size of a state, in bytes.
    max_state: usize,
}

impl SnapshotLoader {
    /// Creates a loader for a thread. States larger than `max_state` bytes are not shown.
    pub fn new(server: AgentServer, thread: String, max_state: usize) -> SnapshotLoader {
        SnapshotLoader {
            server,
            thread,
            max_state,
        }
    }

    /// Loads a snapshot and sends its parts as they arrive, slow parts separately.
    pub async fn load(&self, scope: Scope, mut out: impl FnMut(ThreadSnapshot)) {
        let mut parts = FuturesUnordered::new();
        if scope == Scope::All {
            parts.push(self.part(Part::Thread));
            parts.push(self.part(Part::State));
            parts.push(self.part(Part::History));
        }
        parts.push(self.part(Part::Runs));
        let mut ready = BTreeMap::new();
        let mut until: Option<Instant> = None;
        let mut is_deleted = false;
        loop {
            let next = match until {
                Some(until) => tokio::time::timeout_at(until, parts.next()).await,
                None => Ok(parts.next().await),
            };
            match next {
                Ok(Some((part, loaded))) => {
                    // For a deleted thread some servers return empty results instead of 404; ignore them.
                    is_deleted |= part == Part::Thread
                        && matches!(&loaded, Loaded::Failed(why) if why.starts_with("404"));
                    if !is_deleted || part == Part::Thread {
                        ready.insert(part, loaded);
                    }
                    if is_deleted {
                        ready.retain(|part, _| *part == Part::Thread);
                    }
                    until.get_or_insert_with(|| Instant::now() + GATHER_TIME);
                }
                Ok(None) => break,
                Err(_) => {
                    out(ThreadSnapshot {
                        at: Timestamp::now(),
                        parts: std::mem::take(&mut ready),
                    });
                    until = None;
                }
            }
        }
        if !ready.is_empty() {
            out(ThreadSnapshot {
                at: Timestamp::now(),
                parts: ready,
            });
        }
    }

    /// Loads everything once the thread's status reflects the end of its run.
    pub async fn load_settled(&self, mut out: impl FnMut(ThreadSnapshot)) {
        for attempt in 0..BUSY_POLLS {
            if self.is_settled().await {
                break;
            }
            tokio::time::sleep(FIRST_BUSY_POLL_INTERVAL * 2_u32.pow(attempt)).await;
        }
        self.load(Scope::All, &mut out).await;
    }

    /// Returns whether the thread's status agrees with its runs: it is only busy if a run is active. False if they
    /// can't be read.
    async fn is_settled(&self) -> bool {
        let (thread, runs) = tokio::join!(self.thread_record(), self.runs());
        match (thread, runs) {
            (Ok(thread), Ok(runs)) => {
                let is_busy =
                    ThreadFacts::read(&thread).is_ok_and(|thread| thread.status == "busy");
                !is_busy
                    || RunFacts::read_all(&runs)
                        .is_ok_and(|runs| runs.iter().any(RunFacts::is_active))
            }
            _ => true,
        }
    }

    fn part(&self, part: Part) -> BoxFuture<'_, (Part, Loaded)> {
        Box::pin(async move {
            let result = match part {
                Part::Thread => self.thread_record().await,
                Part::State => self
                    .server
                    .thread_state_raw(&self.thread, self.max_state)
                    .await
                    .map(text),
                Part::Runs => self.runs().await,
                Part::History => self.history().await,
            };
            let loaded = match result {
                Ok(json) => Loaded::Json(json),
                Err(error) if self.is_not_offered(part, &error).await => Loaded::NotOffered,
                Err(error) => Loaded::Failed(why(&error)),
            };
            (part, loaded)
        })
    }

    /// Loads the thread's record, without its values if they are large.
    async fn thread_record(&self) -> Result<Arc<str>, ApiError> {
        match self.server.thread_raw(&self.thread, MAX_THREAD).await {
            Err(error) if matches!(error.kind, Kind::TooLarge(_)) => {
                let query = ThreadQuery {
                    ids: vec![self.thread.clone()],
                    limit: 1,
                    ..ThreadQuery::default()
                };
                let found = self.server.thread_rows(&query).await?.items.into_iter();
                // A server that doesn't support `ids` lists arbitrary threads.
                let row = found
                    .into_iter()
                    .find(|row| row["thread_id"] == self.thread.as_str());
                row.map(|row| row.to_string().into()).ok_or(error)
            }
            other => other.map(text),
        }
    }

    async fn runs(&self) -> Result<Arc<str>, ApiError> {
        Ok(list(
            &self
                .server
                .runs_raw(&self.thread, MAX_RUNS, 0, MAX_LIST)
                .await?,
        ))
    }

    async fn history(&self) -> Result<Arc<str>, ApiError> {
        let mut limit = MAX_CHECKPOINTS;
        let entries = loop {
            match self
                .server
                .thread_history_raw(&self.thread, limit, None, MAX_LIST)
                .await
            {
                Ok(entries) => break entries,
                Err(error) if matches!(error.kind, Kind::TooLarge(_)) && limit > 1 => limit /= 4,
                Err(error) => return Err(error),
            }
        };
        let Some(limit) = limit_for_long_run(&entries, limit) else {
            return Ok(list(&entries));
        };
        // The states may become larger. The newest ones are here already, so a failure costs nothing.
        match self
            .server
            .thread_history_raw(&self.thread, limit, None, MAX_LIST)
            .await
        {
            Ok(longer) if longer.len() > entries.len() => Ok(list(&longer)),
            _ => Ok(list(&entries)),
        }
    }

    /// Returns whether an error means that the endpoint doesn't exist. A 404 for the history or the runs always means
    /// that. A 404 for the thread means that it was deleted, unless the server only offers the contract's endpoints.
    async fn is_not_offered(&self, part: Part, error: &ApiError) -> bool {
        match error.kind {
            Kind::NotFound if part == Part::History => true,
            Kind::NotFound => is_endpoint_missing(&self.server, &mut None::<ServerKind>, error)
                .await
                .unwrap_or(false),
            _ => error.may_lack_call(),
        }
    }
}

/// Returns how many checkpoints to load for the whole newest run, if these don't have its beginning.
fn limit_for_long_run(entries: &[Box<RawValue>], limit: usize) -> Option<usize> {
    let (newest, oldest) = (entries.first()?, entries.last()?);
    let read = |entry: &RawValue| StateFacts::read(entry.get()).unwrap_or_default();
    let (newest, oldest) = (read(newest), read(oldest));
    let is_cut = entries.len() == limit
        && newest.run_id.is_some()
        && newest.run_id == oldest.run_id
        && oldest.source != "input"
        && oldest.parent_id.is_some();
    let bytes: usize = entries.iter().map(|entry| entry.get().len()).sum();
    let more = BYTES_OF_LONG_RUN / (bytes / entries.len()).max(1);
    Some(more.min(MAX_OF_LONG_RUN)).filter(|more| is_cut && *more > limit)
}

fn text(raw: Box<RawValue>) -> Arc<str> {
    Box::<str>::from(raw).into()
}

fn list(rows: &[Box<RawValue>]) -> Arc<str> {
    let rows: Vec<&str> = rows.iter().map(|row| row.get()).collect();
    format!("[{}]", rows.join(",")).into()
}

/// Describes a failed request briefly: `403: the key may not do this`.
fn why(error: &ApiError) -> String {
    match &*error.detail {
        "" => error.badge(),
        detail => format!("{}: {detail}", error.badge()),
    }
}
