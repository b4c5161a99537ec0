//! Lists that are read page by page, by limit and offset or by cursor. Every list of both services is read by this reader.

use crate::prelude::*;
use crate::rows::{Received, Row, UnreadRows, id_of};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, StreamExt};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::convert::identity;

/// Page size that every known server accepts, and the maximum of the control plane.
pub const PAGE: usize = 100;
/// Maximum number of pages, that is 100,000 rows.
const MAX_PAGES: usize = 1000;

/// A list of a control plane.
#[derive(Debug, Clone)]
pub struct List {
    /// Segments of its path.
    pub parts: Vec<String>,
    /// Its filters.
    pub query: Vec<(&'static str, String)>,
    /// Whether it is the deployments list, which reveals a wrong address.
    pub is_main: bool,
    /// The name of its rows.
    pub what: &'static str,
}

/// The position of a page.
#[derive(Debug)]
pub struct PageRequest {
    pub limit: usize,
    pub offset: usize,
    /// The cursor that the page before it named.
    pub cursor: Option<String>,
}

/// A received page.
pub struct Page {
    pub answer: Answer,
    pub rows: Vec<Row>,
    /// Number of rows that were requested; the server may accept fewer than the list wants.
    pub limit: usize,
    pub next: NextPage,
}

/// How a page shows whether another one follows.
pub enum NextPage {
    /// It has as many rows as were requested (the rule of the official clients; there is no total). A server that sends
    /// more rows than requested does not paginate, and has sent everything.
    IfFull,
    /// It has rows.
    IfAny,
    /// It names the cursor of the next page.
    Cursor(Option<String>),
}

impl NextPage {
    /// Returns the rule for the page of an agent server with this many rows.
    pub fn of(answer: &Answer, rows: usize, limit: usize) -> NextPage {
        if answer.has_next_page() || rows > limit {
            NextPage::IfAny
        } else {
            NextPage::IfFull
        }
    }

    /// Returns whether another page follows.
    pub fn follows(&self, rows: usize, limit: usize) -> bool {
        match self {
            NextPage::IfFull => rows == limit,
            NextPage::IfAny => rows > 0,
            NextPage::Cursor(cursor) => cursor.is_some(),
        }
    }
}

type Request<'a> =
    Box<dyn Fn(PageRequest) -> BoxFuture<'a, Result<Page, ApiError>> + Send + Sync + 'a>;

/// The pages of a list, in order. Must be read to the end or dropped: the next requests depend on earlier pages.
///
/// Rows that a page repeats are dropped, because rows shift between pages when others are created or deleted. A page
/// with nothing new ends the list: the server ignores the offset.
pub struct Pages<'a> {
    request: Request<'a>,
    pub(super) what: Cow<'static, str>,
    /// Number of rows after which no other page is requested.
    wanted: usize,
    page_size: usize,
    /// Maximum number of pages requested concurrently. A long list costs a round trip per page otherwise.
    ahead: usize,
    /// Rows to skip for the next page, and rows before the first one.
    offset: usize,
    first: usize,
    /// Rows that a page has in common with the one before it.
    overlap: usize,
    /// Requested pages that were not read yet.
    coming: FuturesOrdered<BoxFuture<'a, Result<Page, ApiError>>>,
    asked: usize,
    pages: usize,
    /// Number of received rows, repeated ones included, without those that the next page requests again.
    read: usize,
    received: Received,
    cursor: Option<String>,
    cursors: HashSet<String>,
    /// The error that ends the list after the rows before it.
    failure: Option<ApiError>,
    is_repeating: bool,
    is_whole: bool,
    ended: bool,
    /// The last answer, without its body.
    last: Option<Answer>,
}

