//! The doctor: diagnoses connection problems step by step. It only reads, always ends, and its report is safe to share: every
//! text of a check has passed `Reporter::safe`.

mod agent;
mod certificate;
mod check;
mod control;
mod credentials;
mod machine;
mod reach;
mod regions;

pub use check::{Check, Fault, State};
pub use machine::{Origin, machine};
pub use regions::Refused;

use super::Http;
use super::answer::Service;
use super::http::Call;
use super::response::{Answer, Head};
use crate::prelude::*;
use credentials::Credentials;
use futures::StreamExt;
use runtail_core::config::{self, Profile, REGIONS, of_region};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// Timeout of a request: much more than a healthy server needs.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// Timeout of each connection step.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Maximum number of agent servers to check concurrently.
const TOGETHER: usize = 4;
/// Minimum length, in bytes, of a secret to search for in the report.
const MIN_SECRET: usize = 6;

/// Options of the doctor.
#[derive(Debug, Clone)]
pub struct Ask {
    /// A deployment whose agent server is checked too: an id, a name, or PROFILE/NAME.
    pub deployment: Option<String>,
    /// Whether a rejected key may be sent to the other regions.
    pub try_regions: bool,
    /// The regions of the cloud by their tags.
    pub regions: Vec<(String, Url)>,
    /// Timeout of a request.
    pub request_limit: Duration,
    /// Timeout of each connection step.
    pub connect_limit: Duration,
}

impl Default for Ask {
    fn default() -> Ask {
        let region = |(tag, _): &(&str, &str)| Some((tag.to_string(), of_region(tag)?));
        Ask {
            deployment: None,
            try_regions: false,
            regions: REGIONS.iter().filter_map(region).collect(),
            request_limit: REQUEST_LIMIT,
            connect_limit: CONNECT_LIMIT,
        }
    }
}

/// Checks several profiles concurrently and reports them in order. Stops when dropped.
#[boxed]
pub async fn examine_all(
    profiles: Vec<Profile>,
    ask: &Ask,
    out: UnboundedSender<Check>,
) -> Vec<Refused> {
    let mut tasks = JoinSet::new();
    let mut all_told = Vec::new();
    for (number, profile) in profiles.into_iter().enumerate() {
        let (own, told) = unbounded_channel();
        let ask = ask.clone();
        tasks.spawn(async move { (number, examine(&profile, &ask, own).await) });
        all_told.push(told);
    }
    for mut told in all_told {
        while let Some(check) = told.recv().await {
            let _ = out.send(check);
        }
    }
    let mut refused = tasks.join_all().await;
    refused.sort_by_key(|(number, _)| *number);
    refused
        .into_iter()
        .filter_map(|(_, refused)| refused)
        .collect()
}

/// Checks a profile: its keys, its control plane, its agent servers. Reports each check at once. Returns the rejected key,
/// if other regions can be tried.
#[boxed]
pub async fn examine(profile: &Profile, ask: &Ask, out: UnboundedSender<Check>) -> Option<Refused> {
    let (credentials, profile) = credentials::fetch(profile).await;
    let desk = Reporter::new(&profile, ask, &credentials, out);
    let had_all = credentials.tell(&desk);
    let http = had_all.then(|| Http::new(&profile)).and_then(|http| {
        let bad = |error: &ApiError| {
            desk.tell(Check::bad(Fault::Configuration, "key", &error.detail));
        };
        http.inspect_err(bad).ok()
    });
    if let Some(http) = &http {
        desk.tell(credentials::headers(http, &profile));
    }
    let mut servers = profile.agent_servers.clone();
    let mut refused = None;
    if let Some(base) = &profile.control_plane {
        let examined = control::examine(&desk, &profile, base, http.as_ref()).await;
        let exists = |url: &Url| !profile.only_local || config::is_loopback(url);
        match examined.server {
            Some((_, url)) if !exists(&url) => desk.tell(Check::skipped(
                "deployment",
                "its agent server is not simulated",
            )),
            server => servers.extend(server),
        }
        refused = examined.refused;
    }
    if let (true, Some(kept)) = (ask.try_regions, &refused) {
        let _ = desk.out.send(kept.try_regions(&ask.regions).await);
        refused = None;
    }
    agents(&desk, servers, http.as_ref()).await;
    refused
}

/// Checks agent servers concurrently and reports them in order.
async fn agents(desk: &Reporter, servers: Vec<(String, Url)>, http: Option<&Http>) {
    let looks = servers.into_iter().map(|(name, url)| async move {
        let (out, mut told) = unbounded_channel();
        let own = Reporter {
            out,
            server: Some(name),
            ..desk.clone()
        };
        agent::examine(&own, &url, http).await;
        drop(own);
        drain(&mut told)
    });
    let mut looks = futures::stream::iter(looks).buffered(TOGETHER);
    while let Some(checks) = looks.next().await {
        for check in checks {
            let _ = desk.out.send(check);
        }
    }
}

fn drain(told: &mut UnboundedReceiver<Check>) -> Vec<Check> {
    std::iter::from_fn(|| told.try_recv().ok()).collect()
}

/// Creates checks: their subject, and the secrets that must not appear in them.
#[derive(Clone)]
struct Reporter {
    profile: String,
    server: Option<String>,
    ask: Arc<Ask>,
    secrets: Arc<Secrets>,
    home: Option<String>,
    out: UnboundedSender<Check>,
}

