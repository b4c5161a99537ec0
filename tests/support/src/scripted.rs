//! A scripted control plane, including connection resets. It accepts one request per connection.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The key that profiles of [`config`] send; it must never be shown.
pub const CANARY: &str = "lsv2_pt_canary0123456789";

/// The reply to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The revision with this status.
    Status(Value),
    /// Any status and body, with a `Retry-After` unless it is empty.
    Http(u16, &'static str, String),
    /// A proxy's page with status 200.
    Page,
    /// The connection is reset.
    Reset,
    /// No response, ever.
    Hang,
}

/// Returns a reply with this status.
pub fn status(word: &str) -> Reply {
    Reply::Status(json!(word))
}

/// Returns a rejection with its usual body.
pub fn refuse(code: u16) -> Reply {
    Reply::Http(
        code,
        "",
        json!({"detail": format!("status {code}")}).to_string(),
    )
}

#[derive(Default)]
struct Script {
    replies: HashMap<String, Vec<Reply>>,
    requests: Vec<String>,
    counts: HashMap<String, usize>,
    /// The `Date` of all responses, if set.
    date: Option<String>,
}

/// The server.
pub struct Scripted {
    port: u16,
    script: Arc<Mutex<Script>>,
}

impl Scripted {
    /// Starts a control plane with these deployments, whose ids are their names. Each has the revision `r-NAME`, with one
    /// reply per request; the last reply repeats. Without replies the revision is missing.
    pub fn control_plane(deployments: &[(&str, &[Reply])]) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let server = Scripted {
            port,
            script: Arc::default(),
        };
        let row = |name: &str| {
            json!({"id": name, "name": name, "status": "READY", "latest_revision_id": format!("r-{name}"),
                   "secrets": [{"name": "K", "value": "canary-of-the-deployment"}]})
        };
        for (name, replies) in deployments {
            let newest = json!({"resources": [revision(name, &json!("BUILDING"))]});
            server.reply(
                &format!("/{name}"),
                &[Reply::Http(200, "", row(name).to_string())],
            );
            server.reply(
                &format!("/{name}/revisions"),
                &[Reply::Http(200, "", newest.to_string())],
            );
            server.reply(&format!("/{name}/revisions/r-{name}"), replies);
        }
        let all: Vec<Value> = deployments.iter().map(|(name, _)| row(name)).collect();
        server.reply(
            "",
            &[Reply::Http(200, "", json!({"resources": all}).to_string())],
        );
        let script = Arc::clone(&server.script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&script);
                std::thread::spawn(move || respond(stream, &script));
            }
        });
        server
    }

    /// Sets the replies for a path below `/v2/deployments`, without its query: one per request; the last reply repeats.
    pub fn reply(&self, path: &str, replies: &[Reply]) {
        self.script
            .lock()
            .expect("not poisoned")
            .replies
            .insert(path.to_string(), replies.to_vec());
    }

    /// Sets the `Date` of later responses.
    pub fn set_clock(&self, now: jiff::Timestamp) {
        let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        self.script.lock().expect("not poisoned").date = Some(date);
    }

    /// Returns the requested paths below `/v2/deployments`, with their queries.
    pub fn requests(&self) -> Vec<String> {
        self.script.lock().expect("not poisoned").requests.clone()
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// Returns the record of a deployment's revision.
pub fn revision(name: &str, status: &Value) -> Value {
    json!({"id": format!("r-{name}"), "status": status, "created_at": "2026-11-20T09:00:00Z",
           "updated_at": "2026-11-20T09:01:00Z", "novel": {"z": 1},
           "source_revision_config": {"repo_ref": "main", "repo_commit_sha": "9fceb02d0ae598e95dc970b74767f19372d61af8"}})
}

/// Writes a configuration file with these profiles.
pub fn config(profiles: &[(&str, &Scripted)]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    let mut text = String::new();
    for (name, server) in profiles {
        text += &format!(
            "[profiles.{name}]\nurl = \"{}\"\napi_key_command = [\"printf\", \"{CANARY}\"]\n",
            server.url()
        );
    }
    std::fs::write(&path, text).expect("written");
    let path = path.to_string_lossy().into_owned();
    (folder, path)
}

fn respond(mut stream: TcpStream, script: &Mutex<Script>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    let (mut first, mut line) = (String::new(), String::new());
    if reader.read_line(&mut first).is_err() {
        return;
    }
    let mut length = 0;
    while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    let _ = std::io::Read::read_exact(&mut reader, &mut body);
    let target = first.split(' ').nth(1).unwrap_or_default();
    let target = target.strip_prefix("/api-host").unwrap_or(target);
    let target = target.strip_prefix("/v2/deployments").unwrap_or(target);
    let path = target.split('?').next().unwrap_or_default();
    let (reply, date) = {
        let mut script = script.lock().expect("not poisoned");
        script.requests.push(target.to_string());
        let count = script.counts.entry(path.to_string()).or_default();
        let at = *count;
        *count += 1;
        let reply = script
            .replies
            .get(path)
            .and_then(|replies| replies.get(at).or(replies.last()).cloned());
        (reply, script.date.clone())
    };
    let date = date
        .map(|date| format!("date: {date}\r\n"))
        .unwrap_or_default();
    let (code, kind, header, body) = match reply {
        Some(Reply::Status(status)) => {
            let name = path.split('/').nth(1).unwrap_or_default();
            (
                200,
                "application/json",
                String::new(),
                revision(name, &status).to_string(),
            )
        }
        Some(Reply::Http(code, "", body)) => (code, "application/json", String::new(), body),
        Some(Reply::Http(code, after, body)) => (
            code,
            "application/json",
            format!("retry-after: {after}\r\n"),
            body,
        ),
        Some(Reply::Page) => (
            200,
            "text/html",
            String::new(),
            "<html><title>Sign in</title></html>".into(),
        ),
        Some(Reply::Reset) => return crate::proxy::reset_on_close(&stream),
        // Until the client disconnects.
        Some(Reply::Hang) => return drop(std::io::copy(&mut reader, &mut std::io::sink())),
        None => (
            404,
            "application/json",
            String::new(),
            json!({"detail": "Not Found"}).to_string(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {code} x\r\ncontent-type: {kind}\r\n{date}{header}connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + &body).as_bytes());
}
