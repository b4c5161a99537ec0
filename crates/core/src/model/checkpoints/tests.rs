//! Trees of real and of random histories.

use super::graph::MAX_LANES;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

fn capture(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/history")
        .join(name);
    let capture: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    capture["response"]["body"].to_string()
}

fn tree(history: &str) -> CheckpointTree {
    CheckpointTree::new(Checkpoint::read_all(history).into_iter().map(Arc::new))
}

/// Draws a tree as text: the graph, step, nodes, and what was written.
fn drawn(tree: &CheckpointTree) -> String {
    let line = |row: &GraphRow| {
        let (before, after) = row.text();
        let Some(at) = row.entry else { return before };
        let mark = match tree.outcome(at) {
            StepOutcome::Failed => '✗',
            StepOutcome::Asks => '◆',
            StepOutcome::Good => '●',
        };
        let step = tree.entries()[at].step.unwrap_or_default();
        let current = if tree.is_current(at) { "*" } else { "" };
        format!(
            "{before}{mark}{after} {step}{current} {}: {}",
            tree.writers(at).join("+"),
            tree.wrote(at)
        )
    };
    tree.rows()
        .iter()
        .map(|row| line(row).trim_end().to_string() + "\n")
        .collect()
}

#[test]
fn branches_of_a_python_thread_are_drawn() {
    let tree = tree(&capture("fork-history.json"));
    assert_eq!(
        drawn(&tree),
        "\
● 5* fork: run again · end
● 4* c: log [\"c\"] · end
● 3* b+c: b log [\"b\"], c log [\"c\"]
● 2* fork: run again
│ ● 6 c: log [\"c\"] · end
│ ● 5 b: log [\"b\"]
│ ● 4 a: log [\"a\"]
│ ● 3 __start__: log [\"newinput\"]
│ ● 2 input: \"newinput\"
│ │ ● 4 c: log [\"c\"] · end
│ │ ● 3 b: log [\"b\"]
│ │ ● 2 edit: log + \"EDIT\"
│ │ │ ● 3 b: log [\"b\"] · next: c
│ │ │ ● 2 fork: run again
│ │ │ │ ● 4 c: log [\"c\"] · end
│ │ │ │ ● 3 b: log [\"b\"]
│ │ │ │ ● 2 fork: run again
│ │ │ │ │ ● 3 c: log [\"c\"] · end
│ │ │ │ │ ● 2 b: log [\"b\"]
├─┴─┴─┴─┴─╯
● 1* a: log [\"a\"]
● 0* __start__: log [\"in\"]
● -1* input: \"in\"
"
    );
    assert_eq!((tree.len(), tree.branches()), (22, 6));
    assert!(tree.is_branch_point(19) && !tree.is_branch_point(18));
}

#[test]
fn branches_of_a_javascript_thread_are_drawn() {
    let drawn = drawn(&tree(&capture("js-fork-history.json")));
    assert_eq!(drawn.lines().next(), Some("● 4* edit: state edited · end"));
    // Its forks with `goto` have two checkpoints.
    assert!(
        drawn.contains("│ ● 3 input:\n") && drawn.contains("│ ● 2 fork: run again"),
        "{drawn}"
    );
    assert!(drawn.contains("├─┴─┴─╯\n● 1* a: log [\"a\"]\n"), "{drawn}");
}

#[test]
fn open_questions_and_failures_are_marked() {
    let asking = drawn(&tree(&capture("int-nested-history.json")));
    assert_eq!(
        asking.lines().next(),
        Some("◆ 1* top: next asks: leaf? (mid) · top wrote log [\"top\"]")
    );
    let checkpoint = &Checkpoint::read_all(&capture("int-nested-history.json"))[0];
    assert!(
        checkpoint.tasks[0]
            .subgraph
            .as_deref()
            .is_some_and(|ns| ns.starts_with("mid:"))
    );
    let asking = drawn(&tree(&capture("int-hitl-history.json")));
    assert!(
        asking.starts_with(
            "◆ 1* model: next asks: 3 actions (HumanInTheLoopMiddleware.after_model) · model wrote +1 message"
        ),
        "{asking}"
    );
    // Answered: the server still lists the questions, but the step has ended.
    let ended = drawn(&tree(&capture("int-parallel-history-end.json")));
    assert!(
        !ended.contains('◆') && ended.contains("ask_one ×3"),
        "{ended}"
    );
    // A state has the form of an entry.
    let failed = drawn(&tree(&format!("[{}]", capture("failed-state.json"))));
    assert_eq!(
        failed.lines().next(),
        Some("✗ 1* : next failed: ValueError: n must not be 0 (maybe)")
    );
}

/// As the JavaScript server records a thread whose two questions were answered: without the results of the nodes that asked.
#[test]
fn nodes_whose_results_are_not_recorded_are_named() {
    let entry = |id: &str, parent: Option<&str>, step: i64, tasks: Value| {
        json!({"checkpoint_id": id, "parent_checkpoint_id": parent, "metadata": {"source": "loop", "step": step},
            "next": tasks.as_array().unwrap().iter().map(|task| task["name"].clone()).collect::<Vec<_>>(), "tasks": tasks})
    };
    let asked = |node: &str| json!({"id": node, "name": node, "result": null, "interrupts": [{"id": node, "value": "Go?"}]});
    let history = json!([
        entry("3", Some("2"), 2, json!([])),
        entry(
            "2",
            Some("1"),
            1,
            json!([{"id": "d", "name": "done", "result": {"n": 1}, "interrupts": []}])
        ),
        entry("1", None, 0, json!([asked("left"), asked("right")])),
    ]);
    let tree = tree(&history.to_string());
    assert_eq!(
        (tree.writers(0), tree.writers(1)),
        (
            vec!["done".to_string()],
            vec!["left".to_string(), "right".to_string()]
        )
    );
}

/// A checkpoint lists the tasks that are next. Those that wrote it are the tasks of the one before it.
#[test]
fn writes_are_credited_to_the_tasks_before_a_checkpoint() {
    let row = |id: &str, parent: Option<&str>, source: &str, writes: Value, tasks: &[&Value]| {
        json!({"checkpoint_id": id, "parent_checkpoint_id": parent, "next": ["n"], "tasks": tasks,
            "metadata": {"source": source, "step": 1, "writes": writes}})
    };
    let none = Value::Null;
    let task = |node: &str, result: Value| json!({"id": node, "name": node, "result": result, "interrupts": []});
    let asking = json!({"id": "d", "name": "ask", "result": null, "interrupts": [{"id": "i", "value": "Go?"}]});
    let failing = json!({"id": "e", "name": "pay", "error": "ValueError('no')", "result": null, "interrupts": []});
    let [a, idle, b] = [
        task("a", json!({"x": 1})),
        task("idle", none.clone()),
        task("b", json!({"y": 2})),
    ];
    // A retried task keeps its error.
    let retried = json!({"id": "r", "name": "retried", "error": "ValueError('no')", "result": {"z": 3}, "interrupts": []});
    let history = json!([
        row("9", Some("8"), "loop", none.clone(), &[&failing]),
        row("8", Some("7"), "loop", none.clone(), &[&retried]),
        row(
            "7",
            Some("6"),
            "loop",
            none.clone(),
            &[&task("silent", none.clone())]
        ),
        row(
            "6",
            Some("5"),
            "update",
            json!({"a": {"x": 9}}),
            &[&task("c", json!({"y": 4}))]
        ),
        row("5", Some("4"), "loop", none.clone(), &[&asking]),
        row(
            "4",
            Some("3"),
            "loop",
            json!({"old": {"x": 1}, "older": null}),
            &[&a, &idle, &b]
        ),
        row(
            "3",
            Some("gone"),
            "loop",
            none.clone(),
            &[&task("next", json!({"x": 7}))]
        ),
        row("2", None, "", none, &[]),
    ]);
    let tree = tree(&history.to_string());
    let lines: Vec<String> = (0..tree.len())
        .map(|at| format!("{}: {}", tree.writers(at).join("+"), tree.wrote(at)))
        .collect();
    assert_eq!(
        lines,
        [
            "retried: next failed: ValueError: no (pay) · retried wrote z 3",
            "silent: ",
            "c: y 4",
            "edit: state edited",
            // The step after it asked and then an edit followed.
            "a+b: next asked: Go? (ask) · a, b wrote a x 1, b y 2",
            "old+older: x 1",
            ": ",
            ": next: n",
        ]
    );
}

#[test]
fn entries_without_a_loaded_parent_keep_an_open_rail() {
    let entry = |id: &str, parent: Option<&str>| json!({"checkpoint_id": id, "parent_checkpoint_id": parent, "metadata": {"source": "loop", "step": 1}, "next": ["n"]});
    let history = json!([
        entry("9", Some("7")),
        entry("8", Some("1")),
        entry("7", Some("2")),
        entry("6", None),
        entry("5", None)
    ]);
    let tree = tree(&history.to_string());
    let rows: Vec<String> = tree
        .rows()
        .iter()
        .map(|row| [row.text().0, "●".into(), row.text().1].concat())
        .collect();
    // The last two have no parents, so the second must not seem to be the first one's.
    assert_eq!(rows, ["●", "│ ●", "● │", "│ │ ●", "│ │   ●"]);
    assert_eq!(
        [0, 1, 2, 3].map(|at| tree.parent(at)),
        [
            Parent::At(2),
            Parent::NotLoaded,
            Parent::NotLoaded,
            Parent::None
        ]
    );
}

#[test]
fn odd_histories_are_harmless() {
    for odd in [
        "",
        "null",
        "[1,[],{},null]",
        "{\"a\":1}",
        r#"[{"checkpoint_id":""}]"#,
        r#"[{"checkpoint_id":["x"]}]"#,
    ] {
        assert!(Checkpoint::read_all(odd).is_empty(), "{odd}");
    }
    let long = format!("[{{\"checkpoint_id\":\"{}\"}}]", "x".repeat(300));
    assert!(Checkpoint::read_all(&long).is_empty());
    let mixed = r#"[{"checkpoint_id":"2","tasks":[null,3,{"name":"n","result":{"a":1}},{"name":7,"error":{"x":1},"interrupts":4}],
        "metadata":null,"next":"no","parent_checkpoint":5,"parent_checkpoint_id":"2"}]"#;
    let tree = tree(mixed);
    assert_eq!(
        (tree.parent(0), tree.entries()[0].tasks[0].wrote.as_str()),
        (Parent::None, "a 1")
    );
    let many = json!([{"checkpoint_id": "1", "next": vec!["n"; 1000], "tasks": vec![json!({"name": "n".repeat(1 << 16)}); 1000]}]);
    let checkpoint = &Checkpoint::read_all(&many.to_string())[0];
    assert_eq!(
        (checkpoint.tasks.len(), checkpoint.next.len()),
        (MAX_TASKS, MAX_TASKS)
    );
    assert!(checkpoint.tasks[0].node.len() < 300);
}

#[test]
fn cycles_and_duplicates_end() {
    let entry =
        |id: &str, parent: &str| json!({"checkpoint_id": id, "parent_checkpoint_id": parent});
    let cycle = json!([
        entry("1", "2"),
        entry("2", "3"),
        entry("3", "1"),
        entry("4", "4"),
        entry("3", "1"),
        entry("5", "3")
    ]);
    let tree = tree(&cycle.to_string());
    assert_eq!(tree.len(), 5);
    let ids: Vec<&str> = tree.entries().iter().map(|entry| &*entry.id).collect();
    assert_eq!(ids, ["5", "4", "3", "1", "2"]);
    assert_eq!(
        (0..5).map(|at| tree.parent(at)).collect::<Vec<_>>(),
        [
            Parent::At(2),
            Parent::None,
            Parent::At(3),
            Parent::At(4),
            Parent::None
        ]
    );
}

#[test]
fn thousands_of_checkpoints_are_laid_out_without_quadratic_work() {
    let count = 20_000;
    let entry = |n: usize| {
        // A branch begins at every hundredth checkpoint, and a thousand have parents that are not loaded.
        let parent = if n % 20 == 3 {
            format!("gone-{n}")
        } else {
            format!("{:08}", n.saturating_sub(1 + n % 100 / 99 * 50))
        };
        Arc::new(Checkpoint {
            id: format!("{n:08}"),
            parent: (n > 0).then_some(parent),
            ..Checkpoint::default()
        })
    };
    let tree = CheckpointTree::new((0..count).map(entry));
    assert_eq!(tree.len(), count);
    assert!(tree.rows().iter().all(|row| row.cells.len() <= MAX_LANES));
    assert!(tree.rows().iter().any(|row| row.is_beyond));
}

/// Recovers the parent of each entry from the drawing alone.
fn recovered(rows: &[GraphRow]) -> Vec<Parent> {
    let cell =
        |row: &GraphRow, lane: usize| row.cells.get(lane).copied().unwrap_or(GraphCell::Blank);
    let mut parents = Vec::new();
    for (at, row) in rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.entry.is_some())
    {
        let mut lane = row
            .cells
            .iter()
            .position(|cell| *cell == GraphCell::Node)
            .unwrap();
        let mut parent = None;
        for below in &rows[at + 1..] {
            match cell(below, lane) {
                GraphCell::Blank | GraphCell::Across => parent = Some(Parent::None),
                GraphCell::Node => parent = below.entry.map(Parent::At),
                GraphCell::End | GraphCell::Merge => {
                    lane = (0..lane)
                        .rev()
                        .find(|left| cell(below, *left) == GraphCell::Fork)
                        .unwrap();
                }
                GraphCell::Rail | GraphCell::Fork | GraphCell::Cross => {}
            }
            if parent.is_some() {
                break;
            }
        }
        parents.push(parent.unwrap_or(Parent::NotLoaded));
    }
    parents
}

proptest! {
    #[test]
    fn a_reader_of_the_drawing_finds_every_parent(links in prop::collection::vec((0_usize..4, 0_usize..8), 1..60)) {
        // Entries have parents among those after them, in a few branches; some have none, and some are not loaded.
        let count = links.len();
        let entry = |(at, (kind, distance)): (usize, &(usize, usize))| {
            let parent = at + 1 + distance;
            let parent = match kind {
                0 if *distance == 0 => None,
                1 if *distance == 7 => Some("0-gone".to_string()),
                _ => (parent < count).then(|| format!("{:04}", count - parent)),
            };
            Arc::new(Checkpoint { id: format!("{:04}", count - at), parent, ..Checkpoint::default() })
        };
        let tree = CheckpointTree::new(links.iter().enumerate().map(entry));
        prop_assume!(tree.rows().iter().all(|row| !row.is_beyond));
        let wanted: Vec<Parent> = (0..count).map(|at| tree.parent(at)).collect();
        let mut found = recovered(tree.rows());
        // The rail of a last entry leads out of the drawing, whether it has a parent or not.
        let last = count - 1;
        prop_assert_eq!(tree.rows().last().unwrap().entry, Some(last));
        found[last] = wanted[last];
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn any_links_are_drawn_with_parents_below(links in prop::collection::vec((0_u8..30, 0_u8..34), 0..40)) {
        let entry = |(id, parent): &(u8, u8)| {
            Arc::new(Checkpoint { id: id.to_string(), parent: Some(parent.to_string()), ..Checkpoint::default() })
        };
        let tree = CheckpointTree::new(links.iter().map(entry));
        prop_assert_eq!(tree.rows().iter().filter_map(|row| row.entry).collect::<Vec<_>>(), (0..tree.len()).collect::<Vec<_>>());
        for at in 0..tree.len() {
            if let Parent::At(parent) = tree.parent(at) {
                prop_assert!(parent > at);
                prop_assert!(tree.children(parent).contains(&at));
            }
        }
    }
}

#[test]
fn state_edits_say_what_they_changed() {
    let changed = |before, after| change_summary(before, after);
    assert_eq!(
        changed(
            r#"{"amount":1300,"to":"b"}"#,
            r#"{"amount": 130, "to":"b"}"#
        ),
        "amount 1300 → 130"
    );
    assert_eq!(
        changed(r#"{"a":1.0}"#, r#"{"a" : 1.0,"new":"x"}"#),
        r#"new "x""#
    );
    assert_eq!(
        changed(r#"{"messages":[1]}"#, r#"{"messages":[1,2,3]}"#),
        "+2 messages"
    );
    assert_eq!(
        changed(r#"{"l":["a"]}"#, r#"{"l":["a","b"]}"#),
        r#"l + "b""#
    );
    assert_eq!(changed(r#"{"l":[1]}"#, r#"{"l":[1,2,3]}"#), "l + 2 items");
    assert_eq!(changed(r#"{"l":[1]}"#, r#"{"l":[2]}"#), "l [1] → [2]");
    assert_eq!(
        changed("{}", r#"{"a":1,"b":2,"c":3,"d":4,"e":5}"#),
        "a 1, b 2, c 3, +2"
    );
    assert_eq!(changed("[]", "{}"), "");
    let entry = |id: &str, parent: &str, values: &str| {
        format!(
            r#"{{"checkpoint":{{"checkpoint_id":"{id}"}},"parent_checkpoint":{{"checkpoint_id":"{parent}"}},
            "metadata":{{"source":"update"}},"values":{values}}}"#
        )
    };
    let page = format!(
        "[{},{},{}]",
        entry("3", "1", r#"{"n":3}"#),
        entry("2", "1", r#"{"n":2}"#),
        entry("1", "0", r#"{"n":1}"#)
    );
    let all = Checkpoint::read_all(&page);
    let edited: Vec<&str> = all.iter().map(|entry| &*entry.changed).collect();
    assert_eq!(edited, ["n 1 → 3", "n 1 → 2", ""]);
}
