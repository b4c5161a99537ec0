//! The background tasks that the current state requires. The runtime starts new ones and stops those that are no longer
//! required, so no task can leak.

use super::{App, Pane};
use crate::session::Component;
use crate::session::msg::{Epoch, Subscription, SubscriptionId, SubscriptionKind};

/// Returns the subscriptions that the state needs now.
pub fn subscriptions(app: &App) -> Vec<Subscription> {
    let mut out = declared(app);
    app.deployments.fill(
        &app.pane_cx(Pane::Deployments),
        &app.pane_cx(Pane::Revisions),
        &mut out,
    );
    let stream = app.pane_cx(Pane::Stream);
    app.agent.fill(&stream, &mut out);
    app.stream.fill(&stream, &mut out);
    // An open card should soon say if someone else answers.
    let is_page_open = matches!(
        app.overlays.last(),
        Some(super::Overlay::Inbox(_) | super::Overlay::Answer(_))
    );
    app.session
        .inbox
        .fill(&app.overlay_cx(false), is_page_open, &mut out);
    out
}

/// Returns whether the state needs this subscription with this epoch.
pub(super) fn is_needed(app: &App, key: &SubscriptionId, epoch: Epoch) -> bool {
    let is_it = |sub: &Subscription| sub.key == *key && sub.epoch == epoch;
    declared(app).iter().any(is_it)
}

/// Returns the subscriptions without the parameters that change while they run.
fn declared(app: &App) -> Vec<Subscription> {
    let mut out = Vec::new();
    app.deployments
        .subscriptions(&app.pane_cx(Pane::Deployments), &mut out);
    server_lists(app, &mut out);
    logs_and_jobs(app, &mut out);
    app.stream
        .subscriptions(&app.pane_cx(Pane::Stream), &mut out);
    app.session
        .inbox
        .subscriptions(&app.overlay_cx(false), &mut out);
    out
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
