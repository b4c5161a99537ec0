use super::*;
use proptest::prelude::*;
use serde_json::json;

fn rules(schema: Value, value: Value) -> Vec<String> {
    let found = violations(&schema, &value).unwrap();
    found
        .into_iter()
        .map(|violation| format!("{} {}", violation.path.join("."), violation.rule))
        .collect()
}

#[test]
fn violations_name_the_field_and_the_rule() {
    let schema = json!({
        "type": "object", "required": ["approve"], "additionalProperties": false,
        "properties": {
            "approve": {"type": "boolean"},
            "score": {"type": "integer", "minimum": 0, "maximum": 10},
            "color": {"enum": ["red", "amber"]},
            "note": {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
            "old": false,
        },
    });
    for (value, expected) in [
        (json!({"approve": true, "note": null}), vec![]),
        (json!({}), vec!["approve required"]),
        (
            json!({"approve": 1}),
            vec!["approve must be yes or no (true or false)"],
        ),
        (
            json!({"approve": true, "score": 12}),
            vec!["score must be at most 10"],
        ),
        (
            json!({"approve": true, "score": 1.5}),
            vec!["score must be an integer"],
        ),
        (
            json!({"approve": true, "color": "blue"}),
            vec!["color must be one of red, amber"],
        ),
        (
            json!({"approve": true, "note": "x"}),
            vec!["note must have at least 3 characters"],
        ),
        (
            json!({"approve": true, "tags": []}),
            vec!["tags must have at least 1 entry"],
        ),
        (
            json!({"approve": true, "tags": ["a", 1]}),
            vec!["tags.1 must be text"],
        ),
        (
            json!({"approve": true, "code": "a"}),
            vec!["code must match the pattern ^[A-Z]+$"],
        ),
        (
            json!({"approve": true, "extra": 1}),
            vec!["extra is not a field of this form"],
        ),
        (
            json!({"approve": true, "old": 1}),
            vec!["old must be left out: no value is allowed here"],
        ),
        (json!([]), vec![" must be an object"]),
    ] {
        assert_eq!(rules(schema.clone(), value.clone()), expected, "{value}");
    }
}

#[test]
fn invalid_and_remote_schemas_are_reported_and_never_fetched() {
    assert!(
        violations(
            &json!({"$ref": "https://example.com/schema.json"}),
            &json!(1)
        )
        .is_err()
    );
    assert!(violations(&json!({"type": 7}), &json!(1)).is_err());
    // A pattern with catastrophic backtracking is a violation, and is stopped soon.
    let text = format!("{}!", "a".repeat(60));
    assert_eq!(
        rules(json!({"pattern": "^(?=(a+)+$)(a|aa)+\\1$"}), json!(text)).len(),
        1
    );
}

#[test]
fn local_schema_references_are_resolved() {
    let schema = json!({"$defs": {"size": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/size"}}});
    assert_eq!(rules(schema, json!({"n": "x"})), ["n must be an integer"]);
}

/// What the crate `jsonschema` says, in the same words.
mod reference {
    use super::super::{MAX_VIOLATIONS, Violation};
    use jsonschema::error::{TypeKind, ValidationErrorKind};
    use jsonschema::{JsonType, ValidationError};
    use serde_json::Value;

    const MAX_NAMED: usize = 8;

    pub fn violations(schema: &Value, value: &Value) -> Result<Vec<Violation>, String> {
        let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(100_000);
        let validator = jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        for error in validator.iter_errors(value) {
            collect(&error, &mut found);
            if found.len() >= MAX_VIOLATIONS {
                break;
            }
        }
        Ok(found)
    }

    fn collect(error: &ValidationError<'_>, found: &mut Vec<Violation>) {
        let mut path: Vec<String> = error
            .instance_path()
            .as_str()
            .split('/')
            .skip(1)
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect();
        let rule = match error.kind() {
            ValidationErrorKind::Required { property } => {
                path.push(plain(property));
                "required".to_string()
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                for name in unexpected {
                    let path = path.iter().chain([name]).cloned().collect();
                    found.push(Violation {
                        path,
                        rule: "is not a field of this form".into(),
                    });
                }
                return;
            }
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                // An optional value is written as this or null; what is wrong with `this` tells more than the alternative.
                let alternatives: Vec<_> = context
                    .iter()
                    .filter(|errors| !errors.iter().any(wants_null))
                    .collect();
                if let [only] = alternatives.as_slice() {
                    return only.iter().for_each(|error| collect(error, found));
                }
                "must fit one of the alternatives in the schema".to_string()
            }
            kind => rule(kind)
                .unwrap_or_else(|| format!("breaks the rule \"{}\" of the schema", kind.keyword())),
        };
        found.push(Violation { path, rule });
    }

    fn wants_null(error: &ValidationError<'_>) -> bool {
        matches!(
            error.kind(),
            ValidationErrorKind::Type {
                kind: TypeKind::Single(JsonType::Null)
            }
        )
    }

    fn rule(kind: &ValidationErrorKind) -> Option<String> {
        use ValidationErrorKind::*;
        Some(match kind {
            Type {
                kind: TypeKind::Single(one),
            } => format!("must be {}", type_word(*one)),
            Type {
                kind: TypeKind::Multiple(several),
            } => {
                let words: Vec<&str> = several.iter().map(type_word).collect();
                format!("must be {}", words.join(" or "))
            }
            Minimum { limit } => format!("must be at least {limit}"),
            Maximum { limit } => format!("must be at most {limit}"),
            ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
            ExclusiveMaximum { limit } => format!("must be less than {limit}"),
            MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
            MinLength { limit } => format!("must have at least {}", counted(*limit, "character")),
            MaxLength { limit } => format!("must have at most {}", counted(*limit, "character")),
            Pattern { pattern } => {
                format!("must match the pattern {}", crate::text::head(pattern, 80))
            }
            MinItems { limit } => format!("must have at least {}", counted(*limit, "entry")),
            MaxItems { limit } => format!("must have at most {}", counted(*limit, "entry")),
            FalseSchema => "must be left out: no value is allowed here".into(),
            UniqueItems => "must not have duplicate entries".into(),
            Format { format } => format!("must be a valid {}", crate::text::head(format, 40)),
            Constant { expected_value } => format!("must be {}", plain(expected_value)),
            Enum { options } => {
                let all: Vec<String> = options
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(plain)
                    .collect();
                let more = if all.len() > MAX_NAMED { ", …" } else { "" };
                format!(
                    "must be one of {}{more}",
                    all[..all.len().min(MAX_NAMED)].join(", ")
                )
            }
            _ => return None,
        })
    }

    fn type_word(one: JsonType) -> &'static str {
        match one {
            JsonType::String => "text",
            JsonType::Integer => "an integer",
            JsonType::Number => "a number",
            JsonType::Boolean => "yes or no (true or false)",
            JsonType::Object => "an object",
            JsonType::Array => "a list",
            JsonType::Null => "null",
        }
    }

    fn counted(n: u64, one: &str) -> String {
        match (n, one.strip_suffix('y')) {
            (1, _) => format!("1 {one}"),
            (_, Some(stem)) => format!("{n} {stem}ies"),
            _ => format!("{n} {one}s"),
        }
    }

    /// A value without the quotes of a text.
    fn plain(value: &Value) -> String {
        match value {
            Value::String(text) => crate::text::head(text, 80).to_string(),
            other => crate::text::head(&other.to_string(), 80).to_string(),
        }
    }
}

/// Returns the violations with words of their own in one order.
fn sorted(found: Vec<Violation>) -> Vec<String> {
    let mut found: Vec<_> = found
        .into_iter()
        .map(|one| format!("{} {}", one.path.join("."), one.rule))
        .filter(|one| !one.contains("breaks the rule") && !one.contains("is not a field"))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Checks that both say the same, in any order. What is refused here is not compared.
fn agrees(schema: &Value, value: &Value) -> bool {
    let Ok(ours) = violations(schema, value) else {
        return false;
    };
    let theirs = reference::violations(schema, value)
        .unwrap_or_else(|why| panic!("{schema} was used, but {why}"));
    // Which of many are reported depends on the order.
    if theirs.len() < MAX_VIOLATIONS || ours.is_empty() {
        assert_eq!(
            ours.is_empty(),
            theirs.is_empty(),
            "{schema}\n{value}\n{ours:?}\n{theirs:?}"
        );
        let text = schema.to_string();
        // Of alternatives, the one that is reported depends on how null is written.
        if !text.contains("\"anyOf\"") && !text.contains("\"oneOf\"") || text.contains("\"title\"")
        {
            assert_eq!(sorted(ours), sorted(theirs), "{schema}\n{value}");
        }
    }
    true
}

/// Values near what a schema asks for: one that fits, and that one with a mistake at each place.
fn near(value: &Value) -> Vec<Value> {
    let mut all: Vec<Value> = [
        json!(null),
        json!(true),
        json!(7),
        json!(-2.5),
        json!(""),
        json!("2026-11-27T10:00:00Z"),
        json!([]),
        json!([1, "a", 1.0]),
        json!({}),
        json!({"x": 1}),
    ]
    .into();
    all.push(value.clone());
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let mut without = fields.clone();
                without.shift_remove(name);
                all.push(without.into());
                for other in near(field) {
                    let mut changed = fields.clone();
                    changed.insert(name.clone(), other);
                    all.push(changed.into());
                }
            }
        }
        Value::Array(entries) if !entries.is_empty() => {
            for other in near(&entries[0]) {
                all.push(json!([other]));
                all.push(json!([entries[0], other]));
            }
        }
        _ => {}
    }
    all
}

