//! Authentication with a provider: the request, its status, the link and the wait. The API layer drops the token, so it never
//! reaches this page.

use super::view;
use crate::input::action::{Action, Context};
use crate::session::msg::{
    Effect, EffectResult, Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::subject::Subject;
use crate::session::{Component, Cx, GUTTER, Requests, Route, Session};
use crate::widgets::canvas::Canvas;
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::scroll::{Flat, Place};
use jiff::Timestamp;
use runtail_api::{ApiError, AuthWaited};
use runtail_core::model::{AuthAnswer, AuthAuthenticateRequest, AuthStatus};
use runtail_core::text;
use std::sync::Arc;
use std::time::Duration;

/// Columns of the field names.
const LABELS: usize = 11;

/// The page of an authentication.
#[derive(Debug, Clone)]
pub struct SignIn {
    /// Its number in this session, which also identifies its wait.
    pub number: u64,
    /// The profile that sends it.
    pub profile: Arc<str>,
    pub request: AuthAuthenticateRequest,
    /// Its status.
    pub stage: Stage,
    /// When waiting started, if it is waiting.
    pub waiting: Option<Timestamp>,
    /// The last error of the wait.
    pub trouble: Option<ApiError>,
    /// The scroll position.
    pub place: Place,
}

/// The status of an authentication.
#[derive(Debug, Clone)]
pub enum Stage {
    /// The request can be sent. Nothing was sent yet.
    Ready,
    /// The request was sent; waiting for the response.
    Sending,
    /// The response, updated by the wait.
    Answered(AuthAnswer),
    Failed(ApiError),
}

impl SignIn {
    fn answer(&self) -> Option<&AuthAnswer> {
        match &self.stage {
            Stage::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Returns the link, until the authentication is completed.
    pub fn link(&self) -> Option<&str> {
        self.answer()
            .filter(|answer| answer.status() != AuthStatus::Completed)?
            .url()
    }

    /// Returns the id of the pending authentication.
    pub fn auth_id(&self) -> Option<&str> {
        self.answer()?.auth_id()
    }

    /// Returns the lines of the page. `key`: returns the key of an action.
    pub fn lines(&self, width: usize, now: Timestamp, key: impl Fn(&str) -> String) -> Vec<Line> {
        let mut lines = Vec::new();
        let answer = match &self.stage {
            Stage::Ready => {
                push_wrapped(
                    &mut lines,
                    Tone::Plain,
                    "Starts the authentication. Nothing has been sent.",
                    width,
                );
                lines.push(Line::new());
                lines.push(Line::dim("Request"));
                push_wrapped(
                    &mut lines,
                    Tone::Plain,
                    "  POST /v2/auth/authenticate",
                    width,
                );
                let body = serde_json::to_string_pretty(&self.request).unwrap_or_default();
                for part in wrap(&body, width.saturating_sub(2)) {
                    lines.push(Line::plain(&format!("  {part}")));
                }
                return lines;
            }
            Stage::Sending => return vec![Line::dim("Sent, waiting for the response…")],
            Stage::Failed(error) => {
                push_wrapped(&mut lines, Tone::Bad, &error.story(), width);
                lines.push(Line::new());
                push_wrapped(
                    &mut lines,
                    Tone::Plain,
                    "Esc goes back to the request.",
                    width,
                );
                return lines;
            }
            Stage::Answered(answer) => answer,
        };
        let (glyph, tone) = glyph_of(answer.status());
        lines.push(Line::of(tone, &format!("{glyph} ")).with_strong(answer.word()));
        push_wrapped(&mut lines, Tone::Plain, answer.status().meaning(), width);
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
            field(
                &mut lines,
                "metadata",
                &answer.row["metadata"].to_string(),
                width,
                Tone::Plain,
            );
        }
        if answer.has_token {
            field(
                &mut lines,
                "token",
                "received (not shown)",
                width,
                Tone::Dim,
            );
        }
        lines.push(Line::new());
        for step in self.next_steps(answer, &key) {
            push_wrapped(&mut lines, Tone::Plain, &step, width);
        }
        if let Some(since) = self.waiting {
            let waited = text::age_since(since, now);
            lines.push(Line::new());
            lines.push(Line::moving("◐ ").with_plain(&format!("waiting for {waited}")));
        }
        if let Some(error) = &self.trouble {
            push_wrapped(&mut lines, Tone::Bad, &error.story(), width);
        }
        lines
    }

    /// Returns the possible next steps.
    fn next_steps(&self, answer: &AuthAnswer, key: impl Fn(&str) -> String) -> Vec<String> {
        let mut steps = Vec::new();
        let edit = "Esc goes back to the request";
        if self.link().is_some() {
            steps.push(format!(
                "{} opens the link in your browser, {} copies it.",
                key("signin.link"),
                key("app.copy")
            ));
        }
        match (answer.status(), self.auth_id(), self.waiting) {
            (AuthStatus::Completed, ..) => steps.push("Done. Esc goes back.".into()),
            (AuthStatus::Pending | AuthStatus::Timeout | AuthStatus::Unknown, Some(_), None) => {
                steps.push(format!("{} waits for authorization.", key("signin.wait")));
            }
            (AuthStatus::Pending | AuthStatus::Timeout | AuthStatus::Unknown, Some(_), Some(_)) => {
                steps.push(format!(
                    "{} stops waiting; the link stays valid.",
                    key("signin.wait")
                ));
            }
            (AuthStatus::ConnectionRequired, ..) => steps.push(format!(
                "Without `check_only` the server returns a link, if needed: {edit}."
            )),
            (AuthStatus::TokenExpired, ..) => {
                steps.push(format!("`force_new = true` requests a new one: {edit}."));
            }
            (AuthStatus::NotFound, ..) => {
                steps.push(format!("Send it again for a new link: {edit}."))
            }
            _ => steps.push(format!("{edit}.")),
        }
        steps
    }
}

fn glyph_of(status: AuthStatus) -> (&'static str, Tone) {
    match status {
        AuthStatus::Completed => ("●", Tone::Good),
        AuthStatus::Pending | AuthStatus::Timeout => ("◌", Tone::Moving),
        AuthStatus::ConnectionRequired | AuthStatus::TokenExpired | AuthStatus::NotFound => {
            ("✗", Tone::Bad)
        }
        AuthStatus::Unknown => ("?", Tone::Moving),
    }
}

fn push_wrapped(lines: &mut Vec<Line>, tone: Tone, text: &str, width: usize) {
    lines.extend(wrap(text, width).iter().map(|part| Line::of(tone, part)));
}

/// Adds a field without cutting it, because a cut link would not work.
fn field(lines: &mut Vec<Line>, name: &str, value: &str, width: usize, tone: Tone) {
    for (n, part) in wrap(value, width.saturating_sub(LABELS)).iter().enumerate() {
        let name = if n == 0 { name } else { "" };
        lines.push(Line::dim(&format!("{name:<LABELS$}")).with(tone, part));
    }
}

/// Opens the editor for an authentication with a provider. With an empty slug the user enters the provider.
pub fn begin(session: &Session, profile: Arc<str>, provider: &str) -> Requests {
    if session.is_read_only(&profile) {
        return Requests::error(session.read_only_text(&profile));
    }
    let subject = Subject::Authenticate {
        profile,
        provider: provider.into(),
    };
    Route::Edit(subject, AuthAuthenticateRequest::example(provider)).into()
}

impl SignIn {
    /// Creates the page of a request that was not sent yet.
    pub fn new(session: &Session, profile: Arc<str>, request: AuthAuthenticateRequest) -> SignIn {
        SignIn {
            number: session.next_stream.take(),
            profile,
            request,
            stage: Stage::Ready,
            waiting: None,
            trouble: None,
            place: Place::at_start(),
        }
    }

    /// Sends the shown request once.
    fn send(&mut self, cx: &Cx<'_>) -> Requests {
        if !cx.is_seen {
            return Requests::none();
        }
        // The profile can become read-only after the page opened.
        if cx.session.is_read_only(&self.profile) {
            return Requests::error(cx.session.read_only_text(&self.profile));
        }
        if !matches!(self.stage, Stage::Ready) {
            return Requests::none();
        }
        self.stage = Stage::Sending;
        Effect::Authenticate(
            self.number,
            self.profile.clone(),
            Box::new(self.request.clone()),
        )
        .into()
    }

    /// Applies the end of the wait.
    fn on_waited(&mut self, result: Result<AuthWaited, ApiError>) -> Requests {
        (self.waiting, self.trouble) = (None, None);
        let text = match result {
            Ok(AuthWaited::Ended(ended)) => {
                let text = format!("{}: {}", ended.word(), ended.status().meaning());
                if let Stage::Answered(answer) = &mut self.stage {
                    answer.follow(ended);
                }
                text
            }
            Ok(AuthWaited::Deadline) => {
                "Not authorized yet. The link may still be valid; press w to keep waiting."
                    .to_string()
            }
            Err(error) => {
                self.trouble = Some(error);
                return Requests::none();
            }
        };
        Requests::info(text)
    }

    /// Returns the lines of the page for its area.
    pub(super) fn shown(&self, cx: &Cx<'_>) -> Vec<Line> {
        self.lines(
            cx.area.w.saturating_sub(GUTTER) as usize,
            cx.session.now,
            |id| cx.session.key(id),
        )
    }

    fn rows(&self, cx: &Cx<'_>) -> Flat {
        Flat {
            first: 0,
            end: self.shown(cx).len() as u64,
        }
    }
}

/// Reports the response to an authentication whose page was closed.
pub fn on_answer_unseen(result: Result<AuthAnswer, ApiError>) -> Requests {
    match result {
        Ok(answer) => Requests::info(format!(
            "Authentication: {}, {}",
            answer.word(),
            answer.status().meaning()
        )),
        Err(error) => Requests::error(error.story()),
    }
}

impl Component for SignIn {
    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        match reply {
            EffectResult::Authenticated(number, Ok(answer)) if *number == self.number => {
                self.stage = Stage::Answered(answer.clone());
            }
            EffectResult::Authenticated(number, Err(error)) if *number == self.number => {
                self.stage = Stage::Failed(error.clone());
                session.report_error(error);
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn on_event(
        &mut self,
        session: &mut Session,
        from: &SubscriptionId,
        event: &SubscriptionEvent,
    ) -> Requests {
        if *from != SubscriptionId::Wait(self.number) {
            return Requests::none();
        }
        if let SubscriptionEvent::WaitTrouble(error) | SubscriptionEvent::Waited(Err(error)) = event
        {
            session.report_error(error);
        }
        match event {
            SubscriptionEvent::WaitTrouble(error) => self.trouble = Some(error.clone()),
            SubscriptionEvent::Waited(result) => return self.on_waited(result.clone()),
            _ => {}
        }
        Requests::none()
    }

    fn context(&self) -> Context {
        if matches!(self.stage, Stage::Ready) {
            Context::Request
        } else {
            Context::SignIn
        }
    }

    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        match action {
            Action::Send => return self.send(cx),
            Action::OpenLink | Action::Open => match self.link() {
                Some(link) => return Effect::OpenLink(link.to_string()).into(),
                None if self.answer().is_some() => return Requests::info("No link to open."),
                None => {}
            },
            Action::Watch => match (self.auth_id(), self.waiting) {
                (Some(_), None) if self.link().is_some() => self.waiting = Some(cx.session.now),
                (_, Some(_)) => self.waiting = None,
                _ => return Requests::info("Nothing to wait for."),
            },
            _ => {}
        }
        Requests::none()
    }

    fn step(&mut self, cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        let rows = self.rows(cx);
        self.place.page(&rows, cx.area.h.into(), lines);
    }

    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        let rows = self.rows(cx);
        match start {
            true => self.place.to_start(&rows, cx.area.h.into()),
            false => self.place.to_end(&rows, cx.area.h.into(), false),
        }
    }

    fn copied(&mut self) -> Option<String> {
        self.link().or(self.auth_id()).map(str::to_string)
    }

    fn relayout(&mut self, cx: &Cx<'_>) {
        let rows = self.rows(cx);
        self.place.clamp(&rows, cx.area.h.into());
    }

    fn subscriptions(&self, cx: &Cx<'_>, out: &mut Vec<Subscription>) {
        if let (Some(_), Some(auth_id)) = (self.waiting, self.auth_id())
            && cx.session.may_poll(&self.profile)
        {
            let what = SubscriptionKind::Wait(self.profile.clone(), auth_id.to_string());
            out.push(Subscription::new(
                SubscriptionId::Wait(self.number),
                Epoch::default(),
                what,
            ));
        }
    }

    fn profile(&self) -> Option<&str> {
        Some(&self.profile)
    }

    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        self.waiting.map(|_| Duration::from_secs(1))
    }

    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
        view::sign_in(self, cx, canvas);
        None
    }
}
