//! `state set --editor` in a terminal: what was typed survives every way to stop.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use serde_json::{Value, json};

#[test]
fn ctrl_c_at_the_question_keeps_the_edited_text() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sim =
        runtime.block_on(Sim::start(Options { scenario: Scenario::Empty, ..Options::default() })).expect("a simulator");
    let url = sim.agents()[0].url.trim_end_matches('/').to_string();
    let call = |path: &str, body: Option<Value>| -> Value {
        let (url, http) = (format!("{url}{path}"), reqwest::Client::new());
        let request = match body {
            Some(body) => http.post(url).header("content-type", "application/json").body(body.to_string()),
            None => http.get(url),
        };
        let text = runtime.block_on(async { request.send().await.expect("a response").text().await.expect("a text") });
        serde_json::from_str(&text).unwrap_or(Value::Null)
    };
    let thread = call("/threads", Some(json!({})));
    let thread = thread["thread_id"].as_str().expect("an id");
    let body = json!({"assistant_id": "approval", "input": {"amount": 5, "to": "Ana"}, "on_disconnect": "continue"});
    call(&format!("/threads/{thread}/runs/wait"), Some(body));
    let history = call(&format!("/threads/{thread}/history"), None);

    let folder = tempfile::tempdir().expect("a folder");
    let env = [("VISUAL", "sh -c 'sed -i s/5\\ EUR/6\\ EUR/ \"$1\"' --"), ("TMPDIR", folder.path().to_str().unwrap())];
    let set = ["--url", &url, "state", "set", thread, "--editor"];
    let mut term = Term::spawn_with(&env, &set, 160, 40);
    term.wait_for("[y/N]");
    term.keys("\x03");
    term.wait_for("your text is kept in ");
    assert_eq!(term.exit_status().exit_code(), 130);
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    let [kept] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(kept.extension().and_then(|end| end.to_str()), Some("json"));
    let text = std::fs::read_to_string(kept).unwrap();
    assert!(text.contains("send 6 EUR to Ana"), "{text}");
    assert_eq!(call(&format!("/threads/{thread}/history"), None), history, "nothing was sent");
    // The kept file is a valid input.
    let values = format!("@{}", kept.display());
    let done = process::run(["--url", &url, "state", "set", thread, "--values", &values, "--dry-run"]).expect(0);
    assert!(done.stdout.contains("send 6 EUR to Ana"), "{}", done.stdout);
}
