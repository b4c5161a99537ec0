//! `assistants graph A`: the graph as JSON, as mermaid, or as a list of edges.

use crate::exit::{Exit, Failure};
use crate::output;
use crate::resolve;
use clap::{Args, ValueEnum};
use runtail_api::AgentServer;
use runtail_core::text;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::IsTerminal;

/// How a graph is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The edges, one per line; the default on a terminal.
    Text,
    /// A mermaid flowchart.
    Mermaid,
    /// As the server describes it; the default elsewhere.
    Json,
}

/// Options of `assistants graph`.
#[derive(Debug, Args)]
pub struct Options {
    /// The assistant: a graph's name, or an assistant's name or id
    #[arg(value_name = "A")]
    assistant: String,
    /// Include subgraphs
    #[arg(long)]
    subgraphs: bool,
    /// How to print (default: text on a terminal, else json)
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum)]
    format: Option<Format>,
}

pub(crate) async fn run(server: &AgentServer, options: &Options) -> Result<Exit, Failure> {
    let id = resolve::assistant_id(server, &options.assistant).await?;
    let graph = server.assistant_graph(&id, options.subgraphs).await?;
    let suits = || if std::io::stdout().is_terminal() { Format::Text } else { Format::Json };
    match options.format.unwrap_or_else(suits) {
        Format::Text => output::print(&edges(&graph), false)?,
        Format::Mermaid => output::print(&mermaid(&graph), false)?,
        Format::Json => output::print(&format!("{graph:#}\n"), true)?,
    }
    Ok(Exit::Done)
}

/// Ids are strings, or numbers in a graph without names.
fn id(value: &Value) -> String {
    text::clean(&output::cell(value)).into_owned()
}

struct Edge {
    source: String,
    target: String,
    label: String,
    is_conditional: bool,
}

fn all_edges(graph: &Value) -> Vec<Edge> {
    let edge = |edge: &Value| Edge {
        source: id(&edge["source"]),
        target: id(&edge["target"]),
        label: id(&edge["data"]),
        is_conditional: edge["conditional"] == true,
    };
    graph["edges"].as_array().into_iter().flatten().map(edge).collect()
}

/// Prints one edge per line, dotted if it is conditional, then the nodes without edges.
fn edges(graph: &Value) -> String {
    let all = all_edges(graph);
    let width = all.iter().map(|edge| text::width(&edge.source)).max().unwrap_or(0);
    let mut out = String::new();
    for edge in &all {
        let pad = " ".repeat(width.saturating_sub(text::width(&edge.source)));
        let arrow = if edge.is_conditional { "-.->" } else { "--->" };
        let label = if edge.label.is_empty() { String::new() } else { format!("  ({})", edge.label) };
        let _ = writeln!(out, "{}{pad} {arrow} {}{label}", edge.source, edge.target);
    }
    for node in nodes(graph) {
        if !all.iter().any(|edge| edge.source == node || edge.target == node) {
            let _ = writeln!(out, "{node}");
        }
    }
    out
}

fn nodes(graph: &Value) -> Vec<String> {
    graph["nodes"].as_array().into_iter().flatten().map(|node| id(&node["id"])).collect()
}

/// Nodes are numbered because their names may contain any characters.
fn mermaid(graph: &Value) -> String {
    let mut names = nodes(graph);
    let all = all_edges(graph);
    for name in all.iter().flat_map(|edge| [&edge.source, &edge.target]) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let quoted = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let number = |name: &str| names.iter().position(|n| n == name).unwrap_or_default();
    let mut out = String::from("flowchart TD\n");
    for (i, name) in names.iter().enumerate() {
        let (open, close) = if matches!(name.as_str(), "__start__" | "__end__") { ("([", "])") } else { ("[", "]") };
        let _ = writeln!(out, "  n{i}{open}\"{}\"{close}", quoted(name));
    }
    for edge in &all {
        let arrow = if edge.is_conditional { "-.->" } else { "-->" };
        let label = if edge.label.is_empty() { String::new() } else { format!("|\"{}\"|", quoted(&edge.label)) };
        let _ = writeln!(out, "  n{} {arrow}{label} n{}", number(&edge.source), number(&edge.target));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_graph_in_both_forms() {
        let graph = json!({
            "nodes": [{"id": "__start__"}, {"id": "chat"}, {"id": "a\"b"}, {"id": 7}],
            "edges": [
                {"source": "__start__", "target": "chat"},
                {"source": "chat", "target": "a\"b", "conditional": true, "data": "yes"},
            ],
        });
        assert_eq!(edges(&graph), "__start__ ---> chat\nchat      -.-> a\"b  (yes)\n7\n");
        assert_eq!(
            mermaid(&graph),
            "flowchart TD\n  n0([\"__start__\"])\n  n1[\"chat\"]\n  n2[\"a&quot;b\"]\n  n3[\"7\"]\n  n0 --> n1\n  \
             n1 -.->|\"yes\"| n2\n"
        );
    }
}
