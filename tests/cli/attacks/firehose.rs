//! Commands against a server that sends events as fast as it can.

use crate::attacks::MAX_MEMORY;
use axum::body::Body;
use runtail_testkit::common::{Seen, Server, json, response};
use runtail_testkit::process;
use serde_json::json as value;
use std::io::Read;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

const RUN: &str = "01a1fbb5-1743-72b0-bac9-4236eccc288a";
/// Events in one chunk.
const BATCH: u64 = 1000;

/// Starts a server whose run sends this many numbered events and ends.
fn server(events: u64) -> String {
    let act = move |seen: &Seen| match seen.path.as_str() {
        "/info" => json(
            200,
            value!({"version": "0.4", "langgraph_py_version": "1.0"}),
        ),
        path if path.ends_with("/stream") => {
            let chunks = (0..events.div_ceil(BATCH)).map(move |batch| {
                let mut text = String::with_capacity(256 << 10);
                if batch == 0 {
                    text += &format!(
                        "event: metadata\ndata: {{\"run_id\":\"{RUN}\",\"attempt\":1}}\nid: 0-0\n\n"
                    );
                }
                for n in batch * BATCH..events.min((batch + 1) * BATCH) {
                    let filler = "lorem ipsum dolor sit amet ".repeat(5);
                    text += &format!(
                        "event: custom\ndata: {{\"n\":{n},\"text\":\"{filler}\"}}\nid: {}-0\n\n",
                        n + 1
                    );
                }
                Ok::<_, std::io::Error>(text)
            });
            response(
                200,
                "text/event-stream",
                Body::from_stream(futures::stream::iter(chunks)),
            )
        }
        _ => json(
            200,
            value!({"thread_id": "t", "run_id": RUN, "assistant_id": "a", "status": "success"}),
        ),
    };
    RUNTIME.block_on(Server::start(act)).url.to_string()
}

/// What one run of the command read and used.
struct Output {
    events: u64,
    bytes: u64,
    last: String,
    peak: u64,
    took: Duration,
}

/// Reads the output of `join` to its end, or until this time has passed.
fn join(url: &str, format: &str, more: &[&str], until: Option<Duration>) -> Output {
    let mut args = vec!["--url", url, "join", "t", RUN, "-o", format];
    args.extend(more);
    let mut child = process::command(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let (began, mut buffer) = (Instant::now(), vec![0; 1 << 20]);
    let mut read = Output {
        events: 0,
        bytes: 0,
        last: String::new(),
        peak: 0,
        took: Duration::ZERO,
    };
    while let Ok(n @ 1..) = out.read(&mut buffer) {
        read.bytes += n as u64;
        read.events += memchr::memchr_iter(b'\n', &buffer[..n]).count() as u64;
        read.peak = read.peak.max(process::peak_memory(child.id()).unwrap_or(0));
        read.last = (read.last + &String::from_utf8_lossy(&buffer[..n]))
            .lines()
            .last()
            .unwrap_or_default()
            .to_owned();
        if until.is_some_and(|until| began.elapsed() > until) {
            break;
        }
    }
    drop(out);
    read.took = began.elapsed();
    if until.is_some() {
        let _ = child.kill();
    }
    child.wait().unwrap();
    read
}

#[test]
fn command_memory_does_not_grow_with_the_number_of_events() {
    const EVENTS: u64 = 150_000;
    let url = server(EVENTS);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.jsonl");
    for (format, more) in [
        ("jsonl", &["--record", file.to_str().unwrap()][..]),
        ("text", &[]),
        ("raw", &[]),
    ] {
        let read = join(&url, format, more, None);
        assert!(read.events >= EVENTS, "{format}: {} lines", read.events);
        assert!(read.peak > 0 || !cfg!(target_os = "linux"), "{format}");
        assert!(read.peak < MAX_MEMORY, "{format}: {} KiB", read.peak);
        if format == "jsonl" {
            assert!(
                read.last.contains(&format!("\"events\":{}", EVENTS + 1)),
                "{}",
                read.last
            );
        }
    }
    process::run(["verify", file.to_str().unwrap()]).expect(0);
}

/// `cargo test --test cli attacks firehose -- --ignored --nocapture`
#[test]
#[ignore = "takes two minutes for each format"]
fn command_memory_stays_flat_for_two_minutes() {
    let url = server(u64::MAX / 2);
    for format in ["jsonl", "text", "raw"] {
        let read = join(&url, format, &[], Some(Duration::from_secs(120)));
        let (events, bytes) = (
            read.events as f64 / read.took.as_secs_f64(),
            read.bytes as f64 / read.took.as_secs_f64(),
        );
        println!(
            "{format}: {} lines in {:?}, {events:.0} lines/s, {:.1} MB/s of output, peak {} KiB",
            read.events,
            read.took,
            bytes / 1e6,
            read.peak
        );
        assert!(read.peak < MAX_MEMORY, "{format}: {} KiB", read.peak);
    }
}
