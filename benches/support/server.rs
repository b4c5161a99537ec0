//! A static agent server on loopback: it answers the requests that precede a stream, and sends a body as fast as it is read, or at
//! a steady pace. It costs next to nothing compared with its client.

use super::bodies::{Body, Maker};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub const THREAD: &str = "00000000-0000-4000-8000-000000000001";
pub const RUN: &str = "00000000-0000-4000-8000-000000000002";
const SLICE: Duration = Duration::from_millis(2);

/// What to send.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    pub body: Body,
    pub events: u64,
    /// Events per second; `None` means as fast as they are read.
    pub pace: Option<u64>,
}

/// Serves a stream to every client. Returns the server's address.
pub fn serve(stream: Stream) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let whole: Arc<OnceLock<Vec<u8>>> = Arc::default();
    if stream.pace.is_none() {
        let mut bytes = Vec::new();
        let mut maker = Maker::new(stream.body);
        (0..stream.events).for_each(|_| maker.add(&mut bytes));
        whole.set(bytes).expect("set once");
    }
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let whole = whole.clone();
            // A client that leaves early is not an error.
            std::thread::spawn(move || drop(answer(connection, stream, whole.get())));
        }
    });
    address
}

fn answer(
    mut connection: TcpStream,
    stream: Stream,
    whole: Option<&Vec<u8>>,
) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut given = BufReader::new(connection.try_clone()?);
    loop {
        let mut line = String::new();
        if given.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line
            .split(' ')
            .nth(1)
            .unwrap_or_default()
            .split('?')
            .next()
            .unwrap_or_default()
            .to_string();
        let mut length = 0;
        loop {
            let mut head = String::new();
            given.read_line(&mut head)?;
            let head = head.trim().to_ascii_lowercase();
            if head.is_empty() {
                break;
            }
            if let Some(value) = head.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        given.by_ref().take(length).read_to_end(&mut Vec::new())?;
        let time = "2026-11-21T00:00:00Z";
        let run = format!(
            r#"{{"run_id":"{RUN}","thread_id":"{THREAD}","assistant_id":"{THREAD}","created_at":"{time}","updated_at":"{time}","status":"success","metadata":{{}},"multitask_strategy":"enqueue","kwargs":{{}}}}"#
        );
        let thread = format!(
            r#"{{"thread_id":"{THREAD}","status":"idle","created_at":"{time}","updated_at":"{time}","metadata":{{}},"values":null,"interrupts":{{}}}}"#
        );
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (status, body) = match parts[..] {
            ["info"] => {
                (200, r#"{"version":"0.16.7","langgraph_py_version":"1.2.22","flags":{"assistants":true}}"#.into())
            }
            ["threads", THREAD] => (200, thread),
            ["threads", THREAD, "state"] => {
                (200, r#"{"values":{},"next":[],"tasks":[],"metadata":{},"interrupts":[]}"#.into())
            }
            ["threads", THREAD, "runs", RUN] => (200, run),
            ["threads", THREAD, "runs"] => (200, format!("[{run}]")),
            [.., "search"] => (200, "[]".into()),
            ["threads", THREAD, "runs", RUN, "stream"] => {
                send(&mut connection, stream, whole)?;
                continue;
            }
            _ => (404, r#"{"detail":"not here"}"#.into()),
        };
        let length = body.len();
        write!(
            connection,
            "HTTP/1.1 {status} .\r\nserver: uvicorn\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )?;
    }
}

fn send(
    connection: &mut TcpStream,
    stream: Stream,
    whole: Option<&Vec<u8>>,
) -> std::io::Result<()> {
    connection.write_all(
        b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
          cache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    match (whole, stream.pace) {
        (Some(whole), _) => connection.write_all(whole)?,
        (None, pace) => {
            let (began, mut maker, mut sent) = (Instant::now(), Maker::new(stream.body), 0);
            let pace = pace.unwrap_or(1) as f64;
            while sent < stream.events {
                let due = ((began.elapsed().as_secs_f64() * pace) as u64).min(stream.events);
                let mut bytes = Vec::new();
                (sent..due).for_each(|_| maker.add(&mut bytes));
                sent = due.max(sent);
                connection.write_all(&bytes)?;
                std::thread::sleep(SLICE);
            }
        }
    }
    connection.write_all(b"0\r\n\r\n")
}
