//! The interface of screens, panes and dialogs, and the state that they may read.

use super::Session;
use super::msg::{EffectResult, Subscription, SubscriptionEvent, SubscriptionId};
use super::request::Requests;
use crate::input::action::{Action, Context};
use crate::input::commands::Commands;
use crate::input::key::Key;
use crate::widgets::area::Area;
use crate::widgets::canvas::Canvas;
use crate::widgets::jobs::PendingJob;
use crate::widgets::table::Table;
use std::time::Duration;

/// The part of the state that a component may read.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// Settings, keys, preferences, time, profiles, and the facts that features share.
    pub session: &'a Session,
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

/// A screen, a pane or a dialog. It owns its state, and returns requests for everything else.
pub trait Component {
    /// Returns the context of its keys.
    fn context(&self) -> Context;

    /// Called when it is shown. Returns what it needs first.
    fn on_open(&mut self, _session: &Session) -> Requests {
        Requests::none()
    }

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

    /// Returns whether it stands as a sheet over the lower part of the page, which stays readable above it.
    fn is_sheet(&self) -> bool {
        false
    }

    /// Returns the lines that a sheet needs.
    fn sheet_lines(&self, cx: &Cx<'_>) -> usize {
        cx.area.h.into()
    }

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
