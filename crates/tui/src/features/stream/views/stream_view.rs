//! What a view of a stream is: its entries, its lines, its keys. The viewer keeps the log, the cursor and the search, and asks the
//! view for everything else.

use super::View;
use super::messages::blocks::Shown;
use crate::features::stream::commands::for_thread;
use crate::features::stream::find::{FoundPlace, Landmark, MatchIndex, PatternSource};
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::viewer::Viewer;
use crate::input::action::Action;
use crate::input::commands::Commands;
use crate::session::{Requests, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, Move, ScrollList};
use jiff::Timestamp;
use runtail_core::text::markdown::inline;
use runtail_stream::Seq;
use runtail_stream::projection::RunEntry;
use std::borrow::Cow;
use std::ops::Range;

/// What the entries of a view are, which decides how it is filtered, searched and scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Events. Their data is searched, and long lines can wrap.
    Events,
    /// What events tell, such as messages and bars. Each belongs to an event.
    Rows,
    /// A report about all events, with a cursor of its own. It isn't filtered.
    Report,
    /// The document at the cursor, with a search of its own.
    Document,
    /// A picture of the thread, with a cursor and a search of its own.
    Picture,
}

impl EntryKind {
    /// Returns whether the filter applies, for which entries must belong to events.
    pub fn is_filtered(self) -> bool {
        matches!(self, EntryKind::Events | EntryKind::Rows)
    }

    /// Returns whether the view has a cursor that is not at an event.
    pub fn has_own_cursor(self) -> bool {
        matches!(self, EntryKind::Report | EntryKind::Picture)
    }
}

/// The entries of a view.
pub enum ViewRows<'a> {
    /// Entries of one line each.
    Flat(Flat),
    /// Messages with their tool calls.
    Blocks(Shown<'a>),
    /// The entries that a filter accepts.
    Filtered(Box<ViewRows<'a>>, &'a MatchIndex),
    /// Entries with wrapped lines. Heights are computed only near the window.
    Wrapped(Flat, &'a Viewer, View),
}

impl ScrollList for ViewRows<'_> {
    fn first(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) | ViewRows::Wrapped(flat, ..) => flat.first,
            ViewRows::Blocks(blocks) => blocks.first(),
            ViewRows::Filtered(all, index) => index.first().unwrap_or(all.end()),
        }
    }
    fn end(&self) -> u64 {
        match self {
            ViewRows::Flat(flat) | ViewRows::Wrapped(flat, ..) => flat.end,
            ViewRows::Blocks(blocks) => blocks.end(),
            ViewRows::Filtered(all, index) => index.last().map_or(all.end(), |last| last + 1),
        }
    }
    fn height(&self, key: u64) -> usize {
        match self {
            ViewRows::Flat(_) => 1,
            ViewRows::Blocks(blocks) => blocks.height(key),
            ViewRows::Wrapped(_, viewer, view) => viewer.wrapped(*view, key).len().max(1),
            // A tool result follows its call, unless the filter hides the call.
            ViewRows::Filtered(all, index) => match &**all {
                ViewRows::Blocks(blocks)
                    if blocks
                        .call_message(key)
                        .is_some_and(|asking| !index.is_match(asking)) =>
                {
                    blocks.own_height(key)
                }
                all => all.height(key),
            },
        }
    }
    fn next(&self, key: u64) -> Option<u64> {
        match self {
            ViewRows::Filtered(_, index) => index.at_or_after(key + 1),
            _ => (key + 1 < self.end()).then_some(key + 1),
        }
    }
    fn prev(&self, key: u64) -> Option<u64> {
        match self {
            ViewRows::Filtered(_, index) => index.before(key),
            _ => (key > self.first()).then(|| key - 1),
        }
    }
    fn near(&self, key: u64) -> u64 {
        match self {
            ViewRows::Filtered(_, index) => index.at_or_after(key).or(index.last()).unwrap_or(key),
            _ => key,
        }
    }
    fn count_from(&self, key: u64) -> u64 {
        match self {
            ViewRows::Filtered(_, index) => index.count() - index.rank(key),
            _ => self.end().saturating_sub(key),
        }
    }
}

/// What a view is laid out for.
#[derive(Debug, Clone, Copy)]
pub struct ViewLayout {
    /// The view.
    pub view: View,
    /// The time that running work counts up to.
    pub now: Timestamp,
    /// Whether more events may arrive.
    pub is_open: bool,
    /// Columns.
    pub width: usize,
    /// Lines.
    pub height: usize,
}

/// How a view is drawn.
#[derive(Debug, Clone, Copy)]
pub struct DrawnAs {
    /// Whether its half of the page has the focus.
    pub is_focused: bool,
    /// Whether only ASCII is drawn.
    pub is_ascii: bool,
    /// Whether the title is above its area.
    pub is_titled: bool,
}

