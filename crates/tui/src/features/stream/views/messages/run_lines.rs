//! The lines of a thread without messages: the steps of its runs with what they wrote and asked, the answers, the ends of the
//! runs, and the result.

use crate::features::stream::find::Landmark;
use crate::features::stream::formats::{Format, Part};
use crate::features::stream::summary;
use crate::features::stream::viewer::Viewer;
use crate::features::stream::views::messages::go_to_problem;
use crate::features::stream::views::messages::rules::run_rule;
use crate::features::stream::views::steps::{SHORT_TOOK, is_input, node_width};
use crate::features::stream::views::stream_view::{
    Around, EVENTS, StreamView, ViewFacts, ViewLayout, ViewRows,
};
use crate::features::stream::views::{View, clock};
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, LinePos, ScrollList};
use jiff::Timestamp;
use runtail_core::json::Peek;
use runtail_core::text;
use runtail_core::text::markdown::inline;
use runtail_stream::Seq;
use runtail_stream::projection::{
    RunEntry, RunOutcome, StateSource, StepRow, StepSource, StepState, Steps,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of keys of the result.
const MAX_RESULTS: usize = 8;
/// Maximum number of bytes of the result that are read, and of columns of one of its values.
const MAX_READ: usize = 64 << 10;
const MAX_VALUE: usize = 400;
/// Columns of the words beside nodes: `input`, `result`.
const MIN_NODE: usize = 6;

/// A line about the runs of a thread.
#[derive(Debug, Clone, Copy)]
enum RunLine {
    /// The input of a run, where no step has it.
    Input(usize),
    /// The answer that a run began with.
    Answer(usize),
    /// The row of a step.
    Step(usize),
    /// The end of a run.
    End(usize),
    /// A key of the result.
    Result(usize),
}

/// The state that the runs led to.
#[derive(Debug, Default)]
struct RunResult {
    /// Its keys with their values.
    keys: Vec<(String, Line)>,
    /// Its event.
    seq: Seq,
    /// Whether it is that of a finished run.
    is_final: bool,
}

/// The lines of a thread without messages.
#[derive(Debug, Default)]
pub struct RunLines {
    /// Whether the thread has no messages, so that these lines are shown.
    pub is_shown: bool,
    lines: Vec<RunLine>,
    /// The lines with events, by the event to go to.
    by_seq: Vec<(Seq, usize)>,
    /// The number of steps.
    steps: usize,
    result: RunResult,
    /// The columns of nodes.
    node: usize,
    /// Says what of the history is not loaded.
    note: Vec<Line>,
    /// Whether runs began with an input and with an answer, by their records, and the snapshot with these.
    begins: (Option<Seq>, HashMap<Arc<str>, [bool; 2]>),
    /// The versions of the steps, of the status and of the states that the lines were made from.
    made_from: Option<(u64, u64, u64)>,
}

impl RunLines {
    /// Returns the memory of the lines, in bytes.
    pub fn bytes(&self) -> usize {
        std::mem::size_of_val(&*self.lines) + std::mem::size_of_val(&*self.by_seq)
    }

    /// Lists the lines again when another log is shown.
    pub fn forget(&mut self) {
        self.made_from = None;
    }

    fn get(&self, key: u64) -> Option<RunLine> {
        self.lines.get(usize::try_from(key).ok()?).copied()
    }

    /// Lists the lines of the runs, each run's steps before its end.
    fn list(&mut self, steps: &Steps, runs: &[RunEntry], begins: &HashMap<Arc<str>, [bool; 2]>) {
        let ids = runs.iter().enumerate();
        let ids: HashMap<&str, usize> = ids
            .filter_map(|(at, run)| Some((run.run_id.as_deref()?, at + 1)))
            .collect();
        let place = |id: Option<&str>| ids.get(id?).copied();
        // The first list is that of steps before the known runs.
        let mut of_runs = vec![Vec::new(); runs.len() + 1];
        let mut edits = of_runs.clone();
        let mut has_begin = vec![[false; 2]; runs.len() + 1];
        let (mut at, mut run) = (0, 0);
        while let Some(row) = steps.rows().get(at) {
            run = place(row.run_id.as_deref()).unwrap_or(run);
            // A question belongs to the run that asked it, not to the one that went on after the answer.
            let before = || Some(run.saturating_sub(1)).filter(|_| row.is_answered());
            let asked = place(steps.asked_by(row).as_deref()).or_else(before);
            let is_edit = row.run_id.is_none() && row.source == StepSource::Update;
            let list = if is_edit { &mut edits } else { &mut of_runs };
            list[asked.unwrap_or(run)].push(RunLine::Step(at));
            has_begin[run][0] |= is_input(row);
            has_begin[run][1] |= row.is_answered();
            at += 1 + row.nested;
        }
        self.lines.clear();
        self.steps = of_runs.iter().chain(&edits).map(Vec::len).sum();
        for (nth, steps) in of_runs.into_iter().enumerate() {
            let run = nth.checked_sub(1).map(|at| (at, &runs[at]));
            if let Some((at, run)) = run.filter(|(_, run)| run.outcome != RunOutcome::Queued) {
                let known = run.run_id.as_ref().and_then(|id| begins.get(id));
                let [input, answer] = known.copied().unwrap_or_default();
                let is_input = input && !has_begin[nth][0];
                let is_answer = answer || has_begin[nth][1];
                self.lines.extend(is_input.then_some(RunLine::Input(at)));
                self.lines.extend(is_answer.then_some(RunLine::Answer(at)));
            }
            self.lines.extend(steps);
            let ended = run.filter(|(_, run)| run.outcome.is_over());
            self.lines.extend(ended.map(|(at, _)| RunLine::End(at)));
            self.lines.append(&mut edits[nth]);
        }
        // Without steps, the newest state is all there is.
        if self.result.is_final || self.steps == 0 {
            let keys = 0..self.result.keys.len();
            self.lines.extend(keys.map(RunLine::Result));
        }
    }
}

impl Viewer {
    /// Updates the lines if anything changed. Returns whether they changed.
    fn list_runs(&mut self) -> bool {
        let joins = self.join_steps();
        let (status, states) = (&self.projections.status, self.projections.values.rows());
        let end = states.evicted() + states.len() as u64;
        let from = (joins, status.revision(), end);
        if self.views.run_lines.made_from == Some(from) {
            return false;
        }
        let mut lines = std::mem::take(&mut self.views.run_lines);
        lines.made_from = Some(from);
        lines.result = self.result_of_runs().unwrap_or_default();
        let runs = self.projections.status.runs();
        let steps = self.views.steps.steps();
        let loaded = self.projections.status.loaded().map(|loaded| loaded.seq);
        let (known_from, mut known) = std::mem::take(&mut lines.begins);
        if known_from != loaded {
            known.clear();
        }
        // Only those of runs that are still in memory are kept.
        let ids = runs.iter().filter_map(|run| run.run_id.as_ref());
        let begins = ids.map(|id| {
            let known = known.remove(id);
            (id.clone(), known.unwrap_or_else(|| self.begin_of(id)))
        });
        let begins = begins.collect();
        lines.list(steps, runs, &begins);
        lines.begins = (loaded, begins);
        let rows = lines.lines.iter().filter_map(|line| match line {
            RunLine::Step(at) => steps.rows().get(*at),
            _ => None,
        });
        lines.node = node_width(rows).max(MIN_NODE);
        let places = lines.lines.iter().enumerate();
        lines.by_seq = places
            .filter_map(|(at, line)| Some((self.own_seq(*line, lines.result.seq)?, at)))
            .collect();
        lines.by_seq.sort_unstable();
        self.views.run_lines = lines;
        true
    }

    /// Returns whether a run began with an input, and with an answer, by its record.
    fn begin_of(&self, id: &str) -> [bool; 2] {
        let record = self.projections.status.record(id);
        let answer = record.and_then(|record| record.resume());
        [
            self.input_of(id, 1).is_some(),
            answer.is_some_and(|answer| !answer.is_null()),
        ]
    }

    /// Returns the newest state.
    fn result_of_runs(&self) -> Option<RunResult> {
        let states = self.projections.values.rows();
        let at = states.iter().rposition(|state| state.ns.is_empty())?;
        let state = states.get(at)?;
        // A state that was loaded while the run went on isn't its result.
        let is_final = self.projections.status.runs().last().is_some_and(|run| {
            let from = match state.source {
                StateSource::Server => run.end_seq,
                _ => run.first_seq,
            };
            run.outcome == RunOutcome::Finished && Some(state.seq) >= from
        });
        let text = self.state_text(states.evicted() + at as u64)?;
        let json = Peek::head(text.as_str(), MAX_READ);
        let is_empty = |json: Peek<'_>| matches!(json.text(), "null" | "[]" | "{}" | "\"\"");
        let keys = json
            .fields()
            .filter(|(key, value)| key != "__interrupt__" && !is_empty(*value));
        let keys = keys.take(MAX_RESULTS).map(|(key, value)| {
            (
                text::seen(&key, MAX_VALUE),
                summary::value(value, MAX_VALUE),
            )
        });
        Some(RunResult {
            keys: keys.collect(),
            seq: state.seq,
            is_final,
        })
    }

    /// Returns the input of a run, as far as its record has it.
    fn input_of(&self, id: &str, room: usize) -> Option<Line> {
        let record = self.projections.status.record(id)?;
        let kwargs = || Peek::of(record.kwargs.as_deref()?).get("input");
        let input = record.input.as_deref().map(Peek::of).or_else(kwargs)?;
        (!input.is_null()).then(|| summary::value(input, room))
    }

    /// Returns the event of a line, if it has one.
    fn own_seq(&self, line: RunLine, result: Seq) -> Option<Seq> {
        let run = |at: usize| self.projections.status.runs().get(at);
        match line {
            RunLine::Input(at) | RunLine::Answer(at) => run(at)?.first_seq,
            RunLine::Step(at) => {
                let row = self.views.steps.steps().rows().get(at)?;
                // The question came first; what the answer led to was written later.
                match row.is_answered() {
                    true => row.seqs.map(|(first, _)| first),
                    false => row.place(),
                }
            }
            RunLine::End(at) => run(at)?.end_seq,
            RunLine::Result(_) => Some(result),
        }
    }

    /// Returns the row of a line.
    fn step_of_line(&self, key: u64) -> Option<&StepRow> {
        match self.views.run_lines.get(key)? {
            RunLine::Step(at) => self.views.steps.steps().rows().get(at),
            _ => None,
        }
    }

    /// Returns the lines of questions, of failures and of the ends of runs.
    fn problem_lines(&self) -> Vec<LinePos> {
        let lines = &self.views.run_lines.lines;
        let is_problem = |key: &u64| {
            let row = self.step_of_line(*key);
            row.map_or_else(
                || matches!(self.views.run_lines.get(*key), Some(RunLine::End(_))),
                |row| row.question.is_some() || row.state == StepState::Failed,
            )
        };
        let keys = (0..lines.len() as u64).filter(is_problem);
        keys.map(LinePos::of).collect()
    }

    fn run_line(&self, line: RunLine, width: usize) -> Option<Line> {
        let lines = &self.views.run_lines;
        let runs = self.projections.status.runs();
        let node = lines.node.min((width / 4).max(MIN_NODE));
        let words = |first: &str, second: &str, columns: usize| {
            let columns = columns.min(width / 3);
            let first = format!("  {first:node$}  ");
            Line::dim(&first).with_dim(&format!("{:columns$} ", text::seen(second, columns)))
        };
        let value = |mut line: Line, value: Line| {
            let room = width.saturating_sub(line.width());
            line.left.extend(value.cut(room).left);
            line
        };
        let at = |line: Line, at: Option<Timestamp>| {
            let time = at.map_or(String::new(), |at| clock(at, &self.wall_clock()));
            let missing = width.saturating_sub(line.width() + text::width(&time));
            let line = line.cut(width.saturating_sub(text::width(&time) + 1));
            line.with_plain(&" ".repeat(missing.max(1)))
                .with_dim(&time)
                .cut(width)
        };
        Some(match line {
            RunLine::Step(at) => {
                self.short_step_line(self.views.steps.steps().rows().get(at)?, node, width)
            }
            RunLine::Input(run) => {
                let run = runs.get(run)?;
                let input = self.input_of(run.run_id.as_deref()?, width)?;
                at(value(words("input", "", SHORT_TOOK), input), run.began)
            }
            RunLine::Answer(run) => {
                let run = runs.get(run)?;
                let answer = Line::plain(&self.answer_of(run.run_id.as_deref(), width));
                at(value(words("", "answer", SHORT_TOOK), answer), run.began)
            }
            RunLine::End(at) => {
                run_rule(runs.get(at)?, &self.projections, width, &self.rule_times())
            }
            RunLine::Result(nth) => {
                let (key, result) = lines.result.keys.get(nth)?;
                let keys = lines.result.keys.iter();
                let columns = keys.map(|(key, _)| text::width(key)).max();
                let columns = columns.unwrap_or(0).max(SHORT_TOOK);
                let first = match (nth, lines.result.is_final) {
                    (0, true) => "result",
                    (0, false) => "state",
                    _ => "",
                };
                value(words(first, key, columns), result.clone())
            }
        })
    }
}

/// The lines of a thread without messages, as a view.
pub struct RunLinesTab;

impl StreamView for RunLinesTab {
    fn facts(&self) -> ViewFacts {
        EVENTS
    }

    fn count(&self, viewer: &Viewer) -> u64 {
        viewer.views.run_lines.steps as u64
    }

    fn entries<'a>(&self, viewer: &'a Viewer) -> ViewRows<'a> {
        ViewRows::Flat(Flat {
            first: 0,
            end: viewer.views.run_lines.lines.len() as u64,
        })
    }

    fn line(&self, viewer: &Viewer, spot: LinePos, width: usize) -> Option<Line> {
        viewer.run_line(viewer.views.run_lines.get(spot.key)?, width)
    }

    fn around<'a>(&self, viewer: &'a Viewer) -> Around<'a> {
        ((&viewer.views.run_lines.note).into(), &[])
    }

    fn seq_at(&self, viewer: &Viewer, spot: LinePos) -> Option<Seq> {
        let lines = &viewer.views.run_lines;
        let own = viewer.own_seq(lines.get(spot.key)?, lines.result.seq);
        Some(own.unwrap_or_else(|| viewer.seq_of_records()))
    }

    /// Lines of one event, and those that only the records have, keep the cursor.
    fn spot_of(&self, viewer: &Viewer, seq: Seq) -> Option<LinePos> {
        let here = viewer.place(View::Messages).cursor;
        if self.seq_at(viewer, here) == Some(seq) {
            return Some(here);
        }
        let by_seq = &viewer.views.run_lines.by_seq;
        let after = by_seq.partition_point(|(known, _)| *known <= seq);
        let found = by_seq.get(after.saturating_sub(1));
        Some(found.map_or(here, |(_, at)| LinePos::of(*at as u64)))
    }

    fn prepare(&self, viewer: &mut Viewer, layout: ViewLayout) {
        if viewer.list_runs() {
            viewer.slots[View::Messages as usize].forget();
        }
        let place = *viewer.place(View::Messages);
        let end = viewer.views.run_lines.lines.len() as u64;
        let steps = &mut viewer.views.steps;
        steps.show_from(place, end, layout.height);
        let note = steps.older_note();
        let note = note.filter(|_| viewer.shown_checkpoint().is_none());
        let note = note.map(|note| Line::dim(&text::seen(&note, layout.width)));
        viewer.views.run_lines.note = note.into_iter().collect();
    }

    fn accepts(&self, viewer: &Viewer, key: u64) -> (bool, usize) {
        if let Some(row) = viewer.step_of_line(key) {
            return viewer.accepts_step(row);
        }
        let run = match viewer.views.run_lines.get(key) {
            Some(RunLine::Input(at) | RunLine::Answer(at) | RunLine::End(at)) => Some(at),
            _ => None,
        };
        let run = run.and_then(|at| viewer.projections.status.runs().get(at)?.run_id.as_deref());
        let line = self.line(viewer, LinePos::of(key), MAX_VALUE);
        let text = line.unwrap_or_default().text();
        let filter = &viewer.finding().filter;
        (filter.matches_record(run, None, &[&text]), text.len())
    }

    fn go_to_next(&self, viewer: &mut Viewer, to: Landmark, forward: bool) -> Option<bool> {
        if to == Landmark::Problem {
            let problems = viewer.problem_lines();
            return Some(go_to_problem(viewer, forward, problems));
        }
        let here = viewer.place(View::Messages).cursor.key;
        let rows = viewer.rows(View::Messages);
        let next = match forward {
            true => rows.next(here),
            false => rows.prev(here),
        };
        let key = next.filter(|_| to == Landmark::Message && !viewer.follows())?;
        viewer.go_to_entry(key);
        Some(true)
    }

    fn is_blank(&self, _viewer: &Viewer) -> bool {
        true
    }

    fn copied(&self, viewer: &Viewer) -> Option<String> {
        let key = viewer.place(View::Messages).cursor.key;
        match viewer.step_of_line(key) {
            Some(row) => viewer.copied_step(row),
            None => Some(self.line(viewer, LinePos::of(key), MAX_VALUE)?.text()),
        }
    }

    fn run_under_cursor<'a>(&self, viewer: &'a Viewer) -> Option<&'a RunEntry> {
        let key = viewer.place(View::Messages).cursor.key;
        let RunLine::End(at) = viewer.views.run_lines.get(key)? else {
            return None;
        };
        let run = viewer.projections.status.runs().get(at);
        run.filter(|run| run.first_seq.is_none())
    }

    fn write(&self, viewer: &Viewer, key: u64, format: Format, part: &mut Part) {
        let line = self.line(viewer, LinePos::of(key), MAX_VALUE);
        let text = line.unwrap_or_default().text();
        part.text(match format {
            Format::Text => format!("{text}\n"),
            _ => format!("- {}\n", inline(text.trim())),
        });
    }
}
