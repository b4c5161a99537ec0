//! Streams a model's message token by token.

use super::emit::{Burst, Output, Position};
use super::feed::Kind;
use super::message::{self, Piece};
use crate::Dialect;
use serde_json::{Value, json};

/// A message that is being streamed.
#[derive(Debug)]
pub struct MessageStream<'a> {
    out: &'a Output,
    position: &'a Position,
    id: String,
    metadata: String,
    ns: Vec<String>,
    so_far: message::Reply,
    args: Vec<String>,
    introduced: bool,
}

impl<'a> MessageStream<'a> {
    /// Starts a message.
    pub fn new(out: &'a Output, position: &'a Position, id: String) -> Self {
        let metadata = if out.modes.tuple {
            out.tuple_metadata(position, true).to_string()
        } else {
            String::new()
        };
        let (so_far, args, ns) = (
            message::Reply::default(),
            Vec::new(),
            out.message_ns(position),
        );
        MessageStream {
            out,
            position,
            id,
            metadata,
            ns,
            so_far,
            args,
            introduced: false,
        }
    }

    fn javascript(&self) -> bool {
        self.out.agent.dialect == Dialect::JavaScript
    }

    /// Adds the events of one chunk to a burst.
    pub fn piece(&mut self, burst: &mut Burst<'_>, piece: &Piece) {
        // The JavaScript server sends no empty last chunk.
        if self.javascript() && matches!(piece, Piece::Last) {
            return;
        }
        let (out, level) = (self.out, self.position.ns.as_slice());
        let mut chunk = message::chunk(&self.id, piece);
        if self.javascript() {
            message::javascript(&mut chunk);
        }
        let shown = chunk["id"].as_str().unwrap_or(&self.id).to_owned();
        if out.modes.tuple {
            out.note_streamed(&shown, level);
            burst.raw("messages", &self.ns, || {
                format!("[{chunk},{}]", self.metadata)
            });
        }
        if out.modes.legacy && (level.is_empty() || out.subgraphs) {
            out.note_streamed(&shown, level);
            self.legacy(burst, piece, &shown);
        }
        if out.modes.events {
            let data = json!({"chunk": chunk});
            out.chain_event(
                burst,
                "on_chat_model_stream",
                "ScriptedModel",
                &data,
                Some(self.position),
            );
        }
    }

    /// The legacy mode repeats the message so far with each chunk.
    fn legacy(&mut self, burst: &mut Burst<'_>, piece: &Piece, id: &str) {
        if !self.introduced {
            self.introduced = true;
            let metadata = self.out.model_metadata(self.position);
            burst.plain(
                "messages/metadata",
                &json!({id: {"metadata": metadata}}),
                Kind::Output,
                true,
            );
        }
        let mut so_far = message::ai(id, &self.so_far.text, &[], json!({}), Value::Null);
        match piece {
            Piece::Text(text) => self.so_far.text.push_str(text),
            Piece::Call { call, args, .. } => {
                self.so_far.calls.push(call.clone());
                self.args.push(args.clone());
            }
            Piece::Args { index, args } => self
                .args
                .get_mut(*index)
                .into_iter()
                .for_each(|sum| sum.push_str(args)),
            Piece::Ending { ending, usage } => {
                so_far["response_metadata"] = ending.clone();
                so_far["usage_metadata"] = usage.clone();
            }
            Piece::Last => {}
        }
        so_far["content"] = json!(self.so_far.text);
        let calls: Vec<Value> = self
            .so_far
            .calls
            .iter()
            .zip(&self.args)
            .map(|(call, args)| {
                let args: Value = serde_json::from_str(args).unwrap_or_else(|_| json!({}));
                json!({"name": call.name, "args": args, "id": call.id, "type": "tool_call"})
            })
            .collect();
        so_far["tool_calls"] = Value::Array(calls);
        if self.javascript() {
            message::javascript(&mut so_far);
        }
        burst.plain("messages/partial", &json!([so_far]), Kind::Output, true);
    }
}
