use super::*;
use crate::{Data, Event, Namespace, Record, Seq};
use proptest::prelude::*;
use serde_json::{Value, json};

fn query(path: &str, expected: &str) -> BisectQuery {
    BisectQuery::parse(path, expected).unwrap()
}

/// Returns a chain of checkpoints with these values, oldest first; the node of each is `n` and its step.
fn chain(values: &[Value]) -> Vec<Value> {
    let row = |(n, values): (usize, &Value)| {
        let step = n as i64 - 1;
        let parent = n
            .checked_sub(1)
            .map(|parent| json!({"checkpoint_id": format!("c{parent:04}")}));
        json!({"checkpoint": {"checkpoint_id": format!("c{n:04}")}, "parent_checkpoint": parent, "values": values,
            "metadata": {"source": if n == 0 { "input" } else { "loop" }, "step": step, "run_id": "r-1"},
            "next": [format!("n{n}")], "tasks": [{"id": "t", "name": format!("n{n}"), "result": {}}]})
    };
    values.iter().enumerate().map(row).collect()
}

fn bisect(
    rows: &[Value],
    query: &BisectQuery,
    tip: Option<&str>,
) -> Result<Bisection, HistoryError> {
    let mut states = HistoryStates::default();
    rows.iter()
        .for_each(|row| states.add(query, &row.to_string()));
    states.bisect(tip)
}

#[test]
fn first_wrong_step_is_named_with_its_node_and_what_was_before() {
    let amounts = [
        json!({}),
        json!({"bill": {"amount": 1300}}),
        json!({"bill": {"amount": 1300.0}}),
    ];
    let values: Vec<Value> = amounts
        .into_iter()
        .chain([json!({"bill": {"amount": 130}}), json!({})])
        .collect();
    let query = query("bill.amount", "=1300");
    let found = bisect(&chain(&values), &query, None).unwrap();
    let (before, wrong) = found.first_wrong.clone().unwrap();
    assert_eq!(
        (before.at.step, before.value.as_deref()),
        (Some(1), Some("1300.0"))
    );
    assert_eq!(
        (wrong.at.step, wrong.value.as_deref()),
        (Some(2), Some("130"))
    );
    assert_eq!(
        (&*wrong.at.nodes, wrong.at.run_id.as_deref()),
        (&["n2".to_string()][..], Some("r-1"))
    );
    assert_eq!(
        (
            found.checked,
            found.changes.len(),
            found.times_wrong,
            found.is_cut
        ),
        (5, 5, 1, false)
    );
    assert_eq!(
        found.sentence(&query),
        "bill.amount became wrong at step 2 (n2); it was right until step 1 (n1)."
    );
}

#[test]
fn values_that_were_never_right_or_never_wrong_are_reported() {
    let values = [
        json!({}),
        json!({"a": "x"}),
        json!({"a": "x"}),
        json!({"a": "y"}),
    ];
    let answer = |path: &str, expected: &str| {
        let query = query(path, expected);
        let found = bisect(&chain(&values), &query, None).unwrap();
        (found.verdict(), found.sentence(&query))
    };
    let never = "a was never right (4 states): it was \"x\" first, at step 0 (n0).";
    assert_eq!(answer("a", "gold"), (Verdict::NeverRight, never.into()));
    let nothing = "b.c was never right (4 states): no state has a value there.";
    assert_eq!(
        answer("b.c", "exists"),
        (Verdict::NeverRight, nothing.into())
    );
    let since = "a was never wrong once it was set: it is right since step 0 (n0).";
    assert_eq!(answer("a", "exists"), (Verdict::NeverWrong, since.into()));
    assert_eq!(
        answer("a", "!=z"),
        (
            Verdict::NeverWrong,
            "a was never wrong: it is right in all 4 states.".into()
        )
    );
    assert_eq!(answer("a", "missing").0, Verdict::BecameWrong);
    assert_eq!(
        answer("a", "!=\"y\"").1,
        "a became wrong at step 2 (n2); it was right until step 1 (n1)."
    );
}

#[test]
fn values_that_become_right_again_are_counted() {
    let values: Vec<Value> = [1, 2, 1, 3, 1].iter().map(|n| json!({"n": n})).collect();
    let query = query("n", "1");
    let found = bisect(&chain(&values), &query, None).unwrap();
    assert_eq!((found.times_wrong, found.is_right_now()), (2, true));
    let sentence = found.sentence(&query);
    assert!(
        sentence.ends_with("It became wrong 2 times, and is right in the newest state."),
        "{sentence}"
    );
    let found = bisect(&chain(&values[..4]), &query, None).unwrap();
    assert!(
        found
            .sentence(&query)
            .ends_with("It became wrong 2 times, and is wrong in the newest state.")
    );
    let found = bisect(&chain(&values[..3]), &query, None).unwrap();
    assert!(
        found
            .sentence(&query)
            .ends_with("It is right again in the newest state.")
    );
}

