use super::*;
use crate::Record;
use crate::tests::Script;
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
fn results_are_told_in_a_sentence() {
    let never = "[{},{\"a\":\"x\"},{\"a\":\"x\"},{\"a\":\"y\"}]";
    for (values, path, expected, sentence) in [
        (
            r#"[{},{"bill":{"amount":1300}},{"bill":{"amount":1300.0}},{"bill":{"amount":130}},{}]"#,
            "bill.amount",
            "=1300",
            "bill.amount became wrong at step 2 (n2); it was right until step 1 (n1).",
        ),
        (
            never,
            "a",
            "gold",
            "a was never right (4 states): it was \"x\" first, at step 0 (n0).",
        ),
        (
            never,
            "b.c",
            "exists",
            "b.c was never right (4 states): no state has a value there.",
        ),
        (
            never,
            "a",
            "exists",
            "a was never wrong once it was set: it is right since step 0 (n0).",
        ),
        (
            never,
            "a",
            "!=z",
            "a was never wrong: it is right in all 4 states.",
        ),
        (
            never,
            "a",
            "!=\"y\"",
            "a became wrong at step 2 (n2); it was right until step 1 (n1).",
        ),
        (
            never,
            "a",
            "missing",
            "a became wrong at step 0 (n0); it was right until step -1 (input).",
        ),
        // Values that become right again are counted.
        (
            r#"[{"n":1},{"n":2},{"n":1},{"n":3},{"n":1}]"#,
            "n",
            "1",
            "n became wrong at step 0 (n0); it was right until step -1 (input). It became wrong 2 times, and is right in the newest state.",
        ),
        (
            r#"[{"n":1},{"n":2},{"n":1},{"n":3}]"#,
            "n",
            "1",
            "n became wrong at step 0 (n0); it was right until step -1 (input). It became wrong 2 times, and is wrong in the newest state.",
        ),
        (
            r#"[{"n":1},{"n":2},{"n":1}]"#,
            "n",
            "1",
            "n became wrong at step 0 (n0); it was right until step -1 (input). It is right again in the newest state.",
        ),
    ] {
        let values: Vec<Value> = serde_json::from_str(values).unwrap();
        let query = query(path, expected);
        let found = bisect(&chain(&values), &query, None).unwrap();
        assert_eq!(found.sentence(&query), sentence);
        let Some((before, wrong)) = &found.first_wrong else {
            continue;
        };
        assert_eq!(wrong.at.run_id.as_deref(), Some("r-1"));
        let at = |observation: &Observation| (observation.at.step.unwrap() + 1) as usize;
        for observation in [before, wrong] {
            let value = query
                .parsed
                .find(Peek::of(&values[at(observation)].to_string()))
                .first()
                .map(|found| found.text().to_string());
            assert_eq!(observation.value.as_deref(), value.as_deref(), "{path}");
        }
    }
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

#[test]
fn states_of_a_recording_are_checked_with_the_nodes_that_wrote_them() {
    let mut reading = RecordingBisect::new(query("tier", "gold"));
    let script = Script::of(
        r#"0 metadata {"run_id": "r-7"}
           0 values {"tier": null}
           0 updates {"look_up": {"tier": "gold"}}
           0 values {"tier": "gold"}
           0 updates {"chat": null}
           0 updates {"bill": {"tier": "none"}}
           0 values {"tier": "none"}
           0 values {"tier": "paid"}
           0 values {"__interrupt__": [{"id": "i", "value": 1}]}"#,
    );
    let events = script.events.into_iter();
    events.for_each(|event| reading.apply(Record::Event(event)));
    let found = reading.finish();
    let (before, wrong) = found.first_wrong.unwrap();
    let events = (before.at.event, wrong.at.event);
    assert_eq!(events, (Some(EventNumber(4)), Some(EventNumber(7))));
    assert_eq!(wrong.at.run_id.as_deref(), Some("r-7"));
    let writers = found.changes.iter().map(|change| change.at.nodes.join("+"));
    // It isn't known which node wrote the last one. Only a question, as JavaScript sends it, is no state.
    assert!(writers.eq(["input", "look_up", "chat+bill", ""]));
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
