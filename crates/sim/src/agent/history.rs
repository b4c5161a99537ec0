//! A thread's history: its checkpoints, newest first over all branches.

use super::refuse::{Problem, Refusal};
use super::state::{Thread, contains};
use super::{Agent, rows};
use crate::Dialect;
use axum::http::StatusCode;
use serde_json::{Value, json};

/// What a client requests.
#[derive(Debug, Default)]
pub struct Asked {
    /// Maximum number of entries.
    pub limit: usize,
    /// Only checkpoints before this one.
    pub before: Option<String>,
    /// Only this checkpoint.
    pub checkpoint: Option<String>,
    /// Only checkpoints with these metadata.
    pub metadata: Value,
}

fn usual_limit(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Python | Dialect::Contract => 1,
        Dialect::JavaScript | Dialect::Aegra => 10,
    }
}

/// Reads the limit of a query.
pub fn limit(agent: &Agent, text: Option<&str>) -> Result<usize, Refusal> {
    let Some(text) = text else {
        return Ok(usual_limit(agent.dialect));
    };
    match (text.parse(), agent.dialect) {
        (Ok(0), Dialect::Aegra) => Err(agent.refuse(Problem::Range {
            field: "limit",
            value: 0,
            bound: 1,
            greatest: false,
        })),
        (Ok(limit), _) => Ok(limit),
        // It parses "x" as NaN, which means no limit.
        (Err(_), Dialect::JavaScript) => Ok(usize::MAX),
        (Err(_), _) => {
            let text = format!("Invalid limit {text}");
            Err(agent.refuse(Problem::Python(StatusCode::UNPROCESSABLE_ENTITY, text)))
        }
    }
}

/// Reads the body of a request.
pub fn read(agent: &Agent, body: &Value) -> Result<Asked, Refusal> {
    let number = body["limit"].as_i64();
    for (wrong, bound, greatest) in [
        (number > Some(1000), 1000, true),
        (number.is_some_and(|n| n < 1), 1, false),
    ] {
        if wrong {
            let value = number.unwrap_or_default();
            return Err(agent.refuse(Problem::Range {
                field: "limit",
                value,
                bound,
                greatest,
            }));
        }
    }
    let before = &body["before"];
    let before = match (agent.dialect, before) {
        (_, Value::Null) => None,
        (Dialect::Python | Dialect::Contract, Value::Object(_)) => {
            // Anything but a configuration causes an error.
            let id = before["configurable"]["checkpoint_id"]
                .as_str()
                .ok_or_else(|| {
                    let text = "Internal Server Error".to_owned();
                    agent.refuse(Problem::Python(StatusCode::INTERNAL_SERVER_ERROR, text))
                })?;
            Some(id.to_owned())
        }
        (Dialect::Aegra, Value::String(_)) => return Err(agent.refuse(Problem::NoBefore)),
        (Dialect::JavaScript, Value::String(id)) => Some(id.clone()),
        (_, other) => {
            let kind = if agent.dialect == Dialect::JavaScript {
                "string"
            } else {
                "object"
            };
            let says = match agent.dialect {
                Dialect::JavaScript => format!("Expected {kind}, received object"),
                _ => format!("{other} is not of type \"{kind}\""),
            };
            let place = "[\"components\"][\"schemas\"][\"CheckpointConfig\"]".to_owned();
            let value = other.clone();
            return Err(agent.refuse(Problem::Schema {
                says,
                rule: "type",
                place,
                at: "before",
                value,
            }));
        }
    };
    Ok(Asked {
        limit: number.map_or(usual_limit(agent.dialect), |limit| limit as usize),
        before,
        checkpoint: body["checkpoint"]["checkpoint_id"]
            .as_str()
            .map(str::to_owned),
        metadata: body["metadata"].clone(),
    })
}

/// The entries.
pub fn list(dialect: Dialect, thread: &Thread, asked: &Asked) -> Value {
    let states: Vec<Value> = thread
        .checkpoints
        .iter()
        .rev()
        .filter(|checkpoint| {
            asked
                .before
                .as_deref()
                .is_none_or(|before| checkpoint.id.as_str() < before)
        })
        .filter(|checkpoint| {
            asked
                .checkpoint
                .as_ref()
                .is_none_or(|id| checkpoint.id == *id)
        })
        .filter(|checkpoint| {
            asked.metadata.is_null() || contains(&checkpoint.metadata, &asked.metadata)
        })
        .take(asked.limit)
        .map(|checkpoint| rows::state(dialect, thread, checkpoint, false))
        .collect();
    json!(states)
}
