//! Messages in the second dialect: blocks that start, grow and finish, between a message's start and its finish.

use super::content::{CallBit, bits};
use super::message::Role;
use super::messages::{Messages, Place};
use super::usage::Usage;
use crate::protocol::Payload;

/// Applies an event of this dialect. Returns how many tokens it contained. Chunks don't name their message; they belong
/// to the one started last in their namespace.
pub(super) fn apply(messages: &mut Messages, payload: &Payload<'_>, place: &Place) -> u64 {
    let Some(event) = payload.block() else { return 0 };
    if event.event.is("message-start") {
        let known = event.id.some().and_then(|id| messages.find(id));
        let role = Role::of(event.role.some().unwrap_or("ai"));
        let i = known.unwrap_or_else(|| messages.add(event.id.some(), role, place));
        // JavaScript names the node in the namespace.
        let node = place.ns.last().and_then(|segment| segment.split(':').next());
        let node = node.map(|n| messages.names.get(n));
        if let Some(message) = messages.get_mut(i) {
            message.node = message.node.take().or(node);
            message.touch(place.seq, place.at);
        }
        messages.growing.insert(place.ns.clone(), i);
        return 0;
    }
    let Some(i) = messages.growing.get(&place.ns).copied() else { return 0 };
    let Some(message) = messages.get_mut(i).filter(|message| !message.is_whole) else { return 0 };
    let index = event.index.0.unwrap_or_default().to_string();
    let mut tokens = 0;
    match event.event.as_str() {
        "content-block-start" => {
            let mut calls = Vec::new();
            let content = event.content.map(bits).unwrap_or_default();
            message.extend(place.seq, |said| calls.extend(content.into_iter().filter_map(|bit| said.add(bit))));
            for call in calls {
                // Its pieces go by the number of the block.
                message.grow_call(&CallBit { index: Some(&index), ..call }, place);
            }
        }
        "content-block-delta" => {
            let Some(delta) = event.delta() else { return 0 };
            message.extend(place.seq, |said| {
                said.think(&delta.reasoning.0);
                said.say(&delta.text.0);
            });
            if delta.args.is_some() {
                message.grow_call(&CallBit { args: delta.args, index: Some(&index), ..CallBit::default() }, place);
            }
            message.note_token(place.at);
            tokens = 1;
        }
        "content-block-finish" => {
            let block = event.content.and_then(CallBit::read);
            let call = message.tool_calls.iter_mut().find(|c| c.index.as_deref() == Some(&*index));
            if let (Some(block), Some(call)) = (block, call) {
                for (known, told) in [(&mut call.id, &block.id), (&mut call.name, &block.name)] {
                    if let Some(told) = told {
                        *known = told.to_string();
                    }
                }
                if call.args.is_empty() {
                    call.args = block.args();
                }
            }
        }
        "message-finish" => {
            message.usage = event.usage.and_then(Usage::read).or(message.usage);
            message.complete = true;
        }
        _ => return 0,
    }
    message.touch(place.seq, place.at);
    messages.join(i);
    if event.event.is("message-finish") {
        messages.growing.remove(&place.ns);
    }
    tokens
}
