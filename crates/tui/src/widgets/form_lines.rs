//! The lines of a form: fields, choices, and boxes for longer texts.

use super::form::FieldDraft;
use super::line::{Line, Tone, wrap};
use super::text_area_view::{shown_line, skip_columns};
use super::text_input::TextInput;
use runtail_core::model::{FieldKind, FormField};
use runtail_core::text;
use serde_json::Value;

/// Maximum columns of a field, and of a number field.
const FIELD: usize = 52;
const NUMBER: usize = 12;
/// Maximum lines of a text box, and maximum columns of its text.
const BOX_LINES: usize = 8;
const BOX: usize = 116;
/// Columns of a box beside its text.
const FRAME: usize = 6;
/// Columns before a note.
const NOTE: usize = 3;
/// The rule of a required field of an input, and what replaces it where the thread's state has a value.
const REQUIRED: &str = "required by this graph";
const FROM_STATE: &str = "kept from the state if empty";
/// Bytes of a description that are shown.
const DESCRIPTION: usize = 400;

/// The lines of a form, with what has the focus.
#[derive(Debug, Default)]
pub struct FormLines {
    pub lines: Vec<Line>,
    /// The range of lines with the focus.
    pub focus: (usize, usize),
    /// The line and column of the text cursor.
    pub cursor: Option<(usize, usize)>,
}

/// Some lines of a form, with the text cursor relative to them.
#[derive(Debug, Default)]
pub struct Part {
    pub lines: Vec<Line>,
    pub cursor: Option<(usize, usize)>,
}

impl FormLines {
    /// Adds lines, and records their position if they have the focus.
    pub fn add(&mut self, is_focused: bool, part: Part) {
        let from = self.lines.len();
        self.lines.extend(part.lines);
        if is_focused {
            self.focus = (from, self.lines.len());
            if let Some((row, column)) = part.cursor {
                self.cursor = Some((from + row, column));
            }
        }
    }
}

/// How a field is drawn.
#[derive(Debug, Clone, Copy)]
pub struct FieldLook<'a> {
    pub width: usize,
    /// The columns of its name.
    pub names: usize,
    pub indent: &'a str,
    pub is_focused: bool,
    pub problem: Option<&'a str>,
    /// Its original value in words, if it was changed.
    pub changed: Option<&'a str>,
    /// Whether the thread's state has a value that stays if the field is left empty.
    pub is_kept: bool,
    /// Whether its rule and its description are shown.
    pub has_hints: bool,
}

/// Returns the mark before a line, which shows the focus.
pub fn mark(is_focused: bool) -> Line {
    if is_focused {
        Line::accent("▌ ")
    } else {
        Line::plain("  ")
    }
}

