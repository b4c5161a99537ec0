//! The binary against the real Python agent server, as a user or a script runs it.
//!
//! Ignored without that server: `tests/real/serve -- cargo test --test real -- --ignored`.

use runtail_testkit::process::{Args, Done, run, run_at, spawn};
use runtail_testkit::proxy::{Cut, How, Proxy, When};
use runtail_testkit::recording::Recording;
use runtail_testkit::server::{self, url};
use serde_json::{Value, json};

/// Runs the binary with `--url` of the real server.
#[track_caller]
fn runtail(args: impl Args) -> Done {
    run_at(&url(), args)
}

/// The parsed output of a stream command.
#[track_caller]
fn recording(args: &[&str], code: i32) -> Recording {
    let done = runtail(&[args, &["-o", "jsonl"]].concat()).expect(code);
    Recording::parse(&done.stdout)
}

/// Whether a line is an event of this name whose data has all these fields.
fn is_event(name: &'static str, fields: Value) -> impl Fn(&str) -> bool {
    move |line| {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        let fields = fields.as_object().expect("an object");
        record["event"] == name
            && fields
                .iter()
                .all(|(field, value)| record["data"][field] == *value)
    }
}

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";
const ASK: &str = r#"{"messages":[{"role":"user","content":"weather in Kraków?"}]}"#;
const ANSWER: &str = "In Kraków ☀ it is 21 °C, in 東京 it rains (1).";

// --- lists ---------------------------------------------------------------------------------------------------------

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn assistant_graphs_are_drawn() {
    let json = runtail("assistants graph agent -o json").expect(0).json();
    assert_eq!(json["nodes"].as_array().map(Vec::len), Some(4), "{json}");
    let mermaid = runtail("assistants graph agent -o mermaid")
        .expect(0)
        .stdout;
    assert!(
        mermaid.contains("chat") && mermaid.contains("tools") && mermaid.contains("--"),
        "{mermaid}"
    );
    let text = runtail("assistants graph agent -o text").expect(0).stdout;
    assert!(text.contains("chat") && text.contains("tools"), "{text}");
}

