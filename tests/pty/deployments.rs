//! The dashboard in a pseudo-terminal with control planes of the simulator: the screen, and the requests.

use runtail_sim::{Options, Rule, Scenario, Sim};
use runtail_testkit::term::Term;

/// A simulator, and a configuration with profiles for it.
struct TestServer {
    runtime: tokio::runtime::Runtime,
    sim: Sim,
    config: String,
    _folder: tempfile::TempDir,
}

impl TestServer {
    fn new(options: Options, profiles: &[&str], more: &str) -> TestServer {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let sim = runtime.block_on(Sim::start(options)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let url = &sim.regions()[0].url;
        let mut text = "[poll]\ninterval = \"1s\"\n".to_string();
        for profile in profiles {
            text.push_str(&format!(
                "[profiles.{profile}]\ncontrol_plane = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n{more}\n"
            ));
        }
        std::fs::write(&path, text).unwrap();
        TestServer {
            runtime,
            sim,
            config: path.to_string_lossy().into_owned(),
            _folder: folder,
        }
    }

    fn with_deployments(deployments: usize) -> TestServer {
        let options = Options {
            scenario: Scenario::Fleet { deployments },
            speed: 1.0,
            ..Options::default()
        };
        TestServer::new(options, &["here"], "")
    }

    #[track_caller]
    fn open(&self, cols: u16, rows: u16) -> Term {
        let key = self.sim.regions()[0].api_key.clone();
        Term::spawn_with(
            &[("RUNTAIL_TEST_KEY", &key)],
            &["--config", &self.config],
            cols,
            rows,
        )
    }

    /// Returns the response of the control plane to a GET.
    fn get(&self, path: &str) -> serde_json::Value {
        let region = &self.sim.regions()[0];
        let (url, key) = (format!("{}{path}", region.url), region.api_key.clone());
        self.runtime.block_on(async {
            let http = reqwest::Client::builder().no_proxy().build().unwrap();
            http.get(url)
                .header("x-api-key", key)
                .send()
                .await
                .unwrap()
                .json()
                .await
                .unwrap()
        })
    }

    /// Returns the deployments sorted by name.
    fn deployments(&self) -> Vec<serde_json::Value> {
        let mut rows = self.get("/v2/deployments?limit=100")["resources"]
            .as_array()
            .unwrap()
            .clone();
        rows.sort_by_key(|row| row["name"].to_string());
        rows
    }
}

/// Waits until the header calls the list partial, or one of its agent servers unreachable: they have no real addresses.
#[track_caller]
fn wait_for_partial(term: &Term) {
    term.wait_until("the state of the profile", |term| {
        ["here ◐ partial", "here ✗ "]
            .iter()
            .any(|state| term.screen().contains(state))
    });
}

#[test]
fn ignored_offset_is_reported() {
    let server = TestServer::with_deployments(150);
    let first = server.get("/v2/deployments?limit=100");
    server
        .sim
        .rule(Rule::on("GET", "/v2/deployments?").status(200).json(&first));
    let term = server.open(140, 40);
    wait_for_partial(&term);
    term.keys("!");
    term.wait_for("repeats its pages");
}

#[test]
fn watched_revision_alerts_by_bell_or_desktop_notification() {
    for (notify, sequence) in [
        ("bell", "\u{7}"),
        ("osc9", "\u{1b}]9;here › "),
        ("osc777", "\u{1b}]777;notify;here › "),
    ] {
        let server = TestServer::with_deployments(3);
        let row = server.deployments()[0].clone();
        let revision = row["latest_revision_id"].as_str().unwrap();
        server.sim.force_status(revision, "BUILDING");
        let config = std::fs::read_to_string(&server.config).unwrap();
        std::fs::write(
            &server.config,
            format!("{config}\n[ui]\nnotify = \"{notify}\"\n"),
        )
        .unwrap();
        let term = server.open(140, 40);
        // The row that is first before all statuses are known stays selected, so the test selects its own.
        term.select_first_by_name(row["name"].as_str().unwrap());
        term.wait_for("◐ BUILDING");
        term.keys("w");
        term.wait_for("1 watched");
        // Another row is selected when it ends.
        term.keys("G");
        server.sim.force_status(revision, "BUILD_FAILED");
        term.wait_for("is BUILD_FAILED after");
        term.wait_until("the alert", |term| {
            String::from_utf8_lossy(&term.raw_output()).contains(sequence)
        });
    }
}

#[test]
fn deleted_deployment_is_reported_when_opened() {
    let server = TestServer::with_deployments(3);
    let row = server.deployments()[0].clone();
    let (id, name) = (row["id"].as_str().unwrap(), row["name"].as_str().unwrap());
    let term = server.open(140, 40);
    term.wait_for(name);
    term.select_first_by_name(name);
    server
        .sim
        .rule(Rule::on("GET", &format!("/v2/deployments/{id}")).status(404));
    term.keys("d");
    term.wait_for(&format!("deployment {name} was deleted"));
}

#[test]
fn deployment_record_shows_all_fields_without_secrets() {
    let server = TestServer::with_deployments(3);
    let row = server.deployments()[0].clone();
    let secret = row["secrets"][0]["value"].as_str().unwrap().to_string();
    let term = server.open(120, 60);
    term.select_first_by_name(row["name"].as_str().unwrap());
    term.keys("d");
    term.wait_for("OPENAI_API_KEY");
    term.keys("+/image_version");
    term.wait_for("1 of 1");
    term.wait_for("***");
    let everything = String::from_utf8_lossy(&term.raw_output()).into_owned();
    assert!(
        !everything.contains(&secret[..12]),
        "a secret was on screen"
    );
}

#[test]
fn secrets_in_logs_are_redacted() {
    let server = TestServer::with_deployments(3);
    let row = server.deployments()[0].clone();
    let secret = row["secrets"][0]["value"].as_str().unwrap();
    let line = format!("the key is {secret}, from https://me:hunter2@git.example/x");
    let logs = serde_json::json!({"logs": [{"timestamp": 1_795_000_000_000u64, "message": line}], "next_offset": null});
    server
        .sim
        .rule(Rule::on("POST", "_logs").status(200).json(&logs));
    let term = server.open(140, 40);
    term.select_first_by_name(row["name"].as_str().unwrap());
    term.keys("l");
    term.wait_for("the key is ***, from https://***@git.example/x");
    let everything = String::from_utf8_lossy(&term.raw_output()).into_owned();
    assert!(!everything.contains(secret) && !everything.contains("hunter2"));
}

#[test]
fn pinned_deployments_are_shown_for_a_server_without_a_list() {
    let options = Options {
        scenario: Scenario::Contract,
        ..Options::default()
    };
    let server = TestServer::new(options, &["here"], "");
    let created = server.runtime.block_on(async {
        let region = &server.sim.regions()[0];
        let body = serde_json::json!({"name": "pinned-bot", "source": "github", "source_config": {"deployment_type": "dev",
            "integration_id": "33333333-3333-4333-8333-333333333333", "repo_url": "https://github.com/acme/bot", "build_on_push": false},
            "source_revision_config": {"repo_ref": "main", "langgraph_config_path": "langgraph.json"}, "secrets": []});
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = http.post(format!("{}/v2/deployments", region.url)).header("x-api-key", &region.api_key).json(&body);
        request.send().await.unwrap().json::<serde_json::Value>().await.unwrap()
    });
    let id = created["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{created}"));
    let config = std::fs::read_to_string(&server.config).unwrap();
    let unknown = "99999999-9999-4999-8999-999999999999";
    std::fs::write(
        &server.config,
        format!("{config}deployments = [\"{id}\", \"{unknown}\"]\n"),
    )
    .unwrap();
    let term = server.open(140, 40);
    term.wait_for("pinned-bot");
    wait_for_partial(&term);
    term.wait_until("its newest revision", |term| {
        term.screen().contains("● DEPLOYED")
    });
    term.keys("!");
    term.wait_for(unknown);
}

#[test]
fn rate_limits_are_honored_and_shown() {
    let server = TestServer::with_deployments(3);
    let term = server.open(140, 40);
    term.wait_for("here ●");
    server.sim.rule(
        Rule::on("GET", "/v2/deployments?")
            .status(429)
            .header("retry-after", "1"),
    );
    term.wait_for("here ? 429");
    server.sim.clear_rules();
    // All requests of the profile wait, then continue automatically.
    term.wait_for("here ●");
}
