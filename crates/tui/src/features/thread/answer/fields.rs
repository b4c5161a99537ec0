//! The lines of one question: its actions with their decisions, its fields, or a text box.

use super::draft::{ActionDraft, Draft, PlainDraft, PlainKind, QuestionDraft};
use super::keys::{At, Stop};
use super::sentence;
use crate::widgets::form::FieldDraft;
use crate::widgets::form_lines::{
    FieldLook, FormLines, Part, flow, mark, option, padded, problem_lines, text_box,
};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::text_input::TextInput;
use runtail_core::model::{AnswerPart, DecisionKind, FieldKind, FormField, Problem};
use runtail_core::text;
use serde_json::Value;

/// Columns of an argument's or a field's name.
const NAMES: usize = 16;
/// Maximum bytes and lines of a value. The card scrolls, and what is approved must be readable.
const VALUE_BYTES: usize = 8 << 10;
const VALUE_LINES: usize = 100;

/// The context for the lines of a question.
pub(crate) struct Question<'a> {
    pub width: usize,
    pub focus: Option<Stop>,
    pub question: usize,
    /// How many actions are listed before those of this question, with a question of their own.
    pub before: usize,
    pub problems: &'a [Problem],
    /// Whether to show the problems of fields that never had the focus.
    pub shows_all: bool,
}

