//! The official Python command line (`langgraph deploy …`, pinned in `tests/real/requirements.txt`) on our simulator, which
//! must act like a
//! real control plane for the vendor's own client. The tests check its messages and exit codes, and compare its log lines with
//! those of
//! `runtail logs`.

use runtail_sim::{KEY, Logs, Options, Request, Rule, Scenario, Sim};
use runtail_testkit::process::{self, Done, Running};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::process::Command;

const WHY: &str =
    "set by tests/real/serve: tests/real/serve -- cargo test --test real official -- --ignored";

/// Address and credentials for the official client, as environment variables.
#[derive(Clone)]
struct Setting(Vec<(&'static str, String)>);

impl Setting {
    /// The base URL itself.
    fn host(url: &str) -> Setting {
        Setting(vec![
            ("LANGGRAPH_HOST_URL", url.into()),
            ("LANGSMITH_API_KEY", KEY.into()),
        ])
    }

    /// The address of a LangSmith installation, from which the client derives the base URL.
    fn endpoint(url: &str) -> Setting {
        Setting(vec![
            ("LANGSMITH_ENDPOINT", url.into()),
            ("LANGSMITH_API_KEY", KEY.into()),
        ])
    }

    fn with(mut self, name: &'static str, value: &str) -> Setting {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into()));
        self
    }

    /// Runs `langgraph deploy …` in an empty folder, so that it finds neither a `.env` nor a project.
    fn start(&self, args: &[&str]) -> (Running, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        (self.start_in(&folder, args), folder)
    }

    fn start_in(&self, folder: &tempfile::TempDir, args: &[&str]) -> Running {
        let mut command = Command::new(std::env::var_os("RUNTAIL_LANGGRAPH").expect(WHY));
        command
            .arg("deploy")
            .args(args)
            .current_dir(folder.path())
            .env_clear();
        command
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", folder.path());
        command
            .env("LANGGRAPH_CLI_NO_ANALYTICS", "1")
            .env("PYTHONUTF8", "1")
            .env("COLUMNS", "200");
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
        process::launch(command, "")
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Done {
        let (running, _folder) = self.start(args);
        running.wait()
    }

    /// Runs `langgraph deploy --remote --no-input …` in a project.
    #[track_caller]
    fn deploy(&self, project: &tempfile::TempDir, args: &[&str]) -> Done {
        self.start_in(project, &[&["--remote", "--no-input"], args].concat())
            .wait()
    }
}

/// A small project: one graph, one variable, and two variables that the service reserves.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        (
            "langgraph.json",
            r#"{"dependencies": ["."], "graphs": {"agent": "./agent.py:graph"}, "env": ".env"}"#,
        ),
        ("agent.py", "graph = None\n"),
        (".env", "OPENAI_API_KEY=sk-one\nPORT=8000\nLOG_JSON=true\n"),
    ] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// The names of the files in a tar archive.
fn packed(archive: &[u8]) -> Vec<String> {
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(archive)
        .read_to_end(&mut tar)
        .expect("gzip");
    let text = |field: &[u8]| {
        String::from_utf8_lossy(field)
            .trim_end_matches('\0')
            .to_string()
    };
    let (mut names, mut at) = (Vec::new(), 0);
    while let Some(head) = tar.get(at..at + 512).filter(|head| head[0] != 0) {
        names.push(text(&head[..100]));
        let size = usize::from_str_radix(text(&head[124..136]).trim(), 8).expect("a size in octal");
        at += 512 + size.next_multiple_of(512);
    }
    names
}

/// The requests so far, with `ID` for each id and without consecutive repetitions.
fn asked(sim: &Sim) -> Vec<String> {
    let is_id = |part: &&str| part.len() == 36 && part.matches('-').count() == 4;
    let short = |request: &Request| {
        let path: Vec<&str> = request
            .path
            .split('/')
            .map(|part| if is_id(&part) { "ID" } else { part })
            .collect();
        let path = path.join("/");
        let path = if path.starts_with("/uploads/") {
            "/uploads/…"
        } else {
            &path
        };
        let query = if request.query.is_empty() {
            String::new()
        } else {
            format!("?{}", request.query)
        };
        format!("{} {path}{query}", request.method)
    };
    let mut all: Vec<String> = sim.requests().iter().map(short).collect();
    all.dedup();
    all
}

/// The cells of a table without its header.
fn cells(table: &str) -> Vec<Vec<String>> {
    let row = |line: &str| {
        line.split("  ")
            .map(|cell| cell.trim().to_string())
            .filter(|cell| !cell.is_empty())
            .collect()
    };
    table
        .lines()
        .skip(2)
        .filter(|line| !line.is_empty())
        .map(row)
        .collect()
}

/// Runs `runtail`. Returns the rows.
#[track_caller]
fn ours(folder: &tempfile::TempDir, args: &[&str]) -> Vec<Value> {
    let config = folder.path().join("config.toml");
    let config = config.to_str().expect("UTF-8");
    process::run([&["--config", config], args, &["-o", "jsonl"]].concat())
        .expect(0)
        .json_lines()
}

/// Creates a `runtail` configuration for the control plane at this base URL.
fn configured(base: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    std::fs::write(&key, KEY).expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600))
            .expect("permissions");
    }
    let text = format!("[profiles.sim]\ncontrol_plane = \"{base}\"\napi_key_file = \"key\"\n");
    std::fs::write(folder.path().join("config.toml"), text).expect("a file");
    folder
}

