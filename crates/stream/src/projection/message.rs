//! A message of a conversation.

use super::content::{Citation, Content, Part};
use super::rows::{len, namespace_weight};
use super::spans::Spans;
use super::starts::{CallStart, FirstToken};
use super::usage::Usage;
use crate::{Namespace, Seq};
use jiff::{SignedDuration, Timestamp};
use runtail_core::text::bytes;
use std::ops::Range;
use std::sync::Arc;

/// Minimum time between the first and the last token for a token rate. Faster chunks arrived in one burst, for example
/// in a replay.
pub(super) const MIN_TOKEN_TIME: SignedDuration = SignedDuration::from_millis(20);

/// The role of a message's author.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    Human,
    /// A model.
    Ai,
    /// A tool result.
    Tool,
    /// The system prompt.
    System,
    /// Another role, as the server spells it.
    Other(Arc<str>),
}

impl Role {
    /// Returns the label shown on screen.
    pub fn word(&self) -> &str {
        match self {
            Role::Human => "human",
            Role::Ai => "ai",
            Role::Tool => "tool",
            Role::System => "system",
            Role::Other(other) => other,
        }
    }

    /// Parses a role of any dialect: `ai`, `AIMessageChunk`, `assistant`.
    pub fn of(word: &str) -> Role {
        match word
            .strip_suffix("MessageChunk")
            .or(word.strip_suffix("Message"))
            .unwrap_or(word)
        {
            "human" | "user" | "Human" => Role::Human,
            "ai" | "assistant" | "AI" => Role::Ai,
            "tool" | "Tool" | "function" | "Function" => Role::Tool,
            "system" | "developer" | "System" => Role::System,
            other => Role::Other(other.into()),
        }
    }
}

/// A tool call that a model requested.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCall {
    /// The id that the tool result refers to.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as received; JSON once they are complete.
    pub args: String,
    /// Why the call is invalid, if it is.
    pub invalid: Option<String>,
    /// The event with its last chunk.
    pub seq: Seq,
    /// When its last chunk was sent, if known.
    pub at: Option<Timestamp>,
    /// Number of the message with its result, counting evicted ones.
    pub answer: Option<u64>,
    /// The index that identifies its chunks.
    pub(super) index: Option<Box<str>>,
    /// Number of bytes evicted from the middle of its arguments.
    pub(super) evicted: usize,
}

/// A message of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message {
    /// The first event that contained it.
    pub first_seq: Seq,
    /// The last event that changed it.
    pub last_seq: Seq,
    /// The server's id.
    pub id: Option<Arc<str>>,
    /// The run that it appeared in, if known.
    pub run_id: Option<Arc<str>>,
    pub role: Role,
    /// The name of the author or the tool.
    pub name: Option<Arc<str>>,
    /// The node that wrote it.
    pub node: Option<Arc<str>>,
    /// The node with the subgraphs that contain it, as in [`node_path`](super::node_path).
    pub path: Option<Arc<str>>,
    /// The step of the root graph that wrote it.
    pub(super) step: Option<i64>,
    /// The namespace of the node's graph.
    pub ns: Namespace,
    /// The text so far.
    pub text: String,
    /// The model's reasoning so far.
    pub reasoning: String,
    /// The parts of the message (text, reasoning, calls) in the model's order.
    pub parts: Vec<Part>,
    /// The sources that it cites.
    pub citations: Vec<Citation>,
    /// The index of the block of text that is being streamed.
    pub(super) block: Option<Box<str>>,
    /// The length of the text after each event; see [`Message::text_at`].
    pub spans: Spans,
    /// The same for the reasoning.
    pub reasoning_spans: Spans,
    pub tool_calls: Vec<ToolCall>,
    /// For a tool result: the id of the call.
    pub tool_call_id: Option<String>,
    /// For a tool result: number of the message with its call, counting evicted ones.
    pub call_message: Option<u64>,
    /// Whether it is the result of a tool that failed.
    pub is_error: bool,
    pub usage: Option<Usage>,
    /// The model that wrote it, and whether the response itself names it: a request may use a shorter name.
    pub(super) model: Option<(Arc<str>, bool)>,
    /// Whether it is finished.
    pub complete: bool,
    /// The event that removed it from the state, if it was removed.
    pub removed_at: Option<Seq>,
    /// When it started, if known: the server's time, or the arrival time of a live event.
    pub started_at: Option<Timestamp>,
    /// When it last changed, if known.
    pub ended_at: Option<Timestamp>,
    /// When the model call that writes it started, if known.
    pub called: Option<CallStart>,
    /// When its first and its last token were sent, if it was streamed and these times are known.
    pub token_times: Option<(Timestamp, Timestamp)>,
    /// Whether it was first seen in the server's state, not in the stream.
    pub is_loaded: bool,
    /// Whether the stream has shown it.
    pub(super) is_streamed: bool,
    /// Whether the root graph's state has, or had, it.
    pub(super) in_state: bool,
    /// The time by which it is placed among others, if known.
    pub(super) placed: Option<Timestamp>,
    /// Number of chunks with tokens.
    pub chunks: u64,
    /// Incremented with each change.
    pub rev: u32,
    /// Incremented when its text is replaced rather than extended.
    pub rewrites: u32,
    /// Whether its first tokens may be missing, because the stream joined in the middle of it.
    pub(super) lacks_start: bool,
    /// Whether its final form is known. Later chunks are ignored.
    pub(super) is_whole: bool,
    /// How it is streamed. JavaScript may stream one message both ways.
    pub(super) dialect: Option<Dialect>,
    /// Its memory size when it was last measured.
    pub(super) weighed: usize,
    /// Number of bytes evicted from the middle of its text and of its reasoning.
    pub(super) evicted: (usize, usize),
}

