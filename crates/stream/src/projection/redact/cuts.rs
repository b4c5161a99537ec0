//! Replaced ranges of a text, and their conversion from a string's content to its JSON encoding.

use super::Removal;
use runtail_core::json::Decoded;
use runtail_core::text::replaced;
use std::borrow::Cow;
use std::ops::Range;

/// A replaced range of a text.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub range: Range<usize>,
    pub replacement: Cow<'static, str>,
    /// The reported removal. A secret in several events is reported once.
    pub removal: Option<Removal>,
}

/// Sorts cuts and merges overlapping ones. The first cut, or the longer of two that begin together, determines the
/// replacement.
pub(super) fn merge(mut cuts: Vec<Cut>) -> Vec<Cut> {
    cuts.sort_by_key(|cut| (cut.range.start, std::cmp::Reverse(cut.range.end)));
    let mut merged: Vec<Cut> = Vec::with_capacity(cuts.len());
    for cut in cuts {
        match merged.last_mut() {
            Some(last) if cut.range.start < last.range.end => {
                last.range.end = last.range.end.max(cut.range.end);
                if last.replacement.is_empty() {
                    last.replacement = cut.replacement;
                }
                last.removal = last.removal.take().or(cut.removal);
            }
            _ => merged.push(cut),
        }
    }
    merged
}

/// Applies cuts to a text. They must be merged.
pub(super) fn apply(text: &str, cuts: &[Cut]) -> String {
    let parts = cuts.iter().map(|cut| (cut.range.clone(), &cut.replacement));
    replaced(text, parts).unwrap_or_else(|| text.to_string())
}

impl Cut {
    /// Converts a cut of the content into a cut of the text in which the encoded string begins at `start`.
    pub fn encoded(self, of: &Decoded<'_>, start: usize) -> Cut {
        let range =
            start + of.encoded_offset(self.range.start)..start + of.encoded_offset(self.range.end);
        let replacement = match self.replacement.contains(['"', '\\']) {
            true => {
                let quoted = serde_json::Value::from(&*self.replacement).to_string();
                quoted[1..quoted.len() - 1].to_string().into()
            }
            false => self.replacement,
        };
        Cut {
            range,
            replacement,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn overlapping_cuts_become_one() {
        let cut_of = |range: Range<usize>, replacement: &'static str| Cut {
            range,
            replacement: replacement.into(),
            removal: None,
        };
        let merged = merge(vec![cut_of(4..6, "b"), cut_of(0..5, ""), cut_of(6..7, "c")]);
        assert_eq!(apply("0123456789", &merged), "bc789");
    }

    proptest! {
        #[test]
        fn positions_of_the_content_map_to_the_encoded_string(text in "[a\\\\\"\n\u{1}é\u{1f600}]{0,40}", ascii in any::<bool>()) {
            let mut json = serde_json::Value::from(text.as_str()).to_string();
            if ascii {
                json = json.replace('é', "\\u00e9").replace('\u{1f600}', "\\ud83d\\ude00");
            }
            let inner = &json[1..json.len() - 1];
            let decoded = Decoded::of(inner);
            prop_assert_eq!(&*decoded.text, text.as_str());
            for (at, c) in text.char_indices() {
                let encoded = &inner[decoded.encoded_offset(at)..decoded.encoded_offset(at + c.len_utf8())];
                prop_assert_eq!(&*Decoded::of(encoded).text, c.to_string());
            }
        }
    }
}
