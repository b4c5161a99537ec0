use super::*;
use proptest::prelude::*;

/// A graph `a → b → c` with a branch after `b`, whose channels are `log` (appends), `messages` and `n`.
fn shape() -> GraphShape {
    let edge = |source: &str, target: &str| json!({"source": source, "target": target});
    GraphShape::read(&json!({
        "nodes": [{"id": "__start__"}, {"id": "a"}, {"id": "b"}, {"id": "c"}, {"id": "__end__"}],
        "edges": [edge("__start__", "a"), edge("a", "b"), edge("b", "c"), edge("b", "a"), edge("c", "__end__")],
    }))
}

/// Applies a write as a server does.
fn apply(values: &mut Map<String, Value>, write: &Map<String, Value>) {
    for (key, value) in write {
        let list = |values: &Map<String, Value>| {
            values
                .get(key)
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default()
        };
        match key.as_str() {
            "log" => {
                let mut list = list(values);
                list.extend(value.as_array().cloned().unwrap_or_default());
                values.insert(key.clone(), list.into());
            }
            "messages" => {
                let mut list = list(values);
                for message in value.as_array().into_iter().flatten() {
                    let at = list.iter().position(|known| known["id"] == message["id"]);
                    match (at, message["type"] == "remove") {
                        (Some(at), true) => drop(list.remove(at)),
                        (None, true) => {}
                        (Some(at), false) => list[at] = message.clone(),
                        (None, false) => list.push(message.clone()),
                    }
                }
                values.insert(key.clone(), list.into());
            }
            _ => drop(values.insert(key.clone(), value.clone())),
        }
    }
}

/// Builds a history as servers show it.
struct Built {
    rows: Vec<Value>,
    values: Map<String, Value>,
}

impl Built {
    fn new() -> Built {
        let values = json!({"log": [], "messages": []})
            .as_object()
            .cloned()
            .unwrap();
        Built {
            rows: Vec::new(),
            values,
        }
    }

    fn push(&mut self, source: &str, next: &str, writes: Option<(&str, Value)>) {
        let n = self.rows.len();
        let parent = n
            .checked_sub(1)
            .map(|parent| json!({"checkpoint_id": format!("c{parent:04}")}));
        let task =
            writes.map(|(node, result)| json!({"name": node, "result": result, "interrupts": [], "error": null}));
        self.rows.push(json!({
            "checkpoint": {"checkpoint_id": format!("c{n:04}")}, "parent_checkpoint": parent, "values": self.values,
            "metadata": {"source": source, "step": n as i64 - 1}, "next": if next.is_empty() { vec![] } else { vec![next] },
            "tasks": task.into_iter().collect::<Vec<_>>(),
        }));
    }

    fn wrote(&mut self, write: &Value) {
        apply(&mut self.values, write.as_object().unwrap());
    }

    fn branch(&self) -> Vec<HistoryState> {
        branch_of(
            self.rows
                .iter()
                .rev()
                .cloned()
                .filter_map(HistoryState::read)
                .collect(),
        )
    }
}

/// Replays supersteps as a server does, and returns the state after each.
fn replayed(steps: &Supersteps) -> Vec<Map<String, Value>> {
    let mut values = json!({"log": [], "messages": []})
        .as_object()
        .cloned()
        .unwrap();
    let mut states = Vec::new();
    for writes in &steps.steps {
        for write in writes
            .iter()
            .filter(|write| write.as_node.as_deref() != Some(INPUT))
        {
            apply(&mut values, &write.values);
        }
        states.push(values.clone());
    }
    states
}

fn message(id: &str, content: &str) -> Value {
    json!({"type": "ai", "id": id, "content": content, "usage_metadata": {"total_tokens": 3}})
}

