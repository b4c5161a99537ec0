//! The base of all crates: the text sanitizer, the configuration, and the model of both services.

pub mod backoff;
pub mod catalog;
pub mod config;
pub mod exact_json;
pub mod graph;
pub mod json;
pub mod model;
pub mod secret;
pub mod text;

#[cfg(test)]
mod fixtures {
    use crate::model::{Question, StateFacts};
    use serde_json::Value;

    /// Reads a file of `tests/`.
    pub fn json(name: &str) -> Value {
        let path = format!("{}/../../tests/{name}.json", env!("CARGO_MANIFEST_DIR"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Returns the open questions of a captured thread.
    pub fn questions(name: &str) -> Vec<Question> {
        let state = json(&format!("fixtures/threads/{name}"))["state"].to_string();
        StateFacts::read(&state).unwrap().pending()
    }

    /// Returns a question with this payload.
    pub fn asking(value: Value) -> Question {
        Question {
            value,
            ..Question::default()
        }
    }
}
