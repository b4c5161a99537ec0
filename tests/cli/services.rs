//! Integrations, listeners and the auth service on the command line: against the simulator, and against scripted servers for what
//! the simulator never sends.

use crate::ended::{self, Ended, ended, with_planes, write_config};
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::common;
use runtail_testkit::common::{Server, json};
use runtail_testkit::process::Args;
use runtail_testkit::server::text;
use serde_json::{Value, json as value};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn command(home: &Path, args: impl Args) -> tokio::process::Command {
    let mut command = ended::command(home, args);
    command
        .env("PATH", home)
        .env("SIM_KEY", runtail_sim::KEY)
        .env("CLIENT_SECRET", "canary-client");
    command
}

/// Runs the binary and checks that its output contains no key, token or client secret.
async fn runtail(folder: &Path, args: impl Args) -> Ended {
    let ended = ended(command(folder, args)).await;
    let all = format!("{}{}", ended.out, ended.err);
    assert!(!all.contains("simulated-"), "{all}");
    ended
}

/// Starts a simulator. Returns it and a folder with a configuration of its regions.
async fn world(options: Options) -> (Sim, tempfile::TempDir) {
    let sim = Sim::start(options).await.unwrap();
    let section = |region: &runtail_sim::Region| {
        let runtail_sim::Region {
            name,
            url,
            workspace,
            ..
        } = region;
        format!(
            "[profiles.{name}]\nurl = \"{url}\"\nworkspace = \"{workspace}\"\napi_key_env = \"SIM_KEY\"\n"
        )
    };
    let folder = write_config(&sim.regions().iter().map(section).collect::<String>());
    (sim, folder)
}

fn texts<'v>(rows: &'v [Value], field: &str) -> Vec<&'v str> {
    rows.iter()
        .map(|row| row[field].as_str().unwrap_or(""))
        .collect()
}

#[tokio::test]
async fn integrations_and_their_repositories_are_listed() {
    let (sim, folder) = world(Options::demo()).await;
    let first = sim.regions()[0].name.clone();
    let rows = runtail(folder.path(), "integrations list")
        .await
        .expect(0)
        .rows();
    assert_eq!(rows.len(), 2 * sim.regions().len());
    assert_eq!(
        (&rows[0]["profile"], &rows[0]["name"]),
        (&value!(first), &value!("acme"))
    );
    let id = text(&rows[0], "id");
    // Every region has this id, so the region is named.
    let of = format!("{first}/{id}");
    let old = runtail(folder.path(), format!("integrations repos '{of}'"))
        .await
        .expect(0)
        .rows();
    let new = runtail(folder.path(), format!("integrations repos '{of}' --v2"))
        .await
        .expect(0)
        .rows();
    assert!(
        old.len() >= 2 && texts(&old, "profile").iter().all(|name| *name == first),
        "{old:?}"
    );
    assert_eq!(
        texts(&old, "name"),
        texts(&new, "name"),
        "both calls return the same"
    );
    let calls: Vec<String> = sim.requests().into_iter().map(|r| r.path).collect();
    assert!(
        calls
            .iter()
            .any(|path| path.ends_with(&format!("/installations/{id}/repositories"))),
        "{calls:?}"
    );
    let table = runtail(folder.path(), format!("integrations repos '{of}' -o table"))
        .await
        .expect(0)
        .out;
    let titles: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(
        titles,
        ["PROFILE", "REGION", "OWNER", "NAME", "BRANCH", "URL", "ID"]
    );
    let forge = runtail(
        folder.path(),
        format!("-p {first} integrations list --forge"),
    )
    .await
    .expect(0)
    .rows();
    let repos = [
        "integrations",
        "repos",
        forge[0]["id"].as_str().unwrap(),
        "--forge",
        "-p",
        &first,
    ];
    assert!(
        !runtail(folder.path(), &repos)
            .await
            .expect(0)
            .rows()
            .is_empty()
    );
    let gone = format!("integrations repos 00000000-0000-4000-8000-000000000000 -p {first}");
    let ended = runtail(folder.path(), gone).await.expect(1);
    ended.says("404");
    assert!(ended.out.is_empty(), "{}", ended.err);
}

