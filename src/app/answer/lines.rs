//! The card as lines: the questions with what is typed, the request, and what is still missing.

use super::draft::{ActionDraft, Draft, FieldDraft, PlainDraft, PlainKind, QuestionDraft};
use super::keys::{At, Stop};
use super::{AnswerCard, AnswerStage, meaning, sentence};
use crate::app::line::{Line, Tone, wrap};
use crate::app::textarea::TextArea;
use crate::app::viewer::head::since;
use crate::model::{DecisionKind, FieldKind, FormField, Problem, Question, Spot};
use crate::text;
use jiff::Timestamp;
use serde_json::Value;

/// Columns of an argument's name, and of a field's.
const NAMES: usize = 16;
/// Widest field.
const FIELD: usize = 52;
/// Lines of a question, of an argument's value, of a typed text and of the request.
const QUESTION_LINES: usize = 10;
const VALUE_LINES: usize = 3;
const TYPED_LINES: usize = 8;
const REQUEST_LINES: usize = 12;

/// The lines of a card.
#[derive(Debug, Default)]
pub struct CardLines {
    /// All of them.
    pub lines: Vec<Line>,
    /// The lines of what has the focus, from and up to.
    pub focus: (usize, usize),
    /// Line and column of the text cursor.
    pub cursor: Option<(usize, usize)>,
}

/// What the lines of a question need to know beside it.
struct Context<'a> {
    width: usize,
    focus: Option<Stop>,
    question: usize,
    problems: &'a [Problem],
    /// Whether problems of fields that were never left are shown too.
    shows_all: bool,
}

impl AnswerCard {
    /// The title: the place, and who asks since when.
    pub fn title(&self, now: Timestamp, region: &str) -> String {
        let server = &self.thread.server;
        let place =
            if region == &*server.name { server.name.to_string() } else { format!("{region} › {}", server.name) };
        let id = text::tail(&self.thread.id, 4);
        let thread = match &self.graph {
            Some(graph) => format!("{graph} {id}"),
            None => format!("thread {}", text::short_id(&self.thread.id)),
        };
        let age = self.since.map(|at| format!(" · asked {} ago", since(now, at))).unwrap_or_default();
        let nodes: Vec<&str> = self.questions.iter().filter_map(|question| question.node.as_deref()).collect();
        let by = match nodes.first() {
            Some(node) if nodes.iter().all(|other| other == node) => format!(" by {node}"),
            _ => String::new(),
        };
        text::clean(&format!("Answer · {place} › {thread}{age}{by}")).into_owned()
    }

    /// The keys of the card: their ids and what they do here.
    pub fn keys(&self) -> Vec<(&'static str, &'static str)> {
        match self.stage {
            AnswerStage::Loading | AnswerStage::NotLoaded(_) | AnswerStage::Sending => vec![("answer.back", "close")],
            AnswerStage::Editing | AnswerStage::Refused(_) => {
                let other = match self.focused().map(|stop| &self.drafts[stop.question]) {
                    Some(QuestionDraft { as_json: true, .. }) => Some("as form"),
                    Some(QuestionDraft { draft: Draft::Plain(plain), .. }) if plain.only_json => None,
                    Some(QuestionDraft { draft: Draft::Plain(_), .. }) => Some("text, yes or no, JSON"),
                    _ => Some("as JSON"),
                };
                let mut keys = vec![("answer.send", "send"), ("answer.next", "next field")];
                keys.extend(other.map(|label| ("answer.form", label)));
                keys.extend([
                    ("answer.outside", "$EDITOR"),
                    ("answer.request", "request"),
                    ("answer.back", "close, keeps the draft"),
                ]);
                keys
            }
        }
    }

