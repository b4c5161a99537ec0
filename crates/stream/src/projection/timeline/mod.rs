//! The timeline of nodes, tools and model calls: a tree of bars for each attempt of a run, built from the modes that
//! are available. Several modes are merged into one bar with the best times. Bars contain the positions of their first
//! and last events, to navigate between the tree and the event log.

mod attempts;
mod calls;
mod critical;
mod fold;
mod read;
mod recorded;
#[cfg(test)]
mod tests;

pub use critical::{Segment, Span, critical_path, own_time};
pub(super) use recorded::RunHistory;

use super::between;
use super::rows::{Rows, Weigh, index, len, namespace_weight};
use super::status::{RunEntry, RunOutcome};
use crate::{End, Interner, Item, Namespace, Outcome, Record, Seq};
use fold::Scope;
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

const MAX_ATTEMPTS: usize = 4096;
/// Maximum number of bars searched for the bar that ran at an event.
const MAX_SEARCHED: usize = 2000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BarKind {
    #[default]
    Node,
    /// A tool, in the node that ran it. A message that only requests a tool call has no bar.
    Tool,
    /// A model call.
    Model,
}

/// The state of a bar or an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BarState {
    #[default]
    Running,
    Done,
    Failed,
    /// It stopped at an interrupt.
    Interrupted,
    /// Its end was never reported: the run was retried, cancelled or abandoned.
    Abandoned,
}

/// The source of a bar, best last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BarSource {
    #[default]
    Updates,
    /// `checkpoints`: the next nodes, after each step.
    Checkpoints,
    /// `messages`: tokens and results.
    Messages,
    /// The newer protocol's `lifecycle` and `tools`.
    Lifecycle,
    /// `events`: starts and ends of everything.
    Events,
    /// `tasks`: starts and ends of nodes.
    Tasks,
    /// `debug`: starts and ends of nodes with the server's times.
    Debug,
}

/// All sources, best first.
const SOURCES: [BarSource; 7] = [
    BarSource::Debug,
    BarSource::Tasks,
    BarSource::Events,
    BarSource::Lifecycle,
    BarSource::Messages,
    BarSource::Checkpoints,
    BarSource::Updates,
];

impl BarSource {
    pub fn word(self) -> &'static str {
        match self {
            BarSource::Updates => "updates",
            BarSource::Checkpoints => "checkpoints",
            BarSource::Messages => "messages",
            BarSource::Lifecycle => "lifecycle",
            BarSource::Events => "events",
            BarSource::Tasks => "tasks",
            BarSource::Debug => "debug",
        }
    }

    /// Returns whether it reports start times.
    pub fn is_exact(self) -> bool {
        self >= BarSource::Lifecycle
    }
}

/// Which times of a bar or an attempt are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    pub start: bool,
    /// True while it is running.
    pub end: bool,
}

impl Known {
    /// Returns whether both are known.
    pub fn is_both(self) -> bool {
        self.start && self.end
    }
}

/// A bar: one execution of a node, tool or model.
#[derive(Debug, Clone, Default)]
pub struct Bar {
    pub kind: BarKind,
    /// Name of the node, tool or model.
    pub name: Arc<str>,
    /// The namespace of its graph.
    pub ns: Namespace,
    /// The bar that it ran in; `None` at the top level, or if the parent was evicted.
    pub parent: Option<u64>,
    /// The bars that ran in it, in order of first mention.
    pub children: Vec<u64>,
    /// Number of its attempt, counting evicted ones.
    pub attempt: u64,
    /// When it started, by the attempt's clock.
    pub started: Timestamp,
    /// When it ended; never before `started`.
    pub ended: Option<Timestamp>,
    /// Whether its start and end times are known, from the server or from live events. A replay without server times
    /// has none.
    pub known: Known,
    /// When the previous step of its graph ended. The time in between is a gap.
    pub after: Option<Timestamp>,
    /// Whether it is the first node of its step.
    pub leads: bool,
    pub state: BarState,
    /// The error or the question.
    pub detail: Option<Box<str>>,
    /// The first event that mentions it.
    pub first_seq: Seq,
    /// The last event that mentions it so far.
    pub last_seq: Seq,
    /// Its best source.
    pub source: BarSource,
    /// Whether its start or end is only estimated.
    pub estimated: bool,
    /// The event with what a node wrote.
    pub written: Option<Seq>,
    /// Whether only checkpoints of the thread's history tell of it.
    pub(in crate::projection) is_recorded: bool,
    /// The id of its task, or of a model call's message without the prefix, if known.
    id: Option<Arc<str>>,
    /// Which of its times come from checkpoints.
    recorded: Known,
    /// Its step by the server's numbering, if known.
    step: Option<i64>,
    /// Its step, counted from the start of its graph in this attempt.
    local_step: i64,
    /// Time of the last event that mentions it.
    seen: Timestamp,
    scope: Option<Box<Scope>>,
}

