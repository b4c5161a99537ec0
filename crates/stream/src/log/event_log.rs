//! The event log: a bounded log of a source's records, and the single source of truth about a stream.

use crate::log::chunk::{Chunk, Packer};
use crate::{Event, EventNumber, Record, Seq};
use jiff::Timestamp;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of marks, and their total size in bytes, so that months of reconnects don't exhaust the memory.
const MAX_MARKS: usize = 65_536;
const MAX_MARK_BYTES: usize = 16 << 20;

/// The size limits of an event log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum memory size in bytes, approximately.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_bytes: 256 << 20,
        }
    }
}

/// A record other than an event, and the position of the event before it ([`Seq::START`]: before the first).
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub after: Seq,
    pub record: Record,
}

/// The event log of one stream.
#[derive(Debug, Default)]
pub struct EventLog {
    limits: Limits,
    chunks: VecDeque<Chunk>,
    packer: Packer,
    rows: usize,
    bytes: usize,
    last: Seq,
    marks: VecDeque<Mark>,
    evicted_marks: u64,
    mark_bytes: usize,
    /// Bytes of `limits` used by the projections.
    reserved: usize,
    evicted_rows: u64,
    evicted_bytes: u64,
    /// The last visible event, if that is not the newest.
    view_end: Option<Seq>,
    /// Positions of all snapshots, including evicted ones, of which there are few.
    snapshots: Vec<Seq>,
}

impl EventLog {
    /// Creates an empty event log.
    pub fn new(limits: Limits) -> Self {
        EventLog {
            limits,
            ..EventLog::default()
        }
    }

    /// Appends a record. Evicts the oldest events if the log is full; the newest one always stays.
    pub fn push(&mut self, record: Record) {
        let Record::Event(event) = record else {
            self.mark_bytes += record.weight();
            self.marks.push_back(Mark {
                after: self.last,
                record,
            });
            while self.marks.len() > 1
                && (self.marks.len() > MAX_MARKS || self.mark_bytes > MAX_MARK_BYTES)
            {
                let evicted = self.marks.pop_front();
                self.mark_bytes -= evicted.map_or(0, |mark| mark.record.weight());
                self.evicted_marks += 1;
            }
            return;
        };
        // Rows are looked up by offset from the first, so a gap (for example in a hand-edited recording) would break
        // the index.
        if event.seq.checked_since(self.last) != Some(1) {
            self.evict_rows(usize::MAX);
        }
        self.last = event.seq;
        let newer = event
            .is_snapshot()
            .then(|| (event.seq, event.data.text().clone()));
        self.packer.add(event, &mut self.chunks);
        if let Some((newer, text)) = newer {
            self.compress_older_snapshot(newer, &text);
            self.snapshots.push(newer);
        }
        self.rows += 1;
        self.bytes += self
            .find(self.last)
            .and_then(|(chunk, index)| chunk.weight(index))
            .unwrap_or_default();
        self.evict();
    }

    /// Sets how many bytes of the limits the projections use. A quarter is always reserved for the events.
    pub fn reserve(&mut self, bytes: usize) {
        self.reserved = bytes.min(self.limits.max_bytes / 4 * 3);
        self.evict();
    }

    fn evict(&mut self) {
        let max_bytes = self.limits.max_bytes - self.reserved;
        while self.rows > 1 && self.bytes > max_bytes {
            self.evict_rows(1);
            // Log the first eviction, then exponentially less often, because there may be millions.
            if self.evicted_rows.is_power_of_two() {
                let (rows, bytes) = (self.evicted_rows, self.evicted_bytes);
                tracing::info!(rows, bytes, "event log: the oldest events were evicted");
            }
        }
    }

    /// Limits the view to events up to this one. Newer events are still appended, but only [`EventLog::whole`] and
    /// [`EventLog::newest_seq`] include them. `None` shows all events.
    pub fn show_until(&mut self, last: Option<Seq>) {
        self.view_end = last.map(|last| last.min(self.last));
    }

    /// Returns the event at this position, if it is visible and not evicted.
    pub fn get(&self, seq: Seq) -> Option<Event> {
        self.whole(seq).filter(|_| seq <= self.last_seq())
    }

