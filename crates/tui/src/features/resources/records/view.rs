//! Draws a page of records.

use super::Records;
use super::rows::RowOf;
use crate::features::resources::browse::{GAP, shrunk};
use crate::features::resources::view::{joined, loading_state};
use crate::session::Cx;
use crate::session::page::overlay_frame;
use crate::session::record_list::RecordList;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_api::Kind;
use runtail_core::text;

/// Maximum initial widths of a column, and of the last one.
const MAX_COLUMN: usize = 44;
const MAX_LAST: usize = 200;

pub(super) fn records(page: &Records, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, rows) = (cx.area, cx.session.overlay_rows());
    head(cx, page, canvas);
    let now = cx.session.server_time(&page.server.profile);
    let shown = page.shown(now);
    if shown.is_empty() {
        let (tone, text) = empty_state(page);
        return canvas.words(Area { x: 0, ..area }, tone, &text);
    }
    // Columns that are empty in all rows are left out, except the first.
    let titles = page.titles();
    let used: Vec<usize> = (0..titles.len())
        .filter(|n| *n == 0 || shown.iter().any(|row| !row.cells[*n].is_empty()))
        .collect();
    let last = used.last().copied().unwrap_or_default();
    let natural = used.iter().map(|n| {
        let widest = shown
            .iter()
            .map(|row| text::width(&row.cells[*n]))
            .max()
            .unwrap_or(0);
        widest.clamp(
            titles[*n].len(),
            if *n == last { MAX_LAST } else { MAX_COLUMN },
        )
    });
    let widths = shrunk(
        natural.collect(),
        rows.w.saturating_sub(GAP as u16 * 2) as usize,
    );
    let heading = joined(used.iter().map(|n| titles[*n]), &widths);
    canvas.line(rows.x + 2, area.y, area.w, &Line::dim(&heading));
    for (n, number) in page
        .selection
        .window(shown.len(), rows.h as usize)
        .into_iter()
        .enumerate()
    {
        let (row, y) = (&shown[number], rows.y + n as u16);
        let cells: Vec<String> = used
            .iter()
            .zip(&widths)
            .map(|(n, width)| text::fit(&row.cells[*n], *width).into_owned())
            .collect();
        let first = widths.first().copied().unwrap_or_default();
        let line = joined(cells.iter().map(String::as_str), &widths);
        // The first column is the name; the others are dim.
        let at = line
            .char_indices()
            .nth(cells.first().map_or(first, |cell| cell.chars().count()))
            .map_or(line.len(), |(at, _)| at);
        let (name, rest) = line.split_at(at);
        let tone = if row.is == RowOf::Note {
            Tone::Dim
        } else {
            Tone::Plain
        };
        canvas.line(rows.x + 2, y, rows.w, &Line::of(tone, name).with_dim(rest));
        if page.selection.selected.as_ref() == Some(&row.id) {
            canvas.select_all(
                Area {
                    x: rows.x - 1,
                    h: 1,
                    ..rows
                },
                y,
                true,
            );
        }
    }
}

/// Draws the title, the server, the count, the filter and the loading state.
fn head(cx: &Cx<'_>, page: &Records, canvas: &mut Canvas<'_>) {
    let title = match page.of {
        RecordList::Versions { .. } => "Versions",
        RecordList::Crons => "Crons",
        RecordList::Store(_) => "Store",
    };
    let mut line = Line::new();
    if let RecordList::Versions { name, .. } = &page.of {
        line.push_plain(&text::clean(name));
        line.push_dim(" on ");
    }
    line.push_plain(&text::clean(&page.server.name));
    if page.server.name != page.server.profile {
        line.push_dim(&format!(" ({})", text::clean(&page.server.profile)));
    }
    if let Some(all) = page.rows.value.as_ref().map(Vec::len) {
        let what = if matches!(page.of, RecordList::Store(_)) {
            " namespaces"
        } else {
            ""
        };
        line.push_dim(&format!("   {all}{what}"));
    }
    if !page.filter.is_empty() {
        line.push_accent(&format!("   /{}", page.filter));
    }
    let (tone, state) = loading_state(&page.rows, !page.waiting.is_empty(), None);
    overlay_frame(cx, canvas, title, &line.right(tone, &state));
}

/// Returns the text to show if there are no rows.
fn empty_state(page: &Records) -> (Tone, String) {
    let (what, hint) = match &page.of {
        RecordList::Versions { .. } => ("versions", ""),
        RecordList::Crons => ("crons", "\n\nPress a to create one."),
        RecordList::Store(_) => (
            "namespaces",
            "\n\nPress a to write an item. Some servers list no namespaces: :store NAMESPACE opens one.",
        ),
    };
    match (&page.rows.value, &page.rows.error) {
        _ if !page.filter.is_empty() => (
            Tone::Plain,
            format!(
                "No match for “{}”.\n\nPress Esc to clear the filter.",
                page.filter
            ),
        ),
        (_, Some(error)) if error.kind == Kind::NotOffered => (Tone::Plain, error.story()),
        (_, Some(error)) if page.waiting.is_empty() => {
            (Tone::Bad, format!("{}\n\nPress r to retry.", error.story()))
        }
        (None, _) => (
            Tone::Dim,
            format!("Loading {what} of {}…", text::clean(&page.server.name)),
        ),
        (Some(_), _) => (Tone::Plain, format!("No {what}.{hint}")),
    }
}
