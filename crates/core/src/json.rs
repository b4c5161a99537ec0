//! The one reader of JSON that someone else wrote: answers, streams, recordings, and what is searched in them.
//!
//! Servers send what a strict parser refuses or changes: half of a surrogate pair (`\ud83d`), `NaN`, equal keys, numbers of 25
//! digits, values nested thousands of levels deep. A string can't hold half of a pair, and a [`Value`] can't hold such a number:
//! both are kept behind a [`MARK`], which [`written`] turns back into what was received and [`shown`] into what people can read.

mod lenient;
mod number;
mod scan;
mod tokens;

pub use number::{numbers, rounded};
pub use scan::{Fields, Peek};
pub use tokens::{string_end, token_end, tokens};

use crate::text::parts::{MARK, NUMBER, replaced};
use lenient::Lenient;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::borrow::Cow;
use std::ops::Range;

/// The private character of the first surrogate, U+D800.
const FIRST_HALF: u16 = 0xe000;
/// Bytes of half of a pair: those of the mark and of a private character.
const HALF_LEN: usize = 6;
/// Bytes up to which a number is never rounded.
const EXACT_LEN: usize = 15;
/// What JavaScript and Python write for numbers that JSON doesn't have.
const NOT_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Parses JSON. Half of a surrogate pair, equal keys (the last one counts), a number that is out of range, or a value that is
/// nested too deeply doesn't hide the rest.
///
/// # Errors
/// The text is not JSON, or has another type.
pub fn from_str<'a, T: Deserialize<'a>>(json: &'a str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| {
        let is_refused = error.is_syntax() || error.to_string().starts_with("duplicate field");
        if is_refused && is_valid(json) {
            T::deserialize(Lenient::new(json))
        } else {
            Err(error)
        }
    })
}

/// Parses JSON whose values are written again: [`written`] returns numbers that would be rounded as they were received.
///
/// # Errors
/// The text is not JSON, or has another type.
pub fn exact<'a, T: Deserialize<'a>>(json: &'a str) -> serde_json::Result<T> {
    let is_rounded = |number: &str| number.len() > EXACT_LEN && rounded(number).is_some();
    match numbers(json).any(is_rounded) && is_valid(json) {
        true => T::deserialize(Lenient::new(json)),
        false => from_str(json),
    }
}

/// Returns whether a text is a single JSON value. Doesn't build the value or recurse, so deep nesting is harmless.
pub fn is_valid(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns a received text as JSON: without a byte order mark, and with `null` for `NaN` and `Infinity`. `None` if it is something
/// else.
pub fn repaired(text: &str) -> Option<Cow<'_, str>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if is_valid(text) {
        return Some(Cow::Borrowed(text));
    }
    let is_not_number = |token: &Range<usize>| NOT_NUMBERS.contains(&&text[token.clone()]);
    let nulls = tokens(text.as_bytes()).filter(is_not_number);
    replaced(text, nulls.map(|token| (token, "null")))
        .filter(|json| is_valid(json))
        .map(Cow::Owned)
}

/// Removes line breaks. In valid JSON they only occur between tokens, where they have no meaning.
pub fn one_line(json: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
        Some(_) => Cow::Owned(json.replace(['\n', '\r'], "")),
        None => Cow::Borrowed(json),
    }
}

/// Reads a received text and, if that fails, what [`repaired`] makes of it.
///
/// # Errors
/// Both can't be read.
pub fn read_repaired<T, E>(text: &str, mut read: impl FnMut(&str) -> Result<T, E>) -> Result<T, E> {
    read(text).or_else(|error| match repaired(text) {
        Some(json) if json != text => read(&json),
        _ => Err(error),
    })
}

/// Decodes a string with its quotes. Any other value stays as it is.
pub fn decoded(raw: &str) -> Cow<'_, str> {
    match raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')) {
        Some(inner) => unescaped(inner),
        None => Cow::Borrowed(raw),
    }
}

/// Decodes the text between the quotes of a string, or a part of it.
pub fn unescaped(inner: &str) -> Cow<'_, str> {
    decode(inner, |_, _| {})
}

/// Decodes a text and passes the lengths of both after each escape to a function.
fn decode(inner: &str, mut mark: impl FnMut(usize, usize)) -> Cow<'_, str> {
    let mut out = String::new();
    let mut at = 0;
    // Most names are too short for a search.
    if inner.len() < 16 && !inner.bytes().any(|byte| byte == b'\\') {
        return Cow::Borrowed(inner);
    }
    while let Some(found) = memchr::memchr(b'\\', &inner.as_bytes()[at..]) {
        out.reserve(inner.len() - at);
        out.push_str(&inner[at..at + found]);
        at += found;
        at += push_escape(&inner[at..], &mut out);
        mark(out.len(), at);
    }
    if at == 0 {
        return Cow::Borrowed(inner);
    }
    out.push_str(&inner[at..]);
    Cow::Owned(out)
}

/// The decoded content of a JSON string, and the positions of its parts in the encoding.
pub struct Decoded<'a> {
    pub text: Cow<'a, str>,
    /// After each escape: the position in the content and in the encoded string.
    marks: Vec<(usize, usize)>,
}

