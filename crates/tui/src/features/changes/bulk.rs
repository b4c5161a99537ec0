//! An action on several marked threads: each is planned by itself, all are previewed together, and after one confirmation each is
//! checked again and gets its request once. Esc stops before the next request.

use super::send_key::SendKey;
use super::view;
use super::writers::next_node;
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::session::card;
use crate::session::msg::{Effect, Proposal, ServerRef, ThreadRef};
use crate::session::subject::Subject;
use crate::session::{Component, Cx, Request, Requests, Route, Session};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, marked, wrap};
use crate::widgets::scroll::{Flat, Place};
use crate::widgets::text_input::TextInput;
use runtail_api::{
    Acted, BULK_CONCURRENCY, BulkAction, BulkOutcome, Choice, PlanError, StartError, StateEdit,
    Writer,
};
use runtail_core::model::Preview;
use runtail_core::text::{self, short_id};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of different warnings that a preview lists.
const MAX_WARNINGS: usize = 6;
/// Maximum number of lines of the edit that a preview shows.
const MAX_VALUES: usize = 40;

/// An action on several threads.
#[derive(Debug, Clone)]
pub struct Bulk {
    server: ServerRef,
    action: BulkAction,
    targets: Vec<Target>,
    /// Whether it was confirmed, so that requests are sent.
    is_sent: bool,
    /// Whether no further request is sent.
    is_stopped: bool,
    /// The nodes in whose name the states can be edited, as far as the plans say.
    writers: Vec<Writer>,
    /// The warnings of the plans, and how many plans have each.
    warnings: BTreeMap<String, usize>,
    typed: TextInput,
    send_key: SendKey,
    place: Place,
}

/// One of the threads.
#[derive(Debug, Clone)]
struct Target {
    /// The number of its plan in this session.
    number: u64,
    thread: String,
    title: String,
    state: State,
}

/// The progress on one thread.
#[derive(Debug, Clone)]
enum State {
    /// Not planned yet.
    Waiting,
    Planning,
    /// Planned, with its request.
    Ready(String),
    /// Not part of the action, for this reason.
    LeftOut(String),
    Sending,
    Done(BulkOutcome, Option<String>),
}

impl Bulk {
    /// Creates the dialog. Each thread has an id and a title.
    pub fn new(
        cx: &Session,
        server: ServerRef,
        action: BulkAction,
        threads: Vec<(String, String)>,
    ) -> Bulk {
        let target = |(thread, title)| Target {
            number: cx.next_change.take(),
            thread,
            title,
            state: State::Waiting,
        };
        Bulk {
            server,
            action,
            targets: threads.into_iter().map(target).collect(),
            is_sent: false,
            is_stopped: false,
            writers: Vec::new(),
            warnings: BTreeMap::new(),
            typed: TextInput::line(""),
            send_key: SendKey::default(),
            place: Place::at_start(),
        }
    }

    /// Returns whether the plan or result with this number belongs to it.
    pub fn owns(&self, number: u64) -> bool {
        self.targets.iter().any(|target| target.number == number)
    }

    fn count(&self, is: impl Fn(&State) -> bool) -> usize {
        self.targets
            .iter()
            .filter(|target| is(&target.state))
            .count()
    }

