//! What is new in the inbox: each thread or revision that begins to wait, fails or is stuck, once, and only since the dashboard
//! started.

use super::{
    FailedDeployment, Inbox, InboxListRow, Target, Watched, failed_row, table, thread_key,
};
use crate::session::msg::{ServerRef, ThreadRef};
use jiff::Timestamp;
use runtail_api::{ApiError, ServerInbox};
use runtail_core::config::{NotifyPlace, NotifyWhen};
use runtail_core::model::{
    InboxCause, InboxItem, InboxRow, InboxThread, StuckSign, ThreadFacts, ThreadStatus,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::mem::{Discriminant, discriminant};

/// Maximum number of watched threads.
const MAX_WATCHED: usize = 100;

/// An event to notify about.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    pub when: NotifyWhen,
    pub row: InboxRow,
    /// The thread, if the event is about one.
    pub thread: Option<ThreadRef>,
}

impl News {
    /// Returns where it happened.
    pub fn place(&self) -> NotifyPlace<'_> {
        let graph = match &self.row.item {
            InboxItem::Thread(thread) => thread.graph.as_deref(),
            InboxItem::Revision(_) => None,
        };
        NotifyPlace {
            profile: &self.row.profile,
            graph,
            deployment: &self.row.deployment,
        }
    }

    /// Returns the event as JSON for a program: the row without its questions, which may be large.
    pub fn to_json(&self, at: Timestamp) -> Value {
        let mut event = self.row.to_json();
        if let Some(fields) = event.as_object_mut() {
            ["interrupts", "command"]
                .into_iter()
                .for_each(|field| drop(fields.remove(field)));
        }
        event["when"] = self.when.word().into();
        event["at"] = json!(at.to_string());
        event
    }
}

/// A thread or revision that was notified about, or that needed a person before the dashboard started.
#[derive(Debug, Clone)]
pub(super) struct KnownRows {
    pub when: NotifyWhen,
    /// The questions that it asks.
    questions: String,
    /// Its server; none for a revision.
    pub server: Option<ServerRef>,
    /// When it was noticed.
    at: Timestamp,
}

/// The last known status of an open page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PageState {
    mark: (Discriminant<ThreadStatus>, Option<Timestamp>, usize),
    need: Option<NotifyWhen>,
    questions: String,
    is_active: bool,
    is_idle: bool,
    is_stuck: bool,
}

impl PageState {
    fn mark(status: &ThreadStatus) -> (Discriminant<ThreadStatus>, Option<Timestamp>, usize) {
        (
            discriminant(status),
            status.time(),
            status.questions().len(),
        )
    }
}

/// The status of an open page.
pub struct PageStatus<'a> {
    /// The number of its stream.
    pub stream: u64,
    pub thread: ThreadRef,
    pub facts: ThreadFacts,
    pub status: &'a ThreadStatus,
    /// The evidence that its run is stuck.
    pub stuck: Option<StuckSign>,
    pub region: Option<String>,
}

/// Returns what a thread is notified about; `None` for threads that a person stopped or edited.
fn need_of(thread: &InboxThread) -> Option<NotifyWhen> {
    match thread.cause {
        Some(InboxCause::Question | InboxCause::Breakpoint) | None => Some(NotifyWhen::Waiting),
        Some(InboxCause::Error) => Some(NotifyWhen::Failed),
        Some(InboxCause::Stuck) => Some(NotifyWhen::Stuck),
        Some(InboxCause::Cancelled | InboxCause::Edited) => None,
    }
}

/// Returns the key of a stuck run that an open page shows.
fn stuck_key(thread: &str) -> String {
    format!("stuck {thread}")
}

/// Identifies the questions of a thread.
fn question_ids(thread: &InboxThread) -> String {
    let mut ids: Vec<&str> = thread
        .questions
        .iter()
        .filter_map(|question| question.id.as_deref())
        .collect();
    ids.sort_unstable();
    ids.join(" ")
}

