//! A JSON document as a tree that can be folded and scrolled. The text is indexed once, without recursion, into a flat
//! list of nodes; nothing is copied and only the lines on the screen are ever made.

mod search;

use super::line::{Line, Tone, wrap};
use super::scroll::{Place, Rows, Spot};
use crate::text;
use search::Search;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Nodes from this depth on start folded in a document longer than [`SMALL`].
const FOLD_DEPTH: u16 = 2;
/// A document of up to this many nodes starts unfolded.
const SMALL: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Object,
    Array,
    Text,
    Other,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    depth: u16,
    /// The key's bytes with their quotes; empty in arrays and at the root.
    key: (u32, u32),
    /// The value's bytes.
    value: (u32, u32),
    /// Children of a container.
    children: u32,
    /// Position among its siblings.
    index: u32,
    /// The node after this one's whole subtree.
    next: u32,
    /// Hash of the path from the root, by which folding survives a newer state.
    path: u64,
}

/// An indexed JSON text.
#[derive(Debug, Clone)]
pub struct Doc {
    text: Arc<str>,
    nodes: Vec<Node>,
}

impl Doc {
    /// Indexes a text. A text that is no JSON becomes one node that holds it as it is.
    pub fn new(text: Arc<str>) -> Doc {
        let nodes = index(&text).unwrap_or_else(|| {
            let all = (0, u32::try_from(text.len()).unwrap_or(u32::MAX));
            vec![Node { kind: Kind::Other, depth: 0, key: (0, 0), value: all, children: 0, index: 0, next: 1, path: 0 }]
        });
        Doc { text, nodes }
    }

    fn slice(&self, range: (u32, u32)) -> &str {
        self.text.get(range.0 as usize..range.1 as usize).unwrap_or("")
    }
}

/// One pass over the bytes. The text has been checked to be JSON before, so what is not expected ends the pass.
fn index(text: &str) -> Option<Vec<Node>> {
    let bytes = text.as_bytes();
    if bytes.len() > u32::MAX as usize {
        return None;
    }
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    let mut key = (0u32, 0u32);
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => i += 1,
            b'}' | b']' => {
                let at = open.pop()? as usize;
                nodes[at].value.1 = (i + 1) as u32;
                nodes[at].next = nodes.len() as u32;
                i += 1;
            }
            first => {
                let in_object = open.last().is_some_and(|p| nodes[*p as usize].kind == Kind::Object);
                if in_object && key == (0, 0) {
                    if first != b'"' {
                        return None;
                    }
                    let end = string_end(bytes, i)?;
                    key = (i as u32, end as u32);
                    i = end;
                    continue;
                }
                let (kind, end) = match first {
                    b'{' => (Kind::Object, i + 1),
                    b'[' => (Kind::Array, i + 1),
                    b'"' => (Kind::Text, string_end(bytes, i)?),
                    _ => {
                        let stop = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                        (Kind::Other, bytes[i..].iter().position(stop).map_or(bytes.len(), |n| i + n))
                    }
                };
                let (position, parent_path) = match open.last() {
                    Some(p) => {
                        let parent = &mut nodes[*p as usize];
                        parent.children += 1;
                        (parent.children - 1, parent.path)
                    }
                    None => (0, 0),
                };
                let mut hasher = DefaultHasher::new();
                parent_path.hash(&mut hasher);
                if key == (0, 0) {
                    position.hash(&mut hasher)
                } else {
                    bytes[key.0 as usize..key.1 as usize].hash(&mut hasher)
                }
                let me = nodes.len() as u32;
                nodes.push(Node {
                    kind,
                    depth: u16::try_from(open.len()).unwrap_or(u16::MAX),
                    key,
                    value: (i as u32, end as u32),
                    children: 0,
                    index: position,
                    next: me + 1,
                    path: hasher.finish(),
                });
                key = (0, 0);
                if matches!(kind, Kind::Object | Kind::Array) {
                    open.push(me);
                }
                i = end;
            }
        }
    }
    (open.is_empty() && !nodes.is_empty()).then_some(nodes)
}

fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut i = start + 1;
    loop {
        i += memchr::memchr2(b'"', b'\\', bytes.get(i..)?)?;
        if bytes[i] == b'"' {
            return Some(i + 1);
        }
        i += 2;
    }
}

/// A document on the screen: what is folded, what is shown whole, and where the reader is.
#[derive(Debug, Clone)]
pub struct Tree {
    doc: Doc,
    /// Paths whose folding differs from the start's.
    toggled: HashSet<u64>,
    /// Indices of the nodes that have a line, in order.
    visible: Vec<u32>,
    heights: Vec<u32>,
    /// The lines of the texts that are shown whole, by node.
    whole: HashMap<u32, Vec<String>>,
    width: usize,
    base: Fold,
    search: Search,
    /// Where the reader is.
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Start,
    All,
    None,
}

impl Tree {
    /// A tree over a text, folded as a first look wants it.
    pub fn new(text: Arc<str>) -> Tree {
        let mut tree = Tree {
            doc: Doc::new(text),
            toggled: HashSet::new(),
            visible: Vec::new(),
            heights: Vec::new(),
            whole: HashMap::new(),
            width: 0,
            base: Fold::Start,
            search: Search::default(),
            place: Place::at_start(),
        };
        tree.relayout(80);
        tree
    }

    /// Takes another text in the place of the old one; what was folded by path stays so.
    pub fn replace(&mut self, text: Arc<str>) {
        self.doc = Doc::new(text);
        self.search.found.clear();
        self.refold();
    }

    /// Lays out for a width, where it changed.
    pub fn prepare(&mut self, width: usize, height: usize) {
        if width != self.width {
            self.relayout(width);
        }
        let mut place = self.place;
        place.fill(&*self, height);
        self.place = place;
    }

    fn relayout(&mut self, width: usize) {
        self.width = width.max(10);
        self.refold();
    }

    fn refold(&mut self) {
        self.visible.clear();
        self.heights.clear();
        self.whole.clear();
        let mut i = 0u32;
        while let Some(node) = self.doc.nodes.get(i as usize) {
            self.visible.push(i);
            let mut lines = 1;
            if self.shown_whole(i) {
                let text = self.wrapped(i);
                lines += text.len() as u32;
                self.whole.insert(i, text);
            }
            self.heights.push(lines);
            i = if self.is_container(i) && self.is_folded(i) { node.next } else { i + 1 };
        }
    }

    fn is_container(&self, i: u32) -> bool {
        let node = &self.doc.nodes[i as usize];
        matches!(node.kind, Kind::Object | Kind::Array) && node.children > 0
    }

    fn is_folded(&self, i: u32) -> bool {
        let node = &self.doc.nodes[i as usize];
        let start = match self.base {
            Fold::Start => self.doc.nodes.len() > SMALL && node.depth >= FOLD_DEPTH,
            Fold::All => node.depth >= 1,
            Fold::None => false,
        };
        start != self.toggled.contains(&node.path)
    }

    /// Long texts are cut at the line's end until somebody asks for the whole.
    fn shown_whole(&self, i: u32) -> bool {
        self.doc.nodes[i as usize].kind == Kind::Text && self.toggled.contains(&self.doc.nodes[i as usize].path)
    }

    fn wrapped(&self, i: u32) -> Vec<String> {
        let node = &self.doc.nodes[i as usize];
        let indent = 2 * (node.depth as usize).min(20) + 4;
        wrap(&unquote(self.doc.slice(node.value)), self.width.saturating_sub(indent))
    }

    fn under_cursor(&self) -> Option<u32> {
        self.visible.get(self.place.cursor.key as usize).copied()
    }

    /// Folds or unfolds what is under the cursor, or shows a text whole and back.
    pub fn toggle(&mut self) {
        if let Some(i) = self.under_cursor()
            && (self.is_container(i) || self.doc.nodes[i as usize].kind == Kind::Text)
        {
            let path = self.doc.nodes[i as usize].path;
            if !self.toggled.remove(&path) {
                self.toggled.insert(path);
            }
            self.place.cursor.line = 0;
            self.refold();
        }
    }

