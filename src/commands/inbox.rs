//! `inbox`: threads that wait for a person or have failed, over all agent servers of the chosen profiles.

use crate::commands::{deployments, wait};
use crate::context::has_id;
use crate::exit::report_missing;
use crate::output::{age, width};
use crate::prelude::*;
use futures::{StreamExt, stream};
use runtail_api::{DeploymentQuery, InboxMemory, Place, ServerInbox};
use runtail_core::config::{self, Stuck};
use runtail_core::model::{Deployment, FailedRevision, InboxRow, shell_option, sort_inbox};
use std::collections::{HashMap, HashSet};
use url::Url;

/// Maximum number of agent servers of one profile to read concurrently.
const MAX_SERVERS: usize = 8;
/// Maximum number of deployments per profile; each costs up to four requests.
const MAX_DEPLOYMENTS: usize = 1000;
/// Minimum width of a terminal that shows all columns.
const WIDE: usize = 130;
/// Position of the column that narrower terminals don't show.
const CAUSE: usize = 5;
/// Maximum width of what a thread needs, in a table.
const MAX_NEEDS: usize = 100;

/// Options of `inbox`.
#[derive(Debug, Args)]
pub struct Options {
    /// Only threads that failed within this time; waiting threads are always shown
    #[arg(long, value_name = "DURATION", value_parser = wait::duration, default_value = "24h")]
    failed_since: Duration,
    #[command(flatten)]
    output: Output,
}

/// An agent server.
struct Source {
    /// Its name, or that of its deployment.
    name: String,
    /// The options that select it in a command; empty, or starting with a space.
    options: String,
    url: Url,
}

/// A deployment of a control plane.
struct Target {
    record: Value,
    name: String,
    /// The deployment as an argument: its name, or its id if the name is not unique.
    word: String,
}

impl Target {
    fn deployment(&self) -> Deployment {
        serde_json::from_value(self.record.clone()).unwrap_or_default()
    }
}

/// A row, with what is needed to act on it.
pub struct Entry {
    pub row: InboxRow,
    /// The time by its server's clock.
    now: Timestamp,
    /// The options that select its server in a command; empty, or starting with a space.
    pub options: String,
    /// The agent server of a thread, and its profile.
    pub server: Option<(Site, AgentServer)>,
}

/// The limits of what is listed.
#[derive(Clone, Copy)]
struct Since<'a> {
    failed: Duration,
    stuck: &'a Stuck,
}

impl Since<'_> {
    async fn read(self, server: &AgentServer) -> ServerInbox {
        server
            .poll_inbox(self.failed, self.stuck, &mut InboxMemory::default())
            .await
    }
}

/// The result of one server, or of all.
#[derive(Default)]
pub struct Found {
    pub rows: Vec<Entry>,
    pub failures: Vec<ApiError>,
    /// Notes for stderr about rows that are missing although no request failed.
    pub notes: Vec<String>,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.rows.extend(other.rows);
        self.failures.extend(other.failures);
        self.notes.extend(other.notes);
    }
}

pub async fn run(globals: &Globals, options: Options) -> Result<Exit, Failure> {
    let context = Context::load(globals)?;
    let mut found = collect(&context, options.failed_since).await?;
    if globals.demo && !found.rows.is_empty() {
        let note = "each command with --demo has a demo of its own, with other ids; `runtail sim` serves one to several commands";
        found.notes.push(note.into());
    }
    print(found, &options.output)
}

/// Reads the inbox of all agent servers that the arguments choose.
pub async fn collect(context: &Context, failed_since: Duration) -> Result<Found, Failure> {
    let globals = &context.globals;
    let since = Since {
        failed: failed_since,
        stuck: &context.config.stuck,
    };
    if let Some(wanted) = &globals.deployment {
        return read_one(context, wanted, since).await;
    }
    let has_servers =
        |profile: &Profile| profile.control_plane.is_some() || !profile.agent_servers.is_empty();
    let profiles: Vec<Profile> = context
        .profiles
        .iter()
        .filter(|p| has_servers(p))
        .cloned()
        .collect();
    if profiles.is_empty() {
        return Err(Failure::usage(
            "none of the chosen profiles has a control plane or an agent server",
        ));
    }
    let mut found = Found::default();
    for answer in join_all(
        profiles
            .into_iter()
            .map(|profile| read_profile(globals, profile, since)),
    )
    .await
    {
        found.add(answer);
    }
    Ok(found)
}

