//! Tails and joins through the library, against the real Python agent server, which loses events of a thread stream while
//! it replays and repeats those of a run's stream: each has to come once all the same.
//!
//! Ignored unless that server is there: `tests/real/serve -- cargo test --test real_source -- --ignored`.
#![cfg(feature = "tui")]

#[path = "support/proxy.rs"]
#[allow(dead_code, reason = "each test file uses its own part of this")]
mod proxy;
#[path = "support/server.rs"]
#[allow(dead_code, reason = "each test file uses its own part of this")]
mod server;

use proxy::{Cut, How, Proxy, When};
use runtail::api::{AgentServer, Http};
use runtail::config::Profile;
use runtail::stream::{End, Event, Item, JoinLink, Link, Outcome, Record, SourceOptions, ThreadLink, follow};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;

const MODES: [&str; 2] = ["run_modes", "state_update"];

fn agent(url: &str) -> AgentServer {
    AgentServer::new(Http::new(&Profile::default()).unwrap(), url.parse().unwrap())
}

fn tail(url: &str, thread: &str) -> ThreadLink {
    ThreadLink::new(agent(url), thread.into(), MODES.map(String::from).to_vec())
}

struct Followed {
    events: Vec<Event>,
    gaps: Vec<String>,
    end: End,
}

/// Follows a link until an event for which `is_last` holds, or to its end; takes a rest after each of the first batches.
async fn followed(
    link: impl Link + 'static,
    first_after: Option<&str>,
    rest: Duration,
    is_last: impl Fn(&Event) -> bool,
) -> Followed {
    let (sender, mut receiver) = mpsc::channel(1);
    let options = SourceOptions { first_after: first_after.map(String::from), ..SourceOptions::default() };
    let stop = options.stop.clone();
    tokio::spawn(follow(link, options, sender));
    let (mut events, mut gaps) = (Vec::new(), Vec::new());
    for turn in 0.. {
        let batch = tokio::time::timeout(Duration::from_secs(60), receiver.recv()).await.expect("something comes");
        for item in batch.expect("an end record") {
            match item {
                Item::Record(Record::Event(event)) => {
                    if is_last(&event) {
                        stop.cancel();
                    }
                    events.push(event);
                }
                // Said of each outage; the events of runs are what is counted here.
                Item::Record(Record::Gap { why, .. }) if why.contains("state updates") => {}
                Item::Record(Record::Gap { why, .. }) => gaps.push(why),
                Item::Record(Record::End(end)) => return Followed { events, gaps, end },
                _ => {}
            }
        }
        if turn < 50 {
            tokio::time::sleep(rest).await;
        }
    }
    unreachable!("it ends with its end record")
}

fn data(event: &Event) -> Value {
    serde_json::from_str(event.data.text()).unwrap_or_default()
}

fn is_done(run: &str) -> impl Fn(&Event) -> bool + use<> {
    let done = json!({"status": "run_done", "run_id": run});
    move |event| data(event) == done
}

/// The numbers that came, where they are counted.
fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().filter_map(|event| data(event)["seq"].as_u64()).collect()
}

#[track_caller]
fn assert_exact(followed: &Followed, n: u64, what: &str) {
    let seen = numbers(&followed.events);
    let wrong = seen.iter().zip(0..).position(|(&seq, i)| seq != i);
    assert!(
        wrong.is_none() && seen.len() as u64 == n,
        "{what}: {} of {n}, wrong from {wrong:?}, {:?} {:?}",
        seen.len(),
        followed.end,
        followed.gaps
    );
    assert!(followed.gaps.is_empty(), "{what}: {:?}", followed.gaps);
    let ids: Vec<_> = followed.events.iter().filter_map(|event| event.id.clone()).collect();
    assert!(ids.is_sorted(), "{what}: in the order of their ids");
}

fn pour(n: u64) -> Value {
    json!({"n": n, "pad": 40, "burst": 40, "pause": 0.01})
}

