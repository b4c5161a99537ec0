//! Draws the form of a profile.

use super::profile_form::{KEY_PLACES, PLACES, ProfileFields, Stop};
use crate::session::{Cx, card};
use crate::widgets::canvas::Canvas;
use crate::widgets::form_lines::{
    FormLines, Part, flow, mark, one_line, option, padded, problem_lines,
};
use crate::widgets::line::{Line, Tone, wrap};
use runtail_core::config::{KeyPlace, Keyring, REGIONS, ServerPlace};
use runtail_core::text;

/// Columns of a field's name.
const NAMES: usize = 14;
/// Columns before the values.
const LABELS: usize = NAMES + 3;
/// Maximum columns of a field.
const FIELD: usize = 56;
/// Column of the notes, where there is room.
const NOTES: usize = 89;
/// Columns that notes need there.
const NOTE_ROOM: usize = 40;

impl ProfileFields {
    /// Draws the form. Returns the position of the text cursor.
    pub fn draw(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        let drawn = self.lines(cx, usize::from(cx.session.overlay_area().w));
        let title = match (&self.was, self.known.source) {
            (None, _) => "New profile · fields marked * are required".to_string(),
            (Some(name), None) => format!("Profile {}", text::clean(name)),
            (Some(name), Some(source)) => format!("Profile {} · {source}", text::clean(name)),
        };
        let top = drawn
            .focus
            .1
            .saturating_sub(usize::from(cx.session.overlay_area().h));
        let profile = self.was.as_deref().unwrap_or_default();
        let card = card::Card {
            profile,
            title,
            keys: self.keys(),
            lines: &drawn,
            top,
            has_pages: false,
        };
        card::draw(cx, canvas, &card)
    }

    /// Returns the key ids of the form with their labels. Keys without an id are typed.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let send = match (self.is_renamed_in_file(), self.known.is_saved) {
            (true, _) => "save",
            (false, true) => "check and save",
            (false, false) => "check and use",
        };
        let mut keys = vec![
            ("editor.preview", send.to_string()),
            ("editor.next", "next field".into()),
        ];
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

    fn lines(&self, cx: &Cx<'_>, width: usize) -> FormLines {
        let mut out = FormLines::default();
        let values = &self.values;
        let as_toml = format!(
            "as written; {} edits it as TOML",
            cx.session.key("editor.form")
        );
        if values.place == ServerPlace::AsWritten {
            out.lines
                .extend(fixed("Server", &values.address, &as_toml, width));
        }
        let mut is_key_due = values.key_place == KeyPlace::AsWritten;
        for stop in self.stops() {
            if stop == Stop::Name && std::mem::take(&mut is_key_due) {
                out.lines
                    .extend(fixed("Key from", &values.key, &as_toml, width));
            }
            self.stop_lines(&mut out, stop, width);
        }
        if !self.others.is_empty() {
            out.lines.extend(fixed(
                "Also set",
                &self.others.join(", "),
                "kept as written",
                width,
            ));
        }
        out.lines.push(Line::new());
        let (tone, said) = self.state();
        out.lines
            .extend(wrap(&said, width).iter().map(|part| Line::of(tone, part)));
        out
    }

    /// Says whether the profile is ready, and what the next key does.
    fn state(&self) -> (Tone, String) {
        let first = self.stops().into_iter().find_map(|stop| self.problem(stop));
        let is_unread = self
            .reference()
            .is_some_and(|one| matches!(self.references.get(&one), Some(Some(_))));
        match (first, &self.found) {
            (Some(_), _) if self.refused.is_some() => {
                (Tone::Dim, "Not ready: enter where the key is, never the key itself.".into())
            }
            (Some(why), _) => (Tone::Dim, format!("Not ready: {}.", lowered(&why).trim_end_matches('.'))),
            (None, Some((_, why))) => (Tone::Bad, format!("✗ {why}")),
            (None, None) if is_unread => {
                (Tone::Plain, "The key can't be read yet, so checking the profile will fail.".into())
            }
            (None, None) if self.is_renamed_in_file() => {
                let was = text::clean(self.was.as_deref().unwrap_or_default()).into_owned();
                (
                    Tone::Plain,
                    format!(
                        "Ready. {was} is renamed once you confirmed the changed lines of the file; what is open of it \
                         closes then."
                    ),
                )
            }
            (None, None) if self.known.is_saved => (
                Tone::Plain,
                "Ready. The profile applies to this session once it is checked. The file is written only after you \
                 confirm its changed lines."
                    .into(),
            ),
            (None, None) => (
                Tone::Plain,
                "Ready. The profile is checked, then used in this session. The file is written only after you confirm the diff."
                    .into(),
            ),
        }
    }

    fn stop_lines(&self, out: &mut FormLines, stop: Stop, width: usize) {
        let is_focused = self.focus == stop;
        let name = match stop {
            Stop::Place => "Server *",
            Stop::Address => "URL *",
            Stop::KeyPlace => "Key from *",
            Stop::Key => "",
            Stop::Name => "Name *",
            Stop::Workspace => "Workspace",
            Stop::Label => "Label",
            Stop::Access => "Access",
        };
        let tone = if is_focused { Tone::Strong } else { Tone::Dim };
        let label = mark(is_focused).with(tone, &format!("{} ", padded(name, NAMES)));
        let (mut lines, cursor) = self.value_lines(stop, label, width);
        let indent = " ".repeat(LABELS);
        let is_shown = self.left.contains(&stop) || self.refused == Some(stop);
        let problem = self.problem(stop).filter(|_| is_shown);
        let unread = self
            .reference()
            .filter(|_| stop == Stop::Key)
            .and_then(|one| self.references.get(&one).cloned());
        match (problem, unread) {
            (Some(why), _) | (None, Some(Some(why))) => {
                lines.extend(problem_lines(&indent, &why, width))
            }
            (None, unread) => {
                let note = if unread.is_some() {
                    "can be read".into()
                } else {
                    self.note(stop)
                };
                with_note(&mut lines, &note, is_focused || stop == Stop::Key, width);
            }
        }
        out.add(is_focused, Part { lines, cursor });
    }

    fn value_lines(
        &self,
        stop: Stop,
        label: Line,
        width: usize,
    ) -> (Vec<Line>, Option<(usize, usize)>) {
        let is_focused = self.focus == stop;
        let values = &self.values;
        let value = match stop {
            Stop::Place => {
                return (
                    choice(
                        label,
                        PLACES.map(|(place, name)| (place == values.place, name)),
                        width,
                    ),
                    None,
                );
            }
            Stop::KeyPlace => {
                return (
                    choice(
                        label,
                        KEY_PLACES.map(|(place, name)| (place == values.key_place, name)),
                        width,
                    ),
                    None,
                );
            }
            Stop::Access => {
                let options = [
                    (!values.is_read_only, "writes, after a preview"),
                    (values.is_read_only, "read-only"),
                ];
                return (choice(label, options, width), None);
            }
            Stop::Address => &values.address,
            Stop::Key => &values.key,
            Stop::Name => &values.name,
            Stop::Workspace => &values.workspace,
            Stop::Label => &values.label,
        };
        let room = FIELD.min(width.saturating_sub(LABELS + 4)).max(8);
        let frame = if is_focused { Tone::Accent } else { Tone::Dim };
        let (shown, column) = match is_focused {
            true => one_line(&self.input, room, true),
            false => (text::fit(&text::clean(value), room).into_owned(), None),
        };
        let cursor = column.map(|column| (0, LABELS + 2 + column));
        let hint = if value.is_empty() && !is_focused {
            placeholder(stop, values.place)
        } else {
            ""
        };
        let line = match hint {
            "" => label
                .with(frame, "[ ")
                .with_plain(&padded(&shown, room))
                .with(frame, " ]"),
            hint => label.with_dim(&format!("[ {} ]", padded(&text::fit(hint, room), room))),
        };
        (vec![line], cursor)
    }

    fn note(&self, stop: Stop) -> String {
        let values = &self.values;
        match (stop, values.place, values.key_place) {
            (Stop::Place, ServerPlace::Region(at), _) => REGIONS
                .get(at)
                .map(|(_, host)| host.to_string())
                .unwrap_or_default(),
            (Stop::Address, ServerPlace::SelfHosted, _) => "the address of the installation".into(),
            (Stop::Address, ..) => "the address of the server".into(),
            (Stop::KeyPlace, ..) => "only where the key is; never the key itself".into(),
            (Stop::Key, _, KeyPlace::File) => "a file that only you can read (chmod 600)".into(),
            (Stop::Key, _, KeyPlace::Keychain) => match Keyring::parse(&values.key, &values.name) {
                Ok(entry) => match entry.store_command() {
                    Some(store) => format!("store it with: {store}"),
                    None => {
                        "Runtail can't read this system's keychain; use a file or a command".into()
                    }
                },
                Err(_) => String::new(),
            },
            (Stop::Key, _, KeyPlace::Command) => "a command that prints the key".into(),
            (Stop::Name, ..) if self.is_renamed_in_file() => {
                let was = self.was.as_deref().unwrap_or_default();
                format!("was {was}; default_profiles and rules follow")
            }
            (Stop::Workspace, ..) => "its id; only for keys of a whole organization".into(),
            (Stop::Label, ..) => "PROD: read-only, unless --write is given".into(),
            (Stop::Access, ..)
                if !values.is_read_only && values.label.to_uppercase().contains("PROD") =>
            {
                "read-only by its label, unless --write is given".into()
            }
            _ => String::new(),
        }
    }
}

