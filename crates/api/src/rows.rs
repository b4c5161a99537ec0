//! Rows of lists, kept as received text and parsed one by one, because a parsed list is many times larger than its text.

use crate::answer::line;
use crate::body::parsed_size;
use crate::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum estimated memory in bytes of the parsed rows of one list: a third of that of one response, because a list is also
/// kept and printed.
const LIST: usize = 128 << 20;

/// A row as received.
pub type Row = Box<RawValue>;

/// The ids of the rows read so far, and their memory.
#[derive(Debug)]
pub struct Received {
    id_of: fn(&RawValue) -> Option<String>,
    ids: HashSet<String>,
    count: usize,
    /// Estimated memory in bytes that the parsed rows take.
    size: usize,
    /// Maximum of it.
    pub limit: usize,
}

impl Received {
    /// Starts with none; `id_of` returns the id of a row.
    pub fn new(id_of: fn(&RawValue) -> Option<String>) -> Received {
        Received {
            id_of,
            ids: HashSet::new(),
            count: 0,
            size: 0,
            limit: LIST,
        }
    }

    /// Returns the new rows of a page. Rows without an id are compared as text with those of earlier pages.
    pub fn new_of(&mut self, mut page: Vec<Row>) -> Vec<Row> {
        let mut without_id = Vec::new();
        page.retain(|row| match (self.id_of)(row) {
            Some(id) => self.ids.insert(id),
            None => {
                let mut hasher = DefaultHasher::new();
                row.get().hash(&mut hasher);
                let hash = format!("{:x}", hasher.finish());
                let is_new = !self.ids.contains(&hash);
                without_id.push(hash);
                is_new
            }
        });
        self.ids.extend(without_id);
        self.count += page.len();
        self.size += page
            .iter()
            .map(|row| parsed_size(row.get().as_bytes()))
            .sum::<usize>();
        page
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the rows have reached the memory limit of a list.
    pub fn is_full(&self) -> bool {
        self.size > self.limit
    }
}

/// The rows of a list that can't be read. The other rows are kept.
#[derive(Debug, Clone, Default)]
pub struct UnreadRows {
    count: usize,
    /// Why the first of them can't be read.
    pub(super) why: String,
    /// The name of the list.
    pub(super) list: Cow<'static, str>,
}

impl UnreadRows {
    /// Starts to count the rows of a list.
    pub fn of(list: impl Into<Cow<'static, str>>) -> UnreadRows {
        UnreadRows {
            list: list.into(),
            ..UnreadRows::default()
        }
    }

    /// Parses a row; `None` if it can't be read.
    pub fn parse<T: DeserializeOwned>(&mut self, row: &RawValue) -> Option<T> {
        if row.get().starts_with('{') {
            self.keep(json::exact(row.get()))
        } else {
            self.keep(Err(format!(
                "a row is not a record: {}",
                text::fit(row.get(), 40)
            )))
        }
    }

    /// Returns a row that was read, and counts one that wasn't.
    pub fn keep<T>(&mut self, row: Result<T, impl ToString>) -> Option<T> {
        row.inspect_err(|error| {
            self.count += 1;
            if self.count == 1 {
                self.why = error.to_string();
            }
        })
        .ok()
    }

    /// Counts the rows of another page too.
    pub fn extend(&mut self, page: &UnreadRows) {
        let first = if self.count == 0 {
            page.clone()
        } else {
            self.clone()
        };
        *self = UnreadRows {
            count: self.count + page.count,
            ..first
        };
    }

    /// Says which rows are missing; `None` if none are.
    pub fn sentence(&self) -> Option<String> {
        let count = text::counted(self.count, "row");
        let (list, why) = (&self.list, line(&self.why));
        (self.count > 0).then(|| format!("{count} of the list of {list} couldn't be read: {why}"))
    }
}

/// Returns a text of a record; nothing if it has none of this name.
pub fn text_of<'r>(record: &'r Value, name: &str) -> &'r str {
    record[name].as_str().unwrap_or_default()
}

/// Returns the id of a row: a deployment, revision or listener has `id`. Runs and crons also name their thread and assistant,
/// and the versions of an assistant have one id.
pub fn id_of(row: &RawValue) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Ids {
        run_id: Option<Value>,
        cron_id: Option<Value>,
        thread_id: Option<Value>,
        assistant_id: Option<Value>,
        version: Option<Value>,
        id: Option<Value>,
    }
    // A list would be read as the fields in their order: two namespaces with the same first label as one row.
    let record = row.get().starts_with('{').then_some(row.get())?;
    let Ids {
        run_id,
        cron_id,
        thread_id,
        assistant_id,
        version,
        id,
    } = json::from_str(record).ok()?;
    let text = |id: Value| id.as_str().map(String::from);
    let version = version
        .map(|version| format!(" {version}"))
        .unwrap_or_default();
    let of_assistant = assistant_id.and_then(text).map(|id| id + &version);
    [run_id, cron_id, thread_id]
        .into_iter()
        .flatten()
        .find_map(text)
        .or(of_assistant)
        .or(id.and_then(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(json: &str) -> Vec<Row> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn duplicate_rows_are_dropped() {
        let mut received = Received::new(id_of);
        let texts = |rows: Vec<Row>| {
            rows.iter()
                .map(|row| row.get().to_string())
                .collect::<Vec<_>>()
        };
        let first = rows(r#"[{"id":"a"},{"id":"b"},{"no":"id"},{"thread_id":"t","id":"a"},7]"#);
        assert_eq!(received.new_of(first).len(), 5);
        let second =
            rows(r#"[{"id":"b","name":"again"},{"id":"c"},{"no":"id"},{"assistant_id":"t"}]"#);
        assert_eq!(texts(received.new_of(second)), [r#"{"id":"c"}"#]);
        assert_eq!((received.count(), received.is_full()), (6, false));
        // What several rows have in common is not their id.
        let of_one = r#"[{"cron_id":"c1","assistant_id":"a","thread_id":"t"},{"cron_id":"c2","assistant_id":"a","thread_id":"t"},
            {"run_id":"r1","thread_id":"t"},{"run_id":"r2","thread_id":"t"},
            {"assistant_id":"a","version":1},{"assistant_id":"a","version":2},["label"],["label","other"]]"#;
        assert_eq!(received.new_of(rows(of_one)).len(), 8);
        assert_eq!(received.new_of(rows(of_one)).len(), 0);
    }

    #[test]
    fn list_limit_counts_the_parse_cost_of_rows() {
        let dense = format!(r#"[{{"id":"a","values":[{}0]}}]"#, "0,".repeat(1 << 20));
        let mut received = Received::new(id_of);
        received.new_of(rows(&dense));
        assert!(!received.is_full());
        received.new_of(rows(&dense.replace("\"a\"", "\"b\"")));
        assert!(received.is_full(), "{} bytes", received.size);
    }
}
