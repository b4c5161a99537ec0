//! A binary in a pseudo-terminal, with an emulator for its screen.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What terminals are asked for, and their replies: the position of the cursor, the attributes, the background.
const REPLIES: [(&str, &str); 3] = [
    ("\x1b[6n", "\x1b[1;1R"),
    ("\x1b[c", "\x1b[?62;22c"),
    ("\x1b]11;?\x1b\\", "\x1b]11;rgb:1c1c/1c1c/1c1c\x1b\\"),
];

struct Shown {
    parser: vt100::Parser,
    changed: Instant,
    is_closed: bool,
}

pub struct Terminal {
    /// Keeps the terminal open.
    _master: Box<dyn MasterPty + Send>,
    input: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    shown: Arc<Mutex<Shown>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Terminal {
    pub fn open(
        binary: &Path,
        words: &[String],
        environment: &[(&'static str, String)],
        folder: &Path,
        (cols, rows): (u16, u16),
    ) -> anyhow::Result<Terminal> {
        let pty = native_pty_system().openpty(PtySize {
            rows,
            cols,
            pixel_width: 0,
            pixel_height: 0,
        })?;
        let mut command = CommandBuilder::new(binary);
        command.args(words);
        command.cwd(folder);
        command.env_clear();
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = pty.slave.spawn_command(command)?;
        drop(pty.slave);
        let mut output = pty.master.try_clone_reader()?;
        let input = Arc::new(Mutex::new(pty.master.take_writer()?));
        let parser = vt100::Parser::new(rows, cols, 0);
        let shown = Arc::new(Mutex::new(Shown {
            parser,
            changed: Instant::now(),
            is_closed: false,
        }));
        let (screen, replies) = (Arc::clone(&shown), Arc::clone(&input));
        std::thread::spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(n @ 1..) = output.read(&mut buffer) {
                let mut shown = lock(&screen);
                shown.parser.process(&buffer[..n]);
                shown.changed = Instant::now();
                drop(shown);
                let text = String::from_utf8_lossy(&buffer[..n]);
                for (_, reply) in REPLIES.iter().filter(|(query, _)| text.contains(query)) {
                    let _ = lock(&replies).write_all(reply.as_bytes());
                }
            }
            lock(&screen).is_closed = true;
        });
        Ok(Terminal {
            _master: pty.master,
            input,
            child,
            shown,
        })
    }

    pub fn write(&self, keys: &str) -> anyhow::Result<()> {
        let mut input = lock(&self.input);
        input.write_all(keys.as_bytes())?;
        Ok(input.flush()?)
    }

    /// Returns when the program last wrote something; `None` if it has ended.
    pub fn drawn(&self) -> Option<Instant> {
        let shown = lock(&self.shown);
        (!shown.is_closed).then_some(shown.changed)
    }

    /// Returns whether a thread of the program runs right now. Where this can't be seen, only output counts.
    pub fn is_running(&self) -> bool {
        let tasks = std::fs::read_dir(format!(
            "/proc/{}/task",
            self.child.process_id().unwrap_or_default()
        ));
        tasks.into_iter().flatten().flatten().any(|task| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit(") ")
                .next()
                .is_some_and(|stat| stat.starts_with(['R', 'D']))
        })
    }

    /// Returns the text of the screen.
    pub fn text(&self) -> String {
        lock(&self.shown).parser.screen().contents()
    }

    /// Returns the lines of the screen with a mark in `⟨⟩` where colors or attributes change, and the cursor.
    pub fn lines(&self) -> Vec<String> {
        let shown = lock(&self.shown);
        let screen = shown.parser.screen();
        let (rows, cols) = screen.size();
        let mut lines = Vec::new();
        for row in 0..rows {
            let (mut line, mut style) = (String::new(), String::new());
            for cell in (0..cols)
                .filter_map(|col| screen.cell(row, col))
                .filter(|cell| !cell.is_wide_continuation())
            {
                let mut mark = color('f', cell.fgcolor()) + &color('b', cell.bgcolor());
                let is = [
                    (cell.bold(), '!'),
                    (cell.dim(), '.'),
                    (cell.inverse(), '%'),
                    (cell.underline(), '_'),
                ];
                mark.extend(is.iter().filter(|(is, _)| *is).map(|(_, mark)| mark));
                if mark != style {
                    let _ = write!(line, "⟨{mark}⟩");
                    style = mark;
                }
                line.push_str(if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                });
            }
            lines.push(line.trim_end().to_owned());
        }
        if !screen.hide_cursor() {
            lines.push(format!("cursor at {:?}", screen.cursor_position()));
        }
        if shown.is_closed {
            lines.push("the program has ended".to_owned());
        }
        lines
    }
}

fn color(ground: char, color: vt100::Color) -> String {
    match color {
        vt100::Color::Default => String::new(),
        vt100::Color::Idx(index) => format!("{ground}{index}"),
        vt100::Color::Rgb(r, g, b) => format!("{ground}#{r:02x}{g:02x}{b:02x}"),
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