/// Returns a value of the shape that a schema asks for.
fn sample(root: &Value, schema: &Value, depth: usize) -> Value {
    if depth > 6 {
        return Value::Null;
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|text| resolve(root, text)) {
        return sample(root, target, depth + 1);
    }
    for word in ["const", "default"] {
        if let Some(value) = schema.get(word) {
            return value.clone();
        }
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    for word in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema[word].get(0) {
            return sample(root, first, depth + 1);
        }
    }
    match schema["type"].as_str() {
        Some("string") => "text".into(),
        Some("integer") => 3.into(),
        Some("number") => 2.5.into(),
        Some("boolean") => true.into(),
        Some("array") => json!([sample(root, &schema["items"], depth + 1)]),
        Some("object") => schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, field)| (name.clone(), sample(root, field, depth + 1)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        _ => Value::Null,
    }
}

fn schemas_in(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            for (name, one) in fields {
                let is_schema = name.to_lowercase().ends_with("schema") || name == "parameters";
                if is_schema && one.is_object() {
                    found.push(one.clone());
                }
                schemas_in(one, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|one| schemas_in(one, found)),
        _ => {}
    }
}

#[test]
fn schemas_of_real_servers_are_checked_as_by_the_crate_jsonschema() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");
    let mut files: Vec<_> = ["captures", "fixtures", "control-plane"]
        .map(|folder| std::path::Path::new(tests).join(folder))
        .into();
    let mut schemas = Vec::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder");
            files.extend(entries.map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let values = events.chain([text.as_str()]);
        for value in values.filter_map(|text| serde_json::from_str::<Value>(text).ok()) {
            if value.get("openapi").is_none() {
                schemas_in(&value, &mut schemas);
            }
            // What the schemas of a description refer to is beside them.
            for name in value["components"]["schemas"]
                .as_object()
                .into_iter()
                .flatten()
            {
                let reference = format!("#/components/schemas/{}", name.0);
                schemas.push(json!({"$ref": reference, "components": value["components"]}));
            }
        }
    }
    schemas.sort_by_cached_key(Value::to_string);
    schemas.dedup();
    assert!(schemas.len() > 20, "{} schemas", schemas.len());
    for schema in &schemas {
        // Each of them can be used.
        violations(schema, &Value::Null).unwrap_or_else(|why| panic!("{schema}: {why}"));
        let mut values = near(&sample(schema, schema, 0));
        values.truncate(60);
        for value in values {
            agrees(schema, &value);
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "a",
        "b",
        "ab",
        "ä€",
        "a1",
        "2026-11-27",
        "12:00:00Z",
    ])
    .prop_map(String::from)
}

