//! Reads each mode's events for the timeline. Parses only the few fields needed, borrowed; skips states and results.

use super::fold::{NEAR, Timed, Told};
use super::{BarKind, BarSource, BarState, Clock, Timeline};
use crate::projection::summary::summary;
use crate::protocol::{Interrupt, Items, MessageOrigin, Payload, Task, Write, text};
use crate::{Namespace, error_text};
use jiff::Timestamp;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// Characters of an error or a question that a bar keeps.
const DETAIL: usize = 160;

impl Timeline {
    /// Applies an event.
    pub(super) fn read(&mut self, payload: &Payload<'_>) {
        let event = payload.event;
        let timed = self.timed(event);
        self.server = timed.server;
        let told = |source| Told { seq: event.seq, time: timed.at, known: timed.known, source };
        match payload.name {
            "metadata" => self.metadata(payload, timed),
            "tasks" => self.task(payload.task(), &payload.ns, None, told(BarSource::Tasks)),
            "debug" => self.debug(payload, timed),
            "events" => self.callback(payload, told(BarSource::Events)),
            "updates" => self.updates(payload, told(BarSource::Updates)),
            "values" => self.state(payload, told(BarSource::Updates)),
            "checkpoints" => self.checkpoint(payload, told(BarSource::Checkpoints)),
            "messages" if payload.enveloped => self.block(payload, told(BarSource::Messages)),
            "messages" => self.tuple(payload, told(BarSource::Messages)),
            "messages/metadata" => self.announce(payload, told(BarSource::Messages)),
            "messages/partial" => self.messages(payload, false, told(BarSource::Messages)),
            "messages/complete" => self.messages(payload, true, told(BarSource::Messages)),
            "lifecycle" => self.phase(payload, told(BarSource::Lifecycle)),
            "tools" => self.tool(payload, told(BarSource::Lifecycle)),
            "input.requested" => self.asks(),
            "error" => {
                let text = error_text(payload.json.unwrap_or(event.data.text()));
                self.end(BarState::Failed, Some(short(&text)), Some((timed.at, timed.known)));
            }
            "end" => self.end(BarState::Done, None, Some((timed.at, timed.known))),
            _ if !payload.ns.is_empty() && self.is_open() => {
                self.graph(&payload.ns, told(BarSource::Updates));
            }
            _ => {}
        }
        if let Some(attempt) = self.newest().filter(|attempt| attempt.ended.is_none()) {
            attempt.last_seq = event.seq;
            attempt.seen = attempt.seen.max(timed.at);
            attempt.is_timed = timed.known;
            attempt.is_arrival_timed |= timed.known && attempt.clock == Clock::Arrival;
        }
    }

    fn metadata(&mut self, payload: &Payload<'_>, timed: Timed) {
        let seq = payload.event.seq;
        let Some(metadata) = payload.metadata() else { return };
        let Some(id) = metadata.run_id.some() else { return };
        if metadata.is_done() {
            self.end(BarState::Done, None, Some((timed.at, timed.known)));
            return;
        }
        let number = metadata.attempt();
        // A stream that is opened again may tell its run again.
        let is_replayed = payload.event.replayed;
        let known = self.newest().is_some_and(|last| {
            // Of a run that is joined in its middle the records tell the steps before.
            let goes_on = !last.is_recorded || !is_replayed && last.ended.is_none();
            last.run_id.as_deref() == Some(id) && last.number >= number && goes_on
        });
        if let Some(last) = self.newest().filter(|_| known) {
            last.is_recorded = false;
        }
        if !known {
            let id = Some(Arc::from(id));
            self.begin(id, number, seq, timed);
        }
    }

