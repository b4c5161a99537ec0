//! The lines of the Steps view.

use super::StepsState;
use crate::features::stream::summary;
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::{Clock, UNKNOWN, View, clock};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::status::precise;
use runtail_core::text;
use runtail_stream::projection::{Peek, RecordedAs, StepRow, StepSource, StepState, Steps};
use serde_json::Value;

/// Maximum columns of an answer after its question.
const MAX_ANSWER: usize = 40;
/// Maximum columns of a node.
const MAX_NODE: usize = 24;
/// Columns of the source, of a duration and of a time.
const SOURCE: usize = 6;
const TOOK: usize = 6;
const TIME: usize = 8;
const DATE: usize = 12;
/// Columns of how a step ended where its row is short.
pub const SHORT_TOOK: usize = 7;
/// Minimum widths for the source, and for durations.
const MIN_WIDTH_SOURCE: usize = 90;
const MIN_WIDTH_TOOK: usize = 60;
/// Minimum height for the card below the rows, and the lines of what was written there.
const MIN_HEIGHT_CARD: usize = 14;
const CARD: usize = 2;

/// The widths of columns that depend on the rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StepColumns {
    rails: usize,
    step: usize,
    node: usize,
    /// Whether some of the times are not of today.
    pub has_dates: bool,
}

impl StepColumns {
    pub fn of(steps: &Steps) -> StepColumns {
        let rails = steps.tree().rows().iter().map(|row| row.width()).max();
        let mut columns = StepColumns {
            rails: rails.unwrap_or(1).max(1),
            step: 4,
            node: 8,
            has_dates: false,
        };
        for row in steps.rows() {
            let digits = row.step.map_or(0, |step| step.to_string().len());
            columns.step = columns.step.max(digits);
        }
        columns.node = columns.node.max(node_width(steps.rows().iter()));
        columns
    }
}

/// The widths of all columns of a line.
struct Widths {
    rails: usize,
    step: usize,
    node: usize,
    wrote: usize,
    source: usize,
    took: usize,
    time: usize,
}

impl Widths {
    fn of(columns: StepColumns, width: usize) -> Widths {
        let is_shown = |columns: usize, from: usize| if width >= from { columns + 1 } else { 0 };
        let (source, took) = (
            is_shown(SOURCE, MIN_WIDTH_SOURCE),
            is_shown(TOOK, MIN_WIDTH_TOOK),
        );
        let rails = columns.rails.min((width / 4).max(3));
        let node = columns.node.min((width / 4).max(6));
        let time = 1 + if columns.has_dates { DATE } else { TIME };
        let fixed = rails + 1 + columns.step + 2 + node + 2 + source + took + time;
        Widths {
            rails,
            step: columns.step,
            node,
            wrote: width.saturating_sub(fixed),
            source,
            took,
            time,
        }
    }

    /// Returns the headings.
    fn heading(&self) -> Line {
        let mut line = Line::dim(&format!(
            "{:rails$} {:>step$}  {:node$}  {:wrote$}",
            "",
            "STEP",
            "NODE",
            text::fit("WROTE", self.wrote),
            rails = self.rails,
            step = self.step,
            node = self.node,
            wrote = self.wrote,
        ));
        if self.source > 0 {
            line.push_dim(&format!(" {:SOURCE$}", "SOURCE"));
        }
        if self.took > 0 {
            line.push_dim(&format!(" {:>TOOK$}", "TOOK"));
        }
        line.push_dim(&format!("{:>width$}", "TIME", width = self.time));
        line
    }
}

/// Returns the number of graphs that a row is nested in.
fn depth(row: &StepRow) -> usize {
    let is_name = |segment: &&std::sync::Arc<str>| !segment.bytes().all(|b| b.is_ascii_digit());
    row.ns.iter().filter(is_name).count()
}

/// Returns the mark of a row, its tone, and the tone of its words.
fn mark(row: &StepRow, is_current: bool) -> (&'static str, Tone, Tone) {
    let plain = if is_current { Tone::Plain } else { Tone::Dim };
    match row.state {
        StepState::Next => ("◌", Tone::Dim, Tone::Dim),
        StepState::Running => ("◐", Tone::Moving, plain),
        StepState::Done if is_current => ("●", Tone::Good, plain),
        StepState::Done => ("●", Tone::Dim, plain),
        StepState::Asked if is_current => ("◆", Tone::Waiting, Tone::Waiting),
        StepState::Asked => ("◆", Tone::Dim, plain),
        StepState::Failed => ("✗", Tone::Bad, Tone::Bad),
        StepState::Stopped => ("■", Tone::Dim, plain),
    }
}

