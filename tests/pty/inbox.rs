//! The inbox in a terminal, on the simulator: from the list of what waits to a sent answer, and programs of rules.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::term::Term;

#[test]
fn three_keys_answer_the_oldest_question_which_then_leaves_the_inbox() {
    let term = Term::spawn(&["--demo", "-p", "prod-us"], 140, 40);
    // The counters appear once every server was asked.
    term.wait_for(" waiting   ✗ ");
    term.keys("i");
    term.wait_for("waiting first, then oldest");
    term.wait_for("╭ us › invoice-agent › approval ");
    let title = |term: &Term| -> String {
        let screen = term.screen();
        let line = screen
            .lines()
            .find(|line| line.starts_with("╭ us › invoice-agent › "))
            .unwrap_or_default();
        line.trim_start_matches("╭ ")
            .split(" ─")
            .next()
            .unwrap_or_default()
            .to_string()
    };
    let first = title(&term);
    term.keys("A");
    term.wait_for("Sends true to question");
    term.keys("\x13");
    term.wait_for("Answer sent.");
    term.wait_until("the answered thread leaves the inbox", |term| {
        let now = title(term);
        !now.is_empty() && now != first
    });
}

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
    term.wait_for("Nothing is waiting for you on lab");
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
