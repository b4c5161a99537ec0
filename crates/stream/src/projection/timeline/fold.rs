//! Starts, finds and ends steps and bars, for all modes.

use super::{Bar, BarKind, BarSource, BarState, Known, Recorded, Timeline};
use crate::{Namespace, Seq};
use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;

/// Maximum number of remembered bars without a reported end.
const MAX_OPEN: usize = 4096;
/// Bytes of an error that a bar shows.
pub(super) const DETAIL: usize = 200;
/// Maximum depth of nested graphs.
const MAX_DEPTH: usize = 64;
/// Bars beside one that are looked at where no id says which is meant.
pub(super) const NEAR: usize = 16;

/// A graph at work: its steps, one after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// The step that it is in, from 1; 0 before the first.
    pub(super) wave: i64,
    /// Whether that step is over, so that the next node begins another one.
    pub(super) over: bool,
    /// Where the step before was over.
    pub(super) after: Option<Timestamp>,
    /// When the last node ended, or a state showed the end of a step.
    pub(super) busy_until: Option<Timestamp>,
    /// Whether states tell where a step is over. Else the end of a node does.
    pub(super) by_states: bool,
    /// What the server's numbers of steps are ahead of ours.
    pub(super) offset: Option<i64>,
    /// Nodes whose end nothing will tell: they end with their step at the latest.
    pub(super) open: Vec<u64>,
}

/// An event and its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told {
    pub seq: Seq,
    /// By the attempt's clock.
    pub time: Timestamp,
    /// Whether that is when it happened; else only when a replay of it arrived.
    pub known: bool,
    pub source: BarSource,
}

/// The time of an event: the server's where its id has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    pub at: Timestamp,
    pub known: bool,
    /// Whether it is the server's, and what that is ahead of ours where the event was live.
    pub server: Option<Option<SignedDuration>>,
}

impl Timeline {
    /// Returns the bars in a bar, or at the top of the newest attempt.
    pub(super) fn siblings(&self, parent: Option<u64>) -> &[u64] {
        match parent {
            None => self.attempts.back().map_or(&[], |attempt| &attempt.children),
            Some(key) => self.bar(key).map_or(&[], |bar| &bar.children),
        }
    }

    pub(super) fn bar_mut(&mut self, key: u64) -> Option<&mut Bar> {
        let i = usize::try_from(key.checked_sub(self.bars.evicted())?).ok()?;
        self.bars.get_mut(i)
    }

    /// Returns the graph that runs in a bar, or the attempt's own.
    fn scope(&mut self, parent: Option<u64>) -> Option<&mut Scope> {
        match parent {
            None => self.attempts.back_mut().map(|attempt| &mut attempt.scope),
            Some(key) => self.bar_mut(key).map(|bar| {
                let started = bar.started;
                let fresh = || Box::new(Scope { over: true, busy_until: Some(started), ..Scope::default() });
                &mut **bar.scope.get_or_insert_with(fresh)
            }),
        }
    }

    /// Returns the bar with an id, if it is still kept.
    pub(super) fn find(&self, id: &str) -> Option<u64> {
        self.ids.get(id).copied().filter(|&key| key >= self.bars.evicted())
    }

    pub(super) fn name_bar(&mut self, id: &str, key: u64) {
        let id = self.names.get(id);
        if let Some(bar) = self.bar_mut(key).filter(|bar| bar.kind == BarKind::Node && bar.id.is_none()) {
            bar.id = Some(id.clone());
        }
        self.ids.insert(id, key);
    }

