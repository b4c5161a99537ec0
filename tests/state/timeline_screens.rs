//! The timeline as it is seen: bars over an axis, live and ended, folded, at each size and without colour.

use jiff::{SignedDuration, Timestamp};
use runtail_stream::{Data, Event, EventNames, Item, Outcome, Record, Seq};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::session::msg::Msg;
use serde_json::{Value, json};

/// A thread whose events are told by hand, each some milliseconds after the one before.
struct Told {
    dash: Dash,
    at: Timestamp,
    seq: Seq,
}

impl Told {
    fn new(size: (u16, u16)) -> Told {
        let mut dash = demo_like(size);
        dash.open_thread();
        let at = dash.app.session.now;
        dash.items(vec![Item::Record(Record::Open { at, conn: 1, status: 200, resumed_after: None })]);
        dash.keys("4");
        Told { dash, at, seq: Seq::START }
    }

    fn tell(&mut self, after: i64, name: &str, data: Value) {
        self.seq = self.seq.next();
        self.at += SignedDuration::from_millis(after);
        self.dash.later(after);
        let (name, ns) = EventNames::default().split(name);
        let data = Data::Json(data.to_string().into());
        let event = Event { seq: self.seq, at: self.at, conn: 1, replayed: false, name, ns, id: None, data };
        self.dash.items(vec![Item::Record(Record::Event(event))]);
    }

    fn start(&mut self, after: i64, ns: &str, id: &str, node: &str) {
        self.tell(after, &format!("tasks{ns}"), json!({"id": id, "name": node, "input": {}, "triggers": []}));
    }

    fn done(&mut self, after: i64, ns: &str, id: &str, node: &str) {
        self.tell(after, &format!("tasks{ns}"), json!({"id": id, "name": node, "result": {}, "interrupts": []}));
    }

    fn run(&mut self, after: i64, attempt: u64) {
        self.tell(after, "metadata", json!({"run_id": "01a1fbb5-1743-72b0-bac9-4236eccc573a", "attempt": attempt}));
    }

    /// A run with parallel branches, a subgraph, a model and a tool, a gap, and a node that still runs.
    fn story(&mut self) {
        self.run(0, 1);
        self.start(20, "", "a", "plan");
        self.done(600, "", "a", "plan");
        self.start(5, "", "b", "search");
        self.start(1, "", "c", "research");
        let sub = "|research:c";
        self.start(30, sub, "d", "fetch");
        let origin = json!({"langgraph_node": "fetch", "langgraph_checkpoint_ns": "research:c|fetch:d", "ls_model_name": "gpt-5"});
        let piece = |more: Value| {
            let mut piece = json!({"id": "run-m", "type": "AIMessageChunk", "content": "x"});
            piece.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!([piece, origin])
        };
        self.tell(40, "messages|research:c", piece(json!({})));
        self.tell(
            300,
            "messages|research:c",
            piece(json!({"tool_call_chunks": [{"id": "c1", "name": "get_weather"}]})),
        );
        self.tell(100, "messages|research:c", piece(json!({"chunk_position": "last"})));
        let result = json!([{"type": "tool", "tool_call_id": "c1", "content": "21 °C"}, origin]);
        self.tell(382, "messages|research:c", result);
        self.done(10, sub, "d", "fetch");
        self.start(5, sub, "e", "rank");
        self.done(60, "", "b", "search");
        self.done(200, sub, "e", "rank");
        self.done(5, "", "c", "research");
        self.start(1200, "", "f", "join");
        self.tell(400, "custom", json!("on the way"));
    }
}

#[test]
fn a_run_at_work() {
    let mut told = Told::new((140, 40));
    told.dash.keys("f");
    told.story();
    insta::assert_snapshot!("timeline_live_140x40", told.dash.screen());
    // It grows while nothing comes.
    told.dash.later(900);
    told.dash.feed(Msg::Tick);
    assert!(told.dash.screen().contains("◐ running 1.3s"), "{}", told.dash.screen());
    told.dash.end(Outcome::Success);
    insta::assert_snapshot!("timeline_ended_140x40", told.dash.screen());
    told.dash.resize(80, 24);
    insta::assert_snapshot!("timeline_80x24", told.dash.screen());
    told.dash.ascii = true;
    let screen = told.dash.screen();
    assert!(screen.is_ascii());
    insta::assert_snapshot!("timeline_ascii_80x24", screen);
    told.dash.resize(20, 5);
    told.dash.screen();
}

