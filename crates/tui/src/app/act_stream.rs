//! What keys do in the stream viewer.

use super::App;
use super::composer::{Origin, Warning};
use super::find::Typing;
use super::keys::Action;
use super::msg::{Described, Effect, StreamTarget};
use super::viewer::{Landmark, LinkState, View};
use runtail_core::config::{Timestamps, studio_page};
use runtail_core::model::ThreadStatus;
use runtail_stream::{Seq, Target};

pub(super) fn act_stream(app: &mut App, action: Action) -> Vec<Effect> {
    let now = app.now;
    let Some(viewer) = app.streams.shown_mut() else { return Vec::new() };
    viewer.now = now;
    let in_tree = viewer.view() == View::State;
    let in_bars = viewer.view() == View::Timeline;
    match action {
        Action::View1 => viewer.show(View::Messages),
        Action::View2 => viewer.show(View::Updates),
        Action::View3 => viewer.show(View::State),
        Action::View4 => viewer.show(View::Timeline),
        Action::View5 => viewer.show(View::Runs),
        Action::View6 => viewer.show(View::Custom),
        Action::View7 => viewer.show(View::Raw),
        Action::View8 => viewer.show(View::Delivery),
        Action::NextView => viewer.turn(1),
        Action::PrevView => viewer.turn(-1),
        Action::Split => viewer.split = !viewer.split,
        Action::AsReceived => viewer.as_received = !viewer.as_received,
        Action::Again if viewer.is_recording() => viewer.play_from_start(),
        action if acts_on_server(action) && viewer.is_recording() => {
            app.notify(false, "This is a recording: there is no server to ask.");
        }
        Action::Modes => app.open_modes(),
        Action::Compare if in_tree && viewer.toggle_changes_since_mark() => {}
        Action::Compare if in_tree => viewer.toggle_changes(),
        Action::Mark if in_tree => {
            if let Some(number) = viewer.mark_state() {
                let number = runtail_core::text::count(number + 1);
                app.notify(false, format!("State {number} is marked. = compares the state shown with it."));
            }
        }
        Action::FoldAll | Action::UnfoldAll if in_tree && !viewer.shows_changes() => {
            if let Some(tree) = viewer.tree() {
                tree.fold_all(action == Action::FoldAll);
            }
        }
        Action::Open | Action::Right if in_tree && viewer.shows_changes() => viewer.open_change(),
        Action::Left if in_tree && viewer.shows_changes() => viewer.hide_changes(),
        Action::PrevStep if in_tree => viewer.step_state(-1),
        Action::NextStep if in_tree => viewer.step_state(1),
        Action::Search => app.begin_finding(Typing::Search),
        Action::Sift => app.begin_finding(Typing::Filter),
        Action::NextMatch | Action::PrevMatch if in_tree => {
            let forward = action == Action::NextMatch;
            match viewer.searched().is_empty() {
                true => viewer.step_state(if forward { 1 } else { -1 }),
                false => {
                    if let Some(tree) = viewer.tree() {
                        tree.next_match(forward);
                    }
                }
            }
        }
        Action::NextMatch | Action::PrevMatch => {
            let forward = action == Action::NextMatch;
            let is_searched = viewer.next_hit(forward);
            if !is_searched {
                app.go_to_next(Landmark::Problem, forward);
            }
        }
        Action::NextMessage => app.go_to_next(Landmark::Message, true),
        Action::PrevMessage => app.go_to_next(Landmark::Message, false),
        Action::NextStep => app.go_to_next(Landmark::Step, true),
        Action::PrevStep => app.go_to_next(Landmark::Step, false),
        Action::NextMark => app.go_to_next(Landmark::Mark, true),
        Action::PrevMark => app.go_to_next(Landmark::Mark, false),
        Action::Mark => {
            let has_room = viewer.mark();
            if !has_room {
                app.notify(false, "This stream has a thousand marks. Remove one first.");
            }
        }
        Action::Left | Action::Right | Action::Open if in_tree => {
            if let Some(tree) = viewer.tree() {
                match action {
                    Action::Left => tree.fold(),
                    Action::Right => tree.unfold(),
                    _ => tree.toggle(),
                }
            }
        }
        Action::Left if in_bars => viewer.fold_bar(),
        Action::Right if in_bars => viewer.unfold_bar(),
        Action::Open | Action::Right => {
            if let Some((title, text)) = viewer.inspect() {
                app.inspect(title, text);
            }
        }
        Action::Wrap => {
            app.habits.wrap = !app.habits.wrap;
            let now = if app.habits.wrap { "wrapped" } else { "cut" };
            app.notify(false, format!("Long lines are {now}."));
        }
        Action::Timestamps => {
            let words = Timestamps::WORDS;
            let at = words.iter().position(|(_, how)| *how == app.habits.timestamps).unwrap_or(0);
            let (word, how) = words[(at + 1) % words.len()];
            app.habits.timestamps = how;
            let told = match how {
                Timestamps::Absolute => "time of day",
                Timestamps::Relative => "since the run began",
                Timestamps::Delta => "since the previous entry",
            };
            app.notify(false, format!("Times are {word}: {told}."));
        }
        Action::Export => app.propose_export(),
        Action::OpenLink => return app.open_in_browser(),
        // A stream that failed is opened again; events that are there are played.
        Action::Replay if matches!(viewer.link, LinkState::Failed(_)) || viewer.tape.newest_seq() == Seq::START => {
            app.reopen()
        }
        Action::Replay => viewer.play_from_start(),
        Action::TakeEvents if viewer.leaves_events() => {
            app.reopen();
            if let Some(viewer) = app.streams.shown_mut() {
                viewer.is_shared = true;
            }
            app.notify(false, "Reading the run's events; no other reader gets them.");
        }
        Action::TakeEvents => app.notify(false, "No run here leaves its events to another reader."),
        Action::Play => viewer.play_or_pause(),
        Action::Earlier => viewer.step_in_time(-1),
        Action::Later => viewer.step_in_time(1),
        Action::SlideBack => viewer.slide(false),
        Action::SlideOn => viewer.slide(true),
        Action::Speed => {
            let speed = viewer.next_speed();
            app.notify(false, format!("Playing at {}.", speed.word()));
        }
        Action::NewRun => return app.compose_here(),
        Action::Describe => {
            let (server, thread) = (viewer.server.clone(), viewer.thread_id.clone());
            match thread {
                Some(thread) => return app.describe(Described::Thread(server, thread)),
                None => app.notify(false, "A stateless run has no thread, so there is no state to show."),
            }
        }
        Action::Explain => app.explain_thread(),
        Action::Answer | Action::Approve | Action::CancelRun | Action::RollbackRun | Action::Again | Action::Delete => {
            return app.act_on_shown(action);
        }
        _ => {}
    }
    Vec::new()
}

