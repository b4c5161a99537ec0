//! The form of a profile. It shows the fields of the editor's document, which stays the draft, as the form of a deployment
//! does.

use super::deployment_form::Done;
use crate::input::key::{Code, Key};
use crate::session::msg::Effect;
use crate::session::{Cx, Requests, card};
use crate::widgets::canvas::Canvas;
use crate::widgets::form_lines::{FormLines, Part, flow, mark, one_line, option, padded, problem_lines};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::text_input::TextInput;
use runtail_core::config::{KeyPlace, Keyring, ProfileForm, REGIONS, ServerPlace};
use runtail_core::text;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of a field's name.
const NAMES: usize = 14;
/// Columns before the values.
const LABELS: usize = NAMES + 3;
/// Maximum columns of a field.
const FIELD: usize = 56;

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
const PLACES: [(ServerPlace, &str); 6] = [
    (ServerPlace::Region(0), REGIONS[0].0),
    (ServerPlace::Region(1), REGIONS[1].0),
    (ServerPlace::Region(2), REGIONS[2].0),
    (ServerPlace::Region(3), REGIONS[3].0),
    (ServerPlace::SelfHosted, "self-hosted"),
    (ServerPlace::AgentServer, "one agent server"),
];
/// Where a key can be read, with its name.
const KEY_PLACES: [(KeyPlace, &str); 5] = [
    (KeyPlace::Variable, "variable"),
    (KeyPlace::File, "file"),
    (KeyPlace::Keychain, "OS keychain"),
    (KeyPlace::Command, "command"),
    (KeyPlace::None, "no key"),
];

/// The form and what it knows besides the document.
#[derive(Debug, Clone)]
pub struct ProfileFields {
    /// Whether the form is shown instead of the document.
    pub is_shown: bool,
    is_new: bool,
    pub values: ProfileForm,
    pub focus: Stop,
    input: TextInput,
    left: BTreeSet<Stop>,
    /// Why each reference to a key can't be read; `None` if it can.
    references: BTreeMap<String, Option<String>>,
    /// Why the document can't be shown as a form.
    pub why_document: Option<String>,
}

impl ProfileFields {
    /// Creates the form of a profile; `None` if its document can't be shown as one.
    pub fn new(document: &str, is_new: bool) -> Option<ProfileFields> {
        let values = ProfileForm::read(document).ok()?;
        let (focus, input) = (Stop::Place, TextInput::line(""));
        let (left, references) = (BTreeSet::new(), BTreeMap::new());
        Some(ProfileFields { is_shown: true, is_new, values, focus, input, left, references, why_document: None })
    }

    /// Shows the form of a document, if it can be shown as one.
    pub fn show(&mut self, document: &str) {
        match ProfileForm::read(document) {
            Ok(values) => {
                (self.values, self.is_shown, self.why_document) = (values, true, None);
                self.go_to(if self.stops().contains(&self.focus) { self.focus } else { Stop::Place });
            }
            Err(error) => (self.is_shown, self.why_document) = (false, Some(error.message)),
        }
    }

    /// Returns everything that can have the focus, from top to bottom.
    fn stops(&self) -> Vec<Stop> {
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
            Stop::Address => !matches!(self.values.place, ServerPlace::Region(_)),
            Stop::Key => self.values.key_place != KeyPlace::None,
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
        self.focus = stop;
        let text = self.text_mut().map(|text| text.clone()).unwrap_or_default();
        self.input = TextInput::line(&text);
    }

    /// Moves the focus.
    pub fn step(&mut self, by: isize) -> Done {
        let stops = self.stops();
        let at = stops.iter().position(|stop| *stop == self.focus).unwrap_or_default() as isize;
        self.left.insert(self.focus);
        let next = (at + by).rem_euclid(stops.len().max(1) as isize) as usize;
        self.go_to(stops.get(next).copied().unwrap_or(Stop::Place));
        Done { requests: self.check_key(), is_changed: false }
    }

