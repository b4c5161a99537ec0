//! Ctrl-C, SIGTERM and the loss of the terminal (SIGHUP) for the commands that follow a stream: the first asks them to end
//! in order, so that a recording has its end; the second ends them.

use super::{Exit, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;

/// What a signal asks of a command.
#[derive(Debug, Clone)]
pub(super) struct Signals {
    /// Who was started with nohup is to outlive its terminal.
    heeds_hangup: bool,
    /// Cancelled by the first signal.
    pub stop: CancellationToken,
    /// The number of the signal, where it was not Ctrl-C.
    number: Arc<AtomicU8>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Signals {
        let signals = Signals {
            heeds_hangup: !crate::runtime::is_hangup_ignored(),
            stop: CancellationToken::new(),
            number: Arc::default(),
        };
        let own = signals.clone();
        tokio::spawn(async move {
            let exit = own.next().await;
            if let Exit::Signal(number) = exit {
                own.number.store(number, Ordering::SeqCst);
            }
            own.stop.cancel();
            // Whoever asks twice does not want to wait for a reader that takes nothing.
            let exit = own.next().await;
            std::process::exit(exit.code().into());
        });
        signals
    }

    /// The exit code for having left because of a signal.
    pub fn exit(&self) -> Exit {
        match self.number.load(Ordering::SeqCst) {
            0 => Exit::Interrupted,
            number => Exit::Signal(number),
        }
    }

    /// Does something that may be dropped half-way.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        tokio::select! {
            done = work => done,
            () = self.stop.cancelled() => Err(Failure::new(self.exit(), "")),
        }
    }

    #[cfg(unix)]
    async fn next(&self) -> Exit {
        use tokio::signal::unix::SignalKind;
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Exit::Interrupted,
            () = heard(SignalKind::terminate()) => Exit::TERMINATED,
            () = heard(SignalKind::hangup()), if self.heeds_hangup => Exit::HANGUP,
        }
    }

    #[cfg(not(unix))]
    async fn next(&self) -> Exit {
        let _ = tokio::signal::ctrl_c().await;
        Exit::Interrupted
    }
}

#[cfg(unix)]
async fn heard(kind: tokio::signal::unix::SignalKind) {
    match tokio::signal::unix::signal(kind).ok() {
        Some(mut signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
