//! The deployments of the demo: two regions of a small company, with deployments in every state.

use crate::control::ControlServer;
use crate::control::integrations::integration;
use crate::control::timetable::{Deployment, Revision, ScheduledOutcome};
use crate::ids::{before, stable_hex, stable_number, stable_uuid};
use crate::values::object_of;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The deployments with an agent server: their regions and names. Each has its own threads.
pub const HOSTS: [(&str, &str); 8] = [
    ("us", "support-bot"),
    ("eu", "support-bot"),
    ("us", "invoice-agent"),
    ("us", "research-desk"),
    ("us", "triage"),
    ("eu", "contract-review"),
    ("eu", "kyc-checker"),
    ("eu", "translation-hub"),
];

/// An entry of the table below.
struct Plan {
    name: &'static str,
    display: Option<&'static str>,
    source: &'static str,
    /// Where it serves: on a live agent server, at a made-up address, or nowhere yet.
    serves: Serves,
    kind: &'static str,
    status: Option<&'static str>,
    /// The final statuses of its revisions, oldest first.
    history: &'static [ScheduledOutcome],
    /// The subjects of the commits of its newest revisions, oldest first.
    subjects: &'static [&'static str],
    /// Age of the newest one in hours.
    age: f64,
    preview: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Serves {
    Live,
    Custom,
    Invented,
    Nowhere,
}

use ScheduledOutcome::{BuildFails, DeployFails, Deployed};

const PLAN: Plan = Plan {
    name: "",
    display: None,
    source: "github",
    serves: Serves::Live,
    kind: "prod",
    status: None,
    history: &[Deployed, Deployed, Deployed, Deployed],
    subjects: &[],
    age: 30.0,
    preview: false,
};

/// The deployments of a region.
fn plans(region: &str) -> Vec<Plan> {
    if region == "us" {
        vec![
            Plan {
                name: "support-bot",
                history: &[
                    Deployed, Deployed, BuildFails, Deployed, Deployed, Deployed, Deployed,
                ],
                subjects: &["shorter prompt", "log the run id"],
                age: 5.0,
                ..PLAN
            },
            Plan {
                name: "invoice-agent",
                history: &[
                    Deployed,
                    Deployed,
                    Deployed,
                    DeployFails,
                    Deployed,
                    BuildFails,
                ],
                subjects: &[
                    "first version",
                    "new index",
                    "read e-invoices",
                    "move to pydantic 2",
                    "sort by queue",
                    "pin pydantic",
                ],
                age: 1.2,
                ..PLAN
            },
            Plan {
                name: "triage",
                display: Some("Ticket triage"),
                subjects: &["sort by queue"],
                age: 52.0,
                ..PLAN
            },
            Plan {
                name: "research-desk",
                source: "external_docker",
                serves: Serves::Custom,
                kind: "",
                age: 76.0,
                ..PLAN
            },
            Plan {
                name: "nightly-etl",
                serves: Serves::Nowhere,
                kind: "dev",
                status: Some("UNUSED"),
                subjects: &["weekly roll-up"],
                age: 24.0 * 31.0,
                ..PLAN
            },
            Plan {
                name: "onboarding-flow",
                serves: Serves::Invented,
                kind: "dev",
                history: &[Deployed],
                subjects: &["first version"],
                age: 0.0,
                ..PLAN
            },
            Plan {
                name: "pr-482-support-bot",
                serves: Serves::Nowhere,
                kind: "dev",
                history: &[Deployed, DeployFails],
                subjects: &["first version", "try new prompt"],
                age: 3.5,
                preview: true,
                ..PLAN
            },
        ]
    } else {
        vec![
            Plan {
                name: "support-bot",
                history: &[Deployed, Deployed, Deployed, Deployed, Deployed],
                subjects: &["shorter prompt", "retry on 429"],
                age: 5.1,
                ..PLAN
            },
            Plan {
                name: "contract-review",
                display: Some("Vertragsprüfung"),
                history: &[
                    Deployed, BuildFails, BuildFails, Deployed, Deployed, Deployed, Deployed,
                    Deployed,
                ],
                subjects: &["clause index"],
                age: 20.0,
                ..PLAN
            },
            Plan {
                name: "kyc-checker",
                source: "internal_source",
                serves: Serves::Custom,
                kind: "dev_zero",
                age: 9.0,
                ..PLAN
            },
            Plan {
                name: "translation-hub",
                display: Some("翻訳ハブ"),
                subjects: &["用語集を更新", "glossary v2"],
                age: 6.0,
                ..PLAN
            },
            Plan {
                name: "vendor-intake",
                serves: Serves::Nowhere,
                status: Some("AWAITING_DATABASE"),
                history: &[Deployed],
                subjects: &["first version"],
                age: 0.05,
                ..PLAN
            },
            Plan {
                name: "legacy-faq",
                serves: Serves::Invented,
                kind: "dev",
                status: Some("AWAITING_DELETE"),
                age: 24.0 * 80.0,
                ..PLAN
            },
        ]
    }
}

/// Subject lines of commits, for revisions that were pushed.
const TITLES: [&str; 12] = [
    "Retry the order look-up once before giving up",
    "Answer in the customer's language",
    "Shorter system prompt, same evals",
    "Fix: refunds above 500 € ask a person",
    "Bump langgraph to 1.2",
    "Stream the tool's progress",
    "Use the new knowledge base index",
    "返品ポリシーを更新",
    "Do not repeat the greeting",
    "Cache embeddings for a day",
    "Revert \"Cache embeddings for a day\"",
    "Log the run id with every error",
];

