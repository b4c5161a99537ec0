//! What must be kept going for the state that there is. The runtime starts what is new and stops what is gone, so
//! nothing can leak and nothing has to be stopped by hand.

use super::fleet::Row;
use super::msg::{NextPoll, Pace, RevisionRef, SubKey, Subscription, Wanted, WantedStatus, What, Wish};
use super::server::Tab;
use super::{App, Overlay, Page};
use std::sync::Arc;

/// Newest revisions that a profile is told to ask for, beside those that move: as these become known, others follow.
const NEXT: usize = 16;
/// Those that could not be read, which are asked for again after a while, beside them.
const FAILING: usize = 64;
/// Moving revisions that are asked for again and again, in each profile.
const MOVING: usize = 64;

/// The subscriptions that the state needs now.
pub fn subscriptions(app: &App) -> Vec<Subscription> {
    let mut subs = needed(app);
    let newest = wanted_newest(app);
    for sub in &mut subs {
        sub.wish.pace = match &sub.key {
            // A push makes a new revision: the list has to be looked at for it, but not more often than it is configured.
            SubKey::Deployments(profile) => {
                let number = app.profiles.iter().position(|p| p.name == *profile);
                app.pace(number.is_some_and(|n| newest[n].iter().any(|w| w.moving))).min(Pace::Usual)
            }
            SubKey::Newest(profile) => {
                let number = app.profiles.iter().position(|p| p.name == *profile);
                sub.wish.newest = number.map(|n| newest[n].as_slice().into()).unwrap_or_default();
                app.pace(true)
            }
            SubKey::ThreadStatuses(_) => {
                sub.wish.statuses = wanted_statuses(app);
                app.pace(false)
            }
            // A log that is behind another pane is only kept up with.
            SubKey::Log(..) if app.regions().stream.is_none() => Pace::Slow,
            SubKey::Stream(id) => {
                let viewer = app.streams.all().iter().find(|viewer| viewer.id == *id);
                sub.wish.hold = viewer.is_some_and(|viewer| app.is_behind(viewer));
                sub.wish.is_shared = viewer.is_some_and(|viewer| viewer.is_shared);
                sub.wish.own_runs = viewer.map(|viewer| viewer.own_runs.clone()).unwrap_or_default();
                sub.wish.refreshes = viewer.map_or(0, |viewer| viewer.refreshes);
                sub.wish.modes = viewer.map(|viewer| viewer.modes.wanted.clone()).unwrap_or_default();
                app.pace(false)
            }
            // Who asked to be told does not have to look.
            SubKey::Watch(_) | SubKey::Vanish(..) => Pace::Fast,
            _ => app.pace(false),
        };
    }
    subs
}

/// Whether something is subscribed to, in this start of it.
pub(super) fn is_needed(app: &App, key: &SubKey, epoch: u64) -> bool {
    needed(app).iter().any(|s| s.key == *key && s.epoch == epoch)
}