impl Question<'_> {
    fn is_focused(&self, at: At) -> bool {
        self.focus
            == Some(Stop {
                question: self.question,
                at,
            })
    }

    fn mark(&self, at: At) -> Line {
        mark(self.is_focused(at))
    }

    fn add(&self, out: &mut FormLines, at: At, part: Part) {
        out.add(self.is_focused(at), part);
    }

    fn problem(&self, spot: &AnswerPart) -> Option<&str> {
        let is_it = |problem: &&Problem| {
            problem.question == self.question
                && match (&problem.spot, spot) {
                    (AnswerPart::Field(path), AnswerPart::Field(name)) => {
                        path == name || path.starts_with(&format!("{name}."))
                    }
                    (AnswerPart::Argument(at, path), AnswerPart::Argument(n, name)) => {
                        at == n && (path == name || path.starts_with(&format!("{name}.")))
                    }
                    (known, wanted) => known == wanted,
                }
        };
        self.problems
            .iter()
            .find(is_it)
            .map(|problem| problem.rule.as_str())
    }

    /// Adds the lines of a draft.
    pub(crate) fn draft(&self, out: &mut FormLines, draft: &QuestionDraft) {
        if let Some(json) = draft.json.as_ref().filter(|_| draft.as_json) {
            let note = self.shown_problem(&AnswerPart::Answer, draft.is_touched());
            return self.boxed(out, At::Json, json, note);
        }
        match &draft.draft {
            Draft::Plain(plain) => self.plain(out, plain, draft.is_touched()),
            Draft::Fields(form, fields) => {
                for (n, (field, typed)) in form.fields.iter().zip(fields).enumerate() {
                    let spot = if field.name.is_empty() {
                        AnswerPart::Answer
                    } else {
                        AnswerPart::Field(field.name.clone())
                    };
                    let problem = self
                        .problem(&spot)
                        .filter(|_| self.shows_all || typed.was_left);
                    self.field(
                        out,
                        (At::Field(n), ""),
                        field,
                        typed,
                        Notes {
                            problem,
                            changed: None,
                        },
                    );
                }
                if let Some(problem) = self.problem(&AnswerPart::Answer).filter(|_| {
                    self.shows_all && form.fields.iter().any(|field| !field.name.is_empty())
                }) {
                    out.lines.extend(problem_lines("  ", problem, self.width));
                }
            }
            Draft::Actions(actions) => {
                for (n, action) in actions.iter().enumerate() {
                    if n > 0 {
                        out.lines.push(Line::new());
                    }
                    self.action(out, n, action);
                }
                if let Some(problem) = self.problem(&AnswerPart::Answer).filter(|_| self.shows_all)
                {
                    out.lines.extend(problem_lines("  ", problem, self.width));
                }
            }
        }
    }

    fn shown_problem(&self, spot: &AnswerPart, is_touched: bool) -> Option<String> {
        self.problem(spot)
            .filter(|_| self.shows_all || is_touched)
            .map(sentence)
    }

    fn plain(&self, out: &mut FormLines, plain: &PlainDraft, is_touched: bool) {
        if !plain.only_json {
            let mut line = self.mark(At::Kind).with_dim("Answer as    ");
            for (kind, label) in [
                (PlainKind::Text, "text"),
                (PlainKind::YesNo, "yes or no"),
                (PlainKind::Json, "JSON"),
            ] {
                option(&mut line, plain.kind == kind, label);
            }
            self.add(
                out,
                At::Kind,
                Part {
                    lines: vec![line],
                    cursor: None,
                },
            );
        }
        match plain.kind {
            PlainKind::Text => self.boxed(out, At::Text, &plain.text, None),
            PlainKind::Json => {
                let problem = self.shown_problem(&AnswerPart::Answer, is_touched);
                self.boxed(out, At::Json, &plain.json, problem);
            }
            PlainKind::YesNo => {
                let mut line = self.mark(At::YesNo).with_dim("             ");
                option(&mut line, plain.yes == Some(true), "yes");
                option(&mut line, plain.yes == Some(false), "no");
                line.push_dim("  y or n, Space toggles");
                self.add(
                    out,
                    At::YesNo,
                    Part {
                        lines: vec![line],
                        cursor: None,
                    },
                );
            }
        }
    }

    fn action(&self, out: &mut FormLines, n: usize, draft: &ActionDraft) {
        let action = &draft.action;
        let name = text::clean(&action.name);
        let mut left = self
            .mark(At::Decision(n))
            .with_dim(&format!("{}  ", self.before + n + 1));
        left.push_strong(&padded(&text::fit(&name, NAMES), NAMES));
        let mut choices = Vec::new();
        for kind in &action.allowed {
            let mut choice = Line::new();
            option(
                &mut choice,
                draft.decision == Some(*kind),
                &format!("{} {}", kind.digit(), kind.word()),
            );
            choices.push(choice);
        }
        if action.allowed.is_empty() {
            choices.push(Line::of(
                Tone::Waiting,
                "no supported decision is allowed; answer as JSON",
            ));
        }
        let options: usize = choices.iter().map(Line::width).sum();
        let description = action
            .description
            .as_deref()
            .and_then(|text| text.lines().map(str::trim).find(|l| !l.is_empty()));
        let description = description
            .map(|text| format!(" {}", text::clean(text)))
            .unwrap_or_default();
        let taken = left.width() + text::width(&description);
        let mut lines = Vec::new();
        if taken + options + 2 < self.width {
            left.push_plain(&description);
            left.push_plain(&" ".repeat(self.width.saturating_sub(taken + options)));
            left.left
                .extend(choices.into_iter().flat_map(|choice| choice.left));
            lines.push(left);
        } else {
            let is_beside = taken <= self.width;
            left.push_plain(if is_beside { &description } else { "" });
            lines.push(left);
            lines.extend(flow(Line::plain("     "), 5, choices, self.width));
            let below = if is_beside {
                Vec::new()
            } else {
                some_lines(description.trim(), self.width.saturating_sub(5))
            };
            lines.extend(
                below
                    .iter()
                    .map(|part| Line::plain(&format!("     {part}"))),
            );
        }
        if let Some(problem) = self
            .problem(&AnswerPart::Action(n))
            .filter(|_| self.shows_all)
        {
            lines.extend(problem_lines(
                "     ",
                &sentence(&format!("action {} {problem}", self.before + n + 1)),
                self.width,
            ));
        }
        self.add(
            out,
            At::Decision(n),
            Part {
                lines,
                cursor: None,
            },
        );
        self.details(out, n, draft);
        if self.is_focused(At::Decision(n)) {
            // The arguments scroll into view with the decision about them.
            out.focus.1 = out.lines.len();
        }
    }

    /// Adds the arguments of an action, or the inputs that replace them.
    fn details(&self, out: &mut FormLines, n: usize, draft: &ActionDraft) {
        let message = |out: &mut FormLines, label: &str, text: &TextInput, hint: &str| {
            let shown = FormField {
                name: label.into(),
                description: None,
                kind: FieldKind::Text,
                is_required: false,
                is_nullable: false,
                initial: None,
                keeps_empty: false,
                rule: hint.into(),
            };
            let typed = FieldDraft {
                text: text.clone(),
                ..FieldDraft::default()
            };
            self.field(
                out,
                (At::Message(n), "   "),
                &shown,
                &typed,
                Notes::default(),
            );
        };
        match draft.decision {
            Some(DecisionKind::Edit) if draft.is_editable() => {
                for (i, (field, typed)) in draft.form.fields.iter().zip(&draft.fields).enumerate() {
                    let problem = self.problem(&AnswerPart::Argument(n, field.name.clone()));
                    let problem = problem.filter(|_| self.shows_all || typed.was_left);
                    let changed = typed.is_changed(field).then(|| changed(field, typed));
                    let notes = Notes {
                        problem,
                        changed: changed.as_deref(),
                    };
                    self.field(out, (At::Argument(n, i), "   "), field, typed, notes);
                }
            }
            _ => {
                match &draft.action.args {
                    Value::Object(args) => {
                        for (name, value) in args {
                            out.lines
                                .extend(value_lines("     ", name, value, self.width));
                        }
                    }
                    Value::Null => {}
                    other => out
                        .lines
                        .extend(value_lines("     ", "arguments", other, self.width)),
                }
                match draft.decision {
                    Some(DecisionKind::Reject) => {
                        message(out, "reason", &draft.reason, "optional; sent to the model")
                    }
                    Some(DecisionKind::Respond) => {
                        message(out, "response", &draft.response, "the action's result")
                    }
                    _ => {}
                }
            }
        }
    }

    /// Adds a field.
    fn field(
        &self,
        out: &mut FormLines,
        (at, indent): (At, &str),
        field: &FormField,
        typed: &FieldDraft,
        notes: Notes<'_>,
    ) {
        let look = FieldLook {
            width: self.width,
            names: if indent.is_empty() { NAMES - 2 } else { NAMES },
            indent,
            is_focused: self.is_focused(at),
            problem: notes.problem,
            changed: notes.changed,
            is_kept: false,
            has_hints: true,
        };
        self.add(out, at, look.field(field, typed));
    }

    /// Adds a framed box for multi-line text.
    fn boxed(&self, out: &mut FormLines, at: At, typed: &TextInput, problem: Option<String>) {
        let mut part = text_box(Line::plain("  "), self.width, typed, self.is_focused(at));
        part.lines.extend(
            problem
                .iter()
                .flat_map(|problem| problem_lines("  ", problem, self.width)),
        );
        self.add(out, at, part);
    }
}

