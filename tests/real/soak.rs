//! Streams lose nothing: numbered events from the real Python agent server over a connection that breaks hundreds of times at
//! random bytes (`tests/support/src/flaky_proxy.rs`). All numbers must arrive once and in order: from the command line, from the
//! dashboard, and from a tail over several runs. The official Python SDK is measured for comparison, on the same run with the same
//! faults.
//!
//! Ignored without that server: `tests/real/serve -- cargo test --test real soak -- --ignored --nocapture`. The seed is printed;
//! `RUNTAIL_SOAK_SEED` repeats one. The figures in `docs/reliability.md` are from this output.

use runtail_testkit::flaky_proxy::{FaultPlan, FlakyProxy};
use runtail_testkit::process::{launch, run, spawn};
use runtail_testkit::proxy::{How, Proxy, When};
use runtail_testkit::recording::Recording;
use runtail_testkit::server;
use runtail_testkit::term::Term;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// More than the duration of any of these tests.
const TIMEOUT: Duration = Duration::from_secs(240);

fn seed(what: &str) -> u64 {
    let given = std::env::var("RUNTAIL_SOAK_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    println!("soak: {what}: RUNTAIL_SOAK_SEED={seed}");
    seed
}

fn fault_plan(seed: u64, cuts: usize) -> FaultPlan {
    FaultPlan {
        seed,
        cuts,
        max_bytes: 24_000,
        min_first: 0,
        clean_ends: true,
        others: true,
    }
}

/// Input of the graph `firehose` for this many numbered events, about a thousand per second.
fn firehose_input(n: u64) -> Value {
    json!({"n": n, "pad": 40, "burst": 20, "pause": 0.02})
}

/// Compares received numbers with `0..n`. Returns the counts of missing, repeated and out-of-order ones.
fn count_losses(seen: &[u64], n: u64) -> (usize, usize, usize) {
    let mut times = BTreeMap::new();
    seen.iter()
        .for_each(|seq| *times.entry(*seq).or_insert(0) += 1);
    let missing = (0..n).filter(|seq| !times.contains_key(seq)).count();
    let repeated = times.values().map(|times| times - 1).sum();
    let greatest = seen
        .iter()
        .scan(0, |top, seq| Some(std::mem::replace(top, (*top).max(*seq))));
    (
        missing,
        repeated,
        seen.iter()
            .zip(greatest)
            .filter(|(seq, top)| *seq < top)
            .count(),
    )
}

/// Checks that the numbers are complete, once and in order, and that the end record agrees with the lines before it.
#[track_caller]
fn assert_complete(recording: &Recording, expected: impl Iterator<Item = u64>, proxy: &FlakyProxy) {
    let seen = recording.numbers("custom", "seq");
    let expected: Vec<u64> = expected.collect();
    let wrong = seen.iter().zip(&expected).position(|(a, b)| a != b);
    let details = || {
        format!(
            "{:?}, {} {:?}",
            proxy.damage(),
            recording.end,
            recording.gaps
        )
    };
    assert!(
        seen == expected,
        "{} of {}, wrong from index {wrong:?}; {}",
        seen.len(),
        expected.len(),
        details()
    );
    assert_eq!(recording.end["gaps"], 0, "{}", details());
    assert_eq!(
        recording.end["connections"],
        recording.opens.len() as u64,
        "{}",
        details()
    );
    let connections: Vec<_> = recording.opens.iter().map(|open| &open["conn"]).collect();
    let closed: Vec<_> = recording
        .closes
        .iter()
        .map(|close| &close["conn"])
        .collect();
    // The last connection is dropped without waiting for its end.
    assert!(
        connections.starts_with(&closed) && closed.len() + 1 >= connections.len(),
        "{}",
        details()
    );
    let bytes: usize = recording
        .events
        .iter()
        .map(|event| event["data"].to_string().len())
        .sum();
    // A recording that is stopped counts the bytes of its events, a stream all that it received.
    let least = bytes as u64 + u64::from(recording.outcome() != "detached");
    assert!(
        recording.end["bytes"].as_u64() >= Some(least),
        "{}",
        details()
    );
}

fn report(what: &str, start: Instant, proxy: &FlakyProxy, recording: &Recording) {
    let seconds = start.elapsed().as_secs();
    println!(
        "soak: {what}: {} cuts in {seconds} s {:?}; end {}",
        proxy.cuts_done(),
        proxy.damage(),
        recording.end
    );
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real soak -- --ignored"]
fn run_over_hundreds_of_cuts_is_complete() {
    const N: u64 = 10_000;
    const CUTS: usize = 250;
    let (start, proxy) = (
        Instant::now(),
        FlakyProxy::to(server::address(), fault_plan(seed("run"), CUTS)),
    );
    let thread = server::new_thread();
    let input = json!({"n": N, "pad": 40, "burst": 20, "pause": 0.1}).to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("soak.jsonl");
    let path = file.to_str().expect("UTF-8");
    let url = proxy.url();
    let args = [
        "run", "firehose", "--thread", &thread, "--input", &input, "--mode", "custom", "-o",
        "jsonl",
    ];
    let done = spawn(args.into_iter().chain(["--record", path, "--url", &url]))
        .wait_for(TIMEOUT)
        .expect(0);
    let recording = Recording::parse(&done.stdout);
    assert_complete(&recording, 0..N, &proxy);
    assert_eq!(recording.outcome(), "success", "{}", recording.end);
    assert!(
        proxy.cuts_done() >= 200,
        "too few cuts to prove anything: {:?}",
        proxy.damage()
    );
    assert_eq!(
        server::runs(&thread).len(),
        1,
        "a request that starts a run is sent once"
    );
    // Several events shared one id, which is the case in which resuming by id loses events.
    let ids: Vec<_> = recording
        .named("custom")
        .map(|event| event["id"].as_str())
        .collect();
    assert!(ids.windows(2).any(|pair| pair[0] == pair[1]), "ids repeat");
    assert_eq!(
        std::fs::read_to_string(&file).expect("recorded"),
        done.stdout
    );
    run(["verify", path]).expect(0);
    report("run", start, &proxy, &recording);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real soak -- --ignored"]
fn tail_over_several_runs_is_complete() {
    const N: u64 = 1_500;
    const RUNS: usize = 4;
    // Each connection begins with three requests, any of which may be cut.
    const CUTS: usize = 60;
    let (start, proxy) = (
        Instant::now(),
        FlakyProxy::to(server::address(), fault_plan(seed("tail"), CUTS)),
    );
    let thread = server::new_thread();
    let mut runs = vec![server::start_run(
        &thread,
        "firehose",
        &firehose_input(N),
        &["custom"],
    )];
    let mut tail = spawn([
        "tail",
        &thread,
        "--since",
        "-",
        "-o",
        "jsonl",
        "--url",
        &proxy.url(),
    ]);
    // One after the other, and the last two at once, so that one is queued.
    while runs.len() < RUNS {
        if runs.len() + 1 < RUNS {
            let (run, until) = (runs.last().expect("one"), Instant::now() + TIMEOUT);
            while matches!(
                server::run_status(&thread, run).as_str(),
                "pending" | "running"
            ) {
                assert!(Instant::now() < until, "the run does not end");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        runs.push(server::start_run(
            &thread,
            "firehose",
            &firehose_input(N),
            &["custom"],
        ));
    }
    let last = json!({"run_id": runs[RUNS - 1], "status": "run_done"});
    tail.line_where("the last run's end", |line| {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        record["event"] == "metadata" && record["data"] == last
    });
    tail.signal(libc::SIGINT);
    let recording = Recording::parse(&tail.wait_for(TIMEOUT).expect(130).stdout);
    assert_complete(&recording, (0..RUNS).flat_map(|_| 0..N), &proxy);
    for run in &runs {
        let of_run = recording
            .named("metadata")
            .filter(|event| event["data"]["run_id"] == **run);
        let statuses: Vec<_> = of_run
            .map(|event| event["data"]["status"].clone())
            .collect();
        assert_eq!(
            statuses,
            [Value::Null, json!("run_done")],
            "start and end of each run"
        );
    }
    assert!(
        proxy.cuts_done() >= 20,
        "too few cuts to prove anything: {:?}",
        proxy.damage()
    );
    report("tail", start, &proxy, &recording);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real soak -- --ignored"]
fn dashboard_over_dozens_of_cuts_is_complete() {
    const N: u64 = 6_000;
    const CUTS: usize = 80;
    let (start, proxy) = (
        Instant::now(),
        FlakyProxy::to(server::address(), fault_plan(seed("dashboard"), CUTS)),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("soak.jsonl");
    let mut term = Term::spawn(&["--url", &proxy.url()], 140, 40);
    term.wait_for("   2 Assistants ");
    term.compose("firehose");
    let input = json!({"n": N, "pad": 40, "burst": 20, "pause": 0.1}).to_string();
    term.compose_json(&input);
    term.keys("\x13");
    let until = Instant::now() + TIMEOUT;
    while !term.screen().contains("● idle · last run finished ") {
        assert!(
            Instant::now() < until,
            "the run does not end; {:?}\n{}",
            proxy.damage(),
            term.screen()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    term.keys(&format!(":record {}\r", file.display()));
    term.wait_for("REC ");
    let last = format!(r#"{{"seq":{},"#, N - 1);
    term.wait_until("all events are recorded", |_| {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains(&last))
    });
    term.keys("6d");
    // A gap would have a row.
    term.wait_for("by id");
    let delivery = term.screen();
    assert!(!delivery.contains("may be missing"), "{delivery}");
    assert!(
        proxy.cuts_done() >= 50,
        "too few cuts to prove anything: {:?}",
        proxy.damage()
    );
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    // The screen must agree with the recording, which the end of the dashboard completes.
    let recording = Recording::parse(&std::fs::read_to_string(&file).expect("recorded"));
    assert_complete(&recording, 0..N, &proxy);
    report("dashboard", start, &proxy, &recording);
}

/// The Python program of the venv that `tests/real/serve` creates.
fn python() -> PathBuf {
    let official = std::env::var_os("RUNTAIL_LANGGRAPH")
        .expect("RUNTAIL_LANGGRAPH is set by tests/real/serve");
    PathBuf::from(official).with_file_name("python")
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real soak -- --ignored"]
fn join_and_the_official_sdk_over_the_same_cuts() {
    const N: u64 = 5_000;
    const CUTS: usize = 60;
    let seed = seed("SDK");
    // The SDK needs the head of the first response, retries no other request, and gives up if a response ends cleanly in the middle
    // of an event. These faults are left out, so that only its resuming is measured.
    let fault_plan = FaultPlan {
        min_first: 2_000,
        clean_ends: false,
        others: false,
        ..fault_plan(seed, CUTS)
    };
    let (theirs, ours) = (
        FlakyProxy::to(server::address(), fault_plan),
        FlakyProxy::to(server::address(), fault_plan),
    );
    let (start, thread) = (Instant::now(), server::new_thread());
    let mut official = Command::new(python());
    let input = json!({"n": N, "pad": 40, "burst": 20, "pause": 0.2}).to_string();
    official
        .arg("tests/real/sdk.py")
        .args([&theirs.url(), &thread, &input]);
    let official = launch(official, "");
    let until = Instant::now() + TIMEOUT;
    let id = loop {
        match server::runs(&thread).first() {
            Some(run) => break server::text(run, "run_id"),
            None => assert!(Instant::now() < until, "the SDK started no run"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let done = spawn(["join", &thread, &id, "-o", "jsonl", "--url", &ours.url()])
        .wait_for(TIMEOUT)
        .expect(0);
    let recording = Recording::parse(&done.stdout);
    let output = official.wait_for(TIMEOUT).expect(0);
    let output = output.json();
    let seen: Vec<u64> = serde_json::from_value(output["seen"].clone()).expect("numbers");
    let (missing, repeated, disordered) = count_losses(&seen, N);
    let gaps_in_seen = seen.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
    println!(
        "soak: official SDK {}: {} of {N} numbers over {} cuts {:?}: {missing} missing in {gaps_in_seen} gaps, {repeated} \
         repeated, {disordered} out of order; it raised {}",
        output["version"],
        seen.len(),
        theirs.cuts_done(),
        theirs.damage(),
        output["error"]
    );
    assert_complete(&recording, 0..N, &ours);
    assert_eq!(recording.outcome(), "success", "{}", recording.end);
    assert!(
        ours.cuts_done().min(theirs.cuts_done()) >= 20,
        "{:?} {:?}",
        ours.damage(),
        theirs.damage()
    );
    report("join beside the SDK", start, &ours, &recording);
}

/// Host and port of another real server, if it is running.
fn other(variable: &str) -> Option<String> {
    match std::env::var(variable) {
        Ok(url) => Some(
            url.trim_end_matches('/')
                .trim_start_matches("http://")
                .to_owned(),
        ),
        Err(_) => {
            println!("soak: skipped, because {variable} is not set");
            None
        }
    }
}

/// Checks that the numbers are in order without repetitions, and that a gap is reported wherever some are missing.
#[track_caller]
fn assert_accounted(stdout: &str, n: u64) -> (u64, usize) {
    let (mut next, mut is_reported, mut missing, mut gaps) = (0, false, 0, 0);
    for line in stdout.lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        if record["kind"] == "gap" {
            (is_reported, gaps) = (true, gaps + 1);
        } else if let Some(seq) = record["data"]["seq"].as_u64() {
            assert!(
                seq >= next,
                "{seq} is repeated or out of order, after {next}"
            );
            assert!(
                seq == next || is_reported,
                "{} are missing before {seq}, without a gap",
                seq - next
            );
            missing += seq - next;
            (next, is_reported) = (seq + 1, false);
        }
    }
    assert!(
        next == n || is_reported,
        "the last {} are missing, without a gap",
        n - next
    );
    (missing + n - next, gaps)
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real soak -- --ignored"]
fn run_over_cuts_on_javascript_is_complete() {
    const N: u64 = 3_000;
    let Some(address) = other("RUNTAIL_JS_URL") else {
        return;
    };
    let (start, proxy) = (
        Instant::now(),
        FlakyProxy::to(address, fault_plan(seed("JavaScript"), 60)),
    );
    let input = json!({"n": N, "pad": 40, "burst": 20, "pause": 0.05}).to_string();
    let url = proxy.url();
    let args = [
        "run", "firehose", "--input", &input, "--mode", "custom", "-o", "jsonl", "--url", &url,
    ];
    let recording = Recording::parse(&spawn(args).wait_for(TIMEOUT).expect(0).stdout);
    assert_complete(&recording, 0..N, &proxy);
    assert_eq!(recording.outcome(), "success", "{}", recording.end);
    assert!(
        proxy.cuts_done() >= 30,
        "too few cuts to prove anything: {:?}",
        proxy.damage()
    );
    report("run on JavaScript", start, &proxy, &recording);
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real soak -- --ignored"]
fn run_over_cuts_on_aegra_is_complete() {
    const N: u64 = 1_000;
    let Some(address) = other("RUNTAIL_AEGRA_URL") else {
        return;
    };
    for (turn, modes) in ["custom", "custom,values,updates"].into_iter().enumerate() {
        let proxy = FlakyProxy::to(address.clone(), fault_plan(seed("Aegra") + turn as u64, 25));
        let start = Instant::now();
        let input = json!({"n": N, "pad": 40, "burst": 20, "pause": 0.1}).to_string();
        let url = proxy.url();
        let args = [
            "run", "firehose", "--input", &input, "--mode", modes, "-o", "jsonl", "--url", &url,
        ];
        let done = spawn(args).wait_for(TIMEOUT);
        let recording = Recording::parse(&done.stdout);
        let (missing, gaps) = assert_accounted(&done.stdout, N);
        assert_eq!((missing, gaps), (0, 0), "{}", recording.end);
        assert_eq!(
            recording.outcome(),
            "success",
            "{}\n{}",
            recording.end,
            done.stderr
        );
        assert!(
            proxy.cuts_done() >= 5,
            "too few cuts to prove anything: {:?}",
            proxy.damage()
        );
        report("run on Aegra", start, &proxy, &recording);
    }
}

#[test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real soak -- --ignored"]
fn a_start_with_a_lost_response_is_found_on_every_server() {
    let servers = [
        ("Python", Some(server::address())),
        ("JavaScript", other("RUNTAIL_JS_URL")),
        ("Aegra", other("RUNTAIL_AEGRA_URL")),
    ];
    for (name, address) in servers {
        let Some(address) = address else { continue };
        let (_, thread) = server::request_at(&address, "POST", "/threads", Some(&json!({})));
        let thread = server::text(&thread, "thread_id");
        for turn in 0..3 {
            let cut = (When::Bytes(30), How::Close);
            let proxy = Proxy::to(address.clone(), [cut]);
            let input = json!({"steps": 3, "seconds": 0.3}).to_string();
            let args = [
                "run",
                "slow",
                "--thread",
                &thread,
                "--input",
                &input,
                "-o",
                "jsonl",
                "--url",
                &proxy.url(),
            ];
            let done = spawn(args).wait_for(TIMEOUT);
            let recording = Recording::parse(&done.stdout);
            assert_eq!(
                recording.outcome(),
                "success",
                "{name}, turn {turn}: {}\n{}",
                recording.end,
                done.stderr
            );
            assert!(!done.stderr.contains("start it again"), "{}", done.stderr);
            assert_eq!(recording.end["gaps"], 0, "{name}: {}", recording.end);
            let (_, runs) = server::request_at(
                &address,
                "GET",
                &format!("/threads/{thread}/runs?limit=100"),
                None,
            );
            assert_eq!(
                runs.as_array().map(Vec::len),
                Some(turn + 1),
                "{name}: a start is sent once"
            );
        }
    }
}
