//! The lines of the options: folded to what differs from the default, or one row each.

use super::Composer;
use super::keys::{ComposerStop, Section};
use super::lines::LABELS;
use super::options::FIELDS;
use crate::session::run::mode_meaning;
use crate::widgets::form::{FieldDraft, Spot};
use crate::widgets::form_lines::{
    FieldNotes, FormLines, checkbox, choices, flow, indented, padded, problem_lines,
};
use crate::widgets::line::{Line, Tone};
use runtail_core::model::{Conflict, FormField, RunOption};
use runtail_core::text;

/// Nodes that are named beside a breakpoint.
const NAMED: usize = 8;

impl Composer {
    pub(super) fn option_lines(&self, out: &mut FormLines, is_small: bool) {
        if !self.shows_options {
            return self.folded(out);
        }
        out.lines.push(Line::dim("▾ Options"));
        let problems = self.checked_options().err().unwrap_or_default();
        let problem = |option: RunOption| {
            let found = problems.iter().find(|problem| problem.option == option);
            found.map(|problem| problem.rule.clone())
        };
        self.mode_lines(out, problem(RunOption::Modes));
        self.conflict_lines(out);
        let (look, focus) = self.look(Section::Options, is_small);
        let refused = self.refused_option();
        let notes = |spot: Spot, field: &FormField, draft: &FieldDraft| {
            let option = FIELDS[spot.0];
            let own = match spot.1 {
                None => problem(option),
                Some(_) => draft.problem(field),
            };
            let own = own.filter(|_| self.was_tried || draft.was_left);
            let refused = refused
                .as_ref()
                .filter(|(of, _)| spot.1.is_none() && *of == option);
            let has_nodes = matches!(option, RunOption::Before | RunOption::After);
            FieldNotes {
                problem: own.or_else(|| refused.map(|(_, why)| why.clone())),
                note: match has_nodes && focus == Some(spot) {
                    true => self.node_hint(),
                    false => String::new(),
                },
                ..FieldNotes::default()
            }
        };
        out.form(&self.options.form, &look, focus, notes);
    }

    fn folded(&self, out: &mut FormLines) {
        let part = |(n, (part, differs)): (usize, (String, bool))| {
            let tone = if differs { Tone::Strong } else { Tone::Plain };
            Line::dim(if n > 0 { "· " } else { "" })
                .with(tone, &part)
                .with_plain(" ")
        };
        let parts = self.options.summary().into_iter().enumerate().map(part);
        let first = Line::dim(&padded("▸ Options", LABELS));
        let lines = flow(first, LABELS, parts.collect(), out.width);
        out.lines.extend(lines);
    }

    fn option_label(&self, stop: ComposerStop, name: &str) -> Line {
        let indent = if self.focus == stop { "" } else { "  " };
        self.label(stop, &format!("{indent}{name}"))
    }

    fn mode_lines(&self, out: &mut FormLines, problem: Option<String>) {
        let is_focused = self.focus == ComposerStop::Modes;
        let mode = |(n, (name, on)): (usize, &(&'static str, bool))| {
            let is_here = is_focused && n == self.options.mode_at;
            let mut line = Line::new();
            checkbox(&mut line, *on);
            line.push(if is_here { Tone::Strong } else { Tone::Plain }, name);
            line.push_accent(if is_here { "‹ " } else { "  " });
            line
        };
        let modes = self.options.modes.iter().enumerate().map(mode).collect();
        let label = self.option_label(ComposerStop::Modes, "modes");
        let mut lines = flow(label, LABELS, modes, out.width);
        let here = self.options.modes.get(self.options.mode_at);
        if let Some((name, _)) = here.filter(|_| is_focused) {
            let said = format!("{}{name}: {}", " ".repeat(LABELS), mode_meaning(name));
            lines.push(Line::dim(&said));
        }
        let problem = problem.map(|problem| problem_lines(LABELS, &problem, out.width));
        lines.extend(problem.into_iter().flatten());
        out.add(is_focused, lines);
    }

    fn conflict_lines(&self, out: &mut FormLines) {
        let chosen = self.options.conflict;
        let options = Conflict::ALL.map(|one| (one == chosen, one.word()));
        let label = self.option_label(ComposerStop::Conflict, "on conflict");
        let mut lines = choices(label, LABELS, options, out.width);
        let tone = if chosen.cancels() {
            Tone::Waiting
        } else {
            Tone::Dim
        };
        lines.extend(indented(tone, LABELS, chosen.consequence(), out.width));
        out.add(self.focus == ComposerStop::Conflict, lines);
    }

    /// Names the nodes at which a run can stop.
    fn node_hint(&self) -> String {
        let Some(nodes) = self.nodes() else {
            return "node names (unchecked: graph unknown)".into();
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
