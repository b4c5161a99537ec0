//! Integrations, listeners and the auth service of a control plane.

use crate::sim::{World, call, fast, github, keys, world};
use reqwest::Method as M;
use runtail_sim::{KEY, Options};
use serde_json::{Value, json};

fn str(value: &Value) -> &str {
    value.as_str().expect("a text")
}

async fn authenticate(world: &World, body: Value) -> Value {
    let (status, response) = call(world, M::POST, "/v2/auth/authenticate", Some(body)).await;
    assert_eq!(status, 200, "{response}");
    assert_eq!(
        keys(&response),
        ["auth_id", "metadata", "status", "token", "url", "user_id"]
    );
    response
}

#[tokio::test]
async fn integrations_see_repositories_in_pages() {
    let world = world(fast()).await;
    assert_eq!(
        call(&world, M::POST, "/v2/deployments", Some(github("bot")))
            .await
            .0,
        201
    );
    let (_, all) = call(&world, M::GET, "/v1/integrations/github/install", None).await;
    assert_eq!(
        (keys(&all[0]), &all[1]["name"]),
        (vec!["id", "installation_id", "name"], &json!("acme-labs"))
    );
    let id = str(&all[0]["id"]);
    let (status, repos) = call(
        &world,
        M::GET,
        &format!("/v1/integrations/github/{id}/repos"),
        None,
    )
    .await;
    assert_eq!(status, 200);
    let names: Vec<&str> = repos
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| str(&one["name"]))
        .collect();
    assert_eq!(
        names,
        ["agent-starter", "bot", "docs"],
        "including the repositories of deployments"
    );
    assert_eq!(
        (&repos[1]["host_integration_id"], &repos[1]["url"]),
        (&all[0]["id"], &json!("https://github.com/acme/bot"))
    );

    for known in [id.to_owned(), all[0]["installation_id"].to_string()] {
        let base =
            format!("/v2/integrations/github/installations/{known}/repositories?page_size=2");
        let (_, first) = call(&world, M::GET, &base, None).await;
        let (_, last) = call(
            &world,
            M::GET,
            &format!("{base}&cursor={}", str(&first["next_cursor"])),
            None,
        )
        .await;
        let all: Vec<Value> = [&first, &last]
            .iter()
            .flat_map(|page| page["items"].as_array().cloned().unwrap_or_default())
            .collect();
        assert_eq!(
            (json!(all), &last["next_cursor"]),
            (repos.clone(), &Value::Null)
        );
    }
    let (_, forge) = call(
        &world,
        M::GET,
        "/v1/integrations/forge/github/install",
        None,
    )
    .await;
    let forge = format!(
        "/v1/integrations/forge/github/{}/repos",
        str(&forge[0]["id"])
    );
    assert_eq!(call(&world, M::GET, &forge, None).await.0, 200);
    assert_eq!(
        call(&world, M::GET, "/v1/integrations/github/nope/repos", None)
            .await
            .0,
        422
    );
}

#[tokio::test]
async fn listeners_are_created_changed_and_deleted() {
    let world = world(fast()).await;
    let new = json!({"compute_type": "k8s", "compute_id": "edge-2", "compute_config": {"k8s_namespaces": ["a"]}});
    let (status, created) = call(&world, M::POST, "/v2/listeners", Some(new.clone())).await;
    assert_eq!(
        (status, &created["version"], &created["compute_id"]),
        (201, &Value::Null, &json!("edge-2"))
    );
    let (status, response) = call(&world, M::POST, "/v2/listeners", Some(new)).await;
    let workspace = &world.sim.regions()[0].workspace;
    let text = format!(
        "Listener for LangSmith workspace ID '{workspace}' and compute ID 'edge-2' already exists."
    );
    assert_eq!((status, response), (409, json!({"detail": text})));
    let path = format!("/v2/listeners/{}", str(&created["id"]));
    let patch = json!({"version": "0.4.0", "compute_config": null, "compute_id": "another"});
    let (status, changed) = call(&world, M::PATCH, &path, Some(patch)).await;
    assert_eq!((status, &changed["version"]), (200, &json!("0.4.0")));
    assert_eq!(
        (&changed["compute_id"], &changed["compute_config"]),
        (&json!("edge-2"), &json!({"k8s_namespaces": ["a"]}))
    );
    let (_, page) = call(&world, M::GET, "/v2/listeners?limit=2&offset=1", None).await;
    assert_eq!(
        (&page["resources"][1], &page["offset"]),
        (&changed, &json!(3))
    );
    assert_eq!(
        call(&world, M::DELETE, &path, None).await,
        (204, Value::Null)
    );
    let text = format!("Listener ID {} not found.", str(&created["id"]));
    assert_eq!(
        call(&world, M::GET, &path, None).await,
        (404, json!({"detail": text}))
    );
    let (status, response) = call(
        &world,
        M::POST,
        "/v2/listeners",
        Some(json!({"compute_type": "vm", "compute_config": {}})),
    )
    .await;
    assert_eq!(
        (status, &response["detail"][0]["loc"]),
        (422, &json!(["body", "compute_type"]))
    );
    assert_eq!(response["detail"][1]["loc"], json!(["body", "compute_id"]));
}

