//! `fork`, `state set` and `rerun` against the simulator, and against servers that refuse. `tests/real/forks.rs` has the real ones.

mod editor;
mod refusals;

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::process::{Args, Done, run_at};
use runtail_testkit::server::text;
use serde_json::{Value, json};

/// The simulator, and its requests.
pub(crate) struct World {
    pub sim: Sim,
    pub url: String,
    http: reqwest::Client,
}

impl World {
    pub async fn start(scenario: Scenario, speed: f64) -> World {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let sim = Sim::start(Options {
            speed,
            scenario,
            ..Options::default()
        })
        .await
        .expect("servers on loopback");
        let http = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("a client");
        let url = sim.agents()[0].url.trim_end_matches('/').to_string();
        World { sim, url, http }
    }

    pub async fn post(&self, path: &str, body: Value) -> Value {
        self.send(reqwest::Method::POST, path, body).await
    }

    pub async fn send(&self, method: reqwest::Method, path: &str, body: Value) -> Value {
        let request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await;
        let text = response.expect("a response").text().await.expect("a body");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    pub async fn get(&self, path: &str) -> Value {
        self.http
            .get(format!("{}{path}", self.url))
            .send()
            .await
            .expect("a response")
            .json()
            .await
            .expect("JSON")
    }

    pub async fn thread(&self) -> String {
        self.post("/threads", json!({})).await["thread_id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    /// Returns a thread on which a graph ran until it stopped.
    pub async fn ran(&self, graph: &str, input: Value) -> String {
        let thread = self.thread().await;
        let body = json!({"assistant_id": graph, "input": input, "stream_mode": ["values"], "on_disconnect": "continue"});
        self.post(&format!("/threads/{thread}/runs/stream"), body)
            .await;
        thread
    }

    /// Returns a thread on which `release` is finished: build, test, release.
    async fn released(&self) -> String {
        self.ran("release", json!({"log": [], "seconds": 0})).await
    }

    pub async fn history(&self, thread: &str) -> Vec<Value> {
        self.get(&format!("/threads/{thread}/history?limit=100"))
            .await
            .as_array()
            .expect("states")
            .clone()
    }

    /// Returns the id of the newest checkpoint at which a node is next.
    async fn before(&self, thread: &str, node: &str) -> String {
        let states = self.history(thread).await;
        let state = states
            .iter()
            .find(|state| state["next"] == json!([node]))
            .expect("a checkpoint");
        id(state)
    }

    pub async fn runs(&self, thread: &str) -> Vec<Value> {
        self.get(&format!("/threads/{thread}/runs?limit=50"))
            .await
            .as_array()
            .expect("runs")
            .clone()
    }

    async fn log(&self, thread: &str) -> Value {
        self.get(&format!("/threads/{thread}/state")).await["values"]["log"].clone()
    }

    /// Returns everything that a write could change.
    pub async fn records(&self, thread: &str) -> Value {
        json!([
            self.get(&format!("/threads/{thread}")).await,
            self.history(thread).await,
            self.runs(thread).await
        ])
    }

    pub fn runtail(&self, args: impl Args) -> Done {
        run_at(&self.url, args)
    }
}

fn id(state: &Value) -> String {
    text(&state["checkpoint"], "checkpoint_id")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_of_a_checkpoint_run_again() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.released().await;
    let checkpoint = world.before(&thread, "test").await;
    let args = format!("fork {thread} --checkpoint {checkpoint}");
    let branch = &world
        .runtail(format!("{args} --dry-run -o json"))
        .expect(0)
        .json()["branch"];
    assert_eq!(
        (&branch["step"], &branch["writers"], &branch["is_newest"]),
        (&json!(1), &json!(["build"]), &json!(false))
    );
    let run = &world.runs(&thread).await[0]["run_id"];
    let steps = json!([
        {"kind": "runs_again", "nodes": ["test"], "certain": true, "run_id": null, "detail": ""},
        {"kind": "then_likely", "nodes": ["release"], "certain": false, "run_id": run,
         "detail": "models and conditions may choose differently"},
        {"kind": "skipped", "nodes": ["input", "build"], "certain": false, "run_id": null,
         "detail": "steps -1 to 1 are reused"},
    ]);
    assert_eq!(branch["steps"], steps);
    let done = world.runtail(format!("{args} --wait")).expect(0);
    let row = done.json();
    assert_eq!(
        (&row["outcome"], &row["checkpoint_id"]),
        (&json!("success"), &json!(checkpoint))
    );
    for says in [
        "Runs again   test          certain",
        "Then likely  release       as in run ",
        "Skipped      input, build",
        "A new branch starts here; the current branch stays in history.",
        "external effects happen twice",
    ] {
        done.says(says);
    }
    assert_eq!(
        world.log(&thread).await,
        json!(["build", "test", "release"])
    );
    let states = world.history(&thread).await;
    let children = states
        .iter()
        .filter(|state| state["parent_checkpoint"]["checkpoint_id"] == *checkpoint);
    assert_eq!(children.count(), 2, "the branch that ran, and the new one");
    assert_eq!(world.runs(&thread).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn previews_say_what_happens_to_given_answers() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.ran("two", json!({})).await;
    let questions = |record: &Value| {
        let all = record["interrupts"]
            .as_object()
            .into_iter()
            .flatten()
            .flat_map(|(_, asked)| asked.as_array());
        let mut all: Vec<(String, String)> = all
            .flatten()
            .map(|asked| {
                (
                    asked["value"]["side"].to_string(),
                    asked["id"].as_str().unwrap_or_default().to_owned(),
                )
            })
            .collect();
        all.sort();
        all
    };
    let path = format!("/threads/{thread}");
    let asked = questions(&world.get(&path).await);
    assert_eq!(asked.len(), 2, "{asked:?}");
    let ((_, left), (_, right)) = (&asked[0], &asked[1]);
    world
        .runtail(format!(
            "answer {thread} --interrupt {left} --text L --wait"
        ))
        .expect(0);
    let done = world.runtail(format!("fork {thread} --wait")).expect(0);
    let says = "The answer given to left is lost: its question is asked again.";
    done.says(says).says("Runs again  left");
    let open = questions(&world.get(&path).await);
    assert!(
        open.len() == 2 && open.iter().all(|(_, id)| id != left && id != right),
        "{open:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_input_begins_at_a_checkpoint() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.released().await;
    let checkpoint = world.before(&thread, "test").await;
    let input = r#"{"log": ["again"]}"#;
    let done = world
        .runtail(format!(
            "fork {thread} --checkpoint {checkpoint} --input '{input}' --wait"
        ))
        .expect(0);
    assert_eq!(done.json()["checkpoint_id"], json!(checkpoint));
    done.says("Next: build.");
    assert_eq!(
        world.log(&thread).await,
        json!(["build", "again", "build", "test", "release"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_sent_before_its_run() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.released().await;
    let checkpoint = world.before(&thread, "test").await;
    let update = ["--update", r#"{"log": ["edited"]}"#, "--as-node", "build"];
    let args = [
        &["fork", &thread, "--checkpoint", &checkpoint],
        update.as_slice(),
    ]
    .concat();
    let before = world.records(&thread).await;
    let preview = world
        .runtail(&[args.as_slice(), &["--dry-run", "-o", "json"]].concat())
        .expect(0)
        .json();
    assert_eq!(
        world.records(&thread).await,
        before,
        "a dry run sends nothing"
    );
    let (first, second) = (&preview["request"], &preview["then"]);
    let body =
        json!({"values": {"log": ["edited"]}, "as_node": "build", "checkpoint_id": checkpoint});
    assert_eq!(first["body"], body);
    assert!(
        first["url"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/threads/{thread}/state"))
    );
    assert_eq!(
        (&second["body"]["checkpoint_id"], &second["body"]["input"]),
        (&json!("(from 1)"), &Value::Null)
    );
    assert!(
        second["url"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/threads/{thread}/runs"))
    );
    assert_eq!(preview["changes"][0]["path"], "log");
    assert_eq!(preview["changes"][0]["before"], json!(["build"]));
    let done = world
        .runtail(&[args.as_slice(), &["--wait"]].concat())
        .expect(0);
    let row = done.json();
    done.says("Next: test.")
        .says("reducers apply the edit on the server");
    assert_eq!(
        world.log(&thread).await,
        json!(["build", "edited", "test", "release"])
    );
    let states = world.history(&thread).await;
    let edited = states
        .iter()
        .find(|state| id(state) == row["checkpoint_id"])
        .expect("the new checkpoint");
    assert_eq!(edited["metadata"]["source"], "update");
    assert_eq!(
        edited["parent_checkpoint"]["checkpoint_id"],
        json!(checkpoint)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_reads_no_state_is_named() {
    let world = World::start(Scenario::Contract, 1000.0).await;
    let thread = world.released().await;
    for args in [
        format!("fork {thread}"),
        format!("fork {thread} --input {{}}"),
        format!(r#"state set {thread} --values '{{"log": []}}'"#),
    ] {
        world
            .runtail(&*args)
            .expect(1)
            .says("has no call that reads a thread's state");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_runs_of_a_read_only_profile_send_nothing() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.released().await;
    let run = world.runs(&thread).await[0]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let checkpoint = world.before(&thread, "test").await;
    let before = world.records(&thread).await;
    for args in [
        &format!(r#"fork {thread} --checkpoint {checkpoint} --input '{{"log": []}}'"#),
        &format!(r#"state set {thread} --values '{{"log": ["x"]}}'"#),
        &format!("rerun {thread} {run}"),
    ] {
        let done = world
            .runtail(format!("{args} --read-only --dry-run"))
            .expect(0);
        assert_eq!(done.json()["kind"], "preview", "{args:?}");
    }
    assert_eq!(world.records(&thread).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_checkpoints_keys_and_nodes_are_refused() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world.released().await;
    let checkpoint = world.before(&thread, "test").await;
    let end = id(&world.history(&thread).await[0]);
    let before = world.records(&thread).await;
    let set = |rest: &str| format!("state set {thread} {rest}");
    let other = "1f1e0000-0000-6000-8000-000000000000";
    let cases = [
        (
            1,
            format!("fork {thread} --checkpoint {other} --input {{}}"),
            "has no checkpoint 1f1e0000",
        ),
        (
            1,
            format!("fork {thread} --checkpoint nope --input {{}}"),
            "has no checkpoint nope",
        ),
        (
            1,
            set(&format!(r#"--values '{{"log": []}}' --checkpoint {other}"#)),
            "has no checkpoint",
        ),
        (
            2,
            set(r#"--values '{"logs": [], "log": []}'"#),
            "the state has no key logs, and the server would ignore it",
        ),
        (
            2,
            set(r#"--values '{"log": []}' --as-node tests"#),
            "the graph has no node tests; it has build, test",
        ),
        (
            2,
            set("--values [1]"),
            "an edit is an object of the keys to write, not a list",
        ),
        (2, set("--values {}"), "the edit has no keys"),
        (2, set("--values {bad"), "--values is not JSON"),
        (
            1,
            set("--values null"),
            "The thread is idle, so there is nothing to release.",
        ),
        (2, format!("fork {thread} --as-node build"), "--update"),
        (
            2,
            format!("fork {thread} --update {{}} --input {{}}"),
            "cannot be used with",
        ),
        (1, format!("rerun {thread} {other}"), "has no run"),
        (
            1,
            format!("fork {thread}"),
            "Nothing would run: no node is next at step 3",
        ),
        (
            1,
            format!("fork {thread} --checkpoint {end}"),
            "Choose an earlier checkpoint",
        ),
        (
            1,
            format!(r#"fork {thread} --update '{{"log": []}}'"#),
            "Name the node in whose name to edit",
        ),
        (
            2,
            format!(r#"fork {thread} --checkpoint {checkpoint} --update '{{"logs": []}}'"#),
            "the state has no key logs",
        ),
    ];
    for (code, args, says) in cases {
        let done = world.runtail(args).expect(code);
        done.says(says);
        assert!(done.stdout.is_empty(), "{}", done.stderr);
    }
    assert_eq!(world.records(&thread).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_is_edited_without_a_run() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world
        .ran("approval", json!({"amount": 5, "to": "Ana"}))
        .await;
    let done = world
        .runtail(format!(
            r#"state set {thread} --values '{{"draft": "send 6 EUR"}}'"#
        ))
        .expect(0);
    done.says("draft: send 5 EUR to Ana → send 6 EUR");
    done.says("The open question is closed by the edit, and asked again when the thread continues: Approve this payment?");
    let state = world.get(&format!("/threads/{thread}/state")).await;
    assert_eq!(
        (&state["values"]["draft"], &state["next"]),
        (&json!("send 6 EUR"), &json!(["ask"]))
    );
    assert_eq!(done.json()["checkpoint_id"], json!(id(&state)));
    // An older checkpoint, in the name of another node.
    let first = world.before(&thread, "draft").await;
    let args = format!(
        r#"state set {thread} --values '{{"draft": "none"}}' --as-node ask --checkpoint {first}"#
    );
    world
        .runtail(args)
        .expect(0)
        .says("Counts as a write of ask. Next: act.");
    let state = world.get(&format!("/threads/{thread}/state")).await;
    assert_eq!(
        (&state["values"]["draft"], &state["next"]),
        (&json!("none"), &json!(["act"]))
    );
    assert_eq!(state["parent_checkpoint"]["checkpoint_id"], json!(first));
    assert_eq!(world.runs(&thread).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_thread_is_ended_and_asked_again() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world
        .ran("approval", json!({"amount": 5, "to": "Ana"}))
        .await;
    let asking = id(&world.get(&format!("/threads/{thread}/state")).await);
    let done = world
        .runtail(format!(
            "state set {thread} --values null --as-node __end__"
        ))
        .expect(0);
    done.says("The open question is dropped without an answer: Approve this payment?");
    let state = world.get(&format!("/threads/{thread}/state")).await;
    assert_eq!(state["next"], json!([]));
    assert_eq!(done.json()["status"], "idle");
    world
        .runtail(format!(
            "state set {thread} --values null --as-node __end__"
        ))
        .expect(1)
        .says("No node is left to run");
    // The preview named the checkpoint that undoes it.
    let done = world
        .runtail(format!("fork {thread} --checkpoint {asking} --wait"))
        .expect(0);
    assert_eq!(done.json()["outcome"], "interrupted", "{}", done.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_is_named_by_a_fork() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world
        .ran("approval", json!({"amount": 5, "to": "Ana"}))
        .await;
    let asking = id(&world.get(&format!("/threads/{thread}/state")).await);
    let first = world.before(&thread, "draft").await;
    let done = world
        .runtail(format!("fork {thread} --checkpoint {first} --wait"))
        .expect(0);
    let later = format!("(checkpoint {asking}) first: Approve this payment?");
    done.says("leaves the head. To answer it later, run again from step");
    done.says(&later);
    assert_eq!(done.json()["outcome"], "interrupted");
    // Without a checkpoint, the newest asks again.
    let done = world.runtail(format!("fork {thread} --wait")).expect(0);
    done.says("The open question is asked again, perhaps under a new id: Approve");
    assert_eq!(done.json()["outcome"], "interrupted");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_input_of_a_given_run_runs_again() {
    let world = World::start(Scenario::Empty, 1000.0).await;
    let thread = world
        .ran("release", json!({"log": ["first"], "seconds": 0}))
        .await;
    let run = world.runs(&thread).await[0]["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let body = json!({"assistant_id": "release", "input": {"log": ["second"], "seconds": 0}, "stream_mode": ["values"]});
    world
        .post(&format!("/threads/{thread}/runs/stream"), body)
        .await;
    let done = world
        .runtail(format!("rerun {thread} {run} --wait"))
        .expect(0);
    let row = done.json();
    assert_eq!(
        (&row["rerun_of"], &row["outcome"]),
        (&json!(run), &json!("success"))
    );
    let stages = ["build", "test", "release"];
    let expected = [
        ["first"].as_slice(),
        &stages,
        &["second"],
        &stages,
        &["first"],
        &stages,
    ]
    .concat();
    assert_eq!(world.log(&thread).await, json!(expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_thread_is_left_alone_and_a_stuck_one_is_released() {
    let world = World::start(Scenario::Empty, 1.0).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "slow", "input": {"seconds": 600}});
    let run = world.post(&format!("/threads/{thread}/runs"), body).await["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for args in [
        format!("fork {thread}"),
        format!("fork {thread} --input {{}}"),
        format!(r#"state set {thread} --values '{{"log": []}}'"#),
        format!("state set {thread} --values null"),
        format!("rerun {thread} {run}"),
    ] {
        world
            .runtail(&*args)
            .expect(1)
            .says("A run is active on this thread.");
    }
    // A running run that is deleted runs on, unseen, and its thread stays busy.
    let deleted = world
        .http
        .delete(format!("{}/threads/{thread}/runs/{run}", world.url))
        .send()
        .await
        .unwrap();
    assert_eq!(deleted.status(), 204);
    assert_eq!(
        world.get(&format!("/threads/{thread}")).await["status"],
        "busy"
    );
    let done = world
        .runtail(format!("state set {thread} --values null"))
        .expect(0);
    done.says("may still be running: it keeps calling models");
    let status = text(&done.json(), "status");
    assert_ne!(status, "busy");
    assert_eq!(
        world.get(&format!("/threads/{thread}")).await["status"],
        json!(status)
    );
}
