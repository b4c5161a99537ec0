//! Builds messages from events: tokens, accumulated texts, finished messages in states and updates, and the newer
//! protocol's blocks. All sources of a message are merged into one.

use super::content::{CallChunk, Content, Part, pieces};
use super::message::{Dialect, Message, Role, ToolCall};
use super::messages::{EventContext, MAX_CALLS, Messages, Origin};
use super::node_path::{name_of, node_path};
use super::status::StepTimes;
use super::usage::Usage;
use crate::insert;
use crate::protocol::{
    AdditionalKwargs, MessageOrigin, MessagePair, MessagePayload, Payload, StateMessages, model_of,
};
use crate::source::control_events::begins_run;
use crate::{MAX_NAME, bounded, hash_of};
use runtail_core::json::{self, Peek};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of announced messages remembered until they are sent.
const MAX_ANNOUNCED: usize = 1024;
/// The id in a message that removes all others.
const REMOVE_ALL: &str = "__remove_all__";

impl MessagePayload<'_> {
    /// Returns the role from `type`, or from `role` if `type` doesn't have it (plain dictionaries, generic chat
    /// messages).
    pub(crate) fn role(&self) -> Role {
        match (self.kind.as_str(), self.role.some()) {
            ("chat" | "ChatMessageChunk" | "", Some(role)) => Role::of(role),
            (kind, _) => Role::of(kind),
        }
    }

    /// Returns the text of its content.
    pub(super) fn text(&self) -> String {
        let mut content = Content::default();
        for piece in self.content.map(pieces).unwrap_or_default() {
            content.push(piece);
        }
        content.text
    }
}

impl Messages {
    /// Applies an event. Returns how many tokens it contained.
    pub(super) fn apply(&mut self, payload: &Payload<'_>) -> u64 {
        self.start_event();
        if payload.json.is_none() {
            return 0;
        }
        let at = payload.event.time();
        let (sent, replayed) = (payload.event.server_time(), payload.event.replayed);
        let context = EventContext {
            seq: payload.event.seq,
            at,
            ns: payload.ns.clone(),
            placed: at,
            is_timed: sent.is_some(),
            replayed,
            is_outdated: self.is_outdated(sent, replayed),
            ..EventContext::default()
        };
        self.starts.apply(payload, at);
        self.apply_siblings(payload);
        match payload.name {
            "messages" if payload.enveloped => {
                return super::blocks::apply(self, payload, &context);
            }
            "messages" => {
                let Some(pair) = &payload.pair else { return 0 };
                self.starts.before_message(&context.ns, pair.origin);
                let tokens = self.apply_pair(pair, &context);
                self.starts.after_message(&context.ns, at);
                return tokens;
            }
            "messages/partial" => return self.apply_list(payload, false, &context),
            "messages/complete" => return self.apply_list(payload, true, &context),
            "messages/metadata" => self.apply_announcements(payload),
            "metadata" => {
                if let Some((id, _)) = payload.run() {
                    self.run = Some(self.names.get(id));
                }
                if begins_run(payload.name, payload.event.data.text()) {
                    self.missed.run_began();
                }
            }
            "values" if payload.is_root() => {
                self.apply_state(payload.fields().and_then(StateMessages::of), &context);
            }
            "state_update" => {
                if let Some(values) = payload.checkpoint().and_then(|state| state.values) {
                    self.apply_state(StateMessages::read(values.text()), &context);
                }
            }
            "updates" => self.apply_updates(payload, &context),
            _ => {}
        }
        0
    }

