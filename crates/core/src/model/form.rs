//! A form for an answer or for the input of a run: the fields that a JSON schema, or the arguments of an action, consist of.

use super::{form_list, is_blank};
use crate::exact_json::{self, Unreadable};
use serde_json::{Map, Value, json};

/// Fields of a form. A schema with more is answered as JSON.
const MAX_FIELDS: usize = 60;
/// Values of a choice. With more of them the value is typed.
const MAX_CHOICES: usize = 12;
/// References that lead from one to another before a schema counts as too deep.
const MAX_REFERENCES: usize = 16;

/// How a field is filled in.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// Yes or no.
    Boolean,
    /// One of these values.
    Choice(Vec<Value>),
    /// A whole number.
    Integer,
    Number,
    /// A text, sent as it is typed.
    Text,
    /// A text that is sent as a list with one message of the user.
    Message,
    /// A list of texts, numbers, or other single values of this kind: one per line.
    List(Box<FieldKind>),
    /// An object with a form of its own.
    Object(Box<Form>),
    /// Anything else, typed as JSON.
    Json,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The property's name; empty where the whole answer is this one value.
    pub name: String,
    /// Its description in the schema.
    pub description: Option<String>,
    /// How it is filled in.
    pub kind: FieldKind,
    /// Whether the answer must have it.
    pub is_required: bool,
    /// Whether it may be null.
    pub is_nullable: bool,
    /// Its default value.
    pub initial: Option<Value>,
    /// Whether an empty text is sent. If not, an empty field is left out.
    pub keeps_empty: bool,
    /// Its type and bounds in words: `integer, 0–10, default 5`.
    pub rule: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The schema's title.
    pub title: Option<String>,
    pub fields: Vec<Field>,
}

impl Form {
    /// Returns the form of a schema; none where JSON is the only way to fill it in.
    pub fn of_schema(schema: &Value) -> Option<Form> {
        let root = schema;
        let schema = resolved(root, schema)?;
        if schema["properties"].is_object() {
            return Form::of_fields(schema, |name, schema, is_required| {
                Field::of_schema(root, name, schema, is_required)
            });
        }
        let field = Field::of_schema(root, "", schema, true);
        (field.kind != FieldKind::Json).then(|| Form {
            title: text(&schema["title"]),
            fields: vec![field],
        })
    }

    /// Returns the form of a graph's input: messages come first, as a text, and an object has a form of its own. None where JSON
    /// is the only way to fill it in.
    pub fn of_input(schema: &Value) -> Option<Form> {
        Form::of_object(schema, schema, true)
    }

    /// `is_outer`: whether its objects get forms of their own. Objects in them are typed as JSON.
    fn of_object(root: &Value, schema: &Value, is_outer: bool) -> Option<Form> {
        let schema = resolved(root, schema)?;
        let mut form = Form::of_fields(schema, |name, schema, is_required| {
            Field::of_input(root, name, schema, is_required, is_outer)
        })?;
        form.fields
            .sort_by_key(|field| field.kind != FieldKind::Message);
        Some(form)
    }

    /// `field`: makes a field of a name, its schema, and whether it is required.
    fn of_fields(schema: &Value, field: impl Fn(&str, &Value, bool) -> Field) -> Option<Form> {
        let properties = schema["properties"].as_object()?;
        let required = schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let fields = properties
            .iter()
            .map(|(name, schema)| field(name, schema, is_required(name)));
        (1..=MAX_FIELDS).contains(&properties.len()).then(|| Form {
            title: text(&schema["title"]),
            fields: fields.collect(),
        })
    }

    /// Returns the form in which the arguments of an action are edited.
    pub fn of_arguments(args: &Map<String, Value>, schema: Option<&Value>) -> Form {
        let described = schema
            .and_then(Form::of_schema)
            .map(|form| form.fields)
            .unwrap_or_default();
        let known = |name: &str| described.iter().find(|field| field.name == name).cloned();
        let of_args = args.iter().map(|(name, value)| {
            let field = known(name).unwrap_or_else(|| Field::of_value(name, value));
            Field {
                initial: Some(value.clone()),
                keeps_empty: value.is_string(),
                ..field
            }
            .accepting(value)
        });
        let others = described
            .iter()
            .filter(|field| !field.name.is_empty() && !args.contains_key(&field.name));
        // A default that the call left out is the tool's business.
        let others = others.map(|field| Field {
            initial: None,
            keeps_empty: false,
            ..field.clone()
        });
        Form {
            title: None,
            fields: of_args.chain(others).take(MAX_FIELDS).collect(),
        }
    }

