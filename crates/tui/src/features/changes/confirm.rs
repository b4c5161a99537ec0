//! The confirmation dialog: a change is planned, previewed, and sent only on request. Its target is fixed when the dialog
//! opens, so updates of the lists can't redirect it.

use super::keys::ACTIONS;
use super::preview_lines::{PreviewStyle, preview_lines, wrapped};
use super::send_key::SendKey;
use super::target_check::TargetCheck;
use super::view;
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::card;
use crate::session::msg::{Effect, Proposal, ThreadRef};
use crate::session::{Component, Cx, Request, Requests, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone};
use crate::widgets::scroll::{Flat, Place};
use crate::widgets::text_input::TextInput;
use jiff::Timestamp;
use runtail_api::{ApiError, CancelAction, Choice, Kind, PlanError, ThreadIntent};
use runtail_core::model::{Intent, Preview};
use runtail_core::text;
use std::sync::Arc;
use std::time::Duration;

/// A change that waits for confirmation.
#[derive(Debug, Clone)]
pub struct Confirm {
    /// Its number in this session.
    pub number: u64,
    /// The profile that sends it.
    pub profile: Arc<str>,
    /// The requested change.
    pub proposal: Proposal,
    /// Its progress.
    pub stage: Stage,
    /// The typed text: the required name, or another value of the choice.
    pub typed: TextInput,
    /// The option that can still be toggled.
    pub choice: Option<Choice>,
    /// Whether the send key may send.
    pub(super) send_key: SendKey,
    /// What reading the target again has shown.
    pub(super) check: TargetCheck,
    /// Whether each request is one line.
    pub(super) is_folded: bool,
    /// Scroll position in the preview.
    pub place: Place,
}

/// The progress of a change.
#[derive(Debug, Clone)]
pub enum Stage {
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
}

impl Confirm {
    /// Returns the title: the verb, and the subject once the change is planned.
    pub fn title(&self) -> String {
        if let Some(preview) = self.preview() {
            return preview.title.clone();
        }
        let verb = match &self.proposal {
            Proposal::Service(Intent::CreateDeployment(_)) => "Create",
            Proposal::Service(Intent::UpdateDeployment { .. }) => "Update",
            Proposal::Service(Intent::DeleteDeployment { .. }) => "Delete",
            Proposal::Service(Intent::Redeploy { .. }) => "Redeploy",
            Proposal::Service(Intent::Service(change)) => change.what.verb(),
            Proposal::Service(Intent::Interrupt { .. }) => "Interrupt",
            Proposal::Service(Intent::Rollback { .. }) => "Roll back",
            Proposal::Resource(_, intent) => intent.verb(),
            Proposal::Thread(
                _,
                ThreadIntent::Cancel {
                    action: CancelAction::Interrupt,
                    ..
                },
            ) => "Cancel",
            Proposal::Thread(
                _,
                ThreadIntent::Cancel {
                    action: CancelAction::Rollback,
                    ..
                },
            ) => "Cancel and roll back",
            Proposal::Thread(_, ThreadIntent::Continue { .. }) => "Continue",
            Proposal::Thread(_, ThreadIntent::Again { .. }) => "Run again",
            Proposal::Thread(_, ThreadIntent::Answer { .. }) => "Answer",
            Proposal::Thread(_, ThreadIntent::Delete { .. }) => "Delete",
            Proposal::Thread(_, ThreadIntent::Fork { .. }) => "Run",
            Proposal::Thread(_, ThreadIntent::EditState { .. }) => "Edit",
            Proposal::Thread(_, ThreadIntent::Rerun { .. }) => "Run again",
            Proposal::Thread(_, ThreadIntent::Release { .. }) => "Release",
            Proposal::Thread(_, ThreadIntent::End { .. }) => "End",
            Proposal::Thread(_, ThreadIntent::RestoreAssistant { .. }) => "Run",
            Proposal::Thread(_, ThreadIntent::RunOnNew { .. }) => "Start",
            Proposal::Thread(_, ThreadIntent::Retry { .. }) => "Retry",
            Proposal::Thread(_, ThreadIntent::Prune { .. }) => "Prune",
            Proposal::Thread(_, ThreadIntent::Label { .. }) => "Label",
            Proposal::Thread(_, ThreadIntent::Start { .. }) => "Start",
        };
        verb.to_string()
    }

