//! The log calls of the control plane in both their generations (control-plane reference §2 and §8).

use crate::control_plane::{ControlPlane, LogCalls};
use crate::newest::LOOKED_THROUGH;
use crate::prelude::*;
use runtail_core::model::Severity;

/// Page size: the maximum of `deployment-logs`, and what the official clients use for the older calls.
pub const PAGE: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogKind {
    /// The build log. Only revisions built from sources have one.
    Build,
    /// The agent server's own log.
    Server,
}

/// A log of a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogScope {
    /// The deployment's id.
    pub deployment: String,
    /// The revision's id. Default: the newest for a build log, the whole deployment for a server log.
    pub revision: Option<String>,
    /// Which log.
    pub kind: LogKind,
}

/// A filter of lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogFilter {
    /// The minimum level. Lines with a missing or unknown level are kept.
    pub level: Option<Severity>,
    /// A text to search for; the server decides what matches.
    pub query: Option<String>,
    /// The start time, by the server's clock.
    pub since: Option<Timestamp>,
    /// The end time, by the server's clock.
    pub until: Option<Timestamp>,
}

/// A request for a page of lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogAsk {
    /// Newest first, instead of oldest first.
    pub newest_first: bool,
    /// Maximum number of lines.
    pub limit: usize,
    /// The start time.
    pub start: Option<Timestamp>,
    /// The end time.
    pub end: Option<Timestamp>,
    /// The server's cursor for this page.
    pub cursor: Option<String>,
}

/// A page of lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogPage {
    /// The lines as received, in the requested order.
    pub rows: Vec<Value>,
    /// The cursor of the next page, if the server sends one. Some always do, some never.
    pub cursor: Option<String>,
}

impl ControlPlane {
    /// One page of a log.
    ///
    /// The first response shows which generation of the calls the server has. The older one is tried first: every official
    /// client uses only that one, so hosted and self-hosted servers of any age have it, while the newer one is only
    /// documented. If it is missing (404, or 405 from a proxy), the newer one is tried.
    ///
    /// # Errors
    /// `Kind::NotFound` if both are missing: then the deployment or the revision does not exist. The more specific of the two
    /// errors is returned.
    #[boxed]
    pub async fn log_page(
        &self,
        scope: &LogScope,
        filter: &LogFilter,
        ask: &LogAsk,
    ) -> Result<LogPage, ApiError> {
        if let Some(calls) = self.log_calls.get() {
            return self.log_page_by(*calls, scope, filter, ask).await;
        }
        let older = match self.log_page_by(LogCalls::V1, scope, filter, ask).await {
            Err(error) if is_missing(&error) => error,
            answer => return answer.inspect(|_| self.remember(LogCalls::V1)),
        };
        match self.log_page_by(LogCalls::V2, scope, filter, ask).await {
            Err(newer) if is_missing(&newer) => Err(clearer(newer, older)),
            answer => answer.inspect(|_| self.remember(LogCalls::V2)),
        }
    }

    fn remember(&self, calls: LogCalls) {
        // Fails only if another clone was faster, with the same result.
        let _ = self.log_calls.set(calls);
    }

    /// Returns the id of a deployment's newest revision.
    ///
    /// # Errors
    /// `Kind::NotFound` if it has none.
    #[boxed]
    pub async fn newest_revision(&self, deployment: &str) -> Result<String, ApiError> {
        // The list is sorted locally if the server didn't, so a list of one is not enough.
        let newest = self
            .revisions(deployment, LOOKED_THROUGH)
            .await?
            .items
            .into_iter()
            .next();
        newest.map(|revision| revision.id).ok_or_else(|| {
            let at = Place::of(self.http.profile());
            ApiError::new(Kind::NotFound, at, "the deployment has no revision yet")
        })
    }

    async fn log_page_by(
        &self,
        calls: LogCalls,
        scope: &LogScope,
        filter: &LogFilter,
        ask: &LogAsk,
    ) -> Result<LogPage, ApiError> {
        let newest = match (scope.kind, &scope.revision) {
            (LogKind::Build, None) => Some(self.newest_revision(&scope.deployment).await?),
            _ => None,
        };
        let revision = scope.revision.as_deref().or(newest.as_deref());
        let (method, url, body) = match calls {
            LogCalls::V1 => {
                let (url, body) = self.log_call_v1(scope, revision, filter, ask)?;
                (Method::POST, url, Some(body))
            }
            LogCalls::V2 => (
                Method::GET,
                self.log_call_v2(scope, revision, filter, ask)?,
                None,
            ),
        };
        let body = body.as_ref();
        let call = Call {
            body,
            // V1 asks with a POST.
            reads: true,
            retry: self.retry,
            ..Call::new(Service::Control, method, url)
        };
        page(&self.http.call(call).await?)
    }

