//! Misbehaving HTTP/2 servers: a proxy that breaks streams, and a server that writes its own frames. Both use TLS, where HTTP/2
//! is negotiated.

use crate::common::tls;
use crate::process;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::{Request, Response};
use std::collections::VecDeque;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The runtime of the servers.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

type Stream = TlsStream<TcpStream>;

/// A TLS server at `localhost`, and the certificate of its authority.
pub struct TlsServer {
    pub url: String,
    folder: tempfile::TempDir,
    connections: Arc<AtomicUsize>,
}

impl TlsServer {
    fn start<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(Stream) -> F + Send + 'static,
    ) -> TlsServer {
        let (root, config) = tls::server_config("localhost", &["h2"]);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("root.pem"), root).unwrap();
        let listener = RUNTIME.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!(
            "https://localhost:{}",
            listener.local_addr().unwrap().port()
        );
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        RUNTIME.spawn(async move {
            let acceptor = TlsAcceptor::from(config);
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let _ = socket.set_nodelay(true);
                if let Ok(stream) = acceptor.accept(socket).await {
                    count.fetch_add(1, SeqCst);
                    tokio::spawn(serve(stream));
                }
            }
        });
        TlsServer {
            url,
            folder,
            connections,
        }
    }

    /// Returns a command that connects to this server and trusts it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = process::command(["--url", &self.url].iter().chain(args));
        command.env("SSL_CERT_FILE", self.folder.path().join("root.pem"));
        command
    }

    /// Returns the path of the authority's certificate.
    pub fn certificate(&self) -> String {
        self.folder
            .path()
            .join("root.pem")
            .to_string_lossy()
            .into_owned()
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }
}

/// How a stream is broken.
#[derive(Debug, Clone, Copy)]
pub enum Break {
    /// RST_STREAM.
    Reset(Reason),
    /// GOAWAY that ends all streams of the connection.
    GoAway(Reason),
    /// GOAWAY that lets the stream continue: only later requests need a new connection.
    GracefulGoAway,
    /// The stream ends with trailers.
    Trailers,
    /// Nothing more is sent, but PING frames are acknowledged.
    Stall,
}

/// The pending breaks of a proxy, and the number of those that happened.
#[derive(Default)]
struct Plan {
    breaks: VecDeque<(usize, Break)>,
    done: usize,
}

/// Forwards requests to another server. Each response whose path ends with `path_end` gets the next break, after its number of bytes.
pub struct BreakingProxy {
    pub secure: TlsServer,
    plan: Arc<Mutex<Plan>>,
}

impl BreakingProxy {
    /// Starts a proxy for `upstream`, such as `http://127.0.0.1:80`.
    pub fn of(
        upstream: &str,
        path_end: &'static str,
        breaks: impl IntoIterator<Item = (usize, Break)>,
    ) -> BreakingProxy {
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let plan = Arc::new(Mutex::new(Plan {
            breaks: breaks.into_iter().collect(),
            done: 0,
        }));
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        let forwarder = Forwarder {
            client,
            upstream: upstream.trim_end_matches('/').to_owned(),
            path_end,
            plan: plan.clone(),
        };
        BreakingProxy {
            secure: TlsServer::start(move |stream| forward(stream, forwarder.clone())),
            plan,
        }
    }

    /// Returns the number of breaks that happened.
    pub fn breaks_done(&self) -> usize {
        self.plan.lock().unwrap().done
    }
}

#[derive(Clone)]
struct Forwarder {
    client: reqwest::Client,
    upstream: String,
    path_end: &'static str,
    plan: Arc<Mutex<Plan>>,
}

async fn forward(stream: Stream, forwarder: Forwarder) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    let (sender, mut breaks) = unbounded_channel();
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    let (forwarder, sender) = (forwarder.clone(), sender.clone());
                    tokio::spawn(async move { forwarder.forward_request(request, respond, sender).await });
                }
                _ => return,
            },
            Some(how) = breaks.recv() => match how {
                Break::GoAway(reason) => connection.abrupt_shutdown(reason),
                _ => connection.graceful_shutdown(),
            },
        }
    }
}

