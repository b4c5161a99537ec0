//! Keys in the form: the focus, and what each key does there.

use super::fields::{Entry, INTEGRATION, Kind, REPOSITORY};
use super::lists::Choices;
use super::{DeploymentForm, Done, Stop};
use crate::input::key::{Code, Key};
use crate::session::Cx;
use runtail_core::model::SPEC_FIELDS;
use std::sync::Arc;

/// The sources that the form offers for a new deployment.
pub const SOURCES: [(&str, &str); 2] = [("github", "GitHub"), ("external_docker", "Docker image")];
/// The types that it offers.
pub const TYPES: [&str; 2] = ["dev", "prod"];
/// The states of a switch.
const SWITCH: [&str; 3] = ["true", "false", ""];

impl DeploymentForm {
    /// Handles a key that is not one of the editor's.
    pub fn key(&mut self, cx: &Cx<'_>, key: Key) -> Done {
        if self.typed_secret.is_some() {
            return self.key_in_secret(cx, key);
        }
        if let Some(mut done) = self.secret_key(key) {
            done.requests.extend(self.request_lists(cx.session));
            return done;
        }
        let by = match key.code {
            Code::Right | Code::Char(' ') => 1,
            Code::Left => -1,
            _ => 0,
        };
        let is_changed = match (self.focus, key.code) {
            (Stop::Fold(fold), Code::Enter | Code::Char(' ') | Code::Left | Code::Right) => {
                if !self.open.remove(&fold) {
                    self.open.insert(fold);
                }
                false
            }
            (_, Code::Up) => return self.step(cx, -1),
            (_, Code::Down | Code::Enter) => return self.step(cx, 1),
            (Stop::Profile, _) if by != 0 => self.next_profile(cx, by),
            (Stop::Field(path), _) => match self.entry(path) {
                Some(entry) if self.is_choice(entry) => self.choose(entry, by, key),
                Some(entry) => self.type_into(entry, key),
                None => false,
            },
            _ => false,
        };
        Done {
            requests: self.request_lists(cx.session),
            is_changed,
        }
    }

    /// Moves the focus with Tab, which completes first.
    pub fn next_field(&mut self, cx: &Cx<'_>) -> Done {
        if self.typed_secret.is_none() && self.complete() {
            return Done {
                requests: self.request_lists(cx.session),
                is_changed: true,
            };
        }
        self.step(cx, 1)
    }

    /// Moves the focus. The element that loses it shows its problems from then on.
    pub fn step(&mut self, cx: &Cx<'_>, by: isize) -> Done {
        let (ended, is_changed) = self.end_secret();
        if ended {
            let stops = self.stops();
            let at = stops
                .iter()
                .position(|stop| *stop == self.focus)
                .unwrap_or_default() as isize;
            let next = (at + by).rem_euclid(stops.len().max(1) as isize) as usize;
            self.left.insert(self.focus);
            self.focus = stops.get(next).copied().unwrap_or(self.focus);
            self.load_input();
        }
        Done {
            requests: self.request_lists(cx.session),
            is_changed,
        }
    }

