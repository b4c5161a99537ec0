//! Redacts texts that were streamed in chunks: joins them per message, searches the joined text, and maps the findings
//! back to the chunks.

use super::Rules;
use super::cuts::{Cut, Decoded, merge};
use crate::json::document::{Doc, Excerpt, Kind, plain};
use crate::projection::messages::stem;
use crate::protocol::Payload;
use crate::{Event, Record};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of joined texts that are held. If there are more, they are searched in parts.
const MAX_HELD: usize = 256 << 20;
/// Pieces with a part of a secret; more are refused, as each is held until it is written.
const MAX_PIECES: usize = 2_000_000;
/// Members of a message that are the same in each of its pieces.
const ASIDE: [&str; 10] = [
    "id",
    "type",
    "role",
    "name",
    "response_metadata",
    "usage_metadata",
    "chunk_position",
    "tool_call_id",
    "status",
    "lc",
];

/// Parts of joined texts in one record that are removed.
#[derive(Debug, Clone, Default)]
pub struct Pieces(Vec<Piece>);

#[derive(Debug, Clone)]
struct Piece {
    /// The string in the data of the event, with its quotes.
    string: Range<usize>,
    /// In the content of the string.
    cut: Cut,
}

/// What was found in joined texts.
#[derive(Debug, Default)]
pub struct Found {
    pieces: HashMap<u64, Pieces>,
    count: usize,
    in_parts: bool,
    none: Pieces,
}

impl Found {
    /// Those of a record, by its number.
    pub fn of(&self, record: u64) -> &Pieces {
        self.pieces.get(&record).unwrap_or(&self.none)
    }

    /// Returns whether there was more text than is held, so that a secret may be in two parts that were searched separately.
    pub fn is_in_parts(&self) -> bool {
        self.in_parts
    }

    /// Returns whether there were more pieces with a part of a secret than are held: the recording cannot be cleaned.
    pub fn is_too_much(&self) -> bool {
        self.count > MAX_PIECES
    }

    fn add(&mut self, record: u64, string: Range<usize>, cut: Cut) {
        self.count += 1;
        if !self.is_too_much() {
            self.pieces.entry(record).or_default().0.push(Piece { string, cut });
        }
    }
}

impl Pieces {
    /// Returns the cuts in the data of their event.
    pub(super) fn cuts(&self, data: &str) -> Vec<Cut> {
        let lifted = self.0.iter().filter_map(|Piece { string, cut }| {
            let inner = data.get(string.clone())?.strip_prefix('"')?.strip_suffix('"')?;
            Some(Decoded::of(inner).lift(cut.clone(), string.start + 1))
        });
        lifted.collect()
    }
}

/// How pieces make a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum How {
    /// Each adds to those before it.
    Added,
    /// Each is the whole text so far.
    SoFar,
}

/// A text as far as it was read.
#[derive(Debug)]
struct Text {
    how: How,
    text: String,
    pieces: Vec<Part>,
    /// The id of the call whose arguments these are: models count their calls from 0 again.
    call: Option<String>,
    place: String,
}

/// A piece of a text.
#[derive(Debug)]
struct Part {
    record: u64,
    string: Range<usize>,
    /// Where it ends in the text.
    end: usize,
}

/// Joins the texts of a recording: reads each record once, before any is written.
#[derive(Debug)]
pub struct Joined<'r> {
    rules: &'r Rules,
    texts: HashMap<String, Text>,
    held: usize,
    max_held: usize,
    /// The message that grows in each namespace, for pieces that don't name theirs.
    growing: HashMap<String, u64>,
    started: u64,
    found: Found,
}

/// The message that pieces are read from.
struct Source<'d> {
    doc: &'d Doc,
    /// Where the document begins in the data of its event.
    offset: usize,
    record: u64,
    how: How,
    /// Tells its texts from those of other messages.
    key: String,
}

