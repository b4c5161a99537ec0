//! The sanitizer for all external text. Text from a server, a file or the environment passes through it before it reaches a
//! cell, a title, stdout or an error: whole escape sequences are removed, other control characters and invisible or bidi
//! characters are made visible.

pub mod markdown;
pub(crate) mod parts;

pub use parts::{head, is_invisible, replaced, sequence, tail};

use crate::json;
use crate::secret::keys;
use parts::is_hidden;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Maximum number of combining marks per character; more would overwrite the lines around it.
const MAX_CLUSTER_CHARS: usize = 12;
/// Bytes of each end of an identifier that are looked at.
const MAX_ID: usize = 512;

/// Makes text safe to show on one line: line breaks become `⏎`, tabs a space, and keys are masked (see [`keys`]).
pub fn clean(text: &str) -> Cow<'_, str> {
    cleaned(text, false)
}

/// Makes text safe to show on several lines: line breaks are kept (CRLF as one), tabs become four spaces.
pub fn clean_lines(text: &str) -> Cow<'_, str> {
    cleaned(text, true)
}

fn cleaned(text: &str, lines: bool) -> Cow<'_, str> {
    // Keys first: dropping an escape sequence from the middle of a key would make it readable.
    if let Some(masked) = keys::masked(text) {
        return Cow::Owned(scrub(&masked, lines));
    }
    if is_plain(text, lines) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(scrub(text, lines))
    }
}

/// Removes whole escape sequences and control characters, except line breaks and tabs. For text that is pasted.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    let is_dropped = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_dropped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = sequence(rest);
        if skipped == 0 && !is_dropped(c) {
            out.push(c);
        }
        rest = &rest[skipped.max(c.len_utf8())..];
    }
    Cow::Owned(out)
}

/// Replaces each control character except tabs by one visible character. For text that is edited: [`clean`] drops escape
/// sequences, which a cursor could not pass.
pub fn visible(line: &str) -> Cow<'_, str> {
    let is_replaced = |c: char| c.is_control() && c != '\t';
    if !line.contains(is_replaced) {
        return Cow::Borrowed(line);
    }
    let symbol = |c: char| match c {
        '\u{7f}' => '␡',
        c if c < ' ' && is_replaced(c) => char::from_u32(0x2400 + c as u32).unwrap_or('␦'),
        c if is_replaced(c) => '␦',
        c => c,
    };
    Cow::Owned(line.chars().map(symbol).collect())
}

/// Makes JSON safe to show: what [`clean`] would not let through is written as an escape (`\u202e`), which says the same in
/// JSON, and keys are masked. Line ends stay.
pub fn json(json: &str) -> Cow<'_, str> {
    let masked = keys::masked_json(json).map_or(Cow::Borrowed(json), Cow::Owned);
    match json::written(&masked) {
        Cow::Borrowed(_) if matches!(masked, Cow::Borrowed(_)) => harmless_json(json),
        received => Cow::Owned(harmless_json(&received).into_owned()),
    }
}

fn harmless_json(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    // A look at whole words of memory, which is all that most JSON costs.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
    if bytes
        .chunks(64)
        .all(|chunk| chunk.iter().fold(true, |all, byte| all & is_plain(byte)))
    {
        return Cow::Borrowed(json);
    }
    // In JSON a character of more than one byte stands in a string, where an escape may take its place.
    let mut marks = 0;
    let mut odd = |at: &usize| {
        let byte = bytes[*at];
        if !(byte < 0x20 && byte != b'\n' || byte == 0x7f || byte >= 0xc2) {
            marks *= usize::from(byte >= 0x80);
            return false;
        }
        json[*at..].chars().next().is_some_and(|c| {
            marks = if is_mark(c) { marks + 1 } else { 0 };
            !is_harmless(c) || marks > MAX_CLUSTER_CHARS
        })
    };
    let escaped = |at: usize| {
        let c = json[at..].chars().next().unwrap_or_default();
        let by = match c {
            // As they are, they stand only between tokens.
            '\t' | '\r' => " ".into(),
            c => json::escaped(c),
        };
        (at..at + c.len_utf8(), by)
    };
    replaced(json, (0..bytes.len()).filter(&mut odd).map(escaped))
        .map_or(Cow::Borrowed(json), Cow::Owned)
}

/// Decodes the `\u` escapes of JSON, or of a part of it, so that people can read it: some servers escape everything that is
/// not ASCII. Escapes of control characters, quotes and backslashes stay.
pub fn readable(json: &str) -> Cow<'_, str> {
    if memchr::memmem::find(json.as_bytes(), b"\\u").is_none() {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        out.push_str(&json[at..at + found]);
        at += found;
        let before = out.len();
        let len = json::push_escape(&json[at..], &mut out);
        let stays = |c: char| c.is_control() || matches!(c, '"' | '\\' | '\u{fffd}');
        if len < 6 || out[before..].contains(stays) {
            out.truncate(before);
            out.push_str(&json[at..at + len]);
        }
        at += len;
    }
    out.push_str(&json[at..]);
    Cow::Owned(out)
}

