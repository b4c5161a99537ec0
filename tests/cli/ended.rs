//! Runs a command to its end without blocking, so that servers of the same test can respond meanwhile.

use runtail_testkit::common::{CANARY, Server};
use runtail_testkit::dispositions;
use runtail_testkit::process::Args;
use runtail_testkit::says::Says;
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// Maximum wait, long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The result of a command.
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Checks the exit code, and shows all output if it differs.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(
            self.code, code,
            "\n--- stdout\n{}\n--- stderr\n{}",
            self.out, self.err
        );
        self
    }

    /// Checks that the errors contain a text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Ended {
        self.err.has(text);
        self
    }

    /// Parses each line of the output as JSON.
    #[track_caller]
    pub fn rows(&self) -> Vec<Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect()
    }
}

/// Runs a command to its end, and checks that its output contains no key.
pub async fn ended(mut command: Command) -> Ended {
    let output = tokio::time::timeout(TIMEOUT, command.output())
        .await
        .expect("an end")
        .unwrap();
    let ended = Ended {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(
        !format!("{}{}", ended.out, ended.err).contains("canary"),
        "{}{}",
        ended.out,
        ended.err
    );
    ended
}

/// Creates a folder with this configuration, to be used as the home of a command.
pub fn write_config(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("runtail")).unwrap();
    std::fs::write(folder.path().join("runtail/config.toml"), text).unwrap();
    folder
}

/// Returns a command in this home, with the key of the profiles of [`profile`].
pub fn command(home: &Path, args: impl Args) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runtail"));
    command
        .env_clear()
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home)
        .env("RUNTAIL_TEST_KEY", CANARY)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .args(args.words());
    dispositions::reset(command.as_std_mut());
    command
}

/// Runs a command in this home to its end.
pub async fn runtail(home: &Path, args: impl Args) -> Ended {
    ended(command(home, args)).await
}

/// Returns the configuration of a profile with a key and one `url` (a control plane) or `agent_server`.
pub fn profile(name: &str, kind: &str, url: impl std::fmt::Display) -> String {
    format!("[profiles.{name}]\n{kind} = \"{url}\"\napi_key_env = \"RUNTAIL_TEST_KEY\"\n")
}

/// Creates a home whose only profile has this agent server.
pub fn with_agent(server: &Server) -> tempfile::TempDir {
    write_config(&profile("p", "agent_server", &server.url))
}

/// Creates a home with these profiles, each a control plane.
pub fn with_planes(profiles: &[(&str, &Server)]) -> tempfile::TempDir {
    let planes = profiles.iter();
    write_config(
        &planes
            .map(|(name, server)| profile(name, "url", &server.url))
            .collect::<String>(),
    )
}
