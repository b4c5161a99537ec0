//! The graphs of assistants, which threads and pages share.

use super::msg::ServerRef;
use runtail_core::graph::Graph;
use std::sync::Arc;

/// Maximum number of graphs kept.
const MAX_KNOWN: usize = 20;

/// Graphs of assistants that were loaded in this session.
#[derive(Debug, Default)]
pub struct KnownGraphs {
    graphs: Vec<(ServerRef, String, Arc<Graph>)>,
    /// The servers that offer no graphs, which are asked again only for the Graph view.
    pub lacking: Vec<ServerRef>,
}

impl KnownGraphs {
    /// Returns the graph of an assistant, if it was loaded.
    pub fn get(&self, server: &ServerRef, assistant: &str) -> Option<&Arc<Graph>> {
        self.graphs
            .iter()
            .find(|(known, id, _)| known == server && id == assistant)
            .map(|(.., graph)| graph)
    }

    /// Keeps a graph instead of the oldest one.
    pub fn keep(&mut self, server: ServerRef, assistant: String, graph: Arc<Graph>) {
        self.graphs
            .retain(|(known, id, _)| *known != server || *id != assistant);
        if self.graphs.len() >= MAX_KNOWN {
            self.graphs.remove(0);
        }
        self.graphs.push((server, assistant, graph));
    }
}
