//! What lies over the panes: help, messages, a JSON document, the composer.

use super::Canvas;
use crate::app::composer::{Composer, Field, Where};
use crate::app::layout::Area;
use crate::app::line::{Line, Tone};
use crate::app::scroll::{Flat, Place, window};
use crate::app::{App, Overlay, Page};
use crate::text;

/// Draws a page of lines or a document.
pub fn page(app: &App, overlay: &Overlay, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let area = app.overlay_area();
    let head = Area { x: 1, y: 2, w: area.w, h: 1 };
    match overlay {
        Overlay::Page(page, place) => {
            let (title, about) = match page {
                Page::Help => ("KEYS", String::new()),
                Page::Notices => ("MESSAGES", String::new()),
                Page::Explain(explained) => {
                    ("REVISION", format!("{} › {}", explained.name, text::short_id(&explained.of.revision)))
                }
                Page::Difference { title, .. } => ("DIFFERENCE", title.clone()),
            };
            let used = canvas.title(head, title, true);
            canvas.foreign(head.x + used + 3, head.y, head.w.saturating_sub(used + 3), &about, Tone::Plain);
            lines(canvas, area, place, &app.page_lines(page));
        }
        Overlay::Inspect { title, tree } => {
            let used = canvas.title(head, &text::clean(title), true);
            if let Some((at, count)) = tree.search_place() {
                let found = format!("/{}   {at} of {count}", tree.search_text());
                canvas.foreign(head.x + used + 3, head.y, head.w.saturating_sub(used + 3), &found, Tone::Accent);
            }
            for (i, spot) in window(&**tree, tree.place.top, area.h as usize).enumerate() {
                let y = area.y + i as u16;
                canvas.line(area.x + 2, y, area.w.saturating_sub(2), &tree.line(spot));
                if spot == tree.place.cursor {
                    let style = canvas.theme.style(Tone::Accent);
                    canvas.text(area.x, y, 1, "▌", style);
                }
            }
        }
        Overlay::Compose(_) => {}
    }
    None
}

fn lines(canvas: &mut Canvas<'_>, area: Area, place: &Place, lines: &[Line]) {
    let rows = Flat { first: 0, end: lines.len() as u64 };
    for (i, spot) in window(&rows, place.top, area.h as usize).enumerate() {
        if let Some(line) = lines.get(spot.key as usize) {
            canvas.line(area.x, area.y + i as u16, area.w, line);
        }
    }
}

/// Columns of the field names.
const LABELS: u16 = 12;

/// Draws the composer; says where the text cursor is.
pub fn compose(app: &App, composer: &Composer, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let area = app.overlay_area();
    let title = if composer.resumes() { "ANSWER THE INTERRUPT" } else { "NEW RUN" };
    let used = canvas.title(Area { x: 1, y: 2, w: area.w, h: 1 }, title, true);
    let on = format!("on {} ({})", text::clean(&composer.server.name), text::clean(&composer.server.profile));
    canvas.foreign(used + 3, 2, area.w.saturating_sub(used), &on, Tone::Dim);
    let mut y = area.y + 1;
    for (field, name, line) in
        [(Field::Assistant, "Assistant", assistant_line(app, composer)), (Field::Where, "Where", where_line(composer))]
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
    if let Some(question) = composer.question.as_ref().filter(|q| composer.resumes() && !q.is_empty()) {
        canvas.foreign(area.x + 1, y, LABELS - 1, "It waits for", Tone::Dim);
        canvas.foreign(area.x + LABELS + 2, y, area.w.saturating_sub(LABELS + 2), question, Tone::Moving);
        y += 2;
    }
    label(canvas, composer, Field::Input, if composer.resumes() { "Answer" } else { "Input" }, area.x, y);
    let state = match &composer.problem {
        None => Line::of(Tone::Good, "● ").with(Tone::Dim, "JSON"),
        Some(p) => {
            Line::of(Tone::Bad, "✗ ").with(Tone::Plain, &format!("line {}, column {}: {}", p.line, p.column, p.message))
        }
    };
    canvas.line(area.x + LABELS, y, area.w.saturating_sub(LABELS), &state);
    y += 1;
    let bottom = area.y + area.h;
    let cursor = input(composer, canvas, Area { x: area.x, y, w: area.w, h: bottom.saturating_sub(y + 2) });
    let button = if composer.field == Field::Start { Tone::Accent } else { Tone::Plain };
    let start = app.keymap.keys_of("composer.start").first().map(|k| k.to_string()).unwrap_or_default();
    let button =
        Line::of(button, if composer.field == Field::Start { "▌[ Start the run ]" } else { " [ Start the run ]" })
            .with(Tone::Dim, &format!("  {start} starts it from anywhere"));
    canvas.line(area.x, bottom.saturating_sub(1), area.w, &button);
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

fn assistant_line(app: &App, composer: &Composer) -> Line {
    let server = app.server.as_ref().filter(|s| s.server == composer.server);
    let failed = server.and_then(|s| s.assistants.error.as_ref());
    match (composer.assistants.get(composer.assistant), failed) {
        (None, Some(error)) => {
            Line::of(Tone::Bad, "✗ ").with(Tone::Plain, &error.detail).with(Tone::Dim, "  Esc, r asks again")
        }
        (None, None) => Line::of(Tone::Dim, "asking the server for its assistants…"),
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
        (Where::Stateless, Some("stateless, nothing is kept".into())),
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

/// The text with line numbers, the mark where it is wrong, and the cursor.
fn input(composer: &Composer, canvas: &mut Canvas<'_>, area: Area) -> Option<(u16, u16)> {
    let (row, col) = composer.input.cursor();
    let lines = composer.input.lines();
    // The mark takes a line of its own.
    let height = area.h.saturating_sub(1).max(1) as usize;
    let top = (row + 1).saturating_sub(height);
    let width = area.w.saturating_sub(6);
    let head = lines.get(row).and_then(|l| l.get(..col)).unwrap_or("");
    let shift = (text::width(&text::clean(head)) + 1).saturating_sub(width as usize);
    let mut cursor = None;
    let mut y = area.y;
    for (number, line) in lines.iter().enumerate().skip(top).take(height) {
        if y >= area.y + area.h {
            break;
        }
        canvas.foreign(area.x, y, 4, &format!("{:>3} ", number + 1), Tone::Dim);
        let shown = text::clean(line);
        let visible: String = if shift > 0 && number == row { skip_columns(&shown, shift) } else { shown.into_owned() };
        canvas.foreign(area.x + 5, y, width, &visible, Tone::Plain);
        if number == row {
            cursor = Some((area.x + 5 + text::width(&text::clean(head)).saturating_sub(shift) as u16, y));
        }
        y += 1;
        if let Some(problem) = composer.problem.as_ref().filter(|p| p.line == number + 1)
            && y < area.y + area.h
        {
            let before = line.get(..problem.column.saturating_sub(1)).unwrap_or(line);
            let at = text::width(&text::clean(before)).saturating_sub(if number == row { shift } else { 0 });
            let style = canvas.theme.style(Tone::Bad);
            if (at as u16) < width {
                canvas.text(area.x + 5 + at as u16, y, 1, "^", style);
            }
            y += 1;
        }
    }
    cursor
}

fn skip_columns(text: &str, columns: usize) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    let mut used = 0;
    text.graphemes(true)
        .skip_while(|g| {
            let skip = used < columns;
            used += text::width(g);
            skip
        })
        .collect()
}
