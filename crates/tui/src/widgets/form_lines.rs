//! The lines of a form: fields, choices, and boxes for longer texts.

use super::form::{FieldDraft, FormDraft, Spot};
use super::line::{Line, Tone, marked, wrap};
use super::text_area_view::{shown_line, skip_columns};
use super::text_input::TextInput;
use runtail_core::model::{FieldKind, FormField};
use runtail_core::text;
use serde_json::Value;

/// Maximum columns of a field, of one with its note in a column, and of a number field.
const FIELD: usize = 52;
const FIELD_BESIDE: usize = 44;
const NUMBER: usize = 12;
/// Columns of a note that must fit into its column.
const NOTE_ROOM: usize = 26;
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
    /// The columns for a line.
    pub width: usize,
    pub lines: Vec<Line>,
    /// The range of lines with the focus.
    pub focus: (usize, usize),
    /// The line and column of the text cursor.
    pub cursor: Option<(usize, usize)>,
}

/// Some lines of a form, with the text cursor relative to them.
#[derive(Debug, Default)]
pub struct LinePart {
    pub lines: Vec<Line>,
    pub cursor: Option<(usize, usize)>,
}

impl From<Vec<Line>> for LinePart {
    fn from(lines: Vec<Line>) -> LinePart {
        LinePart {
            lines,
            cursor: None,
        }
    }
}

impl From<Line> for LinePart {
    fn from(line: Line) -> LinePart {
        vec![line].into()
    }
}

impl LinePart {
    /// Adds a note to the first line, or below it if there is no room.
    pub fn note(&mut self, said: &str, indent: usize, width: usize) {
        match self.lines.first_mut() {
            Some(line) if line.width() + text::width(said) + NOTE <= width => {
                line.push_dim(&format!("   {said}"));
            }
            _ => self.lines.extend(indented(Tone::Dim, indent, said, width)),
        }
    }
}

impl FormLines {
    /// Creates no lines of this width.
    pub fn new(width: usize) -> FormLines {
        FormLines {
            width,
            ..FormLines::default()
        }
    }

    /// Adds lines, and records their position if they have the focus.
    pub fn add(&mut self, is_focused: bool, part: impl Into<LinePart>) {
        let (part, from) = (part.into(), self.lines.len());
        self.lines.extend(part.lines);
        if is_focused {
            self.focus = (from, self.lines.len());
            if let Some((row, column)) = part.cursor {
                self.cursor = Some((from + row, column));
            }
        }
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.lines.push(Line::new());
    }

    /// Adds a text that is wrapped.
    pub fn say(&mut self, tone: Tone, said: &str) {
        self.lines.extend(indented(tone, 0, said, self.width));
    }

    /// Adds a text that is wrapped behind a mark of two columns.
    pub fn marked(&mut self, mark: (Tone, &str), tone: Tone, said: &str) {
        self.lines.extend(marked(mark, tone, said, self.width));
    }

    /// Adds a text at the right of the last line if there is room. Returns whether there is.
    pub fn beside(&mut self, said: &str) -> bool {
        let columns = text::width(said) + 2;
        let last = self.lines.last_mut();
        let Some(last) = last.filter(|last| last.width() + columns <= self.width) else {
            return false;
        };
        *last = std::mem::take(last).right(Tone::Dim, said);
        true
    }

    /// Adds a field without those of an object.
    pub fn field(
        &mut self,
        look: &FormLook<'_>,
        is_focused: bool,
        (field, draft): (&FormField, &FieldDraft),
        notes: &FieldNotes,
    ) {
        let drawn = FieldLook {
            width: self.width,
            look,
            is_focused,
            notes,
        };
        let mut part = drawn.field(field, draft);
        if is_focused && draft.inner.is_some() {
            let hint = "⏎ opens its form";
            part.lines
                .extend(indented(Tone::Dim, look.names + 3, hint, self.width));
        }
        self.add(is_focused, part);
    }

