//! Masks the configured keys in every text that is shown, also where a server spells them so that a search for their bytes
//! fails.
//!
//! A key is matched by its letters and digits alone, in any case. Escape sequences, spaces, hidden characters and line ends
//! between them are skipped, and `%6c`, `&#108;`, `\u006c`, `\u{6c}`, `\x6c` and a full-width `ｌ` are read as the letter. The base64 and the
//! hex of a key are matched too, and so are the first sixteen letters of a key without the others.

use crate::json;
use crate::text::parts::{replaced, sequence};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// What replaces a key.
pub const MASK: &str = "***";
/// Letters and digits that a key needs to be matched in this way: shorter ones occur in ordinary texts.
const SHORTEST: usize = 12;
/// Letters and digits of a key's beginning that are matched at any place.
const BEGINNING: usize = 16;

static ANY: AtomicBool = AtomicBool::new(false);
static KEYS: RwLock<Option<Arc<Needles>>> = RwLock::new(None);

/// The forms of all keys.
#[derive(Default)]
struct Needles(Vec<Needle>);

/// A form of a key.
#[derive(Clone, PartialEq)]
struct Needle {
    /// Letters and digits in lower case.
    letters: Vec<u8>,
    /// How many of the first letters are enough for a match.
    begin: usize,
}

/// Adds a key that no text may show, until the process ends.
pub fn guard(key: &str) {
    let mut keys = KEYS.write().unwrap_or_else(PoisonError::into_inner);
    let mut all = keys.as_ref().map(|keys| keys.0.clone()).unwrap_or_default();
    for form in forms(key) {
        if !all.contains(&form) {
            all.push(form);
        }
    }
    if !all.is_empty() {
        // The longest first: one may be a part of another.
        all.sort_by_key(|form| std::cmp::Reverse(form.letters.len()));
        *keys = Some(Arc::new(Needles(all)));
        ANY.store(true, Ordering::Release);
    }
}

/// Returns a text with the keys masked; none if it has none.
pub fn masked(text: &str) -> Option<String> {
    if text.len() < SHORTEST {
        return None;
    }
    needles()?.masked(text)
}

/// Returns a JSON text with the keys masked in its strings; none if it has none. The result has the same structure.
pub fn masked_json(json: &str) -> Option<String> {
    needles()?.masked_json(json)
}

/// Returns where the keys stand in a text, in bytes.
pub fn places(text: &str) -> Vec<Range<usize>> {
    needles().map_or_else(Vec::new, |needles| needles.places(text))
}

/// Returns how many bytes at the end of a text may begin a key: output of a text that still grows holds them back.
pub fn open_end(text: &str) -> usize {
    needles().map_or(0, |needles| needles.open_end(text))
}

fn needles() -> Option<Arc<Needles>> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    KEYS.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The forms in which a key is matched.
fn forms(key: &str) -> Vec<Needle> {
    let letters = |text: &str| {
        Letters::of(text)
            .map(|letter| letter.byte)
            .collect::<Vec<u8>>()
    };
    let mut forms = vec![
        letters(key),
        letters(
            &key.bytes()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>(),
        ),
    ];
    // Base64 depends on the position in the text, modulo 3. Characters that the key alone determines are matched.
    for shift in 0..3_usize {
        let text = STANDARD.encode([&vec![0; shift][..], key.as_bytes()].concat());
        let from = (shift * 8).div_ceil(6);
        let to = (shift + key.len()) * 8 / 6;
        forms.push(letters(text.get(from..to).unwrap_or_default()));
    }
    // The same part of each form.
    let count = forms.first().map_or(0, Vec::len).max(1);
    let begin = |form: &Vec<u8>| (form.len() * BEGINNING).div_ceil(count).min(form.len());
    let needles = forms.into_iter().filter(|form| form.len() >= SHORTEST);
    needles
        .map(|form| Needle {
            begin: begin(&form),
            letters: form,
        })
        .collect()
}

