//! Assistants, crons and the store on all real servers, with the servers' own records before and after.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real resources -- --ignored`.

use crate::servers::Real;
use runtail_api::{PlanError, ResourceIntent, ServerKind};
use runtail_testkit::server;
use serde_json::{Value, json};

impl Real {
    async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let address = self.url.trim_start_matches("http://");
        server::request_at(address, method, path, Some(&body)).1
    }

    /// Creates an assistant with two versions.
    async fn versioned(&self) -> String {
        let body =
            json!({"graph_id": "agent", "name": "runtail test", "context": {"model": "large"}});
        let row = self.call("POST", "/assistants", body).await;
        let id = row["assistant_id"]
            .as_str()
            .unwrap_or_else(|| panic!("{:?}: {row}", self.kind))
            .to_owned();
        let change = json!({"context": {"model": "small"}, "name": "runtail test 2"});
        self.call("PATCH", &format!("/assistants/{id}"), change)
            .await;
        id
    }

    async fn delete_assistant(&self, id: &str) {
        self.call("DELETE", &format!("/assistants/{id}"), json!({}))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real resources -- --ignored"]
async fn a_version_is_restored_and_what_is_not_is_reported() {
    for real in Real::all().await {
        let kind = real.kind;
        let id = real.versioned().await;
        let before = real.agent.assistant_row(&id).await.unwrap();
        let versions = real
            .runtail(&["assistants", "versions", &id])
            .expect(0)
            .json_lines();
        assert_eq!(
            versions
                .iter()
                .map(|row| &row["version"])
                .collect::<Vec<_>>(),
            [&json!(2), &json!(1)],
            "{kind:?}"
        );
        let changes = real
            .runtail(&["assistants", "diff", &id, "1", "2"])
            .expect(0)
            .json_lines();
        assert!(
            changes
                .iter()
                .any(|row| row["path"] == "context.model" && row["after"] == "small"),
            "{kind:?}: {changes:?}"
        );
        real.runtail(&["assistants", "restore", &id, "1", "--dry-run"])
            .expect(0);
        assert_eq!(
            real.agent.assistant_row(&id).await.unwrap(),
            before,
            "{kind:?}: a dry run changes nothing"
        );
        let done = real
            .runtail(&["assistants", "restore", &id, "1", "--yes"])
            .expect(0);
        let after = real.agent.assistant_row(&id).await.unwrap();
        println!(
            "{kind:?}: before {before}\n  after {after}\n  {}",
            done.stderr
        );
        assert_eq!(
            (&after["version"], &after["name"]),
            (&json!(1), &json!("runtail test")),
            "{kind:?}"
        );
        let is_restored = after["context"] == json!({"model": "large"});
        assert_eq!(
            done.stderr.contains("warning: not restored: context"),
            !is_restored,
            "{kind:?}: {}",
            done.stderr
        );
        assert_eq!(is_restored, kind == ServerKind::Aegra, "{kind:?}");
        let same = real
            .runtail(&["assistants", "restore", &id, "9", "--yes"])
            .expect(1);
        assert!(
            same.stderr.contains("There is no version 9"),
            "{kind:?}: {}",
            same.stderr
        );
        real.delete_assistant(&id).await;
        let gone = real
            .runtail(&["assistants", "restore", &id, "1", "--yes"])
            .expect(1);
        assert!(
            gone.stderr.contains("there is no assistant"),
            "{kind:?}: {}",
            gone.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real resources -- --ignored"]
async fn a_change_between_preview_and_confirmation_stops_a_restore() {
    for real in Real::all().await {
        let kind = real.kind;
        let id = real.versioned().await;
        let intent = ResourceIntent::RestoreVersion {
            assistant: id.clone(),
            version: 1,
        };
        let plan = real.agent.plan_resource(&intent).await.unwrap();
        real.call(
            "PATCH",
            &format!("/assistants/{id}"),
            json!({"name": "someone else"}),
        )
        .await;
        let error = plan.apply().await.unwrap_err().error;
        assert!(
            error
                .detail
                .contains("changed after the preview: nothing was sent"),
            "{kind:?}: {error}"
        );
        let row = real.agent.assistant_row(&id).await.unwrap();
        assert_eq!(
            (&row["version"], &row["name"]),
            (&json!(3), &json!("someone else")),
            "{kind:?}"
        );
        let plan = real.agent.plan_resource(&intent).await.unwrap();
        real.delete_assistant(&id).await;
        let error = plan.apply().await.unwrap_err().error;
        assert!(
            error.detail.contains("disappeared after the preview"),
            "{kind:?}: {error}"
        );
        assert!(
            matches!(
                real.agent.plan_resource(&intent).await,
                Err(PlanError::Asked(_))
            ),
            "{kind:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real resources -- --ignored"]
async fn schemas_are_read_where_they_are_offered() {
    for real in Real::all().await {
        let done = real.runtail(&["assistants", "schemas", "agent"]);
        if real.kind == ServerKind::JavaScript {
            assert!(
                done.expect(1)
                    .stderr
                    .contains("can't read the schemas of this graph (500)")
            );
        } else {
            assert_eq!(
                done.expect(0).json()["graph_id"],
                "agent",
                "{:?}",
                real.kind
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real resources -- --ignored"]
async fn a_cron_is_created_changed_paused_and_deleted() {
    for real in Real::all().await {
        let kind = real.kind;
        let create = [
            "crons",
            "create",
            "agent",
            "--schedule",
            "0 9 1 1 *",
            "--input",
            r#"{"messages": []}"#,
            "--paused",
        ];
        let create = [create.as_slice(), &["--timezone", "Europe/Warsaw"]].concat();
        if kind == ServerKind::JavaScript {
            for args in [
                &["crons", "list"][..],
                &create,
                &["crons", "get", "01a20131-4b8d-7343-b7cc-753049e47444"],
            ] {
                let done = real.runtail(args).expect(1);
                assert!(
                    done.stderr.contains("this server doesn't offer crons"),
                    "{kind:?} {args:?}: {}",
                    done.stderr
                );
            }
            continue;
        }
        let row = real.runtail(&create).expect(0).json();
        let cron = row["cron_id"].as_str().unwrap();
        let record = async || real.agent.cron(cron).await.unwrap_or_default();
        println!("created: {}", record().await);
        assert!(
            row["next_run_date"]
                .as_str()
                .unwrap()
                .contains("-01-01T08:00:00"),
            "nine o'clock in Warsaw: {row}"
        );
        assert!(
            real.runtail(&["crons", "list"])
                .expect(0)
                .json_lines()
                .iter()
                .any(|row| row["cron_id"] == cron)
        );
        real.runtail(&[
            "crons",
            "update",
            cron,
            "--schedule",
            "0 10 1 1 *",
            "--end-time",
            "2030-01-01T00:00:00Z",
        ])
        .expect(0);
        let after = record().await;
        println!("updated: {after}");
        assert_eq!(
            (&after["schedule"], &after["end_time"]),
            (&json!("0 10 1 1 *"), &json!("2030-01-01T00:00:00Z"))
        );
        real.runtail(&["crons", "update", cron, "--no-end-time"])
            .expect(0);
        // Aegra keeps it.
        assert_eq!(record().await["end_time"].is_null(), !kind.is_aegra());
        real.runtail(&["crons", "resume", cron]).expect(0);
        assert_eq!(record().await["enabled"], true);
        let bad = real
            .runtail(&["crons", "update", cron, "--schedule", "bad"])
            .expect(1);
        assert!(
            bad.stderr.contains("Invalid cron schedule"),
            "{}",
            bad.stderr
        );
        // Someone else pauses it between preview and confirmation.
        let intent = ResourceIntent::UpdateCron {
            cron: cron.into(),
            fields: json!({"schedule": "0 11 1 1 *"}),
        };
        let plan = real.agent.plan_resource(&intent).await.unwrap();
        real.call(
            "PATCH",
            &format!("/runs/crons/{cron}"),
            json!({"enabled": false}),
        )
        .await;
        let error = plan.apply().await.unwrap_err().error;
        assert!(
            error.detail.contains("changed after the preview"),
            "{error}"
        );
        assert_eq!(record().await["schedule"], "0 10 1 1 *");
        real.runtail(&["crons", "delete", cron, "--yes"]).expect(0);
        assert_eq!(record().await, Value::Null);
        assert!(
            real.runtail(&["crons", "resume", cron])
                .expect(1)
                .stderr
                .contains("there is no cron")
        );
        let bad = real
            .runtail(&[
                "crons",
                "create",
                "agent",
                "--schedule",
                "0 9 * * 1",
                "--timezone",
                "Mars/X",
                "--input",
                "{}",
            ])
            .expect(1);
        assert!(bad.stderr.contains("Invalid timezone"), "{}", bad.stderr);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real resources -- --ignored"]
async fn store_items_are_written_checked_and_deleted() {
    for real in Real::all().await {
        let kind = real.kind;
        let label = uuid::Uuid::new_v4().to_string();
        let (namespace, labels) = (
            format!("runtail.{label}"),
            vec!["runtail".to_string(), label.clone()],
        );
        let value = r#"{"n": 1, "deep": {"list": [1, null, "x"]}}"#;
        let done = real
            .runtail(&["store", "put", &namespace, "k", value])
            .expect(0);
        assert_eq!(
            done.json()["value"]["deep"]["list"],
            json!([1, null, "x"]),
            "{kind:?}"
        );
        println!(
            "{kind:?}: {}",
            real.agent.store_item(&labels, "k").await.unwrap()
        );
        let found = real
            .runtail(&["store", "search", &namespace, "--filter", "n=1"])
            .expect(0)
            .json_lines();
        assert_eq!(found.len(), 1, "{kind:?}");
        assert!(
            real.runtail(&["store", "search", &namespace, "--filter", "n=2"])
                .expect(0)
                .json_lines()
                .is_empty(),
            "{kind:?}"
        );
        // Someone else writes between preview and confirmation.
        let put = |value: Value, edited_from: Option<Value>| ResourceIntent::PutItem {
            namespace: labels.clone(),
            key: "k".into(),
            value,
            edited_from,
        };
        let plan = real
            .agent
            .plan_resource(&put(json!({"n": 2}), None))
            .await
            .unwrap();
        real.runtail(&["store", "put", &namespace, "k", r#"{"n": 5}"#])
            .expect(0);
        let error = plan.apply().await.unwrap_err().error;
        assert!(
            error.detail.contains("changed after the preview"),
            "{kind:?}: {error}"
        );
        assert_eq!(
            real.agent.store_item(&labels, "k").await.unwrap()["value"],
            json!({"n": 5}),
            "{kind:?}"
        );
        let stale = real
            .agent
            .plan_resource(&put(json!({"n": 2}), Some(json!({"n": 1}))))
            .await;
        assert!(
            matches!(stale, Err(PlanError::Unfit(_))),
            "{kind:?}: edited from an older value"
        );
        let namespaces = real
            .runtail(&["store", "namespaces", "runtail", "--limit", "1000"])
            .expect(0)
            .json_lines();
        let is_listed = namespaces
            .iter()
            .any(|row| row["namespace"] == json!(labels));
        assert!(
            is_listed || kind == ServerKind::Aegra,
            "{kind:?}: {namespaces:?}"
        );
        real.runtail(&["store", "delete", &namespace, "k", "--yes"])
            .expect(0);
        assert_eq!(
            real.agent.store_item(&labels, "k").await.unwrap(),
            Value::Null,
            "{kind:?}"
        );
        let gone = real
            .runtail(&["store", "delete", &namespace, "k", "--yes"])
            .expect(1);
        assert!(
            gone.stderr.contains("There is no item"),
            "{kind:?}: {}",
            gone.stderr
        );
    }
}
