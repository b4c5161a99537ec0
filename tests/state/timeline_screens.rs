//! The timeline on screen: bars over an axis, live and ended, folded, at each size and without color.

use jiff::{SignedDuration, Timestamp};
use runtail_stream::{Data, Event, EventNames, Item, Outcome, Record, Seq, SnapshotPart};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::features::stream::views::View;
use runtail_tui::session::msg::Msg;
use serde_json::{Value, json};

/// A thread with scripted events, each some milliseconds after the previous one.
struct ScriptedThread {
    dash: Dash,
    at: Timestamp,
    seq: Seq,
}

impl ScriptedThread {
    fn new(size: (u16, u16)) -> ScriptedThread {
        let mut dash = demo_like(size);
        dash.open_thread();
        let at = dash.now;
        dash.items(vec![Item::Record(Record::Open {
            at,
            conn: 1,
            status: 200,
            resumed_after: None,
        })]);
        dash.keys("4");
        ScriptedThread {
            dash,
            at,
            seq: Seq::START,
        }
    }

    fn send(&mut self, after: i64, name: &str, data: Value) {
        self.seq = self.seq.next();
        self.at += SignedDuration::from_millis(after);
        self.dash.later(after);
        let (name, ns) = EventNames::default().split(name);
        let data = Data::Json(data.to_string().into());
        let event = Event {
            seq: self.seq,
            at: self.at,
            conn: 1,
            replayed: false,
            name,
            ns,
            id: None,
            data,
        };
        self.dash.items(vec![Item::Record(Record::Event(event))]);
    }

    fn start(&mut self, after: i64, ns: &str, id: &str, node: &str) {
        self.send(
            after,
            &format!("tasks{ns}"),
            json!({"id": id, "name": node, "input": {}, "triggers": []}),
        );
    }

    fn done(&mut self, after: i64, ns: &str, id: &str, node: &str) {
        self.send(
            after,
            &format!("tasks{ns}"),
            json!({"id": id, "name": node, "result": {}, "interrupts": []}),
        );
    }

    fn run(&mut self, after: i64, attempt: u64) {
        self.send(
            after,
            "metadata",
            json!({"run_id": "01a1fbb5-1743-72b0-bac9-4236eccc573a", "attempt": attempt}),
        );
    }

    /// A run with parallel branches, a subgraph, a model and a tool, and a node that is still running.
    fn send_run(&mut self) {
        self.run(0, 1);
        self.start(20, "", "a", "plan");
        self.done(600, "", "a", "plan");
        self.start(5, "", "b", "search");
        self.start(1, "", "c", "research");
        let sub = "|research:c";
        self.start(30, sub, "d", "fetch");
        let origin = json!({"langgraph_node": "fetch", "langgraph_checkpoint_ns": "research:c|fetch:d", "ls_model_name": "gpt-5"});
        let chunk = |more: Value| {
            let mut chunk = json!({"id": "run-m", "type": "AIMessageChunk", "content": "x"});
            chunk
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            json!([chunk, origin])
        };
        self.send(40, "messages|research:c", chunk(json!({})));
        self.send(
            300,
            "messages|research:c",
            chunk(json!({"tool_call_chunks": [{"id": "c1", "name": "get_weather"}]})),
        );
        self.send(
            100,
            "messages|research:c",
            chunk(json!({"chunk_position": "last"})),
        );
        let result = json!([{"type": "tool", "tool_call_id": "c1", "content": "21 °C"}, origin]);
        self.send(382, "messages|research:c", result);
        self.done(10, sub, "d", "fetch");
        self.start(5, sub, "e", "rank");
        self.done(60, "", "b", "search");
        self.done(200, sub, "e", "rank");
        self.done(5, "", "c", "research");
        self.start(1200, "", "f", "join");
        self.send(400, "custom", json!("on the way"));
    }
}

/// The note has the words of the banner and the answer card, and the head fits.
#[test]
fn an_open_question_is_noted_in_words() {
    let question = json!([{"id": "i", "value": {"question": "Approve?", "draft": "send 5 EUR"}}]);
    let mut thread = ScriptedThread::new((140, 40));
    thread.run(0, 1);
    thread.start(20, "", "a", "ask");
    thread.send(
        2000,
        "tasks",
        json!({"id": "a", "name": "ask", "result": null, "interrupts": question}),
    );
    thread.send(1, "updates", json!({"__interrupt__": question}));
    thread.dash.end(Outcome::Interrupted);
    let screen = thread.dash.screen();
    assert!(
        screen.contains("  waiting since ◆ · client times"),
        "{screen}"
    );
    assert!(
        screen.contains("Approve? · draft: se") && !screen.contains("{\"question\""),
        "{screen}"
    );
}

