//! The tokens of a JSON text: the only place that finds where a string, a number or a word ends. Invalid JSON has tokens, too.

use std::ops::Range;

/// Bytes of a string that are read one by one.
const SHORT: usize = 16;

/// Returns where a JSON string ends, given the text after its opening quotation mark: at its closing one, else at the end of the text.
pub fn string_end(json: &[u8]) -> usize {
    let mut at = 0;
    // Most strings are too short for a search.
    while let Some(byte) = json.get(at).filter(|_| at < SHORT) {
        match byte {
            b'"' => return at,
            b'\\' => break,
            _ => at += 1,
        }
    }
    while let Some(found) = memchr::memchr2(b'"', b'\\', &json[at..]) {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        at = (at + 2).min(json.len());
    }
    json.len()
}

/// Returns the end of the token that begins at an offset: a string with its quotes, one mark of punctuation, or all up to the next
/// separator. `None` if a string is not closed.
pub fn token_end(json: &[u8], from: usize) -> Option<usize> {
    let is_end = |b: &u8| matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
    match json[from] {
        b'"' => {
            let end = from + 1 + string_end(&json[from + 1..]);
            (end < json.len()).then_some(end + 1)
        }
        b'{' | b'}' | b'[' | b']' | b',' | b':' => Some(from + 1),
        _ => Some(
            json[from..]
                .iter()
                .position(is_end)
                .map_or(json.len(), |n| from + n),
        ),
    }
}

/// Returns where the next token begins.
pub(super) fn token_start(json: &[u8], from: usize) -> Option<usize> {
    let is_token = |b: &u8| !matches!(b, b' ' | b'\t' | b'\r' | b'\n');
    Some(from + json[from..].iter().position(is_token)?)
}

/// Returns the tokens of a text. A string that is not closed ends with it.
pub fn tokens(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let from = token_start(json, at)?;
        at = token_end(json, from).unwrap_or(json.len());
        Some(from..at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_string_end_is_found() {
        assert_eq!(
            (
                string_end(b"a\\"),
                string_end(b"a\\\\\" rest"),
                string_end(b"\\\"b\"")
            ),
            (2, 3, 3)
        );
    }

    #[test]
    fn every_text_has_tokens() {
        let of = |json: &'static str| -> Vec<&str> {
            tokens(json.as_bytes()).map(|token| &json[token]).collect()
        };
        assert_eq!(
            of(r#" {"a\"b" : [-1.5e3,NaN]}"#),
            ["{", r#""a\"b""#, ":", "[", "-1.5e3", ",", "NaN", "]", "}"]
        );
        assert_eq!(of("é \"open\\"), ["é", "\"open\\"]);
    }
}
