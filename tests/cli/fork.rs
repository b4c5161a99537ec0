//! `fork`, `state set` and `rerun` against the simulator in each of its dialects, and against servers that refuse.

mod editor;
mod refusals;

use runtail_sim::{Dialect, Options, Sim};
use runtail_testkit::process::{Done, run_at};
use serde_json::{Value, json};

pub(crate) const DIALECTS: [Dialect; 4] = [
    Dialect::Python,
    Dialect::JavaScript,
    Dialect::Aegra,
    Dialect::Contract,
];

/// The simulator, and its requests.
pub(crate) struct World {
    pub sim: Sim,
    pub url: String,
    http: reqwest::Client,
}

impl World {
    pub async fn start(dialect: Dialect, speed: f64) -> World {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let sim = Sim::start(Options {
            speed,
            dialect,
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

    pub fn runtail(&self, args: &[&str]) -> Done {
        run_at(&self.url, args)
    }
}

fn id(state: &Value) -> String {
    state["checkpoint"]["checkpoint_id"]
        .as_str()
        .expect("an id")
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_of_a_checkpoint_run_again() {
    for dialect in [Dialect::Python, Dialect::JavaScript] {
        let world = World::start(dialect, 1000.0).await;
        let thread = world.released().await;
        let checkpoint = world.before(&thread, "test").await;
        let args = ["fork", &thread, "--checkpoint", &checkpoint];
        let branch = &world
            .runtail(&[&args[..], &["--dry-run", "-o", "json"]].concat())
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
        assert_eq!(branch["steps"], steps, "{dialect:?}");
        let done = world.runtail(&[&args[..], &["--wait"]].concat()).expect(0);
        let row = done.json();
        assert_eq!(
            (&row["outcome"], &row["checkpoint_id"]),
            (&json!("success"), &json!(checkpoint)),
            "{dialect:?}"
        );
        for says in [
            "Runs again   test          certain",
            "Then likely  release       as in run ",
            "Skipped      input, build",
            "A new branch starts here; the current branch stays in history.",
            "external effects happen twice",
        ] {
            assert!(
                done.stderr.contains(says),
                "{dialect:?} {says}: {}",
                done.stderr
            );
        }
        assert_eq!(
            world.log(&thread).await,
            json!(["build", "test", "release"]),
            "{dialect:?}"
        );
        let states = world.history(&thread).await;
        let children = states
            .iter()
            .filter(|state| state["parent_checkpoint"]["checkpoint_id"] == *checkpoint);
        assert_eq!(
            children.count(),
            2,
            "{dialect:?}: the branch that ran, and the new one"
        );
        assert_eq!(world.runs(&thread).await.len(), 2, "{dialect:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn previews_say_what_happens_to_given_answers() {
    for dialect in [Dialect::Python, Dialect::JavaScript] {
        let world = World::start(dialect, 1000.0).await;
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
        assert_eq!(asked.len(), 2, "{dialect:?}: {asked:?}");
        let ((_, left), (_, right)) = (&asked[0], &asked[1]);
        world
            .runtail(&[
                "answer",
                &thread,
                "--interrupt",
                left,
                "--text",
                "L",
                "--wait",
            ])
            .expect(0);
        let done = world.runtail(&["fork", &thread, "--wait"]).expect(0);
        let says = match dialect {
            Dialect::JavaScript => {
                "left runs again with the answer that it received, and doesn't ask again."
            }
            _ => "The answer given to left is lost: its question is asked again.",
        };
        assert!(
            done.stderr.contains(says) && done.stderr.contains("Runs again  left"),
            "{}",
            done.stderr
        );
        let open = questions(&world.get(&path).await);
        match dialect {
            Dialect::JavaScript => assert_eq!(open, [("\"right\"".to_string(), right.clone())]),
            _ => assert!(
                open.len() == 2 && open.iter().all(|(_, id)| id != left && id != right),
                "{open:?}"
            ),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_input_begins_at_a_checkpoint() {
    for dialect in [Dialect::Python, Dialect::JavaScript, Dialect::Aegra] {
        let world = World::start(dialect, 1000.0).await;
        let thread = world.released().await;
        let checkpoint = world.before(&thread, "test").await;
        let input = r#"{"log": ["again"]}"#;
        let done = world
            .runtail(&[
                "fork",
                &thread,
                "--checkpoint",
                &checkpoint,
                "--input",
                input,
                "--wait",
            ])
            .expect(0);
        assert_eq!(
            done.json()["checkpoint_id"],
            json!(checkpoint),
            "{dialect:?}"
        );
        assert!(
            done.stderr.contains("Next: build."),
            "{dialect:?}: {}",
            done.stderr
        );
        assert_eq!(
            world.log(&thread).await,
            json!(["build", "again", "build", "test", "release"]),
            "{dialect:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_sent_before_its_run() {
    for dialect in [Dialect::Python, Dialect::JavaScript] {
        let world = World::start(dialect, 1000.0).await;
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
            "{dialect:?}: a dry run sends nothing"
        );
        let (first, second) = (&preview["request"], &preview["then"]);
        let body =
            json!({"values": {"log": ["edited"]}, "as_node": "build", "checkpoint_id": checkpoint});
        assert_eq!(first["body"], body, "{dialect:?}");
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
        assert!(
            done.stderr.contains("Next: test.")
                && done
                    .stderr
                    .contains("reducers apply the edit on the server")
        );
        assert_eq!(
            world.log(&thread).await,
            json!(["build", "edited", "test", "release"]),
            "{dialect:?}"
        );
        let states = world.history(&thread).await;
        let edited = states
            .iter()
            .find(|state| id(state) == row["checkpoint_id"])
            .expect("the new checkpoint");
        assert_eq!(edited["metadata"]["source"], "update", "{dialect:?}");
        assert_eq!(
            edited["parent_checkpoint"]["checkpoint_id"],
            json!(checkpoint),
            "{dialect:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_does_not_offer_is_named() {
    let world = World::start(Dialect::Aegra, 1000.0).await;
    let thread = world.released().await;
    let checkpoint = world.before(&thread, "test").await;
    let before = world.records(&thread).await;
    for args in [
        vec!["fork", &thread, "--checkpoint", &checkpoint],
        vec![
            "fork",
            &thread,
            "--checkpoint",
            &checkpoint,
            "--update",
            r#"{"log": ["x"]}"#,
            "--as-node",
            "build",
        ],
    ] {
        let done = world.runtail(&args).expect(1);
        assert!(
            done.stderr.contains("starts no run without an input"),
            "{}",
            done.stderr
        );
    }
    let asked = world.ran("approval", json!({"amount": 5})).await;
    let done = world
        .runtail(&[
            "state",
            "set",
            &asked,
            "--values",
            "null",
            "--as-node",
            "__end__",
        ])
        .expect(1);
    assert!(
        done.stderr
            .contains("ignores a state update without values"),
        "{}",
        done.stderr
    );
    assert_eq!(world.records(&thread).await, before);
    let world = World::start(Dialect::Contract, 1000.0).await;
    let thread = world.released().await;
    for args in [
        vec!["fork", &thread],
        vec!["fork", &thread, "--input", "{}"],
        vec!["state", "set", &thread, "--values", "{\"log\": []}"],
    ] {
        let done = world.runtail(&args).expect(1);
        assert!(
            done.stderr
                .contains("has no call that reads a thread's state"),
            "{args:?}: {}",
            done.stderr
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_runs_of_a_read_only_profile_send_nothing() {
    for dialect in DIALECTS
        .into_iter()
        .filter(|dialect| *dialect != Dialect::Contract)
    {
        let world = World::start(dialect, 1000.0).await;
        let thread = world.released().await;
        let run = world.runs(&thread).await[0]["run_id"]
            .as_str()
            .unwrap()
            .to_owned();
        let checkpoint = world.before(&thread, "test").await;
        let before = world.records(&thread).await;
        for args in [
            vec![
                "fork",
                &thread,
                "--checkpoint",
                &checkpoint,
                "--input",
                "{\"log\": []}",
            ],
            vec!["state", "set", &thread, "--values", "{\"log\": [\"x\"]}"],
            vec!["rerun", &thread, &run],
        ] {
            let done = world
                .runtail(&[args.as_slice(), &["--read-only", "--dry-run"]].concat())
                .expect(0);
            assert_eq!(done.json()["kind"], "preview", "{dialect:?} {args:?}");
        }
        assert_eq!(world.records(&thread).await, before, "{dialect:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_checkpoints_keys_and_nodes_are_refused() {
    for dialect in [Dialect::Python, Dialect::JavaScript, Dialect::Aegra] {
        let world = World::start(dialect, 1000.0).await;
        let thread = world.released().await;
        let checkpoint = world.before(&thread, "test").await;
        let end = id(&world.history(&thread).await[0]);
        let before = world.records(&thread).await;
        let set = |rest: &[&'static str]| [&["state", "set", &thread], rest].concat();
        let other = "1f1e0000-0000-6000-8000-000000000000";
        let mut cases = vec![
            (
                1,
                vec!["fork", &thread, "--checkpoint", other, "--input", "{}"],
                "has no checkpoint 1f1e0000",
            ),
            (
                1,
                vec!["fork", &thread, "--checkpoint", "nope", "--input", "{}"],
                "has no checkpoint nope",
            ),
            (
                1,
                set(&["--values", "{\"log\": []}", "--checkpoint", other]),
                "has no checkpoint",
            ),
            (
                2,
                set(&["--values", "{\"logs\": [], \"log\": []}"]),
                "the state has no key logs, and the server would ignore it",
            ),
            (
                2,
                set(&["--values", "{\"log\": []}", "--as-node", "tests"]),
                "the graph has no node tests; it has build, test",
            ),
            (
                2,
                set(&["--values", "[1]"]),
                "an edit is an object of the keys to write, not a list",
            ),
            (2, set(&["--values", "{}"]), "the edit has no keys"),
            (2, set(&["--values", "{bad"]), "--values is not JSON"),
            (
                1,
                set(&["--values", "null"]),
                "The thread is idle, so there is nothing to release.",
            ),
            (2, vec!["fork", &thread, "--as-node", "build"], "--update"),
            (
                2,
                vec!["fork", &thread, "--update", "{}", "--input", "{}"],
                "cannot be used with",
            ),
            (1, vec!["rerun", &thread, other], "has no run"),
        ];
        if dialect != Dialect::Aegra {
            cases.push((
                1,
                vec!["fork", &thread],
                "Nothing would run: no node is next at step 3",
            ));
            cases.push((
                1,
                vec!["fork", &thread, "--checkpoint", &end],
                "Choose an earlier checkpoint",
            ));
            cases.push((
                1,
                vec!["fork", &thread, "--update", "{\"log\": []}"],
                "Name the node in whose name to edit",
            ));
            let unknown = vec![
                "fork",
                &thread,
                "--checkpoint",
                &checkpoint,
                "--update",
                "{\"logs\": []}",
            ];
            cases.push((2, unknown, "the state has no key logs"));
        }
        for (code, args, says) in cases {
            let done = world.runtail(&args).expect(code);
            assert!(
                done.stderr.contains(says) && done.stdout.is_empty(),
                "{dialect:?} {args:?}: {}",
                done.stderr
            );
        }
        assert_eq!(world.records(&thread).await, before, "{dialect:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_is_edited_without_a_run() {
    for dialect in [Dialect::Python, Dialect::JavaScript, Dialect::Aegra] {
        let world = World::start(dialect, 1000.0).await;
        let thread = world
            .ran("approval", json!({"amount": 5, "to": "Ana"}))
            .await;
        let done = world
            .runtail(&[
                "state",
                "set",
                &thread,
                "--values",
                r#"{"draft": "send 6 EUR"}"#,
            ])
            .expect(0);
        assert!(
            done.stderr
                .contains("draft: send 5 EUR to Ana → send 6 EUR"),
            "{dialect:?}: {}",
            done.stderr
        );
        assert!(done.stderr.contains("The open question is closed by the edit, and asked again when the thread continues: Approve this payment?"), "{dialect:?}: {}", done.stderr);
        let state = world.get(&format!("/threads/{thread}/state")).await;
        assert_eq!(
            (&state["values"]["draft"], &state["next"]),
            (&json!("send 6 EUR"), &json!(["ask"])),
            "{dialect:?}"
        );
        assert_eq!(
            done.json()["checkpoint_id"],
            json!(id(&state)),
            "{dialect:?}"
        );
        // An older checkpoint, in the name of another node.
        let first = world.before(&thread, "draft").await;
        let args = [
            "state",
            "set",
            &thread,
            "--values",
            r#"{"draft": "none"}"#,
            "--as-node",
            "ask",
            "--checkpoint",
            &first,
        ];
        let done = world.runtail(&args).expect(0);
        assert!(
            done.stderr.contains("Counts as a write of ask. Next: act."),
            "{dialect:?}: {}",
            done.stderr
        );
        let state = world.get(&format!("/threads/{thread}/state")).await;
        assert_eq!(
            (&state["values"]["draft"], &state["next"]),
            (&json!("none"), &json!(["act"])),
            "{dialect:?}"
        );
        assert_eq!(
            state["parent_checkpoint"]["checkpoint_id"],
            json!(first),
            "{dialect:?}"
        );
        assert_eq!(world.runs(&thread).await.len(), 1, "{dialect:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_thread_is_ended_and_asked_again() {
    for dialect in [Dialect::Python, Dialect::JavaScript] {
        let world = World::start(dialect, 1000.0).await;
        let thread = world
            .ran("approval", json!({"amount": 5, "to": "Ana"}))
            .await;
        let asking = id(&world.get(&format!("/threads/{thread}/state")).await);
        let done = world
            .runtail(&[
                "state",
                "set",
                &thread,
                "--values",
                "null",
                "--as-node",
                "__end__",
            ])
            .expect(0);
        assert!(
            done.stderr
                .contains("The open question is dropped without an answer: Approve this payment?")
        );
        let state = world.get(&format!("/threads/{thread}/state")).await;
        assert_eq!(state["next"], json!([]), "{dialect:?}");
        if dialect == Dialect::Python {
            assert_eq!(done.json()["status"], "idle");
        }
        let done = world
            .runtail(&[
                "state",
                "set",
                &thread,
                "--values",
                "null",
                "--as-node",
                "__end__",
            ])
            .expect(1);
        assert!(
            done.stderr.contains("No node is left to run"),
            "{dialect:?}: {}",
            done.stderr
        );
        // The preview named the checkpoint that undoes it.
        let done = world
            .runtail(&["fork", &thread, "--checkpoint", &asking, "--wait"])
            .expect(0);
        assert_eq!(
            done.json()["outcome"],
            "interrupted",
            "{dialect:?}: {}",
            done.stderr
        );
    }
}

/// A JavaScript server begins each run at the checkpoint of the last fork if the run names none, so a rejection would be carried
/// out as the earlier approval.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_in_two_ways() {
    for dialect in [Dialect::Python, Dialect::JavaScript] {
        let world = World::start(dialect, 1000.0).await;
        let thread = world
            .ran("approval", json!({"amount": 5, "to": "Ana"}))
            .await;
        let asking = id(&world.get(&format!("/threads/{thread}/state")).await);
        world
            .runtail(&["answer", &thread, "--approve", "--wait"])
            .expect(0);
        let decision = async || {
            world.get(&format!("/threads/{thread}/state")).await["values"]["decision"].clone()
        };
        assert_eq!(decision().await, true, "{dialect:?}");
        world
            .runtail(&["fork", &thread, "--checkpoint", &asking, "--wait"])
            .expect(0);
        let done = world
            .runtail(&["answer", &thread, "--reject", "--wait"])
            .expect(0);
        assert_eq!(decision().await, false, "{dialect:?}: {}", done.stderr);
        // The next answer too, and a run with an input of its own.
        world
            .runtail(&["fork", &thread, "--checkpoint", &asking, "--wait"])
            .expect(0);
        world
            .runtail(&["answer", &thread, "--approve", "--wait"])
            .expect(0);
        assert_eq!(decision().await, true, "{dialect:?}");
        let input = r#"{"amount": 7, "to": "Ana"}"#;
        world
            .runtail(&[
                "run", "approval", "--thread", &thread, "--input", input, "-o", "jsonl",
            ])
            .expect(0);
        let state = world.get(&format!("/threads/{thread}/state")).await;
        assert_eq!(state["values"]["amount"], 7, "{dialect:?}");
        let parents = world.history(&thread).await;
        let input = parents
            .iter()
            .find(|state| state["metadata"]["source"] == "input")
            .expect("an input");
        let parent = input["parent_checkpoint"]["checkpoint_id"]
            .as_str()
            .expect("a parent");
        assert_ne!(
            parent, asking,
            "{dialect:?}: the run follows the newest state"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_is_named_by_a_fork() {
    let world = World::start(Dialect::Python, 1000.0).await;
    let thread = world
        .ran("approval", json!({"amount": 5, "to": "Ana"}))
        .await;
    let asking = id(&world.get(&format!("/threads/{thread}/state")).await);
    let first = world.before(&thread, "draft").await;
    let done = world
        .runtail(&["fork", &thread, "--checkpoint", &first, "--wait"])
        .expect(0);
    let later = format!("(checkpoint {asking}) first: Approve this payment?");
    assert!(
        done.stderr
            .contains("leaves the head. To answer it later, run again from step"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains(&later), "{}", done.stderr);
    assert_eq!(done.json()["outcome"], "interrupted");
    // Without a checkpoint, the newest asks again.
    let done = world.runtail(&["fork", &thread, "--wait"]).expect(0);
    assert!(
        done.stderr
            .contains("The open question is asked again, perhaps under a new id: Approve"),
        "{}",
        done.stderr
    );
    assert_eq!(done.json()["outcome"], "interrupted");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_input_of_a_given_run_runs_again() {
    for dialect in [Dialect::Python, Dialect::JavaScript, Dialect::Aegra] {
        let world = World::start(dialect, 1000.0).await;
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
        let done = world.runtail(&["rerun", &thread, &run, "--wait"]).expect(0);
        let row = done.json();
        assert_eq!(
            (&row["rerun_of"], &row["outcome"]),
            (&json!(run), &json!("success")),
            "{dialect:?}"
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
        assert_eq!(world.log(&thread).await, json!(expected), "{dialect:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_thread_is_left_alone_and_a_stuck_one_is_released() {
    let world = World::start(Dialect::Python, 1.0).await;
    let thread = world.thread().await;
    let body = json!({"assistant_id": "slow", "input": {"seconds": 600}});
    let run = world.post(&format!("/threads/{thread}/runs"), body).await["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for args in [
        vec!["fork", &thread],
        vec!["fork", &thread, "--input", "{}"],
        vec!["state", "set", &thread, "--values", "{\"log\": []}"],
        vec!["state", "set", &thread, "--values", "null"],
        vec!["rerun", &thread, &run],
    ] {
        let done = world.runtail(&args).expect(1);
        assert!(
            done.stderr.contains("A run is active on this thread."),
            "{args:?}: {}",
            done.stderr
        );
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
        .runtail(&["state", "set", &thread, "--values", "null"])
        .expect(0);
    assert!(
        done.stderr
            .contains("may still be running: it keeps calling models"),
        "{}",
        done.stderr
    );
    let status = done.json()["status"].as_str().unwrap().to_owned();
    assert_ne!(status, "busy");
    assert_eq!(
        world.get(&format!("/threads/{thread}")).await["status"],
        json!(status)
    );
}
