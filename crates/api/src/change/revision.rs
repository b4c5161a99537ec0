//! Plans for revisions.

use super::name_of;
use crate::prelude::*;
use runtail_core::model::{MASK, NewRevision, Phase, SourceRevisionConfig};

impl ControlPlane {
    /// `POST …/revisions/{id}/redeploy` (control-plane reference §2).
    pub(super) async fn plan_redeploy(
        &self,
        deployment: &str,
        revision: &str,
    ) -> Result<Draft, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        self.redeploying(deployment, revision, record, &row)
    }

    /// Plans to deploy a revision again.
    fn redeploying(
        &self,
        deployment: &str,
        revision: &str,
        record: Value,
        row: &Value,
    ) -> Result<Draft, PlanError> {
        let name = name_of(&record, deployment).into_owned();
        let mut notes = vec![Note::fact(
            match SourceRevisionConfig::from_row(row).made_from() {
                Some(from) => format!("Source to deploy again: {}.", text::clean(&from)),
                None => "The server doesn't show the source of this revision.".into(),
            },
        )];
        notes.push(Note::fact(
            "It runs with the current secrets and resources; they belong to the deployment and are not recorded with a revision.",
        ));
        notes.extend(in_the_way(&record, row));
        let of = ["v2", "deployments", deployment];
        let path = [&of[..], &["revisions", revision, "redeploy"]].concat();
        let kind = StepKind::Deploy(row["source_revision_config"].clone());
        Ok(Draft {
            title: format!("Redeploy {} of {name}", text::short_id(revision)),
            target: Some(target(revision, &name)),
            revision: NewRevision::Yes("the same source is deployed again".into()),
            notes,
            guard: Guard::at(
                self,
                &of,
                record,
                Condition::parts(&["/latest_revision_id"]),
            ),
            steps: vec![Step::new(self, Method::POST, &path, None, kind)?.expecting(&[200])],
            ..Draft::default()
        })
    }

    /// Rolls back by deploying the earlier revision again, or by changing the deployment's source to that of the revision.
    pub(super) async fn plan_rollback(
        &self,
        deployment: &str,
        revision: &str,
        changes_source: bool,
    ) -> Result<Draft, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        let name = name_of(&record, deployment).into_owned();
        let id = text::short_id(revision);
        if record["latest_revision_id"] == revision && record["active_revision_id"] == revision {
            return refuse(format!(
                "{name}: revision {id} is the newest and is serving; nothing to roll back"
            ));
        }
        let mut draft = match changes_source {
            true => self.pinning(deployment, revision, record, &row)?,
            false => self.redeploying(deployment, revision, record, &row)?,
        };
        draft.title = format!("Roll back {name} to {id}");
        let status = text_of(&row, "status");
        if Phase::of(status) != Phase::Deployed {
            let status = text::clean(status);
            draft.notes.insert(
                0,
                Note::warning(format!("That revision was never live: it is {status}.")),
            );
        }
        Ok(draft)
    }

    /// Plans `PATCH /v2/deployments/{id}` with the source of an earlier revision, pinned to exactly what that one was made from.
    fn pinning(
        &self,
        deployment: &str,
        revision: &str,
        record: Value,
        row: &Value,
    ) -> Result<Draft, PlanError> {
        let name = name_of(&record, deployment).into_owned();
        let id = text::short_id(revision);
        let Pinned { source, mut notes } =
            pin(&record, row).map_err(|why| unfit(format!("{name}: revision {id}: {why}")))?;
        // Don't send a mask in place of the value.
        if source.to_string().contains(MASK) {
            return refuse(format!(
                "{name}: revision {id}: its source contains a key of this profile, which is not sent"
            ));
        }
        notes.push(Note::warning(
            "Secrets and resources are not rolled back; they belong to the deployment.",
        ));
        notes.push(Note::fact(
            "This changes the deployment's own source, from which its next revisions are made.",
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
        let same = Condition::parts(&["/latest_revision_id", "/source_revision_config", "/source"]);
        let path = ["v2", "deployments", deployment];
        let body = Value::Object(body);
        Ok(Draft {
            target: Some(target(revision, &name)),
            revision: NewRevision::of_update(&body),
            changes,
            notes,
            guard: Guard::at(self, &path, record, same),
            steps: vec![Step::new(
                self,
                Method::PATCH,
                &path,
                Some(body),
                StepKind::Deploy(source),
            )?],
            ..Draft::default()
        })
    }

    /// `POST …/revisions/{id}/interruption`. Sources spell the end of the path in two ways (control-plane reference §13).
    pub(super) async fn plan_interrupt(
        &self,
        deployment: &str,
        revision: &str,
    ) -> Result<Draft, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        let name = name_of(&record, deployment).into_owned();
        let status = text_of(&row, "status");
        if Phase::of(status).is_final() {
            let (id, status) = (text::short_id(revision), text::clean(status));
            return refuse(format!(
                "{name}: revision {id} is {status}; nothing to interrupt"
            ));
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
        let of = ["v2", "deployments", deployment, "revisions", revision];
        let path = [&of[..], &["interruption"]].concat();
        let step = Step::new(self, Method::POST, &path, None, StepKind::Interrupt)?;
        Ok(Draft {
            title: format!("Interrupt {} of {name}", text::short_id(revision)),
            target: Some(target(revision, &name)),
            revision: NewRevision::No("an existing revision is interrupted".into()),
            notes,
            guard: Guard::at(self, &of, row, Condition::Unfinished),
            steps: vec![step.expecting(&[200, 202, 204])],
            ..Draft::default()
        })
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
    let name = format!("{deployment} {}", text::short_id(revision));
    Target::new("revision", revision, name)
}

/// Returns notes about the newest revision if an older one is deployed over it.
fn in_the_way(record: &Value, row: &Value) -> Option<Note> {
    let newest = record["latest_revision_id"]
        .as_str()
        .filter(|id| row["id"] != *id)?;
    let id = text::short_id(newest);
    Some(Note::warning(format!(
        "It is older than {id}, the newest; what changed since isn't in it."
    )))
}
