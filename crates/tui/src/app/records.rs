//! What comes of a control plane: lists, revisions, logs, records; and what that means for a profile as a whole.

use super::explain::Explained;
use super::fleet::{Part, Row};
use super::logs::{LogView, Source};
use super::msg::{Described, Effect, NextPoll, RevisionRef};
use super::scroll::Place;
use super::{App, Overlay, Page, Pane};
use jiff::SignedDuration;
use runtail_api::{ApiError, Kind, Listing, LogKind, LogScope};
use runtail_core::model::{Deployment, Revision, StatusTime, compare, without_natural};
use runtail_core::text;
use std::sync::Arc;

/// Logs that are read into one view at most: each is asked for every few seconds.
const MOST_LOGS: usize = 16;

impl App {
    /// A page of a profile's first list came.
    pub(super) fn take_page(&mut self, profile: &str, deployments: Vec<Deployment>) {
        let Some(number) = self.profiles.iter().position(|p| &*p.name == profile) else { return };
        let state = &mut self.profiles[number];
        if !state.coming && state.loaded_at.is_none() && !self.fleet.touched {
            self.fleet.picker = Default::default();
        }
        state.coming = true;
        self.fleet.take(number, &self.profiles[number], deployments, Part::Page);
    }

    /// A profile's list was read, as far as it could be.
    pub(super) fn take_list(
        &mut self,
        profile: &str,
        result: Result<Listing<Deployment>, ApiError>,
        torn: bool,
        (skew, next): (SignedDuration, NextPoll),
    ) {
        let Some(number) = self.profiles.iter().position(|p| &*p.name == profile) else { return };
        let state = &mut self.profiles[number];
        (state.coming, state.next_poll) = (false, Some(next));
        let before = state.error.take().or(state.partial.take());
        match result {
            Ok(listing) => {
                if state.loaded_at.is_none() && !self.fleet.touched {
                    self.fleet.picker = Default::default();
                }
                let part = if torn { Part::Torn } else { Part::Whole };
                if listing.incomplete.is_none() {
                    state.limited_until = None;
                }
                (state.loaded_at, state.partial) = (Some(self.now), listing.incomplete);
                self.take_skew(number, skew);
                self.fleet.take(number, &self.profiles[number], listing.items, part);
                let fleet = &self.fleet;
                self.histories.retain(|id, _| fleet.row(id).is_some());
            }
            Err(error) => state.error = Some(error),
        }
        let state = &self.profiles[number];
        let Some(error) = state.error.clone().or(state.partial.clone()) else { return };
        self.heed(&error);
        // Said once, not at each poll; a refused key has been said with what it means.
        let same = |before: ApiError| before.badge() == error.badge();
        if !before.is_some_and(same) && error.kind != Kind::Unauthorized {
            self.notify(true, error.story());
        }
    }

    /// The server's clock goes so much ahead of ours. Only what is really another time is news.
    fn take_skew(&mut self, number: usize, skew: SignedDuration) {
        let state = &mut self.profiles[number];
        if (state.skew - skew).abs() <= SignedDuration::from_secs(20) {
            return;
        }
        state.skew = skew;
        let name = state.name.clone();
        self.tell_logs_the_time();
        if skew.is_zero() {
            return self.notify(false, format!("{name}: its clock and ours agree again."));
        }
        let how = if skew.is_positive() { "ahead of" } else { "behind" };
        let far = text::duration(skew.unsigned_abs());
        self.notify(false, format!("{name}: its clock is {far} {how} ours; ages are by its clock."));
    }

    /// What a failed request means for its profile: a refused key stops everything, and a server that wants to be left
    /// alone is left alone, and said to be.
    pub(super) fn heed(&mut self, error: &ApiError) {
        let now = self.now;
        let Some(state) = self.profiles.iter_mut().find(|p| *p.name == *error.at.profile) else { return };
        if !error.quiet().is_zero() {
            let wait = SignedDuration::try_from(error.quiet()).unwrap_or_default();
            state.limited_until = state.limited_until.max(now.checked_add(wait).ok());
        }
        match &error.kind {
            Kind::Unauthorized if state.control_plane && !state.halted => {
                state.halted = true;
                state.error = Some(error.clone());
                let text = format!("{}\n  Nothing more is asked of {} until you press r.", error.story(), state.name);
                self.notify(true, text);
            }
            _ => {}
        }
    }

