//! The limit of steps (`recursion_limit`) that ended a thread's newest run.

use super::{ThreadRecords, ThreadStatus};
use crate::json;
use serde_json::Value;

/// The number of steps of servers that don't say theirs.
const USUAL_LIMIT: u64 = 25;

/// How a likely cause begins.
pub(super) const LIKELY: &str = "None of its steps failed.";

/// The limit that a run reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepLimit {
    pub steps: u64,
    /// Whether the server doesn't say so, and only the records suggest it: JavaScript's records have no error then.
    pub is_inferred: bool,
}

impl StepLimit {
    /// Returns the limit in words: `1 step`, `25 steps`.
    pub fn in_words(self) -> String {
        if self.steps == 1 {
            "1 step".into()
        } else {
            format!("{} steps", self.steps)
        }
    }

    /// Returns whether an error says that the limit was reached.
    pub fn is_named_by(error: &str) -> bool {
        of_error(error).is_some()
    }

    /// Returns the likely cause in words, for records that have none.
    pub fn likely_cause(self) -> String {
        format!(
            "{LIKELY} It most likely reached its limit of {}",
            self.in_words()
        )
    }

    /// Returns the limit that a failed thread's newest run reached.
    pub fn reached(status: &ThreadStatus, records: ThreadRecords<'_>) -> Option<StepLimit> {
        let error = status.error()?;
        let inferred =
            || StepLimit::inferred(records).filter(|limit| limit.likely_cause() == error);
        of_error(error)
            .map(|steps| StepLimit {
                steps,
                is_inferred: false,
            })
            .or_else(inferred)
    }

    /// Returns the limit that the newest run most likely reached: it failed, no step did, some are left, and it took as many as it
    /// may.
    pub(super) fn inferred(records: ThreadRecords<'_>) -> Option<StepLimit> {
        let (run, state) = (records.runs?.first()?, records.state?);
        let is_its = state.run_id.as_ref().is_none_or(|id| *id == run.run_id);
        let is_between_steps = state.failed().next().is_none()
            && !state.next.is_empty()
            && records.questions().is_empty();
        let kwargs: Value = json::from_str(run.kwargs.as_deref()?).ok()?;
        let steps = kwargs["config"]["recursion_limit"]
            .as_u64()
            .unwrap_or(USUAL_LIMIT);
        let has_taken_all = state
            .step
            .and_then(|step| u64::try_from(step).ok())
            .is_some_and(|step| step >= steps);
        (run.is_failed() && is_its && is_between_steps && has_taken_all).then_some(StepLimit {
            steps,
            is_inferred: true,
        })
    }
}

/// Returns the limit that an error names.
fn of_error(error: &str) -> Option<u64> {
    if !error.contains("GraphRecursionError") && !error.contains("ecursion limit") {
        return None;
    }
    let after = error.split("imit of ").nth(1).unwrap_or_default();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    Some(digits.parse().unwrap_or(USUAL_LIMIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{RunFacts, StateFacts, ThreadFacts};
    use serde_json::json;

    #[test]
    fn recursion_limit_is_read_from_the_error() {
        let python =
            "GraphRecursionError: Recursion limit of 5 reached without hitting a stop condition.";
        assert_eq!(of_error(python), Some(5));
        assert_eq!(
            of_error("Error: Recursion limit of 1000 reached"),
            Some(1000)
        );
        assert_eq!(of_error("GraphRecursionError"), Some(25));
        assert_eq!(of_error("ValueError: the limit of 5 EUR"), None);
    }

    /// The records of the JavaScript server (langgraph-api 1.5.1): a run that reaches its limit leaves no error.
    #[test]
    fn recursion_limit_is_inferred_where_no_step_failed() {
        let thread =
            ThreadFacts::read(&json!({"status": "error", "error": null}).to_string()).unwrap();
        let reached = |limit: Value, step: i64, error: Value| {
            let state = json!({
                "next": ["boom"], "tasks": [{"id": "t", "name": "boom", "error": error, "interrupts": [], "result": null}],
                "metadata": {"run_id": "r", "source": "loop", "step": step}, "checkpoint": {"checkpoint_id": "c"},
            });
            let state = StateFacts::read(&state.to_string()).unwrap();
            let runs = json!([{"run_id": "r", "status": "error", "kwargs": {"config": {"recursion_limit": limit}}}]);
            let runs = RunFacts::read_all(&runs.to_string()).unwrap();
            let records = ThreadRecords {
                thread: Some(&thread),
                state: Some(&state),
                runs: Some(&runs),
            };
            StepLimit::reached(&ThreadStatus::derive(records), records)
        };
        let inferred = |steps| {
            Some(StepLimit {
                steps,
                is_inferred: true,
            })
        };
        let words = inferred(1).map(StepLimit::likely_cause);
        assert_eq!(
            words.as_deref(),
            Some("None of its steps failed. It most likely reached its limit of 1 step")
        );
        assert_eq!(reached(json!(1), 1, Value::Null), inferred(1));
        assert_eq!(reached(Value::Null, 25, Value::Null), inferred(25));
        assert_eq!(reached(json!(30), 1, Value::Null), None, "steps are left");
        assert_eq!(
            reached(json!(1), 1, json!("Error: boom")),
            None,
            "a step failed"
        );
    }
}
