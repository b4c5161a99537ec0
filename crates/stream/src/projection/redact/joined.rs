//! Redacts texts that were streamed in chunks: joins them per message, searches the joined text, and maps the findings
//! back to the chunks.

use super::Rules;
use super::cuts::{Cut, merge};
use crate::json::index::{Excerpt, JsonIndex, Kind, plain};
use crate::projection::messages::stem;
use crate::protocol::Payload;
use crate::{Event, Record};
use runtail_core::json::Decoded;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum size of all joined texts in bytes. Larger texts are searched in parts.
const MAX_TEXT_BYTES: usize = 256 << 20;
/// Maximum number of chunks with a part of a secret, because each is kept in memory until its record is written.
const MAX_PIECES: usize = 2_000_000;
/// Members of a message that are not streamed: they are the same in each of its chunks.
const NOT_STREAMED: [&str; 10] = [
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

/// The removed parts of one record's chunks.
#[derive(Debug, Clone, Default)]
pub struct Pieces(Vec<Piece>);

#[derive(Debug, Clone)]
struct Piece {
    /// The range of the string in the event's data, with its quotes.
    string: Range<usize>,
    /// The cut in the content of the string.
    cut: Cut,
}

/// The findings in joined texts.
#[derive(Debug, Default)]
pub struct Found {
    pieces: HashMap<u64, Pieces>,
    count: usize,
    in_parts: bool,
    none: Pieces,
}

impl Found {
    /// Returns the findings in the record with this number.
    pub fn of(&self, record: u64) -> &Pieces {
        self.pieces.get(&record).unwrap_or(&self.none)
    }

    /// Returns whether texts exceeded the size limit. A secret may then be in two parts that were searched separately.
    pub fn is_partial(&self) -> bool {
        self.in_parts
    }

    /// Returns whether too many chunks contain a part of a secret, so that the recording can't be redacted.
    pub fn is_over_limit(&self) -> bool {
        self.count > MAX_PIECES
    }

    fn add(&mut self, record: u64, string: Range<usize>, cut: Cut) {
        self.count += 1;
        if !self.is_over_limit() {
            self.pieces
                .entry(record)
                .or_default()
                .0
                .push(Piece { string, cut });
        }
    }
}

impl Pieces {
    /// Returns the cuts in the event's data.
    pub(super) fn cuts(&self, data: &str) -> Vec<Cut> {
        let cuts = self.0.iter().filter_map(|Piece { string, cut }| {
            let inner = data
                .get(string.clone())?
                .strip_prefix('"')?
                .strip_suffix('"')?;
            Some(cut.clone().encoded(&Decoded::of(inner), string.start + 1))
        });
        cuts.collect()
    }
}

/// How chunks form a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Joining {
    /// Each chunk is appended.
    Append,
    /// Each chunk is the whole text so far.
    Accumulated,
}

/// A text as far as it was joined.
#[derive(Debug)]
struct Text {
    joining: Joining,
    text: String,
    chunks: Vec<Chunk>,
    /// If the text is the arguments of a call: the call's id, because models may reuse the index of a call.
    call: Option<String>,
    place: String,
}

/// A chunk of a text.
#[derive(Debug)]
struct Chunk {
    record: u64,
    /// The range of its string in the event's data, with its quotes.
    string: Range<usize>,
    /// The end of the chunk in the text.
    end: usize,
}

/// Joins the streamed texts of a recording. Reads all records once before any of them is written.
#[derive(Debug)]
pub struct Joined<'r> {
    rules: &'r Rules,
    texts: HashMap<String, Text>,
    /// Size of all texts in bytes.
    size: usize,
    max_size: usize,
    /// The number of the message being streamed in each namespace, for chunks that don't name their message.
    growing: HashMap<String, u64>,
    /// Number of messages started so far.
    started: u64,
    found: Found,
}

/// The message that chunks are read from.
struct Source<'d> {
    doc: &'d JsonIndex,
    /// The start of the document in the event's data.
    offset: usize,
    record: u64,
    joining: Joining,
    /// Distinguishes its texts from those of other messages.
    key: String,
}

