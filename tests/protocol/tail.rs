//! Following a thread on a server that behaves like the Python one: its thread stream sends stored events and
//! subscribes only then; a run's stream subscribes first and repeats events published in between. No event may be
//! missing or duplicated.

use axum::body::Body;
use axum::response::Response;
use futures::StreamExt;
use futures::stream;
use runtail_api::{AgentServer, Kind};
use runtail_stream::{
    Item, Outcome, Record, Retries, RunFollowing, SourceOptions, ThreadTransport, follow,
    follow_thread, write_record,
};
use runtail_testkit::common::follow::gaps;
use runtail_testkit::common::{Server, json};
use serde_json::json as value;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// An event of the thread: its run, time, name and data.
#[derive(Debug, Clone, PartialEq)]
struct ThreadEvent {
    run: usize,
    at: u64,
    name: &'static str,
    data: String,
}

/// The thread, and its current time.
struct FakeThread {
    all: Vec<ThreadEvent>,
    published: watch::Sender<usize>,
    cuts: Mutex<VecDeque<usize>>,
    seed: AtomicU64,
}

const DONE: &str = "run_done";

impl FakeThread {
    fn new(seed: u64, runs: usize, cuts: Vec<usize>) -> Arc<FakeThread> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut at = 1_800_000_000_000;
        let (mut all, mut n) = (Vec::new(), 0);
        for run in 0..runs {
            let mut send = |at: u64, name, data| {
                all.push(ThreadEvent {
                    run,
                    at,
                    name,
                    data,
                })
            };
            at += random.u64(1..50);
            send(
                at,
                "metadata",
                value!({"run_id": format!("r{run}"), "attempt": 1}).to_string(),
            );
            for _ in 0..random.usize(0..60) {
                at += u64::from(random.u8(..4) == 0);
                send(at, "custom", n.to_string());
                n += 1;
            }
            send(
                at,
                DONE,
                value!({"status": "run_done", "run_id": format!("r{run}")}).to_string(),
            );
        }
        let published = watch::Sender::new(random.usize(0..all.len()));
        Arc::new(FakeThread {
            all,
            published,
            cuts: Mutex::new(cuts.into()),
            seed: AtomicU64::new(seed),
        })
    }

    fn random(&self) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed.fetch_add(1, Ordering::Relaxed))
    }

    fn now(&self) -> usize {
        *self.published.borrow()
    }

    fn text(&self, i: usize) -> String {
        let ThreadEvent { at, name, data, .. } = &self.all[i];
        let name = if *name == DONE { "metadata" } else { name };
        format!("event: {name}\r\ndata: {data}\r\nid: {at}-0\r\n\r\n")
    }

    fn is_after(&self, i: usize, after: &str) -> bool {
        matches!(after, "-" | "-1") || *format!("{}-0", self.all[i].at) > *after
    }

    /// Advances the time by a millisecond, so that the next connection is later.
    fn tick(&self) {
        self.published.send_if_modified(|n| {
            let before = *n;
            while *n > 0 && *n < self.all.len() && self.all[*n].at == self.all[*n - 1].at {
                *n += 1;
            }
            *n != before
        });
    }

    /// Waits until an event is published. Never returns if the time ends before.
    async fn reached(&self, i: usize) {
        if self
            .published
            .subscribe()
            .wait_for(|n| *n > i)
            .await
            .is_err()
            || i >= self.all.len()
        {
            std::future::pending::<()>().await;
        }
    }

    fn runs(&self) -> serde_json::Value {
        let now = self.now();
        let run = |run| {
            let events = || {
                self.all
                    .iter()
                    .enumerate()
                    .filter(move |(_, sent)| sent.run == run)
            };
            let (begin, first) = events().next().unwrap();
            let (end, last) = events().next_back().unwrap();
            // The status changes before the end is published.
            let status = match now {
                now if now >= end => "success",
                now if now >= begin => "running",
                _ => "pending",
            };
            let time = |at: u64| {
                jiff::Timestamp::from_millisecond(at as i64)
                    .unwrap()
                    .to_string()
            };
            let updated = if status == "success" {
                last.at
            } else {
                first.at - 1
            };
            let (created, updated) = (time(first.at - 1), time(updated));
            let kwargs = value!({"resumable": true});
            value!({"run_id": format!("r{run}"), "status": status, "created_at": created, "updated_at": updated, "kwargs": kwargs})
        };
        (0..=self.all.last().unwrap().run).rev().map(run).collect()
    }

    /// The events of a stream, each sent when it is published.
    fn answer(
        self: Arc<FakeThread>,
        run: Option<usize>,
        after: Option<String>,
        only_lifecycle: bool,
    ) -> Response {
        let mut random = self.random();
        let cut = self.cuts.lock().unwrap().pop_front();
        let now = self.all[self.now().max(1) - 1].at;
        let date = jiff::Timestamp::from_second(now as i64 / 1000).unwrap();
        let (sender, receiver) = tokio::sync::mpsc::channel::<String>(1);
        let thread = self.clone();
        tokio::spawn(async move {
            rest(&mut random).await;
            let is_asked = |i: usize| !only_lifecycle || thread.all[i].name != "custom";
            let is_stored = |i: usize, after: &str| {
                is_asked(i)
                    && run.is_none_or(|r| thread.all[i].run == r)
                    && thread.is_after(i, after)
            };
            let subscribed = thread.now();
            let mut i = 0;
            if let Some(after) = &after {
                // A thread's replay is a snapshot; a run's replay includes events that are published meanwhile.
                while i < if run.is_some() {
                    thread.now()
                } else {
                    subscribed
                } {
                    if is_stored(i, after) {
                        if run.is_some() && thread.all[i].name == DONE {
                            return;
                        }
                        if sender.send(thread.text(i)).await.is_err() {
                            return;
                        }
                        rest(&mut random).await;
                    }
                    i += 1;
                }
            }
            for i in if run.is_some() {
                subscribed
            } else {
                thread.now()
            }..
            {
                tokio::select! {
                    () = thread.reached(i) => {}
                    () = sender.closed() => return,
                }
                if run.is_some_and(|r| thread.all[i].run != r) || !is_asked(i) {
                    continue;
                }
                if run.is_some() && thread.all[i].name == DONE
                    || sender.send(thread.text(i)).await.is_err()
                {
                    return;
                }
            }
        });
        let mut left = cut.unwrap_or(usize::MAX);
        let body = stream::unfold(receiver, |mut receiver| async {
            Some((receiver.recv().await?, receiver))
        });
        let body = body.map(move |text| match left.checked_sub(text.len()) {
            Some(rest) => {
                left = rest;
                Ok(text)
            }
            None => Err(std::io::Error::other("cut")),
        });
        let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let response = Response::builder()
            .header("content-type", "text/event-stream")
            .header("date", date);
        response.body(Body::from_stream(body)).unwrap()
    }
}

