//! Tests of differences. Applying the changes to the old document must result in the new one.

use super::*;
use crate::json::index::tests::{arb_json, value_of};
use crate::json::index::unquote;
use proptest::prelude::*;
use serde_json::{Value, json};

fn difference(old: &str, new: &str) -> Difference {
    Difference::of(
        Arc::new(JsonIndex::new(Arc::from(old))),
        Arc::new(JsonIndex::new(Arc::from(new))),
    )
}

/// Describes the changes: `~ a.b 1 → 2`.
fn described(old: &str, new: &str) -> Vec<String> {
    let difference = difference(old, new);
    let describe = |change: &Change| {
        let path = difference.path(change);
        let (old, new) = (
            difference.old.value(change.old),
            difference.new.value(change.new),
        );
        match change.kind {
            ChangeKind::Added => format!("+ {path} {new}"),
            ChangeKind::Removed => format!("- {path} {old}"),
            ChangeKind::Changed if change.kept > 0 => {
                format!(
                    "~ {path} …{}",
                    &new[change.kept as usize + 1..new.len() - 1]
                )
            }
            ChangeKind::Changed => format!("~ {path} {old} → {new}"),
            ChangeKind::Moved => format!("m {path} from {}", difference.old.index(change.old)),
        }
    };
    difference.changes.iter().map(describe).collect()
}

/// Applies all changes to the old document.
fn applied(difference: &Difference, node: u32) -> Value {
    let Difference {
        old, new, changes, ..
    } = difference;
    let find =
        |kind: ChangeKind, node: u32| changes.iter().find(|c| c.kind == kind && c.old == node);
    if let Some(change) = find(ChangeKind::Changed, node) {
        if change.kept > 0 {
            let text = new.value(change.new);
            let appended = unquote(&format!("\"{}", &text[change.kept as usize + 1..]));
            assert_eq!(unquote(text), unquote(old.value(node)) + &appended);
        }
        return value_of(new, change.new);
    }
    let is_kept = |child: &u32| find(ChangeKind::Removed, *child).is_none();
    let added: Vec<u32> = changes
        .iter()
        .filter(|c| c.kind == ChangeKind::Added && c.old == node)
        .map(|c| c.new)
        .collect();
    match old.kind(node) {
        Kind::Object => {
            let field = |doc: &JsonIndex, child| doc.key(child).map(unquote).unwrap();
            let kept = old
                .children(node)
                .filter(is_kept)
                .map(|child| (field(old, child), applied(difference, child)));
            kept.chain(
                added
                    .iter()
                    .map(|child| (field(new, *child), value_of(new, *child))),
            )
            .collect()
        }
        Kind::Array => {
            let (mut list, mut placed) = (Vec::new(), Vec::new());
            for child in old.children(node).filter(is_kept) {
                match find(ChangeKind::Moved, child) {
                    Some(moved) => placed.push((new.index(moved.new), applied(difference, child))),
                    None => list.push(applied(difference, child)),
                }
            }
            placed.extend(
                added
                    .iter()
                    .map(|child| (new.index(*child), value_of(new, *child))),
            );
            placed.sort_by_key(|(at, _)| *at);
            placed
                .into_iter()
                .for_each(|(at, value)| list.insert(at as usize, value));
            Value::Array(list)
        }
        _ => value_of(old, node),
    }
}