#[test]
fn timeline_shows_live_and_ended_runs() {
    let mut thread = ScriptedThread::new((140, 40));
    thread.dash.keys("f");
    thread.send_run();
    insta::assert_snapshot!("timeline_live_140x40", thread.dash.screen());
    // Running bars grow without new events.
    thread.dash.later(900);
    thread.dash.feed(Msg::Tick);
    let join = thread
        .dash
        .screen()
        .lines()
        .find(|line| line.contains("3  join"))
        .map(str::to_string)
        .unwrap();
    assert!(join.contains("1.3s") && join.contains("►"), "{join}");
    thread.dash.end(Outcome::Success);
    insta::assert_snapshot!("timeline_ended_140x40", thread.dash.screen());
    thread.dash.resize(80, 24);
    insta::assert_snapshot!("timeline_80x24", thread.dash.screen());
    thread.dash.set_ascii(true);
    let screen = thread.dash.screen();
    assert!(screen.is_ascii());
    insta::assert_snapshot!("timeline_ascii_80x24", screen);
    thread.dash.resize(20, 5);
    thread.dash.screen();
}

#[test]
fn timeline_names_its_run_while_a_newer_one_is_queued() {
    let mut thread = ScriptedThread::new((140, 40));
    thread.send_run();
    thread.send(10, "end", Value::Null);
    let run = |id: &str, status: &str, minute: u8| {
        let at = format!("2026-11-21T13:{minute:02}:00Z");
        json!({"run_id": id, "status": status, "created_at": at, "updated_at": at, "assistant_id": "a-support"})
    };
    let first = run("01a1fbb5-1743-72b0-bac9-4236eccc573a", "success", 50);
    let records = |runs: Value| crate::thread_actions::records("busy", "finished-state", runs);
    crate::thread_actions::snapshot(&mut thread.dash, &records(json!([first])));
    assert!(
        !thread.dash.screen().contains("run 1 of"),
        "{}",
        thread.dash.screen()
    );
    crate::thread_actions::snapshot(
        &mut thread.dash,
        &records(json!([run("r2", "pending", 51), first])),
    );
    let screen = thread.dash.screen();
    assert!(
        screen.contains("run 1 of 2 · run 2 has not started"),
        "{screen}"
    );
}

#[test]
fn timeline_is_readable_without_color() {
    let mut thread = ScriptedThread::new((100, 30));
    thread.dash.keys("f");
    thread.run(0, 1);
    thread.start(100, "", "a", "plan");
    thread.run(3400, 2);
    thread.start(50, "", "b", "plan");
    let failed = json!({"id": "b", "name": "plan", "error": {"error": "ValueError", "message": "boom: no such city"}, "result": {}});
    thread.send(700, "tasks", failed);
    thread.send(
        1,
        "error",
        json!({"error": "ValueError", "message": "boom: no such city"}),
    );
    thread.dash.color = false;
    let plain = thread
        .dash
        .buffer()
        .content
        .iter()
        .all(|cell| cell.fg == ratatui::style::Color::Reset);
    assert!(plain, "there are no colors");
    insta::assert_snapshot!("timeline_attempts_100x30", thread.dash.screen());
}

#[test]
fn subgraphs_can_be_folded() {
    let mut thread = ScriptedThread::new((120, 30));
    thread.dash.keys("f");
    thread.send_run();
    // Selects the subgraph.
    thread.dash.keys("<Home><Down><Down>");
    assert!(
        thread
            .dash
            .body()
            .lines()
            .any(|line| line.contains('▌') && line.contains("research")),
        "{}",
        thread.dash.screen()
    );
    thread.dash.keys("<Left>");
    insta::assert_snapshot!("timeline_folded_120x30", thread.dash.screen());
    // New bars inside stay folded, and the cursor doesn't move.
    thread.start(100, "", "g", "more");
    assert!(
        thread
            .dash
            .body()
            .lines()
            .any(|line| line.contains('▌') && line.contains("research ▸ 4")),
        "{}",
        thread.dash.screen()
    );
    thread.dash.keys("<Right><Down><Down>");
    assert!(
        thread
            .dash
            .body()
            .lines()
            .any(|line| line.contains('▌') && line.contains("model gpt-5")),
        "{}",
        thread.dash.screen()
    );
    thread.dash.keys("<Left>");
    assert!(
        thread
            .dash
            .body()
            .lines()
            .any(|line| line.contains('▌') && line.contains("fetch")),
        "{}",
        thread.dash.screen()
    );
}

