//! Streams on the wire: server-sent events and heartbeats.

use super::feed::{Item, Kind, Read, Reader};
use super::{Agent, set_header};
use crate::Dialect;
use crate::ids::Ids;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures::stream;
use std::collections::VecDeque;
use std::fmt::Write;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Which events of a feed a connection gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    All,
    /// Those whose name starts with one of these, without exceptions for `metadata` and `error`.
    Names(Vec<String>),
    /// Those of a thread's stream in these modes.
    Modes(Vec<String>),
    /// Those that Aegra still sends to a client that has received this many.
    After(u64),
}

impl Filter {
    fn passes(&self, item: &Item) -> bool {
        match self {
            Filter::All => item.kind != Kind::State,
            Filter::Names(names) => {
                let base = item.name.split('|').next().unwrap_or_default();
                let base = base.split('/').next().unwrap_or_default();
                names
                    .iter()
                    .any(|name| name == base || (name == "messages-tuple" && base == "messages"))
            }
            Filter::Modes(modes) => modes.iter().any(|mode| {
                matches!(
                    (mode.as_str(), item.kind),
                    ("run_modes", Kind::Output | Kind::Lifecycle)
                        | ("lifecycle", Kind::Lifecycle)
                        | ("state_update", Kind::State)
                )
            }),
            Filter::After(count) => count_of(&item.id) > *count,
        }
    }
}

/// The number at the end of one of Aegra's ids.
pub fn count_of(id: &str) -> u64 {
    id.rsplit_once("_event_")
        .and_then(|(_, count)| count.parse().ok())
        .unwrap_or(0)
}

/// Calls a function when the client of a stream has left.
pub struct OnLeave(Option<Box<dyn FnOnce() + Send>>);

impl OnLeave {
    /// Called when this is dropped.
    pub fn new(act: impl FnOnce() + Send + 'static) -> Self {
        OnLeave(Some(Box::new(act)))
    }
}

impl Drop for OnLeave {
    fn drop(&mut self) {
        if let Some(act) = self.0.take() {
            act();
        }
    }
}

/// A stream's sources and options.
pub struct Source {
    /// The source of its events.
    pub reader: Reader,
    /// Which of the events are sent.
    pub filter: Filter,
    /// Whether they carry their ids.
    pub ids: bool,
    /// Dropped when the client leaves.
    pub leave: Option<OnLeave>,
    /// How long a stream without any event stays open.
    pub linger: Duration,
    /// Whether this is a run's stream, which may end with an `end` event.
    pub run: bool,
}

impl Source {
    /// A stream of events without ids that belong to no run.
    pub fn new(reader: Reader, filter: Filter) -> Self {
        Source {
            reader,
            filter,
            ids: false,
            leave: None,
            linger: Duration::ZERO,
            run: false,
        }
    }
}

struct Wire {
    agent: Arc<Agent>,
    source: Source,
    ready: VecDeque<Bytes>,
    beat: Option<Interval>,
    sent: bool,
    over: bool,
}

/// One event as bytes.
fn frame(agent: &Agent, item: &Item, ids: bool) -> Bytes {
    let end = if agent.wire.lf { "\n" } else { "\r\n" };
    let mut text = String::with_capacity(item.data.len() + item.name.len() + 48);
    text.push_str("event: ");
    text.push_str(&item.name);
    text.push_str(end);
    text.push_str("data: ");
    if agent.dialect == Dialect::Aegra {
        escape(&mut text, &item.data);
    } else {
        text.push_str(&item.data);
    }
    text.push_str(end);
    if ids && !item.id.is_empty() {
        text.push_str("id: ");
        text.push_str(&item.id);
        text.push_str(end);
    }
    text.push_str(end);
    Bytes::from(text)
}

