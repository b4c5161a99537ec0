//! Puts the events of a run in order on servers such as Aegra. A connection there sends some stored events first, and then
//! the live ones from a queue that all readers share. The same event may come from both, with one id but a different text:
//! the stored form drops namespaces and reorders keys, so the live form is preferred. An event whose live form went to
//! another reader may still be among the stored ones.

use crate::source::sequence_ids::split;
use crate::sse::decode::Decoded;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Names of events that are stored. All others are live, and so are events with a namespace.
const STORED: [&str; 8] =
    ["values", "messages", "messages/partial", "messages/complete", "messages/metadata", "events", "error", "end"];
/// How long stored events wait for their live form after the newest event, and at most.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(1);
/// Stored events that wait at most, and their bytes.
const MAX_HELD: usize = 4096;
const MAX_HELD_BYTES: usize = 8 << 20;
/// Ranges of missing numbers that are remembered.
const MAX_HOLES: usize = 4096;

/// An event in its order.
#[derive(Debug, PartialEq)]
pub(crate) enum Sorted {
    /// A new one, and how many are missing before it.
    New(Decoded, u64),
    /// One that was received before.
    Duplicate,
}

/// The order of one run's events, over all its connections.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The number after the highest that was passed on.
    next: u64,
    /// The id of the highest that was passed on.
    last_id: Option<Arc<str>>,
    /// Missing numbers below `next`: first and last of each range.
    holes: BTreeMap<u64, u64>,
    /// Below this nothing is known about what is missing.
    floor: u64,
    /// Stored events that wait for their live form.
    held: BTreeMap<u64, Decoded>,
    held_bytes: usize,
    /// When the first of them was held, and when the newest event arrived.
    since: Option<(Instant, Instant)>,
    /// This connection may still send stored events; the highest number that it has sent.
    stored: Option<u64>,
    /// The stream was resumed and no live event has arrived since. Stored ones do not show that nothing after them is lost.
    is_unanswered: bool,
}

impl Stored {
    /// Before the first connection. `first` is the number of the run's first event.
    pub fn new(first: u64) -> Stored {
        Stored {
            next: first,
            last_id: None,
            holes: BTreeMap::new(),
            floor: first,
            held: BTreeMap::new(),
            held_bytes: 0,
            since: None,
            stored: None,
            is_unanswered: false,
        }
    }

    /// A connection is open.
    pub fn opened(&mut self) {
        self.stored = Some(0);
    }

    /// The id to resume after: servers of this kind replay what is strictly greater, and their ids are unique.
    pub fn resume_after(&mut self) -> Option<String> {
        self.is_unanswered = true;
        self.last_id.as_deref().map(str::to_string)
    }

    /// Whether any event with a number was passed on.
    pub fn has_any(&self) -> bool {
        self.last_id.is_some()
    }

