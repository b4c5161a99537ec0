//! Many deployments in one region, for long lists.

use crate::control::ControlServer;
use crate::control::integrations::integration;
use crate::control::timetable::{Deployment, Revision, ScheduledOutcome};
use crate::ids::{before, stable_hex, stable_number, stable_uuid};
use crate::values::object_of;
use jiff::Timestamp;
use serde_json::json;

const FIRST: [&str; 12] = [
    "amber", "brisk", "cedar", "delta", "ember", "fjord", "grove", "harbor", "iris", "juniper",
    "kelp", "lumen",
];
const SECOND: [&str; 10] = [
    "agent", "triage", "support", "etl", "search", "router", "planner", "review", "ingest",
    "notify",
];

/// Adds this many deployments, always the same ones.
pub fn fill(plane: &ControlServer, agent: Option<&str>, count: usize) {
    let now = Timestamp::now();
    let mut deployments = plane.deployments();
    for n in 0..count {
        let name = format!(
            "{}-{}-{n:04}",
            FIRST[n % FIRST.len()],
            SECOND[n / FIRST.len() % SECOND.len()]
        );
        let dice = stable_number(&name);
        let revisions = (0..1 + dice % 5).map(|k| {
            let id = stable_uuid(&format!("{name} revision {k}"));
            let age = 3600.0 * (1.0 + (5 - k) as f64 * 30.0 + (dice % 700) as f64);
            let config = json!({
                "repo_ref": "main", "langgraph_config_path": "langgraph.json", "image_uri": null,
                "source_tarball_path": null, "repo_commit_sha": stable_hex(&id, 40),
            });
            Revision {
                created_at: before(now, age),
                source: "github".into(),
                config: object_of(&config),
                fate: if (dice / 7 + k).is_multiple_of(11) {
                    ScheduledOutcome::BuildFails
                } else {
                    ScheduledOutcome::Deployed
                },
                forced: None,
                interrupted_at: None,
                title: format!("Change number {k}"),
                id,
            }
        });
        let revisions: Vec<Revision> = revisions.collect();
        let created = revisions.first().map_or(now, |first| first.created_at);
        let config = json!({
            "integration_id": integration("acme"), "repo_url": format!("https://github.com/acme/{name}"),
            "deployment_type": if n % 3 == 0 { "prod" } else { "dev" }, "build_on_push": n % 2 == 0,
            "custom_url": null, "resource_spec": null, "listener_id": null, "listener_config": null,
            "install_command": null, "build_command": null,
        });
        deployments.push(Deployment {
            id: stable_uuid(&name),
            source: "github".into(),
            config: object_of(&config),
            secrets: vec![
                json!({"name": "OPENAI_API_KEY", "value": format!("sk-{}", stable_hex(&name, 32))}),
            ],
            created_at: created,
            updated_at: created,
            fixed_status: (n % 17 == 16).then(|| "UNUSED".into()),
            url: agent.map(str::to_owned),
            image_version: Some("0.16.7".into()),
            revisions,
            name,
            ..Deployment::default()
        });
    }
}
