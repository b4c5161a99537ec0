//! Using, trying, defining and saving profiles.

use crate::session::catalog::{AfterTest, Catalog, ProfileEntry, ProfileTest};
use crate::session::cure::cure;
use crate::session::msg::{Effect, ServerRef};
use crate::session::request::ProfileRequest;
use crate::session::{Request, Requests, Route};
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::config::{Config, ConfigError, Draft, Profile};
use std::sync::Arc;

/// Returns the only agent server of profiles without a control plane: there is nothing else to choose.
fn only_server(list: &[Profile]) -> Option<ServerRef> {
    let [
        Profile {
            control_plane: None,
            agent_servers,
            name: profile,
            ..
        },
    ] = list
    else {
        return None;
    };
    let [(name, url)] = agent_servers.as_slice() else {
        return None;
    };
    Some(ServerRef {
        profile: profile.as_str().into(),
        name: name.as_str().into(),
        url: url.as_str().into(),
    })
}

const NO_HOME: &str = "No home directory found; use --config FILE.";
const ANYWAY: &str = "on the profiles page, U uses";

impl Catalog {
    /// Handles the request of a feature.
    pub fn handle(&mut self, request: ProfileRequest) -> Requests {
        match request {
            ProfileRequest::ToggleUse(name) => self.toggle_use(&name),
            ProfileRequest::Try(name, then) => self.try_profile(&name, then),
            ProfileRequest::Test(name) => self.test_profile(&name),
            ProfileRequest::UseAnyway(name) => self.use_anyway(&name),
            ProfileRequest::Edit(name) => self.edit_profile(name),
            ProfileRequest::Define(text) => self
                .define(&text)
                .unwrap_or_else(|error| Requests::error(error.to_string())),
            ProfileRequest::DraftFile => self.draft_file(),
            ProfileRequest::Import => match &self.origin.file {
                None => Requests::error(NO_HOME),
                Some(file) => Effect::DraftImport(file.clone()).into(),
            },
        }
    }

    /// Starts using a profile along with the others if it is reachable, or stops using it.
    fn toggle_use(&mut self, name: &str) -> Requests {
        let Some(known) = self.known_mut(name) else {
            return Requests::none();
        };
        if known.will_be_used() {
            known.running_test = None;
            return Requests::info(format!("Cancelled the check of {name}."));
        }
        if self.used(name).is_none() {
            return self.try_profile(name, AfterTest::Use);
        }
        let others: Vec<Profile> = self
            .in_use
            .iter()
            .filter(|p| p.name != name)
            .cloned()
            .collect();
        if others.is_empty() {
            let text = format!("{name} is the only profile in use; U on another switches.");
            return Requests::info(text);
        }
        Request::UseProfiles(others).into()
    }

    /// Tests whether a profile's servers are reachable with its keys. Changes nothing until they respond.
    pub fn try_profile(&mut self, name: &str, then: AfterTest) -> Requests {
        self.newest_test += 1;
        let number = self.newest_test;
        let Some(known) = self.known_mut(name) else {
            return Requests::none();
        };
        (known.running_test, known.last_test) = (Some(ProfileTest { number, then }), None);
        Effect::Try(number, Box::new(known.profile.clone())).into()
    }

    /// Tests a profile, and shows each check on a page. If its newest definition is not used yet, a successful test activates it.
    fn test_profile(&mut self, name: &str) -> Requests {
        let pending = self.known(name).is_some_and(|known| self.is_pending(known));
        self.known_mut(name)
            .into_iter()
            .for_each(|known| known.checks.clear());
        let requests = self.try_profile(
            name,
            if pending {
                AfterTest::Use
            } else {
                AfterTest::Nothing
            },
        );
        match self.known(name) {
            Some(known) => requests.and(Route::Doctor(Some(Arc::new(known.profile.clone())))),
            None => requests,
        }
    }

    /// Applies the result of a trial.
    pub fn on_tested(
        &mut self,
        number: u64,
        result: Result<(), ApiError>,
        at: Timestamp,
    ) -> Requests {
        let ours = |known: &&mut ProfileEntry| {
            known.running_test.is_some_and(|test| test.number == number)
        };
        let Some(known) = self.all.iter_mut().find(ours) else {
            return Requests::none();
        };
        let Some(ProfileTest { then, .. }) = known.running_test.take() else {
            return Requests::none();
        };
        let name = known.profile.name.clone();
        known.last_test = Some((then, result.clone().map(|()| at)));
        known.tested_at = Some(at);
        // The first-run screen has no such key.
        let test = (!self.in_use.is_empty()).then_some("t");
        let cure = result
            .as_ref()
            .err()
            .and_then(|error| cure(&known.profile, error, test));
        let cure = cure
            .map(|cure| format!("{name}: {cure}\n"))
            .unwrap_or_default();
        match (result, then) {
            (Ok(()), AfterTest::Nothing) => Requests::info(format!("{name} is reachable.")),
            (Ok(()), then) => match self.profiles_with(&name, then == AfterTest::Switch) {
                Some(list) if self.in_use != list => {
                    let only = only_server(&list).filter(|_| self.in_use.is_empty());
                    let mut requests = Requests::from(Request::UseProfiles(list));
                    only.into_iter()
                        .for_each(|server| requests.push(Route::Server(server)));
                    requests
                }
                _ => Requests::info(format!("{name} is reachable and in use.")),
            },
            (Err(error), then) => {
                let stays = match (then, self.used(&name).is_some()) {
                    (AfterTest::Nothing, _) => String::new(),

                    (_, false) => {
                        format!("\n  {name} isn't used; {ANYWAY} it anyway.")
                    }
                    (_, true) => {
                        format!("\n  {name} is unchanged; {ANYWAY} the new definition.")
                    }
                };
                Requests::error(format!("{cure}{}{stays}", error.story()))
            }
        }
    }

