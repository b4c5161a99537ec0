//! Detects events that a replaying connection delivers twice. The Python server subscribes first, then replays a store
//! that is still growing, then delivers its queue. So everything published between the subscription and the end of the
//! replay is sent a second time: as one block, in the same order, at most once per connection, after newer ids.

use crate::source::id_key::IdKey;
use crate::sse::decode::Decoded;
use foldhash::fast::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Events remembered per connection. In a block that reaches back further, duplicates are recognized by id alone.
const REMEMBERED: usize = 1 << 17;
/// How long before and after the response head the server may subscribe, in milliseconds.
const CLOCK_TOLERANCE: (u64, u64) = (1_000, 5_000);

/// Whether an event duplicates an earlier event of the same connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dedup {
    New,
    Duplicate,
    /// A duplicate according to its id alone, because it is older than all remembered events.
    ProbablyDuplicate,
    /// Equals an event of the same millisecond, in which the block may begin. This connection alone can't show whether it
    /// is new.
    Ambiguous,
}

/// The positions of one fingerprint, ascending. There is nearly always just one.
#[derive(Debug)]
enum Positions {
    One(u64),
    Many(VecDeque<u64>),
}

impl Positions {
    /// Returns the first position that is not before `from`.
    fn first(&self, from: u64) -> Option<u64> {
        let is_before = |position: &u64| {
            #[cfg(test)]
            tests::COMPARED.with(|compared| compared.set(compared.get() + 1));
            *position < from
        };
        match self {
            Positions::One(position) => Some(*position).filter(|position| !is_before(position)),
            Positions::Many(positions) => {
                positions.get(positions.partition_point(is_before)).copied()
            }
        }
    }

    fn push(&mut self, position: u64) {
        match self {
            Positions::One(first) => *self = Positions::Many([*first, position].into()),
            Positions::Many(positions) => positions.push_back(position),
        }
    }

    /// Removes the first position. Returns whether none is left.
    fn pop(&mut self) -> bool {
        match self {
            Positions::One(_) => true,
            Positions::Many(positions) => {
                positions.pop_front();
                positions.is_empty()
            }
        }
    }
}

/// The events received on one connection, as long as a duplicate block is possible.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    hasher: RandomState,
    /// The newest id and its sort key.
    newest: Option<(Arc<str>, IdKey)>,
    may_repeat: bool,
    seen: VecDeque<(IdKey, u64)>,
    /// The positions of each fingerprint, counted from the connection's first event. Thousands of events may share an
    /// id, and searching all of them for each event would take quadratic time.
    positions: HashMap<u64, Positions, RandomState>,
    /// How many events were evicted from the front, and the newest key among them.
    evicted: u64,
    newest_evicted: Option<IdKey>,
    /// The position in `seen` from which the block's next event is searched, once the block has begun.
    next: Option<usize>,
    /// Events received after newer ids because the server's clock went back, with how often each will appear in the
    /// block.
    out_of_order: HashMap<(IdKey, u64), u32>,
    /// The server's clock when it responded, in milliseconds.
    answered: Option<u64>,
    /// The newest key received before the connection opened. The block cannot begin before it.
    known_before: Option<IdKey>,
    /// Whether the block may begin at that key. It does only if the server's clock went back during the outage, so this is asked
    /// once: identical events of that millisecond are more likely.
    may_begin_at_known: bool,
}

impl Overlap {
    /// Starts a new connection. Only a connection that requested a replay can contain a block.
    pub fn opened(&mut self, replays: bool, answered: Option<u64>, known_before: Option<IdKey>) {
        *self = Overlap {
            may_repeat: replays,
            answered,
            known_before,
            ..Overlap::default()
        };
    }

    /// Allows the block to begin at the newest key received before the connection opened.
    pub fn allow_known(&mut self) {
        self.may_begin_at_known = true;
    }

    /// Returns whether an id is the newest one received before the connection opened.
    pub fn is_known(&self, id: Option<IdKey>) -> bool {
        id.is_some() && id == self.known_before
    }

    /// Classifies an event, and remembers it.
    pub fn classify(&mut self, event: &Decoded) -> Dedup {
        let Some(id) = event.id.as_ref().filter(|_| self.may_repeat) else {
            return Dedup::New;
        };
        let Some(at) = self.key_of(id) else {
            return Dedup::New;
        };
        let fingerprint = self.fingerprint_of(event);
        let newest = self.seen.back().map(|(key, _)| *key);
        if let Some(next) = self.next {
            return self.in_block(next, at, fingerprint);
        }
        match newest {
            Some(newest) if at < newest => match self.find(0, at, fingerprint) {
                Some(i) => self.match_at(i),
                None if self.newest_evicted.is_some_and(|f| at <= f) => Dedup::ProbablyDuplicate,
                None => self.out_of_order(at, fingerprint),
            },
            Some(newest) if at == newest => match self.find(0, at, fingerprint) {
                // Ids that are unique per event: this is the same event.
                Some(i) if !id.contains('-') || at.minor != 0 => self.match_at(i),
                Some(_) if self.may_begin(at) => Dedup::Ambiguous,
                _ => self.remember(at, fingerprint),
            },
            _ => self.remember(at, fingerprint),
        }
    }

