//! The search language for threads: what the server filters, and what is checked here on the listed threads.

mod parse;
#[cfg(test)]
mod tests;

use super::Thread;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

pub use parse::SearchError;

/// The key of a thread's metadata that holds its name. Everyone who uses the server sees it.
pub const NAME_KEY: &str = "name";
/// The key of a thread's metadata that is `true` for a starred thread. Everyone who uses the server sees it.
pub const STAR_KEY: &str = "starred";
/// The statuses of threads.
pub const THREAD_STATUSES: [&str; 4] = ["idle", "busy", "interrupted", "error"];
/// Maximum number of characters of a title.
const MAX_TITLE: usize = 200;

/// The order of a list of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum ThreadSort {
    /// Last changed first.
    #[default]
    Updated,
    /// Newest first.
    Created,
    /// By status; within a status, last changed first.
    Status,
}

impl ThreadSort {
    /// Returns its word in a search.
    pub fn word(self) -> &'static str {
        match self {
            ThreadSort::Updated => "updated",
            ThreadSort::Created => "created",
            ThreadSort::Status => "status",
        }
    }

    /// Returns the order after this one.
    pub fn next(self) -> ThreadSort {
        match self {
            ThreadSort::Updated => ThreadSort::Created,
            ThreadSort::Created => ThreadSort::Status,
            ThreadSort::Status => ThreadSort::Updated,
        }
    }

    /// Compares two threads as a server does in this order.
    pub fn compare_keys(self, a: &Thread, b: &Thread) -> Ordering {
        match self {
            ThreadSort::Updated => changed(b).cmp(&changed(a)),
            ThreadSort::Created => b.created_at.cmp(&a.created_at),
            ThreadSort::Status => a.status.cmp(&b.status),
        }
    }

    /// Compares two threads in this order; equal ones so that the order is stable.
    pub fn compare(self, a: &Thread, b: &Thread) -> Ordering {
        let by_key = self.compare_keys(a, b);
        by_key
            .then_with(|| changed(b).cmp(&changed(a)))
            .then_with(|| a.thread_id.cmp(&b.thread_id))
    }
}

fn changed(thread: &Thread) -> Option<Timestamp> {
    thread.updated_at.or(thread.created_at)
}

/// A condition of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The thread's status.
    Status(String),
    /// The metadata contains this value at this path.
    Metadata(Vec<String>, Value),
    /// The state contains this value at this path.
    Values(Vec<String>, Value),
    /// The thread last changed longer ago than this (`true`), or less long ago.
    Age(bool, SignedDuration),
    /// The graph that ran on the thread.
    Graph(String),
    /// The assistant's id, or its beginning.
    Assistant(String),
    /// The thread's id, or its beginning.
    Id(String),
    /// The thread's name contains this text.
    Name(String),
    /// Whether the thread is starred.
    Star(bool),
    /// The row contains this text.
    Word(String),
}

/// One condition, and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The condition as it was typed.
    pub text: String,
    pub condition: Condition,
}

/// A search for threads: all its terms must match.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadSearch {
    text: String,
    terms: Vec<Term>,
    /// The order, if the search sets one.
    pub sort: Option<ThreadSort>,
}

/// A listed thread, as a search sees it.
#[derive(Debug, Clone, Copy)]
pub struct SearchRow<'a> {
    pub thread: &'a Thread,
    /// Whether the state has the values that the search names; `None` if they are unknown.
    pub values_fit: Option<bool>,
    /// Texts that the row shows, besides its id, status and metadata.
    pub texts: &'a [&'a str],
}

/// The part of a search that a server can filter by.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerFilter {
    pub status: Option<String>,
    /// An object that the metadata must contain.
    pub metadata: Option<Value>,
    /// An object that the state must contain.
    pub values: Option<Value>,
}

impl Condition {
    /// Returns whether a server can filter by it.
    pub fn is_for_server(&self) -> bool {
        match self {
            Condition::Status(_)
            | Condition::Metadata(..)
            | Condition::Values(..)
            | Condition::Graph(_) => true,
            Condition::Star(starred) => *starred,
            Condition::Assistant(id) | Condition::Id(id) => is_whole_id(id),
            Condition::Age(..) | Condition::Name(_) | Condition::Word(_) => false,
        }
    }

