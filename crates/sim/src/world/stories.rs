//! The history of the demo's agent servers: threads of every age and status.

use crate::agent::prelude::*;
use Graph::*;

/// What a client did with a thread.
pub enum Act {
    /// Started a run with this body. A number as `checkpoint_id` counts checkpoints from the oldest one.
    Run(Value),
    /// Started a run of another graph's assistant.
    RunAs(Graph, Value),
    /// Started a run that no worker picks up, because all are busy.
    Queue(Value),
    /// Cancelled the run.
    Cancel,
    /// Deleted the run while it was running.
    Delete,
    /// Edited the state with this body.
    Edit(Value),
    /// Copied the thread; contains the subject of the copy.
    Copy(&'static str),
}

/// A past thread.
pub struct Story {
    pub graph: Graph,
    /// Its owner.
    pub owner: &'static str,
    /// Its subject, in its metadata.
    pub subject: &'static str,
    /// Client actions with their age in seconds, oldest first.
    pub acts: Vec<(f64, Act)>,
}

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;

fn said(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}]})
}

fn input(input: Value) -> Act {
    Act::Run(json!({"input": input}))
}

/// A crawl takes hours; the default recursion limit would end it within minutes.
fn crawl(pages: u32, seconds: f64) -> Value {
    json!({"input": {"pages": pages, "seconds": seconds}, "config": {"recursion_limit": 5000}})
}

/// A thread with runs a few minutes apart, the last of which started this many hours ago.
fn runs(
    graph: Graph,
    inputs: Vec<Value>,
    hours: f64,
    owner: &'static str,
    subject: &'static str,
) -> Story {
    let last = inputs.len() - 1;
    let acts = inputs.into_iter().enumerate();
    let acts = acts.map(|(n, value)| (hours * HOUR + 240.0 * (last - n) as f64, input(value)));
    story(graph, owner, subject, acts.collect())
}

fn story(graph: Graph, owner: &'static str, subject: &'static str, acts: Vec<(f64, Act)>) -> Story {
    Story {
        graph,
        owner,
        subject,
        acts,
    }
}

/// The threads of a deployment.
pub fn stories(region: &str, deployment: &str) -> Vec<Story> {
    let mut stories = everyday();
    if region == "eu" {
        stories.retain(|story| story.graph == Support);
        stories.extend(europe());
    } else {
        stories.extend(
            [active(), stuck(), waiting(), changed(), failed(), old()]
                .into_iter()
                .flatten(),
        );
    }
    stories.retain(|story| home(region, story) == deployment);
    stories
}

/// Returns the deployment that a thread belongs to.
fn home(region: &str, story: &Story) -> &'static str {
    match (region, story.graph, story.subject) {
        (_, Support, _) => "support-bot",
        ("eu", Clarify | Mailer, _) => "support-bot",
        ("eu", Approval | Broken, _) => "kyc-checker",
        ("eu", Research, _) => "contract-review",
        ("eu", ..) => "translation-hub",
        (_, Approval | Two, _) | (_, _, "October export" | "price import") => "invoice-agent",
        (_, Research | Crawl | Slow | Schema, _) => "research-desk",
        _ => "triage",
    }
}

fn everyday() -> Vec<Story> {
    vec![
        runs(
            Support,
            vec![
                said("Where is my order A-20931?"),
                said("And can I get a refund if it is late?"),
            ],
            0.3,
            "ana@acme.example",
            "late parcel",
        ),
        runs(
            Support,
            vec![said("I cannot log in since I have a new phone")],
            1.1,
            "marek",
            "sign-in",
        ),
        runs(
            Support,
            vec![said("Why was I charged twice in October?")],
            2.6,
            "j.dupont",
            "billing",
        ),
        runs(
            Support,
            vec![said("営業時間は何時までですか？")],
            4.0,
            "tanaka",
            "opening hours",
        ),
        runs(
            Research,
            vec![json!({"topic": "heat pumps in old buildings"})],
            3.2,
            "lea",
            "briefing",
        ),
        runs(
            Approval,
            vec![json!({"amount": 1250, "to": "Hoffmann & Söhne GmbH"})],
            0.6,
            "finance",
            "invoice 4471",
        ),
        runs(
            Approval,
            vec![json!({"amount": 88.5, "to": "Stationery Direct"})],
            12.0,
            "finance",
            "invoice 4452",
        ),
        runs(
            Broken,
            vec![
                json!({"error": "RateLimitError", "message": "429: quota of gpt-5 exceeded, retry in 20 s"}),
            ],
            1.9,
            "cron",
            "nightly sync",
        ),
    ]
}

