//! Applies the events of each mode to the timeline. Parses only the few needed fields, borrowed, and skips states and
//! results.

use super::fold::{EventStamp, EventTime};
use super::{Bar, BarKind, BarSource, BarState, Clock, Timeline};
use crate::projection::summary::summary;
use crate::protocol::{Interrupt, MessageOrigin, Payload, Task, Write};
use crate::{Namespace, Outcome, error_text};
use jiff::{SignedDuration, Timestamp};
use runtail_core::json::Peek;
use runtail_core::model::{Question, summary_of};
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum length of an error or a question that a bar keeps, in characters.
const DETAIL: usize = 160;
/// Maximum number of questions of a task that are counted, and the maximum bytes of their payloads that are parsed.
const MAX_QUESTIONS: usize = 64;
const MAX_PARSED: usize = 64 << 10;

impl Timeline {
    /// Applies an event. `called_before` is how long before it the model call of its message started, if known.
    pub(in crate::projection) fn apply_event(
        &mut self,
        payload: &Payload<'_>,
        called_before: Option<SignedDuration>,
    ) {
        let event = payload.event;
        self.called_before = called_before;
        let timed = self.event_time(event);
        self.server = timed.server;
        let stamp = |source| EventStamp {
            seq: event.seq,
            time: timed.at,
            known: timed.known,
            source,
        };
        match payload.name {
            "metadata" => self.apply_metadata(payload, timed),
            "tasks" => self.apply_task(payload.task(), &payload.ns, None, stamp(BarSource::Tasks)),
            "debug" => self.apply_debug(payload, timed),
            "events" => self.apply_callback(payload, stamp(BarSource::Events)),
            "updates" => self.apply_updates(payload, stamp(BarSource::Updates)),
            "values" => self.apply_state(payload, stamp(BarSource::Updates)),
            "checkpoints" => self.apply_checkpoint(payload, stamp(BarSource::Checkpoints)),
            "messages" if payload.enveloped => {
                self.apply_block(payload, stamp(BarSource::Messages))
            }
            "messages" => self.apply_pair(payload, stamp(BarSource::Messages)),
            "messages/metadata" => self.apply_announcements(payload, stamp(BarSource::Messages)),
            "messages/partial" => self.apply_messages(payload, false, stamp(BarSource::Messages)),
            "messages/complete" => self.apply_messages(payload, true, stamp(BarSource::Messages)),
            "lifecycle" => self.apply_lifecycle(payload, stamp(BarSource::Lifecycle)),
            "tools" => self.apply_tool(payload, stamp(BarSource::Lifecycle)),
            "input.requested" => self.mark_interrupted(),
            "error" => {
                let text = error_text(payload.json.unwrap_or(event.data.text()));
                self.end_attempt(
                    BarState::Failed,
                    Some(short(&text)),
                    Some((timed.at, timed.known)),
                );
            }
            "end" => self.end_attempt(BarState::Done, None, Some((timed.at, timed.known))),
            _ if !payload.ns.is_empty() && self.is_open() => {
                self.graph(&payload.ns, stamp(BarSource::Updates));
            }
            _ => {}
        }
        if let Some(attempt) = self
            .newest_attempt()
            .filter(|attempt| attempt.ended.is_none())
        {
            attempt.last_seq = event.seq;
            attempt.seen = attempt.seen.max(timed.at);
            attempt.is_timed = timed.known;
            attempt.is_arrival_timed |= timed.known && attempt.clock == Clock::Arrival;
        }
    }

    fn apply_metadata(&mut self, payload: &Payload<'_>, timed: EventTime) {
        let seq = payload.event.seq;
        let Some((id, metadata)) = payload.run() else {
            return;
        };
        if metadata.is_done() {
            self.end_attempt(BarState::Done, None, Some((timed.at, timed.known)));
            return;
        }
        let number = metadata.attempt();
        // After a reconnect the stream may report its run again.
        let is_replayed = payload.event.replayed;
        let known = self.newest_attempt().is_some_and(|last| {
            // The record of a run that was joined in the middle has its earlier steps, so continue that attempt.
            let continues = !last.is_recorded || !is_replayed && last.ended.is_none();
            last.run_id.as_deref() == Some(id) && last.number >= number && continues
        });
        if let Some(last) = self.newest_attempt().filter(|_| known) {
            last.is_recorded = false;
        }
        if !known {
            let id = Some(Arc::from(id));
            self.begin_attempt(id, number, seq, timed);
        }
    }

