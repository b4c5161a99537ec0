//! Runs a program that prints a secret.

use super::SecretError;
use super::secret_file::MAX_SECRET;
use std::io::{ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Timeout of a command that prints a key: the user may have to unlock a store first.
const COMMAND_PATIENCE: Duration = Duration::from_secs(60);

/// How long the rest of the output of a program that has ended is awaited.
const REST_PATIENCE: Duration = Duration::from_secs(2);

/// A program that ended.
pub(super) struct Ended {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Returns what a command prints.
pub(super) fn run(words: &[String]) -> Result<String, SecretError> {
    let program = words.first().cloned().unwrap_or_default();
    match start(&program, words.get(1..).unwrap_or_default())? {
        Ok(ended) => ended.text(&program),
        Err(missing) => Err(failed(&program, format!("could not be started: {missing}"))),
    }
}

/// Runs a program. The inner error is that there is no such program.
pub(super) fn start(program: &str, arguments: &[String]) -> Result<Result<Ended, std::io::Error>, SecretError> {
    // No stdin: a command must not consume a pipe. Programs that ask for a password open the terminal themselves.
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(Err(missing)),
        Err(e) => return Err(failed(program, format!("could not be started: {e}"))),
    };
    let stdout = read_aside(child.stdout.take());
    let stderr = read_aside(child.stderr.take());
    let status = wait(&mut child).map_err(|e| failed(program, format!("failed: {e}")))?;
    let Some(status) = status else {
        return Err(failed(program, format!("did not end within {} seconds", COMMAND_PATIENCE.as_secs())));
    };
    // A program that it left running may keep its outputs open.
    let stderr = if status.success() { Vec::new() } else { stderr.after_the_end() };
    Ok(Ok(Ended { status, stdout: stdout.after_the_end(), stderr }))
}

impl Ended {
    /// Returns its exit code, if it was not killed.
    pub(super) fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Whether it wrote nothing at all.
    pub(super) fn is_silent(&self) -> bool {
        self.stdout.is_empty() && self.stderr.trim_ascii().is_empty()
    }

    /// Returns what it printed, unless it failed.
    pub(super) fn text(self, program: &str) -> Result<String, SecretError> {
        if self.status.success() {
            let text = String::from_utf8(self.stdout);
            return text.map_err(|_| failed(program, "printed something that is not text".to_string()));
        }
        let said = String::from_utf8_lossy(&self.stderr);
        let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let code = self.code().map_or_else(|| "was killed".to_string(), |c| format!("failed with exit code {c}"));
        let said = Some(crate::text::clean(said).into_owned()).filter(|said| !said.is_empty());
        Err(SecretError::Command { program: program.to_string(), why: code, said })
    }
}

fn failed(program: &str, why: String) -> SecretError {
    SecretError::Command { program: program.to_string(), why, said: None }
}

/// Waits for the exit status; kills the child at the timeout and returns nothing.
fn wait(child: &mut Child) -> std::io::Result<Option<std::process::ExitStatus>> {
    let started = Instant::now();
    let mut nap = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > COMMAND_PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(50));
    }
}

/// What a thread has read of a pipe.
struct Reading {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Disconnected at the end of the pipe.
    end: mpsc::Receiver<()>,
}

impl Reading {
    /// Returns what was read, after the program has ended. What it wrote is in the pipe by then.
    fn after_the_end(self) -> Vec<u8> {
        let _ = self.end.recv_timeout(REST_PATIENCE);
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads a pipe on a thread of its own, so that the child never blocks on a full pipe.
fn read_aside(pipe: Option<impl Read + Send + 'static>) -> Reading {
    let (sender, end) = mpsc::channel::<()>();
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let read = bytes.clone();
    std::thread::spawn(move || {
        let _ends_with_the_thread = sender;
        let Some(mut pipe) = pipe.map(|pipe| pipe.take(MAX_SECRET)) else { return };
        let mut part = [0; 4096];
        // A broken pipe is the end; the exit status shows the result.
        loop {
            match pipe.read(&mut part) {
                Ok(length @ 1..) => {
                    read.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&part[..length]);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
            }
        }
    });
    Reading { bytes, end }
}
