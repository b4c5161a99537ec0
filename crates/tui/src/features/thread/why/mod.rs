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
/// Columns of the page (screens reference §6).
const COLUMNS: u16 = 70;

/// The explain page, and when it last requested the thread's records.
#[derive(Debug, Clone)]
pub struct WhyPage(pub Timestamp);

impl Page for WhyPage {
    fn context(&self) -> Context {
        Context::Why
    }

    fn commands(&self, cx: &Cx<'_>) -> Commands {
        let can_do = cx.lookup.shown_thread().is_some_and(|view| {
            can_act(&view, cx.session) && !why(&view, cx.session).actions.is_empty()
        });
        // The card itself lists the keys of its actions.
        Commands::of(Context::Why)
            .enable_if(can_do, &["why.do"])
            .footer(&["why.do", "app.refresh", "app.back"])
    }

    fn title(&self, cx: &Cx<'_>) -> (&'static str, String) {
        let about = cx.lookup.shown_thread().map(|view| match view.thread_id {
            Some(thread) => format!(
                "{} › thread {}",
                cx.session.place(view.server),
                text::short_id(thread)
            ),
            None => cx.session.place(view.server),
        });
        let is_well = cx.lookup.shown_thread().is_some_and(|view| {
            matches!(
                view.status,
                ThreadStatus::Idle { .. } | ThreadStatus::Running { .. } | ThreadStatus::Loading
            )
        });
        (
            if is_well {
                "Explain"
            } else {
                "Why it isn't moving"
            },
            about.unwrap_or_default(),
        )
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        let view = cx.lookup.shown_thread();
        view.map(|view| lines(&view, cx.session, width.saturating_sub(GUTTER.into())))
            .unwrap_or_default()
    }

    fn columns(&self) -> Option<u16> {
        Some(COLUMNS)
    }

    /// Handles an action the same way the stream does.
    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let recommended = || {
            let why = why(&cx.lookup.shown_thread()?, cx.session);
            let (id, _) = why.actions.first()?;
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
            // The state is edited at its checkpoint, which History shows.
            return close
                .and(Request::Do(Context::Stream, Action::View0))
                .and(Request::Do(Context::Stream, action));
        }
        match cx
            .lookup
            .shown_thread()
            .and_then(|view| repair(&view, action))
        {
            Some((thread, intent)) => close.and(Route::on_thread(thread.server, intent)),
            None if matches!(action, Action::Release | Action::RestoreAssistant) => {
                Requests::none()
            }
            None => close.and(Request::Do(Context::Stream, action)),
        }
    }

    /// Reloads the evidence every few seconds.
    fn on_tick(&mut self, cx: &Cx<'_>) -> Requests {
        if cx.session.now.duration_since(self.0) < REFRESH || cx.lookup.shown_thread().is_none() {
            return Requests::none();
        }
        self.0 = cx.session.now;
        Request::RefreshThread.into()
    }

    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
}

fn can_act(view: &ThreadView<'_>, session: &Session) -> bool {
    !view.is_recording && !session.is_read_only(&view.server.profile)
}

/// Returns the lines of the card.
fn lines(view: &ThreadView<'_>, session: &Session, width: usize) -> Vec<Line> {
    let why = why(view, session);
    let mut lines = vec![headline(view, &why, session.now), Line::new()];
    lines.extend(wrapped(Tone::Plain, &why.story, width));
    let evidence = why.evidence.iter().flat_map(|(label, value)| {
        let value = text::head(value, MAX_VALUE);
        named(label, LABEL, (Tone::Plain, value), width)
    });
    let evidence: Vec<Line> = evidence.collect();
    let actions = action_lines(view, &why, session, width);
    let all = lines.len() + evidence.len() + actions.len() + 2;
    // What can be done is visible at once; evidence can be scrolled to.
    let has_room = all <= session.overlay_area().h.into();
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
fn action_lines(view: &ThreadView<'_>, why: &Why, session: &Session, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let can_act = can_act(view, session);
    if !can_act {
        let reason = if view.is_recording {
            "This is a recording."
        } else {
            "This profile is read-only."
        };
        lines.push(Line::dim(reason));
    }
    for (number, (id, label)) in why.actions.iter().filter(|_| can_act).enumerate() {
        lines.push(key_line(session, id, label));
        if number == 0 && !why.consequence.is_empty() {
            lines.extend(indented(Tone::Plain, 2, why.consequence, width));
        }
    }
    if !view.is_recording && view.offers.has_records {
        let details = "details: the server's state and record";
        lines.push(key_line(session, "stream.details", details));
    }
    lines
}

fn key_line(session: &Session, id: &str, label: &str) -> Line {
    let key = session.hint_key(id).unwrap_or_default();
    Line::accent(&key).with_plain(&format!(" {label}"))
}

/// Returns the repair that a key of the card asks for: one that only this card offers.
fn repair(view: &ThreadView<'_>, action: Action) -> Option<(ThreadRef, ThreadIntent)> {
    if view.is_recording {
        return None;
    }
    let thread = view.thread_id?.to_string();
    let target = ThreadRef {
        server: view.server.clone(),
        id: thread.clone(),
    };
    let intent = match action {
        Action::Release => ThreadIntent::Release { thread },
        Action::RestoreAssistant => ThreadIntent::RestoreAssistant { thread },
        // The key that cancels a run ends the thread where none is running.
        Action::CancelRun if can_end(view) => ThreadIntent::End { thread },
        _ => return None,
    };
    Some((target, intent))
}
