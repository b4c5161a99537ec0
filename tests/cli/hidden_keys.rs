//! A server echoes the profile's key in an encoding that a byte search does not find. Nothing may show it.

use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use runtail_testkit::common::{Seen, Server, json, response};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use serde_json::{Value, json as value};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const KEY: &str = "lsv2_pt_5up3rs3cr3tk3y0123456789_c4n4ry";

const THREAD: &str = "11111111-1111-4111-8111-111111111111";
const RUN: &str = "22222222-2222-4222-8222-222222222222";

/// The key in encodings that a person or a one-line script can still read.
fn spellings() -> Vec<String> {
    let each = |write: &dyn Fn(char) -> String| KEY.chars().map(write).collect::<String>();
    vec![
        KEY.to_uppercase(),
        each(&|c| format!("{c}\u{1b}[0m")),
        each(&|c| format!("{c}\u{200b}")),
        each(&|c| format!("{c} ")),
        each(&|c| format!("%{:02X}", c as u32)),
        each(&|c| format!("\\u{{{:x}}}", c as u32)),
        each(&|c| char::from_u32(c as u32 + 0xfee0).unwrap().to_string()),
        format!("{} and more", &KEY[..20]),
        each(&|c| format!("&#{};", c as u32)),
        each(&|c| format!("{:02x}", c as u32)),
        STANDARD.encode(KEY),
        STANDARD.encode(format!("user:{KEY}")),
    ]
}

/// Only letters and digits, without terminal sequences.
fn letters(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => drop(chars.by_ref().find(|c| c.is_ascii_alphabetic())),
            '\u{ff01}'..='\u{ff5e}' => out.push(
                char::from_u32(c as u32 - 0xfee0)
                    .unwrap()
                    .to_ascii_lowercase(),
            ),
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ => {}
        }
    }
    out
}

#[track_caller]
fn assert_no_key(text: &str, what: &str) {
    let shown = letters(text);
    let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let base64 = letters(STANDARD.encode(KEY).trim_end_matches('='));
    let decimal: String = KEY.bytes().map(|byte| byte.to_string()).collect();
    for key in [
        &letters(&KEY[..20]),
        &hex,
        &base64[..base64.len() - 4],
        &decimal,
    ] {
        assert!(!shown.contains(key), "{what}: {key} in {text}");
    }
}

/// The key with JSON escapes: `\u006c…`.
fn escaped(json: &str) -> String {
    json.replace(
        KEY,
        &KEY.chars()
            .map(|c| format!("\\u{:04x}", c as u32))
            .collect::<String>(),
    )
}

fn events() -> String {
    let mut events = String::from(
        "event: metadata\ndata: {\"run_id\":\"22222222-2222-4222-8222-222222222222\",\"attempt\":1}\nid: 1-0\n\n",
    );
    let mut add = |n: usize, name: &str, data: &Value| {
        events += &format!("event: {name}\ndata: {data}\nid: {}-0\n\n", n + 2);
    };
    let origin = value!({"langgraph_node": "chat", "langgraph_step": 1, "langgraph_checkpoint_ns": "chat:1"});
    for (n, letter) in format!("begin {KEY} end").chars().enumerate() {
        add(
            n,
            "messages",
            &value!([{"id": "m", "type": "AIMessageChunk", "content": letter.to_string()}, origin]),
        );
    }
    for (n, spelling) in spellings().iter().enumerate() {
        add(100 + n, "custom", &value!({"repeated": spelling}));
    }
    add(
        200,
        "values",
        &value!({"messages": [{"id": "m", "type": "ai", "content": format!("begin {KEY} end")}]}),
    );
    events
}

