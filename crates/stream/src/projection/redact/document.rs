//! Finds what to remove from a JSON text, including JSON in its strings.

use super::cuts::Cut;
use super::{FIELDS, FIRST_KIND, Request, Rules, prefix_place};
use crate::json::index::{JsonIndex, Kind, plain};
use runtail_core::json::{self, Decoded};
use runtail_core::secret::patterns::PRIVATE_KEYS;
use runtail_core::secret::{self, MASK, is_secret_name};
use std::ops::Range;
use std::sync::Arc;

/// Maximum depth of JSON in strings that is parsed. Deeper JSON is searched as text.
const MAX_DEPTH: usize = 12;
/// Maximum number of members of an object in which the name of a `value` is searched.
const MAX_MEMBERS: u32 = 16;
/// The replacement of a whole value.
const REPLACEMENT: &str = "\"***\"";

/// A private key whose lines are separate strings of a list, or of its objects.
struct OpenKey<'d> {
    /// The node after the list.
    list_end: u32,
    depth: u32,
    name: Option<&'d str>,
}

impl Rules {
    /// Returns the cuts of a text. JSON and truncated JSON are searched value by value.
    pub(super) fn text(&self, text: &str, depth: usize) -> Vec<Cut> {
        let has_patterns = self
            .requested
            .iter()
            .any(|request| matches!(request, Request::Pattern(_)));
        if !has_patterns && !self.patterns.may_be_in(text) && secret::keys::places(text).is_empty()
        {
            return Vec::new();
        }
        let Some((doc, is_valid)) = (depth < MAX_DEPTH).then(|| nested(text)).flatten() else {
            return self.patterns(text);
        };
        let mut cuts = self.document(&doc, depth + 1);
        // A text that only begins like JSON has secrets outside of strings, too.
        cuts.extend(if is_valid {
            self.requested_patterns(text)
        } else {
            self.patterns(text)
        });
        // The end that was added to truncated JSON is not part of the text.
        cuts.retain(|cut| cut.range.start < text.len());
        cuts.iter_mut()
            .for_each(|cut| cut.range.end = cut.range.end.min(text.len()));
        cuts
    }

    /// Returns the cuts of a document. Paths only apply to the data of an event, which has `depth` 0.
    pub(super) fn document(&self, doc: &JsonIndex, depth: usize) -> Vec<Cut> {
        let mut cuts: Vec<Cut> = Vec::new();
        let mut open: Option<OpenKey<'_>> = None;
        let mut node = 0;
        while node < doc.len() {
            open = open.filter(|open| node < open.list_end);
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
                    let is_line = |open: &OpenKey<'_>| {
                        doc.depth(node) == open.depth && doc.key(node) == open.name
                    };
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
                        found.iter_mut().for_each(|cut| prefix_place(cut, &path));
                        cuts.append(&mut found);
                        if self.patterns.leaves_key_open(&plain(raw)) {
                            let list = doc
                                .ancestors(node)
                                .find(|above| doc.kind(*above) == Kind::Array);
                            let open_in = |list| OpenKey {
                                list_end: doc.after(list),
                                depth: doc.depth(node),
                                name: doc.key(node),
                            };
                            open = list.map(open_in);
                        }
                    }
                }
                // Remove the whole number: the rest of it would be another number.
                Kind::Other => {
                    if let Some(found) = self
                        .patterns(raw)
                        .first()
                        .and_then(|cut| cut.removal.as_ref())
                    {
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
        let mut cut = Cut {
            range,
            replacement: REPLACEMENT.into(),
            removal: Some(self.removal(rule, raw)),
        };
        prefix_place(&mut cut, path);
        cut
    }

    /// Returns the cuts of a string whose JSON begins at `start`.
    fn string(&self, raw: &str, start: usize, place: &str, depth: usize) -> Vec<Cut> {
        let inner = raw
            .strip_prefix('"')
            .and_then(|raw| raw.strip_suffix('"'))
            .unwrap_or_default();
        let decoded = Decoded::of(inner);
        let mut cuts = self.text(&decoded.text, depth);
        for cut in &mut cuts {
            *cut = cut.clone().encoded(&decoded, start + 1);
            if !place.is_empty() {
                prefix_place(cut, place);
            }
        }
        cuts
    }

    /// Returns the cut of a line of a private key, up to the end of the key.
    fn line_of_key(&self, doc: &JsonIndex, node: u32, end: Option<usize>) -> Cut {
        let (range, raw) = (doc.range(node), doc.value(node));
        let inner = &raw[1..raw.len() - 1];
        let end = end.map_or(inner.len(), |end| Decoded::of(inner).encoded_offset(end));
        let range = range.start + 1..range.start + 1 + end;
        Cut {
            replacement: MASK.into(),
            ..self.whole(
                FIRST_KIND + PRIVATE_KEYS,
                range,
                &doc.path(node),
                &inner[..end],
            )
        }
    }

    /// Returns the rule that removes a whole value; `None` if there is none or the value was already removed.
    fn rule_for(&self, doc: &JsonIndex, node: u32, depth: usize) -> Option<usize> {
        let raw = doc.value(node);
        if matches!(raw, "null" | "\"\"" | REPLACEMENT) {
            return None;
        }
        if !matches!(raw, "true" | "false" | "{}" | "[]") && has_secret_name(doc, node) {
            return Some(FIELDS);
        }
        let matches = |request: &Request| match request {
            Request::Path(path, anywhere) => depth == 0 && path.selects(doc, node, *anywhere),
            Request::Pattern(_) => false,
        };
        self.requested
            .iter()
            .position(matches)
            .map(|at| self.first_requested + at)
    }

    /// Returns the cuts of a text that is not JSON: matches of patterns, and configured keys.
    pub(super) fn patterns(&self, text: &str) -> Vec<Cut> {
        let keys = self.keys(text).into_iter();
        let mut cuts: Vec<Cut> = keys
            .map(|(rule, range)| self.masked(rule, range, text))
            .collect();
        cuts.extend(self.requested_patterns(text));
        cuts
    }

    /// Returns the positions of all keys in a text, with their rules.
    pub(super) fn keys(&self, text: &str) -> Vec<(usize, Range<usize>)> {
        let mut keys = Vec::new();
        if self.patterns.may_be_in(text) {
            keys.extend(
                self.patterns
                    .find(text)
                    .into_iter()
                    .map(|found| (FIRST_KIND + found.kind, found.range)),
            );
        }
        keys.extend(
            secret::keys::places(text)
                .into_iter()
                .map(|range| (self.first_requested - 1, range)),
        );
        keys
    }

    fn requested_patterns(&self, text: &str) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (at, request) in self.requested.iter().enumerate() {
            let Request::Pattern(pattern) = request else {
                continue;
            };
            let found = pattern
                .find_iter(text)
                .filter(|found| found.as_str() != MASK);
            cuts.extend(
                found.map(|found| self.masked(self.first_requested + at, found.range(), text)),
            );
        }
        cuts
    }

    fn masked(&self, rule: usize, range: Range<usize>, text: &str) -> Cut {
        let removal = Some(self.removal(rule, text.get(range.clone()).unwrap_or_default()));
        Cut {
            range,
            replacement: MASK.into(),
            removal,
        }
    }
}