/// How a view is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportedAs {
    /// Entry by entry.
    Entries,
    /// Entry by entry, as rows of a table with these titles.
    Table(&'static [&'static str]),
    /// Run by run. The filter doesn't apply.
    Runs,
    /// At once.
    Whole,
}

/// What never changes of a view.
#[derive(Debug, Clone, Copy)]
pub struct ViewFacts {
    /// The name of its tab.
    pub title: &'static str,
    /// What its entries are.
    pub kind: EntryKind,
    /// What there is none of if the view is empty, and what to do; empty if the view says it itself.
    pub empty: (&'static str, &'static str),
    /// The sentence of the empty view at a checkpoint.
    pub empty_at_checkpoint: &'static str,
    /// How it is written to a file.
    pub export: ExportedAs,
    /// The view whose events are written as records in place of this one.
    pub records_of: Option<View>,
}

/// The facts of a view of events, of which the others are variations.
pub const EVENTS: ViewFacts = ViewFacts {
    title: "",
    kind: EntryKind::Events,
    empty: ("events", ""),
    empty_at_checkpoint: "A checkpoint has no events.",
    export: ExportedAs::Entries,
    records_of: None,
};

/// The facts of a view that the viewer doesn't scroll.
pub const PICTURE: ViewFacts = ViewFacts {
    kind: EntryKind::Picture,
    empty: ("", ""),
    ..EVENTS
};

/// Maximum width of a line in a file, in columns.
const MAX_EXPORTED_WIDTH: usize = 4_000;

/// The lines above and below the entries of a view, which don't scroll.
pub type Around<'a> = (Cow<'a, [Line]>, &'a [Line]);

/// A view of a stream.
pub trait StreamView: Sync {
    /// Returns what never changes of the view.
    fn facts(&self) -> ViewFacts;

    /// Returns the number of entries, for the tab.
    fn count(&self, viewer: &Viewer) -> u64 {
        self.entries(viewer).end()
    }

