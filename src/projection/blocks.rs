//! Messages in the second dialect: blocks that start, grow and finish, between a message's start and its finish.

use super::assemble::Content;
use super::messages::{Messages, Place, Role, ToolCall, Usage};
use super::wire::Text;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct BlockEvent<'a> {
    #[serde(borrow)]
    event: Text<'a>,
    #[serde(default, borrow, alias = "message_id")]
    id: Text<'a>,
    #[serde(default, borrow)]
    role: Text<'a>,
    #[serde(default)]
    index: u64,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    delta: Option<Delta<'a>>,
    #[serde(default)]
    usage: Option<UsageIn>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(default, borrow)]
    text: Text<'a>,
    #[serde(default, borrow)]
    reasoning: Text<'a>,
    #[serde(default, borrow)]
    args: Text<'a>,
}

#[derive(Deserialize)]
struct CallBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default, borrow)]
    id: Text<'a>,
    #[serde(default, borrow)]
    name: Text<'a>,
    #[serde(default, borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct UsageIn {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
}

/// Takes one event of this dialect; tells how many tokens came with it. Its pieces don't name their message: they belong
/// to the one that was started last in their namespace.
pub(super) fn apply(messages: &mut Messages, json: &str, place: &Place) -> u64 {
    let Ok(event) = serde_json::from_str::<BlockEvent<'_>>(json) else { return 0 };
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
    let Some(message) = messages.growing.get(&place.ns).copied().and_then(|i| messages.get_mut(i)) else { return 0 };
    if message.is_whole {
        return 0;
    }
    let index = event.index.to_string();
    let mut tokens = 0;
    match event.event.as_str() {
        "content-block-start" => {
            let Some(raw) = event.content else { return 0 };
            match serde_json::from_str::<CallBlock<'_>>(raw.get()) {
                Ok(call) if call.kind.as_str().starts_with("tool_call") => message.tool_calls.push(ToolCall {
                    id: call.id.as_str().into(),
                    name: call.name.as_str().into(),
                    args: call.args.and_then(super::wire::text).unwrap_or_default().into_owned(),
                    index: Some(index.into()),
                }),
                _ => {
                    let content = Content::of(raw);
                    message.append(&content.text, place.seq);
                    message.reasoning.push_str(&content.reasoning);
                }
            }
        }
        "content-block-delta" => {
            let Some(delta) = event.delta else { return 0 };
            message.append(delta.text.as_str(), place.seq);
            message.reasoning.push_str(delta.reasoning.as_str());
            if let Some(args) = delta.args.some() {
                match message.tool_calls.iter_mut().find(|c| c.index.as_deref() == Some(&*index)) {
                    Some(call) => call.args.push_str(args),
                    None => {
                        let call = ToolCall { args: args.into(), index: Some(index.into()), ..ToolCall::default() };
                        message.tool_calls.push(call);
                    }
                }
            }
            tokens = 1;
        }
        "content-block-finish" => {
            let block = event.content.and_then(|raw| serde_json::from_str::<CallBlock<'_>>(raw.get()).ok());
            let call = message.tool_calls.iter_mut().find(|c| c.index.as_deref() == Some(&*index));
            if let (Some(block), Some(call)) = (block, call) {
                for (known, told) in [(&mut call.id, &block.id), (&mut call.name, &block.name)] {
                    if let Some(told) = told.some() {
                        *known = told.into();
                    }
                }
                if call.args.is_empty() {
                    call.args = block.args.map(|a| a.get().to_string()).unwrap_or_default();
                }
            }
        }
        "message-finish" => {
            if let Some(UsageIn { input_tokens, output_tokens, total_tokens }) = event.usage {
                let (input, output) = (input_tokens.unwrap_or(0), output_tokens.unwrap_or(0));
                message.usage = Some(Usage { input, output, total: total_tokens.unwrap_or(input + output) });
            }
            message.complete = true;
        }
        _ => return 0,
    }
    message.touch(place.seq, place.at);
    if event.event.is("message-finish") {
        messages.growing.remove(&place.ns);
    }
    tokens
}
