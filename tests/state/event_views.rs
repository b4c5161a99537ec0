//! The views of events and their delivery (Events, Updates, Runs), and the ages of events and heartbeats.

use runtail_stream::{Item, Loaded, Outcome, Record, Seq, SnapshotPart, ThreadSnapshot};
use runtail_testkit::dash;
use runtail_testkit::dash::{Dash, demo_thread};
use runtail_tui::session::msg::Msg;
use serde_json::json;

/// Opens a thread with a captured stream, full-screen if it is wide enough.
fn opened(size: (u16, u16), capture: &str) -> dash::Dash {
    let mut dash = demo_thread(size);
    dash.capture_now(capture);
    if size.0 >= 120 {
        dash.keys("f");
    }
    dash
}

#[test]
fn the_delivery_report_is_a_page_of_events() {
    for size in [(80, 24), (140, 40)] {
        let mut dash = opened(size, "fanout-many-subgraphs");
        dash.heartbeat();
        dash.later(2_000);
        dash.keys("6d");
        insta::assert_snapshot!(format!("delivery_{}x{}", size.0, size.1), dash.screen());
        dash.keys("<Esc>");
        assert!(dash.dialog().is_none());
        dash.command("view delivery");
        dash.shows("Delivery · ");
    }
    // Without events there is no report.
    let mut dash = demo_thread((140, 40));
    dash.keys("6d");
    dash.told("No events were received");
}

#[test]
fn a_report_goes_to_its_newest_gap() {
    let mut dash = opened((140, 40), "agent-messages-tuple");
    let gap = Record::Gap {
        at: dash.now,
        why: "disconnected for 3s".into(),
    };
    dash.items(vec![Item::Record(gap)]);
    dash.shows("? 1 gap · 6");
    dash.capture_now("agent-messages-tuple");
    dash.keys("6<Home>d");
    dash.shows("may be missing: disconnected for 3s");
    dash.keys("<Enter>");
    let position = dash.position().unwrap();
    assert!(dash.dialog().is_none() && position > Seq(2));
    dash.end(Outcome::Success);
    dash.keys("d");
    let body = dash.body();
    dash.later(60_000);
    assert_eq!(dash.body(), body, "a report stands still");
    dash.set_ascii(true);
    assert!(dash.screen().is_ascii());
}

#[test]
fn chips_filter_the_events() {
    let mut dash = opened((140, 40), "fanout-many-subgraphs");
    dash.event("custom", r#"{"done":3,"total":10}"#);
    dash.keys("6");
    let head = |dash: &mut Dash| {
        let screen = dash.screen();
        let line = screen
            .lines()
            .find(|line| line.contains("all  custom  errors"));
        line.unwrap_or_else(|| panic!("{screen}")).to_string()
    };
    let order = head(&mut dash);
    dash.keys("C");
    assert_eq!(dash.event_filter(), "is:custom");
    dash.shows("3 of 10");
    dash.lacks("values");
    // The chips stay where they are while one of them is chosen.
    let mut filters = vec!["is:custom".to_string()];
    for _ in 0..20 {
        dash.keys("C");
        assert_eq!(head(&mut dash), order);
        filters.push(dash.event_filter().to_string());
        if dash.event_filter().is_empty() {
            break;
        }
    }
    assert!(
        filters.iter().any(|filter| filter.starts_with("node:\"")),
        "{filters:?}"
    );
    assert_eq!(filters.last().map(String::as_str), Some(""), "back to all");
    // A click chooses, too.
    let screen = dash.screen();
    let (y, line) = screen
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains("all  custom  errors"))
        .unwrap();
    let x = line[..line.find("errors").unwrap()].chars().count();
    dash.feed(Msg::Click {
        x: x as u16 + 1,
        y: y as u16,
    });
    assert_eq!(dash.event_filter(), "is:error");
    dash.keys("<Esc>");
    assert_eq!(dash.event_filter(), "");
}

#[test]
fn events_are_shown_summarized_or_as_received() {
    let mut dash = opened((80, 24), "agent-debug");
    dash.keys("6<Home>");
    insta::assert_snapshot!("events_debug_80x24", dash.screen());
    dash.keys("v");
    insta::assert_snapshot!("events_as_received_80x24", dash.screen());
    let mut dash = opened((140, 40), "agent-messages-tuple");
    dash.keys("6<Home>");
    dash.set_ascii(true);
    let screen = dash.screen();
    assert!(screen.is_ascii());
    insta::assert_snapshot!("events_ascii_140x40", screen);
}

