//! The lines of the form.

use super::fields::{Entry, Fold, Kind, PUSH};
use super::keys::{SOURCES, TYPES};
use super::lists::SHOWN;
use super::secrets::SecretState;
use super::{DeploymentForm, Stop};
use crate::session::subject::Subject;
use crate::session::{Cx, card};
use crate::widgets::canvas::Canvas;
use crate::widgets::form_lines::{
    FormLines, Part, choices, fitted, framed, in_frame, indented, mark, padded, problem_lines,
};
use crate::widgets::line::{Line, Tone};
use runtail_core::text;

/// Columns of a field's name, with its star.
const NAMES: usize = 16;
/// Columns before the values.
const LABELS: usize = NAMES + 3;
/// Maximum columns of a field.
const FIELD: usize = 44;
/// Column of the notes, where there is room.
const NOTES: usize = 80;
/// Columns of a note that must fit there.
const NOTE_ROOM: usize = 26;

impl DeploymentForm {
    /// Draws the form. Returns the position of the text cursor.
    pub fn draw(
        &self,
        cx: &Cx<'_>,
        canvas: &mut Canvas<'_>,
        subject: &Subject,
        problem: Option<&str>,
    ) -> Option<(u16, u16)> {
        let drawn = self.lines(cx, problem);
        let title = match subject {
            Subject::UpdateDeployment { name, .. } => format!("Update {}", text::clean(name)),
            _ => "New deployment".to_string(),
        };
        let is_demo = cx.session.settings.demo;
        let demo = if is_demo { " · DEMO" } else { "" };
        let on = if self.profile.is_empty() {
            String::new()
        } else {
            format!(" · {}", text::clean(&self.profile))
        };
        // An update has no required field.
        let legend = if self.is_new {
            " · fields marked * are required"
        } else {
            ""
        };
        let title = format!("{title}{on}{demo}{legend}");
        let card = card::Card {
            profile: &self.profile,
            title,
            keys: self.keys(),
            lines: &drawn,
            top: self.scroll.top,
            has_pages: false,
        };
        card::draw(cx, canvas, &card)
    }

