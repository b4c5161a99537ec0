//! Compares every request that Runtail sends to a control plane with its OpenAPI document: the path, the query, and each field of
//! the body. Requests and fields that the document lacks are listed with their source, and so are the documented calls that are not
//! made; an outdated entry of either list is a failure too.

use crate::applied;
use runtail_api::doctor;
use runtail_api::{ControlPlane, DeploymentQuery, LogAsk, LogFilter, LogKind, LogScope, PlanError};
use runtail_core::config::Profile;
use runtail_core::model::{
    AuthAuthenticateRequest, Collection, DeploymentSpec, Format, GithubApp, Intent, Service,
    Severity,
};
use runtail_testkit::common;
use runtail_testkit::common::{Seen, Server, json};
use serde_json::{Value, json as value};
use std::collections::BTreeSet;
use std::time::Duration;

/// A UUID for every id.
const ID: &str = "11111111-1111-4111-8111-111111111111";

/// Calls that the document lacks, and their source: control-plane reference §2, unless another one is named.
const BEYOND: [(&str, &str, &str); 10] = [
    (
        "POST",
        "/v2/deployments/{}/revisions/{}/interruption",
        "a CI example and another client; reference §13",
    ),
    (
        "POST",
        "/v2/deployments/{}/revisions/{}/interrupt",
        "newer documentation; reference §13",
    ),
    (
        "POST",
        "/v1/projects/{}/revisions/{}/build_logs",
        "all official clients (official-cli)",
    ),
    (
        "POST",
        "/v1/projects/{}/revisions/{}/deploy_logs",
        "all official clients (official-cli)",
    ),
    (
        "POST",
        "/v1/projects/{}/deploy_logs",
        "all official clients (official-cli)",
    ),
    (
        "GET",
        "/v2/deployments/{}/revisions/{}/logs",
        "newer documentation: list-revision-logs",
    ),
    (
        "GET",
        "/v2/deployment-logs",
        "newer documentation: list-deployment-log-entries",
    ),
    (
        "GET",
        "/v2/deployments/free-count",
        "newer documentation: free-deployment-count",
    ),
    (
        "GET",
        "/v2/integrations/github/installations/{}/repositories",
        "newer documentation: integrations-v2",
    ),
    (
        "GET",
        "/v2/integrations/forge-github/installations",
        "newer documentation: integrations-v2",
    ),
];

/// Parts of documented calls that the document lacks, and their source.
const NEWER: [(&str, &str, &str); 7] = [
    (
        "DELETE /v2/deployments/{deployment_id}",
        "force",
        "newer documentation: delete-deployment; reference §2",
    ),
    (
        "PATCH /v2/deployments/{deployment_id}",
        "display_name",
        "the Terraform provider; reference §6",
    ),
    (
        "PATCH /v2/deployments/{deployment_id}",
        "tracked_packages",
        "langgraph-cli 0.4.40; official-cli",
    ),
    (
        "PATCH /v2/deployments/{deployment_id}",
        "route_through_gateway",
        "a CI example; reference §6",
    ),
    (
        "POST /v2/deployments",
        "route_through_gateway",
        "a CI example; reference §6",
    ),
    (
        "POST /v2/auth/authenticate",
        "redirect_uri",
        "contract §2; reference §2 (newer than the document)",
    ),
    (
        "POST /v2/auth/authenticate",
        "check_only",
        "contract §2: excluded from the published schema",
    ),
];

/// Documented calls that Runtail does not make, with the reason.
const NOT_CALLED: [(&str, &str); 11] = [
    (
        "GET /v2/auth/tokens/exists",
        "the list of tokens says it, too",
    ),
    (
        "PATCH /v2/auth/tokens/{token_id}/metadata",
        "a token's label and default are set in LangSmith",
    ),
    (
        "GET /v2/auth/tokens/workspace/slack/exists",
        "the workspace's Slack is set in LangSmith",
    ),
    (
        "DELETE /v2/auth/tokens/workspace/slack",
        "the workspace's Slack is set in LangSmith",
    ),
    (
        "GET /v2/auth/agents/{agent_id}/connections",
        "which agents may use a token is set in LangSmith",
    ),
    (
        "POST /v2/auth/agents/{agent_id}/connections",
        "which agents may use a token is set in LangSmith",
    ),
    (
        "DELETE /v2/auth/agents/{agent_id}/connections/{connection_id}",
        "which agents may use a token is set in LangSmith",
    ),
    (
        "DELETE /v2/deployments",
        "several at once: each deletion is agreed to by its own name",
    ),
    (
        "GET /v2/auth/setup/{provider_id}",
        "the provider sends a browser there",
    ),
    (
        "GET /v2/auth/callback/{provider_id}",
        "the provider sends a browser there",
    ),
    (
        "POST /v2/auth/callback/{provider_id}",
        "the service's own page sends it",
    ),
];

