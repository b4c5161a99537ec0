//! Switches profiles and reloads the configuration without a restart.

use super::{App, Overlay, Pane};
use crate::features::deployments::list::Row;
use crate::features::profiles::first_run::FirstRun;
use crate::input::keymap::Keymap;
use crate::session::Requests;
use crate::session::catalog::ProfileOrigin;
use crate::session::msg::{Effect, Epoch};
use crate::session::profile::ProfileState;
use runtail_core::config::{Config, ConfigError, Profile};

impl App {
    /// Applies the parts of the initial configuration that [`App::new`] doesn't receive.
    /// Returns the effects to perform first.
    pub fn configured(&mut self, config: &Config, origin: ProfileOrigin) -> Vec<Effect> {
        self.session.catalog.origin = origin;
        self.session.prefs.configure(config);
        let initial = std::mem::take(&mut self.session.catalog.all);
        self.session.catalog.take(config);
        // A definition changed by the command line (`--deployment`) takes precedence over the file.
        for known in initial {
            match self.session.catalog.known_mut(&known.profile.name) {
                Some(in_file) => in_file.define(known.profile),
                None => self.session.catalog.all.push(known),
            }
        }
        if !self.session.profiles.is_empty() {
            return Vec::new();
        }
        self.overlays.push(FirstRun::default().into());
        let asked = Requests::from(Effect::FindLocalServer).and(Effect::FindImports);
        self.apply(asked)
    }

    /// Applies a reloaded configuration file. An invalid file changes nothing and is reported.
    pub(crate) fn reconfigure(&mut self, read: Result<Box<Config>, ConfigError>) -> Vec<Effect> {
        if self.session.settings.demo {
            // The demo was started on the first-run screen, and shows only simulated servers.
            return Vec::new();
        }
        let chosen_before = self.session.catalog.chosen.clone();
        let with_flags = |mut config: Box<Config>| {
            config.seal(
                self.session.catalog.origin.read_only,
                self.session.catalog.origin.write,
            );
            config
        };
        let config = match read.map(with_flags) {
            Ok(config)
                if config.chosen(&self.session.catalog.origin.names).is_empty()
                    && !self.session.profiles.is_empty() =>
            {
                let mut error = ConfigError::new("it has no profiles");
                error.path = config.path.clone();
                return self.keep_configuration(error);
            }
            Ok(config) => config,
            Err(error) => return self.keep_configuration(error),
        };
        self.session.catalog.problem = None;
        let polls = self.session.catalog.poll != config.poll;
        self.session.catalog.take(&config);
        let mut notes = self.apply_settings(&config);
        let mut effects = vec![Effect::Configure(config)];
        if polls {
            // The poll intervals changed.
            self.session.restart_polls();
            notes.push("[poll] applied".into());
        }
        let chosen = self.session.catalog.chosen.clone();
        let was_deselected = |name: &String| chosen_before.contains(name) && !chosen.contains(name);
        let was_removed = |app: &App, name: &String| app.session.catalog.known(name).is_none();
        let mut list = self.session.catalog.in_use.clone();
        list.retain(|used| !was_deselected(&used.name) && !was_removed(self, &used.name));
        for name in chosen.iter().filter(|name| !chosen_before.contains(name)) {
            if let (None, Some(known)) = (
                list.iter().find(|p| p.name == *name),
                self.session.catalog.known(name),
            ) {
                list.push(known.profile.clone());
            }
        }
        // The profiles in use were removed, so use those that the file selects.
        if list.is_empty() {
            list = chosen
                .iter()
                .filter_map(|name| Some(self.session.catalog.known(name)?.profile.clone()))
                .collect();
        }
        let more = if notes.is_empty() {
            String::new()
        } else {
            format!(" {}.", notes.join("; "))
        };
        self.notify(false, format!("Configuration reloaded.{more}"));
        let requests = self.session.catalog.redefine(list);
        effects.extend(self.apply(requests));
        effects
    }

    /// Shows the simulated servers of the demo, after they were started on the first-run screen.
    pub(super) fn begin_demo(&mut self, config: Box<Config>) -> Vec<Effect> {
        if !self.session.profiles.is_empty() {
            // A configuration has appeared in the meantime.
            return Vec::new();
        }
        self.session.settings.demo = true;
        // No real server is shown beside the simulated ones.
        self.session.catalog.all.clear();
        self.session.catalog.take(&config);
        let profiles = config.profiles.clone();
        let mut effects = vec![Effect::UseDemo(config)];
        effects.extend(self.activate_profiles(profiles));
        effects
    }

