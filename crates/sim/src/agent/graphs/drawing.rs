//! Graphs as `GET /assistants/{id}/graph` draws them.

use crate::agent::prelude::*;

impl Graph {
    /// Draws a graph; `xray` expands this many levels of subgraphs.
    pub fn drawing(self, xray: usize) -> Value {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        self.draw("", xray, &mut nodes, &mut edges);
        let runnable = |id: &str| json!({"id": id, "type": "runnable", "data": {"name": id}});
        let mut drawn = vec![runnable("__start__")];
        drawn.extend(nodes.iter().map(|id| runnable(id)));
        drawn.push(json!({"id": "__end__"}));
        let edges: Vec<Value> = edges
            .into_iter()
            .map(|(source, target, conditional)| {
                let mut edge = json!({"source": source, "target": target});
                if conditional {
                    edge["conditional"] = json!(true);
                }
                edge
            })
            .collect();
        json!({"nodes": drawn, "edges": edges})
    }

    fn draw(
        self,
        prefix: &str,
        xray: usize,
        nodes: &mut Vec<String>,
        edges: &mut Vec<(String, String, bool)>,
    ) {
        let open = |node: &str| if xray > 0 { self.inner(node) } else { None };
        for node in self.nodes() {
            match open(node) {
                Some(inner) => inner.draw(&format!("{prefix}{node}:"), xray - 1, nodes, edges),
                None => nodes.push(format!("{prefix}{node}")),
            }
        }
        for (from, to, conditional) in self.edges() {
            if !prefix.is_empty() && (from == "__start__" || to == "__end__") {
                continue;
            }
            let from = open(from).map_or_else(
                || format!("{prefix}{from}"),
                |inner| inner.end_of(&format!("{prefix}{from}:"), xray - 1, false),
            );
            let to = open(to).map_or_else(
                || format!("{prefix}{to}"),
                |inner| inner.end_of(&format!("{prefix}{to}:"), xray - 1, true),
            );
            edges.push((from, to, conditional));
        }
    }

    /// The first or last node of a subgraph, to which an edge from outside is attached.
    fn end_of(self, prefix: &str, xray: usize, first: bool) -> String {
        let edges = self.edges();
        let node = edges.iter().find_map(|(from, to, _)| match first {
            true if *from == "__start__" => Some(*to),
            false if *to == "__end__" => Some(*from),
            _ => None,
        });
        let node = node.unwrap_or_default();
        match if xray > 0 { self.inner(node) } else { None } {
            Some(inner) => inner.end_of(&format!("{prefix}{node}:"), xray - 1, first),
            None => format!("{prefix}{node}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_expand_subgraphs() {
        let flat = Graph::Research.drawing(0);
        assert!(
            flat["nodes"]
                .as_array()
                .is_some_and(|nodes| nodes.iter().any(|node| node["id"] == "critic"))
        );
        let open = Graph::Research.drawing(9).to_string();
        assert!(
            open.contains("\"critic:sources:check\"") && !open.contains("\"critic\""),
            "{open}"
        );
        assert!(
            open.contains(r#"{"source":"critic:sources:check","target":"write"}"#),
            "{open}"
        );
        assert!(
            open.contains(r#"{"source":"critic:read","target":"critic:sources:check"}"#),
            "{open}"
        );
        let chat = Graph::Agent.drawing(0);
        assert_eq!(
            chat["edges"][1],
            json!({"source": "chat", "target": "__end__", "conditional": true})
        );
        assert_eq!(chat["nodes"][3], json!({"id": "__end__"}));
    }
}
