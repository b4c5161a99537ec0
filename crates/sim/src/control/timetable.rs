//! Deployments and their revisions, and the timetable by which revisions move through their statuses.

use crate::ids::{before, iso_z};
use crate::values::Object;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Seconds from one status to the next in real time.
const CREATING: f64 = 3.0;
const AWAITING_BUILD: f64 = 5.0;
/// How long a build takes.
pub const BUILDING: f64 = 26.0;
const AWAITING_DEPLOY: f64 = 4.0;
const DEPLOYING: f64 = 14.0;
/// How long a deleted deployment can still be read, in each of its two last statuses.
const DELETING: f64 = 8.0;
/// How long the first deployment waits for its database.
const DATABASE: f64 = 20.0;

/// How a revision ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScheduledOutcome {
    #[default]
    Deployed,
    BuildFails,
    /// It builds, but does not become ready.
    DeployFails,
    /// It waits for an upload until it is superseded by a newer revision.
    Waits,
}

#[derive(Debug, Clone)]
pub struct Revision {
    pub id: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its source.
    pub source: String,
    /// `source_revision_config`.
    pub config: Object,
    /// How it ends.
    pub fate: ScheduledOutcome,
    /// A status that a test chose.
    pub forced: Option<String>,
    /// When someone interrupted it.
    pub interrupted_at: Option<Timestamp>,
    /// The first line of its commit's message, for its build log.
    pub title: String,
}

/// The progress of a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    pub status: String,
    /// Since when.
    pub since: Timestamp,
    /// When its build began or will begin.
    pub build_at: Timestamp,
    /// When its deployment began or will begin.
    pub deploy_at: Timestamp,
    /// When it ends.
    pub end: Timestamp,
}

fn plus(at: Timestamp, seconds: f64) -> Timestamp {
    before(at, -seconds)
}

impl Revision {
    /// Whether it is built here rather than taken as an image.
    pub fn builds(&self) -> bool {
        !self.source.contains("docker")
    }

    /// Its record.
    pub fn json(&self, phase: &Phase) -> Value {
        json!({
            "id": self.id, "created_at": iso_z(self.created_at), "updated_at": iso_z(phase.since.max(self.created_at)),
            "status": phase.status, "source": self.source, "source_revision_config": self.config,
        })
    }
}

/// Returns the progress of a deployment's revisions, oldest first; of queued ones only the newest is built.
pub fn phases(revisions: &[Revision], now: Timestamp, speed: f64) -> Vec<Phase> {
    let mut free_at = Timestamp::MIN;
    let mut phases = Vec::with_capacity(revisions.len());
    for (n, revision) in revisions.iter().enumerate() {
        let newer = revisions.get(n + 1).map(|newer| newer.created_at);
        let phase = phase(revision, newer, free_at, now, speed);
        free_at = free_at.max(phase.end.min(now.max(phase.end)));
        phases.push(phase);
    }
    phases
}

fn phase(
    revision: &Revision,
    newer: Option<Timestamp>,
    free_at: Timestamp,
    now: Timestamp,
    speed: f64,
) -> Phase {
    let after = |at: Timestamp, seconds: f64| plus(at, seconds / speed.max(1e-6));
    let created = after(revision.created_at, CREATING);
    let start = created.max(free_at);
    let build_at = if revision.builds() {
        after(start, AWAITING_BUILD)
    } else {
        start
    };
    let built = if revision.builds() {
        after(build_at, BUILDING)
    } else {
        start
    };
    let deploy_at = after(built, AWAITING_DEPLOY);
    let done = after(deploy_at, DEPLOYING);
    let mut steps: Vec<(&str, Timestamp)> = vec![("CREATING", revision.created_at)];
    if start > created {
        steps.push(("QUEUED", created));
    }
    let skipped = newer.filter(|newer| {
        revision.fate == ScheduledOutcome::Waits || (*newer > created && *newer < start)
    });
    let mut end = done;
    if let Some(newer) = skipped {
        end = newer.max(revision.created_at);
        steps.retain(|(_, at)| *at < end);
        steps.push(("SKIPPED", end));
    } else {
        if revision.builds() {
            steps.extend([("AWAITING_BUILD", start), ("BUILDING", build_at)]);
        }
        match revision.fate {
            ScheduledOutcome::Waits => {
                steps.truncate(2);
                end = Timestamp::MAX;
            }
            ScheduledOutcome::BuildFails => {
                steps.push(("BUILD_FAILED", built));
                end = built;
            }
            ScheduledOutcome::Deployed | ScheduledOutcome::DeployFails => {
                let last = if revision.fate == ScheduledOutcome::Deployed {
                    "DEPLOYED"
                } else {
                    "DEPLOY_FAILED"
                };
                steps.extend([
                    ("AWAITING_DEPLOY", built),
                    ("DEPLOYING", deploy_at),
                    (last, done),
                ]);
            }
        }
    }
    if let Some(at) = revision.interrupted_at.filter(|at| *at < end) {
        steps.retain(|(_, since)| *since <= at);
        steps.push(("INTERRUPTED", at));
        end = at;
    }
    let (status, since) = steps
        .iter()
        .rev()
        .find(|(_, at)| *at <= now)
        .copied()
        .unwrap_or(("CREATING", revision.created_at));
    let status = revision.forced.clone().unwrap_or_else(|| status.to_owned());
    Phase {
        status,
        since,
        build_at,
        deploy_at,
        end,
    }
}

