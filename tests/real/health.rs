//! What all real servers report about their health, their queue and the breakpoints of their runs.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real health -- --ignored`.

use crate::servers::Real;
use runtail_api::ServerKind;
use runtail_core::model::RunCreate;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real health -- --ignored"]
async fn every_server_is_healthy_and_python_reports_its_queue() {
    for Real { agent, kind, .. } in Real::all().await {
        // The second time, calls that the server lacks are left out.
        for _ in 0..2 {
            let health = agent.health().await.unwrap();
            assert_eq!(health.is_healthy, Some(true), "{kind:?}");
            assert_eq!(
                health.load.is_some(),
                kind == ServerKind::Python,
                "{kind:?}"
            );
            if let Some(load) = health.load {
                assert!(
                    load.pending.is_some() && load.running.is_some() && load.workers.is_some(),
                    "{load:?}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the real servers: tests/real/serve -- cargo test --test real health -- --ignored"]
async fn runs_stop_at_breakpoints_which_their_records_have_except_on_aegra() {
    for real in Real::all().await {
        let assistant = real.assistant("agent").await;
        let Real { agent, kind, .. } = real;
        let thread = agent.create_thread(&json!({})).await.unwrap().thread_id;
        let body: RunCreate = serde_json::from_value(json!({
            "assistant_id": assistant, "interrupt_before": ["tools"],
            "input": {"messages": [{"role": "user", "content": "weather in Paris?"}]},
        }))
        .unwrap();
        let run = agent.create_run(&thread, &body).await.unwrap();
        let row = loop {
            let row = agent.run_row(&thread, &run.run_id).await.unwrap();
            if !matches!(row["status"].as_str(), Some("pending" | "running")) {
                break row;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        let next = agent.thread_state(&thread).await.unwrap()["next"].clone();
        let recorded = if kind.is_aegra() {
            Value::Null
        } else {
            json!(["tools"])
        };
        assert_eq!(
            (&row["kwargs"]["interrupt_before"], &next),
            (&recorded, &json!(["tools"])),
            "{kind:?}: {row}"
        );
    }
}
