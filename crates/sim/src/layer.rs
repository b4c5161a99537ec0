//! The layer between network and servers: records every request and applies the rules to the responses.

use super::agent::Agent;
use super::fault::{Answer, BodyFault, Request, Rule};
use super::world::History;
use crate::values::locked;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures::{Stream, StreamExt, stream};
use jiff::Timestamp;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum number of recorded requests; a demo may run for days.
const MAX_REQUESTS: usize = 10_000;
/// Maximum size of a request's body.
const LARGEST: usize = 300 << 20;

#[derive(Debug, Default)]
struct Recorder {
    requests: VecDeque<Request>,
    rules: Vec<(Rule, usize)>,
}

/// Requests and rules of all servers.
#[derive(Debug, Default)]
pub struct Script {
    book: Mutex<Recorder>,
}

impl Script {
    fn book(&self) -> MutexGuard<'_, Recorder> {
        locked(&self.book)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.book().requests.iter().cloned().collect()
    }

    /// Clears the recorded requests.
    pub fn forget(&self) {
        self.book().requests.clear();
    }

    /// Adds a rule.
    pub fn rule(&self, rule: Rule) {
        self.book().rules.push((rule, 0));
    }

    /// Drops all rules.
    pub fn clear_rules(&self) {
        self.book().rules.clear();
    }

    /// Records a request and finds its rule.
    fn enter(&self, request: Request) -> Option<Rule> {
        let mut book = self.book();
        let mut hit = None;
        for (rule, seen) in &mut book.rules {
            if !rule.fits(&request) {
                continue;
            }
            *seen += 1;
            let turn =
                *seen > rule.skip && rule.times.is_none_or(|times| *seen <= rule.skip + times);
            if turn && hit.is_none() {
                hit = Some(rule.clone());
            }
        }
        book.requests.push_back(request);
        if book.requests.len() > MAX_REQUESTS {
            book.requests.pop_front();
        }
        hit
    }
}

/// One server's share.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The script of the whole simulator.
    pub script: Arc<Script>,
    /// The server's name.
    pub server: String,
    /// Ends requests that would wait forever.
    pub stop: CancellationToken,
    /// The agent server, whose history is created before its first response; none for a control plane.
    pub agent: Option<(Arc<Agent>, History)>,
}

/// Calls that an agent server answers without its history.
const NO_HISTORY: [&str; 2] = ["/info", "/ok"];

/// The layer itself.
pub async fn pass(
    State(gate): State<Gate>,
    request: axum::extract::Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, LARGEST)
        .await
        .unwrap_or_default();
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    let rule = gate.script.enter(Request {
        at: Timestamp::now(),
        server: gate.server.clone(),
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers,
        body: bytes.to_vec(),
    });
    if let Some((agent, history)) = gate
        .agent
        .filter(|_| !NO_HISTORY.contains(&parts.uri.path()))
    {
        agent.visit();
        history.await;
    }
    let request = axum::extract::Request::from_parts(parts, Body::from(bytes));
    let Some(rule) = rule else {
        return next.run(request).await;
    };
    if !rule.delay.is_zero() {
        tokio::time::sleep(rule.delay).await;
    }
    if rule.hang {
        gate.stop.cancelled().await;
    }
    let response = match rule.answer {
        Some(answer) => scripted(&answer),
        None => next.run(request).await,
    };
    if rule.body == BodyFault::default() {
        response
    } else {
        damaged(response, rule.body)
    }
}