/// Yields to other tasks a few times.
async fn rest(random: &mut fastrand::Rng) {
    for _ in 0..random.u8(..6) {
        tokio::task::yield_now().await;
    }
}

/// Tails the thread until its last run is done.
async fn tailed(
    thread: &Arc<FakeThread>,
    first_after: Option<&str>,
    mode: &str,
) -> (Vec<(String, String)>, Vec<String>) {
    let inside = thread.clone();
    let server = Server::start(move |seen| {
        let after = seen.header("last-event-id").map(String::from);
        match &*seen.path {
            "/info" => json(200, value!({"langgraph_py_version": "1"})),
            "/threads/t" => json(200, value!({"thread_id": "t"})),
            "/threads/t/runs" => json(200, inside.runs()),
            path => {
                inside.tick();
                let run = path
                    .strip_prefix("/threads/t/runs/r")
                    .and_then(|rest| rest.split('/').next()?.parse().ok());
                let only_lifecycle = run.is_none() && !seen.query.contains("run_modes");
                inside.clone().answer(run, after, only_lifecycle)
            }
        }
    })
    .await;
    let modes = vec![mode.into()];
    let short = Duration::from_millis(1);
    let options = SourceOptions {
        first_after: first_after.map(String::from),
        retries: Retries {
            base: short,
            cap: short,
            ..Retries::default()
        },
        ..SourceOptions::default()
    };
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(follow(
        ThreadTransport::new(server.agent(), "t".into(), modes),
        options,
        sender,
    ));
    // The time advances in bursts, with pauses between them.
    let (clock, mut random) = (thread.clone(), thread.random());
    let clock = tokio::spawn(async move {
        while clock.now() < clock.all.len() {
            for _ in 0..random.u16(..40) {
                tokio::task::yield_now().await;
            }
            if random.u8(..10) == 0 {
                tokio::time::sleep(Duration::from_millis(random.u64(..12))).await;
            }
            let burst = random.usize(1..9);
            clock
                .published
                .send_modify(|n| *n = (*n + burst).min(clock.all.len()));
        }
    });
    let (mut events, mut gaps) = (Vec::new(), Vec::new());
    let last = thread.all.last().unwrap().data.clone();
    while events.last().is_none_or(|(_, data)| *data != last) {
        let batch = tokio::time::timeout(Duration::from_secs(30), receiver.recv()).await;
        for item in batch
            .unwrap_or_else(|_| panic!("it does not end: {events:?}"))
            .unwrap()
        {
            match item {
                Item::Record(Record::Event(event)) => {
                    events.push((event.id.unwrap().to_string(), event.data.text().to_string()));
                }
                Item::Record(Record::Gap { why, .. }) => gaps.push(why),
                _ => {}
            }
        }
    }
    clock.await.unwrap();
    (events, gaps)
}

