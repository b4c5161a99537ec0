//! A change before it is made: it is planned and shown, and sent only when the person says so. What it is done to is frozen
//! when the dialog opens; whatever the lists do meanwhile, nothing else is touched.

use super::key::Key;
use super::layout::{Area, SMALLEST};
use super::line::{Line, Tone, wrap};
use super::msg::{Effect, Made, ServerRef, ThreadRef};
use super::open::read_only_text;
use super::scroll::Place;
use super::text_input::TextInput;
use super::{App, Overlay};
use jiff::{SignedDuration, Timestamp};
use runtail_api::{ApiError, CancelAction, Choice, Kind, PlanError, ThreadIntent};
use runtail_core::model::{Intent, Preview};
use runtail_core::text;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

/// A change that the person is asked about.
#[derive(Debug, Clone)]
pub struct Confirm {
    /// Its number in this session.
    pub number: u64,
    /// The profile that it is done with.
    pub profile: Arc<str>,
    /// What is wanted.
    pub proposal: Proposal,
    /// How far it is.
    pub stage: Stage,
    /// What was typed: the name that has to be, or another value of the choice that there is.
    pub typed: TextInput,
    /// What can still be chosen.
    pub choice: Option<Choice>,
    /// When the key that sends was pressed before there was anything to read: it may be held down since.
    pub held: Option<Timestamp>,
    /// Whether the preview was on the screen.
    pub is_seen: bool,
    /// Where in the preview one reads.
    pub place: Place,
}

/// What a dialog asks about.
#[derive(Debug, Clone, PartialEq)]
pub enum Proposal {
    /// A change on the control plane of the profile.
    Service(Intent),
    /// An action on a thread of an agent server.
    Thread(ServerRef, ThreadIntent),
}

/// A key that comes again so soon is held down: longer than any terminal waits before it repeats one.
pub(super) const HELD: SignedDuration = SignedDuration::from_secs(1);

/// How far a change is.
#[derive(Debug, Clone)]
pub enum Stage {
    /// What it would do is being found out. Nothing that writes is sent.
    Planning,
    /// It cannot be done, for this reason. Nothing was sent.
    Refused(PlanError),
    /// It can be sent.
    Ready(Box<Preview>),
    /// It was sent, and its answer is waited for.
    Sending(Box<Preview>),
    /// It was sent, or nearly, and failed.
    Failed(Box<Preview>, ApiError),
}

impl Confirm {
    /// What is done, and to what as soon as that is read.
    pub fn title(&self) -> String {
        if let Some(preview) = self.preview() {
            return preview.title.clone();
        }
        let word = match &self.proposal {
            Proposal::Service(Intent::CreateDeployment(_)) => "Create",
            Proposal::Service(Intent::UpdateDeployment { .. }) => "Update",
            Proposal::Service(Intent::DeleteDeployment { .. }) => "Delete",
            Proposal::Service(Intent::Redeploy { .. }) => "Redeploy",
            Proposal::Service(Intent::Service(change)) => change.what.verb(),
            Proposal::Service(Intent::Interrupt { .. }) => "Interrupt",
            Proposal::Service(Intent::Rollback { .. }) => "Roll back",
            Proposal::Thread(_, ThreadIntent::Cancel { action: CancelAction::Interrupt, .. }) => "Cancel",
            Proposal::Thread(_, ThreadIntent::Cancel { action: CancelAction::Rollback, .. }) => "Cancel and roll back",
            Proposal::Thread(_, ThreadIntent::Continue { .. }) => "Continue",
            Proposal::Thread(_, ThreadIntent::Again { .. }) => "Run again",
            Proposal::Thread(_, ThreadIntent::Delete { .. }) => "Delete",
        };
        word.to_string()
    }

    /// What is seen of it, once it is planned.
    pub fn preview(&self) -> Option<&Preview> {
        match &self.stage {
            Stage::Ready(preview) | Stage::Sending(preview) | Stage::Failed(preview, _) => Some(preview),
            Stage::Planning | Stage::Refused(_) => None,
        }
    }

