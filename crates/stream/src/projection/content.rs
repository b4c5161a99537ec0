//! The content of a message: a text, or a list of blocks. It is read as bits in the model's order; what can't be shown
//! as text becomes a line that says what it is, and is not kept.

use super::summary::summary;
use crate::bounded;
use crate::protocol::{Fields, Items, text};
use runtail_core::text::bytes;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// Characters of an address, or of a name that a server made up, that a line shows.
const MAX_NAME: usize = 80;
/// Characters of the reason why a call can't be made.
const MAX_ERROR: usize = 2000;
/// Sources that are remembered for one message.
const MAX_CITATIONS: usize = 100;

/// A stretch of what a message says, in the model's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Bytes of the text.
    Text(Range<usize>),
    /// Bytes of the text with which the model declines.
    Refusal(Range<usize>),
    /// Bytes of the text: a line that stands for what can't be shown.
    Note {
        /// The line, without its break.
        range: Range<usize>,
        /// Bytes that it stands for.
        size: usize,
        /// The number of the block, by which its pieces find each other.
        index: Option<Box<str>>,
    },
    /// Bytes of the reasoning.
    Reasoning(Range<usize>),
    /// A call: its place in the list of calls.
    Call(usize),
}

impl Part {
    /// Returns its bytes of the text.
    pub(super) fn in_text(&mut self) -> Option<&mut Range<usize>> {
        match self {
            Part::Text(range) | Part::Refusal(range) | Part::Note { range, .. } => Some(range),
            Part::Reasoning(_) | Part::Call(_) => None,
        }
    }

    /// Returns its bytes of the reasoning.
    pub(super) fn in_reasoning(&mut self) -> Option<&mut Range<usize>> {
        match self {
            Part::Reasoning(range) => Some(range),
            _ => None,
        }
    }
}

/// Where something that was said comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The title of the source, if it has one.
    pub title: String,
    /// Its address, if it has one.
    pub url: String,
}

/// A call, or a piece of one.
#[derive(Debug, Clone, Default)]
pub(super) struct CallBit<'a> {
    pub id: Option<Cow<'a, str>>,
    pub name: Option<Cow<'a, str>>,
    pub args: Option<&'a RawValue>,
    pub index: Option<&'a str>,
    /// Why it can't be read, or its beginning.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> CallBit<'a> {
    /// Parses a call; `None` if it is not an object.
    pub fn read(raw: &'a RawValue) -> Option<CallBit<'a>> {
        let mut call = CallBit::default();
        let mut item = None;
        for (key, raw) in Fields::read(raw.get())?.0 {
            match &*key {
                "id" => item = said(raw).map(bounded),
                "call_id" | "tool_call_id" => call.id = said(raw).map(bounded),
                "name" => call.name = said(raw).map(bounded),
                "args" | "input" | "arguments" => call.args = Some(raw),
                "index" => call.index = index_of(raw),
                "error" => call.error = said(raw).map(|error| summary(&error, MAX_ERROR).into()),
                _ => {}
            }
        }
        call.id = call.id.or(item);
        Some(call)
    }

    /// Returns the arguments: a text as it is, anything else as JSON.
    pub fn args(&self) -> String {
        let Some(raw) = self.args else { return String::new() };
        match text(raw) {
            Some(text) => text.into_owned(),
            None if raw.get() == "null" => String::new(),
            // Aegra escapes what is not ASCII; people should not have to read that.
            None if raw.get().contains("\\u") => serde_json::from_str::<serde_json::Value>(raw.get())
                .map_or_else(|_| raw.get().into(), |value| value.to_string()),
            None => raw.get().into(),
        }
    }
}

/// Returns the number of a block, or another value by which its pieces find each other.
fn index_of(raw: &RawValue) -> Option<&str> {
    Some(raw.get()).filter(|index| *index != "null" && index.len() <= crate::MAX_NAME)
}

