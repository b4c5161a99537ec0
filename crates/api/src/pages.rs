//! Lists that are paginated by limit and offset.

use super::control_plane::ControlPlane;
use super::response::Answer;
use super::rows::{Received, Row};
use super::{ApiError, Listing};
use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, StreamExt};
use serde_json::Value;
use std::sync::Arc;

/// Page size: the server's maximum.
pub(super) const PAGE: usize = 100;
/// Maximum number of pages, that is 100,000 rows.
pub(super) const MAX_PAGES: usize = 1000;

/// A list to read.
#[derive(Debug, Clone)]
pub(super) struct List {
    /// Segments of its path.
    pub parts: Vec<String>,
    /// Its filters.
    pub query: Vec<(&'static str, String)>,
    /// Whether it is the deployments list, which reveals a wrong address.
    pub is_main: bool,
    /// The name of its rows.
    pub what: &'static str,
}

/// A requested page.
type Asked = BoxFuture<'static, Result<Answer, ApiError>>;

/// The pages of a list, in order. A few are requested concurrently, because a long list would cost a round trip per page.
/// Must be read to the end or dropped: the next requests depend on earlier pages.
///
/// A page with fewer rows than requested is the last (the rule of the official clients; there is no total). A server that
/// ignores the offset repeats rows, which ends the list as incomplete; one that sends more rows than requested does not
/// paginate, and has sent everything.
#[derive(Debug)]
pub struct Pages {
    control_plane: ControlPlane,
    list: Arc<List>,
    /// Requested pages that were not read yet.
    coming: FuturesOrdered<Asked>,
    asked: usize,
    pages: usize,
    received: Received,
    ended: bool,
}

impl Pages {
    pub(super) fn new(control_plane: ControlPlane, list: List) -> Pages {
        let (list, coming, received) = (Arc::new(list), FuturesOrdered::new(), Received::default());
        Pages { control_plane, list, coming, asked: 0, pages: 0, received, ended: false }
    }

    /// Number of pages read.
    pub fn count(&self) -> usize {
        self.pages
    }

    /// Returns the new rows of the next page, as received; nothing after the last.
    ///
    /// # Errors
    /// A failed request, broken pagination, or a list above the memory limit. Each ends the list.
    pub async fn next(&mut self) -> Result<Option<Vec<Row>>, ApiError> {
        if self.ended {
            return Ok(None);
        }
        // Until this page is verified.
        self.ended = true;
        let what = self.list.what;
        if self.received.is_full() {
            let many = self.received.count();
            let why = format!("the list exceeds the memory limit after {many} {what}; the rest was skipped");
            return Err(self.control_plane.odd(why));
        }
        self.ask();
        let Some(page) = self.coming.next().await else { return Ok(None) };
        let answer = page?;
        let rows = answer.rows("resources")?;
        // One page after the last shows whether there are more rows.
        if self.pages >= MAX_PAGES {
            let many = self.received.count();
            return match rows.is_empty() {
                true => Ok(None),
                false => Err(self.control_plane.odd(format!("more than {many} {what}; the rest was skipped"))),
            };
        }
        self.pages += 1;
        let count = rows.len();
        let rows = self.received.new_of(rows);
        if count == PAGE && rows.is_empty() {
            return Err(answer.odd(&format!("the server repeats a page; there may be more {what}")));
        }
        self.ended = count != PAGE;
        Ok(Some(rows))
    }

    /// Requests the next pages. Only a full page shows that a list continues, so the number of requests grows with the full
    /// pages: a short list costs one request, and few are made past the end.
    fn ask(&mut self) {
        let ahead = (self.pages + 1).min(ControlPlane::MAX_CONCURRENCY);
        while self.coming.len() < ahead && self.asked <= MAX_PAGES {
            let (control_plane, list) = (self.control_plane.clone(), self.list.clone());
            let paging = [("limit", PAGE.to_string()), ("offset", (self.asked * PAGE).to_string())];
            self.coming.push_back(Box::pin(async move { control_plane.page(&list, &paging).await }));
            self.asked += 1;
        }
    }

    /// Reads to the end. A failure of the first page is an error; after a failure of a later page the rows before it are
    /// returned.
    pub(super) async fn all(mut self) -> Result<Listing<Value>, ApiError> {
        let mut items: Vec<Value> = Vec::new();
        loop {
            match self.next().await {
                Ok(Some(rows)) => {
                    for row in rows {
                        match self.control_plane.read_row(&row) {
                            Ok(row) => items.push(row),
                            Err(error) => return Ok(Listing { items, incomplete: Some(error) }),
                        }
                    }
                }
                Ok(None) => return Ok(Listing { items, incomplete: None }),
                Err(error) if self.pages == 0 => return Err(error),
                Err(error) => return Ok(Listing { items, incomplete: Some(error) }),
            }
        }
    }
}
