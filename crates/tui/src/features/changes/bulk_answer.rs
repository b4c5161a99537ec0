//! The bulk answer by rules: waiting threads are planned, previewed together, and answered one after the other.

use super::bulk_view;
use super::confirm::confirm_area;
use super::send_key::SendKey;
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::session::msg::{Effect, Proposal, ThreadRef};
use crate::session::thread::ThreadToAnswer;
use crate::session::{Component, Cx, Request, Requests, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::Tone;
use crate::widgets::scroll::{Flat, Place};
use runtail_api::{
    Acted, MAX_RULED_PLANS, MAX_RULED_THREADS, PlanError, StartError, StartFailure, ThreadIntent,
};
use runtail_core::model::{AnswerRule, Preview};
use runtail_core::text;
use std::sync::Arc;

/// The open page.
#[derive(Debug, Clone)]
pub struct BulkAnswer {
    /// The threads, in the order in which they are answered.
    pub threads: Vec<Answered>,
    rules: Arc<[AnswerRule]>,
    /// The waiting threads that are not included, because there are too many.
    pub(super) excess: usize,
    pub(super) stage: BulkStage,
    send_key: SendKey,
    pub(super) place: Place,
}

/// The progress of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkStage {
    /// The threads are read. No write request is sent.
    Planning,
    /// The answers can be sent.
    Ready,
    /// They are sent, one after the other.
    Sending,
    /// The one that was sent is the last.
    Stopping,
    Done,
}

/// A thread of the page.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The number of its plan in this session.
    pub number: u64,
    pub thread: ThreadRef,
    /// Its place and name.
    pub name: String,
    pub progress: Progress,
}

/// The progress of a thread.
#[derive(Debug, Clone)]
pub enum Progress {
    Queued,
    Planning,
    /// The rules leave it unanswered, or it can't be answered, for this reason.
    Left(String),
    Ready(Box<Preview>),
    Sending(Box<Preview>),
    Finished(Box<Preview>, Finish),
}

/// The result of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    pub tone: Tone,
    pub glyph: &'static str,
    pub word: &'static str,
    /// The run, or what the failure means.
    pub detail: String,
}

impl Finish {
    fn of(result: &Result<Acted, StartError>) -> Finish {
        let failed = match result {
            Ok(Acted::Started(started)) => {
                let detail = format!("run {}", text::short_id(&started.run_id));
                return Finish {
                    tone: Tone::Good,
                    glyph: "●",
                    word: "answered",
                    detail,
                };
            }
            Ok(_) => {
                return Finish {
                    tone: Tone::Good,
                    glyph: "●",
                    word: "answered",
                    detail: String::new(),
                };
            }
            Err(failed) => failed,
        };
        let (tone, glyph, word) = match failed.failure {
            StartFailure::NotOpen | StartFailure::Changed | StartFailure::Answered => {
                (Tone::Moving, "✗", "someone was first")
            }
            StartFailure::Busy | StartFailure::Refused | StartFailure::AfterEdit => {
                (Tone::Bad, "✗", "refused")
            }
            StartFailure::Unchecked | StartFailure::Unreachable | StartFailure::NotOffered => {
                (Tone::Bad, "✗", "not sent")
            }
            StartFailure::Unknown
            | StartFailure::Overtaken
            | StartFailure::ThreadUnknown
            | StartFailure::AfterEditUnknown => (Tone::Bad, "?", "unknown"),
        };
        let detail = format!("{} ({})", failed.failure.sentence(), failed.error.cause());
        Finish {
            tone,
            glyph,
            word,
            detail,
        }
    }

    fn not_sent(detail: impl Into<String>) -> Finish {
        Finish {
            tone: Tone::Dim,
            glyph: "■",
            word: "not sent",
            detail: detail.into(),
        }
    }
}

impl BulkAnswer {
    /// Returns whether nothing was sent yet.
    pub fn is_open(&self) -> bool {
        matches!(self.stage, BulkStage::Planning | BulkStage::Ready)
    }

    /// Returns whether answers are being sent.
    pub fn is_sending(&self) -> bool {
        self.stage == BulkStage::Sending
    }

    /// Creates the page of these threads, and begins to plan their answers.
    pub fn new(session: &Session, mut threads: Vec<ThreadToAnswer>) -> (BulkAnswer, Vec<Effect>) {
        let excess = threads.len().saturating_sub(MAX_RULED_THREADS);
        threads.truncate(MAX_RULED_THREADS);
        let threads = threads
            .into_iter()
            .map(|ThreadToAnswer { thread, name, left }| Answered {
                number: session.next_change.take(),
                thread,
                name,
                progress: left.map_or(Progress::Queued, Progress::Left),
            });
        let mut page = BulkAnswer {
            threads: threads.collect(),
            rules: session.prefs.answer_rules.clone(),
            excess,
            stage: BulkStage::Planning,
            send_key: SendKey::default(),
            place: Place::at_start(),
        };
        let effects = page.plan_next();
        (page, effects)
    }

