//! Loads what a thread page shows beside its stream, within one round trip and within bounds.

use crate::log::snapshot::{Loaded, Part, ThreadSnapshot};
use crate::transport::server::lacks_call;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use runtail_api::{AgentServer, ApiError, Kind, ServerKind, ThreadQuery};
use runtail_core::model::{RunFacts, ThreadFacts};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Runs that are listed, newest first.
const RUNS: usize = 50;
/// Checkpoints that are loaded, newest first. Each repeats all values, so there are fewer where the state is large.
const CHECKPOINTS: usize = 20;
/// Bytes of a history, and of a list of runs: each run repeats its input.
const MAX_LIST: usize = 8 << 20;
/// Bytes of a thread's record. It repeats the values of the state, so where those are large it is read without them.
const MAX_THREAD: usize = 2 << 20;
/// Parts that arrive this close together are one snapshot.
const GATHER: Duration = Duration::from_millis(40);
/// How often, and how far apart at first, a thread is read again that is busy though no run is active: its status follows
/// the end of a run.
const SETTLES: u32 = 5;
const SETTLE_WAIT: Duration = Duration::from_millis(100);

/// What is to be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The runs: one of them began.
    Runs,
    /// Everything.
    All,
}

/// Loads snapshots of one thread.
#[derive(Debug, Clone)]
pub struct SnapshotLoader {
    server: AgentServer,
    thread: String,
    /// Bytes of a state.
    max_state: usize,
}

impl SnapshotLoader {
    /// A loader for a thread. `max_state` is in bytes; a larger state is not shown.
    pub fn new(server: AgentServer, thread: String, max_state: usize) -> SnapshotLoader {
        SnapshotLoader { server, thread, max_state }
    }

    /// Loads a snapshot and hands it on as its parts arrive: at once what there is, later what took longer.
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
        let mut is_gone = false;
        loop {
            let next = match until {
                Some(until) => tokio::time::timeout_at(until, parts.next()).await,
                None => Ok(parts.next().await),
            };
            match next {
                Ok(Some((part, loaded))) => {
                    // What is empty of a thread that was deleted says nothing: some servers answer so instead of with 404.
                    is_gone |= part == Part::Thread && matches!(&loaded, Loaded::Failed(why) if why.starts_with("404"));
                    if !is_gone || part == Part::Thread {
                        ready.insert(part, loaded);
                    }
                    if is_gone {
                        ready.retain(|part, _| *part == Part::Thread);
                    }
                    until.get_or_insert_with(|| Instant::now() + GATHER);
                }
                Ok(None) => break,
                Err(_) => {
                    out(ThreadSnapshot { at: Timestamp::now(), parts: std::mem::take(&mut ready) });
                    until = None;
                }
            }
        }
        if !ready.is_empty() {
            out(ThreadSnapshot { at: Timestamp::now(), parts: ready });
        }
    }

    /// Loads everything once the thread's status has followed the end of its run.
    pub async fn load_settled(&self, mut out: impl FnMut(ThreadSnapshot)) {
        for attempt in 0..SETTLES {
            if self.is_settled().await {
                break;
            }
            tokio::time::sleep(SETTLE_WAIT * 2_u32.pow(attempt)).await;
        }
        self.load(Scope::All, &mut out).await;
    }

    /// Whether the thread is busy only where a run is active. What can't be read settles nothing.
    async fn is_settled(&self) -> bool {
        let (thread, runs) = tokio::join!(self.thread_record(), self.runs());
        match (thread, runs) {
            (Ok(thread), Ok(runs)) => {
                let is_busy = ThreadFacts::read(&thread).is_ok_and(|thread| thread.status == "busy");
                !is_busy || RunFacts::read_all(&runs).is_ok_and(|runs| runs.iter().any(RunFacts::is_active))
            }
            _ => true,
        }
    }

    fn part(&self, part: Part) -> BoxFuture<'_, (Part, Loaded)> {
        Box::pin(async move {
            let result = match part {
                Part::Thread => self.thread_record().await,
                Part::State => self.server.thread_state_raw(&self.thread, self.max_state).await.map(text),
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

    /// The thread's record, without its values where they are large.
    async fn thread_record(&self) -> Result<Arc<str>, ApiError> {
        match self.server.thread_raw(&self.thread, MAX_THREAD).await {
            Err(error) if matches!(error.kind, Kind::TooLarge(_)) => {
                let query = ThreadQuery { ids: vec![self.thread.clone()], limit: 1, ..ThreadQuery::default() };
                let found = self.server.thread_rows(&query).await?.into_iter();
                // A server that doesn't know `ids` lists any threads.
                let row = found.into_iter().find(|row| row["thread_id"] == self.thread.as_str());
                row.map(|row| row.to_string().into()).ok_or(error)
            }
            other => other.map(text),
        }
    }

    async fn runs(&self) -> Result<Arc<str>, ApiError> {
        Ok(list(&self.server.runs_raw(&self.thread, RUNS, 0, MAX_LIST).await?))
    }

    async fn history(&self) -> Result<Arc<str>, ApiError> {
        let mut limit = CHECKPOINTS;
        loop {
            match self.server.thread_history_raw(&self.thread, limit, None, MAX_LIST).await {
                Ok(entries) => return Ok(list(&entries)),
                Err(error) if matches!(error.kind, Kind::TooLarge(_)) && limit > 1 => limit /= 4,
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether an answer means that there is no such call. A history or a list of runs that is missing is no fault of a
    /// server that has the thread; a thread that is missing was deleted, unless the server offers no more than the contract.
    async fn is_not_offered(&self, part: Part, error: &ApiError) -> bool {
        match error.kind {
            Kind::NotFound if part == Part::History => true,
            Kind::NotFound => lacks_call(&self.server, &mut None::<ServerKind>, error).await.unwrap_or(false),
            _ => error.may_lack_call(),
        }
    }
}

fn text(raw: Box<RawValue>) -> Arc<str> {
    Box::<str>::from(raw).into()
}

fn list(rows: &[Box<RawValue>]) -> Arc<str> {
    let rows: Vec<&str> = rows.iter().map(|row| row.get()).collect();
    format!("[{}]", rows.join(",")).into()
}

/// A failed request in a few words: `403: the key may not do this`.
fn why(error: &ApiError) -> String {
    match &*error.detail {
        "" => error.badge(),
        detail => format!("{}: {detail}", error.badge()),
    }
}