    /// Returns whether it asks for one boolean and nothing else.
    pub fn is_yes_or_no(&self) -> bool {
        matches!(self.fields.as_slice(), [field] if field.name.is_empty() && field.kind == FieldKind::Boolean)
    }

    /// Whether all arguments have a field.
    pub fn covers(&self, args: &Map<String, Value>) -> bool {
        args.keys()
            .all(|name| self.fields.iter().any(|field| field.name == *name))
    }

    /// Returns the object, or the single value, that these entries make: one for each field, none where it is left out.
    pub fn value(&self, entries: Vec<Option<Value>>) -> Value {
        if let [Field { name, .. }] = self.fields.as_slice()
            && name.is_empty()
        {
            return entries.into_iter().next().flatten().unwrap_or_default();
        }
        let filled = self
            .fields
            .iter()
            .zip(entries)
            .filter_map(|(field, value)| {
                // Left empty, a field that has to be there is the null that it may be.
                let null = || (field.is_required && field.is_nullable).then_some(Value::Null);
                Some((field.name.clone(), value.or_else(null)?))
            });
        Value::Object(filled.collect())
    }
}

impl Field {
    /// Creates an optional field without a description or a default.
    pub fn new(name: &str, kind: FieldKind, rule: &str) -> Field {
        Field {
            name: name.into(),
            description: None,
            kind,
            is_required: false,
            is_nullable: false,
            initial: None,
            keeps_empty: false,
            rule: rule.into(),
        }
    }

    fn of_schema(root: &Value, name: &str, schema: &Value, is_required: bool) -> Field {
        // A default and a description may stand beside a reference.
        let outer = schema;
        let schema = resolved(root, schema).unwrap_or(schema);
        let (inner, is_nullable) = without_null(root, schema);
        let kind = kind_of(inner);
        let all = [outer, schema, inner];
        let default = all
            .iter()
            .find_map(|one| one.get("default"))
            .filter(|value| !value.is_null());
        let description = all.iter().find_map(|one| text(&one["description"]));
        let rule = rule_of(&kind, inner, default, is_required);
        // A default that is a text may become an empty one.
        let keeps_empty = default.is_some_and(Value::is_string);
        let field = Field {
            name: name.to_string(),
            description,
            kind,
            is_required,
            is_nullable,
            initial: default.cloned(),
            keeps_empty,
            rule,
        };
        match default {
            Some(value) => field.accepting(value),
            None => field,
        }
    }

    fn of_input(
        root: &Value,
        name: &str,
        schema: &Value,
        is_required: bool,
        is_outer: bool,
    ) -> Field {
        let mut field = Field::of_schema(root, name, schema, is_required);
        field.keeps_empty = false;
        let schema = resolved(root, schema).unwrap_or(schema);
        let (inner, _) = without_null(root, schema);
        if field.initial.as_ref().is_some_and(is_blank) {
            // Left out, it is the same.
            field.initial = None;
            field.rule = rule_of(&field.kind, inner, None, is_required);
        }
        if is_outer && name == "messages" && is_message_list(inner) {
            field.kind = FieldKind::Message;
            field.initial = None;
            field.rule = "sent as a message of the user".into();
        } else if field.kind == FieldKind::Json
            && field.initial.as_ref().is_none_or(Value::is_array)
            && let Some(items) = form_list::items_of(root, inner)
        {
            field.kind = FieldKind::List(Box::new(items));
            field.rule = rule_of(&field.kind, inner, field.initial.as_ref(), is_required);
        } else if field.kind == FieldKind::Json
            && is_outer
            && field.initial.is_none()
            && let Some(form) = Form::of_object(root, inner, false)
        {
            let optional = if is_required { "" } else { ", optional" };
            field.kind = FieldKind::Object(Box::new(form));
            field.rule = format!("object{optional}");
        }
        if is_required && !field.is_nullable && field.initial.is_none() {
            let separator = if field.rule.is_empty() { "" } else { ", " };
            field.rule += &format!("{separator}required by this graph");
        }
        field
    }

    fn of_value(name: &str, value: &Value) -> Field {
        let kind = match value {
            Value::Bool(_) => FieldKind::Boolean,
            Value::String(_) => FieldKind::Text,
            Value::Number(_) => FieldKind::Number,
            _ => FieldKind::Json,
        };
        // That a text is a text needs no words.
        let rule = if kind == FieldKind::Json { "JSON" } else { "" };
        Field::new(name, kind, rule)
    }

