//! The lines of messages, made for a width and kept until a message changes.

use super::line::Line;
use super::scroll::{Place, Rows, Spot};
use super::view_lines;
use crate::projection::{Message, Messages};
use jiff::tz::TimeZone;

/// The lines of one message.
#[derive(Debug, Clone)]
struct Block {
    rev: u32,
    open: bool,
    lines: Vec<Line>,
}

/// The lines of all messages. Keys are numbers of messages, counting those that were let go.
#[derive(Debug, Default)]
pub struct Blocks {
    list: Vec<Block>,
    /// Messages that were let go before the first block.
    from: u64,
    width: usize,
}

impl Blocks {
    /// Makes what changed, and all after a change of the width; the place keeps its part of what it was in.
    pub fn prepare(&mut self, messages: &Messages, open: bool, width: usize, tz: &TimeZone, place: &mut Place) {
        let rewrap = width != self.width;
        self.width = width;
        let evicted = messages.evicted();
        let before = [place.top.key, place.cursor.key].map(|key| (key, self.block(key).map_or(0, |b| b.lines.len())));
        if rewrap {
            self.list.clear();
        } else if evicted > self.from {
            let gone = usize::try_from(evicted - self.from).unwrap_or(usize::MAX).min(self.list.len());
            self.list.drain(..gone);
        }
        self.from = evicted;
        for (i, message) in messages.items().iter().enumerate() {
            let writing = open && !message.complete;
            if self.list.get(i).is_some_and(|b| b.rev == message.rev && b.open == writing) {
                continue;
            }
            let lines = view_lines::message::lines(message, i == 0, writing, width, tz);
            let block = Block { rev: message.rev, open: writing, lines };
            match self.list.get_mut(i) {
                Some(old) => *old = block,
                None => self.list.push(block),
            }
        }
        if rewrap {
            for (i, (key, lines)) in before.into_iter().enumerate() {
                if i == 0 || key != before[0].0 {
                    place.rescale(key, lines, self.block(key).map_or(0, |b| b.lines.len()));
                }
            }
        }
    }

    fn block(&self, key: u64) -> Option<&Block> {
        self.list.get(usize::try_from(key.checked_sub(self.from)?).ok()?)
    }

    /// One line.
    pub fn line(&self, spot: Spot) -> Line {
        self.block(spot.key).and_then(|b| b.lines.get(spot.line)).cloned().unwrap_or_default()
    }

    /// The event that brought a line.
    pub fn seq_at(&self, messages: &Messages, spot: Spot) -> Option<u64> {
        Some(message(messages, spot.key)?.last_seq)
    }

    /// The line that an event brought, or the one before it.
    pub fn spot_of(&self, messages: &Messages, seq: u64) -> Spot {
        let items = messages.items();
        let after = items.partition_point(|m| m.first_seq <= seq);
        // Messages of parallel branches are written at once: the one that this event changed, else the newest.
        let near = items[..after].iter().enumerate().rev().take(64);
        let written = |m: &Message| m.last_seq == seq || m.spans.binary_search_by_key(&seq, |s| s.0).is_ok();
        let at = near.clone().find(|(_, m)| written(m)).map_or(after.saturating_sub(1), |(i, _)| i);
        let key = messages.evicted() + at as u64;
        Spot { key, line: self.height(key) - 1 }
    }
}

/// The message with this number.
pub fn message(messages: &Messages, key: u64) -> Option<&Message> {
    messages.items().get(usize::try_from(key.checked_sub(messages.evicted())?).ok()?)
}

impl Rows for Blocks {
    fn first(&self) -> u64 {
        self.from
    }
    fn end(&self) -> u64 {
        self.from + self.list.len() as u64
    }
    fn height(&self, key: u64) -> usize {
        self.block(key).map_or(1, |b| b.lines.len().max(1))
    }
}
