//! Draws the History view.

use super::History;
use super::load::{Failure, failure_text};
use super::rows::RowContext;
use crate::features::stream::viewer::Viewer;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use runtail_core::text;

/// Draws the view in an area. `is_titled`: whether its title is above it.
pub(super) fn draw(
    viewer: &Viewer,
    canvas: &mut Canvas<'_>,
    area: Area,
    (focused, is_titled): (bool, bool),
) {
    let history = &viewer.views.history;
    let panes = history.panes_in(area, is_titled);
    if history.tree.is_empty() {
        let (tone, text) = empty_text(viewer);
        return canvas.words(area, tone, &text);
    }
    let in_difference = history.is_in_difference;
    if let Some(frames) = panes.frames {
        let titles = [
            format!("0 History · {}", history.title()),
            history.difference_title(),
        ];
        for ((frame, title), is_difference) in frames.into_iter().zip(titles).zip([false, true]) {
            let is_focused = focused && in_difference == is_difference;
            let tone = if is_focused { Tone::Focus } else { Tone::Plain };
            canvas.pane_frame(frame, &Line::of(tone, &title), is_focused);
        }
    }
    if let Some(at) = panes.heading {
        canvas.heading(at, &history.title(), focused && !in_difference);
    }
    let run_number = |id: &str| viewer.run_entry(id).and_then(|run| run.number);
    let cx = RowContext {
        tz: &viewer.tz,
        now: viewer.now,
        run_number: &run_number,
        is_active: viewer.thread_status().is_active(),
        width: usize::from(panes.rows.w.saturating_sub(3)),
    };
    let width = panes.rows.w.saturating_sub(3);
    if let Some(at) = panes.columns {
        canvas.line(at.x + 2, at.y, width, &history.column_line(&cx));
    }
    let cursor = history.under_cursor();
    let base = history.base.as_deref().and_then(|id| history.tree.find(id));
    for (y, (line, entry)) in (panes.rows.y..).zip(history.window(&cx)) {
        canvas.line(panes.rows.x + 2, y, width, &line);
        if entry.is_some() && entry == base {
            canvas.text(panes.rows.x, y, 1, "A", canvas.theme.style(Tone::Accent));
        }
        if entry.is_some() && entry == cursor {
            canvas.mark(panes.rows, y, focused && !in_difference);
        }
    }
    if let Some(at) = panes.difference_heading {
        canvas.heading(at, &history.difference_title(), focused && in_difference);
    }
    if let Some(area) = panes.difference {
        difference(viewer, canvas, area);
    }
}

fn difference(viewer: &Viewer, canvas: &mut Canvas<'_>, area: Area) {
    let history = &viewer.views.history;
    let words = |canvas: &mut Canvas<'_>, tone: Tone, text: &str| {
        canvas.words(
            Area {
                y: area.y.saturating_sub(1),
                h: area.h + 1,
                ..area
            },
            tone,
            text,
        );
    };
    if viewer.is_recording() {
        return words(
            canvas,
            Tone::Dim,
            "A recording has the checkpoints, but not the states at them.",
        );
    }
    let Some((old, new)) = history.pair() else {
        return;
    };
    if !history.difference.is_known() {
        return match [&new, &old]
            .into_iter()
            .find_map(|id| history.state_failure(id))
        {
            Some(why) => words(canvas, Tone::Bad, why),
            None => words(canvas, Tone::Dim, "Loading the states…"),
        };
    }
    for (y, line) in (area.y..area.y + area.h).zip(history.difference.window()) {
        canvas.line(area.x + 2, y, area.w.saturating_sub(3), &line);
    }
}

/// Returns the text of a view without checkpoints.
fn empty_text(viewer: &Viewer) -> (Tone, String) {
    if viewer.is_recording() {
        return (
            Tone::Dim,
            "This recording has no history of its thread.".into(),
        );
    }
    if viewer.thread_id.is_none() {
        return (
            Tone::Dim,
            "This stream has no thread, so there is no history.".into(),
        );
    }
    match &viewer.views.history.loading.failure {
        Some(failure @ Failure::NotOffered) => (Tone::Dim, failure_text(failure)),
        Some(failure) => (Tone::Bad, failure_text(failure)),
        None if viewer.views.history.is_loading_page()
            || !viewer.views.history.loading.is_complete =>
        {
            (Tone::Dim, "Loading the history…".into())
        }
        None if viewer.is_over() => (
            Tone::Dim,
            "No checkpoints. The server has none of this thread's runs.".into(),
        ),
        None => (
            Tone::Dim,
            "No checkpoints yet. A run saves one after each step.".into(),
        ),
    }
}

impl History {
    /// Returns the title of the tree.
    pub(super) fn title(&self) -> String {
        let loaded = if self.loading.is_complete {
            ""
        } else {
            " loaded"
        };
        let branches = text::counted(self.tree.branches(), "branch");
        let mut title = format!(
            "{}{loaded} · {branches}",
            text::counted(self.len(), "checkpoint")
        );
        if !self.search.is_empty() {
            title.push_str(&format!(" · /{}", text::seen(&self.search, 24)));
        }
        title
    }

    /// Returns the title of the difference: which states it compares, and who wrote it if it is the work of one step.
    fn difference_title(&self) -> String {
        let Some((old, new)) = self.pair() else {
            return "State".into();
        };
        let mark = if self.base.is_some() { "A " } else { "" };
        let from = if old.is_empty() {
            "empty".to_string()
        } else {
            self.step_name(&old)
        };
        let at = self
            .under_cursor()
            .filter(|at| self.base.is_none() && self.tree.is_of_nodes(*at));
        let by = match at {
            None => String::new(),
            Some(at) if self.tree.writers(at).is_empty() => " · writer unknown".into(),
            Some(at) => format!(" · written by {}", text::clean(&self.writers_text(at))),
        };
        format!("State · {mark}{from} → {}{by}", self.step_name(&new))
    }

    /// Returns the name of a checkpoint: its step. Steps of several branches have the same number, so with another branch its
    /// id follows.
    pub(super) fn step_name(&self, id: &str) -> String {
        let at = self.tree.find(id);
        let step = at.and_then(|at| self.tree.entries()[at].step);
        match (step, at.is_some_and(|at| self.tree.is_current(at))) {
            (Some(step), true) => format!("step {step}"),
            (Some(step), false) => format!("step {step} ({})", text::short_id(id)),
            (None, _) => format!("checkpoint {}", text::short_id(id)),
        }
    }
}
