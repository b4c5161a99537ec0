//! An index of the list entries that match. The list is scanned in short steps, from the user's position to the end and
//! then back to the start, while it grows at the end and is trimmed at the front.

use super::ScanResult;
use std::collections::VecDeque;
use std::ops::Range;

/// The fixed cost of an entry, in bytes, added to the bytes read in it.
const PER_ENTRY: usize = 256;

/// An entry that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FoundEntry {
    key: u64,
    /// The position of the match in the entry, in bytes.
    at: u32,
}

impl FoundEntry {
    fn new(key: u64, at: usize) -> FoundEntry {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        FoundEntry { key, at }
    }
}

/// The entries found so far. The scanned entries are always one contiguous range.
#[derive(Debug, Clone, Default)]
pub struct MatchIndex {
    /// Sorted by key.
    found: VecDeque<FoundEntry>,
    /// The keys of the scanned entries.
    scanned: Range<u64>,
    /// The keys of the list at the last step.
    list: Range<u64>,
    /// The entry that is partly scanned: its key, and the bytes scanned so far.
    partial: Option<(u64, usize)>,
}

impl MatchIndex {
    /// Returns an empty index that starts to scan at an entry.
    pub fn from(key: u64) -> MatchIndex {
        MatchIndex {
            scanned: key..key,
            ..MatchIndex::default()
        }
    }

    /// Scans about `budget` more bytes. `list` holds the keys of the current entries. `scan` takes a key, the byte to
    /// start at and the maximum number of bytes to read; it returns the result and the number of bytes read.
    pub fn advance(
        &mut self,
        list: Range<u64>,
        budget: usize,
        mut scan: impl FnMut(u64, usize, usize) -> (ScanResult, usize),
    ) {
        self.list = list.start..list.end.max(list.start);
        let inside = |key: u64| key.clamp(self.list.start, self.list.end);
        self.scanned = inside(self.scanned.start)..inside(self.scanned.end);
        while self
            .found
            .front()
            .is_some_and(|found| found.key < self.list.start)
        {
            self.found.pop_front();
        }
        let mut remaining = budget;
        while let Some(key) = self.next_entry() {
            let from = self
                .partial
                .filter(|(key_of_partial, _)| *key_of_partial == key)
                .map_or(0, |(_, from)| from);
            let (result, read) = scan(key, from, remaining);
            remaining = remaining.saturating_sub(read + PER_ENTRY);
            self.partial = None;
            match result {
                ScanResult::Further(next) => self.partial = Some((key, next)),
                result => self.record(key, result),
            }
            if remaining == 0 {
                return;
            }
        }
    }

    /// Returns the next entry to scan. A partly scanned entry comes first; otherwise a long entry would restart each
    /// time new entries arrive.
    fn next_entry(&self) -> Option<u64> {
        let is_adjacent = |key: u64| {
            (key == self.scanned.end && key < self.list.end) || key + 1 == self.scanned.start
        };
        if let Some((key_of_partial, _)) = self.partial
            && is_adjacent(key_of_partial)
            && key_of_partial >= self.list.start
        {
            return Some(key_of_partial);
        }
        if self.scanned.end < self.list.end {
            return Some(self.scanned.end);
        }
        (self.scanned.start > self.list.start).then(|| self.scanned.start - 1)
    }

    fn record(&mut self, key: u64, result: ScanResult) {
        if key == self.scanned.end {
            self.scanned.end += 1;
            if let ScanResult::Found(at) = result {
                self.found.push_back(FoundEntry::new(key, at));
            }
        } else {
            self.scanned.start = key;
            if let ScanResult::Found(at) = result {
                self.found.push_front(FoundEntry::new(key, at));
            }
        }
    }

