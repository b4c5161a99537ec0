//! The content of a message: a text or a list of blocks, parsed into pieces in the model's order. A block that can't be
//! shown as text is replaced by a placeholder line and not kept.

use super::summary::summary;
use crate::bounded;
use runtail_core::json::{self, Fields, Peek};
use runtail_core::text::bytes;
use std::borrow::Cow;
use std::mem::discriminant;
use std::ops::Range;

/// Maximum length of a URL or a server-defined name in a line, in characters.
const MAX_NAME: usize = 80;
/// Maximum length of the error of an invalid call, in characters.
const MAX_ERROR: usize = 2000;
/// Maximum number of citations kept per message.
const MAX_CITATIONS: usize = 100;

/// A part of a message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A byte range of the text.
    Text(Range<usize>),
    /// A byte range of the text: a refusal by the model.
    Refusal(Range<usize>),
    /// A byte range of the text: a placeholder for a block that can't be shown.
    Note {
        /// The placeholder without its line break.
        range: Range<usize>,
        /// Size of the replaced block in bytes.
        size: usize,
        /// The index of the block, which identifies its chunks.
        index: Option<Box<str>>,
    },
    /// A byte range of the reasoning.
    Reasoning(Range<usize>),
    /// The index of a tool call.
    Call(usize),
}

impl Part {
    /// Returns its range in the text or, if `of_reasoning`, in the reasoning.
    pub(super) fn range(&mut self, of_reasoning: bool) -> Option<&mut Range<usize>> {
        match self {
            Part::Reasoning(range) if of_reasoning => Some(range),
            Part::Text(range) | Part::Refusal(range) | Part::Note { range, .. }
                if !of_reasoning =>
            {
                Some(range)
            }
            _ => None,
        }
    }
}

/// A source that a message cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The title; empty if unknown.
    pub title: String,
    /// The URL; empty if unknown.
    pub url: String,
}

/// A tool call, or a chunk of one.
#[derive(Debug, Clone, Default)]
pub(super) struct CallChunk<'a> {
    pub id: Option<Cow<'a, str>>,
    pub name: Option<Cow<'a, str>>,
    pub args: Option<Peek<'a>>,
    pub index: Option<&'a str>,
    /// Why the call is invalid.
    pub error: Option<Cow<'a, str>>,
}

