//! The background tasks that the current state requires. The runtime starts new ones and stops those that are no longer
//! required, so no task can leak.

use super::requests::STREAM;
use super::{App, Pane};
use crate::input::action::Context;
use crate::session::msg::{Epoch, Subscription, SubscriptionId, SubscriptionKind};
use crate::session::{Component, ComponentId, Cx};

/// Returns the subscriptions that the state needs now.
pub fn subscriptions(app: &App) -> Vec<Subscription> {
    let mut out: Vec<Subscription> = declared(app).into_iter().map(|(_, sub)| sub).collect();
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

/// Returns what declares this subscription, if anything does; with this epoch, or with any.
pub(super) fn owner(app: &App, key: &SubscriptionId, epoch: Option<Epoch>) -> Option<ComponentId> {
    let is_it =
        |sub: &Subscription| sub.key == *key && epoch.is_none_or(|epoch| sub.epoch == epoch);
    let mut declared = declared(app).into_iter();
    declared.find(|(_, sub)| is_it(sub)).map(|(owner, _)| owner)
}

/// Returns the subscriptions, each with what declares it, without the parameters that change while they run.
fn declared(app: &App) -> Vec<(ComponentId, Subscription)> {
    let mut out = Vec::new();
    let mut add = |owner, declare: &dyn Fn(&mut Vec<Subscription>)| {
        let mut subscriptions = Vec::new();
        declare(&mut subscriptions);
        out.extend(subscriptions.into_iter().map(|sub| (owner, sub)));
    };
    let stream = app.pane_cx(Pane::Stream);
    add(ComponentId::Pane(Context::Deployments), &|out| {
        app.deployments
            .subscriptions(&app.pane_cx(Pane::Deployments), out)
    });
    if app.viewer().is_none() && app.logs.is_none() {
        add(ComponentId::Pane(Context::Server), &|out| {
            app.agent.subscriptions(&stream, out)
        });
    }
    let cx = app.overlay_cx(false);
    let slow = |component: &dyn Component, cx: &Cx<'_>, out: &mut Vec<Subscription>| {
        component.subscriptions(cx, out);
        add_jobs(component, out);
        out.iter_mut()
            .for_each(|sub| sub.params.pace = app.session.pace(false));
    };
    if let Some(logs) = &app.logs {
        add(ComponentId::Pane(Context::Logs), &|out| {
            logs.subscriptions(&stream, out)
        });
    }
    for overlay in &app.overlays {
        add(overlay.id(), &|out| slow(&**overlay, &cx, out));
    }
    add(STREAM, &|out| {
        app.stream.subscriptions(&stream, out);
        add_jobs(&app.stream, out);
    });
    add(ComponentId::Inbox, &|out| {
        app.session.inbox.subscriptions(&cx, out)
    });
    out
}

/// Adds the background jobs of a component.
fn add_jobs(component: &dyn Component, out: &mut Vec<Subscription>) {
    let numbered = component.jobs().into_iter().filter(|job| job.number > 0);
    out.extend(numbered.map(|job| {
        Subscription::new(
            SubscriptionId::Job(job.number),
            Epoch::default(),
            SubscriptionKind::Job(job.task.clone()),
        )
    }));
}
