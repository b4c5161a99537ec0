//! HTTP/2: one connection per server for all requests, reused across polls, dropped when dead, and not blocked by
//! unread streams.

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use axum::serve::{IncomingStream, Listener};
use futures::future::join_all;
use futures::stream;
use runtail_api::{AgentServer, Connections, ControlPlane, Http, Journal};
use runtail_testkit::common::{CANARY, json, profile, response, tls};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use url::Url;

/// The variable with the server's address, for the half of a test that runs in its own process with its own certificate store.
const URL: &str = "RUNTAIL_TEST_URL";
/// More than the duration of any step that does not hang.
const TIMEOUT: Duration = Duration::from_secs(60);
/// More than the interval of polls.
const A_POLL: Duration = Duration::from_secs(70);
/// The number of unread streams, and the number of bytes that a server can send on each before it must wait.
const STREAMS: usize = 6;
const UNREAD: usize = 2 << 20;

/// A connection that can be made to ignore all input.
struct Line {
    stream: TcpStream,
    dead: Arc<AtomicBool>,
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.dead.load(SeqCst) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A TLS listener that numbers its connections from 1.
struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    seen: Arc<Seen>,
}

impl Listener for TlsListener {
    type Io = TlsStream<Line>;
    type Addr = usize;

    async fn accept(&mut self) -> (Self::Io, usize) {
        loop {
            let (stream, _) = self.listener.accept().await.unwrap();
            let dead = Arc::new(AtomicBool::new(false));
            if let Ok(stream) = self
                .acceptor
                .accept(Line {
                    stream,
                    dead: dead.clone(),
                })
                .await
            {
                let number = self.seen.connections.fetch_add(1, SeqCst) + 1;
                self.seen.lines.lock().unwrap().insert(number, dead);
                return (stream, number);
            }
        }
    }

    fn local_addr(&self) -> io::Result<usize> {
        Ok(0)
    }
}

/// The number of a request's connection.
#[derive(Clone, Copy)]
struct Number(usize);

impl Connected<IncomingStream<'_, TlsListener>> for Number {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Number {
        Number(*stream.remote_addr())
    }
}

/// The requests and connections that a server received.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    lines: Mutex<HashMap<usize, Arc<AtomicBool>>>,
    versions: Mutex<Vec<String>>,
    /// The number of stream bytes that were taken from their source.
    sent: AtomicUsize,
}

/// Starts a server that responds to each request with the number of its connection. Returns its address, the folder with a
/// certificate store that trusts it, and its log of requests.
async fn serve(protocols: &[&str]) -> (Url, tempfile::TempDir, Arc<Seen>) {
    let (root, config) = tls::server_config("localhost", protocols);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("root.pem"), root).unwrap();
    let seen = Arc::new(Seen::default());
    let notes = seen.clone();
    let app = Router::new().fallback(
        move |ConnectInfo(Number(connection)): ConnectInfo<Number>, request: Request| {
            let notes = notes.clone();
            async move { reply(&notes, connection, &request) }
        },
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "https://localhost:{}",
        listener.local_addr().unwrap().port()
    )
    .parse()
    .unwrap();
    let listener = TlsListener {
        listener,
        acceptor: TlsAcceptor::from(config),
        seen: seen.clone(),
    };
    let app = app.into_make_service_with_connect_info::<Number>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (url, folder, seen)
}

fn reply(seen: &Arc<Seen>, connection: usize, request: &Request) -> Response {
    let path = request.uri().path();
    seen.versions
        .lock()
        .unwrap()
        .push(format!("{:?}", request.version()));
    if path.ends_with("/stream") {
        let seen = seen.clone();
        let chunks = stream::repeat_with(move || {
            let chunk = format!("data: {}\n\n", "x".repeat(64 << 10));
            seen.sent.fetch_add(chunk.len(), SeqCst);
            Ok::<_, io::Error>(chunk)
        });
        return response(200, "text/event-stream", Body::from_stream(chunks));
    }
    if path.ends_with("/v2/deployments") {
        let query: HashMap<_, _> =
            url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        let offset: usize = query["offset"].parse().unwrap();
        let rows: Vec<Value> = (offset..3_000.min(offset + 100))
            .map(|n| json!({"id": format!("d-{n}"), "name": "bot"}))
            .collect();
        return json(200, json!({"resources": rows}));
    }
    if path.ends_with("/dies") {
        seen.lines.lock().unwrap()[&connection].store(true, SeqCst);
    }
    let sent = seen.sent.load(SeqCst);
    json(
        200,
        json!({"id": "d", "thread_id": "t", "connection": connection, "sent": sent}),
    )
}

/// Runs the other half of a test in its own process, which trusts a server with these protocols.
#[track_caller]
fn with_server(test: &str, protocols: &[&str]) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (url, folder, _) = serve(protocols).await;
        let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
        child
            .env(URL, url.as_str())
            .env("SSL_CERT_FILE", folder.path().join("root.pem"));
        child
            .args(["--exact", &format!("http2::{test}"), "--nocapture"])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let done = tokio::time::timeout(TIMEOUT, child.output())
            .await
            .expect("a request never ends")
            .unwrap();
        let told = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(done.status.success() && told.contains("1 passed"), "{told}");
    });
}

