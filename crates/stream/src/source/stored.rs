//! Orders the events of a run on servers such as early Aegra. A connection there sends some stored events first, and then
//! live ones from a queue that all readers share. The same event may be sent in both forms, with one id but different
//! text: the stored form drops namespaces and reorders keys, so the live form is preferred. An event whose live form
//! went to another reader may still be among the stored ones.

use crate::source::sequence_ids::split;
use crate::sse::decode::Decoded;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Names of the events that are stored. All others are live, and so are events with a namespace.
const STORED: [&str; 8] = [
    "values",
    "messages",
    "messages/partial",
    "messages/complete",
    "messages/metadata",
    "events",
    "error",
    "end",
];
/// How long stored events wait for their live form: after the newest event, and in total.
const PAUSE: Duration = Duration::from_millis(250);
const MAX_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of waiting stored events, and their total size in bytes.
const MAX_HELD: usize = 4096;
const MAX_HELD_BYTES: usize = 8 << 20;
/// Maximum number of remembered ranges of missing numbers.
const MAX_HOLES: usize = 4096;

/// An event in the run's order.
#[derive(Debug, PartialEq)]
pub(crate) enum Sorted {
    /// A new event, and how many are missing before it.
    New(Decoded, u64),
    Duplicate,
}

/// The order of one run's events, over all its connections.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// The number after the highest released number.
    next: u64,
    /// The id of the event with the highest number released.
    last_id: Option<Arc<str>>,
    /// Missing numbers below `next`: first and last of each range.
    holes: BTreeMap<u64, u64>,
    /// Missing numbers below this are no longer tracked.
    floor: u64,
    /// Stored events that wait for their live form.
    held: BTreeMap<u64, Decoded>,
    held_bytes: usize,
    /// When the first held event was held, and when the newest event arrived.
    since: Option<(Instant, Instant)>,
    /// The highest stored number of this connection, while it may still send stored events.
    stored: Option<u64>,
    /// Whether no live event has arrived since the stream was resumed. Stored ones don't prove that nothing after them
    /// is lost.
    is_replay_unproven: bool,
}

impl Stored {
    /// Creates the state before the first connection. `first` is the number of the run's first event.
    pub fn new(first: u64) -> Stored {
        Stored {
            next: first,
            floor: first,
            ..Stored::default()
        }
    }

    /// Starts a connection.
    pub fn opened(&mut self) {
        self.stored = Some(0);
    }

    /// Returns the id to resume after. These servers replay ids that are strictly greater, and their ids are unique.
    pub fn resume_after(&mut self) -> Option<String> {
        self.is_replay_unproven = true;
        self.last_id.as_deref().map(str::to_string)
    }

    /// Returns whether any numbered event was released.
    pub fn has_any(&self) -> bool {
        self.last_id.is_some()
    }

    /// Returns whether no live event has arrived since the stream was resumed.
    pub fn is_replay_unproven(&self) -> bool {
        self.is_replay_unproven
    }

    /// Returns when the held events must be released.
    pub fn due(&self) -> Option<Instant> {
        self.since
            .map(|(first, newest)| (newest + PAUSE).min(first + MAX_WAIT))
    }

    /// Processes the connection's next event.
    pub fn push(&mut self, event: Decoded, now: Instant, out: &mut Vec<Sorted>) {
        let number = event
            .id
            .as_deref()
            .and_then(split)
            .filter(|(run, _)| run.ends_with("_event_"));
        let Some(number) = number.map(|(_, number)| number) else {
            self.release(out);
            out.push(Sorted::New(event, 0));
            return;
        };
        if let Some(highest) = self.stored {
            let may_be_stored =
                number > highest && event.ns.is_empty() && STORED.contains(&&*event.name);
            if may_be_stored {
                self.stored = Some(number);
                self.hold(number, event, now, out);
                return;
            }
            self.stored = None;
        }
        self.is_replay_unproven = false;
        // The queue is in order: held events with a lower number no longer have a live form.
        let later = self.held.split_off(&number);
        for (number, event) in std::mem::replace(&mut self.held, later) {
            self.append(number, event, out);
        }
        if self.held.remove(&number).is_some() {
            out.push(Sorted::Duplicate);
        }
        self.since = self
            .since
            .filter(|_| !self.held.is_empty())
            .map(|(first, _)| (first, now));
        if self.held.is_empty() {
            self.held_bytes = 0;
        }
        self.append(number, event, out);
    }