    fn task(&mut self, task: Option<&Task<'_>>, ns: &Namespace, step: Option<i64>, told: Told) {
        let Some(task) = task else { return };
        let Some(name) = task.name.some() else { return };
        let parent = self.graph(ns, Told { source: BarSource::Updates, ..told });
        let known = task.id.some().and_then(|id| self.find(id));
        let begins = task.triggers.is_some() && task.result.is_none() && task.error.is_none();
        let key = match known {
            Some(key) => key,
            // Its start was missed; the update that told of its end came just before.
            None => match self.unnamed(parent, name).filter(|_| !begins) {
                Some(key) => {
                    if let Some(id) = task.id.some() {
                        self.name_bar(id, key);
                    }
                    key
                }
                None => self.add_node(parent, name, task.id.some(), ns.clone(), step, told, !begins),
            },
        };
        if begins {
            self.began(key, step, told);
            return;
        }
        self.in_step(key, step);
        let asked = task.interrupts.filter(|raw| !Items::of(raw).is_empty());
        let (state, detail) = match (task.error, asked) {
            (Some(error), _) => (BarState::Failed, Some(short(&error_text(error.get())).into())),
            (None, Some(interrupts)) => {
                if parent.is_none() {
                    self.asks();
                }
                (BarState::Interrupted, question(interrupts))
            }
            (None, None) => (BarState::Done, None),
        };
        self.close(key, state, detail, told);
    }

    /// Returns the node of this name that an update closed last.
    fn unnamed(&self, parent: Option<u64>, name: &str) -> Option<u64> {
        let told_by_update = |key: &&u64| {
            let bar = self.bar(**key);
            bar.is_some_and(|b| b.kind == BarKind::Node && b.source == BarSource::Updates && &*b.name == name)
        };
        self.siblings(parent).iter().rev().take(NEAR).find(told_by_update).copied()
    }

    fn debug(&mut self, payload: &Payload<'_>, timed: Timed) {
        let Some(debug) = payload.debug() else { return };
        let event = payload.event;
        let mut told = Told { seq: event.seq, time: timed.at, known: timed.known, source: BarSource::Debug };
        if !self.is_open() {
            self.ensure(told);
        }
        if let Ok(time) = debug.timestamp.as_str().parse::<Timestamp>() {
            if timed.server.is_none() {
                self.server_time(time, event.at);
            }
            (told.time, told.known) = (time, true);
        }
        match debug.kind.as_str() {
            "task" | "task_result" => self.task(payload.task(), &payload.ns, debug.step.0, told),
            "checkpoint" => {
                let told = Told { source: BarSource::Updates, ..told };
                let parent = self.graph(&payload.ns, told);
                self.step_over(parent, debug.step.0, told);
            }
            _ => {}
        }
    }

