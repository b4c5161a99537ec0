//! The table of all actions, one file for a group of contexts, from which the keymap, the footer, the help screen, the palette's commands and the
//! configuration's `[keys]` are made. Tests compare the documents with it.

mod deployments;
mod dialogs;
mod global;
mod pages;
mod profiles;
mod server;
mod stream;

use super::action::{Action, Context};

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The name in the configuration's `[keys]`.
    pub id: &'static str,
    /// The context in which the keys work.
    pub context: Context,
    /// The default keys.
    pub keys: &'static [&'static str],
    /// The action that the keys trigger.
    pub action: Action,
    /// What it does, as an imperative: "Cancel the run". See [`Binding::name`].
    name: &'static str,
    /// One or two words for the footer.
    pub label: &'static str,
    /// Whether the action writes, or opens something that does.
    pub writes: bool,
    /// The views of a stream in which it works, as in "press it in History"; empty for all.
    pub only_in: &'static str,
    /// A sentence for the help screen; empty if the previous row's sentence covers both.
    pub help: &'static str,
}

impl Binding {
    /// Returns what it does, as an imperative that starts with a verb.
    pub fn name(&self) -> &'static str {
        if self.name.is_empty() { self.sentence() } else { self.name }
    }

    /// Names the action.
    const fn named(self, name: &'static str) -> Binding {
        Binding { name, ..self }
    }

    /// Limits the action to some views of a stream.
    const fn only_in(self, only_in: &'static str) -> Binding {
        Binding { only_in, ..self }
    }

    /// Returns whether the action only moves, and so is not listed as a command.
    pub fn is_movement(&self) -> bool {
        self.id.starts_with("move.")
    }

    /// Returns what the action does, as the end of a sentence: "cancels the run".
    pub fn does(&self) -> String {
        let (verb, rest) = self.name().split_once(' ').unwrap_or((self.name(), ""));
        let verb = verb.to_lowercase();
        let ending = match verb.as_bytes() {
            [.., b'o' | b's' | b'x' | b'z'] | [.., b's' | b'c', b'h'] => "es",
            _ => "s",
        };
        let verb = match verb.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
            Some(stem) => format!("{stem}ies"),
            None => format!("{verb}{ending}"),
        };
        // "Notify me" is said by the user, "notifies you" by Runtail.
        format!("{verb} {rest}").replace(" me ", " you ").trim_end().to_string()
    }

    /// Returns the help sentence of this row alone.
    pub fn sentence(&self) -> &'static str {
        if self.help.is_empty() { self.label } else { self.help }
    }
}

const fn bind(
    id: &'static str,
    context: Context,
    keys: &'static [&'static str],
    action: Action,
    label: &'static str,
    help: &'static str,
) -> Binding {
    Binding { id, context, keys, action, name: "", label, help, only_in: "", writes: false }
}

/// Creates the row of an action that writes, or opens something that does.
const fn write(
    id: &'static str,
    context: Context,
    keys: &'static [&'static str],
    action: Action,
    label: &'static str,
    help: &'static str,
) -> Binding {
    Binding { writes: true, ..bind(id, context, keys, action, label, help) }
}

/// Former names of actions, still accepted in `[keys]`.
pub const ALIASES: &[(&str, &str)] = &[
    ("stream.values", "stream.state"),
    ("stream.lifecycle", "stream.runs"),
    ("stream.next_hit", "stream.next_problem"),
    ("stream.prev_hit", "stream.prev_problem"),
    ("stream.next_error", "stream.next_problem"),
    ("stream.prev_error", "stream.prev_problem"),
    ("stream.difference", "stream.compare"),
    ("profiles.anyway", "profiles.switch"),
    ("confirm.traces", "confirm.option"),
    ("editor.anew", "editor.start_over"),
    ("deployments.describe", "deployments.details"),
    ("revisions.describe", "revisions.details"),
    ("server.describe", "server.details"),
    ("card.describe", "card.details"),
    ("browse.describe", "browse.details"),
];

/// Returns the row with this id.
pub fn binding(id: &str) -> Option<&'static Binding> {
    BINDINGS.iter().find(|binding| binding.id == id)
}

/// The rows of each file.
const PARTS: &[&[Binding]] =
    &[global::ROWS, deployments::ROWS, server::ROWS, stream::ROWS, pages::ROWS, dialogs::ROWS, profiles::ROWS];

/// All key bindings, in the order of the help screen.
pub const BINDINGS: &[Binding] = &joined::<{ count(PARTS) }>(PARTS);

const fn count(parts: &[&[Binding]]) -> usize {
    let (mut part, mut count) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

const fn joined<const N: usize>(parts: &[&[Binding]]) -> [Binding; N] {
    let mut all = [parts[0][0]; N];
    let (mut part, mut row, mut at) = (0, 0, 0);
    while at < N {
        if row == parts[part].len() {
            (part, row) = (part + 1, 0);
        } else {
            all[at] = parts[part][row];
            (row, at) = (row + 1, at + 1);
        }
    }
    all
}
