//! The frame of a card: a form that covers the screen, with its keys in the lower edge.

use super::Cx;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::form_lines::FormLines;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;

/// A card to draw.
pub struct Card<'a> {
    /// The profile of its server.
    pub profile: &'a str,
    pub title: String,
    /// The ids of keys with their labels, most useful first. Keys without an id are typed.
    pub keys: Vec<(&'static str, String)>,
    pub lines: &'a FormLines,
    /// The first visible line.
    pub top: usize,
}

/// Draws a card. Returns the position of the text cursor.
pub fn draw(cx: &Cx<'_>, canvas: &mut Canvas<'_>, card: &Card<'_>) -> Option<(u16, u16)> {
    let (w, h) = cx.session.size;
    let inner = cx.session.overlay_area();
    let mut label = Line::new();
    if let Some(name) = cx.session.profile(card.profile).and_then(|profile| profile.label.as_deref()) {
        label.push(Tone::Strong, &format!("‹{name}›"));
    }
    let all = &card.lines.lines;
    let below = all.len().saturating_sub(card.top + usize::from(inner.h));
    let frame = Area { x: 0, y: 1, w, h: h.saturating_sub(2) };
    canvas.frame(frame, &card.title, &label, &keys(cx, card, below, w.into()));
    for (i, line) in all.iter().skip(card.top).take(inner.h.into()).enumerate() {
        canvas.line(inner.x, inner.y + i as u16, inner.w, line);
    }
    let (row, column) = card.lines.cursor?;
    let row = row.checked_sub(card.top).filter(|row| *row < inner.h.into())?;
    Some((inner.x + (column as u16).min(inner.w.saturating_sub(1)), inner.y + row as u16))
}

/// Returns the place of a server in a title: its region or profile, and its name.
pub fn place(cx: &Cx<'_>, server: &super::msg::ServerRef) -> String {
    cx.session.place(server)
}

/// Returns the keys that fit, and how many lines are below the frame.
fn keys(cx: &Cx<'_>, card: &Card<'_>, below: usize, width: usize) -> String {
    let named = card.keys.iter().filter_map(|(id, label)| match *id {
        "" => Some(label.clone()),
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