    /// Applies `[message or chunk, metadata]`. Returns how many tokens it contained.
    fn apply_pair(
        &mut self,
        MessagePair { message, origin }: &MessagePair<'_>,
        context: &EventContext,
    ) -> u64 {
        if !message.is_chunk() {
            self.apply_whole(message, true, 0, context, origin);
            return 0;
        }
        let known = match message.id.some() {
            Some(id) => self.find(id),
            None => self.growing.get(&context.ns).copied(),
        };
        let i = match known {
            Some(i) => i,
            None if self.missed.is_inside(&self.starts, &context.ns, origin) => {
                self.add_inside(message, context)
            }
            None => self.add(message.id.some(), message.role(), context),
        };
        if message.id.some().is_none() {
            self.growing.insert(context.ns.clone(), i);
        }
        self.see(i, context);
        self.set_origin(i, origin);
        self.set_model(i, message, origin);
        let name = message.name.some().map(|n| self.names.get(n));
        let called = match self.items().get(i) {
            Some(target) if target.called.is_none() && target.chunks == 0 => {
                self.starts.of_call(message.id.some(), &context.ns, origin)
            }
            _ => None,
        };
        let Some(target) = self.get_mut(i) else {
            return 0;
        };
        target.called = target.called.or(called);
        if target.is_loaded {
            // The text is known, but the stream has better times.
            return target.time_chunk(message, context);
        }
        if target.is_whole {
            return 0;
        }
        if *target.dialect.get_or_insert(Dialect::Chunks) != Dialect::Chunks {
            // The text is already known, but the usage may only be here.
            if target.usage.is_none()
                && let Some(usage) = message.usage_metadata.and_then(Usage::read)
            {
                target.usage = Some(usage);
                target.touch(context.seq, context.at);
            }
            return 0;
        }
        target.name = target.name.take().or(name);
        let tokens = target.grow(message, context);
        target.touch(context.seq, context.at);
        let has_calls = !target.tool_calls.is_empty();
        if target.complete && message.id.some().is_none() {
            self.growing.remove(&context.ns);
        }
        if has_calls {
            self.link_calls(i);
        }
        tokens
    }

    /// Applies `messages/partial` or `messages/complete`: whole texts so far. Returns how many tokens they contained.
    fn apply_list(&mut self, payload: &Payload<'_>, complete: bool, context: &EventContext) -> u64 {
        let mut tokens = 0;
        for message in payload.messages() {
            // Python never sends a model's message as complete, but its last version has a finish reason.
            let complete = complete || message.is_finish();
            if !complete && self.is_streamed_in_chunks(message.id.some()) {
                continue;
            }
            let origin = MessageOrigin::default();
            let is_new = message
                .id
                .some()
                .is_some_and(|id| self.find(id).is_none() && !self.announced.contains_key(id));
            if is_new && !complete && self.missed.is_inside(&self.starts, &context.ns, &origin) {
                self.add_inside(message, context);
            }
            let Some(i) = self.apply_whole(message, complete, 0, context, &origin) else {
                continue;
            };
            let Some(message) = self.get_mut(i) else {
                continue;
            };
            if !complete {
                message.dialect.get_or_insert(Dialect::Accumulated);
            }
            // If the message is also streamed in chunks, its tokens were counted there.
            if message.role == Role::Ai
                && message.last_seq == context.seq
                && message.dialect != Some(Dialect::Chunks)
            {
                tokens += 1;
                message.count_token(context.at);
            }
        }
        tokens
    }

    /// Returns whether the message with this id is streamed in chunks.
    fn is_streamed_in_chunks(&self, id: Option<&str>) -> bool {
        let known = id
            .and_then(|id| self.find(id))
            .and_then(|i| self.items().get(i));
        known.is_some_and(|message| message.dialect == Some(Dialect::Chunks))
    }

    /// Applies `messages/metadata`: the nodes and runs of messages that follow.
    fn apply_announcements(&mut self, payload: &Payload<'_>) {
        for (id, metadata) in payload.announced() {
            let id = bounded(Cow::Borrowed(id));
            let origin = self.origin(metadata, &payload.ns);
            match self.find(&id).and_then(|i| self.get_mut(i)) {
                Some(message) => message.set_node(origin.node, origin.path),
                None => insert(
                    &mut self.announced,
                    MAX_ANNOUNCED,
                    id.as_ref().into(),
                    origin,
                ),
            }
        }
    }

    /// Sets the times of messages that were replayed without times from checkpoints: a step's messages are saved with
    /// its checkpoint, and the user's messages with the checkpoint of the run's input.
    pub(super) fn time_by_steps(&mut self, times: &StepTimes) {
        let untimed = self.items.iter_mut().filter(|m| m.ended_at.is_none());
        for message in untimed {
            let Some(run) = &message.run_id else { continue };
            let is_input = message.role == Role::Human && message.node.is_none();
            let at = match message.step {
                Some(step) => times.steps.get(&(run.clone(), step)),
                None => times.inputs.get(run).filter(|_| is_input),
            };
            if let Some(at) = at {
                (message.started_at, message.ended_at) =
                    (message.started_at.or(Some(*at)), Some(*at));
                message.rev = message.rev.wrapping_add(1);
            }
        }
    }