    /// Returns what is changed, and on which server. `named`: the subject of the planned title.
    pub(super) fn subject(&self, cx: &Cx<'_>, named: &str) -> String {
        let (planning, server) = match &self.proposal {
            Proposal::Thread(server, intent) => {
                let thread = intent.thread();
                let thread =
                    (!thread.is_empty()).then(|| format!("thread {}", text::short_id(thread)));
                (thread, Some(server))
            }
            Proposal::Resource(server, _) => (None, Some(server)),
            Proposal::Service(intent) => {
                let all = cx.lookup.deployments();
                let is_it = |(profile, known, _): &&(Arc<str>, Arc<str>, Arc<str>)| {
                    *profile == self.profile && Some(&**known) == intent.deployment()
                };
                (
                    all.iter()
                        .find(is_it)
                        .map(|(_, _, name)| text::clean(name).into_owned()),
                    None,
                )
            }
        };
        let subject = if self.preview().is_some() {
            Some(named.to_string())
        } else {
            planning
        };
        let parts = subject
            .into_iter()
            .chain(server.map(|server| card::place(cx, server)));
        parts
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" · ")
    }

    /// Returns the server and the thread of a run from a checkpoint. `thread`: the short id of the thread.
    pub(super) fn place(&self, cx: &Cx<'_>, thread: &str) -> String {
        let Proposal::Thread(server, _) = &self.proposal else {
            return String::new();
        };
        let named = self.thread().and_then(|thread| cx.lookup.tab_name(&thread));
        let thread = named
            .unwrap_or_else(|| format!("thread {}", thread.split(' ').next().unwrap_or_default()));
        format!("{} › {thread}", card::place(cx, server))
    }

    /// Returns the preview of a planned change.
    pub fn preview(&self) -> Option<&Preview> {
        match &self.stage {
            Stage::Ready(preview) | Stage::Sending(preview) | Stage::Failed(preview, _) => {
                Some(preview)
            }
            Stage::Planning | Stage::Refused(_) => None,
        }
    }

    /// Returns the name to type for confirmation, if one is required.
    pub fn wants_name(&self) -> Option<&str> {
        match &self.stage {
            Stage::Ready(preview) => preview.consent.wanted(),
            _ => None,
        }
    }

    /// Returns whether the send key would send the change.
    pub fn may_be_sent(&self) -> bool {
        let is_given = |preview: &Preview| {
            preview.consent.wanted().is_none() || preview.consent.is_given(&self.typed.text())
        };
        self.typed_limit().is_none()
            && matches!(&self.stage, Stage::Ready(preview) if is_given(preview))
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

    /// Describes the available option.
    fn option(&self, key: &str) -> Option<String> {
        if !matches!(self.stage, Stage::Ready(_)) {
            return None;
        }
        match (&self.proposal, &self.choice) {
            (
                Proposal::Service(Intent::DeleteDeployment {
                    delete_tracing_project: false,
                    ..
                }),
                _,
            ) => Some(format!(
                "Tracing project and traces: keep ({key} to delete them too)"
            )),
            (Proposal::Service(Intent::DeleteDeployment { .. }), _) => Some(format!(
                "Tracing project and traces: delete ({key} to keep them)"
            )),
            (
                _,
                Some(Choice::Queue {
                    included: false,
                    queued: 1,
                }),
            ) => Some(format!("Other active run: keep ({key} to cancel it too)")),
            (
                _,
                Some(Choice::Queue {
                    included: false,
                    queued,
                }),
            ) => Some(format!(
                "{queued} other active runs: keep ({key} to cancel them too)"
            )),
            (_, Some(Choice::Queue { included: true, .. })) => {
                Some(format!("Other active runs: cancel ({key} to keep them)"))
            }
            (_, Some(Choice::RecursionLimit(limit))) => {
                let typed = if self.typed.is_empty() {
                    limit.to_string()
                } else {
                    self.typed.text()
                };
                Some(format!(
                    "Steps allowed: [ {typed} ]   type another number, Enter shows the new request"
                ))
            }
            _ => None,
        }
    }

    /// Returns the lines of the preview.
    pub(super) fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let now = cx.session.now;
        let target = self.preview().and_then(|preview| preview.target.as_ref());
        let kind = target.map_or("target", |target| target.kind);
        let mut lines = self.check.changed_lines(kind, now, width);
        match &self.stage {
            Stage::Planning => lines.push(Line::dim("Loading the current state…")),
            Stage::Refused(error) => {
                let (tone, heading, why) = match error {
                    PlanError::Asked(error) => (
                        Tone::Bad,
                        "Couldn't read the current state. Nothing was sent.",
                        error.story(),
                    ),
                    PlanError::Nothing(why) => {
                        (Tone::Plain, "No changes. Nothing was sent.", why.clone())
                    }
                    other => (
                        Tone::Bad,
                        "Cannot continue. Nothing was sent.",
                        other.to_string(),
                    ),
                };
                lines.push(Line::of(tone, heading));
                lines.push(Line::new());
                lines.extend(wrapped(Tone::Plain, &why, width));
            }
            Stage::Failed(_, error) => {
                lines.extend(wrapped(Tone::Bad, &error.story(), width));
                lines.push(Line::new());
            }
            Stage::Ready(_) | Stage::Sending(_) => {}
        }
        if let Some(preview) = self.preview() {
            let style = PreviewStyle {
                width,
                clock: &|at| cx.session.clock(at),
                run: &|run| self.run_name(cx, run),
                is_folded: self.is_folded,
                may_edit: self.may_edit(cx),
            };
            lines.extend(preview_lines(preview, &style));
        }
        lines.extend(self.writer_lines(width));
        if let Some(option) = self.option("ctrl-t") {
            lines.push(Line::new());
            lines.push(Line::dim(&option));
        }
        if matches!(self.stage, Stage::Ready(_)) {
            lines.extend(self.check.lines(kind, now, width));
        }
        lines
    }
}

