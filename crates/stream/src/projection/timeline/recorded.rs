//! Applies the server's records to the timeline: real times of runs, and the steps of runs that the stream did not
//! contain.

use super::fold::{EventStamp, EventTime, MAX_DETAIL};
use super::{Attempt, Bar, BarKind, BarSource, BarState, Clock, Known, Timeline};
use crate::projection::status::{RunEntry, RunOutcome};
use crate::{Namespace, Seq};
use jiff::Timestamp;
use runtail_core::model::{StateFacts, StepLimit, TaskFacts};
use runtail_core::text;
use std::collections::HashMap;
use std::sync::Arc;

impl Attempt {
    /// Uses only the times of the server's record, because none of the stream's events has a step.
    fn use_record_only(&mut self, run: &RunEntry) {
        let (Some(began), Some(ended)) = (run.began, run.ended) else {
            return;
        };
        let both = Known {
            start: true,
            end: true,
        };
        (self.started, self.ended, self.seen) = (began, Some(ended.max(began)), ended.max(began));
        (self.recorded, self.known, self.clock) = (both, both, Clock::Server);
        (self.is_arrival_timed, self.is_filled) = (false, true);
    }

    /// Applies the server's record of a run to its first or a later attempt.
    pub(super) fn apply_record(&mut self, run: &RunEntry, is_first: bool) {
        if let Some(began) = run.began.filter(|_| is_first && !self.known.start) {
            (self.started, self.known.start, self.recorded.start) = (began, true, true);
        }
        let is_open = self.ended.is_none();
        if let Some(ended) = run
            .ended
            .filter(|_| run.outcome.is_over() && (is_open || !self.known.end))
        {
            (self.ended, self.known.end, self.recorded.end) =
                (Some(ended.max(self.started)), true, true);
        }
        let state = match run.outcome {
            RunOutcome::Queued | RunOutcome::Running => return,
            RunOutcome::Finished => BarState::Done,
            RunOutcome::WaitingForInput | RunOutcome::Paused => BarState::Interrupted,
            RunOutcome::Failed | RunOutcome::TimedOut => BarState::Failed,
            RunOutcome::Cancelled | RunOutcome::Deleted => BarState::Abandoned,
            RunOutcome::Unknown => return,
        };
        self.state = state;
        self.detail = match run.outcome {
            RunOutcome::Cancelled | RunOutcome::Deleted => Some(run.outcome.word().into()),
            _ => run.error.clone().or(self.detail.take()),
        };
    }
}

/// What the thread's history says of a run.
#[derive(Debug, Default)]
pub(in crate::projection) struct RunHistory<'a> {
    /// The checkpoint of another run at which it continued, and the tasks there that it executed.
    pub resumed: Option<(&'a StateFacts, Vec<&'a TaskFacts>)>,
    /// Its checkpoints, oldest first.
    pub checkpoints: Vec<&'a StateFacts>,
}

/// A task that a run executed, by the thread's history.
struct RecordedTask<'a> {
    node: &'a str,
    id: Option<&'a str>,
    step: Option<i64>,
    began: Timestamp,
    /// `None` while the run is active.
    ended: Option<Timestamp>,
    state: BarState,
    detail: Option<Box<str>>,
    /// Whether it ran alone. For parallel tasks, the next checkpoint only shows when the slowest of them was done.
    is_alone: bool,
}

impl<'a> RunHistory<'a> {
    /// Returns the step before which the history isn't loaded, if the run began earlier.
    fn cut_before(&self) -> Option<i64> {
        let first = self
            .checkpoints
            .first()
            .filter(|_| self.resumed.is_none())?;
        // A new input or a fork has a checkpoint of its own.
        let is_cut = first.source == "loop" && first.parent_id.is_some() && first.step? > 0;
        is_cut.then_some(first.step?.saturating_add(1))
    }

