//! Stream links against small servers: the requests, their order and their number.

use axum::body::Body;
use axum::response::Response;
use futures::{StreamExt, stream as streams};
use runtail_api::Kind;
use runtail_core::model::RunCreate;
use runtail_stream::{
    Item, JoinTransport, Outcome, Record, RunState, RunTransport, Target, ThreadTransport,
    Transport,
};
use runtail_testkit::common::follow::{collect, end, failed, gaps};
use runtail_testkit::common::{Seen, Server, json, response};
use serde_json::{Value, json as value};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

const ONE: &str = "event: metadata\r\ndata: {\"run_id\":\"r1\",\"attempt\":1}\r\nid: 1-0\r\n\r\n";

fn stream(body: &'static str) -> Response {
    let mut response = response(200, "text/event-stream", body);
    response
        .headers_mut()
        .insert("content-location", "/threads/t1/runs/r1".parse().unwrap());
    response
}

fn run(status: &str) -> Response {
    json(
        200,
        value!({"run_id": "r1", "thread_id": "t1", "status": status}),
    )
}

fn told(seen: &[Seen]) -> Vec<String> {
    seen.iter()
        .map(|s| format!("{} {}", s.method, s.path))
        .collect()
}

fn agent() -> RunCreate {
    RunCreate {
        assistant_id: "agent".into(),
        metadata: Some(value!({"mine": 1})),
        ..RunCreate::default()
    }
}

#[tokio::test]
async fn a_run_on_a_new_thread_is_created_and_read() {
    let server = Server::start(|seen| match (&*seen.method, &*seen.path) {
        ("POST", "/threads") => json(
            200,
            value!({"thread_id": seen.json()["thread_id"], "status": "idle"}),
        ),
        ("POST", _) => stream(ONE),
        ("GET", path) if path.ends_with("/runs/r1") => run("success"),
        _ => json(200, value!({"thread_id": "t1", "status": "idle"})),
    })
    .await;
    let link = RunTransport::new(server.agent(), Target::NewThread, agent());
    let thread = link.thread_id().unwrap().to_string();
    let items = collect(link, None).await;
    assert_eq!(
        (end(&items).outcome, end(&items).events, end(&items).gaps),
        (Outcome::Success, 1, 0)
    );
    assert!(
        items
            .iter()
            .any(|i| matches!(i, Item::Started { run_id, .. } if run_id == "r1"))
    );
    let seen = server.seen();
    assert_eq!(
        told(&seen),
        [
            "POST /threads".into(),
            "GET /info".into(),
            format!("POST /threads/{thread}/runs/stream"),
            format!("GET /threads/{thread}/runs/r1"),
            format!("GET /threads/{thread}"),
        ]
    );
    let body = seen[2].json();
    assert_eq!(
        (&body["stream_resumable"], &body["on_disconnect"]),
        (&value!(true), &value!("continue"))
    );
    assert!(body["metadata"]["runtail"].is_string() && body["metadata"]["mine"] == 1);
}

/// A server that loses the response to a start, with or without creating the run.
async fn losing(is_known: bool, status: u16) -> (Server, Arc<Mutex<Value>>) {
    let notes: Arc<Mutex<Value>> = Arc::default();
    let kept = notes.clone();
    let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", _) => {
            *kept.lock().unwrap() = seen.json()["metadata"].clone();
            json(status, value!({"detail": "lost"}))
        }
        ("GET", "/threads/t1/runs") if is_known => {
            let other = value!({"run_id": "r0", "metadata": {"runtail": "another"}});
            json(
                200,
                value!([other, {"run_id": "r1", "metadata": *kept.lock().unwrap()}]),
            )
        }
        ("GET", "/threads/t1/runs") => json(200, value!([])),
        ("GET", "/threads/t1/runs/r1/stream") => response(200, "text/event-stream", ONE),
        ("GET", "/threads/t1/runs/r1") => run("success"),
        _ => json(200, value!({"thread_id": "t1", "status": "idle"})),
    })
    .await;
    (server, notes)
}

fn starts(server: &Server) -> usize {
    server.seen().iter().filter(|s| s.method == "POST").count()
}

#[tokio::test]
async fn a_lost_start_is_looked_up_and_never_resent() {
    let (server, _) = losing(true, 502).await;
    let items = collect(
        RunTransport::new(server.agent(), Target::Thread("t1".into()), agent()),
        None,
    )
    .await;
    assert_eq!(
        (end(&items).outcome, end(&items).events),
        (Outcome::Success, 1)
    );
    assert!(
        items
            .iter()
            .any(|i| matches!(i, Item::Started { run_id, .. } if run_id == "r1"))
    );
    assert_eq!(starts(&server), 1);
    let seen = server.seen();
    let join = seen
        .iter()
        .find(|s| s.path.ends_with("/r1/stream"))
        .unwrap();
    assert_eq!(
        (join.header("last-event-id"), &*join.query),
        (Some("-1"), "")
    );
}

