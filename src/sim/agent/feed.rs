//! One stream's events on the server: what was published, who still has to read it, and what may be replayed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// What an event is to a thread's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Output of a run.
    Output,
    /// Start or end of a run.
    Lifecycle,
    /// The state was changed by hand.
    State,
}

/// One published event.
#[derive(Debug)]
pub struct Item {
    /// Its id; empty where this server gives none.
    pub id: String,
    /// Its name, with the namespace.
    pub name: String,
    /// Its data: JSON on one line.
    pub data: String,
    /// What it is to a thread's stream.
    pub kind: Kind,
    /// Whether it can be replayed.
    pub stored: bool,
}

#[derive(Debug, Default)]
struct Log {
    items: VecDeque<Arc<Item>>,
    first: u64,
    bytes: usize,
    kept_bytes: usize,
    closed: bool,
    readers: HashMap<u64, u64>,
    next_reader: u64,
}

/// An append-only log with any number of readers.
#[derive(Debug)]
pub struct Feed {
    log: Mutex<Log>,
    bell: watch::Sender<u64>,
    read: watch::Sender<u64>,
}

impl Feed {
    /// An empty feed that keeps so many bytes of events for a replay.
    pub fn new(kept_bytes: usize) -> Self {
        let log = Log { kept_bytes, ..Log::default() };
        Feed { log: Mutex::new(log), bell: watch::channel(0).0, read: watch::channel(0).0 }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends events.
    pub fn push(&self, items: &[Arc<Item>]) {
        {
            let mut log = self.log();
            for item in items {
                log.bytes += item.data.len();
                log.items.push_back(item.clone());
            }
            log.trim();
        }
        self.bell.send_modify(|n| *n += 1);
    }

    /// Says that nothing more will come.
    pub fn close(&self) {
        self.log().closed = true;
        self.bell.send_modify(|n| *n += 1);
    }

    /// A reader of what comes from now on, and, where `replay` says so, of stored events first.
    pub fn reader(self: &Arc<Self>, replay: impl Fn(&Item) -> bool) -> Reader {
        let bell = self.bell.subscribe();
        let mut log = self.log();
        let past: VecDeque<_> = log.items.iter().filter(|item| item.stored && replay(item)).cloned().collect();
        let position = log.first + log.items.len() as u64;
        let id = log.next_reader;
        log.next_reader += 1;
        log.readers.insert(id, position);
        drop(log);
        Reader { feed: self.clone(), id, past, bell }
    }

    /// Whether an event with this id is stored.
    pub fn knows(&self, id: &str) -> bool {
        self.log().items.iter().any(|item| item.stored && item.id == id)
    }

    /// Whether anybody reads it.
    pub fn is_read(&self) -> bool {
        !self.log().readers.is_empty()
    }

    /// How far the slowest reader is behind.
    pub fn lag(&self) -> u64 {
        let log = self.log();
        let end = log.first + log.items.len() as u64;
        log.readers.values().map(|position| end - position).max().unwrap_or(0)
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
    /// Lets go of what no reader needs and nobody may replay.
    fn trim(&mut self) {
        let needed = self.readers.values().min().copied().unwrap_or(u64::MAX);
        while let Some(front) = self.items.front() {
            if self.first >= needed || (front.stored && self.bytes <= self.kept_bytes) {
                break;
            }
            self.bytes -= front.data.len();
            self.first += 1;
            self.items.pop_front();
        }
    }
}

/// What a reader got.
#[derive(Debug)]
pub enum Read {
    /// The next events, in order.
    Items(Vec<Arc<Item>>),
    /// Nothing more will come.
    End,
}

/// One connection's place in a feed.
#[derive(Debug)]
pub struct Reader {
    feed: Arc<Feed>,
    id: u64,
    past: VecDeque<Arc<Item>>,
    bell: watch::Receiver<u64>,
}

impl Reader {
    /// Waits for the next events. Nothing is lost when the wait is dropped.
    pub async fn next(&mut self) -> Read {
        loop {
            if !self.past.is_empty() {
                return Read::Items(self.past.drain(..).collect());
            }
            self.bell.mark_unchanged();
            if let Some(read) = self.take() {
                return read;
            }
            if self.bell.changed().await.is_err() {
                return Read::End;
            }
        }
    }

    fn take(&self) -> Option<Read> {
        const BATCH: usize = 512;
        let mut log = self.feed.log();
        let position = log.readers.get(&self.id).copied()?;
        let skip = position.saturating_sub(log.first) as usize;
        let items: Vec<_> = log.items.iter().skip(skip).take(BATCH).cloned().collect();
        if items.is_empty() {
            return log.closed.then_some(Read::End);
        }
        log.readers.insert(self.id, position + items.len() as u64);
        log.trim();
        drop(log);
        self.feed.read.send_modify(|n| *n += 1);
        Some(Read::Items(items))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut log = self.feed.log();
        log.readers.remove(&self.id);
        log.trim();
        drop(log);
        self.feed.read.send_modify(|n| *n += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, stored: bool) -> Arc<Item> {
        Arc::new(Item { id: id.into(), name: "values".into(), data: "{}".into(), kind: Kind::Output, stored })
    }

    fn ids(read: Read) -> Vec<String> {
        match read {
            Read::Items(items) => items.iter().map(|item| item.id.clone()).collect(),
            Read::End => vec!["end".into()],
        }
    }

    #[tokio::test]
    async fn readers_get_all_from_where_they_came_in() {
        let feed = Arc::new(Feed::new(1 << 20));
        feed.push(&[item("1", true), item("2", false)]);
        let mut late = feed.reader(|_| false);
        let mut replay = feed.reader(|_| true);
        feed.push(&[item("3", true)]);
        feed.close();
        assert_eq!(ids(late.next().await), ["3"]);
        assert_eq!(ids(late.next().await), ["end"]);
        assert_eq!(ids(replay.next().await), ["1"], "what is not stored is not replayed");
        assert_eq!(ids(replay.next().await), ["3"]);
    }

    #[tokio::test]
    async fn what_nobody_needs_is_let_go() {
        let feed = Arc::new(Feed::new(1 << 20));
        let mut reader = feed.reader(|_| false);
        feed.push(&[item("1", false), item("2", false)]);
        assert_eq!(feed.lag(), 2);
        assert_eq!(ids(reader.next().await).len(), 2);
        assert_eq!(feed.log().items.len(), 0);
        feed.caught_up(1).await;
    }
}