#[tokio::test]
async fn a_full_tail_has_every_event_once() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cuts = (0..random.usize(..10))
            .map(|_| random.usize(..3000))
            .collect();
        let thread = FakeThread::new(seed * 1_000_000, random.usize(1..4), cuts);
        let (events, gaps) = tailed(&thread, Some("-"), "run_modes").await;
        let all: Vec<_> = thread
            .all
            .iter()
            .map(|sent| (format!("{}-0", sent.at), sent.data.clone()))
            .collect();
        let wrong = events.iter().zip(&all).position(|(a, b)| a != b);
        assert!(
            events == all,
            "seed {seed}, wrong at {wrong:?}: {events:?}\n{all:?}"
        );
        assert_eq!(gaps, [""; 0], "seed {seed}");
    }
}

/// Starts and ends of runs may also fall between the replay and the subscription.
#[tokio::test]
async fn a_lifecycle_tail_has_every_event_once() {
    for seed in 100..140 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cuts = (0..random.usize(..10))
            .map(|_| random.usize(..3000))
            .collect();
        let thread = FakeThread::new(seed * 1_000_000, random.usize(1..6), cuts);
        let (events, gaps) = tailed(&thread, Some("-"), "lifecycle").await;
        let all = thread.all.iter().filter(|sent| sent.name != "custom");
        let all: Vec<_> = all
            .map(|sent| (format!("{}-0", sent.at), sent.data.clone()))
            .collect();
        assert!(events == all, "seed {seed}: {events:?}\n{all:?}");
        assert_eq!(gaps, [""; 0], "seed {seed}");
    }
}

/// A server without thread streams, with the runs that the test sets.
struct Fake {
    server: Server,
    agent: AgentServer,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Default)]
struct State {
    runs: Vec<FakeRun>,
    thread_gone: bool,
    no_list: bool,
    /// The number of the next list requests to reject.
    refused: u32,
}

#[derive(Debug, Clone)]
struct FakeRun {
    id: &'static str,
    status: &'static str,
    resumable: bool,
    /// The number of events that it has sent.
    sent: usize,
}

fn fake_run(id: &'static str, status: &'static str, resumable: bool, sent: usize) -> FakeRun {
    FakeRun {
        id,
        status,
        resumable,
        sent,
    }
}

impl Fake {
    async fn start(info: serde_json::Value, runs: Vec<FakeRun>) -> Fake {
        let state = watch::Sender::new(State {
            runs,
            ..State::default()
        });
        let inside = state.clone();
        let server = Server::start(move |seen| {
            let now = inside.borrow().clone();
            let parts: Vec<&str> = seen.path.split('/').collect();
            match parts[1..] {
                ["info"] => json(200, &info),
                ["threads", "t", ..] if now.thread_gone => json(404, "{}"),
                ["threads", "t"] => json(200, value!({"thread_id": "t", "status": "idle"})),
                ["threads", "t", "runs"] if now.no_list => json(404, "{}"),
                ["threads", "t", "runs"] if now.refused > 0 => {
                    inside.send_modify(|state| state.refused -= 1);
                    json(503, "{}")
                }
                ["threads", "t", "runs"] => json(
                    200,
                    now.rows().into_iter().rev().collect::<serde_json::Value>(),
                ),
                ["threads", "t", "runs", id] => {
                    match now.runs.iter().position(|run| run.id == id) {
                        Some(n) => json(200, now.rows()[n].clone()),
                        None => json(404, "{}"),
                    }
                }
                ["threads", "t", "runs", id, "stream"] => {
                    let after = seen
                        .header("last-event-id")
                        .and_then(|id| id.parse::<i64>().ok())
                        .unwrap_or(-1);
                    Fake::stream(
                        inside.subscribe(),
                        id.to_string(),
                        usize::try_from(after + 1).unwrap_or(0),
                    )
                }
                _ => json(404, "{}"),
            }
        })
        .await;
        Fake {
            agent: server.agent(),
            server,
            state,
        }
    }

