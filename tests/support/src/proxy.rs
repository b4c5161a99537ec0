//! A proxy between binary and server that breaks connections as scripted and forwards everything else unchanged.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// When a stream's connection breaks.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// After this many bytes of the response, including its head.
    Bytes(usize),
    /// After a heartbeat.
    Heartbeat,
}

/// How it breaks.
#[derive(Debug, Clone, Copy)]
pub enum How {
    /// The connection ends in the middle of the body, without its last chunk.
    Close,
    /// The connection is reset.
    Reset,
    /// Data stops without any notice.
    Stall,
}

/// One break.
pub type Cut = (When, How);

#[derive(Default)]
struct Shared {
    cuts: Mutex<VecDeque<Cut>>,
    heads: Mutex<Vec<String>>,
    connections: AtomicUsize,
    done: AtomicUsize,
}

/// The proxy. Each connection with a stream takes the next cut; without cuts, everything is forwarded.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Starts a proxy for `upstream` (host:port).
    pub fn to(upstream: String, cuts: impl IntoIterator<Item = Cut>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let shared = Arc::new(Shared {
            cuts: Mutex::new(cuts.into_iter().collect()),
            ..Shared::default()
        });
        let inside = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                inside.connections.fetch_add(1, Ordering::SeqCst);
                let (upstream, shared) = (upstream.clone(), Arc::clone(&inside));
                std::thread::spawn(move || forward(client, &upstream, &shared));
            }
        });
        Proxy { port, shared }
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the number of connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of cuts that happened.
    pub fn cuts_done(&self) -> usize {
        self.shared.done.load(Ordering::SeqCst)
    }

    /// Returns the forwarded request lines, such as `POST /threads HTTP/1.1`.
    pub fn requests(&self) -> Vec<String> {
        self.shared.heads.lock().expect("not poisoned").clone()
    }
}

/// Forwards one connection: requests on another thread, responses on this one.
fn forward(client: TcpStream, upstream: &str, shared: &Arc<Shared>) {
    let Ok(server) = TcpStream::connect(upstream) else {
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let cut: Arc<Mutex<Option<Cut>>> = Arc::default();
    let (Ok(client_in), Ok(server_out)) = (client.try_clone(), server.try_clone()) else {
        return;
    };
    let requests = {
        let (shared, cut) = (Arc::clone(shared), Arc::clone(&cut));
        std::thread::spawn(move || forward_requests(client_in, server_out, &shared, &cut))
    };
    let broken = forward_responses(&client, &server, &cut);
    if let Some(how) = broken {
        shared.done.fetch_add(1, Ordering::SeqCst);
        match how {
            How::Close => {}
            How::Reset => reset_on_close(&client),
            // The server keeps sending, and the client waits on an open connection.
            How::Stall => std::thread::sleep(Duration::from_secs(600)),
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    if matches!(broken, Some(How::Reset)) {
        // The other thread's handle must be closed first, because closing the last one sends the reset.
        let _ = client.shutdown(Shutdown::Read);
        let _ = requests.join();
        drop(client);
    } else {
        let _ = client.shutdown(Shutdown::Both);
        let _ = requests.join();
    }
}

fn forward_requests(
    mut client: TcpStream,
    mut server: TcpStream,
    shared: &Shared,
    cut: &Mutex<Option<Cut>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(n @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..n];
        // A client sends the head of a request in one piece.
        if let Some(line) = request_line(bytes) {
            if line
                .split(' ')
                .nth(1)
                .is_some_and(|target| target.split('?').next().unwrap_or("").ends_with("/stream"))
            {
                *cut.lock().expect("not poisoned") =
                    shared.cuts.lock().expect("not poisoned").pop_front();
            }
            shared.heads.lock().expect("not poisoned").push(line);
        }
        if server.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Write);
}

fn request_line(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|&b| b == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    line.ends_with(" HTTP/1.1").then(|| line.to_owned())
}

/// Forwards responses until the end or until the cut of this connection, and returns how to break it.
fn forward_responses(
    mut client: &TcpStream,
    mut server: &TcpStream,
    cut: &Mutex<Option<Cut>>,
) -> Option<How> {
    let mut buffer = vec![0; 16 * 1024];
    let mut passed = 0;
    let mut streaming = false;
    while let Ok(n @ 1..) = server.read(&mut buffer) {
        let mut bytes = &buffer[..n];
        let next = *cut.lock().expect("not poisoned");
        if next.is_some() && !streaming {
            (streaming, passed) = (true, 0); // bytes of earlier responses on this connection don't count
        }
        let mut broken = None;
        match next {
            Some((When::Bytes(at), how)) if passed + n >= at => {
                bytes = &bytes[..at - passed];
                broken = Some(how);
            }
            Some((When::Heartbeat, how))
                if bytes.windows(11).any(|window| window == b": heartbeat") =>
            {
                broken = Some(how);
            }
            _ => {}
        }
        passed += bytes.len();
        if client.write_all(bytes).is_err() {
            return None;
        }
        if broken.is_some() {
            return broken;
        }
    }
    None
}

/// Makes closing the last handle reset the connection.
pub fn reset_on_close(stream: &TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let size = libc::socklen_t::try_from(size_of::<libc::linger>()).expect("small");
    // SAFETY: the descriptor is open while `stream` lives, and the pointer is to a linger of the given size.
    let code = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size,
        )
    };
    assert_eq!(code, 0, "SO_LINGER");
}
