//! The layer between network and servers: records every request and applies the rules to the responses.

use super::agent::Agent;
use super::fault::{Answer, BodyFault, Request, Rule};
use super::world::History;
use crate::prelude::*;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use std::collections::VecDeque;
use std::io;
use tokio_util::sync::CancellationToken;

/// Maximum number of recorded requests; a demo may run for days.
const MAX_REQUESTS: usize = 10_000;
/// Maximum size of a request's body.
const LARGEST: usize = 300 << 20;

/// Requests of all servers, and the rules with the number of requests that each matched.
#[derive(Debug, Default)]
pub struct Script {
    pub requests: VecDeque<Request>,
    pub rules: Vec<(Rule, usize)>,
}

impl Script {
    /// Records a request and finds its rule.
    fn enter(&mut self, request: Request) -> Option<Rule> {
        let mut hit = None;
        for (rule, seen) in self
            .rules
            .iter_mut()
            .filter(|(rule, _)| rule.fits(&request))
        {
            *seen += 1;
            let turn = seen.checked_sub(rule.skip + 1);
            let turn = turn.filter(|turn| rule.times.is_none_or(|times| *turn < times));
            hit = hit.or(turn.map(|_| rule.clone()));
        }
        self.requests.push_back(request);
        if self.requests.len() > MAX_REQUESTS {
            self.requests.pop_front();
        }
        hit
    }
}

/// One server's share.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The script of the whole simulator.
    pub script: Arc<Mutex<Script>>,
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
    let header = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.as_str().to_owned(), value.into_owned())
    };
    let rule = locked(&gate.script).enter(Request {
        at: now(),
        server: gate.server.clone(),
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers.iter().map(header).collect(),
        body: bytes.to_vec(),
    });
    let needed = |_: &_| !NO_HISTORY.contains(&parts.uri.path());
    if let Some((agent, history)) = gate.agent.filter(needed) {
        agent.visit();
        history.await;
    }
    let request = axum::extract::Request::from_parts(parts, Body::from(bytes));
    let Some(rule) = rule else {
        return next.run(request).await;
    };
    tokio::time::sleep(rule.delay).await;
    if rule.hang {
        gate.stop.cancelled().await;
    }
    let response = match rule.answer {
        Some(answer) => scripted(answer),
        None => next.run(request).await,
    };
    if rule.body == BodyFault::default() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    // Drop content-length, so that a clean end does not look broken.
    parts.headers.remove(header::CONTENT_LENGTH);
    let stream = body.into_data_stream();
    let stream = stream.map(|part| part.map_err(io::Error::other)).boxed();
    Response::from_parts(parts, Body::from_stream(damage(stream, rule.body)))
}

fn scripted(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or_default();
    let mut response = (status, answer.body).into_response();
    set_header(&mut response, "content-type", "application/json");
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// A body on its way.
struct Damage {
    source: BoxStream<'static, io::Result<Bytes>>,
    fault: BodyFault,
    ready: VecDeque<Bytes>,
    sent: usize,
    /// The last byte that is no `\r`, and the number of events that ended.
    last: u8,
    events: usize,
    /// How the body ends after what is ready: broken or not.
    end: Option<bool>,
}

/// Sends a body with a fault.
fn damage(
    source: BoxStream<'static, io::Result<Bytes>>,
    fault: BodyFault,
) -> impl Stream<Item = io::Result<Bytes>> {
    let state = Damage {
        source,
        fault,
        ready: VecDeque::new(),
        sent: 0,
        last: 0,
        events: 0,
        end: None,
    };
    stream::unfold(state, |mut state| async move {
        loop {
            if let Some((_, time)) = state.fault.pause.take_if(|(after, _)| state.sent >= *after) {
                tokio::time::sleep(time).await;
            }
            if let Some(bytes) = state.ready.pop_front() {
                state.sent += bytes.len();
                return Some((Ok(bytes), state));
            }
            match state.end {
                Some(false) => return None,
                Some(true) => {
                    state.end = Some(false);
                    // Flush before breaking the connection.
                    tokio::time::sleep(Duration::from_millis(25)).await;
                    return Some((Err(io::Error::other("cut by a rule")), state));
                }
                None => match state.source.next().await? {
                    Ok(bytes) => state.take(bytes),
                    Err(error) => {
                        state.end = Some(false);
                        return Some((Err(error), state));
                    }
                },
            }
        }
    })
}

impl Damage {
    /// Cuts a chunk of the body according to the fault.
    fn take(&mut self, mut bytes: Bytes) {
        let mut cut = None;
        for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| **byte != b'\r') {
            let ends = self.last == b'\n' && *byte == b'\n';
            self.last = if ends { 0 } else { *byte };
            self.events += usize::from(ends);
            if ends && self.fault.cut_events == Some(self.events) {
                cut = Some(at + 1);
            }
        }
        let room = |limit: Option<usize>| {
            let room = limit?.saturating_sub(self.sent);
            Some(room).filter(|room| *room <= bytes.len())
        };
        let ends = [
            (cut, true),
            (room(self.fault.cut_bytes), true),
            (room(self.fault.close_bytes), false),
        ];
        let ends = ends
            .into_iter()
            .filter_map(|(at, breaks)| Some((at?, breaks)));
        if let Some((at, breaks)) = ends.min() {
            bytes.truncate(at);
            self.end = Some(breaks);
        }
        let pause = self
            .fault
            .pause
            .map_or(0, |(after, _)| after.saturating_sub(self.sent));
        let head = bytes.split_to(pause.min(bytes.len()));
        for mut part in [head, bytes] {
            while !part.is_empty() {
                let size = self.fault.chunk.unwrap_or(usize::MAX);
                self.ready.push_back(part.split_to(size.min(part.len())));
            }
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
            (rule().cut_after_events(2), 42, true),
            (rule().cut_after_bytes(7), 7, true),
            (rule().close_after_bytes(21), 21, false),
            (rule().rechunk(4), whole.len(), false),
            (
                rule().pause_after_bytes(3, Duration::ZERO),
                whole.len(),
                false,
            ),
        ] {
            let source =
                stream::iter(parts.map(|part| Ok(Bytes::from_static(part.as_bytes())))).boxed();
            let out: Vec<io::Result<Bytes>> = damage(source, rule.body.clone()).collect().await;
            let sent: Vec<u8> = out.iter().flatten().flatten().copied().collect();
            assert_eq!(sent, &whole.as_bytes()[..length], "{rule:?}");
            assert_eq!(out.iter().any(Result::is_err), breaks, "{rule:?}");
            let largest = out.iter().flatten().map(Bytes::len).max();
            assert!(rule.body.chunk.is_none_or(|size| largest <= Some(size)));
        }
    }
}
