//! Redacts recordings: removes values by path and pattern, and everything that looks like a key.

mod cuts;
mod document;
mod fields;
mod joined;
mod patterns;
#[cfg(test)]
mod tests;

pub use joined::{Found, Joined, Pieces};

use crate::json::document::Doc;
use crate::json::path::Path;
use crate::{Data, Event, Record};
use cuts::Cut;
use patterns::Patterns;
use regex::Regex;
use runtail_core::model::MASK;
use runtail_core::text;

/// Characters of a removed value that a preview shows.
const HEAD: usize = 24;
/// Bytes of it in which keys are looked for before.
const LOOKED_AT: usize = 64 << 10;
/// The rule of fields with a secret's name. The kinds of keys follow it.
const FIELDS: usize = 0;
const FIRST_KIND: usize = 1;

/// The redaction rules: keys and fields with a secret's name always, plus the requested ones.
#[derive(Debug)]
pub struct Rules {
    patterns: Patterns,
    names: Vec<String>,
    /// The first rule that was asked for. What the rules before it remove is not shown.
    first_asked: usize,
    asked: Vec<Asked>,
}

#[derive(Debug)]
enum Asked {
    /// Values by their path: from the root of an event's data, or from anywhere in it.
    Path(Path, bool),
    /// What a pattern matches, in each text by itself.
    Pattern(Regex),
}

/// Something that is removed.
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// The number of its rule.
    pub rule: usize,
    /// The path in the event's data, or the name of the record's own field.
    pub place: String,
    /// Bytes that are removed, as they are written.
    pub bytes: usize,
    /// How it begins, with keys masked.
    pub head: String,
}

