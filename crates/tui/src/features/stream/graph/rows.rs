//! The lines of the rails, with the numbers at the right.

use super::GraphView;
use super::colors::color_of;
use super::picture::Picture;
use crate::widgets::line::{Line, Tone};
use crate::widgets::pattern::light;
use runtail_core::graph::{Cell, Glyphs, Row, Stub};
use runtail_core::text;
use runtail_stream::projection::{BarState, NodeActivity};
use std::time::Duration;

/// Columns of a state, the number of visits, a time and the longest bar, each with the blanks before it.
const STATE: usize = 7;
const VISITS: usize = 7;
const TIME: usize = 9;
const BAR: usize = 12;
/// Columns between the names and the rails at the right.
const GAP: usize = 3;
/// Columns of the shortest label that the numbers leave.
const MIN_LABEL: usize = 12;
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// The widths of the columns in a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Columns {
    left: usize,
    label: usize,
    /// The rails at the right, with the counts of the loops.
    right: usize,
    state: usize,
    visits: usize,
    time: usize,
    bar: usize,
}

/// A text in pieces; adjacent characters of one tone are one piece.
#[derive(Default)]
struct Pieces {
    line: Line,
    text: String,
    tone: Tone,
}

impl Pieces {
    fn push(&mut self, tone: Tone, glyph: char) {
        if tone != self.tone && !self.text.is_empty() {
            self.end();
        }
        self.tone = tone;
        self.text.push(glyph);
    }

    fn text(&mut self, tone: Tone, text: &str) {
        self.end();
        self.line.push(tone, text);
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.line.push(self.tone, &text);
    }

    fn finish(mut self) -> Line {
        self.end();
        self.line
    }
}

impl GraphView {
    /// Returns the widths of the columns: where there is no room, first the bars go, then the times, the visits and the states.
    /// The rails get at least the width of a title.
    pub(super) fn columns(&self, width: usize, title: &str, glyphs: Glyphs) -> Columns {
        let (left_lanes, right_lanes) = self.picture.rails.lanes;
        let left = (2 * left_lanes).max(1) + 1;
        let labels = self.picture.rails.rows.iter();
        // One column for a breakpoint after the node.
        let label = labels
            .map(|row| text::width(&glyphs.label(&self.picture.folded.graph, row)))
            .max()
            .unwrap_or(0)
            + 1;
        let loops = (0..self.picture.rows())
            .map(|row| self.picture.loops(self.picture.row(row).node))
            .max()
            .unwrap_or(0);
        let count = if loops > 0 {
            loops.to_string().len() + 2
        } else {
            0
        };
        let right = if right_lanes > 0 {
            GAP - 1 + 2 * right_lanes + count
        } else {
            0
        };
        // Without a thread nothing ran.
        let of_runs = |width: usize| if self.is_still { 0 } else { width };
        let mut columns = Columns {
            left,
            label,
            right,
            state: of_runs(STATE),
            visits: of_runs(VISITS),
            time: of_runs(TIME),
            bar: of_runs(BAR + 1),
        };
        let needed = |columns: &Columns| {
            columns.left
                + columns.label
                + columns.right
                + columns.state
                + columns.visits
                + columns.time
                + columns.bar
        };
        let least_useful: [fn(&mut Columns) -> &mut usize; 3] =
            [|of| &mut of.bar, |of| &mut of.time, |of| &mut of.visits];
        for column in least_useful {
            if needed(&columns) > width {
                *column(&mut columns) = 0;
            }
        }
        // A title that is wider than the rails pushes the numbers to the right.
        let missing = (text::width(title) + 2)
            .saturating_sub(columns.left + columns.label + columns.right + columns.state);
        columns.label += missing.min(width.saturating_sub(needed(&columns)));
        let over = needed(&columns).saturating_sub(width);
        columns.label = columns
            .label
            .saturating_sub(over)
            .max(MIN_LABEL.min(columns.label));
        if needed(&columns) > width {
            columns.state = 0;
        }
        columns
    }

    /// Returns the headings of the numbers, at the right of a title.
    pub(super) fn heading(&self, columns: &Columns, title: &str) -> Line {
        let before = columns.left + columns.label + columns.right + columns.state;
        let mut line = Line::dim(&text::seen(
            title,
            if columns.visits > 0 {
                before.saturating_sub(1)
            } else {
                200
            },
        ));
        let pad = before.saturating_sub(line.width());
        line.push_dim(&" ".repeat(pad));
        if columns.visits > 0 {
            line.push_dim(&format!("{:>width$}", "VISITS", width = columns.visits));
        }
        if columns.time > 0 {
            line.push_dim(&format!("{:>width$}", "TIME", width = columns.time));
        }
        line
    }