impl<'a> CallChunk<'a> {
    /// Parses a call; `None` if it is not an object.
    pub fn read(raw: Peek<'a>) -> Option<CallChunk<'a>> {
        let mut call = CallChunk::default();
        let mut block_id = None;
        for (key, raw) in raw.object()?.0 {
            match &*key {
                "id" => block_id = non_empty_text(raw).map(bounded),
                "call_id" | "tool_call_id" => call.id = non_empty_text(raw).map(bounded),
                "name" => call.name = non_empty_text(raw).map(bounded),
                "args" | "input" | "arguments" => call.args = Some(raw),
                "index" => call.index = index_of(raw),
                "error" => {
                    call.error = non_empty_text(raw).map(|error| summary(&error, MAX_ERROR).into())
                }
                _ => {}
            }
        }
        call.id = call.id.or(block_id);
        Some(call)
    }

    /// Returns the arguments: a string unchanged, anything else as JSON.
    pub fn args(&self) -> String {
        let Some(raw) = self.args else {
            return String::new();
        };
        match raw.string() {
            Some(text) => text.into_owned(),
            None if raw.text() == "null" => String::new(),
            // Aegra escapes all non-ASCII characters, which makes the arguments hard to read.
            None => runtail_core::text::readable(raw.text()).into_owned(),
        }
    }
}

/// Returns the index of a block: a number, or another value that identifies its chunks.
fn index_of(raw: Peek<'_>) -> Option<&str> {
    Some(raw.text()).filter(|index| *index != "null" && index.len() <= crate::MAX_NAME)
}

/// Returns a value as text, if it is a non-empty string.
fn non_empty_text(raw: Peek<'_>) -> Option<Cow<'_, str>> {
    raw.string().filter(|text| !text.is_empty())
}

/// A piece of a content as received.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// The start of a block of text: its index, and whether it cites sources.
    Block(Option<&'a str>, bool),
    Text(Cow<'a, str>),
    Reasoning(Cow<'a, str>),
    Refusal(Cow<'a, str>),
    Note {
        what: String,
        size: usize,
        index: Option<&'a str>,
    },
    Call(CallChunk<'a>),
    Citation(Citation),
}

/// Parses a content.
pub(super) fn pieces(raw: Peek<'_>) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    match raw.string() {
        Some(text) => pieces.push(Piece::Text(text)),
        None if raw.text().starts_with('[') => {
            for (n, block) in raw.items().enumerate() {
                push_pieces(block, n == 0, &mut pieces);
            }
        }
        None => push_pieces(raw, true, &mut pieces),
    }
    pieces
}

/// Parses a block. Chunks without an index continue the same block, so the first one of a list may not start another.
fn push_pieces<'a>(raw: Peek<'a>, is_first: bool, pieces: &mut Vec<Piece<'a>>) {
    if let Some(text) = raw.string() {
        pieces.extend((!is_first).then_some(Piece::Block(None, false)));
        return pieces.push(Piece::Text(text));
    }
    let note = |what: String, index| Piece::Note {
        what,
        size: raw.text().len(),
        index,
    };
    let Some(fields) = raw.object() else {
        return match raw.text().as_bytes().first() {
            Some(b'n') => {}
            Some(b'[') => pieces.push(note("list".into(), None)),
            _ => pieces.push(Piece::Text(raw.text().into())),
        };
    };
    let field = |name: &str| fields.find(name);
    let string = |name: &str| field(name).and_then(non_empty_text);
    let kind = string("type").unwrap_or_default();
    let index = field("index").and_then(index_of);
    match &*kind {
        "reasoning" | "thinking" => {
            let before = pieces.len();
            pieces.extend(
                ["reasoning", "thinking"]
                    .iter()
                    .find_map(|name| string(name))
                    .map(Piece::Reasoning),
            );
            for part in ["summary", "content"]
                .into_iter()
                .filter_map(field)
                .flat_map(Peek::items)
            {
                let text = part.get("text");
                pieces.extend(text.and_then(non_empty_text).map(Piece::Reasoning));
            }
            // Next to a reasoning, the text is the answer.
            let has_reasoning = pieces.len() > before;
            pieces.extend(string("text").map(if has_reasoning {
                Piece::Text
            } else {
                Piece::Reasoning
            }));
        }
        "refusal" => pieces.extend(string("refusal").map(Piece::Refusal)),
        "image" | "image_url" | "input_image" => pieces.push(media("image", &fields, index)),
        "audio" | "input_audio" => pieces.push(media("audio", &fields, index)),
        "video" => pieces.push(media("video", &fields, index)),
        "file" | "document" | "input_file" | "text-plain" | "resource_link" => {
            pieces.push(media("file", &fields, index));
        }
        "resource" => {
            let inner = field("resource").and_then(|raw| raw.get("text"));
            match inner.and_then(non_empty_text) {
                Some(text) => pieces.extend([Piece::Block(index, false), Piece::Text(text)]),
                None => pieces.push(media("file", &fields, index)),
            }
        }
        "tool_call" | "tool_use" | "tool_call_chunk" | "function_call" => {
            pieces.extend(CallChunk::read(raw).map(Piece::Call))
        }
        // The message also lists these calls outside of its content.
        "input_json_delta" | "invalid_tool_call" => {}
        _ => match (string("text"), field("text").is_some()) {
            (Some(text), _) => {
                let is_cited = ["citations", "annotations"]
                    .into_iter()
                    .filter_map(field)
                    .any(|raw| raw.text() != "[]");
                pieces.extend(
                    (index.is_some() || !is_first).then_some(Piece::Block(index, is_cited)),
                );
                pieces.push(Piece::Text(text));
            }
            (None, true) => {}
            // An object without a type is the result of a tool.
            (None, false) if kind.is_empty() => pieces.push(Piece::Text(raw.text().into())),
            (None, false) => {
                let name = string("name")
                    .map(|name| format!(" {}", summary(&name, MAX_NAME)))
                    .unwrap_or_default();
                pieces.push(note(format!("{}{name}", summary(&kind, MAX_NAME)), index));
            }
        },
    }
    for raw in [field("citations"), field("annotations")]
        .into_iter()
        .flatten()
        .flat_map(Peek::items)
    {
        pieces.extend(citation(raw).map(Piece::Citation));
    }
}

/// Parses a citation.
fn citation(raw: Peek<'_>) -> Option<Citation> {
    let (mut title, mut url) = (None, None);
    for (key, raw) in raw.object()?.0 {
        match &*key {
            "title" | "document_title" => title = non_empty_text(raw).or(title),
            "url" | "source" => url = non_empty_text(raw).or(url),
            _ => {}
        }
    }
    let short = |text: Option<Cow<'_, str>>| {
        text.map(|text| summary(&text, 2 * MAX_NAME))
            .unwrap_or_default()
    };
    (title.is_some() || url.is_some()).then(|| Citation {
        title: short(title),
        url: short(url),
    })
}

/// Returns the placeholder for an image, audio, video or file: its type, and its size or its URL.
fn media<'a>(kind: &str, fields: &Fields<'a>, index: Option<&'a str>) -> Piece<'a> {
    let (mut media, mut size) = (Media::default(), 0);
    media.read(fields, &mut size);
    for (key, raw) in &fields.0 {
        if matches!(
            &**key,
            "source" | "image_url" | "input_audio" | "audio" | "file" | "input_image" | "resource"
        ) && let Some(inner) = raw.object()
        {
            media.read(&inner, &mut size);
        }
    }
    let uri = media.uri.filter(|_| media.name.is_none());
    let labels = [
        Some(kind.to_string()),
        media.name,
        media.mime,
        media.url.or(uri),
    ];
    Piece::Note {
        what: labels.into_iter().flatten().collect::<Vec<_>>().join(" "),
        size,
        index,
    }
}

#[derive(Default)]
struct Media {
    mime: Option<String>,
    name: Option<String>,
    url: Option<String>,
    /// The address of a resource, unless it has a name.
    uri: Option<String>,
}

impl Media {
    fn read(&mut self, fields: &Fields<'_>, size: &mut usize) {
        for (key, raw) in &fields.0 {
            let Some(value) = non_empty_text(*raw) else {
                continue;
            };
            match &**key {
                "mime_type" | "mimeType" | "media_type" | "format" => {
                    self.mime = Some(summary(&value, MAX_NAME))
                }
                "filename" | "title" | "file_id" | "name" => {
                    self.name = Some(summary(&value, MAX_NAME))
                }
                "uri" => self.uri = Some(summary(&value, MAX_NAME)),
                "base64" | "data" | "file_data" | "blob" | "url" | "image_url" => {
                    match value.strip_prefix("data:") {
                        Some(data) => {
                            let (mime, data) = data.split_once(',').unwrap_or((data, ""));
                            let mime = mime.split(';').next().filter(|mime| !mime.is_empty());
                            self.mime = mime
                                .map(|mime| summary(mime, MAX_NAME))
                                .or(self.mime.take());
                            *size += data.len() / 4 * 3;
                        }
                        None if matches!(&**key, "url" | "image_url") => {
                            self.url = Some(summary(&value, MAX_NAME))
                        }
                        None => *size += value.len() / 4 * 3,
                    }
                }
                _ => {}
            }
        }
    }
}

/// The content of a message while it is built.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub text: String,
    pub reasoning: String,
    pub parts: Vec<Part>,
    pub citations: Vec<Citation>,
    /// The index of the block of text that was pushed last.
    pub block: Option<Box<str>>,
    /// Whether the next text begins another block.
    pub breaks: bool,
}

impl Content {
    /// Begins a block of text. Parts of a sentence that cite sources are blocks too, so those are not separated.
    fn begin_block(&mut self, index: Option<&str>, is_cited: bool) {
        let continues =
            index.is_some_and(|index| self.block.as_deref().is_none_or(|known| known == index));
        self.breaks = !continues && !is_cited && self.citations.is_empty();
        self.block = index.map(Into::into);
    }

    /// Appends to the text. Blocks without white space between them are separated.
    pub fn push_text(&mut self, text: &str) {
        let is_glued = matches!(self.parts.last(), Some(Part::Text(_)))
            && !self.text.ends_with(char::is_whitespace)
            && !text.is_empty()
            && !text.starts_with(char::is_whitespace);
        if std::mem::take(&mut self.breaks) && is_glued {
            self.push_text("\n");
        }
        self.append(text, Part::Text);
    }

    /// Appends to the text or the reasoning, continuing the last part if it is of the same kind.
    fn append(&mut self, text: &str, kind: fn(Range<usize>) -> Part) {
        let mut part = kind(0..0);
        let of_reasoning = matches!(part, Part::Reasoning(_));
        let into = match of_reasoning {
            true => &mut self.reasoning,
            false => &mut self.text,
        };
        let from = into.len();
        let is_same = |last: &&mut Part| discriminant(*last) == discriminant(&part);
        let last = self.parts.last_mut().filter(is_same);
        let last = last.and_then(|last| last.range(of_reasoning));
        match last.filter(|range| range.end == from) {
            _ if text.is_empty() => {}
            Some(range) => {
                json::append(into, text);
                range.end = into.len();
            }
            None => {
                into.push_str(text);
                part = kind(from..into.len());
                self.parts.push(part);
            }
        }
    }

    /// Appends to the text, as a refusal.
    pub fn push_refusal(&mut self, text: &str) {
        self.append(text, Part::Refusal);
    }

    /// Appends to the reasoning.
    pub fn push_reasoning(&mut self, text: &str) {
        self.append(text, Part::Reasoning);
    }

    /// Adds a placeholder for a block that can't be shown. Chunks of one block share a line.
    pub fn push_note(&mut self, what: &str, size: usize, index: Option<&str>) {
        let mut size = size;
        if let Some(Part::Note {
            range,
            size: before,
            index: known,
        }) = self.parts.last()
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
        let size_label = if size > 0 {
            format!(", {}", bytes(size as u64))
        } else {
            String::new()
        };
        self.text.push_str(&format!("[{what}{size_label}]\n"));
        self.parts.push(Part::Note {
            range: from..self.text.len() - 1,
            size,
            index: index.map(Into::into),
        });
    }

    /// Adds a citation, unless the message already has it.
    pub fn push_citation(&mut self, citation: Citation) {
        if self.citations.len() < MAX_CITATIONS && !self.citations.contains(&citation) {
            self.citations.push(citation);
        }
    }

    /// Adds a piece, or returns it if it is a tool call.
    pub fn push<'a>(&mut self, piece: Piece<'a>) -> Option<CallChunk<'a>> {
        match piece {
            Piece::Block(index, is_cited) => self.begin_block(index, is_cited),
            Piece::Text(text) => self.push_text(&text),
            Piece::Reasoning(text) => self.push_reasoning(&text),
            Piece::Refusal(text) => self.push_refusal(&text),
            Piece::Note { what, size, index } => self.push_note(&what, size, index),
            Piece::Citation(citation) => self.push_citation(citation),
            Piece::Call(call) => return Some(call),
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> (String, String, usize) {
        let mut content = Content::default();
        let raw: Peek<'_> = serde_json::from_str(json).unwrap();
        let calls = pieces(raw)
            .into_iter()
            .filter_map(|piece| content.push(piece))
            .count();
        (content.text, content.reasoning, calls)
    }

    #[test]
    fn unshowable_content_gets_a_placeholder() {
        let data = "A".repeat(4000);
        for (block, line) in [
            (
                format!(r#"{{"type":"image","mime_type":"image/png","base64":"{data}"}}"#),
                "[image image/png, 3.0 kB]",
            ),
            (
                format!(
                    r#"{{"type":"image_url","image_url":{{"url":"data:image/jpeg;base64,{data}"}}}}"#
                ),
                "[image image/jpeg, 3.0 kB]",
            ),
            (
                r#"{"type":"image_url","image_url":"https://x.y/z.png"}"#.into(),
                "[image https://x.y/z.png]",
            ),
            (
                format!(
                    r#"{{"type":"image","source":{{"type":"base64","media_type":"image/gif","data":"{data}"}}}}"#
                ),
                "[image image/gif, 3.0 kB]",
            ),
            (
                format!(
                    r#"{{"type":"input_audio","input_audio":{{"data":"{data}","format":"wav"}}}}"#
                ),
                "[audio wav, 3.0 kB]",
            ),
            (
                r#"{"type":"file","file":{"filename":"a.pdf","file_id":"f1"}}"#.into(),
                "[file f1]",
            ),
            (
                r#"{"type":"server_tool_use","name":"web_search"}"#.into(),
                "[server_tool_use web_search, 46 B]",
            ),
            (r#"[[1]]"#.into(), "[list, 5 B]"),
        ] {
            assert_eq!(
                parse(&format!("[\"a\",{block},\"b\"]")).0,
                format!("a\n{line}\nb"),
                "{block}"
            );
        }
        assert_eq!(parse(r#"[{"city":"Kraków"}]"#).0, r#"{"city":"Kraków"}"#);
        assert_eq!(parse("null").0, "");
        assert_eq!(parse("7").0, "7");
    }

    #[test]
    fn blocks_keep_their_order() {
        let mut content = Content::default();
        let json = r#"[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a","citations":[{"url":"https://s","title":"S"}]},
            {"type":"tool_use","id":"1","name":"t","input":{}},{"type":"text","text":"b"},{"type":"refusal","refusal":"no"}]"#;
        let raw: Peek<'_> = serde_json::from_str(json).unwrap();
        let calls = pieces(raw)
            .into_iter()
            .filter_map(|piece| content.push(piece))
            .count();
        assert_eq!(
            (content.text.as_str(), content.reasoning.as_str(), calls),
            ("abno", "hm", 1)
        );
        assert_eq!(
            content.parts,
            [Part::Reasoning(0..2), Part::Text(0..2), Part::Refusal(2..4)]
        );
        assert_eq!(
            content.citations,
            [Citation {
                title: "S".into(),
                url: "https://s".into()
            }]
        );
    }

    #[test]
    fn reasoning_and_text_of_one_block_are_both_kept() {
        for (json, text, reasoning) in [
            (
                r#"[{"type":"reasoning","reasoning":"hm","text":"42"}]"#,
                "42",
                "hm",
            ),
            (
                r#"[{"type":"thinking","thinking":"hm","text":"42"}]"#,
                "42",
                "hm",
            ),
            (
                r#"[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"text":"42"}]"#,
                "42",
                "hm",
            ),
            (
                r#"[{"type":"reasoning","content":[{"type":"reasoning_text","text":"hm"}]}]"#,
                "",
                "hm",
            ),
            (r#"[{"type":"reasoning","text":"hm"}]"#, "", "hm"),
        ] {
            assert_eq!(parse(json), (text.into(), reasoning.into(), 0), "{json}");
        }
    }

    #[test]
    fn blocks_of_text_are_separated() {
        for (json, text) in [
            (
                r#"[{"type":"text","text":"a."},{"type":"text","text":"b."}]"#,
                "a.\nb.",
            ),
            (r#"["a.","b."]"#, "a.\nb."),
            (
                r#"[{"type":"text","text":"a. "},{"type":"text","text":"b."}]"#,
                "a. b.",
            ),
            (
                r#"[{"type":"text","text":"a","index":0},{"type":"text","text":"b","index":0}]"#,
                "ab",
            ),
            (
                r#"[{"type":"text","text":"a","citations":[{"url":"https://s"}]},{"type":"text","text":"b"}]"#,
                "ab",
            ),
        ] {
            assert_eq!(parse(json).0, text, "{json}");
        }
        let mut content = Content::default();
        for (index, text) in [("0", "He"), ("0", "llo."), ("1", "Bye"), ("1", ".")] {
            content.push(Piece::Block(Some(index), false));
            content.push(Piece::Text(text.into()));
        }
        assert_eq!(content.text, "Hello.\nBye.");
    }

    #[test]
    fn blocks_of_mcp_tools_are_shown() {
        for (block, line) in [
            (
                r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#,
                "[image image/png, 3 B]\n",
            ),
            (
                r#"{"type":"resource","resource":{"uri":"file:///n.txt","mimeType":"text/plain","text":"NOTE"}}"#,
                "NOTE",
            ),
            (
                r#"{"type":"resource","resource":{"uri":"file:///n.bin","blob":"AAAA"}}"#,
                "[file file:///n.bin, 3 B]\n",
            ),
            (
                r#"{"type":"resource_link","uri":"file:///d.pdf","name":"d.pdf","mimeType":"application/pdf"}"#,
                "[file d.pdf application/pdf]\n",
            ),
            (
                r#"{"type":"resource_link","name":"d.pdf","uri":"file:///d.pdf"}"#,
                "[file d.pdf]\n",
            ),
            (
                r#"{"type":"resource_link","uri":"file:///d.pdf"}"#,
                "[file file:///d.pdf]\n",
            ),
        ] {
            assert_eq!(parse(&format!("[{block}]")).0, line, "{block}");
        }
    }

    #[test]
    fn chunks_of_one_block_share_a_line() {
        let mut content = Content::default();
        content.push_text("a");
        for _ in 0..3 {
            content.push_note("weird", 400, Some("2"));
        }
        content.push_note("weird", 1, Some("3"));
        content.push_text("b");
        assert_eq!(content.text, "a\n[weird, 1.2 kB]\n[weird, 1 B]\nb");
        for part in &content.parts {
            if let Part::Note { range, .. } = part {
                assert!(
                    content.text[range.clone()].starts_with("[weird")
                        && content.text[range.clone()].ends_with(']')
                );
            }
        }
    }
}