impl<'a> Decoded<'a> {
    /// Decodes the text between the quotes.
    pub fn of(inner: &'a str) -> Decoded<'a> {
        let mut marks = Vec::new();
        let text = decode(inner, |decoded, encoded| marks.push((decoded, encoded)));
        Decoded { text, marks }
    }

    /// Returns the position in the encoded string of a position in the content.
    pub fn encoded_offset(&self, at: usize) -> usize {
        let marks = self.marks.partition_point(|(decoded, _)| *decoded <= at);
        match marks.checked_sub(1).and_then(|last| self.marks.get(last)) {
            Some((decoded, encoded)) => encoded + (at - decoded),
            None => at,
        }
    }
}

/// Appends the character of the escape at the start of a text. Returns the length of the escape in bytes.
pub fn push_escape(text: &str, into: &mut String) -> usize {
    let Some(c) = text[1..].chars().next() else {
        return 1;
    };
    into.push(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let unit = |at: usize| {
                let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
                u16::from_str_radix(digits, 16).ok()
            };
            let Some(first) = unit(0) else {
                into.push('\u{fffd}');
                return 2;
            };
            match char::decode_utf16([first].into_iter().chain(unit(6))).next() {
                Some(Ok(c)) => {
                    into.push(c);
                    return 6 * c.len_utf16();
                }
                _ => {
                    into.push(MARK);
                    into.extend(char::from_u32((first - 0xd800 + FIRST_HALF).into()));
                    return 6;
                }
            }
        }
        other => other,
    });
    1 + c.len_utf8()
}

/// Returns a character as the `\u` escapes of its units.
pub(crate) fn escaped(c: char) -> String {
    c.encode_utf16(&mut [0; 2])
        .iter()
        .map(|unit| unit_escape(*unit))
        .collect()
}

fn unit_escape(unit: u16) -> String {
    format!("\\u{unit:04x}")
}

/// Returns the half of a surrogate pair at the start of a text.
fn half_at(text: &str) -> Option<u16> {
    let unit = u16::try_from(u32::from(text.strip_prefix(MARK)?.chars().next()?)).ok()?;
    (FIRST_HALF..FIRST_HALF + 0x800)
        .contains(&unit)
        .then(|| unit - FIRST_HALF + 0xd800)
}

/// Appends the next part of a text. The halves of a surrogate pair that was split between the parts become its character.
pub fn append(text: &mut String, part: &str) {
    let high = || half_at(text.get(text.len().checked_sub(HALF_LEN)?..)?);
    let pair = half_at(part).and_then(|low| char::decode_utf16([high()?, low]).next()?.ok());
    match pair {
        Some(c) => {
            text.truncate(text.len() - HALF_LEN);
            text.push(c);
            text.push_str(&part[HALF_LEN..]);
        }
        None => text.push_str(part),
    }
}

/// Returns the bytes at the end of a text that may be half of a surrogate pair, whose other half is in the next part.
pub fn open_end(text: &str) -> usize {
    let half = || half_at(text.get(text.len().checked_sub(HALF_LEN)?..)?);
    if half().is_some_and(|unit| unit < 0xdc00) {
        HALF_LEN
    } else {
        0
    }
}

/// Returns a text for people: U+FFFD for half of a pair, the digits of a number.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !has_mark(text) {
        return Cow::Borrowed(text);
    }
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = match half_at(rest) {
            Some(unit) => {
                units.push(unit);
                HALF_LEN
            }
            None if c == MARK && rest[c.len_utf8()..].starts_with(NUMBER) => HALF_LEN,
            None => {
                units.extend(c.encode_utf16(&mut [0; 2]).iter());
                c.len_utf8()
            }
        };
        rest = &rest[len..];
    }
    Cow::Owned(String::from_utf16_lossy(&units))
}

/// Returns whether a text has something that a string or a value can't hold.
pub fn has_mark(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), "\u{ffff}".as_bytes()).is_some()
}

/// What to do about [half of a surrogate pair](half_in).
pub const HALF_HINT: &str = "an emoji was cut in two: complete or remove it";

/// Returns the place of the first half of a surrogate pair: `input.title (\ud83d)`. Servers refuse it, or store what they can't
/// read again.
pub fn half_in(value: &Value) -> Option<String> {
    half_below(value).map(|place| place[1..].to_string())
}

fn half_below(value: &Value) -> Option<String> {
    let half = |text: &str| {
        let unit = text
            .match_indices(MARK)
            .find_map(|(at, _)| half_at(&text[at..]))?;
        Some(format!(" ({})", unit_escape(unit)))
    };
    let below = |key: &str, value: &Value| {
        half(key)
            .or_else(|| half_below(value))
            .map(|place| format!(".{}{place}", shown(key)))
    };
    match value {
        Value::String(text) => half(text),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| below(&index.to_string(), item)),
        Value::Object(fields) => fields.iter().find_map(|(key, value)| below(key, value)),
        _ => None,
    }
}

/// Returns JSON that was written from parsed values as it was received: `\ud83d` for half of a pair, all digits of a number.
pub fn written(json: &str) -> Cow<'_, str> {
    if !has_mark(json) {
        return Cow::Borrowed(json);
    }
    let (mut out, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = rest.find(MARK) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let number = || {
            rest[MARK.len_utf8()..]
                .strip_prefix(NUMBER)
                .filter(|_| opens_string(&out))?
                .split_once('"')
        };
        // A string that only looks like a number, or a key, stays one.
        let is_number = |number: &str| numbers(number).next() == Some(number) && is_valid(number);
        if let Some(unit) = half_at(rest) {
            out.push_str(&unit_escape(unit));
            rest = &rest[HALF_LEN..];
        } else if let Some((number, after)) =
            number().filter(|(n, after)| is_number(n) && !after.starts_with(':'))
        {
            out.pop();
            out.push_str(number);
            rest = after;
        } else {
            out.push(MARK);
            rest = &rest[MARK.len_utf8()..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether JSON ends with a quote that is not escaped.
fn opens_string(json: &str) -> bool {
    let before = json.strip_suffix('"');
    before.is_some_and(|before| {
        let escapes = before.bytes().rev().take_while(|byte| *byte == b'\\');
        escapes.count() % 2 == 0
    })
}

#[cfg(test)]
mod tests;
