//! A text being edited.

use super::area::Area;
use super::canvas::Canvas;
use super::line::Tone;
use super::text_input::{Problem, TextInput};
use runtail_core::text;

/// The text with line numbers, the mark where it is wrong, and the cursor.
pub(crate) fn text_area(
    canvas: &mut Canvas<'_>,
    area: Area,
    input: &TextInput,
    problem: Option<&Problem>,
) -> Option<(u16, u16)> {
    let (row, col) = input.cursor();
    let lines = input.lines();
    // The mark takes a line of its own.
    let height = area.h.saturating_sub(1).max(1) as usize;
    let top = (row + 1).saturating_sub(height);
    let width = area.w.saturating_sub(6);
    let head = lines.get(row).and_then(|l| l.get(..col)).unwrap_or("");
    let shift = (text::width(&shown_line(head)) + 1).saturating_sub(width as usize);
    let mut cursor = None;
    let mut y = area.y;
    for (number, line) in lines.iter().enumerate().skip(top).take(height) {
        if y >= area.y + area.h {
            break;
        }
        canvas.foreign(area.x, y, 4, &format!("{:>3} ", number + 1), Tone::Dim);
        let shown = shown_line(line);
        let visible: String = if shift > 0 && number == row { skip_columns(&shown, shift) } else { shown };
        canvas.foreign(area.x + 5, y, width, &visible, Tone::Plain);
        if number == row {
            cursor = Some((area.x + 5 + text::width(&shown_line(head)).saturating_sub(shift) as u16, y));
        }
        y += 1;
        if let Some(problem) = problem.filter(|p| p.line == number + 1)
            && y < area.y + area.h
        {
            let before = line.get(..problem.column.saturating_sub(1)).unwrap_or(line);
            let at = text::width(&shown_line(before)).saturating_sub(if number == row { shift } else { 0 });
            let style = canvas.theme.style(Tone::Bad);
            if (at as u16) < width {
                canvas.text(area.x + 5 + at as u16, y, 1, "^", style);
            }
            y += 1;
        }
    }
    cursor
}

/// Returns a line of an edited text as it is shown.
pub(crate) fn shown_line(line: &str) -> String {
    text::clean(&text::visible(line)).into_owned()
}

fn skip_columns(text: &str, columns: usize) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    let mut used = 0;
    text.graphemes(true)
        .skip_while(|g| {
            let skip = used < columns;
            used += text::width(g);
            skip
        })
        .collect()
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
        let theme = Theme { color: false, rgb: false, ascii: false };
        let mut buffer = Buffer::empty(Rect::new(0, 0, 26, 4));
        let mut canvas = Canvas { buffer: &mut buffer, theme: theme.paint(&themes, "terminal") };
        let cursor = text_area(&mut canvas, Area { x: 0, y: 0, w: 26, h: 4 }, input, problem).unwrap();
        let row = |y| (5..26).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_string();
        ((0..4).map(row).collect(), cursor.0 - 5)
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