    /// A field that can show a value: one of another type than expected is edited as JSON, and not lost.
    fn accepting(self, value: &Value) -> Field {
        let fits = match &self.kind {
            FieldKind::Boolean => value.is_boolean(),
            FieldKind::Choice(values) => values.contains(value),
            FieldKind::Integer | FieldKind::Number => value.is_number(),
            FieldKind::Text => value.is_string(),
            FieldKind::Message => message_text(value).is_some(),
            FieldKind::List(_) => value.is_array(),
            FieldKind::Object(_) => value.is_object(),
            FieldKind::Json => true,
        };
        if fits {
            self
        } else {
            Field {
                kind: FieldKind::Json,
                rule: "JSON".into(),
                ..self
            }
        }
    }

    /// Returns the text in which a value of this field is edited.
    pub fn text_of(&self, value: &Value) -> String {
        match (&self.kind, value) {
            (FieldKind::Text, Value::String(text)) => text.clone(),
            (FieldKind::Message, value) => message_text(value).unwrap_or_default().to_string(),
            (FieldKind::List(items), value) => form_list::text_of(items, value),
            (_, value) => value.to_string(),
        }
    }

    /// Returns the value that a typed text means; none where the field is left out.
    ///
    /// # Errors
    /// What the text must be.
    pub fn value_of(&self, typed: &str) -> Result<Option<Value>, String> {
        let trimmed = typed.trim();
        match &self.kind {
            FieldKind::Text if typed.is_empty() && !self.keeps_empty => Ok(None),
            FieldKind::Text => Ok(Some(Value::String(typed.to_string()))),
            FieldKind::Message if typed.is_empty() => Ok(None),
            FieldKind::Message => Ok(Some(json!([{"role": "user", "content": typed}]))),
            _ if trimmed.is_empty() => Ok(None),
            FieldKind::Integer => typed_number(trimmed, true).map(Some),
            FieldKind::Number => typed_number(trimmed, false).map(Some),
            FieldKind::List(items) => form_list::value_of(items, typed),
            FieldKind::Json | FieldKind::Boolean | FieldKind::Choice(_) | FieldKind::Object(_) => {
                match exact_json::parse(trimmed) {
                    Ok(value) => Ok(Some(value)),
                    Err(Unreadable::Inexact(inexact)) => Err(inexact.to_string()),
                    Err(Unreadable::Invalid(error)) => Err(format!(
                        "must be JSON (line {}, column {})",
                        error.line(),
                        error.column()
                    )),
                }
            }
        }
    }
}

/// Returns the number that a typed text means.
///
/// # Errors
/// What the text must be.
pub(super) fn typed_number(typed: &str, is_integer: bool) -> Result<Value, String> {
    let fits = |value: &Value| {
        if is_integer {
            value.is_i64() || value.is_u64()
        } else {
            value.is_number()
        }
    };
    match exact_json::parse(typed) {
        Ok(value) if fits(&value) => Ok(value),
        Err(Unreadable::Inexact(inexact)) => Err(inexact.to_string()),
        _ if is_integer => Err("must be an integer".into()),
        _ => Err("must be a number".into()),
    }
}

/// Returns the text of a list with nothing but one message of the user, as the form writes it.
fn message_text(value: &Value) -> Option<&str> {
    let [message] = value.as_array()?.as_slice() else {
        return None;
    };
    let is_plain = message.as_object()?.len() == 2 && message["role"] == "user";
    message["content"]
        .as_str()
        .filter(|text| is_plain && !text.is_empty())
}

/// Whether a schema is that of a list of messages: graphs declare theirs as a list of anything, or of each type of message.
fn is_message_list(schema: &Value) -> bool {
    let items = &schema["items"];
    let has_types = ["oneOf", "anyOf"].iter().any(|key| {
        items[*key].as_array().into_iter().flatten().any(|one| {
            one["$ref"]
                .as_str()
                .is_some_and(|name| name.contains("Message"))
        })
    });
    let is_anything = items.is_null() || items.as_object().is_some_and(Map::is_empty);
    schema["type"] == "array" && (is_anything || has_types)
}

fn text(value: &Value) -> Option<String> {
    value
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(str::to_string)
}

/// Follows references within the schema; none where they lead nowhere, out of it, or in a circle.
pub(super) fn resolved<'s>(root: &'s Value, mut schema: &'s Value) -> Option<&'s Value> {
    for _ in 0..MAX_REFERENCES {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return Some(schema);
        };
        schema = root.pointer(reference.strip_prefix('#')?)?;
    }
    None
}

