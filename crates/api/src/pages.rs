//! Lists that are read page by page by limit and offset, to their end.

use super::control_plane::ControlPlane;
use super::http::Answer;
use super::rows::{Received, Row};
use super::{ApiError, Listing};
use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, StreamExt};
use serde_json::Value;
use std::sync::Arc;

/// Rows asked for at once; the most that the server gives.
pub(super) const PAGE: usize = 100;
/// Pages after which a listing ends, whatever the server says: a hundred thousand rows.
pub(super) const MAX_PAGES: usize = 1000;

/// A list that is asked for.
#[derive(Debug, Clone)]
pub(super) struct List {
    /// Segments of its path.
    pub parts: Vec<String>,
    /// What narrows it.
    pub query: Vec<(&'static str, String)>,
    /// Whether it is that of the deployments, by which a wrong address is found.
    pub is_main: bool,
    /// What its rows are.
    pub what: &'static str,
}

/// A page that was asked for.
type Asked = BoxFuture<'static, Result<Answer, ApiError>>;

/// The pages of a list, in its order. A few are asked for at once, so that a long list does not cost the way to the server
/// for each of them. Not to be cut short in the middle: what is asked for next depends on what came.
///
/// A page with fewer rows than asked for is the last (the rule of the official clients; there is no total). A server
/// that ignores the offset sends the same rows again, which ends the listing as incomplete; one that sends more rows
/// than asked for does not page at all, and has sent everything.
#[derive(Debug)]
pub struct Pages {
    control_plane: ControlPlane,
    list: Arc<List>,
    /// Pages that were asked for and not read yet.
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

    /// Pages that were read.
    pub fn count(&self) -> usize {
        self.pages
    }

    /// The rows of the next page that did not come before, as received; nothing after the last.
    ///
    /// # Errors
    /// A request that failed, a server that does not page as it says, and a list that takes more memory than it may. Each
    /// ends the list.
    pub async fn next(&mut self) -> Result<Option<Vec<Row>>, ApiError> {
        if self.ended {
            return Ok(None);
        }
        // Until this page is known to be good.
        self.ended = true;
        let what = self.list.what;
        if self.received.is_full() {
            let many = self.received.count();
            let why = format!("the first {many} {what} take as much memory as a list may: the rest is left out");
            return Err(self.control_plane.odd(why));
        }
        self.ask();
        let Some(page) = self.coming.next().await else { return Ok(None) };
        let answer = page?;
        let rows = answer.rows("resources")?;
        // One page beyond the last that is read shows whether there are more rows.
        if self.pages >= MAX_PAGES {
            let many = self.received.count();
            return match rows.is_empty() {
                true => Ok(None),
                false => Err(self.control_plane.odd(format!("more than {many} {what}: the rest is left out"))),
            };
        }
        self.pages += 1;
        let count = rows.len();
        let rows = self.received.new_of(rows);
        if count == PAGE && rows.is_empty() {
            return Err(answer.odd(&format!("the server sends the same page again, there may be more {what}")));
        }
        self.ended = count != PAGE;
        Ok(Some(rows))
    }

    /// Asks for what may come next. That a list goes on is only known of a page that was full, so the more of them there
    /// were, the more are asked for beyond it: a short list costs one request, and few are made past the end.
    fn ask(&mut self) {
        let ahead = (self.pages + 1).min(ControlPlane::AT_ONCE);
        while self.coming.len() < ahead && self.asked <= MAX_PAGES {
            let (control_plane, list) = (self.control_plane.clone(), self.list.clone());
            let paging = [("limit", PAGE.to_string()), ("offset", (self.asked * PAGE).to_string())];
            self.coming.push_back(Box::pin(async move { control_plane.page(&list, &paging).await }));
            self.asked += 1;
        }
    }

    /// Reads to the end. A failure of the first page is an error; one of a later page leaves what came before it.
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
