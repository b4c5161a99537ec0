//! Tails of a thread on a server that does as the Python one: its thread stream sends what it stored, and subscribes only
//! then; a run's stream subscribes first, and says twice what was published meanwhile. Nothing may be missing or twice.
#![cfg(feature = "sim")]

mod common;

use axum::body::Body;
use axum::response::Response;
use common::{Server, json};
use futures::StreamExt;
use futures::stream;
use runtail::stream::{Item, Record, Retries, SourceOptions, ThreadLink, follow};
use serde_json::json as value;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// One event of the thread: its run, time, name and data.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    run: usize,
    at: u64,
    name: &'static str,
    data: String,
}

/// The thread, and how far its time has come.
struct Dev {
    all: Vec<Sent>,
    published: watch::Sender<usize>,
    cuts: Mutex<VecDeque<usize>>,
    seed: AtomicU64,
}

const DONE: &str = "run_done";

impl Dev {
    fn new(seed: u64, runs: usize, cuts: Vec<usize>) -> Arc<Dev> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut at = 1_800_000_000_000;
        let (mut all, mut n) = (Vec::new(), 0);
        for run in 0..runs {
            let mut send = |at: u64, name, data| all.push(Sent { run, at, name, data });
            at += random.u64(1..50);
            send(at, "metadata", value!({"run_id": format!("r{run}"), "attempt": 1}).to_string());
            for _ in 0..random.usize(0..60) {
                at += u64::from(random.u8(..4) == 0);
                send(at, "custom", n.to_string());
                n += 1;
            }
            send(at, DONE, value!({"status": "run_done", "run_id": format!("r{run}")}).to_string());
        }
        let published = watch::Sender::new(random.usize(0..all.len()));
        Arc::new(Dev { all, published, cuts: Mutex::new(cuts.into()), seed: AtomicU64::new(seed) })
    }

    fn random(&self) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed.fetch_add(1, Ordering::Relaxed))
    }

    fn now(&self) -> usize {
        *self.published.borrow()
    }

    fn text(&self, i: usize) -> String {
        let Sent { at, name, data, .. } = &self.all[i];
        let name = if *name == DONE { "metadata" } else { name };
        format!("event: {name}\r\ndata: {data}\r\nid: {at}-0\r\n\r\n")
    }

    fn is_after(&self, i: usize, after: &str) -> bool {
        matches!(after, "-" | "-1") || *format!("{}-0", self.all[i].at) > *after
    }

    /// A millisecond is over before the next connection is there.
    fn tick(&self) {
        self.published.send_if_modified(|n| {
            let before = *n;
            while *n > 0 && *n < self.all.len() && self.all[*n].at == self.all[*n - 1].at {
                *n += 1;
            }
            *n != before
        });
    }

    /// Whether it is published, once that is so. Never, when time has come to its end.
    async fn reached(&self, i: usize) {
        if self.published.subscribe().wait_for(|n| *n > i).await.is_err() || i >= self.all.len() {
            std::future::pending::<()>().await;
        }
    }

    fn runs(&self) -> serde_json::Value {
        let now = self.now();
        let run = |run| {
            let events = || self.all.iter().enumerate().filter(move |(_, sent)| sent.run == run);
            let (begin, first) = events().next().unwrap();
            let (end, last) = events().next_back().unwrap();
            // The status changes before the end is published.
            let status = match now {
                now if now >= end => "success",
                now if now >= begin => "running",
                _ => "pending",
            };
            let time = |at: u64| jiff::Timestamp::from_millisecond(at as i64).unwrap().to_string();
            let updated = if status == "success" { last.at } else { first.at - 1 };
            let (created, updated) = (time(first.at - 1), time(updated));
            let kwargs = value!({"resumable": true});
            value!({"run_id": format!("r{run}"), "status": status, "created_at": created, "updated_at": updated, "kwargs": kwargs})
        };
        (0..=self.all.last().unwrap().run).rev().map(run).collect()
    }

    /// The events of a stream by number, each when it is sent.
    fn answer(self: Arc<Dev>, run: Option<usize>, after: Option<String>, only_lifecycle: bool) -> Response {
        let mut random = self.random();
        let cut = self.cuts.lock().unwrap().pop_front();
        let now = self.all[self.now().max(1) - 1].at;
        let date = jiff::Timestamp::from_second(now as i64 / 1000).unwrap();
        let (sender, receiver) = tokio::sync::mpsc::channel::<String>(1);
        let dev = self.clone();
        tokio::spawn(async move {
            rest(&mut random).await;
            let is_asked = |i: usize| !only_lifecycle || dev.all[i].name != "custom";
            let is_stored = |i: usize, after: &str| {
                is_asked(i) && run.is_none_or(|r| dev.all[i].run == r) && dev.is_after(i, after)
            };
            let subscribed = dev.now();
            let mut i = 0;
            if let Some(after) = &after {
                // A thread's replay is a snapshot; a run's grows on.
                while i < if run.is_some() { dev.now() } else { subscribed } {
                    if is_stored(i, after) {
                        if run.is_some() && dev.all[i].name == DONE {
                            return;
                        }
                        if sender.send(dev.text(i)).await.is_err() {
                            return;
                        }
                        rest(&mut random).await;
                    }
                    i += 1;
                }
            }
            for i in if run.is_some() { subscribed } else { dev.now() }.. {
                tokio::select! {
                    () = dev.reached(i) => {}
                    () = sender.closed() => return,
                }
                if run.is_some_and(|r| dev.all[i].run != r) || !is_asked(i) {
                    continue;
                }
                if run.is_some() && dev.all[i].name == DONE || sender.send(dev.text(i)).await.is_err() {
                    return;
                }
            }
        });
        let mut left = cut.unwrap_or(usize::MAX);
        let body = stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) });
        let body = body.map(move |text| match left.checked_sub(text.len()) {
            Some(rest) => {
                left = rest;
                Ok(text)
            }
            None => Err(std::io::Error::other("cut")),
        });
        let date = date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let response = Response::builder().header("content-type", "text/event-stream").header("date", date);
        response.body(Body::from_stream(body)).unwrap()
    }
}

