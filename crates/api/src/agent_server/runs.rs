//! The runs of a thread: lists, newest first on every server, and cancelling runs.

use crate::http::MAX_BODY;
use crate::pages::{NextPage, Page, PageRequest, Pages};
use crate::prelude::*;
use crate::quirks::{RunOrder, RunTail, SAFE_PAGE};
use crate::rows::{Row, UnreadRows};
use runtail_core::model::{Run, lenient, lenient_time};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::convert::identity;

/// Means "all" for a page that has to reach the end of a list.
const EVERYTHING: usize = 1_000_000_000;
/// Maximum number of active runs to list per status.
const MOST_ACTIVE: usize = 100;

/// How a run is cancelled (acting reference §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelAction {
    /// Stops it and keeps the steps that it finished.
    Interrupt,
    /// Stops it, and deletes it together with its checkpoints.
    Rollback,
}

impl CancelAction {
    /// Returns its word in requests.
    pub fn word(self) -> &'static str {
        match self {
            CancelAction::Interrupt => "interrupt",
            CancelAction::Rollback => "rollback",
        }
    }
}

/// The sort key of runs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RunKey {
    #[serde(deserialize_with = "lenient")]
    run_id: String,
    #[serde(deserialize_with = "lenient_time")]
    created_at: Option<Timestamp>,
}

/// Runs as received, with their keys.
type Rows = Vec<(RunKey, Box<RawValue>)>;

impl AgentServer {
    /// Returns the newest runs of a thread, newest first on every server. `offset` skips that many of the newest.
    ///
    /// Takes one request if the server lists the newest first. If it lists the oldest first, it takes one or two if the end
    /// of the list can be requested, else one per page.
    #[boxed]
    pub async fn runs(&self, thread: &str, limit: usize) -> Result<Listing<Run>, ApiError> {
        let list = RunList {
            server: self,
            thread,
            max_bytes: MAX_BODY,
        };
        list.parsed(&self.runs_raw(thread, limit, 0, MAX_BODY).await?)
    }

    /// Like [`AgentServer::runs`], as parsed JSON.
    #[boxed]
    pub async fn run_rows(
        &self,
        thread: &str,
        limit: usize,
        offset: usize,
    ) -> Result<Listing<Value>, ApiError> {
        let list = RunList {
            server: self,
            thread,
            max_bytes: MAX_BODY,
        };
        list.parsed(&self.runs_raw(thread, limit, offset, MAX_BODY).await?)
    }

    /// Like [`AgentServer::runs`], each as the received text.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] if one response is larger than `max_bytes`; see [`ApiError`] for the rest.
    #[boxed]
    pub async fn runs_raw(
        &self,
        thread: &str,
        limit: usize,
        offset: usize,
        max_bytes: usize,
    ) -> Result<Vec<Box<RawValue>>, ApiError> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        let list = RunList {
            server: self,
            thread,
            max_bytes,
        };
        let mut rows = list.newest(limit, offset).await?;
        rows.sort_by_key(|(key, _)| Reverse(key.created_at));
        Ok(rows.into_iter().map(|(_, raw)| raw).collect())
    }

    /// Returns the runs of a thread that are pending or running, newest first.
    #[boxed]
    pub async fn active_runs(&self, thread: &str) -> Result<Vec<Run>, ApiError> {
        let list = RunList {
            server: self,
            thread,
            max_bytes: MAX_BODY,
        };
        let (pending, running) =
            tokio::join!(list.with_status("pending"), list.with_status("running"));
        let mut runs: Vec<Run> = match (pending, running) {
            (Ok(Some(pending)), Ok(Some(running))) => pending.into_iter().chain(running).collect(),
            (Err(error), _) | (_, Err(error)) if !matches!(error.kind, Kind::Invalid(_)) => {
                return Err(error);
            }
            // The server does not filter by status.
            _ => self.runs(thread, MOST_ACTIVE).await?.items,
        };
        runs.retain(Run::is_active);
        // A run that started between the two requests is in both.
        runs.sort_by_key(|run| Reverse((run.created_at, run.run_id.clone())));
        runs.dedup_by(|a, b| a.run_id == b.run_id);
        Ok(runs)
    }

    /// Returns a run as received.
    #[boxed]
    pub async fn run_row(&self, thread: &str, run: &str) -> Result<Value, ApiError> {
        self.get(&["threads", thread, "runs", run], &[])
            .await?
            .json()
    }

    /// Returns a run as received, with the `cause` of its failure, if the server's records have it.
    #[boxed]
    pub async fn explained_run(&self, thread: &str, run: &str) -> Result<Value, ApiError> {
        let mut row = self.run_row(thread, run).await?;
        let facts = RunFacts::read(&row.to_string()).unwrap_or_default();
        if facts.is_failed()
            && let Ok(Some(cause)) = self.cause_of_run(thread, &facts).await
        {
            row["cause"] = cause.into();
        }
        Ok(row)
    }

    /// Returns a run.
    #[boxed]
    pub async fn run(&self, thread: &str, run: &str) -> Result<Run, ApiError> {
        self.get(&["threads", thread, "runs", run], &[])
            .await?
            .json()
    }

    /// Starts a run on a thread in the background. Never sent twice: if the response is lost, the run may exist nevertheless.
    #[boxed]
    pub async fn create_run(&self, thread: &str, body: &RunCreate) -> Result<Run, ApiError> {
        let url = self.url(&Method::POST, &["threads", thread, "runs"])?;
        let body = self.run_body(&url, body)?;
        self.call(Method::POST, url, Some(&body), &[200, 201])
            .await?
            .json()
    }

    /// Requests a run's cancellation, without waiting for its end. Sent once. An accepted request does not mean that the run
    /// stops, or that it was active: read the run afterwards. 404 means that there is nothing to cancel.
    #[boxed]
    pub async fn cancel(
        &self,
        thread: &str,
        run: &str,
        action: CancelAction,
    ) -> Result<(), ApiError> {
        let url = self.cancel_url(thread, run, action)?;
        self.call(Method::POST, url, Some(&json!({})), &[200, 202, 204])
            .await
            .map(drop)
    }

    pub(crate) fn cancel_url(
        &self,
        thread: &str,
        run: &str,
        action: CancelAction,
    ) -> Result<Url, ApiError> {
        let mut url = self.url(&Method::POST, &["threads", thread, "runs", run, "cancel"])?;
        url.query_pairs_mut()
            .append_pair("wait", "0")
            .append_pair("action", action.word());
        Ok(url)
    }

    /// Deletes the record of a run. Sent once. A run that is active continues unseen and leaves its thread busy
    /// (acting reference §7): cancel it first.
    #[boxed]
    pub async fn delete_run(&self, thread: &str, run: &str) -> Result<(), ApiError> {
        let url = self.url(&Method::DELETE, &["threads", thread, "runs", run])?;
        self.call(Method::DELETE, url, None, &[200, 202, 204])
            .await
            .map(drop)
    }
}