fn message(row: &Value) -> &str {
    row["message"].as_str().expect("a message")
}

/// The messages of the official client's lines, without time and level.
fn messages(lines: &str) -> Vec<&str> {
    lines
        .lines()
        .filter(|line| line.starts_with('['))
        .map(|line| line.splitn(3, "] ").nth(2).expect(line))
        .collect()
}

/// Runs every reading command on a server with 250 deployments.
fn reads_everything(to: &Setting, base: &str) {
    let folder = configured(base);
    let known: BTreeMap<String, String> = ours(&folder, &["deployments", "list"])
        .iter()
        .map(|row| {
            (
                row["id"].as_str().expect("an id").to_string(),
                row["name"].as_str().expect("a name").to_string(),
            )
        })
        .collect();
    assert_eq!(known.len(), 250);

    let table = to.run(&["list"]).expect(0).stdout;
    assert!(table.starts_with("Deployment ID "), "{table}");
    let rows = cells(&table);
    let listed: BTreeMap<String, String> = rows
        .iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert_eq!(
        (rows.len(), &listed),
        (250, &known),
        "three pages, each name once"
    );
    let all = to.run(&["list", "--json"]).expect(0).json();
    let all = all.as_array().expect("a list");
    let ids: BTreeSet<&str> = all.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(
        (all.len(), ids),
        (250, known.keys().map(String::as_str).collect())
    );
    let some: BTreeSet<String> = cells(
        &to.run(&["list", "--name-contains", "notify"])
            .expect(0)
            .stdout,
    )
    .into_iter()
    .map(|row| row[1].clone())
    .collect();
    let expected: BTreeSet<String> = known
        .values()
        .filter(|name| name.contains("notify"))
        .cloned()
        .collect();
    assert!(some == expected && !some.is_empty(), "{some:?}");
    let none = to
        .run(&["list", "--name-contains", "nobody"])
        .expect(0)
        .stdout;
    assert_eq!(none, "No deployments found.\n");

    // Older revisions of this deployment were deployed too; the official client shows them as REPLACED.
    let (id, _) = known
        .iter()
        .find(|(_, name)| *name == "fjord-agent-0005")
        .expect("a generated deployment");
    let revisions = ours(&folder, &["revisions", "list", id]);
    let rows = cells(&to.run(&["revisions", "list", id]).expect(0).stdout);
    let newest = revisions.iter().position(|row| row["status"] == "DEPLOYED");
    for (n, (row, revision)) in rows.iter().zip(&revisions).enumerate() {
        let word = revision["status"].as_str().expect("a status");
        let word = if word == "DEPLOYED" && Some(n) != newest {
            "REPLACED"
        } else {
            word
        };
        assert_eq!(
            (row[0].as_str(), row[1].as_str()),
            (revision["id"].as_str().expect("an id"), word)
        );
    }
    assert!(rows.len() == revisions.len() && rows.len() > 1, "{rows:?}");
    assert_eq!(
        cells(
            &to.run(&["revisions", "list", id, "--limit", "1"])
                .expect(0)
                .stdout
        )
        .len(),
        1
    );

    let listeners = cells(&to.run(&["listeners", "list"]).expect(0).stdout);
    assert_eq!(
        listeners
            .iter()
            .map(|row| row[1].as_str())
            .collect::<Vec<_>>(),
        ["k8s-prod", "k8s-edge"]
    );

    // Both clients show the same log lines.
    let newest = revisions[0]["id"].as_str().expect("an id");
    let build = to
        .run(&["logs", "--name", "fjord-agent-0005", "--type", "build"])
        .expect(0)
        .stdout;
    assert!(
        build.starts_with(&format!("Using latest revision: {newest}\n")),
        "{build}"
    );
    let rows = ours(&folder, &["logs", id, "--build"]);
    assert_eq!(
        messages(&build),
        rows.iter().map(message).collect::<Vec<_>>()
    );
    let last = revisions.last().expect("revisions")["id"]
        .as_str()
        .expect("an id");
    let of_one = to
        .run(&[
            "logs",
            "--deployment-id",
            id,
            "--type",
            "build",
            "--revision-id",
            last,
        ])
        .expect(0)
        .stdout;
    let rows = ours(&folder, &["logs", id, "--build", "--revision", last]);
    assert!(
        messages(&of_one) == rows.iter().map(message).collect::<Vec<_>>() && of_one != build,
        "{of_one}"
    );
    let serving = |fits: &dyn Fn(&Value) -> bool| -> Vec<Value> {
        let rows = ours(&folder, &["logs", id, "--tail", "all"]);
        rows.into_iter().filter(|row| fits(row)).collect()
    };
    for (filter, fits) in [
        (&[][..], &(|_: &Value| true) as &dyn Fn(&Value) -> bool),
        (&["--level", "warning"], &|row| {
            row["level"] == "WARNING" || row["level"] == "ERROR"
        }),
        (&["-q", "STATE"], &|row| message(row).contains("/state ")),
    ] {
        // Lines are written all the time: it shows the nine newest of a moment between the two requests of ours.
        let newest = serving(fits).pop();
        let shown = to
            .run(&[&["logs", "--deployment-id", id, "--limit", "9"], filter].concat())
            .expect(0)
            .stdout;
        let shown = messages(&shown);
        let after = serving(fits);
        let from = after.iter().position(|row| Some(row) == newest.as_ref());
        let from = from.expect("the line that was the newest");
        let known: Vec<&str> = after.iter().map(message).collect();
        let mut ends = known.windows(9).zip(8..);
        let agree = ends.any(|(lines, end)| lines == shown && end >= from);
        assert!(agree, "{filter:?} {shown:?}\n{known:?}");
    }
}

