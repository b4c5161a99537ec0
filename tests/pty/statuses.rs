//! Every thread status as shown by each part of the program: the page's badge and views, the explanation, the list and the
//! commands; when opened and after a restart; compared with the server's own records.

use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::server::{request_at, text};
use runtail_testkit::term::{TIMEOUT, Term};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Python,
    JavaScript,
    Aegra,
    Contract,
}

use Kind::{Aegra, Contract, JavaScript, Python};

/// A simulated or real agent server.
struct Server {
    kind: Kind,
    url: String,
    is_simulated: bool,
}

impl Server {
    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        request_at(self.url.trim_start_matches("http://"), method, path, body)
    }

    fn thread(&self) -> String {
        text(
            &self.call("POST", "/threads", Some(&json!({}))).1,
            "thread_id",
        )
    }

    /// Starts a run in the background, waits until it has one of these statuses and returns its id.
    fn run(&self, thread: &str, body: &Value, until: &[&str]) -> String {
        let (status, run) = self.call("POST", &format!("/threads/{thread}/runs"), Some(body));
        assert!((200..300).contains(&status), "{status} {run}");
        let run = text(&run, "run_id");
        self.wait_for_run(thread, &run, until);
        run
    }

    fn wait_for_run(&self, thread: &str, run: &str, until: &[&str]) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let (_, record) = self.call("GET", &format!("/threads/{thread}/runs/{run}"), None);
            if until.contains(&record["status"].as_str().unwrap_or_default()) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "run {run} is {record}, not one of {until:?}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Runs this on a thread, and waits for the run's end.
    fn finish(&self, thread: &str, body: &Value) {
        self.run(thread, body, &["success", "error", "interrupted"]);
    }

    fn says(&self, text: &str) -> Value {
        json!({"messages": [{"role": "user", "content": text}]})
    }

    /// Creates a thread with this run, and waits for the run's end.
    fn with_finished_agent(&self) -> String {
        let input = json!({"messages": [{"role": "user", "content": "weather?"}]});
        self.with_finished_run(
            &json!({"assistant_id": "agent", "input": input, "stream_mode": ["values", "tasks"]}),
        )
    }

    fn with_finished_run(&self, body: &Value) -> String {
        let thread = self.thread();
        if self.kind == Contract {
            self.call(
                "POST",
                &format!("/threads/{thread}/runs/stream"),
                Some(body),
            );
        } else {
            self.finish(&thread, body);
        }
        thread
    }

    /// Cancels the runs of a thread, because runs of a deleted thread would continue and occupy a worker.
    fn cancel_all(&self, thread: &str) {
        let runs = self.call("GET", &format!("/threads/{thread}/runs"), None).1;
        let is_active =
            |run: &&Value| matches!(run["status"].as_str(), Some("pending" | "running"));
        for run in runs.as_array().into_iter().flatten().filter(is_active) {
            let run = text(run, "run_id");
            self.call(
                "POST",
                &format!("/threads/{thread}/runs/{run}/cancel?action=interrupt"),
                Some(&json!({})),
            );
            self.wait_for_run(
                thread,
                &run,
                &["interrupted", "cancelled", "error", "success"],
            );
        }
    }

    fn running(&self) -> (String, String) {
        let thread = self.thread();
        // Longer than its checks take. The simulator's clock is a hundred times faster.
        let seconds = if self.is_simulated { 24_000 } else { 240 };
        let run = self.run(
            &thread,
            &json!({"assistant_id": "slow", "input": {"seconds": seconds}}),
            &["running"],
        );
        (thread, run)
    }
}

/// A status, how to create it, and how it is shown.
struct Case {
    name: &'static str,
    servers: &'static [Kind],
    create: fn(&Server) -> String,
    /// The thread's status in the server's record, if the server has records.
    record: &'static str,
    badge: &'static str,
    /// In the Runs view.
    runs: &'static str,
    /// In the explanation of the status.
    explained: &'static str,
    /// In the list and in the tables of commands; alternatives are separated by `|`. The list calls a thread stuck once the inbox was
    /// read.
    word: &'static str,
}

const LISTING: &[Kind] = &[Python, JavaScript, Aegra];
const ALL: &[Kind] = &[Python, JavaScript, Aegra, Contract];