    /// What is drawn in so many columns.
    pub fn lines(&self, width: usize) -> CardLines {
        let mut out = CardLines::default();
        match &self.stage {
            AnswerStage::Loading => {
                out.lines.push(Line::of(Tone::Dim, "Loading the thread's questions…"));
                return out;
            }
            AnswerStage::NotLoaded(error) => {
                out.lines.push(Line::of(Tone::Bad, "Couldn't load the thread's questions. Nothing was sent."));
                out.lines.extend(wrap(&error.story(), width).iter().map(|line| Line::of(Tone::Plain, line)));
                return out;
            }
            AnswerStage::Refused(failed) => {
                out.lines.extend(wrap(meaning(failed.failure), width).iter().map(|line| Line::of(Tone::Bad, line)));
                let story = failed.error.story();
                out.lines.extend(wrap(&story, width).iter().map(|line| Line::of(Tone::Dim, line)));
                out.lines.push(Line::new());
            }
            AnswerStage::Editing | AnswerStage::Sending => {}
        }
        let answer = self.answer();
        let problems = answer.as_ref().err().map(Vec::as_slice).unwrap_or_default();
        for (at, (question, draft)) in self.questions.iter().zip(&self.drafts).enumerate() {
            if at > 0 {
                out.lines.push(Line::new());
            }
            let context = Context { width, focus: self.focused(), question: at, problems, shows_all: self.was_tried };
            out.lines.extend(self.heading(at, question, draft, width));
            context.draft(&mut out, question, draft);
        }
        out.lines.push(Line::new());
        out.lines.extend(self.request_lines(width));
        if self.mixes_decisions() {
            let text = "This server may drop approved actions when one is rejected.";
            out.lines.extend(wrap(text, width).iter().map(|line| Line::of(Tone::Waiting, line)));
        }
        out.lines.extend(self.summary(&answer, width));
        out
    }

    fn heading(&self, at: usize, question: &Question, draft: &QuestionDraft, width: usize) -> Vec<Line> {
        let count = self.questions.len();
        let number = if count > 1 { format!("{} of {count}  ", at + 1) } else { String::new() };
        let right = match (&draft.draft, question.node.as_deref().filter(|_| count > 1)) {
            (Draft::Fields(form, _), None) => {
                form.title.as_ref().map(|title| format!("form from the question's schema: {title}"))
            }
            (_, node) => node.map(|node| format!("asked by {node}")),
        };
        let mut lines = Vec::new();
        if let Draft::Actions(actions) = &draft.draft {
            let text = match actions.len() {
                1 => "1 action needs a decision.".to_string(),
                n => format!("{n} actions need a decision. They are sent together."),
            };
            lines.push(Line::of(Tone::Waiting, "◆ ").with(Tone::Dim, &number).with(Tone::Strong, &text));
        } else {
            let (said, others) = question_lines(question, width.saturating_sub(2 + text::width(&number)));
            for (i, line) in said.iter().enumerate() {
                let line = match i {
                    0 => Line::of(Tone::Waiting, "◆ ").with(Tone::Dim, &number).with(Tone::Strong, line),
                    _ => Line::of(Tone::Plain, "  ").with(Tone::Strong, line),
                };
                lines.push(line);
            }
            lines.extend(others);
        }
        if let (Some(first), Some(right)) = (lines.first_mut(), right)
            && first.width() + text::width(&right) + 2 <= width
        {
            *first = std::mem::take(first).right(Tone::Dim, &right);
        }
        lines
    }

    /// The request that the key sends, or that it can't be made yet.
    fn request_lines(&self, width: usize) -> Vec<Line> {
        let fold = if self.shows_request { "▾" } else { "▸" };
        let mut lines = vec![Line::of(Tone::Dim, &format!("{fold} Request"))];
        if !self.shows_request {
            return lines;
        }
        let Some(body) = self.request() else {
            let why = if self.run.is_none() {
                "The thread does not say which assistant it belongs to."
            } else {
                "The answer is not complete."
            };
            lines.push(Line::of(Tone::Dim, &format!("  {why}")));
            return lines;
        };
        let thread = text::short_id(&self.thread.id);
        let graph = self.graph.clone().unwrap_or_else(|| text::short_id(&body.assistant_id));
        let about = format!(
            "  POST /threads/{thread}/runs · assistant {graph}, the thread's own · rejected if another run is active"
        );
        lines.extend(wrap(&about, width).iter().map(|line| Line::of(Tone::Dim, line)));
        let json = serde_json::to_string(&body).unwrap_or_default();
        let all = Line::of(Tone::Dim, &format!("  {json}")).broken(width, 2, usize::MAX);
        let more = all.len().saturating_sub(REQUEST_LINES);
        lines.extend(all.into_iter().take(REQUEST_LINES));
        if more > 0 {
            lines.push(Line::of(Tone::Dim, &format!("  … {more} more lines")));
        }
        lines
    }

