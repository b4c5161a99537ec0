//! An event's payload: unwrapped once, and parsed at most once, when the first projection needs it.

use super::{
    Block, Callback, Checkpoint, Debug, Interrupt, MessageOrigin, MessagePair, MessagePayload,
    Metadata, PairMetadata, Phase, StateUpdate, Task, Unwrapped, message_pair,
};
use crate::{Event, Namespace, bounded_namespace};
use runtail_core::json::{self, Fields, Peek};
use serde::Deserialize;
use std::borrow::Cow;
use std::cell::OnceCell;

/// An unwrapped event.
pub(crate) struct Payload<'a> {
    pub event: &'a Event,
    /// The name of the event, the mode of its tuple, or the method of its envelope.
    pub name: &'a str,
    pub ns: Namespace,
    /// The payload itself; `None` if it is not JSON.
    pub json: Option<&'a str>,
    /// Whether it was wrapped in an envelope of the v2 protocol.
    pub enveloped: bool,
    /// The node that the envelope names next to its payload.
    pub node: Option<Cow<'a, str>>,
    /// Interrupts next to the payload in the envelope.
    pub interrupts: Option<Peek<'a>>,
    /// The message and its metadata, if [`Payload::paired`] parsed them.
    pub pair: Option<MessagePair<'a>>,
    parsed: Parsed<'a>,
}

/// The types that one event was parsed as. Large and rare types are boxed, because every token creates a payload.
#[derive(Default)]
struct Parsed<'a> {
    metadata: OnceCell<Option<Metadata<'a>>>,
    task: OnceCell<Option<Task<'a>>>,
    debug: OnceCell<Option<Debug<'a>>>,
    checkpoint: OnceCell<Option<Checkpoint<'a>>>,
    state_update: OnceCell<Option<StateUpdate<'a>>>,
    phase: OnceCell<Option<Phase<'a>>>,
    block: OnceCell<Option<Box<Block<'a>>>>,
    callback: OnceCell<Option<Box<Callback<'a>>>>,
    interrupt: OnceCell<Option<Box<Interrupt<'a>>>>,
    message: OnceCell<Option<Box<(MessagePayload<'a>, MessageOrigin<'a>)>>>,
    messages: OnceCell<Vec<MessagePayload<'a>>>,
    announced: OnceCell<Vec<(Cow<'a, str>, MessageOrigin<'a>)>>,
    fields: OnceCell<Option<Fields<'a>>>,
    named_interrupts: OnceCell<Option<Peek<'a>>>,
    writes: OnceCell<Vec<Write<'a>>>,
}

/// The update that one node wrote.
pub(crate) struct Write<'a> {
    pub node: Cow<'a, str>,
    pub json: Peek<'a>,
    fields: OnceCell<Option<Fields<'a>>>,
}

impl<'a> Write<'a> {
    fn new(node: Cow<'a, str>, json: Peek<'a>) -> Write<'a> {
        Write {
            node,
            json,
            fields: OnceCell::new(),
        }
    }

    /// Returns the fields of the update, if it is an object, or a list of such updates, as tools write that return commands.
    pub fn fields(&self) -> Option<&Fields<'a>> {
        let read = || {
            let updates = self.updates().filter(|update| !update.is_null());
            let is_update = |fields: &Fields<'_>| fields.find("content").is_none();
            let fields = updates.map(|update| update.object().filter(is_update));
            let fields: Option<Vec<Fields<'a>>> = fields.collect();
            Some(Fields(
                fields?.into_iter().flat_map(|fields| fields.0).collect(),
            ))
        };
        self.fields
            .get_or_init(|| match self.json.is_list() {
                true => read(),
                false => self.json.object(),
            })
            .as_ref()
    }

    fn updates(&self) -> impl Iterator<Item = Peek<'a>> {
        let one = (!self.json.is_list()).then_some(self.json);
        self.json.items().chain(one)
    }

    /// Returns what the update, or each one of a list, writes to a key.
    pub fn values(&self, key: &str) -> Vec<Peek<'a>> {
        self.updates()
            .filter_map(|update| update.get(key))
            .collect()
    }
}

