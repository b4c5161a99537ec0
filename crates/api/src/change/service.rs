//! Plans for listeners, OAuth providers and tokens.

use crate::DeploymentQuery;
use crate::prelude::*;
use runtail_core::model::{Change, Collection, Consent, MASK, Service, ServiceChange};
use secrecy::ExposeSecret;

/// Maximum number of names in a note.
const MOST_NAMES: usize = 8;

impl ControlPlane {
    /// Plans a change of a record other than a deployment (control-plane reference §2).
    pub(super) async fn plan_service(&self, change: &ServiceChange) -> Result<Draft, PlanError> {
        let body = if change.what.fields().is_empty() {
            None
        } else {
            Some(body_of(change).await?)
        };
        match &change.what {
            Service::CreateListener => self.create_listener(body).await,
            Service::UpdateListener(id) => {
                self.update(&Collection::Listeners, id, change, body).await
            }
            Service::DeleteListener(id) => self.delete_listener(id).await,
            Service::CreateProvider => {
                self.create_provider(&["v2", "auth", "providers"], body)
                    .await
            }
            Service::DiscoverProvider => {
                self.create_provider(&["v2", "auth", "providers", "mcp-discover"], body)
                    .await
            }
            Service::UpdateProvider(slug) => {
                self.update(&Collection::Providers, slug, change, body)
                    .await
            }
            Service::DeleteProvider(slug) => self.delete_provider(slug).await,
            Service::DeleteToken(id) => self.delete_token(id).await,
            Service::DeleteTokensOf(slug) => self.delete_tokens_of(slug).await,
        }
    }

    async fn create_listener(&self, body: Option<Value>) -> Result<Draft, PlanError> {
        let name = field(&body, "compute_id");
        let rows = self.rows(&Collection::Listeners).await?;
        if let Some(row) = rows.iter().find(|row| row["compute_id"] == name.as_str()) {
            let id = text::clean(text_of(row, "id")).into_owned();
            let name = text::clean(&name);
            return refuse(format!(
                "the listener {name} already exists ({id}): update it"
            ));
        }
        let notes = vec![Note::fact(
            "compute_type and compute_id can't be changed afterwards.",
        )];
        let title = format!("Create the listener {}", text::clean(&name));
        self.creation(title, &["v2", "listeners"], body, notes)
    }

    async fn delete_listener(&self, id: &str) -> Result<Draft, PlanError> {
        let of = Collection::Listeners;
        let record = self.member(&of, id).await?;
        let mut notes = Vec::new();
        match self.deployments_on(id).await {
            Ok(names) if names.is_empty() => notes.push(Note::fact("No deployment uses it.")),
            Ok(names) => notes.push(Note::warning(format!(
                "{} {} it and will no longer be updated: {}.",
                text::counted(names.len(), "deployment"),
                if names.len() == 1 { "uses" } else { "use" },
                listed(&names)
            ))),
            Err(error) => notes.push(Note::warning(format!(
                "The deployments that use it could not be read ({}).",
                text::clean(&error.detail)
            ))),
        }
        let path = ["v2", "listeners", id];
        self.deletion(&of, id, record, &path, "/compute_id", notes)
    }

    /// Returns the names of the deployments that use a listener.
    async fn deployments_on(&self, listener: &str) -> Result<Vec<String>, ApiError> {
        let listing = self.deployment_rows(&DeploymentQuery::default()).await?;
        listing.incomplete.map_or(Ok(()), Err)?;
        let on_it = |row: &&Value| row["source_config"]["listener_id"] == listener;
        Ok(listing
            .items
            .iter()
            .filter(on_it)
            .filter_map(|row| row["name"].as_str().map(str::to_string))
            .collect())
    }

    async fn create_provider(
        &self,
        parts: &[&str],
        body: Option<Value>,
    ) -> Result<Draft, PlanError> {
        let slug = field(&body, "provider_id");
        let shown = text::clean(&slug).into_owned();
        match self.member(&Collection::Providers, &slug).await {
            Ok(_) => {
                return refuse(format!("the provider {shown} already exists: update it"));
            }
            Err(ApiError {
                kind: Kind::NotFound,
                ..
            }) => {}
            Err(error) => return Err(error.into()),
        }
        let notes = vec![Note::fact(format!(
            "{shown} identifies it in all other calls and can't be changed."
        ))];
        let title = format!("Create the provider {shown}");
        self.creation(title, parts, body, notes)
    }

