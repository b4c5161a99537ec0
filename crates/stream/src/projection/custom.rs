//! Custom events: `custom`, the newer protocol's `custom:<name>` channels, feedback, and everything that no other view
//! shows. Stores only positions; rows are rendered from the events.

use super::rows::{Rows, Weigh, namespace_weight};
use crate::protocol::Payload;
use crate::{Namespace, Seq};
use jiff::Timestamp;
use runtail_core::json::Peek;
use std::sync::Arc;

/// Maximum size in bytes of an event that is searched for progress. Progress reports are small.
const MAX_PROGRESS_BYTES: usize = 2_048;

/// A progress report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// A fraction from 0 to 1.
    Part(f64),
    /// A count and its total.
    Count(u64, u64),
}

impl Progress {
    /// Returns the fraction from 0 to 1.
    pub fn part(self) -> f64 {
        match self {
            Progress::Part(part) => part,
            Progress::Count(done, total) => done as f64 / total as f64,
        }
    }

    /// Parses progress if it is unambiguous: a `progress` from 0 to 1 with a decimal point, a `percent`, or a count
    /// with its `total`.
    pub fn of(json: Peek<'_>) -> Option<Progress> {
        if !json.is_object() || !json.is_whole() || json.text().len() > MAX_PROGRESS_BYTES {
            return None;
        }
        let [
            progress,
            percent,
            percentage,
            total,
            done,
            current,
            completed,
        ] = json.pick([
            "progress",
            "percent",
            "percentage",
            "total",
            "done",
            "current",
            "completed",
        ]);
        if let Some(part) = progress
            .filter(|p| p.text().contains('.'))
            .and_then(Peek::number)
        {
            return (0.0..=1.0).contains(&part).then_some(Progress::Part(part));
        }
        if let Some(percent) = percent.or(percentage).and_then(Peek::number) {
            return (0.0..=100.0)
                .contains(&percent)
                .then_some(Progress::Part(percent / 100.0));
        }
        let whole = |n: Option<Peek<'_>>| n?.text().parse::<u64>().ok();
        let (done, total) = (
            whole(done.or(current).or(completed).or(progress))?,
            whole(total)?,
        );
        (total > 0 && done <= total).then_some(Progress::Count(done, total))
    }
}

/// A custom event.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomRow {
    pub seq: Seq,
    /// When it was sent, if known.
    pub at: Option<Timestamp>,
    /// The subgraph that emitted it, if known.
    pub ns: Namespace,
    /// The name of the channel, or of the event if it is unknown; empty for plain `custom`.
    pub name: Arc<str>,
    /// Its progress, if it contains one.
    pub progress: Option<Progress>,
}

impl Weigh for CustomRow {
    const MAX_ROWS: usize = 200_000;

    fn weight(&self) -> usize {
        size_of::<CustomRow>() + namespace_weight(&self.ns) + self.name.len()
    }
}

/// The custom events of an event log.
#[derive(Debug, Clone, Default)]
pub struct Custom {
    pub(super) rows: Rows<CustomRow>,
    names: crate::Interner,
}

impl Custom {
    /// Returns the rows in the order of their events.
    pub fn rows(&self) -> &Rows<CustomRow> {
        &self.rows
    }

    pub(super) fn apply(&mut self, payload: &Payload<'_>) {
        let name = match payload.name {
            "custom" => "",
            "metadata" | "values" | "updates" | "messages" | "messages/partial"
            | "messages/complete" | "messages/metadata" | "tasks" | "checkpoints" | "debug"
            | "events" | "state_update" | "lifecycle" | "input.requested" | "error" | "end" => {
                return;
            }
            name => name.strip_prefix("custom:").unwrap_or(name),
        };
        let name = self.names.get(name);
        let progress = Progress::of(Peek::head(
            payload.json.unwrap_or_default(),
            MAX_PROGRESS_BYTES,
        ));
        let (seq, at, ns) = (payload.event.seq, payload.event.time(), payload.ns.clone());
        self.rows.push(CustomRow {
            seq,
            at,
            ns,
            name,
            progress,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Data;
    use crate::Event;

    #[test]
    fn only_unambiguous_progress_is_parsed() {
        let of = |json: &str| Progress::of(Peek::head(json, 9_999));
        assert_eq!(
            of(r#"{"where":"sub_a","progress":0.5}"#),
            Some(Progress::Part(0.5))
        );
        assert_eq!(of(r#"{"percent":45}"#), Some(Progress::Part(0.45)));
        assert_eq!(
            of(r#"{"done":3,"total":10,"file":"x"}"#),
            Some(Progress::Count(3, 10))
        );
        assert_eq!(
            of(r#"{"progress":3,"total":4}"#).map(Progress::part),
            Some(0.75)
        );
        for other in [
            r#"{"progress":1}"#,
            r#"{"progress":"half"}"#,
            r#"{"progress":7.5}"#,
            r#"{"percent":120}"#,
            r#"{"done":11,"total":10}"#,
            r#"{"done":0,"total":0}"#,
            r#"{"done":true,"total":3}"#,
            r#"{"total":10}"#,
            r#"{"i":3}"#,
            "0.5",
            "null",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(
            of(&format!(
                r#"{{"percent":45,"text":"{}"}}"#,
                "x".repeat(MAX_PROGRESS_BYTES)
            )),
            None
        );
    }

    #[test]
    fn events_without_a_view_are_custom() {
        let mut custom = Custom::default();
        for (i, name) in [
            "custom",
            "values",
            "custom:log",
            "feedback",
            "brand_new",
            "error",
            "tools",
        ]
        .into_iter()
        .enumerate()
        {
            let (seq, at) = (Seq(i as u64 + 1), Timestamp::UNIX_EPOCH);
            let data = Data::Json(r#"{"a":1}"#.into());
            custom.apply(&Payload::of(&Event {
                seq,
                at,
                conn: 1,
                replayed: false,
                name: name.into(),
                ns: [].into(),
                id: None,
                data,
            }));
        }
        let rows: Vec<_> = custom
            .rows()
            .iter()
            .map(|row| (row.seq.0, &*row.name))
            .collect();
        assert_eq!(
            rows,
            [
                (1, ""),
                (3, "log"),
                (4, "feedback"),
                (5, "brand_new"),
                (7, "tools")
            ]
        );
    }
}
