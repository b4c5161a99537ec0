//! Snapshots of a thread, which a thread page loads in addition to its stream: record, state, history and runs.
//!
//! Streams replay only recent, resumable runs and never an error, so they don't show a thread's status, earlier
//! messages or their times. A snapshot does. It is an entry of the event log like any event, so views, time travel,
//! exports and recordings include it without special handling.

use crate::log::recording::one_line;
use crate::protocol::{MessageId, StateMessages};
use crate::{Data, Event, Seq};
use jiff::Timestamp;
use runtail_core::json;
use runtail_core::model::object_fields;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

/// The connection number of loaded entries. Those of streams count from 1.
pub const LOADED: u32 = 0;
/// The name of snapshot entries, and their kind in recordings.
pub const SNAPSHOT: &str = "snapshot";

/// The parts of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// `GET /threads/T`
    Thread,
    /// `GET /threads/T/state`
    State,
    /// `GET /threads/T/history`
    History,
    /// `GET /threads/T/runs`
    Runs,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 4] = [Part::Thread, Part::State, Part::History, Part::Runs];

    /// Returns the name of the part in records and on screen.
    pub fn word(self) -> &'static str {
        match self {
            Part::Thread => "thread",
            Part::State => "state",
            Part::History => "history",
            Part::Runs => "runs",
        }
    }
}

/// The result of loading a part.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// The server's JSON.
    Json(Arc<str>),
    /// The server doesn't have the endpoint.
    NotOffered,
    /// The request failed, with the reason.
    Failed(String),
}

/// The parts of a thread that were loaded together. Parts that were not requested are absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadSnapshot {
    /// When the last part arrived.
    pub at: Timestamp,
    pub parts: BTreeMap<Part, Loaded>,
}

impl ThreadSnapshot {
    /// Converts the snapshot into an entry of the event log.
    ///
    /// Values are stored once: the thread's record and each history entry repeat those of the state, so both are
    /// omitted if the state is present. The state's values come last, so that snapshots of one thread share as much as
    /// possible.
    pub fn into_event(self, seq: Seq) -> Event {
        let has_state = matches!(self.parts.get(&Part::State), Some(Loaded::Json(_)));
        let mut text = String::from("{");
        let mut missing = Vec::new();
        for part in [Part::Thread, Part::Runs, Part::History, Part::State] {
            match self.parts.get(&part) {
                None => {}
                Some(Loaded::NotOffered) => missing.push((part, None)),
                Some(Loaded::Failed(why)) => missing.push((part, Some(why.as_str()))),
                Some(Loaded::Json(json)) => {
                    let json = match part {
                        Part::Thread if has_state => without(json, "values", None),
                        Part::State => without(json, "", Some("values")),
                        Part::History => Some(compact_history(json)),
                        Part::Thread | Part::Runs => None,
                    }
                    .map_or(Cow::Borrowed(&**json), Cow::Owned);
                    push_comma(&mut text);
                    let _ = write!(text, "\"{}\":{json}", part.word());
                }
            }
        }
        if !missing.is_empty() {
            push_comma(&mut text);
            text.push_str("\"missing\":{");
            for (part, why) in missing {
                push_comma(&mut text);
                let why = serde_json::to_string(&why).unwrap_or_default();
                let _ = write!(text, "\"{}\":{why}", part.word());
            }
            text.push('}');
        }
        text.push('}');
        entry(seq, self.at, text)
    }
}

impl Event {
    /// Returns whether the event is a loaded snapshot.
    pub fn is_snapshot(&self) -> bool {
        self.conn == LOADED
    }
}

/// The parts of a snapshot as stored in its entry.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct SnapshotFields<'a> {
    /// The thread's record.
    #[serde(default, borrow)]
    pub thread: Option<&'a RawValue>,
    /// Its state, values last.
    #[serde(default, borrow)]
    pub state: Option<&'a RawValue>,
    /// Its history, newest first: see [`HistoryEntry`].
    #[serde(default, borrow)]
    pub history: Option<&'a RawValue>,
    /// Its runs in the server's order.
    #[serde(default, borrow)]
    pub runs: Option<&'a RawValue>,
    /// Parts that could not be loaded: `null` if the server doesn't have the endpoint, else the reason.
    #[serde(default, borrow)]
    pub(crate) missing: Option<&'a RawValue>,
}

