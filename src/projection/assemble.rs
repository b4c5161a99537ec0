//! Reads messages out of events: tokens, whole texts so far, finished messages in states and updates, and the second
//! dialect's blocks. Whatever tells of a message ends in the same one.

use super::messages::{Message, Messages, Place, Role, ToolCall, Usage, fingerprint};
use super::wire::{Fields, Items, Payload, Text, text};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Messages announced but never sent that are remembered.
const MAX_ANNOUNCED: usize = 1024;

#[derive(Deserialize, Default)]
struct MessageIn<'a> {
    #[serde(default, borrow)]
    id: Text<'a>,
    #[serde(default, borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default, borrow)]
    role: Text<'a>,
    #[serde(default, borrow)]
    name: Text<'a>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    invalid_tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tool_call_chunks: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tool_call_id: Text<'a>,
    #[serde(default, borrow)]
    status: Text<'a>,
    #[serde(default, borrow)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    chunk_position: Text<'a>,
    #[serde(default, borrow)]
    response_metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    additional_kwargs: Option<&'a RawValue>,
}

impl MessageIn<'_> {
    /// `type` where it says who speaks, else `role` (plain dictionaries, generic chat messages).
    fn role(&self) -> Role {
        match (self.kind.as_str(), self.role.some()) {
            ("chat" | "ChatMessageChunk" | "", Some(role)) => Role::of(role),
            (kind, _) => Role::of(kind),
        }
    }

    /// Python names its pieces; JavaScript's are known by the key that only pieces have.
    fn is_chunk(&self) -> bool {
        self.kind.as_str().ends_with("Chunk") || (self.kind.is("ai") && self.tool_call_chunks.is_some())
    }

    fn is_finish(&self) -> bool {
        let said = |raw: &&RawValue, key: &str| memchr::memmem::find(raw.get().as_bytes(), key.as_bytes()).is_some();
        let reason = self.response_metadata.as_ref();
        self.chunk_position.is("last")
            || reason.is_some_and(|raw| said(raw, "\"finish_reason\":\"") || said(raw, "\"stop_reason\":\""))
    }
}

#[derive(Deserialize, Default)]
struct MetaIn<'a> {
    #[serde(default, borrow)]
    langgraph_node: Text<'a>,
    #[serde(default, borrow)]
    run_id: Text<'a>,
}

#[derive(Deserialize)]
struct Announced<'a> {
    #[serde(default, borrow)]
    metadata: MetaIn<'a>,
}

#[derive(Deserialize)]
struct CallIn<'a> {
    #[serde(default, borrow)]
    id: Text<'a>,
    #[serde(default, borrow)]
    name: Text<'a>,
    #[serde(default, borrow)]
    args: Option<&'a RawValue>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    index: Option<&'a RawValue>,
}

impl CallIn<'_> {
    /// The arguments: a text as it is, anything else as JSON.
    fn args(&self) -> String {
        let Some(raw) = self.args.or(self.input) else { return String::new() };
        match text(raw) {
            Some(text) => text.into_owned(),
            // Aegra escapes what is not ASCII; people should not have to read that.
            None if raw.get().contains("\\u") => {
                serde_json::from_str::<Value>(raw.get()).map_or_else(|_| raw.get().into(), |v| v.to_string())
            }
            None => raw.get().into(),
        }
    }
}

#[derive(Deserialize, Default)]
struct UsageIn {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
}

fn usage(raw: &RawValue) -> Option<Usage> {
    let UsageIn { input_tokens, output_tokens, total_tokens } = serde_json::from_str(raw.get()).ok()?;
    let (input, output) = (input_tokens.unwrap_or(0), output_tokens.unwrap_or(0));
    Some(Usage { input, output, total: total_tokens.unwrap_or(input + output) })
}

#[derive(Deserialize)]
struct RunIn<'a> {
    #[serde(default, borrow)]
    run_id: Text<'a>,
}