fn act(seen: &Seen) -> Response {
    let state = value!({"values": {"said": spellings(), "plain": KEY}, "next": [], "tasks": [], "checkpoint": {}});
    let rows: Vec<Value> = spellings()
        .iter()
        .enumerate()
        .map(
            |(n, name)| value!({"id": format!("d{n}"), "name": name, "status": name, "source": "github", "plain": KEY}),
        )
        .collect();
    let thread = value!({"thread_id": THREAD, "status": "idle", "metadata": {"graph_id": "agent"}});
    let run = value!({"run_id": RUN, "thread_id": THREAD, "status": "success", "created_at": "2026-11-22T10:00:00Z",
                      "updated_at": "2026-11-22T10:00:01Z", "kwargs": {"resumable": true}});
    match seen.path.as_str() {
        "/info" => json(200, r#"{"langgraph_py_version":"1.0.0"}"#),
        "/v2/deployments" => json(
            200,
            escaped(&value!({"resources": rows, "offset": 9}).to_string()),
        ),
        "/v2/deployments/d0" => json(200, escaped(&rows[0].to_string())),
        path if path.ends_with("/revisions") => json(200, r#"{"resources":[]}"#),
        "/threads/search" => json(200, value!([thread])),
        path => match path
            .strip_prefix("/threads/")
            .and_then(|path| path.strip_prefix(THREAD))
        {
            Some("") => json(200, thread),
            Some("/state") => json(200, escaped(&state.to_string())),
            Some("/runs") => json(200, value!([run])),
            Some(path) if path.ends_with("/stream") && path.contains(RUN) => {
                response(200, "text/event-stream", events())
            }
            Some(path) if path.ends_with(RUN) => json(200, run),
            _ => json(404, r#"{"detail":"Not Found"}"#),
        },
    }
}

/// Creates a configuration whose profile has the key.
fn configured(folder: &Path, server: &Server) -> String {
    let key = folder.join("key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let file = folder.join("config.toml");
    let url = server.url.as_str().trim_end_matches('/');
    let text = format!(
        "[profiles.p]\ncontrol_plane = \"{url}\"\nagent_server = \"{url}\"\napi_key_file = \"{}\"\n",
        key.display()
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_print_no_key_in_any_encoding() {
    let server = Server::start(act).await;
    let folder = tempfile::tempdir().unwrap();
    let config = configured(folder.path(), &server);
    let commands: [&[&str]; 8] = [
        &["join", THREAD, RUN, "-o", "text"],
        &["threads", "state", THREAD, "-o", "json"],
        &["threads", "state", THREAD, "-o", "table"],
        &["threads", "list"],
        &["deployments", "list", "-o", "table"],
        &["deployments", "list", "-o", "json"],
        &["deployments", "get", "d0", "-o", "json"],
        &["deployments", "list", "-o", "jsonl"],
    ];
    let mut masked = 0;
    for command in commands {
        let args: Vec<String> = ["--config", &config]
            .iter()
            .chain(command)
            .map(ToString::to_string)
            .collect();
        let done = tokio::task::spawn_blocking(move || process::run(args))
            .await
            .unwrap();
        let said = format!("{}{}", done.stdout, done.stderr);
        assert_no_key(&said, &command.join(" "));
        masked += said.matches("***").count();
    }
    assert!(
        masked > 30,
        "too few commands printed a masked key: {masked}"
    );
    // Each event separately: single letters that remain of an event reveal nothing.
    let args: Vec<String> = ["--config", &config, "join", THREAD, RUN, "-o", "jsonl"]
        .map(String::from)
        .to_vec();
    let done = tokio::task::spawn_blocking(move || process::run(args))
        .await
        .unwrap();
    for line in done.stdout.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        assert_no_key(line, "join -o jsonl");
    }
    assert_eq!(
        done.stdout
            .lines()
            .filter(|line| line.contains("\"event\":\"custom\""))
            .count(),
        spellings().len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_shows_copies_and_exports_no_key_in_any_encoding() {
    let server = Server::start(act).await;
    let folder = tempfile::tempdir().unwrap();
    let config = configured(folder.path(), &server);
    let export = folder.path().join("said.md").display().to_string();
    tokio::task::spawn_blocking(move || {
        let mut term = Term::spawn(&["--config", &config], 140, 40);
        term.wait_for("Deployments");
        term.wait_for("***");
        assert_no_key(&term.screen(), "the deployments");
        term.keys(&format!(":{THREAD}\r"));
        term.wait_for("begin *** end");
        for (view, shown) in [("1", "begin ***"), ("6", "***"), ("3", "***")] {
            term.keys(view);
            term.wait_for(shown);
            assert_no_key(&term.screen(), &format!("view {view}"));
        }
        term.keys("1");
        term.wait_for("begin ***");
        term.keys("kkky");
        term.wait_until("a clipboard write", |term| {
            String::from_utf8_lossy(&term.raw_output()).contains("]52;c;")
        });
        term.keys(&format!(":export md {export}\r"));
        term.wait_for("said.md");
        term.wait_until("the file is written", |_| {
            std::fs::read_to_string(&export).is_ok_and(|text| text.contains("begin *** end"))
        });
        assert_no_key(&std::fs::read_to_string(&export).unwrap(), "the export");
        let raw = String::from_utf8_lossy(&term.raw_output()).into_owned();
        let copies: Vec<&str> = raw
            .split("\u{1b}]52;c;")
            .skip(1)
            .filter_map(|rest| rest.split('\u{7}').next())
            .collect();
        for copied in copies {
            let text = String::from_utf8(STANDARD.decode(copied).unwrap()).unwrap();
            assert_no_key(&text, "the clipboard");
        }
        term.keys("\x03");
        assert_eq!(term.exit_status().exit_code(), 0);
    })
    .await
    .unwrap();
}
