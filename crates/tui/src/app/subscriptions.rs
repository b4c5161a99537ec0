//! The background tasks that the current state requires. The runtime starts new ones and stops those that are no longer
//! required, so no task can leak.

use super::{App, Pane};
use crate::session::Component;
use crate::session::msg::{Epoch, Subscription, SubscriptionId, SubscriptionKind};

/// Returns the subscriptions that the state needs now.
pub fn subscriptions(app: &App) -> Vec<Subscription> {
    let mut subscriptions = Vec::new();
    let out = &mut subscriptions;
    app.deployments
        .subscriptions(&app.pane_cx(Pane::Deployments), out);
    app.deployments.fill(
        &app.pane_cx(Pane::Deployments),
        &app.pane_cx(Pane::Revisions),
        out,
    );
    let stream = app.pane_cx(Pane::Stream);
    let from = out.len();
    server_lists(app, out);
    app.agent.fill(&stream, &mut out[from..]);
    logs_and_jobs(app, out);
    let from = out.len();
    app.stream.subscriptions(&stream, out);
    app.stream.fill(&stream, &mut out[from..]);
    let (from, cx) = (out.len(), app.overlay_cx(false));
    app.inbox.subscriptions(&cx, out);
    // An open card should soon say if someone else answers.
    let is_page_open = matches!(
        app.overlays.last(),
        Some(super::Overlay::Inbox(_) | super::Overlay::Answer(_))
    );
    app.inbox.fill(&cx, is_page_open, &mut out[from..]);
    subscriptions
}

/// Returns whether the state needs this subscription with this epoch.
pub(super) fn is_needed(app: &App, key: &SubscriptionId, epoch: Epoch) -> bool {
    let mut needed = Vec::new();
    app.deployments
        .subscriptions(&app.pane_cx(Pane::Deployments), &mut needed);
    server_lists(app, &mut needed);
    logs_and_jobs(app, &mut needed);
    app.stream
        .subscriptions(&app.pane_cx(Pane::Stream), &mut needed);
    app.inbox.subscriptions(&app.overlay_cx(false), &mut needed);
    needed.iter().any(|s| s.key == *key && s.epoch == epoch)
}

/// Adds the lists of the agent server, if they are visible.
fn server_lists(app: &App, out: &mut Vec<Subscription>) {
    if app.viewer().is_none() && app.logs.is_none() {
        app.agent.subscriptions(&app.pane_cx(Pane::Stream), out);
    }
}

/// Adds the logs, overlays and background jobs.
fn logs_and_jobs(app: &App, out: &mut Vec<Subscription>) {
    if let Some(logs) = &app.logs {
        logs.subscriptions(&app.pane_cx(Pane::Stream), out);
    }
    let from = out.len();
    let cx = app.overlay_cx(false);
    app.overlays
        .iter()
        .for_each(|overlay| overlay.subscriptions(&cx, out));
    let jobs = app
        .stream
        .jobs()
        .into_iter()
        .chain(app.overlays.iter().flat_map(|overlay| overlay.jobs()));
    for job in jobs.filter(|job| job.number > 0) {
        out.push(Subscription::new(
            SubscriptionId::Job(job.number),
            Epoch::default(),
            SubscriptionKind::Job(job.task.clone()),
        ));
    }
    out[from..]
        .iter_mut()
        .for_each(|sub| sub.params.pace = app.session.pace(false));
}
