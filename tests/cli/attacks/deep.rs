//! JSON with 100,000 levels and endless lines, wherever the dashboard shows what a server sends.

use axum::body::Body;
use axum::response::Response;
use runtail_testkit::common::{Seen, Server, json, response};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use serde_json::json as value;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

const LEVELS: usize = 100_000;
const THREAD: &str = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
const RUN: &str = "01a1fbb5-1743-72b0-bac9-4236eccc288a";
/// Maximum memory of the dashboard under these attacks, in KiB.
const MAX_MEMORY: u64 = 512 << 10;

fn lists() -> String {
    "[".repeat(LEVELS) + &"]".repeat(LEVELS)
}

fn objects() -> String {
    r#"{"a":"#.repeat(LEVELS) + "1" + &"}".repeat(LEVELS)
}

/// Starts a server with one thread. `act` handles each request first.
fn server(act: impl Fn(&Seen) -> Option<Response> + Send + Sync + 'static) -> String {
    let usual = |seen: &Seen| {
        let time = "2026-11-21T10:00:00Z";
        let thread = value!({"thread_id": THREAD, "status": "idle", "created_at": time, "updated_at": time, "metadata": {}});
        let run = value!({"run_id": RUN, "thread_id": THREAD, "assistant_id": "a", "status": "success", "created_at": time, "updated_at": time});
        match seen.path.as_str() {
            "/info" => json(
                200,
                value!({"version": "0.4", "langgraph_py_version": "1.0"}),
            ),
            "/threads/search" => json(200, value!([thread])),
            "/assistants/search" => json(
                200,
                value!([{"assistant_id": "a", "graph_id": "g", "name": "g"}]),
            ),
            path if path.ends_with("/runs") => json(200, value!([run])),
            path if path.contains("/runs/") => json(200, run),
            path if path.ends_with("/state") => {
                json(200, value!({"values": {}, "next": [], "tasks": []}))
            }
            path if path.ends_with("/history") => json(200, value!([])),
            _ => json(200, thread),
        }
    };
    let server = RUNTIME.block_on(Server::start(move |seen| {
        act(seen).unwrap_or_else(|| usual(seen))
    }));
    server.url.to_string()
}

/// Returns a stream that sends these bytes and stays open.
fn stream(bytes: String) -> Response {
    let chunks = futures::StreamExt::chain(
        futures::stream::iter([Ok::<_, std::io::Error>(bytes)]),
        futures::stream::pending(),
    );
    response(200, "text/event-stream", Body::from_stream(chunks))
}

fn is_stream(seen: &Seen) -> bool {
    seen.path.ends_with("/stream")
}

/// Opens the thread, each of its views and the newest entry, then checks that the dashboard still responds.
fn check_every_view(url: &str, what: &str) {
    let mut term = Term::spawn(&["--url", url], 200, 40);
    term.wait_for("THREAD");
    term.keys(&format!(":{THREAD}\r"));
    term.wait_for("1 Messages");
    for keys in ["6", "\r", "+", "-", "1", "2", "3", "\r", "4", "5", "6", "9"] {
        term.keys(keys);
        term.wait_for_quiet(Duration::from_millis(150));
    }
    term.keys("?");
    term.wait_for("╭ Help");
    if let Some(peak) = term.peak_memory() {
        println!("{what}: {peak} KiB");
        assert!(peak < MAX_MEMORY, "{what}: {peak} KiB");
    }
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0, "{what}");
    assert_eq!(term.unrestored_modes(), [""; 0], "{what}");
}

