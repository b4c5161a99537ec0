//! Fixed records, for tests of changes: one server for both services that answers what is read from fixed records,
//! breaks requests that change something as it is told, and records them.

mod records;

pub use records::{IDS, with_ids};

use records::{Answer, Made, answer};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How the server answers requests that change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It does what is requested.
    Done,
    /// It refuses with this status; 429 with a `Retry-After` of one second.
    Refused(u16),
    /// It reads the request, does nothing, and closes the connection.
    NoAnswer,
    /// It does what is requested, and closes the connection in the middle of the response.
    HalfAnswer,
}

/// What another client did after the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Nothing,
    /// It changed each record in every field that a change may be about.
    Changed,
    /// It started a run on each thread.
    RunStarted,
}

struct State {
    fate: Fate,
    /// The end of the path of the requests that are broken.
    broken: &'static str,
    since: Since,
    /// How often each path is still read as it was.
    unchanged: HashMap<String, usize>,
    reads: HashMap<String, usize>,
    writes: Vec<String>,
    made: Made,
}

/// The server. Below `/there` it answers as a second agent server.
pub struct StillWorld {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl StillWorld {
    /// Starts the server. Only requests whose path has this end are broken.
    pub fn start(fate: Fate, broken: &'static str) -> StillWorld {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let state = Arc::new(Mutex::new(State {
            fate,
            broken,
            since: Since::Nothing,
            unchanged: HashMap::new(),
            reads: HashMap::new(),
            writes: Vec::new(),
            made: Made::default(),
        }));
        let inside = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&inside);
                std::thread::spawn(move || serve(stream, &state));
            }
        });
        StillWorld { port, state }
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Lets another client act, after each path has been read this often.
    pub fn change(&self, since: Since, after: HashMap<String, usize>) {
        let mut state = lock(&self.state);
        (state.since, state.unchanged) = (since, after);
    }

    /// Lets another client act now.
    pub fn change_now(&self, since: Since) {
        self.change(since, HashMap::new());
    }

    /// Returns how often each path was read.
    pub fn reads(&self) -> HashMap<String, usize> {
        lock(&self.state).reads.clone()
    }

    /// Returns the requests that change something: the method and the path, with names for known ids.
    pub fn writes(&self) -> Vec<String> {
        lock(&self.state).writes.clone()
    }

    /// Writes a configuration with a profile for each service, `plane`, `agent` and `there`. Returns its folder and its path.
    pub fn config(&self, more: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        let url = self.url();
        let text = format!(
            "[profiles.plane]\ncontrol_plane = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n{more}\n\
             [profiles.agent]\nagent_server = {{ bot = \"{url}\" }}\n{more}\n\
             [profiles.there]\nagent_server = {{ bot = \"{url}/there\" }}\n{more}\n\
             [[answer]]\nmatch = \"action:send\"\ndecision = \"approve\"\n"
        );
        std::fs::write(&path, text).expect("written");
        std::fs::write(folder.path().join("new.json"), records::NEW_DEPLOYMENT).expect("written");
        let path = path.to_string_lossy().into_owned();
        (folder, path)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a request only reads.
fn is_read(method: &str, path: &str) -> bool {
    const READING_POSTS: [&str; 7] = [
        "/search",
        "/count",
        "/history",
        "/namespaces",
        "/versions",
        "/state/checkpoint",
        "_logs",
    ];
    matches!(method, "GET" | "HEAD")
        || method == "POST" && READING_POSTS.iter().any(|end| path.ends_with(end))
}

/// Answers the requests of one connection.
fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let Ok(mut reader) = stream.try_clone().map(BufReader::new) else {
        return;
    };
    let _ = stream.set_nodelay(true);
    while let Some((method, target, body)) = request(&mut reader) {
        let whole = target.split('?').next().unwrap_or_default();
        let path = whole.strip_prefix("/there").unwrap_or(whole);
        let (answered, fate) = {
            let mut state = lock(state);
            let (since, fate) = if is_read(&method, path) {
                let count = *state
                    .reads
                    .entry(path.to_string())
                    .and_modify(|count| *count += 1)
                    .or_insert(1);
                let is_unchanged = state
                    .unchanged
                    .get(path)
                    .is_some_and(|limit| count <= *limit);
                (
                    if is_unchanged {
                        Since::Nothing
                    } else {
                        state.since
                    },
                    Fate::Done,
                )
            } else {
                state
                    .writes
                    .push(format!("{method} {}", with_ids(whole, false)));
                (
                    state.since,
                    if path.ends_with(state.broken) {
                        state.fate
                    } else {
                        Fate::Done
                    },
                )
            };
            if matches!(fate, Fate::Done | Fate::HalfAnswer) {
                state.made.note(&method, path, &body);
            }
            (
                answer(
                    since,
                    &state.made,
                    (&method, &target.replacen(whole, path, 1), &body),
                ),
                fate,
            )
        };
        let Answer {
            status,
            kind,
            body,
            location,
        } = match fate {
            Fate::Refused(status) => Answer {
                status,
                body: format!("{{\"detail\":\"status {status}\"}}"),
                ..Answer::default()
            },
            _ => answered,
        };
        let location = location
            .map(|at| format!("content-location: {at}\r\n"))
            .unwrap_or_default();
        let retry = if status == 429 {
            "retry-after: 1\r\n"
        } else {
            ""
        };
        let length = if status == 204 {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        let mut response =
            format!("HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\n{location}{retry}{length}\r\n");
        // A response without a body breaks in its head.
        let half = if body.is_empty() {
            response.len() / 2
        } else {
            response.len() + body.len() / 2
        };
        response += &body;
        let sent = match fate {
            Fate::NoAnswer => "",
            Fate::HalfAnswer => &response[..half],
            Fate::Done | Fate::Refused(_) => &response,
        };
        if stream.write_all(sent.as_bytes()).is_err() || sent.len() < response.len() {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Reads a request: its method, its target and its body.
fn request(reader: &mut BufReader<TcpStream>) -> Option<(String, String, String)> {
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok().filter(|n| *n > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = first.split(' ').map(str::to_string);
    Some((words.next()?, words.next()?, String::from_utf8(body).ok()?))
}
