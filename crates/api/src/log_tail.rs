//! Reading a log again and again without losing or repeating a line: what to ask for, and what of the answers is new.
//! It knows no network.
//!
//! Nothing here trusts an id to be there, a cursor to work, or a clock to be right:
//!
//! - Pages are turned by time. Each question begins where the lines read so far end, inclusive and a little before, and
//!   the lines that come again are let pass by comparing them as a multiset. Cursors are used where time does not help:
//!   on a short page (the server may give less than was asked for), or when a whole page bears one time.
//! - A poll begins some way before the newest line, for lines that the server lets out late. What was handled in that
//!   window is remembered, nothing older. All times are the server's own.

use super::logs::{LogAsk, LogFilter, LogPage};
use jiff::{SignedDuration, Timestamp};
use runtail_core::model::{LogLine, Severity};
use serde_json::Value;
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// How late a line may come: the window reaches back so far,
const LATE: SignedDuration = SignedDuration::from_secs(10);
/// but over no more than so many lines where many come,
const MOST: usize = 200;
/// and over no less than so many, so that a line from the future (a container with a wrong clock) cannot close it. Fewer
/// than a page, so that a quiet poll is one.
const LEAST: usize = 50;
/// Lines without any time that are remembered.
const TIMELESS: usize = 10_000;
/// How far bounds are widened: whether a server counts them in is not known, and times have milliseconds.
const SLACK: SignedDuration = SignedDuration::from_millis(1);
/// Pages after which the first reading ends,
const FIRST_PAGES: usize = 1000;
/// and a later one, which leaves the rest to the next.
const LATER_PAGES: usize = 100;

/// A log that is followed.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    settings: Settings,
    /// How many lines the first reading gives.
    wanted: usize,
    began: bool,
    /// The window's beginning: what is older is never new.
    from: Option<Timestamp>,
    /// What was handled in the window, in the order of time.
    handled: Vec<Mark>,
    /// Whether the server looks at its cursors, as far as is known.
    cursors_work: bool,
    is_incomplete: bool,
}

#[derive(Debug, Clone)]
struct Settings {
    page: usize,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    level: Severity,
    hasher: RandomState,
}

/// What is remembered of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark {
    /// Its time, or that of the line before it.
    at: Option<Timestamp>,
    /// Stands for id, time, level and message.
    key: u64,
    /// Whether it has an id. With one, equal lines are one line; without, two equal lines are two.
    is_named: bool,
}

/// What a question asks for, both ends included. A server that does not look at it sends more.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

impl Bounds {
    fn hold(&self, at: Timestamp) -> bool {
        self.start.is_none_or(|start| at >= start) && self.end.is_none_or(|end| at <= end)
    }
}

/// One reading of what is new. Dropped half-way, it never was.
#[derive(Debug)]
pub(super) struct Reading {
    settings: Settings,
    /// The question to be answered next.
    ask: Option<LogAsk>,
    backwards: bool,
    wanted: usize,
    from: Option<Timestamp>,
    handled: Vec<Mark>,
    /// New lines in the order of reading; the line itself where it passes the filter.
    found: Vec<(Mark, Option<Value>)>,
    /// How many pass it.
    passed: usize,
    /// Named lines that were handled or found.
    named: HashSet<u64>,
    /// Lines that this question and its cursors will bring again, and how often.
    again: HashMap<u64, usize>,
    /// The bound of this question.
    bound: Option<Timestamp>,
    /// The time of the last line read.
    edge: Option<Timestamp>,
    newest: Option<Timestamp>,
    cursors_work: bool,
    pages: usize,
    /// Whether the log was read to its end.
    is_whole: bool,
    is_incomplete: bool,
}

impl Tail {
    /// A log of which nothing is known yet.
    pub fn new(filter: &LogFilter, wanted: usize, page: usize) -> Tail {
        let settings = Settings {
            page: page.max(1),
            since: filter.since,
            until: filter.until,
            level: filter.level.unwrap_or_default(),
            hasher: RandomState::new(),
        };
        Tail {
            settings,
            wanted,
            began: false,
            from: None,
            handled: Vec::new(),
            cursors_work: true,
            is_incomplete: false,
        }
    }

