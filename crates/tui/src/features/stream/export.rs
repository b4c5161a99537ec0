//! Export of a view to a file, in parts: the runtime writes one part, then asks for the next. This keeps memory bounded
//! and the screen responsive for a million events.

use super::StreamState;
use super::viewer::{View, Viewer};
use crate::session::msg::{Chunk, Effect, FileStep};
use crate::session::{Requests, Route, Session};
use runtail_core::text::{bytes, count, counted};
use runtail_stream::{Record, Seq};
use std::path::PathBuf;

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
    fn of_path(path: &str) -> Format {
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

    fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Jsonl => "jsonl",
            Format::Markdown => "md",
            Format::Svg => "svg",
            Format::Mermaid => "mmd",
        }
    }
}

/// An export in progress.
#[derive(Debug, Clone)]
pub struct Export {
    number: u64,
    /// The number of the stream in the session.
    stream: u64,
    view: View,
    format: Format,
    pub(super) path: PathBuf,
    /// The next entry, and the end of the entries (exclusive).
    next: u64,
    end: u64,
    /// The last event written.
    after: Seq,
    entries: u64,
    /// The newest event on screen when the export began. The export fails if time travel moves before it.
    newest: Seq,
    finishing: bool,
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

/// Returns a file name made of the view, the stream's id and the time.
pub fn proposed_path(session: &Session, viewer: &Viewer, format: Format) -> String {
    let id = viewer
        .run_id
        .as_deref()
        .or(viewer.thread_id.as_deref())
        .unwrap_or("stream");
    let id: String = plain(id).take(8).collect();
    let view = viewer.view().title().to_lowercase();
    timed_name(session, &format!("{view}-{id}"), format)
}

fn plain(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
}

/// Returns a file name made of a text and the time.
pub fn timed_name(session: &Session, of: &str, format: Format) -> String {
    let of: String = plain(of).take(40).collect();
    let at = session
        .now
        .to_zoned(session.settings.tz.clone())
        .strftime("%H%M%S")
        .to_string();
    format!("runtail-{of}-{at}.{}", format.extension())
}

/// Parses the argument of `:export`: `[FORMAT] [PATH]`. Without a format, the extension of the path decides.
pub fn parse_export(argument: &str) -> (Format, &str) {
    let (word, rest) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let named = Format::WORDS
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, format)| *format);
    match named {
        Some(format) => (format, rest.trim()),
        None if argument.is_empty() => (Format::Text, ""),
        None => (Format::of_path(argument), argument),
    }
}

impl StreamState {
    /// Opens the command line with a proposed export command.
    pub(super) fn propose_export(&self, session: &Session) -> Requests {
        let path = self
            .tabs
            .shown()
            .map(|viewer| proposed_path(session, viewer, Format::Text));
        path.map(|path| Route::Palette(format!("export text {path}")).into())
            .unwrap_or_default()
    }

    /// Starts to export the focused view: `[text|jsonl|md] [PATH]`.
    pub fn begin_export(&mut self, session: &Session, argument: &str) -> Requests {
        let (format, path) = parse_export(argument);
        let Some(viewer) = self.tabs.shown() else {
            return Requests::error("No stream is shown, so there is nothing to export.");
        };
        if let Some(export) = &self.export {
            let path = runtail_core::text::clean(&export.path.display().to_string()).into_owned();
            return Requests::error(format!("{path} is still being written."));
        }
        if matches!(format, Format::Svg | Format::Mermaid) && viewer.view() != View::Graph {
            return Requests::error("Only the Graph view can be saved as an image or a flowchart.");
        }
        let path = match path {
            "" => PathBuf::from(proposed_path(session, viewer, format)),
            path => PathBuf::from(path),
        };
        let number = session.next_change.take();
        let view = viewer.view();
        let (next, end) = viewer.export_range(view, format);
        self.export = Some(Export {
            number,
            stream: viewer.id,
            view,
            format,
            path: path.clone(),
            next,
            end,
            after: Seq::START,
            entries: 0,
            newest: viewer.event_log.last_seq(),
            finishing: false,
        });
        Effect::File(number, FileStep::Create(path)).into()
    }

    /// Handles the result of a file step (the current file size in bytes), and writes the next part.
    pub fn on_written(&mut self, number: u64, result: Result<u64, String>) -> Requests {
        if let Some(requests) = self.on_recorded(number, &result) {
            return requests;
        }
        let Some(mut export) = self.export.take_if(|export| export.number == number) else {
            return Requests::none();
        };
        let path = runtail_core::text::clean(&export.path.display().to_string()).into_owned();
        let size = match result {
            Ok(size) => size,
            Err(why) => return Requests::error(format!("Couldn't write {path}: {why}")),
        };
        let name = export.view.title().to_lowercase();
        if export.finishing {
            let entries = counted(export.entries, "entry");
            return Requests::info(format!(
                "Saved {name}: {entries}, {}, to {path}",
                bytes(size)
            ));
        }
        let viewer = self
            .tabs
            .all()
            .iter()
            .find(|viewer| viewer.id == export.stream);
        let still_shows_it = |viewer: &&Viewer| viewer.event_log.last_seq() >= export.newest;
        let Some(viewer) = viewer.filter(still_shows_it) else {
            let why = if viewer.is_some() {
                "time travel moved to an earlier event"
            } else {
                "its stream was closed"
            };
            let text = format!(
                "{path} is incomplete: {why} after {} entries.",
                count(export.entries)
            );
            return Requests::error(text).and(Effect::File(number, FileStep::Finish));
        };
        let mut part = Part::default();
        if size == 0 && export.entries == 0 {
            viewer.export_head(export.view, export.format, &mut part);
        }
        (export.next, export.after) = viewer.export_part(
            export.view,
            export.format,
            (export.next, export.end),
            export.after,
            &mut part,
        );
        export.entries += part.entries;
        // A part can be empty because the filter rejected all of its entries.
        export.finishing = part.chunks.is_empty() && export.next >= export.end;
        let step = if export.finishing {
            FileStep::Finish
        } else {
            FileStep::Write(part.chunks)
        };
        self.export = Some(export);
        Effect::File(number, step).into()
    }
}