impl<'a> SnapshotFields<'a> {
    /// Parses an entry's data.
    pub fn read(json: &'a str) -> Option<SnapshotFields<'a>> {
        json::from_str(json).ok()
    }

    /// Returns the parts that could not be loaded, each with the reason; `None` if the server doesn't have the
    /// endpoint.
    pub fn missing(&self) -> Vec<(Part, Option<String>)> {
        let mut missing: BTreeMap<String, Option<String>> = self
            .missing
            .and_then(|raw| json::from_str(raw.get()).ok())
            .unwrap_or_default();
        Part::ALL
            .into_iter()
            .filter_map(|part| Some((part, missing.remove(part.word())?)))
            .collect()
    }

    /// Returns the entry as it is in the event log, except for its position, because recordings only count events of
    /// the stream.
    pub fn into_event(self, at: Timestamp) -> Event {
        let parts = [
            ("thread", self.thread),
            ("runs", self.runs),
            ("history", self.history),
            ("state", self.state),
            ("missing", self.missing),
        ];
        let mut text = String::from("{");
        for (name, raw) in parts {
            if let Some(raw) = raw.map(RawValue::get).filter(|raw| *raw != "null") {
                push_comma(&mut text);
                let _ = write!(text, "\"{name}\":{raw}");
            }
        }
        text.push('}');
        entry(Seq::START, at, text)
    }
}

fn entry(seq: Seq, at: Timestamp, text: String) -> Event {
    let data = Data::Json(text.into());
    Event {
        seq,
        at,
        conn: LOADED,
        name: SNAPSHOT.into(),
        ns: [].into(),
        replayed: false,
        id: None,
        data,
    }
}

/// Writes a snapshot as a line of a recording, up to its last brace. Parts that were not loaded are `null` (docs/recordings.md);
/// the history is only written if it was loaded.
pub(crate) fn write(out: &mut impl io::Write, event: &Event) -> io::Result<()> {
    let fields = SnapshotFields::read(event.data.text()).unwrap_or_default();
    write!(out, r#"{{"kind":"{SNAPSHOT}","at":"{:.6}""#, event.at)?;
    for (name, raw) in [
        ("thread", fields.thread),
        ("state", fields.state),
        ("runs", fields.runs),
    ] {
        write!(out, ",\"{name}\":")?;
        out.write_all(one_line(raw.map_or("null", RawValue::get)).as_bytes())?;
    }
    for (name, raw) in [("history", fields.history), ("missing", fields.missing)] {
        if let Some(raw) = raw {
            write!(out, ",\"{name}\":")?;
            out.write_all(one_line(raw.get()).as_bytes())?;
        }
    }
    Ok(())
}

/// Assigns log positions to events and snapshots from different sources.
#[derive(Debug, Default)]
pub struct Positions {
    last: Seq,
    snapshots: u64,
}

impl Positions {
    /// Assigns a position to an event of the stream, which its source has numbered from 1.
    pub fn place(&mut self, event: &mut Event) {
        event.seq = event.seq + self.snapshots;
        self.last = event.seq;
    }

    /// Assigns the next position to a snapshot.
    pub fn snapshot(&mut self, snapshot: ThreadSnapshot) -> Event {
        self.snapshots += 1;
        self.last = self.last.next();
        snapshot.into_event(self.last)
    }
}

/// An entry of the history as stored in a snapshot: without its values, but with the ids of the messages that it added.
#[derive(Debug, Default, Deserialize)]
pub struct HistoryEntry<'a> {
    /// The ids of messages that were not in the previous checkpoint, in order; `None` if unknown. A message without an
    /// id is `null`.
    #[serde(default, borrow)]
    pub new_messages: Option<Vec<Option<Cow<'a, str>>>>,
}

/// Appends a comma, unless the next field is the first of its object.
fn push_comma(text: &mut String) {
    if !text.ends_with('{') {
        text.push(',');
    }
}

/// Returns an object with one field omitted, or with the field `last` moved to the end. `None` if it is not an object.
fn without(json: &str, omitted: &str, last: Option<&str>) -> Option<String> {
    let fields = object_fields(json).ok()?;
    let mut text = String::with_capacity(json.len());
    text.push('{');
    let is_last = |name: &str| Some(name) == last;
    let kept = fields
        .iter()
        .filter(|(name, _)| name != omitted && !is_last(name));
    for (name, value) in kept.chain(fields.iter().filter(|(name, _)| is_last(name))) {
        push_comma(&mut text);
        let _ = write!(
            text,
            "{}:{}",
            serde_json::to_string(name).ok()?,
            value.get()
        );
    }
    text.push('}');
    Some(text)
}

/// Removes values and results from the history. Each entry repeats all values, so a hundred checkpoints of a 50 MB
/// state would take 5 GB. Only the messages that each checkpoint added are needed.
fn compact_history(json: &str) -> String {
    let entries: Vec<&RawValue> = json::from_str(json).unwrap_or_default();
    let messages = |entry: &[(String, &RawValue)]| -> Option<Vec<Option<String>>> {
        let values = entry
            .iter()
            .find(|(name, _)| name == "values")
            .map(|(_, raw)| raw.get())?;
        let list = StateMessages::read(values)?.list;
        let id = |raw: &&RawValue| {
            json::from_str::<MessageId<'_>>(raw.get())
                .ok()?
                .id
                .map(Cow::into_owned)
        };
        Some(list.iter().map(id).collect())
    };
    let entries: Vec<Vec<(String, &RawValue)>> = entries
        .into_iter()
        .filter_map(|raw| object_fields(raw.get()).ok())
        .collect();
    let message_ids: Vec<Option<Vec<Option<String>>>> =
        entries.iter().map(|entry| messages(entry)).collect();
    let links: Vec<Links> = entries.iter().map(|entry| Links::of(entry)).collect();
    let mut text = String::from("[");
    for (i, entry) in entries.iter().enumerate() {
        text.push_str(if i > 0 { ",{" } else { "{" });
        for (name, value) in entry.iter().filter(|(name, _)| name != "values") {
            push_comma(&mut text);
            let value = match &**name {
                "tasks" => Cow::Owned(compact_tasks(value.get())),
                "metadata" => compact_metadata(value.get()).map_or(value.get().into(), Cow::Owned),
                _ => value.get().into(),
            };
            let _ = write!(
                text,
                "{}:{value}",
                serde_json::to_string(name).unwrap_or_default()
            );
        }
        let is_first = entry
            .iter()
            .any(|(name, raw)| name == "parent_checkpoint" && raw.get() == "null");
        // With several branches, the next entry need not be the checkpoint before this one.
        let parent = match &links[i] {
            Links {
                id: Some(_),
                parent,
            } => parent
                .as_ref()
                .and_then(|id| links.iter().position(|of| of.id.as_ref() == Some(id))),
            Links { id: None, .. } => Some(i + 1),
        };
        let before = match parent.and_then(|parent| message_ids.get(parent)) {
            Some(before) => Some(before.as_deref().unwrap_or_default()),
            None => is_first.then_some(&[][..]),
        };
        if let (Some(now), Some(before)) = (message_ids[i].as_deref(), before) {
            push_comma(&mut text);
            let added = serde_json::to_string(&added(now, before)).unwrap_or_default();
            let _ = write!(text, "\"new_messages\":{added}");
        }
        text.push('}');
    }
    text.push(']');
    text
}

/// The ids of a checkpoint and of the one before it.
#[derive(Debug, Default)]
struct Links {
    id: Option<String>,
    parent: Option<String>,
}

impl Links {
    fn of(entry: &[(String, &RawValue)]) -> Links {
        #[derive(Deserialize)]
        struct Nested {
            checkpoint_id: String,
        }
        let field = |wanted: &str| {
            entry
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, raw)| raw.get())
        };
        let nested = |name: &str| {
            json::from_str::<Nested>(field(name)?)
                .ok()
                .map(|of| of.checkpoint_id)
        };
        let plain = |name: &str| json::from_str::<String>(field(name)?).ok();
        Links {
            id: nested("checkpoint").or_else(|| plain("checkpoint_id")),
            parent: nested("parent_checkpoint").or_else(|| plain("parent_checkpoint_id")),
        }
    }
}

