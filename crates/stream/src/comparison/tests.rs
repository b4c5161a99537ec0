use super::history::History;
use super::output::{comparable, what_differs};
use super::steps::{Side, SideSource, Step, StepKind, StepState, read_pair, write_pair};
use super::*;
use proptest::prelude::*;
use runtail_core::model::RunFacts;
use serde_json::{Value, json};

fn side(steps: Vec<Step>) -> Side {
    let source = SideSource::Thread {
        server: "http://a.example".into(),
        thread_id: "t".into(),
        run_id: None,
    };
    let mut side = Side::new("side".into(), source);
    side.graph_id = Some("agent".into());
    side.steps = steps;
    side.state = Some(json!({"done": true}));
    side
}

fn step(number: i64, node: &str, wrote: &str) -> Step {
    Step {
        step: Some(number),
        took_ms: Some(100),
        ..Step::of(node)
    }
    .with_output(json!({"log": [wrote]}))
}

fn ai(text: &str, calls: &[&str]) -> Value {
    let call = |name: &&str| json!({"name": name, "args": {"x": 1}, "id": "call_1"});
    let calls: Vec<Value> = calls.iter().map(call).collect();
    json!({"type": "ai", "content": text, "tool_calls": calls, "id": "lc_run--1",
           "usage_metadata": {"input_tokens": 31, "output_tokens": 48}})
}

fn said(number: i64, node: &str, message: Value) -> Step {
    Step {
        took_ms: Some(1000),
        ..step(number, node, "")
    }
    .with_output(json!({"messages": [message]}))
}

fn tool(number: i64, name: &str) -> Step {
    said(
        number,
        "tools",
        json!({"type": "tool", "name": name, "content": "ok", "tool_call_id": "c", "id": "m"}),
    )
}

fn input() -> Step {
    Step {
        kind: StepKind::Input,
        step: Some(0),
        ..Step::of("__start__")
    }
    .with_output(json!({"q": 1}))
}

fn ended(steps: Vec<Step>) -> Side {
    Side {
        status: "success".into(),
        ..side(steps)
    }
}

fn signs(comparison: &Comparison) -> String {
    let rows = comparison.rows.iter();
    rows.map(|row| row.verdict.sign()).collect()
}

#[test]
fn the_example_of_the_screens_is_aligned() {
    let question = Step {
        asked: true,
        took_ms: Some(391_000),
        ..tool(4, "ask_customer")
    };
    let begin = [
        input(),
        said(1, "chat", ai("", &["list_invoices"])),
        tool(2, "list_invoices"),
    ];
    let refund = ai("I'll refund it.", &["send_refund", "send_email"]);
    let rest = [
        said(3, "chat", refund),
        tool(4, "send_refund"),
        tool(4, "send_email"),
        said(5, "chat", ai("Done.", &[])),
    ];
    let a = side([&begin[..], &rest].concat());
    let rest = [
        said(3, "chat", ai("Before I refund it:", &["ask_customer"])),
        question,
        said(5, "chat", ai("All done.", &[])),
    ];
    let b = side([&begin[..], &rest].concat());
    let comparison = Comparison::of(a, b);
    assert_eq!(signs(&comparison), "===≠--+≠");
    let whats = [3, 7].map(|row| comparison.rows[row].verdict.clone());
    assert_eq!(
        whats,
        ["calls", "text"].map(|what| Verdict::Differs(what.into()))
    );
    assert_eq!(comparison.first_difference().as_deref(), Some("step 3"));
    assert_eq!(comparison.is_same_input(), Some(true));
    assert_eq!(comparison.is_same(), Some(false));
    let totals = [
        "5s · 93 in, 144 out · 3 calls",
        "4s + 6m31s waiting · 93 in, 144 out · 2 calls · 1s faster",
    ];
    assert_eq!(comparison.total_lines(), totals.map(String::from));
    let labels: Vec<String> = comparison.a.steps.iter().map(Step::label).collect();
    assert_eq!(
        labels[1..5],
        [
            "chat → list_invoices",
            "tools · list_invoices",
            "chat → 2 calls",
            "tools · send_refund"
        ]
    );
    assert_eq!(comparison.a.steps[3].said()[1], "→ send_refund {\"x\":1}");
}

