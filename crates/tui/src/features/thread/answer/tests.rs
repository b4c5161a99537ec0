use super::*;
use crate::input::key::{Code, Key, parse_keys};
use crate::session::msg::ServerRef;
use crate::widgets::line::Line;
use proptest::prelude::*;
use runtail_core::model::{RunFacts, StateFacts, ThreadFacts};
use serde_json::{Value, json};

fn thread() -> ThreadRef {
    let server = ServerRef {
        profile: "eu".into(),
        name: "support-bot".into(),
        url: "http://x".into(),
    };
    ThreadRef {
        server,
        id: "01a1fbb5-173d-77d7-b93d-09bf6dcc9775".into(),
    }
}

/// Returns a waiting thread from a captured state.
fn waiting(name: &str) -> LoadedThread {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests");
    let file = |folder: &str| std::fs::read_to_string(format!("{tests}/{folder}/{name}.json"));
    let text = file("fixtures/threads")
        .or_else(|_| file("captures/agents"))
        .unwrap();
    let mut case: Value = serde_json::from_str(&text).unwrap();
    if case["state"].is_null() {
        case["state"] = case["response"]["body"].take();
    }
    let thread = json!({"status": "interrupted", "metadata": {"graph_id": "support", "assistant_id": "a-1"}});
    LoadedThread {
        thread: Some(ThreadFacts::read(&thread.to_string()).unwrap()),
        state: Some(StateFacts::read(&case["state"].to_string()).unwrap()),
        runs: Some(
            RunFacts::read_all(r#"[{"run_id": "r", "status": "success", "kwargs": {"context": {"model": "large"}}}]"#)
                .unwrap(),
        ),
    }
}

fn card(name: &str) -> AnswerCard {
    AnswerCard::loaded(1, thread(), waiting(name))
}

fn press(card: &mut AnswerCard, keys: &str) {
    for key in parse_keys(keys).unwrap() {
        match key.code {
            Code::Tab => drop(card.move_focus(1)),
            _ => drop(card.type_key(key)),
        }
    }
}

fn sent(card: &AnswerCard) -> Value {
    let body = card
        .request()
        .unwrap_or_else(|| panic!("{:?}", card.answer()));
    body.command.unwrap()["resume"].clone()
}

fn only(value: Value) -> Value {
    value.as_object().unwrap().values().next().unwrap().clone()
}

fn problems(card: &AnswerCard) -> Vec<String> {
    card.answer()
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn text_is_quoted_and_sent_by_id_on_the_threads_own_assistant() {
    let mut card = card("question");
    assert_eq!(problems(&card), ["Nothing is answered yet."]);
    press(&mut card, "approved");
    assert_eq!(only(sent(&card)), json!("approved"));
    let body = serde_json::to_value(card.request().unwrap()).unwrap();
    assert_eq!(
        (&body["assistant_id"], &body["multitask_strategy"]),
        (&json!("a-1"), &json!("reject"))
    );
    assert_eq!(
        (&body["stream_resumable"], &body["on_disconnect"]),
        (&json!(true), &json!("continue"))
    );
    assert_eq!(
        body["context"],
        json!({"model": "large"}),
        "as the run that asked was started"
    );
    assert_eq!(body.get("input"), None);
}

#[test]
fn nothing_of_the_card_is_cut_in_little_room() {
    for width in [56, 76, 136] {
        for (name, keys, parts) in [
            (
                "question-hitl",
                "1",
                &["Tool execution requires approval", "1 approve", "4 respond"][..],
            ),
            (
                "question-with-schema",
                "y<Down><Backspace>12<Down>",
                &["red", "green", "must be at most 5"],
            ),
        ] {
            let mut card = card(name);
            press(&mut card, keys);
            let lines = card.lines(width).lines;
            let is_long = |line: &String| runtail_core::text::width(line) > width;
            let long: Vec<String> = lines
                .iter()
                .map(|line| line.text().trim_end().to_string())
                .filter(is_long)
                .collect();
            assert!(long.is_empty(), "wider than {width}:\n{}", long.join("\n"));
            let words: Vec<String> = lines
                .iter()
                .map(|line| line.text().trim().to_string())
                .collect();
            let text = words.join(" ");
            for part in parts {
                assert!(text.contains(part), "{part} at {width}: {text}");
            }
        }
    }
}

#[test]
fn yes_and_no_and_json_are_a_key_away() {
    let mut card = card("question");
    drop(card.turn());
    press(&mut card, "n");
    assert_eq!(only(sent(&card)), json!(false));
    drop(card.turn());
    press(&mut card, "{\"a\": 1");
    assert!(
        problems(&card)[0].starts_with("Not valid JSON (line 1, column"),
        "{:?}",
        problems(&card)
    );
    press(&mut card, "}");
    assert_eq!(only(sent(&card)), json!({"a": 1}));
    card.set_text("null");
    assert!(problems(&card)[0].starts_with("null can't be an answer"));
}

#[test]
fn every_action_needs_a_decision_that_it_allows() {
    let mut card = card("question-hitl");
    // 1 is approve; the second action does not allow 2 or 4, and the third allows only 4.
    press(&mut card, "1<Down>24");
    assert_eq!(
        problems(&card),
        ["action 2 needs a decision", "action 3 needs a decision"]
    );
    press(&mut card, "3keep it<Down>14Tuesday");
    let answer = only(sent(&card));
    let expected = json!({"decisions": [
        {"type": "approve"},
        {"type": "reject", "message": "keep it"},
        {"type": "respond", "message": "Tuesday"},
    ]});
    assert_eq!(answer, expected);
}

#[test]
fn an_edit_sends_changed_arguments_and_keeps_the_rest() {
    let mut card = card("question-hitl");
    press(&mut card, "2");
    assert_eq!(card.focus.at, At::Argument(0, 0));
    card.set_text("bob@example.com");
    press(&mut card, "<Down><Down>1<Down>4x");
    let decisions = only(sent(&card))["decisions"].clone();
    let args = json!({"to": "bob@example.com", "body": "lunch?"});
    assert_eq!(
        decisions[0],
        json!({"type": "edit", "edited_action": {"name": "send_email", "args": args}})
    );
    let text: Vec<String> = card.lines(120).lines.iter().map(Line::text).collect();
    assert!(
        text.iter()
            .any(|line| line.contains("changed, was: ann@example.com")),
        "{text:#?}"
    );
}

#[test]
fn a_form_shows_problems_only_where_something_was_left_or_tried() {
    let mut card = card("question-with-schema");
    let shown = |card: &AnswerCard| -> String {
        card.lines(110)
            .lines
            .iter()
            .map(|l| l.text() + "\n")
            .collect()
    };
    assert!(!shown(&card).contains('✗'), "{}", shown(&card));
    press(&mut card, "<Down>");
    card.set_text("12");
    assert!(
        !shown(&card).contains("at most"),
        "not while it is typed: {}",
        shown(&card)
    );
    press(&mut card, "<Down>");
    assert!(
        shown(&card).contains("✗ must be at most 5"),
        "{}",
        shown(&card)
    );
    press(&mut card, "<Up>");
    card.set_text("4");
    press(&mut card, "<Up>y");
    assert_eq!(
        only(sent(&card)),
        json!({"approve": true, "score": 4, "colour": "red"})
    );
}

#[test]
fn a_form_becomes_json_with_what_was_typed() {
    let mut card = card("question-with-schema");
    press(&mut card, "n");
    drop(card.turn());
    let text = card.outside_text().unwrap();
    let typed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        typed,
        json!({"approve": false, "score": 3, "colour": "red"})
    );
    card.set_text(r#"{"approve": true}"#);
    assert_eq!(only(sent(&card)), json!({"approve": true}));
    card.set_text(r#"{"score": 99}"#);
    assert_eq!(
        problems(&card),
        ["approve: required", "score: must be at most 5"]
    );
}

#[test]
fn json_becomes_the_form_again_if_it_fits() {
    let mut card = card("question-with-schema");
    drop(card.turn());
    card.set_text(r#"{"approve": true, "score": 4}"#);
    drop(card.turn());
    assert!(!card.drafts[0].twin.as_text);
    assert_eq!(only(sent(&card)), json!({"approve": true, "score": 4}));
    drop(card.turn());
    card.set_text(r#"{"more": 1}"#);
    let why = "Couldn't switch to the form: it has no field for more.";
    assert_eq!(card.turn(), Requests::error(why));
    // Decisions are not read from JSON, so what was typed stays, and an unchanged JSON is the form.
    let mut hitl = self::card("question-hitl");
    press(&mut hitl, "1");
    drop(hitl.turn());
    let written = hitl.outside_text().unwrap();
    hitl.set_text("{}");
    drop(hitl.turn());
    assert_eq!(hitl.outside_text().unwrap(), "{}");
    hitl.set_text(&written);
    drop(hitl.turn());
    assert_eq!(problems(&hitl)[0], "action 2 needs a decision");
}

#[test]
fn approve_all_decides_only_what_may_be_approved() {
    let mut all = card("question-hitl");
    all.approve_all();
    assert_eq!(
        problems(&all),
        ["action 3 needs a decision"],
        "it only takes a response"
    );
    let mut inbox = card("question-inbox");
    inbox.approve_all();
    assert_eq!(
        only(sent(&inbox)),
        json!([{"type": "accept", "args": null}])
    );
    let mut plain = card("question");
    plain.approve_all();
    assert_eq!(only(sent(&plain)), json!(true));
}

fn any_keys() -> impl Strategy<Value = Vec<Key>> {
    let key = prop_oneof![
        5 => proptest::sample::select("1234yn {}[]\":,abtrue\\é".chars().collect::<Vec<_>>()).prop_map(Key::char),
        4 => proptest::sample::select(vec![Code::Up, Code::Down, Code::Left, Code::Right, Code::Enter, Code::Backspace, Code::Delete])
            .prop_map(Key::plain),
    ];
    proptest::collection::vec(key, 0..60)
}

proptest! {
    /// For any input, the card can be drawn at any width, its focus exists, and what it sends passes validation.
    #[test]
    fn typing_never_makes_an_answer_that_does_not_fit(
        name in proptest::sample::select(vec![
            "question", "question-hitl", "question-inbox", "question-with-schema", "questions-parallel", "percall-state",
            "aegra-percall-state",
        ]),
        keys in any_keys(),
        turns in proptest::collection::vec(0usize..60, 0..4),
        width in 4usize..150,
    ) {
        let mut card = card(name);
        for (at, key) in keys.into_iter().enumerate() {
            if turns.contains(&at) {
                drop(card.turn());
            }
            drop(card.type_key(key));
            prop_assert!(card.stops().contains(&card.focus));
        }
        let drawn = card.lines(width);
        prop_assert!(drawn.focus.1 <= drawn.lines.len() && drawn.focus.0 < drawn.focus.1);
        if let Some((row, _)) = drawn.cursor {
            prop_assert!(row < drawn.lines.len());
        }
        if let Ok(made) = card.answer() {
            for at in made.answered() {
                let question = &card.questions[*at];
                prop_assert_eq!(question.check(&made.value()[question.resume_id().unwrap()]), vec![]);
            }
        }
    }
}

/// A thread whose second action has arguments that don't survive a parser.
fn inexact(args: &str) -> AnswerCard {
    let value = format!(
        r#"{{"action_requests":[{{"name":"log","args":{{"text":"x"}}}},{{"name":"pay","args":{{"to":"b",{args}}}}}],
            "review_configs":[{{"action_name":"log","allowed_decisions":["approve","edit"]}},
                              {{"action_name":"pay","allowed_decisions":["approve","edit"]}}]}}"#
    );
    let state = format!(
        r#"{{"next":["tools"],"tasks":[{{"id":"t","name":"tools","interrupts":[
            {{"id":"8f3c07aa8f3c07aa8f3c07aa8f3c07aa","value":{value}}}]}}],"checkpoint":{{"checkpoint_id":"c"}}}}"#
    );
    let loaded = LoadedThread {
        state: Some(StateFacts::read(&state).unwrap()),
        ..waiting("question-hitl")
    };
    AnswerCard::loaded(1, thread(), loaded)
}

