//! The configurations of two revisions: facts about them, and their keys, aligned.

use crate::session::Session;
use crate::widgets::line::{Line, Tone};
use crate::widgets::theme::phase_glyph;
use jiff::Timestamp;
use runtail_core::model::{Configuration, KeyRelation, KeyRow, KeyTable, KeyValue, Phase};
use runtail_core::text;
use runtail_stream::comparison::{Verdict, time_difference};
use serde_json::Value;
use std::time::Duration;

/// Columns before the key: the mark of the cursor.
const MARGIN: usize = 3;
/// Maximum columns of the keys.
const MAX_KEY: usize = 26;
/// Columns of a time without its seconds.
const MINUTES: usize = 16;
/// Maximum bytes of a value that is fitted into a cell.
const MAX_CELL: usize = 400;

/// What is known of a revision besides its configuration. It makes no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fact {
    Revision,
    Status,
    Message,
    Created,
    Took,
    Address,
}

impl Fact {
    fn name(self) -> &'static str {
        match self {
            Fact::Revision => "revision",
            Fact::Status => "status",
            Fact::Message => "message",
            Fact::Created => "created",
            Fact::Took => "took",
            Fact::Address => "address",
        }
    }

    /// Returns its text for a side; empty if unknown.
    fn text(self, of: &Configuration, session: &Session) -> String {
        let text = match self {
            Fact::Revision => of
                .revision_id
                .clone()
                .unwrap_or_else(|| "No revision yet.".into()),
            Fact::Status => of.status.clone(),
            Fact::Message => of.message.clone().unwrap_or_default(),
            Fact::Created => of
                .created_at
                .map(|at| local(at, session))
                .unwrap_or_default(),
            Fact::Took => match of.took.map(text::duration) {
                Some(took) if of.is_moving() => format!("{took} so far"),
                took => took.unwrap_or_default(),
            },
            Fact::Address => of.address.clone().unwrap_or_else(|| "none".into()),
        };
        text::clean(&text).into_owned()
    }

    /// Returns how the sides differ, for times.
    fn difference(self, [a, b]: &[Configuration; 2]) -> String {
        match self {
            Fact::Created => match a
                .created_at
                .zip(b.created_at)
                .map(|(a, b)| b.duration_since(a))
            {
                Some(time) if !time.is_zero() => {
                    let word = if time.is_negative() {
                        "earlier"
                    } else {
                        "later"
                    };
                    format!(
                        "{} {word}",
                        text::age(Duration::try_from(time.abs()).unwrap_or_default())
                    )
                }
                _ => String::new(),
            },
            // A build in progress has no duration to compare yet.
            Fact::Took if a.is_moving() || b.is_moving() => String::new(),
            Fact::Took => {
                let ms = |took: Duration| i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
                a.took
                    .zip(b.took)
                    .map(|(a, b)| time_difference(ms(b).saturating_sub(ms(a))))
                    .unwrap_or_default()
            }
            _ => String::new(),
        }
    }
}

fn local(at: Timestamp, session: &Session) -> String {
    at.to_zoned(session.settings.tz.clone())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}

/// The rows of two configurations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ComparedKeys {
    pub table: KeyTable,
    facts: Vec<Fact>,
    /// Columns of the longest name.
    pub longest: usize,
}

/// A row: a fact or a key.
enum KeyLine<'k> {
    Fact(Fact),
    Key(&'k KeyRow),
}

impl ComparedKeys {
    /// Aligns two configurations.
    pub fn of(a: &Configuration, b: &Configuration) -> ComparedKeys {
        let table = KeyTable::of(a.clone(), b.clone());
        let any = |is_known: fn(&Configuration) -> bool| table.sides.iter().any(is_known);
        let mut facts = Vec::new();
        let optional = [
            (Fact::Revision, any(|side| !side.is_version)),
            (Fact::Status, any(|side| !side.is_version)),
            (Fact::Message, any(|side| side.message.is_some())),
            (Fact::Created, any(|side| side.created_at.is_some())),
            (Fact::Took, any(|side| side.took.is_some())),
            (
                Fact::Address,
                a.deployment_id != b.deployment_id && any(|side| side.address.is_some()),
            ),
        ];
        facts.extend(
            optional
                .into_iter()
                .filter(|(_, is_known)| *is_known)
                .map(|(fact, _)| fact),
        );
        let mut keys = ComparedKeys {
            table,
            facts,
            longest: 0,
        };
        keys.longest = (0..keys.len())
            .map(|at| text::width(&keys.name(at)))
            .max()
            .unwrap_or(0);
        keys
    }

    pub fn len(&self) -> usize {
        self.facts.len() + self.table.rows.len()
    }

