//! Draws the browser and the authentication page.

use super::browse::Browse;
use super::sign_in::SignIn;
use crate::session::loaded::Loaded;
use crate::session::page::{draw_lines, overlay_frame};
use crate::session::{Cx, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_api::ApiError;
use runtail_core::text;

/// Draws a list.
pub(super) fn browse(list: &Browse, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, rows) = (cx.area, cx.session.overlay_rows());
    head(cx, list, canvas);
    let shown = list.ids();
    if shown.is_empty() {
        let (tone, text) = empty_state(cx.session, list);
        return canvas.words(Area { x: 0, ..area }, tone, &text);
    }
    let now = cx.session.server_time(&list.profile);
    let table = list.table(rows.w.saturating_sub(4) as usize, now);
    let titles = table.columns.iter().map(|(title, _)| *title);
    let widths: Vec<usize> = table.columns.iter().map(|(_, width)| *width).collect();
    canvas.line(
        rows.x + 2,
        area.y,
        area.w,
        &Line::dim(&joined(titles, &widths)),
    );
    for (n, number) in list
        .selection
        .window(shown.len(), rows.h as usize)
        .into_iter()
        .enumerate()
    {
        let y = rows.y + n as u16;
        let cells = &table.rows[number];
        let line = joined(cells.iter().map(String::as_str), &widths);
        // The first column is the name; the others are dim.
        let (name, rest) = line.split_at(line.find("  ").unwrap_or(line.len()));
        canvas.line(rows.x + 2, y, rows.w, &Line::plain(name).with_dim(rest));
        if list.selection.selected.as_ref() == shown.get(number) {
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

/// Draws the title, the owner, the counts, the filter and the loading state.
fn head(cx: &Cx<'_>, list: &Browse, canvas: &mut Canvas<'_>) {
    let mut line = Line::new();
    if !list.owner.is_empty() {
        line.push_plain(&list.owner);
        line.push_dim(" in ");
    }
    line.push_plain(&list.profile);
    let tag = cx
        .session
        .profiles
        .iter()
        .find(|p| p.name == list.profile)
        .map(|p| p.tag());
    if let Some(tag) = tag.filter(|tag| *tag != &*list.profile) {
        line.push_dim(&format!(" ({tag})"));
    }
    if let Some(all) = list.rows.value.as_ref().map(Vec::len) {
        let shown = list.shown().len();
        let count = if shown == all {
            format!("   {all}")
        } else {
            format!("   {shown} of {all}")
        };
        line.push_dim(&count);
    }
    if !list.filter.is_empty() {
        line.push_accent(&format!("   /{}", list.filter));
    }
    let (tone, state) = loading_state(&list.rows, list.loading, list.incomplete.as_ref());
    overlay_frame(
        cx,
        canvas,
        &text::capitalized(list.of.plural()),
        &line.right(tone, &state),
    );
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

/// Returns the text to show if there are no rows.
fn empty_state(session: &Session, list: &Browse) -> (Tone, String) {
    let what = list.of.plural();
    match (&list.rows.value, &list.rows.error) {
        _ if !list.filter.is_empty() => (
            Tone::Plain,
            format!(
                "No match for “{}”.\n\nPress Esc to clear the filter.",
                list.filter
            ),
        ),
        (_, Some(error)) if !list.loading => {
            (Tone::Bad, format!("{}\n\nPress r to retry.", error.story()))
        }
        (None, _) => (Tone::Dim, format!("Loading {what} of {}…", list.profile)),
        (Some(_), _) => {
            let others = session.profiles.iter().filter(|p| p.control_plane).count() > 1;
            let tab = if others {
                "\n\nPress Tab for the next profile."
            } else {
                ""
            };
            (Tone::Plain, format!("No {what}.{tab}"))
        }
    }
}

pub(super) fn joined<'c>(cells: impl Iterator<Item = &'c str>, widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(
            ' ',
            width.saturating_sub(text::width(cell)) + 2,
        ));
    }
    line.trim_end().to_string()
}

/// Draws an authentication.
pub(super) fn sign_in(page: &SignIn, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = cx.area;
    let about = Line::dim("with ")
        .with_plain(page.request.fields["provider"].as_str().unwrap_or_default())
        .with_dim(" in ")
        .with_plain(&page.profile);
    overlay_frame(cx, canvas, "Authentication", &about);
    draw_lines(canvas, area, &page.place, &page.shown(cx));
}