#[tokio::test]
async fn listeners_can_be_unavailable() {
    let world = world(Options {
        no_listeners: true,
        ..fast()
    })
    .await;
    assert_eq!(
        call(&world, M::GET, "/v2/listeners", None).await,
        (200, json!({"resources": [], "offset": 0}))
    );
    let new = json!({"compute_type": "k8s", "compute_id": "edge-2", "compute_config": {}});
    let (status, response) = call(&world, M::POST, "/v2/listeners", Some(new)).await;
    assert!(
        status == 403 && str(&response["detail"]).contains("self-hosted enterprise plans"),
        "{response}"
    );
    let unknown = "/v2/listeners/11111111-1111-4111-8111-111111111111";
    assert_eq!(call(&world, M::DELETE, unknown, None).await.0, 403);
}

#[tokio::test]
async fn authenticate_has_four_responses_and_starts_a_sign_in() {
    // At this speed no sign-in completes automatically.
    let world = world(Options {
        speed: 0.001,
        ..fast()
    })
    .await;
    let (status, response) = call(
        &world,
        M::POST,
        "/v2/auth/authenticate",
        Some(json!({"provider": 7})),
    )
    .await;
    assert_eq!(
        (status, response["detail"].as_array().map(Vec::len)),
        (422, Some(2))
    );
    for (body, word, link) in [
        (
            json!({"provider": "github", "scopes": ["repo"]}),
            "completed",
            false,
        ),
        (
            json!({"provider": "github", "scopes": [], "force_new": true}),
            "pending",
            true,
        ),
        (
            json!({"provider": "google", "scopes": ["mail"]}),
            "pending",
            true,
        ),
        (
            json!({"provider": "google", "scopes": [], "check_only": true}),
            "connection_required",
            false,
        ),
        (
            json!({"provider": "slack", "scopes": ["chat"]}),
            "connection_required",
            false,
        ),
        (
            json!({"provider": "linear", "scopes": [], "agent_id": null}),
            "token_expired",
            false,
        ),
    ] {
        let response = authenticate(&world, body).await;
        assert_eq!(
            (
                &response["status"],
                response["url"].is_string(),
                response["auth_id"].is_string()
            ),
            (&json!(word), link, link)
        );
        assert_eq!(response["token"].is_string(), word == "completed");
    }
    assert_eq!(
        call(
            &world,
            M::POST,
            "/v2/auth/authenticate",
            Some(json!({"provider": "x", "scopes": []}))
        )
        .await
        .0,
        404
    );

    let started = authenticate(&world, json!({"provider": "google", "scopes": ["mail"]})).await;
    let wait = format!("/v2/auth/wait/{}", str(&started["auth_id"]));
    assert_eq!(
        call(&world, M::GET, &format!("{wait}?timeout=0"), None)
            .await
            .1,
        json!({"status": "pending", "token": null})
    );
    assert_eq!(
        call(&world, M::GET, &format!("{wait}?timeout=x"), None)
            .await
            .0,
        422
    );
    let visit = async {
        world
            .http
            .get(str(&started["url"]))
            .send()
            .await
            .expect("a response")
            .status()
    };
    let long = format!("{wait}?timeout=50");
    let ((status, done), visited) = tokio::join!(call(&world, M::GET, &long, None), visit);
    assert_eq!(
        (status, visited.as_u16(), &done["status"]),
        (200, 200, &json!("completed"))
    );
    let again = authenticate(&world, json!({"provider": "google", "scopes": ["mail"]})).await;
    assert_eq!(
        (&again["status"], &again["token"]),
        (&json!("completed"), &done["token"])
    );
    assert_eq!(
        call(&world, M::GET, "/v2/auth/wait/unknown", None).await.1["status"],
        "not_found"
    );
}

#[tokio::test]
async fn auth_wait_ends_at_its_timeout_or_the_sign_in() {
    let world = world(Options {
        speed: 1000.0,
        ..fast()
    })
    .await;
    let started = authenticate(&world, json!({"provider": "google", "scopes": []})).await;
    let wait = format!("/v2/auth/wait/{}", str(&started["auth_id"]));
    // A simulated second takes 1ms, and a sign-in takes 15 simulated seconds.
    assert_eq!(
        call(&world, M::GET, &format!("{wait}?timeout=300"), None)
            .await
            .1["status"],
        "completed"
    );
    let started = authenticate(
        &world,
        json!({"provider": "google", "scopes": [], "force_new": true}),
    )
    .await;
    let id = str(&started["auth_id"]);
    let denied = format!("/v2/auth/callback/google?error=access_denied&state={id}");
    let bearer = world
        .http
        .get(format!("{}{denied}", world.control_plane))
        .bearer_auth(KEY)
        .send()
        .await
        .expect("a response");
    assert_eq!(
        (
            bearer.status().as_u16(),
            call(&world, M::GET, &denied, None).await.0
        ),
        (200, 401),
        "bearer alone"
    );
    assert_eq!(
        call(&world, M::GET, &format!("/v2/auth/wait/{id}"), None)
            .await
            .1["status"],
        "not_found"
    );
    let lost = json!({"code": "c", "state": id});
    assert_eq!(
        call(&world, M::POST, "/v2/auth/callback/google", Some(lost))
            .await
            .0,
        400
    );

    let slow = crate::sim::world(Options {
        speed: 0.001,
        ..fast()
    })
    .await;
    let started = authenticate(&slow, json!({"provider": "google", "scopes": []})).await;
    let id = str(&started["auth_id"]);
    let over = call(
        &slow,
        M::GET,
        &format!("/v2/auth/wait/{id}?timeout=1"),
        None,
    )
    .await
    .1;
    assert_eq!(over, json!({"status": "timeout", "token": null}));
    let setup = format!(
        "{}/v2/auth/setup/google?code=c&state={id}",
        slow.control_plane
    );
    assert_eq!(
        slow.http
            .get(setup)
            .send()
            .await
            .expect("a response")
            .status(),
        200,
        "a browser has no key"
    );
    assert_eq!(
        call(&slow, M::GET, &format!("/v2/auth/wait/{id}"), None)
            .await
            .1["status"],
        "completed"
    );
}

