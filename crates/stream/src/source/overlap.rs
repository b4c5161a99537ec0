//! What a connection that replays says twice. The Python server subscribes first, then replays a store that goes on
//! growing, then delivers its queue: everything published between the subscription and the end of the replay comes a
//! second time, as one block, in the same order, once on a connection, after newer ids.

use crate::source::resume::key;
use crate::sse::decode::Decoded;
use foldhash::fast::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

/// Events that are remembered of a connection; a block that reaches back further is known by its ids alone.
const REMEMBERED: usize = 1 << 17;
/// How far, in milliseconds, the head of an answer and the server's subscription may lie apart: before, after.
const WHEN: (u64, u64) = (1_000, 5_000);

/// Whether an event repeats one of its own connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is the first of its kind.
    Once,
    /// It repeats one that came before.
    Again,
    /// It repeats one, as far as ids can tell: further back than anything remembered.
    AgainPerhaps,
    /// It equals one of the same millisecond, in which the repetition may begin: nothing in this connection can tell.
    Unsure,
}

/// The places of one print, ascending. Nearly always there is one.
#[derive(Debug)]
enum Places {
    One(u64),
    Many(VecDeque<u64>),
}

impl Places {
    /// The first place from `from` on.
    fn first(&self, from: u64) -> Option<u64> {
        let is_before = |place: &u64| {
            #[cfg(test)]
            tests::COMPARED.with(|compared| compared.set(compared.get() + 1));
            *place < from
        };
        match self {
            Places::One(place) => Some(*place).filter(|place| !is_before(place)),
            Places::Many(places) => places.get(places.partition_point(is_before)).copied(),
        }
    }

    fn push(&mut self, place: u64) {
        match self {
            Places::One(first) => *self = Places::Many([*first, place].into()),
            Places::Many(places) => places.push_back(place),
        }
    }

    /// Lets the first place go. Returns whether none is left.
    fn pop(&mut self) -> bool {
        match self {
            Places::One(_) => true,
            Places::Many(places) => {
                places.pop_front();
                places.is_empty()
            }
        }
    }
}

/// What came on one connection, as long as a repetition may come.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    hasher: RandomState,
    /// The newest id, and its place in the order.
    newest: Option<(Arc<str>, (u64, u64))>,
    is_possible: bool,
    said: VecDeque<((u64, u64), u64)>,
    /// The places of each print, counted from the first event of the connection. Many thousand events may share an id, and
    /// searching all of them for each one would take quadratic time.
    places: HashMap<u64, Places, RandomState>,
    /// How many were let go at the front, and the newest id among them.
    dropped: u64,
    forgotten: Option<(u64, u64)>,
    /// The block has begun: where in `said` its next event is looked for.
    next: Option<usize>,
    /// What stands behind newer ids, where the server's clock went back; such events are as many times in the block.
    late: HashMap<((u64, u64), u64), u32>,
    /// The server's clock when it answered, in milliseconds.
    answered: Option<u64>,
    /// Ids up to here were there before the connection was: they cannot be where the repetition begins.
    settled: Option<(u64, u64)>,
}

impl Overlap {
    /// A new connection. Only one that was asked for the past repeats anything.
    pub fn opened(&mut self, replays: bool, answered: Option<u64>, settled: Option<(u64, u64)>) {
        *self = Overlap { is_possible: replays, answered, settled, ..Overlap::default() };
    }

    /// Decides about an event, and remembers it.
    pub fn say(&mut self, event: &Decoded) -> Said {
        let Some(id) = event.id.as_ref().filter(|_| self.is_possible) else { return Said::Once };
        let Some(at) = self.place_of(id) else { return Said::Once };
        let print = self.print_of(event);
        let newest = self.said.back().map(|(key, _)| *key);
        if let Some(next) = self.next {
            return self.inside(next, at, print);
        }
        match newest {
            Some(newest) if at < newest => match self.find(0, at, print) {
                Some(i) => self.begin(i),
                None if self.forgotten.is_some_and(|f| at <= f) => Said::AgainPerhaps,
                None => self.late(at, print),
            },
            Some(newest) if at == newest => match self.find(0, at, print) {
                // Where each event has an id of its own, this is the same event.
                Some(i) if !id.contains('-') || at.1 != 0 => self.begin(i),
                Some(_) if self.may_begin(at) => Said::Unsure,
                _ => self.remember(at, print),
            },
            _ => self.remember(at, print),
        }
    }

