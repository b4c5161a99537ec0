//! Draws pages of records.

use crate::session::Cx;
use crate::session::loaded::Loaded;
use crate::session::page::overlay_frame;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::{RowStyle, Table, TableColumns};
use runtail_api::ApiError;
use runtail_core::text;

/// What a page lists.
pub(super) struct RecordPage {
    pub title: String,
    /// Whose records these are.
    pub about: Line,
    /// How many there are, if that is known.
    pub count: Option<String>,
    /// What the title says of the newest request.
    pub state: (Tone, String),
    pub titles: Vec<&'static str>,
    /// The tone of the first cell, and the cells.
    pub rows: Vec<(Tone, Vec<String>)>,
    /// Maximum width of the last column.
    pub max_last: usize,
    /// What to show if there are no rows.
    pub empty: (Tone, String),
}

/// Draws a page of records.
pub(super) fn list(cx: &Cx<'_>, canvas: &mut Canvas<'_>, table: &Table, shown: RecordPage) {
    let mut about = shown.about;
    if let Some(count) = shown.count {
        about.push_dim(&format!("   {count}"));
    }
    if !table.filter.is_empty() {
        about.push_accent(&format!("   /{}", table.filter));
    }
    let (tone, state) = shown.state;
    overlay_frame(cx, canvas, &shown.title, &about.right(tone, &state));
    let (area, rows) = (cx.area, cx.session.overlay_rows());
    if shown.rows.is_empty() {
        let (tone, text) = table.no_match().unwrap_or(shown.empty);
        return canvas.words(Area { x: 0, ..area }, tone, &text);
    }
    let (tones, cells): (Vec<Tone>, Vec<Vec<String>>) = shown.rows.into_iter().unzip();
    let room = usize::from(rows.w.saturating_sub(4));
    let columns = TableColumns::of_cells(room, &shown.titles, &cells, shown.max_last);
    canvas.line(rows.x + 2, area.y, area.w, &columns.head());
    let pane = Area {
        x: rows.x - 1,
        ..rows
    };
    table.draw(canvas, pane, RowStyle::default(), |at| {
        // The first column is the name; the others are dim.
        let first = columns.first();
        let of_name = *tones.get(at)?;
        let tone = |n| if n == first { of_name } else { Tone::Dim };
        let cells = cells.get(at)?.iter().enumerate();
        let line = columns.line(cells.map(|(n, cell)| Line::of(tone(n), cell)));
        Some(line.into())
    });
}

/// Returns what to show instead of records that couldn't be loaded.
pub(super) fn failed(error: &ApiError) -> (Tone, String) {
    (Tone::Bad, format!("{}\n\nPress r to retry.", error.story()))
}

/// Returns what the title says of the newest request for a list, and of rows that couldn't be read.
pub(super) fn loading_state<T>(
    rows: &Loaded<Vec<T>>,
    is_loading: bool,
    incomplete: Option<&ApiError>,
) -> (Tone, String) {
    match (&rows.error, incomplete, &rows.unread) {
        _ if is_loading => (Tone::Moving, "loading…".to_string()),
        (Some(error), ..) if rows.value.is_some() => {
            (Tone::Bad, format!("outdated: {}; r retries", error.badge()))
        }
        (_, Some(error), _) => (Tone::Moving, format!("incomplete: {}", error.badge())),
        (.., Some(unread)) => (Tone::Bad, text::clean(unread).into_owned()),
        _ => (Tone::Dim, String::new()),
    }
}
