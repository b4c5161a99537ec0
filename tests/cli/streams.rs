//! The stream commands as other programs see them: stdout, stderr, exit codes, recordings and requests.

use crate::ended::{command, profile, runtail, with_agent, write_config};
use axum::body::Body;
use axum::response::Response;
use futures::StreamExt;
use runtail_testkit::common::{CANARY, Closed, Seen, Server, json};
use runtail_testkit::server::text;
use serde_json::{Value, json as value};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

const RUN: &str = "r-1";
/// Two events with the same id, a namespace, an unknown event name, and data that is not JSON.
const EVENTS: &str = "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\nid: 1-0\n\n\
                      : heartbeat\n\n\
                      event: values|sub:t1|inner:t2\ndata: {\"a\": [1.0,  \"é\"]}\nid: 2-0\n\n\
                      event: novel\ndata: null\nid: 2-0\n\n\
                      event: custom\ndata: not\u{1b}[31m json\n\n";

fn stream(body: impl Into<Body>) -> Response {
    let answer = Response::builder().header("content-type", "text/event-stream");
    answer
        .header("content-location", format!("/threads/t-1/runs/{RUN}"))
        .body(body.into())
        .unwrap()
}

/// Responds to the requests before and after a stream: assistants, a thread in this state, a run with this status.
fn common_response(seen: &Seen, run: &str, thread: &Value) -> Response {
    match (seen.method.as_str(), seen.path.as_str()) {
        (_, "/info") => json(200, r#"{"langgraph_py_version":"1.0.0"}"#),
        (_, "/assistants/search") => json(
            200,
            value!([{"assistant_id": "a-1", "graph_id": "agent", "name": "agent"},
                    {"assistant_id": "a-2", "graph_id": "agent", "name": "Ana's"}]),
        ),
        ("POST", "/threads") => json(200, value!({"thread_id": "t-1", "status": "idle"})),
        ("GET", "/threads/t-1") => json(200, thread),
        ("GET", "/threads/t-1/runs/r-1") => json(
            200,
            value!({"run_id": RUN, "thread_id": "t-1", "status": run}),
        ),
        _ => json(404, r#"{"detail":"it was not found"}"#),
    }
}

/// Starts a server whose run streams these events and ends with this status.
async fn server(events: &'static str, run: &'static str, thread: Value) -> Server {
    Server::start(move |seen| {
        if seen.path.ends_with("/stream") {
            stream(events)
        } else {
            common_response(seen, run, &thread)
        }
    })
    .await
}

fn idle() -> Value {
    value!({"thread_id": "t-1", "status": "idle"})
}

/// Removes the hashes of a recording, which leaves the lines as `-o jsonl` prints them.
fn without_hashes(lines: &str) -> String {
    let mut out = String::new();
    for line in lines.lines() {
        let (before, hash) = line
            .rsplit_once(",\"hash\":\"")
            .unwrap_or_else(|| panic!("no hash: {line}"));
        assert_eq!(hash.len(), 34, "{line}");
        out.push_str(before);
        out.push_str("}\n");
    }
    out
}

fn without_times(lines: &str) -> String {
    let mut out = String::new();
    for line in lines.lines() {
        let at = line
            .find("\"at\":\"")
            .unwrap_or_else(|| panic!("no time: {line}"))
            + 6;
        let time = &line[at..at + line[at..].find('"').unwrap()];
        assert!(
            time.len() == 27 && time.ends_with('Z') && time.parse::<jiff::Timestamp>().is_ok(),
            "{time}"
        );
        out.push_str(&line.replace(time, "T"));
        out.push('\n');
    }
    out
}

fn lines(url: &str, modes: &str) -> String {
    let url = url.trim_end_matches('/');
    let bytes = EVENTS.len();
    format!(
        r#"{{"kind":"tape","version":1,"at":"T","server":"{url}","thread_id":"t-1","run_id":"r-1","modes":[{modes}]}}
{{"kind":"open","at":"T","conn":1,"status":200,"resumed_after":null}}
{{"kind":"event","seq":1,"at":"T","conn":1,"event":"metadata","ns":[],"id":"1-0","data":{{"run_id":"r-1","attempt":1}}}}
{{"kind":"event","seq":2,"at":"T","conn":1,"event":"values","ns":["sub:t1","inner:t2"],"id":"2-0","data":{{"a": [1.0,  "é"]}}}}
{{"kind":"event","seq":3,"at":"T","conn":1,"event":"novel","ns":[],"id":"2-0","data":null}}
{{"kind":"event","seq":4,"at":"T","conn":1,"event":"custom","ns":[],"id":null,"malformed":true,"data":"not\u001b[31m json"}}
{{"kind":"close","at":"T","conn":1,"reason":"eof"}}
{{"kind":"end","at":"T","outcome":"success","events":4,"bytes":{bytes},"connections":1,"duplicates":0,"gaps":0,"malformed":1}}
"#
    )
}

#[tokio::test]
async fn jsonl_output_and_recordings_match_exactly() {
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    let file = folder.path().join("tape.jsonl");
    let record = file.to_str().unwrap();
    let ended = runtail(
        folder.path(),
        format!(r#"run agent --thread t-1 --input '{{"x": null}}' --record {record}"#),
    )
    .await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let modes = r#""messages-tuple","updates","values""#;
    assert_eq!(
        without_times(&without_hashes(&ended.out)),
        lines(server.url.as_str(), modes)
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), ended.out);

    let seen = server.seen();
    let start = seen
        .iter()
        .find(|s| s.path == "/threads/t-1/runs/stream")
        .unwrap();
    let body = start.json();
    assert_eq!(
        (&body["assistant_id"], &body["input"]),
        (&value!("agent"), &value!({"x": null}))
    );
    assert_eq!(
        (&body["stream_resumable"], &body["on_disconnect"]),
        (&value!(true), &value!("continue"))
    );
    assert_eq!(start.header("x-api-key"), Some(CANARY));

    // The existing file is not overwritten and no run is started.
    let before = server
        .seen()
        .iter()
        .filter(|s| s.path.ends_with("/stream"))
        .count();
    runtail(
        folder.path(),
        format!("run agent --input {{}} --record {record}"),
    )
    .await
    .expect(2)
    .says("already exists and was not changed");
    assert_eq!(
        server
            .seen()
            .iter()
            .filter(|s| s.path.ends_with("/stream"))
            .count(),
        before
    );

    let zipped = folder.path().join("tape.jsonl.gz");
    let args = [
        "join",
        "t-1",
        RUN,
        "-o",
        "jsonl",
        "--mode",
        "values,custom",
        "--record",
        zipped.to_str().unwrap(),
    ];
    let ended = runtail(folder.path(), &args).await.expect(0);
    let mut text = String::new();
    let bytes = std::fs::read(&zipped).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut text)
        .unwrap();
    assert_eq!(text, ended.out);
    let last = server
        .seen()
        .into_iter()
        .rfind(|s| s.path.ends_with("/stream"))
        .unwrap();
    assert_eq!(last.header("last-event-id"), Some("-1"));
    // Events that belong to no mode must be requested by name.
    assert_eq!(
        last.query,
        "stream_mode=%5B%22values%22%2C%22custom%22%2C%22metadata%22%2C%22error%22%5D"
    );
}

#[tokio::test]
async fn raw_output_is_exact_and_text_output_is_sanitized() {
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    let ended = runtail(folder.path(), format!("join t-1 {RUN} -o raw")).await;
    let expected =
        "{\"run_id\":\"r-1\",\"attempt\":1}\n{\"a\": [1.0,  \"é\"]}\nnull\nnot\u{1b}[31m json\n";
    assert_eq!(
        (ended.code, ended.out.as_str(), ended.err.as_str()),
        (0, expected, "")
    );
    let ended = runtail(folder.path(), format!("join t-1 {RUN} -o text")).await;
    let expected = "· run      r-1 started\n· novel    null\n· custom   not json\n· end      success, 4 events in ";
    assert!(
        ended.code == 0 && ended.out.starts_with(expected),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains('\u{1b}'));
    let ended = runtail(folder.path(), format!("join t-1 {RUN} -o text --ascii")).await;
    assert!(ended.out.is_ascii(), "{}", ended.out);
}

#[tokio::test]
async fn text_output_reads_like_a_conversation() {
    // History, an input, interleaved tokens of two nodes, a tool call, its result, and a state that repeats everything.
    let events = concat!(
        "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\n\n",
        "event: values\ndata: {\"messages\":[{\"type\":\"human\",\"content\":\"old\",\"id\":\"1\"},{\"type\":\"ai\",\"content\":\"older\",\"id\":\"2\"},{\"type\":\"human\",\"content\":\"Go\\nnow\",\"id\":\"3\"}]}\n\n",
        "event: messages\ndata: [{\"type\":\"AIMessageChunk\",\"content\":\"Hel\",\"id\":\"4\"},{\"langgraph_node\":\"a\"}]\n\n",
        "event: messages\ndata: [{\"type\":\"AIMessageChunk\",\"content\":\"lo\",\"id\":\"4\"},{\"langgraph_node\":\"a\"}]\n\n",
        "event: messages|sub:7\ndata: [{\"type\":\"AIMessageChunk\",\"content\":\"Hm\",\"id\":\"5\"},{\"langgraph_node\":\"b\"}]\n\n",
        "event: messages\ndata: [{\"type\":\"AIMessageChunk\",\"content\":\" you\",\"id\":\"4\",\"tool_call_chunks\":[{\"name\":\"get\",\"args\":\"{\\\"x\\\": 1}\",\"id\":\"c\",\"index\":0}],\"chunk_position\":\"last\"},{\"langgraph_node\":\"a\"}]\n\n",
        "event: messages\ndata: [{\"type\":\"tool\",\"content\":\"42\",\"name\":\"get\",\"tool_call_id\":\"c\",\"id\":\"6\"},{\"langgraph_node\":\"tools\"}]\n\n",
        "event: updates\ndata: {\"a\":{\"messages\":[{\"type\":\"ai\",\"content\":\"Hello you\",\"id\":\"4\"}],\"n\":3}}\n\n",
        "event: custom\ndata: {\"progress\": 1}\n\n",
        "event: error\ndata: {\"error\":\"E\",\"message\":\"no\"}\n\n",
    );
    let server = server(events, "error", idle()).await;
    let folder = with_agent(&server);
    let ended = runtail(folder.path(), format!("join t-1 {RUN} -o text")).await;
    let expected = "· run      r-1 started\n\
                    · thread   2 earlier messages\n\
                    human\n  Go\n  now\n\
                    ai · a\n  Hello you\n  → get {\"x\": 1}\n\
                    ai · b · sub\n  Hm\n\
                    tool · get · tools\n  42\n\
                    · update   a  messages, n: 3\n\
                    · custom   {\"progress\": 1}\n\
                    · error    E: no\n\
                    · end      error, 10 events in ";
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (1, "runtail: the run failed: E: no\n")
    );
    assert!(ended.out.starts_with(expected), "{}", ended.out);
}

