//! Cards: forms over the whole width, as high as their lines, with their keys in the lower edge of the frame.

use super::form::FormKeys;
use super::msg::EffectResult;
use super::page::frame_of;
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

/// A form that takes all keys.
pub trait FormCard: FormKeys {
    /// The context of its keys.
    const CONTEXT: Context;
    /// Whether it covers the page. Any other is a sheet over its lower part.
    const COVERS_PAGE: bool = false;

    /// Returns the profile of its server.
    fn of_profile(&self) -> &str;

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
    fn take_reply(&mut self, _session: &Session, _reply: &EffectResult) -> Option<Requests> {
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

    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        self.take_reply(session, reply)
    }

    fn is_sheet(&self) -> bool {
        !F::COVERS_PAGE
    }

    fn sheet_lines(&self, cx: &Cx<'_>) -> usize {
        self.drawn(cx).lines.len()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        self.refresh(cx);
        let (drawn, focus) = (self.drawn(cx), *self.focus());
        self.scroll_mut().clamp(&drawn, focus, cx.area.h.into());
    }

    fn profile(&self) -> Option<&str> {
        Some(self.of_profile())
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let inner = cx.area;
        let label = profile_label(cx, self.of_profile());
        let label = label.map_or_else(Line::new, |label| Line::strong(&label));
        let (drawn, top) = (self.drawn(cx), self.scroll().top);
        let below = drawn.lines.len().saturating_sub(top + usize::from(inner.h));
        let visible = drawn.lines.iter().skip(top).take(inner.h.into());
        let frame = Area {
            h: visible.len() as u16 + 2,
            ..frame_of(inner)
        };
        let hidden = hidden(cx, top, below, self.scroll().has_pages);
        let keys = said_in_edge(&keys_in_edge(cx, &self.keys(), &hidden));
        canvas.frame(frame, &self.title(cx), &label, &keys);
        for (i, line) in visible.enumerate() {
            canvas.line(inner.x, inner.y + i as u16, inner.w, line);
        }
        let (row, column) = drawn.cursor?;
        let row = row.checked_sub(top).filter(|row| *row < inner.h.into())?;
        Some((
            inner.x + (column as u16).min(inner.w.saturating_sub(1)),
            inner.y + row as u16,
        ))
    }
}

/// Returns the label of a profile, which tells production from others without color.
pub fn profile_label(cx: &Cx<'_>, profile: &str) -> Option<String> {
    let label = cx.session.profile(profile)?.label.as_deref()?;
    Some(format!("‹{label}›"))
}

/// Returns the keys that fit into the lower edge of a frame, beside the number of lines outside of it: each with its id and its text.
pub fn keys_in_edge(
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
    let mut parts: Vec<(&'static str, String)> = head.into_iter().chain(named).collect();
    let width = |said: &str| text::width(said) + 3;
    let room = usize::from(cx.session.page_size().0).saturating_sub(2);
    if parts.iter().map(|(_, said)| width(said)).sum::<usize>() > room
        && let Some((id, last)) = parts.pop()
    {
        // The key that closes the card is shown even if others don't fit, in short.
        let last = (id, last.split(',').next().unwrap_or_default().to_string());
        let mut used = width(&last.1);
        parts.retain(|(_, said)| {
            let fits = used + width(said) <= room;
            used += if fits { width(said) } else { 0 };
            fits
        });
        parts.push(last);
    }
    parts
}

/// Returns the text of the keys in the lower edge of a frame.
pub fn said_in_edge(keys: &[(&'static str, String)]) -> String {
    let said: Vec<&str> = keys.iter().map(|(_, said)| &**said).collect();
    said.join("   ")
}

/// Says how many lines are above and below the frame, and which keys show them. Without such keys, only what is below counts.
fn hidden(cx: &Cx<'_>, top: usize, below: usize, has_pages: bool) -> String {
    let above = if has_pages { top } else { 0 };
    let parts = [("↑", above, "move.page_up"), ("↓", below, "move.page_down")];
    let parts = parts.into_iter().filter(|(_, lines, _)| *lines > 0);
    let (mut hidden, mut keys) = (Vec::new(), vec!["more".to_string()]);
    for (glyph, lines, id) in parts {
        hidden.push(format!("{glyph} {lines}"));
        keys.extend(
            has_pages
                .then(|| cx.session.key(id))
                .filter(|key| !key.is_empty()),
        );
    }
    match hidden.is_empty() {
        true => String::new(),
        false => [hidden, keys].concat().join(" "),
    }
}
