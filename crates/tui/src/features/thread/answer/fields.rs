//! The lines of one question: its actions with their decisions, its fields, or a text box.

use super::draft::{ActionDraft, Draft, PlainDraft, PlainKind, QuestionDraft};
use super::keys::At;
use super::sentence;
use crate::widgets::form::{FieldDraft, is_at};
use crate::widgets::form_lines::{
    FieldNotes, FormLines, FormLook, LinePart, fitted, flow, mark, option, problem_lines, text_box,
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
    /// What of the question has the focus.
    pub focus: Option<At>,
    pub question: usize,
    /// How many actions are listed before those of this question, with a question of their own.
    pub before: usize,
    pub problems: &'a [Problem],
    /// Whether to show the problems of fields that never had the focus.
    pub shows_all: bool,
}

impl Question<'_> {
    fn mark(&self, at: At) -> Line {
        mark(self.focus == Some(at))
    }

    fn add(&self, out: &mut FormLines, at: At, part: impl Into<LinePart>) {
        out.add(self.focus == Some(at), part);
    }

    fn problem(&self, spot: &AnswerPart) -> Option<&str> {
        let is_it = |problem: &&Problem| {
            problem.question == self.question
                && match (&problem.spot, spot) {
                    (AnswerPart::Field(path), AnswerPart::Field(name)) => is_at(path, name),
                    (AnswerPart::Argument(at, path), AnswerPart::Argument(n, name)) => {
                        at == n && is_at(path, name)
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
        if let Draft::Plain(plain) = &draft.twin.form {
            self.plain(out, plain, draft.twin.as_text);
        }
        if draft.twin.as_text {
            let problem = self.problem(&AnswerPart::Answer);
            let problem = problem.filter(|_| self.shows_all || draft.is_touched());
            return self.boxed(out, At::Json, &draft.twin.text, problem);
        }
        match &draft.twin.form {
            Draft::Plain(_) | Draft::Json => {}
            Draft::Fields(form) => {
                let focus = match self.focus {
                    Some(At::Field(n)) => Some((n, None)),
                    _ => None,
                };
                out.form(form, &look(NAMES - 2, ""), focus, |_, field, typed| {
                    let spot = match field.name.as_str() {
                        "" => AnswerPart::Answer,
                        name => AnswerPart::Field(name.to_string()),
                    };
                    self.notes(&spot, typed)
                });
                if form.form.fields.iter().any(|field| !field.name.is_empty()) {
                    self.answer_problem(out);
                }
            }
            Draft::Actions(actions) => {
                for (n, action) in actions.iter().enumerate() {
                    if n > 0 {
                        out.lines.push(Line::new());
                    }
                    self.action(out, n, action);
                }
                self.answer_problem(out);
            }
        }
    }

    /// Adds the problem of the whole answer.
    fn answer_problem(&self, out: &mut FormLines) {
        if let Some(problem) = self.problem(&AnswerPart::Answer).filter(|_| self.shows_all) {
            out.lines.extend(problem_lines(2, problem, out.width));
        }
    }

    /// Returns what is said about a field.
    fn notes(&self, spot: &AnswerPart, typed: &FieldDraft) -> FieldNotes {
        let problem = self.problem(spot);
        let problem = problem.filter(|_| self.shows_all || typed.was_left);
        FieldNotes {
            problem: problem.map(str::to_string),
            ..FieldNotes::default()
        }
    }

    fn plain(&self, out: &mut FormLines, plain: &PlainDraft, is_json: bool) {
        let mut line = self.mark(At::Kind).with_dim("Answer as    ");
        let is = |kind| !is_json && plain.kind == kind;
        option(&mut line, is(PlainKind::Text), "text");
        option(&mut line, is(PlainKind::YesNo), "yes or no");
        option(&mut line, is_json, "JSON");
        self.add(out, At::Kind, line);
        if is(PlainKind::Text) {
            self.boxed(out, At::Text, &plain.text, None);
        } else if !is_json {
            let mut line = self.mark(At::YesNo).with_dim("             ");
            option(&mut line, plain.yes == Some(true), "yes");
            option(&mut line, plain.yes == Some(false), "no");
            line.push_dim("  y or n, Space toggles");
            self.add(out, At::YesNo, line);
        }
    }

    fn action(&self, out: &mut FormLines, n: usize, draft: &ActionDraft) {
        let action = &draft.action;
        let name = text::clean(&action.name);
        let mut left = self
            .mark(At::Decision(n))
            .with_dim(&format!("{}  ", self.before + n + 1));
        left.push_strong(&fitted(&name, NAMES));
        let mut choices = Vec::new();
        for kind in &action.allowed {
            let mut choice = Line::new();
            let label = format!("{} {}", kind.digit(), kind.word());
            option(&mut choice, draft.decision == Some(*kind), &label);
            choices.push(choice);
        }
        if choices.is_empty() {
            let said = "unknown decisions; answer as JSON";
            choices.push(Line::of(Tone::Waiting, said));
        }
        let options: usize = choices.iter().map(Line::width).sum();
        let mut described = action.description.iter().flat_map(|text| text.lines());
        let description = described.find(|line| !line.trim().is_empty());
        let description = description.map(|text| format!(" {}", text::clean(text.trim())));
        let description = description.unwrap_or_default();
        let taken = left.width() + text::width(&description);
        let is_beside = taken <= out.width;
        let mut lines = Vec::new();
        if taken + options + 2 < out.width {
            left.push_plain(&description);
            left.push_plain(&" ".repeat(out.width.saturating_sub(taken + options)));
            left.left
                .extend(choices.into_iter().flat_map(|choice| choice.left));
            lines.push(left);
        } else {
            left.push_plain(if is_beside { &description } else { "" });
            lines.push(left);
            lines.extend(flow(Line::plain("     "), 5, choices, out.width));
            if !is_beside {
                let below = some_lines(description.trim(), out.width.saturating_sub(5));
                let below = below.iter().map(|part| format!("     {part}"));
                lines.extend(below.map(|part| Line::plain(&part)));
            }
        }
        let problem = self.problem(&AnswerPart::Action(n));
        if let Some(problem) = problem.filter(|_| self.shows_all) {
            let said = sentence(&format!("action {} {problem}", self.before + n + 1));
            lines.extend(problem_lines(5, &said, out.width));
        }
        self.add(out, At::Decision(n), lines);
        self.details(out, n, draft);
        if self.focus == Some(At::Decision(n)) {
            // The arguments scroll into view with the decision about them.
            out.focus.1 = out.lines.len();
        }
    }

    /// Adds the arguments of an action, or the inputs that replace them.
    fn details(&self, out: &mut FormLines, n: usize, draft: &ActionDraft) {
        let look = look(NAMES, "   ");
        let message = |out: &mut FormLines, label: &str, text: &TextInput, hint: &str| {
            let typed = FieldDraft {
                text: text.clone(),
                ..FieldDraft::default()
            };
            let field = FormField::new(label, FieldKind::Text, hint);
            let is_focused = self.focus == Some(At::Message(n));
            out.field(&look, is_focused, (&field, &typed), &FieldNotes::default());
        };
        match draft.decision {
            Some(DecisionKind::Edit) if draft.is_editable() => {
                let focus = match self.focus {
                    Some(At::Argument(at, field)) if at == n => Some((field, None)),
                    _ => None,
                };
                out.form(&draft.args, &look, focus, |_, field, typed| FieldNotes {
                    changed: typed.is_changed(field).then(|| changed(field, typed)),
                    ..self.notes(&AnswerPart::Argument(n, field.name.clone()), typed)
                });
            }
            _ => {
                match &draft.action.args {
                    Value::Object(args) => {
                        for (name, value) in args {
                            out.lines.extend(value_lines(name, value, 5, out.width));
                        }
                    }
                    Value::Null => {}
                    other => out
                        .lines
                        .extend(value_lines("arguments", other, 5, out.width)),
                }
                match draft.decision {
                    Some(DecisionKind::Reject) => {
                        message(out, "reason", &draft.reason, "optional, for the model")
                    }
                    Some(DecisionKind::Respond) => {
                        message(out, "response", &draft.response, "the action's result")
                    }
                    _ => {}
                }
            }
        }
    }

    /// Adds a framed box for multi-line text.
    fn boxed(&self, out: &mut FormLines, at: At, typed: &TextInput, problem: Option<&str>) {
        let is_focused = self.focus == Some(at);
        let mut part = text_box(Line::plain("  "), out.width, typed, is_focused);
        if let Some(problem) = problem {
            let problem = sentence(problem);
            part.lines.extend(problem_lines(2, &problem, out.width));
        }
        self.add(out, at, part);
    }
}

/// Returns how fields are drawn.
fn look(names: usize, indent: &str) -> FormLook<'_> {
    FormLook {
        names,
        indent,
        has_hints: true,
        notes: None,
    }
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

/// Formats a name and a value behind blanks.
pub(crate) fn value_lines(name: &str, value: &Value, indent: usize, width: usize) -> Vec<Line> {
    let shown = match value {
        Value::String(text) => text.trim_end().to_string(),
        other => other.to_string(),
    };
    let all = some_lines(&shown, width.saturating_sub(indent + NAMES + 1));
    let (margin, name) = (" ".repeat(indent), text::clean(name));
    let lines = all.iter().enumerate().map(|(i, line)| {
        let name = if i == 0 { &*name } else { "" };
        Line::dim(&format!("{margin}{} ", fitted(name, NAMES))).with_plain(line)
    });
    lines.collect()
}

/// Wraps a text, and says where the rest of a very long one is shown.
pub(crate) fn some_lines(text: &str, width: usize) -> Vec<String> {
    let shown = text::head(text, VALUE_BYTES);
    let mut lines = wrap(shown, width);
    if lines.len() > VALUE_LINES || shown.len() < text.len() {
        lines.truncate(VALUE_LINES);
        lines.push("… cut; :state shows the rest".to_string());
    }
    lines
}
