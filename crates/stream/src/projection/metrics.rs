//! Metrics of runs: latencies, token rates and usage per run, node and model. Everything is counted once, regardless of
//! the modes.

mod run_numbers;

use super::message::{Message, Role};
use super::messages::Messages;
use super::node_path::node_path;
use super::rows::Rows;
use super::status::{RunEntry, RunOutcome};
use super::usage::Usage;
use crate::insert;
use crate::protocol::Payload;
use crate::{End, Interner, Item, MAX_NAME, Outcome, Record, Seq};
use jiff::Timestamp;
use std::collections::{HashMap, VecDeque};

pub use run_numbers::{ModelMetrics, NodeMetrics, RunMetrics, Work};

/// Maximum number of nodes and models counted separately per run.
const MAX_NAMES: usize = 256;
/// Maximum number of running tasks remembered.
const MAX_TASKS: usize = 4_096;

/// The part of a message that was already counted.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    is_known: bool,
    /// Number of its run, counting evicted ones; `None` if it is older than the run.
    run: Option<u64>,
    in_run: Seen,
    in_node: Seen,
    /// The model that it is counted for, and whether the response itself named it.
    model: Option<(usize, bool)>,
    /// What of its usage is counted for the model.
    in_model: Usage,
    /// Whether chunks of it were counted.
    is_streamed: bool,
}

/// What was already counted of a message, for its run or its node.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    known: bool,
    failed: bool,
    calls: u64,
    is_used: bool,
    usage: Usage,
    streamed: u64,
}

/// The metrics of an event log's runs.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    pub(super) runs: Rows<RunMetrics>,
    /// When the first connection was requested.
    requested: Option<Timestamp>,
    /// By index among the retained messages, with the number of evicted ones.
    counted: VecDeque<Counted>,
    counted_from: u64,
    /// The running tasks by id, each with the number of its run.
    tasks: HashMap<Box<str>, u64>,
    names: Interner,
    /// Whether a gap, such as a late join, precedes the next event.
    is_after_gap: bool,
}

impl Metrics {
    /// Returns the runs, oldest first.
    pub fn runs(&self) -> &Rows<RunMetrics> {
        &self.runs
    }

    /// Returns the run that an event belongs to or follows.
    pub fn run_at(&self, seq: Seq) -> Option<&RunMetrics> {
        let after = self.runs.partition_point(|run| run.seq <= seq);
        self.runs.get(after.checked_sub(1)?)
    }

    /// Returns the calls in messages that were loaded from the server's state and that no run counts, as of one run.
    pub fn loaded(&self, messages: &Messages) -> RunMetrics {
        let mut all = RunMetrics::default();
        for (i, message) in messages
            .items()
            .iter()
            .enumerate()
            .filter(|(_, message)| message.is_loaded)
        {
            let is_counted = self
                .counted
                .get(i)
                .is_some_and(|counted| counted.run.is_some());
            let Some(usage) = message.usage.filter(|_| !is_counted) else {
                continue;
            };
            all.work.usage.add_change(Usage::default(), usage);
            all.work.calls += 1;
            let model = message
                .model
                .as_ref()
                .and_then(|(name, _)| all.model(name.clone()));
            if let Some(model) = model.and_then(|model| all.models.get_mut(model)) {
                model.usage.add_change(Usage::default(), usage);
                model.calls += 1;
            }
        }
        all
    }

    /// Returns the run with this id.
    pub fn run(&self, id: &str) -> Option<&RunMetrics> {
        self.runs
            .iter()
            .rev()
            .find(|run| run.run_id.as_deref() == Some(id))
    }

