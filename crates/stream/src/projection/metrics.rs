//! Metrics of runs: latencies, token rates and usage per run, node and model. Everything is counted once, regardless of
//! the modes.

mod models;
mod run_numbers;

use super::message::{Message, Role};
use super::messages::Messages;
use super::rows::Rows;
use super::status::{RunEntry, RunOutcome};
use super::usage::Usage;
use crate::protocol::{Payload, Write};
use crate::{Item, MAX_NAME, Names, Outcome, Record, Seq};
use jiff::Timestamp;
use models::Models;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

pub use run_numbers::{NodeNumbers, RunNumbers, Work};

const MAX_RUNS: usize = 1_000;
/// Maximum number of nodes and models counted separately per run.
const MAX_NAMES: usize = 256;
/// Tasks under way that are remembered.
const MAX_TASKS: usize = 4_096;

/// The part of a message that was already counted.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    met: bool,
    /// Number of its run, counting evicted ones; `None` if it is older than the run.
    run: Option<u64>,
    of_run: Seen,
    of_node: Seen,
    grew: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    known: bool,
    failed: bool,
    calls: u64,
    usage: Usage,
    streamed: u64,
}

/// The metrics of an event log's runs.
#[derive(Debug, Clone)]
pub struct Metrics {
    runs: Rows<RunNumbers>,
    /// When the first connection was asked for.
    asked: Option<Timestamp>,
    /// By index among the retained messages, with the number of evicted ones.
    counted: VecDeque<Counted>,
    counted_from: u64,
    tasks: HashMap<Box<str>, (u64, usize, Option<Timestamp>)>,
    names: Names,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics {
            runs: Rows::new(MAX_RUNS),
            asked: None,
            counted: VecDeque::new(),
            counted_from: 0,
            tasks: HashMap::new(),
            names: Names::default(),
        }
    }
}

impl Metrics {
    /// Returns the runs, oldest first.
    pub fn runs(&self) -> &Rows<RunNumbers> {
        &self.runs
    }

    pub(super) fn runs_mut(&mut self) -> &mut Rows<RunNumbers> {
        &mut self.runs
    }

    /// Returns the run that an event belongs to, or came after.
    pub fn run_at(&self, seq: Seq) -> Option<&RunNumbers> {
        let after = self.runs.partition_point(|run| run.seq <= seq);
        self.runs.get(after.checked_sub(1)?)
    }

    /// Returns the run with this id.
    pub fn run(&self, id: &str) -> Option<&RunNumbers> {
        self.runs.iter().rev().find(|run| run.run_id.as_deref() == Some(id))
    }

    /// Applies an event that was already applied to the messages and contained this many tokens.
    pub(super) fn apply(&mut self, payload: &Payload<'_>, messages: &Messages, tokens: u64) {
        let event = payload.event;
        match payload.name {
            "metadata" if self.metadata(payload) => return,
            // A manual state edit, perhaps between two runs.
            "state_update" => return self.pass(messages),
            _ => {}
        }
        if payload.name == "lifecycle" && payload.is_root() {
            self.phase(payload);
        }
        if self.runs.last().is_none_or(|run| run.done) {
            self.begin(RunNumbers { seq: event.seq, attempts: 1, ..RunNumbers::default() });
        }
        let number = self.number();
        let Some(run) = self.runs.last_mut() else { return };
        let is_input = payload.name == "values" && payload.is_root() && run.states == 0;
        run.states += u64::from(payload.name == "values" && payload.is_root());
        run.events += 1;
        run.bytes += event.data.text().len() as u64;
        let time = event.time();
        (run.last_seq, run.last_event, run.is_timed) = (event.seq, time.or(run.last_event), time.is_some());
        run.first_event = run.first_event.or(time);
        run.work.errors += u64::from(payload.name == "error");
        run.failed |= payload.name == "error";
        match payload.name {
            "tasks" => self.task(payload),
            "debug" => self.debug(payload),
            "updates" => self.updates(payload),
            _ => {}
        }
        self.messages(payload, messages, number, is_input, tokens);
    }

