use super::*;
use crate::fixtures::{asking, questions};
use crate::model::form::Form;
use proptest::prelude::*;
use serde_json::json;

fn plain(id: &str, value: Value) -> Question {
    Question {
        id: Some(id.to_string()),
        ..asking(value)
    }
}

fn value(value: Value) -> Option<Reply> {
    Some(Reply::Value(value))
}

const A: &str = "0123456789abcdef0123456789abcdef";
const B: &str = "ffff456789abcdef0123456789abcdef";

fn answer(questions: &[Question], replies: &[Option<Reply>]) -> Result<Value, Vec<String>> {
    match resume(questions, replies) {
        Ok(resume) => Ok(resume.value().clone()),
        Err(problems) => Err(problems.iter().map(Problem::to_string).collect()),
    }
}

fn edit(name: &str, args: Value) -> Decision {
    Decision::Edit(name.into(), args.as_object().unwrap().clone())
}

#[test]
fn decisions_match_the_middlewares_format() {
    let open = questions("question-hitl");
    let id = open[0].id.clone().unwrap();
    let decisions = vec![
        Some(edit(
            "send_email",
            json!({"to": "bob@example.com", "body": "dinner?"}),
        )),
        Some(Decision::Reject("keep it".into())),
        Some(Decision::Respond("Tuesday".into())),
    ];
    let sent = answer(&open, &[Some(Reply::Decisions(decisions))]).unwrap();
    // Exactly what the captured server accepted.
    let expected = json!({"decisions": [
        {"type": "edit", "edited_action": {"name": "send_email", "args": {"to": "bob@example.com", "body": "dinner?"}}},
        {"type": "reject", "message": "keep it"},
        {"type": "respond", "message": "Tuesday"},
    ]});
    assert_eq!(sent, json!({ id: expected }));
}

#[test]
fn invalid_decisions_are_refused() {
    let open = questions("question-hitl");
    let [approve, none] = [Some(Decision::Approve), None];
    let respond = |text: &str| Some(Decision::Respond(text.into()));
    let reject = Some(Decision::Reject(String::new()));
    for (decisions, expected) in [
        (
            vec![&approve],
            "action 2 needs a decision, action 3 needs a decision",
        ),
        (vec![&approve; 3], "action 3 (ask_user) allows only respond"),
        (
            vec![&approve, &respond("x"), &respond("x")],
            "action 2 (delete_file) allows only approve, reject",
        ),
        (
            vec![&approve, &reject, &respond(" ")],
            "action 3 needs the text of the response",
        ),
        (
            vec![&approve, &reject, &respond("x"), &approve],
            "action 4 does not exist",
        ),
        (
            vec![&none; 3],
            "action 1 needs a decision, action 2 needs a decision, action 3 needs a decision",
        ),
    ] {
        let reply = Reply::Decisions(decisions.into_iter().cloned().collect());
        assert_eq!(
            answer(&open, &[Some(reply)]).unwrap_err().join(", "),
            expected
        );
    }
    // The same as typed JSON. The first one is the old inbox's format, which the graph would reject.
    let (reject, respond) = (
        json!({"type": "reject"}),
        json!({"type": "respond", "message": "x"}),
    );
    let edit = |edited: Value| json!({"decisions": [{"type": "edit", "edited_action": edited}, reject, respond]});
    for (typed, expected) in [
        (
            json!([{"type": "accept"}]),
            "must be {\"decisions\": […]} with one decision for each action",
        ),
        (
            json!({"decisions": [reject]}),
            "must have 3 decisions, one for each action, and has 1",
        ),
        (
            edit(json!({"args": {}})),
            "action 1 needs the name of the edited action (edited_action.name)",
        ),
        (
            edit(json!({"name": "f", "args": "x"})),
            "action 1 needs an object of arguments",
        ),
        (
            json!({"decisions": [{"type": "approve"}, {"type": "reject", "message": 7}, respond]}),
            "action 2 needs text as its reason",
        ),
    ] {
        assert_eq!(answer(&open, &[value(typed)]).unwrap_err(), [expected]);
    }
}

#[test]
fn agent_inbox_answers_are_lists_of_one() {
    let open = questions("question-inbox");
    let id = open[0].id.clone().unwrap();
    for (decision, expected) in [
        (Decision::Approve, json!([{"type": "accept", "args": null}])),
        (Decision::Ignore, json!([{"type": "ignore", "args": null}])),
        (
            Decision::Respond("be nicer".into()),
            json!([{"type": "response", "args": "be nicer"}]),
        ),
        (
            edit("send_email", json!({"to": "bob@example.com"})),
            json!([{"type": "edit", "args": {"action": "send_email", "args": {"to": "bob@example.com"}}}]),
        ),
    ] {
        assert_eq!(
            answer(&open, &[Some(Reply::Decisions(vec![Some(decision)]))]),
            Ok(json!({ id.as_str(): expected }))
        );
    }
    let wrong = answer(&open, &[value(json!({"type": "accept"}))]).unwrap_err();
    assert!(
        wrong[0].starts_with("must be a list of exactly one response"),
        "{wrong:?}"
    );
    let unknown = answer(&open, &[value(json!([{"type": "approve"}]))]).unwrap_err();
    assert_eq!(
        unknown,
        ["action 1 (send_email) allows only accept, edit, ignore, response"]
    );
}

#[test]
fn answers_are_checked_against_the_response_schema() {
    let open = questions("question-with-schema");
    let good = json!({"approve": true, "score": 5, "colour": "green"});
    assert!(answer(&open, &[value(good)]).is_ok());
    let bad = answer(&open, &[value(json!({"score": 9}))]).unwrap_err();
    assert_eq!(bad, ["approve: required", "score: must be at most 5"]);
    let remote = Question {
        response_schema: Some(json!({"$ref": "https://x.test/s"})),
        ..plain(A, json!("?"))
    };
    assert!(
        remote
            .caution()
            .is_some_and(|text| text.contains("can't be checked here"))
            && open[0].caution().is_none()
    );
}

