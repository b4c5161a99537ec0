//! The inbox in a terminal, on the simulator: from the list of what waits to a sent answer, and programs of rules.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::term::Term;

#[test]
fn a_program_gets_the_event_of_a_new_question() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sim = runtime
        .block_on(Sim::start(Options {
            scenario: Scenario::Empty,
            ..Options::default()
        }))
        .expect("a simulator");
    let folder = tempfile::tempdir().expect("a folder");
    let (config, out) = (
        folder.path().join("config.toml"),
        folder.path().join("events"),
    );
    let url = &sim.agents()[0].url;
    let text = format!(
        "[profiles.lab]\nagent_server = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n[poll]\ninterval = \"1s\"\n[[notify]]\nwhen = \
         \"waiting\"\nmatch = \"profile:l*b graph:approval\"\ncommand = [\"sh\", \"-c\", \"cat >> {0}; env >> {0}\"]\n",
        out.display()
    );
    std::fs::write(&config, text).expect("a configuration");
    let term = Term::spawn_with(
        &[("RUNTAIL_TEST_KEY", "canary-key")],
        &["--config", config.to_str().unwrap()],
        140,
        40,
    );
    term.keys("i");
    term.wait_for("Nothing waits for you on lab");
    // Another client starts a run that asks a question.
    let assistant = "{\"assistant_id\":\"approval\",\"input\":{\"amount\":5,\"to\":\"x\"}}";
    let post = |path: &str, body: &'static str| {
        let url = format!("{}{path}", url.trim_end_matches('/'));
        let request = reqwest::Client::new()
            .post(url)
            .header("content-type", "application/json")
            .body(body);
        runtime.block_on(async {
            request
                .send()
                .await
                .expect("a response")
                .text()
                .await
                .expect("a text")
        })
    };
    let thread: serde_json::Value = serde_json::from_str(&post("/threads", "{}")).expect("JSON");
    let id = thread["thread_id"].as_str().expect("an id");
    post(&format!("/threads/{id}/runs"), assistant);
    term.keys("r");
    term.wait_for("waits for you: Approve this payment?");
    term.wait_until("the program has run", |_| {
        std::fs::read_to_string(&out).is_ok_and(|text| text.contains("PATH="))
    });
    let text = std::fs::read_to_string(&out).expect("events");
    let event: serde_json::Value =
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&event["when"], &event["thread_id"], &event["cause"]),
        (&"waiting".into(), &id.into(), &"question".into())
    );
    assert!(
        !text.contains("canary-key") && !text.contains("RUNTAIL_TEST_KEY"),
        "{text}"
    );
}
