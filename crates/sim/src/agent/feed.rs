//! The events of one stream on the server: published events, readers, and replay.

use crate::agent::prelude::*;
use std::collections::VecDeque;
use tokio::sync::watch;
use tokio::time::Instant;

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

impl Item {
    /// An event without an id that is not stored.
    pub fn new(name: impl Into<String>, data: &Value, kind: Kind) -> Self {
        Item {
            id: String::new(),
            name: name.into(),
            data: data.to_string(),
            kind,
            stored: false,
            ended: Ended::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Log {
    items: VecDeque<Arc<Item>>,
    first: u64,
    bytes: usize,
    closed: bool,
    readers: HashMap<u64, u64>,
    next_reader: u64,
}

/// Limits on what a feed stores.
#[derive(Debug, Clone, Copy)]
pub struct ReplayLimits {
    /// Bytes of events.
    pub bytes: usize,
    /// How long events are stored after the end of their run.
    pub window: Duration,
}

/// An append-only log with any number of readers.
#[derive(Debug)]
pub struct Feed {
    log: Mutex<Log>,
    kept: ReplayLimits,
    bell: watch::Sender<u64>,
    read: watch::Sender<u64>,
}

impl Feed {
    /// An empty feed.
    pub fn new(kept: ReplayLimits) -> Self {
        Feed {
            log: Mutex::default(),
            kept,
            bell: watch::channel(0).0,
            read: watch::channel(0).0,
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        locked(&self.log)
    }

    /// Appends events.
    pub fn push(&self, items: &[Arc<Item>]) {
        {
            let mut log = self.log();
            log.bytes += items.iter().map(|item| item.data.len()).sum::<usize>();
            log.items.extend(items.iter().cloned());
            log.trim(self.kept);
        }
        self.ring();
    }

    fn ring(&self) {
        self.bell.send_modify(|n| *n += 1);
    }

    /// Ends the feed.
    pub fn close(&self) {
        self.log().closed = true;
        self.ring();
    }

    /// Returns a reader of new events, after the stored ones if `replay` is set.
    pub fn reader(self: &Arc<Self>, replay: impl Fn(&Item) -> bool) -> Reader {
        let bell = self.bell.subscribe();
        let mut log = self.log();
        let replayed = |item: &&Arc<Item>| item.stored && !self.kept.expired(item) && replay(item);
        let past = log.items.iter().filter(replayed).cloned().collect();
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

    /// Whether it has readers.
    pub fn is_read(&self) -> bool {
        !self.log().readers.is_empty()
    }

    /// Drops the events of runs that ended too long ago to be replayed.
    pub fn expire(&self) {
        self.log().trim(self.kept);
    }

    /// Number of events that the slowest reader still has to read.
    pub fn lag(&self) -> u64 {
        let log = self.log();
        let end = log.first + log.items.len() as u64;
        let behind = log.readers.values().map(|position| end - position);
        behind.max().unwrap_or(0)
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

impl ReplayLimits {
    fn expired(&self, item: &Item) -> bool {
        let ended = item.ended.get();
        ended.is_some_and(|at| at.elapsed() >= self.window)
    }
}

impl Log {
    /// Drops events that every reader has read and no client may replay.
    fn trim(&mut self, kept: ReplayLimits) {
        let needed = self.readers.values().min().copied().unwrap_or(u64::MAX);
        while let Some(front) = self.items.front() {
            let wanted = front.stored && !kept.expired(front) && self.bytes <= kept.bytes;
            if self.first >= needed || wanted {
                break;
            }
            self.bytes -= front.data.len();
            self.items.pop_front();
            self.first += 1;
        }
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
            if let Some(read) = self.take() {
                return read;
            }
            if self.bell.changed().await.is_err() {
                return Read::End;
            }
        }
    }

    /// Returns the next events, or `None` if there are none yet.
    fn take(&self) -> Option<Read> {
        const BATCH: usize = 512;
        let mut log = self.feed.log();
        let Some(position) = log.readers.get(&self.id).copied() else {
            return Some(Read::End);
        };
        let skip = position.saturating_sub(log.first) as usize;
        let items: Vec<_> = log.items.iter().skip(skip).take(BATCH).cloned().collect();
        if items.is_empty() {
            return log.closed.then_some(Read::End);
        }
        log.readers.insert(self.id, position + items.len() as u64);
        log.trim(self.feed.kept);
        drop(log);
        self.feed.read.send_modify(|n| *n += 1);
        Some(Read::Items(items))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut log = self.feed.log();
        log.readers.remove(&self.id);
        log.trim(self.feed.kept);
        drop(log);
        self.feed.read.send_modify(|n| *n += 1);
        self.feed.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_without_a_reader_or_a_replay_are_dropped() {
        let feed = Arc::new(Feed::new(ReplayLimits {
            bytes: 1 << 20,
            window: Duration::from_secs(120),
        }));
        let mut reader = feed.reader(|_| false);
        let item = || Arc::new(Item::new("values", &Value::Null, Kind::Output));
        feed.push(&[item(), item()]);
        assert_eq!(feed.lag(), 2);
        assert!(matches!(reader.next().await, Read::Items(items) if items.len() == 2));
        assert_eq!(feed.log().items.len(), 0);
        feed.caught_up(1).await;
    }
}