impl Forwarder {
    /// Forwards one request and its response. Returns `None` if the client disconnects.
    async fn forward_request(
        self,
        request: Request<RecvStream>,
        mut respond: SendResponse<bytes::Bytes>,
        connection: UnboundedSender<Break>,
    ) -> Option<()> {
        let (head, mut body) = request.into_parts();
        let mut bytes = Vec::new();
        while let Some(chunk) = body.data().await {
            let chunk = chunk.ok()?;
            body.flow_control().release_capacity(chunk.len()).ok()?;
            bytes.extend_from_slice(&chunk);
        }
        let target = head.uri.path_and_query()?.as_str();
        let is_broken = head.uri.path().ends_with(self.path_end);
        let mut upstream = self
            .client
            .request(head.method, format!("{}{target}", self.upstream));
        for name in ["content-type", "last-event-id", "accept"] {
            if let Some(value) = head.headers.get(name) {
                upstream = upstream.header(name, value);
            }
        }
        let mut received = upstream.body(bytes).send().await.ok()?;
        let mut response = Response::builder().status(received.status());
        for name in [
            "content-type",
            "content-location",
            "location",
            "date",
            "content-length",
        ] {
            if let Some(value) = received.headers().get(name) {
                response = response.header(name, value);
            }
        }
        let next = is_broken
            .then(|| self.plan.lock().unwrap().breaks.pop_front())
            .flatten();
        let (mut left, mut how) =
            next.map_or((usize::MAX, None), |(after, how)| (after, Some(how)));
        let mut out = respond
            .send_response(response.body(()).unwrap(), false)
            .ok()?;
        while let Some(chunk) = received.chunk().await.ok()? {
            let sent = chunk.len().min(left);
            left -= sent;
            out.send_data(chunk.slice(..sent), false).ok()?;
            if left > 0 {
                continue;
            }
            let Some(kind) = how.take() else { continue };
            self.plan.lock().unwrap().done += 1;
            match kind {
                Break::Reset(reason) => {
                    out.send_reset(reason);
                    return None;
                }
                Break::GoAway(_) => {
                    let _ = connection.send(kind);
                    return None;
                }
                Break::Trailers => {
                    let mut trailers = http::HeaderMap::new();
                    trailers.insert("x-checksum", "event: values".parse().unwrap());
                    return out.send_trailers(trailers).ok();
                }
                Break::Stall => std::future::pending().await,
                Break::GracefulGoAway => {
                    let _ = connection.send(kind);
                    out.send_data(chunk.slice(sent..), false).ok()?;
                    left = usize::MAX;
                }
            }
        }
        out.send_data(bytes::Bytes::new(), true).ok()
    }
}

/// How a server that writes its own frames misbehaves for each request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Misbehavior {
    /// A response head of this many bytes, in CONTINUATION frames.
    Head(usize),
    /// This many empty CONTINUATION frames.
    EmptyContinuations(usize),
    /// This many responses with status 103 before the real one.
    Informational(usize),
    /// This many PING frames before the response.
    Pings(usize),
    /// This many SETTINGS frames before the response.
    Settings(usize),
    /// This many empty DATA frames within the response.
    EmptyData(usize),
    /// Trailers of this many bytes after the response.
    Trailers(usize),
    /// PUSH_PROMISE, although the client has disabled push.
    PushPromise,
    /// A flow-control window beyond its limit.
    WindowOverflow,
    /// Only the head of an event stream. PING frames are acknowledged.
    Silence,
    /// No flow-control window for the client's data.
    NoWindow,
    /// GOAWAY that says that the request was not processed.
    NotProcessed,
    /// A response that is longer than its `content-length`.
    TooMuchData,
    /// RST_STREAM with this code, in the middle of a JSON number of three digits.
    CutNumber(u32),
}

/// A server of one misbehavior.
pub struct MisbehavingServer {
    pub secure: TlsServer,
    counts: Arc<Counts>,
}