/// The simulator with its default address.
#[test]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
fn official_cli_reads_everything_from_the_simulator() {
    let mut sim = process::spawn(["sim", "--scenario", "fleet:250"]);
    let line = sim.line_where("the control plane", |line| {
        line.starts_with("control plane")
    });
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .expect("its address")
        .to_string();
    let prefixed = format!("{url}/api-host");
    for (to, base) in [
        (Setting::host(&url), url.as_str()),
        (Setting::host(&format!("{prefixed}/")), prefixed.as_str()),
        (
            Setting::endpoint(&format!("{url}/api/v1")),
            prefixed.as_str(),
        ),
    ] {
        reads_everything(&to, base);
    }
}

async fn simulated(options: Options) -> (Sim, Setting) {
    let sim = Sim::start(options).await.expect("servers on loopback");
    let to = Setting::host(&sim.regions()[0].url);
    (sim, to)
}

fn fleet() -> Options {
    Options {
        scenario: Scenario::Fleet { deployments: 3 },
        ..Options::default()
    }
}

/// Only the prefixed routes are served, as in self-hosted installations.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_finds_a_self_hosted_installation() {
    let (sim, to) = simulated(Options {
        prefix_only: true,
        ..fleet()
    })
    .await;
    let url = &sim.regions()[0].url;
    let root = url.strip_suffix("/api-host").expect("a prefix");
    for to in [
        to,
        Setting::endpoint(root),
        Setting::endpoint(&format!("{root}/api/")),
    ] {
        assert_eq!(cells(&to.run(&["list"]).expect(0).stdout).len(), 3);
    }
    let wrong = Setting::host(root).run(&["list"]).expect(1);
    assert_eq!(
        wrong.stderr,
        "Error: GET /v2/deployments failed with status 405: Method Not Allowed\n"
    );
}

