//! The patterns that find keys in a text. They match after any character.

use super::fields;
use regex::Regex;
use runtail_core::model::MASK;
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
}

const KINDS: [Kind; 22] = [
    Kind("LangSmith keys", "lsv2_|ls__", "lsv2_[a-z]{2}_[A-Za-z0-9_]{16,}|ls__[A-Za-z0-9]{24,}", Check::AfterLetter),
    Kind("sk- keys", "sk-[A-Za-z0-9_-]{16}", "sk-[A-Za-z0-9_-]{16,}", Check::AfterLetter),
    Kind(
        "keys of other AI services",
        "gsk_|xai-|tvly-|pcsk_|nvapi-|pplx-|r8_[A-Za-z0-9]{9}|dapi[0-9a-f]{9}",
        "(?:gsk_|xai-|tvly-|pcsk_|nvapi-|pplx-|r8_|dapi)[A-Za-z0-9_-]{20,}",
        Check::Words,
    ),
    Kind("Hugging Face tokens", "hf_", "hf_[A-Za-z0-9]{16,}", Check::AfterLetter),
    Kind("GitHub tokens", "gh[opusr]_|github_pat_", "(?:gh[opusr]|github_pat)_[A-Za-z0-9_]{16,}", Check::AfterLetter),
    Kind(
        "GitLab tokens",
        "gl[a-z]{2,5}-|GR1348941",
        r"(?:gl(?:pat|dt|ft|ffct|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941)[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)*",
        Check::AfterLetter,
    ),
    Kind("AWS key ids", "A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}", "A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{16}", Check::Nothing),
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
    Kind("npm tokens", "npm_[A-Za-z0-9]{20}", "npm_[A-Za-z0-9]{20,}", Check::AfterLetter),
    Kind("PyPI tokens", "pypi-", "pypi-[A-Za-z0-9_-]{16,}", Check::Words),
    Kind("SendGrid keys", r"SG\.", r"SG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}", Check::Nothing),
    Kind("Twilio keys", "(?:AC|SK)[0-9a-f]{9}", "(?:AC|SK)[0-9a-f]{32}", Check::Nothing),
    Kind(
        "keys of chat, mail and payment services",
        r"[0-9]:AA|sq0[a-z]{3}-|[0-9a-z]-us[0-9]|\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
        r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}|sq0[a-z]{3}-[0-9A-Za-z_-]{22,}|[0-9a-z]{32}-us[0-9]{1,2}|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        Check::Nothing,
    ),
    Kind(
        "JSON web tokens",
        r"eyJ[A-Za-z0-9_=-]{8,}\.",
        r"eyJ[A-Za-z0-9_=-]{8,}\.[A-Za-z0-9_=-]{8,}(?:\.[A-Za-z0-9_=-]*)*",
        Check::Nothing,
    ),
    Kind("bearer tokens", r"(?i-u:bearer)", r"(?i-u:bearer)\s+([A-Za-z0-9._~+/=-]{16,})", Check::Nothing),
    Kind("basic logins", r"(?i-u:basic)", r"(?i-u:basic)\s+([A-Za-z0-9+/=]{12,})", Check::Words),
    Kind(
        "authorization headers",
        "(?i-u:authorization)",
        r#"(?i-u:authorization)["'\\]*\s*[:=]\s*["'\\]*(?i-u:bearer|basic|digest|token|apikey|api-key|negotiate)\s+([^\s"'\\,;*][^\s"'\\,;]*)"#,
        Check::Nothing,
    ),
    Kind(
        "logins in URLs",
        r#":\\*/\\*/[^\s/?\#"'<>\\]*@|(?i-u:%3a%2f%2f)"#,
        r#":\\*/\\*/([^\s/?\#"'<>\\]+)@|(?i-u:%3a%2f%2f)([^\s/?\#"'<>\\&%]+(?:%[0-9A-Fa-f]{2}[^\s/?\#"'<>\\&%]+)*)%40"#,
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
pub(super) const PRIVATE_KEYS: usize = KINDS.len() - 1;

/// The end marker of a private key.
const END_OF_KEY: &str = "-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}";

/// The last word of a secret's name, before the end of the name or an equals sign. Matches more than
/// [`fields::is_secret`].
const NAMES: &str = r#"(?i:key|(?:api|access|secret|private)[^a-z0-9]{0,2}keys|token|(?:api|auth|access|refresh)[^a-z0-9]{0,2}tokens|secrets?|password|password[^a-z0-9]{0,2}hash|passwords|passwd|passphrase|passcode|pass|pwd|credentials?|authorization|basic[^a-z0-9]{0,2}auth|http[^a-z0-9]{0,2}auth|bearer|cookies?|jwt|connection[^a-z0-9]{0,2}string)[0-9_ -]{0,4}(?:["'\\]|\s*[:=])"#;

/// The name of a value in a text that is not JSON, and the separator between them.
const ASSIGNMENT: &str = r#"([A-Za-z0-9_.-]*[A-Za-z][0-9_]*)(\\*["']?\]?\s*(?::=|=>|[:=])\s*)"#;

/// Escaped letters and invisible characters, which may hide a key.
const DISGUISES: &str = r"\\u(?i:00[2-7]|00ad|180e|200[b-f]|202[a-e]|206[0-9]|feff)";

/// A secret in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub range: Range<usize>,
    /// The index of its kind in [`Patterns::names`].
    pub kind: usize,
}

