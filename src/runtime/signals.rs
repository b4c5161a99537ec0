//! The signals that end, stop and continue the dashboard.

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

#[cfg(unix)]
mod unix {
    use super::{Signal, io};
    use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

    /// The signals that are listened to.
    pub struct Signals {
        hangup: Stream,
        interrupt: Stream,
        terminate: Stream,
        quit: Stream,
        stop: Stream,
        resume: Stream,
    }

    impl Signals {
        /// Begins to listen.
        pub fn new() -> io::Result<Signals> {
            Ok(Signals {
                hangup: signal(SignalKind::hangup())?,
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                quit: signal(SignalKind::quit())?,
                stop: signal(SignalKind::from_raw(libc::SIGTSTP))?,
                resume: signal(SignalKind::from_raw(libc::SIGCONT))?,
            })
        }

        /// The next signal.
        pub async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.hangup.recv() => Signal::End(libc::SIGHUP),
                _ = self.interrupt.recv() => Signal::End(libc::SIGINT),
                _ = self.terminate.recv() => Signal::End(libc::SIGTERM),
                _ = self.quit.recv() => Signal::End(libc::SIGQUIT),
                _ = self.stop.recv() => Signal::Stop,
                _ = self.resume.recv() => Signal::Continue,
            }
        }
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