/// Waits until a run has begun, so that there is something to replay.
async fn begun(thread: &str, run: &str) {
    let link = JoinLink::new(agent(&server::url()), thread.into(), run.into(), vec![]);
    followed(link, Some("-1"), Duration::ZERO, |event| data(event)["seq"] == 200).await;
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_source -- --ignored"]
async fn a_tail_of_a_run_that_goes_on_lacks_nothing() {
    const N: u64 = 4000;
    for attempt in 0..6 {
        let thread = server::new_thread();
        let run = server::start_run(&thread, "firehose", &pour(N), &["custom"]);
        begun(&thread, &run).await;
        let tape = followed(tail(&server::url(), &thread), Some("-"), Duration::ZERO, is_done(&run)).await;
        assert_exact(&tape, N, &format!("attempt {attempt}"));
        println!("tail: {:?}", tape.end);
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_source -- --ignored"]
async fn a_tail_over_a_bad_link_lacks_nothing_either() {
    const N: u64 = 4000;
    // Three connections make a tail that replays: each of them breaks.
    let at = [2_000, 30_000, 700, 50_001, 9_000, 9_001, 640, 40_000, 1_500, 3_000, 20_000, 5_000];
    for how in [How::Close, How::Reset] {
        let cuts: Vec<Cut> = at.iter().map(|n| (When::Bytes(*n), how)).collect();
        let link = Proxy::to(server::address(), cuts);
        let thread = server::new_thread();
        let run = server::start_run(
            &thread,
            "firehose",
            &json!({"n": N, "pad": 40, "burst": 40, "pause": 0.03}),
            &["custom"],
        );
        let tape = followed(tail(&link.url(), &thread), Some("-"), Duration::ZERO, is_done(&run)).await;
        assert_exact(&tape, N, &format!("{how:?}"));
        assert!(link.cuts_done() >= 2, "{} cuts", link.cuts_done());
        assert_eq!(server::run_end(&thread, &run), "success");
        println!("bad link: {} cuts, {:?}", link.cuts_done(), tape.end);
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_source -- --ignored"]
async fn runs_that_follow_each_other_are_all_there() {
    const N: u64 = 1500;
    let thread = server::new_thread();
    let first = server::start_run(&thread, "firehose", &pour(N), &["custom"]);
    assert_eq!(server::run_end(&thread, &first), "success");
    // One is over, one goes on, one waits in the queue.
    let second = server::start_run(&thread, "firehose", &pour(N), &["custom"]);
    let third = server::start_run(&thread, "firehose", &pour(N), &["custom"]);
    begun(&thread, &second).await;
    let cuts = [(When::Bytes(400_000), How::Reset), (When::Bytes(90_000), How::Reset)];
    let link = Proxy::to(server::address(), cuts);
    let tape = followed(tail(&link.url(), &thread), Some("-"), Duration::ZERO, is_done(&third)).await;
    let seen = numbers(&tape.events);
    assert!(seen.into_iter().eq((0..N).chain(0..N).chain(0..N)), "{:?} {:?}", tape.end, tape.gaps);
    assert_eq!(tape.gaps, [""; 0]);
    for run in [first, second, third] {
        let told = tape.events.iter().filter(|event| data(event)["run_id"] == *run);
        let told: Vec<_> = told.map(|event| data(event)["status"].clone()).collect();
        assert_eq!(told, [Value::Null, json!("run_done")], "begin and end of each run");
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_source -- --ignored"]
async fn a_tail_that_waits_hears_the_next_run_from_its_begin() {
    let thread = server::new_thread();
    let first = server::start_run(&thread, "firehose", &pour(300), &["custom"]);
    assert_eq!(server::run_end(&thread, &first), "success");
    let url = server::url();
    let (seen, mut wait) = mpsc::channel(1);
    let done = is_done(&first);
    let (name, number) = (thread.clone(), std::sync::Mutex::new(0));
    let tape = tokio::spawn(followed(tail(&url, &thread), Some("-"), Duration::ZERO, move |event| {
        if done(event) {
            seen.try_send(()).unwrap();
        }
        let mut number = number.lock().unwrap();
        *number += u32::from(data(event)["status"] == "run_done");
        *number == 2
    }));
    wait.recv().await.unwrap();
    server::start_run(&name, "firehose", &pour(1000), &["custom"]);
    let tape = tape.await.unwrap();
    assert!(numbers(&tape.events).into_iter().eq((0..300).chain(0..1000)), "{:?}", tape.end);
    assert_eq!(tape.gaps, [""; 0]);
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_source -- --ignored"]
async fn what_the_server_does_not_keep_is_said() {
    let thread = server::new_thread();
    let body = json!({"assistant_id": "slow", "input": {"seconds": 6, "every": 0.2}, "stream_mode": ["custom"]});
    let run = server::text(&server::post(&format!("/threads/{thread}/runs"), &body), "run_id");
    // It has begun when its first event was heard; that one cannot be had again.
    let first = |event: &Event| data(event)["progress"].is_number();
    followed(tail(&server::url(), &thread), None, Duration::ZERO, first).await;
    let tape = followed(tail(&server::url(), &thread), Some("-"), Duration::ZERO, is_done(&run)).await;
    assert_eq!(tape.gaps.len(), 1, "{:?}", tape.gaps);
    assert!(tape.gaps[0].contains("not resumable"), "{:?}", tape.gaps);
    assert!(tape.events.iter().any(first), "and what comes is shown");
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_source -- --ignored"]
async fn a_join_that_the_server_repeats_itself_to_shows_each_event_once() {
    const N: u64 = 4000;
    let mut duplicates = 0;
    for rest in [0, 10].map(Duration::from_millis) {
        for _ in 0..3 {
            let thread = server::new_thread();
            let run = server::start_run(&thread, "firehose", &pour(N), &["custom"]);
            begun(&thread, &run).await;
            let link = JoinLink::new(agent(&server::url()), thread, run, vec![]);
            let tape = followed(link, Some("-1"), rest, |_| false).await;
            assert_exact(&tape, N, &format!("{rest:?}"));
            assert_eq!(tape.end.outcome, Outcome::Success);
            duplicates += tape.end.duplicates;
            println!("join: {:?}", tape.end);
        }
    }
    println!("repeated and let pass: {duplicates}");
}
