//! Changing deployments and revisions from the command line: previews, requests, refusals and exit codes.

use runtail_sim::{Options, Rule, Sim};
use runtail_testkit::process::{Args, Done, command, launch};
use runtail_testkit::scripted::{Reply, Scripted, config, refuse};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const GITHUB: &str = "name = \"bot\"\nsource = \"github\"\n\n[source_config]\nrepo_url = \"https://github.com/acme/bot\"\n\
    deployment_type = \"dev\"\nbuild_on_push = true\nintegration_id = \"11111111-1111-4111-8111-111111111111\"\n\n\
    [source_revision_config]\nrepo_ref = \"main\"\nlanggraph_config_path = \"langgraph.json\"\n\n\
    [secrets]\nOPENAI_API_KEY = \"env:TEST_OPENAI\"\n";

/// The simulator, a configuration that points to it, and a folder for files.
struct World {
    sim: Sim,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> World {
        World::at(100.0).await
    }

    /// A simulator that runs much faster than real time.
    async fn at(speed: f64) -> World {
        let sim = Sim::start(Options {
            speed,
            ..Options::default()
        })
        .await
        .expect("the simulator");
        let folder = tempfile::tempdir().expect("a folder");
        let profile = |name: &str, more: &str| {
            format!(
                "[profiles.{name}]\ncontrol_plane = \"{}\"\napi_key_command = [\"printf\", \"{}\"]\n{more}",
                sim.regions()[0].url,
                runtail_sim::KEY
            )
        };
        let text = format!(
            "default_profiles = [\"one\"]\n{}{}",
            profile("one", ""),
            profile("prod", "label = \"PROD\"\n")
        );
        std::fs::write(folder.path().join("config.toml"), text).expect("written");
        World { sim, folder }
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("rights");
        path
    }

    fn run(&self, args: impl Args) -> Done {
        self.run_with(args, "")
    }

    fn run_with(&self, args: impl Args, stdin: &str) -> Done {
        let config = self.folder.path().join("config.toml");
        let mut command = command(
            ["--config".into(), config.to_string_lossy().into_owned()]
                .into_iter()
                .chain(args.words()),
        );
        command
            .env("TEST_OPENAI", "canary of openai")
            .current_dir(self.folder.path());
        let done = launch(command, stdin).wait();
        let all = format!("{}{}", done.stdout, done.stderr);
        assert!(
            !all.contains("canary") && !all.contains(runtail_sim::KEY),
            "{all}"
        );
        done
    }

    /// The write requests so far, as `PATCH /v2/deployments/…`.
    fn writes(&self) -> Vec<String> {
        // The older log calls use POST, but only read.
        let all = self
            .sim
            .requests()
            .into_iter()
            .filter(|r| r.method != "GET" && !r.path.ends_with("_logs"));
        all.map(|request| format!("{} {}", request.method, request.path))
            .collect()
    }

    /// Creates the deployment `bot`, waits until it is deployed, and forgets the requests.
    fn with_bot(&self) -> Value {
        self.with_bot_and(&["--wait", "--interval", "200ms"])
    }

