//! The messages view: Markdown, tool calls with results, images, reasoning, removed messages, and large inputs.

use runtail_testkit::dash::{Dash, demo_thread};
use serde_json::{Value, json};

const REPLY: &str = r##"# Two cities\n\nBoth are **dry** today; see [the forecast](https://weather.example/7d).\n\n| City | Weather | °C |\n|---|---|---:|\n| Kraków | sunny, a light breeze from the west | 21 |\n| 東京 | clear | 27 |\n\n1. Take `sunscreen`\n2. and *water*\n   - at least a litre\n\n```python\nfor city in [\"Kraków\", \"Tokyo\"]:\n    print(city)\n```\n\n> Said the old man."##;

/// A run with all kinds of messages.
fn mixed_run(size: (u16, u16)) -> Dash {
    let mut dash = demo_thread(size);
    dash.keys("f");
    dash.event(
        "metadata",
        r#"{"run_id":"01a1fbb5-1351-70df-a8e3-d471c3c0cd66","attempt":1}"#,
    );
    let old = r#"{"type":"human","id":"h0","content":"an old question"},"#;
    let human = r#"{"type":"human","id":"h1","content":["What is the weather there?",{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAAAAAAAAAA"}}]}"#;
    dash.event("values", &format!(r#"{{"messages":[{old}{human}]}}"#));
    let chunk = |dash: &mut Dash, id: &str, node: &str, fields: &str| {
        let text = format!(
            r#"[{{"type":"AIMessageChunk","id":"{id}",{fields}}},{{"langgraph_node":"{node}"}}]"#
        );
        dash.later(50);
        dash.event("messages", &text);
    };
    chunk(
        &mut dash,
        "a1",
        "chat",
        r#""content":[{"type":"thinking","thinking":"Two cities,","index":0}]"#,
    );
    chunk(
        &mut dash,
        "a1",
        "chat",
        r#""content":[{"type":"thinking","thinking":" two calls.","index":0}]"#,
    );
    chunk(
        &mut dash,
        "a1",
        "chat",
        r#""content":[{"type":"text","text":"Let me check.","index":1}]"#,
    );
    for (index, id, args) in [
        (0, "c1", r#"{\"city\":\"Kraków\"}"#),
        (
            1,
            "c2",
            r#"{\"city\":\"東京\",\"days\":[1,2,3],\"why\":\"because the person asked about the weather in both places\"}"#,
        ),
    ] {
        let call = format!(
            r#""content":"","tool_call_chunks":[{{"index":{index},"id":"{id}","name":"get_weather","args":"{args}"}}]"#
        );
        chunk(&mut dash, "a1", "chat", &call);
    }
    chunk(
        &mut dash,
        "a1",
        "chat",
        r#""content":"","chunk_position":"last","usage_metadata":{"input_tokens":1100,"output_tokens":21,"total_tokens":1121,"input_token_details":{"cache_read":900},"output_token_details":{"reasoning":6}}"#,
    );
    dash.later(82);
    let tool = |id: &str, call: &str, status: &str, text: &str| {
        format!(
            r#"[{{"type":"tool","id":"{id}","name":"get_weather","tool_call_id":"{call}","status":"{status}","content":"{text}"}},{{"langgraph_node":"tools"}}]"#
        )
    };
    dash.event("messages", &tool("t2", "c2", "error", "no such city"));
    dash.later(1_300);
    dash.event(
        "messages",
        &tool(
            "t1",
            "c1",
            "success",
            "21 °C, sunny\\nwind: west\\nhumidity: 40 %",
        ),
    );
    dash.event("values", &format!(r#"{{"messages":[{human}]}}"#));
    dash
}

fn with_reply(size: (u16, u16)) -> Dash {
    let mut dash = mixed_run(size);
    for part in REPLY.split_inclusive(' ') {
        dash.later(20);
        dash.event(
            "messages",
            &format!(r#"[{{"type":"AIMessageChunk","id":"a2","content":"{part}"}},{{"langgraph_node":"writer"}}]"#),
        );
    }
    dash
}

#[test]
fn tool_calls_are_shown_with_their_results() {
    insta::assert_snapshot!("calls_80x24", mixed_run((80, 24)).screen());
    insta::assert_snapshot!("calls_140x40", mixed_run((140, 40)).screen());
}

#[test]
fn markdown_is_rendered_at_every_size_and_in_ascii() {
    insta::assert_snapshot!("markdown_80x24", with_reply((80, 24)).screen());
    insta::assert_snapshot!("markdown_140x40", with_reply((140, 40)).screen());
    let mut ascii = with_reply((140, 40));
    ascii.set_ascii(true);
    let screen = ascii.screen();
    insta::assert_snapshot!("markdown_ascii_140x40", screen);
    let mut narrow = with_reply((60, 12));
    insta::assert_snapshot!("markdown_60x12", narrow.screen());
}

#[test]
fn markdown_emphasis_uses_no_color() {
    let buffer = with_reply((140, 40)).buffer();
    insta::assert_snapshot!("markdown_styles", crate::views::styles(&buffer, 3));
}

/// Returns the line under the cursor.
fn under_cursor(dash: &mut Dash) -> String {
    let buffer = dash.buffer();
    let row = |y: u16| {
        (0..buffer.area.width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    };
    let marked = (0..buffer.area.height)
        .map(row)
        .find(|row| row.contains('▌'));
    marked
        .unwrap_or_default()
        .trim_matches(['▌', ' '])
        .to_string()
}

#[test]
fn message_lines_select_their_event() {
    let mut dash = mixed_run((80, 40));
    for (line, seq) in [
        ("→ get_weather {\"city\":\"Kraków\"}", 6),
        ("└ 21 °C, sunny", 10),
        ("Two cities, two calls.", 3),
        ("Let me check.", 5),
    ] {
        dash.keys("1gg");
        let found = (0..40).any(|_| {
            dash.keys("j");
            under_cursor(&mut dash).starts_with(line)
        });
        assert!(found, "{line}");
        dash.keys("6");
        assert!(
            under_cursor(&mut dash).starts_with(&format!("{seq} ")),
            "{line}: {}",
            under_cursor(&mut dash)
        );
        dash.keys("1");
        assert!(
            under_cursor(&mut dash).starts_with(line),
            "{line}: {}",
            under_cursor(&mut dash)
        );
    }
}

#[test]
fn only_start_and_end_of_long_reasoning_are_rendered() {
    let mut dash = demo_thread((80, 24));
    let reasoning = format!("begin {}end", "word ".repeat(1_000_000));
    let data = format!(
        r#"[{{"type":"AIMessageChunk","id":"1","content":"","additional_kwargs":{{"reasoning_content":"{reasoning}"}}}},{{}}]"#
    );
    dash.event("messages", &data);
    dash.shows("word end");
    let mut pages = 0;
    while !dash.screen().contains("not shown; press s") {
        dash.keys("<PageUp>");
        pages += 1;
        assert!(pages < 1_000, "all of the reasoning is rendered");
    }
    dash.keys("gg");
    dash.shows("begin word");
}

/// Cases 01, 09a and 11: halves of a surrogate pair in two tokens or without a partner, numbers that JSON doesn't have, equal keys.
#[test]
fn json_that_a_strict_parser_refuses_is_shown() {
    for (case, shown) in [
        ("01-emoji-halves", "Deployed 🚀 ok. Broken: x\u{fffd} y"),
        ("09a-nan-in-stream", "Scored."),
        ("11-duplicate-keys", "final answer"),
    ] {
        let mut dash = demo_thread((120, 40));
        let path = format!(
            "{}/tests/fixtures/cases/{case}/run.sse",
            env!("CARGO_MANIFEST_DIR")
        );
        dash.receive(std::fs::read(path).unwrap());
        let words = dash.words();
        assert!(words.contains(shown) && !words.contains("draft"), "{words}");
    }
}

/// Aegra 0.11 sends the result of a subagent's call as a chunk, and never in its state.
#[test]
fn a_result_that_is_sent_as_a_chunk_belongs_to_its_call() {
    let mut dash = demo_thread((120, 40));
    let origin = json!({"langgraph_step": 2, "langgraph_node": "expert", "langgraph_checkpoint_ns": "expert:5f6a"});
    let call = json!({"name": "get_weather", "args": "{}", "id": "weather_1", "index": null, "type": "tool_call_chunk"});
    let asked = json!({"content": "", "type": "AIMessageChunk", "id": "lc_run--1", "tool_call_chunks": [call]});
    let result = json!({"content": "21 °C", "type": "ToolMessageChunk", "id": "m-2", "name": "get_weather",
        "tool_call_id": "weather_1", "status": "success"});
    let event =
        |message: &Value| format!("event: messages\ndata: {}\n\n", json!([message, origin]));
    dash.receive((event(&asked) + &event(&result)).into_bytes());
    dash.reads("→ get_weather {} └ 21 °C");
}
