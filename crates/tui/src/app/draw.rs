//! Draws the screen from the state.

use super::{App, Overlay, Pane, bars};
use crate::session::{Component, SMALLEST};
use crate::widgets::area::{Area, below};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::theme::{Theme, to_ascii};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

/// The frozen frame, kept while the user has frozen the screen.
#[derive(Debug, Default)]
pub struct FrozenFrame(Option<Buffer>);

impl FrozenFrame {
    /// Draws one frame, or the frozen frame again.
    pub fn draw(&mut self, app: &App, theme: &Theme, frame: &mut Frame<'_>) {
        if !app.frozen {
            self.0 = None;
            return draw(app, theme, frame);
        }
        match self.0.as_ref().filter(|kept| kept.area == frame.area()) {
            Some(kept) => frame.buffer_mut().clone_from(kept),
            None => {
                draw(app, theme, frame);
                let paint = theme.paint(&app.session.prefs.themes, app.session.prefs.theme());
                let mut canvas = Canvas { buffer: frame.buffer_mut(), theme: paint };
                let key = app.session.key("app.freeze");
                let line = Line::of(Tone::Strong, " ■ FROZEN ").with(Tone::Dim, &format!("{key} continues "));
                let x = canvas.buffer.area.width.saturating_sub(line.width() as u16);
                canvas.line(x, 0, line.width() as u16, &line);
                if theme.ascii {
                    to_ascii(canvas.buffer);
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
        let paint = theme.paint(&app.session.prefs.themes, app.session.prefs.theme());
        let mut canvas = Canvas { buffer: frame.buffer_mut(), theme: paint };
        if w < SMALLEST.0 || h < SMALLEST.1 {
            too_small(&mut canvas, &app.session.key("app.quit_now"), w, h);
        } else {
            let regions = app.regions();
            bars::header(app, &mut canvas, regions.header);
            canvas.rule(1, w, regions.split, "┬");
            canvas.rule(h - 2, w, regions.split, "┴");
            if let Some(x) = regions.split {
                for y in 2..h - 2 {
                    canvas.text(x, y, 1, "│", paint.style(Tone::Dim));
                }
            }
            // The command line is drawn over the current screen.
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
                    cursor = overlay.view(&app.overlay_cx(true), &mut canvas);
                }
                None => {
                    if regions.deployments.is_some() {
                        app.deployments.view_list(&app.pane_cx(Pane::Deployments), &mut canvas);
                    }
                    if regions.revisions.is_some() {
                        app.deployments.view_revisions(&app.pane_cx(Pane::Revisions), &mut canvas);
                    }
                    if regions.stream.is_some() {
                        stream_pane(app, &mut canvas);
                    }
                }
            }
            if let Some(palette) = command {
                palette.view(&app.overlay_cx(true), &mut canvas);
                cursor = None;
            }
            bars::footer(app, &mut canvas, regions.footer);
        }
        if theme.ascii {
            to_ascii(canvas.buffer);
        }
    }
    if let Some((x, y)) = cursor {
        frame.set_cursor_position((x, y));
    }
}

/// Draws the right pane: logs, the current stream, or the agent server's lists.
fn stream_pane(app: &App, canvas: &mut Canvas<'_>) {
    let cx = app.pane_cx(Pane::Stream);
    match (&app.logs, app.viewer(), &app.agent.server) {
        (Some(logs), ..) => drop(logs.view(&cx, canvas)),
        (None, Some(_), _) => drop(app.stream.view(&cx, canvas)),
        (None, None, Some(_)) => drop(app.agent.view(&cx, canvas)),
        (None, None, None) => {
            canvas.title(cx.area, "STREAM", cx.is_focused);
            let text = "Nothing is open yet.\n\nChoose a deployment and press ⏎ to see the threads of its agent server, \
                        then ⏎ on a thread to follow everything that runs on it.";
            canvas.words(below(cx.area, 1), Tone::Plain, text);
        }
    }
}

fn too_small(canvas: &mut Canvas<'_>, quit: &str, w: u16, h: u16) {
    let (least_w, least_h) = SMALLEST;
    let quit = if quit.is_empty() { String::new() } else { format!(" Press {quit} to quit.") };
    let text = format!("This terminal is too small: runtail needs {least_w}x{least_h}, this is {w}x{h}.{quit}");
    for (y, line) in crate::widgets::line::wrap(&text, w as usize).iter().enumerate().take(h as usize) {
        canvas.text(0, y as u16, w, line, Style::default());
    }
}
