//! All profiles that there are: which of them are used, tried and edited while the dashboard runs, and what a
//! configuration that is read again changes.

use super::keys::Action;
use super::list::Picker;
use super::msg::Effect;
use super::{App, Overlay};
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::config::{Config, ConfigError, Poll, Profile};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the configuration is, and what the command line settled about it for the whole session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Origin {
    /// The file that was read, or the one that would be if it were there.
    pub file: Option<PathBuf>,
    /// The profiles that were chosen by name; whatever the file says, no others are used unasked.
    pub names: Vec<String>,
    /// `--read-only`.
    pub read_only: bool,
    /// `--write`.
    pub write: bool,
    /// `--ascii`.
    pub ascii: bool,
    /// Whether the variable is set in which a key is looked for without a file.
    pub has_key: bool,
}

/// The variable in which a key is looked for without a file.
pub const KEY_VARIABLE: &str = "LANGSMITH_API_KEY";

/// The profiles that there are.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Where they come from.
    pub origin: Origin,
    /// All of them, in the order of the file; then those that were added here.
    pub all: Vec<Known>,
    /// Those in use, as they were defined when they were reached: in the order of [`App::profiles`].
    pub(super) in_force: Vec<Profile>,
    /// Those that the configuration wants to be used.
    chosen: Vec<String>,
    /// How polls go.
    poll: Poll,
    /// Why the file is not in force as it is.
    pub problem: Option<ConfigError>,
    /// The selection on the page.
    pub picker: Picker,
    /// Number of the newest trial.
    trials: u64,
}

/// A profile that is defined.
#[derive(Debug, Clone)]
pub struct Known {
    /// How it is defined by now. One that is in use goes by what it was until this was reached.
    pub profile: Profile,
    /// How the file defines it, and how that is written there.
    pub filed: Option<(Profile, Option<Arc<str>>)>,
    /// What was typed here and is not in the file.
    pub typed: Option<Arc<str>>,
    /// That it is being tried.
    pub trial: Option<Trial>,
    /// How the last trial of this definition ended, and what it was for.
    pub tried: Option<(Then, Result<Timestamp, ApiError>)>,
}

/// A definition that is being tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    number: u64,
    /// What for.
    pub then: Then,
}

/// What follows when a profile was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Nothing: somebody wanted to know.
    Nothing,
    /// It is used beside the others, instead of what it was before.
    Use,
    /// It is used, and the others no longer.
    Switch,
}

impl Known {
    pub(super) fn of(profile: Profile) -> Known {
        Known { profile, filed: None, typed: None, trial: None, tried: None }
    }

    /// Takes another definition. What was found out about the one before counts no more.
    pub(super) fn define(&mut self, profile: Profile) {
        if self.profile != profile {
            (self.profile, self.trial, self.tried) = (profile, None, None);
        }
    }

    /// Whether it is being reached in order to be used.
    pub fn is_coming(&self) -> bool {
        self.trial.is_some_and(|trial| trial.then != Then::Nothing)
    }
}

impl Catalogue {
    /// A session without a file: what is in use is all there is.
    pub fn of(profiles: &[Profile]) -> Catalogue {
        Catalogue {
            all: profiles.iter().cloned().map(Known::of).collect(),
            in_force: profiles.to_vec(),
            chosen: profiles.iter().map(|p| p.name.clone()).collect(),
            ..Catalogue::default()
        }
    }

    /// A profile by its name.
    pub fn known(&self, name: &str) -> Option<&Known> {
        self.all.iter().find(|known| known.profile.name == name)
    }

    pub(super) fn known_mut(&mut self, name: &str) -> Option<&mut Known> {
        self.all.iter_mut().find(|known| known.profile.name == name)
    }

    /// A profile as it is used now.
    pub fn used(&self, name: &str) -> Option<&Profile> {
        self.in_force.iter().find(|profile| profile.name == name)
    }

    /// The profiles in use, as they are used.
    pub fn in_force(&self) -> &[Profile] {
        &self.in_force
    }

