//! Search patterns: a regular expression, or plain text if the input is not a valid one.

use super::line::{Line, Piece, Tone};
use regex::{Regex, RegexBuilder};
use runtail_core::{json, text};
use std::borrow::Cow;
use std::ops::Range;

/// Maximum bytes of a pattern. Compiling a pasted text of a megabyte would take seconds.
const MAX_TEXT: usize = 4096;
/// Maximum bytes of a compiled pattern, and of its lazy DFA cache.
const MAX_COMPILED: usize = 1 << 20;
const MAX_DFA_CACHE: usize = 4 << 20;
/// Maximum nesting depth of groups.
const MAX_DEPTH: u32 = 64;
/// A text is searched in pieces that overlap by this many bytes, so that matches across a border are found. A longer match
/// may be missed in a text of several pieces.
const OVERLAP: usize = 4096;

/// A search pattern. It is case-sensitive only if it contains a capital letter.
#[derive(Debug, Clone, Default)]
pub struct Pattern {
    text: String,
    regex: Option<Regex>,
    problem: Option<String>,
}

/// A text to search.
#[derive(Debug, Clone, Copy)]
pub struct PatternSource<'a> {
    pub text: &'a str,
    /// Whether it is JSON, which is searched both as received and with its escapes decoded.
    pub is_json: bool,
}

/// The result of searching a piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanResult {
    /// A match begins at this byte.
    Found(usize),
    /// No match.
    Nothing,
    /// No match up to this byte, where the next search continues.
    Further(usize),
}

impl ScanResult {
    /// Returns whether there is a match, wherever it begins.
    pub fn of(is_match: bool) -> ScanResult {
        match is_match {
            true => ScanResult::Found(0),
            false => ScanResult::Nothing,
        }
    }
}

impl Pattern {
    /// Compiles a pattern. An invalid regular expression is searched as plain text, and [`Pattern::problem`] reports it.
    pub fn new(text: &str) -> Pattern {
        if text.is_empty() || text.len() > MAX_TEXT {
            return Pattern::plain(text);
        }
        match compile(text, has_capital(text)) {
            Ok(regex) => Pattern {
                text: text.to_string(),
                regex: Some(regex),
                problem: None,
            },
            Err(error) => {
                let why = reason(&error);
                Pattern {
                    problem: Some(format!("invalid regex ({why}); searched as text")),
                    ..Pattern::plain(text)
                }
            }
        }
    }

    /// Creates a pattern that matches a text literally.
    pub fn plain(text: &str) -> Pattern {
        if text.is_empty() {
            return Pattern::default();
        }
        let exact = text.chars().any(char::is_uppercase);
        let regex = (text.len() <= MAX_TEXT)
            .then(|| compile(&regex::escape(text), exact).ok())
            .flatten();
        let problem = regex.is_none().then(|| "too long to search".to_string());
        Pattern {
            text: text.to_string(),
            regex,
            problem,
        }
    }

    /// Returns the pattern as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the pattern is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns a warning about the pattern.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns the matches in a text, in order. Skips empty matches.
    pub fn hits<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let hits = self
            .regex
            .iter()
            .flat_map(move |regex| regex.find_iter(text));
        hits.map(|hit| hit.range()).filter(|hit| !hit.is_empty())
    }

    /// Returns whether a text contains a match.
    pub fn is_in(&self, text: &str) -> bool {
        self.hits(text).next().is_some()
    }

    /// Searches concatenated texts from a byte on, for about `room` bytes, so that 50 MB can be searched in many short steps.
    /// Also returns how many bytes were read.
    pub fn look(
        &self,
        sources: &[PatternSource<'_>],
        from: usize,
        room: usize,
    ) -> (ScanResult, usize) {
        let mut read = 0;
        let mut base = 0;
        for source in sources {
            let length = source.text.len();
            if from < base + length {
                let at = from.saturating_sub(base);
                let end = text::head(
                    source.text,
                    at.saturating_add(room.max(OVERLAP).saturating_sub(read)),
                )
                .len();
                let start = text::head(source.text, at.saturating_sub(OVERLAP)).len();
                read += end - start;
                if let Some(hit) = self.first_in(&source.text[start..end], source.is_json) {
                    return (ScanResult::Found(base + start + hit), read);
                }
                if end < length {
                    return (ScanResult::Further(base + end), read);
                }
            }
            base += length;
        }
        (ScanResult::Nothing, read)
    }

    /// Returns where the first match in a text begins, in bytes of the text as received.
    pub fn first_in(&self, text: &str, is_json: bool) -> Option<usize> {
        if let Some(hit) = self.hits(text).next() {
            return Some(hit.start);
        }
        if !is_json {
            return None;
        }
        let read = json::Decoded::of(text);
        if matches!(read.text, Cow::Borrowed(_)) {
            return None;
        }
        let hit = self.hits(&read.text).next()?;
        Some(read.encoded_offset(hit.start))
    }
}

