//! Builds messages from events: tokens, accumulated texts, finished messages in states and updates, and the second
//! dialect's blocks. All sources of a message are merged into one.

use super::content::{CallBit, Part, Said, bits};
use super::message::{Dialect, Message, Role, ToolCall};
use super::messages::{MAX_CALLS, Messages, Place, fingerprint};
use super::status::{Origins, StepTimes};
use super::usage::Usage;
use crate::protocol::{
    AdditionalKwargs, Items, MessageOrigin, MessagePair, MessagePayload, Payload, StateMessages, Text,
};
use crate::{MAX_NAME, Namespace, Seq, bounded};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Messages of one state that are read, the newest of them: ten times as many as are kept.
const MAX_LISTED: usize = 200_000;
/// Messages announced but never sent that are remembered.
const MAX_ANNOUNCED: usize = 1024;

impl MessagePayload<'_> {
    /// `type` where it says who speaks, else `role` (plain dictionaries, generic chat messages).
    fn role(&self) -> Role {
        match (self.kind.as_str(), self.role.some()) {
            ("chat" | "ChatMessageChunk" | "", Some(role)) => Role::of(role),
            (kind, _) => Role::of(kind),
        }
    }
}

impl Messages {
    /// Applies an event. Returns how many tokens it contained.
    pub(super) fn apply(&mut self, payload: &Payload<'_>) -> u64 {
        self.forget_touched();
        if payload.json.is_none() {
            return 0;
        }
        let at = payload.event.time();
        let place = Place { seq: payload.event.seq, at, ns: payload.ns.clone(), is_snapshot: false };
        self.starts.apply(payload, at);
        match payload.name {
            "messages" if payload.enveloped => return super::blocks::apply(self, payload, &place),
            "messages" => return payload.pair.as_ref().map_or(0, |pair| self.tuple(pair, &place)),
            "messages/partial" => return self.list(payload, false, &place),
            "messages/complete" => return self.list(payload, true, &place),
            "messages/metadata" => self.announce(payload),
            "metadata" => {
                if let Some(id) = payload.metadata().and_then(|metadata| metadata.run_id.some()) {
                    self.run = Some(self.names.get(id));
                }
            }
            "values" if payload.is_root() => self.state(payload.fields().and_then(StateMessages::of), &place),
            "state_update" => {
                if let Some(values) = payload.checkpoint().and_then(|state| state.values) {
                    self.state(serde_json::from_str(values.get()).ok(), &place);
                }
            }
            "updates" => self.updates(payload, &place),
            _ => {}
        }
        0
    }

    /// `[message or piece, metadata]`.
    fn tuple(&mut self, MessagePair { message, origin }: &MessagePair<'_>, place: &Place) -> u64 {
        if !message.is_chunk() {
            self.whole(message, true, 0, place, origin);
            return 0;
        }
        let known = match message.id.some() {
            Some(id) => self.find(id),
            None => self.growing.get(&place.ns).copied(),
        };
        let i = known.unwrap_or_else(|| self.add(message.id.some(), message.role(), place));
        if message.id.some().is_none() {
            self.growing.insert(place.ns.clone(), i);
        }
        self.name_origin(i, origin);
        let name = message.name.some().map(|n| self.names.get(n));
        let called_at = match self.items().get(i) {
            Some(target) if target.called_at.is_none() && target.chunks == 0 => {
                self.starts.of_call(&place.ns, origin.langgraph_node.some())
            }
            _ => None,
        };
        let Some(target) = self.get_mut(i) else { return 0 };
        target.called_at = target.called_at.or(called_at);
        if target.is_loaded {
            // The text is known, but the stream has better times.
            return target.time_piece(message, place);
        }
        if target.is_whole {
            return 0;
        }
        if *target.dialect.get_or_insert(Dialect::Pieces) != Dialect::Pieces {
            // The text is already known, but the usage may only be here.
            if target.usage.is_none()
                && let Some(usage) = message.usage_metadata.and_then(Usage::read)
            {
                target.usage = Some(usage);
                target.touch(place.seq, place.at);
            }
            return 0;
        }
        target.name = target.name.take().or(name);
        let tokens = target.grow(message, place);
        target.touch(place.seq, place.at);
        let is_asking = !target.tool_calls.is_empty();
        if target.complete && message.id.some().is_none() {
            self.growing.remove(&place.ns);
        }
        if is_asking {
            self.join(i);
        }
        tokens
    }

