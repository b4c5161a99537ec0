//! The requests of both clients as servers see them, and the handling of the responses.

use crate::applied;
use futures::StreamExt;
use runtail_api::{
    CancelAction, ControlPlane, DeploymentQuery, Http, Kind, ServerKind, ThreadQuery,
};
use runtail_core::config::SecretSource;
use runtail_core::model::{
    AuthAuthenticateRequest, DeploymentSpec, Format, Intent, RunCreate, ThreadFacts,
};
use runtail_testkit::common;
use runtail_testkit::common::{BEARER, CANARY, Server, json, profile, response};
use secrecy::SecretString;
use serde_json::{Value, json as value};
use std::sync::atomic::{AtomicUsize, Ordering};

fn numbered(from: usize, count: usize) -> Value {
    value!({"resources": (from..from + count).map(|i| value!({"id": format!("d{i}")})).collect::<Vec<_>>(), "offset": from + count})
}

fn parameter(query: &str, name: &str) -> usize {
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(k, _)| k == name)
        .unwrap()
        .1
        .parse()
        .unwrap()
}

#[tokio::test]
async fn both_services_get_their_headers() {
    let server = Server::start(|_| json(200, r#"{"id":"d","thread_id":"t"}"#)).await;
    server.control().deployment("d").await.unwrap();
    server.agent().thread("t").await.unwrap();
    let mut bearer_only = profile();
    bearer_only.key = None;
    bearer_only.bearer = Some(SecretSource::Given(SecretString::from(BEARER.to_string())));
    ControlPlane::new(Http::new(&bearer_only).unwrap(), server.url.clone())
        .deployment("d")
        .await
        .unwrap();
    let seen = server.seen();
    assert_eq!(seen[0].path, "/api-host/v2/deployments/d");
    assert_eq!(
        (seen[0].header("x-api-key"), seen[0].header("x-tenant-id")),
        (Some(CANARY), Some("w-1"))
    );
    assert_eq!(seen[0].header("accept"), Some("application/json"));
    assert!(
        seen[0]
            .header("user-agent")
            .unwrap()
            .starts_with("runtail/")
    );
    assert_eq!(
        (seen[1].header("x-api-key"), seen[1].header("x-tenant-id")),
        (Some(CANARY), None)
    );
    assert_eq!(
        seen[2].header("authorization"),
        Some(format!("Bearer {BEARER}").as_str())
    );
    assert_eq!(
        (seen[2].header("x-api-key"), seen[2].header("x-tenant-id")),
        (None, Some("w-1"))
    );
}

#[tokio::test]
async fn all_pages_of_deployments_are_read() {
    let server = Server::start(|seen| {
        let (limit, offset) = (
            parameter(&seen.query, "limit"),
            parameter(&seen.query, "offset"),
        );
        json(
            200,
            numbered(offset, limit.min(250usize.saturating_sub(offset))),
        )
    })
    .await;
    let query = DeploymentQuery {
        name_contains: Some("a&b".into()),
        ..DeploymentQuery::default()
    };
    let all = server.control().deployments(&query).await.unwrap();
    assert_eq!(all.len(), 250);
    assert_eq!(all[249].id, "d249");
    let mut queries: Vec<String> = server.seen().into_iter().map(|s| s.query).collect();
    queries.sort();
    let asked = |offset| format!("name_contains=a%26b&limit=100&offset={offset}");
    assert_eq!(queries[..3], [0, 100, 200].map(asked));
    assert!(
        queries.len() <= 5,
        "few are asked for beyond the end: {queries:?}"
    );
}

/// A list with the maximum number of rows is complete unless another row follows.
#[tokio::test]
async fn a_list_with_the_maximum_number_of_rows_is_complete() {
    for (rows, is_whole) in [(100_000, true), (100_001, false)] {
        let server = Server::start(move |seen| {
            let (limit, offset) = (
                parameter(&seen.query, "limit"),
                parameter(&seen.query, "offset"),
            );
            json(200, numbered(offset, limit.min(rows - offset.min(rows))))
        })
        .await;
        let all = server
            .control()
            .deployment_rows(&DeploymentQuery::default())
            .await
            .unwrap();
        assert_eq!(
            (all.items.len(), all.incomplete.is_none()),
            (100_000, is_whole),
            "{:?}",
            all.incomplete
        );
    }
}

#[tokio::test]
async fn lists_are_bounded_by_memory() {
    // One page is within the limits of a response; two of them exceed the limit of a list.
    let dense = "0,".repeat(15_000);
    let server = Server::start(move |seen| {
        let body = if seen.method == "POST" {
            seen.json()
        } else {
            Value::Null
        };
        let from = match body["offset"].as_u64() {
            Some(offset) => offset,
            None if seen.query.contains("offset") => parameter(&seen.query, "offset") as u64,
            None => 0,
        };
        if body["limit"].as_u64().is_some_and(|limit| limit > 100) {
            return json(422, "{}");
        }
        let rows: Vec<_> = (from..from + 100)
            .map(|n| {
                format!(r#"{{"id":"d{n}","assistant_id":"a{n}","graph_id":"g","x":[{dense}0]}}"#)
            })
            .collect();
        json(200, format!("[{}]", rows.join(",")))
    })
    .await;
    let listing = server
        .control()
        .deployment_rows(&DeploymentQuery::default())
        .await
        .unwrap();
    assert_eq!(listing.items.len(), 200);
    assert!(
        listing
            .incomplete
            .unwrap()
            .detail
            .contains("exceeds the memory limit after 200 deployments")
    );
    let error = server.control().revision_rows("d", 1000).await.unwrap_err();
    assert!(
        error.detail.contains("memory limit after 200 revisions"),
        "{error:?}"
    );
    let agent = server.agent();
    assert_eq!(agent.assistants(100, 0).await.unwrap().items.len(), 100);
    let error = agent.assistants(1000, 0).await.unwrap_err();
    assert!(
        error.detail.contains("memory limit after 200 assistants"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_row_that_is_not_a_record_is_left_out() {
    let server = Server::start(|_| json(200, r#"[{"thread_id":"a"},7]"#)).await;
    let agent = server.agent();
    let listing = agent.thread_rows(&ThreadQuery::default()).await.unwrap();
    assert_eq!(listing.items.len(), 1);
    assert!(
        listing
            .unread
            .sentence()
            .unwrap()
            .contains("a row is not a record: 7")
    );
}

#[tokio::test]
async fn a_list_of_an_agent_server_that_repeats_its_pages_may_be_incomplete() {
    let server = Server::start(|_| json(200, numbered(0, 100)["resources"].clone())).await;
    let listing = server.agent().crons(1_000, 0).await.unwrap();
    let why = listing.incomplete.expect("it says so").detail;
    assert!(why.contains("there may be more crons"), "{why}");
    assert_eq!(listing.items.len(), 100);
}

#[tokio::test]
async fn lists_of_servers_without_paging_are_read() {
    let server = Server::start(|_| json(200, numbered(0, 100))).await;
    let rows = server
        .control()
        .deployment_rows(&DeploymentQuery::default())
        .await
        .unwrap();
    assert_eq!(rows.items.len(), 100);
    assert!(
        rows.incomplete
            .unwrap()
            .detail
            .contains("repeats its pages")
    );
    assert!(
        server
            .control()
            .deployments(&DeploymentQuery::default())
            .await
            .is_err()
    );
    // One that sends everything at once as a plain list, and ignores the paging parameters.
    let server = Server::start(|_| json(200, &numbered(0, 130)["resources"])).await;
    assert_eq!(
        server
            .control()
            .deployments(&DeploymentQuery::default())
            .await
            .unwrap()
            .len(),
        130
    );
    assert_eq!(server.seen().len(), 1);
    // If a later page fails, the earlier pages are kept.
    let server = Server::start(|seen| match parameter(&seen.query, "offset") {
        0 => json(200, numbered(0, 100)),
        _ => json(500, "{}"),
    })
    .await;
    let rows = server
        .control()
        .deployment_rows(&DeploymentQuery::default())
        .await
        .unwrap();
    assert_eq!(
        (rows.items.len(), rows.incomplete.unwrap().kind),
        (100, Kind::Server(500))
    );
}

#[tokio::test]
async fn revisions_are_sorted_newest_first() {
    let revision = |id: &str, day: u32| value!({"id": id, "status": "DEPLOYED", "created_at": format!("2026-11-{day:02}T09:00:00Z")});
    let sorted = value!({"resources": [revision("c", 3), revision("b", 2), revision("a", 1)]});
    let mixed = value!({"resources": [revision("b", 2), revision("c", 3), {"id": "?", "status": "X"}, revision("a", 1)]});
    let server = Server::start(move |seen| {
        json(
            200,
            if seen.path.contains("sorted") {
                &sorted
            } else {
                &mixed
            },
        )
    })
    .await;
    let ids = |list: &[runtail_core::model::Revision]| {
        list.iter().map(|r| r.id.clone()).collect::<Vec<_>>()
    };
    let response = server.control().revisions("sorted", 10).await.unwrap();
    assert_eq!(
        (ids(&response.items), response.was_sorted),
        (vec!["c".into(), "b".into(), "a".into()], true)
    );
    let response = server.control().revisions("mixed", 10).await.unwrap();
    assert_eq!(
        (ids(&response.items).join(""), response.was_sorted),
        ("cba?".into(), false)
    );
    assert_eq!(
        server
            .control()
            .revisions("sorted", 2)
            .await
            .unwrap()
            .items
            .len(),
        2
    );
    assert_eq!(server.seen()[0].query, "limit=10&offset=0");
}

#[tokio::test]
async fn writes_require_their_documented_status() {
    let spec = |text: &str| Box::new(DeploymentSpec::parse(text, Format::Toml, None).unwrap());
    let create = Intent::CreateDeployment(spec("name = \"new\"\nsource = \"internal_docker\""));
    let update = Intent::UpdateDeployment {
        id: "d".into(),
        spec: spec("display_name = \"D\""),
    };
    let delete = Intent::DeleteDeployment {
        id: "d".into(),
        delete_tracing_project: false,
        force: false,
    };
    // Documented for other calls, but not for these.
    for (intent, right, wrong) in [(create, 201, 200), (update, 200, 202), (delete, 204, 200)] {
        for (status, is_right) in [(right, true), (wrong, false)] {
            let server = Server::start(move |seen| match (seen.method.as_str(), status) {
                ("GET", _) => json(200, r#"{"id":"d","name":"d"}"#),
                (_, 204) => response(204, "text/plain", ""),
                _ => json(
                    status,
                    r#"{"id":"d","secrets":[{"name":"A","value":"canary"}]}"#,
                ),
            })
            .await;
            let plan = server.control().plan(&intent).await.unwrap();
            match applied(&plan).await {
                Ok(made) => assert!(is_right && !format!("{made:?}").contains("canary")),
                Err(error) => assert!(!is_right && error.kind == Kind::Status(wrong), "{error}"),
            }
            let seen = server.seen();
            let sent: Vec<_> = seen.iter().filter(|seen| seen.method != "GET").collect();
            assert_eq!((sent.len(), sent[0].body.is_empty()), (1, right == 204));
            assert!(right == 204 || sent[0].header("content-type") == Some("application/json"));
        }
    }
}

#[tokio::test]
async fn authenticate_hides_the_token() {
    let server =
        Server::start(|_| json(200, r#"{"status":"completed","token":"canary","url":null}"#)).await;
    let body = AuthAuthenticateRequest::read("provider = \"p\"\nscopes = [\"s\"]").unwrap();
    let response = server.control().authenticate(&body).await.unwrap();
    assert!(response.has_token && response.word() == "completed");
    assert_eq!(server.seen()[0].path, "/api-host/v2/auth/authenticate");
    assert!(!format!("{response:?}").contains("canary"));
}

#[tokio::test]
async fn server_kinds_are_detected() {
    for (body, kind, version) in [
        (
            include_str!("../fixtures/info-python.json"),
            ServerKind::Python,
            "0.16.7",
        ),
        (
            r#"{"version":"1.5.1","langgraph_js_version":"1.4.18","context":"js","flags":{}}"#,
            ServerKind::JavaScript,
            "1.5.1",
        ),
        (
            r#"{"name":"Aegra","version":"0.1.0"}"#,
            ServerKind::EarlyAegra,
            "0.1.0",
        ),
        (
            r#"{"name":"Aegra","version":"0.9.24"}"#,
            ServerKind::EarlyAegra,
            "0.9.24",
        ),
        (r#"{"name":"Aegra"}"#, ServerKind::EarlyAegra, ""),
        (
            r#"{"name":"Aegra","version":"0.9.25"}"#,
            ServerKind::Aegra,
            "0.9.25",
        ),
        (
            r#"{"name":"Aegra","version":"0.11.0"}"#,
            ServerKind::Aegra,
            "0.11.0",
        ),
        (r#"{"flags":{}}"#, ServerKind::Other, ""),
    ] {
        let server = Server::start(move |_| json(200, body)).await;
        let info = server.agent().info().await.unwrap();
        assert_eq!((info.kind, info.version.as_str()), (kind, version));
    }
    let server = Server::start(|_| json(404, "{}")).await;
    assert_eq!(server.agent().info().await.unwrap().kind, ServerKind::Other);
    let server = Server::start(|_| json(500, "{}")).await;
    assert_eq!(
        server.agent().info().await.unwrap_err().kind,
        Kind::Server(500)
    );
}

#[tokio::test]
async fn captured_responses_are_parsed() {
    let server = Server::start(|seen| {
        json(
            200,
            match seen.path.as_str() {
                "/threads/search" => include_str!("../fixtures/thread-search.json"),
                "/assistants/search" => include_str!("../fixtures/assistants-search.json"),
                "/threads/t/runs" => include_str!("../fixtures/runs-list.json"),
                path if path.ends_with("/state") => include_str!("../fixtures/thread-state.json"),
                path if path.contains("/runs/") => include_str!("../fixtures/run-get.json"),
                _ => include_str!("../fixtures/thread-get.json"),
            },
        )
    })
    .await;
    let agent = server.agent();
    let threads = agent.threads(&ThreadQuery::default()).await.unwrap();
    assert_eq!(threads[0].status, "interrupted");
    let asked = threads[0].interrupts.as_ref().unwrap().as_object().unwrap();
    assert_eq!(
        asked.values().next().unwrap()[0]["value"]["question"],
        "Approve?"
    );
    assert!(threads.is_sorted_by(|a, b| a.updated_at >= b.updated_at));
    assert_eq!(
        agent.assistants(10, 0).await.unwrap().items[0].graph_id,
        "big"
    );
    let runs = agent.runs("t", 5).await.unwrap().items;
    assert!(!runs.is_empty() && runs.iter().all(|r| !r.is_active()));
    let run = agent.run("t", "r").await.unwrap();
    assert_eq!(run.status, "success");
    assert!(run.created_at.is_some() && run.extra.contains_key("kwargs"));
    assert!(agent.thread_state("t").await.unwrap()["next"].is_array());
    assert!(agent.thread("t").await.unwrap().updated_at.is_some());
    let search = server.seen()[0].json();
    assert_eq!(
        (
            search["limit"].as_u64(),
            &search["sort_by"],
            &search["sort_order"]
        ),
        (Some(50), &value!("updated_at"), &value!("desc"))
    );
    assert!(
        !search["select"]
            .as_array()
            .unwrap()
            .contains(&value!("values"))
    );
}

#[tokio::test]
async fn servers_without_sort_or_select_get_plain_requests() {
    let server = Server::start(|seen| match seen.body.contains("select") || seen.body.contains("sort_by") {
        true => json(422, r#"{"detail":"unknown field"}"#),
        false => json(200, r#"[{"thread_id":"old","updated_at":"2026-01-01T00:00:00Z"},{"thread_id":"new","updated_at":"2026-02-01T00:00:00+00:00"}]"#),
    })
    .await;
    let agent = server.agent();
    for _ in 0..2 {
        let threads = agent.threads(&ThreadQuery::default()).await.unwrap();
        assert_eq!(threads[0].thread_id, "new");
    }
    assert_eq!(server.seen().len(), 4, "found out once, and remembered");
    let server = Server::start(|_| json(422, r#"{"detail":"limit is too large"}"#)).await;
    let error = server
        .agent()
        .threads(&ThreadQuery::default())
        .await
        .unwrap_err();
    assert_eq!(error.detail, "limit is too large");
}

#[tokio::test]
async fn threads_and_runs_are_created_and_cancelled() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/threads" => json(200, r#"{"thread_id":"t-new"}"#),
        _ => response(202, "text/plain", ""),
    })
    .await;
    let agent = server.agent();
    assert_eq!(
        agent.create_thread(&value!({})).await.unwrap().thread_id,
        "t-new"
    );
    agent
        .cancel("t", "r", CancelAction::Interrupt)
        .await
        .unwrap();
    agent
        .cancel("t", "r", CancelAction::Rollback)
        .await
        .unwrap();
    agent.delete_run("t", "r").await.unwrap();
    let seen = server.seen();
    assert_eq!(
        (seen[0].method.as_str(), seen[0].body.as_str()),
        ("POST", "{}")
    );
    assert_eq!(
        (seen[1].path.as_str(), seen[1].query.as_str()),
        ("/threads/t/runs/r/cancel", "wait=0&action=interrupt")
    );
    assert_eq!(seen[2].query, "wait=0&action=rollback");
    assert_eq!(
        (seen[3].method.as_str(), seen[3].path.as_str()),
        ("DELETE", "/threads/t/runs/r")
    );
    assert_eq!(agent.base(), server.url.as_str().trim_end_matches('/'));
}

#[tokio::test]
async fn a_failed_row_gets_its_error_from_the_record_of_the_thread() {
    let failed = r#"{"thread_id":"t","status":"error","updated_at":"2026-11-21T13:00:00Z"}"#;
    let error = r#"{"error":"GraphRecursionError","message":"Recursion limit of 5 reached"}"#;
    let record = failed.replace('}', &format!(r#","error":{error}}}"#));
    for (record, run, expected, requests) in [
        (
            record.as_str(),
            r#"{"run_id":"r","status":"error"}"#,
            "GraphRecursionError: Recursion limit of 5 reached",
            2,
        ),
        // Neither has one: the state is the last place to look.
        (
            failed,
            r#"{"run_id":"r","status":"error"}"#,
            "ValueError: n",
            3,
        ),
        // Aegra's run has it.
        (
            failed,
            r#"{"run_id":"r","status":"error","error_message":"boom"}"#,
            "boom",
            2,
        ),
    ] {
        let (record, run) = (record.to_string(), run.to_string());
        let server = Server::start(move |seen| match seen.path.as_str() {
            "/threads/t" => json(200, &record),
            "/threads/t/runs" => json(200, format!("[{run}]")),
            "/threads/t/state" => {
                json(200, r#"{"values":{},"next":["a"],"tasks":[{"id":"x","name":"a","error":"ValueError: n"}]}"#)
            }
            _ => json(404, "{}"),
        })
        .await;
        let facts = ThreadFacts::read(failed).unwrap();
        let status = server.agent().listed_status("t", &facts).await.unwrap();
        assert_eq!(status.error(), Some(expected));
        assert_eq!(server.seen().len(), requests, "{expected}");
    }
}

/// How a server lists runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lists {
    /// Python, Aegra.
    NewestFirst,
    /// JavaScript: `slice(offset, limit)`.
    Sliced,
    /// The same where a negative offset is refused.
    SlicedStrictly,
    /// Oldest first; negative offsets are ignored, and pages have at most 40 rows.
    Capped,
    /// Oldest first and complete; paging parameters are ignored.
    Whole,
    /// Newest first; more than 100 rows are refused.
    Refusing,
    /// No filter by status.
    Unfiltered,
}

/// Starts a server whose thread has `total` runs, of which the two newest are active. Run n began n seconds after the first.
async fn listing(lists: Lists, total: usize) -> Server {
    Server::start(move |seen| {
        let query = |name: &str| {
            let mut pairs = url::form_urlencoded::parse(seen.query.as_bytes());
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        let number = |name: &str, default: i64| query(name).map_or(default, |text| text.parse().unwrap());
        let (limit, offset) = (number("limit", 10), number("offset", 0));
        let status = |n: usize| match total - n {
            1 => "pending",
            2 => "running",
            _ => "success",
        };
        let at = |n: usize| jiff::Timestamp::from_second(1_800_000_000 + n as i64).unwrap().to_string();
        let run =
            |n: usize| value!({"run_id": format!("r{n}"), "thread_id": "t", "status": status(n), "created_at": at(n)});
        let mut rows: Vec<_> = (0..total).map(run).collect();
        if let Some(wanted) = query("status").filter(|_| lists != Lists::Unfiltered) {
            rows.retain(|row| row["status"] == wanted.as_str());
        }
        if matches!(lists, Lists::NewestFirst | Lists::Refusing | Lists::Unfiltered) {
            rows.reverse();
        }
        let length = rows.len() as i64;
        // As `Array.slice` reads its bounds.
        let bound = |n: i64| if n < 0 { (length + n).max(0) } else { n.min(length) };
        let (from, to) = match lists {
            Lists::Sliced => (bound(offset), bound(limit)),
            Lists::SlicedStrictly if offset < 0 => return json(400, r#"{"detail":"offset"}"#),
            Lists::SlicedStrictly => (bound(offset), bound(limit)),
            Lists::Capped => (offset.max(0).min(length), (offset.max(0) + limit.min(40)).min(length)),
            Lists::Whole => (0, length),
            Lists::Refusing if limit > 100 => return json(422, r#"{"detail":"limit"}"#),
            _ if offset < 0 => return json(422, r#"{"detail":"offset"}"#),
            _ => (offset.min(length), (offset + limit).min(length)),
        };
        rows = rows.drain(..to.max(from) as usize).skip(from as usize).collect();
        json(200, value!(rows))
    })
    .await
}

#[tokio::test]
async fn newest_runs_are_listed_for_any_server_order() {
    use Lists::*;
    for lists in [NewestFirst, Sliced, SlicedStrictly, Capped, Whole, Refusing] {
        for (total, limit, offset) in [
            (61, 50, 0),
            (50, 50, 0),
            (51, 50, 0),
            (3, 50, 0),
            (1, 50, 0),
            (0, 50, 0),
            (61, 1, 0),
            (61, 20, 30),
            (61, 20, 50),
            (61, 20, 70),
            (450, 200, 0),
            (450, 10, 300),
        ] {
            let server = listing(lists, total).await;
            let agent = server.agent();
            let expected: Vec<String> = (0..total)
                .rev()
                .skip(offset)
                .take(limit)
                .map(|n| format!("r{n}"))
                .collect();
            // The second request uses what the first one found out.
            for _ in 0..2 {
                let rows = agent.run_rows("t", limit, offset).await.unwrap().items;
                let ids: Vec<&str> = rows
                    .iter()
                    .map(|row| row["run_id"].as_str().unwrap())
                    .collect();
                assert_eq!(
                    ids, expected,
                    "{lists:?}: {total} runs, limit {limit}, offset {offset}"
                );
            }
        }
    }
    // A poll costs one request, on JavaScript too.
    for (lists, first) in [(NewestFirst, 1), (Sliced, 2)] {
        let server = listing(lists, 61).await;
        let agent = server.agent();
        for requests in [first, first + 1, first + 2] {
            assert_eq!(agent.runs("t", 50).await.unwrap().items[0].run_id, "r60");
            assert_eq!(server.seen().len(), requests, "{lists:?}");
        }
    }
}

#[tokio::test]
async fn active_runs_are_listed_with_and_without_a_status_filter() {
    for lists in [
        Lists::NewestFirst,
        Lists::Sliced,
        Lists::Unfiltered,
        Lists::Whole,
    ] {
        let runs = listing(lists, 61)
            .await
            .agent()
            .active_runs("t")
            .await
            .unwrap();
        let active: Vec<_> = runs
            .iter()
            .map(|run| (run.run_id.as_str(), run.status.as_str()))
            .collect();
        assert_eq!(
            active,
            [("r60", "pending"), ("r59", "running")],
            "{lists:?}"
        );
    }
}

#[tokio::test]
async fn pages_that_are_too_large_are_requested_again_in_a_smaller_size() {
    // It refuses a few times, so that a client that doesn't learn from it ends, too.
    let refusals = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        let body = seen.json();
        let (limit, offset) = (body["limit"].as_u64().unwrap(), body["offset"].as_u64().unwrap());
        if limit > 100 && refusals.fetch_add(1, Ordering::Relaxed) < 5 {
            return json(422, r#"{"detail":[{"loc":["body","limit"],"msg":"less than or equal to 100","type":"x"}]}"#);
        }
        let id = if seen.path.starts_with("/assistants") { "assistant_id" } else { "thread_id" };
        // A row that moves to the next page between two requests.
        let first = if offset > 0 { offset - 1 } else { 0 };
        json(200, value!((first..(offset + limit).min(230)).map(|n| value!({id: format!("{n}")})).collect::<Vec<_>>()))
    })
    .await;
    let agent = server.agent();
    assert_eq!(agent.assistants(1000, 0).await.unwrap().items.len(), 230);
    let limits = |seen: &[common::Seen]| {
        seen.iter()
            .map(|s| s.json()["limit"].as_u64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(limits(&server.seen()), [1000, 100, 100, 100]);
    // Another client of the same profile knows it too.
    let query = ThreadQuery {
        limit: 150,
        ..ThreadQuery::default()
    };
    assert_eq!(agent.thread_rows(&query).await.unwrap().items.len(), 150);
    assert_eq!(limits(&server.seen())[4..], [100, 50]);
}

#[tokio::test]
async fn oversized_responses_have_their_own_error() {
    const ROW: &str = r#"{"run_id":"r","created_at":"2026-01-01T00:00:00Z","x":  1.50}"#;
    let server = Server::start(|seen| {
        json(
            200,
            if seen.path.ends_with("/runs") || seen.path.ends_with("/history") {
                format!("[{ROW}]")
            } else {
                ROW.into()
            },
        )
    })
    .await;
    let agent = server.agent();
    // Received text is not changed.
    assert_eq!(agent.thread_raw("t", 1000).await.unwrap().get(), ROW);
    assert_eq!(agent.thread_state_raw("t", 1000).await.unwrap().get(), ROW);
    assert_eq!(
        agent
            .thread_history_raw("t", 20, Some("c"), 1000)
            .await
            .unwrap()[0]
            .get(),
        ROW
    );
    assert_eq!(agent.runs_raw("t", 5, 0, 1000).await.unwrap()[0].get(), ROW);
    assert_eq!(server.seen()[2].query, "limit=20&before=c");
    let errors = [
        agent.thread_raw("t", 20).await.unwrap_err(),
        agent.thread_state_raw("t", 20).await.unwrap_err(),
        agent
            .thread_history_raw("t", 20, None, 20)
            .await
            .unwrap_err(),
        agent.runs_raw("t", 5, 0, 20).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind, Kind::TooLarge(20));
        assert!(
            error.detail.contains("larger than 20 B") && !error.is_transient(),
            "{error}"
        );
    }
}

#[tokio::test]
async fn stream_requests_have_their_parameters_and_headers() {
    let server = Server::start(|seen| {
        let mut response = response(
            200,
            "text/event-stream; charset=utf-8",
            "event: a\ndata: 1\n\n",
        );
        if seen.method == "POST" {
            response
                .headers_mut()
                .insert("content-location", "/threads/t/runs/r-7".parse().unwrap());
        }
        response
    })
    .await;
    let agent = server.agent();
    let body = RunCreate {
        assistant_id: "agent".into(),
        input: Some(Value::Null),
        stream_mode: vec!["values".into()],
        stream_resumable: true,
        ..RunCreate::default()
    };
    let stream = agent.start_run(Some("t"), &body).await.unwrap();
    assert_eq!(
        (
            stream.status,
            stream.run_id.as_deref(),
            stream.thread_id.as_deref()
        ),
        (200, Some("r-7"), Some("t"))
    );
    let bytes: Vec<_> = stream.body.map(Result::unwrap).collect().await;
    assert_eq!(bytes.concat(), b"event: a\ndata: 1\n\n");
    agent.start_run(None, &body).await.unwrap();
    let modes = ["values".to_string(), "updates".to_string()];
    agent.join_run("t", "r", &modes, Some("-1")).await.unwrap();
    agent.join_run("t", "r", &modes[..1], None).await.unwrap();
    agent
        .thread_stream("t", &modes, true, Some("-"))
        .await
        .unwrap();
    agent.thread_stream("t", &modes, false, None).await.unwrap();
    let seen = server.seen();
    let lines: Vec<String> = seen
        .iter()
        .map(|s| format!("{} {}?{}", s.method, s.path, s.query))
        .collect();
    assert_eq!(
        lines,
        [
            "POST /threads/t/runs/stream?",
            "POST /runs/stream?",
            "GET /threads/t/runs/r/stream?stream_mode=%5B%22values%22%2C%22updates%22%5D",
            "GET /threads/t/runs/r/stream?stream_mode=values",
            "GET /threads/t/stream?stream_modes=values&stream_modes=updates",
            "GET /threads/t/stream?stream_modes=values%2Cupdates",
        ]
    );
    assert_eq!(
        seen[0].json(),
        value!({"assistant_id": "agent", "input": null, "stream_mode": ["values"], "stream_subgraphs": false, "stream_resumable": true})
    );
    assert_eq!(seen[2].header("last-event-id"), Some("-1"));
    assert_eq!(seen[3].header("last-event-id"), None);
    assert_eq!(seen[4].header("last-event-id"), Some("-"));
    for one in &seen {
        assert_eq!(
            (one.header("accept"), one.header("accept-encoding")),
            (Some("text/event-stream"), Some("identity"))
        );
        assert_eq!(one.header("x-api-key"), Some(CANARY));
    }
}

#[tokio::test]
async fn a_response_that_is_not_a_stream_is_reported() {
    for (kind, detail) in [
        (
            "application/json",
            "application/json instead of an event stream",
        ),
        ("text/html", "HTML instead of JSON"),
    ] {
        let server = Server::start(move |_| response(200, kind, "{}")).await;
        let error = server
            .agent()
            .thread_stream("t", &[], true, None)
            .await
            .unwrap_err();
        assert_eq!(error.kind, Kind::Protocol);
        assert!(error.detail.starts_with(detail), "{error}");
    }
    let server =
        Server::start(|_| json(404, r#"{"detail":"Thread or assistant not found."}"#)).await;
    let error = server
        .agent()
        .start_run(Some("t"), &RunCreate::default())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.detail.as_str()),
        (Kind::NotFound, "Thread or assistant not found.")
    );
}

#[tokio::test]
async fn a_broken_stream_is_reported() {
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:\r\n";
    let url = common::raw(head).await;
    let agent = runtail_api::AgentServer::new(Http::new(&profile()).unwrap(), url);
    let mut stream = agent.thread_stream("t", &[], true, None).await.unwrap();
    assert_eq!(stream.body.next().await.unwrap().unwrap(), "data:");
    assert_eq!(
        stream.body.next().await.unwrap().unwrap_err().kind,
        Kind::Network
    );
}

#[tokio::test]
async fn health_is_asked_where_a_server_offers_it() {
    // As Python, JavaScript and Aegra respond, one that only implements the contract, and others.
    let python = value!({"queue": {"n_pending": 12, "n_running": 3, "pending_runs_wait_time_max_secs": 40.5},
        "workers": {"max": 10, "active": 8, "available": 2}});
    let not_found = || json(404, r#"{"detail":"Not Found"}"#);
    let answers = move |kind: &'static str| {
        let python = python.clone();
        Server::start(move |seen| match (kind, &*seen.path) {
            ("python", "/ok") => json(200, r#"{"ok":true,"services":{}}"#),
            ("python", "/metrics") if seen.query == "format=json" => json(200, python.to_string()),
            ("javascript", "/ok") => json(200, r#"{"ok":true}"#),
            ("aegra", "/health") => json(200, r#"{"status":"healthy","database":"connected"}"#),
            ("ill", "/ok") => json(503, r#"{"ok":false}"#),
            ("ill", "/metrics") => json(500, "{}"),
            ("guarded", "/metrics") => json(403, r#"{"detail":"Forbidden"}"#),
            ("guarded" | "prometheus", "/ok") => json(200, r#"{"ok":true}"#),
            ("prometheus", "/metrics") => json(200, "# HELP n_pending\nn_pending 1\n"),
            ("any", _) => json(200, "{}"),
            _ => not_found(),
        })
    };
    for (kind, is_healthy, has_load, paths) in [
        (
            "python",
            Some(true),
            true,
            &["/ok", "/metrics", "/ok", "/metrics"][..],
        ),
        ("javascript", Some(true), false, &["/ok", "/metrics", "/ok"]),
        (
            "aegra",
            Some(true),
            false,
            &["/ok", "/health", "/metrics", "/health"],
        ),
        ("contract", None, false, &["/ok", "/health", "/metrics"]),
        (
            "ill",
            Some(false),
            false,
            &["/ok", "/metrics", "/ok", "/metrics"],
        ),
        ("guarded", Some(true), false, &["/ok", "/metrics", "/ok"]),
        ("prometheus", Some(true), false, &["/ok", "/metrics", "/ok"]),
        ("any", None, false, &["/ok", "/health", "/metrics"]),
    ] {
        let server = answers(kind).await;
        let agent = server.agent();
        for _ in 0..2 {
            let health = agent.health().await.unwrap();
            assert_eq!(
                (health.is_healthy, health.load.is_some()),
                (is_healthy, has_load),
                "{kind}"
            );
            let load = health.load.unwrap_or_default();
            if has_load {
                assert_eq!(
                    (load.pending, load.running, load.workers),
                    (Some(12), Some(3), Some((8, 10)))
                );
                assert_eq!(load.oldest, Some(std::time::Duration::from_millis(40_500)));
            }
        }
        let seen: Vec<String> = server.seen().into_iter().map(|seen| seen.path).collect();
        assert_eq!(seen, paths, "{kind}");
    }
    // A server that asks to wait says nothing about what it offers.
    let server = Server::start(|_| json(429, "{}")).await;
    let agent = server.agent();
    for _ in 0..2 {
        assert!(matches!(
            agent.health().await.unwrap_err().kind,
            Kind::RateLimited(_)
        ));
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn calls_that_a_javascript_server_fails_at_are_not_offered() {
    let info =
        value!({"version": "1.5.1", "langgraph_js_version": "1.4.18", "flags": {"crons": false}});
    let server = Server::start(move |seen| match &*seen.path {
        "/info" => json(200, &info),
        "/assistants/a/schemas" => response(400, "text/plain", "Malformed JSON in request body"),
        "/assistants/a" => json(200, r#"{"assistant_id":"a","graph_id":"agent"}"#),
        _ => response(500, "text/plain", "Not implemented"),
    })
    .await;
    let agent = server.agent();
    let schemas = agent.assistant_schemas("a").await.unwrap_err();
    let crons = agent.crons(10, 0).await.unwrap_err();
    for (error, what) in [(schemas, "schemas"), (crons, "crons")] {
        assert_eq!(error.kind, Kind::NotOffered, "{error}");
        assert!(
            error.detail.contains(&format!("doesn't offer {what}")),
            "{error}"
        );
    }
}