/// Starts a control plane with one record of each type, all with the same id, that rejects every change. It has either the older or
/// the newer log calls.
async fn server(newer_logs: bool) -> Server {
    Server::start(move |seen| {
        let path = seen.path.trim_start_matches("/api-host");
        if seen.method != "GET" {
            return match path {
                p if p.ends_with("_logs") && !newer_logs => {
                    json(200, value!({"logs": [], "next_offset": null}))
                }
                p if p.ends_with("_logs") => json(404, value!({"detail": "Not Found"})),
                p if p.ends_with("/interruption") => json(404, value!({"detail": "Not Found"})),
                p if p.ends_with("/authenticate") => json(
                    200,
                    value!({"status": "pending", "url": "https://x", "auth_id": ID}),
                ),
                _ => json(500, value!({"detail": "no change is taken here"})),
            };
        }
        let one = record();
        match path {
            "/v2/auth/providers/new" => json(404, value!({"detail": "not there"})),
            p if p.ends_with("/repos") => json(200, value!([one])),
            p if p.starts_with("/v2/integrations") => {
                json(200, value!({"items": [one], "next_cursor": null}))
            }
            "/v1/integrations/github/install" | "/v1/integrations/forge/github/install" => {
                json(200, value!([one]))
            }
            "/v2/auth/providers" | "/v2/auth/tokens" => json(200, value!([one])),
            p if p.ends_with("/logs") => json(200, value!({"logs": [], "next_offset": null})),
            "/v2/deployment-logs" => json(200, value!({"items": [], "next_cursor": null})),
            "/v2/deployments/free-count" => json(200, value!({"count": 1})),
            "/v2/deployments" | "/v2/listeners" => {
                json(200, value!({"resources": [one], "offset": 1}))
            }
            p if p.ends_with("/revisions") => json(200, value!({"resources": [one], "offset": 1})),
            p if p.starts_with("/v2/auth/wait/") => json(200, value!({"status": "completed"})),
            _ => json(200, one),
        }
    })
    .await
}

/// A record that is valid for every request.
fn record() -> Value {
    value!({"id": ID, "name": "bot", "source": "github", "status": "BUILDING", "latest_revision_id": ID,
        "created_at": "2026-11-20T09:00:00Z", "secrets": [{"name": "A", "value": "alpha"}],
        "source_config": {"repo_url": "https://github.com/acme/bot", "deployment_type": "prod", "listener_id": null},
        "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json", "repo_commit_sha": "9fceb02d"},
        "compute_id": "k8s", "compute_config": {"k8s_namespaces": ["a"]}, "version": "1",
        "provider_id": "github", "client_id": "c", "provider_account_label": "work", "scopes": ["repo"]})
}

fn spec(toml: &str) -> Box<DeploymentSpec> {
    Box::new(DeploymentSpec::parse(toml, Format::Toml, None).unwrap_or_else(|e| panic!("{e}")))
}