    /// `messages/partial` and `messages/complete`: whole texts so far.
    fn list(&mut self, payload: &Payload<'_>, complete: bool, place: &Place) -> u64 {
        let mut tokens = 0;
        for message in payload.messages() {
            // Python never sends a model's message as complete; its last form says why it finished.
            let complete = complete || message.is_finish();
            if !complete && self.is_streamed_in_pieces(message.id.some()) {
                continue;
            }
            let Some(i) = self.whole(message, complete, 0, place, &MessageOrigin::default()) else { continue };
            let Some(message) = self.get_mut(i) else { continue };
            if !complete {
                message.dialect.get_or_insert(Dialect::TextsSoFar);
            }
            // Where the message is streamed in pieces, those were the tokens.
            if message.role == Role::Ai && message.last_seq == place.seq && message.dialect != Some(Dialect::Pieces) {
                tokens += 1;
                message.note_token(place.at);
            }
        }
        tokens
    }

    /// Returns whether the message with this id is streamed in pieces.
    fn is_streamed_in_pieces(&self, id: Option<&str>) -> bool {
        let known = id.and_then(|id| self.find(id)).and_then(|i| self.items().get(i));
        known.is_some_and(|message| message.dialect == Some(Dialect::Pieces))
    }

    fn announce(&mut self, payload: &Payload<'_>) {
        for (id, announced) in payload.announced() {
            let Some(metadata) = &announced.metadata else { continue };
            let id = bounded(Cow::Borrowed(id));
            let node = metadata.langgraph_node.some().map(|n| self.names.get(n));
            let run = metadata.run_id.some().map(|n| self.names.get(n));
            match self.find(&id).and_then(|i| self.get_mut(i)) {
                Some(message) => message.node = message.node.take().or(node),
                None => {
                    if self.announced.len() >= MAX_ANNOUNCED {
                        self.announced.clear();
                    }
                    self.announced.insert(id.as_ref().into(), (node, run, step_of(metadata)));
                }
            }
        }
    }

    /// Takes the values of the thread's state as the server has them, with when and in which run each message was written as
    /// far as the history tells.
    pub(super) fn apply_snapshot(&mut self, seq: Seq, values: &str, origins: &Origins) {
        self.forget_touched();
        let place = Place { seq, at: None, ns: Namespace::default(), is_snapshot: true };
        // A state without messages says nothing of them: JavaScript shows the state of the graph that ran last, and leaves out
        // what other graphs wrote.
        let Ok(StateMessages { messages: Items(list) }) = serde_json::from_str(values) else { return };
        let (mut said, mut held) = (HashMap::new(), HashSet::new());
        for raw in list {
            let Some(i) = self.listed(raw, &mut said, &place, &MessageOrigin::default()) else { continue };
            held.insert(i);
            let Some(message) = self.get_mut(i) else { continue };
            let origin = message.id.as_ref().and_then(|id| origins.get(id));
            let (at, run) = origin.cloned().unwrap_or_default();
            message.run_id = message.run_id.take().or(run);
            if message.is_loaded || message.ended_at.is_none() {
                (message.started_at, message.ended_at) = (message.started_at.or(at), message.ended_at.or(at));
            }
        }
        // Messages that only an older snapshot contained were removed since.
        for i in 0..self.items().len() {
            if self.items()[i].is_loaded && !held.contains(&i) {
                self.remove(i, &place);
            }
        }
    }

    /// Times messages that were replayed without times by the checkpoints of their steps: a step's messages are saved with it, and
    /// what a person said before the first node is saved with the run's input.
    pub(super) fn time_by_steps(&mut self, times: &StepTimes) {
        for message in self.untimed() {
            let Some(run) = &message.run_id else { continue };
            let is_input = message.role == Role::Human && message.node.is_none();
            let at = match message.step {
                Some(step) => times.steps.get(&(run.clone(), step)),
                None => times.inputs.get(run).filter(|_| is_input),
            };
            if let Some(at) = at {
                (message.started_at, message.ended_at) = (message.started_at.or(Some(*at)), Some(*at));
                message.rev = message.rev.wrapping_add(1);
            }
        }
    }

