//! Filters of events, messages and records.

use super::*;
use proptest::prelude::*;
use runtail_stream::projection::Projections;
use runtail_stream::{Data, Item, Record, Seq};

fn event_log() -> (Vec<Event>, Projections) {
    let rows = [
        ("metadata", "", r#"{"run_id":"01a1fbb5-1743","attempt":1}"#),
        (
            "updates",
            "sub:77|inner:88",
            r#"{"Search Web":{"n":3,"s":"3","q":"Krak\u00f3w","tags":["a","b"]}}"#,
        ),
        (
            "messages",
            "",
            r#"[{"content":"Hello, wide world","id":"m"},{"langgraph_node":"chat"}]"#,
        ),
        ("custom", "", r#"{"type":"heartbeat","n":12}"#),
        ("error", "", r#"{"error":"ValueError","message":"boom"}"#),
        ("values", "", ""),
    ];
    let mut projections = Projections::default();
    let mut events = Vec::new();
    for (i, (name, ns, data)) in rows.into_iter().enumerate() {
        let data = if data.is_empty() {
            Data::Malformed("<html>".into())
        } else {
            Data::Json(data.into())
        };
        let ns = ns
            .split('|')
            .filter(|s| !s.is_empty())
            .map(Into::into)
            .collect();
        let (seq, at) = (Seq(i as u64 + 1), jiff::Timestamp::UNIX_EPOCH);
        let id = Some(format!("17952243-{i}").into());
        let event = Event {
            seq,
            at,
            conn: 1,
            replayed: false,
            name: name.into(),
            ns,
            id,
            data,
        };
        projections.apply(&Item::Record(Record::Event(event.clone())));
        events.push(event);
    }
    (events, projections)
}

fn matching(filter: &str) -> Vec<u64> {
    let (events, projections) = event_log();
    let filter = StreamFilter::new(filter);
    events
        .iter()
        .filter(|event| filter.matches(&EventAttrs::of(event, &projections)))
        .map(|event| event.seq.0)
        .collect()
}

#[test]
fn texts_fields_and_negated_terms() {
    for (filter, wanted) in [
        ("", vec![1, 2, 3, 4, 5, 6]),
        ("mode:updates", vec![2]),
        ("node:search", vec![2]),
        ("node:\"search web\"", vec![2]),
        ("node:inner", vec![2]),
        ("node:cha", vec![3]),
        ("node:\"cha\"", vec![]),
        ("node:\"chat\"", vec![3]),
        ("is:custom", vec![4]),
        ("node:chat", vec![3]),
        ("ns:sub", vec![2]),
        ("ns:88", vec![2]),
        ("!ns:sub !mode:metadata", vec![3, 4, 5, 6]),
        ("run:01a1", vec![1, 2, 3, 4, 5, 6]),
        ("run:99", vec![]),
        ("id:43-4", vec![5]),
        ("seq:2-3", vec![2, 3]),
        ("seq:5-", vec![5, 6]),
        ("seq:-2", vec![1, 2]),
        ("seq:4", vec![4]),
        ("is:error", vec![5, 6]),
        ("IS:ODD", vec![6]),
        ("!heartbeat seq:3-5", vec![3, 5]),
        ("is:heartbeat", vec![4]),
        ("kraków", vec![2]),
        ("Kraków", vec![2]),
        ("KRAKÓW", vec![]),
        ("\"wide world\"", vec![3]),
        ("wide world", vec![3]),
        ("/wide \\w+d/", vec![3]),
        ("!text:/o|html/", vec![1, 2]),
        ("\"type\":\"heartbeat\"", vec![4]),
        ("path:n", vec![2, 4]),
        ("path:n=3", vec![2]),
        ("path:n=3.0", vec![2]),
        ("path:s=3", vec![2]),
        ("path:s=\"3\"", vec![2]),
        ("path:n=\"3\"", vec![]),
        ("path:n!=3", vec![4]),
        ("!path:n=3 path:n", vec![4]),
        ("path:n>3", vec![4]),
        ("path:n>=3", vec![2, 4]),
        ("path:n<12", vec![2]),
        ("path:n<=12", vec![2, 4]),
        ("path:q~KRAKÓW", vec![2]),
        ("path:tags[]=b", vec![2]),
        ("path:tags[0]=b", vec![]),
        ("path:[\"Search Web\"].q=Kraków", vec![2]),
        ("path:content~\"wide w\"", vec![3]),
        ("! node: path:n= \"", vec![1, 2, 3, 4, 5, 6]),
    ] {
        assert_eq!(matching(filter), wanted, "{filter}");
    }
}

#[test]
fn a_chosen_run_is_kept_beside_what_is_typed() {
    let (events, projections) = event_log();
    let count = |filter: &StreamFilter| {
        let matches = |event: &&Event| filter.matches(&EventAttrs::of(event, &projections));
        events.iter().filter(matches).count()
    };
    let typed = StreamFilter::new("mode:updates");
    let one = typed.of_run(Some("01a1fbb5-1743".into()));
    let other = typed.of_run(Some("99".into()));
    assert_eq!(
        (one.text(), count(&one), count(&other)),
        ("mode:updates", 1, 0)
    );
    assert!(!StreamFilter::new("").of_run(Some("99".into())).is_empty());
    assert_eq!(count(&other.of_run(None)), 1, "all runs again");
}

#[test]
fn a_message_matches_by_its_own_text() {
    let mut projections = Projections::default();
    let state = r#"{"messages":[{"type":"human","id":"h","content":"one"},{"type":"ai","id":"a","content":"two"}]}"#;
    let (seq, at) = (Seq(1), jiff::Timestamp::UNIX_EPOCH);
    let data = Data::Json(state.into());
    let event = Event {
        seq,
        at,
        conn: 1,
        replayed: false,
        name: "values".into(),
        ns: [].into(),
        id: None,
        data,
    };
    projections.apply(&Item::Record(Record::Event(event.clone())));
    let matching = |filter: &str| -> Vec<&str> {
        let filter = StreamFilter::new(filter);
        let matches = |message: &&Message| {
            filter.matches_message(message, None, &[EventAttrs::of(&event, &projections)])
        };
        projections
            .messages
            .items()
            .iter()
            .filter(matches)
            .map(|message| message.text.as_str())
            .collect()
    };
    assert_eq!(
        (
            matching("one"),
            matching("!one"),
            matching("mode:values !ai")
        ),
        (vec!["one"], vec!["two"], vec!["one"])
    );
    assert_eq!(
        (
            matching("seq:2-"),
            matching("id:a"),
            matching("path:messages[1].id=a").len()
        ),
        (vec![], vec!["two"], 2)
    );
}

#[test]
fn invalid_terms_are_reported_and_hide_nothing() {
    for (filter, problem) in [
        (
            "seq:x",
            "seq:x: expected a number or range (100-200); ignored",
        ),
        (
            "is:green",
            "is:green: expected error, custom, odd or heartbeat; ignored",
        ),
        (
            "!path:a..b",
            "!path:a..b: expected a path (messages[-1].content); ignored",
        ),
        (
            "!/(/",
            "/(/: invalid regex (unclosed group); searched as text",
        ),
    ] {
        assert_eq!(matching(filter).len(), 6, "{filter}");
        assert_eq!(StreamFilter::new(filter).problems(), [problem.to_string()]);
    }
    let odd = StreamFilter::new("step:3");
    assert!(odd.problems()[0] == "step: unknown field; searched as text" && !odd.is_empty());
    assert!(StreamFilter::new("http://x a:b\" ").problems()[0].starts_with("a: unknown field"));
    assert_eq!(
        StreamFilter::new("/threads/search").problems(),
        [] as [String; 0],
        "a path is a text"
    );
}

proptest! {
    #[test]
    fn any_text_is_a_filter(text in "(!|node:|path:|seq:|text:|/|\"|=|[a-z\\[\\]. é(-]){0,12}") {
        let (events, projections) = event_log();
        let (filter, narrower) = (StreamFilter::new(&text), StreamFilter::new(&format!("{text} seq:2")));
        for event in &events {
            let facets = EventAttrs::of(event, &projections);
            prop_assert!(filter.matches(&facets) || !narrower.matches(&facets) || text.contains(['"', '/']));
        }
    }
}
