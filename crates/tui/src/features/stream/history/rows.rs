//! The lines of the tree.

use super::History;
use crate::widgets::line::{Line, Tone, wrap};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use runtail_core::model::{GraphRow, StepOutcome};
use runtail_core::text;

/// Columns of a time of day, and of a date with a time.
const TIME: usize = 8;
const DATE: usize = 11;
/// Columns of a run's number.
const RUN: usize = 4;
/// Columns that the names of those that wrote a checkpoint get.
const MAX_WRITERS: usize = 24;
/// The text for writers that the server doesn't name.
const UNKNOWN: &str = "unknown";
/// Minimum width for the numbers of runs.
const MIN_WIDTH_RUN: usize = 58;
/// The mark of the head, with its space.
const HEAD: &str = "  head";

/// What the rows need to know besides the checkpoints.
pub(super) struct RowContext<'a> {
    pub tz: &'a TimeZone,
    pub now: Timestamp,
    /// Returns the number of a run.
    pub run_number: &'a dyn Fn(&str) -> Option<usize>,
    /// Whether a run is active, so that the head is not final.
    pub is_active: bool,
    /// The columns of the lines.
    pub width: usize,
}

/// The widths of the columns.
#[derive(Debug, Clone, Copy)]
struct TreeColumns {
    graph: usize,
    step: usize,
    writer: usize,
    wrote: usize,
    run: usize,
    at: usize,
}

impl History {
    /// Returns the number of lines below the last row.
    pub(super) fn footer_height(&self) -> usize {
        self.footer().len()
    }

    /// Returns the lines below the last row: what is loaded, and what that means.
    pub(super) fn footer(&self) -> Vec<String> {
        if self.tree.is_empty() {
            return Vec::new();
        }
        let more = if self.is_loading_page() && !self.loading.is_complete {
            " Loading…"
        } else {
            ""
        };
        let mut lines = vec![format!("{}{more}", self.loaded_text())];
        if self.saved_only_last() {
            lines.push(
                "Only the last checkpoint was saved; there's nothing to run again from.".into(),
            );
        }
        let width = usize::from(self.panes.rows.w.saturating_sub(3));
        lines.iter().flat_map(|line| wrap(line, width)).collect()
    }

    fn columns(&self, cx: &RowContext<'_>) -> TreeColumns {
        let rows = self
            .tree
            .rows()
            .iter()
            .skip(self.top)
            .take(self.panes.rows.h.into());
        let (mut graph, mut step, mut writer, mut at, mut has_runs) = (1, 4, 6, TIME, false);
        for row in rows {
            graph = graph.max(row.width());
            let Some(entry) = row
                .entry
                .and_then(|entry| Some((entry, self.tree.entries().get(entry)?)))
            else {
                continue;
            };
            let (index, entry) = entry;
            step = step.max(entry.step.map_or(0, |step| step.to_string().len()));
            writer = writer.max(text::width(&self.writers_text(index)));
            has_runs |= entry.run_id.as_deref().and_then(cx.run_number).is_some();
            if entry.at.is_some_and(|at| !is_same_day(at, cx)) {
                at = DATE;
            }
        }
        let graph = graph.min((cx.width / 4).max(3));
        let writer = writer.min(MAX_WRITERS).min(cx.width / 4);
        let run = if has_runs && cx.width >= MIN_WIDTH_RUN {
            RUN + 1
        } else {
            0
        };
        let at = if cx.width >= 40 { at + 1 } else { 0 };
        let wrote = cx
            .width
            .saturating_sub(graph + 1 + step + 2 + writer + 2 + run + at);
        TreeColumns {
            graph,
            step,
            writer,
            wrote,
            run,
            at,
        }
    }

    /// Returns the names of those that wrote a checkpoint, all of them.
    pub(super) fn writers_text(&self, at: usize) -> String {
        let writers = self.tree.writers(at);
        if writers.is_empty() {
            UNKNOWN.to_string()
        } else {
            writers.join(", ")
        }
    }

    /// Returns the headings of the columns.
    pub(super) fn column_line(&self, cx: &RowContext<'_>) -> Line {
        let columns = self.columns(cx);
        let TreeColumns {
            graph,
            step,
            writer,
            wrote,
            run,
            at,
        } = columns;
        let mut line = Line::dim(&format!(
            "{:graph$} {:>step$}  {:writer$}  {:wrote$}",
            "",
            "STEP",
            fit("WRITER", writer),
            fit("WROTE", wrote)
        ));
        line.push_dim(&if run > 0 {
            format!("{:>run$}", "RUN")
        } else {
            String::new()
        });
        line.push_dim(&if at > 0 {
            format!(" {:<width$}", "AT", width = at - 1)
        } else {
            String::new()
        });
        line
    }

    /// Returns the visible lines, each with its checkpoint.
    pub(super) fn window(&self, cx: &RowContext<'_>) -> Vec<(Line, Option<usize>)> {
        let height = usize::from(self.panes.rows.h);
        let columns = self.columns(cx);
        let rows = self.tree.rows().iter().skip(self.top).take(height);
        let mut lines: Vec<_> = rows
            .map(|row| (self.row_line(row, columns, cx), row.entry))
            .collect();
        let skipped = self.top.saturating_sub(self.tree.rows().len());
        let footer = self
            .footer()
            .into_iter()
            .skip(skipped)
            .map(|text| (Line::dim(&text), None));
        let room = height - lines.len();
        lines.extend(footer.take(room));
        lines
    }

