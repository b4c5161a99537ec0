//! Tails and joins through the library, against the real Python agent server, which drops events of a thread stream while it
//! replays and repeats events of a run's stream. Each event must arrive once.
//!
//! Ignored without that server: `tests/real/serve -- cargo test --test real source -- --ignored`.

use runtail_api::{AgentServer, Http, Kind, ServerKind};
use runtail_core::config::Profile;
use runtail_stream::{
    End, Event, Item, JoinTransport, Outcome, Record, RunFollowing, SourceOptions, ThreadTransport,
    Transport, follow, follow_thread,
};
use runtail_testkit::common::follow;
use runtail_testkit::proxy::{How, Proxy, When};
use runtail_testkit::server;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

const MODES: [&str; 2] = ["run_modes", "state_update"];

fn agent(url: &str) -> AgentServer {
    AgentServer::new(
        Http::new(&Profile::default()).unwrap(),
        url.parse().unwrap(),
    )
}

fn tail(url: &str, thread: &str) -> ThreadTransport {
    ThreadTransport::new(agent(url), thread.into(), MODES.map(String::from).to_vec())
}

struct Followed {
    events: Vec<Event>,
    gaps: Vec<String>,
    end: End,
}

/// Follows a link to its end, or until an event for which `is_last` holds. Pauses after each of the first batches.
async fn followed(
    link: impl Transport + 'static,
    first_after: Option<&str>,
    rest: Duration,
    is_last: impl Fn(&Event) -> bool,
) -> Followed {
    let (sender, mut receiver) = mpsc::channel(1);
    let options = SourceOptions {
        first_after: first_after.map(String::from),
        ..SourceOptions::default()
    };
    let stop = options.stop.clone();
    tokio::spawn(follow(link, options, sender));
    let (mut events, mut gaps) = (Vec::new(), Vec::new());
    for turn in 0.. {
        let batch = tokio::time::timeout(Duration::from_secs(60), receiver.recv())
            .await
            .expect("an item in time");
        for item in batch.expect("an end record") {
            match item {
                Item::Record(Record::Event(event)) => {
                    if is_last(&event) {
                        stop.cancel();
                    }
                    events.push(event);
                }
                // Reported for each outage; only gaps in run events count here.
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

/// The numbers of the numbered events.
fn numbers(events: &[Event]) -> Vec<u64> {
    events
        .iter()
        .filter_map(|event| data(event)["seq"].as_u64())
        .collect()
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
    let ids: Vec<_> = followed
        .events
        .iter()
        .filter_map(|event| event.id.clone())
        .collect();
    assert!(ids.is_sorted(), "{what}: not sorted by id");
}

fn firehose_input(n: u64) -> Value {
    json!({"n": n, "pad": 40, "burst": 40, "pause": 0.01})
}

/// Waits until a run has started, so that there is something to replay.
async fn begun(thread: &str, run: &str) {
    let link = JoinTransport::new(agent(&server::url()), thread.into(), run.into(), vec![]);
    followed(link, Some("-1"), Duration::ZERO, |event| {
        data(event)["seq"] == 200
    })
    .await;
}

/// A rollback deletes the run's record and keeps its events.
#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn tail_includes_events_of_a_rolled_back_run() {
    let thread = server::new_thread();
    // It would take minutes.
    let input = json!({"n": 200_000, "pad": 40, "burst": 40, "pause": 0.05});
    let gone = server::start_run(&thread, "firehose", &input, &["custom"]);
    begun(&thread, &gone).await;
    let path = format!("/threads/{thread}/runs/{gone}/cancel?wait=true&action=rollback");
    let (status, answer) = server::request("POST", &path, None);
    assert!((200..300).contains(&status), "{status} {answer}");
    assert_eq!(server::runs(&thread), [json!(null); 0]);
    let received = followed(
        tail(&server::url(), &thread),
        Some("-"),
        Duration::ZERO,
        is_done(&gone),
    )
    .await;
    let seen = numbers(&received.events);
    assert!(
        seen.len() > 200 && seen.iter().copied().eq(0..seen.len() as u64),
        "{} {:?}",
        seen.len(),
        received.end
    );
    assert!(
        received.gaps.is_empty() && received.end.connections == 1,
        "{:?} {:?}",
        received.gaps,
        received.end
    );
    // Before a run that still exists.
    let kept = server::start_run(&thread, "firehose", &firehose_input(50), &["custom"]);
    assert_eq!(server::run_end(&thread, &kept), "success");
    let received = followed(
        tail(&server::url(), &thread),
        Some("-"),
        Duration::ZERO,
        is_done(&kept),
    )
    .await;
    assert!(
        numbers(&received.events)
            .into_iter()
            .eq(seen.into_iter().chain(0..50)),
        "{:?}",
        received.end
    );
    assert!(received.gaps.is_empty(), "{:?}", received.gaps);
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn tail_of_an_active_run_is_complete() {
    const N: u64 = 4000;
    for attempt in 0..6 {
        let thread = server::new_thread();
        let run = server::start_run(&thread, "firehose", &firehose_input(N), &["custom"]);
        begun(&thread, &run).await;
        let received = followed(
            tail(&server::url(), &thread),
            Some("-"),
            Duration::ZERO,
            is_done(&run),
        )
        .await;
        assert_exact(&received, N, &format!("attempt {attempt}"));
        println!("tail: {:?}", received.end);
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn tail_includes_all_consecutive_runs() {
    const N: u64 = 1500;
    let thread = server::new_thread();
    let first = server::start_run(&thread, "firehose", &firehose_input(N), &["custom"]);
    assert_eq!(server::run_end(&thread, &first), "success");
    // One run is finished, one is active, one is queued.
    let second = server::start_run(&thread, "firehose", &firehose_input(N), &["custom"]);
    let third = server::start_run(&thread, "firehose", &firehose_input(N), &["custom"]);
    begun(&thread, &second).await;
    let cuts = [
        (When::Bytes(400_000), How::Reset),
        (When::Bytes(90_000), How::Reset),
    ];
    let link = Proxy::to(server::address(), cuts);
    let received = followed(
        tail(&link.url(), &thread),
        Some("-"),
        Duration::ZERO,
        is_done(&third),
    )
    .await;
    let seen = numbers(&received.events);
    assert!(
        seen.into_iter().eq((0..N).chain(0..N).chain(0..N)),
        "{:?} {:?}",
        received.end,
        received.gaps
    );
    assert_eq!(received.gaps, [""; 0]);
    for run in [first, second, third] {
        let told = received
            .events
            .iter()
            .filter(|event| data(event)["run_id"] == *run);
        let told: Vec<_> = told.map(|event| data(event)["status"].clone()).collect();
        assert_eq!(
            told,
            [Value::Null, json!("run_done")],
            "start and end of each run"
        );
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn a_waiting_tail_receives_the_next_run_from_its_start() {
    let thread = server::new_thread();
    let first = server::start_run(&thread, "firehose", &firehose_input(300), &["custom"]);
    assert_eq!(server::run_end(&thread, &first), "success");
    let url = server::url();
    let (seen, mut wait) = mpsc::channel(1);
    let done = is_done(&first);
    let (name, number) = (thread.clone(), std::sync::Mutex::new(0));
    let received = tokio::spawn(followed(
        tail(&url, &thread),
        Some("-"),
        Duration::ZERO,
        move |event| {
            if done(event) {
                seen.try_send(()).unwrap();
            }
            let mut number = number.lock().unwrap();
            *number += u32::from(data(event)["status"] == "run_done");
            *number == 2
        },
    ));
    wait.recv().await.unwrap();
    server::start_run(&name, "firehose", &firehose_input(1000), &["custom"]);
    let received = received.await.unwrap();
    assert!(
        numbers(&received.events)
            .into_iter()
            .eq((0..300).chain(0..1000)),
        "{:?}",
        received.end
    );
    assert_eq!(received.gaps, [""; 0]);
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn tail_reports_events_of_runs_that_are_not_resumable_as_a_gap() {
    let thread = server::new_thread();
    let body = json!({"assistant_id": "slow", "input": {"seconds": 120, "every": 0.2}, "stream_mode": ["custom"]});
    let run = server::text(
        &server::post(&format!("/threads/{thread}/runs"), &body),
        "run_id",
    );
    // The run has started once its first event arrives, which is never replayed.
    let first = |event: &Event| data(event)["progress"].is_number();
    followed(tail(&server::url(), &thread), None, Duration::ZERO, first).await;
    let (is_done, path) = (
        is_done(&run),
        format!("/threads/{thread}/runs/{run}/cancel"),
    );
    let is_cancelled = AtomicBool::new(false);
    let received = followed(
        tail(&server::url(), &thread),
        Some("-"),
        Duration::ZERO,
        |event| {
            if first(event) && !is_cancelled.swap(true, Ordering::SeqCst) {
                server::request("POST", &path, None);
            }
            is_done(event)
        },
    )
    .await;
    assert_eq!(received.gaps.len(), 1, "{:?}", received.gaps);
    assert!(
        received.gaps[0].contains("not resumable"),
        "{:?}",
        received.gaps
    );
    assert!(received.events.iter().any(first), "later events are shown");
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn join_shows_repeated_blocks_once() {
    const N: u64 = 4000;
    let mut duplicates = 0;
    for rest in [0, 10].map(Duration::from_millis) {
        for _ in 0..3 {
            let thread = server::new_thread();
            let run = server::start_run(&thread, "firehose", &firehose_input(N), &["custom"]);
            begun(&thread, &run).await;
            let link = JoinTransport::new(agent(&server::url()), thread, run, vec![]);
            let mut received = followed(link, Some("-1"), rest, |_| false).await;
            // Said if the server repeats a block each time that it is asked again. Nothing is missing or shown twice then, either.
            let is_doubt = |gap: &String| gap.contains("it is unknown whether some are duplicates");
            received.gaps.retain(|gap| !is_doubt(gap));
            assert_exact(&received, N, &format!("{rest:?}"));
            assert_eq!(received.end.outcome, Outcome::Success);
            duplicates += received.end.duplicates;
            println!("join: {:?}", received.end);
        }
    }
    println!("duplicates skipped: {duplicates}");
}

/// Starts a run of the graph `slow` on a new thread and returns both ids once its first events were sent. It runs long enough to be
/// joined, also on a busy machine.
async fn slow_run(url: &str, resumable: bool) -> (String, String) {
    let address = url.trim_start_matches("http://").to_string();
    tokio::task::spawn_blocking(move || {
        let (_, thread) = server::request_at(&address, "POST", "/threads", Some(&json!({})));
        let thread = server::text(&thread, "thread_id");
        let body = json!({
            "assistant_id": "slow", "input": {"steps": 12, "seconds": 1.0}, "stream_resumable": resumable,
            "stream_mode": ["values", "custom"],
        });
        let (status, run) = server::request_at(&address, "POST", &format!("/threads/{thread}/runs"), Some(&body));
        assert_eq!(status, 200, "{run}");
        let run = server::text(&run, "run_id");
        // Its first events precede the checkpoint before its node.
        let path = format!("/threads/{thread}/history?limit=1");
        let until = std::time::Instant::now() + Duration::from_secs(30);
        while server::request_at(&address, "GET", &path, None).1[0]["next"] != json!(["wait"]) {
            assert!(std::time::Instant::now() < until, "{path}: the run does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        (thread, run)
    })
    .await
    .unwrap()
}

/// Joins a run and reads it to its end.
async fn join_run(url: &str, (thread, run): &(String, String), shared: bool) -> Vec<Item> {
    let (sender, mut receiver) = mpsc::channel(8);
    let options = SourceOptions {
        first_after: Some("-1".into()),
        ..SourceOptions::default()
    };
    let link = JoinTransport::new(agent(url), thread.clone(), run.clone(), vec![]).shared(shared);
    tokio::spawn(follow(link, options, sender));
    let mut items = Vec::new();
    while let Some(batch) = tokio::time::timeout(Duration::from_secs(60), receiver.recv())
        .await
        .expect("it ends")
    {
        items.extend(batch);
    }
    items
}

fn end_of(items: &[Item]) -> (Outcome, u64) {
    let Some(Item::Record(Record::End(end))) = items.last() else {
        panic!("no end: {items:?}")
    };
    (end.outcome, end.gaps)
}

fn refused(items: &[Item]) -> bool {
    items
        .iter()
        .any(|item| matches!(item, Item::Failed(error) if error.kind == Kind::OneReader))
}

#[tokio::test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn joins_report_missed_events_on_every_server() {
    let checks = server::all_urls().into_iter().map(joins_of_one);
    futures::future::join_all(checks).await;
}

async fn joins_of_one(url: String) {
    let kind = agent(&url).info().await.unwrap().kind;
    let (is_python, has_one_reader) = (kind == ServerKind::Python, kind == ServerKind::JavaScript);
    // A run that can't be replayed on request; Aegra replays all.
    let run = slow_run(&url, false).await;
    let items = join_run(&url, &run, false).await;
    if is_python {
        let said = follow::gaps(&items);
        assert!(
            said.len() == 1 && said[0].ends_with("earlier output isn't available"),
            "{kind:?}: {said:?}"
        );
        assert_eq!(end_of(&items), (Outcome::Success, 1));
        assert!(
            follow::events(&items).iter().all(|event| !event.replayed),
            "events that arrive are live"
        );
    } else {
        assert_eq!(
            (refused(&items), follow::events(&items).is_empty()),
            (has_one_reader, has_one_reader),
            "{kind:?}: {items:?}"
        );
        // As the only reader we receive everything once and in order.
        let items = if has_one_reader {
            join_run(&url, &run, true).await
        } else {
            items
        };
        let ids: Vec<_> = follow::events(&items)
            .iter()
            .filter_map(|event| event.id.as_deref())
            .collect();
        assert_eq!(
            end_of(&items),
            (Outcome::Success, 0),
            "{kind:?}: {ids:?} {:?}",
            follow::gaps(&items)
        );
        assert_eq!(&*follow::events(&items)[0].name, "metadata", "{kind:?}");
        assert!(
            follow::events(&items)[0].replayed && follow::events(&items)[0].time().is_none(),
            "{kind:?}"
        );
        assert!(
            follow::events(&items)
                .last()
                .is_some_and(|event| event.time().is_some()),
            "{kind:?}"
        );
    }
    // After its end, when its events were read or never stored.
    let items = join_run(&url, &run, false).await;
    let is_kept = kind == ServerKind::Aegra;
    assert_eq!(
        end_of(&items),
        (Outcome::Success, if is_kept { 0 } else { 1 }),
        "{kind:?}: {items:?}"
    );
    assert_eq!(
        follow::events(&items).is_empty(),
        !is_kept,
        "{kind:?}: {items:?}"
    );
    // A run that can be replayed, on servers that have them.
    let run = slow_run(&url, true).await;
    let items = join_run(&url, &run, false).await;
    assert_eq!(
        (end_of(&items), &*follow::events(&items)[0].name),
        ((Outcome::Success, 0), "metadata"),
        "{kind:?}"
    );
    assert!(follow::events(&items)[0].replayed, "{kind:?}");
    let again = join_run(&url, &run, false).await;
    let data = |items: &[Item]| {
        follow::events(items)
            .iter()
            .map(|event| event.data.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(data(&again), data(&items), "{kind:?}");
    let times: Vec<_> = follow::events(&again)
        .iter()
        .map(|event| event.time().is_some())
        .collect();
    assert!(
        times.iter().all(|known| *known == is_python),
        "{kind:?}: only Python's ids hold a time: {times:?}"
    );
}

#[tokio::test]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real source -- --ignored"]
async fn threads_are_followed_on_every_server() {
    let checks = server::all_urls().into_iter().enumerate();
    futures::future::join_all(checks.map(|(n, url)| follow_one(n, url))).await;
}

async fn follow_one(n: usize, url: String) {
    let (thread, first) = slow_run(&url, true).await;
    let (sender, mut receiver) = mpsc::channel(8);
    let options = SourceOptions {
        first_after: Some("-".into()),
        ..SourceOptions::default()
    };
    let stop = options.stop.clone();
    let following = RunFollowing {
        shared: true,
        ..RunFollowing::default()
    };
    tokio::spawn(follow_thread(
        agent(&url),
        thread.clone(),
        vec![],
        following,
        options,
        sender,
    ));
    let mut items = Vec::new();
    let seen = |items: &[Item], text: &str| {
        follow::events(items)
            .iter()
            .any(|event| event.data.text().contains(text))
    };
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    while !(seen(&items, "\"progress\":3") || seen(&items, "\"progress\": 3")) {
        items.extend(
            tokio::time::timeout_at(until, receiver.recv())
                .await
                .expect("an item in time")
                .expect("an open stream"),
        );
    }
    // The end is known from the stream on Python, else from the list of runs.
    let is_over = |items: &[Item]| {
        items.iter().any(|item| match item {
            Item::Record(Record::Run(run)) => run.run_id == first && run.ended_at.is_some(),
            Item::Record(Record::Event(event)) => event.data.text().contains("run_done"),
            _ => false,
        })
    };
    while !is_over(&items) {
        items.extend(
            tokio::time::timeout_at(until, receiver.recv())
                .await
                .expect("an item in time")
                .expect("an open stream"),
        );
    }
    stop.cancel();
    while let Some(batch) = receiver.recv().await {
        items.extend(batch);
    }
    let by_runs = items
        .iter()
        .any(|item| matches!(item, Item::Following { .. }));
    assert_eq!(by_runs, n > 0, "Python alone has thread streams");
    assert_eq!(
        end_of(&items),
        (Outcome::Detached, 0),
        "{:?}",
        follow::gaps(&items)
    );
    assert_eq!(&*follow::events(&items)[0].name, "metadata");
    let seqs: Vec<_> = follow::events(&items)
        .iter()
        .map(|event| event.seq.0)
        .collect();
    assert!(seqs.iter().copied().eq(1..=seqs.len() as u64), "{seqs:?}");
}
