//! Streams on the wire: server-sent events and heartbeats.

use super::feed::Read;
use crate::agent::prelude::*;
use futures::stream;
use std::collections::VecDeque;
use std::io;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Which events of a feed a connection gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    All,
    /// Those whose name starts with one of these, without exceptions for `metadata` and `error`.
    Names(Vec<String>),
    /// Those of a thread's stream in these modes.
    Modes(Vec<String>),
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
        }
    }
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
fn frame(item: &Item, ids: bool) -> Bytes {
    let mut text = format!("event: {}\r\ndata: {}\r\n", item.name, item.data);
    if ids && !item.id.is_empty() {
        text.push_str(&format!("id: {}\r\n", item.id));
    }
    text.push_str("\r\n");
    Bytes::from(text)
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
                () = self.agent.stop.cancelled(), if self.agent.contract => return None,
                () = self.agent.stop.cancelled() => {
                    return Some((Err(io::Error::other("the server stopped")), self));
                }
                () = beat => self.ready.push_back(Bytes::from_static(b": heartbeat\r\n\r\n")),
                read = self.source.reader.next() => match read {
                    Read::Items(items) => {
                        let source = &self.source;
                        let frames = items.iter().filter(|item| source.filter.passes(item));
                        self.ready.extend(frames.map(|item| frame(item, source.ids)));
                    }
                    Read::End => {
                        self.over = true;
                        if !self.sent {
                            self.agent.pause(self.source.linger).await;
                        }
                    }
                },
            }
        }
    }
}

/// Responds with a stream.
pub fn respond(agent: &Arc<Agent>, source: Source) -> Response {
    let beat = (!agent.heartbeat.is_zero()).then(|| {
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
    // Of a contract-only server: chunks without a length, and one stream for each connection.
    let (name, value) = if agent.contract {
        ("connection", "close")
    } else {
        ("x-accel-buffering", "no")
    };
    let kind = "text/event-stream; charset=utf-8";
    let headers = [
        ("cache-control", "no-store"),
        (name, value),
        ("content-type", kind),
    ];
    for (name, value) in headers {
        set_header(&mut response, name, value);
    }
    response
}

/// Whether run streams have ids: on the Python server only those of resumable runs.
pub fn run_ids(agent: &Agent, resumable: bool) -> bool {
    agent.ids.kind() != Ids::Absent && (agent.contract || resumable)
}

/// Adds the headers with the location of a run's stream. The contract has none.
pub fn locate(agent: &Agent, response: &mut Response, thread: &str, run: &str, what: &str) {
    if agent.contract {
        return;
    }
    let place = format!("/threads/{thread}/runs/{run}");
    set_header(response, "location", &format!("{place}/{what}"));
    set_header(response, "content-location", &place);
}
