//! The background tasks that the current state requires. The runtime starts new ones and stops those that are gone, so nothing
//! can leak and nothing has to be stopped by hand.

use super::{App, Pane};
use crate::session::Component;
use crate::session::msg::{Epoch, Subscription, SubscriptionId, SubscriptionKind};

/// Returns the subscriptions that the state needs now.
pub fn subscriptions(app: &App) -> Vec<Subscription> {
    let mut subscriptions = Vec::new();
    let out = &mut subscriptions;
    app.deployments.subscriptions(&app.pane_cx(Pane::Deployments), out);
    app.deployments.fill(&app.pane_cx(Pane::Deployments), out);
    let stream = app.pane_cx(Pane::Stream);
    let from = out.len();
    lists(app, out);
    app.agent.fill(&stream, &mut out[from..]);
    rest(app, out);
    let from = out.len();
    app.stream.subscriptions(&stream, out);
    app.stream.fill(&stream, &mut out[from..]);
    subscriptions
}

/// Whether something is subscribed to, in this start of it.
pub(super) fn is_needed(app: &App, key: &SubscriptionId, epoch: Epoch) -> bool {
    let mut needed = Vec::new();
    app.deployments.subscriptions(&app.pane_cx(Pane::Deployments), &mut needed);
    lists(app, &mut needed);
    rest(app, &mut needed);
    app.stream.subscriptions(&app.pane_cx(Pane::Stream), &mut needed);
    needed.iter().any(|s| s.key == *key && s.epoch == epoch)
}

/// The lists of the agent server, where they are on the screen.
fn lists(app: &App, out: &mut Vec<Subscription>) {
    if app.viewer().is_none() && app.logs.is_none() {
        app.agent.subscriptions(&app.pane_cx(Pane::Stream), out);
    }
}

/// Logs, overlays and background jobs.
fn rest(app: &App, out: &mut Vec<Subscription>) {
    if let Some(logs) = &app.logs {
        logs.subscriptions(&app.pane_cx(Pane::Stream), out);
    }
    let from = out.len();
    let cx = app.overlay_cx(false);
    app.overlays.iter().for_each(|overlay| overlay.subscriptions(&cx, out));
    let jobs = app.stream.jobs().into_iter().chain(app.overlays.iter().flat_map(|overlay| overlay.jobs()));
    for job in jobs.filter(|job| job.number > 0) {
        out.push(Subscription::new(
            SubscriptionId::Work(job.number),
            Epoch::default(),
            SubscriptionKind::Work(job.task.clone()),
        ));
    }
    out[from..].iter_mut().for_each(|sub| sub.wish.pace = app.session.pace(false));
}
