//! The form of a profile. It shows the fields of the editor's document, which stays the draft, as the form of a deployment
//! does.

use super::deployment_form::Done;
use crate::input::key::{Code, Key};
use crate::session::catalog::Catalog;
use crate::session::msg::Effect;
use crate::session::{Requests, Session};
use crate::widgets::text_input::{Problem, TextInput};
use runtail_core::config::{
    KeyPlace, ProfileField, ProfileForm, REGIONS, ServerPlace, has_langsmith_key, looks_like_key,
};
use runtail_core::text::capitalized;
use std::collections::{BTreeMap, BTreeSet};

/// An element that can have the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    Place,
    Address,
    KeyPlace,
    Key,
    Name,
    Workspace,
    Label,
    Access,
}

/// Where a server can be, with its name.
pub(super) const PLACES: [(ServerPlace, &str); 6] = [
    (ServerPlace::Region(0), REGIONS[0].0),
    (ServerPlace::Region(1), REGIONS[1].0),
    (ServerPlace::Region(2), REGIONS[2].0),
    (ServerPlace::Region(3), REGIONS[3].0),
    (ServerPlace::SelfHosted, "self-hosted"),
    (ServerPlace::AgentServer, "one agent server"),
];
/// Where a key can be read, with its name.
pub(super) const KEY_PLACES: [(KeyPlace, &str); 5] = [
    (KeyPlace::Variable, "variable"),
    (KeyPlace::File, "file"),
    (KeyPlace::Keychain, "OS keychain"),
    (KeyPlace::Command, "command"),
    (KeyPlace::None, "no key"),
];

/// Why a key is not a field's text.
const REFUSED: &str = "That looks like a key, so nothing of it was kept. Enter where the key is. Press Backspace to continue.";

/// The form and what it knows besides the document.
#[derive(Debug, Clone)]
pub struct ProfileFields {
    /// Whether the form is shown instead of the document.
    pub is_shown: bool,
    /// The name of the profile before it was edited; `None` for a new one.
    pub(super) was: Option<String>,
    pub values: ProfileForm,
    pub focus: Stop,
    pub(super) input: TextInput,
    pub(super) left: BTreeSet<Stop>,
    /// Why each reference to a key can't be read; `None` if it can.
    pub(super) references: BTreeMap<String, Option<String>>,
    /// Whether the user chose where the key is.
    is_key_chosen: bool,
    /// Why the document can't be shown as a form.
    pub why_document: Option<String>,
    /// The field in which a key was typed or pasted. It takes no text until another key is pressed, and nothing of the key is kept.
    pub(super) refused: Option<Stop>,
    /// The settings of the document that have no field.
    pub(super) others: Vec<String>,
    /// What is wrong with the document, and the element that it belongs to.
    pub(super) found: Option<(Option<Stop>, String)>,
    pub(super) known: Known,
}

/// What the form knows of the session.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The names of the other profiles.
    pub names: Vec<String>,
    /// Where the profile comes from, if it is not in the file.
    pub source: Option<&'static str>,
    /// Whether the file is shown and written after the form.
    pub is_saved: bool,
}

impl ProfileFields {
    /// Creates the form of a profile, and shows it if its document can be shown as one.
    pub fn new(document: &str, was: Option<&str>) -> ProfileFields {
        let mut form = ProfileFields {
            is_shown: false,
            was: was.map(str::to_string),
            values: ProfileForm::default(),
            focus: Stop::Place,
            input: TextInput::line(""),
            left: BTreeSet::new(),
            references: BTreeMap::new(),
            is_key_chosen: false,
            why_document: None,
            refused: None,
            others: Vec::new(),
            found: None,
            known: Known::default(),
        };
        form.show(document);
        form
    }

    /// Reads what it shows of the session.
    pub fn know(&mut self, session: &Session) {
        let catalog = &session.catalog;
        let names = catalog
            .names()
            .into_iter()
            .filter(|name| Some(name) != self.was.as_ref());
        self.known = Known {
            names: names.collect(),
            source: self.was.as_deref().and_then(|name| source(session, name)),
            is_saved: catalog.writes_edits(session.settings.demo),
        };
    }