    fn stream(state: watch::Receiver<State>, id: String, from: usize) -> Response {
        let body = stream::unfold((state, id, from), |(mut state, id, i)| async move {
            let run = |state: &State| state.runs.iter().find(|run| run.id == id).cloned();
            let is_due =
                |state: &State| run(state).is_none_or(|run| run.sent > i || !run.is_active());
            let run = run(&*state.wait_for(|state| is_due(state)).await.ok()?)?;
            let data = match i {
                _ if i >= run.sent => return None,
                0 => value!({"run_id": id, "attempt": 1}).to_string(),
                _ => format!("\"{id} {i}\""),
            };
            let name = if i == 0 { "metadata" } else { "custom" };
            let text = format!("event: {name}\ndata: {data}\nid: {i}\n\n");
            Some((Ok::<_, std::io::Error>(text), (state, id, i + 1)))
        });
        Response::builder()
            .header("content-type", "text/event-stream")
            .body(Body::from_stream(body))
            .unwrap()
    }

    fn set(&self, id: &str, status: &'static str, sent: usize) {
        self.state.send_modify(|state| {
            let run = state.runs.iter_mut().find(|run| run.id == id).unwrap();
            (run.status, run.sent) = (status, sent);
        });
    }

    fn add(&self, run: FakeRun) {
        self.state.send_modify(|state| state.runs.push(run));
    }

    fn follow(&self, after: Option<&str>, modes: &[&str], shared: bool) -> Followed {
        let short = Duration::from_millis(2);
        let options = SourceOptions {
            first_after: after.map(String::from),
            retries: Retries {
                base: short,
                // A run that is silent for this long is left for a newer one, also if only the machine is slow.
                cap: Duration::from_secs(5),
                ..Retries::default()
            },
            ..SourceOptions::default()
        };
        let stop = options.stop.clone();
        let following = RunFollowing {
            shared,
            own: None,
            busy: short,
            idle: short,
            refresh: None,
            has_state: false,
        };
        let modes = modes.iter().map(|mode| mode.to_string()).collect();
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        tokio::spawn(follow_thread(
            self.agent.clone(),
            "t".into(),
            modes,
            following,
            options,
            sender,
        ));
        Followed {
            receiver,
            items: Vec::new(),
            stop,
        }
    }
}

impl FakeRun {
    fn is_active(&self) -> bool {
        matches!(self.status, "pending" | "running")
    }
}

impl State {
    fn rows(&self) -> Vec<serde_json::Value> {
        let row = |(n, run): (usize, &FakeRun)| {
            let at = jiff::Timestamp::from_second(1_800_000_000 + n as i64 * 10)
                .unwrap()
                .to_string();
            value!({"run_id": run.id, "status": run.status, "assistant_id": "a", "created_at": at, "updated_at": at,
                    "kwargs": {"resumable": run.resumable}})
        };
        self.runs.iter().enumerate().map(row).collect()
    }
}

struct Followed {
    receiver: tokio::sync::mpsc::Receiver<Vec<Item>>,
    items: Vec<Item>,
    stop: tokio_util::sync::CancellationToken,
}

impl Followed {
    /// Reads until the condition holds, or fails after a timeout.
    async fn until(&mut self, what: &str, is_there: impl Fn(&[Item]) -> bool) {
        while !is_there(&self.items) {
            let batch = tokio::time::timeout(Duration::from_secs(30), self.receiver.recv()).await;
            let batch = batch.unwrap_or_else(|_| panic!("waiting for {what}: {:?}", self.items));
            self.items
                .extend(batch.unwrap_or_else(|| panic!("ended before {what}: {:?}", self.items)));
        }
    }

    async fn until_event(&mut self, data: &str) {
        let data = format!("\"{data}\"");
        self.until(&data, |items| texts(items).last() == Some(&data))
            .await;
    }

    async fn until_run(&mut self, record: &str) {
        self.until(record, |items| runs(items).iter().any(|run| run == record))
            .await;
    }

    /// Stops it, or waits for its end, and returns everything.
    async fn end(mut self) -> Vec<Item> {
        self.stop.cancel();
        while let Some(batch) = tokio::time::timeout(Duration::from_secs(30), self.receiver.recv())
            .await
            .unwrap()
        {
            self.items.extend(batch);
        }
        self.items
    }
}

fn texts(items: &[Item]) -> Vec<String> {
    let text = |item: &Item| {
        if let Item::Record(Record::Event(event)) = item {
            Some(event.data.text().to_string())
        } else {
            None
        }
    };
    items
        .iter()
        .filter_map(text)
        .filter(|text| text.starts_with('"'))
        .collect()
}

fn runs(items: &[Item]) -> Vec<String> {
    let run = |item: &Item| match item {
        Item::Record(Record::Run(run)) => Some(format!("{} {}", run.run_id, run.status)),
        _ => None,
    };
    items.iter().filter_map(run).collect()
}

