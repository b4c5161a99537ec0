//! A run, and then what others run on its thread, in one log.

use axum::body::Body;
use axum::response::Response;
use futures::StreamExt;
use runtail_core::model::RunCreate;
use runtail_stream::{
    Item, Outcome, Record, RunFollowing, RunTransport, SourceOptions, Target, follow_run_and_thread,
};
use runtail_testkit::common::follow::events;
use runtail_testkit::common::{Seen, Server, json, response};
use serde_json::json as value;
use std::time::Duration;
use tokio::sync::mpsc;

/// Without ids: the run isn't resumable.
const OWN: &str =
    "event: metadata\ndata: {\"run_id\":\"r1\",\"attempt\":1}\n\nevent: values\ndata: {}\n\n";
const LATER: &str = "event: metadata\ndata: {\"run_id\":\"r2\",\"attempt\":1}\nid: 8-0\n\nevent: values\ndata: {\"n\":2}\nid: 9-0\n\n";

fn sse(body: impl Into<Body>) -> Response {
    let mut response = response(200, "text/event-stream", body);
    response
        .headers_mut()
        .insert("content-location", "/threads/t1/runs/r1".parse().unwrap());
    response
}

/// A stream that sends this and stays open.
fn open(text: &'static str) -> Response {
    let sent = futures::stream::once(async move { Ok::<_, std::io::Error>(text) });
    sse(Body::from_stream(sent.chain(futures::stream::pending())))
}

fn run(id: &str, status: &str) -> serde_json::Value {
    value!({"run_id": id, "thread_id": "t1", "status": status, "created_at": "2026-11-26T20:00:00Z", "kwargs": {"resumable": true}})
}

/// Follows a run until an event of the run `r2` has arrived, or the log ends. Following ends when its reader leaves.
async fn followed(server: &Server, on: Target) -> Vec<Item> {
    let body = RunCreate {
        assistant_id: "agent".into(),
        ..RunCreate::default()
    };
    let link = RunTransport::new(server.agent(), on, body);
    let (sender, mut batches) = mpsc::channel(8);
    let following = RunFollowing {
        busy: Duration::from_millis(20),
        idle: Duration::from_millis(20),
        has_state: true,
        ..RunFollowing::default()
    };
    let follow = follow_run_and_thread(
        server.agent(),
        link,
        following,
        SourceOptions::default(),
        sender,
    );
    let read = async move {
        let mut items = Vec::new();
        while let Some(batch) = batches.recv().await {
            items.extend(batch);
            if events(&items)
                .iter()
                .any(|event| event.data.text().contains("\"n\":2"))
            {
                break;
            }
        }
        items
    };
    tokio::time::timeout(Duration::from_secs(20), async {
        tokio::join!(follow, read).1
    })
    .await
    .expect("an end")
}

/// Checks that the log has both runs, one head, numbers without a hole, and no end.
fn check(items: &[Item]) {
    let numbers: Vec<u64> = events(items).iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "{items:?}");
    assert_eq!(events(items)[3].conn, 2);
    let count = |wanted: fn(&Record) -> bool| {
        items
            .iter()
            .filter(|item| matches!(item, Item::Record(record) if wanted(record)))
            .count()
    };
    assert_eq!(
        (
            count(|r| matches!(r, Record::Head(_))),
            count(|r| matches!(r, Record::End(_)))
        ),
        (1, 0),
        "{items:?}"
    );
    let ended = items.iter().find_map(|item| {
        if let Item::Record(Record::Run(run)) = item {
            Some(run)
        } else {
            None
        }
    });
    assert_eq!(ended.and_then(|run| run.outcome), Some(Outcome::Success));
}

fn respond(seen: &Seen, info: serde_json::Value) -> Response {
    match (seen.method.as_str(), seen.path.as_str()) {
        (_, "/info") => json(200, info),
        ("POST", path) if path.ends_with("/runs/stream") => sse(OWN),
        ("GET", path) if path.ends_with("/runs/r1") => json(200, run("r1", "success")),
        ("GET", path) if path.ends_with("/runs/r2") => json(200, run("r2", "running")),
        ("POST" | "GET", path) if path.starts_with("/threads") => {
            json(200, value!({"thread_id": "t1", "status": "idle"}))
        }
        _ => json(404, "{}"),
    }
}

#[tokio::test]
async fn a_page_follows_the_thread_of_its_run_by_the_threads_stream() {
    let info = value!({"version": "0.16.7", "langgraph_py_version": "1.0.0"});
    let server = Server::start(move |seen| match seen.path.as_str() {
        path if path.ends_with("/stream") && seen.method == "GET" && !path.contains("/runs/") => {
            open(LATER)
        }
        path if path.ends_with("/runs") => {
            json(200, value!([run("r2", "running"), run("r1", "success")]))
        }
        _ => respond(seen, info.clone()),
    })
    .await;
    check(&followed(&server, Target::Thread("t1".into())).await);
}

#[tokio::test]
async fn a_page_follows_the_thread_of_its_run_by_the_list_of_runs() {
    let info = value!({"version": "1.5.1", "langgraph_js_version": "1.0.0"});
    let server = Server::start(move |seen| match seen.path.as_str() {
        path if path.ends_with("/runs/r2/stream") => open(LATER),
        path if path.ends_with("/stream") && seen.method == "GET" => json(404, "{}"),
        path if path.ends_with("/runs") => {
            json(200, value!([run("r1", "success"), run("r2", "running")]))
        }
        _ => respond(seen, info.clone()),
    })
    .await;
    check(&followed(&server, Target::Thread("t1".into())).await);
}

#[tokio::test]
async fn a_server_that_offers_neither_ends_with_the_run() {
    let server = Server::start(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "/threads") => json(200, value!({"thread_id": seen.json()["thread_id"]})),
        ("POST", _) => sse(OWN),
        _ => json(404, "{}"),
    })
    .await;
    let items = followed(&server, Target::NewThread).await;
    let Some(Item::Record(Record::End(end))) = items.last() else {
        panic!("{items:?}")
    };
    assert_eq!((end.outcome, end.events), (Outcome::Success, 2));
    assert!(
        !items.iter().any(|item| matches!(item, Item::Failed(_))),
        "{items:?}"
    );
}
