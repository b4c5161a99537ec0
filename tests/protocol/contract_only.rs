//! Servers that offer only the contract's calls, or answer them in unusual ways.

use axum::response::Response;
use runtail_api::{Kind, RunStart, StartFailure, StartGuard, ThreadQuery};
use runtail_core::model::RunCreate;
use runtail_sim::{Ids, Options, Scenario, Sim};
use runtail_stream::{
    Item, JoinTransport, Outcome, Record, RunFollowing, RunTransport, SourceOptions, Target,
    follow_run_and_thread, follow_thread,
};
use runtail_testkit::common::follow::{collect, end, failed, gaps};
use runtail_testkit::common::{Seen, Server, json, profile, response};
use serde_json::json as value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn agent() -> RunCreate {
    RunCreate {
        assistant_id: "agent".into(),
        input: Some(value!({"messages": [{"role": "user", "content": "hi"}]})),
        ..RunCreate::default()
    }
}

fn not_found() -> Response {
    json(404, r#"{"detail":"Not Found"}"#)
}

#[tokio::test]
async fn a_server_that_ignores_the_offset_sends_each_row_once() {
    let server = Server::start(|seen| {
        let row = |n: usize| match &*seen.path {
            "/runs/crons/search" => {
                value!({"cron_id": format!("c{n}"), "assistant_id": "a", "thread_id": "t"})
            }
            "/store/items/search" => {
                value!({"namespace": ["a"], "key": format!("k{n}"), "value": {}})
            }
            "/store/namespaces" => value!([format!("n{n}")]),
            "/assistants/a/versions" => value!({"assistant_id": "a", "version": n}),
            "/threads/t/runs" => {
                value!({"run_id": format!("r{n}"), "thread_id": "t", "assistant_id": "a"})
            }
            "/threads/search" => value!({"thread_id": format!("t{n}")}),
            _ => value!({"assistant_id": format!("a{n}"), "graph_id": "g"}),
        };
        // At most 100 rows a page, whatever is requested.
        json(200, value!((0..100).map(row).collect::<Vec<_>>()))
    })
    .await;
    let agent = server.agent();
    let query = ThreadQuery {
        limit: 1000,
        ..ThreadQuery::default()
    };
    for (what, rows) in [
        ("crons", agent.crons(1000, 0).await.unwrap().items.len()),
        (
            "items",
            agent
                .store_items(&[], None, None, 1000, 0)
                .await
                .unwrap()
                .items
                .len(),
        ),
        (
            "namespaces",
            agent
                .store_namespaces(&[], None, 1000, 0)
                .await
                .unwrap()
                .items
                .len(),
        ),
        (
            "versions",
            agent.assistant_versions("a").await.unwrap().items.len(),
        ),
        (
            "runs",
            agent.run_rows("t", 1000, 0).await.unwrap().items.len(),
        ),
        (
            "threads",
            agent.thread_rows(&query).await.unwrap().items.len(),
        ),
        (
            "assistants",
            agent.assistants(1000, 0).await.unwrap().items.len(),
        ),
    ] {
        assert_eq!(rows, 100, "{what}");
    }
}

#[tokio::test]
async fn a_call_that_a_server_lacks_is_requested_once() {
    let server = Server::start(|seen| match (&*seen.method, &*seen.path) {
        ("POST", "/threads/search") => json(405, r#"{"detail":"Method Not Allowed"}"#),
        _ => not_found(),
    })
    .await;
    let agent = server.agent();
    for _ in 0..3 {
        assert!(agent.info().await.is_ok());
        assert_eq!(
            agent
                .thread_rows(&ThreadQuery::default())
                .await
                .unwrap_err()
                .kind,
            Kind::Status(405)
        );
        assert!(
            agent
                .inbox(std::time::Duration::from_secs(60))
                .await
                .is_unlisted
        );
        assert!(agent.assistants(10, 0).await.is_err() && agent.health().await.is_ok());
        // A missing thread is no missing call.
        assert!(agent.thread("t").await.is_err());
    }
    let count = |path: &str| {
        server
            .seen()
            .iter()
            .filter(|seen| seen.path == path)
            .count()
    };
    let calls = [
        "/info",
        "/threads/search",
        "/assistants/search",
        "/ok",
        "/health",
        "/metrics",
        "/threads/t",
    ];
    assert_eq!(calls.map(count), [1, 1, 1, 1, 1, 1, 3]);
}

#[tokio::test]
async fn the_cause_of_a_failed_start_is_reported() {
    for (status, kind, body, cause) in [
        (
            500,
            "application/json",
            r#"{"detail":"database is down"}"#,
            "500: database is down",
        ),
        (500, "text/html", "<html><title>Oops</title>", "Oops"),
        (
            502,
            "text/html",
            "<html><title>502 Bad Gateway</title>",
            "Bad Gateway",
        ),
        (503, "text/plain", "restarting", "503: restarting"),
        (200, "text/html", "<html><title>Log in</title>", "Log in"),
    ] {
        let server = Server::start(move |seen: &Seen| match (&*seen.method, &*seen.path) {
            ("POST", "/threads/t/runs/stream") => response(status, kind, body),
            _ => not_found(),
        })
        .await;
        let items = collect(
            RunTransport::new(server.agent(), Target::Thread("t".into()), agent()),
            None,
        )
        .await;
        let error = failed(&items).unwrap().to_string();
        assert!(
            error.contains(cause) && error.contains("/runs/stream"),
            "{error}"
        );
        assert!(
            error.contains("it is unknown whether the run started (its runs can't be listed: 404"),
            "{error}"
        );
        assert_eq!(end(&items).outcome, Outcome::Unknown);
        assert_eq!(
            server
                .seen()
                .iter()
                .filter(|seen| seen.method == "POST")
                .count(),
            1,
            "sent once"
        );
    }
}

#[tokio::test]
async fn a_lost_start_is_found_without_marks() {
    // Aegra's runs have no metadata.
    let listed = Arc::new(AtomicU32::new(0));
    let server = Server::start(move |seen: &Seen| match (&*seen.method, &*seen.path) {
        (_, "/info") => json(200, r#"{"name":"Aegra","version":"0.11.0"}"#),
        ("POST", "/threads/t/runs") => json(502, "{}"),
        ("GET", "/threads/t/runs") => {
            let run =
                |id: &str| value!({"run_id": id, "assistant_id": "agent", "status": "running"});
            let known = listed.fetch_add(1, Ordering::Relaxed) == 0;
            json(
                200,
                if known {
                    value!([run("old")])
                } else {
                    value!([run("new"), run("old")])
                },
            )
        }
        _ => not_found(),
    })
    .await;
    let start = RunStart {
        thread: "t".into(),
        body: agent(),
        guard: StartGuard::None,
    };
    let started = server.agent().start_on_thread(&start).await.unwrap();
    assert_eq!((&*started.run_id, started.was_found), ("new", true));
}

#[tokio::test]
async fn a_lost_start_is_looked_for_again_if_the_list_lags() {
    let listed = Arc::new(AtomicU32::new(0));
    let server = Server::start(move |seen: &Seen| match (&*seen.method, &*seen.path) {
        (_, "/info") => json(200, r#"{"name":"Aegra","version":"0.11.0"}"#),
        ("POST", "/threads/t/runs") => json(502, "{}"),
        ("GET", "/threads/t/runs") => match listed.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => json(200, "[]"),
            _ => json(
                200,
                value!([{"run_id": "new", "assistant_id": "agent", "status": "running"}]),
            ),
        },
        _ => not_found(),
    })
    .await;
    let start = RunStart {
        thread: "t".into(),
        body: agent(),
        guard: StartGuard::None,
    };
    let started = server.agent().start_on_thread(&start).await.unwrap();
    assert_eq!((&*started.run_id, started.was_found), ("new", true));
}

#[tokio::test]
async fn a_run_that_started_after_the_preview_is_not_ended() {
    let server = Server::start(|seen: &Seen| match (&*seen.method, &*seen.path) {
        ("GET", "/threads/t/runs") => json(
            200,
            value!([{"run_id": "other", "assistant_id": "agent", "status": "running"}]),
        ),
        ("POST", "/threads/t/runs") => json(200, value!({"run_id": "new"})),
        _ => not_found(),
    })
    .await;
    let start = |shown: &str| RunStart {
        thread: "t".into(),
        body: agent(),
        guard: StartGuard::Overtakes(vec![shown.into()]),
    };
    let sent = || {
        let seen = server.seen();
        seen.iter().filter(|seen| seen.method == "POST").count()
    };
    let refused = server.agent().start_on_thread(&start("shown")).await;
    assert_eq!(refused.unwrap_err().failure, StartFailure::Changed);
    assert_eq!(sent(), 0, "nothing was sent");
    let started = server.agent().start_on_thread(&start("other")).await;
    assert_eq!((started.unwrap().run_id.as_str(), sent()), ("new", 1));
}

#[tokio::test]
async fn a_search_of_the_store_sends_its_query() {
    let server = Server::start(|_: &Seen| json(200, r#"{"items":[]}"#)).await;
    let filter = value!({"kind": "note"});
    let found = server
        .agent()
        .store_items(&["a".into()], Some("Kraków"), Some(&filter), 5, 0)
        .await
        .unwrap();
    assert!(found.items.is_empty());
    let seen = server.seen();
    let body: serde_json::Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(
        (&body["namespace_prefix"], &body["query"], &body["filter"]),
        (&value!(["a"]), &value!("Kraków"), &filter)
    );
}

#[tokio::test]
async fn events_of_a_joined_run_are_live_unless_the_server_repeats_them() {
    const LATE: &str =
        "event: values\ndata: {\"n\":1}\nid: 22-0\n\nevent: values\ndata: {\"n\":2}\nid: 23-0\n\n";
    let server = Server::start(|seen| match seen.path.ends_with("/stream") {
        true => response(200, "text/event-stream", LATE),
        false => not_found(),
    })
    .await;
    let items = collect(
        JoinTransport::new(server.agent(), "t".into(), "r".into(), vec![]),
        Some("-1"),
    )
    .await;
    let replayed = |item: &Item| {
        if let Item::Record(Record::Event(event)) = item {
            Some(event.replayed)
        } else {
            None
        }
    };
    assert_eq!(
        items.iter().filter_map(replayed).collect::<Vec<_>>(),
        [false, false]
    );
    assert!(gaps(&items)[0].starts_with("joined at "), "{items:?}");
}

#[tokio::test]
async fn a_missing_thread_of_an_unknown_server_is_not_found() {
    let server = Server::start(|seen| match &*seen.path {
        "/info" => json(200, r#"{"hello":"world"}"#),
        _ => json(404, r#"{"detail":"Thread with ID t not found"}"#),
    })
    .await;
    let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
    let following = RunFollowing::default();
    let options = SourceOptions::default();
    tokio::spawn(follow_thread(
        server.agent(),
        "t".into(),
        vec![],
        following,
        options,
        sender,
    ));
    let mut items = Vec::new();
    while let Some(batch) = receiver.recv().await {
        items.extend(batch);
    }
    assert!(
        failed(&items)
            .unwrap()
            .to_string()
            .contains("404: Thread with ID t not found"),
        "{items:?}"
    );
}

fn contract() -> Options {
    Options {
        scenario: Scenario::Contract,
        speed: 1000.0,
        ..Options::default()
    }
}

fn client(sim: &Sim) -> runtail_api::AgentServer {
    let http = runtail_api::Http::new(&profile()).unwrap();
    runtail_api::AgentServer::new(http, sim.agents()[0].url.parse().unwrap())
}

#[tokio::test]
async fn runs_succeed_on_a_server_that_refuses_other_fields() {
    for (target, ids) in [
        (Target::NewThread, None),
        (Target::Stateless, None),
        (Target::NewThread, Some(Ids::Absent)),
        (Target::Stateless, Some(Ids::Absent)),
    ] {
        let options = Options { ids, ..contract() };
        let sim = Sim::start(options).await.unwrap();
        let items = collect(RunTransport::new(client(&sim), target, agent()), None).await;
        assert_eq!(
            (end(&items).outcome, end(&items).gaps),
            (Outcome::Success, 0),
            "{items:?}"
        );
        assert!(end(&items).events > 3);
    }
}

/// Returns a contract-only server of a port that is free for it and the control plane before it.
async fn with_port(options: &Options) -> (Sim, u16) {
    for port in (20_000..60_000)
        .skip(std::process::id() as usize % 20_000)
        .step_by(2)
    {
        if let Ok(sim) = Sim::start(Options {
            port: Some(port),
            ..options.clone()
        })
        .await
        {
            return (sim, port);
        }
    }
    panic!("no free port");
}

/// Starts it again, with nothing of what it knew.
async fn restarted(options: &Options, port: u16) -> Sim {
    loop {
        match Sim::start(Options {
            port: Some(port),
            ..options.clone()
        })
        .await
        {
            Ok(sim) => return sim,
            // The stopped one still has the port.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn a_run_whose_server_stopped_has_an_unknown_outcome() {
    let new = Target::NewThread;
    for (target, restarts, page) in [
        (new.clone(), false, false),
        (Target::Stateless, false, false),
        (new.clone(), true, false),
        (new, true, true),
    ] {
        let options = Options {
            speed: 1.0,
            ..contract()
        };
        let (sim, port) = with_port(&options).await;
        let body = RunCreate {
            assistant_id: "slow".into(),
            input: Some(value!({"seconds": 60})),
            ..RunCreate::default()
        };
        let how = format!("{target:?}, restarts: {restarts}, page: {page}");
        let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
        let short = std::time::Duration::from_millis(2);
        let retries = runtail_stream::Retries {
            base: short,
            cap: short,
            ..runtail_stream::Retries::default()
        };
        let of_source = SourceOptions {
            retries,
            ..SourceOptions::default()
        };
        let run = RunTransport::new(client(&sim), target, body);
        // The page follows the thread behind the run.
        match page {
            true => {
                let follow = follow_run_and_thread(
                    client(&sim),
                    run,
                    RunFollowing::default(),
                    of_source,
                    sender,
                );
                tokio::spawn(follow)
            }
            false => tokio::spawn(runtail_stream::follow(run, of_source, sender)),
        };
        let (mut items, mut first, mut second) = (Vec::new(), Some(sim), None);
        let ended = |items: &[Item]| {
            items.iter().find_map(|item| match item {
                Item::Record(Record::Run(run)) => run.outcome,
                Item::Record(Record::End(end)) => Some(end.outcome),
                _ => None,
            })
        };
        while let Some(batch) = receiver.recv().await {
            items.extend(batch);
            if ended(&items).is_some() {
                break;
            }
            // It closes its connections cleanly.
            if first.is_some()
                && items
                    .iter()
                    .any(|item| matches!(item, Item::Record(Record::Event(_))))
            {
                drop(first.take());
                if restarts {
                    second = Some(restarted(&options, port).await);
                }
            }
        }
        assert_eq!(ended(&items), Some(Outcome::Unknown), "{how}: {items:?}");
        drop(second);
    }
}
