//! Keys in the form: the focus, and what each key does there.

use super::fields::{INTEGRATION, PROFILE, REPOSITORY};
use super::lists::Choices;
use super::{DeploymentForm, DeploymentStop};
use crate::input::key::{Code, Key};
use crate::session::Requests;
use crate::session::form::FormKeys;
use crate::widgets::form::FieldInput;
use runtail_core::model::SPEC_FIELDS;

impl FormKeys for DeploymentForm {
    type Stop = DeploymentStop;

    fn stops(&self) -> Vec<DeploymentStop> {
        let entries = |fold| self.entries_in(fold).map(DeploymentStop::of);
        let secrets = (0..=self.secret_rows().len()).map(DeploymentStop::Secret);
        let mut stops: Vec<DeploymentStop> = entries(None).chain(secrets).collect();
        for fold in self.folds() {
            stops.push(DeploymentStop::Fold(fold));
            if self.open.contains(fold) {
                stops.extend(entries(Some(fold)));
            }
        }
        stops
    }

    fn focus(&mut self) -> &mut DeploymentStop {
        &mut self.focus
    }

    fn input(&mut self) -> FieldInput<'_> {
        let entry = match self.focus {
            DeploymentStop::Field(path) => self.entry(path),
            _ if self.typed_secret.is_some() => None,
            _ => return FieldInput::Other,
        };
        let options = entry.and_then(|entry| {
            let (options, value) = (self.options(entry)?, self.value(entry.path));
            let at = options.iter().position(|(word, _)| *word == value);
            Some((at, options.len()))
        });
        match options {
            Some((at, count)) => {
                self.choice = at;
                FieldInput::Choice(&mut self.choice, count, false)
            }
            None => FieldInput::Text(&mut self.input, false),
        }
    }

    fn own_key(&mut self, key: Key) -> Option<Requests> {
        match (self.focus, key.code) {
            (DeploymentStop::Secret(row), _) => self.secret_key(row, key)?,
            (
                DeploymentStop::Fold(fold),
                Code::Enter | Code::Char(' ') | Code::Left | Code::Right,
            ) => {
                if !self.open.remove(fold) {
                    self.open.insert(fold);
                }
            }
            (DeploymentStop::Field(INTEGRATION), _) => {
                let next = self.integration_by_letter(key.text()?)?.to_string();
                self.set(INTEGRATION, &next);
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn on_change(&mut self, before: &str) {
        let DeploymentStop::Field(path) = self.focus else {
            return self.check_secret(before);
        };
        let options = self.entry(path).and_then(|entry| self.options(entry));
        let value = match (options, self.input.text()) {
            (Some(options), _) => {
                let chosen = self.choice.and_then(|at| options.get(at));
                chosen.map_or(String::new(), |(word, _)| word.to_string())
            }
            // An address is shown and may be typed without its scheme.
            (None, typed) if path == REPOSITORY && !typed.is_empty() && !typed.contains("://") => {
                format!("https://{typed}")
            }
            (None, typed) => typed,
        };
        if self.value(path) != value {
            self.set(path, &value);
        }
    }

    fn leave(&mut self) -> bool {
        let is_ended = self.end_secret();
        if is_ended {
            self.left.insert(self.focus);
        }
        is_ended
    }

    fn on_focus(&mut self, _before: DeploymentStop) -> Requests {
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
    fn set(&mut self, path: &'static str, value: &str) {
        self.values.set(path, value);
        self.is_changed = true;
        match path {
            PROFILE => {
                self.profile = value.into();
                // They belong to the other profile's workspace.
                if !self.integrations.all().is_empty() {
                    self.values.set(INTEGRATION, "");
                }
                (self.integrations, self.repositories) = (Choices::Unknown, Choices::Unknown);
            }
            INTEGRATION => self.repositories = Choices::Unknown,
            "source" => self.park_fields(),
            _ => {}
        }
    }

    /// Returns the next integration that begins with a letter.
    fn integration_by_letter(&self, letter: char) -> Option<&str> {
        let (all, value) = (self.integrations.all(), self.value(INTEGRATION));
        let at = all.iter().position(|one| one.value == value);
        let after = at.map_or(0, |at| at + 1);
        let begins = |label: &str| {
            label
                .to_lowercase()
                .starts_with(letter.to_ascii_lowercase())
        };
        let mut others = all.iter().cycle().skip(after).take(all.len());
        Some(&others.find(|one| begins(&one.label))?.value)
    }

    /// Sets aside the fields that only another source has until that source is chosen again.
    fn park_fields(&mut self) {
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
}