    /// Releases all held events, because no live form is expected any more.
    pub fn release(&mut self, out: &mut Vec<Sorted>) {
        (self.since, self.held_bytes, self.stored) = (None, 0, None);
        for (number, event) in std::mem::take(&mut self.held) {
            self.append(number, event, out);
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

    /// Returns whether an event was already released.
    fn is_known(&self, number: u64) -> bool {
        let is_missing = || {
            self.holes
                .range(..=number)
                .next_back()
                .is_some_and(|(_, last)| *last >= number)
        };
        (self.floor..self.next).contains(&number) && !is_missing()
    }

    /// Appends an event to the output, or reports it as a duplicate.
    fn append(&mut self, number: u64, event: Decoded, out: &mut Vec<Sorted>) {
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

    /// Removes a number from the missing ones.
    fn fill(&mut self, number: u64) {
        let Some((first, last)) = self
            .holes
            .range(..=number)
            .next_back()
            .map(|(first, last)| (*first, *last))
        else {
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
        Decoded {
            name: name.into(),
            ns: [].into(),
            id: Some(format!("r_event_{number}").into()),
            data: Data::Json(text.into()),
        }
    }

    /// Pushes events, each a number and `s` if it may be stored, and describes the output.
    fn sorted(stored: &mut Stored, events: &str) -> String {
        let mut out = Vec::new();
        for text in events.split_whitespace() {
            let name = if text.ends_with('s') {
                "values"
            } else {
                "custom"
            };
            let number = text.trim_end_matches('s').parse().unwrap();
            stored.push(event(name, number, "1"), Instant::now(), &mut out);
        }
        described(out)
    }

    /// Describes events: the number, with how many are missing before it, or `=` for a duplicate.
    fn described(out: Vec<Sorted>) -> String {
        let describe = |sorted| match sorted {
            Sorted::New(event, missing) => {
                let number = event
                    .id
                    .as_deref()
                    .and_then(split)
                    .map(|(_, number)| number);
                let shown = number.map_or(event.name.to_string(), |number| number.to_string());
                if missing > 0 {
                    format!("({missing}){shown}")
                } else {
                    shown
                }
            }
            Sorted::Duplicate => "=".into(),
        };
        out.into_iter().map(describe).collect::<Vec<_>>().join(" ")
    }

    fn opened() -> Stored {
        let mut stored = Stored::new(1);
        stored.opened();
        stored
    }

    #[tokio::test]
    async fn stored_and_live_forms_are_merged_in_order() {
        let mut stored = opened();
        assert_eq!(sorted(&mut stored, "2s 4s 1 2s 3 4s 5"), "1 = 2 3 = 4 5");
        assert_eq!(stored.due(), None, "no event is held");
    }

    #[tokio::test]
    async fn the_live_form_is_preferred() {
        let (mut stored, mut out) = (opened(), Vec::new());
        for (name, number, text) in [
            ("values", 2, "stored"),
            ("metadata", 1, "first"),
            ("values", 2, "live"),
        ] {
            stored.push(event(name, number, text), Instant::now(), &mut out);
        }
        let texts = out.iter().filter_map(|sorted| match sorted {
            Sorted::New(event, _) => Some(&**event.data.text()),
            Sorted::Duplicate => None,
        });
        assert!(texts.eq(["first", "live"]));
    }

    #[tokio::test]
    async fn events_of_another_reader_are_stored_or_missing() {
        let mut stored = opened();
        assert_eq!(sorted(&mut stored, "2s 4s 7 9"), "(1)2 (1)4 (2)7 (1)9");
        // Out of order, but it was missing.
        assert_eq!(sorted(&mut stored, "5 5 9"), "5 = =");
        let holes = BTreeMap::from([(1, 1), (3, 3), (6, 6), (8, 8)]);
        assert_eq!(stored.holes, holes);
    }

    #[tokio::test]
    async fn stored_events_without_live_ones_are_released_after_a_pause() {
        let mut stored = opened();
        assert_eq!(sorted(&mut stored, "2s"), "");
        let due = stored.due().unwrap().duration_since(Instant::now());
        assert!(due <= PAUSE);
        let mut out = Vec::new();
        stored.release(&mut out);
        assert_eq!((described(out).as_str(), stored.due()), ("(1)2", None));
        // An event without a number follows all held events.
        let (mut stored, mut out) = (opened(), Vec::new());
        let end = Decoded {
            id: None,
            ..event("end", 0, "{}")
        };
        stored.push(event("values", 1, "1"), Instant::now(), &mut out);
        stored.push(end, Instant::now(), &mut out);
        assert_eq!(described(out), "1 end");
    }

    #[tokio::test]
    async fn a_resumed_stream_skips_replayed_events() {
        let mut stored = opened();
        assert_eq!(stored.resume_after(), None);
        sorted(&mut stored, "1 2 3s");
        assert_eq!(stored.resume_after().as_deref(), Some("r_event_3"));
        assert!(stored.is_replay_unproven());
        stored.opened();
        assert_eq!(sorted(&mut stored, "3s 6s 5"), "= (1)5");
        assert!(!stored.is_replay_unproven());
        assert_eq!(sorted(&mut stored, "6s"), "= 6");
    }

    #[tokio::test]
    async fn memory_is_bounded_without_dropping_events() {
        let count = |stored: &mut Stored, events: Vec<String>| {
            let out = sorted(stored, &events.join(" "));
            assert_eq!(out.split(' ').count(), events.len());
        };
        let mut stored = opened();
        count(
            &mut stored,
            (0..3 * MAX_HOLES)
                .map(|n| (2 + 2 * n).to_string())
                .collect(),
        );
        assert_eq!(stored.holes.len(), MAX_HOLES);
        assert_eq!(
            sorted(&mut stored, "3"),
            "3",
            "untracked numbers count as new"
        );
        count(
            &mut opened(),
            (1..=MAX_HELD + 2).map(|n| format!("{n}s")).collect(),
        );
        let last = u64::MAX;
        assert_eq!(
            sorted(&mut opened(), &last.to_string()),
            format!("({}){last}", last - 1)
        );
    }
}
