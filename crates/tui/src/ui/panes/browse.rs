//! The browser's table, and the screen of an authentication.

use crate::app::App;
use crate::app::browse::Browse;
use crate::app::layout::Area;
use crate::app::line::{Line, Tone};
use crate::app::scroll::{Flat, window};
use crate::app::sign_in::SignIn;
use crate::ui::Canvas;
use runtail_core::text;

/// Draws a list.
pub fn browse(app: &App, list: &Browse, canvas: &mut Canvas<'_>) {
    let (area, rows) = (app.overlay_area(), app.overlay_rows());
    head(app, list, canvas, Area { x: 1, y: 2, w: area.w, h: 1 });
    let shown = list.ids();
    if shown.is_empty() {
        let (tone, text) = nothing(app, list);
        return canvas.words(Area { x: 0, ..area }, tone, &text);
    }
    let profile = app.profiles.iter().find(|p| p.name == list.profile);
    let now = profile.map_or(app.now, |profile| profile.server_time(app.now));
    let table = list.table(rows.w.saturating_sub(4) as usize, now);
    let titles = table.columns.iter().map(|(title, _)| *title);
    let widths: Vec<usize> = table.columns.iter().map(|(_, width)| *width).collect();
    canvas.line(rows.x + 2, area.y, area.w, &Line::of(Tone::Dim, &joined(titles, &widths)));
    for (n, number) in list.picker.window(shown.len(), rows.h as usize).into_iter().enumerate() {
        let y = rows.y + n as u16;
        let cells = &table.rows[number];
        let line = joined(cells.iter().map(String::as_str), &widths);
        // The first column says what it is; the others are about it.
        let (name, rest) = line.split_at(line.find("  ").unwrap_or(line.len()));
        canvas.line(rows.x + 2, y, rows.w, &Line::of(Tone::Plain, name).with(Tone::Dim, rest));
        if list.picker.selected.as_ref() == shown.get(number) {
            canvas.select(Area { x: rows.x - 1, h: 1, ..rows }, y, true);
        }
    }
}

/// What is listed, of whom, how much of it, and what is odd about that.
fn head(app: &App, list: &Browse, canvas: &mut Canvas<'_>, area: Area) {
    let used = canvas.title(area, &list.of.plural().to_uppercase(), true);
    let mut line = Line::of(Tone::Dim, "of ");
    if !list.owner.is_empty() {
        line.push(Tone::Plain, &list.owner);
        line.push(Tone::Dim, " in ");
    }
    line.push(Tone::Plain, &list.profile);
    let tag = app.profiles.iter().find(|p| p.name == list.profile).map(|p| p.tag());
    if let Some(tag) = tag.filter(|tag| *tag != &*list.profile) {
        line.push(Tone::Dim, &format!(" ({tag})"));
    }
    if let Some(all) = list.rows.value.as_ref().map(Vec::len) {
        let shown = list.shown().len();
        let count = if shown == all { format!("   {all}") } else { format!("   {shown} of {all}") };
        line.push(Tone::Dim, &count);
    }
    if !list.filter.is_empty() {
        line.push(Tone::Accent, &format!("   /{}", list.filter));
    }
    let (tone, state) = match (&list.rows.error, &list.incomplete) {
        _ if list.asking => (Tone::Moving, "asking…".to_string()),
        (Some(error), _) if list.rows.value.is_some() => (Tone::Bad, format!("old: {}, r asks again", error.badge())),
        (_, Some(error)) => (Tone::Moving, format!("there may be more: {}", error.badge())),
        _ => (Tone::Dim, String::new()),
    };
    canvas.line_for_right(area.x + used + 3, area.y, area.w.saturating_sub(used + 4), &line.right(tone, &state));
}

/// The words where there are no rows.
fn nothing(app: &App, list: &Browse) -> (Tone, String) {
    let what = list.of.plural();
    match (&list.rows.value, &list.rows.error) {
        _ if !list.filter.is_empty() => {
            (Tone::Plain, format!("Nothing contains “{}”.\n\nEsc clears the filter.", list.filter))
        }
        (_, Some(error)) if !list.asking => (Tone::Bad, format!("{}\n\nr asks again.", error.story())),
        (None, _) => (Tone::Dim, format!("Asking {} for its {what}…", list.profile)),
        (Some(_), _) => {
            let others = app.profiles.iter().filter(|p| p.control_plane).count() > 1;
            let tab = if others { "\n\nTab shows those of the next profile." } else { "" };
            (Tone::Plain, format!("There are no {what}.{tab}"))
        }
    }
}

fn joined<'c>(cells: impl Iterator<Item = &'c str>, widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in cells.zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width.saturating_sub(text::width(cell)) + 2));
    }
    line.trim_end().to_string()
}

/// Draws an authentication.
pub fn sign_in(app: &App, asked: &SignIn, canvas: &mut Canvas<'_>) {
    let area = app.overlay_area();
    let used = canvas.title(Area { x: 1, y: 2, w: area.w, h: 1 }, "AUTHENTICATION", true);
    let about = Line::of(Tone::Dim, "with ")
        .with(Tone::Plain, &asked.request.provider)
        .with(Tone::Dim, " in ")
        .with(Tone::Plain, &asked.profile);
    canvas.line(used + 4, 2, area.w.saturating_sub(used + 4), &about);
    let lines = app.sign_in_lines(asked);
    let rows = Flat { first: 0, end: lines.len() as u64 };
    for (n, spot) in window(&rows, asked.place.top, area.h as usize).enumerate() {
        if let Some(line) = lines.get(spot.key as usize) {
            canvas.line(area.x, area.y + n as u16, area.w, line);
        }
    }
}
