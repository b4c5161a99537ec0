//! The help screen and the `:keys` page, both generated from the current keymap.

use super::action::Context;
use super::bindings::{BINDINGS, Binding};
use super::commands::Commands;
use super::key::Key;
use super::keymap::{Keymap, key_glyph};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::text_input;
use std::collections::BTreeSet;

/// The contexts with keys of their own, in the order of the help screen.
const CONTEXTS: [Context; 28] = {
    use Context::*;
    [
        Deployments,
        Revisions,
        Server,
        Stream,
        Inbox,
        Compare,
        Logs,
        Why,
        Answer,
        Card,
        Bisect,
        Report,
        Inspector,
        Modes,
        Composer,
        Editor,
        Confirm,
        Journal,
        Entry,
        Profiles,
        Browse,
        Records,
        Request,
        SignIn,
        Save,
        FirstRun,
        Help,
        Global,
    ]
};

/// Headings within a long list, each with the id of the row below it.
const SECTIONS: [(&str, &str); 6] = [
    ("stream.answer", "THIS THREAD"),
    ("stream.search", "FIND"),
    ("stream.follow", "TIME"),
    ("stream.messages", "VIEWS"),
    ("app.help", "EVERYWHERE"),
    ("move.up", "MOVE"),
];

/// The key of an action without one. It can be given one.
const NO_KEY: &str = "none";
/// Width of the id column in the table of all keys.
const ID_WIDTH: usize = 26;
/// Maximum columns of the keys of one row where the help has several columns. Other rows show only their first key.
const MAX_KEYS: usize = 9;

/// Maximum length of a sentence that describes two keys where there is little room.
const MAX_PAIR: usize = 31;

/// A line of the help: keys, and what they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpItem {
    /// The id of the action; `None` for a key of text fields.
    pub id: Option<&'static str>,
    /// All keys.
    pub keys: String,
    /// The first keys only, where there is little room.
    pub short_keys: String,
    /// What they do, in a few words.
    pub name: String,
    /// What they do, in a sentence.
    pub sentence: String,
}

/// Lines of the help with a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpGroup {
    pub title: String,
    pub items: Vec<HelpItem>,
}

/// Returns the contexts that the help shows, starting with the current one.
pub fn contexts(current: Context) -> impl Iterator<Item = Context> {
    let others = CONTEXTS
        .into_iter()
        .filter(move |context| *context != current && *context != Context::Global);
    std::iter::once(current).chain(others)
}

/// The screen that the help is about.
#[derive(Clone, Copy)]
pub struct HelpPlace<'p> {
    pub context: Context,
    /// The shown view of a stream.
    pub view: Option<&'static str>,
    /// Its commands.
    pub commands: &'p Commands,
}

/// Returns the help on a screen: its keys, and those that work everywhere. Each key is listed once, with what it does there.
pub fn help_groups(keymap: &Keymap, place: HelpPlace<'_>, ascii: bool) -> Vec<HelpGroup> {
    let title = place.view.unwrap_or(place.context.name());
    let mut groups = vec![HelpGroup {
        title: format!("HERE: {}", title.to_uppercase()),
        items: Vec::new(),
    }];
    let mut listed = BTreeSet::new();
    for context in [place.context, Context::Global] {
        for rows in rows(context) {
            let section = rows
                .first()
                .and_then(|row| SECTIONS.iter().find(|(id, _)| *id == row.id));
            if let Some((_, heading)) = section {
                groups.push(HelpGroup {
                    title: heading.to_string(),
                    items: Vec::new(),
                });
            }
            // What a view gives a meaning of its own is listed with the view.
            let is_own = own_name(&rows, place.view).is_some();
            let group = if is_own {
                groups.first_mut()
            } else {
                groups.last_mut()
            };
            if let Some(group) = group {
                group
                    .items
                    .extend(item(keymap, &rows, place, &mut listed, ascii));
            }
        }
        if context.is_typed_in() {
            let item = |(keys, help): &(&str, &str)| HelpItem {
                id: None,
                keys: keys.to_string(),
                // Beside other columns there is room for the first key.
                short_keys: keys
                    .split("  ")
                    .next()
                    .filter(|_| keys.len() > MAX_KEYS)
                    .unwrap_or(keys)
                    .to_string(),
                name: help.to_string(),
                sentence: help.to_string(),
            };
            let items = text_input::KEYS.iter().map(item).collect();
            groups.push(HelpGroup {
                title: "IN TEXT FIELDS".into(),
                items,
            });
        }
    }
    groups.retain(|group| !group.items.is_empty());
    groups
}

