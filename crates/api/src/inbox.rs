//! Reads the inbox: the threads of an agent server that wait for a person or have failed, and the failed newest revisions of a
//! control plane (acting reference §3).

use crate::ThreadQuery;
use crate::control_plane::ControlPlane;
use crate::prelude::*;
use futures::{StreamExt, stream};
use jiff::SignedDuration;
use runtail_core::config::Stuck;
use runtail_core::model::{
    Activity, FailedRevision, InboxThread, Phase, SilenceSource, StuckSign, ThreadRecords,
    parse_time, stuck_signs,
};
use std::time::Instant;

/// Maximum number of threads to list per server and status: one page of most servers.
const MAX_LISTED: usize = 1000;
/// Maximum number of threads per server and status whose records are read, because the list doesn't show why they wait or failed.
const MAX_READ: usize = 200;
/// Newest idle threads among which copies, and on Aegra those that stopped at a breakpoint, are looked for.
const IDLE_LISTED: usize = 100;
/// Maximum number of threads to read concurrently.
const MAX_CONCURRENCY: usize = 4;
/// Runs of a busy thread that are read, and bytes of their list. Aegra may call a thread busy for one of its older runs.
const RUNS: usize = 50;
const MAX_RUNS: usize = 4 << 20;
/// Maximum size in bytes of a state that is read for a row.
const MAX_STATE: usize = 4 << 20;
/// How long the row of a busy thread is remembered: its runs change while its record stays the same.
const BUSY_REMEMBERED: Duration = Duration::from_secs(60);

/// The inbox of one agent server.
#[derive(Debug, Clone, Default)]
pub struct ServerInbox {
    /// The threads, unsorted.
    pub threads: Vec<InboxThread>,
    /// Whether the server offers no search, so that its threads are unknown.
    pub is_unlisted: bool,
    /// Sentences about rows that a limit left out.
    pub limits: Vec<String>,
    /// Failed requests. Their rows are missing, or have no cause.
    pub failures: Vec<ApiError>,
    /// Threads with an active run.
    pub busy: usize,
}

/// The rows of the last reads of a server, so that a poll doesn't read the records of unchanged threads again.
#[derive(Debug, Default)]
pub struct InboxMemory(HashMap<String, Remembered>);

/// The result of reading a thread.
#[derive(Debug)]
struct Remembered {
    /// Its listed facts at that time.
    facts: ThreadFacts,
    row: Option<InboxThread>,
    at: Instant,
}

impl InboxMemory {
    /// Returns the row of a thread that has not changed since it was read; `None` if it has to be read.
    fn row(&self, listed: &Listed) -> Option<Option<InboxThread>> {
        let known = self
            .0
            .get(&listed.id)
            .filter(|known| known.facts == listed.facts)?;
        let is_fresh = listed.facts.status != "busy" || known.at.elapsed() < BUSY_REMEMBERED;
        is_fresh.then(|| known.row.clone())
    }
}

/// A listed thread.
struct Listed {
    id: String,
    facts: ThreadFacts,
    /// Whether its server's rows may list questions that are closed.
    is_unsure: bool,
}

impl Listed {
    /// Returns whether its records are read, because its row doesn't show enough.
    fn needs_read(&self) -> bool {
        shows_no_cause(&self.facts) || self.may_be_stale()
    }

    /// Returns whether the row may be the copy of a thread, with which the server has done nothing yet. A copy of a waiting thread
    /// is listed as idle, though its state asks (acting reference §2).
    fn may_be_copy(&self) -> bool {
        let facts = &self.facts;
        let has_run = facts.graph_id.is_some() && facts.assistant_id.is_some();
        has_run && facts.created_at.is_some() && facts.created_at == facts.updated_at
    }

    /// Returns whether the row's questions may be answered already or closed. After a run that answered nothing, a row lists
    /// answered questions beside the open ones again, so it lists several (acting reference §1.5).
    fn may_be_stale(&self) -> bool {
        self.facts.status == "interrupted" && (self.facts.questions.len() > 1 || self.is_unsure)
    }
}

impl AgentServer {
    /// Returns the threads that wait for a person, have failed within `failed_since`, or are stuck: one request per status, and
    /// one or two for each thread whose row doesn't show why it waits or failed.
    #[boxed]
    pub async fn inbox(&self, failed_since: Duration) -> ServerInbox {
        self.poll_inbox(failed_since, &Stuck::default(), &mut InboxMemory::default())
            .await
    }

