//! The state after each step, and which of its keys changed since the previous state. States come from `values` and
//! `state_update` events, or from checkpoints if there are none.

use super::rows::{Rows, Weigh, namespace_weight};
use crate::protocol::Payload;
use crate::{Event, Interner, Namespace, Seq};
use jiff::Timestamp;
use runtail_core::json::{self, Fields, Peek};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of namespaces whose last state is kept. Each task of a subgraph has its own namespace.
const MAX_NAMESPACES: usize = 256;
/// Maximum total size in bytes of the events that contain these states. The newest state is always kept. The event log
/// may already have evicted its events.
const MAX_REMEMBERED: usize = 64 << 20;
/// Maximum number of keys compared per state. Larger states are mostly data stored under generated keys, and comparing
/// a million of them would cost far more than processing the event.
const MAX_KEYS: usize = 256;
/// Maximum size of a value in bytes that is parsed to compare it.
const MAX_PARSED: usize = 8 << 20;

/// The state after one event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The event that contains it.
    pub seq: Seq,
    /// When it was sent or written, if known.
    pub at: Option<Timestamp>,
    /// The namespace of its graph.
    pub ns: Namespace,
    /// Size of its JSON in bytes.
    pub size: usize,
    /// Byte offset of its JSON in the event's text.
    pub from: usize,
    pub source: StateSource,
    /// Number of the previous state in the same namespace, counting evicted ones.
    pub before: Option<u64>,
    /// Its keys in the server's order, up to the limit.
    pub keys: Vec<KeyState>,
    /// Keys of the previous state that it no longer has.
    pub removed: Vec<Arc<str>>,
    /// Number of interrupts that it contains.
    pub interrupts: usize,
}

/// The source of a state, the least reliable first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateSource {
    #[default]
    Debug,
    /// The mode `checkpoints`.
    Checkpoint,
    /// The mode `values`.
    Values,
    /// A manual state edit.
    Update,
    /// The thread's state, loaded from the server.
    Server,
}

impl StateSource {
    /// Returns its label, if it should be shown.
    pub fn word(self) -> Option<&'static str> {
        match self {
            StateSource::Debug => Some("debug checkpoint"),
            StateSource::Checkpoint => Some("checkpoint"),
            StateSource::Update => Some("state update"),
            StateSource::Server => Some("from the server's state"),
            StateSource::Values => None,
        }
    }
}

/// One key of a state.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyState {
    pub name: Arc<str>,
    /// Size of its value's JSON in bytes.
    pub size: usize,
    /// Whether its value differs from the previous state in the same namespace. In a first state every key has changed.
    pub changed: bool,
}

impl Weigh for Snapshot {
    const MAX_ROWS: usize = 20_000;

    fn weight(&self) -> usize {
        let keys = self
            .keys
            .iter()
            .map(|key| size_of::<KeyState>() + key.name.len());
        let removed = self
            .removed
            .iter()
            .map(|name| size_of::<Arc<str>>() + name.len());
        size_of::<Snapshot>()
            + namespace_weight(&self.ns)
            + keys.sum::<usize>()
            + removed.sum::<usize>()
    }
}

/// The last state of a namespace.
#[derive(Debug, Clone)]
struct LastState {
    /// The text of its event.
    text: Arc<str>,
    /// Its keys, each with the start and end of its value in the text.
    keys: Vec<(Arc<str>, usize, usize)>,
    seq: Seq,
    /// Number of its row, counting evicted ones.
    number: u64,
}

/// The states of an event log.
#[derive(Debug, Clone, Default)]
pub struct Values {
    pub(super) rows: Rows<Snapshot>,
    last: HashMap<Namespace, LastState>,
    names: Interner,
    /// The best source of states seen in this run.
    best: StateSource,
    /// If the newest row is the server's state: the last state before it, if there was one.
    before_server: Option<Option<LastState>>,
}