    /// Reports an invalid configuration file and keeps the previous configuration.
    fn keep_configuration(&mut self, error: ConfigError) -> Vec<Effect> {
        self.notify(
            true,
            format!("{error}\n  The previous configuration stays in use."),
        );
        self.session.catalog.problem = Some(error);
        Vec::new()
    }

    /// Applies all settings except the profiles. Returns a note for each change that is not immediately visible.
    fn apply_settings(&mut self, config: &Config) -> Vec<String> {
        let mut notes = Vec::new();
        if self.session.settings.keys != config.keys {
            let (keymap, problems) = Keymap::new(&config.keys);
            (self.session.keymap, self.session.settings.keys) = (keymap, config.keys.clone());
            notes.push("[keys] applied".into());
            self.report_key_problems(&problems);
        }
        self.session.settings.ascii = self.session.catalog.origin.ascii || config.ui.ascii;
        self.session.prefs.configure(config);
        if self.session.settings.event_log != config.event_log {
            self.session.settings.event_log = config.event_log.clone();
            notes.push("[limits] applies to new streams".into());
        }
        for warning in config
            .warnings
            .iter()
            .filter(|w| !self.session.settings.warnings.contains(w))
        {
            notes.push(warning.clone());
        }
        self.session.settings.warnings = config.warnings.clone();
        notes
    }

    /// Returns whether a response is still valid: its profile is in use, and has pointed to the same server since configuration
    /// `since`.
    pub(crate) fn is_current(&self, profile: Option<&str>, since: Epoch) -> bool {
        profile.is_none_or(|name| {
            self.session
                .profiles
                .iter()
                .any(|p| &*p.name == name && p.generation <= since)
        })
    }

    /// Activates these profiles. Views of profiles that were removed or now point to another server are closed with a notice;
    /// everything else is left untouched.
    pub(crate) fn activate_profiles(&mut self, list: Vec<Profile>) -> Vec<Effect> {
        if self.session.catalog.in_use == list {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.session.catalog.in_use, list.clone());
        let find = |list: &[Profile], name: &str| list.iter().find(|p| p.name == name).cloned();
        let keeps_target = |name: &str| {
            find(&before, name)
                .zip(find(&list, name))
                .is_some_and(|(old, new)| old.same_target(&new))
        };
        self.session.epoch = self.session.epoch.next();
        // Responses of redirected profiles are dropped, so a search for an id would wait forever.
        self.cancel_search();
        let generation = self.session.epoch;
        let mut notes = Vec::new();
        let states = list.iter().map(|profile| {
            let known = self.session.profile(&profile.name);
            let known = known.filter(|_| keeps_target(&profile.name));
            let old = find(&before, &profile.name);
            let (state, note) = state_of(profile, old.as_ref(), known, generation);
            notes.extend(note.map(|note| format!("{} {note}", profile.name)));
            state
        });
        self.session.profiles = states.collect();
        let removed = before.iter().filter(|old| find(&list, &old.name).is_none());
        notes.extend(removed.map(|old| format!("{} is off", old.name)));
        self.deployments
            .list
            .rearrange(&list, &self.session.profiles, keeps_target);
        self.deployments.share_all(&mut self.session);
        let is_unchanged = |name: &str| find(&before, name) == find(&list, name);
        let (closed, forget_effects) = self.close_except(keeps_target, is_unchanged);
        if !notes.is_empty() {
            let closed = if closed.is_empty() {
                String::new()
            } else {
                format!("; closed: {}", closed.join(", "))
            };
            self.notify(false, format!("{}{closed}.", notes.join(", ")));
        }
        self.session.inbox.retain_profiles(keeps_target);
        self.session.reach.retain_profiles(keeps_target);
        self.sync_inbox();
        let new = |row: &&Row| !keeps_target(&row.profile_name) && row.deployment.is_none();
        let servers: Vec<_> = self
            .deployments
            .list
            .rows
            .iter()
            .filter(new)
            .filter_map(|row| row.server(&self.session.profiles))
            .filter(|server| !self.session.is_quiet(server))
            .collect();
        let mut effects = vec![Effect::UseProfiles(generation, list)];
        effects.extend(forget_effects);
        effects.extend(servers.into_iter().map(Effect::FetchInfo));
        effects
    }