/// Others get their turn, a few times.
async fn rest(random: &mut fastrand::Rng) {
    for _ in 0..random.u8(..6) {
        tokio::task::yield_now().await;
    }
}

/// Tails the thread until its last run is done.
async fn tailed(dev: &Arc<Dev>, first_after: Option<&str>, mode: &str) -> (Vec<(String, String)>, Vec<String>) {
    let inside = dev.clone();
    let server = Server::start(move |seen| {
        let after = seen.header("last-event-id").map(String::from);
        match &*seen.path {
            "/info" => json(200, value!({"langgraph_py_version": "1"})),
            "/threads/t" => json(200, value!({"thread_id": "t"})),
            "/threads/t/runs" => json(200, inside.runs()),
            path => {
                inside.tick();
                let run = path.strip_prefix("/threads/t/runs/r").and_then(|rest| rest.split('/').next()?.parse().ok());
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
        retries: Retries { base: short, cap: short, ..Retries::default() },
        ..SourceOptions::default()
    };
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(follow(ThreadLink::new(server.agent(), "t".into(), modes), options, sender));
    // Time goes on: in bursts, with rests between them.
    let (clock, mut random) = (dev.clone(), dev.random());
    let clock = tokio::spawn(async move {
        while clock.now() < clock.all.len() {
            for _ in 0..random.u16(..40) {
                tokio::task::yield_now().await;
            }
            if random.u8(..10) == 0 {
                tokio::time::sleep(Duration::from_millis(random.u64(..12))).await;
            }
            let burst = random.usize(1..9);
            clock.published.send_modify(|n| *n = (*n + burst).min(clock.all.len()));
        }
    });
    let (mut events, mut gaps) = (Vec::new(), Vec::new());
    let last = dev.all.last().unwrap().data.clone();
    while events.last().is_none_or(|(_, data)| *data != last) {
        let batch = tokio::time::timeout(Duration::from_secs(30), receiver.recv()).await;
        for item in batch.unwrap_or_else(|_| panic!("it ends: {events:?}")).unwrap() {
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
async fn a_tail_of_everything_has_everything_once() {
    for seed in 0..60 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cuts = (0..random.usize(..10)).map(|_| random.usize(..3000)).collect();
        let dev = Dev::new(seed * 1_000_000, random.usize(1..4), cuts);
        let (events, gaps) = tailed(&dev, Some("-"), "run_modes").await;
        let all: Vec<_> = dev.all.iter().map(|sent| (format!("{}-0", sent.at), sent.data.clone())).collect();
        let wrong = events.iter().zip(&all).position(|(a, b)| a != b);
        assert!(events == all, "seed {seed}, wrong at {wrong:?}: {events:?}\n{all:?}");
        assert_eq!(gaps, [""; 0], "seed {seed}");
    }
}

/// The hole between past and present is there for the begins and ends of runs as well.
#[tokio::test]
async fn a_tail_of_begins_and_ends_has_each_once() {
    for seed in 100..140 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cuts = (0..random.usize(..10)).map(|_| random.usize(..3000)).collect();
        let dev = Dev::new(seed * 1_000_000, random.usize(1..6), cuts);
        let (events, gaps) = tailed(&dev, Some("-"), "lifecycle").await;
        let all = dev.all.iter().filter(|sent| sent.name != "custom");
        let all: Vec<_> = all.map(|sent| (format!("{}-0", sent.at), sent.data.clone())).collect();
        assert!(events == all, "seed {seed}: {events:?}\n{all:?}");
        assert_eq!(gaps, [""; 0], "seed {seed}");
    }
}
