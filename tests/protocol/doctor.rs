//! The doctor against healthy, broken, malicious, unresponsive and wrong servers.

use runtail_api::doctor::{Ask, Check, Fault, Refused, State, examine};
use runtail_core::config::{Profile, SecretSource};
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::common;
use runtail_testkit::common::{BEARER, CANARY, Closed, Seen, Server, json, raw, response};
use secrecy::SecretString;
use serde_json::json as value;
use std::time::Duration;
use url::Url;

const D: &str = "11111111-1111-4111-8111-111111111111";

fn given(text: &str) -> Option<SecretSource> {
    Some(SecretSource::Given(SecretString::from(text.to_string())))
}

/// A profile with a key and a workspace, and the control plane at this address.
fn at(control_plane: &Url) -> Profile {
    Profile {
        control_plane: Some(control_plane.clone()),
        ..common::profile()
    }
}

async fn look(profile: &Profile, ask: &Ask) -> (Vec<Check>, Option<Refused>) {
    let (out, mut told) = tokio::sync::mpsc::unbounded_channel();
    let refused = examine(profile, ask, out).await;
    let mut checks = Vec::new();
    while let Some(check) = told.recv().await {
        checks.push(check);
    }
    for check in &checks {
        let shown = format!("{check:?} {} {:?}", check.to_json(), check.details());
        assert!(!shown.contains("canary"), "{shown}");
    }
    (checks, refused)
}

#[track_caller]
fn one<'c>(checks: &'c [Check], name: &str) -> &'c Check {
    let found: Vec<&Check> = checks.iter().filter(|check| check.name == name).collect();
    let [one] = found.as_slice() else {
        panic!("{} of {name} in {checks:#?}", found.len())
    };
    one
}