#[test]
fn ids_tokens_and_dialects_make_no_difference() {
    let python = json!({"messages": [{"content": "Hi", "type": "AIMessageChunk", "id": "lc_run--1-0", "tool_calls":
        [{"name": "f", "args": {"n": 1}, "id": "a", "type": "tool_call"}], "usage_metadata": {"input_tokens": 3}, "name": null}]});
    let javascript = json!({"messages": [{"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"],
        "kwargs": {"content": [{"type": "text", "text": "Hi", "index": 0}], "id": "run-2", "tool_calls":
        [{"name": "f", "args": {"n": 1.0}, "id": "b"}]}}]});
    let comparable_calls = comparable(&python)["messages"][0]["calls"].clone();
    assert_eq!(comparable_calls, json!([{"name": "f", "args": {"n": 1}}]));
    let differs = json!({"messages": [{"content": "Ho", "type": "ai", "tool_calls": [{"name": "f", "args": {"n": 1}}]}]});
    assert_eq!(
        what_differs(&comparable(&python), &comparable(&differs)),
        "text"
    );
    let content = |of: &Value| comparable(of)["messages"][0]["content"].clone();
    assert_eq!([content(&python), content(&javascript)], ["Hi", "Hi"]);
    let step = |output| side(vec![Step::of("n").with_output(output)]);
    let comparison = Comparison::of(step(python), step(javascript));
    assert_eq!(signs(&comparison), "=");
    assert_eq!(
        comparable(&json!({"a": 1.0, "b": [2.0, 2.5]})),
        json!({"a": 1, "b": [2, 2.5]})
    );
    assert_ne!(
        comparable(&json!(9007199254740993_i64)),
        comparable(&json!(9007199254740992_i64))
    );
    // What merely looks like a message is compared as it is.
    let other = json!({"type": "invoice", "content": "x", "id": 7});
    assert_eq!(comparable(&other), other);
    assert_eq!(
        what_differs(&json!({"log": [1], "n": 1}), &json!({"log": [1], "n": 2})),
        "n"
    );
}

#[test]
fn different_graphs_have_totals_only() {
    let mut b = side(vec![step(1, "x", "1")]);
    b.graph_id = Some("research".into());
    let comparison = Comparison::of(side(vec![step(1, "x", "1")]), b);
    assert_eq!(
        comparison.not_comparable().as_deref(),
        Some("Different graphs (agent, research): showing totals only.")
    );
    assert!(comparison.rows.is_empty() && comparison.is_same() == Some(false));
    assert_eq!(comparison.total_lines()[0], "0.1s");
    let (mut a, mut b) = (side(vec![step(1, "x", "1")]), side(vec![step(1, "y", "1")]));
    (a.graph_id, b.graph_id) = (None, Some("agent".into()));
    assert!(
        Comparison::of(a, b)
            .not_comparable()
            .unwrap()
            .starts_with("No node in common")
    );
}

#[test]
fn unknown_steps_inputs_and_states_are_never_equal() {
    let whole = || ended(vec![input(), step(1, "x", "1")]);
    let same = Comparison::of(whole(), whole());
    assert_eq!(
        (same.is_same(), same.common().as_str()),
        (Some(true), "same input · same graph · same final state")
    );
    // No step of a run that ended well is listed.
    for (a, b, of) in [
        (ended(vec![input()]), ended(vec![input()]), "A and B"),
        (ended(vec![input()]), whole(), "A"),
        (
            whole(),
            Side {
                lacks_steps: true,
                ..whole()
            },
            "B",
        ),
    ] {
        let comparison = Comparison::of(a, b);
        assert_eq!(
            (comparison.is_same(), comparison.is_state_different()),
            (None, None),
            "{of}"
        );
        assert_eq!(
            comparison.not_comparable(),
            Some(format!("? Steps unknown: those of {of} are not listed."))
        );
        assert_eq!(comparison.common(), "same graph");
        let notes = comparison.notes.join("\n");
        assert!(notes.contains("another graph ran later"), "{notes}");
        assert!(comparison.state_difference().is_none());
    }
    let twice = |one: Side| {
        let comparison = Comparison::of(one.clone(), one);
        assert_eq!(comparison.is_same(), None);
        comparison.common()
    };
    let no_state = Side {
        state: None,
        ..whole()
    };
    assert!(twice(no_state).ends_with("final state unknown"));
    assert!(twice(ended(vec![step(1, "x", "1")])).starts_with("input unknown"));
    // Why they failed is unknown.
    twice(Side {
        status: "error".into(),
        ..ended(vec![input()])
    });
}

