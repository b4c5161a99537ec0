//! Finding threads and acting on several, against all real servers, with the servers' own records before and after.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real find -- --ignored`.

use crate::servers::Real;
use runtail_api::{Kind, ServerKind};
use runtail_testkit::server::text;
use serde_json::{Value, json};

impl Real {
    /// Creates a thread of this test.
    async fn marked(&self, metadata: Value) -> String {
        let mut metadata = metadata;
        metadata["find_test"] = self.mark.as_str().into();
        self.agent
            .create_thread(&json!({ "metadata": metadata }))
            .await
            .unwrap()
            .thread_id
    }

    fn found(&self, query: &str) -> Vec<String> {
        let query = format!("meta.find_test={} {query}", self.mark);
        let rows = self
            .runtail(format!("threads search '{query}' -o jsonl"))
            .expect(0)
            .json_lines();
        let mut ids: Vec<String> = rows.iter().map(|row| text(row, "thread_id")).collect();
        ids.sort();
        ids
    }

    async fn is_gone(&self, thread: &str) -> bool {
        self.agent
            .thread(thread)
            .await
            .is_err_and(|error| error.kind == Kind::NotFound)
    }
}

fn sorted(ids: &[&String]) -> Vec<String> {
    let mut ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
    ids.sort();
    ids
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real find -- --ignored"]
async fn searches_find_the_same_threads_on_every_server() {
    for real in Real::all().await {
        let plain = real
            .marked(json!({"user": 42, "order": {"id": 7, "lines": 2}}))
            .await;
        let other = real.marked(json!({"user": "42"})).await;
        let ran = real.marked(json!({"user": 43})).await;
        real.runtail(format!(r#"run agent --thread '{ran}' --input '{{"messages":[{{"role":"user","content":"Where is it?"}}]}}'"#))
        .expect(0);
        let what = format!("{:?}", real.kind);
        assert_eq!(real.found(""), sorted(&[&plain, &other, &ran]), "{what}");
        assert_eq!(real.found("meta.user=42"), sorted(&[&plain]), "{what}");
        assert_eq!(real.found(r#"meta.user="42""#), sorted(&[&other]), "{what}");
        assert_eq!(real.found("meta.order.id=7"), sorted(&[&plain]), "{what}");
        assert_eq!(
            real.found("graph:agent status:idle"),
            sorted(&[&ran]),
            "{what}"
        );
        assert_eq!(
            real.found("age<1h"),
            sorted(&[&plain, &other, &ran]),
            "{what}"
        );
        assert_eq!(real.found("age>1h"), Vec::<String>::new(), "{what}");
        assert_eq!(
            real.found(&format!("id:{plain}")),
            sorted(&[&plain]),
            "{what}"
        );
        // Ids that are made in the same millisecond begin with the same characters.
        assert_eq!(
            real.found(&format!("id:{}", &plain[..32])),
            sorted(&[&plain]),
            "{what}"
        );
        assert_eq!(
            real.found("sort:created"),
            sorted(&[&plain, &other, &ran]),
            "{what}"
        );
        if real.kind == ServerKind::Python {
            assert_eq!(
                real.found("\"Where is\""),
                sorted(&[&ran]),
                "the first message is found"
            );
        }
        let count = real
            .runtail(&[
                "threads",
                "count",
                &format!("meta.find_test={} age<1h", real.mark),
            ])
            .expect(0)
            .json();
        assert_eq!(
            (&count["count"], &count["complete"]),
            (&json!(3), &json!(true)),
            "{what}"
        );
        let count = real
            .runtail(&["threads", "count", &format!("meta.find_test={}", real.mark)])
            .expect(0)
            .json();
        assert_eq!(count["count"], 3, "{what}");
        for thread in [&plain, &other, &ran] {
            real.agent.delete_thread(thread).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real find -- --ignored"]
async fn values_are_found_where_the_server_shows_them() {
    for real in Real::all().await {
        let empty = real.marked(json!({})).await;
        let ran = real.marked(json!({})).await;
        let asking = real.runtail(format!(
            r#"run approval --thread '{ran}' --input '{{"amount": 4711}}'"#
        ));
        asking.expect(0);
        let what = format!("{:?}", real.kind);
        match real.kind {
            ServerKind::Aegra => {
                let query = format!("meta.find_test={} values.amount=4711", real.mark);
                real.runtail(format!("threads search '{query}'"))
                    .expect(0)
                    .says("2 threads can't be checked");
                real.runtail(format!("threads delete --search '{query}' --yes"))
                    .expect(1)
                    .says("Nothing was sent");
            }
            _ => {
                assert_eq!(real.found("values.amount=4711"), sorted(&[&ran]), "{what}");
                assert_eq!(
                    real.found("values.amount=4712"),
                    Vec::<String>::new(),
                    "{what}"
                );
            }
        }
        assert!(
            !real.is_gone(&empty).await && !real.is_gone(&ran).await,
            "{what}"
        );
        for thread in [&empty, &ran] {
            real.agent.delete_thread(thread).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real find -- --ignored"]
async fn found_threads_are_pruned_and_deleted_once_and_others_stay() {
    for real in Real::all().await {
        let what = format!("{:?}", real.kind);
        let stays = real.marked(json!({"keep": true})).await;
        let (first, second) = (
            real.marked(json!({"keep": false})).await,
            real.marked(json!({"keep": false})).await,
        );
        let query = format!("meta.find_test={} meta.keep=false", real.mark);
        let planned = real
            .runtail(format!(
                "threads prune --search '{query}' --dry-run -o jsonl"
            ))
            .expect(0);
        let statuses: Vec<Value> = planned
            .json_lines()
            .iter()
            .map(|row| row["status"].clone())
            .collect();
        assert_eq!(statuses, ["planned", "planned"], "{what}");
        assert!(
            !real.is_gone(&first).await && !real.is_gone(&second).await,
            "{what}: a dry run deletes nothing"
        );
        real.runtail(format!("threads prune --search '{query}'"))
            .expect(2);
        assert!(!real.is_gone(&first).await, "{what}: not confirmed");
        let done = real
            .runtail(format!("threads prune --search '{query}' --yes -o jsonl"))
            .expect(0)
            .json_lines();
        assert!(
            done.iter().all(|row| row["status"] == "deleted") && done.len() == 2,
            "{what}: {done:?}"
        );
        assert!(
            real.is_gone(&first).await && real.is_gone(&second).await,
            "{what}"
        );
        assert!(!real.is_gone(&stays).await, "{what}");

        // A running thread is not pruned; deleting it cancels its run first.
        let busy = real.marked(json!({})).await;
        let body = serde_json::from_value(
            json!({"assistant_id": "slow", "input": {"seconds": 120}, "on_disconnect": "continue"}),
        )
        .unwrap();
        let started = real.agent.start_run(Some(&busy), &body).await.unwrap();
        drop(started);
        let refused = real
            .runtail(format!("threads prune '{busy}' --yes -o jsonl"))
            .expect(1)
            .json();
        assert_eq!(refused["status"], "refused", "{what}: {refused}");
        assert!(!real.is_gone(&busy).await, "{what}");
        let missing = "00000000-0000-4000-8000-000000000000";
        let rows = real
            .runtail(format!(
                "threads delete '{busy}' '{missing}' --yes -o jsonl"
            ))
            .expect(1)
            .json_lines();
        let statuses: Vec<&Value> = rows.iter().map(|row| &row["status"]).collect();
        assert_eq!(statuses, ["deleted", "not_found"], "{what}");
        assert!(real.is_gone(&busy).await, "{what}");
        real.agent.delete_thread(&stays).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real find -- --ignored"]
async fn failed_threads_are_retried_and_active_runs_are_cancelled() {
    for real in Real::all().await {
        let what = format!("{:?}", real.kind);
        let failed = real.marked(json!({})).await;
        real.runtail(format!("run broken --thread '{failed}' --input {{}}"));
        let idle = real.marked(json!({})).await;
        let runs = real.agent.runs(&failed, 10).await.unwrap().items.len();
        let rows = real
            .runtail(format!("threads retry '{failed}' '{idle}' --yes -o jsonl"))
            .expect(1)
            .json_lines();
        let statuses: Vec<&Value> = rows.iter().map(|row| &row["status"]).collect();
        assert_eq!(statuses, ["started", "refused"], "{what}: {rows:?}");
        assert_eq!(
            real.agent.runs(&failed, 10).await.unwrap().items.len(),
            runs + 1,
            "{what}: one run was started"
        );
        assert!(
            real.agent.runs(&idle, 10).await.unwrap().items.is_empty(),
            "{what}"
        );
        let busy = real.marked(json!({})).await;
        let body = serde_json::from_value(
            json!({"assistant_id": "slow", "input": {"seconds": 120}, "on_disconnect": "continue"}),
        )
        .unwrap();
        drop(real.agent.start_run(Some(&busy), &body).await.unwrap());
        let rows = real
            .runtail(format!("threads cancel '{busy}' '{idle}' --yes -o jsonl"))
            .expect(0)
            .json_lines();
        assert!(
            ["stopped", "stopping"].contains(&rows[0]["status"].as_str().unwrap()),
            "{what}: {rows:?}"
        );
        assert_eq!(rows[1]["status"], "nothing_to_do", "{what}");
        for thread in [&failed, &idle, &busy] {
            real.runtail(format!("threads delete {thread} --yes"))
                .expect(0);
        }
    }
}
