//! Attributes of an event: its mode, nodes, run, and whether it reports a failure. Computed on demand from borrowed
//! data; what the event doesn't contain is looked up in the projections.

use super::Projections;
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
    let is_set = |error: Option<Peek<'_>>| error.is_some_and(|error| !error.is_null());
    // Every finished task has `"error":null`.
    let has_error = || {
        let mut matches = memchr::memmem::find_iter(json.as_bytes(), b"\"error\":");
        matches.any(|at| !json[at + 8..].trim_start().starts_with("null"))
    };
    let is_error = |message: &MessagePayload<'_>| message.status.is("error");
    match payload.name {
        "error" => true,
        "tasks" | "debug" => has_error() && payload.task().is_some_and(|task| is_set(task.error)),
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
    use crate::Item;
    use crate::Record;

    fn fold(events: &[(&str, &str, &str)]) -> (Vec<Event>, Projections) {
        let mut projections = Projections::default();
        let mut kept = Vec::new();
        for (i, (name, ns, data)) in events.iter().enumerate() {
            let ns = ns
                .split('|')
                .filter(|s| !s.is_empty())
                .map(Into::into)
                .collect();
            let (seq, at) = (crate::Seq(i as u64 + 1), jiff::Timestamp::UNIX_EPOCH);
            let data = Data::Json((*data).into());
            let event = Event {
                seq,
                at,
                conn: 1,
                replayed: false,
                name: (*name).into(),
                ns,
                id: None,
                data,
            };
            projections.apply(&Item::Record(Record::Event(event.clone())));
            kept.push(event);
        }
        (kept, projections)
    }

    #[test]
    fn nodes_are_found_in_every_mode() {
        let (events, projections) = fold(&[
            (
                "messages",
                "",
                r#"[{"content":"x","type":"AIMessageChunk","id":"m"},{"langgraph_node":"chat","run_id":"r1"}]"#,
            ),
            (
                "updates",
                "sub:1|inner:2",
                r#"{"left":null,"right":{"a":1}}"#,
            ),
            (
                "tasks",
                "",
                r#"{"id":"1","name":"plan","input":{},"triggers":[]}"#,
            ),
            (
                "debug",
                "",
                r#"{"step":1,"type":"task","payload":{"id":"1","name":"plan"}}"#,
            ),
            (
                "events",
                "",
                r#"{"event":"on_chain_start","metadata":{"langgraph_node":"chat"},"run_id":"x"}"#,
            ),
            (
                "messages/metadata",
                "",
                r#"{"m2":{"metadata":{"langgraph_node":"draft"}}}"#,
            ),
            (
                "messages/partial",
                "",
                r#"[{"content":"Let","type":"ai","id":"m2"}]"#,
            ),
            ("values", "", r#"{"a":1}"#),
            (
                "updates",
                "",
                r#"{"type":"event","method":"updates","params":{"namespace":["sub:9"],"node":"n","data":{"a":1}}}"#,
            ),
            ("updates", "", "[[[["),
        ]);
        let nodes = |i: usize| EventAttrs::of(&events[i], &projections).nodes();
        assert_eq!(nodes(0), ["chat"]);
        assert_eq!(nodes(1), ["sub", "inner", "left", "right"]);
        assert_eq!(
            (nodes(2), nodes(3)),
            (vec!["plan".into()], vec!["plan".into()])
        );
        assert_eq!(
            (nodes(4), nodes(5), nodes(6)),
            (
                vec!["chat".into()],
                vec!["draft".into()],
                vec!["draft".into()]
            )
        );
        assert_eq!((nodes(7), nodes(9)), (vec![], vec![]));
        assert_eq!(nodes(8), ["sub", "n"]);
        assert_eq!(
            EventAttrs::of(&events[0], &projections).run().as_deref(),
            Some("r1")
        );
        assert_eq!(EventAttrs::of(&events[7], &projections).run(), None);
    }

    #[test]
    fn heartbeats_are_recognized_by_name() {
        let is_heartbeat = |name: &str, data: &str| {
            let (events, projections) = fold(&[(name, "", data)]);
            EventAttrs::of(&events[0], &projections).is_heartbeat()
        };
        assert!(
            is_heartbeat("heartbeat", "null")
                && is_heartbeat("custom", r#"{"type":"keep-alive","n":1}"#)
        );
        assert!(
            is_heartbeat("custom", "\"Ping\"")
                && is_heartbeat("custom:x", r#"{"event":"heartbeat"}"#)
        );
        assert!(
            !is_heartbeat("custom", r#"{"text":"heartbeat"}"#)
                && !is_heartbeat("custom", "3")
                && !is_heartbeat("values", "\"ping\"")
        );
    }

    #[test]
    fn paths_may_start_inside_the_payload() {
        let (events, projections) = fold(&[
            (
                "updates",
                "",
                r#"{"chat":{"status":"ok"},"tool":{"status":"late"}}"#,
            ),
            (
                "messages",
                "",
                r#"[{"content":"x","id":"m"},{"langgraph_node":"chat"}]"#,
            ),
            (
                "state_update",
                "",
                r#"{"state":{"values":{"a":1}},"thread_id":"t"}"#,
            ),
        ]);
        let at = |i: usize, path: &str| -> Vec<&str> {
            let values =
                EventAttrs::of(&events[i], &projections).values(&Path::parse(path).unwrap());
            values.into_iter().map(Peek::text).collect()
        };
        assert_eq!(
            (at(0, "status"), at(0, "chat.status")),
            (vec!["\"ok\"", "\"late\""], vec!["\"ok\""])
        );
        assert_eq!(
            (at(1, "content"), at(1, "[1].langgraph_node")),
            (vec!["\"x\""], vec!["\"chat\""])
        );
        assert_eq!(
            (at(2, "values.a"), at(2, "thread_id"), at(2, "b").len()),
            (vec!["1"], vec!["\"t\""], 0)
        );
    }
}
