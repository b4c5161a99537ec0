//! The strings of a JSON text: where they end, what they say, and how a very long one is taken in pieces.

use crate::protocol::unescape;
use std::borrow::Cow;

/// Bytes of a string, as it is written, that are laid out together.
const CHUNK: usize = 8192;
/// How far beyond that a piece may go on to end with a line or a word.
const REACH: usize = 512;

/// Returns where the string that begins at a quote ends, its second quote included.
pub(super) fn end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut i = start + 1;
    loop {
        i += memchr::memchr2(b'"', b'\\', bytes.get(i..)?)?;
        if bytes[i] == b'"' {
            return Some(i + 1);
        }
        i += 2;
    }
}

/// Returns the text of a JSON string. What serde refuses (half a surrogate pair) costs one character.
pub fn unquote(raw: &str) -> String {
    plain(raw).into_owned()
}

/// A key or a value as it is read: a string without its quotes and, where it has any, its escapes.
pub fn plain(raw: &str) -> Cow<'_, str> {
    match inner(raw) {
        Some(inner) if memchr::memchr(b'\\', inner.as_bytes()).is_none() => Cow::Borrowed(inner),
        Some(inner) => Cow::Owned(serde_json::from_str(raw).unwrap_or_else(|_| unescape(inner))),
        None => Cow::Borrowed(raw),
    }
}

fn inner(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?.strip_suffix('"')
}

/// Returns the beginning of a JSON string as it is read, from about so many of its bytes, and whether that is all of it.
pub fn head(raw: &str, bytes: usize) -> (String, bool) {
    let inner = inner(raw).unwrap_or(raw);
    let end = safe(inner, bytes);
    (unescape_part(&inner[..end]), end == inner.len())
}

fn unescape_part(part: &str) -> String {
    if memchr::memchr(b'\\', part.as_bytes()).is_none() { part.to_string() } else { unescape(part) }
}

/// A string in pieces that each cost the same to lay out, however long it is. Their places are found without reading it
/// from its start.
#[derive(Debug, Clone, Copy)]
pub struct Chunks<'a> {
    inner: &'a str,
    escaped: bool,
}

impl<'a> Chunks<'a> {
    /// Returns the pieces of a JSON string as it is written, with its quotes.
    pub fn of_string(raw: &'a str) -> Chunks<'a> {
        Chunks { inner: inner(raw).unwrap_or(raw), escaped: true }
    }

    /// Returns the pieces of any other text.
    pub fn of_text(text: &'a str) -> Chunks<'a> {
        Chunks { inner: text, escaped: false }
    }

    /// Returns how many there are; one where there is no text.
    pub fn count(&self) -> usize {
        let count = self.inner.len().div_ceil(CHUNK).max(1);
        if count > 1 && self.start(count - 1) == self.inner.len() { count - 1 } else { count }
    }

    /// A piece as it is read.
    pub fn text(&self, number: usize) -> String {
        let (from, to) = (self.start(number), self.start(number + 1));
        let part = &self.inner[from..to.max(from)];
        if self.escaped { unescape_part(part) } else { part.to_string() }
    }

    fn start(&self, number: usize) -> usize {
        if number == 0 {
            return 0;
        }
        let at = safe(self.inner, number.saturating_mul(CHUNK));
        // A line's end is best, then a word's.
        let bytes = self.inner.as_bytes();
        let (mut i, mut word) = (at, None);
        while i < bytes.len().min(at + REACH) {
            match bytes[i] {
                b'\\' if bytes.get(i + 1) == Some(&b'n') => return i + 2,
                b'\\' if bytes.get(i + 1) == Some(&b'u') => i += 6,
                b'\\' => i += 2,
                b' ' => {
                    i += 1;
                    word.get_or_insert(i);
                }
                _ => i += 1,
            }
        }
        word.unwrap_or(at)
    }
}

/// Returns the next place from an offset on at which a string can be cut: between characters, and outside of escapes.
fn safe(inner: &str, at: usize) -> usize {
    let bytes = inner.as_bytes();
    if at >= bytes.len() {
        return bytes.len();
    }
    let before = at.saturating_sub(5)..at;
    let mut at = at;
    for p in before {
        if bytes[p] == b'\\' && is_escape(bytes, p) {
            let length = if bytes.get(p + 1) == Some(&b'u') { 6 } else { 2 };
            at = at.max((p + length).min(bytes.len()));
        }
    }
    // The second half of a pair belongs to the first.
    let half = |at: usize, letters: &[u8]| {
        let escape = bytes.get(at..at + 6)?;
        let letter = escape[3].to_ascii_lowercase();
        (escape.starts_with(b"\\u") && escape[2].eq_ignore_ascii_case(&b'd') && letters.contains(&letter)).then_some(())
    };
    if half(at, b"cdef").is_some() && at.checked_sub(6).and_then(|before| half(before, b"89ab")).is_some() {
        at += 6;
    }
    while !inner.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Returns whether a backslash begins an escape, and is not the second half of one.
fn is_escape(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|b| **b == b'\\').count().is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_head_of_a_string_never_ends_in_an_escape() {
        let raw = r#""a\n\u00e9\ud83d\ude00\\n""#;
        let whole = unquote(raw);
        for bytes in 0..raw.len() {
            let (head, all) = head(raw, bytes);
            assert!(whole.starts_with(&head), "{bytes}: {head:?}");
            assert_eq!(all, head == whole);
        }
    }

    #[test]
    fn a_long_text_has_no_seams() {
        for unit in ["word and ", "日本語", "x", "a\nb", "\\\"\u{1f600}", "\u{1}"] {
            let text = unit.repeat(60_000 / unit.len());
            let raw = serde_json::to_string(&text).unwrap();
            let chunks = Chunks::of_string(&raw);
            assert!(chunks.count() > 5, "{unit:?}");
            let joined: String = (0..chunks.count()).map(|n| chunks.text(n)).collect();
            assert!(joined == text, "{unit:?}");
            assert!((0..chunks.count()).all(|n| !chunks.text(n).is_empty()));
        }
    }

    proptest! {
        #[test]
        fn pieces_make_the_whole(text in "[\\\\\"a\n é\u{1f600}\u{1}]{0,60}", times in 1usize..800) {
            let text = text.repeat(times);
            let raw = serde_json::to_string(&text).unwrap();
            let chunks = Chunks::of_string(&raw);
            let joined: String = (0..chunks.count()).map(|n| chunks.text(n)).collect();
            prop_assert!(joined == text);
        }

        #[test]
        fn whatever_is_written_can_be_cut(raw in "[\\\\ud8e0n\" é]{0,40}", at in 0usize..50) {
            head(&raw, at);
            Chunks::of_string(&raw).text(0);
        }
    }
}
