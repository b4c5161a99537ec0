//! Error responses in the words of each server.

use super::{Agent, json_response, text_response as text};
use crate::Dialect;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

/// An error response, boxed because it is rare and large.
pub type Refusal = Box<Response>;

/// Why a request is refused.
#[derive(Debug, Clone)]
pub enum Problem {
    /// The route does not exist.
    NoRoute,
    /// The route exists for another method only.
    NoMethod,
    /// The body is not JSON.
    BadJson,
    /// A thread's id is not a UUID.
    BadThreadId {
        id: String,
        /// Whether a run was to be started on it.
        running: bool,
    },
    /// A run's id is not a UUID.
    BadRunId(String),
    /// A checkpoint's id is not a UUID; only the JavaScript server checks it.
    BadCheckpointId,
    /// The thread does not exist.
    NoThread(String),
    /// A run was to be started on a thread that does not exist.
    NoThreadToRun,
    /// A thread with this id exists.
    ThreadExists(String),
    /// A thread without runs has no graph.
    NoGraph(String),
    /// A checkpoint was requested on a thread without runs.
    NoState(String),
    /// Aegra's history fails at `before`.
    NoBefore,
    /// The node does not exist.
    NoNode(String),
    /// The run does not exist.
    NoRun(String),
    /// The run to delete does not exist.
    NoRunToDelete(String),
    /// The run to cancel does not exist.
    NothingToCancel(String),
    /// The run to cancel has ended.
    CancelTooLate,
    /// Aegra deletes an active run only by force.
    RunIsActive,
    /// The body names no assistant.
    NoAssistantNamed(Value),
    /// No graph has this name.
    UnknownName {
        name: String,
        /// The graphs that exist.
        graphs: Vec<&'static str>,
    },
    /// No assistant has this id.
    UnknownAssistant(String),
    /// Assistants are read by id only.
    NotAnAssistantId(String),
    /// A run is active, and the new one must not wait.
    Busy,
    /// A state cannot be edited while runs are active; their rows, as Python writes them.
    EditWhileBusy { thread: String, runs: String },
    /// The thread has no open question.
    NothingToResume,
    /// Neither input nor command was sent.
    NoInput(Value),
    /// A number in a query is invalid; only the JavaScript server words it like this.
    NotANumber(&'static str),
    /// A number is out of range.
    Range {
        field: &'static str,
        value: i64,
        /// The bound that it exceeds.
        bound: i64,
        /// Whether the bound is the greatest value; else it is the least.
        greatest: bool,
    },
    /// A value is not in a list.
    NotOneOf {
        field: &'static str,
        value: Value,
        /// The list.
        allowed: &'static [&'static str],
        /// Its location in the schema.
        place: String,
    },
    /// A stream mode that does not exist.
    BadMode(Value),
    /// Any other violation of a schema.
    Schema {
        /// What is wrong.
        says: String,
        /// The rule of JSON Schema.
        rule: &'static str,
        /// Its location in the schema.
        place: String,
        /// The field; empty for the whole body.
        at: &'static str,
        value: Value,
    },
    /// An error that only the Python server has.
    Python(StatusCode, String),
}

impl Agent {
    /// Returns the refusal in the words of this server.
    pub fn refuse(&self, problem: Problem) -> Refusal {
        Box::new(match self.dialect {
            Dialect::Python | Dialect::Contract => python(problem),
            Dialect::JavaScript => javascript(problem),
            Dialect::Aegra => aegra(problem),
        })
    }
}

/// An error in the format of the Python server and the control plane.
pub fn detail(status: StatusCode, text: &str) -> Response {
    json_response(status, &json!({"detail": text}))
}

const BUSY: &str = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.";