    /// The name that has to be typed, while that makes sense.
    pub fn wants_name(&self) -> Option<&str> {
        match &self.stage {
            Stage::Ready(preview) => preview.consent.wanted(),
            _ => None,
        }
    }

    /// Whether the key that sends would send it.
    pub fn may_be_sent(&self) -> bool {
        let is_given =
            |preview: &Preview| preview.consent.wanted().is_none() || preview.consent.is_given(&self.typed.text());
        self.typed_limit().is_none() && matches!(&self.stage, Stage::Ready(preview) if is_given(preview))
    }

    /// Another number of steps that was typed and is not in the preview yet.
    pub fn typed_limit(&self) -> Option<u64> {
        let Some(Choice::RecursionLimit(planned)) = self.choice else { return None };
        self.typed.text().parse().ok().filter(|typed| *typed != planned && *typed > 0)
    }

    /// What can be chosen, in words.
    fn option(&self, key: &str) -> Option<String> {
        if !matches!(self.stage, Stage::Ready(_)) {
            return None;
        }
        match (&self.proposal, &self.choice) {
            (Proposal::Service(Intent::DeleteDeployment { delete_tracing_project: false, .. }), _) => {
                Some(format!("{key} deletes the tracing project and its traces too"))
            }
            (Proposal::Service(Intent::DeleteDeployment { .. }), _) => {
                Some(format!("{key} keeps the tracing project and its traces"))
            }
            (_, Some(Choice::Queue { included: false, queued: 1 })) => {
                Some(format!("{key} cancels the other active run too"))
            }
            (_, Some(Choice::Queue { included: false, queued })) => {
                Some(format!("{key} cancels the {queued} other active runs too"))
            }
            (_, Some(Choice::Queue { included: true, .. })) => Some(format!("{key} cancels only this run")),
            (_, Some(Choice::RecursionLimit(limit))) => {
                let typed = if self.typed.is_empty() { limit.to_string() } else { self.typed.text() };
                Some(format!("Steps allowed: [ {typed} ]   type another number, Enter shows the new request"))
            }
            _ => None,
        }
    }

    /// What the footer shows: the keys that do something by now.
    pub fn hints(&self) -> &'static [&'static str] {
        match self.stage {
            Stage::Ready(_) => &["confirm.send", "confirm.curl", "confirm.back"],
            Stage::Sending(_) | Stage::Failed(..) => &["confirm.curl", "confirm.back"],
            Stage::Planning | Stage::Refused(_) => &["confirm.back"],
        }
    }

    /// The lines to read.
    pub fn lines(&self, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        match &self.stage {
            Stage::Planning => {
                lines.push(Line::of(Tone::Dim, "Reading the current state. Nothing is changed by that."))
            }
            Stage::Refused(error) => {
                let (tone, heading, why) = match error {
                    PlanError::Asked(error) => {
                        (Tone::Bad, "Couldn't read the current state. Nothing was sent.", error.story())
                    }
                    PlanError::Nothing(why) => (Tone::Plain, "There is nothing to do. Nothing was sent.", why.clone()),
                    other => (Tone::Bad, "Cannot continue. Nothing was sent.", other.to_string()),
                };
                lines.push(Line::of(tone, heading));
                lines.push(Line::new());
                lines.extend(told(Tone::Plain, &why, width));
            }
            Stage::Failed(_, error) => {
                lines.extend(told(Tone::Bad, &error.story(), width));
                lines.push(Line::new());
            }
            Stage::Ready(_) | Stage::Sending(_) => {}
        }
        if let Some(preview) = self.preview() {
            lines.extend(preview_lines(preview, width));
        }
        if let Some(option) = self.option("ctrl-t") {
            lines.push(Line::new());
            lines.push(Line::of(Tone::Dim, &option));
        }
        lines
    }
}

/// Where the text of a change is read: what is asked stands below it.
pub fn confirm_area(area: Area) -> Area {
    Area { h: area.h.saturating_sub(2), ..area }
}

