//! The screen of a dashboard under test: notices, footer, help and settings. Tests read its state only through these methods.

use super::Dash;
use crate::says::{Says, Texts};
use runtail_core::config::{Mouse, Timestamps};
use runtail_tui::app::hints::hints;
use runtail_tui::app::{Pane, subscriptions};
use runtail_tui::input::action::Context;
use runtail_tui::input::help::{HelpItem, HelpPlace, help_groups};
use runtail_tui::input::key::Key;
use runtail_tui::session::msg::{Subscription, SubscriptionId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Says how the screen looks when a test fails.
impl Drop for Dash {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let screen = catch_unwind(AssertUnwindSafe(|| self.screen()));
            let screen = screen.unwrap_or_default();
            eprintln!("{screen}newest notice: {}", self.newest_notice());
        }
    }
}

/// Notices and the rest of the screen.
impl Dash {
    /// Checks that these texts are on the screen.
    #[track_caller]
    pub fn shows(&mut self, texts: impl Texts) {
        self.screen().has(texts);
    }

    /// Checks that none of these texts is on the screen.
    #[track_caller]
    pub fn lacks(&mut self, texts: impl Texts) {
        self.screen().lacks(texts);
    }

    /// Checks that these texts are on the screen, whose lines may break them.
    #[track_caller]
    pub fn reads(&mut self, texts: impl Texts) {
        self.words().has(texts);
    }

    /// Checks that the newest notice has these texts.
    #[track_caller]
    pub fn told(&self, texts: impl Texts) {
        self.newest_notice().has(texts);
    }

    /// Checks the newest notice.
    #[track_caller]
    pub fn says(&self, text: &str) {
        assert_eq!(self.newest_notice(), text);
    }

    /// Returns whether a filter or search is being typed in the footer.
    pub fn is_typing(&self) -> bool {
        self.app.prompt.is_some()
    }

    /// Returns whether the screen is frozen.
    pub fn is_frozen(&self) -> bool {
        self.app.frozen
    }

    /// Returns whether the dashboard has ended.
    pub fn has_ended(&self) -> bool {
        self.app.quit
    }

    /// Returns the pane with the focus.
    pub fn focus(&self) -> Pane {
        self.app.focus
    }

    /// Returns the columns and rows of the terminal.
    pub fn size(&self) -> (u16, u16) {
        self.app.session.size
    }

    /// Returns the text of all notices so far, as on the page of notices.
    pub fn notices(&self) -> Vec<&str> {
        let notices = self.app.session.notices.iter();
        notices.map(|notice| notice.text.as_str()).collect()
    }

    /// Returns the text of the newest notice.
    pub fn newest_notice(&self) -> &str {
        let newest = self.app.session.notices.last();
        newest.map_or("", |notice| &notice.text)
    }

    /// Returns whether the newest notice is an error.
    pub fn is_error_noticed(&self) -> bool {
        self.app
            .session
            .notices
            .last()
            .is_some_and(|notice| notice.error)
    }

    /// Returns the notice that the footer shows now.
    pub fn shown_notice(&self) -> Option<&str> {
        self.app.notice().map(|notice| notice.text.as_str())
    }

    /// Returns the keys and labels in the footer.
    pub fn hints(&self) -> Vec<(String, &'static str)> {
        hints(&self.app)
    }

    /// Returns the screen that the keys belong to, and the lines of its help.
    pub fn help(&self) -> (Context, Vec<HelpItem>) {
        let context = self.app.page_context();
        let place = HelpPlace {
            context,
            view: self.app.shown_view(),
            commands: &self.app.available(context),
        };
        let groups = help_groups(&self.app.session.keymap, place, false);
        let items = groups.into_iter().flat_map(|group| group.items);
        (context, items.collect())
    }

    /// Returns whether a key has an action there.
    pub fn has_action(&self, context: Context, key: Key) -> bool {
        self.app.session.keymap.action(context, key).is_some()
    }

    /// Returns the name of the colors on the screen.
    pub fn theme(&self) -> &str {
        self.app.session.prefs.theme()
    }

    /// Returns whether long lines are wrapped.
    pub fn wraps(&self) -> bool {
        self.app.session.prefs.wrap
    }

    /// Returns how times are shown.
    pub fn timestamps(&self) -> Timestamps {
        self.app.session.prefs.timestamps
    }

    /// Returns whether the mouse is used.
    pub fn mouse(&self) -> Mouse {
        self.app.session.prefs.mouse
    }

    /// Returns whether clicks are for the dashboard now, not for the terminal.
    pub fn uses_mouse(&self) -> bool {
        self.app.uses_mouse()
    }

    /// Returns when the screen changes by itself.
    pub fn next_tick(&self) -> Option<Duration> {
        self.app.next_tick()
    }

    /// Returns everything the dashboard keeps, to search it for secrets.
    pub fn all_that_is_kept(&self) -> String {
        format!("{:?}", self.app)
    }

    /// Returns whether this is read from a server now.
    pub fn wants(&self, is: impl Fn(&SubscriptionId) -> bool) -> bool {
        self.subscriptions().iter().any(|sub| is(&sub.key))
    }

    /// Returns the first of these that is read from a server now.
    #[track_caller]
    pub fn wanted(&self, is: impl Fn(&SubscriptionId) -> bool) -> Subscription {
        let mut all = self.subscriptions().into_iter();
        all.find(|sub| is(&sub.key)).expect("a subscription")
    }

    /// Returns what is read from servers now.
    pub fn subscriptions(&self) -> Vec<Subscription> {
        subscriptions(&self.app)
    }
}