/// Returns whether a value has a secret's name: its key or, in a list of headers or variables, the name next to it.
fn has_secret_name(doc: &JsonIndex, node: u32) -> bool {
    let is_secret = |name: &str| is_secret_name(&plain(name));
    let Some(parent) = doc.parent(node) else {
        return false;
    };
    let Some(key) = doc.key(node) else {
        // `["Authorization", "…"]` in a list of headers.
        let is_pair =
            doc.index(node) == 1 && doc.children_count(parent) == 2 && doc.kind(node) == Kind::Text;
        let is_listed = || {
            doc.parent(parent)
                .is_some_and(|list| doc.kind(list) == Kind::Array)
        };
        let first = || doc.kind(parent + 1) == Kind::Text && is_secret(doc.value(parent + 1));
        return is_pair && is_listed() && first();
    };
    if is_secret(key) {
        return true;
    }
    let has_name = |member: u32, names: &[&str]| {
        doc.key(member)
            .is_some_and(|key| names.contains(&&*plain(key)))
    };
    let names = ["name", "key", "header", "variable"];
    has_name(node, &["value"])
        && doc.children_count(parent) <= MAX_MEMBERS
        && doc.children(parent).any(|member| {
            doc.kind(member) == Kind::Text
                && has_name(member, &names)
                && is_secret(doc.value(member))
        })
}

/// Parses a text as JSON or as truncated JSON, and returns whether it is valid, with the end that was added; `None` if it is
/// neither a container nor a string.
fn nested(text: &str) -> Option<(JsonIndex, bool)> {
    let parsed = |text: String| JsonIndex::new(Arc::<str>::from(text));
    let trimmed = text.trim_start();
    if !trimmed.starts_with(['{', '[', '"']) {
        return None;
    }
    if json::is_valid(text) {
        return Some((parsed(text.into()), true));
    }
    if !trimmed[1..].trim_start().starts_with(['{', '[', '"']) {
        return None;
    }
    let (ends, in_string) = missing_end(text)?;
    let values: &[&str] = if in_string {
        &["", ":null"]
    } else {
        &["", "null", ":null"]
    };
    let (string, brackets) = ends.split_at(ends.find(['}', ']']).unwrap_or(ends.len()));
    let completed = |value| format!("{text}{string}{value}{brackets}");
    if let Some(valid) = values
        .iter()
        .map(completed)
        .find(|text| json::is_valid(text))
    {
        return Some((parsed(valid), true));
    }
    let mut docs = values.iter().map(|value| parsed(completed(value)));
    let doc = docs.find(|doc| doc.kind(0) != Kind::Other)?;
    Some((doc, false))
}

/// Returns the characters that close the open string and containers of a text, and whether a string is open.
fn missing_end(text: &str) -> Option<(String, bool)> {
    let (mut open, mut in_string) = (Vec::new(), false);
    // State of an escape: 5 after its backslash, then the number of missing digits.
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
