//! The confirmation dialog: a change is planned, previewed, and sent only on request. Its target is fixed when the dialog
//! opens, so updates of the lists can't redirect it.

use super::send_key::SendKey;
use super::view;
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::session::msg::{Effect, ServerRef, ThreadRef, TwoServerIntent};
use crate::session::{Component, Cx, Request, Requests};
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Piece, Tone, wrap};
use crate::widgets::scroll::{Flat, Place};
use crate::widgets::text_input::TextInput;
use runtail_api::{ApiError, CancelAction, Choice, ForkChange, PlanError, ResourceIntent, ThreadIntent, Writer};
use runtail_core::model::{Change, Intent, Preview};
use runtail_core::text;
use std::sync::Arc;

/// Maximum number of nodes that a preview lists to choose from.
const MAX_WRITER_LINES: usize = 12;

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
    /// Scroll position in the preview.
    pub place: Place,
}

/// The subject of a confirmation dialog.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal {
    /// A change on the control plane of the profile.
    Service(Intent),
    /// An action on a thread of an agent server.
    Thread(ServerRef, ThreadIntent),
    /// A change of an assistant, a cron or the store of an agent server.
    Resource(ServerRef, ResourceIntent),
    /// An action that uses a thread and a second agent server.
    TwoServers(ThreadRef, ServerRef, TwoServerIntent),
}

impl Proposal {
    /// Returns the other profile to which it writes, if there are two.
    pub fn second_profile(&self) -> Option<&str> {
        match self {
            Proposal::TwoServers(from, to, TwoServerIntent::RunOnBoth(_)) if from.server.profile != to.profile => {
                Some(&from.server.profile)
            }
            _ => None,
        }
    }
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
            Proposal::TwoServers(_, _, TwoServerIntent::Reproduce(_)) => "Reproduce",
            Proposal::TwoServers(_, _, TwoServerIntent::RunOnBoth(_)) => "Run on two servers",
            Proposal::Thread(_, ThreadIntent::Cancel { action: CancelAction::Interrupt, .. }) => "Cancel",
            Proposal::Thread(_, ThreadIntent::Cancel { action: CancelAction::Rollback, .. }) => "Cancel and roll back",
            Proposal::Thread(_, ThreadIntent::Continue { .. }) => "Continue",
            Proposal::Thread(_, ThreadIntent::Again { .. }) => "Run again",
            Proposal::Thread(_, ThreadIntent::Answer { .. } | ThreadIntent::AnswerByRules { .. }) => "Answer",
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