    /// Returns the line of a row.
    pub(super) fn row_line(&self, at: usize, columns: &Columns, glyphs: Glyphs) -> Line {
        let picture = &self.picture;
        let row = picture.row(at);
        let cursor = self.cursor_row().map(|row| picture.row(row).node);
        let tones = RowTones {
            picture,
            row,
            at,
            cursor,
        };
        let mut out = Pieces::default();
        for (lane, cell) in row.left.iter().enumerate().rev() {
            out.push(tones.cell(cell, false), glyphs.left(cell));
            if lane > 0 {
                out.push(
                    tones.stub(&row.left[lane..], cell.inner, false),
                    glyphs.stub(cell.inner),
                );
            }
        }
        out.push(tones.stub(&row.left, Stub::Solid, false), glyphs.entry(row));
        let (tone, mark) = self.breakpoint_mark(at, true, glyphs);
        out.push(tone, mark);
        self.label(&mut out, at, columns, glyphs);
        if picture.rails.lanes.1 > 0 {
            (0..GAP - 1).for_each(|_| out.push(Tone::Plain, ' '));
            out.push(tones.stub(&row.right, Stub::Solid, true), glyphs.exit(row));
            for (lane, cell) in row.right.iter().enumerate() {
                if lane > 0 {
                    out.push(
                        tones.stub(&row.right[lane..], cell.inner, true),
                        glyphs.stub(cell.inner),
                    );
                }
                out.push(tones.cell(cell, true), glyphs.right(cell));
            }
            let loops = if row.is_head {
                picture.loops(row.node)
            } else {
                0
            };
            let count = if loops > 0 {
                format!(" {loops}×")
            } else {
                String::new()
            };
            let width = columns.right.saturating_sub(GAP - 1 + 2 * row.right.len());
            out.text(Tone::Dim, &format!("{count:<width$}"));
        }
        self.numbers(&mut out, at, columns);
        out.finish()
    }

    fn label(&self, out: &mut Pieces, at: usize, columns: &Columns, glyphs: Glyphs) {
        let node = self.picture.node_of_row(at);
        let activity = self.picture.activity(at);
        let is_cursor = self.cursor_row() == Some(at);
        let tone = match activity.state {
            _ if activity.running > 0 || is_cursor => Tone::Strong,
            Some(BarState::Failed) => Tone::Bad,
            Some(_) => self.tone(at),
            None if !node.is_real() => Tone::Plain,
            None if self.is_still => self.tone(at),
            None => Tone::Dim,
        };
        let width = columns.label.saturating_sub(1);
        let label = text::fit(
            &glyphs.label(&self.picture.folded.graph, self.picture.row(at)),
            width,
        )
        .into_owned();
        let pad = columns.label.saturating_sub(text::width(&label) + 1);
        let mut line = Line::of(tone, &label);
        match self.hits_in(at).is_empty() {
            true => light(&mut line, self.search.pattern()),
            // Folded nodes are found in their group.
            false => line = Line::of(Tone::Hit, &label),
        }
        line.left
            .iter()
            .for_each(|piece| out.text(piece.tone, &piece.text));
        let (tone, mark) = self.breakpoint_mark(at, false, glyphs);
        out.push(tone, mark);
        out.text(Tone::Plain, &" ".repeat(pad));
    }

    /// Returns the mark of a breakpoint on one side of a node: for the next run, else one in effect.
    fn breakpoint_mark(&self, row: usize, is_before: bool, glyphs: Glyphs) -> (Tone, char) {
        match self.breakpoint_marks(row, is_before) {
            (true, _) => (Tone::Waiting, '‖'),
            (false, true) => (Tone::Strong, glyphs.breakpoint(true)),
            (false, false) => (Tone::Plain, ' '),
        }
    }

    /// Returns the color of the node of a row.
    pub(super) fn tone(&self, row: usize) -> Tone {
        color(&self.picture, self.picture.row(row).node)
    }

