//! Authenticating with a provider: what was asked for, how it stands, the link, and the wait. There is no token here: it is
//! let go below.

use super::editor::Subject;
use super::keys::Action;
use super::line::{Line, Tone, wrap};
use super::msg::Effect;
use super::open::read_only_text;
use super::scroll::Place;
use super::{App, Overlay};
use jiff::Timestamp;
use runtail_api::{ApiError, AuthWaited};
use runtail_core::model::{AuthAnswer, AuthAuthenticateRequest, AuthStatus};
use runtail_core::text;
use std::sync::Arc;
use std::time::Duration;

/// Columns of the names of fields.
const LABELS: usize = 11;

/// An authentication on the screen.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// Its number in this session; also names its wait.
    pub number: u64,
    /// The profile that it is asked with.
    pub profile: Arc<str>,
    /// What was asked for.
    pub request: AuthAuthenticateRequest,
    /// How it stands.
    pub stage: Stage,
    /// Since when it is waited for, while it is.
    pub waiting: Option<Timestamp>,
    /// What last went wrong while it was waited for.
    pub trouble: Option<ApiError>,
    /// Where one reads.
    pub place: Place,
}

/// How an authentication stands.
#[derive(Debug, Clone)]
pub enum Stage {
    /// It can be sent. Nothing was so far.
    Ready,
    /// It was sent, and the answer is waited for.
    Asking,
    /// This was the answer, with what the wait told since.
    Answered(AuthAnswer),
    /// It failed.
    Failed(ApiError),
}

