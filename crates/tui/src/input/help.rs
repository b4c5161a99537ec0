//! The help screen and the `:keys` page, both generated from the current keymap.

use super::action::Context;
use super::bindings::{BINDINGS, Binding};
use super::keymap::{Keymap, key_glyph};
use crate::widgets::line::{Line, Tone, wrap};
use crate::widgets::text_input;

/// The contexts with keys of their own, in the order of the help screen.
const CONTEXTS: [Context; 26] = {
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
        Global,
    ]
};

/// Headings within a long list, each with the id of the row below it.
const SECTIONS: [(&str, &str); 3] = [
    ("stream.messages", "Stream: views"),
    ("stream.search", "Stream: navigation"),
    ("stream.compare", "Stream: State view"),
];

/// Width of the id column in the table of all keys.
const ID_WIDTH: usize = 26;

/// Minimum width for showing the id of each row.
const MIN_WIDTH_WITH_IDS: usize = 100;

/// Returns the lines of the help screen, starting with the current context. Two rows with one sentence share a line.
pub fn help_lines(keymap: &Keymap, current: Context, width: usize, ascii: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let others = CONTEXTS.into_iter().filter(|context| *context != current && *context != Context::Global);
    for context in [current, Context::Global].into_iter().chain(others) {
        let rows: Vec<(&Binding, String)> = rows(keymap, context, ascii);
        let widest = rows.iter().map(|(_, keys)| runtail_core::text::width(keys)).max().unwrap_or(0);
        for (n, (binding, keys)) in rows.into_iter().enumerate() {
            let section = SECTIONS.iter().find(|(id, _)| *id == binding.id).map(|(_, heading)| *heading);
            if let Some(heading) = section.or((n == 0).then(|| context.title())) {
                if !lines.is_empty() {
                    lines.push(Line::new());
                }
                lines.push(Line::of(Tone::Strong, heading));
            }
            let gap = " ".repeat(widest - runtail_core::text::width(&keys));
            let line = Line::of(Tone::Accent, &format!("  {keys}{gap}  ")).with(Tone::Plain, binding.help);
            lines.push(if width >= MIN_WIDTH_WITH_IDS { line.right(Tone::Dim, binding.id) } else { line });
        }
    }
    lines.extend([Line::new(), Line::of(Tone::Strong, "In text fields")]);
    let widest = text_input::KEYS.iter().map(|(keys, _)| keys.len()).max().unwrap_or(0);
    let row =
        |(keys, help): &(&str, &str)| Line::of(Tone::Accent, &format!("  {keys:widest$}  ")).with(Tone::Plain, help);
    lines.extend(text_input::KEYS.iter().map(row));
    lines
}

/// Returns the rows of a context. A row without a sentence adds its keys to the row before it.
fn rows(keymap: &Keymap, context: Context, ascii: bool) -> Vec<(&'static Binding, String)> {
    let mut rows: Vec<(&Binding, String)> = Vec::new();
    for binding in BINDINGS.iter().filter(|binding| binding.context == context) {
        let keys = keys(keymap, binding, ascii);
        match rows.last_mut().filter(|_| binding.help.is_empty()) {
            Some((_, before)) if !keys.is_empty() => *before = format!("{before}  {keys}").trim_start().to_string(),
            Some(_) => {}
            None => rows.push((binding, keys)),
        }
    }
    rows
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
    // An action without a key can be given one.
    if keys.is_empty() { "none".into() } else { keys.join("  ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_help_screen_lists_every_key_in_every_context() {
        let keymap = Keymap::default();
        for current in CONTEXTS {
            let lines = help_lines(&keymap, current, 136, false);
            assert_eq!(lines[0].text(), current.title());
            let text: Vec<String> = lines.iter().map(Line::text).collect();
            for binding in BINDINGS {
                let keys = keys(&keymap, binding, false);
                let previous = BINDINGS.iter().take_while(|b| b.id != binding.id).filter(|b| !b.help.is_empty()).last();
                let help = if binding.help.is_empty() { previous.map_or("", |b| b.help) } else { binding.help };
                let line = text.iter().any(|line| line.contains(&keys) && line.ends_with(help));
                assert!(line, "{} in {current:?}", binding.id);
            }
        }
        for (id, _) in SECTIONS {
            assert!(BINDINGS.iter().any(|binding| binding.id == id), "{id}");
        }
    }

    #[test]
    fn no_help_line_is_truncated() {
        for screen in [80, 104] {
            // A page uses the screen's width minus its margins.
            let width = screen - 4;
            let columns = |line: &Line| {
                line.width() + line.right.iter().map(|piece| runtail_core::text::width(&piece.text) + 2).sum::<usize>()
            };
            let long: Vec<String> = help_lines(&Keymap::default(), Context::Global, width, false)
                .into_iter()
                .filter(|line| columns(line) > width)
                .map(|line| format!("{} columns: {}", columns(&line), line.text()))
                .collect();
            assert!(long.is_empty(), "wider than {width}:\n{}", long.join("\n"));
        }
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
        let line = line_with(help_lines(&keymap, Context::Stream, 76, false), "Next or previous message");
        assert!(line.starts_with("  F2  ") && !line.contains(')'), "{line}");
        let line = line_with(table_lines(&keymap, 136, false), "stream.prev_message");
        assert!(line.contains("none") && line.contains("instead of ("), "{line}");
    }
}
