use super::*;
use serde_json::{Value, json};

/// Reads a captured history of a real server.
fn capture(name: &str) -> Vec<Value> {
    let file = format!(
        "{}/../../tests/fixtures/history/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let capture: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    capture["response"]["body"].as_array().unwrap().clone()
}

fn state(id: &str, parent: Option<&str>, source: &str, next: &[&str], step: i64) -> Value {
    let tasks: Vec<Value> = next
        .iter()
        .map(|node| json!({"name": node, "result": {"log": [node]}}))
        .collect();
    json!({
        "next": next, "tasks": tasks, "created_at": "2026-11-24T14:01:35Z",
        "metadata": {"source": source, "run_id": format!("run-of-{id}"), "step": step},
        "checkpoint": {"checkpoint_id": id}, "parent_checkpoint": parent.map(|id| json!({"checkpoint_id": id})),
    })
}

fn base_of(state: &Value, is_newest: bool) -> Base {
    let raw = state.to_string();
    let facts = StateFacts::read(&raw).unwrap();
    Base {
        id: facts.checkpoint_id.clone().unwrap(),
        checkpoint: Checkpoint::read(&raw).map(Arc::new),
        values: serde_json::from_str(&state["values"].to_string()).unwrap_or_default(),
        answered: super::super::base::answered_calls(&raw),
        facts,
        is_newest,
        ..Base::default()
    }
}

/// Returns the branch from a state of a history, newest first.
fn branch(history: &[Value], id: &str) -> Branch {
    let at = history.iter().position(|state| {
        state["checkpoint"]["checkpoint_id"]
            .as_str()
            .unwrap()
            .starts_with(id)
    });
    let base = base_of(&history[at.unwrap()], at == Some(0));
    let entry = |state: &Value| {
        (
            StateFacts::read(&state.to_string()).unwrap(),
            Checkpoint::read(&state.to_string()),
        )
    };
    let newest = history[0]["metadata"]["run_id"]
        .as_str()
        .map(str::to_string);
    let past = Past::new(&base, history.iter().map(entry).collect(), newest);
    let calls = base.open_calls();
    past.branch(
        &base,
        &Next {
            nodes: &base.facts.next,
            doubt: "",
            calls: &calls,
            keeps_answer: &|_| false,
        },
    )
}

/// Returns the rows of a branch.
fn rows(branch: &Branch) -> Vec<String> {
    let row = |step: &BranchStep| {
        let basis = step.basis(|id| id.to_string());
        [step.kind.label(), &step.named(), &basis, &step.detail].join(" | ")
    };
    branch.steps.iter().map(row).collect()
}

#[test]
fn python_and_javascript_histories_show_what_runs_and_what_is_skipped() {
    let twice = "models and conditions may choose differently";
    for (name, id, run) in [
        ("fork-history", "1f1e6200-9de1", "01a2012d-3556"),
        ("js-fork-history", "1f1e6210-d5b9", "01a20133-dc89"),
    ] {
        let branch = branch(&capture(name), id);
        assert_eq!(branch.step, Some(1), "{name}");
        assert_eq!(branch.writers, ["a"], "{name}");
        assert!(!branch.is_newest && branch.created_at.is_some(), "{name}");
        let rows = rows(&branch);
        assert_eq!(rows[0], "Runs again | b | certain | ", "{name}");
        assert!(
            rows[1].starts_with(&format!("Then likely | c | as in {run}")),
            "{name} {rows:?}"
        );
        assert!(rows[1].ends_with(twice), "{name} {rows:?}");
        assert_eq!(
            rows[2..],
            ["Skipped | input, a |  | steps -1 to 1 are reused"]
        );
    }
}

#[test]
fn a_question_and_the_calls_of_a_state_are_named() {
    let history = capture("int-hitl-history");
    let model = rows(&branch(&history, "1f1e61f8-ea6a"));
    assert_eq!(model[0], "Runs again | model | certain | ");
    assert!(
        model[1].starts_with("Then likely | HumanInTheLoopMiddleware.after_model | as in 01a2012a"),
        "{model:?}"
    );
    assert!(model[1].contains("asks again: "), "{model:?}");
    let head = rows(&branch(&history, "1f1e61f8-ea72"));
    assert!(
        head[0].starts_with(
            "Runs again | HumanInTheLoopMiddleware.after_model | certain | asks again: "
        )
    );
    assert!(head[1].starts_with("Skipped | input"), "{head:?}");
}

#[test]
fn the_branch_that_ran_is_preferred_to_edits_and_forks() {
    let states = [
        state("f", Some("e"), "loop", &[], 3),
        state("e", Some("b"), "update", &["x"], 2),
        state("d", Some("c"), "loop", &[], 3),
        state("c", Some("b"), "loop", &["chat"], 2),
        state("b", Some("a"), "loop", &["tools"], 1),
        state("a", None, "input", &["chat"], 0),
    ];
    let likely = |id: &str| -> Vec<String> {
        let rows = rows(&branch(&states, id));
        rows.into_iter()
            .filter(|row| row.starts_with("Then"))
            .collect()
    };
    let may = "models and conditions may choose differently";
    assert_eq!(
        likely("b"),
        [format!("Then likely | chat | as in run-of-d | {may}")]
    );
    assert_eq!(
        likely("a"),
        [
            format!("Then likely | tools | as in run-of-c | {may}"),
            "Then likely | chat | as in run-of-d | ".to_string(),
        ]
    );
    assert_eq!(
        likely("c"),
        ["Then likely | the end of the graph | as in run-of-d | "]
    );
    assert!(likely("d").is_empty());
    // A loop of parents ends.
    let odd = [
        state("a", Some("b"), "loop", &["x"], 1),
        state("b", Some("a"), "loop", &["y"], 2),
    ];
    assert!(rows(&branch(&odd, "a")).len() <= MAX_STEPS + 3);
}

#[test]
fn the_input_of_a_later_run_is_not_what_follows() {
    let states = [
        state("d", Some("c"), "loop", &[], 2),
        state("c", Some("b"), "input", &["__start__"], 1),
        state("b", Some("a"), "loop", &[], 0),
        state("a", None, "input", &["__start__"], -1),
    ];
    assert_eq!(
        rows(&branch(&states, "a")),
        [
            "Runs again | __start__ | certain | the graph starts again with the saved input",
            "Then likely | the end of the graph | as in run-of-b | ",
        ]
    );
    // The steps of an earlier run are not listed as skipped ones.
    let later = rows(&branch(&states, "d"));
    assert_eq!(later, ["Skipped | input |  | steps 1 and 2 are reused"]);
}

#[test]
fn an_edit_is_no_step_and_ran_nothing() {
    // As JavaScript has it after the state before `act` was edited and the thread was not continued.
    let mut states = vec![
        state("c", Some("b"), "update", &["act"], 3),
        state("b", Some("a"), "loop", &["act"], 2),
        state("a", None, "input", &["ask"], 0),
    ];
    for state in &mut states {
        state["tasks"] = json!([{"name": state["next"][0]}]);
    }
    let first = |states: &[Value]| -> Vec<String> {
        rows(&branch(states, "b"))
            .into_iter()
            .filter(|row| !row.starts_with("Skipped"))
            .collect()
    };
    assert_eq!(first(&states), ["Runs | act | certain | "]);
    // Once it was continued, the node ran.
    states.insert(0, state("d", Some("c"), "loop", &[], 4));
    assert_eq!(
        first(&states),
        [
            "Runs again | act | certain | ",
            "Then likely | the end of the graph | as in run-of-c | "
        ]
    );
}

#[test]
fn a_run_from_a_checkpoint_begins_with_a_copy_that_is_no_step() {
    let states = [
        state("d", Some("c"), "loop", &[], 3),
        state("c", Some("b"), "loop", &["chat"], 2),
        state("b", Some("a"), "fork", &["tools"], 1),
        state("a", None, "loop", &["tools"], 0),
    ];
    assert_eq!(
        rows(&branch(&states, "a"))[..2],
        [
            "Runs again | tools | certain | ".to_string(),
            "Then likely | chat | as in run-of-d | models and conditions may choose differently"
                .into(),
        ]
    );
    assert_eq!(
        rows(&branch(&states, "c"))[2],
        "Skipped | unknown, tools |  | steps 0 and 2 are reused"
    );
}

#[test]
fn calls_that_a_node_answered_are_made_again() {
    let calls = json!([{"id": "1", "name": "list_invoices"}, {"id": "2", "name": "get_customer"}]);
    let answers = |ids: &[&str]| -> Vec<Value> {
        ids.iter()
            .map(|id| json!({"type": "tool", "tool_call_id": id}))
            .collect()
    };
    let mut base = state("b", Some("a"), "loop", &["run"], 6);
    base["values"] = json!({"messages": [{"type": "ai", "tool_calls": calls}]});
    let child = state("c", Some("b"), "loop", &[], 7);
    // Nothing shows that the node made the calls.
    let unproven = branch(&[child.clone(), base.clone()], "b");
    assert_eq!(unproven.repeats, None);
    assert_eq!(
        rows(&unproven)[0],
        "Runs again | run | certain | the state asks for list_invoices, get_customer"
    );
    // Several tasks of one node may have answered one call each.
    for result in [
        json!({"messages": answers(&["1", "2"])}),
        json!([{"messages": answers(&["1", "2"])}]),
    ] {
        base["tasks"] = json!([{"name": "run", "result": result}]);
        let proven = branch(&[child.clone(), base.clone()], "b");
        let repeats = proven.repeats.clone().unwrap();
        assert_eq!(repeats.calls, ["list_invoices", "get_customer"]);
        assert_eq!(repeats.run_id.as_deref(), Some("run-of-c"));
        assert_eq!(
            rows(&proven)[0],
            "Runs again | run | certain | list_invoices, get_customer"
        );
    }
    base["tasks"] = json!([{"name": "run", "result": {"messages": answers(&["2"])}}]);
    assert_eq!(
        branch(&[child.clone(), base.clone()], "b")
            .repeats
            .unwrap()
            .calls,
        ["get_customer"]
    );
    // It asks before it calls.
    base["tasks"] = json!([{"name": "run", "result": {"messages": answers(&["2"])},
                            "interrupts": [{"id": "i", "value": "Go on?"}]}]);
    let asking = branch(&[child, base], "b");
    assert_eq!(
        (&*rows(&asking)[0], asking.repeats),
        ("Runs again | run | certain | asks again: Go on?", None)
    );
}

#[test]
fn parallel_nodes_and_unknown_writers_are_not_guessed() {
    let mut alone = state("b", Some("gone"), "loop", &["left", "right", "right"], 3);
    alone["tasks"] = json!([{"name": "left"}, {"name": "right"}, {"name": "right"}]);
    let branch = branch(&[alone], "b");
    assert!(branch.writers.is_empty() && branch.is_newest);
    assert_eq!(rows(&branch), ["Runs | left, right ×2 | certain | "]);
}

#[test]
fn a_failed_task_says_why() {
    let mut failed = state("b", None, "loop", &["tools"], 3);
    failed["tasks"] = json!([{"name": "tools", "error": "ConnectTimeout: no\nresponse"}]);
    let branch = branch(&[failed], "b");
    assert_eq!(
        rows(&branch)[0],
        "Runs again | tools | certain | failed before: ConnectTimeout: no response"
    );
}

#[test]
fn a_task_that_keeps_its_answer_does_not_ask_again() {
    let mut asking = state("b", None, "loop", &["ask"], 3);
    asking["tasks"] = json!([{"name": "ask", "interrupts": [{"id": "i", "value": "Go on?"}]}]);
    let base = base_of(&asking, true);
    let detail = |keeps: bool, doubt: &str| {
        let next = Next {
            nodes: &base.facts.next,
            doubt,
            calls: &[],
            keeps_answer: &|_| keeps,
        };
        rows(&Past::new(&base, Vec::new(), None).branch(&base, &next)).remove(0)
    };
    assert_eq!(
        detail(false, ""),
        "Runs again | ask | certain | asks again: Go on?"
    );
    assert_eq!(detail(true, ""), "Runs again | ask | certain | ");
    // Where nothing else is known of the nodes, the row names what decides about them.
    assert_eq!(
        detail(true, "a condition decides"),
        "Runs again | ask | likely | a condition decides"
    );
}

#[test]
fn an_input_that_runs_again_likely_leads_to_the_same_steps() {
    let states = [
        state("d", Some("c"), "loop", &[], 3),
        state("c", Some("b"), "loop", &["chat"], 2),
        state("b", Some("a"), "input", &["__start__"], 1),
        state("a", None, "loop", &[], 0),
    ];
    let base = base_of(&states[0], true);
    let entry = |state: &Value| {
        (
            StateFacts::read(&state.to_string()).unwrap(),
            Checkpoint::read(&state.to_string()),
        )
    };
    let past = Past::new(&base, states.iter().map(entry).collect(), None);
    let start = "Runs again | __start__ | certain | the graph starts with the same input";
    let branch = past.rerun(&base, "run-of-b");
    assert_eq!(branch.writers, ["chat"]);
    let chat = "Then likely | chat | as in run-of-d | models and conditions may choose differently";
    assert_eq!(rows(&branch), [start, chat]);
    // Its steps are not known.
    assert_eq!(rows(&past.rerun(&base, "another")), [start]);
}
