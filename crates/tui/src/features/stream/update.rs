//! Actions of the stream viewer.

mod component;

use super::StreamState;
use super::export::propose_export;
use super::find::{Landmark, Typing};
use super::modes_dialog::is_thread;
use super::tabs::MAX_TABS;
use super::viewer::{ConnectionState, Viewer};
use super::views::{VIEWS, View};
use crate::input::action::{Action, Context};
use crate::input::keymap::{BINDINGS, Binding, works_only};
use crate::session::msg::{
    Described, Effect, ServerRef, StreamTarget, Subscription, SubscriptionId, ThreadRef,
};
use crate::session::request::Pref;
use crate::session::run::{Origin, Warning, act_on_thread};
use crate::session::thread::AnswerFrom;
use crate::session::{Cx, Request, Requests, Route, Session};
use runtail_core::config::{Timestamps, studio_page};
use runtail_core::model::{Question, ThreadStatus};
use runtail_stream::{Seq, Target};
use std::collections::BTreeSet;

impl StreamState {
    /// Creates a viewer with the view that is currently shown.
    pub fn new_viewer(&self, session: &Session, server: ServerRef, target: StreamTarget) -> Viewer {
        let id = session.next_stream.take();
        let mut viewer = Viewer::new(
            id,
            server,
            target,
            &session.settings.event_log,
            session.now,
            session.settings.tz.clone(),
        );
        if let Some(shown) = self.tabs.shown() {
            viewer.show(shown.view());
        }
        if let Some(modes) = self.last_modes.of(&viewer.target) {
            viewer.modes.wanted.clone_from(modes);
        }
        viewer
    }

    /// Shows a stream in its existing tab or in a new one.
    ///
    /// # Errors
    /// Fails if too many streams are open.
    pub fn show(
        &mut self,
        session: &Session,
        server: ServerRef,
        target: StreamTarget,
    ) -> Result<(), String> {
        match self.tabs.find(&server, &target) {
            Some(at) => self.tabs.show_again(at),
            None if self.tabs.make_room() => {
                let is_preview = matches!(
                    target,
                    StreamTarget::Tail { .. } | StreamTarget::Join { .. }
                );
                let mut viewer = self.new_viewer(session, server, target);
                viewer.is_preview = is_preview;
                self.tabs.add(viewer);
            }
            None => {
                return Err(format!("{MAX_TABS} streams are open. Close one."));
            }
        }
        Ok(())
    }

    /// Shows the page of a thread: its tab, the tab of an ended stream of the thread, or a new tab.
    ///
    /// # Errors
    /// Fails if too many streams are open.
    pub fn show_thread(&mut self, session: &Session, thread: &ThreadRef) -> Result<(), String> {
        let target = StreamTarget::Tail {
            thread: thread.id.clone(),
        };
        let is_ended =
            |viewer: &Viewer| viewer.is_of(thread) && !viewer.is_open() && viewer.target != target;
        let has_page = self.tabs.find(&thread.server, &target).is_some();
        match self
            .tabs
            .all()
            .iter()
            .position(is_ended)
            .filter(|_| !has_page)
        {
            Some(at) => {
                let page = self.new_viewer(session, thread.server.clone(), target);
                self.tabs.replace_at(at, page);
                Ok(())
            }
            None => self.show(session, thread.server.clone(), target),
        }
    }

    /// Returns the pages of a thread.
    pub fn pages_of(&mut self, thread: &ThreadRef) -> impl Iterator<Item = &mut Viewer> {
        self.tabs
            .all_mut()
            .iter_mut()
            .filter(|viewer| viewer.is_of(thread))
    }

    /// Reloads the shown stream from its start.
    pub fn reopen(&mut self, session: &Session) -> Requests {
        let Some(viewer) = self.tabs.shown() else {
            return Requests::none();
        };
        let target = match reopened(viewer) {
            Ok(target) => target,
            Err(why) => return Requests::error(why),
        };
        let reopened = self.reread(session, viewer, target);
        self.tabs.replace(reopened);
        Requests::none()
    }

