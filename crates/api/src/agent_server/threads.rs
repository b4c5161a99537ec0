//! Threads: their records, their states and their histories.

use super::{MAX_SKIPPED, THREAD_FIELDS, ThreadQuery, put_filter};
use crate::http::MAX_BODY;
use crate::pages::{NextPage, PAGE, Page, PageRequest, Pages};
use crate::prelude::*;
use crate::rows::Row;
use futures::future::BoxFuture;
use runtail_core::model::{Thread, ThreadSort};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the checkpoint of a state.
fn checkpoint_of(row: &RawValue) -> Option<String> {
    StateFacts::read(row.get()).ok()?.checkpoint_id
}

impl AgentServer {
    /// Returns threads without their values, last changed first.
    #[boxed]
    pub async fn threads(&self, query: &ThreadQuery) -> Result<Vec<Thread>, ApiError> {
        let mut threads = self
            .thread_pages(query)
            .whole_as(Thread::in_a_list)
            .await?
            .items;
        threads.sort_by_key(|t| std::cmp::Reverse(t.updated_at.or(t.created_at)));
        Ok(threads)
    }

    /// Returns threads as received, in the server's order.
    #[boxed]
    pub async fn thread_rows(&self, query: &ThreadQuery) -> Result<Listing<Value>, ApiError> {
        self.thread_pages(query).whole().await
    }

    pub(super) fn thread_pages<'a>(&'a self, query: &'a ThreadQuery) -> Pages<'a> {
        let status = query
            .status
            .as_ref()
            .map(|status| format!(" with the status {status}"));
        let what = format!("threads{}", status.unwrap_or_default());
        self.pages(
            what,
            None,
            (query.limit, query.offset),
            usize::MAX,
            move |limit, offset| async move {
                self.search_threads(&ThreadQuery {
                    limit,
                    offset,
                    ..query.clone()
                })
                .await
            },
        )
    }

    /// Returns a thread.
    #[boxed]
    pub async fn thread(&self, id: &str) -> Result<Thread, ApiError> {
        self.get(&["threads", id], &[]).await?.json()
    }

    /// Returns a thread as received.
    #[boxed]
    pub async fn thread_row(&self, id: &str) -> Result<Value, ApiError> {
        self.get(&["threads", id], &[]).await?.json()
    }

    /// Creates a thread; an empty object is enough of a body. Sent once.
    #[boxed]
    pub async fn create_thread(&self, body: &Value) -> Result<Thread, ApiError> {
        self.post(&["threads"], body).await?.json()
    }

    /// Creates a thread and returns it as received.
    #[boxed]
    pub async fn create_thread_row(&self, body: &Value) -> Result<Value, ApiError> {
        self.post(&["threads"], body).await?.json()
    }

    /// Copies a thread with its history, if the server offers it. Sent once.
    #[boxed]
    pub async fn copy_thread(&self, id: &str) -> Result<Value, ApiError> {
        self.post(&["threads", id, "copy"], &json!({}))
            .await?
            .json()
    }

    /// Deletes a thread with its runs and checkpoints. Sent once.
    #[boxed]
    pub async fn delete_thread(&self, id: &str) -> Result<(), ApiError> {
        let url = self.url(&Method::DELETE, &["threads", id])?;
        self.call(Method::DELETE, url, None, &[200, 202, 204])
            .await
            .map(drop)
    }

    /// Merges metadata into a thread: `{metadata}`. Returns its new row. Sent once.
    #[boxed]
    pub async fn patch_thread(&self, id: &str, body: &Value) -> Result<Value, ApiError> {
        let url = self.url(&Method::PATCH, &["threads", id])?;
        self.call(Method::PATCH, url, Some(body), &[200])
            .await?
            .json()
    }

    /// Returns the record of a thread as received.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] if the response is larger than `max_bytes`; see [`ApiError`] for the rest.
    #[boxed]
    pub async fn thread_raw(&self, id: &str, max_bytes: usize) -> Result<Box<RawValue>, ApiError> {
        self.get_up_to(&["threads", id], &[], max_bytes)
            .await?
            .json()
    }

    /// Returns the state of a thread: `{values, next, tasks, interrupts, …}`.
    #[boxed]
    pub async fn thread_state(&self, thread: &str) -> Result<Value, ApiError> {
        self.get(&["threads", thread, "state"], &[]).await?.json()
    }

    /// Returns the state of a thread as received.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] if the response is larger than `max_bytes`; see [`ApiError`] for the rest.
    #[boxed]
    pub async fn thread_state_raw(
        &self,
        thread: &str,
        max_bytes: usize,
    ) -> Result<Box<RawValue>, ApiError> {
        self.get_up_to(&["threads", thread, "state"], &[], max_bytes)
            .await?
            .json()
    }

    /// Returns up to `limit` past states of a thread, newest first, optionally only those before the checkpoint `before`.
    #[boxed]
    pub async fn thread_history(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
    ) -> Result<Listing<Value>, ApiError> {
        self.history_pages(thread, before, (limit, PAGE), MAX_BODY)
            .whole()
            .await
    }