    /// Returns the bar in which the graph of a namespace runs; none at the top. Each segment is `node:task id`, and an event with
    /// that segment shows that the task runs.
    pub(super) fn graph(&mut self, ns: &[Arc<str>], told: Told) -> Option<u64> {
        let mut parent = None;
        for (depth, segment) in ns.iter().enumerate().take(MAX_DEPTH) {
            let (name, id) = segment.split_once(':').unwrap_or((segment, segment));
            // A node that calls a graph several times numbers them: `sub:task id|1`.
            if id == name && name.bytes().all(|b| b.is_ascii_digit()) {
                continue;
            }
            let known = self.find(id);
            parent = match known {
                Some(key) => Some(key),
                None => Some(self.open_node(parent, name, Some(id), &ns[..depth], None, told)),
            };
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
        told: Told,
    ) -> u64 {
        let key = self.add_node(parent, name, id, ns.into(), step, told, true);
        if let Some(scope) = self.scope(parent)
            && scope.open.len() < MAX_OPEN
        {
            scope.open.push(key);
        }
        key
    }

    /// A node begins.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn add_node(
        &mut self,
        parent: Option<u64>,
        name: &str,
        id: Option<&str>,
        ns: Namespace,
        step: Option<i64>,
        told: Told,
        estimated: bool,
    ) -> u64 {
        let parent = self.inside(parent, told);
        let leads = self.step_in(parent, step, told);
        let mut bar = self.fresh(BarKind::Node, name, ns, parent, told);
        bar.estimated = estimated;
        if let Some(scope) = self.scope(parent) {
            bar.wave = scope.wave;
            bar.after = scope.after;
            bar.leads = leads;
            if estimated {
                bar.started = scope.after.unwrap_or(told.time).min(told.time);
            }
            if let Some(step) = step {
                bar.step = Some(step);
                scope.offset.get_or_insert(step.saturating_sub(scope.wave));
            }
        }
        self.push(bar, id)
    }

    /// Moves a graph on to the next step where a node that begins now belongs to it. Whether it is the first one there.
    fn step_in(&mut self, parent: Option<u64>, step: Option<i64>, told: Told) -> bool {
        let time = told.time;
        let Some(scope) = self.scope(parent) else { return false };
        let next = match step.zip(scope.offset) {
            Some((step, offset)) if scope.wave > 0 => step > scope.wave.saturating_add(offset),
            _ => scope.over,
        };
        if !next {
            return false;
        }
        // What had no end of its own ended before this step.
        let open = std::mem::take(&mut scope.open);
        self.close_open(open, time, told.known);
        let Some(scope) = self.scope(parent) else { return false };
        scope.wave += 1;
        scope.over = false;
        scope.after = scope.busy_until.map(|until| until.min(time));
        if let Some(step) = step {
            scope.offset = Some(step.saturating_sub(scope.wave));
        }
        true
    }

    /// Ends a step of a graph, as shown by its state or checkpoint.
    pub(super) fn step_over(&mut self, parent: Option<u64>, step: Option<i64>, told: Told) {
        let exact = self.is_exact();
        let Some(scope) = self.scope(parent) else { return };
        if let Some(step) = step {
            scope.offset = Some(step.saturating_sub(scope.wave));
        }
        if exact {
            return;
        }
        scope.over = true;
        scope.by_states = true;
        scope.busy_until = scope.busy_until.max(Some(told.time));
        let open = std::mem::take(&mut scope.open);
        for key in open {
            if self.bar(key).is_some_and(|bar| bar.state == BarState::Running) {
                self.close(key, BarState::Done, None, told);
            }
        }
    }

    /// Nodes whose step is over without a word on it end where something was heard of them last.
    pub(super) fn close_open(&mut self, open: Vec<u64>, time: Timestamp, known: bool) {
        for key in open {
            // A better source reports it, and will report its end.
            let unended = |bar: &&Bar| bar.state == BarState::Running && !bar.source.is_exact();
            let Some(bar) = self.bar(key).filter(unended) else { continue };
            let told = Told { seq: bar.last_seq, time: bar.seen.min(time), known, source: bar.source };
            self.close(key, BarState::Done, None, told);
        }
    }

    /// A node wrote something: it is done.
    pub(super) fn wrote(&mut self, parent: Option<u64>, name: &str, ns: &[Arc<str>], told: Told) {
        let parent = self.inside(parent, told);
        let scope = match parent {
            None => self.attempts.back().map(|attempt| &attempt.scope),
            Some(key) => self.bar(key).and_then(|bar| bar.scope.as_deref()),
        };
        let runs = |key: &u64| self.bar(*key).is_some_and(|b| &*b.name == name && b.state == BarState::Running);
        let place = scope.and_then(|scope| scope.open.iter().position(runs));
        let key = match place.zip(self.scope(parent)) {
            Some((place, scope)) => scope.open.remove(place),
            None => self.add_node(parent, name, None, ns.into(), None, told, true),
        };
        self.close(key, BarState::Done, None, told);
    }

