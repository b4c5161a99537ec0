//! The commands of a component: what its keys do now, and which of them the footer shows. A component declares them once
//! (`Component::commands`); the footer, the help and the palette derive from them.

use super::action::{Action, Context};
use super::bindings::{BINDINGS, Binding, binding};
use super::key::{Code, Key};
use super::keymap::{Keymap, key_glyph};

/// Maximum number of commands in the footer before the last two.
pub const MAX_HINTS: usize = 4;

/// A command that the footer shows, with a label that replaces the table's where that would mislead.
pub type Hint = (&'static str, Option<&'static str>);

/// A row of the table of bindings that a component has.
#[derive(Debug, Clone, Copy)]
struct DeclaredCommand {
    row: &'static Binding,
    /// Whether it does something now.
    is_enabled: bool,
    /// Whether the component handles it although it works on every screen.
    is_own: bool,
}

/// What the keys of a component do now.
#[derive(Debug, Clone)]
pub struct Commands {
    all: Vec<DeclaredCommand>,
    /// What the footer shows of them, most useful first.
    footer: Vec<Hint>,
    /// The first and the last command whose keys the footer shows as one: `1–5 choose`.
    range: Option<(&'static str, &'static str)>,
    /// Whether the footer ends with the palette and the help. Where letters are typed, their keys are text.
    has_last: bool,
}

impl Commands {
    /// Returns the commands of a context, with those of every screen. The footer shows the context's own, or else those that scroll.
    /// Where text is typed, and in the help, it shows none, because their frames do.
    pub fn of(context: Context) -> Commands {
        let rows = BINDINGS.iter().filter(|row| row.is_in(context));
        let command = |row| DeclaredCommand {
            row,
            is_enabled: true,
            is_own: false,
        };
        let all: Vec<DeclaredCommand> = rows.map(command).collect();
        let own = all.iter().filter(|one| one.row.context == context);
        let mut footer: Vec<Hint> = own.map(|one| (one.row.id, None)).collect();
        if footer.is_empty() {
            footer = vec![("move.page_down", None), ("move.page_up", None)];
        }
        footer.push(("app.back", None));
        let has_last = !context.is_typed_in() && context != Context::Help;
        if !has_last {
            footer.clear();
        }
        Commands {
            all,
            footer,
            range: None,
            has_last,
        }
    }

    /// Keeps only the commands that the component has.
    pub fn retain(mut self, has: impl Fn(&Binding) -> bool) -> Commands {
        self.all.retain(|one| has(one.row));
        self
    }

    /// Removes commands that the component doesn't have. The help and the palette leave them out.
    pub fn without(self, ids: &[&str]) -> Commands {
        self.retain(|row| !ids.contains(&row.id))
    }

    /// Like [`Commands::without`], unless the component has them.
    pub fn exist_if(self, exist: bool, ids: &[&str]) -> Commands {
        if exist { self } else { self.without(ids) }
    }

    /// Disables the commands that do nothing now. The footer leaves them out.
    pub fn enable(mut self, can: impl Fn(&Binding) -> bool) -> Commands {
        for one in &mut self.all {
            one.is_enabled &= can(one.row);
        }
        self
    }

    /// Like [`Commands::enable`], for some commands.
    pub fn enable_if(self, can: bool, ids: &[&str]) -> Commands {
        self.enable(|row| can || !ids.contains(&row.id))
    }

    /// Marks commands of every screen that the component handles itself.
    pub fn own(mut self, ids: &[&str]) -> Commands {
        for one in &mut self.all {
            one.is_own |= ids.contains(&one.row.id);
        }
        self
    }

