//! Activity in the demo: repeated runs, and pushes that are built and deployed.

use super::demo::{first_pushed, revision_config, title};
use super::past::run;
use crate::agent::Agent;
use crate::agent::graphs::Graph;
use crate::agent::state::Thread;
use crate::control::ControlServer;
use crate::control::timetable::{Revision, ScheduledOutcome};
use crate::ids::uuid7;
use crate::values::object_of;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum numbers of runs and of checkpoints of an active thread.
const RUNS: usize = 12;
const CHECKPOINTS: usize = 60;
/// Maximum length of a list in an active thread's state; older entries are dropped.
const LONGEST: usize = 14;

/// Something that happens on a thread repeatedly.
#[derive(Clone, Copy)]
struct Behavior {
    graph: Graph,
    owner: &'static str,
    about: &'static str,
    inputs: &'static [&'static str],
    /// Minimum seconds between two runs; the maximum is half as much again.
    rest: u64,
}

const CHAT: Behavior = Behavior {
    graph: Graph::Support,
    owner: "web chat",
    about: "live chat",
    inputs: &[
        "Where is my order? It should be here by now.",
        "I was charged twice, can I get a refund?",
        "weather in 京都?",
        "I cannot log in since I have a new phone",
        "Do you ship to Åland?",
    ],
    rest: 20,
};

const MAIL: Behavior = Behavior {
    graph: Graph::Support,
    owner: "e-mail",
    about: "inbox",
    inputs: &["Please send me my invoice", "Opening hours?"],
    rest: 30,
};

/// Returns what happens on the agent server of a deployment.
fn behaviors(deployment: &str) -> Vec<Behavior> {
    let one = |graph, owner, about, inputs, rest| Behavior {
        graph,
        owner,
        about,
        inputs,
        rest,
    };
    match deployment {
        "support-bot" => vec![CHAT, MAIL],
        "invoice-agent" => vec![one(
            Graph::Approval,
            "finance",
            "payments",
            &["480", "1250", "96.4"],
            10,
        )],
        "research-desk" => vec![
            one(
                Graph::Research,
                "lea",
                "daily briefing",
                &[
                    "storage for tidal power",
                    "perovskite cells in winter",
                    "Wärmepumpen im Altbau",
                    "深海ケーブル",
                ],
                24,
            ),
            one(Graph::Slow, "cron", "index refresh", &["12", "9", "16"], 4),
        ],
        "triage" => vec![Behavior {
            about: "new tickets",
            owner: "zendesk",
            ..MAIL
        }],
        "contract-review" => vec![one(
            Graph::Research,
            "legal",
            "clause check",
            &[
                "limitation of liability",
                "Kündigungsfrist",
                "governing law",
                "force majeure",
            ],
            18,
        )],
        "kyc-checker" => vec![one(
            Graph::Approval,
            "compliance",
            "deposits",
            &["9500", "120"],
            24,
        )],
        "translation-hub" => vec![one(Graph::Slow, "cron", "glossary sync", &["14", "8"], 6)],
        _ => Vec::new(),
    }
}

/// Starts the repeated runs of the agent server of a deployment.
pub fn start(agent: &Arc<Agent>, region: &str, deployment: &str, stop: &CancellationToken) {
    for (n, behavior) in behaviors(deployment).into_iter().enumerate() {
        let id = uuid7(Timestamp::now());
        let metadata = json!({"owner": behavior.owner, "subject": behavior.about, "region": region, "live": true});
        let thread = Thread::new(id.clone(), Timestamp::now(), object_of(&metadata));
        agent.memory().threads.insert(id.clone(), thread);
        spawn(stop, live(agent.clone(), id, behavior, n));
    }
}