impl<'a> Payload<'a> {
    /// Unwraps an event.
    pub fn of(event: &'a Event) -> Payload<'a> {
        let json = event.data.json().map(|text| &**text);
        let mut payload = Payload {
            event,
            name: &event.name,
            ns: event.ns.clone(),
            json,
            enveloped: false,
            node: None,
            interrupts: None,
            pair: None,
            parsed: Parsed::default(),
        };
        let unwrapped = json.and_then(|json| Unwrapped::of(&event.name, Peek::of(json)));
        if let Some(unwrapped) = unwrapped {
            (payload.name, payload.json) = (unwrapped.name, Some(unwrapped.json.text()));
            (payload.enveloped, payload.node) = (unwrapped.enveloped, unwrapped.node);
            payload.interrupts = unwrapped.interrupts;
            if !unwrapped.ns.is_empty() {
                payload.ns = bounded_namespace(&unwrapped.ns);
            }
        }
        payload
    }

    /// Parses the message and its metadata, if this is such a pair.
    pub fn paired(mut self, known: &'a mut PairMetadata) -> Payload<'a> {
        if self.name == "messages" && !self.enveloped {
            self.pair = self.json.and_then(|json| message_pair::read(json, known));
        }
        self
    }

    /// Parses the payload as a type.
    pub fn read<T: Deserialize<'a>>(&self) -> Option<T> {
        json::from_str(self.json?).ok()
    }

    /// Parses the payload as a type when it is first asked for, and keeps the result.
    fn once<'s, T: Deserialize<'a>>(&'s self, cell: &'s OnceCell<Option<T>>) -> Option<&'s T> {
        cell.get_or_init(|| self.read()).as_ref()
    }