    /// Returns a viewer that reads a stream again, with the view and the search of this one.
    fn reread(&self, session: &Session, viewer: &Viewer, target: StreamTarget) -> Viewer {
        let texts = [
            viewer.finding().pattern.text(),
            viewer.finding().filter.text(),
        ]
        .map(str::to_string);
        let mut again = self.new_viewer(session, viewer.server.clone(), target);
        again.show(viewer.view());
        again.search(&texts[0]);
        again.filter(&texts[1]);
        again.show_only_run(viewer.only_run().cloned());
        again
    }

    /// Keeps the memory of all streams below its limit. Hidden pages give way first: cached states for time travel, then the oldest
    /// events of the largest page, then that page as a whole, which is read again once it is shown. Returns the names of those.
    pub fn limit_memory(&mut self, session: &Session) -> Vec<String> {
        let limit = usize::try_from(session.settings.event_log.total).unwrap_or(usize::MAX);
        let mut parked = Vec::new();
        for is_shown in [false, true] {
            if self.tabs.excess(limit).is_none() {
                return parked;
            }
            let pages = self.tabs.by_size(is_shown);
            pages
                .iter()
                .for_each(|at| self.tabs.all_mut()[*at].drop_saved_states());
            for at in pages {
                let Some(excess) = self.tabs.excess(limit) else {
                    return parked;
                };
                self.tabs.all_mut()[at].live_log_mut().shrink_by(excess);
                let viewer = &self.tabs.all()[at];
                let may_park =
                    !is_shown && !viewer.is_parked && self.recorded_bytes(viewer.id).is_none();
                if may_park
                    && self.tabs.excess(limit).is_some()
                    && let Ok(target) = reopened(viewer)
                {
                    parked.push(super::tab_bar::name(viewer));
                    let mut again = self.reread(session, viewer, target);
                    again.is_parked = true;
                    self.tabs.put(at, again);
                }
            }
        }
        parked
    }

    /// Changes the modes of a stream, and the default for the next stream of its kind.
    pub fn set_modes(&mut self, session: &Session, stream: u64, wanted: Vec<String>) -> Requests {
        let Some(viewer) = self.tabs.get_mut(stream) else {
            return Requests::none();
        };
        let (is_open, is_same) = (viewer.is_open(), viewer.modes.wanted == wanted);
        match is_thread(&viewer.target) {
            true => self.last_modes.thread = Some(wanted.clone()),
            false => self.last_modes.run = Some(wanted.clone()),
        }
        viewer.modes.wanted = wanted;
        match (is_open, is_same) {
            (_, true) => Requests::info("No change."),
            (true, false) => Requests::info("Reconnecting with these modes."),
            (false, false) => self.reopen(session),
        }
    }

    /// Fills in the parameters that change while the streams are read.
    pub fn fill(&self, cx: &Cx<'_>, subscriptions: &mut [Subscription]) {
        for sub in subscriptions {
            let id = match &sub.key {
                SubscriptionId::Stream(id) => id,
                SubscriptionId::History(_) | SubscriptionId::Graph(_) => {
                    sub.params.pace = cx.session.pace(false);
                    continue;
                }
                _ => continue,
            };
            sub.params.pace = cx.session.pace(false);
            let Some(viewer) = self.tabs.get(*id) else {
                continue;
            };
            sub.params.hold = self.is_behind(viewer);
            sub.params.is_shared = viewer.is_shared;
            sub.params.own_runs = viewer.own_runs.clone();
            sub.params.refreshes = viewer.refreshes;
            sub.params.modes = viewer.modes.wanted.clone();
        }
    }