    /// Applies an event that was already applied to the messages and contained this many tokens.
    pub(super) fn apply(&mut self, payload: &Payload<'_>, messages: &Messages, tokens: u64) {
        let event = payload.event;
        match payload.name {
            "metadata" if self.apply_metadata(payload) => return,
            // A manual state edit, perhaps between two runs.
            "state_update" => return self.skip_messages(messages),
            _ => {}
        }
        if payload.name == "lifecycle" && payload.is_root() {
            self.apply_lifecycle(payload);
        }
        if self.runs.last().is_none_or(|run| run.done) {
            self.start_run(RunMetrics {
                seq: event.seq,
                ..RunMetrics::default()
            });
        }
        let number = self.number();
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        let is_input = payload.name == "values" && payload.is_root() && run.states == 0;
        run.states += u64::from(payload.name == "values" && payload.is_root());
        run.events += 1;
        run.bytes += event.data.text().len() as u64;
        let time = event.time();
        (run.last_seq, run.last_event, run.is_timed) =
            (event.seq, time.or(run.last_event), time.is_some());
        run.work.errors += u64::from(payload.name == "error");
        run.failed |= payload.name == "error";
        if matches!(payload.name, "tasks" | "debug") {
            self.apply_task(payload);
        }
        self.count_messages(payload, messages, number, is_input, tokens);
    }

    /// Fills in the times of a run from the server's record if the stream didn't contain them.
    pub(super) fn apply_run(&mut self, recorded: &RunEntry) {
        let matches = |run: &&mut RunMetrics| run.run_id.is_some() && run.run_id == recorded.run_id;
        if let Some(run) = self
            .runs
            .iter_mut()
            .rev()
            .find(matches)
            .filter(|_| recorded.is_recorded)
        {
            run.began = run.began.or(recorded.began);
            if recorded.outcome.is_over() {
                (run.ended, run.over) = (run.ended.or(recorded.ended), true);
                run.failed |= matches!(recorded.outcome, RunOutcome::Failed | RunOutcome::TimedOut);
            }
        }
    }

    pub(super) fn apply_item(&mut self, item: &Item) {
        match item {
            Item::Connecting { at, .. } => {
                self.requested.get_or_insert(*at);
            }
            // Only reported for runs that this stream started.
            Item::Started { run_id, .. } if self.run(run_id).is_none() => {
                let (run_id, asked) = (Some(self.names.get(run_id)), self.requested);
                self.start_run(RunMetrics {
                    run_id,
                    asked,
                    ..RunMetrics::default()
                });
            }
            Item::Record(Record::Gap { .. }) => {
                match self.runs.last_mut().filter(|run| run.is_open()) {
                    Some(run) => {
                        run.lacks_first_token |= run.work.first_token.is_none();
                    }
                    None => self.is_after_gap = true,
                }
            }
            Item::Record(Record::End(end)) => self.end_run(end, None),
            Item::Record(Record::Run(run)) => run
                .end()
                .iter()
                .for_each(|end| self.end_run(end, Some(&run.run_id))),
            _ => {}
        }
    }

    /// Ends the newest run, if it has this id.
    fn end_run(&mut self, end: &End, run_id: Option<&str>) {
        let is_its = |run: &&mut RunMetrics| run_id.is_none() || run.run_id.as_deref() == run_id;
        if let Some(run) = self
            .runs
            .last_mut()
            .filter(|run| !run.done && end.outcome != Outcome::Detached)
            .filter(is_its)
        {
            // A finished run ended with its last event. Otherwise the run may have continued until now.
            let until = if end.outcome.is_shown_by_events() || !run.is_timed {
                run.last_event
            } else {
                Some(end.at)
            };
            run.ended = run.ended.or(until);
            (run.outcome, run.over) = (Some(end.outcome), true);
        }
    }

    fn number(&self) -> u64 {
        (self.runs.evicted() + self.runs.len() as u64).saturating_sub(1)
    }

    /// Adds a run. After a gap, its first events may be missing, unless the event that began it was received.
    fn start_run(&mut self, run: RunMetrics) {
        self.tasks.clear();
        let is_late = std::mem::take(&mut self.is_after_gap) && run.began.is_none();
        self.runs.push(RunMetrics {
            attempts: 1,
            lacks_first_token: is_late,
            ..run
        });
    }

