//! The screen: drawn from the state, changing nothing.

mod overlays;
mod panes;
mod theme;

pub use theme::Theme;

use crate::app::layout::{Area, SMALLEST};
use crate::app::line::{Line, Piece, Tone};
use crate::app::{App, Overlay};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::style::{Modifier, Style};
use runtail_core::text;

/// Frames that stand still while the person wants that.
#[derive(Debug, Default)]
pub struct Still(Option<Buffer>);

impl Still {
    /// Draws one frame, or the one again that stands still.
    pub fn draw(&mut self, app: &App, theme: &Theme, frame: &mut Frame<'_>) {
        if !app.frozen {
            self.0 = None;
            return draw(app, theme, frame);
        }
        match self.0.as_ref().filter(|kept| kept.area == frame.area()) {
            Some(kept) => frame.buffer_mut().clone_from(kept),
            None => {
                draw(app, theme, frame);
                let paint = theme.paint(&app.habits.themes, app.habits.theme());
                let mut canvas = Canvas { buffer: frame.buffer_mut(), theme: paint };
                let key = app.keymap.keys_of("app.freeze").first().map(|key| key.to_string()).unwrap_or_default();
                let line = Line::of(Tone::Strong, " ■ FROZEN ").with(Tone::Dim, &format!("{key} goes on "));
                let x = canvas.buffer.area.width.saturating_sub(line.width() as u16);
                canvas.line(x, 0, line.width() as u16, &line);
                if theme.ascii {
                    theme::to_ascii(canvas.buffer);
                }
                self.0 = Some(frame.buffer_mut().clone());
            }
        }
    }
}

/// Draws one frame.
pub fn draw(app: &App, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let (w, h) = (area.width, area.height);
    let mut cursor = None;
    {
        let paint = theme.paint(&app.habits.themes, app.habits.theme());
        let mut canvas = Canvas { buffer: frame.buffer_mut(), theme: paint };
        if w < SMALLEST.0 || h < SMALLEST.1 {
            too_small(&mut canvas, w, h);
        } else {
            let regions = app.regions();
            panes::header(app, &mut canvas, regions.header);
            canvas.rule(1, w, regions.split, "┬");
            canvas.rule(h - 2, w, regions.split, "┴");
            if let Some(x) = regions.split {
                for y in 2..h - 2 {
                    canvas.text(x, y, 1, "│", paint.style(Tone::Dim));
                }
            }
            // A command is typed over what one looks at.
            let (command, below) = match app.overlays.split_last() {
                Some((Overlay::Command(palette), below)) => (Some(palette), below),
                _ => (None, app.overlays.as_slice()),
            };
            match below.last() {
                Some(overlay) => {
                    let body = Area { x: 0, y: 1, w, h: h - 2 };
                    canvas.clear(body);
                    canvas.rule(1, w, None, "─");
                    canvas.rule(h - 2, w, None, "─");
                    cursor = match overlay {
                        Overlay::Compose(composer) => overlays::compose(app, composer, &mut canvas),
                        Overlay::Edit(editor) => overlays::editor(app, editor, &mut canvas),
                        Overlay::Confirm(confirm) => overlays::confirm(app, confirm, &mut canvas),
                        Overlay::Answer(card) => overlays::answer(app, card, &mut canvas),
                        Overlay::FirstRun(choice) => {
                            panes::first_run(app, *choice, &mut canvas);
                            None
                        }
                        Overlay::Profiles => {
                            panes::profiles(app, &mut canvas);
                            None
                        }
                        Overlay::Modes(dialog) => {
                            overlays::modes(app, dialog, &mut canvas);
                            None
                        }
                        Overlay::Journal(journal) => {
                            overlays::journal(app, journal, &mut canvas);
                            None
                        }
                        Overlay::Browse(list) => {
                            panes::browse(app, list, &mut canvas);
                            None
                        }
                        Overlay::SignIn(asked) => {
                            panes::sign_in(app, asked, &mut canvas);
                            None
                        }
                        _ => overlays::page(app, overlay, &mut canvas),
                    };
                }
                None => {
                    if let Some(area) = regions.deployments {
                        panes::deployments(app, &mut canvas, area);
                    }
                    if let Some(area) = regions.revisions {
                        panes::revisions(app, &mut canvas, area);
                    }
                    if let Some(area) = regions.stream {
                        panes::stream(app, &mut canvas, area);
                    }
                }
            }
            if let Some(palette) = command {
                overlays::palette(app, palette, &mut canvas);
                cursor = None;
            }
            panes::footer(app, &mut canvas, regions.footer);
        }
        if theme.ascii {
            theme::to_ascii(canvas.buffer);
        }
    }
    if let Some((x, y)) = cursor {
        frame.set_cursor_position((x, y));
    }
}

fn right_width(line: &Line) -> u16 {
    line.right.iter().map(|p| text::width(&p.text) as u16).sum()
}

