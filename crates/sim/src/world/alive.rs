//! Activity in the demo: repeated runs, and pushes that are built and deployed.

use super::demo::{first_pushed, revision_config, title};
use super::past::run;
use crate::agent::prelude::*;
use crate::control::ControlServer;
use crate::control::timetable::{Revision, ScheduledOutcome};

/// Maximum numbers of runs and of checkpoints of an active thread.
const RUNS: usize = 12;
const CHECKPOINTS: usize = 60;
/// Maximum length of a list in an active thread's state; older entries are dropped.
const LONGEST: usize = 14;

/// What happens on a thread repeatedly: the graph, the owner, the subject, the inputs, and the minimum of seconds between two runs;
/// the maximum is half as much again.
type Behavior = (
    Graph,
    &'static str,
    &'static str,
    &'static [&'static str],
    u64,
);

const CHAT: &[&str] = &[
    "Where is my order? It should be here by now.",
    "I was charged twice, can I get a refund?",
    "weather in 京都?",
    "I cannot log in since I have a new phone",
    "Do you ship to Åland?",
];
const MAIL: &[&str] = &["Please send me my invoice", "Opening hours?"];
const TOPICS: &[&str] = &[
    "storage for tidal power",
    "perovskite cells in winter",
    "Wärmepumpen im Altbau",
    "深海ケーブル",
];
const CLAUSES: &[&str] = &[
    "limitation of liability",
    "Kündigungsfrist",
    "governing law",
    "force majeure",
];

/// Returns what happens on the agent server of a deployment.
fn behaviors(deployment: &str) -> &'static [Behavior] {
    use Graph::{Approval, Research, Slow, Support};
    match deployment {
        "support-bot" => &[
            (Support, "web chat", "live chat", CHAT, 20),
            (Support, "e-mail", "inbox", MAIL, 30),
        ],
        "invoice-agent" => &[(
            Approval,
            "finance",
            "payments",
            &["480", "1250", "96.4"],
            10,
        )],
        "research-desk" => &[
            (Research, "lea", "daily briefing", TOPICS, 24),
            (Slow, "cron", "index refresh", &["12", "9", "16"], 4),
        ],
        "triage" => &[(Support, "zendesk", "new tickets", MAIL, 30)],
        "contract-review" => &[(Research, "legal", "clause check", CLAUSES, 18)],
        "kyc-checker" => &[(Approval, "compliance", "deposits", &["9500", "120"], 24)],
        "translation-hub" => &[(Slow, "cron", "glossary sync", &["14", "8"], 6)],
        _ => &[],
    }
}

/// Starts the repeated runs of the agent server of a deployment.
pub fn start(agent: &Arc<Agent>, region: &str, deployment: &str, stop: &CancellationToken) {
    for (n, &behavior) in behaviors(deployment).iter().enumerate() {
        let (_, owner, about, ..) = behavior;
        let id = uuid7(now());
        let metadata = json!({"owner": owner, "subject": about, "region": region, "live": true});
        let thread = Thread::new(id.clone(), now(), object_of(&metadata));
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

fn input(graph: Graph, text: &str) -> Value {
    let number = text.parse::<f64>().unwrap_or(1.0);
    match graph {
        Graph::Research => json!({"topic": text}),
        Graph::Approval => json!({"amount": number, "to": "Hoffmann & Söhne GmbH"}),
        Graph::Slow => json!({"seconds": number}),
        _ => json!({"messages": [{"role": "user", "content": text}]}),
    }
}

/// The runs of one thread, which pause while no client is present. They end when a client deletes the thread.
async fn live(
    agent: Arc<Agent>,
    thread: String,
    (graph, _, _, inputs, rest): Behavior,
    first: usize,
) {
    agent
        .pause(Duration::from_millis(300 + 900 * first as u64))
        .await;
    for turn in 0.. {
        agent.company().await;
        let Some(waiting) = agent.with_thread(&thread, |thread| {
            tidy(thread);
            let newest = thread.checkpoints.last();
            newest.is_some_and(|last| last.pending().next().is_some())
        }) else {
            return;
        };
        let body = if waiting {
            json!({"command": {"resume": {"ok": turn % 3 != 2, "by": "night shift"}}})
        } else {
            json!({"input": input(graph, inputs[(turn + first) % inputs.len()])})
        };
        run(&agent, &thread, graph, &body).await;
        let millis = rest * 1000 + fastrand::u64(0..rest * 500);
        agent.pause(Duration::from_millis(millis)).await;
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
    let sleep =
        |seconds: u64| tokio::time::sleep(Duration::from_secs(seconds).div_f64(plane.speed));
    sleep(first * 40).await;
    for turn in first.. {
        {
            let mut deployments = plane.deployments();
            let mut living = deployments
                .iter_mut()
                .filter(|one| one.deleted_at.is_none());
            let Some(deployment) = living.find(|one| one.name == name) else {
                return;
            };
            let now = now();
            let id = uuid7(now);
            let subject = first_pushed(name).filter(|_| turn == first);
            let fails = turn % 4 == 3;
            deployment.updated_at = now;
            deployment.revisions.push(Revision {
                created_at: now,
                source: deployment.source.clone(),
                config: object_of(&revision_config(name, &deployment.source, &id)),
                fate: if fails {
                    ScheduledOutcome::BuildFails
                } else {
                    ScheduledOutcome::Deployed
                },
                title: subject.unwrap_or_else(|| title(turn * 5 + rest)).to_owned(),
                id,
                ..Revision::default()
            });
            let surplus = deployment.revisions.len().saturating_sub(8);
            deployment.revisions.drain(..surplus);
        }
        sleep(rest + fastrand::u64(0..rest / 2)).await;
    }
}