    fn place_of(&mut self, id: &Arc<str>) -> Option<(u64, u64)> {
        if let Some((_, place)) = self.newest.as_ref().filter(|(newest, _)| Arc::ptr_eq(newest, id)) {
            return Some(*place);
        }
        let place = key(id)?;
        self.newest = Some((id.clone(), place));
        Some(place)
    }

    /// Takes an event about which it was unsure for the begin of the repetition, or for a new one.
    pub fn presume(&mut self, event: &Decoded, again: bool) {
        let Some(at) = event.id.as_deref().and_then(key) else { return };
        let print = self.print_of(event);
        match self.find(0, at, print) {
            Some(i) if again => self.begin(i),
            _ => self.remember(at, print),
        };
    }

    fn begin(&mut self, i: usize) -> Said {
        self.next = Some(i + 1);
        self.end_if_done();
        Said::Again
    }

    /// In the block. What it does not repeat was never stored; it stands where it came.
    fn inside(&mut self, next: usize, at: (u64, u64), print: u64) -> Said {
        if self.said.back().is_none_or(|(newest, _)| at > *newest) {
            self.end();
            return Said::Once;
        }
        match self.find(next, at, print) {
            Some(i) => self.begin(i),
            None => match self.late.get_mut(&(at, print)) {
                Some(times) => {
                    *times -= 1;
                    if *times == 0 {
                        self.late.remove(&(at, print));
                    }
                    self.end_if_done();
                    Said::Again
                }
                None => Said::Once,
            },
        }
    }

    /// Behind newer ids, and no block has begun that anything tells of.
    fn late(&mut self, at: (u64, u64), print: u64) -> Said {
        if self.late.len() >= REMEMBERED {
            return Said::Once;
        }
        let times = self.late.entry((at, print)).or_insert(0);
        // The block may begin here; else it is like another in all.
        let said = if *times == 0 { Said::Once } else { Said::AgainPerhaps };
        if said == Said::Once {
            *times += 1;
        }
        said
    }

    /// The block ends with the last event of the replay, and there is only one.
    fn end_if_done(&mut self) {
        if self.next.is_some_and(|next| next >= self.said.len()) && self.late.is_empty() {
            self.end();
        }
    }

    fn end(&mut self) {
        *self = Overlap::default();
    }

    /// The first event from `from` on that equals this one.
    fn find(&self, from: usize, at: (u64, u64), print: u64) -> Option<usize> {
        let place = self.places.get(&print)?.first(self.dropped + from as u64)?;
        let i = usize::try_from(place - self.dropped).ok()?;
        self.said.get(i).is_some_and(|(key, _)| *key == at).then_some(i)
    }

    /// Whether the repetition may begin in this millisecond: only around the moment when the connection was made.
    fn may_begin(&self, at: (u64, u64)) -> bool {
        // Where the clock went back, an id of before is no sign of an event of before.
        (!self.late.is_empty() || self.settled.is_none_or(|settled| at > settled))
            && self.answered.is_some_and(|t| (t.saturating_sub(WHEN.0)..=t.saturating_add(WHEN.1)).contains(&at.0))
    }

    fn remember(&mut self, at: (u64, u64), print: u64) -> Said {
        let place = self.dropped + self.said.len() as u64;
        self.places.entry(print).and_modify(|places| places.push(place)).or_insert(Places::One(place));
        self.said.push_back((at, print));
        if self.said.len() > REMEMBERED
            && let Some((key, print)) = self.said.pop_front()
        {
            self.forgotten = Some(key);
            self.dropped += 1;
            if self.places.get_mut(&print).is_some_and(Places::pop) {
                self.places.remove(&print);
            }
        }
        Said::Once
    }

