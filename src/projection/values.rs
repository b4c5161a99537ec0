//! The state after each step, and which of its keys changed since the state before it.

use super::rows::Rows;
use super::wire::{Fields, Items, Payload};
use crate::stream::{Names, Namespace};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::Arc;

const MAX_SNAPSHOTS: usize = 20_000;
/// Namespaces whose last state is remembered: each task of a subgraph has one of its own.
const MAX_NAMESPACES: usize = 256;

/// The state at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The event that holds it.
    pub seq: u64,
    /// When it came.
    pub at: Timestamp,
    /// Whose state it is.
    pub ns: Namespace,
    /// Bytes of JSON.
    pub size: usize,
    /// Its keys, in the server's order.
    pub keys: Vec<KeyState>,
    /// Keys of the state before it that are gone.
    pub removed: Vec<Arc<str>>,
    /// Interrupts that it tells of.
    pub interrupts: usize,
}

/// One key of a state.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyState {
    /// Its name.
    pub name: Arc<str>,
    /// Bytes of JSON.
    pub size: usize,
    /// Whether it differs from the state before it, in the same namespace; everything in the first state is new.
    pub changed: bool,
}

/// Where in an event's text the values of a state are.
#[derive(Debug)]
struct Last {
    text: Arc<str>,
    keys: Vec<(Arc<str>, usize, usize)>,
    used: u64,
}

/// The states of a tape.
#[derive(Debug)]
pub struct Values {
    rows: Rows<Snapshot>,
    last: HashMap<Namespace, Last>,
    names: Names,
}

impl Default for Values {
    fn default() -> Self {
        Values { rows: Rows::new(MAX_SNAPSHOTS), last: HashMap::new(), names: Names::default() }
    }
}

#[derive(Deserialize)]
pub(super) struct StateUpdate<'a> {
    #[serde(borrow)]
    pub state: ThreadState<'a>,
}

#[derive(Deserialize)]
pub(super) struct ThreadState<'a> {
    #[serde(borrow)]
    pub values: &'a RawValue,
}

impl Values {
    /// The states in the order of their events.
    pub fn rows(&self) -> &Rows<Snapshot> {
        &self.rows
    }

    /// The state that an event carries.
    pub fn at(&self, seq: u64) -> Option<&Snapshot> {
        self.rows.binary_search_by_key(&seq, |row| row.seq).ok().map(|i| &self.rows[i])
    }

    /// The newest state of the graph itself at or before an event.
    pub fn as_of(&self, seq: u64) -> Option<&Snapshot> {
        let end = self.rows.partition_point(|row| row.seq <= seq);
        self.rows[..end].iter().rev().find(|row| row.ns.is_empty())
    }

    pub(super) fn apply(&mut self, payload: &Payload<'_>) {
        let state = match payload.name {
            "values" => payload.json,
            "state_update" => payload.read::<StateUpdate<'_>>().map(|u| u.state.values.get()),
            _ => None,
        };
        let (Some(state), Some(whole)) = (state, payload.event.data.json()) else { return };
        // A state may be a bare text, a list or null: such a one has no keys.
        let fields = Fields::read(state).map(|fields| fields.0).unwrap_or_default();
        let mut interrupts = payload.interrupts.map_or(0, |raw| Items::of(raw).len());
        let before = self.last.get(&payload.ns);
        let mut keys = Vec::with_capacity(fields.len());
        let mut places = Vec::with_capacity(fields.len());
        for (name, value) in &fields {
            let text = value.get();
            if name == "__interrupt__" {
                interrupts += Items::of(value).len().max(1);
                continue;
            }
            let known = before.and_then(|b| b.place(name, places.len()).map(|(from, to)| &b.text[from..to]));
            let name = self.names.get(name);
            // Borrowed from the event's own text, so its place in it is a difference of addresses.
            let from = text.as_ptr() as usize - whole.as_ptr() as usize;
            places.push((name.clone(), from, from + text.len()));
            keys.push(KeyState { name, size: text.len(), changed: known != Some(text) });
        }
        // JavaScript and Aegra tell of an interrupt in a state that holds nothing else: no state to compare with.
        let bare = keys.is_empty() && interrupts > 0;
        let removed = match before {
            Some(before) if !bare && !before.has_names_of(&places) => {
                let gone = before.keys.iter().filter(|(name, ..)| !keys.iter().any(|k| k.name == *name));
                gone.map(|(name, ..)| name.clone()).collect()
            }
            _ => Vec::new(),
        };
        let (seq, at, ns) = (payload.event.seq, payload.event.at, payload.ns.clone());
        if !bare {
            self.make_room(&ns);
            self.last.insert(ns.clone(), Last { text: whole.clone(), keys: places, used: seq });
        }
        self.rows.push(Snapshot { seq, at, ns, size: state.len(), keys, removed, interrupts });
    }