    /// Moves to landmarks and in time. Returns `None` for other actions.
    fn navigate(&mut self, session: &Session, action: Action) -> Option<Requests> {
        let viewer = self.tabs.shown_mut()?;
        if matches!(action, Action::SlideOn | Action::SlideBack) && viewer.only_run().is_some() {
            let forward = action == Action::SlideOn;
            let is_found = viewer.show_other_run(forward);
            let edge = if forward { "newest" } else { "oldest" };
            let none = || Requests::info(format!("This is the {edge} run."));
            return Some(if is_found { Requests::none() } else { none() });
        }
        let is_in_time = matches!(
            action,
            Action::Play | Action::Earlier | Action::Later | Action::SlideBack | Action::SlideOn
        );
        if is_in_time && viewer.has_only_snapshots() {
            return Some(Requests::info(
                "No events to go back to. 2 shows the steps.",
            ));
        }
        if is_in_time || action == Action::Replay {
            // Time travel moves among the events of the stream.
            viewer.leave_checkpoint();
        }
        match action {
            Action::NextMatch | Action::PrevMatch => {
                let forward = action == Action::NextMatch;
                if !viewer.next_hit(forward) {
                    return Some(go_to_next(viewer, Landmark::Problem, forward));
                }
            }
            Action::NextMessage => return Some(go_to_next(viewer, Landmark::Message, true)),
            Action::PrevMessage => return Some(go_to_next(viewer, Landmark::Message, false)),
            Action::NextStep => return Some(go_to_next(viewer, Landmark::Step, true)),
            Action::PrevStep => return Some(go_to_next(viewer, Landmark::Step, false)),
            Action::NextMark => return Some(go_to_next(viewer, Landmark::Mark, true)),
            Action::PrevMark => return Some(go_to_next(viewer, Landmark::Mark, false)),
            // A failed stream is reloaded; otherwise the received events are replayed.
            Action::Replay
                if matches!(viewer.connection, ConnectionState::Failed(_))
                    || viewer.event_log.newest_seq() == Seq::START =>
            {
                return Some(self.reopen(session));
            }
            Action::Replay => viewer.play_from_start(),
            Action::Play => viewer.play_or_pause(),
            Action::Earlier => viewer.step_in_time(-1),
            Action::Later => viewer.step_in_time(1),
            Action::SlideBack => viewer.slide(false),
            Action::SlideOn => viewer.slide(true),
            Action::Speed => {
                let speed = viewer.next_speed();
                return Some(Requests::info(format!("Speed: {}.", speed.word())));
            }
            _ => return None,
        }
        Some(Requests::none())
    }

    fn handle_action(&mut self, cx: &Cx<'_>, action: Action) -> Requests {
        let Some(viewer) = self.tabs.shown_mut() else {
            return Requests::none();
        };
        match action {
            Action::Modes => Route::Modes(viewer.id).into(),
            Action::Search | Action::FilterStream => {
                viewer.begin_typing(if action == Action::Search {
                    Typing::Search
                } else {
                    Typing::Filter
                });
                Request::BeginTyping.into()
            }
            Action::Mark if !viewer.mark() => Requests::info("1,000 marks are set. Remove one."),
            Action::Open | Action::Right => {
                let shown = viewer
                    .inspect()
                    .map(|(title, text)| Route::Document { title, text }.into());
                shown.unwrap_or_default()
            }
            Action::Wrap => {
                let wrap = !cx.session.prefs.wrap;
                let now = if wrap { "wrapped" } else { "truncated" };
                let mut out = Requests::from(Pref::Wrap(wrap));
                out.notify(false, format!("Long lines are {now}."));
                out
            }
            Action::Timestamps => next_timestamps(cx.session),
            Action::Export => propose_export(viewer, cx.session),
            Action::OpenLink => open_in_browser(viewer, cx.session),
            Action::TakeEvents if viewer.leaves_events() => {
                let mut out = self.reopen(cx.session);
                if let Some(viewer) = self.tabs.shown_mut() {
                    viewer.is_shared = true;
                }
                out.notify(false, "Taking the run's events from other readers.");
                out
            }
            Action::TakeEvents => Requests::info("No run here is limited to one reader."),
            Action::Bisect => super::bisect::propose(viewer),
            Action::NewRun => compose(viewer),
            Action::Describe => match viewer.thread_id.clone() {
                Some(thread) => {
                    Route::Record(Described::Thread(viewer.server.clone(), thread)).into()
                }
                None => Requests::info("A stateless run has no thread."),
            },
            Action::Explain => {
                // Also reload the evidence.
                viewer.refreshes += 1;
                Route::Why.into()
            }
            Action::Answer
            | Action::Approve
            | Action::CancelRun
            | Action::RollbackRun
            | Action::Again
            | Action::Delete => act_on_shown_thread(viewer, action),
            _ => works_elsewhere(cx, viewer.view(), action),
        }
    }
}

