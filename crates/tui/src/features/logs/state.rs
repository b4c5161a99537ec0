//! The log view: lines of one deployment's or revision's log, or of several logs merged by time.

use crate::widgets::filter::{Fields, Filter};
use crate::widgets::scroll::{Flat, Place};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, LogFilter, LogKind, LogScope};
use runtail_core::model::{Extra, LogLine, Severity};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The memory limits of a view.
const ROOM: Room = Room { lines: 100_000, slack: 10_000, bytes: 32 << 20 };
/// Changes of a clock difference up to this are ignored: it has a resolution of whole seconds and includes network latency.
const JITTER: SignedDuration = SignedDuration::from_secs(2);
/// What a filter may name before a colon.
const FIELDS: [&str; 2] = ["level", "from"];

/// One of the logs in a view.
#[derive(Debug, Clone)]
pub struct Source {
    pub profile: Arc<str>,
    /// What stands before its lines.
    pub name: String,
    /// What is read.
    pub scope: LogScope,
    /// When it was last answered.
    pub loaded_at: Option<Timestamp>,
    /// Why the last look failed.
    pub error: Option<ApiError>,
}

/// How much is kept.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// Most lines,
    lines: usize,
    /// and the excess that is evicted at once.
    slack: usize,
    /// Most bytes of what they say.
    bytes: usize,
}

/// What is known of a log beside its lines.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Its name, for the filter.
    name: Arc<str>,
    /// What its server's clock is ahead of ours.
    skew: SignedDuration,
    /// The time of the line that came last.
    last: Option<Timestamp>,
    /// Whether its server may have lines that couldn't be loaded.
    is_incomplete: bool,
}

/// What is kept of a line: there may be a hundred thousand of them.
#[derive(Debug, Clone)]
pub struct Kept {
    /// When it was written, by the server's clock.
    pub at: Option<Timestamp>,
    /// The level word as the server said it.
    pub level: Option<Box<str>>,
    /// The message as received.
    pub message: Box<str>,
    /// Everything else, which few lines have.
    pub extra: Option<Box<Extra>>,
}

impl From<LogLine> for Kept {
    fn from(LogLine { id: _, at, level, message, extra }: LogLine) -> Kept {
        let extra = (!extra.is_empty()).then(|| Box::new(extra));
        Kept { at, level: level.map(String::into_boxed_str), message: message.into_boxed_str(), extra }
    }
}

impl Kept {
    /// The severity of the line.
    pub fn severity(&self) -> Severity {
        self.level.as_deref().map_or(Severity::Unknown, Severity::of)
    }

    /// Bytes that it takes: of its message, and of its fields with what a field costs to keep.
    fn weight(&self) -> usize {
        self.message.len() + self.extra.as_deref().map_or(0, fields)
    }
}

/// A line in a view.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Number of arrival in this view.
    number: u64,
    /// Number of its log.
    pub source: usize,
    pub line: Kept,
    /// The log's name, for the filter.
    name: Arc<str>,
    /// Its time, or that of the line before it in its own log, by the server's clock.
    time: Option<Timestamp>,
    /// What it is sorted by: that time by our clock.
    key: Option<Timestamp>,
}

/// Where an entry stands among the others: by its time, then by its arrival.
type Order = (Option<Timestamp>, u64);

impl Entry {
    fn order(&self) -> Order {
        (self.key, self.number)
    }
}

/// The lines of one or more logs in the order of their times. Each server writes its times by its own clock, which is what
/// is shown; they are compared as if all clocks were right.
#[derive(Debug, Clone)]
pub struct LogView {
    /// Number of this reading in the session; another level or time begins another.
    pub number: u64,
    /// Whose logs.
    pub sources: Vec<Source>,
    known: Vec<Known>,
    /// Build or server.
    pub kind: LogKind,
    /// The least severe lines that are asked for.
    pub level: Option<Severity>,
    /// How far back, in minutes.
    pub minutes: Option<i64>,
    /// In their order.
    entries: Vec<Entry>,
    /// Bytes of what they say.
    bytes: usize,
    room: Room,
    shown: Vec<usize>,
    /// Where one is.
    pub place: Place,
    /// The lines under the cursor and at the top when there were any last.
    here: [Option<Order>; 2],
    filter: Filter,
    /// Whether the filter changed since the place was last brought in line.
    is_refiltered: bool,
    /// Number of the line that comes next,
    next: u64,
    /// and of the one that came next when the end was last followed.
    seen: u64,
    /// Evicted lines.
    pub let_go: u64,
}

impl Fields for Entry {
    fn names(&self) -> [Cow<'_, str>; 2] {
        ["".into(), "".into()]
    }

    fn any_word(&self, fits: impl Fn(&str) -> bool) -> bool {
        fits(&self.line.message)
    }

