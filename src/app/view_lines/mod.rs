//! The lines of each view, made from its projection: one file a view.

pub mod custom;
pub mod difference;
pub mod find;
pub mod ledger;
pub mod lifecycle;
pub mod message;
pub mod raw;
pub mod state;
pub mod timeline;
pub mod updates;

use super::line::{Line, Tone};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Time of day, in the zone of the person.
pub fn clock(at: Timestamp, tz: &TimeZone) -> String {
    at.to_zoned(tz.clone()).strftime("%H:%M:%S").to_string()
}

/// A namespace as people read it: the names, without the task ids.
pub fn namespace(ns: &[Arc<str>]) -> String {
    let names: Vec<&str> = ns.iter().map(|s| s.split_once(':').map_or(&**s, |(name, _)| name)).collect();
    names.join(" › ")
}

/// The first bytes of a text, whole characters.
fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Fills up to a column, so that what follows stands in one.
fn pad(line: &mut Line, column: usize) {
    let missing = column.saturating_sub(line.width());
    line.push(Tone::Plain, &" ".repeat(missing));
}
