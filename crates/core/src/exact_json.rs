//! JSON that a person gives, read without loss. A parser drops all but the last of equal keys and rounds long numbers; sent like
//! that, a request would differ from what was written.

use crate::json;
use crate::text;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;

/// Maximum number of losses that are listed.
const MAX_LOSSES: usize = 100;
/// Maximum number of characters of a key or number in a message.
const MAX_SHOWN: usize = 40;

/// Why a text can't be sent exactly as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inexact {
    /// Where in the value, from the outside in: `decisions.0.args`; empty for the value itself.
    pub path: String,
    /// Offset in the text, in bytes.
    pub offset: usize,
    /// The problem: `the key "to" occurs twice`.
    pub why: String,
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        if self.path.is_empty() {
            Ok(())
        } else {
            write!(f, ", in {}", self.path)
        }
    }
}

/// Why a text was not read.
#[derive(Debug)]
pub enum Unreadable {
    /// It is not JSON.
    Invalid(serde_json::Error),
    /// It would change.
    Inexact(Inexact),
}

impl Unreadable {
    /// Returns the line and the column, in bytes, of the problem in a text, from 1.
    pub fn place(&self, json: &str) -> (usize, usize) {
        match self {
            // serde_json counts a line's end as the start of the next line.
            Unreadable::Invalid(error) => match (error.line(), error.column()) {
                (line @ 2.., 0) => {
                    let line = line - 1;
                    let before = json.split('\n').nth(line - 1).unwrap_or_default();
                    (line, before.len() + 1)
                }
                (line, column) => (line.max(1), column.max(1)),
            },
            Unreadable::Inexact(inexact) => {
                let before = json.get(..inexact.offset).unwrap_or(json);
                let line = before.rsplit('\n').next().unwrap_or_default();
                (before.matches('\n').count() + 1, line.len() + 1)
            }
        }
    }
}

/// Writes the reason, without the place.
impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Invalid(error) => {
                let said = error.to_string();
                f.write_str(said.split(" at line ").next().unwrap_or_default())
            }
            Unreadable::Inexact(inexact) => inexact.fmt(f),
        }
    }
}

/// Parses JSON if the value is exactly what the text says.
///
/// # Errors
/// See [`Unreadable`].
pub fn parse(json: &str) -> Result<Value, Unreadable> {
    let value = match serde_json::from_str(json) {
        Ok(value) => value,
        // A value that is nested too deeply would be cut off.
        Err(error) if error.to_string().starts_with("recursion") => {
            return Err(Unreadable::Invalid(error));
        }
        Err(_) => json::from_str(json).map_err(Unreadable::Invalid)?,
    };
    match losses(json).next() {
        None => Ok(value),
        Some(inexact) => Err(Unreadable::Inexact(inexact)),
    }
}

/// Parses JSON that someone else wrote, with what of it would change if it were sent again.
///
/// # Errors
/// The text is not JSON.
pub fn parse_lenient(json: &str) -> Result<(Value, Vec<Inexact>), serde_json::Error> {
    let value = json::from_str(json)?;
    Ok((value, losses(json).take(MAX_LOSSES).collect()))
}

/// An object or a list that is open at some point of a text.
#[derive(Default)]
struct Level {
    /// The keys so far; `None` in a list.
    keys: Option<HashSet<String>>,
    key: String,
    index: usize,
    in_value: bool,
}

/// Returns each duplicate key and inexact number of a valid JSON text.
fn losses(json: &str) -> impl Iterator<Item = Inexact> {
    let mut levels: Vec<Level> = Vec::new();
    json::tokens(json.as_bytes()).filter_map(move |range| {
        let (offset, token) = (range.start, &json[range]);
        let (outer, why) = match (token.as_bytes()[0], levels.last_mut()) {
            (
                b'"',
                Some(Level {
                    keys: Some(keys),
                    key,
                    in_value: false,
                    ..
                }),
            ) => {
                *key = json::decoded(token).into_owned();
                let is_new = keys.insert(key.clone());
                (
                    1,
                    (!is_new).then(|| format!("the key {} occurs twice", shown(token)))?,
                )
            }
            (b'-' | b'0'..=b'9', _) => (0, loss_of(token)?),
            (byte, level) => {
                match byte {
                    b'{' => levels.push(Level {
                        keys: Some(HashSet::new()),
                        ..Level::default()
                    }),
                    b'[' => levels.push(Level::default()),
                    b'}' | b']' => drop(levels.pop()),
                    b',' | b':' => level.into_iter().for_each(|level| {
                        level.in_value = byte == b':';
                        level.index += usize::from(byte == b',');
                    }),
                    _ => {}
                }
                return None;
            }
        };
        let path = path(&levels[..levels.len() - outer]);
        Some(Inexact { path, offset, why })
    })
}

