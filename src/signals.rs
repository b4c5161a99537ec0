//! Ctrl-C, SIGTERM and the loss of the terminal (SIGHUP) for the commands that follow a stream: the first asks them to end
//! in order, so that a recording has its end; the second ends them.

use crate::exit::{Exit, Failure};
use runtail_tui::runtime::Endings;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;

/// Number of the signal that Ctrl-C sends.
const SIGINT: u8 = 2;

/// What a signal asks of a command.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    /// Cancelled by the first signal.
    pub stop: CancellationToken,
    /// The number of the signal, where it was not Ctrl-C.
    number: Arc<AtomicU8>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Signals {
        let signals = Signals { stop: CancellationToken::new(), number: Arc::default() };
        let own = signals.clone();
        // From here on, and not from when the task runs: between the two a signal would be lost.
        let mut endings = Endings::listen();
        tokio::spawn(async move {
            if let Exit::Signal(number) = exit(endings.next().await) {
                own.number.store(number, Ordering::SeqCst);
            }
            own.stop.cancel();
            // Whoever asks twice does not want to wait for a reader that takes nothing.
            std::process::exit(exit(endings.next().await).code().into());
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
}

/// Ctrl-C alone, for commands that are ended by nothing else than being dropped.
pub(crate) struct Interrupts(Endings);

impl Interrupts {
    /// Listens from now on.
    pub fn listen() -> Interrupts {
        Interrupts(Endings::interrupts())
    }

    /// Ends with the next Ctrl-C; never if no signal can be listened for.
    pub async fn next(&mut self) {
        self.0.next().await;
    }
}

/// The exit code of a process that ends because of a signal.
fn exit(number: i32) -> Exit {
    match u8::try_from(number) {
        Ok(SIGINT) | Err(_) => Exit::Interrupted,
        Ok(number) => Exit::Signal(number),
    }
}