    fn numbers(&self, out: &mut Pieces, at: usize, columns: &Columns) {
        let (activity, stop) = (self.picture.activity(at), self.picture.stop(at));
        if activity.visits == 0 && stop.is_none() {
            // It may have run: its subgraph did.
            if columns.state > 0 && self.picture.silent_group(at).is_some() {
                out.text(
                    Tone::Dim,
                    &format!(" {:<width$}", "?", width = columns.state - 1),
                );
            }
            return;
        }
        if columns.state > 0 {
            let (tone, state) = state_mark(activity, stop);
            out.text(
                tone,
                &format!(" {state:<width$}", width = columns.state - 1),
            );
        }
        if activity.visits == 0 {
            return;
        }
        if columns.visits > 0 {
            let visits = format!("{}×", text::count(activity.visits));
            out.text(
                Tone::Plain,
                &format!("{visits:>width$}", width = columns.visits),
            );
        }
        if columns.time > 0 {
            let tilde = if activity.is_estimated { "~" } else { "" };
            let time = if activity.has_no_times {
                "–".to_string()
            } else {
                format!("{tilde}{}", text::span(activity.total))
            };
            out.text(
                Tone::Plain,
                &format!("{time:>width$}", width = columns.time),
            );
        }
        if columns.bar > 0 && !activity.has_no_times {
            // Some colors are underlined, so the blank has none.
            out.text(Tone::Plain, " ");
            out.text(self.tone(at), &bar(activity.total, self.longest()));
        }
    }

    /// Returns the longest time of a row.
    fn longest(&self) -> Duration {
        (0..self.picture.rows())
            .map(|row| self.picture.activity(row).total)
            .max()
            .unwrap_or_default()
    }

    /// Returns the last line: the neighbors of the node under the cursor, and its last visit.
    pub(super) fn detail(&self, width: usize) -> Line {
        let Some(row) = self.cursor_row() else {
            return Line::new();
        };
        let (picture, graph) = (&self.picture, &self.picture.folded.graph);
        let node = picture.row(row).node;
        let names = |nodes: &mut dyn Iterator<Item = usize>| {
            let names: Vec<&str> = nodes.map(|node| &*graph.nodes()[node].name).collect();
            names.join(", ")
        };
        let mut line =
            Line::strong(&text::seen(&graph.nodes()[node].name, width / 3)).with_dim(":");
        let from = names(&mut graph.sources(node));
        // The labels of edges belong to this line, never into the rails.
        let to = graph
            .edges()
            .iter()
            .filter(|edge| edge.from == node)
            .map(|edge| {
                let name = &graph.nodes()[edge.to].name;
                edge.label
                    .as_ref()
                    .map_or_else(|| name.clone(), |label| format!("{name} ({label})"))
            });
        let to: Vec<String> = to.collect();
        let mut parts = self.breakpoint_words(row);
        let found = self.hits_in(row);
        if !found.is_empty() {
            parts.push(format!("found in it: {}", found.join(", ")));
        }
        if !from.is_empty() {
            parts.push(format!("from {from}"));
        }
        if !to.is_empty() {
            parts.push(format!("to {}", to.join(", ")));
        }
        let activity = picture.activity(row);
        if activity.visits > 0 {
            parts.extend(activity.step.map(|step| format!("step {step}")));
            if activity.parallel > 1 {
                parts.push(format!("×{} in one step", activity.parallel));
            }
            if activity.attempt > 1 {
                parts.push(format!("attempt {}", activity.attempt));
            }
        }
        if let Some(group) = picture.silent_group(row) {
            parts.push(format!("{group} ran; its nodes sent no events"));
        }
        let room = width.saturating_sub(line.width() + 1);
        line.push_plain(&format!(" {}", text::seen(&parts.join(" · "), room)));
        line
    }

    /// Returns the path of the visited nodes, for a pane without room for the rails.
    pub(super) fn path(&self, width: usize) -> Line {
        let picture = &self.picture;
        let mut visited: Vec<usize> = (0..picture.rows())
            .filter(|row| picture.activity(*row).visits > 0)
            .collect();
        visited.sort_by_key(|row| {
            (
                picture.activity(*row).running > 0,
                picture.activity(*row).began,
            )
        });
        let running = visited
            .iter()
            .filter(|row| picture.activity(**row).running > 0)
            .count();
        let shown = visited.len() - running.saturating_sub(1);
        let mut steps: Vec<String> = vec!["START".into()];
        steps.extend(visited.iter().take(shown).map(|row| {
            let activity = picture.activity(*row);
            let mark = if activity.running > 0 { "◐ " } else { "" };
            let times = if activity.visits > 1 {
                format!(" ×{}", activity.visits)
            } else {
                String::new()
            };
            format!(
                "{mark}{}{times}",
                text::seen(&picture.node_of_row(*row).name, 30)
            )
        }));
        let more = if running > 1 {
            format!(" +{}", running - 1)
        } else {
            String::new()
        };
        // The newest steps are at the end.
        let full = |from: usize| {
            format!(
                "{}{}{more}",
                if from > 0 { "… ► " } else { "" },
                steps[from..].join(" ► ")
            )
        };
        let from = (0..steps.len())
            .find(|from| text::width(&full(*from)) <= width)
            .unwrap_or(steps.len() - 1);
        Line::plain(&full(from))
    }
}

