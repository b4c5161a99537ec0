//! Draws the composer of a run.

use super::composer::{Composer, Field};
use crate::session::Cx;
use crate::session::page::overlay_head;
use crate::session::run::{Warning, Where};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
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
    for (field, name, line) in
        [(Field::Assistant, "Assistant", assistant_line(cx, composer)), (Field::Where, "Where", where_line(composer))]
    {
        label(canvas, composer, field, name, area.x, y);
        canvas.line(area.x + LABELS, y, area.w.saturating_sub(LABELS), &line);
        y += 1;
    }
    label(canvas, composer, Field::Modes, "Modes", area.x, y);
    for line in mode_lines(composer, area.w.saturating_sub(LABELS) as usize) {
        canvas.line(area.x + LABELS, y, area.w.saturating_sub(LABELS), &line);
        y += 1;
    }
    y += 1;
    if let Some(warning) = composer.warning() {
        let answer = cx.session.key("stream.answer");
        let text = match warning {
            Warning::Waits => format!("The thread is waiting. A new run drops the open question; {answer} answers it."),
            Warning::MayWait => {
                format!("The thread is interrupted. A new run drops an open question; {answer} answers it.")
            }
            Warning::Active => "A run is active on this thread. A new run is queued behind it.".into(),
        };
        canvas.foreign(area.x + 1, y, area.w.saturating_sub(1), &format!("◆ {text}"), Tone::Waiting);
        y += 2;
    }
    label(canvas, composer, Field::Input, "Input", area.x, y);
    let state = match &composer.problem {
        None => Line::of(Tone::Good, "● ").with(Tone::Dim, "JSON"),
        Some(p) => {
            Line::of(Tone::Bad, "✗ ").with(Tone::Plain, &format!("line {}, column {}: {}", p.line, p.column, p.message))
        }
    };
    canvas.line(area.x + LABELS, y, area.w.saturating_sub(LABELS), &state);
    y += 1;
    let bottom = area.y + area.h;
    let room = Area { x: area.x, y, w: area.w, h: bottom.saturating_sub(y) };
    let cursor = text_area(canvas, room, &composer.input, composer.problem.as_ref());
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

fn assistant_line(cx: &Cx<'_>, composer: &Composer) -> Line {
    let failed = cx.lookup.assistants_error(&composer.server);
    match (composer.assistants.get(composer.assistant), failed) {
        (None, Some(error)) => {
            let (before, after) = composer.typed_assistant.around_cursor();
            let hint = if composer.typed_assistant.is_empty() { "type an assistant or graph name" } else { "" };
            let typed = Line::of(Tone::Strong, before)
                .with(Tone::Accent, if composer.field == Field::Assistant { "▏" } else { "" })
                .with(Tone::Strong, after)
                .with(Tone::Dim, hint);
            let failed = typed.with(Tone::Dim, "   couldn't list assistants: ").with(Tone::Bad, "✗ ");
            failed.with(Tone::Plain, &error.detail)
        }
        (None, None) => Line::of(Tone::Dim, "loading assistants…"),
        (Some((_, name)), _) => Line::of(Tone::Dim, "‹ ")
            .with(Tone::Strong, name)
            .with(Tone::Dim, &format!(" ›   {} of {}", composer.assistant + 1, composer.assistants.len())),
    }
}

fn where_line(composer: &Composer) -> Line {
    let mut line = Line::new();
    let this = composer.thread.as_deref().map(|t| format!("thread {}", text::short_id(t)));
    let choices = [
        (Where::ThisThread, this),
        (Where::NewThread, Some("a new thread".into())),
        (Where::Stateless, Some("stateless (not saved)".into())),
    ];
    for (place, name) in choices {
        let Some(name) = name else { continue };
        let chosen = composer.place == place;
        line.push(if chosen { Tone::Accent } else { Tone::Dim }, if chosen { "(x) " } else { "( ) " });
        line.push(if chosen { Tone::Plain } else { Tone::Dim }, &format!("{name}   "));
    }
    line
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
