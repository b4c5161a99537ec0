//! A thread's history: its checkpoints, newest first over all branches.

use super::refuse::{Refusal, check_range, failed, invalid, wrong_type};
use super::rows;
use super::state::{Thread, contains};
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

/// Reads the limit of a query.
pub fn limit(text: Option<&str>) -> Result<usize, Refusal> {
    let text = text.unwrap_or("1");
    text.parse()
        .map_err(|_| invalid(&format!("Invalid limit {text}")))
}

/// Reads the body of a request.
pub fn read(body: &Value) -> Result<Asked, Refusal> {
    check_range("limit", &body["limit"], 1, 1000)?;
    let before = match &body["before"] {
        Value::Null => None,
        // Anything but a configuration causes an error.
        before @ Value::Object(_) => {
            let id = before["configurable"]["checkpoint_id"].as_str();
            Some(id.ok_or_else(failed)?.to_owned())
        }
        other => {
            let place = "[\"components\"][\"schemas\"][\"CheckpointConfig\"]";
            return Err(wrong_type("object", place, "before", other));
        }
    };
    Ok(Asked {
        limit: body["limit"].as_u64().unwrap_or(1) as usize,
        before,
        checkpoint: body["checkpoint"]["checkpoint_id"]
            .as_str()
            .map(str::to_owned),
        metadata: body["metadata"].clone(),
    })
}

/// The entries.
pub fn list(thread: &Thread, asked: &Asked) -> Value {
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
        .map(|checkpoint| rows::state(thread, checkpoint, false))
        .collect();
    json!(states)
}