// --- one run ---------------------------------------------------------------------------------------------------------

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn run_streams_to_its_end() {
    let modes = [
        "--mode",
        "messages-tuple",
        "--mode",
        "updates",
        "--mode",
        "values",
    ];
    let recording = recording(&[&["run", "agent", "--input", ASK], &modes[..]].concat(), 0);
    assert_eq!(recording.outcome(), "success");
    assert_eq!(
        recording.head["modes"],
        json!(["messages-tuple", "updates", "values"])
    );
    assert_eq!(recording.end["connections"], 1);
    assert_eq!(recording.end["duplicates"], 0);
    assert!(
        recording.end["bytes"].as_u64() > Some(20_000),
        "{}",
        recording.end
    );
    assert_eq!(recording.opens[0]["status"], 200);
    assert_eq!(recording.opens[0]["resumed_after"], Value::Null);
    assert_eq!(
        recording.events[0]["event"], "metadata",
        "the first event of a run"
    );
    assert!(
        recording.events.iter().all(|event| event["id"].is_string()),
        "runs are started as resumable, so events have ids"
    );

    let messages = recording.messages();
    let kinds: Vec<_> = messages
        .iter()
        .map(|message| message.kind.as_str())
        .collect();
    assert_eq!(kinds, ["AIMessageChunk", "tool", "AIMessageChunk"]);
    assert_eq!(messages[0].text, "Let me look that up.");
    let (name, args) = &messages[0].calls[&0];
    assert_eq!(
        (name.as_str(), args.as_str()),
        ("weather", r#"{"city": "Kraków", "unit": "C"}"#)
    );
    assert_eq!(messages[1].text, "Kraków: 21 °C, sunny ☀");
    assert_eq!(messages[2].text, ANSWER);

    // The printed text equals the server's state.
    let last = recording.named("values").last().expect("values");
    let thread = server::get(&format!("/threads/{}", recording.thread()));
    assert_eq!(last["data"], thread["values"]);
    assert_eq!(recording.named("updates").count(), 3);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn stateless_runs_stream() {
    let recording = recording(
        &[
            "run",
            "agent",
            "--stateless",
            "--input",
            ASK,
            "--mode",
            "messages-tuple",
        ],
        0,
    );
    assert_eq!(
        recording
            .messages()
            .last()
            .map(|message| message.text.as_str()),
        Some(ANSWER)
    );
    assert_eq!(recording.end["gaps"], 0);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn an_interrupted_run_is_resumed() {
    let first = recording(
        &[
            "run",
            "approval",
            "--input",
            r#"{"amount":7}"#,
            "--mode",
            "updates",
            "--mode",
            "values",
        ],
        0,
    );
    assert_eq!(
        first.outcome(),
        "interrupted",
        "the run says success, the thread says interrupted"
    );
    let asked =
        first.named("updates").last().expect("updates")["data"]["__interrupt__"][0]["value"]
            .clone();
    assert_eq!(
        asked,
        json!({"question": "Send it — tak czy nie?", "amount": 7})
    );

    let thread = first.thread();
    assert_eq!(
        server::get(&format!("/threads/{thread}"))["status"],
        "interrupted"
    );
    let answer = r#"{"approved":true}"#;
    let second = recording(
        &[
            "run", "approval", "--thread", &thread, "--resume", answer, "--mode", "values",
        ],
        0,
    );
    assert_eq!(second.outcome(), "success");
    let last = second.named("values").last().expect("values")["data"].clone();
    assert_eq!(last["log"], json!(["drafted", "asked", "sent"]));
    assert_eq!(server::runs(&thread).len(), 2);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn an_interrupt_without_an_event_is_detected() {
    let recording = recording(&["run", "approval", "--input", "{}", "--mode", "custom"], 0);
    assert_eq!(recording.outcome(), "interrupted");
}

// --- what goes wrong -------------------------------------------------------------------------------------------------

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn a_failed_run_fails_the_command() {
    let done = runtail("run broken --input {} --mode updates -o jsonl").expect(1);
    let recording = Recording::parse(&done.stdout);
    assert_eq!(recording.outcome(), "error");
    let error = recording
        .named("error")
        .next()
        .expect("the error as the server sent it");
    assert_eq!(
        error["data"],
        json!({"error": "ValueError", "message": "boom: the node failed — détails"})
    );
    assert!(
        done.stderr.contains("boom: the node failed — détails"),
        "stderr says why: {:?}",
        done.stderr
    );

    // The server never replays the error event; a later join still reports the failure and its cause.
    let again = runtail(&["join", &recording.thread(), &recording.run(), "-o", "jsonl"]).expect(1);
    assert_eq!(Recording::parse(&again.stdout).outcome(), "error");
    again.says("boom: the node failed — détails");
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn unknown_threads_and_runs_fail_at_once() {
    let thread = server::new_thread();
    // The server answers 200 to both, then sends nothing, or an error inside the stream.
    for args in [
        ["tail", UNKNOWN_ID, "--since", "-"].as_slice(),
        &["join", UNKNOWN_ID, UNKNOWN_ID],
        &["join", &thread, UNKNOWN_ID],
    ] {
        let all = args
            .iter()
            .copied()
            .chain(["--url"])
            .map(str::to_owned)
            .chain([url()]);
        let done = spawn(all).wait().expect(1);
        assert!(
            done.stderr.to_lowercase().contains("not found"),
            "{args:?}: {done:?}"
        );
    }
}

// --- joining, leaving, cancelling ------------------------------------------------------------------------------------

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn silence_with_heartbeats_is_waited_out() {
    let recording = recording(
        &[
            "run",
            "slow",
            "--input",
            r#"{"seconds":12}"#,
            "--mode",
            "values",
        ],
        0,
    );
    assert_eq!(recording.outcome(), "success");
    assert_eq!(
        recording.end["connections"], 1,
        "at least two heartbeats were received"
    );
    assert_eq!(
        recording.named("values").last().expect("values")["data"]["done"],
        true
    );
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn join_reads_active_and_finished_runs() {
    let thread = server::new_thread();
    let input = json!({"seconds": 4, "every": 0.2});
    let run = server::start_run(&thread, "slow", &input, &["custom", "values"]);
    for when in ["while it runs", "when it is over"] {
        let recording = recording(&["join", &thread, &run], 0);
        assert_eq!(recording.outcome(), "success", "{when}");
        assert_eq!(
            (recording.thread(), recording.run()),
            (thread.clone(), run.clone()),
            "{when}"
        );
        let progress = recording.numbers("custom", "progress");
        assert!(progress.len() >= 19, "{when}: {progress:?}");
        assert!(
            progress.iter().copied().eq(0..progress.len() as u64),
            "{when}, all from the start: {progress:?}"
        );
        assert_eq!(
            recording.named("values").last().expect("values")["data"]["done"],
            true,
            "{when}"
        );
    }
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn disconnecting_does_not_stop_the_run() {
    let thread = server::new_thread();
    let input = r#"{"seconds":120,"every":0.3}"#;
    let args = [
        "run", "slow", "--thread", &thread, "--input", input, "--mode", "custom", "-o", "jsonl",
    ];
    let mut running = spawn(args.into_iter().chain(["--url", &url()]));
    running.line_where("a custom event", is_event("custom", json!({})));
    running.signal(libc::SIGINT);
    let done = running.wait().expect(130);
    let recording = Recording::parse(&done.stdout);
    assert_eq!(recording.outcome(), "detached");

    let run = recording.run();
    // It reports its progress for longer than a server needs to notice that its client is gone.
    let later = recording.numbers("custom", "progress").len() as u64 + 20;
    let mut joined = spawn(["join", &thread, &run, "-o", "jsonl", "--url", &url()]);
    joined.line_where(
        "later progress",
        is_event("custom", json!({"progress": later})),
    );
    assert_eq!(server::run_status(&thread, &run), "running", "it lives on");
    assert_eq!(server::runs(&thread).len(), 1);
    runtail(&["runs", "cancel", &thread, &run, "--yes", "--wait"]).expect(0);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn a_cancelled_run_ends_as_cancelled() {
    let thread = server::new_thread();
    let run = server::start_run(
        &thread,
        "slow",
        &json!({"seconds": 120, "every": 0.2}),
        &["custom"],
    );
    let mut joined = spawn(["join", &thread, &run, "-o", "jsonl", "--url", &url()]);
    joined.line_where("a custom event", is_event("custom", json!({})));
    runtail(format!("runs cancel {thread} {run} --yes")).expect(0);
    // The stream ends without an error or end event; only the status shows the cancellation.
    let done = joined.wait();
    assert_eq!(Recording::parse(&done.stdout).outcome(), "cancelled");
    assert_eq!(server::run_end(&thread, &run), "interrupted");
}

// --- exactly once ----------------------------------------------------------------------------------------------------

/// Starts a run over a connection with these cuts and checks the output: all events, once and in order, and only one start.
#[track_caller]
fn run_over(cuts: &[Cut], assistant: &str, input: &Value, mode: &str) -> Recording {
    let link = Proxy::to(server::address(), cuts.iter().copied());
    let thread = server::new_thread();
    let input = input.to_string();
    let args = [
        "run", assistant, "--thread", &thread, "--input", &input, "--mode", mode, "-o", "jsonl",
    ];
    let done = run(args.into_iter().chain(["--url", &link.url()])).expect(0);
    let recording = Recording::parse(&done.stdout);
    assert_eq!(recording.outcome(), "success", "{}", recording.end);
    assert_eq!(
        link.cuts_done(),
        cuts.len(),
        "every cut happened: {:?}",
        link.requests()
    );
    let answers = cuts
        .iter()
        .filter(|(when, _)| !matches!(when, When::Bytes(..400)))
        .count() as u64;
    assert!(
        recording.end["connections"].as_u64() > Some(answers),
        "{}",
        recording.end
    );
    assert_eq!(recording.end["gaps"], 0, "{:?}", recording.gaps);
    assert_eq!(
        server::runs(&thread).len(),
        1,
        "a request that starts a run is sent once: {:?}",
        link.requests()
    );
    recording
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn every_event_arrives_once_over_breaking_connections() {
    const N: u64 = 4000;
    let at = [
        700, 9_001, 20_077, 31_313, 1_234, 2_600, 77_777, 5_555, 640, 48_000,
    ];
    for how in [How::Close, How::Reset] {
        let cuts = at.map(|n| (When::Bytes(n), how));
        let input = json!({"n": N, "pad": 40, "burst": 40, "pause": 0.02});
        let recording = run_over(&cuts, "firehose", &input, "custom");
        let seen = recording.numbers("custom", "seq");
        let wrong = seen.iter().zip(0..).position(|(&seq, i)| seq != i);
        assert!(
            wrong.is_none() && seen.len() as u64 == N,
            "{} events, wrong from {wrong:?}: {}",
            seen.len(),
            recording.end
        );
        // Several events shared one id, which is the case in which resuming by id loses events.
        let ids: Vec<_> = recording
            .named("custom")
            .map(|event| event["id"].as_str())
            .collect();
        assert!(ids.windows(2).any(|pair| pair[0] == pair[1]), "ids repeat");
    }
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn a_silent_connection_is_replaced() {
    let cuts = [(When::Heartbeat, How::Stall)];
    let recording = run_over(
        &cuts,
        "slow",
        &json!({"seconds": 9, "every": 0.5}),
        "custom",
    );
    let progress = recording.numbers("custom", "progress");
    assert!(
        progress.len() >= 17 && progress.iter().copied().eq(0..progress.len() as u64),
        "{progress:?}"
    );
}

// --- lists and management, on every server -------------------------------------------------------------------------------

/// Runs the binary on one of the servers.
#[track_caller]
fn runtail_at(url: &str, args: &[&str]) -> Done {
    spawn(args.iter().copied().chain(["--url", url])).wait()
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn runs_list_newest_first_and_cancel_is_verified_on_every_server() {
    for url in server::all_urls() {
        let address = url.trim_start_matches("http://");
        let made = runtail_at(&url, &["threads", "create", "-o", "json"])
            .expect(0)
            .json();
        let thread = server::text(&made, "thread_id");
        let start = |seconds: f64| {
            let body = json!({"assistant_id": "slow", "input": {"seconds": seconds, "every": 0.2}, "multitask_strategy": "enqueue"});
            let (status, run) = server::request_at(
                address,
                "POST",
                &format!("/threads/{thread}/runs"),
                Some(&body),
            );
            assert!((200..300).contains(&status), "{url}: {status} {run}");
            server::text(&run, "run_id")
        };
        let runs: Vec<String> = (0..5)
            .map(|n| start(if n < 3 { 0.0 } else { 120.0 }))
            .collect();
        let newest: Vec<&str> = runs.iter().rev().map(String::as_str).collect();
        for (limit, offset) in [("3", 0), ("2", 2), ("50", 0)] {
            let skip = offset.to_string();
            let listed = runtail_at(
                &url,
                &["runs", "list", &thread, "--limit", limit, "--offset", &skip],
            )
            .expect(0);
            let ids: Vec<String> = listed
                .json_lines()
                .iter()
                .map(|row| server::text(row, "run_id"))
                .collect();
            let most: usize = limit.parse().unwrap();
            assert_eq!(
                ids,
                newest
                    .iter()
                    .skip(offset)
                    .take(most)
                    .copied()
                    .collect::<Vec<_>>(),
                "{url}"
            );
        }
        let cancel =
            |args: &[&str]| runtail_at(&url, &[&["runs", "cancel", &thread], args].concat());
        // The queued run first, then the running one: both are verified as stopped.
        let done = cancel(&[&runs[4], "--yes", "--wait"]).expect(0).json();
        assert_eq!(
            (&done["status"], &done["run_status"]),
            (&json!("stopped"), &json!("interrupted")),
            "{url}"
        );
        let done = cancel(&["--all", "--yes", "--wait"]).expect(0);
        let stopped: Vec<String> = done
            .json_lines()
            .iter()
            .map(|row| server::text(row, "run_id"))
            .collect();
        assert!(
            stopped.contains(&runs[3]) && !stopped.contains(&runs[4]),
            "{url}: {stopped:?}"
        );
        let over = cancel(&[&runs[3], "--yes"]).expect(0);
        over.says("had already ended (interrupted)");
        assert_eq!(over.json()["status"], "finished", "{url}");
        cancel(&["00000000-0000-4000-8000-000000000000", "--yes"]).expect(1);
        runtail_at(&url, &["threads", "delete", &thread]).expect(2);
        let done = runtail_at(&url, &["threads", "delete", &thread, "--yes"])
            .expect(0)
            .json();
        assert_eq!(done["status"], "deleted", "{url}");
    }
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real -- --ignored"]
fn lists_names_and_doctor_work_on_every_server() {
    for url in server::all_urls() {
        let rows = runtail_at(&url, &["assistants", "list", "--limit", "500"])
            .expect(0)
            .json_lines();
        assert!(rows.iter().any(|row| row["graph_id"] == "agent"), "{url}");
        runtail_at(&url, &["threads", "list", "--limit", "500"]).expect(0);
        let graph = runtail_at(&url, &["assistants", "graph", "agent", "-o", "text"])
            .expect(0)
            .stdout;
        assert!(
            graph.contains("chat") && graph.contains("tools"),
            "{url}: {graph}"
        );
        let checks = runtail_at(&url, &["doctor", "-o", "jsonl"])
            .expect(0)
            .json_lines();
        assert!(
            checks.iter().all(|check| check["state"] != "bad"),
            "{url}: {checks:?}"
        );
    }
}
