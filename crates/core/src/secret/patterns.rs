//! The patterns that find keys in a text. They match after any character.

use super::{LOGIN, MASK, is_secret_name, name_pattern};
use crate::text;
use regex::Regex;
use std::collections::BTreeSet;
use std::ops::Range;

/// A kind of key: its name, a pattern for a quick search (every key of this kind contains a match), its full pattern,
/// and a further check. If the full pattern has a group, the group is the secret.
struct Kind(&'static str, &'static str, &'static str, Check);

/// A further check of a match.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Check {
    /// None: no other text has this form.
    Nothing,
    /// Directly after a letter, a match must not consist of words: `disk-usage-of-the-server` contains no `sk-` key.
    AfterLetter,
    /// A match must not consist of words.
    Words,
    /// A short match must not be the next word of a sentence.
    ShortWord,
    /// A match must not be a part of base64.
    Alone,
}

const KINDS: [Kind; 26] = [
    Kind(
        "LangSmith keys",
        "lsv2_|ls__",
        "lsv2_[a-z]{2}_[A-Za-z0-9_]{16,}|ls__[A-Za-z0-9]{24,}",
        Check::AfterLetter,
    ),
    Kind(
        "sk- keys",
        "sk-[A-Za-z0-9_-]{16}",
        "sk-[A-Za-z0-9_-]{16,}",
        Check::AfterLetter,
    ),
    Kind(
        "keys of other AI services",
        "gsk_|xai-|tvly-|pcsk_|nvapi-|pplx-|r8_[A-Za-z0-9]{9}|dapi[0-9a-f]{9}",
        "(?:gsk_|xai-|tvly-|pcsk_|nvapi-|pplx-|r8_|dapi)[A-Za-z0-9_-]{20,}",
        Check::Words,
    ),
    Kind(
        "Hugging Face tokens",
        "hf_",
        "hf_[A-Za-z0-9]{16,}",
        Check::AfterLetter,
    ),
    Kind(
        "GitHub tokens",
        "gh[opusr]_|github_pat_",
        "(?:gh[opusr]|github_pat)_[A-Za-z0-9_]{16,}",
        Check::AfterLetter,
    ),
    Kind(
        "GitLab tokens",
        "gl[a-z]{2,5}-|GR1348941",
        r"(?:gl(?:pat|dt|ft|ffct|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941)[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)*",
        Check::AfterLetter,
    ),
    Kind(
        "AWS key ids",
        "A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}",
        "A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}",
        Check::Nothing,
    ),
    Kind(
        "Slack tokens",
        r"xox[a-z]-|xapp-|hooks\.slack\.com",
        r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}|hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9_/-]{16,})",
        Check::Nothing,
    ),
    Kind(
        "Google keys",
        r"AIza|GOCSPX-|ya29\.|1//0",
        r"AIza[0-9A-Za-z_-]{30,}|GOCSPX-[0-9A-Za-z_-]{16,}|ya29\.[0-9A-Za-z_.-]{16,}|1//0[0-9A-Za-z_-]{20,}",
        Check::Nothing,
    ),
    Kind(
        "Azure keys",
        "(?i-u:accountkey|sharedaccesskey|sharedaccesssignature)|[?&;]sig=",
        r"(?:(?i-u:accountkey|sharedaccesskey)\s*=|[?&;]sig=)\s*([A-Za-z0-9+/=%_-]{16,})",
        Check::Nothing,
    ),
    Kind(
        "Stripe keys",
        "[sr]k_(?:live|test)_|whsec_",
        "(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{10,}",
        Check::AfterLetter,
    ),
    Kind(
        "npm tokens",
        "npm_[A-Za-z0-9]{20}",
        "npm_[A-Za-z0-9]{20,}",
        Check::AfterLetter,
    ),
    Kind(
        "PyPI tokens",
        "pypi-",
        "pypi-[A-Za-z0-9_-]{16,}",
        Check::Words,
    ),
    Kind(
        "SendGrid keys",
        r"SG\.",
        r"SG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        Check::Nothing,
    ),
    Kind(
        "Twilio keys",
        "(?:AC|SK)[0-9a-f]{9}",
        "(?:AC|SK)[0-9a-f]{32}",
        Check::Nothing,
    ),
    Kind(
        "keys of chat, mail and payment services",
        r"[0-9]:AA|sq0[a-z]{3}-|[0-9a-z]-us[0-9]|\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
        r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}|sq0[a-z]{3}-[0-9A-Za-z_-]{22,}|[0-9a-z]{32}-us[0-9]{1,2}|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        Check::Nothing,
    ),
    Kind(
        "Square tokens",
        "EAAA[A-Za-z0-9_-]{36}",
        "EAAA[A-Za-z0-9_-]{36,}",
        Check::Alone,
    ),
    Kind(
        "keys of other services",
        r"hv[sbr]\.|do[opr]_v1_|dckr_[po]at_|shp[a-z]{2}_|secret_[A-Za-z0-9]{9}|ntn_|lin_|sbp_|sb_secret_",
        r"(?:hv[sbr]\.|do[opr]_v1_|dckr_[po]at_|shp(?:at|ca|pa|ss|tka)_|sbp_|sb_secret_|ntn_|lin_(?:api|oauth)_)[A-Za-z0-9_-]{20,}|secret_[A-Za-z0-9]{40,}",
        Check::AfterLetter,
    ),
    Kind(
        "JSON web tokens",
        r"eyJ[A-Za-z0-9_=-]{8,}\.",
        r"eyJ[A-Za-z0-9_=-]{8,}\.[A-Za-z0-9_=-]{8,}(?:\.[A-Za-z0-9_=-]*)*",
        Check::Nothing,
    ),
    Kind(
        "bearer tokens",
        r"(?i-u:bearer)",
        r"(?i-u:bearer)\s+([A-Za-z0-9._~+/=-]{8,})",
        Check::ShortWord,
    ),
    Kind(
        "basic logins",
        r"(?i-u:basic)",
        r"(?i-u:basic)\s+([A-Za-z0-9+/=]{12,})",
        Check::Words,
    ),
    Kind(
        "authorization headers",
        "(?i-u:authorization)",
        r#"(?i-u:authorization)["'\\]*\s*[:=]\s*["'\\]*(?i-u:bearer|basic|digest|token|apikey|api-key|negotiate)\s+([^\s"'\\,;*][^\s"'\\,;]*)"#,
        Check::Nothing,
    ),
    Kind("logins in URLs", LOGIN, LOGIN, Check::Nothing),
    Kind(
        "logins in encoded URLs",
        "(?i-u:%3a%2f%2f)",
        r#"(?i-u:%3a%2f%2f)([^\s/?\#"'<>\\&%]+(?:%[0-9A-Fa-f]{2}[^\s/?\#"'<>\\&%]+)*)%40"#,
        Check::Nothing,
    ),
    Kind(
        "logins of curl",
        r"curl\s",
        r#"curl(?:\s[^\n|;&]*?)?\s(?:-[A-Za-z]*u|--(?:proxy-)?user)[\s=]*\\*["']?[^\s"':\\]+:([^\s"'\\$*][^\s"'\\]*)"#,
        Check::Nothing,
    ),
    Kind(
        "private keys",
        "BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File",
        r"(?s)-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}.*?(?:-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}|\z)|PuTTY-User-Key-File-[0-9].*\z",
        Check::Nothing,
    ),
];

