//! The concurrency of requests: independent requests run in parallel, many requests are limited, and connections are
//! reused. The servers here hold back their responses until all expected requests have arrived, so sequential requests
//! hang.

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::serve::ListenerExt;
use runtail_testkit::common::{CANARY, json};
use runtail_testkit::term::Term;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::future::Future;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Barrier;

/// The maximum number of concurrent requests of a profile.
const MAX_CONCURRENCY: usize = 4;
/// More than the duration of any step that does not hang.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The requests and connections of a server.
#[derive(Default)]
struct Seen {
    /// Paths with queries, in order of arrival.
    asked: Mutex<Vec<String>>,
    connections: AtomicUsize,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl Seen {
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Starts a server whose responses depend on the path and query, and that records its requests.
async fn serve<A: Future<Output = Response> + Send + 'static>(
    act: impl Fn(String) -> A + Clone + Send + Sync + 'static,
) -> (String, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let notes = seen.clone();
    let app = Router::new().fallback(move |request: Request| {
        let (act, notes) = (act.clone(), notes.clone());
        async move {
            let path = request.uri().to_string();
            notes.asked.lock().unwrap().push(path.clone());
            let now = notes.under_way.fetch_add(1, SeqCst) + 1;
            notes.most.fetch_max(now, SeqCst);
            let answer = act(path).await;
            notes.under_way.fetch_sub(1, SeqCst);
            answer
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let notes = seen.clone();
    let listener = listener.tap_io(move |_| {
        notes.connections.fetch_add(1, SeqCst);
    });
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, seen)
}

/// Creates a configuration of these profiles: names and control planes.
fn config(of: &[(String, String)]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let profile = |(name, url): &(String, String)| {
        format!(
            "[profiles.{name}]\ncontrol_plane = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n"
        )
    };
    std::fs::write(&path, of.iter().map(profile).collect::<String>()).unwrap();
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

/// Runs a command with these profiles. Returns the rows that it prints.
async fn rows(of: &[(String, String)], args: &[&str]) -> Vec<Value> {
    let (_folder, config) = config(of);
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_runtail"));
    command
        .env_clear()
        .env("RUNTAIL_TEST_KEY", CANARY)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
        .args(["--config", &config])
        .args(args)
        .args(["-o", "jsonl"]);
    let done = tokio::time::timeout(TIMEOUT, command.output())
        .await
        .expect("requests wait for each other")
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn one(url: &str) -> [(String, String); 1] {
    [("one".to_string(), url.to_string())]
}

/// Eight profiles of one server, each with its own path prefix.
fn eight(url: &str) -> Vec<(String, String)> {
    (0..8)
        .map(|n| (format!("p{n}"), format!("{url}/p{n}")))
        .collect()
}

/// A numeric parameter of a query.
fn parameter(path: &str, name: &str) -> usize {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes())
        .find(|(key, _)| key == name)
        .map_or(0, |(_, n)| n.parse().unwrap())
}

/// A page of a list with this total number of deployments.
fn page(path: &str, total: usize) -> Response {
    let (limit, offset) = (parameter(path, "limit"), parameter(path, "offset"));
    let row = |n: usize| {
        json!({"id": format!("d-{n:05}"), "name": format!("bot-{n:05}"), "status": "READY",
            "latest_revision_id": format!("r-{n:05}")})
    };
    let rows: Vec<Value> = (offset..total.min(offset + limit)).map(row).collect();
    json(
        200,
        json!({"resources": rows, "offset": offset + rows.len()}),
    )
}

fn is_list(path: &str) -> bool {
    path.contains("/v2/deployments?")
}

fn revision(path: &str) -> Response {
    json(
        200,
        json!({"id": path.rsplit('/').next(), "status": "DEPLOYED", "created_at": "2026-11-20T09:58:00Z"}),
    )
}

/// A server that holds back all responses until all eight profiles have requested their first list.
async fn all_or_none() -> (String, Arc<Seen>) {
    let (all, begun) = (
        Arc::new(Barrier::new(8)),
        Arc::new(Mutex::new(HashSet::new())),
    );
    serve(move |path| {
        let profile = path[1..3].to_string();
        let first = is_list(&path) && begun.lock().unwrap().insert(profile.clone());
        let all = all.clone();
        async move {
            if first {
                all.wait().await;
            }
            let row = json!({"id": format!("d-{profile}"), "name": format!("bot-of-{profile}"), "status": "READY"});
            json(200, if is_list(&path) { json!({"resources": [row]}) } else { json!({"resources": []}) })
        }
    })
    .await
}

#[tokio::test]
async fn listing_eight_profiles_takes_one_round_trip() {
    let (url, seen) = all_or_none().await;
    assert_eq!(rows(&eight(&url), &["deployments", "list"]).await.len(), 8);
    let asked = seen.asked();
    assert!(
        asked.len() == 8 && asked.iter().all(|path| is_list(path)),
        "nothing else is asked: {asked:?}"
    );
}

#[test]
fn dashboard_loads_eight_profiles_in_parallel() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (url, seen) = runtime.block_on(all_or_none());
    let (_folder, config) = config(&eight(&url));
    let term = Term::spawn_with(
        &[("RUNTAIL_TEST_KEY", CANARY)],
        &["--config", &config],
        140,
        40,
    );
    term.wait_for("Deployments · 8");
    let asked = seen.asked();
    assert!(
        asked.iter().take(8).all(|path| is_list(path)),
        "nothing is asked before the lists: {asked:?}"
    );
}

#[tokio::test]
async fn pages_of_a_long_list_are_loaded_with_limited_concurrency() {
    let few = Arc::new(Barrier::new(MAX_CONCURRENCY));
    let (url, seen) = serve(move |path| {
        let few = few.clone();
        async move {
            // The first pages are requested before the length of the list is known.
            if parameter(&path, "offset") >= 600 {
                few.wait().await;
            }
            page(&path, 10_000)
        }
    })
    .await;
    let rows = rows(&one(&url), &["deployments", "list"]).await;
    assert_eq!(rows.len(), 10_000);
    assert!(
        rows.iter()
            .enumerate()
            .all(|(n, row)| row["id"] == format!("d-{n:05}")),
        "each once, in order"
    );
    assert_eq!(seen.most.load(SeqCst), MAX_CONCURRENCY);
    let asked = seen.asked().len();
    assert!(asked <= 101 + MAX_CONCURRENCY, "{asked} requests");
    // A connection that just becomes free may be missed, but most connections are reused.
    let connections = seen.connections.load(SeqCst);
    assert!(
        connections <= 4 * MAX_CONCURRENCY,
        "{connections} connections"
    );
}

#[tokio::test]
async fn a_short_list_is_one_request() {
    for (total, most) in [(0, 1), (99, 1), (100, 3), (150, 3)] {
        let (url, seen) = serve(move |path| async move { page(&path, total) }).await;
        assert_eq!(
            rows(&one(&url), &["deployments", "list"]).await.len(),
            total
        );
        let asked = seen.asked();
        assert!(asked.len() <= most, "{total} rows: {asked:?}");
    }
}

#[tokio::test]
async fn newest_revisions_are_loaded_with_limited_concurrency() {
    let few = Arc::new(Barrier::new(MAX_CONCURRENCY));
    let (url, seen) = serve(move |path| {
        let few = few.clone();
        async move {
            if is_list(&path) {
                return page(&path, 80);
            }
            few.wait().await;
            revision(&path)
        }
    })
    .await;
    let rows = rows(&one(&url), &["deployments", "list", "--revisions"]).await;
    assert!(
        rows.iter()
            .all(|row| row["latest_revision"]["status"] == "DEPLOYED")
    );
    assert_eq!(
        (rows.len(), seen.asked().len(), seen.most.load(SeqCst)),
        (80, 81, MAX_CONCURRENCY)
    );
}

#[test]
fn newest_revisions_of_visible_rows_are_loaded_first() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (few, count) = (
        Arc::new(Barrier::new(MAX_CONCURRENCY)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let highest = most.clone();
    let (url, seen) = runtime.block_on(serve(move |path| {
        let (few, count, now, most) = (few.clone(), count.clone(), now.clone(), most.clone());
        async move {
            if is_list(&path) {
                return page(&path, 1_000);
            }
            if !path.contains("/revisions/r-") {
                return json(200, json!({"resources": []}));
            }
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            if count.fetch_add(1, SeqCst) < 4 * MAX_CONCURRENCY {
                few.wait().await;
            }
            now.fetch_sub(1, SeqCst);
            revision(&path)
        }
    }));
    let (_folder, config) = config(&one(&url));
    let term = Term::spawn_with(
        &[("RUNTAIL_TEST_KEY", CANARY)],
        &["--config", &config],
        140,
        40,
    );
    let newest = || -> Vec<String> {
        seen.asked()
            .into_iter()
            .filter(|path| path.contains("/revisions/r-"))
            .collect()
    };
    term.wait_until("requests for rows outside the screen", |_| {
        newest().len() > 100
    });
    let screen = term.screen();
    for path in &newest()[..4 * MAX_CONCURRENCY] {
        let name = format!("bot-{}", &path[path.len() - 5..]);
        assert!(
            screen.contains(&name),
            "{name} was asked for early, and is not on the screen\n{screen}"
        );
    }
    assert_eq!(highest.load(SeqCst), MAX_CONCURRENCY);
}

#[tokio::test]
async fn wait_uses_one_connection() {
    let polls = Arc::new(AtomicUsize::new(0));
    let (url, seen) = serve(move |path| {
        let polls = polls.clone();
        async move {
            if is_list(&path) {
                return page(&path, 1);
            }
            let done = polls.fetch_add(1, SeqCst) >= 10;
            json(
                200,
                json!({"id": "r-00000", "status": if done { "DEPLOYED" } else { "BUILDING" }}),
            )
        }
    })
    .await;
    rows(
        &one(&url),
        &["revisions", "wait", "bot-00000", "--interval", "100ms"],
    )
    .await;
    let (asked, connections) = (seen.asked().len(), seen.connections.load(SeqCst));
    assert!(
        asked >= 11 && connections <= 3,
        "{connections} connections for {asked} requests"
    );
}