/// Whether an action needs the server that a stream comes from.
fn acts_on_server(action: Action) -> bool {
    use Action::*;
    matches!(action, Modes | NewRun | OpenLink | Answer | Approve | CancelRun | RollbackRun | Again | Describe | Delete)
}

impl App {
    /// Goes to the next landmark of a kind in the stream that is shown.
    fn go_to_next(&mut self, what: Landmark, forward: bool) {
        let Some(viewer) = self.streams.shown_mut() else { return };
        if viewer.go_to_next(what, forward) {
            return;
        }
        let none = match (what, forward) {
            (Landmark::Problem, true) => "No later failure, gap or run end yet.",
            (Landmark::Problem, false) => "No earlier failure, gap or run end.",
            (Landmark::Message, true) => "No later message yet.",
            (Landmark::Message, false) => "No earlier message.",
            (Landmark::Step, true) => "No later step yet.",
            (Landmark::Step, false) => "No earlier step.",
            (Landmark::Mark, true) => "No later mark. m marks an event.",
            (Landmark::Mark, false) => "No earlier mark. m marks an event.",
        };
        self.notify(false, none);
    }

    /// Opens the thread of the stream that is shown in Studio. Where no browser can be opened, the address can be copied.
    fn open_in_browser(&mut self) -> Vec<Effect> {
        let Some(viewer) = self.streams.shown() else { return Vec::new() };
        let profile = self.catalogue.in_force().iter().find(|profile| *profile.name == *viewer.server.profile);
        let control_plane = profile.and_then(|profile| profile.control_plane.as_ref());
        let Some(page) = studio_page(control_plane, &viewer.server.url, viewer.thread_id.as_deref()) else {
            return Vec::new();
        };
        self.notify(false, format!("Opening {page}"));
        vec![Effect::OpenLink(page.into())]
    }

