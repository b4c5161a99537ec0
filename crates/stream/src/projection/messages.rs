//! The messages of a stream, deduplicated across modes. `message_builder` applies events to them.

use super::message::{Message, Role, ToolCall};
use super::missed::Missed;
use super::order::{Neighbors, Order};
use super::rows::index;
use super::siblings::Siblings;
use super::starts::Starts;
use crate::protocol::{MessagePayload, Payload};
use crate::{Interner, Namespace, Seq};
use jiff::{SignedDuration, Timestamp};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Messages kept; the oldest quarter is evicted when there are more.
const MAX_MESSAGES: usize = 20_000;
/// Maximum number of tool calls kept per message, far more than a model makes.
pub(super) const MAX_CALLS: usize = 1_000;
/// Number of newest messages that may still change.
const GROWING: usize = 256;
/// Maximum share of a single text in the memory of all messages.
const TEXT_PART: usize = 8;

/// The event being processed.
#[derive(Clone, Default)]
pub(super) struct EventContext {
    pub seq: Seq,
    /// Its time, if known.
    pub at: Option<Timestamp>,
    pub ns: Namespace,
    /// Whether it is a snapshot.
    pub is_snapshot: bool,
    /// Whether its messages may be older, perhaps of another run. Then `at` is `None`.
    pub is_later: bool,
    /// The time by which new messages are placed, if known, and whether it is the server's.
    pub placed: Option<Timestamp>,
    pub is_timed: bool,
    /// Whether the server sent it from its store.
    pub replayed: bool,
    /// Whether a newer state is known.
    pub is_outdated: bool,
    /// Whether it lists messages of the root graph's state.
    pub in_state: bool,
    /// The neighbors of the current message in its list.
    pub neighbors: Neighbors,
    /// The index of the current message if it is known by another id.
    pub renamed: Option<usize>,
}

/// Where a message comes from.
#[derive(Debug, Clone, Default)]
pub(super) struct Origin {
    pub node: Option<Arc<str>>,
    /// The node with the subgraphs that contain it.
    pub path: Option<Arc<str>>,
    pub run: Option<Arc<str>>,
    pub step: Option<i64>,
}

/// The messages of an event log.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    pub(super) items: Vec<Message>,
    index: HashMap<Arc<str>, usize>,
    pub(super) unnamed: HashMap<u64, Vec<usize>>,
    /// The messages of the root graph's last state: fingerprints, and numbers counting evicted messages. Applying a
    /// state may evict messages.
    pub(super) last_state: Vec<(u64, u64)>,
    /// The origins of messages that were announced (`messages/metadata`) but not sent yet.
    pub(super) announced: HashMap<Arc<str>, Origin>,
    /// The message being streamed in each namespace, for servers whose chunks have no message id.
    pub(super) growing: HashMap<Namespace, usize>,
    /// The run that the stream is in.
    pub(super) run: Option<Arc<str>>,
    /// When model calls started.
    pub(super) starts: Starts,
    /// What the stream may have missed.
    pub(super) missed: Missed,
    pub(super) order: Order,
    /// The key of the messages in the root graph's state, if known.
    pub(super) key: Option<Arc<str>>,
    siblings: Siblings,
    /// The newest call with each id: its message and its index there.
    calls: HashMap<Box<str>, (usize, usize)>,
    /// Tool results whose calls are not known yet.
    unmatched: HashMap<Box<str>, usize>,
    pub(super) names: Interner,
    /// Messages touched by the newest event.
    touched: Vec<usize>,
    evicted: u64,
    /// Memory size of all messages before the newest event's changes.
    pub(super) bytes: usize,
    pub(super) max_bytes: MaxBytes,
}

/// Maximum memory size of all messages; beyond it the oldest are evicted.
#[derive(Debug, Clone, Copy)]
pub(super) struct MaxBytes(pub usize);

impl Default for MaxBytes {
    fn default() -> Self {
        MaxBytes(128 << 20)
    }
}

impl Messages {
    /// Returns all messages in order of arrival; see [`Messages::in_order`].
    pub fn items(&self) -> &[Message] {
        &self.items
    }

    /// Returns how many messages were evicted.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Returns the indexes of the messages that the newest event touched, possibly with duplicates.
    pub(super) fn touched(&self) -> &[usize] {
        &self.touched
    }

