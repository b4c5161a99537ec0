//! Creates the past of the demo's agent servers. Past runs are real runs on a clock of their own, on which time passes instantly,
//! so states, histories, run records and event ids agree. A run that reaches the present continues there.

use super::stories::{Act, Story, stories};
use crate::agent::crons::create as create_cron;
use crate::agent::prelude::*;
use crate::agent::{edit, life};
use futures::future::join;

/// Modes for a person who watches.
const WATCHED: [&str; 5] = ["values", "updates", "messages-tuple", "custom", "tasks"];

/// Older runs publish no events, since no server would replay them. A crawl or a slow job may still be running.
const SILENT: f64 = 1800.0;

/// How long a run stays pending if all workers are busy.
const NO_WORKER: Duration = Duration::from_secs(6 * 3600);

/// Creates the assistants and the past.
pub async fn fill(agent: &Arc<Agent>, region: &str, deployment: &str) {
    let now = Timestamp::now();
    assistants(agent, region, deployment, now);
    if deployment == "support-bot" {
        crons(agent, region, now);
        items(agent, now);
    }
    for story in stories(region, deployment) {
        tell(agent, region, now, story).await;
    }
    agent.expire_feeds();
}

async fn tell(agent: &Arc<Agent>, region: &str, now: Timestamp, story: Story) {
    let created = before(now, story.acts.first().map_or(0.0, |(ago, _)| ago + 1.5));
    let id = uuid7(created);
    let metadata = json!({"owner": story.owner, "subject": story.subject, "region": region});
    let thread = Thread::new(id.clone(), created, object_of(&metadata));
    agent.memory().threads.insert(id.clone(), thread);
    let mut acts = story.acts.into_iter().peekable();
    while let Some((ago, act)) = acts.next() {
        let at = before(now, ago);
        let (graph, body, worker) = match act {
            Act::Run(body) => (story.graph, body, Duration::ZERO),
            Act::RunAs(graph, body) => (graph, body, Duration::ZERO),
            Act::Queue(body) => (story.graph, body, NO_WORKER),
            Act::Edit(body) => {
                let body = located(agent, &id, body);
                // The stories contain no invalid requests.
                let _ = agent.with_thread(&id, |thread| edit::edit(thread, &body, at));
                continue;
            }
            Act::Copy(subject) => {
                let copy = agent.copy_thread(&id, at).id;
                agent.with_thread(&copy, |copy| {
                    copy.metadata.insert("subject".into(), json!(subject))
                });
                continue;
            }
            Act::Cancel | Act::Delete => continue,
        };
        let stop = acts.next_if(|(_, next)| matches!(next, Act::Cancel | Act::Delete));
        let stop = stop.map(|(then, act)| (ago - then, act));
        let silent = ago > SILENT && !matches!(graph, Graph::Crawl | Graph::Slow);
        let clock = Clock::past(at, agent.speed, agent.ids.kind(), silent);
        let body = watched(graph, located(agent, &id, body));
        happen(agent, &id, &body, &clock, worker, stop).await;
    }
}

/// Replaces the number of a checkpoint, counted from the oldest one, by its id.
fn located(agent: &Agent, thread: &str, mut body: Value) -> Value {
    if let Some(number) = body["checkpoint_id"].as_u64() {
        let memory = agent.memory();
        let saved = memory.threads[thread].checkpoints.get(number as usize);
        body["checkpoint_id"] = json!(saved.map(|saved| &saved.id));
    }
    body
}

fn watched(graph: Graph, mut body: Value) -> Value {
    body["assistant_id"] = json!(graph.assistant());
    body["stream_mode"] = json!(WATCHED);
    body["stream_subgraphs"] = json!(true);
    body["stream_resumable"] = json!(body["stream_resumable"] != false);
    body
}

/// Runs a past run, and stops it after some seconds if requested.
async fn happen(
    agent: &Arc<Agent>,
    thread: &str,
    body: &Value,
    clock: &Arc<Clock>,
    worker: Duration,
    stop: Option<(f64, Act)>,
) {
    let prepared = life::prepare(agent, thread, body, false, clock, worker);
    let Ok((started, work)) = prepared else {
        return;
    };
    let run = started.run.id.clone();
    drop(started);
    let work = match stop {
        None => work,
        Some((seconds, act)) => {
            let (agent, clock, thread) = (agent.clone(), clock.clone(), thread.to_owned());
            let stop = async move {
                clock.sleep(Duration::from_secs_f64(seconds.max(0.0))).await;
                if matches!(act, Act::Delete) {
                    agent.delete_run(&thread, &run);
                } else {
                    let reason =
                        "interrupt requested via POST /threads/{thread_id}/runs/{run_id}/cancel";
                    agent.cancel(&thread, &run, false, reason, true);
                }
            };
            join(work, stop).map(|_| ()).boxed()
        }
    };
    if let Some(rest) = clock.catch_up(work).await {
        tokio::spawn(rest);
    }
}

