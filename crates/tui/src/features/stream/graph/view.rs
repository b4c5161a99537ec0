//! Draws the Graph view.

use super::load::GraphFailure;
use super::{GraphView, MIN_HEIGHT};
use crate::features::stream::viewer::Viewer;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_core::graph::Glyphs;
use runtail_core::text;

/// Columns before and after the lines.
const GUTTER: u16 = 3;

/// The words around a graph.
pub(super) struct Words {
    /// The title above the rows; empty where something else has it.
    pub title: String,
    /// What is shown instead of an empty graph.
    pub empty: Option<(Tone, String)>,
}

/// Draws a graph in an area.
pub(super) fn draw_graph(
    graph: &GraphView,
    words: &Words,
    canvas: &mut Canvas<'_>,
    area: Area,
    (focused, ascii): (bool, bool),
) {
    let glyphs = if ascii {
        Glyphs::Ascii
    } else {
        Glyphs::Unicode
    };
    if let Some((tone, text)) = &words.empty {
        return canvas.words(area, *tone, text);
    }
    let width = area.w.saturating_sub(GUTTER);
    if area.h < MIN_HEIGHT && !graph.is_still {
        return canvas.line(area.x + 2, area.y, width, &graph.path(width.into()));
    }
    let columns = graph.columns(width.into(), &words.title, glyphs);
    let head = graph.head() as u16;
    if head > 0 {
        canvas.line(
            area.x + 2,
            area.y,
            width,
            &graph.heading(&columns, &words.title),
        );
    }
    let cursor = graph.cursor_row();
    let bottom = area.y + area.h.saturating_sub(1);
    for (y, row) in (area.y + head..bottom).zip(graph.top..graph.picture.rows()) {
        canvas.line(area.x + 2, y, width, &graph.row_line(row, &columns, glyphs));
        if cursor == Some(row) {
            let style = canvas
                .theme
                .style(if focused { Tone::Accent } else { Tone::Dim });
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
    pub(super) fn title(&self, viewer: &Viewer) -> String {
        let (visited, all) = self.picture.visited(&self.whole, self.activity.activity());
        let name = viewer.graph_name().map(|name| text::seen(&name, 30));
        let mut parts: Vec<String> = name.into_iter().collect();
        match self.is_observed {
            true => parts.push("observed".into()),
            false => {
                let is_silent = |row| self.picture.silent_group(row).is_some();
                let more = (0..self.picture.rows()).any(is_silent).then_some("+");
                let more = more.unwrap_or_default();
                parts.push(format!("{visited}{more} of {all} visited"));
            }
        }
        parts.extend(viewer.runs_in_graph());
        parts.extend(self.cut_words());
        parts.join(" · ")
    }

    /// Returns what the drawing leaves out.
    pub(super) fn cut_words(&self) -> Vec<String> {
        let is_shortened = self.picture.rails.lanes != self.picture.rails.wanted;
        let words = [
            (self.whole.is_cut(), "too large, truncated"),
            (is_shortened, "long rails cut"),
        ];
        words
            .into_iter()
            .filter(|(is_true, _)| *is_true)
            .map(|(_, words)| words.to_string())
            .collect()
    }

    /// Returns what replaces the last line: what happens to the graph, or why the server has none.
    fn notice(&self) -> Option<(Tone, String)> {
        if self.loading.number.is_some() && !self.loading.has_graph {
            return Some((Tone::Dim, "Loading the graph…".into()));
        }
        match self.loading.failure.as_ref()? {
            GraphFailure::Request(cause) if self.loading.has_graph => {
                Some((Tone::Bad, format!("Couldn't reload the graph: {cause}.")))
            }
            GraphFailure::Request(cause) => Some((
                Tone::Bad,
                format!("Couldn't load the graph: {cause}. Showing observed steps."),
            )),
            GraphFailure::NotOffered | GraphFailure::Empty if self.is_paused || self.is_still => {
                None
            }
            GraphFailure::NotOffered | GraphFailure::Empty => Some((
                Tone::Dim,
                "This server doesn't describe its graph. Showing observed steps.".into(),
            )),
        }
    }

    /// Returns the text of a view without a graph.
    pub(super) fn empty_text(&self, viewer: &Viewer) -> Option<(Tone, String)> {
        if self.picture.rows() > 0 {
            return None;
        }
        if self.loading.number.is_some() {
            return Some((Tone::Dim, "Loading the graph…".into()));
        }
        let yet = if viewer.is_over() { "" } else { " yet" };
        Some(match &self.loading.failure {
            Some(GraphFailure::Request(cause)) => (
                Tone::Bad,
                format!("Couldn't load the graph: {cause}. No steps{yet}. Press r to retry."),
            ),
            Some(GraphFailure::NotOffered | GraphFailure::Empty) => (
                Tone::Dim,
                format!("This server doesn't describe its graph, and there are no steps{yet}."),
            ),
            None if viewer.is_recording() => (Tone::Dim, "This recording has no steps.".into()),
            None => (Tone::Dim, format!("No steps{yet}.")),
        })
    }
}