/// Returns a text with a small first letter, unless it begins with an abbreviation.
fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_string(),
    }
}

/// Returns the example in an empty field.
fn placeholder(stop: Stop, place: ServerPlace) -> &'static str {
    match (stop, place) {
        (Stop::Address, ServerPlace::SelfHosted) => "https://langsmith.example.com",
        (Stop::Address, _) => "http://127.0.0.1:2024",
        _ => "",
    }
}

/// Returns the lines of a setting that has no field.
fn fixed(name: &str, value: &str, note: &str, width: usize) -> Vec<Line> {
    let room = width.saturating_sub(LABELS).clamp(8, NOTES - LABELS - 2);
    let mut lines: Vec<Line> = Vec::new();
    for part in wrap(&text::clean(value), room) {
        let name = if lines.is_empty() { name } else { "" };
        lines.push(Line::dim(&format!("  {} ", padded(name, NAMES))).with_plain(&part));
    }
    with_note(&mut lines, note, true, width);
    lines
}

/// Adds a note beside the first line where it fits; else below the lines if `is_needed`.
fn with_note(lines: &mut Vec<Line>, note: &str, is_needed: bool, width: usize) {
    let note = text::clean(note);
    let Some(line) = lines.first_mut().filter(|_| !note.is_empty()) else {
        return;
    };
    let column = NOTES.max(line.width());
    if width >= NOTES + NOTE_ROOM && column + text::width(&note) <= width {
        line.push_plain(&" ".repeat(column - line.width()));
        line.push_dim(&note);
    } else if is_needed {
        let parts = wrap(&note, width.saturating_sub(LABELS).max(8));
        lines.extend(
            parts
                .iter()
                .map(|part| Line::dim(&format!("{}{part}", " ".repeat(LABELS)))),
        );
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