#[test]
fn custom_events_are_shown() {
    let mut dash = opened((80, 24), "fanout-many-subgraphs");
    for (name, data) in [
        ("custom", r#"{"done":3,"total":10,"file":"report.pdf"}"#),
        ("custom", r#""bare words""#),
        ("custom", "null"),
        (
            "feedback",
            r#"{"user_score":"https://smith.example/feedback"}"#,
        ),
        ("brand_new", r#"{"a":{"b":[1,2]}}"#),
    ] {
        dash.event(name, data);
    }
    dash.keys("6C");
    insta::assert_snapshot!("events_custom_80x24", dash.screen());
    dash.keys("v");
    dash.shows(r#"{"done":3,"total":10,"file":"report.pdf"}"#);
    dash.keys("v");
    dash.set_ascii(true);
    let screen = dash.screen();
    assert!(screen.is_ascii() && screen.contains("===------- 3 of 10"));
}

#[test]
fn steps_show_what_nodes_wrote() {
    let mut dash = opened((80, 24), "approval-interrupt");
    dash.event("updates", r#"{"quiet":null,"many":[{"x":1},{"y":2}]}"#);
    dash.keys("2");
    insta::assert_snapshot!("steps_80x24", dash.screen());
}

#[test]
fn runs_view_shows_attempts_failures_and_durations() {
    let mut dash = demo_thread((80, 24));
    let run = "01a1fbb5-6699-77f4-8658-3f7e7afea7a7";
    let metadata = |attempt: u64| format!(r#"{{"run_id":"{run}","attempt":{attempt}}}"#);
    dash.event("metadata", &metadata(1));
    dash.later(3_400);
    dash.event("metadata", &metadata(2));
    dash.capture_now("fanout-many-subgraphs");
    dash.event(
        "messages",
        r#"[{"type":"AIMessageChunk","id":"a","content":"It "},{"langgraph_node":"sub_b"}]"#,
    );
    dash.event(
        "tasks",
        r#"{"id":"x","name":"boom","error":"ValueError('no')","result":null,"interrupts":[]}"#,
    );
    dash.event(
        "updates",
        r#"{"__interrupt__":[{"value":{"question":"Approve?","draft":"send 5 EUR"},"id":"i"}]}"#,
    );
    dash.event(
        "metadata",
        &format!(r#"{{"run_id":"{run}","status":"run_done"}}"#),
    );
    dash.keys("7");
    insta::assert_snapshot!("runs_80x24", dash.screen());
    // A thread's stream reports a failed run as done, too.
    dash.event("metadata", &metadata(1).replace(run, "r2"));
    dash.event("error", r#"{"error":"ValueError","message":"boom"}"#);
    dash.event("metadata", r#"{"run_id":"r2","status":"run_done"}"#);
    dash.shows("2 here  ✗ failed");
    dash.keys("<Home>");
    insta::assert_snapshot!("runs_start_80x24", dash.screen());
}

#[test]
fn heartbeat_and_event_ages_are_shown() {
    let mut dash = demo_thread((140, 40));
    dash.capture_now("slow-heartbeat");
    dash.later(300);
    dash.keys("f");
    dash.shows("● live · last event 0s");
    dash.lacks("no event");
    // A server without heartbeats is not reported as silent.
    dash.later(44_700);
    dash.keys("6");
    dash.shows("◌ no event for 45s");
    for _ in 0..3 {
        dash.later(5_000);
        dash.heartbeat();
    }
    dash.shows("● live · heartbeat 0s · last event 1m");
    // In less room the age of the last event stays: it is the evidence.
    for width in [104, 110, 118] {
        dash.resize(width, 40);
        dash.shows("last event 1m");
    }
    dash.resize(140, 40);
    dash.later(12_000);
    dash.keys("6");
    dash.shows("◌ no heartbeat for 12s");
    // An idle thread may be silent.
    let run = dash.newest_run();
    dash.event(
        "metadata",
        &format!(r#"{{"run_id":"{run}","status":"run_done"}}"#),
    );
    dash.later(100_000);
    dash.keys("6");
    dash.shows("● live");
    dash.lacks("no heartbeat for");
}

#[test]
fn what_could_not_be_read_is_not_called_empty() {
    let mut dash = demo_thread((140, 40));
    let failed = |part: SnapshotPart| (part, Loaded::Failed("no connection".into()));
    let parts = [
        SnapshotPart::Thread,
        SnapshotPart::State,
        SnapshotPart::History,
        SnapshotPart::Runs,
    ]
    .map(failed);
    let event = ThreadSnapshot {
        at: dash.now,
        parts: parts.into(),
    }
    .into_event(Seq(1));
    dash.items(vec![Item::Record(Record::Event(event))]);
    for view in ["1", "2", "3", "4", "7"] {
        dash.keys(view);
        dash.shows([
            "Nothing is known: couldn't load the state (no connection).",
            "Press r to retry.",
        ]);
        dash.lacks(["No m", "Following this thread"]);
    }
}

#[test]
fn what_was_before_the_page_was_opened_is_no_gap() {
    let gap = |why: &str| {
        Item::Record(Record::Gap {
            at: jiff::Timestamp::UNIX_EPOCH,
            why: why.into(),
        })
    };
    let mut dash = demo_thread((140, 40));
    dash.items(vec![gap(
        "joined at 14:02:07; earlier output isn't available",
    )]);
    dash.capture_now("agent-values");
    dash.lacks("gap ·");
    dash.keys("6d");
    dash.shows("joined at 14:02:07; earlier output isn't available");
    dash.keys("<Esc>");
    dash.shows("earlier output unknown");
    dash.items(vec![gap(
        "disconnected for 3s; the server sends no ids to resume from",
    )]);
    dash.shows("? 1 gap · 6");
}

#[test]
fn messages_that_were_loaded_have_a_cost() {
    let toml = "[prices]\n\"m-1*\" = { input = 1, output = 10 }\n[profiles.local]\nagent_server = \"http://127.0.0.1:2024\"\n";
    let mut dash = Dash::new(toml, (140, 40));
    dash.threads();
    dash.keys("<Enter>");
    let call = |id: &str, model: serde_json::Value| {
        let usage =
            json!({"input_tokens": 200_000, "output_tokens": 30_000, "total_tokens": 230_000});
        json!({"type": "ai", "id": id, "content": id, "usage_metadata": usage, "response_metadata": model})
    };
    let messages = json!([
        call("a", json!({"model_name": "m-1-2026"})),
        call("b", json!({"model": "m-1-2026"}))
    ]);
    let state =
        json!({"values": {"messages": messages}, "next": [], "tasks": [], "metadata": {"step": 3}});
    dash.snapshot(vec![(SnapshotPart::State, state)]);
    dash.keys("6d");
    for name in ["m-1-2026", "loaded messages"] {
        let screen = dash.screen();
        let line = screen.lines().find(|line| line.contains(name)).unwrap();
        let numbers: Vec<&str> = line.split_whitespace().rev().skip(1).take(4).collect();
        assert_eq!(numbers, ["$1.00", "60,000", "400,000", "2"], "{line}");
    }
}

/// A node may write a message without an id; the reducer of its state adds one.
#[test]
fn a_message_that_gets_its_id_from_the_state_is_one_message() {
    let message = |id: Option<&str>| json!({"type": "tool", "id": id, "name": "go", "tool_call_id": "c", "content": "Successfully transferred"});
    let run = "01a1fbb5-1743-72b0-bac9-4236eccc2777";
    for is_reopened in [false, true] {
        let mut dash = demo_thread((140, 40));
        let state = json!({"messages": [message(Some("t-1"))]});
        let saved = json!({"values": state, "next": [], "tasks": [], "metadata": {"step": 1}});
        if is_reopened {
            dash.snapshot(vec![(SnapshotPart::State, saved.clone())]);
        }
        dash.event("metadata", &json!({"run_id": run}).to_string());
        dash.event(
            "updates",
            &json!({"supervisor": {"messages": [message(None)]}}).to_string(),
        );
        dash.event("values", &state.to_string());
        dash.snapshot(vec![(SnapshotPart::State, saved)]);
        let screen = dash.screen();
        assert_eq!(
            screen.matches("Successfully transferred").count(),
            1,
            "{is_reopened}: {screen}"
        );
        dash.lacks("removed from state");
    }
}

#[test]
fn a_run_ends_above_the_messages_that_were_loaded_after_it() {
    let mut dash = demo_thread((140, 40));
    let message = |id: &str| json!({"type": "human", "id": id, "content": format!("said {id}")});
    dash.event(
        "metadata",
        r#"{"run_id":"01a1fbb5-1743-72b0-bac9-4236eccc2777"}"#,
    );
    dash.event("values", &json!({"messages": [message("a")]}).to_string());
    dash.run_done();
    let state = json!({"values": {"messages": [message("b")]}, "next": [], "tasks": [], "metadata": {"step": 1}});
    dash.snapshot(vec![(SnapshotPart::State, state)]);
    let screen = dash.screen();
    let places =
        ["said a", "── run 1", "from the server's state", "said b"].map(|text| screen.find(text));
    assert!(
        places.is_sorted() && places[0].is_some(),
        "{places:?} {screen}"
    );
}
