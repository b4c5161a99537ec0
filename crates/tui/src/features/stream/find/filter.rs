//! The stream filter: a list of terms that an event must all match. A term is `node:x`, `mode:updates`, `ns:sub`,
//! `run:01a1`, `id:…`, `seq:100-200`, `path:a.b=3`, `is:error`, `is:custom`, or a text or `/regex/` found anywhere in the event; a
//! leading `!` negates it. `node:"x"` is exactly that node.

use super::Pattern;
use crate::widgets::filter::Needle;
use runtail_core::json::{self, Peek};
use runtail_stream::projection::{EventAttrs, Message, Path, StepRow, StepState};
use runtail_stream::{Event, EventNumber};
use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The names allowed before a colon.
pub const FIELDS: [&str; 9] = [
    "node", "mode", "ns", "run", "id", "seq", "path", "is", "text",
];

/// A filter as typed, with its parsed terms.
#[derive(Debug, Clone, Default)]
pub struct StreamFilter {
    text: String,
    /// The run whose events alone are shown, in addition to what is typed.
    run: Option<Arc<str>>,
    /// Sorted by cost, cheapest first.
    terms: Vec<FilterTerm>,
    problems: Vec<String>,
}

#[derive(Debug, Clone)]
struct FilterTerm {
    negated: bool,
    condition: Condition,
}

#[derive(Debug, Clone)]
enum Condition {
    Seq(RangeInclusive<EventNumber>),
    Mode(Needle),
    Namespace(Needle),
    Id(Needle),
    Run(Needle),
    Odd,
    Custom,
    Error,
    Heartbeat,
    Node(Needle),
    /// The whole name of a node.
    NodeIs(String),
    /// Matches heartbeats, and events that contain the word.
    HeartbeatWord(Pattern),
    Text(Pattern),
    Path(Path, Option<ValueCondition>),
}

/// A condition on the value at a path.
#[derive(Debug, Clone)]
struct ValueCondition {
    operator: Operator,
    value: String,
    /// Quotes force a text comparison, even for text that looks like a number.
    is_text: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    AtLeast,
    AtMost,
    Greater,
    Less,
    Contains,
}

impl StreamFilter {
    /// Parses a filter. An unfinished term (`!`, `node:`) matches everything. Invalid terms are listed in
    /// [`StreamFilter::problems`] and hide nothing.
    pub fn new(text: &str) -> StreamFilter {
        let mut filter = StreamFilter {
            text: text.to_string(),
            ..StreamFilter::default()
        };
        for term in split_terms(text) {
            let (negated, rest) = term
                .strip_prefix('!')
                .map_or((false, term), |rest| (true, rest));
            match filter.condition(rest) {
                Ok(Some(condition)) => filter.terms.push(FilterTerm { negated, condition }),
                Ok(None) => {}
                Err(why) => filter.problems.push(format!("{term}: {why}")),
            }
        }
        filter.terms.sort_by_key(|term| term.condition.cost());
        filter
    }

    /// Returns the filter with only the events of a run, or of all runs again.
    #[must_use]
    pub fn of_run(&self, run: Option<Arc<str>>) -> StreamFilter {
        let mut filter = StreamFilter::new(&self.text);
        filter.terms.extend(run.as_deref().map(|run| FilterTerm {
            negated: false,
            condition: Condition::Run(Needle::new(run)),
        }));
        filter.terms.sort_by_key(|term| term.condition.cost());
        StreamFilter { run, ..filter }
    }

    /// Returns the run whose events alone are shown.
    pub fn run(&self) -> Option<&Arc<str>> {
        self.run.as_ref()
    }

    /// Returns the text as typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the filter matches every event.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the invalid terms, each with the reason.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns whether matching reads event data, which is slow for large events.
    fn reads_data(&self) -> bool {
        self.terms.iter().any(|term| term.condition.cost() > 1)
    }

    /// Returns the number of bytes of an event that matching reads.
    pub fn cost(&self, event: &Event) -> usize {
        match self.reads_data() {
            true => event.data.text().len(),
            false => 0,
        }
    }

    /// Returns whether an event matches.
    pub fn matches(&self, facets: &EventAttrs<'_>) -> bool {
        self.terms
            .iter()
            .all(|term| term.condition.matches(facets) != term.negated)
    }

