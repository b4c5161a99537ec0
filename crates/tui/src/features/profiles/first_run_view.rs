//! Draws the first-run screen: what is missing, the settings of a profile, and the choices.

use super::first_run::{CHOICES, Choice};
use crate::session::Cx;
use crate::session::catalog::{Catalog, KEY_VARIABLE};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use runtail_api::ApiError;

/// Columns of the names on the left.
const NAMES: usize = 12;

/// Draws the screen.
pub(super) fn first_run(choice: usize, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let area = cx.area;
    let catalog = &cx.session.catalog;
    canvas.title(Area { x: 1, y: 2, w: area.w, h: 1 }, "Not configured yet", true);
    let width = usize::from(area.w);
    let mut lines = missing(catalog, width);
    lines.extend(needed(width));
    let top = lines.len() as u16;
    for (i, line) in lines.iter().enumerate().take(usize::from(area.h)) {
        canvas.line(area.x, area.y + i as u16, area.w, line);
    }
    for (i, (name, about)) in CHOICES.iter().map(|choice| label_of(catalog, *choice)).enumerate() {
        let y = area.y + top + i as u16;
        canvas.line(area.x, y, area.w, &Line::of(Tone::Strong, &format!("{name:<26}")).with(Tone::Dim, &about));
        if i == choice {
            canvas.select(Area { x: area.x.saturating_sub(2), y, w: area.w + 2, h: 1 }, y, true);
        }
    }
    let below = top + CHOICES.len() as u16 + 1;
    for (i, line) in outcome(catalog, width).iter().enumerate().take(usize::from(area.h.saturating_sub(below))) {
        canvas.line(area.x, area.y + below + i as u16, area.w, line);
    }
}

/// Returns the places that have no configuration.
fn missing(catalog: &Catalog, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let origin = &catalog.origin;
    let file = origin.file.as_ref().map_or_else(|| "no home directory found".to_string(), |f| f.display().to_string());
    match &catalog.problem {
        Some(problem) => field(&mut lines, Tone::Bad, "the file", &problem.to_string(), width),
        None => field(&mut lines, Tone::Plain, "no profile", &format!("in {file}"), width),
    }
    if !origin.has_key {
        field(&mut lines, Tone::Plain, "not set", KEY_VARIABLE, width);
    }
    lines.push(Line::new());
    lines
}

/// Returns the settings that a profile needs.
fn needed(width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, text) in [
        ("server", "region = \"us\" (or eu, apac, aws); url = \"https://…\" for a self-hosted instance"),
        (
            "the key",
            "api_key_env = \"VARIABLE\", api_key_file = \"FILE\" that only you can read (chmod 600), or \
                     api_key_command = [\"pass\", \"show\", \"langsmith\"]; never the key itself",
        ),
        ("workspace", "workspace = \"UUID\", only for organization-scoped keys"),
    ] {
        field(&mut lines, Tone::Plain, name, text, width);
    }
    lines.push(Line::new());
    lines
}

fn field(lines: &mut Vec<Line>, tone: Tone, name: &str, value: &str, width: usize) {
    for (i, text) in wrap(value, width.saturating_sub(NAMES)).iter().enumerate() {
        let name = if i == 0 { name } else { "" };
        lines.push(Line::of(Tone::Dim, &format!("{name:<NAMES$}")).with(tone, text));
    }
}

fn label_of(catalog: &Catalog, choice: Choice) -> (&'static str, String) {
    match choice {
        Choice::Write => ("Write a profile", "checked, then used for this session".into()),
        Choice::Usual => {
            let set = if catalog.origin.has_key { "" } else { " (not set)" };
            ("Use region us", format!("with {KEY_VARIABLE}{set}"))
        }
        Choice::Quit => ("Quit", "no account? Run runtail --demo".into()),
    }
}

/// Returns the state of the typed profile, and what happens to it.
fn outcome(catalog: &Catalog, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |tone, text: &str| lines.extend(wrap(text, width).iter().map(|text| Line::of(tone, text)));
    match catalog.first_typed().map(|known| (known, &known.running_test, &known.last_test)) {
        Some((known, Some(_), _)) => add(Tone::Moving, &format!("◐ checking {}…", known.profile.name)),
        Some((_, None, Some((_, Err(error))))) => {
            let story = ApiError::story(error);
            let (first, rest) = story.split_once('\n').unwrap_or((&story, ""));
            add(Tone::Bad, &format!("✗ {first}"));
            if !rest.is_empty() {
                add(Tone::Plain, rest);
            }
            add(Tone::Dim, "Choose “Write a profile” to edit it, press u to use it anyway, s to save it.");
        }
        _ => add(Tone::Dim, "Nothing is written until you save. New config files are picked up automatically."),
    }
    lines
}