    /// Returns the preview of a planned change.
    pub fn preview(&self) -> Option<&Preview> {
        match &self.stage {
            Stage::Ready(preview) | Stage::Sending(preview) | Stage::Failed(preview, _) => Some(preview),
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
        let is_given =
            |preview: &Preview| preview.consent.wanted().is_none() || preview.consent.is_given(&self.typed.text());
        self.typed_limit().is_none() && matches!(&self.stage, Stage::Ready(preview) if is_given(preview))
    }

    /// Returns the typed recursion limit if the preview does not have it yet.
    pub fn typed_limit(&self) -> Option<u64> {
        let Some(Choice::RecursionLimit(planned)) = self.choice else { return None };
        self.typed.text().parse().ok().filter(|typed| *typed != planned && *typed > 0)
    }

    /// Describes the available option.
    fn option(&self, key: &str) -> Option<String> {
        if !matches!(self.stage, Stage::Ready(_)) {
            return None;
        }
        match (&self.proposal, &self.choice) {
            (Proposal::Service(Intent::DeleteDeployment { delete_tracing_project: false, .. }), _) => {
                Some(format!("Tracing project and traces: keep ({key} to delete them too)"))
            }
            (Proposal::Service(Intent::DeleteDeployment { .. }), _) => {
                Some(format!("Tracing project and traces: delete ({key} to keep them)"))
            }
            (_, Some(Choice::Queue { included: false, queued: 1 })) => {
                Some(format!("Other active run: keep ({key} to cancel it too)"))
            }
            (_, Some(Choice::Queue { included: false, queued })) => {
                Some(format!("{queued} other active runs: keep ({key} to cancel them too)"))
            }
            (_, Some(Choice::Queue { included: true, .. })) => {
                Some(format!("Other active runs: cancel ({key} to keep them)"))
            }
            (_, Some(Choice::RecursionLimit(limit))) => {
                let typed = if self.typed.is_empty() { limit.to_string() } else { self.typed.text() };
                Some(format!("Steps allowed: [ {typed} ]   type another number, Enter shows the new request"))
            }
            _ => None,
        }
    }

    /// Returns the node in whose name a state is edited, and those that can be chosen.
    fn node_choice(&self) -> Option<(Option<&str>, &[Writer])> {
        match (&self.stage, &self.choice) {
            (Stage::Refused(PlanError::NeedsNode(_, nodes)), _) if !nodes.is_empty() => Some((None, nodes)),
            (Stage::Ready(_), Some(Choice::AsNode { node, nodes })) => Some((node.as_deref(), nodes)),
            _ => None,
        }
    }

    /// Returns the lines of the nodes in whose name a state can be edited.
    fn writer_lines(&self, key: &str, width: usize) -> Vec<Line> {
        let Some((chosen, nodes)) = self.node_choice() else { return Vec::new() };
        let at = chosen.and_then(|node| nodes.iter().position(|known| known.node == node));
        // The chosen node stays visible in a long list.
        let first = at.map_or(0, |at| at.saturating_sub(MAX_WRITER_LINES / 2));
        let first = first.min(nodes.len().saturating_sub(MAX_WRITER_LINES));
        let shown = nodes.iter().skip(first).take(MAX_WRITER_LINES);
        let name_width = shown.clone().map(|one| text::width(&text::clean(&one.node))).max().unwrap_or(0).min(30);
        let heading = match &self.stage {
            Stage::Refused(_) => format!("Write as ({key} chooses the node)"),
            _ => format!("Write as ({key} chooses another node)"),
        };
        let mut lines = vec![Line::new(), Line::of(Tone::Dim, &text::fit(&heading, width))];
        if !matches!(self.stage, Stage::Refused(_)) {
            lines.push(writer_line(chosen.is_none(), "the node that wrote last", ""));
        }
        for one in shown {
            let name = text::seen(&one.node, name_width);
            let pad = " ".repeat(name_width.saturating_sub(text::width(&name)));
            let then = text::seen(&one.then, width.saturating_sub(name_width + 6));
            lines.push(writer_line(chosen == Some(&*one.node), &format!("{name}{pad}"), &then));
        }
        if nodes.len() > first + MAX_WRITER_LINES || first > 0 {
            lines.push(Line::of(Tone::Dim, &format!("    {} nodes in all", nodes.len())));
        }
        lines
    }

    /// Returns the same edit in the name of the next node.
    fn as_next_node(&self) -> Option<Proposal> {
        let (node, nodes) = self.node_choice()?;
        let next = next_node(node, nodes).map(str::to_string);
        let Proposal::Thread(server, mut intent) = self.proposal.clone() else { return None };
        match &mut intent {
            ThreadIntent::EditState { edit, .. } | ThreadIntent::Fork { change: ForkChange::Edit(edit), .. } => {
                edit.as_node = next;
            }
            _ => return None,
        }
        Some(Proposal::Thread(server, intent))
    }

    /// Returns the actions for the footer, depending on the stage.
    fn useful_actions(&self) -> &'static [&'static str] {
        let has_option = self.node_choice().is_some();
        match self.stage {
            Stage::Ready(_) if has_option => &["confirm.send", "confirm.option", "confirm.curl", "confirm.back"],
            Stage::Refused(_) if has_option => &["confirm.option", "confirm.back"],
            Stage::Ready(_) => &["confirm.send", "confirm.curl", "confirm.back"],
            Stage::Sending(_) | Stage::Failed(..) => &["confirm.curl", "confirm.back"],
            Stage::Planning | Stage::Refused(_) => &["confirm.back"],
        }
    }

    /// Returns the lines of the preview.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        match &self.stage {
            Stage::Planning => lines.push(Line::of(Tone::Dim, "Loading the current state…")),
            Stage::Refused(error) => {
                let (tone, heading, why) = match error {
                    PlanError::Asked(error) => {
                        (Tone::Bad, "Couldn't read the current state. Nothing was sent.", error.story())
                    }
                    PlanError::Nothing(why) => (Tone::Plain, "No changes. Nothing was sent.", why.clone()),
                    other => (Tone::Bad, "Cannot continue. Nothing was sent.", other.to_string()),
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
            lines.extend(preview_lines(preview, width));
        }
        lines.extend(self.writer_lines("ctrl-t", width));
        if let Some(option) = self.option("ctrl-t") {
            lines.push(Line::new());
            lines.push(Line::of(Tone::Dim, &option));
        }
        lines
    }
}

fn writer_line(is_chosen: bool, name: &str, then: &str) -> Line {
    let (mark, tone) = if is_chosen { ("  ● ", Tone::Strong) } else { ("    ", Tone::Plain) };
    Line::of(Tone::Accent, mark).with(tone, name).with(Tone::Dim, &format!("  {then}"))
}