#[test]
fn several_questions_are_answered_by_id_and_may_stay_open() {
    let open = questions("questions-parallel");
    let id = |at: usize| open[at].id.clone().unwrap();
    let replies = [None, value(json!("keep")), value(json!(false))];
    let resumed = resume(&open, &replies).unwrap();
    assert_eq!(resumed.value(), &json!({ id(1): "keep", id(2): false }));
    assert_eq!(resumed.answered(), [1, 2]);
    assert_eq!(
        answer(&open, &[None, None, None]),
        Err(vec!["Nothing is answered yet.".to_string()])
    );
    let null = answer(&open, &[value(Value::Null)]).unwrap_err();
    assert!(null[0].starts_with("null can't be an answer"), "{null:?}");
}

#[test]
fn question_without_an_id_is_answered_alone_without_a_map() {
    let old = || asking(json!("Go?"));
    // With another id format, servers would treat the map as the answer itself.
    let with_uuid = plain("550e8400-e29b-41d4-a716-446655440000", json!("Go?"));
    let refused = |why: &str| Err(vec![why.to_string()]);
    for (open, given, expected) in [
        (vec![old()], json!("yes"), Ok(json!("yes"))),
        (vec![with_uuid], json!("yes"), Ok(json!("yes"))),
        (
            vec![old(), plain(A, json!("And this?"))],
            json!("yes"),
            refused("has no id, so it can't be answered while other questions are open"),
        ),
        (
            vec![old()],
            json!({ A: 1 }),
            refused("has no id, and the server would take this answer for answers by id"),
        ),
    ] {
        assert_eq!(answer(&open, &[value(given)]), expected);
    }
}

#[test]
fn questions_that_share_an_id_get_one_answer() {
    let same_id = [plain(A, json!("Delete a?")), plain(A, json!("Delete b?"))];
    let yes = || value(json!(true));
    assert_eq!(answer(&same_id, &[yes(), yes()]), Ok(json!({ A: true })));
    for other in [None, value(json!(false))] {
        assert!(answer(&same_id, &[yes(), other]).is_err());
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!("approve")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = prop_oneof![
            Just(A.to_string()),
            "[a-z]{1,6}",
            Just("decisions".into()),
            Just("type".into()),
            Just("args".into())
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        Just(Decision::Approve),
        Just(Decision::Ignore),
        "\\PC{0,8}".prop_map(Decision::Reject),
        "\\PC{0,8}".prop_map(Decision::Respond),
        ("[a-z]{0,4}", any_json()).prop_map(|(name, args)| Decision::Edit(
            name,
            args.as_object().cloned().unwrap_or_default()
        )),
    ]
}

fn any_reply() -> impl Strategy<Value = Option<Reply>> {
    prop::option::of(prop_oneof![
        any_json().prop_map(Reply::Value),
        prop::collection::vec(prop::option::of(any_decision()), 0..5).prop_map(Reply::Decisions),
    ])
}

fn any_question() -> impl Strategy<Value = Question> {
    let captured: Vec<Question> = [
        "question",
        "question-hitl",
        "question-inbox",
        "question-with-schema",
        "questions-parallel",
    ]
    .into_iter()
    .flat_map(questions)
    .collect();
    let id = prop_oneof![
        Just(None),
        Just(Some(A.to_string())),
        Just(Some(B.to_string())),
        "[0-9a-f]{32}".prop_map(Some),
        "\\PC{0,40}".prop_map(Some)
    ];
    prop_oneof![
        prop::sample::select(captured),
        (id, any_json(), prop::option::of(any_json())).prop_map(|(id, value, response_schema)| {
            Question {
                id,
                value,
                response_schema,
                ..Question::default()
            }
        }),
    ]
}

proptest! {
    /// Any accepted answer is keyed by interrupt id, is never null, and each value is valid for its question.
    #[test]
    fn random_answers_are_valid_or_refused(
        open in prop::collection::vec(any_question(), 1..4),
        replies in prop::collection::vec(any_reply(), 0..5),
    ) {
        let Ok(resumed) = resume(&open, &replies) else { return Ok(()) };
        prop_assert!(!resumed.answered().is_empty() && !resumed.value().is_null());
        for at in resumed.answered() {
            let question = &open[*at];
            let value = match question.resume_id() {
                Some(id) => {
                    prop_assert!(is_id_map(resumed.value()), "answers must be keyed by id: {}", resumed.value());
                    &resumed.value()[id]
                }
                None => {
                    prop_assert!(open.len() == 1 && !is_id_map(resumed.value()));
                    resumed.value()
                }
            };
            prop_assert_eq!(question.check(value), vec![]);
            prop_assert!(replies.get(*at).is_some_and(Option::is_some));
        }
        if let Some(sent) = resumed.value().as_object().filter(|_| open[resumed.answered()[0]].resume_id().is_some()) {
            prop_assert!(sent.keys().all(|id| open.iter().any(|question| question.resume_id() == Some(id))));
        }
    }

    /// Forms never panic and keep their values.
    #[test]
    fn random_schemas_never_panic(schema in any_json(), typed in "\\PC{0,20}") {
        if let Some(form) = Form::of_schema(&schema) {
            let entries = form.fields.iter().map(|field| field.value_of(&typed).unwrap_or_default()).collect();
            form.value(entries);
        }
        if let Some(args) = schema.as_object() {
            let form = Form::of_arguments(args, Some(&schema));
            prop_assert!(form.covers(args) || args.len() > form.fields.len());
        }
    }
}
