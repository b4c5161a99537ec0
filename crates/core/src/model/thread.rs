//! A thread of an agent server.

use super::{Extra, NAME_KEY, STAR_KEY, is_blank, lenient, lenient_time};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thread, as `POST /threads`, `GET /threads/{id}` and `POST /threads/search` answer it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Thread {
    /// A UUID.
    pub thread_id: String,
    /// `idle`, `busy`, `interrupted` or `error`; open text all the same.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "String::is_empty"
    )]
    pub status: String,
    /// When it was made.
    #[serde(
        default,
        deserialize_with = "lenient_time",
        skip_serializing_if = "Option::is_none"
    )]
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    #[serde(
        default,
        deserialize_with = "lenient_time",
        skip_serializing_if = "Option::is_none"
    )]
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

impl Thread {
    /// Returns the thread without what no list shows, which may be megabytes.
    pub fn in_a_list(self) -> Thread {
        Thread {
            values: None,
            extra: Extra::new(),
            ..self
        }
    }
}

/// Metadata that a list shows in other ways, or not at all.
const HIDDEN: [&str; 6] = [
    "graph_id",
    "assistant_id",
    "runtail",
    "thread_name",
    NAME_KEY,
    STAR_KEY,
];

impl Thread {
    /// The graph that ran on this thread, as its metadata names it.
    pub fn graph(&self) -> Option<&str> {
        self.metadata.as_ref()?["graph_id"].as_str()
    }

    /// Metadata that tells people something: neither empty nor added by a server or by Runtail.
    pub fn notes(&self) -> Vec<(&str, &Value)> {
        // Aegra adds an owner and a name to every thread; without authentication the owner is always the same.
        let is_anonymous = |name: &str, value: &Value| name == "owner" && value == "anonymous";
        let is_empty = |value: &Value| {
            is_blank(value) || value.as_str().is_some_and(|text| text.trim().is_empty())
        };
        let fields = self.metadata.as_ref().and_then(Value::as_object);
        fields
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), value))
            .filter(|(name, value)| !is_empty(value) && !is_anonymous(name, value))
            .filter(|(name, _)| !HIDDEN.contains(name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_and_server_made_metadata_is_hidden() {
        let thread = |metadata: Value| Thread {
            metadata: Some(metadata),
            ..Thread::default()
        };
        let aegra = thread(
            json!({"owner": "anonymous", "thread_name": "", "graph_id": "agent", "assistant_id": "a"}),
        );
        assert_eq!(aegra.notes(), []);
        assert_eq!(aegra.graph(), Some("agent"));
        let named = thread(
            json!({"owner": "ana", "thread_name": "Refund", "tags": [], "n": 0, "gone": null}),
        );
        assert_eq!(named.notes(), [("owner", &json!("ana")), ("n", &json!(0))]);
        assert_eq!(
            named.name(),
            Some("Refund"),
            "the list shows the name by itself"
        );
        assert_eq!(Thread::default().notes(), []);
    }
}