    /// Returns the numbers of the plans.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.targets.iter().map(|target| target.number)
    }

    /// Plans the next threads. Sends no write request.
    pub fn plan(&mut self) -> Requests {
        let room =
            BULK_CONCURRENCY.saturating_sub(self.count(|state| matches!(state, State::Planning)));
        let mut out = Requests::none();
        let waiting = self
            .targets
            .iter_mut()
            .filter(|target| matches!(target.state, State::Waiting));
        for target in waiting.take(room) {
            target.state = State::Planning;
            let intent = self.action.intent(&target.thread);
            out.push(Effect::Plan(
                target.number,
                self.server.profile.clone(),
                Box::new(Proposal::Thread(self.server.clone(), intent)),
            ));
        }
        out
    }

    /// Applies the plan of a thread.
    pub fn on_planned(
        &mut self,
        number: u64,
        planned: Result<(Box<Preview>, Option<Choice>), PlanError>,
    ) -> Requests {
        let Some(target) = self
            .targets
            .iter_mut()
            .find(|target| target.number == number)
        else {
            return Requests::none();
        };
        let (state, writers) = match planned {
            Ok((preview, choice)) => {
                let request = &preview.request;
                let then = if !preview.then.is_empty() {
                    ", then the run"
                } else {
                    ""
                };
                for note in preview.notes.iter().filter(|note| note.warns) {
                    *self.warnings.entry(note.text.clone()).or_default() += 1;
                }
                let writers = choice.and_then(|choice| match choice {
                    Choice::AsNode { nodes, .. } => Some(nodes),
                    _ => None,
                });
                (
                    State::Ready(format!("{} {}{then}", request.method, request.url)),
                    writers,
                )
            }
            Err(PlanError::NeedsNode(why, nodes)) => (State::LeftOut(why), Some(nodes)),
            Err(error) => (State::LeftOut(error.to_string()), None),
        };
        target.state = state;
        if self.writers.is_empty() {
            self.writers = writers.unwrap_or_default();
        }
        self.plan()
    }

    /// Returns the edit that is made before the threads are retried.
    pub fn edit(&self) -> Option<&Arc<StateEdit>> {
        match &self.action {
            BulkAction::Retry(edit) => edit.as_ref(),
            BulkAction::Cancel | BulkAction::Delete | BulkAction::Prune => None,
        }
    }

    /// Returns whether a request was sent and was not refused.
    pub fn has_changed_something(&self) -> bool {
        let is_sent =
            |outcome: &BulkOutcome| !matches!(outcome, BulkOutcome::Refused | BulkOutcome::NotSent);
        self.count(|state| matches!(state, State::Done(outcome, _) if is_sent(outcome))) > 0
    }

    fn is_planned(&self) -> bool {
        self.count(|state| matches!(state, State::Waiting | State::Planning)) == 0
    }

    /// Returns whether nothing was sent yet.
    pub fn is_open(&self) -> bool {
        !self.is_sent
    }

    /// Returns whether the preview is complete and can be sent.
    pub fn is_ready(&self) -> bool {
        !self.is_sent && self.is_planned() && self.ready() > 0
    }

    fn ready(&self) -> usize {
        self.count(|state| matches!(state, State::Ready(_)))
    }

    /// Returns the text to type for confirmation, if one is required: the action and the number of threads.
    pub fn wants(&self) -> Option<String> {
        let is_asked = self.is_ready() && self.action.is_destructive();
        is_asked.then(|| format!("{} {}", self.action.word(), self.ready()))
    }

    pub(super) fn is_confirmed(&self) -> bool {
        self.is_ready()
            && self
                .wants()
                .is_none_or(|wanted| self.typed.text() == wanted)
    }

    pub(super) fn typed(&self) -> &TextInput {
        &self.typed
    }

    pub(super) fn profile_name(&self) -> &str {
        &self.server.profile
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Sends the next requests, a few at a time.
    fn send_next(&mut self) -> Requests {
        let mut out = Requests::none();
        let mut active = self.count(|state| matches!(state, State::Sending));
        for target in &mut self.targets {
            if !matches!(target.state, State::Ready(_)) {
                continue;
            }
            if self.is_stopped {
                target.state = State::Done(BulkOutcome::NotSent, None);
                out.push(Effect::Forget(target.number));
            } else if active < BULK_CONCURRENCY {
                active += 1;
                target.state = State::Sending;
                let thread = ThreadRef {
                    server: self.server.clone(),
                    id: target.thread.clone(),
                };
                out.push(Effect::Act(target.number, thread));
            }
        }
        out
    }

    /// Applies the result for a thread. Returns whether the action is finished.
    pub fn on_acted(
        &mut self,
        number: u64,
        result: &Result<Acted, StartError>,
    ) -> (bool, Requests) {
        if let Some(target) = self
            .targets
            .iter_mut()
            .find(|target| target.number == number)
        {
            let (outcome, error) = BulkOutcome::of(result);
            let why = error.map(|error| error.to_string());
            target.state = State::Done(outcome, why);
        }
        let out = self.send_next();
        (!self.is_active(), out)
    }

    /// Returns whether requests are in flight.
    pub fn is_active(&self) -> bool {
        self.is_sent && self.count(|state| matches!(state, State::Sending)) > 0
    }

    /// Returns a sentence about the result, and whether something went wrong.
    pub fn summary(&self) -> (bool, String) {
        let done =
            self.count(|state| matches!(state, State::Done(outcome, _) if outcome.is_done()));
        let of = |wanted: BulkOutcome| {
            self.count(|state| matches!(state, State::Done(outcome, _) if *outcome == wanted))
        };
        let (refused, unknown, not_sent) = (
            of(BulkOutcome::Refused),
            of(BulkOutcome::Unknown),
            of(BulkOutcome::NotSent),
        );
        let edited = of(BulkOutcome::Edited);
        let mut sentence = format!(
            "{}: {} done",
            text::capitalized(self.action.word()),
            text::counted(done, "thread")
        );
        for (count, what) in [
            (edited, "edited but not started"),
            (refused, "refused"),
            (unknown, "with an unknown result"),
            (not_sent, "not sent"),
        ] {
            if count > 0 {
                sentence.push_str(&format!(", {count} {what}"));
            }
        }
        (edited + refused + unknown > 0, format!("{sentence}."))
    }

    /// Confirms the action.
    fn send(&mut self, cx: &Cx<'_>) -> Requests {
        let is_ready = self.is_planned().then(|| self.is_ready());
        if self.is_sent {
            return Requests::none();
        }
        if let Some(requests) = self.send_key.refuses(cx, is_ready) {
            return requests;
        }
        if !self.is_ready() {
            return Requests::info("There is nothing to send.");
        }
        if !self.is_confirmed() {
            let wanted = self.wants().unwrap_or_default();
            return Requests::info(format!(
                "Type {wanted} exactly to continue. Nothing was sent."
            ));
        }
        // The profile can become read-only while the dialog is open.
        if cx.session.is_read_only(&self.server.profile) {
            return Requests::error(cx.session.read_only_text(&self.server.profile));
        }
        self.is_sent = true;
        self.send_next()
    }

    /// Plans the other kind of deletion, or the edit in the name of the next node. A retry gets an edit first.
    fn toggle_option(&mut self, cx: &Cx<'_>) -> Requests {
        if self.is_sent || !self.is_planned() {
            return Requests::none();
        }
        let other = match &self.action {
            BulkAction::Delete => BulkAction::Prune,
            BulkAction::Prune => BulkAction::Delete,
            BulkAction::Retry(None) => return self.begin_edit(),
            BulkAction::Retry(Some(_)) if self.writers.is_empty() => return Requests::none(),
            BulkAction::Retry(Some(edit)) => {
                let next = next_node(edit.as_node.as_deref(), &self.writers).map(str::to_string);
                BulkAction::Retry(Some(Arc::new(StateEdit {
                    as_node: next,
                    ..(**edit).clone()
                })))
            }
            BulkAction::Cancel => return Requests::none(),
        };
        let mut out = Requests::none();
        self.forget()
            .into_iter()
            .for_each(|effect| out.push(effect));
        let threads = self
            .targets
            .drain(..)
            .map(|target| (target.thread, target.title))
            .collect();
        let writers = std::mem::take(&mut self.writers);
        *self = Bulk {
            writers,
            ..Bulk::new(cx.session, self.server.clone(), other, threads)
        };
        out.extend(self.plan());
        out
    }

    /// Opens the editor of the keys that are written to every thread that failed.
    fn begin_edit(&self) -> Requests {
        let failed = self
            .targets
            .iter()
            .filter(|target| matches!(target.state, State::Ready(_)));
        let threads: Arc<[(String, String)]> = failed
            .map(|target| (target.thread.clone(), target.title.clone()))
            .collect();
        if threads.is_empty() {
            return Requests::info("None of these threads can be retried.");
        }
        let name = text::counted(threads.len(), "thread").into();
        let mut out = Requests::from(Request::Close);
        self.forget()
            .into_iter()
            .for_each(|effect| out.push(effect));
        out.and(Route::Edit(
            Subject::Retry {
                server: self.server.clone(),
                threads,
                name,
            },
            "{\n}\n".into(),
        ))
    }

    /// Returns the effects that drop the plans that were not sent.
    pub fn forget(&self) -> Vec<Effect> {
        let is_kept = |target: &&Target| matches!(target.state, State::Ready(_) | State::Planning);
        self.targets
            .iter()
            .filter(is_kept)
            .map(|target| Effect::Forget(target.number))
            .collect()
    }

    /// Stops before the next request; leaves the dialog if nothing is in flight.
    fn leave(&mut self) -> Requests {
        if self.is_active() && !self.is_stopped {
            self.is_stopped = true;
            let mut out = self.send_next();
            out.notify(
                false,
                "Stopped. Requests that were sent already are finished.",
            );
            return out;
        }
        let mut out: Requests = Request::Close.into();
        if !self.is_sent {
            self.forget()
                .into_iter()
                .for_each(|effect| out.push(effect));
            out.notify(false, "Nothing was sent.");
        }
        out
    }

    /// Returns the title in capitals, and its subject.
    pub(super) fn title(&self, cx: &Cx<'_>) -> (String, String) {
        (
            text::capitalized(self.action.word()),
            format!(
                "{} · {}",
                text::counted(self.targets.len(), "thread"),
                card::place(cx, &self.server)
            ),
        )
    }

    /// Returns the lines of the preview or of the result.
    pub(super) fn lines(&self, session: &Session, width: usize) -> Vec<Line> {
        let option = session.key("confirm.option");
        let mut lines = vec![self.headline()];
        if !self.is_sent && self.ready() > 0 {
            lines.extend(marked(
                (Tone::Moving, "! "),
                Tone::Plain,
                &self.action.effect(),
                width,
            ));
            if let BulkAction::Retry(_) = self.action {
                lines.extend(self.warning_lines(width));
            }
            match self.action {
                BulkAction::Delete => lines.push(Line::dim(&format!(
                    "{option} prunes instead: threads with an active run are left out"
                ))),
                BulkAction::Prune => lines.push(Line::dim(&format!(
                    "{option} deletes instead: active runs are cancelled first"
                ))),
                BulkAction::Retry(None) => lines.push(Line::dim(&format!(
                    "{option} edits the states first: the same keys in every thread"
                ))),
                BulkAction::Cancel | BulkAction::Retry(Some(_)) => {}
            }
        }
        if let Some(edit) = self.edit().filter(|_| !self.is_sent && self.is_planned()) {
            lines.extend(self.edit_lines(edit, &option, width));
        }
        lines.push(Line::new());
        lines.extend(self.targets.iter().map(line_of));
        if self.is_sent
            && self.count(|state| matches!(state, State::Done(BulkOutcome::Edited, _))) > 0
        {
            let (answer, retry) = (session.key("server.answer"), session.key("server.retry"));
            let how = format!(
                "Threads that are edited but not started stay marked. To start one, select it in the list and press {answer}: it \
                 continues with the edited state. If the server still calls it failed, press {retry}."
            );
            lines.push(Line::new());
            lines.extend(wrap(&how, width).iter().map(|part| Line::plain(part)));
        }
        lines
    }

    /// Returns the warnings of the plans, each with the number of threads that have it.
    fn warning_lines(&self, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for (warning, count) in self.warnings.iter().take(MAX_WARNINGS) {
            let said = format!("{}: {warning}", text::counted(*count, "thread"));
            lines.extend(marked((Tone::Moving, "! "), Tone::Plain, &said, width));
        }
        if self.warnings.len() > MAX_WARNINGS {
            let more = format!(
                "! {} more warnings about single threads",
                self.warnings.len() - MAX_WARNINGS
            );
            lines.push(Line::moving(&more));
        }
        lines
    }

    /// Returns the edit, and the node in whose name it is made.
    fn edit_lines(&self, edit: &StateEdit, option: &str, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        lines.push(Line::new());
        lines.push(Line::dim("Values that are written to each thread"));
        let values = serde_json::to_string_pretty(&edit.values).unwrap_or_default();
        let all = values.lines().count();
        for line in values.lines().take(MAX_VALUES) {
            lines.push(Line::plain(&format!(
                "  {}",
                text::seen(line, width.saturating_sub(2))
            )));
        }
        if all > MAX_VALUES {
            lines.push(Line::dim(&format!("  {} more lines", all - MAX_VALUES)));
        }
        let node = edit
            .as_node
            .as_deref()
            .map_or("the node that wrote last".into(), |node| {
                text::seen(node, 60)
            });
        let line = Line::dim("Write as ").with_strong(&node);
        lines.push(match self.writers.is_empty() {
            true => line,
            false => line.with_dim(&format!("  ({option} chooses another node)")),
        });
        lines
    }

    fn headline(&self) -> Line {
        let all = self.targets.len();
        if !self.is_planned() {
            let planned =
                all - self.count(|state| matches!(state, State::Waiting | State::Planning));
            return Line::moving("◐ ").with_plain(&format!("Reading {planned} of {all} threads…"));
        }
        if self.is_active() {
            let done = self.count(|state| matches!(state, State::Done(..)));
            let to_send = done + self.ready() + self.count(|state| matches!(state, State::Sending));
            return Line::moving("◐ ").with_plain(&format!("{done} of {to_send} done"));
        }
        if self.is_sent {
            return Line::strong(&self.summary().1);
        }
        let left_out = all - self.ready();
        let rest = if left_out > 0 {
            format!(", {left_out} left out")
        } else {
            String::new()
        };
        let text = format!(
            "{} to {}{rest}",
            text::counted(self.ready(), "thread"),
            self.action.word()
        );
        Line::strong(&text)
    }

    fn rows(&self, cx: &Cx<'_>, area: Area) -> Flat {
        Flat {
            first: 0,
            end: self
                .lines(cx.session, area.w.saturating_sub(2) as usize)
                .len() as u64,
        }
    }
}