    /// Applies a state of the root graph, which contains the whole conversation.
    fn state(&mut self, state: Option<StateMessages<'_>>, place: &Place) {
        let Some(StateMessages { messages: Items(list) }) = state else { return };
        let mut held = Vec::with_capacity(list.len());
        let mut said = HashMap::new();
        let first = list.len().saturating_sub(MAX_LISTED);
        for (at, raw) in list.into_iter().skip(first).enumerate() {
            let print = fingerprint(&[raw.get()]);
            // Mostly the list is as it was, and something was added.
            if let Some(&(before, number)) = self.last_state.get(at)
                && before == print
                && self.get(number).is_none_or(|m| m.id.is_some() && m.removed_at.is_none() && m.is_whole)
            {
                // Don't add evicted messages again as if they were new.
                held.push((print, number));
                continue;
            }
            if let Some(i) = self.listed(raw, &mut said, place, &MessageOrigin::default()) {
                held.push((print, self.number(i)));
            }
        }
        self.hold(held, place);
    }

    /// Applies `{node: {messages: …}}`, the writes of nodes.
    fn updates(&mut self, payload: &Payload<'_>, place: &Place) {
        for write in payload.writes() {
            let Some(messages) = write.fields().and_then(|fields| fields.get("messages")) else { continue };
            let meta = MessageOrigin { langgraph_node: Text(Some(write.node.clone())), ..MessageOrigin::default() };
            let list = if messages.get().starts_with('[') { Items::of(messages) } else { vec![messages] };
            let mut said = HashMap::new();
            for raw in list {
                self.listed(raw, &mut said, place, &meta);
            }
        }
    }

    /// A message in a list that may hold the same thing twice.
    fn listed(
        &mut self,
        raw: &RawValue,
        said: &mut HashMap<u64, usize>,
        place: &Place,
        meta: &MessageOrigin<'_>,
    ) -> Option<usize> {
        let message = match raw.get().as_bytes().first() {
            Some(b'{') => serde_json::from_str::<MessagePayload<'_>>(raw.get()).ok()?,
            Some(b'n') | None => return None,
            // Graphs may keep bare texts, or pairs of a role and a text.
            Some(_) => MessagePayload::bare(raw),
        };
        let mut nth = 0;
        if message.id.some().is_none() {
            let count = said.entry(says(&message)).or_insert(0);
            nth = *count;
            *count += 1;
        }
        self.whole(&message, true, nth, place, meta)
    }

    /// A whole message: finished, or its whole text so far.
    fn whole(
        &mut self,
        message: &MessagePayload<'_>,
        complete: bool,
        nth: usize,
        place: &Place,
        meta: &MessageOrigin<'_>,
    ) -> Option<usize> {
        if message.kind.is("remove") {
            match message.id.some()? {
                "__remove_all__" => self.remove_all(place),
                id => {
                    let i = self.find(id)?;
                    self.remove(i, place);
                }
            }
            return None;
        }
        let says_who = message.kind.some().is_some() || message.role.some().is_some();
        if message.content.is_none() && message.tool_calls.is_none() && !says_who {
            return None;
        }
        let known = match message.id.some() {
            Some(id) => self.find(id),
            None => self.find_unnamed(says(message), nth),
        };
        let i = known.unwrap_or_else(|| {
            let i = self.add(message.id.some(), message.role(), place);
            if message.id.some().is_none() {
                self.note_unnamed(says(message), i);
            }
            i
        });
        self.name_origin(i, meta);
        let name = message.name.some().map(|n| self.names.get(n));
        let target = self.get_mut(i)?;
        // Written by a node, or said before the first one: an input carries no node.
        let mut changed = known.is_none();
        if let Some(name) = name.filter(|n| target.name.as_ref() != Some(n)) {
            target.name = Some(name);
            changed = true;
        }
        changed |= target.become_whole(message, complete, place);
        changed |= target.complete != complete || target.removed_at.is_some();
        target.complete = complete;
        target.is_whole |= complete;
        target.removed_at = None;
        if changed {
            target.touch(place.seq, place.at);
            self.join(i);
        }
        Some(i)
    }

    /// Notes where a message comes from, where that was not known yet.
    fn name_origin(&mut self, i: usize, meta: &MessageOrigin<'_>) {
        let announced = match self.items().get(i).and_then(|m| m.id.clone()) {
            Some(id) if !self.announced.is_empty() => self.announced.remove(&*id),
            _ => None,
        };
        let known = |m: &Message| m.node.is_some() && m.run_id.is_some();
        if announced.is_none() && self.items().get(i).is_some_and(known) {
            return;
        }
        let node = meta.langgraph_node.some().map(|n| self.names.get(n));
        let run = meta.run_id.some().map(|n| self.names.get(n));
        let (told_node, told_run, told_step) = announced.unwrap_or_default();
        if let Some(message) = self.get_mut(i) {
            message.node = message.node.take().or(node).or(told_node);
            message.run_id = message.run_id.take().or(run).or(told_run);
            message.step = message.step.or(step_of(meta)).or(told_step);
        }
    }
}

