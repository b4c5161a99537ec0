//! Schemathesis (pinned in `tests/real/requirements.txt`) sends the simulator requests that the control plane's OpenAPI
//! document (`tests/control-plane/openapi.json`) allows, and checks that all responses conform to the document.
//!
//! The document is older than the API. Each change that is made to it before use is listed here with its reason. Exceptions of the
//! checks, and the one excluded phase, are listed in `tests/control-plane/schemathesis.toml`. Calls that Runtail
//! never makes are left out where the simulator doesn't offer them (`ABSENT`).

use runtail_sim::{KEY, Options, Scenario, Sim};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const WHY: &str =
    "set by tests/real/serve: tests/real/serve -- cargo test --test protocol schema -- --ignored";

/// Response statuses that the document lacks, with the reason.
const STATUSES: [(&str, &str, &[&str]); 4] = [
    (
        "409",
        "the name, the tracing project or the agent is taken: every official client knows it",
        &["POST /v2/deployments"],
    ),
    (
        "404",
        "of things that are not there the document says nothing but 422, which would be another complaint",
        &[
            "GET /v1/integrations/github/{integration_id}/repos",
            "GET /v1/integrations/forge/github/{integration_id}/repos",
            "GET /v2/auth/providers/{provider_id}",
            "PATCH /v2/auth/providers/{provider_id}",
            "DELETE /v2/auth/providers/{provider_id}",
            "POST /v2/auth/authenticate",
            "DELETE /v2/auth/tokens/{token_id}",
        ],
    ),
    (
        "409",
        "two providers of one id could not be told apart",
        &[
            "POST /v2/auth/providers",
            "POST /v2/auth/providers/mcp-discover",
        ],
    ),
    (
        "400",
        "nothing was discovered",
        &["POST /v2/auth/providers/mcp-discover"],
    ),
];

/// Values that enumerations of the document lack: their places, the values, and the reason.
const VALUES: [(&[&str], &[&str], &str); 3] = [
    (
        &["/components/schemas/Deployment/properties/status/enum"],
        &["AWAITING_FINAL_DELETE"],
        "three clients know it between AWAITING_DELETE and 404",
    ),
    (
        &[
            "/components/schemas/Deployment/properties/source/enum",
            "/components/schemas/DeploymentCreateRequest/properties/source/enum",
            "/components/schemas/Revision/properties/source/enum",
        ],
        &["internal_template"],
        "newer documentation",
    ),
    (
        &[
            "/components/schemas/SourceConfig/properties/deployment_type/anyOf/0/enum",
            "/components/schemas/SourceConfigRequest/properties/deployment_type/anyOf/0/enum",
            "/paths/~1v2~1deployments/get/parameters/7/schema/anyOf/0/enum",
        ],
        &["dev_zero", "dev_free_zero", "serverless", "dedicated"],
        "what the official clients send and the newer documentation writes",
    ),
];

/// Documented calls that the simulator doesn't offer, because Runtail doesn't make them.
const ABSENT: [&str; 11] = [
    "DELETE /v2/auth/agents/{agent_id}/connections/{connection_id}",
    "DELETE /v2/auth/tokens/workspace/slack",
    "DELETE /v2/deployments",
    "GET /v2/auth/agents/{agent_id}/connections",
    "GET /v2/auth/callback/{provider_id}",
    "GET /v2/auth/setup/{provider_id}",
    "GET /v2/auth/tokens/exists",
    "GET /v2/auth/tokens/workspace/slack/exists",
    "PATCH /v2/auth/tokens/{token_id}/metadata",
    "POST /v2/auth/agents/{agent_id}/connections",
    "POST /v2/auth/callback/{provider_id}",
];

/// The part of the document that describes an operation, `GET /v2/deployments`.
fn operation<'a>(document: &'a mut Value, name: &str) -> &'a mut Value {
    let (method, path) = name.split_once(' ').expect("a method and a path");
    let found = &mut document["paths"][path][method.to_lowercase()];
    assert!(found.is_object(), "{name} is not in the document");
    found
}