    /// Applies the start, retry or end of a run. Returns whether the event is one of these.
    fn apply_metadata(&mut self, payload: &Payload<'_>) -> bool {
        let (seq, at) = (payload.event.seq, payload.event.time());
        let Some((run_id, metadata)) = payload.run() else {
            return false;
        };
        let run_id = self.names.get(run_id);
        let is_done = metadata.is_done();
        let known = self
            .runs
            .last_mut()
            .filter(|run| run.run_id.as_ref().is_none_or(|id| *id == run_id));
        // If a thread was joined in the middle of a run, only the end of the run contains its id.
        let Some(run) = known.filter(|run| run.run_id.is_some() || is_done && run.is_open()) else {
            if let Some(previous) = self
                .runs
                .last_mut()
                .filter(|run| run.is_open() && run.events > 0)
            {
                (previous.ended, previous.over) = (previous.last_event, true);
            }
            let ended = at.filter(|_| is_done);
            let began = at.filter(|_| !is_done);
            self.start_run(RunMetrics {
                run_id: Some(run_id),
                seq,
                last_seq: seq,
                began,
                ended,
                over: is_done,
                ..Default::default()
            });
            self.apply_attempt(metadata.attempt(), at);
            return true;
        };
        run.run_id = Some(run_id);
        run.seq = if run.seq == Seq::START { seq } else { run.seq };
        run.last_seq = seq;
        if is_done {
            (run.done, run.over) = (true, true);
            run.ended = run.ended.or(at);
        } else {
            run.began = run.began.or(at);
            self.apply_attempt(metadata.attempt(), at);
        }
        true
    }

    /// Applies the lifecycle of the root graph, which is that of the run in the newer protocol.
    fn apply_lifecycle(&mut self, payload: &Payload<'_>) {
        let (seq, at) = (payload.event.seq, payload.event.time());
        let Some(phase) = payload.phase() else { return };
        if phase.is_begin() && self.runs.last().is_none_or(|run| !run.is_open()) {
            self.is_after_gap = false;
            self.start_run(RunMetrics {
                seq,
                ..RunMetrics::default()
            });
        }
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        if phase.is_begin() {
            run.began = run.began.or(at);
        } else if let Some(outcome) = phase.outcome() {
            run.ended = run.ended.or(at);
            run.over = true;
            run.outcome.get_or_insert(outcome);
            run.work.errors += u64::from(outcome == Outcome::Error);
            run.failed |= outcome == Outcome::Error;
        }
    }

    fn apply_attempt(&mut self, attempt: u64, at: Option<Timestamp>) {
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        if attempt > run.attempts
            && let Some((at, began)) = at.zip(run.attempt_began)
        {
            let lost = at.duration_since(began);
            run.lost += lost;
            if run.retries.len() < MAX_NAMES {
                run.retries.push((run.last_seq, lost));
            }
        }
        run.failed &= attempt <= run.attempts;
        if attempt > run.attempts || run.attempt_began.is_none() {
            run.attempt_began = at;
        }
        run.attempts = run.attempts.max(attempt);
    }

    /// Applies the start or the end of a task. If two modes report it, only the first counts.
    fn apply_task(&mut self, payload: &Payload<'_>) {
        let Some(task) = payload.task() else { return };
        let (Some(id), Some(name)) = (task.id.0.as_deref(), task.name.0.as_deref()) else {
            return;
        };
        let (seq, number) = (payload.event.seq, self.number());
        let path = node_path(payload.ns.iter(), Some(name));
        let name = self.names.get(&path);
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        let Some(node) = run.node(name, seq) else {
            return;
        };
        if task.input.is_some() {
            if id.len() <= MAX_NAME {
                insert(&mut self.tasks, MAX_TASKS, id.into(), number);
            }
        } else if self.tasks.remove(id) == Some(number) {
            let node = &mut run.nodes[node];
            let failed = task.error.is_some();
            node.work.errors += u64::from(failed);
            // A thread reports every run as done, so only a failed node of the root graph shows its failure.
            run.failed |= failed && payload.is_root();
        }
    }

    /// Marks the messages of a manual state edit as known, so that they don't count as a run's output.
    fn skip_messages(&mut self, messages: &Messages) {
        self.drop_evicted(messages);
        for &i in messages.touched() {
            self.mark_known(i);
        }
    }

    fn drop_evicted(&mut self, messages: &Messages) {
        let evicted = messages.evicted() - self.counted_from;
        let evicted = usize::try_from(evicted)
            .unwrap_or(usize::MAX)
            .min(self.counted.len());
        self.counted.drain(..evicted);
        self.counted_from = messages.evicted();
    }

    /// Marks a message as known. Returns whether it is new.
    fn mark_known(&mut self, i: usize) -> bool {
        if self.counted.len() <= i {
            self.counted.resize(i + 1, Counted::default());
        }
        !std::mem::replace(&mut self.counted[i].is_known, true)
    }