    /// Does the same with these thresholds for stuck runs. `memory` is that of the previous poll of this server.
    #[boxed]
    pub async fn poll_inbox(
        &self,
        failed_since: Duration,
        stuck: &Stuck,
        memory: &mut InboxMemory,
    ) -> ServerInbox {
        let mut inbox = ServerInbox::default();
        let Some(waiting) = self
            .list_for_inbox("interrupted", true, MAX_LISTED, &mut inbox)
            .await
        else {
            return inbox;
        };
        // By the server's clock, which its first response has shown.
        let now = Timestamp::now()
            .saturating_add(self.http.skew())
            .unwrap_or(Timestamp::MAX);
        let cutoff = now.checked_sub(failed_since).unwrap_or(Timestamp::MIN);
        // Newest first, so that a limit cuts off the oldest failures.
        let failed = self
            .list_for_inbox("error", false, MAX_LISTED, &mut inbox)
            .await
            .unwrap_or_default();
        let busy = self
            .list_for_inbox("busy", true, MAX_LISTED, &mut inbox)
            .await
            .unwrap_or_default();
        inbox.busy = busy.len();
        let is_recent = |listed: &Listed| listed.facts.updated_at.is_none_or(|at| at >= cutoff);
        let patience = SignedDuration::try_from(stuck.pending.min(stuck.silent))
            .unwrap_or(SignedDuration::MAX);
        let is_silent = |listed: &Listed| {
            listed
                .facts
                .updated_at
                .is_some_and(|at| now.duration_since(at) >= patience)
        };
        let mut listed = waiting;
        listed.extend(failed.into_iter().filter(is_recent));
        listed.extend(busy.into_iter().filter(is_silent));
        let kind = self
            .info()
            .await
            .map_or(ServerKind::Other, |info| info.kind);
        let is_aegra = kind == ServerKind::Aegra;
        if kind.copies_threads() || is_aegra {
            let idle = self
                .list_for_inbox("idle", false, IDLE_LISTED, &mut inbox)
                .await
                .unwrap_or_default();
            // Aegra calls threads idle that stopped at a breakpoint.
            listed.extend(
                idle.into_iter()
                    .filter(|listed| is_aegra || listed.may_be_copy()),
            );
        }
        memory
            .0
            .retain(|id, _| listed.iter().any(|listed| listed.id == *id));
        // JavaScript's rows keep the questions of an edited thread (acting reference §1.5).
        let is_javascript = kind == ServerKind::JavaScript;
        listed.iter_mut().for_each(|listed| {
            listed.is_unsure = is_javascript && !listed.facts.questions.is_empty()
        });
        for status in ["interrupted", "error", "busy", "idle"] {
            let of_status = listed
                .extract_if(.., |listed| listed.facts.status == status)
                .collect();
            self.read_for_inbox(of_status, (stuck, now), memory, &mut inbox)
                .await;
        }
        inbox
    }

    /// Lists up to `limit` threads with a status. Returns `None` if that failed, which it records in `inbox`.
    async fn list_for_inbox(
        &self,
        status: &str,
        oldest_first: bool,
        limit: usize,
        inbox: &mut ServerInbox,
    ) -> Option<Vec<Listed>> {
        let query = ThreadQuery {
            limit,
            status: Some(status.into()),
            oldest_first,
            ..ThreadQuery::default()
        };
        let Listing {
            items: rows,
            unread,
            ..
        } = match self.thread_rows(&query).await {
            Ok(listing) => listing,
            Err(error) if error.may_lack_call() => {
                inbox.is_unlisted = true;
                return None;
            }
            Err(error) => {
                inbox.failures.push(error);
                return None;
            }
        };
        inbox.limits.extend(unread.sentence());
        if rows.len() >= MAX_LISTED {
            let which = if oldest_first { "" } else { "newest " };
            inbox.limits.push(format!(
                "only the {which}{MAX_LISTED} threads with the status {status} were read"
            ));
        }
        let listed = rows.iter().filter_map(|row| {
            let id = row["thread_id"]
                .as_str()
                .filter(|id| !id.is_empty())?
                .to_string();
            Some(Listed {
                id,
                facts: ThreadFacts::read(&row.to_string()).ok()?,
                is_unsure: false,
            })
        });
        // A server that ignores the filter lists all its threads.
        Some(
            listed
                .filter(|listed| listed.facts.status == status)
                .collect(),
        )
    }

