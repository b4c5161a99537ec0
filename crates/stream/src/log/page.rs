//! A thread page: a stream and snapshots of its thread, merged into one event log.
//!
//! The first snapshot precedes the stream, so that earlier messages come before new ones. Another snapshot is loaded
//! whenever a run starts or ends, the state is edited, or the connection is restored, because a stream never shows how a
//! run ended.

use crate::log::snapshot::{Loaded, Part, Positions, ThreadSnapshot};
use crate::log::snapshot_loader::{Scope, SnapshotLoader};
use crate::{Event, Head, Item, Record};
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// How long the stream is held back until the thread's state is loaded, and then until its history is.
const STATE_HOLD: Duration = Duration::from_secs(5);
const HISTORY_HOLD: Duration = Duration::from_millis(700);
/// Maximum number of held batches. Beyond that, back-pressure stops the source and then the server.
const MAX_HELD_BATCHES: usize = 64;
/// Minimum interval between loads, because runs may start and end in quick succession.
const LOAD_PAUSE: Duration = Duration::from_millis(300);
/// A replay is complete when no replayed event has arrived for this long.
const REPLAY_QUIET: Duration = Duration::from_millis(500);
/// How often the runs of an idle thread are reloaded, because streams don't report that it was deleted, and a run's stream doesn't
/// report later runs.
const IDLE_RELOAD: Duration = Duration::from_secs(10);

/// The options of a thread page.
#[derive(Debug)]
pub struct PageOptions {
    /// Creates the loader once the thread is known.
    pub loader: LoaderFactory,
    /// The thread, if it is known from the start and may have a history.
    pub thread: Option<String>,
    /// The head of the log. It must be the first record, and a snapshot may arrive before the stream's head.
    pub head: Head,
    /// Requests a snapshot when it changes.
    pub refresh: watch::Receiver<u64>,
}

/// Creates the snapshot loader of a thread.
pub struct LoaderFactory(pub Box<dyn Fn(String) -> SnapshotLoader + Send + Sync>);

impl std::fmt::Debug for LoaderFactory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LoaderFactory")
    }
}

/// Forwards a stream and the snapshots of its thread. Returns when the receiver is dropped, or when a stream without a
/// thread ends. After a thread's stream ends, its runs are still polled, and snapshots are loaded on request.
pub async fn follow_page(
    options: PageOptions,
    stream: mpsc::Receiver<Vec<Item>>,
    out: mpsc::Sender<Vec<Item>>,
) {
    let PageOptions {
        loader,
        thread,
        mut head,
        refresh,
    } = options;
    let (sender, loaded) = mpsc::unbounded_channel();
    let mut page = Page {
        loader_for: loader,
        loader: None,
        out,
        positions: Positions::default(),
        sender,
        loaded,
        refresh,
        loading: None,
        pending: None,
        last_load: None,
        held: thread.is_some().then(|| Held {
            items: Vec::new(),
            waits_for: vec![Part::State, Part::History],
            until: Instant::now() + STATE_HOLD,
        }),
        replayed: None,
        runs: None,
        has_head: thread.is_some(),
        ended: false,
    };
    if let Some(thread) = thread {
        head.at = Timestamp::now();
        if !page.send(vec![Item::Record(Record::Head(head))]).await {
            return;
        }
        page.set_thread(thread);
    }
    page.run(stream).await;
}

/// Items of the stream that are held back until the thread's state and history are loaded, so that those come first.
struct Held {
    items: Vec<Vec<Item>>,
    waits_for: Vec<Part>,
    until: Instant,
}

/// A load in progress.
type Load = BoxFuture<'static, ()>;

struct Page {
    loader_for: LoaderFactory,
    loader: Option<SnapshotLoader>,
    out: mpsc::Sender<Vec<Item>>,
    positions: Positions,
    sender: mpsc::UnboundedSender<ThreadSnapshot>,
    loaded: mpsc::UnboundedReceiver<ThreadSnapshot>,
    refresh: watch::Receiver<u64>,
    loading: Option<Load>,
    /// The scope of the next load, and whether to wait until the thread's status reflects the end of a run.
    pending: Option<(Scope, bool)>,
    last_load: Option<Instant>,
    held: Option<Held>,
    /// When the last replayed event arrived; cleared by the snapshot after the replay.
    replayed: Option<Instant>,
    /// The runs as last loaded.
    runs: Option<Arc<str>>,
    /// Whether the head was already sent, so that the stream's own is skipped.
    has_head: bool,
    ended: bool,
}

