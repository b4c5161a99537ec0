//! The control plane: its address, the key, the workspace, and what it lists.

use super::reach;
use super::regions::Refused;
use super::{Check, Fault, Reporter, Seen, below};
use crate::control_plane::LogCalls;
use crate::prelude::*;
use crate::{DeploymentQuery, Http, LogAsk, LogFilter, LogKind, LogScope};
use runtail_core::config::Profile;
use runtail_core::model::Deployment;
use serde::Deserialize;

/// Number of rows to request: one page of the maximum size.
const PAGE: usize = 100;
/// Maximum number of pinned deployments to read.
const PINNED: usize = 5;

/// What the service says if a key belongs to a whole organization.
const NEEDS_WORKSPACE: &str = "requires workspace specification";
/// What it says if deployments are not part of the plan.
const NOT_ENABLED: &str = "not enabled";

/// Results of the control plane that later checks need.
#[derive(Default)]
pub(super) struct Findings {
    /// The agent server of the requested deployment.
    pub server: Option<(String, Url)>,
    /// The rejected key, if other regions can be tried.
    pub refused: Option<Refused>,
}

/// What the response to the deployment list shows about the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A control plane answers, with the list or with an error.
    Speaks,
    /// Another service answers.
    Other,
    /// Unknown: no answer, or one of a server that is not ready.
    Silent,
}

pub(super) async fn examine(
    desk: &Reporter,
    profile: &Profile,
    base: &Url,
    http: Option<&Http>,
) -> Findings {
    let reached = reach::examine(desk, base).await;
    let Some(http) = desk.usable(http, reached) else {
        return Findings::default();
    };
    let list = async |base: &Url| {
        let query = [("limit", PAGE.to_string()), ("offset", "0".into())];
        let url = below(base, &["v2", "deployments"], &query);
        desk.list(http, Service::Control, url).await
    };
    let seen = list(base).await;
    clock(desk, &seen);
    let control = ControlPlane::new(http.clone(), base.clone());
    match verdict(&seen) {
        Verdict::Silent => {
            if let Err(error) = seen.json() {
                desk.tell(seen.failed("address", &error));
            }
            return Findings::default();
        }
        Verdict::Other => {
            // A server without the list call is a control plane too.
            if let Some(id) = profile.deployments.first() {
                let path = ["v2", "deployments", id];
                let pinned = desk.get(http, Service::Control, base, &path).await;
                if pinned.json().is_ok() {
                    desk.tell(Check::good(
                        "address",
                        "a control plane answers; it has no list of deployments",
                    ));
                    self::pinned(desk, http, base, profile).await;
                    return Findings::default();
                }
            }
            let other = other_prefix(base);
            let answers = verdict(&list(&other).await) == Verdict::Speaks;
            desk.tell(wrong_address(&seen, base, &other, answers));
            return Findings::default();
        }
        Verdict::Speaks => desk.tell(seen.evidence(Check::good(
            "address",
            format!("a control plane answers at {base}"),
        ))),
    }
    let Some(rows) = access(desk, base, profile, &seen) else {
        let is_refused = seen.result.as_ref().err().is_some_and(may_be_elsewhere);
        let refused = (is_refused && is_region(desk, base)).then(|| Refused::new(desk, http, base));
        return Findings {
            server: None,
            refused,
        };
    };
    let more = if rows.len() >= PAGE { " or more" } else { "" };
    desk.tell(seen.evidence(Check::good(
        "deployments",
        format!("{}{more} in the list", rows.len()),
    )));
    pinned(desk, http, base, profile).await;
    room(desk, http, base).await;
    log_calls(desk, &control, &rows).await;
    let server = match &desk.ask.deployment {
        Some(wanted) => deployment(desk, profile, &control, wanted, &rows).await,
        None => None,
    };
    Findings {
        server,
        refused: None,
    }
}

/// Classifies the answer to a request for the deployment list.
pub(super) fn verdict(seen: &Seen) -> Verdict {
    let Some(head) = seen.head else {
        return Verdict::Silent;
    };
    match (head.status, seen.json()) {
        (200, Ok(Value::Array(_) | Value::Object(_))) => Verdict::Speaks,
        (400 | 401 | 403 | 422, _) if !head.is_html => Verdict::Speaks,
        (408 | 429 | 500..=599, _) => Verdict::Silent,
        _ => Verdict::Other,
    }
}

/// Toggles the prefix of self-hosted installations.
fn other_prefix(base: &Url) -> Url {
    let mut other = base.clone();
    let path = base.path().trim_end_matches('/');
    match path.strip_suffix("/api-host") {
        Some(root) => other.set_path(root),
        None => other.set_path(&format!("{path}/api-host")),
    }
    other
}

