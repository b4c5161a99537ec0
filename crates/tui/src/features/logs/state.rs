//! The log view: lines of one deployment's or revision's log, or of several logs merged by time.

use crate::widgets::filter::{Fields, Filter};
use crate::widgets::scroll::{Flat, Place};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, LogFilter, LogKind, LogScope};
use runtail_core::model::{Extra, LogLine, Revision, Severity};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The default limits.
const LIMITS: Limits = Limits {
    lines: 100_000,
    slack: 10_000,
    bytes: 32 << 20,
};
/// Changes of a clock difference up to this are ignored: it has a resolution of whole seconds and includes network latency.
const JITTER: SignedDuration = SignedDuration::from_secs(2);
/// The fields that a filter may name before a colon.
const FIELDS: [&str; 2] = ["level", "from"];

/// One of the logs in a view.
#[derive(Debug, Clone)]
pub struct LogSource {
    pub profile: Arc<str>,
    /// The label of its lines.
    pub name: String,
    /// The requested log.
    pub scope: LogScope,
    /// The newest record of its revision, if it is the log of a build.
    pub revision: Option<Revision>,
    /// When it was last loaded.
    pub loaded_at: Option<Timestamp>,
    /// Why the last poll failed.
    pub error: Option<ApiError>,
}

/// The memory limits of a view.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Maximum lines.
    lines: usize,
    /// Excess lines that are evicted together, so that not every poll evicts.
    slack: usize,
    /// Maximum bytes of all lines.
    bytes: usize,
}

/// The state of a log besides its lines.
#[derive(Debug, Clone, Default)]
struct SourceState {
    /// Its name, for the filter.
    name: Arc<str>,
    /// How far its server's clock is ahead of ours.
    skew: SignedDuration,
    /// The time of the last received line.
    last: Option<Timestamp>,
    /// Whether its server may have lines that couldn't be loaded.
    is_incomplete: bool,
}

/// A log line in compact form, because a view may hold 100,000.
#[derive(Debug, Clone)]
pub struct StoredLine {
    /// When it was written, by the server's clock.
    pub at: Option<Timestamp>,
    /// The level as received.
    pub level: Option<Box<str>>,
    /// The message as received.
    pub message: Box<str>,
    /// The other fields, which few lines have.
    pub extra: Option<Box<Extra>>,
}

impl From<LogLine> for StoredLine {
    fn from(
        LogLine {
            id: _,
            at,
            level,
            message,
            extra,
        }: LogLine,
    ) -> StoredLine {
        let extra = (!extra.is_empty()).then(|| Box::new(extra));
        StoredLine {
            at,
            level: level.map(String::into_boxed_str),
            message: message.into_boxed_str(),
            extra,
        }
    }
}

impl StoredLine {
    /// Returns the severity of the line.
    pub fn severity(&self) -> Severity {
        self.level
            .as_deref()
            .map_or(Severity::Unknown, Severity::of)
    }

    /// Returns its approximate bytes in memory: the message, and the fields with their overhead.
    fn weight(&self) -> usize {
        self.message.len() + self.extra.as_deref().map_or(0, fields_weight)
    }
}

/// A line in a view.
#[derive(Debug, Clone)]
pub struct LogEntry {
    /// Its number in this view, by order of arrival.
    number: u64,
    /// The index of its log.
    pub source: usize,
    pub line: StoredLine,
    /// The log's name, for the filter.
    name: Arc<str>,
    /// Its time, or that of the previous line in its log, by the server's clock.
    time: Option<Timestamp>,
    /// The sort key: that time by our clock.
    key: Option<Timestamp>,
}

/// The sort order of entries: by time, then by arrival.
type LineOrder = (Option<Timestamp>, u64);

impl LogEntry {
    fn order(&self) -> LineOrder {
        (self.key, self.number)
    }
}

/// The lines of one or more logs, sorted by time. The shown times are by each server's own clock; for sorting they are
/// converted to our clock.
#[derive(Debug, Clone)]
pub struct LogView {
    /// The number of this view in the session. Another level or time range gets another number.
    pub number: u64,
    pub sources: Vec<LogSource>,
    states: Vec<SourceState>,
    /// Build or server.
    pub kind: LogKind,
    /// The minimum severity to request.
    pub level: Option<Severity>,
    /// The time range to request, in minutes.
    pub minutes: Option<i64>,
    /// The lines, sorted.
    entries: Vec<LogEntry>,
    /// The bytes of all lines.
    bytes: usize,
    limits: Limits,
    /// The indices of the entries that match the filter.
    shown: Vec<usize>,
    /// The scroll position.
    pub place: Place,
    /// The lines under the cursor and at the top at the last time when any line was shown.
    last_anchors: [Option<LineOrder>; 2],
    filter: Filter,
    /// Whether the filter changed since the last [`LogView::clamp`].
    is_refiltered: bool,
    /// The number of the next line.
    next_number: u64,
    /// The next number when the end was last followed.
    seen_upto: u64,
    /// The number of evicted lines.
    pub let_go: u64,
}

