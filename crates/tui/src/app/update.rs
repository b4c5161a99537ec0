//! How the state changes: one message, its time, and the effects that follow. Nothing else changes it.

use super::App;
use super::mouse::{click, drag, wheel};
use crate::session::msg::{Effect, EffectResult, Msg};

/// Takes a message.
///
/// Data that arrives is only taken in: laying it out waits for [`App::relayout`], which a frame or the next key asks for, so
/// a fast stream costs one layout a frame and not one a batch.
pub fn update(app: &mut App, at: jiff::Timestamp, msg: Msg) -> Vec<Effect> {
    let mut effects = route(app, at, msg);
    effects.extend(app.stream.record_on(app.session.now));
    effects
}

fn route(app: &mut App, at: jiff::Timestamp, msg: Msg) -> Vec<Effect> {
    app.session.now = at;
    if !matches!(msg, Msg::Answer { .. }) {
        app.relayout();
    }
    let effects = match msg {
        Msg::Answer { key, epoch, answer } => {
            return match super::subscriptions::is_needed(app, &key, epoch) {
                true => app.on_event(key, answer),
                // An answer to a poll that was stopped, or started again.
                false => Vec::new(),
            };
        }
        Msg::Key(key) => {
            let before = app.session.notified;
            let effects = app.handle_key(key);
            app.leave_notice(before);
            effects
        }
        Msg::Paste(text) => app.handle_paste(&text),
        Msg::Resize(w, h) => {
            app.session.size = (w, h);
            // The frozen frame had another size.
            app.frozen = false;
            Vec::new()
        }
        Msg::Wheel { .. } | Msg::Click { .. } | Msg::Drag { .. } if app.frozen => Vec::new(),
        Msg::Wheel { lines, x, y } => wheel(app, lines, x, y),
        Msg::Click { x, y } => click(app, x, y),
        Msg::Drag { x, .. } => drag(app, x),
        Msg::Tick => {
            let requests = app.with_top(|top, cx| top.on_tick(cx)).unwrap_or_default();
            app.apply(requests)
        }
        Msg::Focus(is_focused) => {
            app.session.window_focused = is_focused;
            Vec::new()
        }
        Msg::Edited(Ok(text)) => {
            if let Some(top) = app.overlays.last_mut() {
                top.on_edited(&text);
            }
            Vec::new()
        }
        Msg::Edited(Err(why)) => {
            app.notify(true, why);
            Vec::new()
        }
        Msg::Done { since, done } if app.is_current(done.profile(), since) => app.on_result(done),
        // What was changed is told, but there is nothing to be followed any more.
        Msg::Done { done: EffectResult::Sent(_, Ok(made)), .. } => {
            app.notify(
                false,
                format!("{} Its profile now points to another server, so it can no longer be tracked.", made.said),
            );
            Vec::new()
        }
        Msg::Done { .. } => Vec::new(),
        Msg::TaskPanicked { key, text } => app.on_panic(key, &text),
        Msg::Configured(read) => app.reconfigure(read),
    };
    app.relayout();
    effects
}