    /// Returns the number of threads with a progress.
    pub(super) fn count(&self, is: impl Fn(&Progress) -> bool) -> usize {
        self.threads.iter().filter(|of| is(&of.progress)).count()
    }

    /// Plans as many more answers as may be planned at the same time. Without any left, the preview is complete.
    fn plan_next(&mut self) -> Vec<Effect> {
        let running = self.count(|progress| matches!(progress, Progress::Planning));
        let mut effects = Vec::new();
        let queued = self
            .threads
            .iter_mut()
            .filter(|of| matches!(of.progress, Progress::Queued));
        for of in queued.take(MAX_RULED_PLANS.saturating_sub(running)) {
            of.progress = Progress::Planning;
            let intent = ThreadIntent::AnswerByRules {
                thread: of.thread.id.clone(),
                rules: self.rules.clone(),
                profile: of.thread.server.profile.clone(),
            };
            effects.push(Effect::Plan(
                of.number,
                of.thread.server.profile.clone(),
                Box::new(Proposal::Thread(of.thread.server.clone(), intent)),
            ));
        }
        let is_open =
            |progress: &Progress| matches!(progress, Progress::Queued | Progress::Planning);
        if self.stage == BulkStage::Planning && self.count(is_open) == 0 {
            let has_answers = self.count(|progress| matches!(progress, Progress::Ready(_))) > 0;
            self.stage = if has_answers {
                BulkStage::Ready
            } else {
                BulkStage::Done
            };
        }
        effects
    }

    /// Applies the plan of an answer.
    pub fn on_planned(
        &mut self,
        number: u64,
        planned: Result<Box<Preview>, PlanError>,
    ) -> Vec<Effect> {
        let Some(of) = self.threads.iter_mut().find(|of| of.number == number) else {
            return Vec::new();
        };
        if !matches!(of.progress, Progress::Planning) {
            // Its profile changed meanwhile.
            return vec![Effect::Forget(number)];
        }
        of.progress = match planned {
            Ok(preview) => Progress::Ready(preview),
            Err(PlanError::Asked(error)) => Progress::Left(format!(
                "its current state couldn't be read: {}",
                error.cause()
            )),
            Err(PlanError::Nothing(why) | PlanError::Unfit(why)) => Progress::Left(why),
            Err(other) => Progress::Left(other.to_string()),
        };
        self.plan_next()
    }

    /// Sends the next answer. No other function sends one.
    fn send_next(&mut self, session: &Session) -> Requests {
        let is_stopping = self.stage == BulkStage::Stopping;
        let mut out = Requests::none();
        for of in &mut self.threads {
            let Progress::Ready(preview) = &of.progress else {
                continue;
            };
            let preview = preview.clone();
            // A profile can become read-only while answers are sent.
            let refused = match session.is_read_only(&of.thread.server.profile) {
                _ if is_stopping => Some("stopped".to_string()),
                true => Some(session.read_only_text(&of.thread.server.profile)),
                false => None,
            };
            match refused {
                Some(why) => {
                    of.progress = Progress::Finished(preview, Finish::not_sent(why));
                    out.push(Effect::Forget(of.number));
                }
                None => {
                    of.progress = Progress::Sending(preview);
                    out.push(Effect::Act(of.number, of.thread.clone()));
                    return out;
                }
            }
        }
        self.stage = BulkStage::Done;
        out
    }

    /// Returns whether an answer with this number is planned or sent here.
    pub fn has(&self, number: u64) -> bool {
        self.threads.iter().any(|of| of.number == number)
    }

    /// Returns whether the preview is complete and can be sent.
    pub fn is_ready(&self) -> bool {
        self.stage == BulkStage::Ready
    }

    /// Returns whether nothing is left to send, and everything sent has a result.
    pub fn is_done(&self) -> bool {
        self.stage == BulkStage::Done
    }

    /// Applies the result of an answer, and sends the next one.
    pub fn on_acted(
        &mut self,
        session: &Session,
        number: u64,
        result: &Result<Acted, StartError>,
    ) -> Requests {
        if let Some(of) = self.threads.iter_mut().find(|of| of.number == number)
            && let Progress::Sending(preview) = &of.progress
        {
            of.progress = Progress::Finished(preview.clone(), Finish::of(result));
        }
        self.send_next(session)
    }

