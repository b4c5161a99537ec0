//! What a server's records say of a thread: its own row, its state, its history and its runs, without the values.
//!
//! The values of a thread may have 50 MB, and each entry of its history repeats them, so they are skipped and not built.
//! Fields of another type than expected count as missing: one odd field must not hide the others.

mod field;

use super::{Thread, filled, hides_cause, python_repr, run_revision};
use crate::exact_json::Inexact;
use crate::json::{self, Fields, Peek};
use field::{error, names, questions, some, time};
use jiff::Timestamp;

use serde_json::Value;
use std::borrow::Cow;

/// A thread's own record: the answer of `GET /threads/T`, or a row of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadFacts {
    /// `idle`, `busy`, `interrupted` or `error`; empty where the server sends none.
    pub status: String,
    /// When it was created.
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
    /// Why its last run failed or was stopped. Streams never repeat it, so this is the only source.
    pub error: Option<ThreadError>,
    /// The questions it lists. A hint only: the tasks of the state are the truth on Python (acting reference §1.5).
    pub questions: Vec<Question>,
    /// The ids of the tasks that it lists with their questions, also those without an open one. JavaScript lists every task;
    /// Python, after a run that streamed subgraphs, only the inner task that asked last.
    pub listed_tasks: Vec<String>,
    /// Whether the record has a field for questions at all; Aegra's has none.
    pub lists_questions: bool,
    /// The assistant that ran on it first, from its metadata.
    pub assistant_id: Option<String>,
    /// The graph that ran on it first, from its metadata.
    pub graph_id: Option<String>,
    /// The person it belongs to: `owner` or `user` in its metadata.
    pub owner: Option<String>,
    /// When its state last changed, where the server says so.
    pub state_updated_at: Option<Timestamp>,
    /// The checkpoint at which the server begins every run that names none. JavaScript's server keeps that of the last fork, so
    /// an answer would be given to an old question (seen on langgraph-api 1.5.1).
    pub pinned_checkpoint: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadError {
    /// The error's class: `ValueError`, `UserInterrupt`; empty where the server sends one text.
    pub class: String,
    pub message: String,
}

impl ThreadError {
    /// Returns whether this is no failure but the trace of a cancelled run (acting reference §2).
    pub fn is_cancel(&self) -> bool {
        matches!(self.class.as_str(), "UserInterrupt" | "UserRollback")
    }

    /// Returns `class: message`, or whichever of the two there is.
    pub fn text(&self) -> String {
        match (self.class.is_empty(), self.message.is_empty()) {
            (false, false) => format!("{}: {}", self.class, self.message),
            (false, true) => self.class.clone(),
            _ => self.message.clone(),
        }
    }
}

/// A question that a graph asks with `interrupt()`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// The id by which it is answered.
    pub id: Option<String>,
    /// The payload that the graph gave.
    pub value: Value,
    /// The JSON schema that an answer must fit, if the graph gave one.
    pub response_schema: Option<Value>,
    /// What of the payload is not exactly as it was received, and would change if it were sent back.
    pub inexact: Vec<Inexact>,
    /// The node that asks.
    pub node: Option<String>,
}

/// A thread's state without its values: the answer of `GET /threads/T/state`, or an entry of its history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StateFacts {
    /// The nodes that would run next; a node twice where two tasks of it wait.
    pub next: Vec<String>,
    /// The tasks of the step that is not finished.
    pub tasks: Vec<TaskFacts>,
    /// Questions listed beside the tasks; servers repeat those of the tasks here.
    pub questions: Vec<Question>,
    /// What wrote this checkpoint: `input`, `loop`, `update` or `fork`.
    pub source: String,
    pub step: Option<i64>,
    /// The run that wrote it; none for an edit.
    pub run_id: Option<String>,
    /// The assistant whose run wrote it. Aegra does not say; edits keep none or the one before.
    pub assistant_id: Option<String>,
    /// The graph that wrote it. Aegra does not say.
    pub graph_id: Option<String>,
    /// When it was written.
    pub created_at: Option<Timestamp>,
    /// The checkpoint's id.
    pub checkpoint_id: Option<String>,
    /// The checkpoint before it.
    pub parent_id: Option<String>,
    /// The attempt of the run that wrote it, from 1.
    pub attempt: Option<u64>,
}

