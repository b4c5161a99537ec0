//! Changing things in the dashboard, in a pseudo-terminal against the simulator: what is asked, and what the server was sent.

use runtail_sim::{Options, Request, Rule, Scenario, Sim};
use runtail_testkit::term::Term;
use std::os::unix::fs::PermissionsExt;

/// A simulator with a few deployments, and a configuration that leads to it.
struct World {
    _runtime: tokio::runtime::Runtime,
    sim: Sim,
    folder: tempfile::TempDir,
}

impl World {
    fn new(profile: &str) -> World {
        rustls::crypto::ring::default_provider().install_default().ok();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let options = Options { scenario: Scenario::Fleet { deployments: 3 }, speed: 60.0, ..Options::default() };
        let sim = runtime.block_on(Sim::start(options)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let url = &sim.regions()[0].url;
        let text = format!(
            "[poll]\ninterval = \"1s\"\n[profiles.here]\ncontrol_plane = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n{profile}\n"
        );
        std::fs::write(folder.path().join("config.toml"), text).unwrap();
        World { _runtime: runtime, sim, folder }
    }

    fn open(&self, args: &[&str], env: &[(&str, &str)]) -> Term {
        let key = self.sim.regions()[0].api_key.clone();
        let config = self.folder.path().join("config.toml");
        let config = config.to_str().unwrap();
        let env = [&[("RUNTAIL_TEST_KEY", key.as_str())], env].concat();
        Term::spawn_with(&env, &[&["--config", config], args].concat(), 120, 36)
    }

    /// What was sent to change something.
    fn writes(&self) -> Vec<Request> {
        let reads = |r: &Request| r.method == "GET" || r.path.ends_with("_logs");
        self.sim.requests().into_iter().filter(|r| !reads(r)).collect()
    }
}

/// The name in the first row.
fn first_name(term: &Term) -> String {
    term.wait_until("the list", |term| term.screen().contains("DEPLOYMENTS  3"));
    let row = term.screen().lines().find(|line| line.contains('▌')).expect("a selected row").to_string();
    row.split_whitespace().nth(1).expect("a name").to_string()
}

#[test]
fn a_deployment_is_deleted_by_its_name_and_followed_until_it_is_gone() {
    let world = World::new("");
    let term = world.open(&[], &[]);
    let name = first_name(&term);
    term.keys("D");
    term.wait_for("to confirm");
    term.keys("\r\x13"); // Enter, and the key that sends, before the name is there
    term.wait_for("exactly to continue. Nothing was sent.");
    assert!(world.writes().is_empty());
    term.keys(&name);
    term.wait_for("ctrl-s sends it");
    term.keys("\x13");
    term.wait_for("is deleted.");
    let writes = world.writes();
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert_eq!(writes[0].method, "DELETE");
    term.keys(":journal\r");
    term.wait_for("JOURNAL");
    term.wait_for("204");
}

#[test]
fn a_revision_is_deployed_again_and_watched() {
    let world = World::new("");
    let term = world.open(&[], &[]);
    first_name(&term);
    term.keys("\t");
    term.wait_for("serving");
    term.keys("R");
    term.wait_for("creates a new revision");
    term.keys("\x13");
    term.wait_for("Watching revision");
    term.wait_for("after you started watching");
    let writes = world.writes();
    assert_eq!(writes.len(), 1, "{writes:?}");
    assert!(writes[0].path.ends_with("/redeploy"), "{writes:?}");
}

#[test]
fn an_update_is_written_with_the_persons_own_editor_and_previewed() {
    let world = World::new("");
    let editor = world.folder.path().join("editor");
    // It also notes how it was called, and who may read what it was given.
    let script = "#!/bin/sh\n{ echo \"$@\"; stat -c %a \"$1\"; cat \"$1\"; tr '\\0' ' ' < /proc/$PPID/cmdline; } > \"$0.seen\"\nsed 's/^build_on_push = .*/build_on_push = false/; s/^\\[secrets\\]/[secrets]\\nNEW_ONE = \"env:RUNTAIL_TEST_SECRET\"/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let secret = "canary-7f3a91c2-in-the-environment";
    let term = world.open(&[], &[("VISUAL", editor.to_str().unwrap()), ("RUNTAIL_TEST_SECRET", secret)]);
    first_name(&term);
    term.keys("u");
    term.wait_for("● Valid");
    term.keys("\x0f");
    term.wait_for("NEW_ONE");
    term.keys("\x12");
    term.wait_for("secrets[NEW_ONE]: added");
    term.wait_for("creates a new revision");
    assert!(world.writes().is_empty(), "what leads here does not send");
    term.keys("\x13");
    term.wait_for("Watching revision");
    let writes = world.writes();
    assert_eq!(writes.len(), 1, "{writes:?}");
    let body: serde_json::Value = serde_json::from_slice(&writes[0].body).unwrap();
    let sent = |name: &str| body["secrets"].as_array().unwrap().iter().find(|s| s["name"] == name).cloned();
    assert_eq!(sent("NEW_ONE").unwrap()["value"], secret);
    term.keys(":journal\r");
    term.wait_for("PATCH");
    term.keys("\r");
    term.wait_for("$KEY");
    let all = String::from_utf8_lossy(&term.raw_output()).into_owned();
    assert!(!all.contains("canary-7f3a91c2"), "a secret was on the screen");
    let seen = std::fs::read_to_string(world.folder.path().join("editor.seen")).unwrap();
    assert_eq!(seen.lines().nth(1), Some("600"), "{seen}");
    assert!(seen.contains("build_on_push") && seen.contains("sh -c"), "{seen}");
    assert!(
        !seen.contains("canary") && !seen.contains(&world.sim.regions()[0].api_key),
        "the editor was told a secret"
    );
    assert!(!all.contains(&world.sim.regions()[0].api_key), "the key was on the screen");
}

#[test]
fn what_vanished_between_preview_and_sending_is_left_alone() {
    let world = World::new("");
    let term = world.open(&[], &[]);
    let name = first_name(&term);
    term.keys("D");
    term.wait_for("to confirm");
    world.sim.rule(Rule::on("GET", "/v2/deployments/").status(404).json(&serde_json::json!({"detail": "not found."})));
    term.keys(&format!("{name}\x13"));
    term.wait_for("nothing was sent");
    assert!(world.writes().is_empty());
}

#[test]
fn nothing_is_written_to_production_unless_it_is_said() {
    let world = World::new("label = \"PROD\"");
    let term = world.open(&[], &[]);
    first_name(&term);
    for keys in ["D", "u", ":redeploy\r", ":create\r"] {
        term.keys(keys);
        term.wait_for("is read-only; nothing was sent");
        term.keys("!");
        term.wait_for("MESSAGES");
        term.keys("\x1b");
        term.wait_until("the list again", |term| term.screen().contains("DEPLOYMENTS  3"));
    }
    assert!(world.writes().is_empty());
    // With --write it may be, and the dialog says where one is.
    let term = world.open(&["--write"], &[]);
    first_name(&term);
    term.keys("D");
    term.wait_for("to confirm");
    assert!(term.screen().lines().nth(2).unwrap().contains("PROD"), "{}", term.screen());
}

#[test]
fn destructive_commands_ask_on_a_terminal() {
    let world = World::new("");
    let name = first_name(&world.open(&[], &[]));
    for (typed, sent) in [("x\r", false), ("\r", false), (&*format!("{name}\r"), true)] {
        let mut term = world.open(&["deployments", "delete", &name], &[]);
        term.wait_for(&format!("Type {name} to confirm:"));
        assert!(world.writes().is_empty());
        term.keys(typed);
        let ended = term.exit_status().exit_code();
        assert_eq!((ended, world.writes().len()), if sent { (0, 1) } else { (1, 0) }, "{}", term.screen());
    }
    // The deployment that was deleted can be read for a while, and with it the address of its agent server.
    let mut term = world.open(&["-d", &name, "threads", "delete", "00000000-0000-4000-8000-000000000000"], &[]);
    term.wait_for("[y/N]");
    term.keys("n\r");
    assert_eq!(term.exit_status().exit_code(), 1);
    assert!(term.screen().contains("not confirmed; nothing was sent"), "{}", term.screen());
    assert_eq!(world.writes().len(), 1);
}

#[test]
fn a_pasted_thread_id_opens_on_a_server_that_was_never_opened() {
    let world = World::new("");
    let name = first_name(&world.open(&[], &[]));
    let mut made = world.open(&["-d", &name, "threads", "create", "-o", "jsonl"], &[]);
    assert!(made.exit_status().success(), "{}", made.screen());
    let shown = made.screen().replace('\n', "");
    let (_, rest) = shown.split_once("\"thread_id\":\"").expect("a thread");
    let thread = &rest[..36];
    let term = world.open(&[], &[]);
    first_name(&term);
    term.keys(&format!(":{thread}\r"));
    term.wait_for(&format!("Found thread {}", runtail_core::text::short_id(thread)));
    term.keys(":99999999-9999-4999-8999-999999999999\r");
    term.wait_for("99999999…9999 was not found on");
}