/// Returns the state that an event contains, and how it was reported.
fn state<'a>(payload: &Payload<'a>) -> Option<(&'a str, StateSource)> {
    let source = match payload.name {
        "values" => return Some((payload.json?, StateSource::Values)),
        "state_update" => StateSource::Update,
        "checkpoints" => StateSource::Checkpoint,
        "debug" => StateSource::Debug,
        _ => return None,
    };
    Some((payload.checkpoint()?.values?.text(), source))
}

impl Values {
    /// Returns the states in the order of their events.
    pub fn rows(&self) -> &Rows<Snapshot> {
        &self.rows
    }

    /// Returns the memory size in bytes of the states that newer ones are compared with. The event log may have evicted
    /// their events.
    pub(super) fn remembered(&self) -> usize {
        self.last.values().map(LastState::weight).sum()
    }

    /// Returns the state that an event contains.
    pub fn at(&self, seq: Seq) -> Option<&Snapshot> {
        self.rows
            .binary_search_by_key(&seq, |row| row.seq)
            .ok()
            .map(|i| &self.rows[i])
    }

    /// Returns the newest state of the graph itself at or before an event.
    pub fn as_of(&self, seq: Seq) -> Option<&Snapshot> {
        let end = self.rows.partition_point(|row| row.seq <= seq);
        self.rows[..end].iter().rev().find(|row| row.ns.is_empty())
    }

    /// Returns the keys with a value other than null in the newest state of the graph itself; `None` if there is no such state, or
    /// it has too many keys to know all of them.
    pub fn keys_with_value(&self) -> Option<Vec<Arc<str>>> {
        let last = self
            .last
            .get(&Namespace::default())
            .filter(|last| last.keys.len() < MAX_KEYS)?;
        let has_value =
            |from: usize, to: usize| last.text.get(from..to).is_some_and(|value| value != "null");
        Some(
            last.keys
                .iter()
                .filter(|(_, from, to)| has_value(*from, *to))
                .map(|(name, ..)| name.clone())
                .collect(),
        )
    }

    pub(super) fn apply(&mut self, payload: &Payload<'_>) {
        // Another run may have other modes.
        if payload.name == "metadata" {
            self.best = StateSource::Debug;
        }
        let Some(((state, source), whole)) = state(payload).zip(payload.event.data.json()) else {
            return;
        };
        // Don't repeat a state from a less reliable mode.
        if source < self.best {
            return;
        }
        if source != StateSource::Update {
            self.best = source;
        }
        // A replayed state is older than the loaded one, so remove the loaded one. A later snapshot adds it again.
        if payload.event.replayed
            && let Some(before) = self.before_server.take()
        {
            self.rows.pop();
            match before {
                Some(before) => drop(self.last.insert(Namespace::default(), before)),
                None => drop(self.last.remove(&Namespace::default())),
            }
        }
        let row = Snapshot {
            seq: payload.event.seq,
            at: payload.event.time(),
            ns: payload.ns.clone(),
            source,
            interrupts: payload.interrupts.map_or(0, |list| list.items().count()),
            ..Snapshot::default()
        };
        let read;
        let fields = match source {
            StateSource::Values => payload.fields(),
            _ => {
                read = Peek::of(state).object();
                read.as_ref()
            }
        };
        self.push_state((state, fields), whole, row);
    }

    /// Applies the server's state, if it differs from the newest known one.
    pub(super) fn apply_snapshot(
        &mut self,
        event: &Event,
        state: &str,
        written: Option<Timestamp>,
    ) {
        if let Some(whole) = event.data.json() {
            let row = Snapshot {
                seq: event.seq,
                at: written,
                source: StateSource::Server,
                ..Snapshot::default()
            };
            let before = self.last.get(&row.ns).cloned();
            let last = self.rows.last().map(|row| row.seq);
            let fields = Peek::of(state).object();
            self.push_state((state, fields.as_ref()), whole, row);
            if self.rows.last().map(|row| row.seq) != last {
                self.before_server = Some(before);
            }
        }
    }

