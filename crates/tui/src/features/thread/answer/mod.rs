//! The card in which a thread's questions are answered. Nothing is sent before the key that sends, and nothing that doesn't
//! fit: a server keeps the first answer that it receives, even one that the graph can't use.

mod draft;
mod fields;
mod keys;
mod lines;
#[cfg(test)]
mod tests;

pub use draft::{ActionDraft, Draft, FieldDraft, PlainDraft, PlainKind, QuestionDraft};
pub use keys::{At, Stop};
pub use lines::CardLines;

use super::{Threads, answer_view};
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::session::msg::{Effect, ThreadRef};
use crate::session::{Component, Cx, HELD, Request, Requests, Session, read_only_text};
use crate::widgets::canvas::Canvas;
use jiff::Timestamp;
use runtail_api::{ApiError, LoadedThread, RunStart, ServerKind, StartError, StartFailure, StartGuard};
use runtail_core::model::{DecisionKind, Problem, Question, Reply, Rerun, Resume, RunCreate, ThreadStatus, resume};
use runtail_core::text;

/// Drafts of answers that are kept for the session.
const MAX_DRAFTS: usize = 50;

/// The card.
#[derive(Debug, Clone)]
pub struct AnswerCard {
    /// Its number in this session.
    pub number: u64,
    /// The thread.
    pub thread: ThreadRef,
    /// How far it is.
    pub stage: AnswerStage,
    /// The graph, by its name where that is known.
    graph: Option<String>,
    /// Since when the thread waits.
    since: Option<Timestamp>,
    /// The questions, in the server's order.
    questions: Vec<Question>,
    drafts: Vec<QuestionDraft>,
    /// The run that answers, without the answer.
    run: Option<Rerun>,
    /// Whether a JavaScript server answers.
    is_javascript: bool,
    /// Whether the person asked for approval everywhere.
    approve: bool,
    /// The stop with the focus.
    focus: usize,
    /// The first line that is shown.
    pub top: usize,
    /// Window and focus when they were last brought in line.
    settled: Option<(usize, usize)>,
    /// Whether the request is shown.
    shows_request: bool,
    /// When the key that sends was pressed before there was anything to send.
    held: Option<Timestamp>,
    /// Whether sending was tried: from then on every problem is shown.
    was_tried: bool,
}

/// How far a card is.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerStage {
    /// The thread is being read.
    Loading,
    /// It could not be read.
    NotLoaded(ApiError),
    /// It is being filled in.
    Editing,
    /// It was sent.
    Sending,
    /// It was not sent, or not accepted.
    Refused(StartError),
}

/// A draft that was left, with the question that it is for.
#[derive(Debug, Clone)]
pub struct KeptDraft {
    thread: ThreadRef,
    question: Question,
    draft: QuestionDraft,
}

impl AnswerCard {
    /// A card of a thread that has to be read first.
    pub fn loading(number: u64, thread: ThreadRef) -> AnswerCard {
        AnswerCard {
            number,
            thread,
            stage: AnswerStage::Loading,
            graph: None,
            since: None,
            questions: Vec::new(),
            drafts: Vec::new(),
            run: None,
            is_javascript: false,
            approve: false,
            focus: 0,
            top: 0,
            settled: None,
            shows_request: true,
            held: None,
            was_tried: false,
        }
    }

    /// A card of a thread that was read.
    pub fn loaded(number: u64, thread: ThreadRef, loaded: LoadedThread) -> AnswerCard {
        let mut card = AnswerCard::loading(number, thread);
        card.fill(loaded);
        card
    }

    /// A card of a thread of which only the stream is known.
    pub fn of_stream(
        number: u64,
        thread: ThreadRef,
        questions: Vec<Question>,
        assistant: Option<String>,
    ) -> AnswerCard {
        let run = assistant.map(|assistant| Rerun::with_options_of(None, &assistant));
        let mut card = AnswerCard { run, ..AnswerCard::loading(number, thread) };
        card.ask(questions);
        card
    }

    pub fn fill(&mut self, loaded: LoadedThread) {
        self.graph = loaded.thread.as_ref().and_then(|thread| thread.graph_id.clone());
        self.run = loaded.assistant().map(|assistant| loaded.next_run(assistant));
        self.since = match loaded.status() {
            ThreadStatus::Waiting { since, .. } => since,
            _ => loaded.state.as_ref().and_then(|state| state.created_at),
        };
        self.ask(loaded.answerable());
    }

    fn ask(&mut self, questions: Vec<Question>) {
        self.drafts = questions.iter().map(QuestionDraft::of).collect();
        self.questions = questions;
        self.stage = AnswerStage::Editing;
        self.focus = self.first_stop();
    }

    /// Says that the thread could not be read.
    pub(crate) fn loading_failed(&mut self, error: ApiError) {
        self.stage = AnswerStage::NotLoaded(error);
    }

