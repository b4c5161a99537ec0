//! Runs composed on real servers: forms from their schemas, earlier inputs, options, and strategies that end other runs.
//!
//! Ignored without them: `tests/real/serve -- cargo test --test real compose -- --ignored`.

use crate::servers::Real;
use runtail_api::{RunStart, ServerKind, StartFailure, StartGuard};
use runtail_core::model::{Conflict, FieldKind, Form, RunOptions};
use runtail_testkit::term::Term;
use serde_json::{Value, json};
use std::time::Duration;

impl Real {
    async fn thread(&self) -> String {
        self.agent
            .create_thread(&json!({}))
            .await
            .unwrap()
            .thread_id
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            modes: vec!["values".into()],
            conflict: Some(Conflict::Enqueue),
            ..RunOptions::default()
        }
    }

    /// Starts a run and returns its id.
    async fn start(&self, thread: &str, options: &RunOptions, graph: &str, input: Value) -> String {
        let body = options.body(&self.assistant(graph).await, Some(input));
        let start = RunStart {
            thread: thread.into(),
            body,
            guard: StartGuard::None,
        };
        self.agent.start_on_thread(&start).await.unwrap().run_id
    }

    async fn ended(&self, thread: &str, run: &str) -> String {
        for _ in 0..600 {
            match self.agent.run(thread, run).await {
                Ok(run) if run.is_active() => tokio::time::sleep(Duration::from_millis(100)).await,
                Ok(run) => return run.status,
                Err(error) if error.kind == runtail_api::Kind::NotFound => return "deleted".into(),
                Err(error) => panic!("{error:?}"),
            }
        }
        panic!("run {run} does not end");
    }

    pub async fn running(&self, thread: &str, run: &str) {
        for _ in 0..600 {
            if self.agent.run(thread, run).await.unwrap().status == "running" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("run {run} does not begin");
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real compose -- --ignored"]
async fn schemas_become_forms_where_the_server_has_them() {
    for real in Real::all().await {
        let slow = real
            .agent
            .graph_facts(&real.assistant("slow").await)
            .await
            .unwrap();
        assert!(
            slow.nodes.is_some_and(|nodes| !nodes.is_empty()),
            "{:?}",
            real.kind
        );
        let Some(schema) = slow.input_schema else {
            assert_eq!(real.kind, ServerKind::JavaScript);
            continue;
        };
        let form = Form::of_input(&schema).unwrap();
        let seconds = form
            .fields
            .iter()
            .find(|field| field.name == "seconds")
            .unwrap();
        assert_eq!(seconds.kind, FieldKind::Number, "{:?}", real.kind);
        let chat = real
            .agent
            .graph_facts(&real.assistant("agent").await)
            .await
            .unwrap();
        let form = Form::of_input(&chat.input_schema.unwrap()).unwrap();
        assert_eq!(
            (form.fields[0].name.as_str(), &form.fields[0].kind),
            ("messages", &FieldKind::Message)
        );
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real compose -- --ignored"]
async fn earlier_inputs_are_read_from_the_servers_records() {
    for real in Real::all().await {
        let (thread, assistant) = (real.thread().await, real.assistant("slow").await);
        for seconds in [0.125, 0.25] {
            let run = real
                .start(
                    &thread,
                    &real.options(),
                    "slow",
                    json!({"seconds": seconds}),
                )
                .await;
            real.ended(&thread, &run).await;
        }
        let inputs = real
            .agent
            .past_inputs(&assistant, Some(&thread))
            .await
            .unwrap();
        let own: Vec<&Value> = inputs
            .iter()
            .filter(|past| past.thread_id == thread)
            .map(|past| &past.input)
            .collect();
        assert_eq!(
            own,
            [&json!({"seconds": 0.25}), &json!({"seconds": 0.125})],
            "{:?}",
            real.kind
        );
        // Also without naming the thread.
        let inputs = real.agent.past_inputs(&assistant, None).await.unwrap();
        assert!(
            inputs
                .iter()
                .any(|past| past.input == json!({"seconds": 0.25})),
            "{:?}: {inputs:?}",
            real.kind
        );
        real.delete(&thread).await;
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real compose -- --ignored"]
async fn options_take_effect() {
    for real in Real::all().await {
        let thread = real.thread().await;
        let facts = real
            .agent
            .graph_facts(&real.assistant("slow").await)
            .await
            .unwrap();
        let node = facts.nodes.unwrap()[0].clone();
        let options = RunOptions {
            before: vec![node.clone()],
            recursion_limit: Some(7),
            metadata: Some(json!({"composed": true})),
            ..real.options()
        };
        let run = real
            .start(&thread, &options, "slow", json!({"seconds": 0}))
            .await;
        real.ended(&thread, &run).await;
        let state = real.agent.thread_state(&thread).await.unwrap();
        assert_eq!(state["next"], json!([node]), "{:?}: {state}", real.kind);
        let done = real.runtail(format!(
            "run slow --input {{}} --break-before {node} --thread {thread}"
        ));
        assert!(
            !done.stderr.contains("ignores breakpoints"),
            "{}",
            done.stderr
        );
        real.delete(&thread).await;
    }
}

#[tokio::test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real compose -- --ignored"]
async fn a_deleted_assistant_is_named_as_the_cause() {
    for real in Real::all().await {
        let thread = real.thread().await;
        let body = real.options().body(
            "5b1f8f34-0000-4000-8000-000000000000",
            Some(json!({"seconds": 0})),
        );
        let start = RunStart {
            thread: thread.clone(),
            body,
            guard: StartGuard::None,
        };
        let failed = real.agent.start_on_thread(&start).await.unwrap_err();
        assert_eq!(
            failed.failure,
            StartFailure::Refused,
            "{:?}: {failed:?}",
            real.kind
        );
        let story = failed.error.story();
        assert!(
            story.to_lowercase().contains("assistant"),
            "{:?}: {story}",
            real.kind
        );
        real.delete(&thread).await;
    }
}

/// A run composed in the dashboard, as a form where the server has schemas, as JSON elsewhere.
#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real compose -- --ignored"]
fn a_form_is_filled_in_and_started() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for real in runtime.block_on(Real::all()) {
        let mut term = Term::spawn(&["--url", &real.url], 140, 40);
        term.wait_for("   2 Assistants ");
        term.compose("slow");
        match real.kind {
            ServerKind::JavaScript => {
                term.wait_for("no form: no schema");
                // To the end, then delete everything before it.
                term.keys("\x1b[1;5F");
                term.keys(&"\x15\x7f".repeat(20));
                term.keys("{\"seconds\": 0.53}");
            }
            _ => {
                term.wait_until("the form", |term| term.screen().contains("(x) form"));
                term.keys("0.53");
                term.wait_for("[ 0.53 ");
            }
        }
        term.wait_for("Ready. Starts a run on a new thread.");
        term.keys("\x13");
        term.wait_for("● idle · last run finished ");
        term.keys("\x03");
        assert_eq!(term.exit_status().exit_code(), 0);
        let assistant = runtime.block_on(real.assistant("slow"));
        let inputs = runtime
            .block_on(real.agent.past_inputs(&assistant, None))
            .unwrap();
        // Other tests start runs of this graph at the same time.
        let own = inputs
            .iter()
            .find(|past| past.input == json!({"seconds": 0.53}));
        let own = own.unwrap_or_else(|| panic!("{:?}: {inputs:?}", real.kind));
        runtime.block_on(real.delete(&own.thread_id));
    }
}