    fn key_of(&mut self, id: &Arc<str>) -> Option<IdKey> {
        if let Some((_, position)) = self
            .newest
            .as_ref()
            .filter(|(newest, _)| Arc::ptr_eq(newest, id))
        {
            return Some(*position);
        }
        let position = IdKey::of(id)?;
        self.newest = Some((id.clone(), position));
        Some(position)
    }

    /// Treats an ambiguous event as the start of the block, or as new.
    pub fn resolve(&mut self, event: &Decoded, is_duplicate: bool) {
        let Some(at) = event.id.as_deref().and_then(IdKey::of) else {
            return;
        };
        let fingerprint = self.fingerprint_of(event);
        match self.find(0, at, fingerprint) {
            Some(i) if is_duplicate => self.match_at(i),
            _ => self.remember(at, fingerprint),
        };
    }

    fn match_at(&mut self, i: usize) -> Dedup {
        self.next = Some(i + 1);
        self.end_if_done();
        Dedup::Duplicate
    }

    /// Classifies an event inside the block. Events that are not duplicates there were never stored.
    fn in_block(&mut self, next: usize, at: IdKey, fingerprint: u64) -> Dedup {
        if self.seen.back().is_none_or(|(newest, _)| at > *newest) {
            self.end();
            return Dedup::New;
        }
        match self.find(next, at, fingerprint) {
            Some(i) => self.match_at(i),
            None => match self.out_of_order.get_mut(&(at, fingerprint)) {
                Some(times) => {
                    *times -= 1;
                    if *times == 0 {
                        self.out_of_order.remove(&(at, fingerprint));
                    }
                    self.end_if_done();
                    Dedup::Duplicate
                }
                None => Dedup::New,
            },
        }
    }

    /// Classifies an event that arrived after newer ids, outside any known block.
    fn out_of_order(&mut self, at: IdKey, fingerprint: u64) -> Dedup {
        if self.out_of_order.len() >= REMEMBERED {
            return Dedup::New;
        }
        let times = self.out_of_order.entry((at, fingerprint)).or_insert(0);
        // Either the block begins here, or this is a new event identical to an earlier one.
        let result = if *times == 0 {
            Dedup::New
        } else {
            Dedup::ProbablyDuplicate
        };
        if result == Dedup::New {
            *times += 1;
        }
        result
    }

    /// Ends the block at the last event of the replay. There is only one block per connection.
    fn end_if_done(&mut self) {
        if self.next.is_some_and(|next| next >= self.seen.len()) && self.out_of_order.is_empty() {
            self.end();
        }
    }

    fn end(&mut self) {
        *self = Overlap::default();
    }

    /// Returns the first event from `from` on that equals this one.
    fn find(&self, from: usize, at: IdKey, fingerprint: u64) -> Option<usize> {
        let position = self
            .positions
            .get(&fingerprint)?
            .first(self.evicted + from as u64)?;
        let i = usize::try_from(position - self.evicted).ok()?;
        self.seen
            .get(i)
            .is_some_and(|(key, _)| *key == at)
            .then_some(i)
    }

    /// Returns whether the block may begin in this millisecond, which must be close to when the connection opened.
    fn may_begin(&self, at: IdKey) -> bool {
        // If the clock went back, an older id doesn't mean an older event.
        let is_after = |known: IdKey| at > known || self.may_begin_at_known && at == known;
        (!self.out_of_order.is_empty() || self.known_before.is_none_or(is_after))
            && self.answered.is_some_and(|t| {
                (t.saturating_sub(CLOCK_TOLERANCE.0)..=t.saturating_add(CLOCK_TOLERANCE.1))
                    .contains(&at.major)
            })
    }

    fn remember(&mut self, at: IdKey, fingerprint: u64) -> Dedup {
        let position = self.evicted + self.seen.len() as u64;
        self.positions
            .entry(fingerprint)
            .and_modify(|positions| positions.push(position))
            .or_insert(Positions::One(position));
        self.seen.push_back((at, fingerprint));
        if self.seen.len() > REMEMBERED
            && let Some((key, fingerprint)) = self.seen.pop_front()
        {
            self.newest_evicted = Some(key);
            self.evicted += 1;
            if self
                .positions
                .get_mut(&fingerprint)
                .is_some_and(Positions::pop)
            {
                self.positions.remove(&fingerprint);
            }
        }
        Dedup::New
    }

