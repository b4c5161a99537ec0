//! Ctrl-C and SIGTERM for the commands that follow a stream: the first asks them to end in order, the second ends them.

use super::{Exit, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// What a signal asks of a command.
#[derive(Debug, Clone)]
pub(super) struct Signals {
    /// Cancelled by the first signal.
    pub stop: CancellationToken,
    terminated: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Signals {
        let signals = Signals { stop: CancellationToken::new(), terminated: Arc::default() };
        let own = signals.clone();
        tokio::spawn(async move {
            let exit = own.next().await;
            own.terminated.store(exit == Exit::TERMINATED, Ordering::SeqCst);
            own.stop.cancel();
            // Whoever asks twice does not want to wait for a reader that takes nothing.
            let exit = own.next().await;
            std::process::exit(exit.code().into());
        });
        signals
    }

    /// The exit code for having left because of a signal.
    pub fn exit(&self) -> Exit {
        if self.terminated.load(Ordering::SeqCst) { Exit::TERMINATED } else { Exit::Interrupted }
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
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminated = signal(SignalKind::terminate()).ok();
        let terminated = async {
            match &mut terminated {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Exit::Interrupted,
            () = terminated => Exit::TERMINATED,
        }
    }

    #[cfg(not(unix))]
    async fn next(&self) -> Exit {
        let _ = tokio::signal::ctrl_c().await;
        Exit::Interrupted
    }
}
