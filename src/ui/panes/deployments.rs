//! The deployments of all profiles in one list.

use crate::app::layout::{Area, below};
use crate::app::line::{Line, Tone};
use crate::app::{App, Pane};
use crate::model::Revision;
use crate::text;
use crate::ui::Canvas;
use crate::ui::theme::{deployment_look, phase_look};
use jiff::Timestamp;
use std::time::Duration;

/// Draws the pane.
pub fn deployments(app: &App, canvas: &mut Canvas<'_>, area: Area) {
    let focused = app.focus == Pane::Deployments;
    let shown = app.fleet.shown();
    let used = canvas.title(area, "DEPLOYMENTS", focused);
    let mut count = Line::new();
    if app.fleet.filter.is_empty() {
        count.push(Tone::Dim, &format!("{}", shown.len()));
    } else {
        count.push(Tone::Dim, &format!("{} of {}   ", shown.len(), app.fleet.rows.len()));
        count.push(Tone::Accent, &format!("/{}", app.fleet.filter));
    }
    let ago = |at: Option<Timestamp>| at.and_then(|t| Duration::try_from(app.now - t).ok()).map(text::age);
    let stale = app.profiles.iter().filter(|p| p.error.is_some());
    for (profile, age) in stale.filter_map(|p| Some((p, ago(p.loaded_at)?))) {
        count = count.right(Tone::Moving, &format!("  {} is {age} old", profile.tag()));
    }
    canvas.line(area.x + used + 3, area.y, area.w.saturating_sub(used + 4), &count);
    let tags = app.profiles.iter().map(|p| text::width(p.tag())).max().unwrap_or(0);
    let columns = Columns::new(area.w, tags as u16);
    columns.heads(canvas, area.x, area.y + 1);
    let rows = below(area, 2);
    if shown.is_empty() {
        let (tone, words) = nothing(app);
        return canvas.words(rows, tone, &words);
    }
    let selected = app.fleet.picker.selected.as_deref();
    for (line, number) in app.fleet.picker.window(shown.len(), rows.h as usize).into_iter().enumerate() {
        let (row, y) = (shown[number], rows.y + line as u16);
        let x = rows.x;
        let stale = app.profiles.get(row.profile).is_some_and(|p| p.error.is_some());
        let name_tone = if stale { Tone::Dim } else { Tone::Plain };
        canvas.foreign(x + columns.name.0, y, columns.name.1, &row.name, name_tone);
        let region = super::region(app, row);
        canvas.foreign(x + columns.region.0, y, columns.region.1, region, Tone::Dim);
        match &row.deployment {
            Some(deployment) => {
                let (glyph, tone, word) = deployment_look(deployment.status.as_deref());
                let tone = if stale { Tone::Dim } else { tone };
                cell(canvas, x, y, columns.state, glyph, tone, &word, "");
                match app.fleet.newest.get(&row.id) {
                    Some(revision) => {
                        let (glyph, tone) = phase_look(revision.phase());
                        let tone = if stale { Tone::Dim } else { tone };
                        let age = revision_age(revision, app.now);
                        cell(canvas, x, y, columns.revision, glyph, tone, &revision.status, &age);
                    }
                    None if deployment.latest_revision_id.is_none() => {
                        canvas.foreign(x + columns.revision.0, y, columns.revision.1, "none", Tone::Dim);
                    }
                    None => {
                        canvas.foreign(x + columns.revision.0, y, columns.revision.1, "…", Tone::Dim);
                    }
                }
            }
            None => {
                let server = row.server(&app.profiles);
                let info = server.and_then(|s| app.infos.get(&s));
                let (glyph, tone, word) = match info {
                    Some(i) if i.error.is_some() => {
                        ("✗", Tone::Bad, i.error.as_ref().map_or(String::new(), |e| e.badge()))
                    }
                    Some(i) if i.value.is_some() => ("●", Tone::Good, "answers".into()),
                    _ => ("◐", Tone::Moving, "asking".to_string()),
                };
                cell(canvas, x, y, columns.state, glyph, tone, &word, "");
                canvas.foreign(x + columns.revision.0, y, columns.revision.1, "agent server", Tone::Dim);
            }
        }
        if let (Some((at, width)), Some(url)) = (columns.url, &row.url) {
            canvas.foreign(x + at, y, width, url, Tone::Dim);
        }
        if Some(row.id.as_str()) == selected {
            canvas.select(Area { h: 1, ..rows }, y, focused);
        }
    }
}