impl Viewer {
    /// Returns the line of an entry.
    pub(super) fn step_line(&self, key: u64, width: usize) -> Option<Line> {
        let state = &self.views.steps;
        let row = state.row(key)?;
        let widths = Widths::of(state.columns, width);
        let is_current = state.steps.is_current(row);
        let (mark, mark_tone, words) = mark(row, is_current);
        let mut line = rails_line(state, row, widths.rails, (mark, mark_tone));
        let step = row.step.map_or("–".to_string(), |step| step.to_string());
        line.push(
            if is_current { Tone::Plain } else { Tone::Dim },
            &format!(" {step:>width$}  ", width = widths.step),
        );
        let fold = match (row.nested, row.bar) {
            (0, _) => "",
            (_, Some(bar)) if state.unfolded.contains(&bar) => "▾ ",
            _ => "▸ ",
        };
        let indent = "  ".repeat(depth(row).min(6));
        let name = format!("{indent}{fold}{}", node_name(row));
        push_node(&mut line, row, (&name, widths.node), (words, is_current));
        let before = line.width();
        let mut wrote = self.written(row, widths.wrote);
        if words != Tone::Plain {
            wrote.left.iter_mut().for_each(|piece| piece.tone = words);
        }
        line.left.extend(wrote.cut(widths.wrote).left);
        let missing = (before + widths.wrote).saturating_sub(line.width());
        line.push_plain(&" ".repeat(missing));
        if widths.source > 0 {
            line.push_dim(&format!(" {:SOURCE$}", row.source.word()));
        }
        if widths.took > 0 {
            line.push_dim(&format!(" {:>TOOK$}", took(row)));
        }
        let at = row.started.or(row.ended);
        let time = clock(at, &self.clock_of_step(key, row));
        line.push_dim(&format!(" {time:>width$}", width = widths.time - 1));
        Some(line)
    }

    /// Returns how the time of a row is shown. One that only the records have has no event to count from.
    fn clock_of_step(&self, key: u64, row: &StepRow) -> Clock<'_> {
        match row.place() {
            Some(_) => self.clock(View::Steps, key),
            None => self.wall_clock(),
        }
    }

    /// Returns the line of a row without its place in the tree of branches: its node, how it ended, and what it wrote or asked.
    pub fn short_step_line(&self, row: &StepRow, node: usize, width: usize) -> Line {
        let is_current = self.views.steps.steps.is_current(row);
        let (mark, tone, words) = mark(row, is_current);
        let (mut line, name) = match is_input(row) {
            true => (Line::plain("  "), "input"),
            false => (Line::of(tone, mark).with_plain(" "), node_name(row)),
        };
        push_node(&mut line, row, (name, node), (words, is_current));
        let how = match (&row.question, &row.error) {
            (_, Some(_)) => "failed".to_string(),
            (Some(_), None) => "asked".into(),
            (None, None) if is_input(row) => String::new(),
            (None, None) => took(row),
        };
        line.push_dim(&format!("{how:SHORT_TOOK$} "));
        let room = width.saturating_sub(line.width());
        let mut wrote = match &row.question {
            Some(question) if row.error.is_none() => Line::of(words, &text::seen(question, room)),
            _ => self.written(row, room),
        };
        if !is_current {
            wrote.left.iter_mut().for_each(|piece| piece.tone = words);
        }
        line.left.extend(wrote.cut(room).left);
        line
    }

    /// Returns whether the filter accepts a row, and the number of bytes read. What only the records have of it has no event, so
    /// its own words are searched.
    pub fn accepts_step(&self, row: &StepRow) -> (bool, usize) {
        if row.place().is_some() {
            return self.accepts_event(row.place());
        }
        let steps = &self.views.steps.steps;
        let texts = [
            row.question.as_deref(),
            row.error.as_deref(),
            steps.result(row).or(steps.summary(row)),
            steps.checkpoint(row).map(|entry| &*entry.id),
        ];
        let texts: Vec<&str> = texts.into_iter().flatten().collect();
        let read = texts.iter().map(|text| text.len()).sum();
        let (filter, run) = (&self.finding().filter, row.run_id.as_deref());
        (filter.matches_record(run, Some(row), &texts), read)
    }

    /// Returns what a row wrote, as JSON or in words: the data of its event, else what the records have.
    pub fn copied_step(&self, row: &StepRow) -> Option<String> {
        let steps = &self.views.steps.steps;
        let event = row.place().and_then(|seq| self.event_log.get(seq));
        let written = event.map(|event| event.data.text().to_string());
        let recorded = || Some(steps.result(row).or(steps.summary(row))?.to_string());
        written
            .or_else(recorded)
            .or_else(|| Some(steps.checkpoint(row)?.id.clone()))
    }

    /// Summarizes what a row wrote, asked, or failed with.
    fn written(&self, row: &StepRow, room: usize) -> Line {
        if let Some(error) = &row.error {
            return Line::bad(&text::seen(error, room));
        }
        let event = row.written.and_then(|seq| self.event_log.get(seq));
        if let Some(question) = &row.question {
            let answer = row
                .is_answered()
                .then(|| self.answer_of(row.run_id.as_deref(), MAX_ANSWER));
            let answer = answer.map_or(String::new(), |answer| format!(" → {answer}"));
            let asked = format!("asked: {}", text::clean(question));
            let left = room.saturating_sub(text::width(&answer));
            return Line::plain(&text::fit(&asked, left)).with_plain(&answer);
        }
        let of_event = event.and_then(|event| summary::written(&event, &row.node, room));
        if let Some(line) = of_event {
            return line;
        }
        let steps = &self.views.steps.steps;
        if let Some(json) = steps.result(row).filter(|json| *json != "{}") {
            return summary::result(Peek::of(json), room);
        }
        let entry = steps.checkpoint(row);
        let changed = entry.map_or("", |entry| &entry.changed);
        if matches!(row.recorded, Some(RecordedAs::Whole(_))) && !changed.is_empty() {
            return Line::plain(&text::seen(changed, room));
        }
        let words = match (row.state, row.recorded) {
            (StepState::Next, _) => "next".into(),
            (StepState::Running, _) => "running".into(),
            (StepState::Stopped, _) => "stopped".into(),
            (_, Some(RecordedAs::Whole(_))) if row.source == StepSource::Update => {
                "state edited".into()
            }
            (_, Some(RecordedAs::Whole(_))) if row.source == StepSource::Fork => "run again".into(),
            _ => match steps.summary(row) {
                Some(summary) => text::clean(summary).into_owned(),
                None => messages_added(steps, row),
            },
        };
        Line::dim(&text::fit(&words, room))
    }

    /// Returns the answer that a run began with, in so many columns.
    pub fn answer_of(&self, run: Option<&str>, room: usize) -> String {
        let record = run.and_then(|run| self.projections.status.record(run));
        let shown = |value: &Value| match value {
            Value::String(text) => text::seen(text, room),
            value => text::seen(&value.to_string(), room),
        };
        // The answers to several questions are sent by the ids of the questions.
        let is_id = |key: &String| key.len() == 32 && key.bytes().all(|b| b.is_ascii_hexdigit());
        match record.and_then(|record| record.resume()) {
            None | Some(Value::Null) => "answered".into(),
            Some(Value::Object(by_id)) if !by_id.is_empty() && by_id.keys().all(is_id) => {
                let all: Vec<String> = by_id.values().map(shown).collect();
                text::fit(&all.join(", "), room).into_owned()
            }
            Some(value) => shown(&value),
        }
    }
}