/// What is said about a field.
#[derive(Clone, Copy, Default)]
struct Notes<'a> {
    problem: Option<&'a str>,
    /// Its original value, if it was changed.
    changed: Option<&'a str>,
}

/// Returns the original value of a changed argument.
fn changed(field: &FormField, typed: &FieldDraft) -> String {
    let was = match &field.initial {
        None => return "added".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let was = text::clean(text::head(&was, 200).lines().next().unwrap_or_default()).into_owned();
    let was = text::fit(&was, 40).into_owned();
    match typed.value(field) {
        Ok(None) => format!("removed, was: {was}"),
        _ => format!("changed, was: {was}"),
    }
}

/// Formats a name and a value.
pub(crate) fn value_lines(indent: &str, name: &str, value: &Value, width: usize) -> Vec<Line> {
    let shown = match value {
        Value::String(text) => text.trim_end().to_string(),
        other => other.to_string(),
    };
    let left = text::width(indent) + NAMES + 1;
    let all = some_lines(&shown, width.saturating_sub(left));
    let name = text::clean(name);
    let lines = all.iter().enumerate().map(|(i, line)| {
        let name = if i == 0 {
            padded(&text::fit(&name, NAMES), NAMES)
        } else {
            " ".repeat(NAMES)
        };
        Line::dim(&format!("{indent}{name} ")).with_plain(line)
    });
    lines.collect()
}

/// Wraps a text, and says where the rest of a very long one is shown.
pub(crate) fn some_lines(text: &str, width: usize) -> Vec<String> {
    let shown = text::head(text, VALUE_BYTES);
    let mut lines = wrap(shown, width.max(8));
    if lines.len() > VALUE_LINES || shown.len() < text.len() {
        lines.truncate(VALUE_LINES);
        lines.push("… cut here; :state on the thread's page shows the rest".to_string());
    }
    lines
}
