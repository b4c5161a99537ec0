//! The page of all key bindings: `:keys`.

use crate::input::keymap::{BINDINGS, Binding, Keymap, key_glyph};
use crate::session::{Cx, Page};
use crate::widgets::line::{Line, Tone, wrap};

/// Width of the id column.
const ID_WIDTH: usize = 26;

/// The page of all key bindings.
#[derive(Debug, Clone)]
pub struct KeysPage;

impl Page for KeysPage {
    fn title(&self, _cx: &Cx<'_>) -> (&'static str, String) {
        ("Key bindings", String::new())
    }

    fn lines(&self, cx: &Cx<'_>, width: usize) -> Vec<Line> {
        table_lines(&cx.session.keymap, width, cx.session.settings.ascii)
    }
}

/// Returns all current key bindings, below the problems of the configured ones. A sentence without room beside its keys is
/// below them.
fn table_lines(keymap: &Keymap, width: usize, ascii: bool) -> Vec<Line> {
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
        let sentence = binding.sentence();
        let line =
            Line::plain(&format!("{:<ID_WIDTH$}", binding.id)).with_accent(&format!("{keys:<23} "));
        let whole = line.clone().with_moving(&changed).with_dim(&sentence);
        if whole.width() <= width {
            lines.push(whole);
            continue;
        }
        lines.push(line);
        for (tone, text) in [(Tone::Moving, changed.trim_end()), (Tone::Dim, &sentence)] {
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
    match keys {
        // An action without a key can be given one.
        [] => "none".into(),
        keys => keys.join("  "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_table_of_all_keys_has_whole_sentences_at_any_width() {
        let keys = |keys: &[&str]| keys.iter().map(|key| key.to_string()).collect();
        let odd = BTreeMap::from([
            ("stream.state".to_string(), keys(&["F2", "no such key"])),
            ("stream.explain".to_string(), keys(&["ctrl-Right"])),
            ("stream.prev_message".to_string(), Vec::new()),
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
            let lost: Vec<String> = BINDINGS
                .iter()
                .map(Binding::sentence)
                .filter(|sentence| !said.contains(sentence))
                .collect();
            assert!(lost.is_empty(), "{width}: {lost:?}");
            assert!(said.contains("instead of e"), "{width}");
            assert!(said.contains("instead of ("), "{width}");
        }
    }
}
