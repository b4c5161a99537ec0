//! One of the two binaries: with a world, folders and a terminal of its own.

use crate::normal::normal;
use crate::script::Action;
use crate::terminal::Terminal;
use crate::world::World;
use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A command that is still running then is stuck.
const LIMIT: Duration = Duration::from_secs(30);
/// A command that waits has nothing more to print after this time.
const STILL: Duration = Duration::from_millis(700);
/// Longer than the delays after which the dashboard does something by itself.
const SCREEN_STILL: Duration = Duration::from_millis(450);
/// How long a screen must stay so that it isn't a part of a frame.
const FRAME: Duration = Duration::from_millis(30);
/// A screen that changes all the time is taken as it is after this time.
const MOVING: Duration = Duration::from_secs(4);

/// What a step did, normalized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The lines of the screen, or of a command's outputs.
    pub screen: Vec<String>,
    /// In order of their text, because some are sent at the same time. What a dashboard reads again and again is there once a
    /// step.
    pub requests: Vec<String>,
    /// The files that are new or changed.
    pub files: Vec<String>,
}

pub struct Side {
    binary: PathBuf,
    pub world: Arc<World>,
    folder: TempDir,
    pub terminal: Option<Terminal>,
    running: Option<Running>,
    output: Vec<String>,
    /// The screens of this step, from the last one of the step before.
    screens: Vec<Vec<String>>,
    /// How many requests, and which files, belong to earlier steps.
    reported: usize,
    /// How many requests there were at the last look.
    received: usize,
    /// What earlier steps read.
    reads: BTreeSet<String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// A command, and the readers of its outputs.
struct Running {
    child: Child,
    outputs: [JoinHandle<String>; 2],
    received: Arc<AtomicUsize>,
    until_still: bool,
}

impl Side {
    /// Starts the world, with these answers beside its own.
    pub fn new(binary: &Path, answers: &str) -> anyhow::Result<Side> {
        let world = World::start()?;
        world.add(answers)?;
        let folder = tempfile::Builder::new()
            .prefix("twin")
            .rand_bytes(6)
            .tempdir_in("/tmp")?;
        let config = folder.path().join(".config/runtail");
        std::fs::create_dir_all(&config)?;
        std::fs::write(
            config.join("config.toml"),
            world.filled(include_str!("../config.toml")),
        )?;
        let mut side = Side {
            binary: std::path::absolute(binary)?,
            world,
            folder,
            terminal: None,
            running: None,
            output: Vec::new(),
            screens: Vec::new(),
            reported: 0,
            received: 0,
            reads: BTreeSet::new(),
            files: BTreeMap::new(),
        };
        side.files = side.read_files();
        Ok(side)
    }

    /// Returns the environment of the binary: nothing of the driver's own.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let home = self.folder.path().to_string_lossy().into_owned();
        vec![
            ("XDG_CONFIG_HOME", format!("{home}/.config")),
            ("XDG_STATE_HOME", format!("{home}/.local/state")),
            ("XDG_CACHE_HOME", format!("{home}/.cache")),
            ("XDG_DATA_HOME", format!("{home}/.local/share")),
            ("HOME", home),
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("EDITOR", "true".to_owned()),
            (
                "TWIN_KEY",
                "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789".to_owned(),
            ),
        ]
    }

    /// Begins a step, without waiting for its end.
    pub fn begin(&mut self, action: &Action, size: (u16, u16)) -> anyhow::Result<()> {
        self.output.clear();
        let filled = |words: &[String]| {
            words
                .iter()
                .map(|word| self.world.filled(word))
                .collect::<Vec<_>>()
        };
        match action {
            Action::Command {
                words,
                input,
                until_still,
            } => {
                self.running = Some(self.spawn(&filled(words), input, *until_still)?);
            }
            Action::Open(words) => {
                let (binary, folder) = (&self.binary, self.folder.path());
                self.terminal = Some(Terminal::open(
                    binary,
                    &filled(words),
                    &self.environment(),
                    folder,
                    size,
                )?);
            }
            Action::Press(keys) => {
                let keys = self.world.filled(keys);
                self.terminal
                    .as_mut()
                    .context("the dashboard isn't open")?
                    .write(&keys)?;
            }
            Action::Wait(_) => {}
            Action::Answer(text) => self.world.add(text)?,
            Action::File(name, text) => {
                let path = self.folder.path().join(name);
                match text.is_empty() {
                    true => std::fs::remove_file(path)?,
                    false => std::fs::write(path, self.world.filled(text))?,
                }
                self.files = self.read_files();
            }
        }
        Ok(())
    }

