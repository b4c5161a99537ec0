//! The list of an agent server's threads: pages are merged as they arrive, and a search is applied to what is loaded.

use super::view;
use crate::session::msg::{ThreadsRead, ThreadsWanted};
use crate::widgets::table::Table;
use jiff::Timestamp;
use runtail_api::{ApiError, FoundThread};
use runtail_core::model::{
    Condition, SearchError, SearchRow, StatusRole, Term, Thread, ThreadFacts, ThreadRecords,
    ThreadSearch, ThreadSort, ThreadStatus,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Rows requested initially.
pub const PAGE: usize = 50;
/// Rows added each time the end of the loaded rows is near.
pub const NEXT_ROWS: usize = 500;
/// Maximum number of threads in memory.
pub const MAX_THREADS: usize = 20_000;

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListOrder {
    /// Failed, waiting and moving threads first, among those that are loaded; within them, last changed first.
    #[default]
    Problems,
    /// An order of the server.
    Server(ThreadSort),
}

impl ListOrder {
    const ALL: [ListOrder; 4] = [
        ListOrder::Problems,
        ListOrder::Server(ThreadSort::Updated),
        ListOrder::Server(ThreadSort::Created),
        ListOrder::Server(ThreadSort::Status),
    ];

    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            ListOrder::Problems => "problems",
            ListOrder::Server(sort) => sort.word(),
        }
    }

    /// Returns the order with this word.
    pub fn of_word(word: &str) -> Option<ListOrder> {
        ListOrder::ALL
            .into_iter()
            .find(|order| order.word() == word)
    }

    /// Returns the order after this one.
    fn next(self) -> ListOrder {
        let at = ListOrder::ALL
            .iter()
            .position(|order| *order == self)
            .unwrap_or(0);
        ListOrder::ALL[(at + 1) % ListOrder::ALL.len()]
    }
}

/// Returns the place of a status among problems.
fn rank(status: &ThreadStatus, is_stuck: bool) -> u8 {
    match status.role() {
        StatusRole::Failed => 0,
        StatusRole::Waiting => 1,
        _ if is_stuck => 2,
        StatusRole::Moving | StatusRole::Queued => 3,
        // Such a thread stays busy until someone looks at it.
        _ if matches!(status, ThreadStatus::BusyWithoutRun { .. }) => 3,
        _ => 4,
    }
}

/// A listed thread.
#[derive(Debug, Clone)]
pub struct ListedThread {
    pub found: FoundThread,
    /// Its facts. The same ones as long as its record stays the same.
    pub facts: Arc<ThreadFacts>,
}

impl ListedThread {
    fn new(mut found: FoundThread, known: Option<&ListedThread>) -> ListedThread {
        let facts = ThreadFacts::of(&found.thread);
        found.thread = found.thread.in_a_list();
        // The facts have the questions; as JSON they may be large.
        found.thread.interrupts = None;
        let facts = match known.filter(|known| *known.facts == facts) {
            Some(known) => known.facts.clone(),
            None => Arc::new(facts),
        };
        ListedThread { found, facts }
    }
}

/// The threads of a server that match a search, as far as loaded.
#[derive(Debug, Clone, Default)]
pub struct ThreadList {
    /// The loaded threads, in the order of the server.
    rows: Vec<ListedThread>,
    /// The positions of the rows, by id.
    positions: HashMap<String, usize>,
    /// The rows that match the search, in the shown order. Its filter is the search as typed.
    pub table: Table,
    /// Whether the shown rows have to be computed again.
    is_changed: bool,
    /// The loaded statuses, each with the facts from the list at that time.
    statuses: HashMap<Arc<str>, (Arc<ThreadFacts>, ThreadStatus)>,
    /// The stuck threads by the inbox, each with its evidence.
    stuck: BTreeMap<String, String>,
    /// When the server last answered.
    pub at: Option<Timestamp>,
    /// Why the newest request failed.
    pub error: Option<ApiError>,
    /// Why the typed search can't be parsed. The last valid one stays.
    pub problem: Option<SearchError>,
    search: Arc<ThreadSearch>,
    /// The order where the search sets none.
    order: ListOrder,
    /// Whether the server has answered this search.
    pub is_answered: bool,
    /// Whether every thread that the server finds is loaded.
    pub is_complete: bool,
    /// How many threads the server finds, if it counts them.
    pub count: Option<u64>,
    /// Positions of the terms that the server ignores.
    ignored: BTreeSet<usize>,
    /// Says which rows couldn't be read, if any.
    pub unread: Option<String>,
    /// Number of rows to load, and of rows that the server has sent.
    wanted: usize,
    read: usize,
    /// Whether the server sorts as requested, as far as its last page shows.
    is_sorted: bool,
    /// The first row on the screen.
    top: usize,
}

