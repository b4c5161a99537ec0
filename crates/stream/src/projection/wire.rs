//! How events are read: borrowed, only the fields that are needed, and forgiving. Also the second dialect, whose payload
//! lies inside an envelope `{"type":"event","method":…,"params":{"namespace":…,"data":…}}`.

use super::pair::Pair;
use crate::protocol::{Checkpoint, Debug, Metadata, Parsed, Phase, StateUpdate, Task};
pub(super) use crate::protocol::{LongText, Number, Text, text, unescape};
use crate::{Event, ModeTuple, Namespace, bounded_namespace};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// An event, unwrapped.
pub(super) struct Payload<'a> {
    /// The event.
    pub event: &'a Event,
    /// What it is: its name, or the method of the envelope.
    pub name: &'a str,
    /// Its namespace.
    pub ns: Namespace,
    /// The payload proper; `None` where it is no JSON.
    pub json: Option<&'a str>,
    /// Whether it came in the second dialect's envelope.
    pub enveloped: bool,
    /// The node that an envelope names beside its payload.
    pub node: Option<Cow<'a, str>>,
    /// Interrupts that lie beside the payload in the envelope.
    pub interrupts: Option<&'a RawValue>,
    /// The message and what comes beside it, where that was read.
    pub pair: Option<Pair<'a>>,
    parsed: Parsed<'a>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(default, borrow)]
    namespace: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(default, borrow)]
    node: Text<'a>,
    #[serde(default, borrow)]
    interrupts: Option<&'a RawValue>,
}

impl<'a> Payload<'a> {
    /// Looks into an event.
    pub fn of(event: &'a Event) -> Payload<'a> {
        let json = event.data.json().map(|text| &**text);
        if let Some(Envelope { kind, method, params }) = json.and_then(envelope)
            && kind.is("event")
        {
            let ns: Namespace = match params.namespace.is_empty() {
                true => event.ns.clone(),
                false => bounded_namespace(&params.namespace),
            };
            let json = Some(params.data.get());
            let (node, interrupts) = (params.node.0, params.interrupts);
            return Payload {
                event,
                name: method,
                ns,
                json,
                enveloped: true,
                node,
                interrupts,
                pair: None,
                parsed: Parsed::default(),
            };
        }
        if let Some(ModeTuple { name, ns, chunk }) = json.and_then(|json| ModeTuple::of(&event.name, json)) {
            let ns = match ns.is_empty() {
                true => event.ns.clone(),
                false => bounded_namespace(&ns),
            };
            let json = Some(chunk.get());
            return Payload {
                event,
                name,
                ns,
                json,
                enveloped: false,
                node: None,
                interrupts: None,
                pair: None,
                parsed: Parsed::default(),
            };
        }
        let ns = event.ns.clone();
        Payload {
            event,
            name: &event.name,
            ns,
            json,
            enveloped: false,
            node: None,
            interrupts: None,
            pair: None,
            parsed: Parsed::default(),
        }
    }

    /// Reads the payload as a type.
    pub fn read<T: Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.json?).ok()
    }

    /// A run's metadata.
    pub fn metadata(&self) -> Option<&Metadata<'a>> {
        self.parsed.metadata.get_or_init(|| self.read()).as_ref()
    }

    /// An event of the mode `debug`.
    pub fn debug(&self) -> Option<&Debug<'a>> {
        self.parsed.debug.get_or_init(|| self.read()).as_ref()
    }

    /// A task: an event of the mode `tasks`, or the task in one of the mode `debug`.
    pub fn task(&self) -> Option<&Task<'a>> {
        let read = || match self.name {
            "debug" => serde_json::from_str(self.debug()?.payload?.get()).ok(),
            _ => self.read(),
        };
        self.parsed.task.get_or_init(read).as_ref()
    }

    /// A checkpoint: an event of the mode `checkpoints`, or the one in an event of the mode `debug` or in a state update.
    pub fn checkpoint(&self) -> Option<&Checkpoint<'a>> {
        let read = || match self.name {
            "debug" => {
                let debug = self.debug().filter(|debug| debug.kind.is("checkpoint"))?;
                serde_json::from_str(debug.payload?.get()).ok()
            }
            "state_update" => serde_json::from_str(self.state_update()?.state.get()).ok(),
            _ => self.read(),
        };
        self.parsed.checkpoint.get_or_init(read).as_ref()
    }

    /// A thread's new state.
    pub fn state_update(&self) -> Option<&StateUpdate<'a>> {
        self.parsed.state_update.get_or_init(|| self.read()).as_ref()
    }

    /// What the second dialect tells of the life of a graph or a tool.
    pub fn phase(&self) -> Option<&Phase<'a>> {
        self.parsed.phase.get_or_init(|| self.read()).as_ref()
    }

    /// What each node wrote, where this is an update. An envelope names its node beside the payload.
    pub fn writes(&self) -> Vec<(Cow<'a, str>, &'a str)> {
        match (&self.node, self.json) {
            (Some(node), Some(json)) => vec![(node.clone(), json)],
            (None, Some(json)) => {
                let fields = Fields::read(json).map(|f| f.0).unwrap_or_default();
                fields.into_iter().map(|(node, raw)| (node, raw.get())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it belongs to the graph itself and not to a subgraph.
    pub fn is_root(&self) -> bool {
        self.ns.is_empty()
    }
}

fn envelope(text: &str) -> Option<Envelope<'_>> {
    // Cheap to rule out: an envelope begins with its own few fields.
    let head = &text.as_bytes()[..text.len().min(200)];
    if !head.starts_with(b"{") || memchr::memmem::find(head, b"\"method\"").is_none() {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// The fields of an object in their order, raw.
pub(super) struct Fields<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    fields.push((key.0, value));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Collect).map(Fields)
    }
}

/// A key, borrowed where it holds no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(key))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(key.into()))
            }
        }
        deserializer.deserialize_str(Read).map(Key)
    }
}