impl Page {
    async fn run(mut self, mut stream: mpsc::Receiver<Vec<Item>>) {
        loop {
            self.begin_load();
            if self.ended && self.loader.is_none() {
                return;
            }
            let is_full = self
                .held
                .as_ref()
                .is_some_and(|held| held.items.len() >= MAX_HELD_BATCHES);
            let wake = self.next_wake();
            let sent = tokio::select! {
                biased;
                Some(snapshot) = self.loaded.recv() => self.on_snapshot(snapshot).await,
                () = async { if let Some(load) = &mut self.loading { load.await } }, if self.loading.is_some() => {
                    (self.loading, self.last_load) = (None, Some(Instant::now()));
                    // All loaded parts are in the channel by now.
                    true
                }
                items = stream.recv(), if !is_full && !self.ended => match items {
                    Some(items) => self.on_items(items).await,
                    None => {
                        self.ended = true;
                        self.schedule_load(Scope::All, true);
                        self.release().await
                    }
                },
                Ok(()) = self.refresh.changed() => {
                    self.schedule_load(Scope::All, false);
                    true
                }
                () = sleep_until(wake) => self.on_wake().await,
                () = self.out.closed() => false,
            };
            if !sent {
                return;
            }
        }
    }

    /// Sets the thread once it is known.
    fn set_thread(&mut self, thread: String) {
        if self.loader.is_none() {
            self.loader = Some((self.loader_for.0)(thread));
            self.schedule_load(Scope::All, false);
        }
    }

    /// Schedules a load. A pending load is widened to cover both scopes.
    fn schedule_load(&mut self, scope: Scope, after_end: bool) {
        let (known, was_end) = self.pending.unwrap_or((scope, false));
        self.pending = Some((known.max(scope), was_end || after_end));
    }

    /// Starts the pending load, unless one is in progress or has just finished.
    fn begin_load(&mut self) {
        let may_load = self.loading.is_none()
            && self
                .last_load
                .is_none_or(|last| last.elapsed() >= LOAD_PAUSE);
        let Some(loader) = self.loader.clone().filter(|_| may_load) else {
            return;
        };
        let Some((scope, after_end)) = self.pending.take() else {
            return;
        };
        let sender = self.sender.clone();
        // Sending fails only if the page was dropped.
        let out = move |snapshot| drop(sender.send(snapshot));
        self.loading = Some(match after_end {
            true => async move { loader.load_settled(out).await }.boxed(),
            false => async move { loader.load(scope, out).await }.boxed(),
        });
    }

    /// Returns when to wake up without a trigger. `None` while nothing was loaded.
    fn next_wake(&self) -> Option<Instant> {
        let pause = self
            .last_load
            .map(|last| last + LOAD_PAUSE)
            .filter(|_| self.pending.is_some() && self.loading.is_none());
        let held = self.held.as_ref().map(|held| held.until);
        let replayed = self.replayed.map(|last| last + REPLAY_QUIET);
        let idle = self
            .last_load
            .map(|last| last + IDLE_RELOAD)
            .filter(|_| self.loading.is_none());
        [pause, held, replayed, idle].into_iter().flatten().min()
    }

    async fn on_wake(&mut self) -> bool {
        let now = Instant::now();
        if self.replayed.is_some_and(|last| now >= last + REPLAY_QUIET) {
            // Replayed events may belong to older runs, so reload the newest state after them.
            self.replayed = None;
            self.schedule_load(Scope::All, false);
        }
        if self.last_load.is_some_and(|last| now >= last + IDLE_RELOAD) && self.loading.is_none() {
            self.schedule_load(Scope::Runs, false);
        }
        if self.held.as_ref().is_some_and(|held| now >= held.until) {
            return self.release().await;
        }
        true
    }