    /// Returns the pages of the same list. Every state repeats all values of the thread, so shorter pages are requested if one is
    /// larger than `max_bytes`.
    pub fn history_pages<'a>(
        &'a self,
        thread: &'a str,
        before: Option<&'a str>,
        (limit, page_size): (usize, usize),
        max_bytes: usize,
    ) -> Pages<'a> {
        let largest = Arc::new(AtomicUsize::new(page_size));
        let request =
            move |PageRequest { limit, cursor, .. }| -> BoxFuture<'a, Result<Page, ApiError>> {
                let largest = largest.clone();
                Box::pin(async move {
                    loop {
                        let limit = limit.min(largest.load(Ordering::Relaxed));
                        let page = self
                            .history_page(thread, limit, cursor.as_deref().or(before), max_bytes)
                            .await;
                        match page {
                            Err(error) if matches!(error.kind, Kind::TooLarge(_)) && limit > 1 => {
                                largest.store((limit / 4).max(1), Ordering::Relaxed);
                            }
                            page => return page,
                        }
                    }
                })
            };
        Pages::new("checkpoints", (limit, 0), page_size, request).identified_by(checkpoint_of)
    }

    /// Returns the newest of the same states as received.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] if the response is larger than `max_bytes`; see [`ApiError`] for the rest.
    #[boxed]
    pub async fn thread_history_raw(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
        max_bytes: usize,
    ) -> Result<Vec<Box<RawValue>>, ApiError> {
        Ok(self
            .history_page(thread, limit, before, max_bytes)
            .await?
            .rows)
    }

    async fn history_page(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
        max_bytes: usize,
    ) -> Result<Page, ApiError> {
        let page = |answer: Answer, rows: Vec<Row>| {
            let oldest = rows.iter().rev().find_map(|row| checkpoint_of(row));
            let next = NextPage::Cursor(oldest.filter(|_| rows.len() >= limit));
            Page {
                answer,
                rows,
                limit,
                next,
            }
        };
        let error = match self.history(thread, limit, before, max_bytes).await {
            Ok(answer) => {
                let rows = answer.json()?;
                return Ok(page(answer, rows));
            }
            Err(error) => error,
        };
        // Early Aegra fails at `before` in every form (seen with GET and POST), so the newest states are read and skipped.
        let Some(before) = before.filter(|_| error.status() == Some(500)) else {
            return Err(error);
        };
        if self.info().await?.kind != ServerKind::EarlyAegra {
            return Err(error);
        }
        let answer = self.history(thread, MAX_SKIPPED, None, max_bytes).await?;
        let rows: Vec<Row> = answer.json()?;
        let is_before = |row: &Row| checkpoint_of(row).is_some_and(|id| *id < *before);
        let rows = rows.into_iter().filter(is_before).take(limit).collect();
        Ok(page(answer, rows))
    }

    /// Requests a history. The limit is always sent, because the Python server's default is 1.
    async fn history(
        &self,
        thread: &str,
        limit: usize,
        before: Option<&str>,
        max_bytes: usize,
    ) -> Result<Answer, ApiError> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(before.map(|id| ("before", id.to_string())));
        self.get_up_to(&["threads", thread, "history"], &query, max_bytes)
            .await
    }

    /// Edits the state of a thread: `{values, as_node, checkpoint_id}` (acting reference §6). Returns the new checkpoint.
    /// Sent once.
    #[boxed]
    pub async fn update_state(&self, thread: &str, body: &Value) -> Result<Value, ApiError> {
        self.post(&["threads", thread, "state"], body).await?.json()
    }

    /// Searches threads with the best request that the server accepts: sorted and without values, then sorted, then plain.
    pub(super) async fn search_threads(&self, query: &ThreadQuery) -> Result<Answer, ApiError> {
        let mut body = json!({"limit": query.limit, "offset": query.offset});
        put_filter(
            &mut body,
            query.status.as_deref(),
            query.metadata.as_ref(),
            query.values.as_ref(),
        );
        if !query.ids.is_empty() {
            body["ids"] = json!(query.ids);
        }
        let known = self.quirks.known().thread_search;
        let mut first = None;
        for level in known..=2 {
            let mut body = body.clone();
            if level < 2 {
                let (by, is_ascending) = match query.sort {
                    ThreadSort::Updated => ("updated_at", false),
                    ThreadSort::Created => ("created_at", false),
                    ThreadSort::Status => ("status", true),
                };
                body["sort_by"] = json!(by);
                body["sort_order"] = json!(if is_ascending != query.oldest_first {
                    "asc"
                } else {
                    "desc"
                });
            }
            if level < 1 && !query.with_values {
                body["select"] = json!(THREAD_FIELDS);
            }
            if level < 1 && !query.extract.is_empty() {
                body["extract"] = json!(query.extract);
            }
            match self.search(&["threads", "search"], &body).await {
                Ok(answer) => {
                    self.quirks.learn(|known| known.thread_search = level);
                    return Ok(answer);
                }
                // If the cause is another one, the plain form fails too, and the first error says more.
                Err(e) if matches!(e.kind, Kind::Invalid(_)) => first = first.or(Some(e)),
                Err(e) => return Err(e),
            }
        }
        Err(first.unwrap_or_else(|| {
            let at = self.http.place(&Method::POST, &self.base);
            self.http
                .refuse(&at, "the list of threads was refused".into(), None)
        }))
    }
}
