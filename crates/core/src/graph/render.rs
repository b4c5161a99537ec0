//! The rails as text.

use super::{Cell, Graph, Rails, Row, Stub};
use crate::text;
use std::fmt::Write as _;

/// Columns of the longest name. Longer ones are cut.
const MAX_NAME: usize = 60;
/// Columns between the names and the rails at the right.
const GAP: usize = 3;

/// The characters of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    Unicode,
    Ascii,
}

impl Glyphs {
    /// Returns the character of a cell at the left.
    pub fn left(self, cell: &Cell) -> char {
        match cell.is_touched && cell.is_spine() {
            true => self.choose(('●', 'O')),
            false => self.cell(cell, ['╭', '├', '╰'], '`'),
        }
    }

    /// Returns the character of a cell at the right.
    pub fn right(self, cell: &Cell) -> char {
        self.cell(cell, ['╮', '┤', '╯'], '\'')
    }

    /// `farthest`: where nothing is beyond it, a rail that begins, goes on or ends; `end` in ASCII.
    fn cell(self, cell: &Cell, farthest: [char; 3], end: char) -> char {
        let (at, other, ascii) = match (cell.is_touched, cell.above.is_some(), cell.below.is_some())
        {
            (true, false, true) => (0, '┬', '.'),
            (true, true, true) => (1, '┼', '+'),
            (true, true, false) => (2, '┴', end),
            _ => return self.passing(cell),
        };
        match cell.outer {
            Stub::None => self.choose((farthest[at], ascii)),
            _ => self.choose((other, ascii)),
        }
    }

    fn passing(self, cell: &Cell) -> char {
        match cell.above.or(cell.below) {
            Some(_) => self.choose(('│', '|')),
            None => self.stub(cell.inner),
        }
    }

    /// Returns the character of a stub.
    pub fn stub(self, stub: Stub) -> char {
        match stub {
            Stub::None => ' ',
            Stub::Solid => self.choose(('─', '-')),
            Stub::Dashed => self.choose(('╌', '~')),
        }
    }

    /// Returns the character between the rails at the left and the name.
    pub fn entry(self, row: &Row) -> char {
        match row.is_entered {
            true => self.choose(('►', '>')),
            false => self.stub(row.left.first().map_or(Stub::None, |cell| cell.inner)),
        }
    }

    /// Returns the character between the name and the rails at the right.
    pub fn exit(self, row: &Row) -> char {
        match row.is_head {
            true => self.choose(('◄', '<')),
            false => self.stub(row.right.first().map_or(Stub::None, |cell| cell.inner)),
        }
    }

    /// Returns the mark of a breakpoint of the graph or of a run, before or after a name; a blank without one.
    pub fn breakpoint(self, is_set: bool) -> char {
        if is_set {
            self.choose(('¦', ':'))
        } else {
            ' '
        }
    }

    fn choose(self, (unicode, ascii): (char, char)) -> char {
        match self {
            Glyphs::Unicode => unicode,
            Glyphs::Ascii => ascii,
        }
    }

    /// Returns the rails at the left of a row, up to the name.
    pub fn left_side(self, row: &Row) -> String {
        let mut out = String::new();
        for (lane, cell) in row.left.iter().enumerate().rev() {
            out.push(self.left(cell));
            if lane > 0 {
                out.push(self.stub(cell.inner));
            }
        }
        out.push(self.entry(row));
        out
    }

    /// Returns the rails at the right of a row, after the name.
    pub fn right_side(self, row: &Row) -> String {
        let mut out = String::from(self.exit(row));
        for (lane, cell) in row.right.iter().enumerate() {
            if lane > 0 {
                out.push(self.stub(cell.inner));
            }
            out.push(self.right(cell));
        }
        out
    }

    /// Returns a row's label: the name, and what has no rail.
    pub fn label(self, graph: &Graph, row: &Row) -> String {
        let node = &graph.nodes()[row.node];
        let name = text::fit(&node.name, MAX_NAME);
        let mut label = match node.folded {
            0 => name.into_owned(),
            folded => format!("{} {name} ({folded})", self.choose(('▸', '+'))),
        };
        if row.is_self_loop {
            let _ = write!(label, " {}", self.choose(('↺', '@')));
        }
        if row.far_sources > 0 {
            let _ = write!(label, " {} {}", self.choose(('⇠', '<')), row.far_sources);
        }
        for (at, target) in row.far_targets.iter().enumerate() {
            let name = text::fit(&graph.nodes()[*target].name, MAX_NAME);
            let _ = match at {
                0 => write!(label, " {} {name}", self.choose(('⇢', '>'))),
                _ => write!(label, ", {name}"),
            };
        }
        label
    }
}

/// Returns the drawing as lines of text.
pub fn text(graph: &Graph, rails: &Rails, glyphs: Glyphs) -> String {
    let labels: Vec<String> = rails
        .rows
        .iter()
        .map(|row| glyphs.label(graph, row))
        .collect();
    let width = labels
        .iter()
        .map(|label| text::width(label))
        .max()
        .unwrap_or(0)
        + GAP;
    let mut out = String::new();
    for (row, label) in rails.rows.iter().zip(&labels) {
        let stops = graph.nodes()[row.node].breakpoint;
        let [before, after] = [stops.before, stops.after].map(|is_set| glyphs.breakpoint(is_set));
        let mut line = format!("{}{before}{label}{after}", glyphs.left_side(row));
        if rails.lanes.1 > 0 {
            let pad = width.saturating_sub(text::width(label) + 1);
            line.push_str(&" ".repeat(pad));
            line.push_str(&glyphs.right_side(row));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
