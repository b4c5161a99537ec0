//! Sequential ids. Some servers number a run's events consecutively and may deliver each to a single reader, so a skipped
//! number means that an event went elsewhere.

/// Number of consecutive ids after which an unknown server is assumed to number its events.
const MIN_CONSECUTIVE: u32 = 8;
/// Separates the run and the number in Aegra's ids, which are always sequential.
const AEGRA_SEPARATOR: &str = "_event_";

/// Tracks the sequence numbers of one stream.
#[derive(Debug, Default)]
pub(crate) struct SequenceTracker {
    /// The prefix and the number of the newest id.
    last: Option<(Box<str>, u64)>,
    /// Number of consecutive ids up to the newest.
    consecutive: u32,
    /// Whether only some of the events are requested.
    is_partial: bool,
    /// The number of a run's first event, on servers known to number events.
    first: Option<u64>,
    /// Whether some events were not requested before, so the first number is meaningless.
    is_resumed: bool,
}

/// Splits an id into its prefix and its number.
pub(crate) fn split(id: &str) -> Option<(&str, u64)> {
    let digits = id.len() - id.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (run, number) = id.split_at(digits);
    // In `<time>-<number>` the number does not count all events.
    Some((run, number.parse().ok().filter(|_| !run.ends_with('-'))?))
}

impl SequenceTracker {
    /// Prepares for a connection that requests all events, or only some of them. `first` is the number of a run's first
    /// event, on servers known to number events.
    pub fn requested(&mut self, all: bool, first: Option<u64>) {
        if all == self.is_partial {
            *self = SequenceTracker {
                is_partial: !all,
                is_resumed: true,
                ..SequenceTracker::default()
            };
        }
        self.first = first;
    }

    /// Records the id of a new event and returns how many are missing before it.
    pub fn missing(&mut self, id: &str) -> u64 {
        if self.is_partial {
            return 0;
        }
        let Some((run, number)) = split(id) else {
            self.last = None;
            return 0;
        };
        let before = self
            .last
            .as_ref()
            .filter(|(of, _)| **of == *run)
            .map(|(_, number)| *number);
        match before {
            // Out of order; the newest stays.
            Some(last) if number <= last => return 0,
            Some(last) if number == last + 1 => {
                self.consecutive = self.consecutive.saturating_add(1)
            }
            Some(last) => {
                let is_accepted = self.first.is_some()
                    || run.ends_with(AEGRA_SEPARATOR)
                    || self.consecutive >= MIN_CONSECUTIVE;
                self.consecutive = 0;
                self.last = Some((run.into(), number));
                return if is_accepted { number - last - 1 } else { 0 };
            }
            None => self.consecutive = 0,
        }
        let is_first = self.last.is_none() && !self.is_resumed;
        match &mut self.last {
            Some((of, last)) if **of == *run => *last = number,
            other => *other = Some((run.into(), number)),
        }
        self.first
            .filter(|_| is_first)
            .map_or(0, |first| number.saturating_sub(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(ids: &[&str]) -> Vec<u64> {
        let mut tracker = SequenceTracker::default();
        ids.iter().map(|id| tracker.missing(id)).collect()
    }

    #[test]
    fn skipped_numbers_are_missing_events() {
        let aegra = [
            "r_event_4",
            "r_event_5",
            "r_event_9",
            "r_event_7",
            "r_event_10",
            "s_event_3",
            "s_event_5",
        ];
        assert_eq!(missing(&aegra), [0, 0, 3, 0, 0, 0, 1]);
        let numbers: Vec<String> = (0..=8).chain([11, 13]).map(|n| n.to_string()).collect();
        let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
        // After a jump, the numbers must be consecutive again before they are trusted.
        assert_eq!(missing(&numbers), [0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0]);
    }

    #[test]
    fn timestamps_and_partial_streams_have_no_sequence() {
        assert_eq!(
            missing(&[
                "1795224332619-0",
                "1795224332619-7",
                "1795224332700-0",
                "x",
                ""
            ]),
            [0; 5]
        );
        assert_eq!(
            missing(&["1795224332619", "1795224332620", "1795224332700"]),
            [0; 3]
        );
        let mut tracker = SequenceTracker::default();
        assert_eq!(tracker.missing("r_event_1"), 0);
        tracker.requested(false, None);
        assert_eq!(
            [tracker.missing("r_event_5"), tracker.missing("r_event_9")],
            [0, 0]
        );
        tracker.requested(true, None);
        assert_eq!(
            [tracker.missing("r_event_15"), tracker.missing("r_event_17")],
            [0, 1]
        );
    }

    #[test]
    fn known_sequential_ids_are_checked_from_the_first_event() {
        let of = |ids: &[&str]| {
            let mut tracker = SequenceTracker::default();
            tracker.requested(true, Some(0));
            ids.iter().map(|id| tracker.missing(id)).collect::<Vec<_>>()
        };
        // Two alternating readers; this one joined late.
        assert_eq!(of(&["99", "101", "103", "104"]), [99, 1, 1, 0]);
        assert_eq!(of(&["0", "1", "2"]), [0, 0, 0]);
    }
}