/// The index of the private keys' kind.
pub const PRIVATE_KEYS: usize = KINDS.len() - 1;

/// The end marker of a private key.
const END_OF_KEY: &str = "-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}";

/// What follows the name of a value.
const AFTER_NAME: &str = r#"[0-9_ -]{0,4}(?:["'\\\]]|\s*[:=])"#;

/// The name of a value in a text that is not JSON, and the separator between them.
const ASSIGNMENT: &str = r#"([A-Za-z0-9_.-]*[A-Za-z][0-9_]*)(\\*["']?\]?\s*(?::=|=>|[:=])\s*)"#;

/// Letters that are escaped in JSON, and punctuation of keys that is escaped in a URL.
const ESCAPED: &str = r"\\u(?i:00[2-7])|%(?i:2[de]|5f)";

/// A secret in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub range: Range<usize>,
    /// The index of its kind in [`Patterns::names`].
    pub kind: usize,
}

/// The patterns of all kinds of keys.
#[derive(Debug)]
pub struct Patterns {
    any: Regex,
    kinds: Vec<Regex>,
    assignment: Regex,
    end_of_key: Regex,
}

impl Patterns {
    /// Compiles the patterns.
    ///
    /// # Errors
    /// One of them is not valid.
    pub fn new() -> Result<Patterns, regex::Error> {
        let anchors: Vec<&str> = KINDS.iter().map(|kind| kind.1).collect();
        let (anchors, names) = (anchors.join("|"), name_pattern());
        Ok(Patterns {
            any: Regex::new(&format!(
                "{anchors}|{names}{AFTER_NAME}|{ESCAPED}|{}",
                invisible()
            ))?,
            kinds: KINDS
                .iter()
                .map(|kind| Regex::new(kind.2))
                .collect::<Result<_, _>>()?,
            assignment: Regex::new(ASSIGNMENT)?,
            end_of_key: Regex::new(END_OF_KEY)?,
        })
    }