    /// Returns the tasks that the run executed, oldest first. Each checkpoint names the tasks that run until the next one.
    fn tasks(&self, run: &RunEntry) -> Vec<RecordedTask<'a>> {
        let mut tasks = Vec::new();
        if let (Some((facts, resumed)), Some(began)) = (&self.resumed, run.began) {
            let next = self.checkpoints.first().copied();
            let read = resumed
                .iter()
                .filter_map(|task| self.task(run, (facts, task), next, (began, resumed.len())));
            // The next checkpoint shows that they are done, whatever happened in the run before.
            tasks.extend(read.map(|task| match next {
                Some(_) => RecordedTask {
                    state: BarState::Done,
                    detail: None,
                    ..task
                },
                None => task,
            }));
        }
        for (nth, facts) in self.checkpoints.iter().copied().enumerate() {
            let next = self.checkpoints.get(nth + 1).copied();
            let Some(began) = facts.created_at else {
                continue;
            };
            // The tasks before which it paused never ran in this run.
            if next.is_none() && run.outcome == RunOutcome::Paused {
                continue;
            }
            let of_step = facts.tasks.iter();
            tasks.extend(of_step.filter_map(|task| {
                self.task(run, (facts, task), next, (began, facts.tasks.len()))
            }));
        }
        tasks
    }

    fn task(
        &self,
        run: &RunEntry,
        (facts, task): (&'a StateFacts, &'a TaskFacts),
        next: Option<&StateFacts>,
        (began, parallel): (Timestamp, usize),
    ) -> Option<RecordedTask<'a>> {
        if task.node.starts_with("__") {
            return None;
        }
        let is_at_limit = || run.error.as_deref().is_some_and(StepLimit::is_named_by);
        let (state, detail) = match (&task.error, next) {
            // The limit of steps ended the run before its tasks began.
            (None, None) if !task.has_result && task.questions.is_empty() && is_at_limit() => {
                return None;
            }
            (Some(error), _) if task.is_failed() => {
                (BarState::Failed, Some(text::head(error, MAX_DETAIL).into()))
            }
            (Some(_), _) => (BarState::Abandoned, None),
            (None, _) if !task.questions.is_empty() => (BarState::Interrupted, None),
            (None, None) if !task.has_result => (BarState::Abandoned, None),
            _ => (BarState::Done, None),
        };
        let ended = next.map_or(run.ended, |next| next.created_at);
        Some(RecordedTask {
            node: &task.node,
            id: Some(task.id.as_str()).filter(|id| !id.is_empty()),
            step: facts.step.map(|step| step.saturating_add(1)),
            began,
            ended: ended.filter(|_| run.outcome.is_over() || next.is_some()),
            state,
            detail,
            is_alone: parallel == 1,
        })
    }
}

impl Timeline {
    /// Adds a run that the stream didn't contain, from its record and the history.
    pub(super) fn begin_recorded(&mut self, run: &RunEntry, history: &RunHistory<'_>) {
        let Some(began) = run.began else { return };
        let seq = run.end_seq.or(run.first_seq).unwrap_or_default();
        let timed = EventTime {
            at: began,
            known: true,
            server: Some(None),
        };
        self.begin_attempt(run.run_id.clone(), 1, seq, timed);
        for task in history.tasks(run) {
            let stamp = EventStamp {
                seq,
                time: task.began,
                known: true,
                source: BarSource::Checkpoints,
            };
            let key = self.add_node(
                None,
                task.node,
                task.id,
                Namespace::default(),
                task.step,
                stamp,
                false,
            );
            if let Some(bar) = self.bar_mut(key) {
                bar.estimated = !task.is_alone;
            }
            if let Some(ended) = task.ended {
                let stamp = EventStamp {
                    time: ended,
                    ..stamp
                };
                self.close(key, task.state, task.detail, stamp);
            }
        }
        if let Some(attempt) = self.attempts.back_mut() {
            attempt.is_recorded = true;
            attempt.cut_before = history.cut_before();
            attempt.apply_record(run, true);
        }
    }

    /// Extends the bars that ran when a run was cancelled or failed. The stream's end of a run doesn't show its outcome, so the bars
    /// were cut at their last event.
    pub(super) fn extend_cut_bars(&mut self, at: usize) {
        let Some(attempt) = self.attempts.get(at) else {
            return;
        };
        let (Some(ended), BarState::Abandoned | BarState::Failed) = (attempt.ended, attempt.state)
        else {
            return;
        };
        for key in self.keys_of(at) {
            if let Some(bar) = self
                .bar_mut(key)
                .filter(|bar| bar.state == BarState::Abandoned)
                && bar.ended == Some(bar.seen.max(bar.started))
            {
                bar.ended = Some(ended.max(bar.started));
            }
        }
    }