fn parameters(operation: &mut Value) -> impl Iterator<Item = &mut Value> {
    operation
        .get_mut("parameters")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// All operations of the document.
fn operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().expect("paths");
    let each = |(path, methods): (&String, &Value)| {
        let methods: Vec<String> = methods
            .as_object()
            .expect("methods")
            .keys()
            .map(|m| m.to_uppercase())
            .collect();
        methods
            .into_iter()
            .map(move |method| format!("{method} {path}"))
            .collect::<Vec<_>>()
    };
    paths.iter().flat_map(each).collect()
}

/// Removes what the simulator doesn't offer.
fn remove_absent(document: &mut Value) {
    for name in ABSENT {
        let (method, path) = name.split_once(' ').expect("a method and a path");
        let methods = document["paths"][path].as_object_mut().expect("methods");
        assert!(methods.remove(&method.to_lowercase()).is_some(), "{name}");
    }
}

/// Adds what the document lacks.
fn add_missing(document: &mut Value) {
    for (status, why, names) in STATUSES {
        for name in names {
            let known = operation(document, name)["responses"]
                .as_object_mut()
                .expect("responses");
            let before = known.insert(
                status.into(),
                json!({"description": why, "content": {"application/json": {}}}),
            );
            assert!(before.is_none(), "{name} has {status} by now");
        }
    }
    // A newer call on a documented path.
    let mut add = operation(document, "PATCH /v2/deployments/{deployment_id}").clone();
    add["operationId"] = json!("create_revision");
    let made = json!({"description": "newer documentation", "content": {"application/json":
        {"schema": {"$ref": "#/components/schemas/Revision"}}}});
    add["responses"]
        .as_object_mut()
        .expect("responses")
        .remove("200");
    add["responses"]["201"] = made;
    document["paths"]["/v2/deployments/{deployment_id}/revisions"]["post"] = add;
    for (places, words, _) in VALUES {
        for place in places {
            let known = document
                .pointer_mut(place)
                .and_then(Value::as_array_mut)
                .expect("an enumeration");
            known.extend(words.iter().map(|&word| json!(word)));
        }
    }
}

/// Makes the document more exact.
fn tighten(document: &mut Value) {
    without_notes(&mut document["components"]["schemas"]);
    for name in operations(document) {
        let operation = operation(document, &name);
        for (status, response) in operation["responses"].as_object_mut().expect("responses") {
            // The document has only an example: every rejection is {"detail": "…"}.
            if status.starts_with('4') && status != "422" {
                response["content"]["application/json"]["schema"] = json!(
                    {"type": "object", "required": ["detail"], "properties": {"detail": {"type": "string"}}});
            }
        }
        for parameter in parameters(operation) {
            let schema = &mut parameter["schema"];
            // A query can't contain null.
            if let Some(alternatives) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
                alternatives.retain(|one| one["type"] != "null");
            }
            // Nor can it contain an empty list.
            if schema["type"] == "array" {
                schema["minItems"] = json!(1);
            }
        }
    }
}

/// Removes the defaults and titles of fields: Schemathesis takes a value for invalid if it only differs from a default or was made
/// by changing a title.
fn without_notes(schemas: &mut Value) {
    match schemas {
        Value::Object(fields) => {
            // A field may have this name, too; then it is a schema.
            if fields
                .get("default")
                .is_some_and(|default| default.get("type").is_none())
            {
                fields.remove("default");
            }
            if fields.get("title").is_some_and(Value::is_string) {
                fields.remove("title");
            }
            fields.values_mut().for_each(without_notes);
        }
        Value::Array(items) => items.iter_mut().for_each(without_notes),
        _ => {}
    }
}

/// Existing ids, so that not every request ends in a 404: the operation (or all), the parameter, its values.
type Known = Vec<(&'static str, &'static str, Vec<String>)>;

