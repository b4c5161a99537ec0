//! Runs the binary under test in a clean environment, with deadlines, and cleans up afterwards.

use crate::says::Says;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Long enough for a loaded machine, so a test that reaches it hangs.
pub const TIMEOUT: Duration = Duration::from_secs(90);

/// The result of a finished process.
#[derive(Debug)]
pub struct Done {
    /// The exit code, or `None` if a signal ended the process.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
    /// The peak memory in KiB, or 0 if the system doesn't report it or the process was too short.
    pub peak: u64,
}

impl Done {
    /// Checks the exit code, and shows all output if it differs.
    #[track_caller]
    pub fn expect(self, code: i32) -> Done {
        assert_eq!(
            self.code,
            Some(code),
            "exit code\n--- stdout (its end)\n{}\n--- stderr\n{}",
            tail(&self.stdout),
            self.stderr
        );
        self
    }

    /// Checks that the errors contain a text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Done {
        self.stderr.has(text);
        self
    }

    /// Parses the standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("stdout is not JSON ({e}):\n{}", tail(&self.stdout)))
    }

    /// Parses each line of the standard output as JSON.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<serde_json::Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"))
        };
        self.stdout.lines().map(parse).collect()
    }
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(3000);
    &text[(from..text.len())
        .find(|&i| text.is_char_boundary(i))
        .unwrap_or(text.len())..]
}

/// Returns the path of the binary under test: `RUNTAIL_TEST_BIN` (such as an installed one), or the one that Cargo built.
pub fn binary() -> PathBuf {
    let built = || {
        let test = std::env::current_exe().expect("the path of the test");
        test.ancestors()
            .nth(2)
            .expect("target/PROFILE/deps")
            .join(format!("runtail{}", std::env::consts::EXE_SUFFIX))
    };
    std::env::var_os("RUNTAIL_TEST_BIN").map_or_else(built, PathBuf::from)
}

/// Returns a command for the binary in a clean environment, without configuration, keys or proxy.
pub fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(binary());
    command.args(args);
    for (name, value) in environment() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Returns the variables to set, or to remove (`None`), in the environment of the binary.
pub fn environment() -> Vec<(String, Option<String>)> {
    let home = std::env::temp_dir().join(format!("runtail-test-home-{}", std::process::id()));
    let home = home.to_string_lossy().into_owned();
    let mut all: Vec<_> = [
        "HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CACHE_HOME",
    ]
    .map(|name| (name.to_owned(), Some(home.clone())))
    .into();
    let foreign = |name: &String| {
        let upper = name.to_uppercase();
        let starts = ["LANGSMITH_", "LANGGRAPH_", "LANGCHAIN_", "RUNTAIL_"]
            .iter()
            .any(|start| upper.starts_with(start));
        starts || upper.ends_with("_PROXY") || upper == "NO_COLOR"
    };
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    all.extend(names.filter(foreign).map(|name| (name, None)));
    all
}

/// A running process, killed on drop.
pub struct Running {
    child: Child,
    started: Instant,
    lines: Receiver<String>,
    seen: String,
    stderr: Option<JoinHandle<String>>,
}

/// Starts the binary with nothing on its standard input.
#[track_caller]
pub fn spawn<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Running {
    spawn_with(args, "")
}

/// Starts the binary with this text on its standard input.
#[track_caller]
pub fn spawn_with<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>, stdin: &str) -> Running {
    launch(command(args), stdin)
}

/// Starts any command with this text on its standard input.
#[track_caller]
pub fn launch(mut command: Command, stdin: &str) -> Running {
    crate::dispositions::reset(&mut command);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut input = child.stdin.take().expect("piped");
    let text = stdin.to_owned();
    std::thread::spawn(move || input.write_all(text.as_bytes()));
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut line = Vec::new();
        while out.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8(std::mem::take(&mut line)).expect("stdout is UTF-8");
            if sender.send(text).is_err() {
                break;
            }
        }
    });
    let mut err = child.stderr.take().expect("piped");
    let stderr = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = err.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    Running {
        child,
        started: Instant::now(),
        lines,
        seen: String::new(),
        stderr: Some(stderr),
    }
}

