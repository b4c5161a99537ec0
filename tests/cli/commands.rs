//! Commands as other programs see them: stdout, stderr and exit codes of the real binary.

use crate::ended::{command, runtail, with_planes, write_config};
use runtail_testkit::common::{CANARY, Server, json, response};
use serde_json::{Value, json as value};
use std::path::Path;

const A: &str = "11111111-1111-4111-8111-111111111111";
const B: &str = "22222222-2222-4222-8222-222222222222";

/// Starts a control plane with two deployments, one of them with a name that other control planes may use too.
async fn control_plane(own: &'static str) -> Server {
    Server::start(move |seen| {
        let record = |id: &str, name: &str| {
            value!({"tenant_id": "t", "id": id, "name": name, "status": "READY", "url": null,
                    "secrets": [{"name": "K", "value": "canary"}], "latest_revision_id": "r2", "novel": {"z": 1, "a": 2}})
        };
        let (first, second) = (record(own, "shared"), record(&format!("{own}-x"), &format!("only-{}", &own[..1])));
        match seen.path.strip_prefix("/api-host/v2/deployments") {
            Some("") => {
                let all = vec![first, second];
                let part = seen.query.split('&').find_map(|p| p.strip_prefix("name_contains=")).unwrap_or_default().to_string();
                let some: Vec<_> = all.into_iter().filter(|d| d["name"].as_str().unwrap().contains(&part)).collect();
                json(200, value!({"resources": some, "offset": 2}))
            }
            Some(path) if path == format!("/{own}") => json(200, first),
            Some(path) if path.ends_with("/revisions") => json(
                200,
                value!({"resources": [
                    {"id": "r2", "status": "BUILDING", "created_at": "2026-11-20T09:00:00Z"},
                    {"id": "r1", "status": "DEPLOYED", "created_at": "2026-11-19T09:00:00Z"},
                ]}),
            ),
            _ => json(404, r#"{"detail":"not found"}"#),
        }
    })
    .await
}

#[tokio::test]
async fn deployments_of_all_profiles_are_listed() {
    let (a, b) = (control_plane(A).await, control_plane(B).await);
    let folder = with_planes(&[("one", &a), ("two", &b)]);
    let ended = runtail(folder.path(), "deployments list").await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    let lines = ended.rows();
    assert_eq!(lines.len(), 4);
    assert_eq!(
        (&lines[0]["profile"], &lines[2]["profile"]),
        (&value!("one"), &value!("two"))
    );
    // The order, nulls and unknown fields of the server are kept.
    let port = a.url.port().unwrap();
    let expected = format!(
        "{{\"profile\":\"one\",\"region\":\"127.0.0.1:{port}\",\"tenant_id\":\"t\",\"id\":\"{A}\",\"name\":\"shared\",\
         \"status\":\"READY\",\"url\":null,\"secrets\":[{{\"name\":\"K\",\"value\":\"***\"}}],\"latest_revision_id\":\"r2\",\
         \"novel\":{{\"z\":1,\"a\":2}}}}"
    );
    assert_eq!(ended.out.lines().next().unwrap(), expected);
    assert_eq!(a.seen()[0].header("x-api-key"), Some(CANARY));
    let ended = runtail(
        folder.path(),
        "-p two deployments list --name-contains only -o json",
    )
    .await;
    let all: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 1);
    let ended = runtail(folder.path(), "deployments list -o table").await;
    let titles: Vec<&str> = ended
        .out
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(
        titles,
        [
            "PROFILE", "REGION", "NAME", "STATUS", "LIVE", "SOURCE", "TYPE", "UPDATED", "ID"
        ]
    );
}