impl Messages {
    /// Takes an event; tells how many tokens came with it.
    pub(super) fn apply(&mut self, payload: &Payload<'_>) -> u64 {
        self.forget_touched();
        let Some(json) = payload.json else { return 0 };
        let place = Place { seq: payload.event.seq, at: payload.event.at, ns: payload.ns.clone() };
        match payload.name {
            "messages" if payload.enveloped => return super::blocks::apply(self, json, &place),
            "messages" => return self.tuple(json, &place),
            "messages/partial" => return self.list(json, false, &place),
            "messages/complete" => return self.list(json, true, &place),
            "messages/metadata" => self.announce(json),
            "metadata" => {
                if let Some(id) = payload.read::<RunIn<'_>>().as_ref().and_then(|m| m.run_id.some()) {
                    self.run_id = Some(self.names.get(id));
                }
            }
            "values" if payload.is_root() => self.state(json, &place),
            "updates" => self.updates(payload, &place),
            _ => {}
        }
        0
    }

    /// `[message or piece, metadata]`.
    fn tuple(&mut self, json: &str, place: &Place) -> u64 {
        let Ok((message, meta)) = serde_json::from_str::<(MessageIn<'_>, MetaIn<'_>)>(json) else { return 0 };
        if !message.is_chunk() {
            self.whole(&message, true, 0, place, &meta);
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
        self.name_origin(i, &meta);
        let name = message.name.some().map(|n| self.names.get(n));
        let Some(target) = self.get_mut(i) else { return 0 };
        if target.is_whole {
            return 0;
        }
        target.name = target.name.take().or(name);
        let tokens = target.grow(&message, place);
        target.touch(place.seq, place.at);
        if target.complete && message.id.some().is_none() {
            self.growing.remove(&place.ns);
        }
        tokens
    }

    /// `messages/partial` and `messages/complete`: whole texts so far.
    fn list(&mut self, json: &str, complete: bool, place: &Place) -> u64 {
        let mut tokens = 0;
        for raw in serde_json::from_str::<Items<'_>>(json).map(|i| i.0).unwrap_or_default() {
            let Ok(message) = serde_json::from_str::<MessageIn<'_>>(raw.get()) else { continue };
            // Python never sends a model's message as complete; its last form says why it finished.
            let complete = complete || message.is_finish();
            if let Some(i) = self.whole(&message, complete, 0, place, &MetaIn::default())
                && self.items()[i].role == Role::Ai
                && self.items()[i].last_seq == place.seq
            {
                tokens += 1;
            }
        }
        tokens
    }

    fn announce(&mut self, json: &str) {
        let Some(Fields(all)) = Fields::read(json) else { return };
        for (id, raw) in all {
            let Ok(Announced { metadata }) = serde_json::from_str::<Announced<'_>>(raw.get()) else { continue };
            let node = metadata.langgraph_node.some().map(|n| self.names.get(n));
            let run = metadata.run_id.some().map(|n| self.names.get(n));
            match self.find(&id).and_then(|i| self.get_mut(i)) {
                Some(message) => message.node = message.node.take().or(node),
                None => {
                    if self.announced.len() >= MAX_ANNOUNCED {
                        self.announced.clear();
                    }
                    self.announced.insert(id.as_ref().into(), (node, run));
                }
            }
        }
    }

    /// A state of the graph itself: everything that was said so far.
    fn state(&mut self, json: &str, place: &Place) {
        #[derive(Deserialize)]
        struct State<'a> {
            #[serde(borrow)]
            messages: Items<'a>,
        }
        let Ok(State { messages: Items(list) }) = serde_json::from_str::<State<'_>>(json) else { return };
        let mut held = Vec::with_capacity(list.len());
        let mut said = HashMap::new();
        for (at, raw) in list.into_iter().enumerate() {
            let print = fingerprint(&[raw.get()]);
            // Mostly the list is as it was, and something was added.
            if let Some(&(before, i)) = self.last_state.get(at)
                && before == print
                && self.items().get(i).is_some_and(|m| m.id.is_some() && m.removed_at.is_none() && m.is_whole)
            {
                held.push((print, i));
                continue;
            }
            if let Some(i) = self.listed(raw, &mut said, place, &MetaIn::default()) {
                held.push((print, i));
            }
        }
        self.hold(held, place);
    }

    /// `{node: {messages: …}}`: what nodes wrote.
    fn updates(&mut self, payload: &Payload<'_>, place: &Place) {
        #[derive(Deserialize)]
        struct Written<'a> {
            #[serde(borrow)]
            messages: &'a RawValue,
        }
        for (node, json) in payload.writes() {
            let Ok(Written { messages }) = serde_json::from_str::<Written<'_>>(json) else { continue };
            let meta = MetaIn { langgraph_node: Text(Some(node)), ..MetaIn::default() };
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
        meta: &MetaIn<'_>,
    ) -> Option<usize> {
        let message = serde_json::from_str::<MessageIn<'_>>(raw.get()).ok()?;
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
        message: &MessageIn<'_>,
        complete: bool,
        nth: usize,
        place: &Place,
        meta: &MetaIn<'_>,
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
        if message.content.is_none() && message.tool_calls.is_none() {
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
        changed |= target.become_whole(message, place);
        changed |= target.complete != complete || target.removed_at.is_some();
        target.complete = complete;
        target.is_whole |= complete;
        target.removed_at = None;
        if changed {
            target.touch(place.seq, place.at);
        }
        Some(i)
    }

    /// Notes where a message comes from, where that was not known yet.
    fn name_origin(&mut self, i: usize, meta: &MetaIn<'_>) {
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
        let (told_node, told_run) = announced.unwrap_or_default();
        if let Some(message) = self.get_mut(i) {
            message.node = message.node.take().or(node).or(told_node);
            message.run_id = message.run_id.take().or(run).or(told_run);
        }
    }
}

