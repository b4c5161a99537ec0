use super::*;
use crate::widgets::form::FormDraft;
use crate::widgets::text_input::TextInput;
use proptest::prelude::*;
use runtail_core::model::{FieldKind, Form};
use serde_json::{Value, json};

/// Returns the captured schemas of a graph.
fn schemas(name: &str) -> Value {
    let path = format!(
        "{}/../../tests/fixtures/schemas/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn form(name: &str) -> Form {
    Form::of_input(&schemas(name)["input_schema"]).unwrap()
}

fn input(name: &str) -> InputDraft {
    let mut input = InputDraft::default();
    input.set_schema(Some(&schemas(name)["input_schema"]));
    input
}

/// Types a text into a field of the form.
fn fill(input: &mut InputDraft, name: &str, text: &str) {
    let form = input.form_mut().unwrap();
    let n = form
        .form
        .fields
        .iter()
        .position(|field| field.name == name)
        .unwrap();
    form.fields[n].text = TextInput::new(text);
    input.touch();
}

#[test]
fn captured_schemas_become_forms() {
    let mut all = String::new();
    for name in ["form", "agent", "hitl", "approval", "typed", "nested"] {
        for field in form(name).fields {
            all += &format!("{name}: {} {:?}, {}\n", field.name, field.kind, field.rule);
        }
    }
    let context = Form::of_input(&schemas("form")["context_schema"]).unwrap();
    let names = context.fields.iter().map(|field| &*field.name);
    insta::assert_snapshot!(all + &names.collect::<Vec<_>>().join(" "));
}

#[test]
fn the_form_replaces_an_untouched_input_only() {
    let untouched = input("form");
    assert!(untouched.form().is_some());
    let expected = json!({"level": "low", "urgent": false});
    assert_eq!(untouched.value().unwrap(), expected, "defaults are sent");
    let mut typed = InputDraft::default();
    typed.twin.text.insert("hello");
    typed.touch();
    typed.set_schema(Some(&schemas("form")["input_schema"]));
    assert!(typed.form().is_none() && typed.known_form().is_some());
    assert_eq!(typed.value().unwrap()["messages"][0]["content"], "hello");
    // It doesn't fit that form, which has no messages.
    assert_eq!(
        typed.turn().unwrap_err(),
        "Couldn't switch to the form: it has no field for messages."
    );
    assert_eq!(typed.value().unwrap()["messages"][0]["content"], "hello");
}

#[test]
fn required_fields_are_checked_whatever_their_schema() {
    let alternatives = json!([{"type": "integer"}, {"type": "string"}, {"type": "object"}]);
    let broken = json!({"type": "string", "pattern": "(unclosed"});
    for (a, is_checked) in [(json!({"oneOf": alternatives}), true), (broken, false)] {
        let schema = json!({"type": "object", "properties": {"t": {"type": "string"}, "a": a}, "required": ["a", "t"]});
        let mut input = InputDraft::default();
        input.set_schema(Some(&schema));
        fill(&mut input, "t", "text");
        assert_eq!(
            input.violations(),
            &[("a".to_string(), "required".to_string())]
        );
        assert_eq!(
            input.unchecked.is_none(),
            is_checked,
            "{:?}",
            input.unchecked
        );
        if is_checked {
            fill(&mut input, "a", "1.5");
            assert_eq!(
                input.violations().first().map(|(path, _)| path.as_str()),
                Some("a")
            );
        }
    }
}

#[test]
fn a_message_is_one_text() {
    let mut input = input("hitl");
    assert_eq!(
        input
            .violations()
            .first()
            .map(|(path, rule)| (path.as_str(), rule.as_str())),
        Some(("messages", "required"))
    );
    fill(&mut input, "messages", "Please send\nthe invoice");
    let expected = json!({"messages": [{"role": "user", "content": "Please send\nthe invoice"}]});
    assert_eq!(
        (input.value(), input.violations().len()),
        (Ok(expected.clone()), 0)
    );
    input.turn().unwrap();
    assert_eq!(input.value().unwrap(), expected);
    input
        .twin
        .text
        .set_text(&input.twin.text.text().replace("send", "post"));
    input.touch();
    input.turn().unwrap();
    assert_eq!(
        input.form().unwrap().fields[0].text.text(),
        "Please post\nthe invoice"
    );
    let two =
        json!({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]});
    input.set_value(&two);
    assert!(input.twin.as_text && input.value() == Ok(two));
    assert_eq!(
        input.twin.why_text.as_deref(),
        Some("messages is more than one user text")
    );
}