    /// Applies a message of a list. `counts` tells equal messages without ids apart. Returns the message's index.
    pub(super) fn apply_listed(
        &mut self,
        raw: Peek<'_>,
        counts: &mut HashMap<u64, usize>,
        context: &EventContext,
        origin: &MessageOrigin<'_>,
    ) -> Option<usize> {
        let message = match raw.text().as_bytes().first() {
            Some(b'{') => raw.read::<MessagePayload<'_>>()?,
            Some(b'n') | None => return None,
            // Graphs may store plain texts, or pairs of a role and a text.
            Some(_) => MessagePayload::bare(raw),
        };
        let mut nth = 0;
        if message.id.some().is_none() {
            let count = counts.entry(content_fingerprint(&message)).or_insert(0);
            nth = *count;
            *count += 1;
        }
        self.apply_whole(&message, true, nth, context, origin)
    }

    /// Applies a whole message: finished, or with its whole text so far. Returns its index.
    fn apply_whole(
        &mut self,
        message: &MessagePayload<'_>,
        complete: bool,
        nth: usize,
        context: &EventContext,
        origin: &MessageOrigin<'_>,
    ) -> Option<usize> {
        if message.kind.is("remove") {
            let id = message.id.some()?;
            let removed = match id {
                REMOVE_ALL => 0..self.items().len(),
                id => self.find(id).map(|i| i..i + 1)?,
            };
            let is_root = match origin.langgraph_checkpoint_ns.some() {
                Some(path) => !path.contains('|'),
                None => context.ns.is_empty(),
            };
            self.remove_own(removed, is_root, context);
            return None;
        }
        let has_role = message.kind.some().is_some() || message.role.some().is_some();
        if message.content.is_none() && message.tool_calls.is_none() && !has_role {
            return None;
        }
        let known = match message.id.some() {
            Some(id) => self
                .find(id)
                .or(context.renamed)
                .or_else(|| self.assign_id(id, || content_fingerprint(message))),
            None => self
                .find_unnamed(content_fingerprint(message), nth)
                .or_else(|| self.find_loaded(message)),
        };
        let i = known.unwrap_or_else(|| {
            let i = self.add(message.id.some(), message.role(), context);
            if message.id.some().is_none() {
                let unnamed = self.unnamed.entry(content_fingerprint(message));
                unnamed.or_default().push(i);
            }
            i
        });
        // A node that returns the user's message passes it on.
        let is_passed_on = |m: &Message| context.in_state && m.role == Role::Human;
        if known.is_none() || !self.items().get(i).is_some_and(is_passed_on) {
            self.set_origin(i, origin);
        }
        self.set_model(i, message, origin);
        self.see(i, context);
        let name = message.name.some().map(|n| self.names.get(n));
        let removed_at = match context.is_outdated {
            true if context.is_snapshot || !context.in_state => {
                self.items().get(i).and_then(|m| m.removed_at)
            }
            true if !self.order.loaded.contains(&self.number(i)) => Some(context.seq),
            _ => None,
        };
        let target = self.get_mut(i)?;
        target.in_state |= context.in_state;
        let mut changed = known.is_none();
        if let Some(name) = name.filter(|n| target.name.as_ref() != Some(n)) {
            target.name = Some(name);
            changed = true;
        }
        changed |= target.become_whole(message, complete, context);
        changed |=
            target.complete != complete || target.removed_at.is_some() != removed_at.is_some();
        target.complete = complete;
        target.is_whole |= complete;
        target.removed_at = removed_at.map(|seq| target.removed_at.unwrap_or(seq));
        if changed {
            target.touch(context.seq, context.at);
            self.link_calls(i);
        }
        Some(i)
    }

    /// Finds a message that a node writes without an id among those of the loaded state, which have one.
    fn find_loaded(&self, message: &MessagePayload<'_>) -> Option<usize> {
        message.content?;
        let text = message.text();
        self.items().iter().position(|known| {
            let is_new = known.is_loaded && known.id.is_some() && !known.is_streamed;
            is_new && known.is_same(message, &text)
        })
    }

