//! Changes by the API: planned without write requests, sent once, and not at all if the target has changed.

use crate::applied;
use proptest::prelude::*;
use runtail_api::{ApiError, Connections, ControlPlane, Http, Journal, Kind, Plan, PlanError};
use runtail_core::config::Format;
use runtail_core::model::{Consent, DeploymentSpec, Intent, NewRevision};
use runtail_sim::{Options, Rule, Sim};
use runtail_testkit::common::{Server, json, profile, response};
use serde_json::{Value, json as value};
use std::sync::atomic::{AtomicUsize, Ordering};
use url::Url;

/// The simulator with one deployment, and a client of it.
async fn sim() -> (Sim, ControlPlane, Value) {
    sim_at(Options::default().speed).await
}

async fn sim_at(speed: f64) -> (Sim, ControlPlane, Value) {
    let sim = Sim::start(Options {
        speed,
        ..Options::default()
    })
    .await
    .unwrap();
    let control = client(&sim);
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "name = \"bot\"\n{GITHUB}[secrets]\nK = {}",
        secret(&folder, "canary-one")
    );
    let create = Intent::CreateDeployment(spec(
        &text.replace("build_on_push = false", "build_on_push = true"),
    ));
    let made = applied(&control.plan(&create).await.unwrap())
        .await
        .unwrap();
    let record = control.deployment_row(&id(&made.record)).await.unwrap();
    sim.forget_requests();
    (sim, control, record)
}

fn client(sim: &Sim) -> ControlPlane {
    let key = runtail_core::config::SecretSource::Given(runtail_sim::KEY.to_string().into());
    let profile = runtail_core::config::Profile {
        key: Some(key),
        workspace: None,
        ..profile()
    };
    ControlPlane::new(
        Http::new(&profile).unwrap(),
        Url::parse(&sim.regions()[0].url).unwrap(),
    )
}

/// Returns the write requests that were sent.
fn writes(sim: &Sim) -> Vec<String> {
    let all = sim.requests();
    let writes = all.iter().filter(|request| request.method != "GET");
    writes
        .map(|request| format!("{} {}?{}", request.method, request.path, request.query))
        .collect()
}

fn id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_string()
}

fn latest(record: &Value) -> String {
    record["latest_revision_id"].as_str().unwrap().to_string()
}

#[tokio::test]
async fn a_deletion_is_planned_and_applied() {
    // At the usual speed, the deployment could be gone before the second deletion.
    let (sim, control, record) = sim_at(1.0).await;
    let intent = |traces, force| Intent::DeleteDeployment {
        id: id(&record),
        delete_tracing_project: traces,
        force,
    };
    let plan = control.plan(&intent(true, false)).await.unwrap();
    assert_eq!(writes(&sim), [""; 0]);
    assert_eq!(plan.preview.consent, Consent::Name("bot".into()));
    assert!(!plan.preview.consent.is_given("") && !plan.preview.consent.is_given("bot "));
    assert!(plan.preview.request.url.ends_with(&format!(
        "/v2/deployments/{}?delete_tracing_project=true",
        id(&record)
    )));
    assert!(
        matches!(control.plan(&intent(false, true)).await, Err(PlanError::Unfit(why)) if why.contains("`force` only then"))
    );
    let made = applied(&plan).await.unwrap();
    assert_eq!((made.record, made.revision), (Value::Null, None));
    assert_eq!(
        writes(&sim),
        [format!(
            "DELETE /v2/deployments/{}?delete_tracing_project=true",
            id(&record)
        )]
    );
    // A second deletion is refused, by the same plan and by a new plan.
    let error = applied(&plan).await.unwrap_err();
    assert!(
        error.kind == Kind::Stale
            && error
                .to_string()
                .contains("bot was deleted after the preview: nothing was sent"),
        "{error}"
    );
    assert!(
        matches!(control.plan(&intent(false, false)).await, Err(PlanError::Unfit(why)) if why.contains("AWAITING_DELETE"))
    );
    assert_eq!(writes(&sim).len(), 1);
    let forced = control.plan(&intent(false, true)).await.unwrap();
    applied(&forced).await.unwrap();
    assert_eq!(control.what_is_left(&id(&record)).await.unwrap(), None);
}