#[tokio::test]
async fn run_outcome_sets_the_exit_code() {
    let asks = value!({"thread_id": "t-1", "status": "interrupted", "interrupts": {"x": [{"id": "i", "value": "Go?"}]}});
    for (run, thread, outcome, code, says) in [
        ("success", idle(), "success", 0, ""),
        (
            "success",
            asks,
            "interrupted",
            0,
            "runtail: Waiting for input i: Go?\n  To answer, replacing ANSWER with JSON: runtail run ASSISTANT --thread t-1 \
             --resume '{\"i\": ANSWER}'\n",
        ),
        (
            "error",
            value!({"thread_id": "t-1", "status": "error", "error": "ValueError: boom"}),
            "error",
            1,
            "boom",
        ),
        ("timeout", idle(), "timeout", 1, "timed out"),
        ("interrupted", idle(), "cancelled", 1, "was cancelled"),
    ] {
        let server = server(EVENTS, run, thread).await;
        let folder = with_agent(&server);
        let ended = runtail(folder.path(), format!("join t-1 {RUN}"))
            .await
            .expect(code);
        ended.says(says);
        let end = ended.rows().pop().unwrap();
        assert_eq!(end["outcome"], outcome, "{run}");
    }
}

#[tokio::test]
async fn a_refused_run_creates_no_thread_or_recording() {
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    let writes = || {
        server
            .seen()
            .iter()
            .filter(|s| s.method == "POST" && s.path != "/assistants/search")
            .count()
    };
    let refused = [
        (
            "--input {bad",
            2,
            "--input is not JSON: key must be a string, at line 1 column 2\n  {bad\n   ^\n",
        ),
        (
            "--input @/nowhere/x.json",
            2,
            "--input: /nowhere/x.json: No such file",
        ),
        ("--input -", 2, "--input (stdin) is empty"),
        ("", 2, "--input"),
        ("--input {} --thread t-1 --stateless", 2, "--stateless"),
        ("--resume 1", 2, "--thread"),
        ("--input {} --thread t-9", 1, "not found"),
        ("--input {} --read-only", 3, "--read-only was given"),
        (
            "--input {} --record /nowhere/x",
            2,
            "--record: cannot write /nowhere/x: No such file",
        ),
    ];
    for (args, code, says) in refused {
        let ended = runtail(folder.path(), format!("run agent {args}")).await;
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (code, ""),
            "{args:?}: {}",
            ended.err
        );
        ended.says(says);
    }
    for name in ["nosuch", "00000000-0000-4000-8000-000000000000"] {
        runtail(folder.path(), format!("run {name} --input {{}}"))
            .await
            .expect(1)
            .says(name)
            .says("agent (Ana's)  a-2");
    }
    assert_eq!(writes(), 0);
    // The name of an assistant, which no graph has.
    runtail(
        folder.path(),
        &["run", "Ana's", "--input", "{}", "--stateless"],
    )
    .await
    .expect(0);
    let seen = server.seen();
    let start = seen.iter().find(|s| s.path == "/runs/stream").unwrap();
    assert_eq!(start.json()["assistant_id"], "a-2");
}

#[tokio::test]
async fn run_resume_answers_an_interrupt() {
    let asks = value!({"thread_id": "t-1", "status": "interrupted", "interrupts": {}});
    let server = server(EVENTS, "success", asks).await;
    let folder = with_agent(&server);
    let args = "run agent --thread t-1 --resume -5 --mode values --subgraphs";
    runtail(folder.path(), args).await.expect(0);
    let body = server
        .seen()
        .iter()
        .find(|s| s.path.ends_with("/runs/stream"))
        .unwrap()
        .json();
    assert_eq!(body["command"], value!({"resume": -5}));
    assert_eq!(
        (body.get("input"), &body["stream_mode"]),
        (None, &value!(["values"]))
    );
    assert_eq!(body["stream_subgraphs"], true);
}

#[tokio::test]
async fn stream_commands_report_refusals_and_unreachable_servers() {
    let forbidden = Server::start(|_| json(403, r#"{"detail":"no"}"#)).await;
    let folder = with_agent(&forbidden);
    for args in [
        "run agent --input {}".to_owned(),
        format!("join t-1 {RUN}"),
        "tail t-1".to_owned(),
    ] {
        runtail(folder.path(), &*args).await.expect(3);
    }
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    for args in ["join t-1 r-9", "tail t-9 --since -"] {
        runtail(folder.path(), args)
            .await
            .expect(1)
            .says("not found");
    }
    let closed = Closed::bind();
    runtail(
        folder.path(),
        &["join", "t-1", RUN, "--url", closed.url().as_str()],
    )
    .await
    .expect(5)
    .says("(attempt 1)")
    .says("connection refused");
}

/// Starts a server whose stream never ends.
async fn endless() -> Server {
    Server::start(|seen| {
        if !seen.path.ends_with("/stream") {
            return common_response(seen, "running", &idle());
        }
        let ticks = futures::stream::unfold(0u32, |n| async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((
                Ok::<_, std::io::Error>(format!("event: custom\ndata: {{\"n\":{n}}}\nid: {n}\n\n")),
                n + 1,
            ))
        });
        stream(Body::from_stream(ticks.boxed()))
    })
    .await
}

/// Fails the test if a child does not respond in time.
async fn with_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work)
        .await
        .expect("the child did not finish in time")
}