#[tokio::test]
async fn providers_are_returned_without_secrets() {
    let world = world(fast()).await;
    let ids = async || {
        let (_, all) = call(&world, M::GET, "/v2/auth/providers", None).await;
        all.as_array()
            .expect("a list")
            .iter()
            .map(|one| str(&one["provider_id"]).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids().await, ["github", "google", "slack", "linear"]);
    let new = json!({"provider_id": "notion", "name": "Notion", "client_id": "c", "client_secret": "very-secret",
        "auth_url": "https://notion.example/authorize", "token_url": "https://notion.example/token"});
    let (status, created) = call(&world, M::POST, "/v2/auth/providers", Some(new.clone())).await;
    assert_eq!(
        (
            status,
            &created["code_challenge_method"],
            &created["uses_pkce"]
        ),
        (200, &json!("S256"), &json!(false))
    );
    assert_eq!(
        call(&world, M::POST, "/v2/auth/providers", Some(new))
            .await
            .0,
        409
    );
    let path = "/v2/auth/providers/notion";
    let patch = json!({"name": "Notes", "client_secret": "other-secret", "provider_id": "x", "auth_url": null});
    let (status, changed) = call(&world, M::PATCH, path, Some(patch)).await;
    assert_eq!(
        (status, &changed["name"], &changed["auth_url"]),
        (200, &json!("Notes"), &created["auth_url"])
    );
    let (_, read) = call(&world, M::GET, path, None).await;
    assert!(
        read == changed
            && ![created, changed]
                .iter()
                .any(|one| one.to_string().contains("secret\"")),
        "{read}"
    );
    let mcp = json!({"provider_id": "tools", "name": "Tools", "mcp_server_url": "https://mcp.example/sse"});
    let (status, found) = call(
        &world,
        M::POST,
        "/v2/auth/providers/mcp-discover",
        Some(mcp),
    )
    .await;
    assert_eq!(
        (status, &found["is_dynamic_client"], &found["auth_url"]),
        (200, &json!(true), &json!("https://mcp.example/authorize"))
    );
    let (status, response) = call(&world, M::DELETE, path, None).await;
    assert!(status == 200 && response["message"].is_string());
    assert_eq!(call(&world, M::GET, path, None).await.0, 404);
    assert_eq!(ids().await.len(), 5);
}

#[tokio::test]
async fn tokens_are_distinguished_and_revoked() {
    let world = world(Options {
        speed: 0.001,
        ..fast()
    })
    .await;
    let started = authenticate(
        &world,
        json!({"provider": "github", "scopes": ["repo"], "force_new": true, "is_default": true}),
    )
    .await;
    let done = json!({"code": "c", "state": started["auth_id"]});
    assert_eq!(
        call(&world, M::POST, "/v2/auth/callback/github", Some(done))
            .await
            .0,
        200
    );
    let tokens = async || {
        call(&world, M::GET, "/v2/auth/tokens?provider_id=github", None)
            .await
            .1
    };
    let two = tokens().await;
    assert_eq!(
        (&two[0]["is_default"], &two[1]["is_default"]),
        (&json!(false), &json!(true))
    );
    assert!(
        !two.to_string().contains("simulated-"),
        "no token is listed: {two}"
    );
    let old = str(&two[0]["id"]);
    let named = authenticate(
        &world,
        json!({"provider": "github", "scopes": [], "token_id": old}),
    )
    .await;
    let default = authenticate(&world, json!({"provider": "github", "scopes": []})).await;
    assert_ne!(named["token"], default["token"]);
    assert_eq!(
        call(&world, M::DELETE, &format!("/v2/auth/tokens/{old}"), None)
            .await
            .0,
        204
    );

    let (status, response) = call(
        &world,
        M::DELETE,
        "/v2/auth/tokens?provider_id=github",
        None,
    )
    .await;
    assert_eq!(
        (status, &response["provider_id"], tokens().await),
        (200, &json!("github"), json!([]))
    );
    assert_eq!(
        call(&world, M::DELETE, "/v2/auth/tokens", None).await.0,
        422
    );
}