fn python(problem: Problem) -> Response {
    use StatusCode as S;
    let (status, text) = match problem {
        Problem::Python(S::INTERNAL_SERVER_ERROR, said) => {
            return text(S::INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", &said);
        }
        Problem::NoRoute => (S::NOT_FOUND, "Not Found".into()),
        Problem::NoMethod => (S::METHOD_NOT_ALLOWED, "Method Not Allowed".into()),
        Problem::BadJson => (S::UNPROCESSABLE_ENTITY, "Invalid JSON in request body".into()),
        Problem::BadThreadId { running: true, .. } => (S::BAD_REQUEST, "badly formed hexadecimal UUID string".into()),
        Problem::BadThreadId { .. } => (S::UNPROCESSABLE_ENTITY, "Invalid thread ID: must be a UUID".into()),
        Problem::BadRunId(_) => (S::UNPROCESSABLE_ENTITY, "Invalid run ID: must be a UUID".into()),
        Problem::NoThread(id) => (S::NOT_FOUND, format!("Thread with ID {id} not found")),
        Problem::NoThreadToRun | Problem::UnknownAssistant(_) => {
            (S::NOT_FOUND, "Thread or assistant not found.".into())
        }
        Problem::ThreadExists(id) => (S::CONFLICT, format!("Thread with ID {id} already exists")),
        Problem::NoGraph(id) => (
            S::BAD_REQUEST,
            format!(
                "Thread '{id}' has no assigned graph ID. This usually occurs when no runs have been made on this \
                 particular thread. This operation requires a graph ID. Please ensure a run has been made for the \
                 thread or manually update the thread metadata (by setting the 'graph_id' field) before running this \
                 operation."
            ),
        ),
        Problem::NoState(_) => (S::NOT_FOUND, "Not Found".into()),
        Problem::NoNode(node) => (S::BAD_REQUEST, format!("Node {node} does not exist")),
        Problem::NoRun(_) => (S::NOT_FOUND, "Not Found".into()),
        Problem::NoRunToDelete(_) => (S::NOT_FOUND, "Run not found".into()),
        Problem::NothingToCancel(_) => (S::NOT_FOUND, "No runs found to cancel.".into()),
        Problem::CancelTooLate => (
            S::NOT_FOUND,
            "No matching runs to cancel. Please verify the thread ID and run IDs are correct, and the runs haven't \
             been deleted or completed."
                .into(),
        ),
        Problem::UnknownName { name, graphs } => (
            S::UNPROCESSABLE_ENTITY,
            format!(
                "Invalid assistant: '{name}'. Must be either:\n- A valid assistant UUID, or\n- One of the registered \
                 graphs: {}",
                graphs.join(", ")
            ),
        ),
        Problem::NotAnAssistantId(_) => (S::UNPROCESSABLE_ENTITY, "Invalid assistant ID: must be a UUID".into()),
        Problem::Busy => (S::CONFLICT, BUSY.into()),
        Problem::EditWhileBusy { thread, runs } => (S::CONFLICT, format!("Thread {thread} has in-flight runs: {runs}")),
        Problem::Python(status, text) => (status, text),
        Problem::BadCheckpointId
        | Problem::RunIsActive
        | Problem::NothingToResume
        | Problem::NoInput(_)
        | Problem::NoBefore => (S::BAD_REQUEST, "Bad Request".into()),
        other => (S::UNPROCESSABLE_ENTITY, violation(other)),
    };
    detail(status, &text)
}

/// A schema violation in the words of the Python server's validator.
fn violation(problem: Problem) -> String {
    let say = |says: &str, rule: &str, place: &str, at: &str, value: &Value| {
        let at = if at.is_empty() {
            String::new()
        } else {
            format!("[\"{at}\"]")
        };
        format!(
            "{says}\n\nFailed validating \"{rule}\" in schema{place}\n\nOn instance{at}:\n    {value}"
        )
    };
    match problem {
        Problem::NoAssistantNamed(body) => say(
            "\"assistant_id\" is a required property",
            "required",
            &run_schema(""),
            "",
            &body,
        ),
        Problem::Range {
            field,
            value,
            bound,
            greatest,
        } => {
            let (than, rule) = if greatest {
                ("greater than the maximum", "maximum")
            } else {
                ("less than the minimum", "minimum")
            };
            let place = format!("[\"properties\"][\"{field}\"]");
            say(
                &format!("{value} is {than} of {bound}"),
                rule,
                &place,
                field,
                &json!(value),
            )
        }
        Problem::NotOneOf {
            field,
            value,
            allowed,
            place,
        } => {
            let says = match allowed {
                [first, second, rest @ ..] if rest.len() > 1 => {
                    format!(
                        "{value} is not one of \"{first}\", \"{second}\" or {} other candidates",
                        rest.len()
                    )
                }
                [first, second, third] => {
                    format!("{value} is not one of \"{first}\", \"{second}\" or \"{third}\"")
                }
                [first, second] => format!("{value} is not one of \"{first}\" or \"{second}\""),
                _ => format!("{value} is not one of the allowed values"),
            };
            say(&says, "enum", &place, field, &value)
        }
        Problem::BadMode(value) => {
            let says = format!(
                "{value} is not valid under any of the schemas listed in the 'anyOf' keyword"
            );
            say(
                &says,
                "anyOf",
                &run_schema("stream_mode"),
                "stream_mode",
                &value,
            )
        }
        Problem::Schema {
            says,
            rule,
            place,
            at,
            value,
        } => say(&says, rule, &place, at, &value),
        other => format!("{other:?}"),
    }
}

/// The location of a new run's field in the Python server's schema; empty for the whole body.
pub fn run_schema(field: &str) -> String {
    let body = "[\"components\"][\"schemas\"][\"RunCreateStateful\"]";
    if field.is_empty() {
        body.to_owned()
    } else {
        format!("{body}[\"properties\"][\"{field}\"]")
    }
}

fn zod(issue: Value) -> Response {
    json_response(
        StatusCode::BAD_REQUEST,
        &json!({"success": false, "error": {"issues": [issue], "name": "ZodError"}}),
    )
}

fn javascript(problem: Problem) -> Response {
    use StatusCode as S;
    let uuid = |field: &str| {
        zod(
            json!({"validation": "uuid", "code": "invalid_string", "message": "Invalid uuid", "path": [field]}),
        )
    };
    let (status, said) = match problem {
        // The router's own responses have a space in their content type.
        Problem::NoRoute | Problem::NoMethod => {
            return text(S::NOT_FOUND, "text/plain; charset=UTF-8", "404 Not Found");
        }
        Problem::BadThreadId { .. } => return uuid("thread_id"),
        Problem::BadRunId(_) => return uuid("run_id"),
        Problem::BadCheckpointId => return uuid("checkpoint_id"),
        Problem::NoAssistantNamed(_) => {
            let issue = |expected: &str| {
                json!({"code": "invalid_type", "expected": expected, "received": "undefined", "path": ["assistant_id"],
                    "message": "Required"})
            };
            let union = json!({"issues": [issue("string")], "name": "ZodError"});
            let unions = [union.clone(), union];
            return zod(
                json!({"code": "invalid_union", "unionErrors": unions, "path": ["assistant_id"],
                "message": "Invalid input"}),
            );
        }
        Problem::Range {
            field,
            value,
            bound,
            greatest,
        } => {
            return zod(too_far(field, value, bound, greatest));
        }
        Problem::NotOneOf {
            field,
            value,
            allowed,
            ..
        } => return zod(not_one_of(field, &value, allowed)),
        Problem::BadMode(value) => {
            let modes = &[
                "values",
                "messages",
                "messages-tuple",
                "updates",
                "events",
                "tasks",
                "checkpoints",
                "debug",
                "custom",
                "tools",
            ];
            let array = json!({"code": "invalid_type", "expected": "array", "received": "string",
                "path": ["stream_mode"], "message": "Expected array, received string"});
            let unions = [array, not_one_of("stream_mode", &value, modes)]
                .map(|issue| json!({"issues": [issue], "name": "ZodError"}));
            return zod(
                json!({"code": "invalid_union", "unionErrors": unions, "path": ["stream_mode"],
                "message": "Invalid input"}),
            );
        }
        Problem::Schema { says, at, .. } => {
            return zod(json!({"code": "invalid_type", "path": [at], "message": says}));
        }
        Problem::NotANumber(field) => {
            return zod(
                json!({"code": "invalid_type", "expected": "number", "received": "nan", "path": [field],
                "message": "Expected number, received nan"}),
            );
        }
        Problem::BadJson => (S::BAD_REQUEST, "Malformed JSON in request body".into()),
        Problem::NoThread(id) => (S::NOT_FOUND, format!("Thread with ID {id} not found")),
        Problem::Busy | Problem::NoThreadToRun => (S::UNPROCESSABLE_ENTITY, BUSY.into()),
        Problem::ThreadExists(_) => (S::CONFLICT, "Thread already exists".into()),
        Problem::NoGraph(id) => (S::BAD_REQUEST, format!("Thread {id} has no graph ID")),
        Problem::NoNode(_) => {
            return text(
                S::INTERNAL_SERVER_ERROR,
                "text/plain; charset=UTF-8",
                "Internal Server Error",
            );
        }
        Problem::NoState(_) => (S::NOT_FOUND, "Thread not found".into()),
        Problem::NoRun(_) | Problem::NoRunToDelete(_) | Problem::NothingToCancel(_) => {
            (S::NOT_FOUND, "Run not found".into())
        }
        Problem::UnknownName { name, .. } | Problem::UnknownAssistant(name) => (
            S::NOT_FOUND,
            format!(
                "No assistant found for \"{name}\". Make sure the assistant ID is for a valid assistant or a valid \
                 graph ID."
            ),
        ),
        Problem::NotAnAssistantId(_) => (S::NOT_FOUND, "Assistant not found".into()),
        Problem::EditWhileBusy { .. } => (S::CONFLICT, "Thread is busy".into()),
        Problem::Python(status, text) => (status, text),
        Problem::CancelTooLate
        | Problem::RunIsActive
        | Problem::NothingToResume
        | Problem::NoInput(_)
        | Problem::NoBefore => (S::BAD_REQUEST, "Bad Request".into()),
    };
    text(status, "text/plain;charset=UTF-8", &said)
}

fn too_far(field: &str, value: i64, bound: i64, greatest: bool) -> Value {
    let limit = if greatest { "maximum" } else { "minimum" };
    let mut issue = json!({
        "code": if greatest { "too_big" } else { "too_small" }, "type": "number", "inclusive": true, "exact": false,
        "message": format!("Number must be {} than or equal to {bound}", if greatest { "less" } else { "greater" }),
        "path": [field],
    });
    issue[limit] = json!(bound);
    let _ = value;
    issue
}

fn not_one_of(field: &str, value: &Value, allowed: &[&str]) -> Value {
    let quoted: Vec<String> = allowed.iter().map(|word| format!("'{word}'")).collect();
    let shown = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let message = format!(
        "Invalid enum value. Expected {}, received '{shown}'",
        quoted.join(" | ")
    );
    json!({"received": value, "code": "invalid_enum_value", "options": allowed, "path": [field], "message": message})
}

fn aegra(problem: Problem) -> Response {
    use StatusCode as S;
    let body = |issue: Value| json_response(S::UNPROCESSABLE_ENTITY, &json!({"detail": [issue]}));
    let (status, code, message) = match problem {
        Problem::NoRoute => return detail(S::NOT_FOUND, "Not Found"),
        Problem::NoMethod => return detail(S::METHOD_NOT_ALLOWED, "Method Not Allowed"),
        Problem::BadJson => {
            return body(
                json!({"type": "json_invalid", "loc": ["body", 0], "msg": "JSON decode error", "input": {},
                "ctx": {"error": "Expecting value"}}),
            );
        }
        Problem::NoAssistantNamed(input) => {
            return body(
                json!({"type": "missing", "loc": ["body", "assistant_id"], "msg": "Field required",
                "input": input}),
            );
        }
        Problem::NoInput(input) => {
            return body(json!({"type": "value_error", "loc": ["body"],
                "msg": "Value error, Must specify either 'input' or 'command'", "input": input, "ctx": {"error": {}}}));
        }
        Problem::Range {
            field,
            value,
            bound,
            greatest,
        } => {
            let (kind, short, word) = if greatest {
                ("less_than_equal", "le", "less")
            } else {
                ("greater_than_equal", "ge", "greater")
            };
            return body(json!({"type": kind, "loc": ["body", field],
                "msg": format!("Input should be {word} than or equal to {bound}"), "input": value,
                "ctx": {short: bound}}));
        }
        Problem::NotOneOf {
            field,
            value,
            allowed,
            ..
        } => {
            let shown = value.as_str().unwrap_or_default();
            let quoted: Vec<String> = allowed.iter().map(|word| format!("'{word}'")).collect();
            let msg = format!(
                "Value error, Invalid thread {field}: {shown}. Must be one of: [{}]",
                quoted.join(", ")
            );
            return body(
                json!({"type": "value_error", "loc": ["body", field], "msg": msg, "input": value,
                "ctx": {"error": {}}}),
            );
        }
        Problem::Schema {
            says,
            rule: "pattern",
            place,
            at,
            value,
        } => {
            return body(
                json!({"type": "string_pattern_mismatch", "loc": ["query", at], "msg": says, "input": value,
                "ctx": {"pattern": place}}),
            );
        }
        Problem::Schema {
            says, at, value, ..
        } => {
            return body(
                json!({"type": "value_error", "loc": ["body", at], "msg": says, "input": value}),
            );
        }
        Problem::NoState(id) => (
            S::NOT_FOUND,
            "not_found",
            format!("Thread '{id}' has no associated graph"),
        ),
        Problem::BadThreadId { id, .. } | Problem::NoThread(id) => (
            S::NOT_FOUND,
            "not_found",
            format!("Thread '{id}' not found"),
        ),
        Problem::BadRunId(id)
        | Problem::NoRun(id)
        | Problem::NoRunToDelete(id)
        | Problem::NothingToCancel(id) => {
            (S::NOT_FOUND, "not_found", format!("Run '{id}' not found"))
        }
        Problem::UnknownName { name, .. }
        | Problem::UnknownAssistant(name)
        | Problem::NotAnAssistantId(name) => (
            S::NOT_FOUND,
            "not_found",
            format!("Assistant '{name}' not found"),
        ),
        Problem::ThreadExists(id) => (
            S::CONFLICT,
            "conflict",
            format!("Thread '{id}' already exists"),
        ),
        Problem::RunIsActive => (
            S::CONFLICT,
            "conflict",
            "Run is active. Retry with force=1 to cancel and delete.".into(),
        ),
        Problem::NoGraph(id) => (
            S::BAD_REQUEST,
            "bad_request",
            format!("Thread '{id}' has no associated graph. Cannot update state."),
        ),
        Problem::NothingToResume => (
            S::BAD_REQUEST,
            "bad_request",
            "Cannot resume: thread is not in interrupted state".into(),
        ),
        Problem::NoNode(node) => (
            S::INTERNAL_SERVER_ERROR,
            "internal_error",
            format!("Failed to update thread state: Node {node} does not exist"),
        ),
        Problem::NoBefore => (
            S::INTERNAL_SERVER_ERROR,
            "internal_error",
            "Error retrieving thread history: string indices must be integers, not 'str'".into(),
        ),
        Problem::Python(status, text) => (status, "error", text),
        other => (S::BAD_REQUEST, "bad_request", format!("{other:?}")),
    };
    json_response(
        status,
        &json!({"error": code, "message": message, "details": null}),
    )
}
