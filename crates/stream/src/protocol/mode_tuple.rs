//! Literal `[mode, chunk]` and `[namespace, mode, chunk]` tuples in the data of an event. According to the contract, the
//! items of a run with several modes are such tuples; known servers put the mode in the event's name instead.

use crate::transport::modes::RUN_MODES;
use crate::{Data, Event};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A parsed tuple.
pub struct ModeTuple<'a> {
    /// The event name of its mode.
    pub name: &'static str,
    /// Segments of its namespace, outermost first.
    pub ns: Vec<Cow<'a, str>>,
    /// The payload.
    pub chunk: &'a RawValue,
}

impl<'a> ModeTuple<'a> {
    /// Parses the data of an event with this name. Graphs may send any data in `custom` events, so there only tuples with the
    /// mode `custom` count.
    pub fn of(event: &str, json: &'a str) -> Option<ModeTuple<'a>> {
        let (ns, mode, chunk) = match json.as_bytes() {
            [b'[', b'"', ..] => {
                let (mode, chunk) =
                    <(Cow<'a, str>, &'a RawValue)>::deserialize(&mut deserializer(json)).ok()?;
                (Vec::new(), mode, chunk)
            }
            [b'[', b'[', ..] => {
                type WithNamespace<'a> = (Vec<Cow<'a, str>>, Cow<'a, str>, &'a RawValue);
                WithNamespace::deserialize(&mut deserializer(json)).ok()?
            }
            _ => return None,
        };
        let name = match RUN_MODES.into_iter().find(|known| *known == mode)? {
            "messages-tuple" => "messages",
            known => known,
        };
        (event != "custom" || name == "custom").then_some(ModeTuple { name, ns, chunk })
    }
}

fn deserializer(json: &str) -> serde_json::Deserializer<serde_json::de::StrRead<'_>> {
    serde_json::Deserializer::from_str(json)
}

impl Event {
    /// Returns the event's mode: that of the tuple in its data, or its name.
    pub fn mode(&self) -> &str {
        mode(&self.name, &self.data)
    }
}

/// Returns the mode of an event with this name and data.
pub(crate) fn mode<'a>(name: &'a str, data: &Data) -> &'a str {
    data.json()
        .and_then(|json| ModeTuple::of(name, json))
        .map_or(name, |tuple| tuple.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_of_known_modes_are_parsed() {
        let of = |event, json| {
            ModeTuple::of(event, json).map(|t| (t.name, t.ns.join("/"), t.chunk.get().to_string()))
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
            assert!(ModeTuple::of(event, json).is_none(), "{event} {json}");
        }
    }
}
