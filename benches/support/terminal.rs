//! A pseudo-terminal that runs the program, and an emulator that maintains its screen.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Maximum wait for a screen, after which the bench gives up.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The query for the background color (OSC 11).
const BACKGROUND: &[u8] = b"\x1b]11;?";

/// The terminal.
pub struct Terminal {
    _master: Box<dyn MasterPty + Send>,
    _home: tempfile::TempDir,
    input: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<(Instant, Vec<u8>)>,
    parser: vt100::Parser,
    /// Bytes that were written to it.
    pub written: usize,
}

impl Terminal {
    /// Starts the program in a terminal of 140 columns and 40 rows.
    pub fn start(args: &[&str]) -> Terminal {
        let (cols, rows) = (140, 40);
        let size = PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pty = native_pty_system()
            .openpty(size)
            .expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_runtail"));
        command.args(args);
        // The user's own configuration must have no effect.
        let home = tempfile::tempdir().expect("a folder");
        for name in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"] {
            command.env(name, home.path());
        }
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        let child = pty
            .slave
            .spawn_command(command)
            .expect("the program starts");
        drop(pty.slave);
        let mut reader = pty.master.try_clone_reader().expect("a reader");
        let input = pty.master.take_writer().expect("a writer");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 64 * 1024];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if sender.send((Instant::now(), buffer[..n].to_vec())).is_err() {
                    return;
                }
            }
        });
        let parser = vt100::Parser::new(rows, cols, 0);
        Terminal {
            _master: pty.master,
            _home: home,
            input,
            child,
            output,
            parser,
            written: 0,
        }
    }

    /// Sends keys.
    pub fn keys(&mut self, text: &str) {
        self.input
            .write_all(text.as_bytes())
            .expect("the terminal takes keys");
        self.input.flush().expect("the terminal takes keys");
    }

    /// Reads until a condition holds for the screen. Returns the arrival time of the bytes that made it hold.
    pub fn until(&mut self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) -> Instant {
        let began = Instant::now();
        if holds(self.parser.screen()) {
            return began;
        }
        loop {
            match self.output.recv_timeout(TIMEOUT) {
                Ok((at, bytes)) => {
                    self.take(&bytes);
                    if holds(self.parser.screen()) {
                        return at;
                    }
                }
                Err(_) => panic!(
                    "{what}: not in {TIMEOUT:?}; the screen:\n{}",
                    self.parser.screen().contents()
                ),
            }
            assert!(
                began.elapsed() < TIMEOUT,
                "{what}: not in time; the screen:\n{}",
                self.parser.screen().contents()
            );
        }
    }

    /// Reads for a while.
    pub fn rest(&mut self, time: Duration) {
        let until = Instant::now() + time;
        loop {
            match self
                .output
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok((_, bytes)) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    return std::thread::sleep(until - Instant::now());
                }
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.written += bytes.len();
        // As terminals do. Where one doesn't, Esc waits for a reply in the first seconds.
        if bytes
            .windows(BACKGROUND.len())
            .any(|part| part == BACKGROUND)
        {
            self.keys("\x1b]11;rgb:1c1c/1c1c/1c1c\x1b\\");
        }
        self.parser.process(bytes);
    }

    /// The screen.
    pub fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// A value of `/proc/PID/status`, such as `VmHWM`, in KiB.
    pub fn status(&self, name: &str) -> u64 {
        let pid = self.child.process_id().unwrap_or_default();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or_default()
    }

    /// Quits, and waits for the program's end.
    pub fn quit(mut self) {
        self.keys("\x03");
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.rest(Duration::from_millis(20));
        }
    }
}
