//! Draws the palette: a frame over the screen with the typed text, and what it can run.

use super::Palette;
use super::offer::{Completion, Group};
use crate::session::Cx;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;
use std::ops::Range;

/// Columns of the selection mark and the gap after it.
const MARK: u16 = 3;
/// Minimum and maximum columns of the names.
const NAMES: (usize, usize) = (24, 38);
/// The keys, from the most to the least important.
const KEYS: [&str; 5] = [
    "⏎ run",
    "Esc close",
    "↑↓ choose",
    "Tab complete",
    "paste an id or URL",
];
/// The keys in the order in which they are shown.
const SHOWN_KEYS: [usize; 5] = [0, 3, 2, 4, 1];

/// A line of the list: a heading, or a row by its number.
enum PaletteRow<'a> {
    Head(String),
    Offer(usize, &'a Completion),
}

/// Draws the palette.
pub(super) fn palette(palette: &Palette, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let rows = rows(palette);
    let PaletteLayout { area, list, top } = layout(palette, &rows, cx);
    let w = area.w;
    canvas.clear(area);
    let typed = text::clean(&palette.text()).into_owned();
    canvas.frame(
        area,
        format!(": {typed}").trim_end(),
        &Line::new(),
        &cx.session.frame_keys(&keys(usize::from(w))),
    );
    let (before, after) = palette.input.around_cursor();
    let mut line = Line::accent("> ");
    line.push_strong(&text::visible(before));
    line.push_accent("▏");
    line.push_strong(&text::visible(after));
    canvas.line_for_right(
        2,
        2,
        w.saturating_sub(4),
        &line.right(Tone::Dim, &counter(palette)),
    );
    if rows.is_empty() {
        canvas.line(
            list.x + MARK,
            list.y,
            list.w - MARK,
            &Line::dim(&palette.no_offer),
        );
    }
    let room = usize::from(list.h);
    let names = rows.iter().filter_map(|row| match row {
        PaletteRow::Offer(_, offer) => Some(text::width(&offer.shown)),
        PaletteRow::Head(_) => None,
    });
    let most = NAMES.1.min(usize::from(w) / 2);
    // Ids are shown in full.
    let has_ids = palette
        .offers
        .iter()
        .all(|offer| offer.group == Group::Typed);
    let names = names
        .max()
        .unwrap_or(0)
        .clamp(NAMES.0.min(most), if has_ids { 48 } else { most });
    for (n, row) in rows.iter().skip(top).take(room).enumerate() {
        let y = list.y + n as u16;
        let width = list.w.saturating_sub(MARK + 1);
        match row {
            PaletteRow::Head(title) => canvas.line(list.x + MARK - 1, y, width, &Line::dim(title)),
            PaletteRow::Offer(at, offer) => {
                let is_selected = *at == palette.at() && palette.runs_selected();
                canvas.line_for_right(
                    list.x + MARK - 1,
                    y,
                    width,
                    &offer_line(offer, names, width.into(), is_selected),
                );
                if is_selected {
                    canvas.mark(
                        Area {
                            x: list.x - 1,
                            ..list
                        },
                        y,
                        true,
                    );
                }
            }
        }
    }
}

/// Where the palette is.
struct PaletteLayout {
    /// Its frame.
    area: Area,
    list: Area,
    /// The first visible row.
    top: usize,
}

fn layout(palette: &Palette, rows: &[PaletteRow<'_>], cx: &Cx<'_>) -> PaletteLayout {
    let (w, h) = cx.session.page_size();
    // The frame, the typed text, and at least one row.
    let most = (h * 2 / 3).max(14).min(h.saturating_sub(2));
    let height = (rows.len().max(1) as u16 + 3).min(most);
    let list = Area {
        x: 1,
        y: 3,
        w: w.saturating_sub(2),
        h: height.saturating_sub(3),
    };
    let selected = rows
        .iter()
        .position(|row| matches!(row, PaletteRow::Offer(at, _) if *at == palette.at()))
        .unwrap_or(0);
    // The heading above the first row stays visible.
    let room = usize::from(list.h);
    let top = (selected + 1)
        .saturating_sub(room.max(1))
        .min(rows.len().saturating_sub(room));
    PaletteLayout {
        area: Area {
            x: 0,
            y: 1,
            w,
            h: height,
        },
        list,
        top,
    }
}

/// Returns the number of the row at a line of the screen.
pub(super) fn offer_at(palette: &Palette, cx: &Cx<'_>, y: u16) -> Option<usize> {
    let rows = rows(palette);
    let PaletteLayout { list, top, .. } = layout(palette, &rows, cx);
    let row = usize::from(y.checked_sub(list.y).filter(|row| *row < list.h)?);
    match rows.get(top + row)? {
        PaletteRow::Offer(at, _) => Some(*at),
        PaletteRow::Head(_) => None,
    }
}

/// Returns the rows with the headings of their groups.
fn rows(palette: &Palette) -> Vec<PaletteRow<'_>> {
    let mut rows = Vec::new();
    let mut group = Group::Typed;
    for (at, offer) in palette.offers.iter().enumerate() {
        if offer.group != group {
            group = offer.group;
            rows.push(PaletteRow::Head(match group {
                Group::Typed => String::new(),
                Group::Recent => "RECENT".into(),
                Group::Here => format!("HERE · {}", palette.place),
                Group::Elsewhere => "ELSEWHERE".into(),
            }));
        }
        rows.push(PaletteRow::Offer(at, offer));
    }
    rows
}