impl Needles {
    /// Where keys stand in a text, in bytes.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        if text.len() < SHORTEST {
            return Vec::new();
        }
        let letters: Vec<u8> = Letters::of(text).map(|letter| letter.byte).collect();
        let mut found: Vec<(usize, usize)> = Vec::new();
        for Needle {
            letters: needle,
            begin,
        } in &self.0
        {
            let equal = |at: usize| {
                letters[at..]
                    .iter()
                    .zip(needle)
                    .take_while(|(a, b)| a == b)
                    .count()
            };
            let begins = memchr::memmem::find_iter(&letters, &needle[..*begin]);
            found.extend(begins.map(|at| (at, at + equal(at))));
        }
        // While a text still grows, all of a key but its last letters would be visible.
        for Needle {
            letters: needle, ..
        } in &self.0
        {
            let begun = (SHORTEST..needle.len().min(letters.len() + 1)).rev();
            let begun = begun.filter(|len| letters.ends_with(&needle[..*len])).max();
            found.extend(begun.map(|len| (letters.len() - len, letters.len())));
        }
        if found.is_empty() {
            return Vec::new();
        }
        found.sort_unstable();
        let places: Vec<(usize, usize)> = Letters::of(text)
            .map(|letter| (letter.from, letter.to))
            .collect();
        let mut merged: Vec<Range<usize>> = Vec::new();
        for (from, to) in found {
            let (from, to) = (places[from].0, places[to - 1].1);
            match merged.last_mut() {
                Some(last) if from < last.end => last.end = to.max(last.end),
                _ => merged.push(from..to),
            }
        }
        merged
    }

    fn masked(&self, text: &str) -> Option<String> {
        replaced(
            text,
            self.places(text).into_iter().map(|range| (range, MASK)),
        )
    }

    fn masked_json(&self, json: &str) -> Option<String> {
        // Searching the whole text is faster than searching each string, and nearly always there is no key.
        if self.places(json).is_empty() {
            return None;
        }
        // Numbers and words have no quotes.
        let strings =
            json::tokens(json.as_bytes()).filter(|token| json[token.clone()].contains('"'));
        let masked = |token: Range<usize>| Some((token.clone(), self.masked(&json[token])?));
        replaced(json, strings.filter_map(masked))
    }

    fn open_end(&self, text: &str) -> usize {
        let longest = self
            .0
            .iter()
            .map(|needle| needle.letters.len())
            .max()
            .unwrap_or(0);
        let letters: Vec<Letter> = Letters::of(text).collect();
        let tail = &letters[letters.len().saturating_sub(longest)..];
        let bytes: Vec<u8> = tail.iter().map(|letter| letter.byte).collect();
        let begins = |at: &usize| {
            let rest = &bytes[*at..];
            self.0
                .iter()
                .any(|needle| needle.letters.len() > rest.len() && needle.letters.starts_with(rest))
        };
        (0..bytes.len())
            .find(begins)
            .map_or(0, |at| text.len() - tail[at].from)
    }
}

/// A letter or a digit, in lower case, and the bytes that stand for it.
struct Letter {
    byte: u8,
    from: usize,
    to: usize,
}

/// The letters and digits of a text, however they are written.
struct Letters<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Letters<'t> {
    fn of(text: &'t str) -> Letters<'t> {
        Letters { text, at: 0 }
    }

    /// A character that is written by its number, and the bytes that it takes.
    fn written(rest: &str) -> Option<(u8, usize)> {
        // Characters beyond ASCII are never letters of a key.
        let ascii = |code: u32| u8::try_from(code).ok().filter(u8::is_ascii).unwrap_or(b' ');
        let hex = |digits: &str| u32::from_str_radix(digits, 16).ok().map(ascii);
        let fixed = |skip: usize, len: usize| {
            let digits = rest
                .get(skip..skip + len)
                .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            Some((hex(digits)?, skip + len))
        };
        if rest.starts_with('%') {
            return fixed(1, 2);
        }
        if let Some(escape) = rest.strip_prefix('\\') {
            return match escape.as_bytes().first()? {
                b'u' if escape.starts_with("u{") => {
                    let end = escape.bytes().take(9).position(|byte| byte == b'}')?;
                    Some((hex(escape.get(2..end)?)?, end + 2))
                }
                b'u' => fixed(2, 4),
                b'x' => fixed(2, 2),
                // Escapes of characters that are not letters.
                b'n' | b't' | b'r' | b'b' | b'f' | b'"' | b'\\' | b'/' => Some((b' ', 2)),
                _ => None,
            };
        }
        let number = rest.strip_prefix("&#")?;
        let end = number.bytes().take(8).position(|b| b == b';')?;
        let digits = &number[..end];
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(digits) => hex(digits)?,
            None => ascii(digits.parse().ok()?),
        };
        Some((code, 2 + end + 1))
    }
}

impl Iterator for Letters<'_> {
    type Item = Letter;

    fn next(&mut self) -> Option<Letter> {
        loop {
            let bytes = self.text.as_bytes();
            let from = self.at;
            let byte = *bytes.get(from)?;
            let (byte, len) = match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => (byte, 1),
                b'%' | b'\\' | b'&' => Letters::written(&self.text[from..]).unwrap_or((b' ', 1)),
                0x1b => (b' ', sequence(&self.text[from..])),
                _ if byte < 0x80 => (b' ', 1),
                _ => self.text[from..]
                    .chars()
                    .next()
                    .map_or((b' ', 1), |c| match c {
                        // Full-width letters and digits.
                        '\u{ff01}'..='\u{ff5e}' => ((c as u32 - 0xfee0) as u8, c.len_utf8()),
                        c => (b' ', sequence(&self.text[from..]).max(c.len_utf8())),
                    }),
            };
            self.at = from + len;
            if byte.is_ascii_alphanumeric() {
                return Some(Letter {
                    byte: byte.to_ascii_lowercase(),
                    from,
                    to: self.at,
                });
            }
        }
    }
}