#[test]
fn timeline_shares_the_cursor_with_other_views() {
    let mut thread = ScriptedThread::new((120, 30));
    thread.dash.keys("f");
    thread.send_run();
    thread.dash.keys("<Home><Down>");
    let at = thread.dash.position().unwrap();
    assert!(
        thread
            .dash
            .body()
            .lines()
            .any(|line| line.contains('▌') && line.contains("search")),
        "{}",
        thread.dash.screen()
    );
    thread.dash.keys("6");
    assert_eq!(thread.dash.event_under_cursor(), Some(at));
    // The event that ends a bar selects that bar.
    for (down, name) in [(9, "search"), (0, "join")] {
        thread.dash.keys("6<Home>");
        let seq = if down > 0 { 13 } else { 16 };
        thread.dash.keys(&"<Down>".repeat(seq - 1));
        thread.dash.keys("4");
        assert!(
            thread
                .dash
                .body()
                .lines()
                .any(|line| line.contains('▌') && line.contains(name)),
            "{}",
            thread.dash.screen()
        );
    }
    // Enter shows the event in Messages.
    thread.dash.keys("<Enter>");
    assert_eq!(
        (thread.dash.view(), thread.dash.position()),
        (View::Messages, Some(Seq(16)))
    );
}

#[test]
fn timelines_of_captures_match_the_snapshots() {
    for (capture, name) in [
        ("agent-updates", "updates"),
        ("fanout-many-subgraphs", "fanout"),
        ("v2-events-agent", "v2"),
    ] {
        let mut dash = demo_like((140, 40));
        dash.open_thread();
        dash.capture_now(capture);
        dash.keys("4");
        insta::assert_snapshot!(format!("timeline_{name}_140x40"), dash.screen());
    }
    let mut dash = demo_like((140, 40));
    dash.open_thread();
    dash.capture_now("thread-all-modes");
    dash.keys("f4");
    insta::assert_snapshot!("timeline_thread_140x40", dash.screen());
}

#[test]
fn timeline_search_and_filter_include_new_bars() {
    let mut thread = ScriptedThread::new((120, 30));
    thread.dash.keys("f");
    thread.send_run();
    thread.dash.keys("/rank<Enter>");
    let at_rank = |dash: &mut Dash| {
        dash.body()
            .lines()
            .any(|line| line.contains('▌') && line.contains("rank"))
    };
    assert!(at_rank(&mut thread.dash), "{}", thread.dash.screen());
    // New bars above shift the row numbers.
    thread.start(10, "|research:c", "h", "above");
    thread.start(10, "", "i", "below");
    thread.dash.screen();
    thread.dash.keys("]");
    assert!(at_rank(&mut thread.dash), "{}", thread.dash.screen());
    thread.dash.keys("<Esc>&node:search<Enter>");
    let body = thread.dash.body();
    assert!(
        body.contains("search") && !body.contains("1  plan"),
        "{body}"
    );
    assert!(
        body.contains("STEP  NODE") && body.contains("0s"),
        "the axis is still shown: {body}"
    );
}

#[test]
fn filter_scan_finishes_while_bars_are_added() {
    let mut thread = ScriptedThread::new((120, 30));
    thread.run(0, 1);
    // More rows than one tick scans.
    (0..9_000).for_each(|n| thread.start(0, "", &format!("t{n}"), "node"));
    thread.dash.screen();
    thread.dash.keys("&node:node<Enter>");
    for n in 0..6 {
        thread.start(1, "", &format!("u{n}"), "other");
        thread.dash.screen();
    }
    let hidden = thread.dash.hidden();
    assert!(
        !thread.dash.is_searching(),
        "the scan restarts with each bar: {hidden:?}"
    );
    assert_eq!(hidden, Some(6));
}

#[test]
fn the_critical_path_has_nodes_and_adds_up_to_the_whole_run() {
    for width in [140, 100, 80] {
        let mut thread = ScriptedThread::new((width, 40));
        thread.dash.keys("f");
        thread.send_run();
        thread.dash.end(Outcome::Success);
        let screen = thread.dash.screen();
        let (_, path) = screen
            .split_once("path: ")
            .unwrap_or_else(|| panic!("{screen}"));
        let path = path.lines().next().unwrap();
        let shares = path
            .split([' ', '·'])
            .filter_map(|word| word.trim().strip_suffix('%')?.parse::<u32>().ok());
        assert_eq!(shares.sum::<u32>(), 100, "{path}");
        assert!(path.contains("fetch ") && !path.contains("gpt-5"), "{path}");
        // Nothing ran before the last node started.
        assert!(
            path.contains(if width == 140 {
                "outside nodes"
            } else {
                "rest"
            }),
            "{path}"
        );
    }
}