fn javascript() -> serde_json::Value {
    value!({"langgraph_js_version": "1"})
}

/// Checks that sequence numbers continue across runs and connections, and that the end record counts all events.
fn assert_one_log(items: &[Item]) {
    let Some(Item::Record(Record::End(end))) = items.last() else {
        panic!("no end: {items:?}")
    };
    let (mut seq, mut conn, mut open) = (0, 0, None);
    let records = items.iter().filter_map(|item| {
        if let Item::Record(record) = item {
            Some(record)
        } else {
            None
        }
    });
    for (n, record) in records.enumerate() {
        assert_eq!(n == 0, matches!(record, Record::Head(_)));
        match record {
            Record::Open { conn: number, .. } => {
                assert_eq!(
                    (*number, open),
                    (conn + 1, None),
                    "one connection after the other"
                );
                (conn, open) = (*number, Some(*number));
            }
            Record::Close { conn: number, .. } => assert_eq!(open.take(), Some(*number)),
            Record::Event(event) => {
                seq += 1;
                assert_eq!((event.seq.0, Some(event.conn)), (seq, open));
            }
            _ => {}
        }
    }
    assert_eq!(
        (end.events, end.connections, end.gaps),
        (seq, conn, gaps(items).len() as u64)
    );
}

#[tokio::test]
async fn a_thread_without_streams_is_followed_by_its_runs() {
    let runs_before = vec![
        fake_run("r0", "success", true, 3),
        fake_run("r1", "running", true, 2),
    ];
    let fake = Fake::start(javascript(), runs_before).await;
    let mut followed = fake.follow(None, &["run_modes"], false);
    followed.until_event("r1 1").await;
    fake.set("r1", "running", 4);
    followed.until_event("r1 3").await;
    // The run ends, and two more start one after the other; one of them finishes before the next poll.
    fake.add(fake_run("r2", "pending", true, 0));
    followed.until_run("r2 pending").await;
    fake.set("r1", "success", 5);
    followed.until_run("r1 success").await;
    fake.set("r2", "running", 2);
    followed.until_event("r2 1").await;
    fake.set("r2", "error", 3);
    fake.add(fake_run("r3", "success", true, 2));
    followed.until_event("r3 1").await;
    followed.until_run("r3 success").await;
    // While no run is active, only the list is polled.
    let items = followed.end().await;
    assert_eq!(
        texts(&items),
        ["r1 1", "r1 2", "r1 3", "r1 4", "r2 1", "r2 2", "r3 1"].map(|text| format!("\"{text}\""))
    );
    assert_one_log(&items);
    assert_eq!(gaps(&items), [""; 0]);
    let told = runs(&items);
    for run in [
        "r1 running",
        "r1 success",
        "r2 pending",
        "r2 error",
        "r3 success",
    ] {
        assert!(told.contains(&run.to_string()), "{run}: {told:?}");
    }
    assert!(
        !told.iter().any(|run| run.starts_with("r0")),
        "it was over before: {told:?}"
    );
    let Some(Item::Record(Record::End(end))) = items.last() else {
        unreachable!()
    };
    assert_eq!((end.outcome, end.connections), (Outcome::Detached, 3));
    let every = items
        .iter()
        .filter(|item| matches!(item, Item::Following { .. }))
        .count();
    assert!(every >= 1);
    // The thread stream is not requested again.
    assert!(fake.agent.lacks_thread_streams());
    let mut again = fake.follow(None, &[], false);
    again
        .until("it begins", |items| {
            items
                .iter()
                .any(|item| matches!(item, Item::Following { .. }))
        })
        .await;
    again.end().await;
    assert_eq!(
        fake.server
            .seen()
            .iter()
            .filter(|seen| seen.path == "/threads/t/stream")
            .count(),
        1
    );
}

#[tokio::test]
async fn newest_finished_runs_are_replayed_on_request() {
    let mut all: Vec<_> = ["r1", "r2", "r3", "r4", "r5"]
        .map(|id| fake_run(id, "success", true, 2))
        .into();
    all.push(fake_run("r6", "running", true, 2));
    let fake = Fake::start(javascript(), all).await;
    let mut followed = fake.follow(Some("-"), &[], false);
    followed.until_event("r6 1").await;
    let items = followed.end().await;
    assert_eq!(
        texts(&items),
        ["r3 1", "r4 1", "r5 1", "r6 1"].map(|text| format!("\"{text}\""))
    );
    assert_one_log(&items);
    let replayed = |item: &Item| {
        if let Item::Record(Record::Event(event)) = item {
            Some(event.replayed)
        } else {
            None
        }
    };
    assert!(items.iter().filter_map(replayed).all(|replayed| replayed));
}

