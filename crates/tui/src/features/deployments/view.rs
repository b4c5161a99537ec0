//! Draws the list of deployments.

use super::Deployments;
use super::columns::{Column, Place};
use super::list::{Live, Row};
use crate::session::Cx;
use crate::session::profile::ProfileState;
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::theme::{PRODUCTION, deployment_badge, phase_glyph};
use jiff::Timestamp;
use runtail_api::{ApiError, Kind};
use runtail_core::model::{Phase, Revision};
use runtail_core::text;

/// Draws the pane.
pub(super) fn deployments(d: &Deployments, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (area, focused) = (cx.area, cx.is_focused);
    let used = canvas.title(area, "DEPLOYMENTS", focused);
    canvas.line(area.x + used + 3, area.y, area.w.saturating_sub(used + 4), &summary(d, cx));
    let columns = d.columns(cx);
    headers(d, canvas, &columns, area.x, area.y + 1);
    let rows = below(area, 2);
    let list = &d.list;
    if list.is_empty() {
        let (tone, words) = empty_state(d, cx);
        return canvas.words(rows, tone, &words);
    }
    let selected = list.picker.selected.as_deref();
    for (line, number) in list.picker.window(list.len(), rows.h as usize).into_iter().enumerate() {
        let (Some(row), y) = (list.shown(number), rows.y + line as u16) else { continue };
        let Some(profile) = cx.session.profiles.get(row.profile) else { continue };
        if profile.production {
            canvas.foreign(rows.x + 2, y, 1, PRODUCTION, Tone::Strong);
        }
        for place in &columns {
            // Outdated rows are dim; the header shows their age.
            let stale = profile.error.is_some() && row.deployment.is_some();
            let cell = cell(cx, profile, row, place.column);
            draw_cell(canvas, rows.x, y, place, cell, stale);
        }
        if list.marked.contains(&row.id) {
            canvas.foreign(rows.x, y, 1, "+", Tone::Accent);
        } else if d.watches.keys().any(|w| w.profile == row.profile_name && row.is(&w.deployment)) {
            canvas.foreign(rows.x, y, 1, "»", Tone::Accent);
        }
        if Some(row.id.as_str()) == selected {
            canvas.select(Area { h: 1, ..rows }, y, focused);
        }
    }
}

/// Returns the number of deployments, and how many need attention. The header shows their age for each profile.
fn summary(d: &Deployments, cx: &Cx<'_>) -> Line {
    let list = &d.list;
    let mut line = Line::new();
    let is_unread = |p: &ProfileState| p.loaded_at.is_none() && (p.is_first_load || p.error.is_some());
    if list.rows.is_empty() && !cx.session.profiles.is_empty() && cx.session.profiles.iter().all(is_unread) {
        // The number of deployments is unknown.
    } else if list.filter().is_empty() {
        line.push(Tone::Dim, &text::count(list.rows.len() as u64));
    } else {
        line.push(Tone::Dim, &format!("{} of {}", text::count(list.len() as u64), text::count(list.rows.len() as u64)));
    }
    if cx.session.profiles.iter().any(|p| p.is_first_load && p.loaded_at.is_none()) {
        line.push(Tone::Dim, " so far");
    }
    let (mut failed, mut moving) = (0, 0);
    for revision in list.rows.iter().filter_map(|row| row.newest.as_ref()) {
        match revision.phase() {
            Phase::Failed => failed += 1,
            Phase::Moving | Phase::Waiting | Phase::Unknown => moving += 1,
            Phase::Deployed | Phase::Skipped | Phase::Interrupted => {}
        }
    }
    for (count, phase) in [(failed, Phase::Failed), (moving, Phase::Moving)] {
        if count > 0 {
            let (glyph, tone) = phase_glyph(phase);
            line.push(tone, &format!("   {glyph} "));
            line.push(Tone::Plain, &text::count(count));
        }
    }
    if !list.marked.is_empty() {
        line.push(Tone::Accent, &format!("   {} marked", list.marked.len()));
    }
    if !list.filter().text().is_empty() {
        line.push(Tone::Accent, &format!("   /{}", list.filter().text()));
    }
    line
}

