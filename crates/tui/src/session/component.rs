//! The interface of screens, panes and dialogs, and the state that they may read.

use super::Session;
use super::destination::ArgumentKind;
use super::msg::{
    EffectResult, RevisionRef, ServerRef, Subscription, SubscriptionEvent, SubscriptionId,
    ThreadRef,
};
use super::profile::{Health, ProfileState};
use super::request::Requests;
use super::thread::{ModesView, ThreadView};
use super::threads_known::ThreadsKnown;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::key::Key;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::jobs::PendingJob;
use crate::widgets::line::Line;
use crate::widgets::table::Table;
use runtail_api::ApiError;
use runtail_core::model::{KnownRevisions, Revision, ThreadStatus};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The part of the state that a component may read.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// Settings, keys, preferences, time, profiles.
    pub session: &'a Session,
    /// Facts of other features.
    pub lookup: &'a dyn Lookup,
    /// The component's area.
    pub area: Area,
    /// Whether it has the focus.
    pub is_focused: bool,
    /// Whether it is visible.
    pub is_shown: bool,
    /// Whether the screen is frozen.
    pub is_frozen: bool,
    /// Whether a frame has shown it since it opened. Before that it must not send anything.
    pub is_seen: bool,
}

/// The facts that features read from each other.
pub trait Lookup {
    /// Returns the status of a thread from its page, if one is open.
    fn page_status(&self, thread: &ThreadRef) -> Option<ThreadStatus>;
    /// Returns the keys that have a value in a thread's state, from its page; `None` if the state is not known.
    fn page_state_keys(&self, thread: &ThreadRef) -> Option<Vec<Arc<str>>>;
    /// Returns whether the inbox lists a thread; `None` if its server's last answer was not complete.
    fn is_in_inbox(&self, thread: &ThreadRef) -> Option<bool>;
    /// Returns what needs a person on an agent server, in lines of at most `width` columns and the most urgent first; `None` if its
    /// last answer doesn't list every thread.
    fn needs(&self, server: &ServerRef, width: usize) -> Option<Vec<Line>>;
    /// Returns how current the numbers of an agent server's threads are.
    fn threads_known(&self, server: &ServerRef) -> ThreadsKnown;
    /// Returns the agent servers whose threads could not be read, each with the reason, and their number. A profile whose servers
    /// all failed alike is named once.
    fn unread_servers(&self) -> (Vec<(&str, &str)>, usize);
    /// Returns the stuck threads of an agent server by the inbox: their ids, and what the inbox says of each.
    fn stuck(&self, server: &ServerRef) -> BTreeMap<String, String>;
    /// Returns whether a page of a thread is open, even if its stream has ended.
    fn has_page(&self, thread: &ThreadRef) -> bool;
    /// Returns the revisions of the deployment of an agent server, as the deployments list has them; `None` if it has no such
    /// deployment.
    fn revisions(&self, server: &ServerRef) -> Option<KnownRevisions>;
    /// Returns the runs of a thread that are marked for a comparison.
    fn marked_runs(&self, thread: &ThreadRef) -> Vec<String>;
    /// Returns a revision, as the deployments list has it.
    fn revision(&self, of: &RevisionRef) -> Option<&Revision>;
    /// Returns why the assistants of the open server could not be listed.
    fn assistants_error(&self, server: &ServerRef) -> Option<&ApiError>;
    /// Returns the health of a profile in use.
    fn health(&self, profile: &ProfileState) -> Health;
    /// Returns the profile to use where none is named.
    fn chosen_profile(&self) -> Option<Arc<str>>;
    /// Returns the known values of a command's argument, each with a note.
    fn known(&self, what: ArgumentKind) -> Vec<(String, String)>;
    /// Returns the deployments as `PROFILE/NAME`, each with a note.
    fn deployments_in_full(&self) -> Vec<(String, String)>;
    /// Returns every known agent server: the open one, then those of streams, then the listed ones.
    fn servers(&self) -> Vec<ServerRef>;
    /// Returns the open agent server.
    fn open_server(&self) -> Option<ServerRef>;
    /// The agent server of the selected deployment where the list has the focus, else the open one.
    fn chosen_server(&self) -> Option<ServerRef>;
    /// Returns every listed deployment that exists: its profile, id and name.
    fn deployments(&self) -> Vec<(Arc<str>, Arc<str>, Arc<str>)>;
    /// Returns the commands that open a screen: name and help sentence.
    fn screens(&self) -> &'static [(&'static str, &'static str)];
    /// Returns the name of a run of a thread, if its page knows the run: `run 3`.
    fn run_name(&self, thread: &ThreadRef, run: &str) -> Option<String>;
    /// Returns the name of a thread's tab, if it has one.
    fn tab_name(&self, thread: &ThreadRef) -> Option<String>;
    /// Returns the thread of the current stream.
    fn shown_thread(&self) -> Option<ThreadView<'_>>;
    /// Returns the modes of an open stream, by its number.
    fn modes(&self, stream: u64) -> Option<ModesView>;
    /// Returns the objects that the keys act on here: what each is, and its name.
    fn selected_objects(&self) -> Vec<(&'static str, String)>;
    /// Returns the title of the stream's view, if one has the focus.
    fn shown_view(&self) -> Option<&'static str>;
    /// Returns what the keys of a context do on the screen that the help is about.
    fn commands(&self, context: Context) -> Commands;
    /// Returns the context of the page that the help is about.
    fn page_context(&self) -> Context;
    /// Returns the context whose actions work here. Those of a pane also work below a page of text.
    fn help_context(&self) -> Context;
}

/// A screen, a pane or a dialog. It owns its state, and returns requests for everything else.
pub trait Component {
    /// Returns the context of its keys.
    fn context(&self) -> Context;

