//! The polls of deployments and revisions.

use super::Deployments;
use super::list::Row;
use crate::session::msg::{
    Epoch, NextPoll, Pace, RevisionRef, Subscription, SubscriptionId, SubscriptionKind,
    WantedRevision, WantedSubject,
};
use crate::session::{Cx, Session};
use runtail_core::model::Revision;
use std::sync::Arc;

/// Maximum unknown newest revisions that a profile requests at once. When these are loaded, others follow.
const MAX_UNKNOWN: usize = 16;
/// Maximum newest revisions per profile that failed to load and are retried after a while.
const MAX_FAILED: usize = 64;
/// Maximum unfinished newest revisions per profile that are polled.
const MAX_MOVING: usize = 64;

impl Deployments {
    /// Adds the required polls, without their parameters.
    pub fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        let session = cx.session;
        let mut need = |key: SubscriptionId, epoch: Epoch, limit: usize| {
            out.push(Subscription::new(key, epoch, SubscriptionKind::Name).with_limit(limit));
        };
        let profiles = session.profiles.iter();
        for profile in profiles.filter(|p| session.may_poll(&p.name)) {
            for id in [
                SubscriptionId::Deployments,
                SubscriptionId::Newest,
                SubscriptionId::Past,
            ] {
                need(id(profile.name.clone()), profile.epoch, 0);
            }
        }
        // The others belong to a profile each.
        let mut need = |profile: &Arc<str>, key: SubscriptionId, limit: usize| {
            if session.may_poll(profile) {
                need(key, session.epoch_of(profile), limit);
            }
        };
        if let Some(row) = self.list.selected().filter(|row| !row.gone)
            && let Some(deployment) = &row.deployment
        {
            let (profile, id) = (&row.profile_name, deployment.id.as_str().into());
            need(profile, SubscriptionId::Revisions(profile.clone(), id), 20);
        }
        if let Some(of) = self.unexplained().filter(|_| cx.is_shown) {
            need(&of.profile.clone(), SubscriptionId::Card(of), 0);
        }
        for of in self.watches.keys() {
            need(&of.profile, SubscriptionId::Watch(of.clone()), 0);
        }
        for (profile, id) in self.deleting.keys() {
            let key = SubscriptionId::Deletion(profile.clone(), id.clone());
            need(profile, key, 0);
        }
    }

    /// Fills in the parameters that change while the polls run. `revisions` is the context of the other pane.
    pub fn fill(&self, cx: &Cx<'_>, revisions: &Cx<'_>, subscriptions: &mut [Subscription]) {
        let newest = wanted_newest(self, cx);
        let past = wanted_past(self, cx);
        let subjects = wanted_subjects(self, cx, revisions);
        // The wanted items are listed by the numbers of their profiles.
        fn of<'w, T>(name: &str, session: &Session, wanted: &'w [Vec<T>]) -> &'w [T] {
            let number = session.profiles.iter().position(|p| &*p.name == name);
            number.map_or(&[], |number| &wanted[number])
        }
        for sub in subscriptions {
            match &sub.key {
                // A push creates a new revision that only the list reports, but the list is not polled faster than configured.
                SubscriptionId::Deployments(profile) => {
                    let is_moving = of(profile, cx.session, &newest)
                        .iter()
                        .any(|wanted| wanted.moving);
                    sub.params.pace = cx.session.pace(is_moving).min(Pace::Usual);
                }
                SubscriptionId::Newest(profile) => {
                    sub.params.newest = of(profile, cx.session, &newest).into();
                    sub.params.pace = cx.session.pace(true);
                }
                SubscriptionId::Past(profile) => {
                    sub.params.past = of(profile, cx.session, &past).into();
                    sub.params.subjects = of(profile, cx.session, &subjects).into();
                }
                // A notification is urgent even while the window has no focus.
                SubscriptionId::Watch(_) | SubscriptionId::Deletion(..) => {
                    sub.params.pace = Pace::Fast
                }
                SubscriptionId::Revisions(..) => sub.params.pace = cx.session.pace(false),
                _ => {}
            }
        }
    }
}