/// Runs that are running, queued or stopped.
fn active() -> Vec<Story> {
    let mut import = crawl(400, 70.0);
    import["stream_resumable"] = json!(false);
    let mut again = crawl(400, 70.0);
    again["multitask_strategy"] = json!("enqueue");
    vec![
        story(
            Crawl,
            "cron",
            "docs crawl",
            vec![(38.0 * MINUTE, Act::Run(crawl(400, 50.0)))],
        ),
        story(
            Crawl,
            "cron",
            "price import",
            vec![
                (9.0 * MINUTE, Act::Run(import)),
                (2.2 * MINUTE, Act::Run(again)),
            ],
        ),
        story(
            Crawl,
            "marek",
            "supplier crawl",
            vec![
                (52.0 * MINUTE, Act::Run(crawl(90, 45.0))),
                (46.0 * MINUTE, Act::Cancel),
            ],
        ),
        story(
            Crawl,
            "marek",
            "orphaned import",
            vec![
                (20.0 * MINUTE, Act::Run(crawl(12, 50.0))),
                (13.0 * MINUTE, Act::Delete),
            ],
        ),
    ]
}

/// Runs that are active and do nothing. The third kind, a thread that is busy without a run, is "orphaned import" above.
fn stuck() -> Vec<Story> {
    let nap = |seconds: u32| json!({"input": {"seconds": seconds}});
    vec![
        story(
            Slow,
            "cron",
            "search index",
            vec![
                (25.6 * HOUR, Act::Run(nap(40))),
                (1.6 * HOUR, Act::Queue(nap(40))),
            ],
        ),
        story(
            Slow,
            "marek",
            "embeddings",
            vec![(52.0 * MINUTE, Act::Run(nap(9000)))],
        ),
    ]
}

/// Threads whose state was changed by hand, or by a run that should not have run there.
fn changed() -> Vec<Story> {
    let bill = |amount: f64, to: &str| input(json!({"amount": amount, "to": to}));
    let rerun = |number: u32| Act::Run(json!({"input": null, "checkpoint_id": number}));
    let polish = json!({"checkpoint_id": 8, "values": {"messages": [{"type": "human", "id": "in-polish",
        "content": "I was charged twice. Please answer in Polish."}]}});
    vec![
        story(
            Approval,
            "finance",
            "invoice 4470",
            vec![
                (1.9 * HOUR, bill(1300.0, "Alpenblick Hotel")),
                (1.7 * HOUR, Act::Edit(json!({"values": {"amount": 130}}))),
            ],
        ),
        story(
            Approval,
            "finance",
            "invoice 4475",
            vec![
                (2.3 * HOUR, bill(742.0, "Göteborg Logistics")),
                (
                    41.0 * MINUTE,
                    Act::RunAs(Support, json!({"command": {"resume": true}})),
                ),
            ],
        ),
        // Four runs with five checkpoints each; then the tools of the second one again, and its answer after an edit.
        story(
            Support,
            "ana@acme.example",
            "three attempts",
            vec![
                (3.4 * HOUR, input(said("Where is my order A-20931?"))),
                (
                    3.3 * HOUR,
                    input(said("I was charged twice for it, can I get a refund?")),
                ),
                (3.1 * HOUR, input(said("When do I get the money?"))),
                (2.9 * HOUR, input(said("And who pays for the return?"))),
                (2.6 * HOUR, rerun(7)),
                (
                    2.4 * HOUR,
                    input(said("Can you send the invoice to my company?")),
                ),
                (2.2 * HOUR, Act::Edit(polish)),
                (2.15 * HOUR, Act::Run(json!({"input": null}))),
            ],
        ),
    ]
}

