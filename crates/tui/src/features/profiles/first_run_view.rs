//! Draws the first-run screen: the choices with what is known of each, and the outcome of the last one.

use super::first_run::{Choice, FirstRun, ServerSearch};
use crate::session::Cx;
use crate::session::catalog::{Catalog, KEY_VARIABLE};
use crate::widgets::canvas::Canvas;
use crate::widgets::form_lines::{framed, padded};
use crate::widgets::line::{Line, Tone, wrap, wrap_indented};
use runtail_core::text;

/// Width from which the screen is centered.
const WIDE: u16 = 100;
/// Columns of the choices when the screen is centered: mark, number, name and reason.
const BLOCK: u16 = 74;
/// Column of the names behind mark and number.
const NAME: usize = 5;
/// Columns of the names.
const NAMES: usize = 32;
/// The same on a narrow screen.
const NAMES_NARROW: usize = 26;

/// Draws the screen. Returns the position of the cursor while an address is typed.
pub(super) fn draw(screen: &FirstRun, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let area = cx.area;
    let is_wide = area.w >= WIDE;
    let left = if is_wide {
        area.x + (area.w - BLOCK) / 2
    } else {
        area.x
    };
    let width = (area.x + area.w).saturating_sub(left);
    let names = if is_wide { NAMES } else { NAMES_NARROW };
    let text_width = usize::from(width).saturating_sub(1);
    let indent = |line: &str, tone| Line::of(tone, &format!(" {line}"));
    let mut lines: Vec<Line> = wrap(
        "Runtail shows LangSmith deployments and LangGraph threads.",
        text_width,
    )
    .iter()
    .map(|line| indent(line, Tone::Plain))
    .collect();
    lines.push(Line::new());
    let mut cursor = None;
    for (n, choice) in screen.choices().iter().enumerate() {
        let is_selected = n == screen.selected;
        let mut line = Line::accent(if is_selected { "▌ " } else { "  " });
        line.push_dim(&format!("{}  ", n + 1));
        let (name, tone, about) = label_of(screen, &cx.session.catalog, *choice);
        line.push(
            if is_selected {
                Tone::Strong
            } else {
                Tone::Plain
            },
            &padded(&name, names),
        );
        match screen.typing.as_ref().filter(|(of, _)| of == choice) {
            Some((_, typed)) => {
                let room = usize::from(width)
                    .saturating_sub(NAME + names + 4)
                    .clamp(8, 46);
                let mut part = framed(line, Tone::Plain, typed, room, is_selected);
                cursor = part.cursor.map(|(_, column)| (lines.len(), column));
                line = part.lines.remove(0);
            }
            None => line.push(tone, &about),
        }
        lines.push(line);
    }
    lines.push(Line::new());
    lines.push(indent("Writes nothing without confirmation.", Tone::Plain));
    let outcome = outcome(screen, cx, text_width);
    if !outcome.is_empty() {
        lines.push(Line::new());
        lines.extend(outcome);
    }
    let spare = area.h.saturating_sub(lines.len() as u16);
    let top = area.y + if is_wide { spare / 3 } else { spare.min(1) };
    for (i, line) in lines
        .iter()
        .enumerate()
        .take(usize::from((area.y + area.h).saturating_sub(top)))
    {
        canvas.line(left, top + i as u16, width, line);
    }
    cursor.map(|(row, column)| (left + column as u16, top + row as u16))
}

/// The name of the choice of a local server, before one is found.
const LOCAL: &str = "Open a local server";

/// Returns the name of a choice and what is known of it.
fn label_of(screen: &FirstRun, catalog: &Catalog, choice: Choice) -> (String, Tone, String) {
    let plain = |name: &str, about: &str| (name.to_string(), Tone::Dim, about.to_string());
    match choice {
        Choice::Demo => {
            let (tone, about) = match screen.is_demo_starting {
                true => (Tone::Moving, "◐ starting simulated servers…"),
                false => (Tone::Dim, "simulated deployments and threads, no account"),
            };
            ("Try the demo".into(), tone, about.into())
        }
        Choice::Local => match &screen.local {
            ServerSearch::Running => plain(LOCAL, "looking for one…"),
            ServerSearch::NotFound => plain(LOCAL, "none on ports 2024, 8123, 2026 · ⏎ retry"),
            ServerSearch::Found(server) => {
                let address = server
                    .url
                    .trim_start_matches("http://")
                    .trim_end_matches('/');
                let count = match server.assistants {
                    None => String::new(),
                    Some(count) => format!(" · {}", text::counted(count, "assistant")),
                };
                (
                    format!("Open {address}"),
                    Tone::Dim,
                    format!("local server found{count}"),
                )
            }
        },
        Choice::LangSmith => {
            let set = if catalog.origin.has_key {
                "is set"
            } else {
                "isn't set"
            };
            plain(
                "Connect to LangSmith",
                &format!("{KEY_VARIABLE} {set} · choose a region"),
            )
        }
        Choice::Import => match &screen.importable {
            None => plain("Import profiles", ""),
            Some(found) => plain(
                &format!("Import {}", text::counted(found.count, "profile")),
                &format!("from {}", text::clean(&found.files)),
            ),
        },
        Choice::Other => {
            let entered = match &*screen.entered {
                "" => "enter its URL".into(),
                entered => text::clean(entered),
            };
            plain("Open another server", &entered)
        }
    }
}

/// Returns the problem of the last choice or of the file, or the state of the test that is running.
fn outcome(screen: &FirstRun, cx: &Cx<'_>, width: usize) -> Vec<Line> {
    let catalog = &cx.session.catalog;
    let mut lines = Vec::new();
    let mut add = |tone, mark: &str, text: &str| {
        let parts = wrap_indented(text, width.saturating_sub(2));
        lines.extend(parts.iter().enumerate().map(|(i, part)| {
            let mark = if i == 0 { mark } else { "  " };
            Line::of(tone, &format!(" {mark}")).with_plain(part)
        }));
    };
    if let Some(problem) = &screen.problem {
        add(Tone::Bad, "✗ ", problem);
    }
    if let Some(known) = catalog.first_typed() {
        let name = &known.profile.name;
        if known.running_test.is_some() {
            add(Tone::Moving, "◐ ", &format!("checking {name}…"));
        }
        if let Some(error) = known.failure() {
            add(Tone::Bad, "✗ ", &error.story());
            let (anyway, save) = ("first_run.anyway", "first_run.save");
            let [anyway, save] = [anyway, save].map(|id| cx.session.key(id));
            let said = format!("{anyway} uses {name} anyway, {save} saves it.");
            add(Tone::Plain, "  ", &said);
        }
    }
    if let Some(problem) = &catalog.problem {
        add(Tone::Bad, "✗ ", &problem.to_string());
    }
    lines
}