/// Returns a text with the keys masked.
pub fn without(text: &str) -> Cow<'_, str> {
    masked(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: &str = "lsv2_pt_0123456789abcdef_ghij";

    fn needles() -> Needles {
        Needles(forms(KEY))
    }

    #[test]
    fn keys_are_found_in_any_encoding() {
        let each = |spell: &dyn Fn(u32, char) -> String| {
            KEY.chars().map(|c| spell(c as u32, c)).collect::<String>()
        };
        let title = "x".repeat(5000);
        let hex = each(&|code, _| format!("{code:02X}"));
        let base64 = STANDARD.encode(format!("user:{KEY}"));
        for text in [
            KEY,
            &KEY.to_uppercase(),
            &KEY[..20],
            &hex,
            &hex[..40],
            &base64,
            &base64[..40],
            &each(&|_, c| format!("{c}\u{1b}[0m")),
            &each(&|_, c| format!("{c}\n ")),
            &each(&|_, c| format!("{c}\u{200b}")),
            &each(&|_, c| format!("{c}\u{1b}]0;{title}\u{7}")),
            &each(&|code, _| format!("\\u{code:04X}")),
            &each(&|code, _| format!("%{code:02x}")),
            &each(&|code, _| format!("&#8203;&#x{code:x};")),
            &each(&|code, _| format!("\\u{{{code:x}}}")),
            &each(&|code, _| char::from_u32(code + 0xfee0).into_iter().collect()),
        ] {
            let masked = needles().masked(&format!("before {text} behind"));
            let masked = masked.unwrap_or_else(|| panic!("{text:?} is not found"));
            assert!(
                masked.starts_with("before ")
                    && masked.ends_with(" behind")
                    && masked.contains(MASK),
                "{masked}"
            );
        }
        for (text, expected) in [
            (&*format!("a {KEY}, b {KEY}."), Some("a ***, b ***.")),
            // A shorter beginning is masked only at the end of the text, where the rest may follow.
            ("so lsv2_pt_01234567", Some("so ***")),
            ("so lsv2_pt_01234567, no", None),
            ("so lsv2_pt_01", None),
        ] {
            assert_eq!(needles().masked(text).as_deref(), expected);
        }
    }

    #[test]
    fn masked_json_stays_valid() {
        let json = format!(
            r#"{{"a":["x\n{KEY}","\u006c{}"],"{KEY}":1.50,"b":"\\\"{KEY}\\"}}"#,
            &KEY[1..]
        );
        let masked = needles().masked_json(&json).unwrap();
        assert_eq!(
            masked,
            r#"{"a":["x\n***","***"],"***":1.50,"b":"\\\"***\\"}"#
        );
        assert_eq!(needles().masked_json(r#"{"a":"lsv2","b":"_pt_"}"#), None);
        // With one letter per string, no string shows the key.
        let split: Vec<String> = KEY.chars().map(String::from).collect();
        assert_eq!(
            needles().masked_json(&serde_json::to_string(&split).unwrap()),
            None
        );
    }

    #[test]
    fn possible_key_prefixes_are_held_back() {
        assert_eq!(needles().open_end("hello lsv2_p"), "lsv2_p".len());
        assert!(needles().open_end("hello lsv2 x") < 2);
        assert!(needles().open_end(&format!("{KEY} and more")) < 4);
        assert_eq!(Needles::default().open_end("lsv2"), 0);
    }

    proptest! {
        /// Chunked text never shows a key, and everything else is shown eventually.
        #[test]
        fn chunks_show_no_key(
            parts in prop::collection::vec(prop::sample::select(vec!["l", "lsv2_", "pt_", KEY, "x ", "\n", "é", "0123"]), 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let (needles, text) = (needles(), parts.concat());
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
            ends.push(text.len());
            ends.sort_unstable();
            let (mut shown, mut done) = (String::new(), 0);
            for (n, end) in ends.iter().enumerate() {
                let part = &text[done..*end];
                let open = if n + 1 == ends.len() { 0 } else { needles.open_end(part) };
                let part = &part[..part.len() - open];
                shown.push_str(&needles.masked(part).unwrap_or_else(|| part.into()));
                done += part.len();
            }
            prop_assert_eq!(done, text.len());
            prop_assert!(needles.masked(&shown).is_none(), "{:?}", shown);
        }

        #[test]
        fn masking_random_text_never_panics(text in any::<String>(), wild in "[%&#;\\\\ux0-9a-f\u{1b}\\[\u{9b}\"é]{0,60}") {
            for text in [&text, &wild] {
                let letters: Vec<_> = Letters::of(text).map(|l| (l.from, l.to)).collect();
                prop_assert!(letters.windows(2).all(|pair| pair[0].1 <= pair[1].0));
                prop_assert!(letters.iter().all(|(from, to)| text.get(*from..*to).is_some()));
                needles().open_end(text);
                needles().masked_json(text);
            }
        }
    }
}
