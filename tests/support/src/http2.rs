//! Servers that misbehave in HTTP/2: one that carries requests to another server and breaks its streams, and one that writes frames by
//! hand. Both are served over TLS, where HTTP/2 is negotiated.

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

/// Where the servers run.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

type Stream = TlsStream<TcpStream>;

/// A server at `localhost`, and the certificate that makes it trusted.
pub struct Secure {
    pub url: String,
    folder: tempfile::TempDir,
    connections: Arc<AtomicUsize>,
}

impl Secure {
    fn start<F: Future<Output = ()> + Send + 'static>(serve: impl Fn(Stream) -> F + Send + 'static) -> Secure {
        let (root, config) = tls::server_config("localhost", &["h2"]);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("root.pem"), root).unwrap();
        let listener = RUNTIME.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
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
        Secure { url, folder, connections }
    }

    /// A command that talks to this server and trusts it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = process::command(["--url", &self.url].iter().chain(args));
        command.env("SSL_CERT_FILE", self.folder.path().join("root.pem"));
        command
    }

    /// Variables by which the server is trusted.
    pub fn certificate(&self) -> String {
        self.folder.path().join("root.pem").to_string_lossy().into_owned()
    }

    /// Connections that were made.
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
    /// GOAWAY that lets the stream go on: only what is requested later needs another connection.
    Leave,
    /// The stream ends with trailers.
    Trailers,
    /// Nothing is sent any more, and PING frames are answered.
    Stall,
}

/// What a front still has to do, and did.
#[derive(Default)]
struct Plan {
    breaks: VecDeque<(usize, Break)>,
    done: usize,
}

/// Carries requests to another server. Each answer whose path ends as said takes the next break, after so many bytes.
pub struct Front {
    pub secure: Secure,
    plan: Arc<Mutex<Plan>>,
}

impl Front {
    /// In front of `upstream`, such as `http://127.0.0.1:80`.
    pub fn of(upstream: &str, path_end: &'static str, breaks: impl IntoIterator<Item = (usize, Break)>) -> Front {
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let plan = Arc::new(Mutex::new(Plan { breaks: breaks.into_iter().collect(), done: 0 }));
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        let carrier =
            Carrier { client, upstream: upstream.trim_end_matches('/').to_owned(), path_end, plan: plan.clone() };
        Front { secure: Secure::start(move |stream| carry(stream, carrier.clone())), plan }
    }

    /// Breaks that happened.
    pub fn breaks_done(&self) -> usize {
        self.plan.lock().unwrap().done
    }
}

#[derive(Clone)]
struct Carrier {
    client: reqwest::Client,
    upstream: String,
    path_end: &'static str,
    plan: Arc<Mutex<Plan>>,
}

async fn carry(stream: Stream, carrier: Carrier) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let (sender, mut breaks) = unbounded_channel();
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    let (carrier, sender) = (carrier.clone(), sender.clone());
                    tokio::spawn(async move { carrier.answer(request, respond, sender).await });
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

impl Carrier {
    /// Sends one answer. An error means that the client has gone.
    async fn answer(
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
        let mut upstream = self.client.request(head.method, format!("{}{target}", self.upstream));
        for name in ["content-type", "last-event-id", "accept"] {
            if let Some(value) = head.headers.get(name) {
                upstream = upstream.header(name, value);
            }
        }
        let mut answer = upstream.body(bytes).send().await.ok()?;
        let mut response = Response::builder().status(answer.status());
        for name in ["content-type", "content-location", "location", "date", "content-length"] {
            if let Some(value) = answer.headers().get(name) {
                response = response.header(name, value);
            }
        }
        let due = is_broken.then(|| self.plan.lock().unwrap().breaks.pop_front()).flatten();
        let (mut left, mut how) = due.map_or((usize::MAX, None), |(after, how)| (after, Some(how)));
        let mut out = respond.send_response(response.body(()).unwrap(), false).ok()?;
        while let Some(chunk) = answer.chunk().await.ok()? {
            let sent = chunk.len().min(left);
            left -= sent;
            out.send_data(chunk.slice(..sent), false).ok()?;
            if left > 0 {
                continue;
            }
            let Some(due) = how.take() else { continue };
            self.plan.lock().unwrap().done += 1;
            match due {
                Break::Reset(reason) => {
                    out.send_reset(reason);
                    return None;
                }
                Break::GoAway(_) => {
                    let _ = connection.send(due);
                    return None;
                }
                Break::Trailers => {
                    let mut trailers = http::HeaderMap::new();
                    trailers.insert("x-checksum", "event: values".parse().unwrap());
                    return out.send_trailers(trailers).ok();
                }
                Break::Stall => std::future::pending().await,
                Break::Leave => {
                    let _ = connection.send(due);
                    out.send_data(chunk.slice(sent..), false).ok()?;
                    left = usize::MAX;
                }
            }
        }
        out.send_data(bytes::Bytes::new(), true).ok()
    }
}

