//! Errors of requests, with an explanation for the user.

use runtail_core::model::Secrets;
use std::fmt;
use std::time::Duration;

/// A failed request: what failed, where, why, and what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// The kind of failure.
    pub kind: Kind,
    /// The request.
    pub at: Place,
    /// The message of the server or the network in one line, sanitized and without secrets.
    pub detail: String,
    /// The likely cause and what to do, if known.
    pub hint: Option<String>,
}

/// Kinds of failures.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// 401: the key is missing, wrong or revoked.
    Unauthorized,
    /// 403: the key lacks the permission.
    Forbidden,
    /// 404.
    NotFound,
    /// 409.
    Conflict,
    /// 400 and 422, with the field paths that the server named (`body.source_config.repo_url: Field required`).
    Invalid(Vec<String>),
    /// 429, with the pause that the server asked for.
    RateLimited(Option<Duration>),
    /// 5xx.
    Server(u16),
    /// An unexpected status.
    Status(u16),
    /// No connection was made: refused, unreachable, a DNS or TLS error. Nothing was sent.
    NoConnection,
    /// The connection broke.
    Network,
    /// The server took too long.
    Timeout,
    /// An unexpected response (HTML, a redirect, broken JSON).
    Protocol,
    /// A response larger than this many bytes; the rest was not read.
    TooLarge(usize),
    /// Refused locally, before anything was sent.
    Refused,
    /// The profile's key could not be read: nothing was sent.
    NoKey,
    /// The target is gone or has changed since the plan: refused locally, nothing was sent.
    Stale,
    /// The server does not offer this call.
    NotOffered,
    /// A run whose events go to one reader only: refused locally before reading.
    OneReader,
    /// A write request with a read-only profile: refused locally.
    ReadOnly,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Place {
    /// The profile's name.
    pub profile: String,
    /// HTTP method.
    pub method: String,
    /// Scheme, host and port.
    pub host: String,
    /// Path with its prefix, without query.
    pub path: String,
    /// The server's request id, if it sent one.
    pub request_id: Option<String>,
    /// The `Retry-After` of a 5xx; that of a 429 is in its kind.
    pub retry_after: Option<Duration>,
    /// The status of an invalid request: 400 or 422.
    pub status: Option<u16>,
    /// Whether it was to change something.
    pub is_write: bool,
}

impl Place {
    /// A place that is only known by its profile.
    pub fn of(profile: &str) -> Place {
        Place {
            profile: profile.into(),
            ..Place::default()
        }
    }
}

impl ApiError {
    /// Creates an error without a hint.
    pub fn new(kind: Kind, at: Place, detail: impl Into<String>) -> ApiError {
        ApiError {
            kind,
            at,
            detail: detail.into(),
            hint: None,
        }
    }

    /// Whether a retry may help: network errors, timeouts, 429 and 5xx, except 501 (the server doesn't have this call).
    pub fn is_transient(&self) -> bool {
        match self.kind {
            Kind::Server(code) => code != 501,
            Kind::RateLimited(_) | Kind::NoConnection | Kind::Network | Kind::Timeout => true,
            _ => false,
        }
    }

    /// Whether the error may mean that the server has no such call: 404, 405 and 501. A 404 may also mean a missing object.
    pub fn may_lack_call(&self) -> bool {
        matches!(self.status(), Some(404 | 405 | 501))
    }

    /// Whether the error may mean that the server has no such call: a server that has the call names the missing object in its
    /// answer. A message about a missing route repeats its path at most.
    pub fn names_no_object(&self) -> bool {
        let said = self.detail.to_lowercase();
        let words = || said.split_whitespace().filter(|word| !word.contains('/'));
        let objects = ["thread", "run", "assistant", "checkpoint", "cron", "item"];
        self.may_lack_call()
            && !words()
                .any(|word| objects.contains(&word.trim_matches(|c: char| !c.is_alphanumeric())))
    }

    /// Whether the request certainly had no effect. Not true for most 5xx, which may come from a proxy.
    pub fn is_refusal(&self) -> bool {
        match self.kind {
            Kind::Unauthorized
            | Kind::Forbidden
            | Kind::NotFound
            | Kind::Conflict
            | Kind::Invalid(_)
            | Kind::RateLimited(_)
            | Kind::NoConnection
            | Kind::Refused
            | Kind::NoKey
            | Kind::OneReader
            | Kind::NotOffered
            | Kind::Stale
            | Kind::ReadOnly => true,
            Kind::Status(code) => (400..500).contains(&code) && code != 408,
            // Not implemented: no effect, even if the answer is a proxy's.
            Kind::Server(501) => true,
            Kind::Server(_)
            | Kind::Network
            | Kind::Timeout
            | Kind::Protocol
            | Kind::TooLarge(_) => false,
        }
    }

    /// Returns the pause that the server asked for, with a 429 or a 503.
    pub fn asked(&self) -> Option<Duration> {
        match self.kind {
            Kind::RateLimited(asked) => asked,
            _ => self.at.retry_after,
        }
    }