fn path(levels: &[Level]) -> String {
    let step = |level: &Level| match level.keys {
        Some(_) => shown(&level.key),
        None => level.index.to_string(),
    };
    levels.iter().map(step).collect::<Vec<_>>().join(".")
}

fn shown(text: &str) -> String {
    text::fit(&text::clean(text), MAX_SHOWN).into_owned()
}

/// Returns how a number would change, if it would.
fn loss_of(written: &str) -> Option<String> {
    let (sent, written) = (json::rounded(written)?, shown(written));
    Some(match sent.is_empty() {
        true => format!("the number {written} is too large to be sent"),
        false => format!("the number {written} can't be sent exactly: it would become {sent}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(json: &str) -> Option<String> {
        match parse(json) {
            Ok(_) => None,
            Err(Unreadable::Inexact(inexact)) => Some(inexact.to_string()),
            Err(Unreadable::Invalid(error)) => Some(format!("invalid: {error}")),
        }
    }

    #[test]
    fn duplicate_keys_are_refused_with_their_path() {
        for (json, expected) in [
            (r#"{"a": 1, "a": 2}"#, "the key \"a\" occurs twice"),
            (
                r#"{"a": [0, {"to": 1, "x": {"to": 3}, "to": 2}]}"#,
                "the key \"to\" occurs twice, in a.1",
            ),
            // Both spellings are one key.
            (
                r#"{"é": 1, "\u00e9": 2}"#,
                "the key \"\\u00e9\" occurs twice",
            ),
        ] {
            assert_eq!(problem(json).as_deref(), Some(expected), "{json}");
        }
        assert_eq!(
            problem(r#"{"a": {"a": "a"}, "b": ["a", {"a": "\"a\":"}]}"#),
            None
        );
    }

    #[test]
    fn numbers_that_would_change_are_refused() {
        for (written, sent) in [
            ("12345678901234567890123", "1.2345678901234568e+22"),
            ("-9223372036854775809", "-9.223372036854776e+18"),
            ("3.14159265358979323846", "3.141592653589793"),
            ("1e-999", "0.0"),
            ("-0", "-0.0"),
        ] {
            let expected = format!(
                "the number {written} can't be sent exactly: it would become {sent}, in args.n"
            );
            assert_eq!(
                problem(&format!(r#"{{"args": {{"n": {written}}}}}"#)),
                Some(expected)
            );
        }
        assert_eq!(
            problem("1e999").unwrap(),
            "the number 1e999 is too large to be sent"
        );
        for written in [
            "0",
            "-1",
            "1.0",
            "1.50",
            "1e2",
            "100E-2",
            "0.1",
            "49.99",
            "0e5",
            "18446744073709551615",
            "-9223372036854775808",
            "1e22",
        ] {
            assert_eq!(problem(written), None, "{written}");
        }
    }

    #[test]
    fn unreadable_numbers_hide_nothing_else() {
        let json = r#"{"a": [{"n": 1e400, "text": "1e400 \"-1e999"}, {"n": 123456789012345678901}], "b": 1, "b": 2, "c": 5}"#;
        let (value, losses) = parse_lenient(json).unwrap();
        let expected = serde_json::json!({
            "a": [{"n": "1e400", "text": "1e400 \"-1e999"}, {"n": "123456789012345678901"}], "b": 2, "c": 5
        });
        assert_eq!(json::shown(&value.to_string()), expected.to_string());
        let said: Vec<String> = losses.iter().map(Inexact::to_string).collect();
        let large = "the number 123456789012345678901 can't be sent exactly: it would become 1.2345678901234568e+20";
        let twice = "the key \"b\" occurs twice";
        assert_eq!(
            said,
            [
                "the number 1e400 is too large to be sent, in a.0.n",
                &format!("{large}, in a.1.n"),
                twice
            ]
        );
        assert!(parse_lenient("{").is_err() && parse_lenient("[1-]").is_err());
    }

    proptest! {
        /// Any value that a program writes is read back unchanged.
        #[test]
        fn written_values_are_accepted(n in any::<i64>(), m in any::<u64>(), text in "\\PC{0,20}", key in "\\PC{1,8}") {
            let value = serde_json::json!({ key: [n, m, text, {"n": n}] });
            prop_assert_eq!(parse(&value.to_string()).ok(), Some(value));
        }

        #[test]
        fn random_text_never_panics(text in "[\\[\\]{}\",:0-9eE.+\\-\\\\u a-f]{0,60}") {
            let _ = parse(&text);
            let is_lenient = parse_lenient(&text).is_ok();
            prop_assert!(is_lenient || serde_json::from_str::<Value>(&text).is_err());
            prop_assert!(!is_lenient || serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
        }
    }
}
