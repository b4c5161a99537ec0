//! Chat messages as the server writes them, whole or in the chunks of a streaming model.

use crate::agent::prelude::*;

/// A tool call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub args: Value,
    /// The call's id.
    pub id: String,
}

/// A reply of a scripted model.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub text: String,
    /// The tools that it calls after the text.
    pub calls: Vec<Call>,
}

impl Reply {
    /// Without tool calls.
    pub fn text(text: impl Into<String>) -> Self {
        Reply {
            text: text.into(),
            calls: Vec::new(),
        }
    }

    /// Why the model stopped: text or tool calls.
    pub fn ending(&self) -> Value {
        if self.calls.is_empty() {
            json!({"finish_reason": "stop", "model_name": "scripted-1"})
        } else {
            json!({"finish_reason": "tool_calls"})
        }
    }

    /// Token counts of input and output, as a model would report them.
    pub fn usage(&self, asked: usize) -> Value {
        let (input, output) = (11 + asked / 4, self.pieces().len() + self.calls.len() * 9);
        json!({"input_tokens": input, "output_tokens": output, "total_tokens": input + output})
    }

    /// The text in the pieces that a model would send: words with the space that follows, and wide characters one by one.
    pub fn pieces(&self) -> Vec<String> {
        let wide = |c: char| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}');
        let pieces = self
            .text
            .split_inclusive(|c| c == ' ' || c == '\n' || wide(c));
        pieces.map(str::to_owned).collect()
    }

    /// The whole message.
    pub fn message(&self, id: &str, usage: &Value) -> Value {
        ai(id, &self.text, &self.calls, self.ending(), usage.clone())
    }
}

/// A complete message of the model.
pub fn ai(id: &str, text: &str, calls: &[Call], ending: Value, usage: Value) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| json!({"name": call.name, "args": call.args, "id": call.id, "type": "tool_call"}))
        .collect();
    json!({
        "content": text, "additional_kwargs": {}, "response_metadata": ending, "type": "ai", "name": null, "id": id,
        "tool_calls": calls, "invalid_tool_calls": [], "usage_metadata": usage,
    })
}

/// The content of one chunk.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Some text.
    Text(String),
    /// The start of a tool call, with the first part of its arguments.
    Call {
        /// Index of the call.
        index: usize,
        call: Call,
        /// The first part of its arguments.
        args: String,
    },
    /// More of a tool call's arguments.
    Args {
        /// Index of the call.
        index: usize,
        /// The next part.
        args: String,
    },
    /// Why the model stopped, and its token usage.
    Ending {
        /// `response_metadata`.
        ending: Value,
        /// `usage_metadata`.
        usage: Value,
    },
    /// The empty last chunk.
    Last,
}

/// A chunk as the server sends it.
pub fn chunk(id: &str, piece: &Piece) -> Value {
    let mut chunk = json!({
        "content": "", "additional_kwargs": {}, "response_metadata": {}, "type": "AIMessageChunk", "name": null,
        "id": id, "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": null, "tool_call_chunks": [],
        "chunk_position": null,
    });
    match piece {
        Piece::Text(text) => chunk["content"] = json!(text),
        Piece::Call { index, call, args } => {
            chunk["tool_calls"] =
                json!([{"name": call.name, "args": {}, "id": call.id, "type": "tool_call"}]);
            chunk["tool_call_chunks"] = json!([
                {"name": call.name, "args": args, "id": call.id, "index": index, "type": "tool_call_chunk"}
            ]);
        }
        Piece::Args { index, args } => {
            // The real parser sees each later piece alone and reports it as an invalid call.
            chunk["invalid_tool_calls"] = json!([{"name": null, "args": args, "id": null, "error": null, "type": "invalid_tool_call"}]);
            chunk["tool_call_chunks"] = json!([{"name": null, "args": args, "id": null, "index": index, "type": "tool_call_chunk"}]);
        }
        Piece::Ending { ending, usage } => {
            chunk["response_metadata"] = ending.clone();
            chunk["usage_metadata"] = usage.clone();
        }
        Piece::Last => chunk["chunk_position"] = json!("last"),
    }
    chunk
}

/// The chunks of a whole reply, in order.
pub fn script(reply: &Reply, usage: &Value) -> Vec<Piece> {
    let mut script: Vec<Piece> = reply.pieces().into_iter().map(Piece::Text).collect();
    for (index, call) in reply.calls.iter().enumerate() {
        let args = call.args.to_string();
        let mut rest = args.as_str();
        while !rest.is_empty() {
            let first = rest.len() == args.len();
            let mut cut = rest.len().min(if first { 4 } else { 9 });
            while !rest.is_char_boundary(cut) {
                cut += 1;
            }
            let (piece, after) = rest.split_at(cut);
            let (call, args) = (call.clone(), piece.to_owned());
            script.push(match first {
                true => Piece::Call { index, call, args },
                false => Piece::Args { index, args },
            });
            rest = after;
        }
    }
    script.push(Piece::Ending {
        ending: reply.ending(),
        usage: usage.clone(),
    });
    script.push(Piece::Last);
    script
}

/// The result of a tool.
pub fn tool(name: &str, call: &str, content: impl Into<String>) -> Value {
    json!({
        "content": content.into(), "additional_kwargs": {}, "response_metadata": {}, "type": "tool", "name": name,
        "id": uuid4(), "tool_call_id": call, "artifact": null, "status": "success",
    })
}

/// A human's message.
pub fn human(content: &Value) -> Value {
    json!({
        "content": content, "additional_kwargs": {}, "response_metadata": {}, "type": "human", "name": null,
        "id": uuid4(),
    })
}

/// Completes a client's message: `{role, content}`, a text, or a whole message.
pub fn coerce(message: &Value) -> Value {
    if message["id"].is_string() && message["type"].is_string() {
        return message.clone();
    }
    let content = if message.is_object() {
        &message["content"]
    } else {
        message
    };
    match message["role"].as_str().or(message["type"].as_str()) {
        Some("assistant" | "ai") => ai(&uuid4(), text_of(content), &[], json!({}), Value::Null),
        Some("tool") => {
            let id = text_of(&message["tool_call_id"]);
            tool("tool", id, content.to_string())
        }
        _ => human(content),
    }
}

/// Adds a message to a list: one with a known id replaces the old one, and `remove` deletes it.
pub fn add(list: &mut Vec<Value>, message: &Value) {
    let known = |old: &Value| message["id"].is_string() && old["id"] == message["id"];
    if message["type"] == "remove" {
        list.retain(|old| !known(old));
        return;
    }
    match list.iter().position(known) {
        Some(at) => list[at] = coerce(message),
        None => list.push(coerce(message)),
    }
}

/// The tool calls of the last AI message that have no result.
pub fn open_calls(messages: &Value) -> Vec<&Value> {
    let is_tool = |message: &&Value| message["type"] == "tool";
    let mut newest = items_of(messages).rev().peekable();
    let answered = std::iter::from_fn(|| newest.next_if(is_tool));
    let answered: Vec<&Value> = answered.map(|one| &one["tool_call_id"]).collect();
    let asked = newest.next().filter(|message| message["type"] == "ai");
    let calls = asked
        .into_iter()
        .flat_map(|asked| items_of(&asked["tool_calls"]));
    calls
        .filter(|call| !answered.contains(&&call["id"]))
        .collect()
}

/// The text of the last human message of a state.
pub fn last_question(messages: &Value) -> &str {
    let human = items_of(messages).rfind(|message| message["type"] == "human");
    human.map_or("", |message| text_of(&message["content"]))
}