    /// Returns the number of a subgraph, given by its segment of a namespace, among others of the same name in one step.
    pub fn sibling(&self, segment: &str) -> Option<usize> {
        self.siblings.number(segment)
    }

    /// Finds the subgraphs that run at once.
    pub(super) fn apply_siblings(&mut self, payload: &Payload<'_>) {
        if let Some(first) = self.siblings.apply(payload) {
            // Its name changed, because there is another one now.
            let named = |message: &&mut Message| message.ns.contains(&first);
            let newest = self.items.iter_mut().rev().take(GROWING);
            newest
                .filter(named)
                .for_each(|message| message.rev = message.rev.wrapping_add(1));
        }
    }

    /// Returns how long before the newest event the model call of its message started, if known.
    pub(super) fn called_before(&self, at: Option<Timestamp>) -> Option<SignedDuration> {
        let message = self.items.get(*self.touched.last()?)?;
        Some(at?.duration_since(message.called?.at))
    }

    /// Prepares for the next event: measures the messages that the last one touched, and applies the memory limits.
    pub(super) fn start_event(&mut self) {
        let MaxBytes(max_bytes) = self.max_bytes;
        for i in std::mem::take(&mut self.touched) {
            let Some(message) = self.items.get_mut(i) else {
                continue;
            };
            message.evict_middles(max_bytes / TEXT_PART);
            let weight = message.weight();
            self.bytes = self.bytes + weight - std::mem::replace(&mut message.weighed, weight);
        }
        self.fit();
    }

    /// Evicts the oldest messages if all messages together exceed the memory limit.
    fn fit(&mut self) {
        let MaxBytes(max_bytes) = self.max_bytes;
        if self.bytes > max_bytes {
            let (mut count, mut remaining) = (0, self.bytes);
            while remaining > max_bytes / 4 * 3 && count + 1 < self.items.len() {
                remaining -= self.items[count].weighed;
                count += 1;
            }
            self.evict(count);
        }
    }

    /// Returns the number of a message, counting evicted ones.
    pub(super) fn number(&self, i: usize) -> u64 {
        self.evicted + i as u64
    }

    /// Returns the message with this number, counting evicted ones.
    pub fn get(&self, number: u64) -> Option<&Message> {
        self.items.get(index(number, self.evicted)?)
    }

    /// Returns the message with this id.
    pub fn with_id(&self, id: &str) -> Option<&Message> {
        self.items.get(self.find(id)?)
    }

    /// Returns the message with the result of a call.
    pub fn answer(&self, call: &ToolCall) -> Option<&Message> {
        self.get(call.answer?)
    }

    /// Returns the call that a tool result belongs to, and the message with the call.
    pub fn asked(&self, answer: &Message) -> Option<(&Message, &ToolCall)> {
        let caller = self.get(answer.call_message?)?;
        let matches = |call: &&ToolCall| answer.tool_call_id.as_deref() == Some(call.id.as_str());
        Some((caller, caller.tool_calls.iter().find(matches)?))
    }

    /// Links the calls of a message with their results, and a result with its call.
    pub(super) fn link_calls(&mut self, i: usize) {
        let Some(message) = self.items.get(i) else {
            return;
        };
        if let Some(id) = message
            .tool_call_id
            .as_deref()
            .filter(|_| message.call_message.is_none())
        {
            // Use the newest call without a result, because call ids may repeat, for example with scripted models.
            match self.calls.get(id).copied() {
                Some((caller, at)) if self.is_unanswered(caller, at) => self.link(caller, at, i),
                _ => {
                    self.unmatched.insert(id.into(), i);
                }
            }
            return;
        }
        for at in 0..self.items[i].tool_calls.len() {
            let call = &self.items[i].tool_calls[at];
            if call.answer.is_some() || call.id.is_empty() {
                continue;
            }
            if self.calls.get(&*call.id) != Some(&(i, at)) {
                self.calls.insert(call.id.as_str().into(), (i, at));
            }
            if let Some(answer) = self.unmatched.remove(&*self.items[i].tool_calls[at].id) {
                self.link(i, at, answer);
            }
        }
    }

