//! The tabs of the last session, in a real terminal.

use runtail_sim::{Options, Request, Sim};
use runtail_testkit::process;
use runtail_testkit::term::Term;
use serde_json::Value;
use std::path::PathBuf;

struct Session {
    _runtime: tokio::runtime::Runtime,
    sim: Sim,
    folder: tempfile::TempDir,
}

impl Session {
    fn new(ui: &str) -> Session {
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
        let region = &sim.regions()[0];
        // The address of the agent server is known only from the list of deployments.
        let text = format!(
            "[profiles.us]\ncontrol_plane = \"{}\"\nworkspace = \"{}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n{ui}",
            region.url, region.workspace
        );
        std::fs::write(folder.path().join("config.toml"), text).expect("a configuration");
        Session {
            _runtime: runtime,
            sim,
            folder,
        }
    }

    fn term(&self) -> Term {
        let (state, config) = (
            self.folder.path().join("state"),
            self.folder.path().join("config.toml"),
        );
        let key = &self.sim.regions()[0].api_key;
        let env = [
            ("RUNTAIL_TEST_KEY", key.as_str()),
            ("XDG_STATE_HOME", state.to_str().unwrap()),
        ];
        Term::spawn_with(&env, &["--config", config.to_str().unwrap()], 140, 40)
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("state/runtail/tabs.json")
    }

    fn writes(&self) -> Vec<Request> {
        let is_read = |r: &Request| {
            let is_search = r.path.ends_with("/search")
                || r.path.ends_with("/history")
                || r.path.ends_with("/count");
            r.method == "GET" || is_search
        };
        self.sim
            .requests()
            .into_iter()
            .filter(|r| !is_read(r))
            .collect()
    }

    /// Starts a thread on an agent server. Returns its id.
    fn thread(&self) -> String {
        let url = self.sim.agents()[0].url.clone();
        let done = process::launch(
            process::command(["--url", &url, "run", "support", "--input", "{}"]),
            "",
        )
        .wait();
        done.expect(0).json_lines()[0]["thread_id"]
            .as_str()
            .expect("an id")
            .to_string()
    }
}

#[test]
fn tabs_come_back_and_a_missing_thread_is_named() {
    let session = Session::new("[ui]\nrestore = true\n");
    let url = session.sim.agents()[0]
        .url
        .trim_end_matches('/')
        .to_string();
    let threads = [session.thread(), session.thread()];
    let ends = threads.clone().map(|id| id[id.len() - 4..].to_string());
    let mut term = session.term();
    term.wait_for("support-bot");
    for (thread, end) in threads.iter().zip(&ends) {
        term.keys(&format!(":{url}/threads/{thread}\r"));
        term.wait_for(&format!("support {end}"));
        // It stays in its tab.
        term.keys("||");
    }
    let has_both = |term: &Term| {
        ends.iter()
            .all(|end| term.screen().contains(&format!("support {end}")))
    };
    term.wait_until("both tabs", has_both);
    term.keys("\u{3}");
    assert!(term.exit_status().success());
    let text = std::fs::read_to_string(session.file()).expect("a file");
    let mut saved: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(saved["tabs"].as_array().map(Vec::len), Some(2), "{text}");
    assert!(
        !text.contains(&session.sim.regions()[0].api_key) && !text.contains("127.0.0.1"),
        "{text}"
    );

    session.sim.forget_requests();
    let mut missing = saved["tabs"][0].clone();
    missing["thread"] = "00000000-0000-4000-8000-00000000dead".into();
    saved["tabs"].as_array_mut().unwrap().push(missing);
    std::fs::write(session.file(), saved.to_string()).unwrap();
    let mut term = session.term();
    term.wait_until("both tabs", has_both);
    term.keys("!");
    term.wait_for("Couldn't restore us");
    term.wait_for("dead: not found");
    assert!(session.writes().is_empty(), "{:?}", session.writes());
    term.keys("\u{3}");
    assert!(term.exit_status().success());
    let saved = std::fs::read_to_string(session.file()).unwrap();
    assert!(
        !saved.contains("dead") && threads.iter().all(|id| saved.contains(id)),
        "{saved}"
    );
}

#[test]
fn a_damaged_file_is_a_warning() {
    let session = Session::new("[ui]\nrestore = true\n");
    std::fs::create_dir_all(session.file().parent().unwrap()).unwrap();
    std::fs::write(session.file(), "{\"version\": 1, \"tabs\": [{").unwrap();
    let mut term = session.term();
    term.wait_for("Couldn't restore the last tabs");
    term.wait_for("support-bot");
    // It may be the file of another version.
    term.keys("\u{3}");
    assert!(term.exit_status().success());
    assert_eq!(
        std::fs::read_to_string(session.file()).unwrap(),
        "{\"version\": 1, \"tabs\": [{"
    );
}

#[test]
fn without_the_setting_nothing_is_read_or_written() {
    let session = Session::new("");
    std::fs::create_dir_all(session.file().parent().unwrap()).unwrap();
    std::fs::write(session.file(), "not JSON").unwrap();
    let mut term = session.term();
    term.wait_for("support-bot");
    assert!(
        !term.screen().contains("Couldn't restore"),
        "{}",
        term.screen()
    );
    term.keys("\u{3}");
    assert!(term.exit_status().success());
    assert_eq!(std::fs::read_to_string(session.file()).unwrap(), "not JSON");
}