fn wrong_address(seen: &Seen, base: &Url, other: &Url, answers: bool) -> Check {
    let status = seen
        .status()
        .map(|status| status.to_string())
        .unwrap_or_default();
    let found = format!("{base} answers, but is not a control plane ({status})");
    let mut check = seen.evidence(Check::bad(Fault::Configuration, "address", found));
    if let Err(error) = seen.json() {
        check = check.seen(error.detail);
    }
    let other = other.as_str().trim_end_matches('/');
    if !answers {
        return check
            .seen(format!("{other} is not a control plane either"))
            .likely("the address of another service, a login page, or a proxy's own page")
            .to_do("`url` is the address of the installation in a browser; its control plane is under /api-host");
    }
    let todo = match other.strip_suffix("/api-host") {
        Some(root) => {
            format!("set `url = \"{root}\"` in the profile; the prefix is added automatically")
        }
        None => format!(
            "set `control_plane = \"{other}\"` in the profile; the address is used as it is"
        ),
    };
    check
        .likely(format!(
            "a wrong prefix: there is a control plane at {other}"
        ))
        .to_do(todo)
}

/// Reports on the key and the workspace; returns the rows of the list, if there are any.
fn access(desk: &Reporter, base: &Url, profile: &Profile, seen: &Seen) -> Option<Vec<Value>> {
    let sent = profile.workspace.as_deref().map(text::short_id);
    let error = match seen.json() {
        Ok(answer) => {
            desk.tell(seen.evidence(Check::good("access", "credentials accepted")));
            desk.tell(match sent {
                Some(id) => Check::good("workspace", format!("{id} is accepted")),
                None => Check::good("workspace", "none sent, none required"),
            });
            return Some(rows(answer));
        }
        Err(error) => error,
    };
    let known = || Check::good("access", "credentials accepted");
    if says(&error, NEEDS_WORKSPACE) {
        desk.tell(known());
        let check = seen.failed("workspace", &error);
        desk.tell(match sent {
            Some(id) => check.to_do(format!(
                "check `workspace` ({id}): the dashboard shows it under Settings, Workspaces"
            )),
            None => {
                check.to_do("the id of a workspace is in the dashboard under Settings, Workspaces")
            }
        });
    } else if says(&error, NOT_ENABLED) {
        desk.tell(known());
        desk.tell(seen.failed("deployments", &error));
    } else {
        let check = seen.failed("access", &error);
        let is_to_be_found =
            may_be_elsewhere(&error) && is_region(desk, base) && !desk.ask.try_regions;
        desk.tell(if is_to_be_found {
            check.to_do("replace it, or find its region with `runtail doctor --try-regions`")
        } else {
            check
        });
    }
    None
}

/// Whether a rejected key may belong to another region.
fn may_be_elsewhere(error: &ApiError) -> bool {
    match error.kind {
        Kind::Unauthorized => true,
        Kind::Forbidden => !says(error, NEEDS_WORKSPACE) && !says(error, NOT_ENABLED),
        _ => false,
    }
}

fn says(error: &ApiError, why: &str) -> bool {
    error.kind == Kind::Forbidden && error.detail.to_lowercase().contains(why)
}

/// Whether an address is one of the regions of the cloud.
fn is_region(desk: &Reporter, base: &Url) -> bool {
    let regions = &desk.ask.regions;
    regions.iter().any(|(_, url)| url.origin() == base.origin())
}