    /// Returns the names of all kinds. The last kind is values in a text that have a secret's name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS
            .iter()
            .map(|kind| kind.0)
            .chain(["values with a secret's name"])
    }

    /// Returns false only if a text contains no secret, not even in a string or a name if it is JSON. Much faster than
    /// searching each of them.
    pub fn may_be_in(&self, text: &str) -> bool {
        self.any.is_match(text)
    }

    /// Finds the secrets in a text, kind by kind: those in the text as it is, and those in the text as it is shown.
    pub fn find(&self, text: &str) -> Vec<Found> {
        let mut found = self.find_in(text);
        if let Some(shown) = Shown::of(text) {
            let back = |found: Found| Found {
                range: shown.original(found.range, text),
                ..found
            };
            found.extend(self.find_in(&shown.text).into_iter().map(back));
        }
        found
    }

    fn find_in(&self, text: &str) -> Vec<Found> {
        let mut all = Vec::new();
        for (number, (pattern, Kind(.., check))) in self.kinds.iter().zip(&KINDS).enumerate() {
            let groups = pattern.captures_len() > 1;
            let mut at = 0;
            while let Some(found) = pattern.find_at(text, at) {
                let mut range = found.range();
                if groups && let Some(captures) = pattern.captures_at(text, at) {
                    range = captures
                        .iter()
                        .skip(1)
                        .flatten()
                        .next()
                        .map_or(range, |group| group.range());
                }
                at = found.end();
                match rejected(text, &range, *check) {
                    // A rejected match may contain a key.
                    Some(next) => at = next,
                    None if &text[range.clone()] != MASK => all.push(Found {
                        range,
                        kind: number,
                    }),
                    None => {}
                }
            }
        }
        self.find_assigned(text, &mut all);
        all
    }

    /// Finds the values that have a secret's name: `password=…`, `"apiKey": "…"`, `TOKEN: …`.
    fn find_assigned(&self, text: &str, all: &mut Vec<Found>) {
        let mut at = 0;
        while let Some(found) = self.assignment.captures_at(text, at) {
            let (Some(whole), Some(name), Some(sign)) = (found.get(0), found.get(1), found.get(2))
            else {
                return;
            };
            at = whole.end();
            if is_secret_name(name.as_str())
                && let Some(range) = value(text, whole.range(), sign.as_str())
            {
                at = range.end;
                if &text[range.clone()] != MASK {
                    all.push(Found {
                        range,
                        kind: KINDS.len(),
                    });
                }
            }
        }
    }

    /// Returns whether a private key begins in a text and doesn't end in it.
    pub fn leaves_key_open(&self, text: &str) -> bool {
        let shown = Shown::of(text);
        let text = shown.as_ref().map_or(text, |shown| &shown.text);
        let private = self
            .kinds
            .get(PRIVATE_KEYS)
            .and_then(|private| private.find_iter(text).last());
        private.is_some_and(|found| {
            found.end() == text.len() && !self.end_of_key.is_match(found.as_str())
        })
    }

    /// Returns the end of a private key that began in another text.
    pub fn end_of_key(&self, text: &str) -> Option<usize> {
        match Shown::of(text) {
            Some(shown) => self
                .end_of_key
                .find(&shown.text)
                .map(|end| shown.original(end.range(), text).end),
            None => self.end_of_key.find(text).map(|end| end.end()),
        }
    }
}

