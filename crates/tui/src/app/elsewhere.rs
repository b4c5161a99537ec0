//! Keys and actions that don't work on the current screen: what they do, and where they work.

use super::{App, Overlay};
use crate::features::agent::state::Tab;
use crate::input::action::{Action, Context};
use crate::input::key::{Code, Key};
use crate::input::keymap::{Binding, binding, key_glyph, works_only};
use crate::session::msg::Effect;

impl App {
    /// Explains a key without an action in the current context.
    pub(super) fn explain_dead_key(&mut self, context: Context, key: Key) {
        if moves(key) || context == Context::Command {
            return;
        }
        let shown = shown(key, self.session.settings.ascii);
        let elsewhere = self.session.keymap.elsewhere(key);
        if let Some(text) = self.moved_view(context, key) {
            return self.session.hint(text);
        }
        let text = match elsewhere.filter(|row| row.context != context) {
            // It is unknown which form or preview the user means.
            Some(row) if row.action.sends() => {
                format!("{shown} sends a preview or form; none is open.")
            }
            Some(row) => self.works_only(row.context, &row.name_with(&shown)),
            None => match self.session.key("app.help") {
                help if help.is_empty() => format!("{shown} has no action."),
                help => format!("{shown} has no action. Press {help} for keys."),
            },
        };
        self.session.hint(text);
    }

    /// Says where the view went that a key showed in earlier versions.
    fn moved_view(&self, context: Context, key: Key) -> Option<String> {
        let (what, ids): (_, &[&str]) = match (key.code, context) {
            (Code::Char('8'), Context::Stream) => {
                ("Delivery", &["stream.events", "stream.details"])
            }
            (Code::Char('9'), Context::Stream) => ("Graph", &["stream.graph"]),
            (Code::Char('9'), Context::Server) => ("Graph", &["server.graph"]),
            (Code::Char('9'), Context::Records) => ("Graph", &["records.graph"]),
            (Code::Char('0'), Context::Stream) => ("History", &["stream.steps"]),
            (Code::Char('0'), Context::Why) => ("History", &["why.history"]),
            _ => return None,
        };
        let keys: Vec<String> = ids.iter().map(|id| self.session.key(id)).collect();
        let key = key_glyph(key, self.session.settings.ascii);
        Some(format!(
            "{what} moved from {key} to {}.",
            keys.join(", then ")
        ))
    }

    /// Runs an action as its key would. If it works elsewhere, says where.
    pub(super) fn run_action(&mut self, id: &str) -> Vec<Effect> {
        let Some(row) = binding(id) else {
            return Vec::new();
        };
        while matches!(self.overlays.last(), Some(Overlay::Help(_))) {
            self.close(self.focus_id());
        }
        let here = self.help_context();
        if row.context != here && row.context != Context::Global {
            let key = self.session.key(row.id);
            self.session
                .hint(self.works_only(row.context, &row.name_with(&key)));
            return Vec::new();
        }
        let mut effects = Vec::new();
        if row.context == here && self.context() != here {
            // A page of text covers the pane.
            effects = self.leave_overlays();
        }
        effects.extend(self.run_here(row));
        effects
    }

    /// Runs an action that works on the current screen.
    fn run_here(&mut self, row: &Binding) -> Vec<Effect> {
        let context = self.context();
        let key = self.session.keymap.keys_of(row.id).first().copied();
        if row.action.sends() {
            // Enter chose the action, and Enter never sends.
            let key = key.map(|key| shown(key, self.session.settings.ascii));
            self.session.hint(match key {
                Some(key) => format!("Only {key} {}.", row.does()),
                None => format!("{} has no key.", row.name()),
            });
            return Vec::new();
        }
        // Some dialogs read their keys before the keymap does.
        let handled = key.and_then(|key| self.with_top(|top, cx| top.key(cx, key)).flatten());
        match handled {
            Some(requests) => self.apply(requests),
            None => self.handle_action(context, row.action),
        }
    }

    /// Says that something works only on another screen, and which key goes there.
    pub(super) fn works_only(&self, context: Context, what: &str) -> String {
        works_only(what, context.place(), &self.key_to(context))
    }

    /// Returns the key that goes to another screen; empty without one.
    pub(super) fn key_to(&self, context: Context) -> String {
        let key = self.way_to(context).map(|id| self.session.key(id));
        key.unwrap_or_default()
    }

    /// Returns the action that goes from the pane with the focus to another screen, if one key does.
    fn way_to(&self, context: Context) -> Option<&'static str> {
        use Context::*;
        if self.page_under_help().is_some() {
            return None;
        }
        let has_thread = || {
            let server = self.agent.server.as_ref();
            server.is_some_and(|open| {
                open.tab == Tab::Threads && open.threads.table.selected().is_some()
            })
        };
        Some(match (self.pane_context(), context) {
            (Deployments, Revisions) | (Revisions, Deployments) => "app.next_pane",
            (Deployments, Server) if self.commands_of(None).can(Action::Open) => "deployments.open",
            (Server, Deployments) if self.has_deployments() => "app.back",
            (Server, Stream) if has_thread() => "server.open",
            (Server, Composer) => "server.new_run",
            (Stream, Composer) => "stream.new_run",
            (Stream, Why) => "stream.explain",
            (_, Inbox) => "app.inbox",
            (_, Profiles) => "app.profiles",
            _ => return None,
        })
    }
}

/// Returns whether a key moves, or is pressed by habit.
fn moves(key: Key) -> bool {
    !matches!(key.code, Code::Char(_) | Code::F(_)) || key.code == Code::Char(' ')
}

/// Formats a key for a sentence: `Ctrl-K`.
fn shown(key: Key, ascii: bool) -> String {
    match key.code {
        Code::Char(c) if key.ctrl && !key.alt => format!("Ctrl-{}", c.to_ascii_uppercase()),
        _ => key_glyph(key, ascii),
    }
}
