//! The card that explains a thread's status: the status, one sentence, the evidence, and the possible actions.

mod cause;
mod evidence;

use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::keymap::binding;
use crate::session::msg::ThreadRef;
use crate::session::thread::ThreadView;
use crate::session::{Cx, GUTTER, Page, Request, Requests, Route, Session};
use crate::widgets::form_lines::indented;
use crate::widgets::line::{Line, Tone, named, wrapped};
use crate::widgets::status::since;
pub(crate) use cause::can_end;
use cause::{Why, why};
use jiff::Timestamp;
use runtail_api::ThreadIntent;
use runtail_core::model::ThreadStatus;
use runtail_core::text;
use std::time::Duration;

/// Columns of the evidence labels.
const LABEL: usize = 9;
/// The interval for reloading the evidence.
const REFRESH: jiff::SignedDuration = jiff::SignedDuration::from_secs(5);
/// Maximum bytes of a value in the evidence.
const MAX_VALUE: usize = 64 << 10;
/// What an action of the card is called there, if not as everywhere.
const OWN_LABELS: [&str; 2] = ["continue", "ask again"];
/// The title while the thread needs something.
const UNWELL: &str = "Why it isn't moving";
/// Columns of the page (screens reference §6).
const COLUMNS: u16 = 70;

/// The explain page.
#[derive(Debug, Clone)]
pub struct WhyPage {
    /// When it last requested the thread's records.
    asked_at: Timestamp,
    /// The explanation of the shown thread, if one is shown.
    shown: Option<Explanation>,
}

/// The explanation of a thread.
#[derive(Debug, Clone)]
struct Explanation {
    title: &'static str,
    /// The server and the thread.
    place: String,
    headline: Line,
    why: Why,
    /// Why nothing can be done; empty if something can.
    sealed: &'static str,
    has_details: bool,
    /// The thread, if it can be repaired.
    thread: Option<ThreadRef>,
    can_end: bool,
}

impl Page for WhyPage {
    fn context(&self) -> Context {
        Context::Why
    }

    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        // The card itself lists the keys of its actions.
        let first = self
            .shown
            .as_ref()
            .and_then(|shown| shown.why.actions.first());
        let own = |text: &String| OWN_LABELS.into_iter().find(|label| text.starts_with(label));
        let label = first.and_then(|(id, text)| own(text).or(Some(binding(id)?.label)));
        Commands::of(Context::Why)
            .enable_if(self.has_action(), &["why.do"])
            .footer(&[])
            .show([("why.do", label), ("app.refresh", None), ("app.back", None)])
    }

    fn is_sheet(&self) -> bool {
        true
    }

    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        match &self.shown {
            Some(shown) => (shown.title, shown.place.clone()),
            None => (UNWELL, String::new()),
        }
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let shown = self.shown.as_ref();
        shown
            .map(|shown| lines(shown, cx, width.saturating_sub(GUTTER.into())))
            .unwrap_or_default()
    }

    fn columns(&self) -> Option<u16> {
        Some(COLUMNS)
    }

    /// Handles an action the same way the stream does.
    fn action(&mut self, _cx: &Cx<'_>, action: Action) -> Requests {
        let Some(shown) = &self.shown else {
            return Requests::none();
        };
        let recommended = || {
            let (id, _) = shown.why.actions.first()?;
            binding(id).map(|binding| binding.action)
        };
        let action = match action {
            Action::Open => recommended(),
            action => Some(action),
        };
        let Some(action) = action else {
            return Requests::none();
        };
        let close = Requests::from(Request::Close);
        if action == Action::Update {
            // The state is edited at its checkpoint, which Steps shows.
            return close
                .and(Request::Do(Context::Stream, Action::View2))
                .and(Request::Do(Context::Stream, action));
        }
        match repair(shown, action) {
            Some(route) => close.and(route),
            None if matches!(action, Action::Release | Action::RestoreAssistant) => {
                Requests::none()
            }
            None => close.and(Request::Do(Context::Stream, action)),
        }
    }

    /// Reloads the evidence every few seconds.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        if cx.session.now.duration_since(self.asked_at) < REFRESH || self.shown.is_none() {
            return Requests::none();
        }
        self.asked_at = cx.session.now;
        Request::RefreshThread.into()
    }

    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

impl WhyPage {
    /// Creates the page of a thread whose records were just requested.
    pub fn new(now: Timestamp) -> WhyPage {
        WhyPage {
            asked_at: now,
            shown: None,
        }
    }

