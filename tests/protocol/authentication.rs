//! The authentication headers of every kind of profile and server, compared with the documentation.

use runtail_api::{AgentServer, ControlPlane, DeploymentQuery, Http, Kind};
use runtail_core::config::{Profile, SecretSource};
use runtail_testkit::common::{BEARER, CANARY, Seen, Server, json};
use secrecy::SecretString;
use std::collections::BTreeSet;

/// A row of the table "Which headers go where" in docs/authentication.md.
struct Row {
    configured: String,
    control: BTreeSet<String>,
    agent: BTreeSet<String>,
}

fn table() -> Vec<Row> {
    let text = include_str!("../../docs/authentication.md");
    let (_, after) = text
        .split_once("## Which headers go where")
        .expect("the section");
    let rows = after.lines().filter(|line| line.starts_with('|')).skip(2);
    let headers = |cell: &str| {
        let named = cell
            .split(',')
            .map(|h| h.trim().trim_matches('`'))
            .filter(|h| !matches!(*h, "–" | ""));
        named.map(str::to_lowercase).collect::<BTreeSet<String>>()
    };
    let of = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        Row {
            configured: cells[0].to_string(),
            control: headers(cells[1]),
            agent: headers(cells[2]),
        }
    };
    // The tables of later sections have other headings.
    rows.take_while(|line| line.matches('|').count() == 4)
        .map(of)
        .collect()
}

/// Returns the profile of a row.
fn profile(configured: &str) -> Profile {
    let given = |text: &str| Some(SecretSource::Given(SecretString::from(text.to_string())));
    let mut profile = Profile {
        name: "test".into(),
        ..Profile::default()
    };
    for word in configured.split(", ") {
        match word {
            "nothing" => {}
            "key" => profile.key = given(CANARY),
            "token" => profile.bearer = given(BEARER),
            "workspace" => profile.workspace = Some("w-1".into()),
            other => panic!("unknown configuration in the table: {other}"),
        }
    }
    profile
}

/// Returns the authentication headers of a request, checking their values.
fn credentials(seen: &Seen) -> BTreeSet<String> {
    let bearer = format!("Bearer {BEARER}");
    let expected = [
        ("x-api-key", CANARY),
        ("authorization", bearer.as_str()),
        ("x-tenant-id", "w-1"),
    ];
    let sent = expected.into_iter().filter(|(name, value)| {
        let header = seen.header(name);
        assert!(
            header.is_none_or(|found| found == *value),
            "{name}: {header:?}"
        );
        header.is_some()
    });
    sent.map(|(name, _)| name.to_string()).collect()
}

#[tokio::test]
async fn sent_headers_match_the_documentation() {
    let rows = table();
    assert_eq!(rows.len(), 8, "every combination of the three");
    let server = Server::start(|seen| {
        json(
            200,
            if seen.path.ends_with("search") {
                "[]"
            } else {
                "{}"
            },
        )
    })
    .await;
    for row in rows {
        let http = Http::new(&profile(&row.configured)).unwrap();
        let before = server.seen().len();
        ControlPlane::new(http.clone(), server.url.clone())
            .deployments(&DeploymentQuery::default())
            .await
            .unwrap();
        let agent = AgentServer::new(http, server.url.clone());
        agent.info().await.unwrap();
        agent.assistants(1, 0).await.unwrap();
        // Streams are opened by other code than plain requests.
        agent.thread_stream("t", &[], true, None).await.unwrap_err();
        let seen = server.seen().split_off(before);
        let [control, plain @ ..] = seen.as_slice() else {
            panic!("nothing was sent")
        };
        assert_eq!(
            credentials(control),
            row.control,
            "control plane, {}",
            row.configured
        );
        assert_eq!(plain.len(), 3);
        for request in plain {
            assert_eq!(
                credentials(request),
                row.agent,
                "{} of an agent server, {}",
                request.path,
                row.configured
            );
        }
    }
}

#[tokio::test]
async fn rejections_name_the_sent_credentials() {
    let server = Server::start(|_| json(401, r#"{"detail":"no"}"#)).await;
    for (configured, control, agent) in [
        ("nothing", "no key was sent", "no key was sent"),
        (
            "key",
            "the key was rejected: is it revoked, or from another region?",
            "the key was rejected",
        ),
        (
            "token",
            "the token was rejected: has it expired, or is it from another",
            "the token was rejected",
        ),
        (
            "key, token",
            "the key was rejected",
            "the key and the token were rejected",
        ),
    ] {
        let http = Http::new(&profile(configured)).unwrap();
        let error = ControlPlane::new(http.clone(), server.url.clone())
            .deployment("d")
            .await
            .unwrap_err();
        assert_eq!(error.kind, Kind::Unauthorized);
        assert!(
            error.hint.as_deref().unwrap().starts_with(control),
            "{configured}: {error}"
        );
        let error = AgentServer::new(http, server.url.clone())
            .info()
            .await
            .unwrap_err();
        assert!(
            error.hint.as_deref().unwrap().starts_with(agent),
            "{configured}: {error}"
        );
    }
}

#[tokio::test]
async fn an_unreadable_token_is_called_a_token() {
    let profile = Profile {
        bearer: Some(SecretSource::Env("RUNTAIL_TEST_NO_SUCH".into())),
        ..profile("nothing")
    };
    let error = Http::new(&profile).unwrap_err();
    assert_eq!(
        error.detail,
        "the environment variable RUNTAIL_TEST_NO_SUCH is not set"
    );
    assert_eq!(
        error.hint.unwrap(),
        "the token comes from bearer_env, bearer_file, bearer_command or bearer_keyring in the profile"
    );
}

/// The rejection texts that the official clients know, and our explanations.
#[tokio::test]
async fn known_rejections_are_explained() {
    for (status, body, configured, hint) in [
        (
            403,
            "This API key requires workspace specification. Set X-Tenant-ID",
            "key",
            "set `workspace` in the profile",
        ),
        (
            403,
            "This token requires workspace specification",
            "token",
            "this token belongs to a whole organization",
        ),
        (
            403,
            "requires workspace specification",
            "key, workspace",
            "the profile's workspace was rejected",
        ),
        (
            403,
            "LangSmith Deployment is not enabled for this org",
            "key",
            "/host/deployments, where it can be enabled",
        ),
        (
            403,
            "Forbidden",
            "token",
            "is the token from this region and workspace",
        ),
        (
            409,
            "Tracing project with name 'bot' already exists",
            "key",
            "left its tracing project",
        ),
        (
            400,
            "'listener_id' is required for this org",
            "key",
            "`runtail listeners list`",
        ),
        (
            400,
            "Scale to zero deployments are not supported in AWS environments",
            "key",
            "deployment_type",
        ),
    ] {
        let server =
            Server::start(move |_| json(status, format!("{{\"detail\":\"{body}\"}}"))).await;
        let base = server.url.join("/api-host").unwrap();
        let control = ControlPlane::new(Http::new(&profile(configured)).unwrap(), base);
        let error = control.deployment("d").await.unwrap_err();
        assert!(
            error.hint.as_deref().unwrap_or_default().contains(hint),
            "{status} {body}: {error}"
        );
    }
    let body = r#"{"detail":[{"loc":["path","deployment_id"],"msg":"Input should be a valid UUID","type":"uuid_parsing"}]}"#;
    let server = Server::start(move |_| json(422, body)).await;
    let error = server.control().deployment("my-bot").await.unwrap_err();
    assert!(
        error
            .hint
            .as_deref()
            .unwrap_or_default()
            .contains("this is not one"),
        "{error}"
    );
}
