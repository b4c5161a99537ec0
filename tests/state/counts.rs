//! Numbers that several views show agree: visits, times, calls and tokens, and the numbers of runs.

use super::timeline::{events, project};
use jiff::Timestamp;
use runtail_stream::projection::{
    ActivityCache, BarKind, BarState, Projections, Status, Timeline, Usage, node_sums,
    time_of_nodes,
};
use runtail_stream::{Item, Loaded, Record, Seq, SnapshotPart, ThreadSnapshot};
use runtail_tui::features::stream::views::timeline::picture::{TimelinePicture, groups};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns the name and the projections of every capture.
fn captures() -> Vec<(String, Projections)> {
    let files = std::fs::read_dir("tests/captures")
        .unwrap()
        .map(|file| file.unwrap().path());
    let streams = files.filter(|path| path.extension().is_some_and(|extension| extension == "sse"));
    let names = streams.map(|path| path.file_stem().unwrap().to_str().unwrap().to_string());
    names
        .map(|name| (name.clone(), project(events(&name))))
        .collect()
}

/// Returns the rows of each node that the Timeline shows for all runs.
fn rows(timeline: &Timeline) -> BTreeMap<String, u64> {
    let mut rows = BTreeMap::new();
    for number in groups(timeline).into_iter().flatten() {
        let keys = &timeline.attempt(number).unwrap().children;
        let mut next: Vec<(u64, String)> = keys.iter().map(|key| (*key, String::new())).collect();
        while let Some((key, path)) = next.pop() {
            let bar = timeline.bar(key).unwrap();
            let path = match bar.kind {
                BarKind::Node if path.is_empty() => bar.name.to_string(),
                BarKind::Node => format!("{path}:{}", bar.name),
                BarKind::Tool | BarKind::Model => path,
            };
            if bar.kind == BarKind::Node {
                *rows.entry(path.clone()).or_default() += 1;
            }
            next.extend(bar.children.iter().map(|child| (*child, path.clone())));
        }
    }
    rows
}

fn visits(timeline: &Timeline) -> BTreeMap<String, u64> {
    let mut cache = ActivityCache::default();
    cache.update(timeline, Timestamp::MIN, None);
    let activity = cache.activity();
    activity
        .order()
        .iter()
        .map(|id| (id.clone(), activity.node(id).unwrap().visits))
        .collect()
}

#[test]
fn visits_of_the_graph_are_the_rows_of_the_timeline() {
    let mut nodes = 0;
    for (name, projections) in captures() {
        let visits = visits(&projections.timeline);
        assert_eq!(visits, rows(&projections.timeline), "{name}");
        nodes += visits.len();
    }
    assert!(nodes > 100, "{nodes}");
}

#[test]
fn sums_by_node_and_by_model_are_the_total() {
    let mut counted = 0;
    for (name, projections) in captures() {
        for run in projections.metrics.runs().iter() {
            let sum = |parts: &mut dyn Iterator<Item = Usage>| {
                parts.fold(Usage::default(), |mut sum, part| {
                    sum.add_change(Usage::default(), part);
                    sum
                })
            };
            let (rest, unnamed) = run.unnamed();
            let by_model = sum(&mut run.models.iter().map(|model| model.usage).chain([rest]));
            let by_node = sum(&mut run
                .nodes
                .iter()
                .map(|node| node.work.usage)
                .chain([run.outside_nodes()]));
            assert_eq!(
                (by_model, by_node),
                (run.work.usage, run.work.usage),
                "{name}"
            );
            let calls: u64 = run.models.iter().map(|model| model.calls).sum();
            assert_eq!(calls + unnamed, run.work.calls, "{name}");
            counted += run.work.calls;
            // One row per node, and a node of a subgraph isn't also a node of the main graph.
            let sums = node_sums(run, &projections.timeline, Timestamp::MIN);
            let names: Vec<&str> = sums.iter().map(|sum| &*sum.name).collect();
            for node in &names {
                assert_eq!(
                    names.iter().filter(|other| *other == node).count(),
                    1,
                    "{name}: {names:?}"
                );
                let is_inner = names
                    .iter()
                    .any(|other| other.ends_with(&format!(":{node}")));
                assert!(!is_inner, "{name}: {names:?}");
            }
        }
    }
    assert!(counted > 20, "{counted}");
}