    /// Hashes everything that makes two events equal.
    fn fingerprint_of(&self, event: &Decoded) -> u64 {
        let Decoded { name, ns, id, data } = event;
        self.hasher.hash_one((name, ns, id, data.content()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;
    use Dedup::*;
    use std::cell::Cell;

    thread_local! {
        /// Positions compared by searches.
        pub(crate) static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    fn classify(overlap: &mut Overlap, id: &str, data: &str) -> Dedup {
        let data = Data::Json(data.into());
        overlap.classify(&Decoded {
            name: "custom".into(),
            ns: [].into(),
            id: Some(id.into()),
            data,
        })
    }

    fn results(events: &[(&str, &str)], answered: Option<u64>) -> Vec<Dedup> {
        let mut overlap = Overlap::default();
        overlap.opened(true, answered, None);
        events
            .iter()
            .map(|(id, data)| classify(&mut overlap, id, data))
            .collect()
    }

    #[test]
    fn one_block_of_duplicates_per_connection() {
        let replay = [("5-0", "a"), ("5-0", "a"), ("6-0", "b"), ("6-0", "b")];
        // The block may begin inside a millisecond; after the block, identical events are new.
        for (from, expected) in [(0, [Duplicate; 4].as_slice()), (1, &[Duplicate; 3])] {
            let mut all = replay.to_vec();
            all.extend(&replay[from..]);
            all.extend([("6-0", "b"), ("7-0", "c"), ("7-0", "c")]);
            let results = results(&all, None);
            assert_eq!(results[4..4 + expected.len()], *expected);
            assert!(
                results[4 + expected.len()..].iter().all(|s| *s == New),
                "{results:?}"
            );
        }
    }

    #[test]
    fn unstored_events_inside_the_block_are_new() {
        let results = results(
            &[
                ("5-0", "a"),
                ("6-0", "b"),
                ("7-0", "c"),
                ("5-0", "a"),
                ("6-0", "!"),
                ("6-0", "b"),
                ("7-0", "c"),
            ],
            None,
        );
        assert_eq!(
            results,
            [New, New, New, Duplicate, New, Duplicate, Duplicate]
        );
    }

    #[test]
    fn identical_events_are_ambiguous_only_near_the_connection_start() {
        assert_eq!(
            results(&[("5-0", "a"), ("5-0", "a")], Some(1_000)),
            [New, Ambiguous]
        );
        assert_eq!(
            results(&[("5-0", "a"), ("5-0", "b")], Some(1_000)),
            [New, New]
        );
        assert_eq!(
            results(&[("9000-0", "a"), ("9000-0", "a")], Some(1_000)),
            [New, New]
        );
        assert_eq!(
            results(&[("5", "a"), ("5", "a")], Some(1_000)),
            [New, Duplicate]
        );
        let mut known_before = Overlap::default();
        known_before.opened(true, Some(1_000), Some(IdKey { major: 5, minor: 0 }));
        assert_eq!(
            [
                classify(&mut known_before, "5-0", "a"),
                classify(&mut known_before, "5-0", "a")
            ],
            [New, New]
        );
        let mut live = Overlap::default();
        live.opened(false, Some(1_000), None);
        assert_eq!(
            [
                classify(&mut live, "5-0", "a"),
                classify(&mut live, "5-0", "a")
            ],
            [New, New]
        );
    }

    #[test]
    fn lookup_cost_does_not_depend_on_the_ids() {
        const EVENTS: u64 = 300_000;
        let compared = |event: &dyn Fn(u64) -> (String, String)| {
            let before = COMPARED.get();
            let mut overlap = Overlap::default();
            overlap.opened(true, None, None);
            for i in 0..EVENTS {
                let (id, data) = event(i);
                classify(&mut overlap, &id, &data);
            }
            (COMPARED.get() - before) / EVENTS
        };
        assert_eq!(
            compared(&|i| (format!("{i}-0"), "1".into())),
            0,
            "ascending ids"
        );
        assert_eq!(compared(&|i| ("5-0".into(), i.to_string())), 0, "one id");
        // A binary search over all remembered positions takes 17 steps.
        assert!(
            compared(&|_| ("5-0".into(), "1".into())) <= 20,
            "one repeated event"
        );
        assert!(
            compared(&|i| (format!("{}-0", i % 2), (i / 3).to_string())) <= 20,
            "alternating ids"
        );
    }

    #[test]
    fn evicted_events_are_recognized_by_id() {
        let mut overlap = Overlap::default();
        overlap.opened(true, Some(1_000), None);
        let n = REMEMBERED + 10;
        for i in 0..n {
            assert_eq!(classify(&mut overlap, &format!("{i}-0"), "1"), New);
        }
        assert_eq!(overlap.seen.len(), REMEMBERED);
        assert_eq!(classify(&mut overlap, "9-0", "1"), ProbablyDuplicate);
        assert_eq!(classify(&mut overlap, "10-0", "1"), Duplicate);
    }
}
