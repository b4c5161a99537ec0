//! The dashboard in a real terminal on the real agent servers (`tests/real/serve`).

use runtail_testkit::term::Term;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Sends: Ctrl-S.
const SEND: &str = "\x13";

fn open_at(url: &str) -> Term {
    let term = Term::spawn(&["--url", url], 140, 40);
    term.wait_for("   2 Assistants ");
    term
}

fn quit(term: &mut Term) {
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
}

fn post(url: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = runtail_testkit::server::request_at(
        url.trim_start_matches("http://"),
        "POST",
        path,
        Some(body),
    );
    assert!(
        (200..300).contains(&status),
        "POST {path}: {status} {answer}"
    );
    answer
}

fn get(url: &str, path: &str) -> Value {
    let (status, answer) =
        runtail_testkit::server::request_at(url.trim_start_matches("http://"), "GET", path, None);
    assert_eq!(status, 200, "GET {path}: {answer}");
    answer
}

/// Starts a run on a thread and waits for its end.
fn run_to_end(url: &str, thread: &str, body: &Value) {
    let run = runtail_testkit::server::text(
        &post(url, &format!("/threads/{thread}/runs"), body),
        "run_id",
    );
    let patience = Instant::now() + Duration::from_secs(30);
    while matches!(
        get(url, &format!("/threads/{thread}/runs/{run}"))["status"].as_str(),
        Some("pending" | "running")
    ) {
        assert!(Instant::now() < patience, "run {run} does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Creates a thread on which this run has ended.
fn thread_of(url: &str, body: &Value) -> String {
    let thread = runtail_testkit::server::text(&post(url, "/threads", &json!({})), "thread_id");
    run_to_end(url, &thread, body);
    thread
}

/// Opens the page of a thread and waits until its head has this badge.
fn open_page(term: &Term, thread: &str, badge: &str) {
    term.keys(&format!(":{thread}\r"));
    let last_four = &thread[thread.len() - 4..];
    term.wait_until(&format!("the page of {thread} with {badge:?}"), |term| {
        term.screen()
            .lines()
            .nth(1)
            .is_some_and(|head| head.contains(last_four) && head.contains(badge))
    });
}

/// Confirms a preview once it is shown. A key that is pressed earlier would count as held down.
fn confirm(term: &Term) {
    term.wait_for("▾ Request");
    term.keys(SEND);
}

/// Replaces the input of the composer by this JSON.
fn input(term: &Term, text: &str) {
    term.compose_json(text);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real dashboard -- --ignored"]
fn a_run_is_composed_and_shown_in_every_view() {
    for url in runtail_testkit::server::all_urls() {
        let mut term = open_at(&url);
        term.compose("agent");
        input(
            &term,
            &json!({"messages": [{"role": "user", "content": "weather in Kraków?"}]}).to_string(),
        );
        term.keys(SEND);
        term.wait_for(" finished · ");
        term.wait_for("● idle · last run finished ");
        let messages = term.screen();
        assert!(messages.contains("→ weather {\"city\":"), "{messages}");
        assert_eq!(
            messages.matches("Let me look that up.").count(),
            1,
            "never doubled: {messages}"
        );
        for (key, shown) in [
            ("2", "chat"),
            ("3", "messages"),
            ("7\x1b[C", "started"),
            ("6", "messages"),
        ] {
            term.keys(key);
            term.wait_for(shown);
        }
        quit(&mut term);
    }
}

/// A text answer, sent from the open page.
#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real dashboard -- --ignored"]
fn a_question_is_answered_on_its_page() {
    for url in runtail_testkit::server::all_urls() {
        let mut term = open_at(&url);
        let thread = thread_of(
            &url,
            &json!({"assistant_id": "approval", "input": {"amount": 5}}),
        );
        open_page(&term, &thread, "◆ waiting for you ");
        term.keys("a");
        term.wait_for("Answer as");
        // An empty answer is not sent.
        term.keys(SEND);
        term.wait_for("Nothing is answered yet");
        term.keys("yes");
        term.keys(SEND);
        term.wait_for("Answer sent. Following run 2.");
        term.wait_for("run 2 finished");
        term.wait_for("● idle · last run finished ");
        assert!(
            !term.screen().contains("► 2 streams"),
            "no second tab: {}",
            term.screen()
        );
        let state = get(&url, &format!("/threads/{thread}/state"));
        assert!(
            state["values"].to_string().contains("yes"),
            "it was sent as text: {state}"
        );
        quit(&mut term);
    }
}

/// Another client answers first: the second user sees that the question is gone, and keeps the draft.
#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real dashboard -- --ignored"]
fn a_question_answered_by_another_client_disappears() {
    for url in runtail_testkit::server::all_urls() {
        let mut term = open_at(&url);
        let thread = thread_of(
            &url,
            &json!({"assistant_id": "approval", "input": {"amount": 5}}),
        );
        open_page(&term, &thread, "◆ waiting for you ");
        term.keys("a");
        term.wait_for("Answer as");
        term.keys("mine");
        run_to_end(
            &url,
            &thread,
            &json!({"assistant_id": "approval", "command": {"resume": "theirs"}}),
        );
        term.keys(SEND);
        term.wait_for("no longer open");
        let values = get(&url, &format!("/threads/{thread}/state"))["values"].to_string();
        assert!(
            values.contains("theirs") && !values.contains("mine"),
            "{values}"
        );
        quit(&mut term);
    }
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real dashboard -- --ignored"]
fn a_failed_run_shows_its_cause_and_is_retried() {
    for url in runtail_testkit::server::all_urls() {
        let mut term = open_at(&url);
        let thread = thread_of(&url, &json!({"assistant_id": "broken", "input": {}}));
        open_page(&term, &thread, "✗ failed ");
        term.wait_until("the error in the banner", |term| {
            term.screen()
                .lines()
                .any(|line| line.contains("✗ ") && line.contains("boom: the node failed"))
        });
        term.keys("e");
        term.wait_for(" failed in boom; finished steps are saved.");
        term.keys("\x1b");
        term.wait_until("the card is closed", |term| {
            !term.screen().contains("Why it isn")
        });
        term.keys("R");
        term.wait_for("╭ Retry");
        confirm(&term);
        term.wait_for("run 2 failed in boom");
        quit(&mut term);
    }
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real dashboard -- --ignored"]
fn a_run_is_cancelled_and_its_status_verified() {
    for url in runtail_testkit::server::all_urls() {
        let mut term = open_at(&url);
        let thread =
            runtail_testkit::server::text(&post(&url, "/threads", &json!({})), "thread_id");
        let run = json!({"assistant_id": "slow", "input": {"seconds": 120}});
        let run = runtail_testkit::server::text(
            &post(&url, &format!("/threads/{thread}/runs"), &run),
            "run_id",
        );
        open_page(&term, &thread, "◐ running ");
        term.keys("x");
        term.wait_for("Cancel · run");
        confirm(&term);
        term.wait_for("■ cancelled ");
        let status = get(&url, &format!("/threads/{thread}/runs/{run}"))["status"].to_string();
        assert!(status.contains("interrupted"), "{status}");
        // Deleting requires the beginning of the thread's id.
        term.keys("D");
        term.wait_for(&format!("Type {} to confirm", &thread[..8]));
        term.keys(&thread[..8]);
        term.keys(SEND);
        term.wait_for("was deleted.");
        let address = url.trim_start_matches("http://");
        assert_eq!(
            runtail_testkit::server::request_at(
                address,
                "GET",
                &format!("/threads/{thread}"),
                None
            )
            .0,
            404
        );
        quit(&mut term);
    }
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real dashboard -- --ignored"]
fn an_active_run_continues_after_the_dashboard_exits() {
    for url in runtail_testkit::server::all_urls() {
        let mut term = open_at(&url);
        term.compose("slow");
        input(&term, "{\"seconds\": 120}");
        term.keys(SEND);
        term.wait_for("◐ running ");
        let head = term.screen().lines().nth(1).expect("a head").to_string();
        quit(&mut term);
        let shown = |thread: &String| head.contains(&runtail_core::text::short_id(thread));
        let threads = post(&url, "/threads/search", &json!({"limit": 100}));
        let threads = threads.as_array().expect("a list").iter();
        let thread = threads
            .map(|row| runtail_testkit::server::text(row, "thread_id"))
            .find(shown)
            .unwrap_or_else(|| panic!("{head}"));
        let mut term = open_at(&url);
        // Other tests create threads at the same time, so it isn't always the first.
        term.keys(&format!("/id:{thread}\r"));
        term.wait_until("the running thread, selected", |term| {
            term.screen()
                .lines()
                .any(|line| line.contains('▌') && line.contains("◐ running"))
        });
        term.keys("v");
        term.wait_for("TOOK");
        term.wait_for("◐ running");
        let runs = format!("/threads/{thread}/runs");
        let run = runtail_testkit::server::text(&get(&url, &runs)[0], "run_id");
        let address = url.trim_start_matches("http://");
        let path = format!("{runs}/{run}/cancel");
        runtail_testkit::server::request_at(address, "POST", &path, None);
        term.wait_for("■ cancelled");
        quit(&mut term);
    }
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real dashboard -- --ignored"]
fn a_pasted_thread_id_is_found_on_its_server() {
    let urls = runtail_testkit::server::all_urls();
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    // Nothing listens on port 9: an unreachable server is named and does not delay the search.
    let servers = urls
        .iter()
        .cloned()
        .chain(["http://127.0.0.1:9".to_string()]);
    let text: String = servers
        .enumerate()
        .map(|(n, url)| format!("[profiles.lab-{n}]\nagent_server = \"{url}\"\n"))
        .collect();
    std::fs::write(&config, text).expect("written");
    for (n, url) in urls.iter().enumerate() {
        let address = url.trim_start_matches("http://");
        let (status, made) = runtail_testkit::server::request_at(
            address,
            "POST",
            "/threads",
            Some(&serde_json::json!({})),
        );
        assert_eq!(status, 200, "{made}");
        let thread = runtail_testkit::server::text(&made, "thread_id");
        let term = Term::spawn(&["--config", config.to_str().expect("UTF-8")], 140, 40);
        term.wait_for("lab-0");
        term.keys(&format!(":{thread}\r"));
        // Its page, because another notice may replace the one that it was found.
        term.wait_for(&format!(
            "lab-{n} › thread {}",
            runtail_core::text::short_id(&thread)
        ));
        term.keys(":00000000-0000-4000-8000-000000000000\r");
        term.wait_for("was not found on lab-");
        let dead = format!("lab-{}: no connection", urls.len());
        term.wait_for(&dead);
    }
}