    /// Adds the rows of listed threads. Reads the records of those whose cause the list doesn't show.
    async fn read_for_inbox(
        &self,
        listed: Vec<Listed>,
        (stuck, now): (&Stuck, Timestamp),
        memory: &mut InboxMemory,
        inbox: &mut ServerInbox,
    ) {
        let (mut unclear, mut clear) = (Vec::new(), Vec::new());
        for listed in listed {
            match memory.row(&listed).filter(|_| listed.needs_read()) {
                Some(row) => inbox.threads.extend(row),
                None if listed.needs_read() => unclear.push(listed),
                None => clear.push(listed),
            }
        }
        // Rows that don't show the cause are read first, because the others are usable without.
        unclear.sort_by_key(|listed| !shows_no_cause(&listed.facts));
        let left: Vec<Listed> = unclear.drain(unclear.len().min(MAX_READ)..).collect();
        let unread = left
            .iter()
            .filter(|listed| shows_no_cause(&listed.facts))
            .count();
        if let Some(first) = left.first().filter(|_| unread > 0) {
            let status = &first.facts.status;
            inbox.limits.push(format!(
                "{unread} more threads with the status {status} were not read"
            ));
        }
        if left.len() > unread {
            inbox.limits.push(format!(
                "{} threads with questions were not read; some of their questions may be answered already",
                left.len() - unread
            ));
        }
        clear.extend(left);
        let of_record = |listed: &Listed| {
            InboxThread::new(&listed.id, &listed.facts, &status_of_record(&listed.facts))
        };
        inbox.threads.extend(clear.iter().filter_map(of_record));
        let reads = unclear.into_iter().map(|listed| async move {
            let row = self.row_for_inbox(&listed, stuck, now).await;
            (listed, row)
        });
        let mut answers = stream::iter(reads.collect::<Vec<_>>()).buffer_unordered(MAX_CONCURRENCY);
        // The reads of one server usually fail for the same reason, so only the first failure is reported.
        let mut failure = None;
        while let Some((listed, row)) = answers.next().await {
            match row {
                Ok(row) => {
                    inbox.threads.extend(row.clone());
                    let (facts, at) = (listed.facts, Instant::now());
                    memory.0.insert(listed.id, Remembered { facts, row, at });
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    inbox.threads.extend(of_record(&listed));
                }
            }
        }
        inbox.failures.extend(failure);
    }

    /// Reads the records of a thread. Returns its row if it needs a person.
    async fn row_for_inbox(
        &self,
        listed: &Listed,
        stuck: &Stuck,
        now: Timestamp,
    ) -> Result<Option<InboxThread>, ApiError> {
        let Listed { id, facts, .. } = listed;
        if facts.status != "busy" {
            return match self.status_for_inbox(listed).await {
                Ok(status) if facts.status == "idle" && !status.needs_person() => Ok(None),
                Ok(status) => Ok(InboxThread::new(id, facts, &status)),
                // It is only a guess that the thread is a copy. JavaScript can't read the state of every thread without runs.
                Err(error) if facts.status == "idle" && matches!(error.kind, Kind::Server(_)) => {
                    Ok(None)
                }
                Err(error) => Err(error),
            };
        }
        let runs = self.runs_for_inbox(id).await?;
        let records = ThreadRecords {
            thread: Some(facts),
            state: None,
            runs: Some(&runs),
        };
        let status = ThreadStatus::derive(records);
        let signs_of = |records: ThreadRecords<'_>| {
            let last = records.last_change().map(|at| (at, SilenceSource::Records));
            stuck_signs(
                Activity {
                    status: &status,
                    runs: complete(&runs),
                    attempt: None,
                    last,
                },
                stuck,
                now,
            )
        };
        let mut signs = signs_of(records);
        if matches!(signs.first(), Some(StuckSign::Silent { .. })) {
            // A run writes checkpoints, which some servers don't show in the thread's record.
            let state = match self.thread_state_raw(id, MAX_STATE).await {
                Ok(state) => StateFacts::read(state.get()).ok(),
                Err(error) if error.may_lack_call() || matches!(error.kind, Kind::TooLarge(_)) => {
                    None
                }
                Err(error) => return Err(error),
            };
            signs = signs_of(ThreadRecords {
                state: state.as_ref(),
                ..records
            });
        }
        Ok(signs
            .first()
            .map(|sign| InboxThread::stuck(id, facts, sign)))
    }

    /// Returns the status of a thread.
    async fn status_for_inbox(&self, listed: &Listed) -> Result<ThreadStatus, ApiError> {
        let Listed { id, facts, .. } = listed;
        match facts.status.as_str() {
            "error" => {
                // Lists of threads never contain errors.
                let record = match self.small_thread_record(id).await {
                    Ok(json) => ThreadFacts::read(&json).unwrap_or_else(|_| facts.clone()),
                    Err(error) if error.may_lack_call() => facts.clone(),
                    Err(error) => return Err(error),
                };
                if record.hides_cause() {
                    self.status_of(id, &record, true).await
                } else {
                    Ok(status_of_record(&record))
                }
            }
            _ if listed.may_be_stale() => self.checked_questions(id, facts).await,
            _ => self.listed_status(id, facts).await,
        }
    }

    /// Returns the status of a thread whose row lists several questions, by its state too.
    async fn checked_questions(
        &self,
        id: &str,
        facts: &ThreadFacts,
    ) -> Result<ThreadStatus, ApiError> {
        let state = match self.thread_state_raw(id, MAX_STATE).await {
            Ok(state) => StateFacts::read(state.get()).ok(),
            Err(error) if error.may_lack_call() || matches!(error.kind, Kind::TooLarge(_)) => None,
            Err(error) => return Err(error),
        };
        // JavaScript's states keep answered questions, and its rows may list one of them again.
        let runs = if state
            .as_ref()
            .is_some_and(|state| state.pending().len() > state.next.len())
        {
            Some(self.runs_for_inbox(id).await?)
        } else {
            None
        };
        Ok(ThreadStatus::derive(ThreadRecords {
            thread: Some(facts),
            state: state.as_ref(),
            runs: runs.as_deref(),
        }))
    }

    async fn runs_for_inbox(&self, id: &str) -> Result<Vec<RunFacts>, ApiError> {
        let runs = self.runs_raw(id, RUNS, 0, MAX_RUNS).await?;
        Ok(runs
            .iter()
            .filter_map(|run| RunFacts::read_all(&format!("[{run}]")).ok())
            .flatten()
            .collect())
    }
}

