//! A program that has the terminal while Runtail waits for it, as a shell runs a job: it gets the keys and their signals, and it
//! is ended with Runtail.

use super::signals::{Signal, Signals, is_hangup, stop_group};
use crate::boxed;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// How long the program may take to end after a signal. Then it is killed.
const GRACE: Duration = Duration::from_secs(1);

/// A change of the program.
enum Change {
    Stopped,
    Ended(io::Result<ExitStatus>),
}

/// A running program, in a process group of its own.
pub(super) struct EditorJob {
    group: libc::pid_t,
    changes: UnboundedReceiver<Change>,
}

impl EditorJob {
    /// Starts a program, and gives it the terminal.
    pub fn start(mut command: Command) -> io::Result<EditorJob> {
        command.process_group(0);
        // SAFETY: the closure only calls functions that are safe between fork and exec.
        let child = unsafe {
            command.pre_exec(|| {
                give_terminal(libc::getpid());
                Ok(())
            })
        }
        .spawn()
        .inspect_err(|_| own_terminal())?;
        let group = child.id().cast_signed();
        let (sender, changes) = unbounded_channel();
        std::thread::Builder::new()
            .name("editor".into())
            .spawn(move || {
                loop {
                    let mut status = 0;
                    // SAFETY: the status outlives the call, and only this thread waits for the child.
                    let change = match unsafe {
                        libc::waitpid(group, &raw mut status, libc::WUNTRACED)
                    } {
                        -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {
                            continue;
                        }
                        -1 => Change::Ended(Err(io::Error::last_os_error())),
                        _ if libc::WIFSTOPPED(status) => Change::Stopped,
                        _ => Change::Ended(Ok(ExitStatus::from_raw(status))),
                    };
                    let is_over = matches!(change, Change::Ended(_));
                    if sender.send(change).is_err() || is_over {
                        return;
                    }
                }
            })?;
        Ok(EditorJob { group, changes })
    }

    /// Waits until the program ends. Stops with it, and continues it afterwards.
    ///
    /// # Errors
    /// The number of the signal that ended it.
    #[boxed]
    pub async fn run(&mut self, signals: &mut Signals) -> Result<io::Result<ExitStatus>, i32> {
        let result = loop {
            tokio::select! {
                change = self.changes.recv() => match change {
                    Some(Change::Ended(status)) => break Ok(status),
                    Some(Change::Stopped) => {
                        own_terminal();
                        stop_group();
                        give_terminal(self.group);
                        self.send(libc::SIGCONT);
                    }
                    None => break Ok(Err(io::Error::other("it could not be waited for"))),
                },
                signal = signals.next() => match signal {
                    Signal::End(number) => {
                        self.end(number).await;
                        break Err(number);
                    }
                    Signal::Stop => self.send(libc::SIGTSTP),
                    Signal::Continue => {}
                },
            }
        };
        own_terminal();
        result
    }

    /// Ends the program, and what it started in its group.
    async fn end(&mut self, number: i32) {
        self.send(if is_hangup(number) {
            libc::SIGHUP
        } else {
            libc::SIGTERM
        });
        self.send(libc::SIGCONT);
        let ended = async { while matches!(self.changes.recv().await, Some(Change::Stopped)) {} };
        let _ = tokio::time::timeout(GRACE, ended).await;
        self.send(libc::SIGKILL);
    }

    fn send(&self, signal: i32) {
        // SAFETY: sending a signal has no memory effects. The group is the child's own.
        unsafe { libc::kill(-self.group, signal) };
    }
}

/// Gives the terminal to a process group. Without a controlling terminal, nothing happens.
fn give_terminal(group: libc::pid_t) {
    // SAFETY: none of the calls has memory effects. A process in the background would be stopped by SIGTTOU.
    unsafe {
        let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        // The input may be a pipe.
        let _ = (0..=2).any(|stream| libc::tcsetpgrp(stream, group) == 0);
        libc::signal(libc::SIGTTOU, before);
    }
}

/// Takes the terminal back.
fn own_terminal() {
    // SAFETY: the call has no memory effects.
    give_terminal(unsafe { libc::getpgrp() });
}
