//! All profiles that there are, and how they are defined.

use crate::widgets::list::Picker;
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
    pub read_only: bool,
    pub write: bool,
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
    /// Those in use, as they were defined when they were reached: in the order of the session's profiles.
    pub(crate) in_force: Vec<Profile>,
    /// Those that the configuration wants to be used.
    pub(crate) chosen: Vec<String>,
    /// How polls go.
    pub(crate) poll: Poll,
    /// Why the file is not in force as it is.
    pub problem: Option<ConfigError>,
    /// The selection on the page.
    pub picker: Picker,
    /// Number of the newest trial.
    pub(crate) trials: u64,
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
    pub(crate) number: u64,
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
    pub(crate) fn of(profile: Profile) -> Known {
        Known { profile, filed: None, typed: None, trial: None, tried: None }
    }

    /// Takes another definition. What was found out about the one before counts no more.
    pub(crate) fn define(&mut self, profile: Profile) {
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

    pub(crate) fn known_mut(&mut self, name: &str) -> Option<&mut Known> {
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
    pub(crate) fn take(&mut self, config: &Config) {
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
