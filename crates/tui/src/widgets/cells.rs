//! Gives each column a cell of its own. Terminals disagree about the width of flags, keycaps, joined emoji and conjuncts, and
//! ratatui clears only the first cell of a cluster that becomes shorter, so that a part of it would stay on the screen.

use ratatui::buffer::{Buffer, CellWidth};
use runtail_core::text;

/// Splits the clusters of a buffer into characters whose width is the same everywhere. A flag becomes its letters, and of
/// joined emoji the first one stays.
pub fn split_clusters(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width);
    for at in 0..buffer.content.len() {
        let symbol = buffer.content[at].symbol();
        if symbol.chars().nth(1).is_none() {
            continue;
        }
        let columns = usize::from(symbol.cell_width()).min(width - at % width);
        let parts = parts(symbol, columns);
        if parts.first().is_some_and(|(_, part)| part == symbol) {
            continue;
        }
        let style = buffer.content[at].style();
        for column in 0..columns {
            let part = parts
                .iter()
                .find(|(start, _)| *start == column)
                .map_or(" ", |(_, part)| part);
            buffer.content[at + column]
                .set_symbol(part)
                .set_style(style);
        }
    }
}

/// Returns the characters of a cluster that fit into its columns, each with its first column and its marks.
fn parts(symbol: &str, columns: usize) -> Vec<(usize, String)> {
    let mut parts: Vec<(usize, String)> = Vec::new();
    let mut used = 0;
    for c in symbol.chars() {
        let c = match c {
            // They choose between a picture and a letter, which have different widths, or draw a key around a digit, which some
            // terminals draw over the next column.
            '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' => continue,
            '\u{1f1e6}'..='\u{1f1ff}' => char::from(b'A' + (c as u32 - 0x1f1e6) as u8),
            c => c,
        };
        let text = c.to_string();
        match (usize::from(text.cell_width()), parts.last_mut()) {
            (0, Some((_, part))) => part.push(c),
            (wide, _) if used + wide > columns => break,
            (wide, _) => {
                parts.push((used, text));
                used += wide;
            }
        }
    }
    // Nothing follows the joiner of an emoji any more.
    for (_, part) in parts.iter_mut().filter(|(_, part)| text::width(part) > 1) {
        part.truncate(part.trim_end_matches('\u{200d}').len());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    fn drawn(text: &str) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        buffer.set_string(0, 0, text, Style::new());
        split_clusters(&mut buffer);
        buffer
    }

    /// Returns the row of a terminal that gives each character its own columns, after these frames.
    fn shown(frames: [&Buffer; 2]) -> String {
        let mut row = vec![" ".to_string(); 24];
        let empty = Buffer::empty(frames[0].area);
        for (before, after) in [(&empty, frames[0]), (frames[0], frames[1])] {
            let (mut cursor, mut last) = (0, None);
            for (x, _, cell) in before.diff(after) {
                // The backend moves the cursor only to a cell that isn't the next one.
                if last != Some(x.wrapping_sub(1)) {
                    cursor = usize::from(x);
                }
                last = Some(x);
                for c in cell.symbol().chars() {
                    let wide = usize::from(c.to_string().cell_width());
                    row[cursor..cursor + wide].fill(String::new());
                    match wide {
                        0 => row[cursor - 1].push(c),
                        _ => row[cursor] = c.to_string(),
                    }
                    cursor += wide;
                }
            }
        }
        row.concat().trim_end().to_string()
    }

    #[test]
    fn flags_keycaps_emoji_and_conjuncts_leave_no_stray_cells() {
        for (text, row) in [
            ("🇩🇪 x", "DE x"),
            ("❤\u{fe0f} x", "❤  x"),
            ("1\u{fe0f}\u{20e3} x", "1  x"),
            ("👩\u{200d}🔬 x", "👩 x"),
            ("👍🏽 x", "👍 x"),
            ("क्ष x", "क्ष x"),
            ("e\u{301}日本 x", "e\u{301}日本 x"),
        ] {
            let buffer = drawn(text);
            for cell in &buffer.content {
                let wide = cell
                    .symbol()
                    .chars()
                    .filter(|c| c.to_string().cell_width() > 0)
                    .count();
                assert!(
                    wide == 1 && !cell.symbol().contains('\u{fe0f}'),
                    "{text}: {cell:?}"
                );
            }
            assert_eq!(shown([&buffer, &buffer]), row);
            assert_eq!(shown([&buffer, &drawn("y")]), "y", "after {text}");
            assert_eq!(shown([&drawn("abcdefgh"), &buffer]), row, "before {text}");
        }
    }
}
