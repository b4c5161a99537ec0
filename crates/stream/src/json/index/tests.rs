//! Tests that compare documents with what serde parses from the same texts.

use super::*;
use proptest::prelude::*;
use serde_json::Value;

/// Any JSON value, not too deep.
pub(crate) fn arb_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Parses a value of a document with serde.
pub(crate) fn value_of(doc: &JsonIndex, node: u32) -> Value {
    serde_json::from_str(doc.value(node)).unwrap()
}

fn find(doc: &JsonIndex, raw: &str) -> u32 {
    (0..doc.len()).find(|n| doc.value(*n) == raw).unwrap()
}

#[test]
fn nodes_have_32_bytes() {
    assert_eq!(size_of::<Node>(), 32);
}

#[test]
fn paths_use_jq_notation() {
    let text = r#"{"messages":[{},{"tool_calls":[{"args":{"city":"Kraków"}}]}],"a b":{"1":1,"":2,"x\ny":3,"é":4},"_ok9":5}"#;
    let doc = JsonIndex::new(Arc::from(text));
    for (raw, path) in [
        ("\"Kraków\"", "messages[1].tool_calls[0].args.city"),
        ("1", r#"["a b"]["1"]"#),
        ("2", r#"["a b"][""]"#),
        ("3", r#"["a b"]["x\ny"]"#),
        ("4", r#"["a b"]["é"]"#),
        ("5", "_ok9"),
        (text, "."),
    ] {
        assert_eq!(doc.path(find(&doc, raw)), path);
    }
    assert_eq!(JsonIndex::new(Arc::from("[[7]]")).path(2), "[0][0]");
}

#[test]
fn invalid_json_is_one_node() {
    for text in [
        "oops {", "{oops", "[1,2", "1 2", "[1}", "{\"a\"}", "", "\"open", "{1:2}", "]",
    ] {
        let doc = JsonIndex::new(Arc::from(text));
        assert_eq!(
            (doc.len(), doc.kind(0), doc.value(0)),
            (1, Kind::Other, text)
        );
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let doc = JsonIndex::new(Arc::from(deep));
    assert_eq!(
        (doc.len(), doc.depth(200_000), doc.value(200_000)),
        (200_001, 200_000, "1")
    );
    assert_eq!(doc.path(200_000).len(), 600_000);
}

#[test]
fn an_excerpt_can_be_indexed() {
    let whole: Arc<str> = r#"{"state":{"é":[1]}}"#.into();
    let doc = JsonIndex::new(Excerpt::new(whole.clone(), 9..whole.len() - 1).unwrap());
    assert_eq!(
        (doc.value(0), doc.path(2)),
        (r#"{"é":[1]}"#, r#"["é"][0]"#.to_string())
    );
    assert!(
        Excerpt::new(whole.clone(), 12..13).is_none(),
        "half a character"
    );
    assert!(Excerpt::new(whole, 9..99).is_none());
}

#[test]
fn counterparts_are_found_within_the_effort_limit() {
    let old = JsonIndex::new(Arc::from(r#"{"a":[1,{"b":"x"}],"c":7}"#));
    let new = JsonIndex::new(Arc::from(r#"{"z":0,"a":[1,{"q":1,"b":"y"},2]}"#));
    let counterpart =
        |raw: &str, mut effort: usize| new.counterpart(&old, find(&old, raw), &mut effort);
    assert_eq!(
        counterpart("\"x\"", 100).map(|n| new.value(n)),
        Some("\"y\"")
    );
    assert_eq!(counterpart("7", 100), None);
    assert_eq!(counterpart("\"x\"", 3), None, "beyond the effort limit");
}

proptest! {
    #[test]
    fn every_value_is_a_node_with_its_text(value in arb_json(), step in 1usize..50, pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut reading = Reading::new(Arc::<str>::from(text.as_str()).into());
        while !reading.step(step) {}
        prop_assert_eq!(reading.done(), text.len());
        let doc = reading.finish();
        let mut todo = vec![(value, 0u32)];
        let mut seen = 0;
        while let Some((value, node)) = todo.pop() {
            seen += 1;
            prop_assert_eq!(&value_of(&doc, node), &value);
            let children: Vec<u32> = doc.children(node).collect();
            prop_assert_eq!(children.len(), doc.children_count(node) as usize);
            for child in &children {
                prop_assert_eq!(doc.parent(*child), Some(node));
                prop_assert!(doc.contains(node, *child));
            }
            match value {
                Value::Array(items) => todo.extend(items.into_iter().zip(children)),
                Value::Object(fields) => {
                    for ((key, value), child) in fields.into_iter().zip(children) {
                        prop_assert_eq!(doc.key(child).map(unquote), Some(key));
                        todo.push((value, child));
                    }
                }
                _ => {}
            }
        }
        prop_assert_eq!(seen, doc.len());
        let mut effort = 0;
        for node in 0..doc.len() {
            prop_assert_eq!(doc.counterpart(&doc, node, &mut effort), Some(node));
        }
    }

    #[test]
    fn any_text_is_a_document(text in "[\\[\\]{}\":, \\\\1ae\n]{0,30}") {
        let doc = JsonIndex::new(Arc::from(text));
        for node in 0..doc.len() {
            let read = (doc.kind(node), doc.value(node), doc.key(node), doc.path(node));
            prop_assert!(read.1.len() <= doc.value(0).len());
        }
    }
}
