//! Queries the agent server directly, to verify the binary's output.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Returns the real server's URL, which `tests/real/serve` sets.
#[track_caller]
pub fn url() -> String {
    std::env::var("RUNTAIL_REAL_URL")
        .expect("RUNTAIL_REAL_URL is not set; start with: tests/real/serve -- cargo test --test real -- --ignored")
        .trim_end_matches('/')
        .to_owned()
}

/// Returns the host and port of the real server.
#[track_caller]
pub fn address() -> String {
    let url = url();
    url.strip_prefix("http://")
        .expect("the real server speaks plain http")
        .to_owned()
}

/// Returns the URLs of all running real servers: Python, and JavaScript and Aegra if they are installed.
pub fn all_urls() -> Vec<String> {
    let others = ["RUNTAIL_JS_URL", "RUNTAIL_AEGRA_URL"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok());
    std::iter::once(url())
        .chain(others.map(|url| url.trim_end_matches('/').to_owned()))
        .collect()
}

/// Sends one request on one connection. Returns the status and the response's JSON, or null.
#[track_caller]
pub fn request(method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    request_at(&address(), method, path, body)
}

/// [`request`] to any host and port.
#[track_caller]
pub fn request_at(address: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut stream = TcpStream::connect(address).expect("the real server is reachable");
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .expect("a timeout");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).expect("sent");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("an response");
    let response = String::from_utf8(response).expect("UTF-8");
    let (head, body) = response.split_once("\r\n\r\n").expect("a head and a body");
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status");
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// Sends a GET that must succeed.
#[track_caller]
pub fn get(path: &str) -> Value {
    let (status, body) = request("GET", path, None);
    assert_eq!(status, 200, "GET {path}: {body}");
    body
}

/// Sends a POST that must succeed.
#[track_caller]
pub fn post(path: &str, body: &Value) -> Value {
    let (status, response) = request("POST", path, Some(body));
    assert!(
        (200..300).contains(&status),
        "POST {path}: {status} {response}"
    );
    response
}

/// Creates a thread and returns its id.
#[track_caller]
pub fn new_thread() -> String {
    text(&post("/threads", &json!({})), "thread_id")
}

/// Starts a resumable run in the background and returns its id.
#[track_caller]
pub fn start_run(thread: &str, assistant: &str, input: &Value, modes: &[&str]) -> String {
    let body = json!({"assistant_id": assistant, "input": input, "stream_mode": modes, "stream_resumable": true});
    text(&post(&format!("/threads/{thread}/runs"), &body), "run_id")
}

/// Returns the runs of a thread, newest first.
#[track_caller]
pub fn runs(thread: &str) -> Vec<Value> {
    get(&format!("/threads/{thread}/runs?limit=100"))
        .as_array()
        .expect("a list")
        .clone()
}

/// Returns a run's current status.
#[track_caller]
pub fn run_status(thread: &str, run: &str) -> String {
    text(&get(&format!("/threads/{thread}/runs/{run}")), "status")
}

/// Waits until a run is neither pending nor running, and returns its status.
#[track_caller]
pub fn run_end(thread: &str, run: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let status = run_status(thread, run);
        if !matches!(status.as_str(), "pending" | "running") {
            return status;
        }
        assert!(Instant::now() < until, "run {run} is still {status}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns a text field.
#[track_caller]
pub fn text(value: &Value, field: &str) -> String {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {field}: {value}"))
        .to_owned()
}
