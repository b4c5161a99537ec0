//! An event stream as received: bytes, and the head of the response.

use crate::answer;
use crate::body::read_head;
use crate::keyless::SecretRedactor;
use crate::network;
use crate::prelude::*;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use reqwest::Response;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LOCATION, CONTENT_TYPE, DATE, HeaderMap, LOCATION,
};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// An open stream of server-sent events. Dropping it closes the connection.
pub struct EventStream {
    /// HTTP status (200).
    pub status: u16,
    /// The run, if `Content-Location` or `Location` names one on the same origin.
    pub run_id: Option<String>,
    /// The thread, likewise.
    pub thread_id: Option<String>,
    /// The server's `Date` in milliseconds.
    pub answered: Option<u64>,
    /// The body. Ends without an error when the server closes it.
    pub body: BoxStream<'static, Result<Bytes, ApiError>>,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("status", &self.status)
            .field("run_id", &self.run_id)
            .field("thread_id", &self.thread_id)
            .finish_non_exhaustive()
    }
}

/// Converts a response with status 200 to a stream, if it is one.
#[boxed]
pub async fn of_response(
    http: &Http,
    response: Response,
    url: Url,
    mut at: Place,
) -> Result<EventStream, ApiError> {
    let headers = response.headers();
    at.request_id = answer::request_id(headers);
    let kind = headers
        .get(CONTENT_TYPE)
        .map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
    // Accept a response without a content type.
    if let Some(kind) = kind.filter(|kind| {
        !kind
            .trim_start()
            .to_ascii_lowercase()
            .starts_with("text/event-stream")
    }) {
        let headers = headers.clone();
        let head =
            tokio::time::timeout(Duration::from_secs(5), read_head(response, 16 << 10)).await;
        // Before it is truncated, because half a key would not be found.
        let head = http
            .secrets(None)
            .scrub(&String::from_utf8_lossy(&head.unwrap_or_default()));
        let detail = if answer::is_html(&headers, head.as_bytes()) {
            answer::html_detail(head.as_bytes())
        } else {
            format!(
                "{} instead of an event stream",
                text::fit(&text::clean(&kind), 80)
            )
        };
        let hint = Some("is this the address of an agent server?".to_string());
        return Err(ApiError {
            kind: Kind::Protocol,
            at,
            detail,
            hint,
        });
    }
    if let Some(encoding) = headers
        .get(CONTENT_ENCODING)
        .filter(|encoding| *encoding != "identity")
    {
        let encoding = String::from_utf8_lossy(encoding.as_bytes()).into_owned();
        let detail = format!(
            "an unexpected compressed stream ({})",
            text::fit(&text::clean(&encoding), 40)
        );
        let hint = Some("a proxy may compress responses: disable it for event streams".to_string());
        return Err(ApiError {
            kind: Kind::Protocol,
            at,
            detail,
            hint,
        });
    }
    let (thread_id, run_id) = names(headers, &url);
    // These identify the event log.
    let open = |id: Option<String>| id.map(|id| http.secrets(None).scrub(&id));
    let (thread_id, run_id) = (open(thread_id), open(run_id));
    let answered = headers
        .get(DATE)
        .and_then(|v| v.to_str().ok())
        .and_then(milliseconds);
    let status = response.status().as_u16();
    let keyless = SecretRedactor::new(&http.secrets(None));
    let body = Body {
        bytes: response.bytes_stream().boxed(),
        keyless: Some(keyless),
        _http: http.clone(),
        url,
        at,
    };
    Ok(EventStream {
        status,
        run_id,
        thread_id,
        answered,
        body: body.boxed(),
    })
}

/// The body of a response, without the keys that it repeats.
struct Body {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    /// `None` after the end.
    keyless: Option<SecretRedactor>,
    /// Kept because the client owns the connection.
    _http: Http,
    url: Url,
    at: Place,
}

impl Stream for Body {
    type Item = Result<Bytes, ApiError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let next = ready!(self.bytes.poll_next_unpin(cx));
            let Some(keyless) = &mut self.keyless else {
                return Poll::Ready(None);
            };
            let said = match next {
                Some(Ok(chunk)) => keyless.pass(chunk),
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(network::failure(
                        &error,
                        &self.url,
                        self.at.clone(),
                    ))));
                }
                None => {
                    let rest = keyless.rest();
                    self.keyless = None;
                    return Poll::Ready((!rest.is_empty()).then_some(Ok(rest)));
                }
            };
            // All bytes may be held back, because they may be the start of a key.
            if !said.is_empty() {
                return Poll::Ready(Some(Ok(said)));
            }
        }
    }
}

/// Returns an HTTP date, which has whole seconds, in milliseconds.
fn milliseconds(date: &str) -> Option<u64> {
    let at = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(date)
        .ok()?;
    u64::try_from(at.as_millisecond()).ok()
}

/// Returns the thread and the run that the head names: `Content-Location: /threads/{t}/runs/{r}` on all servers, and
/// `Location` with a trailing `/stream` on some (agent-server reference §2). Addresses on other origins are ignored.
fn names(headers: &HeaderMap, url: &Url) -> (Option<String>, Option<String>) {
    for header in [CONTENT_LOCATION, LOCATION] {
        let Some(target) = headers
            .get(header)
            .and_then(|v| v.to_str().ok())
            .and_then(|v| url.join(v).ok())
        else {
            continue;
        };
        if target.origin() != url.origin() {
            continue;
        }
        let segments: Vec<&str> = target
            .path_segments()
            .map(Iterator::collect)
            .unwrap_or_default();
        let after = |word: &str| {
            let at = segments.iter().rposition(|s| *s == word)?;
            segments
                .get(at + 1)
                .filter(|s| !s.is_empty() && **s != "stream")
                .map(|s| text::clean(s).into_owned())
        };
        if let Some(run) = after("runs") {
            return (after("threads"), Some(run));
        }
    }
    (None, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_only_from_same_origin_locations() {
        let url = Url::parse("https://a.example.com/base/threads/t1/runs/stream").unwrap();
        let named = |header, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header, value.parse().unwrap());
            let (thread, run) = names(&headers, &url);
            (thread.unwrap_or_default(), run.unwrap_or_default())
        };
        let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
        assert_eq!(
            named(CONTENT_LOCATION, "/threads/t1/runs/r1"),
            pair("t1", "r1")
        );
        assert_eq!(
            named(LOCATION, "/threads/t1/runs/r1/stream"),
            pair("t1", "r1")
        );
        assert_eq!(named(CONTENT_LOCATION, "/runs/r1"), pair("", "r1"));
        assert_eq!(
            named(
                CONTENT_LOCATION,
                "https://a.example.com/base/threads/t/runs/r"
            ),
            pair("t", "r")
        );
        assert_eq!(
            named(
                CONTENT_LOCATION,
                "https://evil.example.com/threads/t1/runs/r1"
            ),
            pair("", "")
        );
        assert_eq!(
            named(CONTENT_LOCATION, "//evil.example.com/runs/r1"),
            pair("", "")
        );
        assert_eq!(named(CONTENT_LOCATION, "/runs/stream"), pair("", ""));
    }
}
