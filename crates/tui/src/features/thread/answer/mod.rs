//! The card that answers a thread's questions. Only the send key sends an answer, and only a valid one, because a
//! server keeps the first answer it receives, even if the graph can't use it.

mod draft;
mod fields;
mod keys;
mod lines;
#[cfg(test)]
mod tests;
mod watch;

pub use draft::{ActionDraft, Draft, PlainDraft, PlainKind, QuestionDraft};
pub use keys::{At, Stop};

use super::Threads;
use super::actions::answer_by_status;
use crate::session::card;
use crate::session::form::FormKeys;
use crate::session::msg::{Effect, ThreadRef};
use crate::session::thread::MAYBE_SENT;
use crate::session::{ALREADY_SENT, Cx, HELD_KEY, Request, Requests, Session, not_sent};
use crate::widgets::form::FormScroll;
use jiff::Timestamp;
use runtail_api::{ApiError, LoadedThread, RunStart, StartError, StartGuard};
use runtail_core::model::{
    Problem, Question, Reply, Rerun, Resume, RunCreate, ThreadStatus, resume, shell_word,
};
use runtail_core::text;

/// Maximum number of drafts kept in a session.
const MAX_DRAFTS: usize = 50;

#[derive(Debug, Clone)]
pub struct AnswerCard {
    /// The number of the card in this session.
    pub number: u64,
    pub thread: ThreadRef,
    pub stage: AnswerStage,
    /// The name of the graph, if it is known.
    graph: Option<String>,
    /// When the thread began to wait.
    since: Option<Timestamp>,
    /// The questions, in the server's order.
    questions: Vec<Question>,
    drafts: Vec<QuestionDraft>,
    /// The run that sends the answer, without the answer itself.
    run: Option<Rerun>,
    /// Whether the user chose "approve all".
    approve: bool,
    /// The drafts of earlier answers to the thread.
    kept: Vec<KeptDraft>,
    /// What has the focus.
    focus: Stop,
    pub scroll: FormScroll<Stop>,
    /// Whether the request is shown.
    shows_request: bool,
    /// When the send key was pressed before there was anything to send.
    held: Option<Timestamp>,
    /// Whether sending was tried; from then on all problems are shown.
    was_tried: bool,
    watch: watch::AnswerWatch,
}

/// The stage of a card.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerStage {
    Loading,
    /// The thread could not be loaded.
    NotLoaded(ApiError),
    Editing,
    Sending,
    /// The answer was not sent, or the server rejected it.
    Refused(StartError),
}

/// A draft that was closed, with its question.
#[derive(Debug, Clone)]
pub struct KeptDraft {
    thread: ThreadRef,
    question: Question,
    draft: QuestionDraft,
}

