//! Redacts recordings: removes values by path and pattern, and everything that looks like a key.

mod cuts;
mod document;
mod joined;
#[cfg(test)]
mod tests;

pub use joined::{Found, Joined, Pieces};

use crate::json::index::JsonIndex;
use crate::json::path::Path;
use crate::{Data, Event, Record};
use cuts::Cut;
use regex::Regex;
use runtail_core::secret::patterns::Patterns;
use runtail_core::secret::{self, MASK};
use runtail_core::text;

/// Maximum number of characters of a removed value in a preview.
const HEAD: usize = 24;
/// Maximum number of bytes of a removed value that are searched for keys before they are shown.
const MAX_SEARCHED: usize = 64 << 10;
/// The rule of fields with a secret's name. The kinds of keys follow it.
const FIELDS: usize = 0;
const FIRST_KIND: usize = 1;

/// The redaction rules: keys and fields with a secret's name always, plus the requested ones.
#[derive(Debug)]
pub struct Rules {
    patterns: Patterns,
    names: Vec<String>,
    /// The first requested rule. Values removed by the rules before it are never shown.
    first_requested: usize,
    requested: Vec<Request>,
}

/// A rule that the user requested.
#[derive(Debug)]
enum Request {
    /// Removes values by path, which starts at the root of an event's data or, if the flag is set, anywhere in it.
    Path(Path, bool),
    /// Removes matches of a pattern, in each text separately.
    Pattern(Regex),
}

/// A removed value.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// The number of its rule.
    pub rule: usize,
    /// The path in the event's data, or the name of the record's own field.
    pub place: String,
    /// Number of removed bytes, in the JSON's encoding.
    pub bytes: usize,
    /// The beginning of the value, with keys masked.
    pub head: String,
}

impl Rules {
    /// Returns the rules that always apply, and rules by path and pattern.
    ///
    /// # Errors
    /// A message that names the invalid path or pattern.
    pub fn new(paths: &[String], patterns: &[String]) -> Result<Rules, String> {
        let kinds = Patterns::names()
            .chain(["configured keys"])
            .map(String::from);
        let mut names: Vec<String> = ["fields with a secret's name".to_string()]
            .into_iter()
            .chain(kinds)
            .collect();
        let first_requested = names.len();
        let mut requested = Vec::new();
        for text in paths {
            let anywhere = ["**.", "$..", ".."]
                .iter()
                .find_map(|prefix| text.strip_prefix(prefix));
            let path = Path::parse(anywhere.unwrap_or(text));
            let path = path.ok_or_else(|| {
                format!("{text} is not a path such as messages[*].content or **.email")
            })?;
            requested.push(Request::Path(path, anywhere.is_some()));
            names.push(format!("path {text}"));
        }
        for text in patterns {
            let pattern = Regex::new(text)
                .map_err(|e| format!("{text} is not a valid regex: {}", last_line(&e)))?;
            if pattern.is_match("") {
                return Err(format!("the pattern {text} matches an empty text"));
            }
            requested.push(Request::Pattern(pattern));
            names.push(format!("pattern {text}"));
        }
        let patterns = Patterns::new().map_err(|e| e.to_string())?;
        Ok(Rules {
            patterns,
            names,
            first_requested,
            requested,
        })
    }

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the name of a rule.
    pub fn name(&self, rule: usize) -> &str {
        self.names.get(rule).map_or("", String::as_str)
    }

    /// Returns a redacted record and reports each removal. `pieces` are what [`Joined`] found in this record.
    pub fn apply(
        &self,
        mut record: Record,
        pieces: &Pieces,
        report: &mut impl FnMut(Removal),
    ) -> Record {
        if let Record::Event(event) = record {
            return Record::Event(self.event(event, pieces, report));
        }
        for (place, text) in record.texts() {
            if let Some(redacted) = self.field(place, text, report) {
                *text = redacted;
            }
        }
        record
    }

