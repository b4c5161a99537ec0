use super::*;
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Reads a text and writes it again.
fn round_trip(text: &str) -> String {
    written(&exact::<Value>(text).unwrap().to_string()).into_owned()
}

#[test]
fn half_of_a_pair_is_read_shown_and_written_back() {
    let text = r#"{"Ship \ud83d":["it \ud83d","\ude80!","\ud83d\ude80 é \\ud83d"],"n":1}"#;
    let value: Value = from_str(text).unwrap();
    let whole = value.as_object().unwrap().keys().next().unwrap();
    assert_eq!(shown(whole), "Ship \u{fffd}");
    assert_eq!(
        round_trip(text),
        text.replace(r#""\ud83d\ude80 é"#, "\"🚀 é")
    );
    assert_eq!(
        crate::text::clean(value[whole.as_str()][1].as_str().unwrap()),
        "\u{fffd}!"
    );
    assert_eq!(crate::text::json(&value.to_string()), round_trip(text));
}

#[test]
fn halves_in_two_parts_become_one_character() {
    let [high, low] = [r"a \ud83d", r"\ude80 b"].map(|part| unescaped(part).into_owned());
    let mut whole = high.clone();
    append(&mut whole, &low);
    assert_eq!(
        (whole.as_str(), open_end(&high), open_end(&low)),
        ("a 🚀 b", HALF_LEN, 0)
    );
    let mut unpaired = high.clone();
    append(&mut unpaired, "x");
    append(&mut unpaired, &low);
    assert_eq!(shown(&unpaired), "a \u{fffd}x\u{fffd} b");
    assert_eq!(shown(&format!("{high}{low}")), "a 🚀 b");
}

#[test]
fn numbers_are_written_as_received() {
    let text =
        r#"{"n":1234567890123456789012345,"m":[-1.50,1e400,0.30000000000000004,7],"t":"12"}"#;
    assert_eq!(round_trip(text), text.replace("-1.50", "-1.5"));
    let value: Value = exact(text).unwrap();
    assert_eq!(
        crate::text::clean(value["n"].as_str().unwrap()),
        "1234567890123456789012345"
    );
    assert_eq!((&value["m"][0], &value["m"][3]), (&json!(-1.5), &json!(7)));
}

#[test]
fn a_text_that_imitates_a_mark_stays_a_text() {
    for text in [
        "\u{ffff}",
        "\u{ffff}\u{e800}",
        "\u{ffff}\u{e800}1,\"x\":2",
        "\u{ffff}\u{e800}nan",
        "\u{ffff}\u{e900}",
        "\"\u{ffff}\u{e800}1",
    ] {
        let value = json!({ "a": text, text: 1 });
        assert_eq!(
            serde_json::from_str::<Value>(&written(&value.to_string())).unwrap(),
            value
        );
    }
    let key = json!({ "\u{ffff}\u{e800}1": 1 });
    assert_eq!(
        serde_json::from_str::<Value>(&written(&key.to_string())).unwrap(),
        key
    );
}

#[test]
fn last_of_equal_keys_counts() {
    #[derive(Deserialize)]
    struct Row<'a> {
        id: String,
        #[serde(borrow)]
        raw: &'a RawValue,
        n: Option<f64>,
    }
    let text = r#"{"id":"a","raw":[1 ],"n":null,"id":"b","raw":{"\ud83d":2},"n":1.5}"#;
    let Row { id, raw, n } = from_str(text).unwrap();
    assert_eq!(
        (id.as_str(), raw.get(), n),
        ("b", r#"{"\ud83d":2}"#, Some(1.5))
    );
    assert_eq!(Peek::head(text, 99).get("id").unwrap().text(), "\"b\"");
}

#[test]
fn a_list_is_not_a_record_with_fewer_fields() {
    #[derive(Deserialize)]
    struct Record {
        n: f64,
    }
    assert_eq!(from_str::<Record>(r#"{"n":1}"#).unwrap().n, 1.0);
    for list in ["[1,[]]", r#"[1,"\ud83d"]"#] {
        assert!(
            from_str::<Record>(list).is_err() && from_str::<(f64,)>(list).is_err(),
            "{list}"
        );
    }
    assert!(from_str::<(f64, String)>(r#"[1,"\ud83d"]"#).is_ok());
}

#[test]
fn not_numbers_and_byte_order_marks_are_repaired() {
    let text = "\u{feff}{\"a\":NaN,\"b\":[-Infinity,Infinity,-1],\"c\":\"NaN \\\" Infinity\"}";
    let expected = r#"{"a":null,"b":[null,null,-1],"c":"NaN \" Infinity"}"#;
    assert_eq!(repaired(text).as_deref(), Some(expected));
    assert!(matches!(repaired("[1]"), Some(Cow::Borrowed("[1]"))));
    for text in ["NaNa", "[nan]", "{\"a\":\"NaN", "", "<html>", "--Infinity"] {
        assert_eq!(repaired(text), None, "{text}");
    }
}

fn deep(levels: usize) -> String {
    format!(
        "{}1{}",
        r#"{"a":["#.repeat(levels / 2),
        "]}".repeat(levels / 2)
    )
}

#[test]
fn only_deep_values_are_replaced() {
    let text = format!(
        r#"[{{"id":"a","x":{}}},{{"id":"b]","x":1,"y":{}}}]"#,
        deep(20_000),
        deep(300)
    );
    let rows: Vec<Value> = from_str(&text).unwrap();
    assert_eq!(
        (&rows[0]["id"], &rows[1]["id"], &rows[1]["x"]),
        (&json!("a"), &json!("b]"), &json!(1))
    );
    assert!(
        rows[0]["x"]
            .to_string()
            .contains("nested more than 100 levels deep")
    );
    let whole: Value = from_str(&deep(120)).unwrap();
    assert_eq!(
        whole.to_string(),
        deep(120),
        "values that the parser accepts stay unchanged"
    );
}

#[test]
fn invalid_json_and_other_types_are_errors() {
    for text in [
        "[".repeat(1000),
        "]".repeat(1000),
        format!("{}}}", deep(300)),
        deep(300).replace(']', ""),
        "\"".into(),
    ] {
        assert!(
            from_str::<Value>(&text).is_err(),
            "{}",
            &text[..text.len().min(40)]
        );
    }
    assert!(
        from_str::<Vec<u8>>(r#"{"\ud83d":1}"#).is_err() && from_str::<u8>(r#""\ud83d""#).is_err()
    );
}

proptest! {
    #[test]
    fn valid_json_is_read_like_serde_json(text in r#"[\[\]{}":,1a\\]{0,300}"#) {
        let strict = serde_json::from_str::<Value>(&text).ok();
        prop_assert_eq!(from_str::<Value>(&text).ok(), strict.clone());
        prop_assert_eq!(repaired(&text).is_some(), strict.is_some());
    }

    #[test]
    fn any_text_can_be_read(text in "[\\\\ud8e03\"N\u{ffff}\u{e03d}\u{e800} -1,:é]{0,40}") {
        let mut out = text.clone();
        append(&mut out, &unescaped(&text));
        let json = written(&out);
        let _ = (shown(&json), open_end(&json), repaired(&json), exact::<Value>(&json));
        let value = Value::from(out);
        prop_assert!(is_valid(&written(&value.to_string())));
    }
}
