//! A thread of an agent server.

use super::{Extra, lenient, lenient_time};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thread, as `POST /threads`, `GET /threads/{id}` and `POST /threads/search` answer it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Thread {
    /// A UUID.
    pub thread_id: String,
    /// `idle`, `busy`, `interrupted` or `error`; open text all the same.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// When it was made.
    #[serde(default, deserialize_with = "lenient_time", skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(default, deserialize_with = "lenient_time", skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// What clients noted on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Why its last run failed: `{error, message}` (the stream's `error` event is never replayed, so this is the truth).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// What it waits for: `{"<task id>": [{id, value}]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Value>,
    /// The state after the last run, when the server was asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Value>,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One question that a thread waits to have answered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Interrupt {
    /// Its identifier, by which a resume can answer it.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The payload that the graph gave to `interrupt()`.
    #[serde(default)]
    pub value: Value,
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Thread {
    /// The interrupts that wait on this thread, over all its tasks.
    pub fn waiting(&self) -> Vec<Interrupt> {
        let lists = self.interrupts.as_ref().and_then(Value::as_object).into_iter().flat_map(|o| o.values());
        lists.filter_map(Value::as_array).flatten().filter_map(|v| serde_json::from_value(v.clone()).ok()).collect()
    }

    /// The failure of the last run as one line, if there is one.
    pub fn failure(&self) -> Option<String> {
        match self.error.as_ref()? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Object(o) => {
                let part = |k: &str| o.get(k).and_then(Value::as_str);
                match (part("error"), part("message")) {
                    (Some(e), Some(m)) => Some(format!("{e}: {m}")),
                    (Some(one), None) | (None, Some(one)) => Some(one.to_string()),
                    (None, None) => Some(Value::Object(o.clone()).to_string()),
                }
            }
            other => Some(other.to_string()),
        }
    }
}