    /// Returns whether a message of a run matches. A message is assembled from many events; `events` are some of them. Only the
    /// message's own text is searched, because its events can contain other messages too.
    pub fn matches_message(
        &self,
        message: &Message,
        run: Option<&str>,
        events: &[EventAttrs<'_>],
    ) -> bool {
        self.matches_of_run(run, |condition| condition.matches_message(message, events))
    }

    /// Returns whether a record without an event matches: of a run, or of a step in it, with its texts.
    pub fn matches_record(
        &self,
        run: Option<&str>,
        step: Option<&StepRow>,
        texts: &[&str],
    ) -> bool {
        self.matches_of_run(run, |condition| condition.matches_record(step, texts))
    }

    /// Returns whether all terms match: those about the run by its id, the others as `matches` says.
    fn matches_of_run(&self, run: Option<&str>, matches: impl Fn(&Condition) -> bool) -> bool {
        self.terms.iter().all(|term| {
            let is_match = match &term.condition {
                Condition::Run(wanted) => run.is_some_and(|run| wanted.is_in(run)),
                condition => matches(condition),
            };
            is_match != term.negated
        })
    }

    fn condition(&mut self, term: &str) -> Result<Option<Condition>, String> {
        if let Some(regex) = regex(term) {
            return Ok(Some(Condition::Text(self.pattern(term, regex))));
        }
        let split = term.split_once(':').filter(|_| !term.starts_with('"'));
        let field =
            split.and_then(|(name, _)| FIELDS.into_iter().find(|f| f.eq_ignore_ascii_case(name)));
        let Some((field, (_, value))) = field.zip(split) else {
            let is_name =
                |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphabetic());
            if let Some((name, _)) =
                split.filter(|(name, value)| is_name(name) && !value.starts_with("//"))
            {
                self.problems
                    .push(format!("{name}: unknown field; searched as text"));
            }
            let text = unquoted(term);
            return Ok(match text {
                "" => None,
                text if text.eq_ignore_ascii_case("heartbeat") => {
                    Some(Condition::HeartbeatWord(Pattern::plain(text)))
                }
                text => Some(Condition::Text(Pattern::plain(text))),
            });
        };
        let text = unquoted(value);
        if text.is_empty() {
            return Ok(None);
        }
        Ok(Some(match field {
            "node" if text.len() + 2 == value.len() => Condition::NodeIs(text.to_string()),
            "node" => Condition::Node(Needle::new(text)),
            "mode" => Condition::Mode(Needle::new(text)),
            "ns" => Condition::Namespace(Needle::new(text)),
            "run" => Condition::Run(Needle::new(text)),
            "id" => Condition::Id(Needle::new(text)),
            "seq" => {
                Condition::Seq(range(text).ok_or("expected a number or range (100-200); ignored")?)
            }
            "path" => return path(value),
            "is" => match text.to_ascii_lowercase().as_str() {
                "error" => Condition::Error,
                "odd" => Condition::Odd,
                "custom" => Condition::Custom,
                "heartbeat" => Condition::Heartbeat,
                _ => return Err("expected error, custom, odd or heartbeat; ignored".into()),
            },
            _ => match regex(value) {
                Some(regex) => Condition::Text(self.pattern(term, regex)),
                None => Condition::Text(Pattern::plain(text)),
            },
        }))
    }

    fn pattern(&mut self, term: &str, regex: &str) -> Pattern {
        let pattern = Pattern::new(regex);
        self.problems
            .extend(pattern.problem().map(|why| format!("{term}: {why}")));
        pattern
    }
}

impl Condition {
    /// Returns the cost of checking a term: the event's attributes, parts of its JSON, or all of it.
    fn cost(&self) -> u8 {
        match self {
            Condition::Seq(_)
            | Condition::Mode(_)
            | Condition::Namespace(_)
            | Condition::Id(_)
            | Condition::Odd
            | Condition::Custom => 0,
            Condition::Run(_) => 1,
            Condition::Error | Condition::Heartbeat => 2,
            Condition::Node(_)
            | Condition::NodeIs(_)
            | Condition::HeartbeatWord(_)
            | Condition::Text(_) => 3,
            Condition::Path(..) => 4,
        }
    }

