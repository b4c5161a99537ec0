//! `redact` as a user runs it: a recording full of keys goes in, and no part of them comes out. One test checks the result with
//! an independent scanner.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use runtail_testkit::fake_keys::Keys;
use runtail_testkit::process::Args;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

/// Runs the binary with a configuration of one profile that has this key.
fn runtail(folder: &Path, key: &str, args: impl Args) -> Output {
    let config = folder.join("config.toml");
    std::fs::write(
        &config,
        "[profiles.p]\nagent_server = \"http://127.0.0.1:1\"\napi_key_env = \"TEST_KEY\"\n",
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_runtail"));
    command
        .env_clear()
        .env("HOME", folder)
        .env("TEST_KEY", key)
        .current_dir(folder);
    command
        .args(["--config", config.to_str().unwrap()])
        .args(args.words())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Writes a recording of these events (name and data).
fn recording(events: &[(&str, Value)]) -> String {
    let at = "2026-11-21T02:00:00.000000Z";
    let head = json!({"kind": "tape", "version": 1, "at": at, "server": "http://127.0.0.1:1", "thread_id": "t-1", "run_id": "r-1", "modes": []});
    let open = json!({"kind": "open", "at": at, "conn": 1, "status": 200, "resumed_after": null});
    let event = |(n, (name, data)): (usize, &(&str, Value))| json!({"kind": "event", "seq": n + 1, "at": at, "conn": 1, "event": name, "ns": [], "id": null, "data": data});
    let end = json!({"kind": "end", "at": at, "outcome": "success", "events": events.len(), "bytes": 0, "connections": 1,
        "duplicates": 0, "gaps": 0, "malformed": 0});
    let lines = [head, open]
        .into_iter()
        .chain(events.iter().enumerate().map(event))
        .chain([end]);
    lines.map(|line| line.to_string() + "\n").collect()
}

/// A text as the tokens of a message.
fn tokens<'n>(id: &str, text: &str, size: usize) -> Vec<(&'n str, Value)> {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters
        .chunks(size)
        .map(|piece| piece.iter().collect::<String>());
    let event = |piece: String| json!([{"type": "AIMessageChunk", "id": id, "content": piece, "tool_call_chunks": []}, {"langgraph_node": "chat"}]);
    pieces.map(|piece| ("messages", event(piece))).collect()
}

/// The text of each message of a recording, joined.
fn joined(recording: &str) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for line in recording.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let message = &record["data"][0];
        if let (Some(id), Some(content)) = (message["id"].as_str(), message["content"].as_str()) {
            texts.entry(id.into()).or_default().push_str(content);
        }
    }
    texts
}

