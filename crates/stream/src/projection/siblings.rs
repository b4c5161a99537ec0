//! Subgraphs of one name that run at once, such as two subagents of one kind: they are numbered to tell them apart.

use crate::insert;
use crate::protocol::Payload;
use crate::{MAX_NAME, Namespace};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of graphs and of subgraphs that are remembered.
const MAX_EACH: usize = 1024;

/// The subgraphs that run, or ran, beside others of the same name.
#[derive(Debug, Clone, Default)]
pub(super) struct Siblings {
    /// The subgraphs of each graph's current step, by node: their segments of the namespace.
    current: HashMap<Namespace, HashMap<Box<str>, Vec<Arc<str>>>>,
    numbers: HashMap<Arc<str>, usize>,
}

impl Siblings {
    /// Returns the number of a subgraph, if it has siblings.
    pub fn number(&self, segment: &str) -> Option<usize> {
        self.numbers.get(segment).copied()
    }

    /// Applies an event. Returns the first subgraph of a name when the second one starts beside it.
    pub fn apply(&mut self, payload: &Payload<'_>) -> Option<Arc<str>> {
        match payload.name {
            // A step ended.
            "values" | "checkpoints" => drop(self.current.remove(&payload.ns)),
            "updates" => {
                if let Some(nodes) = self.current.get_mut(&payload.ns) {
                    nodes.retain(|node, _| {
                        payload.writes().iter().any(|write| write.node == **node)
                    });
                }
            }
            _ => {}
        }
        (0..payload.ns.len()).fold(None, |first, depth| {
            self.add(&payload.ns[..depth], &payload.ns[depth]).or(first)
        })
    }

    fn add(&mut self, graph: &[Arc<str>], segment: &Arc<str>) -> Option<Arc<str>> {
        let (node, _) = segment
            .split_once(':')
            .filter(|_| segment.len() <= MAX_NAME)?;
        if !self.current.contains_key(graph) {
            insert(&mut self.current, MAX_EACH, graph.into(), HashMap::new());
        }
        let nodes = self.current.get_mut(graph)?;
        if !nodes.contains_key(node) {
            nodes.insert(node.into(), Vec::new());
        }
        let known = nodes.get_mut(node)?;
        if known.contains(segment) || known.len() >= MAX_EACH {
            return None;
        }
        known.push(segment.clone());
        if self.numbers.len() >= MAX_EACH {
            self.numbers.clear();
        }
        let first = known.first().filter(|_| known.len() > 1)?.clone();
        self.numbers.insert(first.clone(), 1);
        self.numbers.insert(segment.clone(), known.len());
        (known.len() == 2).then_some(first)
    }
}
