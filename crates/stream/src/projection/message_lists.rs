//! Lists of messages: states of the root graph, the server's state, and what nodes write.

use super::message::{Message, Role};
use super::messages::{EventContext, Messages};
use super::order::Neighbors;
use super::rows::index;
use super::status::Origins;
use crate::protocol::{MESSAGES, MessageOrigin, MessagePayload, Payload, StateMessages, Text};
use crate::{Seq, hash_of};
use jiff::Timestamp;
use runtail_core::json::Peek;
use std::collections::{HashMap, HashSet};

/// Maximum number of messages read from one state, the newest ones: ten times as many as are kept.
const MAX_LISTED: usize = 200_000;
/// The mark of a value that replaces a state's.
const OVERWRITE: &str = "__overwrite__";

impl Messages {
    /// Applies the values of the server's thread state, which was `written` at this time. `origins` contains the time and
    /// run of each message that is in the history.
    pub(super) fn apply_snapshot(
        &mut self,
        seq: Seq,
        values: &str,
        written: Option<Timestamp>,
        origins: &Origins,
    ) {
        self.start_event();
        // A state without messages doesn't mean that they were removed: JavaScript returns the state of the graph that
        // ran last, without the values of other graphs.
        let Some(StateMessages { key, list }) = StateMessages::read(values) else {
            self.forget_loaded(seq);
            return;
        };
        self.key = Some(self.names.get(&key));
        let is_outdated = self
            .order
            .streamed
            .zip(written)
            .is_some_and(|(streamed, written)| streamed > written);
        let context = EventContext {
            seq,
            is_snapshot: true,
            is_later: true,
            is_outdated,
            in_state: true,
            ..EventContext::default()
        };
        let state =
            self.apply_messages(&list, &context, &MessageOrigin::default(), 0, Some(origins));
        let numbers: Vec<u64> = state.iter().map(|(_, number)| *number).collect();
        (self.order.loaded, self.order.written) = (numbers.iter().copied().collect(), written);
        if is_outdated {
            return;
        }
        // A live event may be newer than the state, but without the server's time that isn't known.
        let live: HashSet<u64> = match self.order.streamed {
            Some(_) => HashSet::new(),
            None => self.last_state.iter().map(|(_, number)| *number).collect(),
        };
        for i in 0..self.items().len() {
            let (message, number) = (&self.items()[i], self.number(i));
            let is_kept =
                self.order.loaded.contains(&number) || !message.is_loaded && live.contains(&number);
            if message.in_state && !is_kept {
                self.remove(i, &context);
            }
        }
        self.last_state = state;
        self.arrange(&numbers);
    }

    /// Forgets the loaded state, because it may be another graph's. Until another one is loaded, the messages of the stream's
    /// last state are the current ones.
    fn forget_loaded(&mut self, seq: Seq) {
        (self.order.loaded, self.order.written) = (HashSet::new(), None);
        let evicted = self.evicted();
        let current = self.last_state.iter();
        let current: Vec<usize> = current
            .filter_map(|(_, number)| index(*number, evicted))
            .collect();
        for i in current {
            if let Some(message) = self
                .get_mut(i)
                .filter(|message| message.removed_at.is_some())
            {
                message.removed_at = None;
                message.touch(seq, None);
            }
        }
    }

    /// Sets the time and the run of messages by the history.
    pub(super) fn set_origins(&mut self, origins: &Origins) {
        for i in 0..self.items().len() {
            let message = &mut self.items[i];
            let Some((at, run)) = message.id.as_ref().and_then(|id| origins.get(id)) else {
                continue;
            };
            message.run_id = message.run_id.take().or(run.clone());
            if message.is_loaded || message.ended_at.is_none() {
                let times = (message.started_at.or(*at), message.ended_at.or(*at));
                let before = (message.started_at, message.ended_at);
                (message.started_at, message.ended_at) = times;
                message.rev = message.rev.wrapping_add(u32::from(before != times));
            }
        }
    }

    /// Applies a state of the root graph, which contains the whole conversation.
    pub(super) fn apply_state(&mut self, state: Option<StateMessages<'_>>, context: &EventContext) {
        let Some(StateMessages { key, list }) = state else {
            return;
        };
        self.key = Some(self.names.get(&key));
        let first = list.len().saturating_sub(MAX_LISTED);
        let earlier = self.missed.earlier(&list).saturating_sub(first);
        let context = EventContext {
            in_state: true,
            ..context.clone()
        };
        let current = self.apply_messages(
            &list[first..],
            &context,
            &MessageOrigin::default(),
            earlier,
            None,
        );
        let state: Vec<u64> = current.iter().map(|(_, number)| *number).collect();
        self.set_state(current, &context);
        // An older state has the places of removed messages, but a loaded state decides about its own messages.
        if !context.is_outdated
            || self.is_arranged(state.iter().filter(|n| self.order.loaded.contains(n)))
        {
            self.arrange(&state);
        }
    }

