//! Logs on the screen: the lines of one deployment's or revision's log, or of several in one view, as they come.

use super::filter::{Fields, Filter};
use super::scroll::{Flat, Place};
use crate::api::{ApiError, LogFilter, LogKind, LogScope};
use crate::model::{LogLine, Severity};
use jiff::{SignedDuration, Timestamp};
use std::borrow::Cow;
use std::sync::Arc;

/// Most lines that a view keeps.
const MOST: usize = 20_000;
/// Lines beyond that which are let go at once.
const SLACK: usize = 2_000;
/// What a filter may name before a colon.
const FIELDS: [&str; 2] = ["level", "from"];

/// One of the logs in a view.
#[derive(Debug, Clone)]
pub struct Source {
    /// The profile.
    pub profile: Arc<str>,
    /// What stands before its lines.
    pub name: String,
    /// What is read.
    pub scope: LogScope,
    /// When it was last answered.
    pub loaded_at: Option<Timestamp>,
    /// Why the last look failed.
    pub error: Option<ApiError>,
    /// What its server's clock is ahead of ours.
    pub skew: SignedDuration,
    /// The server may have more lines than could be read.
    pub incomplete: bool,
}

/// A line in a view.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Number of arrival in this view.
    number: u64,
    /// Number of its log.
    pub source: usize,
    /// The line.
    pub line: LogLine,
    /// The log's name, for the filter.
    name: Arc<str>,
}

/// The lines of one or more logs in the order of their times.
#[derive(Debug, Clone)]
pub struct LogView {
    /// Number of this reading in the session; another level or time begins another.
    pub number: u64,
    /// Whose logs.
    pub sources: Vec<Source>,
    names: Vec<Arc<str>>,
    /// Build or server.
    pub kind: LogKind,
    /// The least severe lines that are asked for.
    pub level: Option<Severity>,
    /// How far back, in minutes.
    pub minutes: Option<i64>,
    entries: Vec<Entry>,
    shown: Vec<usize>,
    /// Where one is.
    pub place: Place,
    filter: Filter,
    next: u64,
    /// Lines that were let go at the front.
    pub let_go: u64,
}

impl Fields for Entry {
    fn names(&self) -> [Cow<'_, str>; 2] {
        ["".into(), "".into()]
    }

