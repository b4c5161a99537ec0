//! Cards: forms over the whole width, as high as their lines, with their keys in the lower edge of the frame.

use super::form::FormKeys;
use super::msg::{EffectResult, ServerRef};
use super::{Component, Cx, Requests, Session};
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::form::FormScroll;
use crate::widgets::form_lines::FormLines;
use crate::widgets::line::Line;
use runtail_core::text;

/// Formats a rule as a sentence with a period. A name at its start stays as it is.
pub fn sentence(rule: &str) -> String {
    let text = text::clean(rule);
    let period = if text.ends_with(['.', '?']) { "" } else { "." };
    format!("{text}{period}")
}

/// A form of an agent server that covers the panes. It takes all keys.
pub trait FormCard: FormKeys {
    /// The context of its keys.
    const CONTEXT: Context;

    /// Returns its agent server.
    fn server(&self) -> &ServerRef;

    /// Returns the title of its frame.
    fn title(&self, cx: &Cx<'_>) -> String;

    /// Returns the ids of its keys with their labels, most useful first. Keys without an id are typed.
    fn keys(&self) -> Vec<(&'static str, String)>;

    /// Returns its lines for a screen.
    fn drawn(&self, cx: &Cx<'_>) -> FormLines;

    /// Returns its visible part.
    fn scroll(&self) -> &FormScroll<Self::Stop>;

    /// Returns its visible part, to scroll it.
    fn scroll_mut(&mut self) -> &mut FormScroll<Self::Stop>;

    /// Handles a key. Only the card's own keys, and keys that a text field doesn't accept, are not typed.
    fn act(&mut self, cx: &Cx<'_>, action: Option<Action>, key: Key) -> Requests;

    /// Applies the result of an effect, if the card asked for it.
    fn take_reply(&mut self, _reply: &EffectResult) -> Option<Requests> {
        None
    }

    /// Prepares the next frame.
    fn refresh(&mut self, _cx: &Cx<'_>) {}
}

impl<F: FormCard> Component for F {
    fn context(&self) -> Context {
        F::CONTEXT
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        Some(self.act(cx, cx.session.keymap.action(F::CONTEXT, key), key))
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        self.paste_text(text);
    }

    fn on_edited(&mut self, text: &str) {
        self.set_text(text);
    }

    fn on_drawn(&mut self) -> bool {
        self.is_editable()
    }

    fn on_reply(&mut self, _session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        self.take_reply(reply)
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.refresh(cx);
        let (drawn, focus) = (self.drawn(cx), *self.focus());
        let height = cx.session.overlay_area().h;
        self.scroll_mut().clamp(&drawn, focus, height.into());
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.server().profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let card = Card {
            profile: &self.server().profile,
            title: self.title(cx),
            keys: self.keys(),
            lines: &self.drawn(cx),
            top: self.scroll().top,
            has_pages: self.scroll().has_pages,
        };
        draw(cx, canvas, &card)
    }
}

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
    /// Whether keys scroll it by pages. Otherwise only the focus scrolls it.
    pub has_pages: bool,
}

/// Draws a card. Returns the position of the text cursor.
pub fn draw(cx: &Cx<'_>, canvas: &mut Canvas<'_>, card: &Card<'_>) -> Option<(u16, u16)> {
    let (w, h) = cx.session.page_size();
    let inner = cx.session.overlay_area();
    let mut label = Line::new();
    if let Some(name) = cx
        .session
        .profile(card.profile)
        .and_then(|profile| profile.label.as_deref())
    {
        label.push_strong(&format!("‹{name}›"));
    }
    let all = &card.lines.lines;
    let below = all.len().saturating_sub(card.top + usize::from(inner.h));
    let hidden = hidden(cx, card, below);
    let rows = (all.len() - card.top.min(all.len())).min(inner.h.into()) as u16;
    let frame = Area {
        x: 0,
        y: 1,
        w,
        h: (rows + 2).min(h.saturating_sub(2)),
    };
    canvas.frame(frame, &card.title, &label, &keys(cx, card, &hidden));
    for (i, line) in all.iter().skip(card.top).take(inner.h.into()).enumerate() {
        canvas.line(inner.x, inner.y + i as u16, inner.w, line);
    }
    let (row, column) = card.lines.cursor?;
    let row = row
        .checked_sub(card.top)
        .filter(|row| *row < inner.h.into())?;
    Some((
        inner.x + (column as u16).min(inner.w.saturating_sub(1)),
        inner.y + row as u16,
    ))
}

/// Returns the place of a server in a title: its region or profile, and its name.
pub fn place(cx: &Cx<'_>, server: &super::msg::ServerRef) -> String {
    cx.session.place(server)
}

/// Returns the keys in the lower edge of a frame that fit beside the number of lines outside of it, each with its id and its text.
pub fn in_edge(
    cx: &Cx<'_>,
    keys: &[(&'static str, String)],
    hidden: &str,
) -> Vec<(&'static str, String)> {
    let named = keys.iter().filter_map(|(id, label)| match *id {
        "" => Some(("", label.clone())),
        id => Some((
            id,
            format!("{} {label}", cx.session.keymap.keys_of(id).first()?),
        )),
    });
    let head = (!hidden.is_empty()).then(|| ("", hidden.to_string()));
    let mut parts: Vec<(&str, String)> = head.into_iter().chain(named).collect();
    let width = |said: &str| text::width(said) + 3;
    let room = usize::from(cx.session.page_size().0).saturating_sub(2);
    if parts.iter().map(|(_, said)| width(said)).sum::<usize>() <= room {
        return parts;
    }
    // The key that closes the card is shown even if others don't fit, in short.
    let Some((id, last)) = parts.pop() else {
        return parts;
    };
    let last = (id, last.split(',').next().unwrap_or_default().to_string());
    let mut used = width(&last.1);
    parts.retain(|(_, said)| {
        let fits = used + width(said) <= room;
        used += if fits { width(said) } else { 0 };
        fits
    });
    parts.push(last);
    parts
}

/// Says how many lines are above and below the frame, and which keys show them. Without such keys, only what is below counts.
fn hidden(cx: &Cx<'_>, card: &Card<'_>, below: usize) -> String {
    let above = if card.has_pages { card.top } else { 0 };
    let parts = [("↑", above, "move.page_up"), ("↓", below, "move.page_down")];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, lines, _)| *lines > 0)
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    let mut hidden: Vec<String> = parts
        .iter()
        .map(|(glyph, lines, _)| format!("{glyph} {lines}"))
        .collect();
    hidden.push("more".into());
    if card.has_pages {
        hidden.extend(
            parts
                .iter()
                .filter_map(|(.., id)| Some(cx.session.keymap.keys_of(id).first()?.to_string())),
        );
    }
    hidden.join(" ")
}

/// Returns the keys in the frame, after the lines outside of it.
fn keys(cx: &Cx<'_>, card: &Card<'_>, hidden: &str) -> String {
    in_edge(cx, &card.keys, hidden)
        .into_iter()
        .map(|(_, said)| said)
        .collect::<Vec<_>>()
        .join("   ")
}