    /// A tool or a model begins within a node.
    pub(super) fn add_call(
        &mut self,
        kind: BarKind,
        parent: Option<u64>,
        name: &str,
        id: Option<&str>,
        told: Told,
    ) -> u64 {
        let parent = self.inside(parent, told);
        let ns = parent.and_then(|key| self.bar(key)).map_or_else(|| [].into(), |bar| bar.ns.clone());
        let mut bar = self.fresh(kind, name, ns, parent, told);
        bar.estimated = !told.source.is_exact();
        self.push(bar, id)
    }

    /// Applies a better source's start time and step of a bar.
    pub(super) fn began(&mut self, key: u64, step: Option<i64>, told: Told) {
        self.source(key, told.source);
        let Some(bar) = self.bar_mut(key) else { return };
        if bar.estimated || told.source == BarSource::Debug {
            let until = bar.ended.unwrap_or(Timestamp::MAX);
            bar.started = told.time.min(until);
            bar.known.start = told.known;
            bar.estimated = false;
        }
        bar.last_seq = bar.last_seq.max(told.seq);
        bar.seen = bar.seen.max(told.time);
        self.in_step(key, step);
    }

    /// The server's number of a node's step.
    pub(super) fn in_step(&mut self, key: u64, step: Option<i64>) {
        let Some(step) = step else { return };
        let Some(bar) = self.bar_mut(key).filter(|bar| bar.kind == BarKind::Node) else { return };
        bar.step = Some(step);
        let (wave, parent) = (bar.wave, bar.parent);
        if let Some(scope) = self.scope(parent) {
            scope.offset.get_or_insert(step.saturating_sub(wave));
        }
    }

    /// Something was heard of a bar, which lives at least until then.
    pub(super) fn touch(&mut self, key: Option<u64>, told: Told) {
        let mut next = key;
        // Its ancestors are active too. Ten levels are enough for any readable namespace.
        for _ in 0..10 {
            let Some(bar) = next.and_then(|key| self.bar_mut(key)) else { return };
            if bar.state == BarState::Running {
                bar.last_seq = told.seq;
                bar.seen = bar.seen.max(told.time);
            } else if bar.kind == BarKind::Model && bar.state == BarState::Done {
                bar.last_seq = told.seq;
                bar.ended = bar.ended.max(Some(told.time));
            }
            next = bar.parent;
        }
    }

    /// A bar ends, and with it what ran in it and has no end of its own.
    pub(super) fn close(&mut self, key: u64, state: BarState, detail: Option<Box<str>>, told: Told) {
        self.source(key, told.source);
        let exact = self.is_exact();
        let Some(bar) = self.bar_mut(key) else { return };
        if bar.ended.is_some() && told.source < bar.source {
            return;
        }
        bar.state = state;
        bar.detail = detail.or(bar.detail.take());
        bar.ended = Some(told.time.max(bar.started));
        bar.known.end = told.known;
        bar.seen = bar.seen.max(told.time);
        bar.last_seq = bar.last_seq.max(told.seq);
        let (ended, parent, kind) = (bar.ended, bar.parent, bar.kind);
        let mut inside = if kind == BarKind::Node { bar.children.clone() } else { Vec::new() };
        while let Some(key) = inside.pop() {
            let Some(child) = self.bar_mut(key) else { continue };
            if child.state != BarState::Running {
                continue;
            }
            child.state = if state == BarState::Failed { BarState::Abandoned } else { state };
            let end = if child.kind == BarKind::Model { child.seen } else { told.time };
            child.ended = Some(end.max(child.started));
            // A tool ends with its own event, if there is one.
            child.known.end = told.known && child.kind != BarKind::Tool;
            inside.extend(&child.children);
        }
        if kind != BarKind::Node {
            return;
        }
        if let Some(scope) = self.scope(parent) {
            scope.busy_until = scope.busy_until.max(ended);
            scope.over |= exact || !scope.by_states;
        }
    }

