//! The table of all actions, one file for a group of contexts, from which the keymap, the footer, the help screen, the palette's commands and the
//! configuration's `[keys]` are made. Tests compare the documents with it.

mod deployments;
mod dialogs;
mod global;
mod pages;
mod profiles;
mod server;
mod shared;
mod stream;

use super::action::{Action, Context};
use runtail_core::text::capitalized;
use std::sync::LazyLock;

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The name in the configuration's `[keys]`.
    pub id: &'static str,
    /// The context in which the keys work.
    pub context: Context,
    /// The default keys, separated by spaces.
    keys: &'static str,
    /// The action that the keys trigger.
    pub action: Action,
    /// What it does, as an imperative: "Cancel the run".
    name: &'static str,
    /// One or two words for the footer: by default, the first word of the name.
    pub label: &'static str,
    /// What the name doesn't say; empty if it says everything.
    pub help: &'static str,
    /// Whether the action writes, or opens something that does.
    pub writes: bool,
    /// What it needs besides its screen, as in "with 1 or more marked"; empty for nothing.
    pub needs: &'static str,
    /// The contexts in which an action of every screen does something; empty for all.
    contexts: &'static [Context],
    /// The titles of the views of a stream in which it works; empty for all.
    pub views: &'static [&'static str],
    /// The views in which it does something of its own, with its name there.
    pub in_view: &'static [(&'static str, &'static str)],
    /// The id, the keys and the action of the row after it, for the opposite direction.
    back: Option<(&'static str, &'static str, Action)>,
    /// Whether it is the row after such a row.
    pub is_back: bool,
}

/// Words of the name of a row, and those in their place in the name of the row for the opposite direction.
const OPPOSITES: [(&str, &str); 4] = [
    ("next", "previous"),
    ("forward", "back"),
    ("Fold", "Unfold"),
    ("fold", "unfold"),
];

fn opposite(name: &str) -> String {
    let words = OPPOSITES.iter().find(|(word, _)| name.contains(word));
    words.map_or(name.into(), |(word, other)| name.replacen(word, other, 1))
}

impl Binding {
    /// Returns what it does, as an imperative that starts with a verb.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns its name and what that doesn't say: "Quit at once (runs continue)".
    pub fn sentence(&self) -> String {
        match self.help {
            "" => self.name.into(),
            help => format!("{} ({help})", self.name),
        }
    }

    /// Returns what it does in a view. `both`: with the row for the opposite direction, as in "Next or previous mark".
    pub fn name_in(&self, view: Option<&str>, both: bool) -> String {
        let name = view
            .and_then(|view| self.own_name_in(view))
            .unwrap_or(self.name);
        let words = OPPOSITES
            .iter()
            .find(|(word, _)| both && name.contains(word));
        let Some((word, other)) = words else {
            return name.into();
        };
        let both = name.replacen(word, &format!("{word} or {}", other.to_lowercase()), 1);
        capitalized(&both[both.find("next").unwrap_or_default()..])
    }

