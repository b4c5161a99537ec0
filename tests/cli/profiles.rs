//! Keys in the keychain, and `config import`.

use crate::ended::{Ended, ended};
use runtail_testkit::common::{CANARY, Server, json};
use runtail_testkit::process::Args;
use std::path::Path;
use std::process::Stdio;

/// A home folder with a configuration, the files of other tools and programs of its own.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file that only its owner can read.
    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        self.mode(name, 0o600);
    }

    fn mode(&self, name: &str, mode: u32) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(
                self.path().join(name),
                std::fs::Permissions::from_mode(mode),
            )
            .unwrap();
        }
        #[cfg(not(unix))]
        let _ = (name, mode);
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// Runs the binary in the folder `agent`, with only the programs in `bin`.
    async fn runtail(&self, args: impl Args) -> Ended {
        std::fs::create_dir_all(self.path().join("agent")).unwrap();
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_runtail"));
        command
            .env_clear()
            .env("HOME", self.path())
            .env("XDG_CONFIG_HOME", self.path());
        command
            .env("PATH", self.path().join("bin"))
            .current_dir(self.path().join("agent"));
        command.stdin(Stdio::null()).args(args.words());
        ended(command).await
    }
}

#[cfg(unix)]
mod keychain {
    use super::*;

    const PROGRAM: &str = if cfg!(target_os = "macos") {
        "security"
    } else {
        "secret-tool"
    };

    /// Installs a keychain program that writes down its arguments, and then runs this shell code.
    fn install(home: &Home, code: &str) {
        let log = home.path().join("arguments");
        home.write(
            &format!("bin/{PROGRAM}"),
            &format!("#!/bin/sh\necho \"$@\" >> '{}'\n{code}\n", log.display()),
        );
        home.mode(&format!("bin/{PROGRAM}"), 0o755);
    }