/// Returns the area of the preview; the prompt is below it.
pub fn confirm_area(area: Area) -> Area {
    Area {
        h: area.h.saturating_sub(2),
        ..area
    }
}

impl Confirm {
    /// Creates the dialog of a change that is being planned.
    pub fn new(number: u64, profile: Arc<str>, proposal: Proposal) -> Confirm {
        Confirm {
            number,
            profile,
            proposal,
            stage: Stage::Planning,
            typed: TextInput::line(""),
            choice: None,
            send_key: SendKey::default(),
            check: TargetCheck::default(),
            is_folded: false,
            place: Place::at_start(),
        }
    }

    /// Shows the preview of the planned change.
    pub fn on_planned(&mut self, preview: Box<Preview>, now: Timestamp) {
        // The target of another change is read again just before sending only.
        self.check.begin(
            now,
            matches!(self.proposal, Proposal::Service(_)) && preview.target.is_some(),
        );
        self.stage = Stage::Ready(preview);
    }

    /// Applies what reading the target again has shown. A change of it is planned again.
    pub fn on_checked(
        &mut self,
        session: &Session,
        result: Result<Option<Vec<String>>, ApiError>,
    ) -> Requests {
        match result {
            Err(error) if error.kind == Kind::Stale && matches!(self.stage, Stage::Ready(_)) => {
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
        let out = self.replan(session, self.proposal.clone());
        self.check.changed_at = Some(session.now);
        out
    }

    /// Plans the change. Sends no write request.
    pub fn plan(&self) -> Effect {
        let proposal = Box::new(self.proposal.clone());
        Effect::Plan(self.number, self.profile.clone(), proposal)
    }

    /// Replaces the proposal and plans it.
    fn replan(&mut self, session: &Session, proposal: Proposal) -> Requests {
        let forget = Effect::Forget(self.number);
        if session.is_read_only(&self.profile) {
            let mut out = Requests::from(Request::Close).and(forget);
            out.notify(true, session.read_only_text(&self.profile));
            return out;
        }
        *self = Confirm::new(session.next_change.take(), self.profile.clone(), proposal);
        Requests::from(forget).and(self.plan())
    }

    /// Handles an action that decides, rather than one that scrolls.
    fn decide(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Send => self.send(cx),
            Action::Back | Action::Quit => self.leave(),
            Action::Option => self.toggle_option(cx),
            Action::Update if self.may_edit(cx) => self.edit_first(),
            Action::View9 if self.is_of_shown_checkpoint(cx) => self.show_on_graph(),
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
    fn toggle_option(&mut self, cx: &Cx<'_>) -> Requests {
        if let Some(other) = self.as_next_node() {
            return self.replan(cx.session, other);
        }
        if !matches!(self.stage, Stage::Ready(_)) {
            return Requests::none();
        }
        let other = match self.proposal.clone() {
            Proposal::Service(Intent::DeleteDeployment {
                id,
                delete_tracing_project,
                force,
            }) => {
                let delete_tracing_project = !delete_tracing_project;
                Proposal::Service(Intent::DeleteDeployment {
                    id,
                    delete_tracing_project,
                    force,
                })
            }
            Proposal::Thread(
                server,
                ThreadIntent::Cancel {
                    thread,
                    run,
                    action,
                    with_queue,
                },
            ) if matches!(self.choice, Some(Choice::Queue { .. })) => Proposal::Thread(
                server,
                ThreadIntent::Cancel {
                    thread,
                    run,
                    action,
                    with_queue: !with_queue,
                },
            ),
            _ => return Requests::none(),
        };
        let typed = self.typed.clone();
        let out = self.replan(cx.session, other);
        self.typed = typed;
        out
    }

    /// Plans the request with the typed recursion limit.
    fn change_limit(&mut self, cx: &Cx<'_>) -> Requests {
        let Some(limit) = self.typed_limit() else {
            return Requests::none();
        };
        match self.proposal.clone() {
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

    /// Sends the change. No other function sends one.
    fn send(&mut self, cx: &Cx<'_>) -> Requests {
        let is_ready = match self.stage {
            Stage::Planning => None,
            Stage::Ready(_) => Some(true),
            _ => Some(false),
        };
        if let Some(requests) = self.send_key.refuses(cx, is_ready) {
            return requests;
        }
        if self.typed_limit().is_some() {
            let mut out = Requests::info(
                "Nothing was sent: the number of steps changed. Review the new request.",
            );
            out.extend(self.change_limit(cx));
            return out;
        }
        if !self.may_be_sent() {
            let Some(name) = self.wants_name() else {
                return Requests::none();
            };
            return Requests::info(format!(
                "Type {} exactly to continue. Nothing was sent.",
                text::clean(name)
            ));
        }
        // The profile can become read-only while the dialog is open.
        if cx.session.is_read_only(&self.profile) {
            return Requests::error(cx.session.read_only_text(&self.profile));
        }
        if let Stage::Ready(preview) = std::mem::replace(&mut self.stage, Stage::Planning) {
            self.stage = Stage::Sending(preview);
        }
        match self.proposal.clone() {
            Proposal::Service(_) | Proposal::Resource(..) => {
                Effect::Send(self.number, self.profile.clone()).into()
            }
            Proposal::Thread(server, intent) => {
                let thread = ThreadRef {
                    server,
                    id: intent.thread().to_string(),
                };
                let mut out = Requests::none();
                if let ThreadIntent::Cancel {
                    run, with_queue, ..
                } = &intent
                {
                    out.push(Request::NoteCancelling(
                        thread.clone(),
                        run.clone().filter(|_| !with_queue),
                    ));
                }
                out.and(Effect::Act(self.number, thread))
            }
        }
    }

    /// Leaves the dialog. What was sent stays sent, and its result is shown when it is known.
    fn leave(&mut self) -> Requests {
        let mut out: Requests = Request::Close.into();
        match self.stage {
            Stage::Sending(_) => out.notify(false, "Already sent; the result will be reported."),
            Stage::Ready(_) => {
                out.notify(false, "Nothing was sent.");
                out.push(Effect::Forget(self.number));
            }
            Stage::Planning | Stage::Refused(_) | Stage::Failed(..) => {}
        }
        out
    }

    /// Shows that the sent change failed.
    pub fn fail(&mut self, error: ApiError) {
        if let Stage::Sending(preview) = std::mem::replace(&mut self.stage, Stage::Planning) {
            self.stage = Stage::Failed(preview, error);
        }
    }

    /// Returns whether a name or a number is being typed.
    fn is_typing(&self) -> bool {
        self.wants_name().is_some() || matches!(self.choice, Some(Choice::RecursionLimit(_)))
    }

    /// Types a key into the name or the number.
    fn type_key(&mut self, key: Key) {
        let is_limit = matches!(self.choice, Some(Choice::RecursionLimit(_)));
        if is_limit
            && key
                .text()
                .is_some_and(|c| !c.is_ascii_digit() || self.typed.text().len() > 8)
        {
            return;
        }
        if self.wants_name().is_none() && !is_limit {
            return;
        }
        self.typed.key(key);
    }

    /// Returns the area of the dialog. Where text is typed, a row stays free below it, which a notice may take.
    pub(super) fn area(&self, cx: &Cx<'_>) -> Area {
        Area {
            h: cx
                .area
                .h
                .saturating_sub(u16::from(self.wants_name().is_some())),
            ..cx.area
        }
    }

    fn rows(&self, cx: &Cx<'_>, area: Area) -> Flat {
        Flat {
            first: 0,
            end: self.lines(cx, area.w.saturating_sub(2) as usize).len() as u64,
        }
    }
}

/// Copies a request as a command.
pub fn copy_command(curl: &str) -> Requests {
    Requests::info(
        "Copied as a curl command. Set KEY (or TOKEN) first; secrets in the body are ***.",
    )
    .and(Effect::Copy(text::clean_lines(curl).into_owned()))
}

impl Component for Confirm {
    fn context(&self) -> Context {
        Context::Confirm
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
            Some(action) if action.belongs_to_confirm() => Some(self.decide(cx, action)),
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
        let area = confirm_area(self.area(cx));
        let rows = self.rows(cx, area);
        self.place.page(&rows, area.h.into(), lines);
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let area = confirm_area(self.area(cx));
        let rows = self.rows(cx, area);
        match start {
            true => self.place.to_start(&rows, area.h.into()),
            false => self.place.to_end(&rows, area.h.into(), false),
        }
    }

    fn hints(&self) -> Option<&'static [&'static str]> {
        Some(ACTIONS)
    }

    fn can(&self, cx: &Cx<'_>, action: Action) -> bool {
        self.is_possible(cx, action)
    }

    fn framed_keys(&self, cx: &Cx<'_>) -> Vec<&'static str> {
        self.framed(cx).0
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let area = confirm_area(self.area(cx));
        let rows = self.rows(cx, area);
        self.place.clamp(&rows, area.h.into());
    }

    fn on_drawn(&mut self) -> bool {
        self.send_key
            .on_drawn(matches!(self.stage, Stage::Ready(_)));
        true
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.profile)
    }

    /// Reads the target again now and then, so that a change by someone else is seen before sending.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        match matches!(self.stage, Stage::Ready(_)) && self.check.is_due(cx.session.now) {
            true => {
                self.check.is_running = true;
                Effect::CheckTarget(self.number, self.profile.clone()).into()
            }
            false => Requests::none(),
        }
    }

    fn next_tick(&self, cx: &Cx<'_>) -> Option<Duration> {
        matches!(self.stage, Stage::Ready(_))
            .then(|| self.check.next_tick(cx.session.now))
            .flatten()
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::confirm(self, cx, canvas)
    }
}