impl Bar {
    /// Returns the id of its task, or of a model call's message as in [`message_key`], if known.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns when it started, if events tell it.
    pub(in crate::projection) fn reported_start(&self) -> Option<Timestamp> {
        let is_reported = self.known.start && !self.recorded.start && !self.estimated;
        is_reported.then_some(self.started)
    }

    /// Returns when it ended, if events tell it.
    pub(in crate::projection) fn reported_end(&self) -> Option<Timestamp> {
        self.ended.filter(|_| self.known.end && !self.recorded.end)
    }

    /// Returns its duration; `None` while it is running, or if unknown.
    pub fn took(&self) -> Option<Duration> {
        self.ended
            .filter(|_| self.known.is_both())
            .map(|ended| between(self.started, ended))
    }

    /// Returns how long its graph was idle before its step.
    pub fn gap(&self) -> Duration {
        self.after
            .filter(|_| self.known.start)
            .map_or(Duration::ZERO, |after| between(after, self.started))
    }

    /// Returns whether it was running at an event, as far as known.
    pub fn covers(&self, seq: Seq) -> bool {
        self.first_seq <= seq && (seq <= self.last_seq || self.state == BarState::Running)
    }
}

/// The clock of an attempt's times. One attempt never mixes both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clock {
    #[default]
    Arrival,
    /// The server's clock: times from event ids or from `debug`. The arrival time of an event without a server time is
    /// shifted by the last known difference.
    Server,
}

/// One attempt of a run: a tree of bars with its own axis.
#[derive(Debug, Clone, Default)]
pub struct Attempt {
    /// The run, if known.
    pub run_id: Option<Arc<str>>,
    /// Which attempt of the run, from 1.
    pub number: u64,
    /// When it started, by its clock.
    pub started: Timestamp,
    pub ended: Option<Timestamp>,
    /// The step before which its steps aren't known, because neither the stream nor the loaded history has them.
    pub cut_before: Option<i64>,
    /// Whether its start and end times are known, from the server or from live events.
    pub known: Known,
    pub state: BarState,
    /// The error, or another detail of its end.
    pub detail: Option<String>,
    /// Time lost in previous attempts.
    pub lost: Duration,
    pub clock: Clock,
    /// Whether a mode reports when nodes start.
    pub exact: bool,
    /// Its first event.
    pub first_seq: Seq,
    /// Its last event, so far.
    pub last_seq: Seq,
    /// The bars at the top level, in order of first mention.
    pub children: Vec<u64>,
    /// Time of its last event.
    pub seen: Timestamp,
    /// Key of its first bar.
    first_key: u64,
    /// Which sources it has bars from, by [`BarSource`].
    sources: [bool; SOURCES.len()],
    /// How far the server's clock is ahead of ours.
    skew: SignedDuration,
    /// Whether the graph stopped at an interrupt.
    is_interrupted: bool,
    /// Whether the time of its newest event is known.
    is_timed: bool,
    /// Whether any of its times is an arrival time.
    is_arrival_timed: bool,
    /// Which of its times come from the run's record.
    recorded: Known,
    /// Whether checkpoints provide the times of steps that the stream contained without times.
    is_filled: bool,
    /// Whether the stream joined in the middle of it.
    is_joined: bool,
    /// Whether it is only known from the server's records.
    is_recorded: bool,
    /// Whether it came from a record, and the stream now has its own attempt of the run.
    pub is_superseded: bool,
    scope: Scope,
}

impl Attempt {
    /// Says which of its steps aren't known: `steps before 7 not loaded`.
    pub fn missing_steps(&self) -> Option<String> {
        self.cut_before
            .map(|step| format!("steps before {step} not loaded"))
    }

    /// Returns the sources of its bars, best first.
    pub fn sources(&self) -> impl Iterator<Item = BarSource> + '_ {
        // Ignore indirect sources if there is an exact one.
        let counts = |source: &BarSource| !self.exact || *source >= BarSource::Messages;
        SOURCES
            .into_iter()
            .filter(|source| self.sources[*source as usize])
            .filter(counts)
    }

    /// Returns whether the stream contained it, from its start or not.
    pub(in crate::projection) fn is_streamed(&self) -> bool {
        !self.is_recorded && !self.is_superseded
    }

    /// Returns whether the stream joined in the middle of it.
    pub(in crate::projection) fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// Returns whether any of its times is an arrival time.
    pub fn is_arrival_timed(&self) -> bool {
        self.is_arrival_timed
    }

    /// Returns whether its start is an arrival time. Otherwise it was joined later, or its start comes from its record.
    pub fn is_start_arrival_timed(&self) -> bool {
        self.is_arrival_timed && self.known.start && !self.recorded.start
    }

    /// Returns whether checkpoints provide the times of steps that the stream contained without times.
    pub fn is_filled(&self) -> bool {
        self.is_filled
    }

    /// Returns whether only messages report its nodes, so that nodes without messages are not known.
    pub fn is_from_messages(&self) -> bool {
        !self.exact && self.sources().eq([BarSource::Messages])
    }

    /// Returns whether its bars come only from checkpoints.
    pub fn is_from_checkpoints(&self) -> bool {
        self.sources().eq([BarSource::Checkpoints])
    }

    /// Returns its duration; `None` while it is running, or if unknown.
    pub fn took(&self) -> Option<Duration> {
        self.ended
            .filter(|_| self.known.is_both())
            .map(|ended| between(self.started, ended))
    }

    /// Returns the end of its axis: its end, or the current time while it is running.
    pub fn until(&self, now: Timestamp) -> Timestamp {
        let live = || now.checked_add(self.skew).unwrap_or(now).max(self.seen);
        self.ended.unwrap_or_else(live).max(self.started)
    }
}