#[test]
fn steps_write_what_their_tasks_wrote_with_the_ids_of_the_state() {
    let mut built = Built::new();
    let input = json!({"messages": [{"type": "human", "content": "hi"}]});
    built.push("input", "__start__", Some(("__start__", input)));
    built.wrote(&json!({"messages": [{"type": "human", "id": "m1", "content": "hi"}]}));
    let chunk = json!({"messages": [{"type": "AIMessageChunk", "id": "m2", "content": "yo", "tool_call_chunks": []}], "n": 1});
    built.push("loop", "a", Some(("a", chunk)));
    built.wrote(&json!({"messages": [message("m2", "yo")], "n": 1}));
    built.push("loop", "", None);
    let steps = Supersteps::of(&built.branch(), &shape()).unwrap();
    let human = json!({"type": "human", "id": "m1", "content": "hi"});
    assert_eq!(
        steps.body(Value::clone),
        json!([
            {"updates": [{"values": {"messages": [human]}, "as_node": "__input__"}]},
            {"updates": [{"values": {"messages": [human]}, "as_node": "__start__"}]},
            {"updates": [{"values": {"messages": [message("m2", "yo")], "n": 1}, "as_node": "a"}]},
        ])
    );
    assert_eq!((steps.inferred.len(), steps.repeated), (0, 0));
    let mut lost = false;
    let plain = plain_message(
        &json!([message("m2", "yo"), {"usage_metadata": 1}]),
        &mut lost,
    );
    assert_eq!(
        (plain, lost),
        (
            json!([{"type": "ai", "id": "m2", "content": "yo"}, {"usage_metadata": 1}]),
            true
        )
    );
}

#[test]
fn writers_that_the_history_hides_follow_from_the_graph() {
    let mut built = Built::new();
    built.push("input", "__start__", Some(("__start__", json!({"n": 1}))));
    built.wrote(&json!({"n": 1}));
    built.push("loop", "a", Some(("a", json!({"log": ["a"]}))));
    built.wrote(&json!({"log": ["a"]}));
    // No task is shown, and only b follows a.
    built.push("loop", "", None);
    built.wrote(&json!({"log": ["b"]}));
    built.push("loop", "c", None);
    let steps = Supersteps::of(&built.branch(), &shape()).unwrap();
    let last = steps.steps.last().unwrap();
    assert_eq!(
        (last[0].as_node.as_deref(), &last[0].values["log"]),
        (Some("b"), &json!(["b"]))
    );
    assert_eq!(steps.inferred, [2]);
    // After b it could be a or c.
    built.wrote(&json!({"log": ["?"]}));
    built.push("loop", "", None);
    assert_eq!(
        Supersteps::of(&built.branch(), &shape()),
        Err(Unrepeatable::UnknownWriter(Some(3)))
    );
}

#[test]
fn results_that_the_history_hides_follow_from_the_states() {
    let mut built = Built::new();
    built.push("input", "__start__", Some(("__start__", json!({}))));
    built.push("loop", "a", Some(("a", Value::Null)));
    // As JavaScript shows two questions that were answered, beside a task that was not asked.
    built.rows[1]["tasks"] = json!([
        {"name": "a", "result": null, "interrupts": [{"id": "1"}]},
        {"name": "b", "result": {"log": ["b"], "n": 4}},
        {"name": "c", "result": null, "interrupts": [{"id": "2"}]},
    ]);
    built.wrote(&json!({"log": ["a", "b", "c"], "n": 4}));
    built.push("loop", "", None);
    let steps = Supersteps::of(&built.branch(), &shape()).unwrap();
    let writes: Vec<Value> = steps.steps[2]
        .iter()
        .map(|write| json!([write.as_node, write.values]))
        .collect();
    let expected = json!([["a", {"log": ["a", "c"]}], ["b", {"log": ["b"], "n": 4}], ["c", {}]]);
    assert_eq!((json!(writes), &*steps.inferred), (expected, &[1][..]));
}