impl<'r> Joined<'r> {
    /// Starts without any text.
    pub fn new(rules: &'r Rules) -> Joined<'r> {
        Joined::with_limit(rules, MAX_HELD)
    }

    /// Returns the same as [`Joined::new`], with another limit for the text that is held.
    pub(super) fn with_limit(rules: &'r Rules, max_held: usize) -> Joined<'r> {
        Joined {
            rules,
            texts: HashMap::new(),
            held: 0,
            max_held,
            growing: HashMap::new(),
            started: 0,
            found: Found::default(),
        }
    }

    /// Reads a record; `number` is what [`Found::of`] is asked for.
    pub fn read(&mut self, number: u64, record: &Record) {
        let Record::Event(event) = record else { return };
        if let Some(data) = event.data.json() {
            self.event(number, event, data);
        }
        if self.held > self.max_held {
            self.found.in_parts = true;
            self.search();
        }
    }

    /// Returns what was found.
    pub fn finish(mut self) -> Found {
        self.search();
        self.found
    }

    fn event(&mut self, record: u64, event: &Event, data: &std::sync::Arc<str>) {
        let payload = Payload::of(event);
        if !matches!(payload.name, "messages" | "messages/partial" | "events") {
            return;
        }
        let Some(json) = payload.json else { return };
        let offset = (json.as_ptr() as usize).saturating_sub(data.as_ptr() as usize);
        let Some(excerpt) = Excerpt::new(data.clone(), offset..offset + json.len()) else { return };
        let doc = Doc::new(excerpt);
        let how = if payload.name == "messages/partial" { How::SoFar } else { How::Added };
        let ns = payload.ns.join("|");
        let mut source = Source { doc: &doc, offset, record, how, key: String::new() };
        match payload.name {
            "messages" if payload.enveloped => self.block(source, &ns),
            "messages" => {
                let message = if doc.kind(0) == Kind::Array { 1 } else { 0 };
                if message < doc.len() && is_piece(&doc, message) {
                    source.key = message_key("messages", &doc, message, &ns);
                    self.members(&source, message);
                }
            }
            "messages/partial" => {
                for message in doc.children(0) {
                    let key = message_key("partial", &doc, message, &format!("{ns}#{}", doc.index(message)));
                    self.members(&Source { key, ..source }, message);
                }
            }
            // `on_chat_model_stream` and the like: a piece, and whose it is.
            name => {
                let of = |field| member(&doc, 0, field).map(|node| doc.value(node)).unwrap_or_default();
                let chunk = member(&doc, 0, "data").and_then(|data| member(&doc, data, "chunk"));
                if let Some(chunk) = chunk.filter(|chunk| is_chunk_object(&doc, *chunk)) {
                    let base = format!("{name}\0{}\0{}", of("event"), of("run_id"));
                    source.key = message_key(&base, &doc, chunk, &ns);
                    self.members(&source, chunk);
                }
            }
        }
    }

    /// An event of the second dialect, whose blocks belong to the message that was started last in their namespace.
    fn block(&mut self, mut source: Source<'_>, ns: &str) {
        let doc = source.doc;
        match member(doc, 0, "event").map(|node| doc.value(node)) {
            Some("\"message-start\"") => {
                self.started += 1;
                self.growing.insert(ns.to_string(), self.started);
            }
            Some("\"content-block-start\"" | "\"content-block-delta\"") => {
                let index = member(doc, 0, "index").map_or("0", |node| doc.value(node));
                source.key = format!("block\0{}", self.growing.get(ns).copied().unwrap_or_default());
                for name in ["delta", "content"] {
                    let Some(block) = member(doc, 0, name) else { continue };
                    for node in (block..doc.after(block)).filter(|node| doc.kind(*node) == Kind::Text) {
                        let slot = match doc.key(node).map(plain).as_deref() {
                            Some(kind @ ("text" | "reasoning")) => kind.to_string(),
                            other => format!("{index}/{}", other.unwrap_or_default()),
                        };
                        self.add(&source, node, &slot, None);
                    }
                }
            }
            _ => {}
        }
    }

    /// Reads the strings of a message, or of a piece of one.
    fn members(&mut self, source: &Source<'_>, message: u32) {
        let doc = source.doc;
        for at in doc.children(message) {
            let name = doc.key(at).map(plain).unwrap_or_default();
            if name == "kwargs" {
                self.members(source, at);
                continue;
            }
            if ASIDE.contains(&&*name) {
                continue;
            }
            for node in (at..doc.after(at)).filter(|node| doc.kind(*node) == Kind::Text) {
                let shown = (source.how == How::Added).then(|| shown(doc, message, node)).flatten();
                let (slot, call) = match shown {
                    Some(slot) => (slot.to_string(), None),
                    None => slot(doc, message, node),
                };
                self.add(source, node, &slot, call.filter(|_| source.how == How::Added));
            }
        }
    }

    /// Adds a string to its text.
    fn add(&mut self, source: &Source<'_>, node: u32, slot: &str, call: Option<String>) {
        let Source { doc, offset, record, how, ref key } = *source;
        let piece = plain(doc.value(node));
        let string = doc.range(node);
        let string = offset + string.start..offset + string.end;
        let key = format!("{key}\0{slot}");
        if let Some(text) = self.texts.get(&key)
            && !text.is_continued_by(&piece, call.as_deref())
            && let Some(text) = self.texts.remove(&key)
        {
            self.held = self.held.saturating_sub(text.weight(&key));
            self.search_in(text);
        }
        let weight = key.len();
        let text = self.texts.entry(key).or_insert_with(|| {
            self.held += weight + size_of::<Text>();
            Text { how, text: String::new(), pieces: Vec::new(), call: None, place: doc.path(node) }
        });
        let before = text.text.len();
        match how {
            How::Added => text.text.push_str(&piece),
            How::SoFar if piece.len() > before => text.text.push_str(&piece[before..]),
            How::SoFar => {}
        }
        text.call = text.call.take().or(call);
        let end = if how == How::Added { text.text.len() } else { piece.len() };
        if !piece.is_empty() {
            text.pieces.push(Part { record, string, end });
            self.held += text.text.len() - before + size_of::<Part>();
        }
    }

    /// Searches all texts and forgets them.
    fn search(&mut self) {
        self.held = 0;
        for (_, text) in std::mem::take(&mut self.texts) {
            self.search_in(text);
        }
    }

    fn search_in(&mut self, text: Text) {
        for mut cut in merge(self.rules.text(&text.text, 0)) {
            super::at_place(&mut cut, &text.place);
            let first = text.pieces.partition_point(|piece| text.how == How::Added && piece.end <= cut.range.start);
            let mut start =
                first.checked_sub(1).and_then(|before| text.pieces.get(before)).map_or(0, |piece| piece.end);
            for (n, piece) in text.pieces[first..].iter().enumerate() {
                if text.how == How::SoFar {
                    start = 0;
                }
                let range = cut.range.start.max(start) - start..cut.range.end.min(piece.end).saturating_sub(start);
                let is_first = n == 0 || text.how == How::SoFar;
                if range.start < range.end {
                    let put = if is_first { cut.put.clone() } else { Cow::Borrowed("") };
                    let removal = cut.removal.clone().filter(|_| is_first);
                    self.found.add(piece.record, piece.string.clone(), Cut { range, put, removal });
                }
                start = piece.end;
                if text.how == How::Added && piece.end >= cut.range.end {
                    break;
                }
            }
        }
    }
}

impl Text {
    /// Returns whether a string is another piece of this text, and not of one that has taken its place.
    fn is_continued_by(&self, piece: &str, call: Option<&str>) -> bool {
        match self.how {
            How::Added => call.is_none() || self.call.is_none() || self.call.as_deref() == call,
            How::SoFar => piece.starts_with(&self.text) || self.text.starts_with(piece),
        }
    }

    fn weight(&self, key: &str) -> usize {
        key.len() + size_of::<Text>() + self.text.len() + self.pieces.len() * size_of::<Part>()
    }
}

/// Returns the member of an object with this name.
fn member(doc: &Doc, object: u32, name: &str) -> Option<u32> {
    let is_it = |node: &u32| doc.key(*node).is_some_and(|key| plain(key) == name);
    if doc.kind(object) == Kind::Object { doc.children(object).find(is_it) } else { None }
}

fn text_of<'d>(doc: &'d Doc, object: u32, name: &str) -> Option<Cow<'d, str>> {
    let node = member(doc, object, name).filter(|node| doc.kind(*node) == Kind::Text)?;
    Some(plain(doc.value(node))).filter(|text| !text.is_empty())
}