impl AnswerCard {
    /// Returns a card for a thread that must be loaded first.
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
            approve: false,
            kept: Vec::new(),
            focus: Stop::NONE,
            scroll: FormScroll::new(true),
            shows_request: true,
            held: None,
            was_tried: false,
            watch: watch::AnswerWatch::default(),
        }
    }

    /// Returns a card for a loaded thread.
    pub fn loaded(number: u64, thread: ThreadRef, loaded: LoadedThread) -> AnswerCard {
        let mut card = AnswerCard::loading(number, thread);
        card.fill(loaded);
        card
    }

    /// Returns a card for a thread that is known only from its stream.
    pub fn of_stream(
        number: u64,
        thread: ThreadRef,
        questions: Vec<Question>,
        assistant: Option<String>,
    ) -> AnswerCard {
        let run = assistant.map(|assistant| Rerun::with_options_of(None, &assistant));
        let mut card = AnswerCard {
            run,
            ..AnswerCard::loading(number, thread)
        };
        card.ask(questions);
        card
    }

    fn fill(&mut self, loaded: LoadedThread) {
        self.graph = loaded
            .thread
            .as_ref()
            .and_then(|thread| thread.graph_id.clone());
        self.run = loaded
            .assistant()
            .map(|assistant| loaded.next_run(assistant));
        self.since = match loaded.status() {
            ThreadStatus::Waiting { since, .. } => since,
            _ => loaded.state.as_ref().and_then(|state| state.created_at),
        };
        self.ask(loaded.answerable());
    }

    fn ask(&mut self, questions: Vec<Question>) {
        self.drafts = questions.iter().map(QuestionDraft::of).collect();
        self.questions = questions;
        self.watch = watch::AnswerWatch::default();
        self.stage = AnswerStage::Editing;
        self.focus = self.first_stop();
    }

    /// Records that the answer was rejected; the draft is kept.
    pub(crate) fn refused(&mut self, failed: StartError) {
        self.stage = AnswerStage::Refused(failed);
        self.scroll.top = 0;
    }

    /// Approves every undecided action that allows it.
    fn approve_all(&mut self) {
        for (question, draft) in self.questions.iter().zip(&mut self.drafts) {
            draft.approve(question);
        }
    }

    /// Returns how many questions the answer leaves open.
    pub(crate) fn left_open(&self) -> usize {
        self.answer()
            .map_or(0, |resume| self.questions.len() - resume.answered().len())
    }

    /// Returns the drafts as answers to the questions.
    ///
    /// # Errors
    /// Returns every reason why they can't be sent.
    pub fn answer(&self) -> Result<Resume, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut replies: Vec<Option<Reply>> = Vec::new();
        for (at, (question, draft)) in self.questions.iter().zip(&self.drafts).enumerate() {
            if self.is_left_out(at) {
                replies.push(None);
                continue;
            }
            // An untouched form may be a valid answer to a single question; among several it leaves the question open.
            let is_meant = match self.questions.len() {
                1 => draft.is_touched() || self.was_tried,
                _ => draft.is_touched() && !draft.is_undecided(),
            };
            match draft.reply(question, is_meant) {
                Ok(reply) => replies.push(reply),
                Err(broken) => {
                    replies.push(None);
                    problems.extend(broken.into_iter().map(|(spot, rule)| Problem {
                        question: at,
                        spot,
                        rule,
                    }));
                }
            }
        }
        if problems.is_empty() {
            return resume(&self.questions, &replies);
        }
        // An unreadable reply is not an answer, but the problems of the others are still reported.
        if let Err(others) = resume(&self.questions, &replies) {
            let is_new = |other: &Problem| {
                !problems
                    .iter()
                    .any(|known| known.question == other.question)
            };
            let others: Vec<Problem> = others
                .into_iter()
                .filter(|other| replies[other.question].is_some() && is_new(other))
                .collect();
            problems.extend(others);
        }
        Err(problems)
    }

    /// Returns the run to start; `None` if the answer is invalid or the assistant unknown.
    pub fn request(&self) -> Option<RunCreate> {
        let answer = self.answer().ok()?;
        Some(self.run.as_ref()?.body.clone().answering(&answer))
    }

    /// Returns whether a question was closed while others are still open.
    fn is_left_out(&self, question: usize) -> bool {
        self.watch
            .left_out
            .get(question)
            .copied()
            .unwrap_or_default()
    }
}

impl AnswerCard {
    /// Opens the card of a thread, with the drafts of earlier answers. `approve`: approves every action that allows it.
    pub fn open(&mut self, session: &Session, approve: bool, kept: &[KeptDraft]) -> Requests {
        self.approve = approve;
        self.shows_request = session.size.1 >= 30;
        let is_own = |kept: &&KeptDraft| kept.thread == self.thread;
        self.kept = kept.iter().filter(is_own).cloned().collect();
        self.begin(session)
    }

    /// Applies the loaded thread.
    pub(super) fn on_loaded(
        &mut self,
        session: &Session,
        loaded: Result<Box<LoadedThread>, ApiError>,
    ) -> Requests {
        let loaded = match loaded {
            // A repeated result must not replace what was typed since.
            _ if self.stage != AnswerStage::Loading => return Requests::none(),
            Ok(loaded) => loaded,
            Err(error) => {
                self.stage = AnswerStage::NotLoaded(error);
                return Requests::none();
            }
        };
        let mut close = Requests::from(Request::Close);
        if loaded.is_blank() {
            let text = "This server can't list a thread's questions. Answer on the run's page, or unchecked with `runtail run A \
                        --thread T --resume JSON`.";
            close.notify(true, text);
            return close;
        }
        if loaded.answerable().is_empty() {
            let (thread, rejected) = (self.thread.clone(), loaded.keeps_rejected_answer());
            close.extend(answer_by_status(
                session,
                thread,
                &loaded.status(),
                rejected,
            ));
            return close;
        }
        self.fill(*loaded);
        self.begin(session)
    }

