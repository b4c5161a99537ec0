//! Keys and actions that don't work on the current screen: what they do, where they work, and how to get there.

use super::{App, Overlay, Pane};
use crate::input::action::Context;
use crate::input::key::{Code, Key};
use crate::input::keymap::{Binding, binding, key_glyph};
use crate::session::msg::Effect;
use crate::session::{Lookup, Route};

/// Maximum screens on the way to an action.
const MAX_STEPS: usize = 4;

impl App {
    /// Explains a key without an action in the current context.
    pub(super) fn explain_dead_key(&mut self, context: Context, key: Key) {
        if moves(key) || context == Context::Command {
            return;
        }
        let shown = shown(key, self.session.settings.ascii);
        let text = match self
            .session
            .keymap
            .elsewhere(key)
            .filter(|row| row.context != context)
        {
            Some(row) => format!(
                "{shown} {}: press it in {}.",
                row.does(),
                row.context.place()
            ),
            None => match self.session.key("app.help") {
                help if help.is_empty() => format!("{shown} has no action."),
                help => format!("{shown} has no action. Press {help} for keys."),
            },
        };
        self.session.hint(text);
    }

    /// Runs an action as its key would. If it works elsewhere, goes to the nearest screen where it does, and says how.
    pub(super) fn run_action(&mut self, id: &str) -> Vec<Effect> {
        let Some(row) = binding(id) else {
            return Vec::new();
        };
        while matches!(self.overlays.last(), Some(Overlay::Help(_))) {
            self.close();
        }
        let here = self.help_context();
        if row.context != here && row.context != Context::Global {
            return self.go_where_it_works(row);
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

    /// Goes to the nearest screen where an action works, or to one from which that is opened.
    fn go_where_it_works(&mut self, row: &Binding) -> Vec<Effect> {
        let last = self.step_to(row);
        self.go_toward(row.context, last).unwrap_or_else(|| {
            let place = row.context.place();
            self.session.hint(format!(
                "{} works only in {place}, which can't be opened from here.",
                row.name()
            ));
            Vec::new()
        })
    }

    /// Goes to the nearest screen where a command of the palette works, or to one from which that is opened.
    pub(super) fn go_where_command_works(&mut self, context: Context, name: &str) -> Vec<Effect> {
        let last = format!("{} and type {name}", self.session.key("app.command"));
        self.go_toward(context, last).unwrap_or_else(|| {
            self.session.hint(format!(
                "{name} works only in {}, which can't be opened from here.",
                context.place()
            ));
            Vec::new()
        })
    }

    /// Goes to a screen with this context, or to one from which it is opened, and says which keys follow. `last`: the last of them.
    fn go_toward(&mut self, context: Context, last: String) -> Option<Vec<Effect>> {
        let (mut steps, mut context) = (vec![last], context);
        while steps.len() <= MAX_STEPS {
            if let Some(effects) = self.go_to_context(context) {
                steps.reverse();
                self.session
                    .hint(format!("Press {}.", steps.join(", then ")));
                return Some(effects);
            }
            let opener = context.opened_by().and_then(binding)?;
            steps.push(self.step_to(opener));
            context = opener.context;
        }
        None
    }

    /// Returns the part of a sentence that says how to use an action: "x to cancel the run".
    fn step_to(&self, row: &Binding) -> String {
        let key = self.session.keymap.keys_of(row.id).first().copied();
        let key = key.map_or_else(
            || ":".to_string(),
            |key| shown(key, self.session.settings.ascii),
        );
        let mut name = row.name().to_string();
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        format!("{key} to {name}")
    }

    /// Goes to a screen with this context; `None` if none can be shown without choosing something first.
    fn go_to_context(&mut self, context: Context) -> Option<Vec<Effect>> {
        match context {
            Context::Deployments => Some(self.go_to(Pane::Deployments)),
            Context::Revisions
                if self
                    .history()
                    .is_some_and(|history| !history.revisions.is_empty()) =>
            {
                Some(self.go_to(Pane::Revisions))
            }
            Context::Server => {
                // On the deployments list, that of the row under the cursor.
                let server = Lookup::chosen_server(self)?;
                let mut effects = self.leave_overlays();
                effects.extend(self.open_server(server));
                Some(effects)
            }
            Context::Stream => {
                let last = self.stream.tabs.all().len().checked_sub(1)?;
                Some(self.go_to_stream(self.stream.tabs.at().unwrap_or(last)))
            }
            Context::Logs if self.logs.is_some() => Some(self.go_to(Pane::Stream)),
            Context::Inbox => {
                let effects = self.leave_overlays();
                self.open_inbox();
                Some(effects)
            }
            Context::Profiles | Context::Journal => {
                let mut effects = self.leave_overlays();
                effects.extend(self.open(if context == Context::Journal {
                    Route::Journal
                } else {
                    Route::Profiles
                }));
                Some(effects)
            }
            _ => None,
        }
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