#[test]
fn totals_of_unknown_steps_are_unknown() {
    let mut other = ended(vec![input()]);
    other.graph_id = Some("slow".into());
    let comparison = Comparison::of(side(vec![input(), step(1, "x", "1")]), other);
    let why = comparison.not_comparable().unwrap();
    assert!(why.starts_with("Different graphs (agent, slow)"), "{why}");
    assert_eq!(
        comparison.total_lines(),
        ["0.1s", "unknown: no steps are recorded"].map(String::from)
    );
    let queued = Side {
        status: "pending".into(),
        is_running: true,
        ..side(Vec::new())
    };
    assert_eq!(
        Comparison::of(queued.clone(), queued).total_lines(),
        ["no steps yet", "no steps yet"].map(String::from)
    );
}

#[test]
fn final_states_are_not_compared_while_a_side_is_running() {
    let ended = side(vec![input(), step(1, "x", "1")]);
    let running = Side {
        is_running: true,
        ..ended.clone()
    };
    let comparison = Comparison::of(running, ended);
    assert_eq!(
        (comparison.is_same(), comparison.is_state_different()),
        (None, None)
    );
    assert_eq!(comparison.common(), "same input · same graph");
    assert!(comparison.state_difference().is_none());
}

/// A history in which a graph that ran later knows no tasks of the checkpoints.
#[test]
fn steps_that_a_history_lists_no_tasks_for_are_unknown() {
    let (_, mut rows) = history("js-history", None);
    let read = |rows: &[Value]| {
        let mut history = History::default();
        rows.iter()
            .for_each(|row| history.add(&row.to_string(), None));
        let mut side = side(Vec::new());
        history.fill(&mut side, None, None);
        side
    };
    assert!(!read(&rows).has_unknown_steps());
    for row in &mut rows {
        let is_start = row["tasks"][0]["name"] == "__start__";
        row["tasks"].as_array_mut().unwrap().retain(|_| is_start);
    }
    let side = read(&rows);
    assert_eq!(labels(&side), ["0 input"]);
    assert!(side.has_unknown_steps());
}

#[test]
fn rows_of_a_running_side_are_pending() {
    let (a, mut b) = (
        side(vec![step(1, "x", "1"), step(2, "y", "1")]),
        side(vec![step(1, "x", "1")]),
    );
    b.is_running = true;
    let comparison = Comparison::of(a.clone(), b.clone());
    assert_eq!(signs(&comparison), "=…");
    assert_eq!(comparison.is_same(), None);
    b.steps.push(Step {
        state: StepState::Running,
        step: Some(2),
        ..Step::of("y")
    });
    assert_eq!(signs(&Comparison::of(a.clone(), b.clone())), "=…");
    b.is_running = false;
    b.steps.pop();
    assert_eq!(signs(&Comparison::of(a, b)), "=-");
}

#[test]
fn unknown_outputs_are_not_called_equal() {
    let unknown = || Step {
        step: Some(1),
        ..Step::of("x")
    };
    let comparison = Comparison::of(side(vec![unknown()]), side(vec![unknown()]));
    assert_eq!(
        (signs(&comparison).as_str(), comparison.is_same()),
        ("?", None)
    );
    let failed = Step {
        state: StepState::Failed,
        ..unknown()
    }
    .with_error("boom")
    .with_output(Value::Null);
    let other = Step {
        error: Some("bang".into()),
        ..failed.clone()
    };
    assert_eq!(
        signs(&Comparison::of(
            side(vec![failed.clone()]),
            side(vec![failed.clone()])
        )),
        "="
    );
    let rows = Comparison::of(side(vec![failed]), side(vec![other])).rows;
    assert_eq!(rows[0].verdict, Verdict::Differs("error".into()));
}

