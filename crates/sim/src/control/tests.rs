//! Compares request bodies field by field with the control plane's own document.

use super::shape::{Field, Need, Shape};
use super::{auth, bodies, listeners, sign_in};
use crate::values::items_of;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a schema is once its references and its null are taken off, and whether it may be null.
fn plain<'a>(document: &'a Value, schema: &'a Value) -> (&'a Value, bool) {
    if let Some(name) = schema["$ref"].as_str() {
        return plain(
            document,
            document
                .pointer(name.trim_start_matches('#'))
                .expect("what a reference means"),
        );
    }
    let Some(all) = schema["anyOf"].as_array() else {
        return (schema, false);
    };
    let mut others = all.iter().filter(|one| one["type"] != "null");
    let other = others.next().expect("something beside null");
    assert!(others.next().is_none(), "one thing beside null: {schema}");
    (plain(document, other).0, all.len() > 1)
}

struct Comparison<'a> {
    document: &'a Value,
    differences: Vec<String>,
}

impl Comparison<'_> {
    fn differ(&mut self, place: &str, what: String) {
        self.differences.push(format!("{place}: {what}"));
    }

    fn shape(&mut self, place: &str, shape: &Shape, schema: &Value) {
        let (schema, _) = plain(self.document, schema);
        let limit = |name: &str, none: f64| schema[name].as_f64().unwrap_or(none);
        let same = match shape {
            Shape::Any => return,
            Shape::Text | Shape::Filled => {
                schema["type"] == "string" && schema.get("format").is_none()
            }
            Shape::Uuid => schema["format"] == "uuid",
            Shape::Flag => schema["type"] == "boolean",
            Shape::Whole => schema["type"] == "integer",
            Shape::Number(least, most) => {
                schema["type"] == "number"
                    && *least == limit("minimum", f64::MIN)
                    && *most == limit("maximum", f64::MAX)
            }
            Shape::Word(words) => {
                let constant = schema.get("const").into_iter();
                let known = items_of(&schema["enum"])
                    .chain(constant)
                    .filter_map(Value::as_str);
                let (known, ours): (BTreeSet<&str>, BTreeSet<&str>) =
                    (known.collect(), words.iter().copied().collect());
                for word in known.symmetric_difference(&ours) {
                    let who = if ours.contains(word) {
                        "we"
                    } else {
                        "the document"
                    };
                    self.differ(place, format!("only {who} know '{word}'"));
                }
                true
            }
            Shape::List(each) => {
                self.shape(place, each, &schema["items"]);
                schema["type"] == "array"
            }
            Shape::Map(each) => {
                let rest = &schema["additionalProperties"];
                if rest.is_object() {
                    self.shape(place, each, rest);
                }
                schema["type"] == "object" && (rest.is_object() || matches!(each, Shape::Any))
            }
            Shape::Object(fields) => {
                self.fields(place, fields, schema);
                schema["type"] == "object"
            }
        };
        if !same {
            self.differ(place, format!("we want {shape:?}, the document {schema}"));
        }
    }

    fn fields(&mut self, place: &str, fields: &[Field], schema: &Value) {
        let known = schema["properties"].as_object().expect("properties");
        let required = |name: &str| {
            schema["required"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one == name))
        };
        for name in known
            .keys()
            .filter(|name| !fields.iter().any(|field| field.name == name.as_str()))
        {
            self.differ(place, format!("we lack '{name}'"));
        }
        for Field { name, need, shape } in fields {
            let Some(schema) = known.get(*name) else {
                self.differ(place, format!("only we know '{name}'"));
                continue;
            };
            let inner = format!("{place}.{name}");
            let wanted = match (required(name), plain(self.document, schema).1) {
                (true, _) => Need::Must,
                (false, true) => Need::Null,
                (false, false) => Need::May,
            };
            if *need != wanted {
                self.differ(
                    &inner,
                    format!("for us {need:?}, for the document {wanted:?}"),
                );
            }
            self.shape(&inner, shape, schema);
        }
    }
}

#[test]
fn request_fields_match_the_document_with_few_additions() {
    let text =
        std::fs::read_to_string("../../tests/control-plane/openapi.json").expect("the document");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let mut all = Comparison {
        document: &document,
        differences: Vec::new(),
    };
    for (name, fields) in [
        ("DeploymentCreateRequest", bodies::CREATE),
        ("DeploymentPatchRequest", bodies::PATCH),
        ("ListenerCreateRequest", listeners::CREATE),
        ("ListenerPatchRequest", listeners::PATCH),
        ("OAuthProviderCreateRequest", auth::CREATE),
        ("MCPOAuthProviderCreateRequest", auth::DISCOVER),
        ("OAuthProviderUpdateRequest", auth::PATCH),
        ("AuthAuthenticateRequest", sign_in::AUTHENTICATE),
        ("OAuthFinalizeRequest", sign_in::FINALIZE),
    ] {
        all.fields(name, fields, &document["components"]["schemas"][name]);
    }
    let kinds = |request: &str| {
        ["dedicated", "dev_free_zero", "dev_zero", "serverless"]
            .map(|word| format!("{request}.source_config.deployment_type: only we know '{word}'"))
    };
    let mut expected = vec![
        "DeploymentCreateRequest: only we know 'agent'".to_owned(),
        "DeploymentCreateRequest.source: only we know 'internal_template'".to_owned(),
        "DeploymentPatchRequest: only we know 'display_name'".to_owned(),
        "DeploymentPatchRequest: only we know 'tracked_packages'".to_owned(),
        "AuthAuthenticateRequest: only we know 'redirect_uri'".to_owned(),
        "AuthAuthenticateRequest: only we know 'check_only'".to_owned(),
    ];
    expected.extend(
        ["DeploymentCreateRequest", "DeploymentPatchRequest"]
            .into_iter()
            .flat_map(kinds),
    );
    all.differences.sort();
    expected.sort();
    assert_eq!(all.differences, expected);
}