#[tokio::test]
async fn listeners_are_listed_and_refusals_reported() {
    let (sim, folder) = world(Options::demo()).await;
    let first = sim.regions()[0].name.clone();
    let rows = runtail(folder.path(), "listeners list")
        .await
        .expect(0)
        .rows();
    assert_eq!(rows.len(), 2 * sim.regions().len());
    let table = runtail(folder.path(), format!("listeners list -o table -p {first}"))
        .await
        .expect(0)
        .out;
    assert!(
        table.contains("k8s-prod  k8s   agents, batch  0.3.1    2026-11-01 09:00Z"),
        "{table}"
    );
    let id = rows[0]["id"].as_str().unwrap();
    let row = &runtail(folder.path(), format!("listeners get {id}"))
        .await
        .expect(0)
        .rows()[0];
    assert_eq!(
        (&row["profile"], &row["compute_id"]),
        (&value!(first), &value!("k8s-prod"))
    );
    // 404 for an unknown id and 422 for an invalid one: both mean that it does not exist.
    for wanted in ["00000000-0000-4000-8000-000000000000", "k8s-prod"] {
        runtail(
            folder.path(),
            format!("listeners get '{wanted}' -p {first}"),
        )
        .await
        .expect(1)
        .says("not found");
    }
    let (_sim, folder) = world(Options {
        no_listeners: true,
        ..Options::default()
    })
    .await;
    runtail(folder.path(), format!("listeners get {id}"))
        .await
        .expect(3)
        .says("403")
        .says("(enterprise plan)");
}

#[tokio::test]
async fn auth_providers_and_tokens_are_listed() {
    let (_sim, folder) = world(Options::default()).await;
    let rows = runtail(folder.path(), "auth providers list")
        .await
        .expect(0)
        .rows();
    assert_eq!(
        texts(&rows, "provider_id"),
        ["github", "google", "slack", "linear"]
    );
    let row = &runtail(folder.path(), "auth providers get google")
        .await
        .expect(0)
        .rows()[0];
    assert_eq!(row["uses_pkce"], true);
    runtail(folder.path(), "auth providers get nobody")
        .await
        .expect(1)
        .says("'nobody' not found");
    let rows = runtail(folder.path(), "auth tokens list --provider github")
        .await
        .expect(0)
        .rows();
    assert_eq!(
        (rows.len(), &rows[0]["provider_account_label"]),
        (1, &value!("octo-lea"))
    );
    let all = runtail(folder.path(), "auth tokens list -o table")
        .await
        .expect(0)
        .out;
    assert!(
        all.contains("repo, read:user") && all.contains("yes"),
        "{all}"
    );
}

#[tokio::test]
async fn lists_with_offset_or_cursor_pages_are_read_to_the_end() {
    let server = Server::start(|seen| {
        let parameter = |name: &str| {
            let found = url::form_urlencoded::parse(seen.query.as_bytes()).find(|(k, _)| k == name);
            found.map(|(_, value)| value.into_owned())
        };
        let rows = |from: usize, to: usize| {
            (from..to)
                .map(|n| value!({"id": format!("r{n}"), "novel": [n]}))
                .collect::<Vec<_>>()
        };
        let number = |name| {
            parameter(name)
                .and_then(|text| text.parse::<usize>().ok())
                .unwrap_or(0)
        };
        match seen.path.trim_start_matches("/api-host") {
            "/v2/listeners" => {
                let (limit, offset) = (number("limit"), number("offset"));
                json(
                    200,
                    value!({"resources": rows(offset, (offset + limit).min(130)), "offset": 130}),
                )
            }
            "/v2/integrations/github/installations/whole/repositories" => {
                let at = number("cursor");
                let next = (at < 2).then(|| (at + 1).to_string());
                json(
                    200,
                    value!({"items": rows(at * 10, at * 10 + 10), "next_cursor": next}),
                )
            }
            "/v2/integrations/github/installations/round/repositories" => {
                json(200, value!({"items": rows(0, 1), "next_cursor": "same"}))
            }
            "/v2/integrations/github/installations/torn/repositories"
                if parameter("cursor").is_some() =>
            {
                json(500, value!({"detail": "oh"}))
            }
            "/v2/integrations/github/installations/torn/repositories" => json(
                200,
                value!({"items": [{"id": 1}, {"name": "without an id"}], "next_cursor": "x"}),
            ),
            // The older generation of the call is gone.
            "/v1/integrations/github/whole/repos" => json(404, value!({"detail": "Not Found"})),
            _ => json(404, value!({"detail": "no"})),
        }
    })
    .await;
    let folder = with_planes(&[("one", &server)]);
    let rows = runtail(folder.path(), "listeners list")
        .await
        .expect(0)
        .rows();
    assert_eq!(
        (rows.len(), &rows[129]["novel"]),
        (130, &value!([129])),
        "unknown fields are kept"
    );
    let rows = runtail(folder.path(), "integrations repos whole")
        .await
        .expect(0)
        .rows();
    assert_eq!(
        (rows.len(), &rows[29]["id"]),
        (30, &value!("r29")),
        "the newer call replaces the older one"
    );
    let ended = runtail(folder.path(), "integrations repos round --v2")
        .await
        .expect(1);
    ended.says("repeats its pages");
    assert!(ended.rows().len() == 1, "{}", ended.err);
    let ended = runtail(folder.path(), "integrations repos torn --v2")
        .await
        .expect(5);
    assert_eq!(ended.rows().len(), 1, "rows before the failure are printed");
    ended
        .says("500: oh")
        .says("1 row of the list of repositories");
    runtail(folder.path(), "auth providers list")
        .await
        .expect(1)
        .says("may not support providers");
}

