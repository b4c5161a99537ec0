//! From where a lost connection is taken up again, and which of the events that then come are repetitions.
//!
//! Ids are not unique: the Python server gives one id to all events of a millisecond and replays what is strictly
//! greater. So the resume point is the last id *before* the newest one, and what was received after that point is
//! expected again: such events are let pass by (name, id, data), as often as they were received, and never by id alone.

use crate::Data;
use crate::source::overlap::{Overlap, Said};
use crate::source::sequence_ids::SequenceTracker;
use crate::sse::decode::Decoded;
use crate::sse::interner::Namespace;
use crate::transport::link::Link;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Events that are remembered at least, so that one that arrives late still finds its place.
const WINDOW: usize = 64;
/// Events remembered with their data; of older ones (all under one id) a hash is enough.
const WHOLE: usize = 256;
/// Bytes of the data of one that is remembered with it: what a tape let go must not be kept here.
const MAX_WHOLE: usize = 64 << 10;
/// Events without an id that are remembered behind the last one with an id.
const MAX_WITHOUT_ID: usize = 4096;

/// Events that are remembered at most while older ones may still come.
const MAX_BEHIND: usize = 1 << 17;

/// How often in a row a connection is given up because it cannot tell a repetition from an event that is like another.
const MAX_UNSURE: u32 = 5;

/// Events that servers send live but never store, so that their absence from a replay says nothing.
const NEVER_REPLAYED: [&str; 3] = ["error", "end", "state_update"];

/// An event that was received.
#[derive(Debug, Clone)]
struct Seen {
    name: Arc<str>,
    ns: Namespace,
    id: Option<Arc<str>>,
    data: Print,
}

#[derive(Debug, Clone)]
enum Print {
    Whole(Data),
    Hash(u64),
}

impl Seen {
    fn is(&self, event: &Decoded) -> bool {
        let same = match &self.data {
            Print::Whole(data) => *data == event.data,
            Print::Hash(hash) => *hash == hash_of(&event.data),
        };
        same && self.id == event.id && self.name == event.name && self.ns == event.ns
    }

    fn is_stored(&self) -> bool {
        !NEVER_REPLAYED.contains(&&*self.name)
    }
}

fn hash_of(data: &Data) -> u64 {
    let mut hasher = DefaultHasher::new();
    data.text().hash(&mut hasher);
    if let Data::TooLarge { size, .. } = data {
        size.hash(&mut hasher);
    }
    hasher.finish()
}

/// What to do with an event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admit {
    /// It goes onto the tape.
    New,
    /// It goes onto the tape, and something before it may be missing: the server repeated nothing of what it was to.
    NewAfterGap,
    /// It goes onto the tape, and so many before it are missing, by how the server counts.
    NewAfterHole(u64),
    /// It is on the tape already.
    Repeated,
    /// It may be either, and only another connection can tell: take the stream up again.
    Unsure,
}

/// Where to take a stream up again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResumePoint {
    /// The id to ask for.
    pub after: Option<String>,
    /// Why the server cannot give everything that is missing, where it cannot.
    pub lack: Option<&'static str>,
}

const NO_IDS: &str = "the server gives no ids to resume by";
const NOTHING_YET: &str = "no event had come yet";
const WENT_BACK: &str = "the server's ids went back further than is remembered";

/// The tail of what was received.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    seen: VecDeque<Seen>,
    /// The last index in `seen` whose id differs from the newest id.
    anchor: Option<usize>,
    newest: Option<Arc<str>>,
    any_event: bool,
    expected: VecDeque<Seen>,
    /// The distinct ids of what was expected when the connection was lost.
    expected_ids: Vec<Arc<str>>,
    expected_stored: bool,
    repeated_any: bool,
    /// What came first may have come in the middle of its millisecond: what is repeated then begins with new events.
    began_inside: bool,
    /// Nothing had come, and it is asked for again; all of it, or only what comes after an id.
    hopes: Option<bool>,
    first_event: Option<&'static str>,
    overlap: Overlap,
    numbers: SequenceTracker,
    /// The newest id of all.
    top: Option<(u64, u64)>,
    /// The newest id of those that are remembered no more.
    forgotten: Option<Arc<str>>,
    /// Other modes were chosen, and no connection has asked for them yet.
    modes_changed: bool,
    /// What the first connection with other modes asked for, and the newest id then: until it comes that far, what the
    /// other modes add stands before what is known, and tells nothing of how far the server got.
    behind: Option<(String, (u64, u64))>,
    /// How often in a row it was unsure, about what, and whether that was new in the end.
    unsure: u32,
    doubted: Option<Decoded>,
    has_twins: bool,
    guessed: bool,
    /// What is to be said of the last decision.
    doubt: Option<&'static str>,
}