/// Columns that a cleaned text takes on a terminal.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        UnicodeWidthStr::width(text)
    }
}

/// Cuts a cleaned text to a width, with `…` where something was cut.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let mut out = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let w = width(cluster);
        if used + w > columns - 1 {
            break;
        }
        out.push_str(cluster);
        used += w;
    }
    out.push('…');
    Cow::Owned(out)
}

/// Text from outside for so many columns: cleaned and cut. No more of it is read than may be seen.
pub fn seen(text: &str, columns: usize) -> String {
    fit(&clean(head(text, 4 * columns + 8)), columns).into_owned()
}

/// Cuts a text to a number of characters, with `…` where something was cut.
pub(crate) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Returns a text with a capital first letter.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Returns a number with its noun: `1 thread`, `1,200 threads`.
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{} {}", count(n), plural(n, noun))
}

/// Returns a noun as a count needs it: one thread, several threads.
pub fn plural(n: impl TryInto<u64>, noun: &str) -> Cow<'_, str> {
    let stem = noun.strip_suffix('y').unwrap_or(noun);
    let ending = match noun.as_bytes() {
        _ if n.try_into().is_ok_and(|n: u64| n == 1) => return Cow::Borrowed(noun),
        [.., b'a' | b'e' | b'o' | b'u', b'y'] => return Cow::Owned(format!("{noun}s")),
        [.., b'y'] => "ies",
        [.., b's' | b'x'] | [.., b'c' | b's', b'h'] => "es",
        _ => "s",
    };
    Cow::Owned(format!("{stem}{ending}"))
}

/// Formats a time that something took: `82ms`, `0.8s`, `12s`, `2m10s`.
pub fn span(d: std::time::Duration) -> String {
    match d.as_millis() {
        0 if d.is_zero() => "0s".to_string(),
        ms @ 0..100 => format!("{ms}ms"),
        100..10_000 => format!("{:.1}s", d.as_secs_f64()),
        _ => duration(d),
    }
}

/// Returns how long ago a time is: `4s`, `2h`. A time in the future counts as now.
pub fn age_since(then: jiff::Timestamp, now: jiff::Timestamp) -> String {
    age(std::time::Duration::try_from(now.duration_since(then)).unwrap_or_default())
}

/// Shortens an identifier in its middle: `01a1fbb5…9775`. Short ones stay whole.
pub fn short_id(id: &str) -> String {
    // Of what is no identifier, but 50 MB that are copied, only the ends are looked at.
    let id = match id.len() > 2 * MAX_ID {
        true => Cow::Owned(format!("{}{}", head(id, MAX_ID), tail(id, MAX_ID))),
        false => Cow::Borrowed(id),
    };
    let clean = clean(&id);
    let chars: Vec<char> = clean.chars().collect();
    if chars.len() <= 13 {
        return clean.into_owned();
    }
    let head: String = chars[..8].iter().collect();
    let tail: String = chars[chars.len() - 4..].iter().collect();
    format!("{head}…{tail}")
}

/// A duration for people, short: `0.4s`, `12s`, `2m10s`, `3h05m`, `2d`.
pub fn duration(d: std::time::Duration) -> String {
    let s = d.as_secs();
    match s {
        0..10 if d.subsec_millis() >= 50 => format!("{:.1}s", d.as_secs_f64()),
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d", s / 86400),
    }
}

/// A duration as a setting has it, without rounding: `1m30s`, `2h`, `1s500ms`.
pub fn exact_duration(d: std::time::Duration) -> String {
    let mut rest = d.as_millis();
    let mut out = String::new();
    for (unit, name) in [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1000, "s"),
        (1, "ms"),
    ] {
        if rest >= unit {
            out.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    if out.is_empty() { "0s".into() } else { out }
}

/// Returns when something happens that follows after a time: `now`, or `in 4s`.
pub fn soon(wait: std::time::Duration) -> String {
    match duration(wait) {
        shown
            if shown
                .trim_start_matches(['0', '.'])
                .starts_with(|c: char| c.is_ascii_digit()) =>
        {
            format!("in {shown}")
        }
        _ => "now".into(),
    }
}

/// The age of something, coarser than [`duration`]: whole units only, so that a settled screen does not change.
pub fn age(d: std::time::Duration) -> String {
    let s = d.as_secs();
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m", s / 60),
        3600..86400 => format!("{}h", s / 3600),
        _ => format!("{}d", s / 86400),
    }
}