impl Inbox {
    /// Applies the answer of a server to requests that began at a time, then the open pages, which are newer. Returns what is new.
    pub fn on_read(
        &mut self,
        server: &ServerRef,
        (began, at): (Timestamp, Timestamp),
        result: Result<ServerInbox, ApiError>,
        pages: &[PageStatus<'_>],
    ) -> Vec<News> {
        let is_complete = result
            .as_ref()
            .is_ok_and(|answer| answer.failures.is_empty());
        let is_unlisted = result.as_ref().is_ok_and(|answer| answer.is_unlisted);
        // What the first complete answer lists was there before.
        let is_first = self
            .reads
            .get(server)
            .is_none_or(|read| read.complete_at.is_none());
        self.store(server, at, result);
        for page in pages {
            if self.pages.contains_key(&page.stream) {
                self.apply_page(page);
            }
        }
        if is_unlisted {
            return Vec::new();
        }
        let listing = self.listing().clone();
        let is_its = |row: &&InboxListRow| matches!(&row.target, Target::Thread(thread) if thread.server == *server);
        let rows: Vec<&InboxListRow> = listing
            .rows
            .iter()
            .filter(is_its)
            .filter(|row| row.as_of.is_none())
            .collect();
        if is_complete {
            let listed: HashSet<&str> = rows.iter().map(|row| &*row.key).collect();
            let is_listed = |key: &String| listed.contains(key.as_str());
            // What an open page showed after the requests began is newer than the answer.
            self.known.retain(|key, known| {
                known.server.as_ref() != Some(server) || is_listed(key) || known.at >= began
            });
        }
        let mut news = Vec::new();
        for row in rows {
            let (InboxItem::Thread(thread), Target::Thread(target)) = (&row.row.item, &row.target)
            else {
                continue;
            };
            let Some(when) = need_of(thread) else {
                continue;
            };
            if when == NotifyWhen::Stuck && self.known.contains_key(&stuck_key(&row.key)) {
                continue;
            }
            if self.note(&row.key, when, question_ids(thread), Some(server), at) && !is_first {
                news.push(News {
                    when,
                    row: row.row.clone(),
                    thread: Some(target.clone()),
                });
            }
        }
        news
    }

    /// Watches a thread of the list, or stops that. Returns the notice.
    pub fn toggle_watch(&mut self, thread: &ThreadRef) -> String {
        let key = thread_key(thread);
        let listing = self.listing().clone();
        let Some(row) = listing.rows.iter().find(|row| row.key == key) else {
            return "The thread needs nothing now.".into();
        };
        let name = format!("{} › {}", table::place(&row.row), table::thread(&row.row));
        let said = if self.watched.remove(&key).is_some() {
            format!("Stopped watching {name}.")
        } else if self.watched.len() >= MAX_WATCHED {
            format!("Only {MAX_WATCHED} threads can be watched; stop one first.")
        } else {
            let said = format!("Watching {name}; notifies when it needs nothing.");
            self.watched.insert(
                key,
                Watched {
                    server: thread.server.clone(),
                    name,
                },
            );
            said
        };
        self.relist();
        said
    }

    /// Returns the names of watched threads that the newest complete answer of their server no longer lists, and stops watching
    /// them.
    pub fn take_settled(&mut self, server: &ServerRef) -> Vec<String> {
        if self.reads.get(server).is_none_or(|read| read.is_partial()) {
            return Vec::new();
        }
        let listing = self.listing().clone();
        let is_listed = |key: &str| listing.rows.iter().any(|row| row.key == key);
        let of_server = self
            .watched
            .iter()
            .filter(|(_, watched)| watched.server == *server);
        let settled: Vec<String> = of_server
            .map(|(key, _)| key.clone())
            .filter(|key| !is_listed(key))
            .collect();
        settled
            .into_iter()
            .filter_map(|key| Some(self.watched.remove(&key)?.name))
            .collect()
    }

    /// Notes that something needs a person. Returns whether that is new.
    fn note(
        &mut self,
        key: &str,
        when: NotifyWhen,
        questions: String,
        server: Option<&ServerRef>,
        at: Timestamp,
    ) -> bool {
        let is_known = self.known.get(key).is_some_and(|known| {
            // A server may list questions without ids.
            let asks_another = known.questions != questions
                && !known.questions.is_empty()
                && !questions.is_empty();
            known.when == when && !asks_another
        });
        let known = KnownRows {
            when,
            questions,
            server: server.cloned(),
            at,
        };
        if !is_known {
            self.known.insert(key.to_string(), known);
        }
        !is_known
    }

    /// Returns whether an open page may have another status than before. Cheap: a stream calls it for every batch of events.
    pub fn page_changed(&self, stream: u64, status: &ThreadStatus) -> bool {
        let mark = PageState::mark(status);
        self.pages.get(&stream).is_none_or(|page| page.mark != mark)
    }

    /// Returns whether the run of an open page was stuck when that was last checked.
    pub fn was_stuck(&self, stream: u64) -> bool {
        self.pages.get(&stream).is_some_and(|page| page.is_stuck)
    }

    /// Notes whether the run of an open page is stuck, which changes with time alone.
    pub fn set_stuck(&mut self, page: &PageStatus<'_>) {
        let Some(state) = self.pages.get_mut(&page.stream) else {
            return;
        };
        if state.is_stuck != page.stuck.is_some() {
            state.is_stuck = page.stuck.is_some();
            self.apply_page(page);
        }
    }

    /// Applies the status of an open page. Returns what is new.
    pub fn on_page(&mut self, page: PageStatus<'_>, at: Timestamp) -> Option<News> {
        if matches!(
            page.status,
            ThreadStatus::Loading | ThreadStatus::Unknown { .. }
        ) {
            return None;
        }
        let row = InboxThread::new(&page.thread.id, &page.facts, page.status);
        let state = PageState {
            mark: PageState::mark(page.status),
            need: row.as_ref().and_then(need_of),
            questions: row.as_ref().map(question_ids).unwrap_or_default(),
            is_active: page.status.is_active(),
            is_idle: matches!(page.status, ThreadStatus::Idle { .. }),
            is_stuck: page.stuck.is_some(),
        };
        let before = self.pages.insert(page.stream, state.clone());
        if before.as_ref() == Some(&state) {
            return None;
        }
        self.apply_page(&page);
        let key = thread_key(&page.thread);
        let make = |when, thread| News {
            when,
            row: InboxRow::thread(
                &page.thread.server.profile,
                page.region.as_deref(),
                &page.thread.server.name,
                thread,
                "",
            ),
            thread: Some(page.thread.clone()),
        };
        match (row, state.need) {
            (Some(row), Some(when)) => {
                let is_new = self.note(&key, when, state.questions, Some(&page.thread.server), at);
                // The first status of a page was there before.
                (is_new && before.is_some()).then(|| make(when, row))
            }
            _ => {
                self.known.remove(&key);
                if !state.is_active {
                    self.known.remove(&stuck_key(&key));
                }
                let has_finished = state.is_idle && before.is_some_and(|before| before.is_active);
                has_finished.then(|| {
                    let facts = &page.facts;
                    let thread = InboxThread {
                        thread_id: page.thread.id.clone(),
                        graph: facts.graph_id.clone(),
                        assistant_id: facts.assistant_id.clone(),
                        status: "idle".into(),
                        since: page.status.time(),
                        ..InboxThread::default()
                    };
                    make(NotifyWhen::Finished, thread)
                })
            }
        }
    }

    /// Notes the evidence that the run of an open page is stuck. Returns what is new.
    pub fn on_stuck_page(
        &mut self,
        page: &PageStatus<'_>,
        sign: &StuckSign,
        at: Timestamp,
    ) -> Option<News> {
        let key = thread_key(&page.thread);
        if self
            .known
            .get(&key)
            .is_some_and(|known| known.when == NotifyWhen::Stuck)
        {
            return None;
        }
        // Events say more than the list, which must not make it news again.
        let key = stuck_key(&key);
        let thread = InboxThread::stuck(&page.thread.id, &page.facts, sign);
        let server = &page.thread.server;
        self.note(&key, NotifyWhen::Stuck, String::new(), None, at)
            .then(|| News {
                when: NotifyWhen::Stuck,
                row: InboxRow::thread(
                    &server.profile,
                    page.region.as_deref(),
                    &server.name,
                    thread,
                    "",
                ),
                thread: Some(page.thread.clone()),
            })
    }

    /// Forgets the pages of closed streams.
    pub fn retain_pages(&mut self, is_open: impl Fn(u64) -> bool) {
        self.pages.retain(|stream, _| is_open(*stream));
    }

    /// Returns the event of a revision that failed while the dashboard runs.
    pub fn revision_failed(&self, key: &str, failed: &FailedDeployment) -> News {
        let row = failed_row(key, failed, failed.region.as_deref());
        News {
            when: NotifyWhen::Failed,
            row: row.row,
            thread: None,
        }
    }
}