    /// `events`: callbacks of everything that runs. Of chains only the nodes of a graph count.
    fn callback(&mut self, payload: &Payload<'_>, told: Told) {
        let Some(event) = payload.callback() else { return };
        let Some((what, phase)) = event.event.as_str().strip_prefix("on_").and_then(|e| e.rsplit_once('_')) else {
            return;
        };
        let kind = match what {
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
                let tagged = |raw: &RawValue| memchr::memmem::find(raw.get().as_bytes(), b"\"graph:step:").is_some();
                if event.tags.is_some_and(tagged)
                    && let Some(key) = self.origin(origin, &payload.ns, told)
                {
                    self.began(key, origin.langgraph_step.0, told);
                    self.name_bar(id, key);
                }
            }
            "start" => {
                let node = self.origin(origin, &payload.ns, Told { source: BarSource::Updates, ..told });
                let name = origin.ls_model_name.some().filter(|_| kind == BarKind::Model);
                let name = name.or(event.name.some()).unwrap_or("unnamed");
                match self.find(id) {
                    Some(key) => {
                        self.began(key, None, told);
                        self.name_bar(id, key);
                    }
                    None => {
                        self.add_call(kind, node, name, Some(id), told);
                    }
                }
            }
            "end" | "error" => {
                let Some(key) = self.find(id) else { return };
                let failed = phase == "error";
                let detail = event.data.filter(|_| failed).map(|data| summary(data.get(), DETAIL).into());
                self.close(key, if failed { BarState::Failed } else { BarState::Done }, detail, told);
            }
            _ => {
                let key = self.find(id);
                self.touch(key, told);
            }
        }
    }

    /// Returns the node that something comes from: the last segment of its checkpoint namespace.
    pub(super) fn origin(&mut self, origin: &MessageOrigin<'_>, ns: &Namespace, told: Told) -> Option<u64> {
        let step = origin.langgraph_step.0;
        if let Some(path) = origin.langgraph_checkpoint_ns.some() {
            if let Some(key) = path.rsplit_once(':').and_then(|(_, id)| self.find(id)) {
                self.in_step(key, step);
                return Some(key);
            }
            let segments: Vec<Arc<str>> = path.split('|').map(|segment| self.names.get(segment)).collect();
            let (last, graph) = segments.split_last()?;
            let parent = self.graph(graph, told);
            return match last.split_once(':') {
                Some((name, id)) => Some(self.open_node(parent, name, Some(id), graph, step, told)),
                None => self.graph(&segments, told),
            };
        }
        let parent = self.graph(ns, told);
        let Some(node) = origin.langgraph_node.some() else { return parent };
        // Without a task id the node's name and its graph have to do.
        let runs = |key: &&u64| {
            self.bar(**key).is_some_and(|b| b.kind == BarKind::Node && b.ended.is_none() && &*b.name == node)
        };
        match self.siblings(parent).iter().rev().take(NEAR).find(runs).copied() {
            Some(key) => Some(key),
            None => Some(self.open_node(parent, node, None, ns, step, told)),
        }
    }

    fn updates(&mut self, payload: &Payload<'_>, told: Told) {
        let asked = payload.named_interrupts().is_some();
        if self.is_exact() && !asked {
            return;
        }
        for Write { node, .. } in payload.writes() {
            if node == "__interrupt__" {
                self.asks();
            } else if !self.is_exact() {
                let parent = self.graph(&payload.ns, told);
                self.wrote(parent, node, &payload.ns, told);
            }
        }
    }

    /// A state is written where a step is over.
    fn state(&mut self, payload: &Payload<'_>, told: Told) {
        if !self.is_open() {
            return;
        }
        let parent = self.graph(&payload.ns, told);
        self.step_over(parent, None, told);
        if payload.is_root() && payload.named_interrupts().is_some() {
            self.asks();
        }
    }

    fn checkpoint(&mut self, payload: &Payload<'_>, told: Told) {
        let (Some(checkpoint), ns) = (payload.checkpoint(), &payload.ns) else { return };
        if !self.is_open() {
            return;
        }
        let step = checkpoint.step();
        let parent = self.graph(ns, told);
        self.step_over(parent, step, told);
        if self.is_exact() {
            return;
        }
        let tasks = checkpoint.tasks.map(Items::of).unwrap_or_default();
        let mut next: Vec<(Cow<'_, str>, Option<Cow<'_, str>>)> = Vec::new();
        for raw in tasks {
            if let Ok(task) = serde_json::from_str::<Task<'_>>(raw.get()) {
                next.extend(task.name.0.map(|name| (name, task.id.0)));
            }
        }
        if next.is_empty() {
            let names = checkpoint.next.map(Items::of).unwrap_or_default();
            next.extend(names.into_iter().filter_map(text).map(|name| (name, None)));
        }
        for (name, id) in next.iter().filter(|(name, _)| name != "__start__") {
            if id.as_deref().is_none_or(|id| self.find(id).is_none()) {
                self.open_node(parent, name, id.as_deref(), ns, step.map(|step| step.saturating_add(1)), told);
            }
        }
    }

    fn phase(&mut self, payload: &Payload<'_>, told: Told) {
        let Some(phase) = payload.phase() else { return };
        let state = match phase.event.as_str() {
            "completed" => BarState::Done,
            "failed" => BarState::Failed,
            "interrupted" => BarState::Interrupted,
            "started" | "running" => BarState::Running,
            _ => return,
        };
        let detail = phase.error.map(|error| short(&error_text(error.get())));
        if payload.is_root() {
            match state {
                BarState::Running if self.is_open() => {}
                BarState::Running => {
                    self.ensure(told);
                    if let Some(attempt) = self.newest() {
                        attempt.known.start = told.known;
                    }
                }
                state => self.end(state, detail, Some((told.time, told.known))),
            }
            return;
        }
        let Some(key) = self.graph(&payload.ns, Told { source: BarSource::Updates, ..told }) else { return };
        match state {
            BarState::Running => self.began(key, None, told),
            state => self.close(key, state, detail.map(Into::into), told),
        }
    }
}

fn question(interrupts: &RawValue) -> Option<Box<str>> {
    let first = Items::of(interrupts).into_iter().next()?;
    let interrupt = Interrupt::read(first)?;
    interrupt.value.map(|value| summary(value.get(), DETAIL).into())
}

pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(DETAIL) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}