/// What a server that writes its frames by hand does with each request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trick {
    /// A head of so many bytes, over as many CONTINUATION frames as it takes.
    Head(usize),
    /// So many CONTINUATION frames without a byte.
    EmptyContinuations(usize),
    /// So many answers with status 103 before the real one.
    Informational(usize),
    /// So many PING frames before the answer.
    Pings(usize),
    /// So many SETTINGS frames before the answer.
    Settings(usize),
    /// So many DATA frames without a byte in the middle of the answer.
    EmptyData(usize),
    /// Trailers of so many bytes behind the answer.
    Trailers(usize),
    /// A promise to push, which the client has switched off.
    PushPromise,
    /// A flow-control window that is opened beyond its limit.
    WindowOverflow,
    /// The head of an event stream, and nothing after it. PING frames are answered.
    Silence,
    /// No window for what the client wants to send.
    NoWindow,
    /// GOAWAY that says that the request was not processed.
    NotProcessed,
    /// An answer that is longer than its `content-length`.
    TooMuchData,
    /// RST_STREAM with this code, in the middle of a JSON number of three digits.
    CutNumber(u32),
}

/// A server of one trick.
pub struct Tricks {
    pub secure: Secure,
    counts: Arc<Counts>,
}

/// What a server of a trick did.
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
/// `:status: 200` in the table that every connection begins with (RFC 7541, appendix A).
const STATUS_OK: u8 = 0x88;

impl Tricks {
    /// A server that answers every request with `body` (JSON), in its own way.
    pub fn start(trick: Trick, body: &'static str) -> Tricks {
        let counts = Arc::new(Counts::default());
        let own = counts.clone();
        Tricks { secure: Secure::start(move |stream| play(stream, trick, body, own.clone())), counts }
    }

    /// Requests that were received.
    pub fn requests(&self) -> usize {
        self.counts.requests.load(SeqCst)
    }

    /// Bytes that were written to clients before they closed the connection.
    pub fn sent(&self) -> u64 {
        self.counts.sent.load(SeqCst)
    }
}

/// What the reading half tells the writing one.
enum Heard {
    Request(u32),
    Reply(Vec<u8>),
}

async fn play(stream: Stream, trick: Trick, body: &'static str, counts: Arc<Counts>) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let (heard, mut told) = unbounded_channel();
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
                SETTINGS if flags & ACK == 0 => Heard::Reply(frame(SETTINGS, ACK, 0, &[])),
                PING if flags & ACK == 0 => Heard::Reply(frame(PING, ACK, 0, &payload)),
                HEADERS => Heard::Request(stream),
                _ => continue,
            };
            heard.send(message).ok()?;
        }
    };
    let writing = async move {
        let mut out = Counted { writer: &mut writer, counts };
        // SETTINGS_INITIAL_WINDOW_SIZE
        let window: &[u8] = if trick == Trick::NoWindow { &[0, 4, 0, 0, 0, 0] } else { &[] };
        out.put(&frame(SETTINGS, 0, 0, window)).await?;
        while let Some(heard) = told.recv().await {
            match heard {
                Heard::Reply(bytes) => out.put(&bytes).await?,
                Heard::Request(stream) => {
                    out.counts.requests.fetch_add(1, SeqCst);
                    answer(&mut out, trick, stream, body).await?;
                }
            }
        }
        Some(())
    };
    let _: (Option<()>, Option<()>) = tokio::join!(reading, writing);
}

struct Counted<'a, W> {
    writer: &'a mut W,
    counts: Arc<Counts>,
}

