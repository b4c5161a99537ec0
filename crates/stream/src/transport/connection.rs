//! The interface between a source and the server it reads from.

use crate::sse::read_ahead::Batches;
use crate::transport::join_plan::{Joining, NoEvents, Numbering};
use crate::transport::modes::RunStreamOptions;
use crate::{Head, Outcome};
use runtail_api::ApiError;
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A source's connection to its server.
pub trait Transport: Send {
    /// Reads the run's record before the first connection. Returns how the run ended if there is nothing to read.
    fn prepare(&mut self) -> impl Future<Output = Result<Option<NoEvents>, ApiError>> + Send {
        std::future::ready(Ok(None))
    }

    /// Returns the stream's capabilities, as far as they are known.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Opens a connection. The first call starts or joins the run; later calls rejoin it after an id. Events larger
    /// than `max_event` bytes are truncated.
    fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> impl Future<Output = Result<Connection, ApiError>> + Send;

    /// Returns the run's state after a connection closed. `error`: the text of the run's error event.
    fn run_state(
        &mut self,
        error: Option<&str>,
    ) -> impl Future<Output = Result<RunState, ApiError>> + Send;

    /// Returns whether a server that shows no status of runs no longer has this one.
    fn is_run_missing(&mut self) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }

    /// Returns how the run was joined, once it was. `None` for a run that we started, because no earlier events can be
    /// missing.
    fn joining(&self) -> Option<Joining> {
        None
    }

    /// Returns how the server numbers the run's events, once known.
    fn numbering(&self) -> Option<Numbering> {
        None
    }

    /// Called when an event contains the run's id.
    fn on_run_id(&mut self, _run_id: &str) {}

    /// Returns whether events with this name (without a namespace) were requested. The server may send others too.
    fn wants(&self, _name: &str) -> bool {
        true
    }

    /// Checks whether the stream may be opened again while it is open; the error says why not. Call this before
    /// changing modes.
    fn may_reopen(&mut self) -> impl Future<Output = Result<(), String>> + Send {
        std::future::ready(Ok(()))
    }

    /// Sets the modes to request from the next connection on. No modes means the server's default.
    fn set_modes(&mut self, _modes: Vec<String>) {}

    /// Returns whether the server sends events with this name (without a namespace) for the requested modes.
    fn sends(&self, _name: &str) -> bool {
        true
    }

    /// Returns the options that the run was started with, once known.
    fn terms(&self) -> Option<RunStreamOptions> {
        None
    }
}

/// The capabilities of a stream. The default is a run that can't be rejoined, on an unknown kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether the stream never ends by itself, like that of a thread.
    pub is_endless: bool,
    /// The id that requests all events, if all of them belong to this log (we started the run).
    pub everything: Option<&'static str>,
    /// The name of the stream's very first event, if known.
    pub first_event: Option<&'static str>,
    /// Whether the server sends all events of the run.
    pub sends_all: bool,
    /// Names the events that the server never replays. Each outage is then reported as a possible gap.
    pub never_replayed: Option<&'static str>,
    /// Whether the server sends heartbeats.
    pub sends_heartbeats: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            is_endless: false,
            everything: None,
            first_event: None,
            sends_all: true,
            never_replayed: None,
            sends_heartbeats: false,
        }
    }
}

/// An open connection.
pub struct Connection {
    /// HTTP status.
    pub status: u16,
    /// The thread, if the response names it.
    pub thread_id: Option<String>,
    /// The run, if the response names it.
    pub run_id: Option<String>,
    /// The server's clock when it responded, in milliseconds.
    pub answered: Option<u64>,
    /// Which earlier events the connection sends.
    pub past: Replayed,
    pub body: Batches,
}

/// The earlier events that a connection sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Replayed {
    /// None: every event is live.
    None,
    /// Only stored events, because the run had already finished.
    All,
    /// Events whose ids are before this server time, in milliseconds.
    Before(u64),
    /// Stored events, if they were requested, and then live ones, with no known boundary between them.
    #[default]
    Unknown,
    /// None, unless the connection repeats an event that was received before: the server may not keep events.
    IfRepeated,
}

/// The state of a run whose connection closed, according to the server.
#[derive(Debug, Clone, PartialEq)]
pub enum RunState {
    /// The run is still active: rejoin it.
    Active,
    /// The run has finished.
    Finished(Outcome, Option<String>),
    /// The server no longer has the run, so it can't be rejoined.
    NotFound(Outcome, Option<String>),
    /// The stream never ends: rejoin it.
    Endless,
    /// The run has no status (it is stateless), so the end of the body counts as its end.
    NoStatus,
    /// The server has no status endpoint, but runs can be joined. The end of the body counts as the run's end, and lost
    /// connections are reopened.
    StatusUnsupported,
}

/// The retry policy of a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// Upper bound of the first random wait; it doubles with each failure.
    pub base: Duration,
    /// Maximum wait.
    pub cap: Duration,
    /// Consecutive failures after which a run is abandoned. Thread streams retry forever.
    pub limit: u32,
    /// The limit before the first connection. It is lower, because the server may not exist.
    pub first_limit: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Retries {
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            limit: 12,
            first_limit: 4,
        }
    }
}

#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// The head of the event log. The source fills in ids when it learns them.
    pub head: Head,
    /// Maximum event size in bytes. Larger events are truncated.
    pub max_event: usize,
    /// The id that the first connection resumes after.
    pub first_after: Option<String>,
    pub retries: Retries,
    /// The requested modes. The link was created with the first value; when it changes, the stream reconnects at its
    /// current position.
    pub modes: Option<watch::Receiver<Vec<String>>>,
    /// Cancel this to stop with an `End` record (`detached`). Dropping the receiver stops without one.
    pub stop: CancellationToken,
}

impl Default for SourceOptions {
    fn default() -> Self {
        SourceOptions {
            head: Head::default(),
            max_event: 64 << 20,
            first_after: None,
            retries: Retries::default(),
            modes: None,
            stop: CancellationToken::new(),
        }
    }
}