/// What [`age`] counts an age in: it says another one after so long at the latest.
pub fn age_unit(d: std::time::Duration) -> std::time::Duration {
    let seconds = match d.as_secs() {
        0..60 => 1,
        60..3600 => 60,
        3600..86400 => 3600,
        _ => 86400,
    };
    std::time::Duration::from_secs(seconds)
}

/// A size in bytes for people: `512 B`, `1.1 kB`, `50.0 MB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1000 => format!("{n} B"),
        1000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}

/// A count for people: `3,104`, and `1.2M` from ten million on.
pub fn count(n: u64) -> String {
    if n >= 10_000_000 {
        return format!("{:.1}M", n as f64 / 1e6);
    }
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn is_plain(text: &str, lines: bool) -> bool {
    text.bytes()
        .all(|b| (0x20..0x7f).contains(&b) || (lines && b == b'\n'))
}

fn scrub(text: &str, lines: bool) -> String {
    let text = &*json::shown(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut marks = 0;
    while let Some(c) = rest.chars().next() {
        let skipped = sequence(rest);
        rest = &rest[skipped.max(c.len_utf8())..];
        // Dropped text is between no two marks.
        if skipped > 0 {
            continue;
        }
        let before = out.len();
        if is_mark(c) {
            marks += 1;
            if marks > MAX_CLUSTER_CHARS {
                continue;
            }
        }
        match c {
            '\r' if rest.starts_with('\n') => {}
            '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                out.push(if lines { '\n' } else { '⏎' })
            }
            '\t' => out.push_str(if lines { "    " } else { " " }),
            c if (c as u32) < 0x20 => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('␦')),
            '\u{7f}' => out.push('␡'),
            c if ('\u{80}'..'\u{a0}').contains(&c) => out.push('␦'),
            // Joiners make emoji and many scripts; alone they are harmless.
            '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => out.push(c),
            c if is_hidden(c) => {
                out.push_str("<U+");
                out.push_str(&format!("{:04X}", c as u32));
                out.push('>');
            }
            c => out.push(c),
        }
        if !is_mark(c) && out.len() > before {
            marks = 0;
        }
    }
    out
}

/// Whether a character only shows itself: it neither controls anything nor hides or turns what is beside it.
pub fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_hidden(c) && !matches!(c, '\u{2028}' | '\u{2029}')
}

