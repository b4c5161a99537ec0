//! The simulator behaves as the Python server did in the recorded exchanges of `tests/captures/acting/`: the same requests on its
//! own graphs get the same kind of response. Compared are facts and shapes, not ids, times or texts.

mod facts;

use crate::sim::{World, fast, world};
use facts::{Own, differences, facts};
use reqwest::Method;
use runtail_sim::Options;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The exchanges of a file, and what their ids are on the simulator.
struct Replay {
    world: World,
    exchanges: Value,
    thread: String,
    ids: BTreeMap<String, String>,
}

impl Replay {
    async fn new(file: &str, options: Options) -> Self {
        let path = format!(
            "{}/tests/captures/acting/{file}.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).expect("a capture");
        let exchanges = serde_json::from_str(&text).expect("JSON");
        let world = world(options).await;
        let thread = world.thread().await;
        Replay {
            world,
            exchanges,
            thread,
            ids: BTreeMap::new(),
        }
    }

    /// Continues on a new thread, where a run with this input has ended.
    async fn begin(&mut self, graph: &str, input: Value) -> Value {
        self.thread = self.world.thread().await;
        self.ids.clear();
        self.wait(json!({"assistant_id": graph, "input": input}))
            .await
    }

    async fn wait(&self, body: Value) -> Value {
        let response = self
            .world
            .post(&format!("/threads/{}/runs/wait", self.thread), body)
            .await;
        response.json().await.expect("JSON")
    }

    async fn own(&self, part: &str) -> Value {
        self.world
            .json(&format!("/threads/{}{part}", self.thread))
            .await
    }

    fn recorded(&self, name: &str) -> &Value {
        let body = &self.exchanges[name]["body"];
        assert!(!self.exchanges[name].is_null(), "{name} is recorded");
        body
    }

    /// Pairs the checkpoints of a recorded history with those of the thread by age.
    async fn pair(&mut self, name: &str) {
        let own = self.own("/history?limit=100").await;
        let id = |state: &Value| {
            state["checkpoint"]["checkpoint_id"]
                .as_str()
                .expect("an id")
                .to_owned()
        };
        let ids = |list: &Value| {
            list.as_array()
                .expect("a list")
                .iter()
                .rev()
                .map(id)
                .collect::<Vec<_>>()
        };
        let pairs = ids(self.recorded(name))
            .into_iter()
            .zip(ids(&own))
            .collect::<Vec<_>>();
        self.ids.extend(pairs);
    }

    /// Sends a recorded request and checks that the response has the recorded facts.
    async fn send(&mut self, name: &str) -> Value {
        let request = &self.exchanges[name]["request"];
        let path = request["path"]
            .as_str()
            .unwrap_or_else(|| panic!("{name} is recorded"));
        let path: Vec<&str> = path
            .split('/')
            .enumerate()
            .map(|(n, part)| self.path_part(n, part))
            .collect();
        let body = Own(&self.ids).body(&request["body"]);
        let method: Method = request["method"]
            .as_str()
            .expect("a method")
            .parse()
            .expect("a method");
        let mut sent = self
            .world
            .http
            .request(method, format!("{}{}", self.world.agent, path.join("/")));
        if let Some(wish) = request["headers"]["Prefer"].as_str() {
            sent = sent.header("Prefer", wish);
        }
        if !body.is_null() {
            sent = sent
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = sent.send().await.expect("a response");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a clean end");
        let text = text.trim();
        let own = if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(text).unwrap_or_else(|_| json!(text))
        };
        assert_eq!(
            json!(status),
            self.exchanges[name]["status"],
            "{name}: {own}"
        );
        let recorded = self.recorded(name);
        check(name, &own, recorded);
        let saved = |state: &Value| {
            state["checkpoint"]["checkpoint_id"]
                .as_str()
                .map(str::to_owned)
        };
        if let (Some(theirs), Some(ours)) = (saved(recorded), saved(&own)) {
            self.ids.insert(theirs, ours);
        }
        own
    }

    /// A part of a recorded path: `/threads/<thread>/…`, except for paths like `/threads/search`.
    fn path_part<'a>(&'a self, n: usize, part: &'a str) -> &'a str {
        if n == 2 && part.contains('-') {
            &self.thread
        } else {
            part
        }
    }
}

fn check(name: &str, own: &Value, recorded: &Value) {
    let mut found = Vec::new();
    differences(&facts(own), &facts(recorded), "", &mut found);
    assert!(found.is_empty(), "{name}:\n{}\n{own:#}", found.join("\n"));
}

fn ids_of(state: &Value) -> Vec<&str> {
    state["interrupts"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["id"].as_str())
        .collect()
}

#[tokio::test]
async fn forks_make_the_recorded_tree() {
    let mut replay = Replay::new("forks", fast()).await;
    replay.begin("release", json!({"log": ["in"]})).await;
    replay.send("fork-history-0").await;
    replay.pair("fork-history-0").await;
    for name in [
        "fork-null",
        "fork-checkpoint-object",
        "fork-state-update",
        "fork-run-from-edit",
        "fork-new-input",
        "fork-goto",
        "rerun-finished",
    ] {
        replay.send(name).await;
    }
    replay.pair("fork-history").await;
    replay.send("fork-from-end").await;
    replay.send("fork-unknown-checkpoint").await;
    let history = replay.send("fork-history").await;
    let newest = history[0]["checkpoint_id"].as_str().expect("an id");
    assert_eq!(
        replay.own("/state").await["checkpoint_id"],
        newest,
        "the newest checkpoint is the head of the thread"
    );
}

#[tokio::test]
async fn a_poisoned_question_is_only_rescued_by_a_fork() {
    let mut replay = Replay::new("poisoned", fast()).await;
    let input = json!({"messages": [{"role": "user", "content": "go"}]});
    replay.begin("hitl", input.clone()).await;
    let asking = replay.own("/state").await;
    replay.ids.insert(
        "2ec730e44b981f787b8cf110c32714e8".into(),
        ids_of(&asking)[0].to_owned(),
    );
    // All of these were recorded at the checkpoint that asks.
    let asks = asking["checkpoint_id"].as_str().expect("an id");
    for name in ["rescue-by-checkpoint", "rescue-rerun", "studio-rerun-copy"] {
        let theirs = replay.exchanges[name]["request"]["body"]["checkpoint_id"]
            .as_str()
            .expect("an id")
            .to_owned();
        replay.ids.insert(theirs, asks.to_owned());
    }
    for name in [
        "hitl-resume-too-few",
        "hitl-state-after-error",
        "hitl-resume-not-allowed",
        "hitl-resume-after-error",
        "rescue-by-id",
        "rescue-by-checkpoint",
        "rescue-rerun",
    ] {
        replay.send(name).await;
    }
    let again = replay.own("/state").await;
    assert_ne!(
        ids_of(&again),
        ids_of(&asking),
        "the fork asks with a new id"
    );
    assert_eq!(again["parent_checkpoint_id"], asking["checkpoint_id"]);
    assert_eq!(
        (
            &again["metadata"]["source"],
            replay.own("").await["status"].clone()
        ),
        (&json!("fork"), json!("interrupted"))
    );
    replay.send("rescue-rerun-then-resume").await;
    // The way of Studio: a copy of the checkpoint, then a run on it.
    replay.send("studio-rerun-copy").await;
    let copied = replay.send("studio-rerun-run").await;
    assert!(copied["__interrupt__"].is_array());

    replay.begin("hitl", input.clone()).await;
    replay.send("hitl-answered-by-agent-inbox").await;
    replay.begin("hitl", input).await;
    replay.send("hitl-resume-edit-reject-respond").await;
}

#[tokio::test]
async fn answers_that_break_their_schema_can_be_corrected() {
    let mut replay = Replay::new("typed", fast()).await;
    let asked = replay.begin("schema", json!({"log": ["in"]})).await;
    check("int-typed-wait", &asked, replay.recorded("int-typed-wait"));
    replay.send("int-typed-resume-bad").await;
    replay.send("int-typed-state-after-bad").await;
    let good = replay.exchanges["int-typed-resume-good"]["request"]["body"]["command"].clone();
    let answered = replay
        .wait(json!({"assistant_id": "schema", "command": good}))
        .await;
    assert_eq!(
        answered["review"],
        replay.recorded("int-typed-resume-good")["answers"][0]
    );
    assert_eq!(replay.own("").await["status"], "idle");
}

#[tokio::test]
async fn runs_of_another_assistant_hide_the_state() {
    let mut replay = Replay::new("other-assistant", fast()).await;
    replay.begin("approval", json!({})).await;
    let before = replay.own("/state").await;
    replay.send("int-resume-other-assistant").await;
    let thread = replay.own("").await;
    assert_eq!(
        (&thread["status"], &thread["values"], &thread["interrupts"]),
        (&json!("idle"), &json!({"messages": []}), &json!({}))
    );
    replay.send("other-assistant-history").await;
    replay.pair("other-assistant-history").await;
    replay.send("other-assistant-rescue").await;
    let after = replay.own("/state").await;
    assert_eq!(
        (&after["values"], &after["next"]),
        (&before["values"], &before["next"])
    );
    assert_ne!(ids_of(&after), ids_of(&before));
}

#[tokio::test]
async fn answers_have_the_recorded_effects() {
    let mut replay = Replay::new("answers", fast()).await;
    let input = json!({"log": ["in"]});
    let asked = replay.begin("approval", input.clone()).await;
    check(
        "int-approval-wait",
        &asked,
        replay.recorded("int-approval-wait"),
    );
    replay.send("int-approval-thread").await;
    replay.send("int-approval-state").await;
    for name in [
        "int-goto",
        "int-new-input",
        "int-resume-nullvalue",
        "int-resume-update",
    ] {
        replay.begin("approval", json!({})).await;
        replay.send(name).await;
    }

    replay.begin("approval", json!({})).await;
    let asks = replay.own("/state").await["checkpoint_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let theirs =
        replay.exchanges["resume-with-checkpoint-id"]["request"]["body"]["checkpoint_id"].clone();
    replay
        .ids
        .insert(theirs.as_str().expect("an id").to_owned(), asks);
    replay.send("resume-with-checkpoint-id").await;
    replay.send("resume-again-at-old-checkpoint").await;

    replay.begin("approval", json!({})).await;
    let copy = replay.send("thread-copy-interrupted").await;
    replay.thread = copy["thread_id"].as_str().expect("an id").to_owned();
    assert_eq!(
        ids_of(&replay.own("/state").await).len(),
        1,
        "the copy still asks"
    );
    replay.send("thread-copy-resume").await;
}

#[tokio::test]
async fn second_answers_are_queued_without_effect_or_rejected() {
    let mut replay = Replay::new(
        "answers",
        Options {
            speed: 20.0,
            ..Options::default()
        },
    )
    .await;
    for (name, status) in [
        ("double-resume-second-by-id", Some("success")),
        ("double-resume-reject", None),
    ] {
        replay.begin("approval", json!({})).await;
        let asked = replay.own("/state").await;
        replay.ids.insert(
            "85f06004e9d7fc44a5b288939301f0ef".into(),
            ids_of(&asked)[0].to_owned(),
        );
        let first = json!({"assistant_id": "approval", "command": {"resume": "first"}});
        let first: Value = replay
            .world
            .post(&format!("/threads/{}/runs", replay.thread), first)
            .await
            .json()
            .await
            .expect("JSON");
        let second = replay.send(name).await;
        let run = if status.is_some() { &second } else { &first }["run_id"]
            .as_str()
            .expect("an id");
        replay.own(&format!("/runs/{run}/join")).await;
        let run = replay.own(&format!("/runs/{run}")).await;
        assert_eq!(run["status"], status.unwrap_or("success"));
        assert_eq!(replay.own("/state").await["values"]["decision"], "first");
    }
}

#[tokio::test]
async fn edits_make_the_recorded_checkpoints() {
    let mut replay = Replay::new("edits", fast()).await;
    replay.begin("approval", json!({"log": ["in"]})).await;
    for name in [
        "state-as-draft",
        "state-bad-key",
        "state-as-start",
        "state-as-copy",
        "state-as-end",
        "state-values-list",
        "state-bad-node",
        "state-null",
        "state-supersteps",
    ] {
        let own = replay.send(name).await;
        // The fourth group of an id holds a step.
        let step = |state: &Value| {
            state["checkpoint_id"]
                .as_str()
                .map(|id| id[19..23].to_owned())
        };
        assert_eq!(step(&own), step(replay.recorded(name)), "{name}");
        assert!(
            !replay.own("/state").await["values"]
                .to_string()
                .contains("nokey"),
            "unknown keys are ignored"
        );
    }

    replay.begin("approval", json!({})).await;
    replay.send("state-no-as-node").await;
    let edited = replay.own("").await;
    assert_eq!(
        (&edited["status"], &edited["interrupts"]),
        (&json!("interrupted"), &json!({}))
    );
    assert_eq!(
        ids_of(&replay.own("/state").await),
        [""; 0],
        "the question is gone"
    );
    replay.send("state-edit-then-resume").await;

    let fresh = json!({"metadata": {"graph_id": "approval"}});
    let fresh: Value = replay
        .world
        .post("/threads", fresh)
        .await
        .json()
        .await
        .expect("JSON");
    replay.thread = fresh["thread_id"].as_str().expect("an id").to_owned();
    replay.send("state-fresh-thread-with-graph").await;
    replay.send("thread-create-supersteps").await;
}

#[tokio::test]
async fn agent_inbox_answers_have_the_recorded_effects() {
    let mut replay = Replay::new("mailer", fast()).await;
    for (name, status, log) in [
        ("inbox-mark-resolved", "interrupted", "wrote the draft"),
        ("inbox-ignore-state", "idle", "wrote the draft"),
        ("inbox-resume-accept", "idle", "sent to ann@acme.example"),
        ("inbox-resume-edit", "idle", "sent to bob@example.com"),
        ("inbox-resume-response", "idle", "not sent: be nicer"),
        ("inbox-resume-ignore", "idle", "not sent"),
    ] {
        replay.begin("mailer", json!({})).await;
        replay.send(name).await;
        let thread = replay.own("").await;
        let last = thread["values"]["log"]
            .as_array()
            .and_then(|log| log.last())
            .expect("a log");
        assert_eq!(
            (&thread["status"], last),
            (&json!(status), &json!(log)),
            "{name}"
        );
    }
    replay.begin("mailer", json!({})).await;
    let wrong = replay
        .wait(json!({"assistant_id": "mailer", "command": {"resume": {"type": "accept"}}}))
        .await;
    assert_eq!(wrong["__error__"]["error"], "KeyError");
    let again = replay
        .wait(json!({"assistant_id": "mailer", "command": {"resume": [{"type": "accept"}]}}))
        .await;
    assert_eq!(
        again["__error__"]["error"], "KeyError",
        "the wrong answer was kept"
    );
}

#[tokio::test]
async fn invalid_requests_are_refused_as_recorded() {
    let mut replay = Replay::new("refused", fast()).await;
    let names: Vec<String> = replay
        .exchanges
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    for name in names {
        replay.send(&name).await;
    }
}