    /// Asks for a record, to show it whole.
    pub(super) fn describe(&mut self, what: Described) -> Vec<Effect> {
        self.describing = Some(what.clone());
        vec![Effect::Describe(what)]
    }

    /// A revision by what names it.
    pub(super) fn revision_ref(&self, row: &Row, revision: &str) -> Option<RevisionRef> {
        let deployment = row.deployment.as_ref()?;
        Some(RevisionRef {
            profile: row.profile_name.clone(),
            deployment: deployment.id.as_str().into(),
            revision: revision.into(),
        })
    }

    /// The revision that is meant: the selected one in the list of revisions, else the newest of the selected deployment.
    pub(super) fn meant(&self) -> Option<(RevisionRef, Option<Revision>)> {
        let row = self.fleet.selected()?;
        let known = |id: &str| {
            let listed = self.history().and_then(|h| h.revisions.iter().find(|r| r.id == id));
            listed.or(row.newest.as_ref().filter(|r| r.id == id)).cloned()
        };
        let id = match self.focus {
            Pane::Revisions => self.revision_picker.selected.clone()?,
            _ => row.newest_id()?.to_string(),
        };
        Some((self.revision_ref(row, &id)?, known(&id)))
    }

    /// What a row is called in titles.
    pub(super) fn row_title(row: &Row) -> String {
        if row.tag.is_empty() { row.name.clone() } else { format!("{} › {}", row.tag, row.name) }
    }

    /// Watches the revision that is meant, or no longer.
    pub(super) fn watch_meant(&mut self) {
        let Some(row) = self.fleet.selected() else { return };
        let name = Self::row_title(row);
        match self.meant() {
            Some((of, revision)) => self.toggle_watch(of, &name, revision.as_ref()),
            None => self.notify(false, format!("{name} has no revision to watch.")),
        }
    }

    /// Opens the page that explains the revision that is meant.
    pub(super) fn explain_meant(&mut self) -> Vec<Effect> {
        let Some(row) = self.fleet.selected() else { return Vec::new() };
        let name = Self::row_title(row);
        let Some((of, _)) = self.meant() else {
            self.notify(false, format!("{name} has no revision to explain."));
            return Vec::new();
        };
        let address = format!("{}/{}", row.profile_name, row.name);
        let seen = self.history().map(|h| h.phases(&of.revision, self.now)).unwrap_or_default();
        let times = seen.into_iter().map(|(status, spent, from_start)| StatusTime { status, spent, from_start });
        let effect = Effect::Explain(of.clone(), address, times.collect());
        let explained = Explained { of, name, card: None };
        self.overlays.push(Overlay::Page(Page::Explain(Box::new(explained)), Place::at_start()));
        vec![effect]
    }

    /// Marks the selected revision for a comparison, or takes the mark away.
    pub(super) fn mark_revision(&mut self) {
        let meant = self.meant().map(|(of, _)| of);
        self.compared = if self.compared == meant { None } else { meant };
        if let Some(of) = &self.compared {
            let text = format!("Revision {} is marked: = on another compares them.", text::short_id(&of.revision));
            self.notify(false, text);
        }
    }

    /// Shows what differs between the selected revision and the marked one, else the one before it.
    pub(super) fn compare_selected(&mut self) {
        let Some((of, _)) = self.meant() else { return };
        let marked = self.compared.clone().filter(|m| m.deployment == of.deployment && *m != of);
        let revisions = self.history().map(|h| h.revisions.as_slice()).unwrap_or(&[]);
        // Only the list has all fields of a revision.
        let Some(this) = revisions.iter().find(|r| r.id == *of.revision) else {
            return self.notify(false, "This revision is not among those listed: there is nothing to compare yet.");
        };
        let other = match marked {
            Some(marked) => revisions.iter().find(|r| r.id == *marked.revision),
            None => revisions.iter().skip_while(|r| r.id != this.id).nth(1),
        };
        let Some(other) = other else {
            let why = match self.compared.as_ref().filter(|m| m.deployment == of.deployment && **m != of) {
                Some(_) => "The marked revision is no longer among those listed. m marks another.",
                None => "There is no older revision to compare it with. m marks one.",
            };
            return self.notify(false, why);
        };
        // From the older to the newer, whichever was marked.
        let newer_first = [this, other].is_sorted_by(|a, b| a.created_at >= b.created_at);
        let (before, after) = if newer_first { (other, this) } else { (this, other) };
        let title = format!("{} → {}", text::short_id(&before.id), text::short_id(&after.id));
        let [a, b] = [before, after].map(|r| serde_json::to_value(r).unwrap_or_default());
        let changes = without_natural(compare(&a, &b));
        self.overlays.push(Overlay::Page(Page::Difference { title, changes }, Place::at_start()));
    }

