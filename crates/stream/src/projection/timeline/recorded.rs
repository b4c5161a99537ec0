//! Applies the server's records to the timeline: real times of runs, and the steps of runs that the stream did not
//! contain.

use super::fold::{EventStamp, EventTime, MAX_DETAIL};
use super::{Attempt, Bar, BarKind, BarSource, BarState, Clock, Timeline};
use crate::projection::status::{Checkpoint, RunEntry, RunOutcome};
use crate::{Namespace, Seq};
use jiff::Timestamp;
use runtail_core::model::StateFacts;
use runtail_core::text;
use std::collections::HashMap;

impl Attempt {
    /// Applies the server's record of a run to its first or a later attempt.
    pub(super) fn apply_record(&mut self, run: &RunEntry, is_first: bool) {
        if let Some(began) = run.began.filter(|_| is_first && !self.known.start) {
            (self.started, self.known.start, self.recorded.start) = (began, true, true);
        }
        let is_open = self.ended.is_none();
        if let Some(ended) = run.ended.filter(|_| run.outcome.is_over() && (is_open || !self.known.end)) {
            (self.ended, self.known.end, self.recorded.end) = (Some(ended.max(self.started)), true, true);
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

impl Timeline {
    /// Adds a run that the stream didn't contain, from its record and the history.
    pub(super) fn begin_recorded<'a>(&mut self, run: &RunEntry, checkpoints: impl Iterator<Item = &'a Checkpoint>) {
        let Some(began) = run.began else { return };
        let seq = run.end_seq.or(run.first_seq).unwrap_or_default();
        let timed = EventTime { at: began, known: true, server: Some(None) };
        self.begin_attempt(run.run_id.clone(), 1, seq, timed);
        self.add_recorded_steps(run, seq, checkpoints);
        if let Some(attempt) = self.attempts.back_mut() {
            attempt.is_recorded = true;
            attempt.apply_record(run, true);
        }
    }

    /// Adds the steps of a run from its checkpoints. Each checkpoint names the nodes that run until the next
    /// checkpoint.
    fn add_recorded_steps<'a>(&mut self, run: &RunEntry, seq: Seq, checkpoints: impl Iterator<Item = &'a Checkpoint>) {
        let mut checkpoints = checkpoints.map(|checkpoint| &checkpoint.facts).peekable();
        while let Some(facts) = checkpoints.next() {
            let Some(began) = facts.created_at else { continue };
            let next = checkpoints.peek();
            let ended = next.map_or(run.ended, |next| next.created_at);
            for task in facts.tasks.iter().filter(|task| !task.node.starts_with("__")) {
                let stamp = EventStamp { seq, time: began, known: true, source: BarSource::Checkpoints };
                let id = Some(task.id.as_str()).filter(|id| !id.is_empty());
                let step = facts.step.map(|step| step.saturating_add(1));
                let key = self.add_node(None, &task.node, id, Namespace::default(), step, stamp, false);
                // For parallel nodes, the next checkpoint only shows when the slowest of them was done.
                let is_alone = facts.tasks.len() == 1;
                if let Some(bar) = self.bar_mut(key) {
                    bar.estimated = !is_alone;
                }
                let (state, detail) = match (&task.error, next) {
                    (Some(error), _) if task.is_failed() => {
                        (BarState::Failed, Some(text::head(error, MAX_DETAIL).into()))
                    }
                    (Some(_), _) => (BarState::Abandoned, None),
                    (None, None) if !task.questions.is_empty() => (BarState::Interrupted, None),
                    (None, None) if !task.has_result => (BarState::Abandoned, None),
                    _ => (BarState::Done, None),
                };
                if let Some(ended) = ended.filter(|_| run.outcome.is_over() || next.is_some()) {
                    self.close(key, state, detail, EventStamp { time: ended, ..stamp });
                }
            }
        }
    }

    /// Sets the times of an attempt's steps that were replayed without times. A checkpoint is written when one step
    /// ends and the next one begins. Only steps of the root graph have checkpoints in the thread's history, so bars
    /// inside of nodes get no times.
    pub(super) fn fill_times<'a>(
        &mut self,
        attempt: usize,
        run: &RunEntry,
        checkpoints: impl Iterator<Item = &'a Checkpoint>,
    ) {
        let checkpoints: Vec<&StateFacts> = checkpoints.map(|checkpoint| &checkpoint.facts).collect();
        let written: HashMap<i64, Timestamp> =
            checkpoints.iter().filter_map(|facts| Some((facts.step?, facts.created_at?))).collect();
        let steps = self.find_steps(attempt, &checkpoints);
        for (key, step) in &steps {
            let Some(bar) = self.bar_mut(*key) else { continue };
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
            let at_end = run.ended.filter(|_| Some(step) == last && run.outcome.is_over());
            written.get(&step).copied().or(at_end)
        };
        let bars = |timeline: &Timeline| -> Vec<(u64, i64)> {
            let needs_time = |bar: &Bar| !bar.known.is_both() || bar.recorded.start || bar.recorded.end;
            steps.iter().filter(|(key, _)| timeline.bar(*key).is_some_and(needs_time)).copied().collect()
        };
        if bars(self)
            .iter()
            .all(|(_, step)| !written.contains_key(&step.saturating_sub(1)) && !written.contains_key(step))
        {
            return;
        }
        self.align_clock(attempt, &steps, &written);
        let before = self.attempts.get(attempt).filter(|attempt| attempt.known.start).map(|attempt| attempt.started);
        for (key, step) in bars(self) {
            let is_alone = steps.iter().filter(|(_, other)| *other == step).count() == 1;
            let Some(bar) = self.bar_mut(key) else { continue };
            if let Some(began) = written.get(&step.saturating_sub(1)).filter(|_| !bar.known.start || bar.recorded.start)
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
        let Some(attempt) = self.attempts.get(attempt) else { return Vec::new() };
        let nodes = || attempt.children.iter().filter_map(|key| Some((*key, self.bar(*key)?)));
        let nodes = || nodes().filter(|(_, bar)| bar.kind == BarKind::Node);
        let by_id: HashMap<&str, i64> = checkpoints
            .iter()
            .filter_map(|facts| Some((facts.step?, &facts.tasks)))
            .flat_map(|(step, tasks)| tasks.iter().map(move |task| (task.id.as_str(), step.saturating_add(1))))
            .filter(|(id, _)| !id.is_empty())
            .collect();
        let known_step = |bar: &Bar| bar.id.as_deref().and_then(|id| by_id.get(id).copied()).or(bar.step);
        // The server's step numbers are ahead of ours by an offset, known from any node with a known step. A JavaScript
        // history has no tasks of a graph after which another graph ran. There the checkpoint of the graph's input has
        // the number before its first step.
        let by_node = || nodes().find_map(|(_, bar)| Some(known_step(bar)?.saturating_sub(bar.local_step)));
        let by_input = || {
            let first = checkpoints.first().filter(|_| attempt.exact && !attempt.is_joined)?;
            first.step.filter(|_| first.source == "input").map(|step| step.saturating_add(1))
        };
        let offset = attempt.scope.offset.or_else(by_node).or_else(by_input);
        let step = |bar: &Bar| known_step(bar).or_else(|| Some(bar.local_step.saturating_add(offset?)));
        let found: Vec<(u64, i64)> = nodes().filter_map(|(key, bar)| Some((key, step(bar)?))).collect();
        if !found.is_empty() || attempt.is_joined {
            return found;
        }
        // Updates contain neither ids nor steps, so match the nodes by name and order.
        let tasks = checkpoints.iter().filter_map(|facts| Some((facts.step?.saturating_add(1), &facts.tasks)));
        let tasks = tasks.flat_map(|(step, tasks)| tasks.iter().map(move |task| (&*task.node, step)));
        let mut tasks: Vec<(&str, i64)> = tasks.filter(|(node, _)| !node.starts_with("__")).collect();
        let named = nodes().filter_map(|(key, bar)| {
            let index = tasks.iter().position(|(node, _)| *node == &*bar.name)?;
            Some((key, tasks.remove(index).1))
        });
        let named: Vec<(u64, i64)> = named.collect();
        if tasks.is_empty() && named.len() == nodes().count() { named } else { Vec::new() }
    }

    /// Shifts arrival times to the server's clock if the end of a step is known by both clocks. Without arrival times
    /// there is nothing to shift.
    fn align_clock(&mut self, attempt: usize, steps: &[(u64, i64)], written: &HashMap<i64, Timestamp>) {
        let Some(known) = self.attempts.get_mut(attempt).filter(|attempt| attempt.clock == Clock::Arrival) else {
            return;
        };
        if !known.is_arrival_timed {
            known.clock = Clock::Server;
            return;
        }
        let arrived = |(key, step): &(u64, i64)| {
            let bar = self.bar(*key).filter(|bar| bar.known.end && !bar.recorded.end && bar.state == BarState::Done)?;
            Some(written.get(step)?.duration_since(bar.ended?))
        };
        // Events arrive late, never early, so the largest difference is the most accurate.
        if let Some(skew) = steps.iter().filter_map(arrived).max() {
            self.shift_to_server_clock(attempt, skew);
        }
    }
}
