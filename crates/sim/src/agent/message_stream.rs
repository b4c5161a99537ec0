//! Streams a model's message token by token.

use crate::agent::prelude::*;

/// A message that is being streamed.
#[derive(Debug)]
pub struct MessageStream<'a> {
    out: &'a Output,
    position: &'a Position,
    id: String,
    metadata: Value,
    /// For the legacy mode: the message so far, and the arguments of its calls.
    so_far: message::Reply,
    args: Vec<String>,
    introduced: bool,
}

impl<'a> MessageStream<'a> {
    /// Starts a message.
    pub fn new(out: &'a Output, position: &'a Position, id: String) -> Self {
        MessageStream {
            out,
            position,
            id,
            metadata: out.model_metadata(position),
            so_far: message::Reply::default(),
            args: Vec::new(),
            introduced: false,
        }
    }

    /// Adds the events of one chunk to a burst.
    pub fn piece(&mut self, burst: &mut Burst<'_>, piece: &Piece) {
        let (out, level) = (self.out, self.position.ns.as_slice());
        let chunk = message::chunk(&self.id, piece);
        if out.messages() && out.shows(level) {
            locked(&out.streamed).insert(self.id.clone());
            burst.add("messages", level, &json!([chunk, self.metadata]));
            if out.has("messages") {
                self.legacy(burst, piece);
            }
        }
        let data = json!({"chunk": chunk});
        burst.chain_event(
            "on_chat_model_stream",
            "ScriptedModel",
            &data,
            Some(self.position),
        );
    }

    /// The legacy mode repeats the message so far with each chunk.
    fn legacy(&mut self, burst: &mut Burst<'_>, piece: &Piece) {
        let id = self.id.as_str();
        if !std::mem::replace(&mut self.introduced, true) {
            let introduced = json!({id: {"metadata": self.metadata}});
            burst.plain("messages/metadata", &introduced, Kind::Output, true);
        }
        let (mut ending, mut usage) = (json!({}), Value::Null);
        match piece {
            Piece::Text(text) => self.so_far.text.push_str(text),
            Piece::Call { call, args, .. } => {
                self.so_far.calls.push(call.clone());
                self.args.push(args.clone());
            }
            Piece::Args { index, args } => self.args[*index].push_str(args),
            Piece::Ending {
                ending: end,
                usage: used,
            } => (ending, usage) = (end.clone(), used.clone()),
            Piece::Last => {}
        }
        for (call, args) in self.so_far.calls.iter_mut().zip(&self.args) {
            call.args = serde_json::from_str(args).unwrap_or_else(|_| json!({}));
        }
        let so_far = message::ai(id, &self.so_far.text, &self.so_far.calls, ending, usage);
        burst.plain("messages/partial", &json!([so_far]), Kind::Output, true);
    }
}