    fn words(&self) -> Vec<Cow<'_, str>> {
        vec![self.line.message.as_str().into()]
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
            names: sources.iter().map(|s| s.name.as_str().into()).collect(),
            sources,
            kind,
            level: None,
            minutes: None,
            entries: Vec::new(),
            shown: Vec::new(),
            place: Place::following(),
            filter: Filter::default(),
            next: 0,
            let_go: 0,
        }
    }

    /// The same logs, read anew under another number.
    pub fn again(&self, number: u64) -> LogView {
        let fresh = |s: &Source| Source { loaded_at: None, error: None, ..s.clone() };
        LogView {
            level: self.level,
            minutes: self.minutes,
            filter: self.filter.clone(),
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
        let name = self.names[source].clone();
        for line in lines {
            let entry = Entry { number: self.next, source, line, name: name.clone() };
            self.next += 1;
            // Nearly always the end. A line without a time belongs after the one before it.
            let time = |e: &Entry| e.line.at;
            let before = |e: &Entry| entry.line.at.is_none() || time(e).is_none() || time(e) <= entry.line.at;
            let at = self.entries.iter().rposition(before).map_or(0, |i| i + 1);
            self.entries.insert(at, entry);
        }
        if self.entries.len() > MOST + SLACK {
            let excess = self.entries.len() - MOST;
            self.entries.drain(..excess);
            self.let_go += excess as u64;
        }
        self.refilter(here);
    }

    /// Whether a log may have more lines than could be read.
    pub fn note_incomplete(&mut self, source: usize, incomplete: bool) {
        if let Some(of) = self.sources.get_mut(source) {
            of.incomplete = incomplete;
        }
    }

    /// What is under the cursor and at the top, by number of arrival.
    fn anchors(&self) -> [Option<u64>; 2] {
        let number = |key: u64| self.shown.get(key as usize).map(|i| self.entries[*i].number);
        [number(self.place.cursor.key), number(self.place.top.key)]
    }

    /// Finds the lines that pass, and the place in them again.
    fn refilter(&mut self, [cursor, top]: [Option<u64>; 2]) {
        let entries = &self.entries;
        let end = self.shown.len() as u64;
        self.shown = (0..entries.len()).filter(|i| self.filter.fit(&entries[*i]).is_some()).collect();
        // Where the line itself is gone, the one that took its place.
        let find = |number: Option<u64>, key: u64| {
            let at = number.and_then(|n| self.shown.iter().position(|i| entries[*i].number == n));
            at.map_or(key.min(self.shown.len().saturating_sub(1) as u64), |at| at as u64)
        };
        self.place.cursor.key = find(cursor, self.place.cursor.key);
        self.place.top.key = find(top, self.place.top.key);
        // What is new is counted from the end.
        if !self.place.follow {
            let before = end.saturating_sub(self.place.seen);
            let grown = (self.shown.len() as u64).saturating_sub(end);
            self.place.seen = (self.shown.len() as u64).saturating_sub(before + grown);
        }
    }

    /// The filter as it was typed.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Shows only the lines that pass a filter.
    pub fn set_filter(&mut self, text: &str) {
        let here = self.anchors();
        self.filter = Filter::new(text, &FIELDS);
        self.refilter(here);
        self.place.seen = self.place.seen.min(self.shown.len() as u64);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(name: &str) -> Source {
        Source {
            profile: "p".into(),
            name: name.into(),
            scope: LogScope { deployment: name.into(), revision: None, kind: LogKind::Server },
            loaded_at: None,
            error: None,
            skew: SignedDuration::ZERO,
            incomplete: false,
        }
    }

    fn line(second: i64, message: &str) -> LogLine {
        LogLine { at: Timestamp::from_second(second).ok(), message: message.into(), ..LogLine::default() }
    }

    fn messages(view: &LogView) -> Vec<String> {
        (0..view.rows().end).filter_map(|row| Some(view.entry(row)?.line.message.clone())).collect()
    }

    #[test]
    fn lines_of_several_logs_stand_in_the_order_of_their_times() {
        let mut view = LogView::new(1, LogKind::Server, vec![source("a"), source("b")]);
        view.take(0, Ok(vec![line(1, "a1"), line(5, "a5")]), Timestamp::UNIX_EPOCH);
        view.take(1, Ok(vec![line(2, "b2"), line(5, "b5")]), Timestamp::UNIX_EPOCH);
        assert_eq!(messages(&view), ["a1", "b2", "a5", "b5"]);
        view.set_filter("from:b");
        assert_eq!(messages(&view), ["b2", "b5"]);
        view.set_filter("!b2 5");
        assert_eq!(messages(&view), ["a5", "b5"]);
    }

    proptest! {
        /// A paused reader stays on the line that they read, whatever comes before or after it.
        #[test]
        fn a_paused_place_stays_on_its_line(
            times in proptest::collection::vec((0i64..100, 0usize..2), 5..60),
            read in 1usize..5,
        ) {
            let mut view = LogView::new(1, LogKind::Server, vec![source("a"), source("b")]);
            for (i, (second, from)) in times.iter().enumerate() {
                if i == 5 {
                    view.place.settle(&view.rows(), 3);
                    view.place.step(&view.rows(), 3, -(read as isize));
                }
                let was = view.under_cursor().map(|e| e.number).filter(|_| i >= 5);
                view.take(*from, Ok(vec![line(*second, "x")]), Timestamp::UNIX_EPOCH);
                let rows = view.rows();
                view.place.settle(&rows, 3);
                if let Some(was) = was {
                    prop_assert_eq!(view.under_cursor().map(|e| e.number), Some(was));
                }
            }
            prop_assert!(messages(&view).len() == times.len());
            let sorted = view.entries.is_sorted_by_key(|e| e.line.at);
            prop_assert!(sorted);
        }
    }
}
