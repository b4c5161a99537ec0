//! The order of messages: that of the state they belong to, whichever of stream and snapshot delivers them first.
//!
//! Both are lists in the order of time, and they share messages. A message that only one of them has is placed next to the
//! shared ones, by its time where that is known. Messages that no state has, such as those of subagents, stay behind the
//! message of the state that the stream showed before them. Removed messages stay where they were:
//! when the snapshot came first, replayed older states show where that was.

use super::message::Message;
use super::messages::{EventContext, Messages};
use super::order::Neighbors;
use super::rows::index;
use crate::{Item, Record};
use jiff::Timestamp;
use std::collections::{HashMap, HashSet};

impl Message {
    /// Returns whether only a snapshot has shown it: the stream may have missed it, or may still replay it.
    pub(super) fn is_unseen(&self) -> bool {
        self.is_loaded && !self.is_streamed
    }
}

impl Messages {
    /// Returns all messages in order, including those marked as removed from the state.
    pub fn in_order(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        self.order.shown.iter().map(|i| &self.items()[*i])
    }

    /// Returns a counter that changes when messages move, so that positions in the order have to be looked up again.
    pub fn moves(&self) -> u64 {
        self.order.moves
    }

    /// Returns the number of the message at a position, counting evicted ones.
    pub fn number_at(&self, position: u64) -> Option<u64> {
        let at = index(position, self.evicted())?;
        self.order.shown.get(at).map(|i| self.number(*i))
    }

    /// Returns the message at a position, counting evicted ones.
    pub fn at(&self, position: u64) -> Option<&Message> {
        self.get(self.number_at(position)?)
    }

    /// Returns the position of the message with this number.
    pub fn position_of(&self, number: u64) -> Option<u64> {
        self.rank_of(number)
            .map(|rank| self.evicted() + rank as u64)
    }

    fn rank_of(&self, number: u64) -> Option<usize> {
        self.order.rank.get(index(number, self.evicted())?).copied()
    }

    /// Returns whether an event is older than the loaded state, which then decides what was removed.
    pub(super) fn is_outdated(&self, sent: Option<Timestamp>, replayed: bool) -> bool {
        match sent.zip(self.order.written) {
            Some((sent, written)) => sent < written,
            None => replayed && !self.order.loaded.is_empty(),
        }
    }

    /// Applies anything that is not an event: after a gap, the stream may continue in the middle of a message.
    pub(super) fn apply_item(&mut self, item: &Item) {
        if let Item::Record(Record::Gap { .. }) = item {
            self.missed.gap();
            self.order.since = self.number(self.items().len());
            self.starts.gap();
        }
    }

    /// Continues the stream after a message.
    pub(super) fn continue_after(&mut self, number: u64) {
        self.order.cursor = Some(number);
    }

    /// Records that the stream shows a message.
    pub(super) fn see(&mut self, i: usize, context: &EventContext) {
        if let Some(message) = self.items.get_mut(i)
            && !context.is_snapshot
            && !std::mem::replace(&mut message.is_streamed, true)
        {
            self.continue_after(self.number(i));
        }
    }