#[test]
fn steps_inside_nodes_are_compared_if_both_sides_have_them() {
    let inner = |wrote: &str| Step {
        namespace: vec!["sub".into()],
        ..step(1, "leaf", wrote)
    };
    let with = |wrote: &str| side(vec![step(1, "sub", "x"), inner(wrote), step(2, "end", "x")]);
    assert_eq!(signs(&Comparison::of(with("1"), with("2"))), "=≠=");
    let without = side(vec![step(1, "sub", "x"), step(2, "end", "x")]);
    let comparison = Comparison::of(with("1"), without);
    assert_eq!(signs(&comparison), "==");
    assert_eq!(
        comparison.notes,
        ["steps inside nodes are only known of A and not compared"]
    );
}

#[test]
fn a_saved_comparison_is_read_again() {
    let a = side(vec![said(1, "chat", ai("Hi", &["f"])), tool(2, "f")]);
    let b = side(vec![said(1, "chat", ai("Ho", &[]))]);
    let saved = write_pair(&a, &b);
    assert_eq!(saved.lines().count(), 1);
    assert_eq!(read_pair(&saved).unwrap(), (a, b));
    assert!(
        read_pair("{}").is_err()
            && read_pair(&saved.replace("\"version\":1", "\"version\":2")).is_err()
    );
}

