//! Parts of a text: its ends, invisible characters, and replacements.

use std::ops::Range;

/// Precedes what a string or a value can't hold. No text contains this noncharacter.
pub(crate) const MARK: char = '\u{ffff}';
/// Follows the mark of a number, which is in a string.
pub(crate) const NUMBER: char = '\u{e800}';

/// The first bytes of a text, whole characters: what can be seen of a text of 50 MB is cut out before it is cleaned.
pub fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last bytes of a text, whole characters.
pub fn tail(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Returns a text with parts of it replaced, which are in order and don't overlap; `None` if there are none.
pub fn replaced<R: AsRef<str>>(
    text: &str,
    parts: impl IntoIterator<Item = (Range<usize>, R)>,
) -> Option<String> {
    let (mut out, mut from) = (String::new(), None);
    for (range, by) in parts {
        out.reserve(text.len() - out.len().min(text.len()));
        out.push_str(text.get(from.unwrap_or(0)..range.start).unwrap_or_default());
        out.push_str(by.as_ref());
        from = Some(range.end);
    }
    out.push_str(text.get(from?..).unwrap_or_default());
    Some(out)
}

/// Characters that change direction, take no room or otherwise hide.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | MARK | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character shows nothing of itself, so that it can hide in a word: a control character that is no line
/// break or tab, a joiner, or another character that takes no room.
pub fn is_invisible(c: char) -> bool {
    let is_joiner = matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}');
    c.is_control() && !matches!(c, '\n' | '\r' | '\t') || is_joiner || is_hidden(c)
}

/// Returns the length in bytes of the escape sequence, or the mark of a number, at the start of a text; 0 if there is none.
pub fn sequence(text: &str) -> usize {
    let mut chars = text.chars();
    let first = chars.next();
    let rest = match first {
        Some('\u{1b}') => after_escape(chars.as_str()),
        Some('\u{9b}') => after_csi(chars.as_str()),
        Some('\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}') => after_string(chars.as_str()),
        Some(MARK) => chars.as_str().strip_prefix(NUMBER).unwrap_or(text),
        _ => text,
    };
    text.len() - rest.len()
}

/// Returns the text behind a sequence that begins with ESC: a CSI, a string (OSC, DCS, SOS, PM, APC) or a short one.
fn after_escape(text: &str) -> &str {
    match text.as_bytes().first() {
        Some(b'[') => after_csi(&text[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => after_string(&text[1..]),
        Some(b' '..=b'/') => {
            let rest = text.trim_start_matches(|c| (' '..='/').contains(&c));
            rest.strip_prefix(|c| ('0'..='~').contains(&c))
                .unwrap_or(rest)
        }
        Some(b'0'..=b'~') => &text[1..],
        _ => text,
    }
}

fn after_csi(text: &str) -> &str {
    let rest = text.trim_start_matches(|c| (' '..='?').contains(&c));
    rest.strip_prefix(|c| ('@'..='~').contains(&c))
        .unwrap_or(rest)
}

/// A string ends with BEL, ST or the line: one that is not terminated must not swallow the rest of a document.
fn after_string(text: &str) -> &str {
    let Some(end) = text.find(['\n', '\r', '\u{7}', '\u{9c}', '\u{1b}']) else {
        return "";
    };
    let mut rest = text[end..].chars();
    match rest.next() {
        Some('\n' | '\r') => &text[end..],
        Some('\u{1b}') => rest.as_str().strip_prefix('\\').unwrap_or(rest.as_str()),
        _ => rest.as_str(),
    }
}
