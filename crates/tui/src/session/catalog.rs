//! All known profiles and their definitions.

use crate::widgets::table::Table;
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_api::doctor::Check;
use runtail_core::config::{Config, ConfigError, Poll, Profile};
use std::path::PathBuf;
use std::sync::Arc;

/// The configuration file, and the command-line options that apply to it for the whole session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProfileOrigin {
    /// The path of the configuration file, which may not exist.
    pub file: Option<PathBuf>,
    /// The profiles selected on the command line, instead of those that the file selects. Empty if none were.
    pub names: Vec<String>,
    pub read_only: bool,
    pub write: bool,
    pub ascii: bool,
    /// Whether [`KEY_VARIABLE`] is set.
    pub has_key: bool,
}

/// The environment variable with the API key that is used without a configuration file.
pub const KEY_VARIABLE: &str = "LANGSMITH_API_KEY";

/// All known profiles.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// The configuration file and the options that apply to it.
    pub origin: ProfileOrigin,
    /// The profiles of the file in its order, then those added in this session.
    pub all: Vec<ProfileEntry>,
    /// The profiles in use, with the definitions in use, in the order of the session's profiles.
    pub(crate) in_use: Vec<Profile>,
    /// The names of the profiles that the configuration or the command line selects.
    pub(crate) chosen: Vec<String>,
    /// Poll interval and time limit.
    pub(crate) poll: Poll,
    /// Why the current file is invalid and not used.
    pub problem: Option<ConfigError>,
    /// The table of the profiles page, kept while it is closed.
    pub table: Table,
    /// Number of the newest test.
    pub(crate) newest_test: u64,
}

/// A profile with its definitions.
#[derive(Debug, Clone)]
pub struct ProfileEntry {
    /// The newest definition. A profile in use keeps its previous one until a test has reached this one.
    pub profile: Profile,
    /// The definition in the file.
    pub filed: Option<Profile>,
    /// The text of a new one, if it is not saved to the file.
    pub typed: Option<Arc<str>>,
    /// The test that is running.
    pub running_test: Option<ProfileTest>,
    /// The last finished test of this definition: what was to follow, and the result.
    pub last_test: Option<(AfterTest, Result<Timestamp, ApiError>)>,
    /// When that test ended.
    pub tested_at: Option<Timestamp>,
    /// The checks of this definition by the newest test that showed them.
    pub checks: Vec<Check>,
}

/// Maximum number of checks that are kept of a profile.
const MAX_CHECKS: usize = 64;

/// A running test of whether a profile's servers can be reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileTest {
    pub(crate) number: u64,
    /// What follows if they can.
    pub then: AfterTest,
}

/// What follows after a profile was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterTest {
    /// Nothing: the user only wanted to test it.
    Nothing,
    /// It is used beside the others, and its new definition replaces the previous one.
    Use,
    /// It is used, and the others are no longer used.
    Switch,
}

impl ProfileEntry {
    /// Returns why the last test of this definition failed, if none is running.
    pub fn failure(&self) -> Option<&ApiError> {
        match (&self.running_test, &self.last_test) {
            (None, Some((_, Err(error)))) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn of(profile: Profile) -> ProfileEntry {
        ProfileEntry {
            profile,
            filed: None,
            typed: None,
            running_test: None,
            last_test: None,
            tested_at: None,
            checks: Vec::new(),
        }
    }

    /// Replaces the definition. Tests of the previous one are dropped.
    pub(crate) fn define(&mut self, profile: Profile) {
        if self.profile != profile {
            (self.profile, self.running_test, self.last_test) = (profile, None, None);
            self.checks.clear();
        }
    }

    /// Keeps a check of its newest test.
    pub fn on_check(&mut self, check: &Check) {
        if self.checks.len() < MAX_CHECKS {
            self.checks.push(check.clone());
        }
    }

    /// Returns whether it is being tested and will be used if the test succeeds.
    pub fn will_be_used(&self) -> bool {
        self.running_test
            .is_some_and(|test| test.then != AfterTest::Nothing)
    }
}

impl Catalog {
    /// Creates a catalog without a file, in which every profile is in use.
    pub fn of(profiles: &[Profile]) -> Catalog {
        Catalog {
            all: profiles.iter().cloned().map(ProfileEntry::of).collect(),
            in_use: profiles.to_vec(),
            chosen: profiles.iter().map(|p| p.name.clone()).collect(),
            ..Catalog::default()
        }
    }

    /// Returns a profile by its name.
    pub fn known(&self, name: &str) -> Option<&ProfileEntry> {
        self.all.iter().find(|known| known.profile.name == name)
    }

    pub(crate) fn known_mut(&mut self, name: &str) -> Option<&mut ProfileEntry> {
        self.all.iter_mut().find(|known| known.profile.name == name)
    }

    /// Returns the definition of a profile that is in use.
    pub fn used(&self, name: &str) -> Option<&Profile> {
        self.in_use.iter().find(|profile| profile.name == name)
    }

    /// Returns the definitions in use.
    pub fn in_use(&self) -> &[Profile] {
        &self.in_use
    }

    /// Returns whether a profile in use has a newer definition that is not used yet.
    pub fn is_pending(&self, known: &ProfileEntry) -> bool {
        self.used(&known.profile.name)
            .is_some_and(|used| *used != known.profile)
    }

    /// Returns all names, in the order of the profiles page.
    pub fn names(&self) -> Vec<String> {
        self.all
            .iter()
            .map(|known| known.profile.name.clone())
            .collect()
    }

    /// Returns whether any profile has unsaved edits.
    pub fn is_unsaved(&self) -> bool {
        self.all.iter().any(|known| known.typed.is_some())
    }

    /// Applies the profiles of a file. Unsaved edits are kept until the file contains them.
    pub(crate) fn take(&mut self, config: &Config) {
        let mut before = std::mem::take(&mut self.all);
        for profile in &config.profiles {
            let old = before
                .iter()
                .position(|known| known.profile.name == profile.name)
                .map(|at| before.remove(at));
            let mut known = old.unwrap_or_else(|| ProfileEntry::of(profile.clone()));
            if known.typed.is_none() || known.profile == *profile {
                known.typed = None;
                known.define(profile.clone());
            }
            known.filed = config.path.as_ref().map(|_| profile.clone());
            self.all.push(known);
        }
        let typed = before.into_iter().filter(|known| known.typed.is_some());
        self.all.extend(typed.map(|known| ProfileEntry {
            filed: None,
            ..known
        }));
        self.chosen = config.chosen(&self.origin.names);
        self.poll = config.poll.clone();
    }
}
