//! Limits on the cost of a server's responses: their size, their decompressed size and the memory for parsing them.

use axum::body::Body;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use runtail_testkit::common::{Server, response};
use runtail_testkit::hostile_stream::{KINDS, MakeEvent, text};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use std::io::Write;
use std::time::{Duration, Instant};

/// Maximum resident memory of the dashboard under a hostile stream, in KiB.
const MAX_RESIDENT: u64 = 512 << 10;

/// Maximum memory of a command for a hostile response beyond an ordinary one, in KiB.
const MAX_EXTRA: i64 = 64 << 10;

/// A compressed JSON response.
fn packed(json: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(json).unwrap();
    gzip.finish().unwrap()
}

fn compressed(body: Vec<u8>) -> Response {
    let response = Response::builder()
        .status(200)
        .header("content-type", "application/json");
    response
        .header("content-encoding", "gzip")
        .body(Body::from(body))
        .unwrap()
}

/// A list of zeros of this size.
fn numbers(size: usize) -> Vec<u8> {
    [b"[".as_slice(), &b"0,".repeat(size / 2), b"0]"].concat()
}

/// Peak memory of all commands so far, in KiB.
fn peak() -> i64 {
    // SAFETY: rusage is plain data that may be zeroed, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage.ru_maxrss
    }
}

/// Peak memory of this process, in KiB. Linux counts it as that of a command, too, which is a copy of the process when it begins,
/// and other tests let it grow meanwhile.
fn own_peak() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Commands that together read every kind of response.
const COMMANDS: [&[&str]; 7] = [
    &["threads", "state", "t"],
    &["threads", "get", "t"],
    &["threads", "list"],
    &["threads", "history", "t"],
    &["runs", "list", "t"],
    &["assistants", "list"],
    &["doctor"],
];

#[tokio::test(flavor = "multi_thread")]
async fn a_gzip_bomb_uses_little_memory() {
    let bomb = packed(&numbers(200 << 20));
    assert!(bomb.len() < 400 << 10, "{}", bomb.len());
    let small = Server::start(|_| compressed(packed(b"[]"))).await;
    let large = Server::start(move |_| compressed(bomb.clone())).await;
    let run = async |server: &Server, command: &[&str]| {
        let args: Vec<String> = ["--url", server.url.as_str()]
            .iter()
            .chain(command)
            .map(ToString::to_string)
            .collect();
        tokio::task::spawn_blocking(move || process::run(args))
            .await
            .unwrap()
    };
    for command in COMMANDS {
        run(&small, command).await;
    }
    let usual = peak();
    for command in COMMANDS {
        let done = run(&large, command).await;
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(
            said.contains("decompresses to more than 100 times its size"),
            "{command:?}: {said}"
        );
        let usual = usual.max(own_peak());
        assert!(
            peak() - usual < MAX_EXTRA,
            "{command:?}: {} KiB, usually {usual} KiB",
            peak()
        );
    }
}

#[tokio::test]
async fn responses_that_need_too_much_memory_to_parse_are_refused() {
    // A 50 MB embedding, and as many bytes of zeros.
    let state = format!(
        r#"{{"values":{{"text":"{}"}},"next":[],"tasks":[]}}"#,
        "word ".repeat(10 << 20)
    );
    let state: &'static str = state.leak();
    let dense: &'static [u8] = numbers(60 << 20).leak();
    // Repetitive data, as in states with many similar messages: compressed less than a hundredfold. Packed before the request, which
    // must end in time.
    let similar = packed(format!("{{\"values\":[{}0]}}", lines(20 << 20)).as_bytes());
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/threads/large/state" => response(200, "application/json", state),
        "/threads/packed/state" => compressed(similar.clone()),
        _ => response(200, "application/json", dense),
    })
    .await;
    let agent = server.agent();
    assert!(agent.thread_state("large").await.is_ok());
    assert!(agent.thread_state("packed").await.is_ok());
    let error = agent.thread_state("dense").await.unwrap_err();
    assert!(
        error.to_string().contains("it has too many values"),
        "{error}"
    );
}

