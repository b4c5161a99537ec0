//! The help screen and the `:keys` page, both generated from the current keymap.

use super::action::Context;
use super::bindings::{BINDINGS, Binding};
use super::commands::Commands;
use super::key::Key;
use super::keymap::{Keymap, key_glyph};
use crate::widgets::text_input;
use std::collections::BTreeSet;

/// Maximum number of lines that the help shows before "more".
pub const MAX_FIRST: usize = 25;

/// Headings within a long list, each with the id of the row below it, and how many of its lines are among the first ones if not
/// all have room. The head of the page shows the keys of the views.
const SECTIONS: [(&str, &str, usize); 6] = [
    ("stream.answer", "THIS THREAD", 7),
    ("stream.search", "FIND", 3),
    ("stream.follow", "TIME", 2),
    ("stream.messages", "VIEWS", 0),
    ("app.command", "EVERYWHERE", 4),
    ("move.up", "MOVE", 0),
];

/// Maximum columns of the keys of one row where the help has several columns. Other rows show only their first key.
const MAX_KEYS: usize = 5;

/// A line of the help: keys, and what they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpItem {
    /// The id of the action; `None` for a key of text fields.
    pub id: Option<&'static str>,
    /// All keys.
    pub keys: String,
    /// The first keys only, where there is little room.
    pub short_keys: String,
    /// What they do.
    pub name: String,
    /// What the name doesn't say.
    pub help: &'static str,
    /// Whether the help shows it first, or under "more".
    pub is_first: bool,
}

/// Lines of the help with a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelpGroup {
    pub title: String,
    pub items: Vec<HelpItem>,
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
                .and_then(|row| SECTIONS.iter().find(|(id, ..)| *id == row.id));
            if let Some((_, heading, _)) = section {
                groups.push(HelpGroup {
                    title: heading.to_string(),
                    items: Vec::new(),
                });
            }
            // What a view gives a meaning of its own is listed with the view.
            let own = |row: &&Binding| row.own_name_in(place.view?);
            let group = if rows.first().and_then(own).is_some() {
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
                short_keys: keys.split("  ").next().unwrap_or(keys).to_string(),
                name: help.to_string(),
                help: "",
                is_first: false,
            };
            let items = text_input::KEYS.iter().map(item).collect();
            groups.push(HelpGroup {
                title: "IN TEXT FIELDS".into(),
                items,
            });
        }
    }
    groups.retain(|group| !group.items.is_empty());
    mark_first(&mut groups, place.commands);
    groups
}

