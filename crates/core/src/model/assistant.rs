//! An assistant of an agent server: a graph with a configuration.

use super::{Extra, lenient, lenient_time};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One assistant, as `POST /assistants/search` lists it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Assistant {
    /// A UUID.
    pub assistant_id: String,
    /// Name of the graph that it runs.
    #[serde(default, deserialize_with = "lenient")]
    pub graph_id: String,
    /// Its own name; the graph's for the assistant that each graph gets.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub description: Option<String>,
    /// Its version, which grows with each change.
    #[serde(
        default,
        deserialize_with = "lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub version: Option<i64>,
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
    /// Everything else.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Assistant {
    /// Returns its name, else that of its graph.
    pub fn shown_name(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        name.unwrap_or(&self.graph_id)
    }
}
