//! A command being typed: those that fit stand above the footer, over what one was looking at.

use crate::app::App;
use crate::app::commands::Palette;
use crate::app::layout::Area;
use crate::app::line::{Line, Tone};
use crate::ui::Canvas;

/// Most commands that are shown at once.
const MOST: usize = 10;

/// Draws those that fit what was typed.
pub fn palette(app: &App, palette: &Palette, canvas: &mut Canvas<'_>) {
    let (w, h) = app.size;
    let fitting = palette.fitting();
    let room = MOST.min((h as usize).saturating_sub(8)).max(1);
    let top = (palette.at + 1).saturating_sub(room);
    let shown: Vec<_> = fitting.iter().enumerate().skip(top).take(room).collect();
    let height = shown.len().max(1) as u16;
    let y = h - 2 - height;
    canvas.clear(Area { x: 0, y: y - 1, w, h: height + 1 });
    canvas.rule(y - 1, w, None, "─");
    if shown.is_empty() {
        canvas.line(2, y, w - 4, &Line::of(Tone::Dim, "There is no such command."));
    }
    for (i, (at, command)) in shown.into_iter().enumerate() {
        let y = y + i as u16;
        let name = format!("{} {}", command.name, command.argument);
        let line = Line::of(Tone::Strong, &format!("{name:<24}")).with(Tone::Dim, command.help);
        canvas.line(3, y, w.saturating_sub(5), &line);
        if at == palette.at {
            canvas.select(Area { x: 0, y, w, h: 1 }, y, true);
        }
    }
}
