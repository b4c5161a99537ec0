//! The binary under faults of its machine: a killed server, a lost terminal, a full disk, no file descriptors, a suspended process,
//! rapid resizes. Each must end in a reported state, with the terminal restored and nothing left running.

use runtail_stream::{Reader, Record};
use runtail_testkit::process::{self, Running, TIMEOUT, command, launch, spawn};
use runtail_testkit::server::text;
use runtail_testkit::term::Term;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Stdio;
use std::time::Instant;

/// Starts a simulator in a process of its own, which can be killed. Returns the address of its agent server too.
fn server() -> (Running, String) {
    let mut sim = spawn(["sim", "--scenario", "demo", "--speed", "20"]);
    let line = sim.line_where("an agent server", |line| line.starts_with("agent server"));
    let url = line
        .split_whitespace()
        .last()
        .expect("an address")
        .to_string();
    (sim, url)
}

/// Creates a thread on such a server.
fn thread(url: &str) -> String {
    let made = process::run(["--url", url, "threads", "create", "-o", "json"]).expect(0);
    text(&made.json(), "thread_id")
}

/// Starts the dashboard on a thread of a server.
#[track_caller]
fn dashboard_on_thread(url: &str) -> Term {
    let thread = thread(url);
    let term = Term::spawn(&["--url", url], 100, 36);
    term.wait_for("THREAD");
    term.keys(&format!(":{thread}\r"));
    term.wait_for("● live");
    term
}

#[track_caller]
fn assert_restored(term: &Term) {
    let left = term.unrestored_modes();
    assert!(left.is_empty(), "modes that were not restored: {left:?}");
}