/// Moves to the next or previous landmark of a kind.
fn go_to_next(viewer: &mut Viewer, landmark: Landmark, forward: bool) -> Requests {
    if viewer.go_to_next(landmark, forward) {
        return Requests::none();
    }
    let what = match landmark {
        Landmark::Problem => "failure, gap or run end",
        Landmark::Message => "message",
        Landmark::Step => "step",
        Landmark::Mark => "mark",
    };
    let when = if forward { "later" } else { "earlier" };
    Requests::info(match landmark {
        Landmark::Mark => format!("No {when} mark. m marks an event."),
        _ if forward && !viewer.is_over() => format!("No {when} {what} yet."),
        _ => format!("No {when} {what}."),
    })
}

/// Opens the thread in Studio. Also shows the URL, for machines without a browser.
fn open_in_browser(viewer: &Viewer, session: &Session) -> Requests {
    let profile = session
        .catalog
        .in_use()
        .iter()
        .find(|profile| *profile.name == *viewer.server.profile);
    let control_plane = profile.and_then(|profile| profile.control_plane.as_ref());
    match studio_page(
        control_plane,
        &viewer.server.url,
        viewer.thread_id.as_deref(),
    ) {
        Some(page) => Requests::info(format!("Opening {page}")).and(Effect::OpenLink(page.into())),
        None => Requests::none(),
    }
}

/// Opens the composer for a run on the shown thread.
fn compose(viewer: &Viewer) -> Requests {
    let warning = match viewer.thread_status() {
        ThreadStatus::Waiting { .. } => Some(Warning::WaitingForInput),
        status if status.is_active() => Some(Warning::Active),
        _ => None,
    };
    let of_thread = viewer.loaded_thread().assistant().map(str::to_string);
    let assistant = of_thread.or_else(|| viewer.started_assistant().map(str::to_string));
    let thread = viewer.thread_id.clone();
    let breakpoints = viewer.views.graph.breakpoints();
    let [before, after] =
        [&breakpoints.before, &breakpoints.after].map(|nodes| nodes.iter().cloned().collect());
    let origin = Origin {
        thread,
        assistant,
        place: None,
        warning,
        before,
        after,
    };
    Route::ComposeOn(viewer.server.clone(), origin).into()
}

/// Opens the page for an action on the shown thread, or explains why there is no thread.
fn act_on_shown_thread(viewer: &Viewer, action: Action) -> Requests {
    let Some(thread) = viewer.thread() else {
        return Requests::info("This stream has no thread yet.");
    };
    if matches!(action, Action::Answer | Action::Approve) {
        return answer(viewer, thread, action == Action::Approve);
    }
    let chosen = viewer.chosen_run();
    if matches!(action, Action::CancelRun | Action::RollbackRun)
        && let Some(over) = chosen.filter(|run| run.outcome.is_over())
    {
        return Requests::info(format!("This is {}, which ended.", over.name()));
    }
    // The page of a run acts on that run; so does the row of an active run, and a run that is shown alone.
    let run = match &viewer.target {
        StreamTarget::Join { run, .. } => Some(run.clone()),
        _ => chosen
            .filter(|run| !run.outcome.is_over())
            .and_then(|run| Some(run.run_id.as_deref()?.to_string())),
    };
    act_on_thread(thread, run, action)
}

/// Switches the view or its display options. Returns false for other actions.
fn show_view(viewer: &mut Viewer, action: Action) -> bool {
    use Action::*;
    match action {
        NextView => viewer.turn(1),
        PrevView => viewer.turn(-1),
        Split if !viewer.view().of().split(viewer) => viewer.toggle_split(),
        Split => {}
        AsReceived => viewer.as_received = !viewer.as_received,
        _ => match KEYS.iter().position(|key| *key == action) {
            Some(at) => viewer.show(VIEWS[at]),
            None => return false,
        },
    }
    true
}

/// The actions that show the views, in their order.
const KEYS: [Action; VIEWS.len()] = {
    use Action::*;
    [View1, View2, View3, View4, View5, View6, View7]
};