impl Fields for LogEntry {
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
    /// Creates an empty view.
    pub fn new(number: u64, kind: LogKind, sources: Vec<LogSource>) -> LogView {
        LogView {
            number,
            states: sources
                .iter()
                .map(|s| SourceState {
                    name: s.name.as_str().into(),
                    ..SourceState::default()
                })
                .collect(),
            sources,
            kind,
            level: None,
            minutes: None,
            entries: Vec::new(),
            bytes: 0,
            limits: LIMITS,
            shown: Vec::new(),
            place: Place::following(),
            last_anchors: [None; 2],
            filter: Filter::default(),
            is_refiltered: false,
            next_number: 0,
            seen_upto: 0,
            let_go: 0,
        }
    }

    /// Returns a view that reads the same logs again under a new number.
    pub fn again(&self, number: u64) -> LogView {
        let source = |s: &LogSource| LogSource {
            loaded_at: None,
            error: None,
            ..s.clone()
        };
        let state = |s: &SourceState| SourceState {
            name: s.name.clone(),
            skew: s.skew,
            ..SourceState::default()
        };
        LogView {
            level: self.level,
            minutes: self.minutes,
            filter: self.filter.clone(),
            states: self.states.iter().map(state).collect(),
            ..LogView::new(number, self.kind, self.sources.iter().map(source).collect())
        }
    }

    /// Returns the lines to request, at a time by the server's clock.
    pub fn log_filter(&self, server_time: Timestamp) -> LogFilter {
        let since = self
            .minutes
            .and_then(|m| server_time.checked_sub(SignedDuration::from_mins(m)).ok());
        LogFilter {
            level: self.level,
            since,
            ..LogFilter::default()
        }
    }

    /// Applies the response of a log.
    pub fn take(&mut self, source: usize, result: Result<Vec<LogLine>, ApiError>, at: Timestamp) {
        let Some(of) = self.sources.get_mut(source) else {
            return;
        };
        let lines = match result {
            Ok(lines) => lines,
            Err(error) => return of.error = Some(error),
        };
        (of.loaded_at, of.error) = (Some(at), None);
        if lines.is_empty() {
            return;
        }
        let anchors = self.anchors();
        let batch = self.entries_of(source, lines);
        self.merge(batch);
        self.evict();
        self.refilter(anchors);
        self.note_seen();
    }

    /// Converts the received lines of a log to entries.
    fn entries_of(&mut self, source: usize, lines: Vec<LogLine>) -> Vec<LogEntry> {
        let Some(state) = self.states.get_mut(source) else {
            return Vec::new();
        };
        let end = self.entries.last().and_then(|e| e.key);
        // A line without a time gets the time of the previous line, or at the start of the log that of the next one.
        state.last = state.last.or_else(|| lines.iter().find_map(|line| line.at));
        let mut batch = Vec::with_capacity(lines.len());
        for line in lines.into_iter().map(StoredLine::from) {
            state.last = line.at.or(state.last);
            // It would evict all other lines, and then itself.
            if line.weight() > self.limits.bytes {
                self.let_go += 1;
                continue;
            }
            let (name, time) = (state.name.clone(), state.last);
            // In a log without any times, a line is sorted after all earlier received ones.
            let key = time.map(|time| on_our_clock(time, state.skew)).or(end);
            batch.push(LogEntry {
                number: self.next_number,
                source,
                line,
                name,
                time,
                key,
            });
            self.next_number += 1;
        }
        batch
    }

    /// Inserts entries, nearly always at the end. Both lists are mostly sorted, so the sort takes about one pass.
    fn merge(&mut self, batch: Vec<LogEntry>) {
        let Some(first) = batch.iter().map(LogEntry::order).min() else {
            return;
        };
        let from = self.entries.partition_point(|e| e.order() < first);
        self.bytes += batch.iter().map(|e| e.line.weight()).sum::<usize>();
        self.entries.extend(batch);
        self.entries[from..].sort_by_key(LogEntry::order);
    }

    /// Evicts the oldest lines over the limits.
    fn evict(&mut self) {
        let Limits {
            lines,
            slack,
            bytes,
        } = self.limits;
        let count = self.entries.len();
        let min_evicted = if count > lines + slack {
            count - lines
        } else {
            0
        };
        let mut evicted = 0;
        for entry in &self.entries {
            if evicted >= min_evicted && self.bytes <= bytes {
                break;
            }
            self.bytes -= entry.line.weight();
            evicted += 1;
        }
        self.entries.drain(..evicted);
        self.let_go += evicted as u64;
    }