/// The server's address, in the process that runs the other half of a test.
fn server() -> Option<Url> {
    Some(std::env::var(URL).ok()?.parse().unwrap())
}

/// Runs work on one thread, whose clock can be set forward.
fn on_one_thread(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
}

async fn set_forward(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}

fn http(connections: &Connections) -> Http {
    Http::sharing(&profile(), Journal::default(), connections.clone()).unwrap()
}

/// The number of a response's connection.
fn connection(response: &Value) -> u64 {
    response["connection"]
        .as_u64()
        .unwrap_or_else(|| panic!("{response}"))
}

async fn read(control: &ControlPlane, id: &str) -> u64 {
    connection(&control.deployment_row(id).await.unwrap())
}

#[tokio::test]
async fn http2_is_used_only_if_offered() {
    for (protocols, version) in [
        (&["h2", "http/1.1"][..], "HTTP/2.0"),
        (&["http/1.1"], "HTTP/1.1"),
        (&[], "HTTP/1.1"),
    ] {
        let (url, folder, seen) = serve(protocols).await;
        let config = folder.path().join("config.toml");
        std::fs::write(
            &config,
            format!("[profiles.p]\nurl = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n"),
        )
        .unwrap();
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_runtail"));
        command
            .env_clear()
            .env("SSL_CERT_FILE", folder.path().join("root.pem"))
            .env("RUNTAIL_TEST_KEY", CANARY);
        command
            .arg("--config")
            .arg(&config)
            .args(["deployments", "list", "-o", "jsonl"])
            .stdin(Stdio::null());
        let done = command.output().await.unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        assert_eq!(
            done.stdout
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .count(),
            3_000
        );
        assert!(
            seen.versions
                .lock()
                .unwrap()
                .iter()
                .all(|seen| seen == version),
            "{protocols:?}"
        );
        if version == "HTTP/2.0" {
            assert_eq!(
                seen.connections.load(SeqCst),
                1,
                "thirty pages over one connection"
            );
        }
    }
}

#[test]
fn reads_share_one_connection_across_polls() {
    let Some(url) = server() else {
        return with_server("reads_share_one_connection_across_polls", &["h2"]);
    };
    on_one_thread(async {
        let shared = Connections::default();
        let [one, other] = [(); 2].map(|()| ControlPlane::new(http(&shared), url.clone()));
        assert_eq!(read(&one, "a").await, 1);
        let many =
            join_all((0..20).map(|n| read(if n % 2 == 0 { &one } else { &other }, "a"))).await;
        assert_eq!(many, [1; 20], "profiles share it");
        for _ in 0..3 {
            set_forward(A_POLL).await;
            assert_eq!(read(&one, "a").await, 1);
        }
        // Write requests do not use an idle connection, which may be about to close.
        let agent = AgentServer::new(http(&shared), url.clone());
        let write = async || connection(&agent.create_thread_row(&json!({})).await.unwrap());
        assert_eq!((write().await, write().await), (2, 2));
        set_forward(Duration::from_secs(5)).await;
        assert_eq!((write().await, read(&other, "a").await), (3, 1));
        set_forward(2 * A_POLL).await;
        assert_eq!(
            read(&one, "a").await,
            4,
            "an idle connection is closed after a while"
        );
    });
}

#[test]
fn http1_connections_are_kept_briefly() {
    let Some(url) = server() else {
        return with_server("http1_connections_are_kept_briefly", &["http/1.1"]);
    };
    on_one_thread(async {
        let control = ControlPlane::new(http(&Connections::default()), url);
        // The first response reveals the protocol.
        assert_eq!(read(&control, "a").await, 1);
        assert_eq!(
            (read(&control, "a").await, read(&control, "a").await),
            (2, 2)
        );
        set_forward(Duration::from_secs(5)).await;
        assert_eq!(read(&control, "a").await, 3);
    });
}

#[test]
fn dead_connections_are_dropped() {
    let Some(url) = server() else {
        return with_server("dead_connections_are_dropped", &["h2"]);
    };
    on_one_thread(async {
        let control = ControlPlane::new(http(&Connections::default()), url);
        assert_eq!(
            (read(&control, "a").await, read(&control, "dies").await),
            (1, 1)
        );
        // From here on the clock advances by itself while nothing arrives.
        tokio::time::pause();
        control.deployment_row("a").await.unwrap_err();
        tokio::time::resume();
        assert_eq!(read(&control, "a").await, 2);
    });
}

#[test]
fn unread_streams_do_not_block_other_requests() {
    let Some(url) = server() else {
        return with_server("unread_streams_do_not_block_other_requests", &["h2"]);
    };
    on_one_thread(async {
        let shared = Connections::default();
        let (control, agent) = (
            ControlPlane::new(http(&shared), url.clone()),
            AgentServer::new(http(&shared), url.clone()),
        );
        assert_eq!(read(&control, "a").await, 1);
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(agent.join_run("t", "r", &[], None).await.unwrap());
        }
        // Until the server has sent as much as flow control allows.
        loop {
            let response = control.deployment_row("a").await.unwrap();
            assert_eq!(connection(&response), 1);
            if response["sent"].as_u64().unwrap() as usize >= STREAMS * UNREAD {
                break;
            }
        }
    });
}