/// Lines that are similar but not equal.
fn lines(size: usize) -> String {
    let mut text = String::with_capacity(size + 64);
    for i in 0u64.. {
        if text.len() >= size {
            break;
        }
        text.push_str(&format!(
            "\"{:016x}\",",
            i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ));
    }
    text
}

/// Starts a server with one thread whose stream sends events of this kind as fast as they are read.
async fn hostile_server(make: MakeEvent) -> Server {
    Server::start(
        move |seen| match (seen.method.as_str(), seen.path.as_str()) {
            (_, "/threads/search") => response(
                200,
                "application/json",
                r#"[{"thread_id":"t","status":"busy"}]"#,
            ),
            (_, "/threads/t") => response(
                200,
                "application/json",
                r#"{"thread_id":"t","status":"busy"}"#,
            ),
            (_, "/threads/t/state") => response(
                200,
                "application/json",
                r#"{"values":{},"next":["n"],"tasks":[]}"#,
            ),
            (_, "/threads/t/stream") => {
                let (send, receive) = tokio::sync::mpsc::channel(4);
                tokio::task::spawn_blocking(move || {
                    let sizes = [1 << 20, 64 << 10, 1 << 10];
                    let mut events = (0..)
                        .map(|n| Ok::<_, std::io::Error>(make(n, &text(n, sizes[n / 500 % 3]))));
                    while send.blocking_send(events.next().unwrap()).is_ok() {}
                });
                let body = futures::stream::unfold(receive, async |mut receive| {
                    Some((receive.recv().await?, receive))
                });
                Response::builder()
                    .header("content-type", "text/event-stream")
                    .body(Body::from_stream(body))
                    .unwrap()
            }
            (_, "/info") => response(200, "application/json", "{}"),
            _ => response(200, "application/json", "[]"),
        },
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes, and a system that reports the memory of a process: RUNTAIL_HOSTILE_SECONDS=25 RUNTAIL_TEST_BIN=target/release/runtail cargo test --test cli budgets -- --ignored --nocapture"]
async fn dashboard_memory_stays_bounded_under_hostile_streams() {
    let seconds = std::env::var("RUNTAIL_HOSTILE_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(25);
    let mut over = Vec::new();
    for (kind, make) in KINDS {
        let server = hostile_server(make).await;
        let url = server.url.to_string();
        let (most, events) =
            tokio::task::spawn_blocking(move || watch(&url, Duration::from_secs(seconds)))
                .await
                .unwrap();
        println!("{kind}: {} MiB resident at most · {events}", most >> 10);
        over.extend((most > MAX_RESIDENT).then_some(kind));
    }
    assert!(
        over.is_empty(),
        "{over:?} take more than {MAX_RESIDENT} KiB"
    );
}

/// Shows the thread for a while, each view in turn. Returns the memory and the event count on the last screen.
fn watch(url: &str, time: Duration) -> (u64, String) {
    let term = Term::spawn(&["--url", url], 140, 40);
    term.wait_for("THREAD");
    term.keys("\r");
    term.wait_for("Messages");
    let until = Instant::now() + time;
    for view in ["1", "2", "3", "4", "5", "6", "7"].iter().cycle() {
        term.keys(view);
        std::thread::sleep(Duration::from_millis(300));
        if Instant::now() > until {
            break;
        }
    }
    term.keys("6d");
    let received = |term: &Term| {
        let is_count = |line: &&str| line.contains(" events");
        term.screen().lines().rfind(is_count).map(|line| {
            line.trim_start_matches([' ', '│', '▌'])
                .trim_end()
                .to_string()
        })
    };
    term.wait_until("events that were received", |term| received(term).is_some());
    let events = received(&term).unwrap_or_default();
    (term.peak_memory().expect("its memory"), events)
}