/// The example document with every field, except those that exclude each other.
fn example(github: bool) -> String {
    let text: String = include_str!("../../assets/deployment.example.toml")
        .lines()
        .map(|line| line.strip_prefix("#: ").unwrap_or(line))
        .filter(|line| !line.contains("_secrets = ") || line.starts_with("image_pull"))
        .map(|line| {
            line.replace("env:OPENAI_API_KEY", "env:PATH")
                .replace("file:secrets/database", "env:PATH")
                + "\n"
        })
        .collect();
    let without = |text: String, fields: &[&str]| -> String {
        let is_one = |line: &str| {
            fields
                .iter()
                .any(|field| line.starts_with(&format!("{field} = ")))
        };
        text.lines()
            .filter(|line| !is_one(line))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    let text = without(text, &["source_tarball_path"]);
    if github {
        let text = without(
            text,
            &["custom_url", "listener_id", "listener_config", "image_uri"],
        );
        let references = text.find("[[secret_references]]").unwrap();
        return text[..references].to_string();
    }
    let of_github = [
        "integration_id",
        "repo_url",
        "deployment_type",
        "build_on_push",
        "repo_ref",
        "langgraph_config_path",
    ];
    without(text, &of_github).replace("source = \"github\"", "source = \"external_docker\"")
}

/// Removes the fields that are valid only in updates.
fn for_create(text: &str) -> String {
    let only = ["display_name", "revision_source", "tracked_packages"];
    text.lines()
        .filter(|line| !only.iter().any(|field| line.starts_with(field)))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// All kinds of changes.
fn intents() -> Vec<Intent> {
    let id = || ID.to_string();
    let renamed = |text: String| text.replace("name = \"support-bot\"", "name = \"new-bot\"");
    let update = |toml: &str| Intent::UpdateDeployment {
        id: id(),
        spec: spec(toml),
    };
    let of_github: String = example(true)
        .lines()
        .filter(|line| !line.starts_with("name = \"support") && !line.starts_with("integration_id"))
        .map(|l| format!("{l}\n"))
        .collect();
    let mut all = vec![
        Intent::CreateDeployment(spec(&renamed(for_create(&example(true))))),
        Intent::CreateDeployment(spec(&renamed(for_create(&example(false))))),
        update(&of_github),
        update("[secrets]\nNEW = \"env:PATH\""),
        Intent::DeleteDeployment {
            id: id(),
            delete_tracing_project: true,
            force: false,
        },
        Intent::Redeploy {
            deployment: id(),
            revision: id(),
        },
        Intent::Interrupt {
            deployment: id(),
            revision: id(),
        },
        Intent::Rollback {
            deployment: id(),
            revision: id(),
            changes_source: true,
        },
    ];
    let service = |what: Service, text: &str| {
        Intent::Service(Box::new(
            what.read(text, None).unwrap_or_else(|e| panic!("{e}")),
        ))
    };
    let provider = "provider_id = \"new\"\nname = \"N\"\nclient_id = \"c\"\nclient_secret = \"env:PATH\"\nauth_url = \"https://a\"\ntoken_url = \"https://t\"\n\
        uses_pkce = true\ncode_challenge_method = \"S256\"\nprovider_type = \"slack\"\ntoken_endpoint_auth_method = \"none\"";
    let changed = "name = \"N\"\nclient_id = \"d\"\nclient_secret = \"env:PATH\"\nauth_url = \"https://a\"\ntoken_url = \"https://t\"\nuses_pkce = true\ncode_challenge_method = \"S256\"";
    all.extend([
        service(Service::CreateListener, "compute_type = \"k8s\"\ncompute_id = \"new\"\ncompute_config = {k8s_namespaces = [\"a\"]}\nversion = \"1\""),
        service(Service::UpdateListener(id()), "version = \"2\"\ncompute_config = {k8s_namespaces = [\"b\"]}"),
        service(Service::DeleteListener(id()), ""),
        service(Service::CreateProvider, provider),
        service(Service::DiscoverProvider, "provider_id = \"new\"\nname = \"N\"\nmcp_server_url = \"https://m\""),
        service(Service::UpdateProvider("github".into()), changed),
        service(Service::DeleteProvider("github".into()), ""),
        service(Service::DeleteToken(id()), ""),
        service(Service::DeleteTokensOf("github".into()), ""),
    ]);
    all
}

/// Sends every kind of request. Returns the received requests.
async fn everything() -> Vec<Seen> {
    let (server, newer) = (server(false).await, server(true).await);
    let control = server.control();
    for intent in intents() {
        let plan = control
            .plan(&intent)
            .await
            .unwrap_or_else(|e: PlanError| panic!("{intent:?}: {e}"));
        let refused = applied(&plan).await.unwrap_err();
        assert!(
            refused.to_string().contains("no change is taken here"),
            "{intent:?}: {refused}"
        );
    }
    let forced = forced().await;
    let query = DeploymentQuery {
        name_contains: Some("b".into()),
        status: Some("READY".into()),
        deployment_type: Some("prod".into()),
        image_version: Some("1".into()),
        ids: vec![ID.into()],
        tag_value_ids: vec![ID.into()],
    };
    control.deployment_rows(&query).await.unwrap();
    control
        .deployment_rows(&DeploymentQuery::default())
        .await
        .unwrap();
    control.deployment_row(ID).await.unwrap();
    control.revision_row(ID, ID).await.unwrap();
    control.revision_rows(ID, 250).await.unwrap();
    for control in [&control, &newer.control()] {
        logs(control).await;
    }
    let apps = [GithubApp::Deployments, GithubApp::Forge];
    let mut lists = vec![
        Collection::ForgeInstallations,
        Collection::InstallationRepositories(ID.into()),
        Collection::Listeners,
        Collection::Providers,
        Collection::Tokens(None),
        Collection::Tokens(Some("github".into())),
    ];
    lists.extend(apps.map(Collection::Integrations));
    lists.extend(apps.map(|app| Collection::Repositories(app, ID.into())));
    for list in &lists {
        let listing = control
            .collection(list)
            .await
            .unwrap_or_else(|e| panic!("{list:?}: {e}"));
        assert_eq!(
            (listing.items.len(), listing.incomplete.is_none()),
            (1, true),
            "{list:?}"
        );
    }
    control.member(&Collection::Listeners, ID).await.unwrap();
    control
        .member(&Collection::Providers, "github")
        .await
        .unwrap();
    let full = format!(
        "provider = \"github\"\nscopes = [\"repo\"]\nuser_id = \"x\"\nls_user_id = \"x\"\nagent_id = \"x\"\nforce_new = true\n\
         token_id = \"{ID}\"\nredirect_uri = \"x\"\nis_default = false\nuse_agent_builder_public_oauth = false\ncheck_only = false"
    );
    for text in [&full, "provider = \"github\"\nscopes = []"] {
        let request = AuthAuthenticateRequest::read(text).unwrap();
        control.authenticate(&request).await.unwrap();
    }
    control
        .wait_for_auth(ID, Duration::from_secs(60), |_| {})
        .await
        .unwrap();
    let profile = Profile {
        control_plane: Some(server.url.join("/api-host").unwrap()),
        deployments: vec![ID.into()],
        ..common::profile()
    };
    let (out, _told) = tokio::sync::mpsc::unbounded_channel();
    let ask = doctor::Ask {
        deployment: Some("bot".into()),
        ..doctor::Ask::default()
    };
    doctor::examine(&profile, &ask, out).await;
    [server.seen(), newer.seen(), forced].concat()
}

/// Deletes with `force`, which is valid only if a deletion is in progress.
async fn forced() -> Vec<Seen> {
    let going = Server::start(|seen| match seen.method.as_str() {
        "GET" => json(
            200,
            value!({"id": ID, "name": "bot", "status": "AWAITING_DELETE"}),
        ),
        _ => json(204, ""),
    })
    .await;
    let intent = Intent::DeleteDeployment {
        id: ID.into(),
        delete_tracing_project: false,
        force: true,
    };
    let plan = going.control().plan(&intent).await.unwrap();
    applied(&plan).await.unwrap();
    going.seen()
}

async fn logs(control: &ControlPlane) {
    let at = |text: &str| Some(text.parse().unwrap());
    let filter = LogFilter {
        level: Some(Severity::Warning),
        query: Some("x".into()),
        since: at("2026-11-20T09:00:00Z"),
        until: at("2026-11-20T10:00:00Z"),
    };
    let ask = LogAsk {
        newest_first: true,
        limit: 50,
        start: filter.since,
        end: filter.until,
        cursor: Some("c".into()),
    };
    for (revision, kind) in [
        (Some(ID), LogKind::Build),
        (None, LogKind::Build),
        (Some(ID), LogKind::Server),
        (None, LogKind::Server),
    ] {
        let scope = LogScope {
            deployment: ID.into(),
            revision: revision.map(str::to_string),
            kind,
        };
        control.log_page(&scope, &filter, &ask).await.unwrap();
    }
}

/// The document, and its parts that were found in requests.
struct Document {
    whole: Value,
    sent: BTreeSet<String>,
    newer: BTreeSet<(String, String)>,
    beyond: BTreeSet<(String, String)>,
    wrong: Vec<String>,
}

impl Document {
    /// The template of a path with this method. Of several, it is the one with the fewest placeholders, as on servers.
    fn template(&self, method: &str, path: &str) -> Option<String> {
        let paths = self.whole["paths"].as_object().unwrap();
        let fits = |(template, calls): &(&String, &Value)| {
            fits(template, path) && !calls[method.to_lowercase()].is_null()
        };
        let all = paths
            .iter()
            .filter(fits)
            .map(|(template, _)| template.clone());
        all.min_by_key(|template| template.matches('{').count())
    }

    fn resolved<'d>(&'d self, schema: &'d Value) -> &'d Value {
        match schema["$ref"].as_str() {
            Some(reference) => self
                .whole
                .pointer(reference.trim_start_matches('#'))
                .expect("a valid reference"),
            None => schema,
        }
    }

    /// The violations of a schema by a value, including formats.
    fn errors(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut schema = schema.clone();
        schema["components"] = self.whole["components"].clone();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .expect("a schema");
        validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    /// Fields of a value that its schema does not name, which schemas allow by default.
    fn unknown(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let schema = self.resolved(schema);
        if let Some(choices) = schema["anyOf"].as_array() {
            // One of the choices is null, and there is only one other here.
            let choice = choices
                .iter()
                .find(|choice| choice["type"] != "null")
                .expect("a choice");
            return self.unknown(choice, value, at, found);
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let at = format!("{at}.{name}");
                    match (&schema["properties"][name], &schema["additionalProperties"]) {
                        (Value::Null, Value::Null) => {
                            found.push(at.trim_start_matches('.').to_string())
                        }
                        (Value::Null, Value::Bool(_)) => {}
                        (Value::Null, more) => self.unknown(more, value, &at, found),
                        (property, _) => self.unknown(property, value, &at, found),
                    }
                }
            }
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.unknown(&schema["items"], item, at, found)),
            _ => {}
        }
    }

    /// Compares one request with the document.
    fn check(&mut self, seen: &Seen) {
        let path = seen.path.trim_start_matches("/api-host");
        let is_beyond = |(method, template, _): &&(&str, &str, &str)| {
            *method == seen.method && fits(template, path)
        };
        // The document alone would allow `free-count` as a deployment's id.
        if let Some((method, template, _)) = BEYOND.iter().find(is_beyond) {
            self.beyond
                .insert((method.to_string(), template.to_string()));
            return;
        }
        let what = format!("{} {path}?{}", seen.method, seen.query);
        let Some(template) = self.template(&seen.method, path) else {
            return self
                .wrong
                .push(format!("{what}: the document has no such call"));
        };
        let call = self.whole["paths"][&template][seen.method.to_lowercase()].clone();
        let name = format!("{} {template}", seen.method);
        self.sent.insert(name.clone());
        let parameters: Vec<Value> = call["parameters"].as_array().cloned().unwrap_or_default();
        for (placeholder, part) in template
            .split('/')
            .zip(path.split('/'))
            .filter(|(p, _)| p.starts_with('{'))
        {
            let parameter = parameters
                .iter()
                .find(|p| p["in"] == "path" && placeholder[1..].trim_end_matches('}') == p["name"]);
            let schema = parameter
                .unwrap_or_else(|| panic!("{name} does not describe {placeholder}"))["schema"]
                .clone();
            self.wrong.extend(
                self.errors(&schema, &part.into())
                    .into_iter()
                    .map(|e| format!("{what}: {placeholder}: {e}")),
            );
        }
        let pairs: Vec<(String, String)> = url::form_urlencoded::parse(seen.query.as_bytes())
            .into_owned()
            .collect();
        for (key, text) in &pairs {
            match parameters
                .iter()
                .find(|p| p["in"] == "query" && p["name"] == key.as_str())
            {
                None => self.beyond_schema(&name, key, &what),
                Some(parameter) => {
                    let schema = parameter["schema"].clone();
                    // In a query, numbers and flags are text. A text may look like either, so both are tried.
                    let read = serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into());
                    let as_text = self.errors(&schema, &text.as_str().into());
                    if !as_text.is_empty() {
                        let errors = self.errors(&schema, &read);
                        self.wrong
                            .extend(errors.into_iter().map(|e| format!("{what}: {key}: {e}")));
                    }
                }
            }
        }
        for parameter in parameters
            .iter()
            .filter(|p| p["in"] == "query" && p["required"] == true)
        {
            if !pairs
                .iter()
                .any(|(key, _)| parameter["name"] == key.as_str())
            {
                self.wrong
                    .push(format!("{what}: {} is missing", parameter["name"]));
            }
        }
        let schema = call["requestBody"]["content"]["application/json"]["schema"].clone();
        match (schema.is_null(), seen.body.is_empty()) {
            (true, true) => {}
            (true, false) => self
                .wrong
                .push(format!("{what}: the document knows no body")),
            (false, true) => self
                .wrong
                .push(format!("{what}: the document wants a body")),
            (false, false) => {
                assert_eq!(
                    seen.header("content-type"),
                    Some("application/json"),
                    "{what}"
                );
                let body = seen.json();
                self.wrong.extend(
                    self.errors(&schema, &body)
                        .into_iter()
                        .map(|e| format!("{what}: {e}\n    in {body}")),
                );
                let mut unknown = Vec::new();
                self.unknown(&schema, &body, "", &mut unknown);
                unknown
                    .iter()
                    .for_each(|field| self.beyond_schema(&name, field, &what));
            }
        }
    }

    fn beyond_schema(&mut self, call: &str, field: &str, what: &str) {
        match NEWER
            .iter()
            .find(|(known, name, _)| *known == call && *name == field)
        {
            Some(_) => drop(self.newer.insert((call.to_string(), field.to_string()))),
            None => self
                .wrong
                .push(format!("{what}: the document does not know {field}")),
        }
    }
}