#[cfg(unix)]
fn send(child: &tokio::process::Child, signal: i32) {
    // SAFETY: kill touches no memory of ours, and the child has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id().unwrap() as i32, signal) }, 0);
}

/// `nohup` starts a command with SIGHUP ignored, so that it continues after its terminal is closed.
#[cfg(unix)]
#[tokio::test]
async fn an_ignored_sighup_stays_ignored() {
    let server = endless().await;
    let folder = with_agent(&server);
    let mut command = command(
        folder.path(),
        &["run", "agent", "--thread", "t-1", "--input", "{}"],
    );
    runtail_testkit::dispositions::nohup(command.as_std_mut());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    with_timeout(async {
        while !text.contains("\"n\":3") {
            assert!(out.read_line(&mut text).await.unwrap() > 0, "{text}");
        }
        send(&child, libc::SIGHUP);
        // Many more events than can have been in flight when the signal was sent.
        while !text.contains("\"n\":40,") && !text.contains("\"n\":40}") {
            assert!(out.read_line(&mut text).await.unwrap() > 0, "{text}");
        }
        send(&child, libc::SIGTERM);
        out.read_to_string(&mut text).await.unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(143));
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn signals_end_a_stream_with_an_end_record() {
    let server = endless().await;
    let folder = with_agent(&server);
    for (signal, code, args) in [
        (
            libc::SIGINT,
            130,
            &["tail", "t-1", "--mode", "state_update", "--since", "5"][..],
        ),
        (
            libc::SIGTERM,
            143,
            &["run", "agent", "--thread", "t-1", "--input", "{}"],
        ),
        (
            libc::SIGHUP,
            129,
            &["run", "agent", "--thread", "t-1", "--input", "{}"],
        ),
    ] {
        let file = folder.path().join(format!("{code}.jsonl"));
        let args = [args, &["--record", file.to_str().unwrap()]].concat();
        let mut child = command(folder.path(), &args).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        with_timeout(async {
            while !text.contains("\"n\":3") {
                assert!(out.read_line(&mut text).await.unwrap() > 0, "{text}");
            }
            // As a wrapper does that passes on what the terminal has already sent: it is one signal.
            send(&child, signal);
            send(&child, signal);
            out.read_to_string(&mut text).await.unwrap();
            assert_eq!(child.wait().await.unwrap().code(), Some(code));
        })
        .await;
        let end: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&end["kind"], &end["outcome"]),
            (&value!("end"), &value!("detached"))
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
    let seen = server.seen();
    assert!(!seen.iter().any(|s| s.path.contains("cancel")));
    let tail = seen
        .iter()
        .find(|s| s.path == "/threads/t-1/stream")
        .unwrap();
    assert_eq!(
        (tail.query.as_str(), tail.header("last-event-id")),
        ("stream_modes=state_update", Some("5"))
    );
}

#[tokio::test]
async fn a_closed_pipe_ends_the_stream_quietly() {
    let server = endless().await;
    let folder = with_agent(&server);
    let file = folder.path().join("tape.jsonl");
    for (format, record) in [
        ("jsonl", false),
        ("text", false),
        ("raw", false),
        ("jsonl", true),
    ] {
        let mut args = vec![
            "run", "agent", "--thread", "t-1", "--input", "{}", "-o", format,
        ];
        if record {
            args.extend(["--record", file.to_str().unwrap()]);
        }
        let mut child = command(folder.path(), &args).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut String::new()).await.unwrap();
        drop(out);
        let ended = tokio::time::timeout(Duration::from_secs(20), child.wait_with_output())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (ended.status.code(), ended.stderr.as_slice()),
            (Some(0), &b""[..]),
            "{format}"
        );
    }
    assert!(!server.seen().iter().any(|s| s.path.contains("cancel")));
    // Also while no events arrive.
    let silent = Server::start(|seen| match seen.path.ends_with("/stream") {
        true => stream(Body::from_stream(futures::stream::pending::<
            Result<String, std::io::Error>,
        >())),
        false => common_response(seen, "running", &idle()),
    })
    .await;
    let mut child = command(
        folder.path(),
        &["tail", "t-1", "--url", silent.url.as_str()],
    )
    .spawn()
    .unwrap();
    drop(child.stdout.take());
    let ended = tokio::time::timeout(Duration::from_secs(20), child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (ended.status.code(), ended.stderr.as_slice()),
        (Some(0), &b""[..])
    );
    // The recording still has its end.
    let recording = std::fs::read_to_string(&file).unwrap();
    assert!(
        recording
            .lines()
            .last()
            .unwrap()
            .contains("\"outcome\":\"detached\""),
        "{recording}"
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_failed_recording_does_not_end_the_stream() {
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    let ended = runtail(folder.path(), format!("join t-1 {RUN} --record /dev/full")).await;
    assert_eq!(
        (ended.code, ended.out.lines().count()),
        (0, 8),
        "{}",
        ended.err
    );
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(
        ended
            .err
            .starts_with("runtail: the recording /dev/full ends here; the stream continues: "),
        "{}",
        ended.err
    );
}

#[tokio::test]
async fn recordings_are_replayed_and_verified() {
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (plain, zipped) = (path("a.jsonl"), path("b.jsonl.gz"));
    let ended = runtail(folder.path(), format!("join t-1 {RUN} --record {plain}")).await;
    let again = runtail(folder.path(), format!("replay {plain} --record {zipped}")).await;
    assert_eq!(
        (again.code, again.out.as_str(), again.err.as_str()),
        (0, ended.out.as_str(), "")
    );
    for format in ["text", "raw", "jsonl"] {
        let live = runtail(folder.path(), format!("join t-1 {RUN} -o '{format}'"))
            .await
            .out;
        let again = runtail(
            folder.path(),
            format!("replay {zipped} -o '{format}' --speed 100"),
        )
        .await
        .out;
        // All but the duration.
        let told = |text: &str| {
            text.rsplit_once(" in ")
                .map_or(text, |(told, _)| told)
                .to_string()
        };
        let (live, again) = if format == "jsonl" {
            (without_times(&live), without_times(&again))
        } else {
            (live, again)
        };
        assert_eq!(told(&live), told(&again), "{format}");
    }
    for file in [&plain, &zipped] {
        let ended = runtail(folder.path(), format!("verify {file}")).await;
        let what = if file.ends_with(".gz") {
            "seal of the unpacked lines"
        } else {
            "seal"
        };
        let checked = "every line matches its hash; no seal given to compare";
        let expected = format!("{file}: sound; 4 events, 0 gaps, success; {checked}; {what} ");
        assert!(
            ended.code == 0 && ended.out.starts_with(&expected) && ended.err.is_empty(),
            "{}{}",
            ended.out,
            ended.err
        );
        let seal = ended.out.trim_end().rsplit_once(' ').unwrap().1;
        assert_eq!(
            runtail(folder.path(), format!("verify {file} --seal '{seal}'"))
                .await
                .code,
            0
        );
        runtail(folder.path(), &["verify", file, "--seal", &"0".repeat(32)])
            .await
            .expect(1)
            .says("seal mismatch");
    }
    let text = std::fs::read_to_string(&plain).unwrap();
    // A recording without hashes is checked for consistency only.
    let bare = without_hashes(&text);
    std::fs::write(path("bare.jsonl"), &bare).unwrap();
    let ended = runtail(folder.path(), &["verify", &path("bare.jsonl")]).await;
    assert!(
        ended.code == 0 && ended.out.contains("no hashes"),
        "{}{}",
        ended.out,
        ended.err
    );
    let line = |n: usize| text.lines().nth(n).unwrap();
    for (damaged, says) in [
        (
            text.replace("[1.0,", "[7.0,"),
            "line 4 does not match its hash",
        ),
        (
            bare.replace("\"seq\":3", "\"seq\":5"),
            "event 5 follows event 2",
        ),
        (
            text.replacen(line(4), without_hashes(line(4)).trim_end(), 1),
            "line 5 has no hash",
        ),
        (
            text.replace("\"seq\":3", "\"seq\":5"),
            "event 5 follows event 2",
        ),
        (
            text.replace("\"events\":4", "\"events\":9"),
            "the end record counts 9 events, but there are 4",
        ),
        (
            text.lines()
                .take(5)
                .map(|line| format!("{line}\n"))
                .collect(),
            "there is no end record",
        ),
        (
            text[..text.len() - 9].to_string(),
            "ends in the middle of a line",
        ),
        (
            text.replacen("\"kind\":\"tape\"", "\"kind\":\"novel\"", 1),
            "the head record is missing",
        ),
        (
            text.replacen("{\"kind\":\"open\"", "{{", 1),
            "line 2 is not a record",
        ),
        (text.replace('\n', "\r\n"), "the end of line 1 was changed"),
    ] {
        std::fs::write(path("c.jsonl"), damaged).unwrap();
        runtail(folder.path(), &["verify", &path("c.jsonl")])
            .await
            .expect(1)
            .says(says);
    }
    assert_eq!(runtail(folder.path(), "verify /nowhere/x").await.code, 1);
    // A truncated recording plays to its end and is reported as truncated.
    for (end, says) in [
        (text.len() - 9, "in the middle of a line"),
        (text.find("{\"kind\":\"end\"").unwrap(), "no end"),
    ] {
        std::fs::write(path("c.jsonl"), &text[..end]).unwrap();
        let ended = runtail(folder.path(), &["replay", &path("c.jsonl"), "-o", "jsonl"]).await;
        assert_eq!(
            (ended.code, ended.out.lines().count()),
            (0, 7),
            "{}",
            ended.err
        );
        ended.says(says);
    }
}

#[tokio::test]
async fn redact_previews_then_writes() {
    let secret = "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";
    let event = format!(
        "event: values\ndata: {{\"name\":\"Anna\",\"mail\":\"anna@x.org\",\"note\":\"{secret}\",\"n\":1.50}}\n\n"
    );
    let server = server(Box::leak(event.into_boxed_str()), "success", idle()).await;
    let folder = with_agent(&server);
    let file = folder
        .path()
        .join("a.jsonl.gz")
        .to_str()
        .unwrap()
        .to_string();
    assert_eq!(
        runtail(folder.path(), format!("join t-1 {RUN} --record {file}"))
            .await
            .code,
        0
    );
    let rules = format!(r#"redact {file} --path name --pattern \w+@\w+\.org"#);
    let ended = runtail(folder.path(), format!("{rules} --dry-run")).await;
    let expected = "event 1  name  6 B  path name  \"Anna\"\n\
                    event 1  mail  10 B  pattern \\w+@\\w+\\.org  anna@x.org\n\
                    event 1  note  51 B  LangSmith keys  …\n";
    assert!(
        ended.code == 0 && ended.out.starts_with(expected),
        "{}{}",
        ended.out,
        ended.err
    );
    let new = folder.path().join("a.redacted.jsonl.gz");
    assert!(!new.exists());
    let ended = runtail(folder.path(), &*rules).await.expect(0);
    let seal = ended.out.trim_end().rsplit_once("seal ").unwrap().1;
    let new = new.to_str().unwrap();
    assert_eq!(
        runtail(folder.path(), format!("verify {new} --seal '{seal}'"))
            .await
            .code,
        0
    );
    let left = runtail(folder.path(), format!("replay {new} -o raw"))
        .await
        .out;
    assert_eq!(
        left,
        "{\"name\":\"***\",\"mail\":\"***\",\"note\":\"***\",\"n\":1.50}\n"
    );
    // An existing file and an invalid rule are both refused.
    runtail(folder.path(), &*rules)
        .await
        .expect(2)
        .says("already exists");
    assert_eq!(
        runtail(folder.path(), format!("redact {file} --path a..b"))
            .await
            .code,
        2
    );
}

#[tokio::test]
async fn log_file_has_requests_and_no_secrets() {
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    let log = folder.path().join("log");
    let args = [
        "join",
        "t-1",
        RUN,
        "--mode",
        "values",
        "--log",
        log.to_str().unwrap(),
    ];
    assert_eq!(runtail(folder.path(), &args).await.code, 0);
    let text = std::fs::read_to_string(&log).unwrap();
    for part in [
        "path=/threads/t-1/runs/r-1/stream",
        "method=GET",
        "status=200",
        "stream: connecting",
        "stream: open",
        "stream: closed",
        "outcome=\"success\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for part in [
        "canary",
        "x-api-key",
        "stream_mode",
        "\u{1b}",
        "Some(",
        "None",
    ] {
        assert!(!text.contains(part), "{part}: {text}");
    }
    runtail(folder.path(), "config path --log /nowhere/log")
        .await
        .expect(2);
}

#[tokio::test]
async fn thread_states_runs_and_graphs_are_read() {
    let server = Server::start(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/threads/t-1/state") => json(200, r#"{"values":{"b":1,"a":2},"next":[]}"#),
        ("GET", "/threads/t-1/state/c7") => json(
            200,
            r#"{"values":{},"next":[],"created_at":"2026-11-23T09:00:00Z","metadata":{"step":7},"checkpoint":{"checkpoint_id":"c7"}}"#,
        ),
        ("GET", "/threads/t-1/history") => {
            // Three pages; the last one is short.
            let from = seen.query.split("before=c").nth(1).map_or(250, |n| n.parse::<usize>().unwrap());
            let limit: usize = seen.query.split('&').find_map(|p| p.strip_prefix("limit=")).unwrap().parse().unwrap();
            let state = |n: usize| value!({"checkpoint": {"checkpoint_id": format!("c{n}")}, "metadata": {"step": n}});
            json(200, Value::from((0..from).rev().take(limit).map(state).collect::<Vec<_>>()))
        }
        ("GET", "/threads/t-1/runs") => json(200, r#"[{"run_id":"r-1","status":"success","z":1,"a":null}]"#),
        ("GET", "/assistants/a-1/graph") => json(
            200,
            r#"{"nodes":[{"id":"__start__"},{"id":"chat"}],"edges":[{"source":"__start__","target":"chat"}]}"#,
        ),
        ("GET", "/threads/t-1") => json(200, r#"{"thread_id":"t-1","status":"idle"}"#),
        ("DELETE", "/threads/t-1") => json(204, ""),
        _ => common_response(seen, "success", &idle()),
    })
    .await;
    let folder = with_agent(&server);
    let out = async |args: &str| {
        let ended = runtail(folder.path(), args).await.expect(0);
        ended.out
    };
    assert_eq!(
        out("threads state t-1").await,
        "{\"values\":{\"b\":1,\"a\":2},\"next\":[]}\n"
    );
    assert_eq!(out("threads history t-1").await.lines().count(), 100);
    assert_eq!(
        out("threads history t-1 --limit 1000")
            .await
            .lines()
            .count(),
        250
    );
    let table = out("threads history t-1 --limit 1 --before c7 -o table").await;
    assert_eq!(
        table.lines().nth(1).unwrap().split_whitespace().next(),
        Some("c6"),
        "{table}"
    );
    assert_eq!(
        out("runs list t-1").await,
        "{\"run_id\":\"r-1\",\"status\":\"success\",\"z\":1,\"a\":null}\n"
    );
    assert!(
        out(&format!("runs get t-1 {RUN} -o table"))
            .await
            .contains("status     success")
    );
    assert_eq!(
        out("assistants graph agent -o text").await,
        "╭─ START\n╰► chat\n"
    );
    assert!(
        out("assistants graph agent -o mermaid")
            .await
            .starts_with("flowchart TD\n")
    );
    for args in ["threads delete t-1", &format!("runs cancel t-1 {RUN}")] {
        runtail(folder.path(), format!("{args} --read-only"))
            .await
            .expect(3);
    }
    assert!(
        server
            .seen()
            .iter()
            .all(|s| s.method == "GET" || s.path == "/assistants/search")
    );
    assert_eq!(
        out("threads delete t-1 --yes").await,
        "{\"thread_id\":\"t-1\",\"status\":\"deleted\"}\n"
    );
    assert!(server.seen().iter().any(|s| s.method == "DELETE"));
    assert!(out("man").await.contains(".TH runtail 1"));
}

/// Starts a server with one thread and these runs, which responds to cancel requests with this status. A run named `slow` stays
/// active for three reads after it was cancelled, and `never` stays active forever.
async fn cancelling(runs: &'static [(&'static str, &'static str)], answer: u16) -> Server {
    let statuses: Mutex<Vec<(String, String, usize)>> = Mutex::new(
        runs.iter()
            .map(|(id, status)| (id.to_string(), status.to_string(), 0))
            .collect(),
    );
    Server::start(move |seen| {
        let mut statuses = statuses.lock().unwrap();
        let row =
            |(id, status, _): &(String, String, usize)| value!({"run_id": id, "thread_id": "t-1", "status": status});
        let Some(rest) = seen.path.strip_prefix("/threads/t-1/runs") else {
            return json(404, r#"{"detail":"no route"}"#);
        };
        let parts: Vec<&str> = rest.trim_start_matches('/').split('/').collect();
        let found = statuses.iter_mut().find(|(id, ..)| id == parts[0]);
        match (seen.method.as_str(), parts.as_slice(), found) {
            ("GET", [""], _) => json(200, Value::from(statuses.iter().map(row).collect::<Vec<_>>())),
            ("GET", [_], Some(run)) => {
                match (run.0.as_str(), run.2) {
                    (_, 0) | ("never", _) => {}
                    ("slow", 1..4) => run.2 += 1,
                    ("won", _) => run.1 = "success".into(),
                    _ => run.1 = "interrupted".into(),
                }
                json(200, row(run))
            }
            ("POST", [_, "cancel"], Some(run)) if answer < 300 => {
                run.2 = 1;
                if seen.query.contains("action=rollback") {
                    let id = run.0.clone();
                    statuses.retain(|(other, ..)| *other != id);
                }
                json(answer, "")
            }
            ("POST", [_, "cancel"], Some(_)) => json(answer, r#"{"detail":"refused"}"#),
            _ => json(404, r#"{"detail":"Run not found"}"#),
        }
    })
    .await
}

#[tokio::test]
async fn runs_cancel_verifies_that_runs_stopped() {
    let runs = &[
        ("done", "success"),
        ("one", "running"),
        ("slow", "running"),
        ("never", "running"),
        ("won", "running"),
    ];
    let cancel = async |answer: u16, args: &str| {
        let server = cancelling(runs, answer).await;
        let folder = with_agent(&server);
        let ended = runtail(folder.path(), format!("runs cancel t-1 {args}")).await;
        let rows: Vec<Value> = ended.rows();
        let words = |row: &Value| {
            format!("{} {} {}", row["run_id"], row["status"], row["run_status"]).replace('"', "")
        };
        (
            ended.code,
            rows.iter().map(words).collect::<Vec<_>>(),
            ended.err,
            server.seen(),
        )
    };
    let sent = |seen: &[Seen]| seen.iter().filter(|s| s.method == "POST").count();
    for (answer, args, code, rows, says) in [
        (202, "one --yes", 0, "one stopped interrupted", ""),
        // A finished run is not reported as cancelled, and nothing is sent.
        (
            202,
            "done",
            0,
            "done finished success",
            "run done had already ended (success)",
        ),
        (
            202,
            "won --yes",
            0,
            "won finished success",
            "run won ended before it was cancelled (success)",
        ),
        (
            202,
            "slow --yes",
            0,
            "slow stopping running",
            "run slow is stopping",
        ),
        (202, "slow --yes --wait", 0, "slow stopped interrupted", ""),
        (
            202,
            "never one --yes --wait --timeout 100ms",
            4,
            "never stopping running\none stopped interrupted",
            "run never has not stopped after 0.1s",
        ),
        (
            202,
            "one --action rollback --yes",
            0,
            "one stopped deleted",
            "",
        ),
        (
            202,
            "none one --yes",
            1,
            "none not_found null\none stopped interrupted",
            "none of thread t-1 was not found",
        ),
        (
            503,
            "one --yes",
            5,
            "one unknown running",
            "it is unknown whether run one was cancelled: `runtail runs get t-1 one` shows its status",
        ),
        (202, "", 2, "", "required"),
        (202, "one --all", 2, "", "cannot be used with"),
        (202, "one --timeout 1s", 2, "", "--wait"),
    ] {
        let (got, printed, err, seen) = cancel(answer, args).await;
        assert_eq!(
            (got, printed.join("\n")),
            (code, rows.to_string()),
            "{args:?} {answer}: {err}"
        );
        assert!(
            err.contains(says) && (!says.is_empty() || err.is_empty()),
            "{args:?}: {err}"
        );
        if code == 2 || args == "done" {
            assert_eq!(sent(&seen), 0, "{args:?}");
        }
    }
    let (code, rows, _, seen) = cancel(202, "--all --yes --wait --timeout 100ms").await;
    assert_eq!(code, 4);
    assert_eq!(
        (rows.len(), sent(&seen)),
        (4, 4),
        "all active runs and no others: {rows:?}"
    );
    let server = cancelling(&[("done", "success")], 202).await;
    let ended = runtail(with_agent(&server).path(), "runs cancel t-1 --all -o json").await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "[]\n"));
    ended.says("no active runs; nothing was sent");
    // Names that a shell would change are quoted.
    let server = cancelling(&[("$one", "running")], 503).await;
    let folder = write_config(&profile("'$p'", "agent_server", &server.url));
    runtail(folder.path(), "-p $p runs cancel t-1 $one --yes")
        .await
        .expect(5)
        .says("`runtail -p '$p' runs get t-1 '$one'` shows");
}

#[tokio::test]
async fn threads_are_counted_copied_and_deleted() {
    let server = Server::start(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "/threads/count") if seen.body.contains("idle") => json(200, "7"),
        ("GET", "/threads/t-1") => json(200, r#"{"thread_id":"t-1"}"#),
        ("POST", "/threads/t-1/copy") => json(200, r#"{"thread_id":"t-2"}"#),
        ("DELETE", "/threads/t-1") => json(204, ""),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let folder = with_agent(&server);
    let run = async |args: &str| runtail(folder.path(), args).await;
    assert_eq!(
        run("threads count --status idle").await.out,
        "{\"count\":7}\n"
    );
    run("threads count")
        .await
        .expect(1)
        .says("counting threads: not offered by this server");
    assert_eq!(
        run("threads copy t-1").await.out,
        "{\"thread_id\":\"t-2\"}\n"
    );
    let ended = run("threads copy t-9").await;
    assert!(
        ended.code == 1 && !ended.err.contains("not offered"),
        "{}",
        ended.err
    );
    let ended = run("threads delete t-1 t-9").await;
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    ended.says("Delete 2 threads with all runs and checkpoints: not confirmed");
    assert!(server.seen().iter().all(|seen| seen.method != "DELETE"));
    let ended = run("threads delete t-9 t-1 --yes -o table").await;
    // This server may have no such call, or no such thread.
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(
        ended.code == 1 && lines[1].starts_with("t-9     refused  p: DELETE"),
        "{}",
        ended.out
    );
    assert!(
        lines[1].contains("no such call, or no such record")
            && lines[2].starts_with("t-1     deleted"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn tables_are_colored_on_request() {
    let rows =
        r#"[{"thread_id":"t-1","status":"interrupted"},{"thread_id":"t-2","status":"error"}]"#;
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/threads/search" => json(200, rows),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let folder = with_agent(&server);
    let list = async |more: &str| {
        runtail(folder.path(), format!("threads list {more}"))
            .await
            .out
    };
    let colored = list("-o table --color always").await;
    assert!(
        colored.starts_with("\u{1b}[2mTHREAD\u{1b}[0m  \u{1b}[2mSTATUS\u{1b}[0m"),
        "{colored:?}"
    );
    assert!(
        colored.contains("\u{1b}[1;33minterrupted\u{1b}[0m")
            && colored.contains("\u{1b}[1;31mfailed\u{1b}[0m")
    );
    for plain in [
        "-o table",
        "-o table --color never",
        "-o json --color always",
    ] {
        assert!(!list(plain).await.contains('\u{1b}'), "{plain:?}");
    }
}

#[tokio::test]
async fn a_gap_suggests_threads_state_once() {
    let server = Server::start(|seen| match seen.path.ends_with("/stream") {
        // Without ids, and cut in the middle of an event: the events in between are lost.
        true if seen.method == "POST" => stream("event: custom\ndata: 1\n\nevent: cus"),
        true => stream("event: custom\ndata: 2\n\n"),
        false => common_response(seen, "success", &idle()),
    })
    .await;
    let folder = with_agent(&server);
    let ended = runtail(folder.path(), "run agent --thread t-1 --input {}").await;
    assert_eq!(
        ended.err.matches("threads state t-1").count(),
        1,
        "{}",
        ended.err
    );
}

/// Starts a JavaScript server with a run that is not resumable, so each event goes to one reader.
async fn one_reader() -> Server {
    let body = "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\nid: 0\n\n\
                event: values\ndata: {}\nid: 1\n\nevent: updates\ndata: {\"a\":{\"n\":1}}\nid: 2\n\n";
    let read = std::sync::atomic::AtomicBool::new(false);
    Server::start(move |seen| match seen.path.as_str() {
        "/info" => json(200, r#"{"langgraph_js_version":"1"}"#),
        "/threads/t-1/runs/r-1/stream" => {
            read.store(true, Ordering::SeqCst);
            stream(body)
        }
        "/threads/t-1/runs/r-1" => {
            let status = if read.load(Ordering::SeqCst) {
                "success"
            } else {
                "running"
            };
            json(
                200,
                value!({"run_id": RUN, "status": status, "kwargs": {"resumable": false}}),
            )
        }
        _ => common_response(seen, "success", &idle()),
    })
    .await
}

#[tokio::test]
async fn join_refuses_single_reader_runs_without_shared() {
    let server = one_reader().await;
    let folder = with_agent(&server);
    runtail(folder.path(), format!("join t-1 {RUN}"))
        .await
        .expect(1)
        .says("takes events away from the application")
        .says("/threads/t-1/runs/r-1/stream")
        .says("--shared");
    assert!(
        !server
            .seen()
            .iter()
            .any(|seen| seen.path.ends_with("/stream"))
    );
    runtail(folder.path(), format!("join t-1 {RUN} --shared"))
        .await
        .expect(0);
}

#[tokio::test]
async fn unknown_stream_modes_are_refused_before_any_request() {
    let server = server(EVENTS, "success", idle()).await;
    let folder = with_agent(&server);
    for args in [
        &["run", "agent", "--input", "{}"][..],
        &["join", "t-1", RUN],
    ] {
        let ended = runtail(
            folder.path(),
            &[args, &["--mode", "values,nonsense"]].concat(),
        )
        .await;
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{}", ended.err);
        ended
            .says("nonsense")
            .says("messages-tuple, updates, values");
    }
    assert_eq!(server.seen().len(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn tail_follows_runs_without_a_thread_stream() {
    let body = "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\nid: 0\n\n\
                event: updates\ndata: {\"a\":{\"n\":1}}\nid: 1\n\n";
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/info" => json(200, r#"{"langgraph_js_version":"1"}"#),
        "/threads/t-1/stream" => json(404, "{}"),
        "/threads/t-1/runs/r-1/stream" => stream(body),
        "/threads/t-1/runs" => json(
            200,
            value!([{"run_id": RUN, "status": "success", "kwargs": {"resumable": true}}]),
        ),
        "/threads/t-1/runs/r-1" => json(
            200,
            value!({"run_id": RUN, "status": "success", "kwargs": {"resumable": true}}),
        ),
        _ => common_response(seen, "success", &idle()),
    })
    .await;
    let folder = with_agent(&server);
    let file = folder.path().join("tail.jsonl");
    for (format, shows) in [
        ("text", "update   a  n: 1"),
        ("jsonl", "\"event\":\"updates\""),
    ] {
        let _ = std::fs::remove_file(&file);
        let args = [
            "tail",
            "t-1",
            "--since",
            "-",
            "-o",
            format,
            "--record",
            file.to_str().unwrap(),
        ];
        let mut child = command(folder.path(), &args).spawn().unwrap();
        let (mut out, mut err) = (
            BufReader::new(child.stdout.take().unwrap()),
            child.stderr.take().unwrap(),
        );
        let (mut text, mut said) = (String::new(), String::new());
        with_timeout(async {
            while !text.contains(shows) {
                assert!(out.read_line(&mut text).await.unwrap() > 0, "{text}");
            }
            send(&child, libc::SIGINT);
            out.read_to_string(&mut text).await.unwrap();
            err.read_to_string(&mut said).await.unwrap();
            assert_eq!(child.wait().await.unwrap().code(), Some(130));
        })
        .await;
        assert_eq!(
            said,
            "runtail: this server has no thread streams; following the thread's runs\n"
        );
        assert_eq!(
            runtail(folder.path(), &["verify", file.to_str().unwrap()])
                .await
                .code,
            0
        );
        if format == "text" {
            assert!(text.contains("run      r-1 success"), "{text}");
        } else {
            assert!(
                text.contains(r#""kind":"run""#) && text.contains(r#""modes":["run_modes"]"#),
                "{text}"
            );
        }
    }
    runtail(folder.path(), "tail t-1 --since 17")
        .await
        .expect(1)
        .says("has no thread streams")
        .says("only `-` is possible");
}

/// Starts a server with this thread and state, whose runs end at once.
async fn with_thread(info: &'static str, thread: Value, state: Value) -> Server {
    Server::start(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        (_, "/info") => json(200, info),
        (_, "/threads/t-1/state") => json(200, &state),
        (_, "/assistants/a-1") => {
            json(200, value!({"assistant_id": "a-1", "graph_id": "agent", "metadata": {"created_by": "system"}}))
        }
        ("POST", "/threads/t-1/runs/stream") => stream(EVENTS),
        (_, "/threads/t-1/runs/r-1/stream") => stream(EVENTS),
        _ => common_response(seen, "success", &thread),
    })
    .await
}

const PYTHON: &str = r#"{"langgraph_py_version":"1"}"#;

#[tokio::test]
async fn each_question_is_shown_with_the_command_that_answers_it() {
    let question = |id: &str, text: &str| value!({"id": id, "value": {"question": text}});
    let task = |id: &str, question: Value| value!({"id": id, "name": "ask", "interrupts": [question], "result": null});
    let (left, right) = (question("aaaa", "Left?"), question("bbbb", "Right?"));
    let thread = value!({
        "thread_id": "t-1", "status": "interrupted", "metadata": {"assistant_id": "a-1", "graph_id": "agent"},
        "interrupts": {"1": [left], "2": [right]},
    });
    let tasks = value!([
        task("1", question("aaaa", "Left?")),
        task("2", question("bbbb", "Right?"))
    ]);
    let state = value!({"values": {}, "next": ["ask"], "tasks": tasks, "metadata": {"source": "loop"}, "checkpoint": {}});
    let server = with_thread(PYTHON, thread, state).await;
    let folder = with_agent(&server);
    let expected = "runtail: Waiting for input aaaa: {\"question\":\"Left?\"}\n\
                    runtail: Waiting for input bbbb: {\"question\":\"Right?\"}\n  \
                    To answer, replacing ANSWER with JSON: runtail run agent --thread t-1 --resume \
                    '{\"aaaa\": ANSWER, \"bbbb\": ANSWER}'\n";
    // The assistant of a joined run is that of the thread.
    for args in [
        format!("join t-1 {RUN}"),
        "run agent --thread t-1 --input {}".to_owned(),
    ] {
        let ended = runtail(folder.path(), &*args).await;
        assert_eq!((ended.code, ended.err.as_str()), (0, expected), "{args:?}");
        assert!(
            ended.out.contains(r#""outcome":"interrupted""#),
            "{}",
            ended.out
        );
    }
    // A breakpoint has no question to answer.
    let thread =
        value!({"thread_id": "t-1", "status": "interrupted", "metadata": {"assistant_id": "a-1"}});
    let state = value!({"values": {}, "next": ["send"], "tasks": [], "metadata": {"source": "loop"}, "checkpoint": {}});
    let server = with_thread(PYTHON, thread, state).await;
    let ended = runtail(with_agent(&server).path(), format!("join t-1 {RUN}")).await;
    let expected = "runtail: paused at a breakpoint before send\n  \
                    To continue: runtail run agent --thread t-1 --input null\n";
    assert_eq!((ended.code, ended.err.as_str()), (0, expected));
    // Aegra calls the thread idle and the run a success; only the state shows that it stopped.
    let thread = value!({"thread_id": "t-1", "status": "idle", "metadata": {"assistant_id": "a-1", "graph_id": "agent"}});
    let run =
        value!({"run_id": RUN, "thread_id": "t-1", "assistant_id": "a-1", "status": "success"});
    let task = value!({"id": "1", "name": "send", "error": null, "interrupts": [], "result": null});
    let state = value!({"values": {}, "next": ["send"], "tasks": [task], "interrupts": [],
        "metadata": {"source": "loop", "run_id": RUN}, "created_at": "2026-11-27T02:28:26Z", "checkpoint": {}});
    let server = Server::start(
        move |seen| match (seen.method.as_str(), seen.path.as_str()) {
            (_, "/info") => json(200, r#"{"name":"Aegra","version":"0.11.0"}"#),
            (_, "/threads/t-1/state") => json(200, &state),
            ("GET", "/threads/t-1/runs") => json(200, value!([run])),
            (_, "/threads/t-1/runs/r-1/stream") => stream(EVENTS),
            _ => common_response(seen, "success", &thread),
        },
    )
    .await;
    let ended = runtail(with_agent(&server).path(), format!("join t-1 {RUN}")).await;
    assert_eq!(
        (ended.code, ended.err),
        (0, expected.replace(" run agent ", " run a-1 "))
    );
}

#[tokio::test]
async fn an_answer_without_an_open_question_is_refused() {
    let nothing = || value!({"values": {}, "next": [], "tasks": [], "metadata": {"source": "loop"}, "checkpoint": {}});
    for (info, says) in [
        (PYTHON, "would run the graph as if it had no answer"),
        (
            r#"{"langgraph_js_version":"1"}"#,
            "would start a run that does nothing",
        ),
        (r#"{"name":"Aegra"}"#, "refuses such a run"),
    ] {
        let server = with_thread(info, idle(), nothing()).await;
        let folder = with_agent(&server);
        let ended = runtail(folder.path(), "run agent --thread t-1 --resume true").await;
        assert_eq!((ended.code, ended.out.as_str()), (1, ""), "{}", ended.err);
        ended
            .says("thread t-1 is not waiting for an answer")
            .says(says);
        assert!(
            !server
                .seen()
                .iter()
                .any(|seen| seen.path.ends_with("/runs/stream"))
        );
    }
    // A copied thread is idle; only its state has the question.
    let asks = value!({"id": "1", "name": "ask", "interrupts": [{"id": "aaaa", "value": "Go?"}], "result": null});
    let state = value!({"values": {}, "next": ["ask"], "tasks": [asks], "metadata": {"source": "loop"}, "checkpoint": {}});
    let server = with_thread(PYTHON, idle(), state).await;
    runtail(
        with_agent(&server).path(),
        "run agent --thread t-1 --resume true",
    )
    .await
    .expect(0);
    assert!(
        server
            .seen()
            .iter()
            .any(|seen| seen.path.ends_with("/runs/stream"))
    );
}

#[tokio::test]
async fn an_answer_that_another_run_overtook_is_no_success() {
    let asks = value!({"id": "1", "name": "ask", "interrupts": [{"id": "aaaa", "value": "Go?"}], "result": null});
    let state = value!({"values": {}, "next": ["ask"], "tasks": [asks], "metadata": {"source": "loop"}, "checkpoint": {}});
    let run = |id: &str, at: &str| value!({"run_id": id, "thread_id": "t-1", "status": "success", "created_at": at});
    for (other, code) in [("2026-11-28T10:00:01Z", 1), ("2026-11-28T10:00:03Z", 0)] {
        let (state, is_answered) = (state.clone(), AtomicBool::new(false));
        let asking = run("r-0", "2026-11-28T10:00:00Z");
        let (own, other) = (run(RUN, "2026-11-28T10:00:02Z"), run("r-2", other));
        let server = Server::start(
            move |seen| match (seen.method.as_str(), seen.path.as_str()) {
                (_, "/threads/t-1/state") => json(200, &state),
                ("GET", "/threads/t-1/runs") if is_answered.load(Ordering::Relaxed) => {
                    json(200, value!([own, other, asking]))
                }
                ("GET", "/threads/t-1/runs") => json(200, value!([asking])),
                ("POST", "/threads/t-1/runs/stream") => {
                    is_answered.store(true, Ordering::Relaxed);
                    stream(EVENTS)
                }
                _ => common_response(seen, "success", &idle()),
            },
        )
        .await;
        let args = "run agent --thread t-1 --resume true";
        let ended = runtail(with_agent(&server).path(), args).await.expect(code);
        let says = "run r-1 was started, but run r-2 was started before it";
        assert_eq!(ended.err.contains(says), code == 1, "{}", ended.err);
    }
}

/// Starts a server that offers only the contract's calls and sends no `Content-Location`.
async fn contract_only(events: &'static str) -> Server {
    Server::start(
        move |seen| match (seen.method.as_str(), seen.path.as_str()) {
            ("POST", "/threads") => json(200, value!({"thread_id": "t-1"})),
            ("POST", "/threads/t-1/runs/stream") => Response::builder()
                .header("content-type", "text/event-stream")
                .body(events.into())
                .unwrap(),
            _ => json(404, r#"{"detail":"Not Found"}"#),
        },
    )
    .await
}

#[tokio::test]
async fn contract_only_servers_get_outcomes_from_the_stream() {
    const BEGIN: &str = "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\n\n";
    for (more, outcome, code, says) in [
        ("event: values\ndata: {}\n\n", "success", 0, ""),
        (
            "event: error\ndata: {\"error\":\"E\",\"message\":\"boom\"}\n\n",
            "error",
            1,
            "the run failed: E: boom",
        ),
        (
            "event: updates\ndata: {\"__interrupt__\":[]}\n\n",
            "interrupted",
            0,
            "Waiting for input",
        ),
    ] {
        let server = contract_only(format!("{BEGIN}{more}").leak()).await;
        let folder = with_agent(&server);
        for args in ["run agent --input {}", "run agent --input {} --thread t-1"] {
            let ended = runtail(folder.path(), args).await.expect(code);
            assert!(
                ended.err.contains(says) && (!says.is_empty() || ended.err.is_empty()),
                "{}",
                ended.err
            );
            let end = ended.rows().pop().unwrap();
            assert_eq!(
                (&end["outcome"], &end["gaps"]),
                (&value!(outcome), &value!(0))
            );
        }
        // The answer is sent, because the server can't tell whether the thread is waiting.
        runtail(folder.path(), "run agent --resume 1 --thread t-1")
            .await
            .expect(code);
    }
    // Without any event the outcome is unknown.
    let server = contract_only("").await;
    let ended = runtail(with_agent(&server).path(), "run agent --input {}")
        .await
        .expect(1);
    assert!(
        ended.out.contains(r#""outcome":"unknown""#),
        "{}",
        ended.out
    );
}

#[tokio::test]
async fn an_unknown_outcome_after_a_gap_is_a_network_failure() {
    // The connection breaks in the middle of an event, and then the server no longer has the run.
    const CUT: &str =
        "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\n\nevent: values\ndata: {";
    let server = contract_only(CUT).await;
    let ended = runtail(with_agent(&server).path(), "run agent --input {}")
        .await
        .expect(5);
    assert!(
        ended.out.contains(r#""outcome":"unknown""#),
        "{}",
        ended.out
    );
}

#[tokio::test]
async fn text_output_orders_tool_calls_and_labels_each_message_once() {
    // As JavaScript sends it with subgraphs: a namespace for each node, and no sign that a message is complete.
    let events = concat!(
        "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\n\n",
        "event: messages|chat:1\ndata: [{\"type\":\"ai\",\"id\":\"1\",\"content\":\"\",\"tool_call_chunks\":[{\"index\":0,\"name\":\"get\",\"id\":\"c\",\"args\":\"{\\\"city\\\":\"}]},{\"langgraph_node\":\"chat\"}]\n\n",
        "event: messages|chat:1\ndata: [{\"type\":\"ai\",\"id\":\"1\",\"content\":\"\",\"tool_call_chunks\":[{\"index\":0,\"args\":\"\\\"Krak\\\\u00f3w\\\"}\"}]},{\"langgraph_node\":\"chat\"}]\n\n",
        "event: messages|sub:2|inner:3\ndata: [{\"type\":\"ai\",\"id\":\"2\",\"content\":\"Hi\",\"tool_call_chunks\":[]},{\"langgraph_node\":\"inner\"}]\n\n",
        "event: updates\ndata: {\"a\":{\"note\":{\"x\":\"caf\\u00e9\"}}}\n\n",
        "event: custom\ndata: {\"say\":\"\\u65e5\\u672c \\ud83d\\ude00\"}\n\n",
        "event: message\ndata: [\"updates\",{\"b\":{\"n\":1}}]\n\n",
        "event: message\ndata: [\"custom\",{\"n\":2}]\n\n",
    );
    let server = server(events, "success", idle()).await;
    let folder = with_agent(&server);
    let ended = runtail(folder.path(), format!("join t-1 {RUN} -o text")).await;
    let expected = "· run      r-1 started\n\
                    ai · chat\n  → get {\"city\":\"Kraków\"}\n\
                    ai · inner · sub\n  Hi\n\
                    · update   a  note: {\"x\":\"café\"}\n\
                    · custom   {\"say\":\"日本 😀\"}\n\
                    · update   b  n: 1\n\
                    · custom   {\"n\":2}\n\
                    · end      success, 8 events in ";
    assert!(ended.out.starts_with(expected), "{}", ended.out);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    // Filtered by the modes that the tuples name; the data stays as received.
    let ended = runtail(folder.path(), format!("join t-1 {RUN} --mode updates")).await;
    let events: Vec<Value> = ended.rows();
    let data: Vec<_> = events
        .iter()
        .filter(|line| line["kind"] == "event")
        .map(|line| line["data"].to_string())
        .collect();
    assert_eq!(data.len(), 3, "{data:?}");
    assert_eq!(data[2], r#"["updates",{"b":{"n":1}}]"#);
}

#[tokio::test]
async fn text_output_is_colored_on_request() {
    let events = "event: metadata\ndata: {\"run_id\":\"r-1\",\"attempt\":1}\n\n\
                  event: messages\ndata: [{\"type\":\"ai\",\"content\":\"Hi\",\"id\":\"1\"},{\"langgraph_node\":\"a\"}]\n\n\
                  event: updates\ndata: {\"a\":{\"n\":3}}\n\nevent: error\ndata: {\"error\":\"E\",\"message\":\"no\"}\n\n";
    let server = server(events, "error", idle()).await;
    let folder = with_agent(&server);
    let took = |text: &str| {
        text.rsplit_once(" in ")
            .map(|(before, _)| before.to_string())
            .unwrap_or_default()
    };
    let plain = runtail(folder.path(), format!("join t-1 {RUN} -o text"))
        .await
        .out;
    assert!(
        !plain.contains('\u{1b}'),
        "stdout is not a terminal: {plain}"
    );
    assert_eq!(
        took(
            &runtail(
                folder.path(),
                format!("join t-1 {RUN} -o text --color never")
            )
            .await
            .out
        ),
        took(&plain)
    );
    let colored = runtail(
        folder.path(),
        format!("join t-1 {RUN} -o text --color always"),
    )
    .await
    .out;
    for piece in [
        "\u{1b}[1mai · a\u{1b}[0m",
        "\u{1b}[2m· update\u{1b}[0m",
        "\u{1b}[1;31m· error    E: no\u{1b}[0m",
    ] {
        assert!(colored.contains(piece), "{piece:?}: {colored:?}");
    }
    let mut without = colored;
    for look in ["0", "1", "2", "1;31"] {
        without = without.replace(&format!("\u{1b}[{look}m"), "");
    }
    assert_eq!(took(&without), took(&plain));
    // Machine-readable output has no colors.
    let lines = runtail(
        folder.path(),
        format!("join t-1 {RUN} -o jsonl --color always"),
    )
    .await
    .out;
    assert!(!lines.contains('\u{1b}'));
}

/// A refused start deletes the thread that was created for it, so it must be that thread and no other.
#[tokio::test]
async fn an_unrequested_thread_is_neither_used_nor_deleted() {
    let other = "11111111-1111-4111-8111-111111111111";
    let server = Server::start(
        move |seen| match (seen.method.as_str(), seen.path.as_str()) {
            ("POST", "/threads") => json(200, value!({"thread_id": other})),
            ("POST", _) if seen.path.ends_with("/runs/stream") => json(409, r#"{"detail":"no"}"#),
            _ => common_response(seen, "success", &idle()),
        },
    )
    .await;
    let folder = with_agent(&server);
    for args in [
        "run agent --input {}".to_owned(),
        format!("threads create --id {RUN}"),
    ] {
        let before = server.seen().len();
        let ended = runtail(folder.path(), &*args).await.expect(1);
        let asked = server.seen()[before..]
            .iter()
            .find(|seen| seen.path == "/threads")
            .unwrap()
            .json();
        let asked = text(&asked, "thread_id");
        assert!(
            ended.err.contains(&asked) && ended.err.contains(other),
            "both are named: {}",
            ended.err
        );
    }
    let seen = server.seen();
    assert!(
        seen.iter()
            .all(|seen| seen.method != "DELETE" && !seen.path.ends_with("/runs/stream")),
        "{seen:?}"
    );
}