    /// Inserts pasted text.
    pub fn paste(&mut self, text: &str) -> bool {
        if self.typed_secret.is_some() {
            self.change_secret(|input| input.insert(text));
            return false;
        }
        match self.focus {
            Stop::Field(path) => match self.entry(path) {
                Some(entry) if !self.is_choice(entry) => {
                    self.input.insert(text);
                    self.take_input(entry)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Stops typing a secret. Returns whether one was typed.
    pub fn leave_secret(&mut self) -> bool {
        let was_typed = self.typed_secret.take().is_some();
        if was_typed {
            self.load_input();
        }
        was_typed
    }

    fn key_in_secret(&mut self, cx: &Cx<'_>, key: Key) -> Done {
        if self.is_secret_refused() && key.text().is_some() {
            return Done::default();
        }
        match key.code {
            Code::Up => return self.step(cx, -1),
            Code::Down => return self.step(cx, 1),
            Code::Enter => {
                let (ended, is_changed) = self.end_secret();
                if ended {
                    self.load_input();
                }
                return Done {
                    requests: self.request_lists(cx.session),
                    is_changed,
                };
            }
            _ if self.is_secret_refused() => self.change_secret(|_| {}),
            _ => self.change_secret(|input| {
                input.key(key);
            }),
        }
        Done::default()
    }

    fn next_profile(&mut self, cx: &Cx<'_>, by: isize) -> bool {
        let names = profiles(cx);
        let at = names.iter().position(|name| *name == self.profile);
        let Some(next) = next_of(names.len(), at, by).and_then(|at| names.get(at)) else {
            return false;
        };
        if *next == self.profile {
            return false;
        }
        self.profile = next.clone();
        // They belong to the other profile's workspace.
        if !self.integrations.all().is_empty() {
            self.values.set(INTEGRATION, "");
        }
        (self.integrations, self.repositories) = (Choices::Unknown, Choices::Unknown);
        true
    }

    /// Returns whether a field is chosen rather than typed.
    pub(super) fn is_choice(&self, entry: Entry) -> bool {
        match entry.kind {
            Kind::Switch | Kind::Source | Kind::Type => true,
            Kind::Integration => !self.integrations.all().is_empty(),
            Kind::Text | Kind::Repository => false,
        }
    }

    fn choose(&mut self, entry: Entry, by: isize, key: Key) -> bool {
        let value = self.values.get(entry.path).to_string();
        let options: Vec<String> = match entry.kind {
            Kind::Switch => SWITCH.map(String::from).to_vec(),
            Kind::Source => SOURCES.map(|(word, _)| word.to_string()).to_vec(),
            Kind::Type => TYPES.map(String::from).to_vec(),
            _ => self
                .integrations
                .all()
                .iter()
                .map(|one| one.value.clone())
                .collect(),
        };
        let at = options.iter().position(|one| *one == value);
        // A letter chooses the next integration that begins with it.
        let by_letter = key
            .text()
            .filter(|c| *c != ' ' && entry.kind == Kind::Integration)
            .and_then(|c| {
                let begins = |one: &super::lists::Listed| {
                    one.label.to_lowercase().starts_with(c.to_ascii_lowercase())
                };
                let all = self.integrations.all();
                let order = (1..=all.len()).map(|n| (at.unwrap_or(all.len() - 1) + n) % all.len());
                order.into_iter().find(|n| all.get(*n).is_some_and(begins))
            });
        let next = by_letter.or_else(|| {
            if by == 0 {
                None
            } else {
                next_of(options.len(), at, by)
            }
        });
        let Some(next) = next
            .and_then(|at| options.get(at))
            .filter(|next| **next != value)
        else {
            return false;
        };
        match entry.kind {
            Kind::Source => self.set_source(next),
            _ => self.values.set(entry.path, next.as_str()),
        }
        if entry.kind == Kind::Integration {
            self.repositories = Choices::Unknown;
        }
        true
    }

    /// Changes the source. Fields that only the former one has are kept until it is chosen again.
    fn set_source(&mut self, source: &str) {
        self.values.set("source", source);
        let belongs = |form: &DeploymentForm, path: &str| form.entry(path).is_some();
        for path in SPEC_FIELDS.iter().copied() {
            let value = self.values.get(path).to_string();
            if !value.is_empty() && !belongs(self, path) {
                self.values.set(path, "");
                self.parked.insert(path, value);
            } else if value.is_empty()
                && belongs(self, path)
                && let Some(value) = self.parked.remove(path)
            {
                self.values.set(path, value);
            }
        }
    }

    fn type_into(&mut self, entry: Entry, key: Key) -> bool {
        self.input.key(key);
        self.take_input(entry)
    }

    /// Takes what is typed as the value of a field. Returns whether that changed it.
    fn take_input(&mut self, entry: Entry) -> bool {
        let typed = self.input.text();
        let value = match entry.path {
            // An address is shown and may be typed without its scheme.
            REPOSITORY if !typed.is_empty() && !typed.contains("://") => format!("https://{typed}"),
            _ => typed,
        };
        let is_changed = self.values.get(entry.path) != value;
        self.values.set(entry.path, value);
        if is_changed && entry.path == INTEGRATION {
            self.repositories = Choices::Unknown;
        }
        is_changed
    }
}

/// Returns the profiles on which a deployment can be created.
pub(super) fn profiles(cx: &Cx<'_>) -> Vec<Arc<str>> {
    cx.session
        .profiles
        .iter()
        .filter(|profile| profile.control_plane)
        .map(|profile| profile.name.clone())
        .collect()
}

/// Returns the option after or before another one; the first or the last if none is chosen.
fn next_of(count: usize, at: Option<usize>, by: isize) -> Option<usize> {
    if count == 0 {
        return None;
    }
    Some(match at {
        Some(at) => (at as isize + by).rem_euclid(count as isize) as usize,
        None if by > 0 => 0,
        None => count - 1,
    })
}