impl<'r> Joined<'r> {
    /// Creates an empty collection of texts.
    pub fn new(rules: &'r Rules) -> Joined<'r> {
        Joined::with_limit(rules, MAX_TEXT_BYTES)
    }

    /// Creates an empty collection with another size limit.
    pub(super) fn with_limit(rules: &'r Rules, max_size: usize) -> Joined<'r> {
        Joined {
            rules,
            texts: HashMap::new(),
            size: 0,
            max_size,
            growing: HashMap::new(),
            started: 0,
            found: Found::default(),
        }
    }

    /// Reads a record. `number` identifies it in [`Found::of`].
    pub fn read(&mut self, number: u64, record: &Record) {
        let Record::Event(event) = record else { return };
        if let Some(data) = event.data.json() {
            self.event(number, event, data);
        }
        if self.size > self.max_size {
            self.found.in_parts = true;
            self.search();
        }
    }

    /// Searches the remaining texts and returns all findings.
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
        let Some(excerpt) = Excerpt::new(data.clone(), offset..offset + json.len()) else {
            return;
        };
        let doc = JsonIndex::new(excerpt);
        let joining = if payload.name == "messages/partial" {
            Joining::Accumulated
        } else {
            Joining::Append
        };
        let ns = payload.ns.join("|");
        let mut source = Source {
            doc: &doc,
            offset,
            record,
            joining,
            key: String::new(),
        };
        match payload.name {
            "messages" if payload.enveloped => self.block(source, &ns),
            "messages" => {
                let message = if doc.kind(0) == Kind::Array { 1 } else { 0 };
                if message < doc.len() && is_chunk(&doc, message) {
                    source.key = message_key("messages", &doc, message, &ns);
                    self.members(&source, message);
                }
            }
            "messages/partial" => {
                for message in doc.children(0) {
                    let key = message_key(
                        "partial",
                        &doc,
                        message,
                        &format!("{ns}#{}", doc.index(message)),
                    );
                    self.members(&Source { key, ..source }, message);
                }
            }
            // `on_chat_model_stream` and similar: a chunk and the id of its run.
            name => {
                let raw = |field| {
                    member(&doc, 0, field)
                        .map(|node| doc.value(node))
                        .unwrap_or_default()
                };
                let chunk = member(&doc, 0, "data").and_then(|data| member(&doc, data, "chunk"));
                if let Some(chunk) = chunk.filter(|chunk| is_chunk_object(&doc, *chunk)) {
                    let base = format!("{name}\0{}\0{}", raw("event"), raw("run_id"));
                    source.key = message_key(&base, &doc, chunk, &ns);
                    self.members(&source, chunk);
                }
            }
        }
    }

    /// Reads an event of the newer protocol. Its blocks belong to the message that was started last in their namespace.
    fn block(&mut self, mut source: Source<'_>, ns: &str) {
        let doc = source.doc;
        match member(doc, 0, "event").map(|node| doc.value(node)) {
            Some("\"message-start\"") => {
                self.started += 1;
                self.growing.insert(ns.to_string(), self.started);
            }
            Some("\"content-block-start\"" | "\"content-block-delta\"") => {
                let index = member(doc, 0, "index").map_or("0", |node| doc.value(node));
                source.key = format!(
                    "block\0{}",
                    self.growing.get(ns).copied().unwrap_or_default()
                );
                for name in ["delta", "content"] {
                    let Some(block) = member(doc, 0, name) else {
                        continue;
                    };
                    for node in
                        (block..doc.after(block)).filter(|node| doc.kind(*node) == Kind::Text)
                    {
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

    /// Reads the strings of a message, or of a chunk of one.
    fn members(&mut self, source: &Source<'_>, message: u32) {
        let doc = source.doc;
        for at in doc.children(message) {
            let name = doc.key(at).map(plain).unwrap_or_default();
            if name == "kwargs" {
                self.members(source, at);
                continue;
            }
            if NOT_STREAMED.contains(&&*name) {
                continue;
            }
            for node in (at..doc.after(at)).filter(|node| doc.kind(*node) == Kind::Text) {
                let shown = (source.joining == Joining::Append)
                    .then(|| shown_text(doc, message, node))
                    .flatten();
                let (slot, call) = match shown {
                    Some(slot) => (slot.to_string(), None),
                    None => slot(doc, message, node),
                };
                self.add(
                    source,
                    node,
                    &slot,
                    call.filter(|_| source.joining == Joining::Append),
                );
            }
        }
    }

    /// Adds a string to its text.
    fn add(&mut self, source: &Source<'_>, node: u32, slot: &str, call: Option<String>) {
        let Source {
            doc,
            offset,
            record,
            joining,
            ref key,
        } = *source;
        let chunk = plain(doc.value(node));
        let string = doc.range(node);
        let string = offset + string.start..offset + string.end;
        let key = format!("{key}\0{slot}");
        if let Some(text) = self.texts.get(&key)
            && !text.is_continued_by(&chunk, call.as_deref())
            && let Some(text) = self.texts.remove(&key)
        {
            self.size = self.size.saturating_sub(text.weight(&key));
            self.search_in(text);
        }
        let weight = key.len();
        let text = self.texts.entry(key).or_insert_with(|| {
            self.size += weight + size_of::<Text>();
            Text {
                joining,
                text: String::new(),
                chunks: Vec::new(),
                call: None,
                place: doc.path(node),
            }
        });
        let before = text.text.len();
        match joining {
            Joining::Append => text.text.push_str(&chunk),
            Joining::Accumulated if chunk.len() > before => text.text.push_str(&chunk[before..]),
            Joining::Accumulated => {}
        }
        text.call = text.call.take().or(call);
        let end = if joining == Joining::Append {
            text.text.len()
        } else {
            chunk.len()
        };
        if !chunk.is_empty() {
            text.chunks.push(Chunk {
                record,
                string,
                end,
            });
            self.size += text.text.len() - before + size_of::<Chunk>();
        }
    }

    /// Searches all texts and drops them.
    fn search(&mut self) {
        self.size = 0;
        for (_, text) in std::mem::take(&mut self.texts) {
            self.search_in(text);
        }
    }

    /// Searches a text, and assigns the findings to its chunks.
    fn search_in(&mut self, text: Text) {
        for mut cut in merge(self.rules.text(&text.text, 0)) {
            super::prefix_place(&mut cut, &text.place);
            let first = text.chunks.partition_point(|chunk| {
                text.joining == Joining::Append && chunk.end <= cut.range.start
            });
            let mut start = first
                .checked_sub(1)
                .and_then(|before| text.chunks.get(before))
                .map_or(0, |chunk| chunk.end);
            for (n, chunk) in text.chunks[first..].iter().enumerate() {
                if text.joining == Joining::Accumulated {
                    start = 0;
                }
                let range = cut.range.start.max(start) - start
                    ..cut.range.end.min(chunk.end).saturating_sub(start);
                let is_first = n == 0 || text.joining == Joining::Accumulated;
                if range.start < range.end {
                    let replacement = if is_first {
                        cut.replacement.clone()
                    } else {
                        Cow::Borrowed("")
                    };
                    let removal = cut.removal.clone().filter(|_| is_first);
                    self.found.add(
                        chunk.record,
                        chunk.string.clone(),
                        Cut {
                            range,
                            replacement,
                            removal,
                        },
                    );
                }
                start = chunk.end;
                if text.joining == Joining::Append && chunk.end >= cut.range.end {
                    break;
                }
            }
        }
    }
}

impl Text {
    /// Returns whether a string is the next chunk of this text, not of another text in the same place.
    fn is_continued_by(&self, chunk: &str, call: Option<&str>) -> bool {
        match self.joining {
            Joining::Append => {
                call.is_none() || self.call.is_none() || self.call.as_deref() == call
            }
            Joining::Accumulated => chunk.starts_with(&self.text) || self.text.starts_with(chunk),
        }
    }

    fn weight(&self, key: &str) -> usize {
        key.len() + size_of::<Text>() + self.text.len() + self.chunks.len() * size_of::<Chunk>()
    }
}

/// Returns the member of an object with this name.
fn member(doc: &JsonIndex, object: u32, name: &str) -> Option<u32> {
    let matches = |node: &u32| doc.key(*node).is_some_and(|key| plain(key) == name);
    if doc.kind(object) == Kind::Object {
        doc.children(object).find(matches)
    } else {
        None
    }
}

/// Returns the non-empty string member of an object with this name.
fn text_of<'d>(doc: &'d JsonIndex, object: u32, name: &str) -> Option<Cow<'d, str>> {
    let node = member(doc, object, name).filter(|node| doc.kind(*node) == Kind::Text)?;
    Some(plain(doc.value(node))).filter(|text| !text.is_empty())
}

/// Returns what distinguishes the texts of a message from those of other messages: its id, or else `fallback`.
fn message_key(base: &str, doc: &JsonIndex, message: u32, fallback: &str) -> String {
    let inner = member(doc, message, "kwargs");
    let id = text_of(doc, message, "id").or_else(|| text_of(doc, inner?, "id"));
    match id {
        Some(id) => format!("{base}\0id\0{}", stem(&id)),
        None => format!("{base}\0at\0{fallback}"),
    }
}

/// Returns whether a message in a pair with its metadata is a chunk, not a whole message. A message without a type
/// counts as a chunk.
fn is_chunk(doc: &JsonIndex, message: u32) -> bool {
    let has = |name| member(doc, message, name).is_some();
    is_chunk_object(doc, message) || has("tool_call_chunks") || !(has("type") || has("role"))
}

/// Returns whether an object is a chunk of a message by its type or, in its serialized form, by its class.
fn is_chunk_object(doc: &JsonIndex, node: u32) -> bool {
    if doc.kind(node) != Kind::Object {
        return false;
    }
    let names_chunk = |text: Cow<'_, str>| text.ends_with("Chunk");
    let class = member(doc, node, "id").filter(|id| doc.kind(*id) == Kind::Array);
    let class = class.and_then(|id| doc.children(id).last());
    text_of(doc, node, "type").is_some_and(names_chunk)
        || class.is_some_and(|last| names_chunk(plain(doc.value(last))))
}

/// Returns the text that a string is shown in: the text or the reasoning of the message, as joined by
/// [`crate::projection::Messages`].
fn shown_text(doc: &JsonIndex, message: u32, node: u32) -> Option<&'static str> {
    let steps: Vec<u32> = doc
        .ancestors(node)
        .take_while(|above| *above != message)
        .collect();
    let name = doc.key(node).map(plain).unwrap_or_default();
    let Some(top) = steps.last() else {
        return (name == "content").then_some("text");
    };
    let is_reasoning = |step: &u32| {
        text_of(doc, *step, "type").is_some_and(|kind| kind == "reasoning" || kind == "thinking")
    };
    match (doc.key(*top).map(plain).as_deref(), &*name) {
        (Some("additional_kwargs"), "reasoning_content") => Some("reasoning"),
        (Some("additional_kwargs"), "refusal") if steps.len() == 1 => Some("text"),
        (Some("content"), "reasoning" | "thinking") => Some("reasoning"),
        (Some("content"), "text") if steps.iter().any(is_reasoning) => Some("reasoning"),
        (Some("content"), "text" | "refusal") if steps.len() == 2 => Some("text"),
        // A string in the list of blocks.
        (Some("content"), "") if steps.len() == 1 => Some("text"),
        _ => None,
    }
}

/// Returns the path of a string in its message, with the members of lists by their `index` field, and the id of the
/// call that contains it.
fn slot(doc: &JsonIndex, message: u32, node: u32) -> (String, Option<String>) {
    let (mut slot, mut call) = (String::new(), None);
    let steps = std::iter::once(node)
        .chain(doc.ancestors(node))
        .take_while(|above| *above != message);
    for step in steps {
        slot.push('/');
        match doc.key(step) {
            Some(key) => slot.push_str(&plain(key)),
            None => {
                let index = member(doc, step, "index")
                    .map(|index| doc.value(index))
                    .filter(|index| *index != "null");
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