/// Returns the node after a node in a list; after the last one none, which is the node that wrote last.
pub(super) fn next_node<'a>(node: Option<&str>, nodes: &'a [Writer]) -> Option<&'a str> {
    let at = node.and_then(|node| nodes.iter().position(|known| known.node == node));
    let next = match (node, at) {
        (None, _) => 0,
        (Some(_), Some(at)) => at + 1,
        (Some(_), None) => return None,
    };
    nodes.get(next).map(|next| &*next.node)
}

/// Returns the area of the preview; the prompt is below it.
pub fn confirm_area(area: Area) -> Area {
    Area { h: area.h.saturating_sub(2), ..area }
}

pub(super) fn wrapped(tone: Tone, text: &str, width: usize) -> Vec<Line> {
    wrap(text, width).iter().map(|line| Line::of(tone, line)).collect()
}

/// Returns the notes of a preview.
pub(super) fn note_lines(preview: &Preview, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for note in &preview.notes {
        let (mark, tone) = if note.warns { ("! ", Tone::Moving) } else { ("· ", Tone::Dim) };
        for (i, part) in wrap(&note.text, width.saturating_sub(2)).iter().enumerate() {
            lines.push(Line::of(tone, if i == 0 { mark } else { "  " }).with(Tone::Plain, part));
        }
    }
    lines
}

/// Returns the lines of a preview: the changes, the consequences, and the exact request.
pub fn preview_lines(preview: &Preview, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let inner = width.saturating_sub(2);
    let heading = |lines: &mut Vec<Line>, text: &str| {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.push(Line::of(Tone::Dim, text));
    };
    if !preview.changes.is_empty() {
        heading(&mut lines, "Changes");
        preview.changes.iter().for_each(|change| lines.extend(change_lines(change, inner)));
    }
    let revision = preview.revision.sentence();
    let notes = note_lines(preview, inner);
    if !(revision.is_empty() && notes.is_empty()) {
        heading(&mut lines, "Consequences");
        let revision = if revision.is_empty() { Vec::new() } else { wrapped(Tone::Plain, &revision, inner) };
        lines.extend(revision.into_iter().chain(notes).map(indented));
    }
    for (n, request) in preview.requests().enumerate() {
        let number = if preview.then.is_empty() { String::new() } else { format!(" {}", n + 1) };
        heading(&mut lines, &format!("Request{number}"));
        let first = format!("{} {}", request.method, request.url);
        let body = request.body.as_ref().and_then(|body| serde_json::to_string_pretty(body).ok());
        for text in std::iter::once(first).chain(body) {
            lines.extend(wrapped(Tone::Dim, &text, inner).into_iter().map(indented));
        }
    }
    lines
}

/// Returns the lines of a change, with a sign before what is added or removed.
fn change_lines(change: &Change, width: usize) -> Vec<Line> {
    let (sign, tone) = match (&change.before, &change.after) {
        (None, Some(_)) => ("+ ", Tone::Good),
        (Some(_), None) => ("- ", Tone::Bad),
        _ => ("  ", Tone::Plain),
    };
    let parts = wrap(&change.line(), width.saturating_sub(2));
    let line = |(i, part): (usize, &String)| {
        indented(Line::of(tone, if i == 0 { sign } else { "    " }).with(Tone::Plain, part))
    };
    parts.iter().enumerate().map(line).collect()
}