/// Returns the runs if they say what a pending run waits for: a running run may be older than all that were read.
fn complete(runs: &[RunFacts]) -> Option<&[RunFacts]> {
    (runs.len() < RUNS || runs.iter().any(RunFacts::is_running)).then_some(runs)
}

/// Returns whether the row of a list doesn't show why a thread waits, failed or is busy.
fn shows_no_cause(facts: &ThreadFacts) -> bool {
    match facts.status.as_str() {
        "error" => facts.hides_cause(),
        "busy" => true,
        _ => facts.questions.is_empty(),
    }
}

/// Returns the status according to the thread's own record alone.
fn status_of_record(facts: &ThreadFacts) -> ThreadStatus {
    ThreadStatus::derive(ThreadRecords {
        thread: Some(facts),
        ..ThreadRecords::default()
    })
}

impl ControlPlane {
    /// Returns the newest revision of a deployment if it failed. No request is made if the deployment's record says that its
    /// newest revision serves.
    ///
    /// # Errors
    /// See [`ApiError`]. A deployment that was deleted meanwhile has no failed revision.
    #[boxed]
    pub async fn failed_newest(&self, record: &Value) -> Result<Option<FailedRevision>, ApiError> {
        let serves = record["active_revision_id"]
            .as_str()
            .filter(|id| !id.is_empty());
        if record["status"] == "AWAITING_DELETE"
            || serves.is_some_and(|id| record["latest_revision_id"] == id)
        {
            return Ok(None);
        }
        let row = match self.newest_row(record).await {
            Ok(newest) => newest.row.unwrap_or_default(),
            Err(ApiError {
                kind: Kind::NotFound,
                ..
            }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let status = text_of(&row, "status");
        let time = |field: &str| row[field].as_str().and_then(parse_time);
        Ok(
            (Phase::of(status) == Phase::Failed).then(|| FailedRevision {
                revision_id: text_of(&row, "id").into(),
                status: status.into(),
                since: time("updated_at").or_else(|| time("created_at")),
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_page_of_pending_runs_does_not_say_what_they_wait_for() {
        let run = |status: &str| RunFacts {
            status: status.into(),
            ..RunFacts::default()
        };
        let mut runs = vec![run("pending"); RUNS];
        assert!(complete(&runs).is_none() && complete(&runs[1..]).is_some());
        runs[RUNS - 1] = run("running");
        assert!(complete(&runs).is_some());
    }
}