impl ThreadList {
    /// Returns the current search.
    pub fn search(&self) -> &ThreadSearch {
        &self.search
    }

    /// Creates an empty list with this order.
    pub fn new(order: ListOrder) -> ThreadList {
        ThreadList {
            order,
            ..ThreadList::default()
        }
    }

    /// Returns the current order.
    pub fn order(&self) -> ListOrder {
        self.search.sort.map_or(self.order, ListOrder::Server)
    }

    /// Returns the order in which the server lists threads.
    pub fn sort(&self) -> ThreadSort {
        match self.order() {
            ListOrder::Problems => ThreadSort::Updated,
            ListOrder::Server(sort) => sort,
        }
    }

    /// Sets the order where the search sets none.
    pub fn set_order(&mut self, order: ListOrder) {
        let before = self.sort();
        self.order = order;
        self.is_changed = true;
        self.table.reorder();
        let sort = self.sort();
        if sort != before {
            self.rows
                .sort_by(|a, b| sort.compare(&a.found.thread, &b.found.thread));
            self.index();
            self.ask_again();
        }
    }

    /// Notes a key: while the user is pressing keys, the rows keep their places. A key before there are rows is not about them.
    pub fn touch(&mut self, now: Timestamp) {
        if self.is_answered {
            self.table.touch(now);
        }
    }

    /// Returns what to read from the server.
    pub fn wanted(&self) -> Arc<ThreadsWanted> {
        let rows = self.wanted.max(PAGE);
        Arc::new(ThreadsWanted {
            search: self.search.clone(),
            sort: self.sort(),
            rows,
            top: self.top,
        })
    }

    /// Applies a typed search. One that can't be parsed changes nothing.
    pub fn set_text(&mut self, text: &str) {
        self.table.filter = text.to_string();
        match ThreadSearch::parse(text) {
            Ok(search) => {
                self.problem = None;
                let is_same =
                    search.terms() == self.search.terms() && search.sort == self.search.sort;
                // The server is only asked again if its part is another one.
                let is_same_request = search.server_filter() == self.search.server_filter()
                    && search.sort == self.search.sort;
                let whole_id = search.whole_id() == self.search.whole_id();
                self.search = Arc::new(search);
                self.is_changed |= !is_same;
                if !is_same {
                    self.table.reorder();
                }
                if !is_same_request || !whole_id {
                    self.ask_again();
                }
            }
            Err(problem) => self.problem = Some(problem),
        }
    }

    /// Uses the next order. Returns it.
    pub fn sort_by_next(&mut self) -> ListOrder {
        self.set_order(self.order.next());
        self.order
    }

    fn ask_again(&mut self) {
        (self.is_answered, self.is_complete, self.count) = (false, false, None);
        (self.wanted, self.read) = (0, 0);
        self.ignored.clear();
        self.error = None;
    }

    /// Applies a page of threads.
    pub fn take(&mut self, read: ThreadsRead, at: Timestamp) {
        let is_current = read.filter == self.search.server_filter()
            && read.sort == self.sort()
            && read.whole_id.as_deref() == self.search.whole_id();
        if !is_current {
            return;
        }
        let page = match read.result {
            Ok(page) => page,
            Err(error) => {
                self.error = Some(error);
                return;
            }
        };
        self.error = None;
        self.at = Some(at);
        if read.count.is_some() {
            self.count = read.count;
        }
        let is_first = read.offset == 0;
        let replaces_all = is_first && (page.is_last || !self.is_answered);
        if replaces_all {
            self.ignored.clear();
            self.unread = None;
            if !self.is_answered {
                self.table.reorder();
            }
        }
        self.ignored.extend(page.ignored.iter().copied());
        self.unread = page.unread.sentence().or(self.unread.take());
        self.is_complete = if replaces_all {
            page.is_last
        } else {
            self.is_complete || page.is_last
        };
        self.is_answered = true;
        self.read = if replaces_all {
            page.next_offset
        } else {
            self.read.max(page.next_offset)
        };
        self.is_sorted = page.is_sorted;
        self.merge(page.threads, replaces_all, is_first);
    }

