//! Changes from the dashboard in a pseudo-terminal with the simulator: the confirmations, and the requests that are sent.

use runtail_sim::{Options, Request, Scenario, Sim};
use runtail_testkit::term::Term;
use std::os::unix::fs::PermissionsExt;

/// A simulator with a few deployments, and a configuration for it.
struct TestServer {
    _runtime: tokio::runtime::Runtime,
    sim: Sim,
    folder: tempfile::TempDir,
}

impl TestServer {
    fn new(profile: &str) -> TestServer {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let options = Options {
            scenario: Scenario::Fleet { deployments: 3 },
            speed: 60.0,
            ..Options::default()
        };
        let sim = runtime.block_on(Sim::start(options)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let url = &sim.regions()[0].url;
        let text = format!(
            "[poll]\ninterval = \"1s\"\n[profiles.here]\ncontrol_plane = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n{profile}\n"
        );
        std::fs::write(folder.path().join("config.toml"), text).unwrap();
        TestServer {
            _runtime: runtime,
            sim,
            folder,
        }
    }

    fn open(&self, args: &[&str], env: &[(&str, &str)]) -> Term {
        let key = self.sim.regions()[0].api_key.clone();
        let config = self.folder.path().join("config.toml");
        let config = config.to_str().unwrap();
        let env = [&[("RUNTAIL_TEST_KEY", key.as_str())], env].concat();
        Term::spawn_with(&env, &[&["--config", config], args].concat(), 120, 36)
    }

    /// Returns the write requests.
    fn writes(&self) -> Vec<Request> {
        // The inbox of the new revision's agent server is searched with POST.
        let reads = |r: &Request| {
            r.method == "GET" || r.path.ends_with("_logs") || r.path.ends_with("/threads/search")
        };
        self.sim
            .requests()
            .into_iter()
            .filter(|r| !reads(r))
            .collect()
    }
}

/// Sorts the list by name, selects its first row and returns its name. In the default order, rows move while statuses load.
fn first_name(term: &Term) -> String {
    term.wait_until("the list", |term| term.screen().contains("Deployments · 3"));
    term.keys("sg");
    let names = |term: &Term| -> Vec<(bool, String)> {
        let screen = term.screen();
        let rows = screen
            .lines()
            .skip(3)
            .take_while(|line| !line.starts_with('╰'));
        let name = |row: &str| {
            row.trim_matches(['│', '▌', ' '])
                .split_whitespace()
                .next()
                .map(str::to_string)
        };
        rows.filter_map(|row| Some((row.contains('▌'), name(row)?)))
            .collect()
    };
    term.wait_until("the rows by name", |term| {
        let rows = names(term);
        rows.len() == 3 && rows[0].0 && rows.is_sorted_by_key(|(_, name)| name.clone())
    });
    names(term).swap_remove(0).1
}

#[test]
fn updates_are_edited_in_the_users_editor_and_previewed() {
    let server = TestServer::new("");
    let editor = server.folder.path().join("editor");
    // The editor also records its arguments and the permissions of the file.
    let script = "#!/bin/sh\n{ echo \"$@\"; stat -c %a \"$1\"; cat \"$1\"; tr '\\0' ' ' < /proc/$PPID/cmdline; } > \"$0.seen\"\nsed 's/^build_on_push = .*/build_on_push = false/; s/^\\[secrets\\]/[secrets]\\nNEW_ONE = \"env:RUNTAIL_TEST_SECRET\"/' \"$1\" > \"$1.new\" && mv \"$1.new\" \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let secret = "canary-7f3a91c2-in-the-environment";
    let term = server.open(
        &[],
        &[
            ("VISUAL", editor.to_str().unwrap()),
            ("RUNTAIL_TEST_SECRET", secret),
        ],
    );
    first_name(&term);
    term.keys("u");
    term.wait_for("Sends changed fields only");
    // The document is one key away.
    term.keys("\x14");
    term.wait_for("● Valid");
    term.keys("\x0f");
    term.wait_for("NEW_ONE");
    term.keys("\x12");
    term.wait_for("secrets[NEW_ONE]: added");
    term.wait_for("Creates a new revision");
    assert!(server.writes().is_empty(), "nothing is sent before Ctrl-S");
    term.keys("\x13");
    term.wait_for("Watching ");
    let writes = server.writes();
    assert_eq!(writes.len(), 1, "{writes:?}");
    let body: serde_json::Value = serde_json::from_slice(&writes[0].body).unwrap();
    let sent = |name: &str| {
        body["secrets"]
            .as_array()
            .unwrap()
            .iter()
            .find(|s| s["name"] == name)
            .cloned()
    };
    assert_eq!(sent("NEW_ONE").unwrap()["value"], secret);
    term.keys(":journal\r");
    term.wait_for("PATCH");
    term.keys("\r");
    term.wait_for("$KEY");
    let all = String::from_utf8_lossy(&term.raw_output()).into_owned();
    assert!(!all.contains("canary-7f3a91c2"), "a secret was on screen");
    let seen = std::fs::read_to_string(server.folder.path().join("editor.seen")).unwrap();
    assert_eq!(seen.lines().nth(1), Some("600"), "{seen}");
    assert!(
        seen.contains("build_on_push") && seen.contains("sh -c"),
        "{seen}"
    );
    assert!(
        !seen.contains("canary") && !seen.contains(&server.sim.regions()[0].api_key),
        "the editor received a secret"
    );
    assert!(
        !all.contains(&server.sim.regions()[0].api_key),
        "the key was on screen"
    );
}

#[test]
fn destructive_commands_ask_for_confirmation_on_a_terminal() {
    let server = TestServer::new("");
    let name = first_name(&server.open(&[], &[]));
    let id = "00000000-0000-4000-8000-000000000000";
    server
        .open(&["-d", &name, "threads", "create", "--id", id], &[])
        .exit_status();
    let writes = server.writes().len();
    let mut term = server.open(&["-d", &name, "threads", "delete", id], &[]);
    term.wait_for("[y/N]");
    term.keys("n\r");
    assert_eq!(term.exit_status().exit_code(), 1);
    assert!(
        term.screen().contains("not confirmed; nothing was sent"),
        "{}",
        term.screen()
    );
    for (typed, sent) in [("x\r", false), ("\r", false), (&*format!("{name}\r"), true)] {
        let mut term = server.open(&["deployments", "delete", &name], &[]);
        term.wait_for(&format!("Type {name} to confirm:"));
        assert_eq!(server.writes().len(), writes);
        term.keys(typed);
        let code = term.exit_status().exit_code();
        assert_eq!(
            (code, server.writes().len() - writes),
            if sent { (0, 1) } else { (1, 0) },
            "{}",
            term.screen()
        );
    }
}

pub(crate) fn is_running(pid: i32) -> bool {
    // A zombie has ended. Its parent has to be told so first.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn a_signal_or_a_closed_terminal_ends_the_dashboard_and_its_editor() {
    for (signal, code) in [
        (Some(libc::SIGTERM), 143),
        (Some(libc::SIGHUP), 129),
        (None, 129),
    ] {
        let server = TestServer::new("");
        let named = server.folder.path().join("editor.pid");
        let editor = format!(
            "sh -c 'echo mine >> \"$1\"; echo $$ > {}; sleep 1000; true' sh",
            named.display()
        );
        let kept = server.folder.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        let mut term = server.open(
            &[],
            &[("VISUAL", &editor), ("TMPDIR", kept.to_str().unwrap())],
        );
        first_name(&term);
        term.keys("u");
        term.wait_for("Sends changed fields only");
        term.keys("\x14");
        term.wait_for("● Valid");
        term.keys("\x0f");
        term.wait_until("the editor", |_| {
            std::fs::read_to_string(&named).is_ok_and(|text| text.ends_with('\n'))
        });
        let pid: i32 = std::fs::read_to_string(&named)
            .unwrap()
            .trim()
            .parse()
            .expect("a process id");
        assert!(is_running(pid));
        match signal {
            Some(signal) => term.signal(signal),
            None => term.hang_up(),
        }
        let status = term.exit_status();
        assert!(
            status.signal().is_some() || status.exit_code() == code,
            "{signal:?}: {status:?}"
        );
        assert!(!is_running(pid), "{signal:?}: the editor is left behind");
        let texts = std::fs::read_dir(&kept)
            .unwrap()
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
        assert!(
            texts.collect::<String>().ends_with("mine\n"),
            "{signal:?}: the text is lost"
        );
        if signal == Some(libc::SIGTERM) {
            assert_eq!(term.unrestored_modes(), [""; 0]);
        }
    }
}