/// Prints the rows, the failures and the notes. The first failure sets the exit code.
fn print(
    Found {
        rows,
        failures,
        notes,
    }: Found,
    output: &Output,
) -> Result<Exit, Failure> {
    // The time by the clock of each profile's servers.
    let clocks: HashMap<String, Timestamp> = rows
        .iter()
        .map(|entry| (entry.row.profile.clone(), entry.now))
        .collect();
    let mut sorted: Vec<InboxRow> = rows.into_iter().map(|entry| entry.row).collect();
    sort_inbox(&mut sorted);
    if output.has_own_columns() {
        let rows: Vec<Value> = sorted
            .iter()
            .map(|row| table_row(row, clocks.get(&row.profile)))
            .collect();
        // Don't print an empty table above the errors.
        if !rows.is_empty() || failures.is_empty() {
            output.rows_with_commands(&rows, &columns())?;
        }
    } else {
        output.rows(
            &sorted.iter().map(InboxRow::to_json).collect::<Vec<_>>(),
            &[],
        )?;
    }
    Ok(report_missing(&failures, &notes))
}

/// Returns a row with the fields that only the table shows.
fn table_row(row: &InboxRow, now: Option<&Timestamp>) -> Value {
    let since = json!(row.since().map(|since| since.to_string()));
    let mut shown = row.to_json();
    shown["age"] = age(&since, now.copied().unwrap_or_else(Timestamp::now)).into();
    shown["state"] = row.state().into();
    shown["needs"] = row.needs().into();
    shown
}

fn columns() -> Vec<Column> {
    let state = |word: &str| match word {
        "waiting" => color::of_thread("waiting for you"),
        "stuck" => color::of_thread("failed"),
        word if word.contains("FAILED") => color::of_revision(word),
        word => color::of_thread(word),
    };
    let mut columns = vec![
        field_column("AGE", "/age"),
        status_column("STATE", state, |row| cell(&row["state"])),
        column("DEPLOYMENT", |row| {
            title(&cell(&row["profile"]), &cell(&row["deployment"]))
        }),
        // On a terminal the command below has the whole id.
        column("THREAD", |row| {
            match (cell(&row["thread_id"]), width().is_some()) {
                (id, true) => text::short_id(&id).to_string(),
                (id, false) => id,
            }
        }),
        field_column("GRAPH", "/graph"),
        field_column("CAUSE", "/cause"),
        column("NEEDS", |row| {
            text::fit(&text::clean(&cell(&row["needs"])), MAX_NEEDS).into_owned()
        }),
    ];
    // The state says nearly the same, and what a thread needs is worth more.
    if width().is_some_and(|width| width < WIDE) {
        columns.remove(CAUSE);
    }
    columns
}

/// Reads the agent server that `-d` names, and the newest revision if it is a deployment.
async fn read_one(context: &Context, wanted: &str, since: Since<'_>) -> Result<Found, Failure> {
    let globals = &context.globals;
    let (profiles, name) = resolve::narrowed(context, wanted);
    let is_named = |p: &Profile| p.agent_servers.iter().any(|(server, _)| server == name);
    if profiles.iter().any(is_named) || !context.profiles.iter().any(|p| p.control_plane.is_some())
    {
        let (site, server) = resolve::agent_server(context).await?;
        let options = globals.where_to_server(&site.profile.name, name);
        let inbox = since.read(&server).await;
        return Ok(rows_of(&site, name, &options, &server, inbox));
    }
    let deployment = resolve::deployment(context, wanted).await?;
    let own = deployment.row["name"]
        .as_str()
        .unwrap_or(&deployment.id)
        .to_string();
    // The word that the user wrote is not ambiguous.
    let target = Target {
        record: deployment.row,
        name: own,
        word: name.to_string(),
    };
    Ok(read_deployments(
        globals,
        &deployment.site,
        vec![target],
        Vec::new(),
        (since, true),
    )
    .await)
}