    /// Replaces the result for an entry that changed, if it was already scanned.
    pub fn update(&mut self, key: u64, result: ScanResult) {
        if !self.scanned.contains(&key) {
            return;
        }
        match (
            self.found.binary_search_by_key(&key, |found| found.key),
            result,
        ) {
            (Ok(i), ScanResult::Found(at)) => self.found[i] = FoundEntry::new(key, at),
            (Ok(i), _) => drop(self.found.remove(i)),
            (Err(i), ScanResult::Found(at)) => self.found.insert(i, FoundEntry::new(key, at)),
            (Err(_), _) => {}
        }
    }

    /// Returns whether all entries of the last step are scanned.
    pub fn is_complete(&self) -> bool {
        self.scanned == self.list
    }

    /// Returns the number of scanned entries, and of all entries.
    pub fn progress(&self) -> (u64, u64) {
        (
            self.scanned.end - self.scanned.start,
            self.list.end - self.list.start,
        )
    }

    /// Returns the number of matching entries.
    pub fn count(&self) -> u64 {
        self.found.len() as u64
    }

    /// Returns whether an entry matches.
    pub fn is_match(&self, key: u64) -> bool {
        self.match_offset(key).is_some()
    }

    /// Returns whether an entry matches, or `None` if it is not scanned yet.
    pub fn known_result(&self, key: u64) -> Option<bool> {
        self.scanned.contains(&key).then(|| self.is_match(key))
    }

    /// Returns the position of the match in an entry, in bytes.
    pub fn match_offset(&self, key: u64) -> Option<usize> {
        let i = self
            .found
            .binary_search_by_key(&key, |found| found.key)
            .ok()?;
        Some(self.found[i].at as usize)
    }

    /// Returns the number of matches before an entry.
    pub fn rank(&self, key: u64) -> u64 {
        self.found.partition_point(|found| found.key < key) as u64
    }

    /// Returns the first match at or after an entry.
    pub fn at_or_after(&self, key: u64) -> Option<u64> {
        self.found
            .get(self.rank(key) as usize)
            .map(|found| found.key)
    }

    /// Returns the last match before an entry.
    pub fn before(&self, key: u64) -> Option<u64> {
        let rank = self.rank(key) as usize;
        Some(self.found.get(rank.checked_sub(1)?)?.key)
    }

    pub fn first(&self) -> Option<u64> {
        self.found.front().map(|found| found.key)
    }

    pub fn last(&self) -> Option<u64> {
        self.found.back().map(|found| found.key)
    }

    /// Returns whether all entries from this one to the next match are scanned, so that no closer match can turn up.
    pub fn has_scanned_to_next(&self, key: u64) -> bool {
        self.scanned.start <= key
            && (self.at_or_after(key).is_some() || self.scanned.end >= self.list.end)
    }