fn told(tone: Tone, text: &str, width: usize) -> Vec<Line> {
    wrap(text, width).iter().map(|line| Line::of(tone, line)).collect()
}

/// A preview as lines: what it does in words, what differs, then exactly what is sent.
pub fn preview_lines(preview: &Preview, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let revision = preview.revision.sentence();
    if !revision.is_empty() {
        lines.extend(told(Tone::Strong, &revision, width));
    }
    for note in &preview.notes {
        let (mark, tone) = if note.warns { ("! ", Tone::Moving) } else { ("· ", Tone::Dim) };
        for (i, part) in wrap(&note.text, width.saturating_sub(2)).iter().enumerate() {
            lines.push(Line::of(tone, if i == 0 { mark } else { "  " }).with(Tone::Plain, part));
        }
    }
    let heading = |lines: &mut Vec<Line>, text: &str| {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.push(Line::of(Tone::Dim, text));
    };
    if !preview.changes.is_empty() {
        heading(&mut lines, "Changes");
        for change in &preview.changes {
            for (i, part) in wrap(&change.line(), width.saturating_sub(4)).iter().enumerate() {
                lines.push(Line::of(Tone::Plain, &format!("{}{part}", if i == 0 { "  " } else { "    " })));
            }
        }
    }
    heading(&mut lines, "Request");
    let request = format!("{} {}", preview.request.method, preview.request.url);
    lines
        .extend(wrap(&request, width.saturating_sub(2)).iter().map(|part| Line::of(Tone::Plain, &format!("  {part}"))));
    if let Some(body) = &preview.request.body {
        let body = serde_json::to_string_pretty(body).unwrap_or_default();
        lines.extend(
            wrap(&body, width.saturating_sub(2)).iter().map(|part| Line::of(Tone::Plain, &format!("  {part}"))),
        );
    }
    lines
}

impl App {
    /// Begins a change: it is planned, then shown. Where writing is ruled out it is not even begun.
    pub fn begin_intent(&mut self, profile: Arc<str>, intent: Intent) -> Vec<Effect> {
        if self.is_read_only(&profile) {
            let text = read_only_text(&profile);
            self.notify(true, text);
            return Vec::new();
        }
        let number = self.ask(profile.clone(), Proposal::Service(intent.clone()));
        vec![Effect::Plan(number, profile, Box::new(intent))]
    }

    /// Begins an action on a thread: it is planned, then shown.
    pub(super) fn begin_action(&mut self, server: ServerRef, intent: ThreadIntent) -> Vec<Effect> {
        if self.is_read_only(&server.profile) {
            let text = read_only_text(&server.profile);
            self.notify(true, text);
            return Vec::new();
        }
        let number = self.ask(server.profile.clone(), Proposal::Thread(server.clone(), intent.clone()));
        vec![Effect::PlanAction(number, server, Box::new(intent))]
    }

    /// Opens the dialog of a change that is being planned.
    fn ask(&mut self, profile: Arc<str>, proposal: Proposal) -> u64 {
        let number = self.next_change;
        self.next_change += 1;
        self.overlays.push(Overlay::Confirm(Box::new(Confirm {
            number,
            profile,
            proposal,
            stage: Stage::Planning,
            typed: TextInput::line(""),
            choice: None,
            held: None,
            is_seen: false,
            place: Place::at_start(),
        })));
        number
    }