    fn row_line(&self, row: &GraphRow, columns: TreeColumns, cx: &RowContext<'_>) -> Line {
        let (before, after) = row.text();
        let Some((at, entry)) = row
            .entry
            .and_then(|at| Some((at, self.tree.entries().get(at)?)))
        else {
            return Line::dim(&fit(&before, columns.graph));
        };
        let is_current = self.tree.is_current(at);
        let (plain, strong) = if is_current {
            (Tone::Plain, Tone::Strong)
        } else {
            (Tone::Dim, Tone::Dim)
        };
        let (mark, mark_tone, text_tone) = self.mark(at, cx);
        // A graph that is too wide loses its left lanes, which the other rows show.
        let room = columns.graph.saturating_sub(1);
        let before = if text::width(&before) > room {
            format!("{}… ", fit_hard(&before, room.saturating_sub(2)))
        } else {
            before
        };
        let before_width = text::width(&before);
        let after = fit_hard(&after, columns.graph.saturating_sub(before_width + 1));
        let mut line = Line::dim(&before).with(mark_tone, mark);
        let pad = columns.graph.saturating_sub(before_width + 1);
        line.push_dim(&format!("{after:pad$} "));
        let step = entry
            .step
            .map_or_else(|| "–".to_string(), |step| step.to_string());
        line.push(plain, &format!("{step:>width$}  ", width = columns.step));
        let writers = self.writers_text(at);
        // The tone of a question or a failure belongs to the step after this checkpoint, not to those that wrote it.
        let writer_tone = match (
            self.under_cursor() == Some(at),
            is_current && writers != UNKNOWN,
        ) {
            (true, _) => strong,
            (false, true) => Tone::label(&writers),
            (false, false) => Tone::Dim,
        };
        line.push(writer_tone, &fit(&writers, columns.writer));
        line.push(plain, "  ");
        let head = if at == 0 && columns.wrote > 2 * HEAD.len() {
            HEAD
        } else {
            ""
        };
        let wrote = text::fit(
            &text::clean(&self.tree.wrote(at)),
            columns.wrote.saturating_sub(head.len()),
        )
        .into_owned();
        let pad = columns
            .wrote
            .saturating_sub(text::width(&wrote) + head.len());
        line.push(text_tone.unwrap_or(plain), &wrote);
        line.push_strong(head);
        line.push_plain(&" ".repeat(pad));
        if columns.run > 0 {
            let number = entry
                .run_id
                .as_deref()
                .and_then(cx.run_number)
                .map(|number| number.to_string());
            line.push_dim(&format!(
                "{:>width$}",
                number.unwrap_or_default(),
                width = columns.run
            ));
        }
        if columns.at > 0 {
            line.push_dim(&format!(
                " {:>width$}",
                time(entry.at, cx, columns.at - 1),
                width = columns.at - 1
            ));
        }
        line
    }

    /// Returns the mark of a checkpoint and its tone, and the tone of its words where they share it.
    fn mark(&self, at: usize, cx: &RowContext<'_>) -> (&'static str, Tone, Option<Tone>) {
        let is_open = self.tree.children(at).is_empty();
        let is_running = at == 0
            && cx.is_active
            && self
                .tree
                .entries()
                .first()
                .is_some_and(|head| !head.next.is_empty());
        match self.tree.outcome(at) {
            _ if is_running => ("◐", Tone::Moving, None),
            StepOutcome::Failed => ("✗", Tone::Bad, Some(Tone::Bad)),
            StepOutcome::Asks if is_open => ("◆", Tone::Waiting, Some(Tone::Waiting)),
            StepOutcome::Asks => ("◆", Tone::Dim, None),
            StepOutcome::Good if self.tree.is_current(at) => ("●", Tone::Good, None),
            StepOutcome::Good => ("●", Tone::Dim, None),
        }
    }
}

fn is_same_day(at: Timestamp, cx: &RowContext<'_>) -> bool {
    at.to_zoned(cx.tz.clone()).date() == cx.now.to_zoned(cx.tz.clone()).date()
}

fn time(at: Option<Timestamp>, cx: &RowContext<'_>, width: usize) -> String {
    let Some(at) = at else { return "–".into() };
    let format = if width < DATE {
        "%H:%M:%S"
    } else {
        "%m-%d %H:%M"
    };
    at.to_zoned(cx.tz.clone()).strftime(format).to_string()
}

/// Sanitizes a text, and cuts or pads it to a width.
fn fit(source: &str, width: usize) -> String {
    let fitted = text::seen(source, width);
    let pad = width.saturating_sub(text::width(&fitted));
    format!("{fitted}{}", " ".repeat(pad))
}

/// Cuts a text of single-width characters without a mark.
fn fit_hard(source: &str, width: usize) -> String {
    source.chars().take(width).collect()
}