    /// Closes the streams, lists and dialogs of profiles that were removed or point to another server. A pending change is
    /// closed if anything in its profile's definition changed. Returns the names of what was closed, for the notice, and the
    /// effects.
    fn close_except(
        &mut self,
        keeps_target: impl Fn(&str) -> bool,
        is_unchanged: impl Fn(&str) -> bool,
    ) -> (Vec<String>, Vec<Effect>) {
        let mut forget_effects = Vec::new();
        let mut closed = Vec::new();
        for viewer in self
            .stream
            .tabs
            .close_except(|v| v.is_recording() || keeps_target(&v.server.profile))
        {
            closed.push(format!(
                "the stream of {} (its run continues)",
                viewer.server.name
            ));
        }
        if let Some(server) = self
            .agent
            .server
            .take_if(|s| !keeps_target(&s.server.profile))
        {
            closed.push(format!("the threads of {}", server.server.name));
        }
        if let Some(logs) = self
            .logs
            .take_if(|l| l.sources.iter().any(|s| !keeps_target(&s.profile)))
        {
            let names: Vec<&str> = logs.sources.iter().map(|s| s.name.as_str()).collect();
            closed.push(format!("the logs of {}", names.join(", ")));
        }
        let watched = self.deployments.watches.len();
        self.deployments
            .watches
            .retain(|of, _| keeps_target(&of.profile));
        match watched - self.deployments.watches.len() {
            0 => {}
            1 => closed.push("a watch".into()),
            n => closed.push(runtail_core::text::counted(n, "watch")),
        }
        self.deployments
            .deleting
            .retain(|(profile, _), _| keeps_target(profile));
        self.session
            .infos
            .retain(|server, _| keeps_target(&server.profile));
        self.agent
            .health
            .retain(|server, _| keeps_target(&server.profile));
        self.deployments.histories.retain(|row, _| {
            row.split_once('/')
                .is_some_and(|(profile, _)| keeps_target(profile))
        });
        self.deployments
            .compared
            .retain(|of| keeps_target(&of.profile));
        self.pending_record
            .take_if(|what| !keeps_target(what.profile()));
        for overlay in std::mem::take(&mut self.overlays) {
            match overlay {
                // A profile is in use, so the first-run screen is no longer needed.
                Overlay::FirstRun(_) if !self.session.profiles.is_empty() => {}
                // The result of a change that is being sent is reported even if its dialog closes.
                Overlay::Confirm(confirm)
                    if !confirm.profiles().all(&is_unchanged) && confirm.is_pending() =>
                {
                    closed.push("the pending change (nothing was sent)".into());
                    forget_effects.extend(confirm.forget());
                }
                overlay if overlay.profile().is_none_or(&keeps_target) => {
                    self.overlays.push(overlay)
                }
                // Keep the draft in case the profile is used again.
                Overlay::Compose(composer) => self.composing.keep(composer.closed()),
                Overlay::Edit(editor) if editor.is_changed() => {
                    closed.push("the edited document (kept as a draft)".into());
                    self.changes.keep(editor.closed());
                }
                _ => {}
            }
        }
        if self.focus == Pane::Stream && !self.has_stream_pane() {
            (self.focus, self.prompt) = (Pane::Deployments, None);
        }
        (closed, forget_effects)
    }
}

/// Returns the state of a profile that is used from now on, and what changes for the user. `known`: its state if it still points to
/// the same server.
fn state_of(
    profile: &Profile,
    old: Option<&Profile>,
    known: Option<&ProfileState>,
    generation: Epoch,
) -> (ProfileState, Option<&'static str>) {
    let fresh = ProfileState::new(profile, generation);
    let Some(known) = known else {
        let now = match old {
            Some(_) => "has another server",
            None => "is on",
        };
        return (fresh, Some(now));
    };
    let note = match (known.read_only, fresh.read_only) {
        (false, true) => Some("is read-only"),
        (true, false) => Some("is writable"),
        _ => None,
    };
    // The pinned deployments changed, so load the list again.
    let pins_changed = old.is_some_and(|old| old.deployments != profile.deployments);
    let state = ProfileState {
        label: fresh.label,
        read_only: fresh.read_only,
        is_unpolled: fresh.is_unpolled,
        unpolled: fresh.unpolled,
        production: fresh.production,
        epoch: if pins_changed {
            generation
        } else {
            known.epoch
        },
        ..known.clone()
    };
    (state, note)
}