fn line_of(target: &Target) -> Line {
    let (mark, tone, word, detail) = match &target.state {
        State::Waiting | State::Planning => ("◌", Tone::Dim, "reading", String::new()),
        State::Ready(request) => ("·", Tone::Dim, "", request.clone()),
        State::LeftOut(why) => ("■", Tone::Dim, "left out", why.clone()),
        State::Sending => ("◐", Tone::Moving, "sending", String::new()),
        State::Done(outcome, why) => {
            let (mark, tone) = match outcome {
                outcome if outcome.is_done() => ("●", Tone::Good),
                BulkOutcome::Edited => ("◐", Tone::Moving),
                BulkOutcome::NotSent => ("■", Tone::Dim),
                _ => ("✗", Tone::Bad),
            };
            let word = match outcome {
                BulkOutcome::Nothing => "nothing to do",
                BulkOutcome::NotSent => "not sent",
                BulkOutcome::Edited => "edited, not started",
                outcome => outcome.word(),
            };
            (mark, tone, word, why.clone().unwrap_or_default())
        }
    };
    let mut line = Line::of(tone, &format!("{mark} "));
    line.push_plain(&format!("{:<14} ", short_id(&target.thread)));
    if !word.is_empty() {
        line.push_strong(&format!("{word}  "));
    }
    line.push_plain(&text::fit(&text::clean(&target.title), 40));
    line.push_dim(&format!(
        "  {}",
        text::clean(detail.lines().next().unwrap_or_default())
    ));
    line
}