    /// Shows the form of a document, if it can be shown as one.
    pub fn show(&mut self, document: &str) {
        match ProfileForm::read(document) {
            Ok(values) => {
                (self.values, self.is_shown, self.why_document) = (values, true, None);
                self.others = ProfileForm::other_settings(document);
                let stops = self.stops();
                let first = stops.first().copied().unwrap_or(Stop::Name);
                self.go_to(if stops.contains(&self.focus) {
                    self.focus
                } else {
                    first
                });
            }
            Err(error) => (self.is_shown, self.why_document) = (false, Some(error.message)),
        }
    }

    /// Applies what is wrong with the document, by the same rules as those of the file.
    pub fn on_checked(&mut self, document: &str, problem: Option<&Problem>) {
        self.found = problem.map(|problem| {
            let field = ProfileForm::field_at(document, problem.line, problem.column);
            let is_region = matches!(
                self.values.place,
                ServerPlace::Region(_) | ServerPlace::AsWritten
            );
            let stop = field.map(|field| match field {
                ProfileField::Name => Stop::Name,
                ProfileField::Server if is_region => Stop::Place,
                ProfileField::Server => Stop::Address,
                ProfileField::Key => Stop::Key,
                ProfileField::Workspace => Stop::Workspace,
                ProfileField::Label => Stop::Label,
                ProfileField::Access => Stop::Access,
            });
            (
                stop.filter(|stop| self.stops().contains(stop)),
                problem.message.clone(),
            )
        });
    }

    /// Returns whether a profile of the file gets another name.
    pub fn is_renamed_in_file(&self) -> bool {
        self.known.source.is_none()
            && self
                .was
                .as_deref()
                .is_some_and(|was| was != self.values.name)
    }

    /// Returns everything that can have the focus, from top to bottom.
    pub(super) fn stops(&self) -> Vec<Stop> {
        let all = [
            Stop::Place,
            Stop::Address,
            Stop::KeyPlace,
            Stop::Key,
            Stop::Name,
            Stop::Workspace,
            Stop::Label,
            Stop::Access,
        ];
        let is_shown = |stop: &Stop| match stop {
            Stop::Place => self.values.place != ServerPlace::AsWritten,
            Stop::Address => !matches!(
                self.values.place,
                ServerPlace::Region(_) | ServerPlace::AsWritten
            ),
            Stop::KeyPlace => self.values.key_place != KeyPlace::AsWritten,
            Stop::Key => !matches!(self.values.key_place, KeyPlace::None | KeyPlace::AsWritten),
            _ => true,
        };
        all.into_iter().filter(is_shown).collect()
    }

    fn text_mut(&mut self) -> Option<&mut String> {
        Some(match self.focus {
            Stop::Address => &mut self.values.address,
            Stop::Key => &mut self.values.key,
            Stop::Name => &mut self.values.name,
            Stop::Workspace => &mut self.values.workspace,
            Stop::Label => &mut self.values.label,
            Stop::Place | Stop::KeyPlace | Stop::Access => return None,
        })
    }

    fn go_to(&mut self, stop: Stop) {
        (self.focus, self.refused) = (stop, None);
        let text = self.text_mut().map(|text| text.clone()).unwrap_or_default();
        self.input = TextInput::line(&text);
    }

    /// Moves the focus.
    pub fn step(&mut self, by: isize) -> Done {
        let stops = self.stops();
        let at = stops
            .iter()
            .position(|stop| *stop == self.focus)
            .unwrap_or_default() as isize;
        self.left.insert(self.focus);
        let next = (at + by).rem_euclid(stops.len().max(1) as isize) as usize;
        self.go_to(stops.get(next).copied().unwrap_or(Stop::Name));
        Done {
            requests: self.check_key(),
            is_changed: false,
        }
    }