/// Threads that wait for a person.
fn waiting() -> Vec<Story> {
    let clarify = said("Where is my order?");
    let export = said("Send Ana the October export and delete the old one");
    let release = json!({"input": {"version": "2.4.1"}, "interrupt_before": ["release"]});
    let wrong = json!({"command": {"resume": {"decisions": [{"type": "approve"}]}}});
    vec![
        story(
            Clarify,
            "web chat",
            "which order",
            vec![(14.0 * MINUTE, input(clarify))],
        ),
        story(
            Hitl,
            "ana@acme.example",
            "October export",
            vec![(25.0 * MINUTE, input(export.clone()))],
        ),
        story(
            Schema,
            "lea",
            "newsletter review",
            vec![(
                1.4 * HOUR,
                input(json!({"question": "May this newsletter go to 4,812 customers?"})),
            )],
        ),
        story(
            Two,
            "finance",
            "two checks",
            vec![(
                3.1 * HOUR,
                input(
                    json!({"left": "Is supplier 77 VAT-registered?", "right": "Is IBAN DE02 1203 … theirs?"}),
                ),
            )],
        ),
        story(
            Release,
            "ci",
            "release 2.4.1",
            vec![(33.0 * MINUTE, Act::Run(release))],
        ),
        story(
            Mailer,
            "lea",
            "delay notice",
            vec![(
                1.2 * HOUR,
                input(json!({"to": "h.weber@acme.example", "subject": "Your order is late"})),
            )],
        ),
        story(
            Approval,
            "finance",
            "invoice 4468",
            vec![
                (
                    5.2 * HOUR,
                    input(json!({"amount": 310, "to": "Kraków Print"})),
                ),
                (4.9 * HOUR, Act::Copy("invoice 4468, what if")),
            ],
        ),
        story(
            Hitl,
            "marek",
            "September export",
            vec![(6.5 * HOUR, input(export)), (6.2 * HOUR, Act::Run(wrong))],
        ),
    ]
}

fn failed() -> Vec<Story> {
    let sync =
        |timeout: u32| json!({"source": "https://erp.acme.example/stock", "timeout": timeout});
    vec![
        story(
            Sync,
            "cron",
            "warehouse sync",
            vec![
                (29.0 * HOUR, input(sync(30))),
                (5.0 * HOUR, input(sync(10))),
            ],
        ),
        story(
            Counter,
            "cron",
            "retry loop",
            vec![(8.3 * HOUR, input(json!({"n": 90, "pace_ms": 900})))],
        ),
    ]
}

fn old() -> Vec<Story> {
    let corrected = json!({"as_node": "chat", "values": {"messages": [{"type": "ai", "id": "corrected",
        "content": "Correction: on Saturdays we are here from 10 to 14 h. The first answer was wrong."}]}});
    vec![
        story(
            Support,
            "h.weber",
            "corrected answer",
            vec![
                (2.1 * HOUR, input(said("Are you open on Saturdays?"))),
                (1.8 * HOUR, Act::Edit(corrected)),
            ],
        ),
        story(
            Support,
            "ana@acme.example",
            "returns",
            vec![
                (26.2 * HOUR, input(said("How do I send the kettle back?"))),
                (25.5 * HOUR, input(said("The label does not print"))),
                (
                    24.4 * HOUR,
                    input(said("It worked now. When do I get my money back?")),
                ),
            ],
        ),
        // 208 seconds for each of three nodes: ten minutes and 25 seconds, with the wait for a worker.
        story(
            Release,
            "ci",
            "release 2.4.0",
            vec![(
                4.4 * HOUR,
                input(json!({"version": "2.4.0", "seconds": 208.2})),
            )],
        ),
    ]
}

fn europe() -> Vec<Story> {
    let message = "column \"vat_id\" does not exist\nLINE 3: … WHERE vat_id = $1 — Spalte fehlt";
    let topic = |text: &str| vec![json!({"topic": text})];
    let deposit = |amount: u32, from: &str| vec![json!({"amount": amount, "to": from})];
    vec![
        runs(
            Research,
            topic("limitation of liability, Hoffmann & Söhne"),
            2.1,
            "legal",
            "Hoffmann & Söhne",
        ),
        runs(
            Approval,
            deposit(12_000, "Baltic Timber OÜ"),
            3.3,
            "compliance",
            "deposit 882",
        ),
        runs(
            Approval,
            deposit(640, "Stationery Direct"),
            14.0,
            "compliance",
            "deposit 871",
        ),
        runs(
            Slow,
            vec![json!({"seconds": 12})],
            4.2,
            "cron",
            "glossary export",
        ),
        runs(
            Broken,
            vec![json!({"error": "UndefinedColumn", "message": message})],
            5.5,
            "cron",
            "VAT report",
        ),
        story(
            Crawl,
            "cron",
            "Katalog",
            vec![(17.0 * MINUTE, Act::Run(crawl(300, 40.0)))],
        ),
        story(
            Clarify,
            "web chat",
            "Rückfrage",
            vec![(47.0 * MINUTE, input(said("Wo ist meine Bestellung?")))],
        ),
        story(
            Mailer,
            "h.weber",
            "Versandmail",
            vec![(
                9.0 * MINUTE,
                input(
                    json!({"to": "j.dupont@acme.example", "subject": "Ihre Bestellung A-20944",
                    "body": "Guten Tag,\n\nIhre Bestellung ist unterwegs.\n\nFreundliche Grüße"}),
                ),
            )],
        ),
    ]
}