struct World {
    sim: Sim,
    http: reqwest::Client,
}

impl World {
    async fn start() -> World {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        // Fast, so that no request waits long.
        let options = Options {
            scenario: Scenario::Fleet { deployments: 6 },
            speed: 1000.0,
            ..Options::default()
        };
        let sim = Sim::start(options).await.expect("servers on loopback");
        World {
            sim,
            http: reqwest::Client::builder()
                .no_proxy()
                .build()
                .expect("a client"),
        }
    }

    async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.sim.regions()[0].url);
        let request = self
            .http
            .request(method.parse().expect("a method"), url)
            .header("X-Api-Key", KEY);
        let request = if body.is_null() {
            request
        } else {
            request.body(body.to_string())
        };
        let response = request.send().await.expect("a response");
        assert!(
            response.status().is_success(),
            "{method} {path}: {}",
            response.status()
        );
        response.json().await.expect("JSON")
    }

    async fn known(&self) -> Known {
        let ids = |list: &Value, key: &str| -> Vec<String> {
            let list = list.as_array().expect("a list");
            list.iter()
                .map(|one| one[key].as_str().expect("a text").to_owned())
                .collect()
        };
        let mut deployments = ids(
            &self.ask("GET", "/v2/deployments", Value::Null).await["resources"],
            "id",
        );
        let lost = deployments.split_off(4);
        let path = format!("/v2/deployments/{}/revisions", deployments[0]);
        let revisions = ids(
            &self.ask("GET", &path, Value::Null).await["resources"],
            "id",
        );
        let mut listeners = ids(
            &self.ask("GET", "/v2/listeners", Value::Null).await["resources"],
            "id",
        );
        let spare = ["spare-1", "spare-2", "spare-3"];
        for id in spare {
            let url = "https://spare.example";
            let new = json!({"provider_id": id, "name": id, "client_id": "c", "auth_url": url, "token_url": url});
            self.ask("POST", "/v2/auth/providers", new).await;
        }
        let mut states = Vec::new();
        for _ in 0..3 {
            let begin = json!({"provider": "spare-3", "scopes": [], "force_new": true});
            let begun = self.ask("POST", "/v2/auth/authenticate", begin).await;
            states.push(begun["auth_id"].as_str().expect("an id").to_owned());
            let page = begun["url"].as_str().expect("a URL");
            self.http.get(page).send().await.expect("a response");
        }
        let mut tokens = ids(
            &self
                .ask("GET", "/v2/auth/tokens?provider_id=spare-3", Value::Null)
                .await,
            "id",
        );
        let integrations = ids(
            &self
                .ask("GET", "/v1/integrations/github/install", Value::Null)
                .await,
            "id",
        );
        let texts = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        vec![
            ("", "deployment_id", texts(&[&deployments[0]])),
            (
                "DELETE /v2/deployments/{deployment_id}",
                "deployment_id",
                lost,
            ),
            ("", "revision_id", revisions),
            (
                "DELETE /v2/listeners/{listener_id}",
                "listener_id",
                listeners.split_off(1),
            ),
            ("", "listener_id", listeners),
            (
                "DELETE /v2/auth/providers/{provider_id}",
                "provider_id",
                texts(&["spare-1"]),
            ),
            ("DELETE /v2/auth/tokens", "provider_id", texts(&["spare-2"])),
            ("", "provider_id", texts(&["github", "spare-3"])),
            (
                "",
                "provider",
                texts(&["github", "google", "slack", "linear"]),
            ),
            ("", "auth_id", states),
            (
                "DELETE /v2/auth/tokens/{token_id}",
                "token_id",
                tokens.split_off(2),
            ),
            ("", "token_id", texts(&[&tokens[0]])),
            ("", "integration_id", integrations),
        ]
    }
}

