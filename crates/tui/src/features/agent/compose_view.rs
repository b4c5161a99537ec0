//! Draws the composer of a run.

use super::composer::{Composer, Field};
use crate::session::Cx;
use crate::session::page::overlay_head;
use crate::session::run::{Warning, Where};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, marked};
use crate::widgets::text_area_view::text_area;
use runtail_core::text;

/// Columns of the field names.
const LABELS: u16 = 12;

/// Draws the composer. Returns the position of the text cursor.
pub(super) fn compose(composer: &Composer, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let area = cx.area;
    let used = canvas.title(overlay_head(area), "NEW RUN", true);
    let (name, profile) = (text::clean(&composer.server.name), text::clean(&composer.server.profile));
    let on = if name == profile { format!("on {name}") } else { format!("on {name} ({profile})") };
    canvas.foreign(used + 3, 2, area.w.saturating_sub(used), &on, Tone::Dim);
    let mut y = area.y + 1;
    let room = area.w.saturating_sub(LABELS);
    let width = usize::from(room);
    for (field, name, lines) in [
        (Field::Assistant, "Assistant", assistant_lines(cx, composer, width)),
        (Field::Where, "Where", where_lines(composer, width)),
        (Field::Modes, "Modes", mode_lines(composer, width)),
    ] {
        label(canvas, composer, field, name, area.x, y);
        for line in lines {
            canvas.line(area.x + LABELS, y, room, &line);
            y += 1;
        }
    }
    y += 1;
    if let Some(warning) = composer.warning() {
        let answer = cx.session.key("stream.answer");
        let text = match warning {
            Warning::WaitingForInput => {
                format!("The thread is waiting. A new run discards the open question; {answer} answers it.")
            }
            Warning::MayWaitForInput => {
                format!("The thread is interrupted. A new run drops an open question; {answer} answers it.")
            }
            Warning::Active => "A run is active on this thread. A new run is queued behind it.".into(),
        };
        for line in marked((Tone::Waiting, "◆ "), Tone::Waiting, &text, area.w.saturating_sub(1).into()) {
            canvas.line(area.x + 1, y, area.w.saturating_sub(1), &line);
            y += 1;
        }
        y += 1;
    }
    label(canvas, composer, Field::Input, "Input", area.x, y);
    let state = match &composer.problem {
        None => vec![Line::of(Tone::Good, "● ").with(Tone::Dim, "JSON")],
        Some(p) => {
            let said = format!("line {}, column {}: {}", p.line, p.column, p.message);
            marked((Tone::Bad, "✗ "), Tone::Plain, &said, width)
        }
    };
    for line in state {
        canvas.line(area.x + LABELS, y, room, &line);
        y += 1;
    }
    let bottom = area.y + area.h;
    let below = Area { x: area.x, y, w: area.w, h: bottom.saturating_sub(y) };
    let cursor = text_area(canvas, below, &composer.input, composer.problem.as_ref());
    cursor.filter(|_| composer.field == Field::Input)
}

fn label(canvas: &mut Canvas<'_>, composer: &Composer, field: Field, name: &str, x: u16, y: u16) {
    let chosen = composer.field == field;
    if chosen {
        let style = canvas.theme.style(Tone::Accent);
        canvas.text(x, y, 1, "▌", style);
    }
    canvas.foreign(x + 1, y, LABELS - 1, name, if chosen { Tone::Accent } else { Tone::Dim });
}

fn assistant_lines(cx: &Cx<'_>, composer: &Composer, width: usize) -> Vec<Line> {
    let failed = cx.lookup.assistants_error(&composer.server);
    let line = match (composer.assistants.get(composer.assistant), failed) {
        (None, Some(error)) => {
            let (before, after) = composer.typed_assistant.around_cursor();
            let line = Line::of(Tone::Strong, before)
                .with(Tone::Accent, if composer.field == Field::Assistant { "▏" } else { "" })
                .with(Tone::Strong, after)
                .with(
                    Tone::Dim,
                    if composer.typed_assistant.is_empty() { "type an assistant or graph name" } else { "" },
                );
            let why = format!("couldn't list assistants: {}", error.detail);
            return [line].into_iter().chain(marked((Tone::Bad, "✗ "), Tone::Plain, &why, width)).collect();
        }
        (None, None) => Line::of(Tone::Dim, "loading assistants…"),
        (Some((_, name)), _) => Line::of(Tone::Dim, "‹ ")
            .with(Tone::Strong, name)
            .with(Tone::Dim, &format!(" ›   {} of {}", composer.assistant + 1, composer.assistants.len())),
    };
    vec![line]
}

fn where_lines(composer: &Composer, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    let this = composer.thread.as_deref().map(|t| format!("thread {}", text::short_id(t)));
    let choices = [
        (Where::ThisThread, this),
        (Where::NewThread, Some("a new thread".into())),
        (Where::Stateless, Some("stateless (not saved)".into())),
    ];
    for (place, name) in choices {
        let Some(name) = name else { continue };
        let chosen = composer.place == place;
        if lines.last().is_some_and(|l| l.width() > 0 && l.width() + 4 + text::width(&name) > width) {
            lines.push(Line::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push(if chosen { Tone::Accent } else { Tone::Dim }, if chosen { "(x) " } else { "( ) " });
            line.push(if chosen { Tone::Plain } else { Tone::Dim }, &format!("{name}   "));
        }
    }
    lines
}

fn mode_lines(composer: &Composer, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::new()];
    for (i, (name, on)) in composer.modes.iter().enumerate() {
        let taken = name.len() + 7;
        if lines.last().is_some_and(|l| l.width() + taken > width && l.width() > 0) {
            lines.push(Line::new());
        }
        let here = composer.field == Field::Modes && composer.mode_at == i;
        if let Some(line) = lines.last_mut() {
            line.push(if *on { Tone::Accent } else { Tone::Dim }, if *on { "[x] " } else { "[ ] " });
            line.push(
                if here {
                    Tone::Strong
                } else if *on {
                    Tone::Plain
                } else {
                    Tone::Dim
                },
                name,
            );
            line.push(Tone::Accent, if here { "‹  " } else { "   " });
        }
    }
    lines
}