    /// Takes the times of a run from the server's record, where the stream did not tell them.
    pub(super) fn apply_run(&mut self, recorded: &RunEntry) {
        let is_it = |run: &&mut RunNumbers| run.run_id.is_some() && run.run_id == recorded.run_id;
        if let Some(run) = self.runs.iter_mut().rev().find(is_it).filter(|_| recorded.is_recorded) {
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
                self.asked.get_or_insert(*at);
            }
            // Only a run that we start says so.
            Item::Started { run_id, .. } if self.run(run_id).is_none() => {
                let (run_id, asked) = (Some(self.names.get(run_id)), self.asked);
                self.begin(RunNumbers { run_id, asked, attempts: 1, ..RunNumbers::default() });
            }
            Item::Record(Record::End(end)) if end.outcome != Outcome::Detached => {
                if let Some(run) = self.runs.last_mut().filter(|run| !run.done) {
                    // A run that came to its end did so with its last event; another one went on for all that is known.
                    let is_done = matches!(end.outcome, Outcome::Success | Outcome::Interrupted | Outcome::Error);
                    let until = if is_done || !run.is_timed { run.last_event } else { Some(end.at) };
                    run.ended = run.ended.or(until);
                    (run.outcome, run.over) = (Some(end.outcome), true);
                }
            }
            _ => {}
        }
    }

    fn number(&self) -> u64 {
        (self.runs.evicted() + self.runs.len() as u64).saturating_sub(1)
    }

    fn begin(&mut self, run: RunNumbers) {
        self.tasks.clear();
        self.runs.push(run);
    }

    /// Applies the start, retry or end of a run. Returns whether the event is one of these.
    fn metadata(&mut self, payload: &Payload<'_>) -> bool {
        let (seq, at) = (payload.event.seq, payload.event.time());
        let Some(metadata) = payload.metadata() else { return false };
        let Some(run_id) = metadata.run_id.0.as_deref() else { return false };
        let run_id = self.names.get(run_id);
        let is_done = metadata.is_done();
        let known = self.runs.last_mut().filter(|run| run.run_id.as_ref().is_none_or(|id| *id == run_id));
        // A thread that was joined in the middle of a run says its id only at its end.
        let Some(run) = known.filter(|run| run.run_id.is_some() || is_done && run.is_open()) else {
            if let Some(before) = self.runs.last_mut().filter(|run| run.is_open() && run.events > 0) {
                (before.ended, before.over) = (before.last_event, true);
            }
            let ended = at.filter(|_| is_done);
            let began = at.filter(|_| !is_done);
            self.begin(RunNumbers {
                run_id: Some(run_id),
                seq,
                last_seq: seq,
                attempts: 1,
                began,
                ended,
                over: is_done,
                ..Default::default()
            });
            self.last_attempt(metadata.attempt(), at);
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
            self.last_attempt(metadata.attempt(), at);
        }
        true
    }

    /// The second dialect says how a run goes by its graph.
    fn phase(&mut self, payload: &Payload<'_>) {
        let (seq, at) = (payload.event.seq, payload.event.time());
        let Some(phase) = payload.phase() else { return };
        let outcome = match phase.event.as_str() {
            "running" | "started" => {
                if self.runs.last().is_none_or(|run| !run.is_open()) {
                    self.begin(RunNumbers { seq, attempts: 1, ..RunNumbers::default() });
                }
                if let Some(run) = self.runs.last_mut() {
                    run.began = run.began.or(at);
                }
                return;
            }
            "completed" => Outcome::Success,
            "failed" => Outcome::Error,
            "interrupted" => Outcome::Interrupted,
            _ => return,
        };
        if let Some(run) = self.runs.last_mut() {
            run.ended = run.ended.or(at);
            run.over = true;
            run.outcome.get_or_insert(outcome);
            run.work.errors += u64::from(outcome == Outcome::Error);
            run.failed |= outcome == Outcome::Error;
        }
    }

    fn last_attempt(&mut self, attempt: u64, at: Option<Timestamp>) {
        let Some(run) = self.runs.last_mut() else { return };
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

    fn debug(&mut self, payload: &Payload<'_>) {
        if payload.debug().is_some_and(|debug| debug.kind.is("task") || debug.kind.is("task_result")) {
            self.task(payload);
        }
    }

    /// A task's start or end. Where two modes tell of the same one, the first counts.
    fn task(&mut self, payload: &Payload<'_>) {
        let Some(task) = payload.task() else { return };
        let (Some(id), Some(name)) = (task.id.0.as_deref(), task.name.0.as_deref()) else { return };
        let (at, seq, number) = (payload.event.time(), payload.event.seq, self.number());
        let name = self.node_name(payload.ns.iter(), name);
        let Some(run) = self.runs.last_mut() else { return };
        let Some(node) = run.node(name, seq) else { return };
        if task.input.is_some() {
            if self.tasks.len() >= MAX_TASKS {
                self.tasks.clear();
            }
            if id.len() <= MAX_NAME {
                self.tasks.entry(id.into()).or_insert((number, node, at));
            }
            run.nodes[node].turn_began = at;
        } else if let Some((_, _, began)) = self.tasks.remove(id).filter(|(of, ..)| *of == number) {
            let node = &mut run.nodes[node];
            node.finished += 1;
            node.count_turns();
            if let Some((at, began)) = at.zip(began) {
                node.busy += at.duration_since(began);
            }
            let failed = task.error.is_some_and(|error| error.get() != "null");
            node.work.errors += u64::from(failed);
            // A thread says of every run that it is done; of its failure a node of the graph itself tells.
            run.failed |= failed && payload.is_root();
        }
    }

    fn updates(&mut self, payload: &Payload<'_>) {
        for Write { node, .. } in payload.writes() {
            if node == "__interrupt__" {
                continue;
            }
            let name = self.node_name(payload.ns.iter(), node);
            let Some(run) = self.runs.last_mut() else { return };
            if let Some(i) = run.node(name, payload.event.seq) {
                let node = &mut run.nodes[i];
                node.writes += 1;
                node.count_turns();
            }
        }
    }

    /// Messages that were there before anything was done are not this run's work.
    fn pass(&mut self, messages: &Messages) {
        self.keep_pace(messages);
        for &i in messages.touched() {
            self.meet(i);
        }
    }

    fn keep_pace(&mut self, messages: &Messages) {
        let gone = messages.evicted() - self.counted_from;
        let gone = usize::try_from(gone).unwrap_or(usize::MAX).min(self.counted.len());
        self.counted.drain(..gone);
        self.counted_from = messages.evicted();
    }

    /// Counts a message. Returns whether it is new.
    fn meet(&mut self, i: usize) -> bool {
        if self.counted.len() <= i {
            self.counted.resize(i + 1, Counted::default());
        }
        !std::mem::replace(&mut self.counted[i].met, true)
    }

    fn messages(&mut self, payload: &Payload<'_>, messages: &Messages, number: u64, is_input: bool, tokens: u64) {
        self.keep_pace(messages);
        let last = messages.touched().last().copied();
        let mut models = Models::of(payload);
        for &i in messages.touched() {
            let Some(message) = messages.items().get(i) else { continue };
            // What the first state of a run holds was said before it, unless the run was heard saying it.
            if self.meet(i) && !is_input {
                self.counted[i].run = Some(number);
            }
            let tokens = if last == Some(i) { tokens } else { 0 };
            if self.counted[i].run == Some(number) {
                self.message(payload, &mut models, message, i, tokens);
            }
        }
    }

    fn message(
        &mut self,
        payload: &Payload<'_>,
        models: &mut Models<'_, '_>,
        message: &Message,
        i: usize,
        tokens: u64,
    ) {
        let at = payload.event.time();
        let node = message.node.clone().map(|node| self.node_name(message.ns.iter(), &node));
        let Some(run) = self.runs.last_mut() else { return };
        let counted = &mut self.counted[i];
        let node = node.and_then(|name| run.node(name, payload.event.seq));
        if tokens > 0 {
            run.work.token(at, counted.grew, tokens);
            if let Some(node) = node.map(|n| &mut run.nodes[n]) {
                if let Some((at, began)) = at.zip(node.turn_began.take()) {
                    node.to_first_token = Some(at.duration_since(began));
                }
                node.work.token(at, counted.grew, tokens);
            }
            counted.grew = true;
        }
        let used = counted.of_run.usage;
        count(&mut run.work, &mut counted.of_run, message, counted.grew);
        if let Some(node) = node {
            count(&mut run.nodes[node].work, &mut counted.of_node, message, counted.grew);
        }
        if let Some(usage) = message.usage.filter(|usage| *usage != used)
            && let Some(model) = models.model(message)
        {
            let model = self.names.get(&model);
            let known = run.models.iter().position(|(name, _)| *name == model);
            let at = known.unwrap_or_else(|| {
                run.models.truncate(MAX_NAMES);
                run.models.push((model, Usage::default()));
                run.models.len() - 1
            });
            run.models[at].1.add_change(used, usage);
        }
    }

    /// A node's name with the subgraphs that it lives in.
    fn node_name<'n>(&mut self, ns: impl ExactSizeIterator<Item = &'n Arc<str>>, node: &str) -> Arc<str> {
        if ns.len() == 0 {
            return self.names.get(node);
        }
        let mut names: Vec<&str> = ns.map(|segment| segment.split(':').next().unwrap_or_default()).collect();
        // JavaScript names the node itself as the innermost namespace.
        if names.last() == Some(&node) {
            names.pop();
        }
        names.push(node);
        self.names.get(&names.join("/"))
    }
}

/// Adds what is new of a message since it was counted last.
fn count(work: &mut Work, seen: &mut Seen, message: &Message, grew: bool) {
    if !std::mem::replace(&mut seen.known, true) && !matches!(message.role, Role::Human | Role::System) {
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
    }
    let streamed = if grew { seen.usage.output } else { 0 };
    work.streamed += streamed.saturating_sub(seen.streamed);
    seen.streamed = seen.streamed.max(streamed);
}

#[cfg(test)]
mod tests;
