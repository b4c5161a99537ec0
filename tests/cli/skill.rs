//! `skill`: every command of the page runs, and an installed page is not overwritten unasked.

use crate::ended::{runtail, write_config};
use runtail_sim::{Options, Sim};
use serde_json::Value;
use std::path::Path;

const PAGE: &str = include_str!("../../assets/skill.md");

/// Starts the demo's servers, as fast as possible, and writes a configuration for them.
pub async fn demo() -> (Sim, tempfile::TempDir) {
    let options = Options {
        speed: 100.0,
        ..Options::demo()
    };
    let sim = Sim::start(options).await.unwrap();
    let profile = |region: &runtail_sim::Region| {
        format!(
            "[profiles.{}]\ncontrol_plane = \"{}\"\nworkspace = \"{}\"\napi_key_env = \"DEMO_KEY\"\n",
            region.name, region.url, region.workspace
        )
    };
    let profiles: String = sim.regions().iter().map(profile).collect();
    let profiles = profiles.replace("api_key_env = \"DEMO_KEY\"", "api_key_file = \"key\"");
    let home = write_config(&format!("{profiles}[poll]\ninterval = \"1s\"\n"));
    let key = home.path().join("runtail/key");
    std::fs::write(&key, &sim.regions()[0].api_key).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    (sim, home)
}