/// Returns the step of the thread's own graph that something is of: subgraphs count steps of their own.
fn step_of(meta: &MessageOrigin<'_>) -> Option<i64> {
    meta.langgraph_step.0.filter(|_| !meta.langgraph_checkpoint_ns.as_str().contains('|'))
}

fn says(message: &MessagePayload<'_>) -> u64 {
    let raw = |r: Option<&RawValue>| r.map_or("", RawValue::get).to_string();
    let role = format!("{:?}", message.role());
    fingerprint(&[&role, &raw(message.content), &raw(message.tool_calls), message.tool_call_id.as_str()])
}

impl Message {
    /// Takes a piece of a message whose text is known from the server's state: what is new is when it was written.
    fn time_piece(&mut self, piece: &MessagePayload<'_>, place: &Place) -> u64 {
        let says = |raw: Option<&RawValue>, empty: &str| raw.is_some_and(|raw| raw.get() != empty && raw.get() != "[]");
        if !says(piece.content, "\"\"") && !says(piece.tool_call_chunks, "[]") {
            return 0;
        }
        self.note_token(place.at);
        self.started_at = self.started_at.or(place.at);
        self.touch(place.seq, place.at);
        1
    }

    /// Adds a chunk. Returns whether it contained a token.
    fn grow(&mut self, piece: &MessagePayload<'_>, place: &Place) -> u64 {
        let before = (self.text.len(), self.reasoning.len());
        let mut calls = Vec::new();
        let beside = AdditionalKwargs::read(piece.additional_kwargs);
        self.extend(place.seq, |said| {
            said.think(&beside.reasoning_content.0);
            calls.extend(piece.content.map(bits).unwrap_or_default().into_iter().filter_map(|bit| said.add(bit)));
            said.refuse(&beside.refusal.0);
        });
        let mut any = before != (self.text.len(), self.reasoning.len());
        // Calls lie beside the content, in the content, or in both; whole ones only in JavaScript.
        let chunks = piece.tool_call_chunks.map(Items::of).unwrap_or_default();
        if !chunks.is_empty() {
            calls = chunks.into_iter().filter_map(CallBit::read).collect();
        } else if calls.is_empty() {
            let whole = piece.tool_calls.map(Items::of).unwrap_or_default();
            let known = |call: &CallBit<'_>| self.tool_calls.iter().any(|c| Some(c.id.as_str()) == call.id.as_deref());
            calls = whole.into_iter().filter_map(CallBit::read).filter(|call| !known(call)).collect();
        }
        any |= !calls.is_empty();
        for call in &calls {
            self.grow_call(call, place);
        }
        if let Some(more) = piece.usage_metadata.and_then(Usage::read) {
            self.usage.get_or_insert_default().add(more);
            // JavaScript marks no last piece; the count that stands alone at the end is one.
            let said_anything = !self.text.is_empty() || !self.tool_calls.is_empty();
            self.complete |= !any && said_anything;
        } else if any {
            self.complete = false;
        }
        self.complete |= piece.is_finish();
        if any {
            self.note_token(place.at);
        }
        u64::from(any)
    }

    /// Adds a chunk to the call with its index.
    pub(super) fn grow_call(&mut self, piece: &CallBit<'_>, place: &Place) {
        let (index, id) = (piece.index, piece.id.as_deref());
        let fits = |call: &ToolCall| match (index, id) {
            (Some(index), Some(id)) => call.index.as_deref() == Some(index) && (call.id.is_empty() || call.id == id),
            (Some(index), None) => call.index.as_deref() == Some(index),
            (None, Some(id)) => call.id == id,
            (None, None) => piece.name.is_none(),
        };
        let at = match self.tool_calls.iter().rposition(fits) {
            Some(at) => at,
            None if self.tool_calls.len() >= MAX_CALLS => return,
            None => {
                self.parts.push(Part::Call(self.tool_calls.len()));
                self.tool_calls.push(ToolCall { index: index.map(Into::into), ..ToolCall::default() });
                self.tool_calls.len() - 1
            }
        };
        let call = &mut self.tool_calls[at];
        if let Some(id) = id {
            call.id = id.into();
        }
        if let Some(name) = &piece.name {
            let room = MAX_NAME.saturating_sub(call.name.len());
            call.name.push_str(runtail_core::text::head(name, room));
        }
        call.args.push_str(&piece.args());
        (call.seq, call.at) = (place.seq, place.at);
    }