    /// Merges a page into the rows. Known rows that sort between those of the page, but are not on it, no longer match.
    fn merge(&mut self, page: Vec<FoundThread>, replaces_all: bool, is_first: bool) {
        let is_sorted = self.is_sorted;
        let sort = self.sort();
        let ids: BTreeSet<&str> = page
            .iter()
            .map(|found| found.thread.thread_id.as_str())
            .collect();
        let is_between = |row: &ListedThread| {
            let (Some(first), Some(last)) = (page.first(), page.last()) else {
                return false;
            };
            let thread = &row.found.thread;
            let is_after =
                is_first || sort.compare_keys(thread, &first.thread) == Ordering::Greater;
            is_sorted && is_after && sort.compare_keys(thread, &last.thread) == Ordering::Less
        };
        let is_kept = |row: &ListedThread| {
            !ids.contains(row.found.thread.thread_id.as_str()) && !replaces_all && !is_between(row)
        };
        let (rows, replaced): (Vec<ListedThread>, Vec<ListedThread>) =
            std::mem::take(&mut self.rows)
                .into_iter()
                .partition(is_kept);
        let replaced: HashMap<&str, &ListedThread> = replaced
            .iter()
            .map(|row| (row.found.thread.thread_id.as_str(), row))
            .collect();
        let new: Vec<ListedThread> = page
            .iter()
            .map(|found| {
                let known = replaced.get(found.thread.thread_id.as_str()).copied();
                let mut found = found.clone();
                // A page of another form of the search may lack the title.
                found.title = found.title.or_else(|| known?.found.title.clone());
                ListedThread::new(found, known)
            })
            .collect();
        self.rows = rows;
        self.rows.extend(new);
        self.rows
            .sort_by(|a, b| sort.compare(&a.found.thread, &b.found.thread));
        self.rows.truncate(MAX_THREADS);
        self.index();
        let positions = &self.positions;
        self.statuses
            .retain(|thread, _| positions.contains_key(&**thread));
    }

    fn index(&mut self) {
        self.positions = self
            .rows
            .iter()
            .enumerate()
            .map(|(at, row)| (row.found.thread.thread_id.clone(), at))
            .collect();
        // A server that ignores an id twice on a page must not list it twice.
        if self.positions.len() < self.rows.len() {
            let mut seen = BTreeSet::new();
            self.rows
                .retain(|row| seen.insert(row.found.thread.thread_id.clone()));
            return self.index();
        }
        self.is_changed = true;
    }

    /// Computes the shown rows again, if anything changed. With problems first, rows keep their places while the user is
    /// pressing keys, and new ones are added at the end; the order follows once no key was pressed for a while.
    pub fn refresh(&mut self, now: Timestamp) {
        let is_due = self.table.is_order_due(now);
        if !(std::mem::take(&mut self.is_changed)
            || is_due
            || self.search.terms().iter().any(is_about_age))
        {
            return;
        }
        let fits = |row: &&ListedThread| self.fits(row, now);
        let ids = self
            .rows
            .iter()
            .filter(fits)
            .map(|row| row.found.thread.thread_id.clone());
        let mut shown: Vec<String> = ids.collect();
        self.table.keep_order(now);
        if self.order() == ListOrder::Problems {
            let before = self.table.places();
            shown.sort_by_cached_key(|id| {
                let place = before.get(id.as_str()).copied();
                (place.unwrap_or(usize::MAX), self.rank_of(id))
            });
        }
        self.table.set_ids(shown);
    }

    fn fits(&self, row: &ListedThread, now: Timestamp) -> bool {
        if self.search.is_empty() {
            return true;
        }
        let (thread, values_fit) = (&row.found.thread, row.found.values_fit);
        if !self
            .search
            .terms()
            .iter()
            .any(|term| matches!(term.condition, Condition::Word(_)))
        {
            return self.search.fits(
                &SearchRow {
                    thread,
                    values_fit,
                    texts: &[],
                },
                now,
            );
        }
        let status = self.status_of(&thread.thread_id);
        let stuck = self.stuck(&thread.thread_id, &status);
        let (_, about) = view::about(&row.found, &status, stuck);
        let title = row.found.title.as_deref().unwrap_or_default();
        let word = if stuck.is_some() {
            view::STUCK_WORD
        } else {
            view::list_word(&status)
        };
        let texts = [word, about.as_str(), title];
        self.search.fits(
            &SearchRow {
                thread,
                values_fit,
                texts: &texts,
            },
            now,
        )
    }

    /// Requests more rows if the selected one is near the end of the loaded rows, or if a part of the search is checked here.
    pub fn want(&mut self) {
        let window = self.table.visible();
        self.top = match self.order() {
            ListOrder::Server(_) => window.start,
            // The rows on the screen may be from several pages. The first page is read anyway.
            ListOrder::Problems => {
                let visible = self.table.ids().get(window).unwrap_or_default();
                visible
                    .iter()
                    .filter_map(|id| self.position(id))
                    .filter(|at| *at >= PAGE)
                    .min()
                    .unwrap_or(0)
            }
        };
        let (shown, height) = (self.table.ids().len(), self.table.height());
        // A term that is checked here may match on any page, and an action on all matches must not miss the rest.
        let is_needed = self.table.cursor() + 2 * height >= shown || self.is_checked_here();
        if is_needed && !self.is_ended() && self.is_answered && self.read >= self.wanted {
            self.wanted = self.read + NEXT_ROWS;
        }
    }