    fn with_bot_and(&self, options: &[&str]) -> Value {
        self.file("bot.toml", GITHUB, 0o644);
        self.run(&[&["deployments", "create", "-f", "bot.toml"], options].concat())
            .expect(0);
        let record = self.run("deployments get bot").expect(0).json();
        self.sim.forget_requests();
        record
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no {field} in {value}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_create_reads_a_file() {
    let world = World::new().await;
    world.file("bot.toml", GITHUB, 0o644);
    let create = "deployments create -f bot.toml";
    let done = world.run(format!("{create} --dry-run -o json")).expect(0);
    let preview = done.json();
    assert_eq!(
        (
            &preview["request"]["method"],
            &preview["makes_revision"],
            &preview["target"]
        ),
        (&json!("POST"), &json!("yes"), &json!(null))
    );
    assert_eq!(
        preview["request"]["body"]["secrets"],
        json!([{"name": "OPENAI_API_KEY", "value": "***"}])
    );
    assert_eq!(preview["request"]["headers"]["x-api-key"], "$KEY");
    assert!(text(&preview["request"], "url").ends_with("/v2/deployments"));
    assert!(
        done.stderr.ends_with("dry run: nothing was sent\n"),
        "{}",
        done.stderr
    );
    let table = world
        .run(format!("{create} --dry-run -o table"))
        .expect(0)
        .stdout;
    for part in [
        "Create bot (one)\nCreates a new revision: a new deployment starts with its first revision.\n! ",
        "\"value\": \"***\"",
        "Request:\n  POST http://",
        "  x-api-key: $KEY\n",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    assert_eq!(world.writes(), [""; 0]);
    // JSON of the same shape on stdin, with the name as an option.
    let json = r#"{"source": "external_docker", "source_config": {"resource_spec": {}}, "source_revision_config": {"image_uri": "r/x@sha256:1"}}"#;
    let made = world
        .run_with("deployments create -f - --name image", json)
        .expect(0)
        .json();
    assert_eq!(
        (
            text(&made, "name"),
            text(&made, "profile"),
            &made["source_config"]["resource_spec"]
        ),
        ("image", "one", &json!({}))
    );
    // `--wait` waits for the first revision.
    let done = world
        .run(format!("{create} --wait --interval 200ms -o json"))
        .expect(0);
    let row = &done.json()[0];
    let record = world.run("deployments get bot").expect(0).json();
    assert_eq!(
        (&row["outcome"], &row["revision_id"]),
        (&json!("deployed"), &record["latest_revision_id"])
    );
    assert!(
        done.stderr.starts_with("Create bot (one)\n"),
        "{}",
        done.stderr
    );
    assert_eq!(
        world.writes(),
        ["POST /v2/deployments", "POST /v2/deployments"]
    );
    let sent = world
        .sim
        .requests()
        .into_iter()
        .filter(|request| request.method == "POST")
        .nth(1)
        .expect("sent")
        .json();
    assert_eq!(
        sent["secrets"],
        json!([{"name": "OPENAI_API_KEY", "value": "canary of openai"}])
    );
    // The name is taken.
    world
        .run(create)
        .expect(1)
        .says("nothing was sent: the deployment bot already exists (");
    assert_eq!(world.writes().len(), 2);
}

/// A create request with the documented example values.
const SERVICE_JSON: &str = r#"{"name": "bot", "source": "github",
  "source_config": {"integration_id": "11111111-1111-4111-8111-111111111111", "repo_url": "https://github.com/acme/bot",
    "deployment_type": "dev", "build_on_push": true, "custom_url": null, "resource_spec": null},
  "source_revision_config": {"repo_ref": "main", "graph_config_path": "langgraph.json", "image_uri": null},
  "secrets": [{"name": "OPENAI_API_KEY", "value": "canary-literal"}, {"name": "SHORT", "value": "canary"},
    {"name": "BY_REFERENCE", "value": "env:TEST_OPENAI"}]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn deployments_create_accepts_json_in_the_services_own_shape() {
    let world = World::new().await;
    world.file("bot.json", SERVICE_JSON, 0o644);
    let create = "deployments create -f bot.json";
    // `World::run` fails if a command prints a secret.
    for format in ["table", "json", "jsonl"] {
        let done = world
            .run(format!("{create} --dry-run -o '{format}'"))
            .expect(0);
        assert!(
            done.stdout.contains("***") && done.stdout.contains("OPENAI_API_KEY, SHORT"),
            "{}",
            done.stdout
        );
    }
    assert_eq!(world.writes(), [""; 0]);
    let done = world.run(format!("--log trace.log {create}")).expect(0);
    let warning = "! The file contains secret values in clear text (OPENAI_API_KEY, SHORT).";
    done.says(warning);
    assert!(
        !std::fs::read_to_string(world.folder.path().join("trace.log"))
            .expect("a log")
            .contains("canary")
    );
    let sent = world
        .sim
        .requests()
        .into_iter()
        .find(|request| request.method == "POST")
        .expect("sent")
        .json();
    let secrets = json!([{"name": "OPENAI_API_KEY", "value": "canary-literal"}, {"name": "SHORT", "value": "canary"},
        {"name": "BY_REFERENCE", "value": "canary of openai"}]);
    assert_eq!(sent["secrets"], secrets);
    assert_eq!(
        sent["source_revision_config"]["langgraph_config_path"],
        "langgraph.json"
    );
    // The same file as an update: the secrets have not changed.
    let done = world
        .run("deployments update bot -f bot.json --dry-run -o json")
        .expect(0);
    assert_eq!(done.json()["request"]["body"]["secrets"], json!(null));
    assert!(
        done.stdout.contains("contains secret values in clear text"),
        "{}",
        done.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_sources_and_ids_are_left_to_the_service() {
    let world = World::new().await;
    let unusual = SERVICE_JSON
        .replace("\"github\"", "\"bitbucket\"")
        .replace("11111111-1111-4111-8111-111111111111", "i-1")
        .replace("\"dev\"", "\"huge\"");
    world.file("bot.json", &unusual, 0o644);
    let create = "deployments create -f bot.json";
    let preview = world
        .run(format!("{create} --dry-run -o json"))
        .expect(0)
        .json();
    let body = &preview["request"]["body"];
    assert_eq!(
        (&body["source"], &body["source_config"]["integration_id"]),
        (&json!("bitbucket"), &json!("i-1"))
    );
    let notes = preview["notes"].to_string();
    for warning in [
        "Unknown source bitbucket (known: github, ",
        "Unknown deployment_type huge; ",
    ] {
        assert!(notes.contains(warning), "{notes}");
    }
    // The service decides, and its reason is printed.
    world.run(create).expect(1).says("POST").says("body.source");
    assert_eq!(world.writes(), ["POST /v2/deployments"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_files_are_reported_by_line_before_any_request() {
    let world = World::new().await;
    world.file("exposed", "canary-of-a-file", 0o644);
    for (text, says) in [
        (
            GITHUB.replace("repo_url", "repo_ulr"),
            "bot.toml:5:1: unknown field `repo_ulr` in [source_config]\n  5 | repo_ulr = ",
        ),
        (
            GITHUB.replace("= true", "= \"yes\""),
            "bot.toml:7:17: expected true or false, found \"yes\"",
        ),
        (
            GITHUB.replace("\"env:TEST_OPENAI\"", "\"canary\""),
            "bot.toml:15:18: `OPENAI_API_KEY` needs a reference",
        ),
        (
            GITHUB.replace("TEST_OPENAI", "TEST_NOT_SET"),
            "bot.toml:15: secrets.OPENAI_API_KEY: the environment variable TEST_NOT_SET is not set",
        ),
        (
            GITHUB.replace("env:TEST_OPENAI", "file:exposed"),
            "can be read by others (mode 644); run: chmod 600",
        ),
        (
            GITHUB.replace("OPENAI_API_KEY =", "POSTGRES_URI ="),
            "bot.toml:15: secrets.POSTGRES_URI: the name is reserved",
        ),
        (
            GITHUB.replace("\"bot\"", "\"Bot\""),
            "bot.toml:1: name: a name has lowercase letters",
        ),
        (
            GITHUB
                .replace("name = \"bot\"\n", "")
                .replace("deployment_type = \"dev\"\n", ""),
            "nothing was sent, for 2 reasons:\n  bot.toml: name is missing: ",
        ),
        (
            GITHUB.replace(
                "[secrets]\nOPENAI_API_KEY = \"env:TEST_OPENAI\"",
                "[[secrets]]\nname = \"A\"\nvalue = \"canary\"",
            ),
            "expected a table of secrets by name",
        ),
        ("[[broken".into(), "bot.toml:1:"),
    ] {
        world.file("bot.toml", &text, 0o644);
        let done = world.run("deployments create -f bot.toml").expect(2);
        assert!(
            done.stderr.contains(says),
            "{}\n-- expected: {says}",
            done.stderr
        );
        assert_eq!(done.stdout, "");
    }
    let done = world.run("deployments create -f none.toml").expect(2);
    done.says("none.toml cannot be read: No such file");
    assert_eq!(
        world.sim.requests().len(),
        0,
        "invalid options send no request"
    );
    world.file("bot.toml", GITHUB, 0o644);
    let named = ["create", "-f", "bot.toml", "--name", ""];
    let twice = [
        "update",
        "bot",
        "--secret",
        "A=env:TEST_OPENAI",
        "--secret",
        "A=env:HOME",
    ];
    for (options, says) in [
        (&named[..], "expected a text"),
        (&twice, "--secret A is given twice"),
    ] {
        world
            .run(&[&["deployments"], options].concat())
            .expect(2)
            .says(says);
    }
    // The profile is not guessed.
    world
        .run("-p one -p prod deployments create -f bot.toml")
        .expect(2)
        .says("which profile? Choose one with -p: one, prod");
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_update_by_options() {
    let world = World::new().await;
    let record = world.with_bot();
    let patch = format!("PATCH /v2/deployments/{}", text(&record, "id"));
    // A change without a new revision is reported; there is nothing to wait for.
    let done = world
        .run("deployments update bot --build-on-push false --wait")
        .expect(0);
    assert_eq!(done.json()["source_config"]["build_on_push"], false);
    for part in [
        "  source_config.build_on_push: true → false\n",
        "Creates no new revision: only build_on_push is sent",
        "nothing to wait for",
    ] {
        done.says(part);
    }
    let done = world
        .run("deployments update bot --build-on-push false")
        .expect(0);
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("", "nothing to do: bot already has these settings\n")
    );
    assert_eq!(world.writes(), [patch.as_str()]);
    // `--wait` waits for the revision of this change.
    let wait = ["--wait", "--interval", "200ms", "-o", "json"];
    let done = world
        .run(
            &[
                &[
                    "deployments",
                    "update",
                    "one/bot",
                    "--repo-ref",
                    "build-fails",
                ],
                &wait[..],
            ]
            .concat(),
        )
        .expect(1);
    let row = &done.json()[0];
    let now = world.run("deployments get bot").expect(0).json();
    assert_eq!(
        (&row["outcome"], &row["status"], &row["revision_id"]),
        (
            &json!("failed"),
            &json!("BUILD_FAILED"),
            &now["latest_revision_id"]
        )
    );
    let back = format!(
        "revisions rollback one/bot {}",
        text(&record, "latest_revision_id")
    );
    done.says(&back);
    // The rollback deploys the revision again, unless the deployment's source is to change, too.
    let first = text(&record, "latest_revision_id");
    let again = ["revisions", "rollback", "bot", first, "--dry-run"];
    let preview = world.run(&again).expect(0).json();
    assert!(text(&preview["request"], "url").ends_with(&format!("/revisions/{first}/redeploy")));
    let rollback = [
        "revisions",
        "rollback",
        "bot",
        first,
        "--yes",
        "--change-source",
    ];
    let preview = world
        .run(&[&rollback[..], &["--dry-run"]].concat())
        .expect(0)
        .json();
    let commit = &record["source_revision_config"]["repo_commit_sha"];
    assert_eq!(
        preview["request"]["body"],
        json!({"source_revision_config": {"repo_ref": commit, "langgraph_config_path": "langgraph.json"}})
    );
    let done = world.run(&[&rollback[..], &wait[..]].concat()).expect(0);
    let made_from = &done.json()[0]["source_revision_config"];
    assert_eq!(
        (&made_from["repo_ref"], &made_from["repo_commit_sha"]),
        (commit, commit),
        "exactly that commit"
    );
    assert_eq!(world.writes(), vec![patch; 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn secret_options_are_references() {
    let world = World::new().await;
    let record = world.with_bot();
    for wrong in [
        "NEW=canary-itself",
        "canary-itself",
        "NEW=",
        "NEW=env:",
        "NEW=file:",
    ] {
        world
            .run(format!("deployments update bot --secret '{wrong}'"))
            .expect(2)
            .says("needs a reference");
    }
    world.file("secret", "canary of a file\n", 0o600);
    let args = "deployments update bot --secret NEW=file:secret";
    let done = world.run(args).expect(0);
    assert_eq!(
        done.json()["secrets"],
        json!([{"name": "OPENAI_API_KEY", "value": "***"}, {"name": "NEW", "value": "***"}])
    );
    done.says("  secrets[NEW]: added\n")
        .says("added NEW; 1 unchanged");
    world
        .run(args)
        .expect(0)
        .says("nothing to do: bot already has these settings");
    world
        .run("deployments update bot --replace-secrets --secret NEW=file:secret")
        .expect(0)
        .says("! These secrets are removed: OPENAI_API_KEY.\n");
    world
        .run("deployments update bot --remove-secret NEW")
        .expect(2)
        .says("the last secret can't be removed");
    let bodies: Vec<Value> = world
        .sim
        .requests()
        .iter()
        .filter(|r| r.method == "PATCH")
        .map(|r| r.json()["secrets"].clone())
        .collect();
    let both = json!([{"name": "OPENAI_API_KEY", "value": "canary of openai"}, {"name": "NEW", "value": "canary of a file"}]);
    assert_eq!(
        bodies,
        [both, json!([{"name": "NEW", "value": "canary of a file"}])]
    );
    world
        .run(&[
            "deployments",
            "update",
            text(&record, "id"),
            "--resource-spec",
            "{\"cpus\": 1}",
        ])
        .expect(2)
        .says("--resource-spec:1:2: unknown field `cpus`\n")
        .says("did you mean `cpu`?");
    world.file("r.json", "{\"cpu\": 2, \"min_scale\": 1}", 0o644);
    let done = world
        .run("deployments update bot --resource-spec @r.json --dry-run")
        .expect(0)
        .json();
    assert_eq!(
        (&done["request"]["body"], &done["why"]),
        (
            &json!({"source_config": {"resource_spec": {"cpu": 2, "min_scale": 1}}}),
            &json!("resource_spec is sent")
        )
    );
    assert!(
        world
            .run("deployments update bot")
            .expect(2)
            .stderr
            .contains("nothing to change: use -f FILE or options")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_requires_the_exact_name() {
    let world = World::at(1.0).await;
    let record = world.with_bot_and(&[]);
    for wrong in ["Bot", "", "bo", "one/bot", text(&record, "id")] {
        world
            .run(format!("deployments delete bot --confirm '{wrong}'"))
            .expect(2)
            .says("--confirm doesn't match the name; nothing was sent\n  add --confirm bot");
    }
    world
        .run("deployments delete bot")
        .expect(2)
        .says("not confirmed; nothing was sent\n  add --confirm bot");
    let preview = world
        .run("deployments delete bot --dry-run --delete-tracing-project -o json")
        .expect(0)
        .json();
    assert_eq!(
        (
            &preview["request"]["body"],
            &preview["consent"],
            &preview["makes_revision"]
        ),
        (&json!(null), &json!({"name": "bot"}), &json!("not_asked"))
    );
    assert!(text(&preview["request"], "url").ends_with("?delete_tracing_project=true"));
    assert_eq!(world.writes(), [""; 0]);
    let done = world
        .run("deployments delete bot --confirm bot -o json")
        .expect(0);
    done.says("bot is being deleted: AWAITING_");
    assert!(
        text(&done.json(), "status").starts_with("AWAITING_"),
        "{}",
        done.stderr
    );
    // A second delete: the deletion is in progress.
    let done = world
        .run(&[
            "deployments",
            "delete",
            text(&record, "id"),
            "--confirm",
            "bot",
        ])
        .expect(1);
    assert!(
        done.stderr.contains("is already being deleted")
            || done.stderr.contains("there is no deployment"),
        "{}",
        done.stderr
    );
    assert_eq!(world.writes().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_delete_waits_for_the_deletion() {
    let world = World::new().await;
    world.with_bot();
    world.sim.rule(
        Rule::on("GET", "/v2/deployments/")
            .skip(2)
            .times(1)
            .status(503)
            .body("{}"),
    );
    let done = world
        .run("deployments delete bot --confirm bot --wait --interval 100ms -o json")
        .expect(0);
    assert_eq!(
        (text(&done.json(), "name"), &done.json()["status"]),
        ("bot", &json!(null))
    );
    assert!(done.stderr.ends_with("bot is gone\n"), "{}", done.stderr);
    assert!(
        world
            .run("deployments get bot")
            .expect(1)
            .stderr
            .contains("there is no deployment")
    );
    world
        .run("deployments delete bot --confirm bot")
        .expect(1)
        .says("there is no deployment \"bot\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn redeploy_waits_for_the_new_revision() {
    let world = World::new().await;
    let record = world.with_bot();
    let first = text(&record, "latest_revision_id");
    let made = world
        .run("revisions redeploy bot --wait --interval 200ms -o json")
        .expect(0)
        .json();
    let second = text(&made[0], "revision_id");
    assert!(
        second != first && made[0]["outcome"] == "deployed",
        "{made}"
    );
    let done = world
        .run(format!(
            "revisions redeploy bot {first} --wait --interval 200ms -o json"
        ))
        .expect(0);
    let row = &done.json()[0];
    assert!(
        row["revision_id"] != first && row["revision_id"] != second && row["outcome"] == "deployed",
        "{row}"
    );
    done.says("! It is older than");
}

fn ok(body: Value) -> Reply {
    Reply::Http(200, "", body.to_string())
}

fn record() -> Value {
    json!({"id": "bot", "name": "bot", "source": "github", "status": "READY", "latest_revision_id": "r1",
        "source_config": {"build_on_push": true}, "source_revision_config": {"repo_ref": "main"},
        "secrets": [{"name": "A", "value": "canary-of-a"}]})
}

#[test]
fn what_happens_after_the_preview_is_named() {
    let with = |field: &str, value: Value| {
        let mut changed = record();
        changed[field] = value;
        ok(changed)
    };
    let secret = |value: &str| with("secrets", json!([{"name": "A", "value": value}]));
    let refusal = json!({"detail": [{"loc": ["body", "secrets", 0, "value"], "msg": "canary of openai is too short", "type": "x", "input": "canary of openai"}]});
    let (push, add) = ("--build-on-push false", "--secret B=env:TEST_OPENAI");
    // The records of the plan, of the second read, and the answer to the write.
    for (option, replies, code, says) in [
        (
            push,
            vec![ok(record()), refuse(404)],
            1,
            "bot disappeared after the preview: nothing was sent",
        ),
        (
            push,
            vec![ok(record()), with("status", json!("AWAITING_DELETE"))],
            1,
            "bot was deleted after the preview: nothing was sent",
        ),
        (
            push,
            vec![
                ok(record()),
                with("source_config", json!({"build_on_push": null})),
            ],
            1,
            "(source_config.build_on_push): nothing was sent",
        ),
        (
            add,
            vec![ok(record()), secret("canary-rotated")],
            1,
            "changed after the preview (secrets): nothing was sent",
        ),
        (
            add,
            vec![secret("********")],
            2,
            "doesn't return the values of A,",
        ),
        (push, vec![ok(record()), refuse(401)], 3, "nothing was sent"),
        (
            push,
            vec![ok(record()), ok(record()), Reply::Page],
            1,
            "may have been applied nevertheless",
        ),
        (
            add,
            vec![
                ok(record()),
                ok(record()),
                Reply::Http(422, "", refusal.to_string()),
            ],
            1,
            "body.secrets.0.value: *** is too short",
        ),
    ] {
        let server = Scripted::control_plane(&[("bot", &[])]);
        server.reply("", &[ok(json!({"resources": [record()]}))]);
        server.reply("/bot", &replies);
        let (_folder, path) = config(&[("one", &server)]);
        let mut command =
            command(format!("--config {path} deployments update bot {option}").words());
        command.env("TEST_OPENAI", "canary of openai");
        let done = launch(command, "").wait().expect(code);
        done.says(says);
        assert!(
            !done.stderr.contains("canary") && done.stdout.is_empty(),
            "{}",
            done.stderr
        );
        let asked = server
            .requests()
            .iter()
            .filter(|path| *path == "/bot")
            .count();
        assert_eq!(asked, replies.len(), "{says}");
    }
}

#[test]
fn an_unreadable_target_is_not_reported_as_deleted() {
    let server = Scripted::control_plane(&[("bot", &[])]);
    server.reply("", &[ok(json!({"resources": [record()]}))]);
    server.reply(
        "/bot",
        &[
            ok(record()),
            ok(record()),
            Reply::Http(204, "", String::new()),
            refuse(403),
        ],
    );
    let (_folder, path) = config(&[("one", &server)]);
    let args = [
        "--config",
        &path,
        "deployments",
        "delete",
        "bot",
        "--confirm",
        "bot",
        "-o",
        "json",
    ];
    let done = launch(command(args), "").wait().expect(0);
    done.says("could not read the current status of bot: ");
    assert!(
        !done.stderr.contains("is gone") && done.json()["status"].is_null(),
        "{}",
        done.stderr
    );
}

#[test]
fn create_explains_a_name_taken_by_a_tracing_project() {
    let server = Scripted::control_plane(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bot.toml");
    std::fs::write(&file, GITHUB).expect("written");
    let conflict = json!({"detail": "A tracing project named 'bot' already exists."}).to_string();
    server.reply(
        "",
        &[ok(json!({"resources": []})), Reply::Http(409, "", conflict)],
    );
    let (_folder, path) = config(&[("one", &server)]);
    let mut command = command([
        "--config",
        &path,
        "deployments",
        "create",
        "-f",
        &file.to_string_lossy(),
    ]);
    command.env("TEST_OPENAI", "canary of openai");
    let done = launch(command, "").wait().expect(1);
    for part in [
        "409: A tracing project named 'bot' already exists.",
        "choose another name",
        "--delete-tracing-project",
    ] {
        done.says(part);
    }
}