/// Creates a thread with a long history: a crawl that ended some minutes ago.
pub async fn long_history(agent: &Arc<Agent>, checkpoints: usize) {
    const PACE: f64 = 30.0;
    // Besides two for each page there are four: the input, the plan, the first fetch and the end.
    let pages = checkpoints.saturating_sub(4).div_ceil(2).max(1);
    let body = json!({"input": {"pages": pages, "seconds": PACE}, "config": {"recursion_limit": 2 * pages + 100}});
    let ago = pages as f64 * PACE + 300.0;
    let acts = vec![(ago, Act::Run(body))];
    let story = Story {
        graph: Graph::Crawl,
        owner: "cron",
        subject: "long history",
        acts,
    };
    tell(agent, "local", Timestamp::now(), story).await;
}

/// Runs to its end, in the present.
pub async fn run(agent: &Arc<Agent>, thread: &str, graph: Graph, body: &Value) {
    let Ok(started) = life::start(agent, thread, &watched(graph, body.clone()), false) else {
        return;
    };
    let run = started.run.id.clone();
    drop(started);
    agent.ended(thread, &run).await;
}

/// Each server shows its own graphs, and an assistant that a user made from one of them.
fn assistants(agent: &Agent, region: &str, deployment: &str, now: Timestamp) {
    use Graph::{Agent, Counter, Failing, Firehose, Hitl, Release, Schema, Sync, Two};
    let hidden: &[Graph] = match region {
        "us" => &[Agent, Failing],
        _ => &[
            Agent, Failing, Firehose, Two, Hitl, Schema, Release, Counter, Sync,
        ],
    };
    let (name, graph, about, contexts) = if region == "us" && deployment != "research-desk" {
        let contexts = json!([{"tone": "neutral"}, {"tone": "friendly"}, {"tone": "formal"}]);
        (
            "support-formal",
            Graph::Support,
            "Speaks to companies",
            contexts,
        )
    } else {
        let contexts = json!([{"depth": 1}, {"depth": 2, "language": "en"}, {"depth": 3}]);
        (
            "research-deep",
            Graph::Research,
            "Reads more, takes longer",
            contexts,
        )
    };
    let days_ago = |days: f64| before(now, 3600.0 * 24.0 * days);
    let all = &mut agent.memory().assistants;
    all.retain(|assistant| !hidden.contains(&assistant.graph));
    for (n, assistant) in all.iter_mut().enumerate() {
        assistant.created_at = days_ago(40.0 - n as f64);
        assistant.updated_at = assistant.created_at;
    }
    let version = |(context, number): (&Value, u32)| Version {
        number,
        name: name.to_owned(),
        description: Some(about.to_owned()),
        config: json!({"configurable": context}),
        context: context.clone(),
        metadata: json!({"created_by": "lea", "team": "research"}),
        created_at: days_ago(8.0 - 2.0 * f64::from(number)),
    };
    let versions: Vec<Version> = items_of(&contexts).zip(1..).map(version).collect();
    let mut assistant = Assistant::new(stable_uuid(name), graph, versions[0].clone());
    versions[1..]
        .iter()
        .for_each(|one| assistant.add(one.clone()));
    all.push(assistant);
}

/// Crons of the demo: a daily one, a weekly one in a time zone, and a paused one.
fn crons(agent: &Arc<Agent>, region: &str, now: Timestamp) {
    let graph = if region == "us" {
        Graph::Support
    } else {
        Graph::Research
    };
    let question = json!({"messages": [{"role": "user", "content": "Summarize what happened since the last report."}]});
    for (days, body) in [
        (
            30.0,
            json!({"schedule": "0 6 * * *", "on_run_completed": "keep", "metadata": {"owner": "ops"}}),
        ),
        (
            12.0,
            json!({"schedule": "30 9 * * 1", "timezone": "Europe/Warsaw", "metadata": {"owner": "lea"}}),
        ),
        (
            3.0,
            json!({"schedule": "*/15 * * * *", "enabled": false, "metadata": {"owner": "load test"}}),
        ),
    ] {
        let mut body = body;
        body["assistant_id"] = json!(graph.assistant());
        body["input"] = question.clone();
        let created = before(now, days * 24.0 * 3600.0);
        // The schedules are valid.
        let _ = create_cron(agent, None, &body, created);
        if let Some(made) = agent.memory().crons.last_mut() {
            let _ = made.plan(now);
        }
    }
}

/// What the demo's graphs remember about their users.
fn items(agent: &Agent, now: Timestamp) {
    let item = |namespace: &[&str], key: &str, value: Value, hours: f64| StoreItem {
        namespace: namespace.iter().map(|label| (*label).to_owned()).collect(),
        key: key.to_owned(),
        value,
        created_at: before(now, hours * 3600.0),
        updated_at: before(now, hours * 1800.0),
    };
    agent.memory().items = vec![
        item(
            &["memories", "ana"],
            "language",
            json!({"text": "Prefers answers in Polish", "confidence": 0.92}),
            90.0,
        ),
        item(
            &["memories", "ana"],
            "orders",
            json!({"text": "Orders every month", "orders": [1042, 1067, 1101]}),
            30.0,
        ),
        item(
            &["memories", "bo"],
            "tone",
            json!({"text": "Wants short answers"}),
            12.0,
        ),
        item(
            &["policies"],
            "refunds",
            json!({"max_eur": 250, "needs_approval": true, "regions": ["EU", "UK"]}),
            400.0,
        ),
    ];
}
