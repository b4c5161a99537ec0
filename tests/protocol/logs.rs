//! The log endpoints of both generations as servers see them, and following a log over HTTP.

use jiff::Timestamp;
use runtail_api::{ApiError, Kind, LogAsk, LogFilter, LogFollower, LogKind, LogScope, Retry};
use runtail_core::model::Severity;
use runtail_testkit::common::{CANARY, Seen, Server, json};
use serde_json::{Value, json as value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn scope(revision: Option<&str>, kind: LogKind) -> LogScope {
    LogScope {
        deployment: "d-1".into(),
        revision: revision.map(str::to_string),
        kind,
    }
}

fn filter() -> LogFilter {
    LogFilter {
        level: Some(Severity::Warning),
        query: Some("a&b".into()),
        ..LogFilter::default()
    }
}

fn ask() -> LogAsk {
    let at = |text: &str| text.parse::<Timestamp>().ok();
    LogAsk {
        newest_first: true,
        limit: 7,
        start: at("2026-11-21T10:00:00.001Z"),
        end: at("2026-11-21T11:00:00Z"),
        cursor: Some("n7".into()),
    }
}

/// Starts a server with a fixed response for each generation of the log calls.
async fn server(v1: (u16, &'static str), v2: (u16, &'static str)) -> Server {
    Server::start(move |seen| {
        let (status, body) = match seen.path.as_str() {
            path if path.starts_with("/api-host/v1/") => v1,
            path if path.ends_with("/revisions") => (200, r#"{"resources":[{"id":"r-9"}]}"#),
            _ => v2,
        };
        json(status, body)
    })
    .await
}

const NO_ROUTE: (u16, &str) = (404, r#"{"detail":"Not Found"}"#);
const LOGS: (u16, &str) = (200, r#"{"logs":[{"message":"x"}],"next_offset":5}"#);
const ITEMS: (u16, &str) = (200, r#"{"items":[{"message":"x"}],"next_cursor":null}"#);

fn places(seen: &[Seen]) -> Vec<String> {
    seen.iter()
        .map(|seen| {
            format!(
                "{} {}",
                seen.method,
                seen.path.strip_prefix("/api-host").unwrap()
            )
        })
        .collect()
}

#[tokio::test]
async fn older_log_endpoints_get_documented_requests() {
    let server = server(LOGS, NO_ROUTE).await;
    let control = server.control();
    for (revision, kind) in [
        (None, LogKind::Server),
        (Some("r-1"), LogKind::Server),
        (Some("r-1"), LogKind::Build),
        (None, LogKind::Build),
    ] {
        let page = control
            .log_page(&scope(revision, kind), &filter(), &ask())
            .await
            .unwrap();
        assert_eq!(
            (page.rows, page.cursor.as_deref()),
            (vec![value!({"message": "x"})], Some("5"))
        );
    }
    let seen = server.seen();
    assert_eq!(
        places(&seen),
        [
            "POST /v1/projects/d-1/deploy_logs",
            "POST /v1/projects/d-1/revisions/r-1/deploy_logs",
            "POST /v1/projects/d-1/revisions/r-1/build_logs",
            "GET /v2/deployments/d-1/revisions",
            "POST /v1/projects/d-1/revisions/r-9/build_logs",
        ]
    );
    assert_eq!(
        seen[0].json(),
        value!({
            "order": "desc", "limit": 7, "offset": "n7", "level": "WARNING", "query": "a&b",
            "start_time": "2026-11-21T10:00:00.001Z", "end_time": "2026-11-21T11:00:00Z",
        })
    );
    assert_eq!(seen[0].header("x-api-key"), Some(CANARY));
    control
        .log_page(
            &scope(None, LogKind::Server),
            &LogFilter::default(),
            &LogAsk::default(),
        )
        .await
        .unwrap();
    assert_eq!(
        server.seen()[5].json(),
        value!({"order": "asc", "limit": 0}),
        "what is not wanted is not sent"
    );
}

#[tokio::test]
async fn newer_log_endpoints_get_documented_requests() {
    let common = "level=WARNING&query=a%26b&start_time=2026-11-21T10%3A00%3A00.001Z&end_time=2026-11-21T11%3A00%3A00Z";
    for missing in [NO_ROUTE, (405, r#"{"detail":"Method Not Allowed"}"#)] {
        let server = server(missing, ITEMS).await;
        let control = server.control();
        let clone = control.clone();
        let page = control
            .log_page(&scope(None, LogKind::Server), &filter(), &ask())
            .await
            .unwrap();
        assert_eq!((page.rows.len(), page.cursor), (1, None));
        for kind in [LogKind::Build, LogKind::Server] {
            clone
                .log_page(&scope(Some("r-1"), kind), &filter(), &ask())
                .await
                .unwrap();
        }
        let seen = server.seen();
        assert_eq!(
            places(&seen),
            [
                "POST /v1/projects/d-1/deploy_logs",
                "GET /v2/deployment-logs",
                "GET /v2/deployments/d-1/revisions/r-1/logs",
                "GET /v2/deployments/d-1/revisions/r-1/logs",
            ],
            "tried once, and remembered by clones"
        );
        let of_deployment =
            "deployment_id=d-1&log_type=DEPLOY&sort_order=desc&page_size=7&cursor=n7";
        assert_eq!(seen[1].query, format!("{of_deployment}&{common}"));
        assert_eq!(
            seen[2].query,
            format!("type=build&order=desc&limit=7&offset=n7&{common}")
        );
        assert!(
            seen[3].query.starts_with("type=deploy&"),
            "{}",
            seen[3].query
        );
    }
}

async fn refused(v1: (u16, &'static str), v2: (u16, &'static str)) -> (ApiError, usize) {
    let server = server(v1, v2).await;
    let control = server.control();
    let error = control
        .log_page(&scope(None, LogKind::Server), &filter(), &ask())
        .await
        .unwrap_err();
    (error, server.seen().len())
}

#[tokio::test]
async fn logs_of_a_missing_deployment_are_an_error() {
    let told = (404, r#"{"detail":"Deployment ID d-1 not found."}"#);
    for (v1, v2) in [(told, NO_ROUTE), (NO_ROUTE, told), (told, told)] {
        let (error, asked) = refused(v1, v2).await;
        assert_eq!(
            (error.kind, error.detail.as_str(), asked),
            (Kind::NotFound, "Deployment ID d-1 not found.", 2)
        );
    }
    let (error, _) = refused((405, "{}"), NO_ROUTE).await;
    assert_eq!(error.kind, Kind::NotFound);
    // The other endpoint is only tried if this one seems to be missing.
    for (status, kind) in [
        (401, Kind::Unauthorized),
        (403, Kind::Forbidden),
        (500, Kind::Server(500)),
    ] {
        assert_eq!(refused((status, "{}"), ITEMS).await.1, 1);
        let (error, _) = refused(NO_ROUTE, (status, "{}")).await;
        assert_eq!(error.kind, kind);
    }
}

#[tokio::test]
async fn a_rejection_does_not_select_the_log_api_generation() {
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        match (seen.method.as_str(), asked.fetch_add(1, Ordering::SeqCst)) {
            (_, 0 | 1) => json(404, "{}"),
            ("POST", _) => json(LOGS.0, LOGS.1),
            _ => json(500, "{}"),
        }
    })
    .await;
    let control = server.control();
    assert!(
        control
            .log_page(&scope(None, LogKind::Server), &filter(), &ask())
            .await
            .is_err()
    );
    assert!(
        control
            .log_page(&scope(None, LogKind::Server), &filter(), &ask())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn log_queries_sent_as_post_are_retried() {
    let asked = AtomicUsize::new(0);
    let server = Server::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => json(503, "{}"),
        _ => json(LOGS.0, LOGS.1),
    })
    .await;
    let quick = Retry {
        attempts: 2,
        base: Duration::from_millis(1),
        cap: Duration::from_millis(1),
        ..Retry::NONE
    };
    let control = server.control().retrying(quick);
    control
        .log_page(&scope(None, LogKind::Server), &filter(), &ask())
        .await
        .unwrap();
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn malformed_log_responses_are_errors() {
    for (body, rows) in [
        (r#"{"logs":null}"#, Some(0)),
        ("{}", Some(0)),
        (r#"["a",1]"#, Some(2)),
        ("7", None),
    ] {
        let server = server((200, body), NO_ROUTE).await;
        let page = server
            .control()
            .log_page(&scope(None, LogKind::Server), &filter(), &ask())
            .await;
        assert_eq!(page.ok().map(|page| page.rows.len()), rows, "{body}");
    }
    let server = server((200, r#"{"logs":{"a":1}}"#), NO_ROUTE).await;
    let error = server
        .control()
        .log_page(&scope(None, LogKind::Server), &filter(), &ask())
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::Protocol);
}

#[tokio::test]
async fn a_build_log_stays_with_its_revision() {
    let newest = AtomicUsize::new(0);
    let server = Server::start(move |seen| match seen.path.rsplit('/').next() {
        Some("revisions") => json(
            200,
            value!({"resources": [{"id": format!("r-{}", newest.fetch_add(1, Ordering::SeqCst))}]}),
        ),
        _ => json(200, r#"{"logs":[{"timestamp":1,"message":"x"}]}"#),
    })
    .await;
    let mut follower = LogFollower::new(
        server.control(),
        scope(None, LogKind::Build),
        LogFilter::default(),
        usize::MAX,
    );
    assert_eq!(follower.poll().await.unwrap()[0].message, "x");
    assert_eq!(follower.poll().await.unwrap(), []);
    assert_eq!(follower.scope().revision.as_deref(), Some("r-0"));
    let builds = "POST /v1/projects/d-1/revisions/r-0/build_logs";
    assert_eq!(
        places(&server.seen()),
        ["GET /v2/deployments/d-1/revisions", builds, builds]
    );
    // A deployment without a revision has no build log.
    let server = Server::start(|_| json(200, r#"{"resources":[]}"#)).await;
    let mut follower = LogFollower::new(
        server.control(),
        scope(None, LogKind::Build),
        LogFilter::default(),
        5,
    );
    assert_eq!(follower.poll().await.unwrap_err().kind, Kind::NotFound);
}

#[tokio::test]
async fn a_failed_poll_changes_nothing() {
    let asked = AtomicUsize::new(0);
    let line = |n: usize| value!({"timestamp": n * 5000, "message": n.to_string()});
    let server = Server::start(move |seen| {
        // Three full pages; the second one fails at first.
        let end = seen.json()["end_time"]
            .as_str()
            .map(|at| at.parse::<Timestamp>().unwrap().as_millisecond());
        let newest = end.map_or(249, |end| end as usize / 5000);
        match asked.fetch_add(1, Ordering::SeqCst) {
            1 => json(502, "{}"),
            _ => {
                let lines: Vec<Value> = (0..=newest).rev().take(100).map(line).collect();
                json(200, value!({"logs": lines, "next_offset": null}))
            }
        }
    })
    .await;
    let mut follower = LogFollower::new(
        server.control(),
        scope(None, LogKind::Server),
        LogFilter::default(),
        usize::MAX,
    );
    assert_eq!(follower.poll().await.unwrap_err().kind, Kind::Server(502));
    let said: Vec<String> = follower
        .poll()
        .await
        .unwrap()
        .into_iter()
        .map(|line| line.message)
        .collect();
    assert_eq!(said, (0..250).map(|n| n.to_string()).collect::<Vec<_>>());
}