#[test]
fn arguments_that_are_not_touched_are_never_changed_by_an_edit() {
    // These numbers and keys would not be sent as they were received.
    for (args, why) in [
        (
            r#""amount":1e400"#,
            "the number 1e400 is too large to be sent, in action_requests.1.args.amount",
        ),
        (
            r#""amount":123456789012345678901234"#,
            "it would become 1.2345678901234569e+23",
        ),
        (
            r#""to":"c""#,
            r#"the key "to" occurs twice, in action_requests.1.args"#,
        ),
    ] {
        let mut card = inexact(args);
        press(&mut card, "1");
        press(&mut card, "<Down>2");
        let said = problems(&card).join(" ");
        assert!(
            said.contains("can't be edited here") && said.contains(why),
            "{args}: {said}"
        );
        // It can still be approved, which doesn't repeat the arguments, and the other action can be edited.
        let mut card = inexact(args);
        press(&mut card, "2y<Down>1");
        let decisions = only(sent(&card))["decisions"].clone();
        assert_eq!(
            (&decisions[0]["type"], &decisions[1]["type"]),
            (&json!("edit"), &json!("approve")),
            "{args}"
        );
    }
    // What a parser keeps is sent as it was received: the order of keys, large integers, and fractions.
    let args =
        r#""z":12345678901234567890,"a":1.50,"nested":{"b":-9007199254740993,"a":[1.0,null]}"#;
    let mut card = inexact(args);
    press(&mut card, "1<Down>2");
    press(&mut card, "c");
    let decision = only(sent(&card))["decisions"][1].clone();
    let expected = r#"{"to":"bc","z":12345678901234567890,"a":1.5,"nested":{"b":-9007199254740993,"a":[1.0,null]}}"#;
    assert_eq!(decision["edited_action"]["args"].to_string(), expected);
}