    fn matches(&self, facets: &EventAttrs<'_>) -> bool {
        let event = facets.event();
        match self {
            Condition::Seq(range) => range.contains(&facets.number()),
            Condition::Mode(wanted) => wanted.is_in(facets.mode()) || wanted.is_in(&event.name),
            Condition::Namespace(wanted) => facets
                .namespace()
                .iter()
                .any(|segment| wanted.is_in(segment)),
            Condition::Id(wanted) => event.id.as_ref().is_some_and(|id| wanted.is_in(id)),
            Condition::Run(wanted) => facets.run().is_some_and(|run| wanted.is_in(&run)),
            Condition::Odd => facets.is_odd(),
            Condition::Custom => facets.is_custom(),
            Condition::Error => facets.is_error(),
            Condition::Heartbeat => facets.is_heartbeat(),
            Condition::Node(wanted) => facets.nodes().iter().any(|node| wanted.is_in(node)),
            Condition::NodeIs(name) => {
                let nodes = facets.nodes();
                nodes.iter().any(|node| node.eq_ignore_ascii_case(name))
            }
            Condition::HeartbeatWord(pattern) => facets.is_heartbeat() || contains(facets, pattern),
            Condition::Text(pattern) => contains(facets, pattern),
            Condition::Path(path, comparison) => {
                let values = facets.values(path);
                values.into_iter().any(|value| {
                    comparison
                        .as_ref()
                        .is_none_or(|comparison| comparison.matches(value))
                })
            }
        }
    }
}

impl Condition {
    fn matches_message(&self, message: &Message, events: &[EventAttrs<'_>]) -> bool {
        match self {
            Condition::Seq(range) => {
                // For evicted events only the positions are known.
                let first = events
                    .first()
                    .map_or(EventNumber(message.first_seq.0), EventAttrs::number);
                let last = events
                    .last()
                    .map_or(EventNumber(message.last_seq.0), EventAttrs::number);
                first <= *range.end() && last >= *range.start()
            }
            Condition::Namespace(wanted) => message.ns.iter().any(|segment| wanted.is_in(segment)),
            Condition::Node(wanted) => nodes_of(message).any(|node| wanted.is_in(node)),
            Condition::NodeIs(name) => {
                nodes_of(message).any(|node| node.eq_ignore_ascii_case(name))
            }
            Condition::Error => message.is_error,
            Condition::HeartbeatWord(pattern) | Condition::Text(pattern) => {
                searchable_texts(message).any(|text| pattern.is_in(text))
            }
            Condition::Id(wanted) => {
                message.id.as_ref().is_some_and(|id| wanted.is_in(id))
                    || events.iter().any(|event| self.matches(event))
            }
            Condition::Mode(_)
            | Condition::Run(_)
            | Condition::Odd
            | Condition::Custom
            | Condition::Heartbeat
            | Condition::Path(..) => events.iter().any(|event| self.matches(event)),
        }
    }
}

impl Condition {
    fn matches_record(&self, step: Option<&StepRow>, texts: &[&str]) -> bool {
        let node = step.map_or("", |step| &step.node);
        match self {
            Condition::Namespace(wanted) => {
                step.is_some_and(|step| step.ns.iter().any(|segment| wanted.is_in(segment)))
            }
            Condition::Node(wanted) => !node.is_empty() && wanted.is_in(node),
            Condition::NodeIs(name) => node.eq_ignore_ascii_case(name),
            Condition::Error => step.is_some_and(|step| step.state == StepState::Failed),
            Condition::HeartbeatWord(pattern) | Condition::Text(pattern) => {
                pattern.is_in(node) || texts.iter().any(|text| pattern.is_in(text))
            }
            Condition::Path(path, comparison) => texts.iter().any(|text| {
                let values = path.walk(Peek::of(text)).unwrap_or_default();
                let fits = |value| {
                    comparison
                        .as_ref()
                        .is_none_or(|wanted| wanted.matches(value))
                };
                values.into_iter().any(fits)
            }),
            Condition::Run(_)
            | Condition::Seq(_)
            | Condition::Mode(_)
            | Condition::Id(_)
            | Condition::Odd
            | Condition::Custom
            | Condition::Heartbeat => false,
        }
    }
}

/// Returns the node that wrote a message, and the nodes whose subgraphs it comes from.
fn nodes_of(message: &Message) -> impl Iterator<Item = &str> {
    let within = message.ns.iter();
    let within = within.map(|segment| segment.split(':').next().unwrap_or_default());
    message.node.as_deref().into_iter().chain(within)
}

/// Returns the texts of a message: its content, its tool calls and its author.
pub fn searchable_texts(message: &Message) -> impl Iterator<Item = &str> {
    let calls = message
        .tool_calls
        .iter()
        .flat_map(|call| [call.name.as_str(), call.args.as_str()]);
    let names = [
        message.name.as_deref(),
        message.node.as_deref(),
        message.id.as_deref(),
    ];
    let texts = [message.text.as_str(), message.reasoning.as_str()]
        .into_iter()
        .chain(calls);
    texts
        .chain(names.into_iter().flatten())
        .chain([message.role.word()])
}

/// Returns whether a pattern occurs in an event's attributes, id or data.
fn contains(facets: &EventAttrs<'_>, pattern: &Pattern) -> bool {
    let event = facets.event();
    pattern.is_in(&event.name)
        || event.ns.iter().any(|segment| pattern.is_in(segment))
        || event.id.as_ref().is_some_and(|id| pattern.is_in(id))
        || pattern
            .first_in(event.data.text(), event.data.json().is_some())
            .is_some()
}

impl ValueCondition {
    fn matches(&self, raw: Peek<'_>) -> bool {
        let text = raw.string();
        let value = text.as_deref().map_or(raw.text().into(), json::shown);
        let order = match (text.is_some(), self.is_text) {
            // A JSON string is always compared as text, so `=3` also matches `"3"`.
            (true, _) => Some(value.as_ref().cmp(&self.value)),
            (false, true) => None,
            (false, false) => match (value.parse::<f64>(), self.value.parse::<f64>()) {
                (Ok(value), Ok(wanted)) => value.partial_cmp(&wanted),
                _ => (*value == *self.value).then_some(Ordering::Equal),
            },
        };
        match self.operator {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::AtLeast => order.is_some_and(Ordering::is_ge),
            Operator::AtMost => order.is_some_and(Ordering::is_le),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::Less => order == Some(Ordering::Less),
            Operator::Contains => Needle::new(&self.value).is_in(&value),
        }
    }
}

/// Parses `a.b`, or `a.b=3` with `!=`, `>`, `<`, `>=`, `<=` or `~`.
fn path(text: &str) -> Result<Option<Condition>, String> {
    const OPERATORS: [(&str, Operator); 7] = [
        ("!=", Operator::NotEqual),
        (">=", Operator::AtLeast),
        ("<=", Operator::AtMost),
        ("=", Operator::Equal),
        (">", Operator::Greater),
        ("<", Operator::Less),
        ("~", Operator::Contains),
    ];
    // Operators inside quotes belong to a name.
    let mut quoted = false;
    let mut found = None;
    for (at, c) in text.char_indices() {
        quoted ^= c == '"';
        let sign = OPERATORS
            .iter()
            .find(|(sign, _)| text[at..].starts_with(sign))
            .filter(|_| !quoted);
        if let Some((sign, operator)) = sign {
            found = Some((&text[..at], *operator, &text[at + sign.len()..]));
            break;
        }
    }
    let (path, comparison) = match found {
        // The term is unfinished.
        Some((_, _, "")) => return Ok(None),
        Some((path, operator, value)) => {
            let plain = unquoted(value);
            (
                path,
                Some(ValueCondition {
                    operator,
                    value: plain.to_string(),
                    is_text: plain.len() < value.len(),
                }),
            )
        }
        None => (text, None),
    };
    let path = Path::parse(path).ok_or("expected a path (messages[-1].content); ignored")?;
    Ok(Some(Condition::Path(path, comparison)))
}

/// Parses `100`, `100-200`, `100-` or `-200`.
fn range(text: &str) -> Option<RangeInclusive<EventNumber>> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let end = |text: &str, open: u64| {
        Some(EventNumber(if text.is_empty() {
            open
        } else {
            text.parse().ok()?
        }))
    };
    if from.is_empty() && to.is_empty() {
        return None;
    }
    Some(end(from, 0)?..=end(to, u64::MAX)?)
}