impl<W: tokio::io::AsyncWrite + Unpin> Counted<'_, W> {
    /// Writes bytes; nothing once the client has gone.
    async fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.writer.write_all(bytes).await.ok()?;
        self.writer.flush().await.ok()?;
        self.counts.sent.fetch_add(bytes.len() as u64, SeqCst);
        Some(())
    }

    /// Writes a frame so many times.
    async fn flood(&mut self, times: usize, frame: &[u8]) -> Option<()> {
        let batch = 1024;
        let many = frame.repeat(batch.min(times));
        for _ in 0..times / batch {
            self.put(&many).await?;
        }
        self.put(&frame.repeat(times % batch)).await
    }
}

async fn answer<W: tokio::io::AsyncWrite + Unpin>(
    out: &mut Counted<'_, W>,
    trick: Trick,
    stream: u32,
    body: &str,
) -> Option<()> {
    let json = [&[STATUS_OK][..], &literal("content-type", "application/json")].concat();
    let head = frame(HEADERS, END_HEADERS, stream, &json);
    let all = frame(DATA, END_STREAM, stream, body.as_bytes());
    match trick {
        Trick::Head(size) => {
            out.put(&frame(HEADERS, 0, stream, &json)).await?;
            let block = literal("x-filler", &"a".repeat(16_000));
            out.flood(size / block.len(), &frame(CONTINUATION, 0, stream, &block)).await?;
            out.put(&frame(CONTINUATION, END_HEADERS, stream, &[])).await?;
        }
        Trick::EmptyContinuations(times) => {
            out.put(&frame(HEADERS, 0, stream, &json)).await?;
            out.flood(times, &frame(CONTINUATION, 0, stream, &[])).await?;
            out.put(&frame(CONTINUATION, END_HEADERS, stream, &[])).await?;
        }
        Trick::Informational(times) => {
            let early = [literal(":status", "103"), literal("link", &"x".repeat(200))].concat();
            out.flood(times, &frame(HEADERS, END_HEADERS, stream, &early)).await?;
            out.put(&head).await?;
        }
        Trick::Pings(times) => {
            out.flood(times, &frame(PING, 0, 0, &[7; 8])).await?;
            out.put(&head).await?;
        }
        Trick::Settings(times) => {
            // SETTINGS_MAX_CONCURRENT_STREAMS
            out.flood(times, &frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])).await?;
            out.put(&head).await?;
        }
        Trick::EmptyData(times) => {
            out.put(&head).await?;
            out.flood(times, &frame(DATA, 0, stream, &[])).await?;
        }
        Trick::Trailers(size) => {
            out.put(&[head, frame(DATA, 0, stream, body.as_bytes())].concat()).await?;
            let block = literal("x-filler", &"a".repeat(8_000));
            let mut left = size / block.len();
            out.put(&frame(HEADERS, END_STREAM | if left == 0 { END_HEADERS } else { 0 }, stream, &literal("x", "1")))
                .await?;
            while left > 0 {
                left -= 1;
                let last = if left == 0 { END_HEADERS } else { 0 };
                out.put(&frame(CONTINUATION, last, stream, &block)).await?;
            }
            return Some(());
        }
        Trick::PushPromise => {
            let promise = [&2u32.to_be_bytes()[..], &json].concat();
            out.put(&[frame(PUSH_PROMISE, END_HEADERS, stream, &promise), head].concat()).await?;
        }
        Trick::WindowOverflow => {
            let most = frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes());
            out.put(&[most.clone(), most, head].concat()).await?;
        }
        Trick::Silence => {
            let stream_head = [&[STATUS_OK][..], &literal("content-type", "text/event-stream")].concat();
            return out.put(&frame(HEADERS, END_HEADERS, stream, &stream_head)).await;
        }
        // The request is not complete, so it is not answered.
        Trick::NoWindow => return Some(()),
        Trick::NotProcessed => {
            // Last stream 0, no error.
            out.put(&frame(GOAWAY, 0, 0, &[0; 8])).await?;
            return None;
        }
        Trick::TooMuchData => {
            let short = [json, literal("content-length", "1")].concat();
            out.put(&frame(HEADERS, END_HEADERS, stream, &short)).await?;
        }
        Trick::CutNumber(code) => {
            let long = [json, literal("content-length", "3")].concat();
            let cut = frame(DATA, 0, stream, b"12");
            out.put(&[frame(HEADERS, END_HEADERS, stream, &long), cut].concat()).await?;
            return out.put(&frame(RST_STREAM, 0, stream, &code.to_be_bytes())).await;
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