    /// Adds the fields of a form, with those of its unfolded objects. `notes`: what is said about a field.
    pub fn form(
        &mut self,
        form: &FormDraft,
        look: &FormLook<'_>,
        focus: Option<Spot>,
        notes: impl Fn(Spot, &FormField, &FieldDraft) -> FieldNotes,
    ) {
        for spot in form.spots() {
            let Some((field, draft)) = form.field(spot) else {
                continue;
            };
            let look = match spot.1 {
                None => *look,
                Some(_) => FormLook {
                    indent: "  ",
                    ..*look
                },
            };
            let notes = notes(spot, field, draft);
            self.field(&look, focus == Some(spot), (field, draft), &notes);
        }
    }
}

/// How the fields of a form are drawn.
#[derive(Debug, Clone, Copy)]
pub struct FormLook<'a> {
    /// The columns of a name.
    pub names: usize,
    pub indent: &'a str,
    /// Whether rules and descriptions are shown; those of the field with the focus always are.
    pub has_hints: bool,
    /// The column of the notes. Without one, they follow the field.
    pub notes: Option<usize>,
}

/// What is said about a field.
#[derive(Debug, Default)]
pub struct FieldNotes {
    pub problem: Option<String>,
    /// Its original value in words, if it was changed.
    pub changed: Option<String>,
    /// Whether the thread's state has a value that stays if the field is left empty.
    pub is_kept: bool,
    /// What an empty field shows.
    pub placeholder: String,
    /// What else is said about it.
    pub note: String,
    /// Whether only the chosen option is shown, because there may be many.
    pub is_list: bool,
}

