//! Many deployments in one region, for long lists.

use super::demo::{PLAN, Plan, deployment};
use crate::agent::prelude::*;
use crate::control::ControlServer;
use crate::control::timetable::ScheduledOutcome;

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
    let made = |n: usize| {
        let (first, second) = (FIRST[n % 12], SECOND[n / 12 % 10]);
        let name = format!("{first}-{second}-{n:04}");
        let dice = stable_number(&name) as usize;
        let failed = (0..5).filter(|k| (dice / 7 + k).is_multiple_of(11));
        let failed: Vec<_> = failed.map(|k| (k, ScheduledOutcome::BuildFails)).collect();
        let plan = Plan {
            name: &name,
            kind: if n.is_multiple_of(3) { "prod" } else { "dev" },
            status: (n % 17 == 16).then_some("UNUSED"),
            history: (1 + dice % 5, &failed),
            age: (dice % 700) as f64 + 1.0,
            ..PLAN
        };
        let mut made = deployment(plane, &plan, agent);
        made.secrets.truncate(1);
        for field in ["custom_url", "resource_spec"] {
            made.config.insert(field.into(), Value::Null);
        }
        made
    };
    let all: Vec<_> = (0..count).map(made).collect();
    plane.deployments().extend(all);
}
