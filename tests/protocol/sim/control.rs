//! The control plane: keys, paging, creation, revision statuses over time, logs.

use crate::sim::{call, fast, github, keys, world};
use reqwest::Method as M;
use runtail_sim::{KEY, Options, Scenario};
use serde_json::{Value, json};

#[tokio::test]
async fn key_and_workspace_are_required() {
    let one = world(fast()).await;
    let url = format!("{}/v2/deployments", one.control_plane);
    let (none, wrong) = (
        one.http.get(&url),
        one.http.get(&url).header("X-Api-Key", "nope"),
    );
    for request in [none, wrong] {
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), 401);
        assert!(response.json::<Value>().await.expect("JSON")["detail"].is_string());
    }
    let bearer = one
        .http
        .get(&url)
        .bearer_auth(KEY)
        .send()
        .await
        .expect("a response");
    assert_eq!(bearer.status(), 200);

    let two = world(Options {
        needs_workspace: true,
        ..fast()
    })
    .await;
    let (status, response) = call(&two, M::GET, "/v2/deployments", None).await;
    assert_eq!(status, 403);
    assert!(
        response["detail"]
            .as_str()
            .is_some_and(|text| text.contains("requires workspace specification"))
    );
    let workspace = &two.sim.regions()[0].workspace;
    let request = two
        .http
        .get(format!("{}/v2/deployments", two.control_plane))
        .header("X-Api-Key", KEY)
        .header("X-Tenant-Id", workspace);
    assert_eq!(request.send().await.expect("a response").status(), 200);

    let three = world(Options {
        not_enabled: true,
        ..fast()
    })
    .await;
    let (status, response) = call(&three, M::GET, "/v2/deployments", None).await;
    assert!(
        status == 403
            && response["detail"]
                .as_str()
                .is_some_and(|text| text.contains("not enabled"))
    );
}

#[tokio::test]
async fn self_hosted_region_responds_only_under_its_prefix() {
    let both = world(fast()).await;
    assert_eq!(call(&both, M::GET, "/v2/deployments", None).await.0, 200);
    assert_eq!(
        call(&both, M::GET, "/api-host/v2/deployments", None)
            .await
            .0,
        200
    );
    let one = world(Options {
        prefix_only: true,
        ..fast()
    })
    .await;
    assert!(one.control_plane.ends_with("/api-host"));
    assert_eq!(call(&one, M::GET, "/v2/deployments", None).await.0, 200);
    let bare = one.control_plane.trim_end_matches("/api-host");
    assert_eq!(
        one.http
            .get(format!("{bare}/v2/deployments"))
            .header("X-Api-Key", KEY)
            .send()
            .await
            .expect("a response")
            .status(),
        405
    );
}

#[tokio::test]
async fn lists_are_paged() {
    let world = world(Options {
        scenario: Scenario::Fleet { deployments: 45 },
        ..fast()
    })
    .await;
    let mut seen = Vec::new();
    let mut offset = 0;
    loop {
        let (status, page) = call(
            &world,
            M::GET,
            &format!("/v2/deployments?name_contains=&limit=20&offset={offset}"),
            None,
        )
        .await;
        assert_eq!(status, 200);
        let resources = page["resources"].as_array().expect("a list").clone();
        offset += resources.len();
        assert_eq!(page["offset"], offset);
        seen.extend(
            resources
                .iter()
                .map(|one| one["id"].as_str().expect("an id").to_owned()),
        );
        if resources.len() < 20 {
            break;
        }
    }
    assert_eq!(seen.len(), 45);
    let (_, triage) = call(&world, M::GET, "/v2/deployments?name_contains=triage", None).await;
    assert!(
        triage["resources"]
            .as_array()
            .is_some_and(|all| !all.is_empty() && all.len() < 45)
    );
    let name = triage["resources"][0]["name"].as_str().expect("a name");
    let (_, exact) = call(
        &world,
        M::GET,
        &format!("/v2/deployments?name={name}"),
        None,
    )
    .await;
    assert_eq!(exact["resources"].as_array().map(Vec::len), Some(1));
    let (status, wrong) = call(&world, M::GET, "/v2/deployments?limit=101", None).await;
    assert_eq!(
        (status, &wrong["detail"][0]["loc"]),
        (422, &json!(["query", "limit"]))
    );
    assert_eq!(keys(&wrong["detail"][0]), ["loc", "msg", "type"]);
    let id = &seen[0];
    let (_, revisions) = call(
        &world,
        M::GET,
        &format!("/v2/deployments/{id}/revisions?limit=1"),
        None,
    )
    .await;
    assert_eq!(
        (
            revisions["resources"].as_array().map(Vec::len),
            &revisions["offset"]
        ),
        (Some(1), &json!(1))
    );
}