impl<'a> Fields<'a> {
    /// Reads an object; nothing where the text is none.
    pub fn read(text: &'a str) -> Option<Fields<'a>> {
        serde_json::from_str(text).ok()
    }
}

/// A list whose members are read one by one: an odd one costs only itself.
pub(super) struct Items<'a>(pub Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(4));
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(Collect).map(Items)
    }
}

impl<'a> Items<'a> {
    /// The members of a raw list; none where it is something else.
    pub fn of(raw: &'a RawValue) -> Vec<&'a RawValue> {
        serde_json::from_str::<Items<'_>>(raw.get()).map(|i| i.0).unwrap_or_default()
    }
}

/// An interrupt inside an `__interrupt__` list.
#[derive(Deserialize)]
pub(super) struct InterruptIn<'a> {
    #[serde(default, borrow, alias = "interrupt_id")]
    pub id: Text<'a>,
    #[serde(default, borrow, alias = "payload")]
    pub value: Option<&'a RawValue>,
}

/// A raw value on one line, for a summary: texts without their quotes, at most `max` characters.
pub(super) fn summary(raw: &str, max: usize) -> String {
    // Enough bytes for any `max` characters, escaped or not, so that a value of 50 MB costs no more than a short one.
    let head = runtail_core::text::head(raw, max * 6 + 8);
    let end = head.len();
    let head = match head.strip_prefix('"') {
        Some(inner) if end == raw.len() => Cow::Owned(unescape(inner.strip_suffix('"').unwrap_or(inner))),
        Some(inner) => Cow::Borrowed(inner),
        None => runtail_core::text::readable(head),
    };
    let mut out: String = head.chars().take(max).collect();
    if end < raw.len() || head.chars().nth(max).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_emoji_costs_one_character() {
        let raw: &RawValue = serde_json::from_str(r#""a\ud83d\n\u00e9\"""#).unwrap();
        assert_eq!(text(raw).as_deref(), Some("a\u{fffd}\né\""));
        let raw: &RawValue = serde_json::from_str("7").unwrap();
        assert_eq!(text(raw), None);
        assert_eq!(serde_json::from_str::<Text<'_>>("null").unwrap(), Text(None));
    }

    #[test]
    fn literal_tuples_are_read_as_the_mode_that_they_name() {
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
        assert_eq!((payload.name, payload.json, &*payload.ns[0]), ("values", Some(r#"{"a":1}"#), "a:1"));
        let nested = event("message", r#"[["sub:2"],"messages-tuple",[{"content":"x"},{}]]"#);
        let mut known = crate::projection::pair::Metadata::default();
        let payload = Payload::of(&nested).paired(&mut known);
        assert_eq!((payload.name, &*payload.ns[0], payload.pair.is_some()), ("messages", "sub:2", true));
        assert_eq!(Payload::of(&event("custom", r#"["values",{}]"#)).name, "custom");
        assert_eq!(&**values.data.text(), r#"["values",{"a":1}]"#, "the data stays as received");
    }

    #[test]
    fn summaries_are_short() {
        assert_eq!(summary("\"a\\nb\"", 10), "a\nb");
        assert_eq!(summary("[1,2,3]", 4), "[1,2…");
        assert_eq!(summary(r#"{"a":"\u00e9"}"#, 20), r#"{"a":"é"}"#);
        assert_eq!(summary(&format!("\"{}\"", "é".repeat(1000)), 3), "ééé…");
    }
}