/// New lines are shown once each while it runs, the same as by `runtail logs`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_follows_a_log() {
    let (sim, to) = simulated(Options {
        speed: 25.0,
        ..fleet()
    })
    .await;
    let (mut running, _folder) = to.start(&[
        "logs",
        "--name",
        "amber-agent-0000",
        "--limit",
        "20",
        "--follow",
    ]);
    let orders = || -> Vec<String> {
        let requests = sim.requests().into_iter();
        let polls = requests.filter(|one| one.path.ends_with("/deploy_logs"));
        polls
            .map(|one| one.json()["order"].as_str().unwrap_or_default().to_string())
            .collect()
    };
    // It polls every two seconds, and a dozen lines are written in between.
    while orders().len() < 4 {
        running.line_where("a log line", |line| line.starts_with('['));
    }
    running.signal(libc::SIGINT);
    let done = running.wait().expect(0);
    assert!(done.stdout.ends_with("\nStopped.\n"), "{}", done.stdout);
    let orders = orders();
    assert!(
        orders[0] == "desc" && orders[1..].iter().all(|order| order == "asc"),
        "{orders:?}"
    );
    let folder = configured(&sim.regions()[0].url);
    let ours = ours(&folder, &["logs", "amber-agent-0000", "--tail", "all"]);
    let ours: Vec<&str> = ours.iter().map(message).collect();
    let shown: Vec<&str> = messages(&done.stdout);
    assert!(
        ours.windows(shown.len()).any(|lines| lines == shown),
        "{shown:#?}\n{ours:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_fails_as_with_the_real_service() {
    let failed = |to: &Setting, args: &[&str]| to.run(args).expect(1).stderr;
    let (sim, to) = simulated(fleet()).await;
    let wrong = to.clone().with("LANGSMITH_API_KEY", "wrong");
    assert_eq!(
        failed(&wrong, &["list"]),
        "Error: GET /v2/deployments failed with status 401: Invalid API key.\n"
    );
    sim.rule(
        Rule::on("GET", "/v2")
            .times(1)
            .status(429)
            .header("retry-after", "1"),
    );
    assert_eq!(
        failed(&to, &["list"]),
        "Error: GET /v2/deployments failed with status 429: Too Many Requests\n"
    );
    let nobody = "11111111-1111-4111-8111-111111111111";
    assert_eq!(
        failed(&to, &["logs", "--deployment-id", nobody]),
        format!(
            "Error: POST /v1/projects/{nobody}/deploy_logs failed with status 404: Deployment ID {nobody} not found.\n"
        )
    );
    assert_eq!(
        failed(&to, &["logs", "--name", "nobody"]),
        "Error: Deployment 'nobody' not found.\n"
    );
    let odd = failed(&to, &["revisions", "list", "no-uuid"]);
    assert!(
        odd.contains("failed with status 422: {\"detail\":[{") && odd.contains("uuid_parsing"),
        "{odd}"
    );

    let (sim, to) = simulated(Options {
        needs_workspace: true,
        ..fleet()
    })
    .await;
    let told = failed(&to, &["list", "--json"]);
    assert!(
        told.starts_with("Error: API key is org-scoped and requires a workspace ID."),
        "{told}"
    );
    let right = to.with("LANGSMITH_TENANT_ID", &sim.regions()[0].workspace);
    assert_eq!(cells(&right.run(&["list"]).expect(0).stdout).len(), 3);
    let other = right.with("LANGSMITH_TENANT_ID", nobody);
    assert_eq!(
        failed(&other, &["list"]),
        "Error: GET /v2/deployments failed with status 403: Forbidden\n"
    );

    let (_sim, to) = simulated(Options {
        not_enabled: true,
        ..fleet()
    })
    .await;
    let told = failed(&to, &["list"]);
    assert!(
        told.contains("not enabled for this organization") && told.contains("/host/deployments"),
        "{told}"
    );

    // The official client uses only the older log calls, so Runtail tries those first.
    let (_sim, to) = simulated(Options {
        logs: Logs {
            v1: false,
            ..Logs::default()
        },
        ..fleet()
    })
    .await;
    let told = failed(&to, &["logs", "--name", "amber-agent-0000"]);
    assert!(
        told.ends_with("/deploy_logs failed with status 404: Not Found\n"),
        "{told}"
    );
}

