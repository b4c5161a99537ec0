//! The log calls of the control plane in both their generations (control-plane reference §2 and §8), and following a log.

use super::answer::Plane;
use super::http::{Answer, Call, MAX_BODY, REQUEST_TIMEOUT};
use super::log_tail::Tail;
use super::newest::LOOKED_THROUGH;
use super::{ApiError, ControlPlane, Kind, Place};
use jiff::Timestamp;
use reqwest::{Method, Url};
use runtail_core::model::{LogLine, Severity};
use serde_json::{Map, Value};

/// Lines asked for at once: the most that `deployment-logs` gives, and what the official clients ask the older calls for.
const PAGE: usize = 100;

/// Which of the two logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogKind {
    /// How a revision was built. Only revisions made from sources have one.
    Build,
    /// What the agent server writes while it runs.
    Server,
}

/// Whose log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogScope {
    /// The deployment's identifier.
    pub deployment: String,
    /// The revision's. Without one: the newest for a build log, the whole deployment for a server log.
    pub revision: Option<String>,
    /// Which log.
    pub kind: LogKind,
}

/// Which lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogFilter {
    /// At least so grave. Lines whose level is missing or unknown are kept: nobody can say that they are less.
    pub level: Option<Severity>,
    /// A text to search for; what exactly it matches is the server's business.
    pub query: Option<String>,
    /// Not from before, by the server's clock.
    pub since: Option<Timestamp>,
    /// Not from after, by the server's clock.
    pub until: Option<Timestamp>,
}

/// One question for a page of lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogAsk {
    /// Newest first, instead of oldest first.
    pub newest_first: bool,
    /// Lines at most.
    pub limit: usize,
    /// Not from before.
    pub start: Option<Timestamp>,
    /// Not from after.
    pub end: Option<Timestamp>,
    /// Where the page before ended, in the server's own words.
    pub cursor: Option<String>,
}

/// A page of lines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogPage {
    /// As the server describes them, in the order asked for.
    pub rows: Vec<Value>,
    /// Where the next page begins, if the server says so. Some servers always do, some never.
    pub cursor: Option<String>,
}

/// The generations of the log calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogCalls {
    /// `POST /v1/projects/…/{build,deploy}_logs`.
    V1,
    /// `GET /v2/deployments/…/logs` and `GET /v2/deployment-logs`.
    V2,
}

impl ControlPlane {
    /// One page of a log.
    ///
    /// The first answer tells which generation of the calls the server has. The older one is asked first: every official
    /// client still uses it and nothing else, so hosted and self-hosted servers of any age have it, while the newer one is
    /// known from documentation alone. Where it is not there (404, or 405 from a proxy) the newer one is asked.
    ///
    /// # Errors
    /// `Kind::NotFound` when both say so: then it is the deployment or the revision that is not there. Of the two
    /// answers the one that says more is given.
    pub async fn log_page(&self, scope: &LogScope, filter: &LogFilter, ask: &LogAsk) -> Result<LogPage, ApiError> {
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
        // Fails only where another clone was quicker, and found the same.
        let _ = self.log_calls.set(calls);
    }