    /// Leaves the threads of changed profiles unanswered. Returns the effects that drop their plans.
    pub fn leave_changed_profiles(&mut self, is_unchanged: impl Fn(&str) -> bool) -> Vec<Effect> {
        let mut effects = Vec::new();
        for of in self
            .threads
            .iter_mut()
            .filter(|of| !is_unchanged(&of.thread.server.profile))
        {
            let why = "its profile changed since";
            of.progress = match &of.progress {
                Progress::Queued | Progress::Planning => Progress::Left(why.into()),
                Progress::Ready(_) if self.stage != BulkStage::Sending => {
                    Progress::Left(why.into())
                }
                Progress::Ready(preview) => {
                    Progress::Finished(preview.clone(), Finish::not_sent(why))
                }
                _ => continue,
            };
            effects.push(Effect::Forget(of.number));
        }
        let has_answers = self.count(|progress| matches!(progress, Progress::Ready(_))) > 0;
        match self.stage {
            BulkStage::Planning => effects.extend(self.plan_next()),
            BulkStage::Ready if !has_answers => self.stage = BulkStage::Done,
            _ => {}
        }
        effects
    }

    /// Returns the effects that drop all plans, because the page closes.
    pub fn forget(&self) -> Vec<Effect> {
        let is_kept =
            |of: &&Answered| matches!(of.progress, Progress::Ready(_) | Progress::Planning);
        self.threads
            .iter()
            .filter(is_kept)
            .map(|of| Effect::Forget(of.number))
            .collect()
    }

    /// Handles the send key.
    fn send(&mut self, cx: &Cx<'_>) -> Requests {
        let is_ready = match self.stage {
            BulkStage::Planning => None,
            BulkStage::Ready => Some(true),
            _ => Some(false),
        };
        if let Some(requests) = self.send_key.refuses(cx, is_ready) {
            return requests;
        }
        if self.stage != BulkStage::Ready {
            return Requests::none();
        }
        self.stage = BulkStage::Sending;
        self.place = Place::at_start();
        self.send_next(cx.session)
    }

    /// Handles the back key: stops before the next answer, else closes the page.
    fn leave(&mut self) -> Requests {
        match self.stage {
            BulkStage::Sending => {
                self.stage = BulkStage::Stopping;
                Requests::none()
            }
            BulkStage::Stopping => {
                Requests::info("The answer was already sent; its result will be shown here.")
            }
            BulkStage::Planning | BulkStage::Ready => {
                let mut out = Requests::from(Request::Close);
                out.notify(false, "Nothing was sent.");
                self.forget()
                    .into_iter()
                    .for_each(|effect| out.push(effect));
                out
            }
            BulkStage::Done => Request::Close.into(),
        }
    }

    fn rows(&self, cx: &Cx<'_>) -> Flat {
        Flat {
            first: 0,
            end: bulk_view::lines(self, bulk_view::width(cx.area)).len() as u64,
        }
    }
}

impl Component for BulkAnswer {
    fn context(&self) -> Context {
        Context::Confirm
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    fn offers(&self, action: Action) -> bool {
        !super::keys::is_of_one_preview(action)
    }

    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        let is_sending = matches!(self.stage, BulkStage::Sending | BulkStage::Stopping);
        match cx.session.keymap.action(Context::Confirm, key)? {
            Action::Send => Some(self.send(cx)),
            Action::Back | Action::Quit => Some(self.leave()),
            // Another page would cover the results.
            Action::Command | Action::Inbox | Action::Profiles if is_sending => {
                let back = cx.session.key("confirm.back");
                Some(Requests::info(format!(
                    "Answers are being sent. {back} stops before the next one."
                )))
            }
            _ => None,
        }
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        let rows = self.rows(cx);
        self.place
            .page(&rows, confirm_area(cx.area).h.into(), lines);
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let (rows, height) = (self.rows(cx), confirm_area(cx.area).h.into());
        match start {
            true => self.place.to_start(&rows, height),
            false => self.place.to_end(&rows, height, false),
        }
    }

    fn hints(&self) -> Option<&'static [&'static str]> {
        Some(match self.stage {
            BulkStage::Ready => &["confirm.send", "confirm.back"],
            _ => &["confirm.back"],
        })
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let rows = self.rows(cx);
        self.place.clamp(&rows, confirm_area(cx.area).h.into());
    }

    fn on_drawn(&mut self) -> bool {
        self.send_key.on_drawn(self.stage == BulkStage::Ready);
        true
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        bulk_view::draw(self, cx, canvas);
        None
    }
}