impl FieldLook<'_> {
    fn label(&self, field: &FormField) -> Line {
        let mut line = mark(self.is_focused);
        line.push_plain(self.indent);
        let star = if field.is_required && !field.is_nullable && !self.is_kept {
            " *"
        } else {
            ""
        };
        let name = if field.name.is_empty() {
            "answer".to_string()
        } else {
            format!("{}{star}", text::clean(&field.name))
        };
        let tone = if self.is_focused {
            Tone::Strong
        } else {
            Tone::Dim
        };
        line.push(
            tone,
            &format!("{} ", padded(&text::fit(&name, self.names), self.names)),
        );
        line
    }

    /// Returns the lines of a field, without those of the fields of an object.
    pub fn field(&self, field: &FormField, draft: &FieldDraft) -> Part {
        match field.kind {
            FieldKind::Message => return self.boxed(field, draft, BOX),
            FieldKind::List(_) if self.is_focused => return self.boxed(field, draft, FIELD),
            _ => {}
        }
        let mut line = self.label(field);
        let before = line.width();
        let (mut cursor, mut more) = (None, Vec::new());
        let tone = if self.is_focused {
            Tone::Accent
        } else {
            Tone::Plain
        };
        match &field.kind {
            FieldKind::Boolean => {
                let (mark, word) = match draft.choice {
                    Some(0) => ("[x]", "yes"),
                    Some(_) => ("[ ]", "no"),
                    None => ("[-]", "not set"),
                };
                line.push(tone, &format!("{mark} {word}"));
            }
            FieldKind::Choice(values) => {
                let choice = |(n, value): (usize, &Value)| {
                    let label = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_string);
                    let mut choice = Line::new();
                    option(&mut choice, draft.choice == Some(n), text::head(&label, 40));
                    choice
                };
                more = flow(
                    line,
                    before,
                    values.iter().enumerate().map(choice).collect(),
                    self.width,
                );
                line = more.remove(0);
            }
            FieldKind::Object(_) => {
                let value = draft.value(field).ok().flatten();
                let keys = match value
                    .as_ref()
                    .and_then(Value::as_object)
                    .map_or(0, serde_json::Map::len)
                {
                    0 => "{ }".to_string(),
                    n => format!("{{ {} }}", text::counted(n, "key")),
                };
                line.push_dim(if draft.is_open { "▾ " } else { "▸ " });
                line.push(tone, &keys);
            }
            kind => {
                let widest = if matches!(kind, FieldKind::Integer | FieldKind::Number) {
                    NUMBER
                } else {
                    FIELD
                };
                let room = widest.min(self.width.saturating_sub(before + 4)).max(4);
                let (shown, column) = one_line(&draft.text, room, self.is_focused);
                let frame = if self.is_focused {
                    Tone::Accent
                } else {
                    Tone::Dim
                };
                let tone = if self.changed.is_some() {
                    Tone::Strong
                } else {
                    Tone::Plain
                };
                line.push(frame, "[ ");
                line.push(tone, &padded(&shown, room));
                line.push(frame, " ]");
                cursor = column
                    .filter(|_| self.is_focused)
                    .map(|column| (0, before + 2 + column));
            }
        }
        Part {
            lines: self.with_notes(line, more, before, field),
            cursor,
        }
    }

    /// Adds the problem and the rule of a field after it, or below it if they don't fit.
    fn with_notes(
        &self,
        mut line: Line,
        mut more: Vec<Line>,
        before: usize,
        field: &FormField,
    ) -> Vec<Line> {
        let mut notes = Line::new();
        if let Some(problem) = self.problem {
            notes.push_bad("   ✗ ");
            notes.push_plain(problem);
        }
        if let Some(changed) = self.changed {
            notes.push_dim(&format!("   {changed}"));
        }
        if self.has_hints && !field.rule.is_empty() && self.changed.is_none() {
            let rule = if self.is_kept {
                field.rule.replace(REQUIRED, FROM_STATE)
            } else {
                field.rule.clone()
            };
            notes.push_dim(&format!("   {rule}"));
        }
        if let Some(description) = field.description.as_ref().filter(|_| self.has_hints) {
            notes.push_dim(&format!("   {}", text::head(description, DESCRIPTION)));
        }
        if more.is_empty() && line.width() + notes.width() <= self.width {
            line.left.extend(notes.left);
            return vec![line];
        }
        let mut lines = vec![line];
        lines.append(&mut more);
        let text = notes.text();
        let tone = if self.problem.is_some() {
            Tone::Bad
        } else {
            Tone::Dim
        };
        let indent = before.min(self.width / 2);
        let wrapped = wrap(text.trim_start(), self.width.saturating_sub(indent).max(8));
        let wrapped = if text.is_empty() { Vec::new() } else { wrapped };
        lines.extend(
            wrapped
                .iter()
                .map(|part| Line::of(tone, &format!("{}{part}", " ".repeat(indent)))),
        );
        lines
    }

    /// Returns the box of a message or of a list, with the field's name before its first line.
    fn boxed(&self, field: &FormField, draft: &FieldDraft, room: usize) -> Part {
        let label = self.label(field);
        let left = label.width();
        let mut part = text_box(
            label,
            self.width.min(left + room + FRAME),
            &draft.text,
            self.is_focused,
        );
        // The hint stays while a text is typed, so that nothing below it moves.
        if self.problem.is_some() || self.has_hints {
            let blank = Line::plain(&" ".repeat(left.saturating_sub(NOTE)));
            part.lines
                .extend(self.with_notes(blank, Vec::new(), left, field));
        }
        part
    }
}