#[derive(Debug, Clone, Default)]
pub struct Deployment {
    pub id: String,
    pub name: String,
    /// The name that it shows, if it has another.
    pub display_name: Option<String>,
    /// Its source.
    pub source: String,
    /// `source_config`.
    pub config: Object,
    /// Its secrets, in clear, as in the real responses.
    pub secrets: Vec<Value>,
    /// `secret_references`.
    pub references: Value,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// A status that does not follow from the clock.
    pub fixed_status: Option<String>,
    /// Its URL.
    pub url: Option<String>,
    /// The server version in its image.
    pub image_version: Option<String>,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// Whether it is a preview of a pull request.
    pub preview: bool,
    /// Fields that the published document does not have: `agent`, `compute_tier`, `database_tier`.
    pub newer: Object,
    /// Its revisions, oldest first.
    pub revisions: Vec<Revision>,
}

impl Deployment {
    /// Its status now; `None` when it is gone.
    pub fn status(&self, now: Timestamp, speed: f64) -> Option<String> {
        let past = |at: Timestamp| (now.as_nanosecond() - at.as_nanosecond()) as f64 / 1e9 * speed;
        if let Some(at) = self.deleted_at {
            return match past(at) {
                gone if gone > DELETING * 2.0 => None,
                late if late > DELETING => Some("AWAITING_FINAL_DELETE".into()),
                _ => Some("AWAITING_DELETE".into()),
            };
        }
        let fixed = self.fixed_status.clone();
        Some(fixed.unwrap_or_else(|| {
            if past(self.created_at) < DATABASE {
                "AWAITING_DATABASE"
            } else {
                "READY"
            }
            .into()
        }))
    }

    /// The revision that served at a time.
    pub fn serving(&self, at: Timestamp, speed: f64) -> Option<String> {
        let made = self
            .revisions
            .partition_point(|revision| revision.created_at <= at);
        let revisions = &self.revisions[..made];
        let phases = phases(revisions, at, speed);
        let serving = revisions
            .iter()
            .zip(&phases)
            .rev()
            .find(|(_, phase)| phase.status == "DEPLOYED");
        serving.map(|(revision, _)| revision.id.clone())
    }

    /// Its record; `None` when it is gone.
    pub fn json(&self, tenant: &str, now: Timestamp, speed: f64) -> Option<Value> {
        let status = self.status(now, speed)?;
        let phases = phases(&self.revisions, now, speed);
        let active = self
            .revisions
            .iter()
            .zip(&phases)
            .rev()
            .find(|(_, phase)| phase.status == "DEPLOYED");
        let latest = self.revisions.last();
        let changed = phases
            .last()
            .map_or(self.updated_at, |phase| phase.since.max(self.updated_at));
        let mut record = json!({
            "id": self.id, "tenant_id": tenant, "name": self.name, "display_name": self.display_name,
            "source": self.source, "status": status, "url": self.url, "source_config": self.config,
            "source_revision_config": latest.map(|latest| &latest.config), "secrets": self.secrets,
            "secret_references": self.references, "created_at": iso_z(self.created_at), "updated_at": iso_z(changed),
            "latest_revision_id": latest.map(|latest| &latest.id),
            "active_revision_id": active.map(|(active, _)| &active.id), "image_version": self.image_version,
            "is_preview": self.preview, "tracer_session_id": crate::ids::stable_uuid(&format!("tracer {}", self.id)),
            "agent": null,
        });
        self.newer
            .iter()
            .for_each(|(key, value)| record[key] = value.clone());
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(id: &str, at: Timestamp, source: &str, fate: ScheduledOutcome) -> Revision {
        Revision {
            id: id.into(),
            created_at: at,
            source: source.into(),
            config: Object::new(),
            fate,
            forced: None,
            interrupted_at: None,
            title: String::new(),
        }
    }

    fn words(revisions: &[Revision], at: Timestamp) -> Vec<String> {
        phases(revisions, at, 1.0)
            .into_iter()
            .map(|phase| phase.status)
            .collect()
    }

    #[test]
    fn only_the_newest_queued_revision_is_built() {
        let zero: Timestamp = "2026-11-21T00:00:00Z".parse().expect("a time");
        let three = [0.0, 10.0, 20.0]
            .map(|at| revision("r", plus(zero, at), "github", ScheduledOutcome::Deployed));
        assert_eq!(words(&three[..2], plus(zero, 16.0)), ["BUILDING", "QUEUED"]);
        assert_eq!(
            words(&three, plus(zero, 26.0)),
            ["BUILDING", "SKIPPED", "QUEUED"]
        );
        assert_eq!(
            words(&three, plus(zero, 300.0)),
            ["DEPLOYED", "SKIPPED", "DEPLOYED"]
        );
    }

    #[test]
    fn interrupted_revisions_unblock_the_next() {
        let zero: Timestamp = "2026-11-21T00:00:00Z".parse().expect("a time");
        let mut two = [0.0, 10.0]
            .map(|at| revision("r", plus(zero, at), "github", ScheduledOutcome::Deployed));
        two[0].interrupted_at = Some(plus(zero, 15.0));
        assert_eq!(
            words(&two, plus(zero, 16.0)),
            ["INTERRUPTED", "AWAITING_BUILD"]
        );
        two[1].forced = Some("SOMETHING_NEW".into());
        assert_eq!(words(&two, plus(zero, 16.0))[1], "SOMETHING_NEW");
    }
}