    /// Unfolds what is under the cursor.
    pub fn unfold(&mut self) {
        if let Some(i) = self.under_cursor()
            && self.is_container(i)
            && self.is_folded(i)
        {
            self.toggle();
        }
    }

    /// Folds what is under the cursor or, where it is folded, goes to its parent.
    pub fn fold(&mut self) {
        let Some(i) = self.under_cursor() else { return };
        if (self.is_container(i) && !self.is_folded(i)) || self.shown_whole(i) {
            return self.toggle();
        }
        let depth = self.doc.nodes[i as usize].depth;
        let at = self.place.cursor.key as usize;
        if let Some(parent) = (0..at).rev().find(|p| self.doc.nodes[self.visible[*p] as usize].depth < depth) {
            self.place.cursor = Spot { key: parent as u64, line: 0 };
        }
    }

    /// Folds everything below the first level, or unfolds everything.
    pub fn fold_all(&mut self, fold: bool) {
        self.base = if fold { Fold::All } else { Fold::None };
        self.toggled.clear();
        self.refold();
        self.place = Place::at_start();
    }

    /// The text of the value under the cursor: what copy gives (a string without its quotes).
    pub fn value_under_cursor(&self) -> Option<String> {
        let node = &self.doc.nodes[self.under_cursor()? as usize];
        let raw = self.doc.slice(node.value);
        Some(if node.kind == Kind::Text { unquote(raw) } else { raw.to_string() })
    }

    /// One line of the tree.
    pub fn line(&self, spot: Spot) -> Line {
        let Some(&i) = self.visible.get(spot.key as usize) else { return Line::new() };
        let node = &self.doc.nodes[i as usize];
        let indent = "  ".repeat((node.depth as usize).min(20));
        if spot.line > 0 {
            let text = self.whole.get(&i).and_then(|lines| lines.get(spot.line - 1)).map_or("", String::as_str);
            return Line::of(Tone::Plain, &format!("{indent}    {text}"));
        }
        let mark = match (self.is_container(i), self.is_container(i) && self.is_folded(i)) {
            (true, true) => "▸ ",
            (true, false) => "▾ ",
            _ => "  ",
        };
        let mut line = Line::of(Tone::Dim, &format!("{indent}{mark}"));
        if node.key != (0, 0) {
            line.push(Tone::Accent, &unquote(self.doc.slice(node.key)));
            line.push(Tone::Dim, ": ");
        } else if node.depth > 0 {
            line.push(Tone::Dim, &format!("{}: ", node.index));
        }
        let size = (node.value.1 - node.value.0) as u64;
        match node.kind {
            Kind::Object | Kind::Array => {
                let (brackets, noun) = if node.kind == Kind::Object { ("{}", "field") } else { ("[]", "item") };
                if node.children == 0 {
                    line.push(Tone::Dim, brackets);
                } else {
                    let s = if node.children == 1 { "" } else { "s" };
                    let weight = if size > 1000 { format!(", {}", text::bytes(size)) } else { String::new() };
                    line.push(Tone::Dim, &format!("{} {noun}{s}{weight}", text::count(node.children.into())));
                }
            }
            Kind::Text => {
                if self.shown_whole(i) {
                    line.push(Tone::Dim, &format!("text, {}", text::bytes(size.saturating_sub(2))));
                } else {
                    let raw = self.doc.slice(node.value);
                    let room = self.width.saturating_sub(line.width());
                    // A value is at most six bytes a column once unescaped; more than that is never on the line.
                    let head =
                        raw.get(..raw.len().min(room * 6 + 16)).map_or_else(|| head_of(raw, room * 6), str::to_string);
                    let value = text::clean(&unquote(&head)).into_owned();
                    if text::width(&value) > room || head.len() < raw.len() {
                        let more = format!("  {}", text::bytes(size.saturating_sub(2)));
                        line.push(Tone::Plain, &text::fit(&value, room.saturating_sub(text::width(&more))));
                        line.push(Tone::Dim, &more);
                    } else {
                        line.push(Tone::Plain, if value.is_empty() { "\"\"" } else { &value });
                    }
                }
            }
            Kind::Other => {
                let raw = self.doc.slice(node.value);
                let tone = match raw {
                    "true" | "false" => Tone::Moving,
                    "null" => Tone::Dim,
                    _ => Tone::Good,
                };
                line.push(tone, &head_of(raw, 4096));
            }
        }
        line
    }
}