    fn count_messages(
        &mut self,
        payload: &Payload<'_>,
        messages: &Messages,
        number: u64,
        is_input: bool,
        tokens: u64,
    ) {
        self.drop_evicted(messages);
        let last = messages.touched().last().copied();
        for &i in messages.touched() {
            let Some(message) = messages.items().get(i) else {
                continue;
            };
            // Messages in the first state of a run are older than the run, unless the run already streamed them.
            if self.mark_known(i) && !is_input {
                self.counted[i].run = Some(number);
            }
            let tokens = if last == Some(i) { tokens } else { 0 };
            if self.counted[i].run == Some(number) {
                self.count_message(payload, message, i, tokens);
            }
        }
    }

    fn count_message(&mut self, payload: &Payload<'_>, message: &Message, i: usize, tokens: u64) {
        // The first tokens may be missing.
        let at = payload
            .event
            .time()
            .filter(|_| message.token_times.is_some());
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        let counted = &mut self.counted[i];
        let node = message
            .path
            .clone()
            .and_then(|name| run.node(name, payload.event.seq));
        if tokens > 0 {
            run.work.add_tokens(at, counted.is_streamed, tokens);
            if let Some(node) = node.map(|n| &mut run.nodes[n]) {
                if !counted.is_streamed {
                    node.first_token = message.first_token();
                }
                node.work.add_tokens(at, counted.is_streamed, tokens);
            }
            counted.is_streamed = true;
        }
        add_new(
            &mut run.work,
            &mut counted.in_run,
            message,
            counted.is_streamed,
        );
        if let Some(node) = node {
            add_new(
                &mut run.nodes[node].work,
                &mut counted.in_node,
                message,
                counted.is_streamed,
            );
        }
        if message.usage.is_some() {
            self.count_model(message, i);
        }
    }

    /// Counts the usage of a message for its model. Any event may be the first to name it.
    fn count_model(&mut self, message: &Message, i: usize) {
        let counted = &mut self.counted[i];
        let Some(run) = self.runs.last_mut() else {
            return;
        };
        if counted.model.is_none_or(|(_, is_named)| !is_named)
            && let Some((name, is_named)) = &message.model
            && let Some(model) = run.model(name.clone())
            && counted.model.is_none_or(|(known, _)| known != model)
        {
            if let Some(before) = counted
                .model
                .and_then(|(known, _)| run.models.get_mut(known))
            {
                before
                    .usage
                    .add_change(std::mem::take(&mut counted.in_model), Usage::default());
                before.calls -= 1;
            }
            run.models[model].calls += 1;
            counted.model = Some((model, *is_named));
        }
        let usage = message.usage.unwrap_or_default();
        if let Some(model) = counted
            .model
            .and_then(|(model, _)| run.models.get_mut(model))
        {
            model
                .usage
                .add_change(std::mem::replace(&mut counted.in_model, usage), usage);
        }
    }
}

/// Adds what is new in a message since it was last counted.
fn add_new(work: &mut Work, seen: &mut Seen, message: &Message, is_streamed: bool) {
    if !std::mem::replace(&mut seen.known, true)
        && !matches!(message.role, Role::Human | Role::System)
    {
        work.messages += 1;
    }
    if message.is_error && !std::mem::replace(&mut seen.failed, true) {
        work.errors += 1;
    }
    let calls = message.tool_calls.len() as u64;
    work.tool_calls += calls.saturating_sub(seen.calls);
    seen.calls = seen.calls.max(calls);
    if let Some(usage) = message.usage {
        work.usage.add_change(seen.usage, usage);
        seen.usage = usage;
        work.calls += u64::from(!std::mem::replace(&mut seen.is_used, true));
    }
    // As in the rate of the message: the time starts at the first token, so that token doesn't count.
    let is_timed = is_streamed && message.token_times.is_some();
    let streamed = if is_timed {
        seen.usage.output.saturating_sub(1)
    } else {
        0
    };
    work.streamed += streamed.saturating_sub(seen.streamed);
    seen.streamed = seen.streamed.max(streamed);
}

#[cfg(test)]
mod tests;
