//! Ctrl-C in a terminal: an edited text survives it, and actions on several threads report what was sent.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::common::{Server, json as respond};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn ctrl_c_at_the_question_and_signals_in_the_editor_keep_the_edited_text() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let sim = runtime
        .block_on(Sim::start(Options {
            scenario: Scenario::Empty,
            ..Options::default()
        }))
        .expect("a simulator");
    let url = sim.agents()[0].url.trim_end_matches('/').to_string();
    let call = |path: &str, body: Option<Value>| -> Value {
        let (url, http) = (format!("{url}{path}"), reqwest::Client::new());
        let request = match body {
            Some(body) => http
                .post(url)
                .header("content-type", "application/json")
                .body(body.to_string()),
            None => http.get(url),
        };
        let text = runtime.block_on(async {
            request
                .send()
                .await
                .expect("a response")
                .text()
                .await
                .expect("a text")
        });
        serde_json::from_str(&text).unwrap_or(Value::Null)
    };
    let thread = call("/threads", Some(json!({})));
    let thread = thread["thread_id"].as_str().expect("an id");
    let body = json!({"assistant_id": "approval", "input": {"amount": 5, "to": "Ana"}, "on_disconnect": "continue"});
    call(&format!("/threads/{thread}/runs/wait"), Some(body));
    let history = call(&format!("/threads/{thread}/history"), None);

    let folder = tempfile::tempdir().expect("a folder");
    let env = [
        ("VISUAL", "sh -c 'sed -i s/5\\ EUR/6\\ EUR/ \"$1\"' --"),
        ("TMPDIR", folder.path().to_str().unwrap()),
    ];
    let set = ["--url", &url, "state", "set", thread, "--editor"];
    let mut term = Term::spawn_with(&env, &set, 160, 40);
    term.wait_for("[y/N]");
    term.keys("\x03");
    term.wait_for("your text is kept in ");
    assert_eq!(term.exit_status().exit_code(), 130);
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    let [kept] = files.as_slice() else {
        panic!("{files:?}")
    };
    assert_eq!(kept.extension().and_then(|end| end.to_str()), Some("json"));
    let text = std::fs::read_to_string(kept).unwrap();
    assert!(text.contains("send 6 EUR to Ana"), "{text}");
    assert_eq!(
        call(&format!("/threads/{thread}/history"), None),
        history,
        "nothing was sent"
    );
    // The kept file is a valid input.
    let values = format!("@{}", kept.display());
    let done = process::run([
        "--url",
        &url,
        "state",
        "set",
        thread,
        "--values",
        &values,
        "--dry-run",
    ])
    .expect(0);
    assert!(done.stdout.contains("send 6 EUR to Ana"), "{}", done.stdout);
    // A signal ends the editor, too.
    let begun = folder.path().join("begun");
    let editor = format!(
        "sh -c 'echo new > \"$1\"; echo $$ > {}; exec sleep 600' --",
        begun.display()
    );
    let mut term = Term::spawn_with(&[("VISUAL", &*editor), env[1]], &set, 160, 40);
    let pid = || {
        std::fs::read_to_string(&begun)
            .ok()
            .and_then(|text| text.trim().parse::<libc::pid_t>().ok())
    };
    term.wait_until("the editor", |_| pid().is_some());
    term.signal(libc::SIGTERM);
    assert_eq!(term.exit_status().exit_code(), 143, "{}", term.screen());
    assert!(
        term.screen().contains("your text is kept in "),
        "{}",
        term.screen()
    );
    assert!(
        !crate::changes::is_running(pid().unwrap()),
        "the editor is left behind"
    );
    assert_eq!(
        call(&format!("/threads/{thread}/history"), None),
        history,
        "nothing was sent"
    );
}

#[test]
fn a_second_ctrl_c_reports_what_is_unknown() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(8)
        .enable_all()
        .build()
        .unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let deletions = Arc::new(AtomicUsize::new(0));
    let counted = deletions.clone();
    let server = runtime.block_on(Server::start(move |seen| {
        let parts: Vec<&str> = seen.path.trim_matches('/').split('/').collect();
        counted.fetch_add(usize::from(seen.method == "DELETE"), Ordering::SeqCst);
        match (seen.method.as_str(), parts.as_slice()) {
            ("GET", ["info"]) => respond(200, r#"{"langgraph_py_version":"1","version":"0.16.7"}"#),
            ("GET", ["threads", id]) => respond(
                200,
                json!({"thread_id": id, "status": "idle", "metadata": {}}),
            ),
            ("GET", ["threads", _, "runs"]) => respond(200, "[]"),
            ("DELETE", ["threads", "t-1"]) => respond(204, ""),
            ("DELETE", ["threads", _]) => {
                // Returns an error once the test has dropped the sender.
                let _ = tokio::task::block_in_place(|| released.lock().unwrap().recv());
                respond(204, "")
            }
            _ => respond(404, r#"{"detail":"Not Found"}"#),
        }
    }));
    let ids: Vec<String> = (1..=12).map(|n| format!("t-{n}")).collect();
    let url = server.url.to_string();
    let mut args = vec![
        "--url",
        url.as_str(),
        "threads",
        "delete",
        "--yes",
        "-o",
        "table",
    ];
    args.extend(ids.iter().map(String::as_str));
    let mut term = Term::spawn(&args, 140, 60);
    let deletions = || deletions.load(Ordering::SeqCst);
    // Four are in flight at a time, so the first is done when a fifth was sent; the others block.
    term.wait_until("deletions", |_| deletions() >= 5);
    term.keys("\x03");
    term.wait_for("waiting for those that were");
    term.keys("\x03");
    term.wait_for("t-12");
    term.wait_until("the last row", |term| {
        term.screen().contains("t-12    not_sent")
    });
    assert_eq!(term.exit_status().exit_code(), 130);
    let screen = term.screen();
    let count = |word: &str| {
        screen
            .lines()
            .filter(|line| line.split_whitespace().nth(1) == Some(word))
            .count()
    };
    assert_eq!(
        (count("deleted"), count("unknown"), count("not_sent")),
        (1, deletions() - 1, 12 - deletions()),
        "{screen}"
    );
    drop(release);
}
