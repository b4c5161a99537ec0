//! Responses that arrive one byte per second and never end.

use crate::attacks::until;
use runtail_api::{AgentServer, ApiError, Http, Kind};
use runtail_core::config::Profile;
use runtail_testkit::process::spawn;
use runtail_testkit::slow::drip;
use runtail_testkit::term::Term;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::Instant;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

const HEAD: &str = "HTTP/1.1 200 OK\r\nx-slow: ";
const CHUNKS: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nfff\r\n[";
const LENGTH: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n[";
const REFUSAL: &str = "HTTP/1.1 503 x\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{\"detail\":\"";
const PAGE: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9999\r\n\r\n<title>";
const EARLY: &str = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx-slow: ";

/// Starts such a server in real time. Returns its address and its number of requests.
fn server(begin: &'static str) -> (String, Arc<AtomicUsize>) {
    let requests = Arc::<AtomicUsize>::default();
    let listener = RUNTIME.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    RUNTIME.spawn(drip(listener, begin, requests.clone()));
    (url, requests)
}

/// Sends a request to such a server on a paused clock, which advances while nothing happens. Returns the error and the elapsed
/// time.
fn on_a_fast_clock<T, F: Future<Output = Result<T, ApiError>>>(
    begin: &'static str,
    request: impl FnOnce(AgentServer) -> F,
) -> (ApiError, Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(drip(listener, begin, Arc::default()));
        let agent = AgentServer::new(
            Http::new(&Profile::default()).unwrap(),
            url.parse().unwrap(),
        );
        tokio::time::pause();
        let began = Instant::now();
        match request(agent).await {
            Ok(_) => panic!("an endless response succeeded"),
            Err(error) => (error, began.elapsed()),
        }
    })
}

#[test]
fn slow_responses_time_out() {
    for begin in [HEAD, CHUNKS, LENGTH, EARLY] {
        let (error, took) =
            on_a_fast_clock(begin, |agent| async move { agent.assistants(10, 0).await });
        assert_eq!(error.kind, Kind::Timeout, "{begin:?}: {error}");
        assert!(error.to_string().contains("no response in time"), "{error}");
        assert!((29..=31).contains(&took.as_secs()), "{begin:?}: {took:?}");
    }
}

#[test]
fn slow_error_responses_are_reported_by_status() {
    let (error, took) = on_a_fast_clock(
        REFUSAL,
        |agent| async move { agent.assistants(10, 0).await },
    );
    assert_eq!(error.kind, Kind::Server(503), "{error}");
    assert!(took < Duration::from_secs(31), "{took:?}");
}

#[test]
fn slow_stream_heads_time_out() {
    for (begin, kind) in [
        (HEAD, Kind::Timeout),
        (EARLY, Kind::Timeout),
        (PAGE, Kind::Protocol),
        (REFUSAL, Kind::Server(503)),
    ] {
        let (error, took) = on_a_fast_clock(begin, |agent| async move {
            agent.join_run("t", "r", &[], None).await
        });
        assert_eq!(error.kind, kind, "{begin:?}: {error}");
        assert!(took <= Duration::from_secs(61), "{begin:?}: {took:?}");
    }
}

#[test]
fn signals_end_a_command_during_a_slow_response() {
    for begin in [HEAD, CHUNKS] {
        let (url, requests) = server(begin);
        for args in [
            &["assistants", "list"][..],
            &["join", "$t", "r"],
            &["doctor"],
            &["tail", "t"],
        ] {
            let before = requests.load(SeqCst);
            let running = spawn(["--url", &url].iter().chain(args));
            until("a request", || requests.load(SeqCst) > before);
            running.signal(libc::SIGINT);
            let done = running.wait();
            assert_eq!(
                done.code,
                Some(130),
                "{args:?}: {} {}",
                done.stdout,
                done.stderr
            );
            if args[0] == "join" {
                done.says(&format!(
                    "the run continues\n  runtail --url {url} join '$t' r streams it again"
                ));
            }
        }
    }
}

#[test]
fn dashboard_stays_usable_while_servers_are_slow() {
    for begin in [HEAD, CHUNKS] {
        let mut term = Term::spawn(&["--url", &server(begin).0], 110, 34);
        term.wait_for("1 Threads");
        term.keys("?");
        term.wait_for("╭ Help");
        term.keys("\x1b");
        term.keys(":01a1fbb5-173d-77d7-b93d-09bf6dcc9775\r");
        for view in "1234567890".chars() {
            term.keys(&view.to_string());
        }
        term.keys("!");
        term.keys("\x03");
        assert_eq!(term.exit_status().exit_code(), 0);
        assert_eq!(term.unrestored_modes(), [""; 0]);
    }
}
