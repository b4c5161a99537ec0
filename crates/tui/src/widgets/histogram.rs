//! A histogram of durations with logarithmic buckets and marks at percentiles.

use super::line::{Line, Tone};
use super::strip;
use runtail_core::text;
use std::time::Duration;

/// Durations below this share one bucket.
const MIN: Duration = Duration::from_millis(1);

/// A distribution of durations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    sorted: Vec<Duration>,
}

impl Histogram {
    /// Creates the distribution of some durations.
    pub fn of(durations: impl Iterator<Item = Duration>) -> Histogram {
        let mut sorted: Vec<Duration> = durations.collect();
        sorted.sort_unstable();
        Histogram { sorted }
    }

    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// Returns the smallest duration that at least this share of all durations don't exceed.
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let rank = (share * self.sorted.len() as f64).ceil() as usize;
        self.sorted
            .get(rank.clamp(1, self.sorted.len().max(1)) - 1)
            .copied()
    }

    pub fn max(&self) -> Option<Duration> {
        self.sorted.last().copied()
    }

    /// Returns the column of a duration.
    fn column(&self, duration: Duration, columns: usize) -> usize {
        let log = |duration: Duration| duration.max(MIN).as_secs_f64().ln();
        let (Some(first), Some(last)) = (self.sorted.first(), self.sorted.last()) else {
            return 0;
        };
        let range = (log(*last) - log(*first)).max(1e-9);
        let at = (log(duration) - log(*first)) / range * columns as f64;
        (at.max(0.0) as usize).min(columns.saturating_sub(1))
    }

    /// Returns the number of durations in each column.
    pub fn buckets(&self, columns: usize) -> Vec<u64> {
        let mut buckets = vec![0; columns];
        for duration in &self.sorted {
            if let Some(bucket) = buckets.get_mut(self.column(*duration, columns)) {
                *bucket += 1;
            }
        }
        buckets
    }

    /// Returns the numbers as text: `p50 0.6s, p95 3.4s, max 6.1s, 132 calls`.
    pub fn text(&self, gap: &str) -> String {
        let number = |name: &str, duration: Option<Duration>| {
            duration.map(|d| format!("{name} {}", text::span(d)))
        };
        let parts = [
            number("p50", self.percentile(0.5)),
            number("p95", self.percentile(0.95)),
            number("max", self.max()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(gap)
    }

    /// Returns two lines: the buckets, and the marks below them.
    pub fn lines(&self, columns: usize) -> [Line; 2] {
        let buckets = self.buckets(columns);
        let most = buckets.iter().copied().max().unwrap_or(0);
        let cell = |count: &u64| {
            if *count == 0 {
                " "
            } else {
                strip::level(*count, most)
            }
        };
        let bars: String = buckets.iter().map(cell).collect();
        let mark = |share: f64, name: &str| {
            let duration = self.percentile(share)?;
            Some((
                self.column(duration, columns),
                format!("▲ {name}"),
                Tone::Accent,
            ))
        };
        let end = |duration: Option<&Duration>, column: usize| {
            duration.map(|duration| (column, text::span(*duration), Tone::Dim))
        };
        let last = self
            .sorted
            .last()
            .map_or(0, |last| columns.saturating_sub(text::span(*last).len()));
        // Marks are more important than the ends of the axis.
        let labels = [
            mark(0.5, "p50"),
            mark(0.95, "p95"),
            end(self.sorted.first(), 0),
            end(self.sorted.last(), last),
        ];
        let mut placed: Vec<(usize, String, Tone)> = Vec::new();
        for (at, label, tone) in labels.into_iter().flatten() {
            let range = at..at + text::width(&label) + 1;
            let overlaps = |(other, label, _): &(usize, String, Tone)| {
                range.start <= other + text::width(label) && *other < range.end
            };
            if !placed.iter().any(overlaps) {
                placed.push((at, label, tone));
            }
        }
        placed.sort_by_key(|(at, ..)| *at);
        let mut axis = Line::new();
        for (at, label, tone) in placed {
            axis.push_plain(&" ".repeat(at.saturating_sub(axis.width())));
            axis.push(tone, &label);
        }
        [Line::plain(bars.trim_end()), axis]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn two_humps_stay_visible() {
        let fast = (0..90).map(|n| ms(200 + n * 5));
        let histogram = Histogram::of(fast.chain((0..12).map(|n| ms(5_000 + n * 100))));
        assert_eq!(histogram.text(", "), "p50 0.5s, p95 5.6s, max 6.1s");
        let [bars, axis] = histogram.lines(40);
        let middle: String = bars.text().chars().skip(18).take(10).collect();
        assert_eq!(middle.trim(), "", "{bars:?}");
        assert!(
            axis.text().contains("▲ p50") && axis.text().contains("▲ p95"),
            "{axis:?}"
        );
    }

    #[test]
    fn one_value_and_none_are_drawn() {
        assert_eq!(
            Histogram::default().lines(10).map(|line| line.text()),
            ["", ""]
        );
        let one = Histogram::of([ms(300)].into_iter());
        assert_eq!(one.lines(10).map(|line| line.text()), ["▇", "▲ p50 0.3s"]);
        assert_eq!(one.text(" "), "p50 0.3s p95 0.3s max 0.3s");
    }

    proptest! {
        #[test]
        fn percentiles_and_buckets_are_consistent(all in proptest::collection::vec(0u64..100_000, 1..200), columns in 1usize..60) {
            let histogram = Histogram::of(all.iter().map(|n| ms(*n)));
            let marks = [0.0, 0.5, 0.95, 1.0].map(|share| histogram.percentile(share).unwrap());
            prop_assert!(marks.is_sorted() && histogram.max() == Some(marks[3]));
            prop_assert_eq!(histogram.buckets(columns).iter().sum::<u64>(), all.len() as u64);
            prop_assert!(histogram.lines(columns)[0].width() <= columns);
        }
    }
}
