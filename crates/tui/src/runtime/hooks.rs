//! Runs the programs of notification rules: without a shell, without keys, and for a limited time.

use crate::boxed;
use crate::session::msg::Hook;
use runtail_core::secret::{self, is_secret_name};
use runtail_core::text;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::Semaphore;

/// How long a program may run.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Programs that run at once; others wait.
const MAX_CONCURRENCY: usize = 2;
/// Bytes of its error output that are read.
const MAX_STDERR: u64 = 4 << 10;

static RUNNING: Semaphore = Semaphore::const_new(MAX_CONCURRENCY);

/// Runs a program with the event as its standard input.
///
/// # Errors
/// A message for the user: the program could not be started, failed, or ran for too long.
#[boxed]
pub async fn run(hook: Hook) -> Result<(), String> {
    run_for(hook, TIMEOUT).await
}

async fn run_for(hook: Hook, timeout: Duration) -> Result<(), String> {
    let Some((program, arguments)) = hook.command.split_first() else {
        return Ok(());
    };
    let Ok(_permit) = RUNNING.acquire().await else {
        return Ok(());
    };
    let shown = text::clean(program).into_owned();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if holds_secret(&name, &hook.hidden) {
            command.env_remove(name);
        }
    }
    let failed = |why: String| format!("Notification program {shown}: {why}");
    let mut child = command
        .spawn()
        .map_err(|e| failed(format!("couldn't start: {e}")))?;
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    let work = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that doesn't read its input closes the pipe.
                let _ = stdin.write_all(hook.event.as_bytes()).await;
            }
        };
        let read = async {
            let mut said = Vec::new();
            if let Some(mut stderr) = stderr {
                let _ = (&mut stderr).take(MAX_STDERR).read_to_end(&mut said).await;
                // Keep reading, so that a talkative program is not stopped by a full pipe.
                let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            }
            said
        };
        let ((), said) = tokio::join!(write, read);
        (child.wait().await, said)
    };
    match tokio::time::timeout(timeout, work).await {
        Err(_) => Err(failed(format!(
            "stopped after {}.",
            text::duration(timeout)
        ))),
        Ok((Err(e), _)) => Err(failed(e.to_string())),
        Ok((Ok(status), _)) if status.success() => Ok(()),
        Ok((Ok(status), said)) => {
            let said = secret::keys::without(&String::from_utf8_lossy(&said)).into_owned();
            let said = said.trim();
            let why = if said.is_empty() {
                String::new()
            } else {
                format!("\n{said}")
            };
            Err(failed(format!("{status}{why}")))
        }
    }
}

/// Returns whether an environment variable holds a secret that the program must not get. `PWD` is the working directory.
fn holds_secret(name: &str, hidden: &[String]) -> bool {
    is_secret_name(name) && name != "PWD" || hidden.iter().any(|known| known == name)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn hook(script: &str) -> Hook {
        let command = ["sh", "-c", script].map(String::from).to_vec();
        Hook {
            command,
            event: r#"{"when":"waiting"}"#.into(),
            hidden: vec!["HOME".into()],
        }
    }

    #[tokio::test]
    async fn the_event_is_the_input_and_keys_are_not_in_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("out");
        let script = format!("cat > {0}; env >> {0}", file.display());
        run(hook(&script)).await.unwrap();
        let out = std::fs::read_to_string(&file).unwrap();
        assert!(out.starts_with(r#"{"when":"waiting"}"#), "{out}");
        assert!(!out.lines().any(|line| line.starts_with("HOME=")), "{out}");
        assert!(out.lines().any(|line| line.starts_with("PATH=")), "{out}");
        for (name, expected) in [
            ("LANGSMITH_API_KEY", true),
            ("OPENAI_API_KEY", true),
            ("LANGSMITH_BEARER_TOKEN", true),
            ("GITHUB_TOKEN", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("PGPASSWORD", true),
            ("PWD", false),
            ("SSH_AUTH_SOCK", false),
            ("HOME", true),
            ("PATH", false),
            ("DBUS_SESSION_BUS_ADDRESS", false),
        ] {
            assert_eq!(holds_secret(name, &["HOME".into()]), expected, "{name}");
        }
    }

    #[tokio::test]
    async fn failures_say_what_failed_and_why() {
        let error = run(hook("echo no desktop >&2; exit 3")).await.unwrap_err();
        assert!(
            error.contains("program sh: exit status: 3\nno desktop"),
            "{error}"
        );
        let missing = Hook {
            command: vec!["/nonexistent/notify".into()],
            ..hook("")
        };
        let error = run(missing).await.unwrap_err();
        assert!(
            error.contains("/nonexistent/notify: couldn't start"),
            "{error}"
        );
        // It neither reads its input nor limits its output.
        let large = Hook {
            event: "x".repeat(1 << 20),
            ..hook("head -c 300000 /dev/zero | tr '\\0' y >&2; exit 1")
        };
        let error = run(large).await.unwrap_err();
        assert!(error.len() < 5000, "{}", error.len());
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_stopped() {
        let error = run_for(hook("exec sleep 600"), Duration::from_millis(50))
            .await
            .unwrap_err();
        assert!(error.contains("stopped after"), "{error}");
    }
}
