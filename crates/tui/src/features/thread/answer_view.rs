//! The drawing of the answer card.

use super::answer::AnswerCard;
use crate::session::Cx;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;

/// Draws the card. Returns the position of the text cursor.
pub(super) fn answer(card: &AnswerCard, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let (w, h) = cx.session.size;
    let inner = cx.session.overlay_inner();
    let profile = cx.session.profile(&card.thread.server.profile);
    let region = profile.map_or(&*card.thread.server.profile, |profile| profile.tag());
    let mut label = Line::new();
    if let Some(name) = profile.and_then(|profile| profile.label.as_deref()) {
        label.push(Tone::Strong, &format!("‹{name}›"));
    }
    let drawn = card.lines(inner.w.into());
    let shown = drawn.lines.iter().skip(card.top).take(inner.h.into());
    let below = drawn.lines.len().saturating_sub(card.top + usize::from(inner.h));
    let frame = Area { x: 0, y: 1, w, h: h.saturating_sub(2) };
    canvas.frame(frame, &card.title(cx.session.now, region), &label, &keys(cx, card, below, w.into()));
    for (i, line) in shown.enumerate() {
        canvas.line(inner.x, inner.y + i as u16, inner.w, line);
    }
    let (row, column) = drawn.cursor?;
    let row = row.checked_sub(card.top).filter(|row| *row < inner.h.into())?;
    Some((inner.x + (column as u16).min(inner.w.saturating_sub(1)), inner.y + row as u16))
}

/// Returns the keys that fit, and how many lines are below the frame.
fn keys(cx: &Cx<'_>, card: &AnswerCard, below: usize, width: usize) -> String {
    let named = card.keys().into_iter().filter_map(|(id, label)| match id {
        "" => Some(label),
        id => Some(format!("{} {label}", cx.session.keymap.keys_of(id).first()?)),
    });
    let mut parts: Vec<String> = named.collect();
    if below > 0 {
        parts.insert(0, format!("↓ {below} more"));
    }
    // The key that closes the card is shown even if others don't fit.
    while parts.len() > 2 && text::width(&parts.join("   ")) + 5 > width {
        parts.remove(parts.len() - 2);
    }
    parts.join("   ")
}