    /// What is decided, and what is still missing.
    fn summary(&self, answer: &Result<crate::model::Resume, Vec<Problem>>, width: usize) -> Vec<Line> {
        if self.stage == AnswerStage::Sending {
            return vec![Line::of(Tone::Moving, "◐ ").with(Tone::Plain, "Sending. The thread is checked once more…")];
        }
        let count = self.questions.len();
        let actions: Vec<&ActionDraft> = self
            .drafts
            .iter()
            .filter_map(|draft| match &draft.draft {
                Draft::Actions(actions) if !draft.as_json => Some(actions),
                _ => None,
            })
            .flatten()
            .collect();
        let decided = actions.iter().filter(|action| action.decision.is_some()).count();
        let mut parts = Vec::new();
        if !actions.is_empty() {
            parts.push(format!("{decided} of {} decided.", actions.len()));
        }
        match answer {
            Ok(resume) => {
                let (answered, open) = (resume.answered().len(), count - resume.answered().len());
                match (count, open) {
                    (1, _) => parts.extend(self.sends(resume)),
                    (_, 0) => parts.push(format!("{answered} of {count} answered.")),
                    (_, 1) => parts.push(format!("{answered} of {count} answered; the other stays open.")),
                    _ => parts.push(format!("{answered} of {count} answered; the others stay open.")),
                }
            }
            Err(problems) => {
                let is_begun = self.drafts.iter().any(QuestionDraft::is_touched) || self.was_tried;
                match problems.len() {
                    _ if !is_begun => parts.push("Nothing is answered yet.".into()),
                    1 => parts.push(sentence(&problems[0].to_string())),
                    n => parts.push(format!("{n} things need a change. Nothing is sent until everything fits.")),
                }
            }
        }
        let tone = if answer.is_err() && self.was_tried { Tone::Bad } else { Tone::Plain };
        let mut lines: Vec<Line> = wrap(&parts.join(" "), width).iter().map(|line| Line::of(tone, line)).collect();
        let unchecked = self.questions.iter().find_map(Question::unchecked_schema);
        let caution = match unchecked {
            Some(why) => {
                format!("The question's schema can't be checked here ({}): the server checks it.", text::clean(&why))
            }
            None if self.questions.iter().all(|question| question.response_schema.is_some()) => String::new(),
            None => "The server keeps the first answer: check it before sending.".into(),
        };
        let room = lines.last().map_or(0, |line| width.saturating_sub(line.width() + 2));
        match lines.last_mut() {
            Some(last) if text::width(&caution) <= room => *last = std::mem::take(last).right(Tone::Dim, &caution),
            _ => lines.extend(wrap(&caution, width).iter().map(|line| Line::of(Tone::Dim, line))),
        }
        lines
    }

    /// What is sent as the answer to the one question, in words.
    fn sends(&self, resume: &crate::model::Resume) -> Option<String> {
        let draft = self.drafts.first()?;
        let question = self.questions.first()?;
        let (Draft::Plain(_), false) = (&draft.draft, draft.as_json) else {
            return Some("The answer fits the question.".into());
        };
        let (value, to) = match question.resume_id() {
            Some(id) => (&resume.value()[id], format!(" to question {}", short(id))),
            None => (resume.value(), String::new()),
        };
        let shown = text::head(&value.to_string(), 60).to_string();
        let shown = if shown.len() < value.to_string().len() { format!("{shown}…") } else { shown };
        let kind = if value.is_string() { " as text" } else { "" };
        Some(format!("Sends {}{kind}{to}.", text::clean(&shown)))
    }
}

fn short(id: &str) -> String {
    format!("{}…{}", text::head(id, 6), text::tail(id, 4))
}

