//! Errors of a configuration with their position: file, line, column, the line itself and a caret.

use crate::secret::logins;
use crate::text;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Maximum length of a shown line, in characters.
const LONGEST: usize = 200;

/// An invalid configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConfigError {
    /// The file, if there is one.
    pub path: Option<PathBuf>,
    /// The position in the file.
    pub place: Option<Place>,
    /// The error, one line.
    pub message: String,
    /// What was expected, or what to do.
    pub hint: Option<String>,
}

/// A position in a file, with its line.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Characters to underline, at least one, on that line only.
    pub width: usize,
    /// The line, cleaned, with anything that looks like a key masked.
    pub excerpt: String,
}

impl ConfigError {
    /// Creates an error without a position.
    pub fn new(message: impl Into<String>) -> ConfigError {
        ConfigError {
            message: message.into(),
            ..Default::default()
        }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> ConfigError {
        self.hint = Some(hint.into());
        self
    }

    /// Returns where it is, for the beginning of a line: `config.toml:3:1: `.
    pub(super) fn position(&self) -> String {
        let path = self.path.as_ref().map(|path| path.display().to_string());
        let path = path.map(|path| text::clean(&path).into_owned() + ":");
        let place = self.place.as_ref();
        let place = place.map(|place| format!("{}:{}:", place.line, place.column));
        match path.unwrap_or_default() + &place.unwrap_or_default() {
            none if none.is_empty() => none,
            position => position + " ",
        }
    }

    /// Creates an error at a span of a file's text.
    pub(super) fn at(
        path: Option<&Path>,
        text: &str,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> ConfigError {
        ConfigError {
            path: path.map(Path::to_path_buf),
            place: Some(Place::of(text, span)),
            message: message.into(),
            hint: None,
        }
    }
}

impl Place {
    /// Finds the line and column of a span of bytes. Spans past the end (an unclosed string) point at the end.
    pub fn of(text: &str, span: Range<usize>) -> Place {
        let start = text::head(text, span.start).len();
        let end = text::head(text, span.end.max(start)).len();
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let source = text[line_start..line_end].trim_end_matches('\r');
        Place {
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end.min(line_end)].chars().count().max(1),
            excerpt: mask(&text::clean(source)),
        }
    }
}

/// Hides keys of the service (`lsv2_pt_…`, `lsv2_sk_…`) and logins in addresses that were pasted into the file. The length is kept, so that the
/// caret stays in place.
pub(super) fn mask(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("lsv2_") {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let end = tail
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')
            .unwrap_or(tail.len());
        out.extend(std::iter::repeat_n('*', end));
        rest = &tail[end..];
    }
    out.push_str(rest);
    for login in logins(&out).into_iter().rev() {
        let stars = "*".repeat(out[login.clone()].chars().count());
        out.replace_range(login, &stars);
    }
    out
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, &self.place) {
            (None, Some(Place { line, column, .. })) => {
                write!(f, "line {line}, column {column}: ")?;
            }
            (None, None) => {}
            _ => write!(f, "{} ", self.position().trim_end())?,
        }
        f.write_str(&text::clean_lines(&self.message))?;
        if let Some(Place {
            line,
            column,
            width,
            excerpt,
        }) = &self.place
        {
            // Show only the part of a long line around the error.
            let from = if excerpt.chars().count() > LONGEST {
                (column - 1).saturating_sub(LONGEST / 2)
            } else {
                0
            };
            let part: String = excerpt.chars().skip(from).take(LONGEST).collect();
            let cut = if from > 0 { "…" } else { "" };
            let under = column - 1 - from + cut.chars().count();
            let width = (*width)
                .min((LONGEST + 1).saturating_sub(column - from))
                .max(1);
            let (margin, blank) = (line.to_string(), " ");
            write!(
                f,
                "\n  {margin} | {cut}{part}\n  {} | ",
                blank.repeat(margin.len())
            )?;
            write!(f, "{}{}", blank.repeat(under), "^".repeat(width))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  {}", text::clean_lines(hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Returns the candidate that is nearest to a mistyped word.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_few(word, candidates, 1).into_iter().next()
}

/// Returns the candidates near a mistyped word, the nearest first: at most a third of its letters differ.
pub fn nearest_few<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    let word = word.to_lowercase();
    let length = word.chars().count();
    let near = candidates.into_iter().filter_map(|candidate| {
        let other = candidate.to_lowercase();
        // The edit distance is at least the difference in length. This skips pasted texts, whose distance takes long to compute.
        let is_possible = other.chars().count().abs_diff(length) <= limit;
        Some((
            is_possible
                .then(|| strsim::osa_distance(&word, &other))
                .filter(|edits| *edits <= limit)?,
            candidate,
        ))
    });
    let mut near: Vec<(usize, &str)> = near.collect();
    near.sort_by_key(|(d, _)| *d);
    near.into_iter().map(|(_, c)| c).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_is_under_the_error() {
        let text = "a = 1\nkö = \"nein\"\r\n";
        let at = text.find("\"nein\"").unwrap();
        let error =
            ConfigError::at(Some(Path::new("c.toml")), text, at..at + 6, "no").hint("say yes");
        assert_eq!(
            error.to_string(),
            "c.toml:2:6: no\n  2 | kö = \"nein\"\n    |      ^^^^^^\n  say yes"
        );
        assert_eq!(Place::of("", 0..9).column, 1);
        assert_eq!(Place::of("a\n", 2..2).line, 2);
    }

    #[test]
    fn near_words_are_found_and_long_texts_are_not_compared() {
        assert_eq!(
            nearest_few("Thme", ["theme", "thread", "the"], 2),
            ["theme", "the"]
        );
        assert_eq!(nearest("thmee", ["theme"]), Some("theme"), "a swap");
        assert_eq!(nearest("abc", ["xyz", "abcdefg"]), None);
        assert_eq!(
            nearest(
                &"x".repeat(4_000_000),
                ["theme", "thread", "profile", "deployments"]
            ),
            None
        );
    }

    #[test]
    fn long_lines_are_shortened_around_the_error() {
        let text = format!("a = [{}!!, {}]", "1, ".repeat(90_000), "2, ".repeat(90_000));
        let at = text.find("!!").unwrap();
        let shown = ConfigError::at(None, &text, at..at + 2, "no").to_string();
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines.iter().all(|line| line.chars().count() < 260),
            "{shown}"
        );
        let mistake = lines[1].chars().position(|c| c == '!').unwrap();
        assert_eq!(
            lines[2].chars().position(|c| c == '^'),
            Some(mistake),
            "{shown}"
        );
        assert!(
            lines[2].ends_with("^^") && !lines[2].ends_with("^^^"),
            "{shown}"
        );
        // The marked part may itself be long.
        let all = ConfigError::at(None, &text, 0..text.len(), "no").to_string();
        assert!(all.lines().all(|line| line.chars().count() < 260), "{all}");
    }

    #[test]
    fn keys_in_the_file_are_masked() {
        let text = "api_key = \"lsv2_pt_canary\" x";
        let error = ConfigError::at(None, text, text.len() - 1..text.len(), "odd");
        assert!(!error.to_string().contains("canary"), "{error}");
        assert!(!format!("{error:?}").contains("canary"));
    }

    #[test]
    fn nearest_name_is_suggested() {
        assert_eq!(nearest("prod-su", ["prod-us", "local"]), Some("prod-us"));
        assert_eq!(nearest("zzz", ["prod-us", "local"]), None);
    }
}