/// The subscriptions without what they are told while they go on.
fn needed(app: &App) -> Vec<Subscription> {
    let mut subs = Vec::new();
    let mut need = |key: SubKey, epoch: u64, limit: usize, what: What| {
        subs.push(Subscription { key, epoch, limit, what, wish: Wish::default() })
    };
    let epoch = |name: &str| app.profiles.iter().find(|p| &*p.name == name).map_or(0, |p| p.epoch);
    // Where the key was refused nothing is asked until somebody acts.
    let asked = |name: &str| app.profiles.iter().any(|p| &*p.name == name && p.control_plane && !p.halted);
    for profile in app.profiles.iter().filter(|p| asked(&p.name)) {
        need(SubKey::Deployments(profile.name.clone()), profile.epoch, 0, What::Name);
        need(SubKey::Newest(profile.name.clone()), profile.epoch, 0, What::Name);
    }
    if let Some(row) = app.fleet.selected()
        && let Some(deployment) = &row.deployment
        && !row.gone
        && asked(&row.profile_name)
    {
        let key = SubKey::Revisions(row.profile_name.clone(), deployment.id.as_str().into());
        need(key, epoch(&row.profile_name), 20, What::Name);
    }
    for of in app.watches.keys().filter(|of| asked(&of.profile)) {
        need(SubKey::Watch(of.clone()), epoch(&of.profile), 0, What::Name);
    }
    for (profile, id) in app.vanishing.keys().filter(|(profile, _)| asked(profile)) {
        need(SubKey::Vanish(profile.clone(), id.clone()), epoch(profile), 0, What::Name);
    }
    if let Some(server) = &app.server
        && app.viewer().is_none()
        && app.logs.is_none()
        && app.regions().stream.is_some()
    {
        let of = server.server.clone();
        let epoch = epoch(&of.profile);
        match (&server.tab, &server.runs_of) {
            (Tab::Threads, _) => {
                need(SubKey::Threads(of.clone()), epoch, server.limit, What::Name);
                need(SubKey::ThreadStatuses(of), epoch, 0, What::Name);
            }
            (Tab::Runs, Some(thread)) => need(SubKey::Runs(of, thread.clone()), epoch, server.limit, What::Name),
            _ => {}
        }
    }
    if let Some(logs) = &app.logs {
        for (n, source) in logs.sources.iter().enumerate().filter(|(_, s)| asked(&s.profile)) {
            let profile = app.profiles.iter().find(|p| p.name == source.profile);
            let filter = logs.wanted(profile.map_or(app.now, |p| p.server_time(app.now)));
            let what = What::Log(source.profile.clone(), source.scope.clone(), filter);
            need(SubKey::Log(logs.number, n), 0, 0, what);
        }
    }
    for overlay in &app.overlays {
        if let Overlay::SignIn(sign_in) = overlay
            && let (Some(_), Some(auth_id)) = (sign_in.waiting, sign_in.auth_id())
            && asked(&sign_in.profile)
        {
            need(SubKey::Wait(sign_in.number), 0, 0, What::Wait(sign_in.profile.clone(), auth_id.to_string()));
        }
        if let Overlay::Page(Page::Doctor(doctor), _) = overlay
            && !doctor.done
        {
            let all = app.profiles.iter().map(|p| p.name.clone()).collect();
            need(SubKey::Doctor(doctor.number), 0, 0, What::Profiles(all));
        }
    }
    for work in app.works() {
        need(SubKey::Work(work.number), 0, 0, What::Work(work.task.clone()));
    }
    for viewer in app.streams.all() {
        // A stream that ended stays subscribed: its task has ended too, and stays ended.
        need(SubKey::Stream(viewer.id), 0, 0, What::Stream(viewer.server.clone(), viewer.target.clone()));
    }
    subs
}

/// The threads whose rows are on the screen.
fn wanted_statuses(app: &App) -> Arc<[WantedStatus]> {
    let Some(server) = &app.server else { return Arc::default() };
    let shown = server.shown_threads();
    let window = server.thread_picker.window(shown.len(), app.list_heights().2);
    window.into_iter().filter_map(|row| server.wanted_status(&shown.get(row)?.thread_id)).collect()
}

/// The newest revisions that each profile is asked for: those on the screen, then the others in the order of the list,
/// then what the filter hides.
/// What another poll tells of is left out.
fn wanted_newest(app: &App) -> Vec<Vec<Wanted>> {
    let mut wanted: Vec<Vec<Wanted>> = vec![Vec::new(); app.profiles.len()];
    // Of each profile: those that nobody knows, those that could not be read, those that move.
    let mut counts = vec![[0usize; 3]; app.profiles.len()];
    let height = app.list_heights().0;
    let window = app.fleet.picker.window(app.fleet.len(), height);
    let seen = window.first().copied().unwrap_or(0)..window.last().map_or(0, |last| last + 1);
    let on_screen = seen.filter_map(|n| app.fleet.shown(n)).map(|row| (row, true));
    let others = app.fleet.all_shown().chain(&app.fleet.rows).map(|row| (row, false));
    let selected = app.fleet.picker.selected.as_deref();
    // The poll of the selected row's revisions tells of its newest too, while it goes on.
    let told = app.history().is_some_and(|h| matches!(h.next_poll, Some(NextPoll::At(_))));
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
        if known || (moving && app.watches.keys().filter(watched).any(|w| w.profile == row.profile_name)) {
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

impl App {
    /// How often to ask for something: by whether it moves, and whether anybody looks.
    fn pace(&self, moving: bool) -> Pace {
        match (self.attended, moving) {
            (true, true) => Pace::Fast,
            (true, false) | (false, true) => Pace::Usual,
            (false, false) => Pace::Slow,
        }
    }
}
