//! The rows of a page of records: cells, and what each row is.

use super::{RecordPage, RecordSource};
use crate::session::record_list::RecordList;
use jiff::Timestamp;
use runtail_api::ApiError;
use runtail_core::catalog::Column;
use runtail_core::model::{Collection, parse_time};
use runtail_core::text::{age_since, clean, short_id};
use serde_json::Value;
use std::collections::BTreeSet;

/// Spaces for each level of the tree.
const INDENT: usize = 2;

/// A shown row.
#[derive(Debug, Clone)]
pub struct RecordRow<'r> {
    /// Identifies it on the page.
    pub id: String,
    /// Its cells, sanitized.
    pub cells: Vec<String>,
    pub is: RowOf<'r>,
}

/// What a row is.
#[derive(Debug, Clone, PartialEq)]
pub enum RowOf<'r> {
    /// A record of a control plane.
    Record(&'r Value),
    /// A version of an assistant.
    Version(&'r Value),
    Cron(&'r Value),
    /// A namespace, and whether it is open.
    Namespace(Vec<String>, bool),
    /// An item of the store.
    Item(&'r Value),
    /// What is shown instead of the items of a namespace.
    Note,
}

impl RecordRow<'_> {
    /// Returns the text for the clipboard.
    pub fn copied(&self) -> Option<String> {
        match &self.is {
            RowOf::Record(_) => Some(self.id.clone()),
            RowOf::Version(row) => Some(row["version"].to_string()),
            RowOf::Cron(row) => row["cron_id"].as_str().map(str::to_string),
            RowOf::Namespace(labels, _) => Some(labels.join(".")),
            RowOf::Item(row) => Some(row["value"].to_string()),
            RowOf::Note => None,
        }
    }
}

impl RecordPage {
    /// Returns the titles of the columns.
    pub(super) fn titles(&self) -> Vec<&'static str> {
        let of = match &self.source {
            RecordSource::Collection { of, .. } => {
                let columns = of.resource().columns.iter();
                return columns.map(|column| column.title).collect();
            }
            RecordSource::Server(_, of) => of,
        };
        match of {
            RecordList::Versions { .. } => {
                vec!["VERSION", "STATUS", "NAME", "CREATED", "CONTEXT", "CONFIG"]
            }
            RecordList::Crons => vec![
                "SCHEDULE",
                "TIME ZONE",
                "NEXT RUN",
                "STATUS",
                "ASSISTANT",
                "THREAD",
                "CRON",
            ],
            RecordList::Store(_) => vec!["NAMESPACE / KEY", "UPDATED", "VALUE"],
        }
    }

    /// Returns the rows that match the filter, at the server's time.
    pub fn shown(&self, now: Timestamp) -> Vec<RecordRow<'_>> {
        let rows = self.rows.value.iter().flatten();
        let mut shown: Vec<RecordRow<'_>> = match &self.source {
            RecordSource::Collection { of, .. } => {
                return rows.filter_map(|row| self.record(of, row, now)).collect();
            }
            RecordSource::Server(_, RecordList::Versions { .. }) => {
                rows.map(|row| self.version(row, now)).collect()
            }
            RecordSource::Server(_, RecordList::Crons) => rows.map(|row| cron(row, now)).collect(),
            RecordSource::Server(_, RecordList::Store(prefix)) => self.tree(prefix, now),
        };
        shown.retain(|row| self.table.fits(&row.cells));
        shown
    }

    /// Returns the row of a record. One without an id can't be selected and isn't shown.
    fn record<'r>(&self, of: &Collection, row: &'r Value, now: Timestamp) -> Option<RecordRow<'r>> {
        let columns = of.resource().columns;
        let is_shown = self
            .table
            .fits(columns.iter().map(|column| column.words(row)));
        Some(RecordRow {
            id: of.id_of(row).filter(|_| is_shown)?,
            cells: columns
                .iter()
                .map(|column| cell(column, row, now))
                .collect(),
            is: RowOf::Record(row),
        })
    }

    fn version<'r>(&self, row: &'r Value, now: Timestamp) -> RecordRow<'r> {
        let is_marked = self.marked.is_some() && row["version"].as_i64() == self.marked;
        // The assistant may have another context than its current version: the server restores less than it lists.
        let differs = row["differs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let differs: Vec<&str> = differs.collect();
        let current = match (row["is_current"] == true, differs.is_empty()) {
            (false, _) => String::new(),
            (true, true) => "current".into(),
            (true, false) => format!("current, except {}", clean(&differs.join(", "))),
        };
        let status = match (current.is_empty(), is_marked) {
            (false, true) => format!("{current}, marked"),
            (true, true) => "marked".into(),
            (_, false) => current,
        };
        let cells = vec![
            text(&row["version"]),
            status,
            text(&row["name"]),
            time(&row["created_at"], now),
            text(&row["context"]),
            text(&row["config"]),
        ];
        RecordRow {
            id: row["version"].to_string(),
            cells,
            is: RowOf::Version(row),
        }
    }

    /// Returns the tree of the store: each namespace, and below an open one those in it and its items.
    fn tree(&self, prefix: &[String], now: Timestamp) -> Vec<RecordRow<'_>> {
        let listed = self.rows.value.iter().flatten().filter_map(labels);
        // A server may list no namespaces although they have items.
        let all: BTreeSet<Vec<String>> = listed
            .chain((!prefix.is_empty()).then(|| prefix.to_vec()))
            .collect();
        let nodes: BTreeSet<Vec<String>> = all
            .iter()
            .flat_map(|labels| (1..=labels.len()).map(|n| labels[..n].to_vec()))
            .collect();
        let mut rows = Vec::new();
        let is_searched = !self.table.filter.is_empty();
        for node in &nodes {
            let is_visible = (1..node.len())
                .all(|n| is_searched || self.open.contains(&node[..n]) || n < prefix.len());
            if !is_visible {
                continue;
            }
            let is_open = self.open.contains(node) || node.len() < prefix.len();
            let glyph = if is_open { "▾" } else { "▸" };
            let indent = " ".repeat((node.len() - 1) * INDENT);
            let label = clean(node.last().map_or("", String::as_str)).into_owned();
            rows.push(RecordRow {
                id: format!("n {}", node.join(".")),
                cells: vec![
                    format!("{indent}{glyph} {label}"),
                    String::new(),
                    String::new(),
                ],
                is: RowOf::Namespace(node.clone(), is_open),
            });
            if is_open && node.len() >= prefix.len() {
                self.items_of(node, now, &mut rows);
            }
        }
        rows
    }

    fn items_of<'r>(&'r self, namespace: &[String], now: Timestamp, rows: &mut Vec<RecordRow<'r>>) {
        let indent = " ".repeat(namespace.len() * INDENT);
        let mut note = |text: String| {
            let cells = vec![format!("{indent}  {text}"), String::new(), String::new()];
            rows.push(RecordRow {
                id: format!("e {}", namespace.join(".")),
                cells,
                is: RowOf::Note,
            });
        };
        let Some(loaded) = self.items.get(namespace) else {
            return note("loading…".into());
        };
        if let Some(problem) = loaded
            .error
            .as_ref()
            .map(ApiError::cause)
            .or(loaded.unread.clone())
        {
            note(clean(&problem).into_owned());
        }
        // A search also returns the items of the namespaces in it.
        let own =
            |row: &&Value| labels_of(&row["namespace"]).is_some_and(|labels| labels == namespace);
        for row in loaded.value.iter().flatten().filter(own) {
            let key = row["key"].as_str().unwrap_or_default();
            rows.push(RecordRow {
                id: format!("i {} {key}", namespace.join(".")),
                cells: vec![
                    format!("{indent}  {}", clean(key)),
                    time(&row["updated_at"], now),
                    text(&row["value"]),
                ],
                is: RowOf::Item(row),
            });
        }
    }
}