    /// Adds the steps that the stream of a run didn't contain: those before it joined, those in a gap, and nodes that its modes don't
    /// report.
    pub(super) fn fill_steps(&mut self, at: usize, run: &RunEntry, history: &RunHistory<'_>) {
        // Bars are in order of their attempts.
        let is_newest = at + 1 == self.attempts.len();
        let Some(attempt) = self
            .attempts
            .get(at)
            .filter(|of| is_newest && of.ended.is_some())
        else {
            return;
        };
        if !run.outcome.is_over() {
            return;
        }
        let nodes = attempt
            .children
            .iter()
            .filter(|key| self.bar(**key).is_some_and(|bar| bar.kind == BarKind::Node));
        let mut unknown: Vec<u64> = nodes.copied().collect();
        let (had_none, is_joined) = (unknown.is_empty(), attempt.is_joined);
        let tasks = history.tasks(run);
        if let Some(attempt) = self.attempts.get_mut(at) {
            attempt.cut_before = history.cut_before().filter(|_| is_joined || had_none);
        }
        let mut missing: Vec<&RecordedTask<'_>> = Vec::new();
        // A stream that joined later contains the last ones.
        let mut in_order: Vec<&RecordedTask<'_>> = tasks.iter().collect();
        if is_joined {
            in_order.reverse();
        }
        for task in in_order {
            match self.position_of(task, &unknown, is_joined) {
                Some(found) => {
                    let key = unknown.remove(found);
                    if let (Some(id), Some(bar)) = (task.id, self.bar_mut(key)) {
                        bar.id.get_or_insert_with(|| id.into());
                    }
                }
                None => missing.push(task),
            }
        }
        // A bar that no checkpoint has may be one of these.
        let left: Vec<Arc<str>> = unknown
            .iter()
            .filter_map(|key| Some(self.bar(*key)?.name.clone()))
            .collect();
        missing.retain(|task| !left.iter().any(|name| **name == *task.node));
        if missing.is_empty() {
            return;
        }
        missing.sort_by_key(|task| task.step);
        if had_none && let Some(attempt) = self.attempts.get_mut(at) {
            attempt.use_record_only(run);
        }
        let seq = self
            .attempts
            .get(at)
            .map_or(Seq::START, |attempt| attempt.last_seq);
        missing.iter().for_each(|task| self.fill_step(task, seq));
        self.sort_steps(at);
    }

    /// Returns the index of the bar of a task: by its id, else the first with its name that may be in its step.
    fn position_of(&self, task: &RecordedTask<'_>, keys: &[u64], from_end: bool) -> Option<usize> {
        let bar = |at: usize| keys.get(at).and_then(|key| self.bar(*key));
        if let Some(at) = (0..keys.len())
            .find(|at| task.id.is_some() && bar(*at).is_some_and(|bar| bar.id() == task.id))
        {
            return Some(at);
        }
        let may_be = |at: &usize| {
            bar(*at).is_some_and(|bar| {
                let has_step = bar.step.is_none() || task.step.is_none() || bar.step == task.step;
                *bar.name == *task.node && has_step && (bar.id.is_none() || task.id.is_none())
            })
        };
        if from_end {
            (0..keys.len()).rev().find(may_be)
        } else {
            (0..keys.len()).find(may_be)
        }
    }

    fn fill_step(&mut self, task: &RecordedTask<'_>, seq: Seq) {
        let stamp = EventStamp {
            seq,
            time: task.began,
            known: true,
            source: BarSource::Checkpoints,
        };
        let mut bar = self.new_bar(BarKind::Node, task.node, Namespace::default(), None, stamp);
        let ended = task.ended.unwrap_or(task.began).max(task.began);
        (bar.ended, bar.state, bar.detail, bar.step) =
            (Some(ended), task.state, task.detail.clone(), task.step);
        (bar.estimated, bar.recorded) = (
            !task.is_alone,
            Known {
                start: true,
                end: true,
            },
        );
        (bar.known.end, bar.seen, bar.is_recorded) = (task.ended.is_some(), ended, true);
        self.push_bar(bar, task.id);
    }

