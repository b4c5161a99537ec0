//! Decides where to resume after a lost connection and which replayed events are duplicates.
//!
//! Ids are not unique: the Python server uses one id for all events of a millisecond and replays ids that are strictly
//! greater. So the resume point is the last id *before* the newest one, and events received after that point are
//! expected again: they are skipped by (name, id, data), each as many times as it was received, never by id alone.

use crate::source::id_key::{IdKey, is_start};
use crate::source::overlap::{Dedup, Overlap};
use crate::source::sequence_ids::SequenceTracker;
use crate::sse::decode::Decoded;
use crate::sse::interner::Namespace;
use crate::transport::connection::Transport;
use crate::{Data, hash_of};
use std::collections::VecDeque;
use std::sync::Arc;

/// Minimum number of remembered events, so that out-of-order events can still be placed.
const WINDOW: usize = 64;
/// Events remembered with their data. For older ones (all under one id) a hash is enough.
const FULL_DATA: usize = 256;
/// Maximum size of remembered data, in bytes. Data evicted from the event log must not be kept alive here.
const MAX_FULL_BYTES: usize = 64 << 10;
/// Maximum number of remembered events without an id after the last one with an id.
const MAX_WITHOUT_ID: usize = 4096;

/// Maximum number of remembered events during a backfill.
const MAX_BACKFILL: usize = 1 << 17;

/// Maximum number of consecutive reconnects because of an ambiguous event.
const MAX_AMBIGUOUS: u32 = 5;

/// Events that servers never store, so their absence from a replay means nothing.
const NEVER_REPLAYED: [&str; 3] = ["error", "end", "state_update"];

/// An event that was received.
#[derive(Debug, Clone)]
struct Seen {
    name: Arc<str>,
    ns: Namespace,
    id: Option<Arc<str>>,
    data: Fingerprint,
}

#[derive(Debug, Clone)]
enum Fingerprint {
    Full(Data),
    Hash(u64),
}

impl Seen {
    fn matches(&self, event: &Decoded) -> bool {
        let same = match &self.data {
            Fingerprint::Full(data) => *data == event.data,
            Fingerprint::Hash(hash) => *hash == hash_of(event.data.content()),
        };
        same && self.id == event.id && self.name == event.name && self.ns == event.ns
    }

    fn is_stored(&self) -> bool {
        !NEVER_REPLAYED.contains(&&*self.name)
    }
}

/// What to do with an event of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// A new event.
    New,
    /// A new event; events before it may be missing, because the server replayed none of the expected events.
    NewAfterGap,
    /// A new event, with this many missing before it according to the server's numbering.
    NewAfterMissing(u64),
    /// An event that is already in the log.
    Duplicate,
    /// New or a duplicate: only another connection can show which, so reconnect.
    Ambiguous,
}

/// The position from which to resume a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResumePoint {
    /// The id to resume after.
    pub after: Option<String>,
    /// Why the server can't replay everything that is missing, if so.
    pub missing_reason: Option<&'static str>,
}

const NO_IDS: &str = "the server sends no ids to resume from";
const NOTHING_YET: &str = "no event was received yet";
const WENT_BACK: &str = "the server's ids went back past the resume window";

/// The most recently received events, as far as resuming needs them.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    seen: VecDeque<Seen>,
    /// The last index in `seen` whose id differs from the newest id.
    anchor: Option<usize>,
    newest: Option<Arc<str>>,
    any_event: bool,
    expected: VecDeque<Seen>,
    /// The distinct ids of the events expected after the reconnect.
    expected_ids: Vec<Arc<str>>,
    expected_stored: bool,
    replayed_any: bool,
    /// Whether the first event may have arrived in the middle of its millisecond. The replay then starts with new
    /// events.
    began_mid_millisecond: bool,
    /// Set if no event was received before the reconnect: whether all events are requested, or only those after an id.
    expects_replay: Option<bool>,
    first_event: Option<&'static str>,
    overlap: Overlap,
    sequence: SequenceTracker,
    /// The key of the highest id.
    highest: Option<IdKey>,
    /// The highest id of the forgotten events.
    forgotten: Option<Arc<str>>,
    /// Whether the modes changed since the last connection.
    modes_changed: bool,
    /// After a change of modes: the id that the first connection resumed after, and the highest key at that time. Until
    /// that key is reached, events of the added modes precede known events and don't show how far the server has replayed.
    backfill: Option<(String, IdKey)>,
    /// Consecutive ambiguous results, the last ambiguous event, and whether it turned out to be new.
    ambiguous_count: u32,
    ambiguous_event: Option<Decoded>,
    has_identical: bool,
    /// Whether the last ambiguous event was possible only if the server's clock went back. That is asked once.
    has_asked_known: bool,
    has_warned: bool,
    /// The warning about the last decision.
    warning: Option<&'static str>,
}