/// Whether a path matches a template, in which `{…}` matches one part.
fn fits(template: &str, path: &str) -> bool {
    let (template, path): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template
            .iter()
            .zip(path)
            .all(|(t, p)| t.starts_with('{') || *t == p)
}

#[tokio::test]
async fn requests_conform_to_the_openapi_document() {
    let whole = std::fs::read_to_string("tests/control-plane/openapi.json").expect("the document");
    let whole: Value = serde_json::from_str(&whole).expect("JSON");
    let mut document = Document {
        whole,
        sent: BTreeSet::new(),
        newer: BTreeSet::new(),
        beyond: BTreeSet::new(),
        wrong: Vec::new(),
    };
    let all = everything().await;
    all.iter().for_each(|seen| document.check(seen));
    assert!(document.wrong.is_empty(), "{}", document.wrong.join("\n"));
    // The lists have no outdated entries, and every call of the document is covered.
    let beyond: BTreeSet<(String, String)> = BEYOND
        .iter()
        .map(|(m, t, _)| (m.to_string(), t.to_string()))
        .collect();
    assert_eq!(document.beyond, beyond);
    let newer: BTreeSet<(String, String)> = NEWER
        .iter()
        .map(|(c, f, _)| (c.to_string(), f.to_string()))
        .collect();
    assert_eq!(document.newer, newer);
    let mut known = document.sent.clone();
    known.extend(NOT_CALLED.iter().map(|(call, _)| call.to_string()));
    let calls = document.whole["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(template, calls)| {
            calls
                .as_object()
                .unwrap()
                .keys()
                .map(move |method| format!("{} {template}", method.to_uppercase()))
        });
    assert_eq!(known, calls.collect::<BTreeSet<String>>());
}

