//! Adds, finds and ends steps and bars, for all modes.

use super::{Bar, BarKind, BarSource, BarState, Known, Timeline, index};
use crate::{Namespace, Seq};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// Maximum number of remembered bars without a reported end.
const MAX_OPEN: usize = 4096;
/// Maximum length of the error that a bar keeps, in bytes.
pub(super) const MAX_DETAIL: usize = 200;
/// Maximum depth of nested graphs.
const MAX_DEPTH: usize = 64;
/// Maximum number of siblings searched for a bar that no id identifies.
pub(super) const NEAR: usize = 16;

/// A running graph and its current step.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// The current step, from 1; 0 before the first.
    pub(super) local_step: i64,
    /// Whether that step is over, so that the next node starts a new one.
    pub(super) is_step_over: bool,
    /// When the previous step ended.
    pub(super) after: Option<Timestamp>,
    /// When the last node ended, or a state showed the end of a step.
    pub(super) busy_until: Option<Timestamp>,
    /// Whether states show the end of a step. Otherwise the end of a node does.
    pub(super) by_states: bool,
    /// How far the server's step numbers are ahead of ours.
    pub(super) offset: Option<i64>,
    /// Nodes whose end is not reported. They end with their step at the latest.
    pub(super) open: Vec<u64>,
}

impl Scope {
    /// Makes the scope of a graph that began at a time.
    pub(super) fn new(began: Timestamp) -> Scope {
        Scope {
            is_step_over: true,
            busy_until: Some(began),
            ..Scope::default()
        }
    }
}

/// The position, time and source of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventStamp {
    pub seq: Seq,
    /// By the attempt's clock.
    pub time: Timestamp,
    /// Whether that is when it happened. Otherwise it is only when its replay arrived.
    pub known: bool,
    pub source: BarSource,
}

/// The time of an event: the server's, if its id contains it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventTime {
    pub at: Timestamp,
    pub known: bool,
    /// Set if it is the server's time: how far that is ahead of our clock, if the event was live.
    pub server: Option<Option<SignedDuration>>,
}

impl EventStamp {
    /// Returns the stamp of what an event only implies.
    pub(super) fn implied(self) -> EventStamp {
        EventStamp {
            source: BarSource::Updates,
            ..self
        }
    }
}

impl Timeline {
    /// Returns the keys of the newest bars of a graph that match, newest first.
    pub(super) fn recent(
        &self,
        parent: Option<u64>,
        matches: impl Fn(&Bar) -> bool,
    ) -> impl DoubleEndedIterator<Item = u64> {
        let newest = self.siblings(parent).iter().rev().take(NEAR).copied();
        newest.filter(move |key| self.bar(*key).is_some_and(&matches))
    }

    pub(super) fn siblings(&self, parent: Option<u64>) -> &[u64] {
        match parent {
            None => self
                .attempts
                .back()
                .map_or(&[], |attempt| &attempt.children),
            Some(key) => self.bar(key).map_or(&[], |bar| &bar.children),
        }
    }

    pub(super) fn bar_mut(&mut self, key: u64) -> Option<&mut Bar> {
        self.bars.get_mut(index(key, self.bars.evicted())?)
    }

    /// Returns the graph that runs in a bar, or the root graph of the newest attempt.
    fn scope(&mut self, parent: Option<u64>) -> Option<&mut Scope> {
        match parent {
            None => self.attempts.back_mut().map(|attempt| &mut attempt.scope),
            Some(key) => self.bar_mut(key).map(|bar| {
                let new = || Box::new(Scope::new(bar.started));
                &mut **bar.scope.get_or_insert_with(new)
            }),
        }
    }

    /// Returns the bar with an id, if it is still kept.
    pub(super) fn find(&self, id: &str) -> Option<u64> {
        self.ids
            .get(id)
            .copied()
            .filter(|&key| key >= self.bars.evicted())
    }

