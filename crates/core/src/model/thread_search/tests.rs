use super::*;
use proptest::prelude::*;
use serde_json::json;

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

fn parsed(text: &str) -> ThreadSearch {
    ThreadSearch::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn thread() -> Thread {
    serde_json::from_value(json!({
        "thread_id": "01a1fbb5-173d-77d7-b93d-09bf6dcc9775", "status": "interrupted",
        "created_at": "2026-11-23T08:00:00Z", "updated_at": "2026-11-23T10:30:00Z",
        "metadata": {"user": 42, "tags": ["a", "b"], "n": {"x": 1, "y": 2}, "graph_id": "support", "name": "Refund Ana",
                     "assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca", "starred": true},
    }))
    .unwrap()
}

fn fits(text: &str) -> bool {
    let thread = thread();
    let row = SearchRow {
        thread: &thread,
        values_fit: Some(true),
        texts: &["Where is my parcel?"],
    };
    parsed(text).fits(&row, now())
}

#[test]
fn terms_match_the_listed_thread() {
    for (text, wanted) in [
        ("", true),
        ("status:interrupted", true),
        ("status:idle", false),
        ("meta.user=42", true),
        ("meta.user=42.0", true),
        (r#"meta.user="42""#, false),
        ("meta.n.x=1", true),
        (r#"meta.n={"y":2}"#, true),
        (r#"meta.tags=["b"]"#, true),
        (r#"meta.tags=["a", "c"]"#, false),
        ("meta.graph_id=support", true),
        ("values.x=1", true),
        ("age>1h", true),
        ("age>1h30m", false),
        ("age<2h", true),
        ("age>1h age<2h", true),
        ("age<90m", false),
        ("graph:support", true),
        ("graph:supp", false),
        ("assistant:fe096781", true),
        ("id:01A1FBB5", true),
        ("id:02", false),
        ("name:refund", true),
        ("name:parcel", false),
        ("star:yes", true),
        ("star:no", false),
        ("parcel", true),
        ("PARCEL refund", true),
        (r#""my parcel""#, true),
        (r#""parcel my""#, false),
        ("http://x", false),
        ("sort:created", true),
    ] {
        assert_eq!(fits(text), wanted, "{text}");
    }
}

#[test]
fn unknown_values_do_not_match() {
    let thread = thread();
    let row = SearchRow {
        thread: &thread,
        values_fit: None,
        texts: &[],
    };
    assert!(!parsed("values.x=1").fits(&row, now()));
    assert_eq!(
        parsed("values.x=1").ignored(&row).count(),
        0,
        "whether the server filtered is unknown"
    );
}

#[test]
fn the_server_gets_what_it_can_filter_by() {
    let search = parsed(
        "status:error meta.user=42 meta.n.x=1 meta.n.y=two values.order.id=7 age>1h graph:support star:yes refund sort:created \
         assistant:fe096781-5601-53d2-b2f6-0d3403f7e9ca",
    );
    let filter = search.server_filter();
    assert_eq!(filter.status.as_deref(), Some("error"));
    assert_eq!(
        filter.metadata,
        Some(
            json!({"user": 42, "n": {"x": 1, "y": "two"}, "graph_id": "support", "starred": true,
                    "assistant_id": "fe096781-5601-53d2-b2f6-0d3403f7e9ca"})
        )
    );
    assert_eq!(filter.values, Some(json!({"order": {"id": 7}})));
    assert_eq!(search.sort, Some(ThreadSort::Created));
    let local: Vec<&str> = search
        .terms()
        .iter()
        .filter(|t| !t.condition.is_for_server())
        .map(|t| t.text.as_str())
        .collect();
    assert_eq!(local, ["age>1h", "refund"]);
    assert_eq!(
        parsed("star:no id:01a1").server_filter(),
        ServerFilter::default()
    );
    assert_eq!(parsed("id:01a1").whole_id(), None);
    let id = "01a1fbb5-173d-77d7-b93d-09bf6dcc9775";
    assert_eq!(parsed(&format!("id:{id}")).whole_id(), Some(id));
}

#[test]
fn a_server_that_ignores_a_term_is_noticed() {
    let thread = thread();
    let row = SearchRow {
        thread: &thread,
        values_fit: Some(false),
        texts: &[],
    };
    let search = parsed("status:idle age>9h meta.user=42 values.x=1");
    assert_eq!(search.ignored(&row).collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn errors_have_a_position_and_what_is_allowed() {
    for (text, column, part) in [
        ("status:waiting", 8, "idle, busy, interrupted or error"),
        ("refund status:", 15, "needs a value"),
        ("stauts:idle", 1, "fields: status:"),
        ("stauts:idle", 1, r#"search for the text: "stauts:idle""#),
        ("meta.user", 10, "meta.KEY=VALUE"),
        ("meta.=1", 6, "meta.KEY=VALUE"),
        ("meta.a..b=1", 8, "meta.KEY=VALUE"),
        (
            "meta.user!=42",
            10,
            "servers find only equal values: use meta.KEY=VALUE",
        ),
        ("values.n>=3", 9, "servers find only equal values"),
        ("meta.a=", 8, "meta.KEY=VALUE"),
        (r#"meta.a={"x":}"#, 8, "not valid JSON"),
        ("values.x={\"a\": 1", 10, "not valid JSON"),
        ("é \"open", 3, "not closed"),
        ("age>soon", 5, "age>1h"),
        ("age:1h", 4, "age>1h"),
        ("star:maybe", 6, "yes or no"),
        ("sort:name", 6, "updated, created or status"),
        ("sort:updated sort:created", 14, "two sort orders"),
        ("status:idle status:busy", 13, "contradicts"),
        ("meta.a=1 meta.a=2", 10, "contradicts"),
        ("meta.a=1 meta.a.b=2", 10, "contradicts"),
        ("graph:a meta.graph_id=b", 9, "contradicts"),
        ("star:no star:yes", 9, "contradicts"),
    ] {
        let error = ThreadSearch::parse(text).unwrap_err();
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.message.contains(part), "{text}: {error}");
    }
    assert!(ThreadSearch::parse(&"x".repeat(5000)).is_err());
    assert!(ThreadSearch::parse(&"x ".repeat(40)).is_err());
}

#[test]
fn nested_metadata_can_be_left_out_of_the_request() {
    let search = parsed(
        "meta.user=42 meta.n.x=1 star:yes meta.flag=true graph:support meta.tags=[1] refund",
    );
    let nested = search.nested_metadata();
    assert_eq!(nested.iter().copied().collect::<Vec<_>>(), [1, 2, 3, 5]);
    let filter = search.without(&nested).server_filter();
    assert_eq!(
        filter.metadata,
        Some(json!({"user": 42, "graph_id": "support"}))
    );
}

#[test]
fn quotes_and_json_keep_their_spaces() {
    let search = parsed(r#"meta."a b".c="d e" meta.list=[1, {"k": "] x"}] "two words" say"what"#);
    let conditions: Vec<&Condition> = search.terms().iter().map(|term| &term.condition).collect();
    assert_eq!(
        conditions,
        [
            &Condition::Metadata(vec!["a b".into(), "c".into()], json!("d e")),
            &Condition::Metadata(vec!["list".into()], json!([1, {"k": "] x"}])),
            &Condition::Word("two words".into()),
            &Condition::Word("say\"what".into()),
        ]
    );
}

#[test]
fn a_list_sorted_by_change_ends_at_the_first_thread_that_is_too_old() {
    assert!(parsed("age<1h").ends_at(&thread(), now()));
    assert!(!parsed("age<2h").ends_at(&thread(), now()));
    assert!(!parsed("age>2h refund").ends_at(&thread(), now()));
}

#[test]
fn titles_are_one_short_line() {
    assert_eq!(
        title_of(&json!("\n  hello \nworld")).as_deref(),
        Some("hello")
    );
    assert_eq!(
        title_of(&json!([{"type": "image"}, {"type": "text", "text": "see"}])).as_deref(),
        Some("see")
    );
    assert_eq!(
        title_of(&json!("x".repeat(500))).map(|title| title.len()),
        Some(MAX_TITLE)
    );
    assert_eq!(title_of(&json!({"a": 1})), None);
    let unnamed: Thread = serde_json::from_value(
        json!({"thread_id": "t", "metadata": {"thread_name": " ", "starred": "yes"}}),
    )
    .unwrap();
    assert_eq!((unnamed.name(), unnamed.is_starred()), (None, false));
}

proptest! {
    #[test]
    fn any_text_parses_or_names_a_column_inside_it(text in r#"[a-z:=.<>"\[\]{} \\é0-9]{0,40}"#) {
        match ThreadSearch::parse(&text) {
            Ok(search) => {
                let again = ThreadSearch::parse(search.text()).unwrap();
                prop_assert_eq!(again.terms(), search.terms());
            }
            Err(error) => prop_assert!(error.column <= text.chars().count() + 1, "{}", error),
        }
    }

    #[test]
    fn quoted_words_are_found_as_they_are(word in r#"[a-zA-Z:=. "\\\[{é]{1,20}"#) {
        let search = ThreadSearch::parse(&Value::String(word.clone()).to_string()).unwrap();
        prop_assert_eq!(&search.terms()[0].condition, &Condition::Word(word));
    }

    #[test]
    fn values_contain_themselves(n in -5i64..5, s in "[a-z]{0,3}") {
        let value = json!({"n": n, "list": [s, {"n": n}], "o": {"s": s}});
        prop_assert!(contains(&value, &value));
        let (part, other) = (json!({"list": [{"n": n}]}), json!({"n": n + 1}));
        prop_assert!(contains(&value, &part) && !contains(&value, &other));
    }
}