/// What tells the texts of a message from those of others: its id, else where it is.
fn message_key(base: &str, doc: &Doc, message: u32, else_by: &str) -> String {
    let inner = member(doc, message, "kwargs");
    let id = text_of(doc, message, "id").or_else(|| text_of(doc, inner?, "id"));
    match id {
        Some(id) => format!("{base}\0id\0{}", stem(&id)),
        None => format!("{base}\0at\0{else_by}"),
    }
}

/// Returns whether a message in a pair with its metadata is a piece, and not whole. Those without a type may be.
fn is_piece(doc: &Doc, message: u32) -> bool {
    let has = |name| member(doc, message, name).is_some();
    is_chunk_object(doc, message) || has("tool_call_chunks") || !(has("type") || has("role"))
}

/// Returns whether an object is a piece of a message by its type, or in its serialized form by its class.
fn is_chunk_object(doc: &Doc, node: u32) -> bool {
    if doc.kind(node) != Kind::Object {
        return false;
    }
    let is_chunk = |text: Cow<'_, str>| text.ends_with("Chunk");
    let class = member(doc, node, "id").filter(|id| doc.kind(*id) == Kind::Array);
    let class = class.and_then(|id| doc.children(id).last());
    text_of(doc, node, "type").is_some_and(is_chunk) || class.is_some_and(|last| is_chunk(plain(doc.value(last))))
}