    fn line(&self, at: usize) -> Option<KeyLine<'_>> {
        match self.facts.get(at) {
            Some(fact) => Some(KeyLine::Fact(*fact)),
            None => self.table.rows.get(at - self.facts.len()).map(KeyLine::Key),
        }
    }

    /// Returns what identifies a row if the sides are loaded again.
    pub fn path(&self, at: usize) -> Option<&str> {
        Some(match self.line(at)? {
            KeyLine::Fact(fact) => fact.name(),
            KeyLine::Key(row) => &row.path,
        })
    }

    /// Returns how the values of a row relate; `None` for a fact.
    pub fn verdict(&self, at: usize) -> Option<Verdict> {
        let KeyLine::Key(row) = self.line(at)? else {
            return None;
        };
        Some(match row.relation {
            KeyRelation::Same => Verdict::Same,
            KeyRelation::Differs => Verdict::Differs(String::new()),
            KeyRelation::OnlyA => Verdict::OnlyA,
            KeyRelation::OnlyB => Verdict::OnlyB,
            KeyRelation::Unknown => Verdict::Unknown,
        })
    }

    /// Returns the words beside the sign of a row.
    pub fn what(&self, at: usize) -> String {
        match self.line(at) {
            Some(KeyLine::Fact(fact)) => fact.difference(&self.table.sides),
            Some(KeyLine::Key(row)) => match row.relation {
                KeyRelation::Same | KeyRelation::Differs => String::new(),
                KeyRelation::OnlyA => "only A".into(),
                KeyRelation::OnlyB => "only B".into(),
                KeyRelation::Unknown if row.values.contains(&KeyValue::Unknown) => "unknown".into(),
                KeyRelation::Unknown => "not compared".into(),
            },
            None => String::new(),
        }
    }

    /// Returns the short name of a row.
    pub fn name(&self, at: usize) -> String {
        match self.line(at) {
            Some(KeyLine::Fact(fact)) => fact.name().into(),
            Some(KeyLine::Key(row)) => text::clean(row.name()).into_owned(),
            None => String::new(),
        }
    }

    /// Returns what both sides have in common.
    pub fn common(&self) -> String {
        let [a, b] = &self.table.sides;
        let mut parts = Vec::new();
        if a.deployment_id == b.deployment_id {
            parts.push(if a.is_version {
                "same assistant"
            } else {
                "same deployment"
            });
        } else if a.repository.is_some() && a.repository == b.repository {
            parts.push("same repository");
        }
        match a
            .commit
            .as_ref()
            .zip(b.commit.as_ref())
            .map(|(a, b)| a == b)
        {
            Some(true) => parts.push("same commit"),
            Some(false) => parts.push("different commits"),
            None => {}
        }
        parts.join(" · ")
    }

    /// Returns the number of keys that differ and are equal, and the commits between both sides.
    pub fn totals(&self, key: &str) -> [String; 2] {
        let differ =
            self.table
                .count(&[KeyRelation::Differs, KeyRelation::OnlyA, KeyRelation::OnlyB]);
        let unknown = self.table.count(&[KeyRelation::Unknown]);
        let word = if differ == 1 { "differs" } else { "differ" };
        let all = self.table.rows.len();
        let mut counts = format!("{differ} of {all} keys {word}");
        if unknown > 0 {
            counts.push_str(&format!(" · {unknown} not compared"));
        }
        let commits = match self.table.commits() {
            _ if self.table.sides[0].is_version => String::new(),
            Ok(url) => {
                let range = url.rsplit('/').next().unwrap_or_default();
                let short: Vec<&str> = range
                    .split("...")
                    .map(|sha| sha.get(..7).unwrap_or(sha))
                    .collect();
                format!("{key} commits {} on GitHub", short.join("..."))
            }
            Err(why) => format!("no commits: {}", lower_first(&why)),
        };
        [counts, commits]
    }

    /// Returns the cells of a side: its key and its value, which are empty if the side has neither.
    pub fn cells(&self, at: usize, which: usize, session: &Session) -> Line {
        match self.line(at) {
            None => Line::new(),
            Some(KeyLine::Fact(fact)) => {
                let of = &self.table.sides[which];
                let value = match fact {
                    Fact::Revision => of
                        .revision_id
                        .as_deref()
                        .map_or("none yet".into(), text::short_id),
                    _ => fact.text(of, session),
                };
                if value.is_empty() {
                    return if fact == Fact::Message {
                        Line::new()
                    } else {
                        Line::dim("unknown")
                    };
                }
                if fact != Fact::Status {
                    let tone = if fact == Fact::Revision {
                        Tone::Dim
                    } else {
                        Tone::Plain
                    };
                    return Line::of(tone, &value);
                }
                let (glyph, tone) = phase_glyph(Phase::of(&of.status));
                let word = if tone == Tone::Bad {
                    Tone::Bad
                } else {
                    Tone::Plain
                };
                Line::of(tone, &format!("{glyph} ")).with(word, &value)
            }
            Some(KeyLine::Key(row)) => match &row.values[which] {
                KeyValue::Known(value) => {
                    Line::plain(&text::clean(text::head(&shown(value), MAX_CELL)))
                }
                KeyValue::Secret => Line::dim("present"),
                KeyValue::Unknown => Line::dim("not recorded"),
                KeyValue::Absent if row.is_secret() => Line::dim("absent"),
                KeyValue::Absent => Line::new(),
            },
        }
    }

    /// Returns the cells of a side, cut to a width. A time leaves out its seconds before it is cut.
    pub fn cut_cells(&self, at: usize, which: usize, session: &Session, width: usize) -> Line {
        let cells = self.cells(at, which, session);
        let is_time = matches!(self.line(at), Some(KeyLine::Fact(Fact::Created)));
        match is_time && cells.width() > width {
            true => Line::plain(text::head(&cells.text(), MINUTES)).cut(width),
            false => cells.cut(width),
        }
    }

    /// Returns the whole value of a side; `None` if there is none that can be shown.
    pub fn value(&self, at: usize, which: usize, session: &Session) -> Option<String> {
        match self.line(at)? {
            KeyLine::Fact(fact) => {
                Some(fact.text(&self.table.sides[which], session)).filter(|text| !text.is_empty())
            }
            KeyLine::Key(row) => known(&row.values[which]),
        }
    }

    /// Returns the value of a side for the clipboard.
    pub fn copied(&self, at: usize, which: usize) -> Option<String> {
        let of = &self.table.sides[which];
        match self.line(at)? {
            KeyLine::Fact(Fact::Revision) => of.revision_id.clone(),
            KeyLine::Fact(Fact::Status) => {
                Some(of.status.clone()).filter(|status| !status.is_empty())
            }
            KeyLine::Fact(Fact::Message) => of.message.clone(),
            KeyLine::Fact(Fact::Created) => of.created_at.map(|at| at.to_string()),
            KeyLine::Fact(Fact::Took) => of.took.map(text::duration),
            KeyLine::Fact(Fact::Address) => of.address.clone(),
            KeyLine::Key(row) => known(&row.values[which]),
        }
    }

    /// Returns the text of a side without a value that can be shown.
    pub fn without_value(&self, at: usize, which: usize) -> &'static str {
        match self.line(at) {
            Some(KeyLine::Key(row)) => match &row.values[which] {
                KeyValue::Secret => "Set. Secret values are neither shown nor compared.",
                KeyValue::Unknown => "Not recorded: secrets belong to the deployment.",
                KeyValue::Absent | KeyValue::Known(_) => "Not set.",
            },
            _ => "Unknown.",
        }
    }
}