#[test]
fn all_calls_in_the_sources_are_checked() {
    // In the sources, paths are written as `["v2", "deployments", id, …]`; in the catalog, as `"v2/listeners"`.
    let catalog = include_str!("../../crates/core/src/catalog/collection.rs");
    let paths = catalog.split("path: \"").skip(1);
    let words = |path: &str| {
        format!(
            "\"{}\"",
            path.split('"').next().unwrap().replace('/', "\", \"")
        )
    };
    let paths = paths.map(|path| format!("[{}]", words(path).replace("\"{}\"", "id")));
    let mut sources: Vec<String> = paths.collect();
    let mut folders = vec![std::path::PathBuf::from("crates/api/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                sources.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    let seen = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(everything());
    let asked: BTreeSet<Vec<&str>> = seen
        .iter()
        .map(|s| s.path.trim_start_matches("/api-host/").split('/').collect())
        .collect();
    let mut found = 0;
    for source in &sources {
        for start in ["[\"v1\", ", "[\"v2\", "] {
            for (at, _) in source.match_indices(start) {
                let list = source[at + 1..].split(']').next().unwrap();
                let parts: Vec<&str> = list
                    .split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty())
                    .collect();
                let is_asked = |path: &Vec<&str>| {
                    let fits = |(part, asked): (&&str, &&str)| match part.strip_prefix('"') {
                        Some(word) => word.trim_end_matches('"') == *asked,
                        None => true,
                    };
                    path.len() >= parts.len() && parts.iter().zip(path).all(fits)
                };
                assert!(
                    asked.iter().any(is_asked),
                    "nothing is sent here to [{list}]"
                );
                found += 1;
            }
        }
    }
    assert!(found > 25, "the addresses were not found: {found}");
}
