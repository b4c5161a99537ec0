//! Servers that misbehave in HTTP/2.

use crate::attacks::{MAX_MEMORY, until};
use h2::Reason;
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::http2::{Break, BreakingProxy, MisbehavingServer, Misbehavior};
use runtail_testkit::process::{self, Done, launch};
use runtail_testkit::term::Term;
use serde_json::Value;
use std::time::Duration;
use tokio::runtime::Runtime;

const INPUT: &str = r#"{"messages":[{"role":"user","content":"where is my order?"}]}"#;

fn simulated(speed: f64) -> (Runtime, Sim, String) {
    let runtime = Runtime::new().unwrap();
    let heartbeat = Duration::from_secs(1);
    let options = Options {
        scenario: Scenario::Demo,
        speed,
        heartbeat,
        ..Options::default()
    };
    let sim = runtime.block_on(Sim::start(options)).unwrap();
    let url = sim.agents()[0].url.to_string();
    (runtime, sim, url)
}

/// The events of a run without fields that differ by connection.
fn events(lines: &[Value]) -> Vec<(Value, Value, Value)> {
    let events = lines.iter().filter(|line| line["kind"] == "event");
    events
        .map(|line| {
            (
                line["event"].clone(),
                line["id"].clone(),
                line["data"].clone(),
            )
        })
        .collect()
}

#[test]
fn broken_http2_streams_lose_and_repeat_no_events() {
    let (_runtime, _sim, url) = simulated(20.0);
    let breaks = [
        (700, Break::Reset(Reason::INTERNAL_ERROR)),
        (900, Break::GoAway(Reason::NO_ERROR)),
        (1100, Break::Reset(Reason::NO_ERROR)),
        (400, Break::Reset(Reason::CANCEL)),
        (2000, Break::GoAway(Reason::ENHANCE_YOUR_CALM)),
        (1300, Break::Trailers),
        (10, Break::Reset(Reason::REFUSED_STREAM)),
        (800, Break::GoAway(Reason::PROTOCOL_ERROR)),
        // The last stream is complete.
        (1500, Break::GracefulGoAway),
    ];
    let front = BreakingProxy::of(&url, "/stream", breaks);
    let run = launch(
        front
            .secure
            .command(&["run", "support", "-o", "jsonl", "--input", INPUT]),
        "",
    )
    .wait()
    .expect(0);
    let lines = run.json_lines();
    let end = lines.last().unwrap();
    assert_eq!(
        (&end["outcome"], &end["gaps"]),
        (&"success".into(), &0.into()),
        "{end}\n{}",
        run.stderr
    );
    assert_eq!(front.breaks_done(), breaks.len());
    assert!(
        front.secure.connections() > 3,
        "{} connections",
        front.secure.connections()
    );
    let head = &lines[0];
    let (thread, id) = (
        head["thread_id"].as_str().unwrap(),
        head["run_id"].as_str().unwrap(),
    );
    let whole = process::run(["--url", &url, "join", thread, id, "-o", "jsonl"]).expect(0);
    let (found, wanted) = (events(&lines), events(&whole.json_lines()));
    for (n, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        assert_eq!(found, wanted, "event {n}");
    }
    assert_eq!(found.len(), wanted.len());
}

#[test]
fn broken_http2_responses_are_reported_as_errors() {
    let (_runtime, _sim, url) = simulated(100.0);
    for how in [
        Break::Reset(Reason::INTERNAL_ERROR),
        Break::Reset(Reason::CANCEL),
        Break::Reset(Reason::NO_ERROR),
        Break::Reset(Reason::ENHANCE_YOUR_CALM),
        Break::GoAway(Reason::INTERNAL_ERROR),
        Break::GoAway(Reason::NO_ERROR),
    ] {
        // Every request fails.
        let front = BreakingProxy::of(&url, "/search", [(20, how); 8]);
        let done = launch(front.secure.command(&["threads", "list", "-o", "json"]), "").wait();
        assert!(
            done.stderr.contains("the server") || done.stderr.contains("the connection broke"),
            "{}",
            done.stderr
        );
        assert_eq!(
            done.code,
            Some(5),
            "{how:?}: {} {}",
            done.stdout,
            done.stderr
        );
        assert_eq!(done.stdout, "", "{how:?}");
        // A single failure is not enough, because reads are retried.
        let front = BreakingProxy::of(&url, "/search", [(20, how)]);
        launch(front.secure.command(&["threads", "list", "-o", "json"]), "")
            .wait()
            .expect(0);
    }
}

/// The server keeps answering PING frames, so the connection is alive and only the stream is silent.
#[test]
fn stalled_http2_stream_reconnects_after_missed_heartbeats() {
    let (_runtime, _sim, url) = simulated(1.0);
    let made = process::run(["--url", &url, "threads", "create", "-o", "json"])
        .expect(0)
        .json();
    let thread = made["thread_id"].as_str().unwrap();
    let front = BreakingProxy::of(
        &url,
        "/stream",
        [(": heartbeat\r\n\r\n".len() * 3, Break::Stall)],
    );
    let mut tail = launch(front.secure.command(&["tail", thread, "-o", "jsonl"]), "");
    let close = tail.line_where("the end of the connection", |line| {
        line.contains("\"close\"")
    });
    assert!(close.contains("\"idle\""), "{close}");
    tail.line_where("another connection", |line| line.contains("\"open\""));
    tail.signal(libc::SIGINT);
    tail.wait().expect(130);
}

