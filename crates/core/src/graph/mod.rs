//! The graph of an assistant: its nodes and edges, its subgraphs folded, and its drawing as rails: one row per node, forward
//! edges at the left, returns at the right.

mod fold;
mod mermaid;
mod order;
mod rails;
mod read;
mod render;
mod svg;
#[cfg(test)]
mod tests;

pub use fold::{Folded, group_of, is_in};
pub use mermaid::mermaid;
pub use rails::{Cell, Limits, Rails, Row, Stub, layout};
pub use render::{Glyphs, text};
pub use svg::svg;

use std::collections::HashMap;

/// The node before the first ones, and the one after the last ones.
pub const START: &str = "__start__";
pub const END: &str = "__end__";

/// Separates the names in the path of a node in a subgraph.
pub const SEPARATOR: char = ':';

/// A node, or several that are drawn as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The server's id: the name, after the names of the nodes that it is in.
    pub id: String,
    /// The sanitized name.
    pub name: String,
    /// How many nodes are folded into it; 0 for a plain node.
    pub folded: usize,
    /// The breakpoints that were compiled into the graph: every run stops there.
    pub breakpoint: Breakpoint,
}

/// Where runs stop at a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Breakpoint {
    pub before: bool,
    pub after: bool,
}

impl Breakpoint {
    pub fn is_set(self) -> bool {
        self.before || self.after
    }

    /// Returns a description: "before and after"; empty if runs don't stop.
    pub fn words(self) -> &'static str {
        match (self.before, self.after) {
            (true, true) => "before and after",
            (true, false) => "before",
            (false, true) => "after",
            (false, false) => "",
        }
    }
}

impl Node {
    pub fn new(id: &str) -> Node {
        Node {
            id: id.to_string(),
            name: name_of(id),
            folded: 0,
            breakpoint: Breakpoint::default(),
        }
    }

    /// Returns whether it is the node before the first ones.
    pub fn is_start(&self) -> bool {
        self.id == START
    }

    /// Returns whether it is the node after the last ones.
    pub fn is_end(&self) -> bool {
        self.id == END
    }

    /// Returns whether a run can execute it.
    pub fn is_real(&self) -> bool {
        !self.is_start() && !self.is_end()
    }

    /// Returns its text in a drawing: its name, with the number of nodes that are folded into it.
    pub fn label(&self) -> String {
        match self.folded {
            0 => self.name.clone(),
            folded => format!("▸ {} ({folded})", self.name),
        }
    }
}

/// Returns the name of a node as it is shown.
fn name_of(id: &str) -> String {
    let shown = match id.rsplit_once(SEPARATOR) {
        Some((group, START)) => format!("{group}:START"),
        Some((group, END)) => format!("{group}:END"),
        None if id == START => "START".into(),
        None if id == END => "END".into(),
        _ => id.to_string(),
    };
    crate::text::clean(&shown).into_owned()
}

/// An edge between two nodes, by their indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    /// Whether the graph chooses if it goes there.
    pub is_conditional: bool,
    /// The sanitized name of the choice.
    pub label: Option<String>,
}

/// The nodes and edges of a graph, in the order of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    index: HashMap<String, usize>,
    is_cut: bool,
}

impl Graph {
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns whether it was too large, so that some of its nodes or edges are missing.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the index of the node with an id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// Adds a node unless it is known, and returns its index.
    pub fn add_node(&mut self, id: &str) -> usize {
        self.add(Node::new(id))
    }

    fn add(&mut self, node: Node) -> usize {
        if let Some(known) = self.find(&node.id) {
            return known;
        }
        let at = self.nodes.len();
        self.index.insert(node.id.clone(), at);
        self.nodes.push(node);
        at
    }

    /// Adds an edge between two of its nodes. An edge between the same nodes is merged with it.
    pub fn add_edge(&mut self, edge: Edge) {
        debug_assert!(
            edge.from < self.nodes.len() && edge.to < self.nodes.len(),
            "an edge between unknown nodes"
        );
        match self
            .edges
            .iter_mut()
            .find(|known| (known.from, known.to) == (edge.from, edge.to))
        {
            Some(known) => {
                known.is_conditional &= edge.is_conditional;
                known.label = match (known.label.take(), edge.label) {
                    (Some(old), Some(new)) if old != new => Some(format!("{old}, {new}")),
                    (old, new) => old.or(new),
                };
            }
            None => self.edges.push(edge),
        }
    }

    /// Returns the nodes that lead to a node, in the order of the server.
    pub fn sources(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.edges
            .iter()
            .filter(move |edge| edge.to == node)
            .map(|edge| edge.from)
    }

    /// Returns the nodes that a node leads to, in the order of the server.
    pub fn targets(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.edges
            .iter()
            .filter(move |edge| edge.from == node)
            .map(|edge| edge.to)
    }

    /// Returns the number of nodes that a run can execute.
    pub fn real_nodes(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_real()).count()
    }
}