/// Returns the color of a node, which its rail has too.
pub(super) fn color(picture: &Picture, node: usize) -> Tone {
    match picture.colors.get(node) {
        Some(number) if *number != usize::MAX => Tone::Label(color_of(*number)),
        _ => Tone::Plain,
    }
}

/// Returns the mark of a node's state, and its tone.
fn state_mark(activity: &NodeActivity, stop: Option<bool>) -> (Tone, String) {
    match activity.state {
        _ if stop == Some(true) => (Tone::Waiting, "◆ asks".into()),
        _ if stop == Some(false) => (Tone::Waiting, "‖ next".into()),
        _ if activity.running > 1 => (Tone::Moving, format!("◐ ×{}", activity.running)),
        _ if activity.running == 1 => (Tone::Moving, "◐ now".into()),
        _ if activity.failures > 0 => (Tone::Bad, format!("✗ {}", activity.failures)),
        Some(BarState::Interrupted) => (Tone::Dim, "◆".into()),
        Some(BarState::Abandoned) => (Tone::Dim, "■".into()),
        _ if activity.parallel > 1 => (Tone::Dim, format!("×{}", activity.parallel)),
        _ => (Tone::Plain, String::new()),
    }
}

/// Returns the bar of a time; none if the time is shown as `0ms`.
fn bar(time: Duration, longest: Duration) -> String {
    if time.as_millis() == 0 {
        return String::new();
    }
    let eighths = (time.as_secs_f64() / longest.as_secs_f64() * (BAR * 8) as f64).round() as usize;
    let eighths = eighths.min(BAR * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Chooses the tones of a row's rails: those of the cursor's node, then those that were taken.
struct RowTones<'a> {
    picture: &'a Picture,
    row: &'a Row,
    at: usize,
    /// The node under the cursor.
    cursor: Option<usize>,
}

impl RowTones<'_> {
    /// Returns the tone of an upright.
    fn cell(&self, cell: &Cell, is_right: bool) -> Tone {
        let rails = [cell.above, cell.below].into_iter().flatten();
        let best = rails
            .map(|target| self.rail(target, is_right))
            .min_by_key(|(rank, _)| *rank);
        match best {
            Some((_, tone)) => tone,
            None => self.stub(std::slice::from_ref(cell), cell.inner, is_right),
        }
    }

    /// Returns the tone of the stub towards these cells: the best of those that the node touches there.
    fn stub(&self, beyond: &[Cell], stub: Stub, is_right: bool) -> Tone {
        if stub == Stub::None {
            return Tone::Plain;
        }
        let own = self.row.node;
        let touched = beyond.iter().filter(|cell| cell.is_touched);
        let edges = touched
            .flat_map(|cell| [cell.above, cell.below])
            .flatten()
            .map(|target| {
                if target == own {
                    return self.rail(target, is_right);
                }
                let is_lit = self
                    .cursor
                    .is_some_and(|cursor| cursor == own || cursor == target);
                self.rank(is_lit, self.picture.taken(own, target) > 0, target)
            });
        edges
            .min_by_key(|(rank, _)| *rank)
            .map_or(Tone::Dim, |(_, tone)| tone)
    }

    /// Returns the tone of the rail to a target in this row, with its rank.
    fn rail(&self, target: usize, is_right: bool) -> (u8, Tone) {
        let is_lit = self.cursor.is_some_and(|cursor| {
            // A rail into the node is lit from its first source on, one out of it from the node on.
            let row = self.picture.rails.row_of[cursor];
            let leaves = self
                .picture
                .folded
                .graph
                .targets(cursor)
                .any(|to| to == target);
            cursor == target
                || (leaves
                    && if is_right {
                        self.at <= row
                    } else {
                        self.at >= row
                    })
        });
        self.rank(
            is_lit,
            self.picture.is_rail_taken(target, self.at, is_right),
            target,
        )
    }

    fn rank(&self, is_lit: bool, is_taken: bool, target: usize) -> (u8, Tone) {
        match (is_lit, is_taken) {
            (true, _) => (0, Tone::Accent),
            (_, true) => (1, color(self.picture, target)),
            _ => (2, Tone::Dim),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_are_shown_as_zero_have_no_bar() {
        let micros = Duration::from_micros;
        assert_eq!(
            (text::span(micros(900)), bar(micros(900), micros(900))),
            ("0ms".into(), String::new())
        );
        assert_eq!(bar(micros(1000), micros(1000)), "█".repeat(BAR));
    }
}
