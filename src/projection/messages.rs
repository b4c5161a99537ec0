//! Messages, each once, whatever combination of modes told of it. How events are read into it is in `assemble`.

use crate::stream::{Names, Namespace};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Messages kept; the oldest quarter goes when there are more.
const MAX_MESSAGES: usize = 20_000;

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// A person.
    Human,
    /// A model.
    Ai,
    /// A tool's answer.
    Tool,
    /// The system prompt.
    System,
    /// Another word of the server.
    Other(Arc<str>),
}

impl Role {
    /// The word that people read.
    pub fn word(&self) -> &str {
        match self {
            Role::Human => "human",
            Role::Ai => "ai",
            Role::Tool => "tool",
            Role::System => "system",
            Role::Other(other) => other,
        }
    }

    /// Reads a server's word, whichever dialect: `ai`, `AIMessageChunk`, `assistant`.
    pub fn of(word: &str) -> Role {
        match word.strip_suffix("MessageChunk").or(word.strip_suffix("Message")).unwrap_or(word) {
            "human" | "user" | "Human" => Role::Human,
            "ai" | "assistant" | "AI" => Role::Ai,
            "tool" | "Tool" | "function" | "Function" => Role::Tool,
            "system" | "developer" | "System" => Role::System,
            other => Role::Other(other.into()),
        }
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCall {
    /// Its identifier, which the tool's answer names.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as text, as they came: JSON once they are complete.
    pub args: String,
    /// The index by which its pieces find each other.
    pub(super) index: Option<Box<str>>,
}

/// Tokens that a message cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
    /// Both.
    pub total: u64,
}

impl Usage {
    /// Adds what a count grew by.
    pub fn add_change(&mut self, before: Usage, now: Usage) {
        for (sum, before, now) in [
            (&mut self.input, before.input, now.input),
            (&mut self.output, before.output, now.output),
            (&mut self.total, before.total, now.total),
        ] {
            *sum = (*sum + now).saturating_sub(before);
        }
    }
}

/// One message, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The event that it appeared with.
    pub first_seq: u64,
    /// The event that it last changed with.
    pub last_seq: u64,
    /// The server's id.
    pub id: Option<Arc<str>>,
    /// The run that it appeared in, where that is known.
    pub run_id: Option<Arc<str>>,
    /// Who speaks.
    pub role: Role,
    /// The speaker's or the tool's name.
    pub name: Option<Arc<str>>,
    /// The node that wrote it.
    pub node: Option<Arc<str>>,
    /// The subgraph that the node lives in.
    pub ns: Namespace,
    /// The text so far.
    pub text: String,
    /// The model's reasoning so far, where it shows any.
    pub reasoning: String,
    /// After which event the text was how long; see [`Message::text_at`].
    pub spans: Vec<(u64, u32)>,
    /// Calls of tools.
    pub tool_calls: Vec<ToolCall>,
    /// For a tool's answer: the call that it answers.
    pub tool_call_id: Option<String>,
    /// A tool's answer that is a failure.
    pub is_error: bool,
    /// What it cost.
    pub usage: Option<Usage>,
    /// Whether it is finished.
    pub complete: bool,
    /// The event with which it was removed from the state, if it was.
    pub removed_at: Option<u64>,
    /// When it appeared.
    pub started_at: Timestamp,
    /// When it last changed.
    pub ended_at: Timestamp,
    /// Grows with each change.
    pub rev: u32,
    /// Its final form is known: pieces that still come are no news.
    pub(super) is_whole: bool,
}

impl Message {
    /// The text as it was after an event.
    pub fn text_at(&self, seq: u64) -> &str {
        let known = self.spans.partition_point(|(at, _)| *at <= seq);
        let end = known.checked_sub(1).map_or(0, |i| self.spans[i].1 as usize);
        self.text.get(..end).unwrap_or(&self.text)
    }

    /// Whether it was there after an event.
    pub fn existed_at(&self, seq: u64) -> bool {
        self.first_seq <= seq && self.removed_at.is_none_or(|removed| removed > seq)
    }

