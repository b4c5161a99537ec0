//! Groups of nodes that are drawn as one: subgraphs, and many equal siblings.

use super::{Edge, Graph, Node, SEPARATOR};
use crate::text;
use std::collections::{BTreeSet, HashMap};

/// Siblings with the same sources and targets beyond this number are drawn as one.
const MAX_SIBLINGS: usize = 8;
/// Groups that can be folded. Further ones stay open.
const MAX_GROUPS: usize = 300;

/// Returns the group of a node: its path without its own name. A group is itself a path.
pub fn group_of(id: &str) -> Option<&str> {
    id.rsplit_once(SEPARATOR).map(|(group, _)| group)
}

/// Returns whether a node or a group is in a group, at any depth.
pub fn is_in(id: &str, group: &str) -> bool {
    id.strip_prefix(group)
        .is_some_and(|rest| rest.starts_with(SEPARATOR))
}

/// A graph with folded groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folded {
    pub graph: Graph,
    /// The node there of each node of the whole graph.
    pub node_of: Vec<usize>,
}

impl Graph {
    /// Returns all groups, each after those that it is in.
    pub fn groups(&self) -> BTreeSet<String> {
        let mut groups = BTreeSet::new();
        for node in self.nodes() {
            let mut id = &node.id[..];
            while let Some(group) = group_of(id).filter(|_| groups.len() < MAX_GROUPS) {
                groups.insert(group.to_string());
                id = group;
            }
        }
        groups
    }

    /// Returns the graph with these groups folded. Edges inside of a group disappear, and edges that become equal are merged.
    pub fn fold(&self, folds: &BTreeSet<String>) -> Folded {
        let fold_of = |id: &str| {
            folds
                .iter()
                .find(|group| *group == id || is_in(id, group))
                .cloned()
        };
        let by_node: Vec<Option<String>> =
            self.nodes().iter().map(|node| fold_of(&node.id)).collect();
        self.merge(by_node, Node::new)
    }

    /// Returns the graph with many equal siblings merged, unless one of their sets is in `open`, by the id of its first.
    pub fn merge_siblings(&self, open: &BTreeSet<String>) -> Folded {
        let mut neighbors = vec![(BTreeSet::new(), BTreeSet::new()); self.nodes().len()];
        for edge in self.edges() {
            neighbors[edge.from].1.insert(edge.to);
            neighbors[edge.to].0.insert(edge.from);
        }
        let mut sets: HashMap<_, Vec<usize>> = HashMap::new();
        for (node, around) in neighbors.iter().enumerate() {
            let is_alone = around.0.is_empty() && around.1.is_empty();
            if self.nodes()[node].is_real() && self.nodes()[node].folded == 0 && !is_alone {
                sets.entry((group_of(&self.nodes()[node].id), around))
                    .or_default()
                    .push(node);
            }
        }
        let mut by_node: Vec<Option<String>> = vec![None; self.nodes().len()];
        for members in sets.values().filter(|members| members.len() > MAX_SIBLINGS) {
            let first = &self.nodes()[members[0]].id;
            if !open.contains(first) {
                members
                    .iter()
                    .for_each(|member| by_node[*member] = Some(first.clone()));
            }
        }
        let name = |first: &str| {
            let members = || {
                self.nodes()
                    .iter()
                    .zip(&by_node)
                    .filter(|(_, set)| set.as_deref() == Some(first))
            };
            let names: Vec<&str> = members().map(|(node, _)| &*node.name).collect();
            Node {
                name: common_name(&names),
                ..Node::new(first)
            }
        };
        self.merge(by_node.clone(), name)
    }

    /// Merges the nodes with the same new id.
    fn merge(&self, by_node: Vec<Option<String>>, new_node: impl Fn(&str) -> Node) -> Folded {
        let mut graph = Graph {
            is_cut: self.is_cut,
            ..Graph::default()
        };
        let mut node_of = Vec::with_capacity(self.nodes().len());
        for (node, id) in self.nodes().iter().zip(&by_node) {
            let at = match id {
                Some(id) => graph.find(id).unwrap_or_else(|| graph.add(new_node(id))),
                None => graph.add(node.clone()),
            };
            if id.is_some() {
                graph.nodes[at].folded += node.folded.max(1);
                // A run may stop inside.
                graph.nodes[at].breakpoint.before |= node.breakpoint.before;
                graph.nodes[at].breakpoint.after |= node.breakpoint.after;
            }
            node_of.push(at);
        }
        for edge in self.edges() {
            let (from, to) = (node_of[edge.from], node_of[edge.to]);
            // A loop of one node stays, one through a group disappears.
            if from != to || by_node[edge.from].is_none() {
                graph.add_edge(Edge {
                    from,
                    to,
                    ..edge.clone()
                });
            }
        }
        Folded { graph, node_of }
    }
}

impl Folded {
    /// Folds further, and keeps the mapping from the whole graph.
    pub fn then(self, next: impl FnOnce(&Graph) -> Folded) -> Folded {
        let folded = next(&self.graph);
        let node_of = self
            .node_of
            .iter()
            .filter_map(|at| folded.node_of.get(*at).copied())
            .collect();
        Folded {
            graph: folded.graph,
            node_of,
        }
    }
}

/// Returns a name for several nodes: what their names begin with.
fn common_name(names: &[&str]) -> String {
    let Some((first, rest)) = names.split_first() else {
        return String::new();
    };
    let common = |name: &&str| {
        first
            .chars()
            .zip(name.chars())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let shared = rest.iter().map(common).min().unwrap_or(0);
    match shared {
        0 => format!("{}, …", text::seen(first, 20)),
        shared => format!("{}*", first.chars().take(shared).collect::<String>()),
    }
}