/// Creates a deployment, then updates it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_deploys_and_updates_a_project() {
    let (sim, to) = simulated(Options::default()).await;
    let project = project();
    let told = to.deploy(&project, &["--name", "my-app"]).expect(0).stdout;
    for line in [
        "Skipping reserved env var: PORT",
        "Creating deployment 'my-app'",
        "Deployment successful!",
    ] {
        assert!(told.contains(line), "{told}");
    }
    assert!(told.contains("   URL: https://my-app-"), "{told}");
    let build = [
        "POST /v2/deployments/ID/upload-url",
        "PUT /uploads/…",
        "PATCH /v2/deployments/ID",
        "GET /v2/deployments/ID/revisions?limit=1",
        "GET /v2/deployments/ID/revisions/ID",
        "GET /v2/deployments/ID",
    ];
    let found = "GET /v2/deployments?name=my-app&name_contains=my-app&limit=100&offset=0";
    assert_eq!(
        asked(&sim),
        [&[found, "POST /v2/deployments"], &build[..]].concat()
    );
    let requests = sim.requests();
    let sent = |method: &str| {
        requests
            .iter()
            .find(|one| one.method == method)
            .expect("a request")
    };
    let secrets = json!([{"name": "OPENAI_API_KEY", "value": "sk-one"}]);
    let body = sent("POST").json();
    assert_eq!(
        (&body["source"], &body["secrets"]),
        (&json!("internal_source"), &secrets)
    );
    let archive = sent("PUT");
    assert_eq!(archive.header("content-type"), Some("application/gzip"));
    let files = packed(&archive.body);
    assert!(
        ["langgraph.json", "agent.py"]
            .iter()
            .all(|name| files.iter().any(|file| file.ends_with(name))),
        "{files:?}"
    );
    let body = sent("PATCH").json();
    let config = &body["source_revision_config"];
    assert_eq!(
        (&body["revision_source"], &body["secrets"]),
        (&json!("internal_source"), &secrets)
    );
    let place = config["source_tarball_path"].as_str().expect("a path");
    assert!(
        archive.path.ends_with(place) && config["langgraph_config_path"] == "langgraph.json",
        "{config}"
    );

    sim.forget_requests();
    let lines = to
        .deploy(&project, &["--name", "my-app", "--json"])
        .expect(0)
        .json_lines();
    let end = lines.last().expect("lines");
    assert_eq!(
        (&end["event"], &end["status"]),
        (&json!("result"), &json!("succeeded"))
    );
    assert_eq!(
        asked(&sim),
        [&[found], &build[..]].concat(),
        "the existing deployment is updated"
    );

    // Runtail's view of the result: the revision without a source was skipped when the first archive arrived.
    let folder = configured(&sim.regions()[0].url);
    let rows = ours(&folder, &["revisions", "list", "my-app"]);
    let words: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["status"].as_str())
        .collect();
    assert_eq!(words, ["DEPLOYED", "DEPLOYED", "SKIPPED"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_shows_the_log_of_a_failed_build() {
    let (sim, to) = simulated(Options::default()).await;
    let told = to
        .deploy(&project(), &["--name", "build-fails"])
        .expect(1)
        .stdout;
    let log = told
        .split_once("   Last build log lines:\n")
        .expect("a log")
        .1;
    let (log, end) = log
        .split_once("   Re-run with --verbose")
        .expect("an end of the log");
    let shown: Vec<&str> = log
        .lines()
        .map(|line| line.trim_start().trim_start_matches("| "))
        .collect();
    assert!(
        end.contains("   Deployment failed\n") && shown.len() > 15,
        "{told}"
    );
    let folder = configured(&sim.regions()[0].url);
    let ours = ours(&folder, &["logs", "build-fails", "--build", "--tail", "30"]);
    assert_eq!(
        shown,
        ours.iter().map(message).collect::<Vec<_>>(),
        "the same lines as in runtail logs"
    );
    let requests = sim.requests();
    let last = requests
        .iter()
        .rfind(|one| one.path.ends_with("/build_logs") && one.json()["limit"] == 30);
    assert_eq!(
        last.expect("a request").json(),
        json!({"order": "desc", "limit": 30})
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_deletes_and_learns_why_the_name_stays_taken() {
    let (sim, to) = simulated(Options {
        speed: 0.001,
        ..fleet()
    })
    .await;
    let list = to.run(&["list", "--json"]).expect(0).json();
    let (id, name) = (
        list[0]["id"].as_str().expect("an id"),
        list[0]["name"].as_str().expect("a name"),
    );
    sim.forget_requests();
    let told = to.run(&["delete", "--force", id]).expect(0).stdout;
    assert_eq!(told, format!("Deleted deployment {id}.\n"));
    assert_eq!(asked(&sim), ["DELETE /v2/deployments/ID"]);
    let folder = configured(&sim.regions()[0].url);
    assert_eq!(
        ours(&folder, &["deployments", "get", id])[0]["status"],
        "AWAITING_DELETE"
    );

    let rest = format!("{}/v2/deployments/{id}?force=true", sim.regions()[0].url);
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    assert_eq!(
        http.delete(rest)
            .header("X-Api-Key", KEY)
            .send()
            .await
            .expect("an answer")
            .status(),
        204
    );
    let gone = to.run(&["delete", "--force", id]).expect(1).stderr;
    let path = format!("/v2/deployments/{id}");
    assert_eq!(
        gone,
        format!("Error: DELETE {path} failed with status 404: Deployment ID {id} not found.\n")
    );
    let told = to.deploy(&project(), &["--name", name]).expect(1).stderr;
    let why = format!("A tracing project named '{name}' already exists.");
    assert_eq!(
        told,
        format!("Error: POST /v2/deployments failed with status 409: {why}\n")
    );
}

/// Refusals that it recognizes by their text.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_recognizes_refused_creations() {
    let (_aws, to) = simulated(Options {
        aws: true,
        ..Options::default()
    })
    .await;
    let told = to.deploy(&project(), &["--name", "app"]).expect(1).stderr;
    assert!(
        told.ends_with("Use --deployment-type dev instead.\n"),
        "{told}"
    );

    let (sim, to) = simulated(Options {
        needs_listener: true,
        ..Options::default()
    })
    .await;
    let told = to.deploy(&project(), &["--name", "app"]).expect(2).stderr;
    assert!(
        told.contains("This workspace deploys through a listener in your own cluster."),
        "{told}"
    );
    let listener = cells(&to.run(&["listeners", "list"]).expect(0).stdout)[0][0].clone();
    let image = [
        "--no-input",
        "--name",
        "app",
        "--image-uri",
        "registry.example/app@sha256:aa",
        "--listener-id",
    ];
    let args = [&image[..], &[&listener, "--k8s-namespace", "agents"]].concat();
    let told = to.start_in(&project(), &args).wait().expect(0).stdout;
    assert!(told.contains("Deployment successful!"), "{told}");
    let requests = sim.requests();
    let made = requests
        .iter()
        .rfind(|one| one.method == "POST")
        .expect("a request")
        .json();
    assert_eq!(
        made["source_config"]["listener_config"],
        json!({"k8s_namespace": "agents"})
    );
}