    fn is_unanswered(&self, caller: usize, at: usize) -> bool {
        let call = self.items.get(caller).and_then(|m| m.tool_calls.get(at));
        call.is_some_and(|call| call.answer.is_none())
    }

    fn link(&mut self, caller: usize, at: usize, answer: usize) {
        let (call_message, answered_by) = (self.number(caller), self.number(answer));
        if let Some(call) = self
            .items
            .get_mut(caller)
            .and_then(|message| message.tool_calls.get_mut(at))
        {
            call.answer = Some(answered_by);
        }
        if let Some(message) = self.items.get_mut(answer) {
            message.call_message = Some(call_message);
        }
    }

    pub(super) fn get_mut(&mut self, i: usize) -> Option<&mut Message> {
        if self.touched.last() != Some(&i) {
            self.touched.push(i);
        }
        self.items.get_mut(i)
    }

    /// Returns the index of the message with this id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.index.get(stem(id)).copied()
    }

    /// Gives a message another id.
    pub(super) fn set_id(&mut self, i: usize, id: &str) {
        let Some(message) = self.items.get_mut(i) else {
            return;
        };
        if let Some(old) = message.id.replace(id.into()) {
            self.index.remove(stem(&old));
        }
        self.index.insert(stem(id).into(), i);
    }

    /// Adds a message and returns its index.
    pub(super) fn add(&mut self, id: Option<&str>, role: Role, context: &EventContext) -> usize {
        if self.items.len() >= MAX_MESSAGES {
            self.evict(MAX_MESSAGES / 4);
        }
        self.fit();
        let id: Option<Arc<str>> = id.map(Into::into);
        let i = self.items.len();
        if let Some(id) = &id {
            let stem = stem(id);
            let key = if stem.len() == id.len() {
                id.clone()
            } else {
                stem.into()
            };
            self.index.insert(key, i);
        }
        self.items.push(Message {
            first_seq: context.seq,
            last_seq: context.seq,
            id,
            run_id: self
                .run
                .clone()
                .filter(|_| !context.is_snapshot && !context.is_later),
            role,
            ns: context.ns.clone(),
            started_at: context.at,
            ended_at: context.at,
            is_loaded: context.is_snapshot,
            placed: context.placed,
            ..Message::default()
        });
        let weight = self.items[i].weight();
        self.items[i].weighed = weight;
        self.bytes += weight;
        self.place(i, context);
        self.see(i, context);
        i
    }

    /// Adds a message whose first tokens may be missing. Returns its index.
    pub(super) fn add_inside(
        &mut self,
        message: &MessagePayload<'_>,
        context: &EventContext,
    ) -> usize {
        let i = self.add(
            message.id.some(),
            message.role(),
            &EventContext {
                at: None,
                ..context.clone()
            },
        );
        if let Some(message) = self.get_mut(i) {
            message.lacks_start = true;
        }
        i
    }

    /// Returns the `nth` message without an id that has this fingerprint. Lists may contain duplicates.
    pub(super) fn find_unnamed(&self, fingerprint: u64, nth: usize) -> Option<usize> {
        self.unnamed.get(&fingerprint)?.get(nth).copied()
    }

    /// Gives an id to a message that a node wrote without one. Its state adds the id.
    pub(super) fn assign_id(
        &mut self,
        id: &str,
        fingerprint: impl FnOnce() -> u64,
    ) -> Option<usize> {
        if self.unnamed.is_empty() {
            return None;
        }
        let fingerprint = fingerprint();
        let i = self.find_unnamed(fingerprint, 0)?;
        let number = self.number(i);
        if self
            .last_state
            .iter()
            .any(|(_, of_state)| *of_state == number)
        {
            return None;
        }
        self.unnamed.get_mut(&fingerprint)?.remove(0);
        self.set_id(i, id);
        Some(i)
    }

    /// Marks a message as removed from the state, unless a newer state has it.
    pub(super) fn remove(&mut self, i: usize, context: &EventContext) {
        let is_current = context.is_outdated && self.order.loaded.contains(&self.number(i));
        if let Some(message) = self.items.get_mut(i)
            && message.removed_at.is_none()
            && !is_current
        {
            message.removed_at = Some(context.seq);
            message.touch(context.seq, context.at);
        }
    }

    /// Marks messages as removed that are those of the event's own graph: the root graph, or a subgraph with its own state.
    pub(super) fn remove_own(
        &mut self,
        range: Range<usize>,
        is_root: bool,
        context: &EventContext,
    ) {
        for i in range {
            let is_own = self.items.get(i).is_some_and(|message| match is_root {
                true => message.in_state || message.ns.is_empty(),
                false => !message.in_state && !message.ns.is_empty() && message.ns == context.ns,
            });
            if is_own {
                self.remove(i, context);
            }
        }
    }

    /// Applies the root graph's current messages. Messages that it no longer contains are marked as removed.
    pub(super) fn set_state(&mut self, state: Vec<(u64, u64)>, context: &EventContext) {
        let before = std::mem::replace(&mut self.last_state, state);
        // Usually the state has only grown.
        let unchanged = before
            .iter()
            .zip(&self.last_state)
            .take_while(|(a, b)| a.1 == b.1)
            .count();
        if unchanged == before.len() {
            return;
        }
        let now: HashSet<u64> = self.last_state.iter().map(|(_, number)| *number).collect();
        for (_, number) in before.into_iter().skip(unchanged) {
            if !now.contains(&number)
                && let Some(i) = number.checked_sub(self.evicted)
            {
                self.remove(i as usize, context);
            }
        }
    }

    /// Evicts the oldest messages.
    fn evict(&mut self, count: usize) {
        self.bytes -= self
            .items
            .drain(..count)
            .map(|message| message.weighed)
            .sum::<usize>();
        self.evicted += count as u64;
        self.order.evict(count);
        let shift = |i: &mut usize| {
            let is_kept = *i >= count;
            *i = i.wrapping_sub(count);
            is_kept
        };
        self.index.retain(|_, i| shift(i));
        self.growing.retain(|_, i| shift(i));
        self.touched.retain_mut(shift);
        self.calls.retain(|_, (i, _)| shift(i));
        self.unmatched.retain(|_, i| shift(i));
        self.unnamed.retain(|_, list| {
            list.retain_mut(shift);
            !list.is_empty()
        });
    }
}

