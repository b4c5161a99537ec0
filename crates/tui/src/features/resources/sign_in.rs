//! Authentication with a provider: the request, its status, the link and the wait. The API layer drops the token, so it never
//! reaches this page.

use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::session::msg::{
    Effect, EffectResult, Epoch, Subscription, SubscriptionEvent, SubscriptionId, SubscriptionKind,
};
use crate::session::subject::Subject;
use crate::session::{Cx, GUTTER, Page, Requests, Route, Session};
use crate::widgets::form_lines::indented;
use crate::widgets::line::{Line, Tone, named, wrapped};
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
    profile: Arc<str>,
    request: AuthAuthenticateRequest,
    /// Whether the request was sent.
    is_sent: bool,
    /// The response, updated by the wait.
    answer: Option<Result<AuthAnswer, ApiError>>,
    /// When waiting started, if it is waiting.
    waiting: Option<Timestamp>,
    /// The last error of the wait.
    trouble: Option<ApiError>,
}

impl SignIn {
    fn answer(&self) -> Option<&AuthAnswer> {
        self.answer.as_ref()?.as_ref().ok()
    }

    /// Returns the link, until the authentication is completed.
    fn link(&self) -> Option<&str> {
        self.answer()
            .filter(|answer| answer.status() != AuthStatus::Completed)?
            .url()
    }

    /// Returns the id of the pending authentication.
    fn auth_id(&self) -> Option<&str> {
        self.answer()?.auth_id()
    }

    /// Returns the lines of the response.
    fn answer_lines(&self, session: &Session, answer: &AuthAnswer, width: usize) -> Vec<Line> {
        let plain = |said: &str| wrapped(Tone::Plain, said, width);
        let (glyph, tone) = glyph_of(answer.status());
        let mut lines = vec![Line::of(tone, &format!("{glyph} ")).with_strong(answer.word())];
        lines.extend(plain(answer.status().meaning()));
        lines.push(Line::new());
        let row = |name: &'static str| Some((name, Tone::Plain, answer.row[name].as_str()?.into()));
        let metadata = &answer.row["metadata"];
        let has_metadata = !metadata.is_null();
        let received = || ("token", Tone::Dim, "received (not shown)".to_string());
        let fields = [
            self.link().map(|link| ("link", Tone::Accent, link.into())),
            row("auth_id"),
            row("user_id"),
            has_metadata.then(|| ("metadata", Tone::Plain, metadata.to_string())),
            answer.has_token.then(received),
        ];
        // No field is cut, because a cut link would not work.
        for (name, tone, value) in fields.into_iter().flatten() {
            lines.extend(named(name, LABELS, (tone, &value), width));
        }
        lines.push(Line::new());
        for step in self.next_steps(answer, |id| session.key(id)) {
            lines.extend(plain(&step));
        }
        if let Some(since) = self.waiting {
            let waited = text::age_since(since, session.now);
            lines.push(Line::new());
            lines.push(Line::moving("◐ ").with_plain(&format!("waiting for {waited}")));
        }
        let trouble = self.trouble.as_ref();
        lines.extend(trouble.map_or(Vec::new(), |error| {
            wrapped(Tone::Bad, &error.story(), width)
        }));
        lines
    }

    /// Returns the possible next steps.
    fn next_steps(&self, answer: &AuthAnswer, key: impl Fn(&str) -> String) -> Vec<String> {
        let mut steps = Vec::new();

        if self.link().is_some() {
            steps.push(format!(
                "{} opens the link, {} copies it.",
                key("signin.link"),
                key("app.copy")
            ));
        }
        match (answer.status(), self.auth_id(), self.waiting) {
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
                "Without `check_only` the server returns any needed link: {BACK}."
            )),
            (AuthStatus::TokenExpired, ..) => {
                steps.push(format!("`force_new = true` requests a new one: {BACK}."));
            }
            (AuthStatus::NotFound, ..) => steps.push(format!("Resend for a new link: {BACK}.")),
            _ => steps.push(format!("{BACK}.")),
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
            is_sent: false,
            answer: None,
            waiting: None,
            trouble: None,
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
        if std::mem::replace(&mut self.is_sent, true) {
            return Requests::none();
        }
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
                if let Some(Ok(answer)) = &mut self.answer {
                    answer.follow(ended);
                }
                text
            }
            Ok(AuthWaited::Deadline) => "Not authorized yet; w keeps waiting.".to_string(),
            Err(error) => {
                self.trouble = Some(error);
                return Requests::none();
            }
        };
        Requests::info(text)
    }
}

const BACK: &str = "Esc goes back to the request";

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

impl Page for SignIn {
    fn on_reply(&mut self, session: &mut Session, reply: &EffectResult) -> Option<Requests> {
        let EffectResult::Authenticated(number, result) = reply else {
            return None;
        };
        if *number != self.number {
            return None;
        }
        if let Err(error) = result {
            session.report_error(error);
        }
        self.answer = Some(result.clone());
        Some(Requests::none())
    }

    fn on_event(
        &mut self,
        session: &mut Session,
        _from: SubscriptionId,
        event: SubscriptionEvent,
    ) -> Requests {
        if let SubscriptionEvent::WaitTrouble(error) | SubscriptionEvent::Waited(Err(error)) =
            &event
        {
            session.report_error(error);
        }
        match event {
            SubscriptionEvent::WaitTrouble(error) => self.trouble = Some(error),
            SubscriptionEvent::Waited(result) => return self.on_waited(result),
            _ => {}
        }
        Requests::none()
    }

    fn context(&self) -> Context {
        if self.is_sent {
            Context::SignIn
        } else {
            Context::Request
        }
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        let provider = self.request.fields["provider"].as_str();
        let about = format!("with {} in {}", provider.unwrap_or_default(), self.profile);
        ("Authentication", about)
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let width = width.saturating_sub(GUTTER.into());
        match &self.answer {
            Some(Ok(answer)) => self.answer_lines(cx.session, answer, width),
            Some(Err(error)) => {
                let mut lines = wrapped(Tone::Bad, &error.story(), width);
                lines.push(Line::new());
                lines.extend(wrapped(Tone::Plain, &format!("{BACK}."), width));
                lines
            }
            None if self.is_sent => vec![Line::dim("Sent, waiting…")],
            None => {
                let said = "Starts the authentication; not sent yet.";
                let mut lines = wrapped(Tone::Plain, said, width);
                lines.extend([Line::new(), Line::dim("Request")]);
                let body = serde_json::to_string_pretty(&self.request).unwrap_or_default();
                let request = format!("POST /v2/auth/authenticate\n{body}");
                lines.extend(indented(Tone::Plain, 2, &request, width));
                lines
            }
        }
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(self.context()).footer(&[
            "signin.send",
            "signin.link",
            "app.copy",
            "signin.wait",
            "app.back",
        ])
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

    fn copied(&self) -> Option<String> {
        self.link().or(self.auth_id()).map(str::to_string)
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
}