    /// Orders the nodes of an attempt by their steps.
    fn sort_steps(&mut self, at: usize) {
        let children = |timeline: &Timeline| -> Vec<u64> {
            timeline
                .attempts
                .get(at)
                .map(|attempt| attempt.children.clone())
                .unwrap_or_default()
        };
        let step =
            |timeline: &Timeline, key: u64| timeline.bar(key).and_then(|bar| timeline.step(bar));
        let mut keys = children(self);
        keys.sort_by_key(|key| step(self, *key));
        let mut before = None;
        for key in &keys {
            let own = step(self, *key);
            if let Some(bar) = self.bar_mut(*key).filter(|bar| bar.kind == BarKind::Node) {
                bar.leads = before != Some(own);
                before = Some(own);
            }
        }
        if let Some(attempt) = self.attempts.get_mut(at) {
            attempt.children = keys;
        }
        (self.shape, self.changes) = (self.shape + 1, self.changes + 1);
    }

    /// Sets the times of an attempt's steps that were replayed without times. A checkpoint is written when one step
    /// ends and the next one begins. Only steps of the root graph have checkpoints in the thread's history, so bars
    /// inside of nodes get no times.
    pub(super) fn fill_times(
        &mut self,
        attempt: usize,
        run: &RunEntry,
        checkpoints: &[&StateFacts],
    ) {
        let written: HashMap<i64, Timestamp> = checkpoints
            .iter()
            .filter_map(|facts| Some((facts.step?, facts.created_at?)))
            .collect();
        let steps = self.find_steps(attempt, checkpoints);
        for (key, step) in &steps {
            let Some(bar) = self.bar_mut(*key) else {
                continue;
            };
            bar.step = Some(*step);
            let ahead = step.saturating_sub(bar.local_step);
            // This attempt may not be the newest, so use its own scope.
            if let Some(attempt) = self.attempts.get_mut(attempt) {
                attempt.scope.offset.get_or_insert(ahead);
            }
        }
        let last = steps.iter().map(|(_, step)| *step).max();
        // A failed or interrupted step has no checkpoint after it: it ended with its run.
        let end_of = |step: i64| {
            let at_end = run
                .ended
                .filter(|_| Some(step) == last && run.outcome.is_over());
            written.get(&step).copied().or(at_end)
        };
        let bars = |timeline: &Timeline| -> Vec<(u64, i64)> {
            let needs_time =
                |bar: &Bar| !bar.known.is_both() || bar.recorded.start || bar.recorded.end;
            steps
                .iter()
                .filter(|(key, _)| timeline.bar(*key).is_some_and(needs_time))
                .copied()
                .collect()
        };
        if bars(self).iter().all(|(_, step)| {
            !written.contains_key(&step.saturating_sub(1)) && !written.contains_key(step)
        }) {
            return;
        }
        self.align_clock(attempt, &steps, &written);
        let before = self
            .attempts
            .get(attempt)
            .filter(|attempt| attempt.known.start)
            .map(|attempt| attempt.started);
        for (key, step) in bars(self) {
            let is_alone = steps.iter().filter(|(_, other)| *other == step).count() == 1;
            let Some(bar) = self.bar_mut(key) else {
                continue;
            };
            if let Some(began) = written
                .get(&step.saturating_sub(1))
                .filter(|_| !bar.known.start || bar.recorded.start)
            {
                (bar.started, bar.known.start, bar.recorded.start) = (*began, true, true);
                // There are no gaps between steps, only between the start of the run and its first step.
                bar.after = before.filter(|_| bar.local_step == 1);
            }
            let is_open_end = bar.ended.is_some() && (!bar.known.end || bar.recorded.end);
            if let Some(ended) = end_of(step).filter(|_| is_open_end) {
                (bar.ended, bar.known.end, bar.recorded.end) = (Some(ended), true, true);
                // For parallel nodes, the next checkpoint only shows when the slowest of them was done.
                bar.estimated |= !is_alone;
            }
            if let Some(ended) = bar.ended {
                bar.started = bar.started.min(ended);
            }
            if let Some(attempt) = self.attempts.get_mut(attempt) {
                attempt.is_filled = true;
            }
        }
    }

