//! The rate strip left of the connection: events or tokens per second of the last seconds. It changes when a second ends,
//! not with each event, and is empty while nothing arrives.

use super::{ConnectionState, Viewer};
use crate::widgets::line::Line;
use crate::widgets::strip;
use jiff::Timestamp;
use runtail_core::text;
use runtail_stream::projection::Rate;

/// Number of seconds in the strip.
const CELLS: usize = 6;
/// Number of seconds in the strip over several streams.
const SUM_CELLS: usize = 20;

/// The rate of all open streams together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SumOfRates {
    /// Tokens per second now, or events if no stream has tokens.
    pub rate: u64,
    /// The unit of the rate: `tok` or `ev`.
    pub unit: &'static str,
    /// How many streams it covers: those that are connected.
    pub streams: usize,
    /// The last seconds.
    pub strip: String,
}

/// Adds up the rates of the connected streams. `None` if none is connected, or if nothing arrived lately.
pub fn sum_of_rates<'v>(
    viewers: impl Iterator<Item = &'v Viewer>,
    now: Timestamp,
) -> Option<SumOfRates> {
    let (mut cells, mut mean, mut streams) = (vec![None::<Rate>; SUM_CELLS], (0.0, 0.0), 0);
    for viewer in viewers.filter(|viewer| viewer.is_measured()) {
        let rates = &viewer.delivery_log().rates;
        streams += 1;
        let (events, tokens) = rates.mean(now);
        mean = (mean.0 + events, mean.1 + tokens);
        // A younger stream has fewer seconds. A second counts if any stream was connected.
        for (cell, rate) in cells
            .iter_mut()
            .rev()
            .zip(rates.buckets(now, 1, SUM_CELLS).into_iter().rev())
        {
            *cell = match (*cell, rate) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            };
        }
    }
    let has_tokens = cells.iter().flatten().any(|rate| rate.tokens > 0);
    let value = |rate: Rate| u64::from(if has_tokens { rate.tokens } else { rate.events });
    let most = cells
        .iter()
        .flatten()
        .map(|rate| value(*rate))
        .max()
        .filter(|most| *most > 0)?;
    let (rate, unit) = if has_tokens {
        (mean.1, "tok")
    } else {
        (mean.0, "ev")
    };
    let known = cells.iter().position(Option::is_some).unwrap_or(0);
    let strip = strip::strip(cells[known..].iter().map(|rate| rate.map(value)), most);
    Some(SumOfRates {
        rate: rate.round() as u64,
        unit,
        streams,
        strip,
    })
}

impl Viewer {
    /// Returns whether its rate is measured now: it is connected, and not a recording.
    fn is_measured(&self) -> bool {
        matches!(self.connection, ConnectionState::Live { .. }) && !self.is_recording()
    }

    /// Returns whether its part of the sum changes with the next second.
    pub fn has_recent_rate(&self, now: Timestamp) -> bool {
        self.is_measured() && self.delivery_log().rates.is_recent(now, SUM_CELLS)
    }

    /// Returns the strip and the rate.
    pub fn rate_strip(&self, now: Timestamp) -> Line {
        let is_live = matches!(self.connection, ConnectionState::Live { .. });
        let is_broken = matches!(
            self.connection,
            ConnectionState::Retrying { .. } | ConnectionState::Connecting { .. }
        );
        if self.playhead().is_some() || !(is_live || is_broken) {
            return Line::new();
        }
        let rates = &self.delivery_log().rates;
        let buckets = rates.buckets(now, 1, CELLS);
        let has_tokens = buckets.iter().flatten().any(|rate| rate.tokens > 0);
        let value = |rate: Rate| u64::from(if has_tokens { rate.tokens } else { rate.events });
        let most = buckets
            .iter()
            .flatten()
            .map(|rate| value(*rate))
            .max()
            .unwrap_or(0);
        if most == 0 {
            return Line::new();
        }
        let mut line = Line::plain(&strip::strip(
            buckets.iter().map(|rate| rate.map(value)),
            most,
        ));
        let (events, tokens) = rates.mean(now);
        let (rate, unit) = if has_tokens {
            (tokens, "tok")
        } else {
            (events, "ev")
        };
        if is_live && rate >= 0.5 {
            line.push_plain(&format!(" {} {unit}/s", text::count(rate.round() as u64)));
        }
        line.push_plain("  ");
        line
    }
}
