//! The views of a stream, each with its lines, built from its projection.

pub mod events;
pub mod find;
mod list;
pub mod messages;
pub mod runs;
pub mod state;
pub mod states;
pub mod steps;
pub mod stream_view;
pub mod time_travel;
pub mod timeline;

use crate::widgets::line::Line;
use crate::widgets::scroll::Flat;
use crate::widgets::status::precise;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use runtail_core::text;
use runtail_stream::projection::{FirstToken, Messages, Rows};
use std::sync::Arc;

/// The views of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Messages, token by token.
    Messages,
    /// One row for each task, live or from the records.
    Steps,
    /// The state after each step.
    State,
    /// Bars for nodes, tools and model calls.
    Timeline,
    /// The graph of the assistant, with what ran.
    Graph,
    /// Every event as received, and how they were delivered.
    Events,
    /// One row for each run of the thread.
    Runs,
}

/// All views, in the order of their keys.
pub const VIEWS: [View; 7] = [
    View::Messages,
    View::Steps,
    View::State,
    View::Timeline,
    View::Graph,
    View::Events,
    View::Runs,
];

/// The views that a new page shows, the second one in a split.
pub const FIRST_VIEWS: [View; 2] = [View::Messages, View::Events];

/// Returns the keys of a projection's rows. Rows keep their keys when older ones are evicted.
pub fn extent<T>(rows: &Rows<T>) -> Flat {
    Flat {
        first: rows.evicted(),
        end: rows.evicted() + rows.len() as u64,
    }
}

/// Returns the row with a key.
pub fn row_at<T>(rows: &Rows<T>, key: u64) -> Option<&T> {
    rows.get(usize::try_from(key.checked_sub(rows.evicted())?).ok()?)
}

/// Formats times, in eight columns unless they have a date.
pub trait TimeFormat {
    fn format(&self, at: Timestamp) -> String;
}

/// Formats the time of day in the user's zone.
impl TimeFormat for TimeZone {
    fn format(&self, at: Timestamp) -> String {
        at.to_zoned(self.clone()).strftime("%H:%M:%S").to_string()
    }
}

/// How the times of a stream's entries are shown.
#[derive(Debug, Clone, Copy)]
pub enum Clock<'a> {
    /// As time of day, with the date if it is not today.
    Wall(&'a TimeZone, Date),
    /// Relative to another time; empty if there is none.
    Since(Option<Timestamp>),
}

impl TimeFormat for Clock<'_> {
    fn format(&self, at: Timestamp) -> String {
        match self {
            Clock::Wall(tz, today) => {
                let at = at.to_zoned((*tz).clone());
                let is_today = at.date() == *today;
                at.strftime(if is_today { "%H:%M:%S" } else { "%d %b %H:%M" })
                    .to_string()
            }
            Clock::Since(Some(since)) => format!("{:>8}", offset(at.duration_since(*since))),
            Clock::Since(None) => " ".repeat(8),
        }
    }
}

/// Formats a time difference in at most eight columns: `+12ms`, `+1.20s`, `+2m10s`. It can be negative if a clock was
/// set back.
fn offset(by: SignedDuration) -> String {
    let sign = if by < SignedDuration::ZERO { '-' } else { '+' };
    let by = by.unsigned_abs();
    match by.as_millis() {
        ms @ 0..1_000 => format!("{sign}{ms}ms"),
        0..100_000 => format!("{sign}{:.2}s", by.as_secs_f64()),
        _ => format!("{sign}{}", text::duration(by)),
    }
}

/// Formats a time, or a dash in eight columns if it is unknown.
pub fn clock(at: impl Into<Option<Timestamp>>, times: &impl TimeFormat) -> String {
    at.into()
        .map_or_else(|| format!("{UNKNOWN:>8}"), |at| times.format(at))
}

/// The placeholder for an unknown time.
pub const UNKNOWN: &str = "–";

/// Formats a time to first token: `0.41s`, or `~0.41s` if the start of its call is an estimate.
pub fn first_token(first: FirstToken) -> String {
    let tilde = if first.is_exact { "" } else { "~" };
    format!(
        "{tilde}{}",
        precise(SignedDuration::try_from(first.after).unwrap_or_default())
    )
}

/// Formats a namespace as its names without the task ids.
pub fn namespace(ns: &[Arc<str>]) -> String {
    let names: Vec<&str> = ns
        .iter()
        .map(|s| s.split_once(':').map_or(&**s, |(name, _)| name))
        .collect();
    names.join(" › ")
}

/// Returns the names of a message's namespace. Subgraphs of one name that run at once are numbered.
pub fn place_of(ns: &[Arc<str>], messages: &Messages) -> String {
    let name = |segment: &Arc<str>| {
        let name = namespace(std::slice::from_ref(segment));
        messages
            .sibling(segment)
            .map_or_else(|| name.clone(), |number| format!("{name} #{number}"))
    };
    ns.iter().map(name).collect::<Vec<_>>().join(" › ")
}

/// Pads a line to a column.
fn pad(line: &mut Line, column: usize) {
    let missing = column.saturating_sub(line.width());
    line.push_plain(&" ".repeat(missing));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_fit_their_column() {
        let ms = SignedDuration::from_millis;
        for (by, text) in [
            (0, "+0ms"),
            (999, "+999ms"),
            (1_200, "+1.20s"),
            (99_999, "+100.00s"),
            (130_000, "+2m10s"),
        ] {
            assert_eq!(offset(ms(by)), text);
        }
        assert_eq!(offset(ms(-40)), "-40ms");
        let at = Timestamp::from_second(90_000_000).unwrap();
        let on = |day: i8| Clock::Wall(&TimeZone::UTC, jiff::civil::date(1972, 11, day)).format(at);
        assert_eq!(
            (on(7).as_str(), on(8).as_str()),
            ("16:00:00", "07 Nov 16:00")
        );
        for since in [
            None,
            Some(at),
            Some(Timestamp::UNIX_EPOCH),
            Some(at - ms(1)),
        ] {
            assert_eq!(Clock::Since(since).format(at).len(), 8, "{since:?}");
        }
    }
}