    /// Returns the event at this position, whether visible or not.
    pub fn whole(&self, seq: Seq) -> Option<Event> {
        let (chunk, index) = self.find(seq)?;
        chunk.event(index, &self.base())
    }

    /// Returns a function that finds the base text of a delta. Each base is newer, so the lookup ends at the newest.
    fn base(&self) -> impl Fn(Seq) -> Option<Arc<str>> {
        |seq| Some(self.whole(seq)?.data.text().clone())
    }

    /// Replaces the previous snapshot with a delta to this one, because only the newest is needed in full.
    fn compress_older_snapshot(&mut self, newer: Seq, text: &str) {
        let Some(older) = self.snapshots.last().copied() else {
            return;
        };
        let number = self.chunk_of(older);
        let chunk = self.chunks.get_mut(number);
        let Some((index, chunk)) = chunk.and_then(|chunk| Some((chunk.index_of(older)?, chunk)))
        else {
            return;
        };
        let before = chunk.weight(index).unwrap_or_default();
        chunk.compress_to_delta(index, newer, text);
        self.bytes -= before.saturating_sub(chunk.weight(index).unwrap_or_default());
    }

    /// Returns an event's number among the events of the stream, which is what recordings count; snapshots have none.
    pub fn number_of(&self, seq: Seq) -> EventNumber {
        EventNumber(seq.0 - self.snapshots.partition_point(|snapshot| *snapshot < seq) as u64)
    }

    /// Returns the number of the newest event of the stream up to this position.
    pub fn events_until(&self, seq: Seq) -> EventNumber {
        EventNumber(seq.0 - self.snapshots_until(seq))
    }

    /// Returns the position of the stream's event with this number.
    pub fn position_of(&self, number: EventNumber) -> Seq {
        let seq = Seq(number.0);
        self.snapshots.iter().fold(
            seq,
            |seq, snapshot| if *snapshot <= seq { seq.next() } else { seq },
        )
    }

    /// Returns how many snapshots are among the events up to this one.
    pub fn snapshots_until(&self, seq: Seq) -> u64 {
        self.snapshots.partition_point(|snapshot| *snapshot <= seq) as u64
    }

    /// Returns the time of the event at this position, if known, whether visible or not.
    pub fn time(&self, seq: Seq) -> Option<Timestamp> {
        let (chunk, index) = self.find(seq)?;
        chunk.time(index)
    }

    /// Returns when the event at this position arrived, whether visible or not.
    pub fn arrival(&self, seq: Seq) -> Option<Timestamp> {
        let (chunk, index) = self.find(seq)?;
        chunk.at(index)
    }

    /// Returns the oldest event at or after this time.
    pub fn first_since(&self, at: Timestamp) -> Option<Seq> {
        let found = self
            .indexes()
            .find(|(chunk, index)| chunk.time(*index).is_some_and(|time| time >= at));
        found
            .map(|(chunk, index)| chunk.seq(index))
            .filter(|seq| *seq <= self.last_seq())
    }

    /// Returns the newest event with this id.
    pub fn newest_with_id(&self, id: &str) -> Option<Seq> {
        let shown = |(chunk, index): &(&Chunk, usize)| chunk.seq(*index) <= self.last_seq();
        let found = self
            .indexes()
            .rev()
            .filter(shown)
            .find(|(chunk, index)| chunk.id(*index) == Some(id));
        found.map(|(chunk, index)| chunk.seq(index))
    }

    fn find(&self, seq: Seq) -> Option<(&Chunk, usize)> {
        let chunk = self.chunks.get(self.chunk_of(seq))?;
        Some((chunk, chunk.index_of(seq)?))
    }

    /// Returns the index of the chunk that contains an event, if any does.
    fn chunk_of(&self, seq: Seq) -> usize {
        self.chunks
            .partition_point(|chunk| chunk.first() <= seq)
            .saturating_sub(1)
    }

    fn indexes(&self) -> impl DoubleEndedIterator<Item = (&Chunk, usize)> {
        self.chunks
            .iter()
            .flat_map(|chunk| chunk.indexes().map(move |index| (chunk, index)))
    }

    /// Returns the oldest visible event.
    pub fn first_seq(&self) -> Option<Seq> {
        self.first_retained()
            .filter(|first| *first <= self.last_seq())
    }