    /// Handles a key that is not one of the editor's.
    pub fn key(&mut self, key: Key) -> Done {
        if self.refused.is_some() {
            // The rest of a key that is typed or pasted letter by letter is no name.
            if key.text().is_some() {
                return Done::default();
            }
            self.refused = None;
        }
        let by = match key.code {
            Code::Right | Code::Char(' ') => 1,
            Code::Left => -1,
            Code::Up => return self.step(-1),
            Code::Down | Code::Enter => return self.step(1),
            _ => 0,
        };
        let before = self.values.clone();
        match self.focus {
            Stop::Place if by != 0 => {
                self.values.place = next_of(&PLACES, self.values.place, by);
                if matches!(self.values.place, ServerPlace::Region(_)) {
                    self.values.address.clear();
                }
                self.rename(&before);
                self.offer_key(&before);
            }
            Stop::KeyPlace if by != 0 => {
                self.values.key_place = next_of(&KEY_PLACES, self.values.key_place, by);
                self.values.key = self.values.key_place.default_reference().into();
                self.is_key_chosen = true;
            }
            Stop::Access if by != 0 => self.values.is_read_only = !self.values.is_read_only,
            _ => {
                self.change_text(|input| input.key(key));
            }
        }
        Done {
            requests: self.check_key(),
            is_changed: before != self.values,
        }
    }

    /// Inserts pasted text. Returns whether a field changed.
    pub fn paste(&mut self, pasted: &str) -> bool {
        let is_key = if self.focus == Stop::Key {
            looks_like_key
        } else {
            has_langsmith_key
        };
        if is_key(pasted) {
            self.refused = Some(self.focus).filter(|_| self.text_mut().is_some());
            return false;
        }
        let before = self.values.clone();
        self.change_text(|input| input.insert(pasted));
        before != self.values
    }

    /// Changes the text of the focused field. A key is refused: it would be shown, and end up in the file.
    fn change_text(&mut self, change: impl FnOnce(&mut TextInput)) {
        let mut input = std::mem::take(&mut self.input);
        let was = self.values.key.clone();
        let mut is_refused = false;
        let is_key = if self.focus == Stop::Key {
            looks_like_key
        } else {
            has_langsmith_key
        };
        if let Some(text) = self.text_mut() {
            change(&mut input);
            is_refused = is_key(&input.text());
            *text = if is_refused {
                String::new()
            } else {
                input.text()
            };
        }
        if self.focus == Stop::Key {
            let typed = std::mem::take(&mut self.values.key);
            self.values.set_key(&typed);
            self.is_key_chosen |= self.values.key != was;
        }
        // A new input also forgets the steps of an undo.
        self.input = if is_refused {
            TextInput::line("")
        } else {
            input
        };
        self.refused = Some(self.focus).filter(|_| is_refused);
    }

    /// Offers another server's usual key, unless the user chose one: the key of LangSmith must not get to another server.
    fn offer_key(&mut self, before: &ProfileForm) {
        if !self.is_key_chosen && (before.key_place, &*before.key) == before.place.default_key() {
            let (place, key) = self.values.place.default_key();
            (self.values.key_place, self.values.key) = (place, key.into());
        }
    }

    /// Names a new profile after its server, unless another name was typed.
    fn rename(&mut self, before: &ProfileForm) {
        let taken = |name: &str| self.known.names.iter().any(|other| other == name);
        let is_own = |name: &str| {
            let usual = PLACES.iter().map(|(place, _)| usual_name(*place));
            name == "new"
                || usual
                    .into_iter()
                    .any(|usual| name.strip_prefix(usual).is_some_and(is_number))
        };
        if self.was.is_none() && is_own(&before.name) {
            let usual = usual_name(self.values.place);
            let numbered = (2..100).map(|n| format!("{usual}{n}"));
            let mut names = std::iter::once(usual.to_string()).chain(numbered);
            self.values.name = names
                .find(|name| !taken(name))
                .unwrap_or_else(|| usual.into());
        }
    }

