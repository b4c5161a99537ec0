//! One-line summaries of messages: tokens of both server formats, accumulated texts and complete messages.

use super::one_line::OneLine;
use crate::widgets::line::Tone;
use runtail_core::text;
use runtail_stream::projection::{Peek, Role};

/// Summarizes a message, or a chunk of one.
pub(crate) fn message(out: &mut OneLine, json: Peek<'_>) {
    if is_removal(json) {
        return removal(out, json);
    }
    let [role, name, content, calls, chunks] = message_fields(json);
    out.push(Tone::Plain, &role_of(role));
    if let Some(name) = name.and_then(Peek::string).filter(|name| !name.is_empty()) {
        out.push(Tone::Plain, " ").push(Tone::Strong, &name);
    }
    let mut any = content.is_some_and(|content| text_of(out, content));
    // A chunk also lists its unfinished tool calls as invalid ones, so the chunks take precedence.
    for call in chunks.or(calls).into_iter().flat_map(Peek::items) {
        any |= tool_call(out, call);
    }
    any |= end_details(out, json);
    if !any {
        out.push(Tone::Dim, " (empty)");
    }
}

/// Returns whether this is a removal of a message.
pub(crate) fn is_removal(json: Peek<'_>) -> bool {
    let [kind, id, content] = json.pick(["type", "id", "content"]);
    kind.is_some_and(|kind| kind.is("remove")) && id.is_some() && content.is_some()
}

fn removal(out: &mut OneLine, json: Peek<'_>) {
    match json.get("id").and_then(Peek::string) {
        Some(id) if id == "__remove_all__" => out.push(Tone::Plain, "removes all messages"),
        Some(id) => out
            .push(Tone::Plain, "removes ")
            .push(Tone::Plain, &text::short_id(&id)),
        None => out.push(Tone::Plain, "removes a message"),
    };
}

fn message_fields(json: Peek<'_>) -> [Option<Peek<'_>>; 5] {
    let [kind, role, name, content, calls, chunks] = json.pick([
        "type",
        "role",
        "name",
        "content",
        "tool_calls",
        "tool_call_chunks",
    ]);
    let non_empty = |list: &Peek<'_>| list.items().next().is_some();
    let is_role = |word: &Peek<'_>| !word.is("chat") && !word.is("ChatMessageChunk");
    [
        kind.filter(is_role).or(role),
        name,
        content,
        calls.filter(non_empty),
        chunks.filter(non_empty),
    ]
}

fn role_of(word: Option<Peek<'_>>) -> String {
    let word = word.and_then(Peek::string).unwrap_or("message".into());
    Role::of(&word).word().to_string()
}

/// Adds the text of a message. Returns whether there was any.
fn text_of(out: &mut OneLine, content: Peek<'_>) -> bool {
    if let Some(text) = content.string() {
        if !text.is_empty() {
            out.gap().quoted(&text, content.is_whole());
        }
        return !text.is_empty();
    }
    let mut any = false;
    for block in content.items() {
        if out.is_full() {
            break;
        }
        any = true;
        out.push(Tone::Plain, " ");
        content_block(out, block);
    }
    any
}

fn content_block(out: &mut OneLine, block: Peek<'_>) {
    if let Some(text) = block.string() {
        return out.quoted(&text, block.is_whole());
    }
    let [kind, text, reasoning, thinking] = block.pick(["type", "text", "reasoning", "thinking"]);
    let kind = kind.and_then(Peek::string).unwrap_or("block".into());
    let label = if kind == "text" {
        String::new()
    } else {
        format!("{kind} ")
    };
    if !quoted(out, &label, text) && !quoted(out, "thinks ", reasoning.or(thinking)) {
        out.push(Tone::Dim, &format!("[{kind}]"));
    }
}

/// Adds a text after a label. Returns false if it is no text.
fn quoted(out: &mut OneLine, label: &str, text: Option<Peek<'_>>) -> bool {
    let Some((json, text)) = text.and_then(|json| Some((json, json.string()?))) else {
        return false;
    };
    out.push(Tone::Dim, label).quoted(&text, json.is_whole());
    true
}

/// Adds a tool call, or a chunk of one. Returns whether there was anything to show.
fn tool_call(out: &mut OneLine, call: Peek<'_>) -> bool {
    let [name, args] = call.pick(["name", "args"]);
    let name = name.and_then(Peek::string).filter(|name| !name.is_empty());
    out.gap().push(Tone::Dim, "→ ");
    if let Some(name) = &name {
        out.push(Tone::Strong, name).push(Tone::Plain, " ");
    }
    if let Some(args) = args {
        match args.string() {
            Some(piece) => out.push(Tone::Plain, &piece),
            None => out.inner(args),
        };
    }
    name.is_some() || args.is_some()
}

/// Adds the finish reason and the token usage. Returns whether there was either.
fn end_details(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [response, cost, position] =
        json.pick(["response_metadata", "usage_metadata", "chunk_position"]);
    let reason = response.and_then(|r| {
        let [finish, stop] = r.pick(["finish_reason", "stop_reason"]);
        finish.or(stop)?.string()
    });
    let mut any = false;
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        out.push(Tone::Dim, &format!(" · finish {reason}"));
        any = true;
    }
    any |= cost.is_some_and(|cost| usage(out, cost));
    if position.is_some_and(|position| position.is("last")) {
        out.push(Tone::Dim, " · last chunk");
        any = true;
    }
    any
}

