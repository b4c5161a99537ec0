//! Ids that count: on some servers each event of a run has the number after that of the one before it, and goes to one
//! reader only. There a number that is passed over is an event that was lost, whoever has it.

/// Steps of one after which numbers are believed to count, where their form does not say it.
const BELIEVED: u32 = 8;
/// Between the run and the number, in ids of Aegra: there the number counts from the first event on.
const COUNTS: &str = "_event_";

/// The numbers of one stream.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// What stands before the number, and the number that came last.
    last: Option<(Box<str>, u64)>,
    steps: u32,
    /// Only some of the events are asked for.
    is_partial: bool,
}

impl Numbers {
    /// The next connection asks for all events, or for some of them.
    pub fn asked_for(&mut self, all: bool) {
        if all == self.is_partial {
            *self = Numbers { is_partial: !all, ..Numbers::default() };
        }
    }

    /// Takes the id of a new event, and tells how many are missing before it.
    pub fn missing(&mut self, id: &str) -> u64 {
        if self.is_partial {
            return 0;
        }
        let digits = id.len() - id.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (run, number) = id.split_at(digits);
        // A time with a number behind it counts nothing over all.
        let Some(number) = number.parse::<u64>().ok().filter(|_| !run.ends_with('-')) else {
            self.last = None;
            return 0;
        };
        let before = self.last.as_ref().filter(|(of, _)| **of == *run).map(|(_, number)| *number);
        match before {
            // A late one; the newest stays.
            Some(last) if number <= last => return 0,
            Some(last) if number == last + 1 => self.steps = self.steps.saturating_add(1),
            Some(last) => {
                let is_believed = run.ends_with(COUNTS) || self.steps >= BELIEVED;
                self.steps = 0;
                self.last = Some((run.into(), number));
                return if is_believed { number - last - 1 } else { 0 };
            }
            None => self.steps = 0,
        }
        match &mut self.last {
            Some((of, last)) if **of == *run => *last = number,
            other => *other = Some((run.into(), number)),
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(ids: &[&str]) -> Vec<u64> {
        let mut numbers = Numbers::default();
        ids.iter().map(|id| numbers.missing(id)).collect()
    }

    #[test]
    fn numbers_that_are_passed_over_are_missing() {
        let aegra = ["r_event_4", "r_event_5", "r_event_9", "r_event_7", "r_event_10", "s_event_3", "s_event_5"];
        assert_eq!(missing(&aegra), [0, 0, 3, 0, 0, 0, 1]);
        let counts: Vec<String> = (0..=8).chain([11, 13]).map(|n| n.to_string()).collect();
        let counts: Vec<&str> = counts.iter().map(String::as_str).collect();
        // Once they have jumped they have to prove themselves again.
        assert_eq!(missing(&counts), [0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0]);
    }

    #[test]
    fn times_and_some_of_the_events_count_nothing() {
        assert_eq!(missing(&["1795224332619-0", "1795224332619-7", "1795224332700-0", "x", ""]), [0; 5]);
        assert_eq!(missing(&["1795224332619", "1795224332620", "1795224332700"]), [0; 3]);
        let mut numbers = Numbers::default();
        assert_eq!(numbers.missing("r_event_1"), 0);
        numbers.asked_for(false);
        assert_eq!([numbers.missing("r_event_5"), numbers.missing("r_event_9")], [0, 0]);
        numbers.asked_for(true);
        assert_eq!([numbers.missing("r_event_15"), numbers.missing("r_event_17")], [0, 1]);
    }
}
