//! Every command against servers that echo everything they receive. There is a secret in every place that can have one, and none of
//! them may reach the output, an error or the file of `--log`.

use axum::response::Response;
use runtail_testkit::common::{Seen, Server, json, response};
use runtail_testkit::process::{Done, command, launch};
use serde_json::{Value, json as value};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

const ID: &str = "11111111-1111-4111-8111-111111111111";

/// Commands that read, and `doctor`.
const READS: &[&str] = &[
    "deployments list",
    "deployments get bot",
    "revisions list bot",
    "revisions get bot r1",
    "revisions diff bot r1 r1",
    "revisions explain bot r1",
    "revisions wait bot --timeout 2s --interval 100ms",
    "logs bot",
    "logs bot --build",
    "integrations list",
    "integrations repos ID",
    "listeners list",
    "listeners get ID",
    "auth providers list",
    "auth providers get github",
    "auth tokens list",
    "auth wait ID --timeout 1s",
    "inbox",
    "-d bot threads list",
    "-d bot assistants list",
    "-d bot assistants versions ID",
    "-d bot assistants diff ID 1 2",
    "-d bot crons list",
    "-d bot store namespaces",
    "-d bot store search a.b",
    "doctor",
    "config show",
    "config import --dry-run",
];

/// Commands that read from an agent server.
const AGENT_READS: &[&str] = &[
    "-d bot threads list",
    "-d bot threads get ID",
    "-d bot threads state ID",
    "-d bot threads history ID",
    "-d bot bisect ID a 1",
    "-d bot compare ID ID",
    "-d bot assistants list",
    "-d bot assistants graph ID",
    "-d bot assistants get ID",
    "-d bot assistants schemas ID",
    "-d bot crons get ID",
    "-d bot store get a.b key",
    "-d bot runs list ID",
    "-d bot runs get ID r",
];

/// Commands that write.
const WRITES: &[&str] = &[
    "deployments create -f create.toml",
    "deployments create -f create.json",
    "deployments update bot -f update.toml",
    "deployments update bot --secret NEW=env:CANARY_ENV --secret OTHER=file:secret --wait --timeout 2s",
    "deployments delete bot --confirm bot",
    "revisions redeploy bot r1",
    "revisions rollback bot r1 --yes",
    "auth providers create -f provider.toml",
    "auth providers update github --client-secret env:CANARY_CLIENT",
    "auth authenticate --provider github --scope repo",
    "listeners update ID --namespace other",
    "-d bot threads create",
    "-d bot threads copy ID",
    "-d bot threads delete ID ID --yes",
    "-d bot runs cancel ID r --yes --action rollback --wait --timeout 10ms",
    "-d bot runs cancel ID --all --yes",
    "-d bot run ID --input {} --stateless",
    "-d bot answer ID --approve",
    "-d bot fork ID --input {}",
    "-d bot state set ID --values null --as-node __end__",
    "-d bot rerun ID r",
    "-d bot assistants restore ID 1 --yes",
    "-d bot crons create ID --schedule 0",
    "-d bot crons update ID --schedule 0",
    "-d bot crons pause ID",
    "-d bot crons resume ID",
    "-d bot crons delete ID --yes",
    "-d bot store put a.b key {}",
    "-d bot store delete a.b key --yes",
];

const PROVIDER: &str = "provider_id = \"new\"\nname = \"n\"\nclient_id = \"c\"\nclient_secret = \"env:CANARY_CLIENT\"\n\
    auth_url = \"https://a.example\"\ntoken_url = \"https://t.example\"\n";
const CREATE: &str = "name = \"new\"\nsource = \"github\"\n[source_config]\nrepo_url = \"https://github.com/a/b\"\n\
    deployment_type = \"dev\"\n[source_revision_config]\nrepo_ref = \"main\"\nlanggraph_config_path = \"l.json\"\n\
    [secrets]\nA = \"env:CANARY_ENV\"\nB = \"file:secret\"\n";
const CREATE_JSON: &str = r#"{"name": "new", "source": "new-source", "source_revision_config": {"repo_ref": "main"},
    "secrets": [{"name": "A", "value": "canary-literal-secret"}]}"#;
const UPDATE: &str = "remove_secrets = [\"OLD\"]\n[secrets]\nA = \"env:CANARY_ENV\"\n";

