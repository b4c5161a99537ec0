//! The limit of steps (`recursion_limit`) that ended a thread's newest run.

use super::{RunFacts, StateFacts, ThreadRecords, ThreadStatus, cause};

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
        crate::text::counted(self.steps, "step")
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
        let steps = run.recursion_limit().unwrap_or(USUAL_LIMIT);
        let has_taken_all = state
            .step
            .and_then(|step| u64::try_from(step).ok())
            .is_some_and(|step| step >= steps);
        (run.kwargs.is_some() && run.is_failed() && is_its && is_between_steps && has_taken_all)
            .then_some(StepLimit {
                steps,
                is_inferred: true,
            })
    }
}

impl RunFacts {
    /// Returns the limit of steps that it was started with.
    fn recursion_limit(&self) -> Option<u64> {
        self.started_with()["config"]["recursion_limit"].as_u64()
    }

    /// Returns why it failed, by its record and by what it wrote into a history, newest first.
    pub fn cause_in<'a>(
        &self,
        history: impl IntoIterator<Item = &'a StateFacts>,
    ) -> Option<String> {
        // An edit repeats the id of the run before it.
        let its = |state: &&StateFacts| {
            state.run_id.as_ref() == Some(&self.run_id) && state.source != "update"
        };
        let mut states = history.into_iter().filter(its);
        let last = states.next();
        let tasks = last
            .into_iter()
            .flat_map(StateFacts::failed)
            .filter_map(|task| task.error.clone());
        let known = cause(self.error.clone().into_iter().chain(tasks));
        known.or_else(|| self.limit_error(states.last()?.step?, last?.step?))
    }

    /// Returns the server's error if it stopped the run at its limit: with all its steps taken and none failed, that is the only
    /// error left. No record has it once a later run succeeded. A limit that the run wasn't started with differs by version.
    fn limit_error(&self, first: i64, last: i64) -> Option<String> {
        // The first checkpoint is that of the input, or of a step that is free for a run without one.
        let taken = last
            .checked_sub(first)?
            .checked_sub(1)
            .and_then(|taken| u64::try_from(taken).ok());
        let taken = taken.filter(|_| matches!(&*self.status, "error" | "failed"))?;
        (self.recursion_limit()? == taken).then(|| {
            format!("GraphRecursionError: Recursion limit of {taken} reached without hitting a stop condition.")
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
    use crate::model::ThreadFacts;
    use serde_json::{Value, json};

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

    /// The checkpoints of Python (langgraph 1.2.24) and JavaScript (1.4.18): a run without an input takes one more step, and the
    /// last step may leave nothing to run.
    #[test]
    fn only_a_run_that_took_all_its_steps_reached_its_limit() {
        let cause = |limit: Value, status: &str, steps: &[i64], error: Value| {
            let state = |(at, step): (usize, &i64)| {
                let tasks = json!([{"id": "t", "name": "boom", "error": if at == 0 { &error } else { &Value::Null }}]);
                json!({"next": [], "tasks": tasks, "metadata": {"run_id": "r", "source": "loop", "step": step}})
            };
            let mut states: Vec<Value> = steps.iter().enumerate().map(state).collect();
            let other = |source: &str, run: &str| json!({"metadata": {"run_id": run, "source": source, "step": 9}});
            states.splice(0..0, [other("loop", "later"), other("update", "r")]);
            let run = json!({"run_id": "r", "status": status, "kwargs": {"config": {"recursion_limit": limit}}});
            RunFacts::read(&run.to_string())
                .unwrap()
                .cause_in(&StateFacts::read_all(&json!(states).to_string()).unwrap())
        };
        let limit_of_2 =
            "GraphRecursionError: Recursion limit of 2 reached without hitting a stop condition.";
        assert_eq!(
            cause(json!(2), "error", &[2, 1, 0, -1], Value::Null).as_deref(),
            Some(limit_of_2)
        );
        assert_eq!(
            cause(json!(2), "error", &[8, 7, 6, 5], Value::Null).as_deref(),
            Some(limit_of_2)
        );
        assert!(StepLimit::is_named_by(limit_of_2));
        assert_eq!(
            cause(json!(2), "error", &[2, 1, 0, -1], json!("Error: boom")).as_deref(),
            Some("Error: boom")
        );
        for (limit, status, steps) in [
            (json!(3), "error", &[2, 1, 0, -1][..]),
            (json!(1), "error", &[2, 1, 0, -1]),
            (Value::Null, "error", &[2, 1, 0, -1]),
            (json!(2), "timeout", &[2, 1, 0, -1]),
            (json!(2), "success", &[2, 1, 0, -1]),
            // Only the newest checkpoints are known, or none.
            (json!(2), "error", &[2, 1]),
            (json!(2), "error", &[]),
        ] {
            assert_eq!(
                cause(limit.clone(), status, steps, Value::Null),
                None,
                "{limit} {status} {steps:?}"
            );
        }
    }
}