#[test]
fn dashboard_reports_a_killed_server() {
    let (sim, url) = server();
    let mut term = dashboard_on_thread(&url);
    sim.signal(libc::SIGKILL);
    term.wait_for("◐ reconnecting");
    // Reads the screen while it retries: the reason is shown.
    term.keys("6");
    term.wait_for("refused");
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

#[test]
fn a_suspended_dashboard_notices_a_killed_server_on_resume() {
    let (sim, url) = server();
    let mut term = dashboard_on_thread(&url);
    term.signal(libc::SIGSTOP);
    sim.signal(libc::SIGKILL);
    let _ = sim.wait();
    // Keys that are typed meanwhile are processed after the resume.
    term.keys("6");
    term.resize(220, 30);
    term.signal(libc::SIGCONT);
    term.wait_for("◐ reconnecting");
    term.wait_for("refused");
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

#[test]
fn tail_retries_after_the_server_was_killed_until_interrupted() {
    let (sim, url) = server();
    let thread = thread(&url);
    let mut tail = spawn(["--url", &url, "tail", &thread, "-o", "jsonl"]);
    tail.line_where("an open connection", |line| line.contains("\"open\""));
    sim.signal(libc::SIGKILL);
    tail.line_where("its end", |line| line.contains("\"close\""));
    tail.signal(libc::SIGINT);
    let done = tail.wait();
    assert_eq!(done.code, Some(130), "{}", done.stderr);
    assert!(
        done.stdout
            .lines()
            .last()
            .is_some_and(|line| line.contains("\"detached\"")),
        "{}",
        done.stdout
    );
    done.says("(attempt 1)");
}

/// Both ends of a pseudo-terminal that is not the controlling terminal of any process. Another test may start a process at any moment, and
/// one that inherits our end keeps the terminal alive, so it is opened with close-on-exec and not changed afterwards.
fn bare_terminal() -> (OwnedFd, OwnedFd) {
    #[cfg(target_os = "linux")]
    const ON_EXEC: libc::c_int = libc::O_CLOEXEC;
    #[cfg(not(target_os = "linux"))]
    const ON_EXEC: libc::c_int = 0;
    let size = libc::winsize {
        ws_row: 30,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: each descriptor is new and owned only here; the size is valid during its call, and only this function asks for the name.
    unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | ON_EXEC);
        assert!(master >= 0, "a pseudo-terminal");
        let master = OwnedFd::from_raw_fd(master);
        let fd = master.as_raw_fd();
        assert_eq!(
            (libc::grantpt(fd), libc::unlockpt(fd)),
            (0, 0),
            "a pseudo-terminal that may be opened"
        );
        // macOS has no `ptsname_r`.
        let name = libc::ptsname(fd);
        assert!(!name.is_null(), "its name");
        let slave = libc::open(name, libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        assert!(slave >= 0, "its other end");
        let slave = OwnedFd::from_raw_fd(slave);
        assert_eq!(
            libc::ioctl(slave.as_raw_fd(), libc::TIOCSWINSZ, &raw const size),
            0,
            "its size"
        );
        (master, slave)
    }
}

/// Whether there is something to read within this many milliseconds.
fn is_readable(file: &File, milliseconds: i32) -> bool {
    let mut asked = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the pollfd is valid during the call.
    unsafe { libc::poll(&raw mut asked, 1, milliseconds) == 1 }
}

/// Runs the binary in a terminal that is not its controlling terminal, so that no signal arrives when the terminal is closed.
/// Returns the exit code.
fn exit_code_after_close(args: &[&str], shows: &str, at_rest: bool) -> Option<i32> {
    let (master, slave) = bare_terminal();
    let mut command = command(args.iter().copied());
    command.env("TERM", "xterm-256color");
    let end = || Stdio::from(slave.try_clone().expect("a copy"));
    command.stdin(end()).stdout(end()).stderr(end());
    let mut child = command.spawn().expect("it starts");
    drop((command, slave));
    let mut screen = File::from(master);
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains(shows) {
        let mut part = [0; 4096];
        let read = screen.read(&mut part).expect("output");
        shown.extend_from_slice(&part[..read]);
    }
    if at_rest {
        while is_readable(&screen, 500) {
            assert_ne!(screen.read(&mut [0; 4096]).expect("output"), 0);
        }
    } else {
        screen.write_all(b"j").expect("a running process");
    }
    drop(screen);
    let until = Instant::now() + TIMEOUT;
    loop {
        if let Some(status) = child.try_wait().expect("wait") {
            return status.code();
        }
        if Instant::now() > until {
            child.kill().expect("killed");
            panic!("it continues without a terminal");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_terminal_closed_without_a_signal_ends_the_dashboard() {
    assert_eq!(
        exit_code_after_close(&["--demo"], "support-bot", false),
        Some(129),
        "the exit code of SIGHUP"
    );
    // In its first moments, too: before it has looked at its terminal, and while it takes it.
    for shows in ["", "\u{1b}"] {
        assert_eq!(
            exit_code_after_close(&["--demo"], shows, false),
            Some(129),
            "closed after {shows:?}"
        );
    }
    // On a screen that does not change nothing is written, so a failed write cannot reveal the closed terminal.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("still.jsonl");
    let lines = [
        r#"{"kind":"tape","version":1,"at":"2026-11-21T14:00:00Z","server":"x","thread_id":"t","run_id":"r","modes":[]}"#,
        r#"{"kind":"event","seq":1,"at":"2026-11-21T14:00:01Z","conn":1,"event":"custom","ns":[],"id":null,"data":1}"#,
    ];
    std::fs::write(&file, lines.join("\n") + "\n").expect("written");
    assert_eq!(
        exit_code_after_close(
            &["--replay", file.to_str().expect("UTF-8")],
            "still.jsonl",
            true
        ),
        Some(129)
    );
}

/// Input of `run`: a question.
const INPUT: &str = r#"{"messages":[{"role":"user","content":"where is my order?"}]}"#;

#[test]
fn a_full_disk_ends_the_recording_but_not_the_stream() {
    let (_sim, url) = server();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.jsonl");
    // A limit on file sizes acts like a full disk, for this process only.
    let script = r#"trap "" XFSZ; ulimit -f 4; exec "$@""#;
    let mut shell = std::process::Command::new("bash");
    let binary = command([""; 0]).get_program().to_owned();
    shell.args(["-c", script, "bash"]).arg(binary).args([
        "--url", &url, "run", "support", "-o", "jsonl", "--input", INPUT,
    ]);
    shell.arg("--record").arg(&file);
    for (name, value) in process::environment() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let done = launch(shell, "").wait().expect(0);
    done.says("ends here; the stream continues: File too large");
    let lines = done.json_lines();
    assert_eq!(lines.last().expect("an end")["outcome"], "success");
    // Everything that was written before is complete except the last line.
    let mut reader = Reader::open(&file).expect("a recording");
    let records: Vec<Record> = reader
        .by_ref()
        .map(|record| record.expect("whole lines"))
        .collect();
    assert!(
        records.len() > 2 && records.len() < lines.len(),
        "{} of {}",
        records.len(),
        lines.len()
    );
    assert!(!matches!(records.last(), Some(Record::End(_))));
}

#[test]
fn a_full_disk_is_reported_for_stdout_and_ignored_for_the_log() {
    let (_sim, url) = server();
    let mut to_disk = command([
        "--url", &url, "run", "support", "-o", "jsonl", "--input", INPUT,
    ]);
    to_disk.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(
        File::options()
            .write(true)
            .open("/dev/full")
            .expect("a full disk"),
    );
    let done = to_disk.output().expect("it ends");
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(
        told.contains("cannot write to stdout: No space left on device"),
        "{told}"
    );
    process::run(["--url", &url, "--log", "/dev/full", "threads", "list"]).expect(0);
}

#[test]
fn a_full_disk_during_an_export_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("raw.jsonl");
    let mut term = Term::spawn_under(
        r#"trap "" XFSZ; ulimit -f 1; exec "$@""#,
        &["--demo"],
        120,
        36,
    );
    term.select_first_by_name("contract-review");
    term.keys("\r");
    term.wait_for("Assistants ");
    term.compose("support");
    term.wait_for("New run ·");
    term.keys("hello\x13");
    term.wait_for("last run finished");
    term.keys("6");
    term.wait_for("SEQ");
    term.keys(&format!(":export jsonl {}\r", file.display()));
    term.wait_for("Couldn't write ");
    assert!(
        term.screen().contains("File too large"),
        "{}",
        term.screen()
    );
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

#[test]
fn too_few_file_descriptors_leave_a_normal_terminal() {
    let mut drawn = 0;
    for files in [5, 7, 9, 11, 13, 15, 16, 17, 18, 19, 20, 22, 24, 28, 40, 100] {
        let mut term = Term::spawn_under(
            &format!(r#"ulimit -n {files}; exec "$@""#),
            &["--demo"],
            100,
            30,
        );
        // It starts, or reports why it can't.
        term.wait_until("the first output", |term| {
            let raw = term.raw_output();
            let text = String::from_utf8_lossy(&raw);
            // The screen has whole frames alone.
            term.screen().contains("support-bot")
                || text.contains("os error 24")
                || text.contains("Too many open files")
                || text.contains("Error 24")
        });
        if term.screen().contains("support-bot") {
            drawn += 1;
            term.keys("\x03");
        }
        let status = term.exit_status();
        assert!(
            matches!(status.exit_code(), 0 | 1 | 127),
            "{files}: {status:?} {}",
            term.screen()
        );
        assert_restored(&term);
    }
    assert!(drawn > 0, "it runs with enough descriptors");
}

#[test]
fn rapid_resizes_end_at_the_last_size() {
    let mut term = Term::spawn(&["--demo"], 120, 36);
    term.wait_for("contract-rev");
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..500 {
        term.resize(random.u16(1..400), random.u16(1..120));
    }
    term.resize(130, 37);
    term.wait_until("the last size", |term| {
        let screen = term.screen();
        screen.contains("contract-rev")
            && screen
                .lines()
                .nth(1)
                .is_some_and(|line| line.chars().count() == 130)
    });
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

#[test]
fn a_key_that_arrives_with_a_resize_is_handled() {
    let mut term = Term::spawn(&["--demo"], 120, 36);
    term.wait_for("contract-rev");
    term.keys("/");
    for count in 1..=60 {
        // Both are ready at the same moment, and nothing else follows that would wake the reader.
        term.resize(if count % 2 == 0 { 120 } else { 121 }, 36);
        term.keys("z");
        let typed = format!("/{}", "z".repeat(count));
        term.wait_until("the key", |term| term.screen().contains(&typed));
    }
    term.keys("\x03");
    assert_eq!(term.exit_status().exit_code(), 0);
    assert_restored(&term);
}

/// A file that never ends, like a small archive that unpacks to gigabytes. It contains no record.
#[test]
fn signals_end_commands_that_read_an_endless_recording() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, (what, begin)) in [("blank lines", b'\n'), ("one line", b'x')]
        .into_iter()
        .enumerate()
    {
        let path = folder.path().join(format!("bomb{n}.jsonl.gz"));
        let name = std::ffi::CString::new(path.to_str().expect("text")).expect("no zero");
        // SAFETY: the name is a zero-terminated string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for words in [
            &["verify"][..],
            &["replay"],
            &["redact", "--dry-run", "--pattern", "a"],
        ] {
            let mut args = words.to_vec();
            args.push(path.to_str().expect("text"));
            // The pipe has no writer yet, so the command waits for one.
            let running = spawn(args);
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed
                .write_all(&vec![begin; 1 << 20])
                .expect("writing to memory");
            let member = packed.finish().expect("writing to memory");
            let mut pipe = std::fs::OpenOptions::new()
                .write(true)
                .open(&path)
                .expect("a reader");
            (0..4).for_each(|_| pipe.write_all(&member).expect("it reads on"));
            running.signal(libc::SIGINT);
            let feeding = std::thread::spawn(move || while pipe.write_all(&member).is_ok() {});
            let done = running.wait();
            // The signal may arrive before the handler is installed.
            assert!(
                matches!(done.code, Some(130) | None),
                "{what} {words:?}: {:?}\n{}",
                done.code,
                done.stderr
            );
            feeding.join().expect("the pipe breaks");
        }
    }
}

/// Extreme numbers: the recording is reported as damaged and still shown.
#[test]
fn a_recording_with_extreme_numbers_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("odd.jsonl");
    let (most, times) = (
        u64::MAX,
        [
            "2026-11-21T10:00:00Z",
            "-009999-01-02T01:59:59Z",
            "9999-12-30T22:00:00Z",
        ],
    );
    let mut text = format!(
        "{{\"kind\":\"tape\",\"version\":1,\"at\":\"{}\",\"server\":\"x\"}}\n",
        times[2]
    );
    for (n, seq) in [1, 2, 1 << 60, most - 1, most, 0, 7, most]
        .into_iter()
        .enumerate()
    {
        let (at, conn) = (times[n % 3], n * 536_870_911);
        let event = format!(
            "\"kind\":\"event\",\"seq\":{seq},\"at\":\"{at}\",\"conn\":{conn},\"event\":\"custom\""
        );
        text += &format!(
            "{{{event},\"data\":1}}\n{{{event},\"malformed\":true,\"too_large\":{most},\"data\":\"x\"}}\n"
        );
    }
    text += &format!(
        "{{\"kind\":\"end\",\"at\":\"{}\",\"outcome\":\"success\",\"events\":{most},\"bytes\":{most},",
        times[1]
    );
    text += &format!(
        "\"connections\":{},\"duplicates\":{most},\"gaps\":{most},\"malformed\":{most}}}\n",
        u32::MAX
    );
    std::fs::write(&file, text).expect("written");
    let file = file.to_str().expect("text");
    let verified = process::run(["verify", file]).expect(1);
    assert!(
        verified.stdout.contains("damaged; 16 events"),
        "{}",
        verified.stdout
    );
    process::run(["replay", file, "-o", "text"]).expect(0);
    process::run(["redact", file, "--dry-run", "--path", "**.a"]).expect(0);
    let mut term = Term::spawn(&["--replay", file], 240, 36);
    term.wait_for("run finished");
    for view in ["1", "2", "3", "4", "5", "6", "7"] {
        term.keys(view);
    }
    // Time travel back and forth must not iterate over the number ranges.
    term.keys("6<<< >>G");
    term.wait_for("custom");
    term.signal(libc::SIGTERM);
    term.exit_status();
    assert_restored(&term);
}

/// Opening a named pipe blocks until its other end is opened, and the first signal used to be lost meanwhile.
#[test]
fn named_pipes_are_refused_in_place_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the path is a zero-terminated string that is valid during the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let pipe = pipe.to_str().unwrap();
    let config = folder.path().join("config.toml");
    std::fs::write(
        &config,
        format!("[profiles.p]\nagent_server = \"http://127.0.0.1:9\"\napi_key_file = \"{pipe}\"\n"),
    )
    .unwrap();
    let config = config.to_str().unwrap();
    let input = format!("@{pipe}");
    let commands: [&[&str]; 6] = [
        &[
            "--url",
            "http://127.0.0.1:9",
            "join",
            "t",
            "r",
            "--record",
            pipe,
        ],
        &[
            "--url",
            "http://127.0.0.1:9",
            "--log",
            pipe,
            "threads",
            "list",
        ],
        &["--config", pipe, "deployments", "list"],
        &["--config", config, "threads", "list"],
        &["--url", "http://127.0.0.1:9", "run", "a", "--input", &input],
        &["--demo", "revisions", "wait", "d", "--summary-file", pipe],
    ];
    for command in commands {
        process::run(command).says("named pipe");
    }
}