#[test]
fn nodes_of_subgraphs_show_the_step_that_contains_theirs() {
    let mut thread = ScriptedThread::new((140, 40));
    thread.dash.keys("f");
    thread.send_run();
    let screen = thread.dash.screen();
    let row = |name: &str| {
        screen
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{screen}"))
    };
    assert!(
        row("├ fetch").contains(" 2.1 ")
            && row("└ rank").contains(" 2.2 ")
            && row("  join").contains(" 3 "),
        "{screen}"
    );
}

#[test]
fn long_names_and_notes_get_free_columns() {
    let mut thread = ScriptedThread::new((160, 40));
    thread.dash.keys("f");
    thread.run(0, 1);
    let name = "summarize_the_open_questions_of_the_customer";
    thread.start(10, "", "a", name);
    let error = json!({"error": "ValueError", "message": "no such city: Atlantis"});
    thread.send(
        700,
        "tasks",
        json!({"id": "a", "name": name, "error": error, "result": {}}),
    );
    let screen = thread.dash.screen();
    assert!(
        screen.contains(name) && screen.contains("no such city: Atlantis"),
        "{screen}"
    );
}

#[test]
fn nodes_without_room_are_counted_in_their_times() {
    let mut thread = ScriptedThread::new((80, 30));
    thread.dash.keys("f");
    thread.run(0, 1);
    for n in 0..12 {
        thread.start(10, "", &format!("t{n}"), &format!("collect_{n}"));
        thread.done(500, "", &format!("t{n}"), &format!("collect_{n}"));
    }
    let screen = thread.dash.screen();
    let line = screen
        .lines()
        .find(|line| line.contains("time by node"))
        .unwrap_or_else(|| panic!("{screen}"));
    let shown = line.matches("collect_").count();
    assert!(line.contains(&format!("… {} more", 12 - shown)), "{line}");
}

/// Checkpoints only give the time of all parallel nodes together.
#[test]
fn the_slowest_of_parallel_nodes_with_one_time_is_unknown() {
    let entry = |step: i64, at: &str, tasks: &[&str]| {
        let task = |node: &&str| json!({"id": format!("{step}{node}"), "name": node, "error": null, "interrupts": [], "result": {}});
        json!({"values": {}, "next": tasks, "tasks": tasks.iter().map(task).collect::<Vec<_>>(), "created_at": at,
            "metadata": {"run_id": "r", "step": step, "source": "loop"}, "checkpoint": {"checkpoint_id": format!("c{step}")}})
    };
    let path = |tasks: &[&str]| {
        let mut dash = demo_like((140, 40));
        dash.open_thread();
        let (began, ended) = ("2026-11-23T11:00:00Z", "2026-11-23T11:00:03Z");
        let runs =
            json!([{"run_id": "r", "status": "success", "created_at": began, "updated_at": ended}]);
        let history = json!([entry(1, ended, &[]), entry(0, began, tasks)]);
        dash.snapshot(vec![
            (SnapshotPart::Runs, runs),
            (SnapshotPart::History, history),
        ]);
        dash.keys("4");
        dash.screen()
    };
    let both = path(&["papers", "critic"]);
    assert!(both.contains("critical path unknown"), "{both}");
    let one = path(&["papers"]);
    assert!(one.contains("critical path: papers 100%"), "{one}");
}

/// The loaded state mentions the messages of a run before its events are replayed.
#[test]
fn calls_of_a_replayed_run_have_their_tokens() {
    for is_loaded in [false, true] {
        let mut dash = demo_like((140, 40));
        dash.open_thread();
        let usage = json!({"input_tokens": 17, "output_tokens": 15, "total_tokens": 32});
        if is_loaded {
            let messages = json!([{"id": "lc_run--a", "type": "ai", "content": "Hello there", "usage_metadata": usage}]);
            dash.snapshot(vec![(
                SnapshotPart::State,
                json!({"values": {"messages": messages}}),
            )]);
        }
        let chunk = |text: &str, usage: Value| {
            let of = json!({"langgraph_node": "chat", "langgraph_step": 1, "run_id": "r"});
            json!([{"id": "lc_run--a", "type": "AIMessageChunk", "content": text, "usage_metadata": usage}, of])
                .to_string()
        };
        dash.items(vec![Item::Record(Record::Open {
            at: dash.now,
            conn: 1,
            status: 200,
            resumed_after: None,
        })]);
        dash.event("metadata", r#"{"run_id":"r"}"#);
        dash.event("messages", &chunk("Hello", Value::Null));
        dash.event("messages", &chunk(" there", usage));
        dash.keys("4");
        assert!(
            dash.screen().contains("17→15"),
            "{is_loaded}: {}",
            dash.screen()
        );
    }
}
