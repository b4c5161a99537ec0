//! Draws the completions of a command line above the footer, over the panes.

use super::Palette;
use super::completions::{Completion, no_completion, offers};
use crate::session::Cx;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};

/// Maximum completions on the screen.
const MAX_SHOWN: usize = 10;
/// Minimum columns of the completions, before their descriptions.
const NAMES: usize = 24;

/// Draws the completions of the typed text.
pub(super) fn palette(palette: &Palette, cx: &Cx<'_>, canvas: &mut Canvas<'_>) {
    let (w, h) = cx.session.size;
    let offers = offers(cx, &palette.text());
    let room = MAX_SHOWN.min((h as usize).saturating_sub(8)).max(1);
    let top = (palette.at + 1).saturating_sub(room);
    let shown: Vec<(usize, &Completion)> = offers.iter().enumerate().skip(top).take(room).collect();
    let height = shown.len().max(1) as u16;
    let y = h - 2 - height;
    canvas.clear(Area { x: 0, y: y - 1, w, h: height + 1 });
    canvas.rule(y - 1, w, None, "─");
    if shown.is_empty() {
        canvas.line(2, y, w - 4, &Line::of(Tone::Dim, &no_completion(cx, &palette.text())));
    }
    // Ids are shown in full.
    let names =
        shown.iter().map(|(_, offer)| runtail_core::text::width(&offer.shown)).max().unwrap_or(0).clamp(NAMES, 48);
    for (i, (at, offer)) in shown.into_iter().enumerate() {
        let y = y + i as u16;
        let gap = " ".repeat(names.saturating_sub(runtail_core::text::width(&offer.shown)));
        let line =
            Line::of(Tone::Strong, &format!("{}{gap}", offer.shown)).with(Tone::Dim, &format!(" {}", offer.note));
        canvas.line(3, y, w.saturating_sub(5), &line);
        if at == palette.at {
            canvas.select(Area { x: 0, y, w, h: 1 }, y, true);
        }
    }
}