impl Running {
    /// Reads lines until one matches, and returns it.
    #[track_caller]
    pub fn line_where(&mut self, what: &str, mut matches: impl FnMut(&str) -> bool) -> String {
        let until = Instant::now() + TIMEOUT;
        loop {
            match self
                .lines
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(line) => {
                    self.seen.push_str(&line);
                    if matches(&line) {
                        return line;
                    }
                }
                Err(why) => {
                    let _ = self.child.kill();
                    let stderr = self
                        .stderr
                        .take()
                        .map(|t| t.join().unwrap_or_default())
                        .unwrap_or_default();
                    let ended = why == RecvTimeoutError::Disconnected;
                    let how = if ended {
                        "the process ended"
                    } else {
                        "time is up"
                    };
                    panic!(
                        "no line with {what}: {how}\n--- stdout\n{}\n--- stderr\n{stderr}",
                        tail(&self.seen)
                    );
                }
            }
        }
    }

    /// Reads a line, or returns `None` if the process ends.
    #[track_caller]
    pub fn line_or_end(&mut self) -> Option<String> {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => {
                self.seen.push_str(&line);
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!(
                "neither a line nor an end; stdout so far:\n{}",
                tail(&self.seen)
            ),
        }
    }

    /// Returns the peak memory so far in KiB, if the system reports it.
    pub fn peak_memory(&self) -> Option<u64> {
        peak_memory(self.child.id())
    }

    /// Sends a signal.
    pub fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).expect("a pid");
        // SAFETY: kill touches no memory of ours, and the child is not yet waited for, so the pid is still its own.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "the process exists");
    }

    /// Waits for the end, within `TIMEOUT`.
    #[track_caller]
    pub fn wait(self) -> Done {
        self.wait_for(TIMEOUT)
    }

    /// Waits for the end. After the timeout the process is killed and the test fails.
    #[track_caller]
    pub fn wait_for(mut self, timeout: Duration) -> Done {
        let until = Instant::now() + timeout;
        let mut peak = 0;
        let status: Option<ExitStatus> = loop {
            peak = self.peak_memory().unwrap_or(0).max(peak);
            // The pipe is drained meanwhile, because a full pipe would block the process.
            while let Ok(line) = self.lines.try_recv() {
                self.seen.push_str(&line);
            }
            match self.child.try_wait().expect("wait") {
                Some(status) => break Some(status),
                None if Instant::now() > until => break None,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let took = self.started.elapsed();
        if status.is_none() {
            let _ = self.child.kill();
        }
        while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(10)) {
            self.seen.push_str(&line);
        }
        let stdout = std::mem::take(&mut self.seen);
        let stderr = self
            .stderr
            .take()
            .map(|t| t.join().unwrap_or_default())
            .unwrap_or_default();
        let Some(status) = status else {
            panic!(
                "still running after {timeout:?}\n--- stdout (its end)\n{}\n--- stderr\n{stderr}",
                tail(&stdout)
            );
        };
        Done {
            code: status.code(),
            stdout,
            stderr,
            took,
            peak,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the peak memory of a running process in KiB, if the system reports it.
pub fn peak_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    })
}

/// Runs the binary to its end.
#[track_caller]
pub fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Done {
    spawn(args).wait()
}

/// Runs the binary on an agent server to its end.
#[track_caller]
pub fn run_at(url: &str, args: impl Args) -> Done {
    run(["--url".into(), url.into()].into_iter().chain(args.words()))
}

/// The arguments of a command: as a list, or as a line that is split at its spaces, except between single quotes.
pub trait Args {
    fn words(self) -> Vec<String>;
}

impl Args for &str {
    fn words(self) -> Vec<String> {
        let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
        for c in self.chars() {
            match c {
                '\'' => {
                    is_quoted = !is_quoted;
                    word.get_or_insert_default();
                }
                ' ' if !is_quoted => words.extend(word.take()),
                c => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }
}

impl Args for String {
    fn words(self) -> Vec<String> {
        self.as_str().words()
    }
}

impl Args for &[&str] {
    fn words(self) -> Vec<String> {
        self.iter().map(|word| (*word).to_owned()).collect()
    }
}

impl<const N: usize> Args for &[&str; N] {
    fn words(self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl Args for &Vec<&str> {
    fn words(self) -> Vec<String> {
        self.as_slice().words()
    }
}
