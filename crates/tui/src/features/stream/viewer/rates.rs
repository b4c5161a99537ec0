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
impl Viewer {
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
