//! Signals that end, stop and continue the process. A closed terminal is handled too, because it may not send a signal.

use std::io;

/// The request of a signal.
pub enum Signal {
    /// End, with the signal's number.
    #[cfg_attr(not(unix), allow(dead_code))]
    End(i32),
    /// Stop until continued.
    #[cfg_attr(not(unix), allow(dead_code))]
    Stop,
    /// The stopped process was continued.
    #[cfg_attr(not(unix), allow(dead_code))]
    Continue,
}

#[cfg(unix)]
pub use unix::{Endings, Signals, stop_group};

/// Returns whether the process was started with SIGHUP ignored, as `nohup` does. Call it before a handler is installed.
#[cfg(unix)]
pub fn is_hangup_ignored() -> bool {
    // SAFETY: sigaction is plain data for which zeroes are valid; without a new action the call only reads the old one.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Returns whether the terminal of the output was closed. Then nothing can be read from it either.
pub fn is_terminal_closed() -> bool {
    #[cfg(unix)]
    {
        unix::poll_terminal(0) == unix::Polled::Closed
    }
    #[cfg(not(unix))]
    false
}

/// The number of SIGHUP, the same on every Unix.
const SIGHUP: i32 = 1;

/// Returns whether this is the signal after which there is no terminal to read.
pub fn is_hangup(number: i32) -> bool {
    cfg!(unix) && number == SIGHUP
}

#[cfg(unix)]
mod unix {
    use super::{Signal, io};
    use std::sync::Arc;
    use std::time::{Duration, Instant};
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
    use tokio::sync::Notify;

    /// `npx`, `timeout` and other wrappers pass on a signal that the terminal has sent to this process too. Within this time, it is
    /// the same one.
    const SAME: Duration = Duration::from_millis(100);

    /// The signals that ask the process to end. One that the system refuses to deliver never arrives.
    pub struct Endings {
        interrupt: Option<Stream>,
        terminate: Option<Stream>,
        /// None when the process was started with SIGHUP ignored, as `nohup` does: it stays ignored.
        hangup: Option<Stream>,
        /// The last one, and when it arrived.
        last: Option<(i32, Instant)>,
    }

    impl Endings {
        /// Listens to SIGINT, SIGTERM and SIGHUP from now on.
        pub fn listen() -> Endings {
            let hangup = if super::is_hangup_ignored() {
                None
            } else {
                signal(SignalKind::hangup()).ok()
            };
            Endings {
                terminate: signal(SignalKind::terminate()).ok(),
                hangup,
                ..Endings::interrupts()
            }
        }

        /// Listens to SIGINT alone.
        pub fn interrupts() -> Endings {
            Endings {
                interrupt: signal(SignalKind::interrupt()).ok(),
                terminate: None,
                hangup: None,
                last: None,
            }
        }

        /// Returns the number of the next signal.
        pub async fn next(&mut self) -> i32 {
            loop {
                let number = tokio::select! {
                    () = arrival(&mut self.interrupt) => libc::SIGINT,
                    () = arrival(&mut self.terminate) => libc::SIGTERM,
                    () = arrival(&mut self.hangup) => libc::SIGHUP,
                };
                let is_same = |(last, at): (i32, Instant)| last == number && at.elapsed() < SAME;
                if !self.last.is_some_and(is_same) {
                    self.last = Some((number, Instant::now()));
                    return number;
                }
            }
        }
    }

    /// Stops this process and its group until they are continued, as the terminal does at Ctrl-Z: a wrapper such as `npx` that is not
    /// stopped keeps the shell waiting.
    pub fn stop_group() {
        // SAFETY: sending a signal has no memory effects.
        unsafe { libc::kill(0, libc::SIGSTOP) };
    }

    /// The signals that the dashboard listens to.
    pub struct Signals {
        endings: Endings,
        quit: Stream,
        stop: Stream,
        resume: Stream,
        /// Notified when the terminal is closed.
        closed: Arc<Notify>,
    }

    impl Signals {
        /// Starts listening.
        pub fn new() -> io::Result<Signals> {
            Ok(Signals {
                endings: Endings::listen(),
                quit: signal(SignalKind::quit())?,
                stop: signal(SignalKind::from_raw(libc::SIGTSTP))?,
                resume: signal(SignalKind::from_raw(libc::SIGCONT))?,
                closed: watch_terminal()?,
            })
        }

        /// Returns the next signal.
        pub async fn next(&mut self) -> Signal {
            tokio::select! {
                number = self.endings.next() => Signal::End(number),
                () = self.closed.notified() => Signal::End(libc::SIGHUP),
                _ = self.quit.recv() => Signal::End(libc::SIGQUIT),
                _ = self.stop.recv() => Signal::Stop,
                _ = self.resume.recv() => Signal::Continue,
            }
        }
    }

    async fn arrival(signal: &mut Option<Stream>) {
        match signal {
            Some(signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    }

    /// Reports when the terminal is closed. A terminal that is not the controlling one closes without a signal. Reading doesn't
    /// report it either (crossterm's thread reads the end of the file again and again), and writing only happens when there is
    /// something to draw. So a separate thread polls it, and sleeps until then.
    fn watch_terminal() -> io::Result<Arc<Notify>> {
        let closed = Arc::new(Notify::new());
        let sender = closed.clone();
        std::thread::Builder::new()
            .name("terminal".into())
            .spawn(move || {
                loop {
                    match poll_terminal(-1) {
                        Polled::Interrupted => {}
                        Polled::Closed => return sender.notify_one(),
                        Polled::Other => return,
                    }
                }
            })?;
        Ok(closed)
    }

    /// The result of polling the terminal of the output.
    #[derive(PartialEq)]
    pub(super) enum Polled {
        Closed,
        /// A signal interrupted the wait.
        Interrupted,
        Other,
    }

    /// Waits until the terminal is closed, at most `timeout` milliseconds; -1 means without a limit.
    pub(super) fn poll_terminal(timeout: i32) -> Polled {
        let mut stdout = libc::pollfd {
            fd: libc::STDOUT_FILENO,
            events: 0,
            revents: 0,
        };
        // SAFETY: the one pollfd that is passed outlives the call.
        match unsafe { libc::poll(&raw mut stdout, 1, timeout) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {
                Polled::Interrupted
            }
            1 if stdout.revents & (libc::POLLHUP | libc::POLLERR) != 0 => Polled::Closed,
            _ => Polled::Other,
        }
    }
}

/// On other systems, only Ctrl-C asks a process to end.
#[cfg(not(unix))]
pub struct Endings;

#[cfg(not(unix))]
impl Endings {
    pub fn listen() -> Endings {
        Endings
    }

    pub fn interrupts() -> Endings {
        Endings
    }

    /// Returns the number that SIGINT has on Unix.
    pub async fn next(&mut self) -> i32 {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        2
    }
}

/// On other systems there is nothing to listen to: in the dashboard, Ctrl-C is a key.
#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub fn new() -> io::Result<Signals> {
        Ok(Signals)
    }

    pub async fn next(&mut self) -> Signal {
        std::future::pending().await
    }
}
