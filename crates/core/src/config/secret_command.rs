//! Runs a program that prints a secret.

use super::secret_error::SecretError;
use super::secret_file::MAX_SECRET;
use std::io::{ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Timeout of a command that prints a key: the user may have to unlock a store first.
const COMMAND_PATIENCE: Duration = Duration::from_secs(60);

/// Maximum columns of a hint from stderr, and characters of a word that it may have.
const MAX_HINT: usize = 100;
const MAX_WORD: usize = 14;

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
pub(super) fn start(
    program: &str,
    arguments: &[String],
) -> Result<Result<Ended, std::io::Error>, SecretError> {
    // No stdin: a command must not consume a pipe. Programs that ask for a password open the terminal themselves.
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(Err(missing)),
        Err(e) => return Err(failed(program, format!("could not be started: {e}"))),
    };
    let stdout = read_aside(child.stdout.take(), Keep::Beginning);
    let stderr = read_aside(child.stderr.take(), Keep::End);
    let status = wait(&mut child).map_err(|e| failed(program, format!("failed: {e}")))?;
    let Some(status) = status else {
        let seconds = COMMAND_PATIENCE.as_secs();
        return Err(failed(
            program,
            format!("did not end within {seconds} seconds and was stopped"),
        ));
    };
    // A program that it left running may keep its outputs open.
    let stderr = if status.success() {
        Vec::new()
    } else {
        stderr.after_the_end()
    };
    Ok(Ok(Ended {
        status,
        stdout: stdout.after_the_end(),
        stderr,
    }))
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
        // Checked first, because the program may have failed when nothing read the rest.
        if self.stdout.len() as u64 > MAX_SECRET {
            return Err(failed(
                program,
                format!(
                    "printed more than {} KiB, which can't be a key",
                    MAX_SECRET / 1024
                ),
            ));
        }
        if self.status.success() {
            let text = String::from_utf8(self.stdout);
            return text
                .map_err(|_| failed(program, "printed something that is not text".to_string()));
        }
        let why = match self.code() {
            Some(code) => format!("failed with exit code {code}"),
            None => killed(self.status),
        };
        Err(SecretError::Command {
            program: program.to_string(),
            why,
            said: hint(&self.stderr),
        })
    }
}

fn killed(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was killed by signal {signal}");
    }
    let _ = status;
    "was killed".to_string()
}

/// Returns the plain words of the last line of stderr, which may contain a secret: a word with digits, with other characters or of
/// mixed case, and a long one, is left out. `None` if too little is left.
fn hint(stderr: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty())?;
    let is_plain = |word: &str| {
        let inner = word.trim_matches(|c: char| ".,:;!?'\"()".contains(c));
        let mut parts = inner.split(['-', '\'']);
        let is_one_case = |part: &str| {
            let rest = part.chars().skip(1);
            rest.clone().all(|c| c.is_ascii_lowercase())
                || part.chars().all(|c| c.is_ascii_uppercase())
        };
        let is_word =
            |part: &str| part.chars().all(|c| c.is_ascii_alphabetic()) && is_one_case(part);
        word.len() <= MAX_WORD && !inner.is_empty() && parts.all(is_word)
    };
    let mut words: Vec<&str> = last
        .split_whitespace()
        .map(|word| if is_plain(word) { word } else { "…" })
        .collect();
    words.dedup_by(|a, b| a == b && *a == "…");
    let is_useful = words.iter().any(|word| *word != "…");
    is_useful.then(|| crate::text::fit(&words.join(" "), MAX_HINT).into_owned())
}

fn failed(program: &str, why: String) -> SecretError {
    SecretError::Command {
        program: program.to_string(),
        why,
        said: None,
    }
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

/// What of a long output is kept.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    /// The beginning, up to one byte more than a key may have. The rest is not read.
    Beginning,
    /// The end.
    End,
}

/// Reads a pipe on a thread of its own, so that the child never blocks on a full pipe.
fn read_aside(pipe: Option<impl Read + Send + 'static>, keep: Keep) -> Reading {
    let (sender, end) = mpsc::channel::<()>();
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let read = bytes.clone();
    std::thread::spawn(move || {
        let _ends_with_the_thread = sender;
        let most = if keep == Keep::Beginning {
            MAX_SECRET + 1
        } else {
            u64::MAX
        };
        let Some(mut pipe) = pipe.map(|pipe| pipe.take(most)) else {
            return;
        };
        let mut part = [0; 4096];
        // A broken pipe is the end; the exit status shows the result.
        loop {
            match pipe.read(&mut part) {
                Ok(length @ 1..) => {
                    let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
                    read.extend_from_slice(&part[..length]);
                    let excess = read.len().saturating_sub(MAX_SECRET as usize + 1);
                    read.drain(..excess);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
            }
        }
    });
    Reading { bytes, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_have_plain_words_only() {
        for (said, expected) in [
            (
                "x\ngpg: decryption failed: No secret key\n\n",
                Some("gpg: decryption failed: No secret key"),
            ),
            (
                "Cannot autolaunch D-Bus without X11 $DISPLAY",
                Some("Cannot autolaunch D-Bus without …"),
            ),
            (
                "the key is lsv2_pt_canary, or Xy7Canary or xYcanary",
                Some("the key is … or … or …"),
            ),
            ("user:canary@host", None),
            ("canarycanarycanary", None),
            ("\u{1b}[31mred", None),
            ("", None),
        ] {
            assert_eq!(hint(said.as_bytes()).as_deref(), expected, "{said}");
        }
        assert!(crate::text::width(&hint("word ".repeat(1000).as_bytes()).unwrap()) <= MAX_HINT);
        assert_eq!(hint(b"\xff\xfe"), None);
    }

    #[cfg(unix)]
    #[test]
    fn ends_of_programs_have_clear_messages() {
        let error = |script: &str| {
            let words = ["sh", "-c", script].map(str::to_string);
            run(&words).unwrap_err().to_string()
        };
        assert_eq!(
            error("kill -9 $$"),
            "the command \"sh\" was killed by signal 9"
        );
        let large = "the command \"sh\" printed more than 64 KiB, which can't be a key";
        assert_eq!(error("head -c 1000000 /dev/zero"), large);
        assert_eq!(error("head -c 1000000 /dev/zero; exit 1"), large);
        let long =
            "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo locked store >&2; exit 2";
        assert_eq!(
            error(long),
            "the command \"sh\" failed with exit code 2: locked store"
        );
        // An error before a success is no error.
        assert_eq!(
            run(&["sh", "-c", "echo warning >&2; echo canary"].map(str::to_string)).unwrap(),
            "canary\n"
        );
    }
}
