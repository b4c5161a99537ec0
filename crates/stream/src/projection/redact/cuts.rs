//! Ranges of a text that are replaced, and how they carry over from a string's content to the string as JSON writes it.

use super::Removal;
use std::borrow::Cow;
use std::ops::Range;

/// A range of a text that is replaced.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub range: Range<usize>,
    pub put: Cow<'static, str>,
    /// What is reported about it; a secret in several events is reported once.
    pub removal: Option<Removal>,
}

/// Sorts cuts and merges those that overlap. The one that begins first, or is longer, decides what is put in their place.
pub(super) fn merge(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_by_key(|cut| (cut.range.start, std::cmp::Reverse(cut.range.end)));
    let mut merged: Vec<Cut> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match merged.last_mut() {
            Some(last) if cut.range.start < last.range.end => {
                last.range.end = last.range.end.max(cut.range.end);
                if last.put.is_empty() {
                    last.put = cut.put;
                }
                last.removal = last.removal.take().or(cut.removal);
            }
            _ => merged.push(cut),
        }
    }
    merged
}

/// Returns a text with its cuts made. They must be merged.
pub(super) fn cut(text: &str, cuts: &[Cut]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        out.push_str(text.get(from..cut.range.start).unwrap_or_default());
        out.push_str(&cut.put);
        from = cut.range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// The content of a JSON string, and where each part of it is written.
pub(super) struct Decoded<'a> {
    pub text: Cow<'a, str>,
    /// After each escape: the position in the content, and in the string as it is written.
    marks: Vec<(usize, usize)>,
}

impl<'a> Decoded<'a> {
    /// Decodes what is between the quotes. Half of a surrogate pair becomes U+FFFD.
    pub fn of(inner: &'a str) -> Decoded<'a> {
        let bytes = inner.as_bytes();
        let Some(first) = memchr::memchr(b'\\', bytes) else {
            return Decoded { text: inner.into(), marks: Vec::new() };
        };
        let (mut text, mut marks) = (String::with_capacity(inner.len()), Vec::new());
        let (mut from, mut next) = (0, Some(first));
        while let Some(at) = next {
            text.push_str(&inner[from..at]);
            let (c, length) = escape(&inner[at..]);
            text.push(c);
            from = at + length;
            marks.push((text.len(), from));
            next = memchr::memchr(b'\\', &bytes[from..]).map(|more| from + more);
        }
        text.push_str(&inner[from..]);
        Decoded { text: text.into(), marks }
    }

    /// Returns where a position of the content is written.
    pub fn written(&self, at: usize) -> usize {
        let marks = self.marks.partition_point(|(decoded, _)| *decoded <= at);
        match marks.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some((decoded, written)) => written + (at - decoded),
            None => at,
        }
    }

    /// Cuts of the content become cuts of the text in which the string's content begins at `start`.
    pub fn lift(&self, cut: Cut, start: usize) -> Cut {
        let range = start + self.written(cut.range.start)..start + self.written(cut.range.end);
        let put = match cut.put.contains(['"', '\\']) {
            true => {
                let quoted = serde_json::Value::from(&*cut.put).to_string();
                quoted[1..quoted.len() - 1].to_string().into()
            }
            false => cut.put,
        };
        Cut { range, put, ..cut }
    }
}

/// Returns the character of the escape at the start of a text, and the bytes of the escape.
fn escape(text: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(c) = text[1..].chars().next() else { return ('\\', 1) };
    let plain = match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => match (unit(0), unit(6)) {
            (Some(high), low) => {
                let pair = char::decode_utf16([high].into_iter().chain(low)).next();
                return match pair {
                    Some(Ok(c)) if c.len_utf16() == 2 => (c, 12),
                    Some(Ok(c)) => (c, 6),
                    _ => ('\u{fffd}', 6),
                };
            }
            (None, _) => '\u{fffd}',
        },
        other => other,
    };
    (plain, 1 + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_a_surrogate_pair_is_one_character() {
        assert_eq!(Decoded::of(r"a\ud83d\n\u00e9\ud83d\ude00\ude00").text, "a\u{fffd}\n\u{e9}\u{1f600}\u{fffd}");
    }

    #[test]
    fn overlapping_cuts_become_one() {
        let cut_of = |range: Range<usize>, put: &'static str| Cut { range, put: put.into(), removal: None };
        let merged = merge(vec![cut_of(4..6, "b"), cut_of(0..5, ""), cut_of(6..7, "c")]);
        assert_eq!(cut("0123456789", &merged), "bc789");
    }

    proptest! {
        #[test]
        fn each_position_of_a_content_is_found_in_the_string(text in "[a\\\\\"\n\u{1}é\u{1f600}]{0,40}", ascii in any::<bool>()) {
            let mut json = serde_json::Value::from(text.as_str()).to_string();
            if ascii {
                json = json.replace('é', "\\u00e9").replace('\u{1f600}', "\\ud83d\\ude00");
            }
            let inner = &json[1..json.len() - 1];
            let decoded = Decoded::of(inner);
            prop_assert_eq!(&*decoded.text, text.as_str());
            for (at, c) in text.char_indices() {
                let written = &inner[decoded.written(at)..decoded.written(at + c.len_utf8())];
                prop_assert_eq!(&*Decoded::of(written).text, c.to_string());
            }
        }
    }
}
