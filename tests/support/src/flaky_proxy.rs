//! An unreliable proxy between a client and the agent server: it breaks streams at random bytes and in various ways,
//! delays them, refuses connections and responds like an overloaded proxy, all from a seed. It carries one request per
//! connection, so that each fault breaks exactly one response.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The faults of a proxy.
#[derive(Debug, Clone, Copy)]
pub struct FaultPlan {
    /// The seed of its random numbers.
    pub seed: u64,
    /// The number of streams that are broken; later ones are forwarded unchanged.
    pub cuts: usize,
    /// The maximum number of bytes of a stream while there are cuts left.
    pub max_bytes: usize,
    /// The minimum number of bytes of the first stream.
    pub min_first: usize,
    /// Whether some streams end cleanly.
    pub clean_ends: bool,
    /// Whether other read requests are broken too, one in twenty.
    pub others: bool,
}

/// The fault of a response.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Pass,
    /// The connection is closed before the response.
    Refuse,
    /// The response of an overloaded proxy.
    Busy(&'static str),
    /// A break after this many bytes, and its kind.
    Cut(usize, &'static str),
}

const CLOSE: &str = "closed in the middle";
const RESET: &str = "reset";
const END: &str = "ended cleanly";
const REFUSED: &str = "refused";
const OTHERS: &str = "other requests";

const BUSY: [(&str, &str); 3] = [
    (
        "502",
        "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\n",
    ),
    ("503", "HTTP/1.1 503 Service Unavailable\r\n"),
    (
        "429",
        "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\n",
    ),
];

struct ProxyState {
    random: fastrand::Rng,
    plan: FaultPlan,
    streams: usize,
    done: BTreeMap<&'static str, usize>,
}

/// The proxy.
pub struct FlakyProxy {
    port: u16,
    state: Arc<Mutex<ProxyState>>,
}

impl FlakyProxy {
    /// Starts a proxy for `upstream` (host:port).
    pub fn to(upstream: String, plan: FaultPlan) -> FlakyProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let random = fastrand::Rng::with_seed(plan.seed);
        let state = Arc::new(Mutex::new(ProxyState {
            random,
            plan,
            streams: 0,
            done: BTreeMap::new(),
        }));
        let inside = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (upstream, state) = (upstream.clone(), Arc::clone(&inside));
                std::thread::spawn(move || forward(&client, &upstream, &state));
            }
        });
        FlakyProxy { port, state }
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the number of faults by kind.
    pub fn damage(&self) -> BTreeMap<&'static str, usize> {
        lock(&self.state).done.clone()
    }

    /// Returns the number of broken streams.
    pub fn cuts_done(&self) -> usize {
        self.damage()
            .iter()
            .filter(|(what, _)| **what != OTHERS)
            .map(|(_, n)| n)
            .sum()
    }

    /// Returns the number of requested streams.
    pub fn streams(&self) -> usize {
        lock(&self.state).streams
    }
}

impl ProxyState {
    /// Returns the fault of a request, and random numbers for the delays of its response.
    fn fault(&mut self, is_stream: bool, is_reading: bool) -> (Fault, fastrand::Rng) {
        let FaultPlan {
            seed,
            cuts,
            max_bytes,
            min_first,
            clean_ends,
            others,
        } = self.plan;
        if !is_stream {
            let is_hit = others && is_reading && cuts > 0 && self.random.u8(..20) == 0;
            let fault = if is_hit {
                Fault::Cut(self.random.usize(..300), OTHERS)
            } else {
                Fault::Pass
            };
            return (fault, self.random.fork());
        }
        self.streams += 1;
        // A stream gets the same fault in two proxies with one seed, regardless of other requests.
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(self.streams as u64));
        if cuts == 0 {
            return (Fault::Pass, random);
        }
        let how = match random.u8(..10) {
            0..4 => CLOSE,
            4..8 => RESET,
            _ if clean_ends => END,
            _ => CLOSE,
        };
        // Some cuts are in the head or the first event, the others are distributed logarithmically.
        let after = match random.u8(..8) {
            0 => random.usize(..600),
            _ => (600.0 * (max_bytes as f64 / 600.0).powf(random.f64())) as usize,
        };
        let after = if self.streams == 1 {
            after.max(min_first)
        } else {
            after
        };
        // Requests that start a run always reach the server.
        let fault = match random.u8(..40) {
            0 if is_reading => Fault::Refuse,
            n @ 1..=3 if is_reading => Fault::Busy(BUSY[usize::from(n) - 1].0),
            _ => Fault::Cut(after, how),
        };
        if !matches!(fault, Fault::Cut(..)) {
            self.plan.cuts -= 1;
        }
        (fault, random)
    }

    /// Counts a broken response. This happens at the break, because a short response may end before.
    fn count_fault(&mut self, how: &'static str) {
        *self.done.entry(how).or_default() += 1;
    }
}