    /// Adds a state, unless it is the server's and has not changed.
    fn push_state(
        &mut self,
        (state, fields): (&str, Option<&Fields<'_>>),
        whole: &Arc<str>,
        mut row: Snapshot,
    ) {
        let (source, ns) = (row.source, row.ns.clone());
        if source != StateSource::Server {
            self.before_server = None;
        }
        let before = self.last.get(&ns);
        // A state that is not an object has no keys but still counts.
        let fields = fields.map(|fields| fields.0.as_slice()).unwrap_or_default();
        let (mut keys, mut ranges) = (Vec::new(), Vec::new());
        for (name, value) in fields {
            let text = value.text();
            if name == "__interrupt__" {
                row.interrupts += value.items().count().max(1);
                continue;
            }
            if keys.len() >= MAX_KEYS {
                continue;
            }
            let known = before.and_then(|b| {
                b.range_of(name, ranges.len())
                    .map(|(from, to)| &b.text[from..to])
            });
            let name = self.names.get(name);
            let from = offset(whole, text);
            ranges.push((name.clone(), from, from + text.len()));
            // The server writes some values of a state differently than in its stream.
            let is_same = |known: &str| {
                known == text || source == StateSource::Server && means_same(known, text)
            };
            keys.push(KeyState {
                name,
                size: text.len(),
                changed: !known.is_some_and(is_same),
            });
        }
        // JavaScript and Aegra report an interrupt in a state without other keys. Later states are not compared with it.
        let is_interrupt_only = keys.is_empty() && row.interrupts > 0;
        let removed: Vec<Arc<str>> = match before {
            // Beyond the limit it is unknown which keys were removed.
            Some(before)
                if keys.len() < MAX_KEYS && !is_interrupt_only && !before.has_names_of(&ranges) =>
            {
                let missing = before
                    .keys
                    .iter()
                    .filter(|(name, ..)| !keys.iter().any(|k| k.name == *name));
                missing.map(|(name, ..)| name.clone()).collect()
            }
            _ => Vec::new(),
        };
        let is_unchanged =
            before.is_some() && removed.is_empty() && !keys.iter().any(|key| key.changed);
        if source == StateSource::Server && is_unchanged {
            return;
        }
        let number = self.rows.evicted() + self.rows.len() as u64;
        let before = before.map(|before| before.number);
        if !is_interrupt_only {
            self.make_room(&ns, whole.len());
            let last = LastState {
                text: whole.clone(),
                keys: ranges,
                seq: row.seq,
                number,
            };
            self.last.insert(ns, last);
        }
        self.rows.push(Snapshot {
            size: state.len(),
            from: offset(whole, state),
            before,
            keys,
            removed,
            ..row
        });
    }

    /// Makes room for a state in an event of this many bytes by dropping the oldest states.
    fn make_room(&mut self, ns: &Namespace, bytes: usize) {
        self.last.remove(ns);
        let mut total: usize = bytes + self.remembered();
        while self.last.len() >= MAX_NAMESPACES || total > MAX_REMEMBERED {
            let oldest = self
                .last
                .iter()
                .min_by_key(|(_, last)| last.seq)
                .map(|(ns, _)| ns.clone());
            let Some(dropped) = oldest.and_then(|ns| self.last.remove(&ns)) else {
                return;
            };
            total -= dropped.weight();
        }
    }
}

/// Returns whether two values mean the same: their keys may have another order, and missing, null and empty arguments of a
/// message are equal, also where they moved to its `additional_kwargs`.
fn means_same(a: &str, b: &str) -> bool {
    let read = |text: &str| {
        let mut value = json::from_str::<Value>(text)
            .ok()
            .filter(|_| text.len() <= MAX_PARSED)?;
        normalize(&mut value);
        Some(value)
    };
    read(a).is_some_and(|a| Some(a) == read(b))
}

fn normalize(value: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Array(items) => items.iter_mut().for_each(normalize),
        Value::Object(fields) => {
            if let Some(Value::Object(moved)) = fields.get_mut("additional_kwargs").map(Value::take)
            {
                for (name, moved) in moved {
                    let field = fields.entry(name).or_insert(Value::Null);
                    if is_empty(field) {
                        *field = moved;
                    }
                }
                fields.retain(|_, field| !is_empty(field));
            }
            fields.values_mut().for_each(normalize);
        }
        _ => {}
    }
}