#[tokio::test]
async fn a_lost_start_is_read_from_its_beginning_even_if_the_first_connection_fails() {
    let (notes, attempts): (Arc<Mutex<Value>>, Arc<Mutex<u32>>) = Default::default();
    let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
        ("POST", _) => {
            *notes.lock().unwrap() = seen.json()["metadata"].clone();
            json(502, value!({"detail": "lost"}))
        }
        ("GET", "/threads/t1/runs") => json(
            200,
            value!([{"run_id": "r1", "metadata": *notes.lock().unwrap()}]),
        ),
        ("GET", "/threads/t1/runs/r1/stream") => {
            let mut attempts = attempts.lock().unwrap();
            *attempts += 1;
            match *attempts {
                1 => json(503, value!({"detail": "starting"})),
                _ => response(200, "text/event-stream", ONE),
            }
        }
        ("GET", "/threads/t1/runs/r1") => run("success"),
        _ => json(200, value!({"thread_id": "t1", "status": "idle"})),
    })
    .await;
    let items = collect(
        RunTransport::new(server.agent(), Target::Thread("t1".into()), agent()),
        None,
    )
    .await;
    assert_eq!(
        (end(&items).outcome, end(&items).events, starts(&server)),
        (Outcome::Success, 1, 1)
    );
    let seen = server.seen();
    let joins: Vec<_> = seen
        .iter()
        .filter(|seen| seen.path.ends_with("/r1/stream"))
        .collect();
    assert_eq!(joins.len(), 2);
    assert!(
        joins
            .iter()
            .all(|join| join.header("last-event-id") == Some("-1")),
        "both ask for the whole run"
    );
}

#[tokio::test]
async fn a_run_that_cannot_be_found_is_not_restarted() {
    let (server, _) = losing(false, 502).await;
    let items = collect(
        RunTransport::new(server.agent(), Target::Thread("t1".into()), agent()),
        None,
    )
    .await;
    assert_eq!(starts(&server), 1);
    assert_eq!(failed(&items).unwrap().kind, Kind::Refused);
    assert_eq!(end(&items).outcome, Outcome::Unknown);
    let (server, _) = losing(false, 502).await;
    let items = collect(
        RunTransport::new(server.agent(), Target::Stateless, agent()),
        None,
    )
    .await;
    assert_eq!(starts(&server), 1);
    assert!(failed(&items).unwrap().detail.contains("may be running"));
}

#[tokio::test]
async fn rejections_are_final_and_busy_servers_are_retried() {
    let (server, _) = losing(true, 422).await;
    let items = collect(
        RunTransport::new(server.agent(), Target::Thread("t1".into()), agent()),
        None,
    )
    .await;
    assert_eq!(starts(&server), 1);
    assert!(
        !server
            .seen()
            .iter()
            .any(|seen| seen.path.ends_with("/stream") && seen.method == "GET")
    );
    assert!(matches!(failed(&items).unwrap().kind, Kind::Invalid(_)));
    // A 429 with a Retry-After means that nothing was started; one without may come from a proxy.
    let (server, _) = losing(true, 429).await;
    let items = collect(
        RunTransport::new(server.agent(), Target::Thread("t1".into()), agent()),
        None,
    )
    .await;
    assert_eq!(
        (starts(&server), &failed(&items).unwrap().kind),
        (1, &Kind::Status(429))
    );
    assert!(
        failed(&items)
            .unwrap()
            .to_string()
            .contains("was not sent again")
    );
    let server = Server::start(|_| {
        let response = Response::builder()
            .status(429)
            .header("content-type", "application/json");
        response
            .header("retry-after", "0")
            .body("{}".into())
            .unwrap()
    })
    .await;
    collect(
        RunTransport::new(server.agent(), Target::Thread("t1".into()), agent()),
        None,
    )
    .await;
    assert_eq!(starts(&server), 5);
}

async fn outcome(
    info: Value,
    status: &'static str,
    thread: Value,
    state: Value,
) -> (Outcome, Option<String>) {
    let server = Server::start(move |seen| match &*seen.path {
        "/info" => json(200, &info),
        "/threads/t1/runs/r1/stream" => response(200, "text/event-stream", ONE),
        "/threads/t1/runs/r1" if status == "gone" => json(404, "{}"),
        "/threads/t1/runs/r1" => run(status),
        "/threads/t1/state" => json(200, &state),
        _ => json(200, &thread),
    })
    .await;
    let mut link = JoinTransport::new(server.agent(), "t1".into(), "r1".into(), vec![]);
    if status == "gone" {
        // It existed when it was joined.
        return match link.run_state(None).await.unwrap() {
            RunState::NotFound(outcome, detail) => (outcome, detail),
            other => panic!("{other:?}"),
        };
    }
    let items = collect(link, Some("-1")).await;
    (end(&items).outcome, end(&items).detail.clone())
}

