//! State transitions: `update` applies a message, which has its time, and returns the effects to run.

use super::App;
use super::mouse::{click, drag, wheel};
use super::requests::SERVER;
use crate::input::action::Context;
use crate::session::msg::{Effect, EffectResult, Msg, Sent};

/// Applies a message. Returns the effects to run.
///
/// Arriving data is only stored. Its layout is computed by [`App::relayout`] before the next frame and before any message but
/// events of subscriptions, so a fast stream costs one layout per frame instead of one per batch.
pub fn update(app: &mut App, at: jiff::Timestamp, msg: Msg) -> Vec<Effect> {
    if matches!(
        msg,
        Msg::Key(_) | Msg::Paste(_) | Msg::Click { .. } | Msg::Effect { .. } | Msg::Configured(_)
    ) {
        app.touch_tabs();
    }
    let is_input = matches!(msg, Msg::Key(_) | Msg::Click { .. });
    if is_input {
        app.stay_here();
    }
    let asleep = |app: &App| {
        app.stream
            .tabs
            .all()
            .iter()
            .filter(|viewer| viewer.is_asleep)
            .count()
    };
    let before = asleep(app);
    let mut effects = route(app, at, msg);
    if is_input && asleep(app) < before {
        effects.extend(app.fetch_missing_infos());
    }
    effects.extend(app.write_recordings());
    effects.extend(app.save_tabs());
    effects
}

fn route(app: &mut App, at: jiff::Timestamp, msg: Msg) -> Vec<Effect> {
    app.session.now = at;
    app.session.show_waiting_news();
    let mut selected = None;
    if !matches!(msg, Msg::Subscription { .. }) {
        selected = app.selected();
        app.relayout();
        app.is_selection_unseen |= selected != app.selected();
    }
    let is_input = matches!(
        msg,
        Msg::Key(_) | Msg::Paste(_) | Msg::Wheel { .. } | Msg::Click { .. }
    );
    let effects = match msg {
        Msg::Subscription { key, epoch, event } => {
            let owner = super::subscriptions::owner(app, &key, Some(epoch));
            return match owner {
                Some(owner) => app.on_event(owner, key, event),
                // The subscription was stopped or restarted.
                None => Vec::new(),
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
            let mut effects = app.apply(requests);
            if app.shows_lists() {
                let requests = app
                    .with_pane(Context::Server, |agent, cx| agent.on_tick(cx))
                    .unwrap_or_default();
                effects.extend(app.apply_of(SERVER, requests));
            }
            effects.extend(app.check_stuck());
            effects
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
        Msg::Effect { to, epoch, result } if app.is_current(result.profile(), epoch) => {
            app.on_reply(to, result)
        }
        // The change is reported, but can no longer be tracked.
        Msg::Effect {
            result: EffectResult::Sent(_, Sent::Record(Ok(made))),
            ..
        } => {
            app.notify(
                false,
                format!(
                    "{} Its profile has another server, so it can't be tracked.",
                    made.said
                ),
            );
            Vec::new()
        }
        Msg::Effect { .. } => Vec::new(),
        Msg::TaskPanicked { key, text } => app.on_panic(key, &text),
        Msg::Configured(read) => app.reconfigure(read),
    };
    app.forget_inbox();
    // The key may have hidden the notice before them.
    app.session.show_waiting_news();
    app.relayout();
    app.is_selection_unseen |= !is_input && selected != app.selected();
    effects
}
