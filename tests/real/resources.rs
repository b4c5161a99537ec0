//! Assistants, crons and the store on all real servers, with the servers' own records before and after.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real resources -- --ignored`.

use crate::servers::Real;
use runtail_api::ServerKind;
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
            .runtail(format!("assistants versions {id}"))
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
            .runtail(format!("assistants diff {id} 1 2"))
            .expect(0)
            .json_lines();
        assert!(
            changes
                .iter()
                .any(|row| row["path"] == "context.model" && row["after"] == "small"),
            "{kind:?}: {changes:?}"
        );
        real.runtail(format!("assistants restore {id} 1 --dry-run"))
            .expect(0);
        assert_eq!(
            real.agent.assistant_row(&id).await.unwrap(),
            before,
            "{kind:?}: a dry run changes nothing"
        );
        let done = real
            .runtail(format!("assistants restore {id} 1 --yes"))
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
        real.runtail(format!("assistants restore {id} 9 --yes"))
            .expect(1)
            .says("There is no version 9");
        real.delete_assistant(&id).await;
        real.runtail(format!("assistants restore {id} 1 --yes"))
            .expect(1)
            .says("there is no assistant");
    }
}
