//! The messages view: Markdown, calls with their results, pictures, thoughts, what was removed; and what it costs.

use runtail_testkit::dash::{Dash, demo_like};

const ANSWER: &str = r##"# Two cities\n\nBoth are **dry** today; see [the forecast](https://weather.example/7d).\n\n| City | Weather | °C |\n|---|---|---:|\n| Kraków | sunny, a light breeze from the west | 21 |\n| 東京 | clear | 27 |\n\n1. Take `sunscreen`\n2. and *water*\n   - at least a litre\n\n```python\nfor city in [\"Kraków\", \"Tokyo\"]:\n    print(city)\n```\n\n> Said the old man."##;

/// A run with a bit of everything.
fn tour(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_thread();
    dash.keys("f");
    dash.event("metadata", r#"{"run_id":"01a1fbb5-1351-70df-a8e3-d471c3c0cd66","attempt":1}"#);
    let old = r#"{"type":"human","id":"h0","content":"an old question"},"#;
    let human = r#"{"type":"human","id":"h1","content":["What is the weather there?",{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAAAAAAAAAA"}}]}"#;
    dash.event("values", &format!(r#"{{"messages":[{old}{human}]}}"#));
    let chunk = |dash: &mut Dash, id: &str, node: &str, fields: &str| {
        let text = format!(r#"[{{"type":"AIMessageChunk","id":"{id}",{fields}}},{{"langgraph_node":"{node}"}}]"#);
        dash.later(50);
        dash.event("messages", &text);
    };
    chunk(&mut dash, "a1", "chat", r#""content":[{"type":"thinking","thinking":"Two cities,","index":0}]"#);
    chunk(&mut dash, "a1", "chat", r#""content":[{"type":"thinking","thinking":" two calls.","index":0}]"#);
    chunk(&mut dash, "a1", "chat", r#""content":[{"type":"text","text":"Let me check.","index":1}]"#);
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
    dash.event("messages", &tool("t1", "c1", "success", "21 °C, sunny\\nwind: west\\nhumidity: 40 %"));
    dash.event("values", &format!(r#"{{"messages":[{human}]}}"#));
    dash
}

fn answered(size: (u16, u16)) -> Dash {
    let mut dash = tour(size);
    for part in ANSWER.split_inclusive(' ') {
        dash.later(20);
        dash.event(
            "messages",
            &format!(r#"[{{"type":"AIMessageChunk","id":"a2","content":"{part}"}},{{"langgraph_node":"writer"}}]"#),
        );
    }
    dash
}

#[test]
fn calls_stand_with_their_results() {
    insta::assert_snapshot!("calls_80x24", tour((80, 24)).screen());
    insta::assert_snapshot!("calls_140x40", tour((140, 40)).screen());
}

#[test]
fn markdown_on_every_kind_of_screen() {
    insta::assert_snapshot!("markdown_80x24", answered((80, 24)).screen());
    insta::assert_snapshot!("markdown_140x40", answered((140, 40)).screen());
    let mut ascii = answered((140, 40));
    ascii.ascii = true;
    let screen = ascii.screen();
    insta::assert_snapshot!("markdown_ascii_140x40", screen);
    let mut narrow = answered((60, 12));
    insta::assert_snapshot!("markdown_60x12", narrow.screen());
}

#[test]
fn what_is_stressed_needs_no_colour() {
    use ratatui::style::{Color, Modifier};
    let mut dash = answered((140, 40));
    let buffer = dash.buffer();
    let mut words = std::collections::BTreeMap::new();
    for y in 0..buffer.area.height {
        let cell = |x: u16| &buffer[(x, y)];
        let row: String = (0..buffer.area.width).map(|x| cell(x).symbol()).collect();
        for word in ["Two cities", "dry", "water", "the forecast"] {
            if let Some(at) = row.find(word) {
                let x = row[..at].chars().count() as u16;
                words.insert(word, (cell(x).fg, cell(x).modifier));
            }
        }
    }
    assert_eq!(words["Two cities"], (Color::Reset, Modifier::BOLD), "{words:?}");
    assert_eq!(words["dry"], (Color::Reset, Modifier::BOLD));
    assert_eq!(words["water"], (Color::Reset, Modifier::ITALIC));
}

/// The line under the cursor.
fn under_cursor(dash: &mut Dash) -> String {
    let buffer = dash.buffer();
    let row = |y: u16| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let marked = (0..buffer.area.height).map(row).find(|row| row.contains('▌'));
    marked.unwrap_or_default().trim_matches(['▌', ' ']).to_string()
}

#[test]
fn a_line_leads_to_the_event_that_brought_it_and_back() {
    let mut dash = tour((80, 40));
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
        assert!(found, "{line}: {}", dash.screen());
        dash.keys("7");
        assert!(under_cursor(&mut dash).starts_with(&format!("{seq} ")), "{line}: {}", under_cursor(&mut dash));
        dash.keys("1");
        assert!(under_cursor(&mut dash).starts_with(line), "{line}: {}", under_cursor(&mut dash));
    }
}

#[test]
fn a_screen_of_many_and_large_messages_is_there_at_once() {
    let mut dash = demo_like((80, 24));
    dash.open_thread();
    let many: Vec<String> = (0..5_000)
        .map(|i| format!(r#"{{"type":"ai","id":"{i}","content":"**{i}** {}"}}"#, "word ".repeat(40)))
        .collect();
    dash.event("values", &format!(r#"{{"messages":[{}]}}"#, many.join(",")));
    let huge = "x".repeat(5 << 20);
    dash.event("messages", &format!(r#"[{{"type":"ai","id":"h","content":"{huge}"}},{{}}]"#));
    let screen = dash.screen();
    assert!(screen.contains("xxxxxxxxxx"), "{screen}");
    dash.keys("gg");
    assert!(dash.screen().contains("0 word word"), "{}", dash.screen());
    dash.keys("G");
    assert!(dash.screen().contains("xxxxxxxxxx"));
    for size in [(140, 40), (60, 12), (80, 24)] {
        dash.resize(size.0, size.1);
        assert!(dash.screen().contains("xxxxxxxxxx"));
    }
}

#[test]
fn of_a_long_thought_the_beginning_and_the_end_are_laid_out() {
    let mut dash = demo_like((80, 24));
    dash.open_thread();
    let thought = format!("begin {}end", "word ".repeat(1_000_000));
    let data = format!(
        r#"[{{"type":"AIMessageChunk","id":"1","content":"","additional_kwargs":{{"reasoning_content":"{thought}"}}}},{{}}]"#
    );
    dash.event("messages", &data);
    assert!(dash.screen().contains("word end"), "{}", dash.screen());
    let mut pages = 0;
    while !dash.screen().contains("not shown; press s") {
        dash.keys("<PageUp>");
        pages += 1;
        assert!(pages < 1_000, "all of it is laid out");
    }
    dash.keys("gg");
    assert!(dash.screen().contains("begin word"), "{}", dash.screen());
}