/// Returns a value as text, if it is a non-empty string.
fn said(raw: &RawValue) -> Option<Cow<'_, str>> {
    text(raw).filter(|text| !text.is_empty())
}

/// A part of a content as received.
#[derive(Debug)]
pub(super) enum Bit<'a> {
    Text(Cow<'a, str>),
    Reasoning(Cow<'a, str>),
    Refusal(Cow<'a, str>),
    Note { what: String, size: usize, index: Option<&'a str> },
    Call(CallBit<'a>),
    Cite(Citation),
}

/// Reads a content.
pub(super) fn bits(raw: &RawValue) -> Vec<Bit<'_>> {
    let mut bits = Vec::new();
    match text(raw) {
        Some(text) => bits.push(Bit::Text(text)),
        None if raw.get().starts_with('[') => Items::of(raw).into_iter().for_each(|block| add(block, &mut bits)),
        None => add(raw, &mut bits),
    }
    bits
}

fn add<'a>(raw: &'a RawValue, bits: &mut Vec<Bit<'a>>) {
    if let Some(text) = text(raw) {
        return bits.push(Bit::Text(text));
    }
    let note = |what: String, index| Bit::Note { what, size: raw.get().len(), index };
    let Some(Fields(fields)) = Fields::read(raw.get()) else {
        return match raw.get().as_bytes().first() {
            Some(b'n') => {}
            Some(b'[') => bits.push(note("list".into(), None)),
            _ => bits.push(Bit::Text(raw.get().into())),
        };
    };
    let field = |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw);
    let words = |name: &str| field(name).and_then(said);
    let kind = words("type").unwrap_or_default();
    let index = field("index").and_then(index_of);
    match &*kind {
        "reasoning" | "thinking" => {
            bits.extend(["reasoning", "thinking", "text"].iter().find_map(|name| words(name)).map(Bit::Reasoning));
            for part in field("summary").map(Items::of).unwrap_or_default() {
                let fields = Fields::read(part.get()).map(|fields| fields.0).unwrap_or_default();
                let text = fields.into_iter().find(|(key, _)| key == "text");
                bits.extend(text.and_then(|(_, raw)| said(raw)).map(Bit::Reasoning));
            }
        }
        "refusal" => bits.extend(words("refusal").map(Bit::Refusal)),
        "image" | "image_url" | "input_image" => bits.push(media("image", &fields, index)),
        "audio" | "input_audio" => bits.push(media("audio", &fields, index)),
        "video" => bits.push(media("video", &fields, index)),
        "file" | "document" | "input_file" | "text-plain" => bits.push(media("file", &fields, index)),
        "tool_call" | "tool_use" | "tool_call_chunk" | "function_call" => {
            bits.extend(CallBit::read(raw).map(Bit::Call))
        }
        // Pieces of calls, which lie beside the content as well.
        "input_json_delta" | "invalid_tool_call" => {}
        _ => match (words("text"), field("text").is_some()) {
            (Some(text), _) => bits.push(Bit::Text(text)),
            (None, true) => {}
            // What names no type is what a tool answered.
            (None, false) if kind.is_empty() => bits.push(Bit::Text(raw.get().into())),
            (None, false) => {
                let name = words("name").map(|name| format!(" {}", summary(&name, MAX_NAME))).unwrap_or_default();
                bits.push(note(format!("{}{name}", summary(&kind, MAX_NAME)), index));
            }
        },
    }
    for raw in [field("citations"), field("annotations")].into_iter().flatten().flat_map(Items::of) {
        bits.extend(cite(raw).map(Bit::Cite));
    }
}

/// Returns where something was found.
fn cite(raw: &RawValue) -> Option<Citation> {
    let (mut title, mut url) = (None, None);
    for (key, raw) in Fields::read(raw.get())?.0 {
        match &*key {
            "title" | "document_title" => title = said(raw).or(title),
            "url" | "source" => url = said(raw).or(url),
            _ => {}
        }
    }
    let short = |text: Option<Cow<'_, str>>| text.map(|text| summary(&text, 2 * MAX_NAME)).unwrap_or_default();
    (title.is_some() || url.is_some()).then(|| Citation { title: short(title), url: short(url) })
}

/// A picture, a sound, a file: its type, and its size or its address.
fn media<'a>(kind: &str, fields: &[(Cow<'a, str>, &'a RawValue)], index: Option<&'a str>) -> Bit<'a> {
    let (mut what, mut size) = (Media::default(), 0);
    what.read(fields, &mut size);
    for (key, raw) in fields {
        if matches!(&**key, "source" | "image_url" | "input_audio" | "audio" | "file" | "input_image")
            && let Some(Fields(inner)) = Fields::read(raw.get())
        {
            what.read(&inner, &mut size);
        }
    }
    let words = [Some(kind.to_string()), what.mime, what.name, what.url];
    Bit::Note { what: words.into_iter().flatten().collect::<Vec<_>>().join(" "), size, index }
}

