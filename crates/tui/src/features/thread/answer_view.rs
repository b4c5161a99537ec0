//! The drawing of the answer card.

use super::answer::AnswerCard;
use crate::session::{Cx, card};
use crate::widgets::canvas::Canvas;

/// Draws the card. Returns the position of the text cursor.
pub(super) fn answer(
    card: &AnswerCard,
    cx: &Cx<'_>,
    canvas: &mut Canvas<'_>,
) -> Option<(u16, u16)> {
    let lines = card.lines(cx.session.overlay_area().w.into());
    let title = card.title(cx.session.now, &card::place(cx, &card.thread.server));
    let profile = &card.thread.server.profile;
    card::draw(
        cx,
        canvas,
        &card::Card {
            profile,
            title,
            keys: card.keys(),
            lines: &lines,
            top: card.scroll.top,
            has_pages: true,
        },
    )
}
