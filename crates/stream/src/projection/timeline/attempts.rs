//! Starts and ends of run attempts, and their clocks.

use super::fold::{NEAR, Scope, Timed};
use super::{Attempt, BarKind, BarState, Clock, Known, MAX_ATTEMPTS, Recorded, SOURCES, Timeline, between};
use crate::{Event, Seq, server_time};
use jiff::{SignedDuration, Timestamp};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

impl Timeline {
    pub(super) fn newest(&mut self) -> Option<&mut Attempt> {
        self.attempts.back_mut()
    }

    /// A time of arrival by the newest attempt's clock.
    pub(super) fn time(&self, at: Timestamp) -> Timestamp {
        let open = self.attempts.back().filter(|attempt| attempt.ended.is_none());
        let skew = open.map_or(SignedDuration::ZERO, |attempt| attempt.skew);
        at.checked_add(skew).unwrap_or(at)
    }

    /// Returns whether there is an attempt that may still tell something.
    pub(super) fn is_open(&self) -> bool {
        self.attempts.back().is_some_and(|attempt| attempt.ended.is_none())
    }

    /// Returns whether a mode reports when the nodes of this attempt start and end.
    pub(super) fn is_exact(&self) -> bool {
        self.attempts.back().is_some_and(|attempt| attempt.exact)
    }

    /// Returns the time of an event, by the newest attempt's clock.
    pub(super) fn timed(&mut self, event: &Event) -> Timed {
        let Some(at) = event.id.as_deref().and_then(server_time) else {
            return Timed { at: self.time(event.at), known: !event.replayed, server: None };
        };
        let skew = (!event.replayed).then(|| at.duration_since(event.at));
        match self.attempts.back_mut().filter(|attempt| attempt.ended.is_none()) {
            Some(attempt) if attempt.clock == Clock::Server => attempt.skew = skew.unwrap_or(attempt.skew),
            Some(_) if !event.replayed => self.server_time(at, event.at),
            _ => {}
        }
        Timed { at, known: true, server: Some(skew) }
    }

    /// A run begins, or is tried again; what was open is abandoned.
    pub(super) fn begin(&mut self, run_id: Option<Arc<str>>, number: u64, seq: Seq, timed: Timed) {
        let at = timed.at;
        let mut lost = Duration::ZERO;
        if let Some(last) = self.attempts.back().filter(|last| last.run_id == run_id && number > 1) {
            lost = last.lost + between(last.started, at);
        }
        // Its time went on until it was tried again; a run that another one follows was lost sight of before.
        let again = number > 1 && self.attempts.back().is_some_and(|last| last.run_id == run_id);
        let until = again.then_some((at, timed.known));
        self.end(BarState::Abandoned, again.then(|| "tried again".to_string()), until);
        self.ids.clear();
        self.announced.clear();
        self.speaking.clear();
        self.asked.clear();
        if self.attempts.len() >= MAX_ATTEMPTS {
            self.attempts.pop_front();
            self.attempts_gone += 1;
        }
        // The stream has more details of a run than its record.
        let of_run =
            |attempt: &&mut Attempt| attempt.is_recorded && attempt.run_id.is_some() && attempt.run_id == run_id;
        let mut began = None;
        for attempt in self.attempts.iter_mut().rev().take(NEAR).filter(of_run) {
            attempt.is_superseded = true;
            self.generation += 1;
            began = Some(attempt.started).filter(|began| number == 1 && *began <= at && !timed.known);
        }
        self.shape += 1;
        self.attempts.push_back(Attempt {
            run_id,
            number,
            started: began.unwrap_or(at),
            ended: None,
            known: Known { start: timed.known || began.is_some(), end: true },
            state: BarState::Running,
            detail: None,
            lost,
            clock: if timed.server.is_some() { Clock::Server } else { Clock::Arrival },
            exact: false,
            first_seq: seq,
            last_seq: seq,
            children: Vec::new(),
            seen: at,
            first_key: self.bars.evicted() + self.bars.len() as u64,
            sources: [false; SOURCES.len()],
            skew: timed.server.flatten().unwrap_or_default(),
            asked: false,
            is_timed: timed.known,
            is_arrival_timed: timed.known && timed.server.is_none(),
            recorded: Recorded { start: began.is_some(), end: false },
            is_filled: false,
            is_joined: false,
            is_recorded: false,
            is_superseded: false,
            scope: Scope { over: true, busy_until: Some(at), ..Scope::default() },
        });
    }

