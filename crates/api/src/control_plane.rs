//! The control plane: deployments and their revisions (contract §4, control-plane reference §2).

use crate::Retry;
use crate::http::join;
use crate::pages::{List, NextPage, PAGE, Page, PageRequest, Pages};
use crate::prelude::*;
use crate::rows::{Row, UnreadRows};
use runtail_core::model::{Deployment, Revision};
use serde::de::DeserializeOwned;
use std::sync::OnceLock;

/// A client of a control plane, with the keys of one profile.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    pub(super) http: Http,
    pub(super) base: Url,
    pub(super) retry: Retry,
    /// Which log calls this server has, once known; shared by all clones.
    pub(super) log_calls: Arc<OnceLock<LogCalls>>,
}

/// The generations of the log calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogCalls {
    /// `POST /v1/projects/…/{build,deploy}_logs`.
    V1,
    /// `GET /v2/deployments/…/logs` and `GET /v2/deployment-logs`.
    V2,
}

/// A query for deployments. Unset fields are not sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeploymentQuery {
    /// Part of the name.
    pub name_contains: Option<String>,
    /// The deployment's own status word.
    pub status: Option<String>,
    /// `dev`, `prod`, …
    pub deployment_type: Option<String>,
    pub image_version: Option<String>,
    /// Only these ids.
    pub ids: Vec<String>,
    /// Only deployments with these tag ids.
    pub tag_value_ids: Vec<String>,
}

impl DeploymentQuery {
    pub(super) fn list(&self) -> List {
        let texts = [
            ("name_contains", &self.name_contains),
            ("status", &self.status),
            ("deployment_type", &self.deployment_type),
            ("image_version", &self.image_version),
        ];
        let mut query: Vec<_> = texts
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.clone()?)))
            .collect();
        for (name, ids) in [
            ("deployment_ids", &self.ids),
            ("tag_value_ids", &self.tag_value_ids),
        ] {
            if !ids.is_empty() {
                query.push((name, ids.join(",")));
            }
        }
        List {
            parts: vec!["v2".into(), "deployments".into()],
            query,
            is_main: true,
            what: "deployments",
        }
    }
}

/// Rows of a list over several pages.
#[derive(Debug, Clone)]
pub struct Listing<T> {
    /// The rows, in the server's order.
    pub items: Vec<T>,
    /// Why the list may be incomplete: a later page failed, or the server doesn't paginate.
    pub incomplete: Option<ApiError>,
    /// The rows that couldn't be read.
    pub unread: UnreadRows,
}

impl<T> Listing<T> {
    /// Creates a complete list.
    pub fn new(items: Vec<T>, unread: UnreadRows) -> Listing<T> {
        Listing {
            items,
            incomplete: None,
            unread,
        }
    }

    /// Says what may be missing: rows that couldn't be read, or those after the last page.
    pub fn warning(&self) -> Option<String> {
        let incomplete = || self.incomplete.as_ref().map(ApiError::cause);
        self.unread.sentence().or_else(incomplete)
    }

    /// Adds the rows that can be read.
    pub(super) fn add(&mut self, rows: &[Row], kept: impl Fn(T) -> T)
    where
        T: DeserializeOwned,
    {
        self.items.extend(
            rows.iter()
                .filter_map(|row| self.unread.parse(row))
                .map(kept),
        );
    }
}

/// Revisions of a deployment.
#[derive(Debug, Clone)]
pub struct Revisions<T = Revision> {
    /// Newest first.
    pub items: Vec<T>,
    /// Whether the server sorted them, as it promises (contract §4 rule 2).
    pub was_sorted: bool,
    /// The rows that couldn't be read.
    pub unread: UnreadRows,
}

impl ControlPlane {
    /// Maximum concurrency of bulk requests: pages of a list, newest revisions of its rows.
    pub const MAX_CONCURRENCY: usize = 4;

    /// Creates a client from the control plane's full base URL, prefix included.
    pub fn new(http: Http, base: Url) -> ControlPlane {
        http.allow(&base);
        ControlPlane {
            http,
            base,
            retry: Retry::NONE,
            log_calls: Arc::default(),
        }
    }

    /// Sets the retry policy for reads; the default is no retries.
    pub fn retrying(self, retry: Retry) -> ControlPlane {
        ControlPlane { retry, ..self }
    }

    /// Returns all deployments, over all pages.
    ///
    /// # Errors
    /// Also if only a part could be read; [`ControlPlane::deployment_rows`] returns it.
    #[boxed]
    pub async fn deployments(&self, query: &DeploymentQuery) -> Result<Vec<Deployment>, ApiError> {
        let Listing {
            items,
            incomplete,
            mut unread,
        } = self.deployment_rows(query).await?;
        incomplete.map_or(Ok(()), Err)?;
        Ok(items
            .into_iter()
            .filter_map(|row| unread.keep(self.typed(row)))
            .collect())
    }

    /// Returns all deployments as received, secrets included; see [`Pages`].
    #[boxed]
    pub async fn deployment_rows(
        &self,
        query: &DeploymentQuery,
    ) -> Result<Listing<Value>, ApiError> {
        self.deployment_pages(query).all().await
    }

