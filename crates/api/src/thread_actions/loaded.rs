//! Reads a thread before an action.

use crate::ThreadQuery;
use crate::prelude::*;
use jiff::SignedDuration;
use runtail_core::model::{StepLimit, ThreadRecords, cause, hides_cause};

/// Bytes of a thread's record: it repeats the values of the state, and is read without them where those are large.
const MAX_THREAD: usize = 2 << 20;
/// Bytes of a state, whose values are skipped.
const MAX_STATE: usize = 64 << 20;
/// Newest runs that are read, and bytes of their list: each repeats its input.
const RUNS: usize = 50;
const MAX_RUNS: usize = 16 << 20;

/// Newest runs that are read for a row of a list.
const RUNS_LISTED: usize = 10;
/// Bytes of each part of what is read for a row of a list.
const MAX_LISTED: usize = 4 << 20;

/// How long a server's records of a thread and of its runs may disagree.
const A_MOMENT: SignedDuration = SignedDuration::from_secs(5);

/// The pauses between the readings of a thread that its stream says is waiting.
const READ_AGAIN: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(600),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

/// A thread's records. A part that the server does not offer is `None`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedThread {
    /// Its own record.
    pub thread: Option<ThreadFacts>,
    /// Its newest state.
    pub state: Option<StateFacts>,
    /// Its runs, newest first.
    pub runs: Option<Vec<RunFacts>>,
}

impl LoadedThread {
    fn records(&self) -> ThreadRecords<'_> {
        ThreadRecords {
            thread: self.thread.as_ref(),
            state: self.state.as_ref(),
            runs: self.runs.as_deref(),
        }
    }

    pub fn status(&self) -> ThreadStatus {
        ThreadStatus::derive(self.records())
    }

    /// The questions that an answer is accepted for.
    pub fn answerable(&self) -> Vec<Question> {
        self.records().answerable()
    }

    /// Whether it failed of an answer that the server keeps.
    pub fn keeps_rejected_answer(&self) -> bool {
        self.records().keeps_rejected_answer()
    }

    /// The limit of steps that its newest run reached.
    pub fn reached_limit(&self, status: &ThreadStatus) -> Option<StepLimit> {
        StepLimit::reached(status, self.records())
    }

    /// The assistant that it belongs to.
    pub fn assistant(&self) -> Option<&str> {
        self.records().assistant()
    }

    /// A run of an assistant with the options of the newest run, which it continues.
    pub fn next_run(&self, assistant_id: &str) -> Rerun {
        let mut rerun = Rerun::with_options_of(
            self.runs.as_deref().and_then(<[RunFacts]>::first),
            assistant_id,
        );
        rerun.body = self.at_head(rerun.body);
        rerun
    }

    /// Makes a run begin at the newest checkpoint where the server would begin it at an older one, or refuse it.
    pub fn at_head(&self, body: RunCreate) -> RunCreate {
        let needs_one = self
            .thread
            .as_ref()
            .is_some_and(|thread| needs_checkpoint(thread, &body));
        let names_one = ["checkpoint_id", "checkpoint"]
            .iter()
            .any(|key| body.extra.contains_key(*key));
        match self.checkpoint() {
            Some(head) if needs_one && !names_one => self.at_checkpoint(body, head),
            _ => body,
        }
    }

    /// Makes a run begin at a checkpoint. Aegra, whose threads list no questions, knows only the long form before 0.11.
    pub fn at_checkpoint(&self, mut body: RunCreate, id: &str) -> RunCreate {
        if self
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.lists_questions)
        {
            body.extra.insert(
                "checkpoint".into(),
                json!({"checkpoint_id": id, "checkpoint_ns": ""}),
            )
        } else {
            body.extra.insert("checkpoint_id".into(), id.into())
        };
        body
    }

    /// Its newest run.
    pub fn newest_run(&self) -> Option<String> {
        self.runs.as_deref()?.first().map(|run| run.run_id.clone())
    }

    /// Its newest checkpoint.
    pub fn checkpoint(&self) -> Option<&str> {
        self.state.as_ref()?.checkpoint_id.as_deref()
    }

    /// The nodes that run when it is continued.
    pub fn next(&self) -> &[String] {
        self.state
            .as_ref()
            .map(|state| state.next.as_slice())
            .unwrap_or_default()
    }

    /// Whether the server offers neither the thread's record nor its state, so that nothing can be checked.
    pub fn is_blank(&self) -> bool {
        self.thread.is_none() && self.state.is_none()
    }
}