fn forward(client: &TcpStream, upstream: &str, state: &Mutex<ProxyState>) {
    let Some((line, request)) = request(client) else {
        return;
    };
    let is_reading = line.starts_with("GET ");
    let path = line
        .split(' ')
        .nth(1)
        .unwrap_or_default()
        .split('?')
        .next()
        .unwrap_or_default();
    let is_stream = path.ends_with("/stream");
    let (fault, mut random) = lock(state).fault(is_stream, is_reading);
    match fault {
        Fault::Refuse => return lock(state).count_fault(REFUSED),
        Fault::Busy(code) => {
            lock(state).count_fault(code);
            let (_, head) = BUSY
                .iter()
                .find(|(known, _)| *known == code)
                .expect("one of them");
            let _ = (&*client).write_all(
                format!("{head}connection: close\r\ncontent-length: 0\r\n\r\n").as_bytes(),
            );
            return;
        }
        Fault::Pass | Fault::Cut(..) => {}
    }
    let Ok(server) = TcpStream::connect(upstream) else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    if (&server).write_all(&request).is_err() {
        return;
    }
    let mut out = Out {
        client,
        left: None,
        how: "",
    };
    if let Fault::Cut(after, how) = fault {
        (out.left, out.how) = (Some(after), how);
    }
    if let Err(Stop::Cut) = forward_response(&server, &mut out, is_stream.then_some(&mut random)) {
        let mut state = lock(state);
        state.count_fault(out.how);
        if is_stream {
            state.plan.cuts = state.plan.cuts.saturating_sub(1);
        }
        drop(state);
        if out.how == RESET {
            crate::proxy::reset_on_close(client);
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    if out.how != RESET {
        let _ = client.shutdown(Shutdown::Both);
    }
}

/// Reads a request. Returns its first line, and the request with `connection: close`.
fn request(mut client: &TcpStream) -> Option<(String, Vec<u8>)> {
    let (head, mut body) = head(&mut client)?;
    let text = String::from_utf8(head).ok()?;
    let field = |line: &str, name: &str| {
        line.to_ascii_lowercase()
            .strip_prefix(name)
            .map(|rest| rest.trim().to_owned())
    };
    let length = text
        .lines()
        .find_map(|line| field(line, "content-length:")?.parse().ok())
        .unwrap_or(0);
    let had = body.len().min(length);
    body.resize(length, 0);
    client.read_exact(&mut body[had..]).ok()?;
    let first = text.lines().next()?.to_owned();
    let mut lines: Vec<&str> = text
        .trim_end()
        .lines()
        .filter(|line| field(line, "connection:").is_none())
        .collect();
    lines.push("connection: close");
    let mut all = (lines.join("\r\n") + "\r\n\r\n").into_bytes();
    all.extend(body);
    Some((first, all))
}

/// Reads a head with its blank line. Returns it and the bytes after it.
fn head(from: &mut impl Read) -> Option<(Vec<u8>, Vec<u8>)> {
    let (mut all, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    loop {
        if let Some(i) = all.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = all.split_off(i + 4);
            return Some((all, rest));
        }
        match from.read(&mut buffer) {
            Ok(n @ 1..) => all.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}

enum Stop {
    /// The position of the cut is reached.
    Cut,
    /// The client or the server disconnected.
    Disconnected,
}

/// The output to the client.
struct Out<'a> {
    client: &'a TcpStream,
    /// Bytes until the cut.
    left: Option<usize>,
    how: &'static str,
}

impl Out<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let now = self.left.map_or(bytes.len(), |left| left.min(bytes.len()));
        (&mut &*self.client)
            .write_all(&bytes[..now])
            .map_err(|_| Stop::Disconnected)?;
        self.left = self.left.map(|left| left - now);
        if self.left == Some(0) {
            Err(Stop::Cut)
        } else {
            Ok(())
        }
    }

    /// Writes one piece of a chunked body. If the response ends cleanly, its last chunk is complete too.
    fn chunk(&mut self, piece: &[u8]) -> Result<(), Stop> {
        let now = match self.left.filter(|_| self.how == END) {
            Some(left) => left.min(piece.len()),
            None => {
                return self
                    .put(&[format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat());
            }
        };
        let left = self.left.take();
        let mut all = format!("{now:x}\r\n").into_bytes();
        all.extend_from_slice(&piece[..now]);
        all.extend_from_slice(b"\r\n");
        let is_over = left == Some(now);
        if is_over {
            all.extend_from_slice(b"0\r\n\r\n");
        }
        self.put(&all)?;
        self.left = left.map(|left| left - now);
        if is_over { Err(Stop::Cut) } else { Ok(()) }
    }
}

/// Forwards a response, with delays if there are random numbers.
fn forward_response(
    mut server: &TcpStream,
    out: &mut Out,
    mut random: Option<&mut fastrand::Rng>,
) -> Result<(), Stop> {
    let (head, rest) = head(&mut server).ok_or(Stop::Disconnected)?;
    let is_chunked = String::from_utf8_lossy(&head)
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    out.put(&head)?;
    let (mut buffer, mut chunks) = ([0; 16 * 1024], Chunks::default());
    let mut bytes = rest;
    loop {
        if is_chunked {
            for piece in chunks.pieces(&bytes) {
                out.chunk(piece)?;
            }
            if chunks.is_over {
                return out.put(b"0\r\n\r\n");
            }
        } else {
            out.put(&bytes)?;
        }
        if let Some(random) = &mut random
            && random.u8(..60) == 0
        {
            std::thread::sleep(Duration::from_millis(random.u64(1..120)));
        }
        match server.read(&mut buffer) {
            Ok(n @ 1..) => bytes = buffer[..n].to_vec(),
            _ => return Err(Stop::Disconnected),
        }
    }
}

/// Parses a chunked body.
#[derive(Default)]
struct Chunks {
    size: String,
    /// The remaining bytes of the chunk and of its line end.
    left: usize,
    is_over: bool,
}

impl Chunks {
    fn pieces<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        while !bytes.is_empty() && !self.is_over {
            if self.left > 2 {
                let now = bytes.len().min(self.left - 2);
                pieces.push(&bytes[..now]);
                (bytes, self.left) = (&bytes[now..], self.left - now);
            } else if self.left > 0 {
                (bytes, self.left) = (&bytes[1..], self.left - 1);
            } else {
                let (byte, rest) = (bytes[0], &bytes[1..]);
                bytes = rest;
                if byte != b'\n' {
                    self.size.push(char::from(byte));
                    continue;
                }
                let size =
                    usize::from_str_radix(self.size.trim(), 16).expect("the size of a chunk");
                self.size.clear();
                (self.left, self.is_over) = (size + 2, size == 0);
            }
        }
        pieces
    }
}

fn lock(state: &Mutex<ProxyState>) -> MutexGuard<'_, ProxyState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