/// Puts a line of a section below its heading.
fn indented(mut line: Line) -> Line {
    line.left.insert(0, Piece { text: "  ".into(), tone: Tone::Plain });
    line
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
            place: Place::at_start(),
        }
    }

    /// Plans the change. Sends no write request.
    pub fn plan(&self) -> Effect {
        match self.proposal.clone() {
            Proposal::Service(intent) => Effect::Plan(self.number, self.profile.clone(), Box::new(intent)),
            Proposal::Thread(server, intent) => Effect::PlanAction(self.number, server, Box::new(intent)),
            Proposal::Resource(server, intent) => Effect::PlanResource(self.number, server, Box::new(intent)),
            Proposal::TwoServers(from, to, intent) => Effect::PlanOnTwoServers(self.number, from, to, Box::new(intent)),
        }
    }

    /// Replaces the proposal and plans it.
    fn replan(&mut self, cx: &Cx<'_>, proposal: Proposal) -> Requests {
        let forget = Effect::Forget(self.number);
        if cx.session.is_read_only(&self.profile) {
            let mut out = Requests::from(Request::Close).and(forget);
            out.notify(true, cx.session.read_only_text(&self.profile));
            return out;
        }
        *self = Confirm::new(cx.session.next_change.take(), self.profile.clone(), proposal);
        Requests::from(forget).and(self.plan())
    }

    /// Handles an action that decides, rather than one that scrolls.
    fn decide(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Send => self.send(cx),
            Action::Back | Action::Quit => self.leave(),
            Action::Option => self.toggle_option(cx),
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
            return self.replan(cx, other);
        }
        if !matches!(self.stage, Stage::Ready(_)) {
            return Requests::none();
        }
        let other = match self.proposal.clone() {
            Proposal::Service(Intent::DeleteDeployment { id, delete_tracing_project, force }) => {
                let delete_tracing_project = !delete_tracing_project;
                Proposal::Service(Intent::DeleteDeployment { id, delete_tracing_project, force })
            }
            Proposal::Thread(server, ThreadIntent::Cancel { thread, run, action, with_queue })
                if matches!(self.choice, Some(Choice::Queue { .. })) =>
            {
                Proposal::Thread(server, ThreadIntent::Cancel { thread, run, action, with_queue: !with_queue })
            }
            _ => return Requests::none(),
        };
        let typed = self.typed.clone();
        let out = self.replan(cx, other);
        self.typed = typed;
        out
    }

    /// Plans the request with the typed recursion limit.
    fn change_limit(&mut self, cx: &Cx<'_>) -> Requests {
        let Some(limit) = self.typed_limit() else { return Requests::none() };
        match self.proposal.clone() {
            Proposal::Thread(server, ThreadIntent::Again { thread, .. }) => {
                let intent = ThreadIntent::Again { thread, recursion_limit: Some(limit) };
                self.replan(cx, Proposal::Thread(server, intent))
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
        if !self.send_key.counts(cx, is_ready) {
            return Requests::none();
        }
        if self.typed_limit().is_some() {
            let mut out = Requests::info("Nothing was sent: the number of steps changed. Review the new request.");
            out.extend(self.change_limit(cx));
            return out;
        }
        if !self.may_be_sent() {
            let Some(name) = self.wants_name() else { return Requests::none() };
            return Requests::info(format!("Type {} exactly to continue. Nothing was sent.", text::clean(name)));
        }
        // The profile can become read-only while the dialog is open.
        let mut written = std::iter::once(&*self.profile).chain(self.proposal.second_profile());
        if let Some(profile) = written.find(|profile| cx.session.is_read_only(profile)) {
            return Requests::error(cx.session.read_only_text(profile));
        }
        if let Stage::Ready(preview) = std::mem::replace(&mut self.stage, Stage::Planning) {
            self.stage = Stage::Sending(preview);
        }
        match self.proposal.clone() {
            Proposal::Service(_) => Effect::Send(self.number, self.profile.clone()).into(),
            Proposal::Resource(..) => Effect::SendResource(self.number, self.profile.clone()).into(),
            Proposal::TwoServers(..) => Effect::SendOnTwoServers(self.number, self.profile.clone()).into(),
            Proposal::Thread(server, intent) => {
                let thread = ThreadRef { server, id: intent.thread().to_string() };
                let mut out = Requests::none();
                if let ThreadIntent::Cancel { run, with_queue, .. } = &intent {
                    out.push(Request::NoteCancelling(thread.clone(), run.clone().filter(|_| !with_queue)));
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
        if is_limit && key.text().is_some_and(|c| !c.is_ascii_digit() || self.typed.text().len() > 8) {
            return;
        }
        if self.wants_name().is_none() && !is_limit {
            return;
        }
        self.typed.key(key);
    }

    fn rows(&self, area: Area) -> Flat {
        Flat { first: 0, end: self.lines(area.w.saturating_sub(2) as usize).len() as u64 }
    }
}

/// Copies a request as a command.
pub fn copy_command(curl: &str) -> Requests {
    Requests::info("Copied as a curl command. Set KEY (or TOKEN) first; secrets in the body are ***.")
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
        // While a name or a number is typed, characters are input, not actions.
        if self.is_typing() && key.text().is_some() {
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
        let area = confirm_area(cx.area);
        let rows = self.rows(area);
        self.place.page(&rows, area.h.into(), lines);
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let area = confirm_area(cx.area);
        let rows = self.rows(area);
        match start {
            true => self.place.to_start(&rows, area.h.into()),
            false => self.place.to_end(&rows, area.h.into(), false),
        }
    }

    fn hints(&self) -> Option<&'static [&'static str]> {
        Some(self.useful_actions())
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let area = confirm_area(cx.area);
        let rows = self.rows(area);
        self.place.clamp(&rows, area.h.into());
    }

    fn on_drawn(&mut self) -> bool {
        self.send_key.on_drawn(matches!(self.stage, Stage::Ready(_)));
        true
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.profile)
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::confirm(self, cx, canvas)
    }
}