fn head_of(text: &str, bytes: usize) -> String {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_string()
}

/// The text of a JSON string; a cut one as far as it goes.
fn unquote(raw: &str) -> String {
    if let Ok(text) = serde_json::from_str::<String>(raw) {
        return text;
    }
    let inner = raw.strip_prefix('"').unwrap_or(raw);
    // A cut may stand in the middle of an escape: `\u12` at most.
    for cut in 0..6.min(inner.len()) {
        let end = inner.len() - cut;
        if let Some(head) = inner.get(..end)
            && let Ok(text) = serde_json::from_str::<String>(&format!("\"{head}\""))
        {
            return text;
        }
    }
    raw.to_string()
}

impl Rows for Tree {
    fn first(&self) -> u64 {
        0
    }
    fn end(&self) -> u64 {
        self.visible.len() as u64
    }
    fn height(&self, key: u64) -> usize {
        self.heights.get(key as usize).map_or(1, |h| *h as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(tree: &Tree) -> Vec<String> {
        let all = super::super::scroll::window(tree, Spot::default(), 1000);
        all.map(|s| tree.line(s).left.iter().map(|p| p.text.as_str()).collect()).collect()
    }

    #[test]
    fn a_small_document_is_open() {
        let tree = Tree::new(r#"{"a": [1, {"b": null}], "c": "x\ny", "d": {}}"#.into());
        assert_eq!(
            lines(&tree),
            [
                "▾ 3 fields",
                "  ▾ a: 2 items",
                "      0: 1",
                "    ▾ 1: 1 field",
                "        b: null",
                "    c: x⏎y",
                "    d: {}"
            ]
        );
    }

    #[test]
    fn folding_by_path_survives_a_newer_state() {
        let mut tree = Tree::new(r#"{"a": [1, 2], "b": 1}"#.into());
        tree.place.cursor.key = 1;
        tree.toggle();
        assert_eq!(lines(&tree), ["▾ 2 fields", "  ▸ a: 2 items", "    b: 1"]);
        tree.replace(r#"{"z": 0, "a": [1, 2, 3], "b": 2}"#.into());
        assert_eq!(lines(&tree), ["▾ 3 fields", "    z: 0", "  ▸ a: 3 items", "    b: 2"]);
    }

    #[test]
    fn no_json_is_shown_as_it_is() {
        assert_eq!(lines(&Tree::new("oops {".into())), ["  oops {"]);
        assert_eq!(lines(&Tree::new("\"just text\"".into())), ["  just text"]);
    }

    #[test]
    fn depth_does_not_overflow_the_stack() {
        let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
        let mut tree = Tree::new(deep.into());
        tree.fold_all(false);
        assert_eq!(tree.end(), 200_001);
    }

    #[test]
    fn a_long_text_is_cut_and_opens() {
        let mut tree = Tree::new(format!(r#"{{"a":"{}"}}"#, "word ".repeat(60)).into());
        tree.prepare(40, 20);
        assert!(lines(&tree)[1].ends_with("…  300 B"), "{:?}", lines(&tree));
        tree.place.cursor.key = 1;
        tree.toggle();
        assert!(lines(&tree).len() > 8);
    }

    proptest! {
        #[test]
        fn any_text_can_be_shown(text in any::<String>()) {
            let mut tree = Tree::new(text.into());
            tree.prepare(30, 10);
            lines(&tree);
        }

        #[test]
        fn any_json_keeps_its_nodes(value in arb_json()) {
            let mut tree = Tree::new(value.to_string().into());
            tree.fold_all(false);
            prop_assert_eq!(tree.end() as usize, count(&value));
        }
    }

    fn count(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Array(a) => 1 + a.iter().map(count).sum::<usize>(),
            serde_json::Value::Object(o) => 1 + o.values().map(count).sum::<usize>(),
            _ => 1,
        }
    }

    fn arb_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                proptest::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
            ]
        })
    }
}
