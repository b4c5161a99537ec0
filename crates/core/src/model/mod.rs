//! The objects of both services. Every type keeps unknown fields in `extra`, accepts nulls and missing fields, and shows
//! status words exactly as received.

mod answer;
mod approval;
mod assistant;
mod auth;
mod branch;
mod cause;
mod checkpoints;
mod compare;
mod configuration;
mod curl;
mod deployment;
mod failure;
mod first_error;
mod form;
mod form_list;
mod inbox;
mod intent;
mod log;
pub(crate) mod patterns;
mod plan;
mod python_repr;
mod question;
mod rejected;
mod rerun;
mod reserved;
mod revision;
mod role;
mod run;
mod run_options;
mod run_revision;
mod schema;
mod spec;
mod step_limit;
mod stuck;
mod supersteps;
mod thread;
mod thread_facts;
mod thread_search;
mod thread_status;

pub use crate::catalog::{Collection, GithubApp, Service, ServiceChange};
pub use crate::secret::{MASK, Secrets, mask_record, mask_secrets, secret_texts};
pub use answer::{
    AnswerPart, AnswerRule, Decision, GivenAnswer, MIXED_DECISIONS, Problem, Reply, Resume,
    RuleDecision, RulePlace, Ruled, RuledAction, is_id_map, resume,
};
pub use approval::{Action, ApprovalFormat, DecisionKind};
pub use assistant::Assistant;
pub use auth::{AuthAnswer, AuthAuthenticateRequest, AuthStatus};
pub use branch::{Branch, BranchStep, BranchStepKind, RepeatedCalls, counted};
pub use cause::{cause, hides_cause};
pub use checkpoints::{
    Checkpoint, CheckpointTask, CheckpointTree, CheckpointWrite, GraphCell, GraphRow, Parent,
    Split, StateProblem, StepOutcome, change_summary, changed_values, state_document,
};
pub use compare::{Change, compare, without_natural};
pub use configuration::{Configuration, KeyRelation, KeyRow, KeyTable, KeyValue};
pub use curl::{KEY_PLACE, PlainRequest, TOKEN_PLACE};
pub use deployment::{Deployment, DeploymentState, NO_URL, SourceConfig, SourceRevisionConfig};
pub use failure::{
    CardLine, CardLog, Evidence, FailureCard, LastGood, LogEnd, LogEvidence, LogStep, NextStep,
    Part, ServesInstead, StatusTime, StepKind, Times,
};
pub use first_error::{FirstError, LogText, first_error};
pub use form::{Field as FormField, FieldKind, Form};
pub use inbox::{
    FailedRevision, InboxCause, InboxGroup, InboxItem, InboxRow, InboxThread, answer_command,
    compare_inbox, shell_option, shell_word, sort_inbox, stopped_in_words,
};
pub use intent::Intent;
pub use log::{LogLine, Severity};
pub use plan::{Consent, FROM_FIRST, NewRevision, Note, Preview, Target};
pub use question::{Dialect, summary_of};
pub use rejected::rejected_fields;
pub use rerun::Rerun;
pub use revision::{Phase, Revision, time_taken};
pub use role::{RevisionRole, Roles};
pub use run::{Run, RunCreate, USUAL_MODES};
pub use run_options::{Conflict, Durability, OptionProblem, RunOption, RunOptions, graph_nodes};
pub use run_revision::{KnownRevisions, RevisionAge, RunRevision};
pub use schema::{Violation, violations};
pub use spec::{DeploymentSpec, Fetched, Installation, SPEC_FIELDS, SpecForm};
pub use step_limit::StepLimit;
pub use stuck::{Activity, SilenceSource, StuckSign, stuck_signs};
pub use supersteps::{
    GraphShape, HistoryState, StepWrite, Supersteps, Unrepeatable, branch_of, plain_message,
    same_message,
};
pub use thread::Thread;
pub use thread_facts::{Question, RunFacts, StateFacts, TaskFacts, ThreadError, ThreadFacts};
pub use thread_search::{
    Condition, NAME_KEY, STAR_KEY, SearchError, SearchRow, ServerFilter, THREAD_STATUSES, Term,
    ThreadSearch, ThreadSort, contains, title_of,
};
pub use thread_status::{Again, RejectedAnswer, StatusRole, ThreadRecords, ThreadStatus};

pub use crate::config::Format;

use serde::{Deserialize, Deserializer};

/// Unknown fields of an object, in the server's order.
pub type Extra = serde_json::Map<String, serde_json::Value>;

/// Reads `null`, and anything of another type, as the type's default: the services send null where a field is merely
/// empty, and a field that changed its type on one installation must not lose the row that carries it.
pub fn lenient<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + serde::de::DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

/// Parses a timestamp; an invalid one is nothing, so that it doesn't lose the row.
pub fn lenient_time<'de, D>(deserializer: D) -> Result<Option<jiff::Timestamp>, D::Error>
where
    D: Deserializer<'de>,
{
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    Ok(value.as_ref().and_then(|v| v.as_str()).and_then(parse_time))
}

/// Parses RFC 3339, and the services' zone-less form (which is UTC).
pub fn parse_time(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok().or_else(|| {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })
}

/// Returns a text that isn't empty.
pub(crate) fn filled(value: &serde_json::Value) -> Option<String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_string)
}

/// Returns the time in a field of a record.
pub(crate) fn time_in(record: &serde_json::Value, field: &str) -> Option<jiff::Timestamp> {
    parse_time(record[field].as_str()?)
}

/// Returns whether a value is null, or an empty list or object.
pub(crate) fn is_blank(value: &serde_json::Value) -> bool {
    let is_empty = value.as_array().map(Vec::is_empty);
    let is_empty = is_empty.or_else(|| value.as_object().map(serde_json::Map::is_empty));
    is_empty.unwrap_or(value.is_null())
}