impl<'a> Pages<'a> {
    /// Creates a reader of up to `limit` rows after `offset`; `request` requests a page.
    pub(super) fn new(
        what: impl Into<Cow<'static, str>>,
        (limit, offset): (usize, usize),
        page_size: usize,
        request: impl Fn(PageRequest) -> BoxFuture<'a, Result<Page, ApiError>> + Send + Sync + 'a,
    ) -> Pages<'a> {
        Pages {
            request: Box::new(request),
            what: what.into(),
            wanted: limit,
            page_size,
            ahead: 1,
            offset,
            first: offset,
            overlap: 0,
            coming: FuturesOrdered::new(),
            asked: 0,
            pages: 0,
            read: 0,
            received: Received::new(id_of),
            cursor: None,
            cursors: HashSet::new(),
            failure: None,
            is_repeating: false,
            is_whole: false,
            ended: limit == 0,
            last: None,
        }
    }

    /// Sets how many pages may be requested concurrently.
    pub(super) fn ahead(self, ahead: usize) -> Pages<'a> {
        Pages { ahead, ..self }
    }

    /// Sets how many rows a page requests again, because threads move between pages when others change.
    pub(super) fn overlapping(self, overlap: usize) -> Pages<'a> {
        Pages { overlap, ..self }
    }

    /// Sets how rows are identified.
    pub(super) fn identified_by(self, id: fn(&RawValue) -> Option<String>) -> Pages<'a> {
        Pages {
            received: Received::new(id),
            ..self
        }
    }

    /// Lifts the memory limit of the list, because the caller drops the rows of each page.
    pub fn dropping(mut self) -> Pages<'a> {
        self.received.limit = usize::MAX;
        self
    }

    /// Number of pages read.
    pub fn count(&self) -> usize {
        self.pages
    }

    /// Whether the last page that was read is the list's last one.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns the new rows of the next page, as received; nothing after the last.
    ///
    /// # Errors
    /// A failed request, broken pagination, or a list above the memory limit. Each ends the list.
    #[boxed]
    pub async fn next(&mut self) -> Result<Option<Vec<Row>>, ApiError> {
        if let Some(error) = self.failure.take() {
            self.ended = true;
            return Err(error);
        }
        if self.ended {
            return Ok(None);
        }
        // Until this page is verified.
        self.ended = true;
        self.ask();
        let Some(page) = self.coming.next().await else {
            return Ok(None);
        };
        let Page {
            answer,
            rows,
            limit,
            next,
        } = page?;
        let (count, what) = (rows.len(), self.what.clone());
        self.read = (self.read + count)
            .saturating_sub(self.overlap)
            .max(self.read + 1);
        self.last = Some(Answer {
            body: Bytes::new(),
            ..answer
        });
        // One page after the last shows whether there are more rows.
        if self.pages >= MAX_PAGES {
            let many = self.received.count();
            return if rows.is_empty() {
                Ok(None)
            } else {
                Err(self.odd(&format!("more than {many} {what}; the rest was skipped")))
            };
        }
        self.pages += 1;
        if self.coming.is_empty() {
            self.offset = self.first + self.read;
        }
        let rows = self.received.new_of(rows);
        self.is_whole = !next.follows(count, limit);
        let repeats = match next {
            NextPage::IfFull | NextPage::IfAny => rows.is_empty(),
            NextPage::Cursor(cursor) => {
                self.cursor = cursor;
                self.cursor
                    .clone()
                    .is_some_and(|cursor| !self.cursors.insert(cursor))
            }
        };
        self.ended = self.is_whole || self.received.count() >= self.wanted;
        if !self.ended && repeats {
            self.is_repeating = true;
            self.failure = Some(self.odd(&format!(
                "the server repeats its pages; there may be more {what}"
            )));
        } else if !self.ended && self.received.is_full() {
            let many = self.received.count();
            let why = format!(
                "the list exceeds the memory limit after {many} {what}; the rest was skipped"
            );
            self.failure = Some(ApiError {
                hint: Some("request fewer of them".into()),
                ..self.odd(&why)
            });
        }
        Ok(Some(rows))
    }

    /// Does the same for a list whose rows are all that a repeating server has.
    ///
    /// # Errors
    /// As for [`Pages::next`].
    #[boxed]
    pub async fn next_new(&mut self) -> Result<Option<Vec<Row>>, ApiError> {
        match self.next().await {
            Err(error) if self.is_repeating => {
                tracing::warn!(%error, "list ended");
                Ok(None)
            }
            next => next,
        }
    }

    /// Requests the next pages. Only a full page shows that a list continues, so the number of requests grows with the full
    /// pages: a short list costs one request, and few are made past the end.
    fn ask(&mut self) {
        let ahead = (self.pages + 1).min(self.ahead);
        while self.coming.len() < ahead && self.asked <= MAX_PAGES {
            let missing = self.wanted.saturating_sub(self.received.count());
            let limit = self.page_size.min(missing.saturating_add(self.overlap));
            let cursor = self.cursor.clone();
            self.coming.push_back((self.request)(PageRequest {
                limit,
                offset: self.offset,
                cursor,
            }));
            self.offset += limit;
            self.asked += 1;
        }
    }

    /// Reads to the end. A failure of the first page is an error; after a failure of a later page
    /// the rows before it are returned.
    pub(super) async fn all<T: DeserializeOwned>(mut self) -> Result<Listing<T>, ApiError> {
        let mut listing = Listing::new(Vec::new(), UnreadRows::of(self.what.clone()));
        loop {
            match self.next().await {
                Ok(Some(rows)) => listing.add(&rows, identity),
                Ok(None) => return self.ended(listing),
                Err(error) if self.pages == 0 => return Err(error),
                Err(error) => {
                    return Ok(Listing {
                        incomplete: Some(error),
                        ..listing
                    });
                }
            }
        }
    }

    /// Reads to the end. Any failure is an error, except that a server repeats its pages: then the list may be incomplete.
    pub(super) async fn whole<T: DeserializeOwned>(self) -> Result<Listing<T>, ApiError> {
        self.whole_as(identity).await
    }

    /// Does the same, and keeps `kept` of each row.
    pub(super) async fn whole_as<T: DeserializeOwned>(
        mut self,
        kept: impl Fn(T) -> T,
    ) -> Result<Listing<T>, ApiError> {
        let mut listing = Listing::new(Vec::new(), UnreadRows::of(self.what.clone()));
        loop {
            match self.next().await {
                Ok(Some(rows)) => listing.add(&rows, &kept),
                Ok(None) => return self.ended(listing),
                Err(error) if self.is_repeating => {
                    listing.incomplete = Some(error);
                    return self.ended(listing);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns a list that was read to its end; an error if none of its rows can be read.
    fn ended<T>(&self, listing: Listing<T>) -> Result<Listing<T>, ApiError> {
        if listing.items.is_empty() && !listing.unread.why.is_empty() {
            Err(self.odd(&listing.unread.why))
        } else {
            Ok(listing)
        }
    }

    /// Returns the error of a list with an unexpected row or number of rows.
    pub(super) fn odd(&self, why: &str) -> ApiError {
        match &self.last {
            Some(answer) => answer.odd(why),
            None => ApiError::new(Kind::Protocol, Place::default(), why),
        }
    }
}