    /// Returns the oldest retained event, whether visible or not.
    pub fn first_retained(&self) -> Option<Seq> {
        self.chunks.front().map(Chunk::first)
    }

    /// Returns the newest visible position; [`Seq::START`] before the first.
    pub fn last_seq(&self) -> Seq {
        self.view_end.unwrap_or(self.last)
    }

    /// Returns the newest position, whether visible or not.
    pub fn newest_seq(&self) -> Seq {
        self.last
    }

    /// Returns the number of visible events.
    pub fn len(&self) -> usize {
        let newer = usize::try_from(self.last - self.last_seq()).unwrap_or(usize::MAX);
        self.rows.saturating_sub(newer)
    }

    /// Returns whether no event is visible.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the approximate memory size of all events in bytes, whether visible or not.
    pub fn kept_bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the records other than events, in order.
    pub fn marks(&self) -> &VecDeque<Mark> {
        &self.marks
    }

    /// Returns the mark with this number (from 0), or the oldest retained one after it, with its number.
    pub fn mark(&self, number: u64) -> Option<(u64, &Mark)> {
        let number = number.max(self.evicted_marks);
        Some((
            number,
            self.marks
                .get(usize::try_from(number - self.evicted_marks).ok()?)?,
        ))
    }

    /// Returns how many marks were appended, including evicted ones.
    pub fn marks_appended(&self) -> u64 {
        self.evicted_marks + self.marks.len() as u64
    }

    /// Returns the size limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the number of retained events, whether visible or not.
    pub fn retained_events(&self) -> usize {
        self.rows
    }

    /// Evicts the oldest events until this many bytes are free; the newest one always stays.
    pub fn shrink_by(&mut self, bytes: usize) {
        let wanted = self.bytes.saturating_sub(bytes);
        while self.rows > 1 && self.bytes > wanted {
            self.evict_rows(1);
        }
    }

    /// Returns the number of evicted events.
    pub fn evicted_rows(&self) -> u64 {
        self.evicted_rows
    }

