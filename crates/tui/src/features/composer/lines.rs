//! The lines of the composer: assistant, thread, input, warnings, and whether it is ready.

use super::Composer;
use super::assistant::SHOWN;
use super::keys::{Section, Stop};
use super::start::StateKeys;
use crate::session::run::{Warning, Where};
use crate::session::thread::with_draft;
use crate::session::{Cx, card};
use crate::widgets::form::FormDraft;
use crate::widgets::form_lines::{
    FieldLook, FormLines, Part, flow, mark, one_line, option, padded, problem_lines,
};
use crate::widgets::line::{Line, Tone, marked, wrap};
use crate::widgets::text_area_view::{shown_line, skip_columns};
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
    pub(super) fn title(&self, cx: &Cx<'_>) -> String {
        text::clean(&format!("New run · {}", card::place(cx, &self.server))).into_owned()
    }

    /// Returns the key ids of the composer with their labels. Keys without an id are typed.
    pub(super) fn keys(&self) -> Vec<(&'static str, String)> {
        if self.is_sending {
            return vec![("composer.back", "close".into())];
        }
        let mut keys = vec![("composer.start", "start".to_string())];
        keys.extend(self.choice_keys().map(|hint| ("", hint.to_string())));
        keys.push(match self.focus {
            Stop::Before | Stop::After => ("composer.next", "complete, next field".into()),
            Stop::Json | Stop::Field(..) if self.is_long() => ("", "⏎ new line".into()),
            _ => ("composer.next", "next field".into()),
        });
        if self.input.known_form().is_some() {
            keys.push((
                "composer.form",
                if self.input.as_json {
                    "as form"
                } else {
                    "as JSON"
                }
                .into(),
            ));
        }
        // In a narrow frame, the first keys are shown.
        let options = (
            "composer.options",
            if self.shows_options {
                "fold options"
            } else {
                "options"
            }
            .to_string(),
        );
        keys.insert(if self.shows_options { 1 } else { keys.len() }, options);
        if !self.inputs().is_empty() {
            keys.push(("composer.last_input", "earlier input".into()));
        }
        keys.push(("composer.outside", "edit in $EDITOR".into()));
        keys.push(("composer.back", "close, keeps the draft".into()));
        keys
    }

    /// Names the keys that change a choice.
    fn choice_keys(&self) -> Option<&'static str> {
        match self.focus {
            Stop::Where | Stop::Conflict => Some("← → choose"),
            Stop::Modes => Some("← → move   Space on or off"),
            Stop::Field(section, n, inner) => match self.field(section, n, inner)?.0.kind {
                FieldKind::Choice(_) => Some("← → choose"),
                FieldKind::Boolean => Some("y n set"),
                _ => None,
            },
            _ => None,
        }
    }

    fn is_long(&self) -> bool {
        match self.focus {
            Stop::Json => true,
            Stop::Field(section, n, inner) => {
                self.field(section, n, inner).is_some_and(|(field, _)| {
                    matches!(field.kind, FieldKind::Message | FieldKind::List(_))
                })
            }
            _ => false,
        }
    }

    /// Returns the lines for a screen.
    pub fn lines(&self, cx: &Cx<'_>) -> FormLines {
        let inner = cx.session.overlay_area();
        let width = usize::from(inner.w);
        let is_small = width < WIDE || cx.session.size.1 < HIGH;
        let mut out = FormLines::default();
        if self.is_sending {
            out.lines
                .push(Line::moving("◐ ").with_plain("Sending the request…"));
            out.lines.push(Line::new());
        }
        if let Some(failed) = &self.refused {
            out.lines.extend(
                wrap(&with_draft(failed.failure, "start another one"), width)
                    .iter()
                    .map(|line| Line::bad(line)),
            );
            let story = failed.error.story();
            out.lines
                .extend(wrap(&story, width).iter().map(|line| Line::dim(line)));
            out.lines.push(Line::new());
        }
        // A small screen has a page for the options.
        let is_options_page = is_small && self.shows_options;
        if !is_options_page {
            self.assistant_lines(&mut out, cx, width, is_small);
            self.where_lines(&mut out, width);
            if !is_small {
                out.lines.push(Line::new());
            }
            self.input_lines(&mut out, cx, (width, usize::from(inner.h)), is_small);
            out.lines.push(Line::new());
        }
        self.option_lines(&mut out, width, is_small);
        out.lines.push(Line::new());
        self.warning_lines(&mut out, cx, width);
        self.ready_lines(&mut out, cx, width);
        out
    }

    /// Returns the beginning of a row that is no field of a form.
    pub(super) fn label(&self, stop: Stop, name: &str) -> Line {
        match self.focus == stop {
            true => mark(true).with_strong(&padded(name, LABELS - 2)),
            false => Line::dim(&padded(name, LABELS)),
        }
    }

    fn assistant_lines(&self, out: &mut FormLines, cx: &Cx<'_>, width: usize, is_small: bool) {
        let is_focused = self.focus == Stop::Assistant;
        let pick = &self.assistant;
        let mut line = self.label(Stop::Assistant, "Assistant");
        let frame = if is_focused { Tone::Accent } else { Tone::Dim };
        line.push(frame, "[ ");
        let before = line.width();
        let mut cursor = None;
        let typed = pick.typed.text();
        let is_typed = !typed.is_empty() || pick.all.is_empty();
        let (shown, column) = one_line(&pick.typed, ASSISTANT, is_focused);
        match (pick.listed(), is_typed) {
            (Some(one), false) => {
                line.push_strong(&padded(
                    &text::fit(&text::clean(&one.label), ASSISTANT),
                    ASSISTANT,
                ));
            }
            _ => line.push_strong(&padded(&shown, ASSISTANT)),
        }
        if is_focused {
            cursor = Some((0, before + column.unwrap_or_default()));
        }
        line.push(
            frame,
            if pick.all.is_empty() {
                "   ]"
            } else {
                " ▾ ]"
            },
        );
        let error = cx.lookup.assistants_error(&self.server);
        let hint = match (pick.all.len(), error) {
            (0, None) => "loading assistants…".to_string(),
            (0, Some(_)) => "type an assistant or graph name".into(),
            (1, _) => "1 assistant".into(),
            (n, _) => format!("{n} assistants · type to search"),
        };
        let mut lines = Vec::new();
        if (!is_small || is_focused || pick.all.is_empty())
            && line.width() + text::width(&hint) + 4 <= width
        {
            line.push_dim(&format!("    {hint}"));
        }
        lines.push(line);
        if let (0, Some(error)) = (pick.all.len(), error) {
            let why = match error.names_no_object() {
                true => "this server has no call that lists assistants".to_string(),
                false => format!("couldn't list assistants: {}", error.detail),
            };
            lines.extend(problem_lines(&" ".repeat(LABELS), &why, width));
        }
        if is_focused && pick.is_searching() {
            let found = pick.matches();
            for (n, at) in found.iter().take(SHOWN).enumerate() {
                let is_here = n == pick.at;
                let mark = if is_here { "► " } else { "  " };
                let tone = if is_here { Tone::Strong } else { Tone::Plain };
                let margin = Line::accent(&format!("{}{mark}", " ".repeat(LABELS)));
                lines.push(margin.with(tone, &pick.all[*at].label));
            }
            let margin = " ".repeat(LABELS + 2);
            match found.len() {
                0 => {
                    lines.push(Line::bad(&format!("{margin}No assistant matches.")));
                    let hint = "Servers run an assistant's current version. To run another one, restore it first.";
                    lines.extend(
                        wrap(hint, width.saturating_sub(LABELS + 2))
                            .iter()
                            .map(|line| Line::dim(&format!("{margin}{line}"))),
                    );
                }
                n if n > SHOWN => lines.push(Line::dim(&format!("{margin}… {} more", n - SHOWN))),
                _ => {}
            }
        }
        out.add(is_focused, Part { lines, cursor });
    }

    fn where_lines(&self, out: &mut FormLines, width: usize) {
        let choice = |place: Where| {
            let name = match place {
                Where::ThisThread => format!("this one: {}", self.thread_name()),
                Where::NewThread => "new thread".into(),
                Where::Stateless => "stateless, not saved".to_string(),
            };
            let mut line = Line::new();
            option(&mut line, self.place == place, &name);
            line
        };
        let choices = self.places().into_iter().map(choice).collect();
        let lines = flow(self.label(Stop::Where, "Thread"), LABELS, choices, width);
        out.add(
            self.focus == Stop::Where,
            Part {
                lines,
                cursor: None,
            },
        );
    }

    fn input_lines(
        &self,
        out: &mut FormLines,
        cx: &Cx<'_>,
        (width, height): (usize, usize),
        is_small: bool,
    ) {
        let mut line = Line::dim(&padded("Input", LABELS));
        if self.input.known_form().is_some() {
            option(&mut line, !self.input.as_json, "form");
            option(&mut line, self.input.as_json, "JSON");
            let graph = self
                .assistant
                .listed()
                .map(|one| one.graph.as_str())
                .unwrap_or_default();
            let is_of_state = self.facts().is_some_and(|facts| facts.is_of_state);
            let of = if is_of_state { "state" } else { "schema" };
            let from = format!("from the {of} of {}", text::clean(graph));
            if line.width() + text::width(&from) + 2 <= width {
                line.push_dim(&format!("  {from}"));
            }
        } else {
            let is_known = self.known().is_some_and(|known| known.facts.is_some());
            let is_failed = self
                .known()
                .is_some_and(|known| matches!(known.facts, Some(Err(_))));
            line.push_plain("JSON");
            line.push_dim(match (is_failed, is_known, self.known().is_some()) {
                (true, ..) => "   couldn't load the graph's schema",
                (_, true, _) => "   no form: the server has no schema for it",
                (_, false, true) => "   loading the graph's schema…",
                _ => "",
            });
        }
        out.lines.push(line);
        match self.input.form() {
            Some(form) => self.form_lines(
                out,
                form,
                (&self.rejected(cx), &self.state_keys(cx)),
                (width, is_small),
            ),
            None => self.json_lines(out, width, height),
        }
    }

    fn form_lines(
        &self,
        out: &mut FormLines,
        form: &FormDraft,
        (rejected, state): (&[(String, String)], &StateKeys),
        size: (usize, bool),
    ) {
        let problem_of = |path: &str, is_shown: bool| {
            let own = self
                .problem_of(path, state)
                .filter(|_| is_shown || self.was_tried);
            own.or_else(|| self.rejected_at(rejected, path))
        };
        for (n, (field, draft)) in form.form.fields.iter().zip(&form.fields).enumerate() {
            let stop = Stop::Field(Section::Input, n, None);
            let problem = problem_of(&field.name, draft.was_left).filter(|_| !draft.is_open);
            let look = (problem.as_deref(), state.has(&field.name));
            self.field_lines(out, stop, (field, draft), look, size);
            let Some(inner) = draft.inner.as_ref().filter(|_| draft.is_open) else {
                continue;
            };
            for (at, (inner_field, inner_draft)) in
                inner.form.fields.iter().zip(&inner.fields).enumerate()
            {
                let problem = problem_of(
                    &format!("{}.{}", field.name, inner_field.name),
                    inner_draft.was_left,
                );
                let stop = Stop::Field(Section::Input, n, Some(at));
                self.field_lines(
                    out,
                    stop,
                    (inner_field, inner_draft),
                    (problem.as_deref(), false),
                    size,
                );
            }
        }
    }

    pub(super) fn field_lines(
        &self,
        out: &mut FormLines,
        stop: Stop,
        (field, draft): (
            &runtail_core::model::FormField,
            &crate::widgets::form::FieldDraft,
        ),
        (problem, is_kept): (Option<&str>, bool),
        (width, is_small): (usize, bool),
    ) {
        let is_focused = self.focus == stop;
        let is_inner = matches!(stop, Stop::Field(_, _, Some(_)));
        let look = FieldLook {
            width,
            names: NAMES,
            indent: if is_inner { "  " } else { "" },
            is_focused,
            problem,
            changed: None,
            is_kept,
            has_hints: !is_small || is_focused,
        };
        let mut part = look.field(field, draft);
        if is_focused && draft.inner.is_some() {
            let hint = format!(
                "{}⏎ opens its form, the editor key its JSON",
                " ".repeat(LABELS)
            );
            part.lines.push(Line::dim(&hint));
        }
        out.add(is_focused, part);
    }

    /// Adds the JSON with line numbers, as many lines as there is room for.
    fn json_lines(&self, out: &mut FormLines, width: usize, height: usize) {
        let input = &self.input.json;
        let is_focused = self.focus == Stop::Json;
        let (row, col) = input.cursor();
        let room = width.saturating_sub(NUMBERS + 2).max(8);
        let most = height.saturating_sub(out.lines.len() + 7).max(4);
        let top = (row + 1).saturating_sub(most);
        let mut part = Part::default();
        for (n, line) in input.lines().iter().enumerate().skip(top).take(most) {
            let is_here = is_focused && n == row;
            let column = text::width(&shown_line(
                line.get(..col.min(line.len())).unwrap_or_default(),
            ));
            let shift = if is_here {
                (column + 1).saturating_sub(room)
            } else {
                0
            };
            let (rest, skipped) = skip_columns(&shown_line(line), shift);
            let number = mark(is_here).with_dim(&format!("{:>3} ", n + 1));
            part.lines.push(number.with_plain(&text::fit(&rest, room)));
            if is_here {
                part.cursor = Some((
                    part.lines.len() - 1,
                    NUMBERS + column.saturating_sub(skipped),
                ));
                if let Some((name, rule)) = self
                    .input
                    .rule_at_cursor()
                    .filter(|(_, rule)| !rule.is_empty())
                {
                    let hint = format!("{}{name}   {rule}", " ".repeat(NUMBERS + 2));
                    part.lines.push(Line::dim(&hint));
                }
            }
        }
        if input.lines().len() > most {
            part.lines.push(Line::dim(&format!(
                "      line {} of {}",
                row + 1,
                input.lines().len()
            )));
        }
        out.add(is_focused, part);
        let problem = self.input.problem.as_ref();
        let said = problem.map(|p| format!("line {}, column {}: {}", p.line, p.column, p.message));
        out.lines
            .extend(said.iter().flat_map(|said| problem_lines("", said, width)));
        if let Some(why) = &self.input.why_json {
            let said = format!("It stays JSON, because the form can't show it: {why}.");
            out.lines
                .extend(marked((Tone::Dim, "  "), Tone::Dim, &said, width));
        } else if let (None, Some((path, rule))) = (problem, self.input.violations().first()) {
            let path = if path.is_empty() {
                "The input"
            } else {
                path.as_str()
            };
            let said = format!("{path}: {rule}, says the schema. The graph may refuse it.");
            out.lines
                .extend(marked((Tone::Waiting, "  "), Tone::Plain, &said, width));
        }
    }

    /// Names the fields that the graph rejected in the thread's last run, if they are not marked in the form.
    fn rejected_lines(&self, out: &mut FormLines, cx: &Cx<'_>, width: usize) {
        let rejected = self.rejected(cx);
        for (field, rule) in rejected
            .iter()
            .filter(|(field, _)| !self.is_marked(field))
            .take(REJECTED)
        {
            let said = format!("The graph rejected {field} in the last run: {rule}.");
            out.lines
                .extend(marked((Tone::Bad, "✗ "), Tone::Plain, &said, width));
        }
    }

    fn warning_lines(&self, out: &mut FormLines, cx: &Cx<'_>, width: usize) {
        self.rejected_lines(out, cx, width);
        if let Some(text) = self.left_to_the_state(&self.state_keys(cx)) {
            out.lines
                .extend(marked((Tone::Dim, "? "), Tone::Plain, &text, width));
        }
        let Some(warning) = self.warning(cx) else {
            return;
        };
        let (answer, back) = (
            cx.session.key("stream.answer"),
            cx.session.key("composer.back"),
        );
        let text = match warning {
            Warning::WaitingForInput => {
                format!(
                    "Starting a run drops the open question. Press {back}, then {answer} to answer it instead."
                )
            }
            Warning::MayWaitForInput => format!(
                "The thread is interrupted. Starting a run drops an open question; {back}, then {answer} answers it instead."
            ),
            // The last line says it as the reason why the run can't be started.
            Warning::Active if self.is_refused(cx) => return,
            Warning::Active => {
                let text = self.active_warning(cx);
                return out
                    .lines
                    .extend(marked((Tone::Dim, "? "), Tone::Plain, &text, width));
            }
        };
        out.lines
            .extend(marked((Tone::Waiting, "◆ "), Tone::Waiting, &text, width));
    }

    fn ready_lines(&self, out: &mut FormLines, cx: &Cx<'_>, width: usize) {
        let (said, is_ready) = self.readiness(cx);
        let tone = if !is_ready && self.was_tried {
            Tone::Bad
        } else {
            Tone::Plain
        };
        let mut lines: Vec<Line> = wrap(&said, width)
            .iter()
            .map(|line| Line::of(tone, line))
            .collect();
        if let Some(one) = self
            .assistant
            .listed()
            .filter(|_| !self.inputs().is_empty())
        {
            let hint = format!(
                "Last input for {}: {}",
                text::clean(&one.graph),
                cx.session.key("composer.last_input")
            );
            if let Some(last) = lines
                .last_mut()
                .filter(|last| last.width() + text::width(&hint) + 2 <= width)
            {
                *last = std::mem::take(last).right(Tone::Dim, &hint);
            }
        }
        out.lines.extend(lines);
    }
}
