//! Changes by the API: planned without a writing request, sent once, and not at all where the target is not what it was.
#![cfg(feature = "sim")]

mod common;

use common::{Server, answer, json, profile};
use runtail::api::{ApiError, ControlPlane, Http, Kind, PlanError};
use runtail::model::{Consent, Intent, NewRevision, Plan};
use runtail::sim::{self, Options, Sim};
use serde_json::{Value, json as value};
use std::sync::atomic::{AtomicUsize, Ordering};
use url::Url;

/// The simulator with one deployment, and a client of it.
async fn sim() -> (Sim, ControlPlane, Value) {
    let sim = Sim::start(Options::default()).await.unwrap();
    let body = value!({"name": "bot", "source": "github", "secrets": [{"name": "K", "value": "canary-one"}],
        "source_config": {"repo_url": "https://github.com/acme/bot", "deployment_type": "dev", "build_on_push": true},
        "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json"}});
    let control = client(&sim, false);
    let made = control.create_deployment(&body).await.unwrap();
    let record = control.deployment_row(&made.id).await.unwrap();
    sim.forget_requests();
    (sim, control, record)
}

fn client(sim: &Sim, read_only: bool) -> ControlPlane {
    let key = runtail::config::SecretSource::Given(sim::KEY.to_string().into());
    let profile = runtail::config::Profile { key: Some(key), workspace: None, read_only, ..profile() };
    ControlPlane::new(Http::new(&profile).unwrap(), Url::parse(&sim.regions()[0].url).unwrap())
}

/// What was sent that writes.
fn writes(sim: &Sim) -> Vec<String> {
    let all = sim.requests();
    let writes = all.iter().filter(|request| request.method != "GET");
    writes.map(|request| format!("{} {}?{}", request.method, request.path, request.query)).collect()
}

fn id(record: &Value) -> String {
    record["id"].as_str().unwrap().to_string()
}

fn latest(record: &Value) -> String {
    record["latest_revision_id"].as_str().unwrap().to_string()
}

#[tokio::test]
async fn a_deletion_is_planned_and_made() {
    let (sim, control, record) = sim().await;
    let intent = |traces, force| Intent::DeleteDeployment { id: id(&record), delete_tracing_project: traces, force };
    let plan = control.plan(&intent(true, false)).await.unwrap();
    assert_eq!(writes(&sim), [""; 0]);
    assert_eq!(plan.preview.consent, Consent::Name("bot".into()));
    assert!(!plan.preview.consent.is_given("") && !plan.preview.consent.is_given("bot "));
    assert!(
        plan.preview.request.url.ends_with(&format!("/v2/deployments/{}?delete_tracing_project=true", id(&record)))
    );
    assert!(
        matches!(control.plan(&intent(false, true)).await, Err(PlanError::Unfit(why)) if why.contains("`force` only then"))
    );
    let made = control.carry_out(&plan).await.unwrap();
    assert_eq!((made.record, made.revision), (Value::Null, None));
    assert_eq!(writes(&sim), [format!("DELETE /v2/deployments/{}?delete_tracing_project=true", id(&record))]);
    // Once is enough: the same plan again, and the same wish again, find it on its way out.
    let error = control.carry_out(&plan).await.unwrap_err();
    assert!(
        error.kind == Kind::Stale
            && error.to_string().contains("bot was deleted since it was looked at: nothing was sent"),
        "{error}"
    );
    assert!(
        matches!(control.plan(&intent(false, false)).await, Err(PlanError::Unfit(why)) if why.contains("AWAITING_DELETE"))
    );
    assert_eq!(writes(&sim).len(), 1);
    let forced = control.plan(&intent(false, true)).await.unwrap();
    control.carry_out(&forced).await.unwrap();
    assert_eq!(control.what_is_left(&id(&record)).await.unwrap(), None);
}

#[tokio::test]
async fn a_redeployed_revision_is_found() {
    let (sim, control, record) = sim().await;
    let intent = Intent::Redeploy { deployment: id(&record), revision: latest(&record) };
    let plan = control.plan(&intent).await.unwrap();
    assert!(matches!(plan.preview.revision, NewRevision::Yes(_)));
    let made = control.carry_out(&plan).await.unwrap();
    let now = control.deployment_row(&id(&record)).await.unwrap();
    assert_eq!((made.revision, made.doubt), (Some(latest(&now)), None));
    assert_ne!(latest(&now), latest(&record));
    // There is a newer one than when it was planned.
    let error = control.carry_out(&plan).await.unwrap_err();
    assert!(error.to_string().contains("bot 1") || error.kind == Kind::Stale, "{error}");
    assert!(error.to_string().contains("changed since it was looked at (latest_revision_id)"), "{error}");
    assert_eq!(writes(&sim).len(), 1);
}