    /// Applies the clock offset of a log's server, and sorts its lines again if it changed.
    pub fn set_skew(&mut self, source: usize, skew: SignedDuration) {
        let Some(state) = self.states.get_mut(source) else {
            return;
        };
        if (skew - state.skew).abs() <= JITTER {
            return;
        }
        state.skew = skew;
        let anchors = self.anchors().map(|order| order.map(|(_, number)| number));
        for entry in self.entries.iter_mut().filter(|e| e.source == source) {
            entry.key = entry
                .time
                .map(|time| on_our_clock(time, skew))
                .or(entry.key);
        }
        self.entries.sort_by_key(LogEntry::order);
        let order = |number| {
            self.entries
                .iter()
                .find(|e| e.number == number)
                .map(LogEntry::order)
        };
        let anchors = anchors.map(|number| number.and_then(order));
        self.refilter(anchors);
    }

    /// Records whether a log's server may have lines that couldn't be loaded.
    pub fn note_incomplete(&mut self, source: usize, is_incomplete: bool) {
        if let Some(state) = self.states.get_mut(source) {
            state.is_incomplete = is_incomplete;
        }
    }

    /// Returns whether a log's server may have lines that couldn't be loaded.
    pub fn is_incomplete(&self, source: usize) -> bool {
        self.states
            .get(source)
            .is_some_and(|state| state.is_incomplete)
    }

    /// Returns the lines under the cursor and at the top, or the last ones if no line is shown.
    fn anchors(&self) -> [Option<LineOrder>; 2] {
        let order =
            |row: u64, last: Option<LineOrder>| self.entry(row).map(LogEntry::order).or(last);
        [
            order(self.place.cursor.key, self.last_anchors[0]),
            order(self.place.top.key, self.last_anchors[1]),
        ]
    }

    /// Recomputes the matching lines, and moves the cursor and the top to the anchors.
    fn refilter(&mut self, anchors: [Option<LineOrder>; 2]) {
        let entries = &self.entries;
        self.shown = (0..entries.len())
            .filter(|i| self.filter.fit(&entries[*i]).is_some())
            .collect();
        // If the line itself is not shown, the next one.
        let find = |order: Option<LineOrder>| {
            let row = order.map_or(0, |order| {
                self.shown.partition_point(|i| entries[*i].order() < order)
            });
            row.min(self.shown.len().saturating_sub(1)) as u64
        };
        [self.place.cursor.key, self.place.top.key] = anchors.map(find);
        self.last_anchors = anchors;
    }

    fn note_seen(&mut self) {
        if self.place.follow {
            self.seen_upto = self.next_number;
        }
    }

    /// Adjusts the scroll position to the lines and the height of the window.
    pub fn clamp(&mut self, height: usize) {
        let rows = self.rows();
        match std::mem::take(&mut self.is_refiltered) {
            true => self.place.fill(&rows, height),
            false => self.place.clamp(&rows, height),
        }
        self.note_seen();
    }

    /// Returns the number of matching lines received since the end was last followed.
    pub fn new_entries(&self) -> u64 {
        let seen = if self.place.follow {
            self.next_number
        } else {
            self.seen_upto
        };
        self.shown
            .iter()
            .filter(|i| self.entries[**i].number >= seen)
            .count() as u64
    }

    /// Returns the filter.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Shows only the lines that match a filter.
    pub fn set_filter(&mut self, text: &str) {
        let anchors = self.anchors();
        self.filter = Filter::new(text, &FIELDS);
        self.is_refiltered = true;
        self.refilter(anchors);
    }

    /// Returns the rows for scrolling.
    pub fn rows(&self) -> Flat {
        Flat {
            first: 0,
            end: self.shown.len() as u64,
        }
    }

    /// Returns the line of a row.
    pub fn entry(&self, row: u64) -> Option<&LogEntry> {
        self.entries.get(*self.shown.get(row as usize)?)
    }

    /// Returns the line under the cursor.
    pub fn under_cursor(&self) -> Option<&LogEntry> {
        self.entry(self.place.cursor.key)
    }

    /// Returns the number of lines, and of lines that match the filter.
    pub fn counts(&self) -> (usize, usize) {
        (self.entries.len(), self.shown.len())
    }

    /// Returns whether every log has responded at least once.
    pub fn is_loaded(&self) -> bool {
        self.sources
            .iter()
            .all(|s| s.loaded_at.is_some() || s.error.is_some())
    }

    /// Switches to the next minimum severity.
    pub fn next_level(&mut self) {
        self.level = match self.level {
            None => Some(Severity::Info),
            Some(Severity::Info) => Some(Severity::Warning),
            Some(Severity::Warning) => Some(Severity::Error),
            Some(_) => None,
        };
    }

    /// Switches to the next time range.
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

/// Estimates the bytes of fields, with their overhead.
fn fields_weight(all: &Extra) -> usize {
    all.iter()
        .map(|(name, value)| 256 + name.len() + value_weight(value))
        .sum()
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| 80 + value_weight(item)).sum(),
        Value::Object(all) => fields_weight(all),
        _ => 0,
    }
}

/// Converts a server's time to our clock.
fn on_our_clock(time: Timestamp, skew: SignedDuration) -> Timestamp {
    time.checked_sub(skew).unwrap_or(time)
}

#[cfg(test)]
mod tests;
