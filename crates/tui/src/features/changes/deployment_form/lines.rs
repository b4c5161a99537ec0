//! The lines of the form.

use super::fields::{FormEntry, Kind, PUSH, REPOSITORY};
use super::lists::SHOWN;
use super::secrets::SecretState;
use super::{DeploymentForm, DeploymentStop, profiles};
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::session::card::FormCard;
use crate::session::form::{CLOSE_KEEPS, FormKeys};
use crate::session::{Cx, Requests};
use crate::widgets::form::{FieldDraft, FormScroll};
use crate::widgets::form_lines::{
    FieldNotes, FormLines, FormLook, LinePart, fitted, framed, mark, padded, problem_lines,
};
use crate::widgets::line::{Line, Tone};
use crate::widgets::text_input::TextInput;
use runtail_core::model::{FieldKind, FormField};
use runtail_core::text;

/// Columns of a field's name, with its star.
const NAMES: usize = 16;
/// Columns before the values.
const LABELS: usize = NAMES + 3;
/// Maximum columns of a secret that is typed.
const FIELD: usize = 44;
/// How the fields are drawn.
const LOOK: FormLook<'_> = FormLook {
    names: NAMES,
    indent: "",
    has_hints: false,
    notes: Some(80),
};

impl FormCard for DeploymentForm {
    const CONTEXT: Context = Context::Editor;

    fn of_profile(&self) -> &str {
        &self.profile
    }

    fn title(&self, cx: &Cx<'_>) -> String {
        let (title, legend) = match &self.name {
            // An update has no required field.
            Some(name) => (format!("Update {}", text::clean(name)), ""),
            None => ("New deployment".into(), " · * required"),
        };
        let demo = if cx.session.settings.demo {
            " · DEMO"
        } else {
            ""
        };
        let on = match &*self.profile {
            "" => String::new(),
            profile => format!(" · {}", text::clean(profile)),
        };
        format!("{title}{on}{demo}{legend}")
    }

    fn keys(&self) -> Vec<(&'static str, String)> {
        let mut keys = vec![("editor.preview", "preview".to_string())];
        keys.extend(self.focus_keys().map(|hint| ("", hint.to_string())));
        let more = [
            ("editor.next", "next field"),
            ("editor.form", "as TOML"),
            ("editor.outside", "edit in $EDITOR"),
            ("editor.back", CLOSE_KEEPS),
        ];
        keys.extend(more.map(|(id, label)| (id, label.to_string())));
        keys
    }

    fn drawn(&self, cx: &Cx<'_>) -> FormLines {
        let mut out = FormLines::new(cx.area.w.into());
        for (label, value) in self.fixed() {
            let line = Line::dim(&format!("  {} ", padded(label, NAMES))).with_plain(value);
            out.lines.push(line);
        }
        for entry in self.entries_in(None) {
            self.entry_lines(&mut out, cx, entry);
        }
        self.secret_lines(&mut out);
        for fold in self.folds() {
            self.fold_lines(&mut out, cx, fold);
        }
        out.blank();
        match (self.first_problem(cx), &self.problem) {
            (Some((_, why)), _) => {
                out.say(Tone::Dim, &format!("Not ready: {}", lowered(&why)));
            }
            (None, Some(why)) => out.say(Tone::Bad, &format!("✗ {why}")),
            (None, None) if self.is_new => {
                out.say(Tone::Plain, "Ready to preview.");
            }
            (None, None) => out.say(Tone::Plain, "Ready. Sends changed fields only."),
        }
        out
    }

    fn scroll(&self) -> &FormScroll<DeploymentStop> {
        &self.scroll
    }

    fn scroll_mut(&mut self) -> &mut FormScroll<DeploymentStop> {
        &mut self.scroll
    }

    fn act(&mut self, _cx: &Cx<'_>, action: Option<Action>, key: Key) -> Requests {
        self.form_key(action, key)
    }

    fn refresh(&mut self, cx: &Cx<'_>) {
        self.profiles = profiles(cx.session);
    }
}