#[test]
fn edits_are_made_in_the_name_of_a_node_that_leads_to_the_same_next_nodes() {
    let mut built = Built::new();
    built.push("input", "__start__", Some(("__start__", json!({"n": 1}))));
    built.wrote(&json!({"n": 1}));
    built.push(
        "loop",
        "a",
        Some(("a", json!({"messages": [message("m1", "x")]}))),
    );
    built.wrote(&json!({"messages": [message("m1", "x")]}));
    built.push("loop", "b", None);
    built.wrote(&json!({"n": 2, "log": ["edited"], "messages": [{"type": "remove", "id": "m1"}]}));
    built.push("update", "b", None);
    built.wrote(&json!({"n": 3}));
    built.push("update", "c", None);
    let steps = Supersteps::of(&built.branch(), &shape()).unwrap();
    let edits: Vec<(Option<&str>, &Map<String, Value>)> = steps.steps[3..]
        .iter()
        .map(|writes| (writes[0].as_node.as_deref(), &writes[0].values))
        .collect();
    let first = json!({"log": ["edited"], "messages": [{"type": "remove", "id": "m1", "content": ""}], "n": 2});
    assert_eq!(
        edits[0],
        (Some("a"), first.as_object().unwrap()),
        "as the node that wrote last"
    );
    assert_eq!(
        edits[1],
        (Some("b"), json!({"n": 3}).as_object().unwrap()),
        "as the node that was next"
    );
    assert_eq!(replayed(&steps).last(), Some(&built.values));
}

#[test]
fn histories_that_can_not_be_repeated_say_why() {
    assert_eq!(Supersteps::of(&[], &shape()), Err(Unrepeatable::Empty));
    let mut built = Built::new();
    built.push("loop", "", None);
    assert_eq!(
        Supersteps::of(&built.branch(), &shape()),
        Err(Unrepeatable::NoBeginning)
    );
    let mut built = Built::new();
    built.push("input", "__start__", Some(("__start__", json!({"n": 1}))));
    built.push("loop", "a", Some(("a", json!("text"))));
    built.push("loop", "", None);
    assert_eq!(
        Supersteps::of(&built.branch(), &shape()),
        Err(Unrepeatable::NotAnObject("a".into(), Some(1)))
    );
    // The oldest state is not there.
    assert_eq!(
        Supersteps::of(&built.branch()[1..], &shape()),
        Err(Unrepeatable::NoBeginning)
    );
    // Hostile: parents in a circle.
    let row = |id: &str, parent: &str| json!({"checkpoint_id": id, "parent_checkpoint_id": parent, "metadata": {"source": "loop"}, "values": 3});
    let circle: Vec<HistoryState> = [row("a", "b"), row("b", "a")]
        .into_iter()
        .filter_map(HistoryState::read)
        .collect();
    assert_eq!(
        Supersteps::of(&branch_of(circle), &shape()),
        Err(Unrepeatable::NoBeginning)
    );
}

#[test]
fn several_writes_to_a_channel_are_separate_updates_and_forks_are_left_out() {
    let mut built = Built::new();
    built.push("input", "__start__", Some(("__start__", json!({}))));
    let twice = json!({"log": {"$writes": [["x"], ["y"]]}, "n": 5});
    built.push("loop", "a", Some(("a", twice.clone())));
    built.push("fork", "a", Some(("a", twice)));
    built.wrote(&json!({"log": ["x", "y"], "n": 5}));
    built.push("loop", "b", None);
    let steps = Supersteps::of(&built.branch(), &shape()).unwrap();
    assert_eq!((steps.repeated, &*steps.states), (1, &[0, 1, 3][..]));
    let values: Vec<&Map<String, Value>> =
        steps.steps[2].iter().map(|write| &write.values).collect();
    assert_eq!(
        json!(values),
        json!([{"log": ["x"], "n": 5}, {"log": ["y"]}])
    );
    assert_eq!(replayed(&steps).last(), Some(&built.values));
}