    /// Returns whether it is about metadata that is more than a text or a number at the top level.
    fn is_nested_metadata(&self) -> bool {
        match self {
            Condition::Metadata(path, value) => {
                path.len() > 1 || !(value.is_string() || value.is_number())
            }
            Condition::Star(starred) => *starred,
            _ => false,
        }
    }

    /// Returns whether a row fulfills it; `None` if the row doesn't show that.
    fn holds(&self, row: &SearchRow<'_>, now: Timestamp) -> Option<bool> {
        let thread = row.thread;
        let metadata = thread.metadata.as_ref();
        let note = |key: &str| metadata.and_then(|m| m[key].as_str()).unwrap_or_default();
        Some(match self {
            Condition::Status(status) => thread.status == *status,
            Condition::Metadata(path, wanted) => {
                metadata.is_some_and(|m| contains(m, &nested(path, wanted)))
            }
            Condition::Values(..) => return row.values_fit,
            Condition::Age(older, than) => {
                let at = changed(thread)?;
                let age = now.duration_since(at);
                if *older { age > *than } else { age < *than }
            }
            Condition::Graph(graph) => note("graph_id") == graph,
            Condition::Assistant(id) => starts_with(note("assistant_id"), id),
            Condition::Id(id) => starts_with(&thread.thread_id, id),
            Condition::Name(name) => {
                contains_text(thread.name().unwrap_or_default(), &name.to_lowercase())
            }
            Condition::Star(starred) => thread.is_starred() == *starred,
            Condition::Word(word) => {
                let word = word.to_lowercase();
                let has = |text: &str| contains_text(text, &word);
                has(&thread.thread_id)
                    || has(&thread.status)
                    || row.texts.iter().any(|text| has(text))
                    || metadata.is_some_and(|m| has(&m.to_string()))
            }
        })
    }
}

impl ThreadSearch {
    /// Parses a search.
    ///
    /// # Errors
    /// See [`SearchError`].
    pub fn parse(text: &str) -> Result<ThreadSearch, SearchError> {
        parse::parse(text)
    }

    /// Returns the search as it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it has no condition, so that every thread matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns the whole id that it names, if any: such a thread is read directly, which every server can.
    pub fn whole_id(&self) -> Option<&str> {
        self.terms.iter().find_map(|term| match &term.condition {
            Condition::Id(id) if is_whole_id(id) => Some(id.as_str()),
            _ => None,
        })
    }

    /// Returns the paths and values of its `values.` terms.
    pub fn values(&self) -> impl Iterator<Item = (&[String], &Value)> {
        self.terms.iter().filter_map(|term| match &term.condition {
            Condition::Values(path, value) => Some((path.as_slice(), value)),
            _ => None,
        })
    }

    /// Returns what the server filters by.
    pub fn server_filter(&self) -> ServerFilter {
        let (mut metadata, mut values, mut filter) =
            (Map::new(), Map::new(), ServerFilter::default());
        for term in &self.terms {
            match &term.condition {
                Condition::Status(status) => filter.status = Some(status.clone()),
                Condition::Metadata(path, value) => drop(put(&mut metadata, path, value)),
                Condition::Values(path, value) => drop(put(&mut values, path, value)),
                Condition::Graph(graph) => {
                    drop(metadata.insert("graph_id".into(), graph.as_str().into()))
                }
                Condition::Assistant(id) if is_whole_id(id) => {
                    metadata.insert("assistant_id".into(), id.as_str().into());
                }
                Condition::Star(true) => drop(metadata.insert(STAR_KEY.into(), true.into())),
                _ => {}
            }
        }
        filter.metadata = (!metadata.is_empty()).then_some(Value::Object(metadata));
        filter.values = (!values.is_empty()).then_some(Value::Object(values));
        filter
    }

    /// Returns the positions of the terms about metadata that is more than a text or a number at the top level.
    pub fn nested_metadata(&self) -> BTreeSet<usize> {
        let terms = self.terms.iter().enumerate();
        terms
            .filter(|(_, term)| term.condition.is_nested_metadata())
            .map(|(at, _)| at)
            .collect()
    }