    /// Stands for all that makes an event equal to another.
    fn print_of(&self, event: &Decoded) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        (&event.name, &event.ns, &event.id, event.data.text()).hash(&mut hasher);
        if let crate::Data::TooLarge { size, .. } = &event.data {
            size.hash(&mut hasher);
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;
    use Said::*;
    use std::cell::Cell;

    thread_local! {
        /// Places that were compared in a search.
        pub(crate) static COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    fn say(overlap: &mut Overlap, id: &str, data: &str) -> Said {
        let data = Data::Json(data.into());
        overlap.say(&Decoded { name: "custom".into(), ns: [].into(), id: Some(id.into()), data })
    }

    fn said(events: &[(&str, &str)], answered: Option<u64>) -> Vec<Said> {
        let mut overlap = Overlap::default();
        overlap.opened(true, answered, None);
        events.iter().map(|(id, data)| say(&mut overlap, id, data)).collect()
    }

    #[test]
    fn one_block_once() {
        let replay = [("5-0", "a"), ("5-0", "a"), ("6-0", "b"), ("6-0", "b")];
        // It may begin inside a millisecond; behind it, what is alike is new.
        for (from, expected) in [(0, [Again; 4].as_slice()), (1, &[Again; 3])] {
            let mut all = replay.to_vec();
            all.extend(&replay[from..]);
            all.extend([("6-0", "b"), ("7-0", "c"), ("7-0", "c")]);
            let said = said(&all, None);
            assert_eq!(said[4..4 + expected.len()], *expected);
            assert!(said[4 + expected.len()..].iter().all(|s| *s == Once), "{said:?}");
        }
    }

    #[test]
    fn what_was_not_stored_stands_in_the_middle() {
        let said = said(
            &[("5-0", "a"), ("6-0", "b"), ("7-0", "c"), ("5-0", "a"), ("6-0", "!"), ("6-0", "b"), ("7-0", "c")],
            None,
        );
        assert_eq!(said, [Once, Once, Once, Again, Once, Again, Again]);
    }

    #[test]
    fn within_a_millisecond_it_is_unsure_only_around_the_beginning() {
        assert_eq!(said(&[("5-0", "a"), ("5-0", "a")], Some(1_000)), [Once, Unsure]);
        assert_eq!(said(&[("5-0", "a"), ("5-0", "b")], Some(1_000)), [Once, Once]);
        assert_eq!(said(&[("9000-0", "a"), ("9000-0", "a")], Some(1_000)), [Once, Once]);
        assert_eq!(said(&[("5", "a"), ("5", "a")], Some(1_000)), [Once, Again]);
        let mut settled = Overlap::default();
        settled.opened(true, Some(1_000), Some((5, 0)));
        assert_eq!([say(&mut settled, "5-0", "a"), say(&mut settled, "5-0", "a")], [Once, Once]);
        let mut live = Overlap::default();
        live.opened(false, Some(1_000), None);
        assert_eq!([say(&mut live, "5-0", "a"), say(&mut live, "5-0", "a")], [Once, Once]);
    }

    #[test]
    fn the_cost_of_an_event_is_the_same_under_any_ids() {
        const EVENTS: u64 = 300_000;
        let compared = |event: &dyn Fn(u64) -> (String, String)| {
            let before = COMPARED.get();
            let mut overlap = Overlap::default();
            overlap.opened(true, None, None);
            for i in 0..EVENTS {
                let (id, data) = event(i);
                say(&mut overlap, &id, &data);
            }
            (COMPARED.get() - before) / EVENTS
        };
        assert_eq!(compared(&|i| (format!("{i}-0"), "1".into())), 0, "ids that ascend");
        assert_eq!(compared(&|i| ("5-0".into(), i.to_string())), 0, "one id");
        // A search in as many places as are remembered takes 17 steps.
        assert!(compared(&|_| ("5-0".into(), "1".into())) <= 20, "one event again and again");
        assert!(compared(&|i| (format!("{}-0", i % 2), (i / 3).to_string())) <= 20, "ids that go back and forth");
    }

    #[test]
    fn what_is_too_long_to_remember_is_known_by_its_ids() {
        let mut overlap = Overlap::default();
        overlap.opened(true, Some(1_000), None);
        let n = REMEMBERED + 10;
        for i in 0..n {
            assert_eq!(say(&mut overlap, &format!("{i}-0"), "1"), Once);
        }
        assert_eq!(overlap.said.len(), REMEMBERED);
        assert_eq!(say(&mut overlap, "9-0", "1"), AgainPerhaps);
        assert_eq!(say(&mut overlap, "10-0", "1"), Again);
    }
}
