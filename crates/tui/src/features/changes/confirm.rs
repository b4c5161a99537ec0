//! The preview dialog of one change, or of an action on several threads. Each target is planned by itself, all are previewed
//! together, and after one confirmation each is checked again and gets its requests once. The targets are fixed when the dialog
//! opens, so updates of the lists can't redirect it.

use super::send_key::SendKey;
use super::target_check::TargetCheck;
use super::view;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::key::{Code, Key};
use crate::session::msg::{BulkTarget, Effect, EffectResult, Proposal, Sent};
use crate::session::{Component, Cx, Request, Requests, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::Line;
use crate::widgets::scroll::{Flat, Place};
use crate::widgets::text_input::TextInput;
use runtail_api::{
    ApiError, BULK_CONCURRENCY, BulkAction, BulkOutcome, Choice, Kind, PlanError, ThreadIntent,
};
use runtail_core::model::Preview;
use runtail_core::text;
use std::sync::Arc;
use std::time::Duration;

/// Changes that wait for confirmation.
#[derive(Debug, Clone)]
pub struct Confirm {
    /// The profile that sends them.
    pub profile: Arc<str>,
    /// The changes. Without an action on several threads there is exactly one.
    pub targets: Vec<ChangeTarget>,
    /// The action on several threads. Its preview lists them, and stays open for the results.
    pub(super) several: Option<BulkAction>,
    /// The typed text: the required name, or another value of the choice.
    pub typed: TextInput,
    /// The option that can still be toggled.
    pub choice: Option<Choice>,
    /// Whether they were confirmed, so that requests are sent.
    pub(super) is_sent: bool,
    /// Whether no further request is sent.
    pub(super) is_stopped: bool,
    /// Whether the send key may send.
    pub(super) send_key: SendKey,
    /// What reading the target again has shown.
    pub(super) check: TargetCheck,
    /// Whether each request is one line.
    pub(super) is_folded: bool,
    /// Scroll position in the preview.
    pub place: Place,
}

/// One of the changes of a preview.
#[derive(Debug, Clone)]
pub struct ChangeTarget {
    /// The number of its plan in this session.
    pub number: u64,
    /// The requested change.
    pub proposal: Proposal,
    /// The thread that it is about, if it is one of several.
    pub(super) of: Option<BulkTarget>,
    /// Its progress.
    pub stage: Stage,
}

/// The progress of a change.
#[derive(Debug, Clone)]
pub enum Stage {
    /// It is not planned yet, because others are planned first.
    Waiting,
    /// The preview is being computed. No write request is sent.
    Planning,
    /// The change is impossible, for this reason. Nothing was sent.
    Refused(PlanError),
    /// It can be sent.
    Ready(Box<Preview>),
    /// It was sent; waiting for the response.
    Sending(Box<Preview>),
    /// It failed, before or after it was sent.
    Failed(Box<Preview>, ApiError),
    /// One of several is finished, with this outcome, and why it is not what was wanted.
    Done(BulkOutcome, Option<String>),
}

impl ChangeTarget {
    /// Returns the preview of a planned change.
    pub(super) fn preview(&self) -> Option<&Preview> {
        match &self.stage {
            Stage::Ready(preview) | Stage::Sending(preview) | Stage::Failed(preview, _) => {
                Some(preview)
            }
            Stage::Waiting | Stage::Planning | Stage::Refused(_) | Stage::Done(..) => None,
        }
    }

    /// Returns the profile that sends it, if it is an action on an agent server.
    pub(super) fn profile(&self) -> Option<&Arc<str>> {
        self.proposal.server().map(|server| &server.profile)
    }

    /// Returns the id of its thread; empty if it has none.
    pub(super) fn thread(&self) -> &str {
        match &self.proposal {
            Proposal::Thread(_, intent) => intent.thread(),
            Proposal::Service(_) | Proposal::Resource(..) => "",
        }
    }
}

impl Confirm {
    /// Creates the preview of a change, which is not planned yet.
    pub fn of_one(session: &Session, profile: Arc<str>, proposal: Proposal) -> Confirm {
        Confirm::new(session, profile, vec![(proposal, None)], None)
    }

    /// Creates the preview of an action on several threads; `None` without a thread.
    pub fn of_threads(
        session: &Session,
        action: BulkAction,
        threads: Vec<BulkTarget>,
    ) -> Option<Confirm> {
        let is_planned = |target: &&BulkTarget| target.left_out.is_none();
        let first = threads.iter().find(is_planned).or(threads.first())?;
        let profile = first.thread.server.profile.clone();
        let proposed = |target: BulkTarget| {
            let intent = action.intent(&target.thread.id, target.interrupt.as_deref());
            let proposal = Proposal::Thread(target.thread.server.clone(), intent);
            (proposal, Some(target))
        };
        let changes = threads.into_iter().map(proposed).collect();
        Some(Confirm::new(session, profile, changes, Some(action)))
    }

    fn new(
        session: &Session,
        profile: Arc<str>,
        changes: Vec<(Proposal, Option<BulkTarget>)>,
        several: Option<BulkAction>,
    ) -> Confirm {
        let stage = |of: &Option<BulkTarget>| match of.as_ref().and_then(|of| of.left_out.clone()) {
            Some(why) => Stage::Refused(PlanError::Unfit(why)),
            None => Stage::Waiting,
        };
        let target = |(proposal, of)| ChangeTarget {
            number: session.next_change.take(),
            proposal,
            stage: stage(&of),
            of,
        };
        Confirm {
            profile,
            targets: changes.into_iter().map(target).collect(),
            several,
            typed: TextInput::line(""),
            choice: None,
            is_sent: false,
            is_stopped: false,
            send_key: SendKey::default(),
            check: TargetCheck::default(),
            is_folded: false,
            place: Place::at_start(),
        }
    }

    /// Returns the only change, or the first one of several.
    pub fn one(&self) -> &ChangeTarget {
        &self.targets[0]
    }

    /// Returns the profiles that send its changes.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        let of_targets = self.targets.iter().filter_map(ChangeTarget::profile);
        std::iter::once(&self.profile)
            .chain(of_targets)
            .map(|profile| &**profile)
    }

    /// Returns whether it is an action on several threads.
    pub fn is_of_several(&self) -> bool {
        self.several.is_some()
    }

    /// Returns whether the plan or result with this number belongs to it.
    pub fn owns(&self, number: u64) -> bool {
        self.targets.iter().any(|target| target.number == number)
    }

    pub(super) fn count(&self, is: impl Fn(&Stage) -> bool) -> usize {
        self.targets
            .iter()
            .filter(|target| is(&target.stage))
            .count()
    }

    /// Returns how many changes can be sent.
    pub(super) fn ready(&self) -> usize {
        self.count(|stage| matches!(stage, Stage::Ready(_)))
    }

    pub(super) fn is_planned(&self) -> bool {
        self.count(|stage| matches!(stage, Stage::Waiting | Stage::Planning)) == 0
    }

    /// Returns whether the preview is complete and can be sent.
    pub fn is_ready(&self) -> bool {
        self.is_open() && self.is_planned() && self.ready() > 0
    }

    /// Returns whether nothing was sent, and something may be.
    pub fn is_open(&self) -> bool {
        let is_refused = |target: &ChangeTarget| matches!(target.stage, Stage::Refused(_));
        !self.is_sent && (self.is_of_several() || !self.targets.iter().all(is_refused))
    }

    /// Returns whether it shows no result, and none is expected.
    pub fn is_pending(&self) -> bool {
        !(self.is_active() || self.is_of_several() && self.is_sent)
    }

    /// Returns whether requests are in flight.
    pub fn is_active(&self) -> bool {
        self.count(|stage| matches!(stage, Stage::Sending(_))) > 0
    }

    /// Returns the preview of a single planned change.
    pub fn preview(&self) -> Option<&Preview> {
        match self.several {
            None => self.one().preview(),
            Some(_) => None,
        }
    }

    /// Returns the text to type for confirmation, if one is required: a name, or the action and the number of threads.
    pub fn wants_name(&self) -> Option<String> {
        if !self.is_ready() {
            return None;
        }
        match &self.several {
            None => self.preview()?.consent.wanted().map(str::to_string),
            Some(action) if action.is_destructive() => {
                Some(format!("{} {}", action.word(), self.ready()))
            }
            Some(_) => None,
        }
    }

    /// Returns whether the send key would send the changes.
    pub fn may_be_sent(&self) -> bool {
        let typed = self.typed.text();
        let is_given = match self.preview() {
            Some(preview) => preview.consent.is_given(&typed),
            None => self.wants_name().is_none_or(|wanted| wanted == typed),
        };
        self.typed_limit().is_none() && self.is_ready() && is_given
    }

    /// Returns the typed recursion limit if the preview does not have it yet.
    pub fn typed_limit(&self) -> Option<u64> {
        let Some(Choice::RecursionLimit(planned)) = self.choice else {
            return None;
        };
        self.typed
            .text()
            .parse()
            .ok()
            .filter(|typed| *typed != planned && *typed > 0)
    }

    /// Plans the next changes. Sends no write request.
    pub fn plan_next(&mut self) -> Requests {
        let planning = self.count(|stage| matches!(stage, Stage::Planning));
        let waiting = self
            .targets
            .iter_mut()
            .filter(|target| matches!(target.stage, Stage::Waiting));
        let mut out = Requests::none();
        for target in waiting.take(BULK_CONCURRENCY.saturating_sub(planning)) {
            target.stage = Stage::Planning;
            let proposal = Box::new(target.proposal.clone());
            let profile = target.profile().unwrap_or(&self.profile).clone();
            out.push(Effect::Plan(target.number, profile, proposal));
        }
        out
    }

    /// Applies the plan of a change.
    fn on_planned(
        &mut self,
        session: &mut Session,
        number: u64,
        planned: Result<(Box<Preview>, Option<Choice>), PlanError>,
    ) -> Requests {
        let mut targets = self.targets.iter_mut();
        let Some(target) = targets.find(|target| target.number == number) else {
            // Another change was planned instead.
            return drop_plan(number, &planned);
        };
        // A result that is repeated after the request was sent makes nothing ready again.
        if self.is_sent {
            return Requests::none();
        }
        if let (Err(PlanError::Nothing(why)), None, Proposal::Thread(server, intent)) =
            (&planned, &self.several, &target.proposal)
        {
            // There is nothing to do on the thread, so a notice replaces the dialog.
            let (server, intent) = (server.clone(), intent.clone());
            return Requests::from(Request::Close).and(Request::NothingToDo(
                server,
                Box::new(intent),
                why.clone(),
            ));
        }
        let mut out = Requests::none();
        let choice = match planned {
            Ok((preview, choice)) => {
                // The target of another change is read again just before sending only.
                let is_read = matches!(target.proposal, Proposal::Service(_));
                self.check
                    .begin(session.now, is_read && preview.target.is_some());
                target.stage = Stage::Ready(preview);
                choice
            }
            Err(error) => {
                let nodes = match &error {
                    PlanError::NeedsNode(_, nodes) if self.several.is_some() => Some(nodes.clone()),
                    _ => None,
                };
                if let Some(error) = error.request().filter(|_| self.several.is_none()) {
                    session.report_error(error);
                }
                target.stage = Stage::Refused(error);
                nodes.map(|nodes| Choice::AsNode { node: None, nodes })
            }
        };
        match self.several {
            None => self.choice = choice,
            // Of several, only the node of their edit can be chosen.
            Some(_) if matches!(choice, Some(Choice::AsNode { .. })) && self.choice.is_none() => {
                self.choice = choice;
            }
            Some(_) => {}
        }
        out.extend(self.plan_next());
        out
    }

    /// Applies what reading the target again has shown. A change of it is planned again.
    fn on_checked(
        &mut self,
        session: &Session,
        result: Result<Option<Vec<String>>, ApiError>,
    ) -> Requests {
        match result {
            Err(error) if error.kind == Kind::Stale && self.is_ready() => {
                self.review_again(session)
            }
            result => {
                self.check.on_read(session.now, result);
                Requests::none()
            }
        }
    }

    /// Plans the change again, because its target has changed.
    pub fn review_again(&mut self, session: &Session) -> Requests {
        let out = self.replan(session, self.one().proposal.clone());
        self.check.changed_at = Some(session.now);
        out
    }

    fn replan(&mut self, session: &Session, proposal: Proposal) -> Requests {
        let other = Confirm::of_one(session, self.profile.clone(), proposal);
        self.replace(session, other)
    }

    /// Plans other changes instead.
    pub(super) fn replace(&mut self, session: &Session, other: Confirm) -> Requests {
        let mut out = Requests::none();
        self.forget().for_each(|effect| out.push(effect));
        if session.is_read_only(&other.profile) {
            out.push(Request::Close);
            out.notify(true, session.read_only_text(&self.profile));
            return out;
        }
        *self = other;
        out.extend(self.plan_next());
        out
    }

    /// Returns the effects that drop the plans that were not sent.
    pub fn forget(&self) -> impl Iterator<Item = Effect> + '_ {
        let is_kept = |target: &&ChangeTarget| matches!(target.stage, Stage::Ready(_));
        self.targets
            .iter()
            .filter(is_kept)
            .map(|target| Effect::Forget(target.number))
    }

    /// Handles an action that decides, rather than one that scrolls.
    fn decide(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Send => self.send(cx),
            Action::Back | Action::Quit => self.leave(),
            Action::Option => self.toggle_option(cx.session),
            Action::Update if self.may_edit(cx) => self.edit_first(),
            Action::View5 if self.is_of_shown_checkpoint(cx) => self.show_on_graph(),
            Action::Collapse => {
                self.is_folded = !self.is_folded;
                Requests::none()
            }
            Action::Curl => {
                let curl = self.preview().map(|preview| preview.curl());
                curl.map(|curl| copy_command(&curl)).unwrap_or_default()
            }
            _ => Requests::none(),
        }
    }

    /// Toggles the option of a change. This is another request, so it is planned again.
    fn toggle_option(&mut self, session: &Session) -> Requests {
        if let Some(action) = self.several.clone() {
            return self.toggle_several(session, &action);
        }
        let Some(other) = self.with_other_option() else {
            return Requests::none();
        };
        let typed = self.typed.clone();
        let out = self.replan(session, other);
        self.typed = typed;
        out
    }

    /// Plans the request with the typed recursion limit.
    pub(super) fn change_limit(&mut self, cx: &Cx<'_>) -> Requests {
        let Some(limit) = self.typed_limit() else {
            return Requests::none();
        };
        match self.one().proposal.clone() {
            Proposal::Thread(server, ThreadIntent::Again { thread, .. }) => {
                let intent = ThreadIntent::Again {
                    thread,
                    recursion_limit: Some(limit),
                };
                self.replan(cx.session, Proposal::Thread(server, intent))
            }
            _ => Requests::none(),
        }
    }

    /// Returns whether a name or a number is being typed.
    fn is_typing(&self) -> bool {
        self.wants_name().is_some() || matches!(self.choice, Some(Choice::RecursionLimit(_)))
    }

    /// Types a key into the name or the number.
    fn type_key(&mut self, key: Key) {
        let is_limit = matches!(self.choice, Some(Choice::RecursionLimit(_)));
        let refuses = |c: char| !c.is_ascii_digit() || self.typed.text().len() > 8;
        if self.is_typing() && !(is_limit && key.text().is_some_and(refuses)) {
            self.typed.key(key);
        }
    }

    /// Returns the lines of the preview or of the result.
    pub(super) fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        match &self.several {
            None => self.one_lines(cx, width),
            Some(action) => self.several_lines(cx.session, action, width),
        }
    }

    /// Returns the number of rows below the preview: for the text to type, or for what the request waits for.
    fn prompt_rows(&self) -> usize {
        let waits = self.is_active() && !self.is_of_several();
        if waits || self.wants_name().is_some() {
            2
        } else {
            0
        }
    }

    /// Returns the lines of the preview and their area. Below it is the prompt, or the number of lines that don't fit.
    pub(super) fn laid_out(&self, cx: &Cx<'_>) -> (Vec<Line>, Area) {
        let lines = self.lines(cx, cx.area.w.saturating_sub(2).into());
        let prompt = self.prompt_rows();
        let is_cut = lines.len() + prompt > cx.area.h.into();
        let below = prompt.max(is_cut.into()) as u16;
        let area = Area {
            h: cx.area.h.saturating_sub(below),
            ..cx.area
        };
        (lines, area)
    }

    /// Returns the rows of the preview, and how many of them are visible.
    fn rows(&self, cx: &Cx<'_>) -> (Flat, usize) {
        let (lines, area) = self.laid_out(cx);
        let end = lines.len() as u64;
        (Flat { first: 0, end }, area.h.into())
    }
}