    /// Returns the pages of all deployments.
    pub fn deployment_pages(&self, query: &DeploymentQuery) -> Pages<'static> {
        self.pages(query.list(), usize::MAX)
            .ahead(Self::MAX_CONCURRENCY)
    }

    /// Returns the pages of a list by limit and offset.
    pub(super) fn pages(&self, list: List, limit: usize) -> Pages<'static> {
        let (control_plane, what) = (self.clone(), list.what);
        Pages::new(
            what,
            (limit, 0),
            PAGE,
            move |PageRequest { limit, offset, .. }| {
                let (control_plane, list) = (control_plane.clone(), list.clone());
                Box::pin(async move {
                    let paging = [("limit", limit.to_string()), ("offset", offset.to_string())];
                    let answer = control_plane.page(&list, &paging).await?;
                    Ok(Page {
                        rows: answer.rows("resources")?,
                        answer,
                        limit,
                        next: NextPage::IfFull,
                    })
                })
            },
        )
    }

    /// Parses a revision.
    ///
    /// # Errors
    /// The row has no id.
    pub fn read_revision(&self, row: Value) -> Result<Revision, ApiError> {
        self.typed(row)
    }

    /// Parses a deployment.
    ///
    /// # Errors
    /// The row has no id.
    pub fn read_deployment(&self, row: Value) -> Result<Deployment, ApiError> {
        self.typed(row)
    }

    /// Returns the server's clock offset at its last response, in whole seconds; nothing if it is small.
    pub fn skew(&self) -> jiff::SignedDuration {
        self.http.skew()
    }

    /// Returns a deployment.
    #[boxed]
    pub async fn deployment(&self, id: &str) -> Result<Deployment, ApiError> {
        self.typed(self.deployment_row(id).await?)
    }

    /// Returns a deployment as received, secrets included.
    #[boxed]
    pub async fn deployment_row(&self, id: &str) -> Result<Value, ApiError> {
        self.get(&["v2", "deployments", id]).await?.json()
    }

    /// Returns the newest revisions of a deployment, at most `limit`.
    #[boxed]
    pub async fn revisions(&self, id: &str, limit: usize) -> Result<Revisions, ApiError> {
        let Revisions {
            items,
            was_sorted,
            mut unread,
        } = self.revision_rows(id, limit).await?;
        let items = items
            .into_iter()
            .filter_map(|row| unread.keep(self.typed(row)))
            .collect();
        Ok(Revisions {
            items,
            was_sorted,
            unread,
        })
    }

    /// Returns the newest revisions as received.
    #[boxed]
    pub async fn revision_rows(
        &self,
        id: &str,
        limit: usize,
    ) -> Result<Revisions<Value>, ApiError> {
        let parts = ["v2", "deployments", id, "revisions"]
            .map(String::from)
            .to_vec();
        let list = List {
            parts,
            query: Vec::new(),
            is_main: false,
            what: "revisions",
        };
        let Listing {
            mut items, unread, ..
        } = self.pages(list, limit).whole().await?;
        let was_sorted = newest_first(&mut items);
        items.truncate(limit);
        Ok(Revisions {
            items,
            was_sorted,
            unread,
        })
    }

    /// Returns a revision.
    #[boxed]
    pub async fn revision(&self, id: &str, revision: &str) -> Result<Revision, ApiError> {
        self.typed(self.revision_row(id, revision).await?)
    }

    /// Returns a revision as received.
    #[boxed]
    pub async fn revision_row(&self, id: &str, revision: &str) -> Result<Value, ApiError> {
        self.get(&["v2", "deployments", id, "revisions", revision])
            .await?
            .json()
    }

    /// Requests a page of a list.
    pub(super) async fn page(
        &self,
        list: &List,
        paging: &[(&str, String)],
    ) -> Result<Answer, ApiError> {
        let parts: Vec<&str> = list.parts.iter().map(String::as_str).collect();
        let mut url = self.url(&Method::GET, &parts)?;
        for (name, value) in list
            .query
            .iter()
            .map(|(n, v)| (*n, v))
            .chain(paging.iter().map(|(n, v)| (*n, v)))
        {
            url.query_pairs_mut().append_pair(name, value);
        }
        self.call(Method::GET, url, None, &[200], list.is_main)
            .await
    }

    pub(super) async fn get(&self, parts: &[&str]) -> Result<Answer, ApiError> {
        self.send(Method::GET, parts, None, &[200]).await
    }

    pub(super) async fn send(
        &self,
        method: Method,
        parts: &[&str],
        body: Option<&Value>,
        expect: &[u16],
    ) -> Result<Answer, ApiError> {
        let url = self.url(&method, parts)?;
        self.call(method, url, body, expect, false).await
    }

    pub(super) async fn call(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
        expect: &[u16],
        is_list: bool,
    ) -> Result<Answer, ApiError> {
        let call = Call {
            body,
            expect,
            is_list,
            retry: self.retry,
            ..Call::new(Service::Control, method, url)
        };
        self.http.call(call).await
    }

    pub(super) fn url(&self, method: &Method, parts: &[&str]) -> Result<Url, ApiError> {
        join(&self.http, method, &self.base, parts)
    }

    /// Returns the error of an unexpected but valid response.
    pub fn odd(&self, detail: String) -> ApiError {
        // Not attributed to a request, because only one of many responses was wrong.
        ApiError::new(Kind::Protocol, Place::of(self.http.profile()), detail)
    }

    fn not_understood(&self, why: &serde_json::Error) -> ApiError {
        self.odd(format!(
            "unexpected response: {}",
            super::answer::line(&why.to_string())
        ))
    }

    /// Parses a row that was kept as received.
    fn typed<T: DeserializeOwned>(&self, row: Value) -> Result<T, ApiError> {
        T::deserialize(row).map_err(|e| self.not_understood(&e))
    }
}

/// Sorts rows by `created_at`, newest first, and returns whether they were sorted. Rows without a valid time count as the
/// oldest.
fn newest_first(rows: &mut [Value]) -> bool {
    let time = |row: &Value| {
        row["created_at"]
            .as_str()
            .and_then(runtail_core::model::parse_time)
    };
    let was_sorted = rows.is_sorted_by(|a, b| time(a) >= time(b));
    if !was_sorted {
        rows.sort_by_cached_key(|row| std::cmp::Reverse(time(row)));
    }
    was_sorted
}