#[test]
fn only_differences_that_servers_make_are_ignored_in_messages() {
    let a = json!({"messages": [message("m", "x")], "n": 1});
    let sent = json!({"messages": [{"type": "ai", "id": "m", "content": "x", "tool_calls": [], "name": null}], "n": 1});
    assert!(
        same_message(&a["messages"], &sent["messages"])
            && same_message(&sent["messages"], &a["messages"])
    );
    for other in [
        message("m", "y"),
        message("k", "x"),
        json!({"type": "ai", "id": "m", "content": "x", "name": "bob"}),
    ] {
        assert!(!same_message(&a["messages"], &json!([other])), "{other}");
    }
    assert!(!same_message(&json!({"usage_metadata": 1}), &json!({})));
}

fn a_write() -> impl Strategy<Value = Value> {
    let log = proptest::option::of(proptest::collection::vec(0..5u8, 0..3));
    let n = proptest::option::of(prop_oneof![
        (0..4u8).prop_map(Value::from),
        Just(json!([1, 2])),
        Just(json!([]))
    ]);
    let a_message = (
        0..4u8,
        prop_oneof![Just("say"), Just("edit"), Just("remove")],
    );
    let messages = proptest::collection::vec(a_message, 0..3);
    (log, n, messages).prop_map(|(log, n, messages)| {
        let mut write = Map::new();
        if let Some(log) = log {
            write.insert("log".into(), json!(log));
        }
        if let Some(n) = n {
            write.insert("n".into(), n);
        }
        let written = |(id, what): &(u8, &str)| match *what {
            "remove" => json!({"type": "remove", "id": id.to_string(), "content": ""}),
            what => message(&id.to_string(), what),
        };
        if !messages.is_empty() {
            write.insert(
                "messages".into(),
                messages.iter().map(written).collect::<Vec<_>>().into(),
            );
        }
        write.into()
    })
}

proptest! {
    /// Repeating the supersteps gives every state of the branch again, whether a node or a person wrote it.
    #[test]
    fn supersteps_repeat_every_state(writes in proptest::collection::vec((a_write(), any::<bool>()), 1..8)) {
        let mut built = Built::new();
        let (input, _) = &writes[0];
        built.push("input", "__start__", Some(("__start__", input.clone())));
        built.wrote(input);
        let nodes = ["a", "b", "c"];
        for (n, (write, is_edit)) in writes[1..].iter().enumerate() {
            let node = nodes[n % 3];
            // The checkpoint before a step shows what the step wrote; before an edit, nothing.
            built.push("loop", node, (!is_edit).then(|| (node, write.clone())));
            if *is_edit {
                built.rows.last_mut().unwrap()["tasks"] = json!([{"name": node, "result": null}]);
            }
            built.wrote(write);
            if *is_edit {
                built.push("update", node, Some((node, json!({}))));
            }
        }
        built.push("loop", "", None);
        let branch = built.branch();
        let steps = Supersteps::of(&branch, &shape()).unwrap();
        let states = replayed(&steps);
        prop_assert_eq!(steps.states.len(), states.len());
        for (at, values) in steps.states.iter().zip(&states) {
            for (key, value) in branch[*at].values() {
                let is_same = values.get(key) == Some(value) || messages_equal(values.get(key), value);
                prop_assert!(is_same, "{} at {}: {:?} not {}", key, at, values.get(key), value);
            }
        }
    }
}

/// A removed message that comes back in an edit has another place, which no update can set.
fn messages_equal(a: Option<&Value>, b: &Value) -> bool {
    let sorted = |value: &Value| {
        let mut all: Vec<String> = value
            .as_array()
            .into_iter()
            .flatten()
            .map(Value::to_string)
            .collect();
        all.sort();
        all
    };
    b.as_array()
        .is_some_and(|list| list.iter().all(|item| item["id"].is_string()))
        && a.is_some_and(|a| sorted(a) == sorted(b))
}