    /// Begins a reading: backwards from the newest line on the first time, forwards from the window's beginning later.
    pub fn read(&self) -> Reading {
        let mut reading = Reading {
            settings: self.settings.clone(),
            ask: None,
            backwards: !self.began,
            wanted: self.wanted,
            from: self.from,
            handled: self.handled.clone(),
            found: Vec::new(),
            passed: 0,
            named: self.handled.iter().filter(|mark| mark.is_named).map(|mark| mark.key).collect(),
            again: HashMap::new(),
            bound: None,
            edge: self.from,
            newest: None,
            cursors_work: self.cursors_work,
            pages: 0,
            is_whole: false,
            is_incomplete: false,
        };
        reading.question(self.from);
        reading
    }

    /// Takes over what a reading found, and gives what is new, in the order of time.
    pub fn keep(&mut self, reading: Reading) -> Vec<Value> {
        let Reading { backwards, mut found, passed, edge, cursors_work, is_whole, is_incomplete, .. } = reading;
        if backwards {
            found.reverse();
        }
        found.sort_by_key(|(mark, _)| mark.at);
        self.began = true;
        self.cursors_work = cursors_work;
        self.is_incomplete |= is_incomplete;
        self.handled.extend(found.iter().map(|(mark, _)| *mark));
        self.handled.sort_by_key(|mark| mark.at);
        let mut from = window(&self.handled).max(self.from);
        if backwards && !is_whole {
            // Of the oldest moment that was read more lines may exist, which are none of those wanted.
            from = from.max(edge.and_then(|edge| edge.checked_add(SLACK).ok()));
        }
        self.from = from;
        let timeless = self.handled.iter().take_while(|mark| mark.at.is_none()).count();
        let mut place = 0;
        self.handled.retain(|mark| {
            place += 1;
            match mark.at {
                Some(_) => mark.at >= from,
                None => place + TIMELESS > timeless,
            }
        });
        let surplus = if backwards { passed.saturating_sub(self.wanted) } else { 0 };
        found.into_iter().filter_map(|(_, row)| row).skip(surplus).collect()
    }

    /// Whether the server may have lines that were wanted and could not be had.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }
}

/// Where the window over these lines begins; nowhere while there are few.
fn window(handled: &[Mark]) -> Option<Timestamp> {
    let nth = |n: usize| handled.len().checked_sub(n).and_then(|i| handled[i].at);
    Some(recent(nth(MOST), nth(1))?.min(nth(LEAST)?))
}

/// `LATE` before the newest line, or the last of `MOST` lines.
fn recent(most: Option<Timestamp>, newest: Option<Timestamp>) -> Option<Timestamp> {
    newest.and_then(|newest| newest.checked_sub(LATE).ok()).max(most)
}

impl Reading {
    /// The page that is wanted next, or nothing when all is read.
    pub fn ask(&self) -> Option<&LogAsk> {
        self.ask.as_ref()
    }

    /// Takes the answer to it.
    pub fn take(&mut self, page: LogPage) {
        let Some(asked) = self.ask.take() else { return };
        self.pages += 1;
        let LogPage { rows, cursor } = page;
        if rows.is_empty() {
            self.is_whole = true;
            return;
        }
        let is_full = rows.len() >= asked.limit;
        if asked.cursor.is_some() && asked.cursor == cursor {
            // It leads to itself, so the server does not look at it: these lines are none that follow the last page.
            self.cursors_work = false;
        } else {
            let rows = self.mark(rows);
            self.sift(rows, Bounds { start: asked.start, end: asked.end });
        }
        let cursor = cursor.filter(|_| self.cursors_work);
        self.go_on(asked, is_full, cursor);
    }

