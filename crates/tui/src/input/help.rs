//! The help screen and the `:keys` page, both generated from the current keymap.

use super::action::Context;
use super::bindings::{BINDINGS, Binding};
use super::keymap::{Keymap, key_glyph};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::text_input;

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
        Glance,
        Logs,
        Why,
        Answer,
        Card,
        Bisect,
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
    let others = CONTEXTS.into_iter().filter(move |context| *context != current && *context != Context::Global);
    std::iter::once(current).chain(others)
}

/// Returns the help on a context: its keys, and those that work everywhere. `view`: the shown view of a stream.
pub fn help_groups(keymap: &Keymap, context: Context, view: Option<&str>, ascii: bool) -> Vec<HelpGroup> {
    let title = match view {
        Some(view) => format!("HERE: {}", view.to_uppercase()),
        None => format!("HERE: {}", context.name().to_uppercase()),
    };
    let mut groups = vec![HelpGroup { title, items: Vec::new() }];
    for context in [context, Context::Global] {
        for rows in rows(keymap, context) {
            let section = rows.first().and_then(|row| SECTIONS.iter().find(|(id, _)| *id == row.id));
            if let Some((_, heading)) = section {
                groups.push(HelpGroup { title: heading.to_string(), items: Vec::new() });
            }
            if let Some(group) = groups.last_mut() {
                group.items.extend(item(keymap, &rows, ascii));
            }
        }
        if is_typed_in(context) {
            let item = |(keys, help): &(&str, &str)| HelpItem {
                id: None,
                keys: keys.to_string(),
                short_keys: keys.to_string(),
                name: help.to_string(),
                sentence: help.to_string(),
            };
            let items = text_input::KEYS.iter().map(item).collect();
            groups.push(HelpGroup { title: "IN TEXT FIELDS".into(), items });
        }
    }
    groups.retain(|group| !group.items.is_empty());
    groups
}

/// Returns whether a context has text fields.
fn is_typed_in(context: Context) -> bool {
    matches!(context, Context::Composer | Context::Editor | Context::Answer | Context::Confirm)
}

/// Returns the rows of a context. A row without a sentence belongs to the row before it.
fn rows(keymap: &Keymap, context: Context) -> Vec<Vec<&'static Binding>> {
    let mut rows: Vec<Vec<&Binding>> = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| binding.context == context) {
        let is_bound = !keymap.keys_of(binding.id).is_empty();
        match rows.last_mut().filter(|_| binding.help.is_empty()) {
            Some(before) if is_bound => before.push(binding),
            Some(_) => {}
            None => rows.push(vec![binding]),
        }
    }
    rows
}