    /// Places a new message.
    pub(super) fn place(&mut self, i: usize, context: &EventContext) {
        let Neighbors { before, after } = context.neighbors;
        let follows = |number: Option<u64>| {
            number
                .and_then(|number| self.rank_of(number))
                .map(|rank| rank + 1)
        };
        let (after_before, successor) = (follows(before), follows(after).map(|rank| rank - 1));
        let items = self.items();
        let message = |at: usize| self.order.shown.get(at).map(|i| &items[*i]);
        let time = items[i].placed;
        let is_earlier = |other: &Message| match time.zip(other.placed).filter(|_| context.is_timed)
        {
            Some((time, other)) => other <= time,
            None => !context.replayed,
        };
        // Whether the message, which a first state has, came before what the stream showed since a gap.
        let was_missed = |at: usize| {
            let since = |i: &usize| context.is_later && self.number(*i) >= self.order.since;
            self.order
                .shown
                .get(at)
                .is_some_and(|i| since(i) && items[*i].is_streamed && !items[*i].in_state)
        };
        let at = if context.is_snapshot {
            let mut at = successor.unwrap_or(self.order.shown.len());
            let is_later = |at: usize| {
                let other =
                    message(at).and_then(|message| message.placed.filter(|_| message.is_streamed));
                time.zip(other).is_some_and(|(time, other)| other >= time)
            };
            while at > after_before.unwrap_or(0) && is_later(at - 1) {
                at -= 1;
            }
            at
        } else if let Some(mut at) = successor {
            let is_unseen = |at: usize| {
                message(at).is_some_and(|other| other.is_unseen() && !is_earlier(other))
            };
            while at > after_before.unwrap_or(0) && (is_unseen(at - 1) || was_missed(at - 1)) {
                at -= 1;
            }
            at
        } else {
            let resumed = || {
                self.order
                    .shown
                    .iter()
                    .rposition(|i| items[*i].is_streamed)
                    .map(|at| at + 1)
            };
            let mut at = after_before
                .max(follows(self.order.cursor).or_else(resumed))
                .unwrap_or(0);
            let is_missed = |at: &usize| {
                message(*at).is_some_and(|other| other.is_unseen() && is_earlier(other))
            };
            at = (at..self.order.shown.len())
                .rfind(is_missed)
                .map_or(at, |at| at + 1);
            while message(at).is_some_and(|message| !message.in_state) {
                at += 1;
            }
            while at > after_before.unwrap_or(0) && was_missed(at - 1) {
                at -= 1;
            }
            at
        };
        self.order.insert(at, i);
    }

    /// Returns the numbers of the loaded messages that the stream has not shown.
    pub(super) fn unseen(&self) -> HashSet<u64> {
        let is_unseen = |number: &u64| self.get(*number).is_some_and(Message::is_unseen);
        self.order
            .loaded
            .iter()
            .copied()
            .filter(is_unseen)
            .collect()
    }

    /// Moves messages of a list that the stream showed for the first time in front of what follows them there, as if they
    /// had not been loaded before.
    pub(super) fn move_before_next(&mut self, list: &[(u64, u64)], first_shown: &HashSet<u64>) {
        for pair in list
            .windows(2)
            .rev()
            .filter(|pair| first_shown.contains(&pair[0].1))
        {
            if let (Some(from), Some(to)) = (self.rank_of(pair[0].1), self.rank_of(pair[1].1))
                && from > to
            {
                self.order.shown[to..=from].rotate_right(1);
                self.order.rank_from(to);
                self.order.moves += 1;
            }
        }
    }

    /// Returns whether messages, given by number, are in this order.
    pub(super) fn is_arranged<'a>(&self, numbers: impl Iterator<Item = &'a u64>) -> bool {
        numbers
            .filter_map(|number| self.rank_of(*number))
            .is_sorted()
    }

    /// Puts the messages of a state, given by number, in the state's order. The messages that follow one move with it.
    pub(super) fn arrange(&mut self, state: &[u64]) {
        let mut seen = HashSet::with_capacity(state.len());
        let state: Vec<usize> = state
            .iter()
            .filter(|n| seen.insert(**n))
            .filter_map(|n| self.rank_of(*n))
            .collect();
        if state.is_sorted() {
            return;
        }
        let mut blocks: Vec<Vec<usize>> = Vec::new();
        for i in &self.order.shown {
            match blocks.last_mut().filter(|_| !self.items()[*i].in_state) {
                Some(block) => block.push(*i),
                None => blocks.push(vec![*i]),
            }
        }
        let wanted: Vec<usize> = state.iter().map(|rank| self.order.shown[*rank]).collect();
        let mut of_state = HashMap::with_capacity(wanted.len());
        let members: HashSet<usize> = wanted.iter().copied().collect();
        let mut slots = Vec::with_capacity(wanted.len());
        for (slot, block) in blocks
            .iter_mut()
            .enumerate()
            .filter(|(_, block)| members.contains(&block[0]))
        {
            of_state.insert(block[0], std::mem::take(block));
            slots.push(slot);
        }
        for (slot, first) in slots.into_iter().zip(wanted) {
            blocks[slot] = of_state.remove(&first).unwrap_or_default();
        }
        self.order.shown = blocks.concat();
        self.order.rank_from(0);
        self.order.moves += 1;
    }
}
