//! Ctrl-C, SIGTERM and SIGHUP for the commands that follow a stream: the first signal ends them gracefully, so that a
//! recording gets its end record; the second ends them at once. A command that sends several requests first reports what became of each.

use crate::prelude::*;
use runtail_tui::runtime::Endings;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;

/// The number of SIGINT.
const SIGINT: u8 = 2;

/// Whether the command handles signals itself, because it has to finish its output or to keep an edited text.
static HANDLED: AtomicBool = AtomicBool::new(false);

/// Makes the command handle signals itself: an interrupt no longer ends it at once.
pub fn handle() {
    HANDLED.store(true, Ordering::SeqCst);
}

/// Signals of a command.
#[derive(Debug, Clone)]
pub struct Signals {
    /// Cancelled by the first signal.
    pub stop: CancellationToken,
    /// Cancelled by the second signal, where a third one ends the command at once.
    pub abandon: CancellationToken,
    /// The number of the signal, if it was not SIGINT.
    number: Arc<AtomicU8>,
    /// Whether the user was told what is waited for.
    has_said_waiting: Arc<AtomicBool>,
}

impl Signals {
    /// Starts listening. The second signal ends the command.
    pub fn listen() -> Signals {
        Signals::listen_for(false)
    }

    /// Starts listening for a command that has to report what it sent: only the third signal ends it.
    pub fn listen_to_report() -> Signals {
        Signals::listen_for(true)
    }

    fn listen_for(reports: bool) -> Signals {
        let (stop, abandon) = (CancellationToken::new(), CancellationToken::new());
        let signals = Signals {
            stop,
            abandon,
            number: Arc::default(),
            has_said_waiting: Arc::default(),
        };
        handle();
        let own = signals.clone();
        // Listen here rather than in the task: a signal between the two would be lost.
        let mut endings = Endings::listen();
        tokio::spawn(async move {
            if let Exit::Signal(number) = exit(endings.next().await) {
                own.number.store(number, Ordering::SeqCst);
            }
            own.stop.cancel();
            if reports {
                endings.next().await;
                own.abandon.cancel();
            }
            // The last signal doesn't wait for a reader that is stuck.
            std::process::exit(exit(endings.next().await).code().into());
        });
        signals
    }

    /// Returns the exit code of the signal.
    pub fn exit(&self) -> Exit {
        match self.number.load(Ordering::SeqCst) {
            0 => Exit::Interrupted,
            number => Exit::Signal(number),
        }
    }

    /// Waits for a request. After the first signal it says so on stderr; after the second one it returns `None`.
    pub async fn unless_abandoned<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(request);
        tokio::select! {
            done = &mut request => return Some(done),
            () = self.stop.cancelled() => {}
        }
        if !self.has_said_waiting.swap(true, Ordering::SeqCst) {
            complain(
                "runtail: no further thread is begun; waiting for those that were (Ctrl-C again stops waiting)",
            );
        }
        tokio::select! {
            done = request => Some(done),
            () = self.abandon.cancelled() => None,
        }
    }

    /// Runs something that may be dropped at any point, if signals are listened for.
    pub async fn guard<T>(
        signals: Option<&Signals>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match signals {
            Some(signals) => signals.unless_stopped(work).await,
            None => work.await,
        }
    }

    /// Runs something that may be dropped at any point.
    pub async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = work => done,
            () = self.stop.cancelled() => Err(Failure::new(self.exit(), "")),
        }
    }
}

/// Ctrl-C alone, for commands that end by being dropped.
pub struct Interrupts(Endings);

impl Interrupts {
    /// Starts listening.
    pub fn listen() -> Interrupts {
        Interrupts(Endings::interrupts())
    }

    /// Completes at the next Ctrl-C that the command doesn't handle itself; never if signals can't be listened for.
    pub async fn next(&mut self) {
        self.0.next().await;
        while HANDLED.load(Ordering::SeqCst) {
            self.0.next().await;
        }
    }
}

/// Returns the exit code of a process that ends because of a signal.
pub fn exit(number: i32) -> Exit {
    match u8::try_from(number) {
        Ok(SIGINT) | Err(_) => Exit::Interrupted,
        Ok(number) => Exit::Signal(number),
    }
}
