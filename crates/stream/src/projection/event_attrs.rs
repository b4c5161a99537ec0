//! Attributes of an event: its mode, nodes, run, and whether it reports a failure. Computed on demand from borrowed
//! data; what the event doesn't contain is looked up in the projections.

use super::Projections;
use super::custom::is_custom;
use super::node_path::name_of;
use crate::json::path::Path;
use crate::protocol::{MessagePayload, Payload};
use crate::{Data, Event, EventNumber, Namespace};
use runtail_core::json::Peek;
use std::borrow::Cow;

/// The attributes of an event.
pub struct EventAttrs<'a> {
    payload: Payload<'a>,
    projections: &'a Projections,
    number: EventNumber,
}

impl<'a> EventAttrs<'a> {
    /// Creates the attributes of an event of the log that these projections were built from.
    pub fn of(event: &'a Event, projections: &'a Projections) -> EventAttrs<'a> {
        EventAttrs {
            payload: Payload::of(event),
            projections,
            number: EventNumber(event.seq.0),
        }
    }

    /// Sets the event number shown to the user, which doesn't count snapshots.
    pub fn numbered(self, number: EventNumber) -> EventAttrs<'a> {
        EventAttrs { number, ..self }
    }

    /// Returns the event number shown to the user.
    pub fn number(&self) -> EventNumber {
        self.number
    }

    /// Returns the event.
    pub fn event(&self) -> &'a Event {
        self.payload.event
    }

    /// Returns the mode, such as `messages/partial`: the event's name, or the method in the newer protocol.
    pub fn mode(&self) -> &'a str {
        self.payload.name
    }

    /// Returns its namespace, outermost segment first. Each segment consists of a node and its task (`sub:<uuid>`).
    pub fn namespace(&self) -> &Namespace {
        &self.payload.ns
    }

    /// Returns the nodes that it names and the nodes whose subgraphs it comes from.
    pub fn nodes(&self) -> Vec<Cow<'a, str>> {
        let payload = &self.payload;
        let within = payload.ns.iter().map(|s| name_of(s).to_string().into());
        let mut nodes: Vec<Cow<'a, str>> = within.collect();
        nodes.extend(payload.node.clone());
        match payload.name {
            "messages" if !payload.enveloped => {
                nodes.extend(
                    payload
                        .message_origin()
                        .and_then(|origin| origin.langgraph_node.0.clone()),
                );
            }
            "messages/metadata" => {
                let announced = payload.announced().iter();
                nodes.extend(announced.filter_map(|(_, origin)| origin.langgraph_node.0.clone()));
            }
            "messages/partial" | "messages/complete" => {
                for message in payload.messages() {
                    // Its node was announced earlier, in `messages/metadata`.
                    let messages = &self.projections.messages;
                    let known = message.id.some().and_then(|id| messages.with_id(id));
                    nodes.extend(known.and_then(|m| m.node.as_deref()).map(Cow::Borrowed));
                }
            }
            "updates" if payload.node.is_none() => {
                nodes.extend(payload.writes().iter().map(|write| write.node.clone()))
            }
            "tasks" | "debug" => nodes.extend(payload.task().and_then(|task| task.name.0.clone())),
            "events" => {
                let origin = payload
                    .callback()
                    .and_then(|callback| callback.metadata.as_ref());
                nodes.extend(origin.and_then(|origin| origin.langgraph_node.0.clone()));
            }
            _ => {}
        }
        nodes
    }

    /// Returns the run that it belongs to, if known.
    pub fn run(&self) -> Option<Cow<'a, str>> {
        if let Some(run) = self.projections.landmarks.run_at(self.payload.event.seq) {
            return Some(Cow::Borrowed(run));
        }
        // A stream that joined in the middle of a run doesn't know its id yet, but tokens contain it.
        if self.payload.name != "messages" || self.payload.enveloped {
            return None;
        }
        self.payload
            .message_origin()
            .and_then(|origin| origin.run_id.0.clone())
    }

    /// Returns whether it reports a failure or could not be parsed.
    pub fn is_error(&self) -> bool {
        is_failure(&self.payload)
    }

    /// Returns whether a node emitted it, or no view but the list of events shows it.
    pub fn is_custom(&self) -> bool {
        is_custom(self.payload.name) && !self.payload.event.is_snapshot()
    }

    /// Returns whether its data is not JSON or was truncated.
    pub fn is_odd(&self) -> bool {
        !matches!(self.payload.event.data, Data::Json(_))
    }

    /// Returns whether it is a heartbeat from the server or the graph.
    pub fn is_heartbeat(&self) -> bool {
        let is_name = |name: &str| {
            let name: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
            ["heartbeat", "ping", "keepalive"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known))
        };
        if is_name(self.payload.name) {
            return true;
        }
        if self.payload.name.split(':').next() != Some("custom") {
            return false;
        }
        // A graph sends it as a text, or as a field of a custom event. No server documents this form.
        let json = Peek::of(self.payload.json.unwrap_or_default());
        let names = [Some(json), json.get("event"), json.get("type")];
        names
            .into_iter()
            .flatten()
            .filter_map(Peek::string)
            .any(|name| is_name(&name))
    }

    /// Returns the raw values at a path. The path starts at the payload's root or, if that finds nothing, at each
    /// node's write, the message or the state.
    pub fn values(&self, path: &Path) -> Vec<Peek<'a>> {
        let payload = &self.payload;
        let Some(root) = payload
            .json
            .filter(|json| path.may_be_in(json))
            .map(Peek::of)
        else {
            return Vec::new();
        };
        let found = path.find(root);
        if !found.is_empty() {
            return found;
        }
        match payload.name {
            "updates" if payload.node.is_none() => root
                .fields()
                .flat_map(|(_, write)| path.find(write))
                .collect(),
            "messages" => root
                .items()
                .next()
                .map(|message| path.find(message))
                .unwrap_or_default(),
            "state_update" => payload
                .state_update()
                .map(|update| path.find(update.state))
                .unwrap_or_default(),
            _ => found,
        }
    }
}