    /// Returns the search without the terms at these positions.
    pub fn without(&self, positions: &BTreeSet<usize>) -> ThreadSearch {
        let terms = self
            .terms
            .iter()
            .enumerate()
            .filter(|(at, _)| !positions.contains(at));
        ThreadSearch {
            text: self.text.clone(),
            terms: terms.map(|(_, term)| term.clone()).collect(),
            sort: self.sort,
        }
    }

    /// Returns whether a row matches. A condition that the row doesn't show is not fulfilled.
    pub fn fits(&self, row: &SearchRow<'_>, now: Timestamp) -> bool {
        self.terms
            .iter()
            .all(|term| term.condition.holds(row, now) == Some(true))
    }

    /// Returns the positions of the server's terms that a row of its answer does not fulfill: the server ignores them.
    pub fn ignored(&self, row: &SearchRow<'_>) -> impl Iterator<Item = usize> {
        let is_ignored = move |term: &Term| {
            term.condition.is_for_server()
                && term.condition.holds(row, Timestamp::UNIX_EPOCH) == Some(false)
        };
        let positions = self
            .terms
            .iter()
            .enumerate()
            .filter(move |(_, term)| is_ignored(term));
        positions.map(|(at, _)| at).collect::<Vec<_>>().into_iter()
    }

    /// Returns whether no later thread of a list sorted by change can match, because this one changed too long ago.
    pub fn ends_at(&self, thread: &Thread, now: Timestamp) -> bool {
        let row = SearchRow {
            thread,
            values_fit: None,
            texts: &[],
        };
        let is_newer = |term: &&Term| matches!(term.condition, Condition::Age(false, _));
        self.terms
            .iter()
            .filter(is_newer)
            .any(|term| term.condition.holds(&row, now) == Some(false))
    }
}

impl Thread {
    /// Returns the thread's name: the one that Runtail writes, else the one that Aegra does.
    pub fn name(&self) -> Option<&str> {
        let metadata = self.metadata.as_ref()?;
        let text = |key: &str| {
            metadata[key]
                .as_str()
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        text(NAME_KEY).or_else(|| text("thread_name"))
    }

    /// Returns whether the thread is starred.
    pub fn is_starred(&self) -> bool {
        self.metadata
            .as_ref()
            .is_some_and(|metadata| metadata[STAR_KEY] == Value::Bool(true))
    }
}

/// Returns the text of a message's content as a title: its first line that isn't empty.
pub fn title_of(content: &Value) -> Option<String> {
    let text = match content {
        Value::String(text) => text.as_str(),
        Value::Array(blocks) => blocks
            .iter()
            .find_map(|block| block.as_str().or_else(|| block["text"].as_str()))?,
        _ => return None,
    };
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(MAX_TITLE).collect())
}

/// Returns whether a value contains another one: objects with at least its keys, lists with at least its items (acting
/// reference §4).
pub fn contains(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(fields), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| fields.get(key).is_some_and(|value| contains(value, wanted))),
        (Value::Array(items), Value::Array(wanted)) => wanted
            .iter()
            .all(|wanted| items.iter().any(|item| contains(item, wanted))),
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => value == wanted,
    }
}

/// Returns whether a text is a whole id rather than its beginning.
fn is_whole_id(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len())
        .is_some_and(|part| part.eq_ignore_ascii_case(start))
}

fn contains_text(text: &str, lowercase: &str) -> bool {
    text.to_lowercase().contains(lowercase)
}

/// Returns a value inside objects with these keys.
fn nested(path: &[String], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(Map::from_iter([(key.clone(), inner)]))
    })
}

/// Puts a value at a path. Returns false if there is another value on its way, which stays.
fn put(object: &mut Map<String, Value>, path: &[String], value: &Value) -> bool {
    let Some((key, rest)) = path.split_first() else {
        return false;
    };
    if rest.is_empty() {
        return match object.get(key) {
            None => {
                object.insert(key.clone(), value.clone());
                true
            }
            Some(known) => known == value,
        };
    }
    match object
        .entry(key.clone())
        .or_insert_with(|| Value::Object(Map::new()))
    {
        Value::Object(inner) => put(inner, rest, value),
        _ => false,
    }
}
