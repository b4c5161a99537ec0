//! Limits on what a server's answers cost: their size, their unpacked size and the memory that parsing takes.
#![cfg(all(feature = "tui", unix))]

mod common;
mod support;

use axum::body::Body;
use axum::response::Response;
use common::{Server, answer};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use support::process;

/// What a hostile answer may cost a command beside what an ordinary one costs, in KiB.
const MOST: i64 = 64 << 10;

/// A compressed JSON answer.
fn packed(json: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(json).unwrap();
    gzip.finish().unwrap()
}

fn compressed(body: Vec<u8>) -> Response {
    let answer = Response::builder().status(200).header("content-type", "application/json");
    answer.header("content-encoding", "gzip").body(Body::from(body)).unwrap()
}

/// A list of zeros of this size.
fn numbers(size: usize) -> Vec<u8> {
    [b"[".as_slice(), &b"0,".repeat(size / 2), b"0]"].concat()
}

/// The most memory that any command so far has had, in KiB.
fn peak() -> i64 {
    // SAFETY: rusage is plain data for which zeroes are valid, and the call fills it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage.ru_maxrss
    }
}

/// The commands that read an answer of each kind.
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
async fn a_gzip_bomb_costs_little_memory() {
    let bomb = packed(&numbers(200 << 20));
    assert!(bomb.len() < 400 << 10, "{}", bomb.len());
    let small = Server::start(|_| compressed(packed(b"[]"))).await;
    let large = Server::start(move |_| compressed(bomb.clone())).await;
    let run = async |server: &Server, command: &[&str]| {
        let args: Vec<String> = ["--url", server.url.as_str()].iter().chain(command).map(ToString::to_string).collect();
        tokio::task::spawn_blocking(move || process::run(args)).await.unwrap()
    };
    for command in COMMANDS {
        run(&small, command).await;
    }
    let usual = peak();
    for command in COMMANDS {
        let done = run(&large, command).await;
        let said = format!("{}{}", done.stdout, done.stderr);
        assert!(said.contains("unpacks to more than 100 times its size"), "{command:?}: {said}");
        assert!(peak() - usual < MOST, "{command:?}: {} KiB, usually {usual} KiB", peak());
    }
}

#[tokio::test]
async fn an_answer_is_refused_by_the_memory_that_parsing_takes() {
    // An embedding of 50 MB, and as many bytes of nothing but zeros.
    let state = format!(r#"{{"values":{{"text":"{}"}},"next":[],"tasks":[]}}"#, "word ".repeat(10 << 20));
    let state: &'static str = state.leak();
    let dense: &'static [u8] = numbers(60 << 20).leak();
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/threads/large/state" => answer(200, "application/json", state),
        // Repetitive, as states with many alike messages are: less than a hundredfold.
        "/threads/packed/state" => compressed(packed(format!("{{\"values\":[{}0]}}", lines(20 << 20)).as_bytes())),
        _ => answer(200, "application/json", dense),
    })
    .await;
    let agent = server.agent();
    assert!(agent.thread_state("large").await.is_ok());
    assert!(agent.thread_state("packed").await.is_ok());
    let error = agent.thread_state("dense").await.unwrap_err();
    assert!(error.to_string().contains("it has too many values"), "{error}");
}

/// Lines that are alike and not the same.
fn lines(size: usize) -> String {
    let mut text = String::with_capacity(size + 64);
    for i in 0u64.. {
        if text.len() >= size {
            break;
        }
        text.push_str(&format!("\"{:016x}\",", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    }
    text
}