/// Returns a line of a side: the key and its value.
pub(super) fn side_line(
    keys: &ComparedKeys,
    at: usize,
    which: usize,
    is_selected: bool,
    width: usize,
    session: &Session,
) -> Line {
    let cells = keys.cells(at, which, session);
    if cells.left.is_empty() {
        return cells;
    }
    let room = key_width(keys, width);
    let name = fit_end(&keys.name(at), room);
    let gap = " ".repeat(room.saturating_sub(text::width(&name)) + 2);
    let tone = if is_selected { Tone::Strong } else { Tone::Dim };
    let mut line = Line::plain(&" ".repeat(MARGIN))
        .with(tone, &name)
        .with_plain(&gap);
    let mut rest = width.saturating_sub(line.width() + 1);
    for piece in cells.left {
        let fitted = text::fit(&piece.text, rest).into_owned();
        rest = rest.saturating_sub(text::width(&fitted));
        line.push(piece.tone, &fitted);
    }
    line
}

/// Cuts the start of a long key, because its end says which one it is.
pub(super) fn fit_end(name: &str, room: usize) -> String {
    if text::width(name) <= room {
        return name.to_string();
    }
    let mut end = String::new();
    for c in name.chars().rev() {
        if text::width(&end) + text::width(c.encode_utf8(&mut [0; 4])) + 1 > room {
            break;
        }
        end.insert(0, c);
    }
    format!("…{end}")
}

/// Returns the columns of the keys.
pub(super) fn key_width(keys: &ComparedKeys, width: usize) -> usize {
    keys.longest.clamp(3, MAX_KEY.min(width * 45 / 100).max(3))
}

/// Returns the headings of a side.
pub(super) fn head(keys: Option<&ComparedKeys>, width: usize) -> Line {
    let room = keys.map_or(12, |keys| key_width(keys, width));
    Line::dim(&format!("{}{:<room$}  VALUE", " ".repeat(MARGIN), "KEY"))
}

/// Returns a value whole, JSON on several lines.
fn known(value: &KeyValue) -> Option<String> {
    match value {
        KeyValue::Known(Value::String(text)) => Some(text.clone()),
        KeyValue::Known(other) => {
            Some(serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()))
        }
        KeyValue::Absent | KeyValue::Secret | KeyValue::Unknown => None,
    }
}

/// Returns a value in one line.
fn shown(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string)
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_keep_their_ends() {
        assert_eq!(fit_end("commit", 8), "commit");
        assert_eq!(fit_end("config.configurable.tone", 10), "…able.tone");
        assert_eq!(fit_end("日本語のキー", 5), "…キー");
        assert_eq!(fit_end("key", 0), "…");
    }
}