fn list(trick: Misbehavior) -> (Done, MisbehavingServer) {
    let server = MisbehavingServer::start(trick, "[]");
    let done = launch(
        server.secure.command(&["assistants", "list", "-o", "json"]),
        "",
    )
    .wait();
    (done, server)
}

#[test]
fn http2_frame_floods_end_in_a_response_or_an_error() {
    let broken = "the server violated HTTP/2";
    for (trick, code, said) in [
        (Misbehavior::Head(64 << 20), 5, broken),
        (Misbehavior::EmptyContinuations(1 << 20), 5, broken),
        (Misbehavior::EmptyData(500_000), 5, broken),
        (Misbehavior::Trailers(1 << 20), 5, broken),
        (Misbehavior::PushPromise, 5, broken),
        (Misbehavior::WindowOverflow, 5, broken),
        (Misbehavior::TooMuchData, 5, broken),
        (
            Misbehavior::NotProcessed,
            5,
            "the server closed the connection",
        ),
        (Misbehavior::Informational(5_000), 0, ""),
        (Misbehavior::Informational(500_000), 0, ""),
        (Misbehavior::Pings(200_000), 0, ""),
        (Misbehavior::Settings(200_000), 0, ""),
        (Misbehavior::Trailers(100), 0, ""),
    ] {
        let (done, server) = list(trick);
        // A flood that is valid may take longer than a response may on a busy machine.
        let is_late =
            code == 0 && done.code == Some(5) && done.stderr.contains("no response in time");
        assert!(
            done.code == Some(code) || is_late,
            "{trick:?}: {} {}",
            done.stdout,
            done.stderr
        );
        done.says(said);
        assert!(done.peak < MAX_MEMORY, "{trick:?}: {} KiB", done.peak);
        if let Misbehavior::Head(size) = trick {
            assert!(
                server.sent() < size as u64 / 4,
                "{trick:?}: {} bytes were taken",
                server.sent()
            );
        }
    }
}

#[test]
fn truncated_http2_body_is_not_read_as_a_smaller_number() {
    let whole = MisbehavingServer::start(Misbehavior::Trailers(0), "123");
    let done = launch(whole.secure.command(&["threads", "count"]), "")
        .wait()
        .expect(0);
    assert!(done.stdout.contains("123"), "{}", done.stdout);
    for code in [Reason::NO_ERROR, Reason::CANCEL, Reason::INTERNAL_ERROR] {
        let server = MisbehavingServer::start(Misbehavior::CutNumber(code.into()), "");
        let done = launch(server.secure.command(&["threads", "count"]), "").wait();
        assert_eq!(
            done.code,
            Some(5),
            "{code:?}: {} {}",
            done.stdout,
            done.stderr
        );
        done.says("the connection broke in the middle of the response");
    }
}

#[test]
fn signals_end_a_command_with_a_stalled_http2_stream() {
    for (trick, args) in [
        (Misbehavior::Silence, &["join", "t", "r"][..]),
        (Misbehavior::Silence, &["tail", "t"]),
        (Misbehavior::NoWindow, &["threads", "list"]),
        (
            Misbehavior::NoWindow,
            &["run", "a", "--input", "{}", "--stateless"],
        ),
    ] {
        let server = MisbehavingServer::start(trick, "{}");
        let running = launch(server.secure.command(args), "");
        until("a request", || server.requests() > 0);
        running.signal(libc::SIGINT);
        let done = running.wait();
        assert_eq!(
            done.code,
            Some(130),
            "{trick:?} {args:?}: {} {}",
            done.stdout,
            done.stderr
        );
    }
}

#[test]
fn dashboard_stays_usable_over_broken_http2() {
    for trick in [
        Misbehavior::Head(64 << 20),
        Misbehavior::Silence,
        Misbehavior::NoWindow,
        Misbehavior::Informational(500_000),
    ] {
        let server = MisbehavingServer::start(trick, "[]");
        let certificate = server.secure.certificate();
        let mut term = Term::spawn_with(
            &[("SSL_CERT_FILE", &certificate)],
            &["--url", &server.secure.url],
            110,
            34,
        );
        term.wait_for("1 Threads");
        until("a request", || server.requests() > 0);
        term.keys("?");
        term.wait_for("╭ Help");
        term.keys("\x1b");
        term.keys(":01a1fbb5-173d-77d7-b93d-09bf6dcc9775\r");
        term.keys("!\x03");
        assert_eq!(term.exit_status().exit_code(), 0, "{trick:?}");
        assert_eq!(term.unrestored_modes(), [""; 0], "{trick:?}");
    }
}
