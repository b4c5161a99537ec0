//! Plans for revisions.

use super::{Draft, PlanError, name_of, of_deployment, of_revision, path};
use crate::ControlPlane;
use reqwest::Method;
use runtail_core::model::{
    Consent, Guard, MASK, NewRevision, Note, Phase, Plan, SourceRevisionConfig, Target, compare,
};
use runtail_core::text;
use serde_json::{Map, Value, json};

impl ControlPlane {
    /// `POST …/revisions/{id}/redeploy` (control-plane reference §2).
    pub(super) async fn plan_redeploy(
        &self,
        deployment: &str,
        revision: &str,
    ) -> Result<Plan, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        let name = name_of(&record, deployment).into_owned();
        let mut notes = vec![Note::fact(
            match SourceRevisionConfig::from_row(&row).made_from() {
                Some(from) => format!("Source to deploy again: {}.", text::clean(&from)),
                None => "The server doesn't show the source of this revision.".into(),
            },
        )];
        notes.push(Note::fact(
            "It runs with the current secrets and resources; they belong to the deployment and are not recorded with a revision.",
        ));
        notes.extend(in_the_way(&record, &row));
        Ok(self.plan_of(Draft {
            title: format!("Redeploy {} of {name}", text::short_id(revision)),
            target: Some(target(revision, &name)),
            method: Method::POST,
            path: [of_revision(deployment, revision), path(&["redeploy"])].concat(),
            query: Vec::new(),
            body: None,
            expect: &[200],
            changes: Vec::new(),
            revision: NewRevision::Yes("the same source is deployed again".into()),
            notes,
            consent: Consent::Key,
            guard: Guard::Same {
                record: of_deployment(deployment),
                parts: vec!["/latest_revision_id".into()],
            },
            before: Some(record),
            made_from: row["source_revision_config"].clone(),
        })?)
    }

    /// `PATCH /v2/deployments/{id}` with the source of an earlier revision, pinned to exactly what that one was made from.
    pub(super) async fn plan_rollback(
        &self,
        deployment: &str,
        revision: &str,
    ) -> Result<Plan, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        let name = name_of(&record, deployment).into_owned();
        let id = text::short_id(revision);
        if record["latest_revision_id"] == revision && record["active_revision_id"] == revision {
            return Err(PlanError::Unfit(format!(
                "{name}: revision {id} is the newest and is serving; nothing to roll back"
            )));
        }
        let Pinned { source, mut notes } = pin(&record, &row)
            .map_err(|why| PlanError::Unfit(format!("{name}: revision {id}: {why}")))?;
        // Don't send a mask in place of the value.
        if source.to_string().contains(MASK) {
            return Err(PlanError::Unfit(format!(
                "{name}: revision {id}: its source contains a key of this profile, which is not sent"
            )));
        }
        let status = row["status"].as_str().unwrap_or_default();
        if Phase::of(status) != Phase::Deployed {
            let status = text::clean(status);
            notes.insert(
                0,
                Note::warning(format!("That revision was never live: it is {status}.")),
            );
        }
        notes.push(Note::warning(
            "Secrets and resources are not rolled back; they belong to the deployment.",
        ));
        notes.push(Note::fact(
            "This changes the deployment's own source. To keep it, redeploy that revision instead.",
        ));
        let mut body = Map::new();
        // The source can differ from revision to revision.
        if row["source"].is_string() && row["source"] != record["source"] {
            body.insert("revision_source".into(), row["source"].clone());
        }
        body.insert("source_revision_config".into(), source.clone());
        let mut after = record["source_revision_config"].clone();
        for (field, value) in source.as_object().into_iter().flatten() {
            after[field] = value.clone();
        }
        let whole = |config: &Value| json!({"source_revision_config": config});
        let changes = compare(&whole(&record["source_revision_config"]), &whole(&after));
        let parts = ["/latest_revision_id", "/source_revision_config", "/source"]
            .map(String::from)
            .to_vec();
        let body = Value::Object(body);
        Ok(self.plan_of(Draft {
            title: format!("Roll back {name} to {id}"),
            target: Some(target(revision, &name)),
            method: Method::PATCH,
            path: of_deployment(deployment),
            query: Vec::new(),
            revision: NewRevision::of_update(&body),
            body: Some(body),
            expect: &[200],
            changes,
            notes,
            consent: Consent::Key,
            guard: Guard::Same {
                record: of_deployment(deployment),
                parts,
            },
            before: Some(record),
            made_from: source,
        })?)
    }

    /// `POST …/revisions/{id}/interruption`. Sources spell the end of the path in two ways (control-plane reference §13).
    pub(super) async fn plan_interrupt(
        &self,
        deployment: &str,
        revision: &str,
    ) -> Result<Plan, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        let name = name_of(&record, deployment).into_owned();
        let status = row["status"].as_str().unwrap_or_default();
        if Phase::of(status).is_final() {
            let (id, status) = (text::short_id(revision), text::clean(status));
            return Err(PlanError::Unfit(format!(
                "{name}: revision {id} is {status}; nothing to interrupt"
            )));
        }
        let now = if status.is_empty() {
            "without a status".into()
        } else {
            text::clean(status)
        };
        let mut notes = vec![Note::fact(format!(
            "It is {now}. An interrupted revision stays INTERRUPTED, and the next one in the queue continues."
        ))];
        notes.push(Note::warning(
            "An interrupted rollout may leave the deployment in an undefined state. Redeploy afterwards.",
        ));
        notes.push(Note::fact(
            "If the server doesn't know /interruption, Runtail retries with /interrupt.",
        ));
        let at = of_revision(deployment, revision);
        Ok(self.plan_of(Draft {
            title: format!("Interrupt {} of {name}", text::short_id(revision)),
            target: Some(target(revision, &name)),
            method: Method::POST,
            path: [at.clone(), path(&["interruption"])].concat(),
            query: Vec::new(),
            body: None,
            expect: &[200, 202, 204],
            changes: Vec::new(),
            revision: NewRevision::No("an existing revision is interrupted".into()),
            notes,
            consent: Consent::Key,
            guard: Guard::Unfinished { record: at },
            before: Some(row),
            made_from: Value::Null,
        })?)
    }
}