    async fn server() -> Server {
        Server::start(|seen| match seen.header("x-api-key") {
            Some(CANARY) => json(200, r#"{"resources": [], "offset": 0}"#),
            _ => json(401, r#"{"detail": "no"}"#),
        })
        .await
    }

    #[tokio::test]
    async fn keys_are_read_from_the_keychain() {
        let (home, server) = (Home::new(), server().await);
        home.write(
            "runtail/config.toml",
            &format!(
                "[profiles.prod]\nurl = \"{}\"\napi_key_keyring = \"lang smith\"\n",
                server.url
            ),
        );
        install(&home, &format!("echo {CANARY}"));
        home.runtail("deployments list").await.expect(0);
        let arguments = home.read("arguments");
        let expected = match cfg!(target_os = "macos") {
            true => "find-generic-password -s lang smith -a prod -w\n",
            false => "lookup service lang smith account prod\n",
        };
        assert_eq!(arguments, expected, "the key is no argument");
        let shown = home.runtail("config show").await.expect(0);
        assert!(
            shown.out.contains("api_key_keyring = \"lang smith\""),
            "{}",
            shown.out
        );
        assert_eq!(
            home.read("arguments"),
            expected,
            "showing the configuration doesn't open the keychain"
        );
        let doctor = home.runtail(&["doctor"]).await;
        assert!(
            doctor
                .out
                .contains("the keychain entry lang smith/prod: a personal access token"),
            "{}",
            doctor.out
        );
    }

    #[tokio::test]
    async fn missing_entries_and_programs_say_what_to_do() {
        let (home, server) = (Home::new(), server().await);
        let with = |value: &str| {
            format!(
                "[profiles.prod]\nurl = \"{}\"\napi_key_keyring = \"{value}\"\n",
                server.url
            )
        };
        home.write("runtail/config.toml", &with("langsmith/team"));
        // The doctor wraps its lines.
        let said = |ended: Ended| {
            let all = format!("{} {}", ended.out, ended.err);
            all.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let list = said(home.runtail("deployments list").await);
        for part in [
            &*format!("the program {PROGRAM}, which reads the keychain, is not installed"),
            "use …_file or …_command",
        ] {
            assert!(list.contains(part), "{part}: {list}");
        }
        install(
            &home,
            if cfg!(target_os = "macos") {
                "exit 44"
            } else {
                "exit 1"
            },
        );
        let list = said(home.runtail("deployments list").await);
        assert!(
            list.contains("the keychain has no entry langsmith/team; store it with: "),
            "{list}"
        );
        let doctor = said(home.runtail(&["doctor"]).await.expect(2));
        let store = match cfg!(target_os = "macos") {
            true => "security add-generic-password -U -s langsmith -a team -w",
            false => "secret-tool store --label=LangSmith service langsmith account team",
        };
        assert!(
            doctor.contains(&format!("store the key: {store}")),
            "{doctor}"
        );
        // Another failure shows its reason, except in the doctor's report, because it may contain anything.
        install(&home, "echo 'locked' >&2; exit 7");
        let list = said(home.runtail("deployments list").await);
        assert!(
            list.contains(&format!(
                "the command \"{PROGRAM}\" failed with exit code 7: locked"
            )),
            "{list}"
        );
        let doctor = said(home.runtail(&["doctor"]).await.expect(2));
        assert!(
            doctor.contains("unlock the keychain") && !doctor.contains(": locked"),
            "{doctor}"
        );
        // A pasted key is refused before any program gets it as an argument.
        install(&home, "exit 0");
        std::fs::remove_file(home.path().join("arguments")).unwrap();
        home.write("runtail/config.toml", &with(CANARY));
        let list = said(home.runtail("deployments list").await.expect(2));
        assert!(
            list.contains("this is a key, not the name of a keychain entry"),
            "{list}"
        );
        assert_eq!(home.read("arguments"), "");
    }
}

const TOOL: &str = ".langsmith/config.json";

fn tool_profiles() -> String {
    format!(
        r#"{{"profiles": {{"us": {{"api_key": "{CANARY}", "workspace_id": "0a000000-0000-4000-8000-000000000001"}},
            "mine": {{"api_key": "{CANARY}", "api_url": "https://eu.api.smith.langchain.com"}},
            "bad": {{"api_url": "http://ls.example.com"}}}}}}"#
    )
}

#[tokio::test]
async fn import_shows_the_changes_and_writes_only_when_confirmed() {
    let home = Home::new();
    home.write(TOOL, &tool_profiles());
    home.write("agent/.env", &format!("LANGSMITH_API_KEY={CANARY}\n"));
    let own = "# mine\n[profiles.mine]\nregion = \"aws\"\n";
    home.write("runtail/config.toml", own);
    // A script has to confirm.
    home.runtail("config import")
        .await
        .expect(2)
        .says("Add 2 profiles to ~/runtail/config.toml: not confirmed; nothing was written");
    let dry = home
        .runtail("config import --dry-run -o table")
        .await
        .expect(0);
    for line in [
        "PROFILE  SERVER  WORKSPACE",
        "us       us      0a000000-0000-4000-8000-000000000001",
        "agent    us",
    ] {
        assert!(dry.out.contains(line), "{line}\n{}", dry.out);
    }
    for line in [
        "not added: mine (~/.langsmith/config.json): your configuration has a profile of this name",
        "not added: bad (~/.langsmith/config.json): its address is plain http to another machine",
        "Changes to ~/runtail/config.toml:\n",
        "+ [profiles.us]\n+ # From ~/.langsmith/config.json.\n+ region = \"us\"\n+ workspace = \"0a000000-0000-4000-8000-000000000001\"\n",
        "/.langsmith/config.json#/profiles/us/api_key\"\n",
        "/agent/.env#LANGSMITH_API_KEY\"\n",
    ] {
        dry.says(line);
    }
    assert_eq!(
        home.read("runtail/config.toml"),
        own,
        "nothing is written before --yes"
    );
    let done = home.runtail("config import --yes").await.expect(0);
    let rows: Vec<(String, String)> = done
        .rows()
        .iter()
        .map(|row| {
            (
                row["profile"].as_str().unwrap().into(),
                row["status"].as_str().unwrap().into(),
            )
        })
        .collect();
    let expected = [
        ("us", "added"),
        ("agent", "added"),
        ("bad", "skipped"),
        ("mine", "skipped"),
    ];
    assert_eq!(
        rows,
        expected.map(|(name, status)| (name.to_string(), status.to_string()))
    );
    let text = home.read("runtail/config.toml");
    assert!(text.starts_with(own) && !text.contains(CANARY), "{text}");
    assert_eq!(
        home.read(TOOL),
        tool_profiles(),
        "the other tool's file is only read"
    );
    // The imported profile has its key.
    let shown = home.runtail("config show").await.expect(0);
    assert!(
        shown.out.contains("[profiles.us]") && shown.err.is_empty(),
        "{}{}",
        shown.out,
        shown.err
    );
    home.runtail("config import --yes")
        .await
        .expect(0)
        .says("Nothing to import.");
    assert_eq!(home.read("runtail/config.toml"), text);
}