/// Returns an id without the `-0` suffix that model responses get if no messages mode was requested.
pub(super) fn stem(id: &str) -> &str {
    let is_uuid = |text: &str| {
        text.len() == 36
            && text.bytes().enumerate().all(|(i, b)| match i {
                8 | 13 | 18 | 23 => b == b'-',
                _ => b.is_ascii_hexdigit(),
            })
    };
    match id.strip_suffix("-0") {
        Some(stem) => {
            let run = ["lc_run--", "run--", "run-"]
                .iter()
                .find_map(|prefix| stem.strip_prefix(prefix));
            if run.is_some_and(is_uuid) { stem } else { id }
        }
        None => id,
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::{CallChunk, Part};
    use super::*;

    fn context(seq: u64) -> EventContext {
        EventContext {
            seq: Seq(seq),
            at: Some(Timestamp::UNIX_EPOCH),
            ..EventContext::default()
        }
    }

    #[test]
    fn only_run_ids_lose_their_suffix() {
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
    fn message_text_as_of_an_event() {
        let mut messages = Messages::default();
        let context = context(3);
        let i = messages.add(Some("a"), Role::Ai, &context);
        let message = messages.get_mut(i).unwrap();
        message.extend(Seq(3), |content| content.push_text("Let "));
        message.extend(Seq(5), |content| content.push_text("me"));
        assert_eq!(
            (
                message.text_at(Seq(2)),
                message.text_at(Seq(3)),
                message.text_at(Seq(4)),
                message.text_at(Seq(9))
            ),
            ("", "Let ", "Let ", "Let me")
        );
        assert!(message.replace("Less é".into(), Seq(7)));
        assert_eq!(
            (
                message.text_at(Seq(3)),
                message.text_at(Seq(5)),
                message.text_at(Seq(7))
            ),
            ("Le", "Le", "Less é")
        );
    }

    #[test]
    fn message_memory_is_bounded() {
        const MAX_BYTES: usize = 8 << 20;
        let mut messages = Messages::default();
        messages.max_bytes.0 = MAX_BYTES;
        let part = "x".repeat(MAX_BYTES / 32);
        for seq in 0..100 {
            messages.start_event();
            let i = messages.add(None, Role::Tool, &context(seq));
            messages
                .get_mut(i)
                .unwrap()
                .extend(Seq(seq), |content| content.push_text(&part));
        }
        let kept: usize = messages
            .items()
            .iter()
            .map(|message| message.text.len())
            .sum();
        assert!(
            (MAX_BYTES / 2..=MAX_BYTES + part.len()).contains(&kept),
            "{kept}"
        );
        assert_eq!(messages.evicted() + messages.items().len() as u64, 100);
        // The newest message is kept even if it exceeds the limit.
        let i = messages.items().len() - 1;
        messages.get_mut(i).unwrap().tool_calls = vec![
            ToolCall {
                args: "y".repeat(MAX_BYTES / 8),
                ..ToolCall::default()
            };
            9
        ];
        messages.start_event();
        assert_eq!((messages.items().len(), messages.evicted()), (1, 99));
    }

    #[test]
    fn the_middle_of_a_text_is_evicted_counted_and_marked() {
        const MAX: usize = 80_000;
        let mut messages = Messages::default();
        messages.max_bytes.0 = MAX * TEXT_PART;
        let i = messages.add(Some("a"), Role::Ai, &context(1));
        let mut whole = 0;
        for seq in 1..=3000 {
            messages.start_event();
            let message = messages.get_mut(i).unwrap();
            let piece = format!("é{seq:09} ");
            whole += piece.len();
            message.extend(Seq(seq), |content| {
                content.push_text(&piece);
                content.push_reasoning(&piece);
                content.push_reasoning(&piece);
            });
            message.grow_call(
                &CallChunk {
                    index: Some("0"),
                    ..CallChunk::default()
                },
                &context(seq),
            );
            message.tool_calls[0].args.push_str(&piece.repeat(4));
        }
        messages.start_event();
        let message = &messages.items()[0];
        let (text, args) = (&message.text, &message.tool_calls[0].args);
        assert_eq!(
            (message.evicted.0, text.len()),
            (0, whole),
            "a text within the limit is unchanged"
        );
        let note = |text: &str| {
            text.lines()
                .find(|line| line.starts_with('['))
                .map(str::to_string)
        };
        for (text, evicted, whole) in [
            (args, message.tool_calls[0].evicted, 4 * whole),
            (&message.reasoning, message.evicted.1, 2 * whole),
        ] {
            assert_eq!(
                text.lines().count(),
                if evicted > 0 { 3 } else { 1 },
                "one note"
            );
            let note = note(text).map_or(0, |note| note.len() + 2);
            assert_eq!(
                text.len() - note + evicted,
                whole,
                "each byte is kept or counted"
            );
            assert!(
                text.len() <= MAX
                    && text.starts_with("é000000001")
                    && text.ends_with("é000003000 ")
            );
        }
        assert!(message.tool_calls[0].evicted > 0);
        // Cutting the text also adjusts its parts and the events that delivered them.
        for seq in 3001..=9000 {
            messages.start_event();
            messages.get_mut(i).unwrap().extend(Seq(seq), |content| {
                content.push_text(&format!("é{seq:09} "))
            });
        }
        messages.start_event();
        let message = &messages.items()[0];
        assert!(message.text.len() <= MAX && message.evicted.0 > 0 && message.rewrites > 0);
        let shown: String = message
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(range) | Part::Note { range, .. } => Some(&message.text[range.clone()]),
                _ => None,
            })
            .collect();
        assert_eq!(
            shown,
            message.text.replace('\n', ""),
            "the parts cover the whole text"
        );
        let at = message.text.find("é000009000").unwrap();
        assert_eq!(
            (
                message.text_seq(at),
                message.text_seq(2),
                message.text_at(Seq(1))
            ),
            (Seq(9000), Seq(1), "é000000001 ")
        );
    }

    #[test]
    fn old_messages_are_evicted() {
        let mut messages = Messages::default();
        let context = context(1);
        for i in 0..=MAX_MESSAGES {
            messages.add(Some(&i.to_string()), Role::Ai, &context);
        }
        assert_eq!(messages.evicted(), 5000);
        assert_eq!(
            messages.items()[messages.find("5000").unwrap()]
                .id
                .as_deref(),
            Some("5000")
        );
        assert_eq!(messages.find("4999"), None);
    }
}
