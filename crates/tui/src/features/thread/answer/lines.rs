//! The lines of the answer card: the questions with their drafts, the request, and the open problems.

use super::draft::{ActionDraft, Draft, QuestionDraft};
use super::fields;
use super::fields::{some_lines, value_lines};
use super::{AnswerCard, AnswerStage, sentence};
use crate::session::thread::with_draft;
use crate::widgets::form_lines::FormLines;
use crate::widgets::line::{Line, Tone};
use crate::widgets::status::since;
use jiff::Timestamp;
use runtail_core::model::{MIXED_DECISIONS, Problem, Question, Resume};
use runtail_core::text;
use serde_json::Value;

/// Maximum lines of the request.
const REQUEST_LINES: usize = 12;

impl AnswerCard {
    /// Returns when the questions were asked, and by which node.
    pub(super) fn asked(&self, now: Timestamp) -> String {
        let age = self
            .since
            .map(|at| format!(" · asked {} ago", since(now, at)))
            .unwrap_or_default();
        let nodes: Vec<&str> = self
            .questions
            .iter()
            .filter_map(|question| question.node.as_deref())
            .collect();
        let by = match nodes.first() {
            Some(node) if nodes.iter().all(|other| other == node) => format!(" by {node}"),
            _ => String::new(),
        };
        format!("{age}{by}")
    }

    /// Returns the lines for a width.
    pub fn lines(&self, width: usize) -> FormLines {
        let mut out = FormLines::new(width);
        match &self.stage {
            AnswerStage::Loading => {
                out.say(Tone::Dim, "Loading questions…");
                return out;
            }
            AnswerStage::NotLoaded(error) => {
                out.lines.push(Line::bad("Couldn't load the questions."));
                out.say(Tone::Plain, &error.story());
                return out;
            }
            AnswerStage::Refused(failed) => {
                out.say(Tone::Bad, &with_draft(failed.failure));
                out.say(Tone::Dim, &failed.error.story());
                out.blank();
            }
            AnswerStage::Editing | AnswerStage::Sending => {}
        }
        if let (Some(closed), AnswerStage::Editing) = (&self.watch.closed, &self.stage) {
            out.say(Tone::Bad, &closed.sentence);
            out.blank();
        }
        let answer = self.answer();
        let problems = answer.as_ref().err().map(Vec::as_slice).unwrap_or_default();
        let is_call: Vec<bool> = self.questions.iter().map(Question::is_per_call).collect();
        let calls = |to: usize| is_call[..to].iter().filter(|is_call| **is_call).count();
        for (at, (question, draft)) in self.questions.iter().zip(&self.drafts).enumerate() {
            if at > 0 {
                out.blank();
            }
            let lines = fields::Question {
                focus: Some(self.focus.at).filter(|_| self.focus.question == at),
                question: at,
                before: if is_call[at] { calls(at) } else { 0 },
                problems,
                shows_all: self.was_tried,
            };
            // Calls that wait together are listed like the actions of one question.
            if !(is_call[at] && at > 0 && is_call[at - 1]) {
                let actions = if is_call[at] { calls(is_call.len()) } else { 1 };
                out.lines
                    .extend(self.heading(at, question, draft, actions, width));
                if matches!(draft.twin.shown(), Some(Draft::Actions(_))) {
                    out.blank();
                }
            } else if self.is_left_out(at) {
                out.lines.push(Line::dim("     no longer open"));
            }
            lines.draft(&mut out, draft);
        }
        out.blank();
        self.request_lines(&mut out);
        if answer.as_ref().is_ok_and(Resume::is_doubtful) {
            out.say(Tone::Waiting, MIXED_DECISIONS);
        }
        self.summary(&mut out, &answer);
        out
    }