    /// Whether no live event has arrived since the stream was resumed.
    pub fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }

    /// When the events that wait are to be released.
    pub fn due(&self) -> Option<Instant> {
        self.since.map(|(first, newest)| (newest + PAUSE).min(first + LONGEST))
    }

    /// Takes the next event of the connection.
    pub fn push(&mut self, event: Decoded, now: Instant, out: &mut Vec<Sorted>) {
        let number = event.id.as_deref().and_then(split).filter(|(run, _)| run.ends_with("_event_"));
        let Some(number) = number.map(|(_, number)| number) else {
            self.release(out);
            out.push(Sorted::New(event, 0));
            return;
        };
        if let Some(highest) = self.stored {
            let may_be_stored = number > highest && event.ns.is_empty() && STORED.contains(&&*event.name);
            if may_be_stored {
                self.stored = Some(number);
                self.hold(number, event, now, out);
                return;
            }
            self.stored = None;
        }
        self.is_unanswered = false;
        // The queue is in order: what is stored with a lower number has no live form any more.
        let later = self.held.split_off(&number);
        for (number, event) in std::mem::replace(&mut self.held, later) {
            self.pass(number, event, out);
        }
        if self.held.remove(&number).is_some() {
            out.push(Sorted::Duplicate);
        }
        self.since = self.since.filter(|_| !self.held.is_empty()).map(|(first, _)| (first, now));
        if self.held.is_empty() {
            self.held_bytes = 0;
        }
        self.pass(number, event, out);
    }

    /// Passes on all events that wait, because no live form is to be expected.
    pub fn release(&mut self, out: &mut Vec<Sorted>) {
        (self.since, self.held_bytes, self.stored) = (None, 0, None);
        for (number, event) in std::mem::take(&mut self.held) {
            self.pass(number, event, out);
        }
    }

    fn hold(&mut self, number: u64, event: Decoded, now: Instant, out: &mut Vec<Sorted>) {
        if self.is_known(number) {
            out.push(Sorted::Duplicate);
            return;
        }
        self.held_bytes += event.data.text().len();
        self.since = Some((self.since.map_or(now, |(first, _)| first), now));
        if self.held.insert(number, event).is_some() {
            out.push(Sorted::Duplicate);
        }
        if self.held.len() > MAX_HELD || self.held_bytes > MAX_HELD_BYTES {
            self.release(out);
        }
    }

    /// Whether an event was passed on.
    fn is_known(&self, number: u64) -> bool {
        let is_missing = || self.holes.range(..=number).next_back().is_some_and(|(_, last)| *last >= number);
        (self.floor..self.next).contains(&number) && !is_missing()
    }

    fn pass(&mut self, number: u64, event: Decoded, out: &mut Vec<Sorted>) {
        if self.is_known(number) {
            out.push(Sorted::Duplicate);
            return;
        }
        if number < self.next {
            self.fill(number);
            out.push(Sorted::New(event, 0));
            return;
        }
        let missing = number - self.next;
        if missing > 0 {
            self.holes.insert(self.next, number - 1);
            while self.holes.len() > MAX_HOLES {
                if let Some((_, last)) = self.holes.pop_first() {
                    self.floor = last.saturating_add(1);
                }
            }
        }
        self.next = number.saturating_add(1);
        self.last_id.clone_from(&event.id);
        out.push(Sorted::New(event, missing));
    }

    /// A missing event arrived late.
    fn fill(&mut self, number: u64) {
        let Some((first, last)) = self.holes.range(..=number).next_back().map(|(first, last)| (*first, *last)) else {
            return;
        };
        if last < number {
            return;
        }
        self.holes.remove(&first);
        if first < number {
            self.holes.insert(first, number - 1);
        }
        if number < last {
            self.holes.insert(number + 1, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;

    fn event(name: &str, number: u64, text: &str) -> Decoded {
        let id = Some(format!("r_event_{number}").into());
        Decoded { name: name.into(), ns: [].into(), id, data: Data::Json(text.into()) }
    }

    /// Feeds events, and describes what is passed on: the number, with what is missing before it, or `=` for a duplicate.
    fn sorted(stored: &mut Stored, events: &[(&str, u64)]) -> Vec<String> {
        let mut out = Vec::new();
        for (name, number) in events {
            stored.push(event(name, *number, "1"), Instant::now(), &mut out);
        }
        described(out)
    }

    fn described(out: Vec<Sorted>) -> Vec<String> {
        let describe = |sorted| match sorted {
            Sorted::New(event, missing) => {
                let number = event.id.as_deref().and_then(split).map(|(_, number)| number);
                let missing = if missing > 0 { format!("({missing})") } else { String::new() };
                number.map_or(event.name.to_string(), |number| format!("{missing}{number}"))
            }
            Sorted::Duplicate => "=".into(),
        };
        out.into_iter().map(describe).collect()
    }

    fn opened() -> Stored {
        let mut stored = Stored::new(1);
        stored.opened();
        stored
    }

    #[tokio::test]
    async fn stored_events_that_come_again_live_are_one_event_in_order() {
        let mut stored = opened();
        let events =
            [("values", 2), ("values", 4), ("metadata", 1), ("values", 2), ("custom", 3), ("values", 4), ("custom", 5)];
        assert_eq!(sorted(&mut stored, &events), ["1", "=", "2", "3", "=", "4", "5"]);
        assert_eq!(stored.due(), None, "nothing waits");
    }

    #[tokio::test]
    async fn the_live_form_is_preferred() {
        let (mut stored, mut out) = (opened(), Vec::new());
        for (number, text) in [(2, "stored"), (1, "first"), (2, "live")] {
            let name = if number == 1 { "metadata" } else { "values" };
            stored.push(event(name, number, text), Instant::now(), &mut out);
        }
        let text = |sorted: &Sorted| {
            if let Sorted::New(event, _) = sorted { Some(event.data.text().to_string()) } else { None }
        };
        let texts: Vec<_> = out.iter().filter_map(text).collect();
        assert_eq!(texts, ["first", "live"]);
    }

    #[tokio::test]
    async fn what_went_to_another_reader_is_taken_from_the_store_or_missing() {
        let mut stored = opened();
        let events = [("values", 2), ("values", 4), ("custom", 7), ("custom", 9)];
        assert_eq!(sorted(&mut stored, &events), ["(1)2", "(1)4", "(2)7", "(1)9"]);
        // Later than its turn, but it was missing.
        assert_eq!(sorted(&mut stored, &[("custom", 5), ("custom", 5), ("custom", 9)]), ["5", "=", "="]);
        assert_eq!(stored.holes, BTreeMap::from([(1, 1), (3, 3), (6, 6), (8, 8)]));
    }

    #[tokio::test]
    async fn stored_events_without_live_ones_are_released_after_a_pause() {
        let mut stored = opened();
        assert_eq!(sorted(&mut stored, &[("values", 2)]), [""; 0]);
        let due = stored.due().map(|due| due.duration_since(Instant::now()) <= PAUSE);
        assert_eq!(due, Some(true));
        let mut out = Vec::new();
        stored.release(&mut out);
        assert_eq!((described(out), stored.due()), (vec!["(1)2".to_string()], None));
        // An event without a number follows all that wait.
        let mut stored = opened();
        let (mut out, end) = (Vec::new(), Decoded { id: None, ..event("end", 0, "{}") });
        stored.push(event("values", 1, "1"), Instant::now(), &mut out);
        stored.push(end, Instant::now(), &mut out);
        assert_eq!(described(out), ["1", "end"]);
    }

    #[tokio::test]
    async fn a_resumed_stream_skips_replayed_events() {
        let mut stored = opened();
        assert_eq!(stored.resume_after(), None);
        sorted(&mut stored, &[("metadata", 1), ("custom", 2), ("values", 3)]);
        assert_eq!(stored.resume_after().as_deref(), Some("r_event_3"));
        assert!(stored.is_unanswered());
        stored.opened();
        assert_eq!(sorted(&mut stored, &[("values", 3), ("values", 6), ("custom", 5)]), ["=", "(1)5"]);
        assert!(!stored.is_unanswered());
        assert_eq!(sorted(&mut stored, &[("values", 6)]), ["=", "6"]);
    }

    #[tokio::test]
    async fn memory_stays_small_and_nothing_is_dropped_for_it() {
        let mut stored = opened();
        let events: Vec<_> = (0..3 * MAX_HOLES as u64).map(|n| ("custom", 2 + 2 * n)).collect();
        assert_eq!(sorted(&mut stored, &events).len(), events.len());
        assert_eq!(stored.holes.len(), MAX_HOLES);
        assert_eq!(sorted(&mut stored, &[("custom", 3)]), ["3"], "what is forgotten counts as new");
        let mut stored = opened();
        let events: Vec<_> = (1..=MAX_HELD as u64 + 2).map(|n| ("values", n)).collect();
        assert_eq!(sorted(&mut stored, &events).len(), events.len());
        let mut stored = opened();
        assert_eq!(sorted(&mut stored, &[("custom", u64::MAX)]), ["(18446744073709551614)18446744073709551615"]);
    }
}
