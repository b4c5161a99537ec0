//! The GitHub integrations of a workspace and the repositories that they see, in both generations of the API.

use super::query::{number, path_uuid, text};
use super::{ControlServer, ThisControl};
use crate::prelude::*;

/// An installation of the GitHub app: its account, its number, and its repositories. `acme` sees those of the deployments, too.
type Installation = (&'static str, u64, [&'static str; 2]);

const GITHUB: &[Installation] = &[
    ("acme", 51_330_442, ["agent-starter", "docs"]),
    ("acme-labs", 58_104_917, ["prompt-lab", "eval-runner"]),
];
/// The app of LangSmith Engine; deployments do not use it.
const FORGE: &[Installation] = &[("acme", 60_245_113, ["agent-starter", "docs"])];

fn repositories(
    plane: &ControlServer,
    all: &[Installation],
    id: &str,
) -> Result<Vec<Value>, Refusal> {
    // Whether an id is the integration's or GitHub's own number is not documented for all calls: both are taken.
    let found = all
        .iter()
        .find(|(account, number, _)| integration(account) == id || number.to_string() == id);
    let Some((account, number, own)) = found else {
        return Err(missing(&format!("GitHub integration ID {id} not found.")));
    };
    let mut names: Vec<String> = own.map(str::to_owned).to_vec();
    if *account == "acme" {
        let deployments = plane.deployments();
        let urls = deployments
            .iter()
            .map(|one| text_of(&one.config["repo_url"]));
        let deployed = urls.filter_map(|url| url.strip_prefix("https://github.com/acme/"));
        names.extend(deployed.map(str::to_owned));
    }
    names.sort();
    names.dedup();
    let repository = |(n, name): (usize, &String)| {
        json!({
            "host_integration_id": integration(account), "id": number * 1000 + n as u64, "name": name, "owner": account,
            "url": format!("https://github.com/{account}/{name}"), "default_branch": "main",
        })
    };
    Ok(names.iter().enumerate().map(repository).collect())
}

/// The id of the integration of a GitHub account, which deployments name as `integration_id`.
pub fn integration(account: &str) -> String {
    stable_uuid(&format!("integration {account}"))
}

/// The routes of this group.
pub fn routes() -> Router<Arc<ControlServer>> {
    let mut routes = Router::new().route(
        "/v2/integrations/github/installations/{id}/repositories",
        get(page),
    );
    for (base, all) in [("github", GITHUB), ("forge/github", FORGE)] {
        let list = async move |State(plane): ThisControl, Path(id): Path<String>| -> Handled {
            path_uuid("integration_id", &id)?;
            Ok(ok(&json!(repositories(&plane, all, &id)?)))
        };
        let base = format!("/v1/integrations/{base}");
        routes = routes
            .route(&format!("{base}/install"), get(async || installations(all)))
            .route(&format!("{base}/{{id}}/repos"), get(list));
    }
    routes
}

fn installations(all: &[Installation]) -> Response {
    let one = |(account, number, _): &Installation| json!({"id": integration(account), "installation_id": number, "name": account});
    ok(&all.iter().map(one).collect())
}

/// `GET /v2/integrations/github/installations/{id}/repositories`.
async fn page(State(plane): ThisControl, Path(id): Path<String>, uri: Uri) -> Handled {
    let pairs = query_pairs(&uri);
    let size = number(&pairs, "page_size", 1, 100, 20)?;
    let all = repositories(&plane, GITHUB, &id)?;
    let after = text(&pairs, "cursor").and_then(|cursor| cursor.strip_prefix('r')?.parse().ok());
    let after = after.unwrap_or(0);
    let items: Vec<&Value> = all.iter().skip(after).take(size).collect();
    let next = after + items.len();
    let cursor = (next < all.len()).then(|| format!("r{next}"));
    Ok(ok(&json!({"items": items, "next_cursor": cursor})))
}