    /// Handles an action of the keymap.
    fn action(&mut self, cx: &Cx<'_>, action: Action) -> Requests;

    /// Handles a key before the keymap does. `None` leaves the key to the keymap.
    fn key(&mut self, _cx: &Cx<'_>, _key: Key) -> Option<Requests> {
        None
    }

    /// Returns the name of its tab, if it is a page of its own rather than a dialog.
    fn tab_name(&self) -> Option<String> {
        None
    }

    /// Inserts pasted text.
    fn paste(&mut self, _cx: &Cx<'_>, _text: &str) {}

    /// Applies the text that was edited in the user's editor.
    fn on_edited(&mut self, _text: &str) {}

    /// Returns what its keys do now: the rows of its context, without those that it doesn't have, and what the footer shows.
    fn commands(&self, _cx: &Cx<'_>) -> Commands {
        Commands::of(self.context())
    }

    /// Returns its table, if its keys act on rows.
    fn table(&self) -> Option<&Table> {
        None
    }

    /// Returns its table, to move its selection and to filter it.
    fn table_mut(&mut self) -> Option<&mut Table> {
        None
    }

    /// Moves by lines. With `whole_window`, a component that has both a cursor and a window scrolls the window.
    fn step(&mut self, _cx: &Cx<'_>, lines: isize, _whole_window: bool) {
        if let Some(table) = self.table_mut() {
            table.step(lines);
        }
    }

    /// Moves to the first or last line.
    fn jump_to_edge(&mut self, cx: &Cx<'_>, start: bool) {
        self.step(
            cx,
            if start {
                isize::MIN / 2
            } else {
                isize::MAX / 2
            },
            false,
        );
    }

    /// Handles a click on a cell, relative to the top left corner of the component.
    fn click(&mut self, _cx: &Cx<'_>, _x: u16, _y: u16) -> Requests {
        Requests::none()
    }

    /// Returns the id of the selected row. Keys act on it, so none does if it changed since the last frame.
    fn selected_id(&self) -> Option<&str> {
        self.table()?.selected()
    }

    /// Returns the text that `y` copies.
    fn copied(&mut self) -> Option<String> {
        None
    }

    /// Returns the path that `Y` copies.
    fn copied_path(&self) -> Option<String> {
        None
    }

    /// Loads its list again, because something in it was changed. `None` if it has none.
    fn reread(&mut self, _session: &Session) -> Option<Requests> {
        None
    }

    /// Goes back one step inside the component. `None` closes it instead. `quit`: whether the key was the one that also quits.
    fn back(&mut self, _quit: bool) -> Option<Requests> {
        self.table_mut()?.clear().then(Requests::none)
    }

    /// Saves its contents to a new file. `None` saves the stream behind it.
    fn save(&mut self, _session: &Session, _argument: &str) -> Option<Requests> {
        None
    }

    /// Returns the filter or search text, if the component has one.
    fn filter(&self) -> Option<&str> {
        Some(&self.table()?.filter)
    }

    /// Replaces the filter or search text.
    fn set_filter(&mut self, text: &str) {
        if let Some(table) = self.table_mut() {
            table.filter = text.to_string();
        }
    }

    /// Returns the sign that the prompt shows before the text.
    fn prompt(&self) -> &'static str {
        "/"
    }

    /// Called when the prompt closes; `keep` is false if the text was discarded.
    fn end_typing(&mut self, _keep: bool) {}

    /// Adjusts the scroll position to the contents and the screen size.
    fn relayout(&mut self, _cx: &Cx<'_>) {}

    /// Called when a frame has shown the component. Returns whether it was complete: nothing can be sent from it before that.
    fn on_drawn(&mut self) -> bool {
        true
    }

    /// Adds the background tasks that it needs.
    fn subscriptions(&self, _cx: &Cx<'_>, _out: &mut Vec<Subscription>) {}

    /// Returns the background jobs that it waits for.
    fn jobs(&self) -> Vec<&PendingJob> {
        Vec::new()
    }

    /// Returns the background jobs, so that new ones can be numbered.
    fn jobs_mut(&mut self) -> Vec<&mut PendingJob> {
        Vec::new()
    }

    /// Applies the result of an effect that it asked for. Returns `None` if the application does.
    fn on_reply(&mut self, _session: &mut Session, _reply: &EffectResult) -> Option<Requests> {
        None
    }

    /// Applies an event of one of its subscriptions.
    fn on_event(
        &mut self,
        _session: &mut Session,
        _from: SubscriptionId,
        _event: SubscriptionEvent,
    ) -> Requests {
        Requests::none()
    }

    /// Returns the profile whose server it shows. The component is closed when that profile points to another server.
    fn profile(&self) -> Option<&str> {
        None
    }

    /// Handles a clock tick.
    fn on_tick(&mut self, _cx: &Cx<'_>) -> Requests {
        Requests::none()
    }

    /// Returns the time until the component changes by itself; `None` if it doesn't.
    fn next_tick(&self, _cx: &Cx<'_>) -> Option<Duration> {
        None
    }

    /// Draws the component. Returns the position of the text cursor.
    fn view(&self, cx: &Cx<'_>, canvas: &mut Canvas<'_>) -> Option<(u16, u16)>;
}