    /// Shows a link that the browser did not open, and copies it: over SSH there is no browser here.
    pub(super) fn on_link_not_opened(&mut self, link: String, why: &str) -> Vec<Effect> {
        // A link of another kind could start any program, so it is not offered.
        if !url::Url::parse(&link).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            self.notify(true, why);
            return Vec::new();
        }
        self.notify(true, format!("Open {} in a browser (copied)\n{why}", runtail_core::text::clean(&link)));
        vec![Effect::Copy(link)]
    }

    /// Opens the stream that is shown again from its start.
    pub(super) fn reopen(&mut self) {
        let Some(viewer) = self.streams.shown() else { return };
        let target = match (&viewer.target, &viewer.thread_id, &viewer.run_id) {
            (StreamTarget::Start { .. }, Some(thread), Some(run)) => {
                StreamTarget::Join { thread: thread.clone(), run: run.clone() }
            }
            (StreamTarget::Start { on: Target::Stateless, .. }, ..) => {
                return self
                    .notify(true, "The server does not keep a stateless run, so its stream can't be opened again.");
            }
            (StreamTarget::Start { .. }, ..) => {
                let text = "The server did not say which run it started. Look for it in the thread's runs before starting \
                            another.";
                return self.notify(true, text);
            }
            (other, ..) => other.clone(),
        };
        let wanted = [viewer.finding().pattern.text(), viewer.finding().filter.text()].map(str::to_string);
        let mut again = self.new_viewer(viewer.server.clone(), target);
        again.search(&wanted[0]);
        again.filter(&wanted[1]);
        self.streams.replace(again);
    }

    /// Opens the composer with what the stream that is shown is about.
    fn compose_here(&mut self) -> Vec<Effect> {
        let Some(viewer) = self.streams.shown() else { return Vec::new() };
        let thread = viewer.thread_id.clone();
        let started = match &viewer.target {
            StreamTarget::Start { body, .. } => Some(body.assistant_id.clone()),
            _ => None,
        };
        let warning = match viewer.thread_status() {
            ThreadStatus::Waiting { .. } => Some(Warning::Waits),
            status if status.is_active() => Some(Warning::Active),
            _ => None,
        };
        let of_thread = viewer.loaded_thread().assistant().map(str::to_string);
        let server = viewer.server.clone();
        // A tab may be of another server than the list behind it.
        let mut effects = self.go_to_server(server);
        let listed = || self.server.as_ref().and_then(|s| s.assistant_of(thread.as_deref()?));
        let assistant = of_thread.or(started).or_else(listed);
        effects.extend(self.compose(Origin { thread, assistant, place: None, warning }));
        effects
    }

    /// Shows the next of the open streams, or the one before.
    pub(super) fn turn_streams(&mut self, forward: bool) {
        if self.streams.all().is_empty() {
            return self.notify(false, "No stream is open. ⏎ on a thread opens one.");
        }
        self.streams.turn(forward);
        self.logs = None;
        self.focus = super::Pane::Stream;
    }
}
