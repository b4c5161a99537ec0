//! Draws text, rules and frames into a buffer of cells.

use super::area::Area;
use super::line::{Line, Piece, Tone, wrap};
use super::theme::ResolvedTheme;
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use runtail_core::text;

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
        let (end, _) = self.buffer.set_stringn(x, y, &fitted, width as usize, style);
        end - x
    }

    /// Sanitizes and draws text from outside.
    pub(crate) fn foreign(&mut self, x: u16, y: u16, width: u16, text: &str, tone: Tone) -> u16 {
        let style = self.theme.style(tone);
        self.text(x, y, width, &text::clean(text), style)
    }

    pub(crate) fn rule(&mut self, y: u16, w: u16, split: Option<u16>, joint: &str) {
        let style = self.theme.style(Tone::Dim);
        self.text(0, y, w, &"─".repeat(w as usize), style);
        if let Some(x) = split {
            self.text(x, y, 1, joint, style);
        }
    }

    /// Draws a frame with a title and `right` in its upper edge and the keys in its lower one. A long title is cut.
    pub(crate) fn frame(&mut self, area: Area, title: &str, right: &Line, keys: &str) {
        let style = self.theme.style(Tone::Accent);
        let (last, bottom) = (area.x + area.w.saturating_sub(1), area.y + area.h.saturating_sub(1));
        let inner = area.w.saturating_sub(2) as usize;
        for (y, edges) in [(area.y, ("╭", "╮")), (bottom, ("╰", "╯"))] {
            self.text(area.x, y, area.w, &format!("{}{}{}", edges.0, "─".repeat(inner), edges.1), style);
        }
        for y in area.y + 1..bottom {
            self.text(area.x, y, 1, "│", style);
            self.text(last, y, 1, "│", style);
        }
        let aside = if right.width() > 0 { right.width() + 3 } else { 0 };
        let strong = self.theme.title(true);
        let title = text::fit(title, inner.saturating_sub(aside + 3)).into_owned();
        self.text(area.x + 1, area.y, area.w.saturating_sub(2), &format!(" {title} "), strong);
        if aside > 0 {
            let x = last.saturating_sub(right.width() as u16 + 2);
            self.text(x, area.y, 1, " ", style);
            self.line(x + 1, area.y, right.width() as u16, right);
            self.text(last.saturating_sub(1), area.y, 1, " ", style);
        }
        if !keys.is_empty() {
            let keys = text::fit(keys, inner.saturating_sub(3)).into_owned();
            self.text(area.x + 1, bottom, area.w.saturating_sub(2), &format!(" {keys} "), style);
        }
    }

    pub(crate) fn clear(&mut self, area: Area) {
        for y in area.y..(area.y + area.h).min(self.buffer.area.height) {
            for x in area.x..(area.x + area.w).min(self.buffer.area.width) {
                self.buffer[(x, y)].reset();
            }
        }
    }

    /// Draws a line, without its right pieces if there is no room for both.
    pub(crate) fn line(&mut self, x: u16, y: u16, width: u16, line: &Line) {
        let right = right_width(line);
        let room = if right > 0 && line.width() as u16 + right + 2 <= width { width - right } else { width };
        self.line_in(x, y, width, line, room);
    }

    /// Draws a line, cutting its left pieces if there is no room for both.
    pub(crate) fn line_for_right(&mut self, x: u16, y: u16, width: u16, line: &Line) {
        let right = right_width(line);
        let room = if right + 8 <= width { width - right - u16::from(right > 0) } else { width };
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

    /// Marks the selected row with `▌`, and in a focused pane with reverse video.
    pub(crate) fn select(&mut self, area: Area, y: u16, focused: bool) {
        let style = self.theme.style(if focused { Tone::Accent } else { Tone::Dim });
        self.text(area.x + 1, y, 1, "▌", style);
        if focused {
            self.reverse(area.x + 2, y, area.w.saturating_sub(3));
        }
    }

    pub(crate) fn reverse(&mut self, x: u16, y: u16, width: u16) {
        if y >= self.buffer.area.height {
            return;
        }
        for x in x..(x + width).min(self.buffer.area.width) {
            let cell = &mut self.buffer[(x, y)];
            cell.modifier.remove(Modifier::DIM);
            // Reversed, a foreground color would become a colored block.
            cell.fg = ratatui::style::Color::Reset;
            cell.modifier.insert(Modifier::REVERSED);
        }
    }

    /// Draws a title in the focused or unfocused style. Returns the columns used.
    pub(crate) fn title(&mut self, area: Area, title: &str, focused: bool) -> u16 {
        let style = self.theme.title(focused);
        self.text(area.x + 1, area.y, area.w.saturating_sub(1), title, style)
    }

    /// Draws wrapped text in place of rows. `tone` applies to the first paragraph, the others are dim.
    pub(crate) fn words(&mut self, area: Area, tone: Tone, text: &str) {
        let width = area.w.saturating_sub(4).min(88) as usize;
        let lines = wrap(text, width);
        let first_paragraph = lines.iter().position(String::is_empty).unwrap_or(lines.len());
        for (i, line) in lines.iter().enumerate().take(area.h.saturating_sub(1) as usize) {
            let style = self.theme.style(if i < first_paragraph { tone } else { Tone::Dim });
            self.text(area.x + 2, area.y + 1 + i as u16, width as u16, line, style);
        }
    }
}
