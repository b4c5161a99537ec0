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
use runtail_testkit::common::{CANARY, answer, json, profile, tls};
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

/// Where the one finds its server who runs in a process of its own, with its own store of certificates.
const URL: &str = "RUNTAIL_TEST_URL";
/// Longer than anything here that doesn't hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a poll pauses.
const A_POLL: Duration = Duration::from_secs(70);
/// Streams that nobody reads, and what a server can send on each before it has to wait.
const STREAMS: usize = 6;
const UNREAD: usize = 2 << 20;

/// A connection that can be made to ignore all input.
struct Line {
    stream: TcpStream,
    dead: Arc<AtomicBool>,
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.dead.load(SeqCst) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Connections over TLS, by their numbers from 1.
struct Secure {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    seen: Arc<Seen>,
}

impl Listener for Secure {
    type Io = TlsStream<Line>;
    type Addr = usize;

    async fn accept(&mut self) -> (Self::Io, usize) {
        loop {
            let (stream, _) = self.listener.accept().await.unwrap();
            let dead = Arc::new(AtomicBool::new(false));
            if let Ok(stream) = self.acceptor.accept(Line { stream, dead: dead.clone() }).await {
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

/// The number of the connection that a request came over.
#[derive(Clone, Copy)]
struct Number(usize);

impl Connected<IncomingStream<'_, Secure>> for Number {
    fn connect_info(stream: IncomingStream<'_, Secure>) -> Number {
        Number(*stream.remote_addr())
    }
}

/// The requests and connections that a server received.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    lines: Mutex<HashMap<usize, Arc<AtomicBool>>>,
    versions: Mutex<Vec<String>>,
    /// Bytes of streams that were taken from their source.
    sent: AtomicUsize,
}

/// A server that says of each request which connection it came over. Gives its address, the folder with the store of
/// certificates that trusts it, and what it sees.
async fn serve(protocols: &[&str]) -> (Url, tempfile::TempDir, Arc<Seen>) {
    let (root, config) = tls::server_config("localhost", protocols);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("root.pem"), root).unwrap();
    let seen = Arc::new(Seen::default());
    let notes = seen.clone();
    let app = Router::new().fallback(move |ConnectInfo(Number(connection)): ConnectInfo<Number>, request: Request| {
        let notes = notes.clone();
        async move { reply(&notes, connection, &request) }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port()).parse().unwrap();
    let secure = Secure { listener, acceptor: TlsAcceptor::from(config), seen: seen.clone() };
    let app = app.into_make_service_with_connect_info::<Number>();
    tokio::spawn(async move { axum::serve(secure, app).await.unwrap() });
    (url, folder, seen)
}

fn reply(seen: &Arc<Seen>, connection: usize, request: &Request) -> Response {
    let path = request.uri().path();
    seen.versions.lock().unwrap().push(format!("{:?}", request.version()));
    if path.ends_with("/stream") {
        let seen = seen.clone();
        let chunks = stream::repeat_with(move || {
            let chunk = format!("data: {}\n\n", "x".repeat(64 << 10));
            seen.sent.fetch_add(chunk.len(), SeqCst);
            Ok::<_, io::Error>(chunk)
        });
        return answer(200, "text/event-stream", Body::from_stream(chunks));
    }
    if path.ends_with("/v2/deployments") {
        let query: HashMap<_, _> =
            url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()).into_owned().collect();
        let offset: usize = query["offset"].parse().unwrap();
        let rows: Vec<Value> =
            (offset..3_000.min(offset + 100)).map(|n| json!({"id": format!("d-{n}"), "name": "bot"})).collect();
        return json(200, json!({"resources": rows}));
    }
    if path.ends_with("/dies") {
        seen.lines.lock().unwrap()[&connection].store(true, SeqCst);
    }
    let sent = seen.sent.load(SeqCst);
    json(200, json!({"id": "d", "thread_id": "t", "connection": connection, "sent": sent}))
}

/// Runs a test's other half in a process of its own, which trusts a server of these protocols.
#[track_caller]
fn with_server(test: &str, protocols: &[&str]) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (url, folder, _) = serve(protocols).await;
        let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
        child.env(URL, url.as_str()).env("SSL_CERT_FILE", folder.path().join("root.pem"));
        child.args(["--exact", &format!("http2::{test}"), "--nocapture"]).stdin(Stdio::null()).kill_on_drop(true);
        let done = tokio::time::timeout(PATIENCE, child.output()).await.expect("a request waits for ever").unwrap();
        let told = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success() && told.contains("1 passed"), "{told}");
    });
}

/// The server of the one that runs by itself.
fn server() -> Option<Url> {
    Some(std::env::var(URL).ok()?.parse().unwrap())
}