/// Returns whether a row is the input of a run.
pub fn is_input(row: &StepRow) -> bool {
    row.source == StepSource::Input && &*row.node == "__start__"
}

/// Returns the name of a row's node, or the word for what has none.
fn node_name(row: &StepRow) -> &str {
    match &*row.node {
        "" => UNKNOWN,
        "__interrupt__" => "question",
        name => name,
    }
}

/// Returns the columns of the longest name among rows, with an indent for nested ones.
pub fn node_width<'a>(rows: impl Iterator<Item = &'a StepRow>) -> usize {
    let width = |row| text::width(node_name(row)) + 2 * depth(row);
    rows.map(width).max().unwrap_or(0).min(MAX_NODE)
}

fn push_node(
    line: &mut Line,
    row: &StepRow,
    (name, width): (&str, usize),
    (words, is_current): (Tone, bool),
) {
    let shown = text::seen(name, width);
    let is_named = !row.node.is_empty() && name.ends_with(&*row.node);
    let tone = match (words, is_current) {
        (Tone::Bad, _) => Tone::Bad,
        (_, false) => Tone::Dim,
        _ if !is_named => Tone::Dim,
        _ => Tone::label(&row.node),
    };
    let missing = width.saturating_sub(text::width(&shown));
    line.push(tone, &shown);
    line.push_plain(&" ".repeat(missing + 2));
}

/// Returns how many messages a step added, where the records tell nothing else.
fn messages_added(steps: &Steps, row: &StepRow) -> String {
    let added = steps.checkpoint(row).and_then(|entry| entry.new_messages);
    match added.filter(|count| *count > 0 && row.state == StepState::Done) {
        Some(count) => format!("+{}", text::counted(count, "message")),
        None => String::new(),
    }
}

fn took(row: &StepRow) -> String {
    match row.took().filter(|_| row.state != StepState::Next) {
        Some(took) if row.is_estimated => format!("~{}", precise(took)),
        Some(took) => precise(took),
        None => String::new(),
    }
}

