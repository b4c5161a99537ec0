//! Keys in the form: the focus, and what each key does there.

use super::fields::{Entry, INTEGRATION, Kind, REPOSITORY};
use super::lists::Choices;
use super::{DeploymentForm, Stop};
use crate::input::key::{Code, Key};
use crate::session::Requests;
use crate::session::form::FormKeys;
use crate::widgets::form::{FieldInput, turn_of, turned};
use runtail_core::model::SPEC_FIELDS;

/// The sources that the form offers for a new deployment.
pub const SOURCES: [(&str, &str); 2] = [("github", "GitHub"), ("external_docker", "Docker image")];
/// The types that it offers.
pub const TYPES: [&str; 2] = ["dev", "prod"];
/// The states of a switch.
const SWITCH: [&str; 3] = ["true", "false", ""];

impl FormKeys for DeploymentForm {
    type Stop = Stop;

    fn stops(&self) -> Vec<Stop> {
        let profile = self.is_new.then_some(Stop::Profile);
        let entries = self.entries().into_iter().map(Stop::of);
        let secrets = (0..=self.secret_rows().len()).map(Stop::Secret);
        let folds = self.folds().iter().flat_map(|fold| {
            let entries = fold.entries().iter().filter(|_| self.open.contains(fold));
            std::iter::once(Stop::Fold(*fold)).chain(entries.copied().map(Stop::of))
        });
        let all = profile.into_iter().chain(entries).chain(secrets);
        all.chain(folds).collect()
    }

    fn focus(&mut self) -> &mut Stop {
        &mut self.focus
    }

    fn input(&mut self) -> FieldInput<'_> {
        let is_typed = match self.focus {
            Stop::Field(path) => self.entry(path).is_some_and(|entry| !self.is_choice(entry)),
            _ => self.typed_secret.is_some(),
        };
        match is_typed {
            true => FieldInput::Text(&mut self.input, false),
            false => FieldInput::Other,
        }
    }

    fn own_key(&mut self, key: Key) -> Option<Requests> {
        let by = turn_of(key);
        match (self.focus, key.code) {
            (Stop::Secret(row), _) => self.secret_key(row, key)?,
            (Stop::Fold(fold), Code::Enter | Code::Char(' ') | Code::Left | Code::Right) => {
                if !self.open.remove(&fold) {
                    self.open.insert(fold);
                }
            }
            (Stop::Profile, _) if by != 0 => self.next_profile(by),
            (Stop::Field(path), _) => {
                let entry = self.entry(path).filter(|entry| self.is_choice(*entry))?;
                self.choose(entry, by, key)?;
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn on_change(&mut self, before: &str) {
        match self.focus {
            Stop::Field(path) => self.take_input(path),
            _ => self.check_secret(before),
        }
    }

    fn leave(&mut self) -> bool {
        let is_ended = self.end_secret();
        if is_ended {
            self.left.insert(self.focus);
        }
        is_ended
    }

    fn on_focus(&mut self, _before: Stop) -> Requests {
        self.load_input();
        Requests::none()
    }

    fn complete(&mut self) -> bool {
        let Some((path, value)) = self.completion() else {
            return false;
        };
        self.set(path, &value);
        self.load_input();
        true
    }
}

impl DeploymentForm {
    /// Stops typing a secret. Returns whether one was typed.
    pub fn leave_secret(&mut self) -> bool {
        let was_typed = self.typed_secret.take().is_some();
        if was_typed {
            self.load_input();
        }
        was_typed
    }

    /// Sets a field of the document.
    pub(super) fn set(&mut self, path: &'static str, value: &str) {
        self.values.set(path, value);
        self.is_changed = true;
        if path == INTEGRATION {
            self.repositories = Choices::Unknown;
        }
    }

    fn next_profile(&mut self, by: isize) {
        let next = turned(&self.profiles, Some(&self.profile), by);
        let Some(next) = next.filter(|next| *next != self.profile) else {
            return;
        };
        self.profile = next;
        self.is_changed = true;
        // They belong to the other profile's workspace.
        if !self.integrations.all().is_empty() {
            self.values.set(INTEGRATION, "");
        }
        (self.integrations, self.repositories) = (Choices::Unknown, Choices::Unknown);
    }

    /// Returns whether a field is chosen rather than typed.
    pub(super) fn is_choice(&self, entry: Entry) -> bool {
        match entry.kind {
            Kind::Switch | Kind::Source | Kind::Type => true,
            Kind::Integration => !self.integrations.all().is_empty(),
            Kind::Text | Kind::Repository => false,
        }
    }

    fn choose(&mut self, entry: Entry, by: isize, key: Key) -> Option<()> {
        let value = self.values.get(entry.path);
        let options: Vec<&str> = match entry.kind {
            Kind::Switch => SWITCH.to_vec(),
            Kind::Source => SOURCES.map(|(word, _)| word).to_vec(),
            Kind::Type => TYPES.to_vec(),
            _ => {
                let all = self.integrations.all().iter();
                all.map(|one| one.value.as_str()).collect()
            }
        };
        let next = match by {
            0 => self.integration_by_letter(entry, key)?,
            by => turned(&options, Some(&value), by)?,
        };
        if next == value {
            return Some(());
        }
        let next = next.to_string();
        match entry.kind {
            Kind::Source => self.set_source(&next),
            _ => self.set(entry.path, &next),
        }
        Some(())
    }

    /// Returns the next integration that begins with a letter.
    fn integration_by_letter(&self, entry: Entry, key: Key) -> Option<&str> {
        let letter = key.text().filter(|_| entry.kind == Kind::Integration)?;
        let begins = |one: &&super::lists::Listed| {
            let label = one.label.to_lowercase();
            label.starts_with(letter.to_ascii_lowercase())
        };
        let (all, value) = (self.integrations.all(), self.values.get(entry.path));
        let after = all
            .iter()
            .position(|one| one.value == value)
            .map_or(0, |at| at + 1);
        let found = all.iter().cycle().skip(after).take(all.len()).find(begins);
        found.map(|one| one.value.as_str())
    }

    /// Changes the source. Fields that only the former one has are kept until it is chosen again.
    fn set_source(&mut self, source: &str) {
        self.set("source", source);
        for path in SPEC_FIELDS.iter().copied() {
            let value = self.values.get(path).to_string();
            let belongs = self.entry(path).is_some();
            if !value.is_empty() && !belongs {
                self.values.set(path, "");
                self.parked.insert(path, value);
            } else if value.is_empty()
                && belongs
                && let Some(value) = self.parked.remove(path)
            {
                self.values.set(path, value);
            }
        }
    }

    /// Takes what is typed as the value of a field.
    fn take_input(&mut self, path: &'static str) {
        let typed = self.input.text();
        let value = match path {
            // An address is shown and may be typed without its scheme.
            REPOSITORY if !typed.is_empty() && !typed.contains("://") => format!("https://{typed}"),
            _ => typed,
        };
        if self.values.get(path) != value {
            self.set(path, &value);
        }
    }
}