/// Runs on one thread, whose clock can be set forward.
fn alone(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work);
}

async fn set_forward(by: Duration) {
    tokio::time::pause();
    tokio::time::advance(by).await;
    tokio::time::resume();
}

fn http(connections: &Connections) -> Http {
    Http::sharing(&profile(), Journal::default(), connections.clone()).unwrap()
}

/// The connection that an answer came over.
fn connection(answer: &Value) -> u64 {
    answer["connection"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

async fn read(control: &ControlPlane, id: &str) -> u64 {
    connection(&control.deployment_row(id).await.unwrap())
}

#[tokio::test]
async fn http2_is_taken_where_it_is_offered_and_not_otherwise() {
    for (protocols, version) in [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")]
    {
        let (url, folder, seen) = serve(protocols).await;
        let config = folder.path().join("config.toml");
        std::fs::write(&config, format!("[profiles.p]\nurl = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n"))
            .unwrap();
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_runtail"));
        command.env_clear().env("SSL_CERT_FILE", folder.path().join("root.pem")).env("RUNTAIL_TEST_KEY", CANARY);
        command.arg("--config").arg(&config).args(["deployments", "list", "-o", "jsonl"]).stdin(Stdio::null());
        let done = command.output().await.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert_eq!(done.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), 3_000);
        assert!(seen.versions.lock().unwrap().iter().all(|seen| seen == version), "{protocols:?}");
        if version == "HTTP/2.0" {
            assert_eq!(seen.connections.load(SeqCst), 1, "thirty pages over one connection");
        }
    }
}

#[test]
fn reads_share_one_connection_across_polls() {
    let Some(url) = server() else {
        return with_server("reads_share_one_connection_across_polls", &["h2"]);
    };
    alone(async {
        let shared = Connections::default();
        let [one, other] = [(); 2].map(|()| ControlPlane::new(http(&shared), url.clone()));
        assert_eq!(read(&one, "a").await, 1);
        let many = join_all((0..20).map(|n| read(if n % 2 == 0 { &one } else { &other }, "a"))).await;
        assert_eq!(many, [1; 20], "profiles share it");
        for _ in 0..3 {
            set_forward(A_POLL).await;
            assert_eq!(read(&one, "a").await, 1);
        }
        // What writes does not go over a connection that may just be dying.
        let agent = AgentServer::new(http(&shared), url.clone());
        let write = async || connection(&agent.create_thread_row(&json!({})).await.unwrap());
        assert_eq!((write().await, write().await), (2, 2));
        set_forward(Duration::from_secs(5)).await;
        assert_eq!((write().await, read(&other, "a").await), (3, 1));
        set_forward(2 * A_POLL).await;
        assert_eq!(read(&one, "a").await, 4, "nothing is kept for ever");
    });
}

#[test]
fn an_older_servers_connections_are_kept_briefly() {
    let Some(url) = server() else {
        return with_server("an_older_servers_connections_are_kept_briefly", &["http/1.1"]);
    };
    alone(async {
        let control = ControlPlane::new(http(&Connections::default()), url);
        // The first tells what it speaks.
        assert_eq!(read(&control, "a").await, 1);
        assert_eq!((read(&control, "a").await, read(&control, "a").await), (2, 2));
        set_forward(Duration::from_secs(5)).await;
        assert_eq!(read(&control, "a").await, 3);
    });
}

#[test]
fn dead_connections_are_dropped() {
    let Some(url) = server() else { return with_server("dead_connections_are_dropped", &["h2"]) };
    alone(async {
        let control = ControlPlane::new(http(&Connections::default()), url);
        assert_eq!((read(&control, "a").await, read(&control, "dies").await), (1, 1));
        // From here on the clock goes on by itself while nothing comes.
        tokio::time::pause();
        control.deployment_row("a").await.unwrap_err();
        tokio::time::resume();
        assert_eq!(read(&control, "a").await, 2);
    });
}

#[test]
fn unread_streams_do_not_block_other_requests() {
    let Some(url) = server() else { return with_server("unread_streams_do_not_block_other_requests", &["h2"]) };
    alone(async {
        let shared = Connections::default();
        let (control, agent) =
            (ControlPlane::new(http(&shared), url.clone()), AgentServer::new(http(&shared), url.clone()));
        assert_eq!(read(&control, "a").await, 1);
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(agent.join_run("t", "r", &[], None).await.unwrap());
        }
        // Until the server has sent all that it may.
        loop {
            let answer = control.deployment_row("a").await.unwrap();
            assert_eq!(connection(&answer), 1);
            if answer["sent"].as_u64().unwrap() as usize >= STREAMS * UNREAD {
                break;
            }
        }
    });
}