    /// The identifier of a deployment's newest revision.
    ///
    /// # Errors
    /// `Kind::NotFound` where it has none.
    pub async fn newest_revision(&self, deployment: &str) -> Result<String, ApiError> {
        // The list is sorted here where its server did not, so a list of one would not do.
        let newest = self.revisions(deployment, LOOKED_THROUGH).await?.items.into_iter().next();
        newest.map(|revision| revision.id).ok_or_else(|| ApiError {
            kind: Kind::NotFound,
            // Nothing was refused: the list of its revisions is empty.
            at: Place { profile: self.http.profile().to_string(), ..Place::default() },
            detail: "the deployment has no revision yet".to_string(),
            hint: None,
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
            LogCalls::V2 => (Method::GET, self.log_call_v2(scope, revision, filter, ask)?, None),
        };
        let body = body.as_ref();
        let (plane, retry, timeout) = (Plane::Control, self.retry, REQUEST_TIMEOUT);
        // The older calls are questions too, though they are POSTs.
        let call = Call {
            plane,
            method,
            url,
            body,
            about: None,
            expect: &[200],
            is_list: false,
            reads: true,
            retry,
            timeout,
            max_body: MAX_BODY,
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
        body.extend(ask.cursor.clone().map(|cursor| ("offset".to_string(), cursor.into())));
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
        let LogScope { deployment, kind, .. } = scope;
        let (mut url, [in_order, limit, cursor]) = match revision {
            Some(revision) => {
                let parts = ["v2", "deployments", deployment, "revisions", revision, "logs"];
                (self.url(&Method::GET, &parts)?, ["order", "limit", "offset"])
            }
            None => (self.url(&Method::GET, &["v2", "deployment-logs"])?, ["sort_order", "page_size", "cursor"]),
        };
        {
            let mut pairs = url.query_pairs_mut();
            match (revision, kind) {
                (Some(_), LogKind::Build) => pairs.append_pair("type", "build"),
                (Some(_), LogKind::Server) => pairs.append_pair("type", "deploy"),
                // A build log always is a revision's.
                (None, _) => pairs.append_pair("deployment_id", deployment).append_pair("log_type", "DEPLOY"),
            };
            pairs.append_pair(in_order, order(ask)).append_pair(limit, &ask.limit.to_string());
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

/// What both generations call by the same names.
fn conditions(filter: &LogFilter, ask: &LogAsk) -> impl Iterator<Item = (&'static str, String)> {
    // Every line is at least that grave; asked for, it could only cost the lines without a level.
    let level = filter.level.filter(|level| *level > Severity::Debug).and_then(Severity::word);
    let all = [
        ("level", level.map(str::to_string)),
        ("query", filter.query.clone()),
        ("start_time", ask.start.map(|at| at.to_string())),
        ("end_time", ask.end.map(|at| at.to_string())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

/// `{logs, next_offset}` of three of the calls, `{items, next_cursor}` of the fourth.
fn page(answer: &Answer) -> Result<LogPage, ApiError> {
    let mut fields = match answer.json()? {
        Value::Array(rows) => return Ok(LogPage { rows, cursor: None }),
        Value::Object(fields) => fields,
        _ => return Err(answer.odd("this is no log")),
    };
    let mut field = |a: &str, b: &str| fields.remove(a).or_else(|| fields.remove(b)).unwrap_or_default();
    let rows = match field("logs", "items") {
        Value::Array(rows) => rows,
        Value::Null => Vec::new(),
        _ => return Err(answer.odd("the lines of the log are no list")),
    };
    let cursor = match field("next_offset", "next_cursor") {
        Value::String(cursor) => Some(cursor).filter(|cursor| !cursor.is_empty()),
        Value::Number(cursor) => Some(cursor.to_string()),
        _ => None,
    };
    Ok(LogPage { rows, cursor })
}

/// Whether this may mean that there is no such call. A control plane says so with 404, a proxy also with 405.
fn is_missing(error: &ApiError) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Status(405))
}

/// Of two such answers the one that says what is not there, instead of only that something is not.
fn clearer(newer: ApiError, older: ApiError) -> ApiError {
    let rank = |error: &ApiError| {
        let bare = ["Not Found", "404 Not Found", "Method Not Allowed"].contains(&error.detail.as_str());
        (error.kind == Kind::NotFound, !bare)
    };
    let mut clearer = if rank(&newer) > rank(&older) { newer } else { older };
    if !rank(&clearer).1 {
        let hint = "is the deployment still there? This may also be a server that gives no logs at all";
        clearer.hint = Some(hint.to_string());
    }
    clearer
}

/// Follows a log: the newest lines first, then whatever is new, each line once. `log_tail` says how.
#[derive(Debug, Clone)]
pub struct LogFollower {
    control: ControlPlane,
    scope: LogScope,
    filter: LogFilter,
    tail: Tail,
}

impl LogFollower {
    /// A follower that begins with the newest `tail` lines; `usize::MAX` begins with all of them.
    pub fn new(control: ControlPlane, scope: LogScope, filter: LogFilter, tail: usize) -> LogFollower {
        let tail = Tail::new(&filter, tail, PAGE);
        LogFollower { control, scope, filter, tail }
    }

    /// What is new: on the first call the newest lines, later what came since. In the order of time, except that a line
    /// which the server lets out late comes when it comes.
    ///
    /// A build log without a revision becomes that of the newest revision on the first call, and stays it.
    ///
    /// # Errors
    /// A call that fails changes nothing and can be repeated.
    pub async fn poll(&mut self) -> Result<Vec<LogLine>, ApiError> {
        Ok(self.poll_rows().await?.into_iter().map(LogLine::from).collect())
    }

    /// As [`LogFollower::poll`], with the lines as the server describes them.
    pub async fn poll_rows(&mut self) -> Result<Vec<Value>, ApiError> {
        if self.scope.kind == LogKind::Build && self.scope.revision.is_none() {
            self.scope.revision = Some(self.control.newest_revision(&self.scope.deployment).await?);
        }
        let mut reading = self.tail.read();
        while let Some(ask) = reading.ask() {
            let page = self.control.log_page(&self.scope, &self.filter, ask).await?;
            reading.take(page);
        }
        Ok(self.tail.keep(reading))
    }

    /// Whether the server may have lines that were wanted and could not be had: more than are read at once, or more of one
    /// millisecond than fit on a page of a server that gives no cursor.
    pub fn is_incomplete(&self) -> bool {
        self.tail.is_incomplete()
    }

    /// Whose log it is; a build log's revision is known after the first call.
    pub fn scope(&self) -> &LogScope {
        &self.scope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: Kind, detail: &str) -> ApiError {
        ApiError { kind, at: Default::default(), detail: detail.into(), hint: None }
    }

    #[test]
    fn the_answer_that_says_more() {
        let bare = || error(Kind::NotFound, "Not Found");
        let told = || error(Kind::NotFound, "Deployment ID 1 not found.");
        let method = || error(Kind::Status(405), "Method Not Allowed");
        assert_eq!(clearer(told(), bare()), told());
        assert_eq!(clearer(bare(), told()), told());
        for (newer, older) in [(bare(), method()), (method(), bare())] {
            let error = clearer(newer, older);
            assert!(error.kind == Kind::NotFound && error.hint.is_some());
        }
    }
}
