//! Messages from handwritten events: without ids, removed, with many kinds of blocks, out of order.

use runtail_stream::projection::Part;
use runtail_stream::{Event, Seq};
use runtail_testkit::made;
use runtail_testkit::projected::{project, shown};

fn event(seq: u64, name: &str, data: &str) -> Event {
    made::event(seq, jiff::Timestamp::UNIX_EPOCH, name, data)
}

#[test]
fn messages_without_ids_are_matched_and_removals_recorded() {
    let state = r#"{"messages":[{"role":"user","content":"ok"},{"role":"assistant","content":"ok"},{"role":"user","content":"ok"}]}"#;
    let projections = project([
        event(
            1,
            "values",
            r#"{"messages":[{"role":"user","content":"ok"}]}"#,
        ),
        event(
            2,
            "updates",
            r#"{"chat":{"messages":{"role":"assistant","content":"ok"}}}"#,
        ),
        event(3, "values", state),
        event(4, "values", state),
    ]);
    assert_eq!(
        shown(projections.messages.items()),
        ["Human -@: ok", "Ai chat@: ok", "Human -@: ok"]
    );

    let projections = project([
        event(
            1,
            "values",
            r#"{"messages":[{"type":"human","content":"a","id":"1"},{"type":"ai","content":"b","id":"2"}]}"#,
        ),
        event(
            2,
            "updates",
            r#"{"sum":{"messages":[{"type":"remove","content":"","id":"1"}]}}"#,
        ),
        event(
            3,
            "values",
            r#"{"messages":[{"type":"ai","content":"b","id":"2"}]}"#,
        ),
        event(
            4,
            "values",
            r#"{"messages":[{"type":"ai","content":"c","id":"3"}]}"#,
        ),
    ]);
    let removed: Vec<_> = projections
        .messages
        .items()
        .iter()
        .map(|m| m.removed_at)
        .collect();
    assert_eq!(removed, [Some(Seq(2)), Some(Seq(4)), None]);
}

