//! The deployments of the demo: two regions of a small company, with deployments in every state.

use crate::agent::prelude::*;
use crate::control::ControlServer;
use crate::control::integrations::integration;
use crate::control::timetable::{Deployment, Revision, ScheduledOutcome};
use ScheduledOutcome::{BuildFails, DeployFails, Deployed};
use Serves::{Custom, Invented, Nowhere};

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

/// How a deployment is made.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    pub name: &'a str,
    pub display: Option<&'a str>,
    pub source: &'a str,
    /// Where it serves: on a live agent server, at a made-up address, or nowhere yet.
    pub serves: Serves,
    pub kind: &'a str,
    pub status: Option<&'a str>,
    /// The number of its revisions, and which of them failed.
    pub history: (usize, &'a [(usize, ScheduledOutcome)]),
    /// The subjects of the commits of its newest revisions, oldest first.
    pub subjects: &'a [&'a str],
    /// Age of the newest one in hours.
    pub age: f64,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Serves {
    Live,
    Custom,
    Invented,
    Nowhere,
}

pub const PLAN: Plan<'static> = Plan {
    name: "",
    display: None,
    source: "github",
    serves: Serves::Live,
    kind: "prod",
    status: None,
    history: (4, &[]),
    subjects: &[],
    age: 30.0,
};

/// Declares plans, each with what differs from the usual.
macro_rules! plans {
    ($($name:literal $age:literal { $($field:ident: $value:expr),* })*) => {
        &[$(Plan { name: $name, age: $age, $($field: $value,)* ..PLAN },)*]
    };
}

const US: &[Plan<'static>] = plans! {
    "support-bot" 5.0 { history: (7, &[(2, BuildFails)]), subjects: &["shorter prompt", "log the run id"] }
    "invoice-agent" 1.2 {
        history: (6, &[(3, DeployFails), (5, BuildFails)]),
        subjects: &["first version", "new index", "read e-invoices", "move to pydantic 2", "sort by queue", "pin pydantic"]
    }
    "triage" 52.0 { display: Some("Ticket triage"), subjects: &["sort by queue"] }
    "research-desk" 76.0 { source: "external_docker", serves: Custom, kind: "" }
    "nightly-etl" 744.0 { serves: Nowhere, kind: "dev", status: Some("UNUSED"), subjects: &["weekly roll-up"] }
    "onboarding-flow" 0.0 { serves: Invented, kind: "dev", history: (1, &[]), subjects: &["first version"] }
    "pr-482-support-bot" 3.5 {
        serves: Nowhere, kind: "dev", history: (2, &[(1, DeployFails)]), subjects: &["first version", "try new prompt"]
    }
};
const EU: &[Plan<'static>] = plans! {
    "support-bot" 5.1 { history: (5, &[]), subjects: &["shorter prompt", "retry on 429"] }
    "contract-review" 20.0 {
        display: Some("Vertragsprüfung"), history: (8, &[(1, BuildFails), (2, BuildFails)]), subjects: &["clause index"]
    }
    "kyc-checker" 9.0 { source: "internal_source", serves: Custom, kind: "dev_zero" }
    "translation-hub" 6.0 { display: Some("翻訳ハブ"), subjects: &["用語集を更新", "glossary v2"] }
    "vendor-intake" 0.05 {
        serves: Nowhere, status: Some("AWAITING_DATABASE"), history: (1, &[]), subjects: &["first version"]
    }
    "legacy-faq" 1920.0 { serves: Invented, kind: "dev", status: Some("AWAITING_DELETE") }
};

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
    let (docker, archive) = (source == "external_docker", source == "internal_source");
    let github = !docker && !archive;
    json!({
        "repo_ref": github.then_some(reference), "langgraph_config_path": (!docker).then_some("langgraph.json"),
        "image_uri": docker.then(|| format!("ghcr.io/acme/{name}@sha256:{}", stable_hex(id, 64))),
        "source_tarball_path": archive.then(|| format!("uploads/{name}-{}.tar.gz", stable_hex(id, 12))),
        "repo_commit_sha": github.then(|| stable_hex(id, 40)),
    })
}