    /// Returns the metadata of a run.
    pub fn metadata(&self) -> Option<&Metadata<'a>> {
        self.once(&self.parsed.metadata)
    }

    /// Returns the id of the run that the metadata is about, and the metadata.
    pub fn run(&self) -> Option<(&str, &Metadata<'a>)> {
        let metadata = self.metadata()?;
        Some((metadata.run_id.some()?, metadata))
    }

    /// Returns the event of the mode `debug`.
    pub fn debug(&self) -> Option<&Debug<'a>> {
        self.once(&self.parsed.debug)
    }

    /// Returns the task in an event of the mode `tasks` or `debug`.
    pub fn task(&self) -> Option<&Task<'a>> {
        let is_task = |kind: &str| matches!(kind, "task" | "task_result");
        let read = || match self.name {
            "debug" => {
                let debug = self.debug().filter(|debug| is_task(debug.kind.as_str()))?;
                debug.payload?.read()
            }
            _ => self.read(),
        };
        self.parsed.task.get_or_init(read).as_ref()
    }

    /// Returns the checkpoint in an event of the mode `checkpoints` or `debug`, or in a state update.
    pub fn checkpoint(&self) -> Option<&Checkpoint<'a>> {
        let read = || match self.name {
            "debug" => {
                let debug = self.debug().filter(|debug| debug.kind.is("checkpoint"))?;
                debug.payload?.read()
            }
            "state_update" => self.state_update()?.state.read(),
            _ => self.read(),
        };
        self.parsed.checkpoint.get_or_init(read).as_ref()
    }

    /// Returns a thread's new state.
    pub fn state_update(&self) -> Option<&StateUpdate<'a>> {
        self.once(&self.parsed.state_update)
    }

    /// Returns the phase of a graph or a tool in the v2 protocol.
    pub fn phase(&self) -> Option<&Phase<'a>> {
        self.once(&self.parsed.phase)
    }

    /// Returns the event of a message in the v2 protocol.
    pub fn block(&self) -> Option<&Block<'a>> {
        self.once(&self.parsed.block).map(|block| &**block)
    }

    pub fn callback(&self) -> Option<&Callback<'a>> {
        self.once(&self.parsed.callback).map(|callback| &**callback)
    }

    /// Returns the `input.requested` of the v2 protocol.
    pub fn interrupt(&self) -> Option<&Interrupt<'a>> {
        self.once(&self.parsed.interrupt)
            .map(|interrupt| &**interrupt)
    }

    /// Returns the message of a pair.
    pub fn message(&self) -> Option<&MessagePayload<'a>> {
        match &self.pair {
            Some(pair) => Some(&pair.message),
            None => self.whole_pair().map(|(message, _)| message),
        }
    }

    /// Returns the origin of the message of a pair.
    pub fn message_origin(&self) -> Option<&MessageOrigin<'a>> {
        match &self.pair {
            Some(pair) => Some(pair.origin),
            None => self.whole_pair().map(|(_, origin)| origin),
        }
    }

    fn whole_pair(&self) -> Option<&(MessagePayload<'a>, MessageOrigin<'a>)> {
        self.once(&self.parsed.message).map(|pair| &**pair)
    }

    /// Returns the messages of `messages/partial` and `messages/complete`. Malformed ones are skipped.
    pub fn messages(&self) -> &[MessagePayload<'a>] {
        let read = || self.list().filter_map(Peek::read).collect();
        self.parsed.messages.get_or_init(read)
    }

    /// Returns the payload's members, if it is a list.
    pub fn list(&self) -> impl Iterator<Item = Peek<'a>> {
        self.json.map(Peek::of).into_iter().flat_map(Peek::items)
    }

    /// Returns the origins of the messages announced by `messages/metadata`, with their ids. The chunks that follow only have the
    /// id.
    pub fn announced(&self) -> &[(Cow<'a, str>, MessageOrigin<'a>)] {
        let origin = |(id, about): &(Cow<'a, str>, Peek<'a>)| {
            Some((id.clone(), about.get("metadata")?.read()?))
        };
        let fields = || self.fields().map(|fields| fields.0.as_slice());
        let read = || {
            fields()
                .unwrap_or_default()
                .iter()
                .filter_map(origin)
                .collect()
        };
        self.parsed.announced.get_or_init(read)
    }

    /// Returns the payload's own fields, if it is an object.
    pub fn fields(&self) -> Option<&Fields<'a>> {
        self.parsed
            .fields
            .get_or_init(|| Peek::of(self.json?).object())
            .as_ref()
    }

    /// Returns the interrupts in a state or an update. Most have none, which a text search detects without parsing.
    pub fn named_interrupts(&self) -> Option<Peek<'a>> {
        let mentions =
            |json: &str| memchr::memmem::find(json.as_bytes(), b"\"__interrupt__\"").is_some();
        let read = || {
            self.json
                .filter(|json| mentions(json))
                .and_then(|_| self.fields()?.find("__interrupt__"))
        };
        *self.parsed.named_interrupts.get_or_init(read)
    }

    /// Returns the write of each node in an update. An envelope names its node next to the payload.
    pub fn writes(&self) -> &[Write<'a>] {
        self.parsed
            .writes
            .get_or_init(|| match (&self.node, self.json) {
                (Some(node), Some(json)) => vec![Write::new(node.clone(), Peek::of(json))],
                _ => {
                    let fields = self
                        .fields()
                        .map(|fields| fields.0.as_slice())
                        .unwrap_or_default();
                    fields
                        .iter()
                        .map(|(node, value)| Write::new(node.clone(), *value))
                        .collect()
                }
            })
    }

    /// Returns whether the event belongs to the root graph rather than a subgraph.
    pub fn is_root(&self) -> bool {
        self.ns.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_tuples_are_parsed_as_their_mode() {
        let event = |name: &str, data: &str| Event {
            seq: crate::Seq(1),
            at: jiff::Timestamp::UNIX_EPOCH,
            conn: 1,
            replayed: false,
            name: name.into(),
            ns: ["a:1".into()].into(),
            id: None,
            data: crate::Data::Json(data.into()),
        };
        let values = event("message", r#"["values",{"a":1}]"#);
        let payload = Payload::of(&values);
        assert_eq!(
            (payload.name, payload.json, &*payload.ns[0]),
            ("values", Some(r#"{"a":1}"#), "a:1")
        );
        let nested = event(
            "message",
            r#"[["sub:2"],"messages-tuple",[{"content":"x"},{}]]"#,
        );
        let mut known = PairMetadata::default();
        let payload = Payload::of(&nested).paired(&mut known);
        assert_eq!(
            (payload.name, &*payload.ns[0], payload.pair.is_some()),
            ("messages", "sub:2", true)
        );
        assert_eq!(
            Payload::of(&event("custom", r#"["values",{}]"#)).name,
            "custom"
        );
        assert_eq!(
            &**values.data.text(),
            r#"["values",{"a":1}]"#,
            "the data stays as received"
        );
    }
}