    async fn delete_provider(&self, slug: &str) -> Result<Draft, PlanError> {
        let of = Collection::Providers;
        let record = self.member(&of, slug).await?;
        let own = self
            .rows(&Collection::Tokens(Some(slug.to_string())))
            .await?;
        let notes = vec![Note::warning(format!(
            "Agents can no longer authenticate with this provider. Access through its tokens may stop working; you have {}.",
            text::counted(own.len(), "token")
        ))];
        let path = ["v2", "auth", "providers", slug];
        self.deletion(&of, slug, record, &path, "/provider_id", notes)
    }

    /// Changes a record that has its own GET call.
    async fn update(
        &self,
        of: &Collection,
        id: &str,
        change: &ServiceChange,
        body: Option<Value>,
    ) -> Result<Draft, PlanError> {
        let record = self.member(of, id).await?;
        let parts: &[&str] = match of {
            Collection::Listeners => &["v2", "listeners", id],
            _ => &["v2", "auth", "providers", id],
        };
        let name = of.name_of(&record).unwrap_or_else(|| id.to_string());
        let given = body
            .as_ref()
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let changes = changes(&record, &given, change)?;
        let mut notes = Vec::new();
        let namespaces = "/compute_config/k8s_namespaces";
        let new = body.as_ref().and_then(|body| body.pointer(namespaces));
        if let (Some(Value::Array(old)), Some(Value::Array(new))) =
            (record.pointer(namespaces), new)
        {
            let gone: Vec<String> = old
                .iter()
                .filter(|one| !new.contains(one))
                .map(words)
                .collect();
            if !gone.is_empty() {
                let gone = listed(&gone);
                notes.push(Note::warning(format!(
                    "The list is replaced: it no longer serves {gone}."
                )));
            }
        }
        if !change.document.secrets.is_empty() {
            notes.push(Note::fact(
                "A client secret can't be read back, so it is unknown whether it differs.",
            ));
        }
        let sent = given.keys().filter(|key| *key != "client_secret");
        let same = Condition::Parts(sent.map(|key| format!("/{key}")).collect());
        Ok(Draft {
            title: format!("Update {}", text::clean(&name)),
            target: Some(target(of, id, &name)),
            changes,
            notes,
            guard: Guard::at(self, parts, record, same),
            steps: vec![Step::new(
                self,
                Method::PATCH,
                parts,
                body,
                StepKind::Change,
            )?],
            ..Draft::default()
        })
    }

    async fn delete_token(&self, id: &str) -> Result<Draft, PlanError> {
        let of = Collection::Tokens(None);
        let record = self.record(&of, id).await?;
        let name = text::clean(&of.name_of(&record).unwrap_or_default()).into_owned();
        let provider = words(&record["provider_id"]);
        let notes = vec![Note::warning(format!(
            "It is revoked at {provider} first, then deleted; agents that use it lose access."
        ))];
        let path = ["v2", "auth", "tokens", id];
        Ok(Draft {
            title: format!("Revoke the token {name} for {provider}"),
            target: Some(target(&of, id, &name)),
            notes,
            consent: Consent::Name(name),
            steps: vec![Step::new(
                self,
                Method::DELETE,
                &path,
                None,
                StepKind::Change,
            )?],
            ..Draft::default()
        })
    }

