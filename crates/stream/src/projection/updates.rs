//! The updates written by nodes, one row per node.

use super::rows::{Rows, Weigh, namespace_weight};
use super::summary::summary;
use crate::protocol::Payload;
use crate::{Interner, Namespace, Seq};
use jiff::Timestamp;
use runtail_core::json::Fields;
use std::sync::Arc;

const MAX_SUMMARY: usize = 80;
/// Maximum number of keys kept per write, far more than a line can show.
const MAX_KEYS: usize = 64;

/// An update written by a node.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateRow {
    pub seq: Seq,
    /// When it was sent, if known.
    pub at: Option<Timestamp>,
    /// The node, or `__interrupt__`.
    pub node: Arc<str>,
    /// The namespace of the node's graph.
    pub ns: Namespace,
    /// The keys that it wrote, each with a summary of its value.
    pub keys: Vec<(Arc<str>, String)>,
    /// Whether the graph stopped here at an interrupt.
    pub interrupt: bool,
}

impl Weigh for UpdateRow {
    const MAX_ROWS: usize = 100_000;

    fn weight(&self) -> usize {
        let keys = self
            .keys
            .iter()
            .map(|(name, value)| size_of::<(Arc<str>, String)>() + name.len() + value.capacity());
        size_of::<UpdateRow>() + namespace_weight(&self.ns) + self.node.len() + keys.sum::<usize>()
    }
}

/// The updates of an event log.
#[derive(Debug, Clone, Default)]
pub struct Updates {
    pub(super) rows: Rows<UpdateRow>,
    names: Interner,
}

impl Updates {
    /// Returns the rows in the order of their events.
    pub fn rows(&self) -> &Rows<UpdateRow> {
        &self.rows
    }

    pub(super) fn apply(&mut self, payload: &Payload<'_>) {
        if payload.name != "updates" {
            return;
        }
        let event = payload.event;
        for write in payload.writes() {
            let (node, json) = (&write.node, write.json.text());
            let interrupt = node == "__interrupt__";
            let keys = match write.fields() {
                Some(Fields(keys)) => {
                    let keys = keys.iter().take(MAX_KEYS);
                    keys.map(|(key, value)| {
                        (self.names.get(key), summary(value.text(), MAX_SUMMARY))
                    })
                    .collect()
                }
                // A value that is not an object has no keys.
                None if json == "null" => Vec::new(),
                None => vec![(self.names.get(""), summary(json, MAX_SUMMARY))],
            };
            let node = self.names.get(node);
            self.rows.push(UpdateRow {
                seq: event.seq,
                at: event.time(),
                node,
                ns: payload.ns.clone(),
                keys,
                interrupt,
            });
        }
    }
}