/// Returns where to continue the search if a match is not a key.
fn rejected(text: &str, range: &Range<usize>, check: Check) -> Option<usize> {
    let body = &text[range.clone()];
    match check {
        Check::AfterLetter if is_after_letter(&text[..range.start]) && is_words(body, true) => {
            // `ask-for-sk-…` may contain a key after its first words.
            let prefix = body.find(['-', '_']).map_or(body, |end| &body[..=end]);
            let inner = ['-', '_']
                .iter()
                .filter_map(|before| body[1..].find(&format!("{before}{prefix}")))
                .min();
            Some(range.start + inner.map_or(body.len(), |at| at + 2))
        }
        Check::Words if is_words(body.trim_end_matches('='), false) => Some(range.end),
        Check::ShortWord if body.len() < 16 && is_word_of_sentence(text, range) => Some(range.end),
        Check::Alone if is_in_base64(text, range) => Some(range.end),
        _ => None,
    }
}

/// Returns whether a text ends with a letter that is not part of an escape such as `\n` or `%3D`.
fn is_after_letter(before: &str) -> bool {
    let bytes = before.as_bytes();
    let back = |n: usize| {
        bytes
            .len()
            .checked_sub(n)
            .and_then(|at| bytes.get(at))
            .copied()
            .unwrap_or(b' ')
    };
    let is_escape = back(2) == b'\\' && b"nrtbf".contains(&back(1));
    let is_percent = back(3) == b'%' && back(2).is_ascii_hexdigit() && back(1).is_ascii_hexdigit();
    back(1).is_ascii_alphabetic() && !is_escape && !is_percent
}

/// Returns whether a short match is a word or a placeholder among other words.
fn is_word_of_sentence(text: &str, range: &Range<usize>) -> bool {
    let word = text[range.clone()].trim_end_matches(['.', '-']);
    let is_header = text[range.end..].trim().is_empty()
        && text[..range.start].trim().eq_ignore_ascii_case("bearer");
    let is_placeholder = !word.contains(|c: char| c.is_ascii_lowercase()) && is_words(word, true);
    let is_common = ["authentication", "authorization", "credentials"]
        .iter()
        .any(|w| word.eq_ignore_ascii_case(w));
    let rest = word.get(1..).unwrap_or_default();
    is_placeholder || is_common || !is_header && is_words(rest, false)
}

/// Returns whether a match continues before its beginning or after its end, as base64 does.
fn is_in_base64(text: &str, range: &Range<usize>) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let bytes = text.as_bytes();
    let before = range.start.checked_sub(1).and_then(|at| bytes.get(at));
    let is_escape = text[..range.start].ends_with("\\n") || text[..range.start].ends_with("%3D");
    before.is_some_and(is_part) && !is_escape || bytes.get(range.end).is_some_and(is_part)
}