/// Returns the rows of a list in either form.
fn rows(answer: Value) -> Vec<Value> {
    match answer {
        Value::Array(rows) => rows,
        Value::Object(mut fields) => match fields.remove("resources") {
            Some(Value::Array(rows)) => rows,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn clock(desk: &Reporter, seen: &Seen) {
    let Some(skew) = seen.head.and_then(|head| head.skew) else {
        return;
    };
    let far = text::duration(Duration::from_secs(skew.unsigned_abs()));
    let name = "clock";
    desk.tell(match skew {
        0 => Check::good(name, "within 20 s of the server's"),
        _ => Check::warn(
            name,
            format!(
                "the server's is {far} {}",
                if skew > 0 {
                    "ahead of ours"
                } else {
                    "behind ours"
                }
            ),
        )
        .likely("this machine's or the server's clock is wrong")
        .to_do("set the clock; certificates and tokens depend on it"),
    });
}

/// Checks the profile's pinned deployments.
async fn pinned(desk: &Reporter, http: &Http, base: &Url, profile: &Profile) {
    let (mut good, mut problems) = (0, Vec::new());
    for id in profile.deployments.iter().take(PINNED) {
        let path = ["v2", "deployments", id];
        let seen = desk.get(http, Service::Control, base, &path).await;
        match seen.json() {
            Ok(_) => good += 1,
            Err(error) => problems.push((id, seen, error)),
        }
    }
    let left = profile.deployments.len().saturating_sub(PINNED);
    let left = if left > 0 {
        format!(", {left} more not checked")
    } else {
        String::new()
    };
    if good > 0 {
        desk.tell(Check::good("pinned", format!("{good} readable{left}")));
    }
    for (id, seen, error) in problems {
        let check = seen.failed("pinned", &error);
        let found = format!("{}: {}", text::short_id(id), check.found);
        let todo = "remove or correct the id in `deployments` of the profile";
        desk.tell(Check { found, ..check }.to_do(todo));
    }
}

/// Reports the number of free-tier deployments. Only newer servers return it; informational.
async fn room(desk: &Reporter, http: &Http, base: &Url) {
    let path = ["v2", "deployments", "free-count"];
    let seen = desk.get(http, Service::Control, base, &path).await;
    let count = seen.json().ok().and_then(|answer| answer["count"].as_u64());
    desk.tell(match count {
        None => Check::skipped("free", "this server does not count free-tier deployments"),
        Some(count) => {
            let many = match count {
                0 => "no free-tier deployments".into(),
                1 => "1 free-tier deployment".into(),
                n => format!("{n} free-tier deployments"),
            };
            seen.evidence(Check::good("free", many))
        }
    });
}

/// Determines which generation of log calls the server has, with the first deployment.
async fn log_calls(desk: &Reporter, control: &ControlPlane, rows: &[Value]) {
    let Some(id) = rows.iter().find_map(|row| row["id"].as_str()) else {
        return desk.tell(Check::skipped("logs", "no deployments"));
    };
    let scope = LogScope {
        deployment: id.to_string(),
        revision: None,
        kind: LogKind::Server,
    };
    let ask = LogAsk {
        newest_first: true,
        limit: 1,
        ..LogAsk::default()
    };
    let filter = LogFilter::default();
    let asked = tokio::time::timeout(
        desk.ask.request_limit,
        control.log_page(&scope, &filter, &ask),
    )
    .await;
    desk.tell(match (asked, control.log_calls.get()) {
        (Ok(Ok(_)), Some(LogCalls::V1)) => {
            Check::good("logs", "readable with the older calls (/v1/projects/…)")
        }
        (Ok(Ok(_)), _) => Check::good("logs", "readable with the newer calls (/v2/…)"),
        (Ok(Err(error)), _) => {
            let check = Check::warn(
                "logs",
                format!(
                    "logs of the first deployment can't be read: {}",
                    error.detail
                ),
            );
            let check = check.seen(format!(
                "{} {}{}",
                error.at.method, error.at.host, error.at.path
            ));
            Check {
                cause: error.hint,
                ..check
            }
        }
        (Err(_), _) => Check::warn(
            "logs",
            format!(
                "no answer within {}",
                text::duration(desk.ask.request_limit)
            ),
        ),
    });
}

/// The agent server of the requested deployment.
async fn deployment(
    desk: &Reporter,
    profile: &Profile,
    control: &ControlPlane,
    wanted: &str,
    rows: &[Value],
) -> Option<(String, Url)> {
    let wanted = match wanted.split_once('/') {
        Some((of, name)) if of == profile.name => name,
        Some(_) => return None,
        None => wanted,
    };
    let fits = |d: &Deployment| d.id == wanted || d.name == wanted;
    let listed = rows
        .iter()
        .filter_map(|row| Deployment::deserialize(row).ok())
        .find(&fits);
    let found = match listed {
        Some(found) => Some(found),
        None => {
            let query = DeploymentQuery {
                name_contains: Some(wanted.to_string()),
                ..DeploymentQuery::default()
            };
            let ask = async {
                let named = control
                    .deployments(&query)
                    .await
                    .unwrap_or_default()
                    .into_iter()
                    .find(&fits);
                match named {
                    Some(named) => Some(named),
                    None => control.deployment(wanted).await.ok(),
                }
            };
            tokio::time::timeout(desk.ask.request_limit, ask)
                .await
                .ok()
                .flatten()
        }
    };
    let name = "deployment";
    let Some(found) = found else {
        desk.tell(
            Check::bad(
                Fault::Other,
                name,
                format!("{wanted} is not in this profile"),
            )
            .to_do("choose a profile with -p"),
        );
        return None;
    };
    let Some(address) = found.agent_url().map(str::to_string) else {
        desk.tell(
            Check::warn(name, format!("{wanted} has no address yet"))
                .likely("it was never deployed"),
        );
        return None;
    };
    match Url::parse(&address) {
        Ok(url) => Some((found.name, url)),
        Err(e) => {
            desk.tell(Check::bad(
                Fault::Other,
                name,
                format!("{wanted}: its address is invalid ({e})"),
            ));
            None
        }
    }
}