    /// Returns the reference to the key, in the words of a secret's reference.
    pub(super) fn reference(&self) -> Option<String> {
        match self.values.key_place {
            KeyPlace::Variable if self.values.has_invalid_variable() => None,
            KeyPlace::Variable => Some(format!("env:{}", self.values.key)),
            KeyPlace::File => Some(format!("file:{}", self.values.key)),
            KeyPlace::Keychain | KeyPlace::Command | KeyPlace::None | KeyPlace::AsWritten => None,
        }
    }

    /// Requests whether the key can be read. A command is not run before the profile is checked.
    pub fn check_key(&self) -> Requests {
        let unchecked = self
            .reference()
            .filter(|one| !self.values.key.is_empty() && !self.references.contains_key(one));
        unchecked
            .map(|one| Effect::CheckSecrets(vec![one]).into())
            .unwrap_or_default()
    }

    /// Applies which references can be read.
    pub fn on_keys_checked(&mut self, checked: Vec<(String, Option<String>)>) {
        self.references.extend(checked);
    }

    /// Returns what is wrong with an element: what is missing, or what the rules of the file say.
    pub(super) fn problem(&self, stop: Stop) -> Option<String> {
        let values = &self.values;
        let is_empty = |text: &str| text.trim().is_empty();
        if self.refused == Some(stop) {
            return Some(REFUSED.into());
        }
        let missing = match stop {
            Stop::Address if is_empty(&values.address) => "Enter the server's URL.",
            Stop::Name if is_empty(&values.name) => "Enter a name.",
            Stop::Name if self.known.names.contains(&values.name) => {
                "There is already a profile of this name."
            }
            Stop::Key if values.has_invalid_variable() => {
                "Enter the name of an environment variable."
            }
            Stop::Key if is_empty(&values.key) => match values.key_place {
                KeyPlace::File => "Enter the file's path.",
                KeyPlace::Keychain => "Enter the entry's service, or SERVICE/ACCOUNT.",
                _ => "Enter the command.",
            },
            _ => {
                return self
                    .found
                    .as_ref()
                    .filter(|(found, _)| *found == Some(stop))
                    .map(|(_, why)| capitalized(why) + ".");
            }
        };
        Some(missing.into())
    }

    /// Goes to the first element that has a problem, and returns that.
    pub fn go_to_problem(&mut self) -> Option<String> {
        let (stop, why) = self
            .stops()
            .into_iter()
            .find_map(|stop| Some((stop, self.problem(stop)?)))?;
        self.left.extend(self.stops());
        if self.refused != Some(stop) {
            self.go_to(stop);
        }
        Some(why)
    }
}

fn next_of<T: Copy + PartialEq>(all: &[(T, &str)], now: T, by: isize) -> T {
    let at = all
        .iter()
        .position(|(one, _)| *one == now)
        .unwrap_or_default() as isize;
    let next = (at + by).rem_euclid(all.len().max(1) as isize) as usize;
    all.get(next).map_or(now, |(one, _)| *one)
}

fn usual_name(place: ServerPlace) -> &'static str {
    match place {
        ServerPlace::Region(at) => REGIONS.get(at).map_or("us", |(tag, _)| tag),
        ServerPlace::SelfHosted => "self-hosted",
        ServerPlace::AgentServer | ServerPlace::AsWritten => "local",
    }
}

/// Returns where a profile comes from, if it is not in the file.
fn source(session: &Session, name: &str) -> Option<&'static str> {
    let Catalog { all, .. } = &session.catalog;
    let known = all.iter().find(|known| known.profile.name == name)?;
    Some(match () {
        () if known.filed.is_some() => return None,
        () if session.settings.demo => "of the demo",
        () if known.typed.is_some() => "added in this session, not saved",
        // The name that the configuration gives the profile of the official variables.
        () if name == "env" => "from the environment, not in the file",
        () => "from the command line, not in the file",
    })
}

fn is_number(rest: &str) -> bool {
    rest.bytes().all(|b| b.is_ascii_digit())
}
