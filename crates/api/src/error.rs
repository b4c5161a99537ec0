//! What can go wrong with a request, said for the person who has to act on it.

use runtail_core::model::Secrets;
use std::fmt;
use std::time::Duration;

/// A failed request: what failed, where, why, and what to do.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// What kind of failure it was.
    pub kind: Kind,
    /// Where it happened.
    pub at: Place,
    /// What the server or the network said, cleaned of control characters and of secrets, one line.
    pub detail: String,
    /// The likely cause and what to do, where Runtail knows it.
    pub hint: Option<String>,
}

/// The kinds of failure that callers tell apart.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// 401: the key is missing, wrong or revoked.
    Unauthorized,
    /// 403: the key is known but may not do this.
    Forbidden,
    /// 404.
    NotFound,
    /// 409.
    Conflict,
    /// 400 and 422, with the field paths that the server named (`body.source_config.repo_url: Field required`).
    Invalid(Vec<String>),
    /// 429, with the wait that the server asked for.
    RateLimited(Option<Duration>),
    /// 5xx.
    Server(u16),
    /// Another status than the endpoint's success.
    Status(u16),
    /// No connection, a broken one, a name that does not resolve, TLS trouble.
    Network,
    /// The server took too long.
    Timeout,
    /// An answer that is not what this API speaks (HTML, a redirect, broken JSON).
    Protocol,
    /// An answer larger than this many bytes: it was not read any further.
    TooLarge(usize),
    /// A request that was refused here, before anything was sent.
    Refused,
    /// What a change is about is gone, or is not what it was when the change was planned: refused here, nothing was sent.
    Stale,
    /// The server does not offer this call.
    NotOffered,
    /// Reading a run whose events go to one reader only, refused here before anything was read.
    OneReader,
    /// A request that would have written, refused here since nothing may be written with the profile.
    ReadOnly,
}

/// Where a request went.
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
    /// The server's id of the request, where it sent one.
    pub request_id: Option<String>,
    /// The wait that the answer asked for (`Retry-After`), where it was a 5xx; that of a 429 is in its kind.
    pub retry_after: Option<Duration>,
}

impl ApiError {
    /// Whether asking again may help: network faults, time-outs, 429 and 5xx, except 501 (the server doesn't have this call).
    pub fn is_transient(&self) -> bool {
        match self.kind {
            Kind::Server(code) => code != 501,
            Kind::RateLimited(_) | Kind::Network | Kind::Timeout => true,
            _ => false,
        }
    }

    /// Whether the answer may mean that the server has no such call: 404, 405 and 501. A 404 is also the answer about an
    /// object that does not exist.
    pub fn may_lack_call(&self) -> bool {
        matches!(self.status(), Some(404 | 405 | 501))
    }

    /// Whether an answer leaves no doubt that the request did nothing. Most 5xx do not: they may come from a proxy.
    pub fn is_refusal(&self) -> bool {
        match self.kind {
            Kind::Unauthorized
            | Kind::Forbidden
            | Kind::NotFound
            | Kind::Conflict
            | Kind::Invalid(_)
            | Kind::RateLimited(_)
            | Kind::Refused
            | Kind::OneReader
            | Kind::NotOffered
            | Kind::Stale
            | Kind::ReadOnly => true,
            Kind::Status(code) => (400..500).contains(&code) && code != 408,
            // Not implemented: nothing was done, even if a proxy answers so.
            Kind::Server(501) => true,
            Kind::Server(_) | Kind::Network | Kind::Timeout | Kind::Protocol | Kind::TooLarge(_) => false,
        }
    }

    /// The wait that the server asked for, of a 429 and of a server that is overloaded or being looked after (503).
    pub fn asked(&self) -> Option<Duration> {
        match self.kind {
            Kind::RateLimited(asked) => asked,
            _ => self.at.retry_after,
        }
    }

    /// For how long the server wants to be left alone: half a minute where a 429 does not say, an hour at most, nothing
    /// where it said nothing of the kind.
    pub fn quiet(&self) -> Duration {
        let unsaid = if matches!(self.kind, Kind::RateLimited(_)) { Duration::from_secs(30) } else { Duration::ZERO };
        self.asked().unwrap_or(unsaid).min(Duration::from_secs(3600))
    }

    /// The HTTP status, where the kind stands for exactly one.
    pub fn status(&self) -> Option<u16> {
        match self.kind {
            Kind::Unauthorized => Some(401),
            Kind::Forbidden => Some(403),
            Kind::NotFound => Some(404),
            Kind::Conflict => Some(409),
            Kind::RateLimited(_) => Some(429),
            Kind::Server(code) | Kind::Status(code) => Some(code),
            _ => None,
        }
    }

    /// The same without these secrets: servers repeat what they know.
    pub fn without(mut self, secrets: &Secrets) -> ApiError {
        self.detail = secrets.scrub(&self.detail);
        // A server may name a request by what it was sent.
        self.at.request_id = self.at.request_id.map(|id| secrets.scrub(&id));
        if let Kind::Invalid(fields) = &mut self.kind {
            fields.iter_mut().for_each(|field| *field = secrets.scrub(field));
        }
        self
    }

    /// What went wrong, in a line.
    pub fn cause(&self) -> String {
        let said = match self.status() {
            Some(code) if !self.detail.starts_with(&code.to_string()) => format!("{code}: {}", self.detail),
            _ => self.detail.clone(),
        };
        match self.asked() {
            Some(wait) => format!("{said} (to be asked again in {})", runtail_core::text::age(wait)),
            _ => said,
        }
    }

    /// The same story for where there is little room: first what went wrong, then what to do, then where.
    pub fn story(&self) -> String {
        let Place { profile, method, host, path, request_id, .. } = &self.at;
        let mut story = if profile.is_empty() { self.cause() } else { format!("{profile}: {}", self.cause()) };
        if let Kind::Invalid(fields) = &self.kind {
            fields.iter().for_each(|field| story.push_str(&format!("\n  {field}")));
        }
        if let Some(hint) = &self.hint {
            story.push_str(&format!("\n  {hint}"));
        }
        if !method.is_empty() {
            let id = request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default();
            story.push_str(&format!("\n  {method} {host}{path}{id}"));
        }
        story
    }

    /// Which request it was, in a line; nothing where none was on its way yet.
    pub fn request(&self) -> String {
        let Place { method, host, path, .. } = &self.at;
        if method.is_empty() { String::new() } else { format!("{method} {host}{path}") }
    }

    /// Two or three words for a badge: `401`, `no route`, `429`.
    pub fn badge(&self) -> String {
        match &self.kind {
            Kind::Unauthorized => "401".into(),
            Kind::Forbidden => "403".into(),
            Kind::NotFound => "404".into(),
            Kind::Conflict => "409".into(),
            Kind::Invalid(_) => "invalid".into(),
            Kind::RateLimited(_) => "429".into(),
            Kind::Server(code) | Kind::Status(code) => code.to_string(),
            Kind::Network => "no connection".into(),
            Kind::Timeout => "timeout".into(),
            Kind::Protocol => "unexpected answer".into(),
            Kind::TooLarge(_) => "too large".into(),
            Kind::Refused => "refused".into(),
            Kind::Stale => "changed".into(),
            Kind::NotOffered => "not offered".into(),
            Kind::OneReader => "one reader".into(),
            Kind::ReadOnly => "read-only".into(),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { profile, method, host, path, request_id, .. } = &self.at;
        if !profile.is_empty() {
            write!(f, "{profile}: ")?;
        }
        // Nothing was on its way yet where there is no method: a key that could not be had.
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