#[derive(Default)]
struct Media {
    mime: Option<String>,
    name: Option<String>,
    url: Option<String>,
}

impl Media {
    fn read(&mut self, fields: &[(Cow<'_, str>, &RawValue)], size: &mut usize) {
        for (key, raw) in fields {
            let Some(value) = said(raw) else { continue };
            match &**key {
                "mime_type" | "media_type" | "format" => self.mime = Some(summary(&value, MAX_NAME)),
                "filename" | "title" | "file_id" => self.name = Some(summary(&value, MAX_NAME)),
                "base64" | "data" | "file_data" | "url" | "image_url" => match value.strip_prefix("data:") {
                    Some(data) => {
                        let (mime, data) = data.split_once(',').unwrap_or((data, ""));
                        let mime = mime.split(';').next().filter(|mime| !mime.is_empty());
                        self.mime = mime.map(|mime| summary(mime, MAX_NAME)).or(self.mime.take());
                        *size += data.len() / 4 * 3;
                    }
                    None if matches!(&**key, "url" | "image_url") => self.url = Some(summary(&value, MAX_NAME)),
                    None => *size += value.len() / 4 * 3,
                },
                _ => {}
            }
        }
    }
}

/// What a message says, as it is put together.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub text: String,
    pub reasoning: String,
    pub parts: Vec<Part>,
    pub citations: Vec<Citation>,
}

impl Said {
    /// Adds to the text.
    pub fn say(&mut self, text: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(range)) if range.end == from => range.end = self.text.len(),
            _ => self.parts.push(Part::Text(from..self.text.len())),
        }
    }

    /// Adds to the text with which the model declines.
    pub fn refuse(&mut self, text: &str) {
        let from = self.text.len();
        self.text.push_str(text);
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Refusal(range)) if range.end == from => range.end = self.text.len(),
            _ => self.parts.push(Part::Refusal(from..self.text.len())),
        }
    }

    /// Adds to the reasoning.
    pub fn think(&mut self, text: &str) {
        let from = self.reasoning.len();
        self.reasoning.push_str(text);
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Reasoning(range)) if range.end == from => range.end = self.reasoning.len(),
            _ => self.parts.push(Part::Reasoning(from..self.reasoning.len())),
        }
    }

    /// Adds a line for what can't be shown. Pieces of one block share a line.
    pub fn note(&mut self, what: &str, size: usize, index: Option<&str>) {
        let mut size = size;
        if let Some(Part::Note { range, size: before, index: known }) = self.parts.last()
            && index.is_some()
            && known.as_deref() == index
            && range.end + 1 == self.text.len()
        {
            size += before;
            self.text.truncate(range.start);
            self.parts.pop();
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let from = self.text.len();
        let size_word = if size > 0 { format!(", {}", bytes(size as u64)) } else { String::new() };
        self.text.push_str(&format!("[{what}{size_word}]\n"));
        self.parts.push(Part::Note { range: from..self.text.len() - 1, size, index: index.map(Into::into) });
    }

    /// Adds a source, once.
    pub fn cite(&mut self, citation: Citation) {
        if self.citations.len() < MAX_CITATIONS && !self.citations.contains(&citation) {
            self.citations.push(citation);
        }
    }

    /// Adds a bit that is no call; gives a call back.
    pub fn add<'a>(&mut self, bit: Bit<'a>) -> Option<CallBit<'a>> {
        match bit {
            Bit::Text(text) => self.say(&text),
            Bit::Reasoning(text) => self.think(&text),
            Bit::Refusal(text) => self.refuse(&text),
            Bit::Note { what, size, index } => self.note(&what, size, index),
            Bit::Cite(citation) => self.cite(citation),
            Bit::Call(call) => return Some(call),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said_of(json: &str) -> (String, String, usize) {
        let mut said = Said::default();
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let calls = bits(raw).into_iter().filter_map(|bit| said.add(bit)).count();
        (said.text, said.reasoning, calls)
    }

    #[test]
    fn what_cannot_be_shown_says_what_it_is() {
        let data = "A".repeat(4000);
        for (block, line) in [
            (format!(r#"{{"type":"image","mime_type":"image/png","base64":"{data}"}}"#), "[image image/png, 3.0 kB]"),
            (
                format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/jpeg;base64,{data}"}}}}"#),
                "[image image/jpeg, 3.0 kB]",
            ),
            (r#"{"type":"image_url","image_url":"https://x.y/z.png"}"#.into(), "[image https://x.y/z.png]"),
            (
                format!(r#"{{"type":"image","source":{{"type":"base64","media_type":"image/gif","data":"{data}"}}}}"#),
                "[image image/gif, 3.0 kB]",
            ),
            (
                format!(r#"{{"type":"input_audio","input_audio":{{"data":"{data}","format":"wav"}}}}"#),
                "[audio wav, 3.0 kB]",
            ),
            (r#"{"type":"file","file":{"filename":"a.pdf","file_id":"f1"}}"#.into(), "[file f1]"),
            (r#"{"type":"server_tool_use","name":"web_search"}"#.into(), "[server_tool_use web_search, 46 B]"),
            (r#"[[1]]"#.into(), "[list, 5 B]"),
        ] {
            assert_eq!(said_of(&format!("[\"a\",{block},\"b\"]")).0, format!("a\n{line}\nb"), "{block}");
        }
        assert_eq!(said_of(r#"[{"city":"Kraków"}]"#).0, r#"{"city":"Kraków"}"#);
        assert_eq!(said_of("null").0, "");
        assert_eq!(said_of("7").0, "7");
    }

    #[test]
    fn blocks_keep_their_order() {
        let mut said = Said::default();
        let json = r#"[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a","citations":[{"url":"https://s","title":"S"}]},
            {"type":"tool_use","id":"1","name":"t","input":{}},{"type":"text","text":"b"},{"type":"refusal","refusal":"no"}]"#;
        let raw: &RawValue = serde_json::from_str(json).unwrap();
        let calls = bits(raw).into_iter().filter_map(|bit| said.add(bit)).count();
        assert_eq!((said.text.as_str(), said.reasoning.as_str(), calls), ("abno", "hm", 1));
        assert_eq!(said.parts, [Part::Reasoning(0..2), Part::Text(0..2), Part::Refusal(2..4)]);
        assert_eq!(said.citations, [Citation { title: "S".into(), url: "https://s".into() }]);
    }

    #[test]
    fn pieces_of_one_block_share_a_line() {
        let mut said = Said::default();
        said.say("a");
        for _ in 0..3 {
            said.note("weird", 400, Some("2"));
        }
        said.note("weird", 1, Some("3"));
        said.say("b");
        assert_eq!(said.text, "a\n[weird, 1.2 kB]\n[weird, 1 B]\nb");
        for part in &said.parts {
            if let Part::Note { range, .. } = part {
                assert!(said.text[range.clone()].starts_with("[weird") && said.text[range.clone()].ends_with(']'));
            }
        }
    }
}