#[tokio::test]
async fn a_failed_profile_does_not_hide_the_others() {
    let good = Server::start(|_| json(200, value!([{"id": "p", "provider_id": "github"}]))).await;
    let bad = Server::start(|_| json(401, r#"{"detail":"who?"}"#)).await;
    let page =
        Server::start(|_| common::response(200, "text/html", "<html><title>Sign in</title>")).await;
    let folder = with_planes(&[("bad", &bad), ("good", &good), ("page", &page)]);
    let ended = runtail(folder.path(), "auth providers list")
        .await
        .expect(3);
    assert_eq!(texts(&ended.rows(), "profile"), ["good"]);
    ended
        .says("bad: GET")
        .says("HTML instead of JSON (“Sign in”)");
    let ended = runtail(folder.path(), "auth providers get github -p bad -p good")
        .await
        .expect(0);
    assert_eq!(ended.rows()[0]["profile"], "good");
}

#[tokio::test]
async fn authenticate_explains_every_status() {
    let (sim, folder) = world(Options::default()).await;
    for (provider, code, word, said) in [
        (
            "github",
            0,
            "completed",
            "A token was returned (not shown).",
        ),
        ("google", 1, "pending", "runtail auth wait "),
        (
            "slack",
            1,
            "connection_required",
            "connect the user or the agent first",
        ),
        (
            "linear",
            1,
            "token_expired",
            "--force-new requests a new one",
        ),
    ] {
        let ended = runtail(
            folder.path(),
            format!("auth authenticate --provider '{provider}' --scope repo"),
        )
        .await;
        let ended = ended.expect(code);
        let row = &ended.rows()[0];
        assert_eq!(row["status"], word);
        assert_eq!(
            row["token"],
            if code == 0 {
                value!("***")
            } else {
                Value::Null
            }
        );
        ended.says(said);
        assert!(ended.err.starts_with(&format!("{word}: ")), "{}", ended.err);
        assert_eq!(
            row["url"]
                .as_str()
                .is_some_and(|url| url.starts_with("http://")),
            provider == "google"
        );
    }
    let ended = runtail(
        folder.path(),
        "auth authenticate --provider nobody --read-only",
    )
    .await;
    assert!(ended.expect(3).err.contains("read-only"));
    assert_eq!(
        sim.requests().iter().filter(|r| r.method == "POST").count(),
        4,
        "nothing was sent"
    );
}

#[tokio::test]
async fn authenticate_sends_exactly_the_given_fields() {
    let server = Server::start(|_| json(200, r#"{"status":"novel","url":null}"#)).await;
    let folder = with_planes(&[("one", &server)]);
    let id = "11111111-1111-4111-8111-111111111111";
    let ask = "auth authenticate --provider p";
    runtail(folder.path(), ask)
        .await
        .expect(1)
        .says("novel: Unknown status.");
    let options = format!(
        "--scope a --scope 'b c' --user-id u --ls-user-id l --agent-id g --force-new --token-id {id} --redirect-uri https://r \
         --is-default=false --use-agent-builder-public-oauth --check-only"
    );
    runtail(folder.path(), format!("{ask} {options}"))
        .await
        .expect(1);
    let bodies: Vec<Value> = server.seen().iter().map(common::Seen::json).collect();
    assert_eq!(bodies[0], value!({"provider": "p", "scopes": []}));
    let all = value!({"provider": "p", "scopes": ["a", "b c"], "user_id": "u", "ls_user_id": "l", "agent_id": "g",
        "force_new": true, "token_id": id, "redirect_uri": "https://r", "is_default": false,
        "use_agent_builder_public_oauth": true, "check_only": true});
    assert_eq!(bodies[1], all);
    runtail(folder.path(), format!("{ask} --token-id 7"))
        .await
        .expect(2);
}

#[tokio::test]
async fn rejected_fields_are_named() {
    let server = Server::start(|seen| match seen.path.contains("providers") {
        true => json(422, r#"{"detail":"provider_id is malformed"}"#),
        false => json(
            422,
            r#"{"detail":[{"loc":["body","scopes",0],"msg":"Input should be a valid string","type":"string_type"},
                {"loc":["body","token_id"],"msg":"bad","type":"uuid_parsing"}]}"#,
        ),
    })
    .await;
    let folder = with_planes(&[("one", &server)]);
    let ended = runtail(folder.path(), "auth authenticate --provider p")
        .await
        .expect(1);
    let said = "\n  body.scopes.0: Input should be a valid string\n  body.token_id: bad\n";
    ended.says(said);
    runtail(folder.path(), "auth providers get p")
        .await
        .expect(1)
        .says("provider_id is malformed");
}

#[tokio::test]
async fn auth_wait_ends_after_consent() {
    let (sim, folder) = world(Options::default()).await;
    // This browser visits the page.
    let opener = folder.path().join("xdg-open");
    std::fs::write(
        &opener,
        "#!/bin/sh\nprintf '%s' \"$1\" > \"$HOME/.visited\"\n/bin/mv \"$HOME/.visited\" \"$HOME/visited\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let args = "auth authenticate --provider google --scope mail --wait --open";
    let folder_path = folder.path().to_path_buf();
    let visitor = tokio::spawn(async move {
        let file = folder_path.join("visited");
        while !file.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let link = std::fs::read_to_string(file).unwrap();
        visit(&link).await;
        link
    });
    let ended = runtail(folder.path(), args).await.expect(0);
    let link = visitor.await.unwrap();
    ended.says(&format!("open this link to authorize:\n  {link}\n"));
    ended.says("completed: The connection is ready");
    let row = &ended.rows()[0];
    assert_eq!(
        (ended.rows().len(), &row["status"], &row["token"]),
        (1, &value!("completed"), &value!("***"))
    );
    assert_eq!(row["url"], link);
    let waits: Vec<_> = sim
        .requests()
        .into_iter()
        .filter(|r| r.path.contains("/v2/auth/wait/"))
        .collect();
    assert!(waits.iter().all(|r| r.query == "timeout=30"), "{waits:?}");
    // Waiting again works; an unknown id fails.
    let id = row["auth_id"].as_str().unwrap();
    runtail(folder.path(), format!("auth wait {id}"))
        .await
        .expect(0);
    runtail(folder.path(), "auth wait nothing")
        .await
        .expect(1)
        .says("returns a new link");
}

/// Sends a GET request for a page of the simulator.
async fn visit(link: &str) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let url = url::Url::parse(link).unwrap();
    let mut socket = tokio::net::TcpStream::connect(("127.0.0.1", url.port().unwrap()))
        .await
        .unwrap();
    let path = &url[url::Position::BeforePath..];
    socket
        .write_all(
            format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes(),
        )
        .await
        .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn auth_wait_survives_temporary_errors_until_its_deadline() {
    let answers = ["timeout", "503", "pending", "429", "completed"];
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |seen| {
        if seen.path.ends_with("/pending-for-ever") {
            return json(200, r#"{"status":"pending"}"#);
        }
        match answers[asked
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst)
            .min(4)]
        {
            "503" => json(503, r#"{"detail":"busy"}"#),
            "429" => {
                let mut answer = json(429, r#"{"detail":"slow down"}"#);
                answer
                    .headers_mut()
                    .insert("retry-after", "0".parse().unwrap());
                answer
            }
            word => json(
                200,
                value!({"status": word, "token": (word == "completed").then_some("canary-token")}),
            ),
        }
    })
    .await;
    let folder = with_planes(&[("one", &server)]);
    let ended = runtail(folder.path(), "auth wait a1").await.expect(0);
    assert_eq!(ended.rows()[0]["status"], "completed");
    ended.says("still waiting").says("busy");
    assert_eq!(server.seen().len(), 5);
    let ended = runtail(folder.path(), "auth wait pending-for-ever --timeout 1s")
        .await
        .expect(4);
    ended.says("not authorized within 1s");
    assert!(ended.out.is_empty(), "{}", ended.err);
    assert_eq!(server.seen().last().unwrap().query, "timeout=1");
}

#[tokio::test]
async fn authenticate_requires_one_profile() {
    let (sim, folder) = world(Options {
        scenario: Scenario::Demo,
        ..Options::demo()
    })
    .await;
    let ended = runtail(folder.path(), "auth authenticate --provider github")
        .await
        .expect(2);
    let names: Vec<&str> = sim
        .regions()
        .iter()
        .map(|region| region.name.as_str())
        .collect();
    ended.says(&format!(
        "which profile? Choose one with -p: {}",
        names.join(", ")
    ));
    assert!(sim.requests().is_empty());
}

/// The write requests so far.
fn writes(sim: &Sim) -> Vec<String> {
    let all = sim.requests();
    all.iter()
        .filter(|request| request.method != "GET")
        .map(|r| format!("{} {}", r.method, r.path))
        .collect()
}

#[tokio::test]
async fn listeners_are_created_updated_and_deleted() {
    let (sim, folder) = world(Options::default()).await;
    let create = "listeners create --compute-id k8s-new --namespace a --namespace b";
    let ended = runtail(folder.path(), format!("{create} --dry-run"))
        .await
        .expect(0);
    let shown = &ended.rows()[0];
    let body = value!({"compute_type": "k8s", "compute_id": "k8s-new", "compute_config": {"k8s_namespaces": ["a", "b"]}});
    assert_eq!(
        (&shown["request"]["method"], &shown["request"]["body"]),
        (&value!("POST"), &body)
    );
    assert_eq!(writes(&sim), [""; 0]);
    let made = runtail(folder.path(), create).await.expect(0);
    let id = made.rows()[0]["id"].as_str().unwrap().to_string();
    made.says("done: Create the listener k8s-new");
    runtail(folder.path(), create)
        .await
        .expect(1)
        .says("the listener k8s-new already exists");
    // From a file; the preview lists what is removed.
    let file = folder.path().join("listener.json");
    std::fs::write(
        &file,
        r#"{"compute_config": {"k8s_namespaces": ["b", "c"]}, "version": "0.4.0"}"#,
    )
    .unwrap();
    let update = format!("listeners update {id} -f {}", file.display());
    let ended = runtail(folder.path(), format!("{update} --dry-run -o table"))
        .await
        .expect(0);
    for line in [
        "! The list is replaced: it no longer serves a.",
        "  version: 0.4.0, was not set",
        "  PATCH http",
    ] {
        assert!(ended.out.contains(line), "{line}: {}", ended.out);
    }
    runtail(folder.path(), &*update).await.expect(0);
    let ended = runtail(folder.path(), &*update).await.expect(0);
    ended.says("nothing to do: it already has these settings");
    assert!(ended.out.is_empty(), "{}", ended.err);
    // Deleting requires the name.
    let delete = format!("listeners delete {id}");
    for wrong in [
        "",
        "--confirm k8s",
        "--confirm K8S-NEW",
        &format!("--confirm {id}"),
    ] {
        runtail(folder.path(), format!("{delete} {wrong}"))
            .await
            .expect(2)
            .says("nothing was sent\n  add --confirm k8s-new");
    }
    runtail(folder.path(), format!("{delete} --confirm k8s-new"))
        .await
        .expect(0);
    runtail(folder.path(), format!("{delete} --confirm k8s-new"))
        .await
        .expect(1)
        .says("not found");
    let expected = [
        "POST /api-host/v2/listeners".to_string(),
        format!("PATCH /api-host/v2/listeners/{id}"),
        format!("DELETE /api-host/v2/listeners/{id}"),
    ];
    let ends = |all: Vec<String>| {
        all.into_iter()
            .map(|w| w.replace("/api-host", ""))
            .collect::<Vec<_>>()
    };
    assert_eq!(ends(writes(&sim)), ends(expected.into()));
}

#[tokio::test]
async fn auth_providers_take_their_secret_by_reference_only() {
    let (sim, folder) = world(Options::default()).await;
    let create = "auth providers create --provider-id notion --name Notion --client-id c --auth-url https://n/a \
        --token-url https://n/t --uses-pkce --client-secret";
    let dry = runtail(
        folder.path(),
        format!("{create} env:CLIENT_SECRET --dry-run"),
    )
    .await
    .expect(0);
    assert_eq!(dry.rows()[0]["request"]["body"]["client_secret"], "***");
    // A literal secret, a missing file, and a file that others can read.
    runtail(folder.path(), format!("{create} canary-as-an-argument"))
        .await
        .expect(2)
        .says("env:VARIABLE");
    runtail(folder.path(), format!("{create} env:NOT_SET_ANYWHERE"))
        .await
        .expect(2)
        .says("NOT_SET_ANYWHERE is not set");
    let open = folder.path().join("open");
    std::fs::write(&open, "canary-file").unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    runtail(folder.path(), format!("{create} file:{}", open.display()))
        .await
        .expect(2)
        .says("can be read by others");
    assert_eq!(writes(&sim), [""; 0]);
    let made = runtail(folder.path(), format!("{create} env:CLIENT_SECRET"))
        .await
        .expect(0);
    assert_eq!(
        (&made.rows()[0]["provider_id"], &made.rows()[0]["uses_pkce"]),
        (&value!("notion"), &value!(true))
    );
    runtail(folder.path(), format!("{create} env:CLIENT_SECRET"))
        .await
        .expect(1)
        .says("the provider notion already exists");
    let file = folder.path().join("provider.toml");
    std::fs::write(
        &file,
        "name = \"Notion 2\"\nclient_secret = \"env:CLIENT_SECRET\"\nclient_idd = \"x\"\n",
    )
    .unwrap();
    let update = format!("auth providers update notion -f {}", file.display());
    runtail(folder.path(), &*update)
        .await
        .expect(2)
        .says("provider.toml:3:1: unknown field `client_idd`");
    std::fs::write(
        &file,
        "name = \"Notion 2\"\nclient_secret = \"env:CLIENT_SECRET\"\n",
    )
    .unwrap();
    let dry = runtail(folder.path(), format!("{update} --dry-run -o table"))
        .await
        .expect(0);
    for line in [
        "  name: Notion → Notion 2",
        "  client_secret: changed",
        "A client secret can't be read back",
    ] {
        assert!(dry.out.contains(line), "{line}: {}", dry.out);
    }
    let made = runtail(folder.path(), &*update).await.expect(0);
    assert_eq!(made.rows()[0]["name"], "Notion 2");
    runtail(folder.path(), format!("{update} --name x"))
        .await
        .expect(2);
    runtail(
        folder.path(),
        "auth providers discover --provider-id mcp --name M --mcp-server-url https://m.example/sse",
    )
    .await
    .expect(0);
    let delete = "auth providers delete mcp --confirm";
    runtail(folder.path(), format!("{delete} mcp2"))
        .await
        .expect(2);
    runtail(folder.path(), format!("{delete} mcp"))
        .await
        .expect(0);
    assert_eq!(writes(&sim).len(), 4);
}

#[tokio::test]
async fn auth_tokens_are_deleted() {
    let (sim, folder) = world(Options::default()).await;
    let rows = runtail(folder.path(), "auth tokens list")
        .await
        .expect(0)
        .rows();
    let of = |provider: &str| {
        rows.iter()
            .find(|row| row["provider_id"] == provider)
            .unwrap()["id"]
            .as_str()
            .unwrap()
            .to_string()
    };
    let linear = of("linear");
    runtail(
        folder.path(),
        format!("auth tokens delete '{linear}' --confirm lea"),
    )
    .await
    .expect(0);
    runtail(
        folder.path(),
        format!("auth tokens delete '{linear}' --confirm lea"),
    )
    .await
    .expect(1);
    let ended = runtail(
        folder.path(),
        "auth tokens delete --provider linear --confirm linear",
    )
    .await;
    assert!(
        ended
            .expect(0)
            .err
            .contains("nothing to do: you have no token for linear")
    );
    runtail(
        folder.path(),
        "auth tokens delete --provider github --confirm github",
    )
    .await
    .expect(0);
    assert!(
        runtail(folder.path(), "auth tokens list")
            .await
            .expect(0)
            .rows()
            .is_empty()
    );
    let kinds: Vec<String> = writes(&sim)
        .iter()
        .map(|w| w.split(' ').next().unwrap().to_string())
        .collect();
    assert_eq!(kinds, ["DELETE", "DELETE"]);
}