fn scripted(answer: &Answer) -> Response {
    let mut response = Response::new(Body::from(answer.body.clone()));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn damaged(response: Response, fault: BodyFault) -> Response {
    let (mut parts, body) = response.into_parts();
    // Drop content-length, so that a clean end does not look broken.
    parts.headers.remove(header::CONTENT_LENGTH);
    let stream = body
        .into_data_stream()
        .map(|part| part.map_err(io::Error::other));
    Response::from_parts(parts, Body::from_stream(damage(stream.boxed(), fault)))
}

struct Damage<S> {
    source: S,
    fault: BodyFault,
    ready: VecDeque<Bytes>,
    sent: usize,
    events: usize,
    tail: Vec<u8>,
    broken: bool,
    closed: bool,
}

/// Sends a body with a fault.
fn damage<S>(source: S, fault: BodyFault) -> impl Stream<Item = io::Result<Bytes>>
where
    S: Stream<Item = io::Result<Bytes>> + Unpin,
{
    let state = Damage {
        source,
        fault,
        ready: VecDeque::new(),
        sent: 0,
        events: 0,
        tail: Vec::new(),
        broken: false,
        closed: false,
    };
    stream::unfold(state, |mut state| async move {
        loop {
            if let Some((after, time)) = state.fault.pause
                && state.sent >= after
            {
                state.fault.pause = None;
                tokio::time::sleep(time).await;
            }
            if let Some(bytes) = state.ready.pop_front() {
                state.sent += bytes.len();
                return Some((Ok(bytes), state));
            }
            if state.broken {
                state.broken = false;
                state.closed = true;
                // Flush before breaking the connection.
                tokio::time::sleep(Duration::from_millis(25)).await;
                return Some((Err(io::Error::other("cut by a rule")), state));
            }
            if state.closed {
                return None;
            }
            match state.source.next().await {
                None => return None,
                Some(Err(error)) => {
                    state.closed = true;
                    return Some((Err(error), state));
                }
                Some(Ok(bytes)) => state.take(bytes),
            }
        }
    })
}

impl<S> Damage<S> {
    /// Cuts a chunk of the body according to the fault.
    fn take(&mut self, bytes: Bytes) {
        let mut keep = bytes.len();
        if let Some(cut) = self.fault.cut_events {
            for (at, byte) in bytes.iter().enumerate() {
                if *byte == b'\r' {
                    continue;
                }
                self.tail.push(*byte);
                if self.tail.ends_with(b"\n\n") {
                    self.tail.clear();
                    self.events += 1;
                    if self.events == cut {
                        keep = keep.min(at + 1);
                        self.broken = true;
                        break;
                    }
                }
                if self.tail.len() > 2 {
                    self.tail.drain(..1);
                }
            }
        }
        for (limit, breaks) in [
            (self.fault.cut_bytes, true),
            (self.fault.close_bytes, false),
        ] {
            let Some(limit) = limit else { continue };
            let room = limit.saturating_sub(self.sent);
            if keep >= room {
                keep = room;
                self.broken = breaks;
                self.closed = !breaks;
            }
        }
        let mut kept = bytes.slice(..keep);
        let pause = self
            .fault
            .pause
            .map(|(after, _)| after.saturating_sub(self.sent))
            .filter(|at| *at > 0);
        if let Some(at) = pause.filter(|at| *at < kept.len()) {
            let head = kept.split_to(at);
            self.pieces(head);
        }
        self.pieces(kept);
    }

    fn pieces(&mut self, mut bytes: Bytes) {
        let size = self.fault.chunk.unwrap_or(usize::MAX);
        while !bytes.is_empty() {
            let piece = bytes.split_to(bytes.len().min(size));
            self.ready.push_back(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rules_cut_bodies() {
        let parts = [
            "event: a\r\ndata: 1\r\n",
            "\r\nevent: b\r\ndata: 2\r\n\r\nevent: c\r\n\r\n",
        ];
        let whole = parts.concat();
        let rule = Rule::default;
        for (rule, length, breaks) in [
            (rule().cut_after_events(2), 40, true),
            (rule().cut_after_bytes(7), 7, true),
            (rule().close_after_bytes(21), 21, false),
            (rule().rechunk(4), whole.len(), false),
            (
                rule().pause_after_bytes(3, Duration::ZERO),
                whole.len(),
                false,
            ),
        ] {
            let source = stream::iter(parts.map(|part| Ok(Bytes::from_static(part.as_bytes()))));
            let out: Vec<io::Result<Bytes>> = damage(source, rule.body.clone()).collect().await;
            let sent: Vec<u8> = out.iter().flatten().flatten().copied().collect();
            assert_eq!(sent, &whole.as_bytes()[..length], "{rule:?}");
            assert_eq!(out.iter().any(Result::is_err), breaks, "{rule:?}");
            let largest = out.iter().flatten().map(Bytes::len).max();
            assert!(rule.body.chunk.is_none_or(|size| largest <= Some(size)));
        }
    }
}
