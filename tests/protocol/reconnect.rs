//! Reconnecting over HTTP: responses of servers and proxies, and hosts that must never receive a key.

use axum::response::Response;
use runtail_api::Kind;
use runtail_core::model::RunCreate;
use runtail_stream::{Item, JoinTransport, Outcome, Record, RunTransport, Target};
use runtail_testkit::common::follow::{collect, end};
use runtail_testkit::common::{Seen, Server, json, response};
use serde_json::json as value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn numbers(items: &[Item]) -> Vec<u32> {
    let number = |item: &Item| match item {
        Item::Record(Record::Event(event)) => event.data.text().parse().ok(),
        _ => None,
    };
    items.iter().filter_map(number).collect()
}

fn event(n: u32) -> String {
    format!("event: custom\r\ndata: {n}\r\nid: {n}-0\r\n\r\n")
}

/// A stream of these events, which may break off in the middle of the next one.
fn stream_of(events: impl Iterator<Item = u32>, breaks: bool) -> Response {
    let mut body: String = events.map(event).collect();
    if breaks {
        body += "event: cust";
    }
    let mut response = response(200, "text/event-stream", body);
    response
        .headers_mut()
        .insert("content-location", "/threads/t1/runs/r1".parse().unwrap());
    response
}

/// The events after the requested id, of five.
fn rest(seen: &Seen) -> Response {
    let after = seen
        .header("last-event-id")
        .and_then(|id| id.split('-').next()?.parse::<u32>().ok())
        .unwrap_or(0);
    stream_of(after + 1..=5, false)
}

fn run(status: &str) -> Response {
    json(
        200,
        value!({"run_id": "r1", "thread_id": "t1", "status": status}),
    )
}

fn idle() -> Response {
    json(200, value!({"thread_id": "t1", "status": "idle"}))
}

fn start(server: &Server) -> RunTransport {
    let body = RunCreate {
        assistant_id: "agent".into(),
        ..RunCreate::default()
    };
    RunTransport::new(server.agent(), Target::Thread("t1".into()), body)
}

fn with_wait(mut response: Response, seconds: &str) -> Response {
    response
        .headers_mut()
        .insert("retry-after", seconds.parse().unwrap());
    response
}

#[tokio::test]
async fn reconnects_honor_a_busy_servers_retry_after() {
    // The first response is to the run's status request, the second to the stream request.
    let verdicts = Mutex::new(VecDeque::from([
        json(502, "{}"),
        response(502, "text/html", "<html><h1>Bad Gateway</h1></html>"),
    ]));
    let refusals = Mutex::new(VecDeque::from([
        with_wait(json(429, "{}"), "1"),
        with_wait(json(503, "{}"), "1"),
        response(502, "text/html", "<html><h1>Bad Gateway</h1></html>"),
        json(429, "{}"),
    ]));
    let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", _) => stream_of(1..=3, true),
        ("GET", "/threads/t1/runs/r1") => verdicts
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or_else(|| run("success")),
        ("GET", "/threads/t1/runs/r1/stream") => match refusals.lock().unwrap().pop_front() {
            Some(refusal) => refusal,
            None => rest(seen),
        },
        _ => idle(),
    })
    .await;
    let items = collect(start(&server), None).await;
    assert_eq!(numbers(&items), [1, 2, 3, 4, 5]);
    assert_eq!(
        (end(&items).outcome, end(&items).gaps),
        (Outcome::Success, 0),
        "{items:?}"
    );
    let long = Duration::from_secs(1);
    let waits = items.iter().filter_map(|i| {
        if let Item::Retrying { wait, why, .. } = i {
            Some((wait, why))
        } else {
            None
        }
    });
    let asked: Vec<&str> = waits
        .filter(|(wait, _)| **wait >= long)
        .map(|(_, why)| &**why)
        .collect();
    assert!(
        matches!(&asked[..], [a, b] if a.contains("429") && b.contains("503")),
        "{asked:?}"
    );
    assert_eq!(
        server.seen().iter().filter(|s| s.method == "POST").count(),
        1,
        "nothing is started twice"
    );
}

#[tokio::test]
async fn other_hosts_get_neither_requests_nor_keys() {
    let elsewhere = Server::start(|_| json(200, "{}")).await;
    let target = elsewhere
        .url
        .join("/threads/t1/runs/r1/stream")
        .unwrap()
        .to_string();
    let notes: Arc<Mutex<serde_json::Value>> = Arc::default();
    let (kept, location) = (notes.clone(), target.clone());
    let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", _) => {
            *kept.lock().unwrap() = seen.json()["metadata"].clone();
            let mut response = stream_of(1..=3, true);
            for name in ["location", "content-location"] {
                response
                    .headers_mut()
                    .insert(name, location.parse().unwrap());
            }
            response
        }
        ("GET", "/threads/t1/runs") => json(
            200,
            value!([{"run_id": "r1", "metadata": *kept.lock().unwrap()}]),
        ),
        ("GET", "/threads/t1/runs/r1") => run("success"),
        ("GET", "/threads/t1/runs/r1/stream") => rest(seen),
        _ => idle(),
    })
    .await;
    let items = collect(start(&server), None).await;
    assert_eq!(
        (numbers(&items), end(&items).gaps),
        (vec![1, 2, 3, 4, 5], 0)
    );
    // Redirects are not followed either.
    let server = Server::start(move |seen: &Seen| match &*seen.path {
        "/threads/t1/runs/r1/stream" => {
            let mut response = response(307, "text/plain", "");
            response
                .headers_mut()
                .insert("location", target.parse().unwrap());
            response
        }
        _ => run("running"),
    })
    .await;
    let items = collect(
        JoinTransport::new(server.agent(), "t1".into(), "r1".into(), vec![]),
        None,
    )
    .await;
    let failed = items
        .iter()
        .find_map(|i| {
            if let Item::Failed(error) = i {
                Some(error)
            } else {
                None
            }
        })
        .unwrap();
    assert_eq!(failed.kind, Kind::Protocol);
    assert_eq!(elsewhere.seen().len(), 0);
}

