//! Draws the Graph view.

use super::load::Failure;
use super::{GraphView, MIN_HEIGHT};
use crate::features::stream::viewer::Viewer;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_core::graph::Glyphs;
use runtail_core::text;

/// Columns before and after the lines.
const GUTTER: u16 = 3;

/// Draws the view in an area.
pub(in crate::features::stream) fn draw(
    viewer: &Viewer,
    canvas: &mut Canvas<'_>,
    area: Area,
    (focused, ascii): (bool, bool),
) {
    let graph = &viewer.graph;
    let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
    if let Some((tone, text)) = graph.empty_text(viewer) {
        return canvas.words(area, tone, &text);
    }
    let width = area.w.saturating_sub(GUTTER);
    if area.h < MIN_HEIGHT {
        return canvas.line(area.x + 2, area.y, width, &graph.path(width.into()));
    }
    let title = if viewer.split { String::new() } else { graph.title(viewer) };
    let columns = graph.columns(width.into(), &title, glyphs);
    canvas.line(area.x + 2, area.y, width, &graph.heading(&columns, &title));
    let cursor = graph.cursor_row();
    let bottom = area.y + area.h.saturating_sub(1);
    for (y, row) in (area.y + 1..bottom).zip(graph.top..graph.picture.rows()) {
        canvas.line(area.x + 2, y, width, &graph.row_line(row, &columns, glyphs));
        if cursor == Some(row) {
            let style = canvas.theme.style(if focused { Tone::Accent } else { Tone::Dim });
            canvas.text(area.x + 1, y, 1, "▌", style);
        }
    }
    let last = match graph.notice() {
        Some((tone, notice)) => Line::of(tone, &notice),
        None => graph.detail(width.into()),
    };
    canvas.line(area.x + 2, bottom, width, &last);
}

impl GraphView {
    /// Returns the title: the graph's name, how many nodes were visited, and whether it is observed.
    pub(in crate::features::stream) fn title(&self, viewer: &Viewer) -> String {
        let (visited, all) = self.picture.visited(&self.whole, self.activity.activity());
        let name = viewer.graph_name().map(|name| text::seen(&name, 30));
        let mut parts: Vec<String> = name.into_iter().collect();
        match self.is_observed {
            true => parts.push("observed".into()),
            false => parts.push(format!("{visited} of {all} visited")),
        }
        parts.extend(viewer.runs_in_graph());
        if self.whole.is_cut() {
            parts.push("too large, truncated".into());
        }
        if self.picture.rails.lanes != self.picture.rails.wanted {
            parts.push("long rails cut".into());
        }
        parts.join(" · ")
    }

    /// Returns what replaces the last line: what happens to the graph, or why the server has none.
    fn notice(&self) -> Option<(Tone, String)> {
        if self.loading.is_loading() && !self.loading.has_graph() {
            return Some((Tone::Dim, "Loading the graph…".into()));
        }
        match self.loading.failure()? {
            Failure::Request(cause) if self.loading.has_graph() => {
                Some((Tone::Bad, format!("Couldn't reload the graph: {cause}.")))
            }
            Failure::Request(cause) => {
                Some((Tone::Bad, format!("Couldn't load the graph: {cause}. Showing observed steps.")))
            }
            Failure::NotOffered if self.is_paused => None,
            Failure::NotOffered => {
                Some((Tone::Dim, "This server doesn't describe its graph. Showing observed steps.".into()))
            }
        }
    }

    /// Returns the text of a view without a graph.
    fn empty_text(&self, viewer: &Viewer) -> Option<(Tone, String)> {
        if self.picture.rows() > 0 {
            return None;
        }
        if self.loading.is_loading() {
            return Some((Tone::Dim, "Loading the graph…".into()));
        }
        Some(match self.loading.failure() {
            Some(Failure::Request(cause)) => {
                (Tone::Bad, format!("Couldn't load the graph: {cause}. No steps yet. Press r to retry."))
            }
            Some(Failure::NotOffered) => {
                (Tone::Dim, "This server doesn't describe its graph, and there are no steps yet.".into())
            }
            None if viewer.is_recording() => (Tone::Dim, "This recording has no steps.".into()),
            None => (Tone::Dim, "No steps yet.".into()),
        })
    }
}