    /// Returns the entries, ignoring the filter.
    fn entries<'a>(&self, _viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(Flat::default())
    }

    /// Returns the keys of the entries that are searched and exported.
    fn keys(&self, viewer: &Viewer) -> Range<u64> {
        let rows = self.entries(viewer);
        rows.first()..rows.end()
    }

    /// Returns a line with at most `width` columns. Without lines of its own, the view has a window of its own.
    fn line(&self, _viewer: &Viewer, _spot: LinePos, _width: usize) -> Option<Line> {
        None
    }

    /// Returns the lines of the window, and whether each is under the cursor, if the view scrolls itself.
    fn window(&self, _viewer: &Viewer) -> Option<Vec<(Line, bool)>> {
        None
    }

    /// Returns the lines above and below the entries.
    fn around<'a>(&self, _viewer: &'a Viewer) -> Around<'a> {
        (Cow::Borrowed(&[]), &[])
    }

    /// Handles a click on a line above the entries.
    fn click_around(&self, _viewer: &mut Viewer, _row: usize, _column: usize) {}

    /// Returns the event of a line; `None` for a line about all events.
    fn seq_at(&self, _viewer: &Viewer, _spot: LinePos) -> Option<Seq> {
        None
    }

    /// Returns the event that an entry is; `None` if it is another record.
    fn entry_seq(&self, viewer: &Viewer, key: u64) -> Option<Seq> {
        self.seq_at(viewer, LinePos::of(key))
    }

    /// Returns the position of an event: its own entry, or else the entry before it. `None` if the view has no such positions.
    fn spot_of(&self, _viewer: &Viewer, _seq: Seq) -> Option<LinePos> {
        None
    }

    /// Returns which lines of the window are of marked runs.
    fn lines_of_marked_runs(&self, _viewer: &Viewer) -> Vec<bool> {
        Vec::new()
    }

    /// Updates what the lines are made from.
    fn prepare(&self, _viewer: &mut Viewer, _layout: ViewLayout) {}

    /// Moves to the cursor. Returns false if the list of entries scrolls there.
    fn sync(&self, _viewer: &mut Viewer) -> bool {
        false
    }

    /// Moves in the view, which has the focus.
    fn go(&self, viewer: &mut Viewer, to: Move) {
        viewer.scroll(to);
    }

    /// Returns the lines of a page, if the view scrolls itself.
    fn height(&self, _viewer: &Viewer) -> Option<usize> {
        None
    }

    /// Returns whether the filter accepts an entry, and the number of bytes read.
    fn accepts(&self, viewer: &Viewer, key: u64) -> (bool, usize) {
        viewer.accepts_event(self.entry_seq(viewer, key))
    }

    /// Returns the entries that changed after an event.
    fn changed(&self, _viewer: &Viewer, _after: Seq) -> Vec<u64> {
        Vec::new()
    }

    /// Returns the texts of an entry that a search reads; `None` for those of its line or its event.
    fn texts<'a>(
        &self,
        _viewer: &'a Viewer,
        _key: u64,
        _filtered: Option<&MatchIndex>,
    ) -> Option<Vec<PatternSource<'a>>> {
        None
    }

    /// Returns the text of a search that only this view has.
    fn own_search<'a>(&self, _viewer: &'a Viewer) -> Option<&'a str> {
        None
    }

    /// Searches for a text that is being typed; empty to clear the search.
    fn search(&self, viewer: &mut Viewer, text: &str) {
        viewer.search(text);
    }

    /// Returns the progress of a search that the viewer doesn't index.
    fn found(&self, _viewer: &Viewer) -> Option<FoundPlace> {
        None
    }

    /// Moves to the next or previous landmark. Returns whether there is one, or `None` to move among the events.
    fn go_to_next(&self, _viewer: &mut Viewer, _to: Landmark, _forward: bool) -> Option<bool> {
        None
    }

    /// Lays out what doesn't consist of lines.
    fn lay_out(&self, _viewer: &mut Viewer, _area: Area, _is_titled: bool) {}

    /// Returns the text after the title.
    fn about(&self, _viewer: &Viewer) -> Option<String> {
        None
    }

    /// Draws the view, if it doesn't consist of lines.
    fn draw(&self, _viewer: &Viewer, _on: &mut Canvas<'_>, _area: Area, _as: DrawnAs) -> bool {
        false
    }

    /// Returns whether the whole questions follow what is shown and, without entries, the words of an empty view.
    fn is_blank(&self, _viewer: &Viewer) -> bool {
        false
    }

    /// Adds to the commands of all views which of them do something at the cursor, and what the footer shows.
    fn commands(&self, viewer: &Viewer, on: &Session, all: Commands) -> Commands {
        for_thread(viewer, on, all)
            .enable_if(viewer.inspect().is_some(), &["stream.open"])
            .show([("stream.open", None)])
    }

    /// Handles an action. `None` leaves it to what the action means in all views.
    fn action(&self, _viewer: &mut Viewer, _on: &Session, _action: Action) -> Option<Requests> {
        None
    }

    /// Changes the view beside this one. Returns false if the key only splits the page.
    fn split(&self, _viewer: &mut Viewer) -> bool {
        false
    }

    /// Returns whether the keys for a checkpoint act on the one under the cursor, not on the one that all views show.
    fn has_checkpoints(&self) -> bool {
        false
    }

    /// Goes back one step inside the view. Returns false if there is none.
    fn close(&self, _viewer: &mut Viewer) -> bool {
        false
    }

    /// Returns the text to copy.
    fn copied(&self, viewer: &Viewer) -> Option<String> {
        Some(viewer.event_under_cursor()?.data.text().to_string())
    }

    /// Returns the path of what is under the cursor, if the view shows a document.
    fn copied_path(&self, _viewer: &Viewer) -> Option<String> {
        None
    }

    /// Returns the id of what is under the cursor, if the view has a cursor of its own.
    fn selected_id<'a>(&self, _viewer: &'a Viewer) -> Option<&'a str> {
        None
    }

    /// Returns the run under the cursor, if its record says more than its event.
    fn run_under_cursor<'a>(&self, _viewer: &'a Viewer) -> Option<&'a RunEntry> {
        None
    }

    /// Returns the keys of what is exported, one after the other.
    fn exported_keys(&self, viewer: &Viewer) -> Range<u64> {
        self.keys(viewer)
    }

    /// Returns the event that is exported as a record for an entry.
    fn exported_seq(&self, viewer: &Viewer, key: u64) -> Option<Seq> {
        self.seq_at(viewer, LinePos::of(key))
    }

    /// Writes an entry, or the whole view: its line, as far as the view has no other text.
    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        let line = self.line(viewer, LinePos::of(key), MAX_EXPORTED_WIDTH);
        let Line { left, right } = line.unwrap_or_default();
        let [left, right] =
            [left, right].map(|pieces| pieces.iter().map(|p| p.text.as_str()).collect::<String>());
        part.text(match (format, right.as_str()) {
            (Format::Text, "") => format!("{left}\n"),
            (Format::Text, _) => format!("{left}  {right}\n"),
            _ => format!(
                "| {} | {} |\n",
                inline(left.trim_end()),
                inline(right.trim_end())
            ),
        });
    }
}
