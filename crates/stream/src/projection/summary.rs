//! One-line summaries of values.

use runtail_core::json;
use std::borrow::Cow;

/// Summarizes a raw value: at most `max` characters, strings without their quotes.
pub(super) fn summary(raw: &str, max: usize) -> String {
    // These bytes contain at least `max` characters, even if all are escaped. The rest of a large value is not read.
    let head = runtail_core::text::head(raw, max * 6 + 8);
    let end = head.len();
    let head = match head.strip_prefix('"') {
        Some(inner) if end == raw.len() => {
            json::unescaped(inner.strip_suffix('"').unwrap_or(inner))
        }
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
    fn summaries_are_shortened() {
        assert_eq!(summary("\"a\\nb\"", 10), "a\nb");
        assert_eq!(summary("[1,2,3]", 4), "[1,2…");
        assert_eq!(summary(r#"{"a":"\u00e9"}"#, 20), r#"{"a":"é"}"#);
        assert_eq!(summary(&format!("\"{}\"", "é".repeat(1000)), 3), "ééé…");
    }
}