/// A record with the fields of every type, and a server-side secret in every place.
fn record(seen: &Seen) -> Value {
    let path = seen.path.as_str();
    let id = if path.contains("/revisions/") {
        "r1"
    } else {
        ID
    };
    let mut record = value!({
        "id": id, "name": "bot", "display_name": "bot", "status": "DEPLOYED", "source": "github", "url": null,
        "latest_revision_id": "r1", "active_revision_id": "r0", "created_at": "2026-11-21T10:00:00Z",
        "secrets": [{"name": "A", "value": "canary-of-the-server"}, {"name": "OLD", "value": "canary-that-goes"}],
        "env_vars": {"B": "canary-of-a-variable"},
        "source_config": {"repo_url": "https://me:canary-of-git@github.com/a/b", "integration_id": ID,
            "install_command": "install canary-of-the-server"},
        "source_revision_config": {"repo_ref": "main", "repo_commit_sha": "0123456789", "langgraph_config_path": "l.json"},
        "status_message": "failed with canary-of-the-server", "provider_id": "github", "client_id": "c",
        "client_secret": "canary-client-of-the-server", "token": "canary-of-oauth", "access_token": "canary-of-access",
        "refresh_token": "canary-of-refresh", "provider_account_label": "me", "scopes": ["repo"],
        "auth_id": ID, "compute_id": "k", "compute_type": "k8s", "compute_config": {"k8s_namespaces": ["a"]},
        "thread_id": "t", "assistant_id": "a", "graph_id": "g",
    });
    record["deployment_id"] = value!(ID);
    record
}

/// Everything in a request, as a server might echo it.
fn echo(seen: &Seen) -> String {
    let headers = seen
        .headers
        .iter()
        .map(|(name, text)| format!("{name}: {}", text.to_str().unwrap_or_default()));
    let body = serde_json::from_str::<Value>(&seen.body)
        .map(|body| body.to_string())
        .unwrap_or_default();
    format!(
        "{} {} {body} {}",
        headers.collect::<Vec<_>>().join(" "),
        seen.query,
        seen.body
    )
}

/// How a server responds.
#[derive(Debug, Clone, Copy)]
enum Behavior {
    Well,
    Refuses(u16),
    Fields,
    Page,
    Cut,
    /// The echo as an event stream, if the request asks for one.
    Says,
    /// A valid response with the request echoed in every string.
    Repeats,
}