impl Component for Bulk {
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
        // While the confirmation is typed, characters are input, not actions.
        if self.wants().is_some() && key.text().is_some() {
            self.typed.key(key);
            return Some(Requests::none());
        }
        match cx.session.keymap.action(Context::Confirm, key) {
            Some(Action::Send) => Some(self.send(cx)),
            Some(Action::Back | Action::Quit) => Some(self.leave()),
            Some(Action::Option) => Some(self.toggle_option(cx)),
            Some(action) if action.belongs_to_confirm() => Some(Requests::none()),
            Some(_) => None,
            None => {
                if self.wants().is_some() {
                    self.typed.key(key);
                }
                Some(Requests::none())
            }
        }
    }

    fn paste(&mut self, _cx: &Cx<'_>, text: &str) {
        if self.wants().is_some() {
            self.typed.insert(text);
        }
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        let area = super::confirm::confirm_area(cx.area);
        let rows = self.rows(cx, area);
        self.place.page(&rows, area.h.into(), lines);
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let area = super::confirm::confirm_area(cx.area);
        let rows = self.rows(cx, area);
        match start {
            true => self.place.to_start(&rows, area.h.into()),
            false => self.place.to_end(&rows, area.h.into(), false),
        }
    }

    fn hints(&self) -> Option<&'static [&'static str]> {
        Some(if self.is_ready() {
            &["confirm.send", "confirm.back"]
        } else {
            &["confirm.back"]
        })
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let area = super::confirm::confirm_area(cx.area);
        let rows = self.rows(cx, area);
        self.place.clamp(&rows, area.h.into());
    }

    fn on_drawn(&mut self) -> bool {
        self.send_key.on_drawn(self.is_ready());
        true
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.server.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::bulk(self, cx, canvas)
    }
}