    fn field(&self, name: &'static str) -> Cow<'_, str> {
        match name {
            "level" => self.line.level.as_deref().unwrap_or_default().into(),
            _ => (&*self.name).into(),
        }
    }
}

impl LogView {
    /// A view of which nothing has come yet.
    pub fn new(number: u64, kind: LogKind, sources: Vec<Source>) -> LogView {
        LogView {
            number,
            known: sources.iter().map(|s| Known { name: s.name.as_str().into(), ..Known::default() }).collect(),
            sources,
            kind,
            level: None,
            minutes: None,
            entries: Vec::new(),
            bytes: 0,
            room: ROOM,
            shown: Vec::new(),
            place: Place::following(),
            here: [None; 2],
            filter: Filter::default(),
            is_refiltered: false,
            next: 0,
            seen: 0,
            let_go: 0,
        }
    }

    /// Returns a view that reads the same logs again under a new number.
    pub fn again(&self, number: u64) -> LogView {
        let fresh = |s: &Source| Source { loaded_at: None, error: None, ..s.clone() };
        let known = |k: &Known| Known { name: k.name.clone(), skew: k.skew, ..Known::default() };
        LogView {
            level: self.level,
            minutes: self.minutes,
            filter: self.filter.clone(),
            known: self.known.iter().map(known).collect(),
            ..LogView::new(number, self.kind, self.sources.iter().map(fresh).collect())
        }
    }

    /// What the server is asked for, at a time on its clock.
    pub fn wanted(&self, server_time: Timestamp) -> LogFilter {
        let since = self.minutes.and_then(|m| server_time.checked_sub(SignedDuration::from_mins(m)).ok());
        LogFilter { level: self.level, since, ..LogFilter::default() }
    }

    /// Takes what a log answered.
    pub fn take(&mut self, source: usize, result: Result<Vec<LogLine>, ApiError>, at: Timestamp) {
        let Some(of) = self.sources.get_mut(source) else { return };
        let lines = match result {
            Ok(lines) => lines,
            Err(error) => return of.error = Some(error),
        };
        (of.loaded_at, of.error) = (Some(at), None);
        if lines.is_empty() {
            return;
        }
        let here = self.anchors();
        let batch = self.entries_of(source, lines);
        self.merge(batch);
        self.make_room();
        self.refilter(here);
        self.note_seen();
    }

    /// Makes entries of the lines that a log sent.
    fn entries_of(&mut self, source: usize, lines: Vec<LogLine>) -> Vec<Entry> {
        let Some(known) = self.known.get_mut(source) else { return Vec::new() };
        let end = self.entries.last().and_then(|e| e.key);
        // A line without a time was written with the one before it; the first of all with the one that follows.
        known.last = known.last.or_else(|| lines.iter().find_map(|line| line.at));
        let mut batch = Vec::with_capacity(lines.len());
        for line in lines.into_iter().map(Kept::from) {
            known.last = line.at.or(known.last);
            // It would push everything else out, and then go itself.
            if line.weight() > self.room.bytes {
                self.let_go += 1;
                continue;
            }
            let (name, time) = (known.name.clone(), known.last);
            // In a log that never says a time the last line is the newest of all when it comes.
            let key = time.map(|time| on_our_clock(time, known.skew)).or(end);
            batch.push(Entry { number: self.next, source, line, name, time, key });
            self.next += 1;
        }
        batch
    }

    /// Puts entries to the others, nearly always at the end. Both are sorted mostly, and so are merged in one pass.
    fn merge(&mut self, batch: Vec<Entry>) {
        let Some(first) = batch.iter().map(Entry::order).min() else { return };
        let from = self.entries.partition_point(|e| e.order() < first);
        self.bytes += batch.iter().map(|e| e.line.weight()).sum::<usize>();
        self.entries.extend(batch);
        self.entries[from..].sort_by_key(Entry::order);
    }

    /// Evicts the oldest lines over the limits.
    fn make_room(&mut self) {
        let Room { lines, slack, bytes } = self.room;
        let count = self.entries.len();
        let least = if count > lines + slack { count - lines } else { 0 };
        let mut gone = 0;
        for entry in &self.entries {
            if gone >= least && self.bytes <= bytes {
                break;
            }
            self.bytes -= entry.line.weight();
            gone += 1;
        }
        self.entries.drain(..gone);
        self.let_go += gone as u64;
    }

