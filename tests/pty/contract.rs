//! The dashboard in a terminal with a contract-only server: missing endpoints are reported and hide nothing else.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::term::Term;
use serde_json::{Value, json};

/// Moves to the previous field of the composer.
const BACK_TAB: &str = "\x1b[Z";

/// A contract-only server. It runs as long as its runtime.
struct Contract {
    runtime: tokio::runtime::Runtime,
    _sim: Sim,
    url: String,
}

impl Contract {
    fn start() -> Contract {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let options = Options {
            scenario: Scenario::Contract,
            speed: 4.0,
            ..Options::default()
        };
        let sim = runtime
            .block_on(Sim::start(options))
            .expect("servers on loopback");
        let url = sim.agents()[0].url.clone();
        Contract {
            runtime,
            _sim: sim,
            url,
        }
    }

    fn post(&self, path: &str, body: &Value) -> String {
        let request = async {
            let http = reqwest::Client::builder()
                .no_proxy()
                .build()
                .expect("a client");
            let response = http
                .post(format!("{}{path}", self.url))
                .json(body)
                .send()
                .await
                .expect("a response");
            response.text().await.expect("a text")
        };
        self.runtime.block_on(request)
    }

    /// Creates a thread with a finished run.
    fn thread(&self) -> String {
        let created: Value =
            serde_json::from_str(&self.post("/threads", &json!({}))).expect("JSON");
        let thread = created["thread_id"].as_str().expect("an id").to_string();
        let modes = [
            "values",
            "updates",
            "messages-tuple",
            "custom",
            "tasks",
            "debug",
            "checkpoints",
            "events",
        ];
        let body = json!({"assistant_id": "agent", "stream_mode": modes, "stream_subgraphs": true,
            "input": {"messages": [{"role": "user", "content": "weather?"}]}});
        self.post(&format!("/threads/{thread}/runs/stream"), &body);
        thread
    }
}

/// Checks that each view has content.
#[track_caller]
fn assert_views(term: &Term) {
    for (key, shown) in [
        ("1", "ai · chat"),
        ("2", "tools"),
        ("3", "messages"),
        ("7\x1b[C", "started"),
        ("6", "updates"),
        ("4", "tools"),
        ("1", "ai · chat"),
    ] {
        term.keys(key);
        term.wait_for(shown);
    }
}

#[test]
fn run_by_assistant_name_is_shown_completely() {
    let server = Contract::start();
    let term = Term::spawn(&["--url", &server.url], 140, 40);
    // The lists are missing, and a hint says what to do instead.
    term.wait_for("Couldn't list threads");
    term.wait_for("starts a run by assistant name");
    term.keys("2");
    term.wait_for("Couldn't list assistants");
    term.keys("n");
    term.wait_for("type an assistant or graph name");
    term.keys(&format!("hello{}agent\x13", BACK_TAB.repeat(2)));
    // The run has ended, although the outcome can't be requested.
    term.wait_for("● idle · last run finished");
    assert_views(&term);
    term.keys("M");
    term.wait_for(
        "The run sends only messages-tuple, updates, values, custom, tasks, with subgraphs",
    );
    term.keys("\x1b");
    term.wait_until("the dialog is closed", |term| {
        !term.screen().contains("The run sends only")
    });
    term.wait_for("● idle · last run finished");
    // The server replays no events of a finished run, which is reported and not an error.
    term.keys(":reopen\r");
    term.wait_for("This server keeps no events of ended runs.");
    term.keys("q");
}

#[test]
fn thread_is_followed_by_id_and_its_modes_change() {
    let server = Contract::start();
    let thread = server.thread();
    let term = Term::spawn(&["--url", &server.url], 140, 40);
    term.wait_for("Couldn't list threads");
    term.keys(&format!(":{thread}\r"));
    term.wait_for("● live");
    assert_views(&term);
    // The state after the run is sent as a `state_update` event.
    term.keys("6");
    term.wait_for("state_update");
    term.keys("M");
    term.wait_for("all run events");
    for choice in ["[x] run_modes", "[ ] lifecycle", "[x] state_update"] {
        term.wait_for(choice);
    }
    term.keys("\x1b[B \r");
    // What may be missing since then is in the report about the delivery.
    term.wait_for("1 gap · 6");
    term.keys("6d");
    term.wait_for("reopened for other modes");
    term.keys("\x1b");
    term.wait_for("state_update");
    // The dialog shows the current modes.
    term.keys("M");
    term.wait_for("[x] lifecycle");
    term.keys("\x1b");
    term.wait_until("the stream again", |term| {
        !term.screen().contains("STREAM MODES")
    });
    // A new run is shown.
    let body = json!({"assistant_id": "slow", "input": {"seconds": 0}, "stream_mode": ["updates"]});
    server.post(&format!("/threads/{thread}/runs/stream"), &body);
    term.keys("2G");
    term.wait_for("woke");
}
