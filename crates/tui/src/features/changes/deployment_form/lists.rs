//! The lists of the server: integrations and their repositories.

use super::fields::{BRANCH, INTEGRATION, REPOSITORY};
use super::{DeploymentForm, DeploymentStop};
use crate::session::msg::{Effect, EffectResult};
use crate::session::{Requests, Session};
use runtail_api::{ApiError, Listing};
use runtail_core::model::{Collection, GithubApp};
use runtail_core::text;
use serde_json::Value;

/// Matches that are listed below a field.
pub const SHOWN: usize = 5;

/// A value that the server lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedName {
    /// What the document gets: an id or a URL.
    pub value: String,
    pub label: String,
    /// The default branch of a repository.
    pub branch: Option<String>,
}

/// The values that the server lists for a field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choices {
    /// The list was not requested yet.
    #[default]
    Unknown,
    /// It is loaded, as the request with this number.
    Loading(u64),
    Listed(Vec<ListedName>),
    /// Why it could not be loaded.
    Failed(String),
}

impl Choices {
    pub fn all(&self) -> &[ListedName] {
        match self {
            Choices::Listed(all) => all,
            _ => &[],
        }
    }

    /// Returns the note beside the field.
    pub fn note(&self, name: &str) -> String {
        match self {
            Choices::Unknown => String::new(),
            Choices::Loading(_) => format!("loading {name}s…"),
            Choices::Listed(all) => match all.len() {
                0 => "none; connect GitHub in LangSmith".into(),
                1 => format!("the only {name}"),
                count => format!("{count} {name}s"),
            },
            Choices::Failed(why) => why.clone(),
        }
    }

    /// Returns why a value can't be one of them, if they are known.
    pub fn problem_of(&self, value: &str) -> Option<String> {
        let all = self.all();
        (!all.is_empty() && all.iter().all(|one| one.value != value))
            .then(|| "Not in the list.".into())
    }
}

fn rows_of(listing: Listing<Value>, read: impl Fn(&Value) -> Option<ListedName>) -> Choices {
    Choices::Listed(listing.items.iter().filter_map(read).collect())
}

fn integration(row: &Value) -> Option<ListedName> {
    let value = row["id"].as_str()?.to_string();
    let label = row["name"]
        .as_str()
        .map_or_else(|| value.clone(), |name| text::clean(name).into_owned());
    Some(ListedName {
        value,
        label,
        branch: None,
    })
}

fn repository(row: &Value) -> Option<ListedName> {
    let value = row["url"].as_str()?.trim_end_matches(".git").to_string();
    let label = value.strip_prefix("https://").unwrap_or(&value).to_string();
    Some(ListedName {
        value,
        label,
        branch: row["default_branch"].as_str().map(str::to_string),
    })
}

/// Returns why a list is missing, and what to do.
fn failure(what: &str, error: &ApiError, instead: &str) -> Choices {
    Choices::Failed(format!(
        "Couldn't list {what} ({}). Enter the {instead}.",
        error.badge()
    ))
}

impl DeploymentForm {
    /// Requests the lists that the form doesn't have yet, and whether the secrets can be read.
    pub fn request_lists(&mut self, session: &Session) -> Requests {
        let mut requests = Requests::none();
        let profile = self.profile.clone();
        let mut browse = |of| {
            let number = session.next_stream.take();
            requests.push(Effect::Browse(number, profile.clone(), of));
            Choices::Loading(number)
        };
        if self.is_new && !self.profile.is_empty() && matches!(self.source(), "" | "github") {
            if self.integrations == Choices::Unknown {
                self.integrations = browse(Collection::Integrations(GithubApp::Deployments));
            }
            let id = self.value(INTEGRATION);
            let is_known = self.integrations.all().iter().any(|one| one.value == id);
            let is_entered = matches!(self.integrations, Choices::Failed(_))
                && self.focus != DeploymentStop::Field(INTEGRATION);
            if self.repositories == Choices::Unknown && !id.is_empty() && (is_known || is_entered) {
                let of = Collection::Repositories(GithubApp::Deployments, id.to_string());
                self.repositories = browse(of);
            }
        }
        let given = self.values.secrets.iter().map(|(_, reference)| reference);
        let unchecked: Vec<String> = given
            .filter(|one| !self.references.contains_key(*one))
            .cloned()
            .collect();
        if !unchecked.is_empty() {
            requests.push(Effect::CheckSecrets(unchecked));
        }
        requests
    }

