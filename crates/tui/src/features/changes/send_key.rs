//! Decides whether a press of the send key counts.

use crate::session::{Cx, HELD_KEY, Requests};
use jiff::Timestamp;

/// The state of the send key of a preview.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SendKey {
    /// When it was pressed before the preview was visible; it may still be held down.
    held: Option<Timestamp>,
    /// Whether the preview was on the screen.
    is_seen: bool,
}

impl SendKey {
    /// Notes that a frame was drawn.
    pub fn on_drawn(&mut self, is_ready: bool) {
        self.is_seen |= is_ready;
    }

    /// Returns nothing if a press counts, else what it does instead. `is_ready`: whether there is something to send; `None`
    /// while the preview is loaded.
    pub fn refuses(&mut self, cx: &Cx<'_>, is_ready: Option<bool>) -> Option<Requests> {
        let now = cx.session.now;
        let is_held = self
            .held
            .is_some_and(|last| now.duration_since(last) < HELD_KEY);
        // A key can be faster than the next frame, and a small terminal shows nothing.
        let is_unseen = is_ready == Some(true) && !(self.is_seen && cx.session.is_drawable());
        if !(is_held || is_unseen || is_ready.is_none()) {
            return None;
        }
        self.held = Some(now);
        Some(match is_ready {
            Some(true) => Requests::info(format!(
                "Press {} again to send.",
                cx.session.key("confirm.send")
            )),
            _ => Requests::none(),
        })
    }
}