    /// `calls`: how many calls with a question of their own it heads.
    fn heading(
        &self,
        at: usize,
        question: &Question,
        draft: &QuestionDraft,
        calls: usize,
        width: usize,
    ) -> Vec<Line> {
        let count = self.questions.len();
        let number = if count > 1 && calls < 2 {
            format!("{} of {count}  ", at + 1)
        } else {
            String::new()
        };
        let right = match (
            &draft.twin.form,
            question.node.as_deref().filter(|_| count > 1),
        ) {
            (Draft::Fields(form), None) => form
                .form
                .title
                .as_ref()
                .map(|title| format!("form: {title}")),
            (_, node) => node.map(|node| format!("node {node}")),
        };
        let right = if self.is_left_out(at) {
            Some("no longer open".into())
        } else {
            right
        };
        let mut lines = Vec::new();
        if let Draft::Actions(actions) = &draft.twin.form {
            let text = match actions.len() {
                1 if calls > 1 => {
                    format!("{calls} actions to decide; undecided ones stay open.")
                }
                1 => "1 action to decide.".to_string(),
                n => format!("{n} actions to decide, sent together."),
            };
            lines.push(
                Line::of(Tone::Waiting, "◆ ")
                    .with_dim(&number)
                    .with_strong(&text),
            );
        } else {
            let (title, others) =
                question_lines(question, width.saturating_sub(2 + text::width(&number)));
            for (i, line) in title.iter().enumerate() {
                let line = match i {
                    0 => Line::of(Tone::Waiting, "◆ ")
                        .with_dim(&number)
                        .with_strong(line),
                    _ => Line::plain("  ").with_strong(line),
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

    /// Adds the request, or why there is none yet.
    fn request_lines(&self, out: &mut FormLines) {
        let fold = if self.shows_request { "▾" } else { "▸" };
        out.lines.push(Line::dim(&format!("{fold} Request")));
        if !self.shows_request {
            return;
        }
        let Some(body) = self.request() else {
            return out.say(
                Tone::Dim,
                if self.run.is_none() {
                    "  Assistant unknown."
                } else {
                    "  Answer incomplete."
                },
            );
        };
        let thread = text::short_id(&self.thread.id);
        let graph = self
            .graph
            .clone()
            .unwrap_or_else(|| text::short_id(&body.assistant_id));
        let about = format!(
            "  POST /threads/{thread}/runs · assistant {graph} · rejected if a run is active"
        );
        out.say(Tone::Dim, &about);
        // What is sent also has a random id, by which the run is found if the reply is lost.
        let mut json = serde_json::to_value(&body).unwrap_or_default();
        json["metadata"]["runtail"] = "(random id)".into();
        let json = json.to_string();
        let all = Line::dim(&format!("  {json}")).broken(out.width, 2, usize::MAX);
        let more = all.len().saturating_sub(REQUEST_LINES);
        out.lines.extend(all.into_iter().take(REQUEST_LINES));
        if more > 0 {
            out.say(Tone::Dim, &format!("  … {more} more lines"));
        }
    }

    /// Says which decisions are made, and which problems are left.
    fn summary(&self, out: &mut FormLines, answer: &Result<Resume, Vec<Problem>>) {
        if self.stage == AnswerStage::Sending {
            let line = Line::moving("◐ ").with_plain("Checking, then sending…");
            return out.lines.push(line);
        }
        let count = self.questions.len();
        let actions: Vec<&ActionDraft> = self
            .drafts
            .iter()
            .filter_map(|draft| match draft.twin.shown()? {
                Draft::Actions(actions) => Some(actions),
                _ => None,
            })
            .flatten()
            .collect();
        let decided = actions
            .iter()
            .filter(|action| action.decision.is_some())
            .count();
        let mut parts = Vec::new();
        if !(actions.is_empty() || count > 1 && self.questions.iter().all(Question::is_per_call)) {
            parts.push(format!("{decided} of {} decided.", actions.len()));
        }
        match answer {
            Ok(resume) => {
                let (answered, open) = (resume.answered().len(), count - resume.answered().len());
                match (count, open) {
                    (1, _) => parts.extend(self.sends(resume)),
                    (_, 0) => parts.push(format!("{answered} of {count} answered.")),
                    _ => parts.push(format!(
                        "{answered} of {count} answered; the rest stays open."
                    )),
                }
            }
            Err(problems) => {
                let is_begun = self.drafts.iter().any(QuestionDraft::is_touched) || self.was_tried;
                match problems.len() {
                    _ if !is_begun && parts.is_empty() => {
                        parts.push("Nothing is answered yet.".into())
                    }
                    _ if !is_begun => {}
                    1 => parts.push(sentence(&problems[0].in_words(&self.questions))),
                    n => parts.push(format!("{n} problems to fix.")),
                }
            }
        }
        let tone = if answer.is_err() && self.was_tried {
            Tone::Bad
        } else {
            Tone::Plain
        };
        out.say(tone, &parts.join(" "));
        let caution = match self.questions.iter().find_map(Question::caution) {
            Some(caution) => caution,
            None if self
                .questions
                .iter()
                .all(|question| question.response_schema.is_some()) =>
            {
                return;
            }
            None => "Can't be changed once sent.".into(),
        };
        if !out.beside(&caution) {
            out.say(Tone::Dim, &caution);
        }
    }

    /// Describes what is sent as the answer to the only question.
    fn sends(&self, resume: &Resume) -> Option<String> {
        let draft = self.drafts.first()?;
        let question = self.questions.first()?;
        let (Draft::Plain(_) | Draft::Json) = &draft.twin.form else {
            return Some("Ready.".into());
        };
        let (value, to) = match question.resume_id() {
            Some(id) => (&resume.value()[id], format!(" to question {}", short(id))),
            None => (resume.value(), String::new()),
        };
        let shown = text::head(&value.to_string(), 60).to_string();
        let shown = if shown.len() < value.to_string().len() {
            format!("{shown}…")
        } else {
            shown
        };
        let kind = if value.is_string() { " as text" } else { "" };
        Some(format!("Sends {}{kind}{to}.", text::clean(&shown)))
    }
}

fn short(id: &str) -> String {
    format!("{}…{}", text::head(id, 6), text::tail(id, 4))
}

/// Returns the text of a question, and the lines for the rest of its payload.
fn question_lines(question: &Question, width: usize) -> (Vec<String>, Vec<Line>) {
    let (title, others): (String, Vec<(&String, &Value)>) = match &question.value {
        value if question.unsupported().is_some() => (
            serde_json::to_string_pretty(value).unwrap_or_default(),
            Vec::new(),
        ),
        Value::Object(fields) => {
            let names = [
                "question",
                "message",
                "prompt",
                "query",
                "title",
                "description",
            ];
            let titled = names
                .iter()
                .find_map(|name| Some((*name, fields.get(*name)?.as_str()?)));
            match titled {
                Some((name, title)) => (
                    title.into(),
                    fields.iter().filter(|(key, _)| *key != name).collect(),
                ),
                None => ("Answer this".into(), fields.iter().collect()),
            }
        }
        Value::String(title) => (title.clone(), Vec::new()),
        Value::Null => ("The graph asks without details.".into(), Vec::new()),
        other => (
            serde_json::to_string_pretty(other).unwrap_or_default(),
            Vec::new(),
        ),
    };
    let rows = others.into_iter().filter(|(_, value)| !value.is_null());
    let rows = rows.flat_map(|(name, value)| value_lines(name, value, 2, width));
    (some_lines(title.trim_end(), width), rows.collect())
}
