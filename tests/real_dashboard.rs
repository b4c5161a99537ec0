//! The dashboard in a real terminal on the real Python agent server (`tests/real/serve`).
#![cfg(feature = "tui")]

mod support;

use support::term::Term;

fn open() -> Term {
    let url = support::server::url();
    let term = Term::spawn(&["--url", &url], 140, 40);
    term.wait_for("   2 Assistants ");
    term
}

/// Replaces the input of the composer.
fn input(term: &Term, text: &str) {
    term.keys("\x05\x15"); // to the end of the line, and away with it
    term.keys(text);
    term.wait_for("● JSON");
    term.wait_for(text);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_dashboard -- --ignored"]
fn a_run_is_composed_and_read_in_every_view() {
    let mut term = open();
    term.compose("agent");
    term.keys("weather in Kraków?");
    term.wait_for("weather in Kraków?");
    term.keys("\x12");
    term.wait_for("ended: success");
    let messages = term.screen();
    assert!(messages.contains("→ weather {\"city\": \"Kraków\""), "{messages}");
    assert_eq!(messages.matches("Let me look that up.").count(), 1, "never doubled: {messages}");
    for (key, shown) in [("2", "chat"), ("3", "state "), ("5", "started"), ("7", "messages")] {
        term.keys(key);
        term.wait_for(shown);
    }
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_dashboard -- --ignored"]
fn an_interrupt_is_answered() {
    let mut term = open();
    term.compose("approval");
    input(&term, "{}");
    term.keys("\x12");
    term.wait_for("ended: interrupted");
    term.wait_for("waits for");
    term.keys("a");
    term.wait_for("ANSWER THE INTERRUPT");
    assert!(term.screen().contains("‹ approval ›"), "the assistant that asked: {}", term.screen());
    // Nothing is approved by two keys.
    term.keys("\x12");
    term.wait_for("Nothing was sent");
    term.keys("{\"approved\": true}\x12");
    term.wait_for("ended: success");
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_dashboard -- --ignored"]
fn a_failed_run_says_why_and_its_thread_too() {
    let mut term = open();
    term.compose("broken");
    input(&term, "{}");
    term.keys("\x12");
    term.wait_for("ended: error");
    term.wait_for("boom: the node failed");
    // The thread is tailed from its start: the error itself is never replayed, the rest is.
    term.keys("\x1b");
    term.wait_for("› assistants");
    term.keys("1");
    term.wait_until("the failed thread, selected", |term| {
        term.screen().lines().any(|l| l.contains('▌') && l.contains("✗ error"))
    });
    term.keys("\r");
    term.wait_for("LIVE");
    term.keys("5");
    term.wait_for("started");
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_dashboard -- --ignored"]
fn a_run_under_way_is_joined_and_outlives_the_dashboard() {
    let mut term = open();
    term.compose("slow");
    input(&term, "{\"seconds\": 6}");
    term.keys("\x12");
    term.wait_for("LIVE");
    term.wait_for("› run 0");
    term.keys("\x1b");
    term.wait_for("› assistants");
    term.keys("1");
    term.wait_until("the busy thread, selected", |term| {
        term.screen().lines().any(|l| l.contains('▌') && l.contains("◐ busy"))
    });
    term.keys("v");
    term.wait_for("TOOK");
    term.wait_for("◐ running");
    term.keys("\r");
    term.wait_for("ended: success");
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test real_dashboard -- --ignored"]
fn a_pasted_thread_id_is_found_on_whichever_server_has_it() {
    let urls = support::server::all_urls();
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    // Nothing listens on port 9: a dead server is named, and holds nobody up.
    let servers = urls.iter().cloned().chain(["http://127.0.0.1:9".to_string()]);
    let text: String =
        servers.enumerate().map(|(n, url)| format!("[profiles.lab-{n}]\nagent_server = \"{url}\"\n")).collect();
    std::fs::write(&config, text).expect("written");
    for (n, url) in urls.iter().enumerate() {
        let address = url.trim_start_matches("http://");
        let (status, made) = support::server::request_at(address, "POST", "/threads", Some(&serde_json::json!({})));
        assert_eq!(status, 200, "{made}");
        let thread = support::server::text(&made, "thread_id");
        let term = Term::spawn(&["--config", config.to_str().expect("UTF-8")], 140, 40);
        term.wait_for("lab-0");
        term.keys(&format!(":{thread}\r"));
        term.wait_for(&format!("Found thread {} on lab-{n}", runtail::text::short_id(&thread)));
        term.keys(":00000000-0000-4000-8000-000000000000\r");
        term.wait_for("was not found on lab-");
        let dead = format!("lab-{}: no connection", urls.len());
        term.wait_for(&dead);
    }
}
