//! The signals that end, stop and continue the dashboard; and that its terminal is gone, which may come without one.

use std::io;

/// What a signal asks for.
pub enum Signal {
    /// To end, with the signal's number.
    #[cfg_attr(not(unix), allow(dead_code))]
    End(i32),
    /// To stop until continued.
    #[cfg_attr(not(unix), allow(dead_code))]
    Stop,
    /// The process was continued.
    #[cfg_attr(not(unix), allow(dead_code))]
    Continue,
}

#[cfg(unix)]
pub use unix::Signals;

/// Returns whether the process was started with SIGHUP ignored, as `nohup` does. Ask before a handler is installed.
#[cfg(unix)]
pub fn is_hangup_ignored() -> bool {
    // SAFETY: sigaction is plain data for which zeroes are valid; without a new action the call only reads the old one.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// There is no SIGHUP to ignore here.
#[cfg(not(unix))]
pub fn is_hangup_ignored() -> bool {
    true
}

#[cfg(unix)]
mod unix {
    use super::{Signal, io};
    use std::sync::Arc;
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
    use tokio::sync::Notify;

    /// The signals that are listened to.
    pub struct Signals {
        /// None when the process was started with SIGHUP ignored, as `nohup` does: it stays ignored.
        hangup: Option<Stream>,
        interrupt: Stream,
        terminate: Stream,
        quit: Stream,
        stop: Stream,
        resume: Stream,
        /// The terminal is gone.
        gone: Arc<Notify>,
    }

    impl Signals {
        /// Begins to listen.
        pub fn new() -> io::Result<Signals> {
            Ok(Signals {
                hangup: if super::is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) },
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                quit: signal(SignalKind::quit())?,
                stop: signal(SignalKind::from_raw(libc::SIGTSTP))?,
                resume: signal(SignalKind::from_raw(libc::SIGCONT))?,
                gone: watch_terminal()?,
            })
        }

        /// The next signal.
        pub async fn next(&mut self) -> Signal {
            tokio::select! {
                () = hung_up(&mut self.hangup) => Signal::End(libc::SIGHUP),
                () = self.gone.notified() => Signal::End(libc::SIGHUP),
                _ = self.interrupt.recv() => Signal::End(libc::SIGINT),
                _ = self.terminate.recv() => Signal::End(libc::SIGTERM),
                _ = self.quit.recv() => Signal::End(libc::SIGQUIT),
                _ = self.stop.recv() => Signal::Stop,
                _ = self.resume.recv() => Signal::Continue,
            }
        }
    }

    async fn hung_up(hangup: &mut Option<Stream>) {
        match hangup {
            Some(hangup) => drop(hangup.recv().await),
            None => std::future::pending().await,
        }
    }

    /// A terminal that is not the process's own goes without a signal. To read it then says nothing (crossterm reads the end
    /// again and again, on a thread of its own), and to write it happens only when there is something to draw: so it is
    /// asked, in a thread that sleeps until then.
    fn watch_terminal() -> io::Result<Arc<Notify>> {
        let gone = Arc::new(Notify::new());
        let tell = gone.clone();
        std::thread::Builder::new().name("terminal".into()).spawn(move || {
            loop {
                let mut stdout = libc::pollfd { fd: libc::STDOUT_FILENO, events: 0, revents: 0 };
                // SAFETY: one pollfd that lives over the call is passed.
                match unsafe { libc::poll(&raw mut stdout, 1, -1) } {
                    -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                    1 if stdout.revents & (libc::POLLHUP | libc::POLLERR) != 0 => return tell.notify_one(),
                    _ => return,
                }
            }
        })?;
        Ok(gone)
    }
}

/// Elsewhere Ctrl-C is a key, and there is nothing else to listen to.
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