/// A control plane under /api-host with one deployment, whose agent server has this address.
fn control_plane(seen: &Seen, agent: &str) -> axum::response::Response {
    let record = value!({"id": D, "name": "bot", "url": agent, "secrets": [{"name": "K", "value": "canary-of-a-record"}]});
    match seen.path.strip_prefix("/api-host") {
        Some("/v2/deployments") => json(200, value!({"resources": [record], "offset": 1})),
        Some("/v2/deployments/free-count") => json(200, r#"{"count":2}"#),
        Some(path) if path == format!("/v2/deployments/{D}") => json(200, record),
        Some(path) if path.ends_with("/deploy_logs") => {
            json(200, r#"{"logs":[],"next_offset":null}"#)
        }
        _ => json(404, r#"{"detail":"Not Found"}"#),
    }
}

fn agent(seen: &Seen) -> axum::response::Response {
    match seen.path.as_str() {
        "/ok" => json(200, r#"{"ok":true}"#),
        "/info" => json(200, r#"{"version":"0.16.7","langgraph_py_version":"1.2"}"#),
        "/assistants/search" => json(200, r#"[{"assistant_id":"a"}]"#),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    }
}

#[tokio::test]
async fn a_healthy_setup_has_no_problems() {
    let agents = Server::start(agent).await;
    let address = agents.url.to_string();
    let server = Server::start(move |seen| control_plane(seen, &address)).await;
    let profile = Profile {
        deployments: vec![D.into()],
        ..at(&server.url.join("/api-host").unwrap())
    };
    let ask = Ask {
        deployment: Some("test/bot".into()),
        ..Ask::default()
    };
    let (checks, refused) = look(&profile, &ask).await;
    assert!(refused.is_none());
    assert!(
        checks.iter().all(|check| check.state == State::Good),
        "{checks:#?}"
    );
    let names: Vec<(&str, bool)> = checks
        .iter()
        .map(|check| (check.name, check.server.is_some()))
        .collect();
    let own = [
        "key",
        "headers",
        "connection",
        "clock",
        "address",
        "access",
        "workspace",
        "deployments",
        "pinned",
        "free",
        "logs",
    ];
    let agents = ["connection", "health", "server", "access"];
    let expected: Vec<_> = own
        .map(|n| (n, false))
        .into_iter()
        .chain(agents.map(|n| (n, true)))
        .collect();
    assert_eq!(names, expected);
    assert_eq!(
        one(&checks, "headers").found,
        "to the control plane: X-Api-Key, X-Tenant-Id; to agent servers: X-Api-Key"
    );
    assert_eq!(
        one(&checks, "server").found,
        "Python server, version 0.16.7"
    );
    assert_eq!(
        one(&checks, "logs").found,
        "readable with the older calls (/v1/projects/…)"
    );
    // Only read requests were sent.
    let only_reads = |seen: &Seen| seen.method == "GET" || seen.path.ends_with("_logs");
    assert!(server.seen().iter().all(only_reads), "{:?}", server.seen());
}

/// The doctor's headers match the table in the documentation.
#[tokio::test]
async fn doctor_headers_match_the_documentation() {
    let text = include_str!("../../docs/authentication.md");
    let (_, table) = text.split_once("## Which headers go where").unwrap();
    let rows: Vec<Vec<String>> = table
        .lines()
        .filter(|line| line.starts_with("| ") && line.matches('|').count() == 4)
        .map(|line| {
            line.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().replace('`', ""))
                .collect()
        })
        .skip(1)
        .take(8)
        .collect();
    let server = Server::start(|_| json(200, "{}")).await;
    for row in rows {
        let has = |word| row[0].split(", ").any(|part| part == word);
        let profile = Profile {
            key: given(CANARY).filter(|_| has("key")),
            bearer: given(BEARER).filter(|_| has("token")),
            workspace: Some("w-1".to_string()).filter(|_| has("workspace")),
            ..at(&server.url)
        };
        let none = |cell: &str| cell.replace('–', "none");
        let expected = format!(
            "to the control plane: {}; to agent servers: {}",
            none(&row[1]),
            none(&row[2])
        );
        assert_eq!(
            one(&look(&profile, &Ask::default()).await.0, "headers").found,
            expected,
            "{}",
            row[0]
        );
    }
}

/// A server that echoes the key everywhere, with every meaningful status.
#[tokio::test]
async fn echoed_keys_never_reach_the_report() {
    for status in [
        200, 204, 302, 400, 401, 403, 404, 405, 409, 422, 429, 500, 503,
    ] {
        for kind in ["application/json", "text/html", "text/plain"] {
            let server = Server::start(move |seen| {
                let key = seen.header("x-api-key").unwrap_or_default().to_string();
                let token = seen.header("authorization").unwrap_or_default().to_string();
                let said = format!("{key} {token} https://user:canary-pass@proxy/ \u{1b}[31m");
                let body = match kind {
                    "text/html" => format!("<html><title>{said}</title>"),
                    "text/plain" => said.clone(),
                    _ => value!({"detail": [{"loc": ["body", key], "msg": said}], "version": said, "name": said})
                        .to_string(),
                };
                let mut response = response(status, kind, body);
                let headers = response.headers_mut();
                headers.insert("x-request-id", format!("{key}{token}").parse().unwrap());
                headers.insert("location", format!("/{key}?{token}").parse().unwrap());
                response
            })
            .await;
            let profile = Profile {
                bearer: given(BEARER),
                deployments: vec![D.into()],
                agent_servers: vec![("bot".into(), server.url.clone())],
                ..at(&server.url)
            };
            let (checks, refused) = look(&profile, &Ask::default()).await;
            assert!(
                checks
                    .iter()
                    .any(|check| check.name == "access" || check.name == "address"),
                "{checks:#?}"
            );
            assert!(
                checks
                    .iter()
                    .all(|check| !format!("{check:?}").contains('\u{1b}'))
            );
            // The cloud's regions are not tried with a key of another installation.
            assert!(refused.is_none());
        }
    }
}

#[tokio::test]
async fn a_path_prefix_is_detected() {
    let server = Server::start(|seen| control_plane(seen, "")).await;
    let (checks, _) = look(&at(&server.url), &Ask::default()).await;
    let check = one(&checks, "address");
    assert_eq!(check.fault(), Some(Fault::Configuration));
    let root = server.url.as_str().trim_end_matches('/');
    assert_eq!(
        check.cause.as_deref().unwrap(),
        format!("a wrong prefix: there is a control plane at {root}/api-host")
    );
    assert!(
        check
            .todo
            .as_deref()
            .unwrap()
            .starts_with(&format!("set `url = \"{root}\"`")),
        "{check:?}"
    );

    // A server that sends an HTML page for every path, as a dashboard does, and a control plane at the root.
    let server = Server::start(|seen| match seen.path.starts_with("/api-host") {
        true => response(200, "text/html", "<!doctype html><title>LangSmith</title>"),
        false => json(200, r#"{"resources":[]}"#),
    })
    .await;
    let (checks, _) = look(&at(&server.url.join("/api-host").unwrap()), &Ask::default()).await;
    let check = one(&checks, "address");
    assert!(
        check
            .evidence
            .iter()
            .any(|line| line.contains("“LangSmith”")),
        "{check:?}"
    );
    assert!(
        check
            .todo
            .as_deref()
            .unwrap()
            .starts_with("set `control_plane = "),
        "{check:?}"
    );

    let server = Server::start(|_| json(405, r#"{"detail":"Method Not Allowed"}"#)).await;
    let (checks, _) = look(&at(&server.url), &Ask::default()).await;
    assert!(
        one(&checks, "address")
            .evidence
            .iter()
            .any(|line| line.ends_with("is not a control plane either"))
    );
}

#[tokio::test]
async fn rejections_are_explained() {
    for (status, body, name, fault, cause) in [
        (
            401,
            "Invalid token",
            "access",
            Fault::Access,
            "the key was rejected",
        ),
        (
            403,
            "Forbidden",
            "access",
            Fault::Access,
            "is the key from this region",
        ),
        (
            403,
            "This API key requires workspace specification",
            "workspace",
            Fault::Access,
            "the profile's workspace",
        ),
        (
            403,
            "Deployments are not enabled",
            "deployments",
            Fault::Access,
            "/host/deployments, where it can be enabled",
        ),
        (429, "slow down", "address", Fault::Network, ""),
        (
            503,
            "no upstream",
            "address",
            Fault::Network,
            "is not ready",
        ),
    ] {
        let server = Server::start(move |_| json(status, value!({"detail": body}))).await;
        let (checks, _) = look(&at(&server.url.join("/api-host").unwrap()), &Ask::default()).await;
        let check = one(&checks, name);
        assert_eq!(check.fault(), Some(fault), "{check:?}");
        assert_eq!(check.found, format!("{status}: {body}"));
        assert!(
            check.cause.as_deref().unwrap_or_default().contains(cause),
            "{check:?}"
        );
        let asked = format!(
            "GET {}api-host/v2/deployments with X-Api-Key, X-Tenant-Id",
            server.url
        );
        assert_eq!(check.evidence[0], asked);
        assert!(
            check.evidence[1].starts_with(&format!("answered {status} after ")),
            "{check:?}"
        );
    }
}

#[tokio::test]
async fn other_regions_are_tried_only_after_confirmation() {
    let refusing = || Server::start(|_| json(401, r#"{"detail":"no"}"#));
    let (us, eu, apac) = (
        refusing().await,
        Server::start(|_| json(200, "{}")).await,
        refusing().await,
    );
    let region = |tag: &str, server: &Server| (tag.to_string(), server.url.clone());
    let ask = Ask {
        regions: vec![region("us", &us), region("eu", &eu), region("apac", &apac)],
        ..Ask::default()
    };
    let (checks, refused) = look(&at(&us.url), &ask).await;
    assert!(
        one(&checks, "access")
            .todo
            .as_deref()
            .unwrap()
            .contains("--try-regions")
    );
    assert!(
        eu.seen().is_empty() && apac.seen().is_empty(),
        "the key was sent to other regions without confirmation"
    );

    let refused = refused.expect("a key that other regions may know");
    assert_eq!(refused.others(&ask.regions), ["eu", "apac"]);
    let check = refused.try_regions(&ask.regions).await;
    assert_eq!(
        (check.state, check.found.as_str()),
        (State::Warn, "it is accepted in eu")
    );
    assert_eq!(
        check.todo.as_deref(),
        Some("set `region = \"eu\"` in the profile")
    );
    assert_eq!(check.evidence, ["eu: 200", "apac: 401, no"]);
    assert_eq!(eu.seen()[0].header("x-api-key"), Some(CANARY));

    let ask = Ask {
        try_regions: true,
        regions: vec![region("us", &us), region("apac", &apac)],
        ..ask
    };
    let (checks, refused) = look(&at(&us.url), &ask).await;
    assert!(refused.is_none());
    assert_eq!(
        one(&checks, "regions").found,
        "no other region accepts it either"
    );
    assert!(one(&checks, "access").todo.is_none());
}

/// The doctor finishes even if nothing responds, and names the step.
#[tokio::test]
async fn an_unresponsive_server_is_reported() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let limit = Duration::from_millis(200);
    let ask = Ask {
        request_limit: limit,
        connect_limit: limit,
        ..Ask::default()
    };
    let profile = Profile {
        agent_servers: vec![("bot".into(), silent.clone())],
        ..at(&silent)
    };
    let (checks, _) = look(&profile, &ask).await;
    assert_eq!(one(&checks, "address").found, "no answer within 0.2s");
    assert_eq!(one(&checks, "address").fault(), Some(Fault::Network));
    assert_eq!(one(&checks, "health").fault(), Some(Fault::Network));

    let tls = Url::parse(&silent.as_str().replace("http:", "https:")).unwrap();
    let (checks, _) = look(&at(&tls), &ask).await;
    assert!(
        one(&checks, "TLS")
            .found
            .ends_with("sends nothing for 0.2s"),
        "{checks:#?}"
    );
    assert_eq!(one(&checks, "access").state, State::Skipped);

    let closed = Closed::bind();
    let (checks, _) = look(&at(&closed.url()), &ask).await;
    let check = one(&checks, "connection");
    assert_eq!(check.evidence, ["127.0.0.1: Connection refused"]);
    assert_eq!(check.cause.as_deref(), Some("nothing listens there"));

    let nowhere = Url::parse("https://no-such-host.invalid").unwrap();
    let (checks, _) = look(&at(&nowhere), &Ask::default()).await;
    assert_eq!(
        one(&checks, "host").found,
        "the name no-such-host.invalid does not resolve"
    );
}

#[tokio::test]
async fn broken_connections_are_explained() {
    for bytes in [
        b"" as &[u8],
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{",
        b"SSH-2.0-x\r\n",
    ] {
        let url = raw(bytes).await;
        let (checks, _) = look(&at(&url), &Ask::default()).await;
        assert!(one(&checks, "address").fault().is_some(), "{checks:#?}");
    }
    // HTTPS to a plain HTTP port.
    let server = Server::start(|_| json(200, "{}")).await;
    let url = Url::parse(&server.url.as_str().replace("http:", "https:")).unwrap();
    let (checks, _) = look(&at(&url), &Ask::default()).await;
    assert!(
        one(&checks, "TLS").found.ends_with("does not speak TLS"),
        "{checks:#?}"
    );
}

#[tokio::test]
async fn a_server_without_a_deployments_list_is_diagnosed() {
    let server = Server::start(|seen| match seen.path.as_str() {
        p if p == format!("/v2/deployments/{D}") => json(200, value!({"id": D})),
        p if p.starts_with("/v2/deployments/") => {
            json(404, r#"{"detail":"Deployment ID x not found."}"#)
        }
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let gone = "22222222-2222-4222-8222-222222222222".to_string();
    let profile = Profile {
        deployments: vec![D.into(), gone],
        ..at(&server.url)
    };
    let (checks, _) = look(&profile, &Ask::default()).await;
    assert_eq!(
        one(&checks, "address").found,
        "a control plane answers; it has no list of deployments"
    );
    let pinned: Vec<&Check> = checks
        .iter()
        .filter(|check| check.name == "pinned")
        .collect();
    assert_eq!(pinned[0].found, "1 readable");
    assert_eq!(
        pinned[1].found,
        "22222222…2222: 404: Deployment ID x not found."
    );
}

#[tokio::test]
async fn agent_server_kind_is_reported() {
    for (info, told) in [
        (
            r#"{"version":"1.5.1","langgraph_js_version":"1.4"}"#,
            "JavaScript server, version 1.5.1",
        ),
        (
            r#"{"name":"Aegra","version":"0.1.0"}"#,
            "Aegra, version 0.1.0",
        ),
        ("{}", "unknown server software"),
    ] {
        let server = Server::start(move |seen| match seen.path.as_str() {
            "/info" => json(200, info),
            "/assistants/search" => json(200, "[]"),
            _ => json(404, r#"{"detail":"Not Found"}"#),
        })
        .await;
        let profile = Profile {
            name: "local".into(),
            agent_servers: vec![("local".into(), server.url.clone())],
            ..Profile::default()
        };
        let (checks, _) = look(&profile, &Ask::default()).await;
        assert_eq!(one(&checks, "server").found, told);
        assert_eq!(one(&checks, "health").state, State::Skipped);
        assert_eq!(
            one(&checks, "access").found,
            "no key required; 0 assistants"
        );
        assert_eq!(
            one(&checks, "key").found,
            "the profile has neither a key nor a token"
        );
    }
    let server = Server::start(|seen| match seen.path.as_str() {
        "/ok" => json(200, "{}"),
        _ => json(401, r#"{"detail":"who are you?"}"#),
    })
    .await;
    let profile = Profile {
        agent_servers: vec![("bot".into(), server.url.clone())],
        ..Profile::default()
    };
    let (checks, _) = look(&profile, &Ask::default()).await;
    assert_eq!(one(&checks, "access").fault(), Some(Fault::Access));
    assert!(
        one(&checks, "access")
            .cause
            .as_deref()
            .unwrap()
            .starts_with("no key was sent"),
        "{checks:#?}"
    );
    // A control plane is not an agent server.
    let server = Server::start(|seen| control_plane(seen, "")).await;
    let check = access_of(&server).await;
    assert_eq!(check.fault(), Some(Fault::Configuration), "{check:?}");
    assert_eq!(
        check.cause.as_deref(),
        Some("this is the address of a control plane")
    );
}

/// The doctor's access check of an agent server without a key.
async fn access_of(server: &Server) -> Check {
    let profile = Profile {
        agent_servers: vec![("bot".into(), server.url.clone())],
        ..Profile::default()
    };
    let (checks, _) = look(&profile, &Ask::default()).await;
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.method == "GET" || seen.path == "/assistants/search")
    );
    one(&checks, "access").clone()
}

/// A server that offers only the contract's calls (contract §4) has no problems.
#[tokio::test]
async fn a_contract_only_agent_server_has_no_problems() {
    let sim = Sim::start(Options {
        scenario: Scenario::Contract,
        ..Options::default()
    })
    .await
    .unwrap();
    let url = sim.agents()[0].url.clone();
    let profile = Profile {
        key: given(runtail_sim::KEY),
        agent_servers: vec![("bot".into(), url.parse().unwrap())],
        ..Profile::default()
    };
    let (checks, _) = look(&profile, &Ask::default()).await;
    assert!(
        checks
            .iter()
            .all(|check| matches!(check.state, State::Good | State::Skipped)),
        "{checks:#?}"
    );
    assert_eq!(
        one(&checks, "access").found,
        "/assistants/search: not offered; the contract's calls are available"
    );
    assert_eq!(one(&checks, "health").found, "/ok: not offered");

    // Servers that respond with 404 to unknown routes and methods are recognized only by their thread stream.
    let server = Server::start(|seen| match seen.path.ends_with("/stream") {
        true => response(200, "text/event-stream", ""),
        false => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    assert_eq!(access_of(&server).await.state, State::Skipped);
    let server = Server::start(|_| json(404, r#"{"detail":"Not Found"}"#)).await;
    let check = access_of(&server).await;
    assert_eq!(
        check.state,
        State::Warn,
        "neither an agent server nor something else for certain: {check:?}"
    );
    assert!(check.found.contains("could not verify"), "{check:?}");
    // A web page is not an agent server.
    let server =
        Server::start(|_| response(404, "text/html", "<html><title>Not found</title>")).await;
    assert_eq!(access_of(&server).await.fault(), Some(Fault::Configuration));
}

#[tokio::test]
async fn connectivity_is_checked_without_a_readable_key() {
    let server = Server::start(|_| json(200, "{}")).await;
    let profile = Profile {
        key: Some(SecretSource::Env("RUNTAIL_TEST_NO_SUCH".into())),
        ..at(&server.url)
    };
    let (checks, _) = look(&profile, &Ask::default()).await;
    assert_eq!(one(&checks, "key").fault(), Some(Fault::Configuration));
    assert_eq!(one(&checks, "connection").state, State::Good);
    assert_eq!(
        one(&checks, "access").found,
        "not checked: the key or the token could not be read"
    );
    assert!(server.seen().is_empty());
}
