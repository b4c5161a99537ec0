//! The lines of the options: folded to what differs from the default, or one row each.

use super::Composer;
use super::keys::{Section, Stop};
use super::lines::LABELS;
use crate::session::run::mode_meaning;
use crate::widgets::form_lines::{FormLines, Part, flow, one_line, option, padded, problem_lines};
use crate::widgets::line::{Line, Tone};
use crate::widgets::text_input::TextInput;
use runtail_core::model::{Conflict, RunOption};
use runtail_core::text;

/// Columns of a breakpoint's field, and nodes that are named beside them.
const NODES: usize = 24;
const NAMED: usize = 8;

impl Composer {
    pub(super) fn option_lines(&self, out: &mut FormLines, width: usize, is_small: bool) {
        if !self.shows_options {
            return self.folded(out, width);
        }
        out.lines.push(Line::dim("▾ Options"));
        let problems = self.checked_options().err().unwrap_or_default();
        let problem = |option: RunOption| {
            let found = problems.iter().find(|problem| problem.option == option);
            found.map(|problem| problem.rule.clone())
        };
        let refused = |option: RunOption| {
            self.refused_option()
                .filter(|(refused, _)| *refused == option)
                .map(|(_, why)| why)
        };
        self.mode_lines(out, width, problem(RunOption::Modes));
        self.conflict_lines(out, width);
        self.break_lines(
            out,
            width,
            [problem(RunOption::Before), problem(RunOption::After)],
        );
        for (n, (option, field, draft)) in self.options.rare.iter().enumerate() {
            let stop = Stop::Field(Section::Options, n, None);
            let is_shown = self.was_tried || draft.was_left;
            let problem = problem(*option)
                .filter(|_| is_shown)
                .or_else(|| refused(*option));
            self.field_lines(
                out,
                stop,
                (field, draft),
                (problem.as_deref(), false),
                (width, is_small),
            );
            let Some(inner) = draft.inner.as_ref().filter(|_| draft.is_open) else {
                continue;
            };
            for (at, pair) in inner.form.fields.iter().zip(&inner.fields).enumerate() {
                let stop = Stop::Field(Section::Options, n, Some(at));
                let rule = pair
                    .1
                    .value(pair.0)
                    .err()
                    .and_then(|wrong| wrong.into_iter().next())
                    .map(|(_, rule)| rule);
                let rule = rule.filter(|_| self.was_tried || pair.1.was_left);
                self.field_lines(out, stop, pair, (rule.as_deref(), false), (width, is_small));
            }
        }
    }

    fn folded(&self, out: &mut FormLines, width: usize) {
        let mut parts = Vec::new();
        for (n, (part, differs)) in self.options.summary().iter().enumerate() {
            let mut line = Line::new();
            if n > 0 {
                line.push_dim("· ");
            }
            line.push(if *differs { Tone::Strong } else { Tone::Plain }, part);
            line.push_plain(" ");
            parts.push(line);
        }
        let first = Line::dim(&padded("▸ Options", LABELS));
        out.lines.extend(flow(first, LABELS, parts, width));
    }

    fn option_label(&self, stop: Stop, name: &str) -> Line {
        self.label(
            stop,
            &if self.focus == stop {
                name.to_string()
            } else {
                format!("  {name}")
            },
        )
    }

    fn mode_lines(&self, out: &mut FormLines, width: usize, problem: Option<String>) {
        let is_focused = self.focus == Stop::Modes;
        let mode = |(n, (name, on)): (usize, &(&'static str, bool))| {
            let is_here = is_focused && n == self.options.mode_at;
            let mut line = Line::of(
                if *on { Tone::Accent } else { Tone::Dim },
                if *on { "[x] " } else { "[ ] " },
            );
            line.push(if is_here { Tone::Strong } else { Tone::Plain }, name);
            line.push_accent(if is_here { "‹ " } else { "  " });
            line
        };
        let modes = self.options.modes.iter().enumerate().map(mode).collect();
        let mut lines = flow(
            self.option_label(Stop::Modes, "modes"),
            LABELS,
            modes,
            width,
        );
        if let Some((name, _)) = self
            .options
            .modes
            .get(self.options.mode_at)
            .filter(|_| is_focused)
        {
            let said = format!("{}{name}: {}", " ".repeat(LABELS), mode_meaning(name));
            lines.push(Line::dim(&said));
        }
        lines.extend(
            problem
                .iter()
                .flat_map(|problem| problem_lines(&" ".repeat(LABELS), problem, width)),
        );
        out.add(
            is_focused,
            Part {
                lines,
                cursor: None,
            },
        );
    }

    fn conflict_lines(&self, out: &mut FormLines, width: usize) {
        let chosen = self.options.conflict;
        let choice = |one: Conflict| {
            let mut line = Line::new();
            option(&mut line, one == chosen, one.word());
            line
        };
        let label = self.option_label(Stop::Conflict, "on conflict");
        let mut lines = flow(
            label,
            LABELS,
            Conflict::ALL.into_iter().map(choice).collect(),
            width,
        );
        let tone = if chosen.cancels() {
            Tone::Waiting
        } else {
            Tone::Dim
        };
        let room = width.saturating_sub(LABELS).max(8);
        let said = crate::widgets::line::wrap(chosen.consequence(), room);
        lines.extend(
            said.iter()
                .map(|part| Line::of(tone, &format!("{}{part}", " ".repeat(LABELS)))),
        );
        out.add(
            self.focus == Stop::Conflict,
            Part {
                lines,
                cursor: None,
            },
        );
    }

    fn break_lines(&self, out: &mut FormLines, width: usize, problems: [Option<String>; 2]) {
        let rows: [(Stop, &str, &TextInput); 2] = [
            (Stop::Before, "break before", &self.options.before),
            (Stop::After, "break after", &self.options.after),
        ];
        for ((stop, name, typed), problem) in rows.into_iter().zip(problems) {
            let is_focused = self.focus == stop;
            let mut line = self.option_label(stop, name);
            let frame = if is_focused { Tone::Accent } else { Tone::Dim };
            let (shown, column) = one_line(typed, NODES, is_focused);
            line.push(frame, "[ ");
            let cursor = column.map(|column| (0, line.width() + column));
            line.push_plain(&padded(&shown, NODES));
            line.push(frame, " ]");
            let hint = self.node_hint();
            let mut lines = Vec::new();
            if is_focused && line.width() + text::width(&hint) + 3 > width {
                lines.push(line);
                let room = width.saturating_sub(LABELS).max(8);
                let wrapped = crate::widgets::line::wrap(&hint, room);
                lines.extend(
                    wrapped
                        .iter()
                        .map(|part| Line::dim(&format!("{}{part}", " ".repeat(LABELS)))),
                );
            } else {
                if is_focused {
                    line.push_dim(&format!("   {hint}"));
                }
                lines.push(line);
            }
            let is_shown = self.was_tried || !is_focused;
            let problem = problem.filter(|_| is_shown);
            lines.extend(
                problem
                    .iter()
                    .flat_map(|problem| problem_lines(&" ".repeat(LABELS), problem, width)),
            );
            out.add(is_focused, Part { lines, cursor });
        }
    }

    /// Names the nodes at which a run can stop.
    fn node_hint(&self) -> String {
        let Some(nodes) = self.nodes() else {
            return "node names; they can't be checked, because the graph is unknown".into();
        };
        let names: Vec<String> = nodes
            .iter()
            .take(NAMED)
            .map(|name| text::seen(name, 30))
            .collect();
        let more = if nodes.len() > NAMED { ", …" } else { "" };
        format!("* or node names, Tab completes: {}{more}", names.join(", "))
    }
}