#[test]
fn delivery_and_timeline_have_the_same_time_by_node() {
    for name in [
        "agent-debug",
        "fanout-many-subgraphs",
        "aegra-fanout-many",
        "js-fanout-many",
    ] {
        let projections = project(events(name));
        let run = projections.metrics.runs().last().unwrap();
        let sums = node_sums(run, &projections.timeline, Timestamp::MIN);
        let picture = TimelinePicture::of(
            &projections,
            groups(&projections.timeline).last().unwrap(),
            Timestamp::MIN,
        );
        let of_timeline: BTreeMap<_, _> = picture
            .nodes
            .iter()
            .map(|node| (node.name.to_string(), node.time))
            .collect();
        let roots = sums.iter().filter(|sum| sum.is_root());
        let of_delivery: BTreeMap<_, _> = roots
            .map(|sum| (sum.name.to_string(), sum.time().unwrap()))
            .collect();
        assert_eq!(of_delivery, of_timeline, "{name}");
        assert_eq!(
            time_of_nodes(&sums),
            of_timeline.values().sum::<std::time::Duration>(),
            "{name}"
        );
    }
}

/// Applies records of a thread.
fn snapshot(projections: &mut Projections, seq: u64, parts: Vec<(SnapshotPart, Value)>) {
    let parts = parts
        .into_iter()
        .map(|(part, json)| (part, Loaded::Json(json.to_string().into())));
    let at = "2026-11-23T12:00:00Z".parse().unwrap();
    let event = ThreadSnapshot {
        at,
        parts: parts.collect(),
    }
    .into_event(Seq(seq));
    projections.apply(&Item::Record(Record::Event(event)));
}

fn run(id: &str, status: &str, began: &str, ended: &str) -> Value {
    json!({"run_id": id, "status": status, "created_at": began, "updated_at": ended})
}

/// Returns a history of a real server, and its runs, newest first.
fn history(name: &str) -> (Value, Vec<Value>) {
    let capture: Value = serde_json::from_str(
        &std::fs::read_to_string(format!("tests/fixtures/history/{name}.json")).unwrap(),
    )
    .unwrap();
    let body = capture["response"]["body"].clone();
    let mut runs: Vec<(String, String, String)> = Vec::new();
    for entry in body.as_array().unwrap() {
        let (id, at) = (
            entry["metadata"]["run_id"].as_str(),
            entry["created_at"].as_str().unwrap(),
        );
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            continue;
        };
        match runs.iter_mut().find(|(known, ..)| known == id) {
            Some((_, began, _)) => *began = at.into(),
            None => runs.push((id.into(), at.into(), at.into())),
        }
    }
    (
        body,
        runs.iter()
            .map(|(id, began, ended)| run(id, "success", began, ended))
            .collect(),
    )
}

fn states(timeline: &Timeline, node: &str) -> Vec<BarState> {
    timeline
        .bars()
        .iter()
        .filter(|bar| &*bar.name == node)
        .map(|bar| bar.state)
        .collect()
}

#[test]
fn a_resumed_run_counts_the_nodes_that_it_executes_again() {
    let (history, runs) = history("int-parallel-history-end");
    let mut projections = Projections::default();
    snapshot(
        &mut projections,
        1,
        vec![
            (SnapshotPart::Runs, json!(runs)),
            (SnapshotPart::History, history),
        ],
    );
    let timeline = &projections.timeline;
    let wanted =
        [("ask_one", 6), ("fin", 1), ("plan", 1)].map(|(node, visits)| (node.to_string(), visits));
    assert_eq!(
        (visits(timeline), rows(timeline)),
        (wanted.clone().into(), wanted.into())
    );
    let (asked, done) = (BarState::Interrupted, BarState::Done);
    assert_eq!(
        states(timeline, "ask_one"),
        [asked, asked, asked, done, done, done]
    );
}