#[test]
fn it_reads_without_colour() {
    let mut told = Told::new((100, 30));
    told.dash.keys("f");
    told.run(0, 1);
    told.start(100, "", "a", "plan");
    told.run(3400, 2);
    told.start(50, "", "b", "plan");
    let failed = json!({"id": "b", "name": "plan", "error": {"error": "ValueError", "message": "boom: no such city"}, "result": {}});
    told.tell(700, "tasks", failed);
    told.tell(1, "error", json!({"error": "ValueError", "message": "boom: no such city"}));
    told.dash.color = false;
    let plain = told.dash.buffer().content.iter().all(|cell| cell.fg == ratatui::style::Color::Reset);
    assert!(plain, "a colour where there should be none");
    insta::assert_snapshot!("timeline_attempts_100x30", told.dash.screen());
}

#[test]
fn subgraphs_are_folded() {
    let mut told = Told::new((120, 30));
    told.dash.keys("f");
    told.story();
    // From the last bar up to the subgraph.
    told.dash.keys("<Home><Down><Down><Down><Down><Down>");
    assert!(
        told.dash.body().lines().any(|line| line.contains('▌') && line.contains("research")),
        "{}",
        told.dash.screen()
    );
    told.dash.keys("<Left>");
    insta::assert_snapshot!("timeline_folded_120x30", told.dash.screen());
    // What comes inside stays folded, and the cursor stays where it is.
    told.start(100, "", "g", "more");
    assert!(
        told.dash.body().lines().any(|line| line.contains('▌') && line.contains("research ▸ 4")),
        "{}",
        told.dash.screen()
    );
    told.dash.keys("<Right><Down><Down>");
    assert!(
        told.dash.body().lines().any(|line| line.contains('▌') && line.contains("model gpt-5")),
        "{}",
        told.dash.screen()
    );
    told.dash.keys("<Left>");
    assert!(
        told.dash.body().lines().any(|line| line.contains('▌') && line.contains("fetch")),
        "{}",
        told.dash.screen()
    );
}

#[test]
fn the_cursor_is_that_of_all_views() {
    let mut told = Told::new((120, 30));
    told.dash.keys("f");
    told.story();
    told.dash.keys("<Home><Down><Down><Down><Down>");
    let at = told.dash.app.viewer().unwrap().anchor().unwrap();
    assert!(
        told.dash.body().lines().any(|line| line.contains('▌') && line.contains("search")),
        "{}",
        told.dash.screen()
    );
    told.dash.keys("7");
    assert_eq!(told.dash.app.viewer().unwrap().event_under_cursor().map(|event| event.seq), Some(at));
    // Its end leads to the same bar, a token to the model that said it.
    for (down, name) in [(9, "search"), (0, "join")] {
        told.dash.keys("7<Home>");
        let seq = if down > 0 { 13 } else { 16 };
        told.dash.keys(&"<Down>".repeat(seq - 1));
        told.dash.keys("4");
        assert!(
            told.dash.body().lines().any(|line| line.contains('▌') && line.contains(name)),
            "{}",
            told.dash.screen()
        );
    }
    told.dash.keys("<Enter>");
    assert!(told.dash.screen().contains("event 16 · tasks"), "{}", told.dash.screen());
}

#[test]
fn from_captures() {
    for (capture, name) in
        [("agent-updates", "updates"), ("fanout-many-subgraphs", "fanout"), ("v2-events-agent", "v2")]
    {
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
fn it_is_searched_and_filtered_while_it_grows() {
    let mut told = Told::new((120, 30));
    told.dash.keys("f");
    told.story();
    told.dash.keys("/rank<Enter>");
    let at_rank = |dash: &mut Dash| dash.body().lines().any(|line| line.contains('▌') && line.contains("rank"));
    assert!(at_rank(&mut told.dash), "{}", told.dash.screen());
    // Bars that come above have other numbers than before.
    told.start(10, "|research:c", "h", "above");
    told.start(10, "", "i", "below");
    told.dash.screen();
    told.dash.keys("]");
    assert!(at_rank(&mut told.dash), "{}", told.dash.screen());
    told.dash.keys("<Esc>&node:search<Enter>");
    let body = told.dash.body();
    assert!(body.contains("search") && !body.contains("plan"), "{body}");
    assert!(body.contains("source: tasks") && body.contains("0s"), "what the bars are is still said: {body}");
}

#[test]
fn a_filter_comes_to_its_end_while_bars_are_added() {
    let mut told = Told::new((120, 30));
    told.run(0, 1);
    // More than one turn looks at.
    (0..9_000).for_each(|n| told.start(0, "", &format!("t{n}"), "node"));
    told.dash.screen();
    told.dash.keys("&node:node<Enter>");
    for n in 0..6 {
        told.start(1, "", &format!("u{n}"), "other");
        told.dash.screen();
    }
    let finding = told.dash.app.viewer().unwrap();
    assert!(!finding.finding().is_scanning(), "it begins anew with each bar: {:?}", finding.hidden());
    assert_eq!(finding.hidden().map(|(hidden, ..)| hidden), Some(6));
}