    fn event(&self, mut event: Event, pieces: &Pieces, report: &mut impl FnMut(Removal)) -> Event {
        if let Some(name) = self.field("event", &event.name, report) {
            event.name = name.into();
        }
        if let Some(id) = event
            .id
            .as_deref()
            .and_then(|id| self.field("id", id, report))
        {
            event.id = Some(id.into());
        }
        for n in 0..event.ns.len() {
            if let Some(redacted) = self.field("ns", &event.ns[n], report) {
                let segments = event.ns.iter().enumerate();
                event.ns = segments
                    .map(|(at, segment)| {
                        if at == n {
                            redacted.as_str().into()
                        } else {
                            segment.clone()
                        }
                    })
                    .collect();
            }
        }
        event.data = match event.data {
            Data::Json(data) => {
                let mut cuts = match self.may_be_in_document(&data) {
                    true => self.document(&JsonIndex::new(data.clone()), 0),
                    false => Vec::new(),
                };
                cuts.extend(pieces.cuts(&data));
                Data::Json(apply_cuts(cuts, &data, report).map_or(data, Into::into))
            }
            Data::Malformed(data) => {
                Data::Malformed(self.non_json(&data, report).map_or(data, Into::into))
            }
            Data::TooLarge { size, head } => {
                let head = self.non_json(&head, report).map_or(head, Into::into);
                Data::TooLarge { size, head }
            }
        };
        event
    }

    /// Returns whether a JSON text may contain anything to remove. Usually it doesn't, so one quick search is enough.
    fn may_be_in_document(&self, json: &str) -> bool {
        let may_be = |request: &Request| match request {
            Request::Path(path, _) => path.may_be_in(json) || json.contains("\\u"),
            Request::Pattern(_) => true,
        };
        self.requested.iter().any(may_be)
            || self.patterns.may_be_in(json)
            || !secret::keys::places(json).is_empty()
    }

    /// Redacts data that is not JSON. It has no paths, so it is removed completely if there are rules by path.
    fn non_json(&self, data: &str, report: &mut impl FnMut(Removal)) -> Option<String> {
        let has_paths = self
            .requested
            .iter()
            .any(|request| matches!(request, Request::Path(..)));
        if has_paths && !data.is_empty() && data != MASK {
            let mut removal = self.removal(FIELDS, data);
            removal.place = "the whole data (not JSON)".into();
            report(removal);
            return Some(MASK.into());
        }
        self.field("data", data, report)
    }

    /// Returns a redacted text; `None` if nothing is removed.
    fn field(&self, place: &str, text: &str, report: &mut impl FnMut(Removal)) -> Option<String> {
        let mut cuts = self.text(text, 0);
        cuts.iter_mut().for_each(|cut| prefix_place(cut, place));
        apply_cuts(cuts, text, report)
    }

    fn removal(&self, rule: usize, removed: &str) -> Removal {
        let shown = match removed.chars().next() {
            _ if rule < self.first_requested => String::new(),
            // Its names may reveal more than its text.
            Some('{') => "{".into(),
            Some('[') => "[".into(),
            _ => {
                let removed = text::head(removed, MAX_SEARCHED);
                let mask = |(_, range)| Cut {
                    range,
                    replacement: MASK.into(),
                    removal: None,
                };
                let cuts = cuts::merge(self.keys(removed).into_iter().map(mask).collect());
                cuts::apply(removed, &cuts).chars().take(HEAD).collect()
            }
        };
        let more = if shown.len() < removed.len() {
            "…"
        } else {
            ""
        };
        let head = text::clean(&shown).into_owned() + more;
        Removal {
            rule,
            place: String::new(),
            bytes: removed.len(),
            head,
        }
    }
}

/// Applies cuts to a text and reports each removal. Returns `None` if there are no cuts.
fn apply_cuts(cuts: Vec<Cut>, text: &str, report: &mut impl FnMut(Removal)) -> Option<String> {
    if cuts.is_empty() {
        return None;
    }
    let cuts = cuts::merge(cuts);
    let redacted = cuts::apply(text, &cuts);
    cuts.into_iter()
        .filter_map(|cut| cut.removal)
        .for_each(report);
    Some(redacted)
}

/// Prefixes the place of a cut with the place of the text that contains it.
fn prefix_place(cut: &mut Cut, place: &str) {
    if let Some(removal) = &mut cut.removal {
        let inner = if removal.place.is_empty() {
            String::new()
        } else {
            format!(" > {}", removal.place)
        };
        removal.place = text::clean(place).into_owned() + &inner;
    }
}

/// Returns the last line of a regex error. The lines before it show the pattern.
fn last_line(error: &regex::Error) -> String {
    error
        .to_string()
        .lines()
        .last()
        .unwrap_or_default()
        .trim()
        .trim_start_matches("error: ")
        .to_string()
}