impl Tail {
    /// A connection is open, that was asked for what comes after an id or for nothing of the past; `answered` is the
    /// server's clock in milliseconds.
    pub fn opened(&mut self, after: Option<&str>, answered: Option<u64>) {
        // Where the server's clock went back, the newest id is no sign of what was there.
        let newest = self.newest.as_deref().and_then(key);
        self.overlap.opened(after.is_some(), answered, newest.map_or(self.top, |newest| self.top.min(Some(newest))));
        self.guessed = false;
    }

    /// Something other than doubt ended a connection.
    pub fn moved_on(&mut self) {
        self.unsure = 0;
    }

    /// The next connection asks for other modes.
    pub fn modes_changed(&mut self) {
        self.modes_changed = true;
    }

    /// What has to be said of the last decision, once.
    pub fn doubt(&mut self) -> Option<&'static str> {
        self.doubt.take()
    }

    /// Decides about an event, and remembers it if it is new.
    pub fn admit(&mut self, event: &Decoded) -> Admit {
        let at = || event.id.as_deref().and_then(key);
        if self.behind.as_ref().is_some_and(|(_, top)| at() > Some(*top)) || self.seen.len() > MAX_BEHIND {
            self.behind = None;
        }
        match self.overlap.say(event) {
            Said::Once => {}
            Said::Again => return Admit::Repeated,
            Said::AgainPerhaps => {
                self.say("the server repeated more than is remembered, so new events among it may have been let pass");
                return Admit::Repeated;
            }
            Said::Unsure if self.unsure < MAX_UNSURE => {
                self.unsure += 1;
                self.doubted = Some(event.clone());
                return Admit::Unsure;
            }
            Said::Unsure => {
                self.say("events are alike in all, and whether the server repeated some cannot be told");
                self.overlap.presume(event, !self.has_twins);
                if !self.has_twins {
                    return Admit::Repeated;
                }
            }
        }
        let admit = self.expect(event);
        if admit != Admit::Repeated && self.doubted.as_ref() == Some(event) {
            self.has_twins = true;
        }
        admit
    }

    fn say(&mut self, doubt: &'static str) {
        if !self.guessed {
            self.guessed = true;
            self.doubt = Some(doubt);
        }
    }

    /// Whether it is one of those that a resumed connection has to repeat.
    fn expect(&mut self, event: &Decoded) -> Admit {
        let hopes = self.hopes.take();
        let mut gap = hopes.is_some_and(|all| {
            event.id.is_none() || all && self.first_event.is_some_and(|first| first != &*event.name)
        });
        if !self.expected.is_empty() {
            if let Some(i) = self.expected.iter().position(|e| e.is(event)) {
                self.expected.remove(i);
                self.repeated_any = true;
                // A repeated event fills its place in the count.
                event.id.as_deref().map(|id| self.numbers.missing(id));
                return Admit::Repeated;
            }
            // What is new comes behind all that is repeated: the server does not have that any more.
            let id = event.id.as_ref().filter(|_| !NEVER_REPLAYED.contains(&&*event.name));
            gap |= id.is_some() && self.behind.is_none() && !self.began_inside && self.is_unanswered();
            self.repeated_any |= gap;
            // Past the ids that can be repeated nothing is expected any more.
            if event.id.as_ref().is_some_and(|id| self.is_past(id)) {
                gap |= self.is_unanswered();
                self.expected.clear();
            }
        }
        self.remember(event);
        let missing = event.id.as_deref().map_or(0, |id| self.numbers.missing(id));
        match missing {
            _ if gap => Admit::NewAfterGap,
            0 => Admit::New,
            missing => Admit::NewAfterHole(missing),
        }
    }

    /// Whether an id lies beyond everything that can be repeated.
    fn is_past(&self, id: &Arc<str>) -> bool {
        let last = self.expected_ids.iter().map(|e| key(e)).max().flatten();
        match (key(id), last) {
            (Some(id), Some(last)) => id > last,
            _ => !self.expected_ids.contains(id),
        }
    }

    /// Whether the server has repeated nothing yet of what it was asked to repeat.
    pub fn is_unanswered(&self) -> bool {
        self.hopes == Some(true) && self.first_event.is_some()
            || !self.expected.is_empty() && self.expected_stored && !self.repeated_any
    }

    /// Whether nothing is expected again by which to see that the server kept what it sent.
    pub fn is_unproven(&self) -> bool {
        self.any_event && !self.expected_stored
    }

    /// Whether ids came at all: without them a stream cannot be taken up again.
    pub fn has_ids(&self) -> bool {
        self.newest.is_some()
    }

    /// Whether the stream can be taken up again: by ids, or from the start while nothing has come.
    pub fn can_go_on(&self, past: Option<&str>) -> bool {
        self.has_ids() || !self.any_event && past.is_some()
    }

    /// The connection is lost: from where to go on. `first_after` is what the first connection asked for; `everything`
    /// is the id that asks for all there is, where all there is belongs to this tape.
    pub fn resume_point(&mut self, first_after: Option<&str>, everything: Option<&str>) -> ResumePoint {
        self.expected.clear();
        (self.repeated_any, self.began_inside, self.hopes) = (false, false, None);
        if let Some((after, _)) = self.behind.clone() {
            return self.resume_after(after);
        }
        let before = first_after.or(everything);
        let Some(newest) = self.seen.iter().rev().find(|e| e.id.is_some() && e.is_stored()).and_then(|e| e.id.clone())
        else {
            if self.any_event && !self.has_ids() {
                return ResumePoint { after: None, lack: Some(NO_IDS) };
            }
            let after = self.newest.as_deref().or(before).map(str::to_string);
            let hopes = after.as_deref().filter(|_| !self.any_event);
            self.hopes = hopes.map(|after| matches!(after, "-1" | "-" | "0" | "0-0"));
            return ResumePoint { lack: after.is_none().then_some(NOTHING_YET), after };
        };
        let newest_key = key(&newest);
        let earlier = |e: &&Seen| match (&e.id, newest_key) {
            (Some(id), Some(newest)) => key(id).is_some_and(|k| k < newest),
            _ => false,
        };
        let other = |e: &&Seen| e.id.as_ref().is_some_and(|id| *id != newest);
        // In order of the ids where they have one, so that an event that came late doesn't lead astray; else by position.
        // Never before what is forgotten: it could not be told from new events.
        let earlier = self.seen.iter().rev().find(earlier).and_then(|e| e.id.clone());
        let floor = self.forgotten.clone().filter(|id| key(id).is_some());
        if let Some(id) = earlier.into_iter().chain(floor).max_by_key(|id| key(id)) {
            let lack = (key(&id) >= newest_key).then_some(WENT_BACK);
            return ResumePoint { lack, ..self.resume_after(id.to_string()) };
        }
        if let Some(i) = self.seen.iter().rposition(|e| other(&e)) {
            self.expected = self.seen.range(i + 1..).cloned().collect();
            let id = self.seen[i].id.as_deref().unwrap_or_default().to_string();
            return self.point(id);
        }
        // All share one id.
        match before.map(str::to_string).or_else(|| predecessor(&newest)) {
            Some(after) => {
                self.began_inside = before.is_none();
                self.expected = self.seen.clone();
                self.point(after)
            }
            None => ResumePoint { after: Some(newest.to_string()), lack: None },
        }
    }

    /// To go on after an id that is in an order.
    fn resume_after(&mut self, after: String) -> ResumePoint {
        let point = key(&after);
        let beyond = |e: &&Seen| e.id.as_deref().is_none_or(|id| key(id) > point);
        let last = self.seen.iter().rposition(|e| e.id.as_deref() == Some(&after)).unwrap_or(0);
        let expected = self.seen.iter().enumerate();
        let expected = expected.filter(|(i, e)| beyond(e) && (e.id.is_some() || *i > last)).map(|(_, e)| e.clone());
        self.expected = expected.collect();
        self.point(after)
    }

    /// The next connection asks for what comes after an id. Of what is expected again, only names that it is asked for
    /// have to come.
    pub fn ask_for(&mut self, after: Option<&str>, link: &impl Link) {
        self.numbers.asked_for(link.capabilities().gives_all, link.numbering().map(|numbering| numbering.first));
        self.first_event = link.capabilities().first_event;
        if std::mem::take(&mut self.modes_changed) && self.behind.is_none() {
            self.behind = after.map(str::to_string).zip(self.top);
        }
        self.expected_stored = self.expected.iter().any(|e| e.id.is_some() && e.is_stored() && link.gives(&e.name));
    }

    fn point(&mut self, after: String) -> ResumePoint {
        self.expected_ids.clear();
        for id in self.expected.iter().filter_map(|e| e.id.as_ref()) {
            if self.expected_ids.last() != Some(id) {
                self.expected_ids.push(id.clone());
            }
        }
        self.expected_stored = self.expected.iter().any(|e| e.id.is_some() && e.is_stored());
        ResumePoint { after: Some(after), lack: None }
    }

    fn remember(&mut self, event: &Decoded) {
        self.any_event = true;
        match &event.id {
            Some(id) if self.newest.as_ref() != Some(id) => {
                self.top = self.top.max(key(id));
                self.anchor = self.seen.iter().rposition(|e| e.id.is_some());
                self.newest = Some(id.clone());
            }
            Some(_) => {}
            None if self.newest.is_none() || self.seen.len() > MAX_WITHOUT_ID => return,
            None => {}
        }
        let Decoded { name, ns, id, data } = event.clone();
        let data = if data.text().len() > MAX_WHOLE { Print::Hash(hash_of(&data)) } else { Print::Whole(data) };
        self.seen.push_back(Seen { name, ns, id, data });
        while self.behind.is_none() && self.seen.len() > WINDOW && self.anchor.is_some_and(|a| a > 0) {
            let gone = self.seen.pop_front().and_then(|e| e.id);
            self.forgotten = self.forgotten.take().into_iter().chain(gone).max_by_key(|id| key(id));
            self.anchor = self.anchor.map(|a| a - 1);
        }
        if self.seen.len() > WHOLE {
            let i = self.seen.len() - 1 - WHOLE;
            if let Print::Whole(data) = &self.seen[i].data {
                self.seen[i].data = Print::Hash(hash_of(data));
            }
        }
    }
}