    /// The graph asks something.
    pub(super) fn asks(&mut self) {
        if let Some(attempt) = self.newest().filter(|attempt| attempt.ended.is_none()) {
            attempt.asked = true;
        }
    }

    fn source(&mut self, key: u64, source: BarSource) {
        let Some(bar) = self.bar_mut(key) else { return };
        bar.source = bar.source.max(source);
        let is_node = bar.kind == BarKind::Node;
        if let Some(attempt) = self.newest() {
            attempt.sources[source as usize] = true;
            // The newer protocol only reports subgraphs.
            attempt.exact |= is_node && source > BarSource::Lifecycle;
        }
    }

    /// An attempt to put a bar in, and the bar that it runs in where that belongs to the same attempt.
    fn inside(&mut self, parent: Option<u64>, told: Told) -> Option<u64> {
        self.ensure(told);
        let newest = self.attempts_gone + self.attempts.len() as u64 - 1;
        parent.filter(|&key| self.bar(key).is_some_and(|bar| bar.attempt == newest))
    }

    /// An attempt, where nothing said that one begins.
    pub(super) fn ensure(&mut self, told: Told) {
        if !self.is_open() {
            let run_id = self.run_id.clone();
            let timed = Timed { at: told.time, known: told.known, server: self.server };
            self.begin(run_id, 1, told.seq, timed);
            // A stream that is joined in the middle of a run does not tell when it began.
            if let Some(attempt) = self.attempts.back_mut() {
                attempt.known.start = false;
                attempt.is_joined = true;
            }
        }
    }

    fn fresh(&mut self, kind: BarKind, name: &str, ns: Namespace, parent: Option<u64>, told: Told) -> Bar {
        Bar {
            kind,
            name: self.names.get(name),
            ns,
            parent,
            children: Vec::new(),
            attempt: self.attempts_gone + self.attempts.len().saturating_sub(1) as u64,
            started: told.time,
            ended: None,
            known: Known { start: told.known, end: true },
            after: None,
            leads: false,
            state: BarState::Running,
            detail: None,
            first_seq: told.seq,
            last_seq: told.seq,
            source: told.source,
            estimated: false,
            id: None,
            recorded: Recorded::default(),
            step: None,
            wave: 0,
            seen: told.time,
            scope: None,
        }
    }

    fn push(&mut self, mut bar: Bar, id: Option<&str>) -> u64 {
        let key = self.bars.evicted() + self.bars.len() as u64;
        bar.parent = bar.parent.filter(|parent| *parent >= self.bars.evicted());
        let (parent, source, started) = (bar.parent, bar.source, bar.started);
        let evicted = self.bars.evicted();
        self.bars.push(bar);
        match parent.and_then(|parent| self.bar_mut(parent)) {
            Some(parent) => parent.children.push(key),
            None => {
                if let Some(attempt) = self.newest() {
                    attempt.children.push(key);
                    attempt.started = attempt.started.min(started);
                }
            }
        }
        if let Some(id) = id {
            self.name_bar(id, key);
        }
        self.source(key, source);
        self.shape += 1;
        if self.bars.evicted() > evicted {
            self.forget();
        }
        key
    }

    /// Cleans up after old bars were evicted: moves their remaining children to the top level and removes references.
    pub(super) fn forget(&mut self) {
        let first = self.bars.evicted();
        while self.attempts.len() > 1 && self.attempts.get(1).is_some_and(|next| next.first_key <= first) {
            self.attempts.pop_front();
            self.attempts_gone += 1;
        }
        for attempt in &mut self.attempts {
            attempt.children.retain(|key| *key >= first);
        }
        let last = first + self.bars.len() as u64;
        for key in first..last {
            let Some(bar) = self.bar_mut(key) else { continue };
            if bar.parent.is_some_and(|parent| parent < first) {
                bar.parent = None;
                let number = bar.attempt;
                let i = number.checked_sub(self.attempts_gone).and_then(|i| usize::try_from(i).ok());
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
        self.speaking.retain(|_, key| *key >= first);
        self.announced.clear();
    }
}