/// How a field is drawn.
struct FieldLook<'a> {
    width: usize,
    look: &'a FormLook<'a>,
    is_focused: bool,
    notes: &'a FieldNotes,
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
    fn has_hints(&self) -> bool {
        self.look.has_hints || self.is_focused
    }

    fn label(&self, field: &FormField) -> Line {
        let is_demanded = field.is_required && !field.is_nullable && !self.notes.is_kept;
        let star = if is_demanded { " *" } else { "" };
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
        let names = self.look.names;
        mark(self.is_focused)
            .with_plain(self.look.indent)
            .with(tone, &format!("{} ", fitted(&name, names)))
    }

    /// Returns the lines of a field, without those of the fields of an object.
    pub fn field(&self, field: &FormField, draft: &FieldDraft) -> LinePart {
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
            FieldKind::Choice(values) if self.notes.is_list => {
                let chosen = draft.choice.and_then(|chosen| values.get(chosen)?.as_str());
                let (tone, shown) = match chosen {
                    Some(chosen) => (Tone::Plain, text::clean(chosen)),
                    None => (Tone::Dim, "← → choose".into()),
                };
                let shown = fitted(&shown, self.room(before, FIELD) - 2);
                line = in_frame(line, tone, &shown, self.is_focused, " ▾ ]");
            }
            FieldKind::Choice(values) => {
                let choice = |(n, value): (usize, &Value)| {
                    let label = value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_string);
                    let label = text::head(&label, 40).to_string();
                    (draft.choice == Some(n), label)
                };
                let options = values.iter().enumerate().map(choice);
                let width = self.look.notes.unwrap_or(self.width).min(self.width);
                more = choices(line, before, options, width);
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
                let room = self.room(before, widest);
                let tone = if self.notes.changed.is_some() {
                    Tone::Strong
                } else {
                    Tone::Plain
                };
                let placeholder = &self.notes.placeholder;
                if draft.text.is_empty() && !placeholder.is_empty() {
                    let shown = fitted(placeholder, room);
                    line = in_frame(line, Tone::Dim, &shown, self.is_focused, " ]");
                    cursor = self.is_focused.then_some((0, before + 2));
                } else {
                    let part = framed(line, tone, &draft.text, room, self.is_focused);
                    (cursor, more) = (part.cursor, part.lines);
                    line = more.remove(0);
                }
            }
        }
        LinePart {
            lines: self.with_notes(line, more, before, field),
            cursor,
        }
    }

    /// Returns the columns of a text after these.
    fn room(&self, before: usize, widest: usize) -> usize {
        let widest = match self.look.notes {
            Some(_) => FIELD_BESIDE,
            None => widest,
        };
        widest.min(self.width.saturating_sub(before + 4)).max(4)
    }

    /// Adds the note of a field in its column. Where that has no room, it is below while the field has the focus and no problem.
    fn beside(&self, column: usize, lines: &mut Vec<Line>) {
        let (problem, note) = (&self.notes.problem, &self.notes.note);
        let (room, columns) = (self.width.saturating_sub(column), text::width(note));
        let indent = (self.look.names + NOTE).min(self.width / 3);
        let fits = |line: &Line| room >= NOTE_ROOM.max(columns) && line.width() + 1 < column;
        match lines.first_mut() {
            _ if columns == 0 => {}
            Some(line) if fits(line) => {
                line.push_plain(&" ".repeat(column - line.width()));
                line.push_dim(note);
            }
            _ if self.is_focused && problem.is_none() => {
                lines.extend(indented(Tone::Dim, indent, note, self.width));
            }
            _ => {}
        }
        let problem = problem.iter();
        lines.extend(problem.flat_map(|problem| problem_lines(indent, problem, self.width)));
    }

    /// Adds the problem and the rule of a field after it, or below it if they don't fit.
    fn with_notes(
        &self,
        mut line: Line,
        mut more: Vec<Line>,
        before: usize,
        field: &FormField,
    ) -> Vec<Line> {
        if let Some(column) = self.look.notes {
            more.insert(0, line);
            self.beside(column, &mut more);
            return more;
        }
        let mut notes = Line::new();
        let FieldNotes {
            problem,
            changed,
            is_kept,
            note,
            ..
        } = self.notes;
        if let Some(problem) = problem {
            notes.push_bad("   ✗ ");
            notes.push_plain(problem);
        }
        let said = changed
            .iter()
            .chain(Some(note).filter(|note| !note.is_empty()));
        said.for_each(|said| notes.push_dim(&format!("   {said}")));
        if self.has_hints() && !field.rule.is_empty() && changed.is_none() {
            let rule = if *is_kept {
                field.rule.replace(REQUIRED, FROM_STATE)
            } else {
                field.rule.clone()
            };
            notes.push_dim(&format!("   {rule}"));
        }
        if let Some(description) = field.description.as_ref().filter(|_| self.has_hints()) {
            notes.push_dim(&format!("   {}", text::head(description, DESCRIPTION)));
        }
        if more.is_empty() && line.width() + notes.width() <= self.width {
            line.left.extend(notes.left);
            return vec![line];
        }
        let mut lines = vec![line];
        lines.append(&mut more);
        let text = notes.text();
        let tone = if problem.is_some() {
            Tone::Bad
        } else {
            Tone::Dim
        };
        if !text.is_empty() {
            let indent = before.min(self.width / 2);
            lines.extend(indented(tone, indent, text.trim_start(), self.width));
        }
        lines
    }

    /// Returns the box of a message or of a list, with the field's name before its first line.
    fn boxed(&self, field: &FormField, draft: &FieldDraft, room: usize) -> LinePart {
        let label = self.label(field);
        let left = label.width();
        let mut part = text_box(
            label,
            self.width.min(left + room + FRAME),
            &draft.text,
            self.is_focused,
        );
        // The hint stays while a text is typed, so that nothing below it moves.
        if self.notes.problem.is_some() || self.has_hints() {
            let blank = Line::plain(&" ".repeat(left.saturating_sub(NOTE)));
            part.lines
                .extend(self.with_notes(blank, Vec::new(), left, field));
        }
        part
    }
}

/// Returns a framed box for a longer text. `label` stands before its first line.
pub fn text_box(label: Line, width: usize, typed: &TextInput, is_focused: bool) -> LinePart {
    let frame = if is_focused { Tone::Accent } else { Tone::Dim };
    let left = label.width();
    let room = width.saturating_sub(left + FRAME).clamp(8, BOX);
    let (row, _) = typed.cursor();
    let lines = typed.lines();
    let height = lines.len().clamp(1, BOX_LINES);
    let top = (row + 1).saturating_sub(height);
    let margin = Line::plain(&" ".repeat(left));
    let edge = "─".repeat(room + 2);
    let mut shown = vec![label.with(frame, &format!("┌{edge}┐"))];
    let mut cursor = None;
    for n in top..(top + height).min(lines.len()) {
        let (visible, column) = row_of(typed, n, room, true);
        shown.push(
            margin
                .clone()
                .with(frame, "│ ")
                .with_plain(&padded(&visible, room))
                .with(frame, " │"),
        );
        if let Some(column) = column.filter(|_| is_focused) {
            cursor = Some((shown.len() - 1, left + 2 + column));
        }
    }
    shown.push(margin.clone().with(frame, &format!("└{edge}┘")));
    if lines.len() > height {
        shown.push(margin.with_dim(&format!("line {} of {}", row + 1, lines.len())));
    }
    LinePart {
        lines: shown,
        cursor,
    }
}

