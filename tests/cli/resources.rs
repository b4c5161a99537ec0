//! `assistants`, `crons` and `store` against the simulator.

use crate::fork::World;
use runtail_sim::{Rule, Scenario};
use runtail_testkit::server::text;
use serde_json::{Value, json};

impl World {
    /// Creates an assistant with three versions: large, small, and small with another team.
    async fn assistant(&self) -> String {
        let body = json!({"graph_id": "approval", "name": "mine", "context": {"model": "large"}, "metadata": {"team": "x"}});
        let row = self.post("/assistants", body).await;
        let id = text(&row, "assistant_id");
        let path = format!("/assistants/{id}");
        self.send(
            reqwest::Method::PATCH,
            &path,
            json!({"context": {"model": "small"}, "name": "mine small"}),
        )
        .await;
        self.send(
            reqwest::Method::PATCH,
            &path,
            json!({"metadata": {"team": "y"}}),
        )
        .await;
        id
    }

    /// The write requests so far: method and path.
    fn writes(&self) -> Vec<String> {
        let reads = ["search", "versions", "namespaces", "count"];
        let all = self.sim.requests();
        let writes = all.iter().filter(|seen| {
            seen.method != "GET" && !reads.iter().any(|end| seen.path.ends_with(end))
        });
        writes
            .map(|seen| format!("{} {}", seen.method, seen.path))
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_listed_compared_and_restored() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let id = world.assistant().await;
    world.sim.forget_requests();
    let rows = world
        .runtail("assistants versions 'mine small'")
        .expect(0)
        .json_lines();
    let numbers: Vec<&Value> = rows.iter().map(|row| &row["version"]).collect();
    assert_eq!(
        (numbers, &rows[0]["is_current"]),
        (vec![&json!(3), &json!(2), &json!(1)], &json!(true))
    );
    let changes = world
        .runtail(format!("assistants diff {id} 1 2"))
        .expect(0)
        .json_lines();
    let paths: Vec<&str> = changes
        .iter()
        .filter_map(|row| row["path"].as_str())
        .collect();
    assert!(
        paths.contains(&"name") && paths.contains(&"context.model"),
        "{paths:?}"
    );
    let preview = world
        .runtail(format!("assistants restore {id} 1 --dry-run"))
        .expect(0);
    assert_eq!(world.writes(), [""; 0], "a dry run sends nothing");
    let warns = preview
        .stdout
        .contains("`context` is probably not restored");
    assert!(warns, "{}", preview.stdout);
    world
        .runtail(format!("assistants restore {id} 1"))
        .expect(2)
        .says("add --yes to confirm");
    let done = world
        .runtail(format!("assistants restore {id} 1 --yes"))
        .expect(0);
    assert_eq!(world.writes(), [format!("POST /assistants/{id}/latest")]);
    let row = done.json();
    assert_eq!((&row["version"], &row["name"]), (&json!(1), &json!("mine")));
    let says = done
            .stderr
            .contains("warning: not restored: context is {\"model\":\"small\"}, version 1 has {\"model\":\"large\"}");
    assert!(says, "{}", done.stderr);
    world
        .runtail(format!("assistants restore {id} 9 --yes"))
        .expect(1)
        .says("There is no version 9. The versions are 3, 2, 1.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assistant_that_was_deleted_is_reported() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let id = world.assistant().await;
    world
        .send(
            reqwest::Method::DELETE,
            &format!("/assistants/{id}"),
            Value::Null,
        )
        .await;
    for args in [
        format!("assistants get {id}"),
        format!("assistants restore {id} 1 --yes"),
    ] {
        world
            .runtail(&*args)
            .expect(1)
            .says(&format!("there is no assistant {id}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_shown() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let done = world.runtail("assistants schemas approval");
    let row = done.expect(0).json();
    assert_eq!(row["graph_id"], "approval");
    assert_eq!(row["state_schema"]["properties"]["log"]["type"], "array");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cron_is_created_changed_paused_and_deleted() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    world.sim.forget_requests();
    let create = [
        "crons",
        "create",
        "approval",
        "--schedule",
        "0 9 1 1 *",
        "--input",
        r#"{"amount": 5}"#,
    ];
    let zone = ["--timezone", "Europe/Warsaw"];
    let preview = world
        .runtail(&[create.as_slice(), &zone, &["--dry-run"]].concat())
        .expect(0);
    assert!(
        preview
            .stdout
            .contains("The schedule's times are in Europe/Warsaw."),
        "{}",
        preview.stdout
    );
    assert_eq!(world.writes(), [""; 0]);
    let row = world
        .runtail(&[create.as_slice(), &zone].concat())
        .expect(0)
        .json();
    let cron = row["cron_id"].as_str().expect("an id");
    assert_eq!(
        (&row["enabled"], &row["timezone"]),
        (&json!(true), &json!("Europe/Warsaw"))
    );
    assert!(
        row["next_run_date"]
            .as_str()
            .is_some_and(|at| at.contains("-01-01T08:00:00")),
        "{row}"
    );
    let listed = world.runtail("crons list -o table").expect(0);
    assert!(
        listed.stdout.contains("0 9 1 1 *  Europe/Warsaw"),
        "{}",
        listed.stdout
    );
    let row = world.runtail(format!(
        r#"crons update {cron} --schedule '30 8 * * 1-5' --input '{{"amount": 6}}'"#
    ));
    let done = row.expect(0);
    done.says("input.amount: 5 → 6");
    assert_eq!(
        (
            &done.json()["schedule"],
            &done.json()["payload"]["input"]["amount"]
        ),
        (&json!("30 8 * * 1-5"), &json!(6))
    );
    assert!(
        world
            .runtail(format!("crons pause {cron}"))
            .expect(0)
            .json()["enabled"]
            == false
    );
    world
        .runtail(format!("crons pause {cron}"))
        .expect(0)
        .says("is already paused");
    assert!(
        world
            .runtail(format!("crons resume {cron}"))
            .expect(0)
            .json()["enabled"]
            == true
    );
    assert!(
        world
            .runtail(format!("crons delete {cron}"))
            .expect(2)
            .stderr
            .contains("--yes")
    );
    world
        .runtail(format!("crons delete {cron} --yes"))
        .expect(0)
        .says("their threads are deleted when they end");
    let path = format!("/runs/crons/{cron}");
    let patch = format!("PATCH {path}");
    let expected = [
        "POST /runs/crons".to_string(),
        patch.clone(),
        patch.clone(),
        patch,
        format!("DELETE {path}"),
    ];
    assert_eq!(world.writes(), expected);
    for args in [
        format!("crons get {cron}"),
        format!("crons resume {cron}"),
        format!("crons delete {cron} --yes"),
    ] {
        world
            .runtail(&*args)
            .expect(1)
            .says(&format!("there is no cron {cron}"));
    }
    world
        .runtail("crons create approval --schedule bad")
        .expect(1)
        .says("Invalid cron schedule: 'bad'");
    world
        .runtail("crons create approval --schedule '0 9 * * 1' --timezone Mars/X")
        .expect(1)
        .says("Invalid timezone: 'Mars/X'");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_run_of_a_cron_is_the_servers() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let create = r#"crons create release --schedule '* * * * *' --input '{"seconds": 0}'"#;
    let row = world
        .runtail(format!("{create} --on-run-completed keep"))
        .expect(0)
        .json();
    let next = row["next_run_date"]
        .as_str()
        .and_then(|at| at.parse::<jiff::Timestamp>().ok())
        .expect("a time");
    let until = next.duration_since(jiff::Timestamp::now());
    assert!(until.as_secs() <= 60, "the next minute: {row}");
}

#[tokio::test(flavor = "multi_thread")]
async fn crons_and_a_store_are_not_offered_by_servers_without_them() {
    let world = World::start(Scenario::Contract, 1000.0).await;
    world
        .runtail("crons list")
        .expect(1)
        .says("this server doesn't offer crons");
    world
        .runtail("crons delete 01a20131-4b8d-7343-b7cc-753049e47444 --yes")
        .expect(1)
        .says("this server doesn't offer crons");
    world
        .runtail("store search")
        .expect(1)
        .says("this server doesn't offer a store");
}

#[tokio::test(flavor = "multi_thread")]
async fn store_items_are_written_found_and_deleted() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    world.sim.forget_requests();
    let done = world
        .runtail(r#"store put memo.u1 k '{"n": 1, "tags": ["a"], "deep": {"x": null}}'"#)
        .expect(0);
    done.says("Create item memo.u1 k");
    assert_eq!(
        done.json()["value"],
        json!({"n": 1, "tags": ["a"], "deep": {"x": null}})
    );
    let done = world.runtail(r#"store put memo.u1 k '{"n": 2}'"#).expect(0);
    for says in ["n: 1 → 2", "tags: no longer set", "can't be restored"] {
        done.says(says);
    }
    world
        .runtail(r#"store put memo.u1 k '{"n": 2}'"#)
        .expect(0)
        .says("already has this value");
    assert_eq!(world.writes(), ["PUT /store/items"; 2]);
    assert_eq!(
        world.runtail("store get memo.u1 k").expect(0).json()["value"],
        json!({"n": 2})
    );
    let nowhere = world.runtail(&["store", "get", "", "k"]).expect(2);
    assert!(nowhere.stderr.contains("the namespace is empty"));
    let found = world
        .runtail("store search memo --filter n=2")
        .expect(0)
        .json_lines();
    assert_eq!((found.len(), &found[0]["key"]), (1, &json!("k")));
    assert!(
        world
            .runtail("store search memo --filter n=3")
            .expect(0)
            .json_lines()
            .is_empty()
    );
    let namespaces = world.runtail("store namespaces").expect(0).json_lines();
    assert_eq!(namespaces, [json!({"namespace": ["memo", "u1"]})]);
    let other = json!({"namespace": ["memo", "u1"], "key": "k", "value": {"n": 3}});
    world
        .sim
        .rule(Rule::on("GET", "/store/items").skip(2).json(&other));
    world
        .runtail(r#"store put memo.u1 k '{"n": 2, "m": 1}'"#)
        .expect(0)
        .says("warning: the server has another value than the one sent");
    world.sim.clear_rules();
    world.runtail("store delete memo.u1 k").expect(2);
    world.runtail("store delete memo.u1 k --yes").expect(0);
    for args in ["store get memo.u1 k", "store delete memo.u1 k --yes"] {
        let done = world.runtail(args).expect(1);
        assert!(
            done.stderr
                .to_lowercase()
                .contains("there is no item memo.u1 k"),
            "{}",
            done.stderr
        );
    }
    for (value, says) in [(r#""text""#, "must be a JSON object"), ("{", "not JSON")] {
        world
            .runtail(format!("store put memo.u1 k '{value}'"))
            .expect(2)
            .says(says);
    }
    assert!(
        world
            .runtail("store put memo..u1 k {}")
            .expect(2)
            .stderr
            .contains("must not be empty")
    );
}