#[tokio::test]
async fn single_reader_runs_are_read_only_if_shared() {
    for shared in [false, true] {
        let fake = Fake::start(javascript(), vec![fake_run("r1", "running", false, 2)]).await;
        let mut followed = fake.follow(Some("-"), &[], shared);
        followed.until_run("r1 running").await;
        if shared {
            followed.until_event("r1 1").await;
        }
        fake.set("r1", "success", 3);
        followed.until_run("r1 success").await;
        let items = followed.end().await;
        assert_one_log(&items);
        let read = fake
            .server
            .seen()
            .iter()
            .any(|seen| seen.path.ends_with("r1/stream"));
        assert_eq!(
            (read, gaps(&items).len()),
            (shared, usize::from(!shared)),
            "{:?}",
            gaps(&items)
        );
        assert!(shared || gaps(&items)[0].contains("take them away from the application"));
    }
    // On Aegra no run is read.
    let fake = Fake::start(
        value!({"name": "Aegra"}),
        vec![fake_run("r1", "running", true, 2)],
    )
    .await;
    let mut followed = fake.follow(None, &[], false);
    followed.until_run("r1 running").await;
    followed
        .until("the gap", |items| !gaps(items).is_empty())
        .await;
    assert_one_log(&followed.end().await);
    assert!(
        !fake
            .server
            .seen()
            .iter()
            .any(|seen| seen.path.ends_with("r1/stream"))
    );
}

#[tokio::test]
async fn lifecycle_mode_follows_runs_without_reading_them() {
    let fake = Fake::start(javascript(), vec![fake_run("r1", "running", true, 2)]).await;
    let mut followed = fake.follow(None, &["lifecycle"], false);
    followed.until_run("r1 running").await;
    fake.set("r1", "success", 3);
    followed.until_run("r1 success").await;
    let items = followed.end().await;
    assert_eq!((texts(&items).len(), gaps(&items).len()), (0, 0));
    assert!(
        !fake
            .server
            .seen()
            .iter()
            .any(|seen| seen.path.ends_with("r1/stream"))
    );
}

#[tokio::test]
async fn a_stuck_active_run_does_not_block_the_next() {
    let fake = Fake::start(javascript(), vec![fake_run("r1", "running", true, 2)]).await;
    let mut followed = fake.follow(None, &[], false);
    followed.until_event("r1 1").await;
    fake.add(fake_run("r2", "running", true, 2));
    followed.until_event("r2 1").await;
    let items = followed.end().await;
    assert_one_log(&items);
    assert!(
        gaps(&items)[0].contains("run r1 is reported as active"),
        "{:?}",
        gaps(&items)
    );
}

#[tokio::test]
async fn an_unreachable_server_is_retried() {
    let fake = Fake::start(javascript(), vec![]).await;
    fake.state.send_modify(|state| state.refused = 5);
    let mut followed = fake.follow(None, &[], false);
    followed
        .until("five retries", |items| {
            items
                .iter()
                .filter(|item| matches!(item, Item::Retrying { .. }))
                .count()
                == 5
        })
        .await;
    fake.add(fake_run("r1", "success", true, 2));
    fake.add(fake_run("r2", "running", true, 2));
    followed.until_event("r2 1").await;
    assert_one_log(&followed.end().await);
}

#[tokio::test]
async fn unfollowable_threads_are_reported() {
    let failed = |items: &[Item]| {
        let error = items.iter().find_map(|item| {
            if let Item::Failed(error) = item {
                Some((**error).clone())
            } else {
                None
            }
        });
        error.unwrap_or_else(|| panic!("no error: {items:?}"))
    };
    // A thread that is deleted while it is followed, during a run and between runs.
    for runs in [
        vec![],
        vec![fake_run("r1", "success", true, 1)],
        vec![fake_run("r1", "running", true, 1)],
    ] {
        let any = !runs.is_empty();
        let fake = Fake::start(javascript(), runs).await;
        let mut followed = fake.follow(Some("-"), &[], false);
        followed
            .until("the first list", |items| {
                items.len() > if any { 4 } else { 2 }
            })
            .await;
        fake.state
            .send_modify(|state| (state.thread_gone, state.runs) = (true, Vec::new()));
        followed
            .until("the end", |items| {
                matches!(items.last(), Some(Item::Record(Record::End(_))))
            })
            .await;
        assert_eq!(failed(&followed.items).kind, Kind::NotFound);
        assert_one_log(&followed.items);
    }
    // A thread that is unknown from the start.
    let fake = Fake::start(javascript(), vec![]).await;
    fake.state.send_modify(|state| state.thread_gone = true);
    let mut followed = fake.follow(None, &[], false);
    followed
        .until("the end", |items| {
            matches!(items.last(), Some(Item::Record(Record::End(_))))
        })
        .await;
    assert_eq!(failed(&followed.items).kind, Kind::NotFound);
    // A server with neither endpoint, an id to resume after, and a mode that no run sends.
    for (no_list, after, modes, says) in [
        (true, None, &[][..], "neither thread streams nor a list"),
        (false, Some("5"), &[], "only `-` is possible"),
        (false, None, &["state_update"], "state updates"),
    ] {
        let fake = Fake::start(javascript(), vec![]).await;
        fake.state.send_modify(|state| state.no_list = no_list);
        let mut followed = fake.follow(after, modes, false);
        followed
            .until("the end", |items| {
                matches!(items.last(), Some(Item::Record(Record::End(_))))
            })
            .await;
        let error = failed(&followed.items);
        assert!(
            error.kind == Kind::NotOffered && error.detail.contains(says),
            "{error}"
        );
        assert!(error.at.path.ends_with("/threads/t/stream"), "{error}");
    }
}