#[test]
fn switching_keeps_what_is_not_valid_yet() {
    let mut input = input("form");
    fill(&mut input, "price", "ten");
    fill(&mut input, "extra", "{\"a\": ");
    assert_eq!(
        input.value().unwrap_err()[0],
        ("price".to_string(), "must be a number".to_string())
    );
    input.turn().unwrap();
    let shown: Value = serde_json::from_str(&input.twin.text.text()).unwrap();
    assert_eq!(
        (&shown["price"], &shown["extra"]),
        (&json!("ten"), &json!("{\"a\": "))
    );
    input.turn().unwrap();
    let typed = |input: &InputDraft, n: usize| input.form().unwrap().fields[n].text.text();
    assert_eq!(
        (typed(&input, 3), typed(&input, 6)),
        ("ten".to_string(), "{\"a\": ".to_string())
    );
}

#[test]
fn json_that_does_not_fit_the_form_says_why() {
    for (value, why) in [
        (
            json!({"customer": "x", "more": 1}),
            "it has no field for more",
        ),
        (json!({"customer": 1}), "customer is not a text"),
        (
            json!({"customer": ""}),
            "customer would be left out or changed",
        ),
        (
            json!({"customer": "x", "level": "mid"}),
            "level is none of the choices",
        ),
        (
            json!({"customer": "x", "urgent": "yes"}),
            "urgent is neither true nor false",
        ),
        (
            json!({"customer": "x", "price": "12"}),
            "price is not a number",
        ),
        (json!([1]), "it is not an object"),
    ] {
        assert_eq!(
            FormDraft::filled(&form("form"), &value).unwrap_err(),
            why,
            "{value}"
        );
        let mut input = input("form");
        input.set_value(&value);
        assert!(input.twin.as_text && input.value() == Ok(value));
    }
}

#[test]
fn the_rule_of_the_key_at_the_cursor_is_known() {
    let mut input = input("form");
    input.turn().unwrap();
    input.twin.text = TextInput::new("{\n  \"cust");
    assert_eq!(input.rule_at_cursor().unwrap().0, "customer");
    input.twin.text = TextInput::new("{\"level\": ");
    assert_eq!(
        input.rule_at_cursor(),
        Some(("level".into(), "default low".into()))
    );
    input.twin.text = TextInput::new("{\"other");
    assert_eq!(input.rule_at_cursor(), None);
}

#[test]
fn objects_have_a_form_of_their_own() {
    let schema = json!({"properties": {"origin": {"$ref": "#/$defs/O"}}, "$defs": {"O": {
        "type": "object", "required": ["channel"],
        "properties": {"channel": {"type": "string"}, "deep": {"type": "object", "properties": {"x": {}}}},
    }}});
    let form = Form::of_input(&schema).unwrap();
    let FieldKind::Object(inner) = &form.fields[0].kind else {
        panic!("{form:?}")
    };
    assert_eq!(
        inner
            .fields
            .iter()
            .map(|field| field.kind.clone())
            .collect::<Vec<_>>(),
        [FieldKind::Text, FieldKind::Json]
    );
    let mut draft = FormDraft::of(form.clone());
    assert_eq!(
        draft.value(),
        (json!({}), Vec::new()),
        "an object that was not filled in is left out"
    );
    let inner = draft.fields[0].inner.as_mut().unwrap();
    inner.fields[0].text = TextInput::new("mail");
    inner.fields[1].text = TextInput::new("{");
    assert_eq!(draft.value().1[0].0, "origin.deep");
    draft.fields[0].inner.as_mut().unwrap().fields[1].text = TextInput::new("{\"x\": 1}");
    let value = json!({"origin": {"channel": "mail", "deep": {"x": 1}}});
    assert_eq!(draft.value(), (value.clone(), Vec::new()));
    assert_eq!(FormDraft::filled(&form, &value).unwrap().value().0, value);
}

