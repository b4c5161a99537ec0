//! Maps each part of a text to the event that delivered it. Stored in blocks that copies share, because time travel
//! keeps copies of messages with a million tokens.

use crate::Seq;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of events per block.
const BLOCK: usize = 512;

/// The length of a text after each event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spans {
    /// All blocks but the last are full, unless the next event is too far from the block's first.
    blocks: Vec<Arc<Block>>,
}

/// Consecutive events, each with the length of the text after it. Events are offsets from the first.
#[derive(Debug, Clone, PartialEq)]
struct Block {
    base: Seq,
    spans: Vec<(u32, u32)>,
}

impl Block {
    fn seq(&self, index: usize) -> Seq {
        self.base + self.spans.get(index).map_or(0, |span| span.0.into())
    }

    fn last(&self) -> Option<(Seq, u32)> {
        let last = self.spans.len().checked_sub(1)?;
        Some((self.seq(last), self.spans[last].1))
    }
}

impl Spans {
    /// Records the length of the text after an event.
    pub(super) fn record(&mut self, seq: Seq, end: usize) {
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        if let Some(block) = self.blocks.last_mut() {
            let since = seq
                .checked_since(block.base)
                .and_then(|since| u32::try_from(since).ok());
            if block.last().is_some_and(|last| last.0 == seq) {
                if let Some(last) = Arc::make_mut(block).spans.last_mut() {
                    last.1 = end;
                }
                return;
            }
            if let Some(since) = since.filter(|_| block.spans.len() < BLOCK) {
                return Arc::make_mut(block).spans.push((since, end));
            }
        }
        self.blocks.push(Arc::new(Block {
            base: seq,
            spans: vec![(0, end)],
        }));
    }

    /// Limits all lengths to `end`, because the text became shorter.
    pub(super) fn truncate(&mut self, end: usize) {
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        for block in self.blocks.iter_mut().rev() {
            // Lengths never decrease, so earlier blocks need no change.
            if block.last().is_none_or(|last| last.1 <= end) {
                return;
            }
            Arc::make_mut(block)
                .spans
                .iter_mut()
                .for_each(|span| span.1 = span.1.min(end));
        }
    }

    /// Adjusts the lengths after `range` of the text was replaced by `new_len` bytes.
    pub(super) fn cut(&mut self, range: Range<usize>, new_len: usize) {
        let (from, to) = (range.start, range.end);
        for span in self
            .blocks
            .iter_mut()
            .flat_map(|block| Arc::make_mut(block).spans.iter_mut())
        {
            let end = match span.1 as usize {
                end if end <= from => end,
                end if end < to => from,
                end => end - (to - from) + new_len,
            };
            span.1 = u32::try_from(end).unwrap_or(u32::MAX);
        }
    }

    /// Returns the length of the text after an event.
    pub(super) fn end_at(&self, seq: Seq) -> usize {
        let last = self.last_until(seq);
        last.map_or(0, |(block, index)| block.spans[index].1 as usize)
    }

    /// Returns the block and the index in it of the newest event up to an event.
    fn last_until(&self, seq: Seq) -> Option<(&Block, usize)> {
        let known = self.blocks.partition_point(|block| block.base <= seq);
        let block = self.blocks.get(known.checked_sub(1)?)?;
        let is_until = |span: &(u32, u32)| block.base + span.0.into() <= seq;
        let known = block.spans.partition_point(is_until);
        Some((block, known.checked_sub(1)?))
    }

    /// Returns the event that delivered a byte of the text, or the newest event if the byte is beyond the text.
    pub(super) fn delivered_by(&self, at: usize) -> Option<Seq> {
        let ends_before = |end: u32| end as usize <= at;
        let index = self
            .blocks
            .partition_point(|block| block.last().is_some_and(|last| ends_before(last.1)));
        let Some(block) = self.blocks.get(index) else {
            return Some(self.blocks.last()?.last()?.0);
        };
        Some(block.seq(block.spans.partition_point(|span| ends_before(span.1))))
    }

    /// Returns whether an event changed the text.
    pub fn has(&self, seq: Seq) -> bool {
        self.last_until(seq)
            .is_some_and(|(block, index)| block.seq(index) == seq)
    }

    /// Returns the events, each with the length of the text after it.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, u32)> {
        self.blocks.iter().flat_map(|block| {
            (0..block.spans.len()).map(|index| (block.seq(index), block.spans[index].1))
        })
    }

    /// Returns the approximate memory size in bytes.
    pub(super) fn weight(&self) -> usize {
        let full = self.blocks.len().saturating_sub(1) * BLOCK;
        (full + self.blocks.last().map_or(0, |block| block.spans.len())) * size_of::<(u32, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Record(u64, usize),
        Truncate(usize),
    }

    proptest! {
        #[test]
        fn blocks_behave_like_a_plain_list(
            steps in prop::collection::vec(
                prop_oneof![
                    20 => (prop_oneof![Just(0), Just(1), Just(2), Just(1 << 33)], 0..4usize).prop_map(|(by, more)| Step::Record(by, more)),
                    1 => (0..3000usize).prop_map(Step::Truncate),
                ],
                0..2000,
            ),
            queries in prop::collection::vec((0..2100u64, 0..3000usize), 20),
        ) {
            let (mut spans, mut list, mut seq, mut end) = (Spans::default(), Vec::<(u64, u32)>::new(), 1, 0);
            for step in steps {
                match step {
                    Step::Record(by, more) => {
                        (seq, end) = (seq + by, end + more);
                        spans.record(Seq(seq), end);
                        match list.last_mut() {
                            Some(last) if last.0 == seq => last.1 = end as u32,
                            _ => list.push((seq, end as u32)),
                        }
                    }
                    Step::Truncate(to) => {
                        end = end.min(to);
                        spans.truncate(end);
                        list.iter_mut().for_each(|span| span.1 = span.1.min(end as u32));
                    }
                }
            }
            prop_assert!(spans.iter().eq(list.iter().map(|span| (Seq(span.0), span.1))));
            for (seq, at) in queries {
                let known = list.partition_point(|span| span.0 <= seq);
                prop_assert_eq!(spans.end_at(Seq(seq)), known.checked_sub(1).map_or(0, |index| list[index].1 as usize));
                prop_assert_eq!(spans.has(Seq(seq)), list.binary_search_by_key(&seq, |span| span.0).is_ok());
                let before = list.partition_point(|span| span.1 as usize <= at);
                prop_assert_eq!(spans.delivered_by(at), list.get(before).or(list.last()).map(|span| Seq(span.0)));
            }
        }
    }
}