/// Returns the tree of branches of a row, with its mark.
fn rails_line(state: &StepsState, row: &StepRow, room: usize, (mark, tone): (&str, Tone)) -> Line {
    let (before, after) = state.steps.rails(row);
    // A tree that is too wide loses its left lanes, which the other rows show.
    let most = room.saturating_sub(1);
    let before = match text::width(&before) > most {
        true => {
            let kept: String = before.chars().take(most.saturating_sub(2)).collect();
            format!("{kept}… ")
        }
        false => before,
    };
    let left = most.saturating_sub(text::width(&before));
    let after: String = after.chars().take(left).collect();
    let is_base = state.base.is_some()
        && state.steps.checkpoint(row).map(|entry| &entry.id) == state.base.as_ref();
    let (mark, tone) = if is_base {
        ("A", Tone::Accent)
    } else {
        (mark, tone)
    };
    Line::dim(&before)
        .with(tone, mark)
        .with_dim(&format!("{after:left$}"))
}

/// Returns the lines above and below the rows: notes and headings, and the card of the row under the cursor.
pub(super) fn around(viewer: &Viewer) -> (Vec<Line>, Vec<Line>) {
    let state = &viewer.views.steps;
    let (width, height) = state.size;
    let mut head: Vec<Line> = Vec::new();
    if viewer.shown_checkpoint().is_none() {
        let notes = state.notes();
        let lines = notes.iter().flat_map(|note| wrap(note, width));
        head.extend(lines.map(|line| Line::dim(&line)));
    }
    if !state.visible.is_empty() {
        head.push(Widths::of(state.columns, width).heading());
    }
    let Some(row) = state
        .current()
        .filter(|_| state.is_open || height >= MIN_HEIGHT_CARD)
    else {
        return (head, Vec::new());
    };
    let title = match state.is_open {
        true => state.difference_title(),
        false => row_title(viewer, row),
    };
    let title = text::seen(&title, width.saturating_sub(4));
    let rule = "─".repeat(width.saturating_sub(text::width(&title) + 4));
    let tone = match state.is_in_difference {
        true => Tone::Focus,
        false => Tone::Plain,
    };
    let mut foot = vec![
        Line::dim("── ")
            .with(tone, &title)
            .with_dim(&format!(" {rule}")),
    ];
    // The same height for all rows, so that nothing jumps.
    let room = match state.is_open {
        true => state.difference.height,
        false => CARD,
    };
    foot.extend(match state.is_open {
        true => state.difference_lines(viewer),
        false => viewer.written(row, width * CARD).broken(width, 0, CARD),
    });
    foot.resize(room + 1, Line::new());
    (head, foot)
}

/// Names a row: its step, node, run and checkpoint.
fn row_title(viewer: &Viewer, row: &StepRow) -> String {
    let mut parts = Vec::new();
    parts.extend(row.step.map(|step| format!("Step {step}")));
    parts.extend((!row.node.is_empty()).then(|| row.node.to_string()));
    let run = row.run_id.as_deref().and_then(|id| viewer.run_entry(id));
    parts.extend(run.map(|run| run.name()));
    let entry = viewer.views.steps.steps.checkpoint(row);
    parts.extend(entry.map(|entry| format!("checkpoint {}", text::short_id(&entry.id))));
    parts.join(" · ")
}

impl StepsState {
    /// Returns what the view's title adds: what is loaded, in several branches.
    pub(super) fn about(&self) -> Option<String> {
        let branches = self.tree().branches();
        (branches > 1).then(|| text::counted(branches, "branch"))
    }

    /// Returns the title of the difference: which states it compares.
    fn difference_title(&self) -> String {
        let Some((old, new)) = self.pair() else {
            return "No checkpoint yet".into();
        };
        let mark = if self.base.is_some() { "A " } else { "" };
        let from = match old.as_str() {
            "" => "empty".to_string(),
            old => self.step_name(old),
        };
        format!("State · {mark}{from} → {}", self.step_name(&new))
    }

    /// Returns the visible lines of the difference.
    fn difference_lines(&self, viewer: &Viewer) -> Vec<Line> {
        if viewer.is_recording() {
            return vec![Line::dim("A recording has no states of checkpoints.")];
        }
        let Some((old, new)) = self.pair() else {
            return Vec::new();
        };
        if self.difference.is_known() {
            return self.difference.window();
        }
        let failure = [&new, &old]
            .into_iter()
            .find_map(|id| self.state_failure(id));
        vec![match failure {
            Some(why) => Line::bad(why),
            None => Line::dim("Loading the states…"),
        }]
    }
}