/// Returns whether an event reports a failure or could not be parsed. Most events are ruled out without parsing their
/// JSON.
pub(super) fn is_failure(payload: &Payload<'_>) -> bool {
    let Some(json) = payload.json else {
        return true;
    };
    let contains = |text: &str| memchr::memmem::find(json.as_bytes(), text.as_bytes()).is_some();
    // Every finished task has `"error":null`.
    let has_error = || {
        let mut matches = memchr::memmem::find_iter(json.as_bytes(), b"\"error\":");
        matches.any(|at| !json[at + 8..].trim_start().starts_with("null"))
    };
    let is_error = |message: &MessagePayload<'_>| message.status.is("error");
    match payload.name {
        "error" => true,
        "tasks" | "debug" => has_error() && payload.task().is_some_and(|task| task.error.is_some()),
        "messages" if payload.pair.is_some() => payload.message().is_some_and(is_error),
        "messages" if !payload.enveloped => {
            contains("\"error\"") && payload.message().is_some_and(is_error)
        }
        "lifecycle" => {
            contains("\"failed\"")
                && payload
                    .phase()
                    .is_some_and(|phase| phase.event.is("failed"))
        }
        "events" => {
            contains("_error\"")
                && payload
                    .callback()
                    .is_some_and(|call| call.event.as_str().ends_with("_error"))
        }
        "tools" => {
            contains("error\"")
                && payload
                    .phase()
                    .is_some_and(|phase| phase.event.as_str().ends_with("error"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Script;

    #[test]
    fn nodes_are_found_in_every_mode() {
        let script = Script::of(
            r#"0 messages [{"content":"x","type":"AIMessageChunk","id":"m"},{"langgraph_node":"chat","run_id":"r1"}]
               0 updates|sub:1|inner:2 {"left":null,"right":{"a":1}}
               0 tasks {"id":"1","name":"plan","input":{},"triggers":[]}
               0 debug {"step":1,"type":"task","payload":{"id":"1","name":"plan"}}
               0 events {"event":"on_chain_start","metadata":{"langgraph_node":"chat"},"run_id":"x"}
               0 messages/metadata {"m2":{"metadata":{"langgraph_node":"draft"}}}
               0 messages/partial [{"content":"Let","type":"ai","id":"m2"}]
               0 values {"a":1}
               0 updates {"type":"event","method":"updates","params":{"namespace":["sub:9"],"node":"n","data":{"a":1}}}
               0 updates [[[["#,
        );
        let attrs = |i: usize| EventAttrs::of(&script.events[i], &script.projections);
        let nodes: Vec<String> = (0..10).map(|i| attrs(i).nodes().join(" ")).collect();
        let expected = [
            "chat",
            "sub inner left right",
            "plan",
            "plan",
            "chat",
            "draft",
            "draft",
            "",
            "sub n",
            "",
        ];
        assert_eq!(nodes, expected);
        assert_eq!(attrs(0).run().as_deref(), Some("r1"));
        assert_eq!(attrs(7).run(), None);
    }

    #[test]
    fn heartbeats_are_recognized_by_name() {
        for (event, is_heartbeat) in [
            ("heartbeat null", true),
            (r#"custom {"type":"keep-alive","n":1}"#, true),
            (r#"custom "Ping""#, true),
            (r#"custom:x {"event":"heartbeat"}"#, true),
            (r#"custom {"text":"heartbeat"}"#, false),
            ("custom 3", false),
            (r#"values "ping""#, false),
        ] {
            let script = Script::of(&format!("0 {event}"));
            let attrs = EventAttrs::of(&script.events[0], &script.projections);
            assert_eq!(attrs.is_heartbeat(), is_heartbeat, "{event}");
        }
    }

    #[test]
    fn paths_may_start_inside_the_payload() {
        let script = Script::of(
            r#"0 updates {"chat":{"status":"ok"},"tool":{"status":"late"}}
               0 messages [{"content":"x","id":"m"},{"langgraph_node":"chat"}]
               0 state_update {"state":{"values":{"a":1}},"thread_id":"t"}"#,
        );
        for (i, path, found) in [
            (0, "status", r#""ok" "late""#),
            (0, "chat.status", r#""ok""#),
            (1, "content", r#""x""#),
            (1, "[1].langgraph_node", r#""chat""#),
            (2, "values.a", "1"),
            (2, "thread_id", r#""t""#),
            (2, "b", ""),
        ] {
            let attrs = EventAttrs::of(&script.events[i], &script.projections);
            let values = attrs.values(&Path::parse(path).unwrap()).into_iter();
            let values: Vec<&str> = values.map(Peek::text).collect();
            assert_eq!(values.join(" "), found, "{path}");
        }
    }
}
