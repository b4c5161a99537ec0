//! What is removed from a JSON text, and from JSON in its strings.

use super::cuts::{Cut, Decoded};
use super::fields;
use super::patterns::PRIVATE_KEYS;
use super::{Asked, FIELDS, FIRST_KIND, Rules, at_place};
use crate::json::document::{Doc, Kind, plain};
use runtail_core::model::MASK;
use runtail_core::text;
use std::ops::Range;
use std::sync::Arc;

/// JSON in a string in JSON, and so on, that is read as JSON; deeper in it is searched as text.
const MAX_DEPTH: usize = 12;
/// Members of an object in which the name to a `value` is looked for.
const MAX_MEMBERS: u32 = 16;
/// What stands for a value.
const VALUE: &str = "\"***\"";

/// A private key whose lines are strings of a list, or of its objects: it begins in one and ends in another.
struct OpenKey<'d> {
    /// The node after the list.
    until: u32,
    depth: u32,
    name: Option<&'d str>,
}

impl Rules {
    /// Returns what is removed from a text: from its values if it is JSON, or the beginning of JSON.
    pub(super) fn text(&self, text: &str, depth: usize) -> Vec<Cut> {
        let asked = self.asked.iter().any(|asked| matches!(asked, Asked::Pattern(_)));
        if !asked && !self.patterns.may_be_in(text) && text::keys::places(text).is_empty() {
            return Vec::new();
        }
        let Some(doc) = (depth < MAX_DEPTH).then(|| nested(text)).flatten() else { return self.patterns(text) };
        let mut cuts = self.document(&doc, depth + 1);
        cuts.extend(self.asked_patterns(text));
        // The end of JSON that was cut off is not part of the text.
        cuts.retain(|cut| cut.range.start < text.len());
        cuts.iter_mut().for_each(|cut| cut.range.end = cut.range.end.min(text.len()));
        cuts
    }

    /// Returns what is removed from a document; `depth` is 0 for the data of an event, in which paths lead somewhere.
    pub(super) fn document(&self, doc: &Doc, depth: usize) -> Vec<Cut> {
        let mut cuts: Vec<Cut> = Vec::new();
        let mut open: Option<OpenKey<'_>> = None;
        let mut node = 0;
        while node < doc.len() {
            open = open.filter(|open| node < open.until);
            if let Some((range, key)) = doc.key_range(node).zip(doc.key(node)) {
                cuts.extend(self.string(key, range.start, "a key", depth));
            }
            let raw = doc.value(node);
            if let Some(rule) = self.rule_for(doc, node, depth) {
                cuts.push(self.whole(rule, doc.range(node), &doc.path(node), raw));
                node = doc.after(node);
                continue;
            }
            match doc.kind(node) {
                Kind::Text => {
                    let is_line = |open: &OpenKey<'_>| doc.depth(node) == open.depth && doc.key(node) == open.name;
                    let start = doc.range(node).start;
                    if raw != "\"\"" && open.as_ref().is_some_and(is_line) {
                        let end = self.patterns.end_of_key(&plain(raw));
                        cuts.push(self.line_of_key(doc, node, end));
                        open = open.filter(|_| end.is_none());
                        node += 1;
                        continue;
                    }
                    let mut found = self.string(raw, start, "", depth);
                    if !found.is_empty() {
                        let path = doc.path(node);
                        found.iter_mut().for_each(|cut| at_place(cut, &path));
                        cuts.append(&mut found);
                        if self.patterns.leaves_key_open(&plain(raw)) {
                            let list = doc.ancestors(node).find(|above| doc.kind(*above) == Kind::Array);
                            let open_in =
                                |list| OpenKey { until: doc.after(list), depth: doc.depth(node), name: doc.key(node) };
                            open = list.map(open_in);
                        }
                    }
                }
                // A part of a number would be another number.
                Kind::Other => {
                    if let Some(found) = self.patterns(raw).first().and_then(|cut| cut.removal.as_ref()) {
                        cuts.push(self.whole(found.rule, doc.range(node), &doc.path(node), raw));
                    }
                }
                Kind::Object | Kind::Array => {}
            }
            node += 1;
        }
        cuts
    }

    fn whole(&self, rule: usize, range: Range<usize>, path: &str, raw: &str) -> Cut {
        let mut cut = Cut { range, put: VALUE.into(), removal: Some(self.removal(rule, raw)) };
        at_place(&mut cut, path);
        cut
    }

    /// Returns the cuts of a string that is written here.
    fn string(&self, raw: &str, start: usize, place: &str, depth: usize) -> Vec<Cut> {
        let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or_default();
        let decoded = Decoded::of(inner);
        let mut cuts = self.text(&decoded.text, depth);
        for cut in &mut cuts {
            *cut = decoded.lift(cut.clone(), start + 1);
            if !place.is_empty() {
                at_place(cut, place);
            }
        }
        cuts
    }

    /// Removes a line of a private key; where the key ends, only up to there.
    fn line_of_key(&self, doc: &Doc, node: u32, end: Option<usize>) -> Cut {
        let (range, raw) = (doc.range(node), doc.value(node));
        let inner = &raw[1..raw.len() - 1];
        let end = end.map_or(inner.len(), |end| Decoded::of(inner).written(end));
        let range = range.start + 1..range.start + 1 + end;
        Cut { put: MASK.into(), ..self.whole(FIRST_KIND + PRIVATE_KEYS, range, &doc.path(node), &inner[..end]) }
    }

