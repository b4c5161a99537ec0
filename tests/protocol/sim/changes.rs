//! Rules for creating, changing and deleting deployments.

use crate::sim::{World, call, fast, github, world};
use reqwest::Method as M;
use runtail_sim::{Options, Scenario};
use serde_json::{Value, json};

/// At this speed no status changes during a test.
fn nearly_stopped() -> Options {
    Options {
        speed: 0.001,
        ..fast()
    }
}

fn image(name: &str) -> Value {
    json!({
        "name": name, "source": "external_docker", "source_config": {"resource_spec": {}},
        "source_revision_config": {"image_uri": "registry.example/bot@sha256:aa"}, "secrets": [],
    })
}

/// Returns the body with another value at a dotted path.
fn with(mut body: Value, at: &str, value: Value) -> Value {
    let pointer = format!("/{}", at.replace('.', "/"));
    let (parent, last) = pointer.rsplit_once('/').expect("a slash");
    body.pointer_mut(parent).expect("an existing parent")[last] = value;
    body
}

async fn create(world: &World, body: Value) -> (u16, Value) {
    call(world, M::POST, "/v2/deployments", Some(body)).await
}

/// Creates a deployment and returns its path.
async fn create_path(world: &World, body: Value) -> String {
    let (status, created) = create(world, body).await;
    assert_eq!(status, 201, "{created}");
    format!("/v2/deployments/{}", created["id"].as_str().expect("an id"))
}

async fn revisions(world: &World, path: &str) -> usize {
    call(world, M::GET, &format!("{path}/revisions"), None)
        .await
        .1["resources"]
        .as_array()
        .map_or(0, Vec::len)
}

fn has_detail(response: &Value, part: &str) -> bool {
    response["detail"]
        .as_str()
        .is_some_and(|text| text.contains(part))
}

#[tokio::test]
async fn invalid_deployments_are_rejected_with_a_reason() {
    let world = world(nearly_stopped()).await;
    let reserved = json!([{"name": "LANGSMITH_API_KEY", "value": "a"}, {"name": "OK", "value": "b"}, {"name": "PORT", "value": "1"}]);
    for (body, part) in [
        (github("Bad_Name"), "'Bad_Name' is invalid"),
        (
            with(github("a"), "secrets", reserved),
            "'LANGSMITH_API_KEY', 'PORT'",
        ),
        (
            with(github("a"), "source_config.build_on_push", Value::Null),
            "source_config.build_on_push is required",
        ),
        (
            with(
                github("a"),
                "source_revision_config.repo_ref",
                json!("refs/tags/v1"),
            ),
            "repo_ref is a tag",
        ),
        (
            with(github("a"), "source_revision_config.image_uri", json!("x")),
            "image_uri is only supported for",
        ),
        (
            with(
                github("a"),
                "source_revision_config.langgraph_config_path",
                Value::Null,
            ),
            "langgraph_config_path is required",
        ),
        (
            with(github("a"), "secret_references", json!([])),
            "only supported for 'external_docker'",
        ),
        (
            with(image("a"), "source_config.build_on_push", json!(true)),
            "only supported for 'github'",
        ),
        (
            with(image("a"), "source_config.deployment_type", json!("dev")),
            "deployment_type is not supported",
        ),
        (
            with(image("a"), "source_config.resource_spec", Value::Null),
            "resource_spec is required",
        ),
        (
            with(image("a"), "source_revision_config.image_uri", Value::Null),
            "image_uri is required",
        ),
        (
            with(
                github("a"),
                "source_config.custom_url",
                json!("https://a.example"),
            ),
            "custom_url can only be set",
        ),
    ] {
        let (status, response) = create(&world, body.clone()).await;
        assert!(
            status == 400 && has_detail(&response, part),
            "{body}: {status} {response}"
        );
    }
    let (status, response) = create(
        &world,
        with(
            image("a"),
            "source_config.resource_spec",
            json!({"cpu": 9, "sidecars": [{"name": "a"}]}),
        ),
    )
    .await;
    let places: Vec<String> = response["detail"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["loc"].to_string())
        .collect();
    let spec = r#"["body","source_config","resource_spec""#;
    assert_eq!(
        (status, places),
        (
            422,
            vec![
                format!("{spec},\"cpu\"]"),
                format!("{spec},\"sidecars\",0,\"image\"]")
            ]
        )
    );
    assert_eq!(
        call(&world, M::GET, "/v2/deployments", None).await.1["resources"],
        json!([]),
        "no deployment was created"
    );

    let hybrid = crate::sim::world(Options {
        needs_listener: true,
        ..nearly_stopped()
    })
    .await;
    let (status, response) = create(&hybrid, image("a")).await;
    assert!(
        status == 400 && has_detail(&response, "listener_id' is required"),
        "{response}"
    );
    let listener = with(
        image("a"),
        "source_config.listener_id",
        json!("11111111-1111-4111-8111-111111111111"),
    );
    assert_eq!(create(&hybrid, listener).await.0, 201);
    let aws = crate::sim::world(Options {
        aws: true,
        ..nearly_stopped()
    })
    .await;
    let (status, response) = create(
        &aws,
        with(
            github("a"),
            "source_config.deployment_type",
            json!("dev_zero"),
        ),
    )
    .await;
    assert_eq!(
        (status, response),
        (
            400,
            json!({"detail": "Scale to zero deployments are not supported in AWS environments"})
        )
    );
}