/// Reloads the target of a failed change if it is gone or has changed.
pub fn after_failure(session: &mut Session, error: &ApiError) -> Requests {
    if !matches!(error.kind, Kind::NotFound | Kind::Stale) {
        return Requests::none();
    }
    session.restart_polls();
    Request::Reread.into()
}

/// Drops a plan whose preview was closed.
pub fn drop_plan<T, E>(number: u64, planned: &Result<T, E>) -> Requests {
    let is_plan = planned.is_ok();
    let forget = is_plan.then(|| Effect::Forget(number).into());
    forget.unwrap_or_default()
}

/// Copies a request as a command.
pub fn copy_command(curl: &str) -> Requests {
    Requests::info("Copied as curl. Set KEY or TOKEN first; *** are secrets.")
        .and(Effect::Copy(text::clean_lines(curl).into_owned()))
}

impl Component for Confirm {
    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        match reply {
            EffectResult::Planned(number, planned) => {
                Some(self.on_planned(session, *number, planned.clone()))
            }
            EffectResult::TargetChecked(_, result) => {
                Some(self.on_checked(session, result.clone()))
            }
            EffectResult::Sent(_, Sent::Record(Err(error))) => Some(self.on_failed(session, error)),
            _ => None,
        }
    }

    fn context(&self) -> Context {
        Context::Confirm
    }

    fn on_open(&mut self, _session: &Session) -> Requests {
        self.plan_next()
    }

    fn action(&mut self, _cx: &Cx<'_>, _action: Action) -> Requests {
        Requests::none()
    }

    fn key(&mut self, cx: &Cx<'_>, key: Key) -> Option<Requests> {
        // While a name is typed, characters are input, not actions; of a number, only digits are.
        let is_input = |c: char| self.wants_name().is_some() || c.is_ascii_digit();
        if self.is_typing() && key.text().is_some_and(is_input) {
            self.type_key(key);
            return Some(Requests::none());
        }
        match cx.session.keymap.action(Context::Confirm, key) {
            Some(action) if action == Action::Quit || self.commands(cx).is_own(action) => {
                Some(self.decide(cx, action))
            }
            Some(_) => None,
            None if key.code == Code::Enter => Some(self.change_limit(cx)),
            None => {
                self.type_key(key);
                Some(Requests::none())
            }
        }
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        if self.wants_name().is_some() {
            self.typed.insert(text);
        }
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        let (rows, height) = self.rows(cx);
        self.place.page(&rows, height, lines);
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let (rows, height) = self.rows(cx);
        match start {
            true => self.place.to_start(&rows, height),
            false => self.place.to_end(&rows, height, false),
        }
    }

    fn commands(&self, cx: &Cx<'_>) -> Commands {
        let all = Commands::of(Context::Confirm);
        let (is_open, is_stopping) = (self.is_open(), self.is_active());
        if self.is_of_several() {
            let back = match (is_open, is_stopping) {
                (true, _) => None,
                (false, true) => Some("stop"),
                (false, false) => Some("back"),
            };
            return all
                .without(&[
                    "confirm.edit",
                    "confirm.graph",
                    "confirm.fold",
                    "confirm.curl",
                ])
                .enable_if(self.is_ready(), &["confirm.send"])
                .show([("confirm.send", None), ("confirm.back", back)]);
        }
        all.enable(|row| self.is_possible(cx, row.action))
            .footer(&[
                "confirm.send",
                "confirm.edit",
                "confirm.graph",
                "confirm.option",
                "confirm.curl",
                "confirm.fold",
            ])
            .show([("confirm.back", (!is_open).then_some("back"))])
            .framed(&self.framed(cx))
    }

    fn is_sheet(&self) -> bool {
        true
    }

    fn sheet_lines(&self, cx: &Cx<'_>) -> usize {
        self.laid_out(cx).0.len() + self.prompt_rows()
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let (rows, height) = self.rows(cx);
        self.place.clamp(&rows, height);
    }

    fn on_drawn(&mut self) -> bool {
        self.send_key.on_drawn(self.is_ready());
        true
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.profile)
    }

    /// Reads the target again now and then, so that a change by someone else is seen before sending.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        match self.is_ready() && self.check.is_due(cx.session.now) {
            true => {
                self.check.is_running = true;
                Effect::CheckTarget(self.one().number, self.profile.clone()).into()
            }
            false => Requests::none(),
        }
    }

    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        self.is_ready()
            .then(|| self.check.next_tick(cx.session.now))
            .flatten()
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::confirm(self, cx, canvas)
    }
}