/// A pinned source, and notes about it.
struct Pinned {
    source: Value,
    notes: Vec<Note>,
}

/// Pins the source of a revision.
///
/// # Errors
/// Why it can't be pinned.
fn pin(record: &Value, row: &Value) -> Result<Pinned, String> {
    let made = &row["source_revision_config"];
    let filled = |field: &str| made[field].as_str().filter(|text| !text.is_empty());
    let mut source = Map::new();
    let mut notes = Vec::new();
    let kind = row["source"]
        .as_str()
        .or(record["source"].as_str())
        .unwrap_or_default();
    match kind {
        "github" => {
            let pinned = match (filled("repo_ref"), filled("repo_commit_sha")) {
                (Some(tag), _) if tag.starts_with("refs/tags/") => tag,
                (name, Some(commit)) => {
                    notes.push(Note::warning(
                        "The API only documents branches and tags for repo_ref. It may reject a commit SHA; in that case nothing changes.",
                    ));
                    if record["source_config"]["build_on_push"] == true {
                        let name = text::clean(name.unwrap_or("its branch"));
                        notes.push(Note::warning(format!(
                            "Pushes to {name} won't trigger builds until repo_ref is a branch again."
                        )));
                    }
                    commit
                }
                (Some(name), None) => {
                    let name = text::clean(name);
                    return Err(format!(
                        "the server doesn't show its commit, and {name} would build the current one; \
                         redeploy it instead"
                    ));
                }
                (None, None) => {
                    return Err("the server doesn't show its source; redeploy it instead".into());
                }
            };
            source.insert("repo_ref".into(), pinned.into());
        }
        "internal_source" => {
            let Some(tarball) = filled("source_tarball_path") else {
                return Err("the server doesn't show its upload; redeploy it instead".into());
            };
            source.insert("source_tarball_path".into(), tarball.into());
        }
        _ => {
            let Some(image) = filled("image_uri") else {
                return Err("the server doesn't show its image; redeploy it instead".into());
            };
            if !image.contains("@sha256:") {
                notes.push(Note::warning(
                    "Its image is named by a tag, which may refer to another image now.",
                ));
            }
            source.insert("image_uri".into(), image.into());
        }
    }
    if let Some(path) =
        filled("langgraph_config_path").filter(|_| matches!(kind, "github" | "internal_source"))
    {
        source.insert("langgraph_config_path".into(), path.into());
    }
    Ok(Pinned {
        source: source.into(),
        notes,
    })
}

/// Returns a revision's name for messages.
fn target(revision: &str, deployment: &str) -> Target {
    Target {
        kind: "revision",
        id: revision.into(),
        name: format!("{deployment} {}", text::short_id(revision)),
    }
}

/// Returns notes about the newest revision if an older one is deployed over it.
fn in_the_way(record: &Value, row: &Value) -> Option<Note> {
    let newest = record["latest_revision_id"]
        .as_str()
        .filter(|id| row["id"] != *id)?;
    let id = text::short_id(newest);
    Some(Note::warning(format!(
        "It is older than {id}, the newest; the changes of that one are reverted."
    )))
}