fn number() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(0),
        json!(1),
        json!(1.0),
        json!(-3),
        json!(0.07),
        json!(2.5),
        json!(9007199254740993_u64),
        json!(9007199254740992_u64),
        json!(1e300),
        json!(u64::MAX),
    ])
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn leaf_rule() -> impl Strategy<Value = (String, Value)> {
    let types = vec![
        "string", "integer", "number", "boolean", "object", "array", "null",
    ];
    let named = |name: &'static str, value: Value| (name.to_string(), value);
    prop_oneof![
        prop::sample::subsequence(types, 1..3).prop_map(move |types| named(
            "type",
            match types[..] {
                [one] => json!(one),
                // In the order in which the reference names them.
                _ => json!(types[0]),
            }
        )),
        (
            prop::sample::select(vec![
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum"
            ]),
            number()
        )
            .prop_map(move |(name, limit)| named(name, limit)),
        prop::sample::select(vec![json!(1), json!(0.01), json!(2), json!(2.5)])
            .prop_map(move |of| named("multipleOf", of)),
        (
            prop::sample::select(vec![
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties",
            ]),
            0..3
        )
            .prop_map(move |(name, limit)| named(name, json!(limit))),
        prop::sample::select(vec!["^a", "\\d", "^(?!b)", "^\\w+$", "\\s", "[ab]{2}"])
            .prop_map(move |pattern| named("pattern", json!(pattern))),
        prop::collection::vec(value(), 1..3).prop_map(move |all| named("enum", json!(all))),
        value().prop_map(move |one| named("const", one)),
        prop::collection::hash_set(text(), 0..3)
            .prop_map(move |all| named("required", json!(all.into_iter().collect::<Vec<_>>()))),
        any::<bool>().prop_map(move |unique| named("uniqueItems", json!(unique))),
        Just(named("$ref", json!("#/$defs/one"))),
        (text(), text())
            .prop_map(move |(one, other)| named("dependentRequired", json!({one: [other]}))),
        prop::sample::select(vec!["date", "time", "date-time", "ipv4", "ipv6", "regex"])
            .prop_map(move |format| named("format", json!(format))),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        6 => prop::collection::vec(leaf_rule(), 0..3)
            .prop_map(|rules| Value::Object(rules.into_iter().collect())),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let one = (
            prop::sample::select(vec![
                "items",
                "additionalProperties",
                "contains",
                "propertyNames",
                "not",
                "if",
                "then",
                "else",
            ]),
            inner.clone(),
        )
            .prop_map(|(name, schema)| (name.to_string(), schema));
        let several = (
            prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]),
            prop::collection::vec(inner.clone(), 1..4),
        )
            .prop_map(|(name, schemas)| (name.to_string(), json!(schemas)));
        let fields = prop::collection::vec((text(), inner), 0..3).prop_map(|fields| {
            (
                "properties".to_string(),
                Value::Object(fields.into_iter().collect()),
            )
        });
        let patterns = Just((
            "patternProperties".to_string(),
            json!({"^a": {"type": "string"}, "1$": false}),
        ));
        let rule =
            prop_oneof![4 => leaf_rule(), 3 => one, 3 => several, 3 => fields, 1 => patterns];
        prop::collection::vec(rule, 1..5)
            .prop_map(|rules| Value::Object(rules.into_iter().collect()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn generated_schemas_are_checked_as_by_the_crate_jsonschema(
        mut schema in schema(),
        values in prop::collection::vec(value(), 1..6),
        draft in prop::sample::select(vec![None, Some("http://json-schema.org/draft-07/schema#"), Some("https://json-schema.org/draft/2019-09/schema")]),
    ) {
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("$defs".into(), json!({"one": {"type": "string"}}));
            if let Some(draft) = draft {
                fields.insert("$schema".into(), draft.into());
            }
        }
        for value in &values {
            agrees(&schema, value);
        }
    }
}

