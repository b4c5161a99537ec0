//! Actions that use two agent servers, on the demo's two regions: the same input on both, and the copy of a thread.

use runtail_sim::{Options, Request, Sim};
use runtail_testkit::process;
use runtail_testkit::term::Term;

const INPUT: &str =
    r#"{"messages": [{"role": "user", "content": "Why was I charged twice in October?"}]}"#;

struct Regions {
    _runtime: tokio::runtime::Runtime,
    sim: Sim,
    folder: tempfile::TempDir,
}

impl Regions {
    fn start() -> Regions {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let options = Options {
            speed: 100.0,
            ..Options::demo()
        };
        let sim = runtime
            .block_on(Sim::start(options))
            .expect("servers on loopback");
        let folder = tempfile::tempdir().expect("a folder");
        let profile = |name: &str, at: usize, more: &str| {
            let url = &sim.agents()[at].url;
            format!(
                "[profiles.{name}]\nagent_server = {{ bot = \"{url}\" }}\napi_key_env = \"RUNTAIL_TEST_KEY\"\n{more}"
            )
        };
        let text = profile("us", 0, "")
            + &profile("eu", 1, "")
            + &profile("sealed", 1, "read_only = true\n");
        std::fs::write(folder.path().join("config.toml"), text).expect("a configuration");
        Regions {
            _runtime: runtime,
            sim,
            folder,
        }
    }

    fn config(&self) -> String {
        self.folder
            .path()
            .join("config.toml")
            .to_str()
            .unwrap()
            .to_string()
    }

    /// Runs the graph on the first server. Returns the thread.
    fn run(&self) -> String {
        let config = self.config();
        let mut command = process::command([
            "--config", &config, "-p", "us", "run", "support", "--input", INPUT,
        ]);
        command.env("RUNTAIL_TEST_KEY", "a-key");
        let done = process::launch(command, "").wait().expect(0);
        done.json_lines()[0]["thread_id"]
            .as_str()
            .expect("an id")
            .to_string()
    }

    /// Opens a thread of the first server.
    fn open(&self, thread: &str) -> Term {
        let term = Term::spawn_with(
            &[("RUNTAIL_TEST_KEY", "a-key")],
            &["--config", &self.config()],
            140,
            40,
        );
        term.wait_for("us");
        term.keys(&format!(
            ":{}/threads/{thread}\r",
            self.sim.agents()[0].url.trim_end_matches('/')
        ));
        term.wait_for("last run finished");
        self.sim.forget_requests();
        term
    }

    fn writes(&self) -> Vec<Request> {
        let is_read = |r: &Request| {
            r.method == "GET" || r.path.ends_with("/search") || r.path.ends_with("/history")
        };
        self.sim
            .requests()
            .into_iter()
            .filter(|r| !is_read(r))
            .collect()
    }
}

#[test]
fn the_same_input_is_previewed_for_both_servers_and_the_runs_are_compared() {
    let regions = Regions::start();
    let thread = regions.run();
    let term = regions.open(&thread);
    term.keys(":compare-run sealed/bot\r");
    term.wait_for("read-only");
    term.keys(":compare-run eu/bot\r");
    term.wait_for("on two servers");
    term.wait_for("2  POST");
    // Those to the second server come last.
    term.keys("G");
    term.wait_for("4  POST");
    assert!(regions.writes().is_empty(), "{:?}", regions.writes());
    term.keys("\x13");
    term.wait_for("Compare runs");
    term.wait_for("≠   calls");
    let writes = regions.writes();
    let starts = writes.iter().filter(|r| r.path.ends_with("/runs")).count();
    let threads = writes.iter().filter(|r| r.path == "/threads").count();
    assert_eq!((starts, threads, writes.len()), (2, 2, 4), "{writes:?}");
    assert!(
        !writes.iter().any(|r| r.path.contains(&thread)),
        "the thread itself is left alone"
    );
}

#[test]
fn a_thread_is_copied_to_another_server_and_opened_there() {
    let regions = Regions::start();
    let thread = regions.run();
    let term = regions.open(&thread);
    term.keys(":reproduce nowhere\r");
    term.wait_for("No agent server is listed as nowhere.");
    term.keys(":reproduce sealed/bot\r");
    term.wait_for("read-only");
    term.keys(":reproduce eu/bot --graph nothing\r");
    term.wait_for("has no graph nothing");
    term.keys("\x1b");
    term.wait_until("the dialog is closed", |term| {
        !term.screen().contains("has no graph nothing")
    });
    term.keys(":reproduce eu/bot\r");
    term.wait_for("No run is started");
    assert!(regions.writes().is_empty(), "{:?}", regions.writes());
    term.keys("\x13");
    term.wait_for(": done.");
    let writes = regions.writes();
    let [create] = writes.as_slice() else {
        panic!("{writes:?}")
    };
    let body: serde_json::Value = serde_json::from_slice(&create.body).unwrap();
    assert_eq!(
        (create.path.as_str(), &body["metadata"]["reproduced_from"]),
        ("/threads", &thread.as_str().into())
    );
    let copy = body["thread_id"].as_str().unwrap();
    // The copy's page is open.
    term.wait_for(&copy[copy.len() - 4..]);
    term.keys("1");
    term.wait_for("Why was I charged twice in October?");
}