    /// Uses a profile although its servers couldn't be reached.
    fn use_anyway(&mut self, name: &str) -> Requests {
        match self.known(name).and_then(|known| known.last_test.as_ref()) {
            Some((then, Err(_))) => {
                let list = self.profiles_with(name, *then == AfterTest::Switch);
                list.map(|list| Request::UseProfiles(list).into())
                    .unwrap_or_default()
            }
            _ => Requests::info("Only after a failed check."),
        }
    }

    /// Returns the profiles in use with the current definition of this one, or this one alone.
    fn profiles_with(&self, name: &str, alone: bool) -> Option<Vec<Profile>> {
        let profile = self.known(name)?.profile.clone();
        let mut list = if alone {
            Vec::new()
        } else {
            self.in_use.clone()
        };
        match list.iter_mut().find(|used| used.name == name) {
            Some(used) => *used = profile,
            None => list.push(profile),
        }
        Some(list)
    }

    /// Updates the used profiles to their current definitions: at once if servers and keys are the same, otherwise after a
    /// successful test. A restriction to read-only always applies at once.
    pub fn redefine(&mut self, mut list: Vec<Profile>) -> Requests {
        let mut to_try = Vec::new();
        for used in &mut list {
            let Some(known) = self.known(&used.name) else {
                continue;
            };
            if known.profile.same_target(used) {
                *used = known.profile.clone();
            } else {
                // The seal of the old one stays: it is not the new one that it would be lifted for.
                used.sealed = used.sealed.take().or_else(|| known.profile.sealed.clone());
                to_try.push(used.name.clone());
            }
        }
        let mut out: Requests = Request::UseProfiles(list).into();
        for name in to_try {
            if !self.known(&name).is_some_and(ProfileEntry::will_be_used) {
                out.extend(self.try_profile(&name, AfterTest::Use));
            }
        }
        out
    }

    /// Opens the file at a profile.
    fn edit_profile(&self, name: String) -> Requests {
        let is_filed = self.known(&name).is_some_and(|known| known.filed.is_some());
        match &self.origin.file {
            Some(file) if is_filed => Effect::EditFile(file.clone(), name).into(),
            _ => Requests::info(format!("{name} isn't in a file.")),
        }
    }

    /// Defines a profile for this session by the text of a new one. Does not write the file.
    ///
    /// # Errors
    /// The problem of the text.
    fn define(&mut self, text: &str) -> Result<Requests, ConfigError> {
        let mut profiles = Config::parse(text, self.origin.file.as_deref())?.profiles;
        let Some(mut profile) = profiles.pop() else {
            return Ok(Requests::none());
        };
        profile.seal(self.origin.read_only, self.origin.write);
        let name = profile.name.clone();
        if self.known(&name).is_none() {
            self.all.push(ProfileEntry::of(profile.clone()));
        }
        if let Some(known) = self.known_mut(&name) {
            known.define(profile);
            known.typed = Some(text.into());
        }
        self.table.prefer(name.clone());
        Ok(self.try_profile(&name, AfterTest::Use))
    }

    /// Prepares the file with the unsaved profiles.
    fn draft_file(&self) -> Requests {
        let typed: Vec<_> = self
            .all
            .iter()
            .filter_map(|known| known.typed.clone())
            .collect();
        match &self.origin.file {
            _ if typed.is_empty() => Requests::info("No unsaved changes."),
            None => Requests::error(NO_HOME),
            Some(file) => Effect::DraftFile(file.clone(), typed).into(),
        }
    }

    /// Handles the result of writing the file.
    pub fn on_saved(&mut self, result: Result<Box<Draft>, ConfigError>) -> Requests {
        match result {
            Ok(draft) => {
                for known in &mut self.all {
                    known
                        .typed
                        .take_if(|typed| draft.typed().any(|text| text == &**typed));
                }
                Requests::info(format!("Wrote {}.", draft.path.display()))
            }
            Err(error) => Requests::error(error.to_string()),
        }
    }

    /// Returns the newest unsaved profile.
    pub fn first_typed(&self) -> Option<&ProfileEntry> {
        self.all.iter().rfind(|known| known.typed.is_some())
    }
}