/// Starts the repeated pushes to a region's deployments.
pub fn push(plane: &Arc<ControlServer>, stop: &CancellationToken) {
    let pushed: &[(&'static str, u64)] = if plane.region == "us" {
        &[("support-bot", 95), ("triage", 210)]
    } else {
        &[("translation-hub", 130)]
    };
    for (n, (name, rest)) in pushed.iter().enumerate() {
        spawn(stop, push_to(plane.clone(), name, *rest, n as u64));
    }
}

fn spawn(stop: &CancellationToken, work: impl Future<Output = ()> + Send + 'static) {
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = work => {}
            () = stop.cancelled() => {}
        }
    });
}

fn input(behavior: Behavior, turn: usize) -> Value {
    let text = behavior.inputs[turn % behavior.inputs.len()];
    match behavior.graph {
        Graph::Research => json!({"topic": text}),
        Graph::Approval => {
            json!({"amount": text.parse::<f64>().unwrap_or(1.0), "to": "Hoffmann & Söhne GmbH"})
        }
        Graph::Slow => json!({"seconds": text.parse::<f64>().unwrap_or(12.0)}),
        _ => json!({"messages": [{"role": "user", "content": text}]}),
    }
}

/// The runs of one thread, which pause while no client is present. They end when a client deletes the thread.
async fn live(agent: Arc<Agent>, thread: String, behavior: Behavior, first: usize) {
    agent
        .pause(Duration::from_millis(300 + 900 * first as u64))
        .await;
    for turn in 0.. {
        agent.company().await;
        let Some(waiting) = agent.with_thread(&thread, |thread| {
            tidy(thread);
            thread
                .checkpoints
                .last()
                .is_some_and(|last| last.pending().next().is_some())
        }) else {
            return;
        };
        let body = if waiting {
            json!({"command": {"resume": {"ok": turn % 3 != 2, "by": "night shift"}}})
        } else {
            json!({"input": input(behavior, turn + first)})
        };
        run(&agent, &thread, behavior.graph, &body).await;
        let rest = Duration::from_secs(behavior.rest)
            + Duration::from_millis(fastrand::u64(0..behavior.rest * 500));
        agent.pause(rest).await;
    }
}

/// Keeps a thread small, even if it runs for days.
fn tidy(thread: &mut Thread) {
    thread.runs.drain(..thread.runs.len().saturating_sub(RUNS));
    thread
        .checkpoints
        .drain(..thread.checkpoints.len().saturating_sub(CHECKPOINTS));
    let Some(last) = thread
        .checkpoints
        .last_mut()
        .filter(|last| last.tasks.is_empty())
    else {
        return;
    };
    for (_, value) in &mut last.values {
        if let Some(list) = value.as_array_mut().filter(|list| list.len() > LONGEST) {
            list.drain(..list.len() - 4);
        }
    }
}

/// Pushes to a deployment's branch: once at the start, and again some time after each push was deployed.
async fn push_to(plane: Arc<ControlServer>, name: &'static str, rest: u64, first: u64) {
    let sleep = |seconds: u64| {
        tokio::time::sleep(Duration::from_secs(seconds).div_f64(plane.speed.max(1e-6)))
    };
    sleep(first * 40).await;
    for turn in first.. {
        {
            let mut deployments = plane.deployments();
            let Some(deployment) = deployments
                .iter_mut()
                .find(|one| one.name == name && one.deleted_at.is_none())
            else {
                return;
            };
            let now = Timestamp::now();
            let id = uuid7(now);
            let config = revision_config(name, &deployment.source, &id);
            let made = Revision {
                created_at: now,
                source: deployment.source.clone(),
                config: object_of(&config),
                fate: if turn % 4 == 3 {
                    ScheduledOutcome::BuildFails
                } else {
                    ScheduledOutcome::Deployed
                },
                forced: None,
                interrupted_at: None,
                title: first_pushed(name)
                    .filter(|_| turn == first)
                    .unwrap_or_else(|| title(turn * 5 + rest))
                    .to_owned(),
                id,
            };
            deployment.updated_at = now;
            deployment.revisions.push(made);
            let surplus = deployment.revisions.len().saturating_sub(8);
            deployment.revisions.drain(..surplus);
        }
        sleep(rest + fastrand::u64(0..rest / 2)).await;
    }
}
