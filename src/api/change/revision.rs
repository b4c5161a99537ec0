//! Plans for revisions.

use super::{Draft, PlanError, name_of, of_deployment, of_revision, path};
use crate::api::ControlPlane;
use crate::model::{Consent, Guard, NewRevision, Note, Phase, Plan, SourceRevisionConfig, Target};
use crate::text;
use reqwest::Method;
use serde_json::Value;

impl ControlPlane {
    /// `POST …/revisions/{id}/redeploy` (control-plane reference §2).
    pub(super) async fn plan_redeploy(&self, deployment: &str, revision: &str) -> Result<Plan, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        let name = name_of(&record, deployment).into_owned();
        let mut notes = vec![Note::fact(match SourceRevisionConfig::from_row(&row).made_from() {
            Some(from) => format!("What is deployed again: {}.", text::clean(&from)),
            None => "The server does not say what this revision was made from.".into(),
        })];
        notes.push(Note::fact(
            "It runs with today's secrets and resources: these are the deployment's, and not recorded with a revision.",
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
            revision: NewRevision::Yes("the source of this revision is deployed once more".into()),
            notes,
            consent: Consent::Key,
            guard: Guard::Same { record: of_deployment(deployment), parts: vec!["/latest_revision_id".into()] },
            before: Some(record),
            made_from: row["source_revision_config"].clone(),
        })?)
    }

    /// `POST …/revisions/{id}/interruption`. Sources spell the end of the path in two ways (control-plane reference §13).
    pub(super) async fn plan_interrupt(&self, deployment: &str, revision: &str) -> Result<Plan, PlanError> {
        let record = self.changeable(deployment).await?;
        let row = self.revision_row(deployment, revision).await?;
        let name = name_of(&record, deployment).into_owned();
        let status = row["status"].as_str().unwrap_or_default();
        if Phase::of(status).is_final() {
            let (id, status) = (text::short_id(revision), text::clean(status));
            return Err(PlanError::Unfit(format!("{name}: revision {id} is {status}: there is nothing to interrupt")));
        }
        let now = if status.is_empty() { "without a status".into() } else { text::clean(status) };
        let mut notes = vec![Note::fact(format!(
            "It is {now}. What is interrupted stays INTERRUPTED, and the next one in the queue goes on."
        ))];
        notes.push(Note::warning("What an interrupted rollout leaves behind is not defined: redeploy afterwards."));
        notes.push(Note::fact(
            "A server without `interruption` is asked for `interrupt`: sources spell the path in both ways.",
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
            revision: NewRevision::No("it stops one".into()),
            notes,
            consent: Consent::Key,
            guard: Guard::Unfinished { record: at },
            before: Some(row),
            made_from: Value::Null,
        })?)
    }
}

/// A revision, by what people call it.
fn target(revision: &str, deployment: &str) -> Target {
    Target { kind: "revision", id: revision.into(), name: format!("{deployment} {}", text::short_id(revision)) }
}

/// What is to be known of the newest revision where another one is deployed over it.
fn in_the_way(record: &Value, row: &Value) -> Option<Note> {
    let newest = record["latest_revision_id"].as_str().filter(|id| row["id"] != *id)?;
    let id = text::short_id(newest);
    Some(Note::warning(format!("It is older than {id}, the newest: what that one brought is taken back.")))
}
