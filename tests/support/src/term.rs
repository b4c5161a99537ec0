//! The binary in a real pseudo-terminal, with an emulator for its screen, and keys and signals as input.

use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use runtail_tui::widgets::theme::NAMED;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use crate::process::TIMEOUT;

struct Shown {
    parser: vt100::Parser,
    raw: Vec<u8>,
    /// The number of bytes that are on the screen.
    drawn: usize,
    closed: bool,
}

impl Shown {
    /// Draws what was received, except a frame whose end has not arrived: as in a terminal, no screen shows a part of it.
    fn draw_frames(&mut self) {
        let (begin, end) = (b"\x1b[?2026h", b"\x1b[?2026l");
        let new = &self.raw[self.drawn..];
        let after_last = place(new, end).map_or(0, |at| at + end.len());
        let open = new[after_last..]
            .windows(begin.len())
            .position(|part| part == begin);
        // The mark itself may arrive in pieces.
        let cut = (1..begin.len()).rev().find(|n| new.ends_with(&begin[..*n]));
        let to = open.map_or(new.len() - cut.unwrap_or(0), |at| after_last + at);
        self.draw_to(self.drawn + to);
    }

    fn draw_to(&mut self, to: usize) {
        let to = to.min(self.raw.len());
        self.parser.process(&self.raw[self.drawn..to]);
        self.drawn = to;
    }
}

/// A terminal with a process. On drop, the terminal hangs up and the process is killed.
pub struct Term {
    master: Option<Box<dyn MasterPty + Send>>,
    input: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    shown: Arc<Mutex<Shown>>,
    withheld: Arc<Mutex<Option<Vec<u8>>>>,
}

fn color(color: vt100::Color) -> Color {
    match color {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Rgb(r, g, b) => Color::Rgb(r, g, b),
        vt100::Color::Idx(n @ 16..) => Color::Indexed(n),
        vt100::Color::Idx(n) => NAMED[usize::from(n)],
    }
}

/// The queries that a terminal replies to: the cursor's position, and its attributes. Another one is its background color.
const QUERIES: [(&str, &str); 2] = [("\x1b[6n", "\x1b[1;1R"), ("\x1b[c", "\x1b[?62;22c")];
/// The background that a terminal reports.
const DARK: &str = "1c1c/1c1c/1c1c";
const LIGHT: &str = "ffff/ffff/ffff";

impl Term {
    /// Starts the binary with these arguments in a terminal of this size.
    #[track_caller]
    pub fn spawn(args: &[&str], cols: u16, rows: u16) -> Term {
        Term::spawn_with(&[], args, cols, rows)
    }

    /// [`Term::spawn`] with environment variables.
    #[track_caller]
    pub fn spawn_with(env: &[(&str, &str)], args: &[&str], cols: u16, rows: u16) -> Term {
        let mut line = vec![Term::binary()];
        line.extend(args.iter().map(|&arg| arg.to_owned()));
        Term::start(env, &line, (cols, rows), DARK)
    }

    /// [`Term::spawn`] in a terminal with a white background.
    #[track_caller]
    pub fn spawn_on_white(args: &[&str], cols: u16, rows: u16) -> Term {
        let mut line = vec![Term::binary()];
        line.extend(args.iter().map(|&arg| arg.to_owned()));
        Term::start(&[], &line, (cols, rows), LIGHT)
    }

    /// Starts the binary as a job of an interactive shell. When the job stops, the shell prints `job stopped`, waits for a
    /// line, continues the job, and finally prints `job ended` with its exit code.
    #[track_caller]
    pub fn spawn_as_job(args: &[&str], cols: u16, rows: u16) -> Term {
        let script = r#"set -m; "$@"; echo "job stopped"; read -r line; fg >/dev/null; echo "job ended $?"; read -r line"#;
        let mut line: Vec<_> = ["bash", "-c", script, "bash"].map(str::to_owned).into();
        line.push(Term::binary());
        line.extend(args.iter().map(|&arg| arg.to_owned()));
        Term::start(&[], &line, (cols, rows), DARK)
    }

