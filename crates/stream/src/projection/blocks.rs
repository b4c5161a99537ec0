//! Messages in the newer protocol: a message starts, its blocks start, receive deltas and finish, and the message
//! finishes.

use super::content::{CallChunk, Piece, pieces};
use super::message::Role;
use super::messages::{EventContext, Messages};
use super::node_path::{name_of, node_path};
use super::usage::Usage;
use crate::protocol::Payload;

/// Applies an event of the newer protocol. Returns how many tokens it contained. Chunks don't name their message; they
/// belong to the message that was started last in their namespace.
pub(super) fn apply(messages: &mut Messages, payload: &Payload<'_>, context: &EventContext) -> u64 {
    let Some(event) = payload.block() else {
        return 0;
    };
    if event.event.is("message-start") {
        let known = event.id.some().and_then(|id| messages.find(id));
        let role = Role::of(event.role.some().unwrap_or("ai"));
        let i = known.unwrap_or_else(|| messages.add(event.id.some(), role, context));
        messages.see(i, context);
        // JavaScript names the node in the namespace.
        let node = context.ns.last().map(|segment| name_of(segment));
        let node = node.map(|n| messages.names.get(n));
        let path = node_path(context.ns.iter(), None);
        let path = node.is_some().then(|| messages.names.get(&path));
        if let Some(message) = messages.get_mut(i) {
            message.set_node(node, path);
            message.touch(context.seq, context.at);
        }
        messages.growing.insert(context.ns.clone(), i);
        return 0;
    }
    let Some(i) = messages.growing.get(&context.ns).copied() else {
        return 0;
    };
    let Some(message) = messages.get_mut(i).filter(|message| !message.is_whole) else {
        return 0;
    };
    let index = event.index.0.unwrap_or_default().to_string();
    let mut tokens = 0;
    match event.event.as_str() {
        "content-block-start" => {
            let mut calls = Vec::new();
            let content = event.content.map(pieces).unwrap_or_default();
            message.extend(context.seq, |target| {
                target.push(Piece::Block(Some(&index), false));
                calls.extend(content.into_iter().filter_map(|piece| target.push(piece)));
            });
            for call in calls {
                // Its chunks refer to the index of the block.
                message.grow_call(
                    &CallChunk {
                        index: Some(&index),
                        ..call
                    },
                    context,
                );
            }
        }
        "content-block-delta" => {
            let Some(delta) = event.delta() else { return 0 };
            message.extend(context.seq, |content| {
                content.push_reasoning(&delta.reasoning.0);
                content.push_text(&delta.text.0);
            });
            if delta.args.is_some() {
                message.grow_call(
                    &CallChunk {
                        args: delta.args,
                        index: Some(&index),
                        ..CallChunk::default()
                    },
                    context,
                );
            }
            message.count_token(context.at);
            tokens = 1;
        }
        "content-block-finish" => {
            let block = event.content.and_then(CallChunk::read);
            let call = message
                .tool_calls
                .iter_mut()
                .find(|c| c.index.as_deref() == Some(&*index));
            if let (Some(block), Some(call)) = (block, call) {
                for (current, new) in [(&mut call.id, &block.id), (&mut call.name, &block.name)] {
                    if let Some(new) = new {
                        *current = new.to_string();
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
    message.touch(context.seq, context.at);
    messages.link_calls(i);
    if event.event.is("message-finish") {
        messages.growing.remove(&context.ns);
    }
    tokens
}
