//! Request failures and their messages.

use runtail_api::{AgentServer, ApiError, ControlPlane, DeploymentQuery, Http, Kind, Retry};
use runtail_core::config::{Profile, SecretSource};
use runtail_testkit::common;
use runtail_testkit::common::{BEARER, CANARY, Closed, Server, json, profile, raw, response};
use secrecy::SecretString;
use std::time::Duration;
use url::Url;

/// Returns the error of listing deployments on a server with this fixed response.
async fn listing(status: u16, kind: &'static str, body: &'static str) -> ApiError {
    let server = Server::start(move |_| {
        let mut response = response(status, kind, body);
        response
            .headers_mut()
            .insert("x-request-id", "req-1".parse().unwrap());
        response
    })
    .await;
    server
        .control()
        .deployments(&DeploymentQuery::default())
        .await
        .unwrap_err()
}

#[tokio::test]
async fn each_http_status_has_a_kind_message_and_hint() {
    let cases: Vec<(u16, &str, Kind, &str, &str)> = vec![
        (
            401,
            r#"{"detail":"bad key"}"#,
            Kind::Unauthorized,
            "bad key",
            "the key was rejected",
        ),
        (
            403,
            r#"{"detail":"no"}"#,
            Kind::Forbidden,
            "no",
            "is the key from this region",
        ),
        (
            403,
            r#"{"detail":"Deployments are not enabled"}"#,
            Kind::Forbidden,
            "not enabled",
            "organization's plan",
        ),
        (
            404,
            r#"{"detail":"Not Found"}"#,
            Kind::NotFound,
            "Not Found",
            "/api-host",
        ),
        (
            405,
            r#"{"detail":"Method Not Allowed"}"#,
            Kind::Status(405),
            "Method Not Allowed",
            "prefix may be wrong",
        ),
        (409, r#"{"detail":"exists"}"#, Kind::Conflict, "exists", ""),
        (400, r#"{"detail":"bad"}"#, Kind::Invalid(vec![]), "bad", ""),
        (429, "slow down", Kind::RateLimited(None), "slow down", ""),
        (500, "", Kind::Server(500), "500 Internal Server Error", ""),
        (
            503,
            "<html><title>Down</title>",
            Kind::Server(503),
            "HTML instead of JSON (“Down”)",
            "is not ready",
        ),
        (
            418,
            r#"{"error":"teapot","message":"short"}"#,
            Kind::Status(418),
            "short",
            "",
        ),
        (204, "", Kind::Status(204), "204 No Content", ""),
    ];
    for (status, body, kind, detail, hint) in cases {
        let error = listing(status, "text/plain", body).await;
        assert_eq!(error.kind, kind, "{status} {body}");
        assert!(error.detail.contains(detail), "{status}: {error}");
        assert!(
            error.hint.as_deref().unwrap_or_default().contains(hint),
            "{status}: {error}"
        );
        assert_eq!(error.at.request_id.as_deref(), Some("req-1"), "{status}");
        assert_eq!(
            (error.at.profile.as_str(), error.at.path.as_str()),
            ("test", "/api-host/v2/deployments")
        );
    }
}

#[tokio::test]
async fn errors_as_shown_to_the_user() {
    let body = r#"{"detail":[{"loc":["query","limit"],"msg":"too large","type":"x"}]}"#;
    let error = listing(422, "application/json", body).await;
    let host = error.at.host.clone();
    assert_eq!(
        error.to_string(),
        format!(
            "test: GET {host}/api-host/v2/deployments: 422: the server rejected a field\n  query.limit: too large (request req-1)"
        )
    );
    let error = listing(404, "application/json", r#"{"detail":"Not Found"}"#).await;
    let first = error.to_string().lines().next().unwrap().to_string();
    assert_eq!(
        first,
        format!(
            "test: GET {}/api-host/v2/deployments: 404: Not Found (request req-1)",
            error.at.host
        )
    );
}

#[tokio::test]
async fn a_missing_workspace_is_explained() {
    let server = Server::start(|_| {
        json(
            403,
            r#"{"detail":"This key Requires Workspace Specification"}"#,
        )
    })
    .await;
    let mut profile = profile();
    profile.workspace = None;
    let control = ControlPlane::new(Http::new(&profile).unwrap(), server.url.clone());
    let error = control.deployment("d").await.unwrap_err();
    assert!(error.hint.unwrap().contains("set `workspace`"));
}

#[tokio::test]
async fn unexpected_responses_are_errors() {
    let error = listing(
        200,
        "text/html",
        "<!DOCTYPE html><html><head><title>Sign in</title>",
    )
    .await;
    assert_eq!(error.kind, Kind::Protocol);
    assert_eq!(
        error.detail,
        "HTML instead of JSON (“Sign in”): wrong URL or a proxy/login page?"
    );
    for body in ["{\"resources\": [", "", "3", "{\"resources\": 3}"] {
        let error = listing(200, "application/json", body).await;
        assert_eq!(error.kind, Kind::Protocol, "{body}: {error}");
    }
    // An empty object is an empty list.
    let server = Server::start(|_| json(200, "{}")).await;
    assert!(
        server
            .control()
            .deployments(&DeploymentQuery::default())
            .await
            .unwrap()
            .is_empty()
    );
}

/// What was received may have half of a pair, and a body is made of what was received.
#[tokio::test]
async fn half_of_a_pair_is_not_sent() {
    let server = Server::start(|_| json(200, "{}")).await;
    let body = runtail_core::json::from_str(r#"{"values": {"a": ["Ship \ud83d"]}}"#).unwrap();
    let error = server.agent().update_state("t", &body).await.unwrap_err();
    assert_eq!(
        (error.kind, &*error.detail),
        (
            Kind::Refused,
            r"nothing was sent: half of a character in values.a.0 (\ud83d)"
        )
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Server::start(|_| json(200, "{}")).await;
    let target = other.url.join("/login?token=canary").unwrap().to_string();
    let server = Server::start(move |_| {
        let mut response = response(307, "text/plain", "");
        response
            .headers_mut()
            .insert("location", target.parse().unwrap());
        response
    })
    .await;
    let error = server.control().deployment("d").await.unwrap_err();
    assert_eq!(error.kind, Kind::Protocol);
    let expected = format!("the server answered 307, a redirect to {}login", other.url);
    assert_eq!(error.detail, expected);
    let agent = server.agent();
    assert_eq!(
        agent
            .thread_stream("t", &[], true, None)
            .await
            .unwrap_err()
            .detail,
        expected
    );
    assert!(other.seen().is_empty(), "the key must not travel");
}

#[tokio::test]
async fn failed_connections_are_explained() {
    let closed = Closed::bind();
    let control = |url: &Url| ControlPlane::new(Http::new(&profile()).unwrap(), url.clone());
    let error = control(&closed.url()).deployment("d").await.unwrap_err();
    assert_eq!(
        (error.kind, error.detail.as_str()),
        (Kind::NoConnection, "connection refused")
    );
    assert_eq!(
        error.hint.unwrap(),
        format!(
            "nothing listens on {}; is the server running?",
            closed.address()
        )
    );

    let error = control(&raw(b"").await).deployment("d").await.unwrap_err();
    assert_eq!(error.kind, Kind::Network, "{error}");

    let half = raw(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"id\":",
    )
    .await;
    let error = control(&half).deployment("d").await.unwrap_err();
    assert_eq!(error.kind, Kind::Network, "{error}");
    assert!(
        error.detail.contains("in the middle of the response"),
        "{error}"
    );

    // The response of a TLS server to plain HTTP: an alert record.
    let tls = raw(&[0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]).await;
    let error = control(&tls).deployment("d").await.unwrap_err();
    assert_eq!(error.kind, Kind::Network);
    assert_eq!(
        error.hint.as_deref(),
        Some("plain http to a TLS port?"),
        "{error}"
    );

    let plain = raw(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let https = Url::parse(&format!("https://127.0.0.1:{}", plain.port().unwrap())).unwrap();
    let error = control(&https).deployment("d").await.unwrap_err();
    assert_eq!(error.kind, Kind::NoConnection);
    assert_eq!(
        error.hint.as_deref(),
        Some("https to a plain http port?"),
        "{error}"
    );
}

#[tokio::test]
async fn unresolvable_names_are_explained() {
    let url = Url::parse("https://runtail-test.invalid").unwrap();
    let error = ControlPlane::new(Http::new(&profile()).unwrap(), url)
        .deployment("d")
        .await
        .unwrap_err();
    // With a proxy, the proxy resolves the name, and reports that it can't.
    assert!(
        matches!(error.kind, Kind::NoConnection | Kind::Server(_)),
        "{error}"
    );
}

#[tokio::test]
async fn keys_are_only_sent_to_their_profiles_hosts() {
    let server = Server::start(|_| json(200, r#"{"id":"d"}"#)).await;
    let http = Http::new(&profile()).unwrap();
    // Plain HTTP to another machine.
    let agent = AgentServer::new(http.clone(), Url::parse("http://192.0.2.7:2024").unwrap());
    let error = agent.thread("t").await.unwrap_err();
    assert_eq!(error.kind, Kind::Refused);
    assert!(error.hint.unwrap().contains("allow_http"));
    // The simulator's records name servers that don't exist: not even their names are resolved.
    let http = Http::new(&Profile {
        only_local: true,
        ..profile()
    })
    .unwrap();
    let url = Url::parse("https://bot.us.langgraph.app").unwrap();
    http.allow(&url);
    let error = AgentServer::new(http, url).thread("t").await.unwrap_err();
    assert_eq!(
        (error.kind, &*error.detail),
        (
            Kind::Refused,
            "this server is not simulated; nothing was sent"
        )
    );
    // Identifiers that would lead to another path.
    for id in ["", ".", "..", "a\nb"] {
        let error = server.control().deployment(id).await.unwrap_err();
        assert_eq!(error.kind, Kind::Refused, "{id:?}");
    }
    assert!(server.seen().is_empty());
    server.control().deployment("a/../b?x=1#y").await.unwrap();
    assert_eq!(
        server.seen()[0].path,
        "/api-host/v2/deployments/a%2F..%2Fb%3Fx=1%23y"
    );
}

#[tokio::test]
async fn an_unreadable_key_is_an_error() {
    let mut profile = profile();
    profile.key = Some(SecretSource::Env("RUNTAIL_TEST_NO_SUCH_VARIABLE".into()));
    let error = Http::new(&profile).unwrap_err();
    assert_eq!(error.kind, Kind::NoKey);
    assert_eq!(
        error.to_string(),
        "test: the environment variable RUNTAIL_TEST_NO_SUCH_VARIABLE is not set\n  the key comes from api_key_env, \
         api_key_file, api_key_command or api_key_keyring in the profile"
    );
}

/// No message contains a secret, even if the server echoes it.
#[tokio::test]
async fn no_secret_is_ever_shown() {
    let server = Server::start(|seen| {
        let key = seen.header("x-api-key").unwrap_or_default().to_string();
        let bearer = seen.header("authorization").unwrap_or_default().to_string();
        let echo = serde_json::json!({"detail": format!("bad: {key} {bearer} {}", seen.body)});
        match seen.path.as_str() {
            p if p.contains("fields") => json(
                422,
                serde_json::json!({"detail": [{"loc": ["h"], "msg": format!("{key} {}", seen.body), "type": "x"}]}),
            ),
            p if p.contains("text") => response(500, "text/plain", format!("{key} {bearer} {}", seen.body)),
            p if p.contains("html") => response(502, "text/html", format!("<html><title>{key}</title>")),
            p if p.contains("odd") => json(200, format!("{{\"id\": [\"{key}\"]}}")),
            p if p.ends_with("/stream") => response(200, "text/plain", key),
            _ => json(400, echo),
        }
    })
    .await;
    let mut profile = profile();
    profile.bearer = Some(SecretSource::Given(SecretString::from(BEARER.to_string())));
    let http = Http::new(&profile).unwrap();
    let control = ControlPlane::new(http.clone(), server.url.clone());
    let agent = AgentServer::new(http.clone(), server.url.clone());
    let mut shown = format!("{profile:?} {http:?} {control:?} {agent:?}");
    for id in ["json", "fields", "text", "html", "odd"] {
        let error = control.deployment(id).await.unwrap_err();
        shown += &format!("{error} {error:?}");
        let error = agent.thread(id).await.unwrap_err();
        shown += &format!("{error} {error:?}");
        let error = agent.thread_stream(id, &[], true, None).await.unwrap_err();
        shown += &format!("{error} {error:?}");
    }
    assert!(shown.contains("***"), "{shown}");
    for secret in [CANARY, BEARER, "hidden-canary", "canary"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn only_gets_are_retried() {
    let answers = std::sync::atomic::AtomicUsize::new(0);
    let flaky = move |seen: &common::Seen| match answers
        .fetch_add(1, std::sync::atomic::Ordering::SeqCst)
    {
        _ if seen.method == "POST" => json(503, "{}"),
        0 => json(503, "{}"),
        1 => {
            let mut response = json(429, "{}");
            response
                .headers_mut()
                .insert("retry-after", "0".parse().unwrap());
            response
        }
        _ => json(200, r#"{"id":"d"}"#),
    };
    let server = Server::start(flaky).await;
    let retry = Retry {
        attempts: 3,
        base: Duration::from_millis(1),
        cap: Duration::from_millis(2),
        ..Retry::NONE
    };
    let once = server.control().deployment("d").await.unwrap_err();
    assert_eq!(once.kind, Kind::Server(503));
    assert_eq!(
        server
            .control()
            .retrying(retry)
            .deployment("d")
            .await
            .unwrap()
            .id,
        "d"
    );
    assert_eq!(server.seen().len(), 3);
    let body = serde_json::json!({});
    assert!(
        server
            .control()
            .retrying(retry)
            .authenticate(&Default::default())
            .await
            .is_err()
    );
    let agent = server.agent().retrying(retry);
    assert!(
        agent
            .start_run(Some("t"), &Default::default())
            .await
            .is_err()
    );
    assert!(agent.create_thread(&body).await.is_err());
    assert_eq!(server.seen().len(), 6, "each once");
}

#[tokio::test]
async fn an_overflowing_retry_after_is_one_day() {
    let server = Server::start(|_| {
        let mut response = json(429, "{}");
        response
            .headers_mut()
            .insert("retry-after", "9999999999999999999".parse().unwrap());
        response
    })
    .await;
    let error = server
        .control()
        .retrying(Retry::PATIENT)
        .deployment("d")
        .await
        .unwrap_err();
    assert_eq!(
        error.kind,
        Kind::RateLimited(Some(Duration::from_secs(24 * 3600)))
    );
    assert_eq!(server.seen().len(), 1, "a wait of a day is not attempted");
}

#[tokio::test]
async fn a_profile_without_a_key_sends_none() {
    let server = Server::start(|_| json(401, r#"{"detail":"who?"}"#)).await;
    let http = Http::new(&Profile {
        name: "url".into(),
        ..Profile::default()
    })
    .unwrap();
    let error = AgentServer::new(http, server.url.clone())
        .thread("t")
        .await
        .unwrap_err();
    assert!(error.hint.unwrap().contains("no key was sent"));
    let seen = &server.seen()[0];
    assert!(seen.header("x-api-key").is_none() && seen.header("authorization").is_none());
}