    /// Applies a list that was requested, or which references can be read.
    pub fn on_list(
        &mut self,
        session: &Session,
        reply: &EffectResult,
        is_shown: bool,
    ) -> Option<Requests> {
        let (number, result) = match reply {
            EffectResult::Browsed(number, result) => (*number, result),
            EffectResult::SecretsChecked(checked) => {
                self.references.extend(checked.iter().cloned());
                return Some(Requests::none());
            }
            _ => return None,
        };
        if self.integrations == Choices::Loading(number) {
            self.integrations = match result {
                Ok(listing) => rows_of(listing.clone(), integration),
                Err(error) => failure("integrations", error, "id"),
            };
            // There is nothing to choose from. A document that is shown instead of the form may have changed meanwhile.
            if let [only] = self.integrations.all()
                && is_shown
                && self.value(INTEGRATION).is_empty()
            {
                let only = only.value.clone();
                self.values.set(INTEGRATION, only);
                self.is_changed = true;
                self.load_input();
            }
        } else if self.repositories == Choices::Loading(number) {
            self.repositories = match result {
                Ok(listing) => rows_of(listing.clone(), repository),
                Err(error) => failure("repositories", error, "URL"),
            };
        } else {
            return None;
        }
        Some(self.request_lists(session))
    }

    /// Returns the repositories that contain what is typed.
    pub fn matches(&self) -> Vec<&ListedName> {
        let typed = self.value(REPOSITORY).to_lowercase();
        let typed = typed.strip_prefix("https://").unwrap_or(&typed);
        self.repositories
            .all()
            .iter()
            .filter(|one| one.label.to_lowercase().contains(typed))
            .collect()
    }

    pub(super) fn repository_note(&self) -> String {
        match &self.repositories {
            Choices::Listed(all) if !all.is_empty() => {
                let all = runtail_core::text::counted(all.len(), "repository");
                format!("Tab completes · {all}")
            }
            Choices::Listed(_) => "no repositories".into(),
            Choices::Loading(_) => "loading repositories…".into(),
            Choices::Failed(why) => why.clone(),
            Choices::Unknown => String::new(),
        }
    }

    /// Returns the default branch of the chosen repository.
    pub(super) fn default_branch(&self) -> Option<&str> {
        let url = self.value(REPOSITORY);
        self.repositories
            .all()
            .iter()
            .find(|one| one.value == url)?
            .branch
            .as_deref()
    }

    pub(super) fn branch_note(&self) -> String {
        match self.default_branch() {
            Some(branch) if self.value(BRANCH) == branch => "default branch".into(),
            Some(branch) => format!("Tab completes · default {branch}"),
            None => String::new(),
        }
    }

    /// Returns what completes the focused field, and its path.
    pub(super) fn completion(&self) -> Option<(&'static str, String)> {
        let (path, value) = match self.focus {
            DeploymentStop::Field(REPOSITORY) => {
                let url = self.value(REPOSITORY);
                let is_listed = self.repositories.all().iter().any(|one| one.value == url);
                let first = *self.matches().first()?;
                (
                    REPOSITORY,
                    Some(&*first.value).filter(|_| !is_listed && !url.is_empty()),
                )
            }
            DeploymentStop::Field(BRANCH) => {
                let typed = self.value(BRANCH);
                let fits = |branch: &&str| branch.starts_with(typed) && *branch != typed;
                (BRANCH, self.default_branch().filter(fits))
            }
            _ => return None,
        };
        Some((path, value?.to_string()))
    }
}