/// Returns the messages added since the previous checkpoint. Messages without an id are only counted.
fn added<'m>(now: &'m [Option<String>], before: &[Option<String>]) -> Vec<Option<&'m str>> {
    let known: HashSet<&str> = before.iter().flatten().map(String::as_str).collect();
    let mut unnamed = before.iter().filter(|id| id.is_none()).count();
    let is_new = |id: &&Option<String>| match id {
        Some(id) => !known.contains(id.as_str()),
        None => {
            let is_old = unnamed > 0;
            unnamed = unnamed.saturating_sub(1);
            !is_old
        }
    };
    now.iter().filter(is_new).map(|id| id.as_deref()).collect()
}

/// Returns the tasks of a checkpoint with `{}` in place of their results.
fn compact_tasks(json: &str) -> String {
    let tasks: Vec<&RawValue> = json::from_str(json).unwrap_or_default();
    let mut text = String::from("[");
    for (i, task) in tasks.iter().enumerate() {
        text.push_str(if i > 0 { "," } else { "" });
        let Ok(fields) = object_fields(task.get()) else {
            text.push_str("null");
            continue;
        };
        text.push('{');
        for (name, value) in fields.iter().filter(|(name, _)| name != "state") {
            push_comma(&mut text);
            let value = if name == "result" && value.get() != "null" {
                "{}"
            } else {
                value.get()
            };
            let _ = write!(
                text,
                "{}:{value}",
                serde_json::to_string(name).unwrap_or_default()
            );
        }
        text.push('}');
    }
    text.push(']');
    text
}

