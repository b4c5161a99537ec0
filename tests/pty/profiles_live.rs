//! Profiles that change under a dashboard in a pseudo-terminal, over the simulator: the file is rewritten while it runs.

use runtail_sim::{Options, Rule, Scenario, Sim};
use runtail_testkit::term::Term;
use std::path::PathBuf;

/// A key that opens nothing.
const WRONG: &str = "lsv2_pt_wrong0123456789";

/// A simulator, and a folder for the configuration.
struct World {
    _runtime: tokio::runtime::Runtime,
    sim: Sim,
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        rustls::crypto::ring::default_provider().install_default().ok();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let options = Options { scenario: Scenario::Fleet { deployments: 3 }, speed: 1.0, ..Options::default() };
        let sim = runtime.block_on(Sim::start(options)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        World { _runtime: runtime, sim, folder }
    }

    /// Where the configuration is looked for.
    fn file(&self) -> PathBuf {
        self.folder.path().join("runtail/config.toml")
    }

    /// A profile, with its key in this variable.
    fn profile(&self, name: &str, variable: &str) -> String {
        let url = &self.sim.regions()[0].url;
        format!("# {name}\n[profiles.{name}]\ncontrol_plane = \"{url}\" # here\napi_key_env = \"{variable}\"\n")
    }

    /// Writes the file as editors do: beside it, then in its place.
    fn write(&self, profiles: &[String]) {
        let text = format!("{}[poll]\ninterval = \"1s\"\n", profiles.concat());
        std::fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        std::fs::write(self.file().with_extension("new"), text).unwrap();
        std::fs::rename(self.file().with_extension("new"), self.file()).unwrap();
    }

    #[track_caller]
    fn open(&self) -> Term {
        let (folder, key) = (self.folder.path().to_string_lossy(), self.sim.regions()[0].api_key.clone());
        let env = [("XDG_CONFIG_HOME", &*folder), ("RIGHT", key.as_str()), ("WRONG", WRONG)];
        Term::spawn_with(&env, &[], 140, 40)
    }

    /// No key was ever on the screen.
    fn assert_secret(&self, term: &Term) {
        let everything = String::from_utf8_lossy(&term.raw_output()).into_owned();
        assert!(!everything.contains(&self.sim.regions()[0].api_key) && !everything.contains(WRONG));
    }
}

#[test]
fn the_file_is_followed_while_it_is_changed_broken_and_put_right() {
    let world = World::new();
    world.write(&[world.profile("one", "RIGHT")]);
    let term = world.open();
    term.wait_for("one ●");
    let row = world.sim.requests().iter().filter(|r| r.path.ends_with("/v2/deployments")).count();
    assert!(row > 0);
    world.write(&[world.profile("one", "RIGHT"), world.profile("two", "RIGHT")]);
    term.wait_for("two ●");
    world.write(&["[profiles.one]\nregion = \"mars\"\n".into()]);
    term.wait_for("config.toml:2:10: unknown region \"mars\"");
    assert!(term.screen().contains("two ●"), "{}", term.screen());
    term.keys("p");
    term.wait_for("The current file is not in use");
    world.write(&[world.profile("one", "RIGHT")]);
    term.wait_until("two is gone", |term| {
        let screen = term.screen();
        !screen.contains("not in use:") && !screen.contains("two ●") && screen.contains("one ●")
    });
    // Another key, which is not taken: what was goes on.
    world.write(&[world.profile("one", "WRONG")]);
    term.wait_for("✗ 401, u uses it anyway");
    assert!(term.screen().contains("one ●"), "{}", term.screen());
    let asked = |world: &World| world.sim.requests().iter().filter(|r| r.query.contains("limit=100")).count();
    let before = asked(&world);
    term.wait_until("the next poll", |_| asked(&world) > before);
    assert!(term.screen().contains("one ●"), "{}", term.screen());
    // It is used all the same when somebody says so.
    term.keys("u");
    term.wait_for("one ✗ 401, r retries");
    world.assert_secret(&term);
}

#[test]
fn a_profile_is_switched_to_when_it_was_reached() {
    let world = World::new();
    let chosen = "default_profiles = [\"one\"]\n".to_string();
    world.write(&[chosen, world.profile("one", "RIGHT"), world.profile("bad", "WRONG"), world.profile("two", "RIGHT")]);
    let term = world.open();
    term.wait_for("one ●");
    term.keys("p");
    term.wait_for("[ ]  bad");
    term.keys("j\r");
    term.wait_for("✗ 401, u uses it anyway");
    assert!(term.screen().contains("[x]  one") && term.screen().contains("[ ]  bad"), "{}", term.screen());
    // While the next one is checked the old one stays.
    world.sim.rule(Rule::on("GET", "/v2/deployments?limit=1&").times(1).hang());
    term.keys("j\r");
    term.wait_for("checking two…");
    assert!(term.screen().contains("[x]  one"), "{}", term.screen());
    // The check is called off, and made again.
    term.keys(" ");
    term.wait_until("no check", |term| !term.screen().contains("checking"));
    term.keys("\r");
    term.wait_for("[x]  two");
    term.wait_until("one is left", |term| term.screen().contains("[ ]  one"));
    term.keys("\x1b");
    term.wait_for("two ●");
    world.assert_secret(&term);
}

#[test]
fn a_profile_is_edited_and_saved() {
    let world = World::new();
    world.write(&[world.profile("one", "RIGHT"), world.profile("two", "RIGHT")]);
    let before = std::fs::read_to_string(world.file()).unwrap();
    let term = world.open();
    term.wait_for("two ●");
    term.keys("p");
    term.wait_for("[x]  one");
    term.keys("je");
    term.wait_for("[profiles.two]");
    term.keys("\x1b[B\x1b[B\x1b[B\x1b[Blabel = \"PROD\"");
    term.wait_for("label = \"PROD\"");
    term.keys("\x12");
    term.wait_for("not saved");
    // A label needs no check: it counts at once.
    term.wait_for("‹PROD›");
    term.keys("s");
    term.wait_for("+ label = \"PROD\"");
    assert_eq!(std::fs::read_to_string(world.file()).unwrap(), before, "not before it was said");
    term.keys("\x13");
    term.wait_for("config.toml was written");
    let wanted = before.replace("\n[poll]", "\nlabel = \"PROD\"\n[poll]");
    assert_eq!(std::fs::read_to_string(world.file()).unwrap(), wanted);
    world.assert_secret(&term);
}

#[test]
fn without_a_configuration_the_first_run_leads_to_one() {
    let world = World::new();
    let mut term = world.open();
    term.wait_for("Not configured yet");
    term.keys("j\r");
    term.wait_for("✗ us: the environment variable LANGSMITH_API_KEY is not set");
    // Somebody makes the file in another window.
    world.write(&[world.profile("one", "RIGHT")]);
    term.wait_for("one ●");
    assert!(!term.screen().contains("Not configured"), "{}", term.screen());
    term.keys("q");
    assert_eq!(term.exit_status().exit_code(), 0);
}