#[test]
fn unknown_rules_are_reported() {
    for (schema, why) in [
        (
            json!({"unevaluatedProperties": false}),
            "the rule \"unevaluatedProperties\" is not known",
        ),
        (
            json!({"properties": {"a": {"$dynamicRef": "#a"}}}),
            "the rule \"$dynamicRef\" is not known",
        ),
        (
            json!({"$ref": "#/$defs/none"}),
            "it refers to #/$defs/none, which is not in it",
        ),
        (json!({"$ref": "#"}), "it refers to itself without end"),
        (json!({"type": "text"}), "\"type\" can't be \"text\""),
        (json!({"pattern": "("}), "\"pattern\" can't be \"(\""),
        (
            json!({"$schema": "http://json-schema.org/draft-03/schema#"}),
            "its version http://json-schema.org/draft-03/schema is not known",
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "iri"}),
            "the format iri is not known",
        ),
        (
            json!({"items": {"$id": "https://example.com/a"}}),
            "a part of it is a document of its own ($id)",
        ),
    ] {
        assert_eq!(
            violations(&schema, &json!("x")),
            Err(why.to_string()),
            "{schema}"
        );
    }
}

#[test]
fn checks_of_large_schemas_are_bounded() {
    let mut defs = serde_json::Map::new();
    for at in 0..50_000 {
        let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
        defs.insert(at.to_string(), next);
    }
    defs.insert("50000".into(), json!({"type": "string"}));
    let chain = json!({"$ref": "#/$defs/0", "$defs": defs});
    assert!(violations(&chain, &json!(1)).is_err());
    let names: Vec<String> = (0..1000).map(|at| format!("n{at}")).collect();
    let all = vec![json!({"$ref": "#/$defs/all"}); 1000];
    let many = json!({"allOf": all, "$defs": {"all": {"required": names}}});
    let why = violations(&many, &json!({})).unwrap_err();
    assert_eq!(why, "it has too many alternatives");
}