/// Reads a captured history, oldest page last.
fn history(name: &str, run: Option<&str>) -> (History, Vec<Value>) {
    let path = format!(
        "{}/../../tests/fixtures/history/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let capture: Value = serde_json::from_str(&text).unwrap();
    let rows = capture["response"]["body"].as_array().unwrap().clone();
    let mut history = History::default();
    rows.iter()
        .for_each(|row| history.add(&row.to_string(), run));
    (history, rows)
}

fn filled(name: &str, run: Option<(&str, Option<&RunFacts>)>) -> Side {
    let (history, _) = history(name, run.map(|(id, _)| id));
    let mut side = side(Vec::new());
    history.fill(&mut side, run, None);
    side
}

fn labels(side: &Side) -> Vec<String> {
    assert!(
        !side.lacks_steps || side.steps.len() == 1,
        "{:?}",
        side.steps
    );
    let label = |step: &Step| {
        format!(
            "{} {}{}",
            step.step.unwrap_or(-9),
            step.label(),
            step.sign()
        )
    };
    side.steps.iter().map(label).collect()
}

#[test]
fn steps_are_read_from_captured_histories() {
    let js = filled("js-history", None);
    assert_eq!(labels(&js), ["0 input", "1 a", "2 b", "3 c"]);
    assert_eq!(js.steps[1].output, Some(json!({"log": ["a"]})));
    assert_eq!((js.steps[1].took_ms, js.steps[0].took_ms), (Some(2), None));
    assert_eq!(js.graph_id.as_deref(), Some("chain"));
    assert_eq!(
        js.state.as_ref().map(|state| state["log"].clone()),
        Some(json!(["in", "a", "b", "c"]))
    );
    // Three parallel questions, answered by a second run.
    let name = "int-parallel-history-end";
    let asking = ["2 ask_one◆"; 3];
    let parallel = filled(name, None);
    let begin = ["0 input", "1 plan"];
    assert_eq!(
        labels(&parallel),
        [&begin[..], &asking, &["3 fin"]].concat()
    );
    assert!(parallel.steps[2].took_ms > Some(50_000));
    let (_, rows) = history(name, None);
    let run = |at: usize| rows[at]["metadata"]["run_id"].as_str().unwrap().to_string();
    let (second, first) = (run(0), run(4));
    let asked = filled(name, Some((&first, None)));
    assert_eq!(labels(&asked), [&begin[..], &asking].concat());
    let states = |steps: &[Step]| steps.iter().map(|step| step.state).collect::<Vec<_>>();
    assert_eq!(states(&asked.steps[2..]), [StepState::Waiting; 3]);
    let answered = filled(name, Some((&second, None)));
    assert_eq!(
        labels(&answered),
        ["1 ask_one◆", "1 ask_one◆", "1 ask_one◆", "2 fin"]
    );
    assert_eq!(states(&answered.steps[..3]), [StepState::Done; 3]);
    // The run that answers doesn't wait.
    let record = RunFacts {
        run_id: second.clone(),
        created_at: Some(jiff::Timestamp::UNIX_EPOCH),
        ..RunFacts::default()
    };
    let answered = filled(name, Some((&second, Some(&record))));
    let is_known = |step: &Step| !step.asked && step.took_ms.is_some();
    assert!(answered.steps[..3].iter().all(is_known));
    // A thread with state edits and several branches: only the current branch is read.
    let forked = filled("fork-history", None);
    assert!(labels(&forked).len() < 12, "{:?}", labels(&forked));
    let edited = filled("js-fork-history", None).steps;
    assert!(edited.iter().any(|step| step.kind == StepKind::Edit));
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let one = (0..4i64, "[abc]", "[xy]", any::<bool>());
    proptest::collection::vec(one, 0..12).prop_map(|list| {
        let mut number = 0;
        let make = |(gap, node, wrote, is_inner): (i64, String, String, bool)| {
            number += gap.min(1);
            let namespace = if is_inner && gap == 3 {
                vec!["sub".to_string()]
            } else {
                Vec::new()
            };
            Step {
                namespace,
                ..step(number, &node, &wrote)
            }
        };
        list.into_iter().map(make).collect()
    })
}

proptest! {
    #[test]
    fn a_side_is_the_same_as_itself(steps in any_steps()) {
        let comparison = Comparison::of(side(steps.clone()), side(steps.clone()));
        prop_assert!(comparison.rows.iter().all(|row| row.verdict == Verdict::Same && row.a == row.b));
        prop_assert_eq!(comparison.rows.len(), steps.len());
        // The input of these sides is unknown.
        prop_assert_eq!(comparison.is_same(), None);
        let with_input = || side([vec![input()], steps.clone()].concat());
        let comparison = Comparison::of(with_input(), with_input());
        prop_assert_eq!(comparison.is_same(), (!steps.is_empty()).then_some(true));
    }

    #[test]
    fn a_removed_step_is_the_only_difference(steps in any_steps(), at in any::<prop::sample::Index>()) {
        prop_assume!(!steps.is_empty() && steps.iter().all(|step| step.namespace.is_empty()));
        let mut fewer = steps.clone();
        fewer.remove(at.index(steps.len()));
        let comparison = Comparison::of(side(steps.clone()), side(fewer));
        let count = |sign: &str| comparison.rows.iter().filter(|row| row.verdict.sign() == sign).count();
        prop_assert_eq!((count("-"), count("="), comparison.rows.len()), (1, steps.len() - 1, steps.len()));
    }

    #[test]
    fn swapping_the_sides_swaps_the_result(a in any_steps(), b in any_steps()) {
        let forth = Comparison::of(side(a.clone()), side(b.clone()));
        let back = Comparison::of(side(b.clone()), side(a.clone()));
        let mut pairs: Vec<_> = forth.rows.iter().map(|row| (row.a, row.b, row.verdict.clone())).collect();
        let mut swapped: Vec<_> = back.rows.iter().map(|row| {
            let verdict = match &row.verdict {
                Verdict::OnlyA => Verdict::OnlyB,
                Verdict::OnlyB => Verdict::OnlyA,
                other => other.clone(),
            };
            (row.b, row.a, verdict)
        }).collect();
        let key = |row: &(Option<usize>, Option<usize>, Verdict)| (row.0, row.1);
        pairs.sort_by_key(key);
        swapped.sort_by_key(key);
        prop_assert_eq!(pairs, swapped);
    }

    #[test]
    fn every_step_is_in_one_row(a in any_steps(), b in any_steps()) {
        let has = |steps: &[Step]| steps.iter().any(|step| !step.namespace.is_empty());
        prop_assume!(has(&a) == has(&b));
        let comparison = Comparison::of(side(a.clone()), side(b.clone()));
        prop_assume!(comparison.not_comparable().is_none());
        let sorted = |of: fn(&Row) -> Option<usize>| {
            let mut steps: Vec<usize> = comparison.rows.iter().filter_map(of).collect();
            steps.sort_unstable();
            steps
        };
        prop_assert_eq!(sorted(|row| row.a), (0..a.len()).collect::<Vec<_>>());
        prop_assert_eq!(sorted(|row| row.b), (0..b.len()).collect::<Vec<_>>());
    }
}