#[test]
fn only_the_branch_of_the_tip_is_checked() {
    let mut rows = chain(&[json!({"a": 1}), json!({"a": 1}), json!({"a": 2})]);
    let mut fork = chain(&[json!({"a": 1}), json!({"a": 1}), json!({"a": 1})]).remove(2);
    fork["checkpoint"]["checkpoint_id"] = "c0009".into();
    rows.push(fork);
    let query = query("a", "1");
    assert_eq!(
        bisect(&rows, &query, None).unwrap().verdict(),
        Verdict::NeverWrong
    );
    assert_eq!(
        bisect(&rows, &query, Some("c0002")).unwrap().verdict(),
        Verdict::BecameWrong
    );
    assert_eq!(
        bisect(&rows, &query, Some("nope")),
        Err(HistoryError::NoCheckpoint)
    );
    assert_eq!(bisect(&[], &query, None), Err(HistoryError::Empty));
    // The oldest checkpoint is further back than what was read.
    assert!(bisect(&rows[1..], &query, None).unwrap().is_cut);
}

#[test]
fn expectations_and_paths_are_checked() {
    for (given, expected) in [
        ("exists", Expectation::Exists),
        ("missing", Expectation::Missing),
        ("=\"exists\"", Expectation::Equals(json!("exists"))),
        ("== gold", Expectation::Equals(json!("gold"))),
        ("gold card", Expectation::Equals(json!("gold card"))),
        ("!=null", Expectation::Differs(json!(null))),
        ("-3", Expectation::Equals(json!(-3))),
        (
            "=[1, {\"a\": 2}]",
            Expectation::Equals(json!([1, {"a": 2}])),
        ),
    ] {
        let parsed = Expectation::parse(given).unwrap();
        assert_eq!(parsed, expected, "{given}");
        assert_eq!(
            Expectation::parse(&parsed.to_string()),
            Ok(parsed),
            "{given}"
        );
    }
    for given in [
        "",
        " ",
        "=",
        "!=",
        "{\"a\"",
        "[1,",
        "\"x",
        "1x",
        "=1e400",
        "=123456789012345678901234567890",
    ] {
        assert!(Expectation::parse(given).is_err(), "{given}");
    }
    for path in ["", "a..b", "a[*].b", "a[]", "*"] {
        assert!(BisectQuery::parse(path, "1").is_err(), "{path}");
    }
}

fn event(seq: u64, name: &str, data: Value) -> Record {
    Record::Event(Event {
        seq: Seq(seq),
        at: Timestamp::UNIX_EPOCH,
        conn: 1,
        replayed: false,
        name: name.into(),
        ns: Namespace::default(),
        id: None,
        data: Data::Json(data.to_string().into()),
    })
}

#[test]
fn states_of_a_recording_are_checked_with_the_nodes_that_wrote_them() {
    let query = query("tier", "gold");
    let mut reading = RecordingBisect::new(query.clone());
    let records = [
        event(1, "metadata", json!({"run_id": "r-7"})),
        event(2, "values", json!({"tier": null})),
        event(3, "updates", json!({"look_up": {"tier": "gold"}})),
        event(4, "values", json!({"tier": "gold"})),
        event(5, "updates", json!({"chat": null})),
        event(6, "updates", json!({"bill": {"tier": "none"}})),
        event(7, "values", json!({"tier": "none"})),
        // It isn't known which node wrote this one.
        event(8, "values", json!({"tier": "paid"})),
        // Only a question, as JavaScript sends it: no state.
        event(
            9,
            "values",
            json!({"__interrupt__": [{"id": "i", "value": 1}]}),
        ),
    ];
    records.into_iter().for_each(|record| reading.apply(record));
    let found = reading.finish();
    let (before, wrong) = found.first_wrong.clone().unwrap();
    assert_eq!(
        (before.at.event, wrong.at.event),
        (Some(EventNumber(4)), Some(EventNumber(7)))
    );
    assert_eq!(before.at.nodes, ["look_up"]);
    assert_eq!(
        (&*wrong.at.nodes, wrong.at.run_id.as_deref()),
        (&["chat".into(), "bill".into()][..], Some("r-7"))
    );
    let writers: Vec<String> = found
        .changes
        .iter()
        .map(|change| change.at.nodes.join("+"))
        .collect();
    assert_eq!(writers, ["input", "look_up", "chat+bill", ""]);
    assert_eq!(found.checked, 4);
}

proptest! {
    /// The result is that of the definition: the first right state that a wrong one follows.
    #[test]
    fn result_follows_the_definition(states in proptest::collection::vec(proptest::option::of(0..3u8), 1..40)) {
        let values: Vec<Value> = states.iter().map(|n| n.map_or(json!({}), |n| json!({"n": n}))).collect();
        let found = bisect(&chain(&values), &query("n", "=1"), None).unwrap();
        let right: Vec<bool> = states.iter().map(|n| *n == Some(1)).collect();
        let wrong: Vec<usize> = (1..right.len()).filter(|n| right[n - 1] && !right[*n]).collect();
        let step = |at: usize| Some(at as i64 - 1);
        prop_assert_eq!(found.first_wrong.as_ref().map(|(_, wrong)| wrong.at.step), wrong.first().map(|at| step(*at)));
        prop_assert_eq!(found.times_wrong, wrong.len());
        let first = right.iter().position(|right| *right);
        prop_assert_eq!(found.first_right.as_ref().map(|first| first.at.step), first.map(step));
        let changed = (0..states.len()).filter(|n| *n == 0 || states[*n] != states[n - 1]).count();
        prop_assert_eq!((found.changes.len(), found.checked), (changed, states.len()));
        let verdict = match (wrong.is_empty(), first) {
            (false, _) => Verdict::BecameWrong,
            (true, None) => Verdict::NeverRight,
            (true, Some(_)) => Verdict::NeverWrong,
        };
        prop_assert_eq!(found.verdict(), verdict);
    }
}