#[tokio::test]
async fn import_adds_only_the_named_profiles_and_says_that_they_are_not_in_use() {
    let home = Home::new();
    home.write(TOOL, &tool_profiles());
    home.write("agent/.env", &format!("LANGSMITH_API_KEY={CANARY}\n"));
    home.write(
        "runtail/config.toml",
        "default_profiles = [\"x\"]\n[profiles.x]\nregion = \"us\"\n",
    );
    home.runtail("config import none --yes")
        .await
        .expect(2)
        .says("no profile named none can be imported")
        .says("there are: us, mine, agent");
    home.runtail("config import agent bad --yes")
        .await
        .expect(2)
        .says("plain http to another machine");
    let done = home.runtail("config import agent --yes").await.expect(0);
    assert_eq!(done.rows().len(), 1, "{}", done.out);
    let said = "agent is not in use, because default_profiles doesn't name it: add it there, or use --profile.";
    done.says(said);
    let text = home.read("runtail/config.toml");
    assert!(
        text.contains("[profiles.agent]") && !text.contains("[profiles.us]"),
        "{text}"
    );
}

#[tokio::test]
async fn import_uses_the_key_and_reports_what_is_missing() {
    let server =
        Server::start(
            |seen| match (seen.header("x-api-key"), seen.header("x-tenant-id")) {
                (Some(CANARY), Some("0a000000-0000-4000-8000-000000000002")) => {
                    json(200, r#"{"resources": [], "offset": 0}"#)
                }
                _ => json(401, r#"{"detail": "no"}"#),
            },
        )
        .await;
    let home = Home::new();
    home.runtail("config import --yes").await.expect(0).says("Nothing to import: there is no ~/.langsmith/config.json, ~/agent/.env or ~/agent/langgraph.json.");
    assert!(!home.path().join("runtail/config.toml").exists());
    home.write(
        "agent/prod.env",
        &format!(
            "export LANGCHAIN_API_KEY=\"{CANARY}\"\nLANGSMITH_ENDPOINT={}\nLANGSMITH_WORKSPACE_ID=0a000000-0000-4000-8000-000000000002\n",
            server.url
        ),
    );
    home.write("agent/langgraph.json", r#"{"env": "prod.env"}"#);
    #[cfg(unix)]
    {
        home.mode("agent/prod.env", 0o644);
        home.runtail("config import --dry-run")
            .await
            .expect(0)
            .says("agent: others can read the file with the key");
        home.mode("agent/prod.env", 0o600);
    }
    home.runtail("config import --yes")
        .await
        .expect(0)
        .says("will be created, readable only by you");
    home.runtail("-p agent deployments list").await.expect(0);
    // An invalid configuration is not touched.
    home.write("runtail/config.toml", "[profiles.x]\n");
    home.runtail("config import --yes")
        .await
        .expect(2)
        .says("the profile \"x\" has no server");
    assert_eq!(home.read("runtail/config.toml"), "[profiles.x]\n");
}