async fn read_profile(globals: &Globals, profile: Profile, since: Since<'_>) -> Found {
    let site = match Site::open(profile).await {
        Ok(site) => site,
        Err(error) => {
            return Found {
                failures: vec![error],
                ..Found::default()
            };
        }
    };
    let mut found = Found::default();
    let named = |(name, url): &(String, Url)| Source {
        options: globals.where_to_server(&site.profile.name, name),
        name: name.clone(),
        url: url.clone(),
    };
    let sources: Vec<Source> = site.profile.agent_servers.iter().map(named).collect();
    let mut targets = targets(&site, &mut found).await;
    if targets.len() > MAX_DEPLOYMENTS {
        let (name, all) = (&site.profile.name, targets.len());
        found.notes.push(format!(
            "{name}: only {MAX_DEPLOYMENTS} of {all} deployments were read"
        ));
        targets.truncate(MAX_DEPLOYMENTS);
    }
    // Asking a serverless deployment wakes it, and this one was not named.
    let is_serverless = |target: &&Target| target.deployment().is_serverless();
    let asleep: Vec<String> = targets
        .iter()
        .filter(is_serverless)
        .map(|target| text::clean(&target.name).into())
        .collect();
    if !asleep.is_empty() {
        let names = asleep.join(", ");
        found.notes.push(format!(
            "{}: not asked, because that would wake them: {names} (serverless; `inbox -d NAME` asks one)",
            site.profile.name
        ));
    }
    found.add(read_deployments(globals, &site, targets, sources, (since, false)).await);
    found
}

/// Lists the deployments of a control plane, or the pinned ones if it has no list.
async fn targets(site: &Site, found: &mut Found) -> Vec<Target> {
    let mut listing = match deployments::rows(site, &DeploymentQuery::default()).await {
        Ok(listing) => listing,
        Err(error) => {
            found.failures.push(error);
            return Vec::new();
        }
    };
    found
        .failures
        .extend(site.keep_records(&mut listing.items, listing.unread, has_id));
    found.failures.extend(listing.incomplete);
    let mut times: HashMap<String, usize> = HashMap::new();
    let name_of = |row: &Value| text_of(row, "name").to_string();
    listing
        .items
        .iter()
        .for_each(|row| *times.entry(name_of(row)).or_default() += 1);
    let is_taken = |name: &str| {
        site.profile
            .agent_servers
            .iter()
            .any(|(server, _)| server == name)
    };
    let target = |row: Value| {
        let (id, name) = (text_of(&row, "id").to_string(), name_of(&row));
        let is_unique = !name.is_empty() && times[&name] == 1 && !is_taken(&name);
        Target {
            word: if is_unique { name.clone() } else { id.clone() },
            name: if name.is_empty() { id } else { name },
            record: row,
        }
    };
    listing.items.into_iter().map(target).collect()
}