#[tokio::test]
async fn only_what_is_in_progress_is_interrupted_and_in_both_spellings() {
    for rule in
        ["", "POST /interruption status=404 body={\"detail\":\"Not\u{a0}Found\"}", "POST /interruption status=405"]
    {
        let (sim, control, record) = sim().await;
        if !rule.is_empty() {
            sim.rule(rule.parse().unwrap());
        }
        sim.force_status(&latest(&record), "QUEUED");
        let intent = Intent::Interrupt { deployment: id(&record), revision: latest(&record) };
        let plan = control.plan(&intent).await.unwrap();
        assert!(matches!(plan.preview.revision, NewRevision::No(_)));
        // That it moves on meanwhile is no reason to leave it alone.
        sim.force_status(&latest(&record), "BUILDING");
        control.carry_out(&plan).await.unwrap();
        let ends: Vec<String> = writes(&sim).iter().map(|w| w.rsplit('/').next().unwrap().to_string()).collect();
        let expected: &[&str] = if rule.is_empty() { &["interruption?"] } else { &["interruption?", "interrupt?"] };
        assert_eq!(ends, expected);
        sim.force_status(&latest(&record), "DEPLOYED");
        let error = control.carry_out(&plan).await.unwrap_err();
        assert!(error.kind == Kind::Stale && error.to_string().contains("is DEPLOYED by now"), "{error}");
        assert!(
            matches!(control.plan(&intent).await, Err(PlanError::Unfit(why)) if why.contains("nothing to interrupt"))
        );
        assert_eq!(writes(&sim).len(), expected.len());
    }
}

#[tokio::test]
async fn a_read_only_profile_plans_and_sends_nothing() {
    let (sim, _, record) = sim().await;
    let control = client(&sim, true);
    let intent = Intent::Redeploy { deployment: id(&record), revision: latest(&record) };
    let plan = control.plan(&intent).await.unwrap();
    sim.forget_requests();
    let error = control.carry_out(&plan).await.unwrap_err();
    assert_eq!(error.kind, Kind::ReadOnly);
    assert_eq!(sim.requests().len(), 0, "not even a look");
}

/// A server with one deployment, whose writing call is answered so.
async fn scripted(write: impl Fn(usize) -> axum::response::Response + Send + Sync + 'static) -> (Server, Plan) {
    let looks = AtomicUsize::new(0);
    let sent = AtomicUsize::new(0);
    let server =
        Server::start(move |seen| match (&*seen.method, seen.path.strip_prefix("/api-host/v2/deployments/d")) {
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
        })
        .await;
    let intent = Intent::Redeploy { deployment: "d".into(), revision: "r1".into() };
    let plan = server.control().plan(&intent).await.unwrap();
    (server, plan)
}

async fn failed(server: &Server, plan: &Plan) -> ApiError {
    let error = server.control().carry_out(plan).await.unwrap_err();
    assert_eq!(server.seen().iter().filter(|seen| seen.method == "POST").count(), 1, "it is sent once");
    error
}

#[tokio::test]
async fn what_may_have_been_done_all_the_same_is_said() {
    let page = || answer(200, "text/html", "<html><title>Sign in</title></html>");
    let (server, plan) = scripted(move |_| page()).await;
    let error = failed(&server, &plan).await;
    assert!(
        error.kind == Kind::Protocol && error.to_string().contains("may have been carried out all the same"),
        "{error}"
    );
    let (server, plan) = scripted(|_| json(503, value!({"detail": "later"}))).await;
    assert!(failed(&server, &plan).await.to_string().contains("look before you try again"));
    // The key was refused in the middle: nothing was done, and nothing of the kind is said.
    let (server, plan) = scripted(|_| json(401, value!({"detail": "expired: canary-two"}))).await;
    let error = failed(&server, &plan).await;
    assert!(error.kind == Kind::Unauthorized && !error.to_string().contains("all the same"), "{error}");
}