/// The schema of an optional value, and whether it is one: pydantic writes `anyOf: [X, {"type": "null"}]`.
fn without_null<'s>(root: &'s Value, schema: &'s Value) -> (&'s Value, bool) {
    let alternatives = schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array);
    let (null, others): (Vec<&Value>, Vec<&Value>) = alternatives
        .into_iter()
        .flatten()
        .partition(|one| one["type"] == "null");
    match others.as_slice() {
        [only] => (resolved(root, only).unwrap_or(schema), !null.is_empty()),
        _ => (schema, !null.is_empty()),
    }
}

pub(super) fn kind_of(schema: &Value) -> FieldKind {
    if let Some(values) = schema["enum"]
        .as_array()
        .filter(|values| (1..=MAX_CHOICES).contains(&values.len()))
    {
        return FieldKind::Choice(values.clone());
    }
    match schema["type"].as_str() {
        Some("boolean") => FieldKind::Boolean,
        Some("integer") => FieldKind::Integer,
        Some("number") => FieldKind::Number,
        Some("string") => FieldKind::Text,
        _ => FieldKind::Json,
    }
}

fn rule_of(kind: &FieldKind, schema: &Value, default: Option<&Value>, is_required: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(match kind {
        FieldKind::Boolean | FieldKind::Choice(_) => None,
        FieldKind::Integer => Some("integer".into()),
        FieldKind::Number => Some("number".into()),
        FieldKind::Text => Some("text".to_string()),
        FieldKind::List(items) => Some(form_list::words(items)),
        FieldKind::Message | FieldKind::Object(_) => None,
        FieldKind::Json => Some(match schema["type"].as_str() {
            Some("array") => "list as JSON".into(),
            Some("object") => "object as JSON".into(),
            _ => "JSON".into(),
        }),
    });
    let bound = |key: &str| {
        schema
            .get(key)
            .filter(|value| value.is_number())
            .map(Value::to_string)
    };
    parts.extend(match (bound("minimum"), bound("maximum")) {
        (Some(min), Some(max)) => Some(format!("{min}–{max}")),
        (Some(min), None) => Some(format!("{min} or more")),
        (None, Some(max)) => Some(format!("at most {max}")),
        (None, None) => None,
    });
    parts.extend(bound("exclusiveMinimum").map(|n| format!("more than {n}")));
    parts.extend(bound("exclusiveMaximum").map(|n| format!("less than {n}")));
    let mut size = |key: &str, words: &str, of: &str| {
        let n = bound(key).filter(|n| key.starts_with("max") || n != "0");
        parts.extend(n.map(|n| format!("{words} {n} {of}{}", if n == "1" { "" } else { "s" })));
    };
    size("minItems", "at least", "item");
    size("maxItems", "at most", "item");
    size("minLength", "at least", "character");
    size("maxLength", "at most", "character");
    let named = |key: &str| text(&schema[key]).map(|name| crate::text::seen(&name, 40));
    parts.extend(named("format"));
    parts.extend(named("pattern").map(|pattern| format!("matches {pattern}")));
    if let Some(default) = default {
        let shown = match (kind, default) {
            (_, Value::String(text)) => text.clone(),
            (FieldKind::List(items), Value::Array(_)) => {
                form_list::text_of(items, default).replace('\n', ", ")
            }
            _ => default.to_string(),
        };
        parts.push(format!("default {}", crate::text::head(&shown, 40)));
    } else if !is_required {
        parts.push("optional".into());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_captured_schema_becomes_a_form() {
        let path = format!(
            "{}/../../tests/fixtures/threads/question-with-schema.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let form = Form::of_schema(&case["state"]["tasks"][0]["interrupts"][0]["response_schema"])
            .unwrap();
        assert_eq!(form.title.as_deref(), Some("Verdict"));
        let fields: Vec<(&str, bool, bool, &str)> = form
            .fields
            .iter()
            .map(|f| {
                (
                    f.name.as_str(),
                    f.is_required,
                    f.is_nullable,
                    f.rule.as_str(),
                )
            })
            .collect();
        let expected = [
            ("approve", true, false, ""),
            ("score", false, false, "integer, 1–5, default 3"),
            ("colour", false, false, "default red"),
            ("note", false, true, "text, optional"),
        ];
        assert_eq!(fields, expected);
        assert_eq!(
            form.fields[0].description.as_deref(),
            Some("Let it through?")
        );
        assert_eq!(
            form.fields[2].kind,
            FieldKind::Choice(vec![json!("red"), json!("green")])
        );
        assert_eq!(form.fields[1].initial, Some(json!(3)));
        let entries = vec![Some(json!(true)), None, Some(json!("green")), None];
        assert_eq!(
            form.value(entries),
            json!({"approve": true, "colour": "green"})
        );
    }

    #[test]
    fn a_schema_of_one_value_is_a_form_of_one_field() {
        let form = Form::of_schema(&json!({"type": "boolean", "title": "Send?"})).unwrap();
        assert_eq!(
            (form.fields.len(), form.value(vec![Some(json!(false))])),
            (1, json!(false))
        );
        for schema in [
            json!({"anyOf": [{"type": "object"}, {"type": "string"}]}),
            json!({"type": "array"}),
            json!(true),
        ] {
            assert_eq!(Form::of_schema(&schema), None, "{schema}");
        }
        // A reference to itself is not followed forever.
        assert_eq!(Form::of_schema(&json!({"$ref": "#"})), None);
    }

    #[test]
    fn references_and_unknown_types_become_json_fields() {
        let schema = json!({
            "$defs": {"Level": {"enum": ["low", "high"]}, "Deep": {"type": "object", "properties": {"a": {}}}},
            "properties": {
                "level": {"$ref": "#/$defs/Level"}, "deep": {"$ref": "#/$defs/Deep"}, "tags": {"type": "array"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "maybe": {"anyOf": [{"$ref": "#/$defs/Level"}, {"type": "null"}]},
            },
        });
        let form = Form::of_schema(&schema).unwrap();
        let kinds: Vec<&FieldKind> = form.fields.iter().map(|field| &field.kind).collect();
        let level = FieldKind::Choice(vec![json!("low"), json!("high")]);
        assert_eq!(
            kinds,
            [
                &level,
                &FieldKind::Json,
                &FieldKind::Json,
                &FieldKind::Json,
                &level
            ]
        );
        assert_eq!(form.fields[1].rule, "object as JSON, optional");
    }

    #[test]
    fn arguments_keep_their_types_and_values() {
        let args = json!({"to": "ann", "amount": 49.5, "cc": ["x"], "urgent": false, "ref": null});
        let form = Form::of_arguments(args.as_object().unwrap(), None);
        let entries = form.fields.iter().map(|field| {
            let initial = field.initial.as_ref().unwrap();
            match field.kind {
                FieldKind::Boolean => Some(initial.clone()),
                _ => field.value_of(&field.text_of(initial)).unwrap(),
            }
        });
        assert_eq!(form.value(entries.collect()), args);
        let schema = json!({"properties": {"to": {"type": "integer"}, "more": {"type": "string", "default": "x"}}});
        let form = Form::of_arguments(args.as_object().unwrap(), Some(&schema));
        assert_eq!(
            form.fields[0].kind,
            FieldKind::Json,
            "a text in an integer field is still shown"
        );
        assert_eq!(form.fields[5].name, "more");
        assert_eq!(form.fields[5].initial, None);
        assert!(form.covers(args.as_object().unwrap()));
    }

    #[test]
    fn typed_text_is_converted_to_the_fields_type() {
        let field = |kind: FieldKind| Field {
            kind,
            ..Field::of_value("x", &json!(null))
        };
        for (kind, typed, expected) in [
            (FieldKind::Integer, " 12 ", Ok(Some(json!(12)))),
            (FieldKind::Integer, "1.5", Err("must be an integer".to_string())),
            (FieldKind::Integer, "true", Err("must be an integer".to_string())),
            (FieldKind::Number, "1e2", Ok(Some(json!(1e2)))),
            (
                FieldKind::Number,
                "0.12345678901234567890",
                Err("the number 0.12345678901234567890 can't be sent exactly: it would become 0.12345678901234568"
                    .into()),
            ),
            (FieldKind::Json, r#"{"a":1,"a":2}"#, Err("the key \"a\" occurs twice".into())),
            (FieldKind::Number, "ten", Err("must be a number".to_string())),
            (FieldKind::Text, "12", Ok(Some(json!("12")))),
            (FieldKind::Text, "", Ok(None)),
            (FieldKind::Text, " ", Ok(Some(json!(" ")))),
            (FieldKind::Json, "[1]", Ok(Some(json!([1])))),
            (FieldKind::Json, " ", Ok(None)),
            (FieldKind::Json, "{", Err("must be JSON (line 1, column 1)".to_string())),
        ] {
            assert_eq!(field(kind.clone()).value_of(typed), expected, "{kind:?} {typed:?}");
        }
        let was_text = Field {
            kind: FieldKind::Text,
            keeps_empty: true,
            ..field(FieldKind::Text)
        };
        assert_eq!(
            was_text.value_of(""),
            Ok(Some(json!(""))),
            "an argument may become empty"
        );
    }
}