/// Reads the newest revisions and the agent servers of deployments, and other agent servers of the profile. `wakes`: whether
/// serverless deployments are asked, too.
async fn read_deployments(
    globals: &Globals,
    site: &Site,
    targets: Vec<Target>,
    mut sources: Vec<Source>,
    (since, wakes): (Since<'_>, bool),
) -> Found {
    let profile = &site.profile;
    sources.extend(targets.iter().filter_map(|target| {
        // A server that is being deleted doesn't wait for anyone.
        let is_leaving = target.record["status"] == "AWAITING_DELETE";
        let record = target.deployment();
        let url = record.agent_url().and_then(|url| Url::parse(url).ok())?;
        // The simulator's records name servers that don't exist.
        let exists = !profile.only_local || config::is_loopback(&url);
        let options = globals.where_to_server(&profile.name, &target.word);
        let is_asked = wakes || !record.is_serverless();
        (exists && is_asked && !is_leaving).then(|| Source {
            name: target.name.clone(),
            options,
            url,
        })
    }));
    // Deployments may share a server.
    let mut known = HashSet::new();
    sources.retain(|source| known.insert(source.url.as_str().trim_end_matches('/').to_string()));
    let (revisions, servers) = tokio::join!(failed_revisions(site, &targets), async {
        let read = sources.iter().map(|source| async {
            let server =
                AgentServer::new(site.http.clone(), source.url.clone()).retrying(Retry::PATIENT);
            let inbox = since.read(&server).await;
            rows_of(site, &source.name, &source.options, &server, inbox)
        });
        stream::iter(read.collect::<Vec<_>>())
            .buffered(MAX_SERVERS)
            .collect::<Vec<Found>>()
            .await
    });
    let mut found = Found::default();
    let (revisions, failures) = revisions;
    found.failures.extend(failures);
    let options = format!(
        "{}{}",
        globals.where_configured(),
        shell_option(" -p", &profile.name)
    );
    for (target, revision) in revisions {
        let (region, name) = (
            profile.region.as_deref(),
            (target.name.as_str(), target.word.as_str()),
        );
        let row = InboxRow::revision(&profile.name, region, name, revision, &options);
        found.rows.push(Entry {
            row,
            now: site.server_time(),
            options: options.clone(),
            server: None,
        });
    }
    servers.into_iter().for_each(|server| found.add(server));
    found
}

/// Reads the newest revision of each deployment. Stops after a failure that the other requests would share.
async fn failed_revisions<'t>(
    site: &Site,
    targets: &'t [Target],
) -> (Vec<(&'t Target, FailedRevision)>, Vec<ApiError>) {
    let (mut failed, mut failures) = (Vec::new(), Vec::new());
    let Some(control) = &site.control else {
        return (failed, failures);
    };
    let read = targets
        .iter()
        .map(|target| async move { (target, control.failed_newest(&target.record).await) });
    let mut answers =
        stream::iter(read.collect::<Vec<_>>()).buffered(ControlPlane::MAX_CONCURRENCY);
    while let Some((target, answer)) = answers.next().await {
        match answer {
            Ok(Some(revision)) => failed.push((target, revision)),
            Ok(None) => {}
            Err(error) => {
                let is_shared = matches!(error.kind, Kind::Unauthorized | Kind::Forbidden)
                    || error.is_transient();
                failures.push(error);
                if is_shared {
                    break;
                }
            }
        }
    }
    (failed, failures)
}

/// Returns the rows, failures and notes of one agent server.
fn rows_of(
    site: &Site,
    name: &str,
    options: &str,
    server: &AgentServer,
    inbox: ServerInbox,
) -> Found {
    let Profile {
        name: profile,
        region,
        ..
    } = &site.profile;
    let now = site.server_time();
    let entry = |thread| Entry {
        row: InboxRow::thread(profile, region.as_deref(), name, thread, options),
        now,
        options: options.into(),
        server: Some((site.clone(), server.clone())),
    };
    let title = title(profile, name);
    let notes = inbox
        .limits
        .iter()
        .map(|limit| format!("{title}: {limit}"))
        .collect();
    let mut failures = inbox.failures;
    if inbox.is_unlisted {
        let detail = "not offered by this server: it can't list threads, so its waiting and failed threads are unknown";
        failures.push(ApiError::new(Kind::NotOffered, Place::default(), detail));
    }
    // A profile may have many servers.
    failures
        .iter_mut()
        .for_each(|error| error.at.profile.clone_from(&title));
    Found {
        rows: inbox.threads.into_iter().map(entry).collect(),
        failures,
        notes,
    }
}

/// PROFILE/DEPLOYMENT; a profile with one agent server may give it its own name.
pub fn title(profile: &str, deployment: &str) -> String {
    if profile == deployment {
        text::clean(profile).into_owned()
    } else {
        format!("{}/{}", text::clean(profile), text::clean(deployment))
    }
}
