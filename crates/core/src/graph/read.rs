//! Reading a server's description of a graph: `{nodes, edges}`.

use super::{Breakpoint, Edge, Graph};
use crate::text;
use serde_json::Value;

/// Nodes and edges that are read, and bytes of an id. Larger graphs are cut: their drawing would take too much memory.
const MAX_NODES: usize = 500;
const MAX_EDGES: usize = 5_000;
const MAX_ID: usize = 400;

impl Graph {
    /// Reads a description leniently: ids are strings or numbers, edges may name nodes that are not listed, and unknown fields
    /// are ignored. A description of another form is an empty graph.
    pub fn read(description: &Value) -> Graph {
        let mut graph = Graph::default();
        let count = |list: &str| description[list].as_array().map_or(0, Vec::len);
        graph.is_cut = count("nodes") > MAX_NODES || count("edges") > MAX_EDGES;
        for node in description["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .take(MAX_NODES)
        {
            if let Some(id) = id(&node["id"]) {
                let at = graph.add_node(&id);
                graph.nodes[at].breakpoint = breakpoint(&node["metadata"]);
            }
        }
        for edge in description["edges"]
            .as_array()
            .into_iter()
            .flatten()
            .take(MAX_EDGES)
        {
            let (Some(from), Some(to)) = (id(&edge["source"]), id(&edge["target"])) else {
                continue;
            };
            let is_new = |id: &str| graph.find(id).is_none();
            if graph.nodes.len() >= MAX_NODES && (is_new(&from) || is_new(&to)) {
                graph.is_cut = true;
                continue;
            }
            let (from, to) = (graph.add_node(&from), graph.add_node(&to));
            let label = id(&edge["data"]).map(|label| text::clean(&label).into_owned());
            graph.add_edge(Edge {
                from,
                to,
                is_conditional: edge["conditional"] == true,
                label,
            });
        }
        graph
    }
}

/// Reads the breakpoints of a node that were compiled into the graph. Python and Aegra describe them, JavaScript doesn't; and with
/// subgraphs, none describes those of a node that is a subgraph.
fn breakpoint(metadata: &Value) -> Breakpoint {
    let names = metadata["__interrupt"].as_str().unwrap_or_default();
    let is_named = |name: &str| names.split(',').any(|named| named.trim() == name);
    Breakpoint {
        before: is_named("before"),
        after: is_named("after"),
    }
}

fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(id) if !id.is_empty() => Some(text::head(id, MAX_ID).to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