#[tokio::test]
async fn outcomes_are_read_from_server_records() {
    let python = || value!({"langgraph_py_version": "1"});
    let idle = || value!({"thread_id": "t1", "status": "idle"});
    let waiting = value!({"thread_id": "t1", "status": "interrupted", "interrupts": {"x": [{"id": "1", "value": "Go?"}]}});
    let broken = value!({"thread_id": "t1", "status": "error", "error": {"error": "ValueError", "message": "boom"}});
    let none = || value!({});
    assert_eq!(
        outcome(python(), "success", idle(), none()).await,
        (Outcome::Success, None)
    );
    assert_eq!(
        outcome(python(), "success", waiting.clone(), none()).await,
        (Outcome::Interrupted, Some("Go?".into()))
    );
    assert_eq!(
        outcome(python(), "interrupted", waiting, none()).await,
        (Outcome::Cancelled, None)
    );
    assert_eq!(
        outcome(python(), "error", broken, none()).await,
        (Outcome::Error, Some("ValueError: boom".into()))
    );
    assert_eq!(
        outcome(python(), "timeout", idle(), none()).await.0,
        Outcome::Timeout
    );
    assert_eq!(
        outcome(python(), "gone", idle(), none()).await.0,
        Outcome::Cancelled
    );
    let aegra = || value!({"name": "Aegra"});
    let asks = value!({"tasks": [{"interrupts": [{"value": "Go?"}]}]});
    assert_eq!(
        outcome(aegra(), "interrupted", idle(), asks).await,
        (Outcome::Interrupted, Some("Go?".into()))
    );
    assert_eq!(
        outcome(aegra(), "interrupted", idle(), none()).await.0,
        Outcome::Cancelled
    );
    assert_eq!(
        outcome(aegra(), "odd", idle(), none()).await.0,
        Outcome::Unknown
    );
    // Aegra (0.11.0) at a breakpoint; the thread of a cancelled run is idle.
    let left = || value!({"next": ["tools"], "tasks": [{"interrupts": []}]});
    let stopped = value!({"thread_id": "t1", "status": "interrupted"});
    assert_eq!(
        outcome(newer_aegra(), "interrupted", stopped, left()).await,
        (Outcome::Interrupted, None)
    );
    assert_eq!(
        outcome(newer_aegra(), "success", idle(), left()).await,
        (Outcome::Interrupted, None)
    );
    assert_eq!(
        outcome(newer_aegra(), "interrupted", idle(), left())
            .await
            .0,
        Outcome::Cancelled
    );
}

#[tokio::test]
async fn unknown_runs_and_threads_fail_before_connecting() {
    let python = |seen: &Seen| match &*seen.path {
        "/info" => json(200, value!({"langgraph_py_version": "1"})),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    };
    let server = Server::start(python).await;
    let items = collect(
        JoinTransport::new(server.agent(), "t1".into(), "r9".into(), vec![]),
        Some("-1"),
    )
    .await;
    assert_eq!(failed(&items).unwrap().kind, Kind::NotFound);
    assert_eq!(
        told(&server.seen()),
        ["GET /threads/t1/runs/r9", "GET /info"]
    );
    let server = Server::start(python).await;
    let items = collect(
        ThreadTransport::new(server.agent(), "t9".into(), vec![]),
        None,
    )
    .await;
    assert_eq!(failed(&items).unwrap().kind, Kind::NotFound);
    assert_eq!(told(&server.seen()), ["GET /threads/t9", "GET /info"]);
}