    /// Returns the nodes of an attempt's root graph with their steps by the server's numbering, as far as these can be
    /// determined.
    fn find_steps(&self, attempt: usize, checkpoints: &[&StateFacts]) -> Vec<(u64, i64)> {
        let Some(attempt) = self.attempts.get(attempt) else {
            return Vec::new();
        };
        let nodes = || {
            attempt
                .children
                .iter()
                .filter_map(|key| Some((*key, self.bar(*key)?)))
        };
        let nodes = || nodes().filter(|(_, bar)| bar.kind == BarKind::Node);
        let by_id: HashMap<&str, i64> = checkpoints
            .iter()
            .filter_map(|facts| Some((facts.step?, &facts.tasks)))
            .flat_map(|(step, tasks)| {
                tasks
                    .iter()
                    .map(move |task| (task.id.as_str(), step.saturating_add(1)))
            })
            .filter(|(id, _)| !id.is_empty())
            .collect();
        let known_step = |bar: &Bar| {
            bar.id
                .as_deref()
                .and_then(|id| by_id.get(id).copied())
                .or(bar.step)
        };
        // The server's step numbers are ahead of ours by an offset, known from any node with a known step. A JavaScript
        // history has no tasks of a graph after which another graph ran. There the checkpoint of the graph's input has
        // the number before its first step.
        let by_node =
            || nodes().find_map(|(_, bar)| Some(known_step(bar)?.saturating_sub(bar.local_step)));
        let by_input = || {
            let first = checkpoints
                .first()
                .filter(|_| attempt.exact && !attempt.is_joined)?;
            first
                .step
                .filter(|_| first.source == "input")
                .map(|step| step.saturating_add(1))
        };
        let offset = attempt.scope.offset.or_else(by_node).or_else(by_input);
        let step =
            |bar: &Bar| known_step(bar).or_else(|| Some(bar.local_step.saturating_add(offset?)));
        let found: Vec<(u64, i64)> = nodes()
            .filter_map(|(key, bar)| Some((key, step(bar)?)))
            .collect();
        if !found.is_empty() || attempt.is_joined {
            return found;
        }
        // Updates contain neither ids nor steps, so match the nodes by name and order.
        let tasks = checkpoints
            .iter()
            .filter_map(|facts| Some((facts.step?.saturating_add(1), &facts.tasks)));
        let tasks =
            tasks.flat_map(|(step, tasks)| tasks.iter().map(move |task| (&*task.node, step)));
        let mut tasks: Vec<(&str, i64)> =
            tasks.filter(|(node, _)| !node.starts_with("__")).collect();
        let named = nodes().filter_map(|(key, bar)| {
            let index = tasks.iter().position(|(node, _)| *node == &*bar.name)?;
            Some((key, tasks.remove(index).1))
        });
        let named: Vec<(u64, i64)> = named.collect();
        if tasks.is_empty() && named.len() == nodes().count() {
            named
        } else {
            Vec::new()
        }
    }

    /// Shifts arrival times to the server's clock if the end of a step is known by both clocks. Without arrival times
    /// there is nothing to shift.
    fn align_clock(
        &mut self,
        attempt: usize,
        steps: &[(u64, i64)],
        written: &HashMap<i64, Timestamp>,
    ) {
        let Some(known) = self
            .attempts
            .get_mut(attempt)
            .filter(|attempt| attempt.clock == Clock::Arrival)
        else {
            return;
        };
        if !known.is_arrival_timed {
            known.clock = Clock::Server;
            return;
        }
        let arrived = |(key, step): &(u64, i64)| {
            let bar = self
                .bar(*key)
                .filter(|bar| bar.known.end && !bar.recorded.end && bar.state == BarState::Done)?;
            Some(written.get(step)?.duration_since(bar.ended?))
        };
        // Events arrive late, never early, so the largest difference is the most accurate.
        if let Some(skew) = steps.iter().filter_map(arrived).max() {
            self.shift_to_server_clock(attempt, skew);
        }
    }
}