fn usage(out: &mut OneLine, cost: Peek<'_>) -> bool {
    let [input, output] = cost.pick(["input_tokens", "output_tokens"]);
    let count = |n: Option<Peek<'_>>| n.and_then(Peek::number).map(|n| text::count(n as u64));
    let (Some(input), Some(output)) = (count(input), count(output)) else {
        return false;
    };
    out.push(Tone::Dim, &format!(" · {input} in {output} out"));
    true
}

/// Summarizes `[message or chunk, metadata]`.
pub(crate) fn tuple(out: &mut OneLine, json: Peek<'_>) -> bool {
    let mut items = json.items();
    let Some(chunk) = items.next().filter(|chunk| chunk.is_object()) else {
        return false;
    };
    let node = items
        .next()
        .and_then(|meta| meta.get("langgraph_node"))
        .and_then(Peek::string);
    if let Some(node) = node {
        out.push(Tone::label(&node), &node).push(Tone::Plain, " ");
    }
    message(out, chunk);
    true
}

/// Summarizes `messages/partial` and `messages/complete`. Only the end of an accumulated text is new.
pub(crate) fn list(out: &mut OneLine, json: Peek<'_>, partial: bool) -> bool {
    let mut any = false;
    for item in json.items() {
        any = true;
        out.dot();
        let text = item
            .get("content")
            .and_then(Peek::string)
            .filter(|text| partial && !text.is_empty());
        match text {
            Some(text) => {
                out.push(Tone::Plain, &role_of(message_fields(item)[0]))
                    .push(Tone::Dim, " so far ")
                    .quoted_end(&text);
                for call in item.get("tool_calls").into_iter().flat_map(Peek::items) {
                    tool_call(out, call);
                }
                end_details(out, item);
            }
            None => message(out, item),
        }
    }
    any
}

/// Summarizes `messages/metadata`, which announces a message.
pub(crate) fn messages_metadata(out: &mut OneLine, json: Peek<'_>) -> bool {
    let mut any = false;
    for (id, about) in json.fields() {
        any = true;
        out.dot()
            .push(Tone::Dim, "announces ")
            .push(Tone::Plain, &text::short_id(&id));
        let [node, step] = about
            .get("metadata")
            .map_or([None; 2], |m| m.pick(["langgraph_node", "langgraph_step"]));
        if let Some(node) = node.and_then(Peek::string) {
            out.push(Tone::Dim, " of ").push(Tone::label(&node), &node);
        }
        if let Some(step) = step {
            out.push(Tone::Dim, &format!(" · step {}", step.text()));
        }
    }
    any
}

/// Summarizes a content block event of the newer format, in which blocks start, grow and finish within a message.
pub(crate) fn block(out: &mut OneLine, json: Peek<'_>) -> bool {
    let [event, index, role, id, content, delta, cost] =
        json.pick(["event", "index", "role", "id", "content", "delta", "usage"]);
    let Some(event) = event.and_then(Peek::string) else {
        return false;
    };
    let block = index.map_or(String::new(), |i| format!("block {} ", i.text()));
    match &*event {
        "message-start" => {
            // JavaScript servers omit the role, but only model messages arrive in this form.
            out.push(
                Tone::Plain,
                &role.map_or("ai".into(), |role| role_of(Some(role))),
            )
            .push(Tone::Dim, " starts");
            if let Some(id) = id.and_then(Peek::string) {
                out.push(Tone::Dim, &format!(" · {}", text::short_id(&id)));
            }
        }
        "content-block-delta" => delta_of(out, delta),
        "content-block-start" | "content-block-finish" => {
            let verb = if event.ends_with("start") {
                "starts"
            } else {
                "done"
            };
            let kind = content
                .and_then(|c| c.get("type"))
                .and_then(Peek::string)
                .unwrap_or("block".into());
            out.push(Tone::Dim, &format!("{block}{kind} {verb}"));
            if let Some(content) = content {
                block_content(out, content);
            }
        }
        "message-finish" | "usage" => {
            let word = if event == "usage" {
                "usage"
            } else {
                "message done"
            };
            out.push(Tone::Dim, word);
            let _ = cost.is_some_and(|cost| usage(out, cost));
        }
        other => {
            out.push(Tone::Plain, other)
                .push(Tone::Plain, " ")
                .value(json);
        }
    }
    true
}

fn block_content(out: &mut OneLine, content: Peek<'_>) {
    let [text, name] = content.pick(["text", "name"]);
    if let Some(text) = text
        .and_then(|s| Some((s.string()?, s.is_whole())))
        .filter(|(text, _)| !text.is_empty())
    {
        out.push(Tone::Plain, " ").quoted(&text.0, text.1);
    } else if name.is_some() {
        tool_call(out, content);
    }
}

fn delta_of(out: &mut OneLine, delta: Option<Peek<'_>>) {
    let Some(delta) = delta else { return };
    let delta = delta.get("fields").unwrap_or(delta);
    let [text, reasoning, args] = delta.pick(["text", "reasoning", "args"]);
    match args {
        _ if quoted(out, "", text) || quoted(out, "thinks ", reasoning) => {}
        Some(_) => drop(tool_call(out, delta)),
        None => out.value(delta),
    }
}