#[tokio::test]
async fn only_relevant_changes_create_revisions() {
    let world = world(nearly_stopped()).await;
    let path = create_path(&world, image("bot")).await;
    let reference = json!([{"name": "A", "secret_name": "s", "secret_key": "k"}]);
    let mut count = 1;
    for (patch, new) in [
        (json!({}), false),
        (json!({"source_revision_config": {}}), false),
        (
            json!({"source_revision_config": {"image_uri": null}, "secrets": null, "source_config": null}),
            false,
        ),
        (
            json!({"source_config": {"custom_url": "https://bot.example"}, "display_name": "The bot"}),
            false,
        ),
        (
            json!({"source_revision_config": {"image_uri": "registry.example/bot@sha256:bb"}}),
            true,
        ),
        (json!({"source_config": {"resource_spec": {}}}), true),
        (json!({"secret_references": reference}), true),
        (json!({"secrets": [{"name": "B", "value": "2"}]}), true),
        (json!({"secrets": []}), false),
        (json!({"tracked_packages": ["google-adk:1.2"]}), false),
    ] {
        let (status, _) = call(&world, M::PATCH, &path, Some(patch.clone())).await;
        count += usize::from(new);
        assert_eq!(
            (status, revisions(&world, &path).await),
            (200, count),
            "{patch}"
        );
    }
    let (_, now) = call(&world, M::GET, &path, None).await;
    assert_eq!(
        (&now["secret_references"], &now["secrets"]),
        (&reference, &json!([{"name": "B", "value": "2"}]))
    );
    assert_eq!(
        (&now["url"], &now["source_config"]["custom_url"]),
        (&Value::Null, &json!("https://bot.example"))
    );
}

#[tokio::test]
async fn rejected_changes_have_no_effect() {
    let world = world(nearly_stopped()).await;
    let path = create_path(&world, github("bot")).await;
    let (_, before) = call(&world, M::GET, &path, None).await;
    let another = "22222222-2222-4222-8222-222222222222";
    for (patch, part) in [
        (
            json!({"source_config": {"repo_url": "https://github.com/acme/other"}}),
            "repo_url cannot be changed",
        ),
        (
            json!({"source_config": {"integration_id": another}}),
            "integration_id cannot be changed",
        ),
        (
            json!({"source_config": {"deployment_type": "prod"}}),
            "deployment_type cannot be changed",
        ),
        (
            json!({"source_config": {"listener_id": another}}),
            "listener_id cannot be changed",
        ),
        (
            json!({"source_config": {"listener_config": {"k8s_namespace": "x"}}}),
            "k8s_namespace cannot be changed",
        ),
        (
            json!({"source_revision_config": {"repo_ref": "refs/tags/v1"}, "display_name": "x"}),
            "repo_ref is a tag",
        ),
        (
            json!({"secrets": [{"name": "DATABASE_URI", "value": "x"}], "display_name": "x"}),
            "'DATABASE_URI'",
        ),
        (
            json!({"revision_source": "internal_source", "source_revision_config": {"source_tarball_path": "mine.tar.gz"}}),
            "must be an object path",
        ),
        (
            json!({"tracked_packages": ["left-pad:1"]}),
            "Invalid tracked package",
        ),
    ] {
        let (status, response) = call(&world, M::PATCH, &path, Some(patch.clone())).await;
        assert!(
            status == 400 && has_detail(&response, part),
            "{patch}: {status} {response}"
        );
    }
    let (status, response) = call(&world, M::PATCH, &path, Some(json!({"display_name": ""}))).await;
    assert_eq!(
        (status, &response["detail"][0]["type"]),
        (422, &json!("string_too_short"))
    );
    assert_eq!(call(&world, M::GET, &path, None).await.1, before);
    let same = json!({"source_config": before["source_config"]});
    assert_eq!(
        call(&world, M::PATCH, &path, Some(same)).await.0,
        200,
        "unchanged values may be sent"
    );
}

