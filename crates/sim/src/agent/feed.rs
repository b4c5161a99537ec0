//! The events of one stream on the server: published events, readers, and replay.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a reader may delay its turn.
const TURN: Duration = Duration::from_millis(20);

/// The type of an event on a thread's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Output of a run.
    Output,
    /// Start or end of a run.
    Lifecycle,
    /// The state was edited.
    State,
}

/// When a run ended. Its events are replayed for a while after that.
pub type Ended = Arc<OnceLock<Instant>>;

/// One published event.
#[derive(Debug)]
pub struct Item {
    /// Its id; empty if this server sends none.
    pub id: String,
    /// Its name, with the namespace.
    pub name: String,
    /// Its data: JSON on one line.
    pub data: String,
    /// Its type on a thread's stream.
    pub kind: Kind,
    /// Whether it can be replayed.
    pub stored: bool,
    /// When its run ended.
    pub ended: Ended,
}

#[derive(Debug, Default)]
struct Log {
    items: VecDeque<Arc<Item>>,
    first: u64,
    bytes: usize,
    closed: bool,
    readers: HashMap<u64, u64>,
    next_reader: u64,
    /// Readers of a shared log that wait for an event, in order.
    waiting: VecDeque<u64>,
    /// When the current first event of a shared log became the first.
    front_since: Option<Instant>,
    counted: u64,
    /// Stored copies of a shared log's events, because reading removes them from the log.
    archive: VecDeque<Arc<Item>>,
    archived: usize,
}

/// Limits on what a feed stores.
#[derive(Debug, Clone, Copy)]
pub struct ReplayLimits {
    /// Bytes of events.
    pub bytes: usize,
    /// How long events are stored after the end of their run.
    pub window: Duration,
}

/// An append-only log with any number of readers. Each reader gets every event, unless the log is shared: then each event goes to
/// one reader.
#[derive(Debug)]
pub struct Feed {
    log: Mutex<Log>,
    kept: ReplayLimits,
    shared: OnceLock<bool>,
    bell: watch::Sender<u64>,
    read: watch::Sender<u64>,
}

