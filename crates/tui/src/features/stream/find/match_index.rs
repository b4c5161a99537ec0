//! An index of the list entries that match. The list is scanned in short steps, from the user's position to the end and
//! then back to the start, while it grows at the end and is trimmed at the front.

use super::Look;
use std::collections::VecDeque;
use std::ops::Range;

/// The fixed cost of an entry, in bytes, added to the bytes read in it.
const PER_ENTRY: usize = 256;

/// An entry that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    key: u64,
    /// The position of the match in the entry, in bytes.
    at: u32,
}

/// The entries found so far. The scanned entries are always one contiguous range.
#[derive(Debug, Clone, Default)]
pub struct MatchIndex {
    /// Sorted by key.
    found: VecDeque<Found>,
    /// The keys of the scanned entries.
    seen: Range<u64>,
    /// The keys of the list at the last step.
    list: Range<u64>,
    /// The entry that is partly scanned: its key, and the bytes scanned so far.
    within: Option<(u64, usize)>,
}

impl MatchIndex {
    /// Returns an empty index that starts to scan at an entry.
    pub fn from(key: u64) -> MatchIndex {
        MatchIndex { seen: key..key, ..MatchIndex::default() }
    }

    /// Scans about `room` more bytes. `list` holds the keys of the current entries. `look` takes a key, the byte to
    /// start at and the maximum number of bytes to read; it returns the result and the number of bytes read.
    pub fn advance(&mut self, list: Range<u64>, room: usize, mut look: impl FnMut(u64, usize, usize) -> (Look, usize)) {
        self.list = list.start..list.end.max(list.start);
        let inside = |key: u64| key.clamp(self.list.start, self.list.end);
        self.seen = inside(self.seen.start)..inside(self.seen.end);
        while self.found.front().is_some_and(|found| found.key < self.list.start) {
            self.found.pop_front();
        }
        let mut left = room;
        while let Some(key) = self.due() {
            let from = self.within.filter(|(begun, _)| *begun == key).map_or(0, |(_, from)| from);
            let (saw, read) = look(key, from, left);
            left = left.saturating_sub(read + PER_ENTRY);
            self.within = None;
            match saw {
                Look::Further(next) => self.within = Some((key, next)),
                saw => self.clamp(key, saw),
            }
            if left == 0 {
                return;
            }
        }
    }

    /// Returns the next entry to scan. A partly scanned entry comes first; otherwise a long entry would restart each
    /// time new entries arrive.
    fn due(&self) -> Option<u64> {
        let at_an_edge = |key: u64| (key == self.seen.end && key < self.list.end) || key + 1 == self.seen.start;
        if let Some((begun, _)) = self.within
            && at_an_edge(begun)
            && begun >= self.list.start
        {
            return Some(begun);
        }
        if self.seen.end < self.list.end {
            return Some(self.seen.end);
        }
        (self.seen.start > self.list.start).then(|| self.seen.start - 1)
    }

    fn clamp(&mut self, key: u64, saw: Look) {
        let found = |at: usize| Found { key, at: u32::try_from(at).unwrap_or(u32::MAX) };
        if key == self.seen.end {
            self.seen.end += 1;
            if let Look::Found(at) = saw {
                self.found.push_back(found(at));
            }
        } else {
            self.seen.start = key;
            if let Look::Found(at) = saw {
                self.found.push_front(found(at));
            }
        }
    }

    /// Replaces the result for an entry that changed, if it was already scanned.
    pub fn look_again(&mut self, key: u64, saw: Look) {
        if !self.seen.contains(&key) {
            return;
        }
        match (self.found.binary_search_by_key(&key, |found| found.key), saw) {
            (Ok(i), Look::Found(at)) => self.found[i].at = u32::try_from(at).unwrap_or(u32::MAX),
            (Ok(i), _) => drop(self.found.remove(i)),
            (Err(i), Look::Found(at)) => self.found.insert(i, Found { key, at: u32::try_from(at).unwrap_or(u32::MAX) }),
            (Err(_), _) => {}
        }
    }

    /// Returns whether all entries of the last step are scanned.
    pub fn is_complete(&self) -> bool {
        self.seen == self.list
    }

    /// Returns the number of scanned entries, and of all entries.
    pub fn progress(&self) -> (u64, u64) {
        (self.seen.end - self.seen.start, self.list.end - self.list.start)
    }

    /// Returns the number of matching entries.
    pub fn count(&self) -> u64 {
        self.found.len() as u64
    }

    /// Returns whether an entry matches.
    pub fn holds(&self, key: u64) -> bool {
        self.place(key).is_some()
    }

    /// Returns whether an entry matches, or `None` if it is not scanned yet.
    pub fn knows(&self, key: u64) -> Option<bool> {
        self.seen.contains(&key).then(|| self.holds(key))
    }

    /// Returns the position of the match in an entry, in bytes.
    pub fn place(&self, key: u64) -> Option<usize> {
        let i = self.found.binary_search_by_key(&key, |found| found.key).ok()?;
        Some(self.found[i].at as usize)
    }

    /// Returns the number of matches before an entry.
    pub fn rank(&self, key: u64) -> u64 {
        self.found.partition_point(|found| found.key < key) as u64
    }

    /// Returns the first match at or after an entry.
    pub fn at_or_after(&self, key: u64) -> Option<u64> {
        self.found.get(self.rank(key) as usize).map(|found| found.key)
    }

    /// Returns the last match before an entry.
    pub fn before(&self, key: u64) -> Option<u64> {
        let rank = self.rank(key) as usize;
        Some(self.found.get(rank.checked_sub(1)?)?.key)
    }