/// Says in which views an action works that the shown view doesn't have.
fn works_elsewhere(cx: &Cx<'_>, view: View, action: Action) -> Requests {
    let is_limited = |row: &&Binding| {
        row.context == Context::Stream && row.action == action && !row.works_in(view.title())
    };
    match BINDINGS.iter().find(is_limited) {
        Some(row) => {
            let is_only = |view: &View| row.views == [view.title()];
            let of_view = VIEWS.iter().position(is_only).map(|at| KEYS[at]);
            let opens = |other: &&Binding| {
                other.context == Context::Stream && Some(other.action) == of_view
            };
            let way = BINDINGS
                .iter()
                .find(opens)
                .map(|row| cx.session.key(row.id));
            Requests::info(works_only(
                &row.name_with(&cx.session.key(row.id)),
                &row.place(),
                &way.unwrap_or_default(),
            ))
        }
        None => Requests::none(),
    }
}

/// Opens the answer card if the thread is waiting, or the action that suits its status. Uses the current status even
/// during time travel.
fn answer(viewer: &Viewer, thread: ThreadRef, approve: bool) -> Requests {
    if *viewer.thread_status() == ThreadStatus::Deleted {
        return Requests::error("The thread was deleted.");
    }
    let loaded = viewer.loaded_thread();
    // The stream reports a question before the snapshot does.
    let is_waiting = matches!(viewer.thread_status(), ThreadStatus::Waiting { .. });
    let answerable = loaded.answerable();
    let is_newest = !is_waiting || have_same_ids(&answerable, viewer.questions());
    let from = if loaded.assistant().is_some() && !answerable.is_empty() && is_newest {
        AnswerFrom::Loaded(thread, Box::new(loaded))
    } else if is_waiting && viewer.is_stream_only() {
        AnswerFrom::Stream(
            thread,
            viewer.questions().to_vec(),
            viewer.started_assistant().map(str::to_string),
        )
    } else if is_waiting {
        AnswerFrom::Waiting(thread)
    } else {
        AnswerFrom::Nothing(
            thread,
            Box::new(viewer.thread_status().clone()),
            loaded.keeps_rejected_answer(),
        )
    };
    Route::Answer(from, approve).into()
}

/// Returns whether two lists have the same questions. A question without an id may be any of them.
fn have_same_ids(one: &[Question], other: &[Question]) -> bool {
    let ids = |of: &[Question]| {
        of.iter()
            .map(|question| question.id.clone())
            .collect::<Option<BTreeSet<_>>>()
    };
    match (ids(one), ids(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

fn next_timestamps(session: &Session) -> Requests {
    let words = Timestamps::WORDS;
    let at = words
        .iter()
        .position(|(_, how)| *how == session.prefs.timestamps)
        .unwrap_or(0);
    let (word, how) = words[(at + 1) % words.len()];
    let meaning = match how {
        Timestamps::Absolute => "time of day",
        Timestamps::Relative => "since the run's start",
        Timestamps::Delta => "since the previous entry",
    };
    let mut out = Requests::from(Pref::Timestamps(how));
    out.notify(false, format!("Times are {word}: {meaning}."));
    out
}

/// Returns whether an action in a view only moves or shows something.
fn only_looks(action: Action) -> bool {
    use Action::*;
    matches!(
        action,
        Open | Left
            | Right
            | FoldAll
            | UnfoldAll
            | Collapse
            | NextMatch
            | PrevMatch
            | NextMessage
            | PrevMessage
            | NextMark
            | PrevMark
            | PrevStep
            | NextStep
            | Wrap
            | Timestamps
            | Describe
            | Explain
    )
}

/// Returns the target with which a stream is read again.
///
/// # Errors
/// Says why it can't be.
fn reopened(viewer: &Viewer) -> Result<StreamTarget, &'static str> {
    match (&viewer.target, &viewer.thread_id, &viewer.run_id) {
        (StreamTarget::Start { .. }, Some(thread), Some(run)) => Ok(StreamTarget::Join {
            thread: thread.clone(),
            run: run.clone(),
        }),
        (
            StreamTarget::Start {
                on: Target::Stateless,
                ..
            },
            ..,
        ) => Err("Streams of stateless runs can't be reopened."),
        (StreamTarget::Start { .. }, ..) => Err(
            "The server started a run without naming it. Look in Runs (7) before starting another.",
        ),
        (other, ..) => Ok(other.clone()),
    }
}
