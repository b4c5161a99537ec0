//! Polls a log without losing or repeating a line: decides what to request, and which lines are new. Does no I/O.
//!
//! It relies neither on ids, nor on cursors, nor on correct clocks:
//!
//! - Pages are requested by time. Each request starts slightly before the end of the lines read so far, inclusive, and
//!   repeated lines are skipped by comparing them as a multiset. Cursors are used where time does not help: after a short
//!   page (the server may return less than requested), or when all lines of a page have the same time.
//! - A poll starts some time before the newest line, for lines that the server publishes late. Only the lines in that
//!   window are remembered. All times are the server's own.

use crate::logs::{LogAsk, LogFilter, LogKind, LogPage, LogScope, PAGE};
use crate::prelude::*;
use jiff::SignedDuration;
use runtail_core::model::{LogLine, Severity};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// How late a line may appear: the duration of the window,
const LATE: SignedDuration = SignedDuration::from_secs(10);
/// but at most this many lines,
const MOST: usize = 200;
/// and at least this many, so that a line from the future (a container with a wrong clock) can't empty it. Fewer than a
/// page, so that a quiet poll is one request.
const LEAST: usize = 50;
/// Maximum number of lines without a time to remember.
const TIMELESS: usize = 10_000;
/// How far bounds are widened, because servers may treat them as exclusive, and times have milliseconds.
const SLACK: SignedDuration = SignedDuration::from_millis(1);
/// Maximum number of pages of the first read,
const FIRST_PAGES: usize = 1000;
/// and of a later one, which leaves the rest to the next.
const LATER_PAGES: usize = 100;

/// A followed log.
#[derive(Debug, Clone)]
pub struct Tail {
    settings: Settings,
    /// Number of lines of the first read.
    wanted: usize,
    began: bool,
    /// The start of the window: older lines are never new.
    from: Option<Timestamp>,
    /// The lines in the window, sorted by time.
    handled: Vec<Mark>,
    /// Whether the server supports its cursors, if known.
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

/// A remembered line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mark {
    /// Its time, or that of the previous line.
    at: Option<Timestamp>,
    /// Hash of id, time, level and message.
    key: u64,
    /// Whether it has an id. Equal lines with an id are one line, without an id they are two.
    is_named: bool,
}

/// The bounds of a request, inclusive. A server that ignores them sends more.
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

/// One read of new lines. Has no effect if it is dropped before its end.
#[derive(Debug)]
pub struct Reading {
    settings: Settings,
    /// The next request.
    ask: Option<LogAsk>,
    backwards: bool,
    wanted: usize,
    from: Option<Timestamp>,
    handled: Vec<Mark>,
    /// New lines in reading order; with content if they match the filter.
    found: Vec<(Mark, Option<Value>)>,
    /// Number of matching lines.
    passed: usize,
    /// Ids of known lines.
    named: HashSet<u64>,
    /// Lines that this request and its cursors will repeat, and how often.
    again: HashMap<u64, usize>,
    /// The bound of this request.
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
    /// Creates the state of a log that was not read yet.
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

    /// Starts a read: the first one backwards from the newest line, later ones forwards from the start of the window.
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
            named: self
                .handled
                .iter()
                .filter(|mark| mark.is_named)
                .map(|mark| mark.key)
                .collect(),
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

    /// Applies a read and returns the new lines, sorted by time.
    pub fn keep(&mut self, reading: Reading) -> Vec<Value> {
        let Reading {
            backwards,
            mut found,
            passed,
            edge,
            cursors_work,
            is_whole,
            is_incomplete,
            ..
        } = reading;
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
            // There may be more lines with the oldest time that was read.
            from = from.max(edge.and_then(|edge| edge.checked_add(SLACK).ok()));
        }
        self.from = from;
        let timeless = self
            .handled
            .iter()
            .take_while(|mark| mark.at.is_none())
            .count();
        let mut place = 0;
        self.handled.retain(|mark| {
            place += 1;
            match mark.at {
                Some(_) => mark.at >= from,
                None => place + TIMELESS > timeless,
            }
        });
        let surplus = if backwards {
            passed.saturating_sub(self.wanted)
        } else {
            0
        };
        found
            .into_iter()
            .filter_map(|(_, row)| row)
            .skip(surplus)
            .collect()
    }

    /// Whether the server may have more matching lines that could not be read.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }
}