impl Message {
    pub(super) fn weight(&self) -> usize {
        let calls = self.tool_calls.iter().map(|call| {
            let texts = call.id.len() + call.name.len() + call.args.len() + len(&call.invalid);
            size_of::<ToolCall>() + texts
        });
        let citations = self
            .citations
            .iter()
            .map(|citation| size_of::<Citation>() + citation.title.len() + citation.url.len());
        let parts = self.parts.len() * size_of::<Part>();
        // The id is also the key of an index.
        let names = 2 * len(&self.id) + len(&self.run_id) + len(&self.name) + len(&self.node);
        let texts = self.text.len()
            + self.reasoning.len()
            + self.spans.weight()
            + self.reasoning_spans.weight();
        size_of::<Message>()
            + texts
            + names
            + namespace_weight(&self.ns)
            + len(&self.tool_call_id)
            + parts
            + calls.sum::<usize>()
            + citations.sum::<usize>()
    }
}

/// The range cut out of a text, and the placeholder for it.
struct Cut {
    range: Range<usize>,
    note: String,
}

/// Evicts the middle of a text that is longer than `max` bytes, so that about half of `max` remains: a quarter of it
/// from the beginning and the rest from the end. `evicted` is the total number of evicted bytes.
fn cut_middle(text: &mut String, max: usize, evicted: &mut usize) -> Option<Cut> {
    if text.len() <= max {
        return None;
    }
    let note = |evicted: usize| {
        format!(
            "\n[{} evicted: over the memory limit]\n",
            bytes(evicted as u64)
        )
    };
    let from = (0..=max / 8)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let to = (text.len() - max / 8 * 3..text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    // The placeholder of the previous cut is part of this cut, but was not part of the text.
    let before = if *evicted > 0 {
        note(*evicted).len()
    } else {
        0
    };
    *evicted += (to - from).saturating_sub(before);
    let note = note(*evicted);
    text.replace_range(from..to, &note);
    // A string that grew may have twice the capacity that it needs.
    text.shrink_to(max);
    Some(Cut {
        range: from..to,
        note,
    })
}

/// Adjusts the parts of a message to a cut in its text. `note` replaces the cut range and has `note_len` bytes.
fn cut_parts(
    parts: Vec<Part>,
    cut: &Range<usize>,
    note_len: usize,
    note: Part,
    of_reasoning: bool,
) -> Vec<Part> {
    let shifted = |at: usize| at - (cut.end - cut.start) + note_len;
    let (mut out, mut note) = (Vec::with_capacity(parts.len()), Some(note));
    for mut part in parts {
        let Some(range) = part.range(of_reasoning).cloned() else {
            out.push(part);
            continue;
        };
        let with = |mut part: Part, range: Range<usize>| {
            if let Some(own) = part.range(of_reasoning) {
                *own = range;
            }
            part
        };
        if range.start < cut.start {
            out.push(with(part.clone(), range.start..range.end.min(cut.start)));
        }
        if range.end > cut.start {
            out.extend(note.take());
        }
        if range.end > cut.end {
            out.push(with(
                part,
                shifted(range.start.max(cut.end))..shifted(range.end),
            ));
        }
    }
    out.extend(note);
    out
}

/// How the text of a message is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// As chunks to append (`messages`).
    Chunks,
    /// As the whole text so far (`messages/partial`).
    Accumulated,
}

impl Message {
    /// Returns the text as it was after an event.
    pub fn text_at(&self, seq: Seq) -> &str {
        self.text
            .get(..self.spans.end_at(seq))
            .unwrap_or(&self.text)
    }

    /// Returns the time to first token of the model call; `None` if its start or its first token is not known.
    pub fn first_token(&self) -> Option<FirstToken> {
        let (first, _) = self.token_times?;
        self.called?.first_token(first)
    }

    /// Returns tokens per second from the first to the last token, by the model's count if known, else one token per
    /// chunk. `None` if there are too few.
    pub fn tokens_per_second(&self) -> Option<f64> {
        let (first, last) = self.token_times?;
        let time = Some(last.duration_since(first)).filter(|time| *time >= MIN_TOKEN_TIME)?;
        let counted = self
            .usage
            .filter(|usage| self.complete && usage.output > 0)
            .map(|usage| usage.output);
        // The time starts at the first token, so that token doesn't count.
        let tokens = counted
            .unwrap_or(self.chunks)
            .checked_sub(1)
            .filter(|tokens| *tokens > 0)?;
        Some(tokens as f64 / time.as_secs_f64())
    }