#[tokio::test]
async fn a_restarted_server_is_distinguished_from_a_rolled_back_run() {
    for (knows_thread, outcome) in [(true, Outcome::Cancelled), (false, Outcome::Unknown)] {
        let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
            ("POST", _) => stream_of(1..=3, true),
            ("GET", "/threads/t1") if knows_thread => idle(),
            // The Python server's response to a join of an unknown run.
            ("GET", path) if path.ends_with("/stream") => response(
                200,
                "text/event-stream",
                "event: error\r\ndata: {\"error\":\"HTTPException\",\"message\":\"404\"}\r\n\r\n",
            ),
            ("GET", "/info") => json(200, value!({"langgraph_py_version": "1"})),
            _ => json(404, r#"{"detail":"Not Found"}"#),
        })
        .await;
        let items = collect(start(&server), None).await;
        assert_eq!(
            (numbers(&items), end(&items).outcome, end(&items).gaps),
            (vec![1, 2, 3], outcome, 1),
            "{items:?}"
        );
        assert_eq!(
            end(&items).events,
            3,
            "what it says of an unknown run is no event of the run"
        );
    }
}

#[tokio::test]
async fn a_login_page_during_a_reconnect_does_not_end_the_stream() {
    // A login page of a proxy, first for the run's status, then for its stream.
    let page = || response(200, "text/html", "<html><title>Sign in</title></html>");
    let (verdicts, streams) = (Mutex::new(vec![page()]), Mutex::new(vec![page(), page()]));
    let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", _) => stream_of(1..=3, true),
        ("GET", "/threads/t1/runs/r1") => verdicts
            .lock()
            .unwrap()
            .pop()
            .unwrap_or_else(|| run("success")),
        ("GET", "/threads/t1/runs/r1/stream") => {
            streams.lock().unwrap().pop().unwrap_or_else(|| rest(seen))
        }
        _ => idle(),
    })
    .await;
    let items = collect(start(&server), None).await;
    assert_eq!(
        (numbers(&items), end(&items).gaps),
        (vec![1, 2, 3, 4, 5], 0),
        "{items:?}"
    );
    let said = items
        .iter()
        .filter(|i| matches!(i, Item::Retrying { why, .. } if why.contains("HTML")))
        .count();
    assert_eq!(said, 3, "{items:?}");
    // If there never was a stream, it is a wrong address.
    let server = Server::start(move |_| page()).await;
    let items = collect(
        JoinTransport::new(server.agent(), "t1".into(), "r1".into(), vec![]),
        None,
    )
    .await;
    assert_eq!(
        (
            server.seen().len(),
            items
                .iter()
                .filter(|i| matches!(i, Item::Failed(_)))
                .count()
        ),
        (1, 1)
    );
}

#[tokio::test]
async fn retry_after_dates_are_honored() {
    let asked = Mutex::new(false);
    let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", _) => stream_of(1..=3, true),
        ("GET", "/threads/t1/runs/r1") => run("success"),
        ("GET", "/threads/t1/runs/r1/stream")
            if !std::mem::replace(&mut *asked.lock().unwrap(), true) =>
        {
            let until = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3);
            with_wait(
                json(429, "{}"),
                &until.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string(),
            )
        }
        ("GET", "/threads/t1/runs/r1/stream") => rest(seen),
        _ => idle(),
    })
    .await;
    let items = collect(start(&server), None).await;
    assert_eq!(
        (numbers(&items), end(&items).gaps),
        (vec![1, 2, 3, 4, 5], 0)
    );
    // What is left of the three seconds, which is longer than a wait without the header.
    let (least, most) = (Duration::from_millis(50), Duration::from_secs(3));
    let is_kept =
        |i: &&Item| matches!(i, Item::Retrying { wait, .. } if (least..=most).contains(wait));
    assert_eq!(items.iter().filter(is_kept).count(), 1, "{items:?}");
}

/// Events that are published during a replay are both in the store and in the queue. A client that lost the response to
/// a start joins the run from its beginning and receives both.
#[tokio::test]
async fn a_rejoined_start_has_no_duplicates() {
    let notes: Arc<Mutex<serde_json::Value>> = Arc::default();
    let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", _) => {
            *notes.lock().unwrap() = seen.json()["metadata"].clone();
            json(502, "{}")
        }
        ("GET", "/threads/t1/runs") => json(
            200,
            value!([{"run_id": "r1", "metadata": *notes.lock().unwrap()}]),
        ),
        ("GET", "/threads/t1/runs/r1") => run("success"),
        ("GET", "/threads/t1/runs/r1/stream") => {
            let begin =
                "event: metadata\r\ndata: {\"run_id\":\"r1\",\"attempt\":1}\r\nid: 1-0\r\n\r\n"
                    .to_string();
            let events = std::iter::once(begin).chain((1..=5).chain(3..=6).map(event));
            response(200, "text/event-stream", events.collect::<String>())
        }
        _ => idle(),
    })
    .await;
    let items = collect(start(&server), None).await;
    assert_eq!(numbers(&items), [1, 2, 3, 4, 5, 6]);
    assert_eq!(
        (
            end(&items).duplicates,
            end(&items).gaps,
            end(&items).outcome
        ),
        (3, 0, Outcome::Success)
    );
}