    /// Returns how long to pause: 30 s for a 429 without `Retry-After`, at most an hour, nothing if no pause is needed.
    pub fn quiet(&self) -> Duration {
        let unsaid = if matches!(self.kind, Kind::RateLimited(_)) {
            Duration::from_secs(30)
        } else {
            Duration::ZERO
        };
        self.asked()
            .unwrap_or(unsaid)
            .min(Duration::from_secs(3600))
    }

    /// Returns the HTTP status, if the kind means exactly one.
    pub fn status(&self) -> Option<u16> {
        match self.kind {
            Kind::Unauthorized => Some(401),
            Kind::Forbidden => Some(403),
            Kind::NotFound => Some(404),
            Kind::Conflict => Some(409),
            Kind::RateLimited(_) => Some(429),
            Kind::Server(code) | Kind::Status(code) => Some(code),
            Kind::Invalid(_) => self.at.status,
            _ => None,
        }
    }

    /// Removes these secrets, because servers may repeat them.
    pub fn without(mut self, secrets: &Secrets) -> ApiError {
        self.detail = secrets.scrub(&self.detail);
        // A server's request id may contain what was sent.
        self.at.request_id = self.at.request_id.map(|id| secrets.scrub(&id));
        if let Kind::Invalid(fields) = &mut self.kind {
            fields
                .iter_mut()
                .for_each(|field| *field = secrets.scrub(field));
        }
        self
    }

    /// Prepends to the hint.
    pub(crate) fn hinted(self, more: &str) -> ApiError {
        let hint = self
            .hint
            .map_or_else(|| more.to_string(), |hint| format!("{more}; {hint}"));
        ApiError {
            hint: Some(hint),
            ..self
        }
    }

    /// Adds a hint to the error of a change if it is unknown whether the change was made.
    pub(crate) fn maybe_applied(self) -> ApiError {
        if !self.at.is_write || self.is_refusal() {
            return self;
        }
        self.hinted(
            "it was sent once and may have been applied nevertheless: check before you try again",
        )
    }

    /// Returns the error in one line.
    pub fn cause(&self) -> String {
        let said = match self.status() {
            Some(code) if !self.detail.starts_with(&code.to_string()) => {
                format!("{code}: {}", self.detail)
            }
            _ => self.detail.clone(),
        };
        match self.asked() {
            Some(wait) => format!("{said} (retry after {})", runtail_core::text::age(wait)),
            _ => said,
        }
    }

    /// Formats the error for narrow places: first the error, then the fix, then the request.
    pub fn story(&self) -> String {
        let Place {
            profile,
            method,
            host,
            path,
            request_id,
            ..
        } = &self.at;
        let mut story = if profile.is_empty() {
            self.cause()
        } else {
            format!("{profile}: {}", self.cause())
        };
        if let Kind::Invalid(fields) = &self.kind {
            fields
                .iter()
                .for_each(|field| story.push_str(&format!("\n  {field}")));
        }
        if let Some(hint) = &self.hint {
            story.push_str(&format!("\n  {hint}"));
        }
        if !method.is_empty() {
            let id = request_id
                .as_ref()
                .map(|id| format!(" (request {id})"))
                .unwrap_or_default();
            story.push_str(&format!("\n  {method} {host}{path}{id}"));
        }
        story
    }

    /// Returns the request in one line; nothing if none was sent.
    pub fn request(&self) -> String {
        let Place {
            method, host, path, ..
        } = &self.at;
        if method.is_empty() {
            String::new()
        } else {
            format!("{method} {host}{path}")
        }
    }

    /// Returns two or three words for a badge: `401`, `no route`, `429`.
    pub fn badge(&self) -> String {
        match &self.kind {
            Kind::Unauthorized => "401".into(),
            Kind::Forbidden => "403".into(),
            Kind::NotFound => "404".into(),
            Kind::Conflict => "409".into(),
            Kind::Invalid(_) => "invalid".into(),
            Kind::RateLimited(_) => "429".into(),
            Kind::Server(code) | Kind::Status(code) => code.to_string(),
            Kind::NoConnection | Kind::Network => "no connection".into(),
            Kind::Timeout => "timeout".into(),
            Kind::Protocol => "unexpected response".into(),
            Kind::TooLarge(_) => "too large".into(),
            Kind::Refused => "refused".into(),
            Kind::NoKey => "no key".into(),
            Kind::Stale => "changed".into(),
            Kind::NotOffered => "not offered".into(),
            Kind::OneReader => "one reader".into(),
            Kind::ReadOnly => "read-only".into(),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place {
            profile,
            method,
            host,
            path,
            request_id,
            ..
        } = &self.at;
        if !profile.is_empty() {
            write!(f, "{profile}: ")?;
        }
        // Without a method nothing was sent: a key could not be read.
        if !method.is_empty() {
            write!(f, "{method} {host}{path}: ")?;
        }
        f.write_str(&self.cause())?;
        if let Kind::Invalid(fields) = &self.kind {
            for field in fields {
                write!(f, "\n  {field}")?;
            }
        }
        if let Some(id) = request_id {
            write!(f, " (request {id})")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ApiError {}
