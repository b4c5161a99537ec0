//! What must be kept going for the state that there is. The runtime starts what is new and stops what is gone, so
//! nothing can leak and nothing has to be stopped by hand.

use super::App;
use super::msg::{SubKey, Subscription};
use super::server::Tab;

/// The subscriptions that the state needs now.
pub fn subscriptions(app: &App) -> Vec<Subscription> {
    let mut subs = Vec::new();
    let mut list = |key: SubKey, limit: usize| subs.push(Subscription { key, epoch: app.epoch, stream: None, limit });
    for profile in app.profiles.iter().filter(|p| p.control_plane) {
        list(SubKey::Deployments(profile.name.clone()), 0);
    }
    if let Some(row) = app.fleet.selected()
        && let Some(deployment) = &row.deployment
        && let Some(profile) = app.profiles.get(row.profile)
    {
        list(SubKey::Revisions(profile.name.clone(), deployment.id.as_str().into()), 20);
    }
    if let Some(server) = &app.server
        && app.viewer.is_none()
        && app.regions().stream.is_some()
    {
        match (&server.tab, &server.runs_of) {
            (Tab::Threads, _) => list(SubKey::Threads(server.server.clone()), server.limit),
            (Tab::Runs, Some(thread)) => list(SubKey::Runs(server.server.clone(), thread.clone()), server.limit),
            _ => {}
        }
    }
    if let Some(viewer) = &app.viewer {
        // A stream that ended stays subscribed: its task has ended too, and stays ended.
        subs.push(Subscription {
            key: SubKey::Stream(viewer.id),
            epoch: 0,
            stream: Some((viewer.server.clone(), viewer.target.clone())),
            limit: 0,
        });
    }
    subs
}
