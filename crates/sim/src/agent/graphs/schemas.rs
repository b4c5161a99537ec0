//! JSON schemas of the graphs, as `GET /assistants/{id}/schemas` returns them (acting reference §8).

use crate::agent::prelude::*;
use serde_json::Map;

impl Graph {
    /// Returns the schemas of a graph.
    pub fn schemas(self) -> Value {
        let input = self.input_schema();
        let mut state = Map::new();
        for channel in self.channels() {
            let mut schema = input["properties"]
                .get(*channel)
                .cloned()
                .unwrap_or_else(|| self.channel(channel));
            if schema.get("default").is_none() {
                schema["default"] = Value::Null;
            }
            state.insert((*channel).to_owned(), schema);
        }
        let defs = input["$defs"].clone();
        let mut state = json!({"properties": state, "title": format!("{}_state", self.name()), "type": "object"});
        if !defs.is_null() {
            state["$defs"] = defs;
        }
        let context = self.context_schema();
        json!({
            "graph_id": self.name(), "input_schema": input, "output_schema": state.clone(), "state_schema": state,
            "config_schema": context, "context_schema": context,
        })
    }

    fn input_schema(self) -> Value {
        match self {
            Graph::Support => support(),
            Graph::Mailer => json!({
                "properties": {
                    "to": {"title": "To", "type": "string", "minLength": 3, "description": "The address"},
                    "subject": {"title": "Subject", "type": "string"},
                    "body": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "Body"},
                },
                "required": ["to"], "title": "Mail", "type": "object",
            }),
            Graph::Hitl => json!({
                "$defs": {"HumanMessage": {"properties": {"content": {}}, "required": ["content"], "type": "object"}},
                "properties": {"messages": {
                    "items": {"oneOf": [{"$ref": "#/$defs/HumanMessage"}]}, "title": "Messages", "type": "array",
                }},
                "required": ["messages"], "title": "InputSchema", "type": "object",
            }),
            graph => {
                let fields = graph
                    .channels()
                    .iter()
                    .map(|name| ((*name).to_owned(), graph.channel(name)));
                let fields: Map<String, Value> = fields.collect();
                json!({"properties": fields, "title": "State", "type": "object"})
            }
        }
    }

    /// The schema of a channel that no model describes.
    fn channel(self, name: &str) -> Value {
        let mut title = name.to_owned();
        title[..1].make_ascii_uppercase();
        let grows = self.initial().get(name).is_some_and(Value::is_array);
        match name {
            _ if grows => json!({"items": {}, "title": title, "type": "array"}),
            "n" | "size" | "tokens" | "page" | "pages" | "per_ms" | "pace_ms" => {
                json!({"title": title, "type": "integer"})
            }
            "amount" | "seconds" | "timeout" | "hold" | "hold_after" => {
                json!({"title": title, "type": "number"})
            }
            "to" | "topic" | "draft" | "text" | "version" | "message" => {
                json!({"title": title, "type": "string"})
            }
            _ => json!({"title": title}),
        }
    }

    /// The schema of the context; null for a graph without one.
    fn context_schema(self) -> Value {
        match self {
            Graph::Support => json!({
                "properties": {
                    "model": {"default": "small", "description": "Which model", "enum": ["small", "large"],
                        "title": "Model", "type": "string"},
                    "temperature": {"default": 0.5, "maximum": 1, "minimum": 0, "title": "Temperature", "type": "number"},
                },
                "title": "Context", "type": "object",
            }),
            _ => Value::Null,
        }
    }
}

/// The input of a support desk: a form with each kind of field.
fn support() -> Value {
    json!({
        "$defs": {
            "Priority": {"enum": ["normal", "high"], "title": "Priority", "type": "string"},
            "Origin": {
                "properties": {
                    "channel": {"default": "mail", "enum": ["mail", "chat", "phone"], "title": "Channel", "type": "string"},
                    "locale": {"title": "Locale", "type": "string", "description": "Language of the answer"},
                },
                "title": "Origin", "type": "object",
            },
        },
        "properties": {
            "messages": {"items": {}, "title": "Messages", "type": "array"},
            "customer": {"title": "Customer", "type": "string"},
            "priority": {"$ref": "#/$defs/Priority", "default": "normal"},
            "budget": {"anyOf": [{"minimum": 0, "type": "number"}, {"type": "null"}], "default": null, "title": "Budget"},
            "tags": {"items": {"type": "string"}, "title": "Tags", "type": "array"},
            "origin": {"$ref": "#/$defs/Origin"},
        },
        "title": "Ticket", "type": "object",
    })
}

#[cfg(test)]
mod tests {
    use crate::agent::graphs::graphs;

    #[test]
    fn every_graph_describes_all_its_channels() {
        for graph in graphs() {
            let schemas = graph.schemas();
            for channel in graph.channels() {
                assert!(
                    schemas["state_schema"]["properties"].get(channel).is_some(),
                    "{graph:?} {channel}"
                );
            }
            let input = schemas["input_schema"]["properties"]
                .as_object()
                .expect("an object");
            assert!(
                input
                    .keys()
                    .all(|key| graph.channels().contains(&key.as_str())),
                "{graph:?}"
            );
        }
    }
}