const CASES: &[Case] = &[
    Case {
        name: "idle",
        servers: LISTING,
        create: Server::with_finished_agent,
        record: "idle",
        badge: "● idle · last run finished ",
        runs: " finished · ",
        explained: " finished. Nothing to do.",
        word: "idle",
    },
    Case {
        name: "idle, at an unknown time",
        servers: &[Contract],
        create: Server::with_finished_agent,
        record: "idle",
        badge: "● idle",
        runs: " finished · ",
        explained: " finished. Nothing to do.",
        word: "idle",
    },
    Case {
        name: "never run",
        servers: LISTING,
        create: Server::thread,
        record: "idle",
        badge: "● idle",
        runs: "7 Runs",
        explained: "No run is active.",
        word: "idle",
    },
    Case {
        name: "waiting",
        servers: ALL,
        create: |server| {
            server.with_finished_run(&json!({"assistant_id": "approval", "input": {"amount": 5}}))
        },
        record: "interrupted",
        badge: "◆ waiting for you ",
        runs: " paused · waiting for your answer",
        explained: " stopped with 1 question.",
        word: "waiting for you",
    },
    Case {
        name: "waiting for two answers",
        servers: LISTING,
        create: |server| server.with_finished_run(&json!({"assistant_id": "two", "input": {}})),
        record: "interrupted",
        badge: " · 2 questions",
        runs: " paused · waiting for your answer",
        explained: "Run 1 stopped with 2 questions",
        word: "waiting for you",
    },
    Case {
        name: "failed, reported only by the stream",
        servers: &[Contract],
        create: |server| {
            let body =
                json!({"assistant_id": "broken", "input": {}, "stream_mode": ["values", "tasks"]});
            server.with_finished_run(&body)
        },
        record: "",
        badge: "✗ failed ",
        runs: " failed in ",
        explained: "; finished steps are saved.",
        word: "",
    },
    Case {
        name: "ended, with an unreported outcome",
        servers: &[Contract],
        create: |server| {
            server.with_finished_run(
                &json!({"assistant_id": "broken", "input": {}, "stream_mode": ["values"]}),
            )
        },
        record: "",
        badge: "? status unknown: the stream does not show",
        runs: " outcome unknown",
        explained: "The records don't show the status.",
        word: "",
    },
    Case {
        name: "failed",
        servers: LISTING,
        create: |server| server.with_finished_run(&json!({"assistant_id": "broken", "input": {}})),
        record: "error",
        badge: "✗ failed ",
        runs: " failed in ",
        explained: "; finished steps are saved.",
        word: "failed",
    },
    Case {
        name: "running",
        servers: LISTING,
        create: |server| server.running().0,
        record: "busy",
        badge: "◐ running ",
        runs: "run 1",
        explained: "Run 1 is running in ",
        word: "running",
    },
    Case {
        name: "running, with another queued",
        servers: &[Python],
        create: |server| {
            let (thread, _) = server.running();
            let second = json!({"assistant_id": "slow", "input": {"seconds": 1}, "multitask_strategy": "enqueue"});
            server.run(&thread, &second, &["pending"]);
            thread
        },
        record: "busy",
        badge: " · 1 queued",
        runs: "queued",
        explained: "Run 1 is running in ",
        word: "running",
    },
    Case {
        name: "cancelled",
        servers: LISTING,
        create: |server| {
            let (thread, run) = server.running();
            let path = format!("/threads/{thread}/runs/{run}/cancel?action=interrupt");
            let (status, response) = server.call("POST", &path, Some(&json!({})));
            assert!((200..300).contains(&status), "{status} {response}");
            server.wait_for_run(&thread, &run, &["interrupted"]);
            thread
        },
        // JavaScript and Aegra leave it idle.
        record: "interrupted|idle",
        badge: "■ cancelled ",
        runs: "cancelled",
        explained: "Run 1 was cancelled;",
        word: "cancelled",
    },
    Case {
        name: "paused",
        servers: &[Python, JavaScript],
        create: |server| {
            let body = json!({"assistant_id": "approval", "input": {"amount": 5}, "interrupt_before": ["ask"]});
            server.with_finished_run(&body)
        },
        record: "interrupted",
        badge: "◆ paused before ask",
        runs: "paused before ask",
        explained: "Run 1 paused at a breakpoint before ask.",
        word: "paused",
    },
    Case {
        name: "edited",
        servers: &[Python],
        create: |server| {
            let thread = server
                .with_finished_run(&json!({"assistant_id": "approval", "input": {"amount": 5}}));
            let path = format!("/threads/{thread}/state");
            let (status, response) =
                server.call("POST", &path, Some(&json!({"values": {"amount": 6}})));
            assert_eq!(status, 200, "{response}");
            thread
        },
        record: "interrupted",
        badge: "■ state edited ",
        runs: "run 1",
        explained: "The state was edited after the last run. Next: ask.",
        word: "state edited",
    },
    Case {
        name: "busy without a run",
        servers: &[Python],
        create: |server| {
            let (thread, run) = server.running();
            assert_eq!(
                server
                    .call("DELETE", &format!("/threads/{thread}/runs/{run}"), None)
                    .0,
                204
            );
            thread
        },
        record: "busy",
        badge: "? busy",
        runs: "7 Runs",
        explained: "Probably an active run was deleted.",
        word: "busy, no|Busy, but no run",
    },
];