    /// Returns the default keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.keys.split_whitespace()
    }

    /// Limits an action of every screen to some contexts.
    const fn only_on(self, contexts: &'static [Context]) -> Binding {
        Binding { contexts, ..self }
    }

    /// Returns whether the action does something in a context.
    pub fn is_in(&self, context: Context) -> bool {
        let is_everywhere = self.contexts.is_empty() || self.contexts.contains(&context);
        self.context == context || self.context == Context::Global && is_everywhere
    }

    /// Limits the action to some views of a stream.
    const fn only_in(self, views: &'static [&'static str]) -> Binding {
        Binding { views, ..self }
    }

    /// Returns what its name in a view doesn't say.
    pub fn help_in(&self, view: Option<&str>) -> &'static str {
        let own = view.and_then(|view| self.own_name_in(view));
        own.map_or(self.help, |_| "")
    }

    /// Names the action in the views in which it does something of its own.
    const fn in_view(self, in_view: &'static [(&'static str, &'static str)]) -> Binding {
        Binding { in_view, ..self }
    }

    /// Returns whether the action works in a view of a stream.
    pub fn works_in(&self, view: &str) -> bool {
        self.views.is_empty() || self.views.contains(&view)
    }

    /// Returns what the action does in this view and in no other way elsewhere.
    pub fn own_name_in(&self, view: &str) -> Option<&'static str> {
        self.in_view
            .iter()
            .find(|(of, _)| *of == view)
            .map(|(_, name)| *name)
    }

    /// Names what the action needs besides its screen.
    const fn needs(self, needs: &'static str) -> Binding {
        Binding { needs, ..self }
    }

    /// Returns where the action works: "works on: a revision", "works in: Timeline", "works everywhere".
    pub fn scope(&self) -> String {
        let gap = if self.needs.is_empty() { "" } else { ", " };
        let scope = match self.views {
            [] if !self.action.is_of_list() => self.context.scope(),
            _ => format!("works in: {}", self.place()),
        };
        format!("{scope}{gap}{}", self.needs)
    }

    /// Returns its name with a key that has the action: "Cancel the run (x)".
    pub fn name_with(&self, key: &str) -> String {
        match key {
            "" => self.name().to_string(),
            key => format!("{} ({key})", self.name()),
        }
    }

    /// Returns where its key works, as the end of a sentence: "works only in Steps or Graph".
    pub fn place(&self) -> String {
        match self.views {
            _ if self.context != Context::Stream => self.context.place().to_string(),
            [] => self.context.place().to_string(),
            [only] => only.to_string(),
            [first @ .., last] => format!("{} or {last}", first.join(", ")),
        }
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
        let verb = match verb
            .strip_suffix('y')
            .filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u']))
        {
            Some(stem) => format!("{stem}ies"),
            None => format!("{verb}{ending}"),
        };
        // "Notify me" is said by the user, "notifies you" by Runtail.
        format!("{verb} {rest}")
            .replace(" me ", " you ")
            .trim_end()
            .to_string()
    }

    /// Replaces the label.
    const fn label(self, label: &'static str) -> Binding {
        Binding { label, ..self }
    }

    /// Says what the name doesn't.
    const fn help(self, help: &'static str) -> Binding {
        Binding { help, ..self }
    }

    /// Adds the row for the opposite direction.
    const fn back(self, id: &'static str, keys: &'static str, action: Action) -> Binding {
        let back = Some((id, keys, action));
        Binding { back, ..self }
    }

    /// Completes a row for its context: with its label, and with the row for the opposite direction. The table is made once, so
    /// its texts are never freed.
    fn rows(self, context: Context) -> impl Iterator<Item = Binding> {
        let labeled = |row: Binding| match row.label {
            "" => {
                let verb = row.name.split(' ').next().unwrap_or_default();
                row.label(verb.to_lowercase().leak())
            }
            _ => row,
        };
        let row = Binding { context, ..self };
        let back = row.back.map(|(id, keys, action)| Binding {
            id,
            keys,
            action,
            name: opposite(row.name).leak(),
            label: opposite(row.label).leak(),
            in_view: row
                .in_view
                .iter()
                .map(|(view, name)| (*view, &*opposite(name).leak()))
                .collect::<Vec<_>>()
                .leak(),
            back: None,
            is_back: true,
            ..row
        });
        [row].into_iter().chain(back).map(labeled)
    }
}

/// The rows of a file, by their context.
type Rows = &'static [(Context, &'static [Binding])];

const fn bind(id: &'static str, keys: &'static str, action: Action, name: &'static str) -> Binding {
    Binding {
        id,
        context: Context::Global,
        keys,
        action,
        name,
        label: "",
        help: "",
        writes: false,
        needs: "",
        contexts: &[],
        views: &[],
        in_view: &[],
        back: None,
        is_back: false,
    }
}

/// Creates the row of an action that writes, or opens something that does.
const fn write(
    id: &'static str,
    keys: &'static str,
    action: Action,
    name: &'static str,
) -> Binding {
    Binding {
        writes: true,
        ..bind(id, keys, action, name)
    }
}

/// Says that something works only in a place, and which key goes there, if one key does.
pub fn works_only(what: &str, place: &str, key: &str) -> String {
    let way = match key {
        "" => String::new(),
        key => format!(" Press {key} to go there."),
    };
    format!("{what} works only in {place}.{way}")
}

/// Returns the row with this id.
pub fn binding(id: &str) -> Option<&'static Binding> {
    BINDINGS.iter().find(|binding| binding.id == id)
}

/// All key bindings, in the order of the help screen.
pub static BINDINGS: LazyLock<Vec<Binding>> = LazyLock::new(|| {
    let parts = [
        global::ROWS,
        deployments::ROWS,
        server::ROWS,
        stream::ROWS,
        pages::ROWS,
        dialogs::ROWS,
        profiles::ROWS,
    ];
    let rows = |(context, rows): &(Context, &'static [Binding])| {
        let context = *context;
        rows.iter().flat_map(move |row| row.rows(context))
    };
    parts.into_iter().flatten().flat_map(rows).collect()
});