    fn spawn(&self, words: &[String], input: &str, until_still: bool) -> anyhow::Result<Running> {
        let mut child = Command::new(&self.binary)
            .arg0("runtail")
            .args(words)
            .env_clear()
            .envs(self.environment())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| self.binary.display().to_string())?;
        let mut stdin = child.stdin.take().context("stdin")?;
        // A command that reads no input closes the pipe.
        let _ = stdin.write_all(self.world.filled(input).as_bytes());
        let received = Arc::new(AtomicUsize::new(0));
        let outputs = [
            reader(
                child.stdout.take().context("stdout")?,
                Arc::clone(&received),
            ),
            reader(
                child.stderr.take().context("stderr")?,
                Arc::clone(&received),
            ),
        ];
        Ok(Running {
            child,
            outputs,
            received,
            until_still,
        })
    }

    /// Waits for the end of a command, if one was begun.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        let began = Instant::now();
        let (mut last, mut changed, mut is_interrupted) = (usize::MAX, began, false);
        let code = loop {
            if let Some(status) = running.child.try_wait()? {
                break status
                    .code()
                    .map_or_else(|| status.to_string(), |code| code.to_string());
            }
            let seen = running.received.load(Ordering::SeqCst) + self.world.requests().len();
            if seen != last || self.world.is_busy() {
                (last, changed) = (seen, Instant::now());
            }
            if running.until_still
                && !is_interrupted
                && seen > self.reported
                && changed.elapsed() > STILL
            {
                is_interrupted = true;
                // SAFETY: kill touches no memory, and the child was not yet waited for, so the id is its own.
                unsafe { libc::kill(i32::try_from(running.child.id())?, libc::SIGINT) };
            }
            if began.elapsed() > LIMIT {
                running.child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        for (name, output) in ["out", "err"].iter().zip(running.outputs) {
            let text = output.join().unwrap_or_default();
            let lines = self.normal(&text.lines().map(str::to_owned).collect::<Vec<_>>());
            self.output
                .extend(lines.iter().map(|line| format!("{name} {line}")));
        }
        self.output.push(format!("exit {code}"));
        Ok(())
    }

    /// Returns what was done since the step before, once nothing happens any more, and whether the awaited text was shown.
    pub fn look(&mut self, awaited: Option<(&str, Duration)>) -> (Seen, bool) {
        let is_shown = self.wait_until_still(awaited);
        let requests = self.world.requests().split_off(self.reported);
        self.received = self.reported + requests.len();
        let files = self.read_files();
        let mut changed = Vec::new();
        for (path, bytes) in files
            .iter()
            .filter(|(path, bytes)| self.files.get(*path) != Some(bytes))
        {
            changed.push(format!("file {}", path.display()));
            changed.extend(String::from_utf8_lossy(bytes).lines().map(str::to_owned));
        }
        let removed = self.files.keys().filter(|path| !files.contains_key(*path));
        changed.extend(removed.map(|path| format!("no file {}", path.display())));
        let mut requests = self.normal(&requests);
        requests.sort_unstable();
        if self.terminal.is_some() {
            // How often a poll was due depends on how long a step took.
            requests.dedup_by(|a, b| a == b && self.reads.contains(a));
        }
        self.keep_screen();
        let seen = Seen {
            screen: self.screens.last().cloned().unwrap_or_default(),
            requests,
            files: self.normal(&changed),
        };
        (seen, is_shown)
    }

    /// Waits until the dashboard draws nothing, uses no processor and waits for no answer, and until the awaited text was
    /// shown. Keeps the screens until then.
    fn wait_until_still(&mut self, awaited: Option<(&str, Duration)>) -> bool {
        let (began, mut busy) = (Instant::now(), Instant::now());
        let (mut kept, mut is_shown) = (None, awaited.is_none());
        while let Some(terminal) = &self.terminal
            && let Some(drawn) = terminal.drawn()
        {
            if self.world.is_busy() || terminal.is_running() {
                busy = Instant::now();
            }
            is_shown |= awaited.is_some_and(|(text, _)| terminal.text().contains(text));
            let waits = awaited.is_some_and(|(_, limit)| !is_shown && began.elapsed() < limit);
            let is_still = busy.max(drawn).elapsed() > SCREEN_STILL;
            if !waits && (is_still || began.elapsed() > MOVING) {
                break;
            }
            if kept != Some(drawn) && drawn.elapsed() > FRAME {
                kept = Some(drawn);
                self.keep_screen();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        is_shown
    }

    fn keep_screen(&mut self) {
        let screen = match &self.terminal {
            Some(terminal) => self.normal(&terminal.lines()),
            None => self.output.clone(),
        };
        if self.screens.last() != Some(&screen) {
            self.screens.push(screen);
        }
    }

    /// Returns whether this was on the screen in this step, or at the end of the one before.
    pub fn has_shown(&self, screen: &Vec<String>) -> bool {
        self.screens.contains(screen)
    }

    /// Ends a step: what was seen isn't part of the next one. What arrived since then is.
    pub fn end(&mut self) {
        let requests = self.world.requests();
        let reads = self.normal(&requests[self.reported..self.received]);
        self.reads
            .extend(reads.into_iter().filter(|request| is_read(request)));
        self.reported = self.received;
        self.files = self.read_files();
        self.screens.drain(..self.screens.len().saturating_sub(1));
    }

    fn normal(&self, lines: &[String]) -> Vec<String> {
        normal(&self.world, lines)
    }

    fn read_files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut files, mut folders) = (BTreeMap::new(), vec![self.folder.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    _ => drop(files.insert(path.clone(), std::fs::read(path).unwrap_or_default())),
                }
            }
        }
        files
    }
}

/// Returns whether a request changes nothing.
fn is_read(request: &str) -> bool {
    let path = request.split('?').next().unwrap_or_default();
    path.starts_with("GET ")
        || [
            "search",
            "count",
            "history",
            "namespaces",
            "versions",
            "logs",
        ]
        .iter()
        .any(|end| path.ends_with(end))
}

fn reader(
    mut output: impl Read + Send + 'static,
    received: Arc<AtomicUsize>,
) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(n @ 1..) = output.read(&mut buffer) {
            text.extend_from_slice(&buffer[..n]);
            received.fetch_add(n, Ordering::SeqCst);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}