/// A task of a step that is not finished.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskFacts {
    pub id: String,
    pub node: String,
    /// Why it failed: `ValueError: …`, as the thread's record has it. Python writes `ValueError('…')` here.
    pub error: Option<String>,
    /// Whether it has written its result.
    pub has_result: bool,
    /// What it asks.
    pub questions: Vec<Question>,
}

impl TaskFacts {
    /// Returns whether it failed by itself, and wasn't merely stopped because a sibling failed.
    pub fn is_failed(&self) -> bool {
        self.error
            .as_deref()
            .is_some_and(|error| !error.starts_with("CancelledError"))
    }
}

/// A run's record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunFacts {
    pub run_id: String,
    /// The assistant that it runs.
    pub assistant_id: String,
    /// `pending`, `running`, `success`, `error`, `timeout` or `interrupted`.
    pub status: String,
    /// When it was requested.
    pub created_at: Option<Timestamp>,
    /// When it last changed: of a run that is over, its end.
    pub updated_at: Option<Timestamp>,
    /// Why it failed; only Aegra writes this on the run.
    pub error: Option<String>,
    /// Whether the server keeps its events, where the record says so.
    pub resumable: Option<bool>,
    /// Nodes before which it stops; `*` for all.
    pub interrupt_before: Vec<String>,
    /// Nodes after which it stops; `*` for all.
    pub interrupt_after: Vec<String>,
    /// What it was started with, as JSON: input, command, config, context, stream modes. None where the record does not say.
    pub kwargs: Option<String>,
    /// Its input, as JSON, where the record has it outside of `kwargs`: Aegra's does.
    pub input: Option<String>,
    /// The number of its current attempt, from 1, where the record says so.
    pub attempt: Option<u64>,
    /// The revision that ran it, where its metadata names one.
    pub revision: Option<String>,
}

impl RunFacts {
    /// Returns whether the server works on it, or will.
    pub fn is_active(&self) -> bool {
        matches!(
            self.status.as_str(),
            "pending" | "running" | "queued" | "streaming"
        )
    }

    /// Returns whether the server works on it now.
    pub fn is_running(&self) -> bool {
        self.is_active() && !matches!(self.status.as_str(), "pending" | "queued")
    }

    /// Returns whether it was started with breakpoints.
    pub fn has_breakpoints(&self) -> bool {
        !(self.interrupt_before.is_empty() && self.interrupt_after.is_empty())
    }

    /// Returns whether it was cancelled. Aegra gives a run that asks a question the same status: look at the questions first.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self.status.as_str(),
            "interrupted" | "cancelled" | "canceled"
        )
    }

    /// Returns whether it ended well.
    pub fn is_success(&self) -> bool {
        matches!(self.status.as_str(), "success" | "completed")
    }

    /// Returns whether it failed or ran out of time.
    pub fn is_failed(&self) -> bool {
        matches!(self.status.as_str(), "error" | "failed" | "timeout")
    }

    /// Returns the user who started it, where the server authenticates users.
    pub fn user(&self) -> Option<String> {
        filled(&self.started_with()["config"]["configurable"]["langgraph_auth_user_id"])
    }

    /// Returns the answers that it was started with, as they were sent: a value, or a map by the questions' ids.
    pub fn resume(&self) -> Option<Value> {
        self.started_with().pointer("/command/resume").cloned()
    }

    /// Returns whether it answered the question with this id, and ended well.
    pub fn has_answered(&self, id: &str) -> bool {
        let answers = || {
            let kwargs = Fields::read(self.kwargs.as_deref()?).ok()?;
            Some(kwargs.inner("command").inner("resume"))
        };
        self.status == "success"
            && answers().is_some_and(|answers| answers.0.iter().any(|(known, _)| known == id))
    }
}