impl Rules {
    /// Returns the rules that always hold, and rules by path and pattern.
    ///
    /// # Errors
    /// A message that names the invalid path or pattern.
    pub fn new(paths: &[String], patterns: &[String]) -> Result<Rules, String> {
        let kinds = Patterns::names().chain(["configured keys"]).map(String::from);
        let mut names: Vec<String> = ["fields with a secret's name".to_string()].into_iter().chain(kinds).collect();
        let first_asked = names.len();
        let mut asked = Vec::new();
        for text in paths {
            let anywhere = ["**.", "$..", ".."].iter().find_map(|mark| text.strip_prefix(mark));
            let path = Path::parse(anywhere.unwrap_or(text));
            let path = path.ok_or_else(|| format!("{text} is not a path such as messages[*].content or **.email"))?;
            asked.push(Asked::Path(path, anywhere.is_some()));
            names.push(format!("path {text}"));
        }
        for text in patterns {
            let pattern = Regex::new(text).map_err(|e| format!("{text} is not a valid regex: {}", last_line(&e)))?;
            if pattern.is_match("") {
                return Err(format!("the pattern {text} matches an empty text"));
            }
            asked.push(Asked::Pattern(pattern));
            names.push(format!("pattern {text}"));
        }
        let patterns = Patterns::new().map_err(|e| e.to_string())?;
        Ok(Rules { patterns, names, first_asked, asked })
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

    /// Returns a record without what is removed, and reports each removal. `pieces` are the parts of joined texts that
    /// [`Joined`] found in this record.
    pub fn apply(&self, record: Record, pieces: &Pieces, told: &mut impl FnMut(Removal)) -> Record {
        let mut field = |place: &str, text: String| self.field(place, &text, told).unwrap_or(text);
        match record {
            Record::Tape(mut head) => {
                head.server = field("server", head.server);
                head.thread_id = head.thread_id.map(|id| field("thread_id", id));
                head.run_id = head.run_id.map(|id| field("run_id", id));
                head.modes = head.modes.into_iter().map(|mode| field("modes", mode)).collect();
                Record::Tape(head)
            }
            Record::Open { at, conn, status, resumed_after } => {
                let resumed_after = resumed_after.map(|id| field("resumed_after", id));
                Record::Open { at, conn, status, resumed_after }
            }
            Record::Close { at, conn, reason } => Record::Close { at, conn, reason: field("reason", reason) },
            Record::Gap { at, why } => Record::Gap { at, why: field("why", why) },
            Record::Run(mut run) => {
                run.run_id = field("run_id", run.run_id);
                run.status = field("status", run.status);
                run.assistant_id = run.assistant_id.map(|id| field("assistant_id", id));
                Record::Run(run)
            }
            Record::End(mut end) => {
                end.detail = end.detail.map(|detail| field("detail", detail));
                Record::End(end)
            }
            Record::Event(event) => Record::Event(self.event(event, pieces, told)),
        }
    }

    fn event(&self, mut event: Event, pieces: &Pieces, told: &mut impl FnMut(Removal)) -> Event {
        if let Some(name) = self.field("event", &event.name, told) {
            event.name = name.into();
        }
        if let Some(id) = event.id.as_deref().and_then(|id| self.field("id", id, told)) {
            event.id = Some(id.into());
        }
        for n in 0..event.ns.len() {
            if let Some(segment) = self.field("ns", &event.ns[n], told) {
                let others = event.ns.iter().enumerate();
                event.ns =
                    others.map(|(at, own)| if at == n { segment.as_str().into() } else { own.clone() }).collect();
            }
        }
        event.data = match event.data {
            Data::Json(data) => {
                let mut cuts = match self.may_be_in_document(&data) {
                    true => self.document(&Doc::new(data.clone()), 0),
                    false => Vec::new(),
                };
                cuts.extend(pieces.cuts(&data));
                Data::Json(made(cuts, &data, told).map_or(data, Into::into))
            }
            Data::Malformed(data) => Data::Malformed(self.odd(&data, told).map_or(data, Into::into)),
            Data::TooLarge { size, head } => {
                let head = self.odd(&head, told).map_or(head, Into::into);
                Data::TooLarge { size, head }
            }
        };
        event
    }

    /// Returns whether anything may be removed from a JSON text: nearly always there is nothing, which one search shows.
    fn may_be_in_document(&self, json: &str) -> bool {
        let may_be = |asked: &Asked| match asked {
            Asked::Path(path, _) => path.may_be_in(json) || json.contains("\\u"),
            Asked::Pattern(_) => true,
        };
        self.asked.iter().any(may_be) || self.patterns.may_be_in(json) || !text::keys::places(json).is_empty()
    }

    /// What is no JSON has no paths: if there are rules by path, all of it is removed.
    fn odd(&self, data: &str, told: &mut impl FnMut(Removal)) -> Option<String> {
        let has_paths = self.asked.iter().any(|asked| matches!(asked, Asked::Path(..)));
        if has_paths && !data.is_empty() && data != MASK {
            let mut removal = self.removal(FIELDS, data);
            removal.place = "the whole data (not JSON)".into();
            told(removal);
            return Some(MASK.into());
        }
        self.field("data", data, told)
    }

    /// A text without what is removed; none if nothing is.
    fn field(&self, place: &str, text: &str, told: &mut impl FnMut(Removal)) -> Option<String> {
        let mut cuts = self.text(text, 0);
        cuts.iter_mut().for_each(|cut| at_place(cut, place));
        made(cuts, text, told)
    }

    fn removal(&self, rule: usize, gone: &str) -> Removal {
        let shown = match gone.chars().next() {
            _ if rule < self.first_asked => String::new(),
            // The names in it may say more than its text.
            Some('{') => "{".into(),
            Some('[') => "[".into(),
            _ => {
                let gone = text::head(gone, LOOKED_AT);
                let mask = |(_, range)| Cut { range, put: MASK.into(), removal: None };
                let cuts = cuts::merge(self.keys(gone).into_iter().map(mask).collect());
                cuts::cut(gone, &cuts).chars().take(HEAD).collect()
            }
        };
        let more = if shown.len() < gone.len() { "…" } else { "" };
        let head = text::clean(&shown).into_owned() + more;
        Removal { rule, place: String::new(), bytes: gone.len(), head }
    }
}

/// Makes the cuts in a text and reports what is removed. Returns none if nothing is.
fn made(cuts: Vec<Cut>, text: &str, told: &mut impl FnMut(Removal)) -> Option<String> {
    if cuts.is_empty() {
        return None;
    }
    let cuts = cuts::merge(cuts);
    let new = cuts::cut(text, &cuts);
    cuts.into_iter().filter_map(|cut| cut.removal).for_each(told);
    Some(new)
}

/// Puts the place of a text before the places of the cuts in it.
fn at_place(cut: &mut Cut, place: &str) {
    if let Some(removal) = &mut cut.removal {
        let inner = if removal.place.is_empty() { String::new() } else { format!(" > {}", removal.place) };
        removal.place = text::clean(place).into_owned() + &inner;
    }
}

/// What a pattern's error says at its end, after the pattern with marks below it.
fn last_line(error: &regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_string()
}