impl Weigh for Bar {
    const MAX_ROWS: usize = 50_000;

    fn weight(&self) -> usize {
        size_of::<Bar>()
            + self.name.len()
            + namespace_weight(&self.ns)
            + len(&self.id)
            + len(&self.detail)
            + size_of::<Scope>()
            + self.children.len() * size_of::<u64>()
    }
}

/// The timeline of an event log.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    pub(super) bars: Rows<Bar>,
    attempts: VecDeque<Attempt>,
    evicted_attempts: u64,
    /// Incremented when bars are added, evicted or moved.
    shape: u64,
    /// Incremented when a bar gets another start, end or state.
    changes: u64,
    /// Counts changes of attempts before the newest.
    generation: u64,
    names: Interner,
    /// The run that the source reads, if reported.
    run_id: Option<Arc<str>>,
    /// Set if the current event has the server's time: how far that is ahead of our clock, if known.
    server: Option<Option<SignedDuration>>,
    /// How long before the current event the model call of its message started, if known.
    called_before: Option<SignedDuration>,
    /// Bars of the newest attempt, by task id, callback run id, message id or tool call id.
    ids: HashMap<Arc<str>, u64>,
    /// The nodes of announced messages, by message id.
    announced: HashMap<Box<str>, Option<u64>>,
    /// The model calls being streamed in the newer protocol, by namespace.
    streaming: HashMap<Namespace, u64>,
    /// Tool calls requested by messages of the newest attempt, by id: the tool, and the model call that requested it.
    requested: HashMap<Box<str>, (Arc<str>, Option<u64>)>,
}

impl Timeline {
    /// Returns the bars in order of first mention; the key of the first is [`Rows::evicted`].
    pub fn bars(&self) -> &Rows<Bar> {
        &self.bars
    }

    /// Returns the bar with this key, if it is still kept.
    pub fn bar(&self, key: u64) -> Option<&Bar> {
        self.bars.get(index(key, self.bars.evicted())?)
    }

    /// Returns the kept attempts with their numbers, oldest first.
    pub fn attempts(&self) -> impl DoubleEndedIterator<Item = (u64, &Attempt)> + ExactSizeIterator {
        let first = self.evicted_attempts;
        self.attempts
            .iter()
            .enumerate()
            .map(move |(i, attempt)| (first + i as u64, attempt))
    }

    /// Returns the attempt with this number, if it is still kept.
    pub fn attempt(&self, number: u64) -> Option<&Attempt> {
        self.attempts.get(index(number, self.evicted_attempts)?)
    }

    /// Returns the number of evicted attempts.
    pub fn evicted_attempts(&self) -> u64 {
        self.evicted_attempts
    }

    /// Returns a counter that changes with the tree, but not when a bar only grows or ends.
    pub fn shape(&self) -> u64 {
        self.shape
    }

    /// Returns a counter that changes with the times and states of bars, but not when a running bar grows.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns a counter that changes with any attempt before the newest.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the step of a node: by the server's numbering if known for its graph, else counted from the start of the
    /// attempt.
    pub fn step(&self, bar: &Bar) -> Option<i64> {
        if bar.kind != BarKind::Node {
            return None;
        }
        self.server_step(bar).or(Some(bar.local_step))
    }

    /// Returns the step of a node by the server's numbering, if that is known for its graph.
    pub(in crate::projection) fn server_step(&self, bar: &Bar) -> Option<i64> {
        let scope = match bar.parent {
            Some(parent) => self.bar(parent)?.scope.as_deref(),
            None => self.attempt(bar.attempt).map(|attempt| &attempt.scope),
        };
        let counted = || Some(bar.local_step.saturating_add(scope?.offset?));
        bar.step.or_else(counted)
    }