/// Counters of a misbehaving server.
#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    requests: AtomicUsize,
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200` in the static table (RFC 7541, appendix A).
const STATUS_OK: u8 = 0x88;

impl MisbehavingServer {
    /// Starts a server that responds to every request with `body` (JSON) and this misbehavior.
    pub fn start(misbehavior: Misbehavior, body: &'static str) -> MisbehavingServer {
        let counts = Arc::new(Counts::default());
        let own = counts.clone();
        MisbehavingServer {
            secure: TlsServer::start(move |stream| {
                serve_frames(stream, misbehavior, body, own.clone())
            }),
            counts,
        }
    }

    /// Returns the number of requests received.
    pub fn requests(&self) -> usize {
        self.counts.requests.load(SeqCst)
    }

    /// Returns the number of bytes written to clients before they closed the connection.
    pub fn sent(&self) -> u64 {
        self.counts.sent.load(SeqCst)
    }
}

/// A message from the reading half to the writing half.
enum ReadMessage {
    Request(u32),
    Reply(Vec<u8>),
}

async fn serve_frames(
    stream: Stream,
    misbehavior: Misbehavior,
    body: &'static str,
    counts: Arc<Counts>,
) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (sender, mut messages) = unbounded_channel();
    let reading = async move {
        let mut preface = [0; 24];
        reader.read_exact(&mut preface).await.ok()?;
        loop {
            let mut head = [0; 9];
            reader.read_exact(&mut head).await.ok()?;
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            reader.read_exact(&mut payload).await.ok()?;
            let (kind, flags) = (head[3], head[4]);
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let message = match kind {
                SETTINGS if flags & ACK == 0 => ReadMessage::Reply(frame(SETTINGS, ACK, 0, &[])),
                PING if flags & ACK == 0 => ReadMessage::Reply(frame(PING, ACK, 0, &payload)),
                HEADERS => ReadMessage::Request(stream),
                _ => continue,
            };
            sender.send(message).ok()?;
        }
    };
    let writing = async move {
        let mut out = CountingWriter {
            writer: &mut writer,
            counts,
        };
        // SETTINGS_INITIAL_WINDOW_SIZE
        let window: &[u8] = if misbehavior == Misbehavior::NoWindow {
            &[0, 4, 0, 0, 0, 0]
        } else {
            &[]
        };
        out.put(&frame(SETTINGS, 0, 0, window)).await?;
        while let Some(message) = messages.recv().await {
            match message {
                ReadMessage::Reply(bytes) => out.put(&bytes).await?,
                ReadMessage::Request(stream) => {
                    out.counts.requests.fetch_add(1, SeqCst);
                    respond(&mut out, misbehavior, stream, body).await?;
                }
            }
        }
        Some(())
    };
    let _: (Option<()>, Option<()>) = tokio::join!(reading, writing);
}

struct CountingWriter<'a, W> {
    writer: &'a mut W,
    counts: Arc<Counts>,
}

impl<W: tokio::io::AsyncWrite + Unpin> CountingWriter<'_, W> {
    /// Writes bytes. Returns `None` if the client disconnected.
    async fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.writer.write_all(bytes).await.ok()?;
        self.writer.flush().await.ok()?;
        self.counts.sent.fetch_add(bytes.len() as u64, SeqCst);
        Some(())
    }

    /// Writes a frame this many times.
    async fn flood(&mut self, times: usize, frame: &[u8]) -> Option<()> {
        let batch = 1024;
        let many = frame.repeat(batch.min(times));
        for _ in 0..times / batch {
            self.put(&many).await?;
        }
        self.put(&frame.repeat(times % batch)).await
    }
}

async fn respond<W: tokio::io::AsyncWrite + Unpin>(
    out: &mut CountingWriter<'_, W>,
    misbehavior: Misbehavior,
    stream: u32,
    body: &str,
) -> Option<()> {
    let json = [
        &[STATUS_OK][..],
        &literal("content-type", "application/json"),
    ]
    .concat();
    let head = frame(HEADERS, END_HEADERS, stream, &json);
    let all = frame(DATA, END_STREAM, stream, body.as_bytes());
    match misbehavior {
        Misbehavior::Head(size) => {
            out.put(&frame(HEADERS, 0, stream, &json)).await?;
            let block = literal("x-filler", &"a".repeat(16_000));
            out.flood(size / block.len(), &frame(CONTINUATION, 0, stream, &block))
                .await?;
            out.put(&frame(CONTINUATION, END_HEADERS, stream, &[]))
                .await?;
        }
        Misbehavior::EmptyContinuations(times) => {
            out.put(&frame(HEADERS, 0, stream, &json)).await?;
            out.flood(times, &frame(CONTINUATION, 0, stream, &[]))
                .await?;
            out.put(&frame(CONTINUATION, END_HEADERS, stream, &[]))
                .await?;
        }
        Misbehavior::Informational(times) => {
            let early = [literal(":status", "103"), literal("link", &"x".repeat(200))].concat();
            out.flood(times, &frame(HEADERS, END_HEADERS, stream, &early))
                .await?;
            out.put(&head).await?;
        }
        Misbehavior::Pings(times) => {
            out.flood(times, &frame(PING, 0, 0, &[7; 8])).await?;
            out.put(&head).await?;
        }
        Misbehavior::Settings(times) => {
            // SETTINGS_MAX_CONCURRENT_STREAMS
            out.flood(times, &frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]))
                .await?;
            out.put(&head).await?;
        }
        Misbehavior::EmptyData(times) => {
            out.put(&head).await?;
            out.flood(times, &frame(DATA, 0, stream, &[])).await?;
        }
        Misbehavior::Trailers(size) => {
            out.put(&[head, frame(DATA, 0, stream, body.as_bytes())].concat())
                .await?;
            let block = literal("x-filler", &"a".repeat(8_000));
            let mut left = size / block.len();
            out.put(&frame(
                HEADERS,
                END_STREAM | if left == 0 { END_HEADERS } else { 0 },
                stream,
                &literal("x", "1"),
            ))
            .await?;
            while left > 0 {
                left -= 1;
                let last = if left == 0 { END_HEADERS } else { 0 };
                out.put(&frame(CONTINUATION, last, stream, &block)).await?;
            }
            return Some(());
        }
        Misbehavior::PushPromise => {
            let promise = [&2u32.to_be_bytes()[..], &json].concat();
            out.put(&[frame(PUSH_PROMISE, END_HEADERS, stream, &promise), head].concat())
                .await?;
        }
        Misbehavior::WindowOverflow => {
            let most = frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes());
            out.put(&[most.clone(), most, head].concat()).await?;
        }
        Misbehavior::Silence => {
            let stream_head = [
                &[STATUS_OK][..],
                &literal("content-type", "text/event-stream"),
            ]
            .concat();
            return out
                .put(&frame(HEADERS, END_HEADERS, stream, &stream_head))
                .await;
        }
        // The request is incomplete, so there is no response.
        Misbehavior::NoWindow => return Some(()),
        Misbehavior::NotProcessed => {
            // Last stream 0, no error.
            out.put(&frame(GOAWAY, 0, 0, &[0; 8])).await?;
            return None;
        }
        Misbehavior::TooMuchData => {
            let short = [json, literal("content-length", "1")].concat();
            out.put(&frame(HEADERS, END_HEADERS, stream, &short))
                .await?;
        }
        Misbehavior::CutNumber(code) => {
            let long = [json, literal("content-length", "3")].concat();
            let cut = frame(DATA, 0, stream, b"12");
            out.put(&[frame(HEADERS, END_HEADERS, stream, &long), cut].concat())
                .await?;
            return out
                .put(&frame(RST_STREAM, 0, stream, &code.to_be_bytes()))
                .await;
        }
    }
    out.put(&all).await
}

/// A frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A header field, not indexed and not compressed (RFC 7541, section 6.2.2).
fn literal(name: &str, value: &str) -> Vec<u8> {
    [&[0][..], &string(name), &string(value)].concat()
}

fn string(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut length = text.len();
    if length < 127 {
        out.push(u8::try_from(length).unwrap());
    } else {
        out.push(127);
        length -= 127;
        while length >= 128 {
            out.push(u8::try_from(length % 128).unwrap() | 128);
            length /= 128;
        }
        out.push(u8::try_from(length).unwrap());
    }
    out.extend_from_slice(text.as_bytes());
    out
}
