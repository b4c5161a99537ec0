//! Searching a document's keys and values.

use super::{Kind, Node, Tree, unquote};
use crate::app::filter::Needle;
use crate::app::scroll::Spot;
use std::borrow::Cow;

/// What is searched for, and where it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Search {
    pub(super) text: String,
    /// Nodes whose key or plain value contains the text, in their order.
    pub(super) found: Vec<u32>,
    /// Which of them was gone to.
    pub(super) at: usize,
}

impl Tree {
    /// What is searched for.
    pub fn search_text(&self) -> &str {
        &self.search.text
    }

    /// Which place of how many the search stands at, counted from 1; nothing where nothing is searched for.
    pub fn search_place(&self) -> Option<(usize, usize)> {
        let Search { text, found, at } = &self.search;
        (!text.is_empty()).then_some((if found.is_empty() { 0 } else { at + 1 }, found.len()))
    }

    /// Searches keys and plain values for a text, whatever its case, and goes to the first place from the cursor on.
    pub fn search(&mut self, text: &str) {
        let wanted = Needle::new(text);
        let holds = |node: &Node| {
            let has = |range: (u32, u32)| wanted.is_in(&plain(self.doc.slice(range)));
            has(node.key) || (matches!(node.kind, Kind::Text | Kind::Other) && has(node.value))
        };
        let found: Vec<u32> = match wanted.is_empty() {
            true => Vec::new(),
            false => (0u32..).zip(&self.doc.nodes).filter(|(_, node)| holds(node)).map(|(i, _)| i).collect(),
        };
        let here = self.under_cursor().unwrap_or(0);
        let at = found.iter().position(|i| *i >= here).unwrap_or(0);
        self.search = Search { text: text.to_string(), found, at };
        self.go_to_match();
    }

    /// Goes to the next place, or to the one before, round the ends.
    pub fn next_match(&mut self, forward: bool) {
        let count = self.search.found.len();
        if count > 0 {
            self.search.at = (self.search.at + if forward { 1 } else { count - 1 }) % count;
            self.go_to_match();
        }
    }

    /// Puts the cursor on the place that the search stands at, unfolding what hides it.
    fn go_to_match(&mut self) {
        let Some(&target) = self.search.found.get(self.search.at) else { return };
        let hides = |i: &u32| self.doc.nodes[*i as usize].next > target && self.is_container(*i) && self.is_folded(*i);
        let folded: Vec<u64> = (0..target).filter(hides).map(|i| self.doc.nodes[i as usize].path).collect();
        if !folded.is_empty() {
            for path in folded {
                if !self.toggled.remove(&path) {
                    self.toggled.insert(path);
                }
            }
            self.refold();
        }
        if let Ok(row) = self.visible.binary_search(&target) {
            self.place.cursor = Spot { key: row as u64, line: 0 };
            self.go_into_text(target);
        }
    }

    /// A text that is longer than its line is shown whole where the match is, with the cursor on the match's line.
    fn go_into_text(&mut self, target: u32) {
        let node = &self.doc.nodes[target as usize];
        let (path, value) = (node.path, self.doc.slice(node.value));
        if node.kind != Kind::Text || value.len() <= self.width {
            return;
        }
        let wanted = Needle::new(&self.search.text);
        let Some(line) = self.wrapped(target).iter().position(|line| wanted.is_in(line)) else { return };
        if self.toggled.insert(path) {
            self.refold();
        }
        self.place.cursor.line = line + 1;
    }
}

/// A key or a value as it is read: a string without its quotes and, where it has any, its escapes.
fn plain(raw: &str) -> Cow<'_, str> {
    match raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if memchr::memchr(b'\\', inner.as_bytes()).is_none() => Cow::Borrowed(inner),
        Some(_) => Cow::Owned(unquote(raw)),
        None => Cow::Borrowed(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_unfolds_what_it_finds_and_goes_round() {
        let items: Vec<String> = (0..80).map(|n| format!(r#"{{"name":"x{n}","deep":{{"Key":{n}}}}}"#)).collect();
        let mut tree = Tree::new(format!(r#"{{"a":[{}],"key":"KEY"}}"#, items.join(",")).into());
        tree.search("x77");
        assert_eq!((tree.search_place(), tree.value_under_cursor()), (Some((1, 1)), Some("x77".into())));
        tree.search("key");
        let (_, count) = tree.search_place().unwrap();
        assert_eq!(count, 81, "from the cursor on, whatever the case");
        assert_eq!(tree.value_under_cursor().as_deref(), Some("77"));
        (0..3).for_each(|_| tree.next_match(true));
        assert_eq!(tree.value_under_cursor().as_deref(), Some("KEY"));
        tree.next_match(true);
        assert_eq!(tree.value_under_cursor().as_deref(), Some("0"), "round the end");
        tree.next_match(false);
        assert_eq!(tree.value_under_cursor().as_deref(), Some("KEY"));
        tree.search("nowhere");
        assert_eq!(tree.search_place(), Some((0, 0)));
        tree.next_match(true);
    }

    #[test]
    fn a_match_deep_in_a_long_text_is_gone_to() {
        let text = format!("{}the needle{}", "hay ".repeat(2_000), " hay".repeat(2_000));
        let mut tree = Tree::new(serde_json::json!({"id": 1, "message": text}).to_string().into());
        tree.prepare(60, 10);
        tree.search("needle");
        tree.prepare(60, 10);
        let spot = tree.place.cursor;
        let shown: String = tree.line(spot).left.iter().map(|piece| piece.text.as_str()).collect();
        assert!(spot.line > 50 && shown.contains("needle"), "{spot:?} {shown}");
        assert!(tree.place.top.line > 40, "and it is on the screen: {:?}", tree.place);
        // A match in the key needs no text.
        tree.search("message");
        assert_eq!(tree.search_place(), Some((1, 1)));
    }

    #[test]
    fn what_is_written_with_escapes_is_found_as_it_is_read() {
        let text = r#"{"a":"caf\u00e9 \"au lait\"","\u00c9t\u00e9":1,"b":"one\ntwo","c":"\ud83d\ude00","d":"c:\\temp","e":"CAFÉ","f":-1.5e3}"#;
        for (wanted, found) in [
            ("CAFÉ", 2),
            ("é \"AU", 1),
            ("été", 1),
            ("e\nt", 1),
            ("ntwo", 0),
            ("u00e9", 0),
            ("😀", 1),
            (r"c:\temp", 1),
            (r"\\", 0),
            ("\"", 1),
            ("-1.5E3", 1),
        ] {
            let mut tree = Tree::new(text.into());
            tree.search(wanted);
            assert_eq!(tree.search_place().map(|(_, count)| count), Some(found), "{wanted}");
        }
    }
}