/// Returns the newest revisions to request from each profile: first the rows on the screen, then the others in list order,
/// then those hidden by the filter. Skips revisions that another poll reports.
fn wanted_newest(d: &Deployments, cx: &Cx<'_>) -> Vec<Vec<WantedRevision>> {
    let mut wanted: Vec<Vec<WantedRevision>> = vec![Vec::new(); cx.session.profiles.len()];
    // Per profile: unknown, failed and unfinished revisions.
    let mut counts = vec![[0usize; 3]; cx.session.profiles.len()];
    let on_screen = d.list.on_screen().map(|row| (row, true));
    let others = d
        .list
        .all_shown()
        .chain(&d.list.rows)
        .map(|row| (row, false));
    let selected = d.list.table.selected();
    // The active poll of the selected row's revisions also reports its newest one.
    let is_polled = d
        .history()
        .is_some_and(|h| matches!(h.next_poll, Some(NextPoll::At(_))));
    for (row, seen) in on_screen.chain(others) {
        let moving = row.is_moving();
        if row.gone
            || (row.newest.is_some() && !moving)
            || (moving && is_polled && Some(row.id.as_str()) == selected)
        {
            continue;
        }
        let (Some(list), Some(counts)) = (wanted.get_mut(row.profile), counts.get_mut(row.profile))
        else {
            continue;
        };
        // Each kind has its own limit, so that failing revisions do not block the others.
        let kind = if moving {
            2
        } else {
            usize::from(row.newest_error.is_some())
        };
        if counts[kind] >= [MAX_UNKNOWN, MAX_FAILED, MAX_MOVING][kind] {
            continue;
        }
        let Some((deployment, revision)) = newest_of(row) else {
            continue;
        };
        let watched = |w: &&RevisionRef| *w.deployment == *deployment && *w.revision == *revision;
        let known = list.iter().any(|w| *w.deployment == *deployment);
        if known
            || (moving
                && d.watches
                    .keys()
                    .filter(watched)
                    .any(|w| w.profile == row.profile_name))
        {
            continue;
        }
        counts[kind] += 1;
        list.push(WantedRevision {
            deployment: deployment.into(),
            revision: revision.into(),
            moving,
            seen,
        });
    }
    wanted
}

/// Returns the ids of a row's deployment and of its newest revision.
fn newest_of(row: &Row) -> Option<(&str, &str)> {
    Some((row.deployment.as_ref()?.id.as_str(), row.newest_id()?))
}

/// Returns the deployments on the screen of each profile whose revisions were not read for the strip since their newest one
/// changed.
fn wanted_past(d: &Deployments, cx: &Cx<'_>) -> Vec<Vec<(Arc<str>, Arc<str>)>> {
    let mut wanted = vec![Vec::new(); cx.session.profiles.len()];
    if !cx.is_shown {
        return wanted;
    }
    for row in d.list.on_screen() {
        let is_known = |newest: &str| {
            d.past
                .get(&row.id)
                .is_some_and(|past| past.newest.as_deref() == Some(newest))
        };
        if let (Some((deployment, newest)), false) = (newest_of(row), row.gone)
            && !is_known(newest)
            && let Some(list) = wanted.get_mut(row.profile)
        {
            list.push((deployment.into(), newest.into()));
        }
    }
    wanted
}

/// Returns the revisions of each profile that are on the screen and whose commit's subject is not known: those of the list, then
/// those of the selected deployment.
fn wanted_subjects(d: &Deployments, cx: &Cx<'_>, revisions: &Cx<'_>) -> Vec<Vec<WantedSubject>> {
    let mut wanted: Vec<Vec<WantedSubject>> = vec![Vec::new(); cx.session.profiles.len()];
    let mut add = |row: &Row, revision: &Revision| {
        let deployment = row.deployment.as_ref().filter(|_| !row.gone);
        let subject = deployment.and_then(|deployment| d.subjects.wanted(&deployment.id, revision));
        if let (Some(subject), Some(list)) = (subject, wanted.get_mut(row.profile))
            && list.iter().all(|other| other.commit != subject.commit)
        {
            list.push(subject);
        }
    };
    if cx.is_shown {
        let rows = d.list.on_screen();
        rows.for_each(|row| row.newest.iter().for_each(|newest| add(row, newest)));
    }
    if let (Some(row), Some(history)) = (
        d.list.selected().filter(|_| revisions.is_shown),
        d.history(),
    ) {
        let window = d.revision_table.window(history.revisions.len());
        window
            .filter_map(|n| history.revisions.get(n))
            .for_each(|revision| add(row, revision));
    }
    wanted
}
