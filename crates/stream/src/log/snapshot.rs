//! Snapshots of a thread, which a thread page loads in addition to its stream: record, state, history and runs.
//!
//! Streams replay only recent, resumable runs and never an error, so they don't show a thread's status, earlier
//! messages or their times. A snapshot does. It is an entry of the event log like any event, so views, time travel,
//! exports and recordings include it without special handling.

use crate::protocol::StateMessages;
use crate::{Data, Event, Seq};
use jiff::Timestamp;
use runtail_core::json::{self, Fields, Peek};
use runtail_core::model::change_summary;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

/// The connection number of loaded entries. Those of streams count from 1.
pub const LOADED: u32 = 0;
/// The name of snapshot entries, and their kind in recordings.
pub const SNAPSHOT: &str = "snapshot";

/// Maximum bytes of a task's result in the history of a snapshot.
const MAX_RESULT: usize = 1 << 10;

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
        let mut fields: Vec<(&str, Cow<'_, str>)> = Vec::new();
        let mut missing: Vec<(&str, Cow<'_, str>)> = Vec::new();
        for part in [Part::Thread, Part::Runs, Part::History, Part::State] {
            match self.parts.get(&part) {
                None => {}
                Some(Loaded::NotOffered) => missing.push((part.word(), "null".into())),
                Some(Loaded::Failed(why)) => {
                    missing.push((part.word(), Value::from(&**why).to_string().into()));
                }
                Some(Loaded::Json(json)) => {
                    let object = || Fields::read(json).ok();
                    let json = match part {
                        Part::Thread if has_state => object().map(|thread| without_values(&thread)),
                        Part::State => object().map(|state| match state.get("values") {
                            Some(values) => state.with("values", values).to_string(),
                            None => state.to_string(),
                        }),
                        Part::History => Some(compact_history(json)),
                        Part::Thread | Part::Runs => None,
                    }
                    .map_or(Cow::Borrowed(&**json), Cow::Owned);
                    fields.push((part.word(), json));
                }
            }
        }
        if !missing.is_empty() {
            fields.push(("missing", object(missing).into()));
        }
        entry(seq, self.at, object(fields))
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
#[serde(default, bound(deserialize = "'de: 'a"))]
pub struct SnapshotFields<'a> {
    /// The thread's record.
    pub thread: Option<Peek<'a>>,
    /// Its state, values last.
    pub state: Option<Peek<'a>>,
    /// Its history, newest first: each entry without its values, with the ids of its `new_messages` and with what
    /// no task tells of it (`changed`), if they are known.
    pub history: Option<Peek<'a>>,
    /// Its runs in the server's order.
    pub runs: Option<Peek<'a>>,
    /// Parts that could not be loaded: `null` if the server doesn't have the endpoint, else the reason.
    pub(crate) missing: Option<Peek<'a>>,
}

impl<'a> SnapshotFields<'a> {
    /// Parses an entry's data.
    pub fn read(json: &'a str) -> Option<SnapshotFields<'a>> {
        json::from_str(json).ok()
    }

    /// Returns the parts that could not be loaded, each with the reason; `None` if the server doesn't have the
    /// endpoint.
    pub fn missing(&self) -> Vec<(Part, Option<String>)> {
        let mut missing: BTreeMap<String, Option<String>> =
            self.missing.and_then(Peek::read).unwrap_or_default();
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
        let fields = parts.into_iter();
        let fields = fields.filter_map(|(name, raw)| Some((name, raw?.text().into())));
        entry(Seq::START, at, object(fields))
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
        out.write_all(json::one_line(raw.map_or("null", Peek::text)).as_bytes())?;
    }
    for (name, raw) in [("history", fields.history), ("missing", fields.missing)] {
        if let Some(raw) = raw {
            write!(out, ",\"{name}\":")?;
            out.write_all(json::one_line(raw.text()).as_bytes())?;
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

/// Returns a JSON object of these fields, whose values are JSON.
fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Cow<'a, str>)>) -> String {
    let mut text = String::from("{");
    for (name, json) in fields {
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}\"{name}\":{json}");
    }
    text + "}"
}

fn without_values(fields: &Fields<'_>) -> String {
    fields.rewritten(|name, value| (name != "values").then(|| value.text().into()))
}

/// Removes values and large results from the history. Each entry repeats all values, so a hundred checkpoints of a 50 MB
/// state would take 5 GB. Only the messages that each checkpoint added are needed.
fn compact_history(json: &str) -> String {
    let entries: Vec<Peek<'_>> = json::from_str(json).unwrap_or_default();
    let entries: Vec<Fields<'_>> = entries.into_iter().filter_map(Peek::object).collect();
    let messages = |entry: &Fields<'_>| -> Option<Vec<Option<String>>> {
        let list = StateMessages::of(&entry.get("values")?.object()?)?.list;
        let id = |message: Peek<'_>| message.get("id")?.string().map(Cow::into_owned);
        Some(list.into_iter().map(id).collect())
    };
    let count = |entry: &Fields<'_>| entry.items("tasks").count();
    let tasks: Vec<usize> = entries.iter().map(count).collect();
    let values: Vec<Option<Peek<'_>>> = entries.iter().map(|entry| entry.get("values")).collect();
    let message_ids: Vec<Option<Vec<Option<String>>>> = entries.iter().map(messages).collect();
    let id = |entry: &Fields<'_>, place: &str| {
        let nested = entry.inner(place).text("checkpoint_id");
        nested.or_else(|| entry.text(&format!("{place}_id")))
    };
    let links: Vec<_> = entries
        .iter()
        .map(|entry| (id(entry, "checkpoint"), id(entry, "parent_checkpoint")))
        .collect();
    let mut kept = Vec::with_capacity(entries.len());
    for (i, entry) in entries.into_iter().enumerate() {
        let is_first =
            |(name, raw): &(Cow<'_, str>, Peek<'_>)| name == "parent_checkpoint" && raw.is_null();
        let is_first = entry.0.iter().any(is_first);
        // With several branches, the next entry need not be the checkpoint before this one.
        let parent = match &links[i] {
            (Some(_), parent) => parent
                .as_ref()
                .and_then(|id| links.iter().position(|of| of.0.as_ref() == Some(id))),
            (None, _) => Some(i + 1),
        };
        let before = match parent.and_then(|parent| message_ids.get(parent)) {
            Some(before) => Some(before.as_deref().unwrap_or_default()),
            None => is_first.then_some(&[][..]),
        };
        let added = message_ids[i]
            .as_deref()
            .zip(before)
            .map(|(now, before)| serde_json::to_string(&added(now, before)).unwrap_or_default());
        let source = entry.inner("metadata").text("source");
        let is_untold = match source.as_deref() {
            Some("update") => true,
            Some("loop") => parent.is_some_and(|parent| tasks.get(parent) == Some(&0)),
            _ => false,
        };
        let values_before = parent.and_then(|parent| *values.get(parent)?);
        let changed = values_before
            .filter(|_| is_untold)
            .zip(values[i])
            .map(|(before, after)| change_summary(before.text(), after.text()))
            .filter(|changed| !changed.is_empty())
            .map(|changed| Value::from(changed).to_string());
        let added = added.as_deref().map(|added| ("new_messages", added));
        let changed = changed.as_deref().map(|changed| ("changed", changed));
        let with = added.into_iter().chain(changed);
        let entry = with.fold(entry, |entry, (name, json)| {
            entry.with(name, Peek::of(json))
        });
        kept.push(compact_entry(&entry));
    }
    format!("[{}]", kept.join(","))
}