/// All kinds of keys.
#[derive(Debug)]
pub(super) struct Patterns {
    any: Regex,
    kinds: Vec<Regex>,
    assignment: Regex,
    end_of_key: Regex,
}

impl Patterns {
    pub fn new() -> Result<Patterns, regex::Error> {
        let anchors: Vec<&str> = KINDS.iter().map(|kind| kind.1).collect();
        let hidden = r"[\u{ad}\u{180e}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{2069}\u{feff}]";
        Ok(Patterns {
            any: Regex::new(&format!("{}|{NAMES}|{DISGUISES}|{hidden}", anchors.join("|")))?,
            kinds: KINDS.iter().map(|kind| Regex::new(kind.2)).collect::<Result<_, _>>()?,
            assignment: Regex::new(ASSIGNMENT)?,
            end_of_key: Regex::new(END_OF_KEY)?,
        })
    }

    /// Returns the names of all kinds. The last kind is values in a text that have a secret's name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|kind| kind.0).chain(["values with a secret's name"])
    }

    /// Returns false only if a text contains no secret, not even in a string or a name if it is JSON. Much faster than
    /// searching each of them.
    pub fn may_be_in(&self, text: &str) -> bool {
        self.any.is_match(text)
    }

    /// Finds the secrets in a text, kind by kind.
    pub fn find(&self, text: &str) -> Vec<Found> {
        let Some((visible, starts)) = without_hidden(text) else { return self.find_visible(text) };
        let mut found = self.find_visible(&visible);
        for found in &mut found {
            // A hidden character after the key is not part of it.
            let last = visible[found.range.clone()].chars().next_back().map_or(0, char::len_utf8);
            let end = original(&starts, found.range.end - last) + last;
            found.range = original(&starts, found.range.start)..end;
        }
        found
    }

    fn find_visible(&self, text: &str) -> Vec<Found> {
        let mut all = Vec::new();
        for (number, (pattern, Kind(.., check))) in self.kinds.iter().zip(&KINDS).enumerate() {
            let groups = pattern.captures_len() > 1;
            let mut at = 0;
            while let Some(found) = pattern.find_at(text, at) {
                let mut range = found.range();
                if groups && let Some(captures) = pattern.captures_at(text, at) {
                    range = captures.iter().skip(1).flatten().next().map_or(range, |group| group.range());
                }
                at = found.end();
                match rejected(text, &range, *check) {
                    // A rejected match may contain a key.
                    Some(next) => at = next,
                    None if &text[range.clone()] != MASK => all.push(Found { range, kind: number }),
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
            let (Some(whole), Some(name), Some(sign)) = (found.get(0), found.get(1), found.get(2)) else { return };
            at = whole.end();
            if fields::is_secret(name.as_str())
                && let Some(range) = value(text, whole.end(), sign.as_str())
            {
                at = range.end;
                if &text[range.clone()] != MASK {
                    all.push(Found { range, kind: KINDS.len() });
                }
            }
        }
    }

    /// Returns whether a private key begins in a text and doesn't end in it.
    pub fn leaves_key_open(&self, text: &str) -> bool {
        let private = self.kinds.get(PRIVATE_KEYS).and_then(|private| private.find_iter(text).last());
        private.is_some_and(|found| found.end() == text.len() && !self.end_of_key.is_match(found.as_str()))
    }

    /// Returns the end of a private key that began in another text.
    pub fn end_of_key(&self, text: &str) -> Option<usize> {
        self.end_of_key.find(text).map(|end| end.end())
    }
}

/// Returns where to continue the search if a match is not a key.
fn rejected(text: &str, range: &Range<usize>, check: Check) -> Option<usize> {
    let body = &text[range.clone()];
    match check {
        Check::AfterLetter if is_after_letter(&text[..range.start]) && is_words(body, true) => {
            // `ask-for-sk-…` may contain a key after its first words.
            let prefix = body.find(['-', '_']).map_or(body, |end| &body[..=end]);
            let inner = ['-', '_'].iter().filter_map(|before| body[1..].find(&format!("{before}{prefix}"))).min();
            Some(range.start + inner.map_or(body.len(), |at| at + 2))
        }
        Check::Words if is_words(body.trim_end_matches('='), false) => Some(range.end),
        _ => None,
    }
}

/// Returns whether a text ends with a letter that is not part of an escape such as `\n` or `%3D`.
fn is_after_letter(before: &str) -> bool {
    let bytes = before.as_bytes();
    let back = |n: usize| bytes.len().checked_sub(n).and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    let is_escape = back(2) == b'\\' && b"nrtbf".contains(&back(1));
    let is_percent = back(3) == b'%' && back(2).is_ascii_hexdigit() && back(1).is_ascii_hexdigit();
    back(1).is_ascii_alphabetic() && !is_escape && !is_percent
}

/// Returns whether a text consists of words, short numbers and UUIDs, as names and ids do.
fn is_words(text: &str, in_any_case: bool) -> bool {
    let parts: Vec<&str> = text.split(['-', '_']).collect();
    let is_hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut at = 0;
    while let Some(part) = parts.get(at) {
        let uuid = parts
            .get(at..at + 5)
            .is_some_and(|five| five.iter().zip([8, 4, 4, 4, 12]).all(|(part, length)| is_hex(part, length)));
        let is_word = part.bytes().all(|byte| byte.is_ascii_lowercase() || in_any_case && byte.is_ascii_uppercase());
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

/// Returns the range of the value at a position, after its name and `sign`.
fn value(text: &str, at: usize, sign: &str) -> Option<Range<usize>> {
    let rest = &text[at..];
    let bytes = rest.as_bytes();
    let slashes = bytes.iter().take_while(|byte| **byte == b'\\').count();
    let range = match bytes.get(slashes) {
        Some(quote @ (b'"' | b'\'')) => {
            let from = slashes + 1;
            // In escaped JSON the closing quote has as many backslashes as the opening quote.
            let end = memchr::memchr_iter(*quote, &bytes[from..]).map(|end| from + end).find(|end| {
                let before = bytes[from..*end].iter().rev().take_while(|byte| **byte == b'\\').count();
                if slashes == 0 { before.is_multiple_of(2) } else { before <= slashes }
            });
            let end = end.map_or(rest.len(), |end| {
                let before = bytes[from..end].iter().rev().take_while(|byte| **byte == b'\\').count();
                end - before.min(slashes)
            });
            from..end
        }
        _ => {
            let ends = |c: char| c.is_whitespace() || "\"'&,;{}()[]<>\\`|".contains(c);
            let head = runtail_core::text::head(rest, MAX_CHECKED);
            let word = &head[..head.find(ends).unwrap_or(head.len())];
            if !is_bare_secret(word, rest[word.len()..].chars().next(), sign) {
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
    let is_empty = ["", "null", "none", "true", "false", "undefined", "str", "string"]
        .iter()
        .any(|w| word.eq_ignore_ascii_case(w));
    if is_empty || matches!(next, Some('(' | '[' | '{')) || value.starts_with(['$', '%', '*', '=']) {
        return false;
    }
    match sign {
        "=" => true,
        // The name has quotes, so this is a number.
        sign if sign.contains(['"', '\'']) => value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-')),
        _ => value.len() >= 6 && value.bytes().any(|byte| byte.is_ascii_digit()),
    }
}

/// Returns whether a character is invisible, so that it can hide in a key.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns a text without hidden characters, and the start of each part between them in the new and in the original
/// text.
fn without_hidden(text: &str) -> Option<(String, Vec<(usize, usize)>)> {
    if text.is_ascii() || !text.contains(is_hidden) {
        return None;
    }
    let (mut visible, mut starts) = (String::with_capacity(text.len()), Vec::new());
    let mut from = 0;
    for (at, hidden) in text.match_indices(is_hidden) {
        visible.push_str(&text[from..at]);
        from = at + hidden.len();
        starts.push((visible.len(), from));
    }
    visible.push_str(&text[from..]);
    Some((visible, starts))
}

/// Returns the position in the original text of a position in the text without hidden characters.
fn original(starts: &[(usize, usize)], at: usize) -> usize {
    let parts = starts.partition_point(|(visible, _)| *visible <= at);
    parts.checked_sub(1).and_then(|last| starts.get(last)).map_or(at, |(visible, from)| from + (at - visible))
}
