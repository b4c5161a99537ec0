//! Resolves D, `-d` and A: a deployment or an agent server among those of the chosen profiles, and one of its assistants.

use crate::prelude::*;
use runtail_api::{DeploymentQuery, UnreadRows};
use runtail_core::config::nearest;
use runtail_core::model::Secrets;
use url::Url;

/// Maximum number of rows to read when looking for a name.
const MOST: usize = 1000;
/// Time limit for finding a similar name.
const HINT: Duration = Duration::from_secs(5);

/// A resolved deployment.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its site.
    pub site: Site,
    /// Its identifier.
    pub id: String,
    /// The server's record, secrets included.
    pub row: Value,
}

impl Found {
    /// PROFILE/NAME.
    pub fn title(&self) -> String {
        format!(
            "{}/{}",
            self.site.profile.name,
            text::clean(self.row["name"].as_str().unwrap_or(&self.id))
        )
    }

    /// Returns a printable row of one of its revisions: with profile and region, and without the deployment's secrets.
    pub fn revision(&self, mut row: Value) -> Value {
        Secrets::of_records(&[&self.row, &row]).mask(&mut row);
        output::placed(&self.site.profile, row)
    }
}

/// Why a deployment was not found.
#[derive(Debug)]
pub enum Unresolved {
    /// A request failed.
    Asked(ApiError),
    /// No profile has it; the message says so.
    Said(Failure),
}

impl From<Unresolved> for Failure {
    fn from(unresolved: Unresolved) -> Failure {
        match unresolved {
            Unresolved::Asked(error) => error.into(),
            Unresolved::Said(failure) => failure,
        }
    }
}

impl From<ApiError> for Unresolved {
    fn from(error: ApiError) -> Unresolved {
        Unresolved::Asked(error)
    }
}

/// Finds a deployment by id, name, or PROFILE/NAME.
///
/// # Errors
/// None or several match; several are listed. If no profile has it and one could not be asked, that profile's error.
pub async fn deployment(context: &Context, wanted: &str) -> Result<Found, Failure> {
    let (profiles, name) = narrowed(context, wanted);
    let sites = join_all(
        profiles
            .into_iter()
            .filter(|p| p.control_plane.is_some())
            .map(Site::open),
    )
    .await;
    Ok(among(&sites, wanted, name).await?)
}

/// The same for sites that are open or failed to open. `name` is the requested name without its profile.
pub async fn among(
    sites: &[Result<Site, ApiError>],
    wanted: &str,
    name: &str,
) -> Result<Found, Unresolved> {
    if sites.is_empty() {
        return Err(Unresolved::Said(Failure::usage(
            "none of the chosen profiles has a control plane",
        )));
    }
    let asked = join_all(sites.iter().map(|site| async move {
        match site {
            Ok(site) => candidates(site, name).await,
            Err(error) => Err(error.clone()),
        }
    }))
    .await;
    let mut found = Vec::new();
    let mut failed: Vec<ApiError> = Vec::new();
    for answer in asked {
        match answer {
            Ok(mut some) => found.append(&mut some),
            Err(error) => failed.push(error),
        }
    }
    // An id match wins over names.
    if found.iter().any(|f| f.id == name) {
        found.retain(|f| f.id == name);
    }
    match found.len() {
        1 => {
            for error in failed {
                output::complain(format!("warning: {error}"));
            }
            Ok(found.remove(0))
        }
        // A temporary failure says more than "not found".
        0 => Err(
            match failed.iter().find(|e| e.is_transient()).or(failed.first()) {
                Some(error) => Unresolved::Asked(error.clone()),
                None => {
                    let near = tokio::time::timeout(HINT, nearest_title(sites, name))
                        .await
                        .ok()
                        .flatten();
                    let hint = near
                        .map(|title| format!("\n  did you mean \"{title}\"?"))
                        .unwrap_or_default();
                    let why = format!("there is no deployment \"{}\"{hint}", text::clean(wanted));
                    Unresolved::Said(Failure::failed(why))
                }
            },
        ),
        n => {
            let list: Vec<String> = found
                .iter()
                .map(|f| format!("\n  {}  {}", f.title(), text::clean(&f.id)))
                .collect();
            let shown = text::clean(wanted);
            let why = format!(
                "\"{shown}\" is ambiguous: {n} deployments have this name:{}",
                list.concat()
            );
            Err(Unresolved::Said(Failure::usage(why)))
        }
    }
}