/// Returns whether a text consists of words, short numbers and UUIDs, as names and ids do.
fn is_words(text: &str, in_any_case: bool) -> bool {
    let parts: Vec<&str> = text.split(['-', '_']).collect();
    let is_hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let uuid = parts.get(at..at + 5).is_some_and(|five| {
            five.iter()
                .zip([8, 4, 4, 4, 12])
                .all(|(part, length)| is_hex(part, length))
        });
        let is_word = part
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || in_any_case && byte.is_ascii_uppercase());
        let is_number = part.len() <= 4 && part.bytes().all(|byte| byte.is_ascii_digit());
        if !uuid && !is_word && !is_number {
            return false;
        }
        at += if uuid { 5 } else { 1 };
    }
    true
}

/// Maximum number of bytes checked of a value without quotes. Checking every value in full would be quadratic.
const MAX_CHECKED: usize = 256;

/// Returns the range of the value after `name`, which includes the `sign` between them.
fn value(text: &str, name: Range<usize>, sign: &str) -> Option<Range<usize>> {
    let at = name.end;
    let rest = &text[at..];
    let bytes = rest.as_bytes();
    let slashes = bytes.iter().take_while(|byte| **byte == b'\\').count();
    let range = match bytes.get(slashes) {
        Some(quote @ (b'"' | b'\'')) => {
            let from = slashes + 1;
            // In escaped JSON the closing quote has as many backslashes as the opening quote.
            let end = memchr::memchr_iter(*quote, &bytes[from..])
                .map(|end| from + end)
                .find(|end| {
                    let before = bytes[from..*end]
                        .iter()
                        .rev()
                        .take_while(|byte| **byte == b'\\')
                        .count();
                    if slashes == 0 {
                        before.is_multiple_of(2)
                    } else {
                        before <= slashes
                    }
                });
            let end = end.map_or(rest.len(), |end| {
                let before = bytes[from..end]
                    .iter()
                    .rev()
                    .take_while(|byte| **byte == b'\\')
                    .count();
                end - before.min(slashes)
            });
            from..end
        }
        _ => {
            let ends = |c: char| c.is_whitespace() || "\"'&,;{}()[]<>\\`|".contains(c);
            let head = text::head(rest, MAX_CHECKED);
            let word = &head[..head.find(ends).unwrap_or(head.len())];
            let next = rest[word.len()..].chars().next();
            let before = text[..name.start].trim_end_matches([' ', '\t', '-']);
            let is_line = matches!(next, None | Some('\n' | '\r')) && !sign.contains('\n');
            let is_line = is_line && (before.is_empty() || before.ends_with('\n'));
            if !(is_bare_secret(word, next, sign) || is_line && is_yaml_secret(word)) {
                return None;
            }
            let end = rest.find(ends).unwrap_or(rest.len());
            0..end
        }
    };
    (!range.is_empty()).then(|| at + range.start..at + range.end)
}

/// Returns whether a value without quotes is a secret, not a word of a sentence or of a program.
fn is_bare_secret(value: &str, next: Option<char>, sign: &str) -> bool {
    let word = value.trim_end_matches(['.', ':', '!', '?']);
    let is_empty = [
        "",
        "null",
        "none",
        "true",
        "false",
        "undefined",
        "str",
        "string",
    ]
    .iter()
    .any(|w| word.eq_ignore_ascii_case(w));
    if is_empty || matches!(next, Some('(' | '[' | '{')) || value.starts_with(['$', '%', '*', '='])
    {
        return false;
    }
    match sign {
        "=" => true,
        // The name has quotes, so this is a number.
        sign if sign.contains(['"', '\'']) => value
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-')),
        _ => value.len() >= 6 && value.bytes().any(|byte| byte.is_ascii_digit()),
    }
}

/// Values that say what a secret is, or that there is none.
const NO_SECRETS: &str = " any bool boolean bytes change change-me changeme disabled empty enabled expired false float hidden \
    incorrect int integer invalid key masked missing n/a no none null number object optional password redacted required \
    revoked secret set str string text token true undefined unknown unset valid wrong yes ";

