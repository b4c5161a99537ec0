//! What happened on the demo's agent servers before anyone looked: threads of all ages and statuses. They are made by running
//! the graphs, so that their states and histories are true, and then moved back in time.

use crate::sim::agent::Agent;
use crate::sim::agent::graphs::Graph;
use crate::sim::agent::life;
use crate::sim::agent::state::{Assistant, Thread};
use crate::sim::ids::{before, stable_uuid, uuid7};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The modes that a person watching would want.
const WATCHED: [&str; 5] = ["values", "updates", "messages-tuple", "custom", "tasks"];

/// A thread of the past: graph, inputs of its runs, hours since the last one, and who it belongs to.
struct Story {
    graph: Graph,
    inputs: Vec<Value>,
    hours: f64,
    owner: &'static str,
    about: &'static str,
}

fn said(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}]})
}

fn stories(region: &str) -> Vec<Story> {
    let story = |graph, inputs: Vec<Value>, hours, owner, about| Story { graph, inputs, hours, owner, about };
    let mut stories = vec![
        story(
            Graph::Support,
            vec![said("Where is my order A-20931?"), said("And can I get a refund if it is late?")],
            0.3,
            "ana@acme.example",
            "late parcel",
        ),
        story(Graph::Support, vec![said("I cannot log in since I have a new phone")], 1.1, "marek", "sign-in"),
        story(Graph::Support, vec![said("Why was I charged twice in October?")], 2.6, "j.dupont", "billing"),
        story(Graph::Support, vec![said("営業時間は何時までですか？")], 4.0, "tanaka", "opening hours"),
        story(
            Graph::Support,
            vec![said("weather in Kraków?"), said("weather in Göteborg?")],
            7.5,
            "demo",
            "smoke test",
        ),
        story(Graph::Research, vec![json!({"topic": "heat pumps in old buildings"})], 3.2, "lea", "briefing"),
        story(Graph::Research, vec![json!({"topic": "tidal power in the Bay of Fundy"})], 26.0, "lea", "briefing"),
        story(
            Graph::Approval,
            vec![json!({"amount": 1250, "to": "Hoffmann & Söhne GmbH"})],
            0.6,
            "finance",
            "invoice 4471",
        ),
        story(
            Graph::Approval,
            vec![json!({"amount": 88.5, "to": "Stationery Direct"})],
            12.0,
            "finance",
            "invoice 4452",
        ),
        story(
            Graph::Broken,
            vec![json!({"error": "RateLimitError", "message": "429: quota of gpt-5 exceeded, retry in 20 s"})],
            1.9,
            "cron",
            "nightly sync",
        ),
        story(Graph::Slow, vec![json!({"seconds": 12})], 30.0, "cron", "re-index"),
    ];
    if region == "eu" {
        stories.truncate(9);
        let message = "column \"vat_id\" does not exist\nLINE 3: … WHERE vat_id = $1 — Spalte fehlt";
        stories.push(story(
            Graph::Broken,
            vec![json!({"error": "UndefinedColumn", "message": message})],
            5.5,
            "cron",
            "VAT report",
        ));
        stories.push(story(
            Graph::Support,
            vec![said("Kann ich die Rechnung als PDF bekommen?")],
            50.0,
            "h.weber",
            "invoice copy",
        ));
    }
    stories
}

/// Sets up the assistants and makes the past.
pub async fn fill(agent: &Arc<Agent>, region: &str) {
    let now = Timestamp::now();
    assistants(agent, region, now);
    agent.hurried.store(true, Relaxed);
    for story in stories(region) {
        let last = before(now, story.hours * 3600.0);
        let created = before(last, 240.0 * story.inputs.len() as f64);
        let id = uuid7(created);
        let metadata = json!({"owner": story.owner, "subject": story.about, "region": region});
        let thread = Thread::new(id.clone(), created, metadata.as_object().cloned().unwrap_or_default());
        agent.memory().threads.insert(id.clone(), thread);
        for input in &story.inputs {
            run(agent, &id, &json!({"assistant_id": story.graph.assistant(), "input": input})).await;
        }
        agent.with_thread(&id, |thread| age(thread, last));
    }
    agent.hurried.store(false, Relaxed);
}

/// Runs to the end.
pub async fn run(agent: &Arc<Agent>, thread: &str, body: &Value) {
    let mut body = body.clone();
    body["stream_mode"] = json!(WATCHED);
    body["stream_resumable"] = json!(true);
    body["stream_subgraphs"] = json!(true);
    let Ok(started) = life::start(agent, thread, &body, false) else { return };
    let run = started.run.id.clone();
    drop(started);
    agent
        .until(|memory| {
            let run = memory.threads.get(thread).and_then(|thread| thread.run(&run));
            run.is_none_or(|run| !run.is_active()).then_some(())
        })
        .await;
}

/// Moves all that a thread did so that it ended then, with minutes between its runs.
fn age(thread: &mut Thread, end: Timestamp) {
    let runs = thread.runs.len();
    for (n, run) in thread.runs.iter_mut().enumerate() {
        let at = before(end, 240.0 * (runs - 1 - n) as f64);
        run.created_at = before(at, 14.0);
        run.updated_at = at;
    }
    let checkpoints = thread.checkpoints.len();
    for (n, checkpoint) in thread.checkpoints.iter_mut().enumerate() {
        checkpoint.at = before(end, 1.7 * (checkpoints - 1 - n) as f64);
    }
    thread.updated_at = end;
    thread.state_updated_at = end;
}

/// Each server shows its own graphs, and an assistant that someone made from one of them.
fn assistants(agent: &Agent, region: &str, now: Timestamp) {
    let shown: &[Graph] = if region == "us" {
        &[Graph::Support, Graph::Research, Graph::Approval, Graph::Slow, Graph::Firehose, Graph::Broken]
    } else {
        &[Graph::Support, Graph::Research, Graph::Approval, Graph::Slow, Graph::Broken]
    };
    let (name, graph, about, config) = if region == "us" {
        ("support-formal", Graph::Support, "Speaks to companies", json!({"configurable": {"tone": "formal"}}))
    } else {
        ("research-deep", Graph::Research, "Reads more, takes longer", json!({"configurable": {"depth": 3}}))
    };
    let mut memory = agent.memory();
    memory.assistants.retain(|assistant| shown.contains(&assistant.graph));
    for (n, assistant) in memory.assistants.iter_mut().enumerate() {
        assistant.created_at = before(now, 3600.0 * 24.0 * (40.0 - n as f64));
    }
    memory.assistants.push(Assistant {
        id: stable_uuid(name),
        graph,
        name: name.to_owned(),
        description: Some(about.to_owned()),
        config,
        metadata: json!({"created_by": "lea", "team": "research"}),
        created_at: before(now, 3600.0 * 24.0 * 6.0),
        version: 3,
    });
}
