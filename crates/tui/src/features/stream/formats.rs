//! The formats of exported files, and the parts in which a file is written.

use crate::session::msg::Chunk;
use runtail_stream::Record;

/// Maximum number of entries in a part.
const PART_ENTRIES: usize = 2_000;
/// Size in bytes after which a part is full.
const PART_BYTES: usize = 4 << 20;

/// The format of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The text of the screen, not truncated.
    Text,
    /// Lines of a recording.
    Jsonl,
    /// Markdown with a conversation, tables and code.
    Markdown,
    /// An image of the graph.
    Svg,
    /// A flowchart of the graph.
    Mermaid,
}

impl Format {
    /// The names of the formats in the `:export` command.
    pub const WORDS: [(&str, Format); 5] = [
        ("text", Format::Text),
        ("jsonl", Format::Jsonl),
        ("md", Format::Markdown),
        ("svg", Format::Svg),
        ("mermaid", Format::Mermaid),
    ];

    /// Returns the format that the extension of a path implies.
    pub(super) fn of_path(path: &str) -> Format {
        match path
            .rsplit_once('.')
            .map(|(_, extension)| extension.to_ascii_lowercase())
            .as_deref()
        {
            Some("jsonl" | "ndjson") => Format::Jsonl,
            Some("md" | "markdown") => Format::Markdown,
            Some("svg") => Format::Svg,
            Some("mmd" | "mermaid") => Format::Mermaid,
            _ => Format::Text,
        }
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Jsonl => "jsonl",
            Format::Markdown => "md",
            Format::Svg => "svg",
            Format::Mermaid => "mmd",
        }
    }
}

/// A part of an exported view.
#[derive(Debug, Default)]
pub struct Part {
    pub chunks: Vec<Chunk>,
    /// The number of entries in the part.
    pub entries: u64,
    size: usize,
}

impl Part {
    /// Adds text that is already sanitized.
    pub fn text(&mut self, text: impl Into<String>) {
        self.add(Chunk::Text(text.into()));
    }

    pub fn add(&mut self, chunk: Chunk) {
        self.size += match &chunk {
            Chunk::Text(text) => text.len(),
            Chunk::Line(text) | Chunk::Lines(text) | Chunk::Code(_, text) => text.len(),
            Chunk::Record(record) => match &**record {
                Record::Event(event) => event.data.text().len(),
                _ => 0,
            },
        };
        self.chunks.push(chunk);
    }

    /// Returns whether the part has no room for more.
    pub fn is_full(&self) -> bool {
        self.entries as usize >= PART_ENTRIES || self.size >= PART_BYTES
    }
}