/// Appends JSON with non-ASCII characters escaped, like Python's `json.dumps`.
fn escape(text: &mut String, json: &str) {
    for character in json.chars() {
        if character.is_ascii() {
            text.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
}

impl Wire {
    async fn next(mut self) -> Option<(Result<Bytes, io::Error>, Wire)> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                self.sent = true;
                return Some((Ok(bytes), self));
            }
            if self.over {
                return None;
            }
            let beat = async {
                match &mut self.beat {
                    Some(beat) => {
                        beat.tick().await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // A contract-only server closes its connections properly when it is stopped.
                () = self.agent.stop.cancelled(), if self.agent.dialect == Dialect::Contract => return None,
                () = self.agent.stop.cancelled() => {
                    return Some((Err(io::Error::other("the server stopped")), self));
                }
                () = beat => {
                    let end = if self.agent.wire.lf { "\n" } else { "\r\n" };
                    self.ready.push_back(Bytes::from(format!(": heartbeat{end}{end}")));
                }
                read = self.source.reader.next() => match read {
                    Read::Items(items) => {
                        let (agent, source) = (&self.agent, &self.source);
                        let frames = items.iter().filter(|item| source.filter.passes(item));
                        self.ready.extend(frames.map(|item| frame(agent, item, source.ids)));
                    }
                    Read::End => self.finish().await,
                },
            }
        }
    }

    async fn finish(&mut self) {
        self.over = true;
        let linger = match self.agent.dialect {
            // It polls for more events twice a second.
            Dialect::JavaScript => Duration::from_millis(500),
            _ if self.sent => Duration::ZERO,
            _ => self.source.linger,
        };
        if !linger.is_zero() {
            self.agent.pause(linger).await;
        }
        if self.source.run && self.agent.wire.end_event {
            self.ready.push_back(Bytes::from(
                "event: end\ndata: {\"status\":\"success\"}\n\n",
            ));
        }
    }
}

/// Responds with a stream.
pub fn respond(agent: &Arc<Agent>, source: Source) -> Response {
    let beat = (!agent.wire.no_heartbeats && !agent.heartbeat.is_zero()).then(|| {
        let mut beat = interval_at(Instant::now() + agent.heartbeat, agent.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat
    });
    let wire = Wire {
        agent: agent.clone(),
        source,
        ready: VecDeque::new(),
        beat,
        sent: false,
        over: false,
    };
    let mut response = Response::new(Body::from_stream(stream::unfold(wire, Wire::next)));
    let headers: &[(&str, &str)] = match agent.dialect {
        Dialect::JavaScript => &[("cache-control", "no-cache")],
        Dialect::Aegra => &[
            ("cache-control", "no-cache"),
            ("access-control-allow-headers", "Last-Event-ID"),
        ],
        Dialect::Python => &[("cache-control", "no-store"), ("x-accel-buffering", "no")],
        // Chunks without a length, and one stream for each connection.
        Dialect::Contract => &[("cache-control", "no-store"), ("connection", "close")],
    };
    for (name, value) in headers {
        set_header(&mut response, name, value);
    }
    let kind = match agent.dialect {
        Dialect::JavaScript | Dialect::Aegra => "text/event-stream",
        Dialect::Python | Dialect::Contract => "text/event-stream; charset=utf-8",
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Whether run streams have ids: on the Python server only those of resumable runs.
pub fn run_ids(agent: &Agent, resumable: bool) -> bool {
    match agent.ids.kind() {
        Ids::Absent => false,
        Ids::Unique | Ids::Ordinal | Ids::Count | Ids::RunCount => true,
        Ids::PerMillisecond => resumable,
    }
}

/// Adds the headers with the location of a run's stream. The contract has none.
pub fn locate(agent: &Agent, response: &mut Response, thread: &str, run: &str, what: &str) {
    if agent.dialect == Dialect::Contract {
        return;
    }
    if agent.dialect != Dialect::JavaScript {
        set_header(
            response,
            "location",
            &format!("/threads/{thread}/runs/{run}/{what}"),
        );
    }
    set_header(
        response,
        "content-location",
        &format!("/threads/{thread}/runs/{run}"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aegra_escapes_all_but_ascii() {
        let mut text = String::new();
        escape(&mut text, r#"{"city":"Kraków 😊\n"}"#);
        assert_eq!(text, r#"{"city":"Krak\u00f3w \ud83d\ude0a\n"}"#);
    }
}