impl Tail {
    /// Starts a connection that resumes after an id, or replays nothing. `answered` is the server's clock in
    /// milliseconds.
    pub fn opened(&mut self, after: Option<&str>, answered: Option<u64>) {
        // If the server's clock went back, the newest id is not the highest.
        let newest = self.newest.as_deref().and_then(IdKey::of);
        self.overlap.opened(
            after.is_some(),
            answered,
            newest.map_or(self.highest, |newest| self.highest.min(Some(newest))),
        );
        if !self.has_asked_known {
            self.overlap.allow_known();
        }
        self.has_warned = false;
    }

    /// Resets the count of ambiguous results, after a close for another reason.
    pub fn reset_ambiguity(&mut self) {
        (self.ambiguous_count, self.has_asked_known) = (0, false);
    }

    /// Records that the next connection requests other modes.
    pub fn modes_changed(&mut self) {
        self.modes_changed = true;
    }

    /// Takes the warning about the last decision.
    pub fn warning(&mut self) -> Option<&'static str> {
        self.warning.take()
    }

    /// Classifies an event, and remembers it if it is new.
    pub fn admit(&mut self, event: &Decoded) -> Admission {
        let at = || event.id.as_deref().and_then(IdKey::of);
        if self
            .backfill
            .as_ref()
            .is_some_and(|(_, top)| at() > Some(*top))
            || self.seen.len() > MAX_BACKFILL
        {
            self.backfill = None;
        }
        match self.overlap.classify(event) {
            Dedup::New => {}
            Dedup::Duplicate => return Admission::Duplicate,
            Dedup::ProbablyDuplicate => {
                self.warn("the server replayed past the resume window, so new events may have been skipped");
                return Admission::Duplicate;
            }
            // All expected events precede the block.
            Dedup::Ambiguous if self.expected.iter().any(|expected| expected.matches(event)) => {
                self.overlap.resolve(event, false);
            }
            Dedup::Ambiguous if self.ambiguous_count < MAX_AMBIGUOUS => {
                self.ambiguous_count += 1;
                self.has_asked_known |= self.overlap.is_known(at());
                self.ambiguous_event = Some(event.clone());
                return Admission::Ambiguous;
            }
            Dedup::Ambiguous => {
                self.warn("the events are identical, so it is unknown whether some are duplicates");
                self.overlap.resolve(event, !self.has_identical);
                if !self.has_identical {
                    return Admission::Duplicate;
                }
            }
        }
        let admit = self.match_expected(event);
        if admit != Admission::Duplicate && self.ambiguous_event.as_ref() == Some(event) {
            self.has_identical = true;
        }
        admit
    }

    fn warn(&mut self, warning: &'static str) {
        if !self.has_warned {
            self.has_warned = true;
            self.warning = Some(warning);
        }
    }

    /// Matches an event against those that a resumed connection must replay.
    fn match_expected(&mut self, event: &Decoded) -> Admission {
        let expects_replay = self.expects_replay.take();
        let mut gap = expects_replay.is_some_and(|is_everything| {
            event.id.is_none()
                || is_everything && self.first_event.is_some_and(|first| first != &*event.name)
        });
        if !self.expected.is_empty() {
            if let Some(i) = self.expected.iter().position(|e| e.matches(event)) {
                self.expected.remove(i);
                self.replayed_any = true;
                // A duplicate advances the sequence too.
                event.id.as_deref().map(|id| self.sequence.missing(id));
                return Admission::Duplicate;
            }
            // New events follow all replayed ones, so the server no longer has the expected events.
            let id = event
                .id
                .as_ref()
                .filter(|_| !NEVER_REPLAYED.contains(&&*event.name));
            gap |= id.is_some()
                && self.backfill.is_none()
                && !self.began_mid_millisecond
                && self.is_replay_unproven();
            self.replayed_any |= gap;
            // After the last id that can be replayed, no event is expected any more.
            if event
                .id
                .as_ref()
                .is_some_and(|id| self.is_after_expected(id))
            {
                gap |= self.is_replay_unproven();
                self.expected.clear();
            }
        }
        self.remember(event);
        let missing = event
            .id
            .as_deref()
            .map_or(0, |id| self.sequence.missing(id));
        match missing {
            _ if gap => Admission::NewAfterGap,
            0 => Admission::New,
            missing => Admission::NewAfterMissing(missing),
        }
    }

    /// Returns whether an id is after all ids that can be replayed.
    fn is_after_expected(&self, id: &Arc<str>) -> bool {
        let last = self
            .expected_ids
            .iter()
            .map(|e| IdKey::of(e))
            .max()
            .flatten();
        match (IdKey::of(id), last) {
            (Some(id), Some(last)) => id > last,
            _ => !self.expected_ids.contains(id),
        }
    }

    /// Returns whether the server has not replayed any of the expected events yet.
    pub fn is_replay_unproven(&self) -> bool {
        self.expects_replay == Some(true) && self.first_event.is_some()
            || !self.expected.is_empty() && self.expected_stored && !self.replayed_any
    }

    /// Returns whether no event is expected whose replay would prove that the server kept its events.
    pub fn has_no_replay_proof(&self) -> bool {
        self.any_event && !self.expected_stored
    }

    /// Returns whether any event had an id. Without ids a stream cannot be resumed.
    pub fn has_ids(&self) -> bool {
        self.newest.is_some()
    }

    /// Returns whether the stream can be resumed: by id, or from `replay_start` while no event was received.
    pub fn can_resume(&self, replay_start: Option<&str>) -> bool {
        self.has_ids() || !self.any_event && replay_start.is_some()
    }

    /// Returns where to resume after a lost connection. `first_after` is the id that the first connection requested;
    /// `everything` is the id that requests all events, if all of them belong to this log.
    pub fn resume_point(
        &mut self,
        first_after: Option<&str>,
        everything: Option<&str>,
    ) -> ResumePoint {
        self.expected.clear();
        (
            self.replayed_any,
            self.began_mid_millisecond,
            self.expects_replay,
        ) = (false, false, None);
        if let Some((after, _)) = self.backfill.clone() {
            return self.resume_after(after);
        }
        let before = first_after.or(everything);
        let Some(newest) = self
            .seen
            .iter()
            .rev()
            .find(|e| e.id.is_some() && e.is_stored())
            .and_then(|e| e.id.clone())
        else {
            if self.any_event && !self.has_ids() {
                return ResumePoint {
                    after: None,
                    missing_reason: Some(NO_IDS),
                };
            }
            let after = self.newest.as_deref().or(before).map(str::to_string);
            let expects_replay = after.as_deref().filter(|_| !self.any_event);
            self.expects_replay = expects_replay.map(is_start);
            return ResumePoint {
                missing_reason: after.is_none().then_some(NOTHING_YET),
                after,
            };
        };
        let newest_key = IdKey::of(&newest);
        let earlier = |e: &&Seen| match (&e.id, newest_key) {
            (Some(id), Some(newest)) => IdKey::of(id).is_some_and(|k| k < newest),
            _ => false,
        };
        let other = |e: &&Seen| e.id.as_ref().is_some_and(|id| *id != newest);
        // If ids have an order, use it, so that an out-of-order event doesn't mislead; otherwise use the position. Never
        // resume before a forgotten event, because it would be taken for a new one.
        let earlier = self
            .seen
            .iter()
            .rev()
            .find(earlier)
            .and_then(|e| e.id.clone());
        let floor = self.forgotten.clone().filter(|id| IdKey::of(id).is_some());
        if let Some(id) = earlier
            .into_iter()
            .chain(floor)
            .max_by_key(|id| IdKey::of(id))
        {
            let missing_reason = (IdKey::of(&id) >= newest_key).then_some(WENT_BACK);
            return ResumePoint {
                missing_reason,
                ..self.resume_after(id.to_string())
            };
        }
        if let Some(i) = self.seen.iter().rposition(|e| other(&e)) {
            self.expected = self.seen.range(i + 1..).cloned().collect();
            let id = self.seen[i].id.as_deref().unwrap_or_default().to_string();
            return self.point_after(id);
        }
        // All events share one id.
        match before.map(str::to_string).or_else(|| predecessor(&newest)) {
            Some(after) => {
                self.began_mid_millisecond = before.is_none();
                self.expected = self.seen.clone();
                self.point_after(after)
            }
            None => ResumePoint {
                after: Some(newest.to_string()),
                missing_reason: None,
            },
        }
    }

    /// Resumes after an id that has an order.
    fn resume_after(&mut self, after: String) -> ResumePoint {
        let point = IdKey::of(&after);
        let beyond = |e: &&Seen| e.id.as_deref().is_none_or(|id| IdKey::of(id) > point);
        let last = self
            .seen
            .iter()
            .rposition(|e| e.id.as_deref() == Some(&after))
            .unwrap_or(0);
        let expected = self.seen.iter().enumerate();
        let expected = expected
            .filter(|(i, e)| beyond(e) && (e.id.is_some() || *i > last))
            .map(|(_, e)| e.clone());
        self.expected = expected.collect();
        self.point_after(after)
    }

    /// Prepares for a connection that resumes after an id. Only requested events must be replayed.
    pub fn connecting(&mut self, after: Option<&str>, transport: &impl Transport) {
        self.sequence.requested(
            transport.capabilities().sends_all,
            transport.numbering().map(|numbering| numbering.first),
        );
        self.first_event = transport.capabilities().first_event;
        if std::mem::take(&mut self.modes_changed) && self.backfill.is_none() {
            self.backfill = after.map(str::to_string).zip(self.highest);
        }
        self.expected_stored = self
            .expected
            .iter()
            .any(|e| e.id.is_some() && e.is_stored() && transport.sends(&e.name));
    }

    fn point_after(&mut self, after: String) -> ResumePoint {
        self.expected_ids.clear();
        for id in self.expected.iter().filter_map(|e| e.id.as_ref()) {
            if self.expected_ids.last() != Some(id) {
                self.expected_ids.push(id.clone());
            }
        }
        self.expected_stored = self
            .expected
            .iter()
            .any(|e| e.id.is_some() && e.is_stored());
        ResumePoint {
            after: Some(after),
            missing_reason: None,
        }
    }

    fn remember(&mut self, event: &Decoded) {
        self.any_event = true;
        match &event.id {
            Some(id) if self.newest.as_ref() != Some(id) => {
                self.highest = self.highest.max(IdKey::of(id));
                self.anchor = self.seen.iter().rposition(|e| e.id.is_some());
                self.newest = Some(id.clone());
            }
            Some(_) => {}
            None if self.newest.is_none() || self.seen.len() > MAX_WITHOUT_ID => return,
            None => {}
        }
        let Decoded { name, ns, id, data } = event.clone();
        let data = if data.text().len() > MAX_FULL_BYTES {
            Fingerprint::Hash(hash_of(data.content()))
        } else {
            Fingerprint::Full(data)
        };
        self.seen.push_back(Seen { name, ns, id, data });
        while self.backfill.is_none()
            && self.seen.len() > WINDOW
            && self.anchor.is_some_and(|a| a > 0)
        {
            let evicted = self.seen.pop_front().and_then(|e| e.id);
            self.forgotten = self
                .forgotten
                .take()
                .into_iter()
                .chain(evicted)
                .max_by_key(|id| IdKey::of(id));
            self.anchor = self.anchor.map(|a| a - 1);
        }
        if self.seen.len() > FULL_DATA {
            let i = self.seen.len() - 1 - FULL_DATA;
            if let Fingerprint::Full(data) = &self.seen[i].data {
                self.seen[i].data = Fingerprint::Hash(hash_of(data.content()));
            }
        }
    }
}