    /// Whether a profile is used as it was, and its new definition waits for being reached.
    pub fn is_pending(&self, known: &Known) -> bool {
        self.used(&known.profile.name).is_some_and(|used| *used != known.profile)
    }

    /// Names in the order of the page.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|known| known.profile.name.clone()).collect()
    }

    /// Whether anything was typed here that is not in the file.
    pub fn is_unsaved(&self) -> bool {
        self.all.iter().any(|known| known.typed.is_some())
    }

    /// Takes the profiles of a file. What was typed here stays beside them until it is in the file too.
    fn take(&mut self, config: &Config) {
        let mut before = std::mem::take(&mut self.all);
        for profile in &config.profiles {
            let old = before.iter().position(|known| known.profile.name == profile.name).map(|at| before.remove(at));
            let mut known = old.unwrap_or_else(|| Known::of(profile.clone()));
            if known.typed.is_none() || known.profile == *profile {
                known.typed = None;
                known.define(profile.clone());
            }
            let is_filed = config.path.is_some();
            known.filed = is_filed.then(|| (profile.clone(), config.tables.get(&profile.name).cloned()));
            self.all.push(known);
        }
        let typed = before.into_iter().filter(|known| known.typed.is_some());
        self.all.extend(typed.map(|known| Known { filed: None, ..known }));
        self.chosen = config.chosen(&self.origin.names);
        self.poll = config.poll.clone();
    }
}

impl App {
    /// Tells the dashboard what else the configuration has, beside the profiles that it begins with.
    pub fn configured(&mut self, config: &Config, origin: Origin) {
        self.catalogue.origin = origin;
        self.habits.configure(config);
        let begun_with = std::mem::take(&mut self.catalogue.all);
        self.catalogue.take(config);
        // What the command line made of one (`--deployment`) goes before what the file says.
        for known in begun_with {
            match self.catalogue.known_mut(&known.profile.name) {
                Some(filed) => filed.define(known.profile),
                None => self.catalogue.all.push(known),
            }
        }
        if self.profiles.is_empty() {
            self.overlays.push(Overlay::FirstRun(0));
        }
    }

    /// Opens the page of all profiles.
    pub fn open_profiles(&mut self) {
        if !matches!(self.overlays.last(), Some(Overlay::Profiles)) {
            self.overlays.push(Overlay::Profiles);
        }
    }

    /// Rows of the list on the page of profiles; what is said of the selected one has the room below.
    pub fn profile_rows(&self) -> usize {
        let height = usize::from(self.overlay_area().h);
        self.catalogue.all.len().min(height.saturating_sub(12).max(3)).max(1)
    }

    pub(super) fn step_profiles(&mut self, by: isize) {
        let (names, height) = (self.catalogue.names(), self.profile_rows());
        match by {
            0 => self.catalogue.picker.settle(&names, height),
            by => self.catalogue.picker.step(&names, height, by),
        }
    }

    pub(super) fn act_profiles(&mut self, action: Action) -> Vec<Effect> {
        let Some(name) = self.selected_profile().map(|known| known.profile.name.clone()) else { return Vec::new() };
        match action {
            Action::Mark => self.toggle_use(&name),
            Action::Open => self.try_profile(&name, Then::Switch),
            Action::Test => self.test_profile(&name),
            Action::Anyway => self.use_anyway(&name),
            Action::Add => self.edit_profile(None),
            Action::Edit => self.edit_profile(Some(&name)),
            Action::Save => self.draft_file(),
            _ => Vec::new(),
        }
    }

    /// The profile that is selected on its page.
    pub fn selected_profile(&self) -> Option<&Known> {
        self.catalogue.known(self.catalogue.picker.selected.as_deref()?)
    }