    /// [`Term::spawn_under`] in a terminal that replies to no query before [`Term::reply`].
    #[track_caller]
    pub fn spawn_slow_under(script: &str, args: &[&str], cols: u16, rows: u16) -> Term {
        let term = Term::spawn_under(&format!("read -r line; {script}"), args, cols, rows);
        *lock(&term.withheld) = Some(Vec::new());
        term.keys("\r");
        term
    }

    /// Sends the replies that were withheld so far.
    #[track_caller]
    pub fn reply(&self) {
        let replies = lock(&self.withheld)
            .replace(Vec::new())
            .expect("a slow terminal");
        self.keys(&String::from_utf8(replies).expect("text"));
    }

    /// Starts the binary with a shell script, in which it is `"$@"`. A script that prints something at its end then waits for a
    /// line: the system may drop what was written just before the last process of a terminal ends.
    #[track_caller]
    pub fn spawn_under(script: &str, args: &[&str], cols: u16, rows: u16) -> Term {
        let mut line: Vec<_> = ["bash", "-c", script, "bash"].map(str::to_owned).into();
        line.push(Term::binary());
        line.extend(args.iter().map(|&arg| arg.to_owned()));
        Term::start(&[], &line, (cols, rows), DARK)
    }

    fn binary() -> String {
        crate::process::binary().to_string_lossy().into_owned()
    }