/// The subject line of the first commit that is pushed to a deployment during the demo.
pub fn first_pushed(name: &str) -> Option<&'static str> {
    match name {
        "support-bot" => Some("retry on 429"),
        "triage" => Some("two queues"),
        "translation-hub" => Some("glossary v3"),
        _ => None,
    }
}

/// The subject line of commit number `n`.
pub fn title(n: u64) -> &'static str {
    TITLES[(n % TITLES.len() as u64) as usize]
}

/// The source of a deployment's revision.
pub fn revision_config(name: &str, source: &str, id: &str) -> Value {
    let reference = match name {
        name if name.starts_with("pr-") => "fix/refund-rounding",
        "contract-review" => "refs/tags/v2.4.0",
        "nightly-etl" => "develop",
        _ => "main",
    };
    match source {
        "external_docker" => json!({
            "repo_ref": null, "langgraph_config_path": null,
            "image_uri": format!("ghcr.io/acme/{name}@sha256:{}", stable_hex(id, 64)),
            "source_tarball_path": null, "repo_commit_sha": null,
        }),
        "internal_source" => json!({
            "repo_ref": null, "langgraph_config_path": "langgraph.json", "image_uri": null,
            "source_tarball_path": format!("uploads/{name}-{}.tar.gz", stable_hex(id, 12)), "repo_commit_sha": null,
        }),
        _ => json!({
            "repo_ref": reference, "langgraph_config_path": "langgraph.json", "image_uri": null,
            "source_tarball_path": null, "repo_commit_sha": stable_hex(id, 40),
        }),
    }
}

/// Fills a region. `servers` are the URLs of its agent servers, by deployment.
pub fn fill(plane: &ControlServer, servers: &BTreeMap<&str, &str>) {
    let now = Timestamp::now();
    let mut deployments = plane.deployments();
    for plan in plans(&plane.region) {
        let id = stable_uuid(&format!("{} {}", plane.region, plan.name));
        let count = plan.history.len();
        let revision_id = |n: usize| stable_uuid(&format!("{id} revision {n}"));
        // Revisions are some hours apart.
        let gap = |n: usize| 7.0 + (stable_number(&revision_id(n)) % 90) as f64;
        let revisions: Vec<Revision> = plan
            .history
            .iter()
            .enumerate()
            .map(|(n, fate)| {
                let id = revision_id(n);
                let dice = stable_number(&id);
                let hours = plan.age + (n..count - 1).map(gap).sum::<f64>();
                let config = revision_config(plan.name, plan.source, &id);
                let forced = match (plan.name, n + 1 == count) {
                    ("vendor-intake", _) => Some("CREATING".to_owned()),
                    ("kyc-checker", true) => Some("INTERRUPTED".to_owned()),
                    _ => None,
                };
                Revision {
                    created_at: before(now, hours * 3600.0 + 2.0),
                    source: plan.source.to_owned(),
                    config: object_of(&config),
                    fate: *fate,
                    forced,
                    interrupted_at: None,
                    title: (n + plan.subjects.len())
                        .checked_sub(count)
                        .and_then(|at| plan.subjects.get(at).copied())
                        .unwrap_or_else(|| title(dice / 7))
                        .to_owned(),
                    id,
                }
            })
            .collect();
        let invented = format!(
            "https://{}-{}.{}.langgraph.app",
            plan.name,
            stable_hex(&id, 32),
            plane.region
        );
        let live = servers.get(plan.name);
        let (url, custom) = match plan.serves {
            Serves::Live => (json!(live), json!(live)),
            Serves::Custom => (Value::Null, json!(live)),
            Serves::Invented => (json!(invented), Value::Null),
            Serves::Nowhere => (Value::Null, Value::Null),
        };
        let github = plan.source == "github";
        let config = json!({
            "integration_id": github.then(|| integration("acme")),
            "repo_url": github.then(|| format!("https://github.com/acme/{}", plan.name.trim_start_matches("pr-482-"))),
            "deployment_type": (!plan.kind.is_empty()).then_some(plan.kind),
            "build_on_push": github && plan.name != "contract-review", "custom_url": custom,
            "resource_spec": (plan.kind == "prod").then(|| json!({"min_scale": 1, "max_scale": 4, "cpu": 1, "memory_mb": 2048})),
            "listener_id": (plan.source == "external_docker").then(|| stable_uuid(&format!("{} k8s-prod", plane.name))),
            "listener_config": (plan.source == "external_docker").then(|| json!({"k8s_namespace": "agents"})),
            "install_command": null, "build_command": null,
        });
        let created = revisions.first().map_or(now, |first| first.created_at);
        deployments.push(Deployment {
            name: plan.name.to_owned(),
            display_name: plan.display.map(str::to_owned),
            source: plan.source.to_owned(),
            config: object_of(&config),
            secrets: vec![
                json!({"name": "OPENAI_API_KEY", "value": format!("sk-proj-{}", stable_hex(&id, 32))}),
                json!({"name": "ZENDESK_TOKEN", "value": stable_hex(plan.name, 24)}),
                json!({"name": "LOG_LEVEL", "value": "INFO"}),
            ],
            created_at: created,
            updated_at: created,
            fixed_status: plan.status.map(str::to_owned),
            url: url.as_str().map(str::to_owned),
            image_version: (plan.status != Some("AWAITING_DATABASE")).then(|| "0.16.7".to_owned()),
            preview: plan.preview,
            revisions,
            id,
            ..Deployment::default()
        });
    }
}