    /// Returns the bar of an event, else the newest bar that was running, else the last bar before it.
    pub fn at_seq(&self, seq: Seq) -> Option<u64> {
        let started = self.bars.partition_point(|bar| bar.first_seq <= seq);
        let key = |i: usize| self.bars.evicted() + i as u64;
        let recent = || (0..started).rev().take(MAX_SEARCHED);
        let mentioned =
            recent().find(|&i| self.bars[i].last_seq == seq || self.bars[i].first_seq == seq);
        let running = || recent().find(|&i| self.bars[i].covers(seq));
        mentioned
            .or_else(running)
            .or(started.checked_sub(1))
            .map(key)
    }

    /// Applies the times and the outcome of a run from the server's record. The history provides the steps that the stream didn't
    /// contain.
    pub(super) fn apply_run(&mut self, run: &RunEntry, history: &RunHistory<'_>) {
        let Some(id) = run.run_id.as_deref().filter(|_| run.is_recorded) else {
            return;
        };
        let is_of_run =
            |attempt: &Attempt| attempt.run_id.as_deref() == Some(id) && !attempt.is_superseded;
        self.changes += 1;
        let mut of_run = self
            .attempts
            .iter_mut()
            .enumerate()
            .filter(|(_, attempt)| is_of_run(attempt));
        if let Some((first, attempt)) = of_run.next() {
            let mut newest = first;
            attempt.apply_record(run, true);
            // Each attempt of a retried run has the same step numbers, so checkpoints can't be assigned to one of them.
            let is_only = attempt.number == 1 && !attempt.is_recorded;
            match of_run.next_back() {
                Some((at, last)) => {
                    newest = at;
                    last.apply_record(run, false);
                }
                None if is_only => {
                    self.fill_times(first, run, &history.checkpoints);
                    self.fill_steps(first, run, history);
                }
                None => {}
            }
            self.extend_cut_bars(newest);
        } else if (run.outcome.is_over() || run.outcome == RunOutcome::Running)
            && !self.is_open()
            && self
                .attempts
                .back()
                .is_none_or(|last| run.began.is_some_and(|began| began >= last.started))
        {
            self.begin_recorded(run, history);
        }
    }

    /// Removes all runs if they are only known from records, because newer records have more details.
    pub(super) fn forget_records(&mut self) {
        if self.attempts.iter().all(|attempt| attempt.is_recorded) {
            let (shape, generation, max_bytes) =
                (self.shape + 1, self.generation + 1, self.bars.max_bytes());
            let changes = self.changes + 1;
            *self = Timeline {
                shape,
                changes,
                generation,
                run_id: self.run_id.take(),
                ..Timeline::default()
            };
            self.bars.limit(max_bytes);
        }
    }

    pub(super) fn apply_item(&mut self, item: &Item) {
        match item {
            Item::Started { run_id, .. } => self.run_id = Some(self.names.get(run_id)),
            Item::Record(Record::Head(head)) => {
                let run_id = head.run_id.as_deref();
                self.run_id = run_id.map(|id| self.names.get(id)).or(self.run_id.take());
            }
            Item::Record(Record::End(end)) => self.end_run(end),
            Item::Record(Record::Run(run)) => {
                let is_newest = self
                    .newest_attempt()
                    .is_some_and(|last| last.run_id.as_deref() == Some(&*run.run_id));
                run.end()
                    .filter(|_| is_newest)
                    .iter()
                    .for_each(|end| self.end_run(end));
            }
            Item::Failed(_) => self.end_attempt(BarState::Abandoned, None, None),
            _ => {}
        }
    }

    /// Ends the newest attempt with its run.
    fn end_run(&mut self, end: &End) {
        let detail = || {
            end.detail
                .as_deref()
                .map(|text| runtail_core::text::head(text, fold::MAX_DETAIL).to_string())
        };
        let reason = detail().unwrap_or_else(|| end.outcome.as_str().to_string());
        let (state, detail) = match end.outcome {
            Outcome::Success => (BarState::Done, None),
            Outcome::Error | Outcome::Timeout => (BarState::Failed, Some(reason)),
            Outcome::Interrupted => (BarState::Interrupted, detail()),
            Outcome::Cancelled | Outcome::Detached => (BarState::Abandoned, Some(reason)),
            Outcome::Unknown => (BarState::Abandoned, detail()),
        };
        // A finished run ended with its last event. Otherwise the run may have continued until now, unless it is a replay.
        let is_timed = self.attempts.back().is_some_and(|attempt| attempt.is_timed);
        let may_continue = !end.outcome.is_shown_by_events() && is_timed;
        let at = may_continue.then(|| (self.attempt_time(end.at), true));
        self.end_attempt(state, detail, at);
    }
}

/// Returns the part of a message's id that identifies its model call: [`Bar::id`] of the call.
pub fn message_key(id: &str) -> &str {
    calls::call_id(id).0
}