#[test]
fn deeply_nested_events_are_shown_in_every_view() {
    for deep in [lists(), objects()] {
        let url = server(move |seen| {
            let mut events =
                format!("event: metadata\ndata: {{\"run_id\":\"{RUN}\",\"attempt\":1}}\n\n");
            let of = |name: &str, data: &str| format!("event: {name}\ndata: {data}\n\n");
            let token = format!(
                r#"[{{"type":"ai","id":"m","content":{deep},"tool_calls":[{{"id":"1","name":"n","args":{deep}}}]}},{{"langgraph_node":"n"}}]"#
            );
            let message = format!(
                r#"[{{"type":"ai","id":"l","content":"x","tool_calls":[{{"id":"1","name":"n","args":{deep}}}]}}]"#
            );
            events += &of(
                "values",
                &format!(r#"{{"messages":[{{"type":"human","content":{deep}}}],"x":{deep}}}"#),
            );
            events += &of(
                "updates",
                &format!(
                    r#"{{"node":{{"x":{deep}}},"__interrupt__":[{{"id":"i","value":{deep}}}]}}"#
                ),
            );
            events += &of("messages", &token);
            events += &of("messages/partial", &message);
            events += &of(
                "tasks",
                &format!(r#"{{"id":"1","name":"n","input":{deep},"triggers":{deep}}}"#),
            );
            events += &of(
                "tasks",
                &format!(
                    r#"{{"id":"1","name":"n","result":{deep},"interrupts":[{{"value":{deep}}}]}}"#
                ),
            );
            events += &of(
                "checkpoints",
                &format!(r#"{{"config":{deep},"values":{deep},"tasks":{deep}}}"#),
            );
            events += &of("debug", &format!(r#"{{"type":"task","payload":{deep}}}"#));
            events += &of(
                "events",
                &format!(r#"{{"event":"on_tool_start","data":{deep},"tags":{deep}}}"#),
            );
            ["custom", "error", "other"]
                .iter()
                .for_each(|name| events += &of(name, &deep));
            is_stream(seen).then(|| stream(events))
        });
        check_every_view(&url, "events");
    }
}

#[test]
fn deeply_nested_responses_are_shown_in_every_view() {
    for deep in [lists(), objects()] {
        let url = server(move |seen| {
            let body = match seen.path.as_str() {
                path if path.ends_with("/stream") => return Some(stream(String::new())),
                path if path.ends_with("/state") => {
                    format!(
                        r#"{{"values":{{"x":{deep},"messages":[{{"type":"ai","id":"m","content":{deep}}}]}},"next":[],"tasks":[{{"id":"t","name":"n","interrupts":[{{"value":{deep}}}]}}]}}"#
                    )
                }
                path if path.ends_with("/history") => {
                    format!(r#"[{{"values":{deep},"next":[],"tasks":{deep},"metadata":{deep}}}]"#)
                }
                path if path.ends_with("/runs") => {
                    format!(
                        r#"[{{"run_id":"{RUN}","thread_id":"{THREAD}","status":"success","kwargs":{deep},"metadata":{deep}}}]"#
                    )
                }
                "/threads/search" => return None,
                path if path.starts_with("/threads/") && seen.method == "GET" => {
                    format!(
                        r#"{{"thread_id":"{THREAD}","status":"idle","values":{deep},"metadata":{deep},"interrupts":{{"t":[{{"value":{deep}}}]}}}}"#
                    )
                }
                _ => return None,
            };
            Some(response(200, "application/json", body))
        });
        check_every_view(&url, "answers");
    }
}

#[test]
fn a_deeply_nested_value_does_not_affect_other_records() {
    let url = server(|seen| {
        let row = format!(
            r#"[{{"thread_id":"{THREAD}","status":"idle","metadata":{}}},{{"thread_id":"other","status":"busy"}}]"#,
            objects()
        );
        seen.path
            .ends_with("/search")
            .then(|| response(200, "application/json", row))
    });
    let term = Term::spawn(&["--url", &url], 130, 36);
    // The list shows the ends of ids.
    term.wait_for(&THREAD[THREAD.len() - 4..]);
    term.wait_for(" ther");
    term.keys("2");
    term.wait_for_quiet(Duration::from_millis(100));
    term.keys("?");
    term.wait_for("╭ Help");
    term.keys("\x03");
    for args in [&["threads", "list"][..], &["threads", "list", "-o", "json"]] {
        let done = process::run(["--url", &url].iter().chain(args)).expect(0);
        assert!(
            done.stdout.contains(THREAD) && done.stdout.contains("other"),
            "{}",
            done.stdout
        );
    }
    for args in [
        &["assistants", "list", "-o", "json"][..],
        &["threads", "get", "t", "-o", "json"],
    ] {
        let done = process::run(["--url", &url].iter().chain(args));
        assert!(
            matches!(done.code, Some(0 | 1)),
            "{args:?}: {:?} {}",
            done.code,
            done.stderr
        );
    }
}

#[test]
fn an_endless_line_is_read_in_bounded_memory() {
    const LINE: usize = 200 << 20;
    let url = server(|seen| {
        let line = futures::stream::repeat("x".repeat(1 << 20));
        let line = futures::StreamExt::take(line, LINE >> 20);
        let first = futures::stream::iter(["event: custom\ndata: ".to_string()]);
        let all = futures::StreamExt::map(
            futures::StreamExt::chain(first, line),
            Ok::<_, std::io::Error>,
        );
        let open = futures::StreamExt::chain(all, futures::stream::pending());
        is_stream(seen).then(|| response(200, "text/event-stream", Body::from_stream(open)))
    });
    check_every_view(&url, "a line");
}
