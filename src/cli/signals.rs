//! Ctrl-C, SIGTERM and the loss of the terminal (SIGHUP) for the commands that follow a stream: the first asks them to end
//! in order, so that a recording has its end; the second ends them.

use super::{Exit, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;

/// What a signal asks of a command.
#[derive(Debug, Clone)]
pub(super) struct Signals {
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
        let mut listeners = Listeners::listen(!runtail_tui::runtime::is_hangup_ignored());
        tokio::spawn(async move {
            let exit = listeners.next().await;
            if let Exit::Signal(number) = exit {
                own.number.store(number, Ordering::SeqCst);
            }
            own.stop.cancel();
            // Whoever asks twice does not want to wait for a reader that takes nothing.
            let exit = listeners.next().await;
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
}

/// Ctrl-C alone, for commands that are ended by nothing else than being dropped.
pub(super) struct Interrupts(Listeners);

impl Interrupts {
    /// Listens from now on.
    pub fn listen() -> Interrupts {
        Interrupts(Listeners::interrupts())
    }

    /// Ends with the next Ctrl-C; never if no signal can be listened for.
    pub async fn next(&mut self) {
        self.0.next().await;
    }
}

/// The signals that are listened for; none where the system refuses.
#[cfg(unix)]
struct Listeners {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    /// Who was started with nohup is to outlive its terminal.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Listeners {
    fn listen(with_hangup: bool) -> Listeners {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = if with_hangup { signal(SignalKind::hangup()).ok() } else { None };
        Listeners { terminate: signal(SignalKind::terminate()).ok(), hangup, ..Listeners::interrupts() }
    }

    fn interrupts() -> Listeners {
        use tokio::signal::unix::{SignalKind, signal};
        Listeners { interrupt: signal(SignalKind::interrupt()).ok(), terminate: None, hangup: None }
    }

    async fn next(&mut self) -> Exit {
        async fn of(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = of(&mut self.interrupt) => Exit::Interrupted,
            () = of(&mut self.terminate) => Exit::TERMINATED,
            () = of(&mut self.hangup) => Exit::HANGUP,
        }
    }
}

#[cfg(not(unix))]
struct Listeners;

#[cfg(not(unix))]
impl Listeners {
    fn listen(_: bool) -> Listeners {
        Listeners
    }

    fn interrupts() -> Listeners {
        Listeners
    }

    async fn next(&mut self) -> Exit {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Exit::Interrupted
    }
}