/// Fills a region. `servers` are the URLs of its agent servers, by deployment.
pub fn fill(plane: &ControlServer, servers: &BTreeMap<&str, &str>) {
    let plans = if plane.region == "us" { US } else { EU };
    let made = |plan: &Plan<'_>| deployment(plane, plan, servers.get(plan.name).copied());
    plane.deployments().extend(plans.iter().map(made));
}

/// Makes a deployment. `live` is the URL of its agent server.
pub fn deployment(plane: &ControlServer, plan: &Plan<'_>, live: Option<&str>) -> Deployment {
    let Plan { name, source, .. } = *plan;
    let id = stable_uuid(&format!("{} {name}", plane.region));
    let (count, failed) = plan.history;
    let mut created = before(now(), plan.age * 3600.0 + 2.0);
    let mut revisions = Vec::new();
    for n in (0..count).rev() {
        let id = stable_uuid(&format!("{id} revision {n}"));
        let dice = stable_number(&id);
        let forced = match (name, n + 1 == count) {
            ("vendor-intake", _) => Some("CREATING".to_owned()),
            ("kyc-checker", true) => Some("INTERRUPTED".to_owned()),
            _ => None,
        };
        let subject = (n + plan.subjects.len()).checked_sub(count);
        let subject = subject.and_then(|at| plan.subjects.get(at).copied());
        if n + 1 < count {
            // Revisions are some hours apart.
            created = before(created, (7 + dice % 90) as f64 * 3600.0);
        }
        revisions.push(Revision {
            created_at: created,
            source: source.to_owned(),
            config: object_of(&revision_config(name, source, &id)),
            fate: failed
                .iter()
                .find(|(at, _)| *at == n)
                .map_or(Deployed, |(_, fate)| *fate),
            forced,
            interrupted_at: None,
            title: subject.unwrap_or_else(|| title(dice / 7)).to_owned(),
            id,
        });
    }
    revisions.reverse();
    let invented = format!(
        "https://{name}-{}.{}.langgraph.app",
        stable_hex(&id, 32),
        plane.region
    );
    let (url, custom) = match plan.serves {
        Serves::Live => (live, live),
        Custom => (None, live),
        Invented => (Some(&*invented), None),
        Nowhere => (None, None),
    };
    let (github, docker) = (source == "github", source == "external_docker");
    let config = json!({
        "integration_id": github.then(|| integration("acme")),
        "repo_url": github.then(|| format!("https://github.com/acme/{}", name.trim_start_matches("pr-482-"))),
        "deployment_type": Some(plan.kind).filter(|kind| !kind.is_empty()),
        "build_on_push": github && name != "contract-review", "custom_url": custom,
        "resource_spec": (plan.kind == "prod").then(|| json!({"min_scale": 1, "max_scale": 4, "cpu": 1, "memory_mb": 2048})),
        "listener_id": docker.then(|| stable_uuid(&format!("{} k8s-prod", plane.name))),
        "listener_config": docker.then(|| json!({"k8s_namespace": "agents"})), "install_command": null,
        "build_command": null,
    });
    Deployment {
        name: name.to_owned(),
        display_name: plan.display.map(str::to_owned),
        source: source.to_owned(),
        config: object_of(&config),
        secrets: vec![
            json!({"name": "OPENAI_API_KEY", "value": format!("sk-proj-{}", stable_hex(&id, 32))}),
            json!({"name": "ZENDESK_TOKEN", "value": stable_hex(name, 24)}),
            json!({"name": "LOG_LEVEL", "value": "INFO"}),
        ],
        created_at: created,
        updated_at: created,
        fixed_status: plan.status.map(str::to_owned),
        url: url.map(str::to_owned),
        image_version: (plan.status != Some("AWAITING_DATABASE")).then(|| "0.16.7".to_owned()),
        preview: name.starts_with("pr-"),
        revisions,
        id,
        ..Deployment::default()
    }
}
