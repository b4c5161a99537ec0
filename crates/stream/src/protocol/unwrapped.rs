//! What wraps a payload: the envelope of the v2 protocol, `{"type":"event","method":…,"params":{"namespace":…,"data":…}}`, or a
//! literal `[mode, chunk]` or `[namespace, mode, chunk]` tuple. According to the contract, the items of a run with several modes
//! are such tuples; known servers put the mode in the event's name instead.

use crate::transport::modes::RUN_MODES;
use crate::{Data, Event, bounded};
use runtail_core::json::Peek;
use std::borrow::Cow;

/// An event's payload without what wraps it.
pub struct Unwrapped<'a> {
    /// The method of the envelope, or the event name of the tuple's mode.
    pub name: &'a str,
    /// Segments of its namespace, outermost first.
    pub ns: Vec<Cow<'a, str>>,
    /// The payload.
    pub json: Peek<'a>,
    /// Whether it was in an envelope.
    pub enveloped: bool,
    /// The node that the envelope names next to its payload.
    pub node: Option<Cow<'a, str>>,
    /// Interrupts next to the payload in the envelope.
    pub interrupts: Option<Peek<'a>>,
}

impl<'a> Unwrapped<'a> {
    /// Reads the data of an event with this name; `None` if nothing wraps it. The data may be cut off in the payload.
    pub fn of(event: &str, json: Peek<'a>) -> Option<Unwrapped<'a>> {
        Unwrapped::envelope(json).or_else(|| Unwrapped::tuple(event, json))
    }

    fn envelope(json: Peek<'a>) -> Option<Unwrapped<'a>> {
        // A cheap check first: an envelope begins with its own few fields.
        let head = &json.text().as_bytes()[..json.text().len().min(200)];
        if !json.is_object() || memchr::memmem::find(head, b"\"method\"").is_none() {
            return None;
        }
        let ([kind, method], [ns, data, node, interrupts]) = json.pick_within(
            ["type", "method"],
            "params",
            ["namespace", "data", "node", "interrupts"],
        );
        let Cow::Borrowed(name) = method
            .filter(|_| kind.is_some_and(|kind| kind.is("event")))?
            .string()?
        else {
            return None;
        };
        Some(Unwrapped {
            name,
            ns: ns.map_or(Some(Vec::new()), texts)?,
            json: data?,
            enveloped: true,
            node: node.and_then(Peek::string).map(bounded),
            interrupts: interrupts.filter(|list| !list.is_null()),
        })
    }

    /// Reads a tuple. Graphs may send any data in `custom` events, so there only tuples with the mode `custom` count.
    pub fn tuple(event: &str, json: Peek<'a>) -> Option<Unwrapped<'a>> {
        let mut items = json.items();
        let ns = match json.text().as_bytes() {
            [b'[', b'"', ..] => Vec::new(),
            [b'[', b'[', ..] => texts(items.next()?)?,
            _ => return None,
        };
        let mode = items.next().filter(|_| json.is_whole())?.string()?;
        let name = match RUN_MODES.into_iter().find(|known| *known == mode)? {
            "messages-tuple" => "messages",
            known => known,
        };
        let json = items.next()?;
        let is_pair = items.next().is_none();
        (is_pair && (event != "custom" || name == "custom")).then_some(Unwrapped {
            name,
            ns,
            json,
            enveloped: false,
            node: None,
            interrupts: None,
        })
    }
}

/// Returns the texts of a list; `None` if something else is in it.
fn texts(list: Peek<'_>) -> Option<Vec<Cow<'_, str>>> {
    list.items().map(Peek::string).collect()
}

impl Event {
    /// Returns the event's mode: that of the tuple in its data, or its name.
    pub fn mode(&self) -> &str {
        mode(&self.name, &self.data)
    }
}

/// Returns the mode of an event with this name and data.
pub(crate) fn mode<'a>(name: &'a str, data: &'a Data) -> &'a str {
    data.json()
        .and_then(|json| Unwrapped::tuple(name, Peek::of(json)))
        .map_or(name, |tuple| tuple.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_of_known_modes_are_parsed() {
        let of = |event, json| {
            Unwrapped::of(event, Peek::of(json))
                .map(|t| (t.name, t.ns.join("/"), t.json.text().to_string()))
        };
        let tuple = |name, ns: &str, chunk: &str| Some((name, ns.to_string(), chunk.to_string()));
        assert_eq!(
            of("message", r#"["values",{"a":[1, 2]}]"#),
            tuple("values", "", r#"{"a":[1, 2]}"#)
        );
        assert_eq!(
            of("data", r#"["messages-tuple",[{},{}]]"#),
            tuple("messages", "", "[{},{}]")
        );
        assert_eq!(
            of("values", r#"[["sub:1","in:2"],"updates",{}]"#),
            tuple("updates", "sub:1/in:2", "{}")
        );
        assert_eq!(of("custom", r#"["custom",7]"#), tuple("custom", "", "7"));
        for (event, json) in [
            // A graph may send anything as `custom`.
            ("custom", r#"["values",{}]"#),
            ("message", r#"["other",{}]"#),
            ("message", r#"["values"]"#),
            ("message", r#"["values",1,2]"#),
            ("message", r#"[[1],"values",2]"#),
            ("message", r#"{"values":1}"#),
            ("messages", r#"[{"content":"a"},{"langgraph_node":"n"}]"#),
        ] {
            assert!(
                Unwrapped::of(event, Peek::of(json)).is_none(),
                "{event} {json}"
            );
        }
    }
}