    /// Returns the first match.
    pub fn first(&self) -> Option<u64> {
        self.found.front().map(|found| found.key)
    }

    /// Returns the last match.
    pub fn last(&self) -> Option<u64> {
        self.found.back().map(|found| found.key)
    }

    /// Returns whether all entries from this one to the next match are scanned, so that no closer match can turn up.
    pub fn is_sure_after(&self, key: u64) -> bool {
        self.seen.start <= key && (self.at_or_after(key).is_some() || self.seen.end >= self.list.end)
    }

    /// Returns whether all entries from the previous match to this one are scanned.
    pub fn is_sure_before(&self, key: u64) -> bool {
        self.seen.end >= key.min(self.list.end) && (self.before(key).is_some() || self.seen.start <= self.list.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_looks_forward_first_and_then_back() {
        let mut sieve = MatchIndex::from(5);
        let mut order = Vec::new();
        let mut turn = |sieve: &mut MatchIndex, list: Range<u64>| {
            sieve.advance(list, 1, |key, _, _| {
                order.push(key);
                (if key % 2 == 0 { Look::Found(key as usize) } else { Look::Nothing }, 0)
            });
        };
        turn(&mut sieve, 2..7);
        turn(&mut sieve, 2..7);
        assert_eq!((sieve.progress(), sieve.is_complete()), ((2, 5), false));
        assert!(!sieve.is_sure_before(6) && sieve.is_sure_after(5));
        turn(&mut sieve, 2..7);
        turn(&mut sieve, 2..8);
        turn(&mut sieve, 2..8);
        turn(&mut sieve, 2..8);
        turn(&mut sieve, 2..8);
        assert_eq!(order, [5, 6, 4, 7, 3, 2], "what is new comes before what is old");
        assert!(sieve.is_complete());
        assert_eq!((sieve.count(), sieve.first(), sieve.last()), (3, Some(2), Some(6)));
        assert_eq!((sieve.at_or_after(4), sieve.at_or_after(7), sieve.before(4)), (Some(4), None, Some(2)));
        assert_eq!((sieve.rank(6), sieve.place(6), sieve.place(5)), (2, Some(6), None));
        sieve.look_again(7, Look::Found(1));
        sieve.look_again(4, Look::Nothing);
        sieve.look_again(99, Look::Found(0));
        assert_eq!((sieve.count(), sieve.last(), sieve.holds(4)), (3, Some(7), false));
    }

    #[test]
    fn an_entry_of_fifty_megabytes_takes_many_short_turns() {
        const SIZE: usize = 50 << 20;
        let mut sieve = MatchIndex::from(1);
        let mut turns = 0;
        while turns == 0 || !sieve.is_complete() {
            turns += 1;
            sieve.advance(1..3, 1 << 20, |_, from, room| {
                assert!(room <= 1 << 20);
                let next = from + room.max(4096);
                (if next >= SIZE { Look::Found(SIZE) } else { Look::Further(next) }, room)
            });
        }
        assert!((100..=102).contains(&turns), "{turns}");
        assert_eq!(sieve.count(), 2);
    }

    #[derive(Debug, Clone)]
    enum Step {
        Append(u64),
        LetGo(u64),
        Turn(usize),
        Change(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0u64..20).prop_map(Step::Append),
            (0u64..30).prop_map(Step::LetGo),
            (1usize..4000).prop_map(Step::Turn),
            (0u64..200).prop_map(Step::Change),
        ]
    }

    proptest! {
        #[test]
        fn turns_find_what_one_look_at_all_finds(from in 0u64..60, steps in proptest::collection::vec(step(), 0..60)) {
            let mut list = 3u64..23;
            let mut changed = std::collections::HashSet::new();
            let mut sieve = MatchIndex::from(from);
            let holds = |key: u64, changed: &std::collections::HashSet<u64>| key.is_multiple_of(3) != changed.contains(&key);
            let look = |key: u64, at: usize, changed: &std::collections::HashSet<u64>| match at < (key % 4) as usize {
                true => Look::Further(at + 1),
                false if holds(key, changed) => Look::Found(key as usize),
                false => Look::Nothing,
            };
            for step in steps {
                match step {
                    Step::Append(n) => list.end += n,
                    Step::LetGo(n) => list.start = (list.start + n).min(list.end),
                    Step::Turn(room) => {
                        sieve.advance(list.clone(), room, |key, at, _| (look(key, at, &changed), 100));
                        prop_assert!(sieve.first().is_none_or(|key| key >= list.start));
                        let (scanned, total) = sieve.progress();
                        prop_assert!(scanned <= total);
                    }
                    Step::Change(key) => {
                        changed.insert(key);
                        sieve.look_again(key, if holds(key, &changed) { Look::Found(key as usize) } else { Look::Nothing });
                    }
                }
            }
            sieve.advance(list.clone(), usize::MAX, |key, at, _| (look(key, at, &changed), 1));
            prop_assert!(sieve.is_complete());
            let found: Vec<u64> = sieve.found.iter().map(|found| found.key).collect();
            let wanted: Vec<u64> = list.clone().filter(|key| holds(*key, &changed)).collect();
            prop_assert_eq!(&found, &wanted);
            for key in list.start.saturating_sub(2)..list.end + 2 {
                prop_assert_eq!(sieve.at_or_after(key), wanted.iter().copied().find(|k| *k >= key));
                prop_assert_eq!(sieve.before(key), wanted.iter().rev().copied().find(|k| *k < key));
                prop_assert!(sieve.is_sure_after(key.max(list.start)) && sieve.is_sure_before(key));
            }
        }
    }
}