#[test]
fn options_differ_from_their_defaults_in_the_summary() {
    let mut options = OptionsDraft::default();
    let differing = |options: &OptionsDraft| -> Vec<String> {
        options
            .summary()
            .into_iter()
            .filter(|(_, differs)| *differs)
            .map(|(part, _)| part)
            .collect()
    };
    assert_eq!(differing(&options), [""; 0]);
    assert_eq!(
        options.summary()[0].0,
        "modes: messages-tuple, updates, values, custom, tasks"
    );
    options.form.fields[0].text.insert("draft");
    options.conflict = runtail_core::model::Conflict::Rollback;
    options.form.fields[2].text = TextInput::new("50");
    let all = [
        "on conflict: rollback",
        "break before: draft",
        "step limit: 50",
    ];
    assert_eq!(differing(&options), all);
    let body = options.checked(None).unwrap().body("a", None);
    assert_eq!(body.extra["config"], json!({"recursion_limit": 50}));
    options.form.fields[2].text = TextInput::new("-1");
    assert_eq!(
        options.checked(None).unwrap_err()[0].to_string(),
        "step limit: must be 0 or more"
    );
    options.keep_modes_only();
    assert_eq!(differing(&options), [""; 0]);
}

#[test]
fn assistants_are_found_by_typing() {
    let assistant = |id: &str, graph: &str, name: &str, version: i64| Assistant {
        assistant_id: id.into(),
        graph_id: graph.into(),
        name: Some(name.into()),
        version: Some(version),
        ..Assistant::default()
    };
    let mut pick = AssistantPick::new(None);
    pick.offer(&[
        assistant("1", "agent", "agent", 1),
        assistant("2", "support", "support", 4),
        assistant("3", "support", "VIP", 2),
    ]);
    let labels: Vec<&str> = pick.all.iter().map(|one| one.label.as_str()).collect();
    assert_eq!(labels, ["VIP (support) v2", "agent v1", "support v4"]);
    pick.typed.insert("supp");
    let found: Vec<&str> = pick
        .matches()
        .into_iter()
        .map(|at| pick.all[at].label.as_str())
        .collect();
    assert_eq!(
        found,
        ["support v4", "VIP (support) v2"],
        "names that begin with it come first"
    );
    pick.key(crate::input::key::Key::plain(crate::input::key::Code::Down));
    pick.accept();
    assert_eq!(pick.id().unwrap(), "3");
    pick.typed.insert("nothing");
    pick.accept();
    assert_eq!(pick.id().unwrap_err(), "No assistant matches nothing.");
}

/// A value that may or may not fit the captured form.
fn any_value() -> impl Strategy<Value = Value> {
    let text = "[a-z \"{}\\\\é]{0,6}";
    let field = |values: Vec<Value>| proptest::option::of(proptest::sample::select(values));
    (
        proptest::option::of(text),
        field(vec![json!("low"), json!("high"), json!("mid"), json!(null)]),
        field(vec![json!(true), json!(false), json!(1)]),
        field(vec![
            json!(1),
            json!(2.5),
            json!(-1),
            json!("3"),
            json!(null),
            json!(1e300),
        ]),
        field(vec![
            json!([]),
            json!(["a"]),
            json!({"a": [1, null]}),
            json!("x"),
        ]),
    )
        .prop_map(|(customer, level, urgent, price, extra)| {
            let fields = [
                ("customer", customer.map(Value::from)),
                ("level", level),
                ("urgent", urgent),
                ("price", price),
                ("extra", extra),
            ];
            Value::Object(
                fields
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_string(), value?)))
                    .collect(),
            )
        })
}

proptest! {
    /// An input is never changed by being shown as a form and as JSON again; without a form, it stays JSON.
    #[test]
    fn form_and_json_are_one_draft(value in any_value()) {
        let mut input = input("form");
        input.set_value(&value);
        prop_assert_eq!(input.value(), Ok(value.clone()));
        let was_form = input.form().is_some();
        if was_form {
            input.turn().unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&input.twin.text.text()).unwrap(), value.clone());
            // Also without the form that it was written from.
            let again = FormDraft::filled(&form("form"), &value);
            prop_assert_eq!(again.map(|draft| draft.value()), Ok((value.clone(), Vec::new())));
            input.turn().unwrap();
        } else {
            prop_assert!(input.twin.why_text.is_some());
            prop_assert!(input.turn().is_err());
        }
        prop_assert_eq!(input.value(), Ok(value));
    }
}