    /// Returns the event that delivered a byte of the text.
    pub fn text_seq(&self, at: usize) -> Seq {
        self.spans.delivered_by(at).unwrap_or(self.first_seq)
    }

    /// Returns the event that delivered a byte of the reasoning.
    pub fn reasoning_seq(&self, at: usize) -> Seq {
        self.reasoning_spans
            .delivered_by(at)
            .unwrap_or(self.first_seq)
    }

    /// Counts a chunk that contains tokens.
    pub(super) fn count_token(&mut self, at: Option<Timestamp>) {
        self.chunks += 1;
        if let Some(at) = at.filter(|_| !self.lacks_start) {
            let (first, _) = self.token_times.unwrap_or((at, at));
            self.token_times = Some((first, at));
        }
    }

    /// Evicts the middle of each text that is longer than `max` bytes, and leaves a placeholder.
    pub(super) fn evict_middles(&mut self, max: usize) {
        let mut is_cut = false;
        if let Some(Cut { range, note }) = cut_middle(&mut self.text, max, &mut self.evicted.0) {
            is_cut = true;
            self.spans.cut(range.clone(), note.len());
            let note_part = Part::Note {
                range: range.start + 1..range.start + note.len() - 1,
                size: self.evicted.0,
                index: None,
            };
            let parts = std::mem::take(&mut self.parts);
            self.parts = cut_parts(parts, &range, note.len(), note_part, false);
        }
        if let Some(Cut { range, note }) = cut_middle(&mut self.reasoning, max, &mut self.evicted.1)
        {
            is_cut = true;
            self.reasoning_spans.cut(range.clone(), note.len());
            let note_part = Part::Reasoning(range.start..range.start + note.len());
            let parts = std::mem::take(&mut self.parts);
            self.parts = cut_parts(parts, &range, note.len(), note_part, true);
        }
        for call in &mut self.tool_calls {
            is_cut |= cut_middle(&mut call.args, max, &mut call.evicted).is_some();
        }
        if is_cut {
            self.rewrites += 1;
            self.rev = self.rev.wrapping_add(1);
        }
    }

    pub(super) fn touch(&mut self, seq: Seq, at: Option<Timestamp>) {
        self.last_seq = seq;
        self.ended_at = at.or(self.ended_at);
        self.rev = self.rev.wrapping_add(1);
    }

    /// Extends the content, attributing everything that the change adds to this event.
    pub(super) fn extend(&mut self, seq: Seq, change: impl FnOnce(&mut Content)) {
        let mut content = Content {
            text: std::mem::take(&mut self.text),
            reasoning: std::mem::take(&mut self.reasoning),
            parts: std::mem::take(&mut self.parts),
            citations: std::mem::take(&mut self.citations),
            block: self.block.take(),
            ..Content::default()
        };
        let before = (content.text.len(), content.reasoning.len());
        change(&mut content);
        Content {
            text: self.text,
            reasoning: self.reasoning,
            parts: self.parts,
            citations: self.citations,
            block: self.block,
            ..
        } = content;
        if self.text.len() != before.0 {
            // A placeholder may have become shorter.
            if self.text.len() < before.0 {
                self.spans.truncate(self.text.len());
            }
            self.spans.record(seq, self.text.len());
        }
        if self.reasoning.len() != before.1 {
            self.reasoning_spans.record(seq, self.reasoning.len());
        }
    }

    /// Replaces the content with a complete version. Returns whether it changed.
    pub(super) fn replace_content(&mut self, mut content: Content, seq: Seq) -> bool {
        // Some final forms omit the reasoning.
        if content.reasoning.is_empty() && !self.reasoning.is_empty() {
            content.reasoning.clone_from(&self.reasoning);
            content
                .parts
                .insert(0, Part::Reasoning(0..content.reasoning.len()));
        }
        let mut changed = false;
        if content.reasoning != self.reasoning {
            self.rewrites += u32::from(!content.reasoning.starts_with(&self.reasoning));
            self.reasoning = content.reasoning;
            self.evicted.1 = 0;
            self.reasoning_spans.record(seq, self.reasoning.len());
            changed = true;
        }
        changed |= self.replace(content.text, seq);
        if content.citations != self.citations && !content.citations.is_empty() {
            self.citations = content.citations;
            changed = true;
        }
        self.parts = content.parts;
        changed
    }

    /// Replaces the text. The common beginning remains attributed to its original events.
    pub(super) fn replace(&mut self, text: String, seq: Seq) -> bool {
        if self.text == text {
            return false;
        }
        self.rewrites += u32::from(!text.starts_with(&self.text));
        let common = self
            .text
            .bytes()
            .zip(text.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let common = (0..=common)
            .rev()
            .find(|i| text.is_char_boundary(*i))
            .unwrap_or(0);
        self.spans.truncate(common);
        self.text = text;
        self.evicted.0 = 0;
        self.spans.record(seq, self.text.len());
        true
    }
}
