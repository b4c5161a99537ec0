//! Values on one line.

use crate::protocol::unescape;
use std::borrow::Cow;

/// A raw value on one line, for a summary: texts without their quotes, at most `max` characters.
pub(super) fn summary(raw: &str, max: usize) -> String {
    // Enough bytes for any `max` characters, escaped or not, so that a value of 50 MB costs no more than a short one.
    let head = runtail_core::text::head(raw, max * 6 + 8);
    let end = head.len();
    let head = match head.strip_prefix('"') {
        Some(inner) if end == raw.len() => Cow::Owned(unescape(inner.strip_suffix('"').unwrap_or(inner))),
        Some(inner) => Cow::Borrowed(inner),
        None => runtail_core::text::readable(head),
    };
    let mut out: String = head.chars().take(max).collect();
    if end < raw.len() || head.chars().nth(max).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_short() {
        assert_eq!(summary("\"a\\nb\"", 10), "a\nb");
        assert_eq!(summary("[1,2,3]", 4), "[1,2…");
        assert_eq!(summary(r#"{"a":"\u00e9"}"#, 20), r#"{"a":"é"}"#);
        assert_eq!(summary(&format!("\"{}\"", "é".repeat(1000)), 3), "ééé…");
    }
}