/// Returns whether a value has the fields of an example, and its words.
fn has_shape(value: &Value, example: &Value) -> bool {
    match example {
        Value::Object(fields) => fields.iter().all(|(name, inner)| {
            let is_word = ["kind", "outcome", "exit", "method"].contains(&&**name);
            value
                .get(name)
                .is_some_and(|own| has_shape(own, inner) && (!is_word || own == inner))
        }),
        Value::Array(items) => {
            value
                .as_array()
                .is_some_and(|own| match (own.first(), items.first()) {
                    (Some(own), Some(item)) => has_shape(own, item),
                    _ => true,
                })
        }
        _ => true,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_page_runs_and_prints_what_the_page_says() {
    let (_sim, home) = demo().await;
    let first = async |command: &str| {
        let rows = runtail(home.path(), command).await.expect(0).rows();
        rows[0]["thread_id"].as_str().unwrap().to_string()
    };
    let thread =
        first("-d prod-us/support-bot threads list 'status:idle meta.graph_id=support' --limit 1")
            .await;
    let waiting = first("-d prod-us/invoice-agent inbox").await;
    let lines: Vec<&str> = PAGE.lines().collect();
    let commands: Vec<_> = lines
        .windows(2)
        .filter(|pair| pair[0].starts_with("runtail "))
        .collect();
    assert_eq!(commands.len(), 10, "{commands:?}");
    for pair in commands {
        let line = pair[0].strip_prefix("runtail ").unwrap();
        // A server of the other region has a name that doesn't resolve.
        let line = line
            .replace("inbox", "-p prod-eu inbox")
            .replace("THREAD", &thread)
            .replace("WAITING", &waiting);
        let ended = runtail(home.path(), &*line).await.expect(0);
        let rows = match serde_json::from_str(&ended.out) {
            Ok(Value::Array(rows)) => rows,
            Ok(one) => vec![one],
            Err(_) => ended.rows(),
        };
        let example = pair[1].strip_prefix("# ").expect("the JSON of the command");
        let example = example
            .replace("{…}", "{}")
            .replace("[…]", "[]")
            .replace(":…", ":0");
        let example: Value =
            serde_json::from_str(&example).unwrap_or_else(|e| panic!("{e}: {example}"));
        assert!(
            rows.iter().any(|row| has_shape(row, &example)),
            "{line}\nnothing is like {example}:\n{}",
            ended.out
        );
    }
}

#[test]
fn page_is_a_skill() {
    assert!(PAGE.lines().count() <= 80);
    let (head, _) = PAGE
        .strip_prefix("---\nname: runtail\ndescription: ")
        .unwrap()
        .split_once("\n---\n\n# ")
        .unwrap();
    assert!(
        head.len() <= 1024 && !head.contains(['\n', ':', '<']),
        "{head}"
    );
}

#[tokio::test]
async fn an_installed_page_that_differs_is_replaced_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let shown = runtail(folder.path(), "skill").await.expect(0).out;
    assert_eq!(shown, PAGE);
    let skills = folder.path().join("a/skills");
    let install = format!("skill --dir '{}'", skills.display());
    let path = skills.join("runtail/SKILL.md");
    let read = || std::fs::read_to_string(&path).unwrap();
    for _ in 0..2 {
        let ended = runtail(folder.path(), &*install).await.expect(0);
        assert_eq!(ended.out, format!("{}\n", path.display()));
        assert_eq!(read(), PAGE);
    }
    std::fs::write(&path, "mine\n").unwrap();
    let ended = runtail(folder.path(), &*install).await.expect(2);
    ended.says(
        "SKILL.md, which differs from the page of this version: not confirmed; nothing was written",
    );
    assert_eq!(read(), "mine\n");
    runtail(folder.path(), format!("{install} --yes"))
        .await
        .expect(0);
    assert_eq!(read(), PAGE);
    let ended = runtail(folder.path(), "skill --dir /dev/null")
        .await
        .expect(2);
    ended.says("cannot write /dev/null/runtail/SKILL.md: ");
}

/// Lists and records print the chosen fields, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn fields_can_be_chosen_everywhere() {
    let (_sim, home) = demo().await;
    let home: &Path = home.path();
    let rows = runtail(
        home,
        "-d prod-us/support-bot threads list 'status:idle meta.graph_id=support' --limit 1",
    )
    .await
    .rows();
    let thread = rows[0]["thread_id"].as_str().unwrap();
    for (command, fields) in [
        ("deployments list", "name,source_config.repo_url"),
        ("deployments get prod-us/support-bot", "id"),
        ("revisions list prod-us/support-bot", "status,id"),
        ("integrations list", "id"),
        ("listeners list", "id"),
        ("auth providers list", "provider_id"),
        ("auth tokens list", "id"),
        ("-p prod-eu inbox", "thread_id,interrupts[].id,command"),
        ("-d prod-us/support-bot assistants list", "graph_id"),
        (
            "-d prod-us/support-bot assistants versions support-formal",
            "version,is_current",
        ),
        (
            "-d prod-us/support-bot threads list",
            "metadata.owner,thread_id",
        ),
        ("-d prod-us/support-bot threads get THREAD", "status"),
        (
            "-d prod-us/support-bot threads state THREAD",
            "values.messages[-1].type",
        ),
        (
            "-d prod-us/support-bot threads history THREAD",
            "checkpoint.checkpoint_id",
        ),
        ("-d prod-us/support-bot runs list THREAD", "run_id"),
        ("-d prod-us/support-bot crons list", "cron_id"),
        ("-d prod-us/support-bot store namespaces", "namespace"),
        ("-d prod-us/support-bot store search", "key,value"),
    ] {
        let command = command.replace("THREAD", thread);
        let names: Vec<&str> = fields.split(',').collect();
        let ended = runtail(home, format!("{command} --fields '{fields}'"))
            .await
            .expect(0);
        let rows = ended.rows();
        for row in &rows {
            let keys: Vec<&String> = row.as_object().unwrap().keys().collect();
            assert_eq!(keys, names, "{command}");
        }
        let ended = runtail(home, format!("{command} -o table --fields '{fields}'"))
            .await
            .expect(0);
        let is_list = !["get", "state"]
            .iter()
            .any(|one| command.contains(&format!(" {one} ")));
        let titles = ended.out.lines().next().unwrap_or_default();
        assert!(
            !is_list || titles.split_whitespace().eq(names),
            "{command}: {}",
            ended.out
        );
        let ended = runtail(home, format!("{command} --fields no_such_field")).await;
        if rows.is_empty() {
            assert_eq!(ended.code, 0, "{command}: {}", ended.err);
        } else {
            ended
                .expect(2)
                .says("no row has the field \"no_such_field\"\n  There are: ");
        }
    }
    let ended = runtail(home, "deployments list --fields a..b")
        .await
        .expect(2);
    ended.says("expected fields such as id, metadata.owner or messages[-1].content");
    runtail(home, format!("threads history {thread} --tree --fields a"))
        .await
        .expect(2)
        .says("cannot be used with");
}