fn says(message: &MessageIn<'_>) -> u64 {
    let raw = |r: Option<&RawValue>| r.map_or("", RawValue::get).to_string();
    let role = format!("{:?}", message.role());
    fingerprint(&[&role, &raw(message.content), &raw(message.tool_calls), message.tool_call_id.as_str()])
}

impl Message {
    /// Adds a piece; tells whether it held any token.
    fn grow(&mut self, piece: &MessageIn<'_>, place: &Place) -> u64 {
        let Content { text, mut reasoning, .. } = piece.content.map(Content::of).unwrap_or_default();
        reasoning.push_str(&kept_reasoning(piece.additional_kwargs));
        self.append(&text, place.seq);
        self.reasoning.push_str(&reasoning);
        let mut any = !text.is_empty() || !reasoning.is_empty();
        for raw in piece.tool_call_chunks.map(Items::of).unwrap_or_default() {
            if let Ok(call) = serde_json::from_str::<CallIn<'_>>(raw.get()) {
                any = true;
                self.grow_call(&call);
            }
        }
        if let Some(more) = piece.usage_metadata.and_then(usage) {
            // Some models count their input with the first piece and their output with the last.
            let sum = self.usage.get_or_insert_default();
            sum.input += more.input;
            sum.output += more.output;
            sum.total += more.total;
            // JavaScript marks no last piece; the count that stands alone at the end is one.
            let said_anything = !self.text.is_empty() || !self.tool_calls.is_empty();
            self.complete |= !any && said_anything;
        } else if any {
            self.complete = false;
        }
        self.complete |= piece.is_finish();
        u64::from(any)
    }

    /// A piece of a call goes to the call with its index.
    fn grow_call(&mut self, piece: &CallIn<'_>) {
        let index = piece.index.map(RawValue::get);
        let fits = |call: &&mut ToolCall| match (index, piece.id.some()) {
            (Some(index), Some(id)) => call.index.as_deref() == Some(index) && (call.id.is_empty() || call.id == id),
            (Some(index), None) => call.index.as_deref() == Some(index),
            (None, Some(id)) => call.id == id,
            (None, None) => piece.name.some().is_none(),
        };
        let call = match self.tool_calls.iter_mut().rev().find(fits) {
            Some(call) => call,
            None => {
                self.tool_calls.push(ToolCall { index: index.map(Into::into), ..ToolCall::default() });
                let Some(call) = self.tool_calls.last_mut() else { return };
                call
            }
        };
        if let Some(id) = piece.id.some() {
            call.id = id.into();
        }
        if let Some(name) = piece.name.some() {
            call.name.push_str(name);
        }
        call.args.push_str(&piece.args());
    }

    /// Takes the whole of what is known; tells whether that is news.
    fn become_whole(&mut self, message: &MessageIn<'_>, place: &Place) -> bool {
        let content = message.content.map(Content::of).unwrap_or_default();
        let mut changed = self.replace(content.text, place.seq);
        let reasoning = content.reasoning + &kept_reasoning(message.additional_kwargs);
        if !reasoning.is_empty() && reasoning != self.reasoning {
            self.reasoning = reasoning;
            changed = true;
        }
        let mut calls: Vec<ToolCall> = Vec::new();
        for list in [message.tool_calls, message.invalid_tool_calls].into_iter().flatten() {
            calls.extend(Items::of(list).into_iter().filter_map(call));
        }
        if calls.is_empty() {
            calls = content.calls;
        }
        for (i, new) in calls.iter_mut().enumerate() {
            let old = self.tool_calls.iter().find(|c| !c.id.is_empty() && c.id == new.id).or(self.tool_calls.get(i));
            // What was streamed is what the model wrote; the server's own form of the same is no news.
            if let Some(old) = old.filter(|old| is_same_json(&old.args, &new.args)) {
                new.args.clone_from(&old.args);
                new.index.clone_from(&old.index);
            }
        }
        // The list of a text that is still growing leaves out calls that cannot be read yet.
        if calls != self.tool_calls && (!calls.is_empty() || message.tool_calls.is_some()) {
            self.tool_calls = calls;
            changed = true;
        }
        if let Some(usage) = message.usage_metadata.and_then(usage).filter(|u| self.usage != Some(*u)) {
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
}

fn call(raw: &RawValue) -> Option<ToolCall> {
    let call = serde_json::from_str::<CallIn<'_>>(raw.get()).ok()?;
    Some(ToolCall { id: call.id.as_str().into(), name: call.name.as_str().into(), args: call.args(), index: None })
}

fn is_same_json(a: &str, b: &str) -> bool {
    a == b || matches!((serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}

/// Reasoning that some models put beside the content.
fn kept_reasoning(raw: Option<&RawValue>) -> String {
    #[derive(Deserialize)]
    struct Kept<'a> {
        #[serde(default, borrow)]
        reasoning_content: Text<'a>,
    }
    let kept = raw.filter(|raw| raw.get().len() > 2).and_then(|raw| serde_json::from_str::<Kept<'_>>(raw.get()).ok());
    kept.and_then(|k| k.reasoning_content.0).map(|t| t.into_owned()).unwrap_or_default()
}

/// The content of a message: a text, or a list of blocks.
#[derive(Default)]
pub(super) struct Content {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct BlockIn<'a> {
    #[serde(default, borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default, borrow)]
    text: Text<'a>,
    #[serde(default, borrow)]
    reasoning: Text<'a>,
    #[serde(default, borrow)]
    thinking: Text<'a>,
    #[serde(default, borrow)]
    refusal: Text<'a>,
    #[serde(default, borrow)]
    summary: Option<&'a RawValue>,
}

impl Content {
    pub fn of(raw: &RawValue) -> Content {
        let mut content = Content::default();
        match text(raw) {
            Some(text) => content.text = text.into_owned(),
            None if raw.get().starts_with('{') => content.add(raw),
            None => Items::of(raw).into_iter().for_each(|block| content.add(block)),
        }
        content
    }

    fn add(&mut self, raw: &RawValue) {
        if let Some(text) = text(raw) {
            self.text.push_str(&text);
            return;
        }
        let Ok(block) = serde_json::from_str::<BlockIn<'_>>(raw.get()) else { return };
        match block.kind.as_str() {
            "reasoning" | "thinking" => {
                let said = [&block.reasoning, &block.thinking, &block.text].into_iter().find_map(Text::some);
                self.reasoning.push_str(said.unwrap_or_default());
                for part in block.summary.map(Items::of).unwrap_or_default() {
                    if let Ok(part) = serde_json::from_str::<BlockIn<'_>>(part.get()) {
                        self.reasoning.push_str(part.text.as_str());
                    }
                }
            }
            "image" | "image_url" | "input_image" => self.line("[image]"),
            "audio" | "input_audio" => self.line("[audio]"),
            "video" => self.line("[video]"),
            "file" | "document" | "input_file" => self.line("[file]"),
            "tool_call" | "tool_use" => self.calls.extend(call(raw)),
            _ => self.text.push_str(block.text.some().or(block.refusal.some()).unwrap_or_default()),
        }
    }

    /// What cannot be shown has a line of its own.
    fn line(&mut self, what: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(what);
        self.text.push('\n');
    }
}