    async fn on_snapshot(&mut self, snapshot: ThreadSnapshot) -> bool {
        let loaded: Vec<Part> = snapshot.parts.keys().copied().collect();
        if loaded == [Part::Runs] && matches!(snapshot.parts[&Part::Runs], Loaded::Failed(_)) {
            // The thread may have been deleted.
            self.schedule_load(Scope::All, false);
        }
        if let Some(Loaded::Json(runs)) = snapshot.parts.get(&Part::Runs) {
            // No event shows what runs do after the end of the stream.
            let is_news = self
                .runs
                .replace(runs.clone())
                .is_some_and(|known| known != *runs);
            if is_news && self.ended && loaded == [Part::Runs] {
                self.schedule_load(Scope::All, true);
            }
        }
        let event = self.positions.snapshot(snapshot);
        if !self.send(vec![Item::Record(Record::Event(event))]).await {
            return false;
        }
        let Some(held) = &mut self.held else {
            return true;
        };
        held.waits_for.retain(|part| !loaded.contains(part));
        if held.waits_for.is_empty() {
            return self.release().await;
        }
        if !held.waits_for.contains(&Part::State) {
            held.until = held.until.min(Instant::now() + HISTORY_HOLD);
        }
        true
    }

    async fn on_items(&mut self, mut items: Vec<Item>) -> bool {
        let now = Instant::now();
        for item in &items {
            self.track(item, now);
        }
        if self.has_head {
            items.retain(|item| !matches!(item, Item::Record(Record::Head(_))));
        }
        if let Some(held) = &mut self.held {
            // Items about the connection are not held back.
            let (statuses, rest) = items
                .into_iter()
                .partition::<Vec<_>, _>(|item| !matches!(item, Item::Record(_)));
            held.items.push(rest);
            return statuses.is_empty() || self.send(statuses).await;
        }
        self.forward(items).await
    }

    /// Updates the page's state from an item.
    fn track(&mut self, item: &Item, now: Instant) {
        match item {
            Item::Started {
                thread_id: Some(thread),
                ..
            } => {
                self.set_thread(thread.clone());
                self.schedule_load(Scope::Runs, false);
            }
            Item::Record(Record::Head(head)) => {
                if let Some(thread) = &head.thread_id {
                    self.set_thread(thread.clone());
                }
            }
            Item::Record(Record::Open { conn, .. }) if *conn > 1 => {
                self.schedule_load(Scope::All, false)
            }
            Item::Record(Record::End(_)) => self.schedule_load(Scope::All, true),
            Item::Record(Record::Run(run)) => {
                let is_over = run.ended_at.is_some();
                self.schedule_load(if is_over { Scope::All } else { Scope::Runs }, is_over);
            }
            Item::Record(Record::Event(event)) => self.track_event(event, now),
            _ => {}
        }
    }

    fn track_event(&mut self, event: &Event, now: Instant) {
        if event.replayed {
            self.replayed = Some(now);
            return;
        }
        if !event.ns.is_empty() {
            return;
        }
        match &*event.name {
            "metadata" => {
                let is_end = event.data.text().contains("\"run_done\"");
                self.schedule_load(if is_end { Scope::All } else { Scope::Runs }, is_end);
            }
            "error" | "end" => self.schedule_load(Scope::All, true),
            "state_update" => self.schedule_load(Scope::All, false),
            _ => {}
        }
    }

    /// Sends the held items.
    async fn release(&mut self) -> bool {
        let Some(held) = self.held.take() else {
            return true;
        };
        for items in held.items {
            if !self.forward(items).await {
                return false;
            }
        }
        true
    }

    async fn forward(&mut self, mut items: Vec<Item>) -> bool {
        for item in &mut items {
            if let Item::Record(Record::Event(event)) = item {
                self.positions.place(event);
            }
        }
        self.send(items).await
    }

    async fn send(&mut self, items: Vec<Item>) -> bool {
        self.out.send(items).await.is_ok()
    }
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