/// Returns the rows of a context. A row without a sentence belongs to the row before it.
fn rows(context: Context) -> Vec<Vec<&'static Binding>> {
    let mut rows: Vec<Vec<&Binding>> = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| binding.context == context) {
        match rows.last_mut().filter(|_| binding.help.is_empty()) {
            Some(before) => before.push(binding),
            None => rows.push(vec![binding]),
        }
    }
    rows
}

/// Returns what rows that share a sentence do in a view, if the view gives them a meaning of its own.
fn own_name(rows: &[&'static Binding], view: Option<&str>) -> Option<&'static str> {
    rows.first()?.own_name_in(view?)
}

impl HelpPlace<'_> {
    /// Returns the keys of a row that have its action here. A key of the screen hides the same key of every screen, and where
    /// text is typed, characters are text.
    fn keys(&self, keymap: &Keymap, row: &Binding) -> Vec<Key> {
        let is_text = |key: &Key| {
            row.context == Context::Global && self.context.is_typed_in() && key.text().is_some()
        };
        let has_action = |key: &Key| keymap.action(self.context, *key) == Some(row.action);
        keymap
            .keys_of(row.id)
            .iter()
            .copied()
            .filter(|key| has_action(key) && !is_text(key))
            .collect()
    }
}

/// Returns the line of rows that share a sentence. `listed`: the keys of the lines before.
fn item(
    keymap: &Keymap,
    rows: &[&'static Binding],
    place: HelpPlace<'_>,
    listed: &mut BTreeSet<Key>,
    ascii: bool,
) -> Option<HelpItem> {
    let mut bound: Vec<(&'static Binding, Vec<String>)> = Vec::new();
    for row in rows.iter().filter(|row| place.commands.has(row)) {
        let keys = place
            .keys(keymap, row)
            .into_iter()
            .filter(|key| listed.insert(*key));
        let keys: Vec<String> = keys.map(|key| key_glyph(key, ascii)).collect();
        // An action without a key is in the palette.
        if !keys.is_empty() {
            bound.push((row, keys));
        }
    }
    let (first, first_keys) = bound.first()?;
    let keys = joined(
        &bound
            .iter()
            .map(|(_, keys)| joined(keys))
            .collect::<Vec<_>>(),
    );
    let short_keys = match runtail_core::text::width(&keys) {
        0..=MAX_KEYS => keys.clone(),
        _ => match joined(
            &bound
                .iter()
                .filter_map(|(_, keys)| keys.first().cloned())
                .collect::<Vec<_>>(),
        ) {
            firsts if runtail_core::text::width(&firsts) > MAX_KEYS => {
                first_keys.first().cloned().unwrap_or(firsts)
            }
            firsts => firsts,
        },
    };
    let name = if bound.len() > 1 && first.help.len() <= MAX_PAIR {
        first.help
    } else {
        first.name()
    };
    let own = own_name(rows, place.view);
    let (name, sentence) = (
        own.unwrap_or(name).to_string(),
        own.unwrap_or(first.sentence()).to_string(),
    );
    Some(HelpItem {
        id: Some(first.id),
        keys,
        short_keys,
        name,
        sentence,
    })
}

/// Returns all current key bindings, below the problems of the configured ones. A sentence without room beside its keys is
/// below them.
pub fn table_lines(keymap: &Keymap, width: usize, ascii: bool) -> Vec<Line> {
    let problems = keymap
        .problems()
        .iter()
        .flat_map(|problem| wrap(problem, width));
    let mut lines: Vec<Line> = problems.map(|line| Line::bad(&line)).collect();
    if !lines.is_empty() {
        lines.push(Line::new());
    }
    for binding in BINDINGS.iter() {
        let keys = keys(keymap, binding, ascii);
        let own: Vec<String> = binding
            .keys()
            .filter_map(|key| Some(key_glyph(key.parse().ok()?, ascii)))
            .collect();
        let own = joined(&own);
        let changed = if keys == own {
            String::new()
        } else {
            format!("instead of {own}  ")
        };
        let line =
            Line::plain(&format!("{:<ID_WIDTH$}", binding.id)).with_accent(&format!("{keys:<23} "));
        let whole = line
            .clone()
            .with_moving(&changed)
            .with_dim(binding.sentence());
        if whole.width() <= width {
            lines.push(whole);
            continue;
        }
        lines.push(line);
        for (tone, text) in [
            (Tone::Moving, changed.trim_end()),
            (Tone::Dim, binding.sentence()),
        ] {
            let below = wrap(text, width.saturating_sub(ID_WIDTH))
                .into_iter()
                .filter(|part| !part.is_empty());
            lines.extend(
                below.map(|part| Line::of(tone, &format!("{}{part}", " ".repeat(ID_WIDTH)))),
            );
        }
    }
    lines
}

fn keys(keymap: &Keymap, binding: &Binding, ascii: bool) -> String {
    let keys: Vec<String> = keymap
        .keys_of(binding.id)
        .iter()
        .map(|key| key_glyph(*key, ascii))
        .collect();
    joined(&keys)
}

fn joined(keys: &[String]) -> String {
    if keys.is_empty() {
        NO_KEY.into()
    } else {
        keys.join("  ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The titles of the views of a stream.
    const VIEWS: [&str; 7] = [
        "Messages", "Steps", "State", "Timeline", "Graph", "Events", "Runs",
    ];

    fn commands_in(context: Context, view: Option<&str>) -> Commands {
        Commands::of(context).retain(|row| view.is_none_or(|view| row.works_in(view)))
    }

    /// Returns the help of every context, and of the stream in every view.
    fn all_helps(keymap: &Keymap) -> Vec<(Context, Option<&'static str>, Vec<HelpItem>)> {
        let views = VIEWS.iter().map(|view| (Context::Stream, Some(*view)));
        let places = contexts(Context::Stream)
            .map(|context| (context, None))
            .chain(views);
        let help = |(context, view)| {
            let groups = help_groups(
                keymap,
                HelpPlace {
                    context,
                    view,
                    commands: &commands_in(context, view),
                },
                false,
            );
            (
                context,
                view,
                groups.into_iter().flat_map(|group| group.items).collect(),
            )
        };
        places.map(help).collect()
    }

    #[test]
    fn each_listed_key_has_its_action_and_each_is_listed_once() {
        let keymap = Keymap::default();
        for (context, view, items) in all_helps(&keymap) {
            let (mut keys, mut ids, mut names) =
                (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
            for item in &items {
                let Some(id) = item.id else { continue };
                assert!(ids.insert(id), "{context:?} {view:?}: {id} twice");
                assert!(
                    names.insert(&item.name),
                    "{context:?} {view:?}: {} twice",
                    item.name
                );
                let of_line =
                    |row: &&Binding| row.context == context || row.context == Context::Global;
                for shown in item.keys.split("  ") {
                    let written = match shown {
                        "⏎" => "Enter",
                        "Shift-Tab" => "BackTab",
                        other => other,
                    };
                    let key: Key = written.parse().unwrap();
                    assert!(keys.insert(key), "{context:?} {view:?}: {shown} twice");
                    let action = keymap.action(context, key);
                    let mut rows = BINDINGS
                        .iter()
                        .filter(of_line)
                        .filter(|row| Some(row.action) == action);
                    assert!(
                        rows.any(|row| view.is_none_or(|view| row.works_in(view))),
                        "{context:?} {view:?}: {shown}"
                    );
                }
            }
        }
    }

    #[test]
    fn help_lists_every_key_of_its_context_and_everywhere() {
        let keymap = Keymap::default();
        for (context, view, items) in all_helps(&keymap) {
            let works =
                |row: &&Binding| view.is_none_or(|view| row.works_in(view)) && row.is_in(context);
            for row in BINDINGS.iter().filter(works) {
                let typed = |key: &&Key| {
                    context.is_typed_in() && row.context == Context::Global && key.text().is_some()
                };
                let own = keymap.keys_of(row.id).iter().filter(|key| !typed(key));
                for key in own.filter(|key| keymap.action(context, **key) == Some(row.action)) {
                    let shown = key_glyph(*key, false);
                    let is_listed = items
                        .iter()
                        .any(|item| item.keys.split("  ").any(|listed| listed == shown));
                    assert!(is_listed, "{context:?} {view:?}: {} {shown}", row.id);
                }
            }
        }
        for (id, _) in SECTIONS {
            assert!(BINDINGS.iter().any(|binding| binding.id == id), "{id}");
        }
        assert_eq!(contexts(Context::Stream).count(), CONTEXTS.len() - 1);
        let named = BINDINGS.iter().flat_map(|row| {
            row.views
                .iter()
                .copied()
                .chain(row.in_view.iter().map(|of| of.0))
        });
        named.for_each(|view| assert!(VIEWS.contains(&view), "{view}"));
    }

    #[test]
    fn a_view_lists_its_own_keys_first_and_none_of_other_views() {
        let keymap = Keymap::default();
        let here = |view: &'static str| {
            let groups = help_groups(
                &keymap,
                HelpPlace {
                    context: Context::Stream,
                    view: Some(view),
                    commands: &commands_in(Context::Stream, Some(view)),
                },
                false,
            );
            let lines = groups[0]
                .items
                .iter()
                .map(|item| format!("{} {}", item.short_keys, item.name));
            (groups[0].title.clone(), lines.collect::<Vec<String>>())
        };
        let (title, lines) = here("Timeline");
        assert_eq!(title, "HERE: TIMELINE");
        for line in ["⏎ Go to Messages", "]  [ Next or previous failure or run"] {
            assert!(lines.iter().any(|own| own == line), "{line}: {lines:#?}");
        }
        let (_, lines) = here("Graph");
        for line in [
            "⏎ Go to the last visit",
            "c Fold what is idle",
            "End  G Follow the running node",
            "Space Set a breakpoint",
        ] {
            assert!(lines.iter().any(|own| own == line), "{line}: {lines:#?}");
        }
        assert!(
            lines
                .iter()
                .all(|line| !line.contains("as received") && !line.contains("mark")),
            "{lines:#?}"
        );
        let (_, lines) = here("Steps");
        assert!(
            lines.iter().any(|line| line == "u Edit the state here"),
            "{lines:#?}"
        );
    }

    #[test]
    fn help_lines_fit_their_column() {
        let long: Vec<String> = all_helps(&Keymap::default())
            .into_iter()
            .flat_map(|(.., items)| items)
            .filter(|item| item.name.len() > 34 || item.keys.len() + item.sentence.len() > 100)
            .map(|item| format!("{}: {} {}", item.keys, item.name, item.sentence))
            .collect();
        assert!(long.is_empty(), "{}", long.join("\n"));
    }

    #[test]
    fn the_table_of_all_keys_has_whole_sentences_at_any_width() {
        let keys = |keys: &[&str]| keys.iter().map(|key| key.to_string()).collect();
        let odd = BTreeMap::from([
            ("stream.state".to_string(), keys(&["F2", "no such key"])),
            ("stream.explain".to_string(), keys(&["ctrl-Right"])),
        ]);
        let (keymap, problems) = Keymap::new(&odd);
        assert!(!problems.is_empty());
        for width in [56, 76, 136] {
            let lines = table_lines(&keymap, width, false);
            let long: Vec<String> = lines
                .iter()
                .filter(|line| line.width() > width)
                .map(Line::text)
                .collect();
            assert!(long.is_empty(), "wider than {width}:\n{}", long.join("\n"));
            let words: Vec<String> = lines
                .iter()
                .map(|line| line.text().trim().to_string())
                .collect();
            let said = words.join(" ");
            let lost: Vec<&str> = BINDINGS
                .iter()
                .map(Binding::sentence)
                .filter(|sentence| !said.contains(sentence))
                .collect();
            assert!(lost.is_empty(), "{width}: {lost:?}");
            assert!(said.contains("instead of e"), "{width}");
        }
    }

    #[test]
    fn help_shows_the_configured_keys() {
        let set = |id: &str, keys: &[&str]| {
            (
                id.to_string(),
                keys.iter().map(|key| key.to_string()).collect(),
            )
        };
        let changes = BTreeMap::from([
            set("stream.next_message", &["F2"]),
            set("stream.prev_message", &[]),
        ]);
        let (keymap, problems) = Keymap::new(&changes);
        assert_eq!(problems, Vec::<String>::new());
        let line_with = |lines: Vec<Line>, what: &str| {
            lines
                .iter()
                .map(Line::text)
                .find(|line| line.contains(what))
                .unwrap()
        };
        let groups = help_groups(
            &keymap,
            HelpPlace {
                context: Context::Stream,
                view: None,
                commands: &commands_in(Context::Stream, None),
            },
            false,
        );
        let mut items = groups.iter().flat_map(|group| &group.items);
        assert_eq!(
            items
                .find(|item| item.id == Some("stream.next_message"))
                .unwrap()
                .keys,
            "F2"
        );
        let line = line_with(table_lines(&keymap, 136, false), "stream.prev_message");
        assert!(
            line.contains("none") && line.contains("instead of ("),
            "{line}"
        );
    }
}
