//! Versions and schemas of assistants, and restoring a version.

use crate::pages::PAGE;
use crate::prelude::*;

/// Maximum number of versions to read.
const MAX_VERSIONS: usize = 1000;
/// The fields that a version has of its own.
const FIELDS: [&str; 6] = [
    "graph_id",
    "name",
    "description",
    "config",
    "context",
    "metadata",
];
/// Versions that a sentence names.
const NAMED: usize = 12;
/// Columns of a value in a sentence.
const SHOWN: usize = 100;

impl AgentServer {
    /// Returns the versions of an assistant as received, newest first.
    ///
    /// # Errors
    /// `Kind::NotFound` if there is no such assistant, also if it was deleted meanwhile.
    #[boxed]
    pub async fn assistant_versions(&self, assistant: &str) -> Result<Listing<Value>, ApiError> {
        let pages = self.pages(
            "versions",
            None,
            (MAX_VERSIONS, 0),
            PAGE,
            |limit, offset| async move {
                let body = json!({"limit": limit, "offset": offset});
                self.search(&["assistants", assistant, "versions"], &body)
                    .await
            },
        );
        let mut listing: Listing<Value> = match pages.whole().await {
            Ok(listing) => listing,
            Err(error) => {
                return Err(self
                    .offered(error, "versions", |info| info.kind == ServerKind::Other)
                    .await);
            }
        };
        listing
            .items
            .sort_by_key(|row| std::cmp::Reverse(row["version"].as_i64()));
        Ok(listing)
    }

    /// Returns the schemas of an assistant as received. `assistant` is an id: Python refuses the name of a graph.
    ///
    /// # Errors
    /// `Kind::NotOffered` on the JavaScript server, which fails at this call with and without a body (acting reference §8).
    #[boxed]
    pub async fn assistant_schemas(&self, assistant: &str) -> Result<Value, ApiError> {
        match self.get(&["assistants", assistant, "schemas"], &[]).await {
            Ok(answer) => answer.json(),
            Err(error) => {
                let fails = |info: &crate::ServerInfo| {
                    matches!(info.kind, ServerKind::JavaScript | ServerKind::Other)
                };
                let status = error.status();
                // A deleted assistant is 404 on JavaScript too.
                let error = if error.kind == Kind::NotFound {
                    error
                } else {
                    self.offered(error, "schemas", fails).await
                };
                Err(match (&error.kind, status) {
                    (Kind::NotOffered, Some(500)) => {
                        let detail =
                            "this server can't read the schemas of this graph (500)".to_string();
                        ApiError { detail, ..error }
                    }
                    _ => error,
                })
            }
        }
    }

    pub(super) async fn plan_version(
        &self,
        assistant: &str,
        version: i64,
    ) -> Result<Draft, PlanError> {
        let current = self
            .assistant_row(assistant)
            .await
            .map_err(|error| gone(error, assistant))?;
        let versions = self.assistant_versions(assistant).await?.items;
        let wanted = versions
            .iter()
            .find(|row| row["version"] == version)
            .ok_or_else(|| {
                let numbers = versions.iter().map(|row| row["version"].to_string());
                let known = listed(numbers, NAMED, |_| ", …".into());
                unfit(format!(
                    "There is no version {version}. The versions are {known}."
                ))
            })?;
        let (from, to) = (only_fields(&current), only_fields(wanted));
        let mut changes = compare(&from, &to);
        let name = name_of(&current);
        if current["version"] == version && changes.is_empty() {
            return nothing(format!(
                "Version {version} is the current version of {name}."
            ));
        }
        let kind = self
            .info()
            .await
            .map_or(ServerKind::Other, |info| info.kind);
        let mut notes = Vec::new();
        let is_context = |path: &str| path == "context" || path.starts_with("context.");
        if !kind.is_aegra() && changes.iter().any(|change| is_context(&change.path)) {
            // Python and JavaScript keep it (acting reference §8); whether all of their runtimes do is not known.
            changes.retain(|change| !is_context(&change.path));
            notes.push(Note::warning(format!(
                "`context` is probably not restored: the development servers keep the current one. Version {version} has {}; \
                 the current one is {}. Afterwards `context` and `config.configurable` may differ.",
                shown(&to["context"]),
                shown(&from["context"])
            )));
        }
        notes.push(Note::fact(format!(
            "New runs use version {version}; active runs keep theirs. All versions are kept, and the next change makes a new one."
        )));
        notes.push(Note::fact("Threads and their states are not changed."));
        let path = ["assistants", assistant];
        let kind = StepKind::Restore(assistant.into());
        let body = Some(json!({"version": version}));
        let step = Step::new(
            self,
            Method::POST,
            &[&path[..], &["latest"]].concat(),
            body,
            kind,
        )?;
        let target = Target::new("assistant", assistant, format!("assistant {name}"));
        Ok(Draft {
            title: format!("Restore version {version} of {name}"),
            target: Some(target),
            changes,
            notes,
            guard: Guard::at(self, &path, current, Condition::Except(&[])),
            steps: vec![step],
            ..Draft::default()
        })
    }

    /// Says which fields of a restored version the server did not restore.
    pub(crate) async fn not_restored(
        &self,
        assistant: &str,
        sent: &Value,
        after: &Value,
    ) -> Option<String> {
        let versions = self.assistant_versions(assistant).await.ok()?.items;
        let wanted = versions
            .iter()
            .find(|row| row["version"] == sent["version"])?;
        let differing: Vec<&str> = FIELDS
            .into_iter()
            .filter(|field| !compare(&wanted[*field], &after[*field]).is_empty())
            .collect();
        if differing.is_empty() {
            return None;
        }
        let lines: Vec<String> = differing
            .iter()
            .map(|field| {
                format!(
                    "{field} is {}, version {} has {}",
                    shown(&after[*field]),
                    sent["version"],
                    shown(&wanted[*field])
                )
            })
            .collect();
        Some(format!("not restored: {}", lines.join("; ")))
    }
}

/// Returns the fields that a version has of its own, for comparisons: not its number and its times.
pub fn only_fields(row: &Value) -> Value {
    FIELDS
        .into_iter()
        .map(|field| (field.to_string(), row[field].clone()))
        .collect()
}

/// Returns the changes between two versions of an assistant, without their numbers and times.
pub fn changes_between(before: &Value, after: &Value) -> Vec<runtail_core::model::Change> {
    compare(&only_fields(before), &only_fields(after))
}

fn name_of(row: &Value) -> String {
    let field = |name: &str| row[name].as_str().filter(|text| !text.is_empty());
    let name = field("name")
        .or(field("graph_id"))
        .map(|name| text::clean(name).into_owned());
    name.unwrap_or_else(|| short_id(text_of(row, "assistant_id")))
}

fn shown(value: &Value) -> String {
    let mut value = value.clone();
    runtail_core::model::mask_record(&mut value);
    text::fit(&text::clean(&value.to_string()), SHOWN).into_owned()
}

fn gone(error: ApiError, assistant: &str) -> ApiError {
    match error.kind {
        Kind::NotFound => ApiError {
            detail: format!("there is no assistant {}", text::clean(assistant)),
            hint: None,
            ..error
        },
        _ => error,
    }
}