    /// Returns whether no further row can match: everything is loaded, or the rest changed too long ago.
    pub fn is_ended(&self) -> bool {
        let is_too_old = |now| {
            self.rows
                .last()
                .is_some_and(|last| self.search.ends_at(&last.found.thread, now))
        };
        let is_sorted = self.is_sorted && self.sort() == ThreadSort::Updated;
        self.is_complete
            || self.read >= MAX_THREADS
            || (is_sorted && self.at.is_some_and(is_too_old))
    }

    /// Returns whether rows are being loaded.
    pub fn is_loading(&self) -> bool {
        self.error.is_none() && (!self.is_answered || (!self.is_ended() && self.read < self.wanted))
    }

    /// Returns the number of loaded rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the number of loaded rows whose values are unknown, although the search names values.
    pub fn unchecked(&self) -> usize {
        if self.search.values().next().is_none() {
            return 0;
        }
        self.rows
            .iter()
            .filter(|row| row.found.values_fit.is_none())
            .count()
    }

    /// Returns whether the server applied a term.
    fn is_applied(&self, at: usize, term: &Term) -> bool {
        term.condition.is_for_server() && !self.ignored.contains(&at)
    }

    /// Returns whether a part of the search is checked here.
    fn is_checked_here(&self) -> bool {
        self.search
            .terms()
            .iter()
            .enumerate()
            .any(|(at, term)| !self.is_applied(at, term))
    }

    /// Returns the texts of the search's terms: those that the server applied, and those that are applied here.
    pub fn sides(&self) -> (Vec<&str>, Vec<&str>) {
        let side = |applied: bool| {
            let terms = self.search.terms().iter().enumerate();
            terms
                .filter(|(at, term)| self.is_applied(*at, term) == applied)
                .map(|(_, term)| term.text.as_str())
                .collect()
        };
        (side(true), side(false))
    }

    /// Returns a row.
    pub fn row(&self, id: &str) -> Option<&ListedThread> {
        self.rows.get(*self.positions.get(id)?)
    }

    /// Returns the position of a loaded thread in the order of the server.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).copied()
    }

    /// Returns a loaded thread.
    pub fn get(&self, id: &str) -> Option<&Thread> {
        self.row(id).map(|row| &row.found.thread)
    }

    /// Returns the loaded threads.
    pub fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.rows.iter().map(|row| &row.found.thread)
    }

    /// Removes a thread that was deleted.
    pub fn remove(&mut self, id: &str) {
        if let Some(at) = self.positions.get(id).copied() {
            self.rows.remove(at);
            self.count = self.count.map(|count| count.saturating_sub(1));
            self.index();
        }
    }

    /// Applies the status of a listed thread.
    pub fn set_status(&mut self, thread: Arc<str>, facts: Arc<ThreadFacts>, status: ThreadStatus) {
        let id = thread.clone();
        let rank_before = self.rank_of(&id);
        self.statuses.insert(thread, (facts, status));
        // A word of the search may match the status.
        if let (Some(row), Some(at)) = (self.row(&id), self.at) {
            let was_shown = self.table.ids().iter().any(|shown| **shown == *id);
            self.is_changed |= self.fits(row, at) != was_shown || self.rank_of(&id) != rank_before;
        }
    }

    fn rank_of(&self, thread: &str) -> u8 {
        let status = self.status_of(thread);
        rank(&status, self.stuck(thread, &status).is_some())
    }

    /// Sets the stuck threads by the inbox, each with its evidence.
    pub fn set_stuck(&mut self, stuck: BTreeMap<String, String>) {
        // The evidence, too, is searched.
        self.is_changed |= stuck != self.stuck;
        self.stuck = stuck;
    }

    /// Returns why a thread of this status is stuck, if it is. A status that the inbox doesn't know yet ends it.
    pub fn stuck(&self, thread: &str, status: &ThreadStatus) -> Option<&str> {
        let may_be = status.is_active() || matches!(status, ThreadStatus::BusyWithoutRun { .. });
        self.stuck
            .get(thread)
            .filter(|_| may_be)
            .map(String::as_str)
    }

    /// Returns the status of a thread: the loaded one if it is current, otherwise the one derived from the list.
    pub fn status_of(&self, thread: &str) -> ThreadStatus {
        let Some(row) = self.row(thread) else {
            return ThreadStatus::Loading;
        };
        match self.statuses.get(thread) {
            Some((of, status)) if *of == row.facts => status.clone(),
            _ => ThreadStatus::derive(ThreadRecords {
                thread: Some(&row.facts),
                ..ThreadRecords::default()
            }),
        }
    }
}

fn is_about_age(term: &Term) -> bool {
    matches!(term.condition, Condition::Age(..))
}