#[test]
fn run_records_are_as_documented() {
    let run = runtail_stream::RunRecord {
        at: jiff::Timestamp::UNIX_EPOCH,
        run_id: "r".into(),
        status: "success".into(),
        started_at: Some(jiff::Timestamp::UNIX_EPOCH),
        ended_at: None,
        assistant_id: Some("a".into()),
        outcome: Some(Outcome::Interrupted),
        detail: Some("Go?".into()),
    };
    let mut out = Vec::new();
    write_record(&mut out, &Record::Run(run.clone())).unwrap();
    let line = String::from_utf8(out).unwrap();
    assert_eq!(
        line,
        "{\"kind\":\"run\",\"at\":\"1970-01-01T00:00:00.000000Z\",\"run_id\":\"r\",\"status\":\"success\",\
         \"started_at\":\"1970-01-01T00:00:00.000000Z\",\"ended_at\":null,\"assistant_id\":\"a\",\
         \"outcome\":\"interrupted\",\"detail\":\"Go?\"}\n"
    );
    let mut reader = runtail_stream::Reader::new(std::io::Cursor::new(line.into_bytes())).unwrap();
    assert_eq!(reader.next().unwrap().unwrap(), Record::Run(run));
}

/// A body that sends each text after its delay in milliseconds, and then ends or stays open.
fn timed_body(texts: Vec<(u64, String)>, ends: bool) -> Response {
    let texts = stream::iter(texts).then(|(wait, text)| async move {
        tokio::time::sleep(Duration::from_millis(wait)).await;
        Ok::<_, std::io::Error>(text)
    });
    let body = match ends {
        true => texts.boxed(),
        false => texts.chain(stream::pending()).boxed(),
    };
    let response = Response::builder().header("content-type", "text/event-stream");
    response
        .header("date", "Fri, 15 Jan 2027 08:00:20 GMT")
        .body(Body::from_stream(body))
        .unwrap()
}

fn listed(id: &str, status: &str, second: u32) -> serde_json::Value {
    let at = format!("2027-01-15T08:00:{second:02}Z");
    value!({"run_id": id, "status": status, "created_at": at, "updated_at": at, "kwargs": {"resumable": true}})
}

fn stored_event(name: &str, data: serde_json::Value, second: u64) -> String {
    format!(
        "event: {name}\ndata: {data}\nid: {}-0\n\n",
        1_800_000_000_000 + second * 1000
    )
}

/// Tails a thread from the start until something holds.
async fn tailed_until(server: &Server, holds: impl Fn(&[Item]) -> bool) -> Vec<Item> {
    let (sender, mut receiver) = tokio::sync::mpsc::channel(8);
    let options = SourceOptions {
        first_after: Some("-".into()),
        ..SourceOptions::default()
    };
    tokio::spawn(follow(
        ThreadTransport::new(server.agent(), "t".into(), vec![]),
        options,
        sender,
    ));
    let mut items = Vec::new();
    while !holds(&items) {
        let batch = tokio::time::timeout(Duration::from_secs(20), receiver.recv()).await;
        items.extend(
            batch
                .unwrap_or_else(|_| panic!("{items:#?}"))
                .expect("the stream continues"),
        );
    }
    items
}

