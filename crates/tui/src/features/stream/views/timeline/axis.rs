//! The axis of the Timeline: where the time of a run lies in cells. Times while a run waited for a person are cut out.

use jiff::Timestamp;
use runtail_core::text;
use std::time::Duration;

/// Minimum columns of a tick's label.
const MIN_TICK_WIDTH: usize = 12;
/// The shortest length of an axis.
const SHORTEST: Duration = Duration::from_millis(1);
/// The lengths that the axis of a running run grows to, so that bars don't shrink constantly.
const LENGTHS: [u64; 30] = [
    1, 2, 3, 4, 6, 8, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 600, 900, 1200, 1800,
    2700, 3600, 5400, 7200, 10_800, 18_000, 43_200, 86_400,
];

/// Returns the time between two times, or zero if they are in the other order.
pub fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

/// The times of a run, as offsets from its start without the cut times.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    start: Timestamp,
    /// Times that are cut out, oldest first.
    cuts: Vec<(Timestamp, Timestamp)>,
    /// Offset of the end of the last bar.
    pub ran: Duration,
    /// Length of the axis.
    pub length: Duration,
}

impl Axis {
    /// Creates the axis from a start to an end. The axis of a running run is longer than it ran so far.
    pub fn new(
        start: Timestamp,
        end: Timestamp,
        cuts: Vec<(Timestamp, Timestamp)>,
        is_running: bool,
    ) -> Axis {
        let mut axis = Axis {
            start,
            cuts,
            ran: Duration::ZERO,
            length: Duration::ZERO,
        };
        axis.ran = axis.offset(end).max(SHORTEST);
        let steps = LENGTHS.into_iter().map(Duration::from_secs);
        axis.length = match is_running {
            true => steps
                .into_iter()
                .find(|step| *step >= axis.ran)
                .unwrap_or(axis.ran * 2),
            false => axis.ran,
        };
        axis
    }

    /// Returns the offset of a time.
    pub fn offset(&self, at: Timestamp) -> Duration {
        let cut = |(from, to): &(Timestamp, Timestamp)| between(*from, (*to).min(at));
        between(self.start, at).saturating_sub(self.cuts.iter().map(cut).sum())
    }

    /// Returns the offsets of the cuts, and how long each was.
    pub fn cuts(&self) -> impl Iterator<Item = (Duration, Duration)> + '_ {
        self.cuts
            .iter()
            .map(|(from, to)| (self.offset(*from), between(*from, *to)))
    }

    /// Returns the time that is cut out.
    pub fn waited(&self) -> Duration {
        self.cuts().map(|(_, waited)| waited).sum()
    }
}

/// The scale of an axis: its length, at least [`SHORTEST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale(pub Duration);

impl Scale {
    pub fn of(length: Duration) -> Scale {
        Scale(length.max(SHORTEST))
    }

    /// Returns the column of an offset, as a fraction.
    fn place(self, at: Duration, columns: usize) -> f64 {
        at.as_secs_f64() / self.0.as_secs_f64() * columns as f64
    }

    /// Returns the first column of a bar and the number of its columns, at least one; `None` if it begins after the axis, or there
    /// are no columns.
    pub fn cells(self, (from, to): (Duration, Duration), columns: usize) -> Option<(usize, usize)> {
        if columns == 0 || from > self.0 {
            return None;
        }
        let first = (self.place(from, columns) as usize).min(columns - 1);
        let last = (self.place(to, columns).round() as usize).clamp(first + 1, columns);
        Some((first, last - first))
    }

    /// Returns the ticks: their columns and labels, at multiples of 1, 2 or 5, or of round minutes and hours.
    pub fn ticks(self, columns: usize) -> Vec<(usize, String)> {
        let length = self.0.as_secs_f64();
        let tick = round_up(length / (columns / MIN_TICK_WIDTH).max(1) as f64);
        let mut ticks: Vec<(usize, String)> = Vec::new();
        for n in 0..=columns {
            let at = n as f64 * tick;
            let column = self.place(Duration::from_secs_f64(at), columns).round() as usize;
            let text = label(at, tick);
            if column + text.len() > columns {
                break;
            }
            if ticks
                .last()
                .is_none_or(|(column_before, before)| column > column_before + before.len())
            {
                ticks.push((column, text));
            }
        }
        ticks
    }
}

/// Rounds up to 1, 2, 5, 10, …, or to a round number of seconds, minutes or hours.
fn round_up(seconds: f64) -> f64 {
    const LONG: [f64; 12] = [
        10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0, 7200.0, 18_000.0,
    ];
    if seconds > 5.0 {
        return LONG
            .into_iter()
            .find(|long| *long >= seconds)
            .unwrap_or((seconds / 36_000.0).ceil() * 36_000.0);
    }
    let power = 10_f64.powf(seconds.max(1e-4).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|n| n * power)
        .find(|round| *round >= seconds * 0.999)
        .unwrap_or(seconds)
}

