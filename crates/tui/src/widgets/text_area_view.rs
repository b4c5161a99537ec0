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
    let shift = (text::width(&text::clean(head)) + 1).saturating_sub(width as usize);
    let mut cursor = None;
    let mut y = area.y;
    for (number, line) in lines.iter().enumerate().skip(top).take(height) {
        if y >= area.y + area.h {
            break;
        }
        canvas.foreign(area.x, y, 4, &format!("{:>3} ", number + 1), Tone::Dim);
        let shown = text::clean(line);
        let visible: String = if shift > 0 && number == row { skip_columns(&shown, shift) } else { shown.into_owned() };
        canvas.foreign(area.x + 5, y, width, &visible, Tone::Plain);
        if number == row {
            cursor = Some((area.x + 5 + text::width(&text::clean(head)).saturating_sub(shift) as u16, y));
        }
        y += 1;
        if let Some(problem) = problem.filter(|p| p.line == number + 1)
            && y < area.y + area.h
        {
            let before = line.get(..problem.column.saturating_sub(1)).unwrap_or(line);
            let at = text::width(&text::clean(before)).saturating_sub(if number == row { shift } else { 0 });
            let style = canvas.theme.style(Tone::Bad);
            if (at as u16) < width {
                canvas.text(area.x + 5 + at as u16, y, 1, "^", style);
            }
            y += 1;
        }
    }
    cursor
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