/// What is asked: its text, and below it what else the payload holds.
fn question_lines(question: &Question, width: usize) -> (Vec<String>, Vec<Line>) {
    let (said, others): (String, Vec<(&String, &Value)>) = match &question.value {
        Value::Object(fields) => {
            let names = ["question", "message", "prompt", "query", "title", "description"];
            let said = names.iter().find_map(|name| Some((*name, fields.get(*name)?.as_str()?)));
            match said {
                Some((name, said)) => (said.into(), fields.iter().filter(|(key, _)| *key != name).collect()),
                None => ("Answer this".into(), fields.iter().collect()),
            }
        }
        Value::String(said) => (said.clone(), Vec::new()),
        Value::Null => ("The graph asks for an answer, and says nothing else.".into(), Vec::new()),
        other => (serde_json::to_string_pretty(other).unwrap_or_default(), Vec::new()),
    };
    let mut lines = wrap(text::head(&said, 8 << 10).trim_end(), width);
    if lines.len() > QUESTION_LINES {
        let more = lines.len() - QUESTION_LINES;
        lines.truncate(QUESTION_LINES);
        lines.push(format!("… {more} more lines"));
    }
    let rows = others.into_iter().filter(|(_, value)| !value.is_null());
    let rows = rows.flat_map(|(name, value)| value_lines("  ", name, value, width)).take(QUESTION_LINES);
    (lines, rows.collect())
}

/// A name and a value, in a few lines.
fn value_lines(indent: &str, name: &str, value: &Value, width: usize) -> Vec<Line> {
    let shown = match value {
        Value::String(text) => text::head(text, 4 << 10).trim_end().to_string(),
        other => text::head(&other.to_string(), 4 << 10).to_string(),
    };
    let left = text::width(indent) + NAMES + 1;
    let mut all = wrap(&shown, width.saturating_sub(left).max(8));
    if all.len() > VALUE_LINES {
        let more = all.len() - VALUE_LINES;
        all.truncate(VALUE_LINES);
        all.push(format!("… {more} more lines"));
    }
    let name = text::clean(name);
    let lines = all.iter().enumerate().map(|(i, line)| {
        let name = if i == 0 { padded(&text::fit(&name, NAMES), NAMES) } else { " ".repeat(NAMES) };
        Line::of(Tone::Dim, &format!("{indent}{name} ")).with(Tone::Plain, line)
    });
    lines.collect()
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text::width(text))))
}

