//! Starts and ends of run attempts, and their clocks.

use super::fold::{EventTime, NEAR, Scope};
use super::{Attempt, BarKind, BarState, Clock, Known, MAX_ATTEMPTS, Timeline, between};
use crate::{Event, Seq, server_time};
use jiff::{SignedDuration, Timestamp};
use std::ops::Range;
use std::sync::Arc;

impl Timeline {
    pub(super) fn newest_attempt(&mut self) -> Option<&mut Attempt> {
        self.attempts.back_mut()
    }

    /// Converts an arrival time to the newest attempt's clock.
    pub(super) fn attempt_time(&self, at: Timestamp) -> Timestamp {
        let skew = self
            .open_attempt()
            .map_or(SignedDuration::ZERO, |attempt| attempt.skew);
        at.checked_add(skew).unwrap_or(at)
    }

    fn open_attempt(&self) -> Option<&Attempt> {
        self.attempts
            .back()
            .filter(|attempt| attempt.ended.is_none())
    }

    pub(super) fn is_open(&self) -> bool {
        self.open_attempt().is_some()
    }

    /// Returns whether a mode reports when the nodes of this attempt start and end.
    pub(super) fn is_exact(&self) -> bool {
        self.attempts.back().is_some_and(|attempt| attempt.exact)
    }

    /// Returns the time of an event, by the newest attempt's clock.
    pub(super) fn event_time(&mut self, event: &Event) -> EventTime {
        let Some(at) = event.id.as_deref().and_then(server_time) else {
            return EventTime {
                at: self.attempt_time(event.at),
                known: !event.replayed,
                server: None,
            };
        };
        let skew = (!event.replayed).then(|| at.duration_since(event.at));
        match self
            .attempts
            .back_mut()
            .filter(|attempt| attempt.ended.is_none())
        {
            Some(attempt) if attempt.clock == Clock::Server => {
                attempt.skew = skew.unwrap_or(attempt.skew)
            }
            Some(_) if !event.replayed => self.use_server_clock(at, event.at),
            _ => {}
        }
        EventTime {
            at,
            known: true,
            server: Some(skew),
        }
    }

    /// Begins an attempt of a run. An attempt that is still running is abandoned.
    pub(super) fn begin_attempt(
        &mut self,
        run_id: Option<Arc<str>>,
        number: u64,
        seq: Seq,
        timed: EventTime,
    ) {
        let at = timed.at;
        let is_retried = |last: &&Attempt| last.run_id == run_id && number > 1;
        let lost = self.attempts.back().filter(is_retried);
        let lost = lost.map(|last| last.lost + between(last.started, at));
        // A failed attempt lasted until the retry. A run that is followed by another run ended at an unknown time
        // before it.
        self.end_attempt(
            BarState::Abandoned,
            lost.map(|_| "retried".to_string()),
            lost.map(|_| (at, timed.known)),
        );
        self.ids.clear();
        self.announced.clear();
        self.streaming.clear();
        self.requested.clear();
        if self.attempts.len() >= MAX_ATTEMPTS {
            self.attempts.pop_front();
            self.evicted_attempts += 1;
        }
        // The stream has more details of a run than its record.
        let of_run = |attempt: &&mut Attempt| {
            attempt.is_recorded && attempt.run_id.is_some() && attempt.run_id == run_id
        };
        let mut recorded_start = None;
        for attempt in self.attempts.iter_mut().rev().take(NEAR).filter(of_run) {
            attempt.is_superseded = true;
            self.generation += 1;
            recorded_start =
                Some(attempt.started).filter(|start| number == 1 && *start <= at && !timed.known);
        }
        self.shape += 1;
        self.attempts.push_back(Attempt {
            run_id,
            number,
            started: recorded_start.unwrap_or(at),
            known: Known {
                start: timed.known || recorded_start.is_some(),
                end: true,
            },
            lost: lost.unwrap_or_default(),
            clock: if timed.server.is_some() {
                Clock::Server
            } else {
                Clock::Arrival
            },
            first_seq: seq,
            last_seq: seq,
            seen: at,
            first_key: self.bars.evicted() + self.bars.len() as u64,
            skew: timed.server.flatten().unwrap_or_default(),
            is_timed: timed.known,
            is_arrival_timed: timed.known && timed.server.is_none(),
            recorded: Known {
                start: recorded_start.is_some(),
                end: false,
            },
            scope: Scope::new(at),
            ..Attempt::default()
        });
    }

