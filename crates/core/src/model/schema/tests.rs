use super::*;
use jsonschema::error::ValidationErrorKind;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

fn rules(schema: Value, value: Value) -> Vec<String> {
    let found = violations(&schema, &value).unwrap().into_iter();
    found
        .map(|one| format!("{} {}", one.path.join("."), one.rule))
        .collect()
}

#[test]
fn violations_name_the_field_and_the_rule() {
    let schema = json!({
        "type": "object", "required": ["approve"], "additionalProperties": false,
        "properties": {
            "approve": {"type": "boolean"},
            "score": {"type": "integer", "minimum": 0, "maximum": 10, "multipleOf": 2},
            "share": {"type": ["number", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "color": {"enum": ["red", "amber"]},
            "many": {"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9]},
            "sure": {"const": "yes"},
            "note": {"anyOf": [{"type": "string", "minLength": 3}, {"type": "null"}]},
            "maybe": {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 1}, "minItems": 1, "maxItems": 2, "uniqueItems": true},
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
            "old": false,
            "other": {"$ref": "#/$defs/size"},
            "not": {"not": {}},
        },
        "$defs": {"size": {"type": "integer"}},
    });
    for (name, value, expected) in [
        ("note", json!(null), ""),
        ("score", json!(12), "score must be at most 10"),
        ("score", json!(-2), "score must be at least 0"),
        ("score", json!(3), "score must be a multiple of 2"),
        (
            "score",
            json!(4.5),
            "score must be an integer; score must be a multiple of 2",
        ),
        ("share", json!(0), "share must be greater than 0"),
        ("share", json!(1), "share must be less than 1"),
        ("share", json!("x"), "share must be a number or null"),
        ("color", json!("blue"), "color must be one of red, amber"),
        (
            "many",
            json!(0),
            "many must be one of 1, 2, 3, 4, 5, 6, 7, 8, …",
        ),
        ("sure", json!("no"), "sure must be yes"),
        ("note", json!("x"), "note must have at least 3 characters"),
        ("maybe", json!({}), "maybe.a required"),
        (
            "either",
            json!([]),
            "either must fit one of the alternatives in the schema",
        ),
        ("tags", json!([]), "tags must have at least 1 entry"),
        (
            "tags",
            json!(["a", "b", "c"]),
            "tags must have at most 2 entries",
        ),
        (
            "tags",
            json!(["a", "a"]),
            "tags must not have duplicate entries",
        ),
        ("tags", json!(["a", 1]), "tags.1 must be text"),
        (
            "tags",
            json!(["ab"]),
            "tags.0 must have at most 1 character",
        ),
        ("code", json!("a"), "code must match the pattern ^[A-Z]+$"),
        (
            "old",
            json!(1),
            "old must be left out: no value is allowed here",
        ),
        ("other", json!("x"), "other must be an integer"),
        ("not", json!(1), "not breaks the rule \"not\" of the schema"),
        ("extra", json!(1), "extra is not a field of this form"),
        (
            "approve",
            json!(1),
            "approve must be yes or no (true or false)",
        ),
    ] {
        let mut answer = json!({"approve": true});
        answer[name] = value;
        assert_eq!(rules(schema.clone(), answer).join("; "), expected);
    }
    assert_eq!(rules(schema.clone(), json!({})), ["approve required"]);
    assert_eq!(rules(schema, json!([])), [" must be an object"]);
    let old = json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "date"});
    assert_eq!(rules(old, json!("x")), [" must be a valid date"]);
}

#[test]
fn a_pattern_that_takes_too_long_is_stopped() {
    let text = format!("{}!", "a".repeat(60));
    assert_eq!(
        rules(json!({"pattern": "^(?=(a+)+$)(a|aa)+\\1$"}), json!(text)).len(),
        1
    );
}

/// Checks that the crate `jsonschema` finds mistakes in the same places. What is refused here is not compared.
fn agrees(schema: &Value, value: &Value) {
    let Ok(ours) = violations(schema, value) else {
        return;
    };
    let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(100_000);
    let validator = jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema);
    let validator = validator.unwrap_or_else(|why| panic!("{schema} was used, but {why}"));
    // These have words of their own here.
    let other = "additionalItems additionalProperties contains falseSchema maxProperties minProperties not propertyNames";
    let mut theirs = BTreeSet::new();
    for error in validator.iter_errors(value) {
        if other.split(' ').any(|word| word == error.kind().keyword()) {
            continue;
        }
        let name = match error.kind() {
            ValidationErrorKind::Required { property } => property.as_str(),
            _ => None,
        };
        let path = error.instance_path().as_str().split('/').skip(1);
        let path = path.map(|part| part.replace("~1", "/").replace("~0", "~"));
        theirs.insert(path.chain(name.map(String::from)).collect::<Vec<_>>());
    }
    assert_eq!(
        ours.is_empty(),
        validator.is_valid(value),
        "{schema}\n{value}\n{ours:?}"
    );
    // Which of many are reported depends on the order, and of alternatives, the one that is reported on how null is written.
    let text = schema.to_string();
    if theirs.len() < MAX_VIOLATIONS && !text.contains("\"anyOf\"") && !text.contains("\"oneOf\"") {
        let is_other = |rule: &str| {
            ["breaks the rule", "is not a field", "must be left out"]
                .iter()
                .any(|words| rule.starts_with(words))
        };
        let ours: BTreeSet<_> = ours
            .into_iter()
            .filter(|one| !is_other(&one.rule))
            .map(|one| one.path)
            .collect();
        assert_eq!(ours, theirs, "{schema}\n{value}");
    }
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
    let pick = |names: &'static [&'static str], values: Vec<Value>| {
        let name = prop::sample::select(names).prop_map(String::from);
        (name, prop::sample::select(values))
    };
    let texts = |all: &[&str]| all.iter().map(|one| json!(one)).collect();
    let types = texts(&[
        "string", "integer", "number", "boolean", "object", "array", "null",
    ]);
    let sizes = &[
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ];
    let limits = &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let named = |name: &'static str, value: Value| (name.to_string(), value);
    prop_oneof![
        pick(&["type"], types),
        (prop::sample::select(limits), number()).prop_map(move |(name, limit)| named(name, limit)),
        pick(
            &["multipleOf"],
            vec![json!(1), json!(0.01), json!(2), json!(2.5)]
        ),
        pick(sizes, vec![json!(0), json!(1), json!(2)]),
        pick(
            &["pattern"],
            texts(&["^a", "\\d", "^(?!b)", "^\\w+$", "\\s", "[ab]{2}"])
        ),
        pick(
            &["format"],
            texts(&["date", "time", "date-time", "ipv4", "ipv6", "regex"])
        ),
        pick(&["uniqueItems"], vec![json!(true), json!(false)]),
        pick(&["$ref"], texts(&["#/$defs/one"])),
        prop::collection::vec(value(), 1..3).prop_map(move |all| named("enum", json!(all))),
        value().prop_map(move |one| named("const", one)),
        prop::collection::hash_set(text(), 0..3).prop_map(move |all| named("required", json!(all))),
        (text(), text())
            .prop_map(move |(one, other)| named("dependentRequired", json!({one: [other]}))),
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
        (json!({"type": 7}), "\"type\" can't be 7"),
        (
            json!({"$ref": "https://example.com/schema.json"}),
            "it refers to https://example.com/schema.json, which is not in it",
        ),
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