    /// Returns whether all entries from the previous match to this one are scanned.
    pub fn has_scanned_to_previous(&self, key: u64) -> bool {
        self.scanned.end >= key.min(self.list.end)
            && (self.before(key).is_some() || self.scanned.start <= self.list.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_ahead_are_scanned_before_entries_behind() {
        let mut index = MatchIndex::from(5);
        let mut order = Vec::new();
        let mut advance = |index: &mut MatchIndex, list: Range<u64>| {
            index.advance(list, 1, |key, _, _| {
                order.push(key);
                (
                    if key % 2 == 0 {
                        ScanResult::Found(key as usize)
                    } else {
                        ScanResult::Nothing
                    },
                    0,
                )
            });
        };
        advance(&mut index, 2..7);
        advance(&mut index, 2..7);
        assert_eq!((index.progress(), index.is_complete()), ((2, 5), false));
        assert!(!index.has_scanned_to_previous(6) && index.has_scanned_to_next(5));
        advance(&mut index, 2..7);
        advance(&mut index, 2..8);
        advance(&mut index, 2..8);
        advance(&mut index, 2..8);
        advance(&mut index, 2..8);
        assert_eq!(
            order,
            [5, 6, 4, 7, 3, 2],
            "entries at the end come before older ones"
        );
        assert!(index.is_complete());
        assert_eq!(
            (index.count(), index.first(), index.last()),
            (3, Some(2), Some(6))
        );
        assert_eq!(
            (index.at_or_after(4), index.at_or_after(7), index.before(4)),
            (Some(4), None, Some(2))
        );
        assert_eq!(
            (index.rank(6), index.match_offset(6), index.match_offset(5)),
            (2, Some(6), None)
        );
        index.update(7, ScanResult::Found(1));
        index.update(4, ScanResult::Nothing);
        index.update(99, ScanResult::Found(0));
        assert_eq!(
            (index.count(), index.last(), index.is_match(4)),
            (3, Some(7), false)
        );
    }

    #[test]
    fn an_entry_of_fifty_megabytes_takes_many_short_steps() {
        const SIZE: usize = 50 << 20;
        let mut index = MatchIndex::from(1);
        let mut steps = 0;
        while steps == 0 || !index.is_complete() {
            steps += 1;
            index.advance(1..3, 1 << 20, |_, from, budget| {
                assert!(budget <= 1 << 20);
                let next = from + budget.max(4096);
                (
                    if next >= SIZE {
                        ScanResult::Found(SIZE)
                    } else {
                        ScanResult::Further(next)
                    },
                    budget,
                )
            });
        }
        assert!((100..=102).contains(&steps), "{steps}");
        assert_eq!(index.count(), 2);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Append(u64),
        Evict(u64),
        Advance(usize),
        Change(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0u64..20).prop_map(Step::Append),
            (0u64..30).prop_map(Step::Evict),
            (1usize..4000).prop_map(Step::Advance),
            (0u64..200).prop_map(Step::Change),
        ]
    }

    proptest! {
        #[test]
        fn steps_find_the_same_matches_as_one_full_scan(from in 0u64..60, steps in proptest::collection::vec(step(), 0..60)) {
            let mut list = 3u64..23;
            let mut changed = std::collections::HashSet::new();
            let mut index = MatchIndex::from(from);
            let is_match = |key: u64, changed: &std::collections::HashSet<u64>| key.is_multiple_of(3) != changed.contains(&key);
            let scan = |key: u64, at: usize, changed: &std::collections::HashSet<u64>| match at < (key % 4) as usize {
                true => ScanResult::Further(at + 1),
                false if is_match(key, changed) => ScanResult::Found(key as usize),
                false => ScanResult::Nothing,
            };
            for step in steps {
                match step {
                    Step::Append(n) => list.end += n,
                    Step::Evict(n) => list.start = (list.start + n).min(list.end),
                    Step::Advance(budget) => {
                        index.advance(list.clone(), budget, |key, at, _| (scan(key, at, &changed), 100));
                        prop_assert!(index.first().is_none_or(|key| key >= list.start));
                        let (scanned, total) = index.progress();
                        prop_assert!(scanned <= total);
                    }
                    Step::Change(key) => {
                        changed.insert(key);
                        index.update(key, if is_match(key, &changed) { ScanResult::Found(key as usize) } else { ScanResult::Nothing });
                    }
                }
            }
            index.advance(list.clone(), usize::MAX, |key, at, _| (scan(key, at, &changed), 1));
            prop_assert!(index.is_complete());
            let found: Vec<u64> = index.found.iter().map(|found| found.key).collect();
            let wanted: Vec<u64> = list.clone().filter(|key| is_match(*key, &changed)).collect();
            prop_assert_eq!(&found, &wanted);
            for key in list.start.saturating_sub(2)..list.end + 2 {
                prop_assert_eq!(index.at_or_after(key), wanted.iter().copied().find(|k| *k >= key));
                prop_assert_eq!(index.before(key), wanted.iter().rev().copied().find(|k| *k < key));
                prop_assert!(index.has_scanned_to_next(key.max(list.start)) && index.has_scanned_to_previous(key));
            }
        }
    }
}