#[test]
fn late_chunks_do_not_extend_a_complete_message() {
    let whole = r#"{"chat":{"messages":{"type":"ai","id":"1","content":"Hello."}}}"#;
    let chunk =
        |text: &str| format!(r#"[{{"type":"AIMessageChunk","id":"1","content":"{text}"}},{{}}]"#);
    // Chunks that arrive after the node's update.
    let projections = project([
        event(1, "updates", whole),
        event(2, "messages", &chunk("Hel")),
        event(3, "messages", &chunk("lo.")),
    ]);
    assert_eq!(shown(projections.messages.items()), ["Ai chat@: Hello."]);
}

#[test]
fn subgraph_messages_are_not_the_graphs_messages() {
    let state =
        |id: &str| format!(r#"{{"messages":[{{"type":"ai","id":"{id}","content":"{id}"}}]}}"#);
    let mut inner = event(2, "values", &state("inner"));
    inner.ns = ["sub:1".into()].into();
    let projections = project([event(1, "values", &state("outer")), inner]);
    assert_eq!(shown(projections.messages.items()), ["Ai -@: outer"]);
    assert_eq!(projections.messages.items()[0].removed_at, None);
}

#[test]
fn long_states_do_not_restore_evicted_messages() {
    let state = |count: usize| {
        let all: Vec<String> = (0..count)
            .map(|i| format!(r#"{{"type":"human","content":"{i}","id":"{i}"}}"#))
            .collect();
        format!(r#"{{"messages":[{}]}}"#, all.join(","))
    };
    let states = [19_990, 20_010, 20_020, 20_030];
    let projections = project(
        (1..)
            .zip(states)
            .map(|(seq, count)| event(seq, "values", &state(count))),
    );
    let messages = &projections.messages;
    assert_eq!(
        messages.evicted() + messages.items().len() as u64,
        20_030,
        "each message once"
    );
    assert!(
        messages
            .items()
            .is_sorted_by_key(|m| m.text.parse::<u32>().unwrap())
    );
    assert!(messages.items().iter().all(|m| m.removed_at.is_none()));
}

#[test]
fn values_in_place_of_messages_are_shown() {
    let state = r#"{"messages":["bare",["user","pair"],7,null,{"role":"assistant","content":null},{"content":[["x"]]}]}"#;
    let projections = project([event(1, "values", state), event(2, "values", state)]);
    assert_eq!(
        shown(projections.messages.items()),
        [
            "Other(\"text\") -@: bare",
            "Human -@: pair",
            "Other(\"text\") -@: 7",
            "Ai -@: ",
            "Other(\"\") -@: [list, 5 B]\n"
        ]
    );
}

#[test]
fn tool_calls_are_matched_with_results_in_any_order() {
    let ai = r#"[{"type":"ai","id":"1","content":"","tool_calls":[{"id":"a","name":"x","args":{}},{"id":"b","name":"y","args":{}}]},{}]"#;
    let tool = |id: &str, call: &str| {
        format!(r#"[{{"type":"tool","id":"{id}","content":"{id}","tool_call_id":"{call}"}},{{}}]"#)
    };
    let answers = |events: Vec<Event>| -> Vec<Option<String>> {
        let projections = project(events);
        let messages = &projections.messages;
        for answer in messages.items().iter().filter(|m| m.call_message.is_some()) {
            assert_eq!(
                Some(messages.asked(answer).unwrap().1.id.as_str()),
                answer.tool_call_id.as_deref()
            );
        }
        let calls = messages.items().iter().flat_map(|m| &m.tool_calls);
        calls
            .map(|call| messages.answer(call).map(|m| m.text.clone()))
            .collect()
    };
    let (b, a) = (tool("tb", "b"), tool("ta", "a"));
    let some = |text: &str| Some(text.to_string());
    assert_eq!(
        answers(vec![event(1, "messages", ai), event(2, "messages", &b)]),
        [None, some("tb")]
    );
    let late = vec![
        event(1, "messages", &b),
        event(2, "messages", &a),
        event(3, "messages", ai),
    ];
    assert_eq!(answers(late), [some("ta"), some("tb")]);
    // Reused ids belong to the newer call.
    let again = ai.replace(r#""id":"1""#, r#""id":"2""#);
    let reused = vec![
        event(1, "messages", ai),
        event(2, "messages", &a),
        event(3, "messages", &again),
        event(4, "messages", &tool("t2", "a")),
    ];
    assert_eq!(answers(reused), [some("ta"), None, some("t2"), None]);
}

#[test]
fn refusals_invalid_calls_and_reasoning_are_parsed() {
    let projections = project([
        event(
            1,
            "messages",
            r#"[{"type":"AIMessageChunk","id":"1","content":[{"type":"thinking","thinking":"h","index":0}]},{}]"#,
        ),
        event(
            2,
            "messages",
            r#"[{"type":"AIMessageChunk","id":"1","content":[{"type":"thinking","thinking":"m","index":0}]},{}]"#,
        ),
        event(
            3,
            "values",
            r#"{"messages":[{"type":"ai","id":"1","content":"","additional_kwargs":{"refusal":"I can't."},"invalid_tool_calls":[{"id":"c","name":"t","args":"{\"a","error":"no end"}],
            "usage_metadata":{"input_tokens":5,"output_tokens":4,"total_tokens":9,"input_token_details":{"cache_read":3},"output_token_details":{"reasoning":2}}}]}"#,
        ),
    ]);
    let message = &projections.messages.items()[0];
    assert_eq!(
        (message.reasoning.as_str(), message.text.as_str()),
        ("hm", "I can't.")
    );
    assert_eq!(
        (
            message.reasoning_seq(0),
            message.reasoning_seq(1),
            message.text_seq(0)
        ),
        (Seq(1), Seq(2), Seq(3))
    );
    assert_eq!(
        message.parts,
        [Part::Reasoning(0..2), Part::Refusal(0..8), Part::Call(0)]
    );
    assert_eq!(message.tool_calls[0].invalid.as_deref(), Some("no end"));
    let usage = message.usage.unwrap();
    assert_eq!((usage.cached, usage.reasoning), (3, 2));
}

#[test]
fn content_blocks_reasoning_and_images_are_parsed() {
    let projections = project([
        event(
            1,
            "messages",
            r#"[{"type":"AIMessageChunk","id":"1","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]},{"langgraph_node":"n"}]"#,
        ),
        event(
            2,
            "messages",
            r#"[{"type":"AIMessageChunk","id":"1","content":[{"type":"text","text":"b","index":1}],"usage_metadata":{"input_tokens":3,"output_tokens":0,"total_tokens":3}},{}]"#,
        ),
        event(
            3,
            "messages",
            r#"[{"type":"AIMessageChunk","id":"1","content":"","usage_metadata":{"input_tokens":0,"output_tokens":2,"total_tokens":2}},{}]"#,
        ),
        event(
            4,
            "messages",
            r#"[{"type":"human","id":"2","content":["see",{"type":"image_url","image_url":"x"},"this"]},{}]"#,
        ),
        event(
            5,
            "messages",
            r#"[{"type":"tool","id":"3","content":"no","status":"error","tool_call_id":"c"},{}]"#,
        ),
    ]);
    assert_eq!(
        shown(projections.messages.items()),
        [
            "Ai n@: ab 3+2=5",
            "Human -@: see\n[image x]\nthis",
            "Tool -@: no ←c"
        ]
    );
    assert_eq!(projections.messages.items()[0].reasoning, "hm");
    assert!(projections.messages.items()[2].is_error);
}
