//! The colors of the nodes of a thread, the same in all views.

use crate::widgets::line::{Line, Tone};
use runtail_core::graph::{Graph, SEPARATOR};
use std::collections::HashMap;

/// The colors of a graph's nodes: their numbers in the order of the server. Until the graph is known, colors are derived from
/// the names, and two nodes can have the same one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NodeColors {
    by_name: HashMap<String, u16>,
    /// By the color of the name alone; `None` if several nodes have it.
    by_label: HashMap<u16, Option<u16>>,
}

impl NodeColors {
    /// Numbers the nodes of a graph. Events name the nodes of subgraphs without their path.
    pub fn new(graph: &Graph) -> NodeColors {
        let mut colors = NodeColors::default();
        let real = || graph.nodes().iter().filter(|node| node.is_real());
        for (number, node) in real().enumerate() {
            colors.add(&node.id, number, true);
        }
        // A server that describes the inside of a subgraph leaves out its own node, which events name nevertheless. As in the
        // graph, it has the color of its first node.
        for (number, node) in real().enumerate() {
            let mut id = &node.id[..];
            while let Some((group, _)) = id.rsplit_once(SEPARATOR) {
                colors.add(group, number, false);
                id = group;
            }
        }
        colors
    }

    /// Adds the names of a node. Of a node, but not of a group, the color of a known name is no longer certain.
    fn add(&mut self, id: &str, number: usize, is_node: bool) {
        let number = color_of(number);
        let name = id.rsplit(SEPARATOR).next().unwrap_or(id);
        if let Tone::Label(label) = Tone::label(name)
            && (is_node || !self.by_name.contains_key(name))
        {
            self.by_label
                .entry(label)
                .and_modify(|known| *known = None)
                .or_insert(Some(number));
        }
        for name in [id, name] {
            self.by_name.entry(name.to_string()).or_insert(number);
        }
    }

    /// Gives the names of nodes, and their bars, the colors of their nodes.
    pub fn apply(&self, line: &mut Line) {
        if self.by_name.is_empty() {
            return;
        }
        for piece in line.left.iter_mut().chain(&mut line.right) {
            if let Tone::Label(label) = piece.tone {
                let text = piece.text.trim();
                // A time may follow the name.
                let name = || text.split(' ').next().unwrap_or_default();
                let by_name = self
                    .by_name
                    .get(text)
                    .or_else(|| self.by_name.get(name()))
                    .copied();
                let number = by_name.or_else(|| self.by_label.get(&label).copied().flatten());
                piece.tone = number.map_or(piece.tone, Tone::Label);
            }
        }
    }
}

/// Returns the label of a node's number in its graph.
pub(super) fn color_of(number: usize) -> u16 {
    // A multiple of the number of colors in any theme, so that the order of the colors continues.
    u16::try_from(number % 240).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_bars_have_the_color_of_their_node() {
        let graph = Graph::read(
            &json!({"nodes": [{"id": "__start__"}, {"id": "chat"}, {"id": "sub:tools"}]}),
        );
        let colors = NodeColors::new(&graph);
        let mut line = Line::of(Tone::label("tools"), "tools")
            .with_dim(" ")
            .with(Tone::label("chat"), "███");
        line.push(Tone::label("other"), "other");
        line.push(Tone::label("tools"), " tools 2.6s ");
        let other = Tone::label("other");
        colors.apply(&mut line);
        let tones: Vec<Tone> = line.left.iter().map(|piece| piece.tone).collect();
        assert_eq!(
            tones,
            [
                Tone::Label(1),
                Tone::Dim,
                Tone::Label(0),
                other,
                Tone::Label(1)
            ]
        );
    }

    #[test]
    fn a_subgraph_without_a_node_of_its_own_has_the_color_of_its_first_node() {
        // As langgraph-api 0.16.7 describes a graph with `xray`.
        let ids = [
            "__start__",
            "plan",
            "join",
            "__end__",
            "sub:prepare",
            "sub:inner:think",
        ];
        let nodes: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
        let colors = NodeColors::new(&Graph::read(&json!({"nodes": nodes})));
        let color = |name: &str| colors.by_name.get(name).copied();
        assert_eq!(
            ["plan", "join", "sub", "inner"].map(color),
            [Some(0), Some(1), Some(2), Some(3)]
        );
        assert_eq!(
            (color("sub"), color("sub:inner")),
            (color("prepare"), color("think"))
        );
        let mut bar = Line::of(Tone::label("sub"), "███");
        colors.apply(&mut bar);
        assert_eq!(
            bar.left.first().map(|piece| piece.tone),
            Some(Tone::Label(2)),
            "its bar, too"
        );
    }

    #[test]
    fn eight_nodes_have_eight_numbers() {
        let nodes: Vec<_> = (0..8).map(|n| json!({"id": format!("node {n}")})).collect();
        let colors = NodeColors::new(&Graph::read(&json!({"nodes": nodes})));
        let numbers: std::collections::BTreeSet<u16> = colors.by_name.values().copied().collect();
        assert_eq!(numbers.len(), 8);
    }
}