    fn make_room(&mut self, ns: &Namespace) {
        if self.last.len() >= MAX_NAMESPACES
            && !self.last.contains_key(ns)
            && let Some(oldest) = self.last.iter().min_by_key(|(_, last)| last.used).map(|(ns, _)| ns.clone())
        {
            self.last.remove(&oldest);
        }
    }
}

impl Last {
    fn has_names_of(&self, keys: &[(Arc<str>, usize, usize)]) -> bool {
        self.keys.len() == keys.len() && self.keys.iter().zip(keys).all(|(a, b)| a.0 == b.0)
    }

    /// Where a key's value is; keys mostly stay in their order, so the same position is tried first.
    fn place(&self, name: &str, hint: usize) -> Option<(usize, usize)> {
        let at = |key: &&(Arc<str>, usize, usize)| *key.0 == *name;
        let key = self.keys.get(hint).filter(at).or_else(|| self.keys.iter().find(at))?;
        Some((key.1, key.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Data, Event};

    fn apply(values: &mut Values, seq: u64, ns: &str, data: &str) {
        let ns: Namespace = ns.split('|').filter(|s| !s.is_empty()).map(Into::into).collect();
        let (at, name) = (Timestamp::UNIX_EPOCH, "values".into());
        let event = Event { seq, at, conn: 1, name, ns, id: None, data: Data::Json(data.into()) };
        values.apply(&Payload::of(&event));
    }

    #[test]
    fn states_are_compared_within_their_namespace() {
        let mut values = Values::default();
        apply(&mut values, 1, "", r#"{"a":1,"b":[1, 2]}"#);
        apply(&mut values, 2, "sub:1", r#"{"a":9}"#);
        apply(&mut values, 3, "", r#"{"b":[1, 2],"c":{"x":1}}"#);
        apply(&mut values, 4, "", r#"{"__interrupt__":[{"id":"1"},{"id":"2"}]}"#);
        apply(&mut values, 5, "", r#"{"b":[1, 2],"c":{"x":2}}"#);
        let changed = |i: usize| -> Vec<String> {
            let keys = values.rows()[i].keys.iter().filter(|k| k.changed);
            keys.map(|k| format!("{}:{}", k.name, k.size)).collect()
        };
        assert_eq!(changed(0), ["a:1", "b:6"]);
        assert_eq!(changed(1), ["a:1"]);
        assert_eq!((changed(2), &*values.rows()[2].removed), (vec!["c:7".to_string()], &["a".into()][..]));
        assert_eq!((values.rows()[3].interrupts, values.rows()[3].keys.len()), (2, 0));
        assert_eq!(changed(4), ["c:7"]);
        assert_eq!(values.as_of(2).unwrap().seq, 1);
    }

    #[test]
    fn a_state_that_is_no_object_is_one_too() {
        let mut values = Values::default();
        for (seq, data) in (1..).zip(["\"a\"", "null", "[1]", "{\"a\":1}", "7"]) {
            apply(&mut values, seq, "", data);
        }
        let rows = values.rows().iter().map(|row| (row.seq, row.size, row.keys.len(), row.removed.len()));
        assert_eq!(rows.collect::<Vec<_>>(), [(1, 3, 0, 0), (2, 4, 0, 0), (3, 3, 0, 0), (4, 7, 1, 0), (5, 1, 0, 1)]);
    }

    #[test]
    fn namespaces_are_bounded() {
        let mut values = Values::default();
        for i in 0..1000 {
            apply(&mut values, i, &format!("sub:{i}"), "{}");
        }
        assert_eq!(values.last.len(), MAX_NAMESPACES);
    }
}