impl SignIn {
    fn answer(&self) -> Option<&AuthAnswer> {
        match &self.stage {
            Stage::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// The link, while it leads anywhere.
    pub fn link(&self) -> Option<&str> {
        self.answer().filter(|answer| answer.status() != AuthStatus::Completed)?.url()
    }

    /// What is waited for.
    pub fn auth_id(&self) -> Option<&str> {
        self.answer()?.auth_id()
    }

    /// The lines to read. `key` gives the key of an action, for what can be done next.
    pub fn lines(&self, width: usize, now: Timestamp, key: impl Fn(&str) -> String) -> Vec<Line> {
        let mut lines = Vec::new();
        let answer = match &self.stage {
            Stage::Ready => {
                told(&mut lines, Tone::Plain, "This begins an authentication; nothing was sent so far.", width);
                let send = key("signin.send");
                told(&mut lines, Tone::Plain, &format!("{send} sends it. Nothing else does, Enter neither."), width);
                lines.push(Line::new());
                lines.push(Line::of(Tone::Dim, "What is sent"));
                told(&mut lines, Tone::Plain, "  POST /v2/auth/authenticate", width);
                let body = serde_json::to_string_pretty(&self.request).unwrap_or_default();
                for part in wrap(&body, width.saturating_sub(2)) {
                    lines.push(Line::of(Tone::Plain, &format!("  {part}")));
                }
                return lines;
            }
            Stage::Asking => return vec![Line::of(Tone::Dim, "Asking…")],
            Stage::Failed(error) => {
                told(&mut lines, Tone::Bad, &error.story(), width);
                lines.push(Line::new());
                told(&mut lines, Tone::Plain, "Esc leads back to what was asked.", width);
                return lines;
            }
            Stage::Answered(answer) => answer,
        };
        let (glyph, tone) = look(answer.status());
        lines.push(Line::of(tone, &format!("{glyph} ")).with(Tone::Strong, answer.word()));
        told(&mut lines, Tone::Plain, answer.status().meaning(), width);
        lines.push(Line::new());
        if let Some(link) = self.link() {
            field(&mut lines, "link", link, width, Tone::Accent);
        }
        for name in ["auth_id", "user_id"] {
            if let Some(value) = answer.row[name].as_str() {
                field(&mut lines, name, value, width, Tone::Plain);
            }
        }
        if !answer.row["metadata"].is_null() {
            field(&mut lines, "metadata", &answer.row["metadata"].to_string(), width, Tone::Plain);
        }
        if answer.has_token {
            field(&mut lines, "token", "came, and is not shown", width, Tone::Dim);
        }
        lines.push(Line::new());
        for step in self.next_steps(answer, &key) {
            told(&mut lines, Tone::Plain, &step, width);
        }
        if let Some(since) = self.waiting {
            let for_long = text::age(Duration::try_from(now - since).unwrap_or_default());
            lines.push(Line::new());
            lines.push(Line::of(Tone::Moving, "◐ ").with(Tone::Plain, &format!("waiting for {for_long}")));
        }
        if let Some(error) = &self.trouble {
            told(&mut lines, Tone::Bad, &error.story(), width);
        }
        lines
    }

    /// What can be done next, in words.
    fn next_steps(&self, answer: &AuthAnswer, key: impl Fn(&str) -> String) -> Vec<String> {
        let mut steps = Vec::new();
        let edit = "Esc leads back to what was asked";
        if self.link().is_some() {
            steps.push(format!(
                "{} opens the link in your browser, {} copies it.",
                key("signin.link"),
                key("app.copy")
            ));
        }
        match (answer.status(), self.auth_id(), self.waiting) {
            (AuthStatus::Completed, ..) => steps.push("Nothing is left to do. Esc goes back.".into()),
            (AuthStatus::Pending | AuthStatus::Timeout | AuthStatus::Unknown, Some(_), None) => {
                steps.push(format!("{} waits until somebody agreed.", key("signin.wait")));
            }
            (AuthStatus::Pending | AuthStatus::Timeout | AuthStatus::Unknown, Some(_), Some(_)) => {
                steps.push(format!("{} stops waiting; the link stays good.", key("signin.wait")));
            }
            (AuthStatus::ConnectionRequired, ..) => steps.push(format!(
                "Without `check_only` the server gives a link where there is one to give: {edit}. What an agent may use \
                 is in its connections (:connections AGENT)."
            )),
            (AuthStatus::TokenExpired, ..) => {
                steps.push(format!("`force_new = true` asks for a new one: {edit}."));
            }
            (AuthStatus::NotFound, ..) => steps.push(format!("Another link is given when it is asked again: {edit}.")),
            _ => steps.push(format!("{edit}.")),
        }
        steps
    }
}

fn look(status: AuthStatus) -> (&'static str, Tone) {
    match status {
        AuthStatus::Completed => ("●", Tone::Good),
        AuthStatus::Pending | AuthStatus::Timeout => ("◌", Tone::Moving),
        AuthStatus::ConnectionRequired | AuthStatus::TokenExpired | AuthStatus::NotFound => ("✗", Tone::Bad),
        AuthStatus::Unknown => ("?", Tone::Moving),
    }
}

fn told(lines: &mut Vec<Line>, tone: Tone, text: &str, width: usize) {
    lines.extend(wrap(text, width).iter().map(|part| Line::of(tone, part)));
}

/// A field, whole: a link that is cut is none.
fn field(lines: &mut Vec<Line>, name: &str, value: &str, width: usize, tone: Tone) {
    for (n, part) in wrap(value, width.saturating_sub(LABELS)).iter().enumerate() {
        let name = if n == 0 { name } else { "" };
        lines.push(Line::of(Tone::Dim, &format!("{name:<LABELS$}")).with(tone, part));
    }
}

impl App {
    /// Opens a document for an authentication with a provider; an empty slug leaves that to the person.
    pub fn begin_sign_in(&mut self, profile: Arc<str>, provider: &str) -> Vec<Effect> {
        if self.is_read_only(&profile) {
            let text = read_only_text(&profile);
            self.notify(true, text);
            return Vec::new();
        }
        let subject = Subject::Authenticate { profile, provider: provider.into() };
        self.edit(subject, &AuthAuthenticateRequest::example(provider));
        Vec::new()
    }

    /// Shows what was written down before it is sent.
    pub(super) fn show_sign_in(&mut self, profile: Arc<str>, request: AuthAuthenticateRequest) -> Vec<Effect> {
        let number = self.next_stream;
        self.next_stream += 1;
        self.overlays.push(Overlay::SignIn(Box::new(SignIn {
            number,
            profile,
            request,
            stage: Stage::Ready,
            waiting: None,
            trouble: None,
            place: Place::at_start(),
        })));
        Vec::new()
    }

    /// Sends what is shown, once.
    fn send_sign_in(&mut self) -> Vec<Effect> {
        let Some(Overlay::SignIn(sign_in)) = self.overlays.last().filter(|_| self.is_overlay_seen()) else {
            return Vec::new();
        };
        let profile = sign_in.profile.clone();
        // It may have become so since it was written.
        if self.is_read_only(&profile) {
            let text = read_only_text(&profile);
            self.notify(true, text);
            return Vec::new();
        }
        let Some(Overlay::SignIn(sign_in)) = self.overlays.last_mut() else { return Vec::new() };
        if !matches!(sign_in.stage, Stage::Ready) {
            return Vec::new();
        }
        sign_in.stage = Stage::Asking;
        vec![Effect::Authenticate(sign_in.number, profile, Box::new(sign_in.request.clone()))]
    }

    fn sign_in_of(&mut self, number: u64) -> Option<&mut SignIn> {
        self.overlays.iter_mut().find_map(|overlay| match overlay {
            Overlay::SignIn(sign_in) if sign_in.number == number => Some(&mut **sign_in),
            _ => None,
        })
    }

    /// The answer to an authentication.
    pub(super) fn take_authenticated(&mut self, number: u64, result: Result<AuthAnswer, ApiError>) {
        let Some(sign_in) = self.sign_in_of(number) else {
            // The person left meanwhile; it was sent all the same.
            return match result {
                Ok(answer) => {
                    let said =
                        format!("The authentication that was sent: {}, {}", answer.word(), answer.status().meaning());
                    self.notify(false, said);
                }
                Err(error) => self.notify(true, error.story()),
            };
        };
        match result {
            Ok(answer) => sign_in.stage = Stage::Answered(answer),
            Err(error) => {
                sign_in.stage = Stage::Failed(error.clone());
                self.heed(&error);
            }
        }
    }

    /// Something went wrong while it was waited for, and it is waited on.
    pub(super) fn take_wait_trouble(&mut self, number: u64, error: ApiError) {
        self.heed(&error);
        if let Some(sign_in) = self.sign_in_of(number) {
            sign_in.trouble = Some(error);
        }
    }

    /// A wait ended.
    pub(super) fn take_waited(&mut self, number: u64, result: Result<AuthWaited, ApiError>) {
        if let Err(error) = &result {
            self.heed(error);
        }
        let Some(sign_in) = self.sign_in_of(number) else { return };
        (sign_in.waiting, sign_in.trouble) = (None, None);
        let said = match result {
            Ok(AuthWaited::Ended(ended)) => {
                let said = format!("{}: {}", ended.word(), ended.status().meaning());
                if let Stage::Answered(answer) = &mut sign_in.stage {
                    answer.follow(ended);
                }
                said
            }
            Ok(AuthWaited::Deadline) => "Nobody agreed so far. The link may still be good; w waits on.".to_string(),
            Err(error) => {
                sign_in.trouble = Some(error);
                return;
            }
        };
        self.notify(false, said);
    }

    /// What the keys of this screen do.
    pub(super) fn act_sign_in(&mut self, action: Action) -> Vec<Effect> {
        let now = self.now;
        if action == Action::Send {
            return self.send_sign_in();
        }
        let Some(Overlay::SignIn(sign_in)) = self.overlays.last_mut() else { return Vec::new() };
        match action {
            Action::OpenLink | Action::Open => match sign_in.link() {
                Some(link) => return vec![Effect::OpenLink(link.to_string())],
                None if sign_in.answer().is_some() => self.notify(false, "There is no link to open."),
                None => {}
            },
            Action::Watch => match (sign_in.auth_id(), sign_in.waiting) {
                (Some(_), None) if sign_in.link().is_some() => sign_in.waiting = Some(now),
                (_, Some(_)) => sign_in.waiting = None,
                _ => self.notify(false, "There is nothing to wait for."),
            },
            _ => {}
        }
        Vec::new()
    }
}
