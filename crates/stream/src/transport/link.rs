//! What a source and the side that it reads from agree upon: how a link is asked, and what it may answer.

use crate::sse::read_ahead::Feeds;
use crate::transport::join_plan::{Joining, NothingKept, Numbering};
use crate::transport::modes::RunTerms;
use crate::{Head, Outcome};
use runtail_api::ApiError;
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How a source reaches its server.
pub trait Link: Send {
    /// Before the first connection: reads what is known about the run. Returns how it ended if there is nothing to read.
    fn prepare(&mut self) -> impl Future<Output = Result<Option<NothingKept>, ApiError>> + Send {
        std::future::ready(Ok(None))
    }

    /// What the stream can do, as far as is known by now.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Opens a connection: the first call starts or joins, later ones join again, asking for what comes after an id. Events
    /// above `max_event` bytes are cut to their heads.
    fn connect(
        &mut self,
        after: Option<&str>,
        max_event: usize,
    ) -> impl Future<Output = Result<Opened, ApiError>> + Send;

    /// After a connection closed: is it over?
    fn verdict(&mut self) -> impl Future<Output = Result<Verdict, ApiError>> + Send;

    /// How the run was joined, once it is. `None` for a run that we started, of which nothing can be missing before.
    fn joining(&self) -> Option<Joining> {
        None
    }

    /// How the server numbers the run's events, once that is known.
    fn numbering(&self) -> Option<Numbering> {
        None
    }

    /// An event named the run.
    fn found_run(&mut self, _run_id: &str) {}

    /// Whether an event of this name (without a namespace) is wanted. The server may send others too.
    fn wants(&self, _name: &str) -> bool {
        true
    }

    /// Whether the stream may be opened once more while it is open; the error says why not, in words. To be asked before
    /// other modes are.
    fn may_reopen(&mut self) -> impl Future<Output = Result<(), String>> + Send {
        std::future::ready(Ok(()))
    }

    /// From the next connection on these modes are asked for. None means what is given unasked.
    fn set_modes(&mut self, _modes: Vec<String>) {}

    /// Whether the server sends events of this name (without a namespace) for the modes that are requested.
    fn gives(&self, _name: &str) -> bool {
        true
    }

    /// What the run was started with, once that is known.
    fn terms(&self) -> Option<RunTerms> {
        None
    }
}

/// What a stream can do. The default is a run that can't be joined again on a server of an unknown kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The stream has no end of its own, as that of a thread.
    pub is_endless: bool,
    /// The id that requests everything from the start, where everything belongs to this log (we started the run).
    pub everything: Option<&'static str>,
    /// The event with which everything begins, where that is known.
    pub first_event: Option<&'static str>,
    /// The server sends all events of the run.
    pub gives_all: bool,
    /// What of the stream the server never repeats, in words. Each outage is then reported as a possible gap.
    pub unrepeated: Option<&'static str>,
    /// The server sends heartbeats.
    pub beats: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            is_endless: false,
            everything: None,
            first_event: None,
            gives_all: true,
            unrepeated: None,
            beats: false,
        }
    }
}

/// An open connection.
pub struct Opened {
    /// HTTP status.
    pub status: u16,
    /// The thread, where the answer told.
    pub thread_id: Option<String>,
    /// The run, where the answer told.
    pub run_id: Option<String>,
    /// When the server answered by its own clock, in milliseconds.
    pub answered: Option<u64>,
    /// What it sends of the time before it was opened.
    pub past: Past,
    /// What it delivers.
    pub body: Feeds,
}

/// What a connection sends of the time before it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Past {
    /// Nothing: every event is live.
    Nothing,
    /// Only stored events: the run was over before.
    Everything,
    /// Events whose ids are before this time of the server's clock, in milliseconds.
    Before(u64),
    /// Stored events, if it was asked for them, and then live ones. Where the live ones begin is not known.
    #[default]
    Unknown,
}

/// What the server says about a stream whose connection closed.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The run goes on: join again.
    Active,
    /// It is over.
    Over(Outcome, Option<String>),
    /// The server knows it no more: it cannot be joined again.
    Gone(Outcome, Option<String>),
    /// It never ends: join again.
    Endless,
    /// There is nobody to ask (a stateless run): the end of the body has to do.
    Untold,
    /// The server cannot be asked about runs, but they can be joined: the end of the body has to do, and a connection that
    /// was lost is made again.
    Unasked,
}

/// How long, and how often, to try again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retries {
    /// The first wait is random below this, the next below twice this, …
    pub base: Duration,
    /// … but never longer than this.
    pub cap: Duration,
    /// Failures in a row after which a run is given up. The stream of a thread never is.
    pub limit: u32,
    /// The same before the first connection: a server that is not there should not be waited for too long.
    pub first_limit: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { base: Duration::from_millis(500), cap: Duration::from_secs(30), limit: 12, first_limit: 4 }
    }
}

/// What a source needs to know.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// The head of the tape; ids that become known are filled in.
    pub head: Head,
    /// Larger events are cut to their head.
    pub max_event: usize,
    /// The id that the first connection asks to begin after.
    pub first_after: Option<String>,
    /// How to try again.
    pub retries: Retries,
    /// The modes that are wanted; the link was made with the first value. At another one the stream is opened again, from
    /// where it is.
    pub modes: Option<watch::Receiver<Vec<String>>>,
    /// Cancelled by who wants to leave with an `End` record (`detached`); to drop the receiver is to leave without.
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