/// Returns the id just before this one, if ids are numbers.
fn predecessor(id: &str) -> Option<String> {
    let first = IdKey::of(id)?.major;
    match id.contains('-') {
        true => Some(format!("{}-0", first.checked_sub(1)?)),
        // The id before the first event's is the one that requests the whole run.
        false => Some(first.checked_sub(1).map_or("-1".into(), |n| n.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an event from its id, or `-`, and its data.
    fn event(text: &str) -> Decoded {
        let (id, data) = text.split_once(' ').unwrap();
        Decoded {
            name: "values".into(),
            ns: [].into(),
            id: Some(id.into()).filter(|_| id != "-"),
            data: Data::Json(data.into()),
        }
    }

    /// Checks how events are admitted: `+` new, `g` new after a gap, `=` duplicate.
    fn admits(tail: &mut Tail, events: &[&str], expected: &str) {
        let sign = |admission| match admission {
            Admission::New => '+',
            Admission::NewAfterGap => 'g',
            Admission::Duplicate => '=',
            other => panic!("{other:?}"),
        };
        let signs: String = events
            .iter()
            .map(|text| sign(tail.admit(&event(text))))
            .collect();
        assert_eq!(signs, expected, "{events:?}");
    }

    fn tail(events: &[&str]) -> Tail {
        let mut tail = Tail::default();
        admits(&mut tail, events, &"+".repeat(events.len()));
        tail
    }

    fn after(tail: &mut Tail) -> String {
        tail.resume_point(None, Some("-1")).after.unwrap()
    }

    #[test]
    fn replayed_events_are_skipped_once() {
        for (received, resumed_after, events, admitted) in [
            // A third identical event was never received.
            (
                &["1-0 1", "2-0 2", "3-0 3", "3-0 3"][..],
                "2-0",
                &["3-0 3", "3-0 3", "3-0 3", "4-0 4"][..],
                "==++",
            ),
            // A server that replays nothing leaves a gap, also inside of a millisecond.
            (&["1 1", "2 2"], "1", &["9 9", "10 9"], "g+"),
            (
                &["1-0 1", "2-0 2"],
                "1-0",
                &["2-0 5", "2-0 6", "3-0 7"],
                "g++",
            ),
            // Events that are out of order do not mislead.
            (
                &["5-0 a", "7-0 b", "6-0 c"],
                "5-0",
                &["6-0 c", "6-0 d", "7-0 b"],
                "=+=",
            ),
        ] {
            let mut tail = tail(received);
            assert_eq!(after(&mut tail), resumed_after, "{received:?}");
            assert!(tail.is_replay_unproven());
            admits(&mut tail, events, admitted);
            assert!(!tail.is_replay_unproven());
        }
        let mut tail = tail(&["1-0 1", "2-0 2", "3-0 3", "4-0 4"]);
        assert_eq!(after(&mut tail), "3-0");
    }

    #[test]
    fn a_single_id_resumes_from_its_predecessor_or_the_start() {
        let mut tail = tail(&["5-0 1", "5-0 2"]);
        for (first, everything, point) in [
            (None, Some("-1"), "-1"),
            (None, None, "4-0"),
            (Some("-"), None, "-"),
        ] {
            assert_eq!(
                tail.resume_point(first, everything).after.as_deref(),
                Some(point)
            );
        }
        admits(&mut tail, &["5-0 1"], "=");
        assert_eq!(predecessor("0").as_deref(), Some("-1"));
        assert_eq!(predecessor("run_event_4"), None);
    }

    #[test]
    fn streams_without_ids_cannot_resume() {
        for (events, everything, after, missing_reason) in [
            (&["- 1"][..], Some("-1"), None, Some(NO_IDS)),
            (&[], Some("-1"), Some("-1".to_string()), None),
            (&[], None, None, Some(NOTHING_YET)),
        ] {
            let point = ResumePoint {
                after,
                missing_reason,
            };
            assert_eq!(tail(events).resume_point(None, everything), point);
        }
    }

    impl Tail {
        fn kept_whole(&self) -> usize {
            let is_whole = |seen: &&Seen| matches!(seen.data, Fingerprint::Full(_));
            self.seen.iter().filter(is_whole).count()
        }
    }

    #[test]
    fn large_events_are_recognized_by_hash() {
        let large = |digit: &str| format!("3-0 {}", digit.repeat(MAX_FULL_BYTES + 1));
        let (one, other) = (large("1").replacen('3', "2", 1), large("2"));
        let mut tail = tail(&["1-0 0", &one, &other]);
        assert_eq!((tail.kept_whole(), after(&mut tail).as_str()), (1, "2-0"));
        admits(&mut tail, &[&other, &large("1")], "=+");
    }

    #[test]
    fn memory_is_bounded() {
        let mut tail = Tail::default();
        for i in 0..10_000 {
            tail.admit(&event(&format!("{} 1", i / 3)));
        }
        assert!(tail.seen.len() <= WINDOW + 1);
        let same: Vec<Decoded> = (0..1000).map(|i| event(&format!("1-0 {i}"))).collect();
        let mut tail = Tail::default();
        for event in &same {
            tail.admit(event);
        }
        assert_eq!(
            (tail.kept_whole(), after(&mut tail).as_str()),
            (FULL_DATA, "-1")
        );
        assert!(
            same.iter()
                .all(|event| tail.admit(event) == Admission::Duplicate)
        );
    }
}
