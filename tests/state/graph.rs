//! The Graph view: loading, folding, what ran, breakpoints.

use runtail_api::Kind;
use runtail_core::graph::Graph;
use runtail_stream::{Outcome, SnapshotPart};
use runtail_testkit::dash::{Dash, demo_like};
use runtail_tui::app::subscriptions;
use runtail_tui::features::stream::viewer::View;
use runtail_tui::session::msg::{SubscriptionEvent, SubscriptionId, SubscriptionKind};
use serde_json::{Value, json};
use std::sync::Arc;

fn is_graph(key: &SubscriptionId) -> bool {
    matches!(key, SubscriptionId::Graph(_))
}

fn description() -> Value {
    let nodes = ["__start__", "plan", "search", "sub:read", "sub:check", "write", "__end__"];
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
    let edge =
        |(source, target, is): &(&str, &str, bool)| json!({"source": source, "target": target, "conditional": is});
    let edges: Vec<Value> = edges.iter().map(edge).collect();
    json!({"nodes": nodes, "edges": edges})
}

/// Opens a thread of an assistant.
pub(crate) fn thread(size: (u16, u16)) -> Dash {
    let mut dash = demo_like(size);
    dash.open_thread();
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
    data.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    let event = name.split_once('|').map_or("tasks".to_string(), |(_, ns)| format!("tasks|{ns}"));
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
    dash.answer(is_graph, SubscriptionEvent::Graph(Ok(Arc::new(Graph::read(&description())))));
}

fn footer_line(dash: &mut Dash, from_end: usize) -> String {
    dash.screen().lines().rev().nth(from_end).unwrap_or_default().to_string()
}

#[test]
fn graph_shows_what_ran_beside_the_messages() {
    let mut dash = thread((140, 30));
    assert!(!subscriptions(&dash.app).iter().any(|sub| is_graph(&sub.key)), "only the Graph view needs it");
    dash.keys("9");
    assert!(dash.screen().contains("Loading the graph…"), "{}", dash.screen());
    let wanted = subscriptions(&dash.app).into_iter().find(|sub| is_graph(&sub.key)).expect("a request");
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
    assert!(dash.screen().contains("START ► search ► plan ×2 ► ◐ sub:read"), "{}", dash.screen());
    // Once per assistant.
    assert!(!subscriptions(&dash.app).iter().any(|sub| is_graph(&sub.key)));
    dash.keys("r");
    dash.screen();
    assert!(subscriptions(&dash.app).iter().any(|sub| is_graph(&sub.key)), "r loads it again");
}

#[test]
fn groups_fold_and_the_cursor_follows_the_running_node() {
    let mut dash = thread((120, 30));
    dash.keys("9");
    load(&mut dash);
    run(&mut dash);
    assert!(dash.screen().contains("▌") && footer_line(&mut dash, 1).contains("sub:read: from plan · to sub:check"));
    dash.keys("<Left>");
    assert!(dash.screen().contains("▸ sub (2)") && !dash.screen().contains("sub:read"), "{}", dash.screen());
    dash.keys("<Right>");
    assert!(dash.screen().contains("sub:check"), "{}", dash.screen());
    dash.keys("c");
    assert!(dash.screen().contains("sub:read"), "it runs: {}", dash.screen());
    dash.keys("[[");
    assert!(footer_line(&mut dash, 1).contains("plan: from START, search"), "{}", dash.screen());
    dash.keys("<Enter>");
    let viewer = dash.app.viewer().unwrap();
    assert!(viewer.view() == View::Messages && viewer.anchor().is_some());
    dash.keys("9G");
    assert!(footer_line(&mut dash, 1).contains("sub:read:"), "{}", dash.screen());
}

#[test]
fn observed_steps_replace_a_graph_that_cannot_be_loaded() {
    let mut dash = thread((120, 24));
    dash.keys("9");
    let error = dash.error("prod-us", Kind::Status(500));
    dash.answer(is_graph, SubscriptionEvent::Graph(Err(error)));
    assert!(dash.screen().contains("Couldn't load the graph: 500. No steps yet."), "{}", dash.screen());
    run(&mut dash);
    let screen = dash.screen();
    assert!(screen.contains("Couldn't load the graph: 500. Showing observed steps."), "{screen}");
    assert!(screen.contains("observed") && screen.contains("► plan") && screen.contains("▸ sub"), "{screen}");
}

#[test]
fn breakpoints_are_passed_to_the_composer() {
    let mut dash = thread((140, 40));
    dash.keys("9");
    load(&mut dash);
    dash.keys("g<Down><Space>");
    assert!(dash.screen().contains("►‖plan"), "{}", dash.screen());
    dash.keys("<Down><Space><Space>");
    assert!(dash.screen().contains("search‖"), "{}", dash.screen());
    dash.keys("<Down><Space>");
    assert!(dash.screen().contains("Breakpoints stop at the nodes of the main graph"), "{}", dash.screen());
    dash.keys("n");
    let screen = dash.screen();
    assert!(screen.contains("break before [ plan") && screen.contains("break after  [ search"), "{screen}");
}

#[test]
fn a_finished_run_has_no_running_node() {
    let mut dash = thread((120, 24));
    dash.keys("9");
    load(&mut dash);
    run(&mut dash);
    assert!(dash.screen().contains("◐ now"), "{}", dash.screen());
    dash.end(Outcome::Cancelled);
    assert!(!dash.screen().contains("◐ now"), "{}", dash.screen());
}
