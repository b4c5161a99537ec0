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

    /// Begins a history with rows.
    fn of(rows: Value) -> Built {
        let mut built = Built::new();
        built.add(rows);
        built
    }

    /// Adds checkpoints, `[source, next, node, result]` with an optional task, and between them what was written.
    fn add(&mut self, rows: Value) {
        for row in rows.as_array().unwrap() {
            match row {
                Value::Array(row) => {
                    let at = |at: usize| row[at].as_str().unwrap();
                    let task = row.get(3).map(|result| (at(2), result.clone()));
                    self.push(at(0), at(1), task);
                }
                write => self.wrote(write),
            }
        }
    }

    fn steps(&self) -> Result<Supersteps, Unrepeatable> {
        Supersteps::of(&self.branch(), &shape())
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

/// Returns the writes of each superstep, as `[node, values]`.
fn written(steps: &Supersteps) -> Vec<Value> {
    let one = |writes: &Vec<_>| {
        writes
            .iter()
            .map(|write: &StepWrite| json!([write.as_node, write.values]))
            .collect()
    };
    steps.steps.iter().map(one).collect()
}

fn message(id: &str, content: &str) -> Value {
    json!({"type": "ai", "id": id, "content": content, "usage_metadata": {"total_tokens": 3}})
}

#[test]
fn steps_write_what_their_tasks_wrote_with_the_ids_of_the_state() {
    let human = json!({"type": "human", "id": "m1", "content": "hi"});
    let chunk =
        json!({"type": "AIMessageChunk", "id": "m2", "content": "yo", "tool_call_chunks": []});
    let built = Built::of(json!([
        ["input", "__start__", "__start__", {"messages": [{"type": "human", "content": "hi"}]}],
        {"messages": [human]},
        ["loop", "a", "a", {"messages": [chunk], "n": 1}],
        {"messages": [message("m2", "yo")], "n": 1},
        ["loop", ""],
    ]));
    let steps = built.steps().unwrap();
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
    let sent = json!([message("m2", "yo"), {"usage_metadata": 1}]);
    let plain = json!([{"type": "ai", "id": "m2", "content": "yo"}, {"usage_metadata": 1}]);
    assert_eq!((plain_message(&sent, &mut lost), lost), (plain, true));
}

#[test]
fn writers_that_the_history_hides_follow_from_the_graph() {
    let mut built = Built::of(json!([
        ["input", "__start__", "__start__", {"n": 1}], {"n": 1},
        ["loop", "a", "a", {"log": ["a"]}], {"log": ["a"]},
        // No task is shown, and only b follows a.
        ["loop", ""], {"log": ["b"]}, ["loop", "c"],
    ]));
    let steps = built.steps().unwrap();
    assert_eq!(written(&steps)[3], json!([["b", {"log": ["b"]}]]));
    assert_eq!(steps.inferred, [2]);
    // After b it could be a or c.
    built.add(json!([{"log": ["?"]}, ["loop", ""]]));
    assert_eq!(built.steps(), Err(Unrepeatable::UnknownWriter(Some(3))));
}

#[test]
fn results_that_the_history_hides_follow_from_the_states() {
    let mut built = Built::of(json!([
        ["input", "__start__", "__start__", {}],
        ["loop", "a"]
    ]));
    // As JavaScript shows two questions that were answered, beside a task that was not asked.
    built.rows[1]["tasks"] = json!([
        {"name": "a", "result": null, "interrupts": [{"id": "1"}]},
        {"name": "b", "result": {"log": ["b"], "n": 4}},
        {"name": "c", "result": null, "interrupts": [{"id": "2"}]},
    ]);
    built.add(json!([{"log": ["a", "b", "c"], "n": 4}, ["loop", ""]]));
    let steps = built.steps().unwrap();
    let expected = json!([["a", {"log": ["a", "c"]}], ["b", {"log": ["b"], "n": 4}], ["c", {}]]);
    assert_eq!(
        (&written(&steps)[2], &*steps.inferred),
        (&expected, &[1][..])
    );
}

#[test]
fn edits_are_made_in_the_name_of_a_node_that_leads_to_the_same_next_nodes() {
    let built = Built::of(json!([
        ["input", "__start__", "__start__", {"n": 1}], {"n": 1},
        ["loop", "a", "a", {"messages": [message("m1", "x")]}], {"messages": [message("m1", "x")]},
        ["loop", "b"], {"n": 2, "log": ["edited"], "messages": [{"type": "remove", "id": "m1"}]},
        ["update", "b"], {"n": 3},
        ["update", "c"],
    ]));
    let steps = built.steps().unwrap();
    let removed = json!({"log": ["edited"], "messages": [{"type": "remove", "id": "m1", "content": ""}], "n": 2});
    // As the node that wrote last, and as the one that was next.
    assert_eq!(
        written(&steps)[3..],
        [json!([["a", removed]]), json!([["b", {"n": 3}]])]
    );
    assert_eq!(replayed(&steps).last(), Some(&built.values));
}

#[test]
fn histories_that_can_not_be_repeated_say_why() {
    let text = Built::of(json!([
        ["input", "__start__", "__start__", {"n": 1}],
        ["loop", "a", "a", "text"],
        ["loop", ""],
    ]));
    // Hostile: parents in a circle.
    let row = |id: &str, parent: &str| json!({"checkpoint_id": id, "parent_checkpoint_id": parent, "metadata": {"source": "loop"}, "values": 3});
    let circle = [row("a", "b"), row("b", "a")];
    let circle = circle.into_iter().filter_map(HistoryState::read).collect();
    for (branch, why) in [
        (vec![], Unrepeatable::Empty),
        (
            Built::of(json!([["loop", ""]])).branch(),
            Unrepeatable::NoBeginning,
        ),
        (
            text.branch(),
            Unrepeatable::NotAnObject("a".into(), Some(1)),
        ),
        // The oldest state is not there.
        (text.branch().split_off(1), Unrepeatable::NoBeginning),
        (branch_of(circle), Unrepeatable::NoBeginning),
    ] {
        assert_eq!(Supersteps::of(&branch, &shape()), Err(why));
    }
}

#[test]
fn several_writes_to_a_channel_are_separate_updates_and_forks_are_left_out() {
    let twice = json!({"log": {"$writes": [["x"], ["y"]]}, "n": 5});
    let built = Built::of(json!([
        ["input", "__start__", "__start__", {}],
        ["loop", "a", "a", twice], ["fork", "a", "a", twice],
        {"log": ["x", "y"], "n": 5}, ["loop", "b"],
    ]));
    let steps = built.steps().unwrap();
    assert_eq!((steps.repeated, &*steps.states), (1, &[0, 1, 3][..]));
    let separate = json!([["a", {"log": ["x"], "n": 5}], ["a", {"log": ["y"]}]]);
    assert_eq!(written(&steps)[2], separate);
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
