//! Finds threads: a search becomes one request, and each page says what the server did with it (acting reference §4).

use super::ThreadQuery;
use crate::pages::{NextPage, Page, PageRequest, Pages};
use crate::prelude::*;
use crate::quirks::ValuesSearch;
use crate::rows::{Row, UnreadRows};
use runtail_core::model::{
    SearchRow, ServerFilter, Thread, ThreadSearch, ThreadSort, contains, title_of,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::cmp::Ordering;

/// The alias of the title in an extraction, and where it is.
const TITLE: &str = "title";
const FIRST_MESSAGE: &str = "values.messages[0].content";

/// Threads of a page, those that it has in common with the page before it, and the maximum of all pages.
const PAGE: usize = 500;
const OVERLAP: usize = 10;
const MAX_SCANNED: usize = 20_000;

/// Whether a row has extracted values.
#[derive(Deserialize)]
struct Extracted {
    extracted: Option<IgnoredAny>,
}

/// A page of found threads.
#[derive(Debug, Clone, Default)]
pub struct ThreadPage {
    /// The threads in the server's order. Whether they match the part of the search that the server doesn't know is not checked.
    pub threads: Vec<FoundThread>,
    /// Number of threads to skip for the next page.
    pub next_offset: usize,
    /// Whether no page follows.
    pub is_last: bool,
    /// Positions of the search's terms that the server ignored, as its rows show.
    pub ignored: BTreeSet<usize>,
    /// Whether the server sorts as requested, as far as its rows show.
    pub is_sorted: bool,
    /// The rows that couldn't be read.
    pub unread: UnreadRows,
}

/// A listed thread.
#[derive(Debug, Clone, Default)]
pub struct FoundThread {
    /// Its row, without its values.
    pub thread: Thread,
    /// The beginning of its first message, if the server shows it.
    pub title: Option<String>,
    /// Whether its state has the values that the search names; `None` if the list doesn't show that.
    pub values_fit: Option<bool>,
}

impl FoundThread {
    /// Returns the thread as a search sees it.
    pub fn fits(&self, search: &ThreadSearch, now: jiff::Timestamp) -> bool {
        let title = self.title.as_deref().unwrap_or_default();
        search.fits(
            &SearchRow {
                thread: &self.thread,
                values_fit: self.values_fit,
                texts: &[title],
            },
            now,
        )
    }
}

/// The threads that match a whole search.
#[derive(Debug, Clone, Default)]
pub struct FoundThreads {
    pub threads: Vec<FoundThread>,
    /// Number of threads that were read.
    pub scanned: usize,
    /// Whether all threads that can match were read.
    pub is_complete: bool,
    /// Number of threads whose values are unknown, although the search names values.
    pub unchecked: usize,
    /// The rows that couldn't be read.
    pub unread: UnreadRows,
}

impl FoundThreads {
    /// Adds the threads of a page that match, at most `limit` of all. Returns whether the search is over.
    fn add(
        &mut self,
        page: ThreadPage,
        (search, sort): (&ThreadSearch, ThreadSort),
        limit: usize,
        now: jiff::Timestamp,
    ) -> bool {
        let has_values = search.values().next().is_some();
        let is_sorted = page.is_sorted && sort == ThreadSort::Updated;
        self.unread.extend(&page.unread);
        for one in page.threads {
            self.scanned += 1;
            self.unchecked += usize::from(has_values && one.values_fit.is_none());
            self.is_complete |= is_sorted && search.ends_at(&one.thread, now);
            if one.fits(search, now) {
                if self.threads.len() >= limit {
                    self.is_complete = false;
                    return true;
                }
                self.threads.push(one);
            }
        }
        self.is_complete
    }
}

impl From<Thread> for FoundThread {
    fn from(thread: Thread) -> FoundThread {
        FoundThread {
            thread,
            title: None,
            values_fit: None,
        }
    }
}

impl AgentServer {
    /// Returns a page of threads. The server filters by what it can; `sort` is used if it can sort.
    ///
    /// # Errors
    /// See [`ApiError`]. A search that the server refuses is [`Kind::Invalid`] with the server's own words.
    #[boxed]
    pub async fn find_threads(
        &self,
        search: &ThreadSearch,
        sort: ThreadSort,
        (offset, limit): (usize, usize),
    ) -> Result<ThreadPage, ApiError> {
        if let Some(id) = search.whole_id() {
            return self.find_one(search, id).await;
        }
        let left_out = self.left_out(search).await?;
        let Page {
            answer,
            rows,
            limit,
            next,
        } = self
            .found_rows(search, &left_out, sort, (offset, limit))
            .await?;
        let read = page_of((search, sort), &rows, self.how_to_search_values(search));
        let mut page = read.map_err(|why| answer.odd(&why))?;
        page.next_offset = offset + rows.len();
        page.is_last = !next.follows(rows.len(), limit);
        page.ignored.extend(left_out);
        Ok(page)
    }

    /// Requests rows of threads, as many as the server sends at once.
    async fn found_rows(
        &self,
        search: &ThreadSearch,
        left_out: &BTreeSet<usize>,
        sort: ThreadSort,
        (offset, mut limit): (usize, usize),
    ) -> Result<Page, ApiError> {
        let filter = search.without(left_out).server_filter();
        loop {
            let how = self.how_to_search_values(search);
            let wanted = limit.min(self.quirks.known().largest_page());
            let query = ThreadQuery {
                limit: wanted,
                offset,
                status: filter.status.clone(),
                metadata: filter.metadata.clone(),
                values: filter
                    .values
                    .clone()
                    .filter(|_| self.quirks.known().values_search != ValuesSearch::Extract),
                sort,
                extract: extract(search),
                with_values: how == ValuesSearch::Rows,
                ..ThreadQuery::default()
            };
            let answer = match self.search_threads(&query).await {
                Err(error)
                    if matches!(error.kind, Kind::Invalid(_))
                        && self.quirks.page_refused(wanted) =>
                {
                    continue;
                }
                // Rows with whole states may be large.
                Err(error)
                    if matches!(error.kind, Kind::TooLarge(_))
                        && query.with_values
                        && wanted > 1 =>
                {
                    limit = wanted.div_ceil(4);
                    continue;
                }
                // The Python server fails at the first thread without a state.
                Err(error) if matches!(error.kind, Kind::Server(_)) && query.values.is_some() => {
                    self.quirks
                        .learn(|known| known.values_search = ValuesSearch::Extract);
                    continue;
                }
                answer => answer?,
            };
            let rows: Vec<Row> = answer.json()?;
            let is_extracted = |row: &Row| {
                json::from_str::<Extracted>(row.get()).is_ok_and(|row| row.extracted.is_some())
            };
            let lacks_extract = || !rows.is_empty() && !rows.iter().any(is_extracted);
            if search.values().next().is_some() && how != ValuesSearch::Rows && lacks_extract() {
                self.quirks
                    .learn(|known| known.values_search = ValuesSearch::Rows);
                continue;
            }
            let next = NextPage::of(&answer, rows.len(), wanted);
            return Ok(Page {
                answer,
                rows,
                limit: wanted,
                next,
            });
        }
    }

    /// Returns the threads that match a whole search, at most `limit`. Reads page by page, at most [`MAX_SCANNED`] threads.
    ///
    /// # Errors
    /// See [`AgentServer::find_threads`].
    #[boxed]
    pub async fn find_all_threads(
        &self,
        search: &ThreadSearch,
        limit: usize,
        now: jiff::Timestamp,
    ) -> Result<FoundThreads, ApiError> {
        let sort = search.sort.unwrap_or_default();
        let mut found = FoundThreads::default();
        if let Some(id) = search.whole_id() {
            let page = self.find_one(search, id).await?;
            found.is_complete = !found.add(page, (search, sort), limit, now);
            return Ok(found);
        }
        let left_out = self.left_out(search).await?;
        let mut pages = Pages::new(
            "threads",
            (MAX_SCANNED, 0),
            PAGE,
            |PageRequest { limit, offset, .. }| {
                Box::pin(self.found_rows(search, &left_out, sort, (offset, limit)))
            },
        )
        .overlapping(OVERLAP)
        .dropping();
        while let Some(rows) = pages.next_new().await? {
            let read = page_of((search, sort), &rows, self.how_to_search_values(search));
            if found.add(
                read.map_err(|why| pages.odd(&why))?,
                (search, sort),
                limit,
                now,
            ) {
                return Ok(found);
            }
        }
        found.is_complete = pages.is_whole();
        Ok(found)
    }

    /// Returns the terms of a search that the server can't filter by. Early Aegra compares the text of top-level metadata, so it never
    /// finds a nested object, a list or `true`, and nothing in its answer shows that.
    async fn left_out(&self, search: &ThreadSearch) -> Result<BTreeSet<usize>, ApiError> {
        let nested = search.nested_metadata();
        if nested.is_empty() {
            return Ok(nested);
        }
        let filters = match self.quirks.known().filters_nested_metadata {
            Some(known) => known,
            None => self.info().await?.kind != ServerKind::EarlyAegra,
        };
        self.quirks
            .learn(|known| known.filters_nested_metadata = Some(filters));
        Ok(if filters { BTreeSet::new() } else { nested })
    }

    /// Reads the thread that a search names by its whole id.
    async fn find_one(&self, search: &ThreadSearch, id: &str) -> Result<ThreadPage, ApiError> {
        let mut page = ThreadPage {
            is_last: true,
            is_sorted: true,
            ..ThreadPage::default()
        };
        match self.thread(id).await {
            Ok(thread) => {
                let is_known = thread.values.is_some();
                let fits = values_fit(search, thread.values.as_ref());
                let title = thread
                    .values
                    .as_ref()
                    .and_then(|values| title_of(&values["messages"][0]["content"]));
                let values_fit = is_known.then_some(fits);
                let found = FoundThread {
                    thread: thread.in_a_list(),
                    title,
                    values_fit,
                };
                page.ignored.extend(search.ignored(&SearchRow {
                    thread: &found.thread,
                    values_fit,
                    texts: &[],
                }));
                page.threads.push(found);
                Ok(page)
            }
            Err(error) if error.kind == Kind::NotFound => Ok(page),
            Err(error) => Err(error),
        }
    }

    /// Counts the threads that the server's part of a search matches. `None` if the server can't.
    ///
    /// # Errors
    /// See [`ApiError`].
    #[boxed]
    pub async fn count_found(&self, search: &ThreadSearch) -> Result<Option<u64>, ApiError> {
        let filter = search.server_filter();
        // Counts by values fail on Python, and are wrong on JavaScript.
        if search.whole_id().is_some() || filter.values.is_some() {
            return Ok(None);
        }
        match self.count_threads(&filter).await {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.may_lack_call() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Counts threads, if the server offers it.
    ///
    /// # Errors
    /// See [`ApiError`].
    #[boxed]
    pub async fn count_threads(&self, filter: &ServerFilter) -> Result<u64, ApiError> {
        let mut body = json!({});
        put_filter(
            &mut body,
            filter.status.as_deref(),
            filter.metadata.as_ref(),
            filter.values.as_ref(),
        );
        self.search(&["threads", "count"], &body).await?.json()
    }

    /// Returns how the `values.` terms of a search are checked on this server.
    fn how_to_search_values(&self, search: &ThreadSearch) -> ValuesSearch {
        let known = self.quirks.known().values_search;
        let has_odd_path = search.values().any(|(path, _)| path_text(path).is_none());
        match known {
            _ if search.values().next().is_none() => ValuesSearch::Filter,
            ValuesSearch::Extract if has_odd_path => ValuesSearch::Rows,
            known => known,
        }
    }

    /// Deletes threads at once, if the server offers it. Returns how many were deleted. Sent once.
    pub(crate) async fn prune_threads(&self, ids: &[&str]) -> Result<u64, ApiError> {
        let body = json!({"thread_ids": ids, "strategy": "delete"});
        let answer: Value = self.post(&["threads", "prune"], &body).await?.json()?;
        Ok(answer["pruned_count"].as_u64().unwrap_or_default())
    }
}

/// Adds the filters of a search to a request.
pub fn put_filter(
    body: &mut Value,
    status: Option<&str>,
    metadata: Option<&Value>,
    values: Option<&Value>,
) {
    for (field, value) in [
        ("status", status.map(Value::from).as_ref()),
        ("metadata", metadata),
        ("values", values),
    ] {
        if let Some(value) = value {
            body[field] = value.clone();
        }
    }
}

/// Returns what a list extracts from the states: the title, and the values that the search names.
fn extract(search: &ThreadSearch) -> Map<String, Value> {
    let mut paths = Map::new();
    paths.insert(TITLE.into(), FIRST_MESSAGE.into());
    for (at, (path, _)) in search.values().enumerate() {
        if let Some(path) = path_text(path) {
            paths.insert(format!("v{at}"), path.into());
        }
    }
    paths
}

/// Returns a path in the notation of an extraction; `None` if its keys can't be written in it.
fn path_text(path: &[String]) -> Option<String> {
    let is_plain = |key: &String| !key.is_empty() && !key.contains(['.', '[', ']']);
    path.iter()
        .all(is_plain)
        .then(|| format!("values.{}", path.join(".")))
}

/// Returns whether a state has the values that a search names.
fn values_fit(search: &ThreadSearch, values: Option<&Value>) -> bool {
    let at = |path: &[String]| path.iter().try_fold(values?, |value, key| value.get(key));
    search
        .values()
        .all(|(path, wanted)| at(path).is_some_and(|value| contains(value, wanted)))
}

/// Returns whether a server sorts. Early Aegra ignores both the order and the selection of fields, and its rows may be sorted by
/// chance.
fn is_sorted(rows: &[Thread], sort: ThreadSort) -> bool {
    let is_selected = |row: &Thread| {
        row.extra
            .keys()
            .all(|key| key == "state_updated_at" || key == "extracted")
    };
    rows.iter().all(is_selected)
        && rows.is_sorted_by(|a, b| sort.compare_keys(a, b) != Ordering::Greater)
}

/// Reads the rows of a page; an error if none can be read.
fn page_of(
    (search, sort): (&ThreadSearch, ThreadSort),
    all: &[Row],
    how: ValuesSearch,
) -> Result<ThreadPage, String> {
    let mut unread = UnreadRows::of("threads");
    let rows: Vec<Thread> = all.iter().filter_map(|row| unread.parse(row)).collect();
    if rows.is_empty() && !all.is_empty() {
        return Err(unread.why);
    }
    // A row with `config` is a whole record: without values, its thread has no state. Aegra's rows have neither.
    let shows_values = rows
        .iter()
        .any(|row| row.values.is_some() || row.extra.contains_key("config"));
    let mut page = ThreadPage {
        unread,
        ..ThreadPage::default()
    };
    page.is_sorted = how != ValuesSearch::Rows && is_sorted(&rows, sort);
    for mut thread in rows {
        let extracted = thread.extra.remove("extracted");
        let content = extracted.as_ref().map(|found| &found[TITLE]);
        let content = content.or(thread
            .values
            .as_ref()
            .map(|values| &values["messages"][0]["content"]));
        let title = content.and_then(title_of);
        let values_fit = match (&extracted, how) {
            (Some(found), ValuesSearch::Filter | ValuesSearch::Extract) => {
                let mut values = search.values().enumerate();
                Some(
                    values.all(|(at, (_, wanted))| match found.get(format!("v{at}")) {
                        Some(value) => contains(value, wanted),
                        // The path can't be extracted, so the server's filter is trusted.
                        None => true,
                    }),
                )
            }
            _ if shows_values && how == ValuesSearch::Rows => {
                Some(values_fit(search, thread.values.as_ref()))
            }
            _ => None,
        };
        let found = FoundThread {
            thread: Thread {
                values: None,
                ..thread
            },
            title,
            values_fit,
        };
        let title = found.title.as_deref().unwrap_or_default();
        let row = SearchRow {
            thread: &found.thread,
            values_fit: found.values_fit,
            texts: &[title],
        };
        page.ignored.extend(search.ignored(&row));
        page.threads.push(found);
    }
    Ok(page)
}
