//! Deployments and their revisions, and the timetable by which revisions move through their statuses.

use crate::prelude::*;

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
}

#[derive(Debug, Clone, Default)]
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
    let newer = revisions.iter().skip(1).map(|newer| Some(newer.created_at));
    let all = revisions.iter().zip(newer.chain([None]));
    all.map(|(revision, newer)| {
        let phase = phase(revision, newer, free_at, now, speed);
        free_at = free_at.max(phase.end);
        phase
    })
    .collect()
}

fn phase(
    revision: &Revision,
    newer: Option<Timestamp>,
    free_at: Timestamp,
    now: Timestamp,
    speed: f64,
) -> Phase {
    let after = |at: Timestamp, seconds: f64| before(at, -seconds / speed);
    let created = after(revision.created_at, CREATING);
    let start = created.max(free_at);
    let (mut build_at, mut built) = (start, start);
    if revision.builds() {
        build_at = after(start, AWAITING_BUILD);
        built = after(build_at, BUILDING);
    }
    let deploy_at = after(built, AWAITING_DEPLOY);
    let done = after(deploy_at, DEPLOYING);
    let mut steps = vec![("CREATING", revision.created_at)];
    if start > created {
        steps.push(("QUEUED", created));
    }
    let skipped = newer.filter(|newer| *newer > created && *newer < start);
    if skipped.is_none() && revision.builds() {
        steps.extend([("AWAITING_BUILD", start), ("BUILDING", build_at)]);
    }
    let deploys = |last| {
        vec![
            ("AWAITING_DEPLOY", built),
            ("DEPLOYING", deploy_at),
            (last, done),
        ]
    };
    steps.extend(match (skipped, revision.fate) {
        (Some(newer), _) => vec![("SKIPPED", newer)],
        (None, ScheduledOutcome::BuildFails) => vec![("BUILD_FAILED", built)],
        (None, ScheduledOutcome::Deployed) => deploys("DEPLOYED"),
        (None, ScheduledOutcome::DeployFails) => deploys("DEPLOY_FAILED"),
    });
    let mut end = steps[steps.len() - 1].1;
    if let Some(at) = revision.interrupted_at.filter(|at| *at < end) {
        steps.retain(|(_, since)| *since <= at);
        steps.push(("INTERRUPTED", at));
        end = at;
    }
    let reached = steps.iter().rfind(|(_, at)| *at <= now);
    let (status, since) = *reached.unwrap_or(&steps[0]);
    Phase {
        status: revision.forced.clone().unwrap_or_else(|| status.to_owned()),
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
    /// Its revisions, oldest first.
    pub revisions: Vec<Revision>,
}

impl Deployment {
    /// Its status now; `None` when it is gone.
    pub fn status(&self, now: Timestamp, speed: f64) -> Option<String> {
        let past = |at: Timestamp| (now.as_nanosecond() - at.as_nanosecond()) as f64 / 1e9 * speed;
        let status = match self.deleted_at.map(past) {
            Some(gone) if gone > DELETING * 2.0 => return None,
            Some(late) if late > DELETING => "AWAITING_FINAL_DELETE",
            Some(_) => "AWAITING_DELETE",
            None if self.fixed_status.is_some() => return self.fixed_status.clone(),
            None if past(self.created_at) < DATABASE => "AWAITING_DATABASE",
            None => "READY",
        };
        Some(status.to_owned())
    }

    /// The revision that served at a time, and its progress then.
    pub fn serving(&self, at: Timestamp, speed: f64) -> Option<(&Revision, Phase)> {
        let made = self.revisions.partition_point(|one| one.created_at <= at);
        let phases = phases(&self.revisions[..made], at, speed);
        let mut all = self.revisions.iter().zip(phases).rev();
        all.find(|(_, phase)| phase.status == "DEPLOYED")
    }

    /// Its record; `None` when it is gone.
    pub fn json(&self, tenant: &str, now: Timestamp, speed: f64) -> Option<Value> {
        let status = self.status(now, speed)?;
        let phases = phases(&self.revisions, now, speed);
        let active = self.serving(now, speed);
        let latest = self.revisions.last();
        let changed = phases
            .last()
            .map_or(self.updated_at, |phase| phase.since.max(self.updated_at));
        Some(json!({
            "id": self.id, "tenant_id": tenant, "name": self.name, "display_name": self.display_name,
            "source": self.source, "status": status, "url": self.url, "source_config": self.config,
            "source_revision_config": latest.map(|latest| &latest.config), "secrets": self.secrets,
            "secret_references": self.references, "created_at": iso_z(self.created_at), "updated_at": iso_z(changed),
            "latest_revision_id": latest.map(|latest| &latest.id),
            "active_revision_id": active.map(|(active, _)| &active.id), "image_version": self.image_version,
            "is_preview": self.preview, "tracer_session_id": stable_uuid(&format!("tracer {}", self.id)),
            "agent": null,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_queued_revision_is_built_and_interrupted_ones_unblock_it() {
        let zero: Timestamp = "2026-11-21T00:00:00Z".parse().expect("a time");
        let mut all = [0.0, 10.0, 20.0].map(|at| Revision {
            created_at: before(zero, -at),
            source: "github".into(),
            ..Revision::default()
        });
        let words = |all: &[Revision], at: f64| -> Vec<String> {
            let phases = phases(all, before(zero, -at), 1.0);
            phases.into_iter().map(|phase| phase.status).collect()
        };
        assert_eq!(words(&all[..2], 16.0), ["BUILDING", "QUEUED"]);
        assert_eq!(words(&all, 26.0), ["BUILDING", "SKIPPED", "QUEUED"]);
        assert_eq!(words(&all, 300.0), ["DEPLOYED", "SKIPPED", "DEPLOYED"]);
        all[0].interrupted_at = Some(before(zero, -15.0));
        assert_eq!(words(&all[..2], 16.0), ["INTERRUPTED", "AWAITING_BUILD"]);
    }
}
