//! Frame times, logged in one line when the dashboard ends.

use std::time::Duration;

/// Steps to each doubling.
const STEPS: f64 = 8.0;
/// Microseconds, up to over a minute.
const BUCKETS: usize = 27 * STEPS as usize;

/// The times of all frames, by size: a place for each eighth of a doubling, so it never grows.
#[derive(Debug)]
pub(super) struct Frames {
    counts: [u32; BUCKETS],
    longest: Duration,
}

impl Default for Frames {
    fn default() -> Self {
        Frames { counts: [0; BUCKETS], longest: Duration::ZERO }
    }
}

impl Frames {
    /// Counts a frame: laid out, drawn and written.
    pub fn took(&mut self, time: Duration) {
        let place = ((time.as_micros().max(1) as f64).log2() * STEPS).ceil() as usize;
        self.counts[place.min(BUCKETS - 1)] += 1;
        self.longest = self.longest.max(time);
    }

    /// The time that this share of the frames took at most, to an eighth of a doubling.
    fn quantile(&self, share: f64) -> Duration {
        let all: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let wanted = (all as f64 * share).ceil() as u64;
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted
        });
        let top = Duration::from_micros((place.unwrap_or(0) as f64 / STEPS).exp2().ceil() as u64);
        top.min(self.longest)
    }

    /// Writes them to the log.
    pub fn tell(&self) {
        let frames: u32 = self.counts.iter().sum();
        let micros = |time: Duration| time.as_micros() as u64;
        let (p50, p99, longest) = (micros(self.quantile(0.5)), micros(self.quantile(0.99)), micros(self.longest));
        tracing::debug!(frames, p50, p99, longest, "frames drawn, in microseconds");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_frames_took_no_longer() {
        let mut frames = Frames::default();
        assert_eq!(frames.quantile(0.99), Duration::ZERO);
        for micros in 1..=1000 {
            frames.took(Duration::from_micros(micros));
        }
        let p50 = frames.quantile(0.5).as_micros();
        assert!((500..=545).contains(&p50), "{p50}");
        assert_eq!(frames.quantile(1.0), Duration::from_micros(1000));
        frames.took(Duration::MAX);
        assert_eq!(frames.quantile(1.0), frames.quantile(1.0).min(Duration::MAX));
    }
}