/// Returns a row of a text, and the column of the cursor if it is there. `follows`: whether a long row is shifted to show the cursor.
pub fn row_of(
    typed: &TextInput,
    row: usize,
    room: usize,
    follows: bool,
) -> (String, Option<usize>) {
    let (at, col) = typed.cursor();
    let line = typed.lines().get(row).map_or("", String::as_str);
    let is_here = follows && at == row;
    let before = line.get(..col).filter(|_| is_here).unwrap_or_default();
    let column = text::width(&shown_line(before));
    let (rest, skipped) = skip_columns(&shown_line(line), (column + 1).saturating_sub(room));
    (
        text::fit(&rest, room).into_owned(),
        is_here.then(|| column.saturating_sub(skipped)),
    )
}

/// Wraps a text behind blanks.
pub fn indented(
    tone: Tone,
    indent: usize,
    said: &str,
    width: usize,
) -> impl Iterator<Item = Line> + use<> {
    let lines = wrap(said, width.saturating_sub(indent)).into_iter();
    lines.map(move |part| Line::of(tone, &format!("{}{part}", " ".repeat(indent))))
}

/// Wraps a problem behind an indent.
pub fn problem_lines(indent: usize, problem: &str, width: usize) -> Vec<Line> {
    let lines = marked(
        (Tone::Bad, "✗ "),
        Tone::Plain,
        problem,
        width.saturating_sub(indent),
    );
    let indented = lines.into_iter().map(|line| {
        let mut all = Line::bad(&" ".repeat(indent));
        all.left.extend(line.left);
        all
    });
    indented.collect()
}

/// Returns a line with the text of an input in a frame after it.
pub fn framed(
    line: Line,
    tone: Tone,
    typed: &TextInput,
    room: usize,
    is_focused: bool,
) -> LinePart {
    let (shown, column) = one_line(typed, room, is_focused);
    let before = line.width() + 2;
    LinePart {
        lines: vec![in_frame(
            line,
            tone,
            &padded(&shown, room),
            is_focused,
            " ]",
        )],
        cursor: column.map(|column| (0, before + column)),
    }
}

/// Adds a text in a frame to a line. `end`: the end of the frame.
pub fn in_frame(line: Line, tone: Tone, shown: &str, is_focused: bool, end: &str) -> Line {
    let frame = if is_focused { Tone::Accent } else { Tone::Dim };
    line.with(frame, "[ ").with(tone, shown).with(frame, end)
}

/// Adds the mark of an option that is on or off.
pub fn checkbox(line: &mut Line, is_on: bool) {
    let (tone, mark) = if is_on {
        (Tone::Accent, "[x] ")
    } else {
        (Tone::Dim, "[ ] ")
    };
    line.push(tone, mark);
}

/// Returns a label with the options of a choice after it, each with whether it is chosen.
pub fn choices(
    label: Line,
    indent: usize,
    options: impl IntoIterator<Item = (bool, impl AsRef<str>)>,
    width: usize,
) -> Vec<Line> {
    let options = options.into_iter().map(|(is_chosen, name)| {
        let mut line = Line::new();
        option(&mut line, is_chosen, name.as_ref());
        line
    });
    flow(label, indent, options.collect(), width)
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

/// Cuts a text, or fills it with blanks, to a width.
pub fn fitted(text: &str, width: usize) -> String {
    padded(&text::fit(text, width), width)
}

/// Fills a text with blanks to a width.
pub fn padded(text: &str, width: usize) -> String {
    format!(
        "{text}{}",
        " ".repeat(width.saturating_sub(text::width(text)))
    )
}