#[tokio::test]
async fn deployment_is_created_changed_and_deleted() {
    // At this speed no status changes during the test.
    let world = world(Options {
        speed: 0.001,
        ..fast()
    })
    .await;
    let (status, created) = call(&world, M::POST, "/v2/deployments", Some(github("bot"))).await;
    assert_eq!(status, 201);
    assert_eq!(
        created["secrets"],
        json!([{"name": "OPENAI_API_KEY", "value": "sk-plain"}]),
        "in plain text, like the real service"
    );
    assert_eq!(
        (&created["status"], &created["active_revision_id"]),
        (&json!("AWAITING_DATABASE"), &Value::Null)
    );
    let path = format!("/v2/deployments/{}", created["id"].as_str().expect("an id"));
    let (status, one) = call(
        &world,
        M::GET,
        &format!(
            "{path}/revisions/{}",
            created["latest_revision_id"].as_str().expect("id")
        ),
        None,
    )
    .await;
    assert_eq!(
        (status, &one["status"], &one["source"]),
        (200, &json!("CREATING"), &json!("github"))
    );
    assert_eq!(
        keys(&one),
        [
            "created_at",
            "id",
            "source",
            "source_revision_config",
            "status",
            "updated_at"
        ]
    );

    let count = async || {
        call(&world, M::GET, &format!("{path}/revisions"), None)
            .await
            .1["resources"]
            .as_array()
            .map_or(0, Vec::len)
    };
    for (patch, revisions) in [
        (json!({"source_config": {"build_on_push": false}}), 1),
        (json!({"display_name": "The bot"}), 1),
        (json!({"secrets": []}), 1),
        (json!({"source_revision_config": {"repo_ref": "next"}}), 2),
        (json!({"secrets": [{"name": "A", "value": "b"}]}), 3),
        (json!({"source_config": {"resource_spec": {"cpu": 1}}}), 4),
    ] {
        let (status, _) = call(&world, M::PATCH, &path, Some(patch.clone())).await;
        assert_eq!((status, count().await), (200, revisions), "{patch}");
    }
    let (_, now) = call(&world, M::GET, &path, None).await;
    assert_eq!(
        (
            &now["source_revision_config"]["repo_ref"],
            &now["display_name"]
        ),
        (&json!("next"), &json!("The bot"))
    );
    let (status, created) = call(
        &world,
        M::POST,
        &format!("{path}/revisions"),
        Some(json!({})),
    )
    .await;
    assert_eq!((status, count().await), (201, 5));
    let (status, again) = call(
        &world,
        M::POST,
        &format!(
            "{path}/revisions/{}/redeploy",
            created["id"].as_str().expect("id")
        ),
        None,
    )
    .await;
    assert_eq!(
        (status, &again["name"], count().await),
        (200, &json!("bot"), 6)
    );
    let latest = again["latest_revision_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert_eq!(
        call(
            &world,
            M::POST,
            &format!("{path}/revisions/{latest}/interruption"),
            None
        )
        .await
        .0,
        204
    );
    let (_, stopped) = call(&world, M::GET, &format!("{path}/revisions/{latest}"), None).await;
    assert_eq!(stopped["status"], "INTERRUPTED");
    assert_eq!(
        call(
            &world,
            M::POST,
            &format!("{path}/revisions/{latest}/interrupt"),
            None
        )
        .await
        .0,
        400
    );
    world.sim.force_status(&latest, "BRAND_NEW");
    assert_eq!(
        call(&world, M::GET, &format!("{path}/revisions/{latest}"), None)
            .await
            .1["status"],
        "BRAND_NEW"
    );

    assert_eq!(
        call(&world, M::DELETE, &format!("{path}?force=true"), None)
            .await
            .0,
        400
    );
    assert_eq!(call(&world, M::DELETE, &path, None).await.0, 204);
    assert_eq!(
        call(&world, M::GET, &path, None).await.1["status"],
        "AWAITING_DELETE"
    );
    assert_eq!(
        call(&world, M::DELETE, &format!("{path}?force=true"), None)
            .await
            .0,
        204
    );
    let (status, gone) = call(&world, M::GET, &path, None).await;
    assert_eq!(
        (
            status,
            gone["detail"]
                .as_str()
                .is_some_and(|text| text.ends_with("not found."))
        ),
        (404, true)
    );
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_a_reason() {
    let world = world(fast()).await;
    let (status, response) = call(
        &world,
        M::POST,
        "/v2/deployments",
        Some(json!({"name": "x"})),
    )
    .await;
    assert_eq!(
        (status, response["detail"].as_array().map(Vec::len)),
        (422, Some(4))
    );
    assert_eq!(
        response["detail"][0],
        json!({"loc": ["body", "source"], "msg": "Field required", "type": "missing"})
    );
    let (status, response) = call(&world, M::GET, "/v2/deployments/nope", None).await;
    assert_eq!(
        (status, &response["detail"][0]["type"]),
        (422, &json!("uuid_parsing"))
    );
    let unknown = "11111111-1111-4111-8111-111111111111";
    let (status, response) =
        call(&world, M::GET, &format!("/v2/deployments/{unknown}"), None).await;
    assert_eq!(
        (status, response),
        (
            404,
            json!({"detail": format!("Deployment ID {unknown} not found.")})
        )
    );
    let mut tag = github("tagged");
    tag["source_revision_config"]["repo_ref"] = json!("refs/tags/v1");
    assert_eq!(
        call(&world, M::POST, "/v2/deployments", Some(tag)).await.0,
        400
    );
    assert_eq!(
        call(&world, M::POST, "/v2/deployments", Some(github("twin")))
            .await
            .0,
        201
    );
    assert_eq!(
        call(&world, M::POST, "/v2/deployments", Some(github("twin")))
            .await
            .0,
        409
    );
}

#[tokio::test]
async fn revision_is_deployed_or_fails_with_a_log() {
    let world = world(Options {
        speed: 2000.0,
        ..fast()
    })
    .await;
    let (_, good) = call(&world, M::POST, "/v2/deployments", Some(github("good"))).await;
    let mut fails = github("bad");
    fails["source_revision_config"]["repo_ref"] = json!("build-fails");
    let (_, bad) = call(&world, M::POST, "/v2/deployments", Some(fails)).await;
    for (created, end) in [(&good, "DEPLOYED"), (&bad, "BUILD_FAILED")] {
        let (id, revision) = (
            created["id"].as_str().expect("id"),
            created["latest_revision_id"].as_str().expect("id"),
        );
        let path = format!("/v2/deployments/{id}/revisions/{revision}");
        // The clock advances with every request; the test client's timeout is the only limit.
        let status = async || {
            call(&world, M::GET, &path, None).await.1["status"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        while status().await != end {}
        let logs = format!("/v1/projects/{id}/revisions/{revision}/build_logs");
        let (_, first) = call(
            &world,
            M::POST,
            &logs,
            Some(json!({"order": "asc", "limit": 5})),
        )
        .await;
        assert_eq!(first["logs"].as_array().map(Vec::len), Some(5));
        assert_eq!(
            keys(&first["logs"][0]),
            ["id", "level", "message", "timestamp"]
        );
        let more = json!({"order": "asc", "limit": 5, "offset": first["next_offset"]});
        let (_, second) = call(&world, M::POST, &logs, Some(more)).await;
        assert_ne!(first["logs"][4]["id"], second["logs"][0]["id"]);
        let (_, last) = call(
            &world,
            M::POST,
            &logs,
            Some(json!({"order": "desc", "limit": 3})),
        )
        .await;
        let failed = last.to_string().contains("non-zero status");
        assert_eq!(failed, end == "BUILD_FAILED");
        let (status, v2) = call(
            &world,
            M::GET,
            &format!("{path}/logs?type=build&limit=3"),
            None,
        )
        .await;
        assert_eq!((status, &v2["logs"][0]), (200, &first["logs"][0]));
        assert_eq!(
            call(&world, M::GET, &format!("{path}/logs"), None).await.0,
            422
        );
    }
    let id = good["id"].as_str().expect("id");
    let (_, serving) = call(
        &world,
        M::POST,
        &format!("/v1/projects/{id}/deploy_logs"),
        Some(json!({"order": "desc", "limit": 100, "level": "WARNING"})),
    )
    .await;
    assert!(
        serving["logs"]
            .as_array()
            .is_some_and(|lines| lines.iter().all(|line| line["level"] != "INFO"))
    );
    let (_, items) = call(
        &world,
        M::GET,
        &format!("/v2/deployment-logs?deployment_id={id}&page_size=2"),
        None,
    )
    .await;
    assert_eq!(keys(&items), ["items", "next_cursor"]);
    assert_eq!(
        call(&world, M::GET, &format!("/v2/deployments/{id}"), None)
            .await
            .1["active_revision_id"],
        good["latest_revision_id"]
    );
}

#[tokio::test]
async fn tarballs_are_uploaded_like_the_official_cli() {
    let world = world(Options {
        speed: 2000.0,
        ..fast()
    })
    .await;
    let new = json!({"source": "internal_source", "source_config": {"deployment_type": "dev_zero"},
        "source_revision_config": {}, "name": "my-app", "secrets": []});
    let (status, created) = call(&world, M::POST, "/v2/deployments", Some(new)).await;
    assert_eq!(status, 201);
    let path = format!("/v2/deployments/{}", created["id"].as_str().expect("an id"));
    let (_, place) = call(
        &world,
        M::POST,
        &format!("{path}/upload-url"),
        Some(json!({"supports_upload_headers": true})),
    )
    .await;
    let put = world
        .http
        .put(place["upload_url"].as_str().expect("a URL"))
        .body("tar")
        .send()
        .await
        .expect("a response");
    assert!(put.status().is_success());
    let patch = json!({"revision_source": "internal_source", "secrets": [],
        "source_revision_config": {"source_tarball_path": place["object_path"], "langgraph_config_path": "langgraph.json"}});
    let (status, patched) = call(&world, M::PATCH, &path, Some(patch)).await;
    assert_eq!((status, patched["tenant_id"].is_string()), (200, true));
    let newest = async || {
        call(&world, M::GET, &format!("{path}/revisions?limit=1"), None)
            .await
            .1["resources"][0]["status"]
            .clone()
    };
    while newest().await != "DEPLOYED" {}
    let (_, all) = call(
        &world,
        M::GET,
        &format!("{path}/revisions?status=SKIPPED"),
        None,
    )
    .await;
    assert_eq!(
        all["resources"].as_array().map(Vec::len),
        Some(1),
        "the revision without a source was skipped"
    );
    assert_eq!(
        call(&world, M::POST, &format!("{path}/push-token"), None)
            .await
            .0,
        400
    );
    assert_eq!(
        call(&world, M::GET, "/v2/listeners?limit=100&offset=0", None)
            .await
            .1["resources"][0]["compute_type"],
        "k8s"
    );
    assert_eq!(
        call(&world, M::GET, "/v1/integrations/github/install", None)
            .await
            .1[0]["name"],
        "acme"
    );
}