/// Returns the agent server that the arguments name: `--url`, `-d`, or the only one.
pub async fn agent_server(context: &Context) -> Result<(Site, AgentServer), Failure> {
    let wanted = context.globals.deployment.as_deref();
    let (profiles, name) = narrowed(context, wanted.unwrap_or_default());
    let named = profiles.iter().flat_map(|profile| {
        let servers = profile.agent_servers.iter();
        let servers = servers.filter(|(server, _)| wanted.is_none() || server == name);
        servers.map(move |(_, url)| (profile, url))
    });
    let named: Vec<_> = named.collect();
    if let [(profile, url)] = named.as_slice() {
        let site = Site::open((*profile).clone()).await?;
        return Ok(with_server(site, (*url).clone()));
    }
    let Some(wanted) = wanted else {
        let name = if named.is_empty() {
            "DEPLOYMENT"
        } else {
            "NAME"
        };
        return Err(Failure::usage(format!(
            "which agent server? Use -d {name} or --url URL{}",
            known_servers(context)
        )));
    };
    let (shown, known) = (text::clean(wanted), known_servers(context));
    if !named.is_empty() {
        return Err(Failure::usage(format!("\"{shown}\" is ambiguous{known}")));
    }
    if !context.profiles.iter().any(|p| p.control_plane.is_some()) {
        return Err(Failure::failed(format!(
            "there is no agent server \"{shown}\"{known}"
        )));
    }
    let found = deployment(context, wanted).await?;
    let record = serde_json::from_value::<runtail_core::model::Deployment>(found.row.clone())
        .unwrap_or_default();
    let Some(url) = record.agent_url() else {
        return Err(Failure::failed(format!(
            "{} has no agent server yet: its record has no URL",
            found.title()
        )));
    };
    let url = Url::parse(url).map_err(|e| {
        Failure::failed(format!(
            "{}: the record's URL {:?} is invalid ({e})",
            found.title(),
            text::clean(url)
        ))
    })?;
    Ok(with_server(found.site, url))
}

fn with_server(site: Site, url: Url) -> (Site, AgentServer) {
    let server = AgentServer::new(site.http.clone(), url).retrying(Retry::PATIENT);
    (site, server)
}

fn known_servers(context: &Context) -> String {
    let names: Vec<String> = context
        .profiles
        .iter()
        .flat_map(|p| {
            p.agent_servers
                .iter()
                .map(|(name, url)| format!("\n  {}/{}  {url}", p.name, text::clean(name)))
        })
        .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("; there are:{}", names.concat())
    }
}

/// PROFILE/NAME narrows to that profile, chosen or not; names never contain a slash.
pub fn narrowed<'w>(
    context: &Context,
    wanted: &'w str,
) -> (Vec<runtail_core::config::Profile>, &'w str) {
    if let Some((profile, name)) = wanted.split_once('/')
        && let Some(profile) = context.config.profiles.iter().find(|p| p.name == profile)
    {
        return (vec![profile.clone()], name);
    }
    (context.profiles.clone(), wanted)
}

/// Returns the PROFILE/NAME that is nearest to a mistyped name. Errors are ignored, because this is only a hint.
async fn nearest_title(sites: &[Result<Site, ApiError>], name: &str) -> Option<String> {
    if uuid::Uuid::parse_str(name).is_ok() {
        return None;
    }
    let known = join_all(sites.iter().flatten().map(async |site| {
        let control = site.control.clone()?.retrying(Retry::NONE);
        let mut pages = control.deployment_pages(&DeploymentQuery::default());
        let mut titles: Vec<(String, String)> = Vec::new();
        while titles.len() < MOST
            && let Ok(Some(rows)) = pages.next().await
        {
            let rows = rows
                .iter()
                .filter_map(|row| UnreadRows::default().parse::<Value>(row));
            titles.extend(
                rows.filter_map(|row| Some(row["name"].as_str()?.to_string()))
                    .map(|own| {
                        let title = format!("{}/{own}", site.profile.name);
                        // With a slash, the profile may be what was mistyped.
                        (
                            if name.contains('/') {
                                title.clone()
                            } else {
                                own
                            },
                            title,
                        )
                    }),
            );
        }
        Some(titles)
    }))
    .await;
    let known: Vec<(String, String)> = known.into_iter().flatten().flatten().collect();
    let near = nearest(name, known.iter().map(|(word, _)| word.as_str()))?;
    known
        .iter()
        .find(|(word, _)| word == near)
        .map(|(_, title)| text::clean(title).into_owned())
}