    /// Decides what is asked next, if anything.
    fn go_on(&mut self, asked: LogAsk, is_full: bool, cursor: Option<String>) {
        let edge = self.edge;
        let (has_moved, is_past) = match self.backwards {
            true => (self.bound.is_none() || edge < self.bound, edge < asked.start),
            false => (edge > self.bound, asked.end.is_some() && edge > asked.end),
        };
        if self.is_enough() {
            return;
        }
        if self.pages >= if self.backwards { FIRST_PAGES } else { LATER_PAGES } {
            // A later reading is taken up by the one after it.
            self.is_incomplete |= self.backwards;
        } else if edge.is_some() && is_past {
            self.is_whole = true;
        } else if edge.is_some() && has_moved && (is_full || !self.cursors_work) {
            self.question(edge);
        } else if cursor.is_some() {
            self.ask = Some(LogAsk { cursor, ..asked });
        } else if let Some(edge) = edge.filter(|_| is_full) {
            // More lines of one moment than a page holds, and no way to the others: on, past them.
            self.is_incomplete = true;
            self.edge = edge.checked_add(if self.backwards { -SLACK * 2 } else { SLACK * 2 }).ok();
            self.question(self.edge);
        } else {
            self.is_whole = true;
        }
    }

    /// Gives each line its mark.
    fn mark(&self, rows: Vec<Value>) -> Vec<(Mark, Value)> {
        let own: Vec<Option<Timestamp>> = rows.iter().map(LogLine::time).collect();
        let mut times = own.clone();
        // A line without a time was written after the one before it, which backwards comes behind it.
        let mut last = None;
        for time in times.iter_mut().rev().filter(|_| self.backwards) {
            last = time.or(last);
            *time = last;
        }
        let mut last = self.edge;
        for time in &mut times {
            last = time.or(last);
            *time = last;
        }
        let marked = rows.into_iter().zip(own.into_iter().zip(times)).map(|(row, (own, at))| {
            let key = match &row {
                Value::Object(line) => {
                    let field = |name| line.get(name).unwrap_or(&Value::Null);
                    self.settings.hasher.hash_one((field("id"), own, field("level"), field("message")))
                }
                other => self.settings.hasher.hash_one(other),
            };
            (Mark { at, key, is_named: !row["id"].is_null() }, row)
        });
        marked.collect()
    }

    /// Puts what is new to the others.
    fn sift(&mut self, rows: Vec<(Mark, Value)>, bounds: Bounds) {
        for (mark, row) in rows {
            self.edge = mark.at;
            self.newest = self.newest.max(mark.at);
            if mark.at.is_some_and(|at| !bounds.hold(at) || self.from.is_some_and(|from| at < from)) {
                continue;
            }
            let is_new = if mark.is_named {
                self.named.insert(mark.key)
            } else {
                match self.again.get_mut(&mark.key) {
                    Some(times) if *times > 0 => {
                        *times -= 1;
                        false
                    }
                    _ => true,
                }
            };
            if is_new {
                let severity = LogLine::severity_of(&row);
                let passes = severity == Severity::Unknown || severity >= self.settings.level;
                self.passed += usize::from(passes);
                self.found.push((mark, passes.then_some(row)));
            }
        }
    }

    /// Asks anew from a time on, this way or that.
    fn question(&mut self, bound: Option<Timestamp>) {
        self.bound = bound;
        let Settings { page, since, until, .. } = self.settings;
        let wide = bound.and_then(|at| at.checked_add(if self.backwards { SLACK } else { -SLACK }).ok());
        let (start, end) =
            if self.backwards { (since, wide.into_iter().chain(until).min()) } else { (wide.max(since), until) };
        let known = self.handled.iter().chain(self.found.iter().map(|(mark, _)| mark));
        self.again.clear();
        let bounds = Bounds { start, end };
        for mark in known.filter(|mark| !mark.is_named && mark.at.is_none_or(|at| bounds.hold(at))) {
            *self.again.entry(mark.key).or_default() += 1;
        }
        self.ask = Some(LogAsk { newest_first: self.backwards, limit: page, start, end, cursor: None });
    }

    /// Whether the first reading has what it wants: the lines themselves, and all of the window.
    fn is_enough(&self) -> bool {
        let nth = self.found.get(MOST - 1).and_then(|(mark, _)| mark.at);
        let recent = recent(nth, self.newest);
        self.backwards && self.passed >= self.wanted && self.edge.is_some() && self.edge < recent
    }
}

#[cfg(test)]
mod tests;