/// Formats a field for its cell: shortened ids, relative times.
fn cell(column: &Column, row: &Value, now: Timestamp) -> String {
    let text = column.words(row);
    match parse_time(&text).filter(|_| column.is_time) {
        Some(at) => ago(at, now),
        None if uuid::Uuid::parse_str(&text).is_ok() => short_id(&text),
        None => clean(&text).into_owned(),
    }
}

/// Formats a time relative to now.
fn ago(at: Timestamp, now: Timestamp) -> String {
    match at > now {
        true => format!("in {}", age_since(now, at)),
        false => format!("{} ago", age_since(at, now)),
    }
}

fn cron(row: &Value, now: Timestamp) -> RecordRow<'_> {
    let is_paused = row["enabled"] == false;
    let id = |value: &Value| value.as_str().map(short_id).unwrap_or_default();
    let cells = vec![
        text(&row["schedule"]),
        row["timezone"]
            .as_str()
            .map_or("UTC".into(), |zone| clean(zone).into_owned()),
        if is_paused {
            "-".into()
        } else {
            time(&row["next_run_date"], now)
        },
        if is_paused { "paused" } else { "enabled" }.into(),
        id(&row["assistant_id"]),
        id(&row["thread_id"]),
        id(&row["cron_id"]),
    ];
    RecordRow {
        id: row["cron_id"].as_str().unwrap_or_default().to_string(),
        cells,
        is: RowOf::Cron(row),
    }
}

/// Returns a value for a cell. Text is shown as it is, everything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => clean(text).into_owned(),
        other => clean(&other.to_string()).into_owned(),
    }
}

fn time(value: &Value, now: Timestamp) -> String {
    value
        .as_str()
        .and_then(parse_time)
        .map(|at| ago(at, now))
        .unwrap_or_default()
}

fn labels(row: &Value) -> Option<Vec<String>> {
    labels_of(row).filter(|labels| !labels.is_empty())
}

fn labels_of(row: &Value) -> Option<Vec<String>> {
    row.as_array()?
        .iter()
        .map(|label| label.as_str().map(str::to_string))
        .collect()
}
