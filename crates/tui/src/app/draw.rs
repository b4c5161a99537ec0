//! Draws the screen from the state.

use super::layout::{PaneArea, Regions, body};
use super::{App, Overlay, Pane, bars};
use crate::session::page::frame_of;
use crate::session::{Component, Cx, SMALLEST};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::cells::split_clusters;
use crate::widgets::line::{Line, Tone};
use crate::widgets::theme::{Theme, to_ascii};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::style::Style;

/// The row with the views of a stream and its connection.
const VIEWS_ROW: u16 = 2;
/// What a frozen screen says.
const FROZEN: &str = "FROZEN";

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
                if !says_frozen(app, frame.buffer_mut()) {
                    let paint = theme.paint(&app.session.prefs.themes, app.session.prefs.theme());
                    frozen_mark(
                        app,
                        &mut Canvas {
                            buffer: frame.buffer_mut(),
                            theme: paint,
                        },
                    );
                    if theme.ascii {
                        to_ascii(frame.buffer_mut());
                    }
                }
                self.0 = Some(frame.buffer_mut().clone());
            }
        }
    }
}

/// Returns whether the row of a stream's views says that the screen is frozen.
fn says_frozen(app: &App, buffer: &Buffer) -> bool {
    let is_stream = app.overlays.is_empty() && app.viewer().is_some() && app.logs.is_none();
    let row: String = (0..buffer.area.width)
        .filter_map(|x| Some(buffer.cell((x, VIEWS_ROW))?.symbol()))
        .collect();
    is_stream && row.contains(FROZEN)
}

/// Says at the right of the last row that the screen is frozen, in the place of notices.
fn frozen_mark(app: &App, canvas: &mut Canvas<'_>) {
    let line = Line::of(
        Tone::Badge,
        &format!("{FROZEN} · {}", app.session.key("app.freeze")),
    );
    let (width, area) = (line.width() as u16, canvas.buffer.area);
    let (x, y) = (
        area.width.saturating_sub(width + 1),
        area.height.saturating_sub(1),
    );
    // What was there has a style, to which that of the mark would be added.
    canvas.clear(Area {
        x: x.saturating_sub(2),
        y,
        w: width + 3,
        h: 1,
    });
    canvas.line(x, y, width, &line);
}

/// Draws one frame.
pub fn draw(app: &App, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    let (w, h) = (area.width, area.height);
    let mut cursor = None;
    {
        let paint = theme.paint(&app.session.prefs.themes, app.session.prefs.theme());
        let mut canvas = Canvas {
            buffer: frame.buffer_mut(),
            theme: paint,
        };
        if w < SMALLEST.0 || h < SMALLEST.1 {
            too_small(&mut canvas, &app.session.key("app.quit_now"), w, h);
        } else {
            let regions = app.regions();
            bars::header(app, &mut canvas, regions.header);
            // The command line is drawn over the current screen.
            let (command, below) = match app.overlays.split_last() {
                Some((Overlay::Command(palette), below)) => (Some(palette), below),
                _ => (None, app.overlays.as_slice()),
            };
            match below.split_last() {
                Some((sheet, covered)) if app.session.sheet_rows > 0 => {
                    match covered.iter().rfind(|below| !below.is_sheet()) {
                        Some(page) => drop(page.view(&app.page_below_cx(), &mut canvas)),
                        None => panes(app, &regions, &mut canvas),
                    }
                    canvas.fade(body(app.session.page_size()));
                    let cx = app.overlay_cx(true);
                    canvas.clear(frame_of(cx.area));
                    cursor = sheet.view(&cx, &mut canvas);
                }
                Some((page, _)) => cursor = page.view(&app.overlay_cx(true), &mut canvas),
                None => panes(app, &regions, &mut canvas),
            }
            if let Some(palette) = command {
                palette.view(&app.overlay_cx(true), &mut canvas);
                cursor = None;
            }
            bars::footer(app, &mut canvas, regions.footer);
        }
        split_clusters(canvas.buffer);
        if theme.ascii {
            to_ascii(canvas.buffer);
        }
    }
    if let Some((x, y)) = cursor {
        frame.set_cursor_position((x, y));
    }
}

/// Draws the page or the panes.
fn panes(app: &App, regions: &Regions, canvas: &mut Canvas<'_>) {
    if regions.page.is_some() {
        return page(app, canvas);
    }
    let deployments = &app.deployments;
    let cx = |pane| app.pane_cx(pane);
    if let Some(pane) = &regions.deployments {
        title(
            canvas,
            pane,
            &deployments.list_title(&cx(Pane::Deployments)),
            app.focus == Pane::Deployments,
        );
        deployments.view_list(&cx(Pane::Deployments), canvas);
    }
    let is_outdated = deployments.is_selection_outdated(&app.session);
    if let Some(pane) = &regions.revisions {
        title(
            canvas,
            pane,
            &deployments.revisions_title(&cx(Pane::Revisions)),
            app.focus == Pane::Revisions,
        );
        deployments.view_revisions(&cx(Pane::Revisions), canvas, regions.details.is_some());
        if is_outdated {
            canvas.fade(pane.area);
        }
    }
    if let Some(pane) = &regions.details {
        let cx = Cx {
            area: pane.area,
            is_focused: false,
            ..cx(Pane::Revisions)
        };
        title(canvas, pane, &deployments.details_title(), false);
        deployments.view_details(&cx, canvas);
        if is_outdated {
            canvas.fade(pane.area);
        }
    }
    if let Some(area) = regions.summary {
        deployments.view_summary(
            &Cx {
                area,
                is_focused: false,
                ..cx(Pane::Deployments)
            },
            canvas,
        );
        if is_outdated {
            canvas.fade(area);
        }
    }
}

/// Draws the frame of a pane with its title, or its title above it.
fn title(canvas: &mut Canvas<'_>, pane: &PaneArea, title: &Line, focused: bool) {
    match (pane.frame, pane.title) {
        (Some(frame), _) => canvas.pane_frame(frame, title, focused),
        (None, Some(area)) => {
            canvas.line_for_right(area.x + 1, area.y, area.w.saturating_sub(2), title)
        }
        (None, None) => {}
    }
}

/// Draws the page of logs, the current stream, or the agent server's lists.
fn page(app: &App, canvas: &mut Canvas<'_>) {
    let cx = app.pane_cx(Pane::Stream);
    match (&app.logs, app.viewer(), &app.agent.server) {
        (Some(logs), ..) => drop(logs.view(&cx, canvas)),
        (None, Some(_), _) => drop(app.stream.view(&cx, canvas)),
        (None, None, _) => drop(app.agent.view(&cx, canvas)),
    }
}

fn too_small(canvas: &mut Canvas<'_>, quit: &str, w: u16, h: u16) {
    let (least_w, least_h) = SMALLEST;
    let quit = if quit.is_empty() {
        String::new()
    } else {
        format!(" Press {quit} to quit.")
    };
    let text = format!(
        "This terminal is too small: runtail needs {least_w}x{least_h}, this is {w}x{h}.{quit}"
    );
    for (y, line) in crate::widgets::line::wrap(&text, w as usize)
        .iter()
        .enumerate()
        .take(h as usize)
    {
        canvas.text(0, y as u16, w, line, Style::default());
    }
}
