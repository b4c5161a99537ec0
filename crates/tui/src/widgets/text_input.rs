//! The text input that every form, dialog and prompt uses. `ratatui-textarea` edits; this module adds our keys, whole graphemes
//! (the crate moves by `char`, and would leave half an emoji), inputs of one line, and positions in bytes.

use crate::input::key::{Code, Key};
use ratatui_textarea::{CursorMove, TextArea};
use runtail_core::text::without_controls;
use std::collections::BTreeSet;
use std::fmt;
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// Edits that can be undone. Each typed character is one.
const UNDO_STEPS: usize = 1000;
/// Lines that Page Up and Page Down move.
const PAGE: isize = 10;

/// The keys of a text input and what they do, for the help. They can't be rebound.
pub const KEYS: [(&str, &str); 7] = [
    ("ctrl-Left  ctrl-Right", "Move by a word"),
    ("ctrl-a  ctrl-e", "Go to the line's start or end"),
    ("ctrl-w  alt-d", "Delete a word before or after"),
    ("ctrl-u  ctrl-k", "Delete to the start or end"),
    ("alt-u  ctrl-/", "Undo"),
    ("alt-e", "Redo"),
    ("ctrl-Home  ctrl-End", "Go to the text's start or end"),
];

/// An error in a text that is being edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            line,
            column,
            message,
        } = self;
        write!(f, "line {line}, column {column}: {message}")
    }
}

/// A text with a cursor and a history of edits.
#[derive(Clone)]
pub struct TextInput {
    // Boxed because it is large, and inputs are part of enums whose other variants are small.
    area: Box<TextArea<'static>>,
    /// Whether the input has a single line. Line breaks in pasted text become spaces.
    is_line: bool,
    /// The number of edits in the text, without those that were undone.
    edits: usize,
    /// The numbers of the edits that are undone and redone together with the one before them.
    joined: BTreeSet<usize>,
}

impl fmt::Debug for TextInput {
    /// Shows only the number of lines, because the text may be confidential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextInput")
            .field("lines", &self.lines().len())
            .finish_non_exhaustive()
    }
}

impl Default for TextInput {
    fn default() -> TextInput {
        TextInput::new("")
    }
}

impl TextInput {
    /// Creates an input with this text, and the cursor at its end.
    pub fn new(text: &str) -> TextInput {
        let text = unix_lines(text);
        let mut area = Box::new(TextArea::new(
            text.split('\n').map(str::to_string).collect(),
        ));
        area.set_max_histories(UNDO_STEPS);
        let mut input = TextInput {
            area,
            is_line: false,
            edits: 0,
            joined: BTreeSet::new(),
        };
        input.go_to_end();
        input
    }

    /// Creates an input of a single line.
    pub fn line(text: &str) -> TextInput {
        TextInput {
            is_line: true,
            ..TextInput::new(&on_one_line(&unix_lines(text)))
        }
    }

    /// Returns the whole text.
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    /// Returns the lines of the text; there is always at least one.
    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Returns the row of the cursor from 0, and its position in that line in bytes.
    pub fn cursor(&self) -> (usize, usize) {
        let at = self.area.cursor();
        (
            at.0,
            self.current()
                .char_indices()
                .nth(at.1)
                .map_or(self.current().len(), |(at, _)| at),
        )
    }

    /// Returns the text of the cursor's line before and after the cursor.
    pub fn around_cursor(&self) -> (&str, &str) {
        self.current().split_at(self.cursor().1)
    }

    /// Moves the cursor to a row and a position in its line in bytes. Both are clamped.
    pub fn set_cursor(&mut self, row: usize, byte: usize) {
        let row = row.min(self.lines().len().saturating_sub(1));
        let line = self.lines().get(row).map_or("", String::as_str);
        let byte = floor_grapheme(line, byte);
        let column = line[..byte].chars().count();
        self.jump(row, column);
    }