/// Runs the situation on a thread, and waits for its end.
type Begin = fn(&Server, &str);

/// What people's agents come to, on the real servers only: how it comes about while the page is open, what the Messages view shows,
/// and the status. The cases create an empty thread.
const OF_AGENTS: &[(Begin, &str, Case)] = &[
    (
        |server, thread| {
            server.finish(
                thread,
                &json!({"assistant_id": "percall", "input": server.says("Hi")}),
            )
        },
        "I mail Ann and delete the old file.",
        Case {
            name: "waiting for an approval of each call",
            servers: &[Python, Aegra],
            ..APPROVAL
        },
    ),
    (
        |server, thread| {
            server.finish(
                thread,
                &json!({"assistant_id": "batch", "input": server.says("Hi")}),
            )
        },
        "I mail Ann and delete the old file.",
        Case {
            name: "waiting for approvals in one batch",
            servers: &[Python, Aegra],
            ..APPROVAL
        },
    ),
    (
        |server, thread| {
            server.finish(
                thread,
                &json!({"assistant_id": "hitl", "input": server.says("Hi")}),
            )
        },
        "I mail Ann and delete the old file.",
        Case {
            name: "waiting for approvals in one batch, in camelCase",
            servers: &[JavaScript],
            ..APPROVAL
        },
    ),
    (
        |server, thread| {
            let body = json!({"assistant_id": "agent", "input": server.says("Hi"), "interrupt_before": ["tools"]});
            server.finish(thread, &body);
        },
        "Let me look that up.",
        Case {
            name: "at a breakpoint, which leaves Aegra's thread idle",
            record: "interrupted|idle",
            ..BREAKPOINT
        },
    ),
    (
        |server, thread| {
            let body = json!({"assistant_id": "agent", "input": server.says("Hi"), "interrupt_before": ["tools"],
                              "stream_mode": ["values", "updates", "messages-tuple"]});
            server.finish(thread, &body);
        },
        "Let me look that up.",
        Case {
            name: "at a breakpoint, whose updates Aegra streams",
            ..BREAKPOINT
        },
    ),
    (
        |server, thread| {
            for text in ["one", "two", "three"] {
                server.finish(
                    thread,
                    &json!({"assistant_id": "summ", "input": server.says(text)}),
                );
            }
        },
        "Summary: asked twice.",
        Case {
            name: "summarized",
            servers: &[Python, Aegra],
            create: Server::thread,
            record: "idle",
            badge: "● idle · last run finished ",
            runs: " finished · ",
            explained: " finished. Nothing to do.",
            word: "idle",
        },
    ),
    (
        |server, thread| server.finish(thread, &json!({"assistant_id": "provider", "input": {}})),
        "Error code: 429",
        Case {
            name: "failed with a provider's error, which Python masks in the thread's record",
            servers: &[Python, Aegra],
            create: Server::thread,
            record: "error",
            badge: "✗ failed ",
            runs: " failed in call_model",
            explained: "; finished steps are saved.",
            word: "failed",
        },
    ),
];

const APPROVAL: Case = Case {
    name: "",
    servers: &[],
    create: Server::thread,
    record: "interrupted",
    badge: "◆ waiting for you ",
    runs: " paused · waiting for your answer",
    explained: "Run 1 stopped ",
    word: "waiting for you",
};

const BREAKPOINT: Case = Case {
    name: "",
    servers: LISTING,
    create: Server::thread,
    record: "interrupted",
    badge: "◆ paused before tools",
    runs: "paused before tools",
    explained: "Run 1 paused at a breakpoint before tools.",
    word: "paused",
};

/// Opens the dashboard on a server and waits for its list of threads, or the message that it has none.
fn open(server: &Server) -> Term {
    let term = Term::spawn(&["--url", &server.url], 140, 40);
    term.wait_for(if server.kind == Contract {
        "Couldn't list threads"
    } else {
        "WHAT IT NEEDS"
    });
    term
}

/// Whether a line contains one of the words.
fn says(line: &str, words: &str) -> bool {
    words.split('|').any(|word| line.contains(word))
}

fn wait_for_row(term: &Term, thread: &str, word: &str) {
    let short = &thread[thread.len() - 4..];
    term.wait_until(&format!("the row of {short} with {word:?}"), |term| {
        term.screen()
            .lines()
            .any(|line| line.contains(short) && says(line, word))
    });
}

/// Checks that all views of a thread's page show its status.
fn check_page(term: &Term, thread: &str, case: &Case, messages: &str) {
    term.keys(&format!(":{thread}\r"));
    check_views(term, case, messages);
}