fn too_small(canvas: &mut Canvas<'_>, w: u16, h: u16) {
    let text = format!(
        "This terminal is too small: runtail needs {}x{}, and this is {w}x{h}. q quits.",
        SMALLEST.0, SMALLEST.1
    );
    for (y, line) in crate::app::line::wrap(&text, w as usize).iter().enumerate().take(h as usize) {
        canvas.text(0, y as u16, w, line, Style::default());
    }
}

/// A buffer to put text on.
pub(crate) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    theme: theme::Paint<'a>,
}

impl Canvas<'_> {
    /// Puts cleaned text on a line, cut to a width; says how many columns it took.
    fn text(&mut self, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
        let area = self.buffer.area;
        if y >= area.height || x >= area.width {
            return 0;
        }
        let fitted = text::fit(text, width as usize);
        let (end, _) = self.buffer.set_stringn(x, y, &fitted, width as usize, style);
        end - x
    }

    /// Puts text that others wrote.
    fn foreign(&mut self, x: u16, y: u16, width: u16, text: &str, tone: Tone) -> u16 {
        let style = self.theme.style(tone);
        self.text(x, y, width, &text::clean(text), style)
    }

    fn rule(&mut self, y: u16, w: u16, split: Option<u16>, joint: &str) {
        let style = self.theme.style(Tone::Dim);
        self.text(0, y, w, &"─".repeat(w as usize), style);
        if let Some(x) = split {
            self.text(x, y, 1, joint, style);
        }
    }

    /// A frame with a title in its upper edge and what can be pressed in its lower one; the title gives way.
    fn frame(&mut self, area: Area, title: &str, right: &Line, keys: &str) {
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

    fn clear(&mut self, area: Area) {
        for y in area.y..(area.y + area.h).min(self.buffer.area.height) {
            for x in area.x..(area.x + area.w).min(self.buffer.area.width) {
                self.buffer[(x, y)].reset();
            }
        }
    }

    /// Puts a line. What stands at its right gives way where there is no room for both.
    fn line(&mut self, x: u16, y: u16, width: u16, line: &Line) {
        let right = right_width(line);
        let room = if right > 0 && line.width() as u16 + right + 2 <= width { width - right } else { width };
        self.line_in(x, y, width, line, room);
    }

    /// Puts a line whose right must be seen: its left is cut where there is no room for both.
    fn line_for_right(&mut self, x: u16, y: u16, width: u16, line: &Line) {
        let right = right_width(line);
        let room = if right + 8 <= width { width - right - u16::from(right > 0) } else { width };
        self.line_in(x, y, width, line, room);
    }

    fn line_in(&mut self, x: u16, y: u16, width: u16, line: &Line, room: u16) {
        let right = right_width(line);
        self.pieces(x, y, room, &line.left);
        if room < width {
            self.pieces(x + width - right, y, right, &line.right);
        }
    }

    fn pieces(&mut self, x: u16, y: u16, width: u16, pieces: &[Piece]) {
        let mut used = 0;
        for piece in pieces {
            if used >= width {
                break;
            }
            let style = self.theme.style(piece.tone);
            used += self.text(x + used, y, width - used, &piece.text, style);
        }
    }

    /// The one selection mark: `▌`, and reverse where the pane has the focus.
    fn select(&mut self, area: Area, y: u16, focused: bool) {
        let style = self.theme.style(if focused { Tone::Accent } else { Tone::Dim });
        self.text(area.x + 1, y, 1, "▌", style);
        if focused {
            self.reverse(area.x + 2, y, area.w.saturating_sub(3));
        }
    }

    fn reverse(&mut self, x: u16, y: u16, width: u16) {
        if y >= self.buffer.area.height {
            return;
        }
        for x in x..(x + width).min(self.buffer.area.width) {
            let cell = &mut self.buffer[(x, y)];
            cell.modifier.remove(Modifier::DIM);
            // A colour would become a coloured block.
            cell.fg = ratatui::style::Color::Reset;
            cell.modifier.insert(Modifier::REVERSED);
        }
    }

    /// A title in capitals, with the focus mark; says how many columns it took.
    fn title(&mut self, area: Area, title: &str, focused: bool) -> u16 {
        let style = self.theme.title(focused);
        self.text(area.x + 1, area.y, area.w.saturating_sub(1), title, style)
    }

    /// A few lines of words where there are no rows: what is it, why, what can I press.
    fn words(&mut self, area: Area, tone: Tone, text: &str) {
        let width = area.w.saturating_sub(4).min(88) as usize;
        let lines = crate::app::line::wrap(text, width);
        let first_paragraph = lines.iter().position(String::is_empty).unwrap_or(lines.len());
        for (i, line) in lines.iter().enumerate().take(area.h.saturating_sub(1) as usize) {
            let style = self.theme.style(if i < first_paragraph { tone } else { Tone::Dim });
            self.text(area.x + 2, area.y + 1 + i as u16, width as u16, line, style);
        }
    }
}