    pub(super) fn confirm_of(&mut self, number: u64) -> Option<&mut Confirm> {
        self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::Confirm(confirm) if confirm.number == number => Some(&mut **confirm),
            _ => None,
        })
    }

    /// What a change would do, or why it cannot be done.
    pub(super) fn take_planned(&mut self, number: u64, planned: Result<Box<Preview>, PlanError>) -> Vec<Effect> {
        if let (Err(PlanError::Asked(error)), Some(_)) = (&planned, self.confirm_of(number)) {
            self.heed(error);
        }
        match (self.confirm_of(number), planned) {
            (Some(confirm), Ok(preview)) => confirm.stage = Stage::Ready(preview),
            (Some(confirm), Err(error)) => confirm.stage = Stage::Refused(error),
            // The person left meanwhile.
            (None, Ok(_)) => return vec![Effect::Forget(number)],
            (None, Err(_)) => {}
        }
        Vec::new()
    }

    /// What an action on a thread would do, or why it can't be done.
    pub(super) fn on_planned_action(
        &mut self,
        number: u64,
        planned: Result<(Box<Preview>, Option<Choice>), PlanError>,
    ) -> Vec<Effect> {
        match (self.confirm_of(number), planned) {
            (Some(confirm), Ok((preview, choice))) => {
                confirm.stage = Stage::Ready(preview);
                confirm.choice = choice;
            }
            // A sentence is enough where there is nothing to do.
            (Some(_), Err(PlanError::Nothing(why))) => {
                self.overlays.retain(|overlay| !matches!(overlay, Overlay::Confirm(c) if c.number == number));
                self.notify(false, why);
            }
            (Some(confirm), Err(error)) => confirm.stage = Stage::Refused(error),
            // The person left meanwhile.
            (None, Ok(_)) => return vec![Effect::Forget(number)],
            (None, Err(_)) => {}
        }
        Vec::new()
    }

    /// Notes that a frame was drawn. Nothing is sent from an overlay, and no change, that was not in one.
    pub fn on_drawn(&mut self) {
        let is_shown = self.is_drawable() && !self.frozen;
        let is_loading = matches!(self.overlays.last(), Some(Overlay::Answer(card)) if !card.is_editable());
        if is_shown && !is_loading {
            self.seen_overlay = self.top_overlay();
        }
        if let Some(Overlay::Confirm(confirm)) = self.overlays.last_mut()
            && is_shown
            && matches!(confirm.stage, Stage::Ready(_))
        {
            confirm.is_seen = true;
        }
    }

    /// Returns whether the overlay on top was in a frame: a key can be faster than its first, and a small terminal shows nothing.
    pub(super) fn is_overlay_seen(&self) -> bool {
        self.is_drawable() && self.top_overlay().is_some() && self.seen_overlay == self.top_overlay()
    }

    /// Forgets that an overlay was in a frame when another one is on top.
    pub(super) fn settle_seen_overlay(&mut self) {
        let top = self.top_overlay();
        self.seen_overlay = self.seen_overlay.filter(|seen| Some(*seen) == top);
    }

    fn top_overlay(&self) -> Option<(usize, Discriminant<Overlay>)> {
        self.overlays.last().map(|top| (self.overlays.len(), discriminant(top)))
    }

    /// Returns whether the terminal is large enough for anything but a message that it is too small.
    fn is_drawable(&self) -> bool {
        self.size.0 >= SMALLEST.0 && self.size.1 >= SMALLEST.1
    }

    /// The key that sends was pressed.
    pub(super) fn send_change(&mut self) -> Vec<Effect> {
        let is_drawable = self.is_drawable();
        let Some(Overlay::Confirm(confirm)) = self.overlays.last_mut() else { return Vec::new() };
        let (number, profile) = (confirm.number, confirm.profile.clone());
        let is_held = confirm.held.is_some_and(|last| self.now.duration_since(last) < HELD);
        // A key can be faster than the next frame, and a small terminal shows nothing.
        let is_unseen = matches!(confirm.stage, Stage::Ready(_)) && !(confirm.is_seen && is_drawable);
        if is_held || is_unseen || matches!(confirm.stage, Stage::Planning) {
            confirm.held = Some(self.now);
            return Vec::new();
        }
        if confirm.typed_limit().is_some() {
            self.notify(false, "Nothing was sent: the number of steps changed. Review the new request.");
            return self.change_limit();
        }
        if !confirm.may_be_sent() {
            if let Some(name) = confirm.wants_name() {
                let text = format!("Nothing is sent before you have typed {} exactly.", text::clean(name));
                self.notify(false, text);
            }
            return Vec::new();
        }
        // It may have become so since the dialog opened.
        if self.is_read_only(&profile) {
            let text = read_only_text(&profile);
            self.notify(true, text);
            return Vec::new();
        }
        let Some(Overlay::Confirm(confirm)) = self.overlays.last_mut() else { return Vec::new() };
        if let Stage::Ready(preview) = std::mem::replace(&mut confirm.stage, Stage::Planning) {
            confirm.stage = Stage::Sending(preview);
        }
        match confirm.proposal.clone() {
            Proposal::Service(_) => vec![Effect::Send(number, profile)],
            Proposal::Thread(server, intent) => {
                let thread = ThreadRef { server, id: intent.thread().to_string() };
                if let ThreadIntent::Cancel { run, with_queue, .. } = &intent {
                    self.note_cancelling(&thread, run.as_deref().filter(|_| !with_queue));
                }
                vec![Effect::Act(number, thread)]
            }
        }
    }

    /// What came of a change that was sent. It is told wherever the person is by now.
    pub(super) fn take_sent(&mut self, number: u64, sent: Result<Made, ApiError>) -> Vec<Effect> {
        if let (Err(error), Some(_)) = (&sent, self.confirm_of(number)) {
            self.heed(error);
        }
        let at = self.overlays.iter().position(|o| matches!(o, Overlay::Confirm(c) if c.number == number));
        match sent {
            Ok(made) => {
                if let Some(at) = at {
                    self.overlays.remove(at);
                    // The document that it came from has done its work.
                    if at > 0 && at == self.overlays.len() && matches!(self.overlays[at - 1], Overlay::Edit(_)) {
                        self.overlays.pop();
                    }
                }
                let said = match made.revision {
                    Some(of) => {
                        let watched = self.watch_made(of);
                        format!("{} {watched}", made.said)
                    }
                    None => made.said,
                };
                if let Some((profile, id, name)) = made.vanishing {
                    self.vanishing.insert((profile, id), name);
                }
                self.notify(false, said);
                self.begin_again();
                return self.reread_browse();
            }
            Err(error) => {
                match self.confirm_of(number) {
                    Some(confirm) => {
                        if let Stage::Sending(preview) = std::mem::replace(&mut confirm.stage, Stage::Planning) {
                            confirm.stage = Stage::Failed(preview, error.clone());
                        }
                    }
                    None => self.notify(true, error.story()),
                }
                if matches!(error.kind, Kind::NotFound | Kind::Stale) {
                    self.begin_again();
                }
            }
        }
        Vec::new()
    }

    /// Whether a name is being typed.
    pub(super) fn types_name(&self) -> bool {
        let types = |confirm: &Confirm| {
            confirm.wants_name().is_some() || matches!(confirm.choice, Some(Choice::RecursionLimit(_)))
        };
        matches!(self.overlays.last(), Some(Overlay::Confirm(confirm)) if types(confirm))
    }

    /// A key while a change is asked about, where no action took it.
    pub(super) fn confirm_key(&mut self, key: Key) {
        let Some(Overlay::Confirm(confirm)) = self.overlays.last_mut() else { return };
        let is_limit = matches!(confirm.choice, Some(Choice::RecursionLimit(_)));
        if is_limit && key.text().is_some_and(|c| !c.is_ascii_digit() || confirm.typed.text().len() > 8) {
            return;
        }
        if confirm.wants_name().is_none() && !is_limit {
            return;
        }
        confirm.typed.key(key);
    }

    /// Leaves the dialog. What is under way stays under way, and is told when it ends.
    pub(super) fn leave_confirm(&mut self) -> Vec<Effect> {
        let Some(Overlay::Confirm(confirm)) = self.overlays.pop() else { return Vec::new() };
        match confirm.stage {
            Stage::Sending(_) => {
                self.notify(false, "It was sent already; you are told what came of it.");
                Vec::new()
            }
            Stage::Ready(_) => {
                self.notify(false, "Nothing was sent.");
                vec![Effect::Forget(confirm.number)]
            }
            Stage::Planning | Stage::Refused(_) | Stage::Failed(..) => Vec::new(),
        }
    }
}
