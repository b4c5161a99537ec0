//! The official Python command line (`langgraph deploy …`, pinned in `tests/real/requirements.txt`) on our simulator: what
//! the vendor's own client makes of it is what a control plane is. Its words and exit codes are held against, and so are
//! the lines that it and `runtail logs` show.
#![cfg(feature = "tui")]

mod support;

use runtail::sim::{KEY, Logs, Options, Rule, Scenario, Sim};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use support::process::{self, Done, Running};

const WHY: &str = "set by tests/real/serve: tests/real/serve -- cargo test --test official -- --ignored";

/// Where the official client is told to go, and with what.
#[derive(Clone)]
struct Setting(Vec<(&'static str, String)>);

impl Setting {
    /// The base as it stands.
    fn host(url: &str) -> Setting {
        Setting(vec![("LANGGRAPH_HOST_URL", url.into()), ("LANGSMITH_API_KEY", KEY.into())])
    }

    /// An address of a LangSmith installation, from which the client makes the base itself.
    fn endpoint(url: &str) -> Setting {
        Setting(vec![("LANGSMITH_ENDPOINT", url.into()), ("LANGSMITH_API_KEY", KEY.into())])
    }

    fn with(mut self, name: &'static str, value: &str) -> Setting {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into()));
        self
    }

    /// `langgraph deploy …` in an empty folder, so that no `.env` and no project is found.
    fn start(&self, args: &[&str]) -> (Running, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(std::env::var_os("RUNTAIL_LANGGRAPH").expect(WHY));
        command.arg("deploy").args(args).current_dir(folder.path()).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", folder.path());
        command.env("LANGGRAPH_CLI_NO_ANALYTICS", "1").env("PYTHONUTF8", "1").env("COLUMNS", "200");
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
        (process::launch(command, ""), folder)
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Done {
        let (running, _folder) = self.start(args);
        running.wait()
    }
}

/// The cells of a table below its head.
fn cells(table: &str) -> Vec<Vec<String>> {
    let row =
        |line: &str| line.split("  ").map(|cell| cell.trim().to_string()).filter(|cell| !cell.is_empty()).collect();
    table.lines().skip(2).filter(|line| !line.is_empty()).map(row).collect()
}

/// What `runtail` says itself, as rows.
#[track_caller]
fn ours(folder: &tempfile::TempDir, args: &[&str]) -> Vec<Value> {
    let config = folder.path().join("config.toml");
    let config = config.to_str().expect("UTF-8");
    process::run([&["--config", config], args, &["-o", "jsonl"]].concat()).expect(0).json_lines()
}

/// A configuration for `runtail` of the control plane at this base.
fn configured(base: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    std::fs::write(&key, KEY).expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("permissions");
    }
    let text = format!("[profiles.sim]\ncontrol_plane = \"{base}\"\napi_key_file = \"key\"\n");
    std::fs::write(folder.path().join("config.toml"), text).expect("a file");
    folder
}

fn message(row: &Value) -> &str {
    row["message"].as_str().expect("a message")
}

/// What stands behind time and level in the official client's lines.
fn messages(lines: &str) -> Vec<&str> {
    lines.lines().filter(|line| line.starts_with('[')).map(|line| line.splitn(3, "] ").nth(2).expect(line)).collect()
}

/// Everything that reads, once, at a server with 250 deployments.
fn reads_everything(to: &Setting, base: &str) {
    let folder = configured(base);
    let known: BTreeMap<String, String> = ours(&folder, &["deployments", "list"])
        .iter()
        .map(|row| (row["id"].as_str().expect("an id").to_string(), row["name"].as_str().expect("a name").to_string()))
        .collect();
    assert_eq!(known.len(), 250);

    let table = to.run(&["list"]).expect(0).stdout;
    assert!(table.starts_with("Deployment ID "), "{table}");
    let rows = cells(&table);
    let listed: BTreeMap<String, String> = rows.iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!((rows.len(), &listed), (250, &known), "three pages, each name once");
    let all = to.run(&["list", "--json"]).expect(0).json();
    let all = all.as_array().expect("a list");
    let ids: BTreeSet<&str> = all.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!((all.len(), ids), (250, known.keys().map(String::as_str).collect()));
    let some: BTreeSet<String> = cells(&to.run(&["list", "--name-contains", "notify"]).expect(0).stdout)
        .into_iter()
        .map(|row| row[1].clone())
        .collect();
    let expected: BTreeSet<String> = known.values().filter(|name| name.contains("notify")).cloned().collect();
    assert!(some == expected && !some.is_empty(), "{some:?}");
    let none = to.run(&["list", "--name-contains", "nobody"]).expect(0).stdout;
    assert_eq!(none, "No deployments found.\n");

    // A deployment whose older revisions were deployed as well: the official client calls those replaced.
    let (id, _) = known.iter().find(|(_, name)| *name == "fjord-agent-0005").expect("one of the fleet");
    let revisions = ours(&folder, &["revisions", "list", id]);
    let rows = cells(&to.run(&["revisions", "list", id]).expect(0).stdout);
    let newest = revisions.iter().position(|row| row["status"] == "DEPLOYED");
    for (n, (row, revision)) in rows.iter().zip(&revisions).enumerate() {
        let word = revision["status"].as_str().expect("a status");
        let word = if word == "DEPLOYED" && Some(n) != newest { "REPLACED" } else { word };
        assert_eq!((row[0].as_str(), row[1].as_str()), (revision["id"].as_str().expect("an id"), word));
    }
    assert!(rows.len() == revisions.len() && rows.len() > 1, "{rows:?}");
    assert_eq!(cells(&to.run(&["revisions", "list", id, "--limit", "1"]).expect(0).stdout).len(), 1);

    let listeners = cells(&to.run(&["listeners", "list"]).expect(0).stdout);
    assert_eq!(listeners.iter().map(|row| row[1].as_str()).collect::<Vec<_>>(), ["k8s-prod", "k8s-edge"]);

    // Logs: what it shows is what we show.
    let newest = revisions[0]["id"].as_str().expect("an id");
    let build = to.run(&["logs", "--name", "fjord-agent-0005", "--type", "build"]).expect(0).stdout;
    assert!(build.starts_with(&format!("Using latest revision: {newest}\n")), "{build}");
    let rows = ours(&folder, &["logs", id, "--build"]);
    assert_eq!(messages(&build), rows.iter().map(message).collect::<Vec<_>>());
    let last = revisions.last().expect("revisions")["id"].as_str().expect("an id");
    let of_one = to.run(&["logs", "--deployment-id", id, "--type", "build", "--revision-id", last]).expect(0).stdout;
    let rows = ours(&folder, &["logs", id, "--build", "--revision", last]);
    assert!(messages(&of_one) == rows.iter().map(message).collect::<Vec<_>>() && of_one != build, "{of_one}");
    let serving = ours(&folder, &["logs", id, "--tail", "all"]);
    for (filter, fits) in [
        (&[][..], &(|_: &Value| true) as &dyn Fn(&Value) -> bool),
        (&["--level", "warning"], &|row| row["level"] == "WARNING" || row["level"] == "ERROR"),
        (&["-q", "STATE"], &|row| message(row).contains("/state ")),
    ] {
        let shown = to.run(&[&["logs", "--deployment-id", id, "--limit", "9"], filter].concat()).expect(0).stdout;
        let shown = messages(&shown);
        let known: Vec<&str> = serving.iter().filter(|row| fits(row)).map(message).collect();
        // A few lines may have come between the two questions.
        let agree = (5..=9).any(|n| shown[..n] == known[known.len() - n..]);
        assert!(shown.len() == 9 && agree, "{filter:?} {shown:?}\n{known:?}");
    }
}

/// The simulator as a user starts it.
#[test]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test official -- --ignored"]
fn it_reads_everything_of_runtail_sim() {
    let mut sim = process::spawn(["sim", "--scenario", "fleet:250"]);
    let line = sim.line_where("the control plane", |line| line.starts_with("control plane"));
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("its address").to_string();
    let prefixed = format!("{url}/api-host");
    for (to, base) in [
        (Setting::host(&url), url.as_str()),
        (Setting::host(&format!("{prefixed}/")), prefixed.as_str()),
        (Setting::endpoint(&format!("{url}/api/v1")), prefixed.as_str()),
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
    Options { scenario: Scenario::Fleet { deployments: 3 }, ..Options::default() }
}

/// Under the prefix alone, as self-hosted installations are.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test official -- --ignored"]
async fn it_finds_a_self_hosted_installation() {
    let (sim, to) = simulated(Options { prefix_only: true, ..fleet() }).await;
    let url = &sim.regions()[0].url;
    let root = url.strip_suffix("/api-host").expect("a prefix");
    for to in [to, Setting::endpoint(root), Setting::endpoint(&format!("{root}/api/"))] {
        assert_eq!(cells(&to.run(&["list"]).expect(0).stdout).len(), 3);
    }
    let wrong = Setting::host(root).run(&["list"]).expect(1);
    assert_eq!(wrong.stderr, "Error: GET /v2/deployments failed with status 405: Method Not Allowed\n");
}

/// New lines come while it runs, each once, and the same that `runtail logs` shows.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test official -- --ignored"]
async fn it_follows_a_log() {
    let (sim, to) = simulated(Options { speed: 25.0, ..fleet() }).await;
    let (mut running, _folder) = to.start(&["logs", "--name", "amber-agent-0000", "--limit", "20", "--follow"]);
    let mut shown: Vec<String> = Vec::new();
    // It asks every two seconds, in which a dozen lines come: these are the first and three more polls.
    while shown.len() < 55 {
        let line = running.line_where("a log line", |line| line.starts_with('['));
        shown.extend(messages(&line).into_iter().map(str::to_string));
    }
    running.signal(libc::SIGINT);
    let done = running.wait().expect(0);
    assert!(done.stdout.ends_with("\nStopped.\n"), "{}", done.stdout);
    let polls = sim.requests().into_iter().filter(|one| one.path.ends_with("/deploy_logs"));
    let orders: Vec<String> = polls.map(|one| one.json()["order"].as_str().unwrap_or_default().to_string()).collect();
    assert!(orders.len() >= 4 && orders[0] == "desc" && orders[1..].iter().all(|order| order == "asc"), "{orders:?}");
    let folder = configured(&sim.regions()[0].url);
    let ours = ours(&folder, &["logs", "amber-agent-0000", "--tail", "all"]);
    let ours: Vec<&str> = ours.iter().map(message).collect();
    let shown: Vec<&str> = messages(&done.stdout);
    assert!(ours.windows(shown.len()).any(|lines| lines == shown), "{shown:#?}\n{ours:#?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the official command line: tests/real/serve -- cargo test --test official -- --ignored"]
async fn it_fails_as_it_does_with_the_real_service() {
    let failed = |to: &Setting, args: &[&str]| to.run(args).expect(1).stderr;
    let (sim, to) = simulated(fleet()).await;
    let wrong = to.clone().with("LANGSMITH_API_KEY", "wrong");
    assert_eq!(failed(&wrong, &["list"]), "Error: GET /v2/deployments failed with status 401: Invalid API key.\n");
    sim.rule("GET /v2 times=1 status=429 retry-after=1".parse::<Rule>().expect("a rule"));
    assert_eq!(failed(&to, &["list"]), "Error: GET /v2/deployments failed with status 429: Too Many Requests\n");
    let nobody = "11111111-1111-4111-8111-111111111111";
    assert_eq!(
        failed(&to, &["logs", "--deployment-id", nobody]),
        format!(
            "Error: POST /v1/projects/{nobody}/deploy_logs failed with status 404: Deployment ID {nobody} not found.\n"
        )
    );
    assert_eq!(failed(&to, &["logs", "--name", "nobody"]), "Error: Deployment 'nobody' not found.\n");
    let odd = failed(&to, &["revisions", "list", "no-uuid"]);
    assert!(odd.contains("failed with status 422: {\"detail\":[{") && odd.contains("uuid_parsing"), "{odd}");

    let (sim, to) = simulated(Options { needs_workspace: true, ..fleet() }).await;
    let told = failed(&to, &["list", "--json"]);
    assert!(told.starts_with("Error: API key is org-scoped and requires a workspace ID."), "{told}");
    let right = to.with("LANGSMITH_TENANT_ID", &sim.regions()[0].workspace);
    assert_eq!(cells(&right.run(&["list"]).expect(0).stdout).len(), 3);
    let other = right.with("LANGSMITH_TENANT_ID", nobody);
    assert_eq!(failed(&other, &["list"]), "Error: GET /v2/deployments failed with status 403: Forbidden\n");

    let (_sim, to) = simulated(Options { not_enabled: true, ..fleet() }).await;
    let told = failed(&to, &["list"]);
    assert!(told.contains("not enabled for this organization") && told.contains("/host/deployments"), "{told}");

    // It knows the older log calls and no others, which is why Runtail asks those first.
    let (_sim, to) = simulated(Options { logs: Logs { v1: false, ..Logs::default() }, ..fleet() }).await;
    let told = failed(&to, &["logs", "--name", "amber-agent-0000"]);
    assert!(told.ends_with("/deploy_logs failed with status 404: Not Found\n"), "{told}");
}