/// Returns whether a value that is the rest of a line after its name is a secret: not a type, a path or a number.
fn is_yaml_secret(value: &str) -> bool {
    let is_type = value.starts_with(|c: char| c.is_ascii_uppercase()) && is_words(value, true);
    let is_number = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let is_place = value.starts_with(['/', '.', '~', '$', '%', '*', '=', '#', '@', '!'])
        || value.contains("://");
    let is_known = || NO_SECRETS.contains(&format!(" {} ", value.to_ascii_lowercase()));
    value.len() >= 3 && value.is_ascii() && !is_type && !is_number && !is_place && !is_known()
}

/// Returns a pattern of everything that [`Shown`] leaves out, as it is and as JSON escapes it.
fn invisible() -> String {
    // No other plane has invisible characters.
    let all = || {
        ('\0'..'\u{10000}')
            .chain('\u{e0000}'..'\u{e1000}')
            .filter(|c| text::is_invisible(*c))
    };
    let mut ranges: Vec<(char, char)> = Vec::new();
    for c in all() {
        match ranges.last_mut() {
            Some((_, last)) if *last as u32 + 1 == c as u32 => *last = c,
            _ => ranges.push((c, c)),
        }
    }
    let class: String = ranges
        .iter()
        .map(|(first, last)| format!(r"\u{{{:x}}}-\u{{{:x}}}", *first as u32, *last as u32))
        .collect();
    let units: BTreeSet<u16> = all()
        .filter_map(|c| c.encode_utf16(&mut [0; 2]).first().copied())
        .collect();
    let units: Vec<String> = units.iter().map(|unit| format!("{unit:04x}")).collect();
    format!(r"[{class}]|\\[bf]|\\u(?i:{})", units.join("|"))
}

/// A text as it is shown: without escape sequences and invisible characters, and with the punctuation of keys that a URL
/// escapes.
struct Shown {
    text: String,
    /// After each difference: the position in this text and in the original one.
    marks: Vec<(usize, usize)>,
}

impl Shown {
    /// Returns the shown text; none if it is the same.
    fn of(text: &str) -> Option<Shown> {
        let is_part = |c: char| c == '%' || text::is_invisible(c);
        let mut shown = Shown {
            text: String::new(),
            marks: Vec::new(),
        };
        let (mut from, mut at) = (0, 0);
        while let Some(next) = text[at..].find(is_part).map(|next| at + next) {
            let rest = &text[next..];
            let (length, decoded) = match rest.get(..3).map(str::to_ascii_lowercase).as_deref() {
                Some("%2d") => (3, "-"),
                Some("%2e") => (3, "."),
                Some("%5f") => (3, "_"),
                _ if rest.starts_with('%') => {
                    at = next + 1;
                    continue;
                }
                _ => (
                    text::sequence(rest).max(rest.chars().next().map_or(1, char::len_utf8)),
                    "",
                ),
            };
            shown.text.push_str(&text[from..next]);
            if !decoded.is_empty() {
                shown.marks.push((shown.text.len(), next));
                shown.text.push_str(decoded);
            }
            (from, at) = (next + length, next + length);
            shown.marks.push((shown.text.len(), from));
        }
        shown.text.push_str(&text[from..]);
        (from > 0).then_some(shown)
    }

    /// Returns a range of the original text. What is left out after the range is not part of it.
    fn original(&self, range: Range<usize>, text: &str) -> Range<usize> {
        let place = |at: usize| {
            let marks = self.marks.partition_point(|(shown, _)| *shown <= at);
            let mark = marks.checked_sub(1).and_then(|last| self.marks.get(last));
            mark.map_or(at, |(shown, original)| original + (at - shown))
        };
        let last = self.text[range.clone()]
            .chars()
            .next_back()
            .unwrap_or_default();
        let from = place(range.end - last.len_utf8());
        let is_decoded = last != '%' && text[from..].starts_with('%');
        place(range.start)..from + if is_decoded { 3 } else { last.len_utf8() }
    }
}