    /// Replaces the text and moves the cursor to its end. One undo restores the old text, with the cursor at the change.
    pub fn set_text(&mut self, text: &str) {
        let (old, new) = (self.text(), self.fitting(text));
        // Only the difference is edited, because an undo moves the cursor to its edit.
        let start = common_start(&old, &new);
        let end = common_end(&old[start..], &new[start..]);
        let (removed, inserted) = (start..old.len() - end, &new[start..new.len() - end]);
        self.jump_to(&old, removed.start);
        if !removed.is_empty() {
            self.area.start_selection();
            self.jump_to(&old, removed.end);
            self.edit(TextArea::cut);
        }
        if !inserted.is_empty() {
            self.edit(|area| area.insert_str(inserted));
            if !removed.is_empty() {
                self.joined.insert(self.edits);
            }
        }
        self.go_to_end();
    }

    /// Handles a key that edits or moves the cursor. Ignores other keys.
    pub fn key(&mut self, key: Key) {
        let by_word = key.ctrl || key.alt;
        match (key.code, key.ctrl, key.alt) {
            // Terminals send Ctrl-/ and Ctrl-_ as one byte, which crossterm calls Ctrl-7.
            (Code::Char('7' | '/' | '_'), true, _) | (Code::Char('u'), _, true) => self.undo(),
            (Code::Char('e'), _, true) => self.redo(),
            (Code::Char('w'), true, _) => self.edit(TextArea::delete_word),
            (Code::Char('d'), _, true) => self.edit(TextArea::delete_next_word),
            (Code::Char('k'), true, _) => self.edit(TextArea::delete_line_by_end),
            (Code::Char('u'), true, _) => self.delete_to_line_start(),
            (Code::Char('b'), _, true) => self.area.move_cursor(CursorMove::WordBack),
            (Code::Char('f'), _, true) => self.area.move_cursor(CursorMove::WordForward),
            (Code::Char('a'), true, _) => self.area.move_cursor(CursorMove::Head),
            (Code::Char('e'), true, _) => self.area.move_cursor(CursorMove::End),
            (Code::Backspace, ..) if by_word => self.edit(TextArea::delete_word),
            (Code::Delete, ..) if by_word => self.edit(TextArea::delete_next_word),
            (Code::Left, ..) if by_word => self.area.move_cursor(CursorMove::WordBack),
            (Code::Right, ..) if by_word => self.area.move_cursor(CursorMove::WordForward),
            (Code::Home, true, _) => self.set_cursor(0, 0),
            (Code::End, true, _) => self.set_cursor(usize::MAX, usize::MAX),
            (Code::Home, ..) => self.area.move_cursor(CursorMove::Head),
            (Code::End, ..) => self.area.move_cursor(CursorMove::End),
            (Code::Backspace, ..) => self.backspace(),
            (Code::Delete, ..) => self.delete(),
            (Code::Left, ..) => self.left(),
            (Code::Right, ..) => self.right(),
            (Code::Enter, ..) if !self.is_line => self.newline(),
            (Code::Up, ..) if !self.is_line => self.vertical(-1),
            (Code::Down, ..) if !self.is_line => self.vertical(1),
            (Code::PageUp, ..) if !self.is_line => self.vertical(-PAGE),
            (Code::PageDown, ..) if !self.is_line => self.vertical(PAGE),
            _ => {
                if let Some(c) = key.text().filter(|c| !c.is_control()) {
                    self.edit(|area| {
                        area.insert_char(c);
                        true
                    });
                }
            }
        }
    }

    /// Inserts a pasted text at the cursor, without escape sequences and control characters.
    pub fn insert(&mut self, text: &str) {
        let text = without_controls(&self.fitting(text)).into_owned();
        self.edit(|area| area.insert_str(text));
    }

