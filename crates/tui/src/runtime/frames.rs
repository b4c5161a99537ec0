//! Frame times, logged as one line when the dashboard ends.

use std::time::Duration;

/// Buckets per doubling of the time.
const BUCKETS_PER_DOUBLING: f64 = 8.0;
/// Enough buckets for times from a microsecond to over a minute.
const BUCKETS: usize = 27 * BUCKETS_PER_DOUBLING as usize;

/// A histogram of all frame times, with fixed logarithmic buckets so that it never grows.
#[derive(Debug)]
pub(super) struct Frames {
    counts: [u32; BUCKETS],
    longest: Duration,
}

impl Default for Frames {
    fn default() -> Self {
        Frames {
            counts: [0; BUCKETS],
            longest: Duration::ZERO,
        }
    }
}

impl Frames {
    /// Counts a frame; the time includes layout, drawing and writing.
    pub fn record(&mut self, time: Duration) {
        let bucket =
            ((time.as_micros().max(1) as f64).log2() * BUCKETS_PER_DOUBLING).ceil() as usize;
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.longest = self.longest.max(time);
    }

    /// Returns the time that this share of the frames took at most, rounded up to a bucket.
    fn quantile(&self, share: f64) -> Duration {
        let all: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        let top = Duration::from_micros(
            (bucket.unwrap_or(0) as f64 / BUCKETS_PER_DOUBLING)
                .exp2()
                .ceil() as u64,
        );
        top.min(self.longest)
    }

    /// Logs the frame times.
    pub fn log(&self) {
        let frames: u32 = self.counts.iter().sum();
        let micros = |time: Duration| time.as_micros() as u64;
        let (p50, p99, longest) = (
            micros(self.quantile(0.5)),
            micros(self.quantile(0.99)),
            micros(self.longest),
        );
        tracing::debug!(frames, p50, p99, longest, "frames drawn, in microseconds");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_a_bucket() {
        let mut frames = Frames::default();
        assert_eq!(frames.quantile(0.99), Duration::ZERO);
        for micros in 1..=1000 {
            frames.record(Duration::from_micros(micros));
        }
        let p50 = frames.quantile(0.5).as_micros();
        assert!((500..=545).contains(&p50), "{p50}");
        assert_eq!(frames.quantile(1.0), Duration::from_micros(1000));
        frames.record(Duration::MAX);
        assert_eq!(
            frames.quantile(1.0),
            frames.quantile(1.0).min(Duration::MAX)
        );
    }
}