fn check_views(term: &Term, case: &Case, messages: &str) {
    term.wait_for(case.badge);
    for (key, title) in [
        ("2", "2 Steps"),
        ("3", "3 State"),
        ("4", "4 Timeline"),
        ("6", "6 Events"),
        ("1", "1 Messages"),
        ("7", "7 Runs"),
    ] {
        term.keys(key);
        term.wait_for(title);
        term.wait_for(case.badge);
        if key == "1" {
            term.wait_for(messages);
        }
    }
    // The newest run unfolds, also if it was unfolded before.
    term.keys("\x1b[D\x1b[C");
    term.wait_for(case.runs);
    term.keys("e");
    term.wait_for(case.explained);
    term.keys("\x1b");
    term.wait_until("the card is closed", |term| {
        !term.screen().contains(case.explained)
    });
}

/// Checks a case live, if `begin` makes it on the case's thread, then later and after a restart.
fn check(server: &Server, case: &Case, begin: Option<Begin>, messages: &str) {
    eprintln!("{:?}: {}", server.kind, case.name);
    let thread = (case.create)(server);
    if let Some(begin) = begin {
        let term = open(server);
        term.keys(&format!(":{thread}\r"));
        term.wait_for("● idle");
        begin(server, &thread);
        check_views(&term, case, messages);
    }
    if server.kind != Contract {
        // A server may update the thread's record shortly after the run's.
        let until = Instant::now() + TIMEOUT;
        loop {
            let record = server.call("GET", &format!("/threads/{thread}"), None).1;
            if case
                .record
                .split('|')
                .any(|status| record["status"] == status)
            {
                break;
            }
            assert!(Instant::now() < until, "{}: {record}", case.name);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let term = open(server);
    check_page(&term, &thread, case, messages);
    drop(term);
    // After a restart the list and the page are loaded again.
    let term = open(server);
    if server.kind != Contract {
        wait_for_row(&term, &thread, case.word);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_runtail"))
            .args([
                "--url",
                &server.url,
                "threads",
                "get",
                &thread,
                "-o",
                "table",
            ])
            .output()
            .expect("the binary starts");
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = output
            .lines()
            .find(|line| line.starts_with("status "))
            .unwrap_or_default();
        assert!(says(status, case.word), "{}: {output}", case.name);
    }
    check_page(&term, &thread, case, messages);
    if server.kind != Contract {
        term.keys("\x1b");
        // The page's head looks like a row, and a key right behind Esc would be read as Alt and that key.
        term.wait_until("the page is left", |term| !term.screen().contains("5 Runs"));
        wait_for_row(&term, &thread, case.word);
    }
    if case.record == "busy" {
        server.cancel_all(&thread);
        server.call("DELETE", &format!("/threads/{thread}"), None);
        if server.kind != Contract {
            term.keys(&format!(":{thread}\r"));
            term.keys("r");
            term.wait_for("■ not found");
        }
    }
}

fn simulated(scenario: Scenario, kind: Kind) {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let options = Options {
        scenario,
        ..Options::default()
    };
    let sim = runtime
        .block_on(Sim::start(options))
        .expect("servers on loopback");
    let server = Server {
        kind,
        url: sim.agents()[0].url.clone(),
        is_simulated: true,
    };
    CASES
        .iter()
        .filter(|case| case.servers.contains(&kind))
        .for_each(|case| check(&server, case, None, ""));
}

fn real(variable: &str, kind: Kind) {
    let Ok(url) = std::env::var(variable) else {
        eprintln!("skipped: {variable} is not set, because that server is not installed");
        return;
    };
    let server = Server {
        kind,
        url,
        is_simulated: false,
    };
    CASES
        .iter()
        .filter(|case| case.servers.contains(&kind))
        .for_each(|case| check(&server, case, None, ""));
    for (begin, messages, case) in OF_AGENTS
        .iter()
        .filter(|(_, _, case)| case.servers.contains(&kind))
    {
        check(&server, case, Some(*begin), messages);
    }
}

#[test]
fn thread_statuses_with_the_simulator() {
    simulated(Scenario::Empty, Python);
}

#[test]
fn thread_statuses_with_a_contract_only_server() {
    simulated(Scenario::Contract, Contract);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test pty statuses -- --ignored"]
fn thread_statuses_with_real_python() {
    runtail_testkit::server::url();
    real("RUNTAIL_REAL_URL", Python);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test pty statuses -- --ignored"]
fn thread_statuses_with_real_javascript() {
    real("RUNTAIL_JS_URL", JavaScript);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test pty statuses -- --ignored"]
fn thread_statuses_with_real_aegra() {
    real("RUNTAIL_AEGRA_URL", Aegra);
}
