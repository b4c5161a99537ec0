//! The dashboard in a terminal against a server that offers no more than the written contract: what it does not offer is
//! said in words, and hides nothing else.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::term::Term;
use serde_json::{Value, json};

/// Keys that go back a field in the composer.
const BACK_TAB: &str = "\x1b[Z";

/// A server by the contract. It serves as long as its runtime lives.
struct Contract {
    runtime: tokio::runtime::Runtime,
    _sim: Sim,
    url: String,
}

impl Contract {
    fn start() -> Contract {
        rustls::crypto::ring::default_provider().install_default().ok();
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let options = Options { scenario: Scenario::Contract, speed: 4.0, ..Options::default() };
        let sim = runtime.block_on(Sim::start(options)).expect("servers on loopback");
        let url = sim.agents()[0].url.clone();
        Contract { runtime, _sim: sim, url }
    }

    fn post(&self, path: &str, body: &Value) -> String {
        let ask = async {
            let http = reqwest::Client::builder().no_proxy().build().expect("a client");
            let answer = http.post(format!("{}{path}", self.url)).json(body).send().await.expect("an answer");
            answer.text().await.expect("a text")
        };
        self.runtime.block_on(ask)
    }

    /// A thread on which a run has ended.
    fn thread(&self) -> String {
        let made: Value = serde_json::from_str(&self.post("/threads", &json!({}))).expect("JSON");
        let thread = made["thread_id"].as_str().expect("an id").to_string();
        let modes = ["values", "updates", "messages-tuple", "custom", "tasks", "debug", "checkpoints", "events"];
        let body = json!({"assistant_id": "agent", "stream_mode": modes, "stream_subgraphs": true,
            "input": {"messages": [{"role": "user", "content": "weather?"}]}});
        self.post(&format!("/threads/{thread}/runs/stream"), &body);
        thread
    }
}

/// Each view shows what there is.
#[track_caller]
fn assert_views(term: &Term) {
    for (key, shown) in [
        ("1", "ai · chat"),
        ("2", "tools"),
        ("3", "messages"),
        ("5", "started"),
        ("7", "updates"),
        ("8", "BY TYPE"),
        ("4", "tools"),
        ("1", "ai · chat"),
    ] {
        term.keys(key);
        term.wait_for(shown);
    }
}

#[test]
fn a_run_is_composed_by_a_name_and_seen_whole() {
    let server = Contract::start();
    let term = Term::spawn(&["--url", &server.url], 140, 40);
    // The lists are not there, and what to do instead is.
    term.wait_for("can't list its threads");
    term.wait_for("to start a run with an assistant's name");
    term.keys("2");
    term.wait_for("can't list its assistants");
    term.keys("n");
    term.wait_for("type an assistant or graph name");
    term.keys(&format!("{}agent\x13", BACK_TAB.repeat(3)));
    // It is over, though nobody can be asked how it went.
    term.wait_for("■ stream ended");
    assert_views(&term);
    term.keys("M");
    term.wait_for("The run was started with messages-tuple, updates, values, custom, with subgraphs");
    term.keys("\x1b");
    term.wait_for("■ stream ended");
    // The server gives nothing of the past of a run: that is said and no failure.
    term.keys(":reopen\r");
    term.wait_for("The server sent no events for this run.");
    term.keys("q");
}

#[test]
fn a_thread_is_followed_by_its_id_and_its_modes_are_changed() {
    let server = Contract::start();
    let thread = server.thread();
    let term = Term::spawn(&["--url", &server.url], 140, 40);
    term.wait_for("can't list its threads");
    term.keys(&format!(":{thread}\r"));
    term.wait_for("● live");
    assert_views(&term);
    // The state after the run comes by the contract's own event.
    term.keys("7");
    term.wait_for("state_update");
    term.keys("M");
    term.wait_for("everything runs stream");
    for choice in ["[x] run_modes", "[ ] lifecycle", "[x] state_update"] {
        term.wait_for(choice);
    }
    term.keys("\x1b[B \r");
    term.keys("5");
    term.wait_for("modes changed: reopened after");
    // The dialog shows the modes that are in force now.
    term.keys("M");
    term.wait_for("[x] lifecycle");
    term.keys("\x1b");
    term.wait_until("the stream again", |term| !term.screen().contains("STREAM MODES"));
    // A run that begins now is seen.
    let body = json!({"assistant_id": "slow", "input": {"seconds": 0}, "stream_mode": ["updates"]});
    server.post(&format!("/threads/{thread}/runs/stream"), &body);
    term.keys("2G");
    term.wait_for("woke");
}