    #[track_caller]
    fn start(
        env: &[(&str, &str)],
        line: &[String],
        (cols, rows): (u16, u16),
        background: &'static str,
    ) -> Term {
        let pty = native_pty_system()
            .openpty(size(cols, rows))
            .expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(&line[0]);
        command.args(&line[1..]);
        command.cwd(std::env::current_dir().expect("a working directory"));
        for (name, value) in crate::process::environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            }
        }
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pty
            .slave
            .spawn_command(command)
            .expect("the process starts");
        drop(pty.slave);
        let mut output = pty.master.try_clone_reader().expect("a reader");
        let input = Arc::new(Mutex::new(pty.master.take_writer().expect("a writer")));
        let shown = Shown {
            parser: vt100::Parser::new(rows, cols, 0),
            raw: Vec::new(),
            drawn: 0,
            closed: false,
        };
        let shown = Arc::new(Mutex::new(shown));
        let (screen, replies) = (Arc::clone(&shown), Arc::clone(&input));
        let withheld = Arc::new(Mutex::new(None));
        let slow: Arc<Mutex<Option<Vec<u8>>>> = Arc::clone(&withheld);
        std::thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(n @ 1..) = output.read(&mut buffer) {
                let mut shown = lock(&screen);
                let before = shown.raw.len();
                shown.raw.extend_from_slice(&buffer[..n]);
                shown.draw_frames();
                // A terminal replies to queries, also to one that arrives in pieces.
                let color = format!("\x1b]11;rgb:{background}\x1b\\");
                let queries = [QUERIES[0], QUERIES[1], ("\x1b]11;?\x1b\\", &*color)];
                let is_new = |(query, _): &(&str, &str)| {
                    let from = (before + 1).saturating_sub(query.len());
                    place(&shown.raw[from..], query.as_bytes()).is_some()
                };
                let asked: Vec<_> = queries.into_iter().filter(is_new).collect();
                drop(shown);
                for (_, reply) in asked {
                    match &mut *lock(&slow) {
                        Some(withheld) => withheld.extend_from_slice(reply.as_bytes()),
                        None => drop(lock(&replies).write_all(reply.as_bytes())),
                    }
                }
            }
            let mut shown = lock(&screen);
            shown.closed = true;
            shown.draw_to(usize::MAX);
        });
        Term {
            master: Some(pty.master),
            input,
            child,
            shown,
            withheld,
        }
    }

    /// Returns the screen as text without trailing blanks.
    pub fn screen(&self) -> String {
        let contents = lock(&self.shown).parser.screen().contents();
        contents
            .lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Returns the screen with its colors.
    pub fn buffer(&self) -> Buffer {
        let shown = lock(&self.shown);
        let screen = shown.parser.screen();
        let (height, width) = screen.size();
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let Some(cell) = screen
                .cell(y, x)
                .filter(|cell| !cell.is_wide_continuation())
            else {
                continue;
            };
            let modifiers = [
                (cell.bold(), Modifier::BOLD),
                (cell.dim(), Modifier::DIM),
                (cell.inverse(), Modifier::REVERSED),
                (cell.underline(), Modifier::UNDERLINED),
            ];
            let modifiers = modifiers
                .into_iter()
                .filter(|(is, _)| *is)
                .map(|(_, modifier)| modifier)
                .collect();
            let style = Style::new()
                .fg(color(cell.fgcolor()))
                .bg(color(cell.bgcolor()))
                .add_modifier(modifiers);
            let symbol = if cell.has_contents() {
                cell.contents()
            } else {
                " "
            };
            buffer[(x, y)].set_symbol(symbol).set_style(style);
        }
        buffer
    }

    /// Returns the background color of a cell; `None` if it is the terminal's own.
    pub fn background(&self, column: u16, row: u16) -> Option<vt100::Color> {
        let shown = lock(&self.shown);
        Some(shown.parser.screen().cell(row, column)?.bgcolor())
            .filter(|color| *color != vt100::Color::Default)
    }

    /// Returns everything that was written to the terminal.
    pub fn raw_output(&self) -> Vec<u8> {
        lock(&self.shown).raw.clone()
    }

    /// Waits until the screen contains this text.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?} on the screen"), |term| {
            term.screen().contains(text)
        });
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Term) -> bool) {
        let until = Instant::now() + TIMEOUT;
        while !holds(self) {
            let closed = lock(&self.shown).closed;
            if Instant::now() > until || (closed && !holds(self)) {
                let why = if closed {
                    "the program has ended"
                } else {
                    "time is up"
                };
                panic!("{what}: {why}; the screen:\n{}", self.screen());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until nothing was written for this time.
    pub fn wait_for_quiet(&self, quiet: Duration) {
        let until = Instant::now() + Duration::from_secs(20);
        let mut seen = (usize::MAX, Instant::now());
        while Instant::now() < until && (seen.1.elapsed() < quiet) {
            let now = lock(&self.shown).raw.len();
            if now != seen.0 {
                seen = (now, Instant::now());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Types keys. Control keys are written as the terminal sends them: `"\x1a"` is Ctrl-Z, `"\x1b[A"` is Up. A key right behind
    /// Esc is read as Alt and that key, so what Esc does must be awaited first.
    #[track_caller]
    pub fn keys(&self, keys: &str) {
        let mut input = lock(&self.input);
        input
            .write_all(keys.as_bytes())
            .and_then(|()| input.flush())
            .expect("the terminal accepts keys");
    }

    /// Sorts the deployments by name and selects the first, which has this name. In the default order, problems first, rows
    /// move while statuses load, so a key could act on another row.
    #[track_caller]
    pub fn select_first_by_name(&self, name: &str) {
        self.wait_for(name);
        self.keys("sg");
        let is_selected = |line: &str| {
            line.split_once('▌')
                .is_some_and(|(_, row)| row.trim_start().starts_with(name))
        };
        self.wait_until("the first row by name", |term| {
            term.screen().lines().any(is_selected)
        });
    }

    /// Opens the composer for this assistant from an agent server's lists.
    #[track_caller]
    pub fn compose(&self, assistant: &str) {
        self.keys("2");
        self.wait_for("› assistants");
        self.keys("/");
        self.wait_for("Esc cancel");
        self.keys(&format!("{assistant}\r"));
        self.wait_for(&format!("/{assistant}"));
        self.keys("\r");
        self.wait_for(&format!("[ {assistant}"));
    }

    /// Replaces the composer's input by this JSON, in a form that was turned into JSON or where there is none.
    #[track_caller]
    pub fn compose_json(&self, text: &str) {
        self.wait_until("the graph's schema, or none", |term| {
            let screen = term.screen();
            [
                "from the schema of",
                "from the state of",
                "no form:",
                "couldn't load the schema",
            ]
            .iter()
            .any(|said| screen.contains(said))
        });
        if self.screen().contains("(x) form") {
            self.keys("\x14");
            self.wait_for("(x) JSON");
        }
        // To the end of the text, then everything before it is deleted.
        self.keys("\x1b[1;5F");
        self.keys(&"\x15\x7f".repeat(40));
        self.keys(text);
        self.wait_for("Ready.");
    }

    /// Resizes the terminal.
    #[track_caller]
    pub fn resize(&self, cols: u16, rows: u16) {
        // The emulator (vt100 0.16) panics on a screen of one line or one column; the program must handle it.
        lock(&self.shown)
            .parser
            .screen_mut()
            .set_size(rows.max(3), cols.max(3));
        self.master
            .as_ref()
            .expect("not hung up")
            .resize(size(cols, rows))
            .expect("resized");
    }

    /// Sends a signal to the process (the shell, if there is one).
    #[track_caller]
    pub fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.process_id().expect("the process runs")).expect("a pid");
        // SAFETY: kill touches no memory of ours, and the child is not yet waited for, so the pid is still its own.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "the process exists");
    }

    /// Returns the peak memory of the process so far in KiB, if the system reports it.
    pub fn peak_memory(&self) -> Option<u64> {
        crate::process::peak_memory(self.child.process_id()?)
    }

    /// Closes the terminal, like a closed window or a lost ssh connection.
    pub fn hang_up(&mut self) {
        // The reader and the writer hold the terminal too, so the signal is sent as the kernel would.
        self.signal(libc::SIGHUP);
        self.master = None;
    }

    /// Waits for the end of the process.
    #[track_caller]
    pub fn exit_status(&mut self) -> ExitStatus {
        let until = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait().expect("wait") {
                // The last bytes may not have been read yet.
                let drained = Instant::now() + Duration::from_secs(20);
                while !lock(&self.shown).closed && Instant::now() < drained {
                    std::thread::sleep(Duration::from_millis(5));
                }
                return status;
            }
            assert!(
                Instant::now() < until,
                "the process does not end; its screen:\n{}",
                self.screen()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the terminal modes that are not restored, in words.
    pub fn unrestored_modes(&self) -> Vec<&'static str> {
        let shown = lock(&self.shown);
        let screen = shown.parser.screen();
        let mut left = Vec::new();
        let mut note = |wrong: bool, what| {
            if wrong {
                left.push(what);
            }
        };
        note(screen.alternate_screen(), "the alternate screen");
        note(screen.hide_cursor(), "a hidden cursor");
        note(screen.bracketed_paste(), "bracketed paste");
        note(
            screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None,
            "mouse reports",
        );
        note(
            screen.application_cursor() || screen.application_keypad(),
            "application keys",
        );
        let has_default_colors =
            screen.fgcolor() == vt100::Color::Default && screen.bgcolor() == vt100::Color::Default;
        note(
            !has_default_colors || screen.bold() || screen.inverse(),
            "colors or attributes",
        );
        // Modes that the emulator doesn't track are counted as pairs of on and off in the output.
        let count = |needle: &[u8]| {
            shown
                .raw
                .windows(needle.len())
                .filter(|window| *window == needle)
                .count()
        };
        note(
            count(b"\x1b[?1004h") > 0 && last(&shown.raw, b"\x1b[?1004h", b"\x1b[?1004l"),
            "focus reports",
        );
        note(
            last(&shown.raw, b"\x1b[?2026h", b"\x1b[?2026l"),
            "a synchronized update",
        );
        let pushed = (1..32)
            .map(|flags| count(format!("\x1b[>{flags}u").as_bytes()))
            .sum::<usize>();
        note(
            pushed > count(b"\x1b[<1u") + count(b"\x1b[<u"),
            "keyboard enhancement",
        );
        if let Some(fd) = self.master.as_ref().and_then(|master| master.as_raw_fd()) {
            // SAFETY: termios is plain data for which zeroes are valid, and the descriptor is open while `master` lives.
            let mut modes: libc::termios = unsafe { std::mem::zeroed() };
            let known = unsafe { libc::tcgetattr(fd, &raw mut modes) } == 0;
            let cooked = libc::ICANON | libc::ECHO | libc::ISIG;
            note(known && modes.c_lflag & cooked != cooked, "raw mode");
        }
        left
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether `on` was written after the last `off`.
fn last(raw: &[u8], on: &[u8], off: &[u8]) -> bool {
    place(raw, on) > place(raw, off)
}

/// Returns the last place of a sequence.
fn place(raw: &[u8], needle: &[u8]) -> Option<usize> {
    raw.windows(needle.len())
        .rposition(|window| window == needle)
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
