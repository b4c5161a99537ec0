//! The polls of deployments and revisions.

use super::Deployments;
use super::list::Row;
use crate::session::Cx;
use crate::session::msg::{Epoch, NextPoll, Pace, RevisionRef, Subscription, SubscriptionId, SubscriptionKind, Wanted};

/// Newest revisions that a profile is told to ask for, beside those that move: as these become known, others follow.
const NEXT: usize = 16;
/// Those that could not be read, which are asked for again after a while, beside them.
const FAILING: usize = 64;
/// Moving revisions that are asked for again and again, in each profile.
const MOVING: usize = 64;

impl Deployments {
    /// The polls that are needed, without their parameters.
    pub fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        let session = cx.session;
        let mut need = |key: SubscriptionId, epoch: Epoch, limit: usize| {
            out.push(Subscription::new(key, epoch, SubscriptionKind::Name).with_limit(limit));
        };
        for profile in session.profiles.iter().filter(|p| session.may_ask(&p.name)) {
            need(SubscriptionId::Deployments(profile.name.clone()), profile.epoch, 0);
            need(SubscriptionId::Newest(profile.name.clone()), profile.epoch, 0);
        }
        if let Some(row) = self.list.selected()
            && let Some(deployment) = &row.deployment
            && !row.gone
            && session.may_ask(&row.profile_name)
        {
            let key = SubscriptionId::Revisions(row.profile_name.clone(), deployment.id.as_str().into());
            need(key, session.epoch_of(&row.profile_name), 20);
        }
        for of in self.watches.keys().filter(|of| session.may_ask(&of.profile)) {
            need(SubscriptionId::Watch(of.clone()), session.epoch_of(&of.profile), 0);
        }
        for (profile, id) in self.vanishing.keys().filter(|(profile, _)| session.may_ask(profile)) {
            need(SubscriptionId::Vanish(profile.clone(), id.clone()), session.epoch_of(profile), 0);
        }
    }

    /// Fills in the parameters that change while the polls run.
    pub fn fill(&self, cx: &Cx<'_>, subscriptions: &mut [Subscription]) {
        let newest = wanted_newest(self, cx);
        let number = |name: &str| cx.session.profiles.iter().position(|p| &*p.name == name);
        for sub in subscriptions {
            match &sub.key {
                // A push makes a new revision: the list has to be looked at for it, but not more often than it is configured.
                SubscriptionId::Deployments(profile) => {
                    let is_moving = number(profile).is_some_and(|n| newest[n].iter().any(|w| w.moving));
                    sub.wish.pace = cx.session.pace(is_moving).min(Pace::Usual);
                }
                SubscriptionId::Newest(profile) => {
                    sub.wish.newest = number(profile).map(|n| newest[n].as_slice().into()).unwrap_or_default();
                    sub.wish.pace = cx.session.pace(true);
                }
                // Who asked to be notified does not have to look.
                SubscriptionId::Watch(_) | SubscriptionId::Vanish(..) => sub.wish.pace = Pace::Fast,
                SubscriptionId::Revisions(..) => sub.wish.pace = cx.session.pace(false),
                _ => {}
            }
        }
    }
}

/// The newest revisions that each profile is asked for: those on the screen, then the others in the order of the list,
/// then what the filter hides.
/// What another poll tells of is left out.
fn wanted_newest(d: &Deployments, cx: &Cx<'_>) -> Vec<Vec<Wanted>> {
    let mut wanted: Vec<Vec<Wanted>> = vec![Vec::new(); cx.session.profiles.len()];
    // Of each profile: those that nobody knows, those that could not be read, those that move.
    let mut counts = vec![[0usize; 3]; cx.session.profiles.len()];
    let height = Deployments::list_height(cx.area);
    let window = d.list.picker.window(d.list.len(), height);
    let seen = window.first().copied().unwrap_or(0)..window.last().map_or(0, |last| last + 1);
    let on_screen = seen.filter_map(|n| d.list.shown(n)).map(|row| (row, true));
    let others = d.list.all_shown().chain(&d.list.rows).map(|row| (row, false));
    let selected = d.list.picker.selected.as_deref();
    // The poll of the selected row's revisions tells of its newest too, while it goes on.
    let told = d.history().is_some_and(|h| matches!(h.next_poll, Some(NextPoll::At(_))));
    for (row, seen) in on_screen.chain(others) {
        let moving = row.is_moving();
        if row.gone || (row.newest.is_some() && !moving) || (moving && told && Some(row.id.as_str()) == selected) {
            continue;
        }
        let (Some(list), Some(counts)) = (wanted.get_mut(row.profile), counts.get_mut(row.profile)) else { continue };
        // What cannot be read must not keep the others from being asked for.
        let kind = if moving { 2 } else { usize::from(row.newest_error.is_some()) };
        if counts[kind] >= [NEXT, FAILING, MOVING][kind] {
            continue;
        }
        let Some((deployment, revision)) = named(row) else { continue };
        let watched = |w: &&RevisionRef| *w.deployment == *deployment && *w.revision == *revision;
        let known = list.iter().any(|w| *w.deployment == *deployment);
        if known || (moving && d.watches.keys().filter(watched).any(|w| w.profile == row.profile_name)) {
            continue;
        }
        counts[kind] += 1;
        list.push(Wanted { deployment: deployment.into(), revision: revision.into(), moving, seen });
    }
    wanted
}

/// A row's deployment and its newest revision.
fn named(row: &Row) -> Option<(&str, &str)> {
    Some((row.deployment.as_ref()?.id.as_str(), row.newest_id()?))
}