impl Reporter {
    fn new(
        profile: &Profile,
        ask: &Ask,
        credentials: &Credentials,
        out: UnboundedSender<Check>,
    ) -> Reporter {
        let proxies = reach::proxy_secrets(profile);
        let keys = credentials
            .secrets()
            .map(|secret: &SecretString| secret.expose_secret());
        Reporter {
            profile: profile.name.clone(),
            server: None,
            ask: Arc::new(ask.clone()),
            secrets: Arc::new(Secrets::new(
                keys.chain(proxies.iter().map(String::as_str)),
                MIN_SECRET,
            )),
            home: machine::home(),
            out,
        }
    }

    /// Returns the client if the server was reached; otherwise reports why nothing more is checked.
    fn usable<'h>(&self, http: Option<&'h Http>, reached: bool) -> Option<&'h Http> {
        let http = http.filter(|_| reached);
        if http.is_none() {
            let why = if reached {
                "the key or the token could not be read"
            } else {
                "the server cannot be reached"
            };
            self.tell(Check::skipped("access", format!("not checked: {why}")));
        }
        http
    }

    /// Reports a check, sanitized and without secrets and the home directory.
    fn tell(&self, check: Check) {
        // The receiver may be gone.
        let _ = self.out.send(self.safe(check));
    }

    fn safe(&self, check: Check) -> Check {
        let check = Check {
            profile: Some(self.profile.clone()),
            server: self.server.clone(),
            ..check
        };
        check.map(|text| safe(text, &self.secrets, self.home.as_deref()))
    }

    async fn get(&self, http: &Http, plane: Service, base: &Url, parts: &[&str]) -> Seen {
        let url = below(base, parts, &[]);
        self.probe(http, Call::new(plane, Method::GET, url)).await
    }

    /// Requests a list of deployments.
    async fn list(&self, http: &Http, plane: Service, url: Url) -> Seen {
        let call = Call {
            is_list: true,
            ..Call::new(plane, Method::GET, url)
        };
        self.probe(http, call).await
    }

    /// Makes a read request once, within the timeout.
    async fn probe(&self, http: &Http, call: Call<'_>) -> Seen {
        let at = http.place(&call.method, &call.url);
        let with = match credentials::header_names(http, call.plane) {
            Some(names) => format!("with {names}"),
            None => "without a key".into(),
        };
        let asked = format!("{} {}{} {with}", at.method, at.host, at.path);
        let limit = self.ask.request_limit;
        let (head, result) = tokio::time::timeout(limit, http.probe(&call))
            .await
            .unwrap_or_else(|_| {
                let detail = format!("no answer within {}", text::duration(limit));
                (None, Err(ApiError::new(Kind::Timeout, at, detail)))
            });
        Seen {
            asked,
            head,
            result,
        }
    }
}

/// Returns an address below a base. Parts are encoded, so they can't change the path.
fn below(base: &Url, parts: &[&str], query: &[(&str, String)]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(parts);
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}

/// The result of a request.
struct Seen {
    /// The request, without values.
    asked: String,
    head: Option<Head>,
    result: Result<Answer, ApiError>,
}

impl Seen {
    fn status(&self) -> Option<u16> {
        self.head.map(|head| head.status)
    }

    /// Returns the response as JSON, if it is.
    fn json(&self) -> Result<Value, ApiError> {
        self.result.as_ref().map_err(Clone::clone)?.json()
    }

    /// Returns request and response as evidence.
    fn evidence(&self, check: Check) -> Check {
        let check = check.seen(&self.asked);
        let id = match &self.result {
            Ok(answer) => answer.request_id(),
            Err(error) => error.at.request_id.clone(),
        };
        match self.head {
            None => check,
            Some(head) => {
                let id = id.map(|id| format!(", request {id}")).unwrap_or_default();
                check.seen(format!(
                    "answered {} after {} ms{id}",
                    head.status,
                    head.took.as_millis()
                ))
            }
        }
    }

    /// Returns a failed request as a check.
    fn failed(&self, name: &'static str, error: &ApiError) -> Check {
        let said = match (self.status(), error.kind.clone()) {
            (Some(status), _) if !error.detail.starts_with(&status.to_string()) => {
                format!("{status}: {}", error.detail)
            }
            _ => error.detail.clone(),
        };
        let mut check = self.evidence(Check::bad(fault(error), name, said));
        if let Kind::Invalid(fields) = &error.kind {
            check.evidence.extend(fields.iter().take(5).cloned());
        }
        check.cause = error.hint.clone();
        check
    }
}

/// Returns the kind of problem of a failed request.
fn fault(error: &ApiError) -> Fault {
    match error.kind {
        Kind::Unauthorized | Kind::Forbidden | Kind::ReadOnly => Fault::Access,
        Kind::Refused | Kind::NoKey => Fault::Configuration,
        _ if error.is_transient() => Fault::Network,
        _ => Fault::Other,
    }
}

/// Returns a text without secrets and the home directory, in one line.
fn safe(text: &str, secrets: &Secrets, home: Option<&str>) -> String {
    text::clean(&machine::short(&secrets.scrub(text), home)).into_owned()
}
