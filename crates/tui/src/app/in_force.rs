//! Which profiles are in force: what happens when others are, without a restart.

use super::confirm::Stage;
use super::editor::Subject;
use super::fleet::{ProfileState, Row};
use super::msg::Effect;
use super::{App, Overlay, Page, Pane};
use runtail_core::config::Profile;

impl App {
    /// Whether what a request of a profile said still counts: the profile leads where it led in configuration `since`.
    pub(super) fn stands(&self, profile: Option<&str>, since: u64) -> bool {
        profile.is_none_or(|name| self.profiles.iter().any(|p| &*p.name == name && p.generation <= since))
    }

    /// What is asked again and again begins anew.
    pub(super) fn begin_again(&mut self) {
        self.epoch += 1;
        self.profiles.iter_mut().for_each(|p| p.epoch = self.epoch);
    }

    /// These profiles are in force from now on. What is open of those that go, or that lead elsewhere now, is closed with a
    /// word; what belongs to the others goes on untouched.
    pub(super) fn put_in_force(&mut self, list: Vec<Profile>) -> Vec<Effect> {
        if self.catalogue.in_force == list {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.catalogue.in_force, list.clone());
        let named = |list: &[Profile], name: &str| list.iter().find(|p| p.name == name).cloned();
        let stays =
            |name: &str| named(&before, name).zip(named(&list, name)).is_some_and(|(old, new)| old.same_target(&new));
        self.epoch += 1;
        // Answers of profiles that lead elsewhere are dropped, so it would wait forever.
        self.cancel_search();
        let generation = self.epoch;
        let mut words = Vec::new();
        let states = list.iter().map(|profile| {
            let fresh = ProfileState::new(profile, generation);
            let old = named(&before, &profile.name);
            let known = self.profiles.iter().find(|p| *p.name == *profile.name).filter(|_| stays(&profile.name));
            let Some(known) = known else {
                let now = if old.is_some() { "leads elsewhere now" } else { "is in use" };
                words.push(format!("{} {now}", profile.name));
                return fresh;
            };
            if known.read_only != fresh.read_only {
                let now = if fresh.read_only { "is read-only now" } else { "may be written to now" };
                words.push(format!("{} {now}", profile.name));
            }
            // Other deployments are pinned: the list is read anew.
            let repinned = old.is_some_and(|old| old.deployments != profile.deployments);
            let epoch = if repinned { generation } else { known.epoch };
            let ProfileState { label, read_only, production, .. } = fresh;
            ProfileState { label, read_only, production, epoch, ..known.clone() }
        });
        self.profiles = states.collect();
        let left = before.iter().filter(|old| named(&list, &old.name).is_none());
        words.extend(left.map(|old| format!("{} is no longer used", old.name)));
        self.fleet.rearrange(&list, &self.profiles, stays);
        let same = |name: &str| named(&before, name) == named(&list, name);
        let (closed, forgotten) = self.close_unless(stays, same);
        if !words.is_empty() {
            let closed = if closed.is_empty() { String::new() } else { format!("; closed: {}", closed.join(", ")) };
            self.notify(false, format!("{}{closed}.", words.join(", ")));
        }
        let new = |row: &&Row| !stays(&row.profile_name) && row.deployment.is_none();
        let servers: Vec<_> = self.fleet.rows.iter().filter(new).filter_map(|row| row.server(&self.profiles)).collect();
        let mut effects = vec![Effect::UseProfiles(generation, list)];
        effects.extend(forgotten);
        effects.extend(servers.into_iter().map(Effect::FetchInfo));
        effects
    }

    /// Closes what is open of all profiles but those that stay. A change that somebody is asked about is asked about anew where
    /// anything at all of its profile is not the same. Says what a person may miss.
    fn close_unless(
        &mut self,
        stays: impl Fn(&str) -> bool,
        same: impl Fn(&str) -> bool,
    ) -> (Vec<String>, Vec<Effect>) {
        let mut forgotten = Vec::new();
        let mut closed = Vec::new();
        for viewer in self.streams.close_unless(|v| v.is_recording() || stays(&v.server.profile)) {
            closed.push(format!("the stream of {} (its run goes on)", viewer.server.name));
        }
        if let Some(server) = self.server.take_if(|s| !stays(&s.server.profile)) {
            closed.push(format!("the threads of {}", server.server.name));
        }
        if let Some(logs) = self.logs.take_if(|l| l.sources.iter().any(|s| !stays(&s.profile))) {
            let names: Vec<&str> = logs.sources.iter().map(|s| s.name.as_str()).collect();
            closed.push(format!("the logs of {}", names.join(", ")));
        }
        let watched = self.watches.len();
        self.watches.retain(|of, _| stays(&of.profile));
        match watched - self.watches.len() {
            0 => {}
            1 => closed.push("a watch".into()),
            n => closed.push(format!("{n} watches")),
        }
        self.vanishing.retain(|(profile, _), _| stays(profile));
        self.infos.retain(|server, _| stays(&server.profile));
        self.histories.retain(|row, _| row.split_once('/').is_some_and(|(profile, _)| stays(profile)));
        self.compared.take_if(|of| !stays(&of.profile));
        self.describing.take_if(|what| !stays(what.profile()));
        for overlay in std::mem::take(&mut self.overlays) {
            match overlay {
                // There is something to look at now.
                Overlay::FirstRun(_) if !self.profiles.is_empty() => {}
                // One that is on its way is told of in any case.
                Overlay::Confirm(confirm) if !same(&confirm.profile) && !matches!(confirm.stage, Stage::Sending(_)) => {
                    closed.push("the change that was asked about (nothing was sent)".into());
                    forgotten.push(Effect::Forget(confirm.number));
                }
                overlay if overlay.profile().is_none_or(&stays) => self.overlays.push(overlay),
                // What was typed is kept, should the server come back.
                Overlay::Compose(composer) => self.draft = Some(*composer),
                Overlay::Edit(editor) if editor.is_changed() => {
                    closed.push("the document that was edited (it is kept)".into());
                    self.keep_draft(*editor);
                }
                _ => {}
            }
        }
        if self.focus == Pane::Stream && !self.has_stream_pane() {
            (self.focus, self.prompt) = (Pane::Deployments, None);
        }
        (closed, forgotten)
    }
}

impl Overlay {
    /// The profile whose server it is about; it goes when that one goes.
    fn profile(&self) -> Option<&str> {
        match self {
            Overlay::Compose(composer) => Some(&composer.server.profile),
            Overlay::Page(Page::Explain(explained), _) => Some(&explained.of.profile),
            // A profile may well be edited because its server cannot be reached.
            Overlay::Edit(editor) => {
                Some(editor.subject.profile()).filter(|_| !matches!(editor.subject, Subject::Profile(_)))
            }
            Overlay::Confirm(confirm) => Some(&confirm.profile),
            Overlay::Answer(card) => Some(&card.thread.server.profile),
            Overlay::Browse(browse) => Some(&browse.profile),
            Overlay::SignIn(sign_in) => Some(&sign_in.profile),
            // A document that is read stays what it was.
            Overlay::Page(..) | Overlay::Inspect { .. } => None,
            // It says so itself when its stream is closed.
            Overlay::Modes(_) => None,
            Overlay::Journal(_) | Overlay::Command(_) | Overlay::Profiles | Overlay::FirstRun(_) => None,
        }
    }
}