#[tokio::test]
async fn a_failed_profile_does_not_hide_the_others() {
    let good = control_plane(A).await;
    let bad = Server::start(|_| json(401, r#"{"detail":"who?"}"#)).await;
    let folder = with_planes(&[("bad", &bad), ("good", &good)]);
    let ended = runtail(folder.path(), "deployments list").await;
    assert_eq!((ended.code, ended.rows().len()), (3, 2));
    ended.says("401: who?");
    assert!(ended.err.starts_with("runtail: bad: GET "), "{}", ended.err);
    let ended = runtail(folder.path(), "-p bad deployments list").await;
    assert_eq!((ended.code, ended.out.as_str()), (3, ""));
}

#[tokio::test]
async fn deployments_are_found_by_id_name_and_profile() {
    let (a, b) = (control_plane(A).await, control_plane(B).await);
    let folder = with_planes(&[("one", &a), ("two", &b)]);
    for (wanted, id) in [
        (A, A),
        (B, B),
        ("two/shared", B),
        ("only-1", &format!("{A}-x")),
        (&format!("one/{A}"), A),
    ] {
        let ended = runtail(folder.path(), format!("deployments get '{wanted}'"))
            .await
            .expect(0);
        assert_eq!(ended.rows()[0]["id"], id, "{wanted}");
    }
    let ended = runtail(folder.path(), "deployments get shared")
        .await
        .expect(2);
    let expected = format!(
        "runtail: \"shared\" is ambiguous: 2 deployments have this name:\n  one/shared  {A}\n  two/shared  {B}\n"
    );
    assert_eq!(ended.err, expected);
    let ended = runtail(folder.path(), "deployments get none").await;
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (1, "runtail: there is no deployment \"none\"\n")
    );
    for (wanted, meant) in [
        ("shard", "one/shared"),
        ("two/Shraed", "two/shared"),
        ("tow/shared", "two/shared"),
    ] {
        let ended = runtail(folder.path(), format!("revisions explain '{wanted}'")).await;
        let expected =
            format!("runtail: there is no deployment \"{wanted}\"\n  did you mean \"{meant}\"?\n");
        assert_eq!((ended.code, ended.err), (1, expected));
    }
    let ended = runtail(folder.path(), "revisions list one/shared --limit 2").await;
    assert_eq!(
        ended
            .rows()
            .iter()
            .map(|r| r["id"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["r2", "r1"]
    );
}

#[tokio::test]
async fn threads_and_assistants_are_listed() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/threads/search" => json(200, include_str!("../fixtures/thread-search.json")),
        "/assistants/search" => json(200, include_str!("../fixtures/assistants-search.json")),
        "/threads" => json(
            200,
            format!(
                r#"{{"thread_id":"t-1","metadata":{}}}"#,
                seen.json()["metadata"]
            ),
        ),
        "/threads/t-1" => json(200, include_str!("../fixtures/thread-get.json")),
        _ => response(404, "text/plain", "no"),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let url = ["--url", server.url.as_str()];
    let with = |args: &[&'static str]| [&url[..], args].concat();
    let ended = runtail(
        folder.path(),
        &with(&["threads", "list", "--status", "interrupted"]),
    )
    .await;
    assert_eq!((ended.code, ended.rows().len()), (0, 2), "{}", ended.err);
    assert_eq!(server.seen()[0].json()["status"], "interrupted");
    let ended = runtail(
        folder.path(),
        &with(&["threads", "create", "--metadata", r#"{"owner":"ana"}"#]),
    )
    .await;
    assert_eq!(
        ended.out,
        "{\"thread_id\":\"t-1\",\"metadata\":{\"owner\":\"ana\"}}\n"
    );
    let ended = runtail(
        folder.path(),
        &with(&["threads", "get", "t-1", "-o", "table"]),
    )
    .await;
    assert!(
        ended
            .out
            .lines()
            .any(|line| line == "status            interrupted"),
        "{}",
        ended.out
    );
    runtail(folder.path(), &with(&["threads", "get", "gone"]))
        .await
        .expect(1);
    let ended = runtail(folder.path(), &with(&["assistants", "list"])).await;
    assert_eq!(ended.rows()[0]["graph_id"], "big");
    let asked = server.seen().len();
    let ended = runtail(folder.path(), &with(&["threads", "create", "--read-only"])).await;
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (3, "runtail: nothing was changed: --read-only was given\n")
    );
    assert_eq!(server.seen().len(), asked);
}

#[tokio::test]
async fn agent_server_of_a_deployment_is_found() {
    let agent = Server::start(|_| json(200, "[]")).await;
    let url = agent.url.to_string();
    let control = Server::start(move |_| {
        json(
            200,
            value!({"resources": [{"id": "d", "name": "bot", "url": url}]}),
        )
    })
    .await;
    let folder = with_planes(&[("one", &control)]);
    let ended = runtail(folder.path(), "threads list -d bot").await;
    assert_eq!((ended.code, ended.out.as_str()), (0, ""), "{}", ended.err);
    assert_eq!(agent.seen()[0].header("x-api-key"), Some(CANARY));
    runtail(folder.path(), "threads list").await.expect(2);
}

#[tokio::test]
async fn config_commands_show_and_create_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runtail/config.toml");
    let ended = runtail(folder.path(), "config path").await;
    assert_eq!(ended.out, format!("{}\n", path.display()));
    runtail(folder.path(), "deployments list")
        .await
        .expect(2)
        .says("no profile configured");
    assert_eq!(runtail(folder.path(), "config init").await.code, 0);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        runtail_core::config::Config::EXAMPLE
    );
    assert_eq!(runtail(folder.path(), "config init").await.code, 2);
    let schema = runtail(folder.path(), "config schema").await.expect(0).out;
    assert_eq!(schema, include_str!("../../assets/config.schema.json"));
    let ended = runtail(folder.path(), "config show").await;
    assert!(ended.out.contains("[profiles.prod-us]"), "{}", ended.out);
    // The key that the example names is not set.
    runtail(folder.path(), "deployments list")
        .await
        .expect(2)
        .says("LANGSMITH_API_KEY is not set");
    std::fs::write(&path, "[ui]\nthem = \"x\"\nascii = 3\n").unwrap();
    runtail(folder.path(), "config show")
        .await
        .expect(2)
        .says("config.toml:3:9: expected true or false, found 3");
    let profile = "[profiles.eu]\ncontrol_plane = \"https://eu.example/host\"\nworkspace = \"w1\"\nlabel = \"EU\"\n\
                   read_only = true\npoll = false\ndeployments = [\"bot\", \"mail\"]\n\
                   [profiles.eu.agent_server]\nlocal = \"http://localhost:2024/\"\n";
    std::fs::write(&path, profile).unwrap();
    let shown = runtail(folder.path(), "config show").await.out;
    for line in profile.lines() {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    // What the dashboard says about [keys], and doctor too.
    let keys = "[ui]\nthem = \"x\"\n[keys]\n\"no.such\" = \"q\"\n\"app.quit\" = \"Entre\"\n\"app.help\" = \"r\"\n";
    std::fs::write(&path, keys).unwrap();
    let ended = runtail(folder.path(), "config show").await;
    let report = runtail(folder.path(), &["doctor"]).await.out;
    for part in [
        "[keys] no.such: unknown action",
        "[keys] app.quit: ",
        "[keys] r is bound to app.",
    ] {
        ended.says(part);
        assert!(
            report.replace("\n        ", " ").contains(part),
            "{part}: {report}"
        );
    }
    assert_eq!(ended.code, 0);
    ended.says("config.toml:2:1: unknown key `them`");
}

#[tokio::test]
async fn limits_and_appearance_of_the_file_apply_to_a_url() {
    let server =
        Server::start(|_| json(200, format!(r#"[{{"thread_id": "{}"}}]"#, "t".repeat(3000)))).await;
    let folder = tempfile::tempdir().unwrap();
    let list = ["--url", server.url.as_str(), "threads", "list"];
    assert_eq!(
        runtail(folder.path(), &list).await.code,
        0,
        "no file is needed"
    );
    std::fs::create_dir(folder.path().join("runtail")).unwrap();
    let path = folder.path().join("runtail/config.toml");
    let text = "default_profiles = [\"us\"]\n[profiles.us]\nregion = \"us\"\n\
                [limits]\nmax_answer = \"2KiB\"\nmax_event = 7777\ntotal = \"1MiB\"\n[ui]\ntheme = \"mono\"\n[poll]\ninterval = \"7s\"\n";
    std::fs::write(&path, text).unwrap();
    let shown = runtail(
        folder.path(),
        &["--url", server.url.as_str(), "config", "show"],
    )
    .await
    .out;
    for part in [
        "max_answer = 2048",
        "max_event = 7777",
        "total = 1048576",
        "theme = \"mono\"",
        "interval = \"7s\"",
        server.url.as_str(),
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        !shown.contains("profiles.us") && !shown.contains("default_profiles"),
        "{shown}"
    );
    let ended = runtail(folder.path(), &list).await;
    ended.says("the response is larger than 2.0 kB");
    assert!(ended.code != 0, "{}", ended.err);
    // A file that is named must exist.
    runtail(
        folder.path(),
        "--config /nowhere --url localhost:1 config show",
    )
    .await
    .expect(2)
    .says("the file does not exist");
}

#[tokio::test]
async fn usage_errors_and_shell_completions() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(runtail(folder.path(), &["nonsense"]).await.code, 2);
    assert_eq!(runtail(folder.path(), &["--help"]).await.code, 0);
    let ended = runtail(folder.path(), "completions bash").await;
    assert!(ended.code == 0 && ended.out.contains("_runtail"));
}

/// Returns what a completion script of bash offers for the last of these words.
async fn offered(folder: &Path, words: &[&str]) -> String {
    let output = command(folder, &[])
        .env("RUNTAIL_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .args(["--", "runtail"])
        .args(words)
        .output()
        .await
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn completions_offer_no_shell_code_and_run_no_program() {
    let rows = ["good-bot", "bot;touch pwned", "$(touch pwned)", "--write"];
    let rows: Vec<Value> = rows
        .iter()
        .map(|name| value!({"id": A, "name": name}))
        .collect();
    let server = Server::start(move |_| json(200, value!({"resources": rows, "offset": 0}))).await;
    let own = format!("url = \"{}\"\n", server.url);
    let folder = write_config(&format!(
        "[profiles.b]\n{own}bearer_command = [\"touch\", \"ran\"]\n\
         [profiles.k]\n{own}api_key_command = [\"touch\", \"ran\"]\n"
    ));
    assert_eq!(offered(folder.path(), &["-d", "g"]).await, "");
    assert!(server.seen().is_empty() && !Path::new("ran").exists());
    let folder = with_planes(&[("p", &server)]);
    for begun in ["", "b", "$"] {
        let offered = offered(folder.path(), &["-d", begun]).await;
        assert!(
            !offered.contains("pwned") && !offered.contains("--write"),
            "{offered}"
        );
    }
    assert_eq!(
        offered(folder.path(), &["deployments", "get", "g"]).await,
        "good-bot"
    );
}

#[tokio::test]
async fn completions_offer_names_and_man_writes_pages() {
    let folder = tempfile::tempdir().unwrap();
    let offered = async |words: &[&str]| offered(folder.path(), words).await;
    assert_eq!(offered(&["revis"]).await, "revisions");
    assert_eq!(offered(&["--demo", "-p", ""]).await, "prod-eu\nprod-us");
    assert_eq!(
        offered(&["--demo", "deployments", "get", "kyc"]).await,
        "kyc-checker"
    );
    // Two profiles have one of this name.
    assert_eq!(offered(&["--demo", "-d", "supp"]).await, "");
    assert_eq!(
        offered(&["--demo", "-d", "prod-us/supp"]).await,
        "prod-us/support-bot"
    );
    assert_eq!(
        offered(&["--demo", "-p", "prod-eu", "-d", "s"]).await,
        "support-bot"
    );
    // Nothing answers there.
    assert_eq!(
        offered(&["--url", "http://127.0.0.1:9", "-d", "supp"]).await,
        ""
    );
    let pages = folder.path().join("pages");
    let ended = runtail(folder.path(), &["man", "--dir", pages.to_str().unwrap()]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, ""), "{}", ended.err);
    assert!(pages.join("runtail-threads-retry.1").is_file());
    runtail(folder.path(), "man --dir /dev/null/x")
        .await
        .expect(1)
        .says("/dev/null/x");
}

#[cfg(unix)]
#[tokio::test]
async fn a_closed_pipe_ends_a_list_quietly() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command(folder.path(), &[])
        .args(["completions", "bash"])
        .stdout(writer)
        .output()
        .await
        .unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}