impl ThreadFacts {
    /// Returns whether its own record doesn't say why its newest run failed.
    pub fn hides_cause(&self) -> bool {
        self.error
            .as_ref()
            .is_none_or(|error| hides_cause(&error.text()))
    }

    /// What a thread of a list says.
    pub fn of(thread: &Thread) -> ThreadFacts {
        let row = serde_json::json!({
            "status": thread.status,
            "created_at": thread.created_at,
            "updated_at": thread.updated_at,
            "metadata": thread.metadata,
            "error": thread.error,
            "interrupts": thread.interrupts,
        });
        ThreadFacts::read(&row.to_string()).unwrap_or_default()
    }

    /// Reads a thread's record.
    ///
    /// # Errors
    /// The text is no JSON object.
    pub fn read(json: &str) -> Result<ThreadFacts, serde_json::Error> {
        let row = Fields::read(json)?;
        let metadata = row.inner("metadata");
        let pinned = row.inner("config").inner("configurable");
        // In the server's order, which is that of the tasks in the state.
        let by_task = row.inner("interrupts").0;
        Ok(ThreadFacts {
            status: row.text("status").unwrap_or_default(),
            created_at: time(&row, "created_at"),
            updated_at: time(&row, "updated_at"),
            error: error(&row),
            questions: by_task
                .iter()
                .flat_map(|(_, asked)| questions(*asked))
                .collect(),
            listed_tasks: by_task
                .into_iter()
                .map(|(task, _)| task.into_owned())
                .collect(),
            lists_questions: row.get("interrupts").is_some(),
            assistant_id: some(&metadata, "assistant_id"),
            graph_id: some(&metadata, "graph_id"),
            owner: some(&metadata, "owner").or_else(|| some(&metadata, "user")),
            state_updated_at: time(&row, "state_updated_at"),
            pinned_checkpoint: some(&pinned, "checkpoint_id"),
        })
    }
}

impl StateFacts {
    /// Reads a state, or one entry of a history.
    ///
    /// # Errors
    /// The text is no JSON object.
    pub fn read(json: &str) -> Result<StateFacts, serde_json::Error> {
        Fields::read(json).map(|row| StateFacts::of(&row))
    }

    /// Reads a state that was parsed.
    pub fn of(row: &Fields<'_>) -> StateFacts {
        let written = row.inner("metadata");
        let id = |place: &str| row.inner(place).text("checkpoint_id");
        let next = row.items("next").filter_map(Peek::string);
        let tasks = row.items("tasks").filter_map(Peek::object);
        StateFacts {
            next: next.map(Cow::into_owned).collect(),
            tasks: tasks.map(|task| TaskFacts::of(&task)).collect(),
            questions: row.get("interrupts").map(questions).unwrap_or_default(),
            source: written.text("source").unwrap_or_default(),
            step: written.read_as("step"),
            run_id: written.text("run_id"),
            assistant_id: some(&written, "assistant_id"),
            graph_id: some(&written, "graph_id"),
            created_at: time(row, "created_at"),
            checkpoint_id: id("checkpoint").or_else(|| row.text("checkpoint_id")),
            parent_id: id("parent_checkpoint"),
            attempt: written.read_as("run_attempt"),
        }
    }

    /// Reads a history, newest first. Entries that are no objects are skipped.
    ///
    /// # Errors
    /// The text is no JSON list.
    pub fn read_all(json: &str) -> Result<Vec<StateFacts>, serde_json::Error> {
        let rows: Vec<Peek<'_>> = json::from_str(json)?;
        let rows = rows.into_iter().filter_map(Peek::object);
        Ok(rows.map(|row| StateFacts::of(&row)).collect())
    }

    /// Returns whether the checkpoint exists. Servers answer for an unknown id as for an empty state (acting reference §1.9).
    pub fn is_saved(&self) -> bool {
        self.created_at.is_some() || !self.source.is_empty()
    }