/// Highlights all matches in a line, including those that span several pieces.
pub fn light(line: &mut Line, pattern: &Pattern) {
    for pieces in [&mut line.left, &mut line.right] {
        let whole: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let mut hits = pattern.hits(&whole).peekable();
        if hits.peek().is_none() {
            continue;
        }
        let mut highlighted: Vec<Piece> = Vec::with_capacity(pieces.len() + 2);
        let mut begin = 0;
        for piece in pieces.iter() {
            let end = begin + piece.text.len();
            let mut at = begin;
            while at < end {
                // Skip the matches that ended before this position.
                while hits.next_if(|hit| hit.end <= at).is_some() {}
                let (stop, tone) = match hits.peek() {
                    Some(hit) if hit.start <= at => (hit.end.min(end), Tone::Hit),
                    Some(hit) => (hit.start.min(end), piece.tone),
                    None => (end, piece.tone),
                };
                highlighted.push(Piece {
                    text: whole[at..stop].to_string(),
                    tone,
                });
                at = stop;
            }
            begin = end;
        }
        *pieces = highlighted;
    }
}

/// Decodes the escapes of JSON text, which may be cut anywhere.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    match json::unescaped(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(text) => Cow::Owned(json::shown(&text).into_owned()),
    }
}

fn compile(text: &str, exact: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text)
        .case_insensitive(!exact)
        .multi_line(true)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_DFA_CACHE)
        .nest_limit(MAX_DEPTH)
        .build()
}

/// Returns whether a pattern contains a literal capital letter: not those of `\S`, `\p{Lu}` or `\x4A`.
fn has_capital(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let mut digits = match chars.next() {
                    Some('p' | 'P') => 0,
                    Some('x') => 2,
                    Some('u') => 4,
                    Some('U') => 8,
                    _ => continue,
                };
                if chars.next_if_eq(&'{').is_some() {
                    while chars.next().is_some_and(|c| c != '}') {}
                } else {
                    while digits > 0 && chars.next_if(char::is_ascii_hexdigit).is_some() {
                        digits -= 1;
                    }
                }
            }
            c if c.is_uppercase() => return true,
            _ => {}
        }
    }
    false
}

