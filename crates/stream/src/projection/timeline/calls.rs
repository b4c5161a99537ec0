//! Calls of models and tools: what messages tell of them in each form, and the newer protocol's channel for tools.

use super::fold::{NEAR, Told};
use super::read::short;
use super::{Bar, BarKind, BarSource, BarState, Timeline};
use crate::protocol::{Items, MessagePair, MessagePayload, Payload, RequestedCall, ResponseMetadata};
use crate::{MAX_NAME, error_text};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Messages that were announced or grow, and that are remembered.
const MAX_ANNOUNCED: usize = 1024;
/// The name of a model call until its model is known.
const UNNAMED: &str = "model";

impl Timeline {
    pub(super) fn tuple(&mut self, payload: &Payload<'_>, told: Told) {
        let Some(MessagePair { message, origin }) = &payload.pair else { return };
        let node = self.origin(origin, &payload.ns, told);
        self.message(message, node, origin.ls_model_name.some(), None, told);
    }

    pub(super) fn announce(&mut self, payload: &Payload<'_>, told: Told) {
        for (id, announced) in payload.announced() {
            let Some(origin) = &announced.metadata else { continue };
            let node = self.origin(origin, &payload.ns, told);
            if self.announced.len() >= MAX_ANNOUNCED {
                self.announced.clear();
            }
            if id.len() <= MAX_NAME {
                self.announced.insert((**id).into(), node);
            }
        }
    }

    /// `messages/partial` and `messages/complete`, which name no node: `messages/metadata` did.
    pub(super) fn messages(&mut self, payload: &Payload<'_>, complete: bool, told: Told) {
        for message in payload.messages() {
            let known = self.announced.get(message.id.as_str()).copied();
            let node = known.unwrap_or_else(|| self.graph(&payload.ns, told));
            self.message(message, node, None, Some(complete), told);
        }
    }