impl AgentServer {
    /// Reads a thread as it is now.
    ///
    /// # Errors
    /// [`Kind::NotFound`] where there is no such thread; see [`ApiError`] for the rest.
    #[boxed]
    pub async fn load_thread(&self, thread: &str) -> Result<LoadedThread, ApiError> {
        let (record, state, runs) = tokio::join!(
            self.small_thread_record(thread),
            self.thread_state_raw(thread, MAX_STATE),
            self.runs_raw(thread, RUNS, 0, MAX_RUNS),
        );
        if let Err(error) = &record
            && error.kind == Kind::NotFound
            && self.info().await?.kind != ServerKind::Other
        {
            return Err(error.clone());
        }
        let record = offered(record)?;
        let state = offered(state.map(|raw| raw.get().to_string()))?;
        let runs = offered(runs.map(|rows| list(&rows)))?;
        let odd = |error: serde_json::Error| {
            let detail = format!("the server's record of the thread: {error}");
            ApiError {
                kind: Kind::Protocol,
                ..self.refused_here(thread, detail)
            }
        };
        Ok(LoadedThread {
            thread: record
                .map(|json| ThreadFacts::read(&json))
                .transpose()
                .map_err(odd)?,
            state: state
                .map(|json| StateFacts::read(&json))
                .transpose()
                .map_err(odd)?,
            runs: runs
                .map(|json| RunFacts::read_all(&json))
                .transpose()
                .map_err(odd)?,
        })
    }

    /// Reads a thread whose stream reported a question. A server writes the status of the thread and its run only after the
    /// stream's last event, so a thread that is still active is read again for a few seconds.
    ///
    /// # Errors
    /// See [`load_thread`](AgentServer::load_thread).
    #[boxed]
    pub async fn load_waiting_thread(&self, thread: &str) -> Result<LoadedThread, ApiError> {
        for pause in READ_AGAIN {
            let loaded = self.load_thread(thread).await?;
            if !matches!(
                loaded.status(),
                ThreadStatus::Queued { .. }
                    | ThreadStatus::Running { .. }
                    | ThreadStatus::BusyWithoutRun { .. }
            ) {
                return Ok(loaded);
            }
            tokio::time::sleep(pause).await;
        }
        self.load_thread(thread).await
    }

    /// Returns the status of a listed thread. Reads only what may change what the list says: the newest run, the runs that wait
    /// where one is active, the record of a failed thread for its error, and the state where nothing else shows why the thread
    /// stopped.
    ///
    /// # Errors
    /// See [`ApiError`]. A part that the server does not offer, or that is too large, counts as missing.
    #[boxed]
    pub async fn listed_status(
        &self,
        thread: &str,
        facts: &ThreadFacts,
    ) -> Result<ThreadStatus, ApiError> {
        self.status_of(thread, facts, false).await
    }