    /// The newest attempt is over, not before its last event. What still ran ended with it where nothing would have told that,
    /// else it is abandoned. `at`: when, and whether that is known; by its last event where nothing tells.
    pub(super) fn end(&mut self, state: BarState, detail: Option<String>, at: Option<(Timestamp, bool)>) {
        let Some(attempt) = self.attempts.back_mut() else { return };
        let (time, known) = at.unwrap_or((attempt.seen, attempt.is_timed));
        if attempt.ended.is_some() {
            // A failure is reported twice, the second time with more details; other outcomes are already known.
            if attempt.state == BarState::Done && state != BarState::Abandoned {
                attempt.state = state;
                attempt.detail = detail;
            }
            return;
        }
        let state = if state == BarState::Done && attempt.asked { BarState::Interrupted } else { state };
        let ended = time.max(attempt.seen).max(attempt.started);
        attempt.state = state;
        attempt.detail = detail;
        attempt.ended = Some(ended);
        attempt.known.end = known;
        attempt.is_arrival_timed |= known && attempt.clock == Clock::Arrival;
        let (first, exact) = (attempt.first_key.max(self.bars.evicted()), attempt.exact);
        let next = self.bars.evicted() + self.bars.len() as u64;
        for key in first..next {
            let Some(bar) = self.bar_mut(key).filter(|bar| bar.state == BarState::Running) else { continue };
            let told_in_time = exact && bar.kind == BarKind::Node || bar.kind == BarKind::Tool;
            bar.state = match state {
                BarState::Done if !told_in_time => BarState::Done,
                BarState::Interrupted if !told_in_time => BarState::Interrupted,
                _ => BarState::Abandoned,
            };
            // It ran on for all that is known, where the run did not come to its end.
            let until = if bar.state == BarState::Abandoned && state != BarState::Done { ended } else { bar.seen };
            bar.ended = Some(until.max(bar.started));
            bar.known.end &= known;
        }
    }

    /// Switches the attempt to the server's clock, because `debug` events contain its times.
    pub fn server_time(&mut self, told: Timestamp, arrived: Timestamp) {
        let skew = told.duration_since(arrived);
        let Some(attempt) = self.attempts.back_mut() else { return };
        attempt.skew = skew;
        if attempt.clock == Clock::Arrival {
            // Earlier bars were timed by arrival. They are moved once for each attempt.
            self.move_to_server(self.attempts.len() - 1, skew);
        }
    }

    /// Converts all times of an attempt to the server's clock, shifting arrival times by the clock difference.
    pub(super) fn move_to_server(&mut self, attempt: usize, skew: SignedDuration) {
        let moved = |time: &mut Timestamp| *time = time.checked_add(skew).unwrap_or(*time);
        let moved_if = |time: &mut Option<Timestamp>| time.iter_mut().for_each(moved);
        let moved_scope = |scope: &mut Scope| [&mut scope.after, &mut scope.busy_until].into_iter().for_each(moved_if);
        let keys = self.keys_of(attempt);
        let Some(attempt) = self.attempts.get_mut(attempt) else { return };
        (attempt.clock, attempt.skew) = (Clock::Server, skew);
        if !attempt.recorded.start {
            moved(&mut attempt.started);
        }
        if !attempt.recorded.end {
            moved_if(&mut attempt.ended);
        }
        moved(&mut attempt.seen);
        moved_scope(&mut attempt.scope);
        for key in keys {
            let Some(bar) = self.bar_mut(key) else { continue };
            if !bar.recorded.start {
                moved(&mut bar.started);
            }
            moved(&mut bar.seen);
            if !bar.recorded.end {
                moved_if(&mut bar.ended);
            }
            moved_if(&mut bar.after);
            bar.scope.iter_mut().for_each(|scope| moved_scope(scope));
        }
    }

    /// Returns the keys of an attempt's bars that are kept.
    pub(super) fn keys_of(&self, attempt: usize) -> Range<u64> {
        let first = |attempt: &Attempt| attempt.first_key.max(self.bars.evicted());
        let end = self.bars.evicted() + self.bars.len() as u64;
        let next = self.attempts.get(attempt + 1).map_or(end, first);
        self.attempts.get(attempt).map_or(end, first)..next
    }
}