    /// Returns the key ids of the form with their labels. Keys without an id are typed.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        let mut keys = vec![
            ("editor.preview", "preview".to_string()),
            ("editor.next", "next field".into()),
        ];
        if let Some(hint) = self.focus_keys() {
            keys.insert(1, ("", hint.into()));
        }
        keys.extend([
            ("editor.form", "as TOML".to_string()),
            ("editor.outside", "edit in $EDITOR".into()),
            ("editor.back", "close, keeps the draft".into()),
        ]);
        keys
    }

    /// Names the keys of the focused element.
    fn focus_keys(&self) -> Option<&'static str> {
        match self.focus {
            Stop::Secret(_) if self.typed_secret.is_some() => Some("⏎ done"),
            Stop::Secret(row) if row < self.secret_rows().len() => {
                Some("a add   ⏎ edit   x remove")
            }
            Stop::Secret(_) => Some("a add"),
            Stop::Fold(fold) => Some(if self.open.contains(&fold) {
                "⏎ fold"
            } else {
                "⏎ open"
            }),
            Stop::Profile => Some("← → choose"),
            Stop::Field(path) => self
                .entry(path)
                .filter(|entry| self.is_choice(*entry))
                .map(|_| "← → choose"),
        }
    }

    /// Returns the lines for a screen.
    pub fn lines(&self, cx: &Cx<'_>, problem: Option<&str>) -> FormLines {
        let mut out = FormLines::new(cx.session.overlay_area().w.into());
        if self.is_new {
            self.profile_lines(&mut out, cx);
        }
        for (label, value) in self.fixed() {
            let line = Line::dim(&format!("  {} ", padded(label, NAMES))).with_plain(&value);
            out.lines.push(line);
        }
        for entry in self.entries() {
            self.entry_lines(&mut out, cx, entry);
        }
        self.secret_lines(&mut out);
        for fold in self.folds() {
            self.fold_lines(&mut out, cx, *fold);
        }
        out.blank();
        match (self.first_problem(cx), problem) {
            (Some((_, why)), _) => {
                out.say(Tone::Dim, &format!("Not ready: {}", lowered(&why)));
            }
            (None, Some(why)) => out.say(Tone::Bad, &format!("✗ {why}")),
            (None, None) if self.is_new => {
                out.say(Tone::Plain, "Ready. The preview shows the exact request.");
            }
            (None, None) => out.say(Tone::Plain, "Ready. Only changed fields are sent."),
        }
        out
    }

    fn label(&self, stop: Stop, name: &str, is_required: bool) -> Line {
        let is_focused = self.focus == stop;
        let star = if is_required { " *" } else { "" };
        let tone = if is_focused { Tone::Strong } else { Tone::Dim };
        let name = padded(&format!("{name}{star}"), NAMES);
        mark(is_focused).with(tone, &format!("{name} "))
    }

    /// Adds the note beside a line where it fits; else below it while the element has the focus and no problem. Problems are always
    /// shown.
    fn finish(&self, out: &mut FormLines, cx: &Cx<'_>, stop: Stop, part: Part, note: &str) {
        let mut part = part;
        let is_focused = self.focus == stop;
        let problem = self.problem(cx, stop);
        let problem = problem.filter(|_| self.left.contains(&stop));
        let indent = LABELS.min(out.width / 3);
        if let Some(line) = part.lines.first_mut().filter(|_| !note.is_empty()) {
            let room = out.width.saturating_sub(NOTES);
            if room >= NOTE_ROOM && text::width(note) <= room && line.width() < NOTES - 1 {
                line.push_plain(&" ".repeat(NOTES - line.width()));
                line.push_dim(note);
            } else if is_focused && problem.is_none() {
                part.lines
                    .extend(indented(Tone::Dim, indent, note, out.width));
            }
        }
        if let Some(problem) = problem {
            part.lines
                .extend(problem_lines(indent, &problem, out.width));
        }
        out.add(is_focused, part);
    }

    fn profile_lines(&self, out: &mut FormLines, cx: &Cx<'_>) {
        let options = self
            .profiles
            .iter()
            .map(|name| (*name == self.profile, name));
        let label = self.label(Stop::Profile, "Profile", true);
        let lines = choices(label, LABELS, options, out.width.min(NOTES));
        let used = cx.session.catalog.used(&self.profile);
        let note = used.map_or_else(String::new, |profile| {
            let workspace = profile
                .workspace
                .as_deref()
                .map(|id| format!("workspace {}, ", text::short_id(id)));
            let region = profile.region.as_deref().unwrap_or("?");
            format!("{}region {region}", workspace.unwrap_or_default())
        });
        self.finish(out, cx, Stop::Profile, lines.into(), &text::clean(&note));
    }

    fn entry_lines(&self, out: &mut FormLines, cx: &Cx<'_>, entry: Entry) {
        let stop = Stop::of(entry);
        let is_focused = self.focus == stop;
        let label = self.label(stop, entry.label, entry.is_required);
        let value = self.values.get(entry.path);
        let choice = |options: &[(&str, &str)]| choice(label.clone(), options, value, out.width);
        let part = match entry.kind {
            Kind::Source => choice(&SOURCES).into(),
            Kind::Type => choice(&TYPES.map(|word| (word, word))).into(),
            Kind::Switch => {
                let rest = if self.is_new { "default" } else { "unchanged" };
                choice(&[("true", "on"), ("false", "off"), ("", rest)]).into()
            }
            _ if self.is_choice(entry) => {
                let all = self.integrations.all();
                let chosen = all.iter().find(|one| one.value == value);
                let room = FIELD.min(out.width.saturating_sub(LABELS + 6)) - 2;
                let (tone, shown) = match chosen.map_or(value, |one| &one.label) {
                    "" => (Tone::Dim, "← → choose"),
                    shown => (Tone::Plain, shown),
                };
                let shown = fitted(&text::clean(shown), room);
                in_frame(label, tone, &shown, is_focused, " ▾ ]").into()
            }
            _ => self.text_part(entry, label, out.width),
        };
        let mut note = self.note(cx, entry);
        let is_empty =
            self.shown_value(entry.path).is_empty() && self.current.get(entry.path).is_empty();
        if note.is_empty() && is_focused && is_empty && part.cursor.is_some() {
            note = example(entry.placeholder);
        }
        self.finish(out, cx, stop, part, &note);
    }

    fn text_part(&self, entry: Entry, label: Line, width: usize) -> Part {
        let is_focused = self.focus == Stop::of(entry);
        let room = FIELD.min(width.saturating_sub(LABELS + 4));
        let value = self.shown_value(entry.path);
        let mut part = match (self.current.get(entry.path), value.as_str()) {
            (_, value) if is_focused && !value.is_empty() => {
                framed(label, Tone::Plain, &self.input, room, true)
            }
            (current, "") => {
                // The example of an empty field makes way for the text; it is in the note then.
                let placeholder = match current {
                    "" if is_focused => "",
                    "" => entry.placeholder,
                    current => current,
                };
                let cursor = is_focused.then(|| (0, label.width() + 2));
                let shown = fitted(placeholder, room);
                let lines = vec![in_frame(label, Tone::Dim, &shown, is_focused, " ]")];
                Part { lines, cursor }
            }
            (_, value) => {
                let shown = fitted(&text::clean(value), room);
                in_frame(label, Tone::Plain, &shown, false, " ]").into()
            }
        };
        if is_focused && entry.kind == Kind::Repository && !value.is_empty() {
            let others = self.matches().into_iter().filter(|one| one.label != value);
            let named = |one: &super::lists::Listed| {
                Line::dim(&format!("{}{}", " ".repeat(LABELS + 2), one.label))
            };
            part.lines.extend(others.take(SHOWN).map(named));
        }
        part
    }

    fn secret_lines(&self, out: &mut FormLines) {
        let rows = self.secret_rows();
        let names = rows
            .iter()
            .map(|row| text::width(&row.name))
            .max()
            .unwrap_or(0)
            .clamp(8, 32);
        for at in 0..=rows.len() {
            let stop = Stop::Secret(at);
            let is_focused = self.focus == stop;
            let mut line = self.label(stop, if at == 0 { "Secrets" } else { "" }, false);
            let mut cursor = None;
            let mut problem = None;
            match (&self.typed_secret, rows.get(at)) {
                (Some((row, why)), _) if *row == at => {
                    let room = FIELD.min(out.width.saturating_sub(LABELS + 4));
                    let mut part = framed(line, Tone::Plain, &self.input, room, true);
                    (cursor, line) = (part.cursor, part.lines.remove(0));
                    line.push_dim("  NAME env:VARIABLE, or NAME file:PATH");
                    problem.clone_from(why);
                }
                (_, Some(row)) => {
                    line.push_plain(&fitted(&row.name, names));
                    match &row.state {
                        SecretState::Kept => line.push_dim("   kept"),
                        SecretState::Removed => {
                            line.push_bad("   - removed");
                        }
                        SecretState::Given(reference) => {
                            line.push_plain(&format!("   {reference}"));
                            match self.references.get(reference) {
                                Some(Some(why)) => problem = Some(why.clone()),
                                Some(None) => line.push_dim("   can be read"),
                                None => {}
                            }
                        }
                    }
                }
                // The row that adds a secret is shown where it is useful.
                (_, None) if rows.is_empty() => line.push_dim("none; press a to add one"),
                (_, None) if is_focused => line.push_dim("press a to add another one"),
                (_, None) => continue,
            }
            let mut lines = vec![line];
            if let (Some(why), Some(first)) = (problem, lines.first_mut()) {
                if first.width() + text::width(&why) + 5 <= out.width {
                    first.push_bad("   ✗ ");
                    first.push_plain(&why);
                } else {
                    lines.extend(problem_lines(LABELS.min(out.width / 3), &why, out.width));
                }
            }
            out.add(is_focused, Part { lines, cursor });
        }
    }

    fn fold_lines(&self, out: &mut FormLines, cx: &Cx<'_>, fold: Fold) {
        let stop = Stop::Fold(fold);
        let is_open = self.open.contains(&fold);
        let is_focused = self.focus == stop;
        let glyph = if is_open { "▾ " } else { "▸ " };
        let tone = if is_focused { Tone::Strong } else { Tone::Dim };
        // The mark of the fold is in the place of the focus's, which has its color.
        let mut line = Line::of(if is_focused { Tone::Accent } else { Tone::Dim }, glyph);
        line.push(tone, &format!("{} ", padded(fold.label(), NAMES)));
        if !is_open {
            let (tone, said) = self.summary(fold);
            line.push(tone, &text::fit(&said, out.width.saturating_sub(LABELS)));
        }
        out.add(is_focused, line);
        if is_open {
            for entry in fold.entries() {
                self.entry_lines(out, cx, *entry);
            }
        }
    }

    /// Describes a closed group: what is given in it.
    fn summary(&self, fold: Fold) -> (Tone, String) {
        let mut parts = Vec::new();
        for entry in fold.entries() {
            let given = self.values.get(entry.path);
            let value = if given.is_empty() {
                self.current.get(entry.path)
            } else {
                given
            };
            let value = match (entry.path, value) {
                (_, "") => continue,
                (PUSH, "true") => "on",
                (PUSH, "false") => "off",
                (_, value) => value,
            };
            parts.push(format!("{}: {}", lowered(entry.label), text::clean(value)));
        }
        match parts.is_empty() {
            true => (Tone::Dim, "default".into()),
            false => (Tone::Plain, parts.join(" · ")),
        }
    }
}

/// Returns the note about the placeholder of a field: an example, or what the field is.
fn example(placeholder: &str) -> String {
    let is_said =
        placeholder.is_empty() || placeholder.starts_with("the ") || placeholder.starts_with("of ");
    if is_said {
        placeholder.into()
    } else {
        format!("such as {placeholder}")
    }
}

/// Returns the options of a choice. A value that is none of them is an option too.
fn choice(label: Line, options: &[(&str, &str)], value: &str, width: usize) -> Vec<Line> {
    let is_known = value.is_empty() || options.iter().any(|(word, _)| *word == value);
    let other = (!is_known).then_some((value, value));
    let all = options.iter().copied().chain(other);
    let all = all.map(|(word, name)| (word == value, name));
    choices(label, LABELS, all, width.min(NOTES))
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