/// The place of an id in an order, where it has the form `<number>` or `<number>-<number>`.
pub fn key(id: &str) -> Option<(u64, u64)> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    match id.split_once('-') {
        Some((ms, n)) => Some((number(ms)?, number(n)?)),
        None => Some((number(id)?, 0)),
    }
}

/// The id just before this one, where ids are numbers.
fn predecessor(id: &str) -> Option<String> {
    let (first, _) = key(id)?;
    match id.contains('-') {
        true => Some(format!("{}-0", first.checked_sub(1)?)),
        // Before the first event of a run comes the id that asks for all of it.
        false => Some(first.checked_sub(1).map_or("-1".into(), |n| n.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, data: &str) -> Decoded {
        let data = Data::Json(data.into());
        Decoded { name: "values".into(), ns: [].into(), id: id.map(Into::into), data }
    }

    fn tail(events: &[(Option<&str>, &str)]) -> Tail {
        let mut tail = Tail::default();
        for (id, data) in events {
            assert_eq!(tail.admit(&event(*id, data)), Admit::New);
        }
        tail
    }

    fn after(tail: &mut Tail) -> Option<String> {
        tail.resume_point(None, Some("-1")).after
    }

    #[test]
    fn resumes_before_the_newest_id_and_counts_what_comes_again() {
        let mut tail = tail(&[(Some("1-0"), "1"), (Some("2-0"), "2"), (Some("3-0"), "3"), (Some("3-0"), "3")]);
        assert_eq!(after(&mut tail).as_deref(), Some("2-0"));
        let same = event(Some("3-0"), "3");
        assert_eq!(tail.admit(&same), Admit::Repeated);
        assert_eq!(tail.admit(&same), Admit::Repeated);
        // A third one that is equal in all was never received.
        assert_eq!(tail.admit(&same), Admit::New);
        assert_eq!(tail.admit(&event(Some("4-0"), "4")), Admit::New);
        assert_eq!(after(&mut tail).as_deref(), Some("3-0"));
    }

    #[test]
    fn one_id_only_replays_everything_or_from_the_number_before() {
        let mut tail = tail(&[(Some("5-0"), "1"), (Some("5-0"), "2")]);
        assert_eq!(after(&mut tail).as_deref(), Some("-1"));
        assert_eq!(tail.resume_point(None, None).after.as_deref(), Some("4-0"));
        assert_eq!(tail.resume_point(Some("-"), None).after.as_deref(), Some("-"));
        assert_eq!(tail.admit(&event(Some("5-0"), "1")), Admit::Repeated);
        assert_eq!(predecessor("0").as_deref(), Some("-1"));
        assert_eq!(predecessor("run_event_4"), None);
    }

    #[test]
    fn without_ids_nothing_can_be_asked_for() {
        let mut some = tail(&[(None, "1")]);
        assert_eq!(some.resume_point(None, Some("-1")), ResumePoint { after: None, lack: Some(NO_IDS) });
        let mut none = Tail::default();
        assert_eq!(none.resume_point(None, Some("-1")), ResumePoint { after: Some("-1".into()), lack: None });
        assert_eq!(none.resume_point(None, None), ResumePoint { after: None, lack: Some(NOTHING_YET) });
    }

    #[test]
    fn a_server_that_repeats_nothing_leaves_a_gap() {
        let mut tail = tail(&[(Some("1"), "1"), (Some("2"), "2")]);
        assert_eq!(after(&mut tail).as_deref(), Some("1"));
        assert!(tail.is_unanswered());
        assert_eq!(tail.admit(&event(Some("9"), "9")), Admit::NewAfterGap);
        assert!(!tail.is_unanswered());
        assert_eq!(tail.admit(&event(Some("10"), "9")), Admit::New);
    }

    #[test]
    fn a_server_that_kept_only_the_end_of_a_millisecond_leaves_a_gap() {
        let mut tail = tail(&[(Some("1-0"), "1"), (Some("2-0"), "2")]);
        assert_eq!(after(&mut tail).as_deref(), Some("1-0"));
        assert_eq!(tail.admit(&event(Some("2-0"), "5")), Admit::NewAfterGap);
        assert_eq!(tail.admit(&event(Some("2-0"), "6")), Admit::New);
        assert_eq!(tail.admit(&event(Some("3-0"), "7")), Admit::New);
    }

    #[test]
    fn a_late_event_does_not_lead_astray() {
        let mut tail = tail(&[(Some("5-0"), "a"), (Some("7-0"), "b"), (Some("6-0"), "c")]);
        assert_eq!(after(&mut tail).as_deref(), Some("5-0"));
        assert_eq!(tail.admit(&event(Some("6-0"), "c")), Admit::Repeated);
        assert_eq!(tail.admit(&event(Some("6-0"), "d")), Admit::New);
        assert_eq!(tail.admit(&event(Some("7-0"), "b")), Admit::Repeated);
    }

    #[test]
    fn large_events_are_known_again_without_being_kept() {
        let (one, other) = ("1".repeat(MAX_WHOLE + 1), "2".repeat(MAX_WHOLE + 1));
        let mut tail = tail(&[(Some("1-0"), "0"), (Some("2-0"), &one), (Some("3-0"), &other)]);
        assert_eq!(tail.seen.iter().filter(|e| matches!(e.data, Print::Whole(_))).count(), 1);
        assert_eq!(after(&mut tail).as_deref(), Some("2-0"));
        assert_eq!(tail.admit(&event(Some("3-0"), &other)), Admit::Repeated);
        assert_eq!(tail.admit(&event(Some("3-0"), &one)), Admit::New);
    }

    #[test]
    fn memory_stays_small() {
        let mut tail = Tail::default();
        for i in 0..10_000 {
            tail.admit(&event(Some(&(i / 3).to_string()), "1"));
        }
        assert!(tail.seen.len() <= WINDOW + 1);
        let mut same = Tail::default();
        for i in 0..1000 {
            same.admit(&event(Some("1-0"), &i.to_string()));
        }
        assert_eq!(same.seen.iter().filter(|e| matches!(e.data, Print::Whole(_))).count(), WHOLE);
        assert_eq!(after(&mut same).as_deref(), Some("-1"));
        for i in 0..1000 {
            assert_eq!(same.admit(&event(Some("1-0"), &i.to_string())), Admit::Repeated);
        }
    }
}