/// Adds known values as alternatives to generated ones.
fn offer_known_values(document: &mut Value, known: &Known) {
    let beside = |schema: &mut Value, values: &[String]| {
        let shape = schema.take();
        *schema = match shape.get("items") {
            None => json!({"anyOf": [{"type": "string", "enum": values}, shape]}),
            Some(items) => json!({"type": "array", "minItems": 1, "maxItems": shape["maxItems"],
                "items": {"anyOf": [{"type": "string", "enum": values}, items]}}),
        };
    };
    for name in operations(document) {
        let operation = operation(document, &name);
        for parameter in parameters(operation) {
            let own = known
                .iter()
                .find(|(at, what, _)| *at == name && parameter["name"] == *what);
            let any = known
                .iter()
                .find(|(at, what, _)| at.is_empty() && parameter["name"] == *what);
            if let Some((.., values)) = own.or(any) {
                beside(&mut parameter["schema"], values);
            }
        }
    }
    let providers = known.iter().find(|(_, what, _)| *what == "provider");
    let (.., values) = providers.expect("known values");
    let schemas = &mut document["components"]["schemas"];
    beside(
        &mut schemas["AuthAuthenticateRequest"]["properties"]["provider"],
        values,
    );
}

/// Adds examples of valid requests, because random ones are rarely valid.
fn add_examples(document: &mut Value) {
    let config = json!({"repo_url": "https://github.com/acme/bot", "deployment_type": "dev", "build_on_push": true});
    let revision = json!({"repo_ref": "main", "langgraph_config_path": "langgraph.json"});
    let image = json!({"image_uri": "registry.example/bot@sha256:aa"});
    let secrets = json!([{"name": "A", "value": "b"}]);
    for (name, examples) in [
        (
            "POST /v2/deployments",
            vec![
                json!({"name": "from-github", "source": "github", "source_config": config,
                    "source_revision_config": revision, "secrets": secrets}),
                json!({"name": "from-image", "source": "external_docker", "source_config": {"resource_spec": {"cpu": 1}},
                    "source_revision_config": image, "secrets": []}),
                json!({"name": "from-source", "source": "internal_source", "source_config": {"deployment_type": "dev_zero"},
                    "source_revision_config": {}, "secrets": []}),
            ],
        ),
        (
            "PATCH /v2/deployments/{deployment_id}",
            vec![json!({"source_revision_config": {"repo_ref": "next"}, "secrets": secrets})],
        ),
        (
            "POST /v2/deployments/{deployment_id}/revisions",
            vec![json!({"source_revision_config": {"repo_ref": "next"}})],
        ),
        (
            "POST /v2/auth/providers/mcp-discover",
            vec![
                json!({"provider_id": "mcp", "name": "MCP", "mcp_server_url": "https://mcp.example/sse"}),
            ],
        ),
    ] {
        let named: BTreeMap<String, Value> = examples
            .into_iter()
            .enumerate()
            .map(|(n, value)| (format!("e{n}"), json!({"value": value})))
            .collect();
        operation(document, name)["requestBody"]["content"]["application/json"]["examples"] =
            json!(named);
    }
}

#[test]
fn only_listed_document_changes_are_made() {
    let text = std::fs::read_to_string("tests/control-plane/openapi.json").expect("the document");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let before = operations(&document);
    remove_absent(&mut document);
    add_missing(&mut document);
    tighten(&mut document);
    let after = operations(&document);
    assert_eq!(
        after.difference(&before).collect::<Vec<_>>(),
        ["POST /v2/deployments/{deployment_id}/revisions"]
    );
    assert_eq!(before.difference(&after).collect::<Vec<_>>(), ABSENT);
    let kind = &document["paths"]["/v2/deployments"]["get"]["parameters"][7];
    let kinds = &document["components"]["schemas"]["SourceConfig"]["properties"]["deployment_type"]
        ["anyOf"][0]["enum"];
    assert_eq!(
        (&kind["name"], &kind["schema"]["anyOf"][0]["enum"]),
        (&json!("deployment_type"), kinds)
    );
    assert_eq!(
        kind["schema"]["anyOf"].as_array().map(Vec::len),
        Some(1),
        "without null"
    );
}