/// Finds everything on one control plane that has this name or id.
async fn candidates(site: &Site, name: &str) -> Result<Vec<Found>, ApiError> {
    let Some(control) = &site.control else {
        return Ok(Vec::new());
    };
    let found = |row: Value| {
        let id = text_of(&row, "id").to_string();
        Found {
            site: site.clone(),
            id,
            row,
        }
    };
    let by_id = |id: String| async move {
        match control.deployment_row(&id).await {
            Ok(row) => Ok(Some(row)),
            // The server answers 422 if the name is not a UUID; a name that can't be a path segment is refused here.
            Err(e)
                if matches!(
                    e.kind,
                    Kind::NotFound | Kind::Invalid(_) | Kind::Refused | Kind::NoKey
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    };
    if uuid::Uuid::parse_str(name).is_ok() {
        return Ok(by_id(name.to_string())
            .await?
            .map(found)
            .into_iter()
            .collect());
    }
    let query = DeploymentQuery {
        name_contains: Some(name.to_string()),
        ..DeploymentQuery::default()
    };
    let mut unread = UnreadRows::default();
    let rows = match control.deployment_rows(&query).await {
        Ok(listing) => {
            unread = listing.unread;
            listing.incomplete.map_or(Ok(listing.items), Err)?
        }
        Err(e)
            if matches!(e.kind, Kind::NotFound | Kind::Status(405))
                && !site.profile.deployments.is_empty() =>
        {
            let pinned = join_all(site.profile.deployments.iter().cloned().map(by_id)).await;
            pinned
                .into_iter()
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten()
                .collect()
        }
        Err(e) => return Err(e),
    };
    let is_meant = |f: &Found| !f.id.is_empty() && (f.id == name || f.row["name"] == name);
    let mut matching: Vec<Found> = rows.into_iter().map(found).filter(is_meant).collect();
    if matching.is_empty() {
        // For installations whose ids are not UUIDs.
        matching.extend(by_id(name.to_string()).await?.map(found));
        output::report_unread(&unread);
    }
    Ok(matching)
}

/// Returns the server's name of the assistant that the user named.
pub async fn assistant(server: &AgentServer, wanted: &str) -> Result<String, Failure> {
    let shown = text::clean(wanted);
    if uuid::Uuid::parse_str(wanted).is_ok() {
        return match server.assistant_row(wanted).await {
            Ok(_) => Ok(wanted.to_string()),
            Err(e) if e.kind == Kind::NotFound => {
                let listed = assistant_rows(server)
                    .await?
                    .unwrap_or_else(|| Listing::new(Vec::new(), UnreadRows::default()));
                output::report_unread(&listed.unread);
                let known = names(&listed.items);
                Err(Failure::failed(format!(
                    "there is no assistant {shown}{known}"
                )))
            }
            Err(e) => Err(e.into()),
        };
    }
    // Without a list, the server itself reports an unknown name.
    let Some(Listing {
        items: rows,
        unread,
        ..
    }) = assistant_rows(server).await?
    else {
        return Ok(wanted.to_string());
    };
    if rows.iter().any(|row| row["graph_id"] == wanted) {
        return Ok(wanted.to_string());
    }
    let named: Vec<Value> = rows
        .iter()
        .filter(|row| row["name"] == wanted)
        .cloned()
        .collect();
    match named.as_slice() {
        [one] => Ok(one["assistant_id"].as_str().unwrap_or(wanted).to_string()),
        [] => {
            output::report_unread(&unread);
            Err(Failure::failed(format!(
                "there is no assistant \"{shown}\"{}",
                names(&rows)
            )))
        }
        several => Err(Failure::usage(format!(
            "\"{shown}\" is ambiguous: {} assistants have this name{}",
            several.len(),
            names(several)
        ))),
    }
}

/// Returns the id of the assistant that the user named, for calls that have it in their path: there some servers accept
/// only ids (Aegra everywhere, Python for schemas). A graph's name means the assistant that the server created for it.
pub async fn assistant_id(server: &AgentServer, wanted: &str) -> Result<String, Failure> {
    let name = assistant(server, wanted).await?;
    if uuid::Uuid::parse_str(&name).is_ok() {
        return Ok(name);
    }
    let Some(Listing {
        items: rows,
        unread,
        ..
    }) = assistant_rows(server).await?
    else {
        return Ok(name);
    };
    let of_graph = || rows.iter().filter(|row| row["graph_id"] == name.as_str());
    let made_by_server = of_graph().find(|row| row["metadata"]["created_by"] == "system");
    let oldest = || {
        of_graph().min_by_key(|row| {
            row["created_at"]
                .as_str()
                .and_then(runtail_core::model::parse_time)
        })
    };
    if made_by_server.is_none() {
        output::report_unread(&unread);
    }
    let id = made_by_server
        .or_else(oldest)
        .and_then(|row| row["assistant_id"].as_str());
    Ok(id.map_or(name.clone(), str::to_string))
}

/// Returns the assistants, up to a limit; nothing if the server has no such list.
async fn assistant_rows(server: &AgentServer) -> Result<Option<Listing<Value>>, Failure> {
    match server.assistant_rows(MOST, 0).await {
        Ok(listing) => Ok(Some(listing)),
        Err(e) if matches!(e.kind, Kind::NotFound | Kind::Status(405)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// Formats a list of assistants for a message.
fn names(rows: &[Value]) -> String {
    if rows.is_empty() {
        return "; the server has none".into();
    }
    let line = |row: &Value| {
        let field = |name: &str| text::clean(text_of(row, name)).into_owned();
        let (graph, name, id) = (field("graph_id"), field("name"), field("assistant_id"));
        let name = if name == graph || name.is_empty() {
            String::new()
        } else {
            format!(" ({name})")
        };
        format!("\n  {graph}{name}  {id}")
    };
    let mut list: String = rows.iter().take(20).map(line).collect();
    if rows.len() > 20 {
        list.push_str(&format!(
            "\n  and {} more: runtail assistants list",
            rows.len() - 20
        ));
    }
    format!("; there are:{list}")
}
