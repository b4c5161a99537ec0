//! Parses a search for threads.

use super::{Condition, STAR_KEY, THREAD_STATUSES, Term, ThreadSearch, ThreadSort, put};
use crate::config::parse_duration;
use jiff::SignedDuration;
use serde_json::{Map, Value};

/// Maximum number of bytes of a search, and of its terms.
const MAX_BYTES: usize = 4096;
const MAX_TERMS: usize = 32;
/// The fields, as an error lists them.
const FIELDS: &str = "status:, meta.KEY=VALUE, values.PATH=VALUE, age>1h, age<1h, graph:, assistant:, id:, name:, star:, sort:";

/// Why a search can't be parsed, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct SearchError {
    /// The position of the first character that is wrong, from 1.
    pub column: usize,
    /// What is wrong, and what is allowed.
    pub message: String,
}

/// A word of the search and the byte at which it begins.
struct Token<'a> {
    at: usize,
    text: &'a str,
}

pub(super) fn parse(text: &str) -> Result<ThreadSearch, SearchError> {
    let error = |at: usize, message: String| {
        let before = text.get(..at).unwrap_or(text);
        SearchError {
            column: before.chars().count() + 1,
            message,
        }
    };
    if text.len() > MAX_BYTES {
        return Err(SearchError {
            column: 1,
            message: format!("the search is longer than {MAX_BYTES} bytes"),
        });
    }
    let mut search = ThreadSearch {
        text: text.trim().to_string(),
        ..ThreadSearch::default()
    };
    let (mut metadata, mut values) = (Map::new(), Map::new());
    // Whitespace at the end belongs to no term, not even to one with an open bracket.
    for token in tokens(text.trim_end()).map_err(|(at, message)| error(at, message))? {
        if search.terms.len() >= MAX_TERMS {
            return Err(error(
                token.at,
                format!("a search has at most {MAX_TERMS} terms"),
            ));
        }
        let condition = match term(&token).map_err(|(at, message)| error(at, message))? {
            Parsed::Sort(sort) => {
                if search.sort.is_some_and(|known| known != sort) {
                    return Err(error(token.at, "two sort orders; keep one".into()));
                }
                search.sort = Some(sort);
                continue;
            }
            Parsed::Condition(condition) => condition,
        };
        let has_other = |wanted: &Condition| {
            search.terms.iter().any(|known| {
                std::mem::discriminant(&known.condition) == std::mem::discriminant(wanted)
                    && known.condition != *wanted
            })
        };
        let text_key = |key: &str| vec![key.to_string()];
        let fits = match &condition {
            Condition::Metadata(path, value) => put(&mut metadata, path, value),
            Condition::Values(path, value) => put(&mut values, path, value),
            Condition::Graph(graph) => {
                put(&mut metadata, &text_key("graph_id"), &graph.as_str().into())
            }
            Condition::Star(true) => {
                put(&mut metadata, &text_key(STAR_KEY), &true.into()) && !has_other(&condition)
            }
            Condition::Status(_)
            | Condition::Id(_)
            | Condition::Assistant(_)
            | Condition::Star(_) => !has_other(&condition),
            Condition::Age(..) | Condition::Name(_) | Condition::Word(_) => true,
        };
        if !fits {
            return Err(error(
                token.at,
                format!("`{}` contradicts an earlier term", token.text),
            ));
        }
        search.terms.push(Term {
            text: token.text.to_string(),
            condition,
        });
    }
    Ok(search)
}

/// Splits a search at spaces outside quotes, and outside the JSON of a value.
fn tokens(text: &str) -> Result<Vec<Token<'_>>, (usize, String)> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some(&(start, first)) = rest.peek() {
        if first.is_whitespace() {
            rest.next();
            continue;
        }
        let (mut quote, mut depth, mut previous, mut has_value) = (None, 0usize, None, false);
        let mut end = text.len();
        while let Some(&(at, letter)) = rest.peek() {
            if let Some(_opened) = quote {
                rest.next();
                match letter {
                    '\\' => drop(rest.next()),
                    '"' => quote = None,
                    _ => {}
                }
                previous = Some(letter);
                continue;
            }
            if letter.is_whitespace() && depth == 0 {
                end = at;
                break;
            }
            match letter {
                '"' if depth > 0 || previous.is_none_or(|before| ":=.<>".contains(before)) => {
                    quote = Some(at)
                }
                '=' => has_value = true,
                '[' | '{' if depth > 0 || (has_value && previous == Some('=')) => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            previous = Some(letter);
            rest.next();
        }
        if let Some(opened) = quote {
            return Err((opened, "the quote is not closed".into()));
        }
        tokens.push(Token {
            at: start,
            text: &text[start..end],
        });
    }
    Ok(tokens)
}

enum Parsed {
    Condition(Condition),
    Sort(ThreadSort),
}

type Wrong = (usize, String);