    /// A piece of a message, or a whole one. `complete` says which where the event's name does.
    fn message(
        &mut self,
        message: &MessagePayload<'_>,
        node: Option<u64>,
        model: Option<&str>,
        complete: Option<bool>,
        told: Told,
    ) {
        self.touch(node, told);
        if message.kind.is("tool") || message.kind.is("ToolMessageChunk") {
            let state = if message.status.is("error") { BarState::Failed } else { BarState::Done };
            self.result(message.tool_call_id.as_str(), message.name.some(), node, state, None, told);
            return;
        }
        // A whole text of an assistant is a model's only where its id says so: a node can make one up.
        let is_ai = message.kind.is("ai") || message.kind.is("AIMessageChunk");
        let is_piece = complete.is_none() && is_ai && message.is_chunk();
        let id = message.id.some().map(call_id);
        let is_call = is_ai && (is_piece || complete == Some(false) || matches!(id, Some((_, true))));
        let mut speaker = None;
        if is_call {
            let id = id.map(|(id, _)| id);
            let known = match id {
                Some(id) => self.find(id),
                None => node.and_then(|node| self.speaking_in(node)),
            };
            let key = known.unwrap_or_else(|| {
                let key = self.add_call(BarKind::Model, node, model.unwrap_or(UNNAMED), id, told);
                // Without chunks only its end is known.
                if !is_piece
                    && complete != Some(false)
                    && let Some(began) = node.and_then(|node| self.bar(node)).map(|bar| bar.started)
                    && let Some(bar) = self.bar_mut(key)
                {
                    bar.started = began.min(told.time);
                }
                key
            });
            self.touch(Some(key), told);
            speaker = Some(key);
        }
        let calls = if is_piece { message.tool_call_chunks } else { message.tool_calls };
        for raw in calls.filter(|_| is_ai).map(Items::of).unwrap_or_default() {
            if let Ok(call) = serde_json::from_str::<RequestedCall<'_>>(raw.get()) {
                self.asked(&call, speaker);
            }
        }
        let Some(speaker) = speaker else { return };
        if let Some(name) = message.response_metadata.and_then(model_name) {
            let name = self.names.get(&name);
            if let Some(bar) = self.bar_mut(speaker).filter(|bar| &*bar.name == UNNAMED) {
                bar.name = name;
            }
        }
        if message.is_finish() || complete == Some(true) || (complete.is_none() && !is_piece) {
            self.close(speaker, BarState::Done, None, told);
        }
    }

    /// Returns the running model call of a node, for chunks without an id.
    fn speaking_in(&self, node: u64) -> Option<u64> {
        let speaks = |key: &&u64| {
            self.bar(**key).is_some_and(|bar| bar.kind == BarKind::Model && bar.state == BarState::Running)
        };
        self.siblings(Some(node)).iter().rev().take(NEAR).find(speaks).copied()
    }

    /// A message asks for a tool call. Which node will run the tool, and when, is not known yet: no bar says anything of it.
    fn asked(&mut self, call: &RequestedCall<'_>, model: Option<u64>) {
        let (Some(id), Some(name)) = (call.id.some(), call.name.some()) else { return };
        // Some models count their calls from one in every message.
        let is_known = self.asked.get(id).is_some_and(|(_, by)| model.is_none() || *by == model);
        if is_known {
            return;
        }
        if self.asked.len() >= MAX_ANNOUNCED {
            self.asked.clear();
        }
        let name = self.names.get(name);
        self.asked.insert(id.into(), (name, model));
        let is_over = |key: u64| self.bar(key).is_some_and(|bar| bar.kind == BarKind::Tool && bar.ended.is_some());
        if self.find(id).is_some_and(is_over) {
            self.ids.remove(id);
        }
    }

    /// Applies a tool result, sent by the node that ran the tool. It shows when the tool ended, but not when it
    /// started.
    fn result(
        &mut self,
        id: &str,
        name: Option<&str>,
        node: Option<u64>,
        state: BarState,
        detail: Option<Box<str>>,
        told: Told,
    ) {
        let known = self.find(id).filter(|_| !id.is_empty());
        // Another node may pass on a result.
        let is_told = |bar: &Bar| bar.ended.is_some() && bar.id.is_some() && bar.source <= told.source;
        if known.and_then(|key| self.bar(key)).is_some_and(is_told) {
            return;
        }
        let name = name.map(|name| self.names.get(name)).or_else(|| self.asked.get(id).map(|(name, _)| name.clone()));
        let name = name.unwrap_or_else(|| "tool".into());
        let key = known.or_else(|| self.uncalled(node, &name)).unwrap_or_else(|| {
            let began = node.and_then(|node| self.bar(node)).map(|bar| bar.started);
            let key = self.add_call(BarKind::Tool, node, &name, None, told);
            if let Some(bar) = self.bar_mut(key) {
                bar.started = began.unwrap_or(told.time).min(told.time);
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
        self.close(key, state, detail, told);
    }

    /// Returns the tool of this name that ran in a node, and of which no call is known: callbacks have ids of their own.
    fn uncalled(&self, node: Option<u64>, name: &str) -> Option<u64> {
        let fits = |key: &&u64| {
            self.bar(**key).is_some_and(|bar| bar.kind == BarKind::Tool && bar.id.is_none() && &*bar.name == name)
        };
        self.siblings(node).iter().rev().take(NEAR).rfind(fits).copied()
    }

    pub(super) fn block(&mut self, payload: &Payload<'_>, told: Told) {
        let Some(block) = payload.block() else { return };
        let node = self.graph(&payload.ns, told);
        if block.event.is("message-start") {
            if block.role.some().is_some_and(|role| role != "ai" && role != "assistant") {
                self.speaking.remove(&payload.ns);
                return;
            }
            let id = block.id.some().map(|id| call_id(id).0);
            let known = id.and_then(|id| self.find(id));
            let key = known.unwrap_or_else(|| self.add_call(BarKind::Model, node, UNNAMED, id, told));
            if self.speaking.len() >= MAX_ANNOUNCED {
                self.speaking.clear();
            }
            self.speaking.insert(payload.ns.clone(), key);
        }
        let Some(&key) = self.speaking.get(&payload.ns) else { return };
        self.touch(Some(key), told);
        // JavaScript closes a call's block as a text that has a call's fields.
        if let Some(call) = block.content.and_then(|raw| serde_json::from_str::<RequestedCall<'_>>(raw.get()).ok()) {
            self.asked(&call, Some(key));
        }
        if block.event.is("message-finish") {
            self.close(key, BarState::Done, None, told);
            self.speaking.remove(&payload.ns);
        }
    }

    /// The newer protocol's channel `tools`.
    pub(super) fn tool(&mut self, payload: &Payload<'_>, told: Told) {
        let Some(tool) = payload.phase() else { return };
        let (id, name) = (tool.tool_call_id.as_str(), tool.tool_name.some());
        let node = self.graph(&payload.ns, Told { source: BarSource::Updates, ..told });
        match tool.event.as_str() {
            "tool-started" => match self.find(id).filter(|_| !id.is_empty()) {
                Some(key) => self.began(key, None, told),
                None => {
                    let id = tool.tool_call_id.some();
                    self.add_call(BarKind::Tool, node, name.unwrap_or("tool"), id, told);
                }
            },
            "tool-finished" => self.result(id, name, node, BarState::Done, None, told),
            "tool-error" => {
                let words = tool.message.or(tool.error).map(|error| short(&error_text(error.get())).into());
                self.result(id, name, node, BarState::Failed, words, told);
            }
            _ => {
                let key = self.find(id);
                self.touch(key, told);
            }
        }
    }
}

/// Returns the model that a finished message names.
fn model_name(raw: &RawValue) -> Option<Cow<'_, str>> {
    ResponseMetadata::read(raw)?.model_name.0.filter(|name| !name.is_empty())
}

/// Returns the id of the model call that wrote a message, and whether the message's id says that one did: Python's messages are
/// `lc_run--<id>` (with `-0` behind it in states), JavaScript's `run-<id>`, and callbacks tell the bare id.
fn call_id(id: &str) -> (&str, bool) {
    let Some(bare) = id.strip_prefix("lc_run--").or_else(|| id.strip_prefix("run-")) else { return (id, false) };
    match bare.split_at_checked(36) {
        Some((uuid, rest)) if rest.starts_with('-') => (uuid, true),
        _ => (bare, true),
    }
}