    /// Opens logs: of the marked deployments together, of the selected one, or of the selected revision.
    pub(super) fn open_logs(&mut self, kind: LogKind) {
        let mut sources = Vec::new();
        if self.focus == Pane::Revisions || kind == LogKind::Build || self.fleet.marked.is_empty() {
            let Some(row) = self.fleet.selected() else { return };
            let Some(deployment) = &row.deployment else {
                return self.notify(false, "An agent server without a control plane has no logs to ask for.");
            };
            let revision = match (self.focus, kind) {
                (Pane::Deployments, LogKind::Server) => None,
                _ => self.meant().map(|(of, _)| of.revision.to_string()),
            };
            if revision.is_none() && kind == LogKind::Build {
                let text = format!("{} has no revision yet, and so no build log.", Self::row_title(row));
                return self.notify(false, text);
            }
            let mut name = Self::row_title(row);
            if let Some(id) = &revision {
                name.push_str(&format!(" › {}", text::short_id(id)));
            }
            sources.push((row.profile_name.clone(), name, deployment.id.clone(), revision));
        } else {
            for row in self.fleet.marked.iter().filter_map(|id| self.fleet.row(id)) {
                if let Some(deployment) = &row.deployment {
                    sources.push((row.profile_name.clone(), Self::row_title(row), deployment.id.clone(), None));
                }
            }
        }
        self.show_logs(kind, sources);
    }

    /// Opens the log of one revision.
    pub(super) fn open_log_of(&mut self, of: &RevisionRef, name: &str, kind: LogKind) {
        let name = format!("{name} › {}", text::short_id(&of.revision));
        let revision = Some(of.revision.to_string());
        self.show_logs(kind, vec![(of.profile.clone(), name, of.deployment.to_string(), revision)]);
    }

    fn show_logs(&mut self, kind: LogKind, mut of: Vec<(Arc<str>, String, String, Option<String>)>) {
        if of.is_empty() {
            return self.notify(false, "An agent server without a control plane has no logs to ask for.");
        }
        if of.len() > MOST_LOGS {
            self.notify(
                false,
                format!("The logs of the first {MOST_LOGS} marked deployments: more at once would be rude."),
            );
            of.truncate(MOST_LOGS);
        }
        let sources = of
            .into_iter()
            .map(|(profile, name, deployment, revision)| Source {
                profile,
                name,
                scope: LogScope { deployment, revision, kind },
                loaded_at: None,
                error: None,
            })
            .collect();
        self.overlays.clear();
        self.logs = Some(LogView::new(self.next_number(), kind, sources));
        self.tell_logs_the_time();
        self.focus = Pane::Stream;
    }

    /// Reads the open logs anew, after a change to what is asked for.
    pub(super) fn reread_logs(&mut self, change: impl FnOnce(&mut LogView)) {
        let number = self.next_number();
        if let Some(logs) = &self.logs {
            let mut again = logs.again(number);
            change(&mut again);
            again.sources.iter_mut().for_each(|s| s.scope.kind = again.kind);
            self.logs = Some(again);
        }
    }

    /// Lines of several servers stand in the order of one clock.
    fn tell_logs_the_time(&mut self) {
        let Some(logs) = &mut self.logs else { return };
        for n in 0..logs.sources.len() {
            let profile = self.profiles.iter().find(|p| p.name == logs.sources[n].profile);
            logs.set_skew(n, profile.map(|p| p.skew).unwrap_or_default());
        }
    }

    fn next_number(&mut self) -> u64 {
        self.next_stream += 1;
        self.next_stream - 1
    }
}
