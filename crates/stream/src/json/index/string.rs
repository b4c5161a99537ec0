//! The strings of a JSON text: their beginnings, and long ones split into chunks.

use runtail_core::json;

/// Size of a chunk in bytes of JSON.
const CHUNK: usize = 8192;
/// Maximum number of bytes by which a chunk is extended to end with a line or a word.
const MAX_EXTENSION: usize = 512;

/// Decodes a key or a value.
pub fn unquote(raw: &str) -> String {
    json::decoded(raw).into_owned()
}

/// Returns the text between the quotes of a string.
fn inner(raw: &str) -> Option<&str> {
    raw.strip_prefix('"')?.strip_suffix('"')
}

/// Decodes about the first `bytes` bytes of a JSON string. Returns them, and whether they are the whole string.
pub fn head(raw: &str, bytes: usize) -> (String, bool) {
    let inner = inner(raw).unwrap_or(raw);
    let end = boundary(inner, bytes);
    (
        json::unescaped(&inner[..end]).into_owned(),
        end == inner.len(),
    )
}

/// A string split into chunks of about equal size. The boundaries of a chunk are found without reading the string from
/// its start.
#[derive(Debug, Clone, Copy)]
pub struct Chunks<'a> {
    inner: &'a str,
    escaped: bool,
}

impl<'a> Chunks<'a> {
    /// Creates the chunks of a JSON string with quotes.
    pub fn of_string(raw: &'a str) -> Chunks<'a> {
        Chunks {
            inner: inner(raw).unwrap_or(raw),
            escaped: true,
        }
    }

    /// Creates the chunks of any other text.
    pub fn of_text(text: &'a str) -> Chunks<'a> {
        Chunks {
            inner: text,
            escaped: false,
        }
    }

    /// Returns the number of chunks, which is 1 for an empty text.
    pub fn count(&self) -> usize {
        let count = self.inner.len().div_ceil(CHUNK).max(1);
        if count > 1 && self.start(count - 1) == self.inner.len() {
            count - 1
        } else {
            count
        }
    }

    /// Returns a decoded chunk.
    pub fn text(&self, number: usize) -> String {
        let (from, to) = (self.start(number), self.start(number + 1));
        let part = &self.inner[from..to.max(from)];
        if self.escaped {
            json::unescaped(part).into_owned()
        } else {
            part.to_string()
        }
    }

    fn start(&self, number: usize) -> usize {
        if number == 0 {
            return 0;
        }
        let at = boundary(self.inner, number.saturating_mul(CHUNK));
        // Prefer the end of a line, then the end of a word.
        let bytes = self.inner.as_bytes();
        let (mut i, mut word) = (at, None);
        while i < bytes.len().min(at + MAX_EXTENSION) {
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

/// Returns the first position from an offset on that is neither inside of a character nor inside of an escape.
fn boundary(inner: &str, at: usize) -> usize {
    let bytes = inner.as_bytes();
    if at >= bytes.len() {
        return bytes.len();
    }
    let before = at.saturating_sub(5)..at;
    let mut at = at;
    for p in before {
        if bytes[p] == b'\\' && is_escape(bytes, p) {
            let length = if bytes.get(p + 1) == Some(&b'u') {
                6
            } else {
                2
            };
            at = at.max((p + length).min(bytes.len()));
        }
    }
    // Don't split a surrogate pair.
    let half = |at: usize, letters: &[u8]| {
        let escape = bytes.get(at..at + 6)?;
        let letter = escape[3].to_ascii_lowercase();
        (escape.starts_with(b"\\u")
            && escape[2].eq_ignore_ascii_case(&b'd')
            && letters.contains(&letter))
        .then_some(())
    };
    if half(at, b"cdef").is_some()
        && at
            .checked_sub(6)
            .and_then(|before| half(before, b"89ab"))
            .is_some()
    {
        at += 6;
    }
    while !inner.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// Returns whether a backslash begins an escape, rather than being escaped itself.
fn is_escape(bytes: &[u8], at: usize) -> bool {
    bytes[..at]
        .iter()
        .rev()
        .take_while(|b| **b == b'\\')
        .count()
        .is_multiple_of(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_head_of_a_string_never_ends_in_an_escape() {
        let raw = r#""a\n\u00e9\ud83d\ude00\\n""#;
        let whole = json::decoded(raw);
        for bytes in 0..raw.len() {
            let (head, all) = head(raw, bytes);
            assert!(whole.starts_with(&head), "{bytes}: {head:?}");
            assert_eq!(all, head == whole);
        }
    }

    #[test]
    fn chunks_of_a_long_text_join_without_loss() {
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
        fn chunks_join_to_the_whole_text(text in "[\\\\\"a\n é\u{1f600}\u{1}]{0,60}", times in 1usize..800) {
            let text = text.repeat(times);
            let raw = serde_json::to_string(&text).unwrap();
            let chunks = Chunks::of_string(&raw);
            let joined: String = (0..chunks.count()).map(|n| chunks.text(n)).collect();
            prop_assert!(joined == text);
        }

        #[test]
        fn any_escapes_can_be_split(raw in "[\\\\ud8e0n\" é]{0,40}", at in 0usize..50) {
            head(&raw, at);
            Chunks::of_string(&raw).text(0);
        }
    }
}
