//! `assistants graph A`: the graph as rails, as an image, as mermaid, or as JSON.

use crate::prelude::*;
use runtail_core::graph::{self, Glyphs, Graph, Limits};

/// How a graph is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A drawing: one row per node, edges at the left, returns at the right; the default on a terminal.
    Text,
    /// The same drawing in ASCII characters.
    Ascii,
    /// The same drawing as an SVG image.
    Svg,
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

pub async fn run(server: &AgentServer, options: &Options) -> Result<Exit, Failure> {
    let id = resolve::assistant_id(server, &options.assistant).await?;
    let described = server.assistant_graph(&id, options.subgraphs).await?;
    let suits = || {
        if std::io::stdout().is_terminal() {
            Format::Text
        } else {
            Format::Json
        }
    };
    let graph = Graph::read(&described);
    if graph.is_cut() && options.format != Some(Format::Json) {
        output::complain(
            "warning: the graph is too large to draw; some nodes and edges are missing",
        );
    }
    let rails = || graph::layout(&graph, Limits::NONE);
    match options.format.unwrap_or_else(suits) {
        Format::Text => output::print(&graph::text(&graph, &rails(), Glyphs::Unicode), false)?,
        Format::Ascii => output::print(&graph::text(&graph, &rails(), Glyphs::Ascii), false)?,
        Format::Svg => output::print(&graph::svg(&graph, &rails()), false)?,
        Format::Mermaid => output::print(&graph::mermaid(&graph), false)?,
        Format::Json => output::print(&format!("{described:#}\n"), true)?,
    }
    Ok(Exit::Done)
}