#[test]
fn a_node_before_which_the_limit_of_steps_ended_a_run_was_not_visited() {
    let task = |id: &str, result: Value| json!([{"id": id, "name": "step", "error": null, "interrupts": [], "result": result}]);
    let entry = |step: i64, result: Value| {
        json!({"values": {}, "next": ["step"], "metadata": {"run_id": "r", "step": step, "source": "loop"},
            "tasks": task(&format!("t{step}"), result), "created_at": format!("2026-11-23T11:00:0{step}Z"),
            "checkpoint": {"checkpoint_id": format!("c{step}")}})
    };
    let history = json!([entry(1, Value::Null), entry(0, json!({}))]);
    let error =
        "GraphRecursionError: Recursion limit of 1 reached without hitting a stop condition.";
    let mut failed = run("r", "error", "2026-11-23T11:00:00Z", "2026-11-23T11:00:01Z");
    failed["error"] = json!(error);
    let thread = json!({"thread_id": "t", "status": "error", "error": error});
    let parts = vec![
        (SnapshotPart::Thread, thread),
        (SnapshotPart::Runs, json!([failed])),
        (SnapshotPart::History, history),
    ];
    let mut projections = Projections::default();
    snapshot(&mut projections, 1, parts);
    assert_eq!(
        visits(&projections.timeline),
        [("step".to_string(), 1)].into()
    );
}

/// A run that paused before `b`, and the run that continued it.
fn paused(is_continued: bool) -> Vec<(SnapshotPart, Value)> {
    let entry = |id: &str,
                 parent: &str,
                 run: &str,
                 (step, source): (i64, &str),
                 tasks: &[(&str, bool)],
                 at: &str| {
        let task = |(node, is_done): &(&str, bool)| {
            json!({"id": format!("{id}-{node}"), "name": node, "error": null, "interrupts": [],
                "result": is_done.then(|| json!({}))})
        };
        let next: Vec<&str> = tasks.iter().map(|(node, _)| *node).collect();
        json!({"values": {}, "next": next, "tasks": tasks.iter().map(task).collect::<Vec<_>>(),
            "metadata": {"run_id": run, "step": step, "source": source}, "created_at": format!("2026-11-23T11:00:{at}Z"),
            "checkpoint": {"checkpoint_id": id}, "parent_checkpoint": {"checkpoint_id": parent}})
    };
    let mut history = vec![
        entry("c1", "c0", "r1", (1, "loop"), &[("b", is_continued)], "02"),
        entry("c0", "c", "r1", (0, "loop"), &[("a", true)], "01"),
    ];
    let mut runs = vec![run(
        "r1",
        "success",
        "2026-11-23T11:00:00Z",
        "2026-11-23T11:00:02Z",
    )];
    if is_continued {
        history.insert(0, entry("c2", "c1", "r2", (2, "loop"), &[], "31"));
        runs.insert(
            0,
            run(
                "r2",
                "success",
                "2026-11-23T11:00:30Z",
                "2026-11-23T11:00:31Z",
            ),
        );
    }
    vec![
        (SnapshotPart::Runs, json!(runs)),
        (SnapshotPart::History, json!(history)),
    ]
}

#[test]
fn a_node_before_which_a_run_paused_was_not_visited() {
    for (is_continued, wanted) in [(false, vec![("a", 1)]), (true, vec![("a", 1), ("b", 1)])] {
        let mut projections = Projections::default();
        snapshot(&mut projections, 1, paused(is_continued));
        let wanted: BTreeMap<String, u64> = wanted
            .into_iter()
            .map(|(node, n)| (node.to_string(), n))
            .collect();
        assert_eq!(visits(&projections.timeline), wanted, "{is_continued}");
    }
}