    /// Handles a key that is not one of the editor's. `taken`: whether another profile has a name.
    pub fn key(&mut self, key: Key, taken: impl Fn(&str) -> bool) -> Done {
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
                self.rename(&before, taken);
            }
            Stop::KeyPlace if by != 0 => {
                self.values.key_place = next_of(&KEY_PLACES, self.values.key_place, by);
                self.values.key = self.values.key_place.default_reference().into();
            }
            Stop::Access if by != 0 => self.values.is_read_only = !self.values.is_read_only,
            _ => {
                let mut input = std::mem::take(&mut self.input);
                if let Some(text) = self.text_mut() {
                    input.key(key);
                    *text = input.text();
                }
                self.input = input;
            }
        }
        Done { requests: self.check_key(), is_changed: before != self.values }
    }

    /// Inserts pasted text. Returns whether a field changed.
    pub fn paste(&mut self, pasted: &str) -> bool {
        let mut input = std::mem::take(&mut self.input);
        let mut is_changed = false;
        if let Some(text) = self.text_mut() {
            input.insert(pasted);
            is_changed = *text != input.text();
            *text = input.text();
        }
        self.input = input;
        is_changed
    }

    /// Names a new profile after its server, unless another name was typed.
    fn rename(&mut self, before: &ProfileForm, taken: impl Fn(&str) -> bool) {
        let is_own = |name: &str| {
            let usual = PLACES.iter().map(|(place, _)| usual_name(*place));
            name == "new" || usual.into_iter().any(|usual| name.strip_prefix(usual).is_some_and(is_number))
        };
        if self.is_new && is_own(&before.name) {
            let usual = usual_name(self.values.place);
            let numbered = (2..100).map(|n| format!("{usual}{n}"));
            let mut names = std::iter::once(usual.to_string()).chain(numbered);
            self.values.name = names.find(|name| !taken(name)).unwrap_or_else(|| usual.into());
        }
    }

    /// Returns the reference to the key, in the words of a secret's reference.
    fn reference(&self) -> Option<String> {
        match self.values.key_place {
            KeyPlace::Variable => Some(format!("env:{}", self.values.key)),
            KeyPlace::File => Some(format!("file:{}", self.values.key)),
            KeyPlace::Keychain | KeyPlace::Command | KeyPlace::None => None,
        }
    }

    /// Requests whether the key can be read. A command is not run before the profile is checked.
    pub fn check_key(&self) -> Requests {
        let unchecked =
            self.reference().filter(|one| !self.values.key.is_empty() && !self.references.contains_key(one));
        unchecked.map(|one| Effect::CheckSecrets(vec![one]).into()).unwrap_or_default()
    }

    /// Applies which references can be read.
    pub fn on_keys_checked(&mut self, checked: Vec<(String, Option<String>)>) {
        self.references.extend(checked);
    }

    /// Returns what is wrong with an element.
    fn problem(&self, stop: Stop) -> Option<&'static str> {
        let values = &self.values;
        let is_empty = |text: &str| text.trim().is_empty();
        match stop {
            Stop::Address if is_empty(&values.address) => Some("Enter its URL."),
            Stop::Name if is_empty(&values.name) => Some("Enter a name."),
            Stop::Name if values.name.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control()) => {
                Some("A name has no spaces or slashes.")
            }
            Stop::Key if is_empty(&values.key) => Some(match values.key_place {
                KeyPlace::Variable => "Enter the variable's name.",
                KeyPlace::File => "Enter the file's path.",
                KeyPlace::Keychain => "Enter the entry's service, or SERVICE/ACCOUNT.",
                _ => "Enter the command.",
            }),
            // A pasted key would end up in the file.
            Stop::Key if values.key.starts_with("lsv2_") => Some("Enter where the key is, never the key itself."),
            Stop::Key if values.key_place == KeyPlace::Keychain => {
                Keyring::parse(&values.key, &values.name).err().map(|_| "Enter SERVICE or SERVICE/ACCOUNT.")
            }
            _ => None,
        }
    }

    /// Goes to the first element that has a problem, and returns that.
    pub fn go_to_problem(&mut self) -> Option<&'static str> {
        let (stop, why) = self.stops().into_iter().find_map(|stop| Some((stop, self.problem(stop)?)))?;
        self.left.extend(self.stops());
        self.go_to(stop);
        Some(why)
    }

    fn note(&self, stop: Stop) -> String {
        let values = &self.values;
        match (stop, values.place, values.key_place) {
            (Stop::Place, ServerPlace::Region(at), _) => {
                REGIONS.get(at).map(|(_, host)| host.to_string()).unwrap_or_default()
            }
            (Stop::Address, ServerPlace::SelfHosted, _) => "the address of the installation".into(),
            (Stop::Address, ..) => "such as http://127.0.0.1:2024".into(),
            (Stop::KeyPlace, ..) => "only where the key is; never the key itself".into(),
            (Stop::Key, _, KeyPlace::File) => "a file that only you can read (chmod 600)".into(),
            (Stop::Key, _, KeyPlace::Keychain) => match Keyring::parse(&values.key, &values.name) {
                Ok(entry) => match entry.store_command() {
                    Some(store) => format!("store it with: {store}"),
                    None => "Runtail can't read this system's keychain; use a file or a command".into(),
                },
                Err(_) => String::new(),
            },
            (Stop::Key, _, KeyPlace::Command) => "a command that prints the key".into(),
            (Stop::Workspace, ..) => "its id; only for keys of a whole organization".into(),
            (Stop::Label, ..) => "PROD makes it read-only, unless --write is given".into(),
            _ => String::new(),
        }
    }

    /// Draws the form. Returns the position of the text cursor.
    pub fn draw(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>, problem: Option<&str>) -> Option<(u16, u16)> {
        let drawn = self.lines(usize::from(cx.session.overlay_area().w), problem);
        let name = text::clean(&self.values.name);
        let title = if self.is_new { "New profile".to_string() } else { format!("Profile {name}") };
        let top = drawn.focus.1.saturating_sub(usize::from(cx.session.overlay_area().h));
        let card =
            card::Card { profile: &self.values.name, title, keys: self.keys(), lines: &drawn, top, has_pages: false };
        card::draw(cx, canvas, &card)
    }

    /// Returns the key ids of the form with their labels. Keys without an id are typed.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let mut keys = vec![("editor.preview", "check and use".to_string()), ("editor.next", "next field".into())];
        if matches!(self.focus, Stop::Place | Stop::KeyPlace | Stop::Access) {
            keys.insert(1, ("", "← → choose".into()));
        }
        keys.extend([
            ("editor.form", "as TOML".to_string()),
            ("editor.outside", "edit in $EDITOR".into()),
            ("editor.back", "close, keeps the draft".into()),
        ]);
        keys
    }

    fn lines(&self, width: usize, problem: Option<&str>) -> FormLines {
        let mut out = FormLines::default();
        for stop in self.stops() {
            let (label, is_required) = match stop {
                Stop::Place => ("Server", true),
                Stop::Address => ("URL", true),
                Stop::KeyPlace => ("Key from", true),
                Stop::Key => ("", false),
                Stop::Name => ("Name", true),
                Stop::Workspace => ("Workspace", false),
                Stop::Label => ("Label", false),
                Stop::Access => ("Access", false),
            };
            self.stop_lines(&mut out, stop, &format!("{label}{}", if is_required { " *" } else { "" }), width);
        }
        out.lines.push(Line::new());
        let first = self.stops().into_iter().find_map(|stop| self.problem(stop));
        let is_unread = self.reference().is_some_and(|one| matches!(self.references.get(&one), Some(Some(_))));
        let (tone, said) = match (first, problem) {
            (None, None) if is_unread => {
                (Tone::Plain, "The key can't be read yet, so checking the profile will fail.".into())
            }
            (Some(why), _) => (Tone::Dim, format!("Not ready: {}", why.trim_end_matches('.'))),
            (None, Some(why)) => (Tone::Bad, format!("✗ {why}")),
            (None, None) => (
                Tone::Plain,
                "Ready. The profile is checked, then used in this session. The file is written only after you confirm the diff."
                    .into(),
            ),
        };
        out.lines.extend(wrap(&said, width).iter().map(|part| Line::of(tone, part)));
        out
    }

    fn stop_lines(&self, out: &mut FormLines, stop: Stop, label: &str, width: usize) {
        let is_focused = self.focus == stop;
        let tone = if is_focused { Tone::Strong } else { Tone::Dim };
        let label = mark(is_focused).with(tone, &format!("{} ", padded(label, NAMES)));
        let values = &self.values;
        let mut cursor = None;
        let mut lines = match stop {
            Stop::Place => choice(label, PLACES.map(|(place, name)| (place == values.place, name)), width),
            Stop::KeyPlace => choice(label, KEY_PLACES.map(|(place, name)| (place == values.key_place, name)), width),
            Stop::Access => choice(
                label,
                [(!values.is_read_only, "writes, after a preview"), (values.is_read_only, "read-only")],
                width,
            ),
            _ => {
                let value = match stop {
                    Stop::Address => &values.address,
                    Stop::Key => &values.key,
                    Stop::Name => &values.name,
                    Stop::Workspace => &values.workspace,
                    _ => &values.label,
                };
                let room = FIELD.min(width.saturating_sub(LABELS + 4)).max(8);
                let frame = if is_focused { Tone::Accent } else { Tone::Dim };
                let (shown, column) = match is_focused {
                    true => one_line(&self.input, room, true),
                    false => (text::fit(&text::clean(value), room).into_owned(), None),
                };
                cursor = column.map(|column| (0, LABELS + 2 + column));
                vec![label.with(frame, "[ ").with(Tone::Plain, &padded(&shown, room)).with(frame, " ]")]
            }
        };
        let indent = " ".repeat(LABELS);
        let problem = self.left.contains(&stop).then(|| self.problem(stop)).flatten();
        let unread = self.reference().filter(|_| stop == Stop::Key).and_then(|one| self.references.get(&one).cloned());
        match (problem.map(str::to_string), unread) {
            (Some(why), _) | (None, Some(Some(why))) => lines.extend(problem_lines(&indent, &why, width)),
            (None, Some(None)) => lines.push(Line::of(Tone::Dim, &format!("{indent}can be read"))),
            (None, None) => {
                let note = self.note(stop);
                let shown = if note.is_empty() { Vec::new() } else { wrap(&note, width.saturating_sub(LABELS).max(8)) };
                // Notes of other fields would be noise.
                let shown = shown.iter().filter(|_| is_focused || stop == Stop::Key);
                lines.extend(shown.map(|part| Line::of(Tone::Dim, &format!("{indent}{part}"))));
            }
        }
        out.add(is_focused, Part { lines, cursor });
    }
}

fn choice<const N: usize>(label: Line, options: [(bool, &str); N], width: usize) -> Vec<Line> {
    let all = options.into_iter().map(|(is_chosen, name)| {
        let mut line = Line::new();
        option(&mut line, is_chosen, name);
        line
    });
    flow(label, LABELS, all.collect(), width)
}

fn next_of<T: Copy + PartialEq>(all: &[(T, &str)], now: T, by: isize) -> T {
    let at = all.iter().position(|(one, _)| *one == now).unwrap_or_default() as isize;
    let next = (at + by).rem_euclid(all.len().max(1) as isize) as usize;
    all.get(next).map_or(now, |(one, _)| *one)
}

fn usual_name(place: ServerPlace) -> &'static str {
    match place {
        ServerPlace::Region(at) => REGIONS.get(at).map_or("us", |(tag, _)| tag),
        ServerPlace::SelfHosted => "self-hosted",
        ServerPlace::AgentServer => "local",
    }
}

fn is_number(rest: &str) -> bool {
    rest.bytes().all(|b| b.is_ascii_digit())
}