    /// Says that the answer was not accepted; what was typed is kept.
    pub(crate) fn refused(&mut self, failed: StartError) {
        self.stage = AnswerStage::Refused(failed);
        self.top = 0;
    }

    /// Decides for approval wherever the question offers it.
    fn approve_all(&mut self) {
        for (question, draft) in self.questions.iter().zip(&mut self.drafts) {
            draft.approve(question);
        }
    }

    /// Brings what has the focus into sight.
    pub(crate) fn clamp(&mut self, width: usize, height: usize) {
        let CardLines { lines, focus: (from, to), .. } = self.lines(width);
        let last = lines.len().saturating_sub(height);
        let shows_focus = (self.top, self.focus);
        if self.settled != Some(shows_focus) {
            // A page was turned, or something else has the focus: only the latter moves the window.
            if self.settled.is_none_or(|(_, focus)| focus != self.focus) {
                if to > self.top + height {
                    self.top = to - height;
                }
                // The heading of the first question belongs to it.
                self.top = if from <= height / 2 && to <= height { 0 } else { self.top.min(from) };
            }
        }
        self.top = self.top.min(last);
        self.settled = Some((self.top, self.focus));
    }

    /// How many questions the answer leaves open.
    pub(crate) fn left_open(&self) -> usize {
        self.answer().map_or(0, |resume| self.questions.len() - resume.answered().len())
    }

    /// What is typed, as answers to the questions.
    ///
    /// # Errors
    /// Every reason why it can't be sent.
    pub fn answer(&self) -> Result<Resume, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut replies: Vec<Option<Reply>> = Vec::new();
        for (at, (question, draft)) in self.questions.iter().zip(&self.drafts).enumerate() {
            // Alone, a form that nobody touched may be what is meant; among others it stays open.
            let is_meant = draft.is_touched() || (self.was_tried && self.questions.len() == 1);
            match draft.reply(question, is_meant) {
                Ok(reply) => replies.push(reply),
                Err(broken) => {
                    replies.push(None);
                    problems.extend(broken.into_iter().map(|(spot, rule)| Problem { question: at, spot, rule }));
                }
            }
        }
        if problems.is_empty() {
            return resume(&self.questions, &replies);
        }
        // What can't be read is no answer, but the others' problems are said all the same.
        if let Err(others) = resume(&self.questions, &replies) {
            let is_new = |other: &Problem| !problems.iter().any(|known| known.question == other.question);
            let others: Vec<Problem> =
                others.into_iter().filter(|other| replies[other.question].is_some() && is_new(other)).collect();
            problems.extend(others);
        }
        Err(problems)
    }

    /// The run that would be started; none while the answer does not fit, or the assistant is not known.
    pub fn request(&self) -> Option<RunCreate> {
        let answer = self.answer().ok()?;
        Some(self.run.as_ref()?.body.clone().answering(&answer))
    }

    /// Whether approvals and rejections are mixed on a server that may drop the approved ones (acting reference §3).
    fn mixes_decisions(&self) -> bool {
        let mixes = |draft: &QuestionDraft| {
            let decided = draft.decisions();
            decided.iter().any(|kind| matches!(kind, DecisionKind::Approve | DecisionKind::Edit))
                && decided.iter().any(|kind| matches!(kind, DecisionKind::Reject | DecisionKind::Respond))
        };
        self.is_javascript && self.drafts.iter().any(mixes)
    }

    pub fn is_editable(&self) -> bool {
        matches!(self.stage, AnswerStage::Editing | AnswerStage::Refused(_))
    }
}

impl AnswerCard {
    /// The card of a thread. `approve`: with approval set wherever it is offered.
    pub fn shown(mut self, session: &Session, approve: bool) -> AnswerCard {
        self.approve = approve;
        self.shows_request = session.size.1 >= 30;
        self
    }

    /// Brings what was typed before into a card whose questions are known.
    pub fn begin(&mut self, session: &Session, kept: &[KeptDraft], kind: Option<ServerKind>) -> Requests {
        self.is_javascript = kind == Some(ServerKind::JavaScript);
        if self.stage != AnswerStage::Editing {
            return Requests::none();
        }
        let mut is_restored = false;
        for (question, draft) in self.questions.iter().zip(&mut self.drafts) {
            let is_its = |kept: &&KeptDraft| kept.thread == self.thread && kept.question == *question;
            if let Some(kept) = kept.iter().find(is_its) {
                *draft = kept.draft.clone();
                is_restored = true;
            }
        }
        let is_short = self.approve && {
            self.approve_all();
            !self.questions.iter().all(Question::can_be_approved)
        };
        self.focus = self.first_stop();
        if is_short {
            return Requests::info("Not everything can be approved. Decide about the rest.");
        }
        match is_restored {
            true => {
                let key = session.key("answer.start_over");
                Requests::info(format!("This is your draft from before. {key} starts over."))
            }
            false => Requests::none(),
        }
    }