    /// Shows these in the footer, most useful first, instead of all of the context.
    pub fn footer(mut self, ids: &[&'static str]) -> Commands {
        self.footer.clear();
        self.show(ids.iter().map(|id| (*id, None)))
    }

    /// Shows more in the footer.
    pub fn show(mut self, hints: impl IntoIterator<Item = Hint>) -> Commands {
        self.footer.extend(hints);
        debug_assert!(self.footer.iter().all(|(id, _)| binding(id).is_some()));
        self
    }

    /// Shows commands with consecutive keys as one in the footer.
    pub fn show_range(
        mut self,
        (first, last): (&'static str, &'static str),
        label: &'static str,
    ) -> Commands {
        self.range = Some((first, last));
        self.show([(first, Some(label))])
    }

    /// Leaves out of the footer what the frame shows.
    pub fn framed(mut self, keys: &[(&'static str, String)]) -> Commands {
        self.footer
            .retain(|(id, _)| keys.iter().all(|(framed, _)| framed != id));
        self
    }

    /// Keeps at most `max` commands in the footer.
    pub fn keep(mut self, max: usize) -> Commands {
        let enabled = self.enabled();
        self.footer = enabled.into_iter().take(max).collect();
        self
    }

    /// Leaves the palette and the help out of the footer, because letters are typed.
    pub fn while_typing(mut self) -> Commands {
        self.has_last = false;
        self
    }

    /// Returns whether the component has a row of the table.
    pub fn has(&self, row: &Binding) -> bool {
        self.all.iter().any(|one| one.row.id == row.id)
    }

    /// Returns whether an action does something now.
    pub fn can(&self, action: Action) -> bool {
        self.all
            .iter()
            .any(|one| one.row.action == action && one.is_enabled)
    }

    /// Returns whether the component handles an action, which may work on every screen.
    pub fn is_own(&self, action: Action) -> bool {
        self.all.iter().any(|one| {
            one.row.action == action && (one.is_own || one.row.context != Context::Global)
        })
    }

    /// Returns whether the command of a row does something now.
    pub fn is_enabled(&self, id: &str) -> bool {
        self.all
            .iter()
            .any(|one| one.row.id == id && one.is_enabled)
    }

    /// Returns the commands of the footer that do something now, each once.
    fn enabled(&self) -> Vec<Hint> {
        let mut hints: Vec<Hint> = Vec::new();
        for (id, label) in self.footer.iter().copied() {
            if self.is_enabled(id) && !hints.iter().any(|(shown, _)| *shown == id) {
                hints.push((id, label));
            }
        }
        hints
    }

    /// Returns the commands that the footer shows.
    pub fn hinted(&self) -> Vec<Hint> {
        let mut shown = self.enabled();
        if self.has_last {
            if shown.len() > MAX_HINTS {
                // Esc goes back everywhere.
                shown.retain(|hint| *hint != ("app.back", None));
            }
            shown.truncate(MAX_HINTS);
            shown.extend([("app.command", None), ("app.help", None)]);
        }
        shown
    }

    /// Returns what the footer shows: keys with their labels, at most six, the last two for the palette and the help. Dialogs in
    /// which letters are typed show all of theirs.
    pub fn hints(&self, keymap: &Keymap, ascii: bool) -> Vec<(String, &'static str)> {
        let shown = self.hinted();
        let hint = |(id, label): Hint| {
            let keys = match self.range {
                Some((first, last)) if first == id => {
                    let (first, last) = (keymap.key(first, ascii)?, keymap.key(last, ascii)?);
                    format!("{first}–{last}")
                }
                // Both directions are shown as one.
                _ if id == "move.left" => arrows(keymap, ascii)?,
                _ => keymap.key(id, ascii)?,
            };
            Some((keys, label.unwrap_or(binding(id)?.label)))
        };
        shown.into_iter().filter_map(hint).collect()
    }
}

/// Returns the keys that move left and right.
fn arrows(keymap: &Keymap, ascii: bool) -> Option<String> {
    let (left, right) = (keymap.keys_of("move.left"), keymap.keys_of("move.right"));
    let has = |keys: &[Key], code| keys.iter().any(|key| key.code == code);
    if !ascii && has(left, Code::Left) && has(right, Code::Right) {
        return Some("←→".into());
    }
    // A letter is shorter than the name of a key.
    let [left, right] = [left, right].map(|keys| {
        let glyphs = keys.iter().map(|key| key_glyph(*key, ascii));
        glyphs.min_by_key(String::len)
    });
    Some(format!("{} {}", left?, right?))
}
