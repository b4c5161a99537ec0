//! Streams a model's message token by token.

use super::emit::{Burst, Output, Position};
use super::feed::Kind;
use super::message::{self, Piece};
use serde_json::{Value, json};

/// A message that is being streamed.
#[derive(Debug)]
pub struct MessageStream<'a> {
    out: &'a Output,
    position: &'a Position,
    id: String,
    metadata: String,
    so_far: message::Reply,
    args: Vec<String>,
    introduced: bool,
}

impl<'a> MessageStream<'a> {
    /// Starts a message.
    pub fn new(out: &'a Output, position: &'a Position, id: String) -> Self {
        let metadata = if out.modes.tuple {
            out.model_metadata(position).to_string()
        } else {
            String::new()
        };
        MessageStream {
            out,
            position,
            id,
            metadata,
            so_far: message::Reply::default(),
            args: Vec::new(),
            introduced: false,
        }
    }

    /// Adds the events of one chunk to a burst.
    pub fn piece(&mut self, burst: &mut Burst<'_>, piece: &Piece) {
        let (out, level) = (self.out, self.position.ns.as_slice());
        let chunk = message::chunk(&self.id, piece);
        if out.modes.tuple {
            out.note_streamed(&self.id, level);
            burst.raw("messages", level, || format!("[{chunk},{}]", self.metadata));
        }
        if out.modes.legacy && (level.is_empty() || out.subgraphs) {
            out.note_streamed(&self.id, level);
            self.legacy(burst, piece);
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
    fn legacy(&mut self, burst: &mut Burst<'_>, piece: &Piece) {
        let id = self.id.as_str();
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
        burst.plain("messages/partial", &json!([so_far]), Kind::Output, true);
    }
}