    async fn delete_tokens_of(&self, slug: &str) -> Result<Draft, PlanError> {
        let rows = self
            .rows(&Collection::Tokens(Some(slug.to_string())))
            .await?;
        let shown = text::clean(slug).into_owned();
        if rows.is_empty() {
            return nothing(format!("you have no token for {shown}"));
        }
        let of = Collection::Tokens(None);
        let names: Vec<String> = rows.iter().filter_map(|row| of.name_of(row)).collect();
        let notes = vec![Note::warning(format!(
            "{} {} deleted, for all agents: {}.",
            text::counted(rows.len(), "token"),
            if rows.len() == 1 { "is" } else { "are" },
            listed(&names)
        ))];
        let path = ["v2", "auth", "tokens"];
        let step = Step::new(self, Method::DELETE, &path, None, StepKind::Change)?;
        Ok(Draft {
            title: format!("Delete all your tokens for {shown}"),
            target: Some(Target::new("provider", slug, shown.clone())),
            notes,
            consent: Consent::Name(shown),
            steps: vec![step.with([("provider_id", slug)]).expecting(&[200])],
            ..Draft::default()
        })
    }

    fn creation(
        &self,
        title: String,
        path: &[&str],
        body: Option<Value>,
        notes: Vec<Note>,
    ) -> Result<Draft, PlanError> {
        let step = Step::new(self, Method::POST, path, body, StepKind::Change)?;
        Ok(Draft {
            title,
            notes,
            steps: vec![step.expecting(&[200, 201])],
            ..Draft::default()
        })
    }

    /// Plans the deletion of a record with its own GET call: its name has to be typed and must not have changed.
    fn deletion(
        &self,
        of: &Collection,
        id: &str,
        record: Value,
        path: &[&str],
        name_at: &str,
        notes: Vec<Note>,
    ) -> Result<Draft, PlanError> {
        let name = text::clean(&of.name_of(&record).unwrap_or_else(|| id.to_string())).into_owned();
        let step = Step::new(self, Method::DELETE, path, None, StepKind::Change)?;
        Ok(Draft {
            title: format!("Delete the {} {name}", of.singular()),
            target: Some(target(of, id, &name)),
            notes,
            consent: Consent::Name(name),
            guard: Guard::at(self, path, record, Condition::parts(&[name_at])),
            steps: vec![step.expecting(&[200, 204])],
            ..Draft::default()
        })
    }

    /// Returns all rows of a list; an incomplete list is an error.
    async fn rows(&self, of: &Collection) -> Result<Vec<Value>, ApiError> {
        let listing = self.collection(of).await?;
        listing.incomplete.map_or(Ok(listing.items), Err)
    }
}

fn target(of: &Collection, id: &str, name: &str) -> Target {
    Target::new(of.singular(), id, text::clean(name).into_owned())
}

/// Returns the body of a document, with its secrets fetched.
async fn body_of(change: &ServiceChange) -> Result<Value, PlanError> {
    let mut body = change.document.fields.clone();
    for (at, secret) in super::fetch(&change.document).await? {
        if let [field] = at.as_slice() {
            body.insert(field.clone(), secret.expose_secret().into());
        }
    }
    Ok(Value::Object(body))
}

/// Returns the changes of the given fields.
///
/// # Errors
/// No field is given, or no field is different.
fn changes(
    record: &Value,
    given: &Map<String, Value>,
    change: &ServiceChange,
) -> Result<Vec<Change>, PlanError> {
    if given.is_empty() {
        return wrong("no field to change is given");
    }
    let plain = |fields: &Map<String, Value>| {
        let known = fields
            .iter()
            .filter(|(key, _)| given.contains_key(*key) && *key != "client_secret");
        Value::Object(
            known
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        )
    };
    let mut changes = compare(
        &plain(record.as_object().unwrap_or(&Map::new())),
        &plain(given),
    );
    let secrets = change.document.secrets.iter().map(|(at, _)| at.join("."));
    changes.extend(secrets.map(|path| Change {
        path,
        before: Some(MASK.into()),
        after: Some(MASK.into()),
    }));
    if changes.is_empty() {
        nothing("it already has these settings")
    } else {
        Ok(changes)
    }
}

fn field(body: &Option<Value>, name: &str) -> String {
    body.as_ref()
        .and_then(|body| body[name].as_str())
        .unwrap_or_default()
        .to_string()
}

fn words(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    text::clean(&text).into_owned()
}

fn listed(names: &[String]) -> String {
    crate::act::listed(names, MOST_NAMES, |more| format!(", and {more} more"))
}