/// Returns the start of the window over these lines; nothing while there are few.
fn window(handled: &[Mark]) -> Option<Timestamp> {
    let nth = |n: usize| handled.len().checked_sub(n).and_then(|i| handled[i].at);
    Some(recent(nth(MOST), nth(1))?.min(nth(LEAST)?))
}

/// `LATE` before the newest line, or the last of `MOST` lines.
fn recent(most: Option<Timestamp>, newest: Option<Timestamp>) -> Option<Timestamp> {
    newest
        .and_then(|newest| newest.checked_sub(LATE).ok())
        .max(most)
}

impl Reading {
    /// Returns the next page to request, or nothing at the end.
    pub fn ask(&self) -> Option<&LogAsk> {
        self.ask.as_ref()
    }

    /// Applies its response.
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
            // The cursor repeats itself, so the server ignores it: these lines don't follow the last page.
            self.cursors_work = false;
        } else {
            let rows = self.mark(rows);
            self.sift(
                rows,
                Bounds {
                    start: asked.start,
                    end: asked.end,
                },
            );
        }
        let cursor = cursor.filter(|_| self.cursors_work);
        self.go_on(asked, is_full, cursor);
    }

    /// Decides the next request, if any.
    fn go_on(&mut self, asked: LogAsk, is_full: bool, cursor: Option<String>) {
        let edge = self.edge;
        let (has_moved, is_past) = if self.backwards {
            (
                self.bound.is_none() || edge < self.bound,
                edge < asked.start,
            )
        } else {
            (edge > self.bound, asked.end.is_some() && edge > asked.end)
        };
        if self.is_enough() {
            return;
        }
        if self.pages
            >= if self.backwards {
                FIRST_PAGES
            } else {
                LATER_PAGES
            }
        {
            // The next read continues a later one.
            self.is_incomplete |= self.backwards;
        } else if edge.is_some() && is_past {
            self.is_whole = true;
        } else if edge.is_some() && has_moved && (is_full || !self.cursors_work) {
            self.question(edge);
        } else if cursor.is_some() {
            self.ask = Some(LogAsk { cursor, ..asked });
        } else if let Some(edge) = edge.filter(|_| is_full) {
            // More lines with one time than fit on a page, and the others can't be requested: skip them.
            self.is_incomplete = true;
            self.edge = edge
                .checked_add(if self.backwards {
                    -SLACK * 2
                } else {
                    SLACK * 2
                })
                .ok();
            self.question(self.edge);
        } else {
            self.is_whole = true;
        }
    }

    /// Computes the key of each line.
    fn mark(&self, rows: Vec<Value>) -> Vec<(Mark, Value)> {
        let own: Vec<Option<Timestamp>> = rows.iter().map(LogLine::time).collect();
        let mut times = own.clone();
        // A line without a time follows the previous one, which comes after it when reading backwards.
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
        let marked = rows
            .into_iter()
            .zip(own.into_iter().zip(times))
            .map(|(row, (own, at))| {
                let key = match &row {
                    Value::Object(line) => {
                        let field = |name| line.get(name).unwrap_or(&Value::Null);
                        self.settings.hasher.hash_one((
                            field("id"),
                            own,
                            field("level"),
                            field("message"),
                        ))
                    }
                    other => self.settings.hasher.hash_one(other),
                };
                (
                    Mark {
                        at,
                        key,
                        is_named: !row["id"].is_null(),
                    },
                    row,
                )
            });
        marked.collect()
    }

    /// Adds the new lines.
    fn sift(&mut self, rows: Vec<(Mark, Value)>, bounds: Bounds) {
        for (mark, row) in rows {
            self.edge = mark.at;
            self.newest = self.newest.max(mark.at);
            if mark
                .at
                .is_some_and(|at| !bounds.hold(at) || self.from.is_some_and(|from| at < from))
            {
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

    /// Restarts from a time, in either direction.
    fn question(&mut self, bound: Option<Timestamp>) {
        self.bound = bound;
        let Settings {
            page, since, until, ..
        } = self.settings;
        let wide = bound.and_then(|at| {
            at.checked_add(if self.backwards { SLACK } else { -SLACK })
                .ok()
        });
        let (start, end) = if self.backwards {
            (since, wide.into_iter().chain(until).min())
        } else {
            (wide.max(since), until)
        };
        let known = self
            .handled
            .iter()
            .chain(self.found.iter().map(|(mark, _)| mark));
        self.again.clear();
        let bounds = Bounds { start, end };
        for mark in known.filter(|mark| !mark.is_named && mark.at.is_none_or(|at| bounds.hold(at)))
        {
            *self.again.entry(mark.key).or_default() += 1;
        }
        self.ask = Some(LogAsk {
            newest_first: self.backwards,
            limit: page,
            start,
            end,
            cursor: None,
        });
    }

    /// Whether the first read is complete: enough lines, and the whole window.
    fn is_enough(&self) -> bool {
        let nth = self.found.get(MOST - 1).and_then(|(mark, _)| mark.at);
        let recent = recent(nth, self.newest);
        self.backwards && self.passed >= self.wanted && self.edge.is_some() && self.edge < recent
    }
}

/// Follows a log: the newest lines first, then new lines, each once.
#[derive(Debug, Clone)]
pub struct LogFollower {
    control: ControlPlane,
    scope: LogScope,
    filter: LogFilter,
    tail: Tail,
}

impl LogFollower {
    /// Creates a follower that starts with the newest `tail` lines; `usize::MAX` means all.
    pub fn new(
        control: ControlPlane,
        scope: LogScope,
        filter: LogFilter,
        tail: usize,
    ) -> LogFollower {
        let tail = Tail::new(&filter, tail, PAGE);
        LogFollower {
            control,
            scope,
            filter,
            tail,
        }
    }

    /// Returns the newest lines on the first call, and new lines later, sorted by time, except for lines that the server
    /// publishes late.
    ///
    /// A build log without a revision is pinned to the newest revision on the first call.
    ///
    /// # Errors
    /// A failed call has no effect and can be repeated.
    #[boxed]
    pub async fn poll(&mut self) -> Result<Vec<LogLine>, ApiError> {
        Ok(self
            .poll_rows()
            .await?
            .into_iter()
            .map(LogLine::from)
            .collect())
    }

    /// Like [`LogFollower::poll`], with the lines as received.
    #[boxed]
    pub async fn poll_rows(&mut self) -> Result<Vec<Value>, ApiError> {
        if self.scope.kind == LogKind::Build && self.scope.revision.is_none() {
            self.scope.revision = Some(self.control.newest_revision(&self.scope.deployment).await?);
        }
        let mut reading = self.tail.read();
        while let Some(ask) = reading.ask() {
            let page = self
                .control
                .log_page(&self.scope, &self.filter, ask)
                .await?;
            reading.take(page);
        }
        Ok(self.tail.keep(reading))
    }

    /// Whether the server may have more matching lines that could not be read: more than are read at once, or more in one
    /// millisecond than fit on a page of a server without cursors.
    pub fn is_incomplete(&self) -> bool {
        self.tail.is_incomplete()
    }

    /// Returns the log; a build log's revision is known after the first call.
    pub fn scope(&self) -> &LogScope {
        &self.scope
    }
}

#[cfg(test)]
mod tests;
