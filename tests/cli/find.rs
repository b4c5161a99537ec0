//! `threads search`, `count`, `label` and the actions on several threads: against the simulator, and against a scripted
//! server for refusals.

use crate::ended::{profile, runtail, write_config};
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::common::{Server, json};
use runtail_testkit::server::text;
use serde_json::{Value, json as value};

/// A simulator with many threads, and a configuration for it.
async fn world(threads: usize) -> (Sim, tempfile::TempDir) {
    let sim = Sim::start(Options {
        scenario: Scenario::Threads { threads },
        ..Options::default()
    })
    .await;
    let sim = sim.unwrap();
    let url = &sim.agents()[0].url;
    let folder = write_config(&profile("sim", "agent_server", url));
    (sim, folder)
}

fn statuses(rows: &[Value]) -> String {
    let statuses = rows.iter().map(|row| row["status"].as_str().unwrap());
    statuses.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn searches_find_threads_by_every_field() {
    let (_sim, folder) = world(1234).await;
    let found = async |query: &str, limit: &str| {
        let args = format!("threads search '{query}' --limit '{limit}' -o jsonl");
        let mut rows: Vec<String> = runtail(folder.path(), args)
            .await
            .expect(0)
            .rows()
            .iter()
            .map(|row| row["thread_id"].to_string())
            .collect();
        rows.sort();
        rows.dedup();
        rows
    };
    // Every tenth thread asks, and every tenth one has failed.
    assert_eq!(found("status:interrupted", "1000").await.len(), 124);
    assert_eq!(found("status:error meta.user=7", "1000").await.len(), 25);
    assert_eq!(
        found("graph:support meta.region=eu sort:created", "9")
            .await
            .len(),
        9
    );
    runtail(
        folder.path(),
        r#"threads create --metadata '{"deep": {"id": 7}, "flag": true}'"#,
    )
    .await
    .expect(0);
    assert_eq!(found("meta.deep.id=7 meta.flag=true", "9").await.len(), 1);
    // The threads change 37 s apart.
    assert!((81..=97).contains(&found("age<1h", "1000").await.len()));
    let old = found("age>12h status:error", "1000").await;
    assert_eq!(old.len(), 7);
    let count = runtail(folder.path(), "threads count 'age>12h status:error'")
        .await
        .expect(0)
        .rows();
    assert_eq!(
        (&count[0]["count"], &count[0]["complete"]),
        (&value!(7), &value!(true))
    );
    let count = runtail(folder.path(), "threads count status:error")
        .await
        .expect(0)
        .rows();
    assert_eq!(count[0]["count"], 123);
}

#[tokio::test]
async fn values_are_checked_where_the_lists_have_them() {
    let (_sim, folder) = world(150).await;
    // A thread without a state makes the Python server's filter fail.
    runtail(folder.path(), "threads create").await.expect(0);
    let ended = runtail(folder.path(), "threads search values.order=70012 -o jsonl")
        .await
        .expect(0);
    let rows = ended.rows();
    assert_eq!(rows.len(), 1, "{}", ended.err);
    assert_eq!(rows[0]["metadata"]["user"], 12);
    let (_sim, folder) = world(30).await;
    let table = runtail(folder.path(), "threads search 'parcel 70012' -o table")
        .await
        .expect(0)
        .out;
    assert!(
        table.contains("NAME OR FIRST MESSAGE") && table.contains("Where is my parcel? 70012"),
        "{table}"
    );
}

#[tokio::test]
async fn wrong_searches_name_the_column_and_send_nothing() {
    let server = Server::start(|_| json(200, "[]")).await;
    let folder = write_config(&format!(
        "[profiles.s]\nagent_server = \"{}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n",
        server.url
    ));
    for (query, why) in [
        (
            "status:waiting",
            "column 8: `waiting` is not a value of status:; use idle, busy, interrupted or error",
        ),
        ("stauts:idle", "unknown field `stauts:`"),
        ("meta.user", "use meta.KEY=VALUE"),
    ] {
        for command in [
            format!("threads search '{query}'"),
            format!("threads count '{query}'"),
            format!("threads delete --search '{query}'"),
        ] {
            runtail(folder.path(), &*command).await.expect(2).says(why);
        }
    }
    runtail(folder.path(), "threads delete --search '' --yes")
        .await
        .expect(2)
        .says("an empty search matches every thread");
    assert!(server.seen().is_empty(), "{:?}", server.seen());
}

#[tokio::test]
async fn a_refused_search_reports_the_servers_words() {
    let words = r#"{"detail":"metadata filters are disabled by the administrator"}"#;
    let server = Server::start(move |seen| match seen.path.as_str() {
        "/threads/search" | "/threads/count" => json(422, words),
        _ => json(404, r#"{"detail":"Not Found"}"#),
    })
    .await;
    let folder = write_config(&format!(
        "[profiles.s]\nagent_server = \"{}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n",
        server.url
    ));
    for command in [
        "threads search meta.a=1",
        "threads count meta.a=1",
        "threads prune --search meta.a=1",
    ] {
        runtail(folder.path(), command)
            .await
            .expect(1)
            .says("metadata filters are disabled by the administrator");
    }
}

#[tokio::test]
async fn found_threads_are_deleted_only_after_consent() {
    let (_sim, folder) = world(300).await;
    let run = async |args: &str| runtail(folder.path(), args).await;
    let count = async || run("threads count age>0s").await.expect(0).rows()[0]["count"].clone();
    let query = "status:error meta.user=7";
    let planned = run(&format!("threads prune --search '{query}' --dry-run"))
        .await
        .expect(0);
    assert_eq!(statuses(&planned.rows()), ["planned"; 6].join(" "));
    planned.says("dry run: nothing was sent");
    run(&format!("threads prune --search '{query}'"))
        .await
        .expect(2)
        .says("Prune 6 threads with all runs and checkpoints: not confirmed");
    assert_eq!(count().await, 300);
    let rows = run(&format!("threads prune --search '{query}' --yes"))
        .await
        .expect(0)
        .rows();
    assert_eq!(statuses(&rows), ["deleted"; 6].join(" "));
    assert_eq!(count().await, 294);
    let again = run(&format!("threads delete --search '{query}' --yes"))
        .await
        .expect(0);
    again.says("no thread was found");
    assert!(again.out.is_empty(), "{}", again.err);
    let gone = rows[0]["thread_id"].as_str().unwrap();
    let rows = run(&format!("threads delete '{gone}' --yes"))
        .await
        .expect(1)
        .rows();
    assert_eq!(statuses(&rows), "not_found");
}

#[tokio::test]
async fn names_and_stars_are_merged_into_the_metadata() {
    let (_sim, folder) = world(20).await;
    let run = async |args: &str| runtail(folder.path(), args).await;
    let thread = run("threads list --limit 1").await.expect(0).rows()[0]["thread_id"].clone();
    let thread = thread.as_str().unwrap();
    let read = async || {
        run(&format!("threads get {thread}")).await.expect(0).rows()[0]["metadata"].clone()
    };
    let before = read().await;
    run(&format!("threads label {thread} --name Refund --star"))
        .await
        .expect(0)
        .says("everyone who uses this server sees it");
    let after = read().await;
    assert_eq!(
        (&after["name"], &after["starred"], &after["user"]),
        (&value!("Refund"), &value!(true), &before["user"])
    );
    let found = run("threads search 'star:yes name:refund'")
        .await
        .expect(0)
        .rows();
    assert_eq!(
        found
            .iter()
            .map(|row| row["thread_id"].as_str().unwrap())
            .collect::<Vec<_>>(),
        [thread]
    );
    run(&format!("threads label {thread} --star"))
        .await
        .expect(1)
        .says("has this name and star already");
    assert_eq!(read().await["starred"], true);
}

#[tokio::test]
async fn failed_threads_are_retried_and_others_are_left_alone() {
    let (_sim, folder) = world(20).await;
    let run = async |args: &str| runtail(folder.path(), args).await;
    let of = async |query: &str| {
        let rows = run(&format!("threads search '{query}'"))
            .await
            .expect(0)
            .rows();
        rows.into_iter()
            .map(|row| text(&row, "thread_id"))
            .collect::<Vec<_>>()
    };
    let (failed, idle) = (of("status:error").await, of("status:idle").await);
    let rows = run(&format!("threads retry {} {} --yes", failed[0], idle[0]))
        .await
        .expect(1)
        .rows();
    assert_eq!(statuses(&rows), "started refused");
    assert!(
        rows[1]["why"]
            .as_str()
            .unwrap()
            .contains("nothing to retry"),
        "{}",
        rows[1]
    );
    assert_eq!(
        run(&format!("runs list {}", failed[0]))
            .await
            .expect(0)
            .rows()
            .len(),
        1
    );
    assert!(
        run(&format!("runs list {}", idle[0]))
            .await
            .expect(0)
            .rows()
            .is_empty()
    );
    let rows = run(&format!("threads cancel {} --yes", idle[0]))
        .await
        .expect(0)
        .rows();
    assert_eq!(statuses(&rows), "nothing_to_do");
}

#[tokio::test]
async fn saved_searches_are_named_on_the_command_line() {
    let (_sim, folder) = world(60).await;
    let run = async |args: &str| runtail(folder.path(), args).await;
    run("threads search --saved failed")
        .await
        .expect(2)
        .says("there is no saved search failed: the configuration has none");
    let path = folder.path().join("runtail/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        format!("{config}[searches]\nfailed = \"status:error\"\neu = \"meta.region=eu\"\n"),
    )
    .unwrap();
    let ids = |rows: Vec<Value>| {
        rows.iter()
            .map(|row| row["thread_id"].to_string())
            .collect::<Vec<_>>()
    };
    let named = ids(run("threads search --saved failed").await.expect(0).rows());
    let typed = ids(run("threads search status:error").await.expect(0).rows());
    assert_eq!((named.len(), &named), (6, &typed));
    assert_eq!(
        run("threads count --saved failed").await.expect(0).rows()[0]["count"],
        6
    );
    run("threads delete --saved fialed --yes")
        .await
        .expect(2)
        .says("there is no saved search fialed: the configuration has failed, eu");
    run("threads count --saved failed status:error")
        .await
        .expect(2);
    run("threads delete --saved failed --search status:idle --yes")
        .await
        .expect(2);
    run("threads delete --saved failed").await.expect(2);
    let rows = run("threads delete --saved failed --yes")
        .await
        .expect(0)
        .rows();
    assert_eq!(statuses(&rows), ["deleted"; 6].join(" "));
    assert_eq!(
        run("threads count age>0s").await.expect(0).rows()[0]["count"],
        54
    );
}