    /// Counts an edit of the area if it changed something.
    fn edit(&mut self, edit: impl FnOnce(&mut TextArea<'static>) -> bool) {
        if edit(&mut self.area) {
            // Undone edits can no longer be redone.
            let edits = self.edits;
            self.joined.retain(|joined| *joined <= edits);
            self.edits += 1;
        }
    }

    fn undo(&mut self) {
        while self.area.undo() {
            self.edits = self.edits.saturating_sub(1);
            if !self.joined.contains(&(self.edits + 1)) {
                break;
            }
        }
    }

    fn redo(&mut self) {
        while self.area.redo() {
            self.edits += 1;
            if !self.joined.contains(&(self.edits + 1)) {
                break;
            }
        }
    }

    /// Returns a text as this input can hold it.
    fn fitting(&self, text: &str) -> String {
        let text = unix_lines(text);
        if self.is_line {
            on_one_line(&text)
        } else {
            text
        }
    }

    fn current(&self) -> &str {
        self.lines()
            .get(self.area.cursor().0)
            .map_or("", String::as_str)
    }

    fn go_to_end(&mut self) {
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Moves the cursor to a byte of the text.
    fn jump_to(&mut self, text: &str, byte: usize) {
        let before = &text[..byte];
        let row = before.matches('\n').count();
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count();
        self.jump(row, column);
    }

    /// Moves the cursor to a row and a column in characters.
    fn jump(&mut self, row: usize, column: usize) {
        // The crate takes rows and columns of 16 bits. Beyond them the cursor is moved step by step.
        if let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column)) {
            return self.area.move_cursor(CursorMove::Jump(row, column));
        }
        self.area
            .move_cursor(CursorMove::Jump(u16::try_from(row).unwrap_or(u16::MAX), 0));
        while self.area.cursor().0 < row {
            self.area.move_cursor(CursorMove::Down);
        }
        self.area.move_cursor(CursorMove::End);
        while self.area.cursor().1 > column {
            self.area.move_cursor(CursorMove::Back);
        }
    }

    /// Inserts a line break and the indentation of the line.
    fn newline(&mut self) {
        let before = self.around_cursor().0;
        let indent: String = before.chars().take_while(|c| *c == ' ').collect();
        self.edit(|area| area.insert_str(format!("\n{indent}")));
    }

    fn backspace(&mut self) {
        let (row, byte) = self.cursor();
        if byte == 0 {
            return self.edit(TextArea::delete_newline);
        }
        let line = &self.lines()[row];
        let start = floor_grapheme(line, byte - 1);
        let chars = line[start..byte].chars().count();
        self.set_cursor(row, start);
        self.edit(|area| area.delete_str(chars));
    }

    fn delete(&mut self) {
        let after = self.around_cursor().1;
        match after.graphemes(true).next() {
            Some(grapheme) => {
                let chars = grapheme.chars().count();
                self.edit(|area| area.delete_str(chars));
            }
            None => self.edit(TextArea::delete_next_char),
        }
    }

    fn delete_to_line_start(&mut self) {
        // At the start of a line the crate would join it to the line above.
        if self.area.cursor().1 > 0 {
            self.edit(TextArea::delete_line_by_head);
        }
    }

    fn left(&mut self) {
        match self.cursor() {
            (0, 0) => {}
            (row, 0) => self.set_cursor(row - 1, usize::MAX),
            (row, byte) => self.set_cursor(row, byte - 1),
        }
    }

    fn right(&mut self) {
        let (row, byte) = self.cursor();
        match self.around_cursor().1.graphemes(true).next() {
            Some(grapheme) => {
                let end = byte + grapheme.len();
                self.set_cursor(row, end);
            }
            None if row + 1 < self.lines().len() => self.set_cursor(row + 1, 0),
            None => {}
        }
    }

    fn vertical(&mut self, by: isize) {
        let row = self.cursor().0;
        let graphemes = self.around_cursor().0.graphemes(true).count();
        let to = row
            .saturating_add_signed(by)
            .min(self.lines().len().saturating_sub(1));
        let line = &self.lines()[to];
        let byte = line
            .grapheme_indices(true)
            .nth(graphemes)
            .map_or(line.len(), |(at, _)| at);
        self.set_cursor(to, byte);
    }
}

fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Joins the lines of a text by spaces.
fn on_one_line(text: &str) -> String {
    match text.contains('\n') {
        true => text
            .split('\n')
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        false => text.to_string(),
    }
}

/// Returns the length of the common prefix of two texts, in bytes.
fn common_start(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same)
        .rev()
        .find(|at| a.is_char_boundary(*at))
        .unwrap_or_default()
}

/// Returns the length of the common suffix of two texts, in bytes.
fn common_end(a: &str, b: &str) -> usize {
    let same = a
        .bytes()
        .rev()
        .zip(b.bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (0..=same)
        .rev()
        .find(|len| a.is_char_boundary(a.len() - len))
        .unwrap_or_default()
}

/// Returns the last grapheme boundary at or before a position.
fn floor_grapheme(line: &str, byte: usize) -> usize {
    let mut byte = byte.min(line.len());
    while !line.is_char_boundary(byte) {
        byte -= 1;
    }
    let mut cursor = GraphemeCursor::new(byte, line.len(), true);
    match cursor.is_boundary(line, 0) {
        Ok(true) | Err(_) => byte,
        Ok(false) => cursor.prev_boundary(line, 0).ok().flatten().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::key::parse_keys;

    fn typed(input: &mut TextInput, keys: &str) {
        for key in parse_keys(keys).unwrap() {
            input.key(key);
        }
    }

    #[test]
    fn text_is_edited_at_the_cursor() {
        let mut input = TextInput::new("{\n  \"a\": 1");
        typed(&mut input, "<Enter>}");
        assert_eq!(input.text(), "{\n  \"a\": 1\n  }");
        typed(&mut input, "<Home><Backspace>");
        assert_eq!(input.text(), "{\n  \"a\": 1  }");
        typed(&mut input, "<Up><End><Delete>");
        assert_eq!(input.text(), "{  \"a\": 1  }");
        typed(&mut input, "<ctrl-u><ctrl-u>x");
        assert_eq!(input.text(), "x  \"a\": 1  }");
    }

    #[test]
    fn a_grapheme_is_edited_as_one_character() {
        let mut input = TextInput::new("a👩‍👩‍👧e\u{301}");
        typed(&mut input, "<Left><Right><Backspace><Backspace>");
        assert_eq!(input.text(), "a");
        typed(&mut input, "<Left><Delete><Delete><Backspace>");
        assert_eq!(input.text(), "");
        let mut input = TextInput::new("👩‍👩‍👧e\u{301}x");
        typed(&mut input, "<Home><Right><Delete><Left><Left>!");
        assert_eq!(input.text(), "!👩‍👩‍👧x");
    }

    #[test]
    fn edits_are_undone_and_redone() {
        let mut input = TextInput::new("ab");
        typed(&mut input, "c<Backspace><Backspace>");
        assert_eq!(input.text(), "a");
        typed(&mut input, "<alt-u>");
        assert_eq!(input.text(), "ab");
        typed(&mut input, "<alt-u><ctrl-7><alt-u>");
        assert_eq!(input.text(), "ab", "the text before the first edit stays");
        typed(&mut input, "<alt-e><alt-e><alt-e>");
        assert_eq!(input.text(), "a");
        input.set_text("replaced\nby this");
        assert_eq!(input.cursor(), (1, 7));
        typed(&mut input, "<alt-u>");
        assert_eq!(input.text(), "a", "a replaced text is restored whole");
    }

    #[test]
    fn the_cursor_moves_by_words_and_deletes_them() {
        let mut input = TextInput::line("one two-three");
        typed(&mut input, "<ctrl-Left>X<alt-b><alt-b>Y");
        assert_eq!(input.text(), "one twoY-Xthree");
        typed(&mut input, "<ctrl-w><alt-f><alt-d>");
        assert_eq!(input.text(), "one -");
        typed(&mut input, "<Home><ctrl-k>");
        assert!(input.is_empty());
    }

    #[test]
    fn line_breaks_become_spaces_in_a_single_line() {
        let mut input = TextInput::line("a\nb");
        typed(&mut input, "<Enter><Up><Down>");
        input.insert(" c\r\n\r\n  d\n");
        assert_eq!(input.text(), "a bc d");
        input.insert(" e ");
        assert_eq!(
            input.text(),
            "a bc d e ",
            "spaces of a single pasted line stay"
        );
        assert_eq!(input.lines().len(), 1);
    }

    #[test]
    fn control_characters_are_not_pasted_or_typed() {
        let mut input = TextInput::new("");
        input.insert("\u{1b}[31mred\u{1b}[0m\r\n\tb\u{7}\u{9b}1mc\u{0}");
        input.key(Key::char('\u{1b}'));
        assert_eq!(input.text(), "red\n\tbc");
        // Those of a document are kept, because dropping them would change it.
        assert_eq!(TextInput::new("a\u{1b}[0m").text(), "a\u{1b}[0m");
    }

    #[test]
    fn replaced_texts_are_undone_at_once_with_the_cursor_at_the_change() {
        let mut input = TextInput::new("é one\ntwo\nthree ü");
        input.set_text("é one\n2\n3 ü");
        assert_eq!(
            (input.text().as_str(), input.cursor()),
            ("é one\n2\n3 ü", (2, 4))
        );
        typed(&mut input, "!<alt-u><alt-u>");
        assert_eq!(
            (input.text().as_str(), input.cursor()),
            ("é one\ntwo\nthree ü", (2, 5))
        );
        typed(&mut input, "<alt-u><alt-e>");
        assert_eq!(input.text(), "é one\n2\n3 ü", "redone at once too");
        // A new edit after an undo is not joined to the one before it.
        typed(&mut input, "<alt-u><Backspace><Backspace><alt-u>");
        assert_eq!(input.text(), "é one\ntwo\nthre ü");
    }

    #[test]
    fn the_empty_text_is_a_step_of_its_own() {
        let mut input = TextInput::new("");
        typed(&mut input, "a<Backspace>b<alt-u>");
        assert_eq!(input.text(), "");
        typed(&mut input, "<alt-u>");
        assert_eq!(input.text(), "a");
    }

    #[test]
    fn the_cursor_reaches_every_position_of_a_long_text() {
        let mut input = TextInput::new(&"ä".repeat(70_000));
        input.set_cursor(0, 2 * 69_998);
        typed(&mut input, "x<Left><Backspace>");
        assert_eq!(input.cursor(), (0, 2 * 69_997));
        assert!(input.text().ends_with("äxää"));
        let mut input = TextInput::new(&"a\n".repeat(66_000));
        input.set_cursor(65_900, 1);
        typed(&mut input, "b");
        assert_eq!(input.lines()[65_900], "ab");
    }

    proptest::proptest! {
        /// After any keys, the cursor is at a character boundary, and undo restores the original text.
        #[test]
        fn the_cursor_stays_at_a_character_boundary(
            text in "[ab \n👩‍👧e\u{301}\u{200d}\t]{0,12}",
            keys in proptest::collection::vec(0_usize..16, 0..24),
        ) {
            const KEYS: [&str; 16] = [
                "x", " ", "<Enter>", "<Backspace>", "<Delete>", "<Left>", "<Right>", "<Up>", "<Down>", "<Home>", "<End>",
                "<ctrl-w>", "<alt-d>", "<alt-u>", "<alt-e>", "<ctrl-Right>",
            ];
            let mut input = TextInput::new(&text);
            for key in keys {
                typed(&mut input, KEYS[key]);
                let (row, byte) = input.cursor();
                proptest::prop_assert!(input.lines()[row].is_char_boundary(byte));
                proptest::prop_assert!(!input.lines().is_empty());
            }
            for _ in 0..32 {
                typed(&mut input, "<alt-u>");
            }
            proptest::prop_assert_eq!(input.text(), text);
        }
    }
}