fn label(seconds: f64, tick: f64) -> String {
    match (seconds, tick) {
        (s, tick) if s >= 60.0 && tick >= 60.0 && s % 60.0 == 0.0 && s < 3600.0 => {
            format!("{:.0}m", s / 60.0)
        }
        (s, tick) if s >= 60.0 && tick >= 1.0 => text::duration(Duration::from_secs_f64(s)),
        (s, tick) if tick >= 1.0 || s == 0.0 => format!("{s:.0}s"),
        (s, tick) if tick >= 0.1 => format!("{s:.1}s"),
        (s, _) if s >= 10.0 => format!("{s:.2}s"),
        (s, _) => format!("{:.0}ms", s * 1e3),
    }
}

/// Returns how many spans run at the same time in each column of an axis: the maximum within the column.
pub fn parallel(
    spans: impl Iterator<Item = (Duration, Duration)>,
    length: Duration,
    columns: usize,
) -> Vec<u32> {
    let mut counts = vec![0_u32; columns];
    let mut edges: Vec<(Duration, bool)> = Vec::new();
    for (from, to) in spans {
        // A span without a length is visible too.
        edges.extend([
            (from, true),
            (to.max(from + Duration::from_nanos(1)), false),
        ]);
    }
    // Ends before starts: what follows something else doesn't run at the same time.
    edges.sort_unstable();
    let mut running = 0_u32;
    for (i, (at, begins)) in edges.iter().enumerate() {
        running = if *begins {
            running + 1
        } else {
            running.saturating_sub(1)
        };
        let until = edges.get(i + 1).map_or(*at, |(next, _)| *next);
        if let Some((first, cells)) = Scale::of(length).cells((*at, until), columns) {
            let pooled = counts.iter_mut().skip(first).take(cells);
            pooled.for_each(|count| *count = (*count).max(running));
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn waiting_is_cut_out_of_the_axis() {
        let axis = Axis::new(at(0), at(100_000), vec![(at(2_000), at(92_000))], false);
        assert_eq!((axis.length, axis.waited()), (ms(10_000), ms(90_000)));
        let offsets =
            [1_000, 2_000, 50_000, 92_000, 93_000].map(|ms| axis.offset(at(ms)).as_millis());
        assert_eq!(offsets, [1_000, 2_000, 2_000, 2_000, 3_000]);
        assert_eq!(axis.cuts().collect::<Vec<_>>(), [(ms(2_000), ms(90_000))]);
        // The axis of a running run grows in steps.
        let lengths = [900, 1_100, 2_100, 61_000]
            .map(|ms| Axis::new(at(0), at(ms), vec![], true).length.as_secs());
        assert_eq!(lengths, [1, 2, 3, 90]);
    }

    #[test]
    fn ticks_are_round_and_dont_touch() {
        let ticks = |secs: u64, columns| {
            let ticks = Scale::of(Duration::from_secs(secs)).ticks(columns);
            ticks
                .into_iter()
                .map(|(at, text)| format!("{at}:{text}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(ticks(206, 68), "0:0s 20:1m 40:2m 59:3m");
        assert_eq!(ticks(4, 60), "0:0s 15:1s 30:2s 45:3s");
    }

    #[test]
    fn calls_in_parallel_are_pooled_by_max() {
        let spans =
            [(0, 500), (100, 120), (110, 130), (500, 1_000)].map(|(from, to)| (ms(from), ms(to)));
        assert_eq!(
            parallel(spans.into_iter(), ms(1_000), 10),
            [1, 3, 1, 1, 1, 1, 1, 1, 1, 1]
        );
        assert_eq!(
            parallel([(ms(900), ms(950))].into_iter(), ms(1_000), 4),
            [0, 0, 0, 1]
        );
    }

    proptest! {
        #[test]
        fn cells_stay_inside_of_the_axis(from in 0u64..2_000, length in 0u64..2_000, size in 1u64..1_000, columns in 0usize..80) {
            let scale = Scale::of(ms(size));
            match scale.cells((ms(from), ms(from + length)), columns) {
                Some((first, cells)) => prop_assert!(cells > 0 && first + cells <= columns),
                None => prop_assert!(columns == 0 || from > size),
            }
            for (column, label) in scale.ticks(columns) {
                prop_assert!(column + label.len() <= columns);
            }
        }
    }
}