#[tokio::test]
async fn a_redeployed_revision_is_found() {
    let (sim, control, record) = sim().await;
    let intent = Intent::Redeploy {
        deployment: id(&record),
        revision: latest(&record),
    };
    let plan = control.plan(&intent).await.unwrap();
    assert!(matches!(plan.preview.revision, NewRevision::Yes(_)));
    let made = applied(&plan).await.unwrap();
    let now = control.deployment_row(&id(&record)).await.unwrap();
    assert_eq!((made.revision, made.doubt), (Some(latest(&now)), None));
    assert_ne!(latest(&now), latest(&record));
    // There is a newer revision than when it was planned.
    let error = applied(&plan).await.unwrap_err();
    assert!(error.kind == Kind::Stale, "{error}");
    assert!(
        error
            .to_string()
            .contains("changed after the preview (latest_revision_id)"),
        "{error}"
    );
    assert_eq!(writes(&sim).len(), 1);
}

#[tokio::test]
async fn only_revisions_in_progress_are_interrupted_in_both_spellings() {
    for missing in [None, Some(404), Some(405)] {
        let (sim, control, record) = sim().await;
        if let Some(status) = missing {
            sim.rule(
                Rule::on("POST", "/interruption")
                    .status(status)
                    .body("{\"detail\":\"Not Found\"}"),
            );
        }
        sim.force_status(&latest(&record), "QUEUED");
        let intent = Intent::Interrupt {
            deployment: id(&record),
            revision: latest(&record),
        };
        let plan = control.plan(&intent).await.unwrap();
        assert!(matches!(plan.preview.revision, NewRevision::No(_)));
        // It is interrupted even if its status changed in between.
        sim.force_status(&latest(&record), "BUILDING");
        applied(&plan).await.unwrap();
        let ends: Vec<String> = writes(&sim)
            .iter()
            .map(|w| w.rsplit('/').next().unwrap().to_string())
            .collect();
        let expected: &[&str] = if missing.is_none() {
            &["interruption?"]
        } else {
            &["interruption?", "interrupt?"]
        };
        assert_eq!(ends, expected);
        sim.force_status(&latest(&record), "DEPLOYED");
        let error = applied(&plan).await.unwrap_err();
        assert!(
            error.kind == Kind::Stale && error.to_string().contains("is now DEPLOYED"),
            "{error}"
        );
        assert!(
            matches!(control.plan(&intent).await, Err(PlanError::Unfit(why)) if why.contains("nothing to interrupt"))
        );
        assert_eq!(writes(&sim).len(), expected.len());
    }
    // A missing revision is no missing call, so there is no second request.
    let (sim, control, record) = sim().await;
    sim.force_status(&latest(&record), "QUEUED");
    let intent = Intent::Interrupt {
        deployment: id(&record),
        revision: latest(&record),
    };
    let plan = control.plan(&intent).await.unwrap();
    sim.rule(Rule::on("POST", "/interruption").status(404));
    sim.rule(Rule::on("GET", "/revisions/").skip(1).status(404));
    assert_eq!(applied(&plan).await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(writes(&sim).len(), 1);
}

fn spec(toml: &str) -> Box<DeploymentSpec> {
    Box::new(DeploymentSpec::parse(toml, Format::Toml, None).unwrap_or_else(|e| panic!("{e}")))
}

/// Writes a secret file with this text and returns a reference to it.
fn secret(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join(format!("secret-{}", text.len()));
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    format!("\"file:{}\"", path.display())
}

const GITHUB: &str = "source = \"github\"\n[source_config]\nrepo_url = \"https://github.com/acme/bot\"\ndeployment_type = \"dev\"\n\
    build_on_push = false\n[source_revision_config]\nrepo_ref = \"main\"\nlanggraph_config_path = \"langgraph.json\"\n";

#[tokio::test]
async fn a_deployment_is_created_and_changed() {
    let (sim, control, _) = sim().await;
    let folder = tempfile::tempdir().unwrap();
    let create = Intent::CreateDeployment(spec(&format!(
        "name = \"new\"\n{GITHUB}[secrets]\nK = {}",
        secret(&folder, "canary-three")
    )));
    let plan = control.plan(&create).await.unwrap();
    assert_eq!(writes(&sim), [""; 0]);
    assert_eq!(
        plan.preview.request.body.as_ref().unwrap()["secrets"],
        value!([{"name": "K", "value": "***"}])
    );
    assert!(
        !format!("{plan:?}").contains("canary") && !plan.preview.request.curl().contains("canary")
    );
    let made = applied(&plan).await.unwrap();
    assert_eq!(
        (made.record["name"].as_str(), made.revision.clone()),
        (Some("new"), Some(latest(&made.record)))
    );
    let sent = sim
        .requests()
        .into_iter()
        .find(|request| request.method == "POST")
        .unwrap()
        .json();
    assert_eq!(
        sent["secrets"],
        value!([{"name": "K", "value": "canary-three"}])
    );
    // The name is in use now.
    assert!(
        matches!(control.plan(&create).await, Err(PlanError::Unfit(why)) if why.contains("the deployment new already exists"))
    );
    let conflict = applied(&plan).await.unwrap_err();
    assert!(
        conflict.kind == Kind::Conflict
            && conflict.to_string().contains("--delete-tracing-project"),
        "{conflict}"
    );

    let update = |toml: &str| Intent::UpdateDeployment {
        id: id(&made.record),
        spec: spec(toml),
    };
    assert!(matches!(
        control
            .plan(&update("source_config.build_on_push = false"))
            .await,
        Err(PlanError::Nothing(_))
    ));
    let plan = control
        .plan(&update("source_config.build_on_push = true"))
        .await
        .unwrap();
    let done = applied(&plan).await.unwrap();
    assert_eq!(
        (
            done.record["source_config"]["build_on_push"].as_bool(),
            done.revision
        ),
        (Some(true), None)
    );
    let plan = control
        .plan(&update(&format!(
            "[secrets]\nL = {}",
            secret(&folder, "canary-four")
        )))
        .await
        .unwrap();
    let done = applied(&plan).await.unwrap();
    assert_eq!(
        (done.revision, done.doubt),
        (Some(latest(&done.record)), None)
    );
    assert_eq!(
        done.record["secrets"],
        value!([{"name": "K", "value": "canary-three"}, {"name": "L", "value": "canary-four"}])
    );
}

#[tokio::test]
async fn a_rollback_deploys_the_revision_again_unless_the_source_is_to_change() {
    let (sim, control, record) = sim().await;
    let first = latest(&record);
    sim.force_status(&first, "DEPLOYED");
    let update = Intent::UpdateDeployment {
        id: id(&record),
        spec: spec("source_revision_config.repo_ref = \"hotfix\""),
    };
    applied(&control.plan(&update).await.unwrap())
        .await
        .unwrap();
    let back = Intent::Rollback {
        deployment: id(&record),
        revision: first.clone(),
        changes_source: false,
    };
    let plan = control.plan(&back).await.unwrap();
    assert!(plan.preview.title.starts_with("Roll back "));
    assert_eq!((plan.body(), plan.preview.changes.len()), (None, 0));
    let done = applied(&plan).await.unwrap();
    assert!(done.revision.is_some_and(|made| made != first));
}

#[tokio::test]
async fn rollbacks_are_pinned_to_a_commit() {
    let (sim, control, record) = sim().await;
    let first = latest(&record);
    let back = |revision: &str| Intent::Rollback {
        deployment: id(&record),
        revision: revision.into(),
        changes_source: true,
    };
    sim.force_status(&first, "DEPLOYED");
    assert!(
        matches!(control.plan(&back(&first)).await, Err(PlanError::Unfit(why)) if why.contains("nothing to roll back"))
    );
    let hotfix = Intent::UpdateDeployment {
        id: id(&record),
        spec: spec("source_revision_config.repo_ref = \"hotfix\""),
    };
    let made = applied(&control.plan(&hotfix).await.unwrap())
        .await
        .unwrap();
    let commit = record["source_revision_config"]["repo_commit_sha"]
        .as_str()
        .unwrap();
    let plan = control.plan(&back(&first)).await.unwrap();
    let body = value!({"source_revision_config": {"repo_ref": commit, "langgraph_config_path": "langgraph.json"}});
    assert_eq!(plan.body(), Some(&body));
    let lines: Vec<String> = plan
        .preview
        .changes
        .iter()
        .map(|change| change.line())
        .collect();
    assert_eq!(
        lines,
        [format!(
            "source_revision_config.repo_ref: hotfix → {commit}"
        )]
    );
    let notes: String = plan
        .preview
        .notes
        .iter()
        .map(|note| note.text.as_str())
        .collect();
    assert!(
        notes.contains("Pushes to main won't trigger builds")
            && notes.contains("Secrets and resources are not rolled back"),
        "{notes}"
    );
    let done = applied(&plan).await.unwrap();
    assert_eq!(
        (done.revision, done.doubt),
        (Some(latest(&done.record)), None)
    );
    assert!(latest(&done.record) != made.revision.unwrap());
    // The plan is refused, because a newer revision exists.
    assert!(
        applied(&plan)
            .await
            .unwrap_err()
            .to_string()
            .contains("latest_revision_id")
    );
}

#[tokio::test]
async fn revisions_that_cannot_be_pinned_are_not_rolled_back() {
    for (source, made_from, expected) in [
        (
            "github",
            value!({"repo_ref": "main", "repo_commit_sha": null}),
            Err("main would build the current one"),
        ),
        (
            "github",
            value!({"repo_ref": "refs/tags/v1", "repo_commit_sha": "9fceb02"}),
            Ok(value!({"repo_ref": "refs/tags/v1"})),
        ),
        ("github", value!(null), Err("doesn't show its source")),
        (
            "external_docker",
            value!({"image_uri": "r/x@sha256:1", "repo_ref": null}),
            Ok(value!({"image_uri": "r/x@sha256:1"})),
        ),
        ("external_docker", value!({}), Err("doesn't show its image")),
        (
            "internal_source",
            value!({"source_tarball_path": "u/1", "langgraph_config_path": "l.json"}),
            Ok(value!({"source_tarball_path": "u/1", "langgraph_config_path": "l.json"})),
        ),
        (
            "internal_source",
            value!({}),
            Err("doesn't show its upload"),
        ),
    ] {
        let server = Server::start(move |seen| match seen.path.strip_prefix("/api-host/v2/deployments/d") {
            Some("") => json(200, value!({"id": "d", "name": "bot", "source": source, "latest_revision_id": "r2"})),
            Some("/revisions/r1") => {
                json(200, value!({"id": "r1", "status": "DEPLOYED", "source_revision_config": made_from}))
            }
            _ => json(404, value!({"detail": "Not Found"})),
        })
        .await;
        let plan = server
            .control()
            .plan(&Intent::Rollback {
                deployment: "d".into(),
                revision: "r1".into(),
                changes_source: true,
            })
            .await;
        match (plan, expected) {
            (Ok(plan), Ok(pinned)) => {
                assert_eq!(plan.body().unwrap()["source_revision_config"], pinned)
            }
            (Err(PlanError::Unfit(why)), Err(says)) => {
                assert!(
                    why.contains(says) && why.contains("redeploy it instead"),
                    "{why}"
                )
            }
            (plan, expected) => panic!("{plan:?}, expected {expected:?}"),
        }
    }
}

#[tokio::test]
async fn the_target_of_a_plan_is_checked_without_sending_anything() {
    let (sim, control, record) = sim().await;
    let folder = tempfile::tempdir().unwrap();
    let update = |toml: &str| Intent::UpdateDeployment {
        id: id(&record),
        spec: spec(toml),
    };
    let secrets = |value: &str| update(&format!("[secrets]\nK = {}", secret(&folder, value)));
    let (mine, push) = (
        secrets("canary-four"),
        update("source_config.build_on_push = false"),
    );
    let (mine, push) = (
        control.plan(&mine).await.unwrap(),
        control.plan(&push).await.unwrap(),
    );
    assert_eq!(
        mine.check().await,
        Ok(Some(Vec::new())),
        "nothing has changed"
    );
    assert_eq!(writes(&sim).len(), 0);
    // Another client changes what one of the plans is about.
    let other = control.plan(&secrets("canary-three")).await.unwrap();
    applied(&other).await.unwrap();
    let error = mine.check().await.unwrap_err();
    assert!(
        error.kind == Kind::Stale && !error.to_string().contains("canary"),
        "{error}"
    );
    let changed = push.check().await.unwrap().unwrap();
    assert!(
        changed.iter().any(|field| field == "secrets[K]"),
        "{changed:?}"
    );
    assert!(!format!("{changed:?}").contains("canary"));
    assert_eq!(writes(&sim).len(), 1);
    // A new deployment has no target.
    let create = Intent::CreateDeployment(spec(&format!("name = \"new\"\n{GITHUB}")));
    let create = control.plan(&create).await.unwrap();
    assert_eq!(create.check().await, Ok(None));
}

#[tokio::test]
async fn a_simultaneous_push_is_distinguished() {
    // After the change there are two new revisions, ours and that of a push, in any order.
    for (newest, older, expected) in [
        ("hotfix", "main", "r3"),
        ("main", "hotfix", "r2"),
        ("hotfix", "hotfix", "r2"),
        ("main", "main", "r3"),
    ] {
        let sent = AtomicUsize::new(0);
        let server = Server::start(move |seen| {
            let row = |id: &str, from: &str| value!({"id": id, "status": "QUEUED", "source_revision_config": {"repo_ref": from}});
            let record = |latest: &str| value!({"id": "d", "name": "bot", "source": "github", "status": "READY",
                "latest_revision_id": latest, "source_config": {}, "source_revision_config": {"repo_ref": "main"}, "secrets": []});
            let is_sent = sent.load(Ordering::Relaxed) > 0;
            match (&*seen.method, seen.path.strip_prefix("/api-host/v2/deployments/d")) {
                ("PATCH", _) => {
                    sent.fetch_add(1, Ordering::Relaxed);
                    json(200, record("r3"))
                }
                ("GET", Some("")) => json(200, record(if is_sent { "r3" } else { "r1" })),
                ("GET", Some("/revisions")) => json(200, value!({"resources": [row("r3", newest), row("r2", older), row("r1", "main")]})),
                _ => json(404, value!({"detail": "Not Found"})),
            }
        })
        .await;
        let intent = Intent::UpdateDeployment {
            id: "d".into(),
            spec: spec("source_revision_config.repo_ref = \"hotfix\""),
        };
        let plan = server.control().plan(&intent).await.unwrap();
        let made = applied(&plan).await.unwrap();
        assert_eq!(made.revision.as_deref(), Some(expected), "{newest} {older}");
        assert_eq!(made.doubt.is_some(), newest == older);
    }
}

/// Plans and applies a change of a record. The server rejects it with an echo of everything. Returns all text that may be shown.
async fn shown_text(record: Value, toml: String, echo: String) -> String {
    let journal = Journal::default();
    let answered = record.clone();
    let server = Server::start(move |seen| match &*seen.method {
        "GET" => json(200, answered.to_string()),
        _ => json(
            422,
            value!({"detail": [{"loc": ["body", echo], "msg": format!("no {echo}"), "type": echo, "input": echo}]}),
        ),
    })
    .await;
    let http = Http::sharing(&profile(), journal.clone(), Connections::default()).unwrap();
    let control = ControlPlane::new(http, server.url.clone());
    let intent = Intent::UpdateDeployment {
        id: "d".into(),
        spec: spec(&toml),
    };
    let mut all = format!("{intent:?}");
    match control.plan(&intent).await {
        Ok(plan) => {
            let preview = &plan.preview;
            let lines: String = preview.changes.iter().map(|change| change.line()).collect();
            all += &format!(
                "{plan:?} {} {lines} {}",
                preview.request.curl(),
                value!([preview.changes, preview.notes, preview.request.body])
            );
            let error = applied(&plan).await.unwrap_err();
            all += &format!("{error} {error:?} {}", error.story());
        }
        Err(error) => all += &format!("{error} {error:?}"),
    }
    all + &format!("{:?}", journal.entries())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Secrets of the record and given secrets, in changed fields, in requests and in responses, are never shown.
    #[test]
    fn plans_and_rejections_show_no_secret(
        secrets in proptest::collection::vec("[A-Za-z0-9+/=_\"\\\\é -]{8,20}", 3),
        places in proptest::collection::vec(0..3usize, 5),
        is_sent in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        // Secrets are compared without surrounding blanks, and must not be words of the documents.
        let secrets: Vec<String> = secrets.iter().enumerate().map(|(n, s)| format!("x{n}{}x", s.trim())).collect();
        let at = |n: usize| secrets[places[n]].as_str();
        let quoted = |text: String| value!(text).to_string();
        let record = value!({"id": "d", "name": "bot", "source": "github", "status": "READY", "latest_revision_id": "r",
            "source_config": {"install_command": format!("old {}", at(0)), "resource_spec": {"labels": {"a": at(1)}},
                "repo_url": "https://github.com/acme/bot"},
            "source_revision_config": {"repo_ref": "main", "langgraph_config_path": format!("{}.json", at(2))},
            "secrets": [{"name": "A", "value": secrets[0]}, {"name": "B", "value": secrets[1]}]});
        let mut toml = format!(
            "[source_config]\ninstall_command = {}\nbuild_command = {}\nrepo_url = {}\n[source_config.resource_spec]\nlabels = {{a = {}, b = {}}}\n",
            quoted(format!("new {}", at(3))), quoted(at(4).into()), quoted("https://me:pass-word@github.com/x".into()),
            quoted(at(0).into()), quoted(at(1).into()),
        );
        // The third one is only in the given document.
        let is_known = is_sent || !places.contains(&2);
        if is_sent {
            toml += &format!("[secrets]\nC = {}\n", secret(&folder, &secrets[2]));
        }
        let echo = if is_sent { secrets.concat() } else { secrets[..2].concat() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let all = runtime.block_on(shown_text(record, toml, echo));
        prop_assert!(all.contains("Plan {"), "{all}");
        // A password in a URL of the document must not be shown in the plan.
        let seen = all.split_once("Plan {").map_or("", |(_, seen)| seen);
        prop_assert!(!seen.contains("pass-word"), "{seen}");
        for secret in secrets.iter().take(if is_known { 3 } else { 2 }) {
            let json = value!(secret).to_string();
            prop_assert!(!seen.contains(secret.as_str()) && !seen.contains(&json[1..json.len() - 1]), "{secret}\n{seen}");
        }
    }
}

/// Starts a server with one deployment and this response to writes.
async fn scripted(
    write: impl Fn(usize) -> axum::response::Response + Send + Sync + 'static,
) -> (Server, Plan) {
    let looks = AtomicUsize::new(0);
    let sent = AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        match (
            &*seen.method,
            seen.path.strip_prefix("/api-host/v2/deployments/d"),
        ) {
            ("GET", Some("")) => {
                looks.fetch_add(1, Ordering::Relaxed);
                json(
                    200,
                    value!({"id": "d", "name": "bot", "status": "READY", "latest_revision_id": "r1",
                              "secrets": [{"name": "K", "value": "canary-two"}]}),
                )
            }
            ("GET", Some("/revisions/r1")) => json(200, value!({"id": "r1", "status": "DEPLOYED"})),
            ("POST", _) => write(sent.fetch_add(1, Ordering::Relaxed)),
            _ => json(404, value!({"detail": "Not Found"})),
        }
    })
    .await;
    let intent = Intent::Redeploy {
        deployment: "d".into(),
        revision: "r1".into(),
    };
    let plan = server.control().plan(&intent).await.unwrap();
    (server, plan)
}