    /// Applies a complete message. Returns whether it changed.
    fn become_whole(&mut self, message: &MessagePayload<'_>, complete: bool, place: &Place) -> bool {
        let (mut said, mut within) = (Said::default(), Vec::new());
        let beside = AdditionalKwargs::read(message.additional_kwargs);
        said.think(&beside.reasoning_content.0);
        for bit in message.content.map(bits).unwrap_or_default() {
            if let Some(call) = said.add(bit).filter(|_| within.len() < MAX_CALLS) {
                said.parts.push(Part::Call(within.len()));
                within.push(ToolCall::of(&call, place));
            }
        }
        if !said.text.ends_with(&*beside.refusal.0) {
            said.refuse(&beside.refusal.0);
        }
        let mut calls: Vec<ToolCall> = Vec::new();
        let read = |raw| Items::of(raw).into_iter().filter_map(CallBit::read);
        for call in message.tool_calls.into_iter().flat_map(read) {
            calls.push(ToolCall::of(&call, place));
        }
        for call in message.invalid_tool_calls.into_iter().flat_map(read) {
            // While a text grows, a call that is not at its end yet counts as invalid.
            let why = complete.then(|| call.error.as_deref().unwrap_or_default().to_string());
            calls.push(ToolCall { invalid: why, ..ToolCall::of(&call, place) });
        }
        if calls.is_empty() {
            calls.clone_from(&within);
        }
        calls.truncate(MAX_CALLS);
        for (i, new) in calls.iter_mut().enumerate() {
            let old = self.tool_calls.iter().find(|c| !c.id.is_empty() && c.id == new.id).or(self.tool_calls.get(i));
            let Some(old) = old.filter(|old| old.id.is_empty() || new.id.is_empty() || old.id == new.id) else {
                continue;
            };
            new.answer = old.answer;
            // What was streamed is what the model wrote; the server's own form of the same is no news.
            if is_same_json(&old.args, &new.args) {
                new.args.clone_from(&old.args);
                new.index.clone_from(&old.index);
                (new.seq, new.at) = (old.seq, old.at);
            }
        }
        // The list of a text that is still growing leaves out calls that cannot be read yet.
        let mut changed = false;
        if calls != self.tool_calls && (!calls.is_empty() || message.tool_calls.is_some()) {
            self.tool_calls = calls;
            changed = true;
        }
        said.parts = self.placed(said.parts, &within);
        changed |= self.replace_said(said, place.seq);
        if let Some(usage) = message.usage_metadata.and_then(Usage::read).filter(|u| self.usage != Some(*u)) {
            self.usage = Some(usage);
            changed = true;
        }
        if let Some(id) = message.tool_call_id.some().filter(|id| self.tool_call_id.as_deref() != Some(*id)) {
            self.tool_call_id = Some(id.into());
            changed = true;
        }
        let is_error = message.status.is("error");
        changed |= is_error != self.is_error;
        self.is_error = is_error;
        changed
    }

    /// Returns the parts with each call in its place: where the content has it, else at the end.
    fn placed(&self, parts: Vec<Part>, within: &[ToolCall]) -> Vec<Part> {
        let mut left: Vec<usize> = (0..self.tool_calls.len()).collect();
        let mut placed = Vec::with_capacity(parts.len() + left.len());
        for part in parts {
            let Part::Call(i) = part else {
                placed.push(part);
                continue;
            };
            let same = |at: &usize| within.get(i).is_some_and(|call| call.id == self.tool_calls[*at].id);
            if let Some(at) = left.iter().position(same) {
                placed.push(Part::Call(left.remove(at)));
            }
        }
        placed.extend(left.into_iter().map(Part::Call));
        placed
    }
}

impl ToolCall {
    /// A call that came as a whole.
    fn of(call: &CallBit<'_>, place: &Place) -> ToolCall {
        let word = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().unwrap_or_default().to_string();
        let (id, name) = (word(&call.id), word(&call.name));
        ToolCall { id, name, args: call.args(), seq: place.seq, at: place.at, ..ToolCall::default() }
    }
}

fn is_same_json(a: &str, b: &str) -> bool {
    a == b || matches!((serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}
