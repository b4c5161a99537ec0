//! Time to the first frame, and the cost of an idle dashboard: `cargo bench --bench start`, or
//! `… -- SECONDS` to observe each idle screen for that long. The binary runs in a pseudo-terminal of 140x40.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const RUNTAIL: &str = env!("CARGO_BIN_EXE_runtail");
const SIZE: PtySize = PtySize {
    rows: 40,
    cols: 140,
    pixel_width: 0,
    pixel_height: 0,
};
/// Repetitions of each start.
const STARTS: usize = 200;
/// How long an idle screen is observed by default.
const IDLE: u64 = 20;
/// The time for a screen to settle before it is observed.
const SETTLE: Duration = Duration::from_secs(6);
/// Maximum wait for a screen or for the end of the program.
const TIMEOUT: Duration = Duration::from_secs(30);

fn main() {
    let seconds = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(IDLE);
    let folder = tempfile::tempdir().expect("a folder");
    // The system accepts connections, and nothing ever responds.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("http://{}", silent.local_addr().expect("an address"));
    let silent = profile(folder.path(), "silent", &silent, "any");
    starts(&silent);
    if cfg!(target_os = "linux") {
        idle_screens(folder.path(), &silent, Duration::from_secs(seconds));
    }
}

/// Arguments for a configuration of one profile.
fn profile(folder: &Path, name: &str, url: &str, key: &str) -> Vec<String> {
    let file = folder.join(format!("{name}.toml"));
    let key_file = folder.join(format!("{name}.key"));
    std::fs::write(&key_file, key).expect("a file");
    private(&key_file);
    let text = format!(
        "[profiles.{name}]\nurl = {url:?}\napi_key_file = {:?}\n",
        key_file.to_string_lossy()
    );
    std::fs::write(&file, text).expect("a file");
    vec!["--config".into(), file.to_string_lossy().into_owned()]
}

/// Key files must be private.
fn private(file: &Path) {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(file, mode).expect("our own file");
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// A process in a terminal, and its output.
struct Term {
    master: Box<dyn MasterPty + Send>,
    input: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
}

impl Term {
    fn spawn(line: &[String]) -> Term {
        let pty = native_pty_system()
            .openpty(SIZE)
            .expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(&line[0]);
        command.args(&line[1..]);
        command.cwd(env!("CARGO_MANIFEST_DIR"));
        command.env("TERM", "xterm-256color");
        command.env("LANG", "C.UTF-8");
        let mut reader = pty.master.try_clone_reader().expect("its output");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let input = pty.master.take_writer().expect("its input");
        let child = pty.slave.spawn_command(command).expect("a process");
        Term {
            master: pty.master,
            input,
            child,
            output,
            parser: vt100::Parser::new(SIZE.rows, SIZE.cols, 0),
        }
    }

    /// Reads until the screen is as expected or the process has ended.
    fn until(&mut self, wanted: impl Fn(&str) -> bool) {
        let until = Instant::now() + TIMEOUT;
        while !wanted(&self.parser.screen().contents()) {
            match self
                .output
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    panic!(
                        "the screen was never shown:\n{}",
                        self.parser.screen().contents()
                    )
                }
            }
        }
    }

    /// Reads for a while. Returns the number of bytes and of reads.
    fn during(&mut self, time: Duration) -> (usize, usize) {
        let (until, mut bytes, mut pieces) = (Instant::now() + time, 0, 0);
        while let Ok(read) = self
            .output
            .recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            self.parser.process(&read);
            (bytes, pieces) = (bytes + read.len(), pieces + 1);
        }
        (bytes, pieces)
    }

    fn keys(&mut self, keys: &str) {
        self.input
            .write_all(keys.as_bytes())
            .expect("it reads its keys");
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.master.resize(SIZE);
    }
}

/// Whether header and footer are complete. A frame is written in one piece, so everything between them is there too.
fn is_frame(screen: &str) -> bool {
    let mut lines = screen.lines().map(str::trim);
    lines
        .next()
        .is_some_and(|header| header.starts_with("runtail"))
        && lines.next_back().is_some_and(|l| l.contains("help"))
}