fn is_mark(c: char) -> bool {
    c as u32 >= 0x300 && unicode_width::UnicodeWidthChar::width(c) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_have_their_nouns() {
        let nouns = ["thread", "entry", "key", "branch", "match", "equal item"];
        assert_eq!(
            nouns.map(|noun| counted(1_usize, noun)),
            nouns.map(|noun| format!("1 {noun}"))
        );
        assert_eq!(
            nouns.map(|noun| plural(2_u64, noun).into_owned()),
            [
                "threads",
                "entries",
                "keys",
                "branches",
                "matches",
                "equal items"
            ]
        );
        assert_eq!(
            (counted(0_u32, "box"), counted(1_200_u64, "event")),
            ("0 boxes".into(), "1,200 events".into())
        );
    }

    #[test]
    fn a_short_wait_is_now() {
        let soon = |millis| soon(std::time::Duration::from_millis(millis));
        assert_eq!((soon(0), soon(20)), ("now".into(), "now".into()));
        assert_eq!(
            (soon(100), soon(4000), soon(60_000)),
            ("in 0.1s".into(), "in 4s".into(), "in 1m00s".into())
        );
    }

    #[test]
    fn heads_and_tails_are_cut_between_characters() {
        assert_eq!(
            (head("aé日", 2), head("aé日", 3), head("aé", 9), head("", 1)),
            ("a", "aé", "aé", "")
        );
        assert_eq!(
            (tail("日éa", 2), tail("日éa", 3), tail("éa", 9), tail("", 1)),
            ("a", "éa", "éa", "")
        );
        assert_eq!(
            short_id(&format!("12345678{}9abc", "日".repeat(1_000_000))),
            "12345678…9abc"
        );
    }

    #[test]
    fn clean_removes_escapes_and_shows_controls() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m b"), "ared b");
        assert_eq!(
            clean("t\u{1b}]0;owned\u{7}x\u{1b}]52;c;aGk=\u{1b}\\y"),
            "txy"
        );
        assert_eq!(clean("bell\u{7} nul\0"), "bell␇ nul␀");
        assert_eq!(clean("safe\u{202e}evil"), "safe<U+202E>evil");
        assert_eq!(clean("a\r\nb\tc"), "a⏎b c");
        assert_eq!(clean_lines("a\r\nb\tc"), "a\nb    c");
        assert_eq!(clean("Kraków ☀ 日本"), "Kraków ☀ 日本");
        assert_eq!(clean("open\u{1b}]0;never closed\nnext"), "open⏎next");
        let cluster = clean(&format!("e{}", "\u{301}\u{1b}[m".repeat(40))).into_owned();
        assert_eq!(
            cluster.chars().count(),
            1 + MAX_CLUSTER_CHARS,
            "sequences in between do not raise the limit"
        );
    }

    #[test]
    fn control_characters_are_dropped_from_pastes_and_visible_in_edited_text() {
        let text = "a\u{1b}[31mred\u{1b}[0m\tb\u{7}\u{9b}1mc\nd\u{7f}";
        assert_eq!(without_controls(text), "ared\tbc\nd");
        assert_eq!(visible("\u{1b}[31m\tb\u{7}\u{9b}\u{7f}é"), "␛[31m\tb␇␦␡é");
        assert!(matches!(
            (without_controls("a\tb\né"), visible("a\té")),
            (Cow::Borrowed(_), Cow::Borrowed(_))
        ));
    }

    #[test]
    fn json_is_sanitized_without_changing_its_value() {
        let value = "x\u{202e}y\u{9b}z\u{7f} ☀ é 日本\u{e0041}\u{2028}\u{200d}";
        let text = format!("{{\"a\":\"{value}\"}}\n{{}}\n");
        let safe = json(&text);
        assert_eq!(
            safe,
            "{\"a\":\"x\\u202ey\\u009bz\\u007f ☀ é 日本\\udb40\\udc41\\u2028\u{200d}\"}\n{}\n"
        );
        let read: serde_json::Value = serde_json::from_str(safe.lines().next().unwrap()).unwrap();
        assert_eq!(read["a"], value);
        assert_eq!(
            json("{\t\"a\":\r\"\\t\"}"),
            "{ \"a\": \"\\t\"}",
            "escapes are only inside strings"
        );
        assert!(matches!(json("{\"a\":\"é ☀\"}\n"), Cow::Borrowed(_)));
        let marks = format!("{{\"a\":\"e{}x\"}}", "\u{301}".repeat(40));
        let safe = json(&marks);
        assert_eq!(safe.matches('\u{301}').count(), MAX_CLUSTER_CHARS);
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(read(&safe), read(&marks));
    }

    #[test]
    fn texts_and_ids_are_shortened() {
        assert_eq!(fit("deployment", 6), "deplo…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(
            short_id("01a1fbb5-173d-77d7-b93d-09bf6dcc9775"),
            "01a1fbb5…9775"
        );
        assert_eq!(short_id("agent"), "agent");
    }

    #[test]
    fn numbers_are_formatted() {
        use std::time::Duration;
        assert_eq!(duration(Duration::from_millis(410)), "0.4s");
        assert_eq!(duration(Duration::from_secs(130)), "2m10s");
        assert_eq!(duration(Duration::from_secs(3 * 3600 + 300)), "3h05m");
        for (millis, exact) in [
            (90_000, "1m30s"),
            (60_000, "1m"),
            (5_400_000, "1h30m"),
            (1500, "1s500ms"),
            (0, "0s"),
        ] {
            assert_eq!(exact_duration(Duration::from_millis(millis)), exact);
        }
        assert_eq!(age(Duration::from_secs(130)), "2m");
        assert_eq!(count(3104), "3,104");
        assert_eq!(count(12_300_000), "12.3M");
        assert_eq!(bytes(1_100), "1.1 kB");
    }

    proptest! {
        #[test]
        fn cleaned_text_has_no_control_characters(text in any::<String>(), wild in proptest::collection::vec(any::<u8>(), 0..200)) {
            for source in [text.as_str(), &String::from_utf8_lossy(&wild)] {
                for c in clean(source).chars() {
                    prop_assert!(!c.is_control() && !is_hidden(c), "{c:?}");
                }
                for c in clean_lines(source).chars() {
                    prop_assert!((c == '\n' || !c.is_control()) && !is_hidden(c), "{c:?}");
                }
            }
        }

        #[test]
        fn fit_never_exceeds_the_width(text in "\\PC{0,40}", columns in 0usize..30) {
            let cleaned = clean(&text);
            prop_assert!(width(&fit(&cleaned, columns)) <= columns);
        }
    }

    #[test]
    fn readable_decodes_unnecessary_escapes() {
        for (json, expected) in [
            (r#"{"note":"caf\u00e9"}"#, r#"{"note":"café"}"#),
            (r#""\ud83d\ude00 \u65e5""#, "\"😀 日\""),
            (r#""\u0022\u005c\u0007\n""#, r#""\u0022\u005c\u0007\n""#),
            (r#""!\u00""#, r#""!\u00""#),
            // A backslash and the letter u.
            (r#""C:\\u00e9""#, r#""C:\\u00e9""#),
            (r"\", r"\"),
        ] {
            assert_eq!(readable(json), expected);
        }
    }
}