/// The run list of a thread.
struct RunList<'a> {
    server: &'a AgentServer,
    thread: &'a str,
    max_bytes: usize,
}

impl RunList<'_> {
    /// Returns the newest runs after skipping `offset` of them, in either order of creation.
    async fn newest(&self, limit: usize, offset: usize) -> Result<Rows, ApiError> {
        let known = self.server.quirks.known();
        let wanted = limit.saturating_add(offset);
        match (known.run_order, known.run_tail) {
            (RunOrder::NewestFirst, _) => {
                let mut rows = self.forward(offset, limit).await?;
                if order_of(&rows) != RunOrder::OldestFirst {
                    rows.truncate(limit);
                    return Ok(rows);
                }
            }
            (RunOrder::OldestFirst, RunTail::Works) => {
                if let Some(rows) = self.tail(wanted).await? {
                    return Ok(from_end(rows, limit, offset));
                }
            }
            _ => {}
        }
        // The order is unknown, or another server uses this address now. One extra row shows whether the list continues.
        let mut first = self.forward(0, wanted.saturating_add(1)).await?;
        let order = order_of(&first);
        self.server.quirks.learn(|known| known.run_order = order);
        if order != RunOrder::OldestFirst {
            first.drain(..offset.min(first.len()));
            first.truncate(limit);
            return Ok(first);
        }
        let is_whole = match first.len() {
            n if n <= wanted => !self.is_cut(n).await?,
            // A server that ignores the limit returns everything.
            n => n > wanted.saturating_add(1),
        };
        if is_whole {
            return Ok(from_end(first, limit, offset));
        }
        Ok(from_end(
            self.end(wanted, &first[0].0).await?,
            limit,
            offset,
        ))
    }

    /// Whether a list may continue after a page with fewer rows than requested. Servers limit pages to a round number, so
    /// only then is another request worthwhile.
    async fn is_cut(&self, rows: usize) -> Result<bool, ApiError> {
        if rows == 0 || !rows.is_multiple_of(5) {
            return Ok(false);
        }
        let next = self
            .page(&[
                ("limit", (rows + 1).to_string()),
                ("offset", rows.to_string()),
            ])
            .await?;
        Ok(!next.is_empty())
    }

    /// Returns the last rows of a longer list that is oldest first.
    async fn end(&self, wanted: usize, oldest: &RunKey) -> Result<Rows, ApiError> {
        let learn = |tail| self.server.quirks.learn(|known| known.run_tail = tail);
        if self.server.quirks.known().run_tail != RunTail::Refused {
            match self.tail(wanted).await {
                // A server that ignores the offset and limits the page would return the start of the list.
                Ok(Some(rows))
                    if rows
                        .first()
                        .is_some_and(|(first, _)| first.run_id != oldest.run_id) =>
                {
                    learn(RunTail::Works);
                    return Ok(rows);
                }
                Ok(_) => learn(RunTail::Refused),
                Err(error) if matches!(error.kind, Kind::Invalid(_)) => learn(RunTail::Refused),
                Err(error) => return Err(error),
            }
        }
        self.walk(wanted).await
    }

    /// Requests the end of a list with a negative offset, which the JavaScript server counts from the end. Returns nothing if
    /// the response can't be the end.
    async fn tail(&self, wanted: usize) -> Result<Option<Rows>, ApiError> {
        let query = [
            ("limit", EVERYTHING.to_string()),
            ("offset", format!("-{wanted}")),
        ];
        let rows = self.page(&query).await?;
        Ok((rows.len() <= wanted && order_of(&rows) != RunOrder::NewestFirst).then_some(rows))
    }

    /// Reads a list that is oldest first to its end, and keeps the last rows. The limit grows with the offset, because the
    /// JavaScript server treats it as the position of the page's end.
    async fn walk(&self, wanted: usize) -> Result<Rows, ApiError> {
        let mut kept: VecDeque<(RunKey, Box<RawValue>)> = VecDeque::new();
        let mut pages = Pages::new(
            "runs",
            (usize::MAX, 0),
            SAFE_PAGE,
            |PageRequest { limit, offset, .. }| {
                Box::pin(async move {
                    let query = |limit: usize| {
                        [("limit", limit.to_string()), ("offset", offset.to_string())]
                    };
                    let answer = match self.answer(&query(offset + limit)).await {
                        Err(error) if offset > 0 && matches!(error.kind, Kind::Invalid(_)) => {
                            self.answer(&query(limit)).await
                        }
                        answer => answer,
                    }?;
                    Ok(Page {
                        rows: answer.json()?,
                        answer,
                        limit,
                        next: NextPage::IfAny,
                    })
                })
            },
        );
        while let Some(page) = pages.next_new().await? {
            kept.extend(page.into_iter().map(with_key));
            kept.drain(..kept.len().saturating_sub(wanted));
        }
        Ok(kept.into())
    }

    /// Returns rows from the start of the list, in pages that the server accepts.
    async fn forward(&self, offset: usize, wanted: usize) -> Result<Rows, ApiError> {
        let mut pages = self.server.pages(
            "runs",
            None,
            (wanted, offset),
            usize::MAX,
            |limit, offset| async move {
                self.answer(&[("limit", limit.to_string()), ("offset", offset.to_string())])
                    .await
            },
        );
        let mut rows = Rows::new();
        while let Some(page) = pages.next_new().await? {
            rows.extend(page.into_iter().map(with_key));
        }
        Ok(rows)
    }

    /// Returns the runs with a status; nothing if the server ignores the filter.
    async fn with_status(&self, status: &str) -> Result<Option<Vec<Run>>, ApiError> {
        let rows = self
            .page(&[
                ("limit", MOST_ACTIVE.to_string()),
                ("status", status.to_string()),
            ])
            .await?;
        let raw: Vec<_> = rows.into_iter().map(|(_, raw)| raw).collect();
        let runs: Vec<Run> = self.parsed(&raw)?.items;
        Ok(runs.iter().all(|run| run.status == status).then_some(runs))
    }

    async fn page(&self, query: &[(&str, String)]) -> Result<Rows, ApiError> {
        let rows: Vec<Row> = self.answer(query).await?.json()?;
        Ok(rows.into_iter().map(with_key).collect())
    }

    async fn answer(&self, query: &[(&str, String)]) -> Result<Answer, ApiError> {
        self.server
            .get_up_to(&["threads", self.thread, "runs"], query, self.max_bytes)
            .await
    }

    fn parsed<T: DeserializeOwned>(&self, rows: &[Box<RawValue>]) -> Result<Listing<T>, ApiError> {
        let mut listing = Listing::new(Vec::new(), UnreadRows::of("runs"));
        listing.add(rows, identity);
        if listing.items.is_empty() && !rows.is_empty() {
            Err(self.unexpected(&listing.unread.why))
        } else {
            Ok(listing)
        }
    }

    fn unexpected(&self, why: &str) -> ApiError {
        let mut at = self.server.http.place(&Method::GET, &self.server.base);
        at.path = format!(
            "{}/threads/{}/runs",
            at.path.trim_end_matches('/'),
            text::clean(self.thread)
        );
        let detail = format!("unexpected answer: {}", text::clean(why));
        ApiError::new(Kind::Protocol, at, detail)
    }
}

fn with_key(raw: Row) -> (RunKey, Row) {
    (json::from_str(raw.get()).unwrap_or_default(), raw)
}

/// Returns the order of rows by creation time.
fn order_of(rows: &Rows) -> RunOrder {
    let created = |row: Option<&(RunKey, _)>| row.and_then(|(key, _)| key.created_at);
    match (created(rows.first()), created(rows.last())) {
        (Some(first), Some(last)) if first > last => RunOrder::NewestFirst,
        (Some(first), Some(last)) if first < last => RunOrder::OldestFirst,
        _ => RunOrder::Unknown,
    }
}

/// Reverses rows that are oldest first; rows with equal times keep their order.
fn from_end(mut rows: Rows, limit: usize, offset: usize) -> Rows {
    rows.reverse();
    rows.drain(..offset.min(rows.len()));
    rows.truncate(limit);
    rows
}