/// Counts the actions and commands: those that match, all, and those that match but work elsewhere.
fn counter(palette: &Palette) -> String {
    // A thread or a view that matches is no action: its line has an argument.
    let actions = palette
        .offers
        .iter()
        .filter(|offer| offer.group != Group::Typed && !offer.line.contains(' '));
    if palette
        .offers
        .iter()
        .all(|offer| offer.group == Group::Typed)
        && !palette.offers.is_empty()
    {
        return String::new();
    }
    if palette.text().trim().is_empty() {
        let shown = palette
            .offers
            .iter()
            .filter(|offer| offer.group != Group::Recent);
        return match shown.count() {
            shown if shown < palette.count => {
                format!("{shown} of {} actions · type to find more", palette.count)
            }
            _ => format!("{} actions", palette.count),
        };
    }
    let elsewhere = match actions
        .clone()
        .filter(|offer| offer.group == Group::Elsewhere)
        .count()
    {
        0 => String::new(),
        n => format!(" · {n} elsewhere"),
    };
    format!("{} of {}{elsewhere}", actions.count(), palette.count)
}

/// Returns the keys that fit.
fn keys(width: usize) -> String {
    let room = width.saturating_sub(6);
    let fitting = (1..=KEYS.len()).rev().find(|n| {
        let all: usize = KEYS.iter().take(*n).map(|key| text::width(key) + 3).sum();
        all <= room
    });
    let shown = SHOWN_KEYS
        .iter()
        .filter(|at| **at < fitting.unwrap_or(1))
        .filter_map(|at| KEYS.get(*at));
    shown.copied().collect::<Vec<_>>().join("   ")
}

/// Returns a row: the name, what it does, and its key at the right.
fn offer_line(offer: &Completion, names: usize, width: usize, is_selected: bool) -> Line {
    let (name, shown) = (
        match (is_selected, offer.group) {
            (true, _) => Tone::Strong,
            (false, Group::Elsewhere) => Tone::Dim,
            (false, _) => Tone::Plain,
        },
        text::fit(&offer.shown, names),
    );
    let mut line = Line::new();
    push_marked(&mut line, name, &shown, &offer.matched);
    line.push_plain(&" ".repeat((names + 2).saturating_sub(text::width(&shown))));
    let room = width.saturating_sub(names + 2 + text::width(&offer.key) + 3);
    let note = text::clean(&offer.note);
    match note.rsplit_once(" · ") {
        // Where it works says more than half a sentence.
        Some((_, place)) if offer.group == Group::Elsewhere && text::width(&note) > room => {
            line.push_dim(&text::fit(place, room));
        }
        // The heading of the group says it, too.
        Some((said, place)) if place.starts_with("works ") && text::width(&note) > room => {
            push_marked(
                &mut line,
                Tone::Dim,
                &text::fit(said, room),
                &offer.matched_note,
            );
        }
        _ => push_marked(
            &mut line,
            Tone::Dim,
            &text::fit(&note, room),
            &offer.matched_note,
        ),
    }
    line.right(Tone::Dim, &offer.key)
}

/// Adds a text whose matched parts are in the accent color. Parts that were cut off are ignored.
fn push_marked(line: &mut Line, tone: Tone, shown: &str, matched: &[Range<usize>]) {
    let mut parts: Vec<Range<usize>> = matched.to_vec();
    parts.sort_by_key(|part| part.start);
    let mut at = 0;
    for part in parts {
        let (Some(before), Some(marked)) = (shown.get(at..part.start), shown.get(part.clone()))
        else {
            continue;
        };
        line.push(tone, before);
        line.push_accent(marked);
        at = part.end;
    }
    line.push(tone, shown.get(at..).unwrap_or_default());
}
