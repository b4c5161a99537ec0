//! Documents about crons and items of a store.

use crate::widgets::text_input::Problem;
use runtail_api::ResourceIntent;
use runtail_core::exact_json;
use serde_json::{Map, Value};

/// Returns the change of a cron that a document describes, by its changed settings.
pub(super) fn cron_change(cron: Option<&str>, mut fields: Map<String, Value>) -> ResourceIntent {
    match cron {
        Some(cron) => ResourceIntent::UpdateCron {
            cron: cron.into(),
            fields: fields.into(),
        },
        None => {
            let thread = fields
                .remove("thread_id")
                .and_then(|thread| thread.as_str().map(str::to_string));
            ResourceIntent::CreateCron {
                thread,
                fields: fields.into(),
            }
        }
    }
}

/// Returns the change of an item that a document describes. The document of a new item also has its namespace and key.
///
/// # Errors
/// It is no JSON object, or would change when it is sent.
pub(super) fn item_change(
    at: Option<&(Vec<String>, std::sync::Arc<str>)>,
    original: &str,
    text: &str,
) -> Result<ResourceIntent, Problem> {
    let problem = |line: usize, column: usize, message: String| Problem {
        line,
        column,
        message,
    };
    let document = exact_json::parse(text).map_err(|why| {
        let (line, column) = why.place(text);
        problem(line, column, why.to_string())
    })?;
    if !document.is_object() {
        return Err(problem(1, 1, "the value must be a JSON object".into()));
    }
    match at {
        Some((namespace, key)) => Ok(ResourceIntent::PutItem {
            namespace: namespace.clone(),
            key: key.to_string(),
            value: document,
            edited_from: serde_json::from_str(original).ok(),
        }),
        None => {
            let text = |field: &str| {
                document[field]
                    .as_str()
                    .unwrap_or_default()
                    .trim()
                    .to_string()
            };
            let namespace = text("namespace");
            if namespace.is_empty() || text("key").is_empty() {
                return Err(problem(
                    1,
                    1,
                    "namespace (such as a.b) and key are required".into(),
                ));
            }
            Ok(ResourceIntent::PutItem {
                namespace: namespace.split('.').map(str::to_string).collect(),
                key: text("key"),
                value: document["value"].clone(),
                // It is new, so an item that exists by now must not be replaced unseen.
                edited_from: Some(Value::Null),
            })
        }
    }
}