    fn apply_task(
        &mut self,
        task: Option<&Task<'_>>,
        ns: &Namespace,
        step: Option<i64>,
        stamp: EventStamp,
    ) {
        let Some(task) = task else { return };
        let Some(name) = task.name.some() else { return };
        let parent = self.graph(ns, stamp.implied());
        let known = task.id.some().and_then(|id| self.find(id));
        let is_start = task.is_start();
        let is_closed = |bar: &Bar| {
            bar.kind == BarKind::Node && bar.source == BarSource::Updates && &*bar.name == name
        };
        let closed = self.recent(parent, is_closed).next();
        let key = match known {
            Some(key) => key,
            // Its start was missed, and an update just reported its end.
            None => match closed.filter(|_| !is_start) {
                Some(key) => {
                    if let Some(id) = task.id.some() {
                        self.name_bar(id, key);
                    }
                    key
                }
                None => self.add_node(
                    parent,
                    name,
                    task.id.some(),
                    ns.clone(),
                    step,
                    stamp,
                    !is_start,
                ),
            },
        };
        if is_start {
            self.set_start(key, step, stamp);
            return;
        }
        self.set_step(key, step);
        let interrupts = task.interrupts.filter(|list| list.items().next().is_some());
        let (state, detail) = match (task.error, interrupts) {
            (Some(error), _) => (
                BarState::Failed,
                Some(short(&error_text(error.text())).into()),
            ),
            (None, Some(interrupts)) => {
                if parent.is_none() {
                    self.mark_interrupted();
                }
                (BarState::Interrupted, question(interrupts))
            }
            (None, None) => (BarState::Done, None),
        };
        self.close(key, state, detail, stamp);
        if state == BarState::Done && task.result.is_some() {
            self.set_written(key, stamp.seq);
        }
    }

    fn apply_debug(&mut self, payload: &Payload<'_>, timed: EventTime) {
        let Some(debug) = payload.debug() else { return };
        let event = payload.event;
        let mut stamp = EventStamp {
            seq: event.seq,
            time: timed.at,
            known: timed.known,
            source: BarSource::Debug,
        };
        if !self.is_open() {
            self.ensure_attempt(stamp);
        }
        if let Ok(time) = debug.timestamp.as_str().parse::<Timestamp>() {
            if timed.server.is_none() {
                self.use_server_clock(time, event.at);
            }
            (stamp.time, stamp.known) = (time, true);
        }
        match debug.kind.as_str() {
            "task" | "task_result" => {
                self.apply_task(payload.task(), &payload.ns, debug.step.0, stamp)
            }
            "checkpoint" => {
                let stamp = stamp.implied();
                let parent = self.graph(&payload.ns, stamp);
                self.end_step(parent, debug.step.0, stamp);
            }
            _ => {}
        }
    }