fn act(seen: &Seen, way: Behavior, base: &str) -> Response {
    let all = echo(seen);
    let base = base.trim_end_matches('/');
    match way {
        // The name of the new provider must be free.
        Behavior::Well if seen.path.ends_with("/providers/new") => json(404, "{}"),
        Behavior::Well if seen.path.ends_with("/search") => json(200, "[]"),
        // Agent servers return the user's own data, so it may be printed.
        Behavior::Well if seen.path.starts_with("/agent/") => json(200, value!({"thread_id": "t"})),
        Behavior::Well
            if seen.path.ends_with("/authenticate") || seen.path.contains("/auth/wait/") =>
        {
            json(
                200,
                value!({"status": "completed", "token": "canary-of-oauth", "auth_id": ID, "url": "https://l.example"}),
            )
        }
        Behavior::Well if seen.path.ends_with("-logs") || seen.path.contains("_logs") => json(
            200,
            value!({"logs": [{"id": "1", "timestamp": "2026-11-21T10:00:00Z", "level": "INFO", "message": "canary-of-the-server"}],
                "items": [{"id": "1", "timestamp": "2026-11-21T10:00:00Z", "level": "INFO", "message": "canary-of-the-server"}]}),
        ),
        Behavior::Well => {
            let mut one = record(seen);
            one["url"] = value!(format!("{base}/agent"));
            let status = match (
                seen.method.as_str(),
                seen.path.ends_with("/deployments"),
                seen.path.contains("/providers"),
            ) {
                ("DELETE", ..) => return response(204, "application/json", ""),
                ("POST", true, _) => 201,
                _ => 200,
            };
            let lists = [
                "resources",
                "providers",
                "tokens",
                "items",
                "installations",
                "repositories",
            ];
            let row = one.clone();
            // Serves as a list and as a single record: it has rows and fields.
            let fields = one.as_object_mut().expect("an object");
            lists
                .iter()
                .for_each(|list| drop(fields.insert((*list).into(), value!([row.clone()]))));
            json(status, one)
        }
        Behavior::Refuses(status) => json(status, value!({"detail": format!("you sent {all}")})),
        Behavior::Fields => {
            let detail = value!([{"loc": ["body", "secrets", 0, "value"], "type": "x", "msg": all, "input": all}]);
            json(422, value!({ "detail": detail }))
        }
        Behavior::Page => response(
            200,
            "text/html",
            format!("<html><title>{all}</title>{all}</html>"),
        ),
        Behavior::Cut => json(200, format!("{{\"detail\": \"{all}")),
        Behavior::Repeats if seen.path.starts_with("/agent/") => {
            let row = value!({"thread_id": ID, "run_id": "r", "assistant_id": all, "graph_id": all, "name": all,
                "status": all, "metadata": {all.clone(): all}, "config": {"configurable": {"x-api-key": all}}, "values": {"a": all},
                "error": all, "interrupts": {"t": [{"value": all}]}, "kwargs": {"input": all}, "next": [all], "version": all,
                "nodes": [{"id": all, "type": all}], "edges": [], "checkpoint": {"checkpoint_id": all}, "tasks": [{"error": all}]});
            let is_list = ["/search", "/history", "/runs"]
                .iter()
                .any(|end| seen.path.ends_with(end));
            json(200, if is_list { value!([row]) } else { row })
        }
        Behavior::Repeats => {
            let key = seen
                .headers
                .get("x-api-key")
                .and_then(|key| key.to_str().ok())
                .unwrap_or_default();
            let mut one = record(seen);
            one["url"] = value!(format!("{base}/agent"));
            for field in [
                "status_message",
                "description",
                "message",
                "error",
                "provider_account_label",
            ] {
                one[field] = value!(all);
            }
            one["source_config"]["install_command"] = value!(all);
            one["display_name"] = value!(format!("bot {key}"));
            one["source_revision_config"]["langgraph_config_path"] = value!(key);
            one["conditions"] = value!([{format!("of {key}"): all}]);
            one["secrets"] = value!([{"name": "LANGSMITH_API_KEY", "value": key}, {"name": "OLD", "value": "canary-that-goes"}]);
            let mut log = one.clone();
            (log["timestamp"], log["level"]) = (value!("2026-11-21T10:00:00Z"), value!("INFO"));
            let lists = [
                "resources",
                "providers",
                "tokens",
                "items",
                "installations",
                "repositories",
                "logs",
            ];
            let fields = one.as_object_mut().expect("an object");
            lists
                .iter()
                .for_each(|list| drop(fields.insert((*list).into(), value!([log.clone()]))));
            json(200, one)
        }
        Behavior::Says => {
            let said = value!({"configurable": all, "run_id": "r"});
            response(
                200,
                "text/event-stream",
                format!(
                    "event: metadata\ndata: {said}\nid: {ID}\n\nevent: custom\ndata: {all}\n\n"
                ),
            )
        }
    }
}

