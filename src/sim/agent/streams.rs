//! Streams on the wire: server-sent events, heartbeats, joining a run, tailing a thread.

use super::check::{self, Refusal, refuse};
use super::feed::{Feed, Item, Kind, Read, Reader};
use super::{Agent, detail, query_pairs, set_header};
use crate::sim::Dialect;
use crate::sim::ids::Ids;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use futures::stream;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Which events of a feed a connection gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// All.
    All,
    /// Those whose name begins with one of these.
    Names(Vec<String>),
    /// Those of a thread's stream in these modes.
    Modes(Vec<String>),
}

impl Filter {
    fn lets(&self, item: &Item) -> bool {
        match self {
            Filter::All => item.kind != Kind::State,
            Filter::Names(names) => {
                let base = item.name.split('|').next().unwrap_or_default();
                let base = base.split('/').next().unwrap_or_default();
                base == "error"
                    || names.iter().any(|name| name == base || (name == "messages-tuple" && base == "messages"))
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

/// Runs something when the client is gone.
pub struct OnLeave(Option<Box<dyn FnOnce() + Send>>);

impl OnLeave {
    /// Does this when dropped.
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

/// What a stream is made of.
pub struct Source {
    /// Where the events come from.
    pub reader: Reader,
    /// Which of them go out.
    pub filter: Filter,
    /// Whether they carry their ids.
    pub ids: bool,
    /// What happens when the client goes.
    pub leave: Option<OnLeave>,
    /// How long a stream without anything to say stays open.
    pub linger: Duration,
    /// Whether this is a run's stream, which may say that it ends.
    pub run: bool,
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
    text.push_str(&item.data);
    text.push_str(end);
    if ids && !item.id.is_empty() {
        text.push_str("id: ");
        text.push_str(&item.id);
        text.push_str(end);
    }
    text.push_str(end);
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
                () = self.agent.stop.cancelled() => {
                    return Some((Err(io::Error::other("the server went away")), self));
                }
                () = beat => {
                    let end = if self.agent.wire.lf { "\n" } else { "\r\n" };
                    self.ready.push_back(Bytes::from(format!(": heartbeat{end}{end}")));
                }
                read = self.source.reader.next() => match read {
                    Read::Items(items) => {
                        let (agent, source) = (&self.agent, &self.source);
                        let frames = items.iter().filter(|item| source.filter.lets(item));
                        self.ready.extend(frames.map(|item| frame(agent, item, source.ids)));
                    }
                    Read::End => {
                        self.over = true;
                        if !self.sent && !self.source.linger.is_zero() {
                            self.agent.pause(self.source.linger).await;
                        }
                        if self.source.run && self.agent.wire.end_event {
                            self.ready.push_back(Bytes::from("event: end\ndata: {\"status\":\"success\"}\n\n"));
                        }
                    }
                },
            }
        }
    }
}

/// Answers with a stream.
pub fn respond(agent: &Arc<Agent>, source: Source) -> Response {
    let beat = (!agent.wire.no_heartbeats && !agent.heartbeat.is_zero()).then(|| {
        let mut beat = interval_at(Instant::now() + agent.heartbeat, agent.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beat
    });
    let wire = Wire { agent: agent.clone(), source, ready: VecDeque::new(), beat, sent: false, over: false };
    let mut response = Response::new(Body::from_stream(stream::unfold(wire, Wire::next)));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    response
}

/// Whether run streams carry ids: on the Python server only those of resumable runs do.
pub fn run_ids(agent: &Agent, resumable: bool) -> bool {
    match agent.ids.kind() {
        Ids::Absent => false,
        Ids::Unique => true,
        Ids::PerMillisecond => resumable,
    }
}

/// Says where a run's stream is.
pub fn locate(response: &mut Response, thread: &str, run: &str, what: &str) {
    set_header(response, "location", &format!("/threads/{thread}/runs/{run}/{what}"));
    set_header(response, "content-location", &format!("/threads/{thread}/runs/{run}"));
}

/// `GET /threads/{t}/runs/{r}/stream`.
pub async fn join_run(
    State(agent): State<Arc<Agent>>,
    Path((thread, run)): Path<(String, String)>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = check::thread_id(&thread, false).and_then(|()| check::run_id(&run)) {
        return *refusal;
    }
    let pairs = query_pairs(&uri);
    let found = {
        let memory = agent.memory();
        memory.threads.get(&thread).and_then(|thread| thread.run(&run)).cloned()
    };
    let mut response = match found {
        None => unknown_run(&agent),
        Some(found) => {
            let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
            let contract = agent.dialect == Dialect::Contract;
            let reader = found.feed.reader(|item| match &after {
                // The contract: a run that is joined gives only what comes later.
                None => false,
                Some(_) if contract => false,
                Some(after) => after == "-" || later(&agent, &found.feed, &item.id, after),
            });
            let cancels = pairs.iter().any(|(key, value)| {
                key == "cancel_on_disconnect" && matches!(value.to_lowercase().as_str(), "true" | "yes" | "1")
            });
            let source = Source {
                reader,
                filter: join_filter(&pairs),
                ids: run_ids(&agent, found.resumable()),
                leave: cancels.then(|| super::runs::cancel_on_leave(&agent, &thread, &run)),
                linger: Duration::from_millis(500),
                run: true,
            };
            respond(&agent, source)
        }
    };
    locate(&mut response, &thread, &run, "stream");
    response
}

/// An unknown run is told in the stream, not by the status.
fn unknown_run(agent: &Arc<Agent>) -> Response {
    let feed = Arc::new(Feed::new(0));
    let reader = feed.reader(|_| false);
    let data = json!({"error": "HTTPException", "message": "404: Run not found"}).to_string();
    let item = Item { id: String::new(), name: "error".into(), data, kind: Kind::Output, stored: false };
    feed.push(&[Arc::new(item)]);
    feed.close();
    if agent.dialect == Dialect::Contract {
        return detail(StatusCode::NOT_FOUND, "Run not found");
    }
    respond(agent, Source { reader, filter: Filter::All, ids: false, leave: None, linger: Duration::ZERO, run: false })
}

/// Whether an event comes after an id. Python compares texts; where ids are unique their parts are numbers.
fn later(agent: &Agent, feed: &Feed, id: &str, after: &str) -> bool {
    match agent.ids.kind() {
        Ids::PerMillisecond => id > after,
        Ids::Unique if after == "-1" || after == "0" || after == "0-0" => true,
        Ids::Unique => feed.knows(after) && parts(id) > parts(after),
        Ids::Absent => false,
    }
}

fn parts(id: &str) -> (u64, u64) {
    let (millis, n) = id.split_once('-').unwrap_or((id, "0"));
    (millis.parse().unwrap_or(0), n.parse().unwrap_or(0))
}

fn join_filter(pairs: &[(String, String)]) -> Filter {
    let names: Vec<String> = pairs
        .iter()
        .filter(|(key, value)| key == "stream_mode" && !value.is_empty())
        .flat_map(|(_, value)| match serde_json::from_str::<Value>(value) {
            Ok(Value::Array(list)) => list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
            _ => vec![value.clone()],
        })
        .collect();
    if names.is_empty() { Filter::All } else { Filter::Names(names) }
}

/// `GET /threads/{t}/stream`. A thread that does not exist is 200 and silence.
pub async fn thread(
    State(agent): State<Arc<Agent>>,
    Path(thread): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match open_thread(&agent, &thread, &uri, &headers) {
        Ok(response) => response,
        Err(refusal) => *refusal,
    }
}

fn open_thread(agent: &Arc<Agent>, thread: &str, uri: &Uri, headers: &HeaderMap) -> Result<Response, Refusal> {
    check::thread_id(thread, false)?;
    let modes = check::thread_modes(agent.dialect, &query_pairs(uri))?;
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    if let Some(after) = after
        && !is_stream_id(after)
    {
        let text = "Invalid last-event-id: must be a valid Redis stream ID";
        return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, text));
    }
    let feed = agent.thread_feed(thread);
    let reader = feed.reader(|item| match after {
        None => false,
        Some("-" | "0" | "0-0") => true,
        Some(after) => match agent.ids.kind() {
            Ids::PerMillisecond => item.id.as_str() > after,
            Ids::Unique | Ids::Absent => parts(&item.id) > parts(after),
        },
    });
    let ids = agent.ids.kind() != Ids::Absent;
    let filter = Filter::Modes(modes);
    Ok(respond(agent, Source { reader, filter, ids, leave: None, linger: Duration::ZERO, run: false }))
}

/// `-`, or digits with an optional sequence number.
fn is_stream_id(id: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match id.split_once('-') {
        Some(("", "")) => true,
        Some((millis, n)) => digits(millis) && (n == "*" || digits(n)),
        None => digits(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_ids_are_those_of_redis() {
        for good in ["-", "0", "0-0", "1795224332619-0", "17-*"] {
            assert!(is_stream_id(good), "{good}");
        }
        for bad in ["", "-1", "$", "zzz", "1-", "1-2-3"] {
            assert!(!is_stream_id(bad), "{bad}");
        }
    }

    #[test]
    fn a_join_may_name_its_modes() {
        let pairs = |value: &str| vec![("stream_mode".to_owned(), value.to_owned())];
        assert_eq!(join_filter(&pairs("values")), Filter::Names(vec!["values".into()]));
        assert_eq!(
            join_filter(&pairs(r#"["values","custom"]"#)),
            Filter::Names(vec!["values".into(), "custom".into()])
        );
        assert_eq!(join_filter(&pairs("")), Filter::All);
    }
}