fn headers(d: &Deployments, canvas: &mut Canvas<'_>, columns: &[Place], x: u16, y: u16) {
    let sort = d.list.sort();
    for place in columns {
        let sorts = place.column == sort.column;
        let tone = if sorts { Tone::Plain } else { Tone::Dim };
        let title = place.column.title();
        let mark = match (sorts, sort.reversed) {
            (true, false) => "▾",
            (true, true) => "▴",
            _ => "",
        };
        let room = place.width.saturating_sub(u16::from(sorts));
        let at = match place.column {
            Column::Age => x + place.x + place.width.saturating_sub(title.len() as u16 + u16::from(sorts)),
            _ => x + place.x,
        };
        let used = canvas.foreign(at, y, room, title, tone);
        canvas.foreign(at + used, y, 1, mark, Tone::Accent);
    }
}

/// The content of a cell: a glyph with its tone for a status, a text, and an age.
struct Cell {
    glyph: Option<(&'static str, Tone)>,
    text: String,
    tone: Tone,
    age: String,
}

impl Cell {
    fn of(tone: Tone, text: impl Into<String>) -> Cell {
        Cell { glyph: None, text: text.into(), tone, age: String::new() }
    }

    fn state(glyph: &'static str, tone: Tone, text: impl Into<String>) -> Cell {
        let plain = if tone == Tone::Dim { Tone::Dim } else { Tone::Plain };
        Cell { glyph: Some((glyph, tone)), ..Cell::of(plain, text) }
    }
}

fn cell(cx: &Cx<'_>, profile: &ProfileState, row: &Row, column: Column) -> Cell {
    let Some(deployment) = &row.deployment else { return server_cell(cx, row, column) };
    let text = |text: Option<&str>| Cell::of(Tone::Dim, text.unwrap_or("-"));
    match column {
        Column::Name => Cell::of(Tone::Plain, &row.name),
        Column::Region => Cell::of(Tone::Dim, &*row.tag),
        Column::Profile => Cell::of(Tone::Dim, &*row.profile_name),
        Column::State if row.gone => Cell::state("■", Tone::Dim, "gone"),
        Column::Newest | Column::Live if row.gone => Cell::of(Tone::Dim, "-"),
        Column::State => {
            let (glyph, tone, word) = deployment_badge(deployment.status.as_deref());
            Cell::state(glyph, tone, word)
        }
        Column::Newest => newest(cx, profile, row),
        Column::Live => {
            let tone = if row.live() == Live::Older { Tone::Plain } else { Tone::Dim };
            Cell::of(tone, row.live().word())
        }
        Column::Age => {
            let age = deployment.created_at.map(|at| text::age(profile.since(at, cx.session.now)));
            Cell { age: age.unwrap_or_else(|| "-".into()), ..Cell::of(Tone::Dim, "") }
        }
        Column::Type => text(deployment.deployment_type.as_deref()),
        Column::Source => text(deployment.source.as_deref()),
        Column::Url => text(row.url.as_deref()),
    }
}

fn newest(cx: &Cx<'_>, profile: &ProfileState, row: &Row) -> Cell {
    match (&row.newest, &row.newest_error) {
        (Some(revision), _) => {
            let (glyph, tone) = phase_glyph(revision.phase());
            let word = if revision.status.is_empty() { "no status" } else { &revision.status };
            Cell { age: revision_age(profile, revision, cx.session.now), ..Cell::state(glyph, tone, word) }
        }
        (None, Some(error)) => Cell::of(Tone::Dim, format!("? {}", error.badge())),
        (None, None) if row.newest_id().is_none() => Cell::of(Tone::Dim, "-"),
        (None, None) if profile.halted => Cell::of(Tone::Dim, "not loaded"),
        (None, None) => Cell::of(Tone::Dim, "…"),
    }
}

/// An agent server without a control plane.
fn server_cell(cx: &Cx<'_>, row: &Row, column: Column) -> Cell {
    match column {
        Column::Name => Cell::of(Tone::Plain, &row.name),
        Column::Profile => Cell::of(Tone::Dim, &*row.profile_name),
        Column::Region => Cell::of(Tone::Dim, region(cx, row)),
        Column::State => {
            let info = row.server(&cx.session.profiles).and_then(|server| cx.lookup.server_info(&server));
            match info.map(|i| (&i.error, &i.value)) {
                Some((Some(error), _)) if matches!(error.kind, Kind::NoConnection | Kind::Network) => {
                    Cell::state("✗", Tone::Bad, "down")
                }
                Some((Some(error), _)) => Cell::state("✗", Tone::Bad, error.badge()),
                Some((None, Some(_))) => Cell::state("●", Tone::Good, "up"),
                _ => Cell::state("◐", Tone::Moving, "checking"),
            }
        }
        Column::Newest => Cell::of(Tone::Dim, "-"),
        Column::Url => Cell::of(Tone::Dim, row.url.as_deref().unwrap_or("-")),
        _ => Cell::of(Tone::Dim, ""),
    }
}

fn draw_cell(canvas: &mut Canvas<'_>, x: u16, y: u16, place: &Place, cell: Cell, stale: bool) {
    let tone = |tone| if stale { Tone::Dim } else { tone };
    let (mut at, mut room) = (x + place.x, place.width);
    // An age is right-aligned, in a column of its own.
    let age = text::width(&cell.age) as u16;
    let for_age = if age == 0 || (place.column == Column::Newest && room < 16) { 0 } else { age.max(4) };
    if for_age > 0 {
        canvas.foreign(at + room.saturating_sub(age), y, age.min(room), &cell.age, Tone::Dim);
        room = room.saturating_sub(for_age);
    }
    if let Some((glyph, look)) = cell.glyph {
        canvas.foreign(at, y, 1, glyph, tone(look));
        (at, room) = (at + 2, room.saturating_sub(2));
    }
    canvas.foreign(at, y, room, &cell.text, tone(cell.tone));
}

/// Returns the age of a revision since its creation, by which lists are sorted.
pub(super) fn revision_age(profile: &ProfileState, revision: &Revision, now: Timestamp) -> String {
    revision.created_at.map(|at| text::age(profile.since(at, now))).unwrap_or_default()
}

fn empty_state(d: &Deployments, cx: &Cx<'_>) -> (Tone, String) {
    if !d.list.filter().is_empty() {
        let fields = super::columns::FIELDS.join(", ");
        let filter = text::clean(d.list.filter().text()).into_owned();
        return (
            Tone::Plain,
            format!(
                "No match for “{filter}”.\n\nPress Esc to clear the filter. word matches any field, field:word one of \
                 {fields}; !word excludes."
            ),
        );
    }
    let errors: Vec<String> = cx
        .session
        .profiles
        .iter()
        .filter_map(|p| p.error.as_ref().or(p.partial.as_ref()))
        .map(ApiError::story)
        .collect();
    if !errors.is_empty() {
        return (Tone::Bad, format!("{}\n\nPress r to retry, ! for all notices.", errors.join("\n")));
    }
    if cx.session.profiles.is_empty() {
        return (Tone::Plain, "No profile is in use.\n\nPress p for profiles.".into());
    }
    if cx.session.profiles.iter().any(|p| p.control_plane && p.loaded_at.is_none()) {
        return (Tone::Dim, "Loading deployments…".into());
    }
    (Tone::Plain, "No deployments in these workspaces yet.\n\nPress r to refresh.".into())
}

/// Returns the region tag of a row; empty for an agent server without a control plane, if no other profile is in use.
pub(super) fn region<'a>(cx: &Cx<'a>, row: &Row) -> &'a str {
    let profiles = &cx.session.profiles;
    // Servers of several profiles often have the same name.
    let has_tag = |p: &&ProfileState| p.control_plane || row.deployment.is_some() || profiles.len() > 1;
    profiles.get(row.profile).filter(has_tag).map(|p| p.tag()).unwrap_or("")
}