#[test]
fn changes_are_described() {
    for (old, new, changes) in [
        // Members of lists are aligned by their ids.
        (
            r#"{"m":[{"id":"1","x":"a"},{"id":"2","x":"Let me"},{"id":"3","x":"c"},{"id":"4","x":"d"}]}"#,
            r#"{"m":[{"id":"4","x":"d"},{"id":"2","x":"Let me check."},{"id":"3","x":"c"},{"id":"5","x":"e"}]}"#,
            r#"m m[0] from 3; - m[0] {"id":"1","x":"a"}; ~ m[1].x … check.; + m[3] {"id":"5","x":"e"}"#,
        ),
        // The `id` of serialized LangChain objects is their class.
        (
            r#"[{"lc":1,"id":["H"],"kwargs":{"x":"a","id":"1"}},{"lc":1,"id":["H"],"kwargs":{"x":"b","id":"2"}}]"#,
            r#"[{"lc":1,"id":["H"],"kwargs":{"x":"c","id":"2"}}]"#,
            r#"- [0] {"lc":1,"id":["H"],"kwargs":{"x":"a","id":"1"}}; ~ [0].kwargs.x "b" → "c""#,
        ),
        // Lists without ids are aligned by value.
        ("[1,2,3,4,5]", "[1,3,4,9,5]", "- [1] 2; + [3] 9"),
        (
            r#"["a","b"]"#,
            r#"["a","x","b","c"]"#,
            r#"+ [1] "x"; + [3] "c""#,
        ),
        (
            r#"[{"n":1},{"n":2}]"#,
            r#"[{"n":1},{"n":3}]"#,
            "~ [1].n 2 → 3",
        ),
        // Duplicate ids can't identify members.
        (
            r#"[{"id":1,"x":1},{"id":1,"x":2}]"#,
            r#"[{"id":1,"x":1},{"id":1,"x":3}]"#,
            "~ [1].x 2 → 3",
        ),
        // Members with different ids are different members.
        (
            r#"[{"id":"a","x":1},1]"#,
            r#"[{"id":"b","x":1},2]"#,
            r#"- [0] {"id":"a","x":1}; + [0] {"id":"b","x":1}; ~ [1] 1 → 2"#,
        ),
        // The format doesn't matter, the type does.
        (
            r#"{"a":[1,"é"],"b":{"x":null,"y":2}}"#,
            "{\"b\": {\"y\": 2, \"x\" :null},\n\"a\": [1, \"\\u00e9\"]}",
            "",
        ),
        (r#"{"a":"1"}"#, r#"{"a":1}"#, r#"~ a "1" → 1"#),
        (r#"{"a":{}}"#, r#"{"a":[]}"#, "~ a {} → []"),
        (r#"{"a":[1]}"#, r#"{"a":[]}"#, "- a[0] 1"),
        // States of any type can be compared.
        ("null", r#"{"a":1}"#, r#"~ . null → {"a":1}"#),
        (r#""hello""#, r#""hello world""#, "~ . … world"),
        (r#"{"a":1,"a":2}"#, r#"{"a":1}"#, "- a 2"),
        (r#"{"a":1}"#, r#"{"a":1,"a":2}"#, "+ a 2"),
        ("oops {", "oops {}", "~ . oops { → oops {}"),
    ] {
        assert_eq!(described(old, new).join("; "), changes, "{old} {new}");
    }
}

#[test]
fn equal_values_are_skipped() {
    let message = |n: usize, last: bool| {
        let text = if last {
            "the newest".repeat(n % 3)
        } else {
            "word ".repeat(20)
        };
        json!({"id": format!("m{n}"), "content": text, "usage": {"in": n, "out": [1, 2, 3]}})
    };
    let list = |count: usize| (0..count).map(|n| message(n, false)).collect::<Vec<_>>();
    let old = json!({"log": (0..5_000).collect::<Vec<_>>(), "messages": list(2_000)});
    let mut new = json!({"messages": list(2_000), "log": (0..5_000).collect::<Vec<_>>()});
    new["messages"]
        .as_array_mut()
        .unwrap()
        .push(message(2_000, true));
    let difference = difference(&old.to_string(), &new.to_string());
    assert_eq!((difference.total(), difference.changes.len()), (1, 1));
    assert!(
        difference.old.len() > 20_000 && difference.compared < 5,
        "{}",
        difference.compared
    );
    let marks = difference.marks();
    let mut marked: Vec<_> = marks
        .iter()
        .map(|(n, m)| (difference.new.path(*n), m.kind, m.growth > 0))
        .collect();
    marked.sort();
    assert_eq!(
        marked,
        [
            (".".to_string(), ChangeKind::Changed, true),
            ("messages".to_string(), ChangeKind::Changed, true),
            ("messages[2000]".to_string(), ChangeKind::Added, true)
        ]
    );
}

#[test]
fn long_lists_are_compared_by_position_and_reported() {
    let old: Vec<u32> = (0..30_000).collect();
    let new: Vec<u32> = (1..=30_000).map(|n| n * 2 + 1).collect();
    let difference = difference(
        &json!({"a": old}).to_string(),
        &json!({"a": new}).to_string(),
    );
    assert_eq!(difference.by_position.len(), 1);
    assert_eq!(
        (difference.total(), difference.changes.len()),
        (30_000, MAX_CHANGES),
        "further changes are only counted"
    );
}

#[test]
fn deep_nesting_costs_no_stack_and_little_work() {
    let deep = |leaf: &str| format!("{}{leaf}{}", "[1,".repeat(10_000), "]".repeat(10_000));
    let difference = difference(&deep("1"), &deep("2"));
    assert_eq!((difference.total(), difference.compared), (1, 10_001));
    assert_eq!(difference.marks().len(), 10_001);
}

/// Two similar values: few keys, few scalars, some ids.
fn arb_pair() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0..4i64).prop_map(Into::into),
        "[ab]{0,3}".prop_map(Into::into)
    ];
    let value = leaf.prop_recursive(4, 48, 8, |inner| {
        let member =
            (0..6i64, inner.clone()).prop_map(|(id, x)| json!({"id": id.to_string(), "x": x}));
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..7).prop_map(Into::into),
            proptest::collection::vec(member, 0..7).prop_map(Into::into),
            proptest::collection::vec(("[abc]", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    });
    (value.clone(), value)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn applying_the_changes_gives_the_new_document((old, new) in arb_pair()) {
        let difference = difference(&old.to_string(), &new.to_string());
        prop_assert_eq!(applied(&difference, 0), new.clone());
        prop_assert_eq!(difference.total() == 0, old == new);
        for node in difference.marks().keys() {
            prop_assert!(*node < difference.new.len());
        }
    }

    #[test]
    fn equal_documents_do_not_differ(value in arb_json()) {
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(difference(&value.to_string(), &pretty).total(), 0);
    }

    #[test]
    fn any_two_documents_can_be_compared(old in arb_json(), new in arb_json()) {
        let difference = difference(&old.to_string(), &new.to_string());
        prop_assert_eq!(applied(&difference, 0), new);
    }
}