/// A server with only the contract's endpoints: threads and runs have streams but no records.
#[tokio::test]
async fn streams_work_without_status_endpoints() {
    let two = "event: error\r\ndata: {\"error\":\"E\",\"message\":\"boom\"}\r\nid: 2-0\r\n\r\n";
    let asks = "event: updates\r\ndata: {\"__interrupt__\":[]}\r\nid: 2-0\r\n\r\n";
    for (more, outcome) in [
        ("", Outcome::Success),
        (two, Outcome::Error),
        (asks, Outcome::Interrupted),
    ] {
        let body: &'static str = format!("{ONE}{more}").leak();
        let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
            ("POST", "/threads") => json(200, value!({"thread_id": "t1"})),
            (_, path) if path.ends_with("/stream") => stream(body),
            _ => json(404, r#"{"detail":"Not Found"}"#),
        })
        .await;
        let links = |server: &Server| {
            let join = JoinTransport::new(server.agent(), "t1".into(), "r1".into(), vec![]);
            (
                RunTransport::new(server.agent(), Target::NewThread, agent()),
                join,
            )
        };
        let (started, joined) = links(&server);
        for items in [
            collect(started, None).await,
            collect(joined, Some("-1")).await,
        ] {
            assert_eq!(
                (end(&items).outcome, end(&items).gaps),
                (outcome, 0),
                "{items:?}"
            );
            assert_eq!(end(&items).events, 1 + u64::from(!more.is_empty()));
        }
        let seen = server.seen();
        assert!(
            seen.iter()
                .all(|s| s.header("last-event-id") != Some("1-0")),
            "no end is taken for a cut"
        );
    }
    // A thread without a record is followed until its stream disappears.
    let opened = Arc::new(AtomicU32::new(0));
    let server = Server::start(move |seen| match &*seen.path {
        "/threads/t1/stream" if opened.fetch_add(1, Ordering::Relaxed) < 2 => {
            response(200, "text/event-stream", ONE)
        }
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let items = collect(
        ThreadTransport::new(server.agent(), "t1".into(), vec!["run_modes".into()]),
        Some("-"),
    )
    .await;
    assert_eq!((end(&items).events, end(&items).connections), (1, 2));
    assert_eq!(failed(&items).unwrap().kind, Kind::NotFound);
}

#[tokio::test]
async fn a_thread_is_followed_until_it_is_deleted() {
    for (info, query, is_python) in [
        (
            value!({"langgraph_py_version": "1"}),
            "stream_modes=run_modes%2Clifecycle",
            true,
        ),
        (
            value!({"context": "js"}),
            "stream_modes=run_modes&stream_modes=lifecycle",
            false,
        ),
    ] {
        let asked = Arc::new(AtomicU32::new(0));
        let server = Server::start(move |seen| match &*seen.path {
            "/info" => json(200, &info),
            "/threads/t1" if asked.fetch_add(1, Ordering::Relaxed) == 3 => json(404, "{}"),
            "/threads/t1" => json(200, value!({"thread_id": "t1"})),
            "/threads/t1/runs" => json(200, value!([{"run_id": "r1", "status": "success"}])),
            _ => response(200, "text/event-stream", ONE),
        })
        .await;
        let modes = vec!["run_modes".into(), "lifecycle".into()];
        let items = collect(
            ThreadTransport::new(server.agent(), "t1".into(), modes),
            Some("-"),
        )
        .await;
        let seen = server.seen();
        let streams: Vec<_> = seen
            .iter()
            .filter(|s| s.path.ends_with("/stream"))
            .collect();
        assert!(streams.iter().all(|s| s.query == query));
        // Past and present are requested separately from the Python server.
        let asked: Vec<_> = streams.iter().map(|s| s.header("last-event-id")).collect();
        let expected = if is_python {
            [None, Some("-")].repeat(3)
        } else {
            [Some("-")].repeat(3)
        };
        assert_eq!(asked, expected);
        assert_eq!(
            (
                end(&items).events,
                end(&items).duplicates,
                end(&items).connections
            ),
            (1, 2, 3)
        );
        assert_eq!(failed(&items).unwrap().kind, Kind::NotFound);
        assert!(!items.iter().any(|i| matches!(i, Item::Started { .. })));
    }
}

#[tokio::test]
async fn a_thread_that_is_opened_late_was_not_disconnected() {
    const LIVE: &str = "event: custom\r\ndata: 1\r\nid: 1800000000000-0\r\n\r\n";
    let asked = Arc::new(AtomicU32::new(0));
    let server = Server::start(move |seen| match &*seen.path {
        "/info" => json(200, value!({"langgraph_py_version": "1"})),
        "/threads/t1" if asked.fetch_add(1, Ordering::Relaxed) == 2 => json(404, "{}"),
        "/threads/t1" => json(200, value!({"thread_id": "t1"})),
        "/threads/t1/runs" => json(
            200,
            value!([{"run_id": "r1", "status": "running", "kwargs": {"resumable": false}}]),
        ),
        _ if seen.header("last-event-id").is_none() => response(200, "text/event-stream", LIVE),
        _ => response(200, "text/event-stream", ""),
    })
    .await;
    let items = collect(
        ThreadTransport::new(server.agent(), "t1".into(), vec!["run_modes".into()]),
        Some("-"),
    )
    .await;
    let why = gaps(&items);
    assert!(
        why[0].starts_with("joined at ")
            && why[0].contains("run r1 began before: its earlier output"),
        "{why:?}"
    );
    // After a reconnect the events in between are missing.
    assert!(
        why[1]
            .ends_with("run r1 is not resumable; events sent while the stream was closed are lost"),
        "{why:?}"
    );
}

#[tokio::test]
async fn manual_state_edits_during_an_outage_may_be_missing() {
    for (modes, said) in [
        (&["run_modes", "state_update"][..], 1),
        (&["state_update"], 1),
        (&["run_modes"], 0),
    ] {
        let asked = Arc::new(AtomicU32::new(0));
        let server = Server::start(move |seen| match &*seen.path {
            "/info" => json(200, value!({"langgraph_py_version": "1"})),
            "/threads/t1" if asked.fetch_add(1, Ordering::Relaxed) == 2 => json(404, "{}"),
            "/threads/t1" => json(200, value!({"thread_id": "t1"})),
            "/threads/t1/runs" => json(200, value!([])),
            _ => response(200, "text/event-stream", ONE),
        })
        .await;
        let modes = modes.iter().map(|mode| mode.to_string()).collect();
        let items = collect(
            ThreadTransport::new(server.agent(), "t1".into(), modes),
            None,
        )
        .await;
        let is_said = |item: &&Item| {
            matches!(item, Item::Record(Record::Gap { why, .. })
                if why.starts_with("disconnected for") && why.contains("state updates are never replayed"))
        };
        assert_eq!(items.iter().filter(is_said).count(), said, "{items:?}");
        assert_eq!(end(&items).connections, 2);
    }
}

/// Joins a run with this status on a server with counting ids. Returns for each event whether it was replayed.
async fn replayed_of(status: &'static str) -> Vec<bool> {
    let body =
        "event: metadata\ndata: {\"run_id\":\"r1\"}\nid: 0\n\nevent: values\ndata: {}\nid: 1\n\n";
    let asked = Arc::new(AtomicU32::new(0));
    let server = Server::start(move |seen| match &*seen.path {
        "/info" => json(200, value!({"langgraph_js_version": "1"})),
        "/threads/t1/runs/r1/stream" => response(200, "text/event-stream", body),
        // The status at the join; the run ends with its stream.
        "/threads/t1/runs/r1" if asked.fetch_add(1, Ordering::Relaxed) > 0 => run("success"),
        "/threads/t1/runs/r1" => json(
            200,
            value!({"run_id": "r1", "status": status, "kwargs": {"resumable": true}}),
        ),
        _ => json(200, value!({"thread_id": "t1", "status": "idle"})),
    })
    .await;
    let items = collect(
        JoinTransport::new(server.agent(), "t1".into(), "r1".into(), vec![]),
        Some("-1"),
    )
    .await;
    let event = |item: &Item| {
        if let Item::Record(Record::Event(event)) = item {
            Some(event.replayed)
        } else {
            None
        }
    };
    items.iter().filter_map(event).collect()
}

#[tokio::test]
async fn a_joined_run_is_replayed_unless_pending() {
    assert_eq!(replayed_of("success").await, [true, true]);
    assert_eq!(replayed_of("running").await, [true, true]);
    assert_eq!(replayed_of("pending").await, [false, false]);
}

/// A server of this kind with the run r1, whose stream sends this body. Once the stream was read, the run is over.
async fn with_run(info: Value, status: &'static str, kwargs: Value, body: &'static str) -> Server {
    let read = Arc::new(AtomicU32::new(0));
    Server::start(move |seen| match &*seen.path {
        "/info" if info.is_null() => json(404, "{}"),
        "/info" => json(200, &info),
        "/threads/t1/runs/r1/stream" => {
            read.fetch_add(1, Ordering::Relaxed);
            response(200, "text/event-stream", body)
        }
        // A server that offers only the contract's calls.
        _ if info.is_null() => json(404, "{}"),
        "/threads/t1/runs/r1" => {
            let status = if read.load(Ordering::Relaxed) > 0 {
                "success"
            } else {
                status
            };
            json(
                200,
                value!({"run_id": "r1", "status": status, "kwargs": kwargs}),
            )
        }
        "/threads/t1/state" => json(200, "{}"),
        _ => json(200, value!({"thread_id": "t1", "status": "idle"})),
    })
    .await
}

fn python() -> Value {
    value!({"langgraph_py_version": "1"})
}

fn javascript() -> Value {
    value!({"langgraph_js_version": "1"})
}

fn aegra() -> Value {
    value!({"name": "Aegra"})
}

fn ids(items: &[Item]) -> Vec<&str> {
    let id = |item| match item {
        &Item::Record(Record::Event(ref event)) => Some(event.id.as_deref().unwrap_or("none")),
        _ => None,
    };
    items.iter().filter_map(id).collect()
}

async fn joined(server: &Server, shared: bool, modes: &[&str]) -> Vec<Item> {
    let modes = modes.iter().map(|mode| mode.to_string()).collect();
    let link = JoinTransport::new(server.agent(), "t1".into(), "r1".into(), modes).shared(shared);
    collect(link, Some("-1")).await
}

const BEGIN: &str = "event: metadata\ndata: {\"run_id\":\"r1\",\"attempt\":1}\n\n";
const LATER: &str = "event: values\ndata: {}\n\n";

#[tokio::test]
async fn joining_an_unresumable_run_late_is_a_gap() {
    let lost = || value!({"resumable": false});
    let kept = || value!({"resumable": true});
    let late = "earlier output isn't available";
    let both: &'static str = format!("{BEGIN}{LATER}").leak();
    for (info, kwargs, body, said) in [
        (python(), lost(), LATER, Some(late)),
        // Complete, as the first event shows.
        (python(), lost(), both, None),
        (python(), kept(), both, None),
        // Expired, or lost with a restart of the server.
        (python(), kept(), LATER, Some(late)),
        (python(), kept(), "", Some(late)),
        // With the contract's calls only, the first event decides.
        (Value::Null, lost(), LATER, Some(late)),
        (Value::Null, lost(), both, None),
    ] {
        let server = with_run(info.clone(), "running", kwargs.clone(), body).await;
        let items = joined(&server, false, &[]).await;
        assert_eq!(
            gaps(&items).len(),
            said.iter().count(),
            "{info} {kwargs} {body:?}: {:?}",
            gaps(&items)
        );
        assert!(
            said.is_none_or(|said| gaps(&items)[0].ends_with(said)),
            "{info} {kwargs} {body:?}: {:?}",
            gaps(&items)
        );
        assert_eq!(
            (end(&items).outcome, end(&items).gaps),
            (Outcome::Success, gaps(&items).len() as u64)
        );
        // The gap precedes the event that reveals it.
        if said.is_some() && !body.is_empty() {
            let at = items
                .iter()
                .position(|item| matches!(item, Item::Record(Record::Gap { .. })))
                .unwrap();
            assert!(matches!(items[at + 1], Item::Record(Record::Event(_))));
        }
    }
}

#[tokio::test]
async fn a_finished_run_without_events_ends_with_its_recorded_outcome() {
    for (info, resumable, status, outcome, why) in [
        (
            python(),
            false,
            "error",
            Outcome::Error,
            "not started as resumable",
        ),
        (
            aegra(),
            true,
            "success",
            Outcome::Success,
            "keeps no events of finished runs",
        ),
        (
            aegra(),
            false,
            "error",
            Outcome::Error,
            "keeps no events of finished runs",
        ),
    ] {
        let server = with_run(
            info,
            status,
            value!({"resumable": resumable}),
            "event: end\ndata: {}\n\n",
        )
        .await;
        let items = joined(&server, false, &[]).await;
        assert_eq!(
            (end(&items).outcome, end(&items).events, end(&items).gaps),
            (outcome, 0, 1)
        );
        assert!(gaps(&items)[0].contains(why), "{:?}", gaps(&items));
        assert!(matches!(&items[1], Item::Record(Record::Head(head)) if !head.modes.is_empty()));
        assert!(
            !server
                .seen()
                .iter()
                .any(|seen| seen.path.ends_with("/stream")),
            "nothing is read"
        );
    }
    // A server that stores events, but no longer has these.
    let server = with_run(python(), "success", value!({"resumable": true}), "").await;
    let items = joined(&server, false, &[]).await;
    assert_eq!(
        (end(&items).outcome, end(&items).gaps),
        (Outcome::Success, 1)
    );
    assert!(
        gaps(&items)[0].contains("no longer has its events"),
        "{:?}",
        gaps(&items)
    );
    // And one without other endpoints.
    let server = with_run(Value::Null, "", Value::Null, "").await;
    let items = joined(&server, false, &[]).await;
    assert_eq!(
        (end(&items).outcome, end(&items).gaps),
        (Outcome::Unknown, 1)
    );
}

fn newer_aegra() -> Value {
    value!({"name": "Aegra", "version": "0.11.0"})
}

/// Since 0.9.25 all readers of Aegra get all events, and a finished run is replayed for ten minutes.
#[tokio::test]
async fn a_run_of_aegra_is_read_by_everyone_and_replayed() {
    let body = include_str!("../captures/agents/aegra-finished-replay.sse");
    for status in ["running", "success"] {
        let server = with_run(newer_aegra(), status, Value::Null, body).await;
        let items = joined(&server, false, &[]).await;
        assert_eq!(
            (end(&items).outcome, ids(&items).len()),
            (Outcome::Success, 38),
            "{:?}",
            failed(&items)
        );
        assert_eq!(gaps(&items), [""; 0]);
        let read = server
            .seen()
            .into_iter()
            .find(|seen| seen.path.ends_with("/stream"))
            .unwrap();
        assert_eq!(
            read.header("last-event-id"),
            Some("-1"),
            "without it, only the end is sent"
        );
    }
    // What is no longer kept, as after a restart, is never sent: the connection stays open, with heartbeats.
    let server = Server::start(|seen| match &*seen.path {
        "/info" => json(200, newer_aegra()),
        "/threads/t1/runs/r1/stream" => {
            let ping = streams::once(async { Ok::<_, Infallible>(": ping\n\n") })
                .chain(streams::pending());
            response(200, "text/event-stream", Body::from_stream(ping))
        }
        "/threads/t1/runs/r1" => run("success"),
        "/threads/t1/state" => json(200, "{}"),
        _ => json(200, value!({"thread_id": "t1", "status": "idle"})),
    })
    .await;
    let items = joined(&server, false, &[]).await;
    assert_eq!(
        (end(&items).outcome, end(&items).events, end(&items).gaps),
        (Outcome::Success, 0, 1)
    );
    assert!(
        gaps(&items)[0].contains("no longer has its events"),
        "{:?}",
        gaps(&items)
    );
}

#[tokio::test]
async fn single_reader_runs_are_not_read_without_consent() {
    let body = "event: metadata\ndata: {\"run_id\":\"r1\",\"attempt\":1}\nid: 0\n\n";
    for (info, resumable) in [(javascript(), false), (aegra(), false), (aegra(), true)] {
        let server = with_run(
            info.clone(),
            "running",
            value!({"resumable": resumable}),
            body,
        )
        .await;
        let items = joined(&server, false, &[]).await;
        let error = failed(&items).unwrap();
        assert_eq!(
            (&error.kind, end(&items).outcome),
            (&Kind::OneReader, Outcome::Unknown)
        );
        assert!(
            error
                .detail
                .contains("takes events away from the application"),
            "{error}"
        );
        assert!(
            error.at.path.ends_with("/threads/t1/runs/r1/stream"),
            "{error}"
        );
        assert!(
            !server
                .seen()
                .iter()
                .any(|seen| seen.path.ends_with("/stream")),
            "nothing is read"
        );
    }
    // It is read on request. Reading a replayable or finished run affects no other reader.
    for (resumable, status, shared) in [
        (false, "running", true),
        (true, "running", false),
        (false, "success", false),
        (true, "success", false),
    ] {
        let server = with_run(javascript(), status, value!({"resumable": resumable}), body).await;
        let items = joined(&server, shared, &[]).await;
        assert_eq!(
            (end(&items).outcome, ids(&items), gaps(&items).len()),
            (Outcome::Success, vec!["0"], 0)
        );
    }
}

#[tokio::test]
async fn skipped_numbers_are_gaps_when_readers_alternate() {
    let event = |n: u32| format!("event: custom\ndata: {n}\nid: {n}\n\n");
    let body: &'static str = [99, 101, 103, 104].map(event).concat().leak();
    let server = with_run(javascript(), "running", value!({"resumable": false}), body).await;
    let items = joined(&server, true, &[]).await;
    let said = gaps(&items);
    assert!(
        said[0].ends_with("99 earlier events aren't available"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("1 event id is missing") && said[2] == said[1],
        "{said:?}"
    );
    // Ids can't show what is missing at the end, but there was another reader.
    assert!(said[3].contains("the last ones may be missing"), "{said:?}");
    assert_eq!((said.len(), end(&items).gaps), (4, 4));
}

/// Aegra sends stored events in another form, and then the same events from the queue.
#[tokio::test]
async fn a_stored_event_repeated_live_is_a_duplicate() {
    let event = |(name, n, data): (&str, u32, &str)| {
        format!("event: {name}\ndata: {data}\nid: r1_event_{n}\n\n")
    };
    let events = [
        ("values", 2, r#"{"a":1,"b":2}"#),
        ("values", 4, "{}"),
        ("metadata", 1, r#"{"run_id":"r1","attempt":1}"#),
        ("values", 2, r#"{"b":2,"a":1}"#),
        ("custom", 3, "1"),
        ("values", 4, "{}"),
        ("values", 5, "{}"),
    ];
    let body: &'static str = events.map(event).concat().leak();
    let server = with_run(aegra(), "running", value!({}), body).await;
    let items = joined(&server, true, &[]).await;
    assert_eq!(
        ids(&items),
        [
            "r1_event_1",
            "r1_event_2",
            "r1_event_3",
            "r1_event_4",
            "r1_event_5"
        ]
    );
    assert_eq!(
        (
            end(&items).duplicates,
            gaps(&items).len(),
            end(&items).outcome
        ),
        (2, 0, Outcome::Success)
    );
    let texts: Vec<_> = items
        .iter()
        .filter_map(|item| {
            if let Item::Record(Record::Event(event)) = item {
                Some(&**event.data.text())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(texts[1], r#"{"b":2,"a":1}"#, "the live form");
    // Only stored events: the application took the live ones.
    let body: &'static str = [events[0], events[1]].map(event).concat().leak();
    let server = with_run(aegra(), "running", value!({}), body).await;
    let items = joined(&server, true, &[]).await;
    assert_eq!(ids(&items), ["r1_event_2", "r1_event_4"]);
    assert!(
        gaps(&items)[0].ends_with("1 earlier event isn't available"),
        "{:?}",
        gaps(&items)
    );
    assert!(
        gaps(&items)[1].starts_with("1 event id is missing"),
        "{:?}",
        gaps(&items)
    );
}

#[tokio::test]
async fn modes_are_filtered_locally_if_the_server_cannot() {
    let event = |(name, n): (&str, u32)| {
        let data = if name == "metadata" {
            r#"{"run_id":"r1","attempt":1}"#
        } else {
            "1"
        };
        format!("event: {name}\ndata: {data}\nid: {n}\n\n")
    };
    let events = [
        ("metadata", 0),
        ("values", 1),
        ("updates", 2),
        ("custom", 3),
        ("updates", 4),
        ("error", 5),
    ];
    let body: &'static str = events.map(event).concat().leak();
    let kept = || value!({"resumable": true, "stream_mode": ["values", "updates", "custom"]});
    let server = with_run(javascript(), "running", kept(), body).await;
    let items = joined(&server, false, &["updates"]).await;
    let names: Vec<_> = items
        .iter()
        .filter_map(|item| {
            if let Item::Record(Record::Event(event)) = item {
                Some((&*event.name, event.seq.0))
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        names,
        [
            ("metadata", 1),
            ("updates", 2),
            ("updates", 3),
            ("error", 4)
        ]
    );
    assert_eq!((end(&items).events, end(&items).gaps), (4, 0));
    let stream = server
        .seen()
        .into_iter()
        .find(|seen| seen.path.ends_with("/stream"))
        .unwrap();
    assert_eq!(stream.query, "", "the server ignores it");
    // All events, named by the modes of the run's start.
    let items = joined(&server, false, &[]).await;
    assert_eq!(end(&items).events, 6);
    assert!(
        matches!(&items[1], Item::Record(Record::Head(head)) if head.modes == ["values", "updates", "custom"])
    );
}

/// Starts a server whose run records have no metadata, like Aegra's, and that loses the response to a start. `new` are the runs
/// that exist afterwards.
async fn losing_without_metadata(new: Value) -> Server {
    let started = Arc::new(AtomicU32::new(0));
    Server::start(move |seen| match (&*seen.method, &*seen.path) {
        (_, "/info") => json(200, aegra()),
        ("POST", "/threads") => json(200, value!({"thread_id": seen.json()["thread_id"]})),
        ("POST", "/assistants/search") => json(
            200,
            value!([{"assistant_id": "a-1", "graph_id": "agent"}, {"assistant_id": "a-2", "graph_id": "other"}]),
        ),
        ("POST", _) => {
            started.fetch_add(1, Ordering::Relaxed);
            json(502, "{}")
        }
        ("GET", path) if path.ends_with("/runs") => {
            let mut runs = vec![value!({"run_id": "r0", "assistant_id": "a-1", "input": {"x": 1}})];
            if started.load(Ordering::Relaxed) > 0 {
                runs.extend(new.as_array().unwrap().clone());
            }
            json(200, Value::from(runs))
        }
        ("GET", path) if path.ends_with("/stream") => {
            response(200, "text/event-stream", "event: end\ndata: {\"status\":\"success\"}\n\n")
        }
        ("GET", path) if path.contains("/runs/r") => run("success"),
        ("GET", path) if path.ends_with("/state") => json(200, "{}"),
        _ => json(200, value!({"thread_id": "t1", "status": "idle"})),
    })
    .await
}

#[tokio::test]
async fn a_lost_start_is_found_among_new_runs() {
    let body = || RunCreate {
        assistant_id: "agent".into(),
        input: Some(value!({"x": 1})),
        ..RunCreate::default()
    };
    let ours =
        || value!({"run_id": "r1", "assistant_id": "a-1", "status": "success", "input": {"x": 1}});
    let starts = |server: &Server| {
        server
            .seen()
            .iter()
            .filter(|s| s.path.ends_with("/runs/stream"))
            .count()
    };
    let server = losing_without_metadata(value!([ours()])).await;
    let items = collect(
        RunTransport::new(server.agent(), Target::Thread("t1".into()), body()),
        None,
    )
    .await;
    assert_eq!(
        (end(&items).outcome, starts(&server)),
        (Outcome::Success, 1),
        "{items:?}"
    );
    assert!(
        items
            .iter()
            .any(|i| matches!(i, Item::Started { run_id, .. } if run_id == "r1"))
    );
    // The run ended before it was found, and its events were not stored.
    assert_eq!(gaps(&items).len(), 1, "{:?}", gaps(&items));
    let with = |key: &str, other: Value| {
        let mut run = ours();
        run[key] = other;
        run
    };
    for new in [
        value!([]),
        value!([with("assistant_id", "a-2".into())]),
        value!([with("input", value!({"x": 2}))]),
        // Two identical runs: either may be ours.
        value!([ours(), with("run_id", "r2".into())]),
    ] {
        let server = losing_without_metadata(new.clone()).await;
        let items = collect(
            RunTransport::new(server.agent(), Target::Thread("t1".into()), body()),
            None,
        )
        .await;
        assert_eq!(
            (end(&items).outcome, starts(&server)),
            (Outcome::Unknown, 1),
            "{new}"
        );
        let error = failed(&items).unwrap().to_string();
        assert!(
            error.contains("unknown whether the run started") && error.contains("sent only once"),
            "{error}"
        );
        assert!(!error.contains("start it again"), "{error}");
    }
    // On a new thread, any run is ours; here that is r0, because it is the only one.
    let server = losing_without_metadata(value!([])).await;
    let link = RunTransport::new(server.agent(), Target::NewThread, body());
    let items = collect(link, None).await;
    assert!(
        items
            .iter()
            .any(|i| matches!(i, Item::Started { run_id, .. } if run_id == "r0")),
        "{items:?}"
    );
    assert_eq!(starts(&server), 1);
}

#[tokio::test]
async fn a_truncated_contract_only_stream_is_no_success_without_an_end() {
    for (rest, outcome) in [("", Outcome::Unknown), (LATER, Outcome::Success)] {
        let cut: &'static str = format!("{BEGIN}{LATER}event: values\nda").leak();
        let server = Server::start(move |seen| match (&*seen.method, &*seen.path) {
            ("POST", "/threads") => json(200, value!({"thread_id": seen.json()["thread_id"]})),
            ("POST", _) => response(200, "text/event-stream", cut),
            ("GET", path) if path.ends_with("/runs/r1/stream") => {
                response(200, "text/event-stream", rest)
            }
            _ => json(404, "{}"),
        })
        .await;
        let items = collect(
            RunTransport::new(server.agent(), Target::NewThread, agent()),
            None,
        )
        .await;
        assert_eq!(
            (end(&items).outcome, end(&items).connections),
            (outcome, 2),
            "{items:?}"
        );
        assert!(end(&items).gaps >= 1, "{:?}", gaps(&items));
    }
}

#[tokio::test]
async fn an_interrupted_run_recorded_as_success_is_interrupted() {
    let asks = value!({"next": ["ask"], "tasks": [{"interrupts": [{"id": "1", "value": "Go?"}]}]});
    for (thread, state, outcome) in [
        ("idle", asks.clone(), Outcome::Interrupted),
        // A breakpoint.
        (
            "idle",
            value!({"next": ["ask"], "tasks": []}),
            Outcome::Interrupted,
        ),
        ("idle", value!({"next": [], "tasks": []}), Outcome::Success),
        // Another run is active, and the state is that of its steps.
        (
            "busy",
            value!({"next": ["ask"], "tasks": []}),
            Outcome::Success,
        ),
    ] {
        let thread = value!({"thread_id": "t1", "status": thread});
        assert_eq!(
            self::outcome(aegra(), "success", thread, state.clone())
                .await
                .0,
            outcome,
            "{state}"
        );
    }
}