async fn failed(server: &Server, plan: &Plan) -> ApiError {
    let error = applied(plan).await.unwrap_err();
    assert_eq!(
        server
            .seen()
            .iter()
            .filter(|seen| seen.method == "POST")
            .count(),
        1,
        "it is sent once"
    );
    error
}

#[tokio::test]
async fn possibly_applied_changes_are_reported() {
    let page = || response(200, "text/html", "<html><title>Sign in</title></html>");
    let (server, plan) = scripted(move |_| page()).await;
    let error = failed(&server, &plan).await;
    assert!(
        error.kind == Kind::Protocol
            && error
                .to_string()
                .contains("may have been applied nevertheless"),
        "{error}"
    );
    let (server, plan) = scripted(|_| json(503, value!({"detail": "later"}))).await;
    assert!(
        failed(&server, &plan)
            .await
            .to_string()
            .contains("check before you try again")
    );
    // The key was rejected by the write: nothing was applied, and no warning says otherwise.
    let (server, plan) = scripted(|_| json(401, value!({"detail": "expired: canary-two"}))).await;
    let error = failed(&server, &plan).await;
    assert!(
        error.kind == Kind::Unauthorized && !error.to_string().contains("nevertheless"),
        "{error}"
    );
    assert!(
        !error.to_string().contains("canary"),
        "a secret of the record, which was not sent: {error}"
    );
    // A success status of another call, with the record and its secrets.
    let (server, plan) = scripted(|_| {
        json(
            202,
            value!({"secrets": [{"name": "N", "value": "canary-new"}]}),
        )
    })
    .await;
    let error = failed(&server, &plan).await.to_string();
    assert!(
        error.contains("202 Accepted")
            && error.contains("nevertheless")
            && !error.contains("canary"),
        "{error}"
    );
}