/// Returns the text between the slashes of a `/regex/`.
fn regex(term: &str) -> Option<&str> {
    term.strip_prefix('/')?
        .strip_suffix('/')
        .filter(|inner| !inner.is_empty())
}

/// Removes the quotes around a text; the closing one may still be missing.
fn unquoted(text: &str) -> &str {
    text.strip_prefix('"')
        .map_or(text, |rest| rest.strip_suffix('"').unwrap_or(rest))
}

/// Splits a filter into terms. Quotes protect spaces, and so do the slashes of a closed regex.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let start = rest.strip_prefix('!').unwrap_or(rest);
        let start = start.strip_prefix("text:").unwrap_or(start);
        let closed = start
            .starts_with('/')
            .then(|| closing_slash(start))
            .flatten();
        let end = match closed {
            Some(length) => rest.len() - start.len() + length,
            None => {
                let mut quoted = false;
                rest.find(|c: char| {
                    quoted ^= c == '"';
                    !quoted && c.is_whitespace()
                })
                .unwrap_or(rest.len())
            }
        };
        terms.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    terms
}

/// Returns the length of a `/regex/`, which ends at an unescaped slash at the end of a term.
fn closing_slash(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let ends = |at: usize| bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace);
    (2..bytes.len())
        .find(|&at| bytes[at] == b'/' && bytes[at - 1] != b'\\' && ends(at))
        .map(|at| at + 1)
}

#[cfg(test)]
mod tests;