    fn log_call_v1(
        &self,
        scope: &LogScope,
        revision: Option<&str>,
        filter: &LogFilter,
        ask: &LogAsk,
    ) -> Result<(Url, Value), ApiError> {
        let mut parts = vec!["v1", "projects", &scope.deployment];
        if let Some(revision) = revision {
            parts.extend(["revisions", revision]);
        }
        parts.push(match scope.kind {
            LogKind::Build => "build_logs",
            LogKind::Server => "deploy_logs",
        });
        let mut body = Map::new();
        body.insert("order".into(), order(ask).into());
        body.insert("limit".into(), ask.limit.into());
        body.extend(
            ask.cursor
                .clone()
                .map(|cursor| ("offset".to_string(), cursor.into())),
        );
        body.extend(conditions(filter, ask).map(|(name, value)| (name.to_string(), value.into())));
        Ok((self.url(&Method::POST, &parts)?, Value::Object(body)))
    }

    fn log_call_v2(
        &self,
        scope: &LogScope,
        revision: Option<&str>,
        filter: &LogFilter,
        ask: &LogAsk,
    ) -> Result<Url, ApiError> {
        let LogScope {
            deployment, kind, ..
        } = scope;
        let (mut url, [in_order, limit, cursor]) = match revision {
            Some(revision) => {
                let parts = [
                    "v2",
                    "deployments",
                    deployment,
                    "revisions",
                    revision,
                    "logs",
                ];
                (
                    self.url(&Method::GET, &parts)?,
                    ["order", "limit", "offset"],
                )
            }
            None => (
                self.url(&Method::GET, &["v2", "deployment-logs"])?,
                ["sort_order", "page_size", "cursor"],
            ),
        };
        {
            let mut pairs = url.query_pairs_mut();
            match (revision, kind) {
                (Some(_), LogKind::Build) => pairs.append_pair("type", "build"),
                (Some(_), LogKind::Server) => pairs.append_pair("type", "deploy"),
                // A build log always is a revision's.
                (None, _) => pairs
                    .append_pair("deployment_id", deployment)
                    .append_pair("log_type", "DEPLOY"),
            };
            pairs
                .append_pair(in_order, order(ask))
                .append_pair(limit, &ask.limit.to_string());
            if let Some(value) = &ask.cursor {
                pairs.append_pair(cursor, value);
            }
            for (name, value) in conditions(filter, ask) {
                pairs.append_pair(name, &value);
            }
        }
        Ok(url)
    }
}

fn order(ask: &LogAsk) -> &'static str {
    if ask.newest_first { "desc" } else { "asc" }
}

/// Returns the parameters that both generations share.
fn conditions(filter: &LogFilter, ask: &LogAsk) -> impl Iterator<Item = (&'static str, String)> {
    // Every line has at least this level; requesting it could only lose the lines without a level.
    let level = filter
        .level
        .filter(|level| *level > Severity::Debug)
        .and_then(Severity::word);
    let all = [
        ("level", level.map(str::to_string)),
        ("query", filter.query.clone()),
        ("start_time", ask.start.map(|at| at.to_string())),
        ("end_time", ask.end.map(|at| at.to_string())),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// `{logs, next_offset}` of three of the calls, `{items, next_cursor}` of the fourth.
fn page(answer: &Answer) -> Result<LogPage, ApiError> {
    let mut fields = match answer.json()? {
        Value::Array(rows) => return Ok(LogPage { rows, cursor: None }),
        Value::Object(fields) => fields,
        _ => return Err(answer.odd("the response is not a log")),
    };
    let mut field = |a: &str, b: &str| {
        fields
            .remove(a)
            .or_else(|| fields.remove(b))
            .unwrap_or_default()
    };
    let rows = match field("logs", "items") {
        Value::Array(rows) => rows,
        Value::Null => Vec::new(),
        _ => return Err(answer.odd("the lines of the log are not a list")),
    };
    let cursor = match field("next_offset", "next_cursor") {
        Value::String(cursor) => Some(cursor).filter(|cursor| !cursor.is_empty()),
        Value::Number(cursor) => Some(cursor.to_string()),
        _ => None,
    };
    Ok(LogPage { rows, cursor })
}

/// Whether this may mean that there is no such call: 404, or 405 from a proxy.
fn is_missing(error: &ApiError) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Status(405))
}

/// Returns the more specific of two "not found" errors.
fn clearer(newer: ApiError, older: ApiError) -> ApiError {
    let rank = |error: &ApiError| {
        let bare =
            ["Not Found", "404 Not Found", "Method Not Allowed"].contains(&error.detail.as_str());
        (error.kind == Kind::NotFound, !bare)
    };
    let mut clearer = if rank(&newer) > rank(&older) {
        newer
    } else {
        older
    };
    if !rank(&clearer).1 {
        let hint = "does the deployment still exist? The server may also not support logs";
        clearer.hint = Some(hint.to_string());
    }
    clearer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: Kind, detail: &str) -> ApiError {
        ApiError {
            kind,
            at: Default::default(),
            detail: detail.into(),
            hint: None,
        }
    }

    #[test]
    fn more_specific_error_is_kept() {
        let bare = || error(Kind::NotFound, "Not Found");
        let specific = || error(Kind::NotFound, "Deployment ID 1 not found.");
        let method = || error(Kind::Status(405), "Method Not Allowed");
        assert_eq!(clearer(specific(), bare()), specific());
        assert_eq!(clearer(bare(), specific()), specific());
        for (newer, older) in [(bare(), method()), (method(), bare())] {
            let error = clearer(newer, older);
            assert!(error.kind == Kind::NotFound && error.hint.is_some());
        }
    }
}
