//! Responses: their heads, and the bodies of successful ones as JSON.

use crate::answer;
use crate::prelude::*;
use crate::rows::Row;
use bytes::Bytes;
use reqwest::header::{self, HeaderMap};
use serde::de::{DeserializeOwned, IgnoredAny};

/// Maximum bytes of an error's body to read.
pub const MAX_REFUSAL: usize = 64 << 10;
/// Minimum clock offset to report, in seconds.
const SKEW: i64 = 20;

/// The head of a response, success or error.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub status: u16,
    /// The server's clock offset in seconds, if it has a `Date`; 0 if it is small.
    pub skew: Option<i64>,
    /// Whether the content type is HTML.
    pub is_html: bool,
    /// Time from the request to the head.
    pub took: Duration,
}

/// A successful response.
pub struct Answer {
    pub headers: HeaderMap,
    pub body: Bytes,
    pub at: Place,
    /// The keys, and the secrets that were sent, because any response may repeat them.
    pub secrets: Secrets,
    /// The keys that may stay in the response: those among the secrets of a control plane record, which are sent back
    /// unchanged and never shown.
    pub repeated: Option<Secrets>,
}

/// Returns a server's clock offset in seconds, from its `Date` (RFC 9110 §6.6.1). A small difference is latency and rounding
/// and counts as 0.
pub fn clock_skew(headers: &HeaderMap, now: jiff::Timestamp) -> Option<i64> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(date)
        .ok()?;
    let ahead = date.as_second() - now.as_second();
    Some(if ahead.abs() < SKEW { 0 } else { ahead })
}

impl Answer {
    /// Reads the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let read = json::read_repaired(&String::from_utf8_lossy(&self.body), |body| {
            match &self.repeated {
                None => json::exact(body),
                Some(keys) => json::exact::<Value>(body).and_then(|mut value| {
                    keys.take_out(&mut value);
                    serde_json::from_value(value)
                }),
            }
        });
        read.map_err(|e| {
            // Before it is truncated, as for an error.
            let head = String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_REFUSAL)]);
            let head = self.secrets.scrub(&head);
            answer::not_json(&self.headers, head.as_bytes(), &e, self.at.clone())
                .without(&self.secrets)
                .maybe_applied()
        })
    }

    /// Parses the rows of a list, each as received: those of the field, which may be missing if there are none, or the plain
    /// array of older installations.
    pub fn rows(&self, field: &str) -> Result<Vec<Row>, ApiError> {
        match self.body.trim_ascii_start().first() {
            Some(b'{') => match self.json::<HashMap<String, Row>>()?.remove(field) {
                None => Ok(Vec::new()),
                Some(value) if value.get() == "null" => Ok(Vec::new()),
                Some(rows) => json::from_str(rows.get())
                    .map_err(|_| self.odd(&format!("`{field}` is not a list"))),
            },
            Some(b'[') | None => self.json(),
            Some(_) => self
                .json()
                .and_then(|_: IgnoredAny| Err(self.odd("the response is not a list"))),
        }
    }

    /// The same for responses that may be empty, which is null.
    pub fn maybe_json(&self) -> Result<Value, ApiError> {
        if self.body.is_empty() {
            Ok(Value::Null)
        } else {
            self.json()
        }
    }

    /// Whether a list continues after this page, if the server says so.
    pub fn has_next_page(&self) -> bool {
        self.headers.contains_key("x-pagination-next")
    }

    /// Returns the server's request id, if there is one, without secrets.
    pub fn request_id(&self) -> Option<String> {
        Some(self.secrets.scrub(&answer::request_id(&self.headers)?))
    }

    /// Returns the error of an unexpected response.
    pub fn odd(&self, why: &str) -> ApiError {
        let mut at = self.at.clone();
        at.request_id = answer::request_id(&self.headers);
        let detail = format!("unexpected response: {}", answer::line(why));
        ApiError::new(Kind::Protocol, at, detail).without(&self.secrets)
    }
}