/// Keys of all kinds (as plain text, in JSON in JSON, as fields, as tokens) and their secret parts.
fn full_of_keys() -> (Vec<(&'static str, Value)>, Vec<String>) {
    let (mut keys, mut events, mut secrets) = (Keys::new(11), Vec::new(), Vec::new());
    let mut all = keys.all();
    let pem = keys.private_key();
    all.push(("private key", String::new(), pem));
    for (n, (kind, prefix, secret)) in all.into_iter().enumerate() {
        let key = format!("{prefix}{secret}");
        let inner = json!({"text": format!("line one\n{key}\nline three")}).to_string();
        events.push((
            "values",
            json!({"kind": kind, "note": format!("see {key} here")}),
        ));
        events.push((
            "updates",
            json!({"tool": {"args": inner, "again": json!([inner]).to_string()}}),
        ));
        events.extend(tokens(
            &format!("m-{n}"),
            &format!("here is\n{key}\nfor you"),
            1 + n % 3,
        ));
        secrets.push(secret[..secret.find('@').unwrap_or(secret.len())].to_string());
    }
    for name in [
        "password",
        "apiKey",
        "OPENAI_API_KEY",
        "aws_secret_access_key",
        "client_secret",
        "X-Api-Key",
    ] {
        let secret = keys.letters(32);
        events.push((
            "custom",
            json!({"config": {name: secret}, "args": json!({name: secret}).to_string()}),
        ));
        events.push(("custom", json!(format!("{name}='{secret}'"))));
        events.extend(tokens(name, &json!({name: secret}).to_string(), 2));
        secrets.push(secret);
    }
    (events, secrets)
}

#[test]
fn redacted_recordings_contain_no_part_of_any_key() {
    let folder = tempfile::tempdir().unwrap();
    let (events, secrets) = full_of_keys();
    std::fs::write(folder.path().join("a.jsonl"), recording(&events)).unwrap();
    let ended = runtail(folder.path(), "", "redact a.jsonl");
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let left = std::fs::read_to_string(folder.path().join("a.redacted.jsonl")).unwrap();
    let all = left.clone() + &joined(&left).into_values().collect::<String>();
    for secret in &secrets {
        let run = (0..secret.len() - 7)
            .map(|at| &secret[at..at + 8])
            .find(|run| all.contains(run));
        assert_eq!(run, None, "of {secret}");
    }
    assert_eq!(left.lines().count(), events.len() + 3);
    assert!(
        joined(&left).values().all(|text| text.contains("***")),
        "{:?}",
        joined(&left)
    );
    let ended = runtail(folder.path(), "", "verify a.redacted.jsonl");
    assert!(
        ended.status.success() && text(&ended.stdout).contains("sound"),
        "{}",
        text(&ended.stderr)
    );
    // A second run removes nothing.
    let ended = runtail(folder.path(), "", "redact a.redacted.jsonl --dry-run");
    assert_eq!(text(&ended.stdout), "nothing to remove\n");
}

#[test]
fn redact_removes_configured_keys_in_any_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let key = Keys::new(12).letters(24);
    let hidden: String = key.chars().flat_map(|c| [c, '\u{200b}']).collect();
    let base64 = STANDARD.encode(format!("user:{key}"));
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut events: Vec<(&str, Value)> = [&key, &hidden, &base64, &hex, &key.to_uppercase()]
        .map(|spelled| ("values", json!({"a": spelled})))
        .into();
    events.extend(tokens("m-1", &format!("it is {key}, really"), 1));
    std::fs::write(folder.path().join("a.jsonl"), recording(&events)).unwrap();
    let preview = runtail(folder.path(), &key, "redact a.jsonl --dry-run");
    let preview = text(&preview.stdout);
    assert!(
        preview.contains("event 1  a  24 B  configured keys  …\n"),
        "{preview}"
    );
    assert!(
        preview.ends_with("6 places, 244 B: configured keys\n"),
        "{preview}"
    );
    let ended = runtail(folder.path(), &key, "redact a.jsonl --to b.jsonl");
    assert!(
        ended.status.success() && ended.stderr.is_empty(),
        "{}",
        text(&ended.stderr)
    );
    let left = std::fs::read_to_string(folder.path().join("b.jsonl")).unwrap();
    assert_eq!(
        left.lines()
            .filter(|line| line.contains("values") && line.contains("***"))
            .count(),
        5,
        "{left}"
    );
    assert_eq!(joined(&left)["m-1"], "it is ***, really");
    assert!(
        !left.contains(&base64[12..24]) && !left.contains(&hex[..16]),
        "{left}"
    );
    // Keys that can't be searched for are reported.
    let ended = runtail(folder.path(), "", "redact a.jsonl --to c.jsonl");
    let said = text(&ended.stderr);
    assert!(
        said.contains(
            "the key of profile p is not removed: the environment variable TEST_KEY is not set"
        ),
        "{said}"
    );
}

/// An agent ran `grep --color` on a file with keys.
#[test]
fn a_redacted_recording_shows_no_key_that_colors_divide() {
    let folder = tempfile::tempdir().unwrap();
    let secret = Keys::new(14).letters(48);
    let key = ["sk-", "proj-", &secret].concat();
    let colored = format!(
        "\u{1b}[01;31m\u{1b}[K{}\u{1b}[m\u{1b}[K{}\u{0}\u{202e}{}",
        &key[..8],
        &key[8..20],
        &key[20..]
    );
    let said = json!({"messages": [{"type": "tool", "id": "m", "tool_call_id": "c", "content": format!("A={colored} end")}]});
    let mut events = vec![("values", said), ("custom", json!({"out": colored}))];
    events.extend(tokens("m-1", &format!("it is {colored} end"), 1));
    std::fs::write(folder.path().join("a.jsonl"), recording(&events)).unwrap();
    assert!(
        runtail(folder.path(), "", "redact a.jsonl --to b.jsonl")
            .status
            .success()
    );
    for format in ["text", "jsonl", "json"] {
        let replayed = |name| {
            let ended = runtail(folder.path(), "", format!("replay {name} -o '{format}'"));
            text(&ended.stdout) + &text(&ended.stderr)
        };
        let shown = replayed("b.jsonl");
        let run = (0..secret.len() - 7)
            .map(|at| &secret[at..at + 8])
            .find(|run| shown.contains(run));
        assert_eq!(run, None, "{format}: {shown}");
    }
}

