//! How `revisions wait` ends before the revision does: at its deadline, by a signal, or when its output is closed.

use runtail_testkit::process::{Args, command, run, spawn};
use runtail_testkit::scripted::{Reply, Scripted, config, refuse, status};
use runtail_testkit::wait::{kinds, results, wait};
use serde_json::json;
use std::io::BufRead;

#[test]
fn wait_table_shows_a_missing_status() {
    for odd in [json!(null), json!(""), json!(" ")] {
        let server = Scripted::control_plane(&[("bot", &[Reply::Status(odd)])]);
        let done = wait(&[("one", &server)], "bot --timeout 300ms -o table").expect(4);
        let row = done.stdout.lines().nth(1).expect("a row");
        assert!(
            row.starts_with("one      bot         r-bot     deadline  no status  "),
            "{}",
            done.stdout
        );
        assert!(
            done.stderr
                .ends_with("r-bot: the deadline was reached before it had any status\n"),
            "{}",
            done.stderr
        );
    }
}

#[test]
fn wait_deadline_without_any_response() {
    let server = Scripted::control_plane(&[("bot", &[refuse(503)])]);
    let done = wait(&[("one", &server)], "bot --timeout 300ms").expect(4);
    let rows = done.json_lines();
    assert_eq!(kinds(&rows), "trouble result");
    assert_eq!(
        (&rows[1]["revision_id"], &rows[1]["status"], &rows[1]["id"]),
        (&json!("r-bot"), &json!(null), &json!(null))
    );
    let why = "the deadline was reached before it had any status; last error: status 503 (503)";
    assert_eq!(rows[1]["error"], why);
    // Nothing listens on the port.
    let (_folder, path) = config(&[]);
    std::fs::write(
        &path,
        "[profiles.gone]\nurl = \"http://127.0.0.1:1\"\napi_key_command = [\"printf\", \"k\"]\n",
    )
    .expect("written");
    let args =
        format!("--config {path} revisions wait bot --interval 100ms --timeout 300ms").words();
    let done = run(args).expect(4);
    done.says("bot: connection refused; retrying");
    assert_eq!(
        done.json_lines().last().expect("a result")["deployment"],
        "bot"
    );
}

#[test]
fn wait_deadline_ends_pending_requests_and_commands() {
    let timeout = "bot --timeout 1s";
    // One request after the other never gets a response: the list, the record, the revision, and those for the failure card.
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), Reply::Hang])]);
    let done = wait(&[("one", &server)], timeout).expect(4);
    assert!(
        done.stderr
            .ends_with("one/bot r-bot: the deadline was reached at BUILDING\n"),
        "{}",
        done.stderr
    );
    server.reply(
        "/bot/revisions/r-bot",
        &[status("BUILDING"), Reply::Status(json!(null))],
    );
    server.reply("/bot", &[Reply::Hang]);
    wait(&[("one", &server)], timeout)
        .expect(4)
        .says("r-bot: the deadline was reached");
    server.reply("/bot/revisions/r-bot", &[status("BUILD_FAILED")]);
    let done = wait(&[("one", &server)], timeout).expect(1);
    let said =
        "one/bot: no time left to read the cause; run: runtail revisions explain one/bot r-bot\n";
    done.says(said);
    server.reply("", &[Reply::Hang]);
    let done = wait(&[("one", &server)], timeout).expect(4);
    assert_eq!(
        done.stderr,
        "bot: the deadline was reached before it had any status\n"
    );
    // A key command that never ends.
    let (_folder, path) = config(&[]);
    let text = format!(
        "[profiles.one]\nurl = \"{}\"\napi_key_command = [\"sleep\", \"5\"]\n",
        server.url()
    );
    std::fs::write(&path, text).expect("written");
    let done = run(format!("--config {path} revisions wait bot --timeout 100ms").words()).expect(4);
    assert_eq!(
        done.stderr,
        "bot: the deadline was reached before it had any status\n"
    );
}