    /// Does the same. `is_record`: the facts are those of the thread's own record, not of a list.
    pub(crate) async fn status_of(
        &self,
        thread: &str,
        facts: &ThreadFacts,
        is_record: bool,
    ) -> Result<ThreadStatus, ApiError> {
        // Aegra calls a thread idle while one of its older runs is running.
        let limit = if facts.status == "busy" {
            RUNS
        } else {
            RUNS_LISTED
        };
        let runs = listed(
            self.runs_raw(thread, limit, 0, MAX_LISTED)
                .await
                .map(|rows| list(&rows)),
        )?;
        let runs = runs.and_then(|json| RunFacts::read_all(&json).ok());
        let explains = |run: &RunFacts| run.error.is_some() || run.is_active();
        let is_explained = facts.error.is_some() || runs.iter().flatten().any(explains);
        let record = match facts.status == "error" && !is_record && !is_explained {
            // Lists of threads never contain errors, and a state has only those of its tasks.
            true => listed(self.small_thread_record(thread).await)?,
            false => None,
        };
        let record = record
            .and_then(|json| ThreadFacts::read(&json).ok())
            .filter(|record| record.error.is_some());
        let facts = record.as_ref().unwrap_or(facts);
        // A copy of a waiting thread is idle and has no runs (acting reference §2).
        let may_be_copy = || facts.graph_id.is_some() && runs.as_ref().is_none_or(Vec::is_empty);
        // Aegra lists a thread that stopped at a breakpoint as idle, and no questions.
        let may_be_paused = || {
            !facts.lists_questions
                && runs
                    .iter()
                    .flatten()
                    .next()
                    .is_some_and(RunFacts::is_success)
        };
        let needs_state = match facts.status.as_str() {
            "idle" => may_be_copy() || may_be_paused(),
            "error" => facts.hides_cause(),
            _ => true,
        };
        let state = if needs_state {
            listed(
                self.thread_state_raw(thread, MAX_LISTED)
                    .await
                    .map(|raw| raw.get().to_string()),
            )?
        } else {
            None
        };
        let state = state.and_then(|json| StateFacts::read(&json).ok());
        let records = ThreadRecords {
            thread: Some(facts),
            state: state.as_ref(),
            runs: runs.as_deref(),
        };
        Ok(match ThreadStatus::derive(records) {
            // The thread and its runs are read at different moments, and a run may have begun or ended between them.
            ThreadStatus::BusyWithoutRun { since: Some(since) } if self.is_recent(since) => {
                ThreadStatus::Running {
                    since: None,
                    nodes: Vec::new(),
                    step: None,
                    run_id: None,
                    queued: 0,
                }
            }
            status => status,
        })
    }

    /// Returns why a run failed, by the thread's record, else by its state, else by its history. What can't be read counts as missing.
    ///
    /// # Errors
    /// The thread's record can't be read, except for a thread that is gone.
    #[boxed]
    pub async fn cause_of_run(
        &self,
        thread: &str,
        run: &RunFacts,
    ) -> Result<Option<String>, ApiError> {
        let record = match self.small_thread_record(thread).await {
            Ok(json) => ThreadFacts::read(&json).ok(),
            Err(error) if error.kind == Kind::NotFound => None,
            Err(error) => return Err(error),
        };
        // The record has the error of the newest run. A later change of the thread may be another run or only an edit.
        let times = record
            .as_ref()
            .and_then(|record| record.updated_at)
            .zip(run.updated_at);
        if times.is_some_and(|(changed, ended)| changed > ended)
            && let Ok(rows) = self.runs_raw(thread, RUNS, 0, MAX_RUNS).await
            && RunFacts::read_all(&list(&rows))
                .is_ok_and(|runs| runs.first().is_some_and(|r| r.run_id != run.run_id))
        {
            return Ok(self.cause_in_history(thread, run).await);
        }
        let runs = std::slice::from_ref(run);
        let mut records = ThreadRecords {
            thread: record.as_ref(),
            state: None,
            runs: Some(runs),
        };
        let is_clear =
            |known: &Option<String>| known.as_deref().is_some_and(|known| !hides_cause(known));
        let known = records.cause();
        if is_clear(&known) {
            return Ok(known);
        }
        let state = self.thread_state_raw(thread, MAX_STATE).await.ok();
        let state = state.and_then(|raw| StateFacts::read(raw.get()).ok());
        records.state = state.as_ref();
        let known = records.cause();
        if is_clear(&known) {
            return Ok(known);
        }
        // An edit of the state clears the errors.
        Ok(cause(
            self.cause_in_history(thread, run)
                .await
                .into_iter()
                .chain(known),
        ))
    }

    /// Returns why a run failed, by what it wrote into the history of its thread.
    async fn cause_in_history(&self, thread: &str, run: &RunFacts) -> Option<String> {
        let is_its = |state: &StateFacts| state.run_id.as_ref() == Some(&run.run_id);
        run.cause_in(
            &self
                .recent_history(thread, is_its)
                .await
                .unwrap_or_default(),
        )
    }

