//! Trees of documents of all shapes and sizes.

use super::*;
use crate::widgets::jobs::JobSpec;
use crate::widgets::jobs::tests::parts;
use crate::widgets::scroll;
use proptest::prelude::*;
use runtail_stream::projection::difference::{ChangeKind, Difference};
use serde_json::{Value, json};

/// Any JSON value, not too deep.
fn arb_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into)
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let field = (any::<String>(), inner.clone());
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(Into::into),
            proptest::collection::vec(field, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn words(line: &Line) -> String {
    line.left.iter().map(|piece| piece.text.as_str()).collect()
}

fn lines(tree: &Tree) -> Vec<String> {
    scroll::window(tree, LinePos::default(), 1000)
        .map(|spot| words(&tree.line(spot)))
        .collect()
}

/// Counts all lines by stepping through them.
fn count(tree: &Tree) -> usize {
    scroll::window(tree, LinePos::default(), usize::MAX).count()
}

fn set_cursor(tree: &mut Tree, row: usize) {
    let spot = scroll::window(&*tree, LinePos::default(), usize::MAX)
        .nth(row)
        .unwrap();
    tree.place.cursor = spot;
}

fn replace(tree: &mut Tree, text: &str) {
    tree.show(Arc::<str>::from(text).into(), 1, Vec::new());
}

/// Starts the next job of a tree under a number. Returns its task.
pub(crate) fn begin(tree: &mut Tree, number: u64) -> Option<JobSpec> {
    let run_jobs = tree.jobs_mut().next()?;
    run_jobs.number = number;
    Some(run_jobs.task.clone())
}

/// Runs all jobs of a tree, including those that follow from them. Calls `each` after every step.
pub(crate) fn run_jobs_with(tree: &mut Tree, mut each: impl FnMut(&Tree)) {
    for number in 1.. {
        let Some(task) = begin(tree, number) else {
            return;
        };
        for part in parts(&task) {
            tree.take(number, &part);
            each(tree);
        }
    }
}

fn run_jobs(tree: &mut Tree) {
    run_jobs_with(tree, |_| {});
}

fn large(items: usize) -> String {
    let item = |n: usize| {
        format!(
            r#"{{"id":"m{n}","content":"{}","tags":[1,2]}}"#,
            "word ".repeat(20)
        )
    };
    let items: Vec<String> = (0..items).map(item).collect();
    format!(
        r#"{{"messages":[{}],"turn":{}}}"#,
        items.join(","),
        items.len()
    )
}

#[test]
fn a_small_document_is_initially_unfolded() {
    let tree =
        Tree::new(r#"{"a": [1, {"b": null}], "c": "x\ny", "d": {}, "e": "7", "f": ""}"#.into());
    assert_eq!(
        lines(&tree),
        [
            "▾ 5 fields",
            "  ▾ a: 2 items",
            "      0: 1",
            "    ▾ 1: 1 field",
            "        b: null",
            "    c: x⏎y",
            "    d: {}",
            "    e: \"7\"",
            "    f: \"\""
        ]
    );
}

#[test]
fn folding_and_cursor_are_kept_by_path_in_a_new_state() {
    let mut tree = Tree::new(r#"{"a": [1, 2], "b": 1}"#.into());
    set_cursor(&mut tree, 1);
    tree.toggle();
    assert_eq!(
        lines(&tree),
        ["▾ 2 fields", "  ▸ a: 2 items  [1, 2]", "    b: 1"]
    );
    replace(&mut tree, r#"{"z": 0, "a": [1, 2, 3], "b": 2}"#);
    assert_eq!(
        lines(&tree),
        [
            "▾ 3 fields",
            "    z: 0",
            "  ▸ a: 3 items  [1, 2, 3]",
            "    b: 2"
        ]
    );
    assert_eq!(
        tree.path_under_cursor().as_deref(),
        Some("a"),
        "the cursor stays on its path"
    );
    replace(&mut tree, r#"{"b": 2}"#);
    assert_eq!(tree.path_under_cursor().as_deref(), Some("."));
}

#[test]
fn folded_objects_show_a_gist() {
    let messages = [
        json!({"type": "human", "content": "Where is\nit?"}),
        json!({"role": "ai", "name": "helper", "content": [{"type": "image"}, {"type": "text", "text": "There."}]}),
        json!({"type": "ai", "content": "", "tool_calls": [{"args": {}, "name": "find"}]}),
        json!({"content": null, "n": 1}),
    ];
    let mut tree = Tree::new(json!({ "messages": messages }).to_string().into());
    tree.prepare(60, 40);
    for row in 2..6 {
        set_cursor(&mut tree, row);
        tree.fold();
    }
    let shown = lines(&tree).join("\n");
    for gist in [
        " · human · Where is⏎it?",
        " · ai · helper · There.",
        " · ai · → find",
        "  {\"content\":null,\"n\":1}",
    ] {
        assert!(shown.contains(gist), "{gist}: {shown}");
    }
}

#[test]
fn invalid_json_is_shown_as_received() {
    assert_eq!(lines(&Tree::new("oops {".into())), ["  oops {"]);
    assert_eq!(lines(&Tree::new("{oops".into())), ["  {oops"]);
    assert_eq!(lines(&Tree::new("\"just text\"".into())), ["  just text"]);
    assert_eq!(lines(&Tree::new("null".into())), ["  null"]);
    let mut tree = Tree::new(format!("{{oops {}", r"a\n b ".repeat(500)).into());
    assert!(lines(&tree)[0].ends_with("…  3.0 kB"), "{:?}", lines(&tree));
    tree.toggle();
    assert!(
        lines(&tree).len() > 40 && lines(&tree)[1].contains(r"a\n b"),
        "{:?}",
        lines(&tree)
    );
}

#[test]
fn depth_overflows_neither_the_stack_nor_the_screen() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let mut tree = Tree::new(deep.into());
    tree.fold_all(false);
    tree.prepare(80, 20);
    assert_eq!(count(&tree), 10_001);
    tree.place.to_end(&tree.clone(), 20, false);
    tree.prepare(80, 20);
    let shown: Vec<String> = tree.window().iter().map(|(line, _)| words(line)).collect();
    assert_eq!(shown.last().unwrap().trim_start(), "‹10000› 0: 1");
    assert!(shown.iter().all(|line| line.len() < 80), "{shown:?}");
    (0..20).for_each(|_| tree.fold());
    assert_eq!(
        tree.under_cursor(),
        Some(9_990),
        "each level is folded, then left"
    );
}

#[test]
fn a_long_text_is_cut_and_can_be_expanded() {
    let mut tree = Tree::new(format!(r#"{{"a":"{}"}}"#, "word ".repeat(60)).into());
    tree.prepare(40, 20);
    assert!(lines(&tree)[1].ends_with("…  300 B"), "{:?}", lines(&tree));
    set_cursor(&mut tree, 1);
    tree.toggle();
    assert!(lines(&tree).len() > 8);
    assert_eq!(lines(&tree)[1], "    a: text, 300 B");
    tree.prepare(80, 20);
    tree.toggle();
    assert_eq!(lines(&tree).len(), 2);
}

#[test]
fn a_text_of_five_megabytes_without_spaces_can_be_scrolled() {
    let text = "x".repeat(5_000_000);
    let mut tree = Tree::new(format!(r#"{{"a":"{text}","b":1}}"#).into());
    run_jobs(&mut tree);
    tree.prepare(80, 10);
    tree.place.step(&tree.clone(), 10, 1);
    tree.toggle();
    tree.prepare(80, 10);
    assert_eq!(words(&tree.window()[1].0), "    a: text, 5.0 MB");
    // To its end, in one step.
    tree.place.to_end(&tree.clone(), 10, false);
    assert_eq!(tree.path_under_cursor().as_deref(), Some("b"));
    tree.place.step(&tree.clone(), 10, -1);
    tree.prepare(80, 10);
    let shown: Vec<(Line, bool)> = tree.window();
    assert!(
        shown
            .iter()
            .any(|(line, cursor)| *cursor && words(line).ends_with('x')),
        "{shown:?}"
    );
    assert_eq!(
        tree.value_under_cursor().map(|value| value.len()),
        Some(5_000_000)
    );
    let pieces = tree.doc.chunks(1).count() as u32;
    let shown: Vec<usize> = [1, 2, 3]
        .map(|part| tree.piece(1, part).iter().map(String::len).sum())
        .into();
    assert!(
        pieces > 600 && shown == [8192; 3],
        "no character is lost or shown twice: {shown:?}"
    );
}

#[test]
fn a_large_text_is_parsed_in_the_background() {
    let text: Arc<str> = large(20_000).into();
    let mut tree = Tree::empty();
    tree.show(
        text.clone().into(),
        7,
        vec![("messages".into(), 2_600_000), ("turn".into(), 5)],
    );
    tree.prepare(60, 10);
    let shown: Vec<String> = tree.window().iter().map(|(line, _)| words(line)).collect();
    assert_eq!(
        shown,
        [
            "◐ reading 2.8 MB … 0%",
            "    messages: 2.6 MB",
            "    turn: 5 B"
        ]
    );
    assert_eq!(
        (tree.tag(), tree.under_cursor(), tree.value_under_cursor()),
        (None, None, None)
    );
    // Keys that are pressed meanwhile do nothing harmful.
    tree.toggle();
    tree.fold();
    tree.unfold();
    tree.fold_all(false);
    tree.search("x");
    tree.next_match(true);
    run_jobs(&mut tree);
    tree.prepare(60, 10);
    assert_eq!((tree.tag(), tree.progress()), (Some(7), None));
    assert_eq!(words(&tree.window()[0].0), "▾ 2 fields, 2.8 MB");
}

#[test]
fn of_texts_that_arrive_during_a_job_only_the_newest_is_parsed() {
    let mut tree = Tree::new(r#"{"old":1}"#.into());
    let texts: Vec<Excerpt> = (0..3)
        .map(|n| Arc::<str>::from(large(8_000 + n)).into())
        .collect();
    tree.show(texts[0].clone(), 1, Vec::new());
    let task = begin(&mut tree, 9).unwrap();
    for (n, text) in texts.iter().enumerate().skip(1) {
        tree.show(text.clone(), n as u64 + 1, Vec::new());
    }
    assert_eq!(
        (tree.jobs().count(), tree.tag(), count(&tree)),
        (1, Some(0), 2),
        "the old one stays until then"
    );
    for part in parts(&task) {
        tree.take(8, &part);
        assert_eq!(tree.tag(), Some(0), "an unknown job number");
        tree.take(9, &part);
    }
    assert_eq!(tree.tag(), Some(1), "the started job is shown");
    run_jobs(&mut tree);
    assert_eq!(
        (tree.tag(), tree.jobs().count()),
        (Some(3), 0),
        "then the newest text"
    );
    // A small text is parsed at once, and cancels the job.
    tree.show(texts[0].clone(), 4, Vec::new());
    replace(&mut tree, "[1]");
    assert_eq!(
        (tree.jobs().count(), lines(&tree)),
        (0, vec!["▾ 1 item".to_string(), "    0: 1".to_string()])
    );
}

#[test]
fn after_a_failed_job_the_next_text_is_parsed() {
    let mut tree = Tree::new("[1]".into());
    let texts: Vec<Excerpt> = (0..3)
        .map(|n| Arc::<str>::from(large(8_000 + n)).into())
        .collect();
    tree.show(texts[0].clone(), 1, Vec::new());
    begin(&mut tree, 9).unwrap();
    tree.show(texts[1].clone(), 2, Vec::new());
    tree.take(9, &JobProgress::Failed);
    run_jobs(&mut tree);
    assert_eq!((tree.tag(), tree.jobs().count()), (Some(2), 0));
    // A text whose job was not started is replaced by the newer one.
    tree.show(texts[2].clone(), 3, Vec::new());
    tree.show(texts[0].clone(), 4, Vec::new());
    run_jobs(&mut tree);
    assert_eq!((tree.tag(), tree.jobs().count()), (Some(4), 0));
}

#[cfg(debug_assertions)]
#[test]
fn the_cost_of_a_screen_depends_on_its_visible_lines() {
    let mut tree = Tree::new(large(10_000).into());
    run_jobs(&mut tree);
    tree.fold_all(false);
    assert!(tree.doc.len() > 50_000);
    let changes: [fn(&mut Tree); 7] = [
        |_| {},
        |tree| tree.place.to_end(&tree.clone(), 40, false),
        |tree| tree.place.page(&tree.clone(), 40, -40),
        |tree| tree.fold_all(true),
        |tree| tree.place.to_start(&tree.clone(), 40),
        |tree| tree.fold_all(false),
        |tree| tree.go_to(40_000),
    ];
    for change in changes {
        let before = tree.doc.accesses();
        change(&mut tree);
        tree.prepare(100, 40);
        let lines = tree.window().len();
        let looked = tree.doc.accesses() - before;
        assert!(looked < 6_000, "{looked} nodes for {lines} lines");
    }
}

#[test]
fn changes_are_marked() {
    let mut tree = Tree::new(r#"{"a":{"x":1,"y":[]},"b":"one two","c":[1,2]}"#.into());
    let old = Arc::new(JsonIndex::new(Arc::<str>::from(
        r#"{"a":{"x":2,"y":[]},"b":"one","c":[1]}"#,
    )));
    tree.set_marks(Some(Difference::of(old, tree.doc.clone()).marks()));
    assert_eq!(
        lines(&tree),
        [
            "~ ▾ 3 fields  +6 B",
            "~   ▾ a: 2 fields",
            "~       x: 1",
            "        y: []",
            "~     b: one two  +4 B",
            "~   ▾ c: 2 items  +2 B",
            "        0: 1",
            "+       1: 2"
        ]
    );
    assert_eq!(lines::change_glyph(ChangeKind::Moved), "↕");
}

proptest! {
    #[test]
    fn any_text_can_be_shown(text in any::<String>()) {
        let mut tree = Tree::new(text.into());
        tree.prepare(30, 10);
        tree.toggle();
        tree.prepare(30, 10);
        lines(&tree);
    }

    #[test]
    fn any_json_keeps_its_nodes(value in arb_json()) {
        let mut tree = Tree::new(value.to_string().into());
        tree.fold_all(false);
        prop_assert_eq!(count(&tree), tree.doc.len() as usize);
    }

    #[test]
    fn stepping_forward_and_back_visits_the_same_lines(value in arb_json(), steps in proptest::collection::vec((0u8..8, 0usize..40), 0..20)) {
        let mut tree = Tree::new(value.to_string().into());
        tree.prepare(24, 6);
        for (step, row) in steps {
            let rows = count(&tree);
            match step {
                0 => set_cursor(&mut tree, row % rows),
                1 => tree.toggle(),
                2 => tree.fold(),
                3 => tree.unfold(),
                4 => tree.fold_all(row % 2 == 0),
                5 => tree.search("a"),
                6 => tree.next_match(row % 2 == 0),
                _ => replace(&mut tree, &value.to_string()),
            }
            tree.prepare(24, 6);
            let forward: Vec<u64> = std::iter::successors(Some(0), |key| tree.next(*key)).collect();
            let mut back: Vec<u64> = std::iter::successors(tree.last(), |key| tree.prev(*key)).collect();
            back.reverse();
            prop_assert_eq!(&forward, &back);
            prop_assert!(forward.contains(&tree.place.cursor.key), "{:?}", tree.place);
            let shown = tree.window();
            prop_assert_eq!(shown.iter().filter(|(_, cursor)| *cursor).count(), 1);
            prop_assert_eq!(shown.len(), 6.min(count(&tree)));
        }
    }
}
