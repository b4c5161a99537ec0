//! Reads the threads of an agent server page by page: the first page again and again, later pages when the list needs them.
//! Threads move between pages when others change, so pages overlap, and a page that doesn't continue the last one is read
//! again further up.

use super::out::Out;
use super::poll_schedule::{ParamsReceiver, PollSchedule};
use super::polls::list_pause;
use super::services::Services;
use crate::boxed;
use crate::session::msg::{ServerRef, SubscriptionEvent, ThreadsRead, ThreadsWanted};
use runtail_api::{AgentServer, ApiError, FoundThread, ThreadPage};
use runtail_core::model::ServerFilter;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Threads of the first page, and of later ones.
const FIRST: usize = 100;
const NEXT: usize = 500;
/// Threads that a page has in common with the one before it.
const OVERLAP: usize = 10;
/// How long a search must stay the same before it is sent.
const TYPING: Duration = Duration::from_millis(250);

/// What was read of a list so far.
#[derive(Default)]
struct Reading {
    wanted: Arc<ThreadsWanted>,
    /// The ids of the loaded threads.
    seen: HashSet<String>,
    /// Number of threads to skip for the next page.
    next: usize,
    is_complete: bool,
    /// Whether the last request failed.
    has_failed: bool,
}

/// Polls the threads of an agent server.
#[boxed]
pub async fn threads(
    services: &Services,
    server: &ServerRef,
    mut params: ParamsReceiver,
    out: &Out,
) {
    let mut schedule = PollSchedule::new();
    let mut reading = Reading::default();
    let mut is_poll = true;
    loop {
        reading.begin(params.borrow_and_update().threads.clone());
        schedule.begin_request();
        let error = match services.agent_server(server).await {
            Ok(client) => {
                out.watch(None, reading.read(&client, is_poll, &params, out))
                    .await
            }
            Err(error) => {
                out.send(SubscriptionEvent::Threads(reading.answer(
                    0,
                    None,
                    Err(error.clone()),
                )))
                .await;
                Some(error)
            }
        };
        services.apply_error(&server.profile, error.as_ref());
        reading.has_failed = error.is_some();
        if !schedule.end_request(error.as_ref()) || out.is_closed() {
            return;
        }
        let mut changes = params.clone();
        is_poll = tokio::select! {
            () = schedule.wait(&mut params, list_pause) => true,
            is_poll = reading.needs_more(&mut changes) => is_poll,
        };
    }
}

/// Returns whether two lists are read by the same request.
fn is_same_request(a: &ThreadsWanted, b: &ThreadsWanted) -> bool {
    let request = |of: &ThreadsWanted| -> (ServerFilter, Option<String>) {
        (
            of.search.server_filter(),
            of.search.whole_id().map(str::to_string),
        )
    };
    a.sort == b.sort && request(a) == request(b)
}

impl Reading {
    /// Notes what is needed now. Another search starts over.
    fn begin(&mut self, wanted: Arc<ThreadsWanted>) {
        if !is_same_request(&self.wanted, &wanted) {
            *self = Reading::default();
        }
        self.wanted = wanted;
    }

    /// Waits until the list needs another search (`true`) or more rows.
    async fn needs_more(&self, changes: &mut ParamsReceiver) -> bool {
        loop {
            let now = changes.borrow_and_update().threads.clone();
            if !is_same_request(&self.wanted, &now) {
                tokio::time::sleep(TYPING).await;
                return true;
            }
            if !self.is_complete && !self.has_failed && now.rows > self.next {
                return false;
            }
            if changes.changed().await.is_err() {
                // The subscription ends, which the schedule notices.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Reads the first page, the one on the screen, and those that the list needs. Returns the error that ended this.
    async fn read(
        &mut self,
        client: &AgentServer,
        is_poll: bool,
        params: &ParamsReceiver,
        out: &Out,
    ) -> Option<ApiError> {
        if is_poll {
            let page = match self.first_page(client, out).await {
                Ok(page) => page,
                Err(error) => return Some(error),
            };
            let is_new = !page.threads.is_empty()
                && !self.seen.is_empty()
                && !page.threads.iter().any(|t| self.has(t));
            if is_new {
                // More threads changed than a page holds, so the pages after it are no longer known.
                (self.next, self.is_complete) = (0, false);
            }
            self.note(&page);
            let top = self.wanted.top;
            if top >= FIRST && top < self.next {
                let page = self
                    .page(client, (top.saturating_sub(OVERLAP), FIRST), out)
                    .await;
                if let Err(error) = page {
                    return Some(error);
                }
            }
        }
        let mut steps_back = 0;
        while !self.is_complete {
            let wanted = params.borrow().threads.clone();
            if !is_same_request(&self.wanted, &wanted)
                || wanted.rows <= self.next
                || out.is_closed()
            {
                break;
            }
            let offset = self.next.saturating_sub(OVERLAP);
            let page = match self.page(client, (offset, NEXT), out).await {
                Ok(page) => page,
                Err(error) => return Some(error),
            };
            let continues = offset == 0 || page.threads.first().is_none_or(|first| self.has(first));
            if !continues && steps_back < 10 {
                steps_back += 1;
                self.next = self.next.saturating_sub(FIRST * steps_back);
                continue;
            }
            let before = self.next;
            self.note(&page);
            // A server that ignores the offset repeats its page.
            self.is_complete |= self.next <= before;
        }
        None
    }

    fn has(&self, found: &FoundThread) -> bool {
        self.seen.contains(&found.thread.thread_id)
    }

    fn note(&mut self, page: &ThreadPage) {
        self.seen.extend(
            page.threads
                .iter()
                .map(|found| found.thread.thread_id.clone()),
        );
        self.next = self.next.max(page.next_offset);
        self.is_complete |= page.is_last;
    }

    /// Reads the first page, and counts the threads if there are more.
    async fn first_page(&self, client: &AgentServer, out: &Out) -> Result<ThreadPage, ApiError> {
        let (search, sort) = (&self.wanted.search, self.wanted.sort);
        let result = client.find_threads(search, sort, (0, FIRST)).await;
        let count = match &result {
            Ok(page) if !page.is_last && page.ignored.is_empty() => {
                client.count_found(search).await.unwrap_or_default()
            }
            _ => None,
        };
        out.send(SubscriptionEvent::Threads(self.answer(
            0,
            count,
            result.clone(),
        )))
        .await;
        result
    }

    async fn page(
        &self,
        client: &AgentServer,
        (offset, limit): (usize, usize),
        out: &Out,
    ) -> Result<ThreadPage, ApiError> {
        let result = client
            .find_threads(&self.wanted.search, self.wanted.sort, (offset, limit))
            .await;
        out.send(SubscriptionEvent::Threads(self.answer(
            offset,
            None,
            result.clone(),
        )))
        .await;
        result
    }

    fn answer(
        &self,
        offset: usize,
        count: Option<u64>,
        result: Result<ThreadPage, ApiError>,
    ) -> ThreadsRead {
        ThreadsRead {
            filter: self.wanted.search.server_filter(),
            whole_id: self.wanted.search.whole_id().map(str::to_string),
            sort: self.wanted.sort,
            offset,
            count,
            result,
        }
    }
}