/// Glyph, word and, dim and right-aligned in its column, an age.
#[allow(clippy::too_many_arguments)]
fn cell(
    canvas: &mut Canvas<'_>,
    x: u16,
    y: u16,
    (at, width): (u16, u16),
    glyph: &str,
    tone: Tone,
    word: &str,
    age: &str,
) {
    let style = canvas.theme.style(tone);
    canvas.text(x + at, y, 1, glyph, style);
    let for_age = if age.is_empty() || width < 16 { 0 } else { 4 };
    canvas.foreign(
        x + at + 2,
        y,
        width.saturating_sub(2 + for_age),
        word,
        if tone == Tone::Dim { Tone::Dim } else { Tone::Plain },
    );
    let age_width = text::width(age) as u16;
    if age_width > 0 && for_age > 0 {
        canvas.foreign(x + at + width - age_width, y, age_width, age, Tone::Dim);
    }
}

/// How long ago a revision was made: lists are in this order.
pub(super) fn revision_age(revision: &Revision, now: Timestamp) -> String {
    revision.created_at.and_then(|t| Duration::try_from(now - t).ok()).map(text::age).unwrap_or_default()
}

fn nothing(app: &App) -> (Tone, String) {
    if !app.fleet.filter.is_empty() {
        return (
            Tone::Plain,
            format!("Nothing contains “{}”.\n\nEsc clears the filter.", text::clean(&app.fleet.filter)),
        );
    }
    if let Some(error) = app.profiles.iter().find_map(|p| p.error.as_ref()) {
        return (Tone::Bad, format!("{}\n\nr asks again, ! shows every message.", error));
    }
    if app.profiles.iter().any(|p| p.control_plane && p.loaded_at.is_none()) {
        return (Tone::Dim, "Asking the control planes…".into());
    }
    (Tone::Plain, "There are no deployments in these workspaces yet.\n\nr asks again.".into())
}

/// Offset and width of each column.
struct Columns {
    name: (u16, u16),
    region: (u16, u16),
    state: (u16, u16),
    revision: (u16, u16),
    url: Option<(u16, u16)>,
}

impl Columns {
    fn new(width: u16, tags: u16) -> Columns {
        // In little room the name matters more than the age.
        let (region, state, revision) = (tags.clamp(6, 14) + 1, 11, if width < 56 { 15 } else { 20 });
        let left = width.saturating_sub(5 + region + state + revision);
        let (name, url) = if left > 64 { (30, Some(left - 32)) } else { (left.min(40), None) };
        let at_region = 3 + name + 1;
        let at_state = at_region + region;
        let at_revision = at_state + state;
        Columns {
            name: (3, name),
            region: (at_region, region - 1),
            state: (at_state, state - 1),
            revision: (at_revision, revision - 1),
            url: url.map(|w| (at_revision + revision + 1, w)),
        }
    }

    fn heads(&self, canvas: &mut Canvas<'_>, x: u16, y: u16) {
        for ((at, width), title) in
            [(self.name, "NAME"), (self.region, "REGION"), (self.state, "STATE"), (self.revision, "NEWEST REVISION")]
        {
            canvas.foreign(x + at, y, width.max(title.len() as u16), title, Tone::Dim);
        }
        if let Some((at, width)) = self.url {
            canvas.foreign(x + at, y, width, "AGENT SERVER", Tone::Dim);
        }
    }
}
