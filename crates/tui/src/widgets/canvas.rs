//! Draws text, rules and frames into a buffer of cells.

use super::area::Area;
use super::line::{Line, Piece, Tone, wrap_indented};
use super::theme::ResolvedTheme;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use runtail_core::text;

/// Splits hints such as `ctrl-s send   1 2 3 decide` into keys and what they do.
fn hint_pieces(hints: &str) -> Vec<Piece> {
    let is_key = |word: &str| {
        let mut chars = word.chars();
        let is_symbol = chars
            .next()
            .is_some_and(|first| chars.all(|c| c == first || !c.is_alphanumeric()));
        let is_named = ["Tab", "BackTab", "Space", "Enter", "Esc", "F4", "F5"].contains(&word);
        is_symbol || is_named || word.starts_with("ctrl-") || word.starts_with("alt-")
    };
    let mut pieces = Vec::new();
    for (n, hint) in hints.split("   ").enumerate() {
        let keys = hint
            .split(' ')
            .take_while(|word| is_key(word))
            .map(|word| word.len() + 1)
            .sum::<usize>();
        let (keys, label) = hint.split_at(keys.saturating_sub(1).min(hint.len()));
        let gap = if n > 0 { "   " } else { "" };
        pieces.push(Piece {
            tone: Tone::Dim,
            text: gap.into(),
        });
        pieces.push(Piece {
            tone: Tone::Key,
            text: keys.into(),
        });
        pieces.push(Piece {
            tone: Tone::Dim,
            text: label.into(),
        });
    }
    pieces
}

fn right_width(line: &Line) -> u16 {
    line.right.iter().map(|p| text::width(&p.text) as u16).sum()
}

/// A buffer to draw into.
pub struct Canvas<'a> {
    pub(crate) buffer: &'a mut Buffer,
    pub(crate) theme: ResolvedTheme<'a>,
}