#[test]
fn the_history_completes_the_steps_of_a_stream() {
    let all = |mode: &str| {
        let mut projections = project(events(&format!("agent-{mode}")));
        let id = projections
            .metrics
            .runs()
            .last()
            .unwrap()
            .run_id
            .clone()
            .unwrap();
        let at = |seconds: u32| format!("2027-01-15T08:00:{seconds:02}Z");
        let task = |id: &str, node: &str| json!([{"id": id, "name": node, "error": null, "interrupts": [], "result": {}}]);
        let entry = |step: i64, node: &str| {
            let tasks = if node.is_empty() {
                json!([])
            } else {
                task(&format!("t{step}"), node)
            };
            json!({"values": {}, "next": if node.is_empty() { json!([]) } else { json!([node]) }, "tasks": tasks,
                "metadata": {"run_id": &*id, "step": step, "source": "loop"},
                "created_at": at(u32::try_from(step).unwrap()), "checkpoint": {"checkpoint_id": format!("c{step}")}})
        };
        let history = [
            entry(3, ""),
            entry(2, "chat"),
            entry(1, "tools"),
            entry(0, "chat"),
        ];
        let runs = json!([run(&id, "success", &at(0), &at(3))]);
        snapshot(
            &mut projections,
            10_000,
            vec![
                (SnapshotPart::Runs, runs),
                (SnapshotPart::History, json!(history)),
            ],
        );
        (visits(&projections.timeline), rows(&projections.timeline))
    };
    let wanted: BTreeMap<String, u64> = [("chat".to_string(), 2), ("tools".to_string(), 1)].into();
    // A stream of states names no node at all, and one of custom events has none either.
    for mode in [
        "values",
        "custom",
        "messages",
        "messages-tuple",
        "updates",
        "checkpoints",
        "events",
    ] {
        assert_eq!(all(mode), (wanted.clone(), wanted.clone()), "{mode}");
    }
}

#[test]
fn steps_that_the_loaded_history_lacks_are_named() {
    let missing = |first: (i64, &str)| {
        let entry = |(step, source): (i64, &str), node: &str| {
            json!({"values": {}, "next": [node], "metadata": {"run_id": "r", "step": step, "source": source},
                "tasks": [{"id": format!("t{step}"), "name": node, "error": null, "interrupts": [], "result": {}}],
                "created_at": format!("2027-01-15T08:00:{step:02}Z"), "checkpoint": {"checkpoint_id": format!("c{step}")},
                "parent_checkpoint": {"checkpoint_id": format!("c{}", step - 1)}})
        };
        let history = [
            entry((8, "loop"), "b"),
            entry((7, "loop"), "a"),
            entry(first, "__start__"),
        ];
        let mut projections = Projections::default();
        let runs = json!([run(
            "r",
            "success",
            "2027-01-15T08:00:00Z",
            "2027-01-15T08:00:09Z"
        )]);
        snapshot(
            &mut projections,
            1,
            vec![
                (SnapshotPart::Runs, runs),
                (SnapshotPart::History, json!(history)),
            ],
        );
        let (_, attempt) = projections.timeline.attempts().next().unwrap();
        attempt.missing_steps()
    };
    assert_eq!(
        missing((6, "loop")).as_deref(),
        Some("steps before 7 not loaded")
    );
    assert_eq!(
        missing((6, "input")),
        None,
        "a new input of a thread with earlier steps"
    );
}

fn names(status: &Status) -> Vec<String> {
    status.runs().iter().map(|run| run.name()).collect()
}

#[test]
fn runs_have_one_number() {
    let records = |numbers: &[usize]| {
        let time = |n: usize| format!("2026-11-23T10:{:02}:{:02}Z", n / 60, n % 60);
        let runs: Vec<Value> = numbers
            .iter()
            .rev()
            .map(|n| run(&format!("r{n}"), "success", &time(*n), &time(*n)))
            .collect();
        vec![(SnapshotPart::Runs, json!(runs))]
    };
    let mut projections = project(events("agent-tasks"));
    assert_eq!(
        names(&projections.status),
        ["run 1 here"],
        "nothing is known of the thread"
    );
    // The run of the stream is no longer listed: it was deleted, and has no number.
    snapshot(&mut projections, 10_000, records(&[1, 2, 3]));
    let seen = names(&projections.status);
    let deleted = seen
        .iter()
        .filter(|name| !["run 1", "run 2", "run 3"].contains(&name.as_str()));
    assert_eq!((seen.len(), deleted.count()), (4, 1), "{seen:?}");
    let mut projections = Projections::default();
    snapshot(&mut projections, 1, records(&(1..=50).collect::<Vec<_>>()));
    assert_eq!(
        names(&projections.status)[49],
        "run 50 here",
        "the thread may have more"
    );
}
