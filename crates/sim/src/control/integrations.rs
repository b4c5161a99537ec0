//! The GitHub integrations of a workspace and the repositories that they see, in both generations of the API.

use super::ControlServer;
use super::ThisControl;
use super::query::{number, path_uuid, text};
use crate::http::{Handled, Refusal, missing, ok, query_pairs};
use crate::ids::stable_uuid;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::Arc;

/// An installation of the GitHub app. `acme` sees the repositories of the deployments, the others see their own.
struct Installation {
    account: &'static str,
    number: u64,
    repositories: &'static [&'static str],
}

const GITHUB: &[Installation] = &[
    Installation {
        account: "acme",
        number: 51_330_442,
        repositories: &["agent-starter", "docs"],
    },
    Installation {
        account: "acme-labs",
        number: 58_104_917,
        repositories: &["prompt-lab", "eval-runner"],
    },
];
/// The app of LangSmith Engine; deployments do not use it.
const FORGE: &[Installation] = &[Installation {
    account: "acme",
    number: 60_245_113,
    repositories: &["agent-starter", "docs"],
}];

impl Installation {
    /// Its id, which deployments name as `integration_id`.
    fn id(&self) -> String {
        integration(self.account)
    }

    fn repositories(&self, plane: &ControlServer) -> Vec<Value> {
        let mut names: Vec<String> = Vec::new();
        if self.account == "acme" {
            let deployments = plane.deployments();
            let urls = deployments
                .iter()
                .filter_map(|one| one.config["repo_url"].as_str());
            names.extend(
                urls.filter_map(|url| url.strip_prefix("https://github.com/acme/"))
                    .map(str::to_owned),
            );
        }
        names.extend(self.repositories.iter().map(|&name| name.to_owned()));
        names.sort();
        names.dedup();
        let repository = |(n, name): (usize, &String)| {
            json!({
                "host_integration_id": self.id(), "id": self.number * 1000 + n as u64, "name": name,
                "owner": self.account, "url": format!("https://github.com/{}/{name}", self.account),
                "default_branch": "main",
            })
        };
        names.iter().enumerate().map(repository).collect()
    }
}

/// The id of the integration of a GitHub account.
pub fn integration(account: &str) -> String {
    stable_uuid(&format!("integration {account}"))
}

/// The routes of this group.
pub fn routes() -> Router<Arc<ControlServer>> {
    Router::new()
        .route(
            "/v1/integrations/github/install",
            get(async || installations(GITHUB)),
        )
        .route("/v1/integrations/github/{id}/repos", get(github))
        .route(
            "/v1/integrations/forge/github/install",
            get(async || installations(FORGE)),
        )
        .route("/v1/integrations/forge/github/{id}/repos", get(forge))
        .route(
            "/v2/integrations/github/installations/{id}/repositories",
            get(page),
        )
}

fn installations(all: &[Installation]) -> Response {
    let list: Vec<Value> = all
        .iter()
        .map(|one| json!({"id": one.id(), "installation_id": one.number, "name": one.account}))
        .collect();
    ok(&json!(list))
}

async fn github(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    let all = repositories(&plane, GITHUB, &id)?;
    Ok(ok(&json!(all)))
}

async fn forge(State(plane): ThisControl, Path(id): Path<String>) -> Handled {
    let all = repositories(&plane, FORGE, &id)?;
    Ok(ok(&json!(all)))
}

fn repositories(
    plane: &ControlServer,
    all: &[Installation],
    id: &str,
) -> Result<Vec<Value>, Refusal> {
    path_uuid("integration_id", id)?;
    let found = all.iter().find(|one| one.id() == id);
    found
        .map(|one| one.repositories(plane))
        .ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Refusal {
    missing(&format!("GitHub integration ID {id} not found."))
}

/// `GET /v2/integrations/github/installations/{id}/repositories`. Whether the id is the integration's or GitHub's own
/// number is not documented: both are taken.
async fn page(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let size = number(&pairs, "page_size", 1, 100, 20)?;
    let found = GITHUB
        .iter()
        .find(|one| one.id() == id || one.number.to_string() == id);
    let all = found.ok_or_else(|| unknown(&id))?.repositories(&plane);
    let after = text(&pairs, "cursor")
        .and_then(|cursor| cursor.strip_prefix('r')?.parse().ok())
        .unwrap_or(0);
    let items: Vec<&Value> = all.iter().skip(after).take(size).collect();
    let next = after + items.len();
    Ok(ok(
        &json!({"items": items, "next_cursor": (next < all.len()).then(|| format!("r{next}"))}),
    ))
}