struct World {
    server: Server,
    ways: Arc<Mutex<(Behavior, Behavior)>>,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> World {
        let ways = Arc::new(Mutex::new((Behavior::Well, Behavior::Well)));
        let (asked, base) = (ways.clone(), Arc::new(Mutex::new(String::new())));
        let at = base.clone();
        let server = Server::start(move |seen| {
            let (reads, writes) = *asked.lock().expect("not poisoned");
            let is_read = seen.method == "GET"
                || seen.path.ends_with("/search")
                || seen.path.contains("_logs");
            let base = at.lock().expect("not poisoned").clone();
            act(seen, if is_read { reads } else { writes }, &base)
        })
        .await;
        *base.lock().expect("not poisoned") = server.url.to_string();
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("rights");
        };
        write(
            ".env",
            "LANGSMITH_API_KEY=lsv2_pt_canary_of_a_project\n",
            0o600,
        );
        write("key", "lsv2_pt_canary_of_the_key\n", 0o600);
        // The file is readable by others.
        write("log", "", 0o666);
        write("secret", "canary of a file\nwith \"two\" lines\n", 0o600);
        write("create.toml", CREATE, 0o644);
        write("create.json", CREATE_JSON, 0o644);
        write("update.toml", UPDATE, 0o644);
        write("provider.toml", PROVIDER, 0o644);
        let text = format!(
            "[profiles.one]\ncontrol_plane = \"{}api-host\"\napi_key_file = \"key\"\n\
             bearer_command = [\"sh\", \"tell\"]\n",
            server.url
        );
        // Prints the token, and records how it and its parent process were started.
        let tell = "{ tr '\\0' ' ' < /proc/$PPID/cmdline; echo; tr '\\0' ' ' < /proc/$$/cmdline; echo; } >> called\ncat bearer\n";
        write("tell", tell, 0o700);
        write("bearer", "bearer-canary-token", 0o600);
        write("config.toml", &text, 0o600);
        World {
            server,
            ways,
            folder,
        }
    }

    fn set_behavior(&self, reads: Behavior, writes: Behavior) {
        *self.ways.lock().expect("not poisoned") = (reads, writes);
    }

    fn run(&self, line: &str, more: &[&str]) -> Done {
        let line = line.replace("ID", ID);
        let at = |name: &str| self.folder.path().join(name).to_string_lossy().into_owned();
        let (config, log) = (at("config.toml"), at("log"));
        let args = ["--config", &config, "--log", &log]
            .into_iter()
            .chain(line.split(' '))
            .chain(more.iter().copied());
        let mut command = command(args);
        command
            .env("CANARY_ENV", "canary of the environment")
            .env("CANARY_CLIENT", "canary-client-secret");
        command
            .env("RUST_BACKTRACE", "1")
            .current_dir(self.folder.path());
        let done = launch(command, "").wait();
        let told = format!("{}{}", done.stdout, done.stderr);
        assert!(
            !told.contains("canary"),
            "{line} {more:?} {:?}\n{told}",
            self.ways
        );
        assert!(!told.contains("panicked"), "{told}");
        done
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_never_reach_output_errors_or_the_log() {
    let world = World::new().await;
    for way in [
        Behavior::Well,
        Behavior::Refuses(401),
        Behavior::Fields,
        Behavior::Page,
        Behavior::Cut,
    ] {
        world.set_behavior(way, way);
        for line in READS {
            let done = world.run(line, &[]);
            // A usage error (exit code 2) would prove nothing.
            assert!(
                done.code != Some(2) || line.starts_with("doctor"),
                "{line} {way:?}\n{}",
                done.stderr
            );
        }
    }
    for way in [
        Behavior::Well,
        Behavior::Refuses(400),
        Behavior::Refuses(409),
        Behavior::Refuses(500),
        Behavior::Fields,
        Behavior::Page,
        Behavior::Cut,
    ] {
        world.set_behavior(Behavior::Well, way);
        let before = world.server.seen().len();
        for line in WRITES {
            let done = world.run(line, &[]);
            assert_ne!(done.code, Some(2), "{line} {way:?}\n{}", done.stderr);
        }
        let sent: String = world.server.seen()[before..].iter().map(echo).collect();
        for canary in [
            "lsv2_pt_canary_of_the_key",
            "bearer-canary-token",
            "canary of the environment",
            "canary of a file\\nwith",
            "canary-client-secret",
            "canary-literal-secret",
            "canary-of-the-server",
        ] {
            assert!(
                sent.contains(canary),
                "{canary} was never sent, so it could not leak: {way:?}"
            );
        }
    }
    world.set_behavior(Behavior::Well, Behavior::Well);
    for line in WRITES
        .iter()
        .filter(|line| !line.contains("authenticate") && !line.starts_with("-d"))
    {
        for format in ["table", "json"] {
            let line = line.replace(" --wait --timeout 2s", "");
            assert!(
                !world
                    .run(&line, &["--dry-run", "-o", format])
                    .stdout
                    .is_empty(),
                "{line}"
            );
        }
    }
    let file = |name: &str| std::fs::read_to_string(world.folder.path().join(name)).expect(name);
    let log = file("log");
    assert!(
        log.contains("/v2/deployments") && !log.contains("canary"),
        "{log}"
    );
    let mode = std::fs::metadata(world.folder.path().join("log"))
        .expect("a log")
        .permissions()
        .mode();
    assert_eq!(
        mode & 0o777,
        0o600,
        "the log must be readable by its owner only"
    );
    // Any user of the machine can read process arguments.
    let called = file("called");
    assert!(
        called.contains("deployments") && called.contains("sh tell"),
        "{called}"
    );
    assert!(!called.contains("canary"), "{called}");
}

/// Valid responses that echo keys: these must not be printed. A secret of a deployment is resent unchanged, even if it contains
/// such a key.
#[tokio::test(flavor = "multi_thread")]
async fn keys_repeated_in_valid_responses_are_not_printed() {
    let world = World::new().await;
    world.set_behavior(Behavior::Repeats, Behavior::Repeats);
    for line in READS
        .iter()
        .filter(|line| !line.starts_with("-d"))
        .chain(AGENT_READS)
    {
        for format in ["table", "json"] {
            let has_format = !["doctor", "config show", "revisions wait", "auth wait"]
                .iter()
                .any(|no| line.starts_with(no));
            let more: &[&str] = if has_format { &["-o", format] } else { &[] };
            let is_text = |line: &str| {
                ["logs", "revisions explain", "-d bot assistants graph"]
                    .iter()
                    .any(|no| line.starts_with(no))
            };
            let done = world.run(line, if is_text(line) { &[] } else { more });
            assert!(
                done.code == Some(0) || !line.starts_with("-d"),
                "{line}\n{}",
                done.stderr
            );
            assert!(
                // A table of threads shows our own word for each status.
                !line.starts_with("-d")
                    || done.stdout.contains("***")
                    || line.contains("graph")
                    || (line.contains("threads list") && format == "table"),
                "{line}\n{}",
                done.stdout
            );
        }
    }
    let done = world.run("deployments update bot --secret NEW=env:CANARY_ENV", &[]);
    let sent = world
        .server
        .seen()
        .into_iter()
        .find(|seen| seen.method == "PATCH")
        .unwrap_or_else(|| panic!("{}", done.stderr));
    assert!(
        sent.body.contains(r#""value":"lsv2_pt_canary_of_the_key""#) && !sent.body.contains("***"),
        "{}",
        sent.body
    );
    let done = world.run("revisions rollback bot r1 --yes --change-source", &[]);
    assert!(
        done.stderr.contains("its source contains a key"),
        "a masked source was not refused: {}",
        done.stderr
    );
}

/// A run whose server echoes its keys in every event: they must be neither recorded nor printed.
#[tokio::test(flavor = "multi_thread")]
async fn recordings_and_their_errors_contain_no_keys() {
    let world = World::new().await;
    let ways = [
        Behavior::Says,
        Behavior::Refuses(500),
        Behavior::Refuses(401),
        Behavior::Page,
    ];
    for (n, way) in ways.into_iter().enumerate() {
        world.set_behavior(Behavior::Well, way);
        for format in ["text", "jsonl", "raw"] {
            let record = world.folder.path().join(format!("tape.jsonl.{n}.{format}"));
            let more = ["--record", &record.to_string_lossy(), "-o", format];
            let done = world.run("-d bot run ID --input {} --stateless", &more);
            assert!(record.exists(), "{way:?} {}", done.stderr);
        }
    }
    let said = std::fs::read_to_string(world.folder.path().join("tape.jsonl.0.text"))
        .expect("a recording");
    assert!(
        said.contains("x-api-key: ***") && said.contains("\"event\":\"custom\""),
        "{said}"
    );
    let init = world.folder.path().join("made/for/new.toml");
    let done = launch(
        command(["--config", &init.to_string_lossy(), "config", "init"]),
        "",
    )
    .wait();
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    };
    let folders = [
        init.parent(),
        init.parent().and_then(|folder| folder.parent()),
    ]
    .map(Option::unwrap);
    assert_eq!((mode(&init), folders.map(mode)), (0o600, [0o700; 2]));
    for entry in std::fs::read_dir(world.folder.path()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if !name.starts_with("tape.jsonl") && name != "log" {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("text");
        assert!(!text.contains("canary"), "{name}: {text}");
        assert_eq!(mode(&path), 0o600, "{name}");
    }
}