/// Returns the text of a message that a string is shown in, as [`crate::projection::Messages`] joins it: what the model says, or its
/// reasoning.
fn shown(doc: &Doc, message: u32, node: u32) -> Option<&'static str> {
    let steps: Vec<u32> = doc.ancestors(node).take_while(|above| *above != message).collect();
    let name = doc.key(node).map(plain).unwrap_or_default();
    let Some(top) = steps.last() else { return (name == "content").then_some("text") };
    let is_reasoning =
        |step: &u32| text_of(doc, *step, "type").is_some_and(|kind| kind == "reasoning" || kind == "thinking");
    match (doc.key(*top).map(plain).as_deref(), &*name) {
        (Some("additional_kwargs"), "reasoning_content") => Some("reasoning"),
        (Some("additional_kwargs"), "refusal") if steps.len() == 1 => Some("text"),
        (Some("content"), "reasoning" | "thinking") => Some("reasoning"),
        (Some("content"), "text") if steps.iter().any(is_reasoning) => Some("reasoning"),
        (Some("content"), "text" | "refusal") if steps.len() == 2 => Some("text"),
        // A string among the blocks.
        (Some("content"), "") if steps.len() == 1 => Some("text"),
        _ => None,
    }
}

/// Returns the place of a string in its message, with members of lists by their own index, and the id of the call that it is in.
fn slot(doc: &Doc, message: u32, node: u32) -> (String, Option<String>) {
    let (mut slot, mut call) = (String::new(), None);
    let steps = std::iter::once(node).chain(doc.ancestors(node)).take_while(|above| *above != message);
    for step in steps {
        slot.push('/');
        match doc.key(step) {
            Some(key) => slot.push_str(&plain(key)),
            None => {
                let index = member(doc, step, "index").map(|index| doc.value(index)).filter(|index| *index != "null");
                match index {
                    Some(index) => slot.push_str(index),
                    None => slot.push_str(&doc.index(step).to_string()),
                }
                call = call.or_else(|| text_of(doc, step, "id").map(Cow::into_owned));
            }
        }
    }
    (slot, call)
}