#[test]
fn an_input_without_records_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), "no recording\n").unwrap();
    let ended = runtail(folder.path(), "", "redact a.jsonl");
    assert!(
        !ended.status.success() && text(&ended.stderr).contains("not a recording"),
        "{}",
        text(&ended.stderr)
    );
    assert!(!folder.path().join("a.redacted.jsonl").exists());
}

#[test]
fn redact_reads_a_recording_from_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let secret = Keys::new(13).letters(20);
    let path = folder.path().join("a.jsonl");
    std::fs::write(
        &path,
        recording(&tokens("m-1", &format!("password={secret} x"), 3)),
    )
    .unwrap();
    let mut cat = Command::new("cat")
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_runtail"));
    command
        .env_clear()
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(cat.stdout.take().unwrap());
    let ended = command
        .args(["redact", "/dev/stdin", "--to", "b.jsonl"])
        .output()
        .unwrap();
    assert!(
        cat.wait().unwrap().success() && ended.status.success(),
        "{}",
        text(&ended.stderr)
    );
    let left = std::fs::read_to_string(folder.path().join("b.jsonl")).unwrap();
    assert_eq!(joined(&left)["m-1"], "password=*** x");
}

/// Runs detect-secrets on the files of a folder. Returns the kind of each finding.
fn scanned(folder: &Path) -> Vec<String> {
    let scanner = std::env::var_os("RUNTAIL_DETECT_SECRETS")
        .expect("tests/real/scanner sets RUNTAIL_DETECT_SECRETS");
    let mut command = Command::new(scanner);
    let output = command
        .current_dir(folder)
        .args(["scan", "--all-files", "--no-verify", "."])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let finds = report["results"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|finds| finds.as_array().unwrap().clone());
    finds
        .map(|find| {
            format!(
                "{} at {}:{}",
                find["type"].as_str().unwrap(),
                find["filename"],
                find["line_number"]
            )
        })
        .collect()
}

#[test]
#[ignore = "needs detect-secrets: tests/real/scanner -- cargo test --test cli redact -- --ignored"]
fn detect_secrets_finds_nothing_in_a_redacted_recording() {
    let folder = tempfile::tempdir().unwrap();
    let (events, _) = full_of_keys();
    std::fs::write(folder.path().join("a.jsonl"), recording(&events)).unwrap();
    assert!(
        runtail(folder.path(), "", "redact a.jsonl")
            .status
            .success()
    );
    let finds = ["a.jsonl", "a.redacted.jsonl"].map(|name| {
        let content = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let scanned_in = tempfile::tempdir().unwrap();
        // The hash of a line is random, which the scanner reports.
        let without_hash = |line: &str| match line.rfind(",\"hash\":\"") {
            Some(at) => line[..at].to_string() + "}\n",
            None => line.to_string() + "\n",
        };
        let lines: String = content.lines().map(without_hash).collect();
        std::fs::write(scanned_in.path().join("recording.jsonl"), lines).unwrap();
        let texts: String = joined(&content)
            .into_iter()
            .map(|(id, text)| format!("{id}\n{text}\n\n"))
            .collect();
        std::fs::write(scanned_in.path().join("joined.txt"), texts).unwrap();
        scanned(scanned_in.path())
    });
    let [original, redacted] = finds;
    let kinds: BTreeSet<&str> = original
        .iter()
        .filter_map(|find| find.split(" at ").next())
        .collect();
    for (kind, least) in [("joined.txt", 15), ("recording.jsonl", 20)] {
        let count = original.iter().filter(|find| find.contains(kind)).count();
        assert!(
            count >= least,
            "only {count} findings in {kind} of the original: {original:#?}"
        );
    }
    assert!(kinds.len() >= 12, "{kinds:?}");
    assert_eq!(redacted, Vec::<String>::new());
}
