//! Large digits, drawn as reversed blanks, so that no font can break them.

use crate::widgets::canvas::Canvas;
use crate::widgets::line::Tone;

/// Columns and lines of a digit, and the columns between two.
pub const WIDTH: u16 = 6;
pub const HEIGHT: u16 = 5;
const GAP: u16 = 1;

/// The rows of each digit; each cell of the pattern is two columns wide.
const DIGITS: [[u8; 5]; 10] = [
    [0b111, 0b101, 0b101, 0b101, 0b111],
    [0b001, 0b001, 0b001, 0b001, 0b001],
    [0b111, 0b001, 0b111, 0b100, 0b111],
    [0b111, 0b001, 0b111, 0b001, 0b111],
    [0b101, 0b101, 0b111, 0b001, 0b001],
    [0b111, 0b100, 0b111, 0b001, 0b111],
    [0b111, 0b100, 0b111, 0b101, 0b111],
    [0b111, 0b001, 0b001, 0b001, 0b001],
    [0b111, 0b101, 0b111, 0b101, 0b111],
    [0b111, 0b101, 0b111, 0b001, 0b111],
];

/// Returns the columns of a number.
pub fn width(number: usize) -> u16 {
    let digits = u16::try_from(number.to_string().len()).unwrap_or(u16::MAX);
    digits * (WIDTH + GAP) - GAP
}

/// Draws a number, or a dash for an unknown one.
pub fn draw(
    canvas: &mut Canvas<'_>,
    (x, y): (u16, u16),
    number: Option<usize>,
    tone: Tone,
    ascii: bool,
) {
    let Some(number) = number else {
        block(canvas, x, y + HEIGHT / 2, WIDTH, tone, ascii);
        return;
    };
    for (n, digit) in number.to_string().bytes().enumerate() {
        let x = x + n as u16 * (WIDTH + GAP);
        let rows = DIGITS
            .get(usize::from(digit.wrapping_sub(b'0')))
            .copied()
            .unwrap_or_default();
        for (line, row) in rows.iter().enumerate() {
            for column in (0..3u16).filter(|column| row & (0b100 >> column) != 0) {
                block(canvas, x + column * 2, y + line as u16, 2, tone, ascii);
            }
        }
    }
}

/// Draws a part of a digit.
fn block(canvas: &mut Canvas<'_>, x: u16, y: u16, width: u16, tone: Tone, ascii: bool) {
    let filled = if ascii { "#" } else { " " };
    let style = canvas.theme.style(tone);
    let style = if ascii {
        style
    } else {
        style.add_modifier(ratatui::style::Modifier::REVERSED)
    };
    canvas.text(x, y, width, &filled.repeat(width.into()), style);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_differ() {
        for (n, digit) in DIGITS.iter().enumerate() {
            assert!(DIGITS[n + 1..].iter().all(|other| other != digit), "{n}");
        }
        assert_eq!((width(0), width(17), width(100)), (6, 13, 20));
    }
}