/// Returns a framed box for a longer text. `label` stands before its first line.
pub fn text_box(label: Line, width: usize, typed: &TextInput, is_focused: bool) -> Part {
    let frame = if is_focused { Tone::Accent } else { Tone::Dim };
    let left = label.width();
    let room = width.saturating_sub(left + FRAME).clamp(8, BOX);
    let (row, col) = typed.cursor();
    let lines = typed.lines();
    let height = lines.len().clamp(1, BOX_LINES);
    let top = (row + 1).saturating_sub(height);
    let margin = Line::plain(&" ".repeat(left));
    let edge = "─".repeat(room + 2);
    let mut shown = vec![label.with(frame, &format!("┌{edge}┐"))];
    let mut cursor = None;
    for (n, line) in lines.iter().enumerate().skip(top).take(height) {
        let is_here = n == row;
        let column = text::width(&shown_line(
            line.get(..col.min(line.len())).unwrap_or_default(),
        ));
        let shift = if is_here {
            (column + 1).saturating_sub(room)
        } else {
            0
        };
        let (rest, skipped) = skip_columns(&shown_line(line), shift);
        let visible = text::fit(&rest, room).into_owned();
        shown.push(
            margin
                .clone()
                .with(frame, "│ ")
                .with_plain(&padded(&visible, room))
                .with(frame, " │"),
        );
        if is_here && is_focused {
            cursor = Some((shown.len() - 1, left + 2 + column.saturating_sub(skipped)));
        }
    }
    shown.push(margin.clone().with(frame, &format!("└{edge}┘")));
    if lines.len() > height {
        shown.push(margin.with_dim(&format!("line {} of {}", row + 1, lines.len())));
    }
    Part {
        lines: shown,
        cursor,
    }
}

/// Wraps a problem behind an indent.
pub fn problem_lines(indent: &str, problem: &str, width: usize) -> Vec<Line> {
    let lines = wrap(problem, width.saturating_sub(indent.len() + 2).max(8));
    let mark = |i: usize| if i == 0 { "✗ " } else { "  " };
    let line =
        |(i, part): (usize, &String)| Line::bad(&format!("{indent}{}", mark(i))).with_plain(part);
    lines.iter().enumerate().map(line).collect()
}

/// Adds an option of a choice.
pub fn option(line: &mut Line, is_chosen: bool, label: &str) {
    let (mark, tone) = if is_chosen {
        ("(x) ", Tone::Strong)
    } else {
        ("( ) ", Tone::Dim)
    };
    line.push(tone, mark);
    line.push(if is_chosen { Tone::Strong } else { Tone::Plain }, label);
    line.push_plain("   ");
}

/// Adds options to the first line, and those without room there to lines below it.
pub fn flow(first: Line, indent: usize, options: Vec<Line>, width: usize) -> Vec<Line> {
    let mut lines = vec![first];
    for option in options {
        let columns = text::width(option.text().trim_end());
        if lines
            .last()
            .is_some_and(|line| line.width() > indent && line.width() + columns > width)
        {
            lines.push(Line::plain(&" ".repeat(indent)));
        }
        if let Some(line) = lines.last_mut() {
            line.left.extend(option.left);
        }
    }
    // The blanks after the last option of a full line would be drawn as a cut text.
    for line in &mut lines {
        while line.width() > width
            && line
                .left
                .last()
                .is_some_and(|piece| piece.text.trim().is_empty())
        {
            line.left.pop();
        }
    }
    lines
}

/// Formats a text on one line, with visible line breaks. Returns it with the column of the cursor.
pub fn one_line(typed: &TextInput, room: usize, is_focused: bool) -> (String, Option<usize>) {
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
    if !is_focused {
        return (text::fit(&whole, room).into_owned(), None);
    }
    let (rest, skipped) = skip_columns(&whole, (at + 1).saturating_sub(room));
    (
        text::fit(&rest, room).into_owned(),
        Some(at.saturating_sub(skipped)),
    )
}

/// Fills a text with blanks to a width.
pub fn padded(text: &str, width: usize) -> String {
    format!(
        "{text}{}",
        " ".repeat(width.saturating_sub(text::width(text)))
    )
}