    /// Returns whether anything was ever written.
    pub fn is_empty(&self) -> bool {
        self.checkpoint_id.is_none() && self.created_at.is_none()
    }

    /// Returns the questions of tasks that have no result yet, each with its node. On Python these are the pending ones;
    /// JavaScript keeps an answered one here too (acting reference §1.5).
    pub fn pending(&self) -> Vec<Question> {
        let mut all: Vec<Question> = Vec::new();
        let of_tasks = self
            .tasks
            .iter()
            .filter(|task| !task.has_result)
            .flat_map(|task| {
                task.questions.iter().map(|asked| Question {
                    node: Some(task.node.clone()),
                    ..asked.clone()
                })
            });
        for asked in of_tasks.chain(
            self.questions
                .iter()
                .filter(|_| self.tasks.is_empty())
                .cloned(),
        ) {
            // Parallel tools of one node had equal ids in older versions: the value distinguishes them.
            if !all
                .iter()
                .any(|known| known.id == asked.id && known.value == asked.value)
            {
                all.push(asked);
            }
        }
        all
    }

    /// Returns the failed tasks.
    pub fn failed(&self) -> impl Iterator<Item = &TaskFacts> {
        self.tasks.iter().filter(|task| task.is_failed())
    }
}

impl TaskFacts {
    fn of(task: &Fields<'_>) -> TaskFacts {
        let error = error(task).map(|error| python_repr::message(&error.text()));
        TaskFacts {
            id: task.text("id").unwrap_or_default(),
            node: task.text("name").unwrap_or_default(),
            error,
            has_result: task.get("result").is_some(),
            questions: task.get("interrupts").map(questions).unwrap_or_default(),
        }
    }
}

