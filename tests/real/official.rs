//! The official Python command line (`langgraph deploy …`, pinned in `tests/real/requirements.txt`) on our simulator, which
//! must act like a
//! real control plane for the vendor's own client. The tests check its messages and exit codes, and compare its log lines with
//! those of
//! `runtail logs`.

use runtail_sim::{KEY, Logs, Options, Request, Rule, Scenario, Sim};
use runtail_testkit::process::{self, Done, Running};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test real official -- --ignored"]
async fn official_cli_deletes_a_deployment() {
    let (sim, to) = simulated(Options {
        speed: 0.001,
        ..fleet()
    })
    .await;
    let list = to.run(&["list", "--json"]).expect(0).json();
    let id = list[0]["id"].as_str().expect("an id");
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
}
