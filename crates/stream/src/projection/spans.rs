//! Which event brought which part of a text. In blocks that copies share: the past keeps copies of messages of a million tokens.

use crate::Seq;
use std::ops::Range;
use std::sync::Arc;

/// Events of a block.
const BLOCK: usize = 512;

/// After which event a text was how long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spans {
    /// All but the last one are full, or the next one lies too far from them.
    blocks: Vec<Arc<Block>>,
}

/// Events since a first one, and the length after each.
#[derive(Debug, Clone, PartialEq)]
struct Block {
    base: Seq,
    spans: Vec<(u32, u32)>,
}

impl Block {
    fn seq(&self, place: usize) -> Seq {
        self.base + self.spans.get(place).map_or(0, |span| span.0.into())
    }

    fn last(&self) -> Option<(Seq, u32)> {
        let last = self.spans.len().checked_sub(1)?;
        Some((self.seq(last), self.spans[last].1))
    }
}

impl Spans {
    /// Notes how long the text is after an event.
    pub(super) fn note(&mut self, seq: Seq, end: usize) {
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        if let Some(block) = self.blocks.last_mut() {
            let since = seq.checked_since(block.base).and_then(|since| u32::try_from(since).ok());
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
        self.blocks.push(Arc::new(Block { base: seq, spans: vec![(0, end)] }));
    }

    /// The text became shorter: what was longer ends here.
    pub(super) fn clip(&mut self, end: usize) {
        let end = u32::try_from(end).unwrap_or(u32::MAX);
        for block in self.blocks.iter_mut().rev() {
            // They only grow.
            if block.last().is_none_or(|last| last.1 <= end) {
                return;
            }
            Arc::make_mut(block).spans.iter_mut().for_each(|span| span.1 = span.1.min(end));
        }
    }

    /// A part of the text was replaced by so many bytes.
    pub(super) fn cut(&mut self, part: Range<usize>, left: usize) {
        let (from, to) = (part.start, part.end);
        for span in self.blocks.iter_mut().flat_map(|block| Arc::make_mut(block).spans.iter_mut()) {
            let end = match span.1 as usize {
                end if end <= from => end,
                end if end < to => from,
                end => end - (to - from) + left,
            };
            span.1 = u32::try_from(end).unwrap_or(u32::MAX);
        }
    }

    /// Returns how long the text was after an event.
    pub(super) fn end_at(&self, seq: Seq) -> usize {
        let known = self.blocks.partition_point(|block| block.base <= seq);
        let Some(block) = known.checked_sub(1).and_then(|place| self.blocks.get(place)) else { return 0 };
        let known = block.spans.partition_point(|span| block.base + span.0.into() <= seq);
        known.checked_sub(1).map_or(0, |place| block.spans[place].1 as usize)
    }

    /// Returns the event that brought a byte of the text, or the newest.
    pub(super) fn brought(&self, at: usize) -> Option<Seq> {
        let ends_before = |end: u32| end as usize <= at;
        let place = self.blocks.partition_point(|block| block.last().is_some_and(|last| ends_before(last.1)));
        let Some(block) = self.blocks.get(place) else { return Some(self.blocks.last()?.last()?.0) };
        Some(block.seq(block.spans.partition_point(|span| ends_before(span.1))))
    }

    /// Returns whether an event brought anything.
    pub fn has(&self, seq: Seq) -> bool {
        let known = self.blocks.partition_point(|block| block.base <= seq);
        let block = known.checked_sub(1).and_then(|place| self.blocks.get(place));
        block.is_some_and(|block| {
            let since = u32::try_from(seq - block.base);
            since.is_ok_and(|since| block.spans.binary_search_by_key(&since, |span| span.0).is_ok())
        })
    }

    /// Returns the events, with the length after each.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, u32)> {
        self.blocks
            .iter()
            .flat_map(|block| (0..block.spans.len()).map(|place| (block.seq(place), block.spans[place].1)))
    }

    /// Returns the bytes of memory that they take, roughly.
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
        Note(u64, usize),
        Clip(usize),
    }

    proptest! {
        /// A plain list tells the same.
        #[test]
        fn blocks_are_as_a_list(
            steps in prop::collection::vec(
                prop_oneof![
                    20 => (prop_oneof![Just(0), Just(1), Just(2), Just(1 << 33)], 0..4usize).prop_map(|(by, more)| Step::Note(by, more)),
                    1 => (0..3000usize).prop_map(Step::Clip),
                ],
                0..2000,
            ),
            asked in prop::collection::vec((0..2100u64, 0..3000usize), 20),
        ) {
            let (mut spans, mut list, mut seq, mut end) = (Spans::default(), Vec::<(u64, u32)>::new(), 1, 0);
            for step in steps {
                match step {
                    Step::Note(by, more) => {
                        (seq, end) = (seq + by, end + more);
                        spans.note(Seq(seq), end);
                        match list.last_mut() {
                            Some(last) if last.0 == seq => last.1 = end as u32,
                            _ => list.push((seq, end as u32)),
                        }
                    }
                    Step::Clip(to) => {
                        end = end.min(to);
                        spans.clip(end);
                        list.iter_mut().for_each(|span| span.1 = span.1.min(end as u32));
                    }
                }
            }
            prop_assert!(spans.iter().eq(list.iter().map(|span| (Seq(span.0), span.1))));
            for (seq, at) in asked {
                let known = list.partition_point(|span| span.0 <= seq);
                prop_assert_eq!(spans.end_at(Seq(seq)), known.checked_sub(1).map_or(0, |place| list[place].1 as usize));
                prop_assert_eq!(spans.has(Seq(seq)), list.binary_search_by_key(&seq, |span| span.0).is_ok());
                let before = list.partition_point(|span| span.1 as usize <= at);
                prop_assert_eq!(spans.brought(at), list.get(before).or(list.last()).map(|span| Seq(span.0)));
            }
        }
    }
}
