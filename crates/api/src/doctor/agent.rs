//! Checks of an agent server: health, software, credentials.

use super::control::{Verdict, verdict};
use super::{Check, Fault, Reporter, State, below, reach};
use crate::prelude::*;
use crate::{Http, server_info};

pub(super) async fn examine(desk: &Reporter, url: &Url, http: Option<&Http>) {
    let reached = reach::examine(desk, url).await;
    let Some(http) = desk.usable(http, reached) else {
        return;
    };
    // The address is from the profile or from the control plane's records.
    http.allow(url);
    let seen = desk.get(http, Service::Agent, url, &["ok"]).await;
    match &seen.result {
        Ok(_) => desk.tell(seen.evidence(Check::good("health", "healthy (/ok)"))),
        Err(error) if error.may_lack_call() => {
            desk.tell(Check::skipped("health", "/ok: not offered"))
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

/// Reports the server's software.
async fn identity(desk: &Reporter, url: &Url, http: &Http) {
    let seen = desk.get(http, Service::Agent, url, &["info"]).await;
    desk.tell(match seen.json() {
        Ok(raw) => {
            let info = server_info(raw);
            let name = match info.kind {
                ServerKind::Python => "Python server",
                ServerKind::JavaScript => "JavaScript server",
                ServerKind::Aegra | ServerKind::EarlyAegra => "Aegra",
                ServerKind::Other => "unknown server software",
            };
            let version = if info.version.is_empty() {
                String::new()
            } else {
                format!(", version {}", info.version)
            };
            seen.evidence(Check::good("server", format!("{name}{version}")))
        }
        Err(error) if error.may_lack_call() => {
            Check::skipped("server", "/info: not offered; server software unknown")
        }
        Err(error) => seen.failed("server", &error),
    });
}

/// Checks that the server accepts a request, with a search that most servers offer.
async fn access(desk: &Reporter, url: &Url, http: &Http) {
    let body = json!({"limit": 10, "offset": 0});
    let search = below(url, &["assistants", "search"], &[]);
    let call = Call {
        body: Some(&body),
        is_list: true,
        reads: true,
        ..Call::new(Service::Agent, Method::POST, search)
    };
    let seen = desk.probe(http, call).await;
    let nothing_sent = http.identity(Service::Agent).is_empty();
    let check = match seen.json() {
        Ok(Value::Array(rows)) => {
            let sent = if nothing_sent {
                "no key required"
            } else {
                "credentials accepted, or not checked"
            };
            let many = match rows.len() {
                1 => "1 assistant".to_string(),
                10.. => "10 or more assistants".to_string(),
                n => format!("{n} assistants"),
            };
            seen.evidence(Check::good("access", format!("{sent}; {many}")))
        }
        Ok(_) => {
            let found = "/assistants/search does not answer like an agent server";
            seen.evidence(Check::bad(Fault::Configuration, "access", found))
        }
        Err(error) if error.may_lack_call() => {
            let is_page = seen.head.is_some_and(|head| head.is_html);
            let role = if is_page {
                Role::Other
            } else {
                role(desk, url, http).await
            };
            without_search(role, seen.failed("access", &error))
        }
        Err(error) => {
            let check = seen.failed("access", &error);
            match error.kind {
                Kind::Protocol => elsewhere(check),
                _ => check,
            }
        }
    };
    desk.tell(check);
}

/// What kind of server has no assistant search.
enum Role {
    /// An agent server: it has at least one of the contract's calls.
    Agent,
    /// A control plane.
    Control,
    /// Something that serves web pages.
    Other,
    /// Unknown: all tried routes are missing.
    Unknown,
}

/// Determines the kind of a server without the assistant search, with reads only. A 404 may mean an unknown thread as well
/// as an unknown route, so `POST /threads` is detected by its 405.
async fn role(desk: &Reporter, url: &Url, http: &Http) -> Role {
    let threads = desk.get(http, Service::Agent, url, &["threads"]).await;
    if matches!(threads.status(), Some(200 | 405)) {
        return Role::Agent;
    }
    let stream = below(
        url,
        &["threads", "00000000-0000-4000-8000-000000000000", "stream"],
        &[],
    );
    let opened = tokio::time::timeout(
        desk.ask.request_limit,
        http.open(Method::GET, stream, None, None),
    )
    .await;
    if matches!(opened, Ok(Ok(_))) {
        return Role::Agent;
    }
    for prefix in [&[][..], &["api-host"]] {
        let list = below(url, &[prefix, &["v2", "deployments"]].concat(), &[]);
        let seen = desk.list(http, Service::Agent, list).await;
        if verdict(&seen) == Verdict::Speaks {
            return Role::Control;
        }
    }
    Role::Unknown
}

/// Returns the check of a server without the assistant search. `failed` is that request as a failed check.
fn without_search(role: Role, failed: Check) -> Check {
    match role {
        Role::Agent => Check {
            state: State::Skipped,
            found: "/assistants/search: not offered; the contract's calls are available".into(),
            cause: None,
            ..failed
        },
        Role::Unknown => Check {
            state: State::Warn,
            found: "/assistants/search: not offered; could not verify that this is an agent server"
                .into(),
            ..failed
        }
        .likely("a server with only the contract's calls, or a wrong path in the address")
        .to_do("check the address if runs can't be started there"),
        Role::Control => elsewhere(failed).likely("this is the address of a control plane"),
        Role::Other => elsewhere(failed),
    }
}

/// Returns the check of an address that is not an agent server.
fn elsewhere(check: Check) -> Check {
    Check {
        state: State::Bad(Fault::Configuration),
        ..check
    }
    .to_do(
        "check the path of the address; the address of a control plane goes into `url` or `region`",
    )
}
