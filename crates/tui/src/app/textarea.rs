//! A small text editor: graphemes, lines, no history.

use super::key::{Code, Key};
use unicode_segmentation::UnicodeSegmentation;

/// Where a text is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// Text with a cursor.
#[derive(Debug, Clone, Default)]
pub struct TextArea {
    lines: Vec<String>,
    row: usize,
    /// Byte offset in the line, always on a grapheme boundary.
    col: usize,
}

impl TextArea {
    /// An editor with a text and the cursor at its end.
    pub fn new(text: &str) -> TextArea {
        let mut area = TextArea { lines: vec![String::new()], row: 0, col: 0 };
        area.insert(text);
        area
    }

    /// The text.
    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// Its lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Row, and byte offset in it.
    pub fn cursor(&self) -> (usize, usize) {
        (self.row, self.col)
    }

    /// Puts the cursor somewhere; out of range is clamped.
    pub fn go(&mut self, row: usize, col: usize) {
        self.row = row.min(self.lines.len().saturating_sub(1));
        self.col = col.min(self.line().len());
        while !self.line().is_char_boundary(self.col) {
            self.col -= 1;
        }
    }

    fn line(&self) -> &str {
        self.lines.get(self.row).map_or("", String::as_str)
    }

    /// A key: moves, deletes, or is typed.
    pub fn key(&mut self, key: Key) {
        match (key.code, key.ctrl) {
            (Code::Char('u'), true) => self.kill_to_start(),
            (Code::Char('a'), true) | (Code::Home, _) => self.home(),
            (Code::Char('e'), true) | (Code::End, _) => self.end(),
            (Code::Enter, _) => self.newline(),
            (Code::Backspace, _) => self.backspace(),
            (Code::Delete, _) => self.delete(),
            (Code::Left, _) => self.left(),
            (Code::Right, _) => self.right(),
            (Code::Up, _) => self.vertical(-1),
            (Code::Down, _) => self.vertical(1),
            (Code::PageUp, _) => self.vertical(-10),
            (Code::PageDown, _) => self.vertical(10),
            _ => {
                if let Some(c) = key.text() {
                    self.insert(c.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }

    /// Inserts a text, with its line breaks.
    pub fn insert(&mut self, text: &str) {
        if self.lines.is_empty() {
            self.lines.push(String::new());
        }
        for (i, part) in text.replace("\r\n", "\n").replace('\r', "\n").split('\n').enumerate() {
            if i > 0 {
                let rest = self.lines[self.row].split_off(self.col);
                self.row += 1;
                self.lines.insert(self.row, rest);
                self.col = 0;
            }
            self.lines[self.row].insert_str(self.col, part);
            self.col += part.len();
        }
    }

    /// A new line with the indent of this one.
    pub fn newline(&mut self) {
        let indent: String = self.line()[..self.col].chars().take_while(|c| *c == ' ').collect();
        self.insert("\n");
        self.insert(&indent);
    }

    /// Deletes the grapheme before the cursor.
    pub fn backspace(&mut self) {
        if self.col > 0 {
            let start = self.before();
            self.lines[self.row].replace_range(start..self.col, "");
            self.col = start;
        } else if self.row > 0 {
            let rest = self.lines.remove(self.row);
            self.row -= 1;
            self.col = self.line().len();
            self.lines[self.row].push_str(&rest);
        }
    }

    /// Deletes the grapheme under the cursor.
    pub fn delete(&mut self) {
        let before = (self.row, self.col);
        self.right();
        if (self.row, self.col) != before {
            self.backspace();
        }
    }

    /// Deletes from the start of the line to the cursor.
    pub fn kill_to_start(&mut self) {
        if let Some(line) = self.lines.get_mut(self.row) {
            line.replace_range(..self.col, "");
            self.col = 0;
        }
    }

    fn before(&self) -> usize {
        self.line()[..self.col].grapheme_indices(true).next_back().map_or(0, |(i, _)| i)
    }

    /// One grapheme left.
    pub fn left(&mut self) {
        if self.col > 0 {
            self.col = self.before();
        } else if self.row > 0 {
            self.row -= 1;
            self.col = self.line().len();
        }
    }

    /// One grapheme right.
    pub fn right(&mut self) {
        if self.col < self.line().len() {
            self.col += self.line()[self.col..].graphemes(true).next().map_or(0, str::len);
        } else if self.row + 1 < self.lines.len() {
            self.row += 1;
            self.col = 0;
        }
    }

    /// Some lines up or down.
    pub fn vertical(&mut self, by: isize) {
        let graphemes = self.line()[..self.col].graphemes(true).count();
        self.row = self.row.saturating_add_signed(by).min(self.lines.len().saturating_sub(1));
        self.col = self.line().grapheme_indices(true).nth(graphemes).map_or(self.line().len(), |(i, _)| i);
    }

    /// To the start of the line.
    pub fn home(&mut self) {
        self.col = 0;
    }

    /// To the end of the line.
    pub fn end(&mut self) {
        self.col = self.line().len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editing() {
        let mut area = TextArea::new("{\n  \"a\": 1");
        area.newline();
        area.insert("}");
        assert_eq!(area.text(), "{\n  \"a\": 1\n  }");
        area.home();
        area.backspace();
        assert_eq!(area.text(), "{\n  \"a\": 1  }");
        area.vertical(-1);
        area.end();
        area.delete();
        assert_eq!(area.text(), "{  \"a\": 1  }");
    }

    #[test]
    fn graphemes_are_one() {
        let mut area = TextArea::new("a👩‍👩‍👧e\u{301}");
        area.backspace();
        area.backspace();
        assert_eq!(area.text(), "a");
        area.left();
        area.delete();
        area.delete();
        area.backspace();
        assert_eq!(area.text(), "");
    }
}