    /// Applies `{node: {messages: …}}`, the writes of nodes.
    pub(super) fn apply_updates(&mut self, payload: &Payload<'_>, context: &EventContext) {
        for write in payload.writes() {
            let context = EventContext {
                in_state: payload.is_root(),
                ..context.clone()
            };
            let origin = MessageOrigin {
                langgraph_node: Text(Some(write.node.clone())),
                ..MessageOrigin::default()
            };
            let key = self
                .key
                .clone()
                .filter(|_| payload.is_root())
                .unwrap_or_else(|| MESSAGES.into());
            for written in write.values(&key) {
                let replacement = overwritten(written);
                if replacement.is_some() {
                    self.remove_own(0..self.items().len(), payload.is_root(), &context);
                }
                let messages = replacement.unwrap_or(written);
                let list: Vec<Peek<'_>> = match messages.is_list() {
                    true => messages.items().collect(),
                    false => vec![messages],
                };
                self.apply_messages(&list, &context, &origin, 0, None);
            }
        }
    }

    /// Applies a list of messages in its order: a state, or what a node wrote. The first `earlier` ones may be older than the
    /// event. Returns the fingerprint and the number of each.
    fn apply_messages(
        &mut self,
        list: &[Peek<'_>],
        context: &EventContext,
        origin: &MessageOrigin<'_>,
        earlier: usize,
        origins: Option<&Origins>,
    ) -> Vec<(u64, u64)> {
        let mut current: Vec<(u64, u64)> = Vec::with_capacity(list.len());
        let (mut counts, mut next_known) = (HashMap::new(), None);
        let mut context = context.clone();
        let at = context.at;
        let unseen = if context.in_state && !context.is_snapshot {
            self.unseen()
        } else {
            HashSet::new()
        };
        for (n, raw) in list.iter().enumerate() {
            let hash = hash_of(raw.text());
            // Usually the list has only grown.
            if let Some(&(before, number)) = self.last_state.get(n)
                && before == hash
                && self.get(number).is_none_or(|m| {
                    m.id.is_some()
                        && (m.removed_at.is_none() || context.is_outdated)
                        && m.is_whole
                        && !context.is_snapshot
                })
            {
                // Don't add evicted messages again as if they were new.
                current.push((hash, number));
                continue;
            }
            if !context.is_snapshot {
                (context.is_later, context.at) = (n < earlier, at.filter(|_| n >= earlier));
            }
            if context.in_state {
                let after = self.next_known(list, n, &mut next_known);
                context.neighbors = Neighbors {
                    before: current.last().map(|(_, number)| *number),
                    after,
                };
                context.renamed = self.rename(list, n, &context);
            }
            if let Some(origins) = origins {
                let id = raw.get("id").and_then(Peek::string);
                context.placed = id.and_then(|id| origins.get(&*id)).and_then(|(at, _)| *at);
            }
            if let Some(i) = self.apply_listed(*raw, &mut counts, &context, origin) {
                current.push((hash, self.number(i)));
            }
        }
        if !unseen.is_empty() {
            self.move_before_next(&current, &unseen);
        }
        if let Some((_, last)) = current
            .last()
            .filter(|_| context.in_state && !context.is_snapshot)
        {
            self.continue_after(*last);
            self.order.streamed = context
                .placed
                .filter(|_| context.is_timed)
                .max(self.order.streamed);
        }
        current
    }

    /// Finds a message of a state that the last state had under another id, and gives it its new one. Aegra gives what a step
    /// wrote without an id, such as the user's message, a new random id whenever a client reads the state during the step.
    fn rename<'a>(&mut self, list: &[Peek<'a>], n: usize, context: &EventContext) -> Option<usize> {
        let read = |raw: Peek<'a>| raw.read::<MessagePayload<'a>>();
        let number = self.last_state.get(n)?.1;
        let message = read(list[n])?;
        let id = message.id.some().filter(|id| self.find(id).is_none())?;
        let known = self
            .get(number)
            .filter(|_| context.neighbors.after != Some(number))?;
        let is_same = known.is_same(&message, &message.text());
        // Such messages are the last ones of a state. A model's message has an id of its own.
        let was_random = |m: &Message| m.is_unseen() && m.role != Role::Ai;
        let are_random = || {
            context.is_snapshot
                && !list[n..]
                    .iter()
                    .any(|raw| read(*raw).is_some_and(|m| m.role() == Role::Ai))
        };
        let were_random = || {
            self.last_state[n..]
                .iter()
                .all(|(_, number)| self.get(*number).is_some_and(was_random))
        };
        if !is_same || !(are_random() || were_random()) {
            return None;
        }
        let i = index(number, self.evicted())?;
        if known.is_unseen() {
            self.set_id(i, id);
        }
        Some(i)
    }

    /// Returns the first known message behind a position of a list. `cache` has the last answer and its position.
    fn next_known(
        &self,
        list: &[Peek<'_>],
        n: usize,
        cache: &mut Option<(usize, Option<u64>)>,
    ) -> Option<u64> {
        if let Some((_, number)) = cache.filter(|(at, _)| *at > n) {
            return number;
        }
        let known = |raw: &Peek<'_>| {
            let id = raw.get("id")?.string()?;
            self.find(&id).map(|i| self.number(i))
        };
        let found = list
            .iter()
            .enumerate()
            .skip(n + 1)
            .find_map(|(at, raw)| Some((at, known(raw)?)));
        let (at, number) = found.map_or((list.len(), None), |(at, number)| (at, Some(number)));
        *cache = Some((at, number));
        number
    }
}

/// Returns the value that replaces a state's, instead of being added to it.
fn overwritten(value: Peek<'_>) -> Option<Peek<'_>> {
    let [kind, typed, plain] = value.pick(["type", "value", OVERWRITE]);
    match kind.is_some_and(|kind| kind.is(OVERWRITE)) {
        true => typed,
        false => plain,
    }
}