fn starts(silent: &[String]) {
    println!("from exec to the first complete frame, {STARTS} times   median       p99");
    // Only the time to the screen is measured, not that of the end of the process.
    let took = |line: &[String], wanted: fn(&str) -> bool| {
        let once = |_| {
            let start = Instant::now();
            let mut term = Term::spawn(line);
            term.until(wanted);
            start.elapsed()
        };
        let mut all: Vec<Duration> = (0..STARTS).map(once).collect();
        all.sort_unstable();
        (all[STARTS / 2], all[STARTS * 99 / 100])
    };
    let runtail = |args: &[String]| [&[RUNTAIL.to_owned()], args].concat();
    let baseline = took(&["true".to_owned()], |_| false);
    let rows = [
        ("`true`, to its end", baseline),
        (
            "`runtail --version`, to its end",
            took(&runtail(&["--version".to_owned()]), |_| false),
        ),
        (
            "a profile whose server never answers",
            took(&runtail(silent), is_frame),
        ),
        ("--demo", took(&runtail(&["--demo".to_owned()]), is_frame)),
    ];
    for (what, (median, p99)) in rows {
        let times = median.as_secs_f64() / baseline.0.as_secs_f64();
        println!("{what:<45} {median:>9.1?} {p99:>9.1?}   {times:.1} x true");
    }
}

/// Starts a simulator in a process of its own. Returns its address and key.
struct Sim(std::process::Child, String, String);

impl Sim {
    fn start() -> Sim {
        let args = ["sim", "--scenario", "fleet:20"];
        let mut child = Command::new(RUNTAIL)
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the simulator");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("its first line");
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., url, "key", key] = words[..] else {
            panic!("{line:?}")
        };
        Sim(child, url.to_owned(), key.to_owned())
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn idle_screens(folder: &Path, silent: &[String], time: Duration) {
    let sim = Sim::start();
    let polled = profile(folder, "polled", &sim.1, &sim.2);
    let refused = profile(folder, "refused", &sim.1, "another");
    let replay = [
        "--replay".to_owned(),
        "tests/fixtures/support-run.jsonl".to_owned(),
    ];
    let demo = ["--demo".to_owned()];
    println!(
        "\nan idle screen for {time:?}                    switches   CPU ticks     bytes    pieces"
    );
    for (what, args, keys) in [
        ("--demo", &demo[..], ""),
        ("a profile of 20 deployments, polled", &polled, ""),
        ("the same without focus", &polled, "\x1b[O"),
        ("a profile whose key was refused", &refused, ""),
        ("a profile whose server never answers", silent, ""),
        ("a stream that has ended", &replay, ""),
        ("the JSON of one of its events", &replay, "\r"),
    ] {
        let mut term = Term::spawn(&[&[RUNTAIL.to_owned()], args].concat());
        term.until(is_frame);
        term.during(SETTLE);
        term.keys(keys);
        term.during(SETTLE / 2);
        let pid = term.child.process_id().expect("it runs");
        let (known, ran) = (switches(pid), ticks(pid));
        let (bytes, pieces) = term.during(time);
        // The count of a thread that has ended is lost.
        let new = switches(pid)
            .into_iter()
            .map(|(task, count)| count - known.get(&task).copied().unwrap_or_default());
        let (switches, ticks) = (new.sum::<u64>(), ticks(pid) - ran);
        println!("{what:<45} {switches:>9} {ticks:>11} {bytes:>9} {pieces:>9}");
    }
}

/// Context switches of each thread of a process.
fn switches(pid: u32) -> HashMap<OsString, u64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))
        .expect("it runs")
        .flatten();
    let count = |status: String| {
        let both = status
            .lines()
            .filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        both.filter_map(|(_, count)| count.trim().parse::<u64>().ok())
            .sum()
    };
    let read = |file| std::fs::read_to_string(file).unwrap_or_default();
    tasks
        .map(|task| (task.file_name(), count(read(task.path().join("status")))))
        .collect()
}

/// The processor time of a process in ticks (hundredths of a second).
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    // Skips the name, which may contain anything.
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    fields
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum()
}