/// Returns briefly why a regular expression is invalid.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the regex is too large".into(),
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(pattern: &str, text: &str) -> Vec<(usize, usize)> {
        Pattern::new(pattern)
            .hits(text)
            .map(|hit| (hit.start, hit.end))
            .collect()
    }

    #[test]
    fn a_capital_letter_makes_a_pattern_case_sensitive() {
        assert_eq!(found("kraków", "KRAKÓW Kraków"), [(0, 7), (8, 15)]);
        assert_eq!(found("Kraków", "KRAKÓW Kraków"), [(8, 15)]);
        assert_eq!(
            found(r"\Sx", "aX"),
            [(0, 2)],
            "the capital of a class is not a letter"
        );
        assert_eq!(found(r"\p{Lu}x", "AX"), [(0, 2)]);
        assert_eq!(found(r"\x4Ax", "jX"), [(0, 2)]);
        assert_eq!(
            found(r"\x4AAx", "jax"),
            [],
            "what follows the digits is a letter"
        );
    }

    #[test]
    fn an_invalid_regex_is_searched_as_plain_text() {
        let pattern = Pattern::new("f(x");
        assert_eq!(
            pattern.problem(),
            Some("invalid regex (unclosed group); searched as text")
        );
        assert_eq!(pattern.hits("F(X) f(x").collect::<Vec<_>>(), [0..3, 5..8]);
        let huge = Pattern::new(r"\w{1000}{1000}");
        assert_eq!(
            huge.problem(),
            Some("invalid regex (the regex is too large); searched as text")
        );
        assert!(huge.is_in(r"a \w{1000}{1000} b"));
        let deep = Pattern::new(&"(".repeat(2_000));
        assert!(deep.problem().is_some() && deep.is_in(&"(".repeat(2_001)));
        let huge_text = Pattern::new(&"x".repeat(2_000_000));
        assert!(huge_text.problem().is_some() && !huge_text.is_in("x"));
    }

    #[test]
    fn empty_matches_are_skipped() {
        assert_eq!(found("x*", "axxb"), [(1, 3)]);
        assert_eq!(found("", "a"), []);
        assert_eq!(found("$", "a"), []);
        assert_eq!(found("^b", "a\nb"), [(2, 3)], "a line begins after a break");
    }

    #[test]
    fn matches_across_pieces_are_highlighted() {
        let mut line = Line::dim("one tw")
            .with_plain("o three")
            .right(Tone::Bad, "two");
        light(&mut line, &Pattern::new("two|e"));
        let pieces = |pieces: &[Piece]| {
            pieces
                .iter()
                .map(|p| (p.text.clone(), p.tone))
                .collect::<Vec<_>>()
        };
        let expected = [
            ("on", Tone::Dim),
            ("e", Tone::Hit),
            (" ", Tone::Dim),
            ("tw", Tone::Hit),
            ("o", Tone::Hit),
            (" thr", Tone::Plain),
            ("e", Tone::Hit),
            ("e", Tone::Hit),
        ];
        assert_eq!(
            pieces(&line.left),
            expected.map(|(text, tone)| (text.to_string(), tone))
        );
        assert_eq!(pieces(&line.right), [("two".to_string(), Tone::Hit)]);
    }

    #[test]
    fn json_is_searched_raw_and_decoded() {
        let raw =
            r#"{"a":"caf\u00e9 \"au lait\"","b":"one\ntwo","c":"\ud83d\ude00 \ud83d c:\\temp"}"#;
        for (pattern, at) in [
            ("café", r"caf\u"),
            ("é \"au", r"\u00e9 \"),
            ("e\ntwo", r"e\ntwo"),
            ("u00e9", "u00e9"),
            ("😀", r"\ud83d\ude00"),
            (r"c:\\temp", r"c:\\temp"),
        ] {
            let wanted = raw.find(at).unwrap();
            assert_eq!(
                Pattern::new(pattern).first_in(raw, true),
                Some(wanted),
                "{pattern}"
            );
        }
        assert_eq!(Pattern::new("café").first_in(raw, false), None);
        assert_eq!(unescaped(r"cut \u00"), "cut \u{fffd}00");
        // The first half of an escape is left out.
        assert_eq!(unescaped("cut \\"), "cut ");
    }

    #[test]
    fn a_long_text_is_searched_in_pieces() {
        let text = format!("{}needle{}", "é".repeat(50_000), "hay".repeat(50_000));
        let sources = [
            PatternSource {
                text: "head",
                is_json: false,
            },
            PatternSource {
                text: &text,
                is_json: true,
            },
        ];
        let pattern = Pattern::new("needle");
        let (mut at, mut steps) = (0, 0);
        let found = loop {
            steps += 1;
            let (look, read) = pattern.look(&sources, at, 10_000);
            assert!(read <= 10_000 + 2 * OVERLAP, "{read}");
            match look {
                ScanResult::Further(next) => at = next,
                look => break look,
            }
        };
        assert_eq!(found, ScanResult::Found(4 + 100_000));
        assert!(steps > 8, "{steps}");
        assert_eq!(pattern.look(&[], 0, 10).0, ScanResult::Nothing);
    }

    proptest! {
        #[test]
        fn searching_in_pieces_finds_the_same_as_searching_the_whole(
            parts in proptest::collection::vec("[abé]{0,3000}", 0..8),
            room in 1usize..6000,
        ) {
            let pattern = Pattern::new("aé*b");
            let sources: Vec<PatternSource<'_>> = parts.iter().map(|text| PatternSource { text, is_json: false }).collect();
            let mut at = 0;
            let mut steps = 0;
            let found = loop {
                match pattern.look(&sources, at, room).0 {
                    ScanResult::Further(next) => {
                        prop_assert!(next > at);
                        at = next;
                    }
                    look => break look,
                }
                steps += 1;
                prop_assert!(steps < 1000);
            };
            let mut base = 0;
            let mut whole = ScanResult::Nothing;
            for part in &parts {
                if let Some(hit) = pattern.first_in(part, false) {
                    whole = ScanResult::Found(base + hit);
                    break;
                }
                base += part.len();
            }
            prop_assert_eq!(found, whole);
        }

        #[test]
        fn highlighting_does_not_change_the_text(texts in proptest::collection::vec("[a-cé]{0,6}", 0..6), pattern in "[a-cé]{1,3}") {
            let mut line = Line::new();
            texts.iter().for_each(|text| line.push_dim(text));
            let before: String = texts.concat();
            light(&mut line, &Pattern::new(&pattern));
            let after: String = line.left.iter().map(|p| p.text.as_str()).collect();
            prop_assert_eq!(&after, &before);
            let highlighted: usize = line.left.iter().filter(|p| p.tone == Tone::Hit).map(|p| p.text.len()).sum();
            prop_assert_eq!(highlighted, Pattern::new(&pattern).hits(&before).map(|h| h.len()).sum::<usize>());
        }

        #[test]
        fn any_text_can_be_typed(text in any::<String>(), hay in any::<String>()) {
            let pattern = Pattern::new(&text);
            let found = pattern.first_in(&hay, true);
            prop_assert!(found.is_none_or(|at| at <= hay.len()));
        }
    }
}