    /// Restores an earlier draft in a card whose questions are known.
    fn begin(&mut self, session: &Session) -> Requests {
        if self.stage != AnswerStage::Editing {
            return Requests::none();
        }
        let mut is_restored = false;
        for (question, draft) in self.questions.iter().zip(&mut self.drafts) {
            if let Some(kept) = self.kept.iter().find(|kept| kept.question == *question) {
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
            return Requests::info("Some questions need more than an approval.");
        }
        match is_restored {
            true => {
                let key = session.key("answer.start_over");
                Requests::info(format!("Draft restored; {key} starts over."))
            }
            false => Requests::none(),
        }
    }

    /// Closes the card and keeps the draft.
    fn close(&self) -> Requests {
        let mut out = Requests::none();
        if self.stage == AnswerStage::Sending {
            out.notify(false, ALREADY_SENT);
        }
        out.and(Request::Close)
    }

    /// Sends the answer.
    fn send(&mut self, cx: &Cx<'_>) -> Requests {
        let now = cx.session.now;
        // A send key that is held down since before the questions were visible must not send.
        if !cx.is_seen
            || !self.is_editable()
            || self
                .held
                .is_some_and(|last| now.duration_since(last) < HELD_KEY)
        {
            self.held = Some(now);
            return Requests::none();
        }
        if matches!(&self.stage, AnswerStage::Refused(failed) if failed.failure.may_be_received()) {
            return Requests::error(MAYBE_SENT);
        }
        self.was_tried = true;
        let resume = match self.answer() {
            Ok(resume) => resume,
            Err(problems) => {
                self.go_to_problem(&problems);
                return Requests::error(match problems.as_slice() {
                    [one] => not_sent(sentence(&one.in_words(&self.questions))),
                    several => not_sent(format!("{} problems to fix.", several.len())),
                });
            }
        };
        let Some(run) = self.run.clone() else {
            let thread = shell_word(&self.thread.id);
            return Requests::error(not_sent(format!(
                "The thread's assistant is unknown, and a wrong one hides the thread's state. If you know it: `runtail run \
                 ASSISTANT --thread {thread} --resume JSON`."
            )));
        };
        // The profile can become read-only while the card is open.
        if cx.session.is_read_only(&self.thread.server.profile) {
            return Requests::error(cx.session.read_only_text(&self.thread.server.profile));
        }
        self.stage = AnswerStage::Sending;
        let asked = resume
            .answered()
            .iter()
            .map(|at| self.questions[*at].clone())
            .collect();
        let start = RunStart {
            thread: self.thread.id.clone(),
            body: run.body.answering(&resume),
            guard: StartGuard::Questions(asked),
        };
        Effect::StartRun(self.number, self.thread.clone(), Box::new(start)).into()
    }
}

impl Threads {
    /// Keeps a draft for the next time the same question is answered.
    pub fn keep(&mut self, card: &AnswerCard) {
        for (question, draft) in card.questions.iter().zip(&card.drafts) {
            self.answer_drafts
                .retain(|kept| kept.thread != card.thread || kept.question != *question);
            if draft.is_touched() {
                let (thread, question, draft) =
                    (card.thread.clone(), question.clone(), draft.clone());
                self.answer_drafts.push(KeptDraft {
                    thread,
                    question,
                    draft,
                });
            }
        }
        let surplus = self.answer_drafts.len().saturating_sub(MAX_DRAFTS);
        self.answer_drafts.drain(..surplus);
    }

    /// Forgets the drafts of answered questions.
    pub fn forget_answered(&mut self, card: &AnswerCard) {
        self.keep(card);
        let Ok(resume) = card.answer() else {
            return;
        };
        let answered = resume.answered().iter().map(|at| &card.questions[*at]);
        let is_answered = |kept: &KeptDraft| {
            kept.thread == card.thread && answered.clone().any(|asked| *asked == kept.question)
        };
        self.answer_drafts.retain(|kept| !is_answered(kept));
    }
}

/// Formats a rule as a sentence with a capital letter and a period.
fn sentence(rule: &str) -> String {
    card::sentence(&text::capitalized(&text::clean(rule)))
}