    /// Explains the shown thread.
    pub fn explain(&mut self, view: Option<&ThreadView<'_>>, session: &Session) {
        self.shown = view.map(|view| Explanation::new(view, session));
    }

    /// Returns whether the first listed action can be done.
    pub fn has_action(&self) -> bool {
        let shown = self.shown.as_ref();
        shown.is_some_and(|shown| shown.sealed.is_empty() && !shown.why.actions.is_empty())
    }
}

impl Explanation {
    fn new(view: &ThreadView<'_>, session: &Session) -> Explanation {
        let why = why(view, session);
        let is_well = matches!(
            view.status,
            ThreadStatus::Idle { .. } | ThreadStatus::Running { .. } | ThreadStatus::Loading
        );
        let thread = view
            .thread_id
            .map(|thread| format!(" › thread {}", text::short_id(thread)));
        Explanation {
            title: if is_well { "Explain" } else { UNWELL },
            place: session.place(view.server) + &thread.unwrap_or_default(),
            headline: headline(view, &why, session.now),
            sealed: match view.is_recording {
                true => "This is a recording.",
                false if session.is_read_only(&view.server.profile) => "Read-only profile.",
                false => "",
            },
            has_details: !view.is_recording && view.offers.has_records,
            thread: view
                .thread_id
                .filter(|_| !view.is_recording)
                .map(|id| ThreadRef {
                    server: view.server.clone(),
                    id: id.to_string(),
                }),
            can_end: can_end(view),
            why,
        }
    }
}

/// Returns the lines of the card.
fn lines(shown: &Explanation, cx: &Cx<'_>, width: usize) -> Vec<Line> {
    let mut lines = vec![shown.headline.clone(), Line::new()];
    lines.extend(wrapped(Tone::Plain, &shown.why.story, width));
    let evidence = shown.why.evidence.iter().flat_map(|(label, value)| {
        let value = text::head(value, MAX_VALUE);
        named(label, LABEL, (Tone::Plain, value), width)
    });
    let evidence: Vec<Line> = evidence.collect();
    let actions = action_lines(shown, cx.session, width);
    let all = lines.len() + evidence.len() + actions.len() + 2;
    // What can be done is visible at once; evidence can be scrolled to.
    let has_room = all <= cx.area.h.into();
    let parts = if has_room {
        [evidence, actions]
    } else {
        [actions, evidence]
    };
    for part in parts {
        lines.push(Line::new());
        lines.extend(part);
    }
    lines
}

/// Returns the first line: the status.
fn headline(view: &ThreadView<'_>, why: &Why, now: Timestamp) -> Line {
    if let (Some(text), ThreadStatus::Failed { at, .. }) = (&why.headline, view.status) {
        let ago = at
            .map(|at| format!(", {} ago", since(now, at)))
            .unwrap_or_default();
        return Line::bad("✗ ").with_strong(&format!("{text}{ago}"));
    }
    let mut badge = view.badge.clone();
    let plain = badge
        .left
        .iter_mut()
        .filter(|piece| piece.tone == Tone::Plain);
    plain.for_each(|piece| piece.tone = Tone::Strong);
    badge
}

/// Returns the keys that help, the recommended one first, with what that one repeats or loses.
fn action_lines(shown: &Explanation, session: &Session, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let can_act = shown.sealed.is_empty();
    if !can_act {
        lines.push(Line::dim(shown.sealed));
    }
    let why = &shown.why;
    for (number, (id, label)) in why.actions.iter().filter(|_| can_act).enumerate() {
        lines.push(key_line(session, id, label));
        if number == 0 && !why.consequence.is_empty() {
            lines.extend(indented(Tone::Plain, 2, why.consequence, width));
        }
    }
    if shown.has_details {
        let details = "details: state and record";
        lines.push(key_line(session, "stream.details", details));
    }
    lines
}

fn key_line(session: &Session, id: &str, label: &str) -> Line {
    let key = session.hint_key(id).unwrap_or_default();
    Line::accent(&key).with_plain(&format!(" {label}"))
}

/// Returns the repair that a key of the card asks for: one that only this card offers.
fn repair(shown: &Explanation, action: Action) -> Option<Route> {
    let ThreadRef { server, id: thread } = shown.thread.clone()?;
    let intent = match action {
        Action::Release => ThreadIntent::Release { thread },
        Action::RestoreAssistant => ThreadIntent::RestoreAssistant { thread },
        // The key that cancels a run ends the thread where none is running.
        Action::CancelRun if shown.can_end => ThreadIntent::End { thread },
        _ => return None,
    };
    Some(Route::on_thread(server, intent))
}
