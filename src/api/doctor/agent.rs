//! An agent server: whether it answers, which one it is, whether the key is accepted.

use super::control::{below, question};
use super::{Check, Desk, Fault, Probe, reach};
use crate::api::answer::Plane;
use crate::api::{Http, Kind, ServerKind, server_info};
use reqwest::Url;
use serde_json::{Value, json};

pub(super) async fn examine(desk: &Desk, url: &Url, http: Option<&Http>) {
    let reached = reach::examine(desk, url).await;
    let Some(http) = http.filter(|_| reached) else {
        let why = if reached { "the key or the token could not be had" } else { "the server cannot be reached" };
        return desk.tell(Check::skipped("access", format!("nothing was asked: {why}")));
    };
    // The address is one of the profile, or one that its control plane names.
    http.allow(url);
    let seen = desk.probe(http, Probe::get(Plane::Agent, below(url, &["ok"], &[]))).await;
    match &seen.result {
        Ok(_) => desk.tell(seen.evidence(Check::good("health", "/ok says that it is"))),
        Err(error) if matches!(error.kind, Kind::NotFound | Kind::Status(405)) => {
            desk.tell(Check::skipped("health", "it has no /ok, as Aegra has none"));
        }
        Err(error) => {
            desk.tell(seen.failed("health", error));
            if seen.head.is_none() {
                return;
            }
        }
    }
    identity(desk, url, http).await;
    access(desk, url, http).await;
}

/// Which software it is.
async fn identity(desk: &Desk, url: &Url, http: &Http) {
    let seen = desk.probe(http, Probe::get(Plane::Agent, below(url, &["info"], &[]))).await;
    desk.tell(match seen.json() {
        Ok(raw) => {
            let info = server_info(raw);
            let name = match info.kind {
                ServerKind::Python => "the Python server",
                ServerKind::JavaScript => "the JavaScript server",
                ServerKind::Aegra => "Aegra",
                ServerKind::Other => "a server that says nothing of its kind",
            };
            let version = if info.version.is_empty() { String::new() } else { format!(", version {}", info.version) };
            seen.evidence(Check::good("server", format!("{name}{version}")))
        }
        Err(error) if matches!(error.kind, Kind::NotFound | Kind::Status(405)) => {
            Check::skipped("server", "it has no /info, so its kind is not known")
        }
        Err(error) => seen.failed("server", &error),
    });
}

/// Whether it lets itself be asked: the one question that every kind of server answers.
async fn access(desk: &Desk, url: &Url, http: &Http) {
    let body = json!({"limit": 10, "offset": 0});
    let seen = desk.probe(http, question(Plane::Agent, below(url, &["assistants", "search"], &[]), &body)).await;
    let nothing_sent = http.identity(Plane::Agent).is_empty();
    desk.tell(match seen.json() {
        Ok(Value::Array(rows)) => {
            let sent = if nothing_sent { "it wants no key" } else { "what was sent is accepted, or not looked at" };
            let many =
                if rows.len() >= 10 { "10 assistants or more".into() } else { format!("{} assistants", rows.len()) };
            seen.evidence(Check::good("access", format!("{sent}; {many}")))
        }
        Ok(_) => seen.evidence(Check::bad(Fault::Configuration, "access", "it answers, but not as an agent server")),
        Err(error) => {
            let check = seen.failed("access", &error);
            match error.kind {
                Kind::NotFound | Kind::Status(405) | Kind::Protocol => {
                    Check { state: super::State::Bad(Fault::Configuration), ..check }
                        .to_do("check the path of the address; a control plane is none: it goes into `url` or `region`")
                }
                _ => check,
            }
        }
    });
}