/// The variables by which hypothesis knows a CI server (`_CI_VARS` in its `_settings.py`).
const CI_VARIABLES: [&str; 12] = [
    "CI",
    "__TOX_ENVIRONMENT_VARIABLE_ORIGINAL_CI",
    "TF_BUILD",
    "bamboo.buildKey",
    "BUILDKITE",
    "CIRCLECI",
    "CIRRUS_CI",
    "CODEBUILD_BUILD_ID",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "HEROKU_TEST_RUN_ID",
    "TEAMCITY_VERSION",
];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Schemathesis: tests/real/serve -- cargo test --test protocol schema -- --ignored"]
async fn responses_conform_to_the_document() {
    let tool = std::env::var_os("RUNTAIL_SCHEMATHESIS").expect(WHY);
    let text = std::fs::read_to_string("tests/control-plane/openapi.json").expect("the document");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    let world = World::start().await;
    remove_absent(&mut document);
    add_missing(&mut document);
    tighten(&mut document);
    offer_known_values(&mut document, &world.known().await);
    add_examples(&mut document);
    let folder = tempfile::tempdir().expect("a folder");
    let (place, report) = (
        folder.path().join("openapi.json"),
        folder.path().join("report.har"),
    );
    std::fs::write(&place, document.to_string()).expect("a file");
    let settings =
        std::fs::canonicalize("tests/control-plane/schemathesis.toml").expect("the settings");
    world.sim.forget_requests();

    let mut command = Command::new(tool);
    command
        .arg("--config-file")
        .arg(settings)
        .arg("run")
        .arg(&place)
        .args(["--url", &world.sim.regions()[0].url]);
    command.args([
        "-H",
        &format!("X-Api-Key: {KEY}"),
        "-H",
        &format!("Authorization: Bearer {KEY}"),
        "--no-color",
    ]);
    // Where one of these is set, hypothesis loads a profile for CI, whose health checks replace those of the settings.
    for variable in CI_VARIABLES {
        command.env_remove(variable);
    }
    command
        .args(["--report", "har", "--report-har-path"])
        .arg(&report)
        .current_dir(folder.path());
    let done = tokio::task::spawn_blocking(move || command.output())
        .await
        .expect("no panic")
        .expect("it starts");
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success(),
        "{told}\n{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let silent = without_success(&document, &report);
    assert!(
        silent.is_empty(),
        "never answered with success: {silent:#?}\n{told}"
    );
}

/// Operations without a successful response in the report, so that no response of theirs was checked.
fn without_success(document: &Value, report: &Path) -> Vec<String> {
    let report: Value = serde_json::from_slice(&std::fs::read(report).expect("a report"))
        .expect("an HTTP archive is JSON");
    let entries = report["log"]["entries"].as_array().expect("entries");
    let good: BTreeSet<(String, Vec<String>)> = entries
        .iter()
        .filter(|entry| {
            entry["response"]["status"]
                .as_u64()
                .is_some_and(|status| (200..300).contains(&status))
        })
        .filter_map(|entry| {
            let url: url::Url = entry["request"]["url"].as_str()?.parse().ok()?;
            let path = url.path_segments()?.map(str::to_owned).collect();
            Some((entry["request"]["method"].as_str()?.to_owned(), path))
        })
        .collect();
    let fits = |pattern: &str, path: &[String]| {
        let parts: Vec<&str> = pattern.trim_start_matches('/').split('/').collect();
        parts.len() == path.len()
            && parts
                .iter()
                .zip(path)
                .all(|(part, text)| part.starts_with('{') || part == text)
    };
    let all = operations(document).into_iter();
    all.filter(|name| {
        let (method, pattern) = name.split_once(' ').expect("two words");
        !good
            .iter()
            .any(|(asked, path)| asked == method && fits(pattern, path))
    })
    .collect()
}