/// Returns the byte offset of a part in the text that it is borrowed from.
fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

impl LastState {
    fn weight(&self) -> usize {
        let keys = self
            .keys
            .iter()
            .map(|(name, ..)| size_of::<(Arc<str>, usize, usize)>() + name.len());
        self.text.len() + keys.sum::<usize>()
    }

    fn has_names_of(&self, keys: &[(Arc<str>, usize, usize)]) -> bool {
        self.keys.len() == keys.len() && self.keys.iter().zip(keys).all(|(a, b)| a.0 == b.0)
    }

    /// Returns the byte range of a key's value. Tries the position `hint` first, because keys rarely change their
    /// order.
    fn range_of(&self, name: &str, hint: usize) -> Option<(usize, usize)> {
        let matches = |key: &&(Arc<str>, usize, usize)| *key.0 == *name;
        let key = self
            .keys
            .get(hint)
            .filter(matches)
            .or_else(|| self.keys.iter().find(matches))?;
        Some((key.1, key.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Script, event};

    #[test]
    fn values_that_mean_the_same_are_equal() {
        let streamed = r#"[{"id":"1","content":"hi","usage_metadata":{"input_tokens":1},"additional_kwargs":{},"name":null}]"#;
        let stored = r#"[{"content":"hi","id":"1","usage_metadata":null,"additional_kwargs":{"usage_metadata":{"input_tokens":1},"invalid_tool_calls":[]}}]"#;
        assert!(means_same(streamed, stored));
        for (a, b) in [
            (streamed, "[]"),
            (r#"{"a":null}"#, "{}"),
            (r#"[{"a":[]}]"#, "[{}]"),
            ("1", "2"),
        ] {
            assert!(!means_same(a, b), "{a} {b}");
        }
    }

    fn applied(events: &str) -> Values {
        Script::of(events).projections.values
    }

    #[test]
    fn states_are_compared_within_their_namespace() {
        let values = applied(
            r#"0 values {"a":1,"b":[1, 2]}
               0 values|sub:1 {"a":9}
               0 values {"b":[1, 2],"c":{"x":1}}
               0 values {"__interrupt__":[{"id":"1"},{"id":"2"}]}
               0 values {"b":[1, 2],"c":{"x":2}}"#,
        );
        let changed = |row: &Snapshot| -> String {
            let keys = row.keys.iter().filter(|k| k.changed);
            let keys = keys.map(|k| format!("{}:{}", k.name, k.size));
            keys.collect::<Vec<_>>().join(" ")
        };
        let rows = values.rows();
        let changes: Vec<String> = rows.iter().map(changed).collect();
        assert_eq!(changes, ["a:1 b:6", "a:1", "c:7", "", "c:7"]);
        assert_eq!(*rows[2].removed, ["a".into()]);
        assert_eq!((rows[3].interrupts, rows[3].keys.len()), (2, 0));
        assert_eq!(values.as_of(Seq(2)).unwrap().seq, Seq(1));
    }

    #[test]
    fn keys_without_a_value_are_not_in_the_state() {
        assert_eq!(Values::default().keys_with_value(), None);
        let values = applied(
            r#"0 values {"to":"ann","cc":null}
               0 values|sub:1 {"body":"x"}"#,
        );
        assert_eq!(values.keys_with_value(), Some(vec!["to".into()]));
    }

    #[test]
    fn states_that_are_not_objects_count() {
        let values = applied(
            r#"0 values "a"
               0 values null
               0 values [1]
               0 values {"a":1}
               0 values 7"#,
        );
        let rows = values.rows().iter();
        let rows = rows.map(|row| (row.size, row.keys.len(), row.removed.len()));
        assert!(rows.eq([(3, 0, 0), (4, 0, 0), (3, 0, 0), (7, 1, 0), (1, 0, 1)]));
    }

    #[test]
    fn states_refer_to_the_previous_state_and_to_their_text() {
        let update = r#"{"state":{"values":{"a":2},"next":[]},"thread_id":"t"}"#;
        let values = applied(&format!(
            r#"0 values {{"a":1}}
               0 values|sub:1 {{"a":9}}
               0 values {{"__interrupt__":[{{"id":"1"}}]}}
               0 state_update {update}"#
        ));
        let before: Vec<Option<u64>> = values.rows().iter().map(|row| row.before).collect();
        let why = "states are not compared with a state that has only an interrupt";
        assert_eq!(before, [None, None, Some(0), Some(0)], "{why}");
        let last = &values.rows()[3];
        assert_eq!(&update[last.from..last.from + last.size], r#"{"a":2}"#);
        assert_eq!(last.source, StateSource::Update);
    }

    #[test]
    fn checkpoints_are_used_as_states_if_there_is_no_better_source() {
        let values = applied(
            r#"0 debug {"step":0,"type":"checkpoint","payload":{"config":{},"values":{"a":1},"next":[]}}
               0 debug {"step":0,"type":"task","payload":{"values":{}}}
               0 checkpoints {"config":{},"values":{"a":1},"next":[]}
               0 debug {"step":0,"type":"checkpoint","payload":{"config":{},"values":{"a":1},"next":[]}}
               0 checkpoints {"id":"1","parent_id":null,"step":1}
               0 values {"a":1}
               0 checkpoints {"config":{},"values":{"a":1},"next":[]}
               0 checkpoints|sub:1 {"config":{},"values":{"a":1},"next":[]}
               0 metadata {"run_id":"2"}
               0 checkpoints {"config":{},"values":{"a":1},"next":[]}"#,
        );
        let rows = values.rows().iter();
        let sources: Vec<(u64, StateSource)> = rows.map(|row| (row.seq.0, row.source)).collect();
        let checkpoint = StateSource::Checkpoint;
        let expected = [
            (1, StateSource::Debug),
            (3, checkpoint),
            (6, StateSource::Values),
            (10, checkpoint),
        ];
        assert_eq!(sources, expected, "the next run may have other modes");
    }

    fn apply(values: &mut Values, seq: u64, ns: &str, data: &str) {
        values.apply(&Payload::of(&event(seq, &format!("values{ns}"), data)));
    }

    #[test]
    fn namespaces_are_bounded() {
        let mut values = Values::default();
        for i in 0..1000 {
            apply(&mut values, i, &format!("|sub:{i}"), "{}");
        }
        assert_eq!(values.last.len(), MAX_NAMESPACES);
        // Large states are dropped sooner; the newest one is always kept.
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_REMEMBERED / 4));
        for i in 1000..1010 {
            apply(&mut values, i, &format!("|sub:{i}"), &large);
        }
        assert_eq!(values.last.len(), 3);
        let larger = format!("[{}1]", "1,".repeat(MAX_REMEMBERED));
        apply(&mut values, 1010, "", &larger);
        assert_eq!(values.last.len(), 1);
    }

    #[test]
    fn a_state_with_a_million_keys_is_processed_quickly() {
        let keys: Vec<String> = (0..100_000).map(|i| format!("\"k{i}\":{i}")).collect();
        let keys = keys.join(",");
        let mut values = Values::default();
        apply(&mut values, 1, "", &format!("{{{keys}}}"));
        // Every key has moved: a linear search for each of them would take minutes.
        let moved = format!(r#"{{"new":1,{keys},"__interrupt__":[{{"id":"1"}}]}}"#);
        apply(&mut values, 2, "", &moved);
        let row = &values.rows()[1];
        let counts = (row.keys.len(), row.removed.len(), row.interrupts);
        assert_eq!(counts, (MAX_KEYS, 0, 1));
        let changed = row.keys.iter().filter(|key| key.changed);
        assert!(changed.map(|key| &*key.name).eq(["new"]));
    }
}