/// Returns an entry of the history without values, and with `{}` in place of large results and of what each node wrote, which older
/// servers repeat in the metadata.
fn compact_entry(entry: &Fields<'_>) -> String {
    entry.rewritten(|name, value| match (name, value.object()) {
        ("values", _) => None,
        ("tasks", _) => {
            let tasks: Vec<String> = value.items().map(compact_task).collect();
            Some(format!("[{}]", tasks.join(",")).into())
        }
        ("metadata", Some(metadata)) if metadata.get("writes").is_some_and(Peek::is_object) => {
            let nodes = metadata.inner("writes").rewritten(|_, _| Some("{}".into()));
            Some(metadata.with("writes", Peek::of(&nodes)).to_string().into())
        }
        _ => Some(value.text().into()),
    })
}

fn compact_task(task: Peek<'_>) -> String {
    let compact = |task: Fields<'_>| {
        task.rewritten(|name, value| match name {
            "state" => None,
            "result" if value.text().len() > MAX_RESULT => Some("{}".into()),
            _ => Some(value.text().into()),
        })
    };
    task.object().map_or("null".into(), compact)
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
                   "tasks": [{"id": "1", "name": "chat", "result": {"messages": ["x".repeat(2000)]}, "state": {"x": 1}},
                             {"id": "2", "name": "short", "result": {"n": 1}}, 3],
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
            json!([{"id": "1", "name": "chat", "result": {}}, {"id": "2", "name": "short", "result": {"n": 1}}, null])
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
