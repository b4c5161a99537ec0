//! What the polls show of each control plane and agent server besides their data: whether it answers.

use super::App;
use crate::session::msg::{ServerRef, SubscriptionEvent, SubscriptionId};
use crate::session::reach;
use jiff::Timestamp;
use runtail_api::ApiError;

impl App {
    /// Notes whether the server of a poll answered. The newest answer counts, whichever poll it is of.
    pub(super) fn note_reach(&mut self, id: &SubscriptionId, event: &SubscriptionEvent) {
        use SubscriptionEvent as E;
        match (id, event) {
            (SubscriptionId::Deployments(profile), E::Overdue { since, .. }) => {
                self.set_overdue(profile, Some(*since))
            }
            (SubscriptionId::Deployments(profile), E::Deployments { .. } | E::Page(_)) => {
                self.set_overdue(profile, None);
                self.note_control_plane(profile, None);
            }
            (SubscriptionId::Newest(profile), E::Newest { revision, .. }) => {
                self.note_control_plane(profile, revision.as_ref().err());
            }
            (SubscriptionId::Revisions(profile, _), E::Revisions(result, _)) => {
                self.note_control_plane(profile, result.as_ref().err());
            }
            (SubscriptionId::Watch(of), E::Watched(result, _)) => {
                self.note_control_plane(&of.profile, result.as_ref().err());
            }
            (SubscriptionId::Deletion(profile, _), E::Deleting(result, _)) => {
                self.note_control_plane(profile, result.as_ref().err());
            }
            (
                SubscriptionId::Inbox(_),
                E::Overdue {
                    server: Some(server),
                    since,
                },
            )
            | (SubscriptionId::Threads(server), E::Overdue { since, .. }) => {
                self.session.inbox.set_overdue(server, Some(*since));
            }
            (SubscriptionId::Inbox(_), E::Inbox { server, result, .. }) => {
                let error = result
                    .as_ref()
                    .map_or_else(Some, |answer| answer.failures.first());
                self.note_server(server, error);
            }
            (SubscriptionId::Threads(server), E::Threads(read)) => {
                self.note_server(server, read.result.as_ref().err())
            }
            (SubscriptionId::Runs(server, _), E::Runs(result)) => {
                self.note_server(server, result.as_ref().err())
            }
            (SubscriptionId::ThreadStatuses(server), E::ThreadStatus { status, .. }) => {
                self.note_server(server, status.as_ref().err());
            }
            _ => {}
        }
    }

    /// Passes the times of outdated lists to the inbox.
    pub(super) fn sync_stale_lists(&mut self) {
        let profiles = self
            .session
            .profiles
            .iter()
            .filter(|state| state.control_plane && state.problem().is_some());
        let stale = profiles.filter_map(|state| Some((state.name.clone(), state.loaded_at?)));
        self.session.inbox.set_stale_lists(stale.collect());
    }

    fn set_overdue(&mut self, profile: &str, since: Option<Timestamp>) {
        if let Some(state) = self.session.profile_mut(profile) {
            state.asking_since = since;
        }
    }

    fn note_control_plane(&mut self, profile: &str, error: Option<&ApiError>) {
        if let Some(state) = self.session.profile_mut(profile) {
            state.unreachable = error.filter(|error| reach::is_unreachable(error)).cloned();
        }
    }

    fn note_server(&mut self, server: &ServerRef, error: Option<&ApiError>) {
        self.session.inbox.set_overdue(server, None);
        self.session.reach.note(server, error);
    }
}
