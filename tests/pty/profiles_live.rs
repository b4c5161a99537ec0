//! Profiles that change while the dashboard runs, in a pseudo-terminal with the simulator: the file is rewritten.

use runtail_sim::{Options, Rule, Scenario, Sim};
use runtail_testkit::term::Term;
use std::path::PathBuf;

/// An invalid key.
const WRONG: &str = "lsv2_pt_wrong0123456789";

/// A simulator, and a folder for the configuration.
struct TestServer {
    _runtime: tokio::runtime::Runtime,
    sim: Sim,
    folder: tempfile::TempDir,
}

impl TestServer {
    fn new() -> TestServer {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let options = Options {
            scenario: Scenario::Fleet { deployments: 3 },
            speed: 1.0,
            ..Options::default()
        };
        let sim = runtime.block_on(Sim::start(options)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        TestServer {
            _runtime: runtime,
            sim,
            folder,
        }
    }

    /// Returns the path of the configuration file.
    fn file(&self) -> PathBuf {
        self.folder.path().join("runtail/config.toml")
    }

    /// Returns a profile with its key in this variable.
    fn profile(&self, name: &str, variable: &str) -> String {
        let url = &self.sim.regions()[0].url;
        format!(
            "# {name}\n[profiles.{name}]\ncontrol_plane = \"{url}\" # here\napi_key_env = \"{variable}\"\n"
        )
    }

    /// Writes the file like editors do: to a new file that replaces the old one.
    fn write(&self, profiles: &[String]) {
        let text = format!("{}[poll]\ninterval = \"1s\"\n", profiles.concat());
        std::fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        std::fs::write(self.file().with_extension("new"), text).unwrap();
        std::fs::rename(self.file().with_extension("new"), self.file()).unwrap();
    }

    #[track_caller]
    fn open(&self) -> Term {
        self.open_with(&[])
    }

    fn open_with(&self, more: &[(&str, &str)]) -> Term {
        let (folder, key) = (
            self.folder.path().to_string_lossy(),
            self.sim.regions()[0].api_key.clone(),
        );
        let mut env = vec![
            ("XDG_CONFIG_HOME", &*folder),
            ("RIGHT", key.as_str()),
            ("WRONG", WRONG),
        ];
        env.extend(more);
        Term::spawn_with(&env, &[], 140, 40)
    }

    /// Checks that no key was ever on screen.
    fn assert_no_key_shown(&self, term: &Term) {
        let everything = String::from_utf8_lossy(&term.raw_output()).into_owned();
        assert!(
            !everything.contains(&self.sim.regions()[0].api_key) && !everything.contains(WRONG)
        );
    }
}

#[test]
fn configuration_file_is_reloaded_when_changed_broken_and_fixed() {
    let server = TestServer::new();
    server.write(&[server.profile("one", "RIGHT")]);
    let term = server.open();
    term.wait_for("one ●");
    let polls = server
        .sim
        .requests()
        .iter()
        .filter(|r| r.path.ends_with("/v2/deployments"))
        .count();
    assert!(polls > 0);
    server.write(&[
        server.profile("one", "RIGHT"),
        server.profile("two", "RIGHT"),
    ]);
    term.wait_for("two ●");
    server.write(&["[profiles.one]\nregion = \"mars\"\n".into()]);
    term.wait_for("config.toml:2:10: unknown region \"mars\"");
    assert!(term.screen().contains("two ●"), "{}", term.screen());
    term.keys("p");
    term.wait_for("The current file isn't used");
    server.write(&[server.profile("one", "RIGHT")]);
    term.wait_until("two is gone", |term| {
        let screen = term.screen();
        !screen.contains("not in use:") && !screen.contains("two ●") && screen.contains("one ●")
    });
    // The new key is rejected: the old definition stays in use.
    server.write(&[server.profile("one", "WRONG")]);
    term.wait_for("server rejected the key · U uses it anyway");
    assert!(term.screen().contains("one ●"), "{}", term.screen());
    let polls = |server: &TestServer| {
        server
            .sim
            .requests()
            .iter()
            .filter(|r| r.query.contains("limit=100"))
            .count()
    };
    let before = polls(&server);
    term.wait_until("the next poll", |_| polls(&server) > before);
    assert!(term.screen().contains("one ●"), "{}", term.screen());
    // U uses it anyway.
    term.keys("U");
    term.wait_for("one ✗ 401, r retries");
    server.assert_no_key_shown(&term);
}

#[test]
fn switching_profiles_waits_for_a_successful_check() {
    let server = TestServer::new();
    let chosen = "default_profiles = [\"one\"]\n".to_string();
    server.write(&[
        chosen,
        server.profile("one", "RIGHT"),
        server.profile("bad", "WRONG"),
        server.profile("two", "RIGHT"),
    ]);
    let term = server.open();
    term.wait_for("one ●");
    term.keys("p");
    term.wait_for("[ ]  bad");
    term.keys("jU");
    term.wait_for("server rejected the key · U uses it anyway");
    assert!(
        term.screen().contains("[x]  one") && term.screen().contains("[ ]  bad"),
        "{}",
        term.screen()
    );
    // While the next profile is checked, the old one stays in use.
    server
        .sim
        .rule(Rule::on("GET", "/v2/deployments?limit=1&").times(1).hang());
    term.keys("jU");
    term.wait_for("checking two…");
    assert!(term.screen().contains("[x]  one"), "{}", term.screen());
    // The check is canceled and repeated.
    term.keys(" ");
    term.wait_until("no check", |term| !term.screen().contains("checking"));
    term.keys("U");
    term.wait_for("[x]  two");
    term.wait_until("one is off", |term| term.screen().contains("[ ]  one"));
    term.keys("\x1b");
    term.wait_for("two ●");
    server.assert_no_key_shown(&term);
}

#[test]
fn profile_is_edited_in_the_users_editor() {
    let server = TestServer::new();
    server.write(&[
        server.profile("one", "RIGHT"),
        server.profile("two", "RIGHT"),
    ]);
    let before = std::fs::read_to_string(server.file()).unwrap();
    // The first time it makes a mistake, then it corrects it.
    let script = server.folder.path().join("editor");
    let said = "#!/bin/sh\necho \"editing $1 $2\"; [ -e \"$2.old\" ] && exec cp \"$2.old\" \"$2\"\n\
                cp \"$2\" \"$2.old\"; echo '[profiles.three]' >> \"$2\"\n";
    std::fs::write(&script, said).unwrap();
    let editor = format!("sh {}", script.display());
    let mut term = server.open_with(&[("EDITOR", &editor)]);
    term.wait_for("two ●");
    term.keys("p");
    term.wait_for("[x]  one");
    term.keys("j\r");
    term.wait_for("The current file isn't used");
    term.wait_for("the profile \"three\" has no server");
    let line = 1 + before
        .lines()
        .position(|line| line == "[profiles.two]")
        .unwrap();
    let raw = String::from_utf8_lossy(&term.raw_output()).into_owned();
    let shown = format!("editing +{line} {}", server.file().display());
    assert!(raw.contains(&shown), "{shown}: {raw}");
    assert!(term.screen().contains("[x]  two"), "{}", term.screen());
    term.keys("\r");
    // While the editor runs, the screen is its own.
    term.wait_until("the mistake is gone", |term| {
        term.screen().contains("[x]  two") && !term.screen().contains("isn't used")
    });
    server.assert_no_key_shown(&term);
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
}
