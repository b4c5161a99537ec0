//! What a screen, a pane or a dialog is.

use super::Session;
use super::destination::Takes;
use super::loaded::Loaded;
use super::msg::{ServerRef, Subscription, ThreadRef};
use super::profile::{Health, ProfileState};
use super::request::Requests;
use super::thread::{ModesView, ThreadView};
use crate::input::action::{Action, Context};
use crate::input::key::Key;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::jobs::{Part, Work};
use runtail_api::{ApiError, ServerInfo};
use runtail_core::model::ThreadStatus;
use std::sync::Arc;
use std::time::Duration;

/// What a component may read, and nothing else of the state.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// Settings, keys, preferences, time, profiles.
    pub session: &'a Session,
    /// Facts that other features know.
    pub lookup: &'a dyn Lookup,
    /// Where the component is drawn.
    pub area: Area,
    /// Whether it has the focus.
    pub is_focused: bool,
    /// Whether it is on the screen at all.
    pub is_shown: bool,
    /// Whether the screen is frozen.
    pub is_frozen: bool,
    /// Whether it was in a frame since it opened. Nothing is sent that nobody could see.
    pub is_seen: bool,
}

/// Questions of one feature that another one answers.
pub trait Lookup {
    /// The status of a thread by its page, where one is open.
    fn page_status(&self, thread: &ThreadRef) -> Option<ThreadStatus>;
    /// The software of an agent server, where it was asked for.
    fn server_info(&self, server: &ServerRef) -> Option<&Loaded<ServerInfo>>;
    /// Why the assistants of the server that is open could not be listed.
    fn assistants_error(&self, server: &ServerRef) -> Option<&ApiError>;
    /// How a profile in use is.
    fn health(&self, profile: &ProfileState) -> Health;
    /// The profile that is meant where none is named.
    fn chosen_profile(&self) -> Option<Arc<str>>;
    /// The names of something that is known, each with a note.
    fn known(&self, what: Takes) -> Vec<(String, String)>;
    /// The deployments as `PROFILE/NAME`, each with a note.
    fn deployments_in_full(&self) -> Vec<(String, String)>;
    /// Every agent server that is known: the one that is open first, then those of streams, then those that are listed.
    fn servers(&self) -> Vec<ServerRef>;
    /// The agent server that is open.
    fn open_server(&self) -> Option<ServerRef>;
    /// Every listed deployment that exists: its profile, id and name.
    fn deployments(&self) -> Vec<(Arc<str>, Arc<str>, Arc<str>)>;
    /// The screens that a command opens: its name and help.
    fn screens(&self) -> &'static [(&'static str, &'static str)];
    /// The thread of the stream that is shown.
    fn shown_thread(&self) -> Option<ThreadView<'_>>;
    /// What is known of the modes of an open stream, by its number.
    fn modes(&self, stream: u64) -> Option<ModesView>;
    /// The context whose keys the help screen lists first.
    fn help_context(&self) -> Context;
}

/// A screen, a pane or a dialog. It owns its state and asks for everything else by requests.
pub trait Component {
    /// Whose keys it takes.
    fn context(&self) -> Context;

    /// Handles an action of the keymap.
    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests;

    /// Handles a key before the keymap does; none where the keymap decides.
    fn key(&mut self, _cx: &Cx<'_>, _key: Key) -> Option<Requests> {
        None
    }

    /// Inserts pasted text.
    fn paste(&mut self, _cx: &Cx<'_>, _text: &str) {}

    /// Takes a text that came back from the person's own editor.
    fn on_edited(&mut self, _text: &str) {}

    /// Moves by lines; `whole_window` moves what has both a cursor and a window by its window.
    fn step(&mut self, _cx: &Cx<'_>, _lines: isize, _whole_window: bool) {}

    /// Moves to the first line, or to the last.
    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        self.step(cx, if start { isize::MIN / 2 } else { isize::MAX / 2 }, false);
    }

    /// Handles a click on a cell, counted from the corner of the component.
    fn click(&mut self, _cx: &Cx<'_>, _x: u16, _y: u16) {}

    /// The text that `y` copies.
    fn copied(&mut self) -> Option<String> {
        None
    }

    /// The path that `Y` copies.
    fn copied_path(&self) -> Option<String> {
        None
    }

    /// Takes one step back inside the component; none where it is to be closed instead. `quit`: by the key that also quits.
    fn back(&mut self, _quit: bool) -> Option<Requests> {
        None
    }

    /// The filter or the search that can be typed here.
    fn filter(&self) -> Option<&str> {
        None
    }

    /// Replaces it.
    fn set_filter(&mut self, _text: &str) {}

    /// The sign before the text while that is typed.
    fn prompt(&self) -> &'static str {
        "/"
    }

    /// The text is typed; or, without `keep`, what was typed is dropped.
    fn end_typing(&mut self, _keep: bool) {}

    /// The actions that the footer shows, by their ids; none for those of the context.
    fn hints(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Fits the scroll position to the contents and to the size of the screen.
    fn relayout(&mut self, _cx: &Cx<'_>) {}

    /// It was in a frame. Returns whether there was anything to read: nothing is sent from what could not be read.
    fn on_drawn(&mut self) -> bool {
        true
    }

    /// The background tasks that it needs.
    fn subscriptions(&self, _cx: &Cx<'_>, _out: &mut Vec<Subscription>) {}

    /// The background jobs that it waits for.
    fn jobs(&self) -> Vec<&Work> {
        Vec::new()
    }

    /// The same, to number them.
    fn jobs_mut(&mut self) -> Vec<&mut Work> {
        Vec::new()
    }

    /// Takes the progress of a job.
    fn on_job(&mut self, _number: u64, _part: &Part) {}

    /// The profile whose server it shows: it is closed when that profile points elsewhere.
    fn profile(&self) -> Option<&str> {
        None
    }

    /// Time went on.
    fn on_tick(&mut self, _cx: &Cx<'_>) -> Requests {
        Requests::none()
    }

    /// Until what is shown here changes by itself.
    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        None
    }

    /// Draws it. Returns where the text cursor is.
    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)>;
}