/// Parses one term.
fn term(token: &Token<'_>) -> Result<Parsed, Wrong> {
    let (at, text) = (token.at, token.text);
    if text.starts_with('"') {
        return Ok(Parsed::Condition(Condition::Word(quoted(at, text)?)));
    }
    for (prefix, make) in [
        (
            "meta.",
            Condition::Metadata as fn(Vec<String>, Value) -> Condition,
        ),
        ("metadata.", Condition::Metadata),
        ("values.", Condition::Values),
    ] {
        if let Some(rest) = text.strip_prefix(prefix) {
            let (path, value) = path_and_value(at + prefix.len(), rest, prefix)?;
            return Ok(Parsed::Condition(make(path, value)));
        }
    }
    if let Some(rest) = text
        .strip_prefix("age")
        .filter(|rest| rest.starts_with(['<', '>', ':', '=']))
    {
        return age(at + 3, rest).map(Parsed::Condition);
    }
    let Some((field, rest)) = text.split_once(':') else {
        return Ok(Parsed::Condition(Condition::Word(text.to_string())));
    };
    let is_word = field.is_empty()
        || !field.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        || rest.starts_with("//");
    if is_word {
        return Ok(Parsed::Condition(Condition::Word(text.to_string())));
    }
    let (value_at, value) = (at + field.len() + 1, quoted(at + field.len() + 1, rest)?);
    let one_of = |allowed: &str| {
        (
            value_at,
            format!("`{value}` is not a value of {field}:; use {allowed}"),
        )
    };
    if value.is_empty() && KNOWN.contains(&field) {
        return Err((value_at, format!("{field}: needs a value")));
    }
    Ok(Parsed::Condition(match field {
        "status" if THREAD_STATUSES.contains(&value.as_str()) => Condition::Status(value),
        "status" => return Err(one_of("idle, busy, interrupted or error")),
        "graph" => Condition::Graph(value),
        "assistant" => Condition::Assistant(value),
        "id" => Condition::Id(value),
        "name" => Condition::Name(value),
        "star" => match value.as_str() {
            "yes" | "true" => Condition::Star(true),
            "no" | "false" => Condition::Star(false),
            _ => return Err(one_of("yes or no")),
        },
        "sort" => {
            let orders = [ThreadSort::Updated, ThreadSort::Created, ThreadSort::Status];
            let found = orders.into_iter().find(|sort| sort.word() == value);
            return found
                .map(Parsed::Sort)
                .ok_or_else(|| one_of("updated, created or status"));
        }
        _ => {
            let quoted = Value::String(text.to_string());
            return Err((
                at,
                format!(
                    "unknown field `{field}:`; fields: {FIELDS}; quote it to search for the text: {quoted}"
                ),
            ));
        }
    }))
}

/// The fields with a colon.
const KNOWN: [&str; 7] = ["status", "graph", "assistant", "id", "name", "star", "sort"];

/// Parses `>1h`.
fn age(at: usize, text: &str) -> Result<Condition, Wrong> {
    let form = "use age>1h or age<30m, with s, m, h or d";
    let older = match text.as_bytes().first() {
        Some(b'>') => true,
        Some(b'<') => false,
        _ => return Err((at, form.to_string())),
    };
    let span = &text[1..];
    let parsed = parse_duration(span)
        .filter(|_| !span.is_empty())
        .and_then(|span| SignedDuration::try_from(span).ok());
    parsed
        .map(|than| Condition::Age(older, than))
        .ok_or_else(|| (at + 1, format!("`{span}` is not a duration; {form}")))
}

/// Removes the quotes of a text that has them.
fn quoted(at: usize, text: &str) -> Result<String, Wrong> {
    if !text.starts_with('"') {
        return Ok(text.to_string());
    }
    serde_json::from_str(text).map_err(|_| (at, format!("{text} is not a text in quotes")))
}

/// Parses `KEY.KEY=VALUE`. A value is JSON if it can be, otherwise text.
fn path_and_value(at: usize, text: &str, prefix: &str) -> Result<(Vec<String>, Value), Wrong> {
    let form = format!("use {prefix}KEY=VALUE, with keys of nested objects separated by dots");
    let (mut path, mut rest, mut here) = (Vec::new(), text, at);
    loop {
        let (key, length) = if rest.starts_with('"') {
            let mut keys = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            match keys.next() {
                Some(Ok(key)) => (key, keys.byte_offset()),
                _ => return Err((here, form)),
            }
        } else {
            let length = rest.find(['.', '=']).unwrap_or(rest.len());
            let key = &rest[..length];
            if key.ends_with(['!', '<', '>', '~']) && rest[length..].starts_with('=') {
                let why = format!(
                    "servers find only equal values: {form}; quote a key that ends with this sign"
                );
                return Err((here + length - 1, why));
            }
            (key.to_string(), length)
        };
        if key.is_empty() {
            return Err((here, form));
        }
        path.push(key);
        (here, rest) = (here + length, &rest[length..]);
        if let Some(next) = rest.strip_prefix('.') {
            (here, rest) = (here + 1, next);
        } else if let Some(value) = rest.strip_prefix('=') {
            let value = value_of(here + 1, value, &form)?;
            return Ok((path, value));
        } else {
            return Err((here, form));
        }
    }
}

fn value_of(at: usize, text: &str, form: &str) -> Result<Value, Wrong> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) if text.is_empty() => Err((at, form.to_string())),
        Err(error) if text.starts_with(['"', '[', '{']) => {
            Err((at, format!("the value is not valid JSON: {error}")))
        }
        Err(_) => Ok(Value::String(text.to_string())),
    }
}
