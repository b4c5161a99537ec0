use super::*;
use crate::model::StateFacts;
use crate::model::form::Form;
use proptest::prelude::*;
use serde_json::json;

fn questions(name: &str) -> Vec<Question> {
    let path = format!(
        "{}/../../tests/fixtures/threads/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let case: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    StateFacts::read(&case["state"].to_string())
        .unwrap()
        .pending()
}

fn plain(id: &str, value: Value) -> Question {
    Question {
        id: Some(id.to_string()),
        value,
        ..Question::default()
    }
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
    let approve = || Some(Decision::Approve);
    let respond = || Some(Decision::Respond("x".into()));
    let reject = || Some(Decision::Reject(String::new()));
    for (decisions, expected) in [
        (
            vec![approve()],
            vec!["action 2 needs a decision", "action 3 needs a decision"],
        ),
        (
            vec![approve(), approve(), approve()],
            vec!["action 3 (ask_user) allows only respond"],
        ),
        (
            vec![approve(), respond(), respond()],
            vec!["action 2 (delete_file) allows only approve, reject"],
        ),
        (
            vec![approve(), reject(), Some(Decision::Respond(" ".into()))],
            vec!["action 3 needs the text of the response"],
        ),
        (
            vec![approve(), reject(), respond(), approve()],
            vec!["action 4 does not exist"],
        ),
        (
            vec![None, None, None],
            vec![
                "action 1 needs a decision",
                "action 2 needs a decision",
                "action 3 needs a decision",
            ],
        ),
    ] {
        assert_eq!(
            answer(&open, &[Some(Reply::Decisions(decisions))]),
            Err(expected.iter().map(|s| s.to_string()).collect())
        );
    }
    // The same as typed JSON. The first one is the old inbox's format, which the graph would reject.
    for (typed, expected) in [
        (
            json!([{"type": "accept"}]),
            "must be {\"decisions\": […]} with one decision for each action",
        ),
        (
            json!({"decisions": [{"type": "approve"}]}),
            "must have 3 decisions, one for each action, and has 1",
        ),
        (
            json!({"decisions": [{"type": "edit", "edited_action": {"args": {}}}, {"type": "reject"}, {"type": "respond", "message": "x"}]}),
            "action 1 needs the name of the edited action (edited_action.name)",
        ),
        (
            json!({"decisions": [{"type": "edit", "edited_action": {"name": "f", "args": "x"}}, {"type": "reject"}, {"type": "respond", "message": "x"}]}),
            "action 1 needs an object of arguments",
        ),
        (
            json!({"decisions": [{"type": "approve"}, {"type": "reject", "message": 7}, {"type": "respond", "message": "x"}]}),
            "action 2 needs text as its reason",
        ),
    ] {
        assert_eq!(
            answer(&open, &[Some(Reply::Value(typed))]),
            Err(vec![expected.to_string()])
        );
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
    let wrong = answer(&open, &[Some(Reply::Value(json!({"type": "accept"})))]).unwrap_err();
    assert!(
        wrong[0].starts_with("must be a list of exactly one response"),
        "{wrong:?}"
    );
    let unknown = answer(&open, &[Some(Reply::Value(json!([{"type": "approve"}])))]).unwrap_err();
    assert_eq!(
        unknown,
        ["action 1 (send_email) allows only accept, edit, ignore, response"]
    );
}

#[test]
fn answers_are_checked_against_the_response_schema() {
    let open = questions("question-with-schema");
    let good = json!({"approve": true, "score": 5, "colour": "green"});
    assert!(answer(&open, &[Some(Reply::Value(good))]).is_ok());
    let bad = answer(&open, &[Some(Reply::Value(json!({"score": 9})))]).unwrap_err();
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
    let replies = [
        None,
        Some(Reply::Value(json!("keep"))),
        Some(Reply::Value(json!(false))),
    ];
    let resumed = resume(&open, &replies).unwrap();
    assert_eq!(resumed.value(), &json!({ id(1): "keep", id(2): false }));
    assert_eq!(resumed.answered(), [1, 2]);
    assert_eq!(
        answer(&open, &[None, None, None]),
        Err(vec!["Nothing is answered yet.".to_string()])
    );
    let null = answer(&open, &[Some(Reply::Value(Value::Null))]).unwrap_err();
    assert!(null[0].starts_with("null can't be an answer"), "{null:?}");
}

#[test]
fn question_without_an_id_is_answered_alone_without_a_map() {
    let old = Question {
        value: json!("Go?"),
        ..Question::default()
    };
    assert_eq!(
        answer(
            std::slice::from_ref(&old),
            &[Some(Reply::Value(json!("yes")))]
        ),
        Ok(json!("yes"))
    );
    let two = [old.clone(), plain(A, json!("And this?"))];
    let refused = answer(&two, &[Some(Reply::Value(json!("yes"))), None]).unwrap_err();
    assert_eq!(
        refused,
        ["has no id, so it can't be answered while other questions are open"]
    );
    let map = answer(&[old], &[Some(Reply::Value(json!({ A: 1 })))]).unwrap_err();
    assert_eq!(
        map,
        ["has no id, and the server would take this answer for answers by id"]
    );
    // With another id format, servers would treat the map as the answer itself.
    let with_uuid = plain("550e8400-e29b-41d4-a716-446655440000", json!("Go?"));
    assert_eq!(
        answer(&[with_uuid], &[Some(Reply::Value(json!("yes")))]),
        Ok(json!("yes"))
    );
}

#[test]
fn questions_that_share_an_id_get_one_answer() {
    let same_id = [plain(A, json!("Delete a?")), plain(A, json!("Delete b?"))];
    let yes = || Some(Reply::Value(json!(true)));
    assert_eq!(answer(&same_id, &[yes(), yes()]), Ok(json!({ A: true })));
    assert!(answer(&same_id, &[yes(), None]).is_err());
    assert!(answer(&same_id, &[yes(), Some(Reply::Value(json!(false)))]).is_err());
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