#[tokio::test]
async fn a_redeployed_revision_counts_only_if_it_progresses() {
    for (status, expected) in [
        ("DEPLOYED", None),
        ("BUILD_FAILED", None),
        ("QUEUED", Some("r1")),
    ] {
        let server =
            Server::start(move |seen| match (&*seen.method, seen.path.strip_prefix("/api-host/v2/deployments/d")) {
                ("GET", Some("/revisions")) => json(200, value!({"resources": [{"id": "r1", "status": status}]})),
                ("GET", Some("/revisions/r1")) => json(200, value!({"id": "r1", "status": "DEPLOYED"})),
                _ => json(200, value!({"id": "d", "name": "bot", "status": "READY", "latest_revision_id": "r1"})),
            })
            .await;
        let intent = Intent::Redeploy {
            deployment: "d".into(),
            revision: "r1".into(),
        };
        let plan = server.control().plan(&intent).await.unwrap();
        let made = applied(&plan).await.unwrap();
        assert_eq!(
            (made.revision.as_deref(), made.doubt.is_some()),
            (expected, true),
            "{status}"
        );
    }
}

#[tokio::test]
async fn a_change_missing_from_the_response_is_reported() {
    for (push, name, expected) in [
        (
            true,
            "Bot",
            Some("shows the old values of: display_name, source_config.build_on_push"),
        ),
        (false, "Bot", Some("shows the old values of: display_name")),
        (false, "Support", None),
        // The server may change other fields.
        (false, "SUPPORT", None),
    ] {
        let server = Server::start(move |seen| {
            let record = |push: bool, name: &str| {
                value!({"id": "d", "name": "bot", "status": "READY",
                "display_name": name, "source": "github", "source_config": {"build_on_push": push}})
            };
            match &*seen.method {
                "GET" => json(200, record(true, "Bot")),
                _ => json(200, record(push, name)),
            }
        })
        .await;
        let spec = spec("display_name = \"Support\"\nsource_config.build_on_push = false");
        let plan = server
            .control()
            .plan(&Intent::UpdateDeployment {
                id: "d".into(),
                spec,
            })
            .await
            .unwrap();
        let complaint = applied(&plan).await.unwrap().complaint;
        match expected {
            Some(expected) => assert!(
                complaint.is_some_and(|said| said.ends_with(expected)),
                "{expected}"
            ),
            None => assert_eq!(complaint, None),
        }
    }
    // A response without a record is no evidence, so nothing is reported.
    let server = Server::start(move |seen| match &*seen.method {
        "GET" => {
            json(200, value!({"id": "d", "name": "bot", "source": "github", "source_config": {"build_on_push": true}}))
        }
        _ => json(200, value!({})),
    })
    .await;
    let intent = Intent::UpdateDeployment {
        id: "d".into(),
        spec: spec("source_config.build_on_push = false"),
    };
    let plan = server.control().plan(&intent).await.unwrap();
    assert_eq!(applied(&plan).await.unwrap().complaint, None);
}

#[tokio::test]
async fn a_rejection_shows_its_reason_once() {
    let answers = [
        (
            409,
            "A tracing project named 'bot' already exists.",
            "another name",
        ),
        (
            400,
            "'source_config.listener_id' is required",
            "listener_id",
        ),
    ];
    for (status, detail, reason) in answers {
        let server = Server::start(move |seen| match &*seen.method {
            "GET" => json(200, value!({"resources": []})),
            _ => json(status, value!({"detail": detail})),
        })
        .await;
        let spec = spec("name = \"bot\"\nsource = \"internal_docker\"");
        let plan = server
            .control()
            .plan(&Intent::CreateDeployment(spec))
            .await
            .unwrap();
        let hint = applied(&plan).await.unwrap_err().hint.unwrap_or_default();
        assert!(hint.matches(reason).count() == 1, "{hint}");
    }
}