/// Returns the metadata of a checkpoint with `{}` in place of what each node wrote, which older servers repeat there. `None` if
/// nothing changes.
fn compact_metadata(json: &str) -> Option<String> {
    let fields = object_fields(json).ok()?;
    let nodes = object_fields(fields.iter().find(|(name, _)| name == "writes")?.1.get()).ok()?;
    let mut text = String::from("{");
    for (name, value) in &fields {
        push_comma(&mut text);
        let _ = write!(text, "{}:", serde_json::to_string(name).ok()?);
        if name != "writes" {
            text.push_str(value.get());
            continue;
        }
        text.push('{');
        for (node, _) in &nodes {
            push_comma(&mut text);
            let _ = write!(text, "{}:{{}}", serde_json::to_string(node).ok()?);
        }
        text.push('}');
    }
    text.push('}');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn snapshot(parts: &[(Part, Value)]) -> Value {
        let parts = parts
            .iter()
            .map(|(part, json)| (*part, Loaded::Json(json.to_string().into())))
            .collect();
        let event = ThreadSnapshot {
            at: Timestamp::UNIX_EPOCH,
            parts,
        }
        .into_event(Seq(7));
        assert_eq!(
            (event.seq, event.is_snapshot(), &*event.name),
            (Seq(7), true, "snapshot")
        );
        serde_json::from_str(event.data.text()).unwrap()
    }

    #[test]
    fn values_are_stored_once_and_last() {
        let state = json!({"values": {"a": 1}, "next": [], "tasks": []});
        let thread = json!({"thread_id": "t", "values": {"a": 1}, "status": "idle"});
        let parts = [
            (Part::Thread, thread.clone()),
            (Part::State, state),
            (Part::Runs, json!([])),
        ];
        let text = snapshot(&parts).to_string();
        let wanted = r#"{"thread":{"thread_id":"t","status":"idle"},"runs":[],"state":{"next":[],"tasks":[],"values":{"a":1}}}"#;
        assert_eq!(text, wanted);
        // Without a state, the thread's own values are kept.
        assert_eq!(snapshot(&parts[..1])["thread"], thread);
    }

    #[test]
    fn history_entries_list_added_messages() {
        let message = |id: &str| json!({"id": id, "content": "x".repeat(1000)});
        let entry = |messages: Vec<Value>, parent: Value| {
            json!({"values": {"messages": messages}, "created_at": "2026-11-22T03:00:00Z", "parent_checkpoint": parent,
                   "tasks": [{"id": "1", "name": "chat", "result": {"messages": ["long"]}, "state": {"x": 1}}, 3],
                   "metadata": {"step": 1, "writes": {"chat": {"messages": ["long"]}}, "source": "loop"}})
        };
        let some = json!({"checkpoint_id": "c"});
        let history = json!([
            entry(
                vec![
                    message("a"),
                    message("b"),
                    json!({"content": "no id"}),
                    message("c")
                ],
                some.clone()
            ),
            entry(
                vec![message("a"), message("b"), json!({"content": "no id"})],
                some
            ),
            entry(vec![message("a")], Value::Null),
        ]);
        let kept = snapshot(&[(Part::History, history.clone())]);
        let kept = kept["history"].as_array().unwrap();
        let added: Vec<&Value> = kept.iter().map(|entry| &entry["new_messages"]).collect();
        assert_eq!(added, [&json!(["c"]), &json!(["b", null]), &json!(["a"])]);
        assert!(kept.iter().all(|entry| entry.get("values").is_none()));
        assert_eq!(
            kept[0]["tasks"],
            json!([{"id": "1", "name": "chat", "result": {}}, null])
        );
        assert_eq!(
            kept[0]["metadata"],
            json!({"step": 1, "writes": {"chat": {}}, "source": "loop"})
        );
        // If the history is partial, it's unknown what the oldest checkpoint added.
        let part = snapshot(&[(Part::History, json!([history[1]]))]);
        assert!(part["history"][0].get("new_messages").is_none());
    }

    #[test]
    fn recorded_snapshots_have_no_number() {
        let part = |json: &str| Loaded::Json(json.into());
        let parts = [
            (Part::Thread, part(r#"{"status":"idle"}"#)),
            (
                Part::State,
                part("{\n\"values\":{\"a\":[1.50]},\"next\":[]}"),
            ),
            (Part::History, Loaded::Failed("500".into())),
        ];
        let event = ThreadSnapshot {
            at: Timestamp::UNIX_EPOCH,
            parts: parts.into(),
        }
        .into_event(Seq(3));
        let mut line = Vec::new();
        crate::write_record(&mut line, &crate::Record::Event(event.clone())).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(
            line,
            "{\"kind\":\"snapshot\",\"at\":\"1970-01-01T00:00:00.000000Z\",\"thread\":{\"status\":\"idle\"},\
             \"state\":{\"next\":[],\"values\":{\"a\":[1.50]}},\"runs\":null,\"missing\":{\"history\":\"500\"}}\n"
        );
        let read = crate::LineParser::default().parse(&line).unwrap();
        assert_eq!(
            read,
            Some(crate::Record::Event(Event {
                seq: Seq::START,
                ..event
            }))
        );
        // Written by other tools, or by hand.
        let unusual = r#"{"kind":"snapshot","thread":null,"state":[],"novel":1}"#;
        let read = crate::LineParser::default().parse(unusual).unwrap();
        let Some(crate::Record::Event(event)) = read else {
            panic!()
        };
        assert_eq!(
            (&**event.data.text(), event.is_snapshot()),
            (r#"{"state":[]}"#, true)
        );
    }

    #[test]
    fn missing_parts_have_a_reason() {
        let parts = [
            (Part::State, Loaded::Failed("403 Forbidden".into())),
            (Part::History, Loaded::NotOffered),
        ];
        let event = ThreadSnapshot {
            at: Timestamp::UNIX_EPOCH,
            parts: parts.into(),
        }
        .into_event(Seq(1));
        let fields = SnapshotFields::read(event.data.text()).unwrap();
        assert_eq!(
            fields.missing(),
            [
                (Part::State, Some("403 Forbidden".into())),
                (Part::History, None)
            ]
        );
        assert!(fields.thread.is_none() && fields.state.is_none());
        // Anything a server sends in place of JSON objects is harmless.
        let unusual = snapshot(&[
            (Part::State, json!([1])),
            (Part::History, json!({"a": 1})),
            (Part::Thread, json!("x")),
        ]);
        assert_eq!(unusual, json!({"thread": "x", "history": [], "state": [1]}));
    }
}
