//! Every status of a thread, as each part of the program tells it: the page's badge, its views, the card that explains it,
//! the list and the headless commands; on opening and after a restart; held against the server's own records.

use runtail_core::text::short_id;
use runtail_sim::{Options, Scenario, Sim};
use runtail_testkit::server::{request_at, text};
use runtail_testkit::term::{PATIENCE, Term};
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

/// An agent server: the simulator's, or a real one.
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
        text(&self.call("POST", "/threads", Some(&json!({}))).1, "thread_id")
    }

    /// Starts a run in the background and waits until it has one of these statuses. Its id.
    fn run(&self, thread: &str, body: &Value, until: &[&str]) -> String {
        let (status, run) = self.call("POST", &format!("/threads/{thread}/runs"), Some(body));
        assert!((200..300).contains(&status), "{status} {run}");
        let run = text(&run, "run_id");
        self.wait_for_run(thread, &run, until);
        run
    }

    fn wait_for_run(&self, thread: &str, run: &str, until: &[&str]) {
        let patience = Instant::now() + Duration::from_secs(30);
        loop {
            let (_, record) = self.call("GET", &format!("/threads/{thread}/runs/{run}"), None);
            if until.contains(&record["status"].as_str().unwrap_or_default()) {
                return;
            }
            assert!(Instant::now() < patience, "run {run} is {record}, not one of {until:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A thread on which this run was made to its end.
    fn ended(&self, body: &Value) -> String {
        let thread = self.thread();
        if self.kind == Contract {
            self.call("POST", &format!("/threads/{thread}/runs/stream"), Some(body));
        } else {
            self.run(&thread, body, &["success", "error", "interrupted"]);
        }
        thread
    }

    /// Cancels what runs on a thread: a run whose thread is deleted would go on, and keep a worker.
    fn cancel_all(&self, thread: &str) {
        let runs = self.call("GET", &format!("/threads/{thread}/runs"), None).1;
        let is_active = |run: &&Value| matches!(run["status"].as_str(), Some("pending" | "running"));
        for run in runs.as_array().into_iter().flatten().filter(is_active) {
            let run = text(run, "run_id");
            self.call("POST", &format!("/threads/{thread}/runs/{run}/cancel?action=interrupt"), Some(&json!({})));
            self.wait_for_run(thread, &run, &["interrupted", "cancelled", "error", "success"]);
        }
    }

    fn running(&self) -> (String, String) {
        let thread = self.thread();
        // The simulator's clock runs a hundred times as fast.
        let seconds = if self.is_simulated { 3000 } else { 30 };
        let run = self.run(&thread, &json!({"assistant_id": "slow", "input": {"seconds": seconds}}), &["running"]);
        (thread, run)
    }
}

/// A status, how it comes about, and how it is told.
struct Case {
    name: &'static str,
    on: &'static [Kind],
    make: fn(&Server) -> String,
    /// The thread's status in the server's own record, where the server has one.
    record: &'static str,
    badge: &'static str,
    /// In the view Runs.
    runs: &'static str,
    /// In the card that explains the status.
    explained: &'static str,
    /// In the list and in the tables of the command line.
    word: &'static str,
}

const LISTING: &[Kind] = &[Python, JavaScript, Aegra];
const ALL: &[Kind] = &[Python, JavaScript, Aegra, Contract];

const CASES: &[Case] = &[
    Case {
        name: "idle",
        on: ALL,
        make: |server| {
            let input = json!({"messages": [{"role": "user", "content": "weather?"}]});
            server.ended(&json!({"assistant_id": "agent", "input": input, "stream_mode": ["values", "tasks"]}))
        },
        record: "idle",
        badge: "● idle · last run finished ",
        runs: " finished · ",
        explained: " finished. Nothing to do.",
        word: "idle",
    },
    Case {
        name: "never run",
        on: LISTING,
        make: Server::thread,
        record: "idle",
        badge: "● idle",
        runs: "5 Runs",
        explained: "No run is active on this thread.",
        word: "idle",
    },
    Case {
        name: "waiting",
        on: ALL,
        make: |server| server.ended(&json!({"assistant_id": "approval", "input": {"amount": 5}})),
        record: "interrupted",
        badge: "◆ waiting for you ",
        runs: " paused · waiting for your answer",
        explained: " stopped with a question and continues with the answer.",
        word: "waiting for you",
    },
    Case {
        name: "waiting for two answers",
        on: LISTING,
        make: |server| server.ended(&json!({"assistant_id": "two", "input": {}})),
        record: "interrupted",
        badge: " · 2 questions",
        runs: " paused · waiting for your answer",
        explained: "Run 1 stopped with 2 questions",
        word: "waiting for you",
    },
    Case {
        name: "failed, where only the stream tells",
        on: &[Contract],
        make: |server| {
            let body = json!({"assistant_id": "broken", "input": {}, "stream_mode": ["values", "tasks"]});
            server.ended(&body)
        },
        record: "",
        badge: "✗ failed ",
        runs: " failed in ",
        explained: " Its finished steps are saved.",
        word: "",
    },
    Case {
        name: "ended, and nobody tells how",
        on: &[Contract],
        make: |server| server.ended(&json!({"assistant_id": "broken", "input": {}, "stream_mode": ["values"]})),
        record: "",
        badge: "? status unknown: the newest run",
        runs: " ended · outcome not reported",
        explained: "Unknown status:",
        word: "",
    },
    Case {
        name: "failed",
        on: LISTING,
        make: |server| server.ended(&json!({"assistant_id": "broken", "input": {}})),
        record: "error",
        badge: "✗ failed ",
        runs: " failed in ",
        explained: " Its finished steps are saved.",
        word: "failed",
    },
    Case {
        name: "running",
        on: LISTING,
        make: |server| server.running().0,
        record: "busy",
        badge: "◐ running ",
        runs: "run 1",
        explained: "Run 1 is running in ",
        word: "running",
    },
    Case {
        name: "running, with another queued",
        on: &[Python],
        make: |server| {
            let (thread, _) = server.running();
            let second = json!({"assistant_id": "slow", "input": {"seconds": 1}, "multitask_strategy": "enqueue"});
            server.run(&thread, &second, &["pending"]);
            thread
        },
        record: "busy",
        badge: " · 1 queued",
        runs: "run 2 queued",
        explained: "Run 1 is running in ",
        word: "running",
    },
    Case {
        name: "cancelled",
        on: LISTING,
        make: |server| {
            let (thread, run) = server.running();
            let path = format!("/threads/{thread}/runs/{run}/cancel?action=interrupt");
            let (status, answer) = server.call("POST", &path, Some(&json!({})));
            assert!((200..300).contains(&status), "{status} {answer}");
            server.wait_for_run(&thread, &run, &["interrupted"]);
            thread
        },
        // JavaScript and Aegra leave it idle.
        record: "interrupted|idle",
        badge: "■ cancelled ",
        runs: "run 1 cancelled",
        explained: "Run 1 was cancelled.",
        word: "cancelled",
    },
    Case {
        name: "paused",
        on: &[Python, JavaScript],
        make: |server| {
            let body = json!({"assistant_id": "approval", "input": {"amount": 5}, "interrupt_before": ["ask"]});
            server.ended(&body)
        },
        record: "interrupted",
        badge: "◆ paused before ask",
        runs: "run 1 paused before ask",
        explained: "Run 1 is paused at a breakpoint before ask. Nothing failed.",
        word: "paused",
    },
    Case {
        name: "edited",
        on: &[Python],
        make: |server| {
            let thread = server.ended(&json!({"assistant_id": "approval", "input": {"amount": 5}}));
            let path = format!("/threads/{thread}/state");
            let (status, answer) = server.call("POST", &path, Some(&json!({"values": {"amount": 6}})));
            assert_eq!(status, 200, "{answer}");
            thread
        },
        record: "interrupted",
        badge: "■ state edited ",
        runs: "run 1",
        explained: "The state was edited and not continued since. Next is ask.",
        word: "state edited",
    },
    Case {
        name: "busy without a run",
        on: &[Python],
        make: |server| {
            let (thread, run) = server.running();
            assert_eq!(server.call("DELETE", &format!("/threads/{thread}/runs/{run}"), None).0, 204);
            thread
        },
        record: "busy",
        badge: "? busy",
        runs: "5 Runs",
        explained: "The thread's status is busy, but none of its runs is active.",
        word: "busy, no",
    },
];

/// Opens the dashboard on a server, with its list of threads or the reason why it has none.
fn open(server: &Server) -> Term {
    let term = Term::spawn(&["--url", &server.url], 140, 40);
    term.wait_for(if server.kind == Contract { "can't list its threads" } else { "GRAPH, NOTES" });
    term
}

fn row_says(term: &Term, thread: &str, word: &str) {
    let short = short_id(thread);
    term.wait_until(&format!("the row of {short} with {word:?}"), |term| {
        term.screen().lines().any(|line| line.contains(&short) && line.contains(word))
    });
}

/// The page of a thread says the same everywhere.
fn check_page(term: &Term, thread: &str, case: &Case) {
    term.keys(&format!(":{thread}\r"));
    term.wait_for(case.badge);
    for (key, title) in [
        ("2", "2 Updates"),
        ("3", "3 State"),
        ("4", "4 Timeline"),
        ("6", "6 Custom"),
        ("7", "7 Raw"),
        ("8", "8 Delivery"),
        ("1", "1 Messages"),
        ("5", "5 Runs"),
    ] {
        term.keys(key);
        term.wait_for(title);
        term.wait_for(case.badge);
    }
    term.wait_for(case.runs);
    term.keys("e");
    term.wait_for(case.explained);
    term.keys("\x1b");
    term.wait_until("the card is closed", |term| !term.screen().contains(case.explained));
}

fn check(server: &Server, case: &Case) {
    eprintln!("{:?}: {}", server.kind, case.name);
    let thread = (case.make)(server);
    if server.kind != Contract {
        // A server may change the thread's record a moment after the run's.
        let until = Instant::now() + PATIENCE;
        loop {
            let record = server.call("GET", &format!("/threads/{thread}"), None).1;
            if case.record.split('|').any(|status| record["status"] == status) {
                break;
            }
            assert!(Instant::now() < until, "{}: {record}", case.name);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let term = open(server);
    check_page(&term, &thread, case);
    drop(term);
    // A new start knows nothing: the list and the page are read again.
    let term = open(server);
    if server.kind != Contract {
        row_says(&term, &thread, case.word);
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_runtail"))
            .args(["--url", &server.url, "threads", "get", &thread, "-o", "table"])
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        let status = told.lines().find(|line| line.starts_with("status ")).unwrap_or_default();
        assert!(status.contains(case.word), "{}: {told}", case.name);
    }
    check_page(&term, &thread, case);
    if server.kind != Contract {
        term.keys("\x1b");
        row_says(&term, &thread, case.word);
    }
    if case.record == "busy" {
        server.cancel_all(&thread);
        server.call("DELETE", &format!("/threads/{thread}"), None);
        if server.kind != Contract {
            term.keys(&format!(":{thread}\r"));
            term.keys("r");
            term.wait_for("■ deleted");
        }
    }
}

fn simulated(scenario: Scenario, kind: Kind) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let options = Options { scenario, ..Options::default() };
    let sim = runtime.block_on(Sim::start(options)).expect("servers on loopback");
    let server = Server { kind, url: sim.agents()[0].url.clone(), is_simulated: true };
    CASES.iter().filter(|case| case.on.contains(&kind)).for_each(|case| check(&server, case));
}

fn real(variable: &str, kind: Kind) {
    let Ok(url) = std::env::var(variable) else {
        eprintln!("skipped: {variable} is not set, as that server is not installed here");
        return;
    };
    let server = Server { kind, url, is_simulated: false };
    CASES.iter().filter(|case| case.on.contains(&kind)).for_each(|case| check(&server, case));
}

#[test]
fn simulated_python() {
    simulated(Scenario::Empty, Python);
}

#[test]
fn simulated_javascript() {
    simulated(Scenario::JavaScript, JavaScript);
}

#[test]
fn simulated_aegra() {
    simulated(Scenario::Aegra, Aegra);
}

#[test]
fn a_server_with_only_the_calls_of_the_contract() {
    simulated(Scenario::Contract, Contract);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test pty statuses -- --ignored"]
fn real_python() {
    runtail_testkit::server::url();
    real("RUNTAIL_REAL_URL", Python);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test pty statuses -- --ignored"]
fn real_javascript() {
    real("RUNTAIL_JS_URL", JavaScript);
}

#[test]
#[ignore = "needs a real agent server: tests/real/serve -- cargo test --test pty statuses -- --ignored"]
fn real_aegra() {
    real("RUNTAIL_AEGRA_URL", Aegra);
}