#[tokio::test]
async fn deleted_deployments_stay_listed_until_removed() {
    let world = world(nearly_stopped()).await;
    let path = create_path(&world, github("bot")).await;
    assert_eq!(
        call(
            &world,
            M::DELETE,
            &format!("{path}?delete_tracing_project=maybe"),
            None
        )
        .await
        .0,
        422
    );
    assert_eq!(call(&world, M::DELETE, &path, None).await.0, 204);
    assert_eq!(
        call(&world, M::GET, &path, None).await.1["status"],
        "AWAITING_DELETE"
    );
    assert_eq!(
        create(&world, github("bot")).await.0,
        409,
        "while it is being deleted"
    );
    assert_eq!(
        call(&world, M::DELETE, &format!("{path}?force=true"), None)
            .await
            .0,
        204
    );
    assert_eq!(call(&world, M::GET, &path, None).await.0, 404);
    let (status, response) = create(&world, github("bot")).await;
    assert!(
        status == 409 && has_detail(&response, "tracing project named 'bot' already exists"),
        "{response}"
    );

    let path = create_path(&world, github("clean")).await;
    assert_eq!(
        call(
            &world,
            M::DELETE,
            &format!("{path}?delete_tracing_project=true"),
            None
        )
        .await
        .0,
        204
    );
    assert_eq!(
        call(&world, M::DELETE, &format!("{path}?force=true"), None)
            .await
            .0,
        204
    );
    assert_eq!(create(&world, github("clean")).await.0, 201);

    let quick = crate::sim::world(Options {
        speed: 1000.0,
        ..fast()
    })
    .await;
    let path = create_path(&quick, github("bot")).await;
    assert_eq!(call(&quick, M::DELETE, &path, None).await.0, 204);
    let mut seen = Vec::new();
    loop {
        let (status, response) = call(&quick, M::GET, &path, None).await;
        if status == 404 {
            break;
        }
        seen.push(response["status"].clone());
    }
    seen.dedup();
    assert!(
        seen.iter()
            .all(|word| word == "AWAITING_DELETE" || word == "AWAITING_FINAL_DELETE"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn several_deployments_are_deleted_in_one_request() {
    let world = world(Options {
        scenario: Scenario::Fleet { deployments: 3 },
        ..nearly_stopped()
    })
    .await;
    let (_, all) = call(&world, M::GET, "/v2/deployments", None).await;
    let id = |n: usize| all["resources"][n]["id"].as_str().expect("an id");
    let unknown = "11111111-1111-4111-8111-111111111111";
    let delete = async |ids: &[&str]| {
        let query: Vec<String> = ids
            .iter()
            .map(|id| format!("deployment_ids={id}"))
            .collect();
        call(
            &world,
            M::DELETE,
            &format!("/v2/deployments?{}", query.join("&")),
            None,
        )
        .await
        .0
    };
    assert_eq!(delete(&[]).await, 422);
    assert_eq!(delete(&[id(0), "nope"]).await, 422);
    assert_eq!(delete(&[unknown]).await, 404);
    assert_eq!(delete(&[id(0), unknown]).await, 207);
    assert_eq!(delete(&[id(1), id(2)]).await, 200);
    let (_, gone) = call(
        &world,
        M::GET,
        "/v2/deployments?status=AWAITING_DELETE",
        None,
    )
    .await;
    assert_eq!(gone["resources"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        call(&world, M::GET, "/v2/deployments/free-count", None)
            .await
            .1,
        json!({"count": 0})
    );
}

#[tokio::test]
async fn deployments_can_be_created_for_an_agent() {
    let world = world(nearly_stopped()).await;
    let mut body = with(
        github("x"),
        "agent",
        json!({"agent_id": "mailer", "environment": "staging"}),
    );
    body.as_object_mut().expect("an object").remove("name");
    let (status, created) = create(&world, body.clone()).await;
    assert_eq!(
        (status, &created["agent"]["environment"]),
        (201, &json!("staging"))
    );
    let (status, response) = create(&world, body).await;
    assert_eq!(
        (status, response),
        (
            409,
            json!({"detail": "A deployment already exists for this agent environment"})
        )
    );
    for (environment, count) in [("staging", 1), ("production", 0)] {
        let list = format!("/v2/deployments?agent_id=mailer&agent_environment={environment}");
        assert_eq!(
            call(&world, M::GET, &list, None).await.1["resources"]
                .as_array()
                .map(Vec::len),
            Some(count)
        );
    }
}

#[tokio::test]
async fn earlier_revisions_can_be_rebuilt() {
    let world = world(nearly_stopped()).await;
    let path = create_path(&world, github("bot")).await;
    let (_, first) = call(&world, M::GET, &path, None).await;
    call(
        &world,
        M::PATCH,
        &path,
        Some(json!({"source_revision_config": {"repo_ref": "build-fails"}})),
    )
    .await;
    let revision = first["latest_revision_id"].as_str().expect("an id");
    let (status, again) = call(
        &world,
        M::POST,
        &format!("{path}/revisions/{revision}/redeploy"),
        None,
    )
    .await;
    assert_eq!((status, revisions(&world, &path).await), (200, 3));
    assert_eq!(
        again["source_revision_config"], first["source_revision_config"],
        "the same commit"
    );
    assert_ne!(again["latest_revision_id"], first["latest_revision_id"]);
    let unknown = format!("{path}/revisions/11111111-1111-4111-8111-111111111111/redeploy");
    assert_eq!(call(&world, M::POST, &unknown, None).await.0, 404);
}

#[tokio::test]
async fn single_revision_can_use_another_source() {
    let world = world(nearly_stopped()).await;
    let path = create_path(&world, github("bot")).await;
    let (_, place) = call(&world, M::POST, &format!("{path}/upload-url"), None).await;
    let archive = json!({"source_tarball_path": place["object_path"], "langgraph_config_path": "langgraph.json"});
    let patch = json!({"revision_source": "internal_source", "source_revision_config": archive});
    let (status, changed) = call(&world, M::PATCH, &path, Some(patch)).await;
    assert_eq!((status, &changed["source"]), (200, &json!("github")));
    assert_eq!(changed["source_revision_config"]["repo_ref"], Value::Null);
    let (_, list) = call(&world, M::GET, &format!("{path}/revisions"), None).await;
    assert_eq!(list["resources"][0]["source"], "internal_source");
    let secrets = json!({"secrets": [{"name": "A", "value": "b"}]});
    let (_, changed) = call(&world, M::PATCH, &path, Some(secrets)).await;
    assert_eq!(
        changed["source_revision_config"]["repo_ref"], "main",
        "the next revision uses the repository again"
    );
}

#[tokio::test]
async fn revisions_are_interrupted_by_both_spellings() {
    let world = world(nearly_stopped()).await;
    for word in ["interruption", "interrupt"] {
        let path = create_path(&world, github(word)).await;
        let (_, one) = call(&world, M::GET, &path, None).await;
        let revision = format!(
            "{path}/revisions/{}",
            one["latest_revision_id"].as_str().expect("an id")
        );
        let (status, response) = call(&world, M::POST, &format!("{revision}/{word}"), None).await;
        assert_eq!((status, response.is_null()), (204, true));
        let status = call(&world, M::GET, &revision, None).await.1["status"].clone();
        assert_eq!(status, "INTERRUPTED");
    }
    let world = crate::sim::world(Options {
        speed: 1000.0,
        ..fast()
    })
    .await;
    let path = create_path(&world, github("bot")).await;
    let id = call(&world, M::GET, &path, None).await.1["latest_revision_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    world.sim.force_status(&id, "BUILDING");
    let revision = format!("{path}/revisions/{id}");
    assert_eq!(
        call(&world, M::POST, &format!("{revision}/interrupt"), None)
            .await
            .0,
        204
    );
    assert_eq!(
        call(&world, M::GET, &revision, None).await.1["status"],
        "INTERRUPTED",
        "a forced status can be interrupted too"
    );
}