#[test]
fn wait_ends_when_retry_after_is_past_the_deadline() {
    let busy = Reply::Http(429, "3600", json!({"detail": "slow down"}).to_string());
    let server = Scripted::control_plane(&[(
        "bot",
        &[status("BUILDING"), busy.clone(), status("DEPLOYED")],
    )]);
    let done = wait(&[("one", &server)], "bot").expect(4);
    let rows = done.json_lines();
    assert_eq!(kinds(&rows), "status trouble result");
    assert_eq!(
        (&rows[1]["retry_after_seconds"], &rows[2]["outcome"]),
        (&json!(3600.0), &json!("deadline"))
    );
    let said = "\
one/bot r-bot: BUILDING
one/bot r-bot: slow down (429); the server asked to wait 1h00m
one/bot r-bot: the server asked to wait 1h00m, which is past the deadline; the wait ends at BUILDING
";
    assert_eq!(done.stderr, said);
    // If only the check for a newer revision is rate-limited, the wait continues.
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), status("DEPLOYED")])]);
    server.reply("/bot", &[busy]);
    wait(&[("one", &server)], "bot").expect(0);
    // A short delay is respected and reported.
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING"), status("DEPLOYED")])]);
    server.reply(
        "/bot",
        &[Reply::Http(
            429,
            "1",
            json!({"detail": "slow down"}).to_string(),
        )],
    );
    wait(&[("one", &server)], "bot")
        .expect(0)
        .says("asked to wait 1s; retrying then\n");
}

#[test]
fn wait_reports_a_status_that_disappeared() {
    let replies = [status("BUILDING"), Reply::Status(json!(null))];
    let server = Scripted::control_plane(&[("bot", &replies)]);
    wait(&[("one", &server)], "bot --timeout 1s")
        .expect(4)
        .says("deadline was reached without a status; the last was BUILDING\n");
    let server = Scripted::control_plane(&[("bot", &[Reply::Status(json!(null)), refuse(401)])]);
    let done = wait(&[("one", &server)], "bot").expect(3);
    assert!(!done.stderr.contains("the last status"), "{}", done.stderr);
}

#[test]
fn signals_end_wait_with_results_and_a_summary() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("summary.md");
        let server = Scripted::control_plane(&[
            ("bot", &[status("BUILDING")]),
            ("done", &[status("DEPLOYED")]),
        ]);
        let (_folder, config) = config(&[("one", &server)]);
        let summary = file.to_string_lossy();
        let mut running = spawn(format!(
            "--config '{config}' revisions wait bot done --interval 60s --summary-file '{summary}'"
        ).words());
        let (mut building, mut deployed) = (false, false);
        running.line_where("both told", |line| {
            building |= line.contains("\"BUILDING\"");
            deployed |= line.contains("\"outcome\":\"deployed\"");
            building && deployed
        });
        running.signal(signal);
        let done = running.wait().expect(code);
        let rows = done.json_lines();
        let result = results(&rows)
            .into_iter()
            .find(|r| r["deployment"] == "bot")
            .expect("a result")
            .clone();
        assert_eq!(
            (&result["outcome"], &result["exit"], &result["status"]),
            (&json!("stopped"), &json!(code), &json!("BUILDING"))
        );
        done.says("one/bot r-bot: the wait was stopped at BUILDING");
        let text = std::fs::read_to_string(&file).expect("a summary");
        assert!(
            text.contains("| ❌ | one/bot | `r-bot` | stopped | `BUILDING` |")
                && text.contains("1 of 2 deployed"),
            "{text}"
        );
    }
}

#[test]
fn a_pipe_closed_during_wait_ends_it_quietly() {
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING")])]);
    let (_folder, config) = config(&[("one", &server)]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let args =
        format!("--config '{config}' revisions wait bot --interval 60s --timeout 80s -o jsonl")
            .words();
    let child = command(args)
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    std::io::BufReader::new(reader)
        .read_line(&mut line)
        .expect("a line");
    assert!(line.contains("BUILDING"), "{line}");
    // The reader is gone, and no status change causes another write.
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "one/bot r-bot: BUILDING\n"
    );
}

#[test]
fn wait_with_a_closed_pipe_fails() {
    let server = Scripted::control_plane(&[("bot", &[status("BUILDING")])]);
    let (_folder, config) = config(&[("one", &server)]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let args = format!("--config '{config}' revisions wait bot --interval 60s -o jsonl").words();
    let output = command(args).stdout(writer).output().expect("it runs");
    assert_eq!(
        output.status.code(),
        Some(1),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
