//! Model and tool calls, from messages in all formats and from the newer protocol's `tools` channel.

use super::fold::EventStamp;
use super::read::short;
use super::{Bar, BarKind, BarState, Timeline};
use crate::insert;
use crate::protocol::{MessagePair, MessagePayload, Payload, RequestedCall, model_of};
use crate::{MAX_NAME, error_text};
use runtail_core::json::Peek;

/// Maximum number of announced messages, streamed messages and requested tool calls remembered.
const MAX_ANNOUNCED: usize = 1024;
/// The name of a model call until its model is known.
const UNNAMED: &str = "model";

impl Timeline {
    /// Applies `[message or chunk, metadata]`.
    pub(super) fn apply_pair(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        let Some(MessagePair { message, origin }) = &payload.pair else {
            return;
        };
        let node = self.node_of(origin, &payload.ns, stamp);
        self.apply_message(message, node, origin.ls_model_name.some(), None, stamp);
    }

    /// Applies `messages/metadata`: the nodes of messages that follow.
    pub(super) fn apply_announcements(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        for (id, origin) in payload.announced() {
            let node = self.node_of(origin, &payload.ns, stamp);
            if id.len() <= MAX_NAME {
                insert(&mut self.announced, MAX_ANNOUNCED, (**id).into(), node);
            }
        }
    }

    /// Applies `messages/partial` or `messages/complete`. Their nodes were announced by `messages/metadata`.
    pub(super) fn apply_messages(
        &mut self,
        payload: &Payload<'_>,
        complete: bool,
        stamp: EventStamp,
    ) {
        for message in payload.messages() {
            let known = self.announced.get(message.id.as_str()).copied();
            let node = known.unwrap_or_else(|| self.graph(&payload.ns, stamp));
            self.apply_message(message, node, None, Some(complete), stamp);
        }
    }

    /// Applies a whole message or a chunk. `complete` is set if the event's name shows whether the message is complete.
    fn apply_message(
        &mut self,
        message: &MessagePayload<'_>,
        node: Option<u64>,
        model: Option<&str>,
        complete: Option<bool>,
        stamp: EventStamp,
    ) {
        self.touch(node, stamp);
        if message.kind.is("tool") || message.kind.is("ToolMessageChunk") {
            let state = if message.status.is("error") {
                BarState::Failed
            } else {
                BarState::Done
            };
            self.apply_result(
                message.tool_call_id.as_str(),
                message.name.some(),
                node,
                state,
                None,
                stamp,
            );
            return;
        }
        // A whole AI message comes from a model only if its id shows that, because nodes can create AI messages too.
        let is_ai = message.kind.is("ai") || message.kind.is("AIMessageChunk");
        let is_chunk = complete.is_none() && is_ai && message.is_chunk();
        let id = message.id.some().map(call_id);
        let is_call =
            is_ai && (is_chunk || complete == Some(false) || matches!(id, Some((_, true))));
        let is_streaming = |bar: &Bar| bar.kind == BarKind::Model && bar.state == BarState::Running;
        let mut model_call = None;
        if is_call {
            let id = id.map(|(id, _)| id);
            let known = match id {
                Some(id) => self.find(id),
                None => node.and_then(|node| self.recent(Some(node), is_streaming).next()),
            };
            let key = known.unwrap_or_else(|| {
                let key = self.add_call(BarKind::Model, node, model.unwrap_or(UNNAMED), id, stamp);
                if is_chunk {
                    self.start_before_first_token(key, stamp);
                // Without chunks only the end of the call is known.
                } else if complete != Some(false)
                    && let Some(began) = node.and_then(|node| self.bar(node)).map(|bar| bar.started)
                    && let Some(bar) = self.bar_mut(key)
                {
                    bar.started = began.min(stamp.time);
                }
                key
            });
            self.touch(Some(key), stamp);
            model_call = Some(key);
        }
        let calls = if is_chunk {
            message.tool_call_chunks
        } else {
            message.tool_calls
        };
        let calls = calls.filter(|_| is_ai).into_iter().flat_map(Peek::items);
        for call in calls.filter_map(Peek::read::<RequestedCall<'_>>) {
            self.record_request(&call, model_call);
        }
        let Some(model_call) = model_call else { return };
        if let Some(name) = message.response_metadata.and_then(model_of) {
            let name = self.names.get(&name);
            if let Some(bar) = self.bar_mut(model_call).filter(|bar| &*bar.name == UNNAMED) {
                bar.name = name;
            }
        }
        if message.is_finish() || complete == Some(true) || (complete.is_none() && !is_chunk) {
            self.close(model_call, BarState::Done, None, stamp);
        }
    }

    /// Moves the start of a new model call to before its first chunk, so that the call includes its time to first token.
    fn start_before_first_token(&mut self, key: u64, stamp: EventStamp) {
        let Some(started) = self
            .called_before
            .and_then(|before| stamp.time.checked_sub(before).ok())
        else {
            return;
        };
        let mut next = Some(key);
        // Its nodes contain it, as far as their own starts are estimates.
        while let Some(bar) = next
            .and_then(|key| self.bar_mut(key))
            .filter(|bar| bar.estimated)
        {
            bar.started = bar.started.min(started);
            next = bar.parent;
        }
        if let Some(attempt) = self.newest_attempt() {
            attempt.started = attempt.started.min(started);
        }
    }

