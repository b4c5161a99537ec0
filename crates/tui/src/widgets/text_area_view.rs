//! Draws a text that is being edited.

use super::area::Area;
use super::canvas::Canvas;
use super::line::Tone;
use super::text_input::{Problem, TextInput};
use runtail_core::text;

/// Draws the text with line numbers and a mark below the problem. Returns the position of the text cursor.
pub(crate) fn text_area(
    canvas: &mut Canvas<'_>,
    area: Area,
    input: &TextInput,
    problem: Option<&Problem>,
) -> Option<(u16, u16)> {
    let (row, col) = input.cursor();
    let lines = input.lines();
    // The mark of a problem takes a line of its own.
    let height = area.h.saturating_sub(1).max(1) as usize;
    let top = (row + 1).saturating_sub(height);
    let width = area.w.saturating_sub(6);
    let head = lines.get(row).and_then(|l| l.get(..col)).unwrap_or("");
    let column = text::width(&shown_line(head));
    let shift = (column + 1).saturating_sub(width as usize);
    let mut cursor = None;
    let mut y = area.y;
    for (number, line) in lines.iter().enumerate().skip(top).take(height) {
        if y >= area.y + area.h {
            break;
        }
        canvas.foreign(area.x, y, 4, &format!("{:>3} ", number + 1), Tone::Dim);
        let (visible, skipped) =
            skip_columns(&shown_line(line), if number == row { shift } else { 0 });
        canvas.foreign(area.x + 5, y, width, &visible, Tone::Plain);
        if number == row {
            cursor = Some((area.x + 5 + column.saturating_sub(skipped) as u16, y));
        }
        y += 1;
        if let Some(problem) = problem.filter(|p| p.line == number + 1)
            && y < area.y + area.h
        {
            let before = line.get(..problem.column.saturating_sub(1)).unwrap_or(line);
            let last = usize::from(width.saturating_sub(1));
            // An arrow points to what is outside the visible part of the line.
            let (mark, at) = match text::width(&shown_line(before)).checked_sub(skipped) {
                None => ("‹", 0),
                Some(at) if at > last => ("›", last),
                Some(at) => ("^", at),
            };
            let style = canvas.theme.style(Tone::Bad);
            canvas.text(area.x + 5 + at as u16, y, 1, mark, style);
            y += 1;
        }
    }
    cursor
}

/// Returns a line of an edited text as it is shown.
pub(crate) fn shown_line(line: &str) -> String {
    text::clean(&text::visible(line)).into_owned()
}

/// Returns a text without its first columns, and how many were left out: one more where a wide character would be cut.
pub(crate) fn skip_columns(text: &str, columns: usize) -> (String, usize) {
    use unicode_segmentation::UnicodeSegmentation;
    let mut skipped = 0;
    let at = text.grapheme_indices(true).find_map(|(at, cluster)| {
        let is_kept = skipped >= columns;
        skipped += if is_kept { 0 } else { text::width(cluster) };
        is_kept.then_some(at)
    });
    (text[at.unwrap_or(text.len())..].to_string(), skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::theme::Theme;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use runtail_core::config::Config;

    /// Draws an input of a few columns. Returns its rows and the column of the cursor in the text.
    fn drawn(input: &TextInput, problem: Option<&Problem>) -> (Vec<String>, u16) {
        let themes = Config::default().themes;
        let theme = Theme::default();
        let mut buffer = Buffer::empty(Rect::new(0, 0, 26, 4));
        let mut canvas = Canvas {
            buffer: &mut buffer,
            theme: theme.paint(&themes, "terminal"),
        };
        let cursor = text_area(
            &mut canvas,
            Area {
                x: 0,
                y: 0,
                w: 26,
                h: 4,
            },
            input,
            problem,
        )
        .unwrap();
        let row = |y| {
            (5..26)
                .map(|x| buffer[(x, y)].symbol())
                .collect::<String>()
                .trim_end()
                .to_string()
        };
        ((0..4).map(row).collect(), cursor.0 - 5)
    }

    #[test]
    fn the_error_mark_follows_a_line_that_is_scrolled_sideways() {
        let at = |column| {
            Some(Problem {
                line: 1,
                column,
                message: String::new(),
            })
        };
        let mut input = TextInput::new("0123456789abcdefghijklmno");
        for (cursor, column, line, mark) in [
            (25, 16, "6789abcdefghijklmno", "         ^"),
            (25, 3, "6789abcdefghijklmno", "‹"),
            (2, 3, "0123456789abcdefghi…", "  ^"),
            (2, 25, "0123456789abcdefghi…", "                   ›"),
        ] {
            input.set_cursor(0, cursor);
            let (rows, _) = drawn(&input, at(column).as_ref());
            assert_eq!(
                (rows[0].as_str(), rows[1].as_str()),
                (line, mark),
                "{cursor} {column}"
            );
        }
        // A wide character that is half outside is left out, and the cursor and the mark move with it.
        let mut input = TextInput::new(&format!("{}xy", "日".repeat(12)));
        input.set_cursor(0, usize::MAX);
        let (rows, cursor) = drawn(&input, at(37).as_ref());
        assert_eq!((rows[1].find('^'), cursor), (Some(16), 18), "{rows:?}");
    }

    #[test]
    fn control_characters_of_a_document_are_visible() {
        let mut input = TextInput::new("a\u{1b}[31mb\u{7}");
        let (rows, cursor) = drawn(&input, None);
        assert_eq!((rows[0].as_str(), cursor), ("a␛[31mb␇", 8));
        input.set_cursor(0, 2);
        assert_eq!(drawn(&input, None).1, 2);
    }
}
