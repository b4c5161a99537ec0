//! Patterns and formats of texts.

use fancy_regex::{Regex, RegexBuilder};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Maximum backtracking steps of a pattern. Servers send the patterns, and one may be made to run for hours.
const MAX_BACKTRACKING: usize = 10_000;

/// Compiles a pattern, if it can be used here.
pub(super) fn regex(pattern: &str) -> Option<Regex> {
    // Schemas write patterns as JavaScript does, where `\d` is an ASCII digit.
    let pattern = jsonschema_regex::to_rust_regex(pattern).ok()?;
    RegexBuilder::new(&pattern)
        .backtrack_limit(MAX_BACKTRACKING)
        .build()
        .ok()
}

/// Returns whether a text is a regular expression that can be used here.
pub(super) fn is_pattern(text: &str) -> bool {
    regex(text).is_some()
}

/// Returns whether a format is checked, or no format of the drafts that check formats.
pub(super) fn is_known(format: &str) -> bool {
    !matches!(
        format,
        "hostname"
            | "idn-email"
            | "idn-hostname"
            | "iri"
            | "iri-reference"
            | "json-pointer"
            | "relative-json-pointer"
            | "uri-reference"
            | "uri-template"
    )
}

/// Returns whether a text has a format. Any text has an unknown one.
pub(super) fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "date" => is_date(text),
        "time" => is_time(text),
        "date-time" => text
            .split_once(['T', 't'])
            .is_some_and(|(date, time)| is_date(date) && is_time(time)),
        "email" => email_address::EmailAddress::is_valid(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uri" => url::Url::parse(text).is_ok() && text.bytes().all(|byte| byte.is_ascii_graphic()),
        "regex" => is_pattern(text),
        _ => true,
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// A time of day with its offset, as RFC 3339 has it.
fn is_time(text: &str) -> bool {
    let Some(at) = text.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (time, offset) = text.split_at(at);
    let is_offset = matches!(offset, "Z" | "z")
        || (offset.len() == 6
            && offset.starts_with(['+', '-'])
            && offset[1..].parse::<jiff::civil::Time>().is_ok());
    let is_full = time.len() >= 8 && time.as_bytes()[2] == b':' && time.as_bytes()[5] == b':';
    is_full && is_offset && time.parse::<jiff::civil::Time>().is_ok()
}