    pub(super) fn touch(&mut self, seq: u64, at: Timestamp) {
        self.last_seq = seq;
        self.ended_at = at;
        self.rev = self.rev.wrapping_add(1);
    }

    /// Appends text that came with an event.
    pub(super) fn append(&mut self, text: &str, seq: u64) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        self.note_span(seq);
    }

    /// Replaces the text. What it has in common with the old one was there before.
    pub(super) fn replace(&mut self, text: String, seq: u64) -> bool {
        if self.text == text {
            return false;
        }
        let common = self.text.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        let common = (0..=common).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        for span in &mut self.spans {
            span.1 = span.1.min(common as u32);
        }
        self.text = text;
        self.note_span(seq);
        true
    }

    fn note_span(&mut self, seq: u64) {
        let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        match self.spans.last_mut() {
            Some(last) if last.0 == seq => last.1 = end,
            _ => self.spans.push((seq, end)),
        }
    }
}

/// The event that is being read.
#[derive(Clone)]
pub(super) struct Place {
    pub seq: u64,
    pub at: Timestamp,
    pub ns: Namespace,
}

/// The node and the run of a message.
pub(super) type Origin = (Option<Arc<str>>, Option<Arc<str>>);

/// The messages of a tape.
#[derive(Debug, Default)]
pub struct Messages {
    items: Vec<Message>,
    /// By id, without the suffix that some modes add.
    index: HashMap<Arc<str>, usize>,
    /// Messages without an id, by what they say.
    unnamed: HashMap<u64, Vec<usize>>,
    /// What the last state of the graph itself held: the fingerprint of each message, and which one it is.
    pub(super) last_state: Vec<(u64, usize)>,
    /// The node of messages that were only announced so far (`messages/metadata`).
    pub(super) announced: HashMap<Arc<str>, Origin>,
    /// The message that grows in each namespace, for dialects whose pieces don't name theirs.
    pub(super) growing: HashMap<Namespace, usize>,
    /// The run that the stream is in.
    pub(super) run_id: Option<Arc<str>>,
    pub(super) names: Names,
    /// Messages that the event read last had to do with.
    touched: Vec<usize>,
    evicted: u64,
}

impl Messages {
    /// All messages in the order of their first appearance; those that were removed from the state say so.
    pub fn items(&self) -> &[Message] {
        &self.items
    }

    /// Messages that were let go.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Messages that the event read last had to do with, by their places; some more than once.
    pub(super) fn touched(&self) -> &[usize] {
        &self.touched
    }

    /// Another event is read.
    pub(super) fn forget_touched(&mut self) {
        self.touched.clear();
    }

    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut Message> {
        if self.touched.last() != Some(&i) {
            self.touched.push(i);
        }
        self.items.get_mut(i)
    }

