//! Searches in documents of all sizes.

use super::*;
use crate::widgets::jobs::tests::parts;
use crate::widgets::json_tree::tests::{begin, run_jobs_with};

#[test]
fn a_search_unfolds_matches_and_wraps_around() {
    let items: Vec<String> = (0..80)
        .map(|n| format!(r#"{{"name":"x{n}","deep":{{"Key":{n}}}}}"#))
        .collect();
    let mut tree = Tree::new(format!(r#"{{"a":[{}],"key":"KEY"}}"#, items.join(",")).into());
    tree.search("x77");
    assert_eq!(
        (tree.search_place(), tree.value_under_cursor()),
        (Some((1, 1)), Some("x77".into()))
    );
    tree.search("key");
    let (_, count) = tree.search_place().unwrap();
    assert_eq!(count, 81, "from the cursor on, ignoring case");
    assert_eq!(tree.value_under_cursor().as_deref(), Some("77"));
    (0..3).for_each(|_| tree.next_match(true));
    assert_eq!(tree.value_under_cursor().as_deref(), Some("KEY"));
    tree.next_match(true);
    assert_eq!(
        tree.value_under_cursor().as_deref(),
        Some("0"),
        "wraps around at the end"
    );
    tree.next_match(false);
    assert_eq!(tree.value_under_cursor().as_deref(), Some("KEY"));
    tree.search("nowhere");
    assert_eq!(tree.search_place(), Some((0, 0)));
    tree.next_match(true);
}

#[test]
fn the_cursor_moves_to_a_match_deep_in_a_long_text() {
    let text = format!("{}the needle{}", "hay ".repeat(2_000), " hay".repeat(2_000));
    let mut tree = Tree::new(
        serde_json::json!({"id": 1, "message": text})
            .to_string()
            .into(),
    );
    tree.prepare(60, 10);
    tree.search("needle");
    tree.prepare(60, 10);
    let spot = tree.place.cursor;
    let shown: String = tree
        .line(spot)
        .left
        .iter()
        .map(|piece| piece.text.as_str())
        .collect();
    assert!(
        spot.line > 50 && shown.contains("needle"),
        "{spot:?} {shown}"
    );
    assert!(
        tree.window().iter().any(|(_, cursor)| *cursor),
        "the match is on the screen: {:?}",
        tree.place
    );
    // A match in the key does not expand the text.
    tree.search("message");
    assert_eq!(tree.search_place(), Some((1, 1)));
}

#[test]
fn escaped_text_is_searched_decoded() {
    let text = r#"{"a":"caf\u00e9 \"au lait\"","\u00c9t\u00e9":1,"b":"one\ntwo","c":"\ud83d\ude00","d":"c:\\temp","e":"CAFÉ","f":-1.5e3}"#;
    for (wanted, found) in [
        ("café", 2),
        ("CAFÉ", 1),
        ("é \"au", 1),
        ("été", 1),
        ("e\nt", 1),
        ("ntwo", 0),
        ("u00e9", 0),
        ("😀", 1),
        (r"c:\\temp", 1),
        (r"\\\\", 0),
        ("\"", 1),
        (r"-1\.5e3", 1),
    ] {
        let mut tree = Tree::new(text.into());
        tree.search(wanted);
        assert_eq!(
            tree.search_place().map(|(_, count)| count),
            Some(found),
            "{wanted}"
        );
    }
}

#[test]
fn a_large_document_is_searched_in_the_background() {
    let items: Vec<String> = (0..60_000)
        .map(|n| format!(r#"{{"name":"item {n}","deep":["x"]}}"#))
        .collect();
    let mut tree = Tree::new("[]".into());
    tree.show(
        Arc::<str>::from(format!("[{}]", items.join(","))).into(),
        1,
        Vec::new(),
    );
    run_jobs_with(&mut tree, |_| {});
    tree.search("item 5999");
    assert_eq!(
        (tree.search_place(), tree.search_progress()),
        (Some((0, 0)), Some(0))
    );
    let mut seen = Vec::new();
    run_jobs_with(&mut tree, |tree| {
        seen.push((tree.search_place(), tree.search_progress()))
    });
    assert!(seen.len() > 2, "{seen:?}");
    assert!(
        seen[0].0 == Some((1, 1)),
        "the first match is shown while the rest is searched: {seen:?}"
    );
    assert!(
        seen[0].1.is_some_and(|percent| (1..100).contains(&percent)),
        "{seen:?}"
    );
    assert_eq!(seen.last(), Some(&(Some((1, 11)), None)));
    assert_eq!(tree.path_under_cursor().as_deref(), Some("[5999].name"));
    tree.next_match(false);
    assert_eq!(
        tree.value_under_cursor().as_deref(),
        Some("item 59999"),
        "wraps around at the start"
    );
    // Another letter starts a new search; late matches of the first one are ignored.
    tree.search("item 59999");
    begin(&mut tree, 2);
    tree.take(
        1,
        &crate::widgets::jobs::JobProgress::Found {
            found: vec![FoundNode { node: 1, piece: 0 }],
            upto: 2,
        },
    );
    assert_eq!(tree.search_place(), Some((0, 0)));
}

#[test]
fn the_cursor_moves_to_a_match_far_into_a_huge_text() {
    let text = format!(
        "{} the needle {}",
        "hay ".repeat(200_000),
        "hay\n".repeat(50_000)
    );
    let mut tree = Tree::new("1".into());
    tree.show(
        Arc::<str>::from(serde_json::json!({"id": 1, "message": text}).to_string()).into(),
        1,
        Vec::new(),
    );
    run_jobs_with(&mut tree, |_| {});
    tree.prepare(60, 10);
    tree.search("needle");
    let task = begin(&mut tree, 2).unwrap();
    parts(&task).iter().for_each(|part| tree.take(2, part));
    assert_eq!(tree.search_place(), Some((1, 1)));
    tree.prepare(60, 10);
    let cursor = tree
        .window()
        .into_iter()
        .find(|(_, cursor)| *cursor)
        .unwrap();
    let shown: String = cursor
        .0
        .left
        .iter()
        .map(|piece| piece.text.as_str())
        .collect();
    assert!(shown.contains("needle"), "{shown}");
}
