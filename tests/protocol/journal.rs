//! Write permissions and the journal of changes, below the command line and the dashboard.

use crate::applied;
use proptest::prelude::*;
use runtail_api::{
    AgentServer, ApiError, Connections, ControlPlane, Http, Journal, Kind, Outcome, PlanError,
    ThreadQuery,
};
use runtail_core::config::{Config, Profile, SecretSource};
use runtail_core::model::{AuthAuthenticateRequest, DeploymentSpec, Format, Intent, RunCreate};
use runtail_testkit::common::{BEARER, CANARY, Closed, Server, json, profile};
use secrecy::SecretString;
use serde_json::{Value, json as value};

/// The number of kinds of write requests.
const WRITES: usize = 12;

/// Plans and applies a change.
async fn change(control: &ControlPlane, intent: Intent) -> Result<(), ApiError> {
    match control.plan(&intent).await {
        Ok(plan) => applied(&plan).await.map(drop),
        Err(PlanError::Asked(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

/// The document of a new deployment, with a secret whose value is the PATH of this process.
fn spec() -> Box<DeploymentSpec> {
    let text = "name = \"bot\"\nsource = \"internal_docker\"\nsecrets.A = \"env:PATH\"";
    Box::new(DeploymentSpec::parse(text, Format::Toml, None).expect("a document"))
}

/// Sends one of the write requests.
async fn write(
    control: &ControlPlane,
    agent: &AgentServer,
    which: usize,
    text: &str,
) -> Result<(), ApiError> {
    let body = value!({"name": text, "secrets": [{"name": "A", "value": "canary-of-the-body"}]});
    let mut push = DeploymentSpec::default();
    push.set(["", "display_name"], "Bot".into());
    let mut auth = AuthAuthenticateRequest::default();
    auth.fields.insert("provider".into(), text.into());
    match which % WRITES {
        0 => change(control, Intent::CreateDeployment(spec())).await,
        1 => {
            change(
                control,
                Intent::UpdateDeployment {
                    id: "d".into(),
                    spec: Box::new(push),
                },
            )
            .await
        }
        2 => {
            let intent = Intent::DeleteDeployment {
                id: "d".into(),
                delete_tracing_project: false,
                force: false,
            };
            change(control, intent).await
        }
        3 => control.authenticate(&auth).await.map(drop),
        4 => agent.create_thread(&body).await.map(drop),
        5 => agent.create_thread_row(&body).await.map(drop),
        6 => agent.delete_thread("t").await,
        7 => {
            agent
                .cancel("t", "r", runtail_api::CancelAction::Interrupt)
                .await
        }
        8 => agent.delete_run("t", "r").await,
        9 => agent.update_state("t", &body).await.map(drop),
        10 => agent.copy_thread("t").await.map(drop),
        _ => agent
            .start_run(
                None,
                &RunCreate {
                    assistant_id: text.into(),
                    ..RunCreate::default()
                },
            )
            .await
            .map(drop),
    }
}

/// Sends one of some read requests.
async fn read(control: &ControlPlane, agent: &AgentServer, which: usize) {
    let _ = match which % 4 {
        0 => control.deployment_row("d").await.map(drop),
        1 => agent.thread_rows(&ThreadQuery::default()).await.map(drop),
        2 => agent.assistant_rows(10, 0).await.map(drop),
        _ => agent.thread_row("t").await.map(drop),
    };
}

fn clients(server: &Server, profile: &Profile, journal: &Journal) -> (ControlPlane, AgentServer) {
    let http = Http::sharing(profile, journal.clone(), Connections::default()).expect("a client");
    (
        ControlPlane::new(http.clone(), server.url.clone()),
        AgentServer::new(http, server.url.clone()),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Clients of a read-only profile send no write requests, for any sequence of calls.
    #[test]
    fn read_only_profiles_send_no_write_requests(
        steps in proptest::collection::vec((any::<bool>(), 0usize..WRITES * 4, "\\PC{0,12}"), 1..30),
        way in 0usize..3,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = Server::start(|_| json(200, "{}")).await;
            let mut config = Config { profiles: vec![profile()], ..Config::default() };
            let one = &mut config.profiles[0];
            match way {
                0 => {}
                1 => one.read_only = true,
                _ => one.label = Some("Prod".into()),
            }
            config.seal(way == 0, way == 1);
            let journal = Journal::default();
            let (control, agent) = clients(&server, &config.profiles[0], &journal);
            let mut reads = 0;
            for (writes, which, text) in &steps {
                if *writes {
                    let error = write(&control, &agent, *which, text).await.expect_err("sealed");
                    // Invalid identifiers are refused earlier.
                    prop_assert!(matches!(error.kind, Kind::ReadOnly | Kind::Refused), "{error:?}");
                } else {
                    read(&control, &agent, *which).await;
                    reads += 1;
                }
            }
            let seen = server.seen();
            prop_assert!(seen.len() >= reads);
            prop_assert!(seen.iter().all(|s| s.method == "GET" || s.path.ends_with("/search")), "{seen:?}");
            prop_assert!(journal.entries().is_empty());
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn the_journal_contains_no_secrets() {
    let server = Server::start(|seen| match seen.method.as_str() {
        "DELETE" => json(404, r#"{"detail":"gone"}"#),
        "GET" => json(200, r#"{"id":"d"}"#),
        _ => json(201, r#"{"id":"d","thread_id":"t"}"#),
    })
    .await;
    let journal = Journal::default();
    let mut profile = profile();
    profile.bearer = Some(SecretSource::Given(SecretString::from(BEARER.to_string())));
    let (control, agent) = clients(&server, &profile, &journal);
    write(&control, &agent, 0, "x").await.unwrap();
    write(&control, &agent, 2, "x").await.unwrap_err();
    write(&control, &agent, 4, "x").await.unwrap();
    read(&control, &agent, 0).await;
    let entries = journal.entries();
    let outcomes: Vec<Outcome> = entries.iter().map(|e| e.outcome.clone()).collect();
    assert_eq!(
        outcomes,
        [201, 404, 201].map(Outcome::Status),
        "reading is not noted"
    );
    let titles: Vec<&str> = entries.iter().map(|entry| entry.title.as_str()).collect();
    assert_eq!(titles, ["Create bot", "Delete d", "Create thread"]);
    assert_eq!(
        entries[0].request.body.as_ref().unwrap()["secrets"][0],
        value!({"name": "A", "value": "***"})
    );
    let headers = |n: usize| {
        entries[n]
            .request
            .headers
            .iter()
            .map(|(k, v)| format!("{k}: {v}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(headers(0), ["x-api-key: $KEY", "x-tenant-id: w-1"]);
    assert_eq!(
        headers(2),
        ["x-api-key: $KEY", "authorization: Bearer $TOKEN"]
    );
    let told = format!(
        "{entries:?} {}",
        entries.iter().map(|e| e.request.curl()).collect::<String>()
    );
    let path = std::env::var("PATH").unwrap();
    assert!(
        !told.contains(CANARY) && !told.contains(BEARER) && !told.contains(&path),
        "{told}"
    );
}

#[tokio::test]
async fn requests_without_a_response_are_marked_in_the_journal() {
    let nobody = Closed::bind();
    let journal = Journal::default();
    let http = Http::sharing(&profile(), journal.clone(), Connections::default()).unwrap();
    let auth = AuthAuthenticateRequest::default();
    ControlPlane::new(http, nobody.url())
        .authenticate(&auth)
        .await
        .unwrap_err();
    assert!(
        matches!(&journal.entries()[0].outcome, Outcome::NoAnswer(why) if why.contains("refused")),
        "{journal:?}"
    );
    // A cancelled request may have arrived.
    let server = Server::start(|_| json(200, Value::Null)).await;
    let (control, _) = clients(&server, &profile(), &journal);
    let mut sent = Box::pin(control.authenticate(&auth));
    assert!(futures::poll!(&mut sent).is_pending());
    drop(sent);
    assert_eq!(journal.entries().len(), 2);
    assert!(matches!(
        &journal.entries()[1].outcome,
        Outcome::NoAnswer(_)
    ));
}