    /// Uses a profile beside the others once it was reached, or no longer.
    pub(super) fn toggle_use(&mut self, name: &str) -> Vec<Effect> {
        let Some(known) = self.catalogue.known_mut(name) else { return Vec::new() };
        if known.is_coming() {
            known.trial = None;
            self.notify(false, format!("{name} is not checked any more; everything is as it was."));
            return Vec::new();
        }
        if self.catalogue.used(name).is_none() {
            return self.try_profile(name, Then::Use);
        }
        let others: Vec<Profile> = self.catalogue.in_force.iter().filter(|p| p.name != name).cloned().collect();
        if others.is_empty() {
            self.notify(false, format!("{name} is the only one in use and stays. ⏎ on another one switches to that."));
            return Vec::new();
        }
        self.put_in_force(others)
    }

    /// Asks a profile's servers whether they can be reached with its keys. Until they answered all is as it was.
    pub(super) fn try_profile(&mut self, name: &str, then: Then) -> Vec<Effect> {
        self.catalogue.trials += 1;
        let number = self.catalogue.trials;
        let Some(known) = self.catalogue.known_mut(name) else { return Vec::new() };
        (known.trial, known.tried) = (Some(Trial { number, then }), None);
        vec![Effect::Try(number, Box::new(known.profile.clone()))]
    }

    /// Tries the selected profile; where its newest definition is not in force yet, to use it.
    pub(super) fn test_profile(&mut self, name: &str) -> Vec<Effect> {
        let pending = self.catalogue.known(name).is_some_and(|known| self.catalogue.is_pending(known));
        self.try_profile(name, if pending { Then::Use } else { Then::Nothing })
    }

    /// A trial ended.
    pub(super) fn tried(&mut self, number: u64, result: Result<(), ApiError>) -> Vec<Effect> {
        let ours = |known: &&mut Known| known.trial.is_some_and(|trial| trial.number == number);
        let Some(known) = self.catalogue.all.iter_mut().find(ours) else { return Vec::new() };
        let Some(Trial { then, .. }) = known.trial.take() else { return Vec::new() };
        let name = known.profile.name.clone();
        known.tried = Some((then, result.clone().map(|()| self.now)));
        match (result, then) {
            (Ok(()), Then::Nothing) => {
                self.notify(false, format!("{name} can be reached."));
                Vec::new()
            }
            (Ok(()), then) => {
                let effects = self.adopt(&name, then == Then::Switch);
                if effects.is_empty() {
                    self.notify(false, format!("{name} can be reached, and is what is in use."));
                }
                effects
            }
            (Err(error), then) => {
                let stays = match (then, self.catalogue.used(&name).is_some()) {
                    (Then::Nothing, _) => String::new(),
                    (Then::Switch, false) => {
                        "\n  Nothing was switched. On the page of profiles u uses it anyway.".into()
                    }
                    (_, false) => format!("\n  {name} is not used. On the page of profiles u uses it anyway."),
                    (_, true) => {
                        format!("\n  {name} stays as it was. On the page of profiles u uses it as it is defined now.")
                    }
                };
                self.notify(true, format!("{}{stays}", error.story()));
                Vec::new()
            }
        }
    }

    /// Uses a profile though its servers could not be reached.
    pub(super) fn use_anyway(&mut self, name: &str) -> Vec<Effect> {
        match self.catalogue.known(name).and_then(|known| known.tried.as_ref()) {
            Some((then, Err(_))) => {
                let alone = *then == Then::Switch;
                self.adopt(name, alone)
            }
            _ => {
                self.notify(false, "A profile is used without being checked only after a check that failed.");
                Vec::new()
            }
        }
    }

    /// Uses a profile as it is defined now.
    fn adopt(&mut self, name: &str, alone: bool) -> Vec<Effect> {
        let Some(profile) = self.catalogue.known(name).map(|known| known.profile.clone()) else { return Vec::new() };
        let mut list = if alone { Vec::new() } else { self.catalogue.in_force.clone() };
        match list.iter_mut().find(|used| used.name == name) {
            Some(used) => *used = profile,
            None => list.push(profile),
        }
        self.put_in_force(list)
    }

