//! Fault injection: rules that select requests and their faults.

use jiff::Timestamp;
use std::time::Duration;

/// A request that a server of the simulator received.
#[derive(Debug, Clone)]
pub struct Request {
    /// When.
    pub at: Timestamp,
    /// Which server: the name of a region or of an agent server.
    pub server: String,
    pub method: String,
    /// Its path, as it was sent.
    pub path: String,
    /// Its query, as it was sent; empty where there is none.
    pub query: String,
    /// Its headers, names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A fault of a response body.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BodyFault {
    /// The connection breaks after this many bytes.
    pub cut_bytes: Option<usize>,
    /// The connection breaks after this many events (blank lines).
    pub cut_events: Option<usize>,
    /// The body ends, as if it were whole, after this many bytes.
    pub close_bytes: Option<usize>,
    /// The body is sent in chunks of this many bytes.
    pub chunk: Option<usize>,
    /// The body pauses after this many bytes.
    pub pause: Option<(usize, Duration)>,
}

/// A response that replaces the server's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// A fault: which requests, how often, and its effect. Only the first matching rule applies.
///
/// ```
/// use runtail_sim::Rule;
/// let rule = Rule::on("GET", "/v2/deployments").times(2).status(429).header("retry-after", "1");
/// assert_eq!(rule.times, Some(2));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rule {
    /// The method; empty or `*` matches all.
    pub method: String,
    /// A part of the path, or of the path and query; empty matches all.
    pub path: String,
    /// The server's name; empty matches all.
    pub server: String,
    /// Number of matching requests to skip first.
    pub skip: usize,
    /// Maximum number of affected requests; `None` means all.
    pub times: Option<usize>,
    /// A response instead of the server's.
    pub answer: Option<Answer>,
    /// Delay before the response.
    pub delay: Duration,
    /// Never answer.
    pub hang: bool,
    /// What happens to the body.
    pub body: BodyFault,
}

impl Rule {
    /// A rule for a method (`*` for all) and a part of the path.
    pub fn on(method: &str, path: &str) -> Self {
        Rule {
            method: method.to_uppercase(),
            path: path.to_owned(),
            ..Rule::default()
        }
    }

    /// Only on the server of this name.
    pub fn server(mut self, name: &str) -> Self {
        self.server = name.to_owned();
        self
    }

    /// Skips the first matching requests.
    pub fn skip(mut self, count: usize) -> Self {
        self.skip = count;
        self
    }

    /// Limits the number of affected requests.
    pub fn times(mut self, count: usize) -> Self {
        self.times = Some(count);
        self
    }

    fn answering(&mut self) -> &mut Answer {
        self.answer.get_or_insert_with(|| Answer {
            status: 200,
            ..Answer::default()
        })
    }

    /// Answers with a status; the body is the usual `{"detail": …}` unless another is given.
    pub fn status(mut self, status: u16) -> Self {
        let answer = self.answering();
        answer.status = status;
        if answer.body.is_empty() {
            answer.body = serde_json::json!({"detail": reason(status)}).to_string();
        }
        self
    }

    /// Adds a header to the answer.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.answering()
            .headers
            .push((name.to_lowercase(), value.to_owned()));
        self
    }

    /// Answers with this body.
    pub fn body(mut self, body: &str) -> Self {
        self.answering().body = body.to_owned();
        self
    }

    /// Answers with this JSON.
    pub fn json(self, body: &serde_json::Value) -> Self {
        self.body(&body.to_string())
    }

    /// Answers with an HTML page, as a proxy does.
    pub fn html(self, status: u16) -> Self {
        let page = format!(
            "<!DOCTYPE html>\n<html><head><title>{status}</title></head><body><h1>Oops</h1></body></html>"
        );
        self.status(status)
            .header("content-type", "text/html")
            .body(&page)
    }

    /// Delays the response.
    pub fn delay(mut self, time: Duration) -> Self {
        self.delay = time;
        self
    }

    /// Never answers.
    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }

    /// Breaks the connection after this many bytes of the body.
    pub fn cut_after_bytes(mut self, bytes: usize) -> Self {
        self.body.cut_bytes = Some(bytes);
        self
    }

    /// Breaks the connection after this many events of a stream.
    pub fn cut_after_events(mut self, events: usize) -> Self {
        self.body.cut_events = Some(events);
        self
    }

    /// Ends the body cleanly after this many bytes.
    pub fn close_after_bytes(mut self, bytes: usize) -> Self {
        self.body.close_bytes = Some(bytes);
        self
    }

    /// Sends the body in chunks of this many bytes.
    pub fn rechunk(mut self, bytes: usize) -> Self {
        self.body.chunk = Some(bytes.max(1));
        self
    }

    /// Pauses after this many bytes.
    pub fn pause_after_bytes(mut self, bytes: usize, time: Duration) -> Self {
        self.body.pause = Some((bytes, time));
        self
    }

    /// Whether the rule matches this request.
    pub fn fits(&self, request: &Request) -> bool {
        let place = format!("{}?{}", request.path, request.query);
        (self.method.is_empty() || self.method == "*" || self.method == request.method)
            && (self.server.is_empty() || self.server == request.server)
            && place.contains(&self.path)
    }
}

/// The usual message of a status.
fn reason(status: u16) -> &'static str {
    match status {
        401 => "Invalid token",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}
