//! Export of a view to a file, in parts: the runtime writes one part, then asks for the next. This keeps memory bounded
//! and the screen responsive for a million events.

use super::StreamState;
use super::formats::{Format, Part};
use super::viewer::Viewer;
use super::views::View;
use crate::session::msg::{Effect, FileStep};
use crate::session::{Requests, Route, Session};
use runtail_core::text::{bytes, clean, count, counted};
use runtail_stream::Seq;
use std::path::{Path, PathBuf};

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

/// Returns a file name made of the view, the stream's id and the time.
pub fn proposed_path(session: &Session, viewer: &Viewer, format: Format) -> String {
    let view = viewer.view().title().to_lowercase();
    timed_name(session, &format!("{view}-{}", short_id(viewer)), format)
}

/// Returns the first characters of a stream's id, for a file name.
pub fn short_id(viewer: &Viewer) -> String {
    let id = viewer.run_id.as_ref().or(viewer.thread_id.as_ref());
    plain(id.map_or("stream", |id| id)).take(8).collect()
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

/// Returns a path as it is shown.
pub(super) fn shown_path(path: &Path) -> String {
    clean(&path.display().to_string()).into_owned()
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

/// Opens the command line with a proposed export command.
pub(super) fn propose_export(viewer: &Viewer, session: &Session) -> Requests {
    let path = proposed_path(session, viewer, Format::Text);
    Route::Palette(format!("export text {path}")).into()
}

impl StreamState {
    /// Starts to export the focused view: `[text|jsonl|md] [PATH]`.
    pub fn begin_export(&mut self, session: &Session, argument: &str) -> Requests {
        let (format, path) = parse_export(argument);
        let Some(viewer) = self.tabs.shown() else {
            return Requests::error("No stream is shown.");
        };
        if let Some(export) = &self.export {
            let path = shown_path(&export.path);
            return Requests::error(format!("{path} is still being written."));
        }
        if matches!(format, Format::Svg | Format::Mermaid) && viewer.view() != View::Graph {
            return Requests::error("Only Graph can be saved as an image or a flowchart.");
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
        let path = shown_path(&export.path);
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
        let viewer = self.tabs.get(export.stream);
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