/// Returns the revision that the config and the metadata of a run name. Few do, so most are not parsed.
fn revision_in(places: [Option<Peek<'_>>; 2]) -> Option<String> {
    let names_one = |json: &str| {
        ["revision", "REVISION", "ref_sha", "REF_SHA"]
            .iter()
            .any(|key| json.contains(key))
    };
    let [config, metadata] = places.map(|raw| {
        let json = raw.map(Peek::text).filter(|json| names_one(json));
        json.and_then(|json| json::from_str(json).ok())
            .unwrap_or_default()
    });
    run_revision::named(&config, &metadata).map(|(_, name)| name)
}

impl RunFacts {
    /// Reads a run's record.
    ///
    /// # Errors
    /// The text is no JSON object.
    pub fn read(json: &str) -> Result<RunFacts, serde_json::Error> {
        Fields::read(json).map(|row| RunFacts::of(&row))
    }

    fn of(row: &Fields<'_>) -> RunFacts {
        let (kwargs, metadata) = (row.inner("kwargs"), row.inner("metadata"));
        let json = |name: &str| row.get(name).map(|value| value.text().to_string());
        let attempt = |metadata: &Fields<'_>| metadata.read_as("run_attempt");
        RunFacts {
            run_id: row.text("run_id").unwrap_or_default(),
            assistant_id: row.text("assistant_id").unwrap_or_default(),
            status: row.text("status").unwrap_or_default(),
            created_at: time(row, "created_at"),
            updated_at: time(row, "updated_at"),
            error: some(row, "error_message"),
            resumable: kwargs
                .read_as("resumable")
                .or_else(|| kwargs.read_as("stream_resumable")),
            interrupt_before: names(&kwargs, "interrupt_before"),
            interrupt_after: names(&kwargs, "interrupt_after"),
            kwargs: json("kwargs"),
            input: json("input"),
            attempt: attempt(&metadata)
                .or_else(|| attempt(&kwargs.inner("config").inner("metadata"))),
            revision: revision_in([kwargs.get("config"), row.get("metadata")]),
        }
    }

    /// Reads a list of runs and sorts it newest first: JavaScript lists the oldest first. Rows that are no objects are
    /// skipped.
    ///
    /// # Errors
    /// The text is no JSON list.
    pub fn read_all(json: &str) -> Result<Vec<RunFacts>, serde_json::Error> {
        let rows: Vec<Peek<'_>> = json::from_str(json)?;
        let rows = rows.into_iter().filter_map(Peek::object);
        let mut runs: Vec<RunFacts> = rows.map(|row| RunFacts::of(&row)).collect();
        // Ids are UUIDv7, so they order runs of one instant.
        runs.sort_by(|a, b| (b.created_at, &b.run_id).cmp(&(a.created_at, &a.run_id)));
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn listed_questions_keep_the_servers_order() {
        let row = r#"{"interrupts": {"e4": [{"id": "1", "value": "first"}], "b2": [{"id": "2", "value": "second"}]}}"#;
        let asked = ThreadFacts::read(row).unwrap().questions;
        let values: Vec<&str> = asked
            .iter()
            .filter_map(|question| question.value.as_str())
            .collect();
        assert_eq!(values, ["first", "second"]);
    }

    #[test]
    fn malformed_fields_count_as_missing() {
        let thread = ThreadFacts::read(
            r#"{"status":7,"updated_at":"yesterday","error":"boom","interrupts":[1],"metadata":3}"#,
        );
        let thread = thread.unwrap();
        assert_eq!(
            (
                thread.status.as_str(),
                thread.updated_at,
                thread.questions.len()
            ),
            ("", None, 0)
        );
        assert_eq!(thread.error.unwrap().text(), "boom");
        let state = StateFacts::read(
            r#"{"next":"x","tasks":[1,{"name":"a"},null],"metadata":null,"checkpoint":null}"#,
        );
        let state = state.unwrap();
        assert_eq!(
            (state.next.len(), state.tasks.len(), state.is_empty()),
            (0, 1, true)
        );
        assert!(ThreadFacts::read("[]").is_err() && RunFacts::read_all("{}").is_err());
    }

    #[test]
    fn errors_of_every_server_have_a_class_and_a_message() {
        let error = |error: serde_json::Value| {
            let thread = ThreadFacts::read(&json!({"error": error}).to_string()).unwrap();
            thread.error.unwrap().text()
        };
        assert_eq!(
            error(json!({"error": "ValueError", "message": "boom"})),
            "ValueError: boom"
        );
        assert_eq!(
            error(json!(r#"{"message":"boom: détails","name":"Error"}"#)),
            "Error: boom: détails"
        );
        assert_eq!(error(json!("boom")), "boom");
        assert_eq!(error(json!(r#"{"odd":1}"#)), r#"{"odd":1}"#);
        assert_eq!(error(json!({"odd": [1]})), r#"{"odd":[1]}"#);
    }

    #[test]
    fn runs_are_sorted_newest_first() {
        let rows = json!([
            {"run_id": "a", "created_at": "2026-11-22T03:01:49.108Z", "status": "success"},
            7,
            {"run_id": "c", "created_at": "2026-11-22T03:02:49.108Z", "status": "running",
             "kwargs": {"resumable": true, "interrupt_before": ["x"], "interrupt_after": "*", "input": {"n": 1}}},
            {"run_id": "b", "created_at": "2026-11-22T03:01:49.108Z", "status": "pending"},
        ]);
        let runs = RunFacts::read_all(&rows.to_string()).unwrap();
        assert_eq!(
            runs.iter()
                .map(|run| run.run_id.as_str())
                .collect::<Vec<_>>(),
            ["c", "b", "a"]
        );
        assert_eq!(
            (runs[0].resumable, runs[0].interrupt_before[0].as_str()),
            (Some(true), "x")
        );
        assert_eq!(runs[0].interrupt_after, ["*"]);
        assert!(
            runs[0]
                .kwargs
                .as_deref()
                .is_some_and(|kwargs| kwargs.contains(r#""input":{"n":1}"#))
        );
        assert!(
            runs[0].is_running()
                && runs[1].is_active()
                && !runs[1].is_running()
                && !runs[2].is_active()
        );
    }
}
