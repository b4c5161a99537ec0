//! The binary in tmux: a separate tmux server with a shell in its pane.

use crate::term::TIMEOUT;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// A tmux server with one pane that runs a shell. The server is killed on drop.
pub struct Tmux {
    socket: String,
    _folder: tempfile::TempDir,
    /// The file with the process id of the binary.
    pid: std::path::PathBuf,
}

impl Tmux {
    /// Starts a server whose pane has this size and this `TERM`. Returns `None` if tmux is not installed, with a
    /// message that shows if the tests' output is not captured.
    #[track_caller]
    pub fn start(term: &str, cols: u16, rows: u16) -> Option<Tmux> {
        if Command::new("tmux").arg("-V").output().is_err() {
            use std::io::Write;
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: tmux is not installed, so nothing is tested in it"
            );
            return None;
        }
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tmux.conf");
        std::fs::write(
            &file,
            format!("set -g default-terminal {term}\nset -g status off\n"),
        )
        .expect("a configuration");
        let socket = format!("runtail-test-{}-{number}", std::process::id());
        let tmux = Tmux {
            socket,
            pid: folder.path().join("pid"),
            _folder: folder,
        };
        let (cols, rows) = (cols.to_string(), rows.to_string());
        let mut command = tmux.command();
        command
            .arg("-f")
            .arg(&file)
            .args(["new-session", "-d", "-x", &cols, "-y", &rows]);
        for (name, value) in crate::process::environment() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .env("LANG", "C.UTF-8")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .env_remove("ENV");
        let done = command.arg("sh").output().expect("tmux runs");
        assert!(
            done.status.success(),
            "tmux: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        // Without a prompt, output is on separate lines, even if a line is typed before the shell is ready.
        tmux.line("PS1=; echo the shell is ready");
        // The first prompt may be printed after the typed line.
        let is_output = |line: &str| line.ends_with("the shell is ready") && !line.contains("echo");
        tmux.wait_until("a shell", |tmux| tmux.screen().lines().any(is_output));
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket]);
        command
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Output {
        let done = self.command().args(args).output().expect("tmux runs");
        assert!(
            done.status.success(),
            "tmux {args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        done
    }

    /// Types a line in the shell.
    #[track_caller]
    pub fn line(&self, line: &str) {
        self.run(&["send-keys", "-l", line]);
        self.run(&["send-keys", "Enter"]);
    }

    /// Starts the binary in the shell, which prints `ended` with the exit code afterwards.
    #[track_caller]
    pub fn start_binary(&self, args: &str) {
        let binary = crate::process::binary();
        let pid = self.pid.display();
        self.line(&format!(
            "sh -c 'echo $$ > {pid}; exec \"{}\" {args}'; echo \"ended $?\"",
            binary.display()
        ));
    }

    /// Sends a signal to the binary.
    #[track_caller]
    pub fn signal(&self, signal: i32) {
        let pid = std::fs::read_to_string(&self.pid)
            .expect("a process id")
            .trim()
            .parse()
            .expect("a process id");
        // SAFETY: kill touches no memory of ours.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "the process exists");
    }

    /// Presses a key by tmux's name for it.
    #[track_caller]
    pub fn key(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    /// Resizes the window.
    #[track_caller]
    pub fn resize(&self, cols: u16, rows: u16) {
        self.run(&[
            "resize-window",
            "-x",
            &cols.to_string(),
            "-y",
            &rows.to_string(),
        ]);
    }

    /// Returns the text of the pane.
    #[track_caller]
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Returns a variable of the pane, such as `alternate_on`.
    #[track_caller]
    pub fn variable(&self, name: &str) -> String {
        let shown = self.run(&["display-message", "-p", &format!("#{{{name}}}")]);
        String::from_utf8_lossy(&shown.stdout).trim().to_owned()
    }

    #[track_caller]
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Tmux) -> bool) {
        let until = Instant::now() + TIMEOUT;
        while !holds(self) {
            assert!(
                Instant::now() < until,
                "{what}: time is up; the pane:\n{}",
                self.screen()
            );
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?} in the pane"), |tmux| {
            tmux.screen().contains(text)
        });
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").output();
    }
}
