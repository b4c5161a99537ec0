//! The graph in files: as text with its numbers, as an image, and as a flowchart.

use super::GraphView;
use crate::features::stream::formats::{Format, Part};
use crate::session::msg::Chunk;
use runtail_core::graph::{Glyphs, Limits, layout, mermaid, svg};

/// Columns of the text: as many as the rails and the numbers need.
const WIDTH: usize = 400;

impl GraphView {
    /// Writes the graph.
    pub(super) fn write(&self, title: &str, format: Format, part: &mut Part) {
        let graph = &self.picture.folded.graph;
        match format {
            Format::Svg => part.text(svg(graph, &layout(graph, Limits::NONE))),
            Format::Mermaid => part.text(mermaid(graph)),
            Format::Markdown => part.add(Chunk::Code("mermaid", mermaid(graph).into())),
            Format::Text | Format::Jsonl => part.text(self.text(title)),
        }
        part.entries = self.picture.rows() as u64;
    }

    /// Returns the drawing with its numbers as text.
    pub(super) fn text(&self, title: &str) -> String {
        let columns = self.columns(WIDTH, title, Glyphs::Unicode);
        let mut text = format!("{}\n", self.heading(&columns, title).text().trim_end());
        for row in 0..self.picture.rows() {
            text.push_str(
                self.row_line(row, &columns, Glyphs::Unicode)
                    .text()
                    .trim_end(),
            );
            text.push('\n');
        }
        text
    }
}