    /// Assigns an id to a bar.
    pub(super) fn name_bar(&mut self, id: &str, key: u64) {
        let id = self.names.get(id);
        if let Some(bar) = self
            .bar_mut(key)
            .filter(|bar| bar.kind != BarKind::Tool && bar.id.is_none())
        {
            bar.id = Some(id.clone());
        }
        self.ids.insert(id, key);
    }

    /// Returns the bar in which the graph of a namespace runs; `None` for the root graph. Each segment is `node:task
    /// id`. An event with that segment shows that the task is running, so its bar is added if it is new.
    pub(super) fn graph(&mut self, ns: &[Arc<str>], stamp: EventStamp) -> Option<u64> {
        let mut parent = None;
        for (depth, segment) in ns.iter().enumerate().take(MAX_DEPTH) {
            let (name, id) = segment.split_once(':').unwrap_or((segment, segment));
            // A node that calls a graph several times numbers the calls: `sub:task id|1`.
            if segment.bytes().all(|b| b.is_ascii_digit()) {
                continue;
            }
            parent = Some(match self.find(id) {
                Some(key) => key,
                None => self.open_node(parent, name, Some(id), &ns[..depth], None, stamp),
            });
        }
        parent
    }

    /// Adds a running node whose start was not reported: it started with its step.
    pub(super) fn open_node(
        &mut self,
        parent: Option<u64>,
        name: &str,
        id: Option<&str>,
        ns: &[Arc<str>],
        step: Option<i64>,
        stamp: EventStamp,
    ) -> u64 {
        let key = self.add_node(parent, name, id, ns.into(), step, stamp, true);
        if let Some(scope) = self.scope(parent)
            && scope.open.len() < MAX_OPEN
        {
            scope.open.push(key);
        }
        key
    }