    /// Ends the newest attempt. Running bars end with it if their ends are not reported; otherwise they are abandoned.
    /// `at` is the end time, and whether it is known; `None` means the time of its last event.
    pub(super) fn end_attempt(
        &mut self,
        state: BarState,
        detail: Option<String>,
        at: Option<(Timestamp, bool)>,
    ) {
        self.changes += 1;
        let Some(attempt) = self.attempts.back_mut() else {
            return;
        };
        let (time, known) = at.unwrap_or((attempt.seen, attempt.is_timed));
        if attempt.ended.is_some() {
            // Later reports may say that the run was not successful after all. Other outcomes are final.
            if attempt.state == BarState::Done && state != BarState::Abandoned {
                attempt.state = state;
                attempt.detail = detail;
            }
            return;
        }
        let state = if state == BarState::Done && attempt.is_interrupted {
            BarState::Interrupted
        } else {
            state
        };
        let ended = time.max(attempt.seen).max(attempt.started);
        attempt.state = state;
        attempt.detail = detail;
        attempt.ended = Some(ended);
        attempt.known.end = known;
        attempt.is_arrival_timed |= known && attempt.clock == Clock::Arrival;
        let (first, exact) = (attempt.first_key.max(self.bars.evicted()), attempt.exact);
        let next = self.bars.evicted() + self.bars.len() as u64;
        for key in first..next {
            let Some(bar) = self
                .bar_mut(key)
                .filter(|bar| bar.state == BarState::Running)
            else {
                continue;
            };
            let is_end_reported = exact && bar.kind == BarKind::Node || bar.kind == BarKind::Tool;
            bar.state = match state {
                BarState::Done if !is_end_reported => BarState::Done,
                BarState::Interrupted if !is_end_reported => BarState::Interrupted,
                _ => BarState::Abandoned,
            };
            // An abandoned bar may have run until the end of its attempt.
            let until = if bar.state == BarState::Abandoned && state != BarState::Done {
                ended
            } else {
                bar.seen
            };
            bar.ended = Some(until.max(bar.started));
            bar.known.end &= known;
        }
    }

    /// Switches the newest attempt to the server's clock, given the server's time and the arrival time of an event.
    pub(super) fn use_server_clock(&mut self, sent: Timestamp, arrived: Timestamp) {
        let skew = sent.duration_since(arrived);
        let Some(attempt) = self.attempts.back_mut() else {
            return;
        };
        attempt.skew = skew;
        if attempt.clock == Clock::Arrival {
            // Earlier bars have arrival times. Shift them once per attempt.
            self.shift_to_server_clock(self.attempts.len() - 1, skew);
        }
    }

    /// Converts all times of an attempt to the server's clock, shifting arrival times by the clock difference.
    pub(super) fn shift_to_server_clock(&mut self, attempt: usize, skew: SignedDuration) {
        let shift = |time: &mut Timestamp| *time = time.checked_add(skew).unwrap_or(*time);
        let shift_if_known = |time: &mut Option<Timestamp>| time.iter_mut().for_each(shift);
        let shift_scope = |scope: &mut Scope| {
            [&mut scope.after, &mut scope.busy_until]
                .into_iter()
                .for_each(shift_if_known)
        };
        let keys = self.keys_of(attempt);
        self.changes += 1;
        let Some(attempt) = self.attempts.get_mut(attempt) else {
            return;
        };
        (attempt.clock, attempt.skew) = (Clock::Server, skew);
        if !attempt.recorded.start {
            shift(&mut attempt.started);
        }
        if !attempt.recorded.end {
            shift_if_known(&mut attempt.ended);
        }
        shift(&mut attempt.seen);
        shift_scope(&mut attempt.scope);
        for key in keys {
            let Some(bar) = self.bar_mut(key) else {
                continue;
            };
            if !bar.recorded.start {
                shift(&mut bar.started);
            }
            shift(&mut bar.seen);
            if !bar.recorded.end {
                shift_if_known(&mut bar.ended);
            }
            shift_if_known(&mut bar.after);
            bar.scope.iter_mut().for_each(|scope| shift_scope(scope));
        }
    }

    /// Returns the keys of an attempt's kept bars.
    pub(super) fn keys_of(&self, attempt: usize) -> Range<u64> {
        let first = |attempt: &Attempt| attempt.first_key.max(self.bars.evicted());
        let end = self.bars.evicted() + self.bars.len() as u64;
        let next = self.attempts.get(attempt + 1).map_or(end, first);
        self.attempts.get(attempt).map_or(end, first)..next
    }
}