impl Context<'_> {
    fn is_focused(&self, at: At) -> bool {
        self.focus == Some(Stop { question: self.question, at })
    }

    fn mark(&self, at: At) -> Line {
        if self.is_focused(at) { Line::of(Tone::Accent, "▌ ") } else { Line::of(Tone::Plain, "  ") }
    }

    /// Adds lines, and notes them where they have the focus.
    fn add(&self, out: &mut CardLines, at: At, lines: impl IntoIterator<Item = Line>) {
        let from = out.lines.len();
        out.lines.extend(lines);
        if self.is_focused(at) {
            out.focus = (from, out.lines.len());
        }
    }

    fn problem(&self, spot: &Spot) -> Option<&str> {
        let is_it = |problem: &&Problem| {
            problem.question == self.question
                && match (&problem.spot, spot) {
                    (Spot::Field(path), Spot::Field(name)) => path == name || path.starts_with(&format!("{name}.")),
                    (Spot::Argument(at, path), Spot::Argument(n, name)) => {
                        at == n && (path == name || path.starts_with(&format!("{name}.")))
                    }
                    (known, wanted) => known == wanted,
                }
        };
        self.problems.iter().find(is_it).map(|problem| problem.rule.as_str())
    }

    fn draft(&self, out: &mut CardLines, question: &Question, draft: &QuestionDraft) {
        if let Some(json) = draft.json.as_ref().filter(|_| draft.as_json) {
            let note = self.shown_problem(&Spot::Answer, draft.is_touched());
            return self.boxed(out, At::Json, json, note);
        }
        match &draft.draft {
            Draft::Plain(plain) => self.plain(out, plain, draft.is_touched()),
            Draft::Fields(form, fields) => {
                for (n, (field, typed)) in form.fields.iter().zip(fields).enumerate() {
                    let spot = if field.name.is_empty() { Spot::Answer } else { Spot::Field(field.name.clone()) };
                    let problem = self.problem(&spot).filter(|_| self.shows_all || typed.was_left);
                    self.field(out, At::Field(n), "", field, typed, problem, None);
                }
                if let Some(problem) =
                    self.problem(&Spot::Answer).filter(|_| self.shows_all && form.fields[0].name != "")
                {
                    out.lines.push(Line::of(Tone::Bad, "  ✗ ").with(Tone::Plain, problem));
                }
            }
            Draft::Actions(actions) => {
                for (n, action) in actions.iter().enumerate() {
                    if n > 0 {
                        out.lines.push(Line::new());
                    }
                    self.action(out, n, action);
                }
                if let Some(problem) = self.problem(&Spot::Answer).filter(|_| self.shows_all) {
                    out.lines.push(Line::of(Tone::Bad, "  ✗ ").with(Tone::Plain, problem));
                }
            }
        }
        let _ = question;
    }

    fn shown_problem(&self, spot: &Spot, is_touched: bool) -> Option<String> {
        self.problem(spot).filter(|_| self.shows_all || is_touched).map(sentence)
    }

    fn plain(&self, out: &mut CardLines, plain: &PlainDraft, is_touched: bool) {
        if !plain.only_json {
            let mut line = self.mark(At::Kind).with(Tone::Dim, "Answer as    ");
            for (kind, label) in [(PlainKind::Text, "text"), (PlainKind::YesNo, "yes or no"), (PlainKind::Json, "JSON")]
            {
                option(&mut line, plain.kind == kind, label);
            }
            self.add(out, At::Kind, [line]);
        }
        match plain.kind {
            PlainKind::Text => self.boxed(out, At::Text, &plain.text, None),
            PlainKind::Json => {
                let problem = self.shown_problem(&Spot::Answer, is_touched);
                self.boxed(out, At::Json, &plain.json, problem);
            }
            PlainKind::YesNo => {
                let mut line = self.mark(At::YesNo).with(Tone::Dim, "             ");
                option(&mut line, plain.yes == Some(true), "yes");
                option(&mut line, plain.yes == Some(false), "no");
                line.push(Tone::Dim, "  y or n, Space changes it");
                self.add(out, At::YesNo, [line]);
            }
        }
    }

    fn action(&self, out: &mut CardLines, n: usize, draft: &ActionDraft) {
        let action = &draft.action;
        let name = text::clean(&action.name);
        let mut left = self.mark(At::Decision(n)).with(Tone::Dim, &format!("{}  ", n + 1));
        left.push(Tone::Strong, &padded(&text::fit(&name, NAMES), NAMES));
        let mut options = Line::new();
        for kind in &action.allowed {
            option(&mut options, draft.decision == Some(*kind), &format!("{} {}", kind.digit(), kind.word()));
        }
        if action.allowed.is_empty() {
            options.push(Tone::Waiting, "no decision that is known here is allowed: answer as JSON");
        }
        let description =
            action.description.as_deref().and_then(|text| text.lines().map(str::trim).find(|l| !l.is_empty()));
        let description = description.map(|text| format!(" {}", text::clean(text))).unwrap_or_default();
        let room = self.width.saturating_sub(left.width() + options.width() + 2);
        let fits = room > 0;
        let shown =
            text::fit(&description, if fits { room } else { self.width.saturating_sub(left.width()) }).into_owned();
        left.push(Tone::Plain, &shown);
        let mut lines = Vec::new();
        if fits {
            let gap = self.width.saturating_sub(left.width() + options.width());
            left.push(Tone::Plain, &" ".repeat(gap));
            left.left.extend(options.left);
            lines.push(left);
        } else {
            lines.push(left);
            let mut second = Line::of(Tone::Plain, "     ");
            second.left.extend(options.left);
            lines.push(second);
        }
        if let Some(problem) = self.problem(&Spot::Action(n)).filter(|_| self.shows_all) {
            lines.push(
                Line::of(Tone::Bad, "     ✗ ").with(Tone::Plain, &sentence(&format!("action {} {problem}", n + 1))),
            );
        }
        self.add(out, At::Decision(n), lines);
        self.details(out, n, draft);
    }

    /// The arguments of an action, or what is typed in their place.
    fn details(&self, out: &mut CardLines, n: usize, draft: &ActionDraft) {
        let message = |out: &mut CardLines, label: &str, text: &TextArea, hint: &str| {
            let field = FieldDraft { text: text.clone(), ..FieldDraft::default() };
            let shown = FormField {
                name: label.into(),
                description: None,
                kind: FieldKind::Text,
                is_required: false,
                is_nullable: false,
                initial: None,
                rule: hint.into(),
            };
            self.field(out, At::Message(n), "   ", &shown, &field, None, None);
        };
        match draft.decision {
            Some(DecisionKind::Edit) if draft.is_editable() => {
                for (i, (field, typed)) in draft.form.fields.iter().zip(&draft.fields).enumerate() {
                    let problem = self.problem(&Spot::Argument(n, field.name.clone()));
                    let problem = problem.filter(|_| self.shows_all || typed.was_left);
                    let changed = typed.is_changed(field).then(|| changed(field, typed));
                    self.field(out, At::Argument(n, i), "   ", field, typed, problem, changed.as_deref());
                }
            }
            _ => {
                match &draft.action.args {
                    Value::Object(args) => {
                        for (name, value) in args {
                            out.lines.extend(value_lines("     ", name, value, self.width));
                        }
                    }
                    Value::Null => {}
                    other => out.lines.extend(value_lines("     ", "arguments", other, self.width)),
                }
                match draft.decision {
                    Some(DecisionKind::Reject) => message(out, "reason", &draft.reason, "optional; the model is told"),
                    Some(DecisionKind::Respond) => message(out, "response", &draft.response, "the action's result"),
                    _ => {}
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn field(
        &self,
        out: &mut CardLines,
        at: At,
        indent: &str,
        field: &FormField,
        typed: &FieldDraft,
        problem: Option<&str>,
        changed: Option<&str>,
    ) {
        let focused = self.is_focused(at);
        let mut line = self.mark(at);
        line.push(Tone::Plain, indent);
        let star = if field.is_required && !field.is_nullable { " *" } else { "" };
        let name =
            if field.name.is_empty() { "answer".to_string() } else { format!("{}{star}", text::clean(&field.name)) };
        let name_width = if indent.is_empty() { NAMES - 2 } else { NAMES };
        line.push(Tone::Dim, &format!("{} ", padded(&text::fit(&name, name_width), name_width)));
        let before = line.width();
        let mut cursor = None;
        match &field.kind {
            FieldKind::Boolean => {
                let (mark, word) = match typed.choice {
                    Some(0) => ("[x]", "yes"),
                    Some(_) => ("[ ]", "no"),
                    None => ("[-]", "not set"),
                };
                line.push(if focused { Tone::Accent } else { Tone::Plain }, &format!("{mark} {word}"));
            }
            FieldKind::Choice(values) => {
                for (n, value) in values.iter().enumerate() {
                    let label = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                    option(&mut line, typed.choice == Some(n), text::head(&label, 40));
                }
            }
            _ => {
                let room = FIELD.min(self.width.saturating_sub(before + 4)).max(4);
                let (shown, column) = one_line(&typed.text, room, focused);
                let frame = if focused { Tone::Accent } else { Tone::Dim };
                let tone = if changed.is_some() { Tone::Strong } else { Tone::Plain };
                line.push(frame, "[ ");
                line.push(tone, &padded(&shown, room));
                line.push(frame, " ]");
                cursor = column.filter(|_| focused).map(|column| before + 2 + column);
            }
        }
        let mut notes = Line::new();
        if let Some(problem) = problem {
            notes.push(Tone::Bad, "   ✗ ");
            notes.push(Tone::Plain, problem);
        }
        if let Some(changed) = changed {
            notes.push(Tone::Dim, &format!("   {changed}"));
        }
        if !field.rule.is_empty() && changed.is_none() {
            notes.push(Tone::Dim, &format!("   {}", field.rule));
        }
        if let Some(description) = &field.description {
            notes.push(Tone::Dim, &format!("   {}", text::head(description, 400)));
        }
        let row = out.lines.len();
        let mut lines = Vec::new();
        if line.width() + notes.width() <= self.width {
            line.left.extend(notes.left);
            lines.push(line);
        } else {
            lines.push(line);
            let said = notes.text();
            let tone = if problem.is_some() { Tone::Bad } else { Tone::Dim };
            let indent = before.min(self.width / 2);
            let wrapped = wrap(said.trim_start(), self.width.saturating_sub(indent).max(8));
            lines.extend(wrapped.iter().map(|part| Line::of(tone, &format!("{}{part}", " ".repeat(indent)))));
        }
        self.add(out, at, lines);
        if let Some(column) = cursor {
            out.cursor = Some((row, column));
        }
    }

    /// A text of several lines in a frame.
    fn boxed(&self, out: &mut CardLines, at: At, typed: &TextArea, problem: Option<String>) {
        let focused = self.is_focused(at);
        let frame = if focused { Tone::Accent } else { Tone::Dim };
        let room = self.width.saturating_sub(8).clamp(8, 116);
        let (row, col) = typed.cursor();
        let lines = typed.lines();
        let height = lines.len().clamp(1, TYPED_LINES);
        let top = (row + 1).saturating_sub(height);
        let bar = |left: &str, right: &str| Line::of(frame, &format!("  {left}{}{right}", "─".repeat(room + 2)));
        let mut shown = vec![bar("┌", "┐")];
        let begin = out.lines.len();
        for (n, line) in lines.iter().enumerate().skip(top).take(height) {
            let is_here = n == row;
            let head = text::clean(line.get(..col.min(line.len())).unwrap_or_default());
            let shift = if is_here { (text::width(&head) + 1).saturating_sub(room) } else { 0 };
            let clean = text::clean(line);
            let visible = text::fit(&skip_columns(&clean, shift), room).into_owned();
            shown.push(Line::of(frame, "  │ ").with(Tone::Plain, &padded(&visible, room)).with(frame, " │"));
            if is_here && focused {
                out.cursor = Some((begin + shown.len() - 1, 4 + text::width(&head) - shift));
            }
        }
        shown.push(bar("└", "┘"));
        if lines.len() > height {
            shown.push(Line::of(Tone::Dim, &format!("  line {} of {}", row + 1, lines.len())));
        }
        if let Some(problem) = problem {
            let wrapped = wrap(&problem, self.width.saturating_sub(4).max(8));
            let first = |i: usize| if i == 0 { "  ✗ " } else { "    " };
            shown.extend(
                wrapped.iter().enumerate().map(|(i, part)| Line::of(Tone::Bad, first(i)).with(Tone::Plain, part)),
            );
        }
        self.add(out, at, shown);
    }
}

/// A choice of several.
fn option(line: &mut Line, chosen: bool, label: &str) {
    let (mark, tone) = if chosen { ("(x) ", Tone::Strong) } else { ("( ) ", Tone::Dim) };
    line.push(tone, mark);
    line.push(if chosen { Tone::Strong } else { Tone::Plain }, label);
    line.push(Tone::Plain, "   ");
}

/// What a changed argument was.
fn changed(field: &FormField, typed: &FieldDraft) -> String {
    let was = match &field.initial {
        None => return "added".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let was = text::clean(text::head(&was, 200).lines().next().unwrap_or_default()).into_owned();
    let was = text::fit(&was, 40).into_owned();
    match typed.value(field) {
        Ok(None) => format!("removed, was: {was}"),
        _ => format!("changed, was: {was}"),
    }
}

/// A text on one line, and the column of its cursor in it. Line breaks have a sign.
fn one_line(typed: &TextArea, room: usize, focused: bool) -> (String, Option<usize>) {
    let (row, col) = typed.cursor();
    let mut whole = String::new();
    let mut at = 0;
    for (n, line) in typed.lines().iter().enumerate() {
        if n > 0 {
            whole.push('⏎');
        }
        if n == row {
            at = text::width(&whole) + text::width(&text::clean(line.get(..col).unwrap_or(line)));
        }
        whole.push_str(&text::clean(line));
        // No screen is that wide; a text may have megabytes.
        if whole.len() > 64 << 10 && n >= row {
            break;
        }
    }
    if !focused {
        return (text::fit(&whole, room).into_owned(), None);
    }
    let shift = (at + 1).saturating_sub(room);
    (text::fit(&skip_columns(&whole, shift), room).into_owned(), Some(at - shift))
}

fn skip_columns(text: &str, columns: usize) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    let mut used = 0;
    let skipped = text.graphemes(true).skip_while(|cluster| {
        let skip = used < columns;
        used += text::width(cluster);
        skip
    });
    skipped.collect()
}