    /// Returns whether a time of the server's records is only a moment ago.
    fn is_recent(&self, at: Timestamp) -> bool {
        let now = Timestamp::now()
            .saturating_add(self.http.skew())
            .unwrap_or(Timestamp::MAX);
        now.duration_since(at) < A_MOMENT
    }

    pub(crate) async fn small_thread_record(&self, thread: &str) -> Result<String, ApiError> {
        match self.thread_raw(thread, MAX_THREAD).await {
            Err(error) if matches!(error.kind, Kind::TooLarge(_)) => {
                let query = ThreadQuery {
                    ids: vec![thread.to_string()],
                    limit: 1,
                    ..ThreadQuery::default()
                };
                let rows = self.thread_rows(&query).await?.items;
                // A server that doesn't know `ids` lists any threads.
                let row = rows.into_iter().find(|row| row["thread_id"] == thread);
                row.map(|row| row.to_string()).ok_or(error)
            }
            other => other.map(|raw| raw.get().to_string()),
        }
    }

    /// Makes a run on a thread begin at its newest checkpoint where the server would begin it at an older one, or refuse it. Changes nothing
    /// where the records can't be read, or where runs are active: the newest checkpoint is then not the one that the run follows.
    #[boxed]
    pub async fn begin_at_head(&self, thread: &str, body: RunCreate) -> RunCreate {
        let Ok(record) = self.small_thread_record(thread).await else {
            return body;
        };
        let Ok(facts) = ThreadFacts::read(&record) else {
            return body;
        };
        if !needs_checkpoint(&facts, &body) || facts.status == "busy" {
            return body;
        }
        let Ok(state) = self.thread_state_raw(thread, MAX_STATE).await else {
            return body;
        };
        let state = StateFacts::read(state.get()).ok();
        LoadedThread {
            thread: Some(facts),
            state,
            runs: None,
        }
        .at_head(body)
    }

    /// Returns an error as "not offered" if the server is of an unknown kind, which may have no such call. Others have all calls
    /// of the agent server, so a 404 means a missing object.
    #[boxed]
    pub async fn or_not_offered(&self, error: ApiError) -> ApiError {
        if !error.names_no_object()
            || self
                .info()
                .await
                .is_ok_and(|info| info.kind != ServerKind::Other)
        {
            return error;
        }
        let detail = format!(
            "this server has no such call, or no such record ({})",
            error.cause()
        );
        ApiError {
            kind: Kind::NotOffered,
            detail,
            hint: None,
            ..error
        }
    }

    /// Creates our own error about what was read of a thread. Nothing was sent.
    pub(crate) fn refused_here(&self, thread: &str, detail: String) -> ApiError {
        let url = self.url(&reqwest::Method::GET, &["threads", thread]);
        let at = self
            .http
            .place(&reqwest::Method::GET, url.as_ref().unwrap_or(&self.base));
        ApiError::new(Kind::Stale, at, detail)
    }
}

/// Returns whether a run on a thread must name its checkpoint: JavaScript may begin it at an older one, and Aegra, whose threads
/// list no questions, refuses one without an input.
fn needs_checkpoint(thread: &ThreadFacts, body: &RunCreate) -> bool {
    let continues = body.input == Some(Value::Null) && body.command.is_none();
    thread.pinned_checkpoint.is_some() || continues && !thread.lists_questions
}

fn offered(part: Result<String, ApiError>) -> Result<Option<String>, ApiError> {
    match part {
        Ok(json) => Ok(Some(json)),
        Err(error) if error.may_lack_call() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a part of a row's status, unless it is too expensive for a row.
fn listed(part: Result<String, ApiError>) -> Result<Option<String>, ApiError> {
    match part {
        Err(ApiError {
            kind: Kind::TooLarge(_),
            ..
        }) => Ok(None),
        part => offered(part),
    }
}

fn list(rows: &[Box<RawValue>]) -> String {
    let rows: Vec<&str> = rows.iter().map(|row| row.get()).collect();
    format!("[{}]", rows.join(","))
}