impl DeploymentForm {
    /// Names the keys of the focused element.
    fn focus_keys(&self) -> Option<&'static str> {
        match self.focus {
            DeploymentStop::Secret(_) if self.typed_secret.is_some() => Some("⏎ done"),
            DeploymentStop::Secret(row) if row < self.secret_rows().len() => {
                Some("a add   ⏎ edit   x remove")
            }
            DeploymentStop::Secret(_) => Some("a add"),
            DeploymentStop::Fold(fold) if self.open.contains(fold) => Some("⏎ fold"),
            DeploymentStop::Fold(_) => Some("⏎ open"),
            DeploymentStop::Field(path) => {
                self.options(self.entry(path)?)?;
                Some("← → choose")
            }
        }
    }

    /// Returns the value of a field as it is typed.
    pub(super) fn shown_value(&self, path: &str) -> &str {
        match (path, self.value(path)) {
            (REPOSITORY, value) => value.strip_prefix("https://").unwrap_or(value),
            (_, value) => value,
        }
    }

    fn label(&self, stop: DeploymentStop, name: &str) -> Line {
        let is_focused = self.focus == stop;
        let tone = if is_focused { Tone::Strong } else { Tone::Dim };
        mark(is_focused).with(tone, &format!("{} ", padded(name, NAMES)))
    }

    fn entry_lines(&self, out: &mut FormLines, cx: &Cx<'_>, entry: FormEntry) {
        let stop = DeploymentStop::of(entry);
        let is_focused = self.focus == stop;
        let (value, options) = (self.value(entry.path), self.options(entry));
        let mut draft = FieldDraft::default();
        let kind = match &options {
            Some(options) => {
                draft.choice = options.iter().position(|(word, _)| *word == value);
                FieldKind::Choice(options.iter().map(|(_, label)| (*label).into()).collect())
            }
            None => {
                draft.text = match is_focused {
                    true => self.input.clone(),
                    false => TextInput::line(self.shown_value(entry.path)),
                };
                FieldKind::Text
            }
        };
        let field = FormField {
            is_required: entry.is_required,
            ..FormField::new(entry.label, kind, "")
        };
        let mut note = self.note(cx, entry);
        // The example of an empty field makes way for the text; it is in the note then.
        let placeholder = match self.current.get(entry.path) {
            "" if is_focused => {
                if note.is_empty() && value.is_empty() && options.is_none() {
                    note = example(entry.placeholder);
                }
                ""
            }
            "" => entry.placeholder,
            current => current,
        };
        let notes = FieldNotes {
            problem: self.problem(cx, stop).filter(|_| self.left.contains(&stop)),
            placeholder: placeholder.into(),
            note,
            is_list: entry.kind == Kind::Integration,
            ..FieldNotes::default()
        };
        out.field(&LOOK, is_focused, (&field, &draft), &notes);
        if is_focused && entry.path == REPOSITORY && !value.is_empty() {
            let others = self.matches().into_iter().filter(|one| one.value != value);
            let named = |one: &super::lists::ListedName| {
                Line::dim(&format!("{}{}", " ".repeat(LABELS + 2), one.label))
            };
            out.lines.extend(others.take(SHOWN).map(named));
            out.focus.1 = out.lines.len();
        }
    }

    fn secret_lines(&self, out: &mut FormLines) {
        let rows = self.secret_rows();
        let names = rows
            .iter()
            .map(|(name, _)| text::width(name))
            .max()
            .unwrap_or(0)
            .clamp(8, 32);
        for at in 0..=rows.len() {
            let stop = DeploymentStop::Secret(at);
            let is_focused = self.focus == stop;
            let mut line = self.label(stop, if at == 0 { "Secrets" } else { "" });
            let mut cursor = None;
            let mut problem = None;
            match (&self.typed_secret, rows.get(at)) {
                (Some((row, why)), _) if *row == at => {
                    let room = FIELD.min(out.width.saturating_sub(LABELS + 4));
                    let mut part = framed(line, Tone::Plain, &self.input, room, true);
                    (cursor, line) = (part.cursor, part.lines.remove(0));
                    line.push_dim("  NAME env:VARIABLE or file:PATH");
                    problem.clone_from(why);
                }
                (_, Some((name, state))) => {
                    line.push_plain(&fitted(name, names));
                    match state {
                        SecretState::Kept => line.push_dim("   kept"),
                        SecretState::Removed => {
                            line.push_bad("   - removed");
                        }
                        SecretState::Given(reference) => {
                            line.push_plain(&format!("   {reference}"));
                            match self.references.get(reference) {
                                Some(Some(why)) => problem = Some(why.clone()),
                                Some(None) => line.push_dim("   readable"),
                                None => {}
                            }
                        }
                    }
                }
                // The row that adds a secret is shown where it is useful.
                (_, None) if rows.is_empty() => line.push_dim("none; a adds one"),
                (_, None) if is_focused => line.push_dim("a adds another"),
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
            out.add(is_focused, LinePart { lines, cursor });
        }
    }

    fn fold_lines(&self, out: &mut FormLines, cx: &Cx<'_>, fold: &'static str) {
        let stop = DeploymentStop::Fold(fold);
        let is_open = self.open.contains(fold);
        let is_focused = self.focus == stop;
        let glyph = if is_open { "▾ " } else { "▸ " };
        let tone = if is_focused { Tone::Strong } else { Tone::Dim };
        // The mark of the fold is in the place of the focus's, which has its color.
        let mut line = Line::of(if is_focused { Tone::Accent } else { Tone::Dim }, glyph);
        line.push(tone, &format!("{} ", padded(fold, NAMES)));
        if is_open {
            out.add(is_focused, line);
            return self
                .entries_in(Some(fold))
                .for_each(|entry| self.entry_lines(out, cx, entry));
        }
        // A folded group names its given fields.
        let given = self.entries_in(Some(fold)).filter_map(|entry| {
            let values = [self.value(entry.path), self.current.get(entry.path)];
            let value = values.into_iter().find(|value| !value.is_empty())?;
            let value = match (entry.path, value) {
                (PUSH, "true") => "on",
                (PUSH, "false") => "off",
                (_, value) => value,
            };
            Some(format!("{}: {}", lowered(entry.label), text::clean(value)))
        });
        let given: Vec<String> = given.collect();
        let room = out.width.saturating_sub(LABELS);
        match given.is_empty() {
            true => line.push_dim("default"),
            false => line.push_plain(&text::fit(&given.join(" · "), room)),
        }
        out.add(is_focused, line);
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