    /// Sets the node, run and step of a message if they are not known yet.
    fn set_origin(&mut self, i: usize, origin: &MessageOrigin<'_>) {
        let announced = match self.items().get(i).and_then(|m| m.id.clone()) {
            Some(id) if !self.announced.is_empty() => self.announced.remove(&*id),
            _ => None,
        };
        let known = |m: &Message| m.node.is_some() && m.run_id.is_some();
        if announced.is_none() && self.items().get(i).is_some_and(known) {
            return;
        }
        let own = self
            .items()
            .get(i)
            .map(|message| message.ns.clone())
            .unwrap_or_default();
        let origin = self.origin(origin, &own);
        let announced = announced.unwrap_or_default();
        if let Some(message) = self.get_mut(i) {
            message.set_node(origin.node, origin.path);
            message.set_node(announced.node, announced.path);
            message.run_id = message.run_id.take().or(origin.run).or(announced.run);
            message.step = message.step.or(origin.step).or(announced.step);
        }
    }

    /// Sets the model of a message, unless a response named it before.
    fn set_model(&mut self, i: usize, message: &MessagePayload<'_>, origin: &MessageOrigin<'_>) {
        let known = self
            .items()
            .get(i)
            .and_then(|message| message.model.as_ref());
        if known.is_some_and(|(_, is_of_response)| *is_of_response) {
            return;
        }
        let of_request = origin.ls_model_name.some().filter(|_| known.is_none());
        let of_response = message.response_metadata.and_then(model_of);
        let name = of_response
            .as_deref()
            .or(of_request)
            .map(|name| self.names.get(name));
        if let (Some(name), Some(message)) = (name, self.get_mut(i)) {
            message.model = Some((name, of_response.is_some()));
        }
    }

    /// Reads where a message in a namespace comes from.
    fn origin(&mut self, origin: &MessageOrigin<'_>, ns: &[Arc<str>]) -> Origin {
        let node = origin.langgraph_node.some();
        let checkpoint_ns = origin.langgraph_checkpoint_ns.some();
        let path = node.map(|node| match checkpoint_ns {
            // The last segment is the node itself.
            Some(path) => node_path(path.split('|'), None),
            None => node_path(outside(ns, node), Some(node)),
        });
        Origin {
            node: node.map(|node| self.names.get(node)),
            path: path
                .filter(|path| !path.is_empty())
                .map(|path| self.names.get(&path)),
            run: origin.run_id.some().map(|run| self.names.get(run)),
            step: origin.root_step(),
        }
    }
}

/// Returns the namespace without its last segment if that is the node itself: JavaScript names it so in messages.
fn outside<'a>(ns: &'a [Arc<str>], node: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let is_node = ns.last().is_some_and(|last| name_of(last) == node);
    ns[..ns.len() - usize::from(is_node)]
        .iter()
        .map(|segment| &**segment)
}

fn content_fingerprint(message: &MessagePayload<'_>) -> u64 {
    let raw = |r: Option<Peek<'_>>| r.map_or("", Peek::text).to_string();
    hash_of((
        message.role().word(),
        raw(message.content),
        raw(message.tool_calls),
        message.tool_call_id.as_str(),
    ))
}

impl Message {
    /// Returns whether a message with this text is the same one under another id.
    pub(super) fn is_same(&self, message: &MessagePayload<'_>, text: &str) -> bool {
        let is_of_call = self.tool_call_id.as_deref() == message.tool_call_id.some();
        is_of_call && self.role == message.role() && self.text == text
    }

    /// Sets the node that wrote it, unless it is known.
    pub(super) fn set_node(&mut self, node: Option<Arc<str>>, path: Option<Arc<str>>) {
        if self.node.is_none() {
            (self.node, self.path) = (node, path);
        }
    }