    /// The message with this id, if it is known.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.index.get(stem(id)).copied()
    }

    /// A new message.
    pub(super) fn add(&mut self, id: Option<&str>, role: Role, place: &Place) -> usize {
        if self.items.len() >= MAX_MESSAGES {
            self.let_go();
        }
        let id: Option<Arc<str>> = id.map(Into::into);
        let i = self.items.len();
        if let Some(id) = &id {
            let stem = stem(id);
            let key = if stem.len() == id.len() { id.clone() } else { stem.into() };
            self.index.insert(key, i);
        }
        self.items.push(Message {
            first_seq: place.seq,
            last_seq: place.seq,
            id,
            run_id: self.run_id.clone(),
            role,
            name: None,
            node: None,
            ns: place.ns.clone(),
            text: String::new(),
            reasoning: String::new(),
            spans: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            is_error: false,
            usage: None,
            complete: false,
            removed_at: None,
            started_at: place.at,
            ended_at: place.at,
            rev: 0,
            is_whole: false,
        });
        i
    }

    /// The message without an id that says this, the `nth` of its kind in its list: such lists repeat what they hold.
    pub(super) fn find_unnamed(&self, says: u64, nth: usize) -> Option<usize> {
        self.unnamed.get(&says)?.get(nth).copied()
    }

    /// Remembers what a message without an id says.
    pub(super) fn note_unnamed(&mut self, says: u64, i: usize) {
        self.unnamed.entry(says).or_default().push(i);
    }

    /// Marks a message as removed from the state.
    pub(super) fn remove(&mut self, i: usize, place: &Place) {
        if let Some(message) = self.items.get_mut(i)
            && message.removed_at.is_none()
        {
            message.removed_at = Some(place.seq);
            message.touch(place.seq, place.at);
        }
    }

    /// Marks all messages as removed.
    pub(super) fn remove_all(&mut self, place: &Place) {
        for i in 0..self.items.len() {
            self.remove(i, place);
        }
    }

    /// The state of the graph itself holds these messages now: what it held before and doesn't any more was removed.
    pub(super) fn hold(&mut self, state: Vec<(u64, usize)>, place: &Place) {
        let held = std::mem::replace(&mut self.last_state, state);
        // Mostly the state has only grown.
        let grown = held.iter().zip(&self.last_state).take_while(|(a, b)| a.1 == b.1).count();
        if grown == held.len() {
            return;
        }
        let now: HashSet<usize> = self.last_state.iter().map(|(_, i)| *i).collect();
        for (_, i) in held.into_iter().skip(grown) {
            if !now.contains(&i) {
                self.remove(i, place);
            }
        }
    }

    fn let_go(&mut self) {
        let part = MAX_MESSAGES / 4;
        self.items.drain(..part);
        self.evicted += part as u64;
        let moved = |i: &mut usize| {
            let stays = *i >= part;
            *i = i.wrapping_sub(part);
            stays
        };
        self.index.retain(|_, i| moved(i));
        self.growing.retain(|_, i| moved(i));
        self.touched.retain_mut(moved);
        self.last_state.retain_mut(|(_, i)| moved(i));
        self.unnamed.retain(|_, list| {
            list.retain_mut(moved);
            !list.is_empty()
        });
    }
}

/// An id without the `-0` that the id of a model's answer gets when no messages mode was asked for.
fn stem(id: &str) -> &str {
    let is_uuid = |text: &str| {
        text.len() == 36
            && text.bytes().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
    };
    match id.strip_suffix("-0") {
        Some(stem) => {
            let run = ["lc_run--", "run--", "run-"].iter().find_map(|prefix| stem.strip_prefix(prefix));
            if run.is_some_and(is_uuid) { stem } else { id }
        }
        None => id,
    }
}

pub(super) fn fingerprint(parts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_s_id_loses_its_suffix() {
        let run = "lc_run--01a1fbb5-1351-70df-a8e3-d471c3c0cd66";
        assert_eq!(stem(&format!("{run}-0")), run);
        assert_eq!(stem(run), run);
        assert_eq!(stem("my-0"), "my-0");
        assert_eq!(
            stem("run-01a1fbbe-1d1b-722b-87bb-d75192a8112e-tool-0"),
            "run-01a1fbbe-1d1b-722b-87bb-d75192a8112e-tool-0"
        );
    }

    #[test]
    fn the_past_can_be_looked_up() {
        let mut messages = Messages::default();
        let place = Place { seq: 3, at: Timestamp::UNIX_EPOCH, ns: [].into() };
        let i = messages.add(Some("a"), Role::Ai, &place);
        let message = messages.get_mut(i).unwrap();
        message.append("Let ", 3);
        message.append("me", 5);
        assert_eq!(
            (message.text_at(2), message.text_at(3), message.text_at(4), message.text_at(9)),
            ("", "Let ", "Let ", "Let me")
        );
        assert!(message.replace("Less é".into(), 7));
        assert_eq!((message.text_at(3), message.text_at(5), message.text_at(7)), ("Le", "Le", "Less é"));
    }

    #[test]
    fn old_messages_go() {
        let mut messages = Messages::default();
        let place = Place { seq: 1, at: Timestamp::UNIX_EPOCH, ns: [].into() };
        for i in 0..=MAX_MESSAGES {
            messages.add(Some(&i.to_string()), Role::Ai, &place);
        }
        assert_eq!(messages.evicted(), 5000);
        assert_eq!(messages.items()[messages.find("5000").unwrap()].id.as_deref(), Some("5000"));
        assert_eq!(messages.find("4999"), None);
    }
}
