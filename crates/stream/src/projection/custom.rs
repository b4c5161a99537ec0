//! Custom events: which events are custom, and the progress that they report.

use runtail_core::json::Peek;

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

/// Returns whether an event of this name comes from a node, or is one that only the list of events shows: `custom`, the newer
/// protocol's `custom:<name>` channels, feedback, and unknown names.
pub fn is_custom(name: &str) -> bool {
    !matches!(
        name,
        "metadata"
            | "values"
            | "updates"
            | "messages"
            | "messages/partial"
            | "messages/complete"
            | "messages/metadata"
            | "tasks"
            | "checkpoints"
            | "debug"
            | "events"
            | "state_update"
            | "lifecycle"
            | "input.requested"
            | "error"
            | "end"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn unknown_events_are_custom() {
        for (name, expected) in [
            ("custom", true),
            ("custom:log", true),
            ("feedback", true),
            ("brand_new", true),
            ("tools", true),
            ("values", false),
            ("error", false),
        ] {
            assert_eq!(is_custom(name), expected, "{name}");
        }
    }
}