impl Canvas<'_> {
    /// Draws sanitized text on one line, cut to a width. Returns the columns used.
    pub(crate) fn text(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
        let area = self.buffer.area;
        if y >= area.height || x >= area.width {
            return 0;
        }
        let fitted = text::fit(text, width as usize);
        // A line below it would hide an underscore.
        let style = if fitted.contains('_') {
            style.remove_modifier(Modifier::UNDERLINED)
        } else {
            style
        };
        let (end, _) = self
            .buffer
            .set_stringn(x, y, &fitted, width as usize, style);
        end - x
    }

    /// Sanitizes and draws text from outside.
    pub(crate) fn foreign(&mut self, x: u16, y: u16, width: u16, text: &str, tone: Tone) -> u16 {
        let style = self.theme.style(tone);
        self.text(x, y, width, &text::clean(text), style)
    }

    /// Draws the frame of a card with the focus: a title and `right` in its upper edge, and the keys in its lower one.
    pub(crate) fn frame(&mut self, area: Area, title: &str, right: &Line, keys: &str) {
        let mut line = Line::new();
        line.left.push(Piece {
            tone: Tone::Focus,
            text: title.into(),
        });
        line.right = right.left.clone();
        self.pane_frame(area, &line, true);
        self.frame_keys(area, keys);
    }

    /// Draws keys into the lower edge of a frame.
    pub(crate) fn frame_keys(&mut self, area: Area, keys: &str) {
        if !keys.is_empty() {
            let (inner, bottom) = (area.w.saturating_sub(2), area.y + area.h.saturating_sub(1));
            let keys = text::fit(keys, usize::from(inner.saturating_sub(3))).into_owned();
            let width = u16::try_from(text::width(&keys)).unwrap_or(u16::MAX);
            self.text(
                area.x + 1,
                bottom,
                (width + 2).min(inner),
                &" ".repeat(usize::from(width) + 2),
                Style::reset(),
            );
            self.pieces(
                area.x + 2,
                bottom,
                inner.saturating_sub(1),
                &hint_pieces(&keys),
            );
        }
    }

    /// Draws a frame with a title in its upper edge, and the right pieces of the title at its end. A long title is cut.
    pub(crate) fn pane_frame(&mut self, area: Area, title: &Line, focused: bool) {
        // Some themes underline the accent.
        let style = self
            .theme
            .style(if focused { Tone::Accent } else { Tone::Dim });
        let style = style.remove_modifier(Modifier::UNDERLINED);
        let (last, bottom) = (
            area.x + area.w.saturating_sub(1),
            area.y + area.h.saturating_sub(1),
        );
        let inner = area.w.saturating_sub(2);
        for (y, edges) in [(area.y, ("╭", "╮")), (bottom, ("╰", "╯"))] {
            self.text(
                area.x,
                y,
                area.w,
                &format!("{}{}{}", edges.0, "─".repeat(inner.into()), edges.1),
                style,
            );
        }
        for y in area.y + 1..bottom {
            self.text(area.x, y, 1, "│", style);
            self.text(last, y, 1, "│", style);
        }
        let aside = right_width(title);
        // The title keeps a part of the edge even beside a long text.
        let aside = if aside + 12 > inner { 0 } else { aside };
        if aside > 0 {
            let x = last.saturating_sub(aside + 3);
            self.text(
                x,
                area.y,
                aside + 2,
                &" ".repeat(usize::from(aside) + 2),
                style,
            );
            self.pieces(x + 1, area.y, aside, &title.right);
        }
        let room = inner.saturating_sub(3 + if aside > 0 { aside + 3 } else { 0 });
        let width = u16::try_from(title.width()).unwrap_or(u16::MAX).min(room);
        if width > 0 {
            self.text(
                area.x + 1,
                area.y,
                width + 2,
                &" ".repeat(usize::from(width) + 2),
                style,
            );
            self.pieces(area.x + 2, area.y, width, &title.left);
        }
    }

    pub(crate) fn clear(&mut self, area: Area) {
        for y in area.y..(area.y + area.h).min(self.buffer.area.height) {
            for x in area.x..(area.x + area.w).min(self.buffer.area.width) {
                self.buffer[(x, y)].reset();
            }
        }
    }

    /// Makes what is drawn in an area dim and colorless, because it is outdated.
    pub(crate) fn fade(&mut self, area: Area) {
        let style = self.theme.style(Tone::Dim);
        for y in area.y..(area.y + area.h).min(self.buffer.area.height) {
            let (mut x, end) = (area.x, (area.x + area.w).min(self.buffer.area.width));
            while x < end {
                let cell = &mut self.buffer[(x, y)];
                (cell.fg, cell.modifier) = (Color::Reset, Modifier::empty());
                cell.set_style(style);
                // The second cell of a wide symbol has no style of its own.
                x += text::width(cell.symbol()).max(1) as u16;
            }
        }
    }

    /// Draws a line, without its right pieces if there is no room for both.
    pub(crate) fn line(&mut self, x: u16, y: u16, width: u16, line: &Line) {
        let right = right_width(line);
        let room = if right > 0 && line.width() as u16 + right + 2 <= width {
            width - right
        } else {
            width
        };
        self.line_in(x, y, width, line, room);
    }

    /// Draws a line, cutting its left pieces if there is no room for both.
    pub(crate) fn line_for_right(&mut self, x: u16, y: u16, width: u16, line: &Line) {
        let right = right_width(line);
        let room = if right + 8 <= width {
            width - right - u16::from(right > 0)
        } else {
            width
        };
        self.line_in(x, y, width, line, room);
    }

    pub(crate) fn line_in(&mut self, x: u16, y: u16, width: u16, line: &Line, room: u16) {
        let right = right_width(line);
        self.pieces(x, y, room, &line.left);
        if room < width {
            self.pieces(x + width - right, y, right, &line.right);
        }
    }

    pub(crate) fn pieces(&mut self, x: u16, y: u16, width: u16, pieces: &[Piece]) {
        let mut used = 0;
        for piece in pieces {
            if used >= width {
                break;
            }
            let style = self.theme.style(piece.tone);
            used += self.text(x + used, y, width - used, &piece.text, style);
        }
    }

    /// Marks the selected row with `▌` and, in a focused pane, its background.
    pub(crate) fn mark(&mut self, area: Area, y: u16, focused: bool) {
        let style = self
            .theme
            .style(if focused { Tone::Accent } else { Tone::Dim });
        self.text(
            area.x + 1,
            y,
            1,
            "▌",
            style.remove_modifier(Modifier::UNDERLINED),
        );
        if focused {
            self.ground(area, y);
        }
    }

    /// Gives a row a background of its own, where the terminal's is known. Cells that have one keep it.
    fn ground(&mut self, area: Area, y: u16) {
        let Some(ground) = self
            .theme
            .selection()
            .filter(|_| y < self.buffer.area.height)
        else {
            return;
        };
        for x in area.x + 1..(area.x + area.w.saturating_sub(1)).min(self.buffer.area.width) {
            let cell = &mut self.buffer[(x, y)];
            if cell.bg == Color::Reset && !cell.modifier.contains(Modifier::REVERSED) {
                cell.bg = ground;
            }
        }
    }

    /// Marks the selected row, and in a focused pane all of its text with bold.
    pub(crate) fn select_all(&mut self, area: Area, y: u16, focused: bool) {
        self.select(area, y, focused, area.w);
    }

    /// Marks the selected row, and in a focused pane its text up to a column with bold. The row keeps its colors.
    pub(crate) fn select(&mut self, area: Area, y: u16, focused: bool, bold_width: u16) {
        self.mark(area, y, focused);
        if !focused || y >= self.buffer.area.height {
            return;
        }
        let area = Area {
            w: bold_width.min(area.w),
            ..area
        };
        for x in area.x + 2..(area.x + area.w.saturating_sub(1)).min(self.buffer.area.width) {
            let cell = &mut self.buffer[(x, y)];
            if !cell.modifier.contains(Modifier::DIM) {
                cell.modifier.insert(Modifier::BOLD);
            }
        }
    }

    /// Draws a title in the focused or unfocused style. Returns the columns used.
    pub(crate) fn title(&mut self, area: Area, title: &str, focused: bool) -> u16 {
        let style = self.theme.title(focused);
        self.text(area.x + 1, area.y, area.w.saturating_sub(1), title, style)
    }

    /// Draws a title with a rule that fills its line.
    pub(crate) fn heading(&mut self, area: Area, title: &str, focused: bool) {
        let width = area.w.saturating_sub(2);
        let style = self.theme.title(focused);
        let title = format!("─ {title} ");
        let used = self.text(area.x + 1, area.y, width, &title, style);
        let rest = width.saturating_sub(used);
        let rule = "─".repeat(rest.into());
        let style = self.theme.style(Tone::Dim);
        self.text(area.x + 1 + used, area.y, rest, &rule, style);
    }

    /// Draws wrapped text in place of rows. `tone` applies to the first paragraph, the others are dim.
    pub(crate) fn words(&mut self, area: Area, tone: Tone, text: &str) {
        let width = area.w.saturating_sub(4).min(88) as usize;
        let lines = wrap_indented(text, width);
        let first_paragraph = lines
            .iter()
            .position(String::is_empty)
            .unwrap_or(lines.len());
        for (i, line) in lines
            .iter()
            .enumerate()
            .take(area.h.saturating_sub(1) as usize)
        {
            let style = self
                .theme
                .style(if i < first_paragraph { tone } else { Tone::Dim });
            self.text(area.x + 2, area.y + 1 + i as u16, width as u16, line, style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::theme::Theme;
    use ratatui::layout::Rect;
    use runtail_core::config::theme::Themes;

    #[test]
    fn no_underscore_is_underlined() {
        let themes = Themes::default();
        let terminal = Theme {
            color: true,
            ..Theme::default()
        };
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 2));
        let mut canvas = Canvas {
            buffer: &mut buffer,
            theme: terminal.paint(&themes, "high-contrast"),
        };
        canvas.foreign(0, 0, 20, "write ledger", Tone::Accent);
        canvas.foreign(0, 1, 20, "write_ledger", Tone::Accent);
        let is_underlined = |y| {
            (0..12)
                .map(|x| buffer[(x, y)].modifier.contains(Modifier::UNDERLINED))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (is_underlined(0), is_underlined(1)),
            (vec![true; 12], vec![false; 12])
        );
        assert!(buffer[(0, 1)].modifier.contains(Modifier::BOLD));
    }

    #[test]
    fn keys_of_hints_are_found() {
        let keys = |hints: &str| {
            let pieces = hint_pieces(hints);
            assert_eq!(
                pieces.iter().map(|piece| &*piece.text).collect::<String>(),
                hints
            );
            let keys = pieces
                .into_iter()
                .filter(|piece| piece.tone == Tone::Key && !piece.text.is_empty());
            keys.map(|piece| piece.text.to_string()).collect::<Vec<_>>()
        };
        let answer =
            "ctrl-s send   ↑↓ action   1 2 3 decide   ctrl-t as JSON   Esc close, keeps the draft";
        assert_eq!(keys(answer), ["ctrl-s", "↑↓", "1 2 3", "ctrl-t", "Esc"]);
        assert_eq!(keys("⏎ run   paste an id or URL   a add"), ["⏎", "a"]);
        assert_eq!(keys(""), [""; 0]);
    }
}
