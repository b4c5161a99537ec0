//! The lines of one question: its actions with their decisions, its fields, or a text box.

use super::draft::{ActionDraft, Draft, FieldDraft, PlainDraft, PlainKind, QuestionDraft};
use super::keys::{At, Stop};
use super::lines::CardLines;
use super::sentence;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::text_area_view::{shown_line, skip_columns};
use crate::widgets::text_input::TextInput;
use runtail_core::model::{AnswerPart, DecisionKind, FieldKind, FormField, Problem};
use runtail_core::text;
use serde_json::Value;

/// Columns of an argument's or a field's name.
const NAMES: usize = 16;
/// Maximum columns of a field, and of a number field.
const FIELD: usize = 52;
const NUMBER: usize = 12;
/// Maximum lines of a value, and of a text box.
const VALUE_LINES: usize = 3;
const TYPED_LINES: usize = 8;

/// The context for the lines of a question.
pub(crate) struct Question<'a> {
    pub width: usize,
    pub focus: Option<Stop>,
    pub question: usize,
    pub problems: &'a [Problem],
    /// Whether to show the problems of fields that never had the focus.
    pub shows_all: bool,
}

impl Question<'_> {
    fn is_focused(&self, at: At) -> bool {
        self.focus == Some(Stop { question: self.question, at })
    }

    fn mark(&self, at: At) -> Line {
        if self.is_focused(at) { Line::of(Tone::Accent, "▌ ") } else { Line::of(Tone::Plain, "  ") }
    }

    /// Adds lines, and records their position if they have the focus.
    fn add(&self, out: &mut CardLines, at: At, lines: impl IntoIterator<Item = Line>) {
        let from = out.lines.len();
        out.lines.extend(lines);
        if self.is_focused(at) {
            out.focus = (from, out.lines.len());
        }
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
        self.problems.iter().find(is_it).map(|problem| problem.rule.as_str())
    }

    /// Adds the lines of a draft.
    pub(crate) fn draft(&self, out: &mut CardLines, draft: &QuestionDraft) {
        if let Some(json) = draft.json.as_ref().filter(|_| draft.as_json) {
            let note = self.shown_problem(&AnswerPart::Answer, draft.is_touched());
            return self.boxed(out, At::Json, json, note);
        }
        match &draft.draft {
            Draft::Plain(plain) => self.plain(out, plain, draft.is_touched()),
            Draft::Fields(form, fields) => {
                for (n, (field, typed)) in form.fields.iter().zip(fields).enumerate() {
                    let spot =
                        if field.name.is_empty() { AnswerPart::Answer } else { AnswerPart::Field(field.name.clone()) };
                    let problem = self.problem(&spot).filter(|_| self.shows_all || typed.was_left);
                    self.field(out, At::Field(n), "", field, (&typed.text, typed.choice), problem, None);
                }
                if let Some(problem) = self
                    .problem(&AnswerPart::Answer)
                    .filter(|_| self.shows_all && form.fields.iter().any(|field| !field.name.is_empty()))
                {
                    out.lines.extend(self.problem_lines("  ", problem));
                }
            }
            Draft::Actions(actions) => {
                for (n, action) in actions.iter().enumerate() {
                    if n > 0 {
                        out.lines.push(Line::new());
                    }
                    self.action(out, n, action);
                }
                if let Some(problem) = self.problem(&AnswerPart::Answer).filter(|_| self.shows_all) {
                    out.lines.extend(self.problem_lines("  ", problem));
                }
            }
        }
    }

    /// Wraps a problem behind an indent.
    fn problem_lines(&self, indent: &str, problem: &str) -> Vec<Line> {
        let lines = wrap(problem, self.width.saturating_sub(indent.len() + 2).max(8));
        let mark = |i: usize| if i == 0 { "✗ " } else { "  " };
        let line =
            |(i, part): (usize, &String)| Line::of(Tone::Bad, &format!("{indent}{}", mark(i))).with(Tone::Plain, part);
        lines.iter().enumerate().map(line).collect()
    }

    fn shown_problem(&self, spot: &AnswerPart, is_touched: bool) -> Option<String> {
        self.problem(spot).filter(|_| self.shows_all || is_touched).map(sentence)
    }

    fn plain(&self, out: &mut CardLines, plain: &PlainDraft, is_touched: bool) {
        if !plain.only_json {
            let mut line = self.mark(At::Kind).with(Tone::Dim, "Answer as    ");
            for (kind, label) in [(PlainKind::Text, "text"), (PlainKind::YesNo, "yes or no"), (PlainKind::Json, "JSON")]
            {
                option(&mut line, plain.kind == kind, label);
            }
            self.add(out, At::Kind, [line]);
        }
        match plain.kind {
            PlainKind::Text => self.boxed(out, At::Text, &plain.text, None),
            PlainKind::Json => {
                let problem = self.shown_problem(&AnswerPart::Answer, is_touched);
                self.boxed(out, At::Json, &plain.json, problem);
            }
            PlainKind::YesNo => {
                let mut line = self.mark(At::YesNo).with(Tone::Dim, "             ");
                option(&mut line, plain.yes == Some(true), "yes");
                option(&mut line, plain.yes == Some(false), "no");
                line.push(Tone::Dim, "  y or n, Space toggles");
                self.add(out, At::YesNo, [line]);
            }
        }
    }

    fn action(&self, out: &mut CardLines, n: usize, draft: &ActionDraft) {
        let action = &draft.action;
        let name = text::clean(&action.name);
        let mut left = self.mark(At::Decision(n)).with(Tone::Dim, &format!("{}  ", n + 1));
        left.push(Tone::Strong, &padded(&text::fit(&name, NAMES), NAMES));
        let mut choices = Vec::new();
        for kind in &action.allowed {
            let mut choice = Line::new();
            option(&mut choice, draft.decision == Some(*kind), &format!("{} {}", kind.digit(), kind.word()));
            choices.push(choice);
        }
        if action.allowed.is_empty() {
            choices.push(Line::of(Tone::Waiting, "no supported decision is allowed; answer as JSON"));
        }
        let options: usize = choices.iter().map(Line::width).sum();
        let description =
            action.description.as_deref().and_then(|text| text.lines().map(str::trim).find(|l| !l.is_empty()));
        let description = description.map(|text| format!(" {}", text::clean(text))).unwrap_or_default();
        let taken = left.width() + text::width(&description);
        let mut lines = Vec::new();
        if taken + options + 2 < self.width {
            left.push(Tone::Plain, &description);
            left.push(Tone::Plain, &" ".repeat(self.width.saturating_sub(taken + options)));
            left.left.extend(choices.into_iter().flat_map(|choice| choice.left));
            lines.push(left);
        } else {
            let is_beside = taken <= self.width;
            left.push(Tone::Plain, if is_beside { &description } else { "" });
            lines.push(left);
            lines.extend(flow(Line::of(Tone::Plain, "     "), 5, choices, self.width));
            let below =
                if is_beside { Vec::new() } else { some_lines(description.trim(), self.width.saturating_sub(5)) };
            lines.extend(below.iter().map(|part| Line::of(Tone::Plain, &format!("     {part}"))));
        }
        if let Some(problem) = self.problem(&AnswerPart::Action(n)).filter(|_| self.shows_all) {
            lines.extend(self.problem_lines("     ", &sentence(&format!("action {} {problem}", n + 1))));
        }
        self.add(out, At::Decision(n), lines);
        self.details(out, n, draft);
    }

    /// Adds the arguments of an action, or the inputs that replace them.
    fn details(&self, out: &mut CardLines, n: usize, draft: &ActionDraft) {
        let message = |out: &mut CardLines, label: &str, text: &TextInput, hint: &str| {
            let shown = FormField {
                name: label.into(),
                description: None,
                kind: FieldKind::Text,
                is_required: false,
                is_nullable: false,
                initial: None,
                rule: hint.into(),
            };
            self.field(out, At::Message(n), "   ", &shown, (text, None), None, None);
        };
        match draft.decision {
            Some(DecisionKind::Edit) if draft.is_editable() => {
                for (i, (field, typed)) in draft.form.fields.iter().zip(&draft.fields).enumerate() {
                    let problem = self.problem(&AnswerPart::Argument(n, field.name.clone()));
                    let problem = problem.filter(|_| self.shows_all || typed.was_left);
                    let changed = typed.is_changed(field).then(|| changed(field, typed));
                    let input = (&typed.text, typed.choice);
                    self.field(out, At::Argument(n, i), "   ", field, input, problem, changed.as_deref());
                }
            }
            _ => {
                match &draft.action.args {
                    Value::Object(args) => {
                        for (name, value) in args {
                            out.lines.extend(value_lines("     ", name, value, self.width));
                        }
                    }
                    Value::Null => {}
                    other => out.lines.extend(value_lines("     ", "arguments", other, self.width)),
                }
                match draft.decision {
                    Some(DecisionKind::Reject) => message(out, "reason", &draft.reason, "optional; sent to the model"),
                    Some(DecisionKind::Respond) => message(out, "response", &draft.response, "the action's result"),
                    _ => {}
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn field(
        &self,
        out: &mut CardLines,
        at: At,
        indent: &str,
        field: &FormField,
        (typed, chosen): (&TextInput, Option<usize>),
        problem: Option<&str>,
        changed: Option<&str>,
    ) {
        let focused = self.is_focused(at);
        let mut line = self.mark(at);
        line.push(Tone::Plain, indent);
        let star = if field.is_required && !field.is_nullable { " *" } else { "" };
        let name =
            if field.name.is_empty() { "answer".to_string() } else { format!("{}{star}", text::clean(&field.name)) };
        let name_width = if indent.is_empty() { NAMES - 2 } else { NAMES };
        line.push(Tone::Dim, &format!("{} ", padded(&text::fit(&name, name_width), name_width)));
        let before = line.width();
        let (mut cursor, mut more) = (None, Vec::new());
        match &field.kind {
            FieldKind::Boolean => {
                let (mark, word) = match chosen {
                    Some(0) => ("[x]", "yes"),
                    Some(_) => ("[ ]", "no"),
                    None => ("[-]", "not set"),
                };
                line.push(if focused { Tone::Accent } else { Tone::Plain }, &format!("{mark} {word}"));
            }
            FieldKind::Choice(values) => {
                let choice = |(n, value): (usize, &Value)| {
                    let label = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                    let mut choice = Line::new();
                    option(&mut choice, chosen == Some(n), text::head(&label, 40));
                    choice
                };
                more = flow(line, before, values.iter().enumerate().map(choice).collect(), self.width);
                line = more.remove(0);
            }
            _ => {
                let widest = if matches!(field.kind, FieldKind::Integer | FieldKind::Number) { NUMBER } else { FIELD };
                let room = widest.min(self.width.saturating_sub(before + 4)).max(4);
                let (shown, column) = one_line(typed, room, focused);
                let frame = if focused { Tone::Accent } else { Tone::Dim };
                let tone = if changed.is_some() { Tone::Strong } else { Tone::Plain };
                line.push(frame, "[ ");
                line.push(tone, &padded(&shown, room));
                line.push(frame, " ]");
                cursor = column.filter(|_| focused).map(|column| before + 2 + column);
            }
        }
        let mut notes = Line::new();
        if let Some(problem) = problem {
            notes.push(Tone::Bad, "   ✗ ");
            notes.push(Tone::Plain, problem);
        }
        if let Some(changed) = changed {
            notes.push(Tone::Dim, &format!("   {changed}"));
        }
        if !field.rule.is_empty() && changed.is_none() {
            notes.push(Tone::Dim, &format!("   {}", field.rule));
        }
        if let Some(description) = &field.description {
            notes.push(Tone::Dim, &format!("   {}", text::head(description, 400)));
        }
        let row = out.lines.len();
        let mut lines = Vec::new();
        if more.is_empty() && line.width() + notes.width() <= self.width {
            line.left.extend(notes.left);
            lines.push(line);
        } else {
            lines.push(line);
            lines.append(&mut more);
            let text = notes.text();
            let tone = if problem.is_some() { Tone::Bad } else { Tone::Dim };
            let indent = before.min(self.width / 2);
            let wrapped = wrap(text.trim_start(), self.width.saturating_sub(indent).max(8));
            let wrapped = if text.is_empty() { Vec::new() } else { wrapped };
            lines.extend(wrapped.iter().map(|part| Line::of(tone, &format!("{}{part}", " ".repeat(indent)))));
        }
        self.add(out, at, lines);
        if let Some(column) = cursor {
            out.cursor = Some((row, column));
        }
    }

    /// Adds a framed box for multi-line text.
    fn boxed(&self, out: &mut CardLines, at: At, typed: &TextInput, problem: Option<String>) {
        let focused = self.is_focused(at);
        let frame = if focused { Tone::Accent } else { Tone::Dim };
        let room = self.width.saturating_sub(8).clamp(8, 116);
        let (row, col) = typed.cursor();
        let lines = typed.lines();
        let height = lines.len().clamp(1, TYPED_LINES);
        let top = (row + 1).saturating_sub(height);
        let bar = |left: &str, right: &str| Line::of(frame, &format!("  {left}{}{right}", "─".repeat(room + 2)));
        let mut shown = vec![bar("┌", "┐")];
        let begin = out.lines.len();
        for (n, line) in lines.iter().enumerate().skip(top).take(height) {
            let is_here = n == row;
            let column = text::width(&shown_line(line.get(..col.min(line.len())).unwrap_or_default()));
            let shift = if is_here { (column + 1).saturating_sub(room) } else { 0 };
            let (rest, skipped) = skip_columns(&shown_line(line), shift);
            let visible = text::fit(&rest, room).into_owned();
            shown.push(Line::of(frame, "  │ ").with(Tone::Plain, &padded(&visible, room)).with(frame, " │"));
            if is_here && focused {
                out.cursor = Some((begin + shown.len() - 1, 4 + column.saturating_sub(skipped)));
            }
        }
        shown.push(bar("└", "┘"));
        if lines.len() > height {
            shown.push(Line::of(Tone::Dim, &format!("  line {} of {}", row + 1, lines.len())));
        }
        if let Some(problem) = problem {
            let wrapped = wrap(&problem, self.width.saturating_sub(4).max(8));
            let first = |i: usize| if i == 0 { "  ✗ " } else { "    " };
            shown.extend(
                wrapped.iter().enumerate().map(|(i, part)| Line::of(Tone::Bad, first(i)).with(Tone::Plain, part)),
            );
        }
        self.add(out, at, shown);
    }
}

/// Adds an option of a choice.
fn option(line: &mut Line, chosen: bool, label: &str) {
    let (mark, tone) = if chosen { ("(x) ", Tone::Strong) } else { ("( ) ", Tone::Dim) };
    line.push(tone, mark);
    line.push(if chosen { Tone::Strong } else { Tone::Plain }, label);
    line.push(Tone::Plain, "   ");
}

/// Adds options to the first line, and those without room there to lines below it.
fn flow(first: Line, indent: usize, options: Vec<Line>, width: usize) -> Vec<Line> {
    let mut lines = vec![first];
    for option in options {
        let columns = text::width(option.text().trim_end());
        if lines.last().is_some_and(|line| line.width() > indent && line.width() + columns > width) {
            lines.push(Line::of(Tone::Plain, &" ".repeat(indent)));
        }
        if let Some(line) = lines.last_mut() {
            line.left.extend(option.left);
        }
    }
    lines
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

/// Formats a text on one line, with visible line breaks. Returns it with the column of the cursor.
fn one_line(typed: &TextInput, room: usize, focused: bool) -> (String, Option<usize>) {
    let (row, col) = typed.cursor();
    let mut whole = String::new();
    let mut at = 0;
    for (n, line) in typed.lines().iter().enumerate() {
        if n > 0 {
            whole.push('⏎');
        }
        if n == row {
            at = text::width(&whole) + text::width(&shown_line(line.get(..col).unwrap_or(line)));
        }
        whole.push_str(&shown_line(line));
        // The rest of a text can be megabytes and doesn't fit any screen.
        if whole.len() > 64 << 10 && n >= row {
            break;
        }
    }
    if !focused {
        return (text::fit(&whole, room).into_owned(), None);
    }
    let (rest, skipped) = skip_columns(&whole, (at + 1).saturating_sub(room));
    (text::fit(&rest, room).into_owned(), Some(at.saturating_sub(skipped)))
}

/// Formats a name and a value in a few lines.
pub(crate) fn value_lines(indent: &str, name: &str, value: &Value, width: usize) -> Vec<Line> {
    let shown = match value {
        Value::String(text) => text::head(text, 4 << 10).trim_end().to_string(),
        other => text::head(&other.to_string(), 4 << 10).to_string(),
    };
    let left = text::width(indent) + NAMES + 1;
    let all = some_lines(&shown, width.saturating_sub(left));
    let name = text::clean(name);
    let lines = all.iter().enumerate().map(|(i, line)| {
        let name = if i == 0 { padded(&text::fit(&name, NAMES), NAMES) } else { " ".repeat(NAMES) };
        Line::of(Tone::Dim, &format!("{indent}{name} ")).with(Tone::Plain, line)
    });
    lines.collect()
}

/// Wraps a text, and says how many lines are left out.
fn some_lines(text: &str, width: usize) -> Vec<String> {
    let mut lines = wrap(text, width.max(8));
    if lines.len() > VALUE_LINES {
        let more = lines.len() - VALUE_LINES;
        lines.truncate(VALUE_LINES);
        lines.push(format!("… {more} more lines"));
    }
    lines
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text::width(text))))
}
