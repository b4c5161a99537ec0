//! The graph as a mermaid flowchart.

use super::Graph;
use std::fmt::Write as _;

/// Returns the flowchart. Nodes are numbered because their names may contain any characters.
pub fn mermaid(graph: &Graph) -> String {
    let quoted = |text: &str| {
        text.replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('<', "&lt;")
    };
    let mut out = String::from("flowchart TD\n");
    for (i, node) in graph.nodes().iter().enumerate() {
        let (open, close) = if node.is_real() {
            ("[", "]")
        } else {
            ("([", "])")
        };
        let name = match node.folded {
            0 if node.breakpoint.is_set() => {
                format!(
                    "{} (stops {})",
                    crate::text::clean(&node.id),
                    node.breakpoint.words()
                )
            }
            0 => crate::text::clean(&node.id).into_owned(),
            folded => format!("{} ({folded})", node.name),
        };
        let _ = writeln!(out, "  n{i}{open}\"{}\"{close}", quoted(&name));
    }
    for edge in graph.edges() {
        let arrow = if edge.is_conditional { "-.->" } else { "-->" };
        let label = edge
            .label
            .as_deref()
            .map(|label| format!("|\"{}\"|", quoted(label)))
            .unwrap_or_default();
        let _ = writeln!(out, "  n{} {arrow}{label} n{}", edge.from, edge.to);
    }
    out
}