    /// Brings what is used in line with how it is defined by now: at once where the same servers are asked with the same
    /// keys, else when they were reached. What rules writing out counts at once.
    pub(super) fn redefine(&mut self, mut list: Vec<Profile>) -> Vec<Effect> {
        let mut to_try = Vec::new();
        for used in &mut list {
            let Some(known) = self.catalogue.known(&used.name) else { continue };
            if known.profile.same_target(used) {
                *used = known.profile.clone();
            } else {
                // The seal of the old one stays: it is not the new one that it would be lifted for.
                used.sealed = used.sealed.take().or_else(|| known.profile.sealed.clone());
                to_try.push(used.name.clone());
            }
        }
        let mut effects = self.put_in_force(list);
        for name in to_try {
            if !self.catalogue.known(&name).is_some_and(Known::is_coming) {
                effects.extend(self.try_profile(&name, Then::Use));
            }
        }
        effects
    }

    /// The configuration file was read again. One that cannot be used changes nothing, and is said to be so.
    pub(super) fn reconfigure(&mut self, read: Result<Box<Config>, ConfigError>) -> Vec<Effect> {
        let chosen_before = self.catalogue.chosen.clone();
        let sealed = |mut config: Box<Config>| {
            config.seal(self.catalogue.origin.read_only, self.catalogue.origin.write);
            config
        };
        let config = match read.map(sealed) {
            Ok(config) if config.chosen(&self.catalogue.origin.names).is_empty() && !self.profiles.is_empty() => {
                let mut error = ConfigError::new("there is no profile in it to work with any more");
                error.path = config.path.clone();
                return self.keep_configuration(error);
            }
            Ok(config) => config,
            Err(error) => return self.keep_configuration(error),
        };
        self.catalogue.problem = None;
        let polls = self.catalogue.poll != config.poll;
        self.catalogue.take(&config);
        let mut words = self.take_settings(&config);
        let mut effects = vec![Effect::Configure(config)];
        if polls {
            // Their pauses are other ones.
            self.begin_again();
            words.push("[poll] counts from now on".into());
        }
        let chosen = self.catalogue.chosen.clone();
        let leaves = |name: &String| chosen_before.contains(name) && !chosen.contains(name);
        let gone = |app: &App, name: &String| app.catalogue.known(name).is_none();
        let mut list = self.catalogue.in_force.clone();
        list.retain(|used| !leaves(&used.name) && !gone(self, &used.name));
        for name in chosen.iter().filter(|name| !chosen_before.contains(name)) {
            if let (None, Some(known)) = (list.iter().find(|p| p.name == *name), self.catalogue.known(name)) {
                list.push(known.profile.clone());
            }
        }
        // What was switched to is gone: what the file chooses is used.
        if list.is_empty() {
            list = chosen.iter().filter_map(|name| Some(self.catalogue.known(name)?.profile.clone())).collect();
        }
        let more = if words.is_empty() { String::new() } else { format!(" {}.", words.join("; ")) };
        self.notify(false, format!("The configuration was read again.{more}"));
        effects.extend(self.redefine(list));
        effects
    }

    /// The file is not in force as it is: what was read before stays.
    fn keep_configuration(&mut self, error: ConfigError) -> Vec<Effect> {
        self.notify(true, format!("{error}\n  What was read before stays in force until this is put right."));
        self.catalogue.problem = Some(error);
        Vec::new()
    }

    /// What of the configuration is no profile; says what a person would not see at once.
    fn take_settings(&mut self, config: &Config) -> Vec<String> {
        let mut words = Vec::new();
        if self.settings.keys != config.keys {
            let (keymap, problems) = super::keys::Keymap::new(&config.keys);
            (self.keymap, self.settings.keys) = (keymap, config.keys.clone());
            words.push("[keys] counts from now on".into());
            self.tell_of_keys(&problems);
        }
        self.settings.ascii = self.catalogue.origin.ascii || config.ui.ascii;
        self.habits.configure(config);
        if self.settings.tape != config.tape {
            self.settings.tape = config.tape.clone();
            words.push("[limits] counts for streams that are opened from now on".into());
        }
        for warning in config.warnings.iter().filter(|w| !self.settings.warnings.contains(w)) {
            words.push(warning.clone());
        }
        self.settings.warnings = config.warnings.clone();
        words
    }
}