    /// Applies the clock offset of a log's server, and sorts its lines again if it changed.
    pub fn set_skew(&mut self, source: usize, skew: SignedDuration) {
        let Some(known) = self.known.get_mut(source) else { return };
        if (skew - known.skew).abs() <= JITTER {
            return;
        }
        known.skew = skew;
        let here = self.anchors().map(|order| order.map(|(_, number)| number));
        for entry in self.entries.iter_mut().filter(|e| e.source == source) {
            entry.key = entry.time.map(|time| on_our_clock(time, skew)).or(entry.key);
        }
        self.entries.sort_by_key(Entry::order);
        let order = |number| self.entries.iter().find(|e| e.number == number).map(Entry::order);
        let here = here.map(|number| number.and_then(order));
        self.refilter(here);
    }

    /// Records whether a log's server may have lines that couldn't be loaded.
    pub fn note_incomplete(&mut self, source: usize, is_incomplete: bool) {
        if let Some(known) = self.known.get_mut(source) {
            known.is_incomplete = is_incomplete;
        }
    }

    /// Returns whether a log's server may have lines that couldn't be loaded.
    pub fn is_incomplete(&self, source: usize) -> bool {
        self.known.get(source).is_some_and(|known| known.is_incomplete)
    }

    /// What is under the cursor and at the top; where nothing is shown, what was there last.
    fn anchors(&self) -> [Option<Order>; 2] {
        let order = |row: u64, last: Option<Order>| self.entry(row).map(Entry::order).or(last);
        [order(self.place.cursor.key, self.here[0]), order(self.place.top.key, self.here[1])]
    }

    /// Finds the lines that pass, and the place in them again.
    fn refilter(&mut self, here: [Option<Order>; 2]) {
        let entries = &self.entries;
        self.shown = (0..entries.len()).filter(|i| self.filter.fit(&entries[*i]).is_some()).collect();
        // Where the line itself is gone, the one after it.
        let find = |order: Option<Order>| {
            let row = order.map_or(0, |order| self.shown.partition_point(|i| entries[*i].order() < order));
            row.min(self.shown.len().saturating_sub(1)) as u64
        };
        [self.place.cursor.key, self.place.top.key] = here.map(find);
        self.here = here;
    }

    fn note_seen(&mut self) {
        if self.place.follow {
            self.seen = self.next;
        }
    }

    /// Brings the place in line with the lines and with the height of the window.
    pub fn clamp(&mut self, height: usize) {
        let rows = self.rows();
        match std::mem::take(&mut self.is_refiltered) {
            true => self.place.fill(&rows, height),
            false => self.place.clamp(&rows, height),
        }
        self.note_seen();
    }

    /// Lines that pass the filter and came since the end was last followed.
    pub fn unseen(&self) -> u64 {
        let seen = if self.place.follow { self.next } else { self.seen };
        self.shown.iter().filter(|i| self.entries[**i].number >= seen).count() as u64
    }

    /// The filter as it was typed.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Shows only the lines that pass a filter.
    pub fn set_filter(&mut self, text: &str) {
        let here = self.anchors();
        self.filter = Filter::new(text, &FIELDS);
        self.is_refiltered = true;
        self.refilter(here);
    }

    /// The rows to scroll in.
    pub fn rows(&self) -> Flat {
        Flat { first: 0, end: self.shown.len() as u64 }
    }

    /// A line by its row.
    pub fn entry(&self, row: u64) -> Option<&Entry> {
        self.entries.get(*self.shown.get(row as usize)?)
    }

    /// The line under the cursor.
    pub fn under_cursor(&self) -> Option<&Entry> {
        self.entry(self.place.cursor.key)
    }

    /// Lines that there are, and lines that pass the filter.
    pub fn counts(&self) -> (usize, usize) {
        (self.entries.len(), self.shown.len())
    }

    /// Whether every log has answered at least once.
    pub fn is_loaded(&self) -> bool {
        self.sources.iter().all(|s| s.loaded_at.is_some() || s.error.is_some())
    }

    /// The next least severe level to ask for.
    pub fn next_level(&mut self) {
        self.level = match self.level {
            None => Some(Severity::Info),
            Some(Severity::Info) => Some(Severity::Warning),
            Some(Severity::Warning) => Some(Severity::Error),
            Some(_) => None,
        };
    }

    /// The next stretch of time to ask for.
    pub fn next_minutes(&mut self) {
        self.minutes = match self.minutes {
            None => Some(15),
            Some(15) => Some(60),
            Some(60) => Some(24 * 60),
            Some(1440) => Some(7 * 24 * 60),
            Some(_) => None,
        };
    }
}

fn fields(all: &Extra) -> usize {
    all.iter().map(|(name, value)| 256 + name.len() + inside(value)).sum()
}

fn inside(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| 80 + inside(item)).sum(),
        Value::Object(all) => fields(all),
        _ => 0,
    }
}

/// A server's time by our clock.
fn on_our_clock(time: Timestamp, skew: SignedDuration) -> Timestamp {
    time.checked_sub(skew).unwrap_or(time)
}

#[cfg(test)]
mod tests;
