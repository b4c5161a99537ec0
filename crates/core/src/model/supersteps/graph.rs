//! The nodes of a graph and what follows them, from its drawing.

use serde_json::Value;
use std::collections::BTreeSet;

/// The node before the first ones, and the end.
const START: &str = "__start__";
const END: &str = "__end__";

/// The nodes and edges of a graph; empty where a server offers no drawing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphShape {
    nodes: Vec<String>,
    edges: Vec<(String, String)>,
}

impl GraphShape {
    /// Reads a drawing: `{nodes, edges}`.
    pub fn read(drawing: &Value) -> GraphShape {
        let list = |name: &str| drawing[name].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_string);
        let nodes = list("nodes")
            .iter()
            .filter_map(|node| text(&node["id"]))
            .filter(|node| node != END)
            .collect();
        let edges = list("edges")
            .into_iter()
            .filter_map(|edge| Some((text(&edge["source"])?, text(&edge["target"])?)));
        GraphShape {
            nodes,
            edges: edges.collect(),
        }
    }

    /// Whether a server told it.
    pub fn is_known(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Returns its nodes, the one before the first ones included.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Returns whether it has a node. Of a graph that no server told, any is possible.
    pub fn may_have(&self, node: &str) -> bool {
        !self.is_known() || node == START || self.nodes.iter().any(|own| own == node)
    }

    /// Returns the nodes that follow any of these, each once.
    pub fn after(&self, nodes: Vec<String>) -> Vec<String> {
        let from = self
            .edges
            .iter()
            .filter(|(source, _)| nodes.contains(source));
        let targets: BTreeSet<&String> = from.map(|(_, target)| target).collect();
        targets.into_iter().cloned().collect()
    }

    /// Returns whether exactly these nodes can be next after a node.
    pub fn leads_to(&self, node: &str, next: &[String]) -> bool {
        let targets: Vec<&str> = self
            .edges
            .iter()
            .filter(|(source, _)| source == node)
            .map(|(_, target)| target.as_str())
            .collect();
        match next {
            [] => {
                targets.contains(&END)
                    || (targets.is_empty() && self.nodes.iter().any(|own| own == node))
            }
            next => next.iter().all(|next| targets.contains(&next.as_str())),
        }
    }
}