    /// Adds a running node.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn add_node(
        &mut self,
        parent: Option<u64>,
        name: &str,
        id: Option<&str>,
        ns: Namespace,
        step: Option<i64>,
        stamp: EventStamp,
        estimated: bool,
    ) -> u64 {
        let parent = self.parent_in_attempt(parent, stamp);
        let leads = self.advance_step(parent, step, stamp);
        let mut bar = self.new_bar(BarKind::Node, name, ns, parent, stamp);
        bar.estimated = estimated;
        if let Some(scope) = self.scope(parent) {
            bar.local_step = scope.local_step;
            bar.after = scope.after;
            bar.leads = leads;
            if estimated {
                bar.started = scope.after.unwrap_or(stamp.time).min(stamp.time);
            }
            if let Some(step) = step {
                bar.step = Some(step);
                scope
                    .offset
                    .get_or_insert(step.saturating_sub(scope.local_step));
            }
        }
        self.push_bar(bar, id)
    }

    /// Moves a graph to its next step if a starting node belongs to that step. Returns whether the node is its first.
    fn advance_step(&mut self, parent: Option<u64>, step: Option<i64>, stamp: EventStamp) -> bool {
        let time = stamp.time;
        let Some(scope) = self.scope(parent) else {
            return false;
        };
        let is_next = match step.zip(scope.offset) {
            Some((step, offset)) if scope.local_step > 0 => {
                step > scope.local_step.saturating_add(offset)
            }
            _ => scope.is_step_over,
        };
        if !is_next {
            return false;
        }
        // Nodes without a reported end ended before this step.
        let open = std::mem::take(&mut scope.open);
        self.close_unreported(open, time, stamp.known);
        let Some(scope) = self.scope(parent) else {
            return false;
        };
        scope.local_step += 1;
        scope.is_step_over = false;
        scope.after = scope.busy_until.map(|until| until.min(time));
        if let Some(step) = step {
            scope.offset = Some(step.saturating_sub(scope.local_step));
        }
        true
    }

    /// Ends the current step of a graph, as shown by its state or checkpoint.
    pub(super) fn end_step(&mut self, parent: Option<u64>, step: Option<i64>, stamp: EventStamp) {
        let exact = self.is_exact();
        let Some(scope) = self.scope(parent) else {
            return;
        };
        if let Some(step) = step {
            scope.offset = Some(step.saturating_sub(scope.local_step));
        }
        if exact {
            return;
        }
        scope.is_step_over = true;
        scope.by_states = true;
        scope.busy_until = scope.busy_until.max(Some(stamp.time));
        for key in std::mem::take(&mut scope.open) {
            let bar = self.bar(key);
            if bar.is_some_and(|bar| bar.state == BarState::Running) {
                self.close(key, BarState::Done, None, stamp);
            }
        }
    }

    /// Ends nodes whose step is over but whose end was not reported, with the last event that mentions them.
    pub(super) fn close_unreported(&mut self, open: Vec<u64>, time: Timestamp, known: bool) {
        for key in open {
            // A better source reported it and will report its end.
            let unended = |bar: &&Bar| bar.state == BarState::Running && !bar.source.is_exact();
            let Some(bar) = self.bar(key).filter(unended) else {
                continue;
            };
            let stamp = EventStamp {
                seq: bar.last_seq,
                time: bar.seen.min(time),
                known,
                source: bar.source,
            };
            self.close(key, BarState::Done, None, stamp);
        }
    }

    /// Ends a node, because its write was reported.
    pub(super) fn close_written(
        &mut self,
        parent: Option<u64>,
        name: &str,
        ns: &[Arc<str>],
        stamp: EventStamp,
    ) {
        let parent = self.parent_in_attempt(parent, stamp);
        let scope = match parent {
            None => self.attempts.back().map(|attempt| &attempt.scope),
            Some(key) => self.bar(key).and_then(|bar| bar.scope.as_deref()),
        };
        let is_running = |key: &u64| {
            self.bar(*key)
                .is_some_and(|b| &*b.name == name && b.state == BarState::Running)
        };
        let index = scope.and_then(|scope| scope.open.iter().position(is_running));
        let key = match index.zip(self.scope(parent)) {
            Some((index, scope)) => scope.open.remove(index),
            None => self.add_node(parent, name, None, ns.into(), None, stamp, true),
        };
        self.close(key, BarState::Done, None, stamp);
        self.set_written(key, stamp.seq);
    }

    /// Records the event with what a node wrote.
    pub(super) fn set_written(&mut self, key: u64, seq: Seq) {
        if let Some(bar) = self.bar_mut(key) {
            bar.written = Some(seq);
        }
    }

    /// Adds a running tool or model call to a node.
    pub(super) fn add_call(
        &mut self,
        kind: BarKind,
        parent: Option<u64>,
        name: &str,
        id: Option<&str>,
        stamp: EventStamp,
    ) -> u64 {
        let parent = self
            .parent_in_attempt(parent, stamp)
            .or_else(|| self.only_running_node());
        let ns = parent
            .and_then(|key| self.bar(key))
            .map_or_else(|| [].into(), |bar| bar.ns.clone());
        let mut bar = self.new_bar(kind, name, ns, parent, stamp);
        bar.estimated = !stamp.source.is_exact();
        self.push_bar(bar, id)
    }

    /// Returns the node of the root graph that runs alone: a call that names no node belongs to it.
    fn only_running_node(&self) -> Option<u64> {
        let is_running = |bar: &Bar| bar.kind == BarKind::Node && bar.state == BarState::Running;
        let mut running = self.recent(None, is_running);
        running.next().filter(|_| running.next().is_none())
    }

    /// Applies the start time and step of a bar as reported by a better source.
    pub(super) fn set_start(&mut self, key: u64, step: Option<i64>, stamp: EventStamp) {
        self.add_source(key, stamp.source);
        self.changes += 1;
        let Some(bar) = self.bar_mut(key) else { return };
        if bar.estimated || stamp.source == BarSource::Debug {
            let until = bar.ended.unwrap_or(Timestamp::MAX);
            bar.started = stamp.time.min(until);
            bar.known.start = stamp.known;
            bar.estimated = false;
        }
        bar.last_seq = bar.last_seq.max(stamp.seq);
        bar.seen = bar.seen.max(stamp.time);
        self.set_step(key, step);
    }

    /// Sets the step of a node, by the server's numbering.
    pub(super) fn set_step(&mut self, key: u64, step: Option<i64>) {
        let Some(step) = step else { return };
        let Some(bar) = self.bar_mut(key).filter(|bar| bar.kind == BarKind::Node) else {
            return;
        };
        bar.step = Some(step);
        let (local_step, parent) = (bar.local_step, bar.parent);
        if let Some(scope) = self.scope(parent) {
            scope.offset.get_or_insert(step.saturating_sub(local_step));
        }
    }

    /// Extends a bar to an event that mentions it.
    pub(super) fn touch(&mut self, key: Option<u64>, stamp: EventStamp) {
        let mut next = key;
        // Its ancestors are running too. Ten levels are enough for any readable namespace.
        for _ in 0..10 {
            let Some(bar) = next.and_then(|key| self.bar_mut(key)) else {
                return;
            };
            if bar.state == BarState::Running {
                bar.last_seq = stamp.seq;
                bar.seen = bar.seen.max(stamp.time);
            } else if bar.kind == BarKind::Model && bar.state == BarState::Done {
                bar.last_seq = stamp.seq;
                bar.ended = bar.ended.max(Some(stamp.time));
            }
            next = bar.parent;
        }
    }

    /// Ends a bar and its running descendants.
    pub(super) fn close(
        &mut self,
        key: u64,
        state: BarState,
        detail: Option<Box<str>>,
        stamp: EventStamp,
    ) {
        self.add_source(key, stamp.source);
        self.changes += 1;
        let exact = self.is_exact();
        let Some(bar) = self.bar_mut(key) else { return };
        if bar.ended.is_some() && stamp.source < bar.source {
            return;
        }
        bar.state = state;
        bar.detail = detail.or(bar.detail.take());
        bar.ended = Some(stamp.time.max(bar.started));
        bar.known.end = stamp.known;
        bar.seen = bar.seen.max(stamp.time);
        bar.last_seq = bar.last_seq.max(stamp.seq);
        let (ended, parent, kind) = (bar.ended, bar.parent, bar.kind);
        let mut descendants = match kind {
            BarKind::Node => bar.children.clone(),
            _ => return,
        };
        while let Some(key) = descendants.pop() {
            let Some(child) = self.bar_mut(key) else {
                continue;
            };
            if child.state != BarState::Running {
                continue;
            }
            child.state = if state == BarState::Failed {
                BarState::Abandoned
            } else {
                state
            };
            let end = if child.kind == BarKind::Model {
                child.seen
            } else {
                stamp.time
            };
            child.ended = Some(end.max(child.started));
            // The end of a tool is only known from its own event.
            child.known.end = stamp.known && child.kind != BarKind::Tool;
            descendants.extend(&child.children);
        }
        if let Some(scope) = self.scope(parent) {
            scope.busy_until = scope.busy_until.max(ended);
            scope.is_step_over |= exact || !scope.by_states;
        }
    }

    /// Marks the newest attempt as interrupted.
    pub(super) fn mark_interrupted(&mut self) {
        if let Some(attempt) = self
            .newest_attempt()
            .filter(|attempt| attempt.ended.is_none())
        {
            attempt.is_interrupted = true;
        }
    }

    /// Records a source of a bar.
    fn add_source(&mut self, key: u64, source: BarSource) {
        let Some(bar) = self.bar_mut(key) else { return };
        bar.source = bar.source.max(source);
        let is_node = bar.kind == BarKind::Node;
        if let Some(attempt) = self.newest_attempt() {
            attempt.sources[source as usize] = true;
            // The newer protocol only reports subgraphs.
            attempt.exact |= is_node && source > BarSource::Lifecycle;
        }
    }

    /// Makes sure that an attempt is open. Returns the parent if it belongs to that attempt.
    fn parent_in_attempt(&mut self, parent: Option<u64>, stamp: EventStamp) -> Option<u64> {
        self.ensure_attempt(stamp);
        let newest = self.evicted_attempts + self.attempts.len() as u64 - 1;
        parent.filter(|&key| self.bar(key).is_some_and(|bar| bar.attempt == newest))
    }

    /// Begins an attempt if none is open, because its start was not reported.
    pub(super) fn ensure_attempt(&mut self, stamp: EventStamp) {
        if !self.is_open() {
            let run_id = self.run_id.clone();
            let timed = EventTime {
                at: stamp.time,
                known: stamp.known,
                server: self.server,
            };
            self.begin_attempt(run_id, 1, stamp.seq, timed);
            // A stream that joined in the middle of a run doesn't contain its start.
            if let Some(attempt) = self.attempts.back_mut() {
                attempt.known.start = false;
                attempt.is_joined = true;
            }
        }
    }

    pub(super) fn new_bar(
        &mut self,
        kind: BarKind,
        name: &str,
        ns: Namespace,
        parent: Option<u64>,
        stamp: EventStamp,
    ) -> Bar {
        Bar {
            kind,
            name: self.names.get(name),
            ns,
            parent,
            attempt: self.evicted_attempts + self.attempts.len().saturating_sub(1) as u64,
            started: stamp.time,
            known: Known {
                start: stamp.known,
                end: true,
            },
            first_seq: stamp.seq,
            last_seq: stamp.seq,
            source: stamp.source,
            seen: stamp.time,
            ..Bar::default()
        }
    }

    /// Adds a bar and returns its key.
    pub(super) fn push_bar(&mut self, mut bar: Bar, id: Option<&str>) -> u64 {
        let key = self.bars.evicted() + self.bars.len() as u64;
        bar.parent = bar.parent.filter(|parent| *parent >= self.bars.evicted());
        let (parent, source, started) = (bar.parent, bar.source, bar.started);
        let evicted = self.bars.evicted();
        self.bars.push(bar);
        match parent.and_then(|parent| self.bar_mut(parent)) {
            Some(parent) => parent.children.push(key),
            None => {
                if let Some(attempt) = self.newest_attempt() {
                    attempt.children.push(key);
                    attempt.started = attempt.started.min(started);
                }
            }
        }
        if let Some(id) = id {
            self.name_bar(id, key);
        }
        self.add_source(key, source);
        self.shape += 1;
        if self.bars.evicted() > evicted {
            self.drop_evicted();
        }
        key
    }

    /// Cleans up after old bars were evicted: moves their remaining children to the top level and removes references.
    pub(super) fn drop_evicted(&mut self) {
        let first = self.bars.evicted();
        while self
            .attempts
            .get(1)
            .is_some_and(|next| next.first_key <= first)
        {
            self.attempts.pop_front();
            self.evicted_attempts += 1;
        }
        for attempt in &mut self.attempts {
            attempt.children.retain(|key| *key >= first);
        }
        let last = first + self.bars.len() as u64;
        for key in first..last {
            let Some(bar) = self.bar_mut(key) else {
                continue;
            };
            if bar.parent.is_some_and(|parent| parent < first) {
                bar.parent = None;
                let i = index(bar.attempt, self.evicted_attempts);
                if let Some(attempt) = i.and_then(|i| self.attempts.get_mut(i)) {
                    attempt.children.push(key);
                }
            }
        }
        for attempt in &mut self.attempts {
            attempt.children.sort_unstable();
            attempt.children.dedup();
        }
        self.ids.retain(|_, key| *key >= first);
        self.streaming.retain(|_, key| *key >= first);
        self.announced.clear();
    }
}