impl Feed {
    /// An empty feed.
    pub fn new(kept: ReplayLimits) -> Self {
        let shared = OnceLock::new();
        Feed {
            log: Mutex::default(),
            kept,
            shared,
            bell: watch::channel(0).0,
            read: watch::channel(0).0,
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets whether each event goes to one reader only. The first call decides.
    pub fn share(&self, shared: bool) {
        self.shared.get_or_init(|| shared);
    }

    fn is_shared(&self) -> bool {
        *self.shared.get_or_init(|| false)
    }

    /// Sequence numbers for this many events, on servers with sequential ids.
    pub fn count(&self, events: usize) -> std::ops::Range<u64> {
        let mut log = self.log();
        let first = log.counted;
        log.counted += events as u64;
        first..log.counted
    }

    /// Appends events.
    pub fn push(&self, items: &[Arc<Item>]) {
        let shared = self.is_shared();
        {
            let mut log = self.log();
            if log.items.is_empty() {
                log.front_since = Some(Instant::now());
            }
            for item in items {
                log.bytes += item.data.len();
                log.items.push_back(item.clone());
                if shared && item.stored {
                    log.store(item, self.kept.bytes);
                }
            }
            log.trim(self.kept, shared);
        }
        self.ring();
    }

    fn ring(&self) {
        self.bell.send_modify(|n| *n += 1);
    }

    /// Ends the feed. A shared feed is not replayed after that.
    pub fn close(&self) {
        {
            let mut log = self.log();
            log.closed = true;
            log.archive = VecDeque::new();
            log.archived = 0;
        }
        self.ring();
    }

    /// Returns a reader of new events, after the stored ones if `replay` is set.
    pub fn reader(self: &Arc<Self>, replay: impl Fn(&Item) -> bool) -> Reader {
        let past = {
            let log = self.log();
            let expired = |item: &Item| {
                item.ended
                    .get()
                    .is_some_and(|at| at.elapsed() >= self.kept.window)
            };
            log.items
                .iter()
                .filter(|item| item.stored && !expired(item) && replay(item))
                .cloned()
                .collect()
        };
        self.reader_after(past)
    }

    /// Returns a reader of these events and then of new ones.
    pub fn reader_after(self: &Arc<Self>, past: VecDeque<Arc<Item>>) -> Reader {
        let bell = self.bell.subscribe();
        let mut log = self.log();
        let position = log.first + log.items.len() as u64;
        let id = log.next_reader;
        log.next_reader += 1;
        log.readers.insert(id, position);
        drop(log);
        Reader {
            feed: self.clone(),
            id,
            past,
            bell,
        }
    }

    /// The stored events of a shared feed.
    pub fn archive(&self) -> Vec<Arc<Item>> {
        self.log().archive.iter().cloned().collect()
    }

    /// Whether an event with this id is stored.
    pub fn knows(&self, id: &str) -> bool {
        self.log()
            .items
            .iter()
            .any(|item| item.stored && item.id == id)
    }

    /// Whether it has readers.
    pub fn is_read(&self) -> bool {
        !self.log().readers.is_empty()
    }

    /// Drops the events of runs that ended too long ago to be replayed.
    pub fn expire(&self) {
        let shared = self.is_shared();
        self.log().trim(self.kept, shared);
    }

    /// Number of events that the slowest reader still has to read.
    pub fn lag(&self) -> u64 {
        let log = self.log();
        if self.is_shared() {
            return if log.readers.is_empty() {
                0
            } else {
                log.items.len() as u64
            };
        }
        let end = log.first + log.items.len() as u64;
        log.readers
            .values()
            .map(|position| end - position)
            .max()
            .unwrap_or(0)
    }

    /// Waits until the slowest reader is less than `limit` events behind.
    pub async fn caught_up(&self, limit: u64) {
        let mut read = self.read.subscribe();
        while self.lag() >= limit {
            if read.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Log {
    /// Drops events that every reader has read and no client may replay.
    fn trim(&mut self, kept: ReplayLimits, shared: bool) {
        let needed = if shared {
            u64::MAX
        } else {
            self.readers.values().min().copied().unwrap_or(u64::MAX)
        };
        while let Some(front) = self.items.front() {
            let expired = front
                .ended
                .get()
                .is_some_and(|at| at.elapsed() >= kept.window);
            let wanted = (front.stored || shared) && !expired && self.bytes <= kept.bytes;
            if self.first >= needed || wanted {
                break;
            }
            self.pop();
        }
    }

    fn store(&mut self, item: &Arc<Item>, limit: usize) {
        self.archived += item.data.len();
        self.archive.push_back(item.clone());
        while self.archived > limit
            && let Some(oldest) = self.archive.pop_front()
        {
            self.archived -= oldest.data.len();
        }
    }

    fn pop(&mut self) -> Option<Arc<Item>> {
        let item = self.items.pop_front()?;
        self.bytes -= item.data.len();
        self.first += 1;
        self.front_since = Some(Instant::now());
        Some(item)
    }
}

/// Result of a read.
#[derive(Debug)]
pub enum Read {
    /// The next events, in order.
    Items(Vec<Arc<Item>>),
    /// There are no more events.
    End,
}

enum Taken {
    Read(Read),
    Nothing,
    /// Another reader has been waiting longer and gets the next event.
    NotYet,
}

/// One connection's position in a feed.
#[derive(Debug)]
pub struct Reader {
    feed: Arc<Feed>,
    id: u64,
    past: VecDeque<Arc<Item>>,
    bell: watch::Receiver<u64>,
}

impl Reader {
    /// Waits for the next events. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Read {
        loop {
            if !self.past.is_empty() {
                return Read::Items(self.past.drain(..).collect());
            }
            self.bell.mark_unchanged();
            let taken = if self.feed.is_shared() {
                self.take_shared()
            } else {
                self.take()
            };
            match taken {
                Taken::Read(read) => return read,
                Taken::Nothing => {
                    if self.bell.changed().await.is_err() {
                        return Read::End;
                    }
                }
                // The other reader may have stopped reading without closing its connection.
                Taken::NotYet => {
                    let _ = tokio::time::timeout(TURN, self.bell.changed()).await;
                }
            }
        }
    }

    fn take(&self) -> Taken {
        const BATCH: usize = 512;
        let mut log = self.feed.log();
        let Some(position) = log.readers.get(&self.id).copied() else {
            return Taken::Read(Read::End);
        };
        let skip = position.saturating_sub(log.first) as usize;
        let items: Vec<_> = log.items.iter().skip(skip).take(BATCH).cloned().collect();
        if items.is_empty() {
            return if log.closed {
                Taken::Read(Read::End)
            } else {
                Taken::Nothing
            };
        }
        log.readers.insert(self.id, position + items.len() as u64);
        log.trim(self.feed.kept, false);
        drop(log);
        self.feed.read.send_modify(|n| *n += 1);
        Taken::Read(Read::Items(items))
    }

    /// Takes one event from the shared log, if it is this reader's turn.
    fn take_shared(&self) -> Taken {
        let mut log = self.feed.log();
        let first = log.waiting.front().copied();
        let stalled = log.front_since.is_some_and(|since| since.elapsed() >= TURN);
        let turn = first.is_none_or(|id| id == self.id) || stalled;
        if log.items.is_empty() || !turn {
            if log.items.is_empty() && log.closed {
                return Taken::Read(Read::End);
            }
            if !log.waiting.contains(&self.id) {
                log.waiting.push_back(self.id);
            }
            return if log.items.is_empty() {
                Taken::Nothing
            } else {
                Taken::NotYet
            };
        }
        log.waiting.retain(|id| *id != self.id);
        let item = log.pop();
        drop(log);
        self.feed.read.send_modify(|n| *n += 1);
        self.feed.ring();
        Taken::Read(Read::Items(item.into_iter().collect()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let shared = self.feed.is_shared();
        let mut log = self.feed.log();
        log.readers.remove(&self.id);
        log.waiting.retain(|id| *id != self.id);
        log.trim(self.feed.kept, shared);
        drop(log);
        self.feed.read.send_modify(|n| *n += 1);
        self.feed.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> ReplayLimits {
        ReplayLimits {
            bytes: 1 << 20,
            window: Duration::from_secs(120),
        }
    }

    fn item_of(ended: &Ended, id: &str, stored: bool) -> Arc<Item> {
        let (name, data, ended) = ("values".into(), "{}".into(), ended.clone());
        Arc::new(Item {
            id: id.into(),
            name,
            data,
            kind: Kind::Output,
            stored,
            ended,
        })
    }

    fn item(id: &str, stored: bool) -> Arc<Item> {
        item_of(&Ended::default(), id, stored)
    }

    fn ids(read: Read) -> Vec<String> {
        match read {
            Read::Items(items) => items.iter().map(|item| item.id.clone()).collect(),
            Read::End => vec!["end".into()],
        }
    }

    #[tokio::test]
    async fn readers_get_all_later_events() {
        let feed = Arc::new(Feed::new(limits()));
        feed.push(&[item("1", true), item("2", false)]);
        let mut late = feed.reader(|_| false);
        let mut replay = feed.reader(|_| true);
        feed.push(&[item("3", true)]);
        feed.close();
        assert_eq!(ids(late.next().await), ["3"]);
        assert_eq!(ids(late.next().await), ["end"]);
        assert_eq!(
            ids(replay.next().await),
            ["1"],
            "only stored events are replayed"
        );
        assert_eq!(ids(replay.next().await), ["3"]);
    }

    #[tokio::test]
    async fn events_without_a_reader_or_a_replay_are_dropped() {
        let feed = Arc::new(Feed::new(limits()));
        let mut reader = feed.reader(|_| false);
        feed.push(&[item("1", false), item("2", false)]);
        assert_eq!(feed.lag(), 2);
        assert_eq!(ids(reader.next().await).len(), 2);
        assert_eq!(feed.log().items.len(), 0);
        feed.caught_up(1).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_ended_two_minutes_ago_is_not_replayed() {
        let feed = Arc::new(Feed::new(limits()));
        let (older, newer) = (Ended::default(), Ended::default());
        feed.push(&[item_of(&older, "1", true), item_of(&newer, "2", true)]);
        older.set(Instant::now()).expect("ended only once");
        tokio::time::advance(Duration::from_secs(119)).await;
        assert_eq!(ids(feed.reader(|_| true).next().await), ["1", "2"]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(ids(feed.reader(|_| true).next().await), ["2"]);
        feed.expire();
        assert_eq!(feed.log().items.len(), 1, "the expired event is dropped");
    }

    #[tokio::test]
    async fn readers_of_a_shared_feed_take_turns() {
        let feed = Arc::new(Feed::new(limits()));
        feed.share(true);
        feed.push(&[item("0", false)]);
        let (mut one, mut two) = (feed.reader(|_| false), feed.reader(|_| false));
        assert_eq!(
            ids(one.next().await),
            ["0"],
            "the first reader receives the backlog"
        );
        assert!(futures::poll!(std::pin::pin!(two.next())).is_pending());
        assert!(futures::poll!(std::pin::pin!(one.next())).is_pending());
        feed.push(&[item("1", false), item("2", false), item("3", false)]);
        feed.close();
        assert_eq!(ids(two.next().await), ["1"]);
        assert_eq!(ids(one.next().await), ["2"]);
        drop(one);
        assert_eq!(
            ids(two.next().await),
            ["3"],
            "a disconnected reader is skipped"
        );
        assert_eq!(ids(two.next().await), ["end"]);
    }
}