/// Returns the line of rows that share a sentence.
fn item(keymap: &Keymap, rows: &[&'static Binding], ascii: bool) -> Option<HelpItem> {
    // An action without a key is in the palette.
    let first = rows.iter().find(|row| !keymap.keys_of(row.id).is_empty())?;
    let all: Vec<String> = rows.iter().map(|row| keys(keymap, row, ascii)).filter(|keys| keys != NO_KEY).collect();
    let each = |row: &&'static Binding| keymap.keys_of(row.id).first().map(|key| key_glyph(*key, ascii));
    let keys = joined(&all);
    let short_keys = match runtail_core::text::width(&keys) {
        0..=MAX_KEYS => keys.clone(),
        _ => match joined(&rows.iter().filter_map(each).collect::<Vec<_>>()) {
            firsts if runtail_core::text::width(&firsts) > MAX_KEYS => each(first).unwrap_or(firsts),
            firsts => firsts,
        },
    };
    let name = if rows.len() > 1 && first.help.len() <= MAX_PAIR { first.help } else { first.name() };
    let sentence = first.sentence().to_string();
    Some(HelpItem { id: Some(first.id), keys, short_keys, name: name.to_string(), sentence })
}

/// Returns all current key bindings, below the problems of the configured ones. A sentence without room beside its keys is
/// below them.
pub fn table_lines(keymap: &Keymap, width: usize, ascii: bool) -> Vec<Line> {
    let problems = keymap.problems().iter().flat_map(|problem| wrap(problem, width));
    let mut lines: Vec<Line> = problems.map(|line| Line::of(Tone::Bad, &line)).collect();
    if !lines.is_empty() {
        lines.push(Line::new());
    }
    for binding in BINDINGS {
        let keys = keys(keymap, binding, ascii);
        let own: Vec<String> =
            binding.keys.iter().filter_map(|key| Some(key_glyph(key.parse().ok()?, ascii))).collect();
        let own = joined(&own);
        let changed = if keys == own { String::new() } else { format!("instead of {own}  ") };
        let line =
            Line::of(Tone::Plain, &format!("{:<ID_WIDTH$}", binding.id)).with(Tone::Accent, &format!("{keys:<23} "));
        let whole = line.clone().with(Tone::Moving, &changed).with(Tone::Dim, binding.sentence());
        if whole.width() <= width {
            lines.push(whole);
            continue;
        }
        lines.push(line);
        for (tone, text) in [(Tone::Moving, changed.trim_end()), (Tone::Dim, binding.sentence())] {
            let below = wrap(text, width.saturating_sub(ID_WIDTH)).into_iter().filter(|part| !part.is_empty());
            lines.extend(below.map(|part| Line::of(tone, &format!("{}{part}", " ".repeat(ID_WIDTH)))));
        }
    }
    lines
}

fn keys(keymap: &Keymap, binding: &Binding, ascii: bool) -> String {
    let keys: Vec<String> = keymap.keys_of(binding.id).iter().map(|key| key_glyph(*key, ascii)).collect();
    joined(&keys)
}

fn joined(keys: &[String]) -> String {
    if keys.is_empty() { NO_KEY.into() } else { keys.join("  ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn help_lists_every_key_of_its_context_and_everywhere() {
        let keymap = Keymap::default();
        for context in contexts(Context::Stream) {
            let groups = help_groups(&keymap, context, None, false);
            let items: Vec<&HelpItem> = groups.iter().flat_map(|group| &group.items).collect();
            for row in BINDINGS.iter().filter(|row| row.context == context || row.context == Context::Global) {
                let own = keys(&keymap, row, false);
                assert!(own == NO_KEY || items.iter().any(|item| item.keys.contains(&own)), "{}", row.id);
            }
        }
        for (id, _) in SECTIONS {
            assert!(BINDINGS.iter().any(|binding| binding.id == id), "{id}");
        }
        assert_eq!(contexts(Context::Stream).count(), CONTEXTS.len() - 1);
    }

    #[test]
    fn help_lines_fit_their_column() {
        let long: Vec<String> = contexts(Context::Stream)
            .flat_map(|context| help_groups(&Keymap::default(), context, None, false))
            .flat_map(|group| group.items)
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
            let long: Vec<String> = lines.iter().filter(|line| line.width() > width).map(Line::text).collect();
            assert!(long.is_empty(), "wider than {width}:\n{}", long.join("\n"));
            let words: Vec<String> = lines.iter().map(|line| line.text().trim().to_string()).collect();
            let said = words.join(" ");
            let lost: Vec<&str> =
                BINDINGS.iter().map(Binding::sentence).filter(|sentence| !said.contains(sentence)).collect();
            assert!(lost.is_empty(), "{width}: {lost:?}");
            assert!(said.contains("instead of e"), "{width}");
        }
    }

    #[test]
    fn help_shows_the_configured_keys() {
        let set = |id: &str, keys: &[&str]| (id.to_string(), keys.iter().map(|key| key.to_string()).collect());
        let changes = BTreeMap::from([set("stream.next_message", &["F2"]), set("stream.prev_message", &[])]);
        let (keymap, problems) = Keymap::new(&changes);
        assert_eq!(problems, Vec::<String>::new());
        let line_with =
            |lines: Vec<Line>, what: &str| lines.iter().map(Line::text).find(|line| line.contains(what)).unwrap();
        let groups = help_groups(&keymap, Context::Stream, None, false);
        let mut items = groups.iter().flat_map(|group| &group.items);
        assert_eq!(items.find(|item| item.id == Some("stream.next_message")).unwrap().keys, "F2");
        let line = line_with(table_lines(&keymap, 136, false), "stream.prev_message");
        assert!(line.contains("none") && line.contains("instead of ("), "{line}");
    }
}
