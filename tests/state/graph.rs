//! The Graph view: loading, folding, what ran, breakpoints.

use ratatui::style::Color;
use runtail_api::Kind;
use runtail_core::graph::Graph;
use runtail_stream::{Outcome, SnapshotPart};
use runtail_testkit::dash::{Dash, demo_server, demo_thread, listing};
use runtail_testkit::says::Says;

use runtail_tui::features::stream::views::View;
use runtail_tui::session::msg::{
    Chunk, Described, Effect, EffectResult, FileStep, SubscriptionEvent, SubscriptionId,
    SubscriptionKind,
};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

fn is_graph(key: &SubscriptionId) -> bool {
    matches!(key, SubscriptionId::Graph(_))
}

fn description() -> Value {
    let nodes = [
        "__start__",
        "plan",
        "search",
        "sub:read",
        "sub:check",
        "write",
        "__end__",
    ];
    let edges = [
        ("__start__", "plan", false),
        ("plan", "search", true),
        ("plan", "sub:read", true),
        ("sub:read", "sub:check", false),
        ("search", "plan", false),
        ("sub:check", "write", false),
        ("write", "__end__", false),
    ];
    let nodes: Vec<Value> = nodes.iter().map(|id| json!({"id": id})).collect();
    let edge = |(source, target, is): &(&str, &str, bool)| json!({"source": source, "target": target, "conditional": is});
    let edges: Vec<Value> = edges.iter().map(edge).collect();
    json!({"nodes": nodes, "edges": edges})
}

/// Opens a thread of an assistant.
pub(crate) fn thread(size: (u16, u16)) -> Dash {
    let mut dash = demo_thread(size);
    let record = json!({"thread_id": "t", "status": "busy", "metadata": {"assistant_id": "a-1", "graph_id": "desk"}});
    dash.snapshot(vec![(SnapshotPart::Thread, record)]);
    dash.keys("f");
    dash
}

fn task(dash: &mut Dash, name: &str, id: &str, ends: bool) {
    let rest = if ends {
        json!({"error": null, "result": {}, "interrupts": []})
    } else {
        json!({"input": {}, "triggers": []})
    };
    let mut data = json!({"id": id, "name": name.split('|').next()});
    data.as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    let event = name
        .split_once('|')
        .map_or("tasks".to_string(), |(_, ns)| format!("tasks|{ns}"));
    dash.receive(format!("event: {event}\ndata: {data}\n\n").into_bytes());
}