    /// Records a tool call that a message requested. It gets no bar yet, because its node and its start are not known.
    fn record_request(&mut self, call: &RequestedCall<'_>, model: Option<u64>) {
        let (Some(id), Some(name)) = (call.id.some(), call.name.some()) else {
            return;
        };
        // Some models reuse call ids in every message.
        let is_known = self
            .requested
            .get(id)
            .is_some_and(|(_, by)| model.is_none() || *by == model);
        if is_known {
            return;
        }
        let request = (self.names.get(name), model);
        insert(&mut self.requested, MAX_ANNOUNCED, id.into(), request);
        let is_over = |key: u64| {
            self.bar(key)
                .is_some_and(|bar| bar.kind == BarKind::Tool && bar.ended.is_some())
        };
        if self.find(id).is_some_and(is_over) {
            self.ids.remove(id);
        }
    }

    /// Applies a tool result, sent by the node that ran the tool. It shows when the tool ended, but not when it
    /// started.
    fn apply_result(
        &mut self,
        id: &str,
        name: Option<&str>,
        node: Option<u64>,
        state: BarState,
        detail: Option<Box<str>>,
        stamp: EventStamp,
    ) {
        let known = self.find(id).filter(|_| !id.is_empty());
        // Another node may forward a result that is already known.
        let is_known =
            |bar: &Bar| bar.ended.is_some() && bar.id.is_some() && bar.source <= stamp.source;
        if known.and_then(|key| self.bar(key)).is_some_and(is_known) {
            return;
        }
        let name = name
            .map(|name| self.names.get(name))
            .or_else(|| self.requested.get(id).map(|(name, _)| name.clone()));
        let name = name.unwrap_or_else(|| "tool".into());
        let is_unlinked =
            |bar: &Bar| bar.kind == BarKind::Tool && bar.id.is_none() && bar.name == name;
        let key = known
            .or_else(|| self.recent(node, is_unlinked).next_back())
            .unwrap_or_else(|| {
                let began = node.and_then(|node| self.bar(node)).map(|bar| bar.started);
                let key = self.add_call(BarKind::Tool, node, &name, None, stamp);
                if let Some(bar) = self.bar_mut(key) {
                    bar.started = began.unwrap_or(stamp.time).min(stamp.time);
                    bar.known.start = false;
                }
                key
            });
        if !id.is_empty() {
            self.name_bar(id, key);
            let id = self.names.get(id);
            if let Some(bar) = self.bar_mut(key) {
                bar.id = Some(id);
            }
        }
        self.close(key, state, detail, stamp);
    }

    /// Applies a message event of the newer protocol.
    pub(super) fn apply_block(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        let Some(block) = payload.block() else { return };
        let node = self.graph(&payload.ns, stamp);
        if block.event.is("message-start") {
            if block
                .role
                .some()
                .is_some_and(|role| role != "ai" && role != "assistant")
            {
                self.streaming.remove(&payload.ns);
                return;
            }
            let id = block.id.some().map(|id| call_id(id).0);
            let known = id.and_then(|id| self.find(id));
            let key =
                known.unwrap_or_else(|| self.add_call(BarKind::Model, node, UNNAMED, id, stamp));
            insert(&mut self.streaming, MAX_ANNOUNCED, payload.ns.clone(), key);
        }
        let Some(&key) = self.streaming.get(&payload.ns) else {
            return;
        };
        self.touch(Some(key), stamp);
        // JavaScript finishes a call's block as a text block with a call's fields.
        if let Some(call) = block
            .content
            .and_then(|raw| raw.read::<RequestedCall<'_>>())
        {
            self.record_request(&call, Some(key));
        }
        if block.event.is("message-finish") {
            self.close(key, BarState::Done, None, stamp);
            self.streaming.remove(&payload.ns);
        }
    }

    /// Applies an event of the newer protocol's `tools` channel.
    pub(super) fn apply_tool(&mut self, payload: &Payload<'_>, stamp: EventStamp) {
        let Some(tool) = payload.phase() else { return };
        let (id, name) = (tool.tool_call_id.as_str(), tool.tool_name.some());
        let node = self.graph(&payload.ns, stamp.implied());
        match tool.event.as_str() {
            "tool-started" => match self.find(id).filter(|_| !id.is_empty()) {
                Some(key) => self.set_start(key, None, stamp),
                None => {
                    let id = tool.tool_call_id.some();
                    self.add_call(BarKind::Tool, node, name.unwrap_or("tool"), id, stamp);
                }
            },
            "tool-finished" => self.apply_result(id, name, node, BarState::Done, None, stamp),
            "tool-error" => {
                let error = tool
                    .message
                    .or(tool.error)
                    .map(|error| short(&error_text(error.text())).into());
                self.apply_result(id, name, node, BarState::Failed, error, stamp);
            }
            _ => {
                let key = self.find(id);
                self.touch(key, stamp);
            }
        }
    }
}

/// Returns the id of the model call that wrote a message, and whether the message's id shows that a model wrote it.
/// Python uses `lc_run--<id>` (followed by `-0` in states) and JavaScript `run-<id>`; callbacks contain only the id
/// itself.
pub(super) fn call_id(id: &str) -> (&str, bool) {
    let Some(bare) = id
        .strip_prefix("lc_run--")
        .or_else(|| id.strip_prefix("run-"))
    else {
        return (id, false);
    };
    match bare.split_at_checked(36) {
        Some((uuid, rest)) if rest.starts_with('-') => (uuid, true),
        _ => (bare, true),
    }
}
