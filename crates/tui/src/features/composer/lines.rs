//! The lines of the composer: assistant, thread, input, warnings, and whether it is ready.

use super::Composer;
use super::assistant::SHOWN;
use super::keys::{ComposerStop, Section};
use crate::session::Cx;
use crate::session::run::{Warning, Where};
use crate::session::thread::with_draft;
use crate::widgets::form::{FormDraft, Spot};
use crate::widgets::form_lines::{
    FieldNotes, FormLines, FormLook, LinePart, choices, fitted, in_frame, indented, mark, one_line,
    option, padded, problem_lines, row_of,
};
use crate::widgets::line::{Line, Tone};
use runtail_core::model::FieldKind;
use runtail_core::text;

/// Columns before the values.
pub(super) const LABELS: usize = 15;
/// Columns of a field's name, without mark and blank.
pub(super) const NAMES: usize = LABELS - 3;
/// Maximum columns of the assistant's field.
const ASSISTANT: usize = 32;
/// Columns and rows from which everything is on one page.
const WIDE: usize = 100;
const HIGH: u16 = 30;
/// Rejected fields that are named.
const REJECTED: usize = 3;
/// Columns of the line numbers of JSON.
const NUMBERS: usize = 6;

impl Composer {
    /// Names the keys that change a choice.
    pub(super) fn choice_keys(&self) -> Option<&'static str> {
        match (self.focus, self.field().map(|(field, _)| &field.kind)) {
            (ComposerStop::Where | ComposerStop::Conflict, _) | (_, Some(FieldKind::Choice(_))) => {
                Some("← → choose")
            }
            (ComposerStop::Modes, _) => Some("← → move   Space on or off"),
            (_, Some(FieldKind::Boolean)) => Some("y n set"),
            _ => None,
        }
    }

    pub(super) fn is_long(&self) -> bool {
        let kind = self.field().map(|(field, _)| &field.kind);
        self.focus == ComposerStop::Json
            || matches!(kind, Some(FieldKind::Message | FieldKind::List(_)))
    }

    /// Returns the lines for a screen.
    pub fn lines(&self, cx: &Cx<'_>) -> FormLines {
        let inner = cx.area;
        let width = usize::from(inner.w);
        let is_small = width < WIDE || cx.session.size.1 < HIGH;
        let mut out = FormLines::new(width);
        if self.is_sending {
            out.lines.push(Line::moving("◐ ").with_plain("Sending…"));
            out.blank();
        }
        if let Some(failed) = &self.refused {
            out.say(Tone::Bad, &with_draft(failed.failure));
            out.say(Tone::Dim, &failed.error.story());
            out.blank();
        }
        // A small screen has a page for the options.
        let is_options_page = is_small && self.shows_options;
        if !is_options_page {
            self.assistant_lines(&mut out, is_small);
            self.where_lines(&mut out);
            if !is_small {
                out.blank();
            }
            self.input_lines(&mut out, cx, usize::from(inner.h), is_small);
            out.blank();
        }
        self.option_lines(&mut out, is_small);
        out.blank();
        self.warning_lines(&mut out, cx);
        self.ready_lines(&mut out, cx);
        out
    }

    /// Returns the beginning of a row that is no field of a form.
    pub(super) fn label(&self, stop: ComposerStop, name: &str) -> Line {
        match self.focus == stop {
            true => mark(true).with_strong(&padded(name, LABELS - 2)),
            false => Line::dim(&padded(name, LABELS)),
        }
    }

    fn assistant_lines(&self, out: &mut FormLines, is_small: bool) {
        let is_focused = self.focus == ComposerStop::Assistant;
        let pick = &self.assistant;
        let (typed, column) = one_line(&pick.typed, ASSISTANT, is_focused);
        let shown = match pick.listed().filter(|_| pick.typed.is_empty()) {
            Some(one) => fitted(&text::clean(&one.label), ASSISTANT),
            None => padded(&typed, ASSISTANT),
        };
        let end = if pick.all.is_empty() {
            "   ]"
        } else {
            " ▾ ]"
        };
        let label = self.label(ComposerStop::Assistant, "Assistant");
        let cursor = column.map(|column| (0, label.width() + 2 + column));
        let mut line = in_frame(label, Tone::Strong, &shown, is_focused, end);
        let error = pick.error.as_ref();
        let hint = match (pick.all.len(), error) {
            (0, None) => "loading assistants…".to_string(),
            (0, Some(_)) => "type an assistant or graph name".into(),
            (1, _) => "1 assistant".into(),
            (n, _) => format!("{n} assistants · type to search"),
        };
        if (!is_small || is_focused || pick.all.is_empty())
            && line.width() + text::width(&hint) + 4 <= out.width
        {
            line.push_dim(&format!("    {hint}"));
        }
        let mut lines = vec![line];
        if let (0, Some(error)) = (pick.all.len(), error) {
            let why = match error.names_no_object() {
                true => "this server can't list assistants".to_string(),
                false => format!("couldn't list assistants: {}", error.detail),
            };
            lines.extend(problem_lines(LABELS, &why, out.width));
        }
        if is_focused && pick.is_searching() {
            lines.extend(self.found_lines(out.width));
        }
        out.add(is_focused, LinePart { lines, cursor });
    }

    /// Returns the assistants that match what is typed.
    fn found_lines(&self, width: usize) -> Vec<Line> {
        let found = self.assistant.matches();
        let shown = found.iter().take(SHOWN).enumerate().map(|(n, at)| {
            let (mark, tone) = match n == self.assistant.at {
                true => ("► ", Tone::Strong),
                false => ("  ", Tone::Plain),
            };
            let margin = Line::accent(&format!("{}{mark}", " ".repeat(LABELS)));
            margin.with(tone, &self.assistant.all[*at].label)
        });
        let mut lines: Vec<Line> = shown.collect();
        let mut say = |tone, said: &str| lines.extend(indented(tone, LABELS + 2, said, width));
        match found.len() {
            0 => {
                say(Tone::Bad, "No assistant matches.");
                say(
                    Tone::Dim,
                    "Servers run current versions only; restore an older one first.",
                );
            }
            n if n > SHOWN => say(Tone::Dim, &format!("… {} more", n - SHOWN)),
            _ => {}
        }
        lines
    }

    fn where_lines(&self, out: &mut FormLines) {
        let options = self.places().into_iter().map(|place| {
            let name = match place {
                Where::ThisThread => format!("this one: {}", self.thread_name()),
                Where::NewThread => "new thread".into(),
                Where::Stateless => "stateless, not saved".to_string(),
            };
            (self.place == place, name)
        });
        let lines = choices(
            self.label(ComposerStop::Where, "Thread"),
            LABELS,
            options,
            out.width,
        );
        out.add(self.focus == ComposerStop::Where, lines);
    }

    fn input_lines(&self, out: &mut FormLines, cx: &Cx<'_>, height: usize, is_small: bool) {
        let mut line = Line::dim(&padded("Input", LABELS));
        if self.input.known_form().is_some() {
            option(&mut line, !self.input.twin.as_text, "form");
            option(&mut line, self.input.twin.as_text, "JSON");
            let graph = self
                .assistant
                .listed()
                .map(|one| one.graph.as_str())
                .unwrap_or_default();
            let is_of_state = self.facts().is_some_and(|facts| facts.is_of_state);
            let of = if is_of_state { "state" } else { "schema" };
            let from = format!("from the {of} of {}", text::clean(graph));
            if line.width() + text::width(&from) + 2 <= out.width {
                line.push_dim(&format!("  {from}"));
            }
        } else {
            line.push_plain("JSON");
            line.push_dim(match self.known().map(|known| &known.facts) {
                Some(Some(Err(_))) => "   couldn't load the schema",
                Some(Some(Ok(_))) => "   no form: no schema",
                Some(None) => "   loading the schema…",
                None => "",
            });
        }
        out.lines.push(line);
        match self.input.form() {
            Some(form) => self.form_lines(out, cx, form, is_small),
            None => self.json_lines(out, height),
        }
    }

    fn form_lines(&self, out: &mut FormLines, cx: &Cx<'_>, form: &FormDraft, is_small: bool) {
        let (rejected, state) = (self.rejected(cx), self.state_keys(cx));
        let (look, focus) = self.look(Section::Input, is_small);
        out.form(form, &look, focus, |spot, field, draft| {
            let path = form.path(spot);
            let own = self.problem_of(&path, &state);
            let problem = own
                .filter(|_| draft.was_left || self.was_tried)
                .or_else(|| self.rejected_at(&rejected, &path));
            FieldNotes {
                // An unfolded object shows its problems at its fields.
                problem: problem.filter(|_| !draft.is_open),
                is_kept: spot.1.is_none() && state.has(&field.name),
                ..FieldNotes::default()
            }
        });
    }

    /// Returns how the fields of a section are drawn, and which of them has the focus.
    pub(super) fn look(
        &self,
        section: Section,
        is_small: bool,
    ) -> (FormLook<'static>, Option<Spot>) {
        let look = FormLook {
            names: NAMES,
            indent: "",
            has_hints: !is_small,
            notes: None,
        };
        match self.focus {
            ComposerStop::Field(focused, spot) if focused == section => (look, Some(spot)),
            _ => (look, None),
        }
    }

    /// Adds the JSON with line numbers, as many lines as there is room for.
    fn json_lines(&self, out: &mut FormLines, height: usize) {
        let input = &self.input.twin.text;
        let is_focused = self.focus == ComposerStop::Json;
        let (row, _) = input.cursor();
        let count = input.lines().len();
        let room = out.width.saturating_sub(NUMBERS + 2);
        let most = height.saturating_sub(out.lines.len() + 7).max(4);
        let top = (row + 1).saturating_sub(most);
        let mut part = LinePart::default();
        for n in top..count.min(top + most) {
            let (shown, column) = row_of(input, n, room, is_focused);
            let number = mark(column.is_some()).with_dim(&format!("{:>3} ", n + 1));
            part.lines.push(number.with_plain(&shown));
            let Some(column) = column else {
                continue;
            };
            part.cursor = Some((part.lines.len() - 1, NUMBERS + column));
            let rule = self.input.rule_at_cursor();
            if let Some((name, rule)) = rule.filter(|(_, rule)| !rule.is_empty()) {
                let hint = format!("{}{name}   {rule}", " ".repeat(NUMBERS + 2));
                part.lines.push(Line::dim(&hint));
            }
        }
        if count > most {
            let said = format!("      line {} of {count}", row + 1);
            part.lines.push(Line::dim(&said));
        }
        out.add(is_focused, part);
        if let Err(problem) = &self.input.parsed {
            out.marked((Tone::Bad, "✗ "), Tone::Plain, &problem.to_string());
        }
        if let Some(why) = &self.input.twin.why_text {
            let said = format!("No form: {why}.");
            out.marked((Tone::Dim, "  "), Tone::Dim, &said);
        } else if let (Ok(_), Some((path, rule))) =
            (&self.input.parsed, self.input.violations().first())
        {
            let path = if path.is_empty() {
                "The input"
            } else {
                path.as_str()
            };
            let said = format!("{path}: {rule} (schema). The graph may refuse it.");
            out.marked((Tone::Waiting, "  "), Tone::Plain, &said);
        }
    }

    /// Names the fields that the graph rejected in the thread's last run, if they are not marked in the form.
    fn rejected_lines(&self, out: &mut FormLines, cx: &Cx<'_>) {
        let rejected = self.rejected(cx);
        let others = rejected.iter().filter(|(field, _)| !self.is_marked(field));
        for (field, rule) in others.take(REJECTED) {
            let said = format!("The last run rejected {field}: {rule}.");
            out.marked((Tone::Bad, "✗ "), Tone::Plain, &said);
        }
    }

    fn warning_lines(&self, out: &mut FormLines, cx: &Cx<'_>) {
        self.rejected_lines(out, cx);
        if let Some(text) = self.left_to_the_state(&self.state_keys(cx)) {
            out.marked((Tone::Dim, "? "), Tone::Plain, &text);
        }
        let Some(warning) = self.warning(cx) else {
            return;
        };
        let (answer, back) = (
            cx.session.key("stream.answer"),
            cx.session.key("composer.back"),
        );
        let which = match warning {
            Warning::WaitingForInput => "the",
            Warning::MayWaitForInput => "any",
            // The last line says it as the reason why the run can't be started.
            Warning::Active if self.is_refused(cx) => return,
            Warning::Active => {
                return out.marked((Tone::Dim, "? "), Tone::Plain, &self.active_warning(cx));
            }
        };
        let text =
            format!("Drops {which} open question; {back}, then {answer} answers it instead.");
        out.marked((Tone::Waiting, "◆ "), Tone::Waiting, &text);
    }

    fn ready_lines(&self, out: &mut FormLines, cx: &Cx<'_>) {
        let (said, is_ready) = self.readiness(cx);
        let tone = if !is_ready && self.was_tried {
            Tone::Bad
        } else {
            Tone::Plain
        };
        out.say(tone, &said);
        let Some(one) = self
            .assistant
            .listed()
            .filter(|_| !self.inputs().is_empty())
        else {
            return;
        };
        let hint = format!(
            "Last input for {}: {}",
            text::clean(&one.graph),
            cx.session.key("composer.last_input")
        );
        out.beside(&hint);
    }
}