    /// Applies a chunk of a message whose text is known from the server's state, so only its time is new. Returns how
    /// many tokens it contained.
    fn time_chunk(&mut self, chunk: &MessagePayload<'_>, context: &EventContext) -> u64 {
        let has_content = |raw: Option<Peek<'_>>, empty: &str| {
            raw.is_some_and(|raw| raw.text() != empty && raw.text() != "[]")
        };
        if !has_content(chunk.content, "\"\"") && !has_content(chunk.tool_call_chunks, "[]") {
            return 0;
        }
        self.count_token(context.at);
        self.started_at = self.started_at.or(context.at);
        self.touch(context.seq, context.at);
        1
    }

    /// Adds a chunk. Returns how many tokens it contained.
    fn grow(&mut self, chunk: &MessagePayload<'_>, context: &EventContext) -> u64 {
        let before = (self.text.len(), self.reasoning.len());
        let mut calls = Vec::new();
        let extra = AdditionalKwargs::read(chunk.additional_kwargs);
        self.extend(context.seq, |target| {
            target.push_reasoning(&extra.reasoning_content.0);
            let content = chunk.content.map(pieces).unwrap_or_default();
            calls.extend(content.into_iter().filter_map(|piece| target.push(piece)));
            target.push_refusal(&extra.refusal.0);
        });
        let mut has_tokens = before != (self.text.len(), self.reasoning.len());
        // Calls are in `tool_call_chunks`, in the content, or in both. Only JavaScript sends whole calls in chunks.
        let mut chunks = chunk
            .tool_call_chunks
            .into_iter()
            .flat_map(Peek::items)
            .peekable();
        if chunks.peek().is_some() {
            calls = chunks.filter_map(CallChunk::read).collect();
        } else if calls.is_empty() {
            let whole = chunk.tool_calls.into_iter().flat_map(Peek::items);
            let known = |call: &CallChunk<'_>| {
                self.tool_calls
                    .iter()
                    .any(|c| Some(c.id.as_str()) == call.id.as_deref())
            };
            calls = whole
                .into_iter()
                .filter_map(CallChunk::read)
                .filter(|call| !known(call))
                .collect();
        }
        has_tokens |= !calls.is_empty();
        for call in &calls {
            self.grow_call(call, context);
        }
        if let Some(usage) = chunk.usage_metadata.and_then(Usage::read) {
            self.usage.get_or_insert_default().add(usage);
            // JavaScript doesn't mark the last chunk, but it contains only the usage.
            let has_content = !self.text.is_empty() || !self.tool_calls.is_empty();
            self.complete |= !has_tokens && has_content;
        } else if has_tokens {
            self.complete = false;
        }
        self.complete |= chunk.is_finish();
        if has_tokens {
            self.count_token(context.at);
        }
        u64::from(has_tokens)
    }

    /// Adds a chunk to the call with its index.
    pub(super) fn grow_call(&mut self, chunk: &CallChunk<'_>, context: &EventContext) {
        let (index, id) = (chunk.index, chunk.id.as_deref());
        let matches = |call: &ToolCall| match (index, id) {
            (Some(index), Some(id)) => {
                call.index.as_deref() == Some(index) && (call.id.is_empty() || call.id == id)
            }
            (Some(index), None) => call.index.as_deref() == Some(index),
            (None, Some(id)) => call.id == id,
            (None, None) => chunk.name.is_none(),
        };
        let at = match self.tool_calls.iter().rposition(matches) {
            Some(at) => at,
            None if self.tool_calls.len() >= MAX_CALLS => return,
            None => {
                self.parts.push(Part::Call(self.tool_calls.len()));
                self.tool_calls.push(ToolCall {
                    index: index.map(Into::into),
                    ..ToolCall::default()
                });
                self.tool_calls.len() - 1
            }
        };
        let call = &mut self.tool_calls[at];
        if let Some(id) = id {
            call.id = id.into();
        }
        if let Some(name) = &chunk.name {
            let remaining = MAX_NAME.saturating_sub(call.name.len());
            call.name
                .push_str(runtail_core::text::head(name, remaining));
        }
        json::append(&mut call.args, &chunk.args());
        (call.seq, call.at) = (context.seq, context.at);
    }

    /// Applies a complete message. Returns whether it changed.
    fn become_whole<'a>(
        &mut self,
        message: &MessagePayload<'a>,
        complete: bool,
        context: &EventContext,
    ) -> bool {
        let (mut content, mut inline) = (Content::default(), Vec::new());
        let extra = AdditionalKwargs::read(message.additional_kwargs);
        content.push_reasoning(&extra.reasoning_content.0);
        for piece in message.content.map(pieces).unwrap_or_default() {
            if let Some(call) = content.push(piece).filter(|_| inline.len() < MAX_CALLS) {
                content.parts.push(Part::Call(inline.len()));
                inline.push(ToolCall::of(&call, context));
            }
        }
        if !content.text.ends_with(&*extra.refusal.0) {
            content.push_refusal(&extra.refusal.0);
        }
        let mut calls: Vec<ToolCall> = Vec::new();
        let read = |list: Option<Peek<'a>>| {
            let calls = list.into_iter().flat_map(Peek::items);
            calls.filter_map(CallChunk::read)
        };
        for call in read(message.tool_calls) {
            calls.push(ToolCall::of(&call, context));
        }
        for call in read(message.invalid_tool_calls) {
            // While a message is being streamed, its unfinished call is listed as invalid.
            let invalid = complete.then(|| call.error.as_deref().unwrap_or_default().to_string());
            calls.push(ToolCall {
                invalid,
                ..ToolCall::of(&call, context)
            });
        }
        if calls.is_empty() {
            calls.clone_from(&inline);
        }
        calls.truncate(MAX_CALLS);
        for (i, new) in calls.iter_mut().enumerate() {
            let old = self
                .tool_calls
                .iter()
                .find(|c| !c.id.is_empty() && c.id == new.id)
                .or(self.tool_calls.get(i));
            let Some(old) =
                old.filter(|old| old.id.is_empty() || new.id.is_empty() || old.id == new.id)
            else {
                continue;
            };
            new.answer = old.answer;
            // Keep the streamed arguments, as the model wrote them. The server may only have formatted them
            // differently.
            if is_same_json(&old.args, &new.args) {
                new.args.clone_from(&old.args);
                new.index.clone_from(&old.index);
                (new.seq, new.at) = (old.seq, old.at);
            }
        }
        // While a message is being streamed, its list omits calls that can't be parsed yet.
        let mut changed = false;
        if calls != self.tool_calls && (!calls.is_empty() || message.tool_calls.is_some()) {
            self.tool_calls = calls;
            changed = true;
        }
        content.parts = self.position_calls(content.parts, &inline);
        changed |= self.replace_content(content, context.seq);
        // The server's state has the usage of some messages among the other arguments.
        let usage = message
            .usage_metadata
            .and_then(Usage::read)
            .or_else(|| extra.usage_metadata.and_then(Usage::read));
        if let Some(usage) = usage.filter(|u| self.usage != Some(*u)) {
            self.usage = Some(usage);
            changed = true;
        }
        if let Some(id) = message
            .tool_call_id
            .some()
            .filter(|id| self.tool_call_id.as_deref() != Some(*id))
        {
            self.tool_call_id = Some(id.into());
            changed = true;
        }
        let is_error = message.status.is("error");
        changed |= is_error != self.is_error;
        self.is_error = is_error;
        changed
    }

    /// Returns the parts with each call at its position in the content, or at the end if the content doesn't contain
    /// it.
    fn position_calls(&self, parts: Vec<Part>, inline: &[ToolCall]) -> Vec<Part> {
        let mut remaining: Vec<usize> = (0..self.tool_calls.len()).collect();
        let mut positioned = Vec::with_capacity(parts.len() + remaining.len());
        for part in parts {
            let Part::Call(i) = part else {
                positioned.push(part);
                continue;
            };
            let same = |at: &usize| {
                inline
                    .get(i)
                    .is_some_and(|call| call.id == self.tool_calls[*at].id)
            };
            if let Some(at) = remaining.iter().position(same) {
                positioned.push(Part::Call(remaining.remove(at)));
            }
        }
        positioned.extend(remaining.into_iter().map(Part::Call));
        positioned
    }
}

impl ToolCall {
    /// Creates a call that was received as a whole.
    fn of(call: &CallChunk<'_>, context: &EventContext) -> ToolCall {
        let owned = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or_default().to_string();
        let (id, name) = (owned(&call.id), owned(&call.name));
        ToolCall {
            id,
            name,
            args: call.args(),
            seq: context.seq,
            at: context.at,
            ..ToolCall::default()
        }
    }
}

fn is_same_json(a: &str, b: &str) -> bool {
    a == b
        || matches!((json::from_str::<Value>(a), json::from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}