    /// Returns the rule by which a whole value is removed. There is none for what was removed already.
    fn rule_for(&self, doc: &Doc, node: u32, depth: usize) -> Option<usize> {
        let raw = doc.value(node);
        if matches!(raw, "null" | "\"\"" | VALUE) {
            return None;
        }
        if !matches!(raw, "true" | "false" | "{}" | "[]") && has_secret_name(doc, node) {
            return Some(FIELDS);
        }
        let leads = |asked: &Asked| match asked {
            Asked::Path(path, anywhere) => depth == 0 && path.leads_to(doc, node, *anywhere),
            Asked::Pattern(_) => false,
        };
        self.asked.iter().position(leads).map(|at| self.first_asked + at)
    }

    /// Returns what the patterns match in a text, and the configured keys in it.
    pub(super) fn patterns(&self, text: &str) -> Vec<Cut> {
        let keys = self.keys(text).into_iter();
        let mut cuts: Vec<Cut> = keys.map(|(rule, range)| self.masked(rule, range, text)).collect();
        cuts.extend(self.asked_patterns(text));
        cuts
    }

    /// Returns where keys of any kind are in a text, with their rules.
    pub(super) fn keys(&self, text: &str) -> Vec<(usize, Range<usize>)> {
        let mut keys = Vec::new();
        if self.patterns.may_be_in(text) {
            keys.extend(self.patterns.find(text).into_iter().map(|found| (FIRST_KIND + found.kind, found.range)));
        }
        keys.extend(text::keys::places(text).into_iter().map(|(from, to)| (self.first_asked - 1, from..to)));
        keys
    }

    fn asked_patterns(&self, text: &str) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (at, asked) in self.asked.iter().enumerate() {
            let Asked::Pattern(pattern) = asked else { continue };
            let found = pattern.find_iter(text).filter(|found| found.as_str() != MASK);
            cuts.extend(found.map(|found| self.masked(self.first_asked + at, found.range(), text)));
        }
        cuts
    }

    fn masked(&self, rule: usize, range: Range<usize>, text: &str) -> Cut {
        let removal = Some(self.removal(rule, text.get(range.clone()).unwrap_or_default()));
        Cut { range, put: MASK.into(), removal }
    }
}

/// Returns whether a value has a secret's name: that of its field, or, in a list of headers or variables, the name beside it.
fn has_secret_name(doc: &Doc, node: u32) -> bool {
    let is_secret = |name: &str| fields::is_secret(&plain(name));
    let Some(parent) = doc.parent(node) else { return false };
    let Some(key) = doc.key(node) else {
        // `["Authorization", "…"]` in a list of headers.
        let is_pair = doc.index(node) == 1 && doc.children_count(parent) == 2 && doc.kind(node) == Kind::Text;
        let is_listed = || doc.parent(parent).is_some_and(|list| doc.kind(list) == Kind::Array);
        let first = || doc.kind(parent + 1) == Kind::Text && is_secret(doc.value(parent + 1));
        return is_pair && is_listed() && first();
    };
    if is_secret(key) {
        return true;
    }
    let has_name = |member: u32, names: &[&str]| doc.key(member).is_some_and(|key| names.contains(&&*plain(key)));
    let names = ["name", "key", "header", "variable"];
    has_name(node, &["value"])
        && doc.children_count(parent) <= MAX_MEMBERS
        && doc
            .children(parent)
            .any(|member| doc.kind(member) == Kind::Text && has_name(member, &names) && is_secret(doc.value(member)))
}

/// Reads a text as JSON, or as the beginning of JSON that was cut off. None if it is no container and no string.
fn nested(text: &str) -> Option<Doc> {
    let begins = text.trim_start();
    if !begins.starts_with(['{', '[', '"']) {
        return None;
    }
    if serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok() {
        return Some(Doc::new(Arc::<str>::from(text)));
    }
    if !begins[1..].trim_start().starts_with(['{', '[', '"']) {
        return None;
    }
    let (ends, in_string) = missing_end(text)?;
    let values: &[&str] = if in_string { &["", ":null"] } else { &["", "null", ":null"] };
    values.iter().find_map(|value| {
        let (string, brackets) = ends.split_at(ends.find(['}', ']']).unwrap_or(ends.len()));
        let doc = Doc::new(Arc::<str>::from(format!("{text}{string}{value}{brackets}")));
        (doc.kind(0) != Kind::Other).then_some(doc)
    })
}

/// What ends the open string and the open containers of a text, and whether a string is open.
fn missing_end(text: &str) -> Option<(String, bool)> {
    let (mut open, mut in_string) = (Vec::new(), false);
    // Characters that an escape still lacks: 5 after its backslash, then the digits.
    let mut escape = 0;
    for byte in text.bytes() {
        match (escape, byte) {
            (5, b'u') => escape = 4,
            (5, _) => escape = 0,
            (1..=4, _) => escape -= 1,
            (_, b'\\') if in_string => escape = 5,
            (_, b'"') => in_string = !in_string,
            _ if in_string => {}
            (_, b'{') => open.push('}'),
            (_, b'[') => open.push(']'),
            (_, b'}' | b']') => drop(open.pop()?),
            _ => {}
        }
    }
    let mut end = match escape {
        0 => String::new(),
        5 => "\\".into(),
        digits => "0".repeat(digits),
    };
    if in_string {
        end.push('"');
    }
    end.extend(open.into_iter().rev());
    Some((end, in_string))
}