    fn evict_rows(&mut self, rows: usize) {
        for _ in 0..rows {
            let Some(chunk) = self.chunks.front_mut() else {
                return;
            };
            let Some((weight, size)) = chunk.evict_oldest() else {
                return;
            };
            if chunk.len() == 0 {
                self.chunks.pop_front();
            }
            self.rows -= 1;
            self.bytes = self.bytes.saturating_sub(weight);
            self.evicted_rows += 1;
            self.evicted_bytes += size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loaded, SnapshotPart, ThreadSnapshot};

    /// Memory size of an event with ten bytes of data.
    const TEN: usize = 32 + 10;

    fn event(seq: u64, size: usize) -> Record {
        Record::Event(crate::tests::event(seq, "values", &"1".repeat(size)))
    }

    /// Returns a log of three events of ten bytes, which got this many.
    fn of_three(count: u64) -> EventLog {
        let mut event_log = EventLog::new(Limits { max_bytes: 3 * TEN });
        (1..=count).for_each(|seq| event_log.push(event(seq, 10)));
        event_log
    }

    impl EventLog {
        /// Returns the positions of the events from one on.
        fn seqs(&self, from: u64) -> Vec<u64> {
            let found = (from..20).filter_map(|seq| self.get(Seq(seq)));
            found.map(|event| event.seq.0).collect()
        }

        /// Returns the first and the last shown event, how many are shown, and the memory of all.
        fn ends(&self) -> (Option<u64>, u64, usize, usize) {
            let first = self.first_seq().map(|first| first.0);
            (first, self.last_seq().0, self.len(), self.kept_bytes())
        }
    }

    #[test]
    fn events_are_found_and_the_log_is_bounded() {
        let mut event_log = of_three(0);
        assert_eq!(
            (event_log.ends(), event_log.get(Seq(1))),
            ((None, 0, 0, 0), None)
        );
        let gap = Record::Gap {
            at: Timestamp::UNIX_EPOCH,
            why: "x".into(),
        };
        event_log.push(gap.clone());
        (1..=5).for_each(|seq| event_log.push(event(seq, 10)));
        event_log.push(gap);
        assert_eq!(event_log.ends(), (Some(3), 5, 3, 3 * TEN));
        let found = [2, 4, 6].map(|seq| event_log.get(Seq(seq)).map(|event| event.seq.0));
        assert_eq!(found, [None, Some(4), None]);
        let from = [0, 5, 9].map(|seq| event_log.seqs(seq));
        assert_eq!(from, [vec![3, 4, 5], vec![5], vec![]]);
        assert!(event_log.marks().iter().map(|mark| mark.after.0).eq([0, 5]));
        assert_eq!((event_log.evicted_rows(), event_log.evicted_bytes), (2, 20));
    }

    #[test]
    fn time_travel_hides_newer_events() {
        let mut event_log = of_three(3);
        event_log.show_until(Some(Seq(2)));
        event_log.push(event(4, 10));
        assert_eq!(
            (event_log.ends(), event_log.newest_seq()),
            ((Some(2), 2, 1, 3 * TEN), Seq(4))
        );
        assert!(event_log.get(Seq(3)).is_none() && event_log.whole(Seq(3)).is_some());
        assert_eq!(event_log.seqs(0), [2]);
        // All visible events are evicted.
        event_log.push(event(5, 10));
        assert_eq!(event_log.ends(), (None, 2, 0, 3 * TEN));
        assert_eq!(
            (event_log.first_retained(), event_log.seqs(0).len()),
            (Some(Seq(3)), 0)
        );
        event_log.show_until(None);
        assert_eq!(event_log.ends(), (Some(3), 5, 3, 3 * TEN));
    }

    #[test]
    fn a_jump_in_positions_evicts_older_events() {
        let mut event_log = EventLog::new(Limits::default());
        for seq in [1, 2, u64::MAX - 1, u64::MAX, 7, 1 << 60, (1 << 60) + 1] {
            event_log.push(event(seq, 10));
            event_log.show_until(Some(Seq(1)));
            event_log.show_until(None);
            assert_eq!(event_log.last_seq(), Seq(seq));
        }
        assert_eq!(
            (event_log.retained_events(), event_log.kept_bytes()),
            (2, 2 * TEN)
        );
    }

    #[test]
    fn old_snapshots_are_stored_as_deltas() {
        let snapshot = |seq, messages: usize| {
            let state = serde_json::json!({"values": {"messages": vec!["a long message"; messages], "n": messages}});
            let parts = [(SnapshotPart::State, Loaded::Json(state.to_string().into()))];
            ThreadSnapshot {
                at: jiff::Timestamp::UNIX_EPOCH,
                parts: parts.into(),
            }
            .into_event(Seq(seq))
        };
        let mut event_log = EventLog::new(Limits::default());
        let entries = [
            snapshot(1, 5_000),
            snapshot(3, 5_010),
            snapshot(4, 5_020),
            snapshot(6, 5_020),
        ];
        event_log.push(Record::Event(entries[0].clone()));
        let one = event_log.kept_bytes();
        event_log.push(event(2, 10));
        event_log.push(Record::Event(entries[1].clone()));
        event_log.push(Record::Event(entries[2].clone()));
        event_log.push(event(5, 10));
        event_log.push(Record::Event(entries[3].clone()));
        assert!(
            event_log.kept_bytes() < one + one / 10,
            "{} of {one}",
            event_log.kept_bytes()
        );
        for entry in &entries {
            assert_eq!(event_log.whole(entry.seq).as_ref(), Some(entry));
        }
        // Snapshots don't count as events of the stream.
        assert_eq!(
            [2, 5, 6].map(|seq| event_log.number_of(Seq(seq)).0),
            [1, 2, 3]
        );
        assert_eq!(
            [1, 2, 3].map(|number| event_log.position_of(EventNumber(number)).0),
            [2, 5, 7]
        );
        assert_eq!(
            [1, 2, 4, 9].map(|seq| event_log.snapshots_until(Seq(seq))),
            [1, 1, 3, 4]
        );
        // The oldest are evicted first, so the bases of all deltas are still present.
        event_log.shrink_by(one / 2);
        assert_eq!(event_log.whole(Seq(6)).as_ref(), Some(&entries[3]));
    }

    #[test]
    fn one_huge_event_stays() {
        let mut event_log = EventLog::new(Limits { max_bytes: 1000 });
        event_log.push(event(1, 10));
        event_log.push(event(2, 5000));
        assert_eq!((event_log.first_seq(), event_log.len()), (Some(Seq(2)), 1));
    }
}