    /// Closes the card; what was typed is kept.
    fn close(&self) -> Requests {
        let mut out = Requests::none();
        if self.stage == AnswerStage::Sending {
            out.notify(false, "The answer was sent already. You'll be told what became of it.");
        }
        out.and(Request::Close)
    }

    /// Sends the answer.
    fn send(&mut self, cx: &Cx<'_>) -> Requests {
        let now = cx.session.now;
        // A key that is held down since before there was anything to read must not send.
        if !cx.is_seen || !self.is_editable() || self.held.is_some_and(|last| now.duration_since(last) < HELD) {
            self.held = Some(now);
            return Requests::none();
        }
        if matches!(&self.stage, AnswerStage::Refused(failed) if failed.failure == StartFailure::Unknown) {
            let text = "The answer may have been received, so it isn't sent again from here. Look at the thread's runs; if the \
                        question is still open, answer it from there.";
            return Requests::error(text);
        }
        self.was_tried = true;
        let resume = match self.answer() {
            Ok(resume) => resume,
            Err(problems) => {
                self.go_to_problem(&problems);
                return Requests::error(match problems.as_slice() {
                    [one] => format!("Nothing was sent. {}", sentence(&one.to_string())),
                    several => format!("Nothing was sent. {} things need a change.", several.len()),
                });
            }
        };
        let Some(run) = self.run.clone() else {
            let text = "Nothing was sent: the thread does not say which assistant it belongs to, and a run of another one \
                        would hide its state.";
            return Requests::error(text);
        };
        // It may have become so since the card was opened.
        if cx.session.is_read_only(&self.thread.server.profile) {
            return Requests::error(read_only_text(&self.thread.server.profile));
        }
        self.stage = AnswerStage::Sending;
        let asked = resume.answered().iter().map(|at| self.questions[*at].clone()).collect();
        let start = RunStart {
            thread: self.thread.id.clone(),
            body: run.body.answering(&resume),
            guard: StartGuard::Questions(asked),
        };
        Effect::StartRun(self.number, self.thread.clone(), Box::new(start)).into()
    }
}

impl Threads {
    /// Keeps what was typed, for when the same question is answered again.
    pub fn keep(&mut self, card: &AnswerCard) {
        for (question, draft) in card.questions.iter().zip(&card.drafts) {
            self.answer_drafts.retain(|kept| kept.thread != card.thread || kept.question != *question);
            if draft.is_touched() {
                let (thread, question, draft) = (card.thread.clone(), question.clone(), draft.clone());
                self.answer_drafts.push(KeptDraft { thread, question, draft });
            }
        }
        let surplus = self.answer_drafts.len().saturating_sub(MAX_DRAFTS);
        self.answer_drafts.drain(..surplus);
    }

    /// Forgets the drafts of questions that were answered.
    pub fn forget_answered(&mut self, card: &AnswerCard) {
        self.keep(card);
        let answered = card.answer().map(|resume| resume.answered().to_vec()).unwrap_or_default();
        let is_answered = |kept: &KeptDraft| {
            kept.thread == card.thread && answered.iter().any(|at| card.questions[*at] == kept.question)
        };
        self.answer_drafts.retain(|kept| !is_answered(kept));
    }
}

impl Component for AnswerCard {
    fn context(&self) -> Context {
        Context::Answer
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        Some(self.on_key(cx, key))
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        AnswerCard::paste(self, text);
    }

    fn on_edited(&mut self, text: &str) {
        self.set_text(text);
    }

    fn on_drawn(&mut self) -> bool {
        self.is_editable()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let framed = cx.session.overlay_inner();
        self.clamp(framed.w.into(), framed.h.into());
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.thread.server.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        answer_view::answer(self, cx, canvas)
    }
}

/// A rule as a sentence: with a capital, and a full stop.
fn sentence(rule: &str) -> String {
    let mut chars = text::clean(rule).chars().collect::<Vec<_>>();
    if let Some(first) = chars.first_mut() {
        *first = first.to_ascii_uppercase();
    }
    let text: String = chars.into_iter().collect();
    if text.ends_with('.') { text } else { format!("{text}.") }
}

/// What a refusal means here.
fn meaning(failure: StartFailure) -> &'static str {
    match failure {
        StartFailure::NotOpen => "This question is no longer open. Nothing was sent; your draft is kept.",
        StartFailure::Busy => "Someone answered first. Your draft is kept.",
        StartFailure::Changed => "The thread changed. Nothing was sent; your draft is kept.",
        StartFailure::Unchecked => {
            "Couldn't check that the question is still open. Nothing was sent; your draft is kept."
        }
        StartFailure::Refused => "The server refused the answer. Your draft is kept.",
        StartFailure::NotOffered => "This server can't start runs in the background. Your draft is kept.",
        StartFailure::Unknown => {
            "It's unknown whether the answer was received: the server's reply was lost. Look at the thread's runs before you \
             do anything again."
        }
    }
}