/// A run that looped once, and now runs a node in a subgraph.
pub(crate) fn run(dash: &mut Dash) {
    dash.event("metadata", r#"{"run_id":"r","attempt":1}"#);
    for (n, name) in ["plan", "search", "plan"].into_iter().enumerate() {
        task(dash, name, &format!("t{n}"), false);
        dash.pass(2);
        task(dash, name, &format!("t{n}"), true);
    }
    task(dash, "sub", "s", false);
    task(dash, "read|sub:s", "x", false);
    dash.pass(3);
}

pub(crate) fn load(dash: &mut Dash) {
    dash.answer(
        is_graph,
        SubscriptionEvent::Graph(Ok(Arc::new(Graph::read(&description())))),
    );
}

fn footer_line(dash: &mut Dash, from_end: usize) -> String {
    dash.screen()
        .lines()
        .rev()
        .nth(from_end)
        .unwrap_or_default()
        .to_string()
}

#[test]
fn graph_shows_what_ran_beside_the_messages() {
    let mut dash = thread((140, 30));
    // It is requested with the page, because it gives the nodes their colors in all views.
    assert!(dash.wants(is_graph));
    dash.keys("5");
    dash.shows("Loading the graph…");
    let wanted = dash.wanted(is_graph);
    assert!(matches!(wanted.what, SubscriptionKind::Graph(_, assistant) if assistant == "a-1"));
    load(&mut dash);
    run(&mut dash);
    insta::assert_snapshot!("graph_140x30", dash.screen());
    dash.keys("|");
    insta::assert_snapshot!("graph_split_140x30", dash.screen());
    crate::pictures::assert_pictures(&mut dash, "graph");
    dash.resize(80, 24);
    dash.keys("|||||");
    insta::assert_snapshot!("graph_80x24", dash.screen());
    dash.resize(80, 12);
    // The line of a search takes one of the eight rows.
    dash.keys("/nothing<Enter>");
    dash.shows("START ► search ► plan ×2 ► ◐ sub:read");
    // Once per assistant.
    assert!(!dash.wants(is_graph));
    dash.keys("r");
    dash.screen();
    assert!(dash.wants(is_graph), "r loads it again");
}

#[test]
fn nodes_have_the_colors_of_the_graph_before_its_view_is_opened() {
    let mut dash = thread((140, 30));
    run(&mut dash);
    load(&mut dash);
    // The colors of its name, wherever it has one.
    let colors = |dash: &mut Dash| {
        let buffer = dash.buffer();
        let of_row = |y: u16| {
            let line: String = (0..buffer.area.width)
                .map(|x| buffer[(x, y)].symbol())
                .collect();
            let found = line
                .match_indices("search")
                .map(|(at, _)| line[..at].chars().count() as u16);
            found
                .map(|x| buffer[(x, y)].fg)
                .filter(|color| *color != Color::Reset)
                .collect::<Vec<_>>()
        };
        (3..buffer.area.height - 1)
            .flat_map(of_row)
            .collect::<HashSet<Color>>()
    };
    dash.keys("4");
    let in_timeline = colors(&mut dash);
    dash.keys("5");
    assert_eq!(in_timeline, colors(&mut dash));
    assert_eq!(in_timeline.len(), 1, "{in_timeline:?}");
}

#[test]
fn servers_without_graphs_are_asked_once_until_the_view_is_opened() {
    let mut dash = thread((140, 30));
    let lacking = dash.error("prod-eu", runtail_api::Kind::NotFound);
    dash.answer(is_graph, SubscriptionEvent::Graph(Err(lacking)));
    let is_requested = |dash: &Dash| dash.wants(is_graph);
    dash.keys("<Esc><Down><Enter>");
    let record = json!({"thread_id": "u", "status": "idle", "metadata": {"assistant_id": "a-2", "graph_id": "other"}});
    dash.snapshot(vec![(SnapshotPart::Thread, record)]);
    dash.relayout();
    assert!(!is_requested(&dash));
    dash.keys("5");
    dash.relayout();
    assert!(is_requested(&dash));
}

#[test]
fn groups_fold_and_the_cursor_follows_the_running_node() {
    let mut dash = thread((120, 30));
    dash.keys("5");
    load(&mut dash);
    run(&mut dash);
    footer_line(&mut dash, 1).has("sub:read: from plan · to sub:check");
    dash.shows("▌");
    dash.keys("<Left>");
    dash.shows("▸ sub (2)");
    dash.lacks("sub:read");
    dash.keys("<Right>");
    dash.shows("sub:check");
    dash.keys("c");
    // It runs.
    dash.shows("sub:read");
    dash.keys("[[");
    footer_line(&mut dash, 1).has("plan: from START, search");
    dash.keys("<Enter>");
    assert!(dash.view() == View::Messages && dash.position().is_some());
    dash.keys("5G");
    footer_line(&mut dash, 1).has("sub:read:");
}

#[test]
fn observed_steps_replace_a_graph_that_cannot_be_loaded() {
    let mut dash = thread((120, 24));
    dash.keys("5");
    let error = dash.error("prod-us", Kind::Status(500));
    dash.answer(is_graph, SubscriptionEvent::Graph(Err(error)));
    dash.shows("Couldn't load the graph: 500. No steps yet.");
    run(&mut dash);
    dash.shows("Couldn't load the graph: 500. Showing observed steps.");
    dash.shows(["observed", "► plan", "▸ sub"]);
}

#[test]
fn breakpoints_are_passed_to_the_composer() {
    let mut dash = thread((140, 40));
    dash.keys("5");
    load(&mut dash);
    dash.keys("g<Down><Space>");
    dash.shows("►‖plan");
    dash.keys("<Down><Space><Space>");
    dash.shows("search‖");
    dash.keys("<Down><Space>");
    dash.shows("Only nodes of the main graph stop a run");
    dash.keys("n");
    dash.shows(["break before [ plan", "break after  [ search"]);
}

#[test]
fn a_finished_run_has_no_running_node() {
    let mut dash = thread((120, 24));
    dash.keys("5");
    load(&mut dash);
    run(&mut dash);
    dash.shows("◐ now");
    dash.end(Outcome::Cancelled);
    dash.lacks("◐ now");
}

fn runs(dash: &mut Dash, before: Value) {
    let run = |id: &str, kwargs: Value, at: &str| {
        json!({"run_id": id, "thread_id": "t", "assistant_id": "a-1", "status": "success", "created_at": at,
            "updated_at": at, "kwargs": kwargs})
    };
    let runs = [
        run(
            "r2",
            json!({"interrupt_before": before, "interrupt_after": null}),
            "2026-11-21T13:10:00Z",
        ),
        run(
            "r1",
            json!({"interrupt_after": ["write"]}),
            "2026-11-21T13:00:00Z",
        ),
    ];
    dash.snapshot(vec![(SnapshotPart::Runs, json!(runs))]);
}

#[test]
fn breakpoints_of_the_run_and_of_the_graph_are_shown() {
    let mut dash = thread((140, 30));
    dash.keys("5");
    let mut described = description();
    for (node, stops) in [(1, "before,after"), (2, "before")] {
        described["nodes"][node]["metadata"] = json!({"__interrupt": stops});
    }
    dash.answer(
        is_graph,
        SubscriptionEvent::Graph(Ok(Arc::new(Graph::read(&described)))),
    );
    dash.keys("g<Down>");
    dash.shows(["►¦plan¦", "►¦search"]);
    footer_line(&mut dash, 1).has("plan: the graph stops before and after it · from");
    // The newest run has breakpoints of its own before nodes, which replace those of the graph.
    runs(&mut dash, json!(["search", "sub"]));
    dash.shows(["► plan¦", "►¦search"]);
    let line = footer_line(&mut dash, 1);
    line.has("the graph stops after it · run 2 replaces the breakpoint of the graph before it");
    dash.keys("<Down>");
    footer_line(&mut dash, 1).has("search: run 2 stops before it · run 2 replaces");
    // An older run's breakpoints are over.
    dash.lacks("write¦");
    // Those of the next run have a mark of their own.
    dash.keys("<Space>");
    dash.shows("►‖search");
    let line = footer_line(&mut dash, 1);
    line.has("the next run stops before it · run 2 stops before it");
    // The node of a subgraph says where the run stops before the subgraph.
    dash.keys("<Down>");
    footer_line(&mut dash, 1).has("sub:read: run 2 stops before sub · from");
    runs(&mut dash, json!("*"));
    dash.shows(["►¦write", "►¦plan", "►¦sub:read"]);
    dash.lacks("¦sub:check");
    dash.lacks(["¦START", "¦END"]);
}

#[test]
fn a_folded_subgraph_shows_the_breakpoints_in_it() {
    let mut dash = thread((140, 30));
    dash.keys("5");
    let mut described = description();
    described["nodes"][4]["metadata"] = json!({"__interrupt": "before,after"});
    dash.answer(
        is_graph,
        SubscriptionEvent::Graph(Ok(Arc::new(Graph::read(&described)))),
    );
    dash.keys("g<Down><Down><Down>");
    dash.shows(["►¦sub:check¦", "► sub:read"]);
    dash.keys("<Left>");
    dash.shows("►¦▸ sub (2)¦");
    footer_line(&mut dash, 1).has("sub: the graph stops before and after check · from");
    // A breakpoint before the subgraph is marked at its first node, too.
    dash.keys("<Space>");
    dash.shows("►‖▸ sub (2)");
    dash.keys("<Right>");
    dash.shows(["►‖sub:read", "►¦sub:check¦"]);
}

#[test]
fn a_record_without_breakpoints_shows_none() {
    let mut dash = thread((140, 30));
    dash.keys("5");
    load(&mut dash);
    // Aegra's records have no kwargs.
    let run = json!({"run_id": "r", "thread_id": "t", "assistant_id": "a-1", "status": "success", "created_at": "2026-11-21T13:00:00Z"});
    dash.snapshot(vec![(SnapshotPart::Runs, json!([run]))]);
    assert!(!dash.screen().contains('¦'));
    runs(&mut dash, json!(null));
    assert!(!dash.screen().contains('¦'));
}

#[test]
fn a_search_finds_nodes_in_folded_groups() {
    let mut dash = thread((140, 30));
    dash.keys("5");
    load(&mut dash);
    run(&mut dash);
    dash.keys("c-");
    dash.shows("▸ sub (2)");
    // While typing, the cursor goes to the group, and nothing is unfolded.
    dash.keys("g/re");
    dash.shows(["/re  1 hit", "▸ sub (2)"]);
    footer_line(&mut dash, 1).has("sub: found in it: sub:read");
    dash.keys("<Enter>]");
    dash.shows(["/re  1 of 1", "► sub:read"]);
    footer_line(&mut dash, 1).has("sub:read: from plan");
    // Esc clears the search; then ] goes to visited nodes again.
    dash.keys("<Esc>[");
    dash.lacks("/re");
    footer_line(&mut dash, 1).has("search: from plan");
    // Hits are visited around the ends, in the order of the rows.
    dash.keys("/s<Enter>");
    let hits: Vec<String> = (0..5)
        .map(|_| {
            dash.keys("]");
            footer_line(&mut dash, 1)
                .trim()
                .split(':')
                .next()
                .unwrap()
                .to_string()
        })
        .collect();
    assert_eq!(hits, ["sub", "sub", "START", "search", "sub"]);
    dash.keys("[[");
    footer_line(&mut dash, 1).has("START: to plan");
    // Esc while typing restores the cursor.
    dash.keys("/write<Esc>");
    footer_line(&mut dash, 1).has("START: to plan");
    dash.keys("<Esc>/nothing<Enter>]");
    dash.shows(["no hits in this view", "No node matches"]);
}

fn server(size: (u16, u16)) -> Dash {
    let mut dash = demo_server(size);
    dash.keys("2");
    dash
}

fn described() -> Graph {
    let mut described = description();
    described["nodes"][5]["metadata"] = json!({"__interrupt": "before"});
    Graph::read(&described)
}

#[test]
fn the_graph_of_an_assistant_is_a_page() {
    let mut dash = server((140, 24));
    dash.keys("5");
    let wanted = dash.wanted(is_graph);
    assert!(
        matches!(wanted.what, SubscriptionKind::Graph(_, id) if id == "fe096781-5601-53d2-b2f6-0d3403f7e9ca")
    );
    dash.shows("Loading the graph…");
    dash.answer(
        is_graph,
        SubscriptionEvent::Graph(Ok(Arc::new(described()))),
    );
    assert!(!dash.wants(is_graph));
    dash.keys("<Down><Down>");
    insta::assert_snapshot!("graph_page_140x24", dash.screen());
    dash.resize(80, 24);
    dash.keys("/che<Enter>]");
    insta::assert_snapshot!("graph_page_80x24", dash.screen());
    // Folding, and the text that is copied.
    dash.keys("<Esc><Left>");
    dash.shows("▸ sub (2)");
    let Some(Effect::Copy(text)) = dash.keys("y").pop() else {
        panic!()
    };
    assert!(
        text.starts_with("graph of agent\n")
            && text.contains("►¦write")
            && !text.contains("VISITS"),
        "{text}"
    );
    // The description is one key away, and the graph is loaded again.
    let effects = dash.keys("d");
    assert!(
        matches!(effects.as_slice(), [Effect::Describe(Described::Graph(..))]),
        "{effects:?}"
    );
    dash.keys("r");
    assert!(dash.wants(is_graph));
    let error = dash.error("prod-us", Kind::Server(502));
    dash.answer(is_graph, SubscriptionEvent::Graph(Err(error)));
    dash.shows("Couldn't reload the graph: 502.");
    // It is kept for the next time.
    dash.keys("<Esc>5");
    dash.shows("►¦write");
}

#[test]
fn a_graph_page_says_why_it_has_no_graph() {
    for (result, words) in [
        (
            Err(Kind::NotFound),
            "This server doesn't describe the graph of agent",
        ),
        (
            Err(Kind::Server(501)),
            "This server doesn't describe the graph of agent",
        ),
        (
            Err(Kind::Server(500)),
            "Couldn't load the graph of agent: 500.",
        ),
        (Ok(Graph::default()), "The graph of agent has no nodes."),
    ] {
        let mut dash = server((80, 24));
        dash.keys("5");
        let result = result
            .map(Arc::new)
            .map_err(|kind| dash.error("prod-us", kind));
        dash.answer(is_graph, SubscriptionEvent::Graph(result));
        dash.shows(words);
        // Nothing is observed here.
        dash.lacks("observed steps.");
        dash.keys("y");
        dash.keys("]");
        dash.shows("Search for a node first");
    }
}

#[test]
fn the_graph_command_takes_the_thread_an_assistant_or_a_name() {
    // A name, an id or a graph of the open server.
    for (name, id) in [
        ("deep research", "0d3403f7"),
        ("agent", "fe096781"),
        ("research", "0d3403f7"),
    ] {
        let mut dash = server((120, 30));
        dash.keys("1");
        dash.keys(&format!(":graph {name}<Enter>"));
        let wanted = dash.wanted(is_graph);
        assert!(
            matches!(wanted.what, SubscriptionKind::Graph(_, known) if known.starts_with(id)),
            "{name}"
        );
    }
    // A whole name is not completed to a longer one, and equal names are shown with their ids.
    let mut dash = server((120, 30));
    let of = dash.server();
    let assistants = json!([
        {"assistant_id": "a-1", "graph_id": "desk", "name": "agent-deep"},
        {"assistant_id": "a-2", "graph_id": "desk", "name": "agent"},
        {"assistant_id": "a-3", "graph_id": "desk", "name": "twin"},
        {"assistant_id": "a-4", "graph_id": "desk", "name": "twin"},
    ]);
    dash.done(EffectResult::Assistants(
        of,
        Ok(listing(serde_json::from_value(assistants).unwrap())),
    ));
    dash.keys(":graph agent<Enter>");
    let wanted = dash.wanted(is_graph);
    assert!(matches!(wanted.what, SubscriptionKind::Graph(_, id) if id == "a-2"));
    dash.keys("<Esc>:graph twin");
    dash.shows(["a-3", "a-4"]);
    dash.keys("<Esc>");
    // The selected assistant.
    let mut dash = server((120, 30));
    dash.keys("<Down>:graph<Enter>");
    dash.shows("Graph · deep research");
    // Not a thread of a list.
    let mut dash = server((120, 30));
    dash.keys("1:graph<Enter>");
    dash.shows("graph ASSISTANT: the argument is missing.");
    dash.keys(":graph nonsense<Enter>");
    dash.shows("nonsense");
    assert!(!dash.wants(is_graph));
    // The shown thread.
    let mut dash = thread((120, 30));
    dash.keys(":graph<Enter>");
    assert!(dash.view() == View::Graph);
}

#[test]
fn a_graph_page_is_saved() {
    let mut dash = server((120, 30));
    dash.keys("5");
    dash.keys(":export svg early.svg<Enter>");
    dash.shows("No graph is loaded");
    dash.answer(
        is_graph,
        SubscriptionEvent::Graph(Ok(Arc::new(described()))),
    );
    dash.keys("s");
    dash.shows("export text runtail-graph-agent-");
    dash.keys("<Esc>");
    for (how, expected) in [
        ("svg g.svg", "<svg"),
        ("mermaid", "flowchart TD"),
        ("g.txt", "graph of agent\n"),
        ("md g.md", "flowchart TD"),
    ] {
        let effects = dash.keys(&format!(":export {how}<Enter>"));
        let Some(Effect::File(number, FileStep::Save(path, chunks))) =
            effects.into_iter().next_back()
        else {
            panic!("{how}")
        };
        let text = match &chunks[0] {
            Chunk::Text(text) => text.clone(),
            Chunk::Code(_, text) => text.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(text.starts_with(expected), "{how}: {text}");
        dash.done(EffectResult::FileStepped(number, Ok(1234)));
        let saved = format!("Saved the graph, 1.2 kB, to {}", path.display());
        dash.shows(&saved);
    }
    dash.keys(":export jsonl x.jsonl<Enter>");
    dash.shows("text, md, svg or mermaid");
}