    /// Applies `events`: callbacks of everything that runs. Of all chains, only nodes of a graph are added.
    fn apply_callback(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        let Some(event) = payload.callback() else {
            return;
        };
        let Some((component, phase)) = event
            .event
            .as_str()
            .strip_prefix("on_")
            .and_then(|e| e.rsplit_once('_'))
        else {
            return;
        };
        let kind = match component {
            "chain" => BarKind::Node,
            "tool" => BarKind::Tool,
            "chat_model" | "llm" => BarKind::Model,
            _ => return,
        };
        let id = event.run_id.as_str();
        let unknown = MessageOrigin::default();
        let origin = event.metadata.as_ref().unwrap_or(&unknown);
        match phase {
            "start" if kind == BarKind::Node => {
                let tagged = |raw: Peek<'_>| {
                    memchr::memmem::find(raw.text().as_bytes(), b"\"graph:step:").is_some()
                };
                if event.tags.is_some_and(tagged)
                    && let Some(key) = self.node_of(origin, &payload.ns, stamp)
                {
                    self.set_start(key, origin.langgraph_step.0, stamp);
                    self.name_bar(id, key);
                }
            }
            "start" => {
                let node = self.node_of(origin, &payload.ns, stamp.implied());
                let name = origin
                    .ls_model_name
                    .some()
                    .filter(|_| kind == BarKind::Model);
                let name = name.or(event.name.some()).unwrap_or("unnamed");
                match self.find(id) {
                    Some(key) => {
                        self.set_start(key, None, stamp);
                        self.name_bar(id, key);
                    }
                    None => {
                        self.add_call(kind, node, name, Some(id), stamp);
                    }
                }
            }
            "end" | "error" => {
                let Some(key) = self.find(id) else { return };
                let (state, detail) = match phase {
                    "error" => (BarState::Failed, event.data),
                    _ => (BarState::Done, None),
                };
                let detail = detail.map(|data| short(&error_text(data.text())).into());
                self.close(key, state, detail, stamp);
            }
            _ => {
                let key = self.find(id);
                self.touch(key, stamp);
            }
        }
    }

    /// Returns the node that sent a message or a callback: the last segment of the checkpoint namespace.
    pub(super) fn node_of(
        &mut self,
        origin: &MessageOrigin<'_>,
        ns: &Namespace,
        stamp: EventStamp,
    ) -> Option<u64> {
        let step = origin.langgraph_step.0;
        if let Some(path) = origin.langgraph_checkpoint_ns.some() {
            if let Some(key) = path.rsplit_once(':').and_then(|(_, id)| self.find(id)) {
                self.set_step(key, step);
                return Some(key);
            }
            let segments: Vec<Arc<str>> = path
                .split('|')
                .map(|segment| self.names.get(segment))
                .collect();
            let (last, graph) = segments.split_last()?;
            let parent = self.graph(graph, stamp);
            return match last.split_once(':') {
                Some((name, id)) => {
                    Some(self.open_node(parent, name, Some(id), graph, step, stamp))
                }
                None => self.graph(&segments, stamp),
            };
        }
        let parent = self.graph(ns, stamp);
        let Some(node) = origin.langgraph_node.some() else {
            return parent;
        };
        // Without a task id, find the node by its name and its graph.
        let is_running =
            |bar: &Bar| bar.kind == BarKind::Node && bar.ended.is_none() && &*bar.name == node;
        let running = self.recent(parent, is_running).next();
        running.or_else(|| Some(self.open_node(parent, node, None, ns, step, stamp)))
    }

    fn apply_updates(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        for Write { node, .. } in payload.writes() {
            if node == "__interrupt__" {
                self.mark_interrupted();
                continue;
            }
            let parent = self.graph(&payload.ns, stamp);
            if !self.is_exact() {
                self.close_written(parent, node, &payload.ns, stamp);
                continue;
            }
            // The result of the task, which may follow, has its id.
            let is_open = |bar: &Bar| {
                bar.kind == BarKind::Node && bar.written.is_none() && *bar.name == **node
            };
            let open = self.recent(parent, is_open).next_back();
            if let Some(key) = open {
                self.set_written(key, stamp.seq);
            }
        }
    }

    /// Applies a state, which is written at the end of a step.
    fn apply_state(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        if !self.is_open() {
            return;
        }
        let parent = self.graph(&payload.ns, stamp);
        self.end_step(parent, None, stamp);
        if payload.is_root() && payload.named_interrupts().is_some() {
            self.mark_interrupted();
        }
    }

    /// Applies a checkpoint: the end of a step, and the next nodes.
    fn apply_checkpoint(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        let (Some(checkpoint), ns) = (payload.checkpoint(), &payload.ns) else {
            return;
        };
        if !self.is_open() {
            return;
        }
        let step = checkpoint.step();
        let parent = self.graph(ns, stamp);
        self.end_step(parent, step, stamp);
        if self.is_exact() {
            return;
        }
        let tasks = checkpoint.tasks.into_iter().flat_map(Peek::items);
        let tasks = tasks.filter_map(Peek::read::<Task<'_>>);
        let mut next: Vec<(Cow<'_, str>, Option<Cow<'_, str>>)> = tasks
            .filter_map(|task| Some((task.name.0?, task.id.0)))
            .collect();
        if next.is_empty() {
            let names = checkpoint.next.into_iter().flat_map(Peek::items);
            next.extend(names.filter_map(Peek::string).map(|name| (name, None)));
        }
        for (name, id) in next.iter().filter(|(name, _)| name != "__start__") {
            if id.as_deref().is_none_or(|id| self.find(id).is_none()) {
                self.open_node(
                    parent,
                    name,
                    id.as_deref(),
                    ns,
                    step.map(|step| step.saturating_add(1)),
                    stamp,
                );
            }
        }
    }

    fn apply_lifecycle(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        let Some(phase) = payload.phase() else { return };
        let state = match phase.outcome() {
            Some(Outcome::Success) => BarState::Done,
            Some(Outcome::Error) => BarState::Failed,
            Some(_) => BarState::Interrupted,
            None if phase.is_begin() => BarState::Running,
            None => return,
        };
        let detail = phase.error.map(|error| short(&error_text(error.text())));
        if payload.is_root() {
            match state {
                BarState::Running if self.is_open() => {}
                BarState::Running => {
                    self.ensure_attempt(stamp);
                    if let Some(attempt) = self.newest_attempt() {
                        attempt.known.start = stamp.known;
                    }
                }
                state => self.end_attempt(state, detail, Some((stamp.time, stamp.known))),
            }
            return;
        }
        let Some(key) = self.graph(&payload.ns, stamp.implied()) else {
            return;
        };
        match state {
            BarState::Running => self.set_start(key, None, stamp),
            state => self.close(key, state, detail.map(Into::into), stamp),
        }
    }
}

/// Describes the questions, as the other views do.
fn question(interrupts: Peek<'_>) -> Option<Box<str>> {
    let values = interrupts
        .items()
        .filter_map(|interrupt| interrupt.read::<Interrupt<'_>>()?.value);
    let values: Vec<Peek<'_>> = values.take(MAX_QUESTIONS).collect();
    let first = values.first()?;
    // Questions that hold whole documents are not parsed.
    if values.iter().map(|value| value.text().len()).sum::<usize>() > MAX_PARSED {
        return Some(summary(first.text(), DETAIL).into());
    }
    let read = |raw: &Peek<'_>| Question {
        value: raw.read().unwrap_or_default(),
        ..Question::default()
    };
    Some(short(&summary_of(&values.iter().map(read).collect::<Vec<_>>())).into())
}

/// Shortens a text to the maximum length of a detail.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(DETAIL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