#[tokio::test]
async fn an_incomplete_replay_is_a_gap() {
    let server = Server::start(|seen| match (&*seen.path, seen.header("last-event-id")) {
        ("/info", _) => json(200, value!({"langgraph_py_version": "1"})),
        ("/threads/t", _) => json(200, value!({"thread_id": "t"})),
        ("/threads/t/runs", _) => json(
            200,
            value!([listed("r2", "running", 10), listed("r1", "success", 5)]),
        ),
        ("/threads/t/runs/r2/stream", _) => {
            timed_body(vec![(0, stored_event("custom", value!(1), 11))], false)
        }
        (_, None) => timed_body(vec![], false),
        // Nothing of the finished run is replayed, and the end comes after its own stream was read.
        (_, Some(_)) => timed_body(vec![(1500, String::new())], true),
    })
    .await;
    let items = tailed_until(&server, |items| !gaps(items).is_empty()).await;
    assert!(
        gaps(&items)[0].contains("did not replay the thread in time"),
        "{items:?}"
    );
}

#[tokio::test]
async fn a_finished_run_whose_ids_are_later_than_its_record_has_no_gap() {
    // The response is of second 20. The run ended long before it, or just now.
    for second in [5, 20] {
        let opened = Arc::new(AtomicU64::new(0));
        let count = opened.clone();
        let server = Server::start(
            move |seen| match (&*seen.path, seen.header("last-event-id")) {
                ("/info", _) => json(200, value!({"langgraph_py_version": "1"})),
                ("/threads/t", _) => json(200, value!({"thread_id": "t"})),
                ("/threads/t/runs", _) => json(200, value!([listed("r1", "success", second)])),
                (_, None) => {
                    count.fetch_add(1, Ordering::SeqCst);
                    timed_body(vec![], false)
                }
                (_, Some(_)) => {
                    let at = u64::from(second);
                    let start =
                        stored_event("metadata", value!({"run_id": "r1", "attempt": 1}), at - 1);
                    let end = stored_event(
                        "metadata",
                        value!({"run_id": "r1", "status": "run_done"}),
                        at + 1,
                    );
                    timed_body(
                        vec![(
                            0,
                            start + &stored_event("custom", value!("last"), at + 1) + &end,
                        )],
                        false,
                    )
                }
            },
        )
        .await;
        let is_end = |item: &Item| match item {
            Item::Record(Record::Event(event)) => event.data.text().contains("run_done"),
            _ => false,
        };
        let is_over = |items: &[Item]| items.iter().any(is_end) || !gaps(items).is_empty();
        let items = tailed_until(&server, is_over).await;
        assert_eq!(gaps(&items), [""; 0], "{items:#?}");
        assert!(format!("{items:?}").contains("last"), "{items:#?}");
        assert_eq!(opened.load(Ordering::SeqCst), 1, "it was not read again");
    }
}

#[tokio::test]
async fn a_run_truncated_in_an_event_is_read_again() {
    let done = |run: &str, second| {
        stored_event(
            "metadata",
            value!({"status": "run_done", "run_id": run}),
            second,
        )
    };
    let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let over = is_over.clone();
    let server = Server::start(move |seen| {
        let status = if over.load(Ordering::SeqCst) {
            "success"
        } else {
            "running"
        };
        let second = if status == "success" { 15 } else { 10 };
        match (&*seen.path, seen.header("last-event-id")) {
            ("/info", _) => json(200, value!({"langgraph_py_version": "1"})),
            ("/threads/t", _) => json(200, value!({"thread_id": "t"})),
            ("/threads/t/runs", _) => json(
                200,
                value!([listed("r2", status, second), listed("r1", "success", 5)]),
            ),
            ("/threads/t/runs/r2/stream", _) => {
                over.store(true, Ordering::SeqCst);
                let cut = "event: custom\ndata: 2".to_string();
                timed_body(
                    vec![(0, stored_event("custom", value!(1), 11)), (0, cut)],
                    true,
                )
            }
            (_, None) if status == "running" => timed_body(vec![(300, done("r2", 15))], false),
            (_, None) => timed_body(vec![], false),
            (_, Some(_)) if status == "running" => timed_body(vec![(0, done("r1", 5))], false),
            (_, Some(_)) => timed_body(
                vec![(0, stored_event("custom", value!(2), 12) + &done("r2", 15))],
                false,
            ),
        }
    })
    .await;
    let texts = |items: &[Item]| -> Vec<String> {
        let event = |item: &Item| match item {
            Item::Record(Record::Event(event)) if &*event.name == "custom" => {
                Some(event.data.text().to_string())
            }
            _ => None,
        };
        items.iter().filter_map(event).collect()
    };
    let items = tailed_until(&server, |items| texts(items).len() >= 2).await;
    assert_eq!(texts(&items), ["1", "2"]);
    let closes = items.iter().filter_map(|item| match item {
        Item::Record(Record::Close { reason, .. }) => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(closes.collect::<Vec<_>>(), ["cut"]);
}