/// Marks the lines that the help shows first: those of the footer, then what works now, in the order of the table.
fn mark_first(groups: &mut [HelpGroup], commands: &Commands) {
    let hints = commands.hinted();
    let works = |item: &HelpItem| item.id.is_some_and(|id| commands.is_enabled(id));
    let share = |group: &HelpGroup| {
        let section = SECTIONS
            .iter()
            .find(|(_, heading, _)| *heading == group.title);
        section
            .map(|(.., share)| (*share).min(group.items.iter().filter(|item| works(item)).count()))
    };
    let shared: usize = groups.iter().filter_map(share).sum();
    let mut ranked: Vec<(usize, &mut HelpItem)> = Vec::new();
    for group in groups {
        // The keys of the screen get what the others leave.
        let share = share(group).unwrap_or(MAX_FIRST - shared);
        let mut used = 0;
        for item in &mut group.items {
            // The help needs no line about itself.
            let is_hinted =
                item.id != Some("app.help") && hints.iter().any(|(id, _)| Some(*id) == item.id);
            let rank = match works(item) {
                true if is_hinted => 0,
                true if used < share => 1,
                true if share > 0 => 2,
                true => 3,
                false => 4,
            };
            used += usize::from(rank < 2);
            ranked.push((rank, item));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    for (_, item) in ranked.into_iter().take(MAX_FIRST) {
        item.is_first = true;
    }
}

/// Returns the rows of a context. A row for the opposite direction belongs to the row before it.
fn rows(context: Context) -> Vec<Vec<&'static Binding>> {
    let mut rows: Vec<Vec<&Binding>> = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| binding.context == context) {
        match rows.last_mut().filter(|_| binding.is_back) {
            Some(before) => before.push(binding),
            None => rows.push(vec![binding]),
        }
    }
    rows
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

/// Returns the line of a row, or of a row with that for the opposite direction. `listed`: the keys of the lines before.
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
    let (first, _) = bound.first()?;
    let joined = |most| {
        let keys = bound.iter().flat_map(|(_, keys)| keys.iter().take(most));
        keys.map(String::as_str).collect::<Vec<_>>().join("  ")
    };
    let (keys, mut short_keys) = (joined(usize::MAX), joined(1));
    if runtail_core::text::width(&short_keys) > MAX_KEYS {
        short_keys.truncate(short_keys.find("  ").unwrap_or(short_keys.len()));
    }
    Some(HelpItem {
        id: Some(first.id),
        keys,
        short_keys,
        name: first.name_in(place.view, bound.len() > 1),
        help: first.help_in(place.view),
        is_first: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The titles of the views of a stream.
    const VIEWS: [&str; 7] = [
        "Messages", "Steps", "State", "Timeline", "Graph", "Events", "Runs",
    ];

    /// Returns the contexts with keys of their own.
    fn contexts() -> BTreeSet<Context> {
        let own = BINDINGS.iter().map(|row| row.context);
        own.filter(|context| *context != Context::Global).collect()
    }

    fn commands_in(context: Context, view: Option<&str>) -> Commands {
        Commands::of(context).retain(|row| view.is_none_or(|view| row.works_in(view)))
    }

    /// Returns the help of every context, and of the stream in every view.
    fn all_helps(keymap: &Keymap) -> Vec<(Context, Option<&'static str>, Vec<HelpItem>)> {
        let views = VIEWS.iter().map(|view| (Context::Stream, Some(*view)));
        let places = contexts()
            .into_iter()
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
        for (id, ..) in SECTIONS {
            assert!(BINDINGS.iter().any(|binding| binding.id == id), "{id}");
        }
        let named = BINDINGS.iter().flat_map(|row| {
            row.views
                .iter()
                .copied()
                .chain(row.in_view.iter().map(|of| of.0))
        });
        named.for_each(|view| assert!(VIEWS.contains(&view), "{view}"));
    }

    #[test]
    fn the_help_first_shows_at_most_25_lines_that_work_now() {
        for (context, view, items) in all_helps(&Keymap::default()) {
            let first = items.iter().filter(|item| item.is_first);
            let most = items.len().min(MAX_FIRST);
            assert_eq!(first.clone().count(), most, "{context:?} {view:?}");
            let has = |id: &str| first.clone().any(|item| item.id == Some(id));
            let hinted = commands_in(context, view).hinted().into_iter();
            for (id, _) in hinted.filter(|(id, _)| *id != "app.help") {
                // The second row of a line is a part of the first.
                let is_line = items.iter().any(|item| item.id == Some(id));
                assert!(has(id) || !is_line, "{context:?} {view:?}: {id}");
            }
            let is_typed = context.is_typed_in();
            let has_line = items.iter().any(|item| item.id == Some("app.back"));
            assert!(has("app.back") || !has_line, "{context:?} {view:?}");
            assert!(has("app.command") || is_typed, "{context:?} {view:?}");
            if view.is_some() {
                assert!(has("stream.search") && has("stream.cancel"), "{view:?}");
            }
        }
        // What does nothing now isn't among the first.
        let commands = commands_in(Context::Stream, Some("Messages"));
        let idle = commands.enable_if(false, &["stream.cancel", "stream.answer"]);
        let groups = help_groups(
            &Keymap::default(),
            HelpPlace {
                context: Context::Stream,
                view: Some("Messages"),
                commands: &idle,
            },
            false,
        );
        let items = groups.iter().flat_map(|group| &group.items);
        for item in items.filter(|item| item.is_first) {
            let works = item.id.is_some_and(|id| idle.is_enabled(id));
            assert!(works, "{}", item.name);
        }
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
            "End Follow the running node",
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
            .filter(|item| {
                item.name.len() > 34 || item.keys.len() + item.name.len() + item.help.len() > 98
            })
            .map(|item| format!("{}: {} {}", item.keys, item.name, item.help))
            .collect();
        assert!(long.is_empty(), "{}", long.join("\n"));
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
    }
}
