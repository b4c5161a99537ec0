//! Draws pages of records.

use crate::session::Cx;
use crate::session::page::overlay_frame;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::table::{RowStyle, Table, TableColumns};

/// What a page of records shows.
pub(super) struct TableContents {
    pub title: String,
    /// Whose records these are, and how many.
    pub about: Line,
    /// What the title says of the newest request, at its right.
    pub state: Line,
    pub titles: Vec<&'static str>,
    /// The tone of the first cell, and the cells.
    pub rows: Vec<(Tone, Vec<String>)>,
    /// Maximum width of the last column.
    pub max_last: usize,
    /// What to show if there are no rows.
    pub empty: (Tone, String),
}

/// Draws a page of records.
pub(super) fn list(cx: &Cx<'_>, canvas: &mut Canvas<'_>, table: &Table, shown: TableContents) {
    let mut about = shown.about;
    if !table.filter.is_empty() {
        about.push_accent(&format!("   /{}", table.filter));
    }
    about.right = shown.state.right;
    overlay_frame(cx, canvas, &shown.title, &about);
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
